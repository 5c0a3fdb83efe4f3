/* What the files of recovery share: recover.c (by phase), recover_build.c (from buckets),
 * recover_evidence.c (from all else), recover_fit.c. */
#pragma once
#include "state/recover.h"
#include "state/state_inner.h"

/* A line in `told`. */
void recovery_tell(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same of something that was damaged. */
void recovery_damage(struct recovery *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Whether index, sites and bucket file of a state belong together. What is damaged was named. */
enum fit { FIT_SOUND, FIT_OLD_NUMBERS, FIT_DAMAGED };
int recover_fit(struct state *st, struct buckets *buckets, struct recovery *r, enum fit *ret,
		struct err *err);

/* In which phase a state ends that recovery has brought in order: corked while it has contributions
 * that no merge has taken, else closed. */
enum phase recover_done(const struct state *st);

/* What is known of a URL when its index is lost, as far as each kind tells it in the form of an
 * item of the index. */
enum evidence_kind {
	EVIDENCE_INDEX,   /* the item of an older state */
	EVIDENCE_JOURNAL, /* what came of the last try */
	EVIDENCE_GONE,    /* it was forgotten: last_seen_s, to the hour, rounded down */
	EVIDENCE_DELETED, /* its last bucket that was deleted: as the next */
	EVIDENCE_BUCKET,  /* its last bucket: where, last_seen_s; ITEM_NEW: it has no body */
	EVIDENCE_KINDS,
};
struct evidence {
	bool has[EVIDENCE_KINDS];
	struct index_item item[EVIDENCE_KINDS];
};
/* For url_index_apply(). Of each kind, what was added last counts. */
int evidence_sort(struct sort **ret, const char *folder, struct err *err);
int evidence_add(struct sort *to, enum evidence_kind kind, const struct index_item *item,
		 struct err *err);
int evidence_read(const struct index_news *about, struct evidence *ret, struct err *err);
/* All entries of the journals up to that of a state, oldest first, as far as they can be read. */
typedef int journal_fn(void *ctx, const struct journal_entry *e, struct err *err);
int evidence_journals(struct state *st, journal_fn *fn, void *ctx, struct err *err);
/* All but the buckets. index_too: the index of the state has lost something. */
int evidence_gather(struct state *st, bool index_too, struct sort *to, struct recovery *r,
		    struct err *err);

/* Makes index and sites of a state in PHASE_RECOVER from what is left of them and from all buckets,
 * tells followers of what is newer than the old index, and ends the state by recover_done(). */
int recover_build(struct state *st, int64_t now_us, struct recovery *r, struct err *err);
