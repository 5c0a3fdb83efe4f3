/* The order of the best. The first pass keeps the best by BM25 and static rank, which it can find
 * without looking at most documents. The first RANK_WINDOW of them are then put in order by all
 * parts of the table in rank.c, in two steps:
 *
 *   - words in the title, in the URL, in anchors: their lists are asked for each document;
 *   - nearness, which needs positions and so costs more: for the RANK_NEAR_WINDOW best of the
 *     first step.
 *
 * Both numbers are fixed and every part only adds, so a document has the same place whatever limit
 * and offset are: no hit is on two result pages, and none is lost between them. What lies after the
 * window follows by BM25. Where fewer hits are asked for than RANK_NEAR_WINDOW, documents that
 * nearness could not lift among them are not looked at, which changes nothing that is shown.
 *
 * A word that means several terms, at most EXEC_WORDS_TOLD, is where any of them is; one that means
 * more is not looked for.
 *
 * A site that has more than its share of the first RANK_SITES_WINDOW hits is moved to their end. */
#include "index/query/exec.h"

/* A word of the query that counts wherever it stands. */
struct query_part {
	uint32_t term;
	const struct exec_leaf *leaf;
};

/* The list of a term of such a word in an attribute that counts, in a segment. */
struct word_list {
	uint32_t segment, attribute, word; /* by number */
	unsigned attr;                     /* in the segment */
	struct segment_term info;
};

struct rerank {
	struct query_part word[RANK_QUERY_WORDS];
	uint32_t words;
	float idf;   /* of all of them */
	float pairs; /* what pairs of them weigh, of which nearness is looked at */
	struct word_list *list;
	size_t lists, lists_room;
	exec_key *key;
	uint64_t *added;         /* by key */
	struct exec_ranked *doc; /* the same, in the order of the index */
	uint32_t docs;
	uint64_t sorted[RANK_WINDOW];
	size_t shown; /* how many come first in the end: the others need no order */
};

static uint64_t score_of(const struct exec_ranked *d)
{
	uint64_t score = d->base;
	for (int i = RANK_NEAR; i < RANK_PARTS; i++)
		score += d->part[i];
	return score;
}

/* The terms that a word of the query means. Returns how many; 0: too many to look for. */
static uint32_t terms_of(const struct exec_term *t, const struct str **ret)
{
	*ret = t->want ? t->told : &t->term;
	return !t->want ? 1 : t->untold ? 0 : t->tolds;
}

/* The same word counts once, as the first of them. */
static void add_word(struct exec *e, struct rerank *r, const struct exec_leaf *leaf, uint32_t term)
{
	const struct str *terms;
	for (uint32_t i = 0; i < r->words; i++)
		if (r->word[i].term == term)
			return;
	if (r->words < RANK_QUERY_WORDS && e->term[term].df && terms_of(&e->term[term], &terms)) {
		r->word[r->words++] = (struct query_part){term, leaf};
		r->idf += e->term[term].weight;
	}
}

/* Whether its words add to the score and may stand anywhere. An expression has none. */
static bool leaf_counts(const struct exec_leaf *leaf)
{
	return leaf && leaf->node->words && (leaf->main || leaf->node->attribute.n == 0) &&
	       !leaf->node->filter;
}

static bool has_kids(const struct exec_node *node)
{
	return !node->leaf && (node->op == QUERY_AND || node->op == QUERY_OR);
}

/* Words of the query in its order. The depth is bounded by what query_parse() takes. */
static void add_words(struct exec *e, struct rerank *r, const struct exec_node *node)
{
	const struct exec_leaf *leaf = node->leaf;
	if (leaf_counts(leaf))
		for (uint32_t i = 0; i < leaf->node->words; i++)
			add_word(e, r, leaf, leaf->check ? leaf->combined[i] : leaf->term[0]);
	if (has_kids(node))
		for (uint32_t i = 0; i < node->kids; i++)
			add_words(e, r, node->kid[i]);
}

/* Words in attributes */

