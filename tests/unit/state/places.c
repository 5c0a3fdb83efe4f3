/* The entries of one URL in a state: through `places`, and without. */
#include "state/places.h"

#include "base/fault.h"

#include "unit/state/play_unit.h"

#include <signal.h>
#include <sys/wait.h>

enum {
	PAGES = 500,
	TRIES = 2,
	MARK = 32,       /* bytes before the first record */
	LONG_URL = 1200, /* so that the journal is worth the file */
};

/* A state with so many tries of each page, and a change of every third, is done. reversed: the last
 * page comes first. */
static int make_many(const char *name, bool reversed, struct states **ret, struct err *ret_err)
{
	struct err err = {0};
	struct states *s = NULL;
	struct state *from = NULL, *st = NULL;
	char url[LONG_URL + 1];
	memset(url, 'u', LONG_URL);
	url[LONG_URL] = 0;
	MUST(states_init(scratch(name), 0, PLAY_START, &err));
	MUST(states_open(&s, scratch(name), true, &err));
	MUST(state_open(&from, s, "current", &err));
	MUST(state_clone(&st, from, false, PLAY_START, &err));
	state_free(&from);
	MUST(state_enter(st, PHASE_REAP, NULL, PLAY_START, &err));
	for (uint64_t i = 0; i < PAGES * TRIES; i++) {
		uint64_t page = reversed ? PAGES - 1 - i % PAGES : i % PAGES;
		struct journal_entry e = {.fp = play_footprint(page),
					  .time_us = PLAY_START + (int64_t)i,
					  .type = ITEM_GATHERED,
					  .where = ITEM_NOWHERE,
					  .url = str_of(url)};
		struct change c = {
			.fp = e.fp, .time_us = e.time_us, .by = PHASE_MERGE, .url = e.url};
		MUST(state_journal(st, &e, &err));
		if (i < PAGES && page % 3 == 0)
			MUST(state_change(st, &c, &err));
	}
	int rc = state_enter(st, PHASE_CORKED, NULL, PLAY_START, ret_err);
	state_free(&st);
	*ret = s;
	return rc;
}

static struct states *crawl_of_many(const char *name)
{
	struct err err = {0};
	struct states *s;
	MUST(make_many(name, false, &s, &err));
	return s;
}

struct heard {
	unsigned entries, changes;
	int64_t last_us;
};

static int hear(void *ctx, const struct journal_entry *entry, const struct change *change,
		struct err *err)
{
	struct heard *h = ctx;
	(void)err;
	assert_true((entry == NULL) != (change == NULL));
	if (entry) {
		assert_int_equal(0, h->changes); /* these come after it */
		assert_true(entry->time_us > h->last_us);
		h->last_us = entry->time_us;
	}
	h->entries += entry != NULL;
	h->changes += change != NULL;
	return 0;
}

static int ask(struct states *s, uint64_t page, struct heard *ret, struct err *err)
{
	struct state *st = NULL;
	*ret = (struct heard){0};
	assert_int_equal(0, state_open(&st, s, "current", err));
	int rc = state_entries(st, play_footprint(page), hear, ret, err);
	state_free(&st);
	return rc;
}

static void check_page(struct states *s, uint64_t page)
{
	struct err err = {0};
	struct heard heard;
	bool there = page < PAGES;
	if (ask(s, page, &heard, &err) < 0)
		fail_msg("page %" PRIu64 ": %s", page, err.msg);
	assert_int_equal(there ? TRIES : 0, heard.entries);
	assert_int_equal(there && page % 3 == 0, heard.changes);
}

static void check_some(struct states *s)
{
	for (uint64_t page = 0; page < PAGES; page += 71)
		check_page(s, page);
	check_page(s, PAGES + 7);
}

static void flip_byte(const char *path, uint64_t at)
{
	FILE *f = fopen(path, "r+b");
	assert_non_null(f);
	assert_int_equal(0, fseek(f, (long)at, SEEK_SET));
	int c = fgetc(f);
	assert_int_equal(0, fseek(f, (long)at, SEEK_SET));
	assert_true(fputc(c ^ 4, f) >= 0);
	assert_int_equal(0, fclose(f));
}

static void every_url_is_found_among_many(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct states *s = crawl_of_many("many");
	for (uint64_t page = 0; page < PAGES + 9; page += 7)
		check_page(s, page);
	snprintf(path, sizeof path, "%s/state/current/places", scratch("many"));
	MUST(format_verify(&places_format, path, &err));
	assert_true(size_of(path) > PAGES * TRIES * 25);
	states_close(&s);
}

/* What is damaged before them is not read on the way to the entries of a URL. */
static void nothing_else_is_read(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct heard heard;
	struct states *s = crawl_of_many("quick");
	snprintf(path, sizeof path, "%s/state/current/journal", scratch("quick"));
	flip_byte(path, RECORD_HEADER + MARK + 20);
	check_page(s, 250);
	assert_true(ask(s, 0, &heard, &err) < 0); /* that was its own */
	assert_int_equal(ERR_DAMAGED, err.code);
	snprintf(path, sizeof path, "%s/state/current/places", scratch("quick"));
	assert_int_equal(0, unlink(path));
	assert_true(ask(s, 250, &heard, &err) < 0);
	states_close(&s);
}

