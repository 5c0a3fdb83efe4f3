/* A set takes one of two ways. It goes straight to the link while the queue manager is connected
 * and unsdb is empty; otherwise it is stored in unsdb, after the sets before it. A set that was
 * sent is flying until it is answered; if the link is lost, flying sets are stored first. While
 * unsdb has sets, they are sent from there and new ones are appended, so that the order is kept.
 *
 * All that waits for the disk (unsdb, reading spools) is done by threads, one job of each kind at a
 * time; numbers are reserved by the thread that wants one. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "cache/cache_conf.h"
#include "cache/uns/uns_out_inner.h"
#include "disk/record.h"

enum { RESERVE = 64 /* numbers at a time */ };

void uns_out_set_free(struct out_set *s)
{
	uns_spool_free(&s->spool);
	mem_free(&s);
}

void uns_out_settle(struct uns_out *o, struct out_set *s, unsigned code, const char *text)
{
	list_remove(&s->link);
	o->counts.waiting--;
	o->counts.refused += code != 0;
	s->fn(s->ctx, code, text);
	s->is_settled = true;
	if (!s->is_read)
		uns_out_set_free(s);
}

/* Whether sets may go straight to the link. */
static bool can_pass(const struct uns_out *o)
{
	return uns_out_is_here(o) && !o->storing.set && list_is_empty(&o->to_store) &&
	       unsdb_waiting(o->unsdb) == 0;
}

/* An empty unsdb is never full, even if unsdb_max is 0. */
bool uns_out_is_full(const struct uns_out *o)
{
	return unsdb_size(o->unsdb) - RECORD_HEADER > o->u->conf->unsdb_max;
}

static void set_route(struct uns_out *o, struct out_set *s)
{
	bool is_ending = !uns_out_is_here(o) && !list_is_empty(&o->flying);
	if (can_pass(o) || is_ending) { /* uns_out_on_away() stores it if the link ends */
		list_append(&o->passing, &s->link);
		uns_out_pump(o);
	} else if (uns_out_is_full(o)) {
		uns_out_settle(o, s, CACHE_LATER, "the system is off-line, and unsdb is full");
	} else {
		list_append(&o->to_store, &s->link);
		uns_out_store_next(o);
	}
}

int uns_out_number(struct uns_out *o, uint64_t *ret)
{
	struct err err;
	int rc = 0;
	pthread_mutex_lock(&o->numbering);
	if (o->number.next == o->below) {
		rc = uns_number_reserve(o->small, &o->number, o->below + RESERVE, &err);
		o->below += rc == 0 ? RESERVE : 0;
	}
	if (rc == 0)
		*ret = o->number.next++;
	else
		log_warn(ROLE, "reserving numbers for sets failed", KV_TEXT("why", err.msg));
	pthread_mutex_unlock(&o->numbering);
	return rc;
}

void uns_out_add(struct uns_out *o, const struct unsdb_set *set, struct uns_spool *spool,
		 uns_settled_fn *fn, void *ctx)
{
	struct out_set *s = mem_alloc(sizeof *s);
	*s = (struct out_set){.set = *set, .spool = spool, .fn = fn, .ctx = ctx};
	o->counts.waiting++;
	set_route(o, s);
}

/* Into unsdb. */

static int spool_piece(void *ctx, struct buf *out, struct err *err)
{
	struct storing *st = ctx;
	return uns_spool_next(st->set->spool, &st->at, out, err);
}

static void set_stored(void *ctx)
{
	struct uns_out *o = ctx;
	struct storing *st = &o->storing;
	struct out_set *s = st->set;
	st->set = NULL;
	if (st->rc < 0 && !o->has_failed)
		log_warn(ROLE, "storing a set in unsdb failed", KV_TEXT("why", st->err.msg));
	o->has_failed = st->rc < 0;
	o->counts.stored += st->rc == 0;
	o->counts.failed += st->rc < 0;
	uns_out_settle(o, s, st->rc == 0 ? 0 : CACHE_LATER, "the set could not be kept");
	if (o->is_stopped)
		return;
	uns_out_store_next(o);
	uns_out_pump(o);
}

static void store_run(struct pool_job *job)
{
	struct uns_out *o = LIST_OF(struct uns_out, job, storing.job);
	struct storing *st = &o->storing;
	st->at = 0;
	st->rc = unsdb_put(o->unsdb, &st->set->set, spool_piece, st, &st->err);
	loop_post(o->u->role.loop, set_stored, o);
}

