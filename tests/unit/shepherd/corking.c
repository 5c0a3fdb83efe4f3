/* cork over states that were set by hand: what doc/cycle.md says of it, rule by rule. */
#include "shepherd/crawl.h"

#include "shepherd/code.h"
#include "unit/shepherd/crawl_lab.h"

#include <sys/stat.h>

/* The tables say what is not as usual. */
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#else
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

enum { AT = 1000, MOST = 3 }; /* seconds after the beginning */
#define AT_US (PLAY_START + AT * US_PER_S)

#define KEY(key)                                                                                  \
	{                                                                                         \
		.time_us = AT_US, .type = ITEM_QKEY, .flags = ITEM_ROBOTS, .where = ITEM_NOWHERE, \
		.code = CODE_RESOLVED, .qkey = (key)                                              \
	}

/* An entry of a page, or a key entry of its site. */
static void tell(struct lab *lab, uint64_t page, const struct journal_entry *e)
{
	struct err err = {0};
	if (e->type != ITEM_QKEY) {
		lab_journal(lab, page, *e);
		return;
	}
	struct journal_entry key = journal_of_key(play_footprint(page).site, e->qkey, e->time_us);
	assert_int_equal(e->code, key.code);
	MUST(state_journal(lab->st, &key, &err));
}

static void cork(struct lab *lab, const struct crawl_conf *conf)
{
	struct err err = {0};
	MUST(state_enter(lab->st, PHASE_CORK, NULL, PLAY_START, &err));
	struct crawl c = lab_crawl(conf);
	c.now_us = AT_US;
	MUST(crawl_cork(lab->st, &c, &err));
	MUST(state_enter(lab->st, PHASE_CORKED, NULL, PLAY_START, &err));
}

/* URLs */

struct url_case {
	const char *says;
	struct index_item before; /* weight 0: not known */
	struct journal_entry entry[MOST];
	struct index_item after; /* weight 0: not known */
};

#define ITEM(...)                                     \
	{                                             \
		.where = 7, .weight = 50, __VA_ARGS__ \
	}
#define UNKNOWN             \
	{                   \
		.weight = 0 \
	}
#define ENTRY(...)                                                                        \
	{                                                                                 \
		.time_us = AT_US, .op = CHANGE_UPDATE, .type = ITEM_GATHERED, .where = 9, \
		.code = CODE_OK, __VA_ARGS__                                              \
	}
#define FAILURE(...)                                                                           \
	{                                                                                      \
		.time_us = AT_US, .type = ITEM_TEMPORARY, .where = ITEM_NOWHERE, .code = 1500, \
		__VA_ARGS__                                                                    \
	}
#define GONE(...)                                                                         \
	{                                                                                 \
		.time_us = AT_US, .type = ITEM_ZOMBIE, .where = ITEM_NOWHERE, __VA_ARGS__ \
	}
#define SEEN .last_seen_s = NOW_S + AT, .code = CODE_OK

