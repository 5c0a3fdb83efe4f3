/* The role archie-master. The listed sites are in archie/master/sites.local, a site list that
 * people may edit as well. Others get archie/public/sites, which is rewritten whenever that list
 * changes. Requests and the results of tests are in a table of garner.db.
 *
 * A request goes through these steps: it is stored and its file removed; the site is tested, listed
 * and published; a thread sends the answer; the request is deleted. If the master is killed in
 * between, the next one continues, or repeats the last step. A site that was listed already is
 * recognised, so at worst an answer is sent twice. An answer that cannot be sent now waits with its
 * request. */
#include "archie/master_role.h"

#include "archie/mailer.h"
#include "archie/master_state.h"
#include "archie/master_tests.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "disk/requests.h"
#include "net/role_loop.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#define ROLE "archie-master"
#define LOOK_US (500 * US_PER_MS)
#define PAUSE_US US_PER_MIN /* after a failure of ours */
/* An answer that cannot be sent is tried again, less and less often, and given up at last. */
#define ANSWER_MIN_US US_PER_MIN
#define ANSWER_MAX_US (4 * 3600 * US_PER_S)
#define ANSWER_OVER_US (5 * US_PER_DAY)

struct master_conf {
	int64_t retest_us, leave_us;
};

static const struct value_spec specs[] = {
	{"retest", VALUE_TIME_AT(struct master_conf, retest_us), "30d", 1e6, 3650 * 86400e6,
	 .help = "time between tests of a listed site; a site that fails is tested again after "
		 "archie.retry_min, then ever less often, up to archie.retry_max"},
	{"leave_after", VALUE_TIME_AT(struct master_conf, leave_us), "90d", 1e6, 3650 * 86400e6,
	 .help = "time after which a site that fails every test leaves the list"},
};
static const struct config_section section = {
	.name = ROLE,
	.help = "The master: the list of sites that archive servers index.",
	.size = sizeof(struct master_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

struct master_counts {
	uint64_t requests, listed, known, refused, good, failed, left;
	uint64_t sites, failing, waiting, under_way; /* now */
};
#define COUNTED(member) COUNTER_AT(struct master_counts, member)
static const struct counter_def counter_defs[] = {
	{"requests", NULL, COUNTER_TOTAL, "requests accepted", COUNTED(requests)},
	{"answers", "end=\"listed\"", COUNTER_TOTAL, "requests answered", COUNTED(listed)},
	{"answers", "end=\"known\"", COUNTER_TOTAL, "requests answered", COUNTED(known)},
	{"answers", "end=\"refused\"", COUNTER_TOTAL, "requests answered", COUNTED(refused)},
	{"tests", "end=\"good\"", COUNTER_TOTAL, "tests of listed sites", COUNTED(good)},
	{"tests", "end=\"failed\"", COUNTER_TOTAL, "tests of listed sites", COUNTED(failed)},
	{"left", NULL, COUNTER_TOTAL, "sites that left the list", COUNTED(left)},
	{"sites", NULL, COUNTER_GAUGE, "sites in the list", COUNTED(sites)},
	{"failing", NULL, COUNTER_GAUGE, "listed sites whose last test failed", COUNTED(failing)},
	{"waiting", NULL, COUNTER_GAUGE, "requests not answered yet", COUNTED(waiting)},
	{"under_way", NULL, COUNTER_GAUGE, "sites being tested", COUNTED(under_way)},
};

struct master {
	struct role_loop role;
	const struct archie_conf *archie;
	struct master_times times;
	char archie_folder[PATH_MAX], folder[PATH_MAX], list_path[PATH_MAX];
	struct mailer mailer;
	struct pool *pool;     /* one thread, which sends */
	struct answer *answer; /* with it; NULL: none */
	struct requests *requests;
	struct master_state state;
	struct master_tests *tests;
	struct arena arena; /* of the list */
	struct archie_sites sites;
	struct stat seen; /* sites.local, when it was read */
	int64_t due_us;   /* wall clock: when the next site is to be tested, or sooner */
	int64_t pause_us; /* of the loop's clock: nothing is begun before it */
	struct master_counts count;
	struct loop_timer timer;
};

/* Ends the role; the next start goes on from what was saved. */
static void master_fail(struct master *m, const struct err *err)
{
	role_loop_fail(&m->role, err);
}

static int state_save(struct master *m)
{
	struct err err;
	if (master_state_save(&m->state, &err) == 0)
		return 0;
	master_fail(m, &err);
	return -1;
}

static void take_break(struct master *m, const char *what, const char *why)
{
	log_warn(ROLE, what, KV_TEXT("why", why));
	m->pause_us = loop_now_us(m->role.loop) + PAUSE_US;
}

/* The list */

/* Whatever our umask is: the web or FTP server may run as another user. */
static int let_read(const char *path, mode_t mode, struct err *err)
{
	return chmod(path, mode) == 0 ? 0 : err_sys(err, "%s: let others read it", path);
}

/* Writes archie/public/sites, which anyone may read. folder: archie/. */
static int list_publish(const char *folder, const struct archie_sites *sites, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(ARCHIE_LIST_MOST), old = text;
	char public[PATH_MAX], path[PATH_MAX + 8];
	snprintf(public, sizeof public, "%s/public", folder);
	snprintf(path, sizeof path, "%s/sites", public);
	for (size_t i = 0; i < sites->n; i++) {
		archie_site_print(&sites->site[i], &text);
		buf_add_byte(&text, '\n');
	}
	if (text.over)
		return err_set(err, ERR_USAGE, "%s: it would be larger than %d bytes", path,
			       ARCHIE_LIST_MOST);
	if (dir_make(public, 0755, err) < 0 || let_read(public, 0755, err) < 0)
		return -1;
	int rc = file_slurp(path, &old, err);
	if (rc < 0)
		return -1;
	bool is_same = rc == 0 && str_eq(buf_str(&old), buf_str(&text));
	FAULT("master.publish");
	if (!is_same && file_replace(path, buf_str(&text), 0644, err) < 0)
		return -1;
	FAULT("master.published");
	return let_read(path, 0644, err);
}

/* Drops sites whose URL does not fit into a record: they cannot be tested or published. */
static void list_leave_out_long(struct master *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->sites.n; i++)
		if (m->sites.site[i].url.n <= MASTER_URL)
			m->sites.site[n++] = m->sites.site[i];
		else
			log_warn(ROLE, "site left out: its URL is too long",
				 KV_UINT("bytes", m->sites.site[i].url.n),
				 KV_STR("host", archie_site_host(&m->sites.site[i])));
	m->sites.n = n;
}

static void list_use(struct master *m)
{
	struct err err;
	int64_t now_us = clock_wall_us();
	arena_clear(&m->arena);
	m->sites = (struct archie_sites){0};
	if (file_changed(m->list_path, &m->seen, &err) < 0 ||
	    archie_sites_read(m->folder, &m->arena, &m->sites, &err) < 0) {
		master_fail(m, &err);
		return;
	}
	list_leave_out_long(m);
	if (list_publish(m->archie_folder, &m->sites, &err) < 0) {
		master_fail(m, &err);
		return;
	}
	for (size_t i = 0; i < m->sites.problems; i++)
		log_warn(ROLE, "line of the site list skipped",
			 KV_TEXT("line", m->sites.problem[i]));
	if (master_state_trim(&m->state, &m->sites, now_us - m->times.leave_us))
		(void)state_save(m);
	m->due_us = 0;
}

/* Reads the list again if it has changed, for example because somebody edited it. */
static void list_look(struct master *m)
{
	struct err err;
	int rc = file_changed(m->list_path, &m->seen, &err);
	if (rc < 0)
		master_fail(m, &err);
	else if (rc == 0)
		list_use(m);
}

/* Answers */

struct answer {
	struct pool_job job;
	struct master *m;
	struct master_record request; /* a copy */
	struct buf subject, text;
	int rc;
	struct err err;
};

static void answer_free(struct answer **ap)
{
	if (!*ap)
		return;
	buf_free(&(*ap)->subject);
	buf_free(&(*ap)->text);
	mem_free(ap);
}

/* Forgets a request whose answer was sent or can never be; schedules another try otherwise. */
static void answer_settle(struct master *m, size_t request, const struct answer *a)
{
	struct master_record *r = &m->state.request[request];
	int64_t now_us = clock_wall_us();
	if (!r->failing_us || r->failing_us > now_us)
		r->failing_us = now_us;
	bool is_over = a->rc < 0 && now_us - r->failing_us >= ANSWER_OVER_US;
	if (a->rc == 0 || a->err.code == ERR_USAGE || is_over) {
		if (a->rc < 0)
			log_outside(ROLE, "answer lost", KV_TEXT("to", r->reply_to),
				    KV_TEXT("host", r->host), KV_TEXT("why", a->err.msg));
		master_state_answered(&m->state, request);
		return;
	}
	r->sending = false;
	r->changed = true;
	r->failures++;
	r->next_us = now_us + backoff_us(r->failures, ANSWER_MIN_US, ANSWER_MAX_US);
	log_warn(ROLE, "answer cannot be sent now; trying again later", KV_TEXT("to", r->reply_to),
		 KV_TEXT("why", a->err.msg));
}

static void answer_done(void *ctx)
{
	struct answer *a = ctx;
	struct master *m = a->m;
	size_t i = 0;
	while (i < m->state.requests && !m->state.request[i].sending)
		i++;
	ENSURE(i < m->state.requests);
	FAULT("master.answered");
	answer_settle(m, i, a);
	answer_free(&m->answer);
	(void)state_save(m);
}

/* In the thread. */
static void answer_run(struct pool_job *job)
{
	struct answer *a = LIST_OF(struct answer, job, job);
	const struct mail mail = {.to = str_of(a->request.reply_to),
				  .subject = buf_str(&a->subject),
				  .answers = true,
				  .in_reply_to = str_of(a->request.message_id),
				  .text = buf_str(&a->text)};
	a->rc = mailer_send(&a->m->mailer, &mail, &a->err);
	loop_post(a->m->role.loop, answer_done, a);
}

/* 1: the site is no longer known and must be tested again. */
static int answer_print(const struct master *m, const struct master_record *request,
			struct buf *out)
{
	CLEANUP(buf_free) struct buf sentence = BUF_INIT(2 << 10);
	const struct master_record *site = master_state_find(&m->state, str_of(request->url));
	if (request->error[0])
		buf_add_text(&sentence, request->error); /* it was about no site */
	else if (site)
		master_record_say(site, &sentence);
	else
		return 1;
	buf_printf(out,
		   "You asked that %s be indexed.\n\n%s.\n\n"
		   "Archive servers index what is in the list once they have fetched it anew. "
		   "Nobody reads\nanswers to this mail.\n",
		   request->host, buf_text(&sentence));
	return 0;
}

static void answer_send(struct master *m, struct master_record *request)
{
	struct answer *a = mem_alloc(sizeof *a);
	*a = (struct answer){.job = {.run = answer_run},
			     .m = m,
			     .request = *request,
			     .subject = BUF_INIT(1 << 10),
			     .text = BUF_INIT(8 << 10)};
	if (answer_print(m, request, &a->text) != 0) {
		request->tested_us = 0;
		request->changed = true;
		answer_free(&a);
		return;
	}
	buf_printf(&a->subject, "addnewsite %s", request->host);
	m->answer = a;
	request->sending = true;
	FAULT("master.answer");
	pool_post(m->pool, &a->job);
}

/* A time too far in the future was written while the clock was wrong. */
static void send_answers(struct master *m, int64_t now_us)
{
	for (size_t i = 0; i < m->state.requests && !m->answer; i++) {
		struct master_record *r = &m->state.request[i];
		if (r->tested_us && (r->next_us <= now_us || r->next_us > now_us + ANSWER_MAX_US))
			answer_send(m, r);
	}
}

/* Answers all requests for this site. */
static void answer_requests(struct master *m, struct str url)
{
	CLEANUP(buf_free) struct buf sentence = BUF_INIT(2 << 10);
	struct master_record *site = master_state_of(&m->state, url);
	int64_t now_us = clock_wall_us();
	master_record_say(site, &sentence);
	for (size_t i = m->state.requests; i-- > 0;) {
		struct master_record *r = &m->state.request[i];
		if (r->tested_us || !str_is(url, r->url))
			continue;
		log_info(ROLE, "request answered", KV_TEXT("host", r->host),
			 KV_STR("answer", buf_str(&sentence)));
		r->tested_us = now_us;
		r->changed = true;
		if (!r->reply_to[0])
			master_state_answered(&m->state, i);
	}
	site->asked_us = now_us;
	(void)state_save(m);
}

/* What tests say */

static bool is_asked(const struct master *m, struct str url)
{
	for (size_t i = 0; i < m->state.requests; i++)
		if (!m->state.request[i].tested_us && str_is(url, m->state.request[i].url))
			return true;
	return false;
}

/* The fifth step. Negative: a failure of ours. */
static int site_list(struct master *m, const struct master_verdict *v, struct master_record *r,
		     int64_t now_us, struct err *err)
{
	FAULT("master.list");
	int rc = archie_sites_add(m->folder, &v->site, err);
	FAULT("master.listed");
	if (rc < 0 && err->code != ERR_USAGE)
		return -1;
	if (rc < 0) {
		master_note_refused(r, "known", err->msg, now_us);
		m->count.known++;
		return 0;
	}
	master_note_good(r, v->entries, &m->times, now_us);
	m->count.listed++;
	list_use(m);
	return 0;
}

/* Handles the test of a requested site. Negative: there is nothing to answer yet. */
static int told_new(struct master *m, const struct master_verdict *v, int64_t now_us)
{
	struct master_record *r = master_state_of(&m->state, v->url);
	char why[GETTER_TEXT + 1];
	struct err err;
	if (v->end == MASTER_GOOD && site_list(m, v, r, now_us, &err) < 0) {
		take_break(m, "site cannot be listed; testing it again later", err.msg);
		return -1;
	}
	if (v->end == MASTER_KNOWN) {
		m->count.known++;
		snprintf(why, sizeof why, "its address has " STR_FMT " already",
			 STR_ARG(str_head(v->known, 150)));
		if (!str_eq(v->known, v->url))
			master_note_refused(r, "known", why, now_us);
		else
			r->kind = MASTER_LISTED; /* by hand, if there was none */
	} else if (v->end == MASTER_FAILED) {
		m->count.refused++;
		master_note_refused(r, v->cause, v->why, now_us);
	}
	return 0;
}

/* Saves the reason before removing the site: if we are killed in between, the site is tested again.
 */
static void site_leave(struct master *m, struct master_record *r)
{
	struct err err;
	r->kind = MASTER_LEFT;
	r->changed = true;
	if (state_save(m) < 0)
		return;
	FAULT("master.leave");
	if (archie_sites_remove(m->folder, str_of(r->url), &err) < 0) {
		r->kind = MASTER_LISTED;
		r->changed = true;
		take_break(m, "site cannot be removed from the list; trying again later", err.msg);
		return;
	}
	FAULT("master.left");
	m->count.left++;
	log_warn(ROLE, "site left the list", KV_TEXT("site", r->url), KV_TEXT("cause", r->cause),
		 KV_TEXT("why", r->error));
	list_use(m);
}

static void told_again(struct master *m, const struct master_verdict *v, int64_t now_us)
{
	struct master_record *r = master_state_of(&m->state, v->url);
	r->kind = MASTER_LISTED;
	if (v->end == MASTER_GOOD) {
		m->count.good++;
		master_note_good(r, v->entries, &m->times, now_us);
	} else {
		m->count.failed++;
		master_note_failed(r, v->cause, v->why, &m->times, now_us);
		log_outside(ROLE, "listed site failed its test", KV_TEXT("site", r->url),
			    KV_TEXT("cause", r->cause), KV_TEXT("why", r->error));
		if (master_is_over(r, &m->times, now_us))
			site_leave(m, r);
	}
	m->due_us = 0;
	(void)state_save(m);
}

static bool is_listed(const struct master *m, struct str url)
{
	for (size_t i = 0; i < m->sites.n; i++)
		if (str_eq(m->sites.site[i].url, url))
			return true;
	return false;
}

static void site_told(void *ctx, const struct master_verdict *v)
{
	struct master *m = ctx;
	int64_t now_us = clock_wall_us();
	list_look(m); /* the getter may have found that it moved */
	if (v->ours)
		take_break(m, "site could not be tested; trying again later", v->why);
	else if (v->end != MASTER_KNOWN && is_listed(m, v->url))
		told_again(m, v, now_us);
	else if (!is_asked(m, v->url) || told_new(m, v, now_us) < 0)
		return;
	if (!v->ours && is_asked(m, v->url))
		answer_requests(m, v->url);
}

/* What is to be done */

static int take_line(void *ctx, struct str line, struct err *err)
{
	struct master *m = ctx;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct newsite n;
	struct err why;
	struct str url;
	int64_t now_us = clock_wall_us();
	(void)err;
	if (!newsite_parse(line, &n)) {
		log_warn(ROLE, "line skipped: not a request", KV_STR("line", str_head(line, 200)));
		return 0;
	}
	m->count.requests++;
	if (newsite_url(n.host, &arena, &url, &why) == 0) {
		master_state_ask(&m->state, url, &n, now_us);
		return 0;
	}
	log_outside(ROLE, "request refused: not a host", KV_TEXT("why", why.msg));
	m->count.refused++;
	if (n.reply_to.n)
		master_state_refuse(&m->state, &n, why.msg, now_us);
	return 0;
}

static void take_requests(struct master *m)
{
	struct err err;
	size_t before = m->state.requests;
	if (before >= MASTER_REQUESTS_MOST || !requests_waiting(m->requests))
		return;
	int rc = requests_take(m->requests, take_line, m, &err);
	FAULT("master.take");
	if (rc < 0 || (m->state.requests > before && state_save(m) < 0))
		return;
	FAULT("master.taken");
	if (requests_kept(m->requests, &err) < 0)
		log_warn(ROLE, "request file cannot be removed", KV_TEXT("why", err.msg));
}

static bool may_begin(const struct master *m)
{
	return (int64_t)master_tests_n(m->tests) < m->archie->at_once &&
	       loop_now_us(m->role.loop) >= m->pause_us;
}

static bool is_under_way(void *ctx, struct str url)
{
	struct master *m = ctx;
	return master_tests_has(m->tests, url);
}

/* One sender may have at most half of all tests: slow sites would hold up those of others. */
static void begin_requests(struct master *m)
{
	size_t abreast = (size_t)MAX(m->archie->at_once / 2, INT64_C(1)), next;
	while (may_begin(m) && (next = master_state_next(&m->state, abreast, is_under_way, m)) <
				       m->state.requests) {
		master_state_begun(&m->state, next);
		master_tests_ask(m->tests, str_of(m->state.request[next].url));
	}
}

static void begin_due(struct master *m, int64_t now_us)
{
	if (now_us < m->due_us && m->due_us - now_us <= m->times.retest_us)
		return;
	m->due_us = now_us + m->times.retest_us;
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct archie_site *site = &m->sites.site[i];
		int64_t due_us =
			master_due_us(master_state_find(&m->state, site->url), &m->times, now_us);
		if (due_us <= now_us && !master_tests_has(m->tests, site->url)) {
			if (!may_begin(m)) {
				m->due_us = 0;
				return;
			}
			master_tests_again(m->tests, site);
		} else if (due_us > now_us) {
			m->due_us = MIN(m->due_us, due_us);
		}
	}
}

