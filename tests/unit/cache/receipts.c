#include "cache/receipts.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"
#include "cache/db/db_inner.h"
#include "cache/unsdb.h"
#include "store/sql_driver_inner.h"

enum { PROVIDER = 17, NOW_S = 1790000000 };
#define AT (NOW_S * US_PER_S)
#define SITE "http://www.example.com/"

static struct err err;

static struct db *db_open_at(const char *folder)
{
	struct db *db = NULL;
	if (db_open(&db, folder, DB_WRITE, &err) != 0)
		fail_msg("%s", err.msg);
	return db;
}

static struct notice notice_for(enum notice_op op, const char *c)
{
	return (struct notice){.op = op, .c = str_of(c), .mime = STR("text/html")};
}

/* Takes notices as one set, each piece with `piece` of them. */
static uint64_t set_take(struct db *db, uint64_t number, int64_t at_us, const struct notice *n,
			 size_t count, size_t piece)
{
	struct buf block[8];
	struct str str[8];
	size_t blocks = 0;
	struct db_take take = {
		.set = {.uns = "here", .number = number, .provider = PROVIDER, .at_us = at_us},
		.piece = str,
		.ends = true};
	for (size_t i = 0; i < count; blocks++) {
		struct buf bytes = BUF_INIT(NOTICE_PIECE);
		for (size_t k = 0; k < piece && i < count; k++, i++) {
			take.set.urls += n[i].op != NOTICE_NAMED;
			notice_write(&n[i], &bytes);
		}
		block[blocks] = BUF_INIT(2 * NOTICE_PIECE);
		notice_pack(buf_str(&bytes), &block[blocks]);
		str[blocks] = buf_str(&block[blocks]);
		buf_free(&bytes);
	}
	take.npieces = blocks;
	if (db_take(db, &take, 1, &err) < 0)
		fail_msg("%s", err.msg);
	while (blocks)
		buf_free(&block[--blocks]);
	return take.ret_set;
}

static void set_absorb(struct db *db, uint64_t set, int64_t now_us)
{
	struct db_terms terms = {.quota_files = UINT64_MAX,
				 .quota_space = UINT64_MAX,
				 .hours = hours_any,
				 .period = HOURS_DAY,
				 .slot_us = US_PER_H,
				 .now_us = now_us,
				 .age_us = now_us,
				 .rows_max = 1000};
	struct db_absorbed done;
	do {
		if (db_absorb(db, set, &terms, &done, &err) < 0)
			fail_msg("%s", err.msg);
	} while (!done.is_done);
}

/* The next row of the queue has been fetched. */
static void row_done(struct db *db, uint64_t set, enum db_end end, unsigned code, const char *file)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct db_row row;
	assert_int_equal(db_next(db, set, DB_NOW, 0, &arena, &row, &err), 0);
	assert_int_equal(db_sent(db, &row, 1, AT + 5, &err), 0);
	struct db_done done = {.row = row.row,
			       .provider = row.provider,
			       .version = row.version,
			       .hash = row.hash,
			       .end = end,
			       .code = code,
			       .reason = code ? STR("not found") : STR(""),
			       .machine = STR("m"),
			       .file = str_of(file),
			       .mime = STR("text/html"),
			       .size = 5,
			       .quota_space = UINT64_MAX};
	assert_int_equal(db_done(db, &done, 1, AT + 9, AT + 9, &err), 0);
}

/* "c state code, ...", as receipts_open() has left it. */
static const char *receipts_text(struct receipts *r, int rc, uint64_t skip)
{
	static char text[1000];
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct db_receipt receipt;
	size_t n = 0;
	if (rc < 0)
		fail_msg("%s", err.msg);
	if (rc == 1)
		return "none";
	const char *state = receipts_state(r);
	n += (size_t)snprintf(text, sizeof text, "%llu%s",
			      (unsigned long long)receipts_set(r)->number,
			      strcmp(state, "kept") == 0     ? " kept"
			      : strcmp(state, "queued") == 0 ? " not absorbed"
							     : "");
	assert_int_equal(receipts_skip(r, skip, &err), 0);
	while ((rc = receipts_next(r, &arena, &receipt, &err)) == 0) {
		struct str page = str_from(receipt.c, sizeof SITE - 1);
		n += (size_t)snprintf(text + n, sizeof text - n, ", " STR_FMT " %s %u",
				      STR_ARG(page), db_state_name(receipt.state), receipt.code);
	}
	if (rc < 0)
		fail_msg("%s", err.msg);
	receipts_free(&r);
	assert_null(r);
	return text;
}

