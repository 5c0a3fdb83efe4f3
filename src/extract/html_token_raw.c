/* Where tags mean nothing: what begins with `<!` (comments, DOCTYPEs, CDATA sections, and what is
 * taken for a comment), and raw text, in which only one end tag means anything (titles, styles,
 * scripts and their escapes). */
#include "extract/html_token_inner.h"

/* Comments and DOCTYPEs. */

static void comment_done(struct html_tokens *t, const char *p, size_t drop)
{
	struct str data = item_end(t, p, drop);
	if (t->sink->comment)
		t->sink->comment(t->ctx, data);
	t->state = S_DATA;
}

static void comment_begin(struct html_tokens *t, const char *p)
{
	html_token_start(t);
	item_begin(t, p, t->sink->comment ? t->limits.comment : 0);
}

/* The next byte belongs to the word, of which word_n bytes have come; n is the word's length. */
static bool goes_on(const struct html_tokens *t, char c, const char *word, size_t n)
{
	if (t->word_n >= n || ascii_lower(c) != ascii_lower(word[t->word_n]))
		return false;
	for (size_t i = 0; i < t->word_n; i++)
		if (ascii_lower(t->word[i]) != ascii_lower(word[i]))
			return false;
	return true;
}

static bool word_is(const struct html_tokens *t, const char *word, size_t n)
{
	return t->word_n == n && memcmp(t->word, word, n) == 0;
}

/* What came was no word after all, but how a comment begins. */
static const char *bogus_begin(struct html_tokens *t, const char *p)
{
	comment_begin(t, NULL);
	html_item_keep(t, t->word, t->word_n);
	t->mark = p;
	return turn_to(t, S_BOGUS_COMMENT, p);
}

static const char *markup_word(struct html_tokens *t, const char *p)
{
	if (word_is(t, "--", 2)) {
		comment_begin(t, p);
		return turn_to(t, S_COMMENT_START, p);
	}
	if (t->word_n == 7 && t->word[0] != '[')
		return turn_to(t, S_DOCTYPE, p);
	if (word_is(t, "[CDATA[", 7))
		return t->foreign ? turn_to(t, S_CDATA, p) : bogus_begin(t, p);
	return p;
}

const char *html_markup(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	bool cdata = t->word_n < 7 && *p == "[CDATA["[t->word_n] && goes_on(t, *p, "[CDATA[", 7);
	if (!cdata && !goes_on(t, *p, "--", 2) && !goes_on(t, *p, "DOCTYPE", 7))
		return bogus_begin(t, p);
	t->word[t->word_n++] = *p;
	return markup_word(t, p + 1);
}

const char *html_bogus_comment(struct html_tokens *t, const char *p, const char *end)
{
	for (;; p++) {
		p = html_scan(p, end, '>', '>', 0);
		if (p == end)
			return p;
		if (*p == '>')
			break;
		item_nul(t, p);
	}
	comment_done(t, p, 0);
	return p + 1;
}

/* Dashes at the end that are not part of a comment. */
static const uint8_t dashes[S_COUNT] = {
	[S_COMMENT_START_DASH] = 1,
	[S_COMMENT_END_DASH] = 1,
	[S_COMMENT_END] = 2,
	[S_COMMENT_END_BANG] = 3,
};

/* Where a comment may end: it goes on with a dash, ends, or was not at its end. */
const char *html_comment_edge(struct html_tokens *t, const char *p, const char *end)
{
	static const uint8_t after_dash[S_COUNT] = {[S_COMMENT_START] = S_COMMENT_START_DASH,
						    [S_COMMENT_START_DASH] = S_COMMENT_END,
						    [S_COMMENT_END_BANG] = S_COMMENT_END_DASH};
	(void)end;
	if (*p == '-')
		return turn_to(t, after_dash[t->state], p + 1);
	if (*p != '>')
		return turn_to(t, S_COMMENT, p);
	comment_done(t, p, dashes[t->state]);
	return p + 1;
}

