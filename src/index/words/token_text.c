/* Texts as their words are folded, for expressions that are looked for in them: each word as
 * token_fold() has it, but never cut, and all that is between words as it is.
 *
 * A word is folded a character at a time, together with the marks on it: nothing else joins when it
 * is composed, but the letters of Hangul, which count as marks here. */
#include "base/ascii.h"
#include "base/vec.h"
#include "index/words/token_inner.h"

struct str token_ascii_run(struct str s, bool at_start)
{
	struct str best = {s.p, 0};
	for (size_t i = 0, n; i < s.n && (i == 0 || !at_start); i += n + 1) {
		for (n = 0; i + n < s.n && token_ascii((unsigned char)s.p[i + n]);)
			n++;
		if (n > best.n)
			best = (struct str){s.p + i, n};
	}
	return best;
}

enum { CLUSTER_MOST = 64 }; /* bytes of a character and its marks that are folded together */

/* Letters that join the one before them. */
static bool is_jamo(int32_t c)
{
	return (c >= 0x1100 && c <= 0x11ff) || (c >= 0x3131 && c <= 0x318e) ||
	       (c >= 0xa960 && c <= 0xa97f) || (c >= 0xd7b0 && c <= 0xd7ff) ||
	       (c >= 0xffa0 && c <= 0xffdc);
}

static void put_bytes(struct buf *out, struct token_map *map, const char *p, size_t n, size_t from)
{
	buf_add_str(out, (struct str){p, n});
	if (!map)
		return;
	VEC_ROOM(map->from, map->room, map->n + n + 1);
	for (size_t i = 0; i < n; i++)
		map->from[map->n++] = (uint32_t)from;
}

static void put_as_is(struct buf *out, struct token_map *map, const char *p, size_t n, size_t from)
{
	buf_add_str(out, (struct str){p, n});
	if (!map)
		return;
	VEC_ROOM(map->from, map->room, map->n + n + 1);
	for (size_t i = 0; i < n; i++)
		map->from[map->n++] = (uint32_t)(from + i);
}

/* Bytes of ASCII from here on: small, each its own. */
static size_t put_ascii(struct buf *out, struct token_map *map, struct str text, size_t at)
{
	char small[256];
	size_t n = 0, most = MIN(text.n - at, sizeof small);
	for (; n < most && !(text.p[at + n] & 0x80); n++)
		small[n] = ascii_lower(text.p[at + n]);
	put_as_is(out, map, small, n, at);
	return n;
}

/* The character at `at` and what joins it. */
static size_t cluster_bytes(const struct token_rules *rules, struct str text, size_t at, size_t n)
{
	const unsigned char *p = (const unsigned char *)text.p, *end = p + text.n;
	for (size_t len; at + n < text.n && n < CLUSTER_MOST; n += len) {
		int32_t c = token_char(p + at + n, end, &len);
		if (c < 0x80 || (!is_jamo(c) && token_class(rules, c) != TOKEN_CONTINUES))
			break;
	}
	return n;
}

void token_fold_text(const struct token_rules *rules, struct str text, struct buf *out,
		     struct token_map *map)
{
	const unsigned char *p = (const unsigned char *)text.p, *end = p + text.n;
	bool in_word = false;
	for (size_t at = 0, n; at < text.n; at += n) {
		char folded[TOKEN_TERM_MOST];
		if (!(p[at] & 0x80)) {
			n = put_ascii(out, map, text, at);
			in_word = token_ascii(p[at + n - 1]);
			continue;
		}
		int32_t c = token_char(p + at, end, &n);
		enum token_class class = c < 0 ? TOKEN_SEPARATES : token_class(rules, c);
		bool joins = class == TOKEN_CONTINUES && in_word;
		if (class == TOKEN_BEGINS || class == TOKEN_ALONE || joins) {
			n = cluster_bytes(rules, text, at, n);
			size_t len = token_fold(rules, (struct str){text.p + at, n}, folded);
			put_bytes(out, map, folded, len, at);
			in_word = true;
		} else {
			put_as_is(out, map, text.p + at, n, at);
			in_word = false;
		}
	}
	if (map) {
		VEC_ROOM(map->from, map->room, map->n + 1);
		map->from[map->n] = (uint32_t)text.n;
	}
}

void token_map_free(struct token_map *map)
{
	mem_free(&map->from);
	*map = (struct token_map){0};
}
