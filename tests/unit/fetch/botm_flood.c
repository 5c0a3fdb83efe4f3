/* What waits in a botm and at its source is bounded, and neither waits for the other for ever:
 * peers that ask for much, answer nothing, or are deaf. */
#include "botm_unit.h"

static void many_answers_are_repeated_and_taken(void **state)
{
	enum { ANSWERS = 5500 };
	const char *folder = scratch("many.files");
	struct flood f;
	struct botm_names *n = NULL;
	struct botm_name name;
	struct err err;
	(void)state;
	assert_int_equal(botm_names_open(&n, scratch_dir, folder, NULL, &err), 0);
	for (int i = 0; i < ANSWERS; i++) {
		char text[BOTM_NAME_ROOM], path[512];
		assert_int_equal(botm_names_give(n, &name, &err), 0);
		botm_name_print(name, text);
		snprintf(path, sizeof path, "%s/%s", folder, text);
		assert_int_equal(mknod(path, S_IFREG | 0600, 0), 0);
	}
	assert_int_equal(botm_names_close(&n, &err), 0);
	flood_begin(&f, "many", false);
	source_begin(&f);
	botm_begin(&f, folder);
	assert_int_equal(f.botm->nanswers, ANSWERS);
	/* more than both sides hold before they wait for each other to read */
	UNTIL(&f, f.botm->nanswers == 0);
	assert_int_equal(f.answers, ANSWERS);
	flood_end(&f);
}

static void a_stranger_does_not_keep_a_dead_botm_alive(void **state)
{
	struct flood f;
	struct player botm = {0};
	(void)state;
	flood_begin(&f, "stranger", true);
	source_begin(&f);
	player_connect(&f, &botm, f.door[0], "<botm machine=\"m1\" node=\"n1\" capacity=\"1\"/>\n");
	loop_step(f.loop, US_PER_S);
	assert_int_equal(f.up, 1);
	/* it is spoken to all the time, so its connection is not idle */
	for (int i = 0; i < 10; i++) {
		struct player stranger = {0};
		char id[BOT_ID_MAX + 1];
		botsource_delete(f.botsource, long_id(id, i), STR("m1"), STR("000000/000"));
		player_connect(&f, &stranger, f.door[0], "<robot parallel=\"1\"/>\n");
		loop_step(f.loop, loop_now_us(f.loop) + 10 * US_PER_S);
		player_end(&stranger);
	}
	assert_int_equal(f.down, 1);
	player_end(&botm);
	flood_end(&f);
}

static void who_says_nothing_whole_is_hung_up_on(void **state)
{
	struct flood f;
	struct player at_source = {0}, at_botm = {0};
	(void)state;
	flood_begin(&f, "half", true);
	botm_begin(&f, "");
	loop_step(f.loop, US_PER_S);
	source_begin(&f);
	player_connect(&f, &at_source, f.door[0], "<botm");
	player_connect(&f, &at_botm, f.door[1], "<botm");
	for (int i = 0; i < 10; i++) {
		loop_step(f.loop, loop_now_us(f.loop) + 10 * US_PER_S);
		if (at_source.conn)
			(void)conn_send(at_source.conn, STR(" "));
		if (at_botm.conn)
			(void)conn_send(at_botm.conn, STR(" "));
	}
	assert_null(at_source.conn);
	assert_null(at_botm.conn);
	player_end(&at_source);
	player_end(&at_botm);
	flood_end(&f);
}

static void deletes_wait_where_a_machine_does_not_answer(void **state)
{
	enum { DELETES = 1000, MOST = 100 };
	struct flood f;
	struct player source = {0}, slow = {0};
	(void)state;
	flood_begin(&f, "deletes", false);
	source_play(&f, &source);
	botm_begin(&f, "");
	f.botm->most.deletes = MOST;
	player_connect(&f, &slow, f.door[1], "<botm machine=\"m2\" node=\"n2\" capacity=\"1\"/>\n");
	UNTIL(&f, source.capacity == 1);
	for (int i = 0; i < DELETES; i++)
		delete_say(&source, i, "m2");
	UNTIL(&f, f.botm->is_held);
	flood_rest(&f);
	/* what was read in one piece is taken */
	assert_true(botm_deletion_ids_count(&f.botm->deletions) < MOST + CONN_READ / 300);
	/* they go on as they are answered */
	for (uint64_t told = 0; told < DELETES;) {
		UNTIL(&f, slow.heard[BOT_DELETE] > told);
		for (; told < slow.heard[BOT_DELETE]; told++) {
			char id[BOT_ID_MAX + 1];
			player_say(&slow,
				   &(struct bot_message){.kind = BOT_DELETED,
							 .has = BOT_HAS_ID | BOT_HAS_DELETION,
							 .id = long_id(id, (int)told)});
		}
	}
	UNTIL(&f, source.heard[BOT_DELETED] == DELETES);
	assert_false(f.botm->is_held);
	player_end(&slow);
	flood_end(&f);
}

