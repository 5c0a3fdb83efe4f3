/* A tree in one loop: a source, a botm without a folder, two with one, and robots that do as the
 * test says. Messages go over Unix sockets, as between processes. */
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "fetch/bot/botm_core.h"
#include "fetch/botsource.h"
#include "net/outgoing.h"
#include "role/listen.h"

#include <fcntl.h>

enum { MACHINES = 2 };

static const struct server_limits limits = {.max_connections = 100,
					    .max_per_address = 100,
					    .backlog = 16,
					    .line_max = 8192,
					    .queue_max = 4 << 20,
					    .memory = 64 << 20};

/* A robot: stores at once, unless it is told to wait. */
struct unit_robot {
	struct world *world;
	struct outgoing *link;
	struct bot_reader *reader;
	const char *folder;
	unsigned asked;
	bool is_slow;
};

struct world {
	struct loop *loop;
	struct conn_pool *pool;
	struct botsource *source;
	struct botm *top, *leaf[MACHINES];
	struct unit_robot robot[MACHINES];
	char address[2 + MACHINES][300], folder[MACHINES][300];
	int fd[2 + MACHINES];
	unsigned answered, repeated, room, deletes, up, down;
	enum bot_deletion how;
	char machine[BOT_ID_MAX + 1], file[BOT_FILE_MAX + 1];
	bool drops;
};

/* The source. */

static void on_room(void *ctx)
{
	((struct world *)ctx)->room++;
}

static void answer_note(struct world *w, const struct bot_message *m)
{
	snprintf(w->machine, sizeof w->machine, STR_FMT, STR_ARG(m->machine));
	snprintf(w->file, sizeof w->file, STR_FMT, STR_ARG(m->file));
	botsource_verdict(w->source, m, !w->drops);
}

static void on_answered(void *ctx, const struct bot_message *m)
{
	struct world *w = ctx;
	w->answered++;
	answer_note(w, m);
}

static void on_repeated(void *ctx, const struct bot_message *m)
{
	struct world *w = ctx;
	w->repeated++;
	answer_note(w, m);
}

static void on_deleted(void *ctx, struct str id, enum bot_deletion how)
{
	struct world *w = ctx;
	(void)id;
	w->deletes++;
	w->how = how;
}

static void on_machine(void *ctx, struct str machine, bool is_up)
{
	struct world *w = ctx;
	(void)machine;
	w->up += is_up;
	w->down += !is_up;
}

static const struct botsource_ops source_ops = {
	.room = on_room,
	.answered = on_answered,
	.repeated = on_repeated,
	.deleted = on_deleted,
	.machine = on_machine,
};

/* Robots. */

static void robot_say(struct unit_robot *r, const struct bot_message *m)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(BOT_MESSAGE_MAX);
	bot_message_print(m, &out);
	conn_send(outgoing_conn(r->link), buf_str(&out));
}

static void robot_message(void *ctx, const struct bot_message *m)
{
	struct unit_robot *r = ctx;
	struct bot_message answer = {.kind = BOT_FETCHED,
				     .has = BOT_HAS_ID | BOT_HAS_OUTCOME | BOT_HAS_SIZE,
				     .id = m->id,
				     .size = 4};
	char path[512];
	struct err err;
	assert_int_equal(m->kind, BOT_FETCH);
	assert_true(m->has & BOT_HAS_FILE);
	r->asked++;
	if (r->is_slow)
		return;
	snprintf(path, sizeof path, "%s/" STR_FMT, r->folder, STR_ARG(m->file));
	assert_int_equal(file_replace(path, STR("page"), 0600, &err), 0);
	robot_say(r, &answer);
}

static void robot_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)line, (void)column;
	fail_msg("%s", err->msg);
}

static void robot_up(void *ctx, struct conn *c)
{
	static const struct bot_reader_ops ops = {robot_message, robot_error};
	struct unit_robot *r = ctx;
	(void)c;
	r->reader = bot_reader_new(&ops, r);
	robot_say(r,
		  &(struct bot_message){.kind = BOT_ROBOT, .has = BOT_HAS_PARALLEL, .parallel = 4});
}

static void robot_down(void *ctx, const char *why, int64_t retry_us)
{
	struct unit_robot *r = ctx;
	(void)why, (void)retry_us;
	bot_reader_free(&r->reader);
}

