/* The URL feed against a model of document 003's slots: a doc index and spiders that are played
 * here, and a clock that only the test moves. */
#include "../dice.h"
#include "../logged.h"
#include "../scratch.h"
#include "../unit.h"

#include "base/table.h"
#include "fetch/robot.h"
#include "fetch/spider/url_feed.h"
#include "role/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SPIDERS = 2, URLS = 240, HOSTS = 9, CONCURRENT = 2 };
#define MS US_PER_MS
#define STEP (1 * MS)
#define DELAY (600 * MS) /* longer than it takes to connect again */
#define STATUS (3 * US_PER_S)

/* What a spider has, as the document sees it. */
struct model_url {
	char trans[64];
	unsigned doc, host, spider;
	int64_t word_us; /* the last one: sent, or WORKING */
	bool is_silent;  /* nobody will hear of it */
};

struct played_spider {
	char address[300];
	int listen_fd, fd; /* -1: closed, none */
	struct buf in;
	int64_t away_us; /* since when; 0: it is connected */
	int64_t back_us; /* closed until then; 0: it listens */
	int64_t long_us; /* when it last came back after it had been away for long */
	int64_t mute_us; /* since when it was hung up on and said nothing; 0: it was not */
	char last[64];   /* TRANS_ID, in spider_does_all() */
};

struct world {
	struct loop *loop;
	struct config *config;
	struct policy *policy;
	struct dns *dns;
	struct url_feed *feed;
	struct docindex index;
	const struct docindex_host *host;
	struct played_spider spider[SPIDERS];
	/* The doc index. */
	uint64_t wanted;
	struct buf rejects; /* of the last request: " host host " */
	unsigned next;
	unsigned done[URLS + 1], outcome[URLS + 1];
	unsigned ndone; /* URLs that have an outcome */
	unsigned urls;  /* that there are */
	const char *(*url)(unsigned doc);
	/* The model. */
	struct model_url out[URLS];
	size_t nout;
	int64_t started_us[HOSTS]; /* last */
	unsigned of_spider[HOSTS]; /* + 1; 0: none yet */
	struct buf seen;           /* all TRANS_IDs, with blanks between */
	uint64_t seed;
};

static uint64_t roll(struct world *w, uint64_t sides)
{
	return dice(&w->seed) % sides;
}

static struct world *world_of(struct docindex *d)
{
	return LIST_OF(struct world, d, index);
}

/* The doc index. */

static void play_want(struct docindex *d, uint64_t count, const struct str *rejects, size_t n)
{
	struct world *w = world_of(d);
	assert_int_equal(w->wanted, 0);
	assert_true(count > 0);
	w->wanted = count;
	buf_clear(&w->rejects);
	buf_add_text(&w->rejects, " ");
	for (size_t i = 0; i < n; i++)
		buf_printf(&w->rejects, STR_FMT " ", STR_ARG(rejects[i]));
}

static void play_done(struct docindex *d, struct str doc_id, struct str url, unsigned outcome)
{
	struct world *w = world_of(d);
	uint64_t doc;
	assert_true(str_u64(doc_id, &doc) && doc >= 1 && doc <= w->urls);
	assert_true(str_is(url, w->url((unsigned)doc)));
	w->ndone += w->done[doc]++ == 0;
	w->outcome[doc] = outcome;
}

static uint64_t play_waiting(const struct docindex *d)
{
	(void)d;
	return 0;
}

static void give_url(struct world *w, unsigned doc)
{
	char id[16];
	snprintf(id, sizeof id, "%u", doc);
	w->host->url(w->host->ctx, str_of(id), str_of(w->url(doc)));
}

/* Answers the request that is there. */
static void index_play(struct world *w, unsigned most)
{
	unsigned given = 0;
	if (!w->wanted)
		return;
	for (; given < MIN(most, w->wanted) && w->next <= w->urls; given++, w->next++) {
		give_url(w, w->next);
		if (given % 7 == 3)
			give_url(w, w->next); /* lent again after a connection was lost */
	}
	w->wanted = 0;
	w->host->have(w->host->ctx, given, US_PER_S);
}

