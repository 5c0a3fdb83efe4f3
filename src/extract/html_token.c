/* The tokenizer: text, tags, character references, and the loop that drives the states. What pages
 * consist of is here, in one file, so that the compiler sees all of the hot path; the states in
 * which tags mean nothing are in html_token_raw.c. A state is a function that consumes bytes and
 * names the next one. Most of a page is skipped sixteen bytes at a time (html_scan()), and text,
 * names and values are slices of the piece: nothing is copied unless it has to differ. */
#include "extract/charset.h"
#include "extract/html_entities_inner.h"
#include "extract/html_token_inner.h"

/* Pieces are read in blocks that stay in the cache, since they are searched for CR first. */
enum { BLOCK = 32 << 10, STORE_FIRST = 4096 };

const struct html_limits html_limits_default = {
	.name = 256, .value = 64 << 10, .attrs = 128, .comment = 64 << 10};

#define UP (C_UPPER | C_ALPHA)
const uint8_t html_class[256] = {
	[0] = C_NAME_END,
	['\t'] = C_SPACE | C_NAME_END,
	['\n'] = C_SPACE | C_NAME_END,
	['\f'] = C_SPACE | C_NAME_END,
	[' '] = C_SPACE | C_NAME_END,
	['/'] = C_NAME_END,
	['>'] = C_NAME_END,
	['='] = C_NAME_END,
	['0' ... '9'] = C_DIGIT | C_HEX,
	['A' ... 'F'] = UP | C_HEX | C_NAME_END,
	['G' ... 'Z'] = UP | C_NAME_END,
	['a' ... 'f'] = C_ALPHA | C_HEX,
	['g' ... 'z'] = C_ALPHA,
};

static bool store_holds(const struct html_store *store, struct str s)
{
	return store->p && s.p >= store->p && s.p + s.n <= store->p + store->n;
}

typedef void part_fn(struct html_tokens *t, struct str *s, struct html_store *store, char *now);

/* Calls fn for all slices of the current token; no others can lie in a store. */
static void each_part(struct html_tokens *t, part_fn *fn, struct html_store *store, char *now)
{
	struct str *const few[] = {&t->tag.name, &t->doctype.name, &t->doctype.public_id,
				   &t->doctype.system_id};
	for (size_t i = 0; i < ARRAY_LEN(few); i++)
		fn(t, few[i], store, now);
	for (size_t i = 0; i < t->tag.nattrs; i++) {
		fn(t, &t->attrs[i].name, store, now);
		fn(t, &t->attrs[i].value, store, now);
	}
}

static void move_part(struct html_tokens *t, struct str *s, struct html_store *store, char *now)
{
	(void)t;
	if (store_holds(store, *s))
		s->p = now + (s->p - store->p);
}

static void store_add(struct html_tokens *t, struct html_store *store, const char *p, size_t n)
{
	if (store->cap - store->n < n) {
		size_t cap = MAX(store->n + n, MAX(2 * store->cap, (size_t)STORE_FIRST));
		char *now = mem_alloc(cap);
		if (store->n)
			memcpy(now, store->p, store->n);
		each_part(t, move_part, store, now);
		mem_free(&store->p);
		store->p = now;
		store->cap = cap;
	}
	if (n)
		memcpy(store->p + store->n, p, n);
	store->n += n;
}

/* One byte more than the limit is kept, to see where it is cut. */
void html_item_keep(struct html_tokens *t, const char *from, size_t n)
{
	size_t has = t->keep.n - t->item_at, most = t->item_max + 1;
	store_add(t, &t->keep, from, MIN(n, most - MIN(has, most)));
	t->item_n += n;
}

void html_item_flush(struct html_tokens *t, const char *p)
{
	if (t->mark)
		html_item_keep(t, t->mark, (size_t)(p - t->mark));
	t->mark = NULL;
}

/* At most n bytes, so that no character is cut; bytes that are not UTF-8 are cut anywhere. There
 * are more than n. */