static const struct {
	enum rank_part part;
	const char *name;
} attributes[] = {
	{RANK_TITLE, "title"},
	{RANK_URL, "url"},
	{RANK_URL, "url-text"},
	{RANK_ANCHORS, "anchors"},
};

/* Documents of one segment whose words are looked for in one attribute. */
struct looking {
	struct exec_ranked *doc;
	uint32_t docs;
	uint32_t has[RANK_WINDOW]; /* a bit for each word */
	bool any;
};

static int open_info(struct exec *e, const struct segment_term *info, struct exec_list **ret)
{
	struct exec_list *list = arena_alloc(e->arena, sizeof *list);
	if (postings_open(e->segment, info, &list->p, e->err) < 0)
		return -1;
	list->docs_block = list->tfs_block = list->scores_block = NO_DOC;
	*ret = list;
	return 0;
}

/* The list of a term, to be closed. 1: there is none, and nothing to close. */
static int open_list(struct exec *e, unsigned attr, struct str term, struct exec_list **ret)
{
	struct segment_term info;
	int rc = segment_term(e->segment, attr, term, &info, e->err);
	return rc == 0 ? open_info(e, &info, ret) : rc;
}

static int look_for(struct exec *e, struct looking *l, const struct segment_term *info,
		    uint32_t bit)
{
	struct exec_list *list;
	if (open_info(e, info, &list) < 0)
		return -1;
	for (uint32_t i = 0; i < l->docs; i++) {
		uint32_t found = exec_list_seek(e, list, l->doc[i].doc);
		if (found == NO_DOC)
			break;
		if (found != l->doc[i].doc)
			continue;
		l->has[i] |= bit;
		l->any = true;
	}
	postings_close(&list->p);
	return e->failed ? -1 : 0;
}

/* The words of the title, if it is one value. */
static int title_length(struct exec *e, uint32_t doc, uint32_t attr, uint32_t *ret)
{
	struct segment_ranges it;
	struct segment_range range;
	int rc = segment_ranges(e->segment, doc, &it, e->err);
	*ret = 0;
	while (rc == 0 && (rc = segment_ranges_next(&it, &range, e->err)) == 0)
		*ret += range.attr == attr ? range.n : 0;
	return rc < 0 ? -1 : 0;
}

static int add_attribute(struct exec *e, const struct rerank *r, struct looking *l, unsigned attr,
			 enum rank_part part)
{
	for (uint32_t i = 0; l->any && i < l->docs; i++) {
		struct exec_ranked *d = &l->doc[i];
		uint32_t length = 0;
		float found = 0;
		for (uint32_t w = 0; w < r->words; w++)
			if (l->has[i] >> w & 1)
				found += e->term[r->word[w].term].weight;
		if (!l->has[i])
			continue;
		if (part == RANK_TITLE && title_length(e, d->doc, attr, &length) < 0)
			return -1;
		uint32_t words = (uint32_t)__builtin_popcount(l->has[i]);
		float share = part == RANK_TITLE ? rank_title(found, r->idf, words, length)
						 : found / r->idf;
		d->part[part] = MAX(d->part[part], rank_add(part, share, r->idf));
	}
	return 0;
}

/* Lists of one attribute in one segment. */
static int look_in(struct exec *e, const struct rerank *r, struct exec_ranked *doc, uint32_t docs,
		   const struct word_list *list, size_t lists)
{
	struct looking l = {.doc = doc, .docs = docs};
	for (size_t i = 0; i < lists; i++)
		if (look_for(e, &l, &list[i].info, 1U << list[i].word) < 0)
			return -1;
	return add_attribute(e, r, &l, list->attr, attributes[list->attribute].part);
}

static int add_attributes(struct exec *e, const struct rerank *r, struct exec_ranked *doc,
			  uint32_t docs)
{
	for (size_t i = 0, to; i < r->lists; i = to) {
		const struct word_list *list = &r->list[i];
		for (to = i + 1; to < r->lists && r->list[to].segment == list->segment &&
				 r->list[to].attribute == list->attribute;)
			to++;
		if (list->segment == e->number && look_in(e, r, doc, docs, list, to - i) < 0)
			return -1;
	}
	return 0;
}

