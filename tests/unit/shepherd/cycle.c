/* The modules of the cycle and a slow model of them (cycle_model.h) agree, on random worlds
 * (cycle_world.h). Each is written as a real state and goes once or twice through plan, reap and
 * cork, then through merge, equiv, select and record, and is planned again; after each of them
 * index, sites, plan, changes and gone are what the model says. A world follows from its number;
 * WORLD=n runs that one alone. */
#include "disk/tree.h"
#include "unit/shepherd/cycle_world.h"

#include <stdio.h>

/* Many small files and threads are what a world takes: most of all with ASan. */
#if defined(__SANITIZE_ADDRESS__)
enum { WORLDS = 2000, WORLDS_SHORT = 30 };
#else
enum { WORLDS = 2000, WORLDS_SHORT = 130 };
#endif

struct module {
	const char *name;
	enum phase phase, next;
	void (*model)(struct world *w);
	int (*run)(struct run *r, struct err *err);
	void (*check)(struct run *r); /* NULL, or what else it says */
};

/* The world as a state */

static void write_known(struct run *r)
{
	struct err err = {0};
	struct url_index_writer *w = NULL;
	struct counted_writer sites;
	struct state *st = r->lab.st;
	model_sort(&r->w);
	MUST(state_index_create(st, &w, &err));
	for (size_t i = 0; i < r->w.items; i++)
		url_index_put(w, &r->w.item[i]);
	MUST(state_index_put(st, &w, &err));
	MUST(state_sites_create(st, &sites, &err));
	for (size_t i = 0; i < r->w.sites; i++)
		MUST(sites_write(&sites, &r->w.site[i], &err));
	MUST(state_sites_finish(st, &sites, &err));
}

/* Whether a URL was planned and not tried. */
static bool leaves_planned(const struct world *w)
{
	for (size_t i = 0; i < w->planned; i++) {
		size_t k = 0;
		if (w->plan[i].entry.flags & PLAN_ROBOTS)
			continue;
		while (k < w->entries && footprint_cmp(w->journal[k].fp, w->plan[i].entry.fp) != 0)
			k++;
		if (k == w->entries)
			return true;
	}
	return false;
}

static void write_found(struct run *r, unsigned round)
{
	struct err err = {0};
	for (size_t i = 0; i < r->w.entries; i++)
		MUST(state_journal(r->lab.st, &r->w.journal[i], &err));
	for (size_t i = 0; i < r->w.contribs; i++) {
		struct model_contrib *c = &r->w.contrib[i];
		uint64_t at;
		if (c->round != round)
			continue;
		MUST(state_contrib(r->lab.st, &c->c, &at, &err));
		c->place = contrib_place(round, at);
	}
	if (leaves_planned(&r->w)) { /* as the cycle does after a reap */
		struct state_course course = state_params(r->lab.st)->course;
		course.due_s = MIN(course.due_s, (uint64_t)(r->w.crawl.now_us / US_PER_S));
		MUST(state_params_put(r->lab.st, &course, &err));
		r->w.course.due_s = course.due_s;
	}
}

/* Comparing */

static void show_item(const struct index_item *item, char *ret, size_t n)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(4096);
	index_item_print(item, &text);
	snprintf(ret, n, STR_FMT, STR_ARG(buf_str(&text)));
}

static const char *show_url(const struct run *r, struct footprint fp)
{
	for (unsigned i = 0; i < URLS; i++)
		if (footprint_cmp(r->url[i].fp, fp) == 0)
			return r->url[i].text;
	for (unsigned i = 0; i < URLS; i += PATHS)
		if (r->url[i].fp.site == fp.site && fp.path == 0)
			return world_hosts[i / PATHS];
	return "?";
}

/* The bucket that record made for a URL. */
static void compare_bucket(struct run *r, const struct index_item *got)
{
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct footprint fp;
	if (!index_item_has_bucket(got))
		FAIL(r, "%s has no bucket", show_url(r, got->fp));
	MUST(bucket_get(r->buckets, NULL, (uint32_t)got->where, &r->lab.arena, &header, &body,
			&err));
	struct str url = attrs_get(&header, 'U'), digits = attrs_get(&header, 'O');
	if (!str_is(url, show_url(r, got->fp)))
		FAIL(r, "bucket of %s: U is " STR_FMT, show_url(r, got->fp), STR_ARG(url));
	if (!footprint_parse(digits, &fp) || footprint_cmp(fp, got->fp) != 0)
		FAIL(r, "bucket of %s: O is " STR_FMT, show_url(r, got->fp), STR_ARG(digits));
}