static size_t cut_at(const char *p, size_t n)
{
	for (size_t back = 0; back < 4 && back < n; back++) {
		unsigned char c = (unsigned char)p[n - back];
		if ((c & 0xc0) != 0x80)
			return c >= 0xc0 ? n - back : n;
	}
	return n;
}

struct str html_item_cut(struct html_tokens *t, const char *p, size_t drop)
{
	bool kept = t->item_n > 0;
	size_t n = t->item_n + (t->mark ? (size_t)(p - t->mark) : 0) - drop;
	const char *run = t->mark ? t->mark : "";
	if (kept)
		html_item_flush(t, p);
	struct str s = {kept ? t->keep.p + t->item_at : run, n};
	if (n > t->item_max) {
		s.n = cut_at(s.p, t->item_max);
		t->tag.cut = true;
	}
	if (kept)
		t->keep.n = t->item_at + s.n;
	t->mark = NULL;
	return s;
}

static void hold_part(struct html_tokens *t, struct str *s, struct html_store *store, char *now)
{
	(void)now;
	if (s->n == 0 || store_holds(&t->keep, *s) || store_holds(store, *s))
		return;
	store_add(t, store, s->p, s->n);
	s->p = store->p + store->n - s->n;
}

/* The piece will be gone: keeps what a token still needs of it. */
static void hold_parts(struct html_tokens *t, const char *end)
{
	t->resume = t->mark != NULL;
	html_item_flush(t, end);
	each_part(t, hold_part, &t->held, NULL);
}

void html_token_start(struct html_tokens *t)
{
	t->keep.n = 0;
	t->held.n = 0;
	t->item_at = 0;
	t->tag = (struct html_tag){.attrs = t->attrs};
	t->attr_seen = 0;
}

static void remember_raw(struct html_tokens *t, struct str name)
{
	if (name.n > t->raw_cap) {
		mem_free(&t->raw);
		t->raw_cap = name.n;
		t->raw = mem_alloc(name.n);
	}
	if (name.n)
		memcpy(t->raw, name.p, name.n);
	t->raw_n = name.n;
}

/* Only a tag that turns the state has to be remembered as the last one: no other can be what an
 * end tag has to match. */
void html_emit_tag(struct html_tokens *t)
{
	enum html_state next = HTML_DATA;
	if (t->sink->tag)
		next = t->sink->tag(t->ctx, &t->tag);
	if (t->tag.end)
		next = HTML_DATA;
	if (next != HTML_DATA)
		remember_raw(t, t->tag.name);
	t->state = (uint8_t)next;
	t->tag.nattrs = 0;
	t->tag.name = (struct str){0};
}

/* Whether `<` or `&` may begin anything when this byte follows. */
static bool may_begin(char first, char next)
{
	if (first == '<')
		return is_class(next, C_ALPHA) || next == '/' || next == '!' || next == '?';
	return is_class(next, C_ALPHA | C_DIGIT) || next == '#';
}

static const char *html_data(struct html_tokens *t, const char *p, const char *end)
{
	const char *from = p;
	do
		p = html_scan(p, end, '<', '&', '&');
	while (p + 1 < end && !may_begin(p[0], p[1]) && p++);
	put_text(t, from, (size_t)(p - from));
	if (p == end)
		return p;
	if (*p == '<')
		return turn_to(t, S_TAG_OPEN, p + 1);
	t->back = S_DATA;
	return turn_to(t, S_REF, p + 1);
}

static const char *html_plaintext(struct html_tokens *t, const char *p, const char *end)
{
	const char *nul = html_scan(p, end, 0, 0, 0);
	put_text(t, p, (size_t)(nul - p));
	if (nul == end)
		return end;
	put_text(t, REPLACED, REPLACED_N);
	return nul + 1;
}

/* Tags and their attributes. */

