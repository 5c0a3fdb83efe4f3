/* The inside of the tokenizer: its states, and how a name, a value or a comment is put together.
 * Such an item is a run of bytes in the piece for as long as that is enough. What has to differ
 * from the piece (a letter in lower case, a character reference), and what continues in the next
 * piece, is kept in a buffer of the tokenizer. */
#pragma once
#include "base/ascii.h"
#include "extract/html_tokens_inner.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The first six are enum html_state. */
enum state {
	S_DATA,
	S_RCDATA,
	S_RAWTEXT,
	S_SCRIPT,
	S_PLAINTEXT,
	S_CDATA,
	S_CDATA_BRACKET,
	S_CDATA_END,
	S_SCRIPT_ESCAPE_START,
	S_SCRIPT_ESCAPE_START_DASH,
	S_ESCAPED,
	S_ESCAPED_DASH,
	S_ESCAPED_DASH_DASH,
	S_TWICE_START,
	S_TWICE,
	S_TWICE_DASH,
	S_TWICE_DASH_DASH,
	S_TWICE_LESS,
	S_TWICE_END,
	S_RAW_LESS,
	S_RAW_END_OPEN,
	S_RAW_END_NAME,
	S_TAG_OPEN,
	S_END_TAG_OPEN,
	S_TAG_NAME,
	S_BEFORE_NAME,
	S_NAME,
	S_AFTER_NAME,
	S_BEFORE_VALUE,
	S_VALUE_DOUBLE,
	S_VALUE_SINGLE,
	S_VALUE_BARE,
	S_AFTER_VALUE,
	S_SELF_CLOSING,
	S_MARKUP,
	S_BOGUS_COMMENT,
	S_COMMENT_START,
	S_COMMENT_START_DASH,
	S_COMMENT,
	S_COMMENT_END_DASH,
	S_COMMENT_END,
	S_COMMENT_END_BANG,
	S_DOCTYPE,
	S_BEFORE_DOCTYPE_NAME,
	S_DOCTYPE_NAME,
	S_AFTER_DOCTYPE_NAME,
	S_AFTER_PUBLIC,
	S_PUBLIC_ID,
	S_AFTER_PUBLIC_ID,
	S_AFTER_SYSTEM,
	S_SYSTEM_ID,
	S_AFTER_SYSTEM_ID,
	S_BOGUS_DOCTYPE,
	S_REF,
	S_REF_NAMED,
	S_REF_NUMBER,
	S_REF_HEX_START,
	S_REF_HEX,
	S_REF_DECIMAL,
	S_COUNT
};

enum {
	REF_MAX = 33,   /* & and 32 letters: no name is as long without its semicolon */
	WORD_MAX = 8,   /* of "DOCTYPE", "[CDATA[", "PUBLIC", "script" */
	REPLACED_N = 3, /* bytes of U+FFFD */
};
#define REPLACED "\xef\xbf\xbd"

struct html_store {
	char *p;
	size_t n, cap;
};

struct html_tokens {
	struct html_limits limits;
	const struct html_sink *sink;
	void *ctx;
	uint8_t state;
	uint8_t back; /* enum state: after a reference; for raw text: what an end tag may end */
	char quote;   /* around an identifier of the DOCTYPE */
	bool foreign;
	bool after_cr;  /* the last byte was one: a LF belongs to it */
	bool attr_live; /* the next value belongs to the last attribute */

	struct html_tag tag;
	struct html_attr *attrs; /* limits.attrs of them */
	uint64_t attr_seen; /* a bit for each first and last letter: which may be there twice */
	struct html_doctype doctype;

	/* The current item. */
	const char *mark; /* where its run in the piece begins; NULL: it has none now */
	bool resume;      /* a run was going on when the piece ended */
	size_t item_at;   /* where its bytes begin in keep */
	size_t item_n;    /* bytes that it has outside the run, with those above the limit */
	size_t item_max;
	struct html_store keep; /* items that are not a run of the piece */
	struct html_store held; /* finished items whose piece is gone */

	char word[WORD_MAX]; /* what may become one of the words above */
	unsigned word_n;
	char ref[REF_MAX]; /* a reference as it was written */
	unsigned ref_n;
	uint32_t code; /* of a numeric reference; above 0x10ffff it stays there */

	char *raw; /* the name of the last start tag that changed the state */
	size_t raw_n, raw_cap;
};

/* Consumes bytes from p, sets the state, returns where to go on. There is at least one byte. */
typedef const char *html_state_fn(struct html_tokens *t, const char *p, const char *end);

