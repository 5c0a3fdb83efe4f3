/* The cache's database: how it is opened, sets as they arrive, transactions, damage. */
#include "unit/cache/db_play.h"

#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

static struct db_take take_of(uint64_t number, const struct str *piece, bool ends)
{
	return (struct db_take){.set = {.uns = "u1", .number = number, .provider = 3, .urls = 1},
				.piece = piece,
				.npieces = piece ? 1 : 0,
				.ends = ends};
}

static void test_a_set_is_there_from_its_last_piece_on(void **state)
{
	(void)state;
	struct buf text = BUF_INIT(4096), piece = BUF_INIT(4096), got = BUF_INIT(1 << 20);
	struct notice n = page("http://a/1");
	notice_write(&n, &text);
	notice_pack(buf_str(&text), &piece);
	struct str p = buf_str(&piece);
	struct db_set set;
	struct db_take first = take_of(5, &p, false), last = take_of(5, &p, true);
	DONE(db_take(db, &first, 1, &err));
	assert_int_equal(db_set_next(db, 0, &set, &err), 1);
	db_again();
	DONE(db_take(db, &last, 1, &err));
	DONE(db_set_next(db, 0, &set, &err));
	assert_int_equal(set.pieces, 2);
	assert_int_equal(set.number, 5);
	assert_string_equal(set.uns, "u1");
	assert_int_equal(set.set, last.ret_set);
	assert_int_equal(tally(3).open_sets, 1);
	struct db_take again = take_of(5, &p, true);
	DONE(db_take(db, &again, 1, &err));
	assert_true(again.was_there);
	assert_int_equal(again.ret_set, last.ret_set);
	DONE(db_set_of(db, 3, "u1", 5, &set, &err));
	DONE(db_set_of(db, 3, NULL, 0, &set, &err));
	assert_int_equal(set.set, last.ret_set);
	assert_int_equal(db_set_of(db, 4, NULL, 5, &set, &err), 1);
	DONE(db_set(db, last.ret_set, &set, &err));
	assert_true(set.number == 5 && set.provider == 3 && strcmp(set.uns, "u1") == 0);
	assert_int_equal(db_set(db, last.ret_set + 1, &set, &err), 1);
	DONE(db_set_piece(db, last.ret_set, 1, &got, &err));
	assert_true(str_eq(buf_str(&got), buf_str(&text)));
	assert_int_equal(db_set_piece(db, last.ret_set, 2, &got, &err), 1);
	buf_free(&text);
	buf_free(&piece);
	buf_free(&got);
}

static void test_sets_that_are_not_whole_are_dropped(void **state)
{
	(void)state;
	struct db_set set;
	struct db_take mine = take_of(1, NULL, false), other = take_of(2, NULL, false);
	snprintf(other.set.uns, sizeof other.set.uns, "u2");
	DONE(db_take(db, &mine, 1, &err));
	DONE(db_take(db, &other, 1, &err));
	DONE(db_take_forget(db, "u1", &err));
	mine.ends = other.ends = true;
	DONE(db_take(db, &other, 1, &err));
	DONE(db_take(db, &mine, 1, &err));
	DONE(db_set_next(db, 0, &set, &err));
	assert_string_equal(set.uns, "u2");
	DONE(db_take_forget(db, NULL, &err));
	DONE(db_set_next(db, set.set, &set, &err));
	assert_string_equal(set.uns, "u1");
}

static void test_operations_of_a_group_are_one(void **state)
{
	(void)state;
	struct db_take a = take_of(1, NULL, true), b = take_of(2, NULL, true);
	struct db_set set;
	struct db_absorbed absorbed;
	DONE(db_begin(db, &err));
	DONE(db_take(db, &a, 1, &err));
	DONE(db_age_put(db, 77, &err));
	assert_int_equal(db_absorb(db, 99, &terms, &absorbed, &err), -1);
	assert_int_equal(db_take(db, &b, 1, &err), -1);
	assert_int_equal(db_commit(db, &err), -1);
	assert_non_null(strstr(err.msg, "set 99"));
	assert_int_equal(db_set_next(db, 0, &set, &err), 1);
	assert_int_equal(tally(3).open_sets, 0);
	int64_t age_us;
	DONE(db_age_get(db, &age_us, &err));
	assert_int_equal(age_us, 0);
	DONE(db_begin(db, &err));
	DONE(db_take(db, &a, 1, &err));
	DONE(db_take(db, &b, 1, &err));
	assert_int_equal(tally(3).open_sets, 2);
	DONE(db_commit(db, &err));
	db_again();
	assert_int_equal(tally(3).open_sets, 2);
}

