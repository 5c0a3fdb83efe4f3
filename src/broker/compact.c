#include "broker/compact.h"

#include "base/base.h"
#include "base/fault.h"

/* All that moved, by old addresses: 16 bytes for each document. */
struct moved {
	struct docaddr (*pair)[2];
	size_t n, room;
};

static int remember(void *ctx, struct docaddr from, struct docaddr to, struct err *err)
{
	struct moved *m = ctx;
	(void)err;
	if (m->n == m->room) {
		m->room = m->room ? 2 * m->room : 1024;
		m->pair = mem_resize(m->pair, m->room * sizeof *m->pair);
	}
	m->pair[m->n][0] = from;
	m->pair[m->n++][1] = to;
	return 0;
}

static struct docaddr moved_to(void *ctx, struct docaddr addr)
{
	const struct moved *m = ctx;
	size_t low = 0, high = m->n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (m->pair[mid][0].v < addr.v)
			low = mid + 1;
		else
			high = mid;
	}
	return low < m->n && m->pair[low][0].v == addr.v ? m->pair[low][1] : (struct docaddr){0};
}

static int readdress(struct docstore *docs, struct words_writer *words, struct err *err)
{
	struct moved m = {0};
	int rc = docstore_each_moved(docs, remember, &m, err);
	if (rc == 0 && m.n)
		rc = words_readdress(words, moved_to, &m, err);
	mem_free(&m.pair);
	return rc < 0 ? -1 : 0;
}

int compact_wanted(struct docstore *docs, bool *ret, struct err *err)
{
	struct docstore_stats s;
	if (docstore_stats(docs, &s, err) < 0)
		return -1;
	*ret = s.moved_docs || (s.deleted_bytes >= COMPACT_LEAST &&
				s.deleted_bytes >= s.text_bytes / 100 * COMPACT_PERCENT);
	return 0;
}

int compact_run(struct docstore *docs, struct words_writer *words, unsigned percent,
		struct err *err)
{
	int rc = docstore_compact(docs, percent, err);
	if (rc != 0)
		return rc;
	FAULT("compact.moved");
	return readdress(docs, words, err);
}

int compact_forget(struct docstore *docs, struct words_writer *words, bool readdressed,
		   struct err *err)
{
	if (!readdressed && readdress(docs, words, err) < 0)
		return -1;
	FAULT("compact.readdressed");
	return docstore_forget_moved(docs, err);
}
