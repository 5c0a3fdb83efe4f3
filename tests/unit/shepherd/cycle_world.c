/* Random worlds: settings, sites, URLs, and what a reap finds, all from the dice. */
#include "unit/shepherd/cycle_world.h"

#include "shepherd/code.h"
#include "unit/dice.h"

#include <stdio.h>

const char *const world_hosts[HOSTS] = {
	"http://a.example",     "http://www.a.example",  "http://b.example",  "https://b.example",
	"http://www.b.example", "http://c.example:8080", "http://m1.example", "http://m2.example",
	"https://m2.example",   "http://d.example",      "http://e.example",  "http://f.example",
};
static const char *const paths[PATHS] = {
	"/", "/robots.txt", "/p1", "/p2x", "/p3r", "/p4?q=1", "/p5", "/dir/p6x",
};
enum { ROBOTS = 1 }; /* of these */
static const char *const classes[] = {
	"",
	"http://m1.example/\n\thttp://m2.example/\n",
	"http://c.example:8080/\n\thttp://b.example/\nhttps://b.example/\n\thttps://m2.example/\n",
	"http://a.example/\n\thttp://m1.example/\n\thttp://m2.example/\n\thttps://m2.example/\n",
};
static const char *const schemas[] = {"4:0.25 2:0.75", "8:0.25 3:0.25 2:0.5", "2:1"};

void world_fail(const struct run *r, int line, const char *fmt, ...)
{
	char text[2048];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	fail_msg("WORLD=%" PRIu64 " %s (line %d): %s", r->world, r->module, line, text);
}

/* Dice */

static uint64_t dice_roll(struct run *r, uint64_t n)
{
	return (dice(&r->seed) >> 16) % n;
}

bool world_chance(struct run *r, unsigned percent)
{
	return dice_roll(r, 100) < percent;
}

