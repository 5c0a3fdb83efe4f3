/* Bulk transfers: what they tell, in which section and with which numbers, that nothing is missed
 * from one to the next, and that they are of one moment while the broker writes and compresses. */
#include "broker/bulk_inner.h"

#include "../dice.h"
#include "broker/gatherer_answer_inner.h"
#include "broker/objects_inner.h"
#include "collecting.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>

enum { BEGAN_S = 1700000000, OBJECT_MAX = 8 << 20, TTL_S = 2419200 };

/* A broker without a collector: the clock is the test's. */
static struct registry *registry;
static struct docstore *docs;
static struct indexer *indexer;
static struct objects *objects;
static uint32_t now_s;

static void broker_open(void)
{
	struct docstore_mark mark;
	const struct registry_options few = {
		.remember_deleted_s = 1000000, .compress_least = 8, .tables_least = 8};
	assert_int_equal(registry_open(&registry, broker_folder(), &few, NULL, &err), 0);
	registry_docs(registry, &mark);
	assert_int_equal(docstore_open(&docs, path_of("docs"), &mark, NULL, &err), 0);
	assert_int_equal(indexer_open(&indexer, broker_folder(), registry, docs, &err), 0);
	objects = objects_new(registry, docs, indexer);
	(void)registry_point(registry, "test");
}

static void broker_close(void)
{
	objects_free(&objects);
	indexer_close(&indexer);
	docstore_close(&docs);
	registry_close(&registry);
}

static void broker_commit(void)
{
	struct docstore_mark mark;
	assert_int_equal(docstore_sync(docs, &mark, &err), 0);
	assert_true(registry_commit(registry, &mark, &err) >= 0);
	assert_int_equal(indexer_commit(indexer, &err), 0);
	assert_int_equal(objects_committed(objects, &err), 0);
}

static void broker_compress(void)
{
	struct registry_compression *c;
	assert_true(docstore_compact(docs, 1, &err) >= 0);
	if (registry_compress_begin(registry, false, (int64_t)now_s * US_PER_S, &c, &err) == 0) {
		assert_int_equal(registry_compress_copy(c, &err), 0);
		assert_int_equal(registry_compress_end(c, &err), 0);
		registry_compress_free(&c);
	}
}

static int bulk_setup(void **state)
{
	if (setup_closed(state) != 0 || mkdir(broker_folder(), 0700) != 0)
		return -1;
	now_s = BEGAN_S;
	broker_open();
	return 0;
}

static int bulk_teardown(void **state)
{
	broker_close();
	source_list_free(&list);
	arena_free(&arena);
	return scratch_done(state);
}

static void tell_change(const struct source_change *change)
{
	enum objects_did did;
	assert_int_equal(
		objects_apply(objects, 1, change, false, (int64_t)now_s * US_PER_S, &did, &err), 0);
}

/* Its Update-Time is what the clock says, unless it is said. */
static void tell_now(struct thing thing)
{
	if (!thing.time_s)
		thing.time_s = now_s;
	struct source_change change = change_of(&thing);
	tell_change(&change);
}
#define NOW(...) tell_now((struct thing){__VA_ARGS__})

static void update_now(const char *url, const char *md5, const char *text)
{
	NOW(.op = SOURCE_UPDATE, .url = url, .md5 = md5, .text = text);
}

static void refresh_now(const char *url)
{
	NOW(.op = SOURCE_REFRESH, .url = url);
}

static void delete_now(const char *url)
{
	NOW(.op = SOURCE_DELETE, .url = url);
}

/* Transfers */

static struct bulk *bulk_begin(uint32_t since_s)
{
	struct bulk *b = NULL;
	const struct bulk_options of = {
		.data = data, .since_s = since_s, .now_us = (int64_t)now_s * US_PER_S};
	assert_int_equal(bulk_open(&b, &of, &err), 0);
	return b;
}

/* To its end, in pieces of about n. */
static int bulk_rest(struct bulk **b, size_t n, struct buf *out)
{
	int rc;
	do {
		size_t before = out->n;
		rc = bulk_make(*b, n, out, &err);
		assert_true(rc < 0 || out->n > before);
		assert_true(out->n - before < n + 48 * 1024);
	} while (rc == 0);
	if (rc == 1)
		assert_int_equal(bulk_make(*b, n, out, &err), 1);
	else
		assert_int_equal(bulk_make(*b, n, out, &err), -1);
	bulk_free(b);
	return rc;
}

