/* Snippets: what a text has of the query is found in one pass; the window with the most different
 * words is shown, from the beginning of a line or sentence where one is near. */
#include "broker/snippet.h"

#include "base/ascii.h"

#include <string.h>

/* Words that were found are remembered up to this many; a part that shows a query well is among
 * the first. */
enum { FOUND_MOST = 512, LEAD = 80 };

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

/* What matched, up to a mark that one part has with all others. */
static struct window scan_words(struct marker *m, struct str attribute, struct str text,
				struct marker_find *found)
{
	uint32_t count[MARKS_WORDS] = {0}, words = marker_words(m);
	struct window now = {0}, best = {0};
	struct marker_find next;
	marker_begin(m, attribute, str_head(text, SNIPPET_SCAN));
	while (now.to < FOUND_MOST && marker_next(m, &next) == 0) {
		/* A window only moves on: what comes late is marked at the end. */
		if (now.to && next.mark.at < found[now.to - 1].mark.at)
			continue;
		found[now.to++] = next;
		now.different += count[next.word]++ == 0;
		while (next.mark.at + next.mark.n - found[now.from].mark.at >
			       SNIPPET_BYTES - LEAD &&
		       now.from + 1 < now.to)
			now.different -= --count[found[now.from++].word] == 0;
		if (window_is_better(&now, &best))
			best = now;
		if (best.different == words && words > 1)
			break;
		if (words == 1 && best.to - best.from >= 2)
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
static void copy_marked(struct str text, size_t from, size_t to, const struct mark *found, size_t n,
			struct arena *arena, struct marked *ret)
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

void snippet_mark(struct marker *m, struct str attribute, struct str text, size_t most,
		  struct arena *arena, struct marked *ret)
{
	struct mark found[FOUND_MOST];
	size_t end = MIN(text.n, most);
	while (is_inside(text, end))
		end--;
	size_t n = marker_all(m, attribute, str_head(text, end), found, FOUND_MOST);
	copy_marked(text, 0, end, found, n, arena, ret);
}

void snippet_make(struct marker *m, struct str attribute, struct str text, struct arena *arena,
		  struct marked *ret)
{
	struct marker_find found[FOUND_MOST];
	struct window w = scan_words(m, attribute, text, found);
	bool some = w.to > w.from;
	size_t from = some ? begin_before(text, found[w.from].mark.at) : 0;
	size_t least = some ? found[w.to - 1].mark.at + found[w.to - 1].mark.n : 0;
	size_t to = end_after(text, from, least);
	struct marked all;
	/* What follows the last word that was looked at may be in the query too. */
	snippet_mark(m, attribute, str_head(str_from(text, from), to - from), to - from, arena,
		     &all);
	all.cut_before = from > 0;
	all.cut_after = to < text.n;
	*ret = all;
}
