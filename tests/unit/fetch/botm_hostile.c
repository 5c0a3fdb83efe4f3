/* Peers of a botm and of a source that say what they may not, or what nobody asked: they are hung
 * up on with a reason, or nothing follows from it. */
#include "botm_unit.h"

#include <sys/stat.h>

#define BELOW "<botm machine='m2' node='n2' capacity='3'/>"

/* Whether it is refused, and not merely hung up on. */
static void must_be_refused(struct flood *f, const char *door, const char *words)
{
	struct player p = {0};
	player_connect(f, &p, door, words);
	UNTIL(f, p.times == 1 && !p.conn);
	if (p.heard[BOT_REFUSED] != 1)
		fail_msg("not refused: %.100s", words);
	player_end(&p);
}

static const char *const of_botms[] = {
	"<botm machine='m2' node='' capacity='1'/>",
	"<botm machine='m2' node='n2' capacity='-1'/>",
	"<botm machine='m2' node='n2' capacity='1000001'/>",
	"<botm machine='m2' node='n2' capacity='0x10'/>",
	"<botm machine='m2' node='n2' capacity=''/>",
	"<botm machine='m2' node='n2'/>",
	"<botm machine='m/2' node='n2' capacity='1'/>",
	"<botm machine='a1234567890123456789012345678901234567890123456789012345678901234' "
	"node='n2' "
	"capacity='1'/>",
	"<machine machine='m2' node='n2' state='up'/>",
	BELOW "<robot parallel='1'/>",
	BELOW "<kept id='1'/>",
	BELOW "<delete id='1' machine='m1' file='000000/000'/>",
	BELOW "<fetch id='1' url='http://h/'/>",
	BELOW "<machine machine='m3' node='' state='up'/>",
	BELOW "<machine machine='m3' node='n3' state='sideways'/>",
	BELOW "<fetched id='1' outcome='ok'/>",
	BELOW "<fetched id='1' outcome='ok' machine='m9' file='000000/000'/>",
	BELOW "<fetched id='1' outcome='fine' machine='m2'/>",
	BELOW "<fetched id='1' outcome='ok' machine='m2' file='../x'/>",
	BELOW "<fetched id='1' outcome='ok' machine='m2' size='-1'/>",
	BELOW "<fetched id='1 2' outcome='ok' machine='m2'/>",
	BELOW "<fetched id='a1234567890123456789012345678901234567890123456789012345678901234' "
	      "outcome='ok' machine='m2'/>",
	BELOW "<deleted id='1' outcome='perhaps'/>",
	BELOW "<fetched id='1' outcome='ok' machine='m2'",
};

static void hostile_botms_are_refused(void **state)
{
	struct flood f;
	struct player source = {0};
	(void)state;
	flood_begin(&f, "botms", false);
	source_play(&f, &source);
	botm_begin(&f, "");
	UNTIL(&f, source.times == 1);
	/* the last one is half a message: who says no more of it is waited for */
	for (size_t i = 0; i + 1 < ARRAY_LEN(of_botms); i++)
		must_be_refused(&f, f.door[1], of_botms[i]);
	struct player half = {0};
	player_connect(&f, &half, f.door[1], of_botms[ARRAY_LEN(of_botms) - 1]);
	UNTIL(&f, source.capacity == 3);
	player_end(&half);
	UNTIL(&f, source.capacity == 0);
	assert_int_equal(source.heard[BOT_FETCHED], 0);
	assert_int_equal(botm_route_ids_count(&f.botm->by_node), 0);
	flood_end(&f);
}