static struct str bulk_since(uint32_t since_s, size_t n)
{
	struct buf out = BUF_INIT(64 << 20);
	struct bulk *b = bulk_begin(since_s);
	assert_int_equal(bulk_rest(&b, n, &out), 1);
	struct str all = arena_str(&arena, buf_str(&out));
	buf_free(&out);
	return all;
}

/* What our own collector makes of a transfer: calls fn for each change. */
typedef void change_fn(void *ctx, const struct source_change *change);
static int bulk_read(struct str in, change_fn *fn, void *ctx)
{
	struct gatherer_answer *a = gatherer_answer_new(OBJECT_MAX, false);
	struct source_change change;
	struct arena own = ARENA_INIT(64 << 20);
	int rc;
	bool greeted = false;
	while ((rc = gatherer_answer_next(a, &own, &change, &err)) >= 0 && rc != ANSWER_COMPLETE) {
		if (rc == ANSWER_CHANGE) {
			fn(ctx, &change);
		} else if (rc == ANSWER_MORE && !greeted) {
			gatherer_answer_put(a, STR("000 - HELLO broker\n"));
			greeted = true;
		} else if (rc == ANSWER_MORE && in.n) {
			gatherer_answer_put(a, str_head(in, ANSWER_MAX_PUT));
			in = str_from(in, ANSWER_MAX_PUT);
		} else if (rc == ANSWER_MORE) {
			gatherer_answer_end(a);
		}
		arena_clear(&own);
	}
	arena_free(&own);
	gatherer_answer_free(&a);
	return rc;
}

/* The last line's T. */
static uint32_t next_of(struct str in)
{
	static const struct str words = {"\n099 - end of bulk transfer, next ", 34};
	size_t line = in.n - 1;
	uint64_t next;
	assert_int_equal(in.p[line], '\n');
	while (in.p[--line] != '\n')
		;
	assert_true(str_starts(str_from(in, line), words));
	assert_true(
		str_u64(str_head(str_from(in, line + words.n), in.n - line - words.n - 1), &next));
	return (uint32_t)next;
}

static void add_story(void *ctx, const struct source_change *change)
{
	buf_printf(ctx, "%c" STR_FMT " ", "DRU"[change->op], STR_ARG(change->obj.url));
}

static struct str story_of(struct str in)
{
	struct buf story = BUF_INIT(1 << 20);
	assert_int_equal(bulk_read(in, add_story, &story), ANSWER_COMPLETE);
	struct str text = arena_str(&arena, buf_str(&story));
	buf_free(&story);
	return text;
}

#define assert_story(since_s, want) assert_str(story_of(bulk_since((since_s), 4096)), want)

struct found_change {
	const char *url;
	struct source_change change;
};
static void find_change(void *ctx, const struct source_change *change)
{
	struct found_change *f = ctx;
	if (!str_is(change->obj.url, f->url))
		return;
	f->change = *change;
	f->change.obj = soif_copy(&arena, &change->obj);
}

/* What a transfer says of a URL; its last change. */
static struct source_change change_in(struct str in, const char *url)
{
	struct found_change f = {.url = url};
	assert_int_equal(bulk_read(in, find_change, &f), ANSWER_COMPLETE);
	assert_str(f.change.obj.url, url);
	return f.change;
}

static void assert_attr(const struct soif *obj, const char *name, const char *want)
{
	assert_str(soif_get(obj, str_of(name)), want);
}

/* Tests */

static void a_broker_that_has_collected_nothing_tells_nothing(void **state)
{
	static const char want[] = "000 - bulk transfer of what changed since 7, at 1700000000\n"
				   "@DELETE { }\n@REFRESH { }\n@UPDATE { }\n"
				   "099 - end of bulk transfer, next 0\n";
	(void)state;
	assert_str(bulk_since(7, 1), want);
	broker_close();
	assert_int_equal(tree_remove(broker_folder(), &err), 0);
	assert_str(bulk_since(7, 4096), want);
	assert_int_equal(mkdir(broker_folder(), 0700), 0);
	broker_open();
}

