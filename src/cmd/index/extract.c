/* garner extract: what garner sees in a document. A file or a URL is read as the crawl reads it, in
 * garner-parse or, for comparison, in this process; what comes of it is shown for people, as a line
 * of JSON or as SOIF. */
#include "base/clock.h"
#include "base/hash.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/input.h"
#include "cmd/system/text.h"
#include "extract/cage_section.h"
#include "fetch/kit.h"
#include "soif/doc_attrs.h"
#include "url/url.h"

#include <limits.h>
#include <poll.h>

struct extract_options {
	bool json, soif, in_process;
	const char *url, *type, *charset;
};

/* Fetching, as `garner fetch` does: robots.txt, politeness, policy. */

struct fetched {
	struct buf body;
	struct buf url, content_type,
		robots; /* of the last hop; the headers as the robot understood them */
};

struct fetch {
	struct loop *loop;
	struct kit kit;
	struct robot_memory_sink sink;
	struct fetched *ret;
	struct err err; /* code ERR_NONE: it was fetched */
};

/* The header, put together from what the robot has understood of it. */
static void put_robots(const struct robot_tag *tag, struct buf *out)
{
	for (int i = 0; i < ROBOT_NDIRECTIVES; i++)
		if (tag->set & 1u << i)
			buf_printf(out, "%s%s", out->n ? "," : "",
				   robot_directive_name((enum robot_directive)i));
}

static void fetch_done(void *ctx, const struct robot_result *r)
{
	struct fetch *f = ctx;
	loop_stop(f->loop);
	buf_add_str(&f->ret->url, r->url);
	buf_add_text(&f->ret->content_type, r->head->mime);
	if (r->head->charset[0])
		buf_printf(&f->ret->content_type, "; charset=%s", r->head->charset);
	put_robots(&r->head->tag, &f->ret->robots);
	if (r->outcome == OUTCOME_OK)
		return;
	err_set(&f->err, ERR_REMOTE, "not fetched: %s, %s%s%s (status %d)",
		outcome_name(r->outcome), robot_cause_name(r->cause), r->why[0] ? ": " : "", r->why,
		r->head->status);
}

static int fetch_run(struct fetch *f, const struct config *config, struct str url, struct err *err)
{
	char data[PATH_MAX];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 || loop_new(&f->loop, NULL, err) < 0 ||
	    kit_open(&f->kit, f->loop, data, config_get(config, &robot_section), err) < 0)
		return -1;
	f->sink = robot_memory_sink(&f->ret->body, false);
	struct robot_job job = {.url = url, .sink = &f->sink.sink, .flags = ROBOT_WAIT};
	if (robot_fetch(f->kit.robot, &job, fetch_done, f, err) < 0 || loop_run(f->loop, err) < 0)
		return -1;
	if (f->err.code == ERR_NONE)
		return 0;
	*err = f->err;
	return -1;
}

/* The buffers are the caller's, with the limits that it wants. ERR_REMOTE: it was not fetched. */
static int fetch_document(const struct config *config, struct str url, struct fetched *ret,
			  struct err *err)
{
	struct fetch f = {.ret = ret};
	struct err ignored;
	int rc = fetch_run(&f, config, url, err);
	(void)kit_close(&f.kit, &ignored); /* robots.txt is asked again then */
	loop_free(&f.loop);
	return rc;
}

/* What is shown of a document. */

static const struct {
	enum meta_tag tag;
	const char *name;
} meta_names[] = {
	{META_TITLE, "title"},
	{META_EMPHASIS, "emphasis"},
	{META_ALT, "alt"},
	{META_DESCRIPTION, "description"},
	{META_KEYWORDS, "keywords"},
	{META_AUTHOR, "author"},
	{META_LANGUAGE, "language"},
	{META_ROBOTS, "robots"},
	{META_CANONICAL, "canonical"},
	{META_PUBLISHED, "published"},
	{META_MODIFIED, "modified"},
	{META_GENERATOR, "generator"},
	{META_REMARK, "remark"},
};
static const struct {
	enum link_kind kind;
	const char *name;
} link_kinds[] = {
	{LINK_ANCHOR, "anchor"},       {LINK_FORM, "form"},       {LINK_FEED, "feed"},
	{LINK_ALTERNATE, "alternate"}, {LINK_RELATED, "related"}, {LINK_REFRESH, "refresh"},
	{LINK_ITEM, "item"},           {LINK_PAGE, "page"},       {LINK_SITEMAP, "sitemap"},
	{LINK_IMAGE, "image"},         {LINK_FRAME, "frame"},     {LINK_EMBED, "embed"},
};
static const struct {
	unsigned flag;
	const char *name;
} link_flags[] = {{LINK_NOFOLLOW, "nofollow"}, {LINK_UGC, "ugc"}, {LINK_SPONSORED, "sponsored"}};

