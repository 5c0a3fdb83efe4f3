/* Lines of the doc index protocol. One table has the verbs of a client with the arguments of each,
 * so that reading and writing cannot differ; numbers are bounded and words checked before anybody
 * sees them. A line that could be meant in two ways is refused: one blank between words, none
 * before or after. */
#include "fetch/docindex_wire.h"

#include <inttypes.h>

const char *docindex_outcome_name(unsigned outcome)
{
	return outcome == DOCINDEX_DONE ? "done" : outcome_name((enum outcome)outcome);
}

bool docindex_outcome_parse(struct str name, unsigned *ret)
{
	enum outcome outcome;
	if (str_is(name, "done")) {
		*ret = DOCINDEX_DONE;
		return true;
	}
	if (!outcome_parse(name, &outcome))
		return false;
	*ret = outcome;
	return true;
}

bool docindex_is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '!' || s.p[i] > '~')
			return false;
	return s.n > 0 && s.n <= DOCINDEX_WORD_MAX;
}

static bool is_without_blanks(struct str s, size_t most)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
			return false;
	return s.n > 0 && s.n <= most;
}

bool docindex_is_url(struct str s)
{
	return is_without_blanks(s, DOCINDEX_URL_MAX);
}

bool docindex_is_host(struct str s)
{
	return is_without_blanks(s, DOCINDEX_HOST_MAX);
}

static int line_wrong(struct str line, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: '" STR_FMT "'", why, STR_ARG(str_head(line, 80)));
}

static bool number_read(struct str s, uint64_t most, uint64_t *ret)
{
	return s.n <= STR_DECIMAL_MAX && str_u64(s, ret) && *ret <= most;
}

/* What a client says. */

enum { ARGS_MAX = 3 };

enum arg_kind { ARG_NONE, ARG_WORD, ARG_COUNT, ARG_REJECTS, ARG_OUTCOME, ARG_HEAD, ARG_BODY };

static const struct verb {
	const char *name;
	enum arg_kind arg[ARGS_MAX];
} verbs[] = {
	[DOCINDEX_HELLO] = {"HELLO", {ARG_WORD}},
	[DOCINDEX_WANT] = {"WANT", {ARG_COUNT, ARG_REJECTS}},
	[DOCINDEX_REJECT] = {NULL},
	[DOCINDEX_REPORT] = {"DONE", {ARG_WORD, ARG_OUTCOME}},
	[DOCINDEX_RESULT] = {"RESULT", {ARG_WORD, ARG_HEAD, ARG_BODY}},
};

static bool arg_read(enum arg_kind kind, struct str s, struct docindex_request *r)
{
	switch (kind) {
	case ARG_WORD:
		r->name = s;
		return docindex_is_word(s);
	case ARG_COUNT:
		return number_read(s, DOCINDEX_COUNT_MAX, &r->count);
	case ARG_REJECTS:
		return number_read(s, DOCINDEX_COUNT_MAX, &r->rejects);
	case ARG_OUTCOME:
		return docindex_outcome_parse(s, &r->outcome);
	case ARG_HEAD:
		return number_read(s, DOCINDEX_HEAD_MAX, &r->head);
	case ARG_BODY:
		return number_read(s, DOCINDEX_BODY_MAX, &r->body);
	case ARG_NONE:
		break;
	}
	return false;
}

static bool args_read(const struct verb *v, struct str rest, struct docindex_request *r)
{
	struct str arg;
	for (size_t i = 0; i < ARGS_MAX && v->arg[i]; i++)
		if (str_cut(&rest, ' ', &arg) != 0 || !arg_read(v->arg[i], arg, r))
			return false;
	return !rest.p;
}

static int reject_read(struct docindex_requests *in, struct str line, struct docindex_request *ret,
		       struct err *err)
{
	if (!docindex_is_host(line))
		return line_wrong(line, "not a host name of a reject list", err);
	in->rejects--;
	*ret = (struct docindex_request){
		.verb = DOCINDEX_REJECT, .name = line, .rejects = in->rejects};
	return 0;
}

