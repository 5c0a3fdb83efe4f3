/* Crawls a small web in which pages appear, change, fail and vanish, until it is killed, for
 * cycle_rounds.py. All modules but reap are the real ones; reap works off the real plan with the
 * real verdicts, and has the answers from a table instead of a network.
 *
 *	cycle_writer points                the fault points that it passes, one a line
 *	cycle_writer init FOLDER
 *	cycle_writer write FOLDER N        recovers, goes on up to cycle N
 *	cycle_writer check FOLDER K KNOWN  recovers, says how many cycles are done, which are at
 *	                                   least K, and follows the source from where the file KNOWN
 *	                                   says; what it has heard of then stands there
 *	cycle_writer show KNOWN            documents and deletes, one page a line
 *
 * What happens follows from the number of the cycle, which is known from the time of the newest
 * state: whatever is done again after a kill ends as it would have without. So in the end who
 * followed knows the same documents, and has heard of as many deletes of each.
 *
 * A line "K" on standard output of write means: K cycles are done. */
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "points.h"
#include "shepherd/feedback.h"
#include "shepherd/reap/reap_judge.h"
#include "state/plan.h"
#include "state/source_crawl.h"
#include "support/crawl_play.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SITES = 6,
	PER_SITE = 20,
	PAGES = SITES * PER_SITE,
	SEEDS = 3,
	CHECKPOINT_EVERY = 8,
	MERGE_EVERY = 2,
	CLEANUP_EVERY = 6,
	FILTER_FROM = 11, /* cycles */
	DOWN_SITE = 4,
	DOWN_FROM = 5,
	DOWN_TO = 10,
};

struct game {
	struct play p;
	const char *folder;
	uint64_t cycle; /* that is under way, or begins next */
	bool done[PAGES];
};

static int fail(const char *what, const struct err *err)
{
	fprintf(stderr, "cycle_writer: %s: %s\n", what, err->msg);
	return 1;
}

static void say(uint64_t k)
{
	printf("%" PRIu64 "\n", k);
	fflush(stdout);
}

/* The web */

static uint64_t page_of(unsigned i)
{
	return i / PER_SITE * PLAY_PER_SITE + i % PER_SITE;
}

static int number_of(struct footprint fp)
{
	static struct footprint all[PAGES];
	for (unsigned i = 0; i < PAGES; i++) {
		if (!all[i].site)
			all[i] = play_footprint(page_of(i));
		if (footprint_cmp(all[i], fp) == 0)
			return (int)i;
	}
	return -1;
}

static uint64_t dice(uint64_t what, unsigned i, uint64_t cycle)
{
	return hash_u64(what * 1000003 + i * 1009 + cycle);
}

/* What the server says of a page; *ret_version of one that is there. */
static enum outcome web_answer(unsigned i, uint64_t cycle, uint64_t *ret_version)
{
	uint64_t h = dice(1, i, 0);
	*ret_version = 1 + (cycle + h % 7) / (2 + h % 5);
	if (i / PER_SITE == DOWN_SITE && cycle >= DOWN_FROM && cycle < DOWN_TO)
		return OUTCOME_SITE_TEMPORARY;
	if (dice(2, i, cycle) % 12 == 0)
		return OUTCOME_TEMPORARY;
	bool gone = i >= SEEDS && (cycle < h % 4 || (cycle + h) % 9 < 2);
	return gone ? OUTCOME_PERMANENT : OUTCOME_OK;
}

static int add_link(struct game *g, unsigned from, uint64_t to, struct err *err)
{
	char url[PLAY_URL];
	uint64_t page = page_of((unsigned)(to % PAGES));
	struct contrib c = {.fp = play_footprint(page),
			    .weight = (uint8_t)(40 + to % 120),
			    .flags = dice(3, from, g->cycle) % 13 == 0 ? ITEM_REGATHER : 0,
			    .from = play_footprint(page_of(from)),
			    .url = play_url(page, url)};
	return state_contrib(g->p.st, &c, NULL, err);
}

static int add_by_hand(struct game *g, unsigned i, struct err *err)
{
	char url[PLAY_URL];
	struct contrib c = {.fp = play_footprint(page_of(i)),
			    .flags = ITEM_INITIAL,
			    .time_s = (uint32_t)(g->p.now_us / US_PER_S),
			    .url = play_url(page_of(i), url)};
	return state_contrib(g->p.st, &c, NULL, err);
}

/* The clock and the settings of a cycle */

static int64_t time_of(uint64_t cycle)
{
	return PLAY_START + (int64_t)(cycle + 1) * US_PER_DAY;
}