static const char *tag_name(char tag)
{
	if (tag >= '1' && tag <= '6')
		return "heading";
	for (size_t i = 0; i < ARRAY_LEN(meta_names); i++)
		if ((char)meta_names[i].tag == tag)
			return meta_names[i].name;
	return "other";
}

static const char *kind_name(enum link_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(link_kinds); i++)
		if (link_kinds[i].kind == kind)
			return link_kinds[i].name;
	return "other";
}

static void text_of_link(const struct doc_link *l, struct buf *out)
{
	buf_printf(out, "%s " STR_FMT, kind_name(l->kind), STR_ARG(l->url));
	for (size_t i = 0; i < ARRAY_LEN(link_flags); i++)
		if (l->flags & link_flags[i].flag)
			buf_printf(out, " %s", link_flags[i].name);
	if (l->time_s)
		buf_printf(out, " changed=%lld", (long long)l->time_s);
	if (l->text.n) {
		buf_add_text(out, " \"");
		put_safe(out, l->text);
		buf_add_byte(out, '"');
	}
	buf_add_byte(out, '\n');
}

static void text_of_attr(const struct attr *a, struct buf *out)
{
	struct doc_meta m;
	struct doc_link l;
	if (a->name == 'X')
		return;
	if (a->name == 'M' && meta_parse(a->value, &m)) {
		buf_add_text(out, tag_name(m.tag));
		if (m.tag >= '1' && m.tag <= '6')
			buf_printf(out, " %c", m.tag);
		buf_add_text(out, ": ");
		put_safe(out, m.text);
		buf_add_byte(out, '\n');
	} else if (strchr("RFIA", a->name) && link_parse(a->name, a->value, &l)) {
		text_of_link(&l, out);
	} else if (a->name == 'Z') {
		buf_printf(out, "size: " STR_FMT "\n", STR_ARG(a->value));
	} else if (a->name == 'C') {
		buf_printf(out, "md5: " STR_FMT "\n", STR_ARG(a->value));
	}
}

static void put_lines(struct buf *out, struct str text)
{
	for (size_t n; text.n; text = str_from(text, n + 1)) {
		n = str_find_byte(text, '\n');
		put_safe(out, str_head(text, n));
		if (n < text.n)
			buf_add_byte(out, '\n');
	}
}

static void print_text(struct str url, const struct cage_result *r, struct buf *out)
{
	bool some = false;
	buf_printf(out, "url: " STR_FMT "\n", STR_ARG(url));
	if (r->end == CAGE_READ)
		buf_printf(out, "type: %s, %s\n", extract_type_name(r->result.type),
			   r->result.media_type);
	if (r->result.charset.name)
		buf_printf(out, "charset: %s, by %s\n", r->result.charset.name,
			   charset_source_name(r->result.charset.source));
	for (size_t i = 0; i < r->attrs.n; i++)
		text_of_attr(&r->attrs.a[i], out);
	for (size_t i = 0; i < r->attrs.n; i++)
		if (r->attrs.a[i].name == 'X') {
			if (!some)
				buf_add_text(out, "text:\n");
			some = true;
			put_lines(out, r->attrs.a[i].value);
		}
	buf_add_text(out, some ? "\n\n" : "\n");
}

struct meta_row {
	const char *tag;
	int level; /* 0: not a heading */
	struct doc_meta m;
};
static const struct column meta_columns[] = {
	COL("tag", struct meta_row, tag),
	COL("level", struct meta_row, level, .how = ROW_SOME),
	COL("weight", struct meta_row, m.weight),
	COL("text", struct meta_row, m.text),
};
static const struct rows meta_rows = {ROWS(struct meta_row, meta_columns)};

struct link_row {
	const char *kind;
	struct doc_link l;
	bool nofollow, ugc, sponsored;
};
static const struct column link_columns[] = {
	COL("kind", struct link_row, kind),
	COL("url", struct link_row, l.url),
	COL("nofollow", struct link_row, nofollow, .how = ROW_SOME),
	COL("ugc", struct link_row, ugc, .how = ROW_SOME),
	COL("sponsored", struct link_row, sponsored, .how = ROW_SOME),
	COL("changed", struct link_row, l.time_s, .how = ROW_SOME),
	COL("text", struct link_row, l.text, .how = ROW_SOME),
};
static const struct rows link_rows = {ROWS(struct link_row, link_columns)};

/* What is told of a document. Of what it says several times, title and the like are the first. */
struct document {
	struct str url, md5, title, description, language, robots, canonical;
	struct cage_result r;
	int64_t size; /* -1: not known */
	struct meta_row *meta;
	struct link_row *link;
	size_t metas, links, meta_room, link_room;
	struct buf text;
};

