/* Visits of sites. A visit makes one try after the other. A try fetches one URL, or walks the
 * folders of the site, which is many URLs. All URLs of all visits share one host queue, which
 * decides whose turn it is; politeness may send one back to it. A visit ends once: with a listing,
 * with nothing new, or with the failure that was noted last.
 *
 * If the name server gives the site another address, the listing is fetched from there. The site
 * list changes, and the new key is used, only once the listing is complete, so that a failure
 * changes nothing. */
#include "archie/getter.h"

#include "archie/getter/getter_inner.h"
#include "base/fault.h"
#include "base/hash.h"
#include "base/vec.h"

#include <limits.h>
#include <stdio.h>

const char *getter_cause_name(unsigned cause)
{
	static const char *const name[] = {
#define X(symbol, text) text,
		GETTER_CAUSES(X)
#undef X
	};
	return cause < ROBOT_NCAUSES ? robot_cause_name((enum robot_cause)cause)
				     : name[cause - ROBOT_NCAUSES];
}

unsigned getter_no_address(struct str host, const struct dns_result *r,
			   char ret_why[GETTER_TEXT + 1])
{
	snprintf(ret_why, GETTER_TEXT + 1, STR_FMT ": %s", STR_ARG(str_head(host, 100)),
		 r->why ? r->why : dns_outcome_word(r->outcome));
	if (r->outcome == DNS_REFUSED)
		return ROBOT_CAUSE_ADDRESS;
	return r->outcome == DNS_FAILED || r->outcome == DNS_BROKEN ? ROBOT_CAUSE_DNS
								    : ROBOT_CAUSE_NO_NAME;
}

static void visits_start(struct getter *g);
static void visit_next(struct visit *v);

/* Tasks */

static void pump_soon(struct getter *g)
{
	if (!g->stopping)
		loop_timer_in(g->o.kit->loop, &g->pump, 0);
}

struct task *task_new(struct visit *v, struct str url,
		      void (*done)(struct task *, const struct robot_result *))
{
	struct task *t = mem_alloc(sizeof *t);
	*t = (struct task){
		.visit = v, .url = arena_str(&v->arena, url), .done = done, .list = FILE_INIT};
	v->tasks++;
	return t;
}

/* The last task of a visit that has ended takes the visit with it. */
void task_free(struct task *t)
{
	struct visit *v = t->visit;
	buf_free(&t->body);
	file_drop(&t->list);
	list_remove(&t->reading);
	mem_free(&t);
	v->tasks--;
}

static bool has_proxy(const struct getter *g)
{
	return g->o.robot->robot.proxy[0];
}

static qkey visit_queue(const struct visit *v)
{
	if (has_proxy(v->getter))
		return qkey_special(QKEY_UNRESOLVED, hash64(archie_site_host(&v->site)), 0);
	return kit_qkey(&v->site.address);
}

void task_push(struct visit *v, struct task *t)
{
	struct getter *g = v->getter;
	struct err err;
	if (hostq_push(g->queue, visit_queue(v), 0, t->url, (uint64_t)(uintptr_t)t, &err) < 0) {
		visit_note(v, GETTER_CAUSE_DISK, err.msg);
		task_free(t);
		visit_fail(v);
		return;
	}
	pump_soon(g);
}

static void visit_free(struct visit *v);

void visit_settle(struct visit *v)
{
	struct getter *g = v->getter;
	if (!v->ended || v->tasks > 0)
		return;
	visit_free(v);
	visits_start(g);
}

static void task_fetched(void *ctx, const struct robot_result *r)
{
	struct task *t = ctx;
	struct visit *v = t->visit;
	struct getter *g = v->getter;
	int64_t now_us = loop_now_us(g->o.kit->loop);
	if (r->delay_us > g->o.robot->robot.delay_us)
		hostq_set_rule(g->queue, t->job.key,
			       &(struct polite_rule){
				       .delay_us = r->delay_us,
				       .concurrent = (unsigned)g->o.robot->robot.concurrent});
	if (g->stopping || v->ended) {
		hostq_unasked(g->queue, &t->job);
		task_free(t);
	} else if (r->cause == ROBOT_CAUSE_NOT_NOW) {
		hostq_put_back(g->queue, &t->job, now_us + r->not_now_us);
	} else {
		if (r->sent_us)
			hostq_sent(g->queue, &t->job, r->sent_us);
		if (r->times.start_us || r->redirects)
			hostq_done(g->queue, &t->job, r->outcome, now_us);
		else
			hostq_unasked(g->queue, &t->job);
		t->done(t, r);
	}
	visit_settle(v);
	pump_soon(g);
}

