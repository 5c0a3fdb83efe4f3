/* garner index names: files by their names, at the command line. */
#include "archie/build.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rows.h"
#include "cmd/index/index_cmd.h"
#include "cmd/system/input.h"
#include "extract/cage_section.h"
#include "extract/listing_run.h"
#include "index/names.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum {
	PATH_MOST = 2 * NAMES_NAME_MOST + 1, /* bytes of a path: a directory and a name */
	SAID_MOST = 20,                      /* rejected paths that are named */
	PIECE = 64 << 10,
	PROGRESS_EVERY = 4096,
	LISTING_ERRORS_PERCENT = 5,
};

/* build */

struct build_options {
	const char *site, *url;
	uint64_t memory;
	bool null, listing;
};

struct build {
	const struct cmd_call *call;
	struct names_writer *writer;
	struct cmd_lines paths;
	uint64_t files, rejected, bytes;
	int64_t began_us, said_us;
	bool terminal;
};

static void show_progress(struct build *b, bool end)
{
	int64_t now = clock_mono_us();
	if (!b->terminal || (!end && now - b->said_us < US_PER_S / 2))
		return;
	double s = (double)(now - b->began_us) / 1e6;
	fprintf(stderr, "\r%" PRIu64 " files, %.0f MB, %.0f files/s%s", b->files,
		(double)b->bytes / 1e6, s > 0 ? (double)b->files / s : 0, end ? "\n" : " ");
	b->said_us = now;
}

static int reject_path(struct build *b, struct err *err)
{
	if (b->rejected++ < SAID_MOST)
		(void)cmd_fail(b->call, err);
	return 0;
}

/* What find, locate and tar print: with or without "/" or "./" before it, and "/" after
 * directories. */
static struct names_entry entry_of_path(struct str path)
{
	struct names_entry e = {.links = -1, .size = -1, .time_s = -1};
	if (path.n >= 2 && path.p[0] == '.' && path.p[1] == '/')
		path = str_from(path, 2);
	while (path.n && path.p[0] == '/')
		path = str_from(path, 1);
	for (; path.n && path.p[path.n - 1] == '/'; path.n--)
		e.kind = NAMES_DIR;
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	e.name = slash ? str_range(slash + 1, path.p + path.n) : path;
	e.dir = slash ? str_range(path.p, slash) : STR("");
	while (e.dir.n && e.dir.p[e.dir.n - 1] == '/')
		e.dir.n--;
	return e;
}

static int take_path(void *ctx, const char *name, uint64_t line, struct str path, struct err *err)
{
	struct build *b = ctx;
	struct names_entry e = entry_of_path(path);
	(void)name, (void)line;
	if (path.n > PATH_MOST) {
		(void)err_set(err, ERR_USAGE, "a path of more than %d bytes", PATH_MOST);
		return reject_path(b, err);
	}
	if (e.name.n == 0 || str_is(e.name, "."))
		return 0; /* the root itself, and empty lines */
	int rc = names_add(b->writer, &e, err);
	if (rc < 0 && err->code == ERR_USAGE)
		return reject_path(b, err);
	b->files += rc == 0;
	return rc;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct build *b = ctx;
	b->bytes += piece.n;
	int rc = cmd_split(&b->paths, name, piece, err);
	show_progress(b, false);
	return rc;
}

/* A listing */

static int take_entries(struct build *b, struct listing_run *run, struct err *err)
{
	struct listing_entry e;
	int rc;
	while ((rc = listing_run_next(run, &e, err)) == 0) {
		struct names_entry entry = archie_entry(&e);
		rc = names_add(b->writer, &entry, err);
		if (rc < 0 && err->code == ERR_USAGE)
			rc = reject_path(b, err);
		else
			b->files += rc == 0;
		if (rc < 0)
			return -1;
		if (b->files % PROGRESS_EVERY == 0)
			show_progress(b, false);
	}
	b->rejected += listing_run_stats(run)->bad;
	return MIN(rc, 0);
}

