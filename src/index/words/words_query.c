/* Answers: plans a query, runs it over the segments of a snapshot one after the other, and tells
 * what was found. The best found so far are kept in a heap across segments, so that what one
 * segment has found lets blocks of the next be passed over. Also says why, for people. */
#include "base/clock.h"
#include "index/query/exec.h"

enum {
	TICKS = 64,            /* between two looks at the clock */
	BOUNDS_MOST = 4 << 20, /* blocks whose bounds are kept, in a segment */
};

int exec_fail(struct exec *e)
{
	e->failed = true;
	return -1;
}

static bool is_cancelled(struct exec *e)
{
	const atomic_bool *cancel = e->query->cancel;
	if (cancel && atomic_load_explicit(cancel, memory_order_relaxed))
		e->cut = true;
	return e->cut;
}

bool exec_late_now(void *ctx)
{
	struct exec *e = ctx;
	if (!is_cancelled(e) && e->deadline_us)
		e->cut = clock_mono_us() >= e->deadline_us;
	return e->cut;
}

bool exec_late_by(struct exec *e, size_t work)
{
	if (!e->watched || e->cut)
		return e->cut;
	e->ticks += work;
	if (e->ticks < TICKS)
		return false;
	e->ticks = 0;
	return exec_late_now(e);
}

bool exec_late(struct exec *e)
{
	return exec_late_by(e, 1);
}

/* Absent numbers are below all others. */
static uint64_t number_order(int64_t v)
{
	return (uint64_t)v ^ UINT64_C(1) << 63;
}

static uint64_t value_of(const struct exec *e, uint32_t doc, uint32_t score)
{
	if (e->query->order == QUERY_BY_TIME)
		return number_order(segment_number(&e->time, doc));
	if (e->query->order == QUERY_ANYHOW || e->rank_most == 0)
		return score;
	int64_t rank = segment_number(&e->rank, doc);
	return score + (rank > 0 ? (uint64_t)MIN(rank, UINT16_MAX) * RANK_STATIC_UNITS : 0);
}

bool exec_may_enter(const struct exec *e, uint32_t doc, uint32_t score)
{
	return exec_best_count(&e->best) < e->keep ||
	       exec_key_of(value_of(e, doc, score), e->base + doc) > e->best.e[0];
}

void exec_found(struct exec *e, uint32_t doc, uint32_t score)
{
	e->seen++;
	if (UNLIKELY(e->sample != NULL))
		exec_sample_see(e->sample, e->base + doc);
	if (e->keep == 0)
		return;
	exec_key key = exec_key_of(value_of(e, doc, score), e->base + doc);
	if (exec_best_count(&e->best) < e->keep) {
		exec_best_push(&e->best, key);
		if (exec_best_count(&e->best) < e->keep)
			return;
	} else if (key > e->best.e[0]) {
		e->best.e[0] = key;
		exec_best_fix(&e->best, 0);
	} else {
		return;
	}
	if (e->query->order == QUERY_BY_RANK)
		e->need = (uint32_t)(e->best.e[0] >> 64) + !e->anyhow;
}

static int open_segment(struct exec *e, size_t number)
{
	const struct words_part *part = &e->part[number];
	e->number = number;
	e->segment = part->segment;
	e->docs = part->docs;
	e->deleted = part->deleted;
	e->rank_most = 0;
	e->bounds_left = BOUNDS_MOST;
	e->scoring = e->query->order == QUERY_BY_RANK;
	if (e->query->order == QUERY_BY_TIME)
		return segment_column(e->segment, SEGMENT_TIME, &e->time, e->err);
	if (e->query->order == QUERY_ANYHOW)
		return 0;
	e->rank_most = segment_info(e->segment)->rank_most * (uint32_t)RANK_STATIC_UNITS;
	if (e->rank_most && segment_column(e->segment, SEGMENT_RANK, &e->rank, e->err) < 0)
		return -1;
	return segment_lengths(e->segment, &e->lengths, e->err);
}