int docindex_request_read(struct docindex_requests *in, struct str line,
			  struct docindex_request *ret, struct err *err)
{
	struct docindex_request r = {0};
	struct str rest = line, verb;
	if (in->rejects)
		return reject_read(in, line, ret, err);
	(void)str_cut(&rest, ' ', &verb);
	size_t at = 0;
	while (at < ARRAY_LEN(verbs) && !(verbs[at].name && str_is(verb, verbs[at].name)))
		at++;
	if (at == ARRAY_LEN(verbs))
		return line_wrong(line, "not a line of a client", err);
	r.verb = (enum docindex_verb)at;
	if (!args_read(&verbs[at], rest, &r))
		return line_wrong(line, "wrong arguments", err);
	if (in->greeted == (r.verb == DOCINDEX_HELLO))
		return line_wrong(line, in->greeted ? "HELLO twice" : "HELLO comes first", err);
	in->greeted = true;
	in->rejects = r.rejects;
	*ret = r;
	return 0;
}

static void arg_write(enum arg_kind kind, const struct docindex_request *r, struct buf *out)
{
	const uint64_t numbers[] = {[ARG_COUNT] = r->count,
				    [ARG_REJECTS] = r->rejects,
				    [ARG_HEAD] = r->head,
				    [ARG_BODY] = r->body};
	char digits[STR_DECIMAL_MAX];
	buf_add_byte(out, ' ');
	if (kind == ARG_WORD)
		buf_add_str(out, r->name);
	else if (kind == ARG_OUTCOME)
		buf_add_text(out, docindex_outcome_name(r->outcome));
	else
		buf_add(out, digits, str_decimal(digits, numbers[kind]));
}

void docindex_request_write(const struct docindex_request *r, struct buf *out)
{
	const struct verb *v = &verbs[r->verb];
	if (v->name)
		buf_add_text(out, v->name);
	else
		buf_add_str(out, r->name);
	for (size_t i = 0; i < ARGS_MAX && v->arg[i]; i++)
		arg_write(v->arg[i], r, out);
	buf_add_byte(out, '\n');
}

/* What a doc index answers. */

static int url_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
		    struct err *err)
{
	struct str rest = line, doc_id;
	(void)str_cut(&rest, ' ', &doc_id);
	if (!docindex_is_word(doc_id) || !docindex_is_url(rest))
		return line_wrong(line, "not a DOC_ID and a URL", err);
	in->urls--;
	*ret = (struct docindex_answer){
		.kind = DOCINDEX_URL, .count = in->urls, .doc_id = doc_id, .url = rest};
	return 0;
}

static bool have_read(struct str rest, struct docindex_answer *a)
{
	struct str n, seconds;
	if (str_cut(&rest, ' ', &n) != 0 || !number_read(n, DOCINDEX_COUNT_MAX, &a->count))
		return false;
	if (a->count == 0 && (str_cut(&rest, ' ', &seconds) != 0 ||
			      !number_read(seconds, DOCINDEX_SECONDS_MAX, &a->seconds)))
		return false;
	return !rest.p;
}

int docindex_answer_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
			 struct err *err)
{
	struct docindex_answer a = {.kind = DOCINDEX_OK};
	if (in->urls)
		return url_read(in, line, ret, err);
	if (str_starts(line, STR("HAVE "))) {
		a.kind = DOCINDEX_HAVE;
		if (!have_read(str_from(line, 5), &a))
			return line_wrong(line, "wrong numbers", err);
		in->urls = a.count;
	} else if (str_starts(line, STR("ERROR "))) {
		a.kind = DOCINDEX_ERROR;
		a.text = str_from(line, 6);
	} else if (!str_is(line, "OK")) {
		return line_wrong(line, "not a line of a doc index", err);
	}
	*ret = a;
	return 0;
}

static void text_write(struct str text, struct buf *out)
{
	text = str_head(text, DOCINDEX_LINE_MAX / 2);
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		buf_add_byte(out, c < ' ' || c == 0x7f ? ' ' : text.p[i]);
	}
}

void docindex_answer_write(const struct docindex_answer *a, struct buf *out)
{
	switch (a->kind) {
	case DOCINDEX_OK:
		buf_add_text(out, "OK");
		break;
	case DOCINDEX_HAVE:
		buf_printf(out, "HAVE %" PRIu64, a->count);
		if (a->count == 0)
			buf_printf(out, " %" PRIu64, a->seconds);
		break;
	case DOCINDEX_URL:
		buf_add_str(out, a->doc_id);
		buf_add_byte(out, ' ');
		buf_add_str(out, a->url);
		break;
	case DOCINDEX_ERROR:
		buf_add_text(out, "ERROR ");
		text_write(a->text, out);
		break;
	}
	buf_add_byte(out, '\n');
}