static void task_go(struct task *t)
{
	struct visit *v = t->visit;
	struct getter *g = v->getter;
	const struct robot_section_conf *robot = g->o.robot;
	int64_t left_us = v->deadline_us - loop_now_us(g->o.kit->loop);
	struct robot_limits limits = robot->robot.limits;
	char date[TIME_HTTP];
	struct err err;
	limits.body = t->sink == &v->file.sink ? g->o.conf->listing_max : t->body.max;
	limits.idle_us = g->o.conf->idle_us;
	limits.total_us = MAX(left_us, 1);
	struct robot_job job = {.url = t->url,
				.limits = &limits,
				.address = has_proxy(g) ? NULL : &v->site.address,
				.sink = t->sink,
				.flags = t->flags | ROBOT_NO_SHA256};
	if (t->sink == &v->file.sink && v->file.is_ready && v->since_us >= 0) {
		time_print_http(v->since_us, date);
		job.last_modified = str_of(date);
	}
	if (v->tasks > 1 && robot->robot.delay_us <= robot->robot.keep_us)
		job.flags |= ROBOT_KEEP;
	if (robot_fetch(g->o.kit->robot, &job, task_fetched, t, &err) == 0)
		return;
	hostq_unasked(g->queue, &t->job);
	visit_note(v, ROBOT_CAUSE_URL, err.msg);
	task_free(t);
	visit_fail(v);
	visit_settle(v);
}

static void getter_pump(void *ctx)
{
	struct getter *g = ctx;
	struct hostq_job job;
	struct err err;
	int64_t wait_us = INT64_MAX;
	int rc = 0;
	while (!g->stopping && (rc = hostq_take(g->queue, loop_now_us(g->o.kit->loop), &job,
						&wait_us, &err)) == 0) {
		struct task *t = (struct task *)(uintptr_t)job.user;
		struct visit *v = t->visit;
		t->job = job;
		if (v->ended) {
			hostq_unasked(g->queue, &job);
			task_free(t);
			visit_settle(v);
		} else {
			task_go(t);
		}
	}
	if (rc != 0 && wait_us != INT64_MAX)
		loop_timer_in(g->o.kit->loop, &g->pump, wait_us);
}

/* How a visit ends */

void visit_note(struct visit *v, unsigned cause, const char *why)
{
	v->cause = cause;
	snprintf(v->why, sizeof v->why, "%.*s", GETTER_TEXT, why);
}

void visit_note_result(struct visit *v, const struct robot_result *r)
{
	char text[GETTER_TEXT + 1];
	const char *what = r->why[0] ? r->why : outcome_name(r->outcome);
	if (r->head->status)
		snprintf(text, sizeof text, STR_FMT ": %s (%d)", STR_ARG(str_head(r->url, 120)),
			 what, r->head->status);
	else
		snprintf(text, sizeof text, STR_FMT ": %s", STR_ARG(str_head(r->url, 120)), what);
	visit_note(v, r->cause, text);
}

bool result_is_site(const struct robot_result *r)
{
	return outcome_is_site(r->outcome) || r->outcome == OUTCOME_ADDRESS ||
	       r->cause == ROBOT_CAUSE_LOGIN || r->cause == ROBOT_CAUSE_TABLE ||
	       r->cause == ROBOT_CAUSE_LEASE || r->cause == ROBOT_CAUSE_PROXY;
}

