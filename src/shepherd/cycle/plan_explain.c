/* What plan makes of one URL: the same judgement as in its passes, on one item, one site and one
 * server; and where the URL stands in the plan that a state has. */
#include "shepherd/planning.h"

#include "base/clock.h"

/* In what order the plan is gathered, but for what servers allow. */
static bool entry_is_before(const struct plan_entry *a, const struct plan_entry *b)
{
	return a->priority != b->priority ? a->priority > b->priority
					  : footprint_cmp(a->fp, b->fp) < 0;
}

/* Reads the plan once for the entry and once more for its place. 1: there is no plan. */
static int plan_read_all(const char *path, struct plan_answer *a,
			 void (*fn)(struct plan_answer *, const struct plan_entry *),
			 struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	CLEANUP(counted_close) struct counted_reader in = {0};
	struct plan_site site;
	int rc = plan_open(&in, path, err);
	if (rc != 0)
		return rc;
	while ((rc = plan_next(&in, &arena, &site, err)) == 0) {
		for (size_t i = 0; i < site.n; i++)
			fn(a, &site.entry[i]);
		arena_clear(&arena);
	}
	return MIN(rc, 0);
}

static void answer_find_entry(struct plan_answer *a, const struct plan_entry *e)
{
	a->of += !(e->flags & PLAN_ROBOTS);
	if (footprint_cmp(e->fp, a->item.fp) != 0)
		return;
	a->planned = true;
	a->entry = *e;
}

static void answer_count_before(struct plan_answer *a, const struct plan_entry *e)
{
	a->place += !(e->flags & PLAN_ROBOTS) && entry_is_before(e, &a->entry);
}

static int answer_place(struct state *st, struct plan_answer *a, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	const char *path = state_path(st, &arena, "plan");
	int rc = plan_read_all(path, a, answer_find_entry, err);
	if (rc < 0 && err->code == ERR_DAMAGED && !phase_is_done(state_phase(st)))
		rc = 1; /* it is being written */
	a->has_plan = rc == 0;
	if (rc == 0 && a->planned) {
		a->place = 1;
		rc = plan_read_all(path, a, answer_count_before, err);
	}
	return MIN(rc, 0);
}

static int answer_site(struct state *st, const struct crawl *c, const struct site *known,
		       struct plan_answer *a, struct err *err)
{
	CLEANUP(servers_free) struct servers *servers = NULL;
	struct site site = known ? *known : (struct site){.fp = a->item.fp.site};
	struct server room;
	struct filter_site f;
	if (servers_load_of(&servers, st, c, &site, err) < 0)
		return -1;
	a->server = *servers_of(servers, &site, &room);
	servers_filter(servers, &site, &f);
	a->queue_bonus = qkey_kind(site.qkey) == QKEY_RESOLVED ? f.queue_bonus : 0;
	a->dead = site_is_dead(&site, c);
	a->rests_until_s = site_rests_until(&site, c);
	if (a->rests_until_s * US_PER_S <= c->now_us)
		a->rests_until_s = 0;
	return 0;
}

int plan_explain_url(struct state *st, const struct crawl *c, struct footprint fp,
		     const struct site *site, struct plan_answer *ret, struct err *err)
{
	const struct url_index *index;
	struct plan_answer a = {.verdict.band = PLAN_BANDS};
	int rc = state_index(st, &index, err);
	if (rc == 0)
		rc = url_index_find(index, fp, &a.item, err);
	if (rc != 0)
		return rc;
	if (answer_site(st, c, site, &a, err) < 0 || answer_place(st, &a, err) < 0)
		return -1;
	a.candidate = plan_may_gather(&a.item);
	if (a.candidate) {
		struct plan_clock clock = plan_clock_of(c, state_params(st));
		plan_judge(&clock, &a.item, &a.verdict);
		a.verdict.priority = plan_raise(a.verdict.priority, a.server.tight, a.queue_bonus);
	}
	*ret = a;
	return 0;
}
