/* A set is a record that begins it, one for each piece, and one that ends it; a put ends with a
 * sync, and one that fails is cut off again. What was taken out is noted by a further record, which
 * nobody syncs: after a crash some sets come out once more, under numbers that the queue manager
 * knows.
 *
 * The file is emptied when nothing waits any more. It does not shrink before: a server that is
 * drained as fast as it fills comes to that point soon, and one that fills faster has to stop
 * taking sets. */
#include "cache/unsdb.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"
#include "cache/uns/link_wire.h"
#include "disk/record.h"

#include <inttypes.h>
#include <pthread.h>

enum entry_kind { ENTRY_BEGIN = 1, ENTRY_PIECE, ENTRY_END, ENTRY_TAKEN };

enum { ENTRY_MOST = LINK_PIECE_MAX + 1 };

static const struct record_kind unsdb_kind = {
	.magic = "GARNERUD", .version = 1, .most = ENTRY_MOST};

struct unsdb {
	char *path;
	struct record_writer *writer;
	pthread_mutex_t putting; /* one at a time, and none while the file is emptied */
	pthread_mutex_t reading;
	struct record_reader *reader; /* NULL: not open */
	pthread_mutex_t lock;         /* of the list */
	struct unsdb_set *set;
	size_t first, n, room; /* those from `first` on wait */
};

bool unsdb_is_name(const char *name)
{
	struct str text = str_of(name);
	return str_starts(text, STR("unsdb")) && str_find_byte(text, '.') == text.n;
}

/* Records. */

struct entry {
	enum entry_kind kind;
	struct unsdb_set set; /* BEGIN; END: the number */
	struct str piece;     /* PIECE */
	uint64_t next;        /* TAKEN: the place of the first set that waits */
};

static void entry_write(const struct entry *e, struct buf *out)
{
	put_u8(out, (uint8_t)e->kind);
	if (e->kind == ENTRY_BEGIN || e->kind == ENTRY_END)
		put_varint(out, e->set.number);
	if (e->kind == ENTRY_BEGIN) {
		put_varint(out, e->set.provider);
		put_u8(out, e->set.is_full);
		put_varint(out, e->set.urls);
		put_varint(out, (uint64_t)e->set.at_us);
	}
	if (e->kind == ENTRY_TAKEN)
		put_varint(out, e->next);
}

static int entry_read(struct str payload, struct entry *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct entry e = {.kind = (enum entry_kind)reader_u8(&r)};
	unsigned full = 0;
	if (e.kind == ENTRY_BEGIN || e.kind == ENTRY_END)
		e.set.number = reader_varint(&r);
	if (e.kind == ENTRY_BEGIN) {
		e.set.provider = reader_varint(&r);
		full = reader_u8(&r);
		e.set.is_full = full == 1;
		e.set.urls = reader_varint(&r);
		e.set.at_us = (int64_t)reader_varint(&r);
	}
	if (e.kind == ENTRY_TAKEN)
		e.next = reader_varint(&r);
	if (e.kind == ENTRY_PIECE)
		e.piece = reader_bytes(&r, reader_left(&r));
	if (r.bad || reader_left(&r) || e.kind < ENTRY_BEGIN || e.kind > ENTRY_TAKEN || full > 1 ||
	    e.set.at_us < 0)
		return err_set(err, ERR_DAMAGED, "not an entry of unsdb");
	*ret = e;
	return 0;
}

static int entry_show(struct str payload, struct buf *out, struct err *err)
{
	struct entry e = {0};
	if (entry_read(payload, &e, err) < 0)
		return -1;
	switch (e.kind) {
	case ENTRY_BEGIN:
		buf_printf(out, "set %" PRIu64 " provider %" PRIu64 " %s %" PRIu64 " URLs ",
			   e.set.number, e.set.provider, e.set.is_full ? "full" : "partial",
			   e.set.urls);
		time_print(out, e.set.at_us, 0);
		break;
	case ENTRY_PIECE:
		buf_printf(out, "piece %zu bytes", e.piece.n);
		break;
	case ENTRY_END:
		buf_printf(out, "end %" PRIu64, e.set.number);
		break;
	case ENTRY_TAKEN:
		buf_printf(out, "taken before %" PRIu64, e.next);
		break;
	}
	return 0;
}

const struct format unsdb_format = {
	.name = "unsdb",
	.file = "cache/unsdb*",
	.magic = "GARNERUD",
	.version = 1,
	.help = "sets of providers that the queue manager does not have yet",
	.remedy = "start the role uns, which moves it away and asks all providers for full sets; "
		  "what was moved away may be removed",
	.records = &unsdb_kind,
	.show = entry_show,
};