static const struct url_case url_cases[] = {
	{"a new page is gathered",
	 ITEM(.type = ITEM_NEW, .flags = ITEM_CONTRIB),
	 {ENTRY(.download_ms = 101)},
	 ITEM(.type = ITEM_GATHERED, .where = 9, SEEN, .stable_s = NOW_S + AT, .download_ds = 2)},
	{"a refresh keeps bucket and stable time",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5, .retry = 2, .flags = ITEM_REGATHER),
	 {ENTRY(.op = CHANGE_REFRESH, .where = ITEM_NOWHERE)},
	 ITEM(.type = ITEM_GATHERED, SEEN, .stable_s = 5)},
	{"a refresh of which no stable time is known sets it",
	 ITEM(.type = ITEM_GATHERED),
	 {ENTRY(.op = CHANGE_REFRESH, .where = ITEM_NOWHERE)},
	 ITEM(.type = ITEM_GATHERED, SEEN, .stable_s = NOW_S + AT)},
	{"an update sets the stable time",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5),
	 {ENTRY(.due_s = 4)},
	 ITEM(.type = ITEM_GATHERED, .where = 9, SEEN, .stable_s = NOW_S + AT, .due_s = 4)},
	{"the entry's flags are added, and F goes",
	 ITEM(.type = ITEM_GATHERED, .flags = ITEM_REGATHER | ITEM_INITIAL, .stable_s = 5),
	 {ENTRY(.op = CHANGE_REFRESH, .where = ITEM_NOWHERE, .flags = ITEM_EQUIV)},
	 ITEM(.type = ITEM_GATHERED, SEEN, .flags = ITEM_INITIAL | ITEM_EQUIV, .stable_s = 5)},
	{"a redirect without a target",
	 ITEM(.type = ITEM_NEW, .due_s = 8),
	 {ENTRY(.type = ITEM_ZOMBIE, .where = ITEM_NOWHERE, .no_target = true,
		.download_ms = 90000)},
	 ITEM(.type = ITEM_ZOMBIE, SEEN, .no_target = true, .stable_s = NOW_S + AT,
	      .download_ds = 255)},
	{"a redirect first leads nowhere",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5),
	 {GONE(.type = ITEM_ERROR, .code = CODE_NOWHERE, .no_target = true)},
	 ITEM(.type = ITEM_ERROR, .last_seen_s = NOW_S + AT, .code = CODE_NOWHERE,
	      .no_target = true, .stable_s = NOW_S + AT)},
	{"and still does, though it failed for now between",
	 ITEM(.type = ITEM_ERROR, .no_target = true, .stable_s = 5),
	 {FAILURE(.time_us = AT_US - 1),
	  GONE(.type = ITEM_ERROR, .code = CODE_NOWHERE, .no_target = true)},
	 ITEM(.type = ITEM_ERROR, .last_seen_s = NOW_S + AT, .code = CODE_NOWHERE,
	      .no_target = true, .stable_s = 5)},
	{"a failure for now forgets none of the redirects that led to it",
	 ITEM(.type = ITEM_NEW, .flags = ITEM_INITIAL, .hops = 9),
	 {FAILURE(.due_s = 9)},
	 ITEM(.type = ITEM_NEW, .flags = ITEM_INITIAL, .hops = 9, .retry = 1, .due_s = 9,
	      .last_seen_s = NOW_S + AT, .code = 1500)},
	{"nor does a redirect, of which another may come",
	 ITEM(.type = ITEM_NEW, .flags = ITEM_INITIAL, .hops = 15),
	 {GONE(.type = ITEM_ERROR, .code = CODE_REDIRECT)},
	 ITEM(.type = ITEM_ERROR, .flags = ITEM_INITIAL, .hops = 15, .stable_s = NOW_S + AT,
	      .last_seen_s = NOW_S + AT, .code = CODE_REDIRECT)},
	{"a failure for now says nothing of that",
	 ITEM(.type = ITEM_ERROR, .no_target = true, .stable_s = 5),
	 {FAILURE(.due_s = 9)},
	 ITEM(.type = ITEM_ERROR, .no_target = true, .stable_s = 5, .retry = 1, .due_s = 9,
	      .last_seen_s = NOW_S + AT, .code = 1500)},
	{"the section is the one that was said last",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5, .section = 4),
	 {ENTRY(.time_us = AT_US - 1, .has_section = true, .section = 2),
	  ENTRY(.op = CHANGE_REFRESH, .where = ITEM_NOWHERE)},
	 ITEM(.type = ITEM_GATHERED, .where = 9, SEEN, .stable_s = NOW_S + AT - 1, .section = 2)},
	{"a failure for now counts and changes no type",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5, .retry = 1, .flags = ITEM_REGATHER),
	 {FAILURE(.due_s = NOW_S + 60)},
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5, .retry = 2, .due_s = NOW_S + 60,
	      .last_seen_s = NOW_S + AT, .code = 1500)},
	{"failures are counted to 255",
	 ITEM(.type = ITEM_NEW, .retry = 255),
	 {FAILURE(.due_s = NOW_S + 60)},
	 ITEM(.type = ITEM_NEW, .retry = 255, .due_s = NOW_S + 60, .last_seen_s = NOW_S + AT,
	      .code = 1500)},
	{"the newest counts, whatever the order",
	 ITEM(.type = ITEM_NEW),
	 {ENTRY(.time_us = AT_US - 1), ENTRY(.where = 11), ENTRY(.time_us = AT_US - 2)},
	 ITEM(.type = ITEM_GATHERED, .where = 11, SEEN, .stable_s = NOW_S + AT)},
	{"of equal times the last; failures before it leave no trace",
	 ITEM(.type = ITEM_NEW),
	 {FAILURE(.due_s = 9), FAILURE(.due_s = 9), ENTRY(.where = 12)},
	 ITEM(.type = ITEM_GATHERED, .where = 12, SEEN, .stable_s = NOW_S + AT)},
	{"what was gathered before a failure for now is kept",
	 ITEM(.type = ITEM_NEW),
	 {ENTRY(.time_us = AT_US - US_PER_S), FAILURE(.due_s = NOW_S + 60)},
	 ITEM(.type = ITEM_GATHERED, .where = 9, .retry = 1, .due_s = NOW_S + 60,
	      .stable_s = NOW_S + AT - 1, .last_seen_s = NOW_S + AT, .code = 1500)},
	{"what was deleted before it stays deleted",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5),
	 {ENTRY(.type = ITEM_ERROR, .op = CHANGE_DELETE, .where = ITEM_NOWHERE),
	  FAILURE(.time_us = AT_US + US_PER_S)},
	 ITEM(.type = ITEM_ERROR, .retry = 1, .stable_s = 5, .last_seen_s = NOW_S + AT + 1,
	      .code = 1500)},
	{"a refresh keeps the bucket that was made just before",
	 ITEM(.type = ITEM_GATHERED, .stable_s = 5),
	 {ENTRY(.time_us = AT_US - US_PER_S), ENTRY(.op = CHANGE_REFRESH, .where = ITEM_NOWHERE)},
	 ITEM(.type = ITEM_GATHERED, .where = 9, SEEN, .stable_s = NOW_S + AT - 1)},
	{"a stranger by hand that was gathered before it failed",
	 UNKNOWN,
	 {ENTRY(.flags = ITEM_INITIAL, .time_us = AT_US - US_PER_S), FAILURE(.due_s = 9)},
	 {.weight = 96,
	  .type = ITEM_GATHERED,
	  .where = 9,
	  .flags = ITEM_INITIAL,
	  .retry = 1,
	  .due_s = 9,
	  .since_day = AT_US / US_PER_DAY,
	  .stable_s = NOW_S + AT - 1,
	  .last_seen_s = NOW_S + AT,
	  .code = 1500}},
	{"strangers are left out", UNKNOWN, {ENTRY(.flags = 0)}, UNKNOWN},
	{"a stranger by hand that failed is known with what became of it",
	 UNKNOWN,
	 {ENTRY(.flags = ITEM_INITIAL, .op = CHANGE_NONE, .type = ITEM_ERROR, .code = 2404)},
	 {.weight = 96,
	  .where = 9,
	  .type = ITEM_ERROR,
	  SEEN,
	  .code = 2404,
	  .flags = ITEM_INITIAL,
	  .stable_s = NOW_S + AT,
	  .since_day = AT_US / US_PER_DAY}},
	{"one that failed for now is new, and waits",
	 UNKNOWN,
	 {FAILURE(.flags = ITEM_INITIAL, .where = 9, .due_s = 9)},
	 {.weight = 96,
	  .where = 9,
	  .type = ITEM_NEW,
	  .retry = 1,
	  .due_s = 9,
	  .code = 1500,
	  .flags = ITEM_INITIAL,
	  .last_seen_s = NOW_S + AT,
	  .since_day = AT_US / US_PER_DAY}},
	{"those without a bucket are left out, too",
	 UNKNOWN,
	 {FAILURE(.flags = ITEM_INITIAL), ENTRY(.flags = ITEM_INITIAL, .where = ITEM_NOWHERE)},
	 UNKNOWN},
	{"a page that was asked for while the reap ran becomes known",
	 UNKNOWN,
	 {ENTRY(.flags = ITEM_INITIAL)},
	 {.weight = 96,
	  .where = 9,
	  .type = ITEM_GATHERED,
	  SEEN,
	  .flags = ITEM_INITIAL,
	  .stable_s = NOW_S + AT,
	  .since_day = AT_US / US_PER_DAY}},
	{"nothing was said of it",
	 ITEM(.type = ITEM_NEW),
	 {{.time_us = 0}},
	 ITEM(.type = ITEM_NEW)},
};