/* The quickest way that fits. Only by rank is anything passed over, once there are enough. */
static void run_segment(struct exec *e)
{
	if (e->query->order == QUERY_BY_RANK && e->keep &&
	    (exec_one_run(e, e->root) || exec_and_run(e, e->root) || exec_or_run(e, e->root)))
		e->stopped |= exec_best_count(&e->best) == e->keep;
	else
		exec_tree_run(e, e->root);
}

void exec_close_segment(struct exec *e, struct arena_mark mark)
{
	exec_lists_close(e);
	exec_checks_close(e);
	for (uint32_t i = 0; i < e->terms; i++)
		if (e->term[i].made) {
			struct exec_union *u = &e->term[i].made[e->number];
			u->scores = u->bounds = NULL;
		}
	e->opened = NULL;
	e->lists_room = 0;
	arena_reset(e->arena, mark);
}

int exec_segments(struct exec *e)
{
	for (size_t i = 0; i < e->parts && !is_cancelled(e); i++) {
		struct arena_mark mark = arena_mark(e->arena);
		if (open_segment(e, i) < 0)
			return -1;
		run_segment(e);
		e->need += e->anyhow && e->need;
		e->anyhow = false;
		exec_close_segment(e, mark);
		if (e->failed || segment_check(e->segment, e->err) < 0)
			return -1;
		e->base += e->docs;
	}
	return 0;
}

/* A word alone has been counted when the index was built; deleted documents were counted too. */
static bool word_total(const struct exec *e, uint64_t *ret)
{
	const struct exec_leaf *leaf = e->root->leaf;
	uint64_t deleted = 0;
	for (size_t i = 0; i < e->parts; i++)
		deleted += e->part[i].deleted_docs;
	if (!leaf || leaf->check || leaf->terms != 1 || deleted || e->partial)
		return false;
	const struct exec_term *term = &e->term[leaf->term[0]];
	*ret = term->df;
	return !(term->want && e->cut);
}

int exec_pass(struct exec *e, struct exec_sample *sample, uint64_t *ret_matches)
{
	struct query query = *e->query;
	struct exec count = *e;
	query.order = QUERY_ANYHOW;
	query.exact_total = true;
	count.query = &query;
	count.best = (struct exec_best){0};
	count.base = count.seen = count.keep = count.need = 0;
	count.stopped = count.counted = false;
	count.sample = sample;
	int rc = exec_segments(&count);
	e->cut = count.cut;
	e->partial |= count.partial;
	*ret_matches = count.seen;
	return rc;
}

static int find_total(struct exec *e, struct hits *ret)
{
	uint64_t n = 0;
	if (e->query->facets) {
		if (exec_facets(e, ret, &n) < 0)
			return -1;
		ret->total = MAX(e->seen, n);
		ret->total_exact = !e->cut && !e->partial;
		return 0;
	}
	ret->total = e->seen;
	ret->total_exact = !e->cut && !e->partial && !e->stopped;
	if (ret->total_exact)
		return 0;
	if (word_total(e, &ret->total)) {
		ret->total_exact = true;
		return 0;
	}
	if (!e->query->exact_total || e->cut)
		return 0;
	/* What was passed over is counted in a pass of its own. */
	if (exec_pass(e, NULL, &n) < 0)
		return -1;
	ret->total = MAX(ret->total, n);
	ret->total_exact = !e->cut && !e->partial;
	return 0;
}

size_t exec_segment_at(const struct exec *e, uint64_t order, uint32_t *ret_doc)
{
	size_t i = 0;
	while (order >= e->part[i].docs)
		order -= e->part[i++].docs;
	*ret_doc = (uint32_t)order;
	return i;
}

/* Columns of a segment that hits are told from, opened with the first hit in it. */
struct told {
	struct segment_column time, oid;
	bool open;
};

static int told_open(struct segment *s, struct told *t, struct err *err)
{
	if (!t->open && (segment_column(s, SEGMENT_TIME, &t->time, err) < 0 ||
			 segment_column(s, SEGMENT_OID, &t->oid, err) < 0))
		return -1;
	t->open = true;
	return 0;
}

