/* Shares of a day. */
#include "net/daily.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/clock.h"
#include "base/file.h"

#include <stdio.h>

#define NOW (INT64_C(20000) * US_PER_DAY)

static int take(const char *data, enum daily_kind kind, const char *who, uint32_t n, uint32_t most)
{
	struct err err;
	return daily_take(data, kind, str_of(who), n, most, NOW, &err);
}

static void a_sender_has_so_many_a_day(void **state)
{
	struct err err;
	int64_t now = INT64_C(20000) * US_PER_DAY;
	const char *data = scratch("data");
	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(0,
				 daily_take(data, DAILY_MAILS, STR("Joe@x.org"), 1, 3, now, &err));
	assert_int_equal(1, daily_take(data, DAILY_MAILS, STR("joe@X.org"), 1, 3, now, &err));
	assert_int_equal(0, daily_take(data, DAILY_NEW_SITES, STR("joe@x.org"), 1, 1, now, &err));
	assert_int_equal(0, daily_take(data, DAILY_MAILS, STR("jim@x.org"), 1, 3, now, &err));
	assert_int_equal(1, daily_take(data, DAILY_MAILS, STR("jim@x.org"), 3, 3, now, &err));
	assert_int_equal(0, daily_take(data, DAILY_MAILS, STR("jim@x.org"), 2, 3, now, &err));
	assert_int_equal(1, daily_take(data, DAILY_MAILS, STR("new@x.org"), 4, 3, now, &err));
	daily_give_back(data, DAILY_MAILS, STR("joe@x.org"), 1, now);
	assert_int_equal(0, daily_take(data, DAILY_MAILS, STR("joe@x.org"), 1, 3, now, &err));
	assert_int_equal(1, daily_take(data, DAILY_MAILS, STR("joe@x.org"), 1, 3, now, &err));
	assert_int_equal(
		0, daily_take(data, DAILY_MAILS, STR("joe@x.org"), 1, 3, now + US_PER_DAY, &err));
	assert_int_equal(1, daily_take(data, DAILY_MAILS, STR("no@x.org"), 1, 0, now, &err));
}

/* At midnight: a mail was taken before it, and is given back after. */
static void what_is_given_back_of_another_day_changes_nothing(void **state)
{
	const char *data = scratch("midnight");
	struct err err;
	(void)state;
	assert_int_equal(
		0, daily_take(data, DAILY_MAILS, STR("joe@x.org"), 1, 3, NOW - US_PER_S, &err));
	assert_int_equal(0, take(data, DAILY_MAILS, "jim@x.org", 3, 3));
	daily_give_back(data, DAILY_MAILS, STR("joe@x.org"), 1, NOW - US_PER_S);
	assert_int_equal(1, take(data, DAILY_MAILS, "jim@x.org", 1, 3));
	assert_int_equal(0, take(data, DAILY_MAILS, "joe@x.org", 3, 3));
	daily_give_back(data, DAILY_MAILS, STR("joe@x.org"), 1, NOW + US_PER_DAY);
	assert_int_equal(1, take(data, DAILY_MAILS, "joe@x.org", 1, 3));
}

static void an_address_counts_as_its_network(void **state)
{
	const char *data = scratch("addresses");
	(void)state;
	assert_int_equal(0, take(data, DAILY_NEW_SITES, "2001:db8::1", 5, 5));
	assert_int_equal(1, take(data, DAILY_NEW_SITES, "2001:db8::2:2", 1, 5));
	assert_int_equal(0, take(data, DAILY_NEW_SITES, "2001:db8:0:1::1", 5, 5));
	assert_int_equal(0, take(data, DAILY_NEW_SITES, "192.0.2.1", 5, 5));
	assert_int_equal(0, take(data, DAILY_NEW_SITES, "192.0.2.2", 5, 5));
}

/* So many senders that there is no room for one more. */
static void fill(const char *data)
{
	struct row {
		char kind[16], who[DAILY_WHO + 1];
		int64_t day_us;
		uint32_t count;
	} *row = mem_array(DAILY_ROWS, sizeof *row);
	const struct small_table *const tables[] = {&daily_table};
	struct small *s;
	struct small_iter it;
	struct err err;
	size_t n = 0;
	assert_int_equal(daily_table.row.size, sizeof *row);
	assert_int_equal(0, small_open_data(&s, data, tables, 1, SMALL_WRITE, &err));
	small_iter_init(&it, s, &daily_table, NULL);
	while (small_iter_next(&it, &row[n], &err) == 0)
		n++;
	small_iter_done(&it);
	for (size_t i = 0; n < DAILY_ROWS; n++, i++) {
		row[n] = (struct row){.kind = "mails", .day_us = NOW, .count = 1};
		snprintf(row[n].who, sizeof row[n].who, "forged%zu@x.org", i);
	}
	assert_int_equal(0, small_replace(s, &daily_table, row, n, &err));
	small_close(&s);
	mem_free(&row);
}

static void those_for_whom_there_is_no_row_share_one(void **state)
{
	const char *data = scratch("full");
	struct err err;
	(void)state;
	assert_int_equal(0, take(data, DAILY_MAILS, "joe@x.org", 1, 3));
	fill(data);
	assert_int_equal(0, take(data, DAILY_MAILS, "joe@x.org", 2, 3));
	assert_int_equal(1, take(data, DAILY_MAILS, "joe@x.org", 1, 3));
	assert_int_equal(0, take(data, DAILY_MAILS, "new1@x.org", 2, 3));
	assert_int_equal(1, take(data, DAILY_MAILS, "new2@x.org", 2, 3));
	daily_give_back(data, DAILY_MAILS, STR("new1@x.org"), 1, NOW);
	assert_int_equal(0, take(data, DAILY_MAILS, "new3@x.org", 2, 3));
	/* other kinds have a row of their own, and the next day begins anew */
	assert_int_equal(0, take(data, DAILY_REQUESTS, "new1@x.org", 3, 3));
	assert_int_equal(1, take(data, DAILY_REQUESTS, "new2@x.org", 1, 3));
	for (int i = 0; i < 2; i++)
		assert_int_equal(0, daily_take(data, DAILY_MAILS,
					       str_of(i ? "new1@x.org" : "new2@x.org"), 3, 3,
					       NOW + US_PER_DAY, &err));
}

static void a_damaged_count_begins_anew(void **state)
{
	const char *data = scratch("other"), *path = scratch("other/" SMALL_FILE);
	struct err err;
	(void)state;
	assert_int_equal(0, take(data, DAILY_MAILS, "a", 1, 1));
	assert_int_equal(1, take(data, DAILY_MAILS, "a", 1, 1));
	assert_int_equal(0, file_replace(path, STR("rubbish"), 0600, &err));
	assert_int_equal(0, take(data, DAILY_MAILS, "a", 1, 1));
	assert_int_equal(1, take(data, DAILY_MAILS, "a", 1, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sender_has_so_many_a_day),
		cmocka_unit_test(what_is_given_back_of_another_day_changes_nothing),
		cmocka_unit_test(an_address_counts_as_its_network),
		cmocka_unit_test(those_for_whom_there_is_no_row_share_one),
		cmocka_unit_test(a_damaged_count_begins_anew),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
