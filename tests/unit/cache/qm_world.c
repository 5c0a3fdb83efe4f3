/* The judge: what the core says to a botm, held against the model. */
#include "unit/cache/qm_world.h"

#include <stdio.h>

#define MUST(call) LAB_MUST(&w->lab, call)
#define SAME(a, b, what) LAB_SAME(&w->lab, a, b, what)

/* What the core is told of providers. */

static int tell_contract(void *ctx, uint64_t provider, struct qm_contract *ret)
{
	struct world *w = ctx;
	const struct qm_terms *t = &w->lab.m.terms[provider - 1];
	struct err err;
	*ret = (struct qm_contract){.priority = w->priority[provider - 1],
				    .quota_files = t->quota_files,
				    .quota_space = t->quota_space,
				    .bandwidth = w->bandwidth[provider - 1]};
	MUST(hours_parse(str_of(t->hours), w->lab.m.period, &ret->hours, &err));
	return 0;
}

static int tell_within(void *ctx, uint64_t provider, struct str url, struct arena *arena,
		       struct str *ret)
{
	(void)ctx;
	(void)url;
	*ret = str_of(arena_printf(arena, "http://h%" PRIu64 ".test/", provider));
	return 0;
}

/* What may go out */

static bool key_may_go(const struct world *w, size_t k)
{
	const struct qm_key *key = &w->lab.m.key[k];
	struct hours h = qm_model_hours(&w->lab.m, k);
	return key->queued && !key->is_nothing && !key->out && !hours_none(&h) &&
	       hours_allow(&h, w->lab.now_us);
}

/* A row that was to be fetched now before this round began. Of a time slot those that were passed
 * over wait for the end of their part, and bad ones for their time. */
static bool key_is_due(const struct world *w, size_t k)
{
	const struct qm_key *key = &w->lab.m.key[k];
	if (!key_may_go(w, k) || key->slot != DB_NOW)
		return false;
	for (size_t i = 0; i < w->nparts; i++)
		if (w->part[i].set == key->set && w->part[i].slot == key->slot)
			return w->part[i].start == DB_NOW;
	return false;
}

static bool provider_is_out(const struct world *w, uint64_t provider)
{
	for (size_t i = 0; i < w->nout; i++)
		if (!w->out[i].lost && qm_provider(w->out[i].key) == provider)
			return true;
	return false;
}

static void order_is_kept(struct world *w, size_t k)
{
	const struct qm_key *key = &w->lab.m.key[k];
	for (size_t i = 0; i < QM_KEYS; i++) {
		const struct qm_key *other = &w->lab.m.key[i];
		if (qm_provider(i) != qm_provider(k) || i == k || !key_is_due(w, i))
			continue;
		if (other->set < key->set)
			LAB_FAIL(&w->lab, "a row of set %" PRIu64 " goes before set %" PRIu64,
				 key->set, other->set);
		if (other->set == key->set && key->slot == DB_BAD)
			LAB_FAIL(&w->lab, "a bad row of set %" PRIu64 " goes before the others",
				 key->set);
		if (other->set == key->set && other->slot == key->slot && other->order < key->order)
			LAB_FAIL(&w->lab, "a row goes before another of set %" PRIu64, key->set);
	}
}

static void priority_is_kept(struct world *w, uint64_t provider)
{
	for (size_t i = 0; i < QM_KEYS; i++) {
		uint64_t other = qm_provider(i);
		if (w->priority[other - 1] > w->priority[provider - 1] && w->ready[other - 1] &&
		    !provider_is_out(w, other) && key_is_due(w, i))
			LAB_FAIL(&w->lab,
				 "provider %" PRIu64 " goes before %" PRIu64
				 ", whose priority is higher",
				 provider, other);
	}
}

/* The key that a fetch is for. */
static size_t key_of_fetch(struct world *w, const struct bot_message *m)
{
	struct str c = m->url;
	size_t k = QM_KEYS;
	if (c.n > 2 && memcmp(c.p + c.n - 2, "?f", 2) == 0)
		c.n -= 2;
	for (uint64_t p = 1; p <= QM_PROVIDERS && k == QM_KEYS; p++)
		k = qm_key_of(p, c, m->mime);
	if (k == QM_KEYS)
		LAB_FAIL(&w->lab, "what is fetched? " STR_FMT, STR_ARG(m->url));
	return k;
}

/* A fetch that the botm still has from before a kill is asked for again under its old id. One whose
 * turn it is not any more may still be under way when another of its provider goes out: leases of
 * the site's address are what keeps those apart. */
