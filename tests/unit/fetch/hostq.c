#include "fetch/hostq.h"
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/format.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define S US_PER_S
#define START (1000 * S)

static const struct hostq_options plain = {.rule = {.delay_us = 10 * S, .concurrent = 1}};

static struct hostq *make(const struct hostq_options *o)
{
	struct hostq *q = NULL;
	struct err err;
	if (hostq_new(&q, o, &err) < 0)
		fail_msg("%s", err.msg);
	return q;
}

static qkey server(uint32_t number)
{
	struct qkey_addr a = {
		.b = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number}};
	return qkey_of(&a, 0);
}

static void push_text(struct hostq *q, uint32_t host, unsigned priority, const char *text,
		      uint64_t user)
{
	struct err err;
	if (hostq_push(q, server(host), priority, str_of(text), user, &err) < 0)
		fail_msg("%s", err.msg);
}

static struct hostq_job takes(struct hostq *q, int64_t now_us, const char *want)
{
	struct hostq_job job;
	struct err err;
	int64_t wait;
	int rc = hostq_take(q, now_us, &job, &wait, &err);
	if (rc != 0)
		fail_msg("want %s, rc %d, %s", want, rc, rc < 0 ? err.msg : "wait");
	assert_str(job.payload, want);
	return job;
}

static int64_t waits(struct hostq *q, int64_t now_us)
{
	struct hostq_job job;
	struct err err;
	int64_t wait = 0;
	assert_int_equal(hostq_take(q, now_us, &job, &wait, &err), 1);
	assert_true(wait > 0);
	return wait;
}

static struct hostq_counts counts(const struct hostq *q)
{
	struct hostq_counts c;
	hostq_count(q, &c);
	return c;
}

static void one_server_two_urls_the_second_waits_its_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	assert_int_equal(waits(q, START), INT64_MAX);
	push_text(q, 1, 0, "a", 7);
	push_text(q, 1, 0, "b", 8);
	struct hostq_job a = takes(q, START, "a");
	assert_int_equal(a.user, 7);
	assert_int_equal(a.key, server(1));
	assert_int_equal(waits(q, START + 60 * S), INT64_MAX); /* it is out */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 4 * S));
	assert_int_equal(waits(q, START + 4 * S), 6 * S);
	struct hostq_job b = takes(q, START + 10 * S, "b");
	assert_true(hostq_done(q, &b, OUTCOME_OK, START + 10 * S));
	assert_int_equal(waits(q, START + 10 * S), INT64_MAX);
	hostq_free(&q);
}

static void an_empty_queue_still_keeps_its_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 0, "a", 0);
	struct hostq_job a = takes(q, START, "a");
	hostq_done(q, &a, OUTCOME_OK, START + S);
	push_text(q, 1, 0, "b", 0);
	assert_int_equal(waits(q, START + 2 * S), 8 * S);
	a = takes(q, START + 10 * S, "b");
	hostq_done(q, &a, OUTCOME_OK, START + 10 * S);
	assert_int_equal(counts(q).queues, 1);
	assert_int_equal(waits(q, START + 20 * S), INT64_MAX);
	assert_int_equal(counts(q).queues, 0); /* forgotten when it could go again */
	push_text(q, 1, 0, "c", 0);
	takes(q, START + 20 * S, "c");
	hostq_free(&q);
}

static void urgent_ones_go_first_and_equals_in_order(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = 0, .concurrent = 100}};
	struct hostq *q = make(&o);
	const unsigned priority[] = {5, 255, 0, 5, 7, 0, 255, 5};
	const char *name[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	for (size_t i = 0; i < ARRAY_LEN(name); i++)
		push_text(q, 1, priority[i], name[i], i);
	const char *want[] = {"c", "f", "a", "d", "h", "e", "b", "g"};
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		takes(q, START, want[i]);
	hostq_free(&q);
}

