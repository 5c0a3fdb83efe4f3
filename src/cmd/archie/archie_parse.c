/* garner archie parse: shows what garner reads in a listing, for people and for programs.
 * garner-parse reads the listing in the same way as for the builder. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "extract/cage_section.h"
#include "extract/listing_run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };
#define SLOW_PIPE_US (7 * US_PER_DAY) /* a listing on a pipe comes when it comes */

struct parse_options {
	bool json, bytes;
	const char *tz, *listed, *prefix;
	int64_t errors_max;
};

struct parsing {
	const struct cmd_call *call;
	const struct parse_options *o;
	const char *name;
	struct buf out, cell;
};

/* JSON */

/* A character for each byte, so that any name can be read back. */
static struct str bytes_of(struct arena *arena, struct str s)
{
	char *text = arena_alloc(arena, 2 * s.n + 1);
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c >= 0x80)
			text[n++] = (char)(0xc0 | c >> 6);
		text[n++] = (char)(c < 0x80 ? c : 0x80 | (c & 0x3f));
	}
	return (struct str){text, n};
}

struct entry_row {
	struct listing_entry e;
	struct str mode; /* empty: not told */
};
#define S struct entry_row
static const struct column entry_columns[] = {
	COL("name", S, e.name),
	COL("dir", S, e.dir),
	COL("kind", S, e.kind, .names = listing_kind_name, .nnames = LISTING_OTHER + 1),
	COL("mode", S, mode, .how = ROW_NULL),
	COL("links", S, e.links, .how = ROW_NULL | ROW_NEG),
	COL("owner", S, e.owner, .how = ROW_NULL),
	COL("group", S, e.group, .how = ROW_NULL),
	COL("size", S, e.size, .how = ROW_NULL | ROW_NEG),
	COL("time", S, e.time_s, .how = ROW_NULL | ROW_NEG),
};
static const struct rows entry_rows = {ROWS(S, entry_columns)};
#undef S

static void print_json(struct parsing *p, const struct listing_entry *e)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct entry_row row = {*e, {e->mode, e->mode[0] ? sizeof e->mode : 0}};
	struct str *const texts[] = {&row.e.name, &row.e.dir, &row.mode, &row.e.owner,
				     &row.e.group};
	for (size_t i = 0; i < ARRAY_LEN(texts) && p->o->bytes; i++)
		*texts[i] = bytes_of(&arena, *texts[i]);
	rows_json_line(&entry_rows, &row, &p->out);
}

/* For people */

static void put_number(struct buf *out, int64_t v, int width)
{
	if (v < 0)
		buf_printf(out, " %*s", width, "-");
	else
		buf_printf(out, " %*" PRId64, width, v);
}

static void put_cell(struct parsing *p, struct str s, size_t width)
{
	buf_clear(&p->cell);
	put_safe(&p->cell, s.p ? s : STR("-"));
	size_t columns = str_utf8_count(buf_str(&p->cell));
	buf_add_byte(&p->out, ' ');
	buf_add_str(&p->out, buf_str(&p->cell));
	buf_fill(&p->out, ' ', columns < width ? width - columns : 0);
}

static void print_row(struct parsing *p, const struct listing_entry *e)
{
	struct str kind = str_of(listing_kind_name[e->kind]);
	struct str mode = e->mode[0] ? (struct str){e->mode, sizeof e->mode} : kind;
	buf_printf(&p->out, "%-10.*s", STR_ARG(mode));
	put_number(&p->out, e->links, 4);
	put_cell(p, e->owner, 8);
	put_cell(p, e->group, 8);
	put_number(&p->out, e->size, 12);
	buf_add_byte(&p->out, ' ');
	if (e->time_s < 0 || e->time_s > CLOCK_MOST_US / US_PER_S)
		buf_printf(&p->out, "%-20s", "-");
	else
		time_print(&p->out, e->time_s * US_PER_S, 0);
	buf_add_byte(&p->out, ' ');
	put_safe(&p->out, e->dir);
	if (e->dir.n)
		buf_add_byte(&p->out, '/');
	put_safe(&p->out, e->name);
	buf_add_byte(&p->out, '\n');
}

