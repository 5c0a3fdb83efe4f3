/* The files of a words index for people, and their verifiers. */
#include "base/cursor.h"
#include "index/words/manifest.h"
#include "index/words/segment_inner.h"

#include <inttypes.h>

#define WORDS_REMEDY                                                                        \
	"stop the broker and remove its folder words: it is built again from registry and " \
	"documents"

/* Segments */

static void print_parts(const struct segment *s, struct buf *out)
{
	static const char *const names[SEGMENT_PARTS] = {"terms",
							 "dictionary",
							 "dictionary prefixes",
							 "dictionary places",
							 "attributes",
							 "lengths",
							 "ranges",
							 "ranges places",
							 "columns",
							 "keys",
							 "keys places",
							 "key hashes",
							 "hash documents",
							 "blob",
							 "values",
							 "spans"};
	const struct segment_info *info = segment_info(s);
	buf_printf(out,
		   "%" PRIu32 " documents, %" PRIu64 " terms, %" PRIu64
		   " occurrences, weighted length %" PRIu64 "\n",
		   info->docs, info->terms, info->occurrences, info->weighted_length);
	for (unsigned i = 0; i < SEGMENT_PARTS; i++)
		buf_printf(out, "part %s: %" PRIu64 " bytes at %" PRIu64 "\n", names[i],
			   s->f.part[i].n, s->f.part[i].at);
}

static int print_terms(struct segment *s, unsigned attr, struct printer *p, struct err *err)
{
	struct segment_walk w;
	int rc = segment_walk(s, attr, STR(""), &w, err);
	if (attr)
		buf_printf(&p->out, "attribute " STR_FMT "\n", STR_ARG(s->name[attr]));
	while (rc == 0 && (rc = segment_walk_next(&w, err)) == 0) {
		buf_printf(&p->out, STR_FMT "\t%" PRIu32 "\t%" PRIu64 "\n", STR_ARG(w.term),
			   w.info.df, w.info.occurrences);
		printer_step(p);
	}
	return MIN(rc, 0);
}

static int print_segment(const char *path, struct printer *p, struct err *err)
{
	struct segment *s = NULL;
	int rc = segment_open(&s, path, err);
	if (rc == 0)
		print_parts(s, &p->out);
	for (unsigned attr = 0; rc == 0 && attr < segment_info(s)->attrs; attr++)
		rc = print_terms(s, attr, p, err);
	segment_close(&s);
	return rc;
}

static int verify_block(struct postings *p, uint32_t block, struct err *err)
{
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK], n;
	const uint32_t *position, *form;
	if (postings_docs(p, block, docs, err) < 0 || postings_tfs(p, block, tfs, err) < 0)
		return -1;
	for (uint32_t i = 0; p->occurrences && i < postings_in_block(p, block); i++)
		if (postings_positions(p, block, i, &position, &n, err) < 0 ||
		    postings_forms(p, block, i, &form, &n, err) < 0)
			return -1;
	return 0;
}

static int verify_terms(struct segment *s, unsigned attr, struct err *err)
{
	struct segment_walk w;
	int rc = segment_walk(s, attr, STR(""), &w, err);
	while (rc == 0 && (rc = segment_walk_next(&w, err)) == 0) {
		struct postings p;
		rc = postings_open(s, &w.info, &p, err);
		for (uint32_t block = 0; rc == 0 && block < p.blocks; block++)
			rc = verify_block(&p, block, err);
		postings_close(&p);
	}
	return MIN(rc, 0);
}

static int verify_segment(const char *path, struct err *err)
{
	struct segment *s = NULL;
	int rc = segment_open(&s, path, err);
	if (rc == 0)
		rc = segment_verify(s, err);
	if (rc == 0)
		rc = segment_verify_columns(s, err);
	for (unsigned attr = 0; rc == 0 && attr < segment_info(s)->attrs; attr++)
		rc = verify_terms(s, attr, err);
	segment_close(&s);
	return rc;
}

const struct format words_segment_format = {
	.name = "words",
	.file = "*.words",
	.magic = SEGMENT_MAGIC,
	.version = SEGMENT_VERSION,
	.help = "a segment of a words index: dictionary, postings, documents",
	.remedy = WORDS_REMEDY,
	.print = print_segment,
	.verify = verify_segment,
};

/* Manifests */

static void print_settings(const struct words_settings *s, struct buf *out)
{
	buf_printf(out, "main attribute %s, language %s%s\n", s->main,
		   s->language[0] ? s->language : "none", s->by_rank ? ", numbered by rank" : "");
	for (uint32_t i = 0; i < s->weights; i++)
		buf_printf(out, "weight %s %d\n", s->weight[i].name, s->weight[i].weight);
	for (uint32_t i = 0; i < s->columns; i++)
		buf_printf(out, "column %s %s\n", s->column[i].name,
			   words_type_name(s->column[i].type));
}

static int print_manifest(const char *path, struct printer *p, struct err *err)
{
	struct manifest m;
	int rc = manifest_read_file(path, &m, err);
	if (rc == 0) {
		buf_printf(&p->out, "generation %" PRIu64 ", next segment %08" PRIx64 "\n",
			   m.generation, m.next_id);
		buf_printf(&p->out,
			   "follows %" PRIu64 ", documents up to byte %" PRIu64 " of file %" PRIu32
			   "\n",
			   m.note.follows, m.note.docs.length, m.note.docs.file);
		print_settings(&m.settings, &p->out);
		for (size_t i = 0; i < m.n; i++)
			buf_printf(&p->out,
				   "segment %08" PRIx64 ": %" PRIu32 " documents, %" PRIu32
				   " deleted (generation %" PRIu64 "), %" PRIu64 " bytes\n",
				   m.segment[i].id, m.segment[i].docs, m.segment[i].deleted,
				   m.segment[i].deletes, m.segment[i].bytes);
		manifest_free(&m);
	}
	return rc;
}

const struct format words_manifest_format = {
	.name = "words-manifest",
	.file = "words/manifest",
	.magic = "GARNERWM",
	.version = 4,
	.help = "which segments a words index has, and what it is made by",
	.remedy = WORDS_REMEDY,
	.print = print_manifest,
};

/* Deletes */

static int print_deletes(const char *path, struct printer *p, struct err *err)
{
	uint32_t docs;
	uint64_t *bits;
	int rc = deletes_read_any(path, &docs, &bits, err);
	if (rc == 0) {
		buf_printf(&p->out, "of %" PRIu32 " documents these are deleted:\n", docs);
		for (uint32_t doc = 0; doc < docs; doc++)
			if (words_bit(bits, doc)) {
				buf_printf(&p->out, "%" PRIu32 "\n", doc);
				printer_step(p);
			}
		mem_free(&bits);
	}
	return rc;
}

const struct format words_deletes_format = {
	.name = "words-deletes",
	.file = "*-*.gone",
	.magic = "GARNERWD",
	.version = 2,
	.help = "which documents of a segment of a words index are deleted",
	.remedy = WORDS_REMEDY,
	.print = print_deletes,
};