static void the_queue_that_waited_longest_goes_first(void **state)
{
	(void)state;
	enum { HOSTS = 50, ROUNDS = 20 };
	struct hostq *q = make(&plain);
	unsigned seen[HOSTS] = {0};
	for (uint32_t i = 0; i < HOSTS; i++)
		for (uint32_t j = 0; j < (i + 1) * 10; j++)
			push_text(q, i, 0, "x", i);
	int64_t now = START;
	for (int i = 0; i < HOSTS * 10; i++) {
		struct hostq_job job;
		int64_t wait;
		struct err err;
		while (hostq_take(q, now, &job, &wait, &err) != 0)
			now += wait;
		seen[job.user]++;
		hostq_done(q, &job, OUTCOME_OK, now);
	}
	for (uint32_t i = 0; i < HOSTS; i++)
		assert_int_equal(seen[i], 10);
	hostq_free(&q);
}

static void as_many_are_out_as_the_rule_says(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S / 2, .concurrent = 3}};
	struct hostq *q = make(&o);
	struct hostq_job job[4];
	for (int i = 0; i < 10; i++)
		push_text(q, 1, 0, "x", 0);
	for (int i = 0; i < 3; i++) {
		job[i] = takes(q, START + i * S / 2, "x");
		assert_true(waits(q, START + i * S / 2) > 0);
	}
	assert_int_equal(waits(q, START + 9 * S), INT64_MAX);
	hostq_done(q, &job[1], OUTCOME_OK, START + 9 * S);
	takes(q, START + 9 * S, "x");
	hostq_free(&q);
}

static void a_queue_can_have_a_rule_of_its_own(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct polite_rule fast = {.delay_us = polite_delay_of_rate(2.5), .concurrent = 2};
	hostq_set_rule(q, server(1), &fast); /* has no URLs: nothing happens */
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	push_text(q, 1, 0, "c", 0);
	hostq_set_rule(q, server(1), &fast);
	takes(q, START, "a");
	assert_int_equal(waits(q, START), 400000);
	takes(q, START + 400000, "b");
	assert_int_equal(waits(q, START + S), INT64_MAX);
	hostq_free(&q);
}

static void a_job_is_done_once(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	struct hostq_job a = takes(q, START, "a"), found;
	assert_true(hostq_job_of(q, a.slot, a.turn, &found));
	assert_str(found.payload, "a");
	assert_false(hostq_job_of(q, 0, a.turn, &found));
	assert_false(hostq_job_of(q, 999, a.turn, &found));
	assert_true(hostq_done(q, &a, OUTCOME_OK, START));
	assert_false(hostq_done(q, &a, OUTCOME_OK, START));
	struct hostq_job b = takes(q, START + 10 * S, "b");
	assert_int_equal(b.slot, a.slot);
	assert_false(hostq_done(q, &a, OUTCOME_OK, START)); /* late: it does not free the other */
	assert_false(hostq_put_back(q, &a, START));
	assert_int_equal(counts(q).out, 1);
	hostq_free(&q);
}

static void what_is_put_back_goes_first_and_costs_no_delay(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	push_text(q, 1, 3, "a", 5);
	push_text(q, 1, 3, "b", 6);
	struct hostq_job a = takes(q, START, "a");
	assert_true(hostq_put_back(q, &a, START + 3 * S));
	assert_int_equal(counts(q).urls, 2);
	assert_int_equal(waits(q, START), 3 * S);
	a = takes(q, START + 3 * S, "a");
	assert_int_equal(a.user, 5);
	assert_true(hostq_put_back(q, &a, 0));
	push_text(q, 1, 2, "urgent", 0);
	a = takes(q, START + 3 * S, "urgent");
	hostq_done(q, &a, OUTCOME_OK, START + 3 * S);
	a = takes(q, START + 13 * S, "a");
	hostq_done(q, &a, OUTCOME_OK, START + 13 * S);
	takes(q, START + 23 * S, "b");
	hostq_free(&q);
}

