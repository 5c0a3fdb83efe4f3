/* Host queues into a file and back (doc/formats/hostq.md): extents as the lists have them, then a
 * directory, then a tail. A restart reads the file once, to verify it; the URLs stay in it and are
 * read again when their turn comes, so that restored queues take next to no memory. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/stream.h"
#include "fetch/queue/hostq_inner.h"

#include <fcntl.h>

/* A queue as the directory has it. */
struct hostq_saved {
	qkey key;
	struct polite_rule rule;
	unsigned troubles;
	int64_t pause_us; /* that was left */
};

/* What is done with each part of a file that is read. Each function returns negative to end it. */
struct hostq_reading {
	int (*queue)(void *ctx, const struct hostq_saved *queue, struct err *err);
	/* Of the queue that came last; sound. */
	int (*extent)(void *ctx, unsigned priority, const struct extent *e, struct err *err);
	void *ctx;
};

/* Saving. */

struct saving {
	struct hostq *q;
	int64_t now_us;
	struct stream_writer out;
	struct buf directory;
	struct buf extents; /* of the current list, as the directory will have them */
	struct buf jobs;    /* records of jobs that become an extent */
	uint32_t nextents;
	uint32_t *first, *next; /* jobs of each queue: slots, most urgent first */
	uint64_t queues, urls;
};

static int write_part(void *ctx, const struct part *part, struct err *err)
{
	struct saving *to = ctx;
	(void)err;
	stream_put(&to->out, part->bytes.p, part->bytes.n);
	put_varint(&to->extents, part->bytes.n);
	put_varint(&to->extents, part->urls);
	put_u64le(&to->extents, part->user);
	put_u32le(&to->extents, crc32c(0, part->bytes.p, part->bytes.n));
	to->nextents++;
	to->urls += part->urls;
	return 0;
}

/* What is out has been out longer than what was put back, and both go before what waits. */
static bool job_before(const struct slot *a, const struct slot *b)
{
	if (a->priority != b->priority)
		return a->priority < b->priority;
	if (a->state != b->state)
		return a->state == JOB_OUT;
	return a->start_us < b->start_us;
}

static void jobs_sort(struct saving *to)
{
	struct hostq *q = to->q;
	to->first = mem_array(q->nqueues, sizeof *to->first);
	to->next = mem_array(q->nslots, sizeof *to->next);
	for (uint32_t i = 1; i < q->nslots; i++) {
		const struct slot *s = &q->slot[i];
		if (s->state == JOB_UNUSED)
			continue;
		uint32_t *at = &to->first[s->queue];
		while (*at && job_before(&q->slot[*at], s))
			at = &to->next[*at];
		to->next[i] = *at;
		*at = i;
	}
}

/* Jobs of one priority, as extents. */
static void write_jobs(struct saving *to, uint32_t *job, unsigned priority)
{
	char head[RECORD_HEAD_MAX];
	struct part part = {0};
	uint64_t before = 0;
	for (; *job && to->q->slot[*job].priority == priority; *job = to->next[*job]) {
		const struct slot *s = &to->q->slot[*job];
		if (to->jobs.n + RECORD_HEAD_MAX + s->payload.n > EXTENT_MAX && part.urls) {
			part.bytes = buf_str(&to->jobs);
			(void)write_part(to, &part, NULL);
			part = (struct part){.user = before};
			buf_clear(&to->jobs);
		}
		buf_add(&to->jobs, head, record_head(before, s->user, s->payload.n, head));
		buf_add_str(&to->jobs, buf_str(&s->payload));
		before = s->user;
		part.urls++;
	}
	part.bytes = buf_str(&to->jobs);
	if (part.urls)
		(void)write_part(to, &part, NULL);
	buf_clear(&to->jobs);
}

/* The next list, whose jobs go before. */
static int write_list(struct saving *to, uint32_t *job, uint32_t *list, struct err *err)
{
	struct hostq *q = to->q;
	const struct url_list *l = *list ? &q->store.list[*list] : NULL;
	unsigned priority = l ? l->priority : HOSTQ_PRIORITIES;
	if (*job)
		priority = MIN(priority, (unsigned)q->slot[*job].priority);
	to->nextents = 0;
	buf_clear(&to->extents);
	write_jobs(to, job, priority);
	if (l && l->priority == priority) {
		if (url_list_each_part(&q->store, l, write_part, to, err) < 0)
			return -1;
		*list = l->next;
	}
	put_u8(&to->directory, (uint8_t)priority);
	put_varint(&to->directory, to->nextents);
	buf_add_str(&to->directory, buf_str(&to->extents));
	return 0;
}

static unsigned count_lists(const struct saving *to, uint32_t job, uint32_t list)
{
	const struct hostq *q = to->q;
	bool there[HOSTQ_PRIORITIES] = {false};
	unsigned n = 0;
	for (; list; list = q->store.list[list].next)
		there[q->store.list[list].priority] = true;
	for (; job; job = to->next[job])
		there[q->slot[job].priority] = true;
	for (size_t i = 0; i < HOSTQ_PRIORITIES; i++)
		n += there[i];
	return n;
}