static int set_rules(struct game *g, struct err *err)
{
	const struct filter_defaults defaults = {.follow_all = true};
	struct str rules = g->cycle < FILTER_FROM ? STR("") : STR("query *7: reject\n");
	filter_free(&g->p.filter);
	return filter_parse(rules, "filter", &defaults, &g->p.filter, err);
}

static int open_game(struct game *g, struct recovery *told, struct err *err)
{
	struct state *st = NULL;
	if (play_open(&g->p, g->folder, PLAY_START, told, err) < 0)
		return -1;
	struct crawl_conf *conf = &g->p.conf;
	conf->cycle_us = US_PER_DAY;
	conf->refresh_us = 2 * US_PER_DAY;
	conf->retry_us = US_PER_DAY;
	conf->forget_us = 4 * US_PER_DAY;
	conf->site_max = 9;
	conf->active_max = 45;
	conf->remember_max = 60;
	conf->hard_limit_factor = 1.5;
	conf->select_hysteresis = 8;
	conf->site_err_retry = 2;
	conf->site_err_expire_us = 3 * US_PER_DAY;
	conf->dead_site_limit = 4;
	if (state_open(&st, g->p.s, "current", err) != 0)
		return -1;
	int64_t since_us = state_params(st)->created_us - time_of(0);
	bool done = phase_is_done(state_phase(st));
	g->cycle = since_us < 0 ? 0 : (uint64_t)(since_us / US_PER_DAY) + done;
	state_free(&st);
	return 0;
}

/* Feedback and plan */

static void feedback_path(const struct game *g, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/feedback", g->folder);
}

static int by_footprint(const void *a, const void *b)
{
	const struct feedback *x = a, *y = b;
	return footprint_cmp(x->fp, y->fp);
}

/* As the indexer does, before the cycle begins. */
static int give_feedback(struct game *g, struct err *err)
{
	struct feedback all[PAGES];
	struct feedback_writer *w = NULL;
	char path[PATH_MAX];
	feedback_path(g, path);
	if (g->cycle % 3 != 2)
		return 0;
	for (unsigned i = 0; i < PAGES; i++)
		all[i] = (struct feedback){
			.fp = play_footprint(page_of(i)),
			.weight = (uint8_t)(dice(4, i, g->cycle) % 200),
			.flags = ITEM_WEIGHED |
				 (dice(5, i, g->cycle) % 9 == 0 ? ITEM_UNREFERENCED : 0)};
	qsort(all, PAGES, sizeof *all, by_footprint);
	int rc = feedback_create(&w, path, g->cycle + 1, err);
	for (unsigned i = 0; rc == 0 && i < PAGES; i++)
		rc = feedback_put(w, &all[i], err);
	if (rc == 0)
		rc = feedback_finish(&w, err);
	feedback_drop(&w);
	return rc;
}

static int begin_cycle(struct game *g, struct err *err)
{
	struct play *p = &g->p;
	struct planned planned;
	struct fed fed;
	char path[PATH_MAX];
	feedback_path(g, path);
	p->now_us = time_of(g->cycle);
	if (give_feedback(g, err) < 0 || play_next(p, false, err) < 0)
		return -1;
	const struct crawl c = play_crawl(p);
	if (state_enter(p->st, PHASE_FEEDBACK, NULL, p->now_us, err) < 0 ||
	    crawl_feedback(p->st, &c, path, &fed, err) < 0 ||
	    state_enter(p->st, PHASE_PLAN, NULL, p->now_us, err) < 0 ||
	    crawl_plan(p->st, &c, true, &planned, err) < 0)
		return -1;
	return state_enter(p->st, PHASE_REAP, NULL, p->now_us, err);
}

/* Reap */

static int load_done(struct game *g, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	struct journal_entry e;
	memset(g->done, 0, sizeof g->done);
	int rc = state_read(g->p.st, "journal", &r, err);
	while (rc == 0 && (rc = record_next(r, &record, err)) == 0) {
		rc = journal_read(record.payload, &e, err);
		if (rc == 0 && !(e.flags & ITEM_ROBOTS))
			g->done[number_of(e.fp)] = true;
	}
	record_reader_free(&r);
	return MIN(rc, 0);
}

static bool is_rejected(const struct game *g, struct str text)
{
	const struct filter_where where = {.known = true};
	char room[URL_MAX];
	struct filter_url says = {0};
	struct url url;
	if (url_parse(text, NULL, room, sizeof room, &url) == 0)
		filter_url(g->p.filter, &url, STR(""), &where, &says);
	return says.reject;
}

