/* The writer of a words index: documents, commits, merges.
 *
 * Documents are collected in memory (invert.c). When that is full, and at a commit, they become a
 * segment; the commit then writes deletes, syncs the folder and replaces the manifest, which is the
 * one step that counts. After a failure everything since the last commit is given up, and the
 * manifest on disk is read again, since nothing else says whether it was replaced.
 *
 * A merge works on what was committed when it began and does not hold the mutex meanwhile. Deletes
 * that came in the meantime are carried over when it ends. Segments are merged in tiers, eight of
 * about a size at a time, so that a document is copied once for each eightfold growth of the index.
 */
#include "base/fault.h"
#include "base/vec.h"
#include "disk/lock.h"
#include "index/words/invert.h"
#include "index/words/manifest.h"
#include "index/words/segment_write.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

/* A segment that is part of the index, or will be with the next commit. */
struct live {
	struct shared *segment;
	struct manifest_segment m; /* as committed; id, bytes and docs also before */
	struct shared *gone;       /* deletes that are committed */
	uint64_t *leaving;         /* deletes since, or NULL */
	uint32_t leaving_docs;
	bool committed;
	bool merging; /* a merge has taken it */
};

struct words_writer {
	char *folder;
	struct lock lock;
	uint64_t memory;
	struct words_settings settings;
	struct token_rules *rules;
	bool merges_elsewhere;
	atomic_bool stop;         /* no more merges */
	pthread_mutex_t mutex;    /* all that follows */
	pthread_cond_t merged;    /* a merge has ended */
	struct manifest manifest; /* the last that was written */
	struct invert *invert;
	struct live *live;
	size_t n, room;
	uint64_t next_id;
	bool changed; /* there is something to commit */
	bool broken;  /* the last commit could not be read again */
};

/* What a commit may spend on merging, in bytes of segments. */
static const uint64_t commit_merge_most = 16 << 20;
/* Of a merge of fewer bytes the new segment stays in the page cache: the next queries read it. */
static const uint64_t merge_cached_most = 32 << 20;
/* So that a pool with one more document stays below its limit. */
static const uint64_t memory_most = UINT64_C(1500) << 20;

static void live_release(struct live *l)
{
	shared_drop(&l->segment);
	shared_drop(&l->gone);
	mem_free(&l->leaving);
}

/* Adds a place at the end. */
static struct live *writer_place(struct words_writer *w)
{
	struct live *l = VEC_PUSH(w->live, w->n, w->room);
	*l = (struct live){0};
	return l;
}

static void release_all(struct words_writer *w)
{
	for (size_t i = 0; i < w->n; i++)
		live_release(&w->live[i]);
	w->n = 0;
}

/* Opening */

static int load_segments(struct words_writer *w, struct err *err)
{
	for (size_t i = 0; i < w->manifest.n; i++) {
		struct live *l = writer_place(w);
		l->m = w->manifest.segment[i];
		l->committed = true;
		int rc = shared_segment(&l->segment, w->folder, &l->m, err);
		if (rc == 0)
			rc = shared_deletes(&l->gone, w->folder, &l->m, err);
		if (rc == 1)
			rc = err_set(err, ERR_DAMAGED,
				     "%s: a file of segment %" PRIx64
				     " is gone; the index has to be built again",
				     w->folder, l->m.id);
		if (rc < 0)
			return -1;
	}
	w->next_id = MAX(w->next_id, w->manifest.next_id);
	return 0;
}

static int check_settings(const struct words_settings *s, struct err *err)
{
	bool good =
		s->weights <= WORDS_WEIGHTS_MOST && s->columns <= WORDS_COLUMNS_MOST && s->main[0];
	for (uint32_t i = 0; good && i < s->weights; i++)
		good = s->weight[i].weight <= WORDS_WEIGHT_MOST;
	if (good)
		return 0;
	return err_set(err, ERR_USAGE,
		       "settings of a words index: no main attribute, or too many weights (%d), "
		       "columns (%d), or a weight above %d",
		       WORDS_WEIGHTS_MOST, WORDS_COLUMNS_MOST, WORDS_WEIGHT_MOST);
}