void uns_out_store_next(struct uns_out *o)
{
	struct storing *st = &o->storing;
	if (st->set || list_is_empty(&o->to_store) || o->is_stopped)
		return;
	st->set = LIST_FIRST(struct out_set, &o->to_store, link);
	list_remove(&st->set->link);
	st->job = (struct pool_job){.run = store_run, .beyond = true};
	pool_post(o->u->disk, &st->job);
}

/* Beginning and end. */

/* The owners of sets in a damaged unsdb are unknown, so all providers are asked for full sets. */
static int unsdb_begin(struct uns_out *o, struct err *err)
{
	CLEANUP(buf_free) struct buf away = BUF_INIT(PATH_MAX);
	if (unsdb_open(&o->unsdb, o->u->unsdb, err) == 0)
		return 0;
	if (err->code != ERR_DAMAGED)
		return -1;
	log_warn(ROLE, "unsdb damaged; set aside, all providers are asked for full sets",
		 KV_TEXT("why", err->msg));
	buf_printf(&away, "%s.", o->u->unsdb);
	time_print_name(&away, clock_wall_us());
	buf_add_text(&away, ".damaged");
	if (pidb_want(o->u->pidb, 0, PIDB_CRASH, err) < 0)
		return -1;
	FAULT("uns.damaged");
	if (file_rename(o->u->unsdb, buf_text(&away), err) < 0)
		return -1;
	return unsdb_open(&o->unsdb, o->u->unsdb, err);
}

int uns_out_new(struct uns_out **ret, struct uns *u, struct err *err)
{
	const struct role_env *env = u->role.env;
	struct uns_out *o = mem_alloc(sizeof *o);
	o->u = u;
	pthread_mutex_init(&o->numbering, NULL);
	list_init(&o->passing);
	list_init(&o->to_store);
	list_init(&o->flying);
	if (uns_number_open(env->data, env->name, &o->small, &o->number, err) < 0 ||
	    unsdb_begin(o, err) < 0 || uns_out_connect(o, err) < 0) {
		uns_out_free(&o);
		return -1;
	}
	o->below = o->number.next;
	*ret = o;
	return 0;
}

void uns_out_stop(struct uns_out *o)
{
	if (!o)
		return;
	o->is_stopped = true;
	loop_timer_stop(&o->greeting);
	outgoing_free(&o->link);
	o->is_here = false;
}

static void sets_refuse(struct uns_out *o, struct link *list)
{
	for (struct out_set *s; (s = LIST_FIRST(struct out_set, list, link));)
		uns_out_settle(o, s, CACHE_LATER, "the server stops");
}

void uns_out_end(struct uns_out *o)
{
	struct err err;
	if (!o)
		return;
	o->reading.set = NULL; /* its thread has ended */
	while (!list_is_empty(&o->flying)) {
		struct flying *f = LIST_FIRST(struct flying, &o->flying, link);
		list_remove(&f->link);
		if (f->set)
			list_append(&o->passing, &f->set->link);
		mem_free(&f);
	}
	sets_refuse(o, &o->passing);
	sets_refuse(o, &o->to_store);
	pthread_mutex_lock(&o->numbering);
	/* the numbers stay reserved if that fails: nothing is lost */
	if (o->number.next < o->below &&
	    uns_number_reserve(o->small, &o->number, o->number.next, &err) == 0)
		o->below = o->number.next;
	pthread_mutex_unlock(&o->numbering);
}

void uns_out_free(struct uns_out **op)
{
	struct uns_out *o = *op;
	if (!o)
		return;
	uns_out_stop(o);
	buf_free(&o->reading.out);
	mem_free(&o->taking.lost.provider);
	mem_free(&o->taking.now.provider);
	unsdb_close(&o->unsdb);
	small_close(&o->small);
	pthread_mutex_destroy(&o->numbering);
	mem_free(op);
}

struct unsdb *uns_out_unsdb(struct uns_out *o)
{
	return o->unsdb;
}

const char *uns_out_name(const struct uns_out *o)
{
	return o->number.name;
}

void uns_out_counts(const struct uns_out *o, struct uns_out_counts *ret)
{
	*ret = o->counts;
	ret->is_here = uns_out_is_here(o);
	ret->unsdb_bytes = unsdb_size(o->unsdb);
	ret->unsdb_sets = unsdb_waiting(o->unsdb);
}
