/* garner: its three tables, and nothing else. */
#include "cmd/command.h"

int main(int argc, char **argv)
{
	const struct program program = {commands, ncommands, roles, nroles, formats, nformats};
	return cmd_main(&program, argc, argv);
}