static void changes_are_told_by_section_from_their_second_on(void **state)
{
	(void)state;
	update_now("u:added", NULL, "apple");
	update_now("u:replaced", NULL, "apple");
	update_now("u:refreshed", NULL, "apple");
	update_now("u:deleted", NULL, "apple");
	update_now("u:back", NULL, "apple");
	NOW(.op = SOURCE_UPDATE, .url = "u:expired", .text = "apple", .time_to_live_s = 5);
	broker_commit();
	assert_story(0, "Uu:added Uu:replaced Uu:refreshed Uu:deleted Uu:back Uu:expired ");
	assert_int_equal(next_of(bulk_since(0, 1)), BEGAN_S);
	now_s = BEGAN_S + 10;
	update_now("u:replaced", NULL, "pear");
	refresh_now("u:refreshed");
	delete_now("u:deleted");
	delete_now("u:back");
	struct registry_object expired;
	assert_int_equal(registered("tester", "u:expired", &expired), 0);
	assert_int_equal(objects_drop(objects, &expired, (int64_t)now_s * US_PER_S, &err), 0);
	assert_story(BEGAN_S + 1, ""); /* not committed */
	broker_commit();
	assert_story(0, "Du:deleted Du:back Du:expired Uu:added Uu:replaced Uu:refreshed ");
	assert_story(BEGAN_S, "Du:deleted Du:back Du:expired Uu:added Uu:replaced Uu:refreshed ");
	assert_story(BEGAN_S + 1, "Du:deleted Du:back Du:expired Ru:refreshed Uu:replaced ");
	assert_story(BEGAN_S + 10, "Du:deleted Du:back Du:expired Ru:refreshed Uu:replaced ");
	assert_story(BEGAN_S + 11, "");
	assert_story(UINT32_MAX, "");
	now_s = BEGAN_S + 20;
	update_now("u:back", NULL, "plum");
	refresh_now("u:replaced");
	broker_commit();
	assert_story(BEGAN_S + 10, "Du:deleted Du:expired Ru:refreshed Uu:back Uu:replaced ");
	assert_story(BEGAN_S + 11, "Ru:replaced Uu:back ");
	assert_story(BEGAN_S + 20, "Ru:replaced Uu:back ");
	assert_int_equal(next_of(bulk_since(UINT32_MAX, 1)), BEGAN_S + 20);
	broker_compress();
	assert_story(BEGAN_S + 11, "Ru:replaced Uu:back ");
	broker_close();
	broker_open();
	assert_story(BEGAN_S + 11, "Ru:replaced Uu:back ");
}

static void what_comes_in_the_second_of_the_snapshot_is_told_the_next_time(void **state)
{
	(void)state;
	update_now("u:1", NULL, "apple");
	broker_commit();
	update_now("u:2", NULL, "pear"); /* not committed yet */
	struct str first = bulk_since(0, 4096);
	assert_str(story_of(first), "Uu:1 ");
	now_s += 5;
	update_now("u:3", NULL, "plum");
	broker_commit();
	assert_story(next_of(first), "Uu:1 Uu:2 Uu:3 ");
}

static void a_text_that_came_after_the_clock_was_set_back_is_told(void **state)
{
	(void)state;
	update_now("u:1", NULL, "apple");
	update_now("u:2", NULL, "apple");
	broker_commit();
	uint32_t next_s = next_of(bulk_since(0, 4096));
	now_s -= 100;
	NOW(.op = SOURCE_UPDATE, .url = "u:1", .text = "pear", .time_s = BEGAN_S + 1);
	update_now("u:3", NULL, "plum");
	broker_commit();
	assert_story(next_s, "Uu:2 Uu:1 Uu:3 ");
	assert_story(next_s + 1, "");
}

