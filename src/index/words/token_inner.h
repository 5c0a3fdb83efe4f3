/* What token.c knows of characters, for expressions and for its test too. */
#pragma once
#include "index/token.h"

#include <utf8proc.h>

/* What a character does to words. */
enum token_class {
	TOKEN_SEPARATES,
	TOKEN_BEGINS,   /* a letter or digit */
	TOKEN_ALONE,    /* a letter that is a word by itself */
	TOKEN_CONTINUES /* a mark, or a character without looks that joins */
};

static inline bool token_ascii(int32_t c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* The longest run of ASCII letters and digits, the first of equals; at_start: the one at the
 * beginning. */
struct str token_ascii_run(struct str s, bool at_start);

/* The character at p, which is before end, and its length in bytes. -1: not UTF-8; a byte of it is
 * to be passed over. */
int32_t token_char(const unsigned char *p, const unsigned char *end, size_t *ret_n);
size_t token_char_put(int32_t c, char to[4]); /* bytes written */
enum token_class token_class(const struct token_rules *rules, int32_t c);
/* The term of a word that is not all ASCII; at most TOKEN_TERM_MOST bytes, perhaps none. */
size_t token_fold(const struct token_rules *rules, struct str form, char ret[TOKEN_TERM_MOST]);

/* The same without rules, which take longer to open than an expression to compile. */
enum { TOKEN_CHARS_MOST = 256 }; /* of a folded word before it is cut */
struct token_unicode {
	__typeof__(&utf8proc_get_property) property;
	__typeof__(&utf8proc_decompose_char) decompose;
	__typeof__(&utf8proc_normalize_utf32) normalize;
};
int token_unicode_load(struct token_unicode *ret, struct err *err);
enum token_class token_unicode_class(const struct token_unicode *u, int32_t c);
/* What characters of a word fold to, together; perhaps nothing. */
size_t token_unicode_fold(const struct token_unicode *u, const int32_t *chars, size_t n,
			  int32_t ret[TOKEN_CHARS_MOST]);
