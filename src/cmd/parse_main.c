/* garner-parse: the worker that reads foreign documents, apart from everything that could be
 * harmed. It is started by garner, which hands it documents in memory that both share, or a listing
 * of an archive or a mail as its standard input. */
#include "extract/cage_worker.h"
#include "extract/listing_work.h"
#include "extract/mime.h"

#include <stdio.h>

static const char about[] =
	"garner-parse is garner's document worker: it is started by garner, never by hand.\n";

static int tell_failure(const struct err *err)
{
	fprintf(stderr, "garner-parse: %s\n", err->msg);
	return (int)err->code;
}

static int run_worker(const char *body_max, const char *memory)
{
	struct err err;
	uint64_t body, bytes;
	if (!str_u64(str_of(body_max), &body) || !str_u64(str_of(memory), &bytes)) {
		fputs(about, stderr);
		return ERR_USAGE;
	}
	return cage_work((size_t)body, (size_t)bytes, NULL, &err) < 0 ? tell_failure(&err) : 0;
}

static int run_listing(char *const *args)
{
	struct err err;
	return listing_work(args, &err) < 0 ? tell_failure(&err) : 0;
}

static int run_mail(const char *memory)
{
	struct err err;
	return mime_work(memory, &err) < 0 ? tell_failure(&err) : 0;
}

int main(int argc, char **argv)
{
	struct str word = argc >= 2 ? str_of(argv[1]) : STR("");
	if (argc == 4 && str_is(word, "--worker"))
		return run_worker(argv[2], argv[3]);
	if (argc == 2 + LISTING_WORK_ARGS && str_is(word, "--listing"))
		return run_listing(argv + 2);
	if (argc == 3 && str_is(word, "--mail"))
		return run_mail(argv[2]);
	if (argc == 2 && str_is(word, "--version"))
		return puts("garner-parse " GARNER_VERSION) < 0 || fflush(stdout) ? 7 : 0;
	if (argc == 2 && (str_is(word, "--help") || str_is(word, "-h")))
		return printf("usage: garner-parse [--help] [--version]\n\n%s", about) < 0 ||
				       fflush(stdout)
			       ? 7
			       : 0;
	fputs(about, stderr);
	return ERR_USAGE;
}