static void visit_tell(struct visit *v, struct getter_told *told)
{
	struct getter *g = v->getter;
	told->site = &v->site;
	told->bytes = v->bytes;
	told->folders = v->folders;
	told->entries = v->entries;
	told->cut = v->cut;
	told->why = v->why;
	told->cause = v->cause;
	v->ended = true;
	loop_timer_stop(&v->deadline);
	dns_cancel(&v->dns);
	g->counts.done++;
	g->counts.got += told->end == GETTER_GOT;
	g->counts.unchanged += told->end == GETTER_UNCHANGED;
	g->counts.failed += told->end == GETTER_FAILED;
	g->o.told(g->o.ctx, told);
}

/* What is remembered is a help: where it cannot be written, the listing counts all the same. */
static void visit_remember(struct visit *v, const struct getter_record *record)
{
	struct getter *g = v->getter;
	struct err err = {.msg = "too many sites to remember"};
	if (!g->small)
		return;
	*getter_state_of(&g->state, str_of(record->key)) = *record;
	FAULT("archie.remember");
	if (small_put(g->small, &getter_table, record, &err) != 0 && !v->why[0])
		visit_note(v, GETTER_CAUSE_DISK, err.msg);
}

static struct getter_record record_of(const struct visit *v, struct str key)
{
	const struct getter_record *old = getter_state_find(&v->getter->state, v->key);
	struct getter_record r = old ? *old : (struct getter_record){0};
	memset(r.key, 0, sizeof r.key);
	memcpy(r.key, key.p, MIN(key.n, (size_t)GETTER_KEY));
	r.tried_us = v->begun_us;
	return r;
}

void visit_fail(struct visit *v)
{
	const struct archie_conf *conf = v->getter->o.conf;
	if (v->ended)
		return;
	struct getter_record r = record_of(v, v->key);
	r.failures++;
	int64_t most_us = archie_retry_most_us(conf);
	/* a walk is dear, and the next one would hardly end in another way */
	r.next_us =
		clock_wall_us() + (v->cause == GETTER_CAUSE_PARTIAL
					   ? most_us
					   : backoff_us(r.failures, conf->retry_min_us, most_us));
	snprintf(r.cause, sizeof r.cause, "%s", getter_cause_name(v->cause));
	memcpy(r.error, v->why, sizeof r.error);
	getter_file_fail(&v->file);
	visit_remember(v, &r);
	visit_tell(v, &(struct getter_told){.end = GETTER_FAILED, .next_us = r.next_us});
}

void visit_unchanged(struct visit *v)
{
	if (v->ended)
		return;
	struct getter_record r = record_of(v, v->key);
	r.failures = 0;
	r.cause[0] = r.error[0] = 0;
	r.checked_us = clock_wall_us();
	r.next_us = 0;
	getter_file_drop(&v->file);
	v->why[0] = 0;
	visit_remember(v, &r);
	visit_tell(v, &(struct getter_told){.end = GETTER_UNCHANGED});
}

/* The list says where the site is now, and what its files are called. */
static int visit_move(struct visit *v, struct err *err)
{
	const char *folder = v->getter->o.folder;
	struct archie_sites sites;
	if (archie_sites_move(folder, v->site.url, v->site.name, &v->site.address, err) < 0 ||
	    archie_sites_read(folder, &v->arena, &sites, err) < 0)
		return -1;
	for (size_t i = 0; i < sites.n; i++)
		if (str_eq(sites.site[i].url, v->site.url))
			v->site.key = sites.site[i].key;
	return 0;
}

void visit_complete(struct visit *v, enum getter_method method, int64_t listed_us)
{
	struct err err;
	if (v->ended)
		return;
	uint64_t bytes = v->file.n;
	if (v->moved && visit_move(v, &err) < 0) {
		visit_note(v, err.code == ERR_USAGE ? GETTER_CAUSE_TAKEN : GETTER_CAUSE_DISK,
			   err.msg);
		visit_fail(v);
		return;
	}
	if (getter_file_finish(&v->file, v->site.key, listed_us, &err) < 0) {
		visit_note(v, GETTER_CAUSE_DISK, err.msg);
		visit_fail(v);
		return;
	}
	struct getter_record r = record_of(v, v->site.key);
	r.got_us = clock_wall_us();
	r.listed_us = listed_us;
	r.next_us = 0;
	r.bytes = bytes;
	r.failures = 0;
	r.method = (uint8_t)method;
	r.cut = method == GETTER_WALK && v->cut;
	snprintf(r.file, sizeof r.file, "%s", method == GETTER_READY ? v->ready : "");
	r.cause[0] = r.error[0] = 0;
	v->why[0] = 0;
	visit_remember(v, &r);
	visit_tell(v, &(struct getter_told){.end = GETTER_GOT, .method = method});
}

