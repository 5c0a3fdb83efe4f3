/* A segment being written: first all its documents in order, then all terms in order of attribute
 * and bytes, each with its postings. What is not yet in the file is in memory: documents (about 40
 * bytes and the key for each), the dictionary, and the list at hand. */
#pragma once
#include "disk/page.h"
#include "index/postings_write.h"

struct segment_writer;

struct segment_doc {
	struct str key;
	uint64_t length;       /* weighted */
	const int64_t *number; /* one for each column; SEGMENT_ABSENT */
	const struct segment_range *range;
	uint32_t ranges;
};

/* attr: the names, the main one first. columns: with time, rank and address. */
int segment_create(struct segment_writer **ret, const char *path, const struct str *attr,
		   uint32_t attrs, uint32_t columns, struct err *err);
void segment_put_doc(struct segment_writer *w, const struct segment_doc *doc);
/* Codes of lengths of the documents, once all are there. */
const uint8_t *segment_put_lengths(const struct segment_writer *w);

/* Postings and occurrences go to the list, between begin and end. `own` is the table of forms: for
 * each a varint length and the bytes. A term without postings is left out. */
struct list_writer *segment_put_begin(struct segment_writer *w, uint32_t attr, bool forms);
void segment_put_end(struct segment_writer *w, struct str term, struct str own);

/* Ends it, also when it fails: then no file is left. With sync it is on disk, its name is not. */
int segment_put_finish(struct segment_writer **w, bool sync, struct err *err);
void segment_put_drop(struct segment_writer **w); /* removes the file */
