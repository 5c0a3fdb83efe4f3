/* Literals that every match contains, from the leaves of the tree to its root. What a node can
 * match is kept as a list of texts as long as that list is short. Where it becomes long, or
 * endless, each match still contains one of the texts so far: that is a group, and the list begins
 * anew.
 *
 * Texts are then cut where words begin and end, since literals are looked for among words. What is
 * not sure there is not said: a mark at the beginning may belong to a word or to none, and a letter
 * at the end of a literal may become another one with the mark after it.
 *
 * In names, literals are looked for anywhere and texts stay whole. There more texts pay, and so
 * does what a part of which little is known surely begins and ends with: "lib[0-9]+\\.so" has one
 * of "lib0" to "lib9" and one of "0.so" to "9.so". */
#include "index/rx/rx_inner.h"

enum {
	TEXTS_MOST = 24, /* of a node */
	NAME_TEXTS_MOST = RX_LITERALS_MOST,
	TEXT_BYTES_MOST = 96, /* less than a term has */
	SET_CHARS_MOST = 6,   /* of a set that is taken apart */
	NAME_SET_CHARS_MOST = 16,
	KIND_CHARS_MOST = 256,  /* of a set that is asked whether it separates */
	GROUPS_MOST = 16,       /* of a node */
	ROUNDS_MOST = 8,        /* of a repeat that are written out */
	SCRATCH_MOST = 4 << 20, /* bytes for all nodes: past it nothing more is known */
	PIECES_MOST = TEXT_BYTES_MOST,
};

struct texts {
	struct str *text;
	uint32_t n;
};

struct groups {
	struct rx_group group[GROUPS_MOST];
	uint32_t n;
};

/* What is known of a node. */
struct known {
	bool exact;            /* it matches just these texts */
	struct texts texts;    /* where exact */
	struct groups *groups; /* where not; NULL: none */
	/* where not, and in names alone: it begins, ends with one of these; none: nothing is known
	 */
	struct texts first, last;
	/* it is not empty, and its first, its last character surely separates words */
	bool separates_first, separates_last;
};

struct finder {
	const struct rx_tree *tree;
	const struct rx_chars *chars;
	bool folded;
	struct arena *arena;
	struct known *known; /* by node */
};

static uint32_t texts_most(const struct finder *f)
{
	return f->tree->any_bytes ? NAME_TEXTS_MOST : TEXTS_MOST;
}

static bool is_full(const struct finder *f)
{
	return f->arena->used > SCRATCH_MOST;
}

/* Pieces of a text: words, parts of words, and what stands between. */

struct piece {
	struct str text;
	enum token_class kind; /* of its first character */
	bool begins, ends;
};

static bool joins_next(const struct finder *f, int32_t c)
{
	bool han = (c >= 0x3400 && c <= 0x9fff) || (c >= 0x20000 && c <= 0x3fffd);
	return !f->folded && c >= 0x800 && !han;
}

static bool joins_former(const struct finder *f, int32_t c)
{
	return !f->folded && ((c >= 0x1160 && c <= 0x11ff) || (c >= 0xd7b0 && c <= 0xd7ff));
}

/* Cuts off what may be another character in the word that is found: in a text that is not folded
 * the next mark, which is not part of the match, may join with the last letter. */
static void trim_piece(const struct finder *f, struct piece *piece, int32_t last, size_t last_n)
{
	size_t n;
	const unsigned char *p = (const unsigned char *)piece->text.p;
	if (piece->kind == TOKEN_SEPARATES)
		return;
	if (!piece->ends && joins_next(f, last))
		piece->text.n -= last_n;
	while (piece->text.n && !piece->begins &&
	       joins_former(f, token_char(p, p + piece->text.n, &n))) {
		piece->text = str_from(piece->text, n);
		p += n;
	}
}