/* The tries */

/* Each name in each folder: the folder of the URL, then /pub/ and /PUB/, if these are in it. */
static const char *const ready_names[] = {"ls-lR.gz", "ls-lR.xz", "ls-lR.Z", "ls-lR"};
static const char *const ready_folders[] = {"", "pub/", "PUB/"};
enum {
	READY_TRIES = ARRAY_LEN(ready_names) * ARRAY_LEN(ready_folders),
	TRY_LIST = READY_TRIES,
	TRY_WALK,
};

static bool is_root(const struct archie_site *site)
{
	struct str rest = str_from(site->url, str_find(site->url, STR("://")) + 3);
	return str_find_byte(rest, '/') + 1 == rest.n;
}

static int64_t listed_us(const struct visit *v, const struct robot_result *r)
{
	return r->last_modified_us > 0 ? MIN(r->last_modified_us, clock_wall_us()) : v->begun_us;
}

static void note_refusal(struct visit *v, const struct robot_result *r)
{
	visit_note_result(v, r);
	if (v->file.refused)
		v->cause = v->file.refused;
}

/* Whether the database is of the file that is tried. Where nothing is remembered it may well be. */
static bool is_source(const struct visit *v)
{
	return v->has_current && (!v->has_source || strcmp(v->source, v->ready) == 0);
}

static void list_entry(struct task *t, const struct listing_entry *e)
{
	t->visit->dirs += e->kind == LISTING_DIR;
}

/* What was read is no use. is_parsed: each line of it means something. */
static void read_failed(struct visit *v, const struct listing_stats *stats, const char *why,
			bool is_parsed)
{
	visit_note(v, stats->entries && !is_parsed ? GETTER_CAUSE_PARSER : GETTER_CAUSE_EMPTY, why);
	if (stats->entries)
		getter_file_fail(&v->file);
	visit_next(v);
}

static void ready_read(struct task *t, int rc, const struct listing_stats *stats,
		       const struct err *err)
{
	struct visit *v = t->visit;
	task_free(t);
	if (rc == 1) {
		v->entries = stats->entries;
		visit_complete(v, GETTER_READY, v->ready_us);
	} else {
		read_failed(v, stats, err->msg, false);
	}
}

static void ready_done(struct task *t, const struct robot_result *r)
{
	struct visit *v = t->visit;
	v->ready_us = listed_us(v, r);
	if (r->outcome == OUTCOME_OK && v->getter->o.reads_all) {
		getter_read(t, list_entry, ready_read);
		return;
	}
	task_free(t);
	if (r->outcome == OUTCOME_OK) {
		visit_complete(v, GETTER_READY, v->ready_us);
		return;
	}
	if (r->outcome == OUTCOME_UNCHANGED || v->file.is_old) {
		if (is_source(v)) {
			visit_unchanged(v);
			return;
		}
		getter_file_drop(&v->file);
		visit_next(v);
		return;
	}
	note_refusal(v, r);
	bool is_cut = v->file.n > 0 && !v->file.refused;
	if (is_cut)
		getter_file_fail(&v->file);
	if (result_is_site(r) || v->cause == GETTER_CAUSE_DISK) {
		visit_fail(v);
		return;
	}
	/* a server that hangs with one name would do so with the next */
	if (r->cause == ROBOT_CAUSE_IDLE || r->cause == ROBOT_CAUSE_TIME)
		v->step = TRY_LIST;
	visit_next(v);
}