static void objects_go_out_with_the_registrys_numbers(void **state)
{
	struct source_change change = change_of(&(struct thing){
		.op = SOURCE_UPDATE, .url = "u:1", .time_s = BEGAN_S, .md5 = md5_of('a')});
	(void)state;
	soif_add(&change.obj, &arena, STR("Title"), STR("}\n@UPDATE {\n099 - end\n"));
	soif_add(&change.obj, &arena, STR("uPDATE-tIME"), STR("1700000001"));
	soif_add(&change.obj, &arena, STR("Embed<1>-MD5"), STR("mine"));
	soif_add(&change.obj, &arena, STR("Gatherer-Port"), STR("8500"));
	soif_add(&change.obj, &arena, STR("Last-Modification-Time"), STR("77"));
	soif_add(&change.obj, &arena, STR("Binary"), (struct str){"\0\xff{9}:\t\0", 8});
	tell_change(&change);
	broker_commit();
	now_s += 10;
	NOW(.op = SOURCE_REFRESH, .url = "u:1", .version = "2", .refresh_rate_s = 5,
	    .time_to_live_s = 6);
	NOW(.op = SOURCE_UPDATE, .url = "u:2", .text = "pear");
	broker_commit();
	delete_now("u:2");
	broker_commit();
	static const char numbers[] = "Update-Time{10}:\t1700000010\n"
				      "Last-Modification-Time{2}:\t77\n"
				      "Refresh-Rate{1}:\t5\n"
				      "Time-to-Live{1}:\t6\n"
				      "Gatherer-Name{6}:\ttester\n"
				      "Gatherer-Host{4}:\there\n"
				      "Gatherer-Version{1}:\t2\n"
				      "MD5{32}:\taaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n";
	static const char deleted[] = "@DELETE {\n@FILE { u:2\n"
				      "Update-Time{10}:\t1700000010\n"
				      "Gatherer-Name{6}:\ttester\n"
				      "Gatherer-Host{4}:\there\n"
				      "Gatherer-Version{1}:\t1\n"
				      "}\n}\n";
	struct buf want = BUF_INIT(1 << 20);
	buf_printf(&want,
		   "000 - bulk transfer of what changed since 0, at %" PRIu32
		   "\n%s@REFRESH { }\n@UPDATE {\n@FILE { u:1\n%s"
		   "Type{4}:\tHTML\nTitle{22}:\t}\n@UPDATE {\n099 - end\n\n"
		   "Embed<1>-MD5{4}:\tmine\nGatherer-Port{4}:\t8500\nBinary{8}:\t",
		   now_s, deleted, numbers);
	buf_add(&want, "\0\xff{9}:\t\0\n", 9);
	buf_add_text(&want, "}\n}\n099 - end of bulk transfer, next 1700000010\n");
	for (size_t n = 1; n < 3000; n += 111) {
		struct str got = bulk_since(0, n);
		assert_int_equal(got.n, want.n);
		assert_memory_equal(got.p, want.p, want.n);
	}
	buf_clear(&want);
	buf_printf(&want,
		   "000 - bulk transfer of what changed since 1700000001, at %" PRIu32
		   "\n%s@REFRESH {\n@FILE { u:1\n%s}\n}\n@UPDATE { }\n"
		   "099 - end of bulk transfer, next 1700000010\n",
		   now_s, deleted, numbers);
	assert_str(bulk_since(BEGAN_S + 1, 4096), buf_text(&want));
	buf_free(&want);
}

static void twins_have_the_text_of_the_one_that_has_it(void **state)
{
	(void)state;
	NOW(.op = SOURCE_UPDATE, .url = "u:1", .md5 = md5_of('1'), .title = "one", .text = "apple");
	struct source_change twin = change_of(&(struct thing){.op = SOURCE_UPDATE,
							      .url = "u:2",
							      .md5 = md5_of('1'),
							      .time_s = BEGAN_S,
							      .time_to_live_s = 7,
							      .text = "apple"});
	soif_add(&twin.obj, &arena, STR("Description"), STR("the second"));
	tell_change(&twin);
	broker_commit();
	struct registry_object o;
	assert_int_equal(registered("tester", "u:2", &o), 0);
	assert_int_equal(o.oid, 0);
	struct str all = bulk_since(0, 1);
	assert_str(story_of(all), "Uu:1 Uu:2 ");
	struct source_change told = change_in(all, "u:2");
	assert_attr(&told.obj, "Full-Text", "apple");
	assert_attr(&told.obj, "Title", "one");
	assert_attr(&told.obj, "Time-to-Live", "7");
	assert_attr(&told.obj, "Description", "the second");
	struct source_change first = change_in(all, "u:1");
	assert_int_equal(soif_get(&first.obj, STR("Description")).n, 0);
	/* the first goes, and the other has its text: for the client that is a refresh */
	now_s += 10;
	delete_now("u:1");
	broker_commit();
	assert_story(BEGAN_S + 1, "Du:1 Ru:2 ");
	told = change_in(bulk_since(0, 1), "u:2");
	assert_attr(&told.obj, "Full-Text", "apple");
	assert_attr(&told.obj, "Description", "the second");
}

