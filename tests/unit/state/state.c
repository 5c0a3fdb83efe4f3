#include "state/state.h"

#include "base/clock.h"
#include "base/fault.h"
#include "unit/state/play_unit.h"

#include <pthread.h>

static void made(struct play *ret, const char *name)
{
	struct err err = {0};
	MUST(states_init(scratch(name), 0, PLAY_START, &err));
	MUST(play_open(ret, scratch(name), PLAY_START, NULL, &err));
}

static struct state *newest(struct states *s)
{
	struct err err = {0};
	struct state *st = NULL;
	MUST(state_open(&st, s, "current", &err));
	return st;
}

static void one_cycle(struct play *p, uint64_t from, uint64_t to)
{
	struct err err = {0};
	MUST(play_begin(p, &err));
	for (uint64_t i = from; i < to; i++)
		MUST(play_gather(p, i, 1, &err));
	MUST(play_checkpoint(p, &err));
	MUST(play_cork(p, &err));
	MUST(play_merge(p, &err));
	state_free(&p->st);
}

static void a_crawl_begins_with_one_empty_closed_state(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	const struct url_index *index;
	made(&p, "begin");
	struct state *st = newest(p.s);
	assert_int_equal(PHASE_CLOSED, state_phase(st));
	MUST(state_index(st, &index, &err));
	assert_int_equal(0, url_index_items(index));
	state_free(&st);
	assert_true(states_init(scratch("begin"), 0, PLAY_START, &err) < 0);
	play_close(&p);
	struct states *s = NULL;
	assert_int_equal(1, states_open(&s, scratch("nothing"), false, &err));
}

static void only_one_process_writes_and_others_read(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct states *s = NULL;
	struct state *st = NULL, *clone = NULL;
	made(&p, "writer");
	assert_true(states_open(&s, scratch("writer"), true, &err) < 0);
	assert_int_equal(ERR_BUSY, err.code);
	MUST(states_open(&s, scratch("writer"), false, &err));
	MUST(state_open(&st, s, "closed", &err));
	assert_true(state_clone(&clone, st, false, PLAY_START, &err) < 0);
	state_free(&st);
	states_close(&s);
	play_close(&p);
}

static void exactly_one_state_is_open_and_only_the_newest_is_cloned(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct state *clone = NULL, *second = NULL, *old = newest((made(&p, "one"), p.s));
	MUST(state_clone(&clone, old, false, PLAY_START, &err));
	assert_int_equal(PHASE_PREPARE, state_phase(clone));
	assert_string_equal(state_name(old), state_params(clone)->from);
	assert_true(state_clone(&second, old, false, PLAY_START, &err) < 0);   /* not the newest */
	assert_true(state_clone(&second, clone, false, PLAY_START, &err) < 0); /* open */
	MUST(state_enter(clone, PHASE_CLOSED, NULL, PLAY_START, &err));
	assert_true(state_enter(clone, PHASE_PLAN, NULL, PLAY_START, &err) < 0);
	const struct change change = {.op = CHANGE_ADD};
	assert_true(state_change(clone, &change, &err) < 0);
	MUST(state_clone(&second, clone, false, PLAY_START, &err));
	assert_true(strcmp(state_name(second), state_name(clone)) > 0); /* also in one second */
	state_free(&second);
	state_free(&clone);
	state_free(&old);
	play_close(&p);
}

static void clones_share_the_index_until_a_new_one_is_put(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct stat a, b;
	char path[PATH_MAX];
	made(&p, "share");
	struct state *old = newest(p.s), *clone = NULL;
	MUST(state_clone(&clone, old, false, PLAY_START, &err));
	snprintf(path, sizeof path, "%s/state/%s/index", scratch("share"), state_name(old));
	assert_int_equal(0, stat(path, &a));
	assert_int_equal(2, a.st_nlink);
	struct url_index_writer *w;
	const struct index_item item = {.fp = {1, 2}, .type = ITEM_NEW, .where = ITEM_NOWHERE};
	MUST(state_index_create(clone, &w, &err));
	url_index_put(w, &item);
	MUST(state_index_put(clone, &w, &err));
	assert_int_equal(0, stat(path, &b));
	assert_int_equal(1, b.st_nlink);
	assert_int_equal(a.st_ino, b.st_ino);
	const struct url_index *index;
	MUST(state_index(old, &index, &err));
	assert_int_equal(0, url_index_items(index));
	MUST(state_index(clone, &index, &err));
	assert_int_equal(1, url_index_items(index));
	state_free(&clone);
	state_free(&old);
	play_close(&p);
}