static void a_file_that_is_lost_cut_or_damaged_is_not_needed(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct states *s = crawl_of_many("slow");
	snprintf(path, sizeof path, "%s/state/current/places", scratch("slow"));
	uint64_t size = size_of(path);
	flip_byte(path, size / 2); /* the block in the middle, which everybody asks first */
	assert_true(format_verify(&places_format, path, &err) < 0);
	check_some(s);
	flip_byte(path, size / 2);
	MUST(format_verify(&places_format, path, &err));
	static const uint64_t cuts[] = {1, 4096, 5000};
	for (size_t i = 0; i < ARRAY_LEN(cuts); i++) {
		assert_int_equal(0, truncate(path, (off_t)(size - cuts[i])));
		assert_true(format_verify(&places_format, path, &err) < 0);
		assert_int_equal(ERR_DAMAGED, err.code);
		check_some(s);
	}
	assert_int_equal(0, truncate(path, 0));
	check_some(s);
	assert_int_equal(0, unlink(path));
	check_some(s);
	states_close(&s);
}

/* Places of another journal lead nowhere, and that is noticed. */
static void one_that_does_not_fit_is_not_believed(void **state)
{
	(void)state;
	char path[PATH_MAX], other[PATH_MAX];
	struct err err = {0};
	struct states *s;
	MUST(make_many("other", true, &s, &err));
	states_close(&s);
	s = crawl_of_many("misfit");
	snprintf(path, sizeof path, "%s/state/current/places", scratch("misfit"));
	snprintf(other, sizeof other, "%s/state/current/places", scratch("other"));
	copy_file(other, path);
	check_page(s, 0);
	check_page(s, 90);
	states_close(&s);
}

static void a_state_without_entries_has_none_and_a_clone_begins_without(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct state *from = NULL, *st = NULL;
	struct states *s = crawl_of_many("clone");
	MUST(state_open(&from, s, "current", &err));
	MUST(state_clone(&st, from, false, PLAY_START, &err));
	state_free(&from);
	snprintf(path, sizeof path, "%s/state/current/places", scratch("clone"));
	assert_int_equal(0, size_of(path));
	MUST(state_enter(st, PHASE_CLOSED, NULL, PLAY_START, &err));
	assert_int_equal(0, size_of(path));
	state_free(&st);
	states_close(&s);
}

static void a_state_whose_file_cannot_be_written_stays_open(void **state)
{
	(void)state;
	struct err err = {0};
	struct states *s;
	struct state *st;
	MUST(fault_arm("file.write/.places.new=enospc", &err));
	assert_int_equal(-1, make_many("refused", false, &s, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	MUST(fault_arm("", &err));
	MUST(state_open(&st, s, "current", &err));
	assert_int_equal(PHASE_REAP, state_phase(st));
	MUST(state_enter(st, PHASE_CORKED, NULL, PLAY_START, &err));
	state_free(&st);
	check_some(s);
	states_close(&s);
}

static void a_state_that_is_killed_over_it_is_ended_again(void **state)
{
	(void)state;
	struct err err = {0};
	struct states *s;
	struct state *st;
	struct recovery told = {0};
	int status = 0;
	pid_t pid = fork();
	if (pid == 0) {
		(void)fault_arm("state.places=kill", &err);
		(void)make_many("killed", false, &s, &err);
		_exit(0);
	}
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	MUST(states_open(&s, scratch("killed"), true, &err));
	MUST(states_recover(s, PLAY_START, &told, &err));
	assert_int_equal(1, told.rolled_back);
	recovery_free(&told);
	MUST(state_open(&st, s, "current", &err));
	assert_int_equal(PHASE_REAP, state_phase(st));
	MUST(state_enter(st, PHASE_CORKED, NULL, PLAY_START, &err));
	state_free(&st);
	check_some(s);
	states_close(&s);
}

static void a_little_that_was_appended_has_none(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct play p;
	MUST(states_init(scratch("little"), 0, PLAY_START, &err));
	MUST(play_open(&p, scratch("little"), PLAY_START, NULL, &err));
	MUST(play_begin(&p, &err));
	MUST(play_gather(&p, 1, 1, &err));
	MUST(play_cork(&p, &err));
	play_close(&p);
	snprintf(path, sizeof path, "%s/state/current/journal", scratch("little"));
	assert_true(size_of(path) > 0);
	snprintf(path, sizeof path, "%s/state/current/places", scratch("little"));
	assert_int_equal(0, size_of(path));
}

static void damage_is_mended_by_a_full_recovery(void **state)
{
	(void)state;
	char path[PATH_MAX];
	struct err err = {0};
	struct recovery told = {0};
	struct states *s = crawl_of_many("mended");
	snprintf(path, sizeof path, "%s/state/current/places", scratch("mended"));
	flip_byte(path, 100);
	MUST(states_recover_fully(s, false, PLAY_START, &told, &err));
	assert_true(told.damaged > 0);
	assert_non_null(strstr(buf_text(&told.told), "places"));
	assert_int_equal(0, size_of(path));
	check_some(s);
	recovery_free(&told);
	states_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_url_is_found_among_many),
		cmocka_unit_test(nothing_else_is_read),
		cmocka_unit_test(a_file_that_is_lost_cut_or_damaged_is_not_needed),
		cmocka_unit_test(one_that_does_not_fit_is_not_believed),
		cmocka_unit_test(a_state_without_entries_has_none_and_a_clone_begins_without),
		cmocka_unit_test(damage_is_mended_by_a_full_recovery),
		cmocka_unit_test(a_state_whose_file_cannot_be_written_stays_open),
		cmocka_unit_test(a_state_that_is_killed_over_it_is_ended_again),
		cmocka_unit_test(a_little_that_was_appended_has_none),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