/* The list. */

static void list_add(struct unsdb *u, const struct unsdb_set *set)
{
	pthread_mutex_lock(&u->lock);
	*VEC_PUSH(u->set, u->n, u->room) = *set;
	pthread_mutex_unlock(&u->lock);
}

/* The first n that wait are gone; returns the place of the next one, 0: there is none. */
static uint64_t list_drop(struct unsdb *u, uint64_t n)
{
	pthread_mutex_lock(&u->lock);
	u->first += n;
	ENSURE(u->first <= u->n);
	uint64_t next = u->first < u->n ? u->set[u->first].place : 0;
	if (u->first == u->n) {
		u->first = u->n = u->room = 0;
		mem_free(&u->set);
	} else if (u->first > u->n / 2) {
		u->n -= u->first;
		memmove(u->set, u->set + u->first, u->n * sizeof *u->set);
		u->first = 0;
	}
	pthread_mutex_unlock(&u->lock);
	return next;
}

int unsdb_next(struct unsdb *u, uint64_t after, struct unsdb_set *ret)
{
	pthread_mutex_lock(&u->lock);
	size_t at = BISECT(i, u->first, u->n, u->set[i].place <= after);
	bool is_there = at < u->n;
	if (is_there)
		*ret = u->set[at];
	pthread_mutex_unlock(&u->lock);
	return is_there ? 0 : 1;
}

int unsdb_find(struct unsdb *u, uint64_t provider, uint64_t number, struct unsdb_set *ret)
{
	int rc = 1;
	pthread_mutex_lock(&u->lock);
	for (size_t i = u->n; i > u->first && rc; i--) {
		const struct unsdb_set *s = &u->set[i - 1];
		if (s->provider == provider && (number == 0 || s->number == number)) {
			*ret = *s;
			rc = 0;
		}
	}
	pthread_mutex_unlock(&u->lock);
	return rc;
}

uint64_t unsdb_urls(struct unsdb *u, uint64_t provider)
{
	uint64_t urls = 0;
	pthread_mutex_lock(&u->lock);
	for (size_t i = u->first; i < u->n; i++)
		urls += u->set[i].provider == provider ? u->set[i].urls : 0;
	pthread_mutex_unlock(&u->lock);
	return urls;
}

uint64_t unsdb_waiting(struct unsdb *u)
{
	pthread_mutex_lock(&u->lock);
	uint64_t n = u->n - u->first;
	pthread_mutex_unlock(&u->lock);
	return n;
}

uint64_t unsdb_size(struct unsdb *u)
{
	return record_end(u->writer);
}

/* Opening. */

/* *ret_half: where a set begins that is not whole; 0: there is none. */
static int unsdb_scan(struct unsdb *u, struct record_reader *r, uint64_t *ret_half, struct err *err)
{
	struct unsdb_set set = {0};
	struct record record;
	uint64_t next = 0, gone = 0;
	int rc;
	while ((rc = record_next(r, &record, err)) == 0) {
		struct entry e = {0};
		if (entry_read(record.payload, &e, err) < 0)
			return err_in(err, "byte %" PRIu64, record.place.at);
		if (e.kind == ENTRY_BEGIN) {
			set = e.set;
			set.place = record.place.at;
		} else if (e.kind == ENTRY_END && set.place) {
			set.bytes = record.place.next - set.place;
			list_add(u, &set);
			set.place = 0;
		} else if (e.kind == ENTRY_TAKEN) {
			next = e.next;
		}
	}
	if (rc < 0)
		return -1;
	while (gone < u->n && u->set[gone].place < next)
		gone++;
	(void)list_drop(u, gone);
	*ret_half = set.place;
	return 0;
}

static int unsdb_load(struct unsdb *u, struct err *err)
{
	struct record_reader *r;
	uint64_t half = 0;
	int rc = record_reader_open(&r, u->path, &unsdb_kind, err);
	if (rc != 0)
		return MIN(rc, 0);
	rc = unsdb_scan(u, r, &half, err);
	record_reader_free(&r);
	if (rc == 0 && half)
		rc = record_truncate(u->writer, half, err);
	if (rc == 0 && unsdb_waiting(u) == 0)
		rc = record_truncate(u->writer, RECORD_HEADER, err);
	return rc;
}