static void a_shared_contrib_is_copied_before_it_grows(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	uint64_t place, place2;
	struct contrib c = {.fp = {1, 1}, .url = STR("http://a.example/")}, got;
	made(&p, "contrib");
	struct state *old = newest(p.s), *first = NULL, *second = NULL;
	MUST(state_clone(&first, old, false, PLAY_START, &err));
	MUST(state_contrib(first, &c, &place, &err));
	MUST(state_enter(first, PHASE_CORKED, NULL, PLAY_START, &err));
	MUST(state_clone(&second, first, true, PLAY_START, &err));
	MUST(state_contrib_at(second, place, &got, &err)); /* it is there to be read */
	assert_str(got.url, "http://a.example/");
	c.url = STR("http://b.example/");
	MUST(state_contrib(second, &c, &place2, &err));
	assert_true(state_grown(second));
	MUST(state_checkpoint(second, NULL, PLAY_START, &err));
	assert_false(state_grown(second));
	struct record_reader *r;
	struct record record;
	unsigned n = 0;
	MUST(state_read(first, "contrib", &r, &err));
	while (record_next(r, &record, &err) == 0)
		n++;
	assert_int_equal(1, n); /* the old state's is as it was */
	record_reader_free(&r);
	state_free(&second);
	MUST(state_open(&second, p.s, "current", &err));
	MUST(state_contrib_at(second, place, &got, &err));
	assert_str(got.url, "http://a.example/");
	MUST(state_contrib_at(second, place2, &got, &err));
	assert_str(got.url, "http://b.example/");
	/* and a rollback to before it grew gives the old one */
	state_free(&second);
	play_close(&p);
	MUST(play_open(&p, scratch("contrib"), PLAY_START, NULL, &err));
	state_free(&first);
	state_free(&old);
	play_close(&p);
}

static void what_is_rolled_back_is_gone_from_every_file(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	made(&p, "rollback");
	MUST(play_begin(&p, &err));
	MUST(play_gather(&p, 1, 1, &err));
	MUST(play_checkpoint(&p, &err));
	struct checkpoint c;
	MUST(checkpoint_last(state_path(p.st, &p.arena, ""), &c, &err));
	MUST(play_gather(&p, 2, 1, &err));
	const struct gone gone = {{7, 7}, PLAY_START, GONE_HAND};
	MUST(state_gone(p.st, &gone, &err));
	MUST(bucket_sync(p.buckets, NULL, &err));
	play_close(&p);
	MUST(play_open(&p, scratch("rollback"), PLAY_START, NULL, &err));
	MUST(state_open(&p.st, p.s, "current", &err));
	assert_int_equal(PHASE_REAP, state_phase(p.st));
	char path[PATH_MAX];
	path_in(scratch("rollback"), "objects", path);
	assert_int_equal(c.objects, size_of(path));
	struct record_reader *r;
	struct record record;
	unsigned n = 0;
	MUST(state_read(p.st, "journal", &r, &err));
	while (record_next(r, &record, &err) == 0)
		n++;
	assert_int_equal(2, n); /* a page, and the key of its site */
	record_reader_free(&r);
	int64_t since;
	struct gone found;
	path_in(scratch("rollback"), "gone", path);
	assert_int_equal(1, gone_find(path, gone.fp, &found, &since, &err));
	play_close(&p);
}

static void locks_keep_states_until_they_expire(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct arena arena = ARENA_INIT(1 << 20);
	struct state_info *list;
	size_t n;
	unsigned deleted;
	const struct states_keep keep = {.closed = 1};
	made(&p, "locks");
	one_cycle(&p, 0, 3);
	one_cycle(&p, 3, 6);
	MUST(states_list(p.s, p.now_us, &arena, &list, &n, &err));
	assert_int_equal(5, n);
	MUST(states_lock(p.s, "indexer-1", list[1].name, p.now_us + 1000, &err));
	assert_true(play_followed(p.s, p.now_us));
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	assert_int_equal(1, deleted); /* only what is before it */
	MUST(states_audit(p.s, &keep, p.now_us + 1000, &deleted, &err));
	assert_int_equal(3, deleted); /* it has expired: all but the newest closed one */
	assert_false(play_followed(p.s, p.now_us + 1000));
	assert_int_equal(1, states_lock(p.s, "indexer-1", list[1].name, INT64_MAX, &err));
	assert_true(states_lock(p.s, "../x", list[4].name, INT64_MAX, &err) < 0);
	assert_true(states_lock(p.s, "", list[4].name, INT64_MAX, &err) < 0);
	arena_free(&arena);
	play_close(&p);
}

