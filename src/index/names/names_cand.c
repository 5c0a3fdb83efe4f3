/* Which names of a segment can match: a small tree of ascending sets, which are read only as far as
 * they are asked for, since most queries want the first hundred files. Leaves are lists of
 * trigrams, ranges of the dictionary, and bits for the unions of many lists; inner nodes are all of
 * (AND) and any of (OR).
 *
 * What is found this way is looked at anyway, so a list that costs more than it saves is left out:
 * of one literal the rarest few lists are read, and a list that passes nearly everything is dropped
 * while it runs. */
#include "index/names/names_exec.h"

enum {
	LISTS_MOST = 4,  /* of one literal */
	UNION_MOST = 16, /* lists: more of them become bits */
	TRIED = 48,      /* questions before a list may be dropped */
	LEAD = 2048,     /* names that are looked at before bits are made */
	NO_NAME = UINT32_MAX,
	BLOCK = 128,
};

enum cand_kind { CAND_RANGE, CAND_LIST, CAND_BITS, CAND_PREFIX, CAND_AND, CAND_OR };

struct names_cand {
	enum cand_kind kind;
	uint64_t cost; /* names in it, about */
	uint32_t at;   /* the last answer; NO_NAME: no more */
	bool asked;

	uint32_t from, to; /* RANGE */

	struct names_list list; /* LIST */
	uint32_t *block, n, i;

	uint64_t *bits; /* BITS, and PREFIX once they are made */
	size_t words;
	struct names_segment *segment; /* PREFIX */
	uint8_t prefix[2];
	uint8_t prefix_n;
	struct names_clock *clock;
	struct arena *arena;

	struct names_cand **kid;
	uint32_t kids;
	uint32_t tried, passed; /* of a kid of AND */
	bool dropped;
};

struct planner {
	struct names_segment *s;
	struct arena *arena;
	struct names_clock *clock;
	bool all; /* everything will be asked for */
	struct err *err;
};

/* Seeking */

static int seek_list(struct names_cand *c, uint32_t from, struct err *err)
{
	for (;;) {
		if (c->i < c->n && c->block[c->n - 1] >= from) {
			while (c->block[c->i] < from)
				c->i++;
			c->at = c->block[c->i];
			return 0;
		}
		int n = names_list_block(&c->list, from, c->block, err);
		if (n < 0)
			return -1;
		c->n = (uint32_t)n;
		c->i = 0;
		if (n == 0) {
			c->at = NO_NAME;
			return 0;
		}
	}
}

static void seek_bits(struct names_cand *c, uint32_t from)
{
	size_t w = from / 64;
	c->at = NO_NAME;
	if (w >= c->words)
		return;
	uint64_t bits = c->bits[w] & UINT64_MAX << (from % 64);
	while (!bits && ++w < c->words)
		bits = c->bits[w];
	if (bits)
		c->at = (uint32_t)(w * 64 + (size_t)__builtin_ctzll(bits));
}

static int list_to_bits(struct names_cand *c, struct names_list *list, struct err *err)
{
	uint32_t block[BLOCK];
	int n;
	while ((n = names_list_block(list, 0, block, err)) > 0) {
		for (int i = 0; i < n; i++)
			if (block[i] / 64 < c->words)
				c->bits[block[i] / 64] |= UINT64_C(1) << (block[i] % 64);
		if (names_late(c->clock, 2))
			return 0;
	}
	return n;
}

static int make_bits(struct names_cand *c, struct err *err)
{
	struct str prefix = {(const char *)c->prefix, c->prefix_n};
	uint8_t trigram[NAMES_TRIGRAM];
	struct names_list list;
	uint32_t at = 0;
	int rc;
	c->words = names_segment_info(c->segment)->names / 64 + 1;
	c->bits = arena_array(c->arena, c->words, sizeof *c->bits);
	while ((rc = names_list_prefix(c->segment, prefix, &at, trigram, &list, err)) == 0)
		if (list_to_bits(c, &list, err) < 0)
			return -1;
		else if (c->clock->late)
			break;
	return rc < 0 ? -1 : 0;
}

