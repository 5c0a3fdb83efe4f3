/* The event log. A line is one write at the place where the last good one ended: what a failed
 * write left is written over, so that a line is whole or not there. */
#include "broker/events.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_MOST = 4000 };     /* bytes of a line, about */
enum { ROTATED_MOST = 10000 }; /* files of one day */
#define RETRY_US US_PER_S      /* after it could not be written */

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

static int put_line(struct events *e, struct err *err)
{
	if (open_file(e, err) < 0 || file_write(&e->file, e->line.p, e->line.n, e->at, err) < 0)
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
			log_error(EVENT,
				  "the event log cannot be written, will be tried every second",
				  KV_TEXT("why", err.msg));
		e->rest_us = now_us + RETRY_US;
		return;
	}
	if (e->lost)
		log_info(EVENT, "the event log is written again", KV_UINT("lost", e->lost));
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

int events_enable(struct events *e, struct str type, bool on, struct err *err)
{
	unsigned bits = str_eq_nocase(type, STR("All")) ? (1u << EVENT_NTYPES) - 1 : 0;
	for (unsigned i = 0; i < EVENT_NTYPES; i++)
		if (str_eq_nocase(type, str_of(names[i])))
			bits = 1u << i;
	if (bits == 0)
		return err_set(err, ERR_USAGE,
			       "there is no such event; events are "
#define X(symbol, name) name ", "
			       EVENT_TYPES(X)
#undef X
				       "All");
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

/* "PATH.YYMMDD", or with a number after it that no file has yet. */
static int rotated_name(const struct events *e, int64_t wall_us, struct buf *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf day = BUF_INIT(64);
	time_print(&day, wall_us, 0); /* 2026-11-16T... */
	const char *p = buf_text(&day);
	for (unsigned i = 1; i < ROTATED_MOST; i++) {
		buf_clear(ret);
		buf_printf(ret, "%s.%.2s%.2s%.2s", e->path, p + 2, p + 5, p + 8);
		if (i > 1)
			buf_printf(ret, ".%u", i);
		if (ret->over)
			return err_set(err, ERR_USAGE, "%s: the path is too long", e->path);
		if (access(buf_text(ret), F_OK) != 0)
			return 0;
	}
	return err_set(err, ERR_USAGE, "%s: there are %d of this day already", e->path,
		       ROTATED_MOST - 1);
}

static int rotate_file(struct events *e, int64_t wall_us, struct buf *ret_name, struct err *err)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(PATH_MAX);
	if (sync_file(e, err) < 0)
		return -1;
	if (access(e->path, F_OK) != 0)
		return err_set(err, ERR_USAGE, "%s: nothing was written yet", e->path);
	if (rotated_name(e, wall_us, &name, err) < 0 ||
	    file_rename(e->path, buf_text(&name), err) < 0)
		return -1;
	file_drop(&e->file);
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
