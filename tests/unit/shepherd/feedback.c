/* Feedback: what goes into the index, that it counts once, and damage at every byte of the file. */
#include "shepherd/feedback.h"

#include "base/file.h"
#include "disk/record.h"
#include "unit/shepherd/crawl_lab.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/feedback", scratch(name));
	return path;
}

static bool is_there(const char *name, const char *file)
{
	char path[600];
	snprintf(path, sizeof path, "%s/%s", scratch(name), file);
	return access(path, F_OK) == 0;
}

struct told {
	uint64_t page;
	uint8_t weight, flags;
};

static int by_fp(const void *a, const void *b)
{
	return footprint_cmp(((const struct feedback *)a)->fp, ((const struct feedback *)b)->fp);
}

/* A file with these entries, in order. */
static void write_file(const char *path, uint64_t number, const struct told *told, size_t n)
{
	struct err err = {0};
	struct feedback_writer *w = NULL;
	struct feedback *entry = calloc(n + 1, sizeof *entry);
	for (size_t i = 0; i < n; i++)
		entry[i] = (struct feedback){play_footprint(told[i].page), told[i].weight,
					     told[i].flags};
	qsort(entry, n, sizeof *entry, by_fp);
	MUST(feedback_create(&w, path, number, &err));
	for (size_t i = 0; i < n; i++)
		MUST(feedback_put(w, &entry[i], &err));
	MUST(feedback_finish(&w, &err));
	free(entry);
}

static ino_t index_of(struct lab *lab)
{
	struct stat st;
	assert_int_equal(0, stat(state_path(lab->st, &lab->arena, "index"), &st));
	return st.st_ino;
}

static int feed(struct lab *lab, const char *path, struct fed *ret)
{
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	int rc = crawl_feedback(lab->st, &c, path, ret, &err);
	if (rc < 0)
		fail_msg("%s", err.msg);
	return rc;
}

static void forget_number(struct lab *lab)
{
	struct err err = {0};
	struct state_course course = state_params(lab->st)->course;
	course.feedback = 0;
	MUST(state_params_put(lab->st, &course, &err));
}

static void weights_and_flags_go_into_the_index(void **state)
{
	(void)state;
	struct lab lab;
	struct fed fed;
	const char *path = path_of("fed");
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(1, ITEM_NEW),
				     lab_item(2, ITEM_GATHERED), lab_item(3, ITEM_ZOMBIE),
				     lab_item(4, ITEM_QKEY)};
	items[1].flags = ITEM_UNREFERENCED | ITEM_INITIAL;
	items[2].flags = ITEM_WEIGHED;
	items[2].weight = 77;
	lab_make(&lab, "fed", items, 5, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	write_file(path, 1,
		   (struct told[]){{0, 200, ITEM_WEIGHED},
				   {1, 9, ITEM_WEIGHED},
				   {2, 0, ITEM_UNREFERENCED}, /* of no weight is anything told */
				   {4, 1, ITEM_WEIGHED},      /* not a URL */
				   {900, 1, ITEM_WEIGHED},
				   {901, 1, ITEM_WEIGHED}},
		   6);
	assert_int_equal(0, feed(&lab, path, &fed));
	assert_false(fed.damaged);
	assert_int_equal(1, fed.number);
	assert_int_equal(6, fed.entries);
	assert_int_equal(3, fed.changed);
	assert_int_equal(3, fed.unknown);
	assert_int_equal(200, lab_find(&lab, 0).weight);
	assert_int_equal(ITEM_WEIGHED, lab_find(&lab, 0).flags);
	assert_int_equal(9, lab_find(&lab, 1).weight);
	assert_int_equal(ITEM_WEIGHED | ITEM_INITIAL, lab_find(&lab, 1).flags);
	assert_int_equal(77, lab_find(&lab, 2).weight);
	assert_int_equal(ITEM_WEIGHED | ITEM_UNREFERENCED, lab_find(&lab, 2).flags);
	assert_int_equal(128, lab_find(&lab, 3).weight);
	assert_int_equal(0, lab_find(&lab, 3).flags);
	assert_int_equal(128, lab_find(&lab, 4).weight);
	assert_false(lab_knows(&lab, 900));
	assert_int_equal(1, state_params(lab.st)->course.feedback);
	lab_free(&lab);
}