/* The first names are all offered: often enough of them match. */
static int seek_prefix(struct names_cand *c, uint32_t from, struct err *err)
{
	if (from < c->to) {
		c->at = from;
		return 0;
	}
	if (!c->bits && make_bits(c, err) < 0)
		return -1;
	seek_bits(c, from);
	return 0;
}

static int seek_leaf(struct names_cand *c, uint32_t from, struct err *err)
{
	switch (c->kind) {
	case CAND_RANGE:
		c->at = MAX(from, c->from);
		c->at = c->at < c->to ? c->at : NO_NAME;
		return 0;
	case CAND_LIST:
		return seek_list(c, from, err);
	case CAND_BITS:
		seek_bits(c, from);
		return 0;
	default:
		return seek_prefix(c, from, err);
	}
}

static int seek_node(struct names_cand *c, uint32_t from, struct err *err);

/* Trees have four levels at most: a pattern, its groups, their literals, lists. */
static int seek_any(struct names_cand *c, uint32_t from, struct err *err)
{
	c->at = NO_NAME;
	for (uint32_t i = 0; i < c->kids; i++) {
		if (seek_node(c->kid[i], from, err) < 0)
			return -1;
		c->at = MIN(c->at, c->kid[i]->at);
	}
	return 0;
}

static int seek_all(struct names_cand *c, uint32_t from, struct err *err)
{
	struct names_cand *lead = c->kid[0];
	for (;;) {
		if (seek_node(lead, from, err) < 0)
			return -1;
		from = c->at = lead->at;
		if (from == NO_NAME)
			return 0;
		uint32_t i = 1;
		for (; i < c->kids; i++) {
			struct names_cand *k = c->kid[i];
			if (k->dropped)
				continue;
			if (seek_node(k, from, err) < 0)
				return -1;
			k->tried++;
			if (k->at != from)
				break;
			k->passed++;
			k->dropped = k->tried >= TRIED && k->passed > k->tried / 4 * 3;
		}
		if (i == c->kids)
			return 0;
		from = c->kid[i]->at;
		if (from == NO_NAME) {
			c->at = NO_NAME;
			return 0;
		}
	}
}

static int seek_node(struct names_cand *c, uint32_t from, struct err *err)
{
	if (c->asked && (c->at == NO_NAME || c->at >= from))
		return 0;
	c->asked = true;
	return c->kind == CAND_AND  ? seek_all(c, from, err)
	       : c->kind == CAND_OR ? seek_any(c, from, err)
				    : seek_leaf(c, from, err);
}

int names_cand_seek(struct names_cand *c, uint32_t from, uint32_t *ret, struct err *err)
{
	if (seek_node(c, from, err) < 0)
		return -1;
	*ret = c->at;
	return c->at == NO_NAME;
}

/* Planning */

static struct names_cand *new_cand(struct planner *p, enum cand_kind kind, uint64_t cost)
{
	struct names_cand *c = arena_alloc(p->arena, sizeof *c);
	c->kind = kind;
	c->cost = cost;
	return c;
}

static struct names_cand *new_range(struct planner *p, uint32_t from, uint32_t to)
{
	struct names_cand *c = new_cand(p, CAND_RANGE, to - from);
	c->from = from;
	c->to = to;
	return c;
}

static struct names_cand *all_names(struct planner *p)
{
	return new_range(p, 0, names_segment_info(p->s)->names);
}

static struct names_cand *no_names(struct planner *p)
{
	return new_range(p, 0, 0);
}

static struct names_cand *new_list(struct planner *p, const struct names_list *list)
{
	struct names_cand *c = new_cand(p, CAND_LIST, list->n);
	c->list = *list;
	c->block = arena_array(p->arena, BLOCK, sizeof *c->block);
	return c;
}

