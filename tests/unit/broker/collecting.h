/* What the tests of the collector share: a collector in a folder of its own that follows a list,
 * what it is told, and what is there afterwards. */
#pragma once
#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "broker/collector.h"
#include "broker/search.h"
#include "disk/tree.h"
#include "index/words.h"
#include "support/source_list.h"

#include <inttypes.h>
#include <unistd.h>

static char data[4096];
static struct source_list *list;
static struct collector *collector;
static struct collector_feed feed; /* of the list */
static struct collector_options options;
static struct err err;
static struct docstore *texts; /* of store_stats() */
static struct arena arena = ARENA_INIT(512 << 20);
static uint32_t time_s; /* of objects: now, and later with each that is told */

static inline void begin(void)
{
	assert_int_equal(collector_open(&collector, &options, &err), 0);
}

static inline void again(void)
{
	collector_close(&collector);
	begin();
}

/* Without opening it. */
static inline int setup_closed(void **state)
{
	if (scratch_make_in_memory(state) != 0)
		return -1;
	snprintf(data, sizeof data, "%s", scratch_dir);
	list = source_list_new();
	feed = (struct collector_feed){.name = "list", .ops = &source_list_ops, .store = list};
	options = (struct collector_options){.data = data, .feeds = &feed, .n = 1};
	time_s = (uint32_t)(clock_wall_us() / US_PER_S);
	return 0;
}

static inline int setup(void **state)
{
	if (setup_closed(state) != 0)
		return -1;
	begin();
	return 0;
}

static inline int teardown(void **state)
{
	collector_close(&collector);
	source_list_free(&list);
	arena_free(&arena);
	return scratch_done(state);
}

/* Another store: the cursor means nothing there. The collector is closed. */
static inline void lose_the_list(void)
{
	source_list_free(&list);
	list = source_list_new();
	feed.store = list;
}

static inline const char *broker_folder(void)
{
	return arena_printf(&arena, "%s/broker", data);
}

static inline const char *path_of(const char *name)
{
	return arena_printf(&arena, "%s/broker/%s", data, name);
}

/* Objects. What is NULL or 0 is as below, or absent. */
struct thing {
	enum source_op op;
	const char *gatherer, *host; /* "tester", "here"; "": absent */
	const char *version;         /* "1" */
	const char *url, *title, *text, *md5;
	uint32_t time_s; /* later than all before; UINT32_MAX: absent */
	uint32_t refresh_rate_s, time_to_live_s;
};

static inline void add_text(struct soif *obj, const char *name, const char *value)
{
	if (value && *value)
		soif_add(obj, &arena, str_of(name), str_of(value));
}

static inline void add_number(struct soif *obj, const char *name, uint32_t value)
{
	if (value)
		add_text(obj, name, arena_printf(&arena, "%" PRIu32, value));
}

/* In the arena. */
static inline struct source_change change_of(const struct thing *t)
{
	struct soif obj = {.type = STR("FILE"), .url = str_of(t->url)};
	uint32_t when_s = t->time_s ? t->time_s : ++time_s;
	add_text(&obj, "Gatherer-Name", t->gatherer ? t->gatherer : "tester");
	add_text(&obj, "Gatherer-Host", t->host ? t->host : "here");
	add_text(&obj, "Gatherer-Version", t->version ? t->version : "1");
	add_number(&obj, "Update-Time", when_s == UINT32_MAX ? 0 : when_s);
	add_number(&obj, "Refresh-Rate", t->refresh_rate_s);
	add_number(&obj, "Time-to-Live", t->time_to_live_s);
	if (t->op == SOURCE_UPDATE) {
		add_text(&obj, "MD5", t->md5);
		add_text(&obj, "Title", t->title);
		add_text(&obj, "Full-Text", t->text);
		add_text(&obj, "Type", "HTML");
	}
	return (struct source_change){t->op, STR("test"), obj};
}

static inline void tell_thing(const struct thing *t)
{
	struct source_change change = change_of(t);
	source_list_add(list, &change);
}
#define TELL(...) tell_thing(&(struct thing){__VA_ARGS__})

static inline void tell(enum source_op op, const char *url, const char *title, const char *text)
{
	TELL(.op = op, .url = url, .title = title, .text = text);
}

/* An MD5 of one digit. */
static inline const char *md5_of(char digit)
{
	char *text = arena_alloc(&arena, 33);
	memset(text, digit, 32);
	text[32] = 0;
	return text;
}

