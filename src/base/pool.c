/* One lock for all of a pool: jobs are few and long, or they would not be here. A client is known
 * while it has jobs in the pool; those with jobs waiting stand in a ring, and the first in it that
 * may have another thread is served and goes to the end. A job that nobody wants any more gives its
 * place away at once and is told so by the next thread that is free. */
#include "base/pool.h"

#include "base/hash.h"
#include "base/table.h"
#include "base/thread.h"

#include <sys/resource.h>
#include <unistd.h>

struct pool_client {
	size_t held;      /* jobs in the pool: claimed, waiting or running */
	size_t places;    /* of these, those that count against the share */
	size_t running;   /* and those that have a thread */
	struct link jobs; /* that wait */
	struct link turn; /* in the ring, while there are any */
};

TABLE(pool_clients, uint64_t, struct pool_client *, hash_u64, table_same_u64)

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t work, done;   /* a job came; one ended, or all did */
	struct pool_client own;      /* of number 0 */
	struct pool_clients clients; /* the others */
	struct link turns;
	struct link unwanted;      /* jobs that wait to be told so */
	size_t held, places, most; /* jobs in the pool, and that count; most 0: no limit */
	size_t share, abreast;
	int nice;
	bool ending;
	size_t nthreads;
	pthread_t thread[];
};

static struct pool_client *pool_client_of(struct pool *p, uint64_t number)
{
	if (number == 0)
		return &p->own;
	struct pool_client **c = pool_clients_put(&p->clients, number);
	if (!*c) {
		*c = mem_alloc(sizeof **c);
		list_init(&(*c)->jobs);
	}
	return *c;
}

static void pool_hold(struct pool *p, struct pool_job *job)
{
	struct pool_client *c = pool_client_of(p, job->client);
	c->held++;
	p->held++;
}

static void pool_take_place(struct pool *p, struct pool_job *job)
{
	job->placed = !job->beyond;
	p->places += job->placed;
	pool_client_of(p, job->client)->places += job->placed;
}

static void pool_leave_place(struct pool *p, uint64_t number, bool placed)
{
	p->places -= placed;
	pool_client_of(p, number)->places -= placed;
}

static void pool_let_go(struct pool *p, uint64_t number)
{
	struct pool_client *c = pool_client_of(p, number);
	p->held--;
	if (--c->held == 0 && number) {
		pool_clients_remove(&p->clients, number);
		mem_free(&c);
	}
	pthread_cond_broadcast(&p->done);
}

static void pool_unlist(struct pool_client *c, struct pool_job *job)
{
	list_remove(&job->link);
	if (list_is_empty(&c->jobs))
		list_remove(&c->turn);
}

static bool pool_may_run(const struct pool *p, const struct pool_client *c)
{
	return !p->abreast || c == &p->own || c->running < p->abreast;
}

/* The next job of the client whose turn it is; NULL: none may run now. */
static struct pool_job *pool_take(struct pool *p)
{
	struct pool_job *job = LIST_FIRST(struct pool_job, &p->unwanted, link);
	if (job) {
		list_remove(&job->link);
		return job;
	}
	LIST_EACH (struct pool_client, c, &p->turns, turn) {
		if (!pool_may_run(p, c))
			continue;
		job = LIST_FIRST(struct pool_job, &c->jobs, link);
		list_remove(&c->turn);
		list_append(&p->turns, &c->turn);
		pool_unlist(c, job);
		return job;
	}
	return NULL;
}

/* With the lock held, which is let go meanwhile. */
static void pool_run(struct pool *p, struct pool_job *job)
{
	uint64_t client = job->client;
	bool kept = job->kept, placed = job->placed;
	job->dropped = job->dropped || (job->unwanted && job->unwanted(job));
	pool_client_of(p, client)->running++;
	pthread_mutex_unlock(&p->lock);
	job->run(job);
	pthread_mutex_lock(&p->lock);
	if (kept)
		job->out = job->claimed = false;
	pool_leave_place(p, client, placed);
	pool_client_of(p, client)->running--;
	pool_let_go(p, client);
}

