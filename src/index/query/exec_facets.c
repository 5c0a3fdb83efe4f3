/* Facets: how many matches have each value of a column, are of each year, of each class of size.
 * All matches are passed over once more, in no order, and their numbers are kept. When there are
 * more than FACETS_SAMPLE, an eighth of them is dropped, by a hash of the number, and from then on
 * as many of those that come: so the sample has between 7/8 of that and all of it, every match has
 * the same chance, and the same question has the same answer. What is counted is then the sample,
 * and counts are told in proportion. */
#include "base/hash.h"
#include "base/rows.h"
#include "base/table.h"
#include "index/query/exec.h"

#include <inttypes.h>
#include <sys/random.h>

enum { FACETS_SAMPLE = 1 << 16 };

struct exec_sample {
	uint64_t *order; /* of documents among all, ascending */
	uint32_t n;
	uint64_t dropped; /* those whose hash is below it are; 0: all are kept */
};

static bool is_sampled(const struct exec_sample *s, uint64_t order)
{
	return s->dropped == 0 || hash_u64(order) >= s->dropped;
}

void exec_sample_see(struct exec_sample *s, uint64_t order)
{
	while (is_sampled(s, order)) {
		if (LIKELY(s->n < FACETS_SAMPLE)) {
			s->order[s->n++] = order;
			return;
		}
		uint32_t n = 0;
		s->dropped += (UINT64_MAX - s->dropped) / 8;
		for (uint32_t i = 0; i < s->n; i++) {
			s->order[n] = s->order[i];
			n += is_sampled(s, s->order[i]);
		}
		s->n = n;
	}
}

/* What is counted */

enum facet_kind { FACET_WORD, FACET_YEAR, FACET_SIZE };

static const struct {
	int64_t below;
	const char *text;
} sizes[] = {
	{INT64_C(1) << 10, "under 1k"},   {INT64_C(10) << 10, "1k-10k"},
	{INT64_C(100) << 10, "10k-100k"}, {INT64_C(1) << 20, "100k-1M"},
	{INT64_C(10) << 20, "1M-10M"},    {INT64_MAX, "over 10M"},
};

struct facet_plan {
	struct str name;
	enum facet_kind kind;
	unsigned column;
};

static int refuse_facet(struct exec *e, struct str name)
{
	struct buf known = BUF_INIT(4096);
	buf_add_text(&known, "year");
	for (uint32_t i = 0; i < e->settings->columns; i++)
		if (e->settings->column[i].type != WORDS_NUMBER ||
		    strcmp(e->settings->column[i].name, "size") == 0)
			buf_printf(&known, ", %s", e->settings->column[i].name);
	int rc = err_set(e->err, ERR_USAGE,
			 "facets: this index cannot count by '" STR_FMT "'; it can by %s",
			 STR_ARG(str_head(name, WORDS_NAME_MOST)), buf_text(&known));
	buf_free(&known);
	return rc;
}

/* A column of words or dates; "year", of the time; "size", of the column of that name. */
static int plan_facet(struct exec *e, struct str name, struct facet_plan *ret)
{
	char room[WORDS_VALUE_MOST];
	name = arena_str(e->told, words_value(name, room));
	int column = words_column(e->settings, name);
	*ret = (struct facet_plan){name, FACET_YEAR, SEGMENT_TIME};
	if (column < 0)
		return str_is(name, "year") ? 0 : refuse_facet(e, name);
	ret->column = SEGMENT_COLUMN + (unsigned)column;
	enum words_type type = e->settings->column[column].type;
	if (type == WORDS_WORD)
		ret->kind = FACET_WORD;
	else if (type == WORDS_NUMBER && str_is(name, "size"))
		ret->kind = FACET_SIZE;
	else if (type == WORDS_NUMBER)
		return refuse_facet(e, name);
	return 0;
}

