/* The order of modules, as data: in which phases a state may be, whether the work goes on in a
 * clone, which bucket file it needs, and what it ends in. What one module finds out and another
 * needs is either in the state's params or, within one run of merge to record, in struct cycle. */
#include "shepherd/cycle.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "bucket/bucket.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Rules and classes */

static int cycle_load_filter(struct cycle *y, struct err *err)
{
	struct filter *filter;
	int rc = file_changed(y->filter_path, &y->filter_seen, err);
	if (rc < 0 || (rc == 1 && y->filter))
		return MIN(rc, 0);
	if (crawl_load_filter(y->o.conf, y->o.folder, &filter, err) < 0)
		return -1;
	filter_free(&y->filter);
	y->filter = filter;
	y->reloaded = true;
	return 0;
}

int cycle_reload(struct cycle *y, struct err *err)
{
	struct err other;
	y->reloaded = false;
	int rc = cycle_load_filter(y, err);
	int classes = equiv_file_update(&y->equiv, rc < 0 ? &other : err);
	y->reloaded |= classes == 0;
	if (classes == 0)
		y->classes_lost.code = ERR_NONE;
	return classes < 0 ? -1 : rc;
}

int cycle_new(struct cycle **ret, const struct cycle_options *options, struct err *err)
{
	struct cycle *y = mem_alloc(sizeof *y);
	y->o = *options;
	snprintf(y->filter_path, sizeof y->filter_path, "%s/cf/filter", options->folder);
	snprintf(y->equiv_path, sizeof y->equiv_path, "%s/cf/url-equiv", options->folder);
	y->equiv.path = y->equiv_path;
	y->anew = true;
	int rc = crawl_conf_check(options->conf, err);
	if (rc == 0)
		rc = schema_parse(str_of(options->conf->refresh_schema), &y->schema, err);
	if (rc == 0)
		rc = cycle_load_filter(y, err);
	if (rc == 0)
		rc = equiv_file_update(&y->equiv, err);
	if (rc < 0 && y->filter && options->keeps_classes) {
		y->classes_lost = *err;
		rc = 0;
	}
	if (rc < 0)
		cycle_free(&y);
	else
		*ret = y;
	return MIN(rc, 0);
}

void cycle_free(struct cycle **py)
{
	struct cycle *y = *py;
	if (!y)
		return;
	filter_free(&y->filter);
	equiv_file_free(&y->equiv);
	buf_free(&y->cleaned.told);
	mem_free(py);
}

/* What a module works with, now. */
static struct crawl cycle_crawl(struct cycle *y, const struct state *st, struct buckets *buckets)
{
	return (struct crawl){
		.conf = y->o.conf,
		.filter = y->filter,
		.equiv = y->equiv.equiv,
		.schema = y->schema,
		.delay_us = y->o.robot->robot.delay_us,
		.concurrent = (unsigned)y->o.robot->robot.concurrent,
		.cycle_us = crawl_cycle_us(y->o.conf, &state_params(st)->course),
		.now_us = clock_wall_us(),
		.buckets = buckets,
		.stopped = y->o.stopped,
		.ctx = y->o.ctx,
	};
}

/* The modules */

static int run_feedback(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	char path[PATH_MAX];
	struct fed fed = {0};
	snprintf(path, sizeof path, "%s/feedback", y->o.folder);
	int rc = crawl_feedback(st, c, path, &fed, err);
	y->fed = fed;
	return rc < 0 ? -1 : fed.stopped ? CYCLE_STOPPED : 0;
}

static int run_plan(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	struct state_course course = state_params(st)->course;
	const struct url_index *index;
	if (state_index(st, &index, err) < 0)
		return -1;
	bool empty = url_index_items(index) == 0;
	if (empty) /* its first sections are numbered by the list that holds now */
		crawl_sections(y->filter, course.sections);
	if (y->anew)
		course.due_s = 0;
	if ((y->anew || empty) && state_params_put(st, &course, err) < 0)
		return -1;
	int rc = crawl_plan(st, c, true, &y->planned, err);
	y->anew &= rc != 0;
	return rc;
}

/* What reaping can do in 1,000 s. Most of the time it waits for the delays of servers, which says
 * nothing of how fast it can be: so the time counts in which it could not do more at once, and of
 * the rest a twentieth. */