static void lab_tell(struct lab *lab, uint64_t page, const struct journal_entry *entry)
{
	for (size_t i = 0; i < MOST && entry[i].time_us; i++)
		lab_journal(lab, page, entry[i]);
}

static void urls_become_what_the_journal_says(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[ARRAY_LEN(url_cases)];
	size_t n = 0;
	for (uint64_t i = 0; i < ARRAY_LEN(url_cases); i++)
		if (url_cases[i].before.weight) {
			items[n] = url_cases[i].before;
			items[n++].fp = play_footprint(i);
		}
	lab_make(&lab, "cork-urls", items, n, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t i = 0; i < ARRAY_LEN(url_cases); i++)
		lab_tell(&lab, i, url_cases[i].entry);
	cork(&lab, &conf);
	for (uint64_t i = 0; i < ARRAY_LEN(url_cases); i++) {
		CLEANUP(buf_free) struct buf want = BUF_INIT(1 << 12), is = BUF_INIT(1 << 12);
		struct index_item after = url_cases[i].after, item = {0};
		after.fp = play_footprint(i);
		bool known = lab_knows(&lab, i);
		if (known)
			item = lab_find(&lab, i);
		index_item_print(&after, &want);
		index_item_print(&item, &is);
		unsigned char a[INDEX_ITEM], b[INDEX_ITEM];
		index_item_write(&after, a);
		index_item_write(&item, b);
		if (known != (after.weight > 0) || (known && memcmp(a, b, sizeof a) != 0))
			fail_msg("%s: %s\nis   %s\nwant %s", url_cases[i].says,
				 known ? "known" : "not known", buf_text(&is), buf_text(&want));
	}
	lab_free(&lab);
}

