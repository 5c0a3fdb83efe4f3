/* Tags and their attributes. */
#include "extract/html_token_inner.h"

#include "extract/html_token_scan.h"

static const char *tag_begin(struct html_tokens *t, const char *p, bool is_end)
{
	html_token_start(t);
	t->tag.end = is_end;
	t->attr_live = false;
	item_begin(t, p, t->limits.name);
	return turn(t, S_TAG_NAME, p);
}

const char *html_tag_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is(*p, C_ALPHA))
		return tag_begin(t, p, false);
	if (*p == '/')
		return turn(t, S_END_TAG_OPEN, p + 1);
	if (*p == '!') {
		t->word_n = 0;
		return turn(t, S_MARKUP, p + 1);
	}
	if (*p == '?') {
		html_token_start(t);
		item_begin(t, p, t->limits.comment);
		return turn(t, S_BOGUS_COMMENT, p);
	}
	put_text(t, "<", 1);
	return turn(t, S_DATA, p);
}

const char *html_end_tag_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is(*p, C_ALPHA))
		return tag_begin(t, p, true);
	if (*p == '>')
		return turn(t, S_DATA, p + 1);
	html_token_start(t);
	item_begin(t, p, t->limits.comment);
	return turn(t, S_BOGUS_COMMENT, p);
}

static const char *tag_done(struct html_tokens *t, const char *p)
{
	html_emit_tag(t);
	return p + 1;
}

/* Behind a name, which does not end the tag by itself. */
static const char *after_tag_name(struct html_tokens *t, const char *p)
{
	if (*p == '>')
		return tag_done(t, p);
	return turn(t, *p == '/' ? S_SELF_CLOSING : S_BEFORE_NAME, p + 1);
}

const char *html_tag_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (!is(*p, C_NAME_END) || *p == '=')
			continue;
		if (is(*p, C_UPPER)) {
			p = item_lower(t, p, end);
		} else if (*p == 0) {
			item_nul(t, p);
		} else {
			t->tag.name = item_end(t, p, 0);
			return after_tag_name(t, p);
		}
	}
	return p;
}

const char *html_before_name(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && is(*p, C_SPACE))
		p++;
	if (p == end)
		return p;
	if (*p == '/' || *p == '>')
		return turn(t, S_AFTER_NAME, p);
	item_begin(t, p, t->limits.name);
	/* a name may begin with =, but not go on with it */
	return turn(t, S_NAME, p + (*p == '='));
}

static bool is_double(struct html_tokens *t, struct str name)
{
	uint64_t bit = 1ULL << ((name.p[0] + 7 * name.p[name.n - 1] + 3 * (int)name.n) & 63);
	bool seen = (t->attr_seen & bit) != 0;
	t->attr_seen |= bit;
	for (size_t i = 0; seen && i < t->tag.nattrs; i++)
		if (str_eq(t->attrs[i].name, name))
			return true;
	return false;
}

static void name_done(struct html_tokens *t, const char *p)
{
	struct str name = item_end(t, p, 0);
	t->attr_live = !t->tag.end && name.n && !is_double(t, name);
	if (t->attr_live && t->tag.nattrs == t->limits.attrs) {
		t->tag.cut = true;
		t->attr_live = false;
	}
	if (t->attr_live)
		t->attrs[t->tag.nattrs++] = (struct html_attr){name, {"", 0}};
}

const char *html_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (!is(*p, C_NAME_END))
			continue;
		if (is(*p, C_UPPER)) {
			p = item_lower(t, p, end);
		} else if (*p == 0) {
			item_nul(t, p);
		} else {
			name_done(t, p);
			return *p == '=' ? turn(t, S_BEFORE_VALUE, p + 1)
					 : turn(t, S_AFTER_NAME, p);
		}
	}
	return p;
}

const char *html_after_name(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && is(*p, C_SPACE))
		p++;
	if (p == end)
		return p;
	if (*p == '/')
		return turn(t, S_SELF_CLOSING, p + 1);
	if (*p == '=')
		return turn(t, S_BEFORE_VALUE, p + 1);
	if (*p == '>')
		return tag_done(t, p);
	item_begin(t, p, t->limits.name);
	return turn(t, S_NAME, p);
}

const char *html_before_value(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && is(*p, C_SPACE))
		p++;
	if (p == end)
		return p;
	if (*p == '>')
		return tag_done(t, p);
	bool quoted = *p == '"' || *p == '\'';
	item_begin(t, p + quoted, t->limits.value);
	if (!quoted)
		return turn(t, S_VALUE_BARE, p);
	return turn(t, *p == '"' ? S_VALUE_DOUBLE : S_VALUE_SINGLE, p + 1);
}

static void value_done(struct html_tokens *t, const char *p)
{
	struct str value = item_end(t, p, 0);
	if (t->attr_live)
		t->attrs[t->tag.nattrs - 1].value = value;
}

static const char *value_ref(struct html_tokens *t, const char *p)
{
	html_item_flush(t, p);
	t->back = t->state;
	return turn(t, S_REF, p + 1);
}

static const char *quoted_value(struct html_tokens *t, const char *p, const char *end, char quote)
{
	for (;; p++) {
		p = scan(p, end, quote, '&', 0);
		if (p == end)
			return p;
		if (*p == '&')
			return value_ref(t, p);
		if (*p == quote)
			break;
		item_nul(t, p);
	}
	value_done(t, p);
	return turn(t, S_AFTER_VALUE, p + 1);
}

const char *html_value_double(struct html_tokens *t, const char *p, const char *end)
{
	return quoted_value(t, p, end, '"');
}

const char *html_value_single(struct html_tokens *t, const char *p, const char *end)
{
	return quoted_value(t, p, end, '\'');
}

const char *html_value_bare(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '&')
			return value_ref(t, p);
		if (*p == 0) {
			item_nul(t, p);
		} else if (is(*p, C_SPACE)) {
			value_done(t, p);
			return turn(t, S_BEFORE_NAME, p + 1);
		} else if (*p == '>') {
			value_done(t, p);
			return tag_done(t, p);
		}
	}
	return p;
}

const char *html_after_value(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is(*p, C_SPACE) || *p == '/' || *p == '>')
		return after_tag_name(t, p);
	return turn(t, S_BEFORE_NAME, p);
}

const char *html_self_closing(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '>')
		return turn(t, S_BEFORE_NAME, p);
	t->tag.self_closing = true;
	return tag_done(t, p);
}
