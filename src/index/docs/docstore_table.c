/* The table of a document store: a slot by oid that says where the document lies. It is mapped by
 * the writer and by all readers, and changed in place, so each slot has a check of its own. The
 * order of the two stores of a change is such that a document which comes or goes does so in one:
 * only one that compaction moves can be seen half, and its reader looks again. Its state, how far
 * it is durable, is in two copies that are written in turn. */
#include "base/fault.h"
#include "base/vec.h"
#include "disk/map_guard.h"
#include "index/docs/docstore_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/mman.h>

enum {
	MAP_STEP = 64 << 20, /* mapped further than it reaches, so that growing is cheap */
	PAGE = 4096,
	PUNCH = 1 << 20,
	MOVES_AT = 16, /* in the head */
	STATE_FIXED = 48,
	STATE_FILE = 40,
	STATE_FILES = (TABLE_STATE_ROOM - STATE_FIXED) / STATE_FILE,
	TRIES = 100,
};

/* Mapping */

static int table_map(struct doc_table *t, uint64_t bytes, struct err *err)
{
	size_t size = ((size_t)bytes / MAP_STEP + 1) * MAP_STEP;
	if (t->map && t->map_size >= size)
		return 0;
	int how = PROT_READ | (t->writes ? PROT_WRITE : 0);
	void *p = mmap(NULL, size, how, MAP_SHARED, t->f.fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "%s: map of %zu bytes", t->f.path, size);
	map_guard_free(&t->guard);
	if (t->map)
		(void)munmap(t->map, t->map_size);
	t->map = p;
	t->map_size = size;
	t->guard = map_guard_new(p, size);
	return 0;
}

int table_look(struct doc_table *t, struct err *err)
{
	struct stat st;
	if (fstat(t->f.fd, &st) < 0)
		return err_sys(err, "%s", t->f.path);
	if (table_map(t, (uint64_t)st.st_size, err) < 0)
		return -1;
	t->bytes = (uint64_t)st.st_size;
	t->inode = st.st_ino;
	return 0;
}

void table_close(struct doc_table *t)
{
	map_guard_free(&t->guard);
	if (t->map)
		(void)munmap(t->map, t->map_size);
	file_drop(&t->f);
	*t = DOC_TABLE_INIT;
}

static int table_head_check(const struct doc_table *t, struct err *err)
{
	char head[FORMAT_MAGIC + 4];
	size_t got;
	if (file_read(&t->f, head, sizeof head, 0, &got, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){head, got});
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (r.bad || !str_eq(magic, STR(TABLE_MAGIC)) || version != TABLE_VERSION ||
	    t->bytes < TABLE_HEAD + TABLE_STEP)
		return err_set(err, ERR_DAMAGED, "%s: does not begin as a table of documents does",
			       t->f.path);
	return 0;
}

int table_open(struct doc_table *t, const char *path, bool writes, struct err *err)
{
	struct doc_table new = {.f = FILE_INIT, .writes = writes};
	int rc = file_open(&new.f, path, writes ? O_RDWR : O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	if (table_look(&new, err) < 0 || table_head_check(&new, err) < 0) {
		table_close(&new);
		return -1;
	}
	*t = new;
	return 0;
}

int table_create(struct doc_table *t, const char *path, struct err *err)
{
	struct doc_table new = {.f = FILE_INIT, .writes = true};
	CLEANUP(buf_free) struct buf head = BUF_INIT(PAGE);
	buf_add(&head, TABLE_MAGIC, FORMAT_MAGIC);
	put_u32le(&head, TABLE_VERSION);
	put_u32le(&head, 0);
	put_u64le(&head, 1);
	if (file_open(&new.f, path, O_RDWR | O_CREAT | O_TRUNC, 0644, err) < 0)
		return -1;
	if (file_write(&new.f, head.p, head.n, 0, err) < 0 ||
	    file_allocate(&new.f, TABLE_HEAD + TABLE_STEP, err) < 0 || table_look(&new, err) < 0) {
		table_close(&new);
		return -1;
	}
	*t = new;
	return 0;
}

int table_check(const struct doc_table *t, struct err *err)
{
	if (LIKELY(!map_guard_failed(t->guard)))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: part of it cannot be read any more; stop the writer and remove it: it "
		       "is made again from the documents",
		       t->f.path);
}

int table_slot_damaged(const struct doc_table *t, uint64_t oid, struct err *err)
{
	return err_set(err, ERR_DAMAGED,
		       "%s: the slot of document %" PRIu64
		       " is damaged; stop the writer and remove the table: it is made again from "
		       "the documents",
		       t->f.path, oid);
}

/* Slots */

uint64_t table_slots(const struct doc_table *t)
{
	return (t->bytes - TABLE_HEAD) / TABLE_SLOT;
}

bool table_has_room(const struct doc_table *t, uint64_t oid)
{
	return oid < table_slots(t);
}

