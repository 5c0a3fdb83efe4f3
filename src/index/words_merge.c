#include "index/words_write.h"

#include "base/fault.h"
#include "index/segment_merge.h"

enum {
	TIER_FIRST = 256 << 10, /* bytes of the largest segment in the lowest tier */
	TIER_GROWS = 8,         /* how much larger the next tier's are */
	TIER_FULL = 8,          /* segments of a tier that are merged at once */
};

/* A merge: what it takes, as it was committed when it began. */
struct merge_job {
	struct live *from; /* segment, m and gone are held */
	struct merge_source *source;
	size_t n;
	uint64_t id; /* of the new segment */
};

/* What to merge, and how. */
struct merge_order {
	uint64_t most; /* bytes of the segments */
	bool whole;    /* all of them */
	words_moved_fn *moved;
	void *ctx;
};

static unsigned tier_of(uint64_t bytes)
{
	unsigned tier = 0;
	for (uint64_t most = TIER_FIRST; bytes > most && tier < 20; most *= TIER_GROWS)
		tier++;
	return tier;
}

static bool mostly_gone(const struct live *l)
{
	return l->m.deleted > l->m.docs / 2;
}

static bool is_free(const struct live *l)
{
	return l->committed && !l->merging;
}

static void job_take(struct merge_job *job, struct live *l)
{
	l->merging = true;
	job->from[job->n++] = (struct live){.segment = shared_hold(l->segment),
					    .m = l->m,
					    .gone = bits_hold(l->gone),
					    .committed = true};
}

/* The lowest tier that is full, or a segment of which less than half is left; but not what another
 * merge has taken. */
static void choose_tier(struct words_writer *w, uint64_t most, struct merge_job *job)
{
	for (unsigned tier = 0; tier <= 20 && job->n == 0; tier++) {
		size_t n = 0;
		uint64_t bytes = 0;
		for (size_t i = 0; i < w->n && n < TIER_FULL; i++)
			if (is_free(&w->live[i]) && tier_of(w->live[i].m.bytes) == tier) {
				n++;
				bytes += w->live[i].m.bytes;
			}
		for (size_t i = 0; n == TIER_FULL && bytes <= most && job->n < n; i++)
			if (is_free(&w->live[i]) && tier_of(w->live[i].m.bytes) == tier)
				job_take(job, &w->live[i]);
	}
	for (size_t i = 0; i < w->n && job->n == 0; i++)
		if (is_free(&w->live[i]) && mostly_gone(&w->live[i]) && w->live[i].m.bytes <= most)
			job_take(job, &w->live[i]);
}

static void choose_all(struct words_writer *w, bool always, struct merge_job *job)
{
	size_t n = 0;
	bool deleted = always;
	for (size_t i = 0; i < w->n; i++)
		if (w->live[i].committed) {
			n++;
			deleted |= w->live[i].m.deleted != 0;
		}
	for (size_t i = 0; i < w->n && (n > 1 || deleted); i++)
		if (w->live[i].committed)
			job_take(job, &w->live[i]);
}

static void job_release(struct merge_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		live_release(&job->from[i]);
		mem_free(&job->source[i].number);
	}
	mem_free(&job->from);
	mem_free(&job->source);
}

static int job_run(struct words_writer *w, const struct merge_order *order, struct merge_job *job,
		   struct live *ret, struct err *err)
{
	struct merge_spec spec = {.settings = &w->settings,
				  .by_rank = order->whole && w->settings.by_rank,
				  .stop = &w->stop,
				  .moved = order->moved,
				  .ctx = order->ctx};
	job->source = mem_array(job->n, sizeof *job->source);
	for (size_t i = 0; i < job->n; i++) {
		const struct live *l = &job->from[i];
		job->source[i].segment = l->segment->segment;
		job->source[i].deleted = l->gone->bits;
		job->source[i].number = mem_array((size_t)l->m.docs + 1, sizeof(uint32_t));
	}
	char *path = segment_file_path(w->folder, job->id);
	int rc = segment_merge(job->source, job->n, &spec, path, err);
	FAULT("words.merged");
	mem_free(&path);
	if (rc == 0)
		rc = writer_open_new(w, job->id, ret, err);
	return rc;
}

/* Publishing */

static struct live *live_of(struct words_writer *w, uint64_t id)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->live[i].m.id == id)
			return &w->live[i];
	return NULL;
}

/* false: the merge has left it out already. */
static bool mark_gone(uint32_t doc, uint64_t **into, uint32_t docs)
{
	if (doc == UINT32_MAX)
		return false;
	if (!*into)
		*into = mem_array(deletes_words(docs) + 1, sizeof **into);
	(*into)[doc / 64] |= UINT64_C(1) << doc % 64;
	return true;
}

static uint32_t carry_bits(const uint64_t *now, const uint64_t *then, const struct merge_source *s,
			   uint32_t docs, uint64_t **into, uint32_t new_docs)
{
	uint32_t n = 0;
	for (size_t i = 0; now && i < deletes_words(docs); i++)
		for (uint64_t word = now[i] & ~(then ? then[i] : 0); word; word &= word - 1) {
			size_t bit = (unsigned)__builtin_ctzll(word);
			n += mark_gone(s->number[i * 64 + bit], into, new_docs);
		}
	return n;
}

/* What was deleted while the merge ran: committed deletes, and those that wait for a commit. Of a
 * segment that is not there any more, that is all. */
