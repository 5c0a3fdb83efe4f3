/* A pool of threads with a bounded queue, for what takes its time. */
#pragma once
#include "base/err.h"

struct http_job {
	struct http_job *next;
	void (*run)(struct http_job *job);
};

struct http_pool;

int http_pool_new(struct http_pool **ret, size_t threads, size_t queue, struct err *err);
/* Does what was promised and posted, then ends the threads. */
void http_pool_free(struct http_pool **p);

/* Claims a place in the queue, which http_pool_post() then fills: between the two the caller can
 * still prepare. false: there is none, or the pool ends. */
bool http_pool_claim(struct http_pool *p);
void http_pool_post(struct http_pool *p, struct http_job *job);
/* No claim is granted any more; returns when all that were are done. */
void http_pool_drain(struct http_pool *p);