static void hostile_botms_are_refused_by_a_source(void **state)
{
	static const char *const words[] = {
		"<robot parallel='1'/>",
		"<fetched id='1' outcome='ok'/>",
		"<botm machine='m2' node='n2' capacity='-1'/>",
		BELOW "<robot parallel='1'/>",
		BELOW "<refused reason='you'/>",
		BELOW "<fetched id='1' outcome='fine'/>",
		BELOW "<fetched id='1' outcome='ok'>words</fetched>",
	};
	struct flood f;
	(void)state;
	flood_begin(&f, "source", false);
	source_begin(&f);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		must_be_refused(&f, f.door[0], words[i]);
	assert_int_equal(f.answers, 1); /* a start tag says all there is to say */
	assert_int_equal(f.up, f.down);
	/* what was never asked is told as such, and has no other effect */
	struct player botm = {0};
	player_connect(&f, &botm, f.door[0],
		       BELOW "<fetched id='1' outcome='ok' machine='m2'/>"
			     "<fetched id='1' outcome='ok' machine='m2'/>"
			     "<deleted id='2' outcome='ok'/>"
			     "<machine machine='m3' node='n3' state='down'/>");
	UNTIL(&f, botm.heard[BOT_DROPPED] == 2);
	assert_int_equal(f.deletes, 0);
	player_end(&botm);
	flood_end(&f);
}

static void what_a_botm_was_never_asked_is_told_once(void **state)
{
	struct flood f;
	struct player source = {0}, below = {0};
	(void)state;
	flood_begin(&f, "never", false);
	source_play(&f, &source);
	botm_begin(&f, "");
	UNTIL(&f, source.times == 1);
	player_connect(&f, &below, f.door[1],
		       BELOW "<fetched id='1' outcome='ok' machine='m2' file='000000/000'/>"
			     "<fetched id='1' outcome='ok' machine='m2' file='000000/000'/>"
			     "<deleted id='1' outcome='ok'/>"
			     "<machine machine='m7' node='n7' state='down'/>"
			     "<machine machine='m2' node='n2' state='down'/>"
			     "<fetched id='2' outcome='permanent' machine='m2'/>");
	UNTIL(&f, source.heard[BOT_FETCHED] == 2);
	assert_int_equal(source.heard[BOT_DELETED], 0);
	assert_int_equal(f.botm->nanswers, 2);
	/* its word finds the way down, also for what is not known here */
	player_say(&source, &(struct bot_message){.kind = BOT_DROPPED,
						  .has = BOT_HAS_ID | BOT_HAS_MACHINE,
						  .id = STR("9"),
						  .machine = STR("m2")});
	UNTIL(&f, below.heard[BOT_DROPPED] == 1);
	player_end(&below);
	flood_end(&f);
}

/* Deletes. */

static enum bot_deletion said_of[5];

static void deletion_note(struct player *p, const struct bot_message *m)
{
	uint64_t i;
	(void)p;
	if (m->kind == BOT_DELETED && str_u64(m->id, &i) && i < ARRAY_LEN(said_of))
		said_of[i] = m->deletion;
}

