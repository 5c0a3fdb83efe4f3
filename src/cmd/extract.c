/* garner extract: what garner sees in a document. */
#include "base/clock.h"
#include "base/hash.h"
#include "cmd/commands.h"
#include "cmd/extract_fetch.h"
#include "cmd/extract_print.h"
#include "cmd/extract_tokens.h"
#include "cmd/input.h"
#include "extract/cage_section.h"
#include "url/url.h"

#include <poll.h>

struct extract_options {
	bool json, soif, in_process, tokens, batch;
	const char *url, *type, *charset, *state, *last_start_tag;
};

struct work {
	const struct cmd_call *call;
	const struct extract_options *options;
	struct config *config;
	struct cage_options cage_options;
	struct cage *cage;
	struct extract *extract; /* in this process */
	void *memory;
	struct extract_fetched doc;
	struct buf out;
	uint64_t documents, failed;
	bool told;
	struct err err; /* of the printing */
};

/* With the digest, which a robot would have made on the way. */
static struct attrs with_digest(const struct attrs *attrs, struct str body, struct arena *arena)
{
	unsigned char digest[16];
	char *hex = arena_alloc(arena, 2 * sizeof digest + 1);
	struct attrs all = {arena_array(arena, attrs->n + 1, sizeof *all.a), attrs->n + 1,
			    attrs->n + 1};
	md5(body, digest);
	hex_print(digest, sizeof digest, hex);
	all.a[0] = (struct attr){'C', str_of(hex)};
	if (attrs->n)
		memcpy(all.a + 1, attrs->a, attrs->n * sizeof *all.a);
	return all;
}

static void show(void *ctx, const struct cage_result *told)
{
	struct work *w = ctx;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct cage_result whole = *told, *r = &whole;
	struct str url = buf_str(&w->doc.url);
	r->attrs = with_digest(&told->attrs, buf_str(&w->doc.body), &arena);
	w->told = true;
	w->failed += r->end != CAGE_READ;
	buf_clear(&w->out);
	if (w->options->soif)
		(void)extract_print_soif(url, r, &w->out, &w->err);
	else if (w->options->json)
		extract_print_json(url, r, &w->out);
	else
		extract_print_text(url, r, &w->out);
	fwrite(buf_text(&w->out), 1, w->out.n, w->call->out);
	arena_free(&arena);
}

/* In this process: without the cage, for comparison. */
static void read_here(struct work *w, const struct extract_job *job)
{
	struct cage_result r = {.end = CAGE_READ, .reason = ""};
	struct out out;
	int64_t before_us = clock_cpu_us();
	out_begin(&out, w->memory, CAGE_OUT, 0);
	extract_run(w->extract, job, &out, &r.result);
	r.attrs = (struct attrs){out.attr, out.n, out.n};
	r.cpu_us = clock_cpu_us() - before_us;
	show(w, &r);
}

static void read_caged(struct work *w, const struct extract_job *job)
{
	struct cage_slot *slot;
	ENSURE(cage_take(w->cage, &slot) == 0);
	if (job->body.n)
		memcpy(slot->body, job->body.p, job->body.n);
	w->told = false;
	cage_submit(w->cage, slot, job, show, w, clock_mono_us());
	while (!w->told) {
		struct pollfd p = {cage_fd(w->cage), POLLIN, 0};
		(void)poll(&p, 1, -1); /* interrupted or not, it is looked at */
		cage_poll(w->cage, clock_mono_us());
	}
}

static int read_document(struct work *w, struct err *err)
{
	struct extract_job job = {.url = buf_str(&w->doc.url),
				  .content_type = buf_str(&w->doc.content_type),
				  .charset = str_of(w->options->charset),
				  .robots = buf_str(&w->doc.robots),
				  .body = buf_str(&w->doc.body),
				  .settings = w->cage_options.settings};
	w->documents++;
	if (w->options->type[0])
		job.content_type = str_of(w->options->type);
	if (w->cage)
		read_caged(w, &job);
	else
		read_here(w, &job);
	if (w->err.code == ERR_NONE)
		return 0;
	*err = w->err;
	return -1;
}

static int take_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct work *w = ctx;
	buf_add_str(&w->doc.body, piece);
	if (w->doc.body.over)
		return err_set(err, ERR_USAGE, "%s: larger than %zu bytes, see parse.body_max",
			       name, w->doc.body.max);
	return 0;
}

static void clear_document(struct extract_fetched *d)
{
	buf_clear(&d->body);
	buf_clear(&d->url);
	buf_clear(&d->content_type);
	buf_clear(&d->robots);
}

/* A file, or standard input, as if it had come from --url or from a file: URL. */
static int load_file(struct work *w, const char *name, struct err *err)
{
	buf_add_text(&w->doc.url, w->options->url[0] ? w->options->url : name);
	return cmd_read_path(name, take_piece, w, err);
}

static bool is_url(struct str name)
{
	char scheme[URL_SCHEME_MAX];
	size_t n = url_scheme_of(name, scheme).n;
	return n && str_starts(str_from(name, n), STR("://"));
}

static int load(struct work *w, const char *name, struct err *err)
{
	clear_document(&w->doc);
	if (!is_url(str_of(name)))
		return load_file(w, name, err);
	int rc = extract_fetch(w->config, str_of(name), &w->doc, err);
	if (rc == 0 || err->code != ERR_REMOTE)
		return rc;
	CLEANUP(buf_free) struct buf shown = BUF_INIT(strlen(name) + 1);
	url_show(str_of(name), &shown);
	return err_in(err, "%s", buf_text(&shown));
}