static void a_source_says_any_number_of_deletes(void **state)
{
	enum { DELETES = 12000 };
	struct flood f;
	struct player botm = {0};
	char id[BOT_ID_MAX + 1];
	(void)state;
	flood_begin(&f, "doomed", false);
	source_begin(&f);
	player_connect(&f, &botm, f.door[0], "<botm machine=\"m1\" node=\"n1\" capacity=\"1\"/>\n");
	UNTIL(&f, f.up == 1);
	for (int i = 0; i < DELETES; i++)
		botsource_delete(f.botsource, long_id(id, i), STR("m1"), STR("000000/000"));
	UNTIL(&f, botm.heard[BOT_DELETE] == 1000);
	flood_rest(&f);
	assert_int_equal(botm.heard[BOT_DELETE], 1000);
	/* all that it does not get to know are said to the next, also those that were said */
	struct player next = {0};
	player_connect(&f, &next, f.door[0], "<botm machine=\"m1\" node=\"n1\" capacity=\"1\"/>\n");
	UNTIL(&f, next.heard[BOT_DELETE] == 1000);
	assert_int_equal(f.deletes, 0);
	player_say(&next, &(struct bot_message){.kind = BOT_DELETED,
						.has = BOT_HAS_ID | BOT_HAS_DELETION,
						.id = str_of(next.last)});
	UNTIL(&f, f.deletes == 1 && next.heard[BOT_DELETE] == 1001);
	player_end(&next);
	player_end(&botm);
	UNTIL(&f, f.deletes == DELETES);
	assert_int_equal(f.absent, DELETES - 1);
	flood_end(&f);
}

/* A source that does not say what is to become of answers gets no more of them than there is room
 * for, and all of them when it speaks. */
static void answers_that_nobody_takes_end_the_fetching(void **state)
{
	enum { FETCHES = 500, MOST = 100 << 10 };
	struct flood f;
	struct player source = {0}, robot = {.act = fail_at_once};
	(void)state;
	flood_begin(&f, "mute", false);
	source_play(&f, &source);
	botm_begin(&f, scratch("mute.files"));
	f.botm->most.answer_bytes = MOST;
	player_connect(&f, &robot, f.door[1], "<robot parallel=\"10\"/>\n");
	UNTIL(&f, source.capacity == 10);
	for (int i = 0; i < FETCHES; i++)
		fetch_say(&source, i, STR("http://h/"));
	/* what robots had by then is answered; the rest waits, also beyond the capacity */
	UNTIL(&f, source.capacity == 0 && source.heard[BOT_FETCHED] == f.botm->nanswers &&
			  f.botm->counts.queued == FETCHES - f.botm->nanswers);
	flood_rest(&f);
	assert_int_equal(f.botm->counts.queued, FETCHES - f.botm->nanswers);
	assert_int_equal(f.botm->counts.out, 0);
	assert_true(f.botm->answer_bytes >= MOST && f.botm->answer_bytes < MOST + 20 * 1000);
	for (uint64_t told = 0; told < FETCHES;) {
		UNTIL(&f, source.heard[BOT_FETCHED] > told);
		for (; told < source.heard[BOT_FETCHED]; told++) {
			char id[BOT_ID_MAX + 1];
			player_say(&source, &(struct bot_message){.kind = BOT_KEPT,
								  .has = BOT_HAS_ID,
								  .id = long_id(id, (int)told)});
		}
	}
	UNTIL(&f, f.botm->nanswers == 0 && source.capacity == 10);
	player_end(&robot);
	flood_end(&f);
}