/* Spiders. */

static void spider_listen(struct played_spider *s)
{
	struct err err;
	assert_int_equal(listen_open(s->address, &s->listen_fd, &err), 0);
	s->back_us = 0;
}

static void model_forget(struct world *w, size_t i)
{
	w->out[i] = w->out[--w->nout];
}

static void spider_cut(struct world *w, unsigned number)
{
	struct played_spider *s = &w->spider[number];
	if (s->fd < 0)
		return;
	close(s->fd);
	s->fd = -1;
	s->away_us = loop_now_us(w->loop);
	buf_clear(&s->in);
	for (size_t i = w->nout; i-- > 0;)
		if (w->out[i].spider == number)
			model_forget(w, i);
}

/* It was away, or mute, since then, and is not any more. */
static void model_back(struct world *w, struct played_spider *s, int64_t since_us)
{
	if (since_us && loop_now_us(w->loop) - since_us >= STATUS - 2 * STEP)
		s->long_us = loop_now_us(w->loop);
}

static void spider_say(struct played_spider *s, const char *trans, const char *word)
{
	char line[128];
	int n = snprintf(line, sizeof line, "%s %s\n", trans, word);
	if (s->fd >= 0)
		assert_int_equal(send(s->fd, line, (size_t)n, MSG_NOSIGNAL), n);
}

/* What is out by now: a URL without a word for so long may be sent again. */
static void model_pass_time(struct world *w)
{
	int64_t now_us = loop_now_us(w->loop);
	for (size_t i = w->nout; i-- > 0;)
		if (now_us - w->out[i].word_us >= STATUS - STEP)
			model_forget(w, i);
}

/* Whether a host may have been given to another spider: its own was away for long. */
static bool model_may_move(const struct world *w, unsigned host)
{
	const struct played_spider *was = &w->spider[w->of_spider[host] - 1];
	int64_t now_us = loop_now_us(w->loop);
	return was->long_us > w->started_us[host] ||
	       (was->away_us && now_us - was->away_us >= STATUS - STEP) ||
	       (was->mute_us && now_us - was->mute_us >= STATUS - STEP);
}

static void model_check(struct world *w, const struct model_url *u)
{
	int64_t now_us = loop_now_us(w->loop);
	unsigned same_host = 0;
	char trans[80];
	for (size_t i = 0; i < w->nout; i++) {
		if (w->out[i].doc == u->doc)
			fail_msg("%u is out at %u as %s since %d ms, and sent to %u as %s", u->doc,
				 w->out[i].spider, w->out[i].trans,
				 (int)((now_us - w->out[i].word_us) / MS), u->spider, u->trans);
		same_host += w->out[i].host == u->host;
	}
	assert_true(same_host < CONCURRENT);
	if (w->started_us[u->host])
		assert_true(now_us - w->started_us[u->host] >= DELAY - STEP);
	snprintf(trans, sizeof trans, " %s ", u->trans);
	assert_null(w->seen.n ? strstr(w->seen.p, trans) : NULL); /* a new one each time */
	buf_add_text(&w->seen, trans);
	if (w->of_spider[u->host] && w->of_spider[u->host] != u->spider + 1)
		assert_true(model_may_move(w, u->host));
	assert_int_equal(w->done[u->doc], 0);
}

static void spider_decide(struct world *w, struct model_url *u)
{
	struct played_spider *s = &w->spider[u->spider];
	unsigned fate = (unsigned)roll(w, 100);
	if (fate < 8) {
		u->is_silent = true;
		return;
	}
	if (fate < 12) {
		spider_say(s, "nothing", "at all");
		spider_say(s, "900.7", "DONE");
		return;
	}
	model_back(w, s, s->mute_us);
	s->mute_us = 0;
	if (fate < 30 && loop_now_us(w->loop) - u->word_us < STATUS - 2 * STEP) {
		spider_say(s, u->trans, "WORKING");
		u->word_us = loop_now_us(w->loop);
		return;
	}
	spider_say(s, u->trans, fate < 60 ? "DONE ok" : fate < 65 ? "DONE temporary" : "DONE");
	if (fate < 80)
		spider_say(s, u->trans, "DONE"); /* late */
	model_forget(w, (size_t)(u - w->out));
}

