#include "state/source_crawl.h"

#include "base/clock.h"
#include "bucket/bucket_shake.h"
#include "support/crawl_play.h"
#include "support/source_check.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static const int64_t start_us = 1790000000 * US_PER_S;
static const struct source_cursor beginning;

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

static void make(struct play *ret, const char *folder)
{
	struct err err = {0};
	MUST(states_init(folder, 0, start_us, &err));
	MUST(play_open(ret, folder, start_us, NULL, &err));
}

static struct source_crawl store_of(const char *folder)
{
	return (struct source_crawl){.folder = folder,
				     .gatherer_name = STR("the crawl"),
				     .gatherer_host = STR("here.example"),
				     .gatherer_version = STR("1.0")};
}

static void gather(struct play *p, uint64_t from, uint64_t to, uint64_t version)
{
	struct err err = {0};
	for (uint64_t i = from; i < to; i++)
		MUST(play_gather(p, i, version, &err));
	MUST(play_checkpoint(p, &err));
}

static void cycle(struct play *p, uint64_t from, uint64_t to, uint64_t version)
{
	struct err err = {0};
	MUST(play_begin(p, &err));
	gather(p, from, to, version);
	MUST(play_cork(p, &err));
	MUST(play_merge(p, &err));
}

/* One change after the other, as "op url version"; NULL: up to date. */
static const char *tell(struct source *s, struct arena *arena)
{
	static const char ops[] = {
		[SOURCE_DELETE] = 'D', [SOURCE_REFRESH] = 'R', [SOURCE_UPDATE] = 'U'};
	struct source_change c;
	struct err err = {0};
	int rc = source_next(s, arena, &c, &err);
	if (rc < 0)
		fail_msg("next: %s", err.msg);
	if (rc == 1)
		return NULL;
	struct str n = str_from(c.obj.url, str_find(c.obj.url, STR("n=")) + 2);
	struct str text = soif_get(&c.obj, STR("Full-Text"));
	uint64_t page = 0, version = 0;
	if (text.p)
		(void)!sscanf(arena_text(arena, str_head(text, 100)),
			      "page %" SCNu64 " version %" SCNu64, &page, &version);
	return arena_printf(arena, "%c" STR_FMT "v%" PRIu64, ops[c.op], STR_ARG(n), version);
}

static struct source *follow(const struct source_crawl *store, const struct source_cursor *from)
{
	struct source *s = NULL;
	struct err err = {0};
	MUST(source_crawl_ops.open(&s, store, from, &err));
	return s;
}

static void expect(struct source *s, const char *const *want)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	for (; *want; want++) {
		const char *got = tell(s, &arena);
		assert_non_null(got);
		assert_string_equal(*want, got);
		arena_clear(&arena);
	}
	assert_null(tell(s, &arena));
	arena_free(&arena);
}
#define EXPECT(s, ...) expect(s, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_NOTHING(s) expect(s, (const char *const[]){NULL})

static void an_object_has_all_that_is_mandatory_and_what_the_bucket_says(void **state)
{
	static const char *const names[] = {"Gatherer-Name",
					    "Gatherer-Host",
					    "Gatherer-Version",
					    "Update-Time",
					    "Refresh-Rate",
					    "Time-to-Live",
					    "Last-Modification-Time",
					    "MD5",
					    "Type",
					    "Title",
					    "Full-Text",
					    "References"};
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_change c;
	struct soif_book book;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	const struct source_crawl store = store_of(scratch("object"));
	make(&p, store.folder);
	MUST(play_begin(&p, &err));
	gather(&p, 7, 8, 3);
	struct source *s = follow(&store, &beginning);
	MUST(source_next(s, &arena, &c, &err));
	assert_int_equal(SOURCE_UPDATE, c.op);
	assert_str(c.obj.type, "FILE");
	assert_str(c.obj.url, "http://site0.example/page?n=7");
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!soif_get(&c.obj, str_of(names[i])).n)
			fail_msg("%s is missing", names[i]);
	MUST(soif_book(&c.obj, &book, &err));
	assert_int_equal(start_us / US_PER_S + 1, book.update_time_s);
	assert_true(book.has_md5);
	assert_str(soif_get(&c.obj, STR("Title")), "Page 7");
	assert_true(str_eq(soif_get(&c.obj, STR("Full-Text")), play_text(&arena, 7, 3)));
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

