/* The core over a real database, on clocks of numbers: what the model (qm.c) does not look at. */
#include "cache/qm/qm_core.h"

#include "cache/db/db_inner.h"
#include "support/sql_failing.h"

#include "../scratch.h"
#include "../unit.h"

#include <stdio.h>

#define HOUR_US US_PER_H

struct unit_fetch {
	char id[BOT_ID_MAX + 1], url[128];
};

static char folder[300];
static struct db *db;
static struct qm_core *core;
static struct qm_now now;
static struct qm_contract contract;
static struct unit_fetch fetched[64];
static size_t nfetched;
static char verdicts[2048], removed[2048], wanted[256];
static uint64_t number;
static int64_t slot_us;

static void text_add(char *to, size_t cap, const char *what)
{
	size_t n = strlen(to);
	snprintf(to + n, cap - n, "%s;", what);
}

static int on_contract(void *ctx, uint64_t provider, struct qm_contract *ret)
{
	(void)ctx;
	*ret = contract;
	return provider != 1;
}

static int on_within(void *ctx, uint64_t provider, struct str url, struct arena *arena,
		     struct str *ret)
{
	(void)ctx, (void)provider, (void)arena;
	*ret = STR("http://a.example/");
	return !str_starts(url, *ret);
}

static void on_submit(void *ctx, const struct bot_message *m)
{
	struct unit_fetch *f = &fetched[nfetched++];
	(void)ctx;
	assert_true(nfetched <= ARRAY_LEN(fetched));
	snprintf(f->id, sizeof f->id, STR_FMT, STR_ARG(m->id));
	snprintf(f->url, sizeof f->url, STR_FMT, STR_ARG(m->url));
}

static void on_verdict(void *ctx, const struct bot_message *m, bool is_kept)
{
	char text[128];
	(void)ctx;
	snprintf(text, sizeof text, STR_FMT "%s", STR_ARG(m->file), is_kept ? "+" : "-");
	text_add(verdicts, sizeof verdicts, text);
}

static void on_remove(void *ctx, struct str id, struct str machine, struct str file)
{
	char text[128];
	(void)ctx, (void)machine, (void)id;
	snprintf(text, sizeof text, STR_FMT, STR_ARG(file));
	text_add(removed, sizeof removed, text);
}

static void on_wanted(void *ctx, uint64_t provider, enum pidb_wanted why)
{
	(void)ctx, (void)provider;
	text_add(wanted, sizeof wanted, pidb_wanted_name(why));
}

static void on_forgotten(void *ctx, uint64_t provider)
{
	(void)ctx, (void)provider;
}

static const struct qm_core_ops ops = {on_contract, on_within, on_submit,   on_verdict,
				       on_remove,   on_wanted, on_forgotten};

static void core_start(void)
{
	struct err err;
	const struct qm_core_options options = {
		.db = db,
		.slot_us = slot_us,
		.period = HOURS_DAY,
		.turns = {.wheel_slots = 900,
			  .wheel_step_us = 4 * US_PER_S,
			  .site_wait_us = 60 * US_PER_S,
			  .retry_wait_us = 600 * US_PER_S,
			  .stay = 100},
		.retries = 5,
		.old_after_us = 90 * US_PER_DAY,
		.expire_after_us = 180 * US_PER_DAY,
		.ages_every_us = HOUR_US,
		.receipts_kept_us = 30 * US_PER_DAY,
		.deletes = 1000,
		.ops = &ops,
	};
	if (qm_core_new(&core, &options, &now, &err) < 0)
		fail_msg("%s", err.msg);
}

static int begin(void **state)
{
	static int n;
	struct err err;
	(void)state;
	snprintf(folder, sizeof folder, "%s/%d", scratch_dir, n++);
	/* the tenth hour of a day */
	now = (struct qm_now){.mono_us = HOUR_US, .wall_us = 20000 * US_PER_DAY + 10 * HOUR_US + 1};
	contract = (struct qm_contract){
		.quota_files = UINT64_MAX, .quota_space = UINT64_MAX, .hours = hours_any};
	nfetched = 0;
	number = 0;
	slot_us = HOUR_US;
	verdicts[0] = removed[0] = wanted[0] = 0;
	if (db_open(&db, folder, DB_WRITE, &err) < 0)
		fail_msg("%s", err.msg);
	core_start();
	return 0;
}

