/* The copy of PIDB: a table by provider. Each round compares a number to see whether anything has
 * changed. Finding out what has changed takes a walk over all providers, so the next walk waits
 * twenty times as long as the last one took: 100,000 providers that connect all the time must not
 * stop the queue. Until the walk, a contract is read when it is needed, so a set that was sent
 * after a change never goes by the old contract. Prefixes are never taken back, so known ones stay
 * valid; a URL below none of them may lie below a new one. */
#include "cache/qm/qm_contracts.h"

#include "base/hash.h"
#include "base/table.h"
#include "cache/uns/prefix.h"
#include "url/url.h"

struct entry {
	struct qm_contract contract;
	struct prefixes prefixes;
	uint64_t prefixes_at; /* version with which they were read, plus 1; 0: not yet */
	uint64_t read_at;     /* version with which the contract was read */
	bool is_news;         /* it was changed then, and the next walk says so */
	uint64_t seen;        /* walk */
};

TABLE(entries, uint64_t, struct entry, hash_u64, table_same_u64)

struct qm_contracts {
	struct pidb *pidb;
	struct entries entries;
	int period;
	uint64_t version, walked; /* as it is now; of the last walk */
	uint64_t walk;
	int64_t walk_us; /* not before */
	int rc;
	struct err err;
};

int qm_contracts_open(struct qm_contracts **ret, const char *folder, int period, struct err *err)
{
	struct qm_contracts *c = mem_alloc(sizeof *c);
	*c = (struct qm_contracts){.period = period, .walk_us = INT64_MIN};
	if (pidb_open(&c->pidb, folder, err) < 0) {
		mem_free(&c);
		return -1;
	}
	*ret = c;
	return 0;
}

void qm_contracts_close(struct qm_contracts **cp)
{
	struct qm_contracts *c = *cp;
	if (!c)
		return;
	TABLE_EACH (entries, slot, &c->entries)
		prefixes_free(&slot->value.prefixes);
	entries_free(&c->entries);
	pidb_close(&c->pidb);
	mem_free(cp);
}

static void note_failure(struct qm_contracts *c, int rc, const struct err *err)
{
	if (rc >= 0 || c->rc < 0)
		return;
	c->rc = rc;
	c->err = *err;
}

static struct qm_contract contract_of(const struct qm_contracts *c, const struct pidb_provider *p)
{
	return (struct qm_contract){.priority = p->priority,
				    .quota_files = p->quota_files,
				    .quota_space = p->quota_space,
				    .bandwidth = p->bandwidth,
				    .hours = hours_kept(str_of(p->hours), c->period)};
}

static int providers_walk(struct qm_contracts *c, const struct qm_contracts_ops *ops, void *ctx,
			  struct err *err)
{
	struct pidb_provider p = {0};
	int rc;
	c->walk++;
	while ((rc = pidb_next(c->pidb, p.id, INT64_MAX, &p, err)) == 0) {
		bool is_new;
		struct entry *e = entries_put_new(&c->entries, p.id, &is_new);
		const struct qm_contract now = contract_of(c, &p);
		e->seen = c->walk;
		e->read_at = c->version;
		if (!is_new && !e->is_news && qm_contract_same(&now, &e->contract))
			continue;
		e->contract = now;
		e->is_news = false;
		ops->changed(ctx, p.id);
	}
	if (rc < 0)
		return rc;
	TABLE_EACH (entries, slot, &c->entries) {
		uint64_t id = slot->key;
		if (slot->value.seen == c->walk)
			continue;
		prefixes_free(&slot->value.prefixes);
		entries_remove(&c->entries, id);
		ops->changed(ctx, id);
	}
	uint64_t gone;
	rc = pidb_gone(c->pidb, &gone, err);
	if (rc == 0)
		ops->gone(ctx, gone);
	return MIN(rc, 0);
}

int qm_contracts_failed(const struct qm_contracts *c, struct err *err)
{
	if (c->rc < 0)
		*err = c->err;
	return c->rc;
}

int qm_contracts_look(struct qm_contracts *c, int64_t mono_us, const struct qm_contracts_ops *ops,
		      void *ctx, struct err *err)
{
	if (qm_contracts_failed(c, err) < 0)
		return -1;
	c->version = pidb_version(c->pidb);
	if (mono_us < c->walk_us || (c->version == c->walked && c->walk > 0))
		return 0;
	int64_t from_us = clock_mono_us();
	c->walked = c->version;
	int rc = providers_walk(c, ops, ctx, err);
	c->walk_us = mono_us + (clock_mono_us() - from_us) * 20;
	return rc;
}

/* Reads the contract again if PIDB has changed. A provider that has left stays until the walk. */
static struct entry *entry_get(struct qm_contracts *c, uint64_t provider)
{
	struct pidb_provider p;
	struct err err;
	struct entry *e = entries_get(&c->entries, provider);
	if (e && e->read_at == c->version)
		return e;
	int rc = pidb_get(c->pidb, provider, INT64_MAX, &p, &err);
	note_failure(c, rc, &err);
	if (rc != 0 && !e)
		return NULL;
	bool is_new = !e;
	if (is_new)
		e = entries_put(&c->entries, provider);
	e->read_at = c->version;
	if (rc != 0)
		return e;
	const struct qm_contract now = contract_of(c, &p);
	if (is_new)
		e->seen = c->walk;
	else
		e->is_news |= !qm_contract_same(&now, &e->contract);
	e->contract = now;
	return e;
}

int qm_contracts_get(struct qm_contracts *c, uint64_t provider, struct qm_contract *ret)
{
	const struct entry *e = entry_get(c, provider);
	if (!e)
		return 1;
	*ret = e->contract;
	return 0;
}

int qm_contracts_within(struct qm_contracts *c, uint64_t provider, struct str url,
			struct arena *arena, struct str *ret)
{
	char room[URL_MAX];
	struct url parsed;
	struct str prefix;
	struct err err;
	struct entry *e = entry_get(c, provider);
	if (!e || url_parse(url, NULL, room, sizeof room, &parsed) < 0)
		return 1;
	bool is_below = prefixes_cover(&e->prefixes, &parsed, &prefix);
	if (!is_below && e->prefixes_at != c->version + 1) {
		prefixes_free(&e->prefixes);
		note_failure(c, prefixes_load(&e->prefixes, c->pidb, provider, &err), &err);
		e->prefixes_at = c->version + 1;
		is_below = prefixes_cover(&e->prefixes, &parsed, &prefix);
	}
	if (!is_below)
		return 1;
	*ret = arena_str(arena, prefix);
	return 0;
}

void qm_contracts_want(struct qm_contracts *c, uint64_t provider, enum pidb_wanted why)
{
	struct err err;
	note_failure(c, pidb_want(c->pidb, provider, why, &err), &err);
}

int qm_contracts_lost(struct qm_contracts *c, struct err *err)
{
	struct pidb_provider p = {0};
	int rc;
	while ((rc = pidb_next(c->pidb, p.id, INT64_MAX, &p, err)) == 0)
		if (p.seq > 0)
			return pidb_want(c->pidb, 0, PIDB_CRASH, err);
	return MIN(rc, 0);
}

void qm_contracts_forgotten(struct qm_contracts *c, uint64_t provider)
{
	struct err err;
	note_failure(c, pidb_gone_done(c->pidb, provider, &err), &err);
}
