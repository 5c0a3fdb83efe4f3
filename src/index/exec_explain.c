/* Why: the query as it was understood, the lists it needed, what was looked at, and of each hit
 * where its score comes from. Lines of text, for people. */
#include "index/exec.h"

enum { EXPLAIN_MOST = 1 << 20 };

static void print_term(const struct exec_term *t, struct buf *out)
{
	if (t->attribute.n)
		buf_printf(out, STR_FMT " : ", STR_ARG(t->attribute));
	buf_add_str(out, t->term);
}

static double score_points(uint64_t score)
{
	return (double)score / RANK_ONE;
}

/* The lists that have the document: frequency, length, what they give. */
static void explain_list(struct exec *e, uint32_t term, uint32_t doc, struct buf *out)
{
	struct exec_list *l = exec_list_open(e, term, 1);
	if (!l || exec_list_seek(e, l, doc) != doc)
		return;
	uint32_t score = exec_list_score(e, l, l->at);
	buf_add_text(out, "    ");
	print_term(l->term, out);
	buf_printf(out, ": %.4f = idf %.4f, frequency %u, length %llu\n", score_points(score),
		   (double)l->weight / RANK_ONE, l->tfs[l->at],
		   (unsigned long long)words_length_of(e->lengths[doc]));
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
	buf_printf(out, "  %.4f segment %u document %u " STR_FMT "\n", (double)hit->score,
		   hit->segment, hit->doc, STR_ARG(hit->key));
	for (uint32_t i = 0; i < e->terms; i++)
		explain_list(e, i, hit->doc, out);
	int64_t number = segment_number(&rank, hit->doc);
	if (number > 0)
		buf_printf(out, "    static rank %lld: %.4f\n", (long long)number,
			   score_points((uint64_t)number * RANK_STATIC_UNITS));
	exec_close_segment(e, mark);
	return e->failed ? -1 : 0;
}

int exec_explain(struct exec *e, struct hits *hits)
{
	struct buf out = BUF_INIT(EXPLAIN_MOST);
	int rc = 0;
	buf_add_text(&out, "query: ");
	query_print(e->query->root, &out);
	buf_add_text(&out, "\nlists:\n");
	for (uint32_t i = 0; i < e->terms; i++) {
		buf_add_text(&out, "  ");
		print_term(&e->term[i], &out);
		buf_printf(&out, ": %llu documents, idf %.4f\n", (unsigned long long)e->term[i].df,
			   (double)e->term[i].weight / RANK_ONE);
	}
	buf_printf(&out,
		   "looked at: %zu segments, %llu blocks (%llu passed over), %llu candidates, %llu "
		   "checks of positions\ntotal: %s%llu%s\nhits:\n",
		   e->parts, (unsigned long long)e->count.blocks,
		   (unsigned long long)e->count.blocks_passed,
		   (unsigned long long)e->count.candidates, (unsigned long long)e->count.checks,
		   hits->total_exact ? "" : "at least ", (unsigned long long)hits->total,
		   hits->cut ? ", the time was up" : "");
	for (size_t i = 0; i < hits->n && rc == 0 && !out.over; i++)
		rc = explain_hit(e, &hits->hit[i], &out);
	hits->explain = arena_str(e->told, buf_str(&out));
	buf_free(&out);
	return rc;
}
