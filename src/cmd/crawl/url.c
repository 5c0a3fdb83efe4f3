/* garner url: how URLs are understood, one JSON object each. */
#include "base/rows.h"
#include "cmd/system/input.h"
#include "url/equiv.h"
#include "url/footprint.h"

enum {
	LINE_MAX_BYTES = 64 << 10,
	OUT_FULL = 1 << 20, /* answers go out when there are this many bytes of them */
	OUT_MAX = OUT_FULL + 16 * LINE_MAX_BYTES, /* an answer: its line twice, bytes as \uXXXX */
};

struct url_options {
	const char *base, *equiv;
	bool strict, batch;
};

struct work {
	const struct cmd_call *call;
	struct url_options options;
	struct equiv *equiv; /* NULL: none was given */
	struct buf out;
	uint64_t done, failed;
	struct cmd_lines lines; /* batch */
};

/* What is told of a URL; what is NULL or empty is not told. */
struct answer {
	struct str url, error_scheme, base, domain;
	const struct url *parts;
	const char *error, *footprint_error;
	int number; /* of the error */
	char site[URL_MAX + 32], normalized_site[URL_MAX + 32];
	char footprint[FOOTPRINT_TEXT], normalized_footprint[FOOTPRINT_TEXT];
	char scheme_room[URL_SCHEME_MAX];
	bool loop;
};

static const struct column part_columns[] = {
	COL("href", struct url, href),
	COL("scheme", struct url, scheme),
	COL("username", struct url, username, .how = ROW_SOME),
	COL("password", struct url, password, .how = ROW_SOME),
	COL("host", struct url, host),
	COL("port", struct url, port),
	COL("path", struct url, path),
	COL("query", struct url, query, COL_IF(struct url, has_query)),
	COL("fragment", struct url, fragment, COL_IF(struct url, has_fragment)),
};
static const struct rows part_rows = {ROWS(struct url, part_columns)};
static const struct column answer_columns[] = {
	COL("url", struct answer, url),
	COL("error", struct answer, error, .how = ROW_SOME),
	COL("number", struct answer, number, .how = ROW_SOME),
	COL("scheme", struct answer, error_scheme, .how = ROW_SOME),
	COL("base", struct answer, base, .how = ROW_SOME),
	COL_POINTER(NULL, struct answer, parts, part_rows),
	COL("site", struct answer, site, .how = ROW_SOME),
	COL("domain", struct answer, domain, .how = ROW_SOME),
	COL("footprint_error", struct answer, footprint_error, .how = ROW_SOME),
	COL("footprint", struct answer, footprint, .how = ROW_SOME),
	COL("loop", struct answer, loop, .how = ROW_SOME),
	COL("normalized_site", struct answer, normalized_site, .how = ROW_SOME),
	COL("normalized_footprint", struct answer, normalized_footprint, .how = ROW_SOME),
};
static const struct rows answer_rows = {ROWS(struct answer, answer_columns)};

static void answer_error(struct work *w, struct str text, int error, struct answer *a)
{
	w->failed++;
	a->error = url_error_text(error);
	a->number = -error;
	if (error == -URL_PROTOCOL)
		a->error_scheme = url_scheme_of(text, a->scheme_room);
}

static void site_footprint(struct url_site site, struct str target, char ret[FOOTPRINT_TEXT])
{
	struct footprint f = {footprint_site(site), footprint_path(target)};
	(void)footprint_print(f, ret);
}

/* c: the canonical form, NULL where there is none because of `error`. */
static void answer_identity(struct work *w, const struct url *u, const struct url *c, int error,
			    struct answer *a)
{
	struct url_site site = url_site(c ? c : u);
	(void)url_site_print(site, a->site, sizeof a->site);
	if (url_domain(u->host, &a->domain) != 0)
		a->domain = STR("");
	if (!c) {
		a->footprint_error = url_error_text(error);
		return;
	}
	site_footprint(site, url_target(c), a->footprint);
	a->loop = url_loops(url_target(c), NULL);
	if (w->equiv) {
		site = equiv_site(w->equiv, site);
		(void)url_site_print(site, a->normalized_site, sizeof a->normalized_site);
		site_footprint(site, url_target(c), a->normalized_footprint);
	}
}

/* One line of JSON. An empty base is none. */
static void print_answer(struct work *w, struct str text, struct str base_text)
{
	char room[URL_MAX], base_room[URL_MAX], strict_room[URL_STRICT_MAX];
	struct answer a = {.url = text};
	struct url u, c, base;
	int strict = 0;
	int rc = base_text.n ? url_parse(base_text, NULL, base_room, sizeof base_room, &base) : 0;
	if (rc < 0) {
		answer_error(w, base_text, rc, &a);
		a.base = base_text;
	} else if ((rc = url_parse(text, base_text.n ? &base : NULL, room, sizeof room, &u)) < 0 ||
		   ((strict = url_canon(&u, false, strict_room, sizeof strict_room, &c)) < 0 &&
		    w->options.strict)) {
		answer_error(w, text, rc < 0 ? rc : strict, &a);
	} else {
		w->done++;
		a.parts = w->options.strict ? &c : &u;
		answer_identity(w, &u, strict < 0 ? NULL : &c, strict, &a);
	}
	rows_json_line(&answer_rows, &a, &w->out);
}