int unsdb_open(struct unsdb **ret, const char *path, struct err *err)
{
	struct unsdb *u = mem_alloc(sizeof *u);
	u->path = mem_text(path);
	pthread_mutex_init(&u->putting, NULL);
	pthread_mutex_init(&u->reading, NULL);
	pthread_mutex_init(&u->lock, NULL);
	if (record_open(&u->writer, path, &unsdb_kind, 0640, NULL, err) < 0 ||
	    unsdb_load(u, err) < 0) {
		unsdb_close(&u);
		return -1;
	}
	*ret = u;
	return 0;
}

void unsdb_close(struct unsdb **up)
{
	struct unsdb *u = *up;
	struct err err;
	if (!u)
		return;
	record_reader_free(&u->reader);
	if (u->writer)
		(void)record_close(&u->writer, &err); /* all sets are on disk already */
	pthread_mutex_destroy(&u->putting);
	pthread_mutex_destroy(&u->reading);
	pthread_mutex_destroy(&u->lock);
	mem_free(&u->set);
	mem_free(&u->path);
	mem_free(up);
}

/* In. */

static int entry_append(struct unsdb *u, const struct entry *e, struct record_group *group,
			uint64_t *ret_place, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(128);
	struct record_place place;
	entry_write(e, &payload);
	if (record_append(u->writer, buf_str(&payload), group, &place, err) < 0)
		return -1;
	if (ret_place)
		*ret_place = place.at;
	return 0;
}

static int pieces_append(struct unsdb *u, unsdb_pieces_fn *fn, void *ctx,
			 struct record_group *group, struct err *err)
{
	CLEANUP(buf_free) struct buf piece = BUF_INIT(ENTRY_MOST);
	int rc;
	do {
		buf_clear(&piece);
		put_u8(&piece, ENTRY_PIECE);
		rc = fn(ctx, &piece, err);
		if (rc == 0)
			rc = record_append(u->writer, buf_str(&piece), group, NULL, err);
	} while (rc == 0);
	return MIN(rc, 0);
}

/* Unless something is being put in, which then does it at its end. */
static int unsdb_empty(struct unsdb *u, struct err *err)
{
	int rc = 0;
	if (pthread_mutex_trylock(&u->putting) != 0)
		return 0;
	if (unsdb_waiting(u) == 0) {
		pthread_mutex_lock(&u->reading);
		record_reader_free(&u->reader);
		FAULT("uns.empty");
		rc = record_truncate(u->writer, RECORD_HEADER, err);
		pthread_mutex_unlock(&u->reading);
	}
	pthread_mutex_unlock(&u->putting);
	return rc;
}

int unsdb_put(struct unsdb *u, const struct unsdb_set *set, unsdb_pieces_fn *fn, void *ctx,
	      struct err *err)
{
	struct entry begin = {.kind = ENTRY_BEGIN, .set = *set};
	struct entry end = {.kind = ENTRY_END, .set = *set};
	struct record_group group = {0};
	struct unsdb_set added = *set;
	struct err ignored;
	pthread_mutex_lock(&u->putting);
	uint64_t before = record_end(u->writer);
	int rc = entry_append(u, &begin, &group, &added.place, err);
	if (rc == 0)
		rc = pieces_append(u, fn, ctx, &group, err);
	if (rc == 0)
		rc = entry_append(u, &end, &group, NULL, err);
	FAULT("uns.unsdb");
	if (rc == 0)
		rc = record_sync(u->writer, &group, err);
	added.bytes = record_end(u->writer) - before;
	if (rc == 0)
		list_add(u, &added);
	else if (record_end(u->writer) > before)
		(void)record_truncate(u->writer, before, &ignored); /* the next open cuts it */
	pthread_mutex_unlock(&u->putting);
	if (unsdb_waiting(u) == 0) /* the last one went meanwhile */
		(void)unsdb_empty(u, &ignored);
	return rc;
}

/* Out. */

static int piece_read(struct unsdb *u, uint64_t *place, struct buf *out, struct err *err)
{
	struct record record;
	struct entry e;
	int rc = u->reader ? 0 : record_reader_open(&u->reader, u->path, &unsdb_kind, err);
	if (rc != 0)
		return rc < 0 ? -1 : err_set(err, ERR_DAMAGED, "%s is gone", u->path);
	if (record_tell(u->reader) != *place)
		record_seek(u->reader, *place);
	for (;;) {
		rc = record_next(u->reader, &record, err);
		if (rc != 0)
			return rc < 0 ? -1
				      : err_set(err, ERR_DAMAGED, "%s ends within a set", u->path);
		if (entry_read(record.payload, &e, err) < 0)
			return -1;
		if (e.kind == ENTRY_END)
			return 1;
		*place = record.place.next;
		if (e.kind == ENTRY_PIECE) {
			buf_add_str(out, e.piece);
			return 0;
		}
	}
}

