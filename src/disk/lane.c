#include "disk/lane.h"

#include "base/thread.h"

#include <errno.h>

struct lane {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct lane_job *first, **last;
	bool stop;
};

static int transfer(struct lane_job *job)
{
	if (job->write)
		return file_write(job->file, job->p, job->n, job->at, &job->err);
	return file_read(job->file, job->p, job->n, job->at, &job->done_n, &job->err);
}

/* Some file systems take the flag and refuse the transfer. */
static void run(struct lane_job *job)
{
	struct err ignored;
	job->rc = transfer(job);
	if (job->rc < 0 && job->err.sys_errno == EINVAL &&
	    file_direct(job->file, false, &ignored) == 0)
		job->rc = transfer(job);
}

/* Does the first job; there is one. The lock is held before and afterwards. */
static void run_first(struct lane *l)
{
	struct lane_job *job = l->first;
	l->first = job->next;
	if (!l->first)
		l->last = &l->first;
	pthread_mutex_unlock(&l->lock);
	run(job);
	pthread_mutex_lock(&l->lock);
	job->out = false;
	pthread_cond_broadcast(&l->done);
}

static void *serve(void *arg)
{
	struct lane *l = arg;
	pthread_mutex_lock(&l->lock);
	for (;;) {
		while (!l->first && !l->stop)
			pthread_cond_wait(&l->work, &l->lock);
		if (!l->first)
			break;
		run_first(l);
	}
	pthread_mutex_unlock(&l->lock);
	return NULL;
}

int lane_new(struct lane **ret, struct err *err)
{
	struct lane *l = mem_alloc(sizeof *l);
	l->last = &l->first;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->work, NULL);
	pthread_cond_init(&l->done, NULL);
	if (thread_start(&l->thread, serve, l, err) < 0) {
		mem_free(&l);
		return -1;
	}
	*ret = l;
	return 0;
}

void lane_free(struct lane **lp)
{
	struct lane *l = *lp;
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->stop = true;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
	pthread_join(l->thread, NULL);
	pthread_cond_destroy(&l->done);
	pthread_cond_destroy(&l->work);
	pthread_mutex_destroy(&l->lock);
	mem_free(lp);
}

void lane_post(struct lane *l, struct lane_job *job)
{
	pthread_mutex_lock(&l->lock);
	ENSURE(!job->out);
	job->out = true;
	job->next = NULL;
	*l->last = job;
	l->last = &job->next;
	pthread_cond_signal(&l->work);
	pthread_mutex_unlock(&l->lock);
}

void lane_wait(struct lane *l, struct lane_job *job)
{
	pthread_mutex_lock(&l->lock);
	while (job->out) {
		if (l->first)
			run_first(l);
		else
			pthread_cond_wait(&l->done, &l->lock);
	}
	pthread_mutex_unlock(&l->lock);
}