static void put_bad_lines(const struct parsing *p, const struct listing_stats *s, struct buf *out)
{
	for (size_t i = 0; i < MIN(s->bad, (uint64_t)LISTING_BAD_KEPT); i++)
		buf_printf(out, "%s:%" PRIu64 ": %s\n", p->name, s->bad_line[i], s->bad_why[i]);
	if (s->bad > LISTING_BAD_KEPT)
		buf_printf(out, "%s: %" PRIu64 " more bad lines\n", p->name,
			   s->bad - LISTING_BAD_KEPT);
}

/* A table ends with them; next to JSON they are for people, and go where messages go. */
static void print_summary(struct parsing *p, const struct listing_stats *s)
{
	if (p->o->json) {
		put_bad_lines(p, s, &p->out);
		fwrite(buf_text(&p->out), 1, p->out.n, stderr);
		buf_clear(&p->out);
		return;
	}
	buf_printf(&p->out, "%s%" PRIu64 " entries in %" PRIu64 " lines, %" PRIu64 " bad\n",
		   s->entries ? "\n" : "", s->entries, s->lines, s->bad);
	put_bad_lines(p, s, &p->out);
	cmd_flush(p->call, &p->out);
}

/* What it is told */

/* "-0500", "+01:00", "UTC", or seconds east of it. All zones are whole quarters of an hour, which
 * tells most mistakes from seconds. */
static bool zone_parse(struct str text, int32_t *ret)
{
	uint64_t v;
	bool sign = text.n && (text.p[0] == '-' || text.p[0] == '+');
	if (str_eq_nocase(text, STR("UTC")) || str_eq_nocase(text, STR("Z"))) {
		*ret = 0;
		return true;
	}
	struct str digits = str_from(text, sign);
	char plain[4];
	bool colon = digits.n == 5 && digits.p[2] == ':';
	if (colon) {
		memcpy(plain, digits.p, 2);
		memcpy(plain + 2, digits.p + 3, 2);
		digits = (struct str){plain, sizeof plain};
	}
	if (!str_u64(digits, &v))
		return false;
	bool clock = sign && digits.n == 4 && v / 100 <= 14 && v % 100 < 60;
	if (clock)
		v = v / 100 * 3600 + v % 100 * 60;
	else if (colon)
		return false;
	if (v > 86400 || v % 900)
		return false;
	*ret = text.p[0] == '-' ? -(int32_t)v : (int32_t)v;
	return true;
}

/* When the listing was made: as told, else when the file was last written, else now. */
static int listed_of(const struct parse_options *o, int fd, int64_t *ret_s, struct err *err)
{
	struct stat st;
	int64_t us = clock_wall_us();
	if (o->listed[0]) {
		if (!time_parse(str_of(o->listed), &us))
			return err_set(err, ERR_USAGE,
				       "--listed: expected a time such as 2026-02-07T08:11:00Z or "
				       "seconds since 1970, got '%s'",
				       o->listed);
	} else if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		us = (int64_t)st.st_mtim.tv_sec * US_PER_S;
	}
	*ret_s = us / US_PER_S;
	return 0;
}

static int job_of(const struct parse_options *o, int fd, struct listing_job *ret, struct err *err)
{
	*ret = (struct listing_job){.prefix = str_of(o->prefix),
				    .errors_max_percent = (uint32_t)o->errors_max};
	if (!zone_parse(str_of(o->tz), &ret->tz_s))
		return err_set(
			err, ERR_USAGE,
			"--tz: expected a zone such as -0500, +01:00, UTC or seconds east of "
			"UTC, got '%s'",
			o->tz);
	return listed_of(o, fd, &ret->listed_s, err);
}

/* Reading */

static int print_entries(struct parsing *p, struct listing_run *run, struct err *err)
{
	struct listing_entry e;
	int rc;
	while ((rc = listing_run_next(run, &e, err)) == 0) {
		if (p->o->json)
			print_json(p, &e);
		else
			print_row(p, &e);
		if (p->out.n < PIECE)
			continue;
		cmd_flush(p->call, &p->out);
		if (ferror(p->call->out)) /* named at the end of the command */
			return 0;
	}
	cmd_flush(p->call, &p->out);
	if (rc == 1 || err->code == ERR_USAGE)
		print_summary(p, listing_run_stats(run));
	return rc < 0 ? -1 : 0;
}

