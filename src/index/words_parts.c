#include "index/words_parts.h"

#include <inttypes.h>

int shared_open(struct shared_segment **ret, const char *folder, const struct manifest_segment *m,
		struct err *err)
{
	char *path = segment_file_path(folder, m->id);
	struct segment *segment = NULL;
	int rc = segment_open(&segment, path, err);
	if (rc == 0 && segment_info(segment)->docs != m->docs)
		rc = err_set(err, ERR_DAMAGED,
			     "%s: it has %" PRIu32 " documents, the manifest says %" PRIu32
			     "; the index has to be built again",
			     path, segment_info(segment)->docs, m->docs);
	mem_free(&path);
	if (rc != 0) {
		segment_close(&segment);
		return rc;
	}
	struct shared_segment *s = mem_alloc(sizeof *s);
	atomic_init(&s->refs, 1);
	s->id = m->id;
	s->segment = segment;
	*ret = s;
	return 0;
}

struct shared_segment *shared_hold(struct shared_segment *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void shared_drop(struct shared_segment **sp)
{
	struct shared_segment *s = *sp;
	*sp = NULL;
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) > 1)
		return;
	segment_close(&s->segment);
	mem_free(&s);
}

int bits_open(struct shared_bits **ret, const char *folder, const struct manifest_segment *m,
	      struct err *err)
{
	uint64_t *bits = NULL;
	if (m->deletes) {
		char *path = deletes_file_path(folder, m->id, m->deletes);
		int rc = deletes_read(path, m->docs, m->deleted, &bits, err);
		mem_free(&path);
		if (rc != 0)
			return rc;
	}
	struct shared_bits *b = mem_alloc(sizeof *b);
	atomic_init(&b->refs, 1);
	b->generation = m->deletes;
	b->bits = bits;
	*ret = b;
	return 0;
}

struct shared_bits *bits_hold(struct shared_bits *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void bits_drop(struct shared_bits **bp)
{
	struct shared_bits *b = *bp;
	*bp = NULL;
	if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) > 1)
		return;
	mem_free(&b->bits);
	mem_free(&b);
}
