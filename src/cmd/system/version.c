/* garner version: the versions and build options of this program, for a bug report. */
#include "base/fault.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/help.h"
#include "cmd/system/text.h"

#include <dlfcn.h>
#include <event2/event.h>
#include <gnu/libc-version.h>
#include <openssl/opensslv.h>
#include <xxhash.h>

const char version_text[] = "garner " GARNER_VERSION;

struct version_options {
	bool verbose, json, faults;
};

static const struct cmd_option options[] = {
	CMD_FLAG('v', "verbose", struct version_options, verbose,
		 "also the compiler, the build, libraries, formats"),
	CMD_FLAG(0, "json", struct version_options, json, "print everything as JSON"),
	CMD_FLAG(0, "faults", struct version_options, faults,
		 "only the names of the fault points, a line each"),
};

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

#ifdef GARNER_FAULTS
enum { HAS_FAULTS = true };
#else
enum { HAS_FAULTS = false };
#endif
#ifdef GARNER_ARENA_MALLOC
enum { HAS_ARENA_MALLOC = true };
#else
enum { HAS_ARENA_MALLOC = false };
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER "address"
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER "thread"
#else
#define SANITIZER "none"
#endif

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

/* A function of a library that is loaded for this question alone: linked, it would cost every start
 * of the program the time to load it. */
static void *function_of(const char *library, const char *name)
{
	void *handle = dlopen(library, RTLD_LAZY);
	return handle ? dlsym(handle, name) : NULL;
}

static const char *libevent_found(void)
{
	const char *(*version)(void) = function_of("libevent_core-2.1.so.7", "event_get_version");
	return version ? version() : NULL;
}

static const char *openssl_found(void)
{
	enum { OPENSSL_VERSION_NUMBERS = 6 }; /* OPENSSL_VERSION_STRING */
	const char *(*version)(int) = function_of("libcrypto.so.3", "OpenSSL_version");
	return version ? version(OPENSSL_VERSION_NUMBERS) : NULL;
}

static const struct library {
	const char *name, *built;
	const char *(*found)(
		void); /* NULL: inside this program; returns NULL when it is not there */
} libraries[] = {
	{"libc", TEXT(__GLIBC__) "." TEXT(__GLIBC_MINOR__), gnu_get_libc_version},
	{"libevent", LIBEVENT_VERSION, libevent_found},
	{"OpenSSL", OPENSSL_VERSION_STR, openssl_found},
	{"xxHash",
	 TEXT(XXH_VERSION_MAJOR) "." TEXT(XXH_VERSION_MINOR) "." TEXT(XXH_VERSION_RELEASE), NULL},
};

static void print_table(const struct program *program, struct buf *out)
{
	struct text_table t = {.ncolumns = 2};
	text_table_add(&t, "compiler");
	text_table_add(&t, "%s", COMPILER);
	text_table_add(&t, "faults");
	text_table_add(&t, "%s", HAS_FAULTS ? "yes" : "no");
	text_table_add(&t, "sanitizer");
	text_table_add(&t, "%s", SANITIZER);
	text_table_add(&t, "arena");
	text_table_add(&t, "%s", HAS_ARENA_MALLOC ? "one malloc per object" : "chunks");
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		const struct library *l = &libraries[i];
		const char *found = l->found ? l->found() : "inside";
		text_table_add(&t, "library %s", l->name);
		text_table_add(&t, "%s (built with %s)", found ? found : "absent", l->built);
	}
	for (size_t i = 0; i < program->nformats; i++) {
		const struct format *f = program->formats[i];
		text_table_add(&t, "format %s", f->name);
		text_table_add(&t, "version %u: %s", f->version, f->help);
	}
	text_table_add(&t, "commands");
	text_table_add(&t, "%zu", program->ncommands);
	text_table_add(&t, "roles");
	text_table_add(&t, "%zu", program->nroles);
	text_table_print(&t, out);
	text_table_free(&t);
}

struct found {
	const char *name, *built, *found;
};
static const struct column found_columns[] = {
	COL("name", struct found, name),
	COL("built", struct found, built),
	COL("found", struct found, found),
};
static const struct rows found_rows = {ROWS(struct found, found_columns)};

static const struct column format_columns[] = {
	COL("name", struct format, name),
	COL("version", struct format, version),
};
static const struct rows format_rows = {ROWS(struct format, format_columns)};
static const struct column format_at_columns[] = {
	{NULL, COL_POINTER, 0, sizeof(struct format *), .rows = &format_rows}};
static const struct rows format_at_rows = {ROWS(struct format *, format_at_columns)};

struct facts {
	const char *version, *compiler, *sanitizer;
	bool faults, arena_malloc;
	struct found library[ARRAY_LEN(libraries)];
	size_t libraries;
	const struct program *program;
};
static const struct column program_columns[] = {
	COL_LIST("formats", struct program, formats, nformats, format_at_rows),
	COL("commands", struct program, ncommands),
	COL("roles", struct program, nroles),
};
static const struct rows program_rows = {ROWS(struct program, program_columns)};
static const struct column facts_columns[] = {
	COL("version", struct facts, version),
	COL("compiler", struct facts, compiler),
	COL("faults", struct facts, faults),
	COL("sanitizer", struct facts, sanitizer),
	COL("arena_malloc", struct facts, arena_malloc),
	COL_LIST("libraries", struct facts, library, libraries, found_rows),
	COL_POINTER(NULL, struct facts, program, program_rows),
};
static const struct rows facts_rows = {ROWS(struct facts, facts_columns)};

static void print_json(const struct program *program, struct buf *out)
{
	struct facts f = {.version = GARNER_VERSION,
			  .compiler = COMPILER,
			  .sanitizer = SANITIZER,
			  .faults = HAS_FAULTS,
			  .arena_malloc = HAS_ARENA_MALLOC,
			  .libraries = ARRAY_LEN(libraries),
			  .program = program};
	for (size_t i = 0; i < ARRAY_LEN(libraries); i++) {
		const struct library *l = &libraries[i];
		f.library[i] = (struct found){l->name, l->built, l->found ? l->found() : l->built};
	}
	rows_json_line(&facts_rows, &f, out);
}

static int run(const struct cmd_call *call, struct err *err)
{
	(void)err;
	const struct version_options *o = call->options;
	struct buf out = BUF_INIT(HELP_MOST);
	if (o->faults) {
		fault_list(&out);
	} else if (o->json) {
		print_json(call->program, &out);
	} else {
		buf_printf(&out, "%s\n", version_text);
		if (o->verbose)
			print_table(call->program, &out);
	}
	return cmd_print(call, &out);
}

const struct command version_command = {
	.name = "version",
	.summary = "show the version and what this program is made of",
	CMD_OPTIONS(options, struct version_options),
	CMD_EXAMPLES({"garner version -v", "what to put into a bug report"}),
	.run = run,
};