static int find_word_lists(struct exec *e, struct rerank *r, struct word_list list)
{
	struct segment *s = e->part[list.segment].segment;
	for (list.word = 0; list.word < r->words; list.word++) {
		const struct str *term;
		uint32_t n = terms_of(&e->term[r->word[list.word].term], &term);
		for (uint32_t i = 0; i < n; i++) {
			int rc = segment_term(s, list.attr, term[i], &list.info, e->err);
			if (rc < 0)
				return -1;
			if (rc == 0)
				*ARENA_PUSH(e->arena, r->list, r->lists, r->lists_room) = list;
		}
	}
	return 0;
}

/* All lists in which words of the query are to be looked for. Mostly there are none: most words are
 * in no title. */
static int find_lists(struct exec *e, struct rerank *r)
{
	for (size_t p = 0; p < e->parts; p++)
		for (size_t i = 0; i < ARRAY_LEN(attributes); i++) {
			int attr = segment_attr(e->part[p].segment, str_of(attributes[i].name));
			struct word_list list = {.segment = (uint32_t)p,
						 .attribute = (uint32_t)i,
						 .attr = (unsigned)attr};
			if (attr > 0 && find_word_lists(e, r, list) < 0)
				return -1;
		}
	return 0;
}

/* Nearness */

/* Where a word of the query stands: lists of its terms, those that the segment has. */
struct places {
	struct exec_list *list[EXEC_WORDS_TOLD];
	const uint32_t *position[EXEC_WORDS_TOLD];
	uint32_t n[EXEC_WORDS_TOLD]; /* positions */
	uint32_t lists;
	uint32_t sought; /* the document that was looked for last, */
	uint32_t has;    /* which lists have it, */
	bool read;       /* and whether positions are its */
};

static int open_places(struct exec *e, const struct exec_term *t, struct places *p)
{
	p->sought = NO_DOC;
	const struct str *term;
	uint32_t n = terms_of(t, &term);
	if (!t->want) { /* it was looked up already */
		const struct segment_term *info = &t->info[e->number];
		if (info->df && open_info(e, info, &p->list[0]) < 0)
			return -1;
		p->lists = info->df > 0;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		int rc = open_list(e, SEGMENT_COMBINED, term[i], &p->list[p->lists]);
		if (rc < 0)
			return -1;
		p->lists += rc == 0;
	}
	return 0;
}

static void close_places(struct places *p)
{
	for (uint32_t i = 0; i < p->lists; i++)
		postings_close(&p->list[i]->p);
}

/* Whether the word is in the document. Where a neighbour of it in the query is not, its positions
 * are not read. */
static bool find_places(struct exec *e, struct places *p, uint32_t doc)
{
	if (p->sought == doc)
		return p->has;
	p->sought = doc;
	p->has = 0;
	p->read = false;
	for (uint32_t i = 0; i < p->lists; i++)
		if (exec_list_seek(e, p->list[i], doc) == doc)
			p->has |= 1U << i;
	return p->has;
}

static void read_places(struct exec *e, struct places *p)
{
	if (p->read)
		return;
	p->read = true;
	for (uint32_t i = 0; i < p->lists && !e->failed; i++) {
		struct exec_list *l = p->list[i];
		uint32_t block = l->where / SEGMENT_BLOCK, at = l->where % SEGMENT_BLOCK;
		p->n[i] = 0;
		if (p->has >> i & 1 &&
		    postings_positions(&l->p, block, at, &p->position[i], &p->n[i], e->err) < 0)
			exec_fail(e);
	}
}

static float places_near(const struct places *a, const struct places *b)
{
	float near = 0;
	for (uint32_t i = 0; i < a->lists; i++)
		for (uint32_t k = 0; k < b->lists; k++)
			near = MAX(near,
				   rank_near(a->position[i], a->n[i], b->position[k], b->n[k]));
	return near;
}