/* Cuts a text; returns the pieces that are left. */
static size_t cut_text(const struct finder *f, struct str text, bool before, bool after,
		       struct piece *ret)
{
	const unsigned char *p = (const unsigned char *)text.p, *end = p + text.n;
	size_t n = 0, len, last_n = 0;
	int32_t last = 0;
	struct piece now = {.text = {text.p, 0}, .kind = TOKEN_SEPARATES};
	bool begins = before; /* whether a word that begins here is known to */
	for (; p < end; p += len) {
		int32_t c = token_char(p, end, &len);
		enum token_class kind = token_unicode_class(&f->chars->unicode, c);
		bool outside = now.text.n == 0 || now.kind == TOKEN_SEPARATES;
		bool goes_on = now.text.n > 0 &&
			       (now.kind == TOKEN_SEPARATES
					? kind == TOKEN_SEPARATES
					: kind == TOKEN_CONTINUES || (kind == TOKEN_BEGINS &&
								      now.kind == TOKEN_BEGINS));
		if (kind == TOKEN_CONTINUES && outside) {
			/* a mark without a letter before it */
			begins |= now.text.n > 0;
			if (now.text.n)
				ret[n++] = now;
			now = (struct piece){.text = {(const char *)p + len, 0}};
			continue;
		}
		if (!goes_on) {
			if (now.text.n) {
				now.ends = true;
				trim_piece(f, &now, last, last_n);
				ret[n] = now;
				n += now.text.n > 0;
				begins = true;
			}
			now = (struct piece){.text = {(const char *)p, 0},
					     .kind = kind,
					     .begins = begins || kind == TOKEN_ALONE};
		}
		now.text.n += len;
		last = c;
		last_n = len;
	}
	if (now.text.n) {
		now.ends = after;
		trim_piece(f, &now, last, last_n);
		ret[n] = now;
		n += now.text.n > 0;
	}
	return n;
}

/* Groups */

static bool of_words(const struct finder *f, struct str s)
{
	size_t n;
	const unsigned char *p = (const unsigned char *)s.p;
	return s.n && token_unicode_class(&f->chars->unicode, token_char(p, p + s.n, &n)) !=
			      TOKEN_SEPARATES;
}

/* How much a group helps: by its worst literal, words before what separates them. */
static int64_t worth_of(const struct finder *f, const struct rx_group *g)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct rx_literal *l = &g->literal[i];
		int64_t worth = (int64_t)str_utf8_count(l->text);
		if (f->tree->any_bytes)
			worth = 100 * ((int64_t)l->text.n + (l->begins ? 3 : 0) + l->ends);
		else if (of_words(f, l->text))
			worth = 100 * (worth + l->begins + l->ends);
		least = MIN(least, worth);
	}
	return least - g->n;
}

static void add_literal(struct rx_literal *list, uint32_t *n, struct rx_literal l)
{
	for (uint32_t i = 0; i < *n; i++)
		if (str_eq(list[i].text, l.text)) {
			list[i].begins &= l.begins;
			list[i].ends &= l.ends;
			return;
		}
	list[(*n)++] = l;
}

static void add_group(struct finder *f, struct groups *to, const struct rx_literal *list,
		      uint32_t n)
{
	struct rx_group g = {.n = n};
	if (n == 0 || is_full(f))
		return;
	struct rx_literal *copy = arena_array(f->arena, n, sizeof *copy);
	memcpy(copy, list, n * sizeof *copy);
	g.literal = copy;
	if (to->n < GROUPS_MOST) {
		to->group[to->n++] = g;
		return;
	}
	uint32_t worst = 0;
	for (uint32_t i = 1; i < to->n; i++)
		if (worth_of(f, &to->group[i]) < worth_of(f, &to->group[worst]))
			worst = i;
	if (worth_of(f, &g) > worth_of(f, &to->group[worst]))
		to->group[worst] = g;
}

static void join_groups(struct finder *f, struct groups *to, const struct groups *from)
{
	for (uint32_t i = 0; from && i < from->n; i++)
		add_group(f, to, from->group[i].literal, from->group[i].n);
}

static struct rx_literal literal_of(const struct piece *p)
{
	bool word = p->kind != TOKEN_SEPARATES;
	return (struct rx_literal){p->text, word && p->begins, word && p->ends};
}

static const struct piece *best_piece(const struct piece *piece, size_t n)
{
	const struct piece *best = NULL;
	int64_t most = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t worth = (int64_t)str_utf8_count(piece[i].text);
		worth *= piece[i].kind == TOKEN_SEPARATES ? 1 : 1000;
		if (worth > most) {
			most = worth;
			best = &piece[i];
		}
	}
	return best;
}

/* In a name all of them are one group. */
static void flush_whole(struct finder *f, struct groups *to, const struct texts *texts, bool before,
			bool after)
{
	struct rx_literal list[NAME_TEXTS_MOST];
	uint32_t n = 0;
	for (uint32_t i = 0; i < texts->n; i++) {
		if (texts->text[i].n == 0)
			return;
		add_literal(list, &n, (struct rx_literal){texts->text[i], before, after});
	}
	add_group(f, to, list, n);
}

