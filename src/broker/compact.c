/* Compaction of documents and compression of the registry: one at a time, in three steps each. */
#include "broker/compact_inner.h"

#include "base/clock.h"
#include "base/fault.h"

struct compact {
	struct docstore *docs;
	struct registry *registry;
	struct maintenance *maintenance; /* which has the job */
	bool records_next;               /* documents had their turn */
	bool all;                        /* on demand, until the records have had theirs */
	/* The job, which is one of these or none. */
	struct docstore_compaction *documents;
	struct registry_compression *records;
	unsigned failures;
	int64_t rests_until_us;
};

struct compact *compact_new(struct docstore *docs, struct registry *registry)
{
	struct compact *c = mem_alloc(sizeof *c);
	*c = (struct compact){.docs = docs, .registry = registry};
	return c;
}

void compact_stop(struct compact *c)
{
	if (c && c->documents)
		docstore_compact_stop(c->documents);
	if (c && c->records)
		registry_compress_stop(c->records);
}

static void forget_job(struct compact *c)
{
	docstore_compact_free(&c->documents);
	registry_compress_free(&c->records);
}

void compact_free(struct compact **cp)
{
	if (!*cp)
		return;
	forget_job(*cp);
	mem_free(cp);
}

int compact_wanted(struct compact *c, bool *ret, struct err *err)
{
	struct docstore_stats d;
	if (docstore_stats(c->docs, &d, err) < 0)
		return -1;
	*ret = c->all ||
	       (d.deleted_bytes >= COMPACT_LEAST &&
		d.deleted_bytes * 100 >= d.text_bytes * COMPACT_PERCENT) ||
	       registry_worth_it(c->registry);
	return 0;
}

/* Jobs */

static int copy_documents(void *ctx, struct err *err)
{
	struct compact *c = ctx;
	return docstore_compact_copy(c->documents, err);
}

static int copy_records(void *ctx, struct err *err)
{
	struct compact *c = ctx;
	return registry_compress_copy(c->records, err);
}

static int begin_documents(struct compact *c, unsigned percent, struct err *err)
{
	int rc = docstore_compact_begin(c->docs, percent, &c->documents, err);
	if (rc == 0)
		maintenance_begin(c->maintenance, copy_documents, c);
	return rc;
}

static int begin_records(struct compact *c, int64_t now_us, struct err *err)
{
	int rc = registry_compress_begin(c->registry, c->all, now_us, &c->records, err);
	c->all = false;
	if (rc == 0)
		maintenance_begin(c->maintenance, copy_records, c);
	return rc;
}

/* They take turns: where much changes, there are always documents to compact. */
int compact_begin(struct compact *c, struct maintenance *maintenance, unsigned percent,
		  int64_t now_us, struct err *err)
{
	if (compact_runs(c) || clock_mono_us() < c->rests_until_us)
		return 1;
	c->maintenance = maintenance;
	int rc = c->records_next ? begin_records(c, now_us, err) : 1;
	if (rc == 1)
		rc = begin_documents(c, c->all ? 1 : percent, err);
	if (rc == 1 && !c->records_next)
		rc = begin_records(c, now_us, err);
	c->records_next = c->documents != NULL;
	return rc;
}

int compact_step(struct compact *c, int64_t now_us, struct err *err)
{
	int rc = 0;
	if (!compact_runs(c) || maintenance_ended(c->maintenance, &rc, err) != 0)
		return 0;
	if (rc != 0) {
		forget_job(c);
		c->rests_until_us = now_us + maintenance_rest_us(++c->failures);
		return rc < 0;
	}
	FAULT("compact.copied");
	rc = c->documents ? docstore_compact_end(c->documents, err)
			  : registry_compress_end(c->records, err);
	forget_job(c);
	if (rc < 0)
		return -1;
	FAULT("compact.ended");
	c->failures = 0;
	return 0;
}

void compact_all(struct compact *c)
{
	c->all = true;
	c->records_next = false;
	c->rests_until_us = 0;
}

bool compact_asked(const struct compact *c)
{
	return c->all;
}

bool compact_runs_records(const struct compact *c)
{
	return c->records != NULL;
}

bool compact_runs(const struct compact *c)
{
	return c->documents || c->records;
}

int64_t compact_rests_until_us(const struct compact *c)
{
	return c->rests_until_us;
}