/* Of a provider's set. */
static const char *receipts_list(struct db *db, const char *uns, uint64_t number, uint64_t skip)
{
	struct receipts *r = NULL;
	int rc = receipts_open(&r, db, PROVIDER, uns, number, &err);
	return receipts_text(r, rc, skip);
}

static const char *any_list(struct db *db, const char *folder, uint64_t number, uint64_t skip)
{
	struct receipts *r = NULL;
	int rc = receipts_open_any(&r, db, folder, PROVIDER, number, &err);
	return receipts_text(r, rc, skip);
}

static const struct notice first_set[] = {
	{.op = NOTICE_UPDATE, .c = {SITE "a", sizeof SITE}, .mime = {"text/html", 9}},
	{.op = NOTICE_NAMED, .c = {SITE "x", sizeof SITE}, .mime = {"text/html", 9}},
	{.op = NOTICE_UPDATE, .c = {SITE "b", sizeof SITE}, .mime = {"text/html", 9}},
	{.op = NOTICE_REMOVE, .c = {SITE "c", sizeof SITE}, .mime = {"text/html", 9}},
};

static void each_accepted_url_has_a_receipt_from_its_end_tag_on(void **state)
{
	(void)state;
	struct db *db = db_open_at(scratch("life"));
	assert_string_equal(receipts_list(db, NULL, 0, 0), "none");
	uint64_t set = set_take(db, 3, AT, first_set, ARRAY_LEN(first_set), 1);
	assert_string_equal(receipts_list(db, NULL, 0, 0),
			    "3 not absorbed, a queued 0, b queued 0, c queued 0");
	set_absorb(db, set, AT + 1);
	assert_string_equal(receipts_list(db, "here", 3, 0),
			    "3, a queued 0, b queued 0, c removed 0");
	row_done(db, set, DB_END_STORED, 0, "000000/000");
	row_done(db, set, DB_END_FAILED, 304, "");
	assert_string_equal(receipts_list(db, NULL, 3, 0),
			    "3, a stored 0, b failed 304, c removed 0");
	assert_string_equal(receipts_list(db, NULL, 4, 0), "none");
	assert_string_equal(receipts_list(db, "elsewhere", 3, 0), "none");
	db_close(&db);
}

static void a_receipt_says_what_a_later_set_has_made_of_its_url(void **state)
{
	(void)state;
	struct db *db = db_open_at(scratch("later"));
	uint64_t set = set_take(db, 1, AT, first_set, 1, 1);
	set_absorb(db, set, AT + 1);
	row_done(db, set, DB_END_STORED, 0, "000000/000");
	struct notice removal = notice_for(NOTICE_REMOVE, SITE "a");
	set = set_take(db, 2, AT + 100, &removal, 1, 1);
	assert_string_equal(receipts_list(db, NULL, 1, 0), "1, a stored 0");
	assert_string_equal(receipts_list(db, NULL, 0, 0), "2 not absorbed, a queued 0");
	set_absorb(db, set, AT + 101);
	assert_string_equal(receipts_list(db, NULL, 1, 0), "1, a removed 0");
	assert_string_equal(receipts_list(db, NULL, 0, 0), "2, a removed 0");
	db_close(&db);
}