/* Sites */

struct site_case {
	const char *says;
	struct site before;
	struct {
		uint64_t page; /* of the site; 0 and 1 in the order of footprints */
		struct journal_entry e;
	} tell[MOST];
	struct site after;
	uint32_t key_s; /* last seen of the key item; 0: there is none */
};

static const struct site_case site_cases[] = {
	{"no entry",
	 {.download_ms = 5, .qkey = 4},
	 {{.page = 0}},
	 {.download_ms = 5, .qkey = 4},
	 0},
	{"the first server is not a change", {0}, {{0, KEY(11)}}, {.qkey = 11}, NOW_S + AT},
	{"another one is",
	 {.qkey = 11},
	 {{0, KEY(12)}, {0, ENTRY(.where = 3)}},
	 {.qkey = 12, .oscillations = 1},
	 NOW_S + AT},
	{"once in a cycle, by the last that is told, whatever the order",
	 {.qkey = 11},
	 {{0, KEY(13)},
	  {0,
	   {.time_us = AT_US - 9 * US_PER_S,
	    .type = ITEM_QKEY,
	    .qkey = 12,
	    .code = CODE_RESOLVED}}},
	 {.qkey = 13, .oscillations = 1},
	 NOW_S + AT},
	{"a key is no try",
	 {.qkey = 11, .error_cycles = 3, .failed_s = 9},
	 {{0, KEY(11)}},
	 {.qkey = 11, .error_cycles = 3, .failed_s = 9},
	 NOW_S + AT},
	{"nor does it hide that all tries failed",
	 {.qkey = 11},
	 {{0, KEY(11)}, {0, FAILURE(.due_s = 1)}},
	 {.qkey = 11, .error_cycles = 1, .failed_s = NOW_S + AT},
	 NOW_S + AT},
	{"none was told",
	 {.qkey = 11, .oscillations = 255},
	 {{0, ENTRY(.where = 3)}},
	 {.qkey = 11, .oscillations = 255},
	 0},
	{"changes are counted to 255",
	 {.qkey = 11, .oscillations = 255},
	 {{0, KEY(12)}},
	 {.qkey = 12, .oscillations = 255},
	 NOW_S + AT},
	{"the first transfer is the mean",
	 {0},
	 {{0, ENTRY(.download_ms = 400)}},
	 {.download_ms = 400},
	 0},
	{"each further one has a quarter, in the order of footprints",
	 {.download_ms = 400},
	 {{1, ENTRY(.download_ms = 100)}, {0, ENTRY(.download_ms = 800)}, {1, ENTRY(.where = 3)}},
	 {.download_ms = 400},
	 0},
	{"a mean does not overflow",
	 {.download_ms = UINT32_MAX},
	 {{0, ENTRY(.download_ms = UINT32_MAX)}},
	 {.download_ms = UINT32_MAX},
	 0},
	{"every try failed",
	 {.error_cycles = 3, .failed_s = 9},
	 {{1, FAILURE(.due_s = 1)}, {0, FAILURE(.time_us = AT_US + 5 * US_PER_S)}},
	 {.error_cycles = 4, .failed_s = NOW_S + AT + 5},
	 0},
	{"also where that was the last try",
	 {0},
	 {{0, GONE(.code = CODE_NO_HOST)},
	  {1, GONE(.code = CODE_CONNECTION)},
	  {1, GONE(.code = CODE_BROKEN)}},
	 {.error_cycles = 1, .failed_s = NOW_S + AT},
	 0},
	{"cycles are counted to 255",
	 {.error_cycles = 255},
	 {{0, FAILURE(.due_s = 1)}},
	 {.error_cycles = 255, .failed_s = NOW_S + AT},
	 0},
	{"one answer ends that, though it is a bad one",
	 {.error_cycles = 3, .failed_s = 9},
	 {{0, FAILURE(.due_s = 1)}, {1, GONE(.code = 2404)}},
	 {0},
	 0},
	{"robots.txt forbids it: the server is well",
	 {.error_cycles = 3, .failed_s = 9},
	 {{0, GONE(.code = CODE_ROBOTS)}},
	 {0},
	 0},
};