static int tell_hit(struct exec *e, struct told *told, exec_key key, uint64_t added,
		    struct hit *ret)
{
	uint32_t doc;
	size_t i = exec_segment_at(e, ~(uint64_t)key, &doc);
	struct segment *s = e->part[i].segment;
	if (told_open(s, &told[i], e->err) < 0 ||
	    segment_key(s, doc, e->told, &ret->key, e->err) < 0)
		return -1;
	ret->segment = (uint32_t)i;
	ret->doc = doc;
	ret->time_s = segment_number(&told[i].time, doc);
	int64_t oid = segment_number(&told[i].oid, doc);
	ret->oid = oid == SEGMENT_ABSENT ? 0 : (uint64_t)oid;
	if (e->query->order == QUERY_BY_RANK) {
		uint64_t score = (uint64_t)(key >> 64);
		ret->score = (float)score / RANK_ONE;
		ret->found = (float)(score - added) / RANK_ONE;
	}
	return 0;
}

static int tell_hits(struct exec *e, struct hits *ret)
{
	exec_key *key;
	uint64_t *added;
	size_t found;
	struct told *told = arena_array(e->arena, MAX(e->parts, 1), sizeof *told);
	if (exec_rerank(e, &key, &added, &found) < 0)
		return -1;
	size_t offset = MIN(e->query->offset, found);
	ret->n = MIN(found - offset, e->query->limit);
	ret->hit = arena_array(e->told, MAX(ret->n, 1), sizeof *ret->hit);
	for (size_t i = 0; i < ret->n; i++)
		if (tell_hit(e, told, key[offset + i], added[offset + i], &ret->hit[i]) < 0)
			return -1;
	for (size_t i = 0; i < e->parts; i++)
		if (segment_check(e->part[i].segment, e->err) < 0)
			return -1;
	return 0;
}

/* Why: the query as it was understood, the lists it needed, what was looked at, and where the score
 * of each hit comes from. Lines of text, for people. */

enum { EXPLAIN_MOST = 1 << 20 };

static void print_term(const struct exec_term *t, struct buf *out)
{
	if (t->attribute.n)
		buf_printf(out, STR_FMT " : ", STR_ARG(t->attribute));
	buf_add_str(out, t->term);
}

/* The words that a pattern means; a word of several segments counts in each. */
static void print_meant(const struct exec_term *t, struct buf *out)
{
	if (!t->want)
		return;
	buf_printf(out, "    means %llu words%s", (unsigned long long)t->words,
		   t->tolds ? ":" : "");
	for (uint32_t i = 0; i < t->tolds; i++)
		buf_printf(out, " " STR_FMT, STR_ARG(t->told[i]));
	buf_add_text(out, t->words > t->tolds ? " ...\n" : "\n");
}

static double score_points(uint64_t score)
{
	return (double)score / RANK_ONE;
}

/* The lists that have the document: frequency, length, what they give. */
static void explain_list(struct exec *e, uint32_t term, uint32_t doc, struct buf *out)
{
	struct exec_list *l = exec_list_open(e, term, 1);
	if (!l || exec_list_seek(e, l, doc) != doc || !exec_list_tfs(e, l))
		return;
	uint32_t score = exec_list_score(e, l, l->at);
	uint32_t errors = l->made && l->made->errors ? l->made->errors[l->where] : 0;
	buf_add_text(out, "    ");
	print_term(l->term, out);
	buf_printf(out, ": %.4f = idf %.4f, frequency %u, length %llu", score_points(score),
		   (double)l->weight / RANK_ONE, l->tfs[l->at],
		   (unsigned long long)words_length_of(e->lengths[doc]));
	if (errors)
		buf_printf(out, ", %u errors: 1/%u of it", errors, 1 + errors);
	buf_add_byte(out, '\n');
}