/* Which of several contributions of a URL an item names does not matter; of a note on a queue key
 * only what the contract says counts. */
static void compare_item(struct run *r, const struct index_item *got, struct index_item *want)
{
	struct err err = {0};
	struct index_item same = *want;
	if (want->where == MODEL_MADE) {
		compare_bucket(r, got);
		same.where = got->where;
	} else if (want->flags & got->flags & ITEM_CONTRIB && want->where != ITEM_NOWHERE &&
		   want->where != got->where && got->where != ITEM_NOWHERE) {
		struct contrib c;
		MUST(state_contrib_at(r->lab.st, got->where, &c, &err));
		if (footprint_cmp(c.fp, got->fp) != 0)
			FAIL(r, "%s: its contribution is of " STR_FMT, show_url(r, got->fp),
			     STR_ARG(c.url));
		same.where = got->where;
	}
	if (want->type == ITEM_QKEY && got->type == ITEM_QKEY) {
		same = *got;
		same.flags = want->flags;
		same.where = want->where;
		same.last_seen_s = want->last_seen_s;
	}
	unsigned char a[INDEX_ITEM], b[INDEX_ITEM];
	index_item_write(got, a);
	index_item_write(&same, b);
	if (memcmp(a, b, sizeof a) != 0) {
		char is[512], should[512];
		show_item(got, is, sizeof is);
		show_item(want, should, sizeof should);
		FAIL(r, "%s\n  is     %s\n  should %s", show_url(r, got->fp), is, should);
	}
	*want = same;
}

static void compare_index(struct run *r)
{
	struct err err = {0};
	const struct url_index *index;
	struct url_index_scan *scan = NULL;
	struct index_item got;
	size_t i = 0;
	int rc;
	model_sort(&r->w);
	MUST(state_index(r->lab.st, &index, &err));
	MUST(url_index_scan(&scan, index, (struct footprint){0}, &err));
	while ((rc = url_index_next(scan, &got, &err)) == 0) {
		struct index_item *want = i < r->w.items ? &r->w.item[i] : NULL;
		int order = want ? footprint_cmp(got.fp, want->fp) : -1;
		if (order) {
			const struct index_item *one = order < 0 ? &got : want;
			char text[512];
			show_item(one, text, sizeof text);
			FAIL(r, "%s is %s: %s", show_url(r, one->fp),
			     order < 0 ? "there and should not" : "not there and should", text);
		}
		compare_item(r, &got, want);
		i++;
	}
	assert_int_equal(1, rc);
	url_index_scan_free(&scan);
	if (i < r->w.items)
		FAIL(r, "%s is not there and should", show_url(r, r->w.item[i].fp));
}

static void show_site(const struct site *s, char *ret, size_t n)
{
	snprintf(ret, n,
		 "%s " STR_FMT ":%u norm %016" PRIx64 " key %" PRIx64 " active %u inactive %u "
		 "gathered %u fresh %u demand %u download %u limit %u errors %u at %u "
		 "oscillations %u delay %u",
		 url_protocol_name(s->protocol), STR_ARG(s->host), s->port, s->norm, s->qkey,
		 s->active, s->inactive, s->gathered, s->fresh, s->demand, s->download_ms, s->limit,
		 s->error_cycles, s->failed_s, s->oscillations, s->delay_ms);
}

static void compare_sites(struct run *r)
{
	struct err err = {0};
	struct sites_scan *scan = NULL;
	struct site got;
	size_t i = 0;
	int rc;
	MUST(state_sites_scan(r->lab.st, &scan, &err));
	while ((rc = sites_scan_next(scan, &got, &err)) == 0) {
		char is[512], should[512] = "not there";
		show_site(&got, is, sizeof is);
		if (i < r->w.sites)
			show_site(&r->w.site[i], should, sizeof should);
		if (i == r->w.sites || got.fp != r->w.site[i].fp || strcmp(is, should) != 0)
			FAIL(r, "site\n  is     %s\n  should %s", is, should);
		i++;
	}
	assert_int_equal(1, rc);
	sites_scan_free(&scan);
	if (i < r->w.sites)
		FAIL(r, "site " STR_FMT " is missing", STR_ARG(r->w.site[i].host));
}