/* Those of html_token_raw.c. */
html_state_fn html_markup, html_bogus_comment, html_comment_edge, html_comment,
	html_comment_end_dash, html_comment_end;
html_state_fn html_in_doctype, html_before_doctype_name, html_doctype_name, html_after_doctype_name,
	html_after_keyword, html_doctype_id, html_after_public_id, html_after_system_id,
	html_bogus_doctype;
html_state_fn html_cdata, html_cdata_bracket, html_cdata_end;
html_state_fn html_raw_text, html_escaped, html_script_escape_start, html_script_word, html_twice,
	html_twice_less, html_raw_less, html_raw_end_open, html_raw_end_name;

void html_raw_eof(struct html_tokens *t); /* the input ends in one of those */

/* Forgets what was kept of the last token. */
void html_token_start(struct html_tokens *t);
/* The tag is complete. */
void html_emit_tag(struct html_tokens *t);
/* Adds bytes to the item; drops what is above the limit. */
void html_item_keep(struct html_tokens *t, const char *from, size_t n);
/* Puts the run so far into the item and ends it. */
void html_item_flush(struct html_tokens *t, const char *p);

enum { C_SPACE = 1, C_UPPER = 2, C_ALPHA = 4, C_DIGIT = 8, C_HEX = 16, C_NAME_END = 32 };
extern const uint8_t html_class[256];

static inline bool is_class(char c, int classes)
{
	return (html_class[(unsigned char)c] & classes) != 0;
}

static inline const char *skip_space(const char *p, const char *end)
{
	while (p < end && is_class(*p, C_SPACE))
		p++;
	return p;
}

static inline void put_text(struct html_tokens *t, const char *from, size_t n)
{
	if (n && t->sink->text)
		t->sink->text(t->ctx, (struct str){from, n});
}

static inline void item_begin(struct html_tokens *t, const char *p, size_t max)
{
	t->mark = p;
	t->item_at = t->keep.n;
	t->item_n = 0;
	t->item_max = max;
}

/* The letters from p on, in lower case; returns where the last of them is. */
static inline const char *item_lower(struct html_tokens *t, const char *p, const char *end)
{
	char text[32];
	size_t n = 0;
	html_item_flush(t, p);
	for (; n < sizeof text && p + n < end && is_class(p[n], C_ALPHA); n++)
		text[n] = ascii_lower(p[n]);
	html_item_keep(t, text, n);
	t->mark = p + n;
	return p + n - 1;
}

/* U+FFFD in place of the NUL at p. */
static inline void item_nul(struct html_tokens *t, const char *p)
{
	html_item_flush(t, p);
	html_item_keep(t, REPLACED, REPLACED_N);
	t->mark = p + 1;
}

struct str html_item_cut(struct html_tokens *t, const char *p, size_t drop);

/* The item ends before p, without its last `drop` bytes. */
static inline struct str item_end(struct html_tokens *t, const char *p, size_t drop)
{
	if (UNLIKELY(t->item_n || !t->mark || (size_t)(p - t->mark) > t->item_max))
		return html_item_cut(t, p, drop);
	struct str s = {t->mark, (size_t)(p - t->mark) - drop};
	t->mark = NULL;
	return s;
}

static inline const char *turn_to(struct html_tokens *t, enum state state, const char *p)
{
	t->state = (uint8_t)state;
	return p;
}

/* Skips what means nothing: finds the first of three bytes, sixteen at a time where the machine
 * can. Nothing outside of [p, end) is touched. */

/* Where the first a, b or c is; end: nowhere. Give one twice to look for fewer. */
static inline const char *html_scan_portable(const char *p, const char *end, char a, char b, char c)
{
	while (p < end && *p != a && *p != b && *p != c)
		p++;
	return p;
}

static inline const char *html_scan(const char *p, const char *end, char a, char b, char c)
{
#ifdef __SSE2__
	const __m128i va = _mm_set1_epi8(a), vb = _mm_set1_epi8(b), vc = _mm_set1_epi8(c);
	for (; end - p >= 16; p += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
		__m128i hit =
			_mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, va), _mm_cmpeq_epi8(v, vb)),
				     _mm_cmpeq_epi8(v, vc));
		int bits = _mm_movemask_epi8(hit);
		if (bits)
			return p + __builtin_ctz((unsigned)bits);
	}
#endif
	return html_scan_portable(p, end, a, b, c);
}
