/* Arriving sets: gathers notices, packs them and writes them to an unnamed file, so that memory use
 * does not depend on the size and number of sets; a small set needs no file. A crash, or
 * uns_spool_free(), leaves nothing behind. Threads pack and write; all functions but those for
 * reading belong to one loop. */
#pragma once
#include "base/pool.h"
#include "cache/notice.h"
#include "net/loop.h"

struct uns_spools; /* what all share */
struct uns_spool;

/* folder: where files are made. budget: bytes of notices that may wait to be written. */
struct uns_spools *uns_spools_new(struct loop *loop, struct pool *pool, const char *folder,
				  uint64_t budget);
/* After all spools, and after the pool has ended. */
void uns_spools_free(struct uns_spools **s);
uint64_t uns_spools_held(const struct uns_spools *s); /* bytes that wait now */

/* moved(ctx): what was waited for has happened, or it cannot be written; never from inside a
 * function of this header. */
struct uns_spool *uns_spool_new(struct uns_spools *all, void (*moved)(void *ctx), void *ctx);
/* Also while a thread works for it. */
void uns_spool_free(struct uns_spool **s);

/* Takes the notice in any case. */
void uns_spool_add(struct uns_spool *s, const struct notice *n);
/* Whether more may be added; if not, moved() comes. */
bool uns_spool_has_room(struct uns_spool *s);
/* There are no more. 0: all is there; 1: not yet, moved() comes; negative: as below. */
int uns_spool_end(struct uns_spool *s, struct err *err);
/* Whether it could not be written, which is for good. */
bool uns_spool_failed(const struct uns_spool *s, struct err *err);

/* When all is there. Packed bytes; and the pieces, one after the other, from any one thread at a
 * time: appended to `out`. at: 0 at first. 1: there are no more. */
uint64_t uns_spool_bytes(const struct uns_spool *s);
int uns_spool_next(const struct uns_spool *s, uint64_t *at, struct buf *out, struct err *err);
/* Whether reading does not touch the disk. */
bool uns_spool_in_memory(const struct uns_spool *s);