static int compare_changes_by(const void *a, const void *b)
{
	const struct model_change *x = a, *y = b;
	int order = footprint_cmp(x->fp, y->fp);
	return order ? order : ((int)x->op - (int)y->op) * 2 + x->forgotten - y->forgotten;
}

/* Deletes are told with the URL. Where nothing was gathered, merge tells that it was forgotten;
 * others may. */
static size_t read_changes(struct run *r, enum phase by, struct model_change ret[MODEL_TOLD])
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	size_t n = 0;
	int rc = state_read(r->lab.st, "changes", &in, &err);
	assert_true(rc >= 0);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		struct change c;
		MUST(change_read(record.payload, &c, &err));
		if (c.by != by || (by != PHASE_MERGE && c.op == CHANGE_NONE))
			continue;
		if (c.op == CHANGE_DELETE && !str_is(c.url, show_url(r, c.fp)))
			FAIL(r, "delete of %s tells the URL '" STR_FMT "'", show_url(r, c.fp),
			     STR_ARG(c.url));
		assert_true(n < MODEL_TOLD);
		ret[n++] = (struct model_change){c.fp, c.op, c.forgotten};
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return n;
}

static void compare_changes(struct run *r, enum phase by)
{
	static struct model_change got[MODEL_TOLD + 1], want[MODEL_TOLD + 1];
	size_t n = read_changes(r, by, got), wanted = 0;
	for (size_t i = 0; i < r->w.changes; i++)
		if (by == PHASE_MERGE || r->w.change[i].op != CHANGE_NONE)
			want[wanted++] = r->w.change[i];
	qsort(got, n, sizeof *got, compare_changes_by);
	qsort(want, wanted, sizeof *want, compare_changes_by);
	for (size_t i = 0; i < MAX(n, wanted); i++) {
		int order = i == n ? 1 : i == wanted ? -1 : compare_changes_by(&got[i], &want[i]);
		const struct model_change *c = order < 0 ? &got[i] : &want[i];
		if (order)
			FAIL(r, "change %s%s of %s is %s", change_op_names[c->op],
			     c->forgotten ? " (forgotten)" : "", show_url(r, c->fp),
			     order < 0 ? "told and should not" : "not told and should");
	}
}

static int compare_gone_by(const void *a, const void *b)
{
	const struct model_gone *x = a, *y = b;
	int order = footprint_cmp(x->fp, y->fp);
	return order ? order : (int)x->reason - (int)y->reason;
}

struct gone_list {
	struct model_gone gone[MODEL_TOLD * 4];
	size_t n;
};

static int note_gone(void *ctx, const struct gone *g, struct err *err)
{
	struct gone_list *list = ctx;
	(void)err;
	assert_true(list->n < ARRAY_LEN(list->gone));
	list->gone[list->n++] = (struct model_gone){g->fp, g->reason};
	return 0;
}

static void compare_gone(struct run *r)
{
	static struct gone_list list;
	struct err err = {0};
	list.n = 0;
	MUST(gone_each(states_path(r->lab.s, &r->lab.arena, "gone"), note_gone, &list, &err));
	struct model_gone *got = list.gone + r->gone_before, *want = r->w.gone;
	size_t n = list.n - r->gone_before, wanted = r->w.gones;
	r->gone_before = list.n;
	qsort(got, n, sizeof *got, compare_gone_by);
	qsort(want, wanted, sizeof *want, compare_gone_by);
	for (size_t i = 0; i < MAX(n, wanted); i++) {
		int order = i == n ? 1 : i == wanted ? -1 : compare_gone_by(&got[i], &want[i]);
		const struct model_gone *g = order < 0 ? &got[i] : &want[i];
		if (order)
			FAIL(r, "gone %s (%s): %s", show_url(r, g->fp),
			     gone_reason_names[g->reason],
			     order < 0 ? "is there and should not" : "is not there and should");
	}
}

