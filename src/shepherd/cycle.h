/* The cycle: which module works on which state, in which order. A table has them all; the role runs
 * them one after the other, `garner shep MODULE` runs one. */
#pragma once
#include "shepherd/equivalence.h"
#include "shepherd/feedback.h"
#include "shepherd/reap.h"

#include <limits.h>

enum cycle_module {
	MODULE_FEEDBACK,
	MODULE_PLAN,
	MODULE_REAP,
	MODULE_CORK,
	MODULE_MERGE,
	MODULE_EQUIV,
	MODULE_SELECT,
	MODULE_RECORD,
	MODULE_CLEANUP,
	MODULES,
};

struct cycle_options {
	const char *folder; /* of the crawl */
	const struct crawl_conf *conf;
	const struct robot_section_conf *robot;
	struct reap *reap; /* for MODULE_REAP; may be set later */
	/* Whether classes that cannot be read when it begins leave those that the sites have. */
	bool keeps_classes;
	/* Called when a phase is entered, and with the time that a module took. May be NULL. */
	void (*entered)(void *ctx, enum phase phase);
	void (*took)(void *ctx, enum cycle_module m, int64_t us);
	bool (*stopped)(void *ctx); /* as in struct crawl */
	void *ctx;
};

struct cycle {
	struct cycle_options o;
	struct filter *filter;
	char filter_path[PATH_MAX], equiv_path[PATH_MAX];
	struct stat filter_seen; /* as it was when it was read last */
	struct equiv_file equiv;
	struct err
		classes_lost; /* why the sites keep the classes they have; ERR_NONE: they do not */
	struct schema schema;
	uint64_t passes_us; /* of the modules but reap, in this cycle */
	bool no_brake;      /* the next select is let through */
	bool anew;          /* the next plan looks at all URLs, because settings may have changed */
	/* What the modules said when they ran last. */
	struct planned planned;
	struct reaped reaped;
	struct merged merged;
	struct selected selected;
	struct cleaned_up cleaned;
	struct fed fed;
	bool reloaded;      /* the last cycle_reload() has read other rules or classes */
	bool selects_known; /* selected is of the state that record works on */
};

/* Reads the rules and the classes of sites; err names file and line. */
int cycle_new(struct cycle **ret, const struct cycle_options *options, struct err *err);
void cycle_free(struct cycle **y);
/* Reads the files again if they have changed. Negative: a file is wrong, and the previous rules
 * stay; reported once for each change. */
int cycle_reload(struct cycle *y, struct err *err);

/* Runs a module on a state, or on a clone of it, which then takes its place in *st. 0: done, and
 * the state is in the module's phase or the one that follows from it (reap, cork, record and
 * cleanup end one). CYCLE_STOPPED: it was told to stop, and the phase has to be repeated.
 * CYCLE_BRAKED: select would have lost too much (y->selected); the clone is to be thrown away.
 * ERR_USAGE: a state in that phase cannot be worked on by it. */
enum { CYCLE_STOPPED = 1, CYCLE_BRAKED = 2 };
int cycle_run(struct cycle *y, enum cycle_module m, struct state **st, struct err *err);

/* What the module did, for people: a line or a few. */
void cycle_tell(const struct cycle *y, enum cycle_module m, const struct state *st,
		struct buf *out);

/* Whether the bucket file has to be cleaned before anything is gathered. */
bool cycle_is_full(const struct cycle *y);
/* Why the bucket file should be cleaned now; NULL: it need not. */
const char *cycle_wants_cleanup(const struct cycle *y, const struct state *closed);