enum { REST_COUNTS = 20 };
#define REAP_MIN_US (50 * US_PER_MS)

static uint64_t reap_rate(uint64_t rate, const struct reaped *r)
{
	int64_t busy_us = MAX(MAX(r->full_us, r->took_us / REST_COUNTS), REAP_MIN_US);
	uint64_t now = r->done * 1000 * (uint64_t)US_PER_S / (uint64_t)busy_us;
	return r->left ? (3 * rate + now) / 4 : MAX(rate, now);
}

static int run_reap(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	if (reap_run(y->o.reap, st, c, &y->reaped, err) < 0)
		return -1;
	struct state_course course = state_params(st)->course;
	course.rate_milli = reap_rate(course.rate_milli, &y->reaped);
	course.asked += y->reaped.asked;
	if (y->reaped.left) /* planned, and not done */
		course.due_s = MIN(course.due_s, (uint64_t)(c->now_us / US_PER_S));
	if (state_params_put(st, &course, err) < 0)
		return -1;
	return crawl_is_stopped(c) ? CYCLE_STOPPED : 0;
}

static int run_cork(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	(void)y;
	return crawl_cork(st, c, err);
}

static int run_merge(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	return crawl_merge(st, c, &y->merged, err);
}

static int run_equiv(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	uint64_t changed;
	return y->classes_lost.code == ERR_NONE ? crawl_equiv(st, c, &changed, err) : 0;
}

static int run_select(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	int rc = crawl_select(st, c, !y->no_brake, &y->selected, err);
	return rc == 0 && y->selected.braked ? CYCLE_BRAKED : rc;
}

static int run_record(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	const struct selected *s = &y->selected;
	uint64_t made;
	if (y->selects_known && s->fresh + s->stale_notes + s->sites_gone == 0)
		return 0;
	return crawl_record(st, c, &made, err);
}

static int run_cleanup(struct cycle *y, struct state *st, const struct crawl *c, struct err *err)
{
	buf_free(&y->cleaned.told);
	return crawl_cleanup(st, c, &y->cleaned, err);
}

/* The table */

enum cycle_buckets { BUCKETS_NONE, BUCKETS_READ, BUCKETS_APPEND };

struct module {
	const char *name;
	enum phase phase;
	unsigned from;   /* phases, as bits, in which a state may be; its own is one of them */
	bool clones;     /* a state that is done is worked on in a clone */
	bool contrib;    /* which shares its contributions */
	enum phase then; /* what it ends in; PHASES: it stays in its own */
	enum cycle_buckets buckets;
	int (*run)(struct cycle *y, struct state *st, const struct crawl *c, struct err *err);
};

#define BIT(phase) (1u << PHASE_##phase)
#define DONE (BIT(CLOSED) | BIT(CORKED))
static const struct module modules[MODULES] = {
	[MODULE_FEEDBACK] = {"feedback", PHASE_FEEDBACK, DONE | BIT(PREPARE) | BIT(FEEDBACK), true,
			     false, PHASES, BUCKETS_NONE, run_feedback},
	[MODULE_PLAN] = {"plan", PHASE_PLAN, DONE | BIT(PREPARE) | BIT(FEEDBACK) | BIT(PLAN), true,
			 false, PHASES, BUCKETS_NONE, run_plan},
	[MODULE_REAP] = {"reap", PHASE_REAP, BIT(PLAN) | BIT(REAP), false, false, PHASE_CORK,
			 BUCKETS_APPEND, run_reap},
	[MODULE_CORK] = {"cork", PHASE_CORK, BIT(REAP) | BIT(CORK), false, false, PHASE_CORKED,
			 BUCKETS_NONE, run_cork},
	[MODULE_MERGE] = {"merge", PHASE_MERGE, BIT(CORKED) | BIT(MERGE), true, true, PHASES,
			  BUCKETS_READ, run_merge},
	[MODULE_EQUIV] = {"equiv", PHASE_EQUIV, BIT(MERGE) | BIT(EQUIV), false, false, PHASES,
			  BUCKETS_NONE, run_equiv},
	[MODULE_SELECT] = {"select", PHASE_SELECT, BIT(EQUIV) | BIT(SELECT), false, false, PHASES,
			   BUCKETS_READ, run_select},
	[MODULE_RECORD] = {"record", PHASE_RECORD, BIT(SELECT) | BIT(RECORD), false, false,
			   PHASE_CLOSED, BUCKETS_APPEND, run_record},
	[MODULE_CLEANUP] = {"cleanup", PHASE_CLEANUP, BIT(CLOSED) | BIT(CLEANUP), true, false,
			    PHASE_CLOSED, BUCKETS_APPEND, run_cleanup},
};

