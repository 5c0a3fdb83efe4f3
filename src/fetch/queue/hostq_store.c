/* Lists of URLs: in memory up to a budget, the rest in a file.
 *
 * Memory is allocated in chunks of 256 bytes from huge pages, because a crawl has millions of
 * queues with a few URLs each and visits them in no order. URLs beyond the budget are spilled as
 * extents of up to 64 KiB to an unnamed file, which is rewritten when most of it is dead. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"
#include "fetch/queue/hostq_inner.h"

#include <stdlib.h>
#include <sys/mman.h>

/* Strings of bytes in chunks, and the records in them. */

static char *chunk_at(const struct chunks *m, uint32_t number)
{
	return m->slab[number / SLAB_CHUNKS] + (size_t)(number % SLAB_CHUNKS) * CHUNK_SIZE;
}

static uint32_t chunk_next(const struct chunks *m, uint32_t number)
{
	uint32_t next;
	memcpy(&next, chunk_at(m, number), sizeof next);
	return next;
}

static void chunk_link(const struct chunks *m, uint32_t number, uint32_t next)
{
	memcpy(chunk_at(m, number), &next, sizeof next);
}

static char *chunk_data(const struct chunks *m, uint32_t number)
{
	return chunk_at(m, number) + (CHUNK_SIZE - CHUNK_DATA);
}

/* Arrays that are visited in no order: from a size on in huge pages, where the system has them,
 * because finding a small page costs more than the visit. `had` bytes are kept; freed as others. */
static void *huge_resize(void *p, size_t had, size_t n)
{
	size_t round = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	if (n < HUGE_PAGE)
		return mem_resize(p, n);
	void *fresh = aligned_alloc(HUGE_PAGE, round);
	ENSURE(fresh && had <= n);
	(void)madvise(fresh, round, MADV_HUGEPAGE);
	if (had)
		memcpy(fresh, p, had);
	mem_free(&p);
	return fresh;
}

void *numbers_grow(void *p, uint32_t *n, uint32_t *cap, size_t size)
{
	*n = MAX(*n, 1u);
	if (*n < *cap)
		return p;
	uint32_t had = *cap;
	*cap = had ? had + had / 2 : 64;
	return huge_resize(p, had * size, *cap * size);
}

static uint32_t chunk_new(struct chunks *m)
{
	uint32_t number = m->free;
	m->in_use++;
	if (number) {
		m->free = chunk_next(m, number);
		return number;
	}
	if (m->made == 0)
		m->made = 1;
	if (m->made >= m->nslabs * (uint64_t)SLAB_CHUNKS) {
		ENSURE(m->nslabs < UINT32_MAX / SLAB_CHUNKS);
		m->slab = mem_resize(m->slab, (m->nslabs + 1) * sizeof *m->slab);
		m->slab[m->nslabs++] = huge_resize(NULL, 0, HUGE_PAGE);
	}
	return m->made++;
}

static void chunk_free(struct chunks *m, uint32_t number)
{
	chunk_link(m, number, m->free);
	m->free = number;
	m->in_use--;
}

static void chunks_free(struct chunks *m)
{
	for (uint32_t i = 0; i < m->nslabs; i++)
		mem_free(&m->slab[i]);
	mem_free(&m->slab);
	*m = (struct chunks){0};
}

static bool chain_is_empty(const struct chain *c)
{
	return c->first == 0;
}

static void chain_grow(struct chunks *m, struct chain *c)
{
	uint32_t number = chunk_new(m);
	chunk_link(m, number, 0);
	if (c->first)
		chunk_link(m, c->last, number);
	else
		*c = (struct chain){.first = number};
	c->last = number;
	c->to = 0;
}

static void chain_add(struct chunks *m, struct chain *c, const void *p, size_t n)
{
	while (n) {
		if (c->first == 0 || c->to == CHUNK_DATA)
			chain_grow(m, c);
		size_t some = MIN(n, (size_t)(CHUNK_DATA - c->to));
		memcpy(chunk_data(m, c->last) + c->to, p, some);
		c->to = (uint16_t)(c->to + some);
		p = (const char *)p + some;
		n -= some;
	}
}

static void chain_clear(struct chunks *m, struct chain *c)
{
	for (uint32_t number = c->first, next; number; number = next) {
		next = chunk_next(m, number);
		chunk_free(m, number);
	}
	*c = (struct chain){0};
}