static int carry_deletes(struct words_writer *w, const struct merge_job *job, struct live *fresh,
			 struct err *err)
{
	uint64_t *gone = NULL;
	for (size_t i = 0; i < job->n; i++) {
		const struct live *then = &job->from[i], *now = live_of(w, then->m.id);
		const struct merge_source *s = &job->source[i];
		for (uint32_t doc = 0; !now && doc < then->m.docs; doc++)
			fresh->m.deleted += mark_gone(s->number[doc], &gone, fresh->m.docs);
		if (!now)
			continue;
		fresh->m.deleted += carry_bits(now->gone->bits, then->gone->bits, s, then->m.docs,
					       &gone, fresh->m.docs);
		fresh->leaving_docs += carry_bits(now->leaving, now->gone->bits, s, then->m.docs,
						  &fresh->leaving, fresh->m.docs);
	}
	if (!gone)
		return 0;
	fresh->m.deletes = w->manifest.generation + 1;
	fresh->gone->generation = fresh->m.deletes;
	fresh->gone->bits = gone;
	char *path = deletes_file_path(w->folder, fresh->m.id, fresh->m.deletes);
	int rc = deletes_write(path, gone, fresh->m.docs, err);
	mem_free(&path);
	return rc;
}

static bool is_taken(const struct merge_job *job, uint64_t id)
{
	for (size_t i = 0; i < job->n; i++)
		if (job->from[i].m.id == id)
			return true;
	return false;
}

/* fresh NULL: nothing was left. */
static int publish_merge(struct words_writer *w, const struct merge_job *job,
			 const struct live *fresh, struct err *err)
{
	struct live *next = mem_array(w->n + 1, sizeof *next);
	size_t n = 0;
	bool put = !fresh;
	for (size_t i = 0; i < w->n; i++) {
		if (!is_taken(job, w->live[i].m.id)) {
			next[n++] = w->live[i];
		} else if (!put) {
			next[n++] = *fresh;
			put = true;
		}
	}
	if (writer_publish(w, next, n, err) < 0) {
		mem_free(&next);
		return -1;
	}
	for (size_t i = 0; i < w->n; i++)
		if (is_taken(job, w->live[i].m.id)) {
			writer_remove_segment(w, &w->live[i].m);
			live_release(&w->live[i]);
			FAULT("words.removed");
		}
	mem_free(&w->live);
	w->live = next;
	w->n = n;
	w->room = w->n;
	return 0;
}

static int finish_merge(struct words_writer *w, struct merge_job *job, int merged,
			struct live *fresh, struct err *err)
{
	int rc = writer_whole(w, err);
	if (rc == 0 && merged == 0) {
		fresh->committed = true;
		rc = carry_deletes(w, job, fresh, err);
	}
	bool left = merged == 0 && fresh->m.deleted < fresh->m.docs;
	if (rc == 0)
		rc = publish_merge(w, job, left ? fresh : NULL, err);
	bool kept = rc < 0 && !writer_take_back(w);
	if (merged == 0 && (rc < 0 || !left)) {
		if (!kept)
			writer_remove_segment(w, &fresh->m);
		live_release(fresh);
	}
	return rc;
}

/* A whole merge waits until no other runs: what that one makes has to be in it. */
static int enter_merge(struct words_writer *w, const struct merge_order *order, struct err *err)
{
	for (;;) {
		bool other = false;
		if (writer_enter(w, err) < 0)
			return -1;
		for (size_t i = 0; i < w->n; i++)
			other |= w->live[i].merging;
		if (!order->whole || !other)
			return 0;
		(void)pthread_cond_wait(&w->merged, &w->mutex);
		(void)writer_leave(w, 0);
	}
}

/* What was taken and is still there is for others again. */
static void job_give_back(struct words_writer *w, const struct merge_job *job)
{
	for (size_t i = 0; i < job->n; i++) {
		struct live *l = live_of(w, job->from[i].m.id);
		if (l)
			l->merging = false;
	}
	(void)pthread_cond_broadcast(&w->merged);
}

static int merge_once(struct words_writer *w, const struct merge_order *order, struct err *err)
{
	struct merge_job job = {0};
	struct live fresh = {0};
	if (enter_merge(w, order, err) < 0)
		return -1;
	job.from = mem_array(w->n, sizeof *job.from);
	if (order->whole)
		choose_all(w, order->moved, &job);
	else
		choose_tier(w, order->most, &job);
	job.id = w->next_id;
	w->next_id += job.n != 0;
	(void)writer_leave(w, 0);
	if (job.n == 0) {
		job_release(&job);
		return 1;
	}
	int rc = job_run(w, order, &job, &fresh, err);
	(void)pthread_mutex_lock(&w->mutex);
	if (rc >= 0)
		rc = finish_merge(w, &job, rc, &fresh, err);
	job_give_back(w, &job);
	(void)pthread_mutex_unlock(&w->mutex);
	job_release(&job);
	return rc;
}

static int run_merge(struct words_writer *w, const struct merge_order *order, struct err *err)
{
	int rc = atomic_load(&w->stop) ? 1 : merge_once(w, order, err);
	return rc != 0 && atomic_load(&w->stop) ? 1 : rc;
}

int words_merge(struct words_writer *w, uint64_t most, struct err *err)
{
	return run_merge(w, &(struct merge_order){.most = most}, err);
}

int words_merge_all(struct words_writer *w, struct err *err)
{
	return run_merge(w, &(struct merge_order){.whole = true}, err);
}

void words_stop_merging(struct words_writer *w)
{
	atomic_store(&w->stop, true);
}

int words_readdress(struct words_writer *w, words_moved_fn *fn, void *ctx, struct err *err)
{
	return run_merge(w, &(struct merge_order){.whole = true, .moved = fn, .ctx = ctx}, err);
}

int writer_merge_some(struct words_writer *w, uint64_t most, struct err *err)
{
	int rc = 0;
	while (rc == 0)
		rc = words_merge(w, most, err);
	return rc;
}