/* Neither the jobs nor the answers of such a one get fewer. */
static void a_source_that_only_asks_is_left(void **state)
{
	struct flood f;
	struct player source = {0}, robot = {.act = fail_at_once};
	(void)state;
	flood_begin(&f, "asks", false);
	source_play(&f, &source);
	botm_begin(&f, scratch("asks.files"));
	f.botm->most.answer_bytes = f.botm->most.job_bytes = 100 << 10;
	player_connect(&f, &robot, f.door[1], "<robot parallel=\"10\"/>\n");
	UNTIL(&f, source.capacity == 10);
	for (int i = 0; i < 1000; i++)
		fetch_say(&source, i, STR("http://h/"));
	/* it is back with its answers, and without what waited */
	UNTIL(&f, source.times == 2 && source.heard[BOT_FETCHED] > f.botm->nanswers);
	assert_int_equal(f.botm->job_bytes, 0);
	assert_int_equal(source.capacity, 0);
	flood_rest(&f);
	assert_true(f.botm->answer_bytes < (100 << 10) + 20 * 1000);
	player_end(&robot);
	flood_end(&f);
}

/* A botm that repeats more answers than the one above it can hold waits until these are taken. */
static void a_botm_is_not_heard_while_nobody_takes_its_answers(void **state)
{
	enum { ANSWERS = 1000, MOST = 100 << 10 };
	struct flood f;
	struct player below = {0}, source = {0};
	(void)state;
	flood_begin(&f, "above", true);
	botm_begin(&f, "");
	f.botm->most.answer_bytes = MOST;
	player_connect(&f, &below, f.door[1],
		       "<botm machine=\"m2\" node=\"n2\" capacity=\"1\"/>\n");
	loop_step(f.loop, US_PER_S);
	for (int i = 0; i < ANSWERS; i++) {
		char id[BOT_ID_MAX + 1];
		player_say(&below, &(struct bot_message){.kind = BOT_FETCHED,
							 .has = BOT_HAS_ID | BOT_HAS_OUTCOME |
								BOT_HAS_MACHINE,
							 .id = long_id(id, i),
							 .machine = STR("m2")});
	}
	loop_step(f.loop, 2 * US_PER_S);
	assert_true(f.botm->answer_bytes >= MOST && f.botm->answer_bytes < MOST + 3 * CONN_READ);
	/* and it is not taken to be dead */
	loop_step(f.loop, 10 * US_PER_MIN);
	assert_non_null(below.conn);
	assert_int_equal(botm_route_ids_count(&f.botm->by_machine), 1);
	source_play(&f, &source);
	for (uint64_t told = 0, i = 0; told < ANSWERS; i++) {
		assert_true(i < 10000);
		loop_step(f.loop, loop_now_us(f.loop) + 100 * US_PER_MS);
		for (; told < source.heard[BOT_FETCHED]; told++) {
			char id[BOT_ID_MAX + 1];
			player_say(&source, &(struct bot_message){.kind = BOT_KEPT,
								  .has = BOT_HAS_ID,
								  .id = long_id(id, (int)told)});
		}
	}
	loop_step(f.loop, loop_now_us(f.loop) + US_PER_S);
	assert_int_equal(below.heard[BOT_KEPT], ANSWERS);
	assert_int_equal(f.botm->nanswers, 0);
	player_end(&below);
	flood_end(&f);
}

/* More than a connection may hold, to a robot that says that it can do a million at a time. */
static void many_long_urls_reach_one_robot(void **state)
{
	enum { FETCHES = 50 };
	static char url[BOT_URL_MAX - 1];
	struct flood f;
	struct player source = {0}, robot = {0};
	(void)state;
	memset(url, '"', sizeof url);
	memcpy(url, "http://h/", 9);
	flood_begin(&f, "long", false);
	source_play(&f, &source);
	botm_begin(&f, scratch("long.files"));
	UNTIL(&f, source.heard[BOT_BOTM] == 1);
	for (int i = 0; i < FETCHES; i++)
		fetch_say(&source, i, (struct str){url, sizeof url});
	UNTIL(&f, f.botm->counts.queued == FETCHES);
	player_connect(&f, &robot, f.door[1], "<robot parallel=\"1000000\"/>\n");
	UNTIL(&f, robot.heard[BOT_FETCH] == FETCHES);
	assert_int_equal(f.botm->counts.again, 0);
	player_end(&robot);
	flood_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_answers_are_repeated_and_taken),
		cmocka_unit_test(a_stranger_does_not_keep_a_dead_botm_alive),
		cmocka_unit_test(who_says_nothing_whole_is_hung_up_on),
		cmocka_unit_test(deletes_wait_where_a_machine_does_not_answer),
		cmocka_unit_test(a_source_says_any_number_of_deletes),
		cmocka_unit_test(answers_that_nobody_takes_end_the_fetching),
		cmocka_unit_test(a_source_that_only_asks_is_left),
		cmocka_unit_test(a_botm_is_not_heard_while_nobody_takes_its_answers),
		cmocka_unit_test(many_long_urls_reach_one_robot),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