static void fetch_lost(struct world *w, size_t k, const char *id)
{
	for (size_t i = 0; i < w->nout; i++) {
		const struct fetch *f = &w->out[i];
		const struct qm_key *key = &w->lab.m.key[f->key];
		if (!f->lost || qm_provider(f->key) != qm_provider(k))
			continue;
		if (f->key == k && key->order == f->order && key->version == f->version &&
		    key->tries == f->tries)
			assert_string_equal(f->id, id);
		w->out[i--] = w->out[--w->nout];
	}
}

static void on_submit(void *ctx, const struct bot_message *m)
{
	struct world *w = ctx;
	size_t k = key_of_fetch(w, m);
	struct qm_key *key = &w->lab.m.key[k];
	uint64_t provider = qm_provider(k);
	char url[64], id[ID_MAX];
	SAME(m->kind, BOT_FETCH, "the kind of a message");
	SAME(key->queued && !key->is_nothing, true, "whether a row that goes out is queued");
	SAME(key->out || provider_is_out(w, provider), false, "whether a second one of it is out");
	SAME(key_may_go(w, k), true, "whether the hours allow it");
	qm_fetch(&key->notice, url, sizeof url);
	if (!str_eq(m->url, str_of(url)))
		LAB_FAIL(&w->lab, STR_FMT " goes out, not %s", STR_ARG(m->url), url);
	order_is_kept(w, k);
	priority_is_kept(w, provider);
	if (!w->wall_jumped && w->mono_us < w->after_us[provider - 1])
		LAB_FAIL(&w->lab, "provider %" PRIu64 " goes out %" PRId64 " ms too early",
			 provider, (w->after_us[provider - 1] - w->mono_us) / 1000);
	if (key->tries > RETRIES)
		LAB_FAIL(&w->lab, "try %u of a URL", key->tries);
	SAME(m->has & BOT_HAS_SINCE ? (int64_t)m->since : 0, qm_model_since(&w->lab.m, k),
	     "since when it may be unchanged");
	assert_true(m->id.n < sizeof id);
	snprintf(id, sizeof id, STR_FMT, STR_ARG(m->id));
	fetch_lost(w, k, id);
	assert_true(w->nout < OUT_MOST);
	struct fetch *f = &w->out[w->nout++];
	*f = (struct fetch){.key = k,
			    .order = key->order,
			    .version = key->version,
			    .tries = key->tries,
			    .has_validators = m->has & (BOT_HAS_SINCE | BOT_HAS_ETAG),
			    .sent_us = w->mono_us};
	memcpy(f->id, id, sizeof f->id);
	key->out = true;
	w->sent++;
}

/* What follows */

static void on_verdict(void *ctx, const struct bot_message *m, bool is_kept)
{
	struct world *w = ctx;
	for (size_t i = 0; i < w->nnow; i++) {
		struct answered *a = &w->now[i];
		if (a->told || !str_eq(m->id, str_of(a->id)))
			continue;
		if (a->has_file) {
			char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
			qm_file_name(a->a.file, machine, file);
			if (!str_eq(m->file, str_of(file)))
				continue;
		}
		SAME(is_kept, a->a.ret_kept, "whether a file is kept");
		a->told = true;
		return;
	}
	LAB_FAIL(&w->lab, "a verdict on " STR_FMT ", which was not answered", STR_ARG(m->id));
}

static void on_remove(void *ctx, struct str id, struct str machine, struct str file)
{
	struct world *w = ctx;
	size_t f = qm_file_of(machine, file);
	SAME(w->machine_up[f % QM_MACHINES], true, "whether its machine is there");
	assert_true(w->ndeletes < DELETES && id.n < ID_MAX);
	struct delete *d = &w->deletes[w->ndeletes++];
	snprintf(d->id, sizeof d->id, STR_FMT, STR_ARG(id));
	d->file = f;
}

static void on_wanted(void *ctx, uint64_t provider, enum pidb_wanted why)
{
	struct world *w = ctx;
	w->wanted[provider - 1] = MAX(w->wanted[provider - 1], why);
}

static void on_forgotten(void *ctx, uint64_t provider)
{
	struct world *w = ctx;
	LAB_FAIL(&w->lab, "provider %" PRIu64 " is forgotten", provider);
}

const struct qm_core_ops qm_world_ops = {
	.contract = tell_contract,
	.within = tell_within,
	.submit = on_submit,
	.verdict = on_verdict,
	.remove = on_remove,
	.wanted = on_wanted,
	.forgotten = on_forgotten,
};