static void a_feedback_counts_once(void **state)
{
	(void)state;
	struct lab lab;
	struct fed fed;
	struct err err = {0};
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(1, ITEM_NEW)};
	struct told told[] = {{0, 200, ITEM_WEIGHED}};
	const char *path = path_of("once");
	lab_make(&lab, "once", items, 2, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	ino_t first = index_of(&lab);
	assert_int_equal(1, feed(&lab, path, &fed)); /* there is none */
	assert_int_equal(first, index_of(&lab));
	write_file(path, 5, told, 1);
	assert_int_equal(0, feed(&lab, path, &fed));
	ino_t second = index_of(&lab);
	assert_true(first != second);

	/* as after a crash before the file was removed */
	assert_int_equal(1, feed(&lab, path, &fed));
	MUST(state_enter(lab.st, PHASE_CLOSED, NULL, PLAY_START, &err));
	lab_enter(&lab, false, PHASE_FEEDBACK);
	assert_int_equal(5, state_params(lab.st)->course.feedback);
	assert_int_equal(1, feed(&lab, path, &fed));
	assert_int_equal(second, index_of(&lab));

	/* an older one neither */
	write_file(path, 4, (struct told[]){{0, 3, ITEM_WEIGHED}}, 1);
	assert_int_equal(1, feed(&lab, path, &fed));
	assert_int_equal(200, lab_find(&lab, 0).weight);

	/* as after a crash before the number was noted */
	write_file(path, 5, told, 1);
	forget_number(&lab);
	assert_int_equal(0, feed(&lab, path, &fed));
	assert_int_equal(0, fed.changed);
	assert_int_equal(second, index_of(&lab));
	assert_int_equal(5, state_params(lab.st)->course.feedback);
	lab_free(&lab);
}

static void what_was_applied_is_removed_and_a_newer_file_stays(void **state)
{
	(void)state;
	struct err err = {0};
	struct told told[] = {{0, 200, ITEM_WEIGHED}};
	char taken[512];
	const char *path = path_of("done");
	snprintf(taken, sizeof taken, "%s/.feedback.taken", scratch("done"));
	MUST(dir_make(scratch("done"), 0700, &err));
	assert_int_equal(1, feedback_done(path, 1, &err));
	write_file(path, 2, told, 1);
	assert_int_equal(1, feedback_done(path, 1, &err));
	assert_true(is_there("done", "feedback"));
	assert_false(is_there("done", ".feedback.taken"));
	MUST(feedback_done(path, 2, &err));
	assert_false(is_there("done", "feedback"));
	assert_false(is_there("done", ".feedback.taken"));

	/* one that a crash left under the other name is not lost, */
	write_file(taken, 3, told, 1);
	assert_int_equal(1, feedback_done(path, 2, &err));
	assert_true(is_there("done", "feedback"));
	/* but a newer one goes before it */
	write_file(taken, 3, told, 1);
	write_file(path, 4, told, 1);
	assert_int_equal(1, feedback_done(path, 3, &err));
	assert_true(is_there("done", "feedback"));
	assert_false(is_there("done", ".feedback.taken"));
	MUST(feedback_done(path, 4, &err));
}

/* Whether the file is found to be damaged and set aside; else it has said what was written. */
static bool is_found_damaged(struct lab *lab, const char *name, const char *path)
{
	struct err err = {0};
	struct fed fed;
	char aside[600];
	ino_t before = index_of(lab);
	snprintf(aside, sizeof aside, "%s.damaged", path);
	forget_number(lab);
	assert_int_equal(0, feed(lab, path, &fed));
	if (!fed.damaged) {
		assert_int_equal(7, fed.number);
		assert_int_equal(3, fed.entries);
		assert_int_equal(1, fed.unknown);
		assert_int_equal(7, state_params(lab->st)->course.feedback);
		assert_int_equal(200, lab_find(lab, 0).weight);
		assert_int_equal(ITEM_UNREFERENCED, lab_find(lab, 1).flags);
		return false;
	}
	assert_non_null(strstr(fed.why.msg, path));
	assert_int_equal(ERR_DAMAGED, fed.why.code);
	assert_int_equal(before, index_of(lab));
	assert_int_equal(0, state_params(lab->st)->course.feedback);
	assert_false(is_there(name, "feedback"));
	assert_true(is_there(name, "feedback.damaged"));
	MUST(file_remove(aside, &err));
	return true;
}

