/* Random objects of a few gatherers, with restarts, compactions, compressions, expiry and files
 * that are lost, against a plain model in arrays: which objects are registered, who has a text, and
 * which text each URL shows. */
#include "../dice.h"
#include "collecting.h"
#include "support/object_world.h"

enum {
	GATHERERS = WORLD_GATHERERS,
	URLS = 9,
	MD5S = 4 /* 0: absent */,
	DAY_S = 86400,
	MUCH = 4500
};

static struct world world;
static uint64_t seed;
static int64_t now_us; /* does not go on: nothing expires but when it is said so */

static unsigned roll(unsigned n)
{
	return (unsigned)(dice(&seed) >> 16) % n;
}

/* Telling both */

static const char *gatherer_of(unsigned g)
{
	return arena_printf(&arena, "gatherer%u", g);
}

static const char *url_of(unsigned u)
{
	return arena_printf(&arena, "http://a/%u", u);
}

static const char *text_of(uint64_t text)
{
	return arena_printf(&arena, "word%" PRIu64 " common", text);
}

static uint32_t from_s; /* times of objects are from here on */
static uint32_t time_of(unsigned g, unsigned i)
{
	return from_s + GATHERERS * i + g;
}

static void tell_one(void)
{
	static uint64_t number;
	unsigned g = roll(GATHERERS), u = roll(URLS), kind = roll(10);
	struct known k = {.md5 = roll(MD5S), .time_s = time_of(g, roll(200)), .text = ++number};
	k.time_to_live_s = (roll(4) ? 28 : 5) * DAY_S;
	if (kind < 6)
		world_update(&world, g, u, &k);
	else if (kind < 8)
		world_refresh(&world, g, u, k.time_s);
	else
		world_delete(&world, g, u, k.time_s);
	TELL(.op = kind < 6   ? SOURCE_UPDATE
		   : kind < 8 ? SOURCE_REFRESH
			      : SOURCE_DELETE,
	     .gatherer = gatherer_of(g), .url = url_of(u), .time_s = k.time_s,
	     .time_to_live_s = kind < 6 ? k.time_to_live_s : 0,
	     .md5 = k.md5 ? md5_of((char)('a' + k.md5)) : NULL, .text = text_of(k.text));
}

/* Comparing */

static void compare_record(const struct registry_object *o)
{
	uint64_t g, u;
	assert_true(str_u64(str_from(o->gatherer_name, 8), &g) && g < GATHERERS);
	assert_true(str_u64(str_from(o->url, 9), &u) && u < URLS);
	const struct known *k = &world.of[g][u];
	assert_true(k->there);
	assert_int_equal(o->update_time_s, k->time_s);
	assert_int_equal(o->time_to_live_s, k->time_to_live_s);
	assert_str(o->md5, k->md5 ? md5_of((char)('a' + k->md5)) : "");
	assert_int_equal(o->oid != 0, k->has_text);
}

static void compare_registry(void)
{
	struct registry *r;
	struct registry_scan *scan;
	struct registry_record record;
	struct docstore *ds;
	struct soif doc;
	struct world_counts counts = world_count(&world);
	uint64_t living = 0;
	int rc;
	assert_int_equal(registry_open_read(&r, broker_folder(), &err), 0);
	assert_int_equal(docstore_open_read(&ds, path_of("docs"), &err), 0);
	assert_int_equal(registry_scan_open(&scan, r, 0, &err), 0);
	while ((rc = registry_scan_next(scan, &record, &err)) == 0)
		if (record.living) {
			compare_record(&record.object);
			living++;
			if (record.object.oid)
				assert_int_equal(
					docstore_get(ds, record.object.oid, &arena, &doc, &err), 0);
		}
	assert_int_equal(rc, 1);
	registry_scan_free(&scan);
	assert_int_equal(living, counts.objects);
	docstore_close(&ds);
	registry_close(&r);
	assert_int_equal(kept(), counts.texts); /* and no others are */
}

