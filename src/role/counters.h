/* Counters: what a role has done, in a file of fixed size that is allocated before it is mapped.
 * One process writes (any of its threads); anyone may read at any time, also after a crash.
 * doc/formats/counters.md describes the file. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum counter_kind {
	COUNTER_TOTAL, /* only grows; its name in OpenMetrics ends in _total */
	COUNTER_GAUGE, /* goes up and down */
};

struct counter_def {
	/* "fetches": letters, digits, underscores, no _total at the end; the role's name is put
	 * before it. Several definitions may share a name. */
	const char *name;
	const char *labels; /* "outcome=\"ok\"" or NULL; label names ascend */
	enum counter_kind kind;
	const char *help; /* ASCII, without quotes and backslashes */
	size_t at;        /* COUNTER_AT(): where role_loop_tell_of() finds it */
};

/* A definition from a list of X(symbol, name, labels, kind, help). */
#define COUNTER_DEF(symbol, name, labels, kind, help) {name, labels, COUNTER_##kind, help},

/* A member of a struct of counts; only a uint64_t passes. */
#define COUNTER_AT(type, member) \
	(offsetof(type, member) + 0 * sizeof((const uint64_t *){&((type *)NULL)->member}))

/* The file (doc/formats/counters.md). */
enum {
	COUNTERS_VERSION = 1,
	COUNTERS_PAGE = 4096, /* the values begin at a multiple of it */
	COUNTERS_MAX = 1000,  /* definitions in a file */
	COUNTERS_INSTANCE_MAX = 64,
	COUNTERS_NAME_MAX = 64,
	COUNTERS_LABELS_MAX = 256,
	COUNTERS_HELP_MAX = 256,
	COUNTERS_FILE_MAX = 1 << 20, /* more than all these maxima together */
};

/* Where the values begin, after a head of this many bytes. */
static inline size_t counters_values_at(size_t head_bytes)
{
	return (head_bytes + COUNTERS_PAGE - 1) / COUNTERS_PAGE * COUNTERS_PAGE;
}

struct counters;

/* Creates PATH (as PATH.new, then renamed), locks it and maps it. ERR_BUSY: another process holds
 * it. The definitions (at most 1,000) are copied into the file. instance: "web" or "bot@2"; the
 * part before the @ is the role. */
int counters_create(struct counters **ret, const char *path, const char *instance,
		    const struct counter_def *defs, size_t n, int64_t wall_us, struct err *err);
void counters_close(struct counters **c); /* the file stays, with its last values */

/* c NULL: nobody counts. */
void counters_add(struct counters *c, size_t index, uint64_t n);
void counters_set(struct counters *c, size_t index, int64_t v);

/* One file as others see it. */
struct counter_value {
	struct str name, labels, help;
	enum counter_kind kind;
	int64_t value;
};
struct counters_view {
	struct str instance;
	int64_t started_wall_us, pid;
	bool alive; /* its writer still holds it */
	struct counter_value *value;
	size_t n;
};
struct arena;
enum { COUNTERS_ARENA = 2 << 20 }; /* bytes that a view takes from its arena at most */
/* 1: there is no such file. */
int counters_read(const char *path, struct arena *arena, struct counters_view *ret,
		  struct err *err);
/* The same from bytes: bounded and checked, for files that others wrote. */
int counters_parse(struct str bytes, struct arena *arena, struct counters_view *ret,
		   struct err *err);
/* All the views as one OpenMetrics text: families garner_ROLE_NAME sorted, TYPE and HELP once,
 * instance as a label, garner_role_up and garner_role_start_time_seconds for each view, "# EOF" at
 * the end. Of contradictory samples (a family of two kinds, a duplicate) one is kept. */
struct buf;
void counters_openmetrics(const struct counters_view *views, size_t n, struct buf *out);
/* The same in the older text format of Prometheus, version 0.0.4: there the family of a total is
 * called as its samples are, with _total, and nothing marks the end. */
void counters_prometheus(const struct counters_view *views, size_t n, struct buf *out);

struct format;
extern const struct format counters_format;
