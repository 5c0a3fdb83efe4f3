/* What is appended while a state is open, record by record (base/record): the journal (what became
 * of each URL that was tried), contrib (URLs found), changes (what modules did to URLs). Payloads
 * begin with FOOTPRINT_KEY, so they can be sorted as they are. Slices of what was read point into
 * the payload. Layouts: doc/formats/journal.md, contrib.md, changes.md. */
#pragma once
#include "disk/record.h"
#include "state/phase.h"
#include "state/url_index.h"
#include "url/qkey.h"

/* What followers of the crawl hear of it. The first two are nothing to them. */
enum change_op {
	CHANGE_NONE,    /* it was tried, they need not know */
	CHANGE_ADD,     /* known from now on */
	CHANGE_REFRESH, /* looked at again and unchanged */
	CHANGE_UPDATE,  /* new or changed: its bucket has the text */
	CHANGE_DELETE,  /* not to be found any more; whoever sets this knows that it was */
	CHANGE_OPS,
};
extern const char *const change_op_names[CHANGE_OPS];

struct journal_entry {
	struct footprint fp;
	int64_t time_us; /* when it was tried */
	enum change_op op;
	enum item_type type; /* what it is from now on; ITEM_TEMPORARY: as before, tried again */
	bool no_target;
	uint8_t flags;         /* enum item_flag, to be set */
	uint16_t status;       /* as in the index */
	uint64_t where;        /* the new bucket, or ITEM_NOWHERE: the one it had */
	uint32_t due_s;        /* as in the index */
	uint32_t download_ms;  /* 0: unknown */
	qkey qkey;             /* of the server that was asked; 0: none */
	unsigned char md5[16]; /* of the text, or zeroes */
	struct str url;        /* always there: deletes outlive the bucket */
	struct str reason;     /* for people, may be empty */
};
void journal_write(const struct journal_entry *e, struct buf *out);
int journal_read(struct str payload, struct journal_entry *ret, struct err *err);

struct contrib {
	struct footprint fp;
	uint8_t flags; /* enum item_flag */
	uint8_t weight;
	uint8_t section;
	struct footprint from; /* the page that links to it; zeroes: nobody, it was given by hand */
	struct str url;
};
void contrib_write(const struct contrib *c, struct buf *out);
int contrib_read(struct str payload, struct contrib *ret, struct err *err);

struct change {
	struct footprint fp;
	int64_t time_us;
	enum change_op op;
	enum phase by;
	bool forgotten;    /* it is not in the index any more */
	struct str url;    /* always there for updates, refreshes and deletes */
	struct str reason; /* for people: "404 for the third time" */
};
void change_write(const struct change *c, struct buf *out);
int change_read(struct str payload, struct change *ret, struct err *err);

extern const struct record_kind journal_kind, contrib_kind, changes_kind;
extern const struct format journal_format, contrib_format, changes_format;
