/* garner-parse: the worker that reads foreign documents, apart from everything that could be
 * harmed. It is started by garner, which hands it documents over a socket. */
#include "base/str.h"

#include <stdio.h>

static const char about[] =
	"garner-parse is garner's document worker: it is started by garner, never by hand.\n";

int main(int argc, char **argv)
{
	struct str word = argc == 2 ? str_of(argv[1]) : STR("");
	if (str_is(word, "--version"))
		return puts("garner-parse " GARNER_VERSION) < 0 || fflush(stdout) ? 7 : 0;
	if (str_is(word, "--help") || str_is(word, "-h"))
		return printf("usage: garner-parse [--help] [--version]\n\n%s", about) < 0 ||
				       fflush(stdout)
			       ? 7
			       : 0;
	fputs(about, stderr);
	return 2;
}