static uint64_t page_of_case(uint64_t i, uint64_t page)
{
	uint64_t a = i * PLAY_PER_SITE, b = a + 1;
	bool turned = play_footprint(a).path > play_footprint(b).path;
	return page == turned ? a : b;
}

static void put_sites(struct lab *lab)
{
	struct err err = {0};
	struct sites *sites = lab_sites(lab);
	lab_enter(lab, false, PHASE_MERGE);
	for (uint64_t i = 0; i < ARRAY_LEN(site_cases); i++) {
		struct site *site = sites_get(sites, play_footprint(i * PLAY_PER_SITE).site);
		const struct site *from = &site_cases[i].before;
		site->qkey = from->qkey;
		site->oscillations = from->oscillations;
		site->download_ms = from->download_ms;
		site->error_cycles = from->error_cycles;
		site->failed_s = from->failed_s;
		site->active = 17;
	}
	MUST(state_sites_put(lab->st, sites, &err));
	sites_free(&sites);
	lab_close(lab);
}

static void check_site(struct lab *lab, struct sites *sites, uint64_t i)
{
	struct err err = {0};
	const struct site_case *is = &site_cases[i];
	uint64_t fp = play_footprint(i * PLAY_PER_SITE).site;
	const struct site *site = sites_get(sites, fp);
	const struct url_index *index;
	struct index_item key = {0};
	MUST(state_index(lab->st, &index, &err));
	int rc = url_index_find(index, (struct footprint){fp, 0}, &key, &err);
	if (site->qkey != is->after.qkey || site->oscillations != is->after.oscillations ||
	    site->download_ms != is->after.download_ms ||
	    site->error_cycles != is->after.error_cycles || site->failed_s != is->after.failed_s ||
	    site->active != 17 || (rc == 0) != (is->key_s > 0))
		fail_msg("%s: qkey %" PRIu64 " changes %u mean %" PRIu32 " errors %u at %" PRIu32
			 " key item %d",
			 is->says, site->qkey, site->oscillations, site->download_ms,
			 site->error_cycles, site->failed_s, rc == 0);
	if (rc != 0)
		return;
	assert_int_equal(ITEM_QKEY, key.type);
	assert_int_equal(ITEM_ROBOTS, key.flags);
	assert_int_equal(ITEM_NOWHERE, key.where);
	assert_int_equal(is->key_s, key.last_seen_s);
}