static void the_open_journal_is_told_up_to_its_last_checkpoint_only(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	const struct source_crawl store = store_of(scratch("open"));
	make(&p, store.folder);
	struct source *s = follow(&store, &beginning);
	EXPECT_NOTHING(s);
	MUST(play_begin(&p, &err));
	MUST(play_gather(&p, 1, 1, &err));
	EXPECT_NOTHING(s);
	MUST(play_checkpoint(&p, &err));
	MUST(play_gather(&p, 2, 1, &err));
	EXPECT(s, "U1v1");
	MUST(play_refresh(&p, 1, &err));
	MUST(play_delete(&p, 2, &err));
	MUST(play_checkpoint(&p, &err));
	EXPECT(s, "U2v1", "R1v0", "D2v0");
	source_close(&s);
	play_close(&p);
}

static void from_the_beginning_and_through_all_states_every_change_comes_once(void **state)
{
	(void)state;
	struct play p;
	const struct source_crawl store = store_of(scratch("states"));
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	cycle(&p, 2, 4, 2);
	struct source *s = follow(&store, &beginning);
	EXPECT(s, "U1v1", "U2v1", "U2v2", "U3v2");
	cycle(&p, 1, 2, 3);
	EXPECT(s, "U1v3");
	source_close(&s);
	play_close(&p);
}

static void a_shakedown_changes_nothing_for_who_follows(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_cursor cursor;
	const struct source_crawl store = store_of(scratch("shake"));
	make(&p, store.folder);
	cycle(&p, 1, 5, 1);
	cycle(&p, 1, 3, 2);
	struct source *early = follow(&store, &beginning), *middle = follow(&store, &beginning);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	assert_string_equal("U1v1", tell(early, &arena));
	assert_string_equal("U1v1", tell(middle, &arena));
	source_cursor(middle, &cursor);
	source_close(&middle);
	MUST(play_cleanup(&p, &err));
	/* one that had the file open still has the old one; one that begins now has what is there
	 */
	EXPECT(early, "U2v1", "U3v1", "U4v1", "U1v2", "U2v2");
	middle = follow(&store, &cursor);
	EXPECT(middle, "U2v2", "U3v1", "U4v1", "U1v2", "U2v2");
	cycle(&p, 5, 6, 1);
	EXPECT(early, "U5v1");
	EXPECT(middle, "U5v1");
	source_close(&early);
	source_close(&middle);
	arena_free(&arena);
	play_close(&p);
}

/* The first bucket becomes a short one, so that those after it begin inside of what others were. */
static int shorten_first(void *ctx, const struct bucket *old, uint32_t new_oid,
			 struct bucket_fate *fate, struct err *err)
{
	(void)ctx, (void)new_oid, (void)err;
	if (old->oid == 0)
		*fate = (struct bucket_fate){BUCKET_PLAIN, STR("Uhttp://site0.example/\n")};
	return 0;
}