static void compare_searches(void)
{
	unsigned one = roll(URLS);
	for (unsigned u = 0; u < URLS; u++) {
		const struct known *k = world_shown(&world, u);
		struct str first;
		assert_str(shown(url_of(u)), k ? text_of(k->text) : "");
		if (!k || u != one)
			continue;
		assert_int_equal(found(arena_printf(&arena, "word%" PRIu64, k->text), "", &first),
				 1);
		assert_str(first, url_of(u));
	}
	assert_int_equal(found("common", "", NULL), world_count(&world).shown);
}

static void compare_all(void)
{
	collect_at(now_us);
	compare_registry();
	compare_searches();
}

/* What else may happen */

static void start_again(void)
{
	begin();
	now_us = clock_mono_us();
}

static void restart(void)
{
	collector_close(&collector);
	start_again();
}

static void lose(void)
{
	static const char *const files[] = {"registry.tables", "docs/table", "words",
					    "words/manifest"};
	collector_close(&collector);
	assert_true(tree_remove(path_of(files[roll(ARRAY_LEN(files))]), &err) >= 0);
	start_again();
}

/* Twice, since a twin may take over from one that has expired as well. */
static void expire(void)
{
	uint64_t before;
	collect_at(now_us);
	do {
		before = objects_there();
		collector_expire(collector);
		collect_at(now_us);
	} while (objects_there() < before);
	world_expire(&world, clock_wall_us() / US_PER_S);
}

static void compact(void)
{
	assert_true(collector_compact(collector, 1, &err) >= 0);
}

static void compact_meanwhile(void)
{
	assert_true(collector_compact_begin(collector, 1, &err) >= 0);
}

/* So much of it that the registry is worth compressing. */
static void refresh_much(void)
{
	unsigned g = roll(GATHERERS), u = roll(URLS);
	struct known k = {.time_s = time_of(g, 200), .time_to_live_s = 28 * DAY_S, .text = MUCH};
	world_update(&world, g, u, &k);
	TELL(.op = SOURCE_UPDATE, .gatherer = gatherer_of(g), .url = url_of(u), .time_s = k.time_s,
	     .time_to_live_s = k.time_to_live_s, .text = text_of(k.text));
	for (unsigned i = 201; i < MUCH; i++) {
		world_refresh(&world, g, u, time_of(g, i));
		TELL(.op = SOURCE_REFRESH, .gatherer = gatherer_of(g), .url = url_of(u),
		     .time_s = time_of(g, i));
	}
	from_s = time_of(0, MUCH - 100);
	collect_at(now_us);
	compact(); /* documents */
	compact(); /* the registry */
}

static void step_once(void)
{
	assert_true(collector_step(collector, now_us, &err) >= 0);
}

static void play(uint64_t with, unsigned steps)
{
	static void (*const events[])(void) = {
		step_once, step_once, step_once, compare_all, compare_all,
		restart,   lose,      expire,    compact,     compact_meanwhile,
	};
	seed = with;
	world = (struct world){0};
	from_s = time_s - 10 * DAY_S;
	now_us = clock_mono_us();
	for (unsigned i = 0; i < steps; i++) {
		if (roll(4))
			tell_one();
		else
			events[roll(ARRAY_LEN(events))]();
		if (i == steps / 2)
			refresh_much();
	}
	compare_all();
	restart();
	compare_all();
	verify_all();
}

static void anything_leaves_what_the_model_says(void **state)
{
	unsigned seeds = unit_thorough() ? 40 : 3, steps = unit_thorough() ? 1000 : 300;
	(void)state;
	for (uint64_t s = 1; s <= seeds; s++) {
		print_message("seed %" PRIu64 "\n", s);
		play(s * 0x9e3779b97f4a7c15, steps);
		collector_close(&collector);
		arena_free(&arena);
		assert_true(tree_remove(broker_folder(), &err) >= 0);
		lose_the_list();
		begin();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(anything_leaves_what_the_model_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
