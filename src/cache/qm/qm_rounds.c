/* Rounds: the queue manager's core in a thread of its own, between the loop that speaks with others
 * and the databases. What comes in gathers in the loop; a round takes all of it, and what comes
 * meanwhile is for the next one. So the loop never waits for the disk, and one sync is shared by
 * all that came during the one before it.
 *
 * Fetches go out from inside a round, as soon as they are known; verdicts, deletes and the answers
 * to notification servers after its commit.
 *
 * Rounds are turns of a sync group. The loop owns what gathers and what goes out; the thread owns
 * the core and both databases while a round is under way, and the loop then touches neither. */
#include "cache/qm/qm_inner.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"

enum {
	STEP_LEAST = 50,
	STEP_MOST = 1 << 15,
	STEP_MOST_BUSY = 1 << 14, /* while fetches are out */
	STEP_FIRST = 500,
	MESSAGES_MEMORY = 1 << 30,
	DELETES_AT_ONCE = 1000,
	STAY = 100,
};
#define STEP_AIM_US (250 * US_PER_MS)
#define STEP_AIM_BUSY_US (120 * US_PER_MS)
#define GATHER_EACH_US 50 /* for each fetch that is out */
#define GATHER_MOST_US (10 * US_PER_MS)
#define DISK_LOOK_US US_PER_S
#define AGES_EVERY_US US_PER_H

/* Fetches of a round on their way to the botm. */
struct outbox {
	struct link link;
	struct qm *qm;
	struct arena arena;
	struct bot_message *fetch;
	size_t n, room, at;
};