static void sites_are_what_their_entries_say(void **state)
{
	(void)state;
	enum { N = ARRAY_LEN(site_cases) };
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[2 * N];
	uint64_t pages[N];
	for (uint64_t i = 0; i < N; i++) {
		pages[i] = i * PLAY_PER_SITE;
		items[2 * i] = lab_item(pages[i], ITEM_GATHERED);
		items[2 * i + 1] = lab_item(pages[i] + 1, ITEM_GATHERED);
	}
	lab_make(&lab, "cork-sites", items, ARRAY_LEN(items), pages, N);
	put_sites(&lab);
	lab_enter(&lab, false, PHASE_REAP);
	for (size_t t = 0; t < MOST; t++)
		for (uint64_t i = 0; i < N; i++)
			if (site_cases[i].tell[t].e.time_us)
				tell(&lab, page_of_case(i, site_cases[i].tell[t].page),
				     &site_cases[i].tell[t].e);
	/* a site that is not known says nothing, and has no key item */
	tell(&lab, N * PLAY_PER_SITE, &(struct journal_entry)KEY(5));
	lab_journal(&lab, N * PLAY_PER_SITE, (struct journal_entry)ENTRY(.where = 3));
	cork(&lab, &conf);
	struct sites *sites = lab_sites(&lab);
	assert_int_equal(N, sites_count(sites));
	uint64_t keys = 0;
	for (uint64_t i = 0; i < N; i++) {
		check_site(&lab, sites, i);
		keys += site_cases[i].key_s > 0;
	}
	sites_free(&sites);
	assert_int_equal(keys, state_params(lab.st)->course.urls[ITEM_QKEY]);
	assert_int_equal(2 * N, state_params(lab.st)->course.urls[ITEM_GATHERED] +
					state_params(lab.st)->course.urls[ITEM_ZOMBIE]);
	lab_free(&lab);
}

static void a_key_item_follows_its_site(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {lab_item(0, ITEM_NEW)}, key;
	lab_make(&lab, "cork-key", items, 1, (uint64_t[]){0}, 1);
	for (uint32_t round = 1; round <= 2; round++) {
		const struct url_index *index;
		lab_enter(&lab, false, PHASE_REAP);
		struct journal_entry told = KEY(5 + round);
		told.time_us = AT_US + round * US_PER_DAY;
		tell(&lab, 0, &told);
		cork(&lab, &conf);
		MUST(state_index(lab.st, &index, &err));
		MUST(url_index_find(index, (struct footprint){items[0].fp.site, 0}, &key, &err));
		assert_int_equal(NOW_S + AT + round * DAY_S, key.last_seen_s);
		assert_int_equal(AT_US / US_PER_DAY + 1, key.since_day); /* since the first */
		assert_int_equal(2, url_index_items(index));
		assert_int_equal(round, state_params(lab.st)->course.rounds);
	}
	lab_free(&lab);
}

/* What is asked for on a site that nobody knew brings the site, and its first page is found. */
static void a_page_by_hand_brings_its_site(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	conf.auto_go_root = true;
	lab_make(&lab, "cork-hand", NULL, 0, (uint64_t[]){0, 100}, 2);
	lab_enter(&lab, false, PHASE_REAP);
	lab_journal(&lab, 51, (struct journal_entry)FAILURE(.flags = ITEM_INITIAL));
	for (uint64_t page = 52; page < 55; page++)
		lab_journal(&lab, page, (struct journal_entry)ENTRY(.flags = ITEM_INITIAL));
	tell(&lab, 52, &(struct journal_entry)KEY(5));
	cork(&lab, &conf);
	struct sites *sites = lab_sites(&lab);
	const struct site *site = sites_get(sites, play_footprint(50).site);
	assert_int_equal(3, sites_count(sites));
	assert_non_null(site);
	assert_true(str_is(site->host, "site1.example"));
	assert_int_equal(80, site->port);
	assert_int_equal(5, site->qkey);
	assert_int_equal(site->fp, site->norm);
	sites_free(&sites);
	assert_true(lab_knows(&lab, 53));
	assert_false(lab_knows(&lab, 51));
	struct record_reader *in = NULL;
	struct record record;
	struct contrib c;
	MUST(state_read(lab.st, "contrib", &in, &err));
	MUST(record_next(in, &record, &err));
	MUST(contrib_read(record.payload, &c, &err));
	assert_true(str_is(c.url, "http://site1.example/"));
	assert_int_equal(ITEM_EQUIV, c.flags);
	assert_int_equal(play_footprint(50).site, c.fp.site);
	assert_int_equal(1, record_next(in, &record, &err)); /* one, for all pages of the site */
	record_reader_free(&in);
	lab_free(&lab);
}