/* A page that is there: is it another than the one that we have? */
static int keep_page(struct game *g, const struct plan_entry *plan, unsigned i, uint64_t version,
		     struct journal_entry *e, struct err *err)
{
	uint64_t old = 0;
	uint32_t oid;
	e->type = ITEM_GATHERED;
	e->code = CODE_OK;
	e->op = CHANGE_REFRESH;
	if (plan->flags & PLAN_REFRESH &&
	    play_version(&g->p, page_of(i), plan->where, &old, err) < 0)
		return -1;
	if (old != version) {
		e->op = CHANGE_UPDATE;
		if (play_bucket(&g->p, page_of(i), version, e->md5, &oid, err) < 0)
			return -1;
		e->where = oid;
	}
	for (unsigned k = 0; k < 3; k++) {
		uint64_t to = k ? dice(6, i + k * PAGES, g->cycle / 4) : i + 1;
		if (add_link(g, i, to, err) < 0)
			return -1;
	}
	return 0;
}

static int try_page(struct game *g, const struct plan_entry *plan, struct err *err)
{
	static const int status[] = {[OUTCOME_OK] = 200,
				     [OUTCOME_TEMPORARY] = 500,
				     [OUTCOME_PERMANENT] = 404,
				     [OUTCOME_SITE_TEMPORARY] = 503};
	struct play *p = &g->p;
	char url[PLAY_URL];
	uint64_t version;
	unsigned i = (unsigned)number_of(plan->fp);
	struct qkey_addr server = {.b = {192, 0, 2, (uint8_t)(i / PER_SITE)}};
	enum outcome outcome = web_answer(i, g->cycle, &version);
	const struct reaper_answer answer = {
		.code = is_rejected(g, play_url(page_of(i), url))
				? CODE_REJECTED
				: code_of(outcome, ROBOT_CAUSE_ANSWER, status[outcome])};
	const struct journal_entry key =
		journal_of_key(plan->fp.site, qkey_of(&server, 0), p->now_us);
	struct verdict v;
	struct journal_entry e = {.fp = plan->fp,
				  .time_us = p->now_us,
				  .where = ITEM_NOWHERE,
				  .download_ms = 10,
				  .url = play_url(page_of(i), url)};
	reap_judge(&answer, plan, &p->conf, p->now_us, &v);
	if (v.code == CODE_OK) {
		if (keep_page(g, plan, i, version, &e, err) < 0)
			return -1;
	} else {
		e.op = v.op;
		e.type = v.type;
		e.code = v.code;
		e.due_s = v.due_s;
		e.reason = str_of(v.reason);
	}
	return state_journal(p->st, &key, err) < 0 ? -1 : state_journal(p->st, &e, err);
}

static int keep(struct game *g, struct err *err)
{
	char path[PATH_MAX];
	feedback_path(g, path);
	if (play_checkpoint(&g->p, err) < 0)
		return -1;
	return MIN(feedback_done(path, state_params(g->p.st)->course.feedback, err), 0);
}

static int work_off(struct game *g, struct counted_reader *plan, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(64 << 20);
	struct plan_site site;
	uint64_t n = 0;
	int rc;
	while ((rc = plan_next(plan, &arena, &site, err)) == 0) {
		for (size_t i = 0; i < site.n; i++) {
			struct arena_mark mark = arena_mark(&g->p.arena);
			g->p.now_us = time_of(g->cycle) + (int64_t)++n * US_PER_S;
			if (site.entry[i].flags & PLAN_ROBOTS ||
			    g->done[number_of(site.entry[i].fp)])
				continue;
			if (try_page(g, &site.entry[i], err) < 0 ||
			    (n % CHECKPOINT_EVERY == 0 && keep(g, err) < 0))
				return -1;
			arena_reset(&g->p.arena, mark);
		}
	}
	return MIN(rc, 0);
}

static int reap(struct game *g, struct err *err)
{
	struct counted_reader plan = {0};
	g->p.now_us = time_of(g->cycle);
	if (play_next(&g->p, false, err) < 0 || load_done(g, err) < 0)
		return -1;
	for (unsigned i = 0; g->cycle == 0 && i < SEEDS; i++)
		if (add_by_hand(g, i * 2 * PER_SITE, err) < 0)
			return -1;
	if (g->cycle % 5 == 3 && add_by_hand(g, (unsigned)(dice(7, 0, g->cycle) % PAGES), err) < 0)
		return -1;
	if (plan_open(&plan, state_path(g->p.st, &g->p.arena, "plan"), err) != 0)
		return -1;
	int rc = work_off(g, &plan, err);
	counted_close(&plan);
	return rc < 0 ? -1 : keep(g, err);
}

