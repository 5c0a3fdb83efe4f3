/* What is running in a data directory, from the counter files of the supervisor and the roles. */
#pragma once
#include "base/arena.h"
#include "base/rows.h"
#include "role/counters.h"

enum status_state {
	STATUS_STOPPED, /* the first five are the values of the supervisor's role_state */
	STATUS_STARTING,
	STATUS_READY,
	STATUS_BACKING_OFF,
	STATUS_STOPPING,
	STATUS_RUNNING, /* the supervisor itself, or a role without one */
	STATUS_ENDED,   /* its counters are left */
};
extern const char *const status_words[];

struct status_row {
	struct str name;
	enum status_state state;
	int64_t pid;           /* 0: none */
	int64_t since_wall_us; /* when it entered the state; 0: unknown */
	int64_t age_us;        /* since then; -1: unknown */
	int64_t restarts;
	int64_t cpu_us, rss;                 /* rss in bytes; -1: not known */
	const struct counters_view *view;    /* NULL: it has no counters */
	const struct counter_value *counter; /* those of the view */
	size_t counters;
};

struct status {
	struct arena arena;
	const char *data; /* the data directory */
	struct counters_view *view;
	size_t nviews;
	struct status_row *row; /* the supervisor first */
	size_t nrows;
	bool running;      /* anything at all */
	char damaged[256]; /* the first counter file that could not be read, and why; or "" */
};

/* Also fine where the folder does not exist: nothing runs then. `data` must outlive *ret. */
int status_read(struct status *ret, const char *data, struct err *err);
void status_free(struct status *s);
extern const struct rows status_rows, role_rows, counter_rows;

static inline bool status_is_live(const struct status_row *r)
{
	return r->state != STATUS_STOPPED && r->state != STATUS_ENDED;
}
/* Whether an instance of that role runs: "uns@2" is one of "uns". */
bool status_has_role(const struct status *s, const char *role);
