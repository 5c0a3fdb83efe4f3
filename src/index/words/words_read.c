/* Snapshots: the segments and deletes that one manifest names, opened together. A snapshot shares
 * with the one before it what both have, so that a refresh costs what has changed. A writer may
 * remove a file between reading the manifest and opening what it names; there is a newer manifest
 * then, and it is read instead. */
#include "index/words/manifest.h"

enum { OPEN_TRIES = 20 }; /* commits that may come between reading a manifest and opening files */

struct words_reader {
	atomic_uint refs;
	char *folder;
	struct file file; /* the manifest, kept open so that no later one can be mistaken for it */
	struct manifest manifest;
	struct shared **segment;
	struct shared **bits;
	struct words_part *part;
};

/* What the older snapshot has already is shared with it. */
static int open_part(struct words_reader *r, const struct words_reader *older, size_t i,
		     struct err *err)
{
	const struct manifest_segment *m = &r->manifest.segment[i];
	for (size_t k = 0; older && k < older->manifest.n; k++) {
		if (older->manifest.segment[k].id != m->id)
			continue;
		r->segment[i] = shared_hold(older->segment[k]);
		if (older->manifest.segment[k].deletes == m->deletes)
			r->bits[i] = shared_hold(older->bits[k]);
		break;
	}
	int rc = 0;
	if (!r->segment[i])
		rc = shared_segment(&r->segment[i], r->folder, m, err);
	if (rc == 0 && !r->bits[i])
		rc = shared_deletes(&r->bits[i], r->folder, m, err);
	if (rc == 0)
		r->part[i] = (struct words_part){r->segment[i]->segment, r->bits[i]->bits, m->docs,
						 m->deleted};
	return rc;
}

/* 1: there is no manifest; 2: a file that it names is gone, so there is a newer one by now. */
static int try_open(struct words_reader **ret, const char *folder, const struct words_reader *older,
		    struct err *err)
{
	struct words_reader *r = mem_alloc(sizeof *r);
	atomic_init(&r->refs, 1);
	r->folder = mem_text(folder);
	r->file = FILE_INIT;
	int rc = manifest_read(folder, &r->manifest, &r->file, err);
	size_t n = r->manifest.n;
	r->segment = mem_array(n, sizeof(void *));
	r->bits = mem_array(n, sizeof(void *));
	r->part = mem_array(n, sizeof *r->part);
	for (size_t i = 0; rc == 0 && i < n; i++)
		if ((rc = open_part(r, older, i, err)) == 1)
			rc = 2;
	if (rc == 0)
		*ret = r;
	else
		words_close(&r);
	return rc;
}

static int open_after(struct words_reader **ret, const char *folder,
		      const struct words_reader *older, struct err *err)
{
	for (unsigned i = 0; i < OPEN_TRIES; i++) {
		int rc = try_open(ret, folder, older, err);
		if (rc != 2)
			return rc;
	}
	return err_set(err, ERR_DAMAGED,
		       "%s: a file that the manifest names is not there; the index has to be "
		       "built again",
		       folder);
}

int words_open(struct words_reader **ret, const char *folder, struct err *err)
{
	return open_after(ret, folder, NULL, err);
}

struct words_reader *words_hold(struct words_reader *r)
{
	atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void words_close(struct words_reader **rp)
{
	struct words_reader *r = *rp;
	*rp = NULL;
	if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < r->manifest.n; i++) {
		shared_drop(&r->segment[i]);
		shared_drop(&r->bits[i]);
	}
	mem_free(&r->segment);
	mem_free(&r->bits);
	mem_free(&r->part);
	manifest_free(&r->manifest);
	file_drop(&r->file);
	mem_free(&r->folder);
	mem_free(&r);
}

int words_refresh(struct words_reader **r, struct err *err)
{
	struct words_reader *newer = NULL;
	int rc = manifest_changed((*r)->folder, &(*r)->file, err);
	if (rc != 0)
		return rc;
	rc = open_after(&newer, (*r)->folder, *r, err);
	if (rc == 1)
		rc = err_set(err, ERR_DAMAGED, "%s: its manifest is gone", (*r)->folder);
	if (rc < 0)
		return -1;
	words_close(r);
	*r = newer;
	return 0;
}

const struct words_settings *words_settings(const struct words_reader *r)
{
	return &r->manifest.settings;
}

void words_reader_note(const struct words_reader *r, struct words_note *ret)
{
	*ret = r->manifest.note;
}

const struct words_part *words_parts(const struct words_reader *r, size_t *ret_n)
{
	*ret_n = r->manifest.n;
	return r->part;
}

void words_stats(const struct words_reader *r, struct words_stats *ret)
{
	struct words_stats s = {.generation = r->manifest.generation, .segments = r->manifest.n};
	for (size_t i = 0; i < r->manifest.n; i++) {
		const struct segment_info *info = segment_info(r->part[i].segment);
		s.docs += r->part[i].docs - r->part[i].deleted_docs;
		s.deleted_docs += r->part[i].deleted_docs;
		s.file_bytes += r->manifest.segment[i].bytes;
		s.occurrences += info->occurrences;
		s.weighted_length += info->weighted_length;
	}
	*ret = s;
}

int words_verify(struct words_reader *r, struct err *err)
{
	for (size_t i = 0; i < r->manifest.n; i++)
		if (segment_verify(r->part[i].segment, err) < 0)
			return -1;
	return 0;
}

/* A key may be in several segments but is deleted in all but one: the first where it is not deleted
 * has it. */
int words_find(struct words_reader *words, struct str url, uint64_t *ret, struct err *err)
{
	size_t n;
	const struct words_part *part = words_parts(words, &n);
	for (size_t i = 0; i < n; i++) {
		uint32_t doc;
		struct segment_column oid;
		int rc = segment_find(part[i].segment, url, &doc, err);
		if (rc < 0)
			return -1;
		if (rc > 0 || words_deleted(&part[i], doc))
			continue;
		if (segment_column(part[i].segment, SEGMENT_OID, &oid, err) < 0)
			return -1;
		*ret = (uint64_t)segment_number(&oid, doc);
		return 0;
	}
	return 1;
}
