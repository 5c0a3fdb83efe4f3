/* Spiders: connections, URLs that are out, and which spider has which queue.
 *
 * A queue belongs to one spider as long as that spider lives, also across a restart of this
 * process: the spider knows when the server was last asked. While a spider is away, its queues are
 * held and the URLs that were out are first in them again; when it is back they go on. A spider
 * that stays away longer than the time allowed for a URL without news is given up, and its queues
 * go to the others. It may still have fetches under way, whose results are lost; after that much
 * silence every spider that follows document 003 has ended them. A spider that is connected but
 * says nothing for twice that time while URLs are out is disconnected: its machine may be down, or
 * its process stopped, and the system accepts connections for it. From then on it counts as away
 * until it says something. */
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "fetch/spider/spider_status.h"
#include "fetch/spider/url_feed_inner.h"

#include <endian.h>

enum {
	WRONG_MAX = 100, /* lines in a row that say nothing */
	LINES_MAX = 64 << 20,
	HOMES_MAX = 1 << 20,
};

static const struct conn_limits spider_limits = {
	.line_max = SPIDER_LINE_MAX,
	.high_mark = 1 << 20,
	.queue_max = LINES_MAX,
	.frame_us = US_PER_MIN,
};

/* URLs that are out. */

static void overdue_arm(struct url_feed *f)
{
	const struct feed_sent *first = LIST_FIRST(struct feed_sent, &f->by_time, by_time);
	if (first)
		loop_timer_in(f->o.loop, &f->overdue, first->until_us - loop_now_us(f->o.loop));
	else
		loop_timer_stop(&f->overdue);
}

static struct feed_sent *sent_of(struct url_feed *f, uint32_t slot)
{
	while (slot >= f->nsent)
		*VEC_PUSH(f->sent, f->nsent, f->sent_room) = NULL;
	if (!f->sent[slot]) {
		f->sent[slot] = mem_alloc(sizeof(struct feed_sent));
		*f->sent[slot] = (struct feed_sent){.slot = slot};
	}
	return f->sent[slot];
}

static void sent_renew(struct url_feed *f, struct feed_sent *s)
{
	bool was_first = f->by_time.next == &s->by_time;
	list_remove(&s->by_time);
	s->until_us = loop_now_us(f->o.loop) + f->o.status_us;
	list_append(&f->by_time, &s->by_time);
	if (was_first || f->by_time.next == &s->by_time)
		overdue_arm(f);
}

/* Stops waiting for it. The timer may fire early and then finds nothing. */
static void sent_forget(struct feed_sent *s)
{
	list_remove(&s->by_time);
	list_remove(&s->of_spider);
}

static void sent_again(struct url_feed *f, struct feed_sent *s)
{
	sent_forget(s);
	ENSURE(hostq_lost(f->queues, &(struct hostq_job){.slot = s->slot, .turn = s->turn}));
}

static void spider_hang_up(struct feed_spider *s, const char *why)
{
	struct url_feed *f = s->feed;
	struct conn *c = outgoing_conn(s->out);
	f->counts.hung_up++;
	log_warn(ROLE, "spider disconnected", KV_TEXT("peer", s->address), KV_TEXT("why", why));
	s->told_away = true;
	s->ending = c != NULL;
	if (c)
		conn_close(c);
}

static void on_overdue(void *ctx)
{
	struct url_feed *f = ctx;
	int64_t now_us = loop_now_us(f->o.loop);
	struct feed_sent *first;
	while ((first = LIST_FIRST(struct feed_sent, &f->by_time, by_time)) &&
	       first->until_us <= now_us) {
		struct feed_spider *s = first->spider;
		f->counts.timeouts++;
		sent_again(f, first);
		if (s->up && now_us - s->heard_us >= 2 * f->o.status_us) {
			s->heard_us = now_us; /* once */
			s->mute = true;
			spider_hang_up(s, "it says nothing");
		}
	}
	overdue_arm(f);
	feed_later(f);
}

/* Which spider has which queue. */

void spider_leave(struct place *p)
{
	p->spider = NULL;
	list_remove(&p->link);
}

static void place_move(struct url_feed *f, struct place *p, struct feed_spider *to)
{
	spider_leave(p);
	if (homes_count(&f->homes) >= HOMES_MAX)
		homes_clear(&f->homes);
	*homes_put(&f->homes, p->key) = to;
	p->spider = to;
	list_append(&to->places, &p->link);
	hostq_hold(f->queues, p->key, !to->up);
}

static uint64_t spider_weight(const struct feed_spider *s, qkey key)
{
	uint64_t bytes = htole64(key);
	struct xxh64 h;
	xxh64_begin(&h);
	xxh64_add(&h, &bytes, sizeof bytes);
	xxh64_add(&h, s->address, strlen(s->address));
	return xxh64_end(&h);
}

