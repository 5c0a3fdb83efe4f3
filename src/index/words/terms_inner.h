/* What the ways of looking for terms share: whether a text is meant, and what was found so far.
 * Functions return 0 to go on, 1 to end (it is late, or there are enough), negative when they
 * failed. */
#pragma once
#include "base/buf.h"
#include "index/terms.h"

/* What is between the stars of a pattern at its ends. */
struct terms_glob {
	struct str head;    /* letters before the first "*" or "?" */
	struct str longest; /* the longest run of letters */
	bool only_head;     /* head, then one "*" */
	bool only_tail;     /* one "*", then letters */
	bool only_inside;   /* "*", letters, "*" */
	bool outside_hex;   /* a letter is not a hex digit */
};
struct terms_glob terms_glob(struct str pattern);
bool terms_glob_is(struct str pattern, struct str text);

/* Bytes of the character that s begins with, which is not empty. */
static inline size_t terms_char_bytes(struct str s)
{
	size_t n = str_utf8_char(s);
	return n ? n : 1;
}

bool terms_is_nothing(const struct terms_want *want);
/* Whether forms are compared, not terms. */
bool terms_forms_decide(const struct terms_want *want);

/* Whether texts are meant. For one thread. */
struct terms_text {
	const struct terms_want *want;
	struct str word; /* with errors: at most ERRORS_CHARS_MOST characters */
	struct errors_word errors;
	struct rx_run *run;
};
void terms_text_init(struct terms_text *t, const struct terms_want *want);
void terms_text_done(struct terms_text *t);
bool terms_text_is(struct terms_text *t, struct str text, uint32_t *ret_errors);

struct terms_finder {
	struct segment *segment;
	unsigned attr;
	const struct terms_want *want;
	struct err *err;
	struct terms_text text;
	bool by_forms; /* candidates are compared by their forms, not by themselves */
	terms_late_fn *late;
	void *late_ctx;
	terms_take_fn *take;
	void *take_ctx;
	uint32_t looked; /* at terms, since it was last asked whether it is late */
	bool cut, was_late;
	uint32_t block, combined_block; /* where the last candidate was found in the dictionary */
	uint64_t *bits;                 /* of forms */
	uint8_t *form_errors;
	size_t bits_room, form_errors_room;
	struct arena texts; /* of terms that were found and are to be put in order */
};

enum { TERMS_LATE = 4096 }; /* terms between two questions whether it is late */

/* So many terms more were looked at: true says that it is late. */
bool terms_is_late(struct terms_finder *f);
static inline bool terms_looked(struct terms_finder *f, uint32_t n)
{
	f->looked += n;
	return f->looked >= TERMS_LATE && terms_is_late(f);
}

/* A term that is meant, in all its forms; info is of the attribute. Terms come in order. */
int terms_take(struct terms_finder *f, struct str term, const struct segment_term *info,
	       uint32_t errors);
/* A term that may be meant, which the combined list has, is looked up and, where forms decide,
 * compared. Terms come in order. */
int terms_try(struct terms_finder *f, struct str term, uint32_t errors);
/* The same of one that was found in the dictionary of the attribute. */
int terms_try_found(struct terms_finder *f, struct str term, const struct segment_term *info);

/* Terms that were found by their texts, in several runs that are each in order. They are sorted,
 * and each is tried once. */
struct terms_find {
	uint64_t prefix;
	const char *p;
	uint32_t n, errors;
};
struct terms_finds {
	struct terms_finder *f;
	struct terms_find *find, *other;
	size_t n, room, other_room;
	size_t *run, runs, runs_room; /* where each begins */
	bool too_many;
};
/* The text stays where it is. */
int terms_finds_add(struct terms_finds *s, struct str term, uint32_t errors);
void terms_finds_new_run(struct terms_finds *s);
/* Tries all, unless rc is negative, and gives the memory back. */
int terms_finds_end(struct terms_finds *s, int rc);

/* terms_walk.c: in the dictionary. */

/* Those that begin so; nothing: all. Each is compared. */
int terms_walk_range(struct terms_finder *f, struct str head, bool compare);
/* Those within the errors of f->text; finds: NULL, or where they go. */
int terms_walk_errors(struct terms_finder *f, struct terms_finds *finds);

/* terms_blob.c: in the blob. */

enum { TERMS_PARTS_MOST = 16 };

/* Runs of the blob, as bits. */
enum {
	RUN_HEX = 1 << SEGMENT_HEX,
	RUN_ASCII = 1 << SEGMENT_ASCII,
	RUN_OTHERS = 1 << SEGMENT_OTHERS,
	RUN_ALL = RUN_HEX | RUN_ASCII | RUN_OTHERS,
};

/* Characters that no term of the run of hex digits has. */
size_t terms_outside_hex(struct str s);

/* Three bytes of a part and their places in it. */
enum { TERMS_PROBES = 3 };
struct terms_probes {
	size_t at[TERMS_PROBES];
	char byte[TERMS_PROBES];
};
/* Goes on from `at` to the first 32 places of which one has all probes, and says which. None: less
 * than 32 places before `end` are left. Two ways: the second is for processors with AVX2. */
#ifdef __x86_64__
typedef size_t terms_scan_fn(const struct terms_probes *p, const char *text, size_t at, size_t end,
			     uint32_t *ret_places);
terms_scan_fn terms_scan_sse2, terms_scan_avx2;
#endif

/* Terms that contain one of these, at any place or at their end, and have as many bytes as it says:
 * those of ASCII, and others. */
struct terms_parts {
	struct str part[TERMS_PARTS_MOST]; /* none: all terms */
	uint32_t n;
	uint32_t least, most, most_other; /* 0: any */
	bool no_hex;                      /* no term of hex digits is meant, whatever it contains */
	bool ends;                        /* only at the end of a term */
	bool compare;                     /* they are compared before they are taken */
	bool cut; /* of terms that are cut nothing is known: all of them are candidates */
};
int terms_blob_parts(struct terms_finder *f, const struct terms_parts *parts,
		     struct terms_finds *finds);
int terms_blob_errors(struct terms_finder *f);
/* Of f->text, with errors: how long the terms may be, and whether they may be of hex digits. */
void terms_blob_bounds(const struct terms_finder *f, struct terms_parts *ret);

/* terms_near.c: in the blob. */

enum { TERMS_NEAR_LEAST = 3 };

/* Those within one error of f->text, a whole word of ASCII with at least TERMS_NEAR_LEAST letters,
 * without swaps. */
int terms_near_word(struct terms_finder *f);