/* The file has new numbers, and no index has them yet. */
static void numbers_of_a_shakedown_that_goes_on_are_not_taken_for_damage(void **state)
{
	enum { PAGES = 12 };
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_cursor cursor[PAGES];
	struct source_change c;
	struct bucket_shaken shaken;
	struct recovery told;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	const struct source_crawl store = store_of(scratch("renumbered"));
	make(&p, store.folder);
	cycle(&p, 0, PAGES, 1);
	struct source *s = follow(&store, &beginning);
	for (size_t i = 0; i < PAGES; i++) {
		assert_non_null(tell(s, &arena));
		source_cursor(s, &cursor[i]);
	}
	source_close(&s);
	bucket_drop(&p.buckets);
	MUST(play_next(&p, false, &err));
	MUST(state_enter(p.st, PHASE_CLEANUP, p.buckets, p.now_us, &err));
	MUST(bucket_shakedown(p.buckets, shorten_first, NULL, &shaken, &err));
	bucket_drop(&p.buckets);
	state_free(&p.st);
	for (size_t i = 0; i + 1 < PAGES; i++) {
		s = follow(&store, &cursor[i]);
		for (int tries = 0; tries < 2; tries++) { /* it is not passed */
			assert_int_equal(-1, source_next(s, &arena, &c, &err));
			assert_int_equal(ERR_SYSTEM, err.code);
			assert_non_null(strstr(err.msg, "renumbered"));
		}
		source_close(&s);
	}
	MUST(states_recover(p.s, p.now_us, &told, &err));
	assert_int_equal(1, told.renumbered);
	recovery_free(&told);
	s = follow(&store, &cursor[8]);
	EXPECT(s, "U9v1", "U10v1", "U11v1");
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

static void what_was_deleted_later_is_still_told_in_order(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	const struct source_crawl store = store_of(scratch("deleted"));
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	MUST(play_begin(&p, &err));
	MUST(play_delete(&p, 1, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	struct source *s = follow(&store, &beginning);
	EXPECT(s, "U1v1", "U2v1", "D1v0");
	source_close(&s);
	play_close(&p);
}

static void without_the_first_states_the_beginning_is_what_the_oldest_one_knows(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_cursor cursor;
	unsigned deleted;
	const struct states_keep keep = {.closed = 2, .corked = 2};
	const struct source_crawl store = store_of(scratch("oldest"));
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	struct source *s = follow(&store, &beginning);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	assert_string_equal("U1v1", tell(s, &arena));
	source_cursor(s, &cursor);
	source_close(&s);
	cycle(&p, 3, 4, 1);
	cycle(&p, 1, 2, 2);
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	assert_true(deleted > 0);
	/* the cursor's state is gone: it is refused, with what to do */
	assert_true(source_crawl_ops.open(&s, &store, &cursor, &err) < 0);
	assert_non_null(strstr(err.msg, "begin from the start"));
	s = follow(&store, &beginning);
	size_t n = 0;
	while (tell(s, &arena))
		n++;
	assert_int_equal(4, n); /* three pages as the oldest state has them, and the change since */
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

static void a_cursor_of_a_host_with_another_name_is_refused(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_cursor cursor;
	struct source_crawl store = store_of(scratch("renamed"));
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	struct source *s = follow(&store, &beginning);
	EXPECT(s, "U1v1", "U2v1");
	source_cursor(s, &cursor);
	source_close(&s);
	s = follow(&store, &cursor);
	EXPECT_NOTHING(s);
	source_close(&s);
	store.gatherer_host = STR("there.example");
	assert_true(source_crawl_ops.open(&s, &store, &cursor, &err) < 0);
	assert_int_equal(err.code, ERR_USAGE);
	play_close(&p);
}

static void robots_txt_is_nothing_to_followers(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	unsigned deleted;
	uint32_t oid;
	const struct states_keep keep = {.closed = 1};
	const struct source_crawl store = store_of(scratch("robots"));
	make(&p, store.folder);
	MUST(play_begin(&p, &err));
	gather(&p, 1, 2, 1);
	attrs_add(&header, &p.arena, 'U', STR("http://site0.example/robots.txt"));
	attrs_add(&body, &p.arena, 'X', STR("User-agent: *"));
	MUST(bucket_put(p.buckets, NULL, &header, &body, &oid, &err));
	const struct journal_entry e = {
		.fp = {play_footprint(1).site, footprint_path(STR("/robots.txt"))},
		.time_us = p.now_us,
		.type = ITEM_GATHERED,
		.flags = ITEM_ROBOTS,
		.where = oid,
		.url = STR("http://site0.example/robots.txt")};
	MUST(state_journal(p.st, &e, &err));
	MUST(play_cork(&p, &err));
	struct source *s = follow(&store, &beginning);
	EXPECT(s, "U1v1");
	source_close(&s);
	MUST(play_merge(&p, &err));
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	assert_true(deleted > 0);
	s = follow(&store, &beginning); /* the index is the beginning now */
	EXPECT(s, "U1v1");
	source_close(&s);
	play_close(&p);
}

static void a_state_that_is_deleted_under_a_reader_is_not_taken_for_damage(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	unsigned deleted;
	const struct states_keep keep = {.closed = 1, .corked = 0};
	const struct source_crawl store = store_of(scratch("under"));
	struct arena arena = ARENA_INIT(SIZE_MAX);
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	struct source *s = follow(&store, &beginning);
	cycle(&p, 3, 4, 1);
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	assert_true(deleted > 0);
	/* nothing was told yet: it begins with the oldest state that is there now */
	size_t n = 0;
	while (tell(s, &arena))
		n++;
	assert_int_equal(3, n);
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

static void a_follower_keeps_the_states_that_it_needs(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	unsigned deleted;
	const struct states_keep keep = {.closed = 1, .corked = 0};
	struct source_crawl store = store_of(scratch("follower"));
	make(&p, store.folder);
	cycle(&p, 1, 3, 1);
	store.follower = "broker";
	struct source *s = follow(&store, &beginning);
	assert_true(play_followed(p.s, clock_wall_us()));
	cycle(&p, 3, 4, 1);
	MUST(states_audit(p.s, &keep, clock_wall_us(), &deleted, &err));
	assert_int_equal(0, deleted);
	EXPECT(s, "U1v1", "U2v1", "U3v1");
	MUST(states_audit(p.s, &keep, clock_wall_us(), &deleted, &err));
	assert_true(deleted > 0);
	cycle(&p, 4, 5, 1);
	EXPECT(s, "U4v1");
	source_close(&s);
	play_close(&p);
}

static void a_damaged_record_is_named_and_the_rest_of_its_file_passed(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_change c;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	const struct source_crawl store = store_of(scratch("damaged"));
	make(&p, store.folder);
	MUST(play_begin(&p, &err));
	gather(&p, 1, 4, 1);
	char *path = state_path(p.st, &arena, "journal");
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	FILE *f = fopen(path, "r+");
	fseek(f, 32 + 32 + 8 + 30, SEEK_SET); /* in the first record */
	fputc(0xff, f);
	fclose(f);
	struct source *s = follow(&store, &beginning);
	assert_true(source_next(s, &arena, &c, &err) < 0);
	assert_int_equal(ERR_DAMAGED, err.code);
	assert_non_null(strstr(err.msg, "journal"));
	EXPECT_NOTHING(s);
	cycle(&p, 9, 10, 1);
	EXPECT(s, "U9v1");
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

/* Makes an index of four blocks that begins with the first of two pages and ends with the other. */
static void make_large(struct play *p, uint64_t one, uint64_t other)
{
	enum { FILLERS = 3 * 1456 };
	struct err err = {0};
	const struct url_index *old;
	struct url_index_writer *w;
	struct index_item item[2];
	MUST(play_begin(p, &err));
	MUST(state_index(p->st, &old, &err));
	MUST(url_index_find(old, play_footprint(one), &item[0], &err));
	MUST(url_index_find(old, play_footprint(other), &item[1], &err));
	bool turn = footprint_cmp(item[0].fp, item[1].fp) > 0;
	MUST(state_index_create(p->st, &w, &err));
	url_index_put(w, &item[turn]);
	struct index_item filler = {.fp = item[turn].fp, .where = ITEM_NOWHERE, .type = ITEM_NEW};
	for (int i = 0; i < FILLERS; i++) {
		filler.fp.path++;
		url_index_put(w, &filler);
	}
	url_index_put(w, &item[!turn]);
	MUST(state_index_put(p->st, &w, &err));
	MUST(state_enter(p->st, PHASE_CLOSED, p->buckets, p->now_us, &err));
}

static void whoever_begins_with_a_damaged_index_gets_past_it(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_change c;
	struct source_cursor at[2];
	unsigned deleted, told = 0, damaged = 0;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	const struct source_crawl store = store_of(scratch("blocks"));
	make(&p, store.folder);
	cycle(&p, 1, 2, 1);
	cycle(&p, 70, 71, 1);
	make_large(&p, 1, 70);
	char *path = state_path(p.st, &arena, "index");
	const struct states_keep keep = {.closed = 1};
	state_free(&p.st);
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	assert_true(deleted > 0);
	FILE *f = fopen(path, "r+");
	for (long block = 1; block <= 2; block++) { /* two, one after the other */
		fseek(f, 4096 + block * 65536 + 100, SEEK_SET);
		fputc(0xff, f);
	}
	fclose(f);
	struct source *s = follow(&store, &beginning);
	for (;;) {
		int rc = source_next(s, &arena, &c, &err);
		if (rc == 1)
			break;
		if (rc <
		    0) { /* by its cursor it goes on after it, and the cursor moves each time */
			assert_int_equal(ERR_DAMAGED, err.code);
			source_cursor(s, &at[damaged % 2]);
			assert_true(++damaged < 5);
			assert_true(damaged < 2 || memcmp(&at[0], &at[1], sizeof at[0]) != 0);
			source_close(&s);
			s = follow(&store, &at[(damaged - 1) % 2]);
			assert_true(source_next(s, &arena, &c, &err) < 0); /* named again */
			continue;
		}
		told++;
	}
	assert_int_equal(2, damaged);
	assert_int_equal(2, told);
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

static void buckets_of_old_versions_are_told_too(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct recovery told;
	uint32_t oid;
	const struct source_crawl store = store_of(scratch("old"));
	make(&p, store.folder);
	MUST(play_begin(&p, &err));
	MUST(bucket_append(p.buckets, BUCKET_PLAIN,
			   STR("Uhttp://site0.example/page?n=1\nD1790000001\nO12345678\nX"
			       "page 1 version 1\n"),
			   &oid, &err));
	MUST(bucket_append(p.buckets, BUCKET_V30,
			   STR("Uhttp://site0.example/page?n=2\n\nD1790000002\nX"
			       "page 2 version 1\n"),
			   &oid, &err));
	gather(&p, 3, 4, 1);
	bucket_drop(&p.buckets);
	state_free(&p.st);
	MUST(states_recover_fully(p.s, true, p.now_us, &told, &err));
	recovery_free(&told);
	struct source *s = follow(&store, &beginning);
	EXPECT(s, "U3v1", "U3v1", "U2v1", "U1v1"); /* the journal, then all that was found */
	source_close(&s);
	play_close(&p);
}

static void a_bucket_that_is_not_there_is_named_and_passed(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct source_change c;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	const struct source_crawl store = store_of(scratch("missing"));
	make(&p, store.folder);
	cycle(&p, 1, 4, 1);
	bucket_drop(&p.buckets);
	const struct bucket_options options = {.mode = BUCKET_WRITE};
	MUST(bucket_open(&p.buckets, states_path(p.s, &p.arena, "objects"), &options, &err));
	MUST(bucket_delete(p.buckets, 0, &err));
	MUST(bucket_sync(p.buckets, NULL, &err));
	bucket_drop(&p.buckets);
	struct source *s = follow(&store, &beginning);
	assert_int_equal(-1, source_next(s, &arena, &c, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	assert_non_null(strstr(err.msg, "00000000"));
	EXPECT(s, "U2v1", "U3v1");
	source_close(&s);
	arena_free(&arena);
	play_close(&p);
}

/* The checker, on a store that grows by gathering, new states and shakedowns. */

static void grow(void *ctx, unsigned step)
{
	struct play *p = ctx;
	struct err err = {0};
	uint64_t page = 100 + 10 * step;
	switch (step % 4) {
	case 0: /* while a state is open */
		MUST(play_begin(p, &err));
		gather(p, page, page + 3, 1);
		MUST(play_refresh(p, page, &err));
		MUST(play_delete(p, 1 + step, &err)); /* its bucket stays */
		MUST(play_checkpoint(p, &err));
		break;
	case 1: /* the same state goes on, and becomes a new one */
		MUST(play_gather(p, page, 1, &err));
		MUST(play_cork(p, &err));
		MUST(play_merge(p, &err));
		break;
	default: /* a whole cycle, and a shakedown where nothing is dropped that was told */
		cycle(p, page, page + 2, 1);
		if (step % 4 == 3)
			MUST(play_cleanup(p, &err));
	}
}

static void the_checker_passes(void **state)
{
	(void)state;
	struct play p, other;
	const struct source_crawl store = store_of(scratch("check")),
				  other_store = store_of(scratch("other"));
	make(&p, store.folder);
	make(&other, other_store.folder);
	cycle(&p, 1, 30, 1);
	cycle(&other, 1, 30, 1);
	const struct source_check check = {.ops = &source_crawl_ops,
					   .store = &store,
					   .other = &other_store,
					   .grow = grow,
					   .ctx = &p,
					   .steps = 12};
	assert_int_equal(59, source_check(&check));
	play_close(&p);
	play_close(&other);
}

/* Following while another thread writes, closes states and shakes down. */

struct writing {
	const char *folder;
	atomic_bool done;
	uint64_t pages;
	char failed[600];
};

static int write_cycles(struct play *p, struct writing *w, struct err *err)
{
	for (uint64_t round = 0; round < 12; round++) {
		if (play_begin(p, err) < 0)
			return -1;
		for (uint64_t i = 0; i < 40; i++)
			if (play_gather(p, w->pages++, 1, err) < 0 ||
			    (i % 7 == 0 && play_checkpoint(p, err) < 0))
				return -1;
		if (play_cork(p, err) < 0 || play_merge(p, err) < 0 ||
		    (round % 3 == 2 && play_cleanup(p, err) < 0))
			return -1;
	}
	return 0;
}

static void *write_all(void *arg)
{
	struct writing *w = arg;
	struct play p;
	struct err err = {0};
	int rc = play_open(&p, w->folder, start_us, NULL, &err);
	if (rc == 0) {
		rc = write_cycles(&p, w, &err);
		play_close(&p);
	}
	if (rc < 0)
		snprintf(w->failed, sizeof w->failed, "%s", err.msg);
	atomic_store(&w->done, true);
	return NULL;
}

static void who_follows_while_others_write_hears_everything_once_and_in_order(void **state)
{
	(void)state;
	struct err err = {0};
	static struct writing w; /* outlives a test that fails while the thread still writes */
	w.folder = scratch("live");
	const struct source_crawl store = store_of(w.folder);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct source_cursor cursor = beginning;
	pthread_t thread;
	uint64_t next = 0;
	MUST(states_init(w.folder, 0, start_us, &err));
	struct source *s = follow(&store, &cursor);
	assert_int_equal(0, pthread_create(&thread, NULL, write_all, &w));
	for (bool last = false;;) {
		struct source_change c;
		int rc = source_next(s, &arena, &c, &err);
		if (rc == 0) {
			char url[PLAY_URL];
			assert_true(str_eq(c.obj.url, play_url(next, url)));
			assert_true(str_eq(soif_get(&c.obj, STR("Full-Text")),
					   play_text(&arena, next, 1)));
			source_cursor(s, &cursor);
			if (++next % 29 == 0) { /* now and then it begins anew at its cursor */
				source_close(&s);
				s = follow(&store, &cursor);
			}
		} else if (rc < 0) {
			assert_int_equal(ERR_SYSTEM, err.code); /* to be tried again */
		} else if (last) {
			break;
		} else {
			last = atomic_load(&w.done);
		}
		arena_clear(&arena);
	}
	pthread_join(thread, NULL);
	assert_string_equal("", w.failed);
	assert_int_equal(w.pages, next);
	source_close(&s);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_object_has_all_that_is_mandatory_and_what_the_bucket_says),
		cmocka_unit_test(the_open_journal_is_told_up_to_its_last_checkpoint_only),
		cmocka_unit_test(from_the_beginning_and_through_all_states_every_change_comes_once),
		cmocka_unit_test(a_shakedown_changes_nothing_for_who_follows),
		cmocka_unit_test(numbers_of_a_shakedown_that_goes_on_are_not_taken_for_damage),
		cmocka_unit_test(what_was_deleted_later_is_still_told_in_order),
		cmocka_unit_test(
			without_the_first_states_the_beginning_is_what_the_oldest_one_knows),
		cmocka_unit_test(a_cursor_of_a_host_with_another_name_is_refused),
		cmocka_unit_test(robots_txt_is_nothing_to_followers),
		cmocka_unit_test(a_state_that_is_deleted_under_a_reader_is_not_taken_for_damage),
		cmocka_unit_test(a_follower_keeps_the_states_that_it_needs),
		cmocka_unit_test(a_damaged_record_is_named_and_the_rest_of_its_file_passed),
		cmocka_unit_test(whoever_begins_with_a_damaged_index_gets_past_it),
		cmocka_unit_test(buckets_of_old_versions_are_told_too),
		cmocka_unit_test(a_bucket_that_is_not_there_is_named_and_passed),
		cmocka_unit_test(the_checker_passes),
		cmocka_unit_test(who_follows_while_others_write_hears_everything_once_and_in_order),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