static void a_delete_finds_what_is_stored_kept_or_lost(void **state)
{
	static const char *const file[] = {"000000/000", "000000/001", "000000/002", "000000/003",
					   "000000/004.7"};
	const char *folder = scratch("place.files");
	struct flood f;
	struct player source = {.act = deletion_note}, robot = {0};
	struct botm_names *n = NULL;
	struct botm_name name[3];
	struct err err;
	(void)state;
	assert_int_equal(botm_names_open(&n, scratch_dir, folder, NULL, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(botm_names_give(n, &name[i], &err), 0);
	botm_names_put(n, name[1], BOTM_KEPT);
	botm_names_put(n, name[2], BOTM_FREE);
	assert_int_equal(botm_names_close(&n, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		char at[512];
		snprintf(at, sizeof at, "%s/%s", folder, file[i]);
		if (i != 2 && i != 3)
			assert_int_equal(file_replace(at, STR("page"), 0600, &err), 0);
	}
	flood_begin(&f, "place", false);
	source_play(&f, &source);
	botm_begin(&f, folder);
	player_connect(&f, &robot, f.door[1], "<robot parallel='1'/>");
	UNTIL(&f, source.capacity == 1);
	fetch_say(&source, 1,
		  STR("http://h/")); /* takes what was free, in a generation of its own */
	UNTIL(&f, robot.heard[BOT_FETCH] == 1);
	assert_int_equal(file_replace(scratch("place.files/000000/001.9"), STR("page"), 0600, &err),
			 0);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		char id[8];
		snprintf(id, sizeof id, "%zu", i);
		player_say(&source,
			   &(struct bot_message){.kind = BOT_DELETE,
						 .has = BOT_HAS_ID | BOT_HAS_MACHINE | BOT_HAS_FILE,
						 .id = str_of(id),
						 .machine = STR("m1"),
						 .file = str_of(file[i])});
	}
	UNTIL(&f, source.heard[BOT_DELETED] == ARRAY_LEN(file));
	assert_int_equal(said_of[0], BOT_DELETED_OK);   /* stored */
	assert_int_equal(said_of[1], BOT_DELETED_OK);   /* kept */
	assert_int_equal(said_of[2], BOT_DELETED_NONE); /* given anew */
	assert_int_equal(said_of[3], BOT_DELETED_NONE); /* never given */
	assert_int_equal(said_of[4], BOT_DELETED_OK);   /* lost */
	assert_int_equal(f.botm->nanswers, 0);
	for (size_t i = 0; i < ARRAY_LEN(file); i++) {
		char at[512];
		snprintf(at, sizeof at, "%s/%s", folder, file[i]);
		assert_int_equal(access(at, F_OK), -1);
	}
	assert_int_equal(botm_names_place(f.botm->keep.names, 0), BOTM_FREE);
	assert_int_equal(botm_names_place(f.botm->keep.names, 1), BOTM_KEPT); /* by another file */
	/* the one that a robot has is not there for anyone else */
	assert_int_equal(f.botm->counts.out, 1);
	player_end(&robot);
	flood_end(&f);
}

static enum bot_deletion deletion_of(struct flood *f, struct player *source, uint64_t *n)
{
	*n += 1;
	player_say(source, &(struct bot_message){.kind = BOT_DELETE,
						 .has = BOT_HAS_ID | BOT_HAS_MACHINE | BOT_HAS_FILE,
						 .id = STR("0"),
						 .machine = STR("m1"),
						 .file = STR("000000/000")});
	UNTIL(f, source->heard[BOT_DELETED] == *n);
	return said_of[0];
}

static void a_delete_that_fails_stays_a_failure_until_it_is_done(void **state)
{
	const char *folder = scratch("stuck.files");
	const char *file = scratch("stuck.files/000000/000");
	struct flood f;
	struct player source = {.act = deletion_note};
	struct botm_names *n = NULL;
	struct botm_name name;
	uint64_t deletes = 0;
	struct err err;
	(void)state;
	assert_int_equal(botm_names_open(&n, scratch_dir, folder, NULL, &err), 0);
	assert_int_equal(botm_names_give(n, &name, &err), 0);
	botm_names_put(n, name, BOTM_KEPT);
	assert_int_equal(botm_names_close(&n, &err), 0);
	assert_int_equal(mkdir(file, 0700), 0); /* what nobody can unlink */
	flood_begin(&f, "stuck", false);
	source_play(&f, &source);
	botm_begin(&f, folder);
	UNTIL(&f, source.times == 1);
	assert_int_equal(deletion_of(&f, &source, &deletes), BOT_DELETED_FAILED);
	assert_int_equal(deletion_of(&f, &source, &deletes), BOT_DELETED_FAILED);
	assert_int_equal(f.botm->counts.deleted, 0);
	assert_int_equal(rmdir(file), 0);
	assert_int_equal(file_replace(file, STR("page"), 0600, &err), 0);
	assert_int_equal(deletion_of(&f, &source, &deletes), BOT_DELETED_OK);
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(deletion_of(&f, &source, &deletes), BOT_DELETED_NONE);
	assert_int_equal(f.botm->counts.deleted, 1);
	flood_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_botms_are_refused),
		cmocka_unit_test(hostile_botms_are_refused_by_a_source),
		cmocka_unit_test(what_a_botm_was_never_asked_is_told_once),
		cmocka_unit_test(a_delete_finds_what_is_stored_kept_or_lost),
		cmocka_unit_test(a_delete_that_fails_stays_a_failure_until_it_is_done),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