/* Pairs of words that follow each other in the query, as the rarer of the two weighs. Words of a
 * phrase stand as they must already. */
static void pair_weights(const struct exec *e, const struct rerank *r, float *ret, float *ret_sum)
{
	*ret_sum = 0;
	for (uint32_t w = 0; w + 1 < r->words; w++) {
		float a = e->term[r->word[w].term].weight, b = e->term[r->word[w + 1].term].weight;
		ret[w] = r->word[w].leaf == r->word[w + 1].leaf ? 0 : MIN(a, b);
		*ret_sum += ret[w];
	}
}

static float doc_nearness(struct exec *e, const struct rerank *r, struct places *place,
			  const float *weight, uint32_t doc)
{
	float near = 0;
	for (uint32_t w = 0; w + 1 < r->words; w++) {
		if (!(weight[w] > 0) || !find_places(e, &place[w], doc) ||
		    !find_places(e, &place[w + 1], doc))
			continue;
		read_places(e, &place[w]);
		read_places(e, &place[w + 1]);
		if (!e->failed)
			near += weight[w] * places_near(&place[w], &place[w + 1]);
	}
	return near;
}

static int add_nearness(struct exec *e, const struct rerank *r, struct exec_ranked *doc,
			uint32_t docs)
{
	struct places *place = arena_array(e->arena, r->words, sizeof *place);
	float weight[RANK_QUERY_WORDS], sum;
	int rc = 0;
	pair_weights(e, r, weight, &sum);
	for (uint32_t w = 0; w < r->words && rc == 0; w++)
		rc = open_places(e, &e->term[r->word[w].term], &place[w]);
	for (uint32_t i = 0; i < docs && rc == 0 && !e->failed && !exec_late(e); i++)
		if (doc[i].near) {
			float near = doc_nearness(e, r, place, weight, doc[i].doc);
			doc[i].part[RANK_NEAR] = rank_add(RANK_NEAR, near / sum, r->idf);
		}
	for (uint32_t w = 0; w < r->words; w++)
		close_places(&place[w]);
	return rc < 0 || e->failed ? -1 : 0;
}

/* Steps */

/* The greatest first, by insertion: in steps, as far as they are in no order yet. */
static void sort_steps(uint64_t *v, uint32_t n, const uint32_t *step)
{
	for (; *step; step++)
		for (uint32_t i = *step; i < n; i++) {
			uint64_t one = v[i];
			uint32_t j = i;
			for (; j >= *step && v[j - *step] < one; j -= *step)
				v[j] = v[j - *step];
			v[j] = one;
		}
}

/* The greatest first; at most RANK_WINDOW of them. They are dealt out by their size first, so that
 * most are nearly where they belong. */
static void sort_few(uint64_t *v, uint32_t n)
{
	enum { PILES = 64, CROWD = 24 };
	static const uint32_t steps[] = {57, 23, 10, 4, 1, 0};
	uint64_t least = UINT64_MAX, most = 0, from[RANK_WINDOW];
	uint32_t start[PILES + 1] = {0}, crowd = 0;
	for (uint32_t i = 0; i < n; i++) {
		least = MIN(least, v[i]);
		most = MAX(most, v[i]);
		from[i] = v[i];
	}
	int bits = n ? 64 - __builtin_clzll((most - least) | 1) : 0, shift = MAX(bits - 6, 0);
	for (uint32_t i = 0; i < n; i++)
		start[((most - from[i]) >> shift) + 1]++;
	for (uint32_t i = 1; i <= PILES; i++) {
		crowd = MAX(crowd, start[i]);
		start[i] += start[i - 1];
	}
	for (uint32_t i = 0; i < n; i++)
		v[start[(most - from[i]) >> shift]++] = from[i];
	sort_steps(v, n, steps + (crowd > CROWD ? 2 : 4));
}

