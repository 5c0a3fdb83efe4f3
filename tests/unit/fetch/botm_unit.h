/* A botm or a source whose peers are played by the test, message by message. */
#pragma once
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "fetch/bot/botm_inner.h"
#include "fetch/botsource.h"
#include "role/listen.h"

static const struct server_limits limits = {.max_connections = 100,
					    .max_per_address = 100,
					    .backlog = 16,
					    .line_max = 8192,
					    .queue_max = 4 << 20,
					    .memory = 64 << 20,
					    .idle_us = 60 * US_PER_S};
static const struct conn_limits conn_limits = {
	.pieces = true, .high_mark = 32 << 20, .queue_max = 64 << 20};

struct flood {
	struct loop *loop;
	struct conn_pool *pool;
	struct botm *botm;
	struct botsource *botsource;
	struct server *server; /* a source that is played */
	char door[2][300];     /* of the source, of the botm */
	int fd[2];
	uint64_t answers, deletes, absent, up, down; /* that the botsource was told */
};

/* A peer that is played: a source, a robot or a botm. */
struct player {
	struct flood *f;
	struct conn *conn;
	struct outgoing *link;
	struct bot_reader *reader;
	uint64_t heard[BOT_NKINDS];
	uint64_t capacity, times;  /* that it was told; that it was connected */
	char last[BOT_ID_MAX + 1]; /* id */
	const char *greeting;
	void (*act)(struct player *p, const struct bot_message *m);
};

static inline void player_say(struct player *p, const struct bot_message *m)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(2 * BOT_MESSAGE_MAX);
	bot_message_print(m, &out);
	(void)conn_send(p->conn, buf_str(&out));
}

static inline void player_heard(void *ctx, const struct bot_message *m)
{
	struct player *p = ctx;
	p->heard[m->kind]++;
	if (m->kind == BOT_BOTM)
		p->capacity = m->capacity;
	snprintf(p->last, sizeof p->last, STR_FMT, STR_ARG(m->id));
	if (p->act)
		p->act(p, m);
}

static inline void player_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)line, (void)column;
	fail_msg("%s", err->msg);
}

static const struct bot_reader_ops player_reads = {player_heard, player_error};

/* One that connects. */

static inline void player_up(void *ctx, struct conn *c)
{
	struct player *p = ctx;
	p->conn = c;
	p->times++;
	p->reader = bot_reader_new(&player_reads, p);
	(void)conn_send(c, str_of(p->greeting));
}

static inline void player_down(void *ctx, const char *why, int64_t retry_us)
{
	struct player *p = ctx;
	(void)why, (void)retry_us;
	p->conn = NULL;
	bot_reader_free(&p->reader);
}

static inline void player_bytes(void *ctx, struct str piece)
{
	struct player *p = ctx;
	bot_reader_put(p->reader, piece);
}

static inline void player_connect(struct flood *f, struct player *p, const char *door,
				  const char *greeting)
{
	static const struct conn_ops ops = {.bytes = player_bytes};
	const struct outgoing_options options = {.address = door,
						 .connect_us = US_PER_S,
						 .retry_min_us = US_PER_H,
						 .retry_max_us = US_PER_H,
						 .limits = &conn_limits,
						 .ops = &ops,
						 .up = player_up,
						 .down = player_down,
						 .ctx = p};
	struct err err;
	p->f = f;
	p->greeting = greeting;
	assert_int_equal(outgoing_new(&p->link, f->pool, &options, &err), 0);
}

static inline void player_end(struct player *p)
{
	if (p->link)
		outgoing_free(&p->link);
	bot_reader_free(&p->reader);
}

/* One that listens: the source, whose player is handed over by the server. */

static inline void on_opened(struct session *s)
{
	struct player *p = server_ctx(session_server(s));
	p->conn = session_conn(s);
	p->times++;
	p->reader = bot_reader_new(&player_reads, p);
}

static inline void on_bytes(struct session *s, struct str piece)
{
	struct player *p = server_ctx(session_server(s));
	bot_reader_put(p->reader, piece);
}

static inline void on_closed(struct session *s, enum conn_end end)
{
	struct player *p = server_ctx(session_server(s));
	(void)end;
	p->conn = NULL;
	bot_reader_free(&p->reader);
}

static inline void source_play(struct flood *f, struct player *p)
{
	static const struct server_protocol protocol = {.name = "source",
							.reads_on = true,
							.opened = on_opened,
							.bytes = on_bytes,
							.closed = on_closed};
	struct server_limits wide = limits;
	struct err err;
	wide.queue_max = 64 << 20;
	p->f = f;
	f->server = server_new(f->loop, &protocol, &wide, NULL, p);
	assert_int_equal(server_listen(f->server, f->fd[0], &err), 0);
}

/* The real source. */

static inline void on_room(void *ctx)
{
	(void)ctx;
}