static void spider_take(struct world *w, unsigned number, struct str line)
{
	struct model_url u = {.spider = number, .word_us = loop_now_us(w->loop)};
	char ip[64], url[128], want[64];
	char text[400];
	snprintf(text, sizeof text, STR_FMT, STR_ARG(line));
	assert_int_equal(sscanf(text, "%63s %u %63s %127s", u.trans, &u.doc, ip, url), 4);
	assert_true(u.doc >= 1 && u.doc <= w->urls);
	assert_string_equal(url, w->url(u.doc));
	u.host = u.doc % HOSTS;
	snprintf(want, sizeof want, "10.0.0.%u", u.host + 1);
	assert_string_equal(ip, want);
	model_pass_time(w);
	model_check(w, &u);
	w->started_us[u.host] = u.word_us;
	w->of_spider[u.host] = number + 1;
	w->out[w->nout++] = u;
}

/* Whether there is something to accept or to read. Asking is cheap: an accept4() that finds nobody
 * makes a socket and throws it away, and almost all find nobody. */
static bool spider_is_asked(const struct played_spider *s)
{
	struct pollfd p = {.fd = s->fd >= 0 ? s->fd : s->listen_fd, .events = POLLIN};
	return p.fd >= 0 && poll(&p, 1, 0) == 1;
}

static void spider_read(struct world *w, unsigned number)
{
	struct played_spider *s = &w->spider[number];
	char piece[4096];
	ssize_t n = -1;
	if (!spider_is_asked(s))
		return;
	if (s->fd < 0) {
		s->fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (s->fd >= 0) {
			model_back(w, s, s->away_us);
			s->away_us = 0;
		}
	}
	while (s->fd >= 0 && (n = recv(s->fd, piece, sizeof piece, 0)) > 0)
		buf_add(&s->in, piece, (size_t)n);
	struct str rest = buf_str(&s->in);
	size_t at;
	while ((at = str_find_byte(rest, '\n')) < rest.n) {
		spider_take(w, number, str_head(rest, at));
		rest = str_from(rest, at + 1);
	}
	if (rest.n)
		memmove(s->in.p, rest.p, rest.n);
	s->in.n = rest.n;
	if (n == 0) { /* it was silent for too long */
		spider_cut(w, number);
		s->mute_us = loop_now_us(w->loop);
	}
}

static void spider_play(struct world *w, unsigned number)
{
	struct played_spider *s = &w->spider[number];
	int64_t now_us = loop_now_us(w->loop);
	if (s->back_us && now_us >= s->back_us)
		spider_listen(s);
	spider_read(w, number);
	model_pass_time(w);
	if (roll(w, 4000) == 0) {
		spider_cut(w, number);
		if (roll(w, 2)) { /* and stays away */
			close(s->listen_fd);
			s->listen_fd = -1;
			s->back_us = now_us + (int64_t)roll(w, 10 * US_PER_S) + 1;
		}
	}
	for (size_t i = w->nout; i-- > 0;)
		if (w->out[i].spider == number && !w->out[i].is_silent && s->fd >= 0 &&
		    roll(w, 200) == 0)
			spider_decide(w, &w->out[i]);
}

/* The world. */

