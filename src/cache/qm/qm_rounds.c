/* Rounds, as turns of a sync group. The loop owns what gathers and what goes out; the thread owns
 * the core and both databases while a round is under way, and the loop then touches neither. */
#include "cache/qm/qm_rounds.h"

#include "base/arena.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/list.h"
#include "base/vec.h"
#include "cache/qm/qm_contracts.h"
#include "net/sync_group.h"

enum {
	STEP_LEAST = 50,
	STEP_MOST = 1 << 15,
	STEP_MOST_BUSY = 1 << 14, /* while fetches are out */
	STEP_FIRST = 500,
	MESSAGES_MEMORY = 1 << 30,
};
#define STEP_AIM_US (250 * US_PER_MS)
#define STEP_AIM_BUSY_US (120 * US_PER_MS)
#define GATHER_EACH_US 50 /* with each fetch that is out */
#define GATHER_MOST_US (10 * US_PER_MS)
#define DISK_LOOK_US US_PER_S

struct machine_news {
	struct str name;
	bool is_up;
};

struct deleted_news {
	struct str id;
	enum bot_deletion how;
};

/* What has come, and is for a round; its texts are in the arena. */
struct inbox {
	struct arena arena;
	struct bot_message *answer;
	struct deleted_news *deleted;
	struct machine_news *machine;
	size_t answers, answers_room, deletes, deletes_room, machines, machines_room;
};

/* Fetches of a round on their way to the botm. */
struct outbox {
	struct link link;
	struct qm_rounds *rounds;
	struct arena arena;
	struct bot_message *fetch;
	size_t n, room, at;
};

struct qm_rounds {
	struct qm_rounds_options o;
	struct db *db;
	struct qm_contracts *contracts;
	struct qm_core *core;
	struct sync_group group;
	struct qm_link *link;
	struct botsource *source;
	int64_t age_us, began_us; /* the clock of ages, when this process began */
	/* The loop's. */
	struct inbox coming;
	struct link outboxes;
	uint64_t pending; /* fetches in these */
	size_t step;
	int64_t disk_look_us;
	bool is_woken, is_disk_full, is_over, is_stopped;
	struct qm_rounds_counts counts;
	/* Of the round that is under way. */
	struct inbox doing;
	struct qm_batch *batch;
	uint64_t room;
	bool is_forced, did_work;
	struct outbox *out;
};

static struct qm_now now_of(const struct qm_rounds *r)
{
	int64_t mono = clock_mono_us();
	return (struct qm_now){.mono_us = mono,
			       .wall_us = clock_sane_us(clock_wall_us()),
			       .age_us = r->age_us + mono - r->began_us};
}

/* What has come. */

static bool inbox_is_empty(const struct inbox *in)
{
	return in->answers + in->deletes + in->machines == 0;
}

static void inbox_clear(struct inbox *in)
{
	arena_clear(&in->arena);
	in->answers = in->deletes = in->machines = 0;
}

static void inbox_free(struct inbox *in)
{
	arena_free(&in->arena);
	mem_free(&in->answer);
	mem_free(&in->deleted);
	mem_free(&in->machine);
}

void qm_rounds_wake(void *ctx)
{
	struct qm_rounds *r = ctx;
	r->is_woken = true;
	sync_group_soon(&r->group, 0);
}

/* Where many fetches are out, answers come close together: one round is for many of them. Where few
 * are, each is waited for. */
static void round_gather(struct qm_rounds *r)
{
	int64_t wait = (int64_t)MIN(r->counts.core.turns.out, (uint64_t)1000) * GATHER_EACH_US;
	sync_group_soon(&r->group, MIN(wait, GATHER_MOST_US));
}

/* Room comes with each answer. */
void qm_rounds_room(void *ctx)
{
	struct qm_rounds *r = ctx;
	r->is_woken = true;
	round_gather(r);
}

void qm_rounds_answered(void *ctx, const struct bot_message *m)
{
	struct qm_rounds *r = ctx;
	struct inbox *in = &r->coming;
	*VEC_PUSH(in->answer, in->answers, in->answers_room) = bot_message_copy(m, &in->arena);
	round_gather(r);
}