int unsdb_piece(struct unsdb *u, uint64_t *place, struct buf *out, struct err *err)
{
	pthread_mutex_lock(&u->reading);
	int rc = piece_read(u, place, out, err);
	pthread_mutex_unlock(&u->reading);
	return rc;
}

int unsdb_taken(struct unsdb *u, struct err *err)
{
	struct record_group group = {0};
	struct entry taken = {.kind = ENTRY_TAKEN, .next = list_drop(u, 1)};
	if (taken.next == 0)
		return unsdb_empty(u, err);
	return entry_append(u, &taken, &group, NULL, err);
}

/* Reading from outside. The file may be emptied at any time, and filled again: then what is found
 * is not the set, or no entry at all, and that is the end of it. Damage is told by the role. */

struct unsdb_reader {
	struct record_reader *reader;
	uint64_t provider, number; /* that were asked for; 0: all */
	uint64_t last;             /* where the last set begins that was asked for and is whole */
	struct unsdb_set set;
};

static int entry_next(struct unsdb_reader *r, struct record_place *ret_place, struct entry *ret,
		      struct err *err)
{
	struct record record;
	int rc = record_next(r->reader, &record, err);
	if (rc == 0) {
		*ret_place = record.place;
		rc = entry_read(record.payload, ret, err);
	}
	return rc < 0 && err->code == ERR_DAMAGED ? 1 : rc;
}

static bool is_asked(const struct unsdb_reader *r, const struct unsdb_set *set)
{
	return (r->provider == 0 || set->provider == r->provider) &&
	       (r->number == 0 || set->number == r->number);
}

/* Where the sets that wait begin, and in r->last the last one. 1: there is none. */
static int reader_scan(struct unsdb_reader *r, uint64_t *ret_first, struct err *err)
{
	struct unsdb_set begun = {0};
	struct record_place place;
	struct entry e = {0};
	uint64_t next = RECORD_HEADER;
	int rc;
	while ((rc = entry_next(r, &place, &e, err)) == 0) {
		if (e.kind == ENTRY_BEGIN) {
			begun = e.set;
			begun.place = place.at;
		} else if (e.kind == ENTRY_END && begun.place && is_asked(r, &begun)) {
			r->last = begun.place;
		} else if (e.kind == ENTRY_TAKEN) {
			next = e.next;
		}
	}
	*ret_first = next;
	return rc < 0 ? -1 : r->last < next;
}

int unsdb_reader_next(struct unsdb_reader *r, struct err *err)
{
	struct record_place place;
	struct entry e = {0};
	int rc;
	while ((rc = entry_next(r, &place, &e, err)) == 0 && place.at <= r->last) {
		if (e.kind != ENTRY_BEGIN || !is_asked(r, &e.set))
			continue;
		r->set = e.set;
		r->set.place = place.at;
		return 0;
	}
	return rc < 0 ? -1 : 1;
}

int unsdb_reader_open(struct unsdb_reader **ret, const char *path, uint64_t provider,
		      uint64_t number, bool all, struct err *err)
{
	struct unsdb_reader *r = mem_alloc(sizeof *r);
	uint64_t first;
	*r = (struct unsdb_reader){.provider = provider, .number = number};
	int rc = record_reader_open(&r->reader, path, &unsdb_kind, err);
	if (rc == 0)
		rc = reader_scan(r, &first, err);
	if (rc == 0)
		record_seek(r->reader, all ? first : r->last);
	if (rc == 0 && !all)
		rc = unsdb_reader_next(r, err);
	if (rc != 0)
		unsdb_reader_free(&r);
	*ret = r;
	return rc;
}

void unsdb_reader_free(struct unsdb_reader **rp)
{
	if (!*rp)
		return;
	record_reader_free(&(*rp)->reader);
	mem_free(rp);
}

const struct unsdb_set *unsdb_reader_set(const struct unsdb_reader *r)
{
	return &r->set;
}

int unsdb_reader_piece(struct unsdb_reader *r, struct buf *out, struct err *err)
{
	struct record_place place;
	struct entry e;
	int rc;
	while ((rc = entry_next(r, &place, &e, err)) == 0 && e.kind == ENTRY_TAKEN)
		continue;
	if (rc != 0 || e.kind != ENTRY_PIECE)
		return rc < 0 ? -1 : 1;
	buf_add_str(out, e.piece);
	return 0;
}