/* Days from 1970 to the first of a year. */
static int64_t first_day(int64_t year)
{
	const int64_t era = INT64_C(400) * 1000000000; /* whole cycles, so that all is positive */
	int64_t before = year + era - 1, before_1970 = 1969 + era;
	return 365 * (before - before_1970) + (before / 4 - before_1970 / 4) -
	       (before / 100 - before_1970 / 100) + (before / 400 - before_1970 / 400);
}

static int64_t year_of(int64_t time_s)
{
	const int64_t day = 86400, cycle = 146097; /* days of 400 years */
	int64_t days = time_s / day - (time_s % day < 0);
	int64_t year = 1970 + days / cycle * 400 + days % cycle * 400 / cycle;
	while (first_day(year) > days)
		year--;
	while (first_day(year + 1) <= days)
		year++;
	return year;
}

/* What a number of a column is counted as. false: as nothing; a time of 0 is not known. */
static bool class_of(enum facet_kind kind, int64_t number, int64_t *ret)
{
	if (number == SEGMENT_ABSENT || (kind == FACET_YEAR && number == 0))
		return false;
	*ret = kind == FACET_YEAR ? year_of(number) : number;
	if (kind == FACET_SIZE)
		for (*ret = 0; number >= sizes[*ret].below && *ret + 1 < (int64_t)ARRAY_LEN(sizes);)
			++*ret;
	return true;
}

/* Counting */

TABLE(number_counts, uint64_t, uint64_t, hash_u64, table_same_u64)

struct text_key {
	struct str text;
	uint64_t seed; /* nobody outside can choose texts that collide */
};
static inline uint64_t text_hash(struct text_key k)
{
	return hash64_seeded(k.text, k.seed);
}
static inline bool text_equal(struct text_key a, struct text_key b)
{
	return str_eq(a.text, b.text);
}
TABLE(text_counts, struct text_key, uint64_t, text_hash, text_equal)

struct counting {
	struct exec *exec;
	const struct facet_plan *plan;
	struct text_counts counts;
	uint64_t seed;
};

static int text_of(const struct counting *c, struct segment *s, int64_t v, struct str *ret)
{
	const struct facet_plan *p = c->plan;
	if (p->kind == FACET_WORD)
		return segment_value(s, p->column, (uint32_t)MIN(v, (int64_t)UINT32_MAX), ret,
				     c->exec->err);
	*ret = p->kind == FACET_SIZE ? str_of(sizes[v].text)
				     : str_of(arena_printf(c->exec->arena, "%" PRId64, v));
	return 0;
}

/* Of the sample the documents of one segment, first by number, then by text. */
static int count_part(struct counting *c, struct segment *s, const uint64_t *order, uint32_t n,
		      uint64_t base)
{
	struct number_counts numbers = {0};
	struct segment_column column = {0};
	int64_t v;
	int rc = segment_column(s, c->plan->column, &column, c->exec->err);
	for (uint32_t i = 0; rc == 0 && i < n && !exec_late(c->exec); i++) {
		int64_t number = segment_number(&column, (uint32_t)(order[i] - base));
		if (class_of(c->plan->kind, number, &v))
			++*number_counts_put(&numbers, (uint64_t)v);
	}
	TABLE_EACH (number_counts, slot, &numbers) {
		struct str text;
		if (rc == 0 && !exec_late(c->exec) &&
		    (rc = text_of(c, s, (int64_t)slot->key, &text)) == 0)
			*text_counts_put(&c->counts, (struct text_key){text, c->seed}) +=
				slot->value;
	}
	number_counts_free(&numbers);
	return rc;
}

static bool comes_before(struct str a, uint64_t a_count, struct str b, uint64_t b_count)
{
	return a_count != b_count ? a_count > b_count : str_cmp(a, b) < 0;
}

