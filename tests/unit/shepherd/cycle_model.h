/* A slow model of the cycle, made from doc/cycle.md and nothing else: a world of a few URLs in
 * plain arrays, searched from end to end wherever something is looked for. No files, no streams, no
 * counting sorts: what a module does in passes is here a sentence of that page after the other. */
#pragma once
#include "shepherd/crawl.h"
#include "state/plan.h"

enum { MODEL_ITEMS = 256, MODEL_SITES = 24, MODEL_NEWS = 160, MODEL_TOLD = 512 };

/* Where a bucket is that record made: its number is not for the model to say. */
#define MODEL_MADE (ITEM_NOWHERE - 1)

struct model_contrib {
	struct contrib c;
	unsigned round; /* 0: of the last reap before merge, 1: of the one before */
	uint64_t place;
};

struct model_entry {
	struct plan_entry entry;
	qkey qkey;
	uint32_t delay_ms;
	uint64_t robots_where;
};

struct model_change {
	struct footprint fp;
	enum change_op op;
	bool forgotten;
};

struct model_gone {
	struct footprint fp;
	enum gone_reason reason;
};

struct world {
	struct crawl crawl; /* settings, filter, classes, schema, robot, cycle, now */
	struct state_course course;
	int64_t created_us; /* of the state that is planned */
	unsigned round;     /* of the reap, as in struct model_contrib */
	/* what is known, in any order */
	struct index_item item[MODEL_ITEMS];
	struct site site[MODEL_SITES];
	size_t items, sites;
	/* what a reap found, in the order of the files */
	struct journal_entry journal[MODEL_NEWS];
	struct model_contrib contrib[MODEL_NEWS];
	size_t entries, contribs;
	/* what the last module made */
	struct model_entry plan[MODEL_ITEMS];
	size_t planned;
	uint64_t waiting, robots; /* robots: entries of robots.txt in the plan */
	int64_t next_s;
	struct model_change change[MODEL_TOLD];
	struct model_gone gone[MODEL_TOLD];
	size_t changes, gones;
	size_t found; /* by merge: contributions, one for each footprint */
};

/* Each applies a module to the world: items, sites and course become what they are after it,
 * changes and gone (or the plan) what it tells. */
void model_plan(struct world *w);
void model_cork(struct world *w);
void model_merge(struct world *w);
void model_equiv(struct world *w);
void model_select(struct world *w);
void model_record(struct world *w);

/* The time at which a URL is due whatever the dice of plan say; now, if any is. */
int64_t model_surely_due(struct world *w);

struct site *model_site(struct world *w, uint64_t fp);               /* NULL: not known */
struct index_item *model_item(struct world *w, struct footprint fp); /* the same */
/* By footprint. */
void model_sort(struct world *w);
