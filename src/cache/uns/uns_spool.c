/* A spool has one buffer that fills; when it is full it is packed and written, by one spool at a
 * time: so what sessions hold is bounded by their number, however slow the disk is. Buffers are
 * small at first, so that many sets that begin cost little, and grow with the set, since large
 * pieces pack better. */
#include "cache/uns/uns_spool.h"

#include "base/fault.h"
#include "base/file.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	PIECE_LEAST = 16 << 10,
	HEAD = 4, /* in the file, before a piece: its length */
	PACKED_MOST = 512 << 10,
};

struct uns_spools {
	char *folder;
	uint64_t budget;
	_Atomic uint64_t held;
	pthread_mutex_t writing;
};

struct uns_spool {
	struct uns_spools *all;
	struct buf filling;
	size_t piece; /* bytes of notices that are written at a time */
	struct file file;
	uint64_t end; /* bytes of the file */
	uint64_t bytes;
	struct buf tail; /* packed, of a set that has no file */
};

struct uns_spools *uns_spools_new(const char *folder, uint64_t budget)
{
	struct uns_spools *all = mem_alloc(sizeof *all);
	all->folder = mem_text(folder);
	all->budget = budget;
	pthread_mutex_init(&all->writing, NULL);
	return all;
}

void uns_spools_free(struct uns_spools **all)
{
	if (!*all)
		return;
	pthread_mutex_destroy(&(*all)->writing);
	mem_free(&(*all)->folder);
	mem_free(all);
}

uint64_t uns_spools_held(const struct uns_spools *s)
{
	return s->held;
}

struct uns_spool *uns_spool_new(struct uns_spools *all)
{
	struct uns_spool *s = mem_alloc(sizeof *s);
	*s = (struct uns_spool){
		.all = all,
		.piece = PIECE_LEAST,
		.filling = BUF_INIT(NOTICE_PIECE + NOTICE_MOST),
		.tail = BUF_INIT(PACKED_MOST),
		.file = FILE_INIT,
	};
	return s;
}

void uns_spool_free(struct uns_spool **sp)
{
	struct uns_spool *s = *sp;
	if (!s)
		return;
	buf_free(&s->filling);
	buf_free(&s->tail);
	file_drop(&s->file);
	mem_free(sp);
}

/* Writing. */

static int piece_pack(struct uns_spool *s, struct err *err)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(PACKED_MOST);
	put_u32le(&packed, 0);
	notice_pack(buf_str(&s->filling), &packed);
	ENSURE(!packed.over);
	uint32_t n = htole32((uint32_t)(packed.n - HEAD));
	memcpy(packed.p, &n, sizeof n);
	if (s->file.fd < 0 && file_temporary(&s->file, s->all->folder, err) < 0)
		return -1;
	FAULT("uns.spool");
	if (file_write(&s->file, packed.p, packed.n, s->end, err) < 0)
		return -1;
	s->end += packed.n;
	s->bytes += packed.n - HEAD;
	return 0;
}

static int piece_write(struct uns_spool *s, struct err *err)
{
	struct uns_spools *all = s->all;
	uint64_t n = s->filling.n;
	all->held += n;
	pthread_mutex_lock(&all->writing);
	int rc = piece_pack(s, err);
	pthread_mutex_unlock(&all->writing);
	all->held -= n;
	buf_free(&s->filling);
	s->piece = all->held < all->budget ? MIN(2 * s->piece, (size_t)NOTICE_PIECE) : PIECE_LEAST;
	return rc;
}

int uns_spool_add(struct uns_spool *s, const struct notice *n, struct err *err)
{
	notice_write(n, &s->filling);
	return s->filling.n < s->piece ? 0 : piece_write(s, err);
}

int uns_spool_end(struct uns_spool *s, struct err *err)
{
	if (s->filling.n == 0)
		return 0;
	if (s->end)
		return piece_write(s, err);
	notice_pack(buf_str(&s->filling), &s->tail);
	s->bytes = s->tail.n;
	buf_free(&s->filling);
	return 0;
}

/* Reading. */

uint64_t uns_spool_bytes(const struct uns_spool *s)
{
	return s->bytes;
}

bool uns_spool_in_memory(const struct uns_spool *s)
{
	return s->end == 0;
}

static int piece_damaged(struct err *err)
{
	return err_set(err, ERR_DAMAGED, "a set that was spooled is not what was written");
}

int uns_spool_next(const struct uns_spool *s, uint64_t *at, struct buf *out, struct err *err)
{
	uint32_t n = 0;
	size_t got = 0;
	if (s->end == 0) {
		bool is_first = *at == 0 && s->tail.n;
		*at = 1;
		if (is_first)
			buf_add_str(out, buf_str(&s->tail));
		return is_first ? 0 : 1;
	}
	if (*at >= s->end)
		return 1;
	if (file_read(&s->file, &n, sizeof n, *at, &got, err) < 0)
		return -1;
	n = le32toh(n);
	if (got != sizeof n || n > PACKED_MOST || n > s->end - *at - HEAD)
		return piece_damaged(err);
	char *to = buf_room(out, n);
	ENSURE(to);
	if (file_read(&s->file, to, n, *at + HEAD, &got, err) < 0)
		return -1;
	if (got != n)
		return piece_damaged(err);
	buf_grew(out, n);
	*at += HEAD + n;
	return 0;
}
