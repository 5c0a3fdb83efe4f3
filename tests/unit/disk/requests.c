/* What people ask of a role while it runs. */
#include "disk/requests.h"

#include "base/clock.h"
#include "base/file.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

/* A folder of requests, and the lines that were taken from it. */
struct asked {
	char folder[PATH_MAX];
	struct requests *r;
	size_t lines;
};

static void begin(struct asked *a, const char *name)
{
	*a = (struct asked){.lines = 0};
	snprintf(a->folder, sizeof a->folder, "%s/requests", scratch(name));
	a->r = requests_new(a->folder, "add");
}

static void end(struct asked *a)
{
	requests_free(&a->r);
}

static int take_line(void *ctx, struct str line, struct err *err)
{
	struct asked *a = ctx;
	(void)err;
	assert_true(str_starts(line, STR("line ")));
	a->lines++;
	return 0;
}

static int refuse_line(void *ctx, struct str line, struct err *err)
{
	(void)ctx;
	return err_set(err, ERR_SYSTEM, "no room for " STR_FMT, STR_ARG(line));
}

static void ask(const struct asked *a, unsigned i)
{
	char path[PATH_MAX + 64];
	struct err err = {0};
	MUST(dir_make(a->folder, 0755, &err));
	snprintf(path, sizeof path, "%s/%020u-1.add", a->folder, i);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fprintf(f, " line %u\n\n", i) > 0);
	assert_int_equal(0, fclose(f));
}

static size_t left(const struct asked *a)
{
	struct err err = {0};
	struct dir d;
	MUST(dir_init(&d, a->folder, &err));
	size_t n = d.n;
	dir_done(&d);
	return n;
}

static void round_of(struct asked *a)
{
	struct err err = {0};
	MUST(requests_take(a->r, take_line, a, &err));
	MUST(requests_kept(a->r, &err));
}

static void a_request_is_removed_when_it_is_kept_and_not_before(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	begin(&a, "kept");
	assert_false(requests_waiting(a.r));
	MUST(requests_take(a.r, take_line, &a, &err)); /* not even a folder is there */
	MUST(requests_add(a.folder, "add", STR("line a\n\nline b"), &err));
	assert_true(requests_waiting(a.r));
	MUST(requests_take(a.r, take_line, &a, &err));
	assert_int_equal(1, left(&a));
	MUST(requests_kept(a.r, &err));
	assert_int_equal(0, left(&a));
	assert_false(requests_waiting(a.r));
	assert_int_equal(2, a.lines);
	end(&a);
}

static void what_was_not_kept_is_taken_again(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	begin(&a, "again");
	ask(&a, 1);
	MUST(requests_take(a.r, take_line, &a, &err));
	requests_free(&a.r); /* killed before it was kept */
	a.r = requests_new(a.folder, "add");
	assert_true(requests_waiting(a.r));
	round_of(&a);
	assert_int_equal(0, left(&a));
	end(&a);
}

static void one_that_is_refused_stays_and_is_taken_again(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	begin(&a, "refused");
	ask(&a, 1);
	assert_int_equal(-1, requests_take(a.r, refuse_line, &a, &err));
	MUST(requests_kept(a.r, &err));
	assert_int_equal(1, left(&a));
	requests_free(&a.r);
	a.r = requests_new(a.folder, "add");
	round_of(&a);
	assert_int_equal(1, a.lines);
	end(&a);
}

static void those_of_another_kind_are_left_alone(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	begin(&a, "kinds");
	MUST(requests_add(a.folder, "drop", STR("line 1\n"), &err));
	assert_false(requests_waiting(a.r));
	round_of(&a);
	assert_int_equal(0, a.lines);
	assert_int_equal(1, left(&a));
	end(&a);
}

static void one_that_cannot_be_read_is_told_once_and_does_not_stop_the_others(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	char path[PATH_MAX + 64];
	begin(&a, "stuck");
	ask(&a, 1);
	ask(&a, 3);
	snprintf(path, sizeof path, "%s/%020u-1.add", a.folder, 2);
	MUST(dir_make(path, 0755, &err));
	MUST(requests_take(a.r, take_line, &a, &err));
	assert_int_equal(-1, requests_kept(a.r, &err));
	assert_non_null(strstr(err.msg, "00000000000000000002-1.add"));
	assert_int_equal(1, left(&a));
	assert_int_equal(2, a.lines);
	assert_false(requests_waiting(a.r));
	ask(&a, 4);
	round_of(&a);
	assert_int_equal(1, left(&a));
	assert_int_equal(3, a.lines);
	end(&a);
}