static void robot_bytes(void *ctx, struct str piece)
{
	struct unit_robot *r = ctx;
	bot_reader_put(r->reader, piece);
}

static void robot_begin(struct world *w, int i)
{
	static const struct conn_ops ops = {.bytes = robot_bytes};
	static const struct conn_limits conn = {
		.pieces = true, .high_mark = 1 << 20, .queue_max = 4 << 20};
	struct unit_robot *r = &w->robot[i];
	struct err err;
	r->world = w;
	r->folder = w->folder[i];
	const struct outgoing_options options = {.address = w->address[2 + i],
						 .connect_us = US_PER_S,
						 .retry_min_us = 1000,
						 .retry_max_us = 10000,
						 .limits = &conn,
						 .ops = &ops,
						 .up = robot_up,
						 .down = robot_down,
						 .ctx = r};
	assert_int_equal(outgoing_new(&r->link, w->pool, &options, &err), 0);
}

static void robot_end(struct unit_robot *r)
{
	if (r->link)
		outgoing_free(&r->link);
	bot_reader_free(&r->reader);
}

/* The world. */

static void on_failed(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->msg);
}

static struct botm *botm_begin(struct world *w, int i)
{
	struct botm *b = NULL;
	struct err err;
	static const char *const machine[MACHINES] = {"m0", "m1"};
	bool is_leaf = i >= 2;
	const struct botm_options options = {.loop = w->loop,
					     .folder = is_leaf ? w->folder[i - 2] : "",
					     .data = scratch_dir,
					     .machine = is_leaf ? machine[i - 2] : "",
					     .source = w->address[is_leaf ? 1 : 0],
					     .limits = &limits,
					     .overload = 50,
					     .failed = on_failed,
					     .ctx = w};
	if (botm_new(&b, &options, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(botm_listen(b, w->fd[i], &err), 0);
	return b;
}

static void source_begin(struct world *w)
{
	const struct botsource_options options = {
		.loop = w->loop, .limits = &limits, .overload = 50, .ops = &source_ops, .ctx = w};
	struct err err;
	w->source = botsource_new(&options);
	assert_int_equal(botsource_listen(w->source, w->fd[0], &err), 0);
}

static void world_begin(struct world *w, const char *name)
{
	struct err err;
	*w = (struct world){0};
	assert_int_equal(loop_new(&w->loop, NULL, &err), 0);
	w->pool = conn_pool_new(w->loop, 64 << 20);
	for (int i = 0; i < 2 + MACHINES; i++) {
		snprintf(w->address[i], sizeof w->address[i], "unix:%s/%s%d", scratch_dir, name, i);
		assert_int_equal(listen_open(w->address[i], &w->fd[i], &err), 0);
	}
	for (int i = 0; i < MACHINES; i++) {
		snprintf(w->folder[i], sizeof w->folder[i], "%s/%s.files%d", scratch_dir, name, i);
	}
	source_begin(w);
	w->top = botm_begin(w, 1);
	for (int i = 0; i < MACHINES; i++) {
		w->leaf[i] = botm_begin(w, 2 + i);
		robot_begin(w, i);
	}
}

static void world_end(struct world *w)
{
	for (int i = 0; i < MACHINES; i++) {
		robot_end(&w->robot[i]);
		botm_free(&w->leaf[i]);
	}
	botm_free(&w->top);
	botsource_free(&w->source);
	conn_pool_free(&w->pool);
	loop_free(&w->loop);
	for (int i = 0; i < 2 + MACHINES; i++)
		close(w->fd[i]);
}

/* Until it holds; 20 s are more than anything takes. */
#define UNTIL(w, holds)                                             \
	do {                                                        \
		int64_t until_us = clock_mono_us() + 20 * US_PER_S; \
		while (!(holds)) {                                  \
			loop_poll((w)->loop);                       \
			if (clock_mono_us() > until_us)             \
				fail_msg("never: %s", #holds);      \
			usleep(200);                                \
		}                                                   \
	} while (0)

static uint64_t capacity_of(struct world *w)
{
	struct botm_counts c;
	botm_counts(w->top, &c);
	return c.has_source ? c.capacity : 0;
}

static struct botm_counts names_of(struct botm *b)
{
	struct botm_counts c;
	botm_counts(b, &c);
	return c;
}

static int submit_url(struct world *w, const char *id, const char *url)
{
	const struct bot_message m = {.kind = BOT_FETCH,
				      .has = BOT_HAS_ID | BOT_HAS_URL,
				      .id = str_of(id),
				      .url = str_of(url)};
	return botsource_submit(w->source, &m);
}

/* Each of a host of its own. */
static int submit(struct world *w, const char *id)
{
	char url[32];
	snprintf(url, sizeof url, "http://h%s/", id);
	return submit_url(w, id, url);
}

static void a_source_fills_a_tree_up_to_its_overload(void **state)
{
	struct world w;
	char id[16];
	int n = 0;
	(void)state;
	world_begin(&w, "fill");
	w.robot[0].is_slow = w.robot[1].is_slow = true;
	assert_int_equal(submit(&w, "early"), 1); /* nobody is there */
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	for (int i = 0; i < 100; i++)
		loop_poll(w.loop);
	for (;; n++) {
		snprintf(id, sizeof id, "%d", n);
		if (submit(&w, id) != 0)
			break;
	}
	assert_int_equal(n, 12);
	assert_int_equal(submit(&w, "0"), 2);
	UNTIL(&w, w.robot[0].asked == 4 && w.robot[1].asked == 4);
	world_end(&w);
}

/* A URL of that host; whether the first robot got it. */
static bool first_gets(struct world *w, unsigned host, const char *what)
{
	char id[32], url[64];
	unsigned before = w->robot[0].asked, answered = w->answered;
	snprintf(id, sizeof id, "%u-%s", host, what);
	snprintf(url, sizeof url, "http://h%u:8080/%s/", host, what);
	UNTIL(w, submit_url(w, id, url) == 0);
	UNTIL(w, w->answered == answered + 1);
	return w->robot[0].asked > before;
}

static void a_host_stays_with_its_robot(void **state)
{
	enum { HOSTS = 4 };
	struct world w;
	bool is_first[HOSTS];
	unsigned n = 0;
	(void)state;
	world_begin(&w, "host");
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	for (unsigned i = 0; i < HOSTS; i++)
		n += is_first[i] = first_gets(&w, i, "a");
	assert_int_equal(n, HOSTS / 2); /* they are shared out */
	for (unsigned i = HOSTS; i-- > 0;) {
		assert_int_equal(first_gets(&w, i, "b"), is_first[i]);
		assert_int_equal(first_gets(&w, i, "c"), is_first[i]);
	}
	world_end(&w);
}

static void a_robot_that_comes_back_gets_some_hosts(void **state)
{
	enum { HOSTS = 6 };
	struct world w;
	unsigned n = 0;
	(void)state;
	world_begin(&w, "back");
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	botm_free(&w.leaf[0]);
	robot_end(&w.robot[0]);
	UNTIL(&w, capacity_of(&w) == 4);
	for (unsigned i = 0; i < HOSTS; i++)
		assert_false(first_gets(&w, i, "gone"));
	w.leaf[0] = botm_begin(&w, 2);
	robot_begin(&w, 0);
	UNTIL(&w, capacity_of(&w) == 8);
	for (unsigned i = 0; i < HOSTS; i++)
		n += first_gets(&w, i, "back");
	assert_int_equal(n, HOSTS / 2);
	world_end(&w);
}

static void a_url_does_not_wait_for_ever_for_the_robot_of_its_host(void **state)
{
	struct world w;
	char id[16];
	(void)state;
	world_begin(&w, "wait");
	w.robot[0].is_slow = w.robot[1].is_slow = true;
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	for (int i = 0; i < 7; i++) { /* one machine takes 6, its robot 4 */
		snprintf(id, sizeof id, "%d", i);
		UNTIL(&w, submit_url(&w, id, "http://h/") == 0);
	}
	UNTIL(&w, w.robot[0].asked + w.robot[1].asked == 4);
	assert_true(w.robot[0].asked == 0 || w.robot[1].asked == 0);
	UNTIL(&w, w.robot[0].asked + w.robot[1].asked == 5);
	assert_true(w.robot[0].asked == 1 || w.robot[1].asked == 1);
	world_end(&w);
}

static void verdicts_and_deletes_find_their_machine(void **state)
{
	struct world w;
	char path[512];
	(void)state;
	world_begin(&w, "route");
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0 && w.up == MACHINES);
	robot_end(&w.robot[0]);
	UNTIL(&w, capacity_of(&w) == 4);
	w.drops = true;
	assert_int_equal(submit(&w, "a"), 0);
	UNTIL(&w, w.answered == 1 && names_of(w.leaf[1]).names_free == 1);
	assert_string_equal(w.machine, "m1");
	assert_string_equal(w.file, "000000/000");
	w.drops = false;
	assert_int_equal(submit(&w, "b"), 0);
	UNTIL(&w, w.answered == 2 && names_of(w.leaf[1]).names_kept == 1);
	assert_string_equal(w.file, "000000/001");
	snprintf(path, sizeof path, "%s/%s", w.folder[1], w.file);
	assert_int_equal(access(path, F_OK), 0);
	botsource_delete(w.source, STR("d1"), STR("m1"), str_of(w.file));
	UNTIL(&w, w.deletes == 1);
	assert_int_equal(w.how, BOT_DELETED_OK);
	assert_int_equal(access(path, F_OK), -1);
	botsource_delete(w.source, STR("d2"), STR("m7"), str_of(w.file));
	UNTIL(&w, w.deletes == 2);
	assert_int_equal(w.how, BOT_DELETED_ABSENT);
	botm_free(&w.leaf[1]);
	UNTIL(&w, w.down == 1);
	botsource_delete(w.source, STR("d3"), STR("m1"), str_of(w.file));
	UNTIL(&w, w.deletes == 3);
	assert_int_equal(w.how, BOT_DELETED_ABSENT);
	world_end(&w);
}

static void a_new_botm_at_the_top_gets_everything_again(void **state)
{
	struct world w;
	(void)state;
	world_begin(&w, "anew");
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	w.robot[0].is_slow = w.robot[1].is_slow = true;
	assert_int_equal(submit(&w, "a"), 0);
	UNTIL(&w, w.robot[0].asked + w.robot[1].asked == 1);
	botm_free(&w.top);
	UNTIL(&w, w.down == MACHINES);
	w.robot[0].is_slow = w.robot[1].is_slow = false;
	w.top = botm_begin(&w, 1);
	/* it may go to the machine that has it already, which knows it, or to the other one; the
	 * robot that has it never answers, until it is gone */
	UNTIL(&w, w.up == 2 * MACHINES);
	for (int i = 0; i < MACHINES; i++) {
		robot_end(&w.robot[i]);
		robot_begin(&w, i);
	}
	UNTIL(&w, w.answered == 1);
	UNTIL(&w, names_of(w.leaf[0]).names_stored + names_of(w.leaf[1]).names_stored == 0);
	world_end(&w);
}

static void an_answer_of_an_earlier_process_is_told_and_dropped(void **state)
{
	struct world w;
	(void)state;
	world_begin(&w, "earlier");
	UNTIL(&w, capacity_of(&w) == 8 && w.room > 0);
	w.robot[0].is_slow = w.robot[1].is_slow = true;
	assert_int_equal(submit(&w, "a"), 0);
	UNTIL(&w, w.robot[0].asked + w.robot[1].asked == 1);
	botsource_free(&w.source);
	UNTIL(&w, !names_of(w.top).has_source);
	/* the URL goes to the other robot of nobody: it stays with its machine */
	w.robot[0].is_slow = w.robot[1].is_slow = false;
	for (int i = 0; i < MACHINES; i++) {
		robot_end(&w.robot[i]);
		robot_begin(&w, i);
	}
	UNTIL(&w, names_of(w.top).unanswered == 1);
	w.drops = true;
	source_begin(&w);
	UNTIL(&w, w.repeated == 1);
	UNTIL(&w, names_of(w.leaf[0]).names_free + names_of(w.leaf[1]).names_free == 1);
	assert_int_equal(w.answered, 0);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_fills_a_tree_up_to_its_overload),
		cmocka_unit_test(a_host_stays_with_its_robot),
		cmocka_unit_test(a_robot_that_comes_back_gets_some_hosts),
		cmocka_unit_test(a_url_does_not_wait_for_ever_for_the_robot_of_its_host),
		cmocka_unit_test(verdicts_and_deletes_find_their_machine),
		cmocka_unit_test(a_new_botm_at_the_top_gets_everything_again),
		cmocka_unit_test(an_answer_of_an_earlier_process_is_told_and_dropped),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
