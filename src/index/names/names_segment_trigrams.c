/* Trigrams of names while a segment is written: names come in order, and each trigram keeps the run
 * of neighbours that it is in. Runs that ended are strings of varints, in chunks that grow with
 * their trigram. At the end they become lists, trigram by trigram.
 *
 * A trigram is found by a table over all of them, in which bytes are numbered in the order in which
 * they first appear: few bytes are used, so the table is small, or what is touched of it. A second
 * table knows which pairs of bytes the current name has had already: a pair that comes again makes
 * the trigram of a zero byte and the pair.
 *
 * Beyond the memory, all chunks go to a file, trigram by trigram, and are read from there at the
 * end. */
#include "base/vec.h"
#include "index/names/names_segment_inner.h"

#include <stdlib.h>

enum {
	CHUNK_HEAD = 8,    /* u32 where the next one is, u32 its bytes; both once it is full */
	CHUNK_FIRST = 32,  /* bytes of a trigram's first chunk */
	CHUNK_MOST = 4096, /* each is twice as large as the one before, up to this */
	ROW_BITS = 6,      /* different bytes that there is room for at first: 1 << this */
	RUN_MOST = 10,     /* bytes of a run */
	MEMORY_LEAST = 1 << 18,
};

struct trigram_run {
	uint32_t from, to; /* names; to is the last that has it */
};

struct trigram_state {
	uint32_t trigram;
	uint32_t runs, names;  /* that ended */
	uint32_t last;         /* name of the last run that ended; -2 when there is none */
	uint32_t first, chunk; /* the first and the current chunk, 0: none */
	uint32_t at, end;      /* where the next run goes, in the current one */
};

struct spilled_part {
	struct spilled_place {
		uint64_t at;
		uint32_t n;
	} * place; /* by number of the trigram */
	uint32_t trigrams;
};

struct names_trigrams {
	uint8_t number[NAMES_BYTES]; /* of a byte */
	bool known[NAMES_BYTES];
	unsigned bytes, shift; /* numbered; rows have room for 1 << shift */
	uint32_t *id;          /* 1 + the number of a trigram, by numbers of its bytes */
	uint32_t *met;         /* when a pair was met last, by numbers of its bytes */
	uint32_t time;         /* one more for each name */
	struct trigram_run *run;
	struct trigram_state *state;
	size_t n, room;
	uint8_t *chunks;
	size_t used, have, most;
	char *folder;
	struct file file;
	uint64_t file_bytes;
	struct spilled_part *part;
	size_t parts, part_room;
	struct buf all; /* the runs of a trigram, as one string */
};

void names_trigrams_free(struct names_trigrams **tp)
{
	struct names_trigrams *t = *tp;
	if (!t)
		return;
	for (size_t i = 0; i < t->parts; i++)
		mem_free(&t->part[i].place);
	mem_free(&t->part);
	mem_free(&t->id);
	mem_free(&t->met);
	mem_free(&t->run);
	mem_free(&t->state);
	mem_free(&t->chunks);
	mem_free(&t->folder);
	file_drop(&t->file);
	buf_free(&t->all);
	mem_free(tp);
}

/* Chunks */

static void store_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
}

static uint32_t fetch_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static void add_chunk(struct names_trigrams *t, struct trigram_state *s)
{
	size_t size =
		s->chunk ? MIN((size_t)(s->end - s->chunk) * 2, (size_t)CHUNK_MOST) : CHUNK_FIRST;
	if (t->used + size > t->have) {
		t->have = MAX(t->have + t->have / 2, (size_t)1 << 20);
		t->chunks = mem_resize(t->chunks, t->have);
	}
	uint32_t at = (uint32_t)t->used;
	t->used += size;
	if (s->chunk) {
		store_u32(t->chunks + s->chunk, at);
		store_u32(t->chunks + s->chunk + 4, s->at - s->chunk - CHUNK_HEAD);
	} else {
		s->first = at;
	}
	s->chunk = at;
	s->at = at + CHUNK_HEAD;
	s->end = at + (uint32_t)size;
}