/* Each match contains one of these texts, with something that separates before and after them where
 * that is said. Texts that are cut alike give a group for each piece, others one group. */
static void flush_texts(struct finder *f, struct groups *to, const struct texts *texts, bool before,
			bool after)
{
	struct piece piece[PIECES_MOST];
	struct rx_literal list[PIECES_MOST][TEXTS_MOST];
	struct rx_literal best[TEXTS_MOST];
	uint32_t counts[PIECES_MOST] = {0}, bests = 0;
	size_t columns = 0;
	bool alike = true;
	if (f->tree->any_bytes) {
		flush_whole(f, to, texts, before, after);
		return;
	}
	for (uint32_t i = 0; i < texts->n; i++) {
		size_t n = cut_text(f, texts->text[i], before, after, piece);
		if (n == 0)
			return;
		alike &= i == 0 || n == columns;
		columns = n;
		for (size_t k = 0; k < n && alike; k++)
			add_literal(list[k], &counts[k], literal_of(&piece[k]));
		add_literal(best, &bests, literal_of(best_piece(piece, n)));
	}
	if (!alike)
		add_group(f, to, best, bests);
	for (size_t k = 0; k < columns && alike; k++)
		add_group(f, to, list[k], counts[k]);
}

/* Nodes */

static struct groups *new_groups(struct finder *f)
{
	return arena_alloc(f->arena, sizeof(struct groups));
}

/* The groups of a node that another one contains. */
static const struct groups *groups_of(struct finder *f, const struct known *k)
{
	if (!k->exact)
		return k->groups;
	struct groups *g = new_groups(f);
	flush_texts(f, g, &k->texts, false, false);
	return g;
}

static void know_set(struct finder *f, const struct rx_ranges *r, struct known *ret)
{
	uint32_t count = rx_ranges_count(r);
	bool name = f->tree->any_bytes;
	bool separates = !name && count > 0 && count <= KIND_CHARS_MOST &&
			 rx_ranges_kinds(f->chars, r) == 1u << TOKEN_SEPARATES;
	ret->separates_first = ret->separates_last = separates;
	ret->exact = count > 0 && count <= (name ? NAME_SET_CHARS_MOST : SET_CHARS_MOST) &&
		     r->range[r->n - 1].to <= RX_CHAR_LAST;
	if (!ret->exact)
		return;
	ret->texts.text = arena_array(f->arena, count, sizeof *ret->texts.text);
	for (size_t i = 0; i < r->n; i++)
		for (int32_t c = r->range[i].from; c <= r->range[i].to; c++) {
			char bytes[4];
			size_t n = token_char_put(c, bytes);
			ret->texts.text[ret->texts.n++] =
				arena_str(f->arena, (struct str){bytes, n});
		}
}

/* Every text of a with every text of b. false: that would be too many, or too long. */
static bool cross_texts(struct finder *f, const struct texts *a, const struct texts *b,
			struct texts *ret)
{
	size_t longest_a = 0, longest_b = 0;
	for (uint32_t i = 0; i < a->n; i++)
		longest_a = MAX(longest_a, a->text[i].n);
	for (uint32_t i = 0; i < b->n; i++)
		longest_b = MAX(longest_b, b->text[i].n);
	if ((size_t)a->n * b->n > texts_most(f) || longest_a + longest_b > TEXT_BYTES_MOST ||
	    is_full(f))
		return false;
	struct texts to = {.text = arena_array(f->arena, (size_t)a->n * b->n, sizeof *to.text)};
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t k = 0; k < b->n; k++) {
			struct str x = a->text[i], y = b->text[k];
			char *p = arena_alloc(f->arena, x.n + y.n + 1);
			memcpy(p, x.p, x.n);
			memcpy(p + x.n, y.p, y.n);
			to.text[to.n++] = (struct str){p, x.n + y.n};
		}
	*ret = to;
	return true;
}

static struct texts no_text(struct finder *f)
{
	struct texts t = {.text = arena_alloc(f->arena, sizeof *t.text), .n = 1};
	t.text[0] = STR("");
	return t;
}

static bool is_nothing(const struct texts *t)
{
	return t->n == 1 && t->text[0].n == 0;
}

/* One of them is empty, so that they say nothing. */
static bool has_nothing(const struct texts *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (t->text[i].n == 0)
			return true;
	return t->n == 0;
}