/* `<!--` inside is an error, but means nothing. */
const char *html_comment(struct html_tokens *t, const char *p, const char *end)
{
	p = html_scan(p, end, '-', '-', 0);
	if (p == end)
		return p;
	if (*p == 0)
		item_nul(t, p);
	else
		t->state = S_COMMENT_END_DASH;
	return p + 1;
}

const char *html_comment_end_dash(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	return *p == '-' ? turn_to(t, S_COMMENT_END, p + 1) : turn_to(t, S_COMMENT, p);
}

const char *html_comment_end(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && *p == '-')
		p++;
	if (p == end)
		return p;
	if (*p == '!')
		return turn_to(t, S_COMMENT_END_BANG, p + 1);
	if (*p != '>')
		return turn_to(t, S_COMMENT, p);
	comment_done(t, p, dashes[S_COMMENT_END]);
	return p + 1;
}

static void doctype_done(struct html_tokens *t)
{
	if (t->sink->doctype)
		t->sink->doctype(t->ctx, &t->doctype);
	t->doctype = (struct html_doctype){0};
	t->state = S_DATA;
}

static const char *doctype_end(struct html_tokens *t, const char *p, bool correct)
{
	t->doctype.correct = t->doctype.correct && correct;
	doctype_done(t);
	return p + 1;
}

static const char *doctype_bogus(struct html_tokens *t, const char *p)
{
	t->doctype.correct = false;
	return turn_to(t, S_BOGUS_DOCTYPE, p);
}

const char *html_in_doctype(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	html_token_start(t);
	t->doctype = (struct html_doctype){.correct = true};
	return turn_to(t, S_BEFORE_DOCTYPE_NAME, p);
}

const char *html_before_doctype_name(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '>')
		return doctype_end(t, p, false);
	item_begin(t, p, t->limits.value);
	return turn_to(t, S_DOCTYPE_NAME, p);
}

const char *html_doctype_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (is_class(*p, C_UPPER))
			p = item_lower(t, p, end);
		else if (*p == 0)
			item_nul(t, p);
		else if (is_class(*p, C_SPACE) || *p == '>')
			break;
	}
	if (p == end)
		return p;
	t->doctype.name = item_end(t, p, 0);
	t->word_n = 0;
	return turn_to(t, S_AFTER_DOCTYPE_NAME, p);
}

const char *html_after_doctype_name(struct html_tokens *t, const char *p, const char *end)
{
	if (t->word_n == 0)
		p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '>' && t->word_n == 0)
		return doctype_end(t, p, true);
	bool public = goes_on(t, *p, "PUBLIC", 6);
	if (!public && !goes_on(t, *p, "SYSTEM", 6))
		return doctype_bogus(t, p);
	t->word[t->word_n++] = *p;
	if (t->word_n < 6)
		return p + 1;
	return turn_to(t, public ? S_AFTER_PUBLIC : S_AFTER_SYSTEM, p + 1);
}

/* A quote begins an identifier, and nothing else may come. */
static const char *before_id(struct html_tokens *t, const char *p, const char *end, enum state id)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '>')
		return doctype_end(t, p, false);
	if (*p != '"' && *p != '\'')
		return doctype_bogus(t, p);
	t->quote = *p;
	item_begin(t, p + 1, t->limits.value);
	return turn_to(t, id, p + 1);
}

const char *html_after_keyword(struct html_tokens *t, const char *p, const char *end)
{
	return before_id(t, p, end, t->state == S_AFTER_PUBLIC ? S_PUBLIC_ID : S_SYSTEM_ID);
}

const char *html_doctype_id(struct html_tokens *t, const char *p, const char *end)
{
	bool public = t->state == S_PUBLIC_ID;
	for (;; p++) {
		p = html_scan(p, end, t->quote, '>', 0);
		if (p == end)
			return p;
		if (*p)
			break;
		item_nul(t, p);
	}
	*(public ? &t->doctype.public_id : &t->doctype.system_id) = item_end(t, p, 0);
	if (*p == '>')
		return doctype_end(t, p, false);
	return turn_to(t, public ? S_AFTER_PUBLIC_ID : S_AFTER_SYSTEM_ID, p + 1);
}

