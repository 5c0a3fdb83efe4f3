/* What the parts of a query for names share: which names of a
 * segment can match (names_cand.c), what a pattern matches and which limits a file keeps
 * (names_match.c), hits while they are collected (names_hits.c), scans of the parts (names_scan.c)
 * and the query itself (names_query.c). */
#pragma once
#include "base/vec.h"
#include "index/names/names_inner.h"
#include "index/rx.h"

/* Time: looked at now and then, since a look costs as much as a few names. */

struct names_clock {
	int64_t end_us; /* of this thread's CPU time; 0: no limit */
	bool (*stop)(void *ctx);
	void *stop_ctx;
	uint32_t work; /* since the last look: about tenths of a microsecond */
	bool late;
};
enum { NAMES_CLOCK_WORK = 2000 };
void names_clock_begin(struct names_clock *c, const struct names_query *q);
bool names_clock_look(struct names_clock *c);
static inline bool names_late(struct names_clock *c, uint32_t work)
{
	c->work += work;
	return UNLIKELY(c->work > NAMES_CLOCK_WORK) && names_clock_look(c);
}
bool names_clock_late(void *clock); /* for rx.h */

/* Patterns */

enum names_how {
	NAMES_HOW_NOTHING,
	NAMES_HOW_EXACT,
	NAMES_HOW_SUB,
	NAMES_HOW_SUBCASE,
	NAMES_HOW_RX
};

struct names_match {
	enum names_how how;
	bool path;
	struct str text; /* the pattern; of SUB it is folded */
	/* What every folded name that matches has in it; for EXACT it is all of the name. */
	struct str part;
	/* By path: text before and after its last slash. No slash: head.p is NULL. */
	struct str head, tail;
	struct rx *rx;
	struct rx_run *run;
	struct buf fold, whole; /* of names and paths that are looked at */
};

/* exact: the first half of exact_X; where there is none it is not asked for. */
int names_match_open(struct names_match *m, const struct names_query *q, bool exact,
		     struct arena *scratch, struct names_clock *clock, size_t *ret_at,
		     struct err *err);
void names_match_close(struct names_match *m);
/* Whether it matches this name; not by path. */
bool names_match_name(struct names_match *m, struct str name);

/* What is known of a name, for all files that have it. */
struct names_facts {
	bool path_has;  /* by path: it matches in any directory; */
	bool path_tail; /* it is, or begins with, what comes after the last slash */
	bool component; /* it is one of the components */
};

/* Limits */

struct names_limit {
	const struct names_query *q;
	struct names_reader *r;
	struct names_match *m;
	bool *site;       /* fits, by site */
	bool sites, data; /* sites are limited; what data says of a file is */
	bool dirs;        /* the directory matters */
	uint8_t **dir;    /* by site: what is known of directories, see names_match.c */
	struct arena *scratch;
	struct buf path;
};
int names_limit_open(struct names_limit *l, const struct names_query *q, struct names_reader *r,
		     struct arena *plan, struct arena *scratch, struct err *err);
void names_limit_close(struct names_limit *l);
struct names_facts names_limit_name(struct names_limit *l, struct str name);
/* Whether a file fits, by all but its site: 0; 1: it does not. *ret_size, where not NULL, is its
 * size. */
int names_limit_file(struct names_limit *l, uint32_t site, uint64_t line, struct str name,
		     struct names_facts about, int64_t *ret_size, struct err *err);

/* Candidates: names of a segment in ascending order, found while they are asked for. */

struct names_cand;
/* All names that can match, and perhaps others. *ret_sure: no others. */
int names_cand_new(struct names_cand **ret, struct names_segment *s, const struct names_match *m,
		   bool all, struct arena *scratch, struct names_clock *clock, bool *ret_sure,
		   struct err *err);
/* The first that is not before `from`. 1: no more. */
int names_cand_seek(struct names_cand *c, uint32_t from, uint32_t *ret, struct err *err);

/* Files whose folded names have a part, of the names from `from` on; for parts that
 * names_count_can() takes. Ends early where the clock is late. */
bool names_count_can(struct str part);
int names_count(struct names_segment *s, struct str part, uint32_t from, struct arena *scratch,
		struct names_clock *clock, uint64_t *ret, struct err *err);

/* Hits */

struct names_found {
	uint32_t site, form;
	uint64_t line, mirrors;
	int64_t size; /* where mirrors are folded */
};
struct names_group_form {
	struct str name; /* in scratch or elsewhere, until the group is done */
	uint64_t taken;
	bool counted;
};
struct names_record {
	uint32_t site;
	uint64_t line, mirrors, number; /* the number: in the order without a sort */
	int64_t key;
	struct str name, path;
};
/* A group is all files of names that fold to the same. */
struct names_collect {
	const struct names_query *q;
	struct names_reader *r;
	struct arena *arena; /* the caller's: names of hits */
	struct arena *scratch;
	uint64_t need; /* hits that are kept, or UINT64_MAX */
	uint64_t taken, names;
	struct names_record *record; /* a heap, worst first, where there is a sort and a limit */
	size_t records, records_room;
	struct names_found *found;
	size_t founds, founds_room;
	struct names_group_form *form;
	size_t forms, forms_room;
	struct buf path;
	const char *why;         /* of a damaged segment, in the arena; NULL: none was met */
	struct names_lost *lost; /* sites of which files were left out on the way, in the arena */
	size_t losts;
};
void names_collect_open(struct names_collect *c, const struct names_query *q,
			struct names_reader *r, struct arena *arena, struct arena *scratch);
void names_collect_close(struct names_collect *c);
/* Nothing more is wanted. */
bool names_collect_full(const struct names_collect *c);
/* How many files of one name, at most, can still become hits. */
uint64_t names_collect_want(const struct names_collect *c);
/* The number of a form of the group; the name must stay until the group is done. */
uint32_t names_collect_form(struct names_collect *c, struct str name);
void names_collect_add(struct names_collect *c, struct names_found f);
/* What cannot be read of a site is left out of the answer, which says so. false: that is not why
 * err says it failed. */
bool names_collect_lose(struct names_collect *c, uint32_t site, const struct err *err);
/* ordered: files were added by site and line. */
int names_collect_group(struct names_collect *c, bool ordered, struct err *err);
/* The hits, with all that is told of them. */
int names_collect_end(struct names_collect *c, struct names_hits *ret, struct err *err);

/* The parts of all sites, line by line. */
int names_scan(struct names_reader *r, struct names_match *m, struct names_limit *limit,
	       struct names_collect *collect, struct names_clock *clock, struct names_hits *ret,
	       struct err *err);