/* Whether the first or last character of all texts separates. */
static bool texts_separate(const struct finder *f, const struct texts *t, bool last)
{
	for (uint32_t i = 0; i < t->n; i++) {
		struct str s = t->text[i];
		size_t from = s.n, n;
		if (!s.n)
			return false;
		if (last)
			do {
				from--;
			} while (from > 0 && (s.p[from] & 0xc0) == 0x80);
		else
			from = 0;
		const unsigned char *p = (const unsigned char *)s.p;
		if (token_unicode_class(&f->chars->unicode, token_char(p + from, p + s.n, &n)) !=
		    TOKEN_SEPARATES)
			return false;
	}
	return t->n > 0;
}

/* A list, from its first part to its last. */
struct running {
	struct texts now; /* what the parts since the last group match */
	bool before;      /* something that separates stands before it */
	bool flushed;
	struct groups *groups;
	struct texts first; /* what it begins with, once that is known */
};

static void flush_running(struct finder *f, struct running *r, bool after)
{
	if (!r->groups)
		r->groups = new_groups(f);
	if (!r->flushed && !has_nothing(&r->now))
		r->first = r->now;
	if (!is_nothing(&r->now))
		flush_texts(f, r->groups, &r->now, r->before, after);
	r->flushed = true;
}

static void run_over(struct finder *f, struct running *r, const struct rx_node *node,
		     const struct known *k)
{
	if (node->op == RX_BEGIN || node->op == RX_END) {
		flush_running(f, r, node->op == RX_END);
		r->now = no_text(f);
		r->before = node->op == RX_BEGIN;
		return;
	}
	if (k->exact && cross_texts(f, &r->now, &k->texts, &r->now))
		return;
	if (!k->exact && k->first.n)
		(void)cross_texts(f, &r->now, &k->first, &r->now);
	flush_running(f, r, k->separates_first);
	if (k->exact) {
		r->before = !f->tree->any_bytes && texts_separate(f, &r->now, true);
		r->now = k->texts;
		return;
	}
	join_groups(f, r->groups, k->groups);
	r->before = k->separates_last;
	r->now = k->last.n ? k->last : no_text(f);
}

static void know_list(struct finder *f, const struct rx_node *node, struct known *ret)
{
	const uint32_t *kid = f->tree->kid + node->kid;
	struct running r = {.now = no_text(f)};
	for (uint32_t i = 0; i < node->kids; i++)
		run_over(f, &r, &f->tree->node[kid[i]], &f->known[kid[i]]);
	ret->separates_first = f->known[kid[0]].separates_first;
	ret->separates_last = f->known[kid[node->kids - 1]].separates_last;
	ret->exact = !r.flushed;
	ret->texts = r.now;
	if (r.flushed) {
		flush_running(f, &r, false);
		ret->groups = r.groups;
	}
	if (r.flushed && f->tree->any_bytes) {
		ret->first = r.first;
		if (!has_nothing(&r.now))
			ret->last = r.now;
	}
}

static bool join_texts(struct finder *f, const struct rx_node *node, struct known *ret)
{
	const uint32_t *kid = f->tree->kid + node->kid;
	uint32_t n = 0;
	for (uint32_t i = 0; i < node->kids; i++) {
		n += f->known[kid[i]].texts.n;
		if (!f->known[kid[i]].exact || n > texts_most(f))
			return false;
	}
	ret->texts.text = arena_array(f->arena, n, sizeof *ret->texts.text);
	for (uint32_t i = 0; i < node->kids; i++) {
		const struct texts *t = &f->known[kid[i]].texts;
		memcpy(ret->texts.text + ret->texts.n, t->text, t->n * sizeof *t->text);
		ret->texts.n += t->n;
	}
	return true;
}

static const struct rx_group *best_group(const struct finder *f, const struct groups *g)
{
	const struct rx_group *best = NULL;
	for (uint32_t i = 0; g && i < g->n; i++)
		if (!best || worth_of(f, &g->group[i]) > worth_of(f, best))
			best = &g->group[i];
	return best;
}

/* One of the alternatives matches, and so one of all their literals is there. */
static void know_alternatives(struct finder *f, const struct rx_node *node, struct known *ret)
{
	const uint32_t *kid = f->tree->kid + node->kid;
	struct rx_literal list[RX_LITERALS_MOST];
	uint32_t n = 0;
	ret->separates_first = ret->separates_last = true;
	for (uint32_t i = 0; i < node->kids; i++) {
		ret->separates_first &= f->known[kid[i]].separates_first;
		ret->separates_last &= f->known[kid[i]].separates_last;
	}
	ret->exact = join_texts(f, node, ret);
	if (ret->exact)
		return;
	for (uint32_t i = 0; i < node->kids; i++) {
		const struct rx_group *g = best_group(f, groups_of(f, &f->known[kid[i]]));
		if (!g || n + g->n > RX_LITERALS_MOST)
			return;
		for (uint32_t k = 0; k < g->n; k++)
			add_literal(list, &n, g->literal[k]);
	}
	ret->groups = new_groups(f);
	add_group(f, ret->groups, list, n);
}