static void flush_out(struct work *w)
{
	cmd_flush(w->call, &w->out);
	fflush(w->call->out);
}

/* A line that did not fit is answered by its beginning, which is too long as well. */
static int take_line(void *ctx, const char *name, uint64_t number, struct str line, struct err *err)
{
	struct work *w = ctx;
	size_t tab = str_find_byte(line, '\t');
	struct str base = str_from(line, tab + 1);
	(void)name, (void)number, (void)err;
	print_answer(w, str_head(line, tab), base.n ? base : str_of(w->options.base));
	if (w->out.n > OUT_FULL)
		flush_out(w);
	return ferror(w->call->out) ? 1 : 0;
}

/* Answers go out when everything that was there to read has been answered, or they are many. */
static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct work *w = ctx;
	int rc = cmd_split(&w->lines, name, piece, err);
	flush_out(w);
	return rc == 0 && ferror(w->call->out) ? 1 : rc;
}

static int run_batch(struct work *w, struct err *err)
{
	w->lines = (struct cmd_lines){.take = take_line,
				      .ctx = w,
				      .most = LINE_MAX_BYTES - 1,
				      .cut = true,
				      .begun = BUF_INIT(LINE_MAX_BYTES)};
	int rc = cmd_read(w->call, 0, take_piece, w, err);
	buf_free(&w->lines.begun);
	return MIN(rc, 0);
}

static int run_arguments(struct work *w)
{
	for (int i = 0; i < w->call->argc; i++) {
		print_answer(w, str_of(w->call->argv[i]), str_of(w->options.base));
		flush_out(w);
	}
	if (w->failed == 0)
		return 0;
	return w->done ? ERR_PARTLY : 1;
}

static int load_equiv(struct work *w, struct err *err)
{
	if (w->options.equiv[0] == 0)
		return 0;
	int rc = equiv_load(w->options.equiv, &w->equiv, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: no such file", w->options.equiv) : rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct work w = {
		.call = call,
		.options = *(const struct url_options *)call->options,
		.out = BUF_INIT(OUT_MAX),
	};
	if (call->argc == 0 && !w.options.batch)
		return err_set(err, ERR_USAGE, "url: no URL given; see garner url --help");
	/* a base that is none would be the fault of every URL */
	if (cmd_check_url("--base", w.options.base, err) < 0 || load_equiv(&w, err) < 0)
		return -1;
	int code = w.options.batch ? run_batch(&w, err) : run_arguments(&w);
	equiv_free(&w.equiv);
	buf_free(&w.out);
	return code;
}

static const struct cmd_option options[] = {
	CMD_OPTION(
		'b', "URL", "base", VALUE_TEXT_AT(struct url_options, base),
		.help = "the page on which the URLs stand: relative ones are resolved against it"),
	CMD_FLAG(0, "strict", struct url_options, strict,
		 "print the strict canonical form, or why there is none"),
	CMD_OPTION(0, "FILE", "equiv", VALUE_PATH_AT(struct url_options, equiv),
		   .help = "a table of equivalent sites (cf/url-equiv): also print the site that "
			   "stands for the URL's own"),
	CMD_FLAG(0, "batch", struct url_options, batch,
		 "read lines 'URL TAB BASE' and answer each with a line; BASE may be missing"),
};

const struct command url_command = {
	.name = "url",
	.summary = "show how URLs are understood: parts, canonical form, footprint",
	.description = "Parses URLs of http, https and ftp by the WHATWG rules and prints a JSON "
		       "object for each: href, scheme, host, port, path, query, fragment, site "
		       "(what robots.txt and footprints are about), domain (as one registers it) "
		       "and footprint; or error, with its number and, for an unknown protocol, "
		       "the scheme; and base, where that is what the error is about.\n\nFootprints "
		       "are made of the strict canonical form. Where a "
		       "URL has none, footprint_error says why; with --strict that is an error. "
		       "loop is true where the path repeats itself.\n\nWith --batch each line is "
		       "answered as soon as there is nothing more to read; a URL that cannot be "
		       "understood is an answer, and the exit code is 0.",
	CMD_OPTIONS(options, struct url_options),
	CMD_ARGS("[URL...]", 0, -1,
		 "URLs; with --batch the files to read, standard input by default"),
	CMD_EXAMPLES({"garner url http://Example.COM:80/a/../b", "how garner writes it"},
		     {"garner url --base http://example.com/a/b ../c", "where a link leads"},
		     {"garner url --batch <links", "the same for many"}),
	CMD_EXITS({1, "none of the URLs could be understood"},
		  {ERR_PARTLY, "some of the URLs could not be understood"},
		  {ERR_SYSTEM, "the input cannot be read"}),
	.run = run,
};