#ifdef GARNER_FAULTS
struct auditing {
	struct states *s;
	int rc;
	unsigned deleted;
};

static void *audit_all(void *arg)
{
	struct auditing *a = arg;
	struct err err;
	const struct states_keep keep = {.closed = 1, .corked = 0};
	a->rc = states_audit(a->s, &keep, PLAY_START, &a->deleted, &err);
	return NULL;
}

static void a_state_that_was_locked_is_not_deleted_by_who_looked_for_locks_before(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct state_info *list;
	struct arena arena = ARENA_INIT(1 << 20);
	size_t n;
	pthread_t thread;
	char path[PATH_MAX];
	made(&p, "race");
	one_cycle(&p, 0, 2);
	one_cycle(&p, 2, 4);
	MUST(states_list(p.s, PLAY_START, &arena, &list, &n, &err));
	struct auditing a = {.s = p.s};
	struct states *reader = NULL;
	MUST(states_open(&reader, scratch("race"), false, &err));
	MUST(fault_arm("state.delete=slow@1+", &err));
	assert_int_equal(0, pthread_create(&thread, NULL, audit_all, &a));
	usleep(5000);
	int rc = states_lock(reader, "broker", list[0].name, PLAY_START + 1, &err);
	pthread_join(thread, NULL);
	MUST(fault_arm("", &err));
	assert_int_equal(0, a.rc);
	snprintf(path, sizeof path, "%s/state/%s/control", scratch("race"), list[0].name);
	assert_int_equal(rc == 0, access(path, F_OK) == 0);
	assert_true(rc != 0 || a.deleted == 0);
	states_close(&reader);
	arena_free(&arena);
	play_close(&p);
}
#endif

static void retention_counts_closed_and_corked_states(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct arena arena = ARENA_INIT(1 << 20);
	struct state_info *list;
	size_t n;
	unsigned deleted;
	const struct states_keep keep = {.closed = 2, .corked = 1};
	made(&p, "audit");
	for (uint64_t i = 0; i < 4; i++)
		one_cycle(&p, i, i + 1);
	MUST(states_audit(p.s, &keep, p.now_us, &deleted, &err));
	MUST(states_list(p.s, p.now_us, &arena, &list, &n, &err));
	assert_int_equal(3, n);
	assert_int_equal(PHASE_CLOSED, list[0].phase);
	assert_int_equal(PHASE_CORKED, list[1].phase);
	assert_int_equal(PHASE_CLOSED, list[2].phase);
	struct state *st = newest(p.s), *clone = NULL;
	MUST(state_clone(&clone, st, false, p.now_us, &err));
	assert_true(states_audit(p.s, &keep, p.now_us, &deleted, &err) < 0); /* one is open */
	state_free(&st);
	state_free(&clone);
	arena_free(&arena);
	play_close(&p);
}

/* At most so many of each kind, without a gap, and never without a closed one. */
static void each_kind_of_state_has_its_own_limit(void **state)
{
	(void)state;
	static const struct {
		struct states_keep keep;
		size_t closed, corked;
	} cases[] = {{{.closed = 5, .corked = 3}, 4, 3}, /* C1 K2 C2 K3 C3 K4 C4 */
		     {{.closed = 3, .corked = 9}, 3, 3},
		     {{.closed = 3, .corked = 1}, 2, 1},
		     {{.closed = 9, .corked = 0}, 1, 0},
		     {{.closed = 0, .corked = 0}, 1, 0}};
	struct play p;
	struct err err = {0};
	unsigned deleted;
	made(&p, "limits");
	for (uint64_t i = 0; i < 4; i++)
		one_cycle(&p, i, i + 1);
	play_close(&p);
	for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
		struct arena arena = ARENA_INIT(1 << 20);
		struct state_info *list;
		size_t n, closed = 0, corked = 0;
		fresh_copy(scratch("limits"), scratch("limited"));
		MUST(play_open(&p, scratch("limited"), PLAY_START, NULL, &err));
		MUST(states_audit(p.s, &cases[k].keep, p.now_us, &deleted, &err));
		MUST(states_list(p.s, p.now_us, &arena, &list, &n, &err));
		for (size_t i = 0; i < n; i++) {
			closed += list[i].phase == PHASE_CLOSED;
			corked += list[i].phase == PHASE_CORKED;
			assert_true(i == 0 || strcmp(list[i].params.from, list[i - 1].name) == 0);
		}
		assert_int_equal(cases[k].closed, closed);
		assert_int_equal(cases[k].corked, corked);
		arena_free(&arena);
		play_close(&p);
	}
}