/* The rest of a cycle */

static int phase_now(struct game *g, enum phase *ret, bool *ret_cleaned, struct err *err)
{
	struct state *st = NULL;
	if (state_open(&st, g->p.s, "current", err) != 0)
		return -1;
	*ret = state_phase(st);
	*ret_cleaned = (int64_t)state_params(st)->course.cleaned_s * US_PER_S >= time_of(g->cycle);
	state_free(&st);
	return 0;
}

/* From whatever phase the last start left. */
static int play_cycle(struct game *g, struct err *err)
{
	const struct states_keep keep_states = {.closed = 2, .corked = 2};
	unsigned deleted;
	enum phase phase;
	bool cleaned;
	if (set_rules(g, err) < 0 || phase_now(g, &phase, &cleaned, err) < 0 ||
	    (phase_is_done(phase) && begin_cycle(g, err) < 0))
		return -1;
	if (phase != PHASE_CORK && reap(g, err) < 0)
		return -1;
	g->p.now_us = time_of(g->cycle) + 10 * US_PER_H;
	return play_cork(&g->p, err) < 0
		       ? -1
		       : states_audit(g->p.s, &keep_states, clock_wall_us(), &deleted, err);
}

/* After a cycle, which may have been done by the start before: merge and cleanup in their turn. */
static int end_cycle(struct game *g, struct err *err)
{
	enum phase phase;
	bool cleaned;
	g->p.now_us = time_of(g->cycle) + 12 * US_PER_H;
	if (set_rules(g, err) < 0 || phase_now(g, &phase, &cleaned, err) < 0)
		return -1;
	if (phase == PHASE_CORKED && (g->cycle + 1) % MERGE_EVERY == 0) {
		if (play_merge(&g->p, err) < 0)
			return -1;
		phase = PHASE_CLOSED;
	}
	g->p.now_us = time_of(g->cycle) + 14 * US_PER_H;
	if (phase == PHASE_CLOSED && !cleaned && (g->cycle + 1) % CLEANUP_EVERY == 0)
		return play_cleanup(&g->p, err);
	return 0;
}

static int play_up_to(struct game *g, uint64_t n, struct err *err)
{
	if (g->cycle) {
		enum phase phase;
		bool cleaned;
		if (phase_now(g, &phase, &cleaned, err) < 0)
			return -1;
		g->cycle--;
		if (phase_is_done(phase) && end_cycle(g, err) < 0)
			return -1;
		g->cycle++;
	}
	say(g->cycle);
	for (; g->cycle < n; say(++g->cycle))
		if (play_cycle(g, err) < 0 || end_cycle(g, err) < 0)
			return -1;
	return 0;
}

static int run_write(const char *folder, uint64_t n)
{
	struct game g = {.folder = folder};
	struct err err = {0};
	if (open_game(&g, NULL, &err) < 0)
		return fail("open", &err);
	int rc = play_up_to(&g, n, &err);
	play_close(&g.p);
	return rc < 0 ? fail("write", &err) : 0;
}

/* Following */

struct known {
	struct source_cursor cursor;
	uint64_t version[PAGES]; /* 0: not there */
	uint64_t deletes[PAGES];
};
enum { TEXT_LOST = 99999 }; /* told after a cleanup has dropped it */

static int hear(struct known *k, const struct source_change *c, struct arena *arena,
		struct err *err)
{
	char room[URL_MAX];
	struct url url;
	uint64_t page, version = TEXT_LOST;
	int i = url_parse(c->obj.url, NULL, room, sizeof room, &url) == 0
			? number_of(footprint_of(&url))
			: -1;
	if (i < 0)
		return err_set(err, ERR_DAMAGED, STR_FMT " is not a page", STR_ARG(c->obj.url));
	if (c->op != SOURCE_UPDATE && !k->version[i])
		return err_set(err, ERR_DAMAGED, STR_FMT ": %s of what is not known",
			       STR_ARG(c->obj.url),
			       c->op == SOURCE_DELETE ? "a delete" : "a refresh");
	struct str text = soif_get(&c->obj, STR("Full-Text"));
	if (c->op == SOURCE_UPDATE && text.p &&
	    sscanf(arena_text(arena, str_head(text, 100)), "page %" SCNu64 " version %" SCNu64,
		   &page, &version) != 2)
		return err_set(err, ERR_DAMAGED, STR_FMT ": other text", STR_ARG(c->obj.url));
	if (c->op == SOURCE_UPDATE)
		k->version[i] = version;
	if (c->op == SOURCE_DELETE) {
		k->version[i] = 0;
		k->deletes[i]++;
	}
	return 0;
}