static int run_listing(struct build *b, int fd, int64_t listed_s, struct err *err)
{
	struct config *config = NULL;
	struct cage_options cage;
	struct listing_run *run;
	char program[CAGE_PATH_MAX];
	if (cmd_config_quiet(b->call, &config, err) < 0)
		return -1;
	int rc = cage_section_options(config_get(config, &cage_section), program, &cage, err);
	config_free(&config);
	const struct listing_run_options options = {
		.program = cage.program,
		.job = {.listed_s = listed_s, .errors_max_percent = LISTING_ERRORS_PERCENT}};
	if (rc < 0 || listing_run_open(&run, fd, &options, err) < 0)
		return -1;
	rc = take_entries(b, run, err);
	listing_run_close(&run);
	return rc;
}

static int take_listing(struct build *b, const struct file *f, int64_t listed_s, struct err *err)
{
	const struct build_options *o = b->call->options;
	const struct names_site_spec spec = {.key = str_of(o->site),
					     .url = str_of(o->url),
					     .listed_s = listed_s,
					     .by_hand = true};
	if (names_begin(b->writer, &spec, err) < 0)
		return -1;
	return run_listing(b, f->fd, listed_s, err) < 0 ? err_in(err, "%s", f->path) : 0;
}

static int read_listing(struct build *b, struct err *err)
{
	static char input[] = "standard input";
	const struct file standard = {.fd = STDIN_FILENO, .path = input};
	struct file f = FILE_INIT;
	struct stat st;
	bool named = b->call->argc > 1 && strcmp(b->call->argv[1], "-") != 0;
	if (b->call->argc > 2)
		return err_set(err, ERR_USAGE, "--listing: one file at a time");
	int rc = named ? file_open(&f, b->call->argv[1], O_RDONLY, 0, err) : 0;
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: no such file", b->call->argv[1]);
	if (rc == 0) {
		const struct file *from = named ? &f : &standard;
		bool regular = fstat(from->fd, &st) == 0 && S_ISREG(st.st_mode);
		rc = take_listing(b, from, regular ? st.st_mtime : clock_wall_us() / US_PER_S, err);
	}
	file_drop(&f);
	return rc;
}

/* Paths */

static int read_paths(struct build *b, struct err *err)
{
	const struct build_options *o = b->call->options;
	const struct names_site_spec spec = {.key = str_of(o->site),
					     .url = str_of(o->url),
					     .listed_s = clock_wall_us() / US_PER_S,
					     .by_hand = true};
	if (names_begin(b->writer, &spec, err) < 0)
		return -1;
	return cmd_read(b->call, 1, take_piece, b, err);
}

static int build_site(struct build *b, struct err *err)
{
	const struct build_options *o = b->call->options;
	const struct names_options options = {.memory = o->memory};
	struct str url = str_of(o->url);
	if ((url.n && !str_starts(url, STR("file:///")) &&
	     cmd_check_url("--url", o->url, err) < 0) ||
	    names_writer_open(&b->writer, b->call->argv[0], &options, err) < 0 ||
	    (o->listing ? read_listing(b, err) : read_paths(b, err)) < 0)
		return -1;
	return names_commit(b->writer, err);
}

static int run_build(const struct cmd_call *call, struct err *err)
{
	const struct build_options *o = call->options;
	struct build b = {.call = call,
			  .paths = {.take = take_path,
				    .ctx = &b,
				    .most = PATH_MOST,
				    .cut = true,
				    .nul = o->null,
				    .raw = true,
				    .begun = BUF_INIT(PATH_MOST + 1)},
			  .began_us = clock_mono_us(),
			  .terminal = isatty(STDERR_FILENO)};
	int rc = build_site(&b, err);
	show_progress(&b, true);
	if (rc == 0)
		fprintf(call->out, "%" PRIu64 " files, %" PRIu64 " rejected\n", b.files,
			b.rejected);
	names_writer_close(&b.writer);
	buf_free(&b.paths.begun);
	return rc < 0 ? -1 : b.rejected ? ERR_PARTLY : 0;
}