static int write_queue(struct saving *to, uint32_t i, struct err *err)
{
	const struct queue *u = &to->q->queue[i];
	uint32_t job = to->first[i], list = u->lists;
	put_u64le(&to->directory, u->key);
	put_varint(&to->directory, (uint64_t)u->delay_us);
	put_varint(&to->directory, u->concurrent);
	put_varint(&to->directory, u->troubles);
	put_varint(&to->directory, (uint64_t)MAX(u->due_us - to->now_us, 0));
	put_varint(&to->directory, count_lists(to, job, list));
	while (job || list)
		if (write_list(to, &job, &list, err) < 0)
			return -1;
	to->queues++;
	return stream_failed(&to->out) ? 1 : 0;
}

/* Those in line come last, in their order. */
static int write_queues(struct saving *to, struct err *err)
{
	struct hostq *q = to->q;
	int rc = 0;
	for (uint32_t i = 1; i < q->nqueues && rc == 0; i++)
		if (q->queue[i].used && !q->queue[i].waiting)
			rc = write_queue(to, i, err);
	for (uint32_t i = q->line_first; i && rc == 0; i = q->queue[i].next)
		rc = write_queue(to, i, err);
	return rc;
}

static void write_tail(struct saving *to)
{
	CLEANUP(buf_free) struct buf tail = BUF_INIT(HOSTQ_TAIL);
	put_u64le(&tail, stream_written(&to->out));
	put_u64le(&tail, to->directory.n);
	put_u64le(&tail, to->queues);
	put_u64le(&tail, to->urls);
	put_u32le(&tail, crc32c(0, buf_text(&to->directory), to->directory.n));
	put_u32le(&tail, crc32c(0, tail.p, tail.n));
	stream_put(&to->out, buf_text(&to->directory), to->directory.n);
	stream_put(&to->out, tail.p, tail.n);
}

static int write_all(struct saving *to, const char *beside, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(HOSTQ_HEAD);
	buf_add_text(&head, hostq_format.magic);
	put_u32le(&head, HOSTQ_VERSION);
	put_u32le(&head, 0);
	if (stream_create(&to->out, beside, 0644, NULL, err) < 0)
		return -1;
	stream_put(&to->out, head.p, head.n);
	if (write_queues(to, err) < 0) {
		stream_drop(&to->out);
		return -1;
	}
	FAULT("hostq.save.written");
	write_tail(to);
	return stream_finish(&to->out, true, err);
}

int hostq_save(struct hostq *q, const char *path, int64_t now_us, struct err *err)
{
	CLEANUP(buf_free) struct buf beside = BUF_INIT(strlen(path) + 8);
	struct saving to = {
		.q = q,
		.now_us = now_us,
		.directory = BUF_INIT(SIZE_MAX / 2),
		.extents = BUF_INIT(SIZE_MAX / 2),
		.jobs = BUF_INIT(EXTENT_MAX + RECORD_MAX),
	};
	buf_printf(&beside, "%s.new", path);
	jobs_sort(&to);
	int rc = write_all(&to, buf_text(&beside), err);
	FAULT("hostq.save.synced");
	if (rc == 0)
		rc = file_rename(buf_text(&beside), path, err);
	FAULT("hostq.save.renamed");
	if (rc == 0) {
		rc = dir_sync_of(path, err);
	} else {
		struct err second;
		(void)file_remove(buf_text(&beside), &second);
	}
	mem_free(&to.first);
	mem_free(&to.next);
	buf_free(&to.directory);
	buf_free(&to.extents);
	buf_free(&to.jobs);
	return rc;
}

/* Reading, restoring, and the file for people. */

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
		return hostq_damaged(f, err, 0, "these are not host queues");
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
	saved.rule = (struct polite_rule){.delay_us = (int64_t)delay,
					  .concurrent = (unsigned)concurrent};
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

/* Reads and verifies all of a file. ERR_DAMAGED: err names the place; it may come late. */
static int hostq_file_read(const struct file *f, const struct hostq_reading *to, struct err *err)
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
	uint32_t queue; /* the current one; 0: none yet */
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
	url_list_add_extent(&q->store, queue_list(q, to->queue, priority), e);
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
	struct printer *printer;
	struct hostq_saved queue;
	uint64_t urls, bytes, queues;
};

static void print_queue_line(struct printing *to)
{
	char key[QKEY_TEXT];
	struct buf *out = &to->printer->out;
	if (!to->queues)
		return;
	buf_printf(out, "%s: %llu URLs in %llu bytes, delay ", qkey_print(to->queue.key, key),
		   (unsigned long long)to->urls, (unsigned long long)to->bytes);
	duration_print(out, to->queue.rule.delay_us);
	buf_printf(out, ", %u at once, %u troubles, not before ", to->queue.rule.concurrent,
		   to->queue.troubles);
	duration_print(out, to->queue.pause_us);
	buf_add_text(out, "\n");
	printer_step(to->printer);
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

static int hostq_print(const char *path, struct printer *p, struct err *err)
{
	struct printing to = {.printer = p};
	struct hostq_reading reading = {print_queue, print_extent, &to};
	CLEANUP(file_drop) struct file f = FILE_INIT;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 0)
		rc = hostq_file_read(&f, &reading, err);
	if (rc == 0)
		print_queue_line(&to);
	return rc;
}

const struct format hostq_format = {
	.name = "hostq",
	.magic = "GARNERHQ",
	.version = HOSTQ_VERSION,
	.help = "host queues as they were saved: URLs that wait, by server",
	.remedy = "remove it; the URLs in it have to be given again",
	.print = hostq_print,
};