static int cycle_enter(struct cycle *y, struct state *st, enum phase phase, struct buckets *b,
		       struct err *err)
{
	FAULT("master.phase");
	if (state_enter(st, phase, b, clock_wall_us(), err) < 0)
		return -1;
	if (y->o.entered)
		y->o.entered(y->o.ctx, phase);
	return 0;
}

static int cycle_open_buckets(const struct cycle *y, const struct module *m, struct buckets **ret,
			      struct err *err)
{
	struct bucket_options options = {.mode = m->buckets == BUCKETS_READ ? BUCKET_READ
									    : BUCKET_APPEND};
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/objects", y->o.folder);
	if (m->buckets == BUCKETS_NONE)
		return 0;
	int rc = bucket_open(ret, path, &options, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s is lost", path) : rc;
}

/* The phase of a state that is done with a module. */
static int cycle_end(struct cycle *y, const struct module *m, struct state *st, struct buckets *b,
		     struct err *err)
{
	struct state_course course = state_params(st)->course;
	course.passes_us = y->passes_us;
	if (phase_is_done(m->then) && state_params_put(st, &course, err) < 0)
		return -1;
	return cycle_enter(y, st, m->then, m->buckets == BUCKETS_APPEND ? b : NULL, err);
}

static int cycle_work(struct cycle *y, enum cycle_module which, struct state *st, struct err *err)
{
	const struct module *m = &modules[which];
	struct buckets *b = NULL;
	int64_t from_us = clock_mono_us();
	if (cycle_open_buckets(y, m, &b, err) < 0)
		return -1;
	const struct crawl c = cycle_crawl(y, st, b);
	int rc = m->run(y, st, &c, err);
	int64_t took_us = clock_mono_us() - from_us;
	if (which != MODULE_REAP)
		y->passes_us += (uint64_t)took_us;
	if (rc == 0 && y->o.took)
		y->o.took(y->o.ctx, which, took_us);
	if (rc == 0 && m->then != PHASES)
		rc = cycle_end(y, m, st, b, err);
	y->selects_known = which == MODULE_SELECT && rc == 0;
	if (b && (rc != 0 || m->buckets == BUCKETS_READ))
		bucket_drop(&b);
	else if (b)
		rc = bucket_close(&b, err);
	return rc;
}

/* It names those that could, too. */
static int cycle_refuse(enum cycle_module which, const struct state *st, struct err *err)
{
	CLEANUP(buf_free) struct buf fit = BUF_INIT(128);
	enum phase phase = state_phase(st);
	for (unsigned i = 0; i < MODULES; i++)
		if (modules[i].from >> phase & 1)
			buf_printf(&fit, " %s", modules[i].name);
	return err_set(err, ERR_USAGE, "%s: the state is in %s, %s cannot work on it; these can:%s",
		       state_name(st), phase_name(phase), modules[which].name, buf_text(&fit));
}

int cycle_run(struct cycle *y, enum cycle_module which, struct state **st, struct err *err)
{
	const struct module *m = &modules[which];
	enum phase phase = state_phase(*st);
	if (!(m->from >> phase & 1))
		return cycle_refuse(which, *st, err);
	if (m->clones && phase_is_done(phase)) {
		struct state *clone = NULL;
		if (which == MODULE_FEEDBACK || which == MODULE_PLAN)
			y->passes_us = 0;
		if (state_clone(&clone, *st, m->contrib, clock_wall_us(), err) < 0)
			return -1;
		state_free(st);
		*st = clone;
	}
	if (state_phase(*st) != m->phase && cycle_enter(y, *st, m->phase, NULL, err) < 0)
		return -1;
	return cycle_work(y, which, *st, err);
}

static void tell_select(const struct selected *s, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " URLs are wanted, %" PRIu64 " woken, %" PRIu64 " expired",
		   s->active, s->woken, s->expired);
	for (size_t i = 0; i < CRAWL_LIMITS; i++)
		if (s->sleeps[i] + s->forgotten[i])
			buf_printf(out, "; limit %s: %" PRIu64 " sleep, %" PRIu64 " forgotten",
				   crawl_limit_names[i], s->sleeps[i], s->forgotten[i]);
	if (s->braked)
		buf_printf(out,
			   "\nbraked: %" PRIu64 " of %" PRIu64
			   " gathered pages would be lost, so nothing was changed, and the state "
			   "is thrown away; merge again after raising that limit, or make the "
			   "file shepherd/disable-brake to let it through\n",
			   s->lost, s->gathered);
}