static void a_twin_is_told_though_its_text_moves_meanwhile(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		update_now(arena_printf(&arena, "u:%d", i), md5_of('1'), "apple");
	update_now("u:new", NULL, "apple");
	update_now("u:gone", NULL, "apple");
	now_s += 10;
	update_now("u:last", NULL, "apple");
	broker_commit();
	struct buf out = BUF_INIT(1 << 20);
	struct bulk *b = bulk_begin(0);
	assert_int_equal(bulk_make(b, 1, &out, &err), 0);
	now_s += 10;
	delete_now("u:0");
	delete_now("u:gone");
	update_now("u:new", NULL, "pear");
	broker_commit();
	delete_now("u:1");
	broker_commit();
	assert_int_equal(bulk_rest(&b, 1, &out), 1);
	/* what is left out is told by the next one */
	assert_str(story_of(buf_str(&out)), "Uu:2 Uu:3 Uu:last ");
	struct source_change told = change_in(buf_str(&out), "u:3");
	assert_attr(&told.obj, "Full-Text", "apple");
	assert_story(next_of(buf_str(&out)), "Du:0 Du:gone Du:1 Ru:2 Uu:last Uu:new ");
	buf_free(&out);
}

/* Bytes that look like anything but a text. */
static struct str wild_value(size_t n, uint64_t seed)
{
	static const char *const looks[] = {"\n}\n", "\n@FILE { x\n", "\n099 - end\n",
					    "MD5{3}:\tabc\n", "{"};
	char *p = arena_alloc(&arena, n + 16);
	for (size_t i = 0; i < n; i++)
		p[i] = (char)dice(&seed);
	for (size_t i = 0; i + 64 < n; i += 4099) {
		const char *look = looks[i % ARRAY_LEN(looks)];
		memcpy(p + i, look, strlen(look));
	}
	return (struct str){p, n};
}

static void large_documents_go_out_in_small_pieces(void **state)
{
	static const size_t size[] = {1, 100, 36 << 10, 131071, 131072, 300000, 3 << 20};
	(void)state;
	struct source_change change = change_of(
		&(struct thing){.op = SOURCE_UPDATE, .url = "u:large", .time_s = BEGAN_S});
	struct str name[ARRAY_LEN(size)], value[ARRAY_LEN(size)];
	for (size_t i = 0; i < ARRAY_LEN(size); i++) {
		value[i] = wild_value(size[i], i + 1);
		name[i] = str_of(arena_printf(&arena, "Value-%zu", i));
		soif_add(&change.obj, &arena, name[i], value[i]);
		/* in the midst, also where a part of the text ends */
		soif_add(&change.obj, &arena, STR("Refresh-Rate"), STR("77"));
	}
	update_now("u:before", NULL, "apple");
	tell_change(&change);
	update_now("u:after", NULL, "pear");
	broker_commit();
	struct str all = bulk_since(0, 1);
	assert_str(story_of(all), "Uu:before Uu:large Uu:after ");
	struct source_change told = change_in(all, "u:large");
	for (size_t i = 0; i < ARRAY_LEN(size); i++)
		assert_true(str_eq(soif_get(&told.obj, name[i]), value[i]));
	assert_int_equal(told.obj.n, change.obj.n - ARRAY_LEN(size) + 2);
	assert_attr(&told.obj, "Refresh-Rate", "77");
	struct str large = bulk_since(0, 1 << 20);
	assert_true(str_eq(all, large));
}

static void a_large_document_that_is_deleted_meanwhile_comes_to_its_end(void **state)
{
	(void)state;
	struct source_change change = change_of(
		&(struct thing){.op = SOURCE_UPDATE, .url = "u:large", .time_s = BEGAN_S});
	soif_add(&change.obj, &arena, STR("Value"), wild_value(1 << 20, 7));
	tell_change(&change);
	broker_commit();
	struct str want = bulk_since(0, 1 << 20);
	struct buf out = BUF_INIT(4 << 20);
	struct bulk *b = bulk_begin(0);
	assert_int_equal(bulk_make(b, 500000, &out, &err), 0);
	delete_now("u:large");
	broker_commit();
	broker_compress();
	assert_int_equal(bulk_rest(&b, 4096, &out), 1);
	assert_true(str_eq(buf_str(&out), want));
	buf_free(&out);
}