/* All of, or any of; the cheapest first. */
static struct names_cand *new_node(struct planner *p, enum cand_kind kind, struct names_cand **kid,
				   uint32_t n)
{
	if (n == 1)
		return kid[0];
	struct names_cand *c = new_cand(p, kind, 0);
	c->kid = arena_array(p->arena, n, sizeof(struct names_cand *));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t k = c->kids++;
		for (; k > 0 && c->kid[k - 1]->cost > kid[i]->cost; k--)
			c->kid[k] = c->kid[k - 1];
		c->kid[k] = kid[i];
		c->cost += kid[i]->cost;
	}
	if (kind == CAND_AND)
		c->cost = c->kid[0]->cost;
	return c;
}

/* Names that begin with a text. */
static int range_of(struct planner *p, struct str text, bool whole, struct names_cand **ret)
{
	uint32_t from, to = names_segment_info(p->s)->names;
	char *next = arena_alloc(p->arena, text.n + 1);
	size_t n = text.n;
	int rc = names_segment_find(p->s, text, &from, p->err);
	if (rc < 0)
		return -1;
	if (whole) {
		*ret = rc == 0 ? new_range(p, from, from + 1) : no_names(p);
		return 0;
	}
	memcpy(next, text.p, text.n);
	while (n && (unsigned char)next[n - 1] == 0xff)
		n--;
	if (n) {
		next[n - 1]++;
		if (names_segment_find(p->s, (struct str){next, n}, &to, p->err) < 0)
			return -1;
	}
	*ret = new_range(p, from, MAX(from, to));
	return 0;
}

/* The rarest lists so far, the rarest first. */
struct rarest {
	struct names_list list[LISTS_MOST];
	uint32_t n;
	bool none; /* some trigram is in no name */
};

static int add_trigram(struct planner *p, struct rarest *r, const char *bytes, size_t n)
{
	uint8_t trigram[NAMES_TRIGRAM] = {0};
	struct names_list list;
	memcpy(trigram, bytes, n);
	int rc = names_list_open(p->s, trigram, &list, p->err);
	if (rc != 0) {
		r->none |= rc == 1;
		return rc < 0 ? -1 : 0;
	}
	if (r->n == LISTS_MOST && list.n >= r->list[r->n - 1].n)
		return 0;
	uint32_t k = r->n == LISTS_MOST ? r->n - 1 : r->n++;
	for (; k > 0 && r->list[k - 1].n > list.n; k--)
		r->list[k] = r->list[k - 1];
	r->list[k] = list;
	return 0;
}

static int take_trigrams(struct planner *p, struct rarest *r, struct str text, bool ends)
{
	for (size_t i = 0; i + NAMES_TRIGRAM <= text.n && !r->none; i++)
		if (add_trigram(p, r, text.p + i, NAMES_TRIGRAM) < 0)
			return -1;
	for (size_t n = 1; ends && n < NAMES_TRIGRAM && n <= text.n && !r->none; n++)
		if (add_trigram(p, r, text.p + text.n - n, n) < 0)
			return -1;
	return 0;
}

/* Names with one or two bytes anywhere. Counted, they are worth their bits; otherwise the first
 * names are tried before. NULL: too many of them to help. */
static int prefix_of(struct planner *p, struct str text, bool worth, struct names_cand **ret)
{
	uint8_t trigram[NAMES_TRIGRAM];
	struct names_list list, few[UNION_MOST];
	struct names_cand *kid[UNION_MOST];
	uint32_t at = 0, lists = 0;
	uint64_t names = 0;
	int rc;
	while ((rc = names_list_prefix(p->s, text, &at, trigram, &list, p->err)) == 0) {
		names += list.n;
		if (lists++ < UNION_MOST)
			few[lists - 1] = list;
	}
	if (rc < 0)
		return -1;
	*ret = NULL;
	if (!worth && names > names_segment_info(p->s)->names / 2)
		return 0;
	if (lists == 0) {
		*ret = no_names(p);
	} else if (lists <= UNION_MOST) {
		for (uint32_t i = 0; i < lists; i++)
			kid[i] = new_list(p, &few[i]);
		*ret = new_node(p, CAND_OR, kid, lists);
	} else {
		struct names_cand *c = new_cand(p, CAND_PREFIX, names);
		c->segment = p->s;
		memcpy(c->prefix, text.p, text.n);
		c->prefix_n = (uint8_t)text.n;
		c->to = p->all ? 0 : MIN((uint32_t)LEAD, names_segment_info(p->s)->names);
		c->clock = p->clock;
		c->arena = p->arena;
		*ret = c;
	}
	return 0;
}