static void *pool_work(void *arg)
{
	struct pool *p = arg;
	if (p->nice) /* of this thread alone, on Linux */
		(void)setpriority(PRIO_PROCESS, (id_t)gettid(), p->nice);
	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct pool_job *job = pool_take(p);
		if (job)
			pool_run(p, job);
		else if (p->ending && p->held == 0)
			break;
		else
			pthread_cond_wait(&p->work, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int pool_new(struct pool **ret, const struct pool_options *options, struct err *err)
{
	struct pool *p = mem_alloc(sizeof *p + options->threads * sizeof p->thread[0]);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->work, NULL);
	pthread_cond_init(&p->done, NULL);
	list_init(&p->turns);
	list_init(&p->unwanted);
	list_init(&p->own.jobs);
	p->most = options->queue ? options->queue + options->threads : 0;
	p->share = options->share;
	p->abreast = options->abreast;
	p->nice = options->nice;
	for (; p->nthreads < options->threads; p->nthreads++)
		if (thread_start(&p->thread[p->nthreads], pool_work, p, err) < 0) {
			pool_free(&p);
			return -1;
		}
	*ret = p;
	return 0;
}

static bool pool_has_place(struct pool *p, const struct pool_job *job)
{
	if (job->beyond)
		return true;
	struct pool_client **c = pool_clients_get(&p->clients, job->client);
	bool has_share = !p->share || !job->client || !c || (*c)->places < p->share;
	return has_share && (!p->most || p->places < p->most);
}

/* Takes their places from jobs that wait and that nobody wants any more. */
static void pool_sweep(struct pool *p)
{
	LIST_EACH (struct pool_client, c, &p->turns, turn)
		LIST_EACH (struct pool_job, job, &c->jobs, link) {
			if (!job->unwanted || !job->unwanted(job))
				continue;
			job->dropped = true;
			pool_leave_place(p, job->client, job->placed);
			job->placed = false;
			pool_unlist(c, job);
			list_append(&p->unwanted, &job->link);
			pthread_cond_signal(&p->work);
		}
}

bool pool_claim(struct pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	if (!pool_has_place(p, job))
		pool_sweep(p);
	bool granted = !p->ending && pool_has_place(p, job);
	if (granted) {
		pool_hold(p, job);
		pool_take_place(p, job);
		job->claimed = true;
	}
	pthread_mutex_unlock(&p->lock);
	return granted;
}

void pool_post(struct pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	ENSURE(!job->out);
	job->dropped = false;
	if (!job->claimed) {
		pool_hold(p, job);
		job->placed = false;
	}
	job->out = true;
	struct pool_client *c = pool_client_of(p, job->client);
	list_append(&c->jobs, &job->link);
	if (!list_has(&c->turn))
		list_append(&p->turns, &c->turn);
	pthread_cond_signal(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void pool_wait(struct pool *p, struct pool_job *job)
{
	ENSURE(job->kept);
	pthread_mutex_lock(&p->lock);
	while (job->out) {
		struct pool_job *other = pool_take(p);
		if (other)
			pool_run(p, other);
		else
			pthread_cond_wait(&p->done, &p->lock);
	}
	pthread_mutex_unlock(&p->lock);
}

void pool_drain(struct pool *p)
{
	pthread_mutex_lock(&p->lock);
	p->ending = true;
	while (p->held)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_cond_broadcast(&p->work);
	pthread_mutex_unlock(&p->lock);
}

void pool_free(struct pool **pp)
{
	struct pool *p = *pp;
	if (!p)
		return;
	pool_drain(p);
	for (size_t i = 0; i < p->nthreads; i++)
		pthread_join(p->thread[i], NULL);
	pool_clients_free(&p->clients);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->work);
	pthread_mutex_destroy(&p->lock);
	mem_free(pp);
}