static int explain_hit(struct exec *e, const struct hit *hit, struct buf *out)
{
	struct segment_column rank;
	struct arena_mark mark = arena_mark(e->arena);
	e->number = hit->segment;
	e->segment = e->part[hit->segment].segment;
	if (segment_lengths(e->segment, &e->lengths, e->err) < 0 ||
	    segment_column(e->segment, SEGMENT_RANK, &rank, e->err) < 0)
		return -1;
	e->scoring = true;
	buf_printf(out, "  %.4f segment %u document %u " STR_FMT "\n", (double)hit->score,
		   hit->segment, hit->doc, STR_ARG(hit->key));
	for (uint32_t i = 0; i < e->terms; i++)
		explain_list(e, i, hit->doc, out);
	int64_t number = segment_number(&rank, hit->doc);
	if (number > 0)
		buf_printf(out, "    static rank %lld: %.4f\n", (long long)number,
			   score_points((uint64_t)number * RANK_STATIC_UNITS));
	exec_rerank_explain(e, hit, out);
	exec_close_segment(e, mark);
	return e->failed ? -1 : 0;
}

/* Sets hits->explain. */
static int exec_explain(struct exec *e, struct hits *hits)
{
	struct buf out = BUF_INIT(EXPLAIN_MOST);
	int rc = 0;
	buf_add_text(&out, "query: ");
	query_print(e->ran, &out);
	buf_add_text(&out, "\nlists:\n");
	for (uint32_t i = 0; i < e->terms; i++) {
		buf_add_text(&out, "  ");
		print_term(&e->term[i], &out);
		buf_printf(&out, ": %llu documents, idf %.4f\n", (unsigned long long)e->term[i].df,
			   (double)e->term[i].weight / RANK_ONE);
		print_meant(&e->term[i], &out);
	}
	buf_printf(&out,
		   "looked at: %zu segments, %llu blocks (%llu passed over), %llu candidates, %llu "
		   "checks of positions, %llu texts\ntotal: %s%llu%s\nhits:\n",
		   e->parts, (unsigned long long)e->count.blocks,
		   (unsigned long long)e->count.blocks_passed,
		   (unsigned long long)e->count.candidates, (unsigned long long)e->count.checks,
		   (unsigned long long)e->count.texts, hits->total_exact ? "" : "at least ",
		   (unsigned long long)hits->total, hits->cut ? ", the time was up" : "");
	for (size_t i = 0; i < hits->n && rc == 0 && !out.over; i++)
		rc = explain_hit(e, &hits->hit[i], &out);
	hits->explain = arena_str(e->told, buf_str(&out));
	buf_free(&out);
	return rc;
}

/* All of it */

int words_query(struct words_reader *r, const struct query *query, struct arena *arena,
		struct hits *ret, struct err *err)
{
	struct hits hits = {0};
	struct arena scratch = ARENA_INIT(SIZE_MAX);
	struct exec e = {.query = query,
			 .settings = words_settings(r),
			 .arena = &scratch,
			 .told = arena,
			 .err = err};
	if ((uint64_t)query->offset + query->limit > QUERY_LIMIT_MOST)
		return err_set(err, ERR_USAGE, "offset %u and limit %u: at most %d together",
			       query->offset, query->limit, QUERY_LIMIT_MOST);
	e.part = words_parts(r, &e.parts);
	e.keep = query->limit ? query->offset + query->limit : 0;
	e.deadline_us = query->budget_us ? clock_mono_us() + query->budget_us : 0;
	e.watched = e.deadline_us || query->cancel;
	int rc = exec_best_errors(&e, query->root, &e.ran);
	if (rc == 0)
		rc = exec_plan(&e, e.ran);
	e.counted = rc == 0 && word_total(&e, &hits.total);
	if (rc == 0)
		rc = exec_rerank_plan(&e);
	if (rc == 0)
		rc = exec_segments(&e);
	if (rc == 0)
		rc = find_total(&e, &hits);
	if (rc == 0)
		rc = tell_hits(&e, &hits);
	hits.cut = e.cut || e.partial;
	hits.ran = e.ran;
	hits.notes = arena_str(arena, query->notes);
	if (rc == 0 && query->explain)
		rc = exec_explain(&e, &hits);
	exec_best_free(&e.best);
	exec_terms_free(&e);
	exec_matches_close(&e);
	token_rules_close(&e.rules);
	arena_free(&scratch);
	if (rc == 0)
		*ret = hits;
	return rc;
}