/* Also one that leads nowhere: else a role would begin one empty round after the other for it. */
static void a_link_is_told_once_and_not_followed(void **state)
{
	(void)state;
	struct asked a;
	struct err err = {0};
	char path[PATH_MAX + 64], target[PATH_MAX + 64];
	begin(&a, "nowhere");
	ask(&a, 1);
	snprintf(path, sizeof path, "%s/2-1.add", a.folder);
	assert_int_equal(0, symlink("nowhere", path));
	snprintf(target, sizeof target, "%s/target", a.folder);
	MUST(file_replace(target, STR("line of others\n"), 0644, &err));
	snprintf(path, sizeof path, "%s/3-1.add", a.folder);
	assert_int_equal(0, symlink("target", path));
	MUST(requests_take(a.r, take_line, &a, &err));
	assert_int_equal(-1, requests_kept(a.r, &err));
	assert_non_null(strstr(err.msg, "symbolic link"));
	assert_int_equal(1, a.lines);
	assert_int_equal(3, left(&a));
	round_of(&a);
	assert_false(requests_waiting(a.r));
	end(&a);
}

/* Openings of the folder itself that were noticed. */
static unsigned openings(int notices)
{
	char room[64 << 10] __attribute__((aligned(8)));
	unsigned folder = 0;
	ssize_t n;
	while ((n = read(notices, room, sizeof room)) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(room + at);
			assert_false(e->mask & IN_Q_OVERFLOW);
			folder += (e->mask & IN_OPEN) && (e->mask & IN_ISDIR);
			at += (ssize_t)(sizeof *e + e->len);
		}
	return folder;
}

/* However many rounds it takes: the next one goes on where the last one ended. */
static void a_large_folder_is_read_once_for_all_that_is_taken_from_it(void **state)
{
	(void)state;
	enum { MANY = 2500 };
	struct asked a;
	unsigned rounds = 0, opened = 0;
	begin(&a, "many");
	for (unsigned i = 0; i < MANY; i++)
		ask(&a, i);
	int notices = inotify_init1(IN_NONBLOCK);
	assert_true(notices >= 0 && inotify_add_watch(notices, a.folder, IN_OPEN) >= 0);
	do {
		assert_true(rounds++ < MANY);
		round_of(&a);
		opened += openings(notices);
	} while (a.lines < MANY);
	assert_true(opened <= 2);
	assert_int_equal(0, left(&a));
	ask(&a, MANY); /* and what comes later is found */
	for (unsigned i = 0; i < 2; i++)
		round_of(&a);
	assert_int_equal(MANY + 1, a.lines);
	close(notices);
	end(&a);
}

static void a_folder_that_was_empty_is_looked_at_when_it_changes(void **state)
{
	(void)state;
	struct asked a;
	struct timespec long_ago[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	begin(&a, "empty");
	ask(&a, 1);
	round_of(&a);
	assert_int_equal(0, utimensat(AT_FDCWD, a.folder, long_ago, 0));
	int notices = inotify_init1(IN_NONBLOCK);
	assert_true(notices >= 0 && inotify_add_watch(notices, a.folder, IN_OPEN) >= 0);
	for (unsigned i = 0; i < 5; i++)
		assert_false(requests_waiting(a.r));
	assert_int_equal(1, openings(notices));
	ask(&a, 2);
	assert_true(requests_waiting(a.r));
	round_of(&a);
	assert_false(requests_waiting(a.r)); /* also within the same moment */
	ask(&a, 3);
	assert_true(requests_waiting(a.r));
	close(notices);
	end(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_removed_when_it_is_kept_and_not_before),
		cmocka_unit_test(what_was_not_kept_is_taken_again),
		cmocka_unit_test(one_that_is_refused_stays_and_is_taken_again),
		cmocka_unit_test(those_of_another_kind_are_left_alone),
		cmocka_unit_test(one_that_cannot_be_read_is_told_once_and_does_not_stop_the_others),
		cmocka_unit_test(a_link_is_told_once_and_not_followed),
		cmocka_unit_test(a_large_folder_is_read_once_for_all_that_is_taken_from_it),
		cmocka_unit_test(a_folder_that_was_empty_is_looked_at_when_it_changes),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