/* robots.txt */

static const struct {
	const char *says;
	bool known; /* gathered, with bucket 7 */
	struct journal_entry entry;
	enum item_type type;
	uint64_t where;
	uint8_t retry;
} robots_cases[] = {
	{"the first one", false, ENTRY(.op = CHANGE_NONE), ITEM_GATHERED, 9, 0},
	{"another one", true, ENTRY(.op = CHANGE_NONE), ITEM_GATHERED, 9, 0},
	{"the same", true, ENTRY(.op = CHANGE_NONE, .where = ITEM_NOWHERE), ITEM_GATHERED, 7, 0},
	{"there is none", true, GONE(.type = ITEM_ERROR, .code = 2404), ITEM_ERROR, ITEM_NOWHERE,
	 0},
	{"it cannot be had", true, GONE(.type = ITEM_ERROR, .code = 1503), ITEM_ERROR, 7, 0},
	{"it cannot be had now", true, FAILURE(.due_s = 4), ITEM_GATHERED, 7, 1},
	{"nor for the first time", false, FAILURE(.due_s = 4), ITEM_NEW, ITEM_NOWHERE, 1},
};

static void robots_txt_becomes_an_item_of_its_site(void **state)
{
	(void)state;
	enum { N = ARRAY_LEN(robots_cases) };
	struct lab lab;
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	const struct url_index *index;
	struct index_item items[N], item;
	struct footprint fp = {0, footprint_path(STR("/robots.txt"))};
	uint64_t pages[N];
	size_t n = 0;
	for (uint64_t i = 0; i < N; i++) {
		pages[i] = i * PLAY_PER_SITE;
		fp.site = play_footprint(pages[i]).site;
		if (robots_cases[i].known)
			items[n++] = (struct index_item){
				.fp = fp, .where = 7, .type = ITEM_GATHERED, .flags = ITEM_ROBOTS};
	}
	lab_make(&lab, "cork-robots", items, n, pages, N);
	lab_enter(&lab, false, PHASE_REAP);
	for (uint64_t i = 0; i <= N; i++) { /* the last one is of a site that is not known */
		struct journal_entry e = robots_cases[i % N].entry;
		e.fp = fp;
		e.fp.site = play_footprint(i * PLAY_PER_SITE).site;
		e.flags = ITEM_ROBOTS;
		e.url = STR("-");
		MUST(state_journal(lab.st, &e, &err));
		e.flags = ITEM_INITIAL; /* as a page it says nothing */
		e.where = 1000;
		e.time_us++;
		MUST(state_journal(lab.st, &e, &err));
	}
	cork(&lab, &conf);
	MUST(state_index(lab.st, &index, &err));
	assert_int_equal(N, url_index_items(index));
	assert_int_equal(N, state_params(lab.st)->course.urls[ITEM_QKEY]);
	for (uint64_t i = 0; i < N; i++) {
		fp.site = play_footprint(pages[i]).site;
		MUST(url_index_find(index, fp, &item, &err));
		if (item.type != robots_cases[i].type || item.where != robots_cases[i].where ||
		    item.retry != robots_cases[i].retry || item.flags != ITEM_ROBOTS ||
		    item.code != robots_cases[i].entry.code || item.last_seen_s != NOW_S + AT)
			fail_msg("%s: type %u, bucket %" PRIx64 ", retry %u, code %u",
				 robots_cases[i].says, item.type, item.where, item.retry,
				 item.code);
	}
	lab_free(&lab);
}

/* When something is due next */