/* Names of attributes are kept in lower case. */
static void lower_names(struct words_settings *s)
{
	(void)invert_name(str_of(s->main), s->main);
	for (uint32_t i = 0; i < s->weights; i++)
		(void)invert_name(str_of(s->weight[i].name), s->weight[i].name);
	for (uint32_t i = 0; i < s->columns; i++)
		(void)invert_name(str_of(s->column[i].name), s->column[i].name);
}

static int open_rules(struct words_writer *w, struct err *err)
{
	return token_rules_open(&w->rules, str_of(w->manifest.settings.language), err);
}

/* What its settings ask for must be there: they stay for ever. */
static int make_index(struct words_writer *w, const struct words_settings *settings,
		      struct err *err)
{
	w->manifest = (struct manifest){.generation = 1, .next_id = 1};
	if (settings)
		w->manifest.settings = *settings;
	else
		words_settings_default(&w->manifest.settings);
	if (check_settings(&w->manifest.settings, err) < 0 || open_rules(w, err) < 0)
		return -1;
	lower_names(&w->manifest.settings);
	return manifest_write(w->folder, &w->manifest, err);
}

static int open_index(struct words_writer *w, const struct words_options *options, struct err *err)
{
	if (dir_make(w->folder, DIR_MODE, err) < 0 || lock_take(&w->lock, w->folder, err) < 0)
		return -1;
	int rc = manifest_read(w->folder, &w->manifest, NULL, err);
	if (rc == 1)
		rc = make_index(w, options ? options->settings : NULL, err);
	if (rc < 0 || manifest_sweep(w->folder, &w->manifest, err) < 0 || load_segments(w, err) < 0)
		return -1;
	if (!w->rules && open_rules(w, err) < 0)
		return -1;
	w->settings = w->manifest.settings;
	w->invert = invert_new(&w->settings, w->rules);
	return 0;
}

int words_writer_open(struct words_writer **ret, const char *folder,
		      const struct words_options *options, struct err *err)
{
	struct words_writer *w = mem_alloc(sizeof *w);
	w->folder = mem_text(folder);
	w->lock.file = FILE_INIT;
	w->memory = options && options->memory ? options->memory : WORDS_MEMORY_DEFAULT;
	w->memory = MIN(MAX(w->memory, (uint64_t)WORDS_MEMORY_MIN), memory_most);
	(void)pthread_mutex_init(&w->mutex, NULL);
	(void)pthread_cond_init(&w->merged, NULL);
	w->merges_elsewhere = options && options->merges_elsewhere;
	if (open_index(w, options, err) < 0) {
		words_writer_close(&w);
		return -1;
	}
	*ret = w;
	return 0;
}

static void remove_file(char *path)
{
	struct err ignored;
	(void)file_remove(path, &ignored);
	mem_free(&path);
}

static void writer_remove_segment(const struct words_writer *w, const struct manifest_segment *m)
{
	remove_file(segment_file_path(w->folder, m->id));
	if (m->deletes)
		remove_file(deletes_file_path(w->folder, m->id, m->deletes));
}

/* Files of segments that no commit names. */
static void remove_uncommitted(struct words_writer *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!w->live[i].committed)
			writer_remove_segment(w, &w->live[i].m);
}

void words_writer_close(struct words_writer **wp)
{
	struct words_writer *w = *wp;
	if (!w)
		return;
	if (!w->broken)
		remove_uncommitted(w);
	release_all(w);
	mem_free(&w->live);
	invert_free(&w->invert);
	token_rules_close(&w->rules);
	manifest_free(&w->manifest);
	lock_free(&w->lock);
	(void)pthread_mutex_destroy(&w->mutex);
	(void)pthread_cond_destroy(&w->merged);
	mem_free(&w->folder);
	mem_free(wp);
}

