/* Host queues into a file. */
#include "base/cursor.h"
#include "base/fault.h"
#include "disk/format.h"
#include "disk/stream.h"
#include "fetch/hostq_file.h"
#include "fetch/hostq_inner.h"

struct saving {
	struct hostq *q;
	int64_t now_us;
	struct stream_writer out;
	struct buf directory;
	struct buf extents; /* of the list at hand, as the directory will have them */
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
	const struct list *l = *list ? &q->store.list[*list] : NULL;
	unsigned priority = l ? l->priority : HOSTQ_PRIORITIES;
	if (*job)
		priority = MIN(priority, (unsigned)q->slot[*job].priority);
	to->nextents = 0;
	buf_clear(&to->extents);
	write_jobs(to, job, priority);
	if (l && l->priority == priority) {
		if (list_each_part(&q->store, l, write_part, to, err) < 0)
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
