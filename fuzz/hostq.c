/* Saved host queues that others wrote: what is restored can be taken, all of it. */
#include "base/cursor.h"
#include "base/hash.h"
#include "fetch/queue/hostq_inner.h"
#include "memory_file.h"

#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hostq_options options = {.rule = {.delay_us = US_PER_S, .concurrent = 2}};

/* Takes everything. */
static void drain(struct hostq *q)
{
	struct hostq_counts before;
	struct hostq_job job;
	struct err err;
	int64_t now = 0, wait;
	uint64_t n = 0;
	hostq_count(q, &before);
	for (;;) {
		int rc = hostq_take(q, now, &job, &wait, &err);
		ENSURE(rc >= 0);
		if (rc == 0) {
			n++;
			ENSURE(job.payload.n <= HOSTQ_PAYLOAD_MAX &&
			       job.priority < HOSTQ_PRIORITIES);
			ENSURE(hostq_done(q, &job, OUTCOME_OK, now));
		} else if (wait == INT64_MAX) {
			break;
		} else {
			now += wait;
		}
	}
	ENSURE(n == before.urls);
}

static int restore(struct hostq **ret, struct str bytes)
{
	char path[64];
	struct err err;
	int fd = memory_file(path);
	ENSURE(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n);
	int rc = hostq_restore(ret, path, &options, 0, &err);
	ENSURE(rc == 0 || (err.code == ERR_DAMAGED && err.msg[0]));
	memory_file_end(fd, path);
	return rc;
}

static void check(struct str bytes)
{
	struct hostq *q = NULL;
	if (restore(&q, bytes) < 0)
		return;
	drain(q);
	hostq_free(&q);
}

/* As it is, and with the sums of directory and end made right, because no chance finds them. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};
	check(bytes);
	if (size < HOSTQ_HEAD + HOSTQ_TAIL)
		return 0;
	struct reader r = reader_of(str_from(bytes, size - HOSTQ_TAIL));
	uint64_t at = MIN(reader_u64le(&r), size - HOSTQ_TAIL);
	struct buf file = BUF_INIT(size + 1), tail = BUF_INIT(HOSTQ_TAIL);
	struct str directory =
		str_head(str_from(bytes, (size_t)at), size - HOSTQ_TAIL - (size_t)at);
	put_u64le(&tail, at);
	put_u64le(&tail, directory.n);
	buf_add_str(&tail, str_head(str_from(bytes, size - HOSTQ_TAIL + 16), 16));
	put_u32le(&tail, crc32c(0, directory.p, directory.n));
	put_u32le(&tail, crc32c(0, tail.p, tail.n));
	buf_add_str(&file, str_head(bytes, size - HOSTQ_TAIL));
	buf_add_str(&file, buf_str(&tail));
	check(buf_str(&file));
	buf_free(&file);
	buf_free(&tail);
	return 0;
}