/* The documents in their order in the index, which is cheaper to go through. */
static void take_docs(const struct exec *e, struct rerank *r)
{
	uint64_t sorted[RANK_WINDOW];
	for (uint32_t i = 0; i < r->docs; i++)
		sorted[i] = (uint64_t)r->key[i] << 8 | i;
	sort_few(sorted, r->docs);
	for (uint32_t i = 0; i < r->docs; i++) {
		exec_key key = r->key[sorted[i] & 255];
		struct exec_ranked *d = &r->doc[i];
		*d = (struct exec_ranked){.base = (uint64_t)(key >> 64), .order = ~(uint64_t)key};
		d->segment = (uint32_t)exec_segment_at(e, d->order, &d->doc);
	}
}

/* By what they have so far: score and, for those of equal score, place in the index. */
static void sort_docs(struct rerank *r)
{
	for (uint32_t i = 0; i < r->docs; i++)
		r->sorted[i] = score_of(&r->doc[i]) << 8 | (255 - i);
	sort_few(r->sorted, r->docs);
}

typedef int add_fn(struct exec *e, const struct rerank *r, struct exec_ranked *doc, uint32_t docs);

static int each_segment(struct exec *e, const struct rerank *r, add_fn *add)
{
	for (uint32_t from = 0, to; from < r->docs; from = to) {
		struct arena_mark mark = arena_mark(e->arena);
		to = from;
		while (to < r->docs && r->doc[to].segment == r->doc[from].segment)
			to++;
		e->number = r->doc[from].segment;
		e->segment = e->part[e->number].segment;
		int rc = add(e, r, r->doc + from, to - from);
		exec_close_segment(e, mark);
		if (rc < 0)
			return -1;
	}
	return 0;
}

/* Marks those that nearness may lift among the hits that are shown. */
static void choose_near(struct rerank *r)
{
	uint32_t n = MIN(r->docs, (uint32_t)RANK_NEAR_WINDOW);
	if (n == r->docs && n <= r->shown) {
		for (uint32_t i = 0; i < n; i++)
			r->doc[i].near = true;
		return;
	}
	sort_docs(r);
	if (r->shown < n) {
		uint64_t most = rank_add(RANK_NEAR, 1, r->idf);
		uint64_t least = r->sorted[r->shown - 1] >> 8;
		while (n > r->shown && (r->sorted[n - 1] >> 8) + most < least)
			n--;
	}
	for (uint32_t i = 0; i < n; i++)
		r->doc[255 - (r->sorted[i] & 255)].near = true;
}

static int rank_words(struct exec *e, struct rerank *r)
{
	take_docs(e, r);
	if (r->lists && each_segment(e, r, add_attributes) < 0)
		return -1;
	if (r->pairs > 0 && !e->cut) {
		choose_near(r);
		if (each_segment(e, r, add_nearness) < 0)
			return -1;
	}
	sort_docs(r);
	for (uint32_t i = 0; i < r->docs; i++) {
		const struct exec_ranked *d = &r->doc[255 - (r->sorted[i] & 255)];
		r->key[i] = exec_key_of(r->sorted[i] >> 8, d->order);
		r->added[i] = (r->sorted[i] >> 8) - d->base;
	}
	return 0;
}

/* Sites */

/* The host of a key that is a URL; empty: it has none. */
static struct str site_of(struct str key)
{
	size_t at = str_find(key, STR("://"));
	if (at == key.n)
		return STR("");
	struct str host = str_from(key, at + 3);
	host = str_head(host, str_find_byte(host, '/'));
	return str_head(host, str_find_byte(host, '?'));
}

/* Which of the hits are beyond what a site may have before others; the others keep their order, and
 * so do these after them. */