enum presence { IS_GONE, IS_AWAITED, IS_THERE };

static enum presence presence_of(const struct feed_spider *s)
{
	return s->gone ? IS_GONE : s->up ? IS_THERE : IS_AWAITED;
}

/* Of those that may be chosen the one that key and address together make first: the same one after
 * a restart, also with another version of a library, and when another comes or goes only the queues
 * of that one move. */
static struct feed_spider *spider_of_key(struct url_feed *f, qkey key, enum presence least)
{
	struct feed_spider *best = NULL;
	uint64_t most = 0;
	for (size_t i = 0; i < f->o.nspiders; i++) {
		struct feed_spider *s = &f->spider[i];
		uint64_t weight = spider_weight(s, key);
		if (presence_of(s) >= least && (!best || weight > most)) {
			best = s;
			most = weight;
		}
	}
	return best;
}

void spider_choose(struct url_feed *f, struct place *p)
{
	struct feed_spider **home = homes_get(&f->homes, p->key);
	struct feed_spider *best =
		home && !(*home)->gone ? *home : spider_of_key(f, p->key, IS_AWAITED);
	place_move(f, p, best ? best : spider_of_key(f, p->key, IS_GONE));
}

/* Queues of those that were given up go to those that are up. */
static void places_spread(struct url_feed *f)
{
	for (size_t i = 0; i < f->o.nspiders; i++) {
		struct feed_spider *s = &f->spider[i], *to;
		if (!s->gone)
			continue;
		LIST_EACH (struct place, p, &s->places, link)
			if ((to = spider_of_key(f, p->key, IS_THERE))) {
				f->counts.moved++;
				place_move(f, p, to);
			}
	}
	feed_later(f);
}

static void on_away(void *ctx)
{
	struct feed_spider *s = ctx;
	s->gone = true;
	places_spread(s->feed);
}

/* Connections. */

static void spider_there(struct feed_spider *s)
{
	struct url_feed *f = s->feed;
	s->gone = s->mute = false;
	loop_timer_stop(&s->away);
	if (s->told_away)
		log_info(ROLE, "spider connected", KV_TEXT("peer", s->address));
	s->told_away = false;
	places_spread(f);
}

static void spider_up(void *ctx, struct conn *c)
{
	struct feed_spider *s = ctx;
	struct url_feed *f = s->feed;
	(void)c;
	s->up = true;
	s->told_words = false;
	s->wrong = 0;
	s->heard_us = loop_now_us(f->o.loop);
	if (!s->mute)
		spider_there(s);
	LIST_EACH (struct place, p, &s->places, link)
		hostq_hold(f->queues, p->key, false);
	feed_later(f);
}

static void spider_lose(struct feed_spider *s)
{
	struct url_feed *f = s->feed;
	s->up = false;
	buf_clear(&s->lines);
	LIST_EACH (struct feed_sent, sent, &s->sent, of_spider) {
		f->counts.losses++;
		sent_again(f, sent);
	}
	LIST_EACH (struct place, p, &s->places, link)
		hostq_hold(f->queues, p->key, true);
	loop_timer_in(f->o.loop, &s->away, f->o.status_us);
}

static void spider_down(void *ctx, const char *why, int64_t retry_us)
{
	struct feed_spider *s = ctx;
	(void)retry_us;
	if (!s->ending)
		s->mute = false; /* its process has gone, and another will come */
	s->ending = false;
	if (s->up)
		spider_lose(s);
	if (s->told_away)
		return;
	s->told_away = true;
	log_warn(ROLE, "spider unreachable", KV_TEXT("peer", s->address), KV_TEXT("why", why));
}

/* Whether a TRANS_ID was that of a job once. */
static bool was_sent(const struct url_feed *f, const struct spider_status *said)
{
	uint32_t first = f->o.queues.turn + 1;
	return said->slot < f->nsent && f->sent[said->slot] &&
	       said->turn - first <= f->sent[said->slot]->turn - first;
}

/* A spider with status words, and we have none: nothing that it fetches is ever done. */
static void words_complain(struct feed_spider *s, struct str line)
{
	struct spider_status said;
	if (s->told_words || !spider_status_read(line, true, &said))
		return;
	s->told_words = true;
	log_warn(ROLE,
		 "spider adds outcomes to DONE, so its URLs are sent again; set status_words on "
		 "both sides",
		 KV_TEXT("peer", s->address));
}