/* Names with a folded text. NULL: it does not help. */
static int literal_of(struct planner *p, struct str text, bool begins, bool ends, bool worth,
		      struct names_cand **ret)
{
	struct names_cand *kid[LISTS_MOST + 1];
	struct rarest r = {0};
	uint32_t n = 0;
	*ret = NULL;
	if (text.n == 0)
		return 0;
	if (begins && range_of(p, text, begins && ends, &kid[n++]) < 0)
		return -1;
	if (begins && ends) {
		*ret = kid[0];
		return 0;
	}
	if (!begins && text.n < NAMES_TRIGRAM && !ends)
		return text.n == 2 || worth ? prefix_of(p, text, worth, ret) : 0;
	/* a range has all that its beginning says */
	if (take_trigrams(p, &r, begins ? STR("") : text, false) < 0 ||
	    (ends && take_trigrams(p, &r, str_from(text, text.n - MIN(text.n, 2u)), true) < 0))
		return -1;
	if (r.none) {
		*ret = no_names(p);
		return 0;
	}
	for (uint32_t i = 0; i < r.n; i++)
		kid[n++] = new_list(p, &r.list[i]);
	*ret = n ? new_node(p, CAND_AND, kid, n) : NULL;
	return 0;
}

/* One of the literals of a group. NULL: it does not help. */
static int group_of(struct planner *p, const struct rx_group *g, struct names_cand **ret)
{
	CLEANUP(buf_free) struct buf folded = BUF_INIT(NAMES_NAME_MOST);
	struct names_cand *kid[RX_LITERALS_MOST];
	*ret = NULL;
	for (uint32_t i = 0; i < g->n; i++) {
		const struct rx_literal *l = &g->literal[i];
		names_fold(l->text, &folded);
		struct str text = arena_str(p->arena, buf_str(&folded));
		if (literal_of(p, text, l->begins, l->ends, false, &kid[i]) < 0)
			return -1;
		if (!kid[i])
			return 0;
	}
	*ret = new_node(p, CAND_OR, kid, g->n);
	return 0;
}

static int plan_rx(struct planner *p, const struct rx *rx, struct names_cand **ret)
{
	enum { GROUPS_MOST = 4 };
	struct names_cand *kid[GROUPS_MOST];
	uint32_t groups, n = 0;
	const struct rx_group *g = rx_literals(rx, &groups);
	for (uint32_t i = 0; i < groups && n < GROUPS_MOST; i++) {
		if (group_of(p, &g[i], &kid[n]) < 0)
			return -1;
		n += kid[n] != NULL;
	}
	*ret = n ? new_node(p, CAND_AND, kid, n) : all_names(p);
	return 0;
}

int names_cand_new(struct names_cand **ret, struct names_segment *s, const struct names_match *m,
		   bool all, struct arena *scratch, struct names_clock *clock, bool *ret_sure,
		   struct err *err)
{
	struct planner p = {.s = s, .arena = scratch, .clock = clock, .all = all, .err = err};
	int rc = 0;
	*ret = NULL;
	*ret_sure = false;
	if (m->how == NAMES_HOW_NOTHING)
		*ret = no_names(&p);
	else if (m->how == NAMES_HOW_EXACT)
		rc = range_of(&p, m->part, true, ret);
	else if (m->path)
		*ret = all_names(&p);
	else if (m->how == NAMES_HOW_RX)
		rc = plan_rx(&p, m->rx, ret);
	else
		rc = literal_of(&p, m->part, false, false, true, ret);
	if (rc == 0 && !*ret)
		*ret = all_names(&p);
	/* zeroes are also those of an end, and of a pair that is there twice */
	*ret_sure = rc == 0 && m->how == NAMES_HOW_SUB && !m->path &&
		    (m->part.n == 0 ||
		     (m->part.n == NAMES_TRIGRAM && !memchr(m->part.p, 0, NAMES_TRIGRAM)));
	return rc;
}
