/* Slices: text that is owned elsewhere, passed by value, never assumed to end in NUL. */
#pragma once
#include "base/base.h"

struct str {
	const char *p;
	size_t n;
};

#define STR(lit) ((struct str){"" lit, sizeof(lit) - 1}) /* of a literal */
#define STR_FMT "%.*s"
#define STR_ARG(s) (int)MIN((s).n, (size_t)INT32_MAX), (s).p

static inline struct str str_of(const char *z)
{
	return (struct str){z, z ? strlen(z) : 0};
}
static inline struct str str_range(const char *from, const char *to)
{
	return (struct str){from, (size_t)(to - from)};
}
static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool str_is(struct str a, const char *z)
{
	return str_eq(a, str_of(z));
}
/* The part from byte `from` on, and the part before it; both stay inside. */
static inline struct str str_from(struct str s, size_t from)
{
	from = MIN(from, s.n);
	return (struct str){from ? s.p + from : s.p, s.n - from};
}
static inline struct str str_head(struct str s, size_t n)
{
	return (struct str){s.p, MIN(n, s.n)};
}

int str_cmp(struct str a, struct str b);        /* bytes; a prefix comes first */
bool str_eq_nocase(struct str a, struct str b); /* ASCII letters only */
bool str_starts(struct str s, struct str prefix);
bool str_ends(struct str s, struct str suffix);
struct str str_trim(struct str s); /* blanks, tabs, CR, LF at both ends */
/* Of a field of HTTP: blanks and tabs alone at both ends, since all other control characters are
 * part of a value; and whether there is one of these in it. */
struct str str_trim_field(struct str s);
bool str_has_control(struct str s);

/* The index of s among n words; n: it is none of them. */
size_t str_index(struct str s, const char *const *words, size_t n);
size_t str_index_nocase(struct str s, const char *const *words, size_t n); /* ASCII letters only */
/* Whether it is one of the words in an array. */
#define STR_AMONG(s, words) (str_index(s, words, ARRAY_LEN(words)) < ARRAY_LEN(words))
#define STR_AMONG_NOCASE(s, words) (str_index_nocase(s, words, ARRAY_LEN(words)) < ARRAY_LEN(words))

/* Each %XX becomes the byte it stands for; other percent signs stay. In `to`, as str_lower(). */
struct str str_unescape(struct str s, char *to);
/* ASCII capitals become small letters: in `to`, which has room for as many bytes and may be where s
 * is. Returns what is there. */
struct str str_lower(struct str s, char *to);
/* A copy on the heap that ends in NUL. */
char *str_dup(struct str s) MUST_USE;

/* Offset of the first byte c, or of the first needle; s.n when there is none. An empty needle is at
 * the start. */
size_t str_find_byte(struct str s, char c);
size_t str_find(struct str s, struct str needle);

/* Offset after the last byte c; 0 when there is none. */
size_t str_after_last(struct str s, char c);

/* Cuts the next word off *rest, without the white space before it; empty when there is none. */
struct str str_word(struct str *rest);
/* Cuts the next field off *rest at the separator. 0: *ret is the field; 1: none was left (rest->p
 * is then NULL, as in a slice of nothing). "a,,b" has three fields, "a," two, "" one. */
int str_cut(struct str *rest, char separator, struct str *ret);

/* Whole slice, decimal, no sign, no blanks. false on anything else or overflow; *ret untouched. */
bool str_u64(struct str s, uint64_t *ret) MUST_USE;

enum { STR_DECIMAL_MAX = 20 };
/* Decimal digits of v, without a NUL; returns how many, at most STR_DECIMAL_MAX. */
size_t str_decimal(char *to, uint64_t v);

/* All bytes form valid UTF-8 (no surrogates, no overlong forms). */
bool str_utf8(struct str s);
/* Bytes of the character that s begins with; 0: its first byte does not begin a valid one. */
size_t str_utf8_char(struct str s);
/* Characters of UTF-8; bytes that are not UTF-8 count as they come. */
size_t str_utf8_count(struct str s);
/* At most the first n bytes of s, without a character that would be cut. Bytes that are not UTF-8
 * are cut anywhere. */
struct str str_utf8_head(struct str s, size_t n);