void cycle_tell(const struct cycle *y, enum cycle_module m, const struct state *st, struct buf *out)
{
	buf_printf(out, "%s: %s: ", state_name(st), modules[m].name);
	if (m == MODULE_FEEDBACK && y->fed.damaged)
		buf_add_text(out, y->fed.why.msg);
	else if (m == MODULE_FEEDBACK)
		buf_printf(out, "%" PRIu64 " entries, %" PRIu64 " changed, %" PRIu64 " unknown",
			   y->fed.entries, y->fed.changed, y->fed.unknown);
	else if (m == MODULE_PLAN)
		buf_printf(out, "%" PRIu64 " URLs of %" PRIu64 " sites, %" PRIu64 " have to wait",
			   y->planned.urls, y->planned.sites, y->planned.waiting);
	else if (m == MODULE_REAP)
		buf_printf(out, "%" PRIu64 " URLs done, %" PRIu64 " left", y->reaped.done,
			   y->reaped.left);
	else if (m == MODULE_MERGE)
		buf_printf(out,
			   "%" PRIu64 " URLs added, %" PRIu64 " known, %" PRIu64
			   " unwanted, %" PRIu64 " forgotten",
			   y->merged.added, y->merged.known, y->merged.unwanted,
			   y->merged.forgotten);
	else if (m == MODULE_SELECT)
		tell_select(&y->selected, out);
	else if (m == MODULE_CLEANUP)
		buf_printf(out,
			   "%" PRIu64 " bytes, %" PRIu64 " before; %" PRIu64 " buckets dropped, "
			   "%" PRIu64 " URLs rejected, %" PRIu64 " too many, %" PRIu64
			   " bodies trimmed, %" PRIu64 " buckets missing",
			   y->cleaned.after, y->cleaned.before, y->cleaned.dropped,
			   y->cleaned.rejected, y->cleaned.ranked, y->cleaned.trimmed,
			   y->cleaned.missing);
	else
		buf_add_text(out, "done");
	if (m == MODULE_SELECT && y->selected.braked)
		return;
	buf_printf(out, "; the state is %s\n", phase_name(state_phase(st)));
}

/* Cleanup */

/* Than those by which the index is numbered; or nobody knows by which it is. */
static bool cycle_has_other_sections(const struct cycle *y, const struct state_course *course)
{
	char now[STATE_SECTIONS];
	uint64_t urls = 0;
	for (size_t i = 0; i < ITEM_TYPES; i++)
		urls += course->urls[i];
	crawl_sections(y->filter, now);
	return urls && strcmp(now, course->sections) != 0;
}

/* 0 where there is none. */
static uint64_t cycle_objects_size(const struct cycle *y)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/objects", y->o.folder);
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

bool cycle_is_full(const struct cycle *y)
{
	return crawl_file_is_full(y->o.conf, cycle_objects_size(y));
}

const char *cycle_wants_cleanup(const struct cycle *y, const struct state *closed)
{
	const struct crawl_conf *conf = y->o.conf;
	const struct state_course *course = &state_params(closed)->course;
	uint64_t size = cycle_objects_size(y), before = course->cleaned_bytes;
	if (crawl_file_is_full(conf, size) && size > before)
		return "as large as bucket_file_size";
	if (size > conf->cleanup && size > before + before / 2)
		return "grown by half";
	if (cycle_has_other_sections(y, course))
		return "list of sections changed";
	int64_t since_s = (int64_t)course->cleaned_s;
	if (since_s && clock_wall_us() >= since_s * US_PER_S + conf->periodic_cleanup_us)
		return "last cleanup long ago";
	return NULL;
}
