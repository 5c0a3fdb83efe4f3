/* The worker for listings: shuts the door, then reads standard input, unpacks, parses, and writes
 * what it finds in large pieces, because waking the owner costs as much as parsing a hundred lines.
 * It speaks now and then even where there is nothing to say, so that the owner need not guess
 * whether it is still alive. */
#include "extract/listing_work.h"

#include "extract/cage_door.h"
#include "extract/listing_wire_inner.h"
#include "extract/unpack.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum {
	INPUT = 256 << 10,
	ALIVE_EACH = 4 << 20, /* bytes, packed and unpacked, after which it speaks at the latest */
};

struct work {
	struct listing *listing;
	struct unpack *unpack;
	struct buf dir; /* the last one that was told */
	size_t silent;  /* bytes read and unpacked since it spoke last */
	size_t n;
	char out[WIRE_ROOM];
	char in[INPUT];
};

static int wire_flush(struct work *w, struct err *err)
{
	for (size_t at = 0; at < w->n;) {
		ssize_t n = UNINTERRUPTED(write(STDOUT_FILENO, w->out + at, w->n - at));
		if (n < 0)
			return err_sys(err, "the owner's pipe");
		at += (size_t)n;
	}
	w->n = 0;
	w->silent = 0;
	return 0;
}

static void wire_add(struct work *w, const void *p, size_t n)
{
	if (n)
		memcpy(w->out + w->n, p, n);
	w->n += n;
}

/* Begins a record with so many bytes, for which there is room. */
static void record_begin(struct work *w, enum wire_type type, size_t n)
{
	struct wire_head head = {type, (uint32_t)n};
	ENSURE(w->n + sizeof head + n <= WIRE_ROOM);
	wire_add(w, &head, sizeof head);
}

static int record_done(struct work *w, struct err *err)
{
	return w->n >= WIRE_FLUSH ? wire_flush(w, err) : 0;
}

static int tell_dir(struct work *w, struct str dir, struct err *err)
{
	buf_clear(&w->dir);
	buf_add_str(&w->dir, dir);
	record_begin(w, WIRE_DIR, dir.n);
	wire_add(w, dir.p, dir.n);
	return record_done(w, err);
}

static uint32_t told_length(struct str s)
{
	return s.p ? (uint32_t)s.n : WIRE_UNTOLD;
}

static int tell_entry(void *ctx, const struct listing_entry *e, struct err *err)
{
	struct work *w = ctx;
	struct wire_entry wire = {
		.links = e->links,
		.size = e->size,
		.time_s = e->time_s,
		.kind = e->kind,
		.name_n = (uint32_t)e->name.n,
		.owner_n = told_length(e->owner),
		.group_n = told_length(e->group),
	};
	memcpy(wire.mode, e->mode, sizeof e->mode);
	if (!str_eq(e->dir, buf_str(&w->dir)) && tell_dir(w, e->dir, err) < 0)
		return -1;
	record_begin(w, WIRE_ENTRY, sizeof wire + e->name.n + e->owner.n + e->group.n);
	wire_add(w, &wire, sizeof wire);
	wire_add(w, e->name.p, e->name.n);
	wire_add(w, e->owner.p, e->owner.n);
	wire_add(w, e->group.p, e->group.n);
	return record_done(w, err);
}

/* So many bytes were dealt with. */
static int count_work(struct work *w, size_t n, struct err *err)
{
	w->silent += n;
	if (w->silent < ALIVE_EACH)
		return 0;
	record_begin(w, WIRE_ALIVE, 0);
	return wire_flush(w, err);
}

static int take_unpacked(void *ctx, struct str piece, struct err *err)
{
	struct work *w = ctx;
	return listing_put(w->listing, piece, err) < 0 ? -1 : count_work(w, piece.n, err);
}