static void master_look(void *ctx)
{
	struct master *m = ctx;
	list_look(m);
	take_requests(m);
	begin_requests(m);
	begin_due(m, clock_wall_us());
	send_answers(m, clock_wall_us());
}

/* The role */

static void tell_counters(void *ctx)
{
	struct master *m = ctx;
	struct master_counts *c = &m->count;
	c->failing = 0;
	for (size_t i = 0; i < m->state.n; i++)
		c->failing += m->state.site[i].kind == MASTER_LISTED && m->state.site[i].failing_us;
	c->sites = m->sites.n;
	c->waiting = m->state.requests;
	c->under_way = m->tests ? master_tests_n(m->tests) : 0;
	role_loop_tell_of(&m->role, c, "%zu sites listed, %" PRIu64 " failing, %zu requests wait",
			  m->sites.n, c->failing, m->state.requests);
}

static int master_open(struct master *m, struct err *err)
{
	const struct role_env *env = m->role.env;
	char newsites[PATH_MAX];
	int room = PATH_MAX - 64;
	snprintf(m->archie_folder, sizeof m->archie_folder, "%.*s/archie", room, env->data);
	snprintf(m->folder, sizeof m->folder, "%.*s/archie/master", room, env->data);
	snprintf(m->list_path, sizeof m->list_path, "%.*s/archie/master/sites.local", room,
		 env->data);
	snprintf(newsites, sizeof newsites, "%.*s/archie/newsites", room, env->data);
	if (dir_make(m->folder, DIR_MODE, err) < 0 || dir_make(newsites, DIR_MODE, err) < 0 ||
	    master_state_open(env->data, &m->state, err) < 0 || role_loop_open(&m->role, err) < 0)
		return -1;
	const struct master_tests_options tests = {.loop = m->role.loop,
						   .data = env->data,
						   .folder = m->folder,
						   .list = m->folder,
						   .config = env->config,
						   .disk_free = env->disk_free,
						   .told = site_told,
						   .ctx = m};
	if (master_tests_new(&m->tests, &tests, err) < 0 ||
	    pool_new(&m->pool, &(struct pool_options){.threads = 1}, err) < 0)
		return -1;
	m->requests = requests_new(newsites, NEWSITE_KIND);
	m->mailer = mailer_of(env->data, env->config);
	m->timer = (struct loop_timer){.fn = master_look, .ctx = m};
	loop_timer_every(m->role.loop, &m->timer, LOOK_US);
	list_use(m);
	return 0;
}