static void a_clock_that_is_wrong_does_not_disturb_the_order_of_states(void **state)
{
	(void)state;
	static const int64_t clocks_s[] = {0, -5, INT64_C(4294967296), INT64_C(253402300800)};
	struct play p;
	struct err err = {0};
	char path[PATH_MAX], last[STATE_NAME];
	made(&p, "clock");
	for (size_t i = 0; i < ARRAY_LEN(clocks_s); i++) {
		struct state *old = newest(p.s), *clone = NULL;
		memcpy(last, state_name(old), STATE_NAME);
		MUST(state_clone(&clone, old, false, clocks_s[i] * US_PER_S, &err));
		assert_true(strcmp(state_name(clone), last) > 0);
		assert_memory_equal(last, state_name(clone), 4); /* the same year */
		MUST(state_enter(clone, PHASE_CLOSED, NULL, PLAY_START, &err));
		state_free(&clone);
		state_free(&old);
	}
	snprintf(path, sizeof path, "%s/state/99991231-235959", scratch("clock"));
	MUST(dir_make(path, 0755, &err));
	play_close(&p);
	MUST(play_open(&p, scratch("clock"), PLAY_START, NULL, &err));
	struct state *none = NULL, *far = newest(p.s);
	assert_int_equal(-1, state_clone(&none, far, false, PLAY_START, &err));
	assert_non_null(strstr(err.msg, "99991231-235959"));
	state_free(&far);
	play_close(&p);
}

static void the_links_name_the_newest_states(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	char path[PATH_MAX], link[64] = {0};
	made(&p, "links");
	one_cycle(&p, 0, 1);
	MUST(play_begin(&p, &err));
	snprintf(path, sizeof path, "%s/state/current", scratch("links"));
	assert_int_equal(15, readlink(path, link, sizeof link));
	assert_string_equal(state_name(p.st), link);
	struct state *closed = NULL;
	MUST(state_open(&closed, p.s, "closed", &err));
	snprintf(path, sizeof path, "%s/state/closed", scratch("links"));
	assert_int_equal(15, readlink(path, link, sizeof link));
	assert_string_equal(state_name(closed), link);
	state_free(&closed);
	play_close(&p);
}

static void an_interrupted_cleanup_is_brought_to_its_end(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct recovery r;
	made(&p, "cleanup");
	one_cycle(&p, 0, 6);
	one_cycle(&p, 0, 3);
	/* the bucket file is shaken down, the index does not know */
	MUST(play_cleanup(&p, &err));
	struct arena arena = ARENA_INIT(1 << 20);
	struct state_info *list;
	size_t n;
	MUST(states_list(p.s, p.now_us, &arena, &list, &n, &err));
	play_close(&p);
	/* the state that has the new numbers is lost: those before it do not fit the buckets */
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/state/%s", scratch("cleanup"), list[n - 1].name);
	assert_int_equal(0, tree_remove(path, &err));
	MUST(play_open(&p, scratch("cleanup"), PLAY_START, &r, &err));
	assert_int_equal(1, r.rebuilt);
	assert_int_equal(2, r.damaged); /* the bucket file is too short, the index does not fit */
	recovery_free(&r);
	struct state *st = newest(p.s);
	const struct url_index *index;
	MUST(state_index(st, &index, &err));
	assert_int_equal(8, url_index_items(index)); /* six gathered, one found, a key */
	assert_int_equal(6, items_of(index, ITEM_GATHERED));
	state_free(&st);
	arena_free(&arena);
	play_close(&p);
}

static struct buckets *scanned(const char *name)
{
	struct err err = {0};
	const struct bucket_options options = {.mode = BUCKET_SCAN};
	struct buckets *b = NULL;
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/objects", scratch(name));
	MUST(bucket_open(&b, path, &options, &err));
	return b;
}

static void the_bucket_file_is_known_up_to_the_last_checkpoint(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct checkpoint last;
	uint64_t known = 1;
	made(&p, "known");
	one_cycle(&p, 0, 3);
	MUST(play_begin(&p, &err));
	MUST(play_gather(&p, 0, 2, &err));
	MUST(play_checkpoint(&p, &err));
	MUST(checkpoint_last(state_path(p.st, &p.arena, ""), &last, &err));
	MUST(play_gather(&p, 1, 2, &err));
	MUST(bucket_sync(p.buckets, NULL, &err));
	struct states *reader = NULL;
	MUST(states_open(&reader, scratch("known"), false, &err));
	struct buckets *b = scanned("known");
	assert_true(bucket_length(b) > last.objects);
	MUST(states_objects(reader, b, &known, &err));
	assert_int_equal(last.objects, known);
	MUST(play_checkpoint(&p, &err));
	MUST(play_cork(&p, &err));
	MUST(play_merge(&p, &err));
	MUST(play_cleanup(&p, &err)); /* another file, and other lengths */
	assert_int_equal(1, states_objects(reader, b, &known, &err));
	bucket_drop(&b);
	b = scanned("known");
	MUST(states_objects(reader, b, &known, &err));
	assert_true(known > 0 && known <= bucket_length(b));
	assert_int_equal(0, bucket_length(b) - known);
	bucket_drop(&b);
	states_close(&reader);
	play_close(&p);
}