static void world_new(struct world *w, int64_t status_us, uint64_t queues, uint64_t length,
		      unsigned urls, const char *(*url)(unsigned))
{
	static const struct docindex_ops ops = {play_want, play_done, play_waiting, NULL};
	static const char *const sets[] = {"robot.networks=10.0.0.0/8 2001:db8::/32",
					   "robot.dns_servers=127.0.0.1:9"};
	static const struct config_section *const sections[] = {&robot_section};
	static const char *addresses[SPIDERS];
	struct err err;
	logged_start();
	*w = (struct world){.index = {&ops},
			    .rejects = BUF_INIT(1 << 20),
			    .seen = BUF_INIT(16 << 20),
			    .next = 1,
			    .urls = urls,
			    .url = url};
	assert_int_equal(loop_new(&w->loop,
				  &(struct loop_options){.manual = true, .start_us = US_PER_H},
				  &err),
			 0);
	assert_int_equal(config_load(&w->config, sections, 1,
				     &(struct config_input){.sets = sets, .nsets = 2}, NULL, &err),
			 0);
	const struct robot_section_conf *conf = config_get(w->config, &robot_section);
	assert_int_equal(policy_new(&w->policy, &conf->robot.networks, &err), 0);
	assert_int_equal(dns_new(&w->dns, w->loop, &conf->dns, w->policy, &err), 0);
	for (unsigned i = 0; i < SPIDERS; i++) {
		struct played_spider *s = &w->spider[i];
		char name[16];
		snprintf(name, sizeof name, "s%u", i);
		snprintf(s->address, sizeof s->address, "unix:%s", scratch(name));
		addresses[i] = s->address;
		s->fd = -1;
		s->in = BUF_INIT(16 << 20);
		spider_listen(s);
	}
	const struct url_feed_options o = {
		.loop = w->loop,
		.dns = w->dns,
		.queues = {.rule = {.delay_us = DELAY, .concurrent = CONCURRENT},
			   .queues = (uint32_t)queues,
			   .length = length,
			   .memory = 1 << 20,
			   .turn = UINT32_MAX - 5}, /* they wrap around */
		.max_per_address = 20,
		.rejects_max = 2 * HOSTS,
		.status_us = status_us,
		.status_words = true,
		.spiders = addresses,
		.nspiders = SPIDERS,
	};
	assert_int_equal(url_feed_new(&w->feed, &o, &err), 0);
	w->host = url_feed_host(w->feed);
	url_feed_start(w->feed, &w->index);
}

static void world_step(struct world *w)
{
	loop_step(w->loop, loop_now_us(w->loop) + STEP);
}

static void world_free(struct world *w)
{
	url_feed_free(&w->feed);
	for (unsigned i = 0; i < SPIDERS; i++) {
		if (w->spider[i].fd >= 0)
			close(w->spider[i].fd);
		if (w->spider[i].listen_fd >= 0)
			close(w->spider[i].listen_fd);
		buf_free(&w->spider[i].in);
	}
	dns_free(&w->dns);
	policy_free(&w->policy);
	config_free(&w->config);
	loop_free(&w->loop);
	buf_free(&w->rejects);
	buf_free(&w->seen);
}

static const char *url_of_ten(unsigned doc)
{
	static char text[64];
	snprintf(text, sizeof text, "http://10.0.0.%u/%u", doc % HOSTS + 1, doc);
	return text;
}

static void model_run(uint64_t seed)
{
	struct world *w = mem_alloc(sizeof *w);
	world_new(w, STATUS, 5, 20, URLS, url_of_ten);
	w->seed = seed;
	for (unsigned i = 0; w->ndone < URLS; i++) {
		assert_true(i < 2000000); /* half an hour of its time */
		world_step(w);
		index_play(w, 50);
		for (unsigned s = 0; s < SPIDERS; s++)
			spider_play(w, s);
	}
	for (unsigned i = 1; i <= URLS; i++)
		assert_int_equal(w->done[i], 1);
	struct url_feed_counts c;
	url_feed_count(w->feed, &c);
	assert_int_equal(c.urls, URLS);
	assert_int_equal(c.done, URLS);
	assert_true(c.duplicates > 0 && c.late > 0 && c.unknown > 0 && c.garbage > 0);
	assert_true(c.timeouts > 0 && c.losses > 0);
	assert_int_equal(c.waiting + c.out, 0);
	world_free(w);
	mem_free(&w);
}

static void the_slots_of_document_003_hold_under_random_losses(void **state)
{
	(void)state;
	uint64_t rounds = unit_thorough() ? 100 : 3;
	for (uint64_t i = 1; i <= rounds; i++)
		model_run(i);
}