static const struct {
	const char *says;
	struct index_item before;
	struct journal_entry entry;
	uint64_t due_s;
} due_cases[] = {
	{"a page", ITEM(.type = ITEM_NEW), ENTRY(.where = 3), NOW_S + AT + REFRESH_S},
	{"a page that is looked at often", ITEM(.type = ITEM_GATHERED, .freq = 4),
	 ENTRY(.where = 3), NOW_S + AT + REFRESH_S / 4},
	{"a page whose server said when", ITEM(.type = ITEM_GATHERED),
	 ENTRY(.due_s = NOW_S + AT + 7), NOW_S + AT + 7},
	{"a failure that may be tried again", ITEM(.type = ITEM_NEW), FAILURE(.due_s = 0),
	 NOW_S + AT},
	{"a failure with a time that no clock of ours has set", ITEM(.type = ITEM_NEW),
	 FAILURE(.due_s = NOW_S + AT + REFRESH_S + 1), NOW_S + AT},
	{"a failure", ITEM(.type = ITEM_NEW), FAILURE(.due_s = NOW_S + AT + 60), NOW_S + AT + 60},
	{"an error by hand", ITEM(.type = ITEM_NEW, .flags = ITEM_INITIAL),
	 GONE(.type = ITEM_ERROR), NOW_S + AT + REFRESH_S},
	{"another error", ITEM(.type = ITEM_NEW), GONE(.type = ITEM_ERROR), UINT32_MAX},
	{"a zombie", ITEM(.type = ITEM_NEW), GONE(.code = 2404), UINT32_MAX},
};

static uint64_t due_after(struct lab *lab, struct crawl_conf *conf, uint64_t known_s,
			  const struct journal_entry *entry)
{
	struct err err = {0};
	lab_enter(lab, false, PHASE_REAP);
	struct state_course course = state_params(lab->st)->course;
	course.due_s = known_s;
	MUST(state_params_put(lab->st, &course, &err));
	if (entry)
		lab_journal(lab, 0, *entry);
	cork(lab, conf);
	return state_params(lab->st)->course.due_s;
}

static void the_course_says_when_something_is_due(void **state)
{
	(void)state;
	struct crawl_conf conf = lab_conf();
	for (size_t i = 0; i < ARRAY_LEN(due_cases); i++) {
		struct lab lab;
		char name[32];
		struct index_item item = due_cases[i].before;
		item.fp = play_footprint(0);
		snprintf(name, sizeof name, "cork-due-%zu", i);
		lab_make(&lab, name, &item, 1, (uint64_t[]){0}, 1);
		uint64_t due = due_after(&lab, &conf, UINT32_MAX, &due_cases[i].entry);
		if (due != due_cases[i].due_s)
			fail_msg("%s: %" PRIu64, due_cases[i].says, due);
		/* what was known before may be sooner */
		assert_int_equal(NOW_S + 3, due_after(&lab, &conf, NOW_S + 3, &due_cases[i].entry));
		assert_int_equal(NOW_S + 3, due_after(&lab, &conf, NOW_S + 3, NULL));
		lab_free(&lab);
	}
}

static ino_t inode_of(struct lab *lab, const char *file)
{
	struct stat is;
	assert_int_equal(0, stat(state_path(lab->st, &lab->arena, file), &is));
	return is.st_ino;
}

static void a_journal_that_is_empty_leaves_the_files_alone(void **state)
{
	(void)state;
	struct lab lab;
	struct crawl_conf conf = lab_conf();
	struct index_item items[] = {lab_item(0, ITEM_NEW)};
	lab_make(&lab, "cork-empty", items, 1, (uint64_t[]){0}, 1);
	ino_t index = inode_of(&lab, "index"), sites = inode_of(&lab, "sites");
	lab_enter(&lab, false, PHASE_REAP);
	cork(&lab, &conf);
	assert_int_equal(index, inode_of(&lab, "index"));
	assert_int_equal(sites, inode_of(&lab, "sites"));
	assert_int_equal(1, state_params(lab.st)->course.rounds);
	lab_enter(&lab, false, PHASE_REAP);
	lab_journal(&lab, 0, (struct journal_entry)ENTRY(.where = 2));
	cork(&lab, &conf);
	assert_int_not_equal(index, inode_of(&lab, "index"));
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urls_become_what_the_journal_says),
		cmocka_unit_test(sites_are_what_their_entries_say),
		cmocka_unit_test(a_key_item_follows_its_site),
		cmocka_unit_test(a_page_by_hand_brings_its_site),
		cmocka_unit_test(robots_txt_becomes_an_item_of_its_site),
		cmocka_unit_test(the_course_says_when_something_is_due),
		cmocka_unit_test(a_journal_that_is_empty_leaves_the_files_alone),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