static void a_damaged_bucket_does_not_stop_cleanups_for_ever(void **state)
{
	(void)state;
	struct play p;
	struct err err = {0};
	struct recovery told;
	char path[PATH_MAX];
	made(&p, "bad");
	one_cycle(&p, 0, 5);
	snprintf(path, sizeof path, "%s/objects", scratch("bad"));
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, 100, SEEK_SET)); /* in the first one */
	assert_int_equal(0xff, fputc(0xff, f));
	assert_int_equal(0, fclose(f));
	assert_int_equal(-1, play_cleanup(&p, &err));
	assert_int_equal(ERR_DAMAGED, err.code);
	play_close(&p);
	MUST(play_open(&p, scratch("bad"), PLAY_START, &told, &err));
	assert_true(told.damaged > 0);
	assert_non_null(strstr(buf_text(&told.told), "00000000"));
	recovery_free(&told);
	MUST(play_cleanup(&p, &err));
	struct state *st = newest(p.s);
	struct index_item item;
	const struct url_index *index;
	MUST(state_index(st, &index, &err));
	assert_int_equal(1, url_index_find(index, play_footprint(0), &item, &err));
	for (uint64_t page = 1; page < 5; page++)
		MUST(url_index_find(index, play_footprint(page), &item, &err));
	state_free(&st);
	play_close(&p);
}

static void a_rebuild_finds_what_is_in_the_buckets(void **state)
{
	(void)state;
	struct err err = {0};
	struct recovery r;
	struct play p;
	made(&p, "rebuild");
	one_cycle(&p, 0, 9);
	bucket_drop(&p.buckets);
	MUST(states_recover_fully(p.s, true, p.now_us, &r, &err));
	assert_int_equal(1, r.rebuilt);
	assert_int_equal(0, r.damaged);
	assert_null(strstr(buf_text(&r.told), "taken from")); /* its own index is whole */
	recovery_free(&r);
	struct state *st = newest(p.s);
	const struct url_index *index;
	struct sites *sites;
	MUST(state_index(st, &index, &err));
	assert_int_equal(9, items_of(index, ITEM_GATHERED));
	assert_int_equal(11, url_index_items(index)); /* one found, a key */
	MUST(state_sites(st, &sites, &err));
	assert_int_equal(1, sites_count(sites));
	struct site *site = sites_sorted(sites)[0];
	assert_str(site->host, "site0.example");
	assert_int_equal(9, site->gathered);
	sites_free(&sites);
	state_free(&st);
	play_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_crawl_begins_with_one_empty_closed_state),
		cmocka_unit_test(only_one_process_writes_and_others_read),
		cmocka_unit_test(exactly_one_state_is_open_and_only_the_newest_is_cloned),
		cmocka_unit_test(clones_share_the_index_until_a_new_one_is_put),
		cmocka_unit_test(a_shared_contrib_is_copied_before_it_grows),
		cmocka_unit_test(what_is_rolled_back_is_gone_from_every_file),
		cmocka_unit_test(locks_keep_states_until_they_expire),
#ifdef GARNER_FAULTS
		cmocka_unit_test(
			a_state_that_was_locked_is_not_deleted_by_who_looked_for_locks_before),
#endif
		cmocka_unit_test(retention_counts_closed_and_corked_states),
		cmocka_unit_test(each_kind_of_state_has_its_own_limit),
		cmocka_unit_test(a_clock_that_is_wrong_does_not_disturb_the_order_of_states),
		cmocka_unit_test(the_links_name_the_newest_states),
		cmocka_unit_test(an_interrupted_cleanup_is_brought_to_its_end),
		cmocka_unit_test(the_bucket_file_is_known_up_to_the_last_checkpoint),
		cmocka_unit_test(a_damaged_bucket_does_not_stop_cleanups_for_ever),
		cmocka_unit_test(a_rebuild_finds_what_is_in_the_buckets),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