static const char *tag_begin(struct html_tokens *t, const char *p, bool is_end)
{
	html_token_start(t);
	t->tag.end = is_end;
	t->attr_live = false;
	item_begin(t, p, t->limits.name);
	return turn_to(t, S_TAG_NAME, p);
}

static const char *html_tag_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is_class(*p, C_ALPHA))
		return tag_begin(t, p, false);
	if (*p == '/')
		return turn_to(t, S_END_TAG_OPEN, p + 1);
	if (*p == '!') {
		t->word_n = 0;
		return turn_to(t, S_MARKUP, p + 1);
	}
	if (*p == '?') {
		html_token_start(t);
		item_begin(t, p, t->limits.comment);
		return turn_to(t, S_BOGUS_COMMENT, p);
	}
	put_text(t, "<", 1);
	return turn_to(t, S_DATA, p);
}

static const char *html_end_tag_open(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is_class(*p, C_ALPHA))
		return tag_begin(t, p, true);
	if (*p == '>')
		return turn_to(t, S_DATA, p + 1);
	html_token_start(t);
	item_begin(t, p, t->limits.comment);
	return turn_to(t, S_BOGUS_COMMENT, p);
}

static const char *tag_done(struct html_tokens *t, const char *p)
{
	html_emit_tag(t);
	return p + 1;
}

/* After a name, which does not end the tag by itself. */
static const char *after_tag_name(struct html_tokens *t, const char *p)
{
	if (*p == '>')
		return tag_done(t, p);
	return turn_to(t, *p == '/' ? S_SELF_CLOSING : S_BEFORE_NAME, p + 1);
}

static const char *html_tag_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (!is_class(*p, C_NAME_END) || *p == '=')
			continue;
		if (is_class(*p, C_UPPER)) {
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

static const char *html_before_name(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '/' || *p == '>')
		return turn_to(t, S_AFTER_NAME, p);
	item_begin(t, p, t->limits.name);
	/* a name may begin with =, but not go on with it */
	return turn_to(t, S_NAME, p + (*p == '='));
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

static const char *html_name(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (!is_class(*p, C_NAME_END))
			continue;
		if (is_class(*p, C_UPPER)) {
			p = item_lower(t, p, end);
		} else if (*p == 0) {
			item_nul(t, p);
		} else {
			name_done(t, p);
			return *p == '=' ? turn_to(t, S_BEFORE_VALUE, p + 1)
					 : turn_to(t, S_AFTER_NAME, p);
		}
	}
	return p;
}

static const char *html_after_name(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '/')
		return turn_to(t, S_SELF_CLOSING, p + 1);
	if (*p == '=')
		return turn_to(t, S_BEFORE_VALUE, p + 1);
	if (*p == '>')
		return tag_done(t, p);
	item_begin(t, p, t->limits.name);
	return turn_to(t, S_NAME, p);
}

static const char *html_before_value(struct html_tokens *t, const char *p, const char *end)
{
	p = skip_space(p, end);
	if (p == end)
		return p;
	if (*p == '>')
		return tag_done(t, p);
	bool quoted = *p == '"' || *p == '\'';
	item_begin(t, p + quoted, t->limits.value);
	if (!quoted)
		return turn_to(t, S_VALUE_BARE, p);
	return turn_to(t, *p == '"' ? S_VALUE_DOUBLE : S_VALUE_SINGLE, p + 1);
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
	return turn_to(t, S_REF, p + 1);
}

static const char *html_value_quoted(struct html_tokens *t, const char *p, const char *end)
{
	char quote = t->state == S_VALUE_DOUBLE ? '"' : '\'';
	for (;; p++) {
		p = html_scan(p, end, quote, '&', 0);
		if (p == end)
			return p;
		if (*p == '&')
			return value_ref(t, p);
		if (*p == quote)
			break;
		item_nul(t, p);
	}
	value_done(t, p);
	return turn_to(t, S_AFTER_VALUE, p + 1);
}