void qm_rounds_deleted(void *ctx, struct str id, enum bot_deletion how)
{
	struct qm_rounds *r = ctx;
	struct inbox *in = &r->coming;
	*VEC_PUSH(in->deleted, in->deletes, in->deletes_room) =
		(struct deleted_news){arena_str(&in->arena, id), how};
	round_gather(r);
}

void qm_rounds_machine(void *ctx, struct str machine, bool is_up)
{
	struct qm_rounds *r = ctx;
	struct inbox *in = &r->coming;
	*VEC_PUSH(in->machine, in->machines, in->machines_room) =
		(struct machine_news){arena_str(&in->arena, machine), is_up};
	round_gather(r);
}

/* What goes out. */

static void outbox_free(struct outbox **op)
{
	struct outbox *o = *op;
	if (!o)
		return;
	list_remove(&o->link);
	arena_free(&o->arena);
	mem_free(&o->fetch);
	mem_free(op);
}

static void outboxes_pump(struct qm_rounds *r)
{
	LIST_EACH (struct outbox, o, &r->outboxes, link) {
		for (; o->at < o->n; o->at++, r->pending--)
			if (botsource_submit(r->source, &o->fetch[o->at]) == 1)
				return;
		outbox_free(&o);
	}
}

static void outbox_came(void *ctx)
{
	struct outbox *o = ctx;
	struct qm_rounds *r = o->rounds;
	list_append(&r->outboxes, &o->link);
	r->pending += o->n;
	outboxes_pump(r);
}

/* In the thread: what the core says. */

static int core_contract(void *ctx, uint64_t provider, struct qm_contract *ret)
{
	return qm_contracts_get(((struct qm_rounds *)ctx)->contracts, provider, ret);
}

static int core_within(void *ctx, uint64_t provider, struct str url, struct arena *arena,
		       struct str *ret)
{
	struct qm_rounds *r = ctx;
	return qm_contracts_within(r->contracts, provider, url, arena, ret);
}

static void core_submit(void *ctx, const struct bot_message *fetch)
{
	struct qm_rounds *r = ctx;
	struct outbox *o = r->out;
	if (!o) {
		r->out = o = mem_alloc(sizeof *o);
		*o = (struct outbox){.rounds = r, .arena = ARENA_INIT(MESSAGES_MEMORY)};
	}
	*VEC_PUSH(o->fetch, o->n, o->room) = bot_message_copy(fetch, &o->arena);
}

static void core_wanted(void *ctx, uint64_t provider, enum pidb_wanted why)
{
	qm_contracts_want(((struct qm_rounds *)ctx)->contracts, provider, why);
}

static void core_forgotten(void *ctx, uint64_t provider)
{
	qm_contracts_forgotten(((struct qm_rounds *)ctx)->contracts, provider);
}

/* In the loop. */

static void core_verdict(void *ctx, const struct bot_message *answer, bool is_kept)
{
	botsource_verdict(((struct qm_rounds *)ctx)->source, answer, is_kept);
}

static void core_remove(void *ctx, struct str id, struct str machine, struct str file)
{
	botsource_delete(((struct qm_rounds *)ctx)->source, id, machine, file);
}

static const struct qm_core_ops core_ops = {
	.contract = core_contract,
	.within = core_within,
	.submit = core_submit,
	.verdict = core_verdict,
	.remove = core_remove,
	.wanted = core_wanted,
	.forgotten = core_forgotten,
};

/* The round, in the thread. */

struct contract_news {
	struct qm_core *core;
	bool any;
};

static void on_changed(void *ctx, uint64_t provider)
{
	struct contract_news *n = ctx;
	n->any = true;
	qm_core_changed(n->core, provider);
}

static void on_gone(void *ctx, uint64_t provider)
{
	struct contract_news *n = ctx;
	n->any = true;
	qm_core_forget(n->core, provider);
}

static void inbox_pass(struct qm_rounds *r)
{
	const struct inbox *in = &r->doing;
	for (size_t i = 0; i < in->machines; i++)
		qm_core_machine(r->core, in->machine[i].name, in->machine[i].is_up);
	for (size_t i = 0; i < in->answers; i++)
		qm_core_answered(r->core, &in->answer[i]);
	for (size_t i = 0; i < in->deletes; i++)
		qm_core_deleted(r->core, in->deleted[i].id, in->deleted[i].how);
}