/* An eighth more at a time, so that a table that is filled one by one grows rarely. What it grows
 * by is allocated: a write to a hole could fail, and there is nobody to tell. */
int table_grow(struct doc_table *t, uint64_t oid, struct err *err)
{
	uint64_t need = TABLE_HEAD + (oid + 1) * TABLE_SLOT;
	if (table_has_room(t, oid))
		return 0;
	uint64_t size = MAX(need, t->bytes + MIN(t->bytes / 8, (uint64_t)16 << 20));
	size = (size + TABLE_STEP - 1) / TABLE_STEP * TABLE_STEP;
	FAULT("docstore.table.grow");
	if (file_extend(&t->f, t->bytes, size, err) < 0)
		return -1;
	return table_look(t, err);
}

static uint64_t *slot_at(const struct doc_table *t, uint64_t oid)
{
	return (uint64_t *)(void *)(t->map + TABLE_HEAD + oid * TABLE_SLOT);
}

static uint32_t slot_check(uint64_t oid, uint64_t addr, uint32_t bytes)
{
	uint64_t v[] = {htole64(oid), htole64(addr), htole64((uint64_t)bytes)};
	return crc32c(0, v, sizeof v);
}

struct table_slot table_raw(const struct doc_table *t, uint64_t oid)
{
	const uint64_t *p = slot_at(t, oid);
	uint64_t addr = le64toh(__atomic_load_n(&p[0], __ATOMIC_ACQUIRE));
	uint64_t rest = le64toh(__atomic_load_n(&p[1], __ATOMIC_ACQUIRE));
	return (struct table_slot){addr, (uint32_t)rest};
}

int table_get(const struct doc_table *t, uint64_t oid, struct table_slot *ret)
{
	if (oid == 0 || !table_has_room(t, oid))
		return 1;
	const uint64_t *p = slot_at(t, oid);
	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint64_t addr = le64toh(__atomic_load_n(&p[0], __ATOMIC_ACQUIRE));
		uint64_t rest = le64toh(__atomic_load_n(&p[1], __ATOMIC_ACQUIRE));
		if (addr == 0)
			return 1;
		if (LIKELY(rest >> 32 == slot_check(oid, addr, (uint32_t)rest))) {
			*ret = (struct table_slot){addr, (uint32_t)rest};
			return 0;
		}
		(void)sched_yield();
	}
	return -1;
}

/* The address makes it count: it is written last when the document comes, and first, and alone,
 * when it goes. */
void table_set(struct doc_table *t, uint64_t oid, struct table_slot slot)
{
	uint64_t *p = slot_at(t, oid);
	uint64_t rest = (uint64_t)slot_check(oid, slot.addr, slot.bytes) << 32 | slot.bytes;
	if (slot.addr)
		__atomic_store_n(&p[1], htole64(rest), __ATOMIC_RELEASE);
	__atomic_store_n(&p[0], htole64(slot.addr), __ATOMIC_RELEASE);
	if (!slot.addr)
		__atomic_store_n(&p[1], 0, __ATOMIC_RELEASE);
}

void table_clear_from(struct doc_table *t, uint64_t oid)
{
	for (uint64_t n = table_slots(t); oid < n; oid++) {
		const uint64_t *p = slot_at(t, oid);
		if (__atomic_load_n(&p[0], __ATOMIC_RELAXED) ||
		    __atomic_load_n(&p[1], __ATOMIC_RELAXED))
			table_set(t, oid, (struct table_slot){0});
	}
}

uint64_t table_moves(const struct doc_table *t)
{
	return __atomic_load_n((const uint64_t *)(const void *)(t->map + MOVES_AT),
			       __ATOMIC_ACQUIRE);
}

void table_moved(struct doc_table *t)
{
	(void)__atomic_add_fetch((uint64_t *)(void *)(t->map + MOVES_AT), 1, __ATOMIC_RELEASE);
}