static const char *html_value_bare(struct html_tokens *t, const char *p, const char *end)
{
	for (; p < end; p++) {
		if (*p == '&')
			return value_ref(t, p);
		if (*p == 0) {
			item_nul(t, p);
		} else if (is_class(*p, C_SPACE)) {
			value_done(t, p);
			return turn_to(t, S_BEFORE_NAME, p + 1);
		} else if (*p == '>') {
			value_done(t, p);
			return tag_done(t, p);
		}
	}
	return p;
}

static const char *html_after_value(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (is_class(*p, C_SPACE) || *p == '/' || *p == '>')
		return after_tag_name(t, p);
	return turn_to(t, S_BEFORE_NAME, p);
}

static const char *html_self_closing(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	if (*p != '>')
		return turn_to(t, S_BEFORE_NAME, p);
	t->tag.self_closing = true;
	return tag_done(t, p);
}

/* Character references: &name; &#10; &#xa; in text and in values of attributes. */

enum { CODE_MAX = 0x10ffff };

/* What these numbers are taken for: they mean windows-1252. 0: the number itself. */
static const uint16_t c1[32] = {
	0x20ac, 0,      0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160,
	0x2039, 0x0152, 0,      0x017d, 0,      0,      0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
	0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,      0x017e, 0x0178,
};

static bool in_value(const struct html_tokens *t)
{
	return t->back >= S_VALUE_DOUBLE && t->back <= S_VALUE_BARE;
}

static void ref_put(struct html_tokens *t, struct str s)
{
	if (in_value(t))
		html_item_keep(t, s.p, s.n);
	else
		put_text(t, s.p, s.n);
}

/* Back to the state in which the reference was found, to go on at p. */
static const char *ref_back(struct html_tokens *t, const char *p)
{
	if (in_value(t))
		t->mark = p;
	return turn_to(t, t->back, p);
}

static const char *as_written(struct html_tokens *t, const char *p)
{
	ref_put(t, (struct str){t->ref, t->ref_n});
	return ref_back(t, p);
}

static void ref_add(struct html_tokens *t, char c)
{
	t->ref[t->ref_n++] = c;
}

static const char *html_ref(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	t->ref_n = 0;
	ref_add(t, '&');
	if (is_class(*p, C_ALPHA | C_DIGIT))
		return turn_to(t, S_REF_NAMED, p);
	if (*p != '#')
		return as_written(t, p);
	ref_add(t, '#');
	return turn_to(t, S_REF_NUMBER, p + 1);
}

/* All letters and digits have come; `next` is what follows, 0 at the end of the input.
 * In values what looks like the argument of a query stays what it is. */
static const char *named_done(struct html_tokens *t, char next, const char *p)
{
	struct str name = {t->ref + 1, t->ref_n - 1}, text;
	if (next == ';' && html_entity(name, &text) == 0) {
		ref_put(t, text);
		return ref_back(t, p + 1);
	}
	size_t n = html_entity_old(name, &text);
	bool argument =
		in_value(t) && (n < name.n || next == '=' || is_class(next, C_ALPHA | C_DIGIT));
	if (n == 0 || argument)
		return as_written(t, p);
	ref_put(t, text);
	ref_put(t, str_from(name, n));
	return ref_back(t, p);
}

static const char *html_ref_named(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end && t->ref_n < REF_MAX && is_class(*p, C_ALPHA | C_DIGIT))
		ref_add(t, *p++);
	return p == end ? p : named_done(t, *p, p);
}

static const char *html_ref_number(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	t->code = 0;
	if (*p == 'x' || *p == 'X') {
		ref_add(t, *p);
		return turn_to(t, S_REF_HEX_START, p + 1);
	}
	return is_class(*p, C_DIGIT) ? turn_to(t, S_REF_DECIMAL, p) : as_written(t, p);
}

static const char *html_ref_hex_start(struct html_tokens *t, const char *p, const char *end)
{
	(void)end;
	return is_class(*p, C_HEX) ? turn_to(t, S_REF_HEX, p) : as_written(t, p);
}