static void troubles_make_a_queue_wait_longer_and_answers_shorter(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	for (int i = 0; i < 10; i++)
		push_text(q, 1, 0, "x", 0);
	int64_t now = START;
	for (int i = 1; i <= 3; i++) {
		struct hostq_job job = takes(q, now, "x");
		hostq_done(q, &job, OUTCOME_SITE_TEMPORARY, now);
		assert_int_equal(waits(q, now), 10 * S << i);
		now += 10 * S << i;
	}
	for (int i = 2; i >= 0; i--) {
		struct hostq_job job = takes(q, now, "x");
		hostq_done(q, &job, OUTCOME_OK, now);
		now += waits(q, now);
	}
	struct hostq_job job = takes(q, now, "x");
	hostq_done(q, &job, OUTCOME_OK, now);
	assert_int_equal(waits(q, now), 10 * S);
	hostq_free(&q);
}

static void what_does_not_fit_is_left_over_and_moves_up(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S}, .queues = 2, .length = 3};
	struct hostq *q = make(&o);
	assert_true(hostq_wants_more(q));
	for (int i = 0; i < 5; i++)
		push_text(q, 1, 0, "one", 0);
	assert_true(hostq_wants_more(q));
	push_text(q, 2, 0, "two", 0);
	push_text(q, 3, 0, "three", 0);
	push_text(q, 4, 0, "four", 0);
	assert_false(hostq_wants_more(q));
	assert_int_equal(counts(q).leftovers, 2 + 1 + 1);
	assert_int_equal(counts(q).active, 2);
	struct hostq_rejects it = hostq_rejects(q);
	qkey key;
	assert_int_equal(hostq_rejects_next(&it, &key), 0);
	assert_int_equal(key, server(1));
	assert_int_equal(hostq_rejects_next(&it, &key), 1);

	struct hostq_job one = takes(q, START, "one"), two = takes(q, START, "two");
	assert_int_equal(counts(q).leftovers, 4); /* what is out still counts */
	waits(q, START + 10 * S);
	hostq_done(q, &two, OUTCOME_OK, START + 10 * S);
	struct hostq_job three = takes(q, START + 10 * S, "three"); /* in the order of coming */
	hostq_done(q, &one, OUTCOME_OK, START + 10 * S);
	assert_int_equal(counts(q).leftovers, 1 + 1);
	one = takes(q, START + 10 * S, "one");
	assert_int_equal(waits(q, START + 20 * S), INT64_MAX);
	hostq_done(q, &three, OUTCOME_OK, START + 20 * S);
	takes(q, START + 20 * S, "four");
	assert_int_equal(counts(q).leftovers, 1);
	assert_false(hostq_wants_more(q));
	hostq_free(&q);
}

static void without_lengths_nothing_is_left_over_or_rejected(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	for (int i = 0; i < 100; i++)
		push_text(q, 1, 0, "x", 0);
	struct hostq_rejects it = hostq_rejects(q);
	qkey key;
	assert_int_equal(hostq_rejects_next(&it, &key), 1);
	assert_int_equal(counts(q).leftovers, 0);
	assert_int_equal(hostq_waiting(q, server(1)), 100);
	assert_int_equal(hostq_waiting(q, server(2)), 0);
	hostq_free(&q);
}

static void an_address_that_becomes_known_takes_the_urls_along(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct err err;
	qkey unresolved = qkey_special(QKEY_UNRESOLVED, 77, 80);
	assert_int_equal(hostq_push(q, unresolved, 1, STR("a"), 1, &err), 0);
	assert_int_equal(hostq_push(q, unresolved, 1, STR("b"), 2, &err), 0);
	assert_int_equal(hostq_push(q, unresolved, 2, STR("c"), 3, &err), 0);
	assert_int_equal(hostq_rekey(q, unresolved, server(9), &err), 0); /* renamed */
	assert_int_equal(hostq_waiting(q, unresolved), 0);
	assert_int_equal(hostq_waiting(q, server(9)), 3);
	struct hostq_job a = takes(q, START, "a");
	assert_int_equal(a.key, server(9));
	push_text(q, 1, 1, "before", 0);
	assert_int_equal(hostq_rekey(q, server(9), server(1), &err), 0); /* joined */
	assert_int_equal(hostq_waiting(q, server(9)), 0);
	assert_int_equal(hostq_waiting(q, server(1)), 3);
	assert_int_equal(waits(q, START + 10 * S), INT64_MAX); /* "a" is out, of the new one now */
	assert_true(hostq_done(q, &a, OUTCOME_OK, START + 10 * S));
	const char *want[] = {"before", "b", "c"};
	for (int i = 0; i < 3; i++) {
		a = takes(q, START + (10 + 10 * i) * S, want[i]);
		hostq_done(q, &a, OUTCOME_OK, START + (10 + 10 * i) * S);
	}
	assert_int_equal(hostq_rekey(q, server(5), server(6), &err), 0); /* nothing there */
	assert_int_equal(counts(q).urls, 0);
	hostq_free(&q);
}