static void test_one_writes_and_others_read(void **state)
{
	(void)state;
	struct db *other = NULL, *writer = db;
	assert_int_equal(db_open(&other, folder, DB_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(db_open(&other, scratch("none"), DB_READ, &err), 1);
	DONE(db_open(&other, folder, DB_READ, &err));
	uint64_t set = set_take(3, false, (struct notice[]){page("http://a/1")}, 1);
	db = other;
	assert_int_equal(tally(3).open_sets, 1);
	db = writer;
	set_absorb(set);
	db = other;
	assert_int_equal(receipt(3, "http://a/1").state, DB_QUEUED);
	struct db_part part;
	DONE(db_part(db, set, DB_NOW, &part, &err));
	assert_int_equal(part.rows, 1);
	db_sound();
	db = writer;
	db_close(&other);
}

static void test_numbers_are_never_used_twice(void **state)
{
	(void)state;
	uint64_t set = set_take(3, false, (struct notice[]){page("http://a/1")}, 1);
	set_absorb(set);
	struct db_row row = fetch(set, DB_NOW);
	done(answer(&row, DB_END_STORED, "f"));
	db_again();
	uint64_t later = set_take(3, false, (struct notice[]){page("http://a/1")}, 1);
	assert_true(later > set);
	set_absorb(later);
	struct db_row again = fetch(later, DB_NOW);
	assert_true(again.row > row.row);
}

static void file_bytes(const char *path, uint64_t at, const char *bytes)
{
	struct file f;
	DONE(file_open(&f, path, O_RDWR, 0, &err));
	DONE(file_write(&f, bytes, strlen(bytes), at, &err));
	file_drop(&f);
}

static void test_a_file_of_others_is_refused(void **state)
{
	(void)state;
	const char *path = scratch("c-others/cache.db");
	DONE(dir_make(scratch("c-others"), 0700, &err));
	DONE(file_replace(path, STR("what is this, and whose?\n"), 0600, &err));
	struct db *d;
	assert_int_equal(db_open(&d, scratch("c-others"), DB_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	db_close(&db);
	char mine[512];
	snprintf(mine, sizeof mine, "%s/cache.db", folder);
	file_bytes(mine, 68, "Othr"); /* application_id */
	assert_int_equal(db_open(&d, folder, DB_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "not one of ours"));
	file_bytes(mine, 68, "GcDb");
	file_bytes(mine, 63, "2"); /* the last byte of user_version */
	assert_int_equal(db_open(&d, folder, DB_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_USAGE); /* sound: nobody is to set it aside */
	assert_non_null(strstr(err.msg, "another version of garner made it"));
	file_bytes(mine, 60, "Next");
	assert_int_equal(db_open(&d, folder, DB_WRITE, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED); /* no garner has such a version */
}

static void many_rows(void)
{
	static char c[400][40];
	static struct notice n[400];
	for (size_t i = 0; i < ARRAY_LEN(n); i++) {
		snprintf(c[i], sizeof c[i], "http://a/page/%zu.html", i);
		n[i] = page(c[i]);
	}
	set_absorb(set_take(3, false, n, ARRAY_LEN(n)));
}

static void finding_counts(void *ctx, const struct db_finding *f)
{
	*(size_t *)ctx += f->is_damage;
}

static void test_a_file_that_was_cut_is_said(void **state)
{
	(void)state;
	char mine[512];
	struct db *d = NULL;
	many_rows();
	db_close(&db);
	snprintf(mine, sizeof mine, "%s/cache.db", folder);
	struct stat st;
	assert_int_equal(stat(mine, &st), 0);
	for (off_t at = st.st_size - 1; at > 0; at -= st.st_size / 9 + 1) {
		assert_int_equal(truncate(mine, at), 0);
		assert_int_equal(db_open(&d, folder, DB_WRITE, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "cache.db"));
	}
}

/* Pages are SQLite's and have no checksums: what it cannot tell must at least not end the program.
 */
static void test_bytes_that_were_changed_do_not_crash_it(void **state)
{
	(void)state;
	char mine[512];
	CLEANUP(buf_free) struct buf sound = BUF_INIT(16 << 20);
	size_t found = 0, refused = 0, places = unit_thorough() ? 60 : 12;
	many_rows();
	db_close(&db);
	snprintf(mine, sizeof mine, "%s/cache.db", folder);
	DONE(file_slurp(mine, &sound, &err));
	for (size_t at = 4096 + 3; at < sound.n; at += sound.n / places) {
		DONE(file_replace(mine, buf_str(&sound), 0600, &err));
		file_bytes(mine, at, "\xff\xff\xff\xff\xff\xff\xff\xff");
		if (db_open(&db, folder, DB_WRITE, &err) != 0) {
			assert_int_equal(err.code, ERR_DAMAGED);
			refused++;
			continue;
		}
		struct db_receipt r;
		if (db_receipt(db, 3, STR("http://a/page/7.html"), HTML, 0, &arena, &r, &err) < 0 ||
		    db_check(db, false, NULL, finding_counts, &found, &err) < 0) {
			assert_int_equal(err.code, ERR_DAMAGED);
			refused++;
		}
		db_close(&db);
	}
	assert_true(found + refused > places / 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, play_begin, play_end)
		T(test_a_set_is_there_from_its_last_piece_on),
		T(test_sets_that_are_not_whole_are_dropped),
		T(test_operations_of_a_group_are_one),
		T(test_one_writes_and_others_read),
		T(test_numbers_are_never_used_twice),
		T(test_a_file_of_others_is_refused),
		T(test_a_file_that_was_cut_is_said),
		T(test_bytes_that_were_changed_do_not_crash_it),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