static int parse_listing(struct parsing *p, int fd, struct err *err)
{
	struct listing_run_options options = {0};
	struct cage_options cage;
	struct listing_run *run;
	struct config *config = NULL;
	char program[CAGE_PATH_MAX];
	struct stat st;
	if (job_of(p->o, fd, &options.job, err) < 0 || cmd_config_quiet(p->call, &config, err) < 0)
		return -1;
	int rc = cage_section_options(config_get(config, &cage_section), program, &cage, err);
	config_free(&config);
	if (rc < 0)
		return -1;
	options.program = cage.program;
	options.idle_us = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : SLOW_PIPE_US;
	if (listing_run_open(&run, fd, &options, err) < 0)
		return -1;
	rc = print_entries(p, run, err);
	listing_run_close(&run);
	return rc < 0 ? err_in(err, "%s", p->name) : 0;
}

static int run_parse(const struct cmd_call *call, struct err *err)
{
	struct parsing p = {.call = call,
			    .o = call->options,
			    .name = call->argv[0],
			    .out = BUF_INIT(SIZE_MAX / 2),
			    .cell = BUF_INIT(LISTING_LINE_MOST)};
	struct file f = FILE_INIT;
	bool standard = strcmp(call->argv[0], "-") == 0;
	int rc = standard ? 0 : file_open(&f, call->argv[0], O_RDONLY, 0, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "%s: no such file", call->argv[0]);
	if (standard)
		p.name = "standard input";
	if (rc == 0)
		rc = parse_listing(&p, standard ? STDIN_FILENO : f.fd, err);
	file_drop(&f);
	buf_free(&p.out);
	buf_free(&p.cell);
	return rc;
}

static const struct cmd_option parse_options[] = {
	CMD_FLAG(0, "json", struct parse_options, json,
		 "an object on a line for each entry: name, dir, kind, mode, links, owner, group, "
		 "size, time (seconds, UTC); null: not told"),
	CMD_FLAG(0, "bytes", struct parse_options, bytes,
		 "in JSON, a character for each byte of a text (ISO 8859-1); without it, what is "
		 "not UTF-8 is U+FFFD"),
	CMD_OPTION(0, "ZONE", "tz", VALUE_TEXT_AT(struct parse_options, tz), .fallback = "UTC",
		   .help = "the site's time zone: -0500, +01:00, UTC, or seconds east of UTC"),
	CMD_OPTION(0, "TIME", "listed", VALUE_TEXT_AT(struct parse_options, listed),
		   .help = "when the listing was made, which gives dates their year; without it, "
			   "when the file was last written"),
	CMD_OPTION(0, "PATH", "prefix", VALUE_TEXT_AT(struct parse_options, prefix),
		   .help = "the directory at which the listing starts, cut off from its headings"),
	CMD_OPTION(0, "PERCENT", "errors-max", VALUE_INT_AT(struct parse_options, errors_max), "5",
		   0, 100, .help = "a listing with more bad lines than this is refused"),
};

const struct command archie_parse_command = {
	.name = "parse",
	.summary = "show what a listing says",
	.description =
		"Reads a listing of an archive, such as ls-lR, packed by gzip, xz or compress or "
		"not, and shows each entry; then how many lines were bad, and the first hundred "
		"of them with the reason. With --json these go to standard error.\n\n"
		"doc/listings.md has the forms that are known and the rules.",
	CMD_OPTIONS(parse_options, struct parse_options),
	CMD_ARGS("FILE", 1, 1, "the listing, or - for standard input"),
	CMD_EXAMPLES({"garner archie parse ls-lR.gz", "a table, and the bad lines"},
		     {"garner archie parse --json --tz -0500 --listed 1994-02-10T12:00:00Z ls-lR",
		      "as JSON, with the dates of that day and place"},
		     {"curl -s ftp://ftp.example.org/pub/ | garner archie parse -",
		      "what a server says of a folder"}),
	CMD_EXITS({ERR_REMOTE, "garner-parse did not read it to its end"},
		  {ERR_SYSTEM, "the file cannot be read, or garner-parse cannot be started"}),
	.run = run_parse,
};