static bool all_zero(const char *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

/* Slots of what was deleted are never used again. Where that fails, nothing is lost. */
void table_punch(struct doc_table *t, uint64_t top)
{
	struct err ignored;
	uint64_t end = TABLE_HEAD + top * TABLE_SLOT;
	for (uint64_t at = PUNCH; at + PUNCH <= end; at += PUNCH)
		if (all_zero(t->map + at, PUNCH))
			(void)file_punch(&t->f, at, PUNCH, &ignored);
}

/* State */

void table_state_free(struct table_state *s)
{
	mem_free(&s->file);
	*s = (struct table_state){0};
}

static void state_print(const struct table_state *s, uint64_t generation, struct buf *out)
{
	size_t files = MIN(s->files, (size_t)STATE_FILES);
	put_u64le(out, generation);
	put_u32le(out, s->mark.file);
	put_u32le(out, s->next);
	put_u64le(out, s->mark.length);
	put_u64le(out, s->top);
	put_u64le(out, files);
	for (size_t i = 0; i < files; i++) {
		put_u32le(out, s->file[i].number);
		put_u32le(out, s->file[i].compacted);
		put_u64le(out, s->file[i].docs);
		put_u64le(out, s->file[i].text_bytes);
		put_u64le(out, s->file[i].dead_docs);
		put_u64le(out, s->file[i].dead_bytes);
	}
}

static bool state_parse_file(struct reader *r, struct store_file *ret)
{
	struct store_file f = {.number = reader_u32le(r)};
	uint32_t kind = reader_u32le(r);
	f.compacted = kind;
	f.docs = reader_u64le(r);
	f.text_bytes = reader_u64le(r);
	f.dead_docs = reader_u64le(r);
	f.dead_bytes = reader_u64le(r);
	*ret = f;
	return !r->bad && kind <= 1 && f.number > 0 && f.number < BLOCK_FILES;
}

bool table_state_parse(struct str bytes, uint64_t *ret_generation, struct table_state *ret)
{
	struct reader r = reader_of(bytes);
	uint32_t crc = reader_u32le(&r), n = reader_u32le(&r);
	struct str payload = reader_bytes(&r, n);
	if (r.bad || n == 0 || crc != crc32c(0, payload.p, payload.n))
		return false;
	r = reader_of(payload);
	struct table_state s = {0};
	uint64_t generation = reader_u64le(&r);
	s.mark.file = reader_u32le(&r);
	s.next = reader_u32le(&r);
	s.mark.length = reader_u64le(&r);
	s.top = reader_u64le(&r);
	uint64_t files = reader_u64le(&r);
	bool good = !r.bad && files <= STATE_FILES && s.top <= DOCSTORE_OID_MOST &&
		    s.mark.file < BLOCK_FILES && s.next <= BLOCK_FILES;
	for (uint64_t i = 0; good && i < files; i++)
		good = state_parse_file(&r, VEC_PUSH(s.file, s.files, s.file_room));
	if (!good) {
		table_state_free(&s);
		return false;
	}
	*ret_generation = generation;
	*ret = s;
	return true;
}

static int state_read(const struct doc_table *t, unsigned copy, uint64_t *ret_generation,
		      struct table_state *ret, struct err *err)
{
	char bytes[TABLE_STATE_ROOM];
	size_t got;
	if (file_read(&t->f, bytes, sizeof bytes, TABLE_STATE + copy * TABLE_STATE_ROOM, &got,
		      err) < 0)
		return -1;
	return table_state_parse((struct str){bytes, got}, ret_generation, ret) ? 0 : 1;
}

int table_load(struct doc_table *t, struct table_state *ret, struct err *err)
{
	struct table_state s[2] = {0};
	uint64_t generation[2] = {0};
	int rc[2] = {1, 1};
	for (unsigned i = 0; i < 2; i++)
		if ((rc[i] = state_read(t, i, &generation[i], &s[i], err)) < 0) {
			table_state_free(&s[0]);
			return -1;
		}
	unsigned last = rc[0] != 0 || (rc[1] == 0 && generation[1] > generation[0]);
	table_state_free(&s[1 - last]);
	if (rc[last] != 0)
		return err_set(err, ERR_DAMAGED, "%s: its state is damaged", t->f.path);
	if (s[last].top && !table_has_room(t, s[last].top)) {
		table_state_free(&s[last]);
		return err_set(err, ERR_DAMAGED, "%s: it was cut", t->f.path);
	}
	t->generation = generation[last];
	*ret = s[last];
	return 0;
}

/* All of it is to be written once more. */
static void table_touch(struct doc_table *t)
{
	for (uint64_t at = 0; at < t->bytes; at += PAGE)
		(void)__atomic_fetch_or((uint64_t *)(void *)(t->map + at), 0, __ATOMIC_RELAXED);
}

static int table_sync(struct doc_table *t, struct err *err)
{
	if (t->suspect)
		table_touch(t);
	if (file_sync(&t->f, err) < 0) {
		t->suspect = true;
		return -1;
	}
	return 0;
}

int table_save(struct doc_table *t, const struct table_state *s, struct err *err)
{
	CLEANUP(buf_free)
	struct buf payload = BUF_INIT(TABLE_STATE_ROOM), bytes = BUF_INIT(TABLE_STATE_ROOM);
	uint64_t at = TABLE_STATE + (t->generation + 1) % 2 * TABLE_STATE_ROOM;
	state_print(s, t->generation + 1, &payload);
	put_u32le(&bytes, crc32c(0, payload.p, payload.n));
	put_u32le(&bytes, (uint32_t)payload.n);
	buf_add_str(&bytes, buf_str(&payload));
	ENSURE(!bytes.over);
	FAULT("docstore.table");
	if (table_check(t, err) < 0 || table_sync(t, err) < 0)
		return -1;
	FAULT("docstore.table.synced");
	if (file_write(&t->f, bytes.p, bytes.n, at, err) < 0 || table_sync(t, err) < 0)
		return -1;
	FAULT("docstore.table.saved");
	t->generation++;
	t->suspect = false;
	return 0;
}