/* Many servers list one folder, whatever was asked for, or stop at some depth. A folder that cannot
 * be read has no heading, so some may be missing. */
static bool list_is_whole(const struct visit *v, const struct listing_stats *stats)
{
	return stats->headings * 2 >= v->dirs;
}

static void list_read(struct task *t, int rc, const struct listing_stats *stats,
		      const struct err *err)
{
	struct visit *v = t->visit;
	task_free(t);
	if (rc == 1 && list_is_whole(v, stats)) {
		v->entries = stats->entries;
		visit_complete(v, GETTER_LIST, v->begun_us);
	} else if (rc == 1) {
		read_failed(v, stats, "LIST -lR tells of one folder", true);
	} else {
		read_failed(v, stats, err->msg, false);
	}
}

static void list_done(struct task *t, const struct robot_result *r)
{
	struct visit *v = t->visit;
	if (r->outcome == OUTCOME_OK && v->file.n > 0) {
		getter_read(t, list_entry, list_read);
		return;
	}
	task_free(t);
	if (r->outcome == OUTCOME_OK) {
		visit_note(v, GETTER_CAUSE_EMPTY, "LIST -lR tells of nothing");
	} else {
		note_refusal(v, r);
		getter_file_fail(&v->file);
		if (result_is_site(r) || v->cause == GETTER_CAUSE_DISK) {
			visit_fail(v);
			return;
		}
	}
	visit_next(v);
}

static void try_ready(struct visit *v)
{
	char url[URL_STRICT_MAX + 32];
	snprintf(v->ready, sizeof v->ready, "%s%s",
		 ready_folders[v->step % ARRAY_LEN(ready_folders)],
		 ready_names[v->step / ARRAY_LEN(ready_folders)]);
	snprintf(url, sizeof url, STR_FMT "%s", STR_ARG(v->site.url), v->ready);
	v->step++;
	getter_file_drop(&v->file);
	v->file.is_ready = true;
	struct task *t = task_new(v, str_of(url), ready_done);
	t->sink = &v->file.sink;
	task_push(v, t);
}

static void try_list(struct visit *v)
{
	v->step = TRY_WALK;
	v->dirs = 0;
	getter_file_drop(&v->file);
	v->file.is_ready = false;
	struct task *t = task_new(v, v->site.url, list_done);
	t->sink = &v->file.sink;
	t->flags = ROBOT_LIST_ALL;
	task_push(v, t);
}

static void visit_next(struct visit *v)
{
	while (v->step < READY_TRIES && !is_root(&v->site) &&
	       v->step % ARRAY_LEN(ready_folders) != 0)
		v->step++;
	if (v->step < READY_TRIES)
		try_ready(v);
	else if (v->step == TRY_LIST && v->site.ftp)
		try_list(v);
	else
		walk_begin(v);
}

/* Beginning */

static void visit_at(struct visit *v, struct str name, const struct addr *address)
{
	v->moved = !addr_eq(*address, v->site.address) || !str_eq(name, v->site.name);
	v->site.address = *address;
	v->site.name = arena_str(&v->arena, name);
	visit_next(v);
}

static const struct addr *address_of(const struct visit *v, const struct dns_result *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (addr_eq(r->addr[i], v->site.address))
			return &r->addr[i]; /* still one of its own */
	return robot_choose(r->addr, r->n, archie_site_host(&v->site));
}

static void use_result(struct visit *v, const struct dns_result *r)
{
	struct str host = archie_site_host(&v->site);
	char text[GETTER_TEXT + 1];
	struct addr literal;
	if (r->outcome == DNS_FOUND) {
		bool is_name = host.p[0] != '[' && !addr_parse(host, &literal);
		struct str name = !is_name ? v->site.name : r->canonical.n ? r->canonical : host;
		visit_at(v, name, address_of(v, r));
		return;
	}
	visit_note(v, getter_no_address(host, r, text), text);
	visit_fail(v);
}

static void visit_resolved(void *ctx, const struct dns_result *r)
{
	struct visit *v = ctx;
	use_result(v, r);
	visit_settle(v);
}

