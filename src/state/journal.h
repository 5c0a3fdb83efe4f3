/* The record files (disk/record.h) that grow while a state is open: the journal (the result of each
 * fetch), contrib (URLs found) and changes (what modules did to URLs). Payloads begin with
 * FOOTPRINT_KEY, so that they can be sorted as bytes. Entries that are read point into the payload.
 * Layouts: doc/formats/journal.md, contrib.md, changes.md. */
#pragma once
#include "disk/record.h"
#include "state/phase.h"
#include "state/url_index.h"
#include "url/qkey.h"

/* What followers of the crawl are told. They ignore the first two. */
enum change_op {
	CHANGE_NONE,    /* tried; followers need not know */
	CHANGE_ADD,     /* newly known */
	CHANGE_REFRESH, /* fetched again, unchanged */
	CHANGE_UPDATE,  /* new or changed: its bucket has the text */
	CHANGE_DELETE,  /* no longer available; set only if followers knew it */
	CHANGE_OPS,
};
extern const char *const change_op_names[CHANGE_OPS];

/* Result of fetching a URL; or, with type ITEM_QKEY, path 0 and flag ITEM_ROBOTS, the new key of a
 * site. */
struct journal_entry {
	struct footprint fp;
	int64_t time_us; /* when it was tried */
	enum change_op op;
	enum item_type type; /* new type; ITEM_TEMPORARY: unchanged, to be tried again */
	bool no_target;
	uint8_t flags;         /* enum item_flag, to be set */
	uint16_t code;         /* as in the index */
	uint64_t where;        /* the new bucket, or ITEM_NOWHERE: the one it had */
	uint32_t due_s;        /* as in the index */
	uint32_t download_ms;  /* 0: unknown */
	qkey qkey;             /* of a key entry; else 0 */
	unsigned char md5[16]; /* of the document, or zeroes */
	struct str url;        /* always there: deletes outlive the bucket */
	struct str reason;     /* for people, may be empty */
	bool has_section;      /* it is in `section` from now on; else in the one it was in */
	uint8_t section;
};
/* Makes a key entry, without its URL. */
struct journal_entry journal_of_key(uint64_t site, qkey key, int64_t time_us);
void journal_write(const struct journal_entry *e, struct buf *out);
int journal_read(struct str payload, struct journal_entry *ret, struct err *err);

struct contrib {
	struct footprint fp;
	uint8_t flags; /* enum item_flag */
	uint8_t weight;
	uint8_t section;
	struct footprint from; /* the page that links to it; zeroes: nobody, it was given by hand */
	uint32_t time_s;       /* when it was given by hand; 0: it was not */
	uint32_t changed_s;    /* when its page changed, by a sitemap; 0: none says so */
	uint8_t hops;          /* redirects that led here from a URL given by hand */
	struct str url;
};
void contrib_write(const struct contrib *c, struct buf *out);
int contrib_read(struct str payload, struct contrib *ret, struct err *err);

struct change {
	struct footprint fp;
	int64_t time_us;
	enum change_op op;
	enum phase by;
	bool forgotten;    /* no longer in the index */
	struct str url;    /* always there for updates, refreshes and deletes */
	struct str reason; /* for people: "404 for the third time" */
};
void change_write(const struct change *c, struct buf *out);
int change_read(struct str payload, struct change *ret, struct err *err);

extern const struct record_kind journal_kind, contrib_kind, changes_kind;
extern const struct format journal_format, contrib_format, changes_format;

/* The gone log: which URLs were forgotten, when and why, in 20 bytes each, for `garner why` and for
 * recovery. All states share one file, from which old entries are dropped. Layout:
 * doc/formats/gone.md. */
enum gone_reason {
	GONE_UNKNOWN,
	GONE_ERROR,     /* it failed too often */
	GONE_DUPLICATE, /* another URL stands for it */
	GONE_FILTER,    /* the filter rejects it */
	GONE_RANK,      /* others are worth more */
	GONE_HAND,      /* by request */
	GONE_REASONS,
};
extern const char *const gone_reason_names[GONE_REASONS];

struct gone {
	struct footprint fp;
	int64_t time_us; /* kept to the hour, rounded down */
	enum gone_reason reason;
};

/* Entries are buffered and appended many at a time. */
struct gone_writer;
int gone_open(struct gone_writer **ret, const char *path, struct err *err);
/* group: of the record that is appended when the buffer is full. */
int gone_add(struct gone_writer *w, const struct gone *g, struct record_group *group,
	     struct err *err);
/* Flushes the buffer to the record file, whose sync makes it durable. */
int gone_flush(struct gone_writer *w, struct record_group *group, struct err *err);
struct record_writer *gone_records(struct gone_writer *w);
/* Closes the file; what was flushed is durable. */
int gone_close(struct gone_writer **w, struct err *err);
void gone_drop(struct gone_writer **w);

/* Finds the last entry of a footprint; reads the whole file. 1: there is none; *ret_since_us is
 * then the time of the oldest entry (0: there is none), before which the URL may have been
 * forgotten. */
int gone_find(const char *path, struct footprint fp, struct gone *ret, int64_t *ret_since_us,
	      struct err *err);
/* Calls fn for all entries, oldest first, until it returns negative. 0 also if there is no file.
 * ERR_DAMAGED: fn got all entries before the damage. */
int gone_each(const char *path, int (*fn)(void *ctx, const struct gone *g, struct err *err),
	      void *ctx, struct err *err);
/* Replaces the file by one without the entries from before a time. No process may have it open for
 * writing. */
int gone_trim(const char *path, int64_t before_us, struct err *err);

extern const struct record_kind gone_kind;
extern const struct format gone_format;