/* Reject lists. Two names on one server: addresses of one IPv6 network count as one. */
static const char *url_of_six(unsigned doc)
{
	static char text[64];
	snprintf(text, sizeof text, "http://[2001:db8:0:%u::%u]/%u", doc <= 30 ? 1u : 2u,
		 doc % 2 + 1, doc);
	return text;
}

static void what_is_full_or_shares_an_address_with_too_many_is_rejected(void **state)
{
	struct world *w = mem_alloc(sizeof *w);
	(void)state;
	world_new(w, STATUS, 100, 25, 40, url_of_six);
	world_step(w);
	assert_string_equal(buf_text(&w->rejects), " ");
	index_play(w, 22); /* above max_per_address, below the length of a queue */
	world_step(w);
	assert_non_null(strstr(buf_text(&w->rejects), " [2001:db8:0:1::1] "));
	assert_non_null(strstr(buf_text(&w->rejects), " [2001:db8:0:1::2] "));
	index_play(w, 1); /* a new batch: the maps are forgotten */
	world_step(w);
	assert_string_equal(buf_text(&w->rejects), " ");
	index_play(w, 12); /* 30 of the first server: its queue is full; 5 of the second */
	world_step(w);
	assert_non_null(strstr(buf_text(&w->rejects), " [2001:db8:0:1::1] "));
	assert_non_null(strstr(buf_text(&w->rejects), " [2001:db8:0:1::2] "));
	assert_null(strstr(buf_text(&w->rejects), "2001:db8:0:2:"));
	world_free(w);
	mem_free(&w);
}

/* Twenty names of one server. */
static const char *url_of_many(unsigned doc)
{
	static char text[64];
	snprintf(text, sizeof text, "http://[2001:db8:0:1::%u]/%u", doc % 20, doc);
	return text;
}

static void a_reject_list_that_is_cut_is_counted_and_told_once(void **state)
{
	struct world *w = mem_alloc(sizeof *w);
	struct url_feed_counts c;
	(void)state;
	world_new(w, STATUS, 100, 25, 60, url_of_many);
	world_step(w);
	index_play(w, 30);
	world_step(w);
	url_feed_count(w->feed, &c);
	assert_int_equal(c.unlisted, 2);
	assert_int_equal(logged_times("reject list too long"), 1);
	index_play(w, 30);
	world_step(w);
	url_feed_count(w->feed, &c);
	assert_int_equal(c.unlisted, 4);
	assert_int_equal(logged_times("reject list too long"), 1);
	world_free(w);
	mem_free(&w);
}

static const char *url_of_none(unsigned doc)
{
	static const char *const urls[] = {
		"",         "http://192.168.1.1/", "http://nothing.invalid/", "http:///",
		"mailto:x", "http://10.0.0.1/"};
	return urls[doc];
}

static void what_has_no_address_is_reported_and_not_sent(void **state)
{
	struct world *w = mem_alloc(sizeof *w);
	(void)state;
	world_new(w, STATUS, 100, 25, 4, url_of_none);
	for (unsigned i = 0; i < 10; i++) {
		world_step(w);
		index_play(w, 10);
	}
	assert_int_equal(w->ndone, 4);
	assert_int_equal(w->outcome[1], OUTCOME_ADDRESS);
	assert_int_equal(w->outcome[2], OUTCOME_SITE_PERMANENT);
	assert_int_equal(w->outcome[3], OUTCOME_PERMANENT);
	assert_int_equal(w->outcome[4], OUTCOME_PERMANENT);
	world_free(w);
	mem_free(&w);
}

/* All of them are more than the queues hold. */
static const char *url_of_many_bytes(unsigned doc)
{
	static char text[DOCINDEX_URL_MAX];
	snprintf(text, sizeof text, "http://10.0.0.%u/%0*u", doc % HOSTS + 1, 7800, doc);
	return text;
}

