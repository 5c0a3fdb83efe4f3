/* One lock for all of a pool: jobs are few and long, or they would not be here. A client is known
 * while it has jobs in the pool; those with jobs waiting stand in a ring, and the one at its front
 * is served and goes to the end. */
#include "base/pool.h"

#include "base/hash.h"
#include "base/table.h"
#include "base/thread.h"

#include <sys/resource.h>
#include <unistd.h>

struct pool_client {
	size_t held;      /* jobs in the pool: claimed, waiting or running */
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
	size_t held, most; /* jobs in the pool; most 0: no limit */
	size_t share;
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
	pool_client_of(p, job->client)->held++;
	p->held++;
	job->claimed = true;
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

/* The next job of the client whose turn it is; NULL: none waits. */
static struct pool_job *pool_take(struct pool *p)
{
	struct pool_client *c = LIST_FIRST(struct pool_client, &p->turns, turn);
	if (!c)
		return NULL;
	struct pool_job *job = LIST_FIRST(struct pool_job, &c->jobs, link);
	list_remove(&job->link);
	list_remove(&c->turn);
	if (!list_is_empty(&c->jobs))
		list_append(&p->turns, &c->turn);
	return job;
}

/* With the lock held, which is let go meanwhile. */
static void pool_run(struct pool *p, struct pool_job *job)
{
	uint64_t client = job->client;
	bool kept = job->kept;
	pthread_mutex_unlock(&p->lock);
	job->run(job);
	pthread_mutex_lock(&p->lock);
	if (kept)
		job->out = job->claimed = false;
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
	list_init(&p->own.jobs);
	p->most = options->queue ? options->queue + options->threads : 0;
	p->share = options->share;
	p->nice = options->nice;
	for (; p->nthreads < options->threads; p->nthreads++)
		if (thread_start(&p->thread[p->nthreads], pool_work, p, err) < 0) {
			pool_free(&p);
			return -1;
		}
	*ret = p;
	return 0;
}

bool pool_claim(struct pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	bool granted = !p->ending && (!p->most || p->held < p->most);
	if (granted && job->client && p->share) {
		struct pool_client **c = pool_clients_get(&p->clients, job->client);
		granted = !c || (*c)->held < p->share;
	}
	if (granted)
		pool_hold(p, job);
	pthread_mutex_unlock(&p->lock);
	return granted;
}

void pool_post(struct pool *p, struct pool_job *job)
{
	pthread_mutex_lock(&p->lock);
	ENSURE(!job->out);
	if (!job->claimed)
		pool_hold(p, job);
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