static void visit_late(void *ctx)
{
	struct visit *v = ctx;
	visit_note(v, ROBOT_CAUSE_TIME, "it took longer than archie.time_max");
	visit_fail(v);
	visit_settle(v);
}

static void visit_begin(struct visit *v)
{
	struct getter *g = v->getter;
	const struct getter_record *old = getter_state_find(&g->state, v->key);
	struct dns_result result;
	const struct getter_database database = getter_database(g->o.folder, v->key);
	int64_t built_us = database.built_us;
	bool is_waiting = getter_waiting_us(g->o.folder, v->key) != 0;
	bool has_listing = built_us || is_waiting || (old && getter_was_refused(g->o.folder, old));
	v->has_current = is_waiting || (old ? getter_is_built(&database, old) : built_us != 0);
	if (old && old->got_us) {
		v->has_source = true;
		memcpy(v->source, old->file, sizeof v->source);
	}
	v->begun_us = clock_wall_us();
	v->deadline_us = loop_now_us(g->o.kit->loop) + g->o.conf->total_us;
	if (has_listing && old && old->listed_us)
		v->since_us = old->listed_us;
	else if (built_us)
		v->since_us = built_us;
	if (!getter_believes(v->since_us / US_PER_S))
		v->since_us = -1;
	loop_timer_in(g->o.kit->loop, &v->deadline, g->o.conf->total_us);
	if (has_proxy(g))
		visit_next(v);
	else if (dns_lookup(g->o.kit->dns, archie_site_host(&v->site), DNS_ANY, &v->dns, &result) ==
		 0)
		use_result(v, &result);
	visit_settle(v);
}

static void visit_free(struct visit *v)
{
	struct getter *g = v->getter;
	if (g->stopping && !v->ended)
		visit_tell(v, &(struct getter_told){.end = GETTER_STOPPED});
	getter_file_drop(&v->file);
	loop_timer_stop(&v->deadline);
	dns_cancel(&v->dns);
	walk_end(v);
	list_remove(&v->link);
	arena_free(&v->arena);
	mem_free(&v);
	g->counts.under_way--;
}

/* As many as may be visited at a time. From the loop, so that a visit that ends at once does not
 * begin the next one from inside itself. */
static void visits_go(void *ctx)
{
	struct getter *g = ctx;
	struct visit *v;
	while (!g->stopping && (int64_t)g->counts.under_way < g->o.conf->at_once &&
	       (v = LIST_FIRST(struct visit, &g->waiting, link))) {
		list_remove(&v->link);
		list_append(&g->visits, &v->link);
		g->counts.under_way++;
		visit_begin(v);
	}
	if (g->going && g->counts.under_way == 0 && list_is_empty(&g->waiting)) {
		g->going = false;
		g->o.done(g->o.ctx);
	}
}

static void visits_start(struct getter *g)
{
	if (!g->stopping)
		loop_later(g->o.kit->loop, &g->later);
}

/* The door */

bool getter_wants(const struct getter *g, const struct archie_site *site, bool named,
		  int64_t wall_us)
{
	const struct getter_record *r = getter_state_find(&g->state, site->key);
	if (!named && getter_retry_us(r, archie_retry_most_us(g->o.conf), wall_us))
		return false;
	return getter_due_us(g->o.folder, site, g->o.conf->max_age_us, r) <= wall_us;
}

void getter_add(struct getter *g, const struct archie_site *site)
{
	struct visit *v = mem_alloc(sizeof *v);
	*v = (struct visit){.getter = g,
			    .arena = ARENA_INIT(SIZE_MAX),
			    .since_us = -1,
			    .dns = {.done = visit_resolved, .ctx = v},
			    .deadline = {.fn = visit_late, .ctx = v}};
	v->site = archie_site_copy(site, &v->arena);
	v->key = v->site.key;
	getter_file_init(&v->file, v);
	list_append(&g->waiting, &v->link);
	g->counts.sites++;
}

void getter_go(struct getter *g)
{
	g->going = true;
	visits_start(g);
}

void getter_stop(struct getter *g)
{
	g->stopping = true;
	loop_timer_stop(&g->pump);
	loop_later_cancel(&g->later);
}

