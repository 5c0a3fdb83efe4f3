/* Snippets: the words of a text that are in the query are found in one pass; the window with the
 * most different ones is shown, from the beginning of a line or sentence where one is near. */
#include "broker/snippet.h"

#include "base/ascii.h"

#include <string.h>

/* Words that were found are remembered up to this many; a part that shows a query well is among
 * the first. */
enum { FOUND_MOST = 512, LEAD = 80 };

struct found {
	uint32_t at, n, term;
};

static void collect_terms(const struct query_node *node, struct snippet_terms *t)
{
	if (node->op == QUERY_NOT)
		return;
	for (uint32_t i = 0; i < node->words && t->n < SNIPPET_TERMS; i++) {
		struct str term = node->word[i].term;
		bool known = term.n == 0;
		for (size_t k = 0; k < t->n; k++)
			known |= str_eq(t->term[k], term);
		if (known)
			continue;
		unsigned char c = (unsigned char)term.p[0];
		t->term[t->n++] = term;
		t->first[c / 64] |= 1ull << c % 64;
	}
	for (uint32_t i = 0; i < node->kids; i++)
		collect_terms(node->kid[i], t);
}

void snippet_terms(const struct query_node *root, struct snippet_terms *ret)
{
	*ret = (struct snippet_terms){0};
	if (root)
		collect_terms(root, ret);
}

/* SNIPPET_TERMS: it is none of them. */
static uint32_t term_of(const struct snippet_terms *t, struct str term)
{
	unsigned char c = term.n ? (unsigned char)term.p[0] : 0;
	if (!(t->first[c / 64] >> c % 64 & 1))
		return SNIPPET_TERMS;
	for (uint32_t i = 0; i < t->n; i++)
		if (str_eq(t->term[i], term))
			return i;
	return SNIPPET_TERMS;
}

/* How well a part shows the query: different words first, then how many. */
struct window {
	size_t from, to; /* of found; to is one after the last */
	uint32_t different;
};

static bool window_is_better(const struct window *a, const struct window *b)
{
	if (a->different != b->different)
		return a->different > b->different;
	return a->to - a->from > b->to - b->from;
}

/* The words of the text that are in the query. Stops when one part has all of them. */
static struct window scan_words(const struct snippet_terms *terms, const struct token_rules *rules,
				struct str text, struct found *found)
{
	uint32_t count[SNIPPET_TERMS] = {0};
	struct window now = {0}, best = {0};
	struct tokens it;
	struct token token;
	tokens_init(&it, rules, str_head(text, SNIPPET_SCAN), 0);
	while (now.to < FOUND_MOST && tokens_next(&it, &token) == 0) {
		uint32_t term = term_of(terms, token.term);
		if (term == SNIPPET_TERMS)
			continue;
		uint32_t at = (uint32_t)(token.form.p - text.p);
		found[now.to++] = (struct found){at, (uint32_t)token.form.n, term};
		now.different += count[term]++ == 0;
		while (at + token.form.n - found[now.from].at > SNIPPET_BYTES - LEAD &&
		       now.from + 1 < now.to)
			now.different -= --count[found[now.from++].term] == 0;
		if (window_is_better(&now, &best))
			best = now;
		if (best.different == terms->n && terms->n > 1)
			break;
		if (terms->n == 1 && best.to - best.from >= 2)
			break;
	}
	return best;
}

static bool is_inside(struct str text, size_t at)
{
	return at > 0 && at < text.n && ((unsigned char)text.p[at] & 0xc0) == 0x80;
}

/* Where a part begins that is to show what stands at `at`: after a line break or the end of a
 * sentence if one is near, else between words. */
static size_t begin_before(struct str text, size_t at)
{
	size_t least = at > LEAD ? at - LEAD : 0, word = at;
	for (size_t i = at; i > least; i--) {
		char c = text.p[i - 1];
		if (c == '\n')
			return i;
		if (!ascii_is_space(c))
			continue;
		word = i;
		if (i > 1 && strchr(".!?", text.p[i - 2]))
			return i;
	}
	while (is_inside(text, least)) /* without blanks: between characters */
		least++;
	return least == 0 || word == at ? least : word;
}

/* Where it ends: between words, if one ends there at all. */
static size_t end_after(struct str text, size_t from, size_t least)
{
	size_t most = MIN(text.n, MAX(from + SNIPPET_BYTES, least)), at = most;
	if (most == text.n)
		return most;
	while (at > least && !ascii_is_space(text.p[at]))
		at--;
	if (at == least)
		at = most;
	while (is_inside(text, at))
		at--;
	return at;
}

/* Copies a part of the text with blanks made single, and the marks along. */
static void copy_marked(struct str text, size_t from, size_t to, const struct found *found,
			size_t n, struct arena *arena, struct marked *ret)
{
	char *out = arena_alloc(arena, to - from + 1);
	struct mark *mark = arena_array(arena, n ? n : 1, sizeof *mark);
	size_t used = 0, marks = 0, next = 0;
	while (next < n && found[next].at < from)
		next++;
	for (size_t i = from; i < to; i++) {
		if (next < n && found[next].at == i && i + found[next].n <= to) {
			mark[marks++] = (struct mark){(uint32_t)used, found[next].n};
			memcpy(out + used, text.p + i, found[next].n);
			used += found[next].n;
			i += found[next].n - 1;
			next++;
		} else if (!ascii_is_space(text.p[i])) {
			out[used++] = text.p[i];
		} else if (used && out[used - 1] != ' ') {
			out[used++] = ' ';
		}
	}
	while (used && out[used - 1] == ' ')
		used--;
	*ret = (struct marked){
		.text = {out, used},
		.mark = mark,
		.n = marks,
		.cut_before = from > 0,
		.cut_after = to < text.n,
	};
}

void snippet_mark(const struct snippet_terms *terms, const struct token_rules *rules,
		  struct str text, size_t most, struct arena *arena, struct marked *ret)
{
	struct found found[FOUND_MOST];
	struct tokens it;
	struct token token;
	size_t n = 0, end = MIN(text.n, most);
	while (is_inside(text, end))
		end--;
	tokens_init(&it, rules, str_head(text, end), 0);
	while (n < FOUND_MOST && tokens_next(&it, &token) == 0)
		if (term_of(terms, token.term) != SNIPPET_TERMS)
			found[n++] = (struct found){(uint32_t)(token.form.p - text.p),
						    (uint32_t)token.form.n, 0};
	copy_marked(text, 0, end, found, n, arena, ret);
}

void snippet_make(const struct snippet_terms *terms, const struct token_rules *rules,
		  struct str text, struct arena *arena, struct marked *ret)
{
	struct found found[FOUND_MOST];
	struct window w = terms->n ? scan_words(terms, rules, text, found) : (struct window){0};
	bool some = w.to > w.from;
	size_t from = some ? begin_before(text, found[w.from].at) : 0;
	size_t least = some ? found[w.to - 1].at + found[w.to - 1].n : 0;
	size_t to = end_after(text, from, least);
	struct marked all;
	/* What follows the last word that was looked at may be in the query too. */
	snippet_mark(terms, rules, str_head(str_from(text, from), to - from), to - from, arena,
		     &all);
	all.cut_before = from > 0;
	all.cut_after = to < text.n;
	*ret = all;
}
