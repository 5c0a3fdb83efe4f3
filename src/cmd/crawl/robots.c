/* garner robots: what a robots.txt says, at the command line. */
#include "fetch/robots.h"

#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/system/input.h"
#include "url/url.h"

#include <jansson.h>

enum {
	KEPT_MAX = ROBOTS_FILE_MAX + 4, /* with its mark, and enough to see that it goes on */
	QUESTION_MAX = 16 << 20,        /* bytes of a line of JSON */
};

struct robots_options {
	const char *agent;
	bool batch, json;
};

/* One file and what it was compiled to, for as long as questions are about the same. */
struct subject {
	struct buf file, agent, form;
};

#define SUBJECT_INIT                                                      \
	((struct subject){BUF_INIT(QUESTION_MAX), BUF_INIT(QUESTION_MAX), \
			  BUF_INIT(ROBOTS_COMPILED_MAX)})

static void subject_free(struct subject *s)
{
	buf_free(&s->file);
	buf_free(&s->agent);
	buf_free(&s->form);
}

/* From the end of the authority on. */
static struct str after_authority(struct str url)
{
	size_t at = MIN(str_find(url, STR("://")) + 3, url.n);
	struct str rest = str_from(url, at);
	size_t path = MIN(str_find_byte(rest, '/'), str_find_byte(rest, '?'));
	return str_from(rest, path);
}

/* The path and query of a URL, in room of URL_TEXT_MAX * 3 bytes; or a path that is given as such.
 * Patterns may be longer than any URL that is fetched: one that is too long to be parsed is taken
 * as it is written. */
static int path_of(struct str text, char *room, struct str *ret, struct err *err)
{
	struct url url;
	if (text.n && text.p[0] == '/') {
		*ret = text;
		return 0;
	}
	int rc = url_parse(text, NULL, room, (size_t)URL_TEXT_MAX * 3, &url);
	if (rc < 0 && rc != -URL_TOO_LONG)
		return url_fail(rc, text, err);
	*ret = rc == 0 ? url_target(&url) : after_authority(text);
	return 0;
}

/* url and rule: NULL where the caller knows the URL. */
struct answer {
	const char *url;
	struct robots_verdict v;
	struct str rule;
};
static const struct column answer_columns[] = {
	COL("url", struct answer, url, .how = ROW_SOME),
	COL("allowed", struct answer, v.allowed),
	COL("line", struct answer, v.line),
	COL("rule", struct answer, rule, COL_IF(struct answer, url)),
};
static const struct rows answer_rows = {ROWS(struct answer, answer_columns)};

static void put_json(const char *url, struct robots_verdict v, struct str rule, struct buf *out)
{
	rows_json_line(&answer_rows, &(struct answer){url, v, rule}, out);
}

static void put_text(const char *url, struct robots_verdict v, struct str rule, struct buf *out)
{
	char shown[VALUE_SHOWN];
	buf_printf(out, "%-10s %s  ", v.allowed ? "allowed" : "disallowed", url);
	if (v.line)
		buf_printf(out, "line %u: %s\n", v.line, value_show(rule, shown));
	else
		buf_add_text(out, "no rule\n");
}

static int keep_piece(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct buf *file = ctx;
	(void)name;
	(void)err;
	buf_add_str(file, str_head(piece, KEPT_MAX - MIN(file->n, (size_t)KEPT_MAX)));
	return 0;
}

/* Returns the exit code. */
static int print_answer(const struct cmd_call *call, const struct subject *s, struct err *err)
{
	const struct robots_options *o = call->options;
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)64 << 20);
	char room[URL_TEXT_MAX * 3];
	int code = 0;
	for (int i = 1; i < call->argc; i++) {
		struct str path = {0};
		if (path_of(str_of(call->argv[i]), room, &path, err) < 0)
			return -1;
		struct robots_verdict v = robots_verdict(buf_str(&s->form), path);
		struct str rule = str_trim(robots_line(buf_str(&s->file), v.line));
		(o->json ? put_json : put_text)(call->argv[i], v, rule, &out);
		code = v.allowed ? code : 1;
	}
	cmd_print(call, &out);
	return code;
}

static int run_files(const struct cmd_call *call, struct err *err)
{
	const struct robots_options *o = call->options;
	CLEANUP(subject_free) struct subject s = SUBJECT_INIT;
	if (call->argc < 2)
		return err_set(err, ERR_USAGE, "no URL; see 'garner robots test --help'");
	if (cmd_read_path(call->argv[0], keep_piece, &s.file, err) < 0 ||
	    robots_compile(buf_str(&s.file), str_of(o->agent), &s.form, err) < 0)
		return -1;
	return print_answer(call, &s, err);
}

struct batch {
	const struct cmd_call *call;
	struct subject subject;
	struct buf out;
	uint64_t bad;
};