/* A place in a chain. */
struct cursor {
	const struct chunks *m;
	uint32_t number, last;
	uint16_t at, to; /* in the chunk; `to` of the last chunk */
};

static struct cursor cursor_of(const struct chunks *m, const struct chain *c)
{
	return (struct cursor){m, c->first, c->last, c->from, c->to};
}

static uint16_t cursor_end(const struct cursor *at)
{
	return at->number == at->last ? at->to : CHUNK_DATA;
}

/* Bytes that lie in one piece from here on; 0: the end. */
static size_t cursor_have(struct cursor *at)
{
	if (at->number && at->at == cursor_end(at) && at->number != at->last) {
		at->number = chunk_next(at->m, at->number);
		at->at = 0;
	}
	return at->number ? (size_t)(cursor_end(at) - at->at) : 0;
}

static uint64_t cursor_varint(struct cursor *at)
{
	uint64_t v = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		ENSURE(cursor_have(at) > 0);
		uint8_t b = (uint8_t)chunk_data(at->m, at->number)[at->at++];
		v |= (uint64_t)(b & 0x7f) << shift;
		if (b < 0x80)
			break;
	}
	return v;
}

static void cursor_copy(struct cursor *at, size_t n, struct buf *out)
{
	while (n) {
		size_t some = MIN(n, cursor_have(at));
		ENSURE(some > 0);
		buf_add(out, chunk_data(at->m, at->number) + at->at, some);
		at->at = (uint16_t)(at->at + some);
		n -= some;
	}
}