static void know_repeat(struct finder *f, const struct rx_node *node, struct known *ret)
{
	const struct known *k = &f->known[f->tree->kid[node->kid]];
	if (node->least > 0) {
		ret->separates_first = k->separates_first;
		ret->separates_last = k->separates_last;
	}
	if (k->exact && node->least == 0 && node->most == 1 && k->texts.n < texts_most(f)) {
		ret->exact = true;
		ret->texts.text = arena_array(f->arena, k->texts.n + 1, sizeof *k->texts.text);
		memcpy(ret->texts.text, k->texts.text, k->texts.n * sizeof *k->texts.text);
		ret->texts.text[k->texts.n] = STR("");
		ret->texts.n = k->texts.n + 1;
		return;
	}
	if (k->exact && node->least == node->most && node->most <= ROUNDS_MOST) {
		struct texts all = no_text(f);
		ret->exact = true;
		for (uint32_t i = 0; i < node->most && ret->exact; i++)
			ret->exact = cross_texts(f, &all, &k->texts, &all);
		ret->texts = all;
		if (ret->exact)
			return;
	}
	if (node->least == 0)
		return;
	struct groups *g = new_groups(f);
	join_groups(f, g, groups_of(f, k));
	ret->groups = g;
	if (!f->tree->any_bytes)
		return;
	struct texts none = {0};
	ret->first = !k->exact ? k->first : has_nothing(&k->texts) ? none : k->texts;
	ret->last = !k->exact ? k->last : has_nothing(&k->texts) ? none : k->texts;
}

static void know_node(struct finder *f, uint32_t i)
{
	const struct rx_node *node = &f->tree->node[i];
	struct known *ret = &f->known[i];
	if (is_full(f))
		return;
	switch ((enum rx_op)node->op) {
	case RX_SET:
		know_set(f, &f->tree->set[node->set], ret);
		return;
	case RX_CAT:
		know_list(f, node, ret);
		return;
	case RX_ALT:
		know_alternatives(f, node, ret);
		return;
	case RX_REPEAT:
		know_repeat(f, node, ret);
		return;
	default:
		/* "^" and "$" tell more, where a list has them: run_over() */
		ret->exact = true;
		ret->texts = no_text(f);
		return;
	}
}

static void keep_groups(struct finder *f, struct rx *rx, const struct groups *g)
{
	uint32_t literals = 0;
	bool taken[GROUPS_MOST] = {0};
	rx->group = arena_array(&rx->arena, g->n, sizeof *rx->group);
	for (uint32_t round = 0; round < g->n; round++) {
		const struct rx_group *best = NULL;
		for (uint32_t i = 0; i < g->n; i++)
			if (!taken[i] && (!best || worth_of(f, &g->group[i]) > worth_of(f, best)))
				best = &g->group[i];
		taken[best - g->group] = true;
		if (literals + best->n > RX_LITERALS_MOST)
			continue;
		struct rx_literal *to = arena_array(&rx->arena, best->n, sizeof *to);
		for (uint32_t i = 0; i < best->n; i++) {
			to[i] = best->literal[i];
			to[i].text = arena_str(&rx->arena, best->literal[i].text);
		}
		rx->group[rx->groups++] = (struct rx_group){to, best->n};
		literals += best->n;
	}
}

void rx_literals_make(struct rx *rx, const struct rx_tree *t, const struct rx_chars *chars,
		      bool folded)
{
	struct arena arena = ARENA_INIT(4 * (size_t)SCRATCH_MOST);
	struct finder f = {.tree = t, .chars = chars, .folded = folded, .arena = &arena};
	f.known = mem_array(t->nodes, sizeof *f.known);
	rx->arena = ARENA_INIT(1 << 20);
	for (uint32_t i = 0; i < t->nodes; i++)
		know_node(&f, i);
	const struct groups *g = groups_of(&f, &f.known[t->root]);
	if (g)
		keep_groups(&f, rx, g);
	arena_free(&arena);
	mem_free(&f.known);
}