static struct qm_now now_of(const struct qm *q)
{
	int64_t mono = clock_mono_us();
	return (struct qm_now){.mono_us = mono,
			       .wall_us = clock_sane_us(clock_wall_us()),
			       .age_us = q->age_us + mono - q->began_us};
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

void qm_wake(void *ctx)
{
	struct qm *q = ctx;
	q->is_woken = true;
	sync_group_soon(&q->group, 0);
}

/* If many fetches are out, answers arrive close together and share a round. If few are, rounds
 * start at once. */
static void round_gather(struct qm *q)
{
	int64_t wait = (int64_t)MIN(q->counts.core.turns.out, (uint64_t)1000) * GATHER_EACH_US;
	sync_group_soon(&q->group, MIN(wait, GATHER_MOST_US));
}

/* Room comes with each answer. */
void qm_room(void *ctx)
{
	struct qm *q = ctx;
	q->is_woken = true;
	round_gather(q);
}

void qm_answered(void *ctx, const struct bot_message *m)
{
	struct qm *q = ctx;
	struct inbox *in = &q->coming;
	*VEC_PUSH(in->answer, in->answers, in->answers_room) = bot_message_copy(m, &in->arena);
	round_gather(q);
}

void qm_deleted(void *ctx, struct str id, enum bot_deletion how)
{
	struct qm *q = ctx;
	struct inbox *in = &q->coming;
	*VEC_PUSH(in->deleted, in->deletes, in->deletes_room) =
		(struct deleted_news){arena_str(&in->arena, id), how};
	round_gather(q);
}

void qm_machine(void *ctx, struct str machine, bool is_up)
{
	struct qm *q = ctx;
	struct inbox *in = &q->coming;
	*VEC_PUSH(in->machine, in->machines, in->machines_room) =
		(struct machine_news){arena_str(&in->arena, machine), is_up};
	round_gather(q);
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

static void outboxes_pump(struct qm *q)
{
	LIST_EACH (struct outbox, o, &q->outboxes, link) {
		for (; o->at < o->n; o->at++, q->pending--)
			if (botsource_submit(q->source, &o->fetch[o->at]) == 1)
				return;
		outbox_free(&o);
	}
}

static void outbox_came(void *ctx)
{
	struct outbox *o = ctx;
	struct qm *q = o->qm;
	list_append(&q->outboxes, &o->link);
	q->pending += o->n;
	outboxes_pump(q);
}

/* In the thread: what the core says. */

static int core_contract(void *ctx, uint64_t provider, struct qm_contract *ret)
{
	return qm_contracts_get(((struct qm *)ctx)->contracts, provider, ret);
}

static int core_within(void *ctx, uint64_t provider, struct str url, struct arena *arena,
		       struct str *ret)
{
	struct qm *q = ctx;
	return qm_contracts_within(q->contracts, provider, url, arena, ret);
}

static void core_submit(void *ctx, const struct bot_message *fetch)
{
	struct qm *q = ctx;
	struct outbox *o = q->out;
	if (!o) {
		q->out = o = mem_alloc(sizeof *o);
		*o = (struct outbox){.qm = q, .arena = ARENA_INIT(MESSAGES_MEMORY)};
	}
	*VEC_PUSH(o->fetch, o->n, o->room) = bot_message_copy(fetch, &o->arena);
}

static void core_wanted(void *ctx, uint64_t provider, enum pidb_wanted why)
{
	qm_contracts_want(((struct qm *)ctx)->contracts, provider, why);
}

static void core_forgotten(void *ctx, uint64_t provider)
{
	qm_contracts_forgotten(((struct qm *)ctx)->contracts, provider);
}

/* In the loop. */

static void core_verdict(void *ctx, const struct bot_message *answer, bool is_kept)
{
	botsource_verdict(((struct qm *)ctx)->source, answer, is_kept);
}

static void core_remove(void *ctx, struct str id, struct str machine, struct str file)
{
	botsource_delete(((struct qm *)ctx)->source, id, machine, file);
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

static void inbox_pass(struct qm *q)
{
	const struct inbox *in = &q->doing;
	for (size_t i = 0; i < in->machines; i++)
		qm_core_machine(q->core, in->machine[i].name, in->machine[i].is_up);
	for (size_t i = 0; i < in->answers; i++)
		qm_core_answered(q->core, &in->answer[i]);
	for (size_t i = 0; i < in->deletes; i++)
		qm_core_deleted(q->core, in->deleted[i].id, in->deleted[i].how);
}

/* A contract or prefix that could not be read looks like a missing one: removals based on that must
 * not be committed. */
static int round_work(struct qm *q, const struct qm_now *now, struct err *err)
{
	if (qm_core_begin(q->core, now, err) < 0)
		return -1;
	if (q->batch) {
		if (qm_batch_run(q->batch, q->db, err) < 0)
			return -1;
		qm_core_sets(q->core);
	}
	inbox_pass(q);
	if (qm_core_work(q->core, q->room, q->step, err) < 0 ||
	    qm_contracts_failed(q->contracts, err) < 0)
		return -1;
	if (q->out)
		loop_post(q->role.loop, outbox_came, q->out);
	q->out = NULL;
	return qm_core_commit(q->core, err);
}

static int round_run(void *ctx, struct err *err)
{
	static const struct qm_contracts_ops ops = {.changed = on_changed, .gone = on_gone};
	struct qm *q = ctx;
	struct contract_news news = {.core = q->core};
	const struct qm_now now = now_of(q);
	int rc = qm_contracts_look(q->contracts, now.mono_us, &ops, &news, err);
	q->did_work =
		rc == 0 && (news.any || q->batch || q->is_forced || !inbox_is_empty(&q->doing) ||
			    qm_core_wait_us(q->core, &now) == 0);
	if (q->did_work)
		rc = round_work(q, &now, err);
	if (rc < 0 && err->code == ERR_DAMAGED)
		qm_contracts_want(q->contracts, 0, PIDB_CRASH);
	return rc;
}

/* Before and after it, in the loop. */

static void disk_look(struct qm *q)
{
	uint64_t left;
	struct err err;
	int64_t now = clock_mono_us();
	if (now < q->disk_look_us)
		return;
	q->disk_look_us = now + DISK_LOOK_US;
	q->is_disk_full =
		file_space(q->folder, &left, NULL, &err) == 0 && left < q->role.env->disk_free;
}

static bool round_begin(void *ctx)
{
	struct qm *q = ctx;
	struct inbox swap = q->doing;
	if (q->is_stopped)
		return false;
	disk_look(q);
	q->is_forced = q->is_woken;
	q->is_woken = false;
	q->doing = q->coming;
	q->coming = swap;
	q->batch = qm_link_gather(q->link);
	uint64_t room = q->is_disk_full ? 0 : botsource_room(q->source);
	q->room = room > q->pending ? room - q->pending : 0;
	return true;
}

/* Adapts the step. Larger steps cost less for each notice, since notices share database pages, but
 * answers wait for the end of a step. It grows only after a full step was done in time. */
static void round_measure(struct qm *q, uint64_t did)
{
	bool is_busy = q->counts.core.turns.out > 0;
	int64_t took = MAX(q->group.took_us, (int64_t)1);
	int64_t aim = is_busy ? STEP_AIM_BUSY_US : STEP_AIM_US;
	size_t most = is_busy ? STEP_MOST_BUSY : STEP_MOST;
	size_t fits = (size_t)((int64_t)q->step * aim / took);
	if (took > aim)
		q->step = MAX(fits, (size_t)STEP_LEAST);
	else if (did >= q->step)
		q->step = MIN(fits, q->step * 2);
	q->step = MIN(q->step, most);
}

static void overload_look(struct qm *q)
{
	const struct qm_core_counts *c = &q->counts.core;
	uint64_t rows = c->rows + c->open_urls, most = (uint64_t)q->conf->qdb_max;
	bool over = q->is_disk_full || rows > (q->counts.is_over ? most * 4 / 5 : most);
	if (over == q->counts.is_over)
		return;
	q->counts.is_over = over;
	if (over)
		log_warn(ROLE, "queue or disk full; sets refused");
	else
		log_info(ROLE, "sets accepted again");
	qm_link_overload(q->link, over);
}

static void round_next(struct qm *q)
{
	const struct qm_now now = now_of(q);
	bool has_more = q->is_woken || !inbox_is_empty(&q->coming);
	int64_t wait = has_more ? 0 : MIN(qm_core_wait_us(q->core, &now), QM_WATCH_US);
	sync_group_soon(&q->group, wait);
}

static void round_done(void *ctx, int rc, const struct err *err)
{
	struct qm *q = ctx;
	if (rc < 0) {
		q->is_stopped = true;
		role_loop_fail(&q->role, err);
		return;
	}
	qm_core_tell(q->core);
	qm_link_taken(q->link, &q->batch);
	inbox_clear(&q->doing);
	q->counts.rounds += q->did_work;
	const uint64_t before = q->counts.core.notices;
	qm_core_counts(q->core, &q->counts.core);
	if (q->did_work)
		round_measure(q, q->counts.core.notices - before);
	overload_look(q);
	outboxes_pump(q);
	round_next(q);
}

/* The databases. */

/* If the database is damaged or gone, PIDB records it before a new one takes its place. */
static int databases_open(struct qm *q, struct err *err)
{
	const struct cache_conf *cache = config_get(q->role.env->config, &cache_section);
	if (qm_contracts_open(&q->contracts, q->folder, cache_period(cache), err) < 0)
		return -1;
	int rc = db_open(&q->db, q->folder, DB_READ, err);
	db_close(&q->db);
	if (rc == 1)
		rc = qm_contracts_lost(q->contracts, err);
	if (rc == 0)
		rc = db_open(&q->db, q->folder, DB_WRITE, err);
	if (rc == 0)
		rc = db_age_get(q->db, &q->age_us, err);
	return rc;
}

static int core_open(struct qm *q, struct err *err)
{
	const struct cache_conf *cache = config_get(q->role.env->config, &cache_section);
	const struct qm_conf *conf = q->conf;
	const struct qm_core_options options = {
		.db = q->db,
		.ops = &core_ops,
		.ctx = q,
		.slot_us = cache->slot_us,
		.period = cache_period(cache),
		.turns = {.wheel_slots = (size_t)conf->wheel_slots,
			  .wheel_step_us = conf->wheel_step_us,
			  .site_wait_us = conf->site_wait_us,
			  .retry_wait_us = conf->retry_wait_us,
			  .stay = STAY},
		.retries = (unsigned)conf->retries,
		.old_after_us = conf->old_after_us,
		.expire_after_us = conf->expire_after_us,
		.ages_every_us = AGES_EVERY_US,
		.receipts_kept_us = cache->receipts_kept_us,
		.deletes = DELETES_AT_ONCE,
	};
	q->began_us = clock_mono_us();
	const struct qm_now now = now_of(q);
	return qm_core_new(&q->core, &options, &now, err);
}

int qm_rounds_open(struct qm *q, struct err *err)
{
	q->step = STEP_FIRST;
	q->coming.arena = q->doing.arena = ARENA_INIT(MESSAGES_MEMORY);
	q->group = (struct sync_group){.loop = q->role.loop,
				       .begin = round_begin,
				       .run = round_run,
				       .done = round_done,
				       .ctx = q};
	list_init(&q->outboxes);
	int rc = databases_open(q, err);
	if (rc == 0)
		rc = core_open(q, err);
	if (rc < 0 && err->code == ERR_DAMAGED && q->contracts)
		qm_contracts_want(q->contracts, 0, PIDB_CRASH);
	return rc == 0 ? sync_group_open(&q->group, err) : rc;
}

void qm_rounds_go(struct qm *q)
{
	qm_core_counts(q->core, &q->counts.core);
	overload_look(q);
	qm_wake(q);
}

void qm_rounds_stop(struct qm *q)
{
	struct err err;
	q->is_stopped = true;
	(void)sync_group_close(&q->group, &err);
	if (q->batch)
		qm_link_drop(q->link, &q->batch);
}

void qm_rounds_close(struct qm *q)
{
	if (!q->contracts) /* it was not opened */
		return;
	LIST_EACH (struct outbox, o, &q->outboxes, link)
		outbox_free(&o);
	outbox_free(&q->out);
	inbox_free(&q->coming);
	inbox_free(&q->doing);
	qm_core_free(&q->core);
	db_close(&q->db);
	qm_contracts_close(&q->contracts);
}