static inline void on_answer(void *ctx, const struct bot_message *m)
{
	struct flood *f = ctx;
	f->answers++;
	botsource_verdict(f->botsource, m, false);
}

static inline void on_deleted(void *ctx, struct str id, enum bot_deletion how)
{
	struct flood *f = ctx;
	(void)id;
	f->deletes++;
	f->absent += how == BOT_DELETED_ABSENT;
}

static inline void on_machine(void *ctx, struct str machine, bool is_up)
{
	struct flood *f = ctx;
	(void)machine;
	f->up += is_up;
	f->down += !is_up;
}

static inline void source_begin(struct flood *f)
{
	static const struct botsource_ops ops = {.room = on_room,
						 .answered = on_answer,
						 .repeated = on_answer,
						 .deleted = on_deleted,
						 .machine = on_machine};
	const struct botsource_options options = {
		.loop = f->loop, .limits = &limits, .overload = 10, .ops = &ops, .ctx = f};
	struct err err;
	f->botsource = botsource_new(&options);
	assert_int_equal(botsource_listen(f->botsource, f->fd[0], &err), 0);
}

/* The botm, and all of it. */

static inline void on_failed(void *ctx, const struct err *err)
{
	(void)ctx;
	fail_msg("%s", err->msg);
}

static inline void botm_begin(struct flood *f, const char *folder)
{
	const struct botm_options options = {.loop = f->loop,
					     .folder = folder,
					     .data = scratch_dir,
					     .machine = "m1",
					     .source = f->door[0],
					     .limits = &limits,
					     .failed = on_failed,
					     .ctx = f};
	struct err err;
	if (botm_new(&f->botm, &options, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(botm_listen(f->botm, f->fd[1], &err), 0);
}

static inline void flood_begin(struct flood *f, const char *name, bool is_manual)
{
	const struct loop_options options = {.manual = is_manual, .start_us = 1};
	struct err err;
	*f = (struct flood){0};
	assert_int_equal(loop_new(&f->loop, &options, &err), 0);
	f->pool = conn_pool_new(f->loop, 256 << 20);
	for (int i = 0; i < 2; i++) {
		snprintf(f->door[i], sizeof f->door[i], "unix:%s/%s%d", scratch_dir, name, i);
		assert_int_equal(listen_open(f->door[i], &f->fd[i], &err), 0);
	}
}

static inline void flood_end(struct flood *f)
{
	botm_free(&f->botm);
	botsource_free(&f->botsource);
	server_free(&f->server);
	conn_pool_free(&f->pool);
	loop_free(&f->loop);
	close(f->fd[0]);
	close(f->fd[1]);
}

/* Until it holds; 20 s are more than anything takes. */
#define UNTIL(f, holds)                                             \
	do {                                                        \
		int64_t until_us = clock_mono_us() + 20 * US_PER_S; \
		while (!(holds)) {                                  \
			loop_poll((f)->loop);                       \
			if (clock_mono_us() > until_us)             \
				fail_msg("never: %s", #holds);      \
			usleep(100);                                \
		}                                                   \
	} while (0)

/* As long as something happens, and then a while. */
static inline void flood_rest(struct flood *f)
{
	int64_t until_us = clock_mono_us() + 50 * US_PER_MS;
	while (clock_mono_us() < until_us) {
		loop_poll(f->loop);
		usleep(100);
	}
}

/* Words that are as long as they can be on the wire. */
static inline struct str long_id(char room[BOT_ID_MAX + 1], int i)
{
	memset(room, '"', BOT_ID_MAX);
	room[snprintf(room, BOT_ID_MAX, "%08d", i)] = '"';
	room[BOT_ID_MAX] = 0;
	return str_of(room);
}

static inline void fetch_say(struct player *p, int i, struct str url)
{
	char id[BOT_ID_MAX + 1];
	player_say(p, &(struct bot_message){.kind = BOT_FETCH,
					    .has = BOT_HAS_ID | BOT_HAS_URL,
					    .id = long_id(id, i),
					    .url = url});
}

static inline void delete_say(struct player *p, int i, const char *machine)
{
	char id[BOT_ID_MAX + 1];
	player_say(p, &(struct bot_message){.kind = BOT_DELETE,
					    .has = BOT_HAS_ID | BOT_HAS_MACHINE | BOT_HAS_FILE,
					    .id = long_id(id, i),
					    .machine = str_of(machine),
					    .file = STR("000000/000")});
}

static inline void fail_at_once(struct player *p, const struct bot_message *m)
{
	if (m->kind == BOT_FETCH)
		player_say(p, &(struct bot_message){.kind = BOT_FETCHED,
						    .has = BOT_HAS_ID | BOT_HAS_OUTCOME,
						    .id = m->id,
						    .outcome = OUTCOME_PERMANENT});
}