static int open_reader(struct work *w, char room[CAGE_PATH_MAX], struct err *err)
{
	const struct cage_section_conf *conf = config_get(w->config, &cage_section);
	if (cage_section_options(conf, room, &w->cage_options, err) < 0)
		return -1;
	w->cage_options.workers = 1;
	w->doc =
		(struct extract_fetched){BUF_INIT(w->cage_options.body_max), BUF_INIT(URL_TEXT_MAX),
					 BUF_INIT(CAGE_HEADER_MAX), BUF_INIT(CAGE_HEADER_MAX)};
	if (w->options->in_process) {
		w->extract = extract_new();
		w->memory = mem_alloc(CAGE_OUT);
		return 0;
	}
	return cage_new(&w->cage, &w->cage_options, clock_mono_us(), err);
}

static void close_reader(struct work *w)
{
	cage_free(&w->cage);
	extract_free(&w->extract);
	mem_free(&w->memory);
	buf_free(&w->doc.body);
	buf_free(&w->doc.url);
	buf_free(&w->doc.content_type);
	buf_free(&w->doc.robots);
	buf_free(&w->out);
	config_free(&w->config);
}

static int run_all(struct work *w)
{
	char room[CAGE_PATH_MAX];
	struct err err;
	int code = 0; /* of the first that could not be had */
	if (open_reader(w, room, &err) < 0)
		return cmd_fail(w->call, &err);
	for (int i = 0; i < MAX(w->call->argc, 1); i++) {
		if (load(w, w->call->argc ? w->call->argv[i] : "-", &err) < 0) {
			int failed = cmd_fail(w->call, &err);
			code = code ? code : failed;
		} else if (read_document(w, &err) < 0) {
			return cmd_fail(w->call, &err);
		}
	}
	if (w->failed || (code && w->documents))
		return ERR_PARTLY;
	return code;
}

static int run(const struct cmd_call *call)
{
	struct work w = {.call = call, .options = call->options, .out = BUF_INIT(256 << 20)};
	const struct extract_options *o = w.options;
	if (o->tokens)
		return extract_tokens(
			call,
			&(struct extract_tokens_options){o->state, o->last_start_tag, o->batch}, 0);
	if (o->state[0] || o->last_start_tag[0] || o->batch) {
		struct err err;
		err_set(&err, ERR_USAGE, "--state, --last-start-tag and --batch go with --tokens");
		return cmd_fail(call, &err);
	}
	int code = cmd_config(call, &w.config);
	if (code != 0)
		return code;
	code = run_all(&w);
	close_reader(&w);
	return code;
}

static const struct cmd_option options[] = {
	{0,
	 NULL,
	 {"json", VALUE_BOOL_AT(struct extract_options, json),
	  .help = "a line of JSON for each document"}},
	{0, NULL, {"soif", VALUE_BOOL_AT(struct extract_options, soif), .help = "SOIF objects"}},
	{'u',
	 "URL",
	 {"url", VALUE_TEXT_AT(struct extract_options, url),
	  .help = "where a file is said to come from: what links in it are relative to"}},
	{'t',
	 "TYPE",
	 {"type", VALUE_TEXT_AT(struct extract_options, type),
	  .help = "the Content-Type header, in place of the server's; a file has none"}},
	{0,
	 "NAME",
	 {"charset", VALUE_TEXT_AT(struct extract_options, charset),
	  .help = "the charset of a document that does not name its own"}},
	{0,
	 NULL,
	 {"in-process", VALUE_BOOL_AT(struct extract_options, in_process),
	  .help = "read it in this process and not in garner-parse, for comparison: only for "
		  "documents that are trusted"}},
	{0,
	 NULL,
	 {"tokens", VALUE_BOOL_AT(struct extract_options, tokens),
	  .help = "the tokens of HTML and nothing else, as JSON in the form of the html5lib "
		  "tests"}},
	{0,
	 "NAME",
	 {"state", VALUE_TEXT_AT(struct extract_options, state),
	  .help = "with --tokens: the state to begin in, such as \"RCDATA state\""}},
	{0,
	 "NAME",
	 {"last-start-tag", VALUE_TEXT_AT(struct extract_options, last_start_tag),
	  .help = "with --tokens: the start tag that came before"}},
	{0,
	 NULL,
	 {"batch", VALUE_BOOL_AT(struct extract_options, batch),
	  .help = "with --tokens: lines of JSON with \"input\" in, a line of tokens out for each"}},
};
static const struct cmd_example examples[] = {
	{"garner extract https://example.org/", "what garner sees in a page"},
	{"garner extract --json --url http://example.org/a/ page.html",
	 "the same of a file, as JSON"},
	{"garner extract --soif *.html", "files as SOIF objects"},
	{"echo '<p>a' | garner extract --tokens", "the tokens of HTML"},
};
static const struct cmd_exit exits[] = {
	{ERR_PARTLY, "some could not be read or fetched, or have no text because a worker failed"},
	{ERR_REMOTE, "no URL could be fetched"},
	{ERR_SYSTEM, "no file can be read, or no worker be started"},
};
const struct command extract_command = {
	.name = "extract",
	.summary = "show what garner sees in a document",
	.description =
		"Reads documents as the crawl does and shows what comes of it: type, charset, "
		"title, "
		"description, headings, links and text. Files are taken as they are, URLs are "
		"fetched as 'garner fetch' does.\n\n"
		"Documents are read by garner-parse, a process without rights: no network, no "
		"files, bounded memory and time. A document that makes it fail has no text, and "
		"a remark says why: this command reproduces it. The settings are those of the "
		"section [parse].",
	CMD_OPTIONS(options, struct extract_options),
	.args = "[FILE|URL...]",
	.args_help = "what to read; standard input without any, or for -",
	.max_args = -1,
	CMD_EXAMPLES(examples),
	CMD_EXITS(exits),
	.run = run,
};