static uint64_t zigzag_of(uint64_t before, uint64_t user)
{
	int64_t difference = (int64_t)(user - before);
	return (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
}

static uint64_t zigzag_undo(uint64_t before, uint64_t v)
{
	return before + ((v >> 1) ^ -(v & 1));
}

/* The bytes of a record up to its payload. */
static size_t record_head(uint64_t before, uint64_t user, size_t n, char ret[RECORD_HEAD_MAX])
{
	return (size_t)(varint_write(varint_write(ret, zigzag_of(before, user)), n) - ret);
}

/* One record off the beginning of *rest; *user goes from the record before to this one. false:
 * these bytes are not a record, or not all of one; nothing has changed. */
static bool record_cut(struct str *rest, uint64_t *user, struct str *ret_payload)
{
	struct reader r = reader_of(*rest);
	uint64_t difference = reader_varint(&r);
	struct str payload = reader_text(&r, HOSTQ_PAYLOAD_MAX);
	if (r.bad)
		return false;
	*ret_payload = payload;
	*rest = str_from(*rest, reader_at(&r));
	*user = zigzag_undo(*user, difference);
	return true;
}

/* The first record of a chain that is not empty. */
static void chain_shift(struct chunks *m, struct chain *c, uint64_t *user, struct buf *ret_payload)
{
	struct cursor at = cursor_of(m, c);
	*user = zigzag_undo(*user, cursor_varint(&at));
	cursor_copy(&at, (size_t)cursor_varint(&at), ret_payload);
	bool end = cursor_have(&at) == 0;
	while (c->first && (end || c->first != at.number)) {
		uint32_t next = chunk_next(m, c->first);
		chunk_free(m, c->first);
		c->first = next;
	}
	c->from = at.at;
	if (end)
		*c = (struct chain){0};
}

/* Lists, and what is spilled of them. */

enum {
	PIECE_MIN = 1024, /* read back at once */
	COMPACT_MIN = 16 << 20,
};

void store_init(struct store *s, uint64_t budget, const char *folder)
{
	*s = (struct store){.budget = budget, .limit = budget, .compact_at = COMPACT_MIN};
	s->folder = folder ? mem_text(folder) : NULL;
	s->piece = BUF_INIT(EXTENT_MAX + RECORD_MAX);
	s->file = FILE_INIT;
}

uint64_t store_memory(const struct store *s)
{
	return s->chunks.in_use * CHUNK_SIZE + s->extent_memory;
}

/* Releases bytes of the file. */
static void extent_release(struct store *s, uint64_t n)
{
	struct err ignored;
	s->live -= n;
	if (s->live == 0 && file_truncate(&s->file, 0, &ignored) == 0)
		s->end = 0;
}

static void spilled_free(struct store *s, struct url_list *l)
{
	struct spilled *more = l->spilled;
	if (!more)
		return;
	for (uint32_t i = more->first; i < more->first + more->n; i++) {
		s->spilled -= more->extent[i].urls;
		extent_release(s, more->extent[i].n);
	}
	chain_clear(&s->chunks, &more->back);
	s->extent_memory -= sizeof *more + more->cap * sizeof *more->extent;
	mem_free(&more->extent);
	mem_free(&l->spilled);
}

void store_free(struct store *s)
{
	for (uint32_t i = 1; i < s->nlists; i++)
		if (s->list[i].spilled) {
			mem_free(&s->list[i].spilled->extent);
			mem_free(&s->list[i].spilled);
		}
	mem_free(&s->list);
	chunks_free(&s->chunks);
	file_drop(&s->file);
	mem_free(&s->folder);
	buf_free(&s->piece);
}

uint32_t store_list_new(struct store *s, unsigned priority)
{
	uint32_t number = s->free;
	if (number) {
		s->free = s->list[number].next;
	} else {
		s->list = numbers_grow(s->list, &s->nlists, &s->cap, sizeof *s->list);
		number = s->nlists++;
	}
	s->list[number] = (struct url_list){.priority = (uint8_t)priority};
	s->lists++;
	return number;
}

void store_list_free(struct store *s, uint32_t number)
{
	struct url_list *l = &s->list[number];
	chain_clear(&s->chunks, &l->front);
	spilled_free(s, l);
	*l = (struct url_list){.next = s->free};
	s->free = number;
	s->lists--;
}

static struct spilled *spilled_new(struct store *s, struct url_list *l)
{
	if (!l->spilled) {
		l->spilled = mem_alloc(sizeof *l->spilled);
		s->extent_memory += sizeof *l->spilled;
	}
	return l->spilled;
}

static void extents_append(struct store *s, struct spilled *more, const struct extent *e,
			   uint32_t n)
{
	if (n == 0)
		return;
	if (more->first && more->n == 0)
		more->first = 0;
	if (more->first + more->n + n > more->cap) {
		if (more->n)
			memmove(more->extent, more->extent + more->first, more->n * sizeof *e);
		more->first = 0;
		uint32_t cap = MAX(more->n + n, more->cap + more->cap / 2);
		s->extent_memory += (cap - more->cap) * sizeof *e;
		more->extent = mem_resize(more->extent, cap * sizeof *e);
		more->cap = cap;
	}
	memcpy(more->extent + more->first + more->n, e, n * sizeof *e);
	more->n += n;
	for (uint32_t i = 0; i < n; i++) {
		s->live += e[i].n;
		s->spilled += e[i].urls;
	}
}

void url_list_push(struct store *s, struct url_list *l, struct str payload, uint64_t user)
{
	char head[RECORD_HEAD_MAX];
	struct chain *chain = &l->front;
	if (l->spilled) {
		chain = &l->spilled->back;
		if (chain_is_empty(chain))
			l->spilled->back_user = l->write_user;
		l->spilled->back_urls++;
	}
	chain_add(&s->chunks, chain, head, record_head(l->write_user, user, payload.n, head));
	chain_add(&s->chunks, chain, payload.p, payload.n);
	l->write_user = user;
	l->urls++;
}

/* What one list reads back at once: so that all together take an eighth of the budget. */
static size_t piece_bytes(const struct store *s)
{
	uint64_t share = s->budget / 8 / MAX(s->lists, 1u);
	return (size_t)MIN(MAX(share, (uint64_t)PIECE_MIN), (uint64_t)EXTENT_MAX);
}

/* Whole records at the beginning of an extent; what they amount to. */
static uint32_t whole_records(struct str bytes, uint64_t *user, size_t *ret_n)
{
	struct str rest = bytes, payload;
	uint32_t urls = 0;
	while (record_cut(&rest, user, &payload))
		urls++;
	*ret_n = bytes.n - rest.n;
	return urls;
}

static int extent_read(struct store *s, const struct extent *e, size_t most, struct str *ret,
		       struct err *err)
{
	size_t n = MIN((size_t)e->n, most), got;
	buf_clear(&s->piece);
	char *room = buf_room(&s->piece, n);
	ENSURE(room);
	if (file_read(&s->file, room, n, e->at, &got, err) < 0)
		return -1;
	if (got != n)
		return err_set(err, ERR_DAMAGED, "%s: ends at %llu, inside of what is in it",
			       s->file.path, (unsigned long long)(e->at + got));
	buf_grew(&s->piece, n);
	*ret = buf_str(&s->piece);
	return 0;
}

/* Brings the beginning of the first extent into the front, which is empty. */
static int read_back(struct store *s, struct url_list *l, struct err *err)
{
	struct spilled *more = l->spilled;
	struct extent *e = &more->extent[more->first];
	struct str bytes;
	uint64_t user = e->user;
	size_t n = 0;
	uint32_t urls = 0;
	for (size_t most = piece_bytes(s); urls == 0; most = RECORD_MAX) {
		user = e->user;
		if (extent_read(s, e, most, &bytes, err) < 0)
			return -1;
		urls = whole_records(bytes, &user, &n);
		if (urls == 0 && most == RECORD_MAX)
			break;
	}
	if (urls == 0 || urls > e->urls || (urls == e->urls) != (n == e->n))
		return err_set(err, ERR_DAMAGED, "%s: no URL at byte %llu", s->file.path,
			       (unsigned long long)e->at);
	FAULT("hostq.read");
	l->read_user = e->user;
	chain_add(&s->chunks, &l->front, bytes.p, n);
	s->spilled -= urls;
	e->at += n;
	e->n -= (uint32_t)n;
	e->urls = (uint16_t)(e->urls - urls);
	e->user = user;
	if (e->n == 0) {
		more->first++;
		more->n--;
	}
	extent_release(s, n);
	return 0;
}

/* Makes the front hold the first record. */
static int fill_front(struct store *s, struct url_list *l, struct err *err)
{
	struct spilled *more = l->spilled;
	if (more && more->n > 0)
		return read_back(s, l, err);
	ENSURE(more && !chain_is_empty(&more->back));
	l->front = more->back;
	l->read_user = more->back_user;
	more->back = (struct chain){0};
	spilled_free(s, l);
	return 0;
}

int url_list_shift(struct store *s, struct url_list *l, struct buf *ret_payload, uint64_t *ret_user,
		   struct err *err)
{
	ENSURE(l->urls > 0);
	if (chain_is_empty(&l->front) && fill_front(s, l, err) < 0)
		return -1;
	chain_shift(&s->chunks, &l->front, &l->read_user, ret_payload);
	*ret_user = l->read_user;
	l->urls--;
	return 0;
}

/* Pieces of a chain on their way into the spill file. */
struct spilling {
	struct store *s;
	uint64_t end;
	struct extent *extent;
	size_t n, room;
};

/* The records gathered in s->piece, if there are any. */
static int spill_piece(struct spilling *to, uint64_t user, uint32_t urls, struct err *err)
{
	struct buf *piece = &to->s->piece;
	if (urls == 0)
		return 0;
	FAULT("hostq.spill");
	if (file_write(&to->s->file, piece->p, piece->n, to->end, err) < 0)
		return -1;
	*VEC_PUSH(to->extent, to->n, to->room) = (struct extent){
		.at = to->end, .user = user, .n = (uint32_t)piece->n, .urls = (uint16_t)urls};
	to->end += piece->n;
	buf_clear(piece);
	return 0;
}

/* A piece begins and ends between two records and has at most EXTENT_MAX bytes, unless it is one
 * record. user: of the record before the first. */
static int spill_chain(struct spilling *to, const struct chain *c, uint64_t user, struct err *err)
{
	struct store *s = to->s;
	struct cursor at = cursor_of(&s->chunks, c);
	uint64_t before = user;
	uint32_t urls = 0;
	char head[RECORD_HEAD_MAX];
	buf_clear(&s->piece);
	while (cursor_have(&at) > 0) {
		uint64_t difference = cursor_varint(&at), n = cursor_varint(&at);
		size_t head_n = (size_t)(varint_write(varint_write(head, difference), n) - head);
		if (s->piece.n + head_n + n > EXTENT_MAX) {
			if (spill_piece(to, before, urls, err) < 0)
				return -1;
			before = user;
			urls = 0;
		}
		buf_add(&s->piece, head, head_n);
		cursor_copy(&at, (size_t)n, &s->piece);
		user = zigzag_undo(user, difference);
		urls++;
	}
	return spill_piece(to, before, urls, err);
}

/* What spilling would write: the back, or the front where that is all there is. A front that was
 * read back stays. */
static struct chain *url_list_spillable(struct url_list *l)
{
	return l->spilled ? &l->spilled->back : &l->front;
}

/* Nothing has changed on failure: what was written lies beyond the end. */
static int url_list_spill(struct store *s, struct url_list *l, struct err *err)
{
	struct spilling to = {.s = s, .end = s->end};
	struct chain *chain = url_list_spillable(l);
	uint64_t user = l->spilled ? l->spilled->back_user : l->read_user;
	int rc = spill_chain(&to, chain, user, err);
	if (rc == 0) {
		chain_clear(&s->chunks, chain);
		extents_append(s, spilled_new(s, l), to.extent, (uint32_t)to.n);
		l->spilled->back_urls = 0;
		s->end = to.end;
	}
	mem_free(&to.extent);
	return rc;
}

/* An extent that moves. */
struct move {
	struct extent *extent;
	uint64_t at;
};

static int copy_extents(struct store *s, const struct file *to, struct move *move,
			uint64_t *ret_end, struct err *err)
{
	uint64_t end = 0;
	size_t n = 0;
	struct str bytes;
	for (uint32_t i = 1; i < s->nlists; i++) {
		struct spilled *more = s->list[i].spilled;
		for (uint32_t j = 0; more && j < more->n; j++) {
			struct extent *e = &more->extent[more->first + j];
			if (extent_read(s, e, SIZE_MAX, &bytes, err) < 0 ||
			    file_write(to, bytes.p, bytes.n, end, err) < 0)
				return -1;
			move[n++] = (struct move){e, end};
			end += e->n;
		}
	}
	for (size_t i = 0; i < n; i++)
		move[i].extent->at = move[i].at;
	*ret_end = end;
	return 0;
}

/* Writes the spill file anew without what is dead. Where that fails the old one goes on, and the
 * next try comes when it has doubled. */
static void spill_compact(struct store *s)
{
	struct file fresh = FILE_INIT;
	struct err ignored;
	uint64_t end = 0, extents = 0;
	for (uint32_t i = 1; i < s->nlists; i++)
		extents += s->list[i].spilled ? s->list[i].spilled->n : 0;
	struct move *move = mem_array(extents, sizeof *move);
	int rc = file_temporary(&fresh, s->folder, &ignored);
	if (rc == 0)
		rc = copy_extents(s, &fresh, move, &end, &ignored);
	FAULT("hostq.compact");
	if (rc == 0) {
		file_drop(&s->file);
		s->file = fresh;
		s->end = end;
	} else {
		file_drop(&fresh);
	}
	s->compact_at = MAX(s->end * 2, (uint64_t)COMPACT_MIN);
	mem_free(&move);
}

/* One round over all lists, until memory is down to the target. 1: it is not. */
static int spill_round(struct store *s, uint64_t target, bool long_ones, struct err *err)
{
	for (uint32_t i = 0; i < s->nlists && store_memory(s) > target; i++) {
		s->hand = s->hand + 1 < s->nlists ? s->hand + 1 : 1;
		struct url_list *l = &s->list[s->hand];
		const struct chain *c = url_list_spillable(l);
		if (chain_is_empty(c) || (long_ones && c->first == c->last))
			continue;
		if (url_list_spill(s, l, err) < 0)
			return -1;
	}
	return store_memory(s) > target;
}

static int spill_file(struct store *s, struct err *err)
{
	if (!s->folder)
		return err_set(err, ERR_SYSTEM,
			       "%llu bytes of memory are used up, and there is no "
			       "folder for more",
			       (unsigned long long)s->budget);
	if (s->file.fd >= 0)
		return 0;
	return file_temporary(&s->file, s->folder, err);
}

/* Down to 7/8 of the budget, so that rounds are rare. Where even the last round does not get there
 * (fronts that were read back, extents that have to be known), another one would not either before
 * there is more. */
int store_make_room(struct store *s, size_t n, struct err *err)
{
	uint64_t need = (n / CHUNK_DATA + 2) * CHUNK_SIZE;
	uint64_t target = s->budget - s->budget / 8 - MIN(need, s->budget / 8);
	if (LIKELY(store_memory(s) + need <= s->limit) || s->nlists == 0)
		return 0;
	if (spill_file(s, err) < 0)
		return err_in(err, "host queues: the URL was not taken");
	if (s->end > s->compact_at && s->live < s->end / 2)
		spill_compact(s);
	int rc = spill_round(s, target, true, err);
	if (rc > 0)
		rc = spill_round(s, target, false, err);
	if (rc < 0)
		return err_in(err, "host queues: the URL was not taken");
	s->limit = rc == 0 ? s->budget : store_memory(s) + need + s->budget / 8;
	return 0;
}