static void too_long_a_payload_is_refused_and_an_empty_one_is_fine(void **state)
{
	(void)state;
	struct hostq *q = make(&plain);
	struct err err;
	char *big = mem_alloc(HOSTQ_PAYLOAD_MAX + 1);
	assert_true(hostq_push(q, server(1), 0, (struct str){big, HOSTQ_PAYLOAD_MAX + 1}, 0, &err) <
		    0);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(
		hostq_push(q, server(1), 0, (struct str){big, HOSTQ_PAYLOAD_MAX}, UINT64_MAX, &err),
		0);
	assert_int_equal(hostq_push(q, server(2), 0, STR(""), 0, &err), 0);
	struct hostq_job job;
	int64_t wait;
	assert_int_equal(hostq_take(q, START, &job, &wait, &err), 0);
	assert_int_equal(job.payload.n + (job.key == server(2) ? HOSTQ_PAYLOAD_MAX : 0),
			 HOSTQ_PAYLOAD_MAX);
	mem_free(&big);
	hostq_free(&q);
}

/* Against the plainest possible queues. */

enum { MODEL_HOSTS = 40, MODEL_URLS = 60000, MODEL_OUT = 200, LONG_URL = 3000 };

struct model_url {
	uint64_t user; /* all of it follows from the number */
	uint8_t priority;
	struct model_url *next;
};
struct model_host {
	struct model_url *first; /* in the order in which they go */
	int64_t due_us;
	unsigned out;
};
struct model_job {
	struct hostq_job job;
	struct model_url *url;
	int64_t due_before_us, due_after_us;
	uint32_t host;
};
struct model {
	struct hostq *q;
	struct hostq_options options;
	struct model_host host[MODEL_HOSTS];
	struct model_job out[MODEL_OUT];
	size_t nout;
	uint64_t pushed, urls, seed;
	int64_t now_us;
	unsigned taken, restored;
};

static struct str model_payload(uint64_t user, char *p)
{
	uint64_t seed = user * 0x9e3779b97f4a7c15u + 1;
	size_t n = user % 501 == 0 ? 60000 : dice(&seed) % LONG_URL;
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 7 + user);
	return (struct str){p, n};
}

static void model_insert(struct model_host *h, struct model_url *url, bool before_equals)
{
	struct model_url **at = &h->first;
	while (*at && ((*at)->priority < url->priority ||
		       (!before_equals && (*at)->priority == url->priority)))
		at = &(*at)->next;
	url->next = *at;
	*at = url;
}

static void model_push(struct model *m)
{
	static char payload[HOSTQ_PAYLOAD_MAX];
	uint32_t host = (uint32_t)(dice(&m->seed) % MODEL_HOSTS);
	struct model_url *url = mem_alloc(sizeof *url);
	struct err err;
	host = dice(&m->seed) % 3 == 0 ? 0 : host;
	url->user = m->pushed++;
	url->priority = (uint8_t)(dice(&m->seed) % 4);
	if (hostq_push(m->q, server(host), url->priority, model_payload(url->user, payload),
		       url->user, &err) < 0)
		fail_msg("%s", err.msg);
	model_insert(&m->host[host], url, false);
	m->urls++;
}

