/* garner without a single role: what `garner up` has to say then. */
#include "cmd/command.h"

int main(int argc, char **argv)
{
	const struct program program = {.commands = commands, .ncommands = ncommands};
	return cmd_main(&program, argc, argv);
}
