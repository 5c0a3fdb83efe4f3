/* Host queues from a file, and the file for people. */
#include "base/cursor.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/stream.h"
#include "fetch/hostq_file.h"
#include "fetch/hostq_inner.h"

#include <fcntl.h>

struct tail {
	uint64_t at, n; /* of the directory */
	uint64_t queues, urls;
	uint32_t crc;
};

/* The directory and the extents, side by side. */
struct walk {
	const struct file *file;
	struct reader r;
	struct stream_reader bytes;
	uint64_t at;   /* of the next extent */
	uint64_t urls; /* so far */
	const struct hostq_reading *to;
};

static int hostq_damaged(const struct file *f, struct err *err, uint64_t at, const char *what)
{
	return err_set(err, ERR_DAMAGED, "%s: byte %llu: %s", f->path, (unsigned long long)at,
		       what);
}

static int head_check(const struct file *f, struct err *err)
{
	char bytes[HOSTQ_HEAD];
	size_t n;
	if (file_read(f, bytes, sizeof bytes, 0, &n, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){bytes, n});
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r);
	if (n < sizeof bytes || !str_is(magic, hostq_format.magic))
		return hostq_damaged(f, err, 0, "these are no host queues");
	if (version != HOSTQ_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "%s: host queues in version %u; this program knows version %d",
			       f->path, version, HOSTQ_VERSION);
	return 0;
}

static int tail_read(const struct file *f, struct tail *ret, struct err *err)
{
	char bytes[HOSTQ_TAIL];
	uint64_t size;
	size_t n;
	if (file_size(f, &size, err) < 0)
		return -1;
	if (size < HOSTQ_HEAD + HOSTQ_TAIL)
		return hostq_damaged(f, err, size, "the file is too short");
	uint64_t at = size - HOSTQ_TAIL;
	if (file_read(f, bytes, sizeof bytes, at, &n, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){bytes, n});
	struct tail t = {.at = reader_u64le(&r), .n = reader_u64le(&r)};
	t.queues = reader_u64le(&r);
	t.urls = reader_u64le(&r);
	t.crc = reader_u32le(&r);
	if (reader_u32le(&r) != crc32c(0, bytes, HOSTQ_TAIL - 4) || r.bad)
		return hostq_damaged(f, err, at,
				     "the checksum of the end is wrong; the file was cut");
	if (t.at < HOSTQ_HEAD || t.at > at || t.n != at - t.at)
		return hostq_damaged(f, err, at, "the directory is not where it should be");
	*ret = t;
	return 0;
}

/* Whether the bytes are so many records and nothing else. */
static bool extent_sound(struct str bytes, uint64_t urls, uint64_t user)
{
	struct str payload;
	uint64_t n = 0;
	while (bytes.n && record_cut(&bytes, &user, &payload))
		n++;
	return bytes.n == 0 && n == urls && n > 0;
}

static int read_extent(struct walk *w, unsigned priority, struct err *err)
{
	uint64_t n = reader_varint(&w->r), urls = reader_varint(&w->r);
	struct extent e = {.at = w->at, .file = EXTENT_RESTORED, .user = reader_u64le(&w->r)};
	uint32_t crc = reader_u32le(&w->r);
	struct str bytes;
	if (w->r.bad || n == 0 || n > RECORD_MAX || urls > EXTENT_MAX / 2 ||
	    n > stream_left(&w->bytes))
		return hostq_damaged(w->file, err, w->at, "an extent that cannot be");
	if (stream_read(&w->bytes, (size_t)n, &bytes, err) != 0)
		return -1;
	if (crc32c(0, bytes.p, bytes.n) != crc)
		return hostq_damaged(w->file, err, w->at, "the checksum of an extent is wrong");
	if (!extent_sound(bytes, urls, e.user))
		return hostq_damaged(w->file, err, w->at, "an extent does not hold what it should");
	e.n = (uint32_t)n;
	e.urls = (uint16_t)urls;
	w->at += n;
	w->urls += urls;
	return w->to->extent(w->to->ctx, priority, &e, err);
}