static int compare_entries_by(const void *a, const void *b)
{
	const struct model_entry *x = a, *y = b;
	return footprint_cmp(x->entry.fp, y->entry.fp);
}

static void show_entry(const struct model_entry *e, char *ret, size_t n)
{
	/* what a site waits that was never asked is not said */
	snprintf(ret, n,
		 "priority %u flags %u item flags %u retry %u weight %u section %u where %" PRIx64
		 " hops %u key %" PRIx64 " delay %u robots %" PRIx64,
		 e->entry.priority, e->entry.flags, e->entry.item_flags, e->entry.retry,
		 e->entry.weight, e->entry.section, e->entry.where, e->entry.hops, e->qkey,
		 e->qkey ? e->delay_ms : 0, e->robots_where);
}

static size_t read_plan(struct run *r, struct model_entry ret[MODEL_ITEMS])
{
	struct err err = {0};
	struct counted_reader in;
	struct plan_site site;
	size_t n = 0;
	int rc;
	MUST(plan_open(&in, state_path(r->lab.st, &r->lab.arena, "plan"), &err));
	while ((rc = plan_next(&in, &r->lab.arena, &site, &err)) == 0)
		for (size_t i = 0; i < site.n; i++) {
			assert_true(n < MODEL_ITEMS);
			assert_int_equal(site.fp, site.entry[i].fp.site);
			bool robots = site.entry[i].flags & PLAN_ROBOTS;
			if (robots != (i == 0 && site.entry[0].flags & PLAN_ROBOTS))
				FAIL(r, "robots.txt is not the first of its site");
			ret[n++] = (struct model_entry){site.entry[i], site.qkey, site.delay_ms,
							site.robots_where};
		}
	assert_int_equal(1, rc);
	counted_close(&in);
	return n;
}

static void compare_plan(struct run *r)
{
	static struct model_entry got[MODEL_ITEMS];
	struct model_entry *want = r->w.plan;
	size_t n = read_plan(r, got), wanted = r->w.planned;
	qsort(got, n, sizeof *got, compare_entries_by);
	qsort(want, wanted, sizeof *want, compare_entries_by);
	for (size_t i = 0; i < MAX(n, wanted); i++) {
		int order = i == n ? 1 : i == wanted ? -1 : compare_entries_by(&got[i], &want[i]);
		const struct model_entry *e = order < 0 ? &got[i] : &want[i];
		char is[512], should[512];
		show_entry(order > 0 ? e : &got[MIN(i, n - 1)], is, sizeof is);
		show_entry(e == &want[i] || i == wanted ? e : &want[i], should, sizeof should);
		if (order)
			FAIL(r, "%s %s: %s", show_url(r, e->entry.fp),
			     order < 0 ? "is planned and should not" : "is not planned and should",
			     order < 0 ? is : should);
		if (strcmp(is, should) != 0)
			FAIL(r, "%s\n  is     %s\n  should %s", show_url(r, e->entry.fp), is,
			     should);
	}
}

/* Where a plan is made next, the course does not say that nothing is due when something is. */
static void compare_course(struct run *r, const struct module *m)
{
	const struct state_course *got = &state_params(r->lab.st)->course, *want = &r->w.course;
	bool planned_next = m->next == PHASE_CORKED || m->next == PHASE_CLOSED;
	if (got->due_s != want->due_s)
		FAIL(r, "due %" PRIu64 ", should %" PRIu64, got->due_s, want->due_s);
	if (planned_next && got->due_s > (uint64_t)model_surely_due(&r->w))
		FAIL(r, "due %" PRIu64 ", but something is at %" PRId64, got->due_s,
		     model_surely_due(&r->w));
	if (got->rounds != want->rounds)
		FAIL(r, "%" PRIu64 " rounds, should %" PRIu64, got->rounds, want->rounds);
	for (int i = 0; i < ITEM_TYPES; i++)
		if (got->urls[i] != want->urls[i])
			FAIL(r, "%" PRIu64 " URLs of type %d, should %" PRIu64, got->urls[i], i,
			     want->urls[i]);
}

/* Limits bind, whatever the order in which URLs are met: sacred ones are counted first and may be
 * more, others only fill what is left. */
