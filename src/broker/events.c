/* The event log. A line is one write at the place where the last good one ended: what a failed
 * write left is written over, so that a line is whole or not there. */
#include "broker/events.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MOST = 4000 };       /* bytes of a line, about */
enum { ROTATED_MOST = 1000000 }; /* files of one day, ever */
#define RETRY_US US_PER_S        /* after it could not be written */

static const char *const names[] = {
#define X(symbol, name) [EVENT_##symbol] = name,
	EVENT_TYPES(X)
#undef X
};

/* There may be millions of these, after each other start of a crawl. */
enum { OFF_AT_FIRST = 1 << EVENT_UPDATE | 1 << EVENT_DELETE | 1 << EVENT_REFRESH };

struct events {
	const char *path;
	atomic_uint on; /* a bit for each type */
	pthread_mutex_t lock;
	/* With the lock: */
	struct file file;
	uint64_t at; /* where the next line goes */
	struct buf line;
	bool closed;     /* by the administrator */
	int64_t rest_us; /* it failed: not before then */
	uint64_t lost;   /* lines, since it fails */
};

struct events *events_new(const char *path)
{
	struct events *e = mem_alloc(sizeof *e);
	e->path = mem_text(path);
	e->file = FILE_INIT;
	e->line = BUF_INIT(LINE_MOST);
	atomic_init(&e->on, ((1u << EVENT_NTYPES) - 1) & ~(unsigned)OFF_AT_FIRST);
	ENSURE(pthread_mutex_init(&e->lock, NULL) == 0);
	return e;
}

void events_free(struct events **ep)
{
	struct events *e = *ep;
	if (!e)
		return;
	file_drop(&e->file);
	buf_free(&e->line);
	ENSURE(pthread_mutex_destroy(&e->lock) == 0);
	mem_free(&e->path);
	mem_free(ep);
}

bool events_on(const struct events *e, enum event_type type)
{
	return e && (atomic_load_explicit(&e->on, memory_order_relaxed) & 1u << type) != 0;
}

/* A line that a crash cut is ended, so that the next one begins at its own beginning. */
static int end_last_line(struct events *e, struct err *err)
{
	char last = '\n';
	size_t n = 0;
	if (e->at && file_read(&e->file, &last, 1, e->at - 1, &n, err) < 0)
		return -1;
	if (last == '\n')
		return 0;
	if (file_write(&e->file, "\n", 1, e->at, err) < 0)
		return -1;
	e->at++;
	return 0;
}

static int open_file(struct events *e, struct err *err)
{
	if (e->file.fd >= 0)
		return 0;
	if (file_open(&e->file, e->path, O_RDWR | O_CREAT, 0640, err) != 0)
		return -1;
	if (file_size(&e->file, &e->at, err) == 0 && end_last_line(e, err) == 0)
		return 0;
	file_drop(&e->file);
	return -1;
}

/* Files that were put aside */

/* "PATH.YYMMDD", and ".N" after it from the second of a day on. */
struct rotated {
	uint64_t day, n; /* as in the name: 261116; 1 is the first */
};

static bool is_rotated(struct str name, struct str base, struct rotated *ret)
{
	if (!str_starts(name, base) || name.n < base.n + 7 || name.p[base.n] != '.')
		return false;
	struct str day = str_head(str_from(name, base.n + 1), 6);
	struct str rest = str_from(name, base.n + 7);
	ret->n = 1;
	if (!str_u64(day, &ret->day))
		return false;
	return rest.n == 0 || (rest.p[0] == '.' && str_u64(str_from(rest, 1), &ret->n) &&
			       ret->n > 1 && ret->n < ROTATED_MOST);
}

static bool is_older(const struct rotated *a, const struct rotated *b)
{
	return a->day != b->day ? a->day < b->day : a->n < b->n;
}

static void add_rotated(const struct events *e, const struct rotated *r, struct buf *ret)
{
	buf_printf(ret, "%s.%06" PRIu64, e->path, r->day);
	if (r->n > 1)
		buf_printf(ret, ".%" PRIu64, r->n);
}