/* Says DONE of all that has come, or nothing. */
static void spider_does_all(struct world *w, unsigned number, bool says)
{
	struct played_spider *s = &w->spider[number];
	char piece[4096];
	ssize_t n = -1;
	if (!spider_is_asked(s))
		return;
	if (s->fd < 0)
		s->fd = accept4(s->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	while (s->fd >= 0 && (n = recv(s->fd, piece, sizeof piece, 0)) > 0)
		buf_add(&s->in, piece, (size_t)n);
	struct str rest = buf_str(&s->in), line;
	size_t at;
	while ((at = str_find_byte(rest, '\n')) < rest.n) {
		line = str_head(rest, at);
		snprintf(s->last, sizeof s->last, STR_FMT,
			 STR_ARG(str_head(line, str_find_byte(line, ' '))));
		if (says)
			spider_say(s, s->last, "DONE");
		rest = str_from(rest, at + 1);
	}
	if (rest.n)
		memmove(s->in.p, rest.p, rest.n);
	s->in.n = rest.n;
	if (n == 0)
		spider_cut(w, number);
}

static void what_the_queues_have_no_room_for_waits_and_nothing_more_is_asked_for(void **state)
{
	struct world *w = mem_alloc(sizeof *w);
	bool stuck = false;
	(void)state;
	world_new(w, STATUS, 100, 1000, URLS, url_of_many_bytes);
	for (unsigned i = 0; w->ndone < URLS; i++) {
		assert_true(i < 100000);
		loop_step(w->loop, loop_now_us(w->loop) + 50 * MS);
		stuck |= logged_times("requests for URLs paused") > 0;
		if (!stuck || w->ndone > URLS / 2)
			index_play(w, URLS);
		else
			assert_int_equal(w->wanted, 0);
		for (unsigned s = 0; s < SPIDERS; s++)
			spider_does_all(w, s, true);
	}
	for (unsigned i = 1; i <= URLS; i++)
		assert_int_equal(w->done[i], 1);
	assert_int_equal(logged_times("requests for URLs paused"), 1);
	world_free(w);
	mem_free(&w);
}

/* So many hosts that each spider has some, wherever it listens. */
static const char *url_of_two_nets(unsigned doc)
{
	static char text[64];
	snprintf(text, sizeof text, "http://10.0.%d.%u/%u", doc > URLS / 2, doc % 60 + 1, doc);
	return text;
}

/* As a process that was stopped: the system accepts for it. Connections that are made again within
 * seconds are not the end of its silence. When it wakes it gets URLs again. */
static void a_spider_that_accepts_and_says_nothing_is_given_up_until_it_says_something(void **state)
{
	struct world *w = mem_alloc(sizeof *w);
	struct url_feed_counts c;
	(void)state;
	world_new(w, 2 * US_PER_MIN, 100, 100, URLS, url_of_two_nets);
	for (unsigned i = 0; i < 6000; i++) { /* 20 minutes */
		loop_step(w->loop, loop_now_us(w->loop) + 200 * MS);
		index_play(w, w->next <= URLS / 2 ? URLS / 2 : 0);
		for (unsigned s = 0; s < SPIDERS; s++)
			spider_does_all(w, s, s == 1);
	}
	assert_int_equal(w->ndone, URLS / 2);
	url_feed_count(w->feed, &c);
	assert_true(c.moved > 0);
	assert_int_equal(c.hung_up, 1);
	spider_say(&w->spider[0], w->spider[0].last, "DONE"); /* late */
	for (unsigned i = 0; i < 1000 && w->ndone < URLS; i++) {
		loop_step(w->loop, loop_now_us(w->loop) + 200 * MS);
		index_play(w, URLS);
		spider_does_all(w, 0, true);
		spider_does_all(w, 1, false);
	}
	assert_int_not_equal(w->ndone, URLS / 2);
	world_free(w);
	mem_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_spider_that_accepts_and_says_nothing_is_given_up_until_it_says_something),
		cmocka_unit_test(
			what_the_queues_have_no_room_for_waits_and_nothing_more_is_asked_for),
		cmocka_unit_test(the_slots_of_document_003_hold_under_random_losses),
		cmocka_unit_test(what_is_full_or_shares_an_address_with_too_many_is_rejected),
		cmocka_unit_test(a_reject_list_that_is_cut_is_counted_and_told_once),
		cmocka_unit_test(what_has_no_address_is_reported_and_not_sent),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