static void put_code(struct html_tokens *t)
{
	uint32_t c = t->code;
	char text[4];
	if (c == 0 || c > CODE_MAX || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	else if (c >= 0x80 && c <= 0x9f && c1[c - 0x80])
		c = c1[c - 0x80];
	ref_put(t, (struct str){text, charset_encode(c, text)});
}

static const char *html_ref_digits(struct html_tokens *t, const char *p, const char *end)
{
	bool hex = t->state == S_REF_HEX;
	for (; p < end && is_class(*p, hex ? C_HEX : C_DIGIT); p++)
		t->code = MIN(t->code * (hex ? 16u : 10u) + (unsigned)ascii_hex(*p),
			      (uint32_t)CODE_MAX + 1);
	if (p == end)
		return p;
	put_code(t);
	return ref_back(t, p + (*p == ';'));
}

static void html_ref_eof(struct html_tokens *t)
{
	if (t->state == S_REF)
		ref_put(t, STR("&"));
	else if (t->state == S_REF_NAMED)
		named_done(t, 0, NULL);
	else if (t->state == S_REF_NUMBER || t->state == S_REF_HEX_START)
		as_written(t, NULL);
	else
		put_code(t);
	t->state = t->back;
}

/* The states, and what drives them. */

static html_state_fn *const states[S_COUNT] = {
	[S_DATA] = html_data,
	[S_RCDATA] = html_raw_text,
	[S_RAWTEXT] = html_raw_text,
	[S_SCRIPT] = html_raw_text,
	[S_PLAINTEXT] = html_plaintext,
	[S_CDATA] = html_cdata,
	[S_CDATA_BRACKET] = html_cdata_bracket,
	[S_CDATA_END] = html_cdata_end,
	[S_SCRIPT_ESCAPE_START] = html_script_escape_start,
	[S_SCRIPT_ESCAPE_START_DASH] = html_script_escape_start,
	[S_ESCAPED] = html_escaped,
	[S_ESCAPED_DASH] = html_escaped,
	[S_ESCAPED_DASH_DASH] = html_escaped,
	[S_TWICE_START] = html_script_word,
	[S_TWICE] = html_twice,
	[S_TWICE_DASH] = html_twice,
	[S_TWICE_DASH_DASH] = html_twice,
	[S_TWICE_LESS] = html_twice_less,
	[S_TWICE_END] = html_script_word,
	[S_RAW_LESS] = html_raw_less,
	[S_RAW_END_OPEN] = html_raw_end_open,
	[S_RAW_END_NAME] = html_raw_end_name,
	[S_TAG_OPEN] = html_tag_open,
	[S_END_TAG_OPEN] = html_end_tag_open,
	[S_TAG_NAME] = html_tag_name,
	[S_BEFORE_NAME] = html_before_name,
	[S_NAME] = html_name,
	[S_AFTER_NAME] = html_after_name,
	[S_BEFORE_VALUE] = html_before_value,
	[S_VALUE_DOUBLE] = html_value_quoted,
	[S_VALUE_SINGLE] = html_value_quoted,
	[S_VALUE_BARE] = html_value_bare,
	[S_AFTER_VALUE] = html_after_value,
	[S_SELF_CLOSING] = html_self_closing,
	[S_MARKUP] = html_markup,
	[S_BOGUS_COMMENT] = html_bogus_comment,
	[S_COMMENT_START] = html_comment_edge,
	[S_COMMENT_START_DASH] = html_comment_edge,
	[S_COMMENT] = html_comment,
	[S_COMMENT_END_DASH] = html_comment_end_dash,
	[S_COMMENT_END] = html_comment_end,
	[S_COMMENT_END_BANG] = html_comment_edge,
	[S_DOCTYPE] = html_in_doctype,
	[S_BEFORE_DOCTYPE_NAME] = html_before_doctype_name,
	[S_DOCTYPE_NAME] = html_doctype_name,
	[S_AFTER_DOCTYPE_NAME] = html_after_doctype_name,
	[S_AFTER_PUBLIC] = html_after_keyword,
	[S_PUBLIC_ID] = html_doctype_id,
	[S_AFTER_PUBLIC_ID] = html_after_public_id,
	[S_AFTER_SYSTEM] = html_after_keyword,
	[S_SYSTEM_ID] = html_doctype_id,
	[S_AFTER_SYSTEM_ID] = html_after_system_id,
	[S_BOGUS_DOCTYPE] = html_bogus_doctype,
	[S_REF] = html_ref,
	[S_REF_NAMED] = html_ref_named,
	[S_REF_NUMBER] = html_ref_number,
	[S_REF_HEX_START] = html_ref_hex_start,
	[S_REF_HEX] = html_ref_digits,
	[S_REF_DECIMAL] = html_ref_digits,
};

/* Without any CR. */
static void run_states(struct html_tokens *t, const char *p, const char *end)
{
	if (p == end)
		return;
	if (t->resume)
		t->mark = p;
	t->resume = false;
	while (p < end)
		p = states[t->state](t, p, end);
	if (t->state >= S_TAG_OPEN)
		hold_parts(t, end);
}

/* A CR is a LF, and a LF that follows belongs to it. */
static void run_block(struct html_tokens *t, const char *p, const char *end)
{
	while (p < end) {
		if (t->after_cr && *p == '\n')
			p++;
		t->after_cr = false;
		const char *cr = p < end ? memchr(p, '\r', (size_t)(end - p)) : NULL;
		run_states(t, p, cr ? cr : end);
		if (!cr)
			return;
		p = cr + 1;
		if (p < end && *p == '\n')
			continue; /* that one is taken */
		run_states(t, "\n", &"\n"[1]);
		t->after_cr = true;
	}
}

void html_tokens_add(struct html_tokens *t, struct str piece)
{
	while (piece.n) {
		size_t n = piece.n <= BLOCK ? piece.n : cut_at(piece.p, BLOCK);
		run_block(t, piece.p, piece.p + n);
		piece = str_from(piece, n);
	}
}

/* What was begun and did not become a token: it is text. */
static const struct str unfinished[S_COUNT] = {
	[S_CDATA_BRACKET] = {"]", 1}, [S_CDATA_END] = {"]]", 2},    [S_RAW_LESS] = {"<", 1},
	[S_RAW_END_OPEN] = {"</", 2}, [S_RAW_END_NAME] = {"</", 2}, [S_TAG_OPEN] = {"<", 1},
	[S_END_TAG_OPEN] = {"</", 2},
};

void html_tokens_end(struct html_tokens *t)
{
	if (t->state >= S_REF)
		html_ref_eof(t);
	put_text(t, unfinished[t->state].p, unfinished[t->state].n);
	html_raw_eof(t);
}

struct html_tokens *html_tokens_new(const struct html_limits *limits)
{
	struct html_tokens *t = mem_alloc(sizeof(*t));
	t->limits = limits ? *limits : html_limits_default;
	t->attrs = mem_array(t->limits.attrs + 1, sizeof(*t->attrs));
	return t;
}

void html_tokens_free(struct html_tokens **t)
{
	if (!*t)
		return;
	mem_free(&(*t)->attrs);
	mem_free(&(*t)->keep.p);
	mem_free(&(*t)->held.p);
	mem_free(&(*t)->raw);
	mem_free(t);
}

void html_tokens_begin(struct html_tokens *t, const struct html_sink *sink, void *ctx,
		       enum html_state state, struct str last_start_tag)
{
	t->sink = sink;
	t->ctx = ctx;
	t->state = (uint8_t)state;
	t->foreign = t->after_cr = t->resume = false;
	t->mark = NULL;
	t->doctype = (struct html_doctype){0};
	html_token_start(t);
	remember_raw(t, last_start_tag);
}

void html_tokens_foreign(struct html_tokens *t, bool foreign)
{
	t->foreign = foreign;
}