static inline uint8_t *put_number(uint8_t *p, uint32_t v)
{
	while (v >= 0x80) {
		*p++ = (uint8_t)(v | 0x80);
		v >>= 7;
	}
	*p++ = (uint8_t)v;
	return p;
}

/* A run that ended: twice the gap before it, + 1 where its length - 2 follows. */
static inline void end_run(struct names_trigrams *t, uint32_t id)
{
	struct trigram_state *s = &t->state[id];
	struct trigram_run run = t->run[id];
	if (UNLIKELY(s->end - s->at < RUN_MOST))
		add_chunk(t, s);
	uint8_t *p = t->chunks + s->at;
	uint32_t gap = run.from - s->last - 2, more = run.to - run.from;
	p = put_number(p, gap << 1 | (more > 0));
	if (more)
		p = put_number(p, more - 1);
	s->at = (uint32_t)(p - t->chunks);
	s->last = run.to;
	s->runs++;
	s->names += more + 1;
}

/* The bytes of the runs that are in memory, one after the other. */
static void gather_chunks(const struct names_trigrams *t, const struct trigram_state *s,
			  struct buf *out)
{
	for (uint32_t at = s->first; at;) {
		const uint8_t *p = t->chunks + at;
		bool last = at == s->chunk;
		buf_add(out, p + CHUNK_HEAD, last ? s->at - at - CHUNK_HEAD : fetch_u32(p + 4));
		at = last ? 0 : fetch_u32(p);
	}
}

/* All chunks to the file. */
static int spill_chunks(struct names_trigrams *t, struct err *err)
{
	struct spilled_part part = {.place = mem_array(t->n, sizeof *part.place),
				    .trigrams = (uint32_t)t->n};
	struct buf bytes = BUF_INIT(SIZE_MAX / 2);
	int rc = t->file.fd < 0 ? file_temporary(&t->file, t->folder, err) : 0;
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		struct trigram_state *s = &t->state[i];
		size_t before = bytes.n;
		gather_chunks(t, s, &bytes);
		part.place[i].at = t->file_bytes + before;
		part.place[i].n = (uint32_t)(bytes.n - before);
		s->first = s->chunk = s->at = s->end = 0;
		if (bytes.n >= (size_t)1 << 20 || i + 1 == t->n) {
			rc = file_write(&t->file, buf_str(&bytes).p, bytes.n, t->file_bytes, err);
			t->file_bytes += bytes.n;
			buf_clear(&bytes);
		}
	}
	buf_free(&bytes);
	*VEC_PUSH(t->part, t->parts, t->part_room) = part;
	t->used = CHUNK_HEAD;
	return rc;
}

/* Names */

static uint32_t new_trigram(struct names_trigrams *t, uint32_t *slot, const uint8_t *p)
{
	size_t room = t->room;
	VEC_ROOM(t->run, t->room, t->n + 1);
	if (room != t->room)
		t->state = mem_resize(t->state, t->room * sizeof *t->state);
	t->state[t->n] =
		(struct trigram_state){.trigram = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2],
				       .last = UINT32_MAX - 1};
	*slot = (uint32_t)++t->n;
	return *slot - 1;
}

static void new_tables(struct names_trigrams *t)
{
	mem_free(&t->id);
	mem_free(&t->met);
	t->id = mem_array((size_t)1 << 3 * t->shift, sizeof *t->id);
	t->met = mem_array((size_t)1 << 2 * t->shift, sizeof *t->met);
}

/* Room for as many different bytes as a name may bring in. */
static void grow_rows(struct names_trigrams *t)
{
	t->shift++;
	new_tables(t);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t trigram = t->state[i].trigram, key = 0;
		for (unsigned k = 0; k < NAMES_TRIGRAM; k++)
			key = key << t->shift | t->number[trigram >> (16 - 8 * k) & 0xff];
		t->id[key] = (uint32_t)i + 1;
	}
}

