/* Text in which only one end tag means anything: RCDATA, RAWTEXT, scripts and their escapes. */
#include "extract/html_token_inner.h"

#include "extract/html_token_scan.h"

static const char *raw_nul(struct html_tokens *t, const char *p)
{
	put_text(t, REPLACED, REPLACED_N);
	return p + 1;
}

const char *html_raw_text(struct html_tokens *t, const char *p, const char *end)
{
	const char *from = p;
	p = scan(p, end, '<', t->state == S_RCDATA ? '&' : '<', 0);
	put_text(t, from, (size_t)(p - from));
	if (p == end)
		return p;
	if (*p == 0)
		return raw_nul(t, p);
	t->back = t->state;
	return turn(t, *p == '<' ? S_RAW_LESS : S_REF, p + 1);
}

const char *html_raw_less(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p == '/')
		return turn(t, S_RAW_END_OPEN, p + 1);
	put_text(t, "<", 1);
	if (t->back == S_SCRIPT && *p == '!') {
		put_text(t, "!", 1);
		return turn(t, S_SCRIPT_ESCAPE_START, p + 1);
	}
	if (t->back == S_ESCAPED && is(*p, C_ALPHA)) {
		t->word_n = 0;
		return turn(t, S_TWICE_START, p);
	}
	return turn(t, t->back, p);
}

const char *html_raw_end_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (!is(*p, C_ALPHA)) {
		put_text(t, "</", 2);
		return turn(t, t->back, p);
	}
	html_token_start(t);
	item_begin(t, NULL, t->limits.name);
	return turn(t, S_RAW_END_NAME, p);
}

/* The letters as they were written are the item, until they differ from the name that counts: no
 * state outside sees anything else in letters. */
const char *html_raw_end_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end && is(*p, C_ALPHA); p++) {
		if (t->item_n >= t->raw_n || lower(*p) != t->raw[t->item_n])
			break;
		html_item_keep(t, p, 1);
	}
	if (p == end)
		return p;
	if (t->item_n && t->item_n == t->raw_n && (is(*p, C_SPACE) || *p == '/' || *p == '>')) {
		t->tag.end = true;
		t->attr_live = false;
		t->tag.name = (struct str){t->raw, t->raw_n};
		if (*p == '>') {
			html_emit_tag(t);
			return p + 1;
		}
		return turn(t, *p == '/' ? S_SELF_CLOSING : S_BEFORE_NAME, p + 1);
	}
	put_text(t, "</", 2);
	put_text(t, t->keep.p, t->keep.n);
	return turn(t, t->back, p);
}

void html_raw_eof(struct html_tokens *t)
{
	put_text(t, t->keep.p, t->keep.n);
}

/* Behind `<!` and behind `<!-`: a dash leads on. */
const char *html_script_escape_start(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '-')
		return turn(t, S_SCRIPT, p);
	put_text(t, "-", 1);
	return turn(t,
		    t->state == S_SCRIPT_ESCAPE_START ? S_SCRIPT_ESCAPE_START_DASH
						      : S_ESCAPED_DASH_DASH,
		    p + 1);
}

/* The text that both kinds of escaped scripts have in common: `first` is the state without a dash
 * before, the next two those with one and with two. */
static const char *dashed(struct html_tokens *t, const char *p, const char *end, enum state first)
{
	if (t->state == first) {
		const char *from = p;
		p = scan(p, end, '<', '-', 0);
		put_text(t, from, (size_t)(p - from));
		if (p == end)
			return p;
	}
	if (*p == '-') {
		put_text(t, "-", 1);
		return turn(t, MIN(t->state + 1u, first + 2u), p + 1);
	}
	if (*p == '>' && t->state == first + 2u) {
		put_text(t, ">", 1);
		return turn(t, S_SCRIPT, p + 1);
	}
	t->state = (uint8_t)first;
	if (*p == 0)
		return raw_nul(t, p);
	return p;
}

const char *html_escaped(struct html_tokens *t, const char *p, const char *end)
{
	if (*p != '<')
		return dashed(t, p, end, S_ESCAPED);
	t->back = S_ESCAPED;
	return turn(t, S_RAW_LESS, p + 1);
}

const char *html_twice(struct html_tokens *t, const char *p, const char *end)
{
	if (*p != '<')
		return dashed(t, p, end, S_TWICE);
	put_text(t, "<", 1);
	return turn(t, S_TWICE_LESS, p + 1);
}

const char *html_twice_less(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '/')
		return turn(t, S_TWICE, p);
	put_text(t, "/", 1);
	t->word_n = 0;
	return turn(t, S_TWICE_END, p + 1);
}

/* A word that is the name of a tag goes from one kind to the other if it is "script". */
static const char *script_word(struct html_tokens *t, const char *p, enum state yes, enum state no)
{
	if (is(*p, C_ALPHA)) {
		if (t->word_n < WORD_MAX)
			t->word[t->word_n++] = lower(*p);
		put_text(t, p, 1);
		return p + 1;
	}
	if (!is(*p, C_SPACE) && *p != '/' && *p != '>')
		return turn(t, no, p);
	put_text(t, p, 1);
	bool script = t->word_n == 6 && memcmp(t->word, "script", 6) == 0;
	return turn(t, script ? yes : no, p + 1);
}

const char *html_twice_start(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	return script_word(t, p, S_TWICE, S_ESCAPED);
}

const char *html_twice_end(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	return script_word(t, p, S_ESCAPED, S_TWICE);
}