static int read_back(struct words_writer *w, struct err *err)
{
	struct manifest now;
	int rc = manifest_read(w->folder, &now, NULL, err);
	if (rc != 0)
		return -1;
	uint64_t generation = now.generation;
	manifest_free(&now);
	if (generation == w->manifest.generation)
		return 0;
	w->manifest.generation = generation + 1;
	w->manifest.next_id = w->next_id; /* somebody may have the segments that are given up */
	return manifest_write(w->folder, &w->manifest, err);
}

/* After a manifest was written and is not known to be kept: the one before stands again. false: it
 * does not, and the writer is broken; no file may be removed. */
static bool writer_take_back(struct words_writer *w)
{
	struct err ignored;
	w->broken |= read_back(w, &ignored) < 0;
	return !w->broken;
}

/* Everything since the last commit is given up. */
static void give_up(struct words_writer *w)
{
	struct err ignored;
	invert_clear(w->invert);
	w->changed = false;
	if (!writer_take_back(w))
		return;
	remove_uncommitted(w);
	release_all(w);
	w->broken = load_segments(w, &ignored) < 0;
}

/* Negative: what an earlier failure left is not what was committed, and nothing is built on it. */
static int writer_whole(const struct words_writer *w, struct err *err)
{
	return w->broken ? err_set(err, ERR_SYSTEM,
				   "%s: an earlier failure could not be undone; open the index "
				   "again",
				   w->folder)
			 : 0;
}

/* Locks the mutex, unless the writer is broken. */
static int writer_enter(struct words_writer *w, struct err *err)
{
	(void)pthread_mutex_lock(&w->mutex);
	int rc = writer_whole(w, err);
	if (rc < 0)
		(void)pthread_mutex_unlock(&w->mutex);
	return rc;
}

/* Unlocks it and passes rc on. */
static int writer_leave(struct words_writer *w, int rc)
{
	(void)pthread_mutex_unlock(&w->mutex);
	return rc;
}

/* Documents */

/* Opens a segment that was just written. */
static int writer_open_new(struct words_writer *w, uint64_t id, struct live *ret, struct err *err)
{
	struct stat st;
	char *path = segment_file_path(w->folder, id);
	struct segment *segment = NULL;
	int rc = segment_open(&segment, path, err);
	if (rc == 0 && stat(path, &st) < 0)
		rc = err_sys(err, "%s", path);
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: somebody removed it", path);
	mem_free(&path);
	if (rc < 0) {
		segment_close(&segment);
		return -1;
	}
	struct live l = {.m = {.id = id, .bytes = (uint64_t)st.st_size}};
	l.m.docs = segment_info(segment)->docs;
	l.segment = shared_new(segment, NULL);
	l.gone = shared_new(NULL, NULL);
	*ret = l;
	return 0;
}

/* What is in memory becomes a segment, which the next commit makes part of the index. */
static int flush_memory(struct words_writer *w, struct err *err)
{
	struct live fresh;
	if (invert_docs(w->invert) == 0) {
		invert_clear(w->invert);
		return 0;
	}
	uint64_t id = w->next_id++;
	char *path = segment_file_path(w->folder, id);
	int rc = invert_write(w->invert, path, true, err);
	FAULT("words.segment");
	mem_free(&path);
	if (rc == 0)
		rc = writer_open_new(w, id, &fresh, err);
	if (rc == 0)
		*writer_place(w) = fresh;
	return rc;
}

static bool is_gone(const struct live *l, uint32_t doc)
{
	return words_bit(l->gone->bits, doc) || words_bit(l->leaving, doc);
}