/* After the public identifier the DOCTYPE may end, or the other one follows. */
const char *html_after_public_id(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p < end && *p == '>')
		return doctype_end(t, p, true);
	return before_id(t, p, end, S_SYSTEM_ID);
}

/* Whatever follows the system identifier is an error that does not make the page incorrect. */
const char *html_after_system_id(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '>')
		return doctype_end(t, p, true);
	return turn_to(t, S_BOGUS_DOCTYPE, p);
}

const char *html_bogus_doctype(struct html_tokens *t, const char *p, const char *end)
{
	p = html_scan(p, end, '>', '>', '>');
	return p == end ? p : doctype_end(t, p, true);
}

/* An identifier that does not end counts as far as it goes. */
static void doctype_eof(struct html_tokens *t)
{
	if (t->state == S_DOCTYPE)
		html_in_doctype(t, NULL, NULL);
	else if (t->state == S_DOCTYPE_NAME)
		t->doctype.name = item_end(t, NULL, 0);
	else if (t->state == S_PUBLIC_ID)
		t->doctype.public_id = item_end(t, NULL, 0);
	else if (t->state == S_SYSTEM_ID)
		t->doctype.system_id = item_end(t, NULL, 0);
	if (t->state != S_BOGUS_DOCTYPE)
		t->doctype.correct = false;
	doctype_done(t);
}

/* CDATA sections. */

const char *html_cdata(struct html_tokens *t, const char *p, const char *end)
{
	const char *bracket = html_scan(p, end, ']', ']', ']');
	put_text(t, p, (size_t)(bracket - p));
	return bracket == end ? end : turn_to(t, S_CDATA_BRACKET, bracket + 1);
}

const char *html_cdata_bracket(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p == ']')
		return turn_to(t, S_CDATA_END, p + 1);
	put_text(t, "]", 1);
	return turn_to(t, S_CDATA, p);
}

const char *html_cdata_end(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p == '>')
		return turn_to(t, S_DATA, p + 1);
	if (*p == ']') {
		put_text(t, "]", 1);
		return p + 1;
	}
	put_text(t, "]]", 2);
	return turn_to(t, S_CDATA, p);
}

/* Raw text. */

static const char *raw_nul(struct html_tokens *t, const char *p)
{
	put_text(t, REPLACED, REPLACED_N);
	return p + 1;
}

const char *html_raw_text(struct html_tokens *t, const char *p, const char *end)
{
	const char *from = p;
	p = html_scan(p, end, '<', t->state == S_RCDATA ? '&' : '<', 0);
	put_text(t, from, (size_t)(p - from));
	if (p == end)
		return p;
	if (*p == 0)
		return raw_nul(t, p);
	t->back = t->state;
	return turn_to(t, *p == '<' ? S_RAW_LESS : S_REF, p + 1);
}

const char *html_raw_less(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p == '/')
		return turn_to(t, S_RAW_END_OPEN, p + 1);
	put_text(t, "<", 1);
	if (t->back == S_SCRIPT && *p == '!') {
		put_text(t, "!", 1);
		return turn_to(t, S_SCRIPT_ESCAPE_START, p + 1);
	}
	if (t->back == S_ESCAPED && is_class(*p, C_ALPHA)) {
		t->word_n = 0;
		return turn_to(t, S_TWICE_START, p);
	}
	return turn_to(t, t->back, p);
}

const char *html_raw_end_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (!is_class(*p, C_ALPHA)) {
		put_text(t, "</", 2);
		return turn_to(t, t->back, p);
	}
	html_token_start(t);
	item_begin(t, NULL, t->limits.name);
	return turn_to(t, S_RAW_END_NAME, p);
}

/* The letters as they were written are the item, until they differ from the name that counts: no
 * state outside sees anything else in letters. */
