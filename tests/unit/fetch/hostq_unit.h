/* What the unit programs of host queues share. */
#pragma once
#include "../scratch.h"
#include "../unit.h"
#include "fetch/hostq.h"

#define S US_PER_S
#define START (1000 * S)

static const struct hostq_options plain
	__attribute__((unused)) = {.rule = {.delay_us = 10 * S, .concurrent = 1}};

static inline struct hostq *make(const struct hostq_options *o)
{
	struct hostq *q = NULL;
	struct err err;
	if (hostq_new(&q, o, &err) < 0)
		fail_msg("%s", err.msg);
	return q;
}

static inline qkey server(uint32_t number)
{
	struct qkey_addr a = {
		.b = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number}};
	return qkey_of(&a, 0);
}

static inline void push_text(struct hostq *q, uint32_t host, unsigned priority, const char *text,
			     uint64_t user)
{
	struct err err;
	if (hostq_push(q, server(host), priority, str_of(text), user, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline struct hostq_job takes(struct hostq *q, int64_t now_us, const char *want)
{
	struct hostq_job job;
	struct err err;
	int64_t wait;
	int rc = hostq_take(q, now_us, &job, &wait, &err);
	if (rc != 0)
		fail_msg("want %s, rc %d, %s", want, rc, rc < 0 ? err.msg : "wait");
	assert_str(job.payload, want);
	return job;
}

static inline int64_t waits(struct hostq *q, int64_t now_us)
{
	struct hostq_job job;
	struct err err;
	int64_t wait = 0;
	assert_int_equal(hostq_take(q, now_us, &job, &wait, &err), 1);
	assert_true(wait > 0);
	return wait;
}

static inline struct hostq_counts counts(const struct hostq *q)
{
	struct hostq_counts c;
	hostq_count(q, &c);
	return c;
}
