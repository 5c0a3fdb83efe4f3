/* The gone log: which URLs were forgotten, when and why, in 20 bytes each, for those who ask later
 * (`garner why`). One file for all states; entries older than a set time are dropped from it.
 * Layout: doc/formats/gone.md. */
#pragma once
#include "disk/record.h"
#include "url/footprint.h"

enum gone_reason {
	GONE_UNKNOWN,
	GONE_ERROR,     /* it failed too often */
	GONE_DUPLICATE, /* another URL stands for it */
	GONE_FILTER,    /* the filter does not want it */
	GONE_RANK,      /* others are worth more */
	GONE_SITE,      /* its site was dropped */
	GONE_HAND,      /* somebody asked for it */
	GONE_REASONS,
};
extern const char *const gone_reason_names[GONE_REASONS];

struct gone {
	struct footprint fp;
	int64_t time_us; /* kept to the hour, rounded down */
	enum gone_reason reason;
};

/* Entries are gathered and appended many at a time. */
struct gone_writer;
int gone_open(struct gone_writer **ret, const char *path, struct err *err);
/* The group is that of the records which are appended when enough has come together. */
int gone_add(struct gone_writer *w, const struct gone *g, struct record_group *group,
	     struct err *err);
/* Hands what was gathered to the record file, whose sync makes it durable. */
int gone_flush(struct gone_writer *w, struct record_group *group, struct err *err);
struct record_writer *gone_records(struct gone_writer *w);
void gone_drop(struct gone_writer **w);

/* The last entry of a footprint: reads all of it. 1: there is none; *ret_since_us is then the time
 * of the first entry that is kept (0: none): forgotten before that, or never known. */
int gone_find(const char *path, struct footprint fp, struct gone *ret, int64_t *ret_since_us,
	      struct err *err);
/* All entries, oldest first, until one is refused (negative). 0 also when there is no file. Damage
 * ends it: all before it was given. */
int gone_each(const char *path, int (*fn)(void *ctx, const struct gone *g, struct err *err),
	      void *ctx, struct err *err);
/* Replaces the file by one without the entries before a time. Nobody has it open for writing. */
int gone_trim(const char *path, int64_t before_us, struct err *err);

extern const struct record_kind gone_kind;
extern const struct format gone_format;
