#include "base/arena.h"
#include "bucket/bucket.h"
#include "bucket/bucket_pack.h"

#include <zdict.h>

/* A dictionary wants a hundred times its size in samples. A quarter of them is kept back to see
 * what it is worth. */
enum { DICT_SIZE = 32 << 10, SAMPLES_LEAST = 40, HELD_BACK = 4 };
static const size_t samples_most[BUCKET_CLASSES] = {4000, 2000, 600, 150};

/* Bodies of one class, each as likely to be among them as any other. */
struct samples {
	struct str *sample;
	size_t n;
	uint64_t seen;
};

struct trainer {
	struct bucket_packer *packer;
	struct samples samples[BUCKET_CLASSES];
	uint64_t seed;
};

static uint64_t train_dice(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void train_offer(struct trainer *t, struct str body)
{
	unsigned class = bucket_class(body.n);
	if (class == BUCKET_CLASS_NONE || body.n == 0)
		return;
	struct samples *samples = &t->samples[class];
	size_t place = samples->n;
	samples->seen++;
	if (samples->n == samples_most[class]) {
		place = (size_t)(train_dice(&t->seed) % samples->seen);
		if (place >= samples->n)
			return;
		char *old = (char *)samples->sample[place].p;
		mem_free(&old);
	} else {
		samples->n++;
	}
	samples->sample[place] = (struct str){mem_copy(body.p, body.n), body.n};
}

/* What is damaged is no sample. */
static int train_collect(struct trainer *t, struct buckets *b, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct str body;
	if (bucket_scan_init(&scan, b, 0, 0, err) < 0)
		return -1;
	int rc;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) == 0 || scan.passed) {
		if (rc == 0 && !bucket.deleted &&
		    bucket_body(t->packer, bucket.type, bucket.data, &arena, &body, err) == 0)
			train_offer(t, body);
		arena_clear(&arena);
	}
	arena_free(&arena);
	bucket_scan_done(&scan);
	return rc < 0 ? rc : 0;
}

/* Bytes of the new dictionary; 0: nothing can be learned from these. */
static size_t train_make_dict(const struct str *sample, size_t n, char *ret)
{
	struct buf all = BUF_INIT(SIZE_MAX / 2);
	size_t *sizes = mem_array(n, sizeof *sizes);
	for (size_t i = 0; i < n; i++) {
		buf_add_str(&all, sample[i]);
		sizes[i] = sample[i].n;
	}
	size_t size = ZDICT_trainFromBuffer(ret, DICT_SIZE, all.p, sizes, (unsigned)n);
	mem_free(&sizes);
	buf_free(&all);
	return ZDICT_isError(size) ? 0 : size;
}

/* 0: a new one was kept; 1: the old one, or none, does as well. */
static int train_class(struct trainer *t, unsigned class, struct err *err)
{
	const struct samples *samples = &t->samples[class];
	size_t test = samples->n / HELD_BACK;
	struct str now;
	if (samples->n < SAMPLES_LEAST)
		return 1;
	if (bucket_dict_now(t->packer, class, &now, err) < 0)
		return -1;
	char *fresh = mem_alloc(DICT_SIZE);
	size_t n = train_make_dict(samples->sample + test, samples->n - test, fresh);
	size_t before = bucket_pack_trial(t->packer, now, samples->sample, test);
	int rc = 1;
	if (n && bucket_pack_trial(t->packer, (struct str){fresh, n}, samples->sample, test) <=
			 before - before / 20)
		rc = bucket_dict_add(t->packer, class, (struct str){fresh, n}, err);
	mem_free(&fresh);
	return rc;
}

static void samples_free(struct samples *samples)
{
	for (size_t i = 0; i < samples->n; i++) {
		char *p = (char *)samples->sample[i].p;
		mem_free(&p);
	}
	mem_free(&samples->sample);
}

int bucket_train(struct buckets *b, struct bucket_packer *packer, unsigned *ret_kept,
		 struct err *err)
{
	struct trainer t = {.packer = packer, .seed = bucket_length(b) | 1};
	unsigned kept = 0;
	for (unsigned i = 0; i < BUCKET_CLASSES; i++)
		t.samples[i].sample = mem_array(samples_most[i], sizeof *t.samples[i].sample);
	int rc = train_collect(&t, b, err);
	for (unsigned i = 0; rc >= 0 && i < BUCKET_CLASSES; i++) {
		rc = train_class(&t, i, err);
		kept += rc == 0;
	}
	for (unsigned i = 0; i < BUCKET_CLASSES; i++)
		samples_free(&t.samples[i]);
	if (rc < 0)
		return rc;
	*ret_kept = kept;
	return 0;
}