/* How many there are, the oldest of all, and the highest number of a day, 0: none. */
static int list_rotated(const struct events *e, uint64_t day, size_t *ret_files,
			struct rotated *ret_oldest, uint64_t *ret_highest, struct err *err)
{
	const char *slash = strrchr(e->path, '/'), *name;
	struct str base = str_of(slash ? slash + 1 : e->path);
	char *folder = file_folder(e->path);
	struct rotated r;
	struct dir dir;
	int rc = dir_init(&dir, folder, err);
	mem_free(&folder);
	*ret_files = 0;
	*ret_highest = 0;
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while (dir_next(&dir, &name) == 0)
		if (is_rotated(str_of(name), base, &r)) {
			if ((*ret_files)++ == 0 || is_older(&r, ret_oldest))
				*ret_oldest = r;
			if (r.day == day)
				*ret_highest = MAX(*ret_highest, r.n);
		}
	dir_done(&dir);
	return 0;
}

/* One that no file has, and none of this day that was newer. */
static int rotated_name(const struct events *e, int64_t wall_us, struct buf *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf day = BUF_INIT(64);
	struct rotated next = {0}, oldest;
	uint64_t highest;
	size_t files;
	time_print(&day, wall_us, 0); /* 2026-11-16T... */
	for (size_t i = 2; i < 10; i++)
		if (day.p[i] != '-')
			next.day = next.day * 10 + (uint64_t)(day.p[i] - '0');
	if (list_rotated(e, next.day, &files, &oldest, &highest, err) < 0)
		return -1;
	next.n = highest + 1;
	if (next.n == ROTATED_MOST)
		return err_set(err, ERR_USAGE, "%s: there are %d of this day already", e->path,
			       ROTATED_MOST - 1);
	buf_clear(ret);
	add_rotated(e, &next, ret);
	return ret->over ? err_set(err, ERR_USAGE, "%s: the path is too long", e->path) : 0;
}

static int rename_file(struct events *e, int64_t wall_us, struct buf *ret_name, struct err *err)
{
	if (rotated_name(e, wall_us, ret_name, err) < 0 ||
	    file_rename(e->path, buf_text(ret_name), err) < 0)
		return -1;
	file_drop(&e->file);
	return 0;
}

static int remove_oldest(const struct events *e, struct err *err)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(PATH_MAX);
	struct rotated oldest;
	uint64_t highest;
	size_t files;
	for (;;) {
		if (list_rotated(e, 0, &files, &oldest, &highest, err) < 0)
			return -1;
		if (files <= EVENTS_KEPT)
			return 0;
		buf_clear(&name);
		add_rotated(e, &oldest, &name);
		if (file_remove(buf_text(&name), err) < 0)
			return -1;
	}
}

/* Nothing is synced here: those who write events do not wait for the disk. */
static int put_full_aside(struct events *e, struct err *err)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(PATH_MAX);
	if (e->at + e->line.n <= EVENTS_MOST)
		return 0;
	if (rename_file(e, clock_wall_us(), &name, err) < 0 || remove_oldest(e, err) < 0)
		return -1;
	return open_file(e, err);
}

static int put_line(struct events *e, struct err *err)
{
	if (open_file(e, err) < 0 || put_full_aside(e, err) < 0 ||
	    file_write(&e->file, e->line.p, e->line.n, e->at, err) < 0)
		return -1;
	e->at += e->line.n;
	return 0;
}

/* An address is our own text; whatever it is, it is one word. */
static void add_peer(struct buf *line, const char *peer)
{
	buf_add_byte(line, ' ');
	if (!peer || !*peer)
		peer = "-";
	for (size_t i = 0; peer[i] && i < 128; i++)
		buf_add_byte(line, peer[i] > ' ' && peer[i] < 0x7f ? peer[i] : '?');
}