static int read_list(struct walk *w, int *before, struct err *err)
{
	int priority = reader_u8(&w->r);
	uint64_t extents = reader_varint(&w->r);
	if (w->r.bad || priority <= *before || extents == 0)
		return hostq_damaged(w->file, err, w->at, "a list that cannot be");
	for (uint64_t i = 0; i < extents; i++)
		if (read_extent(w, (unsigned)priority, err) < 0)
			return -1;
	*before = priority;
	return 0;
}

static int read_queue(struct walk *w, struct err *err)
{
	struct reader *r = &w->r;
	struct hostq_saved saved = {.key = reader_u64le(r)};
	uint64_t delay = reader_varint(r), concurrent = reader_varint(r);
	uint64_t troubles = reader_varint(r), pause = reader_varint(r), lists = reader_varint(r);
	int before = -1;
	if (r->bad || delay > POLITE_RETRY_MAX_US || concurrent == 0 || concurrent > UINT16_MAX ||
	    troubles > UINT8_MAX || pause > INT64_MAX / 4 || lists > HOSTQ_PRIORITIES)
		return hostq_damaged(w->file, err, w->at, "a queue that cannot be");
	saved.rule = (struct polite_rule){(int64_t)delay, (unsigned)concurrent};
	saved.troubles = (unsigned)troubles;
	saved.pause_us = (int64_t)MIN(pause, (uint64_t)POLITE_RETRY_MAX_US);
	if (w->to->queue(w->to->ctx, &saved, err) < 0)
		return -1;
	for (uint64_t i = 0; i < lists; i++)
		if (read_list(w, &before, err) < 0)
			return -1;
	return 0;
}

static int read_queues(struct walk *w, const struct tail *t, struct err *err)
{
	for (uint64_t i = 0; i < t->queues; i++)
		if (read_queue(w, err) < 0)
			return -1;
	if (reader_left(&w->r) || w->at != t->at || w->urls != t->urls)
		return hostq_damaged(w->file, err, w->at,
				     "there is more or less than the end says");
	return 0;
}

static int directory_read(const struct file *f, const struct tail *t, struct buf *out,
			  struct err *err)
{
	size_t n;
	char *room = buf_room(out, (size_t)t->n);
	if (t->n && file_read(f, room, (size_t)t->n, t->at, &n, err) < 0)
		return -1;
	if (t->n && n != t->n)
		return hostq_damaged(f, err, t->at, "the file was cut while it was read");
	buf_grew(out, (size_t)t->n);
	if (crc32c(0, buf_text(out), out->n) != t->crc)
		return hostq_damaged(f, err, t->at, "the checksum of the directory is wrong");
	return 0;
}

int hostq_file_read(const struct file *f, const struct hostq_reading *to, struct err *err)
{
	struct tail t = {0};
	if (head_check(f, err) < 0 || tail_read(f, &t, err) < 0)
		return -1;
	CLEANUP(buf_free) struct buf directory = BUF_INIT((size_t)t.n + 1);
	if (directory_read(f, &t, &directory, err) < 0)
		return -1;
	struct stream_options buffered = {.buffered = true}; /* it will be read again */
	struct walk w = {
		.file = f, .r = reader_of(buf_str(&directory)), .at = HOSTQ_HEAD, .to = to};
	if (stream_open_part(&w.bytes, f, HOSTQ_HEAD, t.at - HOSTQ_HEAD, &buffered, err) < 0)
		return -1;
	int rc = read_queues(&w, &t, err);
	stream_close(&w.bytes);
	return rc;
}

struct restoring {
	struct hostq *q;
	const char *path;
	int64_t now_us;
	uint32_t queue; /* at hand; 0: none yet */
};

static void queue_complete(struct restoring *to)
{
	if (to->queue)
		queue_settle(to->q, to->queue);
}