static void only_the_objects_that_are_asked_for_are_told(void **state)
{
	uint32_t oid[8];
	struct buf out = BUF_INIT(1 << 20);
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		struct registry_object o;
		const char *url = arena_printf(&arena, "u:%" PRIu32, i);
		update_now(url, NULL, "apple");
		broker_commit();
		assert_int_equal(registered("tester", url, &o), 0);
		oid[i] = o.oid;
	}
	update_now("u:twin", md5_of('1'), "a");
	update_now("u:twin2", md5_of('1'), "a");
	now_s += 10;
	delete_now("u:7");
	refresh_now("u:6");
	refresh_now("u:5");
	broker_commit();
	const uint32_t asked[] = {1, oid[0], oid[3], oid[6], oid[7], UINT32_MAX};
	struct bulk_options of = {.data = data, .oid = asked + (oid[0] == 1), .oids = 4};
	struct bulk *b;
	assert_int_equal(bulk_open(&b, &of, &err), 0);
	assert_int_equal(bulk_rest(&b, 100, &out), 1);
	assert_str(story_of(buf_str(&out)), "Du:7 Uu:0 Uu:3 Uu:6 ");
	buf_clear(&out);
	of.since_s = BEGAN_S + 1;
	assert_int_equal(bulk_open(&b, &of, &err), 0);
	assert_int_equal(bulk_rest(&b, 100, &out), 1);
	assert_str(story_of(buf_str(&out)), "Du:7 Ru:6 ");
	buf_clear(&out);
	of.oids = 0;
	assert_int_equal(bulk_open(&b, &of, &err), 0);
	assert_int_equal(bulk_make(b, 1 << 20, &out, &err), 1);
	assert_int_equal(bulk_objects(b), 1);
	bulk_free(&b);
	assert_str(story_of(buf_str(&out)), "Du:7 ");
	buf_free(&out);
}

/* Changes a byte of the file that has the documents. */
static void damage_docs(uint64_t at)
{
	struct file f = FILE_INIT;
	char c;
	size_t got;
	assert_int_equal(file_open(&f, path_of("docs/00000001.docs"), O_RDWR, 0, &err), 0);
	assert_int_equal(file_read(&f, &c, 1, at, &got, &err), 0);
	c ^= 1;
	assert_int_equal(file_write(&f, &c, 1, at, &err), 0);
	file_drop(&f);
}

static void a_text_that_is_damaged_keeps_none_back_but_the_end(void **state)
{
	struct buf out = BUF_INIT(1 << 20);
	(void)state;
	update_now("u:1", NULL, "apple");
	broker_commit();
	update_now("u:2", NULL, "pear");
	broker_commit();
	now_s += 10;
	delete_now("u:1");
	NOW(.op = SOURCE_UPDATE, .url = "u:3", .text = "plum");
	broker_commit();
	uint32_t next_s = next_of(bulk_since(0, 4096));
	struct docstore_mark mark;
	registry_docs(registry, &mark);
	damage_docs(mark.length - 1); /* of the last block */
	struct bulk *b = bulk_begin(0);
	assert_int_equal(bulk_rest(&b, 1, &out), -1);
	struct buf story = BUF_INIT(100);
	assert_int_equal(bulk_read(buf_str(&out), add_story, &story), -1);
	assert_str(buf_str(&story), "Du:1 Uu:2 ");
	buf_free(&story);
	assert_true(str_ends(buf_str(&out), STR("}\n}\n")));
	assert_true(str_find(buf_str(&out), STR("@FILE { u:2\n")) < out.n);
	assert_int_equal(str_find(buf_str(&out), STR("@FILE { u:3\n")), out.n);
	buf_clear(&out);
	b = bulk_begin(0);
	while (bulk_make(b, 100, &out, &err) == 0)
		;
	assert_int_equal(err.code, ERR_PARTLY);
	assert_string_equal(err.msg, "missing objects: 1; all others were told");
	bulk_free(&b);
	/* what it is replaced by ends that */
	now_s += 10;
	update_now("u:3", NULL, "fig");
	broker_commit();
	assert_story(next_s, "Du:1 Uu:3 ");
	buf_free(&out);
}

static void a_registry_that_is_damaged_ends_it(void **state)
{
	struct buf out = BUF_INIT(1 << 20);
	struct file f = FILE_INIT;
	(void)state;
	update_now("u:1", NULL, "apple");
	broker_commit();
	struct bulk *b = bulk_begin(0);
	assert_int_equal(file_open(&f, path_of("registry"), O_RDWR, 0, &err), 0);
	assert_int_equal(file_write(&f, "\xff\xff\xff\xff", 4, 20, &err), 0);
	file_drop(&f);
	assert_int_equal(bulk_rest(&b, 1, &out), -1);
	assert_int_equal(str_find(buf_str(&out), STR("099")), out.n);
	assert_int_equal(bulk_open(&b, &(struct bulk_options){.data = data}, &err), -1);
	buf_free(&out);
}