static void number_byte(struct names_trigrams *t, uint8_t byte)
{
	if (t->bytes == 1u << t->shift)
		grow_rows(t);
	t->known[byte] = true;
	t->number[byte] = (uint8_t)t->bytes++;
}

static inline void add_trigram(struct names_trigrams *t, uint32_t key, const uint8_t p[3],
			       uint32_t name)
{
	uint32_t *slot = &t->id[key], id = *slot - 1;
	if (UNLIKELY(*slot == 0)) {
		id = new_trigram(t, slot, p);
		t->run[id] = (struct trigram_run){name, name};
		return;
	}
	struct trigram_run *run = &t->run[id];
	if (run->to + 1 < name) {
		end_run(t, id);
		run->from = name;
	}
	run->to = name;
}

static inline void meet_pair(struct names_trigrams *t, uint32_t key, const uint8_t p[2],
			     uint32_t name)
{
	if (UNLIKELY(t->met[key] == t->time))
		add_trigram(t, key, (const uint8_t[]){0, p[0], p[1]}, name);
	t->met[key] = t->time;
}

/* All of a name whose bytes have numbers. false: one has none, and gets it. What was added of the
 * name until then may be added again. */
static bool add_trigrams(struct names_trigrams *t, const uint8_t *p, size_t n, uint32_t name)
{
	unsigned shift = t->shift;
	uint32_t mask = ((uint32_t)1 << 3 * shift) - 1, pair = ((uint32_t)1 << 2 * shift) - 1, key;
	uint8_t second = n > 1 ? p[1] : 0;
	if (UNLIKELY(!t->known[p[0]] || !t->known[second])) {
		number_byte(t, t->known[p[0]] ? second : p[0]);
		return false;
	}
	t->time++;
	key = (uint32_t)t->number[p[0]] << shift | t->number[second];
	for (size_t i = 0; i + 2 < n; i++) {
		if (UNLIKELY(!t->known[p[i + 2]])) {
			number_byte(t, p[i + 2]);
			return false;
		}
		meet_pair(t, key & pair, p + i, name);
		key = (key << shift | t->number[p[i + 2]]) & mask;
		add_trigram(t, key, p + i, name);
	}
	/* At the end two zero bytes take the place of those that are not there. */
	if (n > 1) {
		meet_pair(t, key & pair, p + n - 2, name);
		key = key << shift & mask;
		add_trigram(t, key, (const uint8_t[]){p[n - 2], p[n - 1], 0}, name);
	}
	key = key << shift & mask;
	add_trigram(t, key, (const uint8_t[]){p[n - 1], 0, 0}, name);
	return true;
}

int names_trigrams_add(struct names_trigrams *t, struct str folded, uint32_t name, struct err *err)
{
	while (folded.n && UNLIKELY(!add_trigrams(t, (const uint8_t *)folded.p, folded.n, name)))
		;
	return t->used > t->most ? spill_chunks(t, err) : 0;
}

struct names_trigrams *names_trigrams_new(uint64_t memory, const char *folder)
{
	struct names_trigrams *t = mem_alloc(sizeof *t);
	t->shift = ROW_BITS;
	new_tables(t);
	number_byte(t, 0); /* its number is 0, so the key of a pair is that of a zero byte and it */
	t->folder = mem_text(folder);
	t->file = FILE_INIT;
	t->most = (size_t)MIN(MAX(memory, (uint64_t)MEMORY_LEAST), (uint64_t)UINT32_MAX / 2);
	t->used = CHUNK_HEAD;
	t->all = BUF_INIT(SIZE_MAX / 2);
	return t;
}

/* Writing */

struct list_writer {
	struct page_writer *out;
	struct buf skip, data;
	uint32_t gap[PACK_N], more[PACK_N];
	uint32_t n, last;
};

static void end_list_block(struct list_writer *w)
{
	uint8_t bytes[2 * PACK_MOST];
	size_t n = pack_block(w->gap, bytes);
	n += pack_block(w->more, bytes + n);
	buf_add(&w->data, bytes, n);
	put_u32le(&w->skip, w->last);
	put_u16le(&w->skip, (uint16_t)n);
	w->n = 0;
}