COL_NAMER(print_end, enum cage_end, cage_end_name)
COL_NAMER(print_type, enum extract_type, extract_type_name)
COL_NAMER(print_source, enum charset_source, charset_source_name)

static void print_whole(const void *member, struct buf *out)
{
	buf_add_str(out, buf_str(member));
}

#define S struct document
static const struct column document_columns[] = {
	COL("url", S, url),
	COL_OF("end", S, r.end, print_end),
	COL_OF("type", S, r.result.type, print_type),
	COL("media_type", S, r.result.media_type, COL_IF_IS(S, r.end, CAGE_READ)),
	COL("charset", S, r.result.charset.name, .how = ROW_SOME),
	COL_OF("charset_by", S, r.result.charset.source, print_source,
	       COL_IF(S, r.result.charset.name)),
	COL("bad_bytes", S, r.result.bad_bytes, COL_IF(S, r.result.charset.name)),
	COL("size", S, size, .how = ROW_SOME | ROW_NEG),
	COL("md5", S, md5),
	COL("title", S, title, COL_IF(S, title.p)),
	COL("description", S, description, COL_IF(S, description.p)),
	COL("language", S, language, COL_IF(S, language.p)),
	COL("robots", S, robots, COL_IF(S, robots.p)),
	COL("canonical", S, canonical, COL_IF(S, canonical.p)),
	COL("remark", S, r.result.remark, .how = ROW_SOME),
	COL_LIST("meta", S, meta, metas, meta_rows),
	COL_LIST("links", S, link, links, link_rows),
	COL("links_left_out", S, r.result.links_left_out),
	COL_OF("text", S, text, print_whole),
	COL("cpu_us", S, r.cpu_us),
};
static const struct rows document_rows = {ROWS(S, document_columns)};
#undef S

static struct str *first_of(struct document *d, char tag)
{
	return tag == META_TITLE         ? &d->title
	       : tag == META_DESCRIPTION ? &d->description
	       : tag == META_LANGUAGE    ? &d->language
	       : tag == META_ROBOTS      ? &d->robots
	       : tag == META_CANONICAL   ? &d->canonical
					 : NULL;
}

static void document_add(struct document *d, const struct attr *a, struct arena *arena)
{
	struct doc_meta m;
	struct doc_link l;
	if (a->name == 'X') {
		buf_add_str(&d->text, a->value);
	} else if (a->name == 'M' && meta_parse(a->value, &m)) {
		bool heading = m.tag >= '1' && m.tag <= '6';
		struct str *first = first_of(d, m.tag);
		if (first && !first->p)
			*first = m.text;
		*ARENA_PUSH(arena, d->meta, d->metas, d->meta_room) =
			(struct meta_row){tag_name(m.tag), heading ? m.tag - '0' : 0, m};
	} else if (strchr("RFIA", a->name) && link_parse(a->name, a->value, &l)) {
		*ARENA_PUSH(arena, d->link, d->links, d->link_room) =
			(struct link_row){kind_name(l.kind), l, l.flags & LINK_NOFOLLOW,
					  l.flags & LINK_UGC, l.flags & LINK_SPONSORED};
	}
}

static void print_json(struct str url, const struct cage_result *r, struct buf *out)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct document d = {.url = url,
			     .md5 = attrs_get(&r->attrs, 'C'),
			     .r = *r,
			     .size = -1,
			     .text = BUF_INIT(CAGE_OUT)};
	uint64_t size;
	if (str_u64(attrs_get(&r->attrs, 'Z'), &size))
		d.size = (int64_t)size;
	for (size_t i = 0; i < r->attrs.n; i++)
		document_add(&d, &r->attrs.a[i], &arena);
	rows_json_line(&document_rows, &d, out);
	buf_free(&d.text);
}

static int print_soif(struct str url, const struct cage_result *r, struct buf *out, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	attrs_soif(&r->attrs, &arena, 0, &obj);
	obj.url = url;
	return soif_print(&obj, out, err);
}

/* Documents. */