static int json_member(const json_t *object, const char *key, struct str missing, struct str *ret,
		       struct err *err)
{
	const json_t *value = json_object_get(object, key);
	if (!value && missing.p) {
		*ret = missing;
		return 0;
	}
	if (!json_is_string(value))
		return err_set(err, ERR_USAGE, "expected a text as '%s'", key);
	*ret = (struct str){json_string_value(value), json_string_length(value)};
	return 0;
}

/* A file that is asked about many times in a row is compiled once. */
static int turn_to(struct subject *s, struct str file, struct str agent, struct err *err)
{
	if (s->form.n && str_eq(buf_str(&s->file), file) && str_eq(buf_str(&s->agent), agent))
		return 0;
	buf_clear(&s->file);
	buf_clear(&s->agent);
	buf_clear(&s->form);
	buf_add_str(&s->file, file);
	buf_add_str(&s->agent, agent);
	return robots_compile(file, agent, &s->form, err);
}

static int decide_question(struct batch *b, const json_t *question, struct err *err)
{
	const struct robots_options *o = b->call->options;
	char room[URL_TEXT_MAX * 3];
	struct str file = {0}, agent = {0}, url = {0}, path = {0};
	if (!json_is_object(question))
		return err_set(err, ERR_USAGE, "expected an object with robots, agent and url");
	if (json_member(question, "robots", (struct str){0}, &file, err) < 0 ||
	    json_member(question, "agent", str_of(o->agent), &agent, err) < 0 ||
	    json_member(question, "url", (struct str){0}, &url, err) < 0 ||
	    path_of(url, room, &path, err) < 0 || turn_to(&b->subject, file, agent, err) < 0)
		return -1;
	put_json(NULL, robots_verdict(buf_str(&b->subject.form), path), STR(""), &b->out);
	return 0;
}

static void put_error(struct batch *b, const char *message)
{
	struct err err;
	(void)err_set(&err, ERR_USAGE, "%s", message);
	rows_json_line(&rows_err, &err, &b->out);
	b->bad++;
}

/* Every line is answered at once: the asker may be waiting for it. */
static int take_question(void *ctx, const char *name, uint64_t line, struct str text,
			 struct err *err)
{
	struct batch *b = ctx;
	json_error_t wrong;
	json_t *question = json_loadb(text.p, text.n, JSON_ALLOW_NUL, &wrong);
	struct err said;
	(void)name;
	(void)line;
	(void)err;
	if (!question)
		put_error(b, wrong.text);
	else if (decide_question(b, question, &said) < 0)
		put_error(b, said.msg);
	json_decref(question);
	cmd_flush(b->call, &b->out);
	return fflush(b->call->out) ? 1 : 0;
}

static int run_batch(const struct cmd_call *call, struct err *err)
{
	struct batch b = {.call = call, .subject = SUBJECT_INIT, .out = BUF_INIT(1 << 20)};
	int rc = cmd_read_lines(call, 0, QUESTION_MAX, take_question, &b, err);
	subject_free(&b.subject);
	buf_free(&b.out);
	return rc < 0 ? -1 : b.bad ? ERR_PARTLY : 0;
}

static int run_test(const struct cmd_call *call, struct err *err)
{
	const struct robots_options *o = call->options;
	return o->batch ? run_batch(call, err) : run_files(call, err);
}

static const struct cmd_option test_options[] = {
	CMD_OPTION('a', "NAME", "agent", VALUE_TEXT_AT(struct robots_options, agent), "garner",
		   .help = "the product token of the robot that asks"),
	CMD_FLAG(0, "batch", struct robots_options, batch,
		 "answer questions in lines of JSON, from files or standard input"),
	CMD_FLAG(0, "json", struct robots_options, json, "a line of JSON for each URL"),
};
static const struct command test = {
	.name = "test",
	.summary = "say whether URLs may be fetched, and by which line",
	.description = "Reads FILE by RFC 9309 and shows for each URL whether a robot may fetch "
		       "it, and which line decided. Only the path and query of a URL "
		       "count.\n\nWith --batch, a question is an object with robots (the text of "
		       "the file), agent (default: --agent) and url. Its answer is an object with "
		       "allowed and line, which is 0 if no rule matched, or with error.",
	CMD_OPTIONS(test_options, struct robots_options),
	CMD_ARGS("FILE URL...", 0, -1,
		 "a robots.txt, or - for standard input, and what to ask; with --batch, files of "
		 "questions"),
	CMD_EXAMPLES({"garner robots test robots.txt https://example.org/a",
		      "whether garner may fetch it"},
		     {"garner robots test -a examplebot - /a /b < robots.txt",
		      "two paths, for another robot"},
		     {"garner robots test --batch < questions", "many files and URLs"}),
	CMD_EXITS({1, "not all of the URLs are allowed"},
		  {ERR_PARTLY, "with --batch: some questions could not be answered"},
		  {ERR_SYSTEM, "a file cannot be read"}),
	.run = run_test,
};

const struct command robots_command = {
	.name = "robots",
	.summary = "what a robots.txt allows",
	.description = "robots.txt is how sites tell robots where they may go (RFC 9309).",
	CMD_SUBS(&test),
};