const struct getter_counts *getter_counts(const struct getter *g)
{
	return &g->counts;
}

int getter_forget(struct getter *g, const struct archie_sites *sites, struct err *err)
{
	struct getter_state *s = &g->state;
	size_t kept = 0, at = 0;
	for (size_t i = 0; i < s->n; i++) {
		/* both are sorted by key */
		while (at < sites->n && str_cmp(sites->site[at].key, str_of(s->record[i].key)) < 0)
			at++;
		if (!s->record[i].key[0] ||
		    (at < sites->n && str_is(sites->site[at].key, s->record[i].key)))
			s->record[kept++] = s->record[i];
	}
	if (kept == s->n || !g->small)
		return 0;
	s->n = kept;
	return small_replace(g->small, &getter_table, s->record, s->n, err);
}

/* What a getter that was killed has left: nobody goes on with it. */
static int clear_tmp(const char *folder, struct err *err)
{
	struct dir dir;
	const char *name;
	char path[PATH_MAX + NAME_MAX + 2];
	int rc = dir_init_own(&dir, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc >= 0 && dir_next(&dir, &name) == 0) {
		snprintf(path, sizeof path, "%s/%s", folder, name);
		rc = file_remove(path, err);
	}
	dir_done(&dir);
	return MIN(rc, 0);
}

static int make_folders(const char *folder, struct err *err)
{
	static const char *const names[] = {"tmp", "lslr", "failed"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		if (dir_make(path, DIR_MODE, err) < 0)
			return -1;
	}
	return 0;
}

static int getter_open(struct getter *g, struct err *err)
{
	char path[PATH_MAX];
	struct hostq_options queue = {
		.rule = {.delay_us = g->o.robot->robot.delay_us,
			 .concurrent = (unsigned)g->o.robot->robot.concurrent}};
	if (make_folders(g->o.folder, err) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/tmp", g->o.folder);
	if (lock_take(&g->lock, path, err) < 0 || clear_tmp(path, err) < 0)
		return -1;
	if (g->o.data && (getter_table_open(&g->small, g->o.data, err) < 0 ||
			  getter_state_read(g->small, &g->state, err) < 0))
		return -1;
	return hostq_new(&g->queue, &queue, err);
}

int getter_new(struct getter **ret, const struct getter_options *options, struct err *err)
{
	struct getter *g = mem_alloc(sizeof *g);
	*g = (struct getter){.o = *options, .lock = {FILE_INIT}};
	list_init(&g->waiting);
	list_init(&g->visits);
	list_init(&g->reading);
	list_init(&g->in_cage);
	list_init(&g->lists);
	g->pump = (struct loop_timer){.fn = getter_pump, .ctx = g};
	g->later = (struct loop_later){.fn = visits_go, .ctx = g};
	if (getter_open(g, err) < 0) {
		getter_free(&g);
		return -1;
	}
	*ret = g;
	return 0;
}

/* Tasks that wait in the queue are in no other list. */
static void drop_tasks(struct getter *g)
{
	struct hostq_job job;
	struct err ignored;
	int64_t wait_us;
	while (g->queue && hostq_take(g->queue, INT64_MAX / 2, &job, &wait_us, &ignored) == 0) {
		struct task *t = (struct task *)(uintptr_t)job.user;
		hostq_unasked(g->queue, &job);
		task_free(t);
	}
}

void getter_free(struct getter **gp)
{
	struct getter *g = *gp;
	if (!g)
		return;
	g->stopping = true;
	loop_timer_stop(&g->pump);
	loop_later_cancel(&g->later);
	walk_cage_close(g);
	getter_read_close(g);
	drop_tasks(g);
	LIST_EACH (struct visit, v, &g->visits, link)
		visit_free(v);
	LIST_EACH (struct visit, v, &g->waiting, link) {
		g->counts.under_way++;
		visit_free(v);
	}
	hostq_free(&g->queue);
	getter_state_free(&g->state);
	small_close(&g->small);
	lock_free(&g->lock);
	mem_free(gp);
}
