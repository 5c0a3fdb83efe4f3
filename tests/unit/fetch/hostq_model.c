/* Host queues against the plainest possible ones, with random work. */
#include "../dice.h"
#include "hostq_unit.h"

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
	unsigned taken;
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

/* Whether a host may be asked now. */
static bool model_is_ready(const struct model *m, const struct model_host *h)
{
	return h->first && h->out < m->options.rule.concurrent && h->due_us <= m->now_us;
}

/* With `urgent`: no other host that is ready has a more urgent URL, or has waited longer for one
 * that is as urgent. What is merged with another has waited for the later one of the two times
 * here, and is a queue of its own for a while there, so then only classes are compared. */
static void model_check_turn(const struct model *m, const struct model_host *h)
{
	for (uint32_t i = 0; m->options.urgent && i < MODEL_HOSTS; i++) {
		const struct model_host *other = &m->host[i];
		if (!model_is_ready(m, other))
			continue;
		assert_true(h->first->priority <= other->first->priority);
		if (m->options.rule.concurrent == 1 && h->first->priority == other->first->priority)
			assert_true(h->due_us <= other->due_us);
	}
}

/* A host without URLs is forgotten when its delay is over; one that comes anew goes first. */
static void model_forget(struct model *m)
{
	for (uint32_t i = 0; i < MODEL_HOSTS; i++)
		if (!m->host[i].first && m->host[i].out == 0 && m->host[i].due_us <= m->now_us)
			m->host[i].due_us = 0;
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
	model_forget(m);
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
	assert_true(j->host < MODEL_HOSTS);
	struct model_host *h = &m->host[j->host];
	j->url = h->first;
	assert_non_null(j->url);
	assert_int_equal(j->job.user, j->url->user);
	assert_int_equal(j->job.priority, j->url->priority);
	assert_true(str_eq(j->job.payload, model_payload(j->url->user, payload)));
	assert_true(model_is_ready(m, h));
	model_check_turn(m, h);
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

/* One host turns out to be another. */
static void model_rekey(struct model *m)
{
	uint32_t from = (uint32_t)(dice(&m->seed) % MODEL_HOSTS);
	uint32_t to = (uint32_t)(dice(&m->seed) % MODEL_HOSTS);
	struct model_host *a = &m->host[from], *b = &m->host[to];
	struct err err;
	if (hostq_rekey(m->q, server(from), server(to), &err) < 0)
		fail_msg("%s", err.msg);
	if (from == to)
		return;
	for (struct model_url *url = a->first, *next; url; url = next) {
		next = url->next;
		model_insert(b, url, false);
	}
	for (size_t i = 0; i < m->nout; i++)
		m->out[i].host = m->out[i].host == from ? to : m->out[i].host;
	b->out += a->out;
	b->due_us = MAX(a->due_us, b->due_us);
	*a = (struct model_host){0};
}

/* Where jobs are put back one at a time goes out, and no host becomes another: then the order is
 * plain. */
static void model_run(uint64_t seed, unsigned concurrent, bool urgent)
{
	enum { MEMORY = 1 << 20 };
	struct model m = {.seed = seed, .now_us = START};
	m.options = (struct hostq_options){.rule = {.delay_us = S, .concurrent = concurrent},
					   .urgent = urgent,
					   .memory = MEMORY,
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
		if (concurrent > 1 && step % 300 == 299)
			model_rekey(&m);
		if (step % 5000 == 4999)
			model_count(&m);
	}
	assert_true(spilled);
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
	model_run(1, 1, false);
	model_run(2, 3, false);
}

static void urgent_queues_go_first_as_in_the_model(void **state)
{
	(void)state;
	model_run(3, 1, true);
	model_run(4, 3, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_work_goes_as_in_the_model),
		cmocka_unit_test(urgent_queues_go_first_as_in_the_model),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