static int role_run(struct role_env *env, struct err *err)
{
	const struct master_conf *conf = config_get(env->config, &section);
	const struct archie_conf *archie = config_get(env->config, &archie_section);
	struct master m = {.role = {.env = env, .tell = tell_counters, .ctx = &m},
			   .archie = archie,
			   .times = {.retest_us = conf->retest_us,
				     .leave_us = conf->leave_us,
				     .retry_min_us = archie->retry_min_us,
				     .retry_max_us = archie_retry_most_us(archie)},
			   .arena = ARENA_INIT(SIZE_MAX)};
	int rc = master_open(&m, err);
	if (rc == 0)
		rc = role_loop_run(&m.role, err);
	loop_timer_stop(&m.timer);
	master_tests_free(&m.tests);
	pool_free(&m.pool); /* waits for what is being sent */
	if (m.answer)
		loop_post_cancel(m.role.loop, m.answer);
	answer_free(&m.answer);
	requests_free(&m.requests);
	master_state_free(&m.state);
	arena_free(&m.arena);
	role_loop_close(&m.role);
	return rc;
}

const struct role archie_master_role = {
	.name = ROLE,
	.only_named = true,
	.summary = "keep the list of the sites that archive servers index",
	.description =
		"Accepts requests to index a site (garner archie newsite), tests the site, lists "
		"it if its listing can be used, and answers the asker. Every listed site is tested "
		"again from time to time, and leaves the list if it fails for too long. The list "
		"is "
		"archie/public/sites; offer it to all archive servers by FTP or on the web. Give "
		"this role a machine of its own, without archie-queuer.",
	.section = &section,
	.counters = counter_defs,
	.ncounters = ARRAY_LEN(counter_defs),
	.check = archie_conf_check,
	.run = role_run,
};