static void make_line(struct events *e, enum event_type type, const char *peer, int64_t wall_us,
		      const struct log_kv *list)
{
	buf_clear(&e->line);
	time_print(&e->line, wall_us, 0);
	buf_printf(&e->line, " %s", names[type]);
	add_peer(&e->line, peer);
	log_add_list(&e->line, list);
	e->line.over = false;
	e->line.max += LOG_BODY_TAIL + 1;
	buf_add_byte(&e->line, '\n');
	e->line.max -= LOG_BODY_TAIL + 1;
}

static void write_line(struct events *e, enum event_type type, const char *peer,
		       const struct log_kv *list)
{
	struct err err;
	int64_t now_us = clock_mono_us();
	if (now_us < e->rest_us) {
		e->lost++;
		return;
	}
	make_line(e, type, peer, clock_wall_us(), list);
	if (put_line(e, &err) < 0) {
		if (e->lost++ == 0)
			log_error(EVENT, "cannot write event log; retrying every second",
				  KV_TEXT("why", err.msg));
		e->rest_us = now_us + RETRY_US;
		return;
	}
	if (e->lost)
		log_info(EVENT, "writing event log again", KV_UINT("lost", e->lost));
	e->lost = 0;
}

void events_write(struct events *e, enum event_type type, const char *peer,
		  const struct log_kv *list)
{
	if (!events_on(e, type))
		return;
	log_debug(EVENT, 1, "event", KV_TEXT("type", names[type]));
	pthread_mutex_lock(&e->lock);
	if (!e->closed)
		write_line(e, type, peer, list);
	pthread_mutex_unlock(&e->lock);
}

/* For the administrator */

#define X(symbol, name) name ", "
static const char types_told[] = EVENT_TYPES(X);
#undef X

int events_enable(struct events *e, struct str type, bool on, struct err *err)
{
	unsigned bits = str_eq_nocase(type, STR("All")) ? (1u << EVENT_NTYPES) - 1 : 0;
	for (unsigned i = 0; i < EVENT_NTYPES; i++)
		if (str_eq_nocase(type, str_of(names[i])))
			bits = 1u << i;
	if (bits == 0)
		return err_set(err, ERR_USAGE, "there is no such event; events are %sAll",
			       types_told);
	if (on)
		atomic_fetch_or(&e->on, bits);
	else
		atomic_fetch_and(&e->on, ~bits);
	return 0;
}

int events_open(struct events *e, struct err *err)
{
	pthread_mutex_lock(&e->lock);
	int rc = open_file(e, err);
	if (rc == 0) {
		e->closed = false;
		e->rest_us = 0;
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

static int sync_file(struct events *e, struct err *err)
{
	return e->file.fd >= 0 ? file_sync(&e->file, err) : 0;
}

int events_close(struct events *e, struct err *err)
{
	pthread_mutex_lock(&e->lock);
	int rc = sync_file(e, err);
	file_drop(&e->file);
	e->closed = true;
	pthread_mutex_unlock(&e->lock);
	return rc;
}

int events_flush(struct events *e, struct err *err)
{
	pthread_mutex_lock(&e->lock);
	int rc = sync_file(e, err);
	pthread_mutex_unlock(&e->lock);
	return rc;
}

static int rotate_file(struct events *e, int64_t wall_us, struct buf *ret_name, struct err *err)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(PATH_MAX);
	if (sync_file(e, err) < 0)
		return -1;
	if (access(e->path, F_OK) != 0)
		return err_set(err, ERR_USAGE, "%s: nothing was written yet", e->path);
	if (rename_file(e, wall_us, &name, err) < 0)
		return -1;
	buf_add_str(ret_name, buf_str(&name));
	return dir_sync_of(e->path, err);
}

int events_rotate(struct events *e, int64_t wall_us, struct buf *ret_name, struct err *err)
{
	pthread_mutex_lock(&e->lock);
	int rc = rotate_file(e, wall_us, ret_name, err);
	pthread_mutex_unlock(&e->lock);
	return rc;
}