static void receipts_stay_when_what_they_were_read_from_goes(void **state)
{
	(void)state;
	struct db *db = db_open_at(scratch("stay"));
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct db_receipt receipt[2];
	struct receipts *r = NULL;
	set_absorb(db, set_take(db, 1, AT, first_set, 3, 1), AT + 1);
	assert_int_equal(receipts_open(&r, db, PROVIDER, NULL, 0, &err), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(receipts_next(r, &arena, &receipt[i], &err), 0);
	receipts_free(&r);
	db_close(&db);
	assert_str(receipt[0].c, SITE "a");
	assert_str(receipt[1].c, SITE "b");
	assert_str(receipt[1].mime, "text/html");
}

static void a_page_of_receipts_begins_where_the_last_one_ended(void **state)
{
	(void)state;
	struct db *db = db_open_at(scratch("pages"));
	set_take(db, 1, AT, first_set, ARRAY_LEN(first_set), 2);
	assert_string_equal(receipts_list(db, NULL, 0, 1),
			    "1 not absorbed, b queued 0, c queued 0");
	assert_string_equal(receipts_list(db, NULL, 0, 2), "1 not absorbed, c queued 0");
	assert_string_equal(receipts_list(db, NULL, 0, 3), "1 not absorbed");
	assert_string_equal(receipts_list(db, NULL, 0, 9), "1 not absorbed");
	db_close(&db);
}

struct kept_pieces {
	const struct notice *n;
	size_t count;
};

static int kept_piece(void *ctx, struct buf *out, struct err *e)
{
	struct kept_pieces *p = ctx;
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(NOTICE_PIECE);
	(void)e;
	if (p->count == 0)
		return 1;
	notice_write(p->n++, &bytes);
	p->count--;
	notice_pack(buf_str(&bytes), out);
	return 0;
}

static void set_keep(struct unsdb *u, uint64_t number, uint64_t provider, int64_t at_us)
{
	struct kept_pieces p = {first_set, ARRAY_LEN(first_set)};
	const struct unsdb_set set = {
		.number = number, .provider = provider, .urls = 3, .at_us = at_us};
	assert_int_equal(unsdb_put(u, &set, kept_piece, &p, &err), 0);
}

/* Kept by a notification server that runs, before there is a queue manager and after. */
static void a_set_that_no_queue_manager_has_yet_has_receipts(void **state)
{
	(void)state;
	const char *folder = scratch("kept");
	char path[300];
	struct unsdb *u = NULL;
	snprintf(path, sizeof path, "%s/unsdb@2", folder);
	struct db *db = db_open_at(folder);
	assert_int_equal(unsdb_open(&u, path, &err), 0);
	assert_string_equal(any_list(NULL, folder, 0, 0), "none");
	set_keep(u, 3, PROVIDER, AT);
	set_keep(u, 4, PROVIDER + 1, AT);
	set_keep(u, 5, PROVIDER, AT + 5);
	const char *kept = "5 kept, a queued 0, b queued 0, c queued 0";
	assert_string_equal(any_list(NULL, folder, 0, 0), kept);
	assert_string_equal(any_list(db, folder, 5, 2), "5 kept, c queued 0");
	assert_string_equal(any_list(db, folder, 4, 0), "none");
	/* one that the queue manager has is its own, also while its file does not say so */
	set_take(db, 3, AT, first_set, 1, 1);
	assert_string_equal(any_list(db, folder, 3, 0), "3 not absorbed, a queued 0");
	assert_string_equal(any_list(db, folder, 0, 0), kept);
	for (int i = 0; i < 3; i++)
		assert_int_equal(unsdb_taken(u, &err), 0);
	assert_string_equal(any_list(db, folder, 5, 0), "none");
	assert_string_equal(any_list(db, folder, 0, 0), "3 not absorbed, a queued 0");
	unsdb_close(&u);
	db_close(&db);
}

/* A database whose queue manager takes a set out of unsdb when somebody has just asked for it. */
static struct {
	struct sql_driver driver;
	struct sql_st *asks; /* the statement that asks */
	struct db *db;
	struct unsdb *unsdb;
} moving;

static int moving_step(const struct sql *s, struct sql_st *st, struct err *e)
{
	int rc = sql_sqlite.step(s, st, e);
	if (st != moving.asks)
		return rc;
	assert_int_equal(rc, 1);
	moving.asks = NULL;
	set_take(moving.db, 3, AT, first_set, 1, 1);
	assert_int_equal(unsdb_taken(moving.unsdb, e), 0);
	return rc;
}

static void moving_begin(const char *folder, enum db_sql asks)
{
	char path[300];
	snprintf(path, sizeof path, "%s/unsdb", folder);
	moving.db = db_open_at(folder);
	assert_int_equal(unsdb_open(&moving.unsdb, path, &err), 0);
	set_keep(moving.unsdb, 3, PROVIDER, AT);
	moving.driver = sql_sqlite;
	moving.driver.step = moving_step;
	moving.db->sql.driver = &moving.driver;
	moving.asks = sql_st(moving.db, asks);
}

static void moving_end(void)
{
	unsdb_close(&moving.unsdb);
	db_close(&moving.db);
}

static void a_set_that_the_queue_manager_takes_meanwhile_is_known(void **state)
{
	(void)state;
	const char *folder = scratch("moves");
	struct receipts *r = NULL;
	moving_begin(folder, SQL_SET_OF);
	assert_int_equal(receipts_open_any(&r, moving.db, folder, PROVIDER, 3, &err), 0);
	assert_int_equal(receipts_set(r)->number, 3);
	receipts_free(&r);
	assert_null(moving.asks);
	assert_string_equal(any_list(moving.db, folder, 3, 0), "3 not absorbed, a queued 0");
	moving_end();
}

/* By URL. */

static void url_add(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	struct buf *text = ctx;
	buf_printf(text, "%s%llu " STR_FMT " %s %lld", text->n ? ", " : "",
		   (unsigned long long)provider, STR_ARG(r->mime), db_state_name(r->state),
		   r->at_us ? (long long)(r->at_us - AT) : 0);
	assert_str(r->c, SITE "a");
}

/* What is told of SITE "a": "provider type state microseconds-after-AT, ...". */
static const char *url_list(struct db *db, const char *folder, uint64_t provider, const char *mime)
{
	static struct buf text = BUF_INIT(1000);
	const struct receipts_url url = {provider, STR(SITE "a"), str_of(mime)};
	buf_clear(&text);
	if (receipts_of_url(db, folder, &url, url_add, &text, &err) != 0)
		fail_msg("%s", err.msg);
	return buf_text(&text);
}

static void a_url_is_queued_while_a_set_that_names_it_is_not_absorbed(void **state)
{
	(void)state;
	const char *folder = scratch("url");
	struct db *db = db_open_at(folder);
	const struct notice other = notice_for(NOTICE_UPDATE, SITE "b");
	const struct notice named = notice_for(NOTICE_NAMED, SITE "a");
	const struct notice removal = notice_for(NOTICE_REMOVE, SITE "a");
	struct notice plain = notice_for(NOTICE_UPDATE, SITE "a");
	plain.mime = STR("text/plain");
	assert_string_equal(url_list(db, folder, PROVIDER, ""), "");
	uint64_t first = set_take(db, 1, AT, first_set, 1, 1);
	assert_string_equal(url_list(db, folder, PROVIDER, ""), "17 text/html queued 0");
	set_absorb(db, first, AT + 1);
	row_done(db, first, DB_END_STORED, 0, "000000/000");
	const char *stored = "17 text/html stored 9";
	assert_string_equal(url_list(db, folder, PROVIDER, ""), stored);
	/* it is not the one that these sets are about */
	set_take(db, 2, AT + 20, &other, 1, 1);
	set_take(db, 3, AT + 30, &named, 1, 1);
	assert_string_equal(url_list(db, folder, 0, ""), stored);
	set_take(db, 4, AT + 40, &plain, 1, 1);
	assert_string_equal(url_list(db, folder, 0, ""), "17 text/plain queued 40, "
							 "17 text/html stored 9");
	assert_string_equal(url_list(db, folder, 0, "Text/Plain"), "17 text/plain queued 40");
	assert_string_equal(url_list(db, folder, 0, "text/html"), stored);
	assert_string_equal(url_list(db, folder, PROVIDER + 1, ""), "");
	set_take(db, 5, AT + 50, first_set, 1, 1);
	uint64_t last = set_take(db, 6, AT + 60, &removal, 1, 1);
	assert_string_equal(url_list(db, folder, 0, "text/html"), "17 text/html queued 60");
	for (uint64_t set = first + 1; set <= last; set++)
		set_absorb(db, set, AT + 70);
	assert_string_equal(url_list(db, folder, 0, "text/html"), "17 text/html removed 70");
	db_close(&db);
}

static void a_url_is_queued_while_no_queue_manager_has_the_set_that_names_it(void **state)
{
	(void)state;
	const char *folder = scratch("url-kept");
	char path[300];
	struct unsdb *u[2] = {NULL};
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "%s/unsdb@%d", folder, i);
		assert_int_equal(dir_make(folder, 0700, &err), 0);
		assert_int_equal(unsdb_open(&u[i], path, &err), 0);
	}
	assert_string_equal(url_list(NULL, folder, 0, ""), "");
	set_keep(u[0], 1, PROVIDER, AT);
	set_keep(u[0], 2, PROVIDER, AT + 2);
	set_keep(u[0], 3, PROVIDER + 1, AT + 3);
	set_keep(u[1], 1, PROVIDER, AT + 1);
	assert_string_equal(url_list(NULL, folder, PROVIDER, ""), "17 text/html queued 2");
	assert_string_equal(url_list(NULL, folder, PROVIDER + 1, ""), "18 text/html queued 3");
	assert_string_equal(url_list(NULL, folder, 9, ""), "");
	for (int i = 0; i < 2; i++)
		assert_int_equal(unsdb_taken(u[0], &err), 0);
	set_keep(u[0], 4, PROVIDER + 1, AT + 4); /* and is written with what was taken */
	assert_string_equal(url_list(NULL, folder, PROVIDER, ""), "17 text/html queued 1");
	assert_string_equal(url_list(NULL, folder, PROVIDER + 1, ""), "18 text/html queued 4");
	assert_non_null(strstr(url_list(NULL, folder, 0, ""), "17 text/html queued 1"));
	assert_non_null(strstr(url_list(NULL, folder, 0, ""), "18 text/html queued 4"));
	assert_string_equal(any_list(NULL, folder, 2, 0), "none");
	/* of a set that was absorbed, and that unsdb would give once more, the row counts */
	struct db *db = db_open_at(folder);
	set_absorb(db, set_take(db, 9, AT, first_set, 1, 1), AT);
	assert_string_equal(url_list(db, folder, PROVIDER, ""), "17 text/html queued 1");
	uint64_t set = set_take(db, 1, AT + 1, first_set, 1, 1);
	assert_string_equal(url_list(db, folder, PROVIDER, ""), "17 text/html queued 1");
	set_absorb(db, set, AT + 5);
	assert_string_equal(url_list(db, folder, PROVIDER, ""), "17 text/html queued 0");
	db_close(&db);
	for (int i = 0; i < 2; i++)
		unsdb_close(&u[i]);
}