static int move_sites(struct exec *e, exec_key *key, uint64_t *added, size_t n)
{
	struct str site[RANK_SITES_WINDOW];
	exec_key late[RANK_SITES_WINDOW];
	uint64_t late_added[RANK_SITES_WINDOW];
	size_t lates = 0, kept = 0;
	struct arena_mark mark = arena_mark(e->arena);
	for (size_t i = 0; i < n; i++) {
		uint32_t doc, same = 0;
		size_t segment = exec_segment_at(e, ~(uint64_t)key[i], &doc);
		struct str text;
		if (segment_key(e->part[segment].segment, doc, e->arena, &text, e->err) < 0)
			return -1;
		site[i] = site_of(text);
		for (size_t k = 0; k < i && site[i].n; k++)
			same += str_eq_nocase(site[k], site[i]);
		if (same >= e->query->per_site) {
			late_added[lates] = added[i];
			late[lates++] = key[i];
		} else {
			added[kept] = added[i];
			key[kept++] = key[i];
		}
	}
	memcpy(key + kept, late, lates * sizeof *late);
	memcpy(added + kept, late_added, lates * sizeof *late_added);
	arena_reset(e->arena, mark);
	return 0;
}

/* All of it */

/* The first comes first, unless they are put in order later. */
static void take_keys(struct exec *e, exec_key *key, bool later)
{
	size_t n = exec_best_count(&e->best);
	if (later && n > 0)
		memcpy(key, e->best.e, n * sizeof *key);
	for (size_t i = later ? 0 : n; i > 0; i--)
		(void)exec_best_pop(&e->best, &key[i - 1]);
}

int exec_rerank_plan(struct exec *e)
{
	float weight[RANK_QUERY_WORDS];
	if (e->query->order != QUERY_BY_RANK || e->keep == 0)
		return 0;
	struct rerank *r = arena_alloc(e->arena, sizeof *r);
	add_words(e, r, e->root);
	pair_weights(e, r, weight, &r->pairs);
	if (r->words && find_lists(e, r) < 0)
		return -1;
	if (e->query->per_site)
		e->keep = MAX(e->keep, (size_t)RANK_SITES_WINDOW);
	if (r->lists == 0 && !(r->pairs > 0))
		return 0;
	e->keep = MAX(e->keep, (size_t)RANK_WINDOW);
	e->rerank = r;
	return 0;
}

int exec_rerank(struct exec *e, exec_key **ret, uint64_t **ret_added, size_t *ret_n)
{
	size_t n = exec_best_count(&e->best);
	struct rerank *r = n ? e->rerank : NULL;
	bool sites = e->query->order == QUERY_BY_RANK && e->query->per_site;
	exec_key *key = *ret = arena_array(e->arena, MAX(n, 1), sizeof *key);
	uint64_t *added = *ret_added = arena_array(e->arena, MAX(n, 1), sizeof *added);
	*ret_n = n;
	take_keys(e, key, r && n <= RANK_WINDOW);
	if (r) {
		r->key = key;
		r->added = added;
		r->docs = (uint32_t)MIN(n, (size_t)RANK_WINDOW);
		r->doc = arena_array(e->arena, r->docs, sizeof *r->doc);
		r->shown = (size_t)e->query->offset + e->query->limit;
		r->shown = sites ? MAX(r->shown, (size_t)RANK_SITES_WINDOW) : r->shown;
		if (rank_words(e, r) < 0)
			return -1;
		e->ranked = r->doc;
		e->rankeds = r->docs;
	}
	return sites ? move_sites(e, key, added, MIN(n, (size_t)RANK_SITES_WINDOW)) : 0;
}

static const struct exec_ranked *ranked_of(const struct exec *e, const struct hit *hit)
{
	for (uint32_t i = 0; i < e->rankeds; i++)
		if (e->ranked[i].segment == hit->segment && e->ranked[i].doc == hit->doc)
			return &e->ranked[i];
	return NULL;
}

void exec_rerank_explain(const struct exec *e, const struct hit *hit, struct buf *out)
{
	const struct exec_ranked *d = ranked_of(e, hit);
	for (int p = RANK_NEAR; d && p < RANK_PARTS; p++)
		if (d->part[p])
			buf_printf(out, "    %s: %.4f\n", rank_parts[p].name,
				   (double)d->part[p] / RANK_ONE);
}