static void model_take(struct model *m)
{
	static char payload[HOSTQ_PAYLOAD_MAX];
	struct model_job *j = &m->out[m->nout];
	struct err err;
	int64_t wait = 0, first = INT64_MAX;
	if (m->nout == MODEL_OUT)
		return;
	int rc = hostq_take(m->q, m->now_us, &j->job, &wait, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	for (uint32_t i = 0; i < MODEL_HOSTS; i++)
		if (m->host[i].first && m->host[i].out < m->options.rule.concurrent)
			first = MIN(first, m->host[i].due_us);
	if (rc > 0) {
		assert_true(first > m->now_us);
		/* a queue may be late after something was put back, never early */
		assert_true(first == INT64_MAX ? wait == INT64_MAX : wait >= first - m->now_us);
		return;
	}
	j->host = 0;
	while (server(j->host) != j->job.key)
		j->host++;
	struct model_host *h = &m->host[j->host];
	j->url = h->first;
	assert_non_null(j->url);
	assert_int_equal(j->job.user, j->url->user);
	assert_int_equal(j->job.priority, j->url->priority);
	assert_true(str_eq(j->job.payload, model_payload(j->url->user, payload)));
	assert_true(h->due_us <= m->now_us);
	assert_true(h->out < m->options.rule.concurrent);
	h->first = j->url->next;
	h->out++;
	j->due_before_us = h->due_us;
	j->due_after_us = h->due_us = m->now_us + m->options.rule.delay_us;
	m->nout++;
	m->urls--;
	m->taken++;
}

static void model_end(struct model *m, bool put_back)
{
	if (m->nout == 0)
		return;
	size_t at = dice(&m->seed) % m->nout;
	struct model_job *j = &m->out[at];
	struct model_host *h = &m->host[j->host];
	h->out--;
	if (put_back) {
		/* jobs of one host and class may come back in another order than they went */
		int64_t until = m->now_us + (int64_t)(dice(&m->seed) % S);
		if (h->due_us == j->due_after_us)
			h->due_us = j->due_before_us;
		h->due_us = MAX(h->due_us, until);
		assert_true(hostq_put_back(m->q, &j->job, until));
		model_insert(h, j->url, true);
		m->urls++;
	} else {
		assert_true(hostq_done(m->q, &j->job, OUTCOME_OK, m->now_us));
		mem_free(&j->url);
	}
	*j = m->out[--m->nout];
}

static void model_count(struct model *m)
{
	struct hostq_counts c = counts(m->q);
	assert_int_equal(c.urls, m->urls);
	assert_int_equal(c.out, m->nout);
	for (uint32_t i = 0; i < MODEL_HOSTS; i++) {
		uint64_t n = 0;
		for (struct model_url *u = m->host[i].first; u; u = u->next)
			n++;
		assert_int_equal(hostq_waiting(m->q, server(i)), n);
	}
}

/* What is out waits again, first of its class. */
static void model_restore(struct model *m)
{
	struct err err;
	const char *path = scratch("model");
	if (hostq_save(m->q, path, m->now_us, &err) < 0)
		fail_msg("%s", err.msg);
	hostq_free(&m->q);
	while (m->nout > 0) { /* the latest start first, so that the earliest goes first */
		size_t last = 0;
		for (size_t i = 1; i < m->nout; i++)
			if (m->out[i].due_after_us >= m->out[last].due_after_us)
				last = i;
		m->host[m->out[last].host].out--;
		model_insert(&m->host[m->out[last].host], m->out[last].url, true);
		m->out[last] = m->out[--m->nout];
		m->urls++;
	}
	if (hostq_restore(&m->q, path, &m->options, m->now_us, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(counts(m->q).spilled, m->urls);
	m->restored++;
}

/* Put back is only modelled with one at a time: then its order is plain. */
static void model_run(uint64_t seed, unsigned concurrent, uint64_t memory)
{
	struct model m = {.seed = seed, .now_us = START};
	m.options = (struct hostq_options){.rule = {.delay_us = S, .concurrent = concurrent},
					   .memory = memory,
					   .folder = scratch_dir};
	m.q = make(&m.options);
	bool spilled = false;
	for (int step = 0; step < MODEL_URLS; step++) {
		unsigned what = (unsigned)(dice(&m.seed) % 100);
		bool filling = step / (MODEL_URLS / 6) % 2 == 0;
		if (what < (filling ? 50 : 5))
			model_push(&m);
		else if (what < 75)
			model_take(&m);
		else
			model_end(&m, concurrent == 1 && what >= 95);
		m.now_us += (int64_t)(dice(&m.seed) % (S / 10));
		spilled |= counts(m.q).spilled > 0;
		if (step % 5000 == 4999)
			model_count(&m);
		if (step % 20000 == 19999)
			model_restore(&m);
	}
	assert_true(spilled == (memory < 100 << 20));
	while (m.urls > 0 || m.nout > 0) {
		model_take(&m);
		model_end(&m, false);
		m.now_us += S / 4;
	}
	assert_int_equal(m.taken >= m.pushed, 1);
	assert_int_equal(counts(m.q).spilled, 0);
	hostq_free(&m.q);
}

static void random_work_goes_as_in_the_model(void **state)
{
	(void)state;
	model_run(1, 1, 1 << 20);
	model_run(2, 3, 1 << 20);
}

/* Files */

static void fill(struct hostq *q, unsigned hosts, unsigned urls)
{
	char text[64];
	for (unsigned i = 0; i < urls; i++) {
		snprintf(text, sizeof text, "http://host%u.example/%u", i % hosts, i);
		push_text(q, i % hosts, i % 3, text, i * 3);
	}
}

static void a_saved_file_has_rules_lines_and_pauses(void **state)
{
	(void)state;
	struct hostq_options o = {.rule = {.delay_us = S}, .queues = 2};
	const char *path = scratch("lines");
	struct hostq *q = make(&o);
	struct polite_rule slow = {.delay_us = 60 * S, .concurrent = 2};
	struct err err;
	push_text(q, 1, 0, "a", 0);
	push_text(q, 1, 0, "b", 0);
	hostq_set_rule(q, server(1), &slow);
	push_text(q, 2, 0, "c", 0);
	push_text(q, 4, 0, "d", 0);
	push_text(q, 3, 0, "e", 0);
	takes(q, START, "a");
	assert_int_equal(hostq_save(q, path, START + 10 * S, &err), 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, path, &o, 0, &err), 0);
	assert_int_equal(counts(q).urls, 5);
	assert_int_equal(counts(q).leftovers, 2);
	struct hostq_job c = takes(q, 0, "c");
	assert_int_equal(waits(q, 0), 50 * S);
	hostq_done(q, &c, OUTCOME_OK, S);
	struct hostq_job d = takes(q, S, "d");
	hostq_done(q, &d, OUTCOME_OK, S);
	takes(q, S, "e");
	takes(q, 50 * S, "a"); /* it was out */
	takes(q, 110 * S, "b");
	hostq_free(&q);
}

static void an_empty_file_restores_to_nothing(void **state)
{
	(void)state;
	const char *path = scratch("empty");
	struct hostq *q = make(&plain);
	struct err err;
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, path, &plain, START, &err), 0);
	assert_int_equal(counts(q).urls, 0);
	hostq_free(&q);
	assert_int_equal(hostq_restore(&q, scratch("not there"), &plain, START, &err), 1);
	assert_null(q);
}