static const struct cmd_option build_options[] = {
	CMD_FLAG(0, "listing", struct build_options, listing,
		 "the input is a listing, such as ls -lR prints, compressed or not; dates are UTC"),
	CMD_OPTION('m', "SIZE", "memory", VALUE_SIZE_AT(struct build_options, memory),
		   .fallback = "1G", .min = NAMES_MEMORY_MIN, .max = 1e12,
		   .help = "memory for names while the site is built"),
	CMD_FLAG('0', "null", struct build_options, null,
		 "paths end in a NUL byte, not in a newline: find -print0"),
	CMD_OPTION(0, "KEY", "site", VALUE_TEXT_AT(struct build_options, site),
		   .fallback = "paths-0.0.0.0", .help = "the key of the site, NAME-ADDRESS"),
	CMD_OPTION(0, "URL", "url", VALUE_TEXT_AT(struct build_options, url), .fallback = "",
		   .help = "URL of the root of the paths: http, https, ftp or file; without it "
			   "files have no URL"),
};
static const struct command names_build_command = {
	.name = "build",
	.summary = "build a site from a list of paths or a listing",
	.description =
		"Reads paths, one per line, and builds a site of the index in DIR from them. The "
		"new site replaces one with the same key. A path may begin with / or ./; the path "
		"of a directory ends in /. The site is durable and visible when the command ends. "
		"Until then, and if the command fails or is killed, the old site stays.\n\n"
		"DIR is laid out like archie/ in the data directory: the names themselves are in "
		"DIR/index/KEY and three files next to it, the index is in DIR/names.",
	CMD_OPTIONS(build_options, struct build_options),
	CMD_ARGS("DIR [FILE...]", 1, -1,
		 "the folder, created if needed, and files; none or -: standard input"),
	CMD_EXAMPLES({"find /usr -print0 | garner index names build -0 /tmp/names",
		      "all files of a machine"},
		     {"garner index names build --listing DIR ls-lR.gz", "a listing of an archive"},
		     {"garner index names build --site a.test-192.0.2.1 --url ftp://a.test/ DIR "
		      "paths.txt",
		      "a site of its own"}),
	CMD_EXITS({ERR_PARTLY, "some paths or lines were rejected; the others are in the index"},
		  {ERR_DAMAGED, "the index is damaged"},
		  {ERR_BUSY, "another process writes this index"},
		  {ERR_SYSTEM, "a file cannot be read or written; the old site stands"}),
	.run = run_build,
};

/* What the others share */

static int names_open_there(const char *folder, struct names_reader **ret, struct err *err)
{
	int rc = names_open(ret, folder, err);
	return rc == 1 ? err_set(err, ERR_USAGE,
				 "%s: there is no names index; garner index names build makes one",
				 folder)
		       : rc;
}

/* stats */

static const struct column lost_columns[] = {
	COL("key", struct names_lost, key),
	COL("why", struct names_lost, why),
};
static const struct rows lost_rows = {ROWS(struct names_lost, lost_columns)};
#define S struct names_site
static const struct column site_columns[] = {
	COL("key", S, key),       COL("url", S, url),          COL("generation", S, generation),
	COL("files", S, entries), COL("directories", S, dirs), COL("listed", S, listed_s),
	COL("built", S, built_s), COL("by_hand", S, by_hand),
};
static const struct rows site_rows = {ROWS(S, site_columns)};
#undef S

struct figures {
	struct names_stats s;
	const char *problem; /* NULL: none */
	const struct names_lost *lost;
	struct names_site *site;
	size_t losts, sites;
};
#define S struct figures
static const struct column figure_columns[] = {
	COL("generation", S, s.generation),   COL("sites", S, s.sites),
	COL("files", S, s.entries),           COL("directories", S, s.dirs),
	COL("segments", S, s.segments),       COL("hidden_files", S, s.hidden),
	COL("distinct_names", S, s.distinct), COL("trigrams", S, s.trigrams),
	COL("index_bytes", S, s.index_bytes), COL("part_bytes", S, s.part_bytes),
};
static const struct rows figure_rows = {ROWS(S, figure_columns)};
static const struct column stats_columns[] = {
	COL_GROUP(NULL, S, figure_rows),
	COL("problem", S, problem),
	COL_LIST("lost", S, lost, losts, lost_rows),
	COL_LIST("site_list", S, site, sites, site_rows),
};
static const struct rows stats_rows = {ROWS(S, stats_columns)};
#undef S

/* Times that are not known are 0. */
static void figures_fill(const struct names_reader *r, struct arena *arena, struct figures *ret)
{
	*ret = (struct figures){.problem = names_problem(r)};
	names_stats(r, &ret->s);
	ret->lost = names_lost(r, &ret->losts);
	const struct names_site *site = names_sites(r, &ret->sites);
	ret->site = arena_array(arena, ret->sites, sizeof *ret->site);
	for (size_t i = 0; i < ret->sites; i++) {
		ret->site[i] = site[i];
		ret->site[i].listed_s = MAX(site[i].listed_s, INT64_C(0));
		ret->site[i].built_s = MAX(site[i].built_s, INT64_C(0));
	}
}