static void check_limits(struct run *r)
{
	uint64_t active = 0, sacred = 0, sleeping = 0;
	for (size_t i = 0; i < r->w.sites; i++) {
		const struct site *site = &r->w.site[i];
		uint64_t limit = site->limit ? site->limit : (uint64_t)r->conf.site_max, holy = 0;
		for (size_t k = 0; k < r->w.items; k++)
			holy += r->w.item[k].fp.site == site->fp &&
				!(r->w.item[k].flags & ITEM_ROBOTS) &&
				r->w.item[k].flags & ITEM_SACRED;
		if (!r->own_limits && site->active > MAX(limit, holy))
			FAIL(r, STR_FMT " has %u active URLs, its limit is %" PRIu64,
			     STR_ARG(site->host), site->active, limit);
		active += site->active;
		sacred += holy;
	}
	for (size_t k = 0; k < r->w.items; k++)
		sleeping += r->w.item[k].type == ITEM_SLEEPING;
	if (active > MAX((uint64_t)r->conf.active_max, sacred))
		FAIL(r, "%" PRIu64 " URLs are active", active);
	if (sleeping > (uint64_t)r->conf.remember_max)
		FAIL(r, "%" PRIu64 " URLs sleep", sleeping);
}

/* The modules */

#define COUNTED(r, got, want) compare_count(r, #got, got, want)
static void compare_count(const struct run *r, const char *what, uint64_t got, uint64_t want)
{
	if (got != want)
		FAIL(r, "%s is %" PRIu64 ", should be %" PRIu64, what, got, want);
}

static int run_plan(struct run *r, struct err *err)
{
	struct planned p = {0};
	int rc = crawl_plan(r->lab.st, &r->w.crawl, true, &p, err);
	if (rc)
		return rc;
	compare_plan(r);
	if (p.next_s != r->w.next_s)
		FAIL(r, "next %" PRId64 ", should %" PRId64, p.next_s, r->w.next_s);
	COUNTED(r, p.urls, r->w.planned - r->w.robots);
	COUNTED(r, p.robots, r->w.robots);
	COUNTED(r, p.waiting, r->w.waiting);
	return 0;
}

static int run_cork(struct run *r, struct err *err)
{
	return crawl_cork(r->lab.st, &r->w.crawl, err);
}

static uint64_t count_changes(const struct run *r, enum change_op op)
{
	uint64_t n = 0;
	for (size_t i = 0; i < r->w.changes; i++)
		n += r->w.change[i].op == op;
	return n;
}

static uint64_t count_gone(const struct run *r, enum gone_reason reason)
{
	uint64_t n = 0;
	for (size_t i = 0; i < r->w.gones; i++)
		n += r->w.gone[i].reason == reason;
	return n;
}

static int run_merge(struct run *r, struct err *err)
{
	return crawl_merge(r->lab.st, &r->w.crawl, &r->merged, err);
}

static void check_merged(struct run *r)
{
	const struct merged *m = &r->merged;
	COUNTED(r, m->added, count_changes(r, CHANGE_ADD));
	COUNTED(r, m->forgotten, r->w.gones);
	COUNTED(r, m->duplicates, count_gone(r, GONE_DUPLICATE));
	COUNTED(r, m->added - m->roots + m->known + m->unwanted, r->w.found);
}

static int run_equiv(struct run *r, struct err *err)
{
	uint64_t changed;
	return crawl_equiv(r->lab.st, &r->w.crawl, &changed, err);
}

static int run_select(struct run *r, struct err *err)
{
	return crawl_select(r->lab.st, &r->w.crawl, true, &r->selected, err);
}

static void check_selected(struct run *r)
{
	uint64_t active = 0, forgotten = 0;
	for (size_t i = 0; i < r->w.sites; i++)
		active += r->w.site[i].active;
	for (size_t i = 0; i < CRAWL_LIMITS; i++)
		forgotten += r->selected.forgotten[i];
	COUNTED(r, r->selected.active, active);
	COUNTED(r, r->selected.expired, count_gone(r, GONE_ERROR));
	COUNTED(r, forgotten, count_gone(r, GONE_RANK));
	COUNTED(r, r->selected.lost, count_changes(r, CHANGE_DELETE));
	check_limits(r);
}