/* Not synced, because there are thousands. */
static void write_file(const char *path, struct str bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes.p, bytes.n), bytes.n);
	close(fd);
}

static void a_damaged_or_cut_file_is_refused_with_its_place(void **state)
{
	(void)state;
	const char *path = scratch("whole"), *bad = scratch("bad");
	struct hostq *q = make(&plain);
	struct err err;
	CLEANUP(buf_free) struct buf file = BUF_INIT(1 << 20);
	fill(q, 5, 40);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	assert_int_equal(hostq_format.verify(path, &err), 0);
	hostq_free(&q);
	assert_int_equal(file_slurp(path, &file, &err), 0);
	for (size_t i = 0; i < file.n; i++) {
		if (i >= 12 && i < 16)
			continue; /* spare bytes */
		file.p[i] ^= 0x10;
		write_file(bad, buf_str(&file));
		assert_true(hostq_restore(&q, bad, &plain, START, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, bad));
		assert_null(q);
		file.p[i] ^= 0x10;
	}
	for (size_t n = 0; n < file.n; n++) {
		write_file(bad, str_head(buf_str(&file), n));
		assert_true(hostq_restore(&q, bad, &plain, START, &err) < 0);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
}

static void emit(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void dump_shows_the_queues(void **state)
{
	(void)state;
	const char *path = scratch("dump");
	struct hostq *q = make(&plain);
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct err err;
	fill(q, 2, 10);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	assert_int_equal(hostq_format.print(path, emit, &out, &err), 0);
	assert_non_null(strstr(out.p, "0a000000: 5 URLs in "));
	assert_non_null(strstr(out.p, "0a000001: 5 URLs in "));
	hostq_free(&q);
}

#ifdef GARNER_FAULTS
/* Takes everything; returns the sum of users. */
static uint64_t drain(struct hostq *q, uint64_t *ret_n)
{
	uint64_t sum = 0;
	int64_t now = START, wait;
	struct hostq_job job;
	struct err err;
	*ret_n = 0;
	for (int rc; (rc = hostq_take(q, now, &job, &wait, &err)) == 0 || wait < INT64_MAX;) {
		if (rc != 0) {
			now += wait;
			continue;
		}
		sum += job.user;
		++*ret_n;
		hostq_done(q, &job, OUTCOME_OK, now);
	}
	return sum;
}

static void a_full_disk_refuses_the_url_and_keeps_the_others(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[700];
	struct err err;
	uint64_t sum = 0, n = 0, refused = 0, got;
	memset(text, 'x', sizeof text);
	for (uint64_t i = 0; i < 10000; i++) {
		if (i == 3000)
			assert_int_equal(fault_arm("file.write=short@2+", &err), 0);
		if (i == 6000)
			assert_int_equal(fault_arm(NULL, &err), 0);
		if (hostq_push(q, server((uint32_t)(i % 20)), 0, (struct str){text, sizeof text}, i,
			       &err) == 0) {
			sum += i;
			n++;
		} else {
			assert_int_equal(err.code, ERR_SYSTEM);
			refused++;
		}
	}
	assert_true(refused > 100 && refused < 3001);
	assert_int_equal(counts(q).urls, n);
	assert_true(counts(q).spilled > 0);
	assert_true(drain(q, &got) == sum && got == n);
	hostq_free(&q);
}

static void what_cannot_be_read_back_is_put_off_and_not_lost(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[700];
	struct err err;
	struct hostq_job job;
	int64_t wait;
	uint64_t sum = 0, n = 5000, got;
	memset(text, 'x', sizeof text);
	for (uint64_t i = 0; i < n; i++, sum += i - 1)
		assert_int_equal(hostq_push(q, server((uint32_t)(i % 4)), 0,
					    (struct str){text, sizeof text}, i, &err),
				 0);
	assert_int_equal(fault_arm("file.read=eio@1+", &err), 0);
	int failed = 0;
	uint64_t taken = 0;
	for (int rc; (rc = hostq_take(q, START, &job, &wait, &err)) <= 0;) {
		if (rc == 0) {
			sum -= job.user;
			taken++;
			hostq_done(q, &job, OUTCOME_OK, START);
			continue;
		}
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_non_null(strstr(err.msg, "0a0000"));
		failed++;
	}
	assert_int_equal(failed, 4);
	assert_int_equal(wait, US_PER_MIN);
	assert_int_equal(fault_arm(NULL, &err), 0);
	assert_int_equal(counts(q).urls, n - taken);
	assert_true(drain(q, &got) == sum && got == n - taken);
	hostq_free(&q);
}

static void a_failed_save_leaves_the_old_file(void **state)
{
	(void)state;
	const char *path = scratch("old");
	const char *faults[] = {"file.open/old=enospc", "file.write/old=short", "file.sync/old=eio",
				"file.rename/old=enospc"};
	struct hostq *q = make(&plain);
	struct err err;
	fill(q, 5, 10);
	assert_int_equal(hostq_save(q, path, START, &err), 0);
	fill(q, 5, 10);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		assert_int_equal(fault_arm(faults[i], &err), 0);
		assert_true(hostq_save(q, path, START, &err) < 0);
		assert_int_equal(fault_fired(), 1);
		assert_int_equal(fault_arm(NULL, &err), 0);
		struct hostq *old = NULL;
		assert_int_equal(hostq_restore(&old, path, &plain, START, &err), 0);
		assert_int_equal(counts(old).urls, 10);
		hostq_free(&old);
		assert_int_equal(access(scratch("old.new"), F_OK), -1);
	}
	assert_int_equal(counts(q).urls, 20);
	hostq_free(&q);
}
#endif

static void without_a_folder_the_budget_is_the_end(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1};
	struct hostq *q = make(&o);
	char text[1000];
	struct err err;
	memset(text, 'x', sizeof text);
	unsigned n = 0;
	while (n < 5000 &&
	       hostq_push(q, server(n % 9), 0, (struct str){text, sizeof text}, n, &err) == 0)
		n++;
	assert_in_range(n, 800, 1048);
	assert_non_null(strstr(err.msg, "not taken"));
	assert_int_equal(counts(q).urls, n);
	hostq_free(&q);
}