struct work {
	const struct cmd_call *call;
	const struct extract_options *options;
	struct config *config;
	struct cage_options cage_options;
	struct cage *cage;
	struct extract *extract; /* in this process */
	void *memory;
	struct fetched doc;
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

static void show_document(void *ctx, const struct cage_result *result)
{
	struct work *w = ctx;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct cage_result whole = *result, *r = &whole;
	struct str url = buf_str(&w->doc.url);
	r->attrs = with_digest(&result->attrs, buf_str(&w->doc.body), &arena);
	w->told = true;
	w->failed += r->end != CAGE_READ;
	if (w->options->soif)
		(void)print_soif(url, r, &w->out, &w->err);
	else if (w->options->json)
		print_json(url, r, &w->out);
	else
		print_text(url, r, &w->out);
	cmd_flush(w->call, &w->out);
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
	show_document(w, &r);
}

static void read_caged(struct work *w, const struct extract_job *job)
{
	struct cage_slot *slot;
	ENSURE(cage_take(w->cage, &slot) == 0);
	if (job->body.n)
		memcpy(slot->body, job->body.p, job->body.n);
	w->told = false;
	cage_submit(w->cage, slot, job, show_document, w, clock_mono_us());
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

static void clear_document(struct fetched *d)
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

static int load_document(struct work *w, const char *name, struct err *err)
{
	clear_document(&w->doc);
	if (!is_url(str_of(name)))
		return load_file(w, name, err);
	int rc = fetch_document(w->config, str_of(name), &w->doc, err);
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
	w->doc = (struct fetched){BUF_INIT(w->cage_options.body_max), BUF_INIT(URL_TEXT_MAX),
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

static int run_all(struct work *w, struct err *err)
{
	char room[CAGE_PATH_MAX];
	int code = 0; /* of the first that could not be had */
	if (open_reader(w, room, err) < 0)
		return -1;
	for (int i = 0; i < MAX(w->call->argc, 1); i++) {
		if (load_document(w, w->call->argc ? w->call->argv[i] : "-", err) < 0) {
			int failed = cmd_fail(w->call, err);
			code = code ? code : failed;
		} else if (read_document(w, err) < 0) {
			return -1;
		}
	}
	if (w->failed || (code && w->documents))
		return ERR_PARTLY;
	return code;
}

/* The command. */

static int check_options(const struct extract_options *o, struct err *err)
{
	char shown[VALUE_SHOWN];
	if (o->json && o->soif)
		return err_set(err, ERR_USAGE, "--json and --soif cannot be combined");
	if (o->charset[0] && !charset_by_label(str_of(o->charset)))
		return err_set(
			err, ERR_USAGE,
			"--charset: expected a name of the Encoding Standard, such as utf-8, "
			"windows-1252 or shift_jis, got '%s'",
			value_show(str_of(o->charset), shown));
	return cmd_check_url("--url", o->url, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
	CLEANUP(close_reader)
	struct work w = {.call = call, .options = call->options, .out = BUF_INIT(256 << 20)};
	if (check_options(w.options, err) < 0)
		return -1;
	return cmd_config(call, &w.config, err) < 0 ? -1 : run_all(&w, err);
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "json", struct extract_options, json, "a line of JSON for each document"),
	CMD_FLAG(0, "soif", struct extract_options, soif, "SOIF objects"),
	CMD_OPTION('u', "URL", "url", VALUE_TEXT_AT(struct extract_options, url),
		   .help = "URL of a file, to which its links are relative"),
	CMD_OPTION(
		't', "TYPE", "type", VALUE_TEXT_AT(struct extract_options, type),
		.help = "Content-Type to use instead of the server's; a file has none of its own"),
	CMD_OPTION(0, "NAME", "charset", VALUE_TEXT_AT(struct extract_options, charset),
		   .help = "charset of documents that do not name one"),
	CMD_FLAG(0, "in-process", struct extract_options, in_process,
		 "read documents in this process instead of garner-parse, for comparison; only "
		 "for trusted documents"),
};
const struct command extract_command = {
	.name = "extract",
	.summary = "show what garner sees in a document",
	.description =
		"Reads documents as the crawl does and prints the result: type, charset, title, "
		"description, headings, links and text. Files are read as they are; URLs are "
		"fetched as by 'garner fetch'.\n\n"
		"Documents are read by garner-parse, a process without rights: no network, no "
		"files, bounded memory and time. If a document makes it fail, the document has no "
		"text, and a remark says why; this command reproduces that. The section "
		"[parse] has the settings.",
	CMD_OPTIONS(options, struct extract_options),
	CMD_ARGS("[FILE|URL...]", 0, -1, "what to read; standard input without any, or for -"),
	CMD_EXAMPLES({"garner extract https://example.org/", "what garner sees in a page"},
		     {"garner extract --json --url http://example.org/a/ page.html",
		      "the same of a file, as JSON"},
		     {"garner extract --soif *.html", "files as SOIF objects"}),
	CMD_EXITS({ERR_PARTLY,
		   "some could not be read or fetched, or have no text because a worker failed"},
		  {ERR_REMOTE, "no URL could be fetched"},
		  {ERR_SYSTEM, "no file can be read, or no worker be started"}),
	.run = run,
};