/* 1: no segment has it. */
static int delete_in_segments(struct words_writer *w, struct str key, struct err *err)
{
	for (size_t i = w->n; i-- > 0;) {
		struct live *l = &w->live[i];
		uint32_t doc;
		int rc = segment_find(l->segment->segment, key, &doc, err);
		if (rc < 0)
			return -1;
		if (rc == 1 || is_gone(l, doc))
			continue;
		if (!l->leaving)
			l->leaving = mem_array(deletes_words(l->m.docs) + 1, sizeof *l->leaving);
		l->leaving[doc / 64] |= UINT64_C(1) << doc % 64;
		l->leaving_docs++;
		return 0;
	}
	return 1;
}

int words_add(struct words_writer *w, const struct words_doc *doc, struct err *err)
{
	if (writer_enter(w, err) < 0)
		return -1;
	int rc = 0;
	if (invert_bytes(w->invert) >= w->memory)
		rc = flush_memory(w, err);
	bool taken = rc == 0 && (rc = invert_add(w->invert, doc, err)) == 0;
	if (taken)
		rc = MIN(delete_in_segments(w, doc->key, err), 0);
	if (rc == 0)
		w->changed = true;
	else if (taken || err->code != ERR_USAGE)
		give_up(w);
	return writer_leave(w, rc);
}

int words_delete(struct words_writer *w, struct str key, struct err *err)
{
	if (writer_enter(w, err) < 0)
		return -1;
	int rc = invert_drop(w->invert, key) ? 0 : delete_in_segments(w, key, err);
	if (rc == 0)
		w->changed = true;
	else if (rc < 0)
		give_up(w);
	return writer_leave(w, rc);
}

/* Commits */

/* The committed deletes and those since, as one; NULL: none. */
static uint64_t *all_deletes(const struct live *l)
{
	size_t n = deletes_words(l->m.docs);
	uint64_t *bits = mem_array(n + 1, sizeof *bits);
	for (size_t i = 0; i < n; i++)
		bits[i] = (l->gone->bits ? l->gone->bits[i] : 0) | (l->leaving ? l->leaving[i] : 0);
	return bits;
}

/* `l` as it is after the commit; `from` stays as it was. */
static int write_deletes(struct words_writer *w, const struct live *from, uint64_t generation,
			 struct live *ret, struct err *err)
{
	struct live l = {.segment = shared_hold(from->segment),
			 .m = from->m,
			 .committed = true,
			 .merging = from->merging};
	if (!from->leaving) {
		l.gone = shared_hold(from->gone);
		*ret = l;
		return 0;
	}
	l.m.deletes = generation;
	l.m.deleted += from->leaving_docs;
	l.gone = shared_new(NULL, all_deletes(from));
	char *path = deletes_file_path(w->folder, l.m.id, generation);
	int rc = deletes_write(path, l.gone->bits, l.m.docs, err);
	FAULT("words.deletes");
	mem_free(&path);
	if (rc < 0)
		live_release(&l);
	else
		*ret = l;
	return rc;
}

/* Writes a manifest of the committed segments in a list. After a failure see writer_take_back(). */
static int writer_publish(struct words_writer *w, const struct live *live, size_t n,
			  const struct words_note *note, struct err *err)
{
	struct manifest m = {
		.generation = w->manifest.generation + 1, .next_id = w->next_id, .note = *note};
	m.settings = w->settings;
	m.segment = mem_array(n, sizeof *m.segment);
	for (size_t i = 0; i < n; i++)
		if (live[i].committed)
			m.segment[m.n++] = live[i].m;
	FAULT("words.manifest");
	int rc = dir_sync(w->folder, err);
	if (rc == 0)
		rc = manifest_write(w->folder, &m, err);
	FAULT("words.published");
	if (rc < 0) {
		manifest_free(&m);
		return -1;
	}
	manifest_free(&w->manifest);
	w->manifest = m;
	return 0;
}