static int run_record(struct run *r, struct err *err)
{
	uint64_t made;
	return crawl_record(r->lab.st, &r->w.crawl, &made, err);
}

static const struct module modules[] = {
	{"plan", PHASE_PLAN, PHASE_REAP, model_plan, run_plan, NULL},
	{"cork", PHASE_CORK, PHASE_CORKED, model_cork, run_cork, NULL},
	{"merge", PHASE_MERGE, PHASE_EQUIV, model_merge, run_merge, check_merged},
	{"equiv", PHASE_EQUIV, PHASE_SELECT, model_equiv, run_equiv, NULL},
	{"select", PHASE_SELECT, PHASE_RECORD, model_select, run_select, check_selected},
	{"record", PHASE_RECORD, PHASE_CLOSED, model_record, run_record, NULL},
};
enum { PLAN, CORK, MERGE, RECORD = 5 };

static void go_through(struct run *r, const struct module *m)
{
	struct err err = {0};
	struct state *st = r->lab.st;
	r->module = m->name;
	arena_clear(&r->lab.arena);
	assert_int_equal(m->phase, state_phase(st));
	r->w.created_us = state_params(st)->created_us;
	r->w.crawl.buckets = m->phase >= PHASE_MERGE ? r->buckets : NULL;
	m->model(&r->w);
	if (m->run(r, &err) != 0)
		FAIL(r, "%s", err.msg);
	compare_index(r);
	compare_sites(r);
	compare_course(r, m);
	MUST(state_enter(st, m->next, r->buckets, PLAY_START, &err));
	compare_changes(r, m->phase);
	compare_gone(r);
	if (m->check)
		m->check(r);
}

static void begin_world(struct run *r, uint64_t world)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	const char *folder = scratch("world");
	*r = (struct run){.world = world, .seed = world * 0x9e3779b97f4a7c15 + 1, .module = "made"};
	r->lab.arena = ARENA_INIT(64 << 20);
	MUST(states_init(folder, 0, PLAY_START, &err));
	MUST(states_open(&r->lab.s, folder, true, &err));
	MUST(bucket_open(&r->buckets, states_path(r->lab.s, &r->lab.arena, "objects"), &options,
			 &err));
	world_make(r);
	lab_enter(&r->lab, false, PHASE_MERGE);
	write_known(r);
	MUST(state_params_put(r->lab.st, &r->w.course, &err));
	MUST(state_enter(r->lab.st, PHASE_CLOSED, r->buckets, PLAY_START, &err));
}

static void end_world(struct run *r)
{
	struct err err = {0};
	MUST(bucket_close(&r->buckets, &err));
	lab_free(&r->lab);
	filter_free(&r->filter);
	equiv_free(&r->equiv);
	MUST(tree_remove(scratch("world"), &err));
}

static void try_world(uint64_t world)
{
	static struct run run;
	struct run *r = &run;
	struct err err = {0};
	begin_world(r, world);
	for (unsigned rounds = 1 + world_chance(r, 40), round = rounds; round-- > 0;) {
		r->w.round = round;
		lab_enter(&r->lab, false, PHASE_PLAN);
		go_through(r, &modules[PLAN]);
		world_find(r, round);
		write_found(r, round);
		MUST(state_enter(r->lab.st, PHASE_CORK, r->buckets, PLAY_START, &err));
		go_through(r, &modules[CORK]);
		world_wait(r);
	}
	lab_enter(&r->lab, true, PHASE_MERGE);
	for (unsigned i = MERGE; i <= RECORD; i++)
		go_through(r, &modules[i]);
	world_wait(r);
	lab_enter(&r->lab, false, PHASE_PLAN);
	go_through(r, &modules[PLAN]);
	end_world(r);
}

static void the_modules_do_what_the_model_says(void **state)
{
	(void)state;
	const char *one = getenv("WORLD");
	uint64_t worlds = unit_thorough() ? WORLDS : WORLDS_SHORT;
	if (one) {
		try_world(strtoull(one, NULL, 10));
		return;
	}
	for (uint64_t i = 1; i <= worlds; i++)
		try_world(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_modules_do_what_the_model_says),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