static void a_buffer_that_is_full_ends_it(void **state)
{
	struct buf out = BUF_INIT(1000);
	struct bulk *b;
	(void)state;
	for (int i = 0; i < 20; i++)
		update_now(arena_printf(&arena, "u:%d", i), NULL, "apple");
	broker_commit();
	b = bulk_begin(0);
	assert_int_equal(bulk_make(b, 1 << 20, &out, &err), -1);
	assert_int_equal(err.code, ERR_SYSTEM);
	bulk_free(&b);
	buf_free(&out);
}

/* A client that is told what changed again and again, by transfers during which the broker goes on,
 * has in the end what the broker has. */

enum { URLS = 40, MD5S = 5 };

struct client {
	bool there[URLS];
	uint32_t update_s[URLS];
	struct str text[URLS]; /* on the heap */
};

static unsigned roll_of(uint64_t *seed, unsigned n)
{
	return (unsigned)(dice(seed) >> 16) % n;
}

static void client_take(void *ctx, const struct source_change *change)
{
	struct client *c = ctx;
	uint64_t u, update_s;
	assert_true(str_u64(str_from(change->obj.url, 2), &u) && u < URLS);
	assert_true(soif_u64(&change->obj, STR("Update-Time"), &update_s));
	if (change->op == SOURCE_REFRESH && !c->there[u])
		fail_msg("a refresh of u:%d, which was not told", (int)u);
	c->there[u] = change->op != SOURCE_DELETE;
	c->update_s[u] = (uint32_t)update_s;
	if (change->op == SOURCE_REFRESH)
		return;
	struct str text = soif_get(&change->obj, STR("Full-Text"));
	mem_free(&c->text[u].p);
	c->text[u] = (struct str){mem_copy(text.p ? text.p : "", text.n), text.n};
}

static void client_free(struct client *c)
{
	for (unsigned u = 0; u < URLS; u++)
		mem_free(&c->text[u].p);
}

/* Of those with one MD5 all have one text. */
static void change_some(uint64_t *seed)
{
	for (unsigned i = roll_of(seed, 12); i > 0; i--) {
		const char *url = arena_printf(&arena, "u:%u", roll_of(seed, URLS));
		unsigned kind = roll_of(seed, 10), md5 = roll_of(seed, MD5S);
		const char *text = md5 ? arena_printf(&arena, "md5 %u", md5)
				       : arena_printf(&arena, "text %" PRIu64, dice(seed));
		if (kind < 5)
			update_now(url, md5 ? md5_of((char)('0' + md5)) : NULL, text);
		else if (kind < 7)
			refresh_now(url);
		else
			delete_now(url);
		now_s += roll_of(seed, 3) == 0;
	}
	if (roll_of(seed, 3))
		broker_commit();
	if (roll_of(seed, 8) == 0) {
		broker_commit();
		broker_compress();
	}
	if (roll_of(seed, 40) == 0)
		now_s -= MIN(20u, now_s - BEGAN_S); /* the clock is set back */
}

static uint32_t client_ask(struct client *c, uint32_t since_s, uint64_t *seed)
{
	struct buf out = BUF_INIT(1 << 20);
	struct bulk *b = bulk_begin(since_s);
	int rc;
	do {
		rc = bulk_make(b, 1 + roll_of(seed, 2000), &out, &err);
		if (seed && roll_of(seed, 2))
			change_some(seed);
	} while (rc == 0);
	assert_int_equal(rc, 1);
	bulk_free(&b);
	assert_int_equal(bulk_read(buf_str(&out), client_take, c), ANSWER_COMPLETE);
	uint32_t next_s = next_of(buf_str(&out));
	buf_free(&out);
	return next_s;
}

static void assert_same_clients(const struct client *a, const struct client *b)
{
	for (unsigned u = 0; u < URLS; u++) {
		assert_int_equal(a->there[u], b->there[u]);
		if (!a->there[u])
			continue;
		assert_int_equal(a->update_s[u], b->update_s[u]);
		assert_true(str_eq(a->text[u], b->text[u]));
	}
}

static void clients_that_follow_have_what_the_broker_has(void **state)
{
	unsigned rounds = unit_thorough() ? 2000 : 60;
	struct client follower = {0};
	uint64_t seed = 20;
	uint32_t since_s = 0;
	(void)state;
	for (unsigned i = 0; i < rounds; i++) {
		change_some(&seed);
		since_s = client_ask(&follower, since_s, &seed);
		if (i % 5)
			continue;
		/* now nothing changes */
		struct client fresh = {0};
		struct str rest;
		broker_commit();
		rest = bulk_since(since_s, 4096);
		assert_int_equal(bulk_read(rest, client_take, &follower), ANSWER_COMPLETE);
		since_s = next_of(rest);
		assert_int_equal(bulk_read(bulk_since(0, 4096), client_take, &fresh),
				 ANSWER_COMPLETE);
		assert_same_clients(&follower, &fresh);
		client_free(&fresh);
		arena_clear(&arena);
	}
	client_free(&follower);
}