static int end(void **state)
{
	(void)state;
	qm_core_free(&core);
	db_close(&db);
	return 0;
}

static void time_passes(int64_t us)
{
	now.mono_us += us;
	now.wall_us += us;
	now.age_us += us;
}

static int round_try(const struct bot_message *answer, size_t n, struct err *err)
{
	if (qm_core_begin(core, &now, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		qm_core_answered(core, &answer[i]);
	qm_core_sets(core);
	if (qm_core_work(core, 10, 100, err) < 0 || qm_core_commit(core, err) < 0)
		return -1;
	qm_core_tell(core);
	return 0;
}

static void round_do(const struct bot_message *answer, size_t n)
{
	struct err err;
	if (round_try(answer, n, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Until nothing is to be done at once. */
static void rounds_do(void)
{
	int most = 100;
	do
		round_do(NULL, 0);
	while (qm_core_wait_us(core, &now) == 0 && --most > 0);
	assert_true(most > 0);
}

static void send_set(const char *const *path, size_t n, const char *hours, enum notice_op op)
{
	struct buf raw = BUF_INIT(1 << 16), packed = BUF_INIT(1 << 16);
	char url[64];
	struct err err;
	for (size_t i = 0; i < n; i++) {
		snprintf(url, sizeof url, "http://a.example/%s", path[i]);
		notice_write(&(struct notice){.op = op,
					      .c = str_of(url),
					      .mime = STR("text/html"),
					      .hours = str_of(hours)},
			     &raw);
	}
	notice_pack(buf_str(&raw), &packed);
	struct str piece = buf_str(&packed);
	struct db_take take = {.set = {.uns = "u",
				       .number = ++number,
				       .provider = 1,
				       .urls = n,
				       .at_us = now.wall_us},
			       .piece = &piece,
			       .npieces = 1,
			       .ends = true};
	assert_int_equal(0, db_take(db, &take, 1, &err));
	buf_free(&raw);
	buf_free(&packed);
	qm_core_sets(core);
	rounds_do();
}

#define SEND(hours, op, ...)                         \
	send_set((const char *const[]){__VA_ARGS__}, \
		 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), hours, op)

static struct bot_message stored(const char *id, const char *file)
{
	return (struct bot_message){.kind = BOT_FETCHED,
				    .has = BOT_HAS_ID | BOT_HAS_OUTCOME | BOT_HAS_MACHINE |
					   BOT_HAS_FILE | BOT_HAS_SIZE | BOT_HAS_MIME,
				    .id = str_of(id),
				    .outcome = OUTCOME_OK,
				    .machine = STR("m"),
				    .file = str_of(file),
				    .mime = STR("text/html"),
				    .size = 5};
}

static void answer_stored(const char *id, const char *file)
{
	const struct bot_message m = stored(id, file);
	round_do(&m, 1);
	rounds_do();
}

static void urls_are(const char *want)
{
	char text[1024] = "";
	for (size_t i = 0; i < nfetched; i++)
		text_add(text, sizeof text, fetched[i].url + strlen("http://a.example/"));
	assert_string_equal(want, text);
	nfetched = 0;
}

static void a_fetch_has_the_same_id_after_a_restart(void **state)
{
	(void)state;
	char before[BOT_ID_MAX + 1];
	SEND("", NOTICE_UPDATE, "1", "2");
	assert_int_equal(1, nfetched);
	memcpy(before, fetched[0].id, sizeof before);
	qm_core_free(&core);
	core_start();
	nfetched = 0;
	rounds_do();
	assert_int_equal(1, nfetched);
	assert_string_equal(before, fetched[0].id);
}

static void an_answer_to_an_earlier_process_counts_and_once(void **state)
{
	(void)state;
	char id[BOT_ID_MAX + 1];
	SEND("", NOTICE_UPDATE, "1");
	memcpy(id, fetched[0].id, sizeof id);
	qm_core_free(&core);
	core_start();
	answer_stored(id, "000000/001");
	/* it is said once more, and another machine says it, too */
	answer_stored(id, "000000/001");
	answer_stored(id, "000000/002");
	answer_stored("what is this", "000000/003");
	answer_stored("1-1-1-0-1-7", "000000/004");
	/* a botm that was killed knows its files alone; one it may say twice in one round */
	answer_stored("file:000000/002", "000000/002");
	const struct bot_message again[] = {stored("file:000000/001", "000000/001"),
					    stored("file:000000/001", "000000/001")};
	round_do(again, 2);
	assert_string_equal("000000/001+;000000/001+;000000/002-;000000/003-;000000/004-;"
			    "000000/002-;000000/001+;000000/001+;",
			    verdicts);
	struct qm_core_counts counts;
	qm_core_counts(core, &counts);
	assert_true(counts.rows == 0 && counts.rows_stored == 1);
}

static void rows_wait_for_their_slot_and_what_it_leaves_for_the_next(void **state)
{
	(void)state;
	struct db_part part;
	struct err err;
	SEND("12-13", NOTICE_UPDATE, "1", "2", "3");
	urls_are("");
	time_passes(2 * HOUR_US);
	rounds_do();
	assert_int_equal(1, nfetched);
	answer_stored(fetched[0].id, "000000/001");
	urls_are("1;2;");
	/* the window passes while the second is out */
	time_passes(HOUR_US);
	answer_stored(fetched[1].id, "000000/002");
	urls_are("");
	assert_int_equal(0, db_part(db, 1, 12, &part, &err));
	assert_true(part.rows == 1 && part.start == 12);
	time_passes(23 * HOUR_US);
	rounds_do();
	urls_are("3;");
}

static void a_slot_that_passed_while_nobody_looked_is_not_waited_for_again(void **state)
{
	(void)state;
	SEND("11-20", NOTICE_UPDATE, "1");
	urls_are("");
	qm_core_free(&core);
	time_passes(3 * HOUR_US);
	core_start();
	rounds_do();
	urls_are("1;");
	/* nor where the clock is set */
	answer_stored(fetched[0].id, "000000/001");
	SEND("20-22", NOTICE_UPDATE, "2");
	urls_are("");
	now.wall_us += 8 * HOUR_US;
	rounds_do();
	urls_are("2;");
}

static void slots_may_get_another_length(void **state)
{
	static const int64_t lengths[][2] = {{HOUR_US / 2, HOUR_US}, {HOUR_US, HOUR_US / 2}};
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		if (i)
			(void)(end(state) || begin(state));
		qm_core_free(&core);
		slot_us = lengths[i][0];
		core_start();
		SEND("20-21", NOTICE_UPDATE, "1");
		urls_are("");
		qm_core_free(&core);
		slot_us = lengths[i][1];
		core_start();
		rounds_do();
		for (int hour = 10; hour < 20; hour++) {
			urls_are("");
			time_passes(HOUR_US / 2);
			rounds_do();
			time_passes(HOUR_US / 2);
			rounds_do();
		}
		urls_are("1;");
	}
}

static void a_failed_round_has_changed_nothing(void **state)
{
	(void)state;
	struct err err;
	SEND("", NOTICE_UPDATE, "1", "2");
	char id[BOT_ID_MAX + 1];
	memcpy(id, fetched[0].id, sizeof id);
	const struct bot_message m = stored(id, "000000/001");
	qm_core_free(&core);
	unsigned nth = 0;
	for (int rc = -1; rc < 0;) {
		db_close(&db);
		assert_int_equal(0, db_open(&db, folder, DB_WRITE, &err));
		qm_core_free(&core);
		core_start();
		assert_true(++nth < 100);
		sql_fail_at(&db->sql, nth, false);
		assert_string_equal("", verdicts);
		rc = round_try(&m, 1, &err);
	}
	assert_true(nth > 5);
	assert_string_equal("000000/001+;", verdicts);
}

static void files_go_when_what_replaced_them_is_durable_and_their_machine_is_there(void **state)
{
	(void)state;
	struct err err;
	SEND("", NOTICE_UPDATE, "1");
	answer_stored(fetched[0].id, "000000/001");
	nfetched = 0;
	SEND("", NOTICE_UPDATE, "1");
	answer_stored(fetched[0].id, "000000/002");
	assert_string_equal("", removed);
	assert_int_equal(0, qm_core_begin(core, &now, &err));
	qm_core_machine(core, STR("m"), true);
	assert_int_equal(0, qm_core_work(core, 10, 100, &err));
	assert_string_equal("", removed);
	assert_int_equal(0, qm_core_commit(core, &err));
	qm_core_tell(core);
	assert_string_equal("000000/001;", removed);
	/* the botm goes before it has answered, and comes again */
	assert_int_equal(0, qm_core_begin(core, &now, &err));
	qm_core_deleted(core, STR("d1"), BOT_DELETED_ABSENT);
	qm_core_machine(core, STR("m"), false);
	qm_core_machine(core, STR("m"), true);
	assert_int_equal(0, qm_core_work(core, 10, 100, &err));
	assert_int_equal(0, qm_core_commit(core, &err));
	qm_core_tell(core);
	assert_string_equal("000000/001;000000/001;", removed);
}

static void what_is_not_confirmed_gets_old_and_goes(void **state)
{
	(void)state;
	SEND("", NOTICE_UPDATE, "1");
	answer_stored(fetched[0].id, "000000/001");
	/* the wall clock alone does nothing */
	now.wall_us += 1000 * US_PER_DAY;
	now.mono_us += 2 * HOUR_US;
	now.age_us += 2 * HOUR_US;
	rounds_do();
	assert_string_equal("", wanted);
	time_passes(91 * US_PER_DAY);
	rounds_do();
	assert_string_equal("old;", wanted);
	time_passes(91 * US_PER_DAY);
	rounds_do();
	assert_string_equal("old;expired;", wanted);
	struct qm_core_counts counts;
	qm_core_counts(core, &counts);
	assert_int_equal(0, counts.rows_stored);
}

static void what_is_to_be_fetched_again_need_not_be_asked_for(void **state)
{
	(void)state;
	SEND("", NOTICE_UPDATE, "1");
	answer_stored(fetched[0].id, "000000/001");
	time_passes(91 * US_PER_DAY);
	rounds_do();
	assert_string_equal("old;", wanted);
	/* the full set came, and takes its time to be fetched */
	SEND("", NOTICE_UPDATE, "1");
	time_passes(2 * HOUR_US);
	rounds_do();
	assert_string_equal("old;", wanted);
	answer_stored(fetched[1].id, "000000/002");
	time_passes(2 * HOUR_US);
	rounds_do();
	assert_string_equal("old;", wanted);
}

static struct bot_message refused(const char *id, enum outcome outcome, const char *cause)
{
	return (struct bot_message){.kind = BOT_FETCHED,
				    .has = BOT_HAS_ID | BOT_HAS_OUTCOME | BOT_HAS_CAUSE,
				    .id = str_of(id),
				    .outcome = outcome,
				    .cause = str_of(cause)};
}

static void what_came_and_is_not_stored_is_paid_for(void **state)
{
	(void)state;
	contract.bandwidth = 100;
	SEND("", NOTICE_UPDATE, "1", "2");
	struct bot_message m = refused(fetched[0].id, OUTCOME_LIMIT, "body");
	m.has |= BOT_HAS_SIZE;
	m.size = 60000;
	struct err err;
	struct str why;
	int64_t until_us;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	assert_int_equal(db_held(db, 1, &arena, &until_us, &why, &err), 1);
	round_do(&m, 1);
	/* which is told to those who ask for receipts, by whose clock it is over long since */
	assert_int_equal(db_held(db, 1, &arena, &until_us, &why, &err), 1);
	assert_true(str_is(why, "for the bandwidth of the contract"));
	assert_int_equal((until_us - now.wall_us + 5 * US_PER_S) / (10 * US_PER_S), 60);
	time_passes(500 * US_PER_S);
	rounds_do();
	urls_are("1;");
	time_passes(200 * US_PER_S);
	rounds_do();
	urls_are("2;");
}

static void an_error_of_the_server_is_told_while_it_is_tried_again_and_in_the_end(void **state)
{
	struct db_receipt r;
	struct err err;
	(void)state;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	SEND("", NOTICE_UPDATE, "1");
	for (unsigned try = 0; try <= 5; try++) {
		const struct bot_message m = refused(fetched[try].id, OUTCOME_TEMPORARY, "answer");
		round_do(&m, 1);
		assert_int_equal(0, db_receipt(db, 1, STR("http://a.example/1"), STR("text/html"),
					       0, &arena, &r, &err));
		assert_int_equal(r.state, try < 5 ? DB_WAITING : DB_FAILED);
		assert_int_equal(r.code, try < 5 ? 309 : 308);
		for (int hours = 0; nfetched == try + 1 && hours < 48; hours++) {
			time_passes(HOUR_US);
			rounds_do();
		}
	}
}

/* That it is another one by now was not said: in a large cache that takes a while. */
static void a_set_goes_by_the_contract_that_holds_when_it_is_absorbed(void **state)
{
	struct db_receipt r;
	struct err err;
	(void)state;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	SEND("", NOTICE_UPDATE, "1");
	answer_stored(fetched[0].id, "f1");
	urls_are("1;");
	contract.quota_files = 1;
	SEND("", NOTICE_UPDATE, "2");
	assert_int_equal(0, db_receipt(db, 1, STR("http://a.example/2"), STR("text/html"), 0,
				       &arena, &r, &err));
	assert_int_equal(r.code, 203);
	contract.quota_files = UINT64_MAX;
	assert_int_equal(0, hours_parse(STR("!9-12"), HOURS_DAY, &contract.hours, &err));
	SEND("", NOTICE_UPDATE, "3");
	urls_are("");
	time_passes(2 * HOUR_US);
	rounds_do();
	urls_are("3;");
}

static void a_fetch_goes_by_the_contract_that_holds_when_its_turn_comes(void **state)
{
	struct err err;
	(void)state;
	SEND("", NOTICE_UPDATE, "1", "2");
	assert_int_equal(0, hours_parse(STR("!9-12"), HOURS_DAY, &contract.hours, &err));
	answer_stored(fetched[0].id, "f1");
	urls_are("1;");
	time_passes(2 * HOUR_US);
	rounds_do();
	urls_are("2;");
}

#define A(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		A(what_came_and_is_not_stored_is_paid_for),
		A(an_error_of_the_server_is_told_while_it_is_tried_again_and_in_the_end),
		A(a_fetch_has_the_same_id_after_a_restart),
		A(an_answer_to_an_earlier_process_counts_and_once),
		A(rows_wait_for_their_slot_and_what_it_leaves_for_the_next),
		A(a_slot_that_passed_while_nobody_looked_is_not_waited_for_again),
		A(slots_may_get_another_length),
		A(a_failed_round_has_changed_nothing),
		A(files_go_when_what_replaced_them_is_durable_and_their_machine_is_there),
		A(what_is_not_confirmed_gets_old_and_goes),
		A(what_is_to_be_fetched_again_need_not_be_asked_for),
		A(a_set_goes_by_the_contract_that_holds_when_it_is_absorbed),
		A(a_fetch_goes_by_the_contract_that_holds_when_its_turn_comes),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