static void damage_at_every_byte_is_found_or_harmless(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct index_item items[] = {lab_item(0, ITEM_GATHERED), lab_item(1, ITEM_NEW)};
	const char *path = path_of("damage");
	CLEANUP(buf_free) struct buf whole = BUF_INIT(4096);
	size_t found = 0;
	lab_make(&lab, "damage", items, 2, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	write_file(path, 7,
		   (struct told[]){{0, 200, ITEM_WEIGHED},
				   {1, 0, ITEM_UNREFERENCED},
				   {900, 1, ITEM_WEIGHED}},
		   3);
	MUST(file_slurp(path, &whole, &err));
	assert_int_equal(0, format_verify(&feedback_format, path, &err));
	for (size_t at = 0; at < whole.n; at++) {
		whole.p[at] ^= 0x55;
		MUST(file_replace(path, buf_str(&whole), 0644, &err));
		found += is_found_damaged(&lab, "damage", path);
		whole.p[at] ^= 0x55;
	}
	assert_true(found > whole.n / 2);
	found = 0;
	for (size_t n = 0; n < whole.n; n++) {
		MUST(file_replace(path, str_head(buf_str(&whole), n), 0644, &err));
		found += is_found_damaged(&lab, "damage", path);
	}
	assert_true(found > whole.n / 2);
	MUST(file_replace(path, buf_str(&whole), 0644, &err));
	assert_false(is_found_damaged(&lab, "damage", path));
	lab_free(&lab);
}

/* Neither holds up the crawl. */
static void what_is_no_file_is_set_aside(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct fed fed;
	const char *path = path_of("none");
	char aside[600];
	snprintf(aside, sizeof aside, "%s.damaged", path);
	lab_make(&lab, "none", NULL, 0, NULL, 0);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	for (int folder = 0; folder < 2; folder++) {
		assert_int_equal(0, folder ? mkdir(path, 0755) : mkfifo(path, 0644));
		assert_int_equal(1, feedback_done(path, 9, &err));
		assert_int_equal(0, feed(&lab, path, &fed));
		assert_true(fed.damaged);
		assert_non_null(strstr(fed.why.msg, path));
		assert_false(is_there("none", "feedback"));
		assert_int_equal(0, folder ? rmdir(aside) : unlink(aside));
	}
	lab_free(&lab);
}

/* A file of whole records that no writer of ours makes. */
static void write_records(const char *path, const struct str *payload, size_t n)
{
	static const struct record_kind kind = {"GARNERFB", 1, 1 << 16};
	struct err err = {0};
	struct record_writer *w = NULL;
	struct record_group group = {0};
	(void)unlink(path);
	MUST(record_open(&w, path, &kind, 0644, NULL, &err));
	for (size_t i = 0; i < n; i++)
		MUST(record_append(w, payload[i], &group, NULL, &err));
	MUST(record_sync(w, &group, &err));
	MUST(record_close(&w, &err));
}

static void what_no_feedback_can_say_is_refused(void **state)
{
	(void)state;
#define FIRST STR("n\1\0\0\0\0\0\0\0")
#define ENTRY_A "0000000000000000\7\100"
#define ENTRY_B "0000000000000001\7\100"
	const struct {
		struct str payload[4];
		size_t n;
		bool sound;
	} cases[] = {
		{{FIRST, STR("f" ENTRY_A ENTRY_B), STR("e\2")}, 3, true},
		{{FIRST, STR("f" ENTRY_A), STR("f" ENTRY_B), STR("e\2")}, 4, true},
		{{FIRST, STR("e\0")}, 2, true},
		{{FIRST, STR("f" ENTRY_B ENTRY_A), STR("e\2")}, 3, false},           /* order */
		{{FIRST, STR("f" ENTRY_A), STR("f" ENTRY_A), STR("e\2")}, 4, false}, /* twice */
		{{FIRST, STR("f" ENTRY_A), STR("e\2")}, 3, false},                   /* count */
		{{FIRST, STR("f" ENTRY_A), STR("e\1\1")}, 3, false},
		{{FIRST, STR("f" ENTRY_A "0"), STR("e\1")}, 3, false},
		{{FIRST, STR("f"), STR("e\0")}, 3, false},
		{{FIRST, STR("f0000000000000000\7\1"), STR("e\1")}, 3, false}, /* flags */
		{{FIRST, STR("f" ENTRY_A)}, 2, false},                         /* no end */
		{{FIRST, STR("e\0"), STR("e\0")}, 3, false},                   /* more after it */
		{{FIRST, STR("x")}, 2, false},
		{{STR("n\0\0\0\0\0\0\0\0"), STR("e\0")}, 2, false}, /* the number 0 */
		{{STR("n\1\0\0\0"), STR("e\0")}, 2, false},
		{{STR("f" ENTRY_A), STR("e\1")}, 2, false},
	};
	struct err err = {0};
	const char *path = scratch("refused");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		write_records(path, cases[i].payload, cases[i].n);
		int rc = format_verify(&feedback_format, path, &err);
		if (cases[i].sound != (rc == 0))
			fail_msg("case %zu: %d", i, rc);
		if (!cases[i].sound)
			assert_int_equal(ERR_DAMAGED, err.code);
	}
}