/* Files that the new manifest does not name any more. */
static void remove_old(struct words_writer *w, const struct live *old, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct manifest_segment *now = NULL, *was = &old[i].m;
		for (size_t k = 0; k < w->manifest.n; k++)
			if (w->manifest.segment[k].id == was->id)
				now = &w->manifest.segment[k];
		if (!now)
			writer_remove_segment(w, was);
		else if (was->deletes && was->deletes != now->deletes)
			remove_file(deletes_file_path(w->folder, was->id, was->deletes));
		FAULT("words.removed");
	}
}

static int commit_all(struct words_writer *w, const struct words_note *note, struct err *err)
{
	if (flush_memory(w, err) < 0)
		return -1;
	struct live *next = mem_array(w->n, sizeof *next);
	size_t n = 0;
	int rc = 0;
	for (size_t i = 0; i < w->n && rc == 0; i++) {
		const struct live *l = &w->live[i];
		if (l->m.deleted + l->leaving_docs == l->m.docs)
			continue; /* nothing is left of it */
		rc = write_deletes(w, l, w->manifest.generation + 1, &next[n], err);
		n += rc == 0;
	}
	if (rc == 0)
		rc = writer_publish(w, next, n, note, err);
	if (rc < 0) {
		for (size_t i = 0; i < n; i++)
			live_release(&next[i]);
		mem_free(&next);
		return -1;
	}
	remove_old(w, w->live, w->n);
	release_all(w);
	mem_free(&w->live);
	w->live = next;
	w->n = n;
	w->room = n;
	w->changed = false;
	return 0;
}

/* Merging */

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
					    .gone = shared_hold(l->gone),
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

static void choose_all(struct words_writer *w, struct merge_job *job)
{
	size_t n = 0;
	bool deleted = false;
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
				  .gently = w->merges_elsewhere && !order->whole};
	uint64_t bytes = 0;
	job->source = mem_array(job->n, sizeof *job->source);
	for (size_t i = 0; i < job->n; i++) {
		const struct live *l = &job->from[i];
		job->source[i].segment = l->segment->segment;
		job->source[i].deleted = l->gone->bits;
		job->source[i].number = mem_array((size_t)l->m.docs + 1, sizeof(uint32_t));
		bytes += l->m.bytes;
	}
	spec.past_cache = bytes > merge_cached_most;
	char *path = segment_file_path(w->folder, job->id);
	int rc = segment_merge(job->source, job->n, &spec, path, err);
	FAULT("words.merged");
	mem_free(&path);
	if (rc == 0)
		rc = writer_open_new(w, job->id, ret, err);
	if (rc == 0)
		segment_warm(ret->segment->segment);
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
	if (writer_publish(w, next, n, &w->manifest.note, err) < 0) {
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
		choose_all(w, &job);
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

/* Merges tiers whose work is small, as every commit does. The mutex is not held. */
static int writer_merge_some(struct words_writer *w, uint64_t most, struct err *err)
{
	int rc = 0;
	while (rc == 0)
		rc = words_merge(w, most, err);
	return rc;
}

static bool note_same(const struct words_note *a, const struct words_note *b)
{
	return a->follows == b->follows && a->docs.file == b->docs.file &&
	       a->docs.length == b->docs.length;
}

void words_noted(struct words_writer *w, struct words_note *ret)
{
	(void)pthread_mutex_lock(&w->mutex);
	*ret = w->manifest.note;
	(void)pthread_mutex_unlock(&w->mutex);
}

int words_commit(struct words_writer *w, const struct words_note *note, struct err *err)
{
	if (writer_enter(w, err) < 0)
		return -1;
	struct words_note now = note ? *note : w->manifest.note;
	if (!w->changed && note_same(&now, &w->manifest.note))
		return writer_leave(w, 1);
	int rc = commit_all(w, &now, err);
	if (rc < 0)
		give_up(w);
	(void)writer_leave(w, rc);
	if (rc < 0)
		return -1;
	/* The commit stands, whatever becomes of merging. */
	struct err ignored;
	if (!w->merges_elsewhere)
		(void)writer_merge_some(w, commit_merge_most, &ignored);
	return 0;
}
