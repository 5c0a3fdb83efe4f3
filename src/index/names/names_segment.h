/* Segments of the names index: one immutable paged file each, with the names of a number of
 * entries. Entries have the numbers 0 to entries - 1, in the order of sites and lines; which site
 * has which of them the manifest says (names_inner.h).
 *
 * A name is folded for the dictionary: valid UTF-8 by simple case folding, one character for one;
 * bytes that are not UTF-8 stay. The distinct folded names are sorted by their bytes and have the
 * numbers 0 to names - 1 (struct names_names). Each has one or more forms, the distinct names that
 * fold to it, sorted by their bytes; each form has the ascending list of its entries.
 *
 * Every position of a folded name, with two zero bytes after its end, begins a trigram; a trigram
 * has the ascending list of the names that have it. So a name that ends in "ab" has "ab\0". Two
 * bytes that a name has more than once make one more, with a zero byte before them.
 *
 * Pages are verified before their bytes are used and numbers are checked against their limits.
 * ERR_DAMAGED: one was wrong. For any number of threads; cursors belong to one. */
#pragma once
#include "base/buf.h"
#include "index/names.h"

enum { NAMES_ENTRIES_MOST = 1 << 30, NAMES_TRIGRAM = 3 };

/* Folding, one character for one; `out` is emptied first. A folded name folds to itself. The table
 * is our own and part of the format (names_fold.c). */
void names_fold(struct str name, struct buf *out);

/* Building. */

struct names_build;
/* memory: bytes, for all that is collected. Beyond it, sorted parts go to a file without a name in
 * `folder`. */
struct names_build *names_build_new(uint64_t memory, const char *folder);
void names_build_free(struct names_build **b);
int names_build_add(struct names_build *b, struct str name, struct err *err); /* the next entry */
uint64_t names_build_entries(const struct names_build *b);
/* Writes the file and syncs it. Nothing can be added any more. */
int names_build_write(struct names_build *b, const char *path, struct err *err);

/* Reading. */

struct names_segment;
int names_segment_open(struct names_segment **ret, const char *path, struct err *err);
void names_segment_close(struct names_segment **s);
int names_segment_verify(struct names_segment *s, struct err *err); /* every page, every list */
/* To be asked before an answer is given: whether all that was read could be read. */
int names_segment_check(const struct names_segment *s, struct err *err);

struct names_segment_info {
	uint64_t file_bytes;
	uint32_t entries, names, forms, trigrams;
};
const struct names_segment_info *names_segment_info(const struct names_segment *s);

/* The number of a folded name; 1: it is not there, and *ret the first that is not before it. */
int names_segment_find(struct names_segment *s, struct str folded, uint32_t *ret, struct err *err);

/* Names one after the other. */
struct names_run {
	uint32_t from, to; /* to: the last */
};
/* Their blocks will be walked soon: fetches them into the processor's cache. */
void names_segment_want(struct names_segment *s, const struct names_run *run, size_t runs);
/* How many entries the names of some runs have, without a look at the names. */
int names_segment_count(struct names_segment *s, const struct names_run *run, size_t runs,
			uint64_t *ret, struct err *err);

/* Where the entries of a name or form are in a block. Private. */
struct names_entry_place {
	const uint8_t *counts, *forms; /* of the name that they are of */
	uint32_t name;                 /* its number in the block */
	uint32_t first;                /* entry of the form */
	uint64_t bit;                  /* of the gaps */
	uint64_t tail;                 /* bytes of the long lists before it */
};
/* A block of the dictionary. Private. */
struct names_block {
	const uint8_t *names, *counts, *forms, *firsts, *gaps, *end;
	uint64_t ways;
	uint32_t many, follows;
	bool plain;
};