static void a_url_is_known_while_its_set_goes_to_the_queue_manager(void **state)
{
	(void)state;
	const char *folder = scratch("url-moves");
	moving_begin(folder, SQL_SET_NEXT);
	assert_string_equal(url_list(moving.db, folder, PROVIDER, ""), "17 text/html queued 0");
	assert_null(moving.asks);
	assert_string_equal(url_list(moving.db, folder, PROVIDER, ""), "17 text/html queued 0");
	moving_end();
}

static void url_count(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	(void)provider;
	*(size_t *)ctx += r->state == DB_QUEUED;
}

static void a_url_of_more_than_a_thousand_types_that_wait_is_told_a_thousand_times(void **state)
{
	(void)state;
	const char *folder = scratch("url-types");
	struct db *db = db_open_at(folder);
	static struct notice n[1100];
	static char mime[1100][16];
	size_t told = 0;
	for (size_t i = 0; i < ARRAY_LEN(n); i++) {
		snprintf(mime[i], sizeof mime[i], "text/%zu", i);
		n[i] = notice_for(NOTICE_UPDATE, SITE "a");
		n[i].mime = str_of(mime[i]);
	}
	set_take(db, 1, AT, n, ARRAY_LEN(n), 200);
	const struct receipts_url url = {.c = STR(SITE "a")};
	assert_int_equal(receipts_of_url(db, folder, &url, url_count, &told, &err), 0);
	assert_int_equal(told, 1000);
	assert_string_equal(url_list(db, folder, PROVIDER, "text/1099"), "17 text/1099 queued 0");
	db_close(&db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_accepted_url_has_a_receipt_from_its_end_tag_on),
		cmocka_unit_test(a_receipt_says_what_a_later_set_has_made_of_its_url),
		cmocka_unit_test(receipts_stay_when_what_they_were_read_from_goes),
		cmocka_unit_test(a_set_that_no_queue_manager_has_yet_has_receipts),
		cmocka_unit_test(a_set_that_the_queue_manager_takes_meanwhile_is_known),
		cmocka_unit_test(a_url_is_queued_while_a_set_that_names_it_is_not_absorbed),
		cmocka_unit_test(a_url_is_queued_while_no_queue_manager_has_the_set_that_names_it),
		cmocka_unit_test(a_url_is_known_while_its_set_goes_to_the_queue_manager),
		cmocka_unit_test(
			a_url_of_more_than_a_thousand_types_that_wait_is_told_a_thousand_times),
		cmocka_unit_test(a_page_of_receipts_begins_where_the_last_one_ended),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