const char *html_raw_end_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end && is_class(*p, C_ALPHA); p++) {
		if (t->item_n >= t->raw_n || ascii_lower(*p) != t->raw[t->item_n])
			break;
		html_item_keep(t, p, 1);
	}
	if (p == end)
		return p;
	if (t->item_n && t->item_n == t->raw_n &&
	    (is_class(*p, C_SPACE) || *p == '/' || *p == '>')) {
		t->tag.end = true;
		t->attr_live = false;
		t->tag.name = (struct str){t->raw, t->raw_n};
		if (*p == '>') {
			html_emit_tag(t);
			return p + 1;
		}
		return turn_to(t, *p == '/' ? S_SELF_CLOSING : S_BEFORE_NAME, p + 1);
	}
	put_text(t, "</", 2);
	put_text(t, t->keep.p, t->keep.n);
	return turn_to(t, t->back, p);
}

/* After `<!` and after `<!-`: a dash leads on. */
const char *html_script_escape_start(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '-')
		return turn_to(t, S_SCRIPT, p);
	put_text(t, "-", 1);
	return turn_to(t,
		       t->state == S_SCRIPT_ESCAPE_START ? S_SCRIPT_ESCAPE_START_DASH
							 : S_ESCAPED_DASH_DASH,
		       p + 1);
}

/* The text that both kinds of escaped scripts have in common: `first` is the state without a dash
 * before, the next two those with one and with two. */
static const char *dashed_text(struct html_tokens *t, const char *p, const char *end,
			       enum state first)
{
	if (t->state == first) {
		const char *from = p;
		p = html_scan(p, end, '<', '-', 0);
		put_text(t, from, (size_t)(p - from));
		if (p == end)
			return p;
	}
	if (*p == '-') {
		put_text(t, "-", 1);
		return turn_to(t, MIN(t->state + 1u, first + 2u), p + 1);
	}
	if (*p == '>' && t->state == first + 2u) {
		put_text(t, ">", 1);
		return turn_to(t, S_SCRIPT, p + 1);
	}
	t->state = (uint8_t)first;
	if (*p == 0)
		return raw_nul(t, p);
	return p;
}

const char *html_escaped(struct html_tokens *t, const char *p, const char *end)
{
	if (*p != '<')
		return dashed_text(t, p, end, S_ESCAPED);
	t->back = S_ESCAPED;
	return turn_to(t, S_RAW_LESS, p + 1);
}

const char *html_twice(struct html_tokens *t, const char *p, const char *end)
{
	if (*p != '<')
		return dashed_text(t, p, end, S_TWICE);
	put_text(t, "<", 1);
	return turn_to(t, S_TWICE_LESS, p + 1);
}

const char *html_twice_less(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '/')
		return turn_to(t, S_TWICE, p);
	put_text(t, "/", 1);
	t->word_n = 0;
	return turn_to(t, S_TWICE_END, p + 1);
}

/* After the name of a tag: "script" leads from one kind of escape to the other. */
const char *html_script_word(struct html_tokens *t, const char *p, const char *end)
{
	enum state yes = t->state == S_TWICE_START ? S_TWICE : S_ESCAPED;
	enum state no = t->state == S_TWICE_START ? S_ESCAPED : S_TWICE;
	(void)end;
	if (is_class(*p, C_ALPHA)) {
		if (t->word_n < WORD_MAX)
			t->word[t->word_n++] = ascii_lower(*p);
		put_text(t, p, 1);
		return p + 1;
	}
	if (!is_class(*p, C_SPACE) && *p != '/' && *p != '>')
		return turn_to(t, no, p);
	put_text(t, p, 1);
	return turn_to(t, word_is(t, "script", 6) ? yes : no, p + 1);
}

void html_raw_eof(struct html_tokens *t)
{
	if (t->state == S_RAW_END_NAME) {
		put_text(t, t->keep.p, t->keep.n);
	} else if (t->state == S_MARKUP) {
		bogus_begin(t, NULL);
		comment_done(t, NULL, 0);
	} else if (t->state >= S_BOGUS_COMMENT && t->state <= S_COMMENT_END_BANG) {
		comment_done(t, NULL, dashes[t->state]);
	} else if (t->state >= S_DOCTYPE && t->state <= S_BOGUS_DOCTYPE) {
		doctype_eof(t);
	}
}