static int read_input(struct work *w, struct err *err)
{
	for (;;) {
		ssize_t n = UNINTERRUPTED(read(STDIN_FILENO, w->in, sizeof w->in));
		if (n < 0)
			return err_sys(err, "it cannot be read");
		if (n == 0)
			return unpack_end(w->unpack, err);
		if (unpack_put(w->unpack, (struct str){w->in, (size_t)n}, err) < 0 ||
		    count_work(w, (size_t)n, err) < 0)
			return -1;
	}
}

static uint32_t why_number(const char *why)
{
	uint32_t i = 0;
	while (i + 1 < WHYS && listing_why_name[i] != why)
		i++;
	return i;
}

static int tell_end(struct work *w, const struct listing_stats *s, const struct err *failed,
		    struct err *err)
{
	struct wire_end end = {
		.lines = s->lines, .entries = s->entries, .bad = s->bad, .headings = s->headings};
	for (size_t i = 0; i < MIN(s->bad, (uint64_t)LISTING_BAD_KEPT); i++) {
		end.bad_line[i] = s->bad_line[i];
		end.bad_why[i] = why_number(s->bad_why[i]);
	}
	if (failed) {
		end.code = failed->code;
		snprintf(end.message, sizeof end.message, "%.*s", WIRE_MESSAGE - 1, failed->msg);
	}
	record_begin(w, WIRE_END, sizeof end);
	wire_add(w, &end, sizeof end);
	return wire_flush(w, err);
}

static int work_run(struct work *w, size_t memory, struct err *err)
{
	struct wire_hello hello = {.magic = WIRE_MAGIC};
	struct listing_stats stats;
	struct err failed, ended;
	door_silence();
	hello.locks = door_shut(memory, (struct door_ends){STDIN_FILENO, STDOUT_FILENO});
	record_begin(w, WIRE_HELLO, sizeof hello);
	wire_add(w, &hello, sizeof hello);
	if (wire_flush(w, err) < 0)
		return -1;
	int rc = read_input(w, &failed);
	int end = listing_end(w->listing, &stats, rc < 0 ? &ended : &failed);
	return tell_end(w, &stats, rc < 0 || end < 0 ? &failed : NULL, err);
}

/* The arguments */

static bool read_signed(const char *text, int64_t *ret)
{
	uint64_t v;
	bool below = text[0] == '-';
	if (!str_u64(str_of(text + below), &v) || v > INT64_MAX)
		return false;
	*ret = below ? -(int64_t)v : (int64_t)v;
	return true;
}

static bool read_args(char *const args[LISTING_WORK_ARGS], struct listing_job *ret_job,
		      uint64_t *ret_memory, uint64_t *ret_most)
{
	int64_t tz;
	uint64_t percent;
	if (!read_signed(args[0], &ret_job->listed_s) || !read_signed(args[1], &tz) ||
	    tz < INT32_MIN || tz > INT32_MAX || !str_u64(str_of(args[2]), &percent) ||
	    percent > 100 || !str_u64(str_of(args[3]), ret_memory) ||
	    !str_u64(str_of(args[4]), ret_most))
		return false;
	ret_job->tz_s = (int32_t)tz;
	ret_job->errors_max_percent = (uint32_t)percent;
	ret_job->prefix = str_of(args[5]);
	return true;
}

int listing_work(char *const args[LISTING_WORK_ARGS], struct err *err)
{
	struct listing_job job;
	struct unpack_options options = {0};
	uint64_t memory;
	if (!read_args(args, &job, &memory, &options.unpacked_max))
		return err_set(err, ERR_USAGE, "arguments that make no sense");
	struct work *w = mem_alloc(sizeof *w);
	options.memory = memory / 2;
	w->dir = BUF_INIT(LISTING_LINE_MOST);
	w->listing = listing_new(&job, tell_entry, w);
	w->unpack = unpack_new(&options, take_unpacked, w);
	int rc = work_run(w, (size_t)memory, err);
	unpack_free(&w->unpack);
	listing_free(&w->listing);
	buf_free(&w->dir);
	mem_free(&w);
	return rc;
}