static void print_piece(void *ctx, struct str piece)
{
	buf_add_str(ctx, piece);
}

static void a_file_can_be_printed(void **state)
{
	(void)state;
	struct err err = {0};
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	char path[512];
	snprintf(path, sizeof path, "%s", scratch("printed"));
	write_file(path, 3, (struct told[]){{0, 200, ITEM_WEIGHED | ITEM_UNREFERENCED}}, 1);
	MUST(format_print(&feedback_format, path, print_piece, &out, &err));
	assert_non_null(strstr(buf_text(&out), "feedback 3"));
	assert_non_null(strstr(buf_text(&out), " weight 200 WU"));
	assert_non_null(strstr(buf_text(&out), "end, 1 entries"));
}

/* More than one record and more than one block, known and unknown URLs mixed. */
static void many_entries_find_their_urls(void **state)
{
	(void)state;
	enum { PAGES = 9000 };
	struct lab lab;
	struct fed fed;
	const char *path = path_of("many");
	struct index_item *items = calloc(PAGES, sizeof *items);
	struct told *told = calloc(PAGES, sizeof *told);
	size_t n = 0, ntold = 0;
	for (uint64_t page = 0; page < PAGES; page++) {
		if (page % 2 == 0)
			items[n++] = lab_item(page, ITEM_NEW);
		if (page % 3 != 0)
			told[ntold++] = (struct told){page, (uint8_t)page, ITEM_WEIGHED};
	}
	lab_make(&lab, "many", items, n, (uint64_t[]){0}, 1);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	write_file(path, 1, told, ntold);
	assert_int_equal(0, feed(&lab, path, &fed));
	assert_int_equal(ntold, fed.entries);
	assert_int_equal(PAGES / 3, fed.unknown);
	for (uint64_t page = 0; page < PAGES; page += 62) {
		struct index_item item = lab_find(&lab, page);
		assert_int_equal(page % 3 ? (uint8_t)page : 128, item.weight);
		assert_int_equal(page % 3 ? ITEM_WEIGHED : 0, item.flags);
	}
	free(items);
	free(told);
	lab_free(&lab);
}

static bool stop_at_first(void *ctx)
{
	return ++*(unsigned *)ctx == 1;
}

static void a_feedback_that_is_stopped_is_applied_later(void **state)
{
	(void)state;
	enum { PAGES = 3000 }; /* several blocks */
	struct lab lab;
	struct fed fed;
	struct err err = {0};
	unsigned asked = 0;
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	const char *path = path_of("stopped");
	struct index_item *items = calloc(PAGES, sizeof *items);
	for (uint64_t page = 0; page < PAGES; page++)
		items[page] = lab_item(page, ITEM_NEW);
	lab_make(&lab, "stopped", items, PAGES, (uint64_t[]){0}, 1);
	free(items);
	lab_enter(&lab, false, PHASE_FEEDBACK);
	write_file(path, 1, (struct told[]){{0, 200, ITEM_WEIGHED}}, 1);
	c.stopped = stop_at_first;
	c.ctx = &asked;
	assert_int_equal(1, crawl_feedback(lab.st, &c, path, &fed, &err));
	assert_true(fed.stopped);
	assert_int_equal(128, lab_find(&lab, 0).weight);
	assert_int_equal(0, feed(&lab, path, &fed));
	assert_int_equal(200, lab_find(&lab, 0).weight);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_and_flags_go_into_the_index),
		cmocka_unit_test(a_feedback_counts_once),
		cmocka_unit_test(what_was_applied_is_removed_and_a_newer_file_stays),
		cmocka_unit_test(damage_at_every_byte_is_found_or_harmless),
		cmocka_unit_test(what_is_no_file_is_set_aside),
		cmocka_unit_test(what_no_feedback_can_say_is_refused),
		cmocka_unit_test(a_file_can_be_printed),
		cmocka_unit_test(many_entries_find_their_urls),
		cmocka_unit_test(a_feedback_that_is_stopped_is_applied_later),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