/* Names by number, ascending is quick; skips are as quick as a look-up. */
struct names_walk {
	struct str folded; /* after next and seek; good until the next call */
	uint32_t name;
	uint32_t entries; /* of all its forms */
	uint32_t forms;
	/* private: the implementation's own */
	struct names_segment *segment;
	struct names_block view;
	uint32_t block, names, next;     /* names in the block */
	uint32_t parsed;                 /* so many of its names are known in the arrays: */
	const uint8_t *own[33];          /* their own codes */
	uint32_t own_n[32], shared[32];  /* their length; bytes of the name before */
	uint32_t have;                   /* the name whose text there is, + 1 */
	const uint8_t *counts, *forms_p; /* of names counts_at and forms_at of the block */
	uint32_t counts_at, forms_at;
	const uint8_t *listed, *listed_end; /* forms of the current name, or NULL */
	struct names_entry_place place;     /* of the current name, or one before it */
	struct names_entry_place form_place;
	const uint8_t *form_p; /* the next form of the current name; NULL: none was asked for */
	uint32_t form_next;
	struct buf text, form;
};
int names_walk_begin(struct names_walk *w, struct names_segment *s, uint32_t name, struct err *err);
int names_walk_next(struct names_walk *w, struct err *err); /* 1: no more */
int names_walk_seek(struct names_walk *w, uint32_t name,
		    struct err *err); /* forward; next() follows */
void names_walk_end(struct names_walk *w);

/* The forms of the name that the walk is at. */
struct names_form {
	struct str text;  /* good until the next call */
	uint32_t entries; /* how many */
	/* private */
	struct names_entry_place place;
};
int names_form_get(struct names_walk *w, uint32_t form, struct names_form *ret, struct err *err);
/* Its entries, ascending; from the `from`-th on, at most n. Returns how many, or negative. */
int names_form_entries(struct names_walk *w, const struct names_form *form, uint32_t from,
		       uint32_t n, uint32_t *ret, struct err *err);

/* Lists of names by trigram. */
struct names_list {
	uint32_t n; /* names in it */
	/* private, but for those that names_list_reach() tells of */
	struct names_segment *segment;
	uint64_t at, stop; /* of the next block, and of the end, in the file */
	const uint8_t *skip;
	uint32_t runs, next; /* in all, and those that were unpacked */
	uint32_t last;       /* the last name of those */
	uint32_t run, have;  /* of these the next to give, and how many there are */
	uint32_t from[128], to[128];
};
/* 1: no name has it. */
int names_list_open(struct names_segment *s, const uint8_t trigram[NAMES_TRIGRAM],
		    struct names_list *ret, struct err *err);
/* The next block of at most 128 names; those before `from` may be left out. Returns how many; 0: no
 * more; negative: damaged. */
int names_list_block(struct names_list *l, uint32_t from, uint32_t ret[128], struct err *err);
/* Goes on to the first run of names that does not end before `from`: from[run] to to[run]. 1: no
 * more. Not to be mixed with names_list_block(). */
int names_list_seek(struct names_list *l, uint32_t from, struct err *err);
static inline int names_list_reach(struct names_list *l, uint32_t from, struct err *err)
{
	return l->run < l->have && l->to[l->run] >= from ? 0 : names_list_seek(l, from, err);
}
/* Trigrams that begin with 1 or 2 bytes, in order: for patterns shorter than three. Each call
 * gives the next one; *at is 0 at first. 1: no more. */
int names_list_prefix(struct names_segment *s, struct str prefix, uint32_t *at,
		      uint8_t ret_trigram[NAMES_TRIGRAM], struct names_list *ret, struct err *err);

/* Merging: one segment of several. Of each the kept ranges of entries, which are numbered anew in
 * the order given; names without entries are left out. The result has the same bytes as one built
 * at once from the same entries in the same order. */
struct names_range {
	uint32_t segment; /* index into the array of segments */
	uint32_t from, n;
};
int names_segment_merge(struct names_segment *const *in, size_t nin, const struct names_range *keep,
			size_t nkeep, uint64_t memory, const char *folder, const char *path,
			struct err *err);