/* The greatest first, equal ones by their texts. */
static void facet_show(struct facet *f, struct str value, uint64_t count)
{
	uint32_t at = f->n;
	while (at > 0 && comes_before(value, count, f->shown[at - 1].value, f->shown[at - 1].count))
		at--;
	f->rest += count;
	if (at == QUERY_FACET_SHOWN)
		return;
	if (f->n == QUERY_FACET_SHOWN)
		f->n--;
	memmove(&f->shown[at + 1], &f->shown[at], (f->n - at) * sizeof f->shown[0]);
	f->shown[at].value = value;
	f->shown[at].count = count;
	f->n++;
}

static uint64_t in_proportion(uint64_t count, const struct hits *hits)
{
	if (hits->facet_sample == 0)
		return count;
	return (count * hits->facet_of + hits->facet_sample / 2) / hits->facet_sample;
}

static void tell_facet(struct counting *c, const struct hits *hits, struct facet *f)
{
	TABLE_EACH (text_counts, slot, &c->counts)
		facet_show(f, slot->key.text, slot->value);
	for (uint32_t i = 0; i < f->n; i++) {
		f->rest -= f->shown[i].count;
		f->shown[i].value = arena_str(c->exec->told, f->shown[i].value);
		f->shown[i].count = in_proportion(f->shown[i].count, hits);
	}
	f->rest = in_proportion(f->rest, hits);
}

static int count_facet(struct exec *e, const struct facet_plan *p, const struct exec_sample *s,
		       const struct hits *hits, struct facet *ret)
{
	struct counting c = {.exec = e, .plan = p};
	uint64_t base = 0;
	int rc = 0;
	ENSURE(getrandom(&c.seed, sizeof c.seed, 0) == sizeof c.seed);
	for (size_t i = 0, at = 0; i < e->parts && rc == 0; i++) {
		uint32_t n = 0;
		while (at + n < s->n && s->order[at + n] - base < e->part[i].docs)
			n++;
		rc = count_part(&c, e->part[i].segment, s->order + at, n, base);
		if (rc == 0)
			rc = segment_check(e->part[i].segment, e->err);
		at += n;
		base += e->part[i].docs;
	}
	*ret = (struct facet){.name = p->name};
	if (rc == 0)
		tell_facet(&c, hits, ret);
	text_counts_free(&c.counts);
	return rc;
}

int exec_facets(struct exec *e, struct hits *ret, uint64_t *ret_matches)
{
	struct facet_plan plan[QUERY_FACETS_MOST];
	struct exec_sample sample = {0};
	uint32_t n = e->query->facets;
	if (n > QUERY_FACETS_MOST)
		return err_set(e->err, ERR_USAGE, "%u facets, at most %d can be asked for", n,
			       QUERY_FACETS_MOST);
	for (uint32_t i = 0; i < n; i++)
		if (plan_facet(e, e->query->facet[i], &plan[i]) < 0)
			return -1;
	sample.order = mem_array(FACETS_SAMPLE, sizeof *sample.order);
	int rc = exec_pass(e, &sample, ret_matches);
	ret->facet = arena_array(e->told, n, sizeof *ret->facet);
	ret->facet_sample = sample.dropped ? sample.n : 0;
	ret->facet_of = *ret_matches;
	for (; rc == 0 && ret->facets < n; ret->facets++) {
		struct facet *f = &ret->facet[ret->facets];
		rc = count_facet(e, &plan[ret->facets], &sample, ret, f);
		f->estimated = sample.dropped;
	}
	mem_free(&sample.order);
	return rc;
}

/* Telling */

static const struct column value_columns[] = {
	COL("value", struct facet_value, value),
	COL("count", struct facet_value, count),
};
static const struct rows value_rows = {ROWS(struct facet_value, value_columns)};
static const struct column facet_columns[] = {
	COL("name", struct facet, name),
	COL_LIST("values", struct facet, shown, n, value_rows),
	COL("rest", struct facet, rest),
	COL("estimated", struct facet, estimated, .how = ROW_SOME),
};
const struct rows facet_rows = {ROWS(struct facet, facet_columns)};
