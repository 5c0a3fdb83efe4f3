/* What the unit programs that cut and damage files share: which files there are, and what has to be
 * true afterwards. */
#pragma once
#include "state/plan.h"
#include "state/source_crawl.h"
#include "unit/state/play_unit.h"

enum { KNOWN = 18, MORE = 4 };

/* All files of a state and those that the states share. */
static const struct kept_file {
	char name[12];
	const struct format *format;
} files[] = {
	{"journal", &journal_format}, {"contrib", &contrib_format},
	{"changes", &changes_format}, {"checkpoints", &checkpoints_format},
	{"control", &control_format}, {"index", &index_format},
	{"sites", &sites_format},     {"plan", &plan_format},
	{"objects", &bucket_format},  {"gone", &gone_format},
};

/* Where the last record of a record file begins and ends, with a mark after it; of other files
 * nothing is known, and both are their size. */
static inline void last_record(const char *path, uint64_t *ret_at, uint64_t *ret_next)
{
	struct err err = {0};
	struct record_reader *r = NULL;
	struct record record;
	*ret_at = *ret_next = size_of(path);
	int rc = record_reader_open(&r, path, NULL, &err);
	while (rc == 0 && (rc = record_next(r, &record, &err)) == 0) {
		*ret_at = record.place.at;
		*ret_next = record.place.next;
	}
	record_reader_free(&r);
}

struct seen {
	unsigned damaged, rebuilt, lost, heard;
};

/* Who follows from the beginning comes to the end, and hears of what cannot be read. */
static inline void follow(const char *folder, const char *file, uint64_t at, struct seen *seen)
{
	struct err err = {0};
	struct source *s = NULL;
	struct source_change change;
	const struct source_cursor beginning = {0};
	const struct source_crawl store = {.folder = folder};
	struct arena arena = ARENA_INIT(256 << 20);
	unsigned damaged = 0;
	int rc;
	MUST(source_crawl_ops.open(&s, &store, &beginning, &err));
	while ((rc = source_next(s, &arena, &change, &err)) != 1) {
		if (rc < 0 && (err.code != ERR_DAMAGED || damaged++ > 2 * KNOWN))
			fail_msg("%s at %" PRIu64 ": who follows: %s", file, at, err.msg);
		arena_clear(&arena);
	}
	seen->heard += damaged;
	source_close(&s);
	arena_free(&arena);
}

/* Recovers the copy and looks at every page. exact: it has to be as at the last checkpoint, or
 * later; not so where the buckets themselves are damaged. */
static inline void look(const char *folder, const char *file, uint64_t at, bool follows,
			struct seen *seen)
{
	struct play p;
	struct recovery told = {0};
	struct err err = {0};
	bool buckets = strcmp(file, "objects") == 0;
	if (play_open(&p, folder, PLAY_START + 1000000000, &told, &err) != 0)
		fail_msg("%s at %" PRIu64 ": %s", file, at, err.msg);
	/* never wrong bytes, and only of a damaged bucket file may something be missing: named now,
	 * or when it is read */
	int rc = play_check(&p, KNOWN, true, &err);
	if (rc < 0 && !(buckets && (told.damaged || err.code == ERR_DAMAGED)))
		fail_msg("%s at %" PRIu64 ": %s\n%s", file, at, err.msg, buf_text(&told.told));
	seen->lost += rc < 0;
	seen->damaged += told.damaged > 0;
	seen->rebuilt += told.rebuilt > 0;
	recovery_free(&told);
	if (follows)
		follow(folder, file, at, seen);
	if (at % 11) {
		play_close(&p);
		return;
	}
	/* and it goes on: another cycle, which a second start finds as it was left; a damaged
	 * bucket may be found only now that the index knows it, and not once more */
	struct play_model m = {0};
	const struct states_keep keep = {.closed = 3, .corked = 3};
	unsigned deleted;
	if (play_begin(&p, &err) < 0 || play_op(&p, &m, 5000, &err) < 0 ||
	    play_checkpoint(&p, &err) < 0 || play_cork(&p, &err) < 0 || play_merge(&p, &err) < 0 ||
	    states_audit(p.s, &keep, p.now_us, &deleted, &err) < 0)
		fail_msg("%s at %" PRIu64 ": does not go on: %s", file, at, err.msg);
	play_close(&p);
	for (int64_t again = buckets ? 2 : 1; again; again--) {
		int64_t now_us = PLAY_START + (4 - again) * 1000000000;
		if (play_open(&p, folder, now_us, &told, &err) != 0 || (told.damaged && again == 1))
			fail_msg("%s at %" PRIu64 ": not mended: %s", file, at,
				 buf_text(&told.told));
		recovery_free(&told);
		play_close(&p);
	}
}