static int read_known(const char *path, struct known *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(sizeof *ret);
	int rc = file_slurp(path, &b, err);
	if (rc == 0 && b.n == sizeof *ret)
		memcpy(ret, b.p, sizeof *ret);
	return MIN(rc, 0);
}

static int follow(const char *folder, const char *path, struct known *ret, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct source *s = NULL;
	struct source_change c;
	const struct source_crawl store = {.folder = folder, .follower = "check"};
	int rc = read_known(path, ret, err);
	if (rc == 0)
		rc = source_crawl_ops.open(&s, &store, &ret->cursor, err);
	while (rc == 0 && (rc = source_next(s, &arena, &c, err)) == 0) {
		rc = hear(ret, &c, &arena, err);
		arena_clear(&arena);
	}
	if (rc == 1) {
		source_cursor(s, &ret->cursor);
		rc = file_replace(path, (struct str){(const char *)ret, sizeof *ret}, 0644, err);
	}
	source_close(&s);
	arena_free(&arena);
	return rc;
}

/* Who followed has just the pages that the index has as gathered. */
static int compare(struct game *g, const struct known *k, struct err *err)
{
	const struct bucket_options options = {.mode = BUCKET_READ};
	struct play *p = &g->p;
	const struct url_index *index;
	struct index_item item;
	if (bucket_open(&p->buckets, states_path(p->s, &p->arena, "objects"), &options, err) != 0 ||
	    state_open(&p->st, p->s, "current", err) != 0 || state_index(p->st, &index, err) < 0)
		return -1;
	for (unsigned i = 0; i < PAGES; i++) {
		uint64_t version = 0;
		int rc = url_index_find(index, play_footprint(page_of(i)), &item, err);
		if (rc == 0 && item.type == ITEM_GATHERED)
			rc = play_version(p, page_of(i), item.where, &version, err);
		if (rc < 0)
			return -1;
		if (version != k->version[i])
			return err_set(err, ERR_DAMAGED,
				       "page %" PRIu64 ": the index has version %" PRIu64
				       ", followers %" PRIu64,
				       page_of(i), version, k->version[i]);
	}
	return 0;
}

static int run_check(const char *folder, uint64_t told, const char *path)
{
	struct game g = {.folder = folder};
	struct err err = {0};
	struct recovery recovery = {0};
	struct known known = {0};
	enum phase phase = PHASE_REAP;
	bool cleaned;
	if (open_game(&g, &recovery, &err) < 0)
		return fail("recovery", &err);
	fprintf(stderr, "%s", buf_text(&recovery.told));
	int rc = recovery.damaged
			 ? err_set(&err, ERR_DAMAGED, "%u things are damaged", recovery.damaged)
			 : 0;
	if (rc == 0 && g.cycle < told)
		rc = err_set(&err, ERR_DAMAGED,
			     "%" PRIu64 " cycles are there, %" PRIu64 " were told durable", g.cycle,
			     told);
	if (rc == 0)
		rc = follow(folder, path, &known, &err);
	if (rc == 0)
		rc = phase_now(&g, &phase, &cleaned, &err);
	if (rc == 0 && phase_is_done(phase))
		rc = compare(&g, &known, &err);
	recovery_free(&recovery);
	play_close(&g.p);
	if (rc < 0)
		return fail("check", &err);
	say(g.cycle);
	return 0;
}

static int run_show(const char *path)
{
	struct known k = {0};
	struct err err = {0};
	if (read_known(path, &k, &err) < 0)
		return fail("show", &err);
	for (unsigned i = 0; i < PAGES; i++)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", page_of(i), k.version[i],
		       k.deletes[i]);
	return 0;
}

static int run_init(const char *folder)
{
	struct err err = {0};
	return states_init(folder, 0, PLAY_START, &err) < 0 ? fail("init", &err) : 0;
}

int main(int argc, char **argv)
{
	struct err err = {0};
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail("faults", &err);
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("cleanup.", "feedback.", "plan.", "select.", "state.");
	if (argc == 3 && strcmp(argv[1], "init") == 0)
		return run_init(argv[2]);
	if (argc == 3 && strcmp(argv[1], "show") == 0)
		return run_show(argv[2]);
	if (argc == 4 && strcmp(argv[1], "write") == 0)
		return run_write(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 5 && strcmp(argv[1], "check") == 0)
		return run_check(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
	fprintf(stderr, "cycle_writer: points | init FOLDER | write FOLDER N | check FOLDER K "
			"KNOWN | show KNOWN\n");
	return 2;
}