static void end_list(struct list_writer *w, uint32_t runs)
{
	uint8_t bytes[2 * PACK_MOST];
	struct buf head = BUF_INIT(16);
	if (w->n) {
		size_t n = pack_tail(w->gap, w->n, bytes);
		n += pack_tail(w->more, w->n, bytes + n);
		buf_add(&w->data, bytes, n);
	}
	put_varint(&head, runs);
	page_put(w->out, head.p, head.n);
	page_put(w->out, buf_str(&w->skip).p, w->skip.n);
	page_put(w->out, buf_str(&w->data).p, w->data.n);
	buf_free(&head);
	buf_clear(&w->skip);
	buf_clear(&w->data);
	w->n = 0;
}

static inline uint32_t take_number(const uint8_t **p)
{
	uint32_t v = 0, byte;
	unsigned shift = 0;
	do {
		byte = *(*p)++;
		v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte >= 0x80);
	return v;
}

static void put_list(struct list_writer *w, const struct buf *all, uint32_t runs)
{
	const uint8_t *p = (const uint8_t *)all->p;
	w->last = UINT32_MAX - 1;
	for (uint32_t i = 0; i < runs; i++) {
		uint32_t v = take_number(&p);
		w->gap[w->n] = v >> 1;
		w->more[w->n] = v & 1 ? take_number(&p) + 1 : 0;
		w->last += 2 + w->gap[w->n] + w->more[w->n];
		if (++w->n == PACK_N)
			end_list_block(w);
	}
	end_list(w, runs);
}

static int read_spilled(struct names_trigrams *t, uint32_t id, struct err *err)
{
	for (size_t i = 0; i < t->parts; i++) {
		if (id >= t->part[i].trigrams || t->part[i].place[id].n == 0)
			continue;
		size_t n = t->part[i].place[id].n, got;
		char *to = buf_room(&t->all, n);
		ENSURE(to);
		if (file_read(&t->file, to, n, t->part[i].place[id].at, &got, err) < 0)
			return -1;
		if (got != n)
			return err_set(err, ERR_SYSTEM,
				       "%s: a temporary file lost bytes while names were built",
				       t->folder);
		buf_grew(&t->all, n);
	}
	return 0;
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x, y;
	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	return x < y ? -1 : x > y;
}

int names_trigrams_write(struct names_trigrams *t, struct page_writer *out, struct buf *directory,
			 uint32_t *ret_trigrams, struct err *err)
{
	uint64_t *order = mem_array(t->n + 1, sizeof *order), start = out->n;
	uint32_t from[NAMES_BYTES + 1] = {0};
	struct list_writer w = {
		.out = out, .skip = BUF_INIT(SIZE_MAX / 2), .data = BUF_INIT(SIZE_MAX / 2)};
	int rc = 0;
	for (size_t i = 0; i < t->n; i++) {
		end_run(t, (uint32_t)i);
		order[i] = (uint64_t)t->state[i].trigram << 32 | i;
		from[(t->state[i].trigram >> 16) + 1]++;
	}
	qsort(order, t->n, sizeof *order, compare_u64);
	for (unsigned i = 0; i <= NAMES_BYTES; i++) {
		from[i] += i ? from[i - 1] : 0;
		put_u32le(directory, from[i]);
	}
	for (size_t i = 0; i < t->n && rc == 0; i++) {
		uint32_t id = (uint32_t)order[i];
		const struct trigram_state *s = &t->state[id];
		uint64_t at = out->n - start;
		put_u32le(directory, s->trigram << 8 | (uint32_t)(at >> 32));
		put_u32le(directory, (uint32_t)at);
		put_u32le(directory, s->names);
		buf_clear(&t->all);
		rc = read_spilled(t, id, err);
		gather_chunks(t, s, &t->all);
		if (rc == 0)
			put_list(&w, &t->all, s->runs);
	}
	*ret_trigrams = (uint32_t)t->n;
	buf_free(&w.skip);
	buf_free(&w.data);
	mem_free(&order);
	return rc;
}