/* A contract or a prefix that could not be read looks like one that is not there: what was removed
 * for that is not committed. */
static int round_work(struct qm_rounds *r, const struct qm_now *now, struct err *err)
{
	if (qm_core_begin(r->core, now, err) < 0)
		return -1;
	if (r->batch) {
		if (qm_batch_run(r->batch, r->db, err) < 0)
			return -1;
		qm_core_sets(r->core);
	}
	inbox_pass(r);
	if (qm_core_work(r->core, r->room, r->step, err) < 0 ||
	    qm_contracts_failed(r->contracts, err) < 0)
		return -1;
	if (r->out)
		loop_post(r->o.loop, outbox_came, r->out);
	r->out = NULL;
	return qm_core_commit(r->core, err);
}

static int round_run(void *ctx, struct err *err)
{
	static const struct qm_contracts_ops ops = {.changed = on_changed, .gone = on_gone};
	struct qm_rounds *r = ctx;
	struct contract_news news = {.core = r->core};
	const struct qm_now now = now_of(r);
	int rc = qm_contracts_look(r->contracts, now.mono_us, &ops, &news, err);
	r->did_work =
		rc == 0 && (news.any || r->batch || r->is_forced || !inbox_is_empty(&r->doing) ||
			    qm_core_wait_us(r->core, &now) == 0);
	if (r->did_work)
		rc = round_work(r, &now, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		qm_contracts_want(r->contracts, 0, PIDB_CRASH);
	return rc;
}

/* Before and after it, in the loop. */

static void disk_look(struct qm_rounds *r)
{
	uint64_t left;
	struct err err;
	int64_t now = clock_mono_us();
	if (now < r->disk_look_us)
		return;
	r->disk_look_us = now + DISK_LOOK_US;
	r->is_disk_full = file_space(r->o.folder, &left, NULL, &err) == 0 && left < r->o.disk_free;
}

static bool round_begin(void *ctx)
{
	struct qm_rounds *r = ctx;
	struct inbox swap = r->doing;
	if (r->is_stopped)
		return false;
	disk_look(r);
	r->is_forced = r->is_woken;
	r->is_woken = false;
	r->doing = r->coming;
	r->coming = swap;
	r->batch = r->link ? qm_link_gather(r->link) : NULL;
	uint64_t room = r->source && !r->is_disk_full ? botsource_room(r->source) : 0;
	r->room = room > r->pending ? room - r->pending : 0;
	return true;
}

/* Larger steps cost less for each notice, since notices share the pages of their URLs; but answers
 * wait for the end of a step. It grows only where a whole one was done in time. */
static void round_measure(struct qm_rounds *r, uint64_t did)
{
	bool is_busy = r->counts.core.turns.out > 0;
	int64_t took = MAX(r->group.took_us, (int64_t)1);
	int64_t aim = is_busy ? STEP_AIM_BUSY_US : STEP_AIM_US;
	size_t most = is_busy ? STEP_MOST_BUSY : STEP_MOST;
	size_t fits = (size_t)((int64_t)r->step * aim / took);
	if (took > aim)
		r->step = MAX(fits, (size_t)STEP_LEAST);
	else if (did >= r->step)
		r->step = MIN(fits, r->step * 2);
	r->step = MIN(r->step, most);
}

static void overload_look(struct qm_rounds *r)
{
	const struct qm_core_counts *c = &r->counts.core;
	uint64_t rows = c->rows + c->open_urls, most = r->o.qdb_max;
	bool over = r->is_disk_full || rows > (r->is_over ? most * 4 / 5 : most);
	if (over == r->is_over)
		return;
	r->is_over = over;
	r->o.overload(r->o.ctx, over);
}

static void round_next(struct qm_rounds *r)
{
	const struct qm_now now = now_of(r);
	bool has_more = r->is_woken || !inbox_is_empty(&r->coming);
	int64_t wait = has_more ? 0 : MIN(qm_core_wait_us(r->core, &now), QM_WATCH_US);
	sync_group_soon(&r->group, wait);
}

static void round_done(void *ctx, int rc, const struct err *err)
{
	struct qm_rounds *r = ctx;
	if (rc < 0) {
		r->is_stopped = true;
		r->o.failed(r->o.ctx, err);
		return;
	}
	qm_core_tell(r->core);
	qm_link_taken(r->link, &r->batch);
	inbox_clear(&r->doing);
	r->counts.rounds += r->did_work;
	const uint64_t before = r->counts.core.notices;
	qm_core_counts(r->core, &r->counts.core);
	if (r->did_work)
		round_measure(r, r->counts.core.notices - before);
	overload_look(r);
	outboxes_pump(r);
	round_next(r);
}

/* The databases. */

/* Damage that keeps the database from being opened is known to PIDB at least; so is that there was
 * one, before a new one takes its place. */
static int databases_open(struct qm_rounds *r, struct err *err)
{
	if (qm_contracts_open(&r->contracts, r->o.folder, r->o.core.period, err) < 0)
		return -1;
	int rc = db_open(&r->db, r->o.folder, DB_READ, err);
	db_close(&r->db);
	if (rc == 1)
		rc = qm_contracts_lost(r->contracts, err);
	if (rc == 0)
		rc = db_open(&r->db, r->o.folder, DB_WRITE, err);
	if (rc == 0)
		rc = db_age_get(r->db, &r->age_us, err);
	return rc;
}

static int core_open(struct qm_rounds *r, struct err *err)
{
	struct qm_core_options options = r->o.core;
	r->began_us = clock_mono_us();
	const struct qm_now now = now_of(r);
	options.db = r->db;
	options.ops = &core_ops;
	options.ctx = r;
	return qm_core_new(&r->core, &options, &now, err);
}

int qm_rounds_new(struct qm_rounds **ret, const struct qm_rounds_options *options, struct err *err)
{
	struct qm_rounds *r = mem_alloc(sizeof *r);
	*r = (struct qm_rounds){
		.o = *options,
		.step = STEP_FIRST,
		.coming.arena = ARENA_INIT(MESSAGES_MEMORY),
		.doing.arena = ARENA_INIT(MESSAGES_MEMORY),
		.group = {.loop = options->loop,
			  .begin = round_begin,
			  .run = round_run,
			  .done = round_done,
			  .ctx = r},
	};
	list_init(&r->outboxes);
	int rc = databases_open(r, err);
	if (rc == 0)
		rc = core_open(r, err);
	if (rc < 0 && err->code == ERR_DAMAGED && r->contracts)
		qm_contracts_want(r->contracts, 0, PIDB_CRASH);
	if (rc == 0)
		rc = sync_group_open(&r->group, err);
	if (rc < 0)
		qm_rounds_free(&r);
	else
		*ret = r;
	return rc;
}

void qm_rounds_join(struct qm_rounds *r, struct qm_link *link, struct botsource *source)
{
	r->link = link;
	r->source = source;
	qm_core_counts(r->core, &r->counts.core);
	overload_look(r);
	qm_rounds_wake(r);
}

void qm_rounds_stop(struct qm_rounds *r)
{
	struct err err;
	if (!r)
		return;
	r->is_stopped = true;
	(void)sync_group_close(&r->group, &err);
	if (r->batch && r->link)
		qm_link_drop(r->link, &r->batch);
}

void qm_rounds_free(struct qm_rounds **rp)
{
	struct qm_rounds *r = *rp;
	if (!r)
		return;
	qm_rounds_stop(r);
	LIST_EACH (struct outbox, o, &r->outboxes, link)
		outbox_free(&o);
	outbox_free(&r->out);
	inbox_free(&r->coming);
	inbox_free(&r->doing);
	qm_core_free(&r->core);
	db_close(&r->db);
	qm_contracts_close(&r->contracts);
	mem_free(rp);
}

void qm_rounds_counts(const struct qm_rounds *r, struct qm_rounds_counts *ret)
{
	*ret = r->counts;
	ret->is_over = r->is_over;
}