static double pick_of(struct run *r, const double *of, size_t n)
{
	return of[dice_roll(r, n)];
}
#define PICK(r, ...)                              \
	pick_of(r, (const double[]){__VA_ARGS__}, \
		sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
#define PICK_INT(r, ...) ((int64_t)PICK(r, __VA_ARGS__))

/* A time around the thresholds of the refresh cycle. */
static uint32_t pick_time(struct run *r)
{
	int64_t rc = r->conf.refresh_us / US_PER_S, cycle = r->conf.cycle_us / US_PER_S;
	int64_t before = PICK_INT(r, 0, 1, (double)(rc / 8), (double)(rc / 4), (double)(rc / 3),
				  (double)(rc / 2), (double)(rc - 1), (double)rc, (double)(rc + 1),
				  (double)(rc * 3 / 2 - 1), (double)(rc * 3 / 2), (double)(rc * 2),
				  (double)(rc - cycle / 8), -50, -2000);
	return (uint32_t)(NOW_S - before - (world_chance(r, 20) ? (int64_t)dice_roll(r, 100) : 0));
}

/* A world: settings */

static void make_settings(struct run *r)
{
	static const char *const own[] = {"d.example"};
	struct crawl_conf *c = &r->conf;
	*c = lab_conf();
	/* powers of two times three, so that limits are whole numbers */
	c->refresh_us = PICK_INT(r, 49152, 49152, 98304, 2555904) * US_PER_S;
	c->cycle_us = PICK_INT(r, 1, 3, 20, 40, 100, 400, 4096) * US_PER_S;
	c->plan_max = PICK_INT(r, 1, 10, 30, 1000, 1000, 1000);
	c->site_max = PICK_INT(r, 2, 4, 6, 1000, 1000);
	c->active_max = PICK_INT(r, 5, 20, 30, 1000, 1000);
	c->remember_max = PICK_INT(r, 0, 2, 5, 1000, 1000);
	c->redirect_to_zombie_us = c->refresh_us / PICK_INT(r, 1, 2, 8);
	c->retry_us = PICK_INT(r, 60, 600) * US_PER_S;
	c->forget_us = c->refresh_us / PICK_INT(r, 1, 2);
	c->est_raw_performance = PICK(r, 1. / 2048, 1. / 1024, 1, 1000, 1000, 1000);
	c->reap_optimism = PICK(r, 0.5, 1, 2);
	c->reap_slowdown = PICK(r, 0.5, 1, 2);
	c->duty_factor = PICK(r, 0.5, 1, 1);
	c->server_overtake_us = PICK_INT(r, 0, 10, 1000) * US_PER_S;
	c->anticipated_us = world_chance(r, 50) ? 0 : c->refresh_us / PICK_INT(r, 2, 4, 8);
	c->site_err_retry = PICK_INT(r, 0, 2, 8);
	c->site_err_expire_us = (int64_t)((double)c->refresh_us * PICK(r, 0.25, 0.5, 1, 2));
	c->auto_go_root = world_chance(r, 50);
	c->default_insert_weight = PICK_INT(r, 96, 96, 10, 200);
	c->hard_limit_factor = PICK(r, 1, 1.5, 2, 2, 4);
	c->frequent_factor = PICK(r, 0, 0.25, 0.25, 0.5);
	c->stability_factor = PICK(r, 0.25, 1, 4);
	c->dead_site_limit = PICK_INT(r, 0, 0, 2, 4);
	c->site_fresh_limit = PICK_INT(r, 0, 0, 2, 4);
	c->select_hysteresis = PICK_INT(r, 0, 8, 255);
	c->min_eq_frequency = PICK_INT(r, 1, 2, 5);
	c->max_err_frequency = PICK_INT(r, 1, 3);
	c->avg_bucket_size = 1000;
	c->avg_url_size = 200;
	double each = 1000 + (c->hard_limit_factor - 1) * 200;
	c->bucket_file_size = (uint64_t)(each * PICK(r, 8, 24, 48, 1000000, 1000000));
	c->follow = world_chance(r, 50) ? CRAWL_ALL : CRAWL_SITE;
	c->no_delay = (struct value_list){own, dice_roll(r, 2)};
	c->refresh_schema = schemas[dice_roll(r, ARRAY_LEN(schemas))];
}

/* Rules of every kind that plan, merge and select ask for. */
static void make_rules(struct run *r, struct buf *out)
{
	bool sections = world_chance(r, 60);
	if (world_chance(r, 20))
		return;
	if (sections) {
		buf_printf(out, "section b 0.25 +40\n");
		buf_printf(out, "section low 0.5 -60\n");
	}
	buf_printf(out, "section other 1\n");
	for (unsigned i = 0; i < 4; i++) {
		static const char *const who[] = {"host a.example",
						  "host *.example",
						  "host m2.*",
						  "host c.example & port 8080",
						  "any",
						  "scheme https",
						  "key_sites > 2"};
		buf_printf(out, "%s:", who[dice_roll(r, ARRAY_LEN(who))]);
		if (world_chance(r, 30)) {
			buf_printf(out, " soft_limit=%u", (unsigned)dice_roll(r, 6));
			r->own_limits = true;
		}
		if (world_chance(r, 20))
			buf_printf(out, " hard_limit=%u", (unsigned)(4 + dice_roll(r, 6)));
		if (world_chance(r, 20))
			buf_printf(out, " fresh_limit=%u", (unsigned)(1 + dice_roll(r, 4)));
		if (world_chance(r, 30))
			buf_printf(out, " min_delay=%us", world_chance(r, 50) ? 64 : 512);
		if (world_chance(r, 20))
			buf_printf(out, " max_conn=%u", 1u << dice_roll(r, 3));
		if (world_chance(r, 30))
			buf_printf(out, " queue_bonus=%u",
				   world_chance(r, 50) ? 100000000 : 1900000000);
		if (world_chance(r, 30))
			buf_printf(out, " select_bonus=yes");
		buf_printf(out, " refresh_boost=%s\n", world_chance(r, 50) ? "2" : "0.5");
	}
	if (sections)
		buf_printf(out, "path *x: section=%s\n", world_chance(r, 50) ? "b" : "low");
	if (world_chance(r, 50))
		buf_printf(out, "path *r: reject\n");
	if (world_chance(r, 30)) /* though its site may not be known */
		buf_printf(out, "path /p1: accept\n");
}

static void make_crawl(struct run *r)
{
	struct err err = {0};
	CLEANUP(buf_free) struct buf rules = BUF_INIT(1 << 16);
	struct filter_defaults defaults = {r->conf.no_delay, r->conf.follow == CRAWL_ALL};
	struct crawl *c = &r->w.crawl;
	const char *text = classes[dice_roll(r, ARRAY_LEN(classes))];
	*c = (struct crawl){.conf = &r->conf,
			    .delay_us = PICK_INT(r, 0, 0, 1, 1, 64, 512, 2048) * US_PER_S,
			    .concurrent = (unsigned)PICK_INT(r, 1, 1, 2),
			    .cycle_us = r->conf.cycle_us,
			    .now_us = PLAY_START};
	make_rules(r, &rules);
	if (filter_parse(buf_str(&rules), "filter", &defaults, &r->filter, &err) != 0)
		FAIL(r, "%s in\n" STR_FMT, err.msg, STR_ARG(buf_str(&rules)));
	if (*text)
		MUST(equiv_parse(str_of(text), "url-equiv", &r->equiv, &err));
	MUST(schema_parse(str_of(r->conf.refresh_schema), &c->schema, &err));
	c->filter = r->filter;
	c->equiv = r->equiv;
}

/* A world: sites and URLs */

static void make_urls(struct run *r)
{
	for (unsigned i = 0; i < URLS; i++) {
		char room[URL_MAX];
		struct url url;
		struct known_url *u = &r->url[i];
		snprintf(u->text, sizeof u->text, "%s%s", world_hosts[i / PATHS], paths[i % PATHS]);
		assert_int_equal(0, url_parse(str_of(u->text), NULL, room, sizeof room, &url));
		assert_str(url.href, u->text);
		u->fp = footprint_of(&url);
		u->site = url_site(&url);
		u->site.host.p = u->text + (url.host.p - url.href.p);
	}
}

static qkey pick_key(struct run *r)
{
	struct qkey_addr addr = {.b = {192, 0, 2, (uint8_t)PICK_INT(r, 1, 1, 1, 2, 3, 4)}};
	if (world_chance(r, 8))
		return qkey_special(QKEY_NONEXISTENT, dice_roll(r, 4), 80);
	return qkey_of(&addr, 80);
}

static void make_site(struct run *r, const struct known_url *u, bool equal)
{
	struct site site = {
		.fp = u->fp.site,
		.norm = equal ? footprint_site(equiv_site(r->equiv, u->site)) : u->fp.site,
		.protocol = u->site.protocol,
		.port = u->site.port,
		.host = u->site.host,
		.qkey = world_chance(r, 20) ? 0 : pick_key(r),
		.active = (uint32_t)dice_roll(r, 20),
		.inactive = (uint32_t)dice_roll(r, 5),
		.gathered = (uint32_t)dice_roll(r, 9),
		.download_ms = (uint32_t)PICK_INT(r, 0, 7, 50, 900, 30000),
		.limit = (uint32_t)PICK_INT(r, 0, 0, 0, 3),
		.oscillations = (uint8_t)PICK_INT(r, 0, 0, 1, 255),
		.demand = (uint32_t)PICK_INT(r, 0, 1, 20, 200, 1000, 60000),
		.delay_ms = (uint32_t)PICK_INT(r, 0, 0, 0, 0, 0, 1000, 64000, 2048000),
	};
	if (world_chance(r, 35)) {
		site.error_cycles = (uint8_t)PICK_INT(r, 1, 2, 3, 5, 9, 255);
		site.failed_s =
			world_chance(r, 40) ? NOW_S - (uint32_t)dice_roll(r, 2000) : pick_time(r);
	}
	r->w.site[r->w.sites++] = site;
}

static uint64_t make_bucket(struct run *r, const struct known_url *u)
{
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	uint32_t oid;
	arena_clear(&r->lab.arena);
	attrs_add(&header, &r->lab.arena, 'O', crawl_digits(u->fp, &r->lab.arena));
	attrs_add(&header, &r->lab.arena, 'U', str_of(u->text));
	MUST(bucket_put(r->buckets, NULL, &header, &body, &oid, &err));
	return oid;
}

static uint8_t pick_section(const struct run *r, const struct known_url *u)
{
	size_t n;
	filter_sections(r->filter, &n);
	return (uint8_t)(u->fp.path % n);
}

static uint8_t pick_flags(struct run *r)
{
	unsigned flags = 0;
	flags |= world_chance(r, 10) ? ITEM_INITIAL : 0;
	flags |= world_chance(r, 8) ? ITEM_EQUIV : 0;
	flags |= world_chance(r, 15) ? ITEM_UNREFERENCED : 0;
	flags |= world_chance(r, 6) ? ITEM_REGATHER : 0;
	flags |= world_chance(r, 40) ? ITEM_WEIGHED : 0;
	return (uint8_t)flags;
}

static void make_item(struct run *r, const struct known_url *u)
{
	static const enum item_type robots_types[] = {ITEM_GATHERED, ITEM_NEW, ITEM_ERROR};
	static const enum item_type types[] = {
		ITEM_GATHERED, ITEM_GATHERED, ITEM_GATHERED, ITEM_GATHERED, ITEM_NEW,
		ITEM_NEW,      ITEM_SLEEPING, ITEM_ERROR,    ITEM_ZOMBIE,
	};
	bool robots = (u - r->url) % PATHS == ROBOTS;
	struct index_item item = {
		.fp = u->fp,
		.type = robots ? robots_types[dice_roll(r, ARRAY_LEN(robots_types))]
			       : types[dice_roll(r, ARRAY_LEN(types))],
		.flags = robots ? ITEM_ROBOTS : pick_flags(r),
		.last_seen_s = pick_time(r),
		.weight = (uint8_t)PICK_INT(r, 0, 50, 96, 96, 97, 128, 150, 255),
		.freq = (uint8_t)PICK_INT(r, 0, 1, 2, 3, 4, 9),
		.download_ds = (uint8_t)dice_roll(r, 20),
		.section = pick_section(r, u),
		.since_day = (uint16_t)(NOW_S / DAY_S - dice_roll(r, 3)),
		.where = make_bucket(r, u),
	};
	item.no_target = item.type == ITEM_ERROR && !robots && world_chance(r, 50);
	if (r->quiet && !robots) {
		item.type = world_chance(r, 90) ? ITEM_GATHERED : ITEM_SLEEPING;
		item.flags &= (uint8_t)~ITEM_REGATHER;
		item.last_seen_s = NOW_S - (uint32_t)dice_roll(r, 5000);
		item.freq = (uint8_t)PICK_INT(r, 1, 1, 2);
	}
	bool tried = item.type != ITEM_NEW || world_chance(r, 30);
	if (!tried)
		item.last_seen_s = 0;
	item.code = (uint16_t)(tried ? PICK_INT(r, 0, 2404, 1502, CODE_SLEEPS + 2) : 0);
	item.hops = (uint8_t)PICK_INT(r, 0, 0, 1, 15);
	if (item.type == ITEM_GATHERED && world_chance(r, 90))
		item.stable_s = item.last_seen_s -
				(uint32_t)((double)(r->conf.refresh_us / US_PER_S) *
					   PICK(r, 0, 0.0625, 0.125, 0.25, 0.375, 0.5, 1, 2, -1));
	if (item.type == ITEM_ERROR)
		item.stable_s = pick_time(r);
	if (item.type == ITEM_ZOMBIE)
		item.where = ITEM_NOWHERE;
	else if (tried && world_chance(r, 30))
		item.retry = (uint8_t)PICK_INT(r, 1, 3, 255);
	if (item.type != ITEM_ZOMBIE && world_chance(r, 25))
		item.due_s = (uint32_t)(NOW_S +
					PICK_INT(r, -100, 0, 1, 77, 49151, 49152, 49153, 5000000));
	r->w.item[r->w.items++] = item;
}

static void make_key_item(struct run *r, const struct site *site)
{
	r->w.item[r->w.items++] = (struct index_item){.fp = {site->fp, 0},
						      .where = ITEM_NOWHERE,
						      .type = ITEM_QKEY,
						      .flags = ITEM_ROBOTS,
						      .last_seen_s = pick_time(r)};
}

static void make_known(struct run *r)
{
	unsigned full = 20 + (unsigned)dice_roll(r, 60);
	bool equal = world_chance(r, 80);
	for (unsigned i = 0; i < HOSTS; i++) {
		if (world_chance(r, 25))
			continue;
		make_site(r, &r->url[i * PATHS], equal);
		if (r->w.site[r->w.sites - 1].qkey && world_chance(r, 80))
			make_key_item(r, &r->w.site[r->w.sites - 1]);
		for (unsigned k = 0; k < PATHS && !world_chance(r, 8); k++)
			if (world_chance(r, full))
				make_item(r, &r->url[i * PATHS + k]);
	}
	r->w.course = (struct state_course){
		.rate_milli = (uint64_t)PICK_INT(r, 0, 0, 0, 125),
		.bucket_bytes = (uint64_t)PICK_INT(r, 0, 0, 500),
		.url_bytes = (uint64_t)PICK_INT(r, 0, 0, 200),
	};
}

/* A world: what a reap finds */

static void make_entry(struct run *r, const struct known_url *u)
{
	const struct index_item *old = model_item(&r->w, u->fp);
	struct journal_entry e = {
		.fp = u->fp,
		.time_us = PLAY_START - (int64_t)dice_roll(r, 5) * US_PER_S -
			   (int64_t)dice_roll(r, 2) * 500000,
		.where = ITEM_NOWHERE,
		.url = str_of(u->text),
		.download_ms = (uint32_t)PICK_INT(r, 0, 1, 100, 777, 99999),
		.due_s = world_chance(r, 20)
				 ? NOW_S + (uint32_t)PICK_INT(r, 0, 1, 100, 49152, 49153, 5000000)
				 : 0,
		.no_target = world_chance(r, 5),
		.flags = world_chance(r, old ? 15 : 60) ? ITEM_INITIAL : 0,
	};
	unsigned kind = (unsigned)dice_roll(r, 6);
	e.type = kind < 2    ? ITEM_GATHERED
		 : kind == 2 ? ITEM_ERROR
		 : kind == 3 ? ITEM_ZOMBIE
			     : ITEM_TEMPORARY;
	bool gathered = old && old->type == ITEM_GATHERED;
	if (e.type == ITEM_GATHERED) {
		e.op = gathered && kind == 0 ? CHANGE_REFRESH : CHANGE_UPDATE;
		e.code = CODE_OK;
		e.where = e.op == CHANGE_UPDATE ? make_bucket(r, u) : ITEM_NOWHERE;
	} else {
		e.op = gathered && e.type != ITEM_TEMPORARY ? CHANGE_DELETE : CHANGE_NONE;
		e.code =
			(uint16_t)PICK_INT(r, 2404, 1500, 1502, 2400, 1107, 2103, 2134, 2304, 2306);
		if (!old && e.flags & ITEM_INITIAL && world_chance(r, 70))
			e.where = make_bucket(r, u);
	}
	size_t sections;
	filter_sections(r->filter, &sections);
	e.has_section = world_chance(r, 20);
	e.section = (uint8_t)(e.has_section ? dice_roll(r, sections) : 0);
	if ((u - r->url) % PATHS == ROBOTS && world_chance(r, 80)) {
		e.flags = ITEM_ROBOTS;
		e.op = CHANGE_NONE;
		e.has_section = e.no_target = false;
		e.type = e.type == ITEM_ZOMBIE ? ITEM_ERROR : e.type;
	}
	r->w.journal[r->w.entries++] = e;
}

/* Which server a site has. */
static void make_key_entry(struct run *r, const struct known_url *u)
{
	r->w.journal[r->w.entries++] =
		(struct journal_entry){.fp = {.site = u->fp.site},
				       .time_us = PLAY_START - (int64_t)dice_roll(r, 5) * US_PER_S,
				       .type = ITEM_QKEY,
				       .code = CODE_RESOLVED,
				       .flags = ITEM_ROBOTS,
				       .where = ITEM_NOWHERE,
				       .qkey = pick_key(r),
				       .url = str_of(u->text)};
}

/* Entries of URLs that reap may have tried, and of some that nobody knew. */
static void make_journal(struct run *r)
{
	unsigned busy = (unsigned)PICK_INT(r, 0, r->quiet ? 3 : 10, 40, 80);
	unsigned failing = (unsigned)dice_roll(r, HOSTS); /* a site all of whose tries fail */
	for (unsigned i = 0; i < URLS; i++) {
		const struct known_url *u = &r->url[i];
		const struct index_item *old = model_item(&r->w, u->fp);
		bool tried = old ? old->type == ITEM_NEW || old->type == ITEM_GATHERED ||
					     (old->type == ITEM_ERROR && old->flags & ITEM_SACRED)
				 : world_chance(r, model_site(&r->w, u->fp.site) ? 20 : 10);
		tried |= i % PATHS == ROBOTS;
		while (i % PATHS == 0 && r->w.entries < MODEL_NEWS && world_chance(r, busy / 2))
			make_key_entry(r, u);
		while (tried && r->w.entries < MODEL_NEWS && world_chance(r, busy)) {
			make_entry(r, u);
			struct journal_entry *e = &r->w.journal[r->w.entries - 1];
			if (i / PATHS == failing) {
				e->type = ITEM_TEMPORARY;
				e->code = CODE_CONNECTION;
				e->op = CHANGE_NONE;
				e->where = ITEM_NOWHERE;
			}
		}
	}
}

static void make_contribs(struct run *r, unsigned round)
{
	unsigned n = (unsigned)PICK_INT(r, 0, r->quiet ? 0 : 5, 20, 50);
	for (unsigned i = 0; i < n; i++) {
		const struct known_url *u = &r->url[dice_roll(r, URLS)];
		struct contrib c = {
			.fp = u->fp,
			.weight = (uint8_t)PICK_INT(r, 0, 40, 96, 130, 200),
			.section = pick_section(r, u),
			.from = r->url[dice_roll(r, URLS)].fp,
			.url = str_of(u->text),
		};
		unsigned kind = (unsigned)dice_roll(r, 20);
		if (kind < 3) { /* by hand: of one URL always at the same time */
			c.flags = ITEM_INITIAL;
			c.from = (struct footprint){0};
			c.time_s = NOW_S - (uint32_t)(u->fp.path % 10000);
		} else if (kind == 3) {
			c.flags = ITEM_INITIAL; /* what such a page led to */
			c.hops = (uint8_t)PICK_INT(r, 0, 1, 5, 99);
		} else if (kind < 6) {
			c.flags = ITEM_REGATHER;
		} else if (kind == 6) {
			c.flags = ITEM_EQUIV;
		} else if (kind < 10) {
			c.changed_s = pick_time(r);
		}
		assert_true(r->w.contribs < MODEL_NEWS);
		r->w.contrib[r->w.contribs++] = (struct model_contrib){.c = c, .round = round};
	}
}

void world_make(struct run *r)
{
	for (unsigned i = 0; i < 8; i++) /* the first ones are much alike */
		dice(&r->seed);
	r->quiet = world_chance(r, 30);
	make_urls(r);
	make_settings(r);
	make_crawl(r);
	make_known(r);
}

void world_wait(struct run *r)
{
	r->w.crawl.now_us += PICK_INT(r, 0, 1, 100, 4096, 12288) * US_PER_S;
}

void world_find(struct run *r, unsigned round)
{
	make_journal(r);
	make_contribs(r, round);
}
