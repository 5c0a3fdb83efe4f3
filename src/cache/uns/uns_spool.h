/* Arriving sets: gathers notices, packs them and writes them to an unnamed file, so that memory use
 * does not depend on the size and number of sets; a small set needs no file. A crash, or
 * uns_spool_free(), leaves nothing behind. A spool belongs to one thread at a time, and blocks it
 * while it is written. */
#pragma once
#include "cache/notice.h"

struct uns_spools; /* what all share */
struct uns_spool;

/* folder: where files are made. budget: bytes that wait to be written, above which pieces are as
 * small as can be. */
struct uns_spools *uns_spools_new(const char *folder, uint64_t budget);
/* After all spools. */
void uns_spools_free(struct uns_spools **s);
uint64_t uns_spools_held(const struct uns_spools *s); /* bytes that wait now */

struct uns_spool *uns_spool_new(struct uns_spools *all);
void uns_spool_free(struct uns_spool **s);
/* After a failure the spool is only good to be freed. */
int uns_spool_add(struct uns_spool *s, const struct notice *n, struct err *err);
/* There are no more. */
int uns_spool_end(struct uns_spool *s, struct err *err);

/* After the end. Packed bytes; and the pieces, one after the other, appended to `out`. at: 0 at
 * first. 1: there are no more. */
uint64_t uns_spool_bytes(const struct uns_spool *s);
int uns_spool_next(const struct uns_spool *s, uint64_t *at, struct buf *out, struct err *err);
/* Whether reading does not touch the disk. */
bool uns_spool_in_memory(const struct uns_spool *s);