static void print_stats(const struct cmd_call *call, const struct names_reader *r)
{
	const struct cmd_json *o = call->options;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct figures f;
	figures_fill(r, &arena, &f);
	if (o->json)
		rows_json_line(&stats_rows, &f, &out);
	else
		rows_lines(&figure_rows, &f, "", 24, 15, &out);
	if (!o->json && f.problem)
		buf_printf(&out, "problem: %s\n", f.problem);
	cmd_print(call, &out);
}

static int run_stats(const struct cmd_call *call, struct err *err)
{
	CLEANUP(names_close) struct names_reader *r = NULL;
	if (names_open_there(call->argv[0], &r, err) < 0)
		return -1;
	print_stats(call, r);
	return 0;
}

static const struct command names_stats_command = {
	.name = "stats",
	.summary = "count sites, files, names and bytes",
	.description = "index_bytes is the size of the index, part_bytes that of the names and all "
		       "other data about the files.",
	CMD_JSON(0, "as JSON, with the sites"),
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXITS(INDEX_EXITS),
	.run = run_stats,
};

/* check */

static int run_check(const struct cmd_call *call, struct err *err)
{
	CLEANUP(names_close) struct names_reader *r = NULL;
	struct names_stats s;
	if (names_open_there(call->argv[0], &r, err) < 0)
		return -1;
	names_stats(r, &s);
	if (names_verify(r, err) < 0)
		return -1;
	fprintf(call->out,
		"%" PRIu64 " files of %" PRIu64 " sites in %" PRIu64 " segments, all sound\n",
		s.entries, s.sites, s.segments);
	return 0;
}

static const struct command names_check_command = {
	.name = "check",
	.summary = "verify every page of a names index",
	.description =
		"Reads the whole index, which may be in use, and compares every name in it with "
		"the line that it stands for. garner check verifies single files.",
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXITS(INDEX_EXITS),
	.run = run_check,
};

/* dump */

static void put_file(struct buf *out, struct str key, const struct names_entry *e)
{
	buf_add_str(out, key);
	buf_printf(out, "\t%s\t", names_kind_name(e->kind));
	names_print_place(e, out);
}

static int dump_site(const struct cmd_call *call, struct names_reader *r, uint32_t site,
		     struct buf *out, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_entry e;
	size_t n;
	struct str key = names_sites(r, &n)[site].key;
	int rc;
	for (uint64_t line = 0; (rc = names_get(r, site, line, &arena, &e, err)) == 0; line++) {
		put_file(out, key, &e);
		if (out->n > PIECE)
			cmd_flush(call, out);
		arena_clear(&arena);
	}
	arena_free(&arena);
	return MIN(rc, 0);
}

static int run_dump(const struct cmd_call *call, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SIZE_MAX / 2);
	CLEANUP(names_close) struct names_reader *r = NULL;
	size_t n;
	if (names_open_there(call->argv[0], &r, err) < 0)
		return -1;
	(void)names_sites(r, &n);
	int rc = 0;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = dump_site(call, r, i, &out, err);
	cmd_flush(call, &out);
	(void)names_lost(r, &n);
	return rc == 0 && n ? err_set(err, ERR_DAMAGED, "%s", names_problem(r)) : rc;
}

static const struct command names_dump_command = {
	.name = "dump",
	.summary = "print all files of a names index",
	.description =
		"Prints a line for each file: key of the site, kind, size, time in seconds and "
		"path, separated by tabs; - if not known. Newline, CR and backslash in names "
		"are written \\n, \\r and \\\\. garner dump prints single files.",
	CMD_ARGS("DIR", 1, 1, "the folder of the index"),
	CMD_EXAMPLES({"garner index names dump DIR | cut -f5 | head", "the first paths"}),
	CMD_EXITS(INDEX_EXITS),
	.run = run_dump,
};

const struct command index_names_command = {
	.name = "names",
	.summary = "index files of archives by their names",
	.description =
		"A folder DIR holds the names of the files of any number of sites, in the same "
		"form as archie's own index.",
	CMD_SUBS(&names_build_command, &index_names_query_command, &names_stats_command,
		 &names_check_command, &names_dump_command),
};