static int restore_queue(void *ctx, const struct hostq_saved *saved, struct err *err)
{
	struct restoring *to = ctx;
	struct hostq *q = to->q;
	char key[QKEY_TEXT];
	queue_complete(to);
	if (queue_find(q, saved->key) || q->used == HOSTQ_QUEUES_MAX)
		return err_set(err, ERR_DAMAGED, "%s: the queue %s is there twice", to->path,
			       qkey_print(saved->key, key));
	to->queue = queue_of(q, saved->key)->queue;
	struct queue *u = &q->queue[to->queue];
	queue_set_rule(u, &saved->rule);
	u->troubles = (uint8_t)saved->troubles;
	u->due_us = to->now_us + saved->pause_us;
	return 0;
}

static int restore_extent(void *ctx, unsigned priority, const struct extent *e, struct err *err)
{
	struct restoring *to = ctx;
	struct hostq *q = to->q;
	(void)err;
	list_add_extent(&q->store, queue_list(q, to->queue, priority), e);
	queue_count(q, &q->queue[to->queue], e->urls, 0);
	return 0;
}

int hostq_restore(struct hostq **ret, const char *path, const struct hostq_options *options,
		  int64_t now_us, struct err *err)
{
	struct restoring to = {.path = path, .now_us = now_us};
	struct hostq_reading reading = {restore_queue, restore_extent, &to};
	CLEANUP(file_drop) struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	rc = hostq_new(&to.q, options, err);
	if (rc == 0)
		rc = hostq_file_read(&f, &reading, err);
	if (rc < 0) {
		hostq_free(&to.q);
		return rc;
	}
	queue_complete(&to);
	if (to.q->store.live[EXTENT_RESTORED]) {
		to.q->store.file[EXTENT_RESTORED] = f;
		f = FILE_INIT;
	}
	*ret = to.q;
	return 0;
}

/* For people. */
struct printing {
	void (*emit)(void *ctx, struct str);
	void *ctx;
	struct buf line;
	struct hostq_saved queue;
	uint64_t urls, bytes, queues;
};

static void print_queue_line(struct printing *to)
{
	char key[QKEY_TEXT];
	if (!to->emit || !to->queues)
		return;
	buf_clear(&to->line);
	buf_printf(&to->line, "%s: %llu URLs in %llu bytes, delay ", qkey_print(to->queue.key, key),
		   (unsigned long long)to->urls, (unsigned long long)to->bytes);
	duration_print(&to->line, to->queue.rule.delay_us);
	buf_printf(&to->line, ", %u at once, %u troubles, not before ", to->queue.rule.concurrent,
		   to->queue.troubles);
	duration_print(&to->line, to->queue.pause_us);
	buf_add_text(&to->line, "\n");
	to->emit(to->ctx, buf_str(&to->line));
}

static int print_queue(void *ctx, const struct hostq_saved *queue, struct err *err)
{
	struct printing *to = ctx;
	(void)err;
	print_queue_line(to);
	to->queue = *queue;
	to->urls = to->bytes = 0;
	to->queues++;
	return 0;
}

static int print_extent(void *ctx, unsigned priority, const struct extent *e, struct err *err)
{
	struct printing *to = ctx;
	(void)priority;
	(void)err;
	to->urls += e->urls;
	to->bytes += e->n;
	return 0;
}

static int hostq_print(const char *path, void (*emit)(void *ctx, struct str), void *ctx,
		       struct err *err)
{
	struct printing to = {.emit = emit, .ctx = ctx, .line = BUF_INIT(1024)};
	struct hostq_reading reading = {print_queue, print_extent, &to};
	CLEANUP(file_drop) struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc > 0)
		return err_set(err, ERR_SYSTEM, "%s: there is no such file", path);
	if (rc == 0)
		rc = hostq_file_read(&f, &reading, err);
	if (rc == 0)
		print_queue_line(&to);
	buf_free(&to.line);
	return rc;
}

static int hostq_verify(const char *path, struct err *err)
{
	return hostq_print(path, NULL, NULL, err);
}

const struct format hostq_format = {
	.name = "hostq",
	.magic = "GARNERHQ",
	.version = HOSTQ_VERSION,
	.help = "host queues as they were saved: URLs that wait, by server",
	.print = hostq_print,
	.verify = hostq_verify,
};