/* The same with the client in a thread of its own: what it was told is looked at when it is done.
 */

enum { ASKS = 200 };

struct asker {
	atomic_bool stop;
	int rc; /* of the last transfer */
	struct err why;
	struct buf told[ASKS];
	size_t n;
};

static void *ask_on_and_on(void *ctx)
{
	struct asker *a = ctx;
	uint64_t since_s = 0;
	for (a->rc = 1; a->rc == 1 && a->n < ASKS && !atomic_load(&a->stop); a->n++) {
		struct buf *out = &a->told[a->n];
		struct bulk *b = NULL;
		const struct bulk_options of = {.data = data, .since_s = (uint32_t)since_s};
		*out = BUF_INIT(1 << 20);
		a->rc = bulk_open(&b, &of, &a->why);
		while (a->rc == 0)
			a->rc = bulk_make(b, 700, out, &a->why);
		bulk_free(&b);
		struct str last = str_trim(buf_str(out));
		size_t digits = 0;
		while (digits < last.n && last.p[last.n - digits - 1] != ' ')
			digits++;
		if (a->rc == 1 && !str_u64(str_from(last, last.n - digits), &since_s))
			a->rc = -1;
	}
	return NULL;
}

static void a_client_is_told_all_while_the_broker_writes(void **state)
{
	static struct asker asker;
	struct client follower = {0}, fresh = {0};
	struct str last = STR("\n099 - end of bulk transfer, next 0\n");
	uint64_t seed = 21;
	pthread_t thread;
	(void)state;
	asker = (struct asker){0};
	assert_int_equal(pthread_create(&thread, NULL, ask_on_and_on, &asker), 0);
	for (unsigned i = unit_thorough() ? 1500 : 60; i > 0; i--)
		change_some(&seed);
	broker_commit();
	atomic_store(&asker.stop, true);
	assert_int_equal(pthread_join(thread, NULL), 0);
	if (asker.rc != 1)
		fail_msg("%s", asker.why.msg);
	for (size_t i = 0; i < asker.n; i++) {
		last = arena_str(&arena, buf_str(&asker.told[i]));
		assert_int_equal(bulk_read(last, client_take, &follower), ANSWER_COMPLETE);
		buf_free(&asker.told[i]);
	}
	last = bulk_since(next_of(last), 4096);
	assert_int_equal(bulk_read(last, client_take, &follower), ANSWER_COMPLETE);
	assert_int_equal(bulk_read(bulk_since(0, 4096), client_take, &fresh), ANSWER_COMPLETE);
	assert_same_clients(&follower, &fresh);
	client_free(&follower);
	client_free(&fresh);
}

#define BULK_TEST(name) cmocka_unit_test_setup_teardown(name, bulk_setup, bulk_teardown)
int main(void)
{
	const struct CMUnitTest tests[] = {
		BULK_TEST(a_broker_that_has_collected_nothing_tells_nothing),
		BULK_TEST(changes_are_told_by_section_from_their_second_on),
		BULK_TEST(what_comes_in_the_second_of_the_snapshot_is_told_the_next_time),
		BULK_TEST(a_text_that_came_after_the_clock_was_set_back_is_told),
		BULK_TEST(objects_go_out_with_the_registrys_numbers),
		BULK_TEST(twins_have_the_text_of_the_one_that_has_it),
		BULK_TEST(a_twin_is_told_though_its_text_moves_meanwhile),
		BULK_TEST(large_documents_go_out_in_small_pieces),
		BULK_TEST(a_large_document_that_is_deleted_meanwhile_comes_to_its_end),
		BULK_TEST(only_the_objects_that_are_asked_for_are_told),
		BULK_TEST(a_text_that_is_damaged_keeps_none_back_but_the_end),
		BULK_TEST(a_registry_that_is_damaged_ends_it),
		BULK_TEST(a_buffer_that_is_full_ends_it),
		BULK_TEST(clients_that_follow_have_what_the_broker_has),
		BULK_TEST(a_client_is_told_all_while_the_broker_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