/* The file of what did not fit does not grow for ever. */
static void space_in_the_file_is_used_again(void **state)
{
	(void)state;
	struct hostq_options o = {.memory = 1 << 20, .folder = scratch_dir};
	struct hostq *q = make(&o);
	char text[2000];
	struct err err;
	struct hostq_job job;
	int64_t wait, now = START;
	uint64_t next = 0, expected = 0;
	memset(text, 'x', sizeof text);
	for (int round = 0; round < 60; round++) { /* 120 MB through a queue of 6 MB */
		for (int i = 0; i < 1000; i++, next++)
			assert_int_equal(hostq_push(q, server(1), 0,
						    (struct str){text, sizeof text}, next, &err),
					 0);
		for (int i = 0; round >= 3 && i < 1000; i++, expected++) {
			assert_int_equal(hostq_take(q, now, &job, &wait, &err), 0);
			assert_int_equal(job.user, expected);
			hostq_done(q, &job, OUTCOME_OK, now);
		}
		assert_true(counts(q).disk < 40 << 20);
	}
	hostq_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_server_two_urls_the_second_waits_its_delay),
		cmocka_unit_test(an_empty_queue_still_keeps_its_delay),
		cmocka_unit_test(urgent_ones_go_first_and_equals_in_order),
		cmocka_unit_test(the_queue_that_waited_longest_goes_first),
		cmocka_unit_test(as_many_are_out_as_the_rule_says),
		cmocka_unit_test(a_queue_can_have_a_rule_of_its_own),
		cmocka_unit_test(a_job_is_done_once),
		cmocka_unit_test(what_is_put_back_goes_first_and_costs_no_delay),
		cmocka_unit_test(troubles_make_a_queue_wait_longer_and_answers_shorter),
		cmocka_unit_test(what_does_not_fit_is_left_over_and_moves_up),
		cmocka_unit_test(without_lengths_nothing_is_left_over_or_rejected),
		cmocka_unit_test(an_address_that_becomes_known_takes_the_urls_along),
		cmocka_unit_test(too_long_a_payload_is_refused_and_an_empty_one_is_fine),
		cmocka_unit_test(random_work_goes_as_in_the_model),
		cmocka_unit_test(a_saved_file_has_rules_lines_and_pauses),
		cmocka_unit_test(an_empty_file_restores_to_nothing),
		cmocka_unit_test(a_damaged_or_cut_file_is_refused_with_its_place),
		cmocka_unit_test(dump_shows_the_queues),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_full_disk_refuses_the_url_and_keeps_the_others),
		cmocka_unit_test(what_cannot_be_read_back_is_put_off_and_not_lost),
		cmocka_unit_test(a_failed_save_leaves_the_old_file),
#endif
		cmocka_unit_test(without_a_folder_the_budget_is_the_end),
		cmocka_unit_test(space_in_the_file_is_used_again),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