/* Steps until there is nothing to do, and everything is committed. */
static inline void collect_at(int64_t now_us)
{
	for (int i = 0; i < 2; i++) {
		int rc;
		while ((rc = collector_step(collector, now_us, &err)) == 0)
			;
		assert_int_equal(rc, 1);
		assert_int_equal(collector_commit(collector, &err), 0);
	}
}

static inline void collect(void)
{
	collect_at(clock_mono_us());
}

/* What is there */

/* How many are found, and the URL of the first. */
static inline uint64_t found(const char *words, const char *site, struct str *ret_first)
{
	struct search *s;
	struct search_answer a;
	struct search_ask ask = {
		.words = str_of(words), .site = str_of(site), .limit = 10, .exact_total = true};
	s = search_open(data);
	assert_int_equal(search_run(s, &ask, &arena, &a, &err), 0);
	if (ret_first)
		*ret_first = a.n ? arena_str(&arena, a.row[0].url) : STR("");
	search_close(&s);
	return a.total;
}

/* The text that a URL shows; empty: none. */
static inline struct str shown(const char *url)
{
	struct search *s;
	struct soif doc;
	s = search_open(data);
	int rc = search_document(s, str_of(url), &arena, &doc, &err);
	search_close(&s);
	assert_true(rc >= 0);
	return rc == 0 ? soif_get(&doc, STR("Full-Text")) : STR("");
}

/* The object that is committed. 1: there is none. */
static inline int registered(const char *gatherer, const char *url, struct registry_object *ret)
{
	struct registry *r;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	int rc = registry_find(r, str_of(gatherer), STR("here"), str_of(url), &arena, ret, &err);
	registry_close(&r);
	assert_true(rc >= 0);
	return rc;
}

static inline uint64_t objects_there(void)
{
	struct registry *r;
	struct registry_stats stats;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	registry_stats(r, &stats);
	registry_close(&r);
	return stats.valid;
}

/* Texts in the store, for all numbers that were ever given. */
static inline uint64_t kept(void)
{
	struct docstore *ds;
	struct registry *r;
	struct registry_stats stats;
	struct soif doc;
	uint64_t n = 0;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	registry_stats(r, &stats);
	registry_close(&r);
	assert_int_equal(docstore_open_read(&ds, path_of("docs"), &err), 0);
	for (uint64_t oid = 1; oid <= stats.oids; oid++) {
		int rc = docstore_get(ds, oid, &arena, &doc, &err);
		assert_true(rc >= 0);
		n += rc == 0;
	}
	docstore_close(&ds);
	return n;
}

static inline int delete_nobodys(void *ctx, uint64_t oid, struct err *e)
{
	int rc = registry_has_oid(ctx, (uint32_t)oid, e);
	return rc == 1 ? MIN(docstore_delete(texts, oid, e), 0) : rc;
}

/* Of the documents as the next start finds them; the collector is opened again. */
static inline struct docstore_stats store_stats(void)
{
	struct docstore_mark mark;
	struct docstore_stats stats;
	struct registry *r;
	collector_close(&collector);
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	registry_docs(r, &mark);
	assert_int_equal(docstore_open(&texts, path_of("docs"), &mark, NULL, &err), 0);
	assert_int_equal(docstore_each(texts, 1, delete_nobodys, r, &err), 0);
	assert_int_equal(docstore_stats(texts, &stats, &err), 0);
	docstore_close(&texts);
	registry_close(&r);
	begin();
	collect();
	return stats;
}

static inline uint64_t generation(void)
{
	struct words_reader *r;
	struct words_stats stats;
	assert_int_equal(words_open(&r, path_of("words"), &err), 0);
	words_stats(r, &stats);
	words_close(&r);
	return stats.generation;
}

/* Registry, documents and index are whole. */
static inline void verify_all(void)
{
	struct registry *r;
	struct docstore *ds;
	struct docstore_mark mark;
	struct words_reader *w;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	assert_int_equal(registry_verify(r, &err), 0);
	registry_docs(r, &mark);
	assert_int_equal(docstore_open_read(&ds, path_of("docs"), &err), 0);
	assert_int_equal(docstore_verify(ds, &mark, &err), 0);
	assert_int_equal(words_open(&w, path_of("words"), &err), 0);
	assert_int_equal(words_verify(w, &err), 0);
	words_close(&w);
	docstore_close(&ds);
	registry_close(&r);
}

/* Faults are armed while no threads run. */
static inline void again_with(const char *faults)
{
	collector_close(&collector);
	assert_int_equal(fault_arm(faults, &err), 0);
	begin();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