/* 0: it meant something; 1: it would have, before; negative: it never did. */
static int line_take(struct feed_spider *s, struct str line)
{
	struct url_feed *f = s->feed;
	struct spider_status said;
	struct hostq_job job;
	if (!spider_status_read(line, f->o.status_words, &said)) {
		f->counts.garbage++;
		words_complain(s, line);
		return -1;
	}
	if (!was_sent(f, &said)) {
		f->counts.unknown++;
		return -1;
	}
	struct feed_sent *sent = f->sent[said.slot];
	if (sent->turn != said.turn || sent->spider != s || !list_has(&sent->of_spider)) {
		f->counts.late++;
		return 1;
	}
	if (!said.done) {
		f->counts.working++;
		sent_renew(f, sent);
		return 0;
	}
	ENSURE(hostq_job_of(f->queues, said.slot, said.turn, &job));
	sent_forget(sent);
	feed_done(f, &job, said.outcome);
	return 0;
}

static void spider_line(void *ctx, struct str line)
{
	struct feed_spider *s = ctx;
	s->heard_us = loop_now_us(s->feed->o.loop);
	int rc = line_take(s, line);
	if (rc >= 0 && s->mute)
		spider_there(s);
	if (rc == 0)
		s->wrong = 0;
	else if (++s->wrong == WRONG_MAX)
		spider_hang_up(s, "100 meaningless lines in a row");
}

static void spider_long_line(void *ctx)
{
	struct feed_spider *s = ctx;
	s->feed->counts.garbage++;
	spider_hang_up(s, "a line is too long");
}

/* What one round of the loop has for it goes out in one piece. */
static void spider_flush(void *ctx)
{
	struct feed_spider *s = ctx;
	struct conn *c = outgoing_conn(s->out);
	if (c)
		(void)conn_send(c, buf_str(&s->lines));
	buf_clear(&s->lines);
}

void spider_send(struct url_feed *f, struct place *p, const struct hostq_job *job, int64_t now_us)
{
	struct feed_sent *sent = sent_of(f, job->slot);
	struct feed_spider *s = p->spider;
	char digits[STR_DECIMAL_MAX];
	ENSURE(s->up);
	sent->turn = job->turn;
	sent->spider = s;
	sent->until_us = now_us + f->o.status_us;
	list_append(&s->sent, &sent->of_spider);
	list_append(&f->by_time, &sent->by_time);
	if (f->by_time.next == &sent->by_time)
		overdue_arm(f);
	buf_add(&s->lines, digits, str_decimal(digits, job->slot));
	buf_add_byte(&s->lines, '.');
	buf_add(&s->lines, digits, str_decimal(digits, job->turn));
	buf_add_byte(&s->lines, ' ');
	buf_add_str(&s->lines, job->payload);
	buf_add_byte(&s->lines, '\n');
	f->counts.lines++;
	loop_later(f->o.loop, &s->flush);
}

static const struct conn_ops spider_ops = {.line = spider_line, .long_line = spider_long_line};

static int spider_open(struct feed_spider *s, struct err *err)
{
	struct url_feed *f = s->feed;
	const struct outgoing_options options = {.address = s->address,
						 .dns = f->o.dns_conf,
						 .trusted = true,
						 .limits = &spider_limits,
						 .tls = f->o.tls,
						 .ops = &spider_ops,
						 .up = spider_up,
						 .down = spider_down,
						 .ctx = s};
	s->flush = (struct loop_later){.fn = spider_flush, .ctx = s};
	s->away = (struct loop_timer){.fn = on_away, .ctx = s};
	s->lines = BUF_INIT(SIZE_MAX);
	list_init(&s->places);
	list_init(&s->sent);
	loop_timer_in(f->o.loop, &s->away, f->o.status_us);
	return outgoing_new(&s->out, f->pool, &options, err);
}

int spiders_open(struct url_feed *f, struct err *err)
{
	ENSURE(f->o.nspiders > 0);
	f->overdue = (struct loop_timer){.fn = on_overdue, .ctx = f};
	f->spider = mem_alloc(f->o.nspiders * sizeof *f->spider);
	for (size_t i = 0; i < f->o.nspiders; i++) {
		f->spider[i] = (struct feed_spider){.feed = f, .address = f->o.spiders[i]};
		if (spider_open(&f->spider[i], err) < 0)
			return err_in(err, "spider_host");
	}
	return 0;
}

void spiders_close(struct url_feed *f)
{
	for (size_t i = 0; f->spider && i < f->o.nspiders && f->spider[i].feed; i++) {
		struct feed_spider *s = &f->spider[i];
		loop_later_cancel(&s->flush);
		loop_timer_stop(&s->away);
		outgoing_free(&s->out);
		buf_free(&s->lines);
	}
	mem_free(&f->spider);
}
