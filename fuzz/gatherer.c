/* Answers of gatherers: whole and in pieces they tell the same and end the same; what is held stays
 * small. The first byte says whether compression was asked for, and how it is cut. */
#include "broker/gatherer_answer_inner.h"

enum { MOST = ANSWER_PIECE };

/* Every change, every object that was skipped, and the end. */
static void tell(struct str in, size_t piece, bool compressed, struct buf *out)
{
	struct arena arena = ARENA_INIT((size_t)1 << 26);
	struct gatherer_answer *a = gatherer_answer_new(MOST, compressed);
	struct source_change change;
	struct err err;
	int asked = 0, rc;
	do {
		rc = gatherer_answer_next(a, &arena, &change, &err);
		if (rc == ANSWER_CHANGE) {
			buf_printf(out, "%d " STR_FMT " %zu\n", (int)change.op,
				   STR_ARG(change.obj.url), change.obj.n);
			arena_clear(&arena);
		} else if (rc == ANSWER_ASK) {
			ENSURE(asked++ == 0);
		} else if (rc == ANSWER_MORE && in.n) {
			gatherer_answer_put(a, str_head(in, piece));
			in = str_from(in, piece);
		} else if (rc == ANSWER_MORE) {
			gatherer_answer_end(a);
		} else if (rc < 0) {
			buf_printf(out, "!%s\n", err.msg);
		}
		ENSURE(gatherer_answer_held(a) < (size_t)1 << 20);
	} while (rc >= 0 ? rc != ANSWER_COMPLETE : err.code == ERR_PARTLY);
	ENSURE(rc < 0 || asked);
	buf_printf(out, "%s\n", rc < 0 ? "failed" : "complete");
	gatherer_answer_free(&a);
	arena_free(&arena);
}

static bool story_has(const struct buf *story, struct str words)
{
	return str_find(buf_str(story), words) < story->n;
}

/* What is said of much rubbish depends on how much of it was there at that moment. */
static bool depends_on_cuts(const struct buf *story)
{
	return story_has(story, STR("bytes without an object")) ||
	       story_has(story, STR("looks like its closing line"));
}

/* Where compressed data are damaged, what was decoded before them may be told or not. */
static bool agree(const struct buf *a, const struct buf *b)
{
	if (story_has(a, STR("data are damaged")) || story_has(b, STR("data are damaged")))
		return str_ends(buf_str(a), STR("failed\n")) &&
		       str_ends(buf_str(b), STR("failed\n"));
	return str_eq(buf_str(a), buf_str(b));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1 || size > 1 << 16)
		return 0;
	struct str in = {(const char *)data + 1, size - 1};
	struct buf whole = BUF_INIT((size_t)1 << 26), pieces = BUF_INIT((size_t)1 << 26);
	tell(in, ANSWER_MAX_PUT, data[0] & 1, &whole);
	tell(in, (size_t)data[0] % 61 + 1, data[0] & 1, &pieces);
	ENSURE(depends_on_cuts(&whole) || depends_on_cuts(&pieces) || agree(&whole, &pieces));
	buf_free(&whole);
	buf_free(&pieces);
	return 0;
}
