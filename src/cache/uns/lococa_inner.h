/* What the parts of lococa.h share: the session, the checks of a row, the answers. */
#pragma once
#include "cache/uns/lococa.h"

enum {
	PREFIX_MAX = 64,       /* bytes of a peer's prefix */
	NAMES_MAX = 64,        /* unknown names of elements and attributes in a set */
	ELEMENT_MAX = 1 << 20, /* bytes of an element of an answer */
};

enum lococa_state {
	LOCOCA_INIT,  /* waits for init */
	LOCOCA_ASKED, /* init has come and must be answered */
	LOCOCA_OPEN,
	LOCOCA_SET,
	LOCOCA_WHOLE, /* the set has come and must be answered */
	LOCOCA_OVER,
};

struct lococa_shared {
	const struct cache_conf *cache;
	uint64_t set_max, set_bytes;
	/* Of the current row. */
	char c_room[NOTICE_URL_MAX], b_room[NOTICE_URL_MAX], f_room[NOTICE_URL_MAX];
	char joined[LOCOCA_URLPREFIX_MAX + NOTICE_URL_MAX];
	char mime[NOTICE_MIME_MAX];
	struct buf element;
	/* Of the row before: most rows say the same. */
	char mime_said[NOTICE_MIME_MAX + 1], hours_said[NOTICE_HOURS_MAX + 1];
	size_t mime_said_n, hours_said_n;
	struct str mime_known; /* in `mime`; n 0: it has no form */
	bool mime_is_taken, hours_are_good;
};

struct lococa {
	struct lococa_shared *shared;
	const struct lococa_ops *ops;
	void *ctx;
	struct xml_limits limits;
	struct xml_stream *xml; /* NULL: nothing has come yet */
	enum lococa_state state;
	char prefix[PREFIX_MAX + 2]; /* with its colon; "": none */
	/* The message. */
	bool is_init, is_receipts, is_stopped;
	size_t providers; /* elements of an init */
	char id[STR_DECIMAL_MAX + 1];
	char *password;
	uint64_t receipts_of;
	/* The set. */
	bool is_full, may_be_empty, has_said_set, has_said_errors;
	char *urlprefix;
	size_t urlprefix_n;
	const struct prefixes *prefixes;
	uint64_t bytes, rows, received,
		named;            /* named: invalid rows of a full set that name a URL */
	uint64_t name[NAMES_MAX]; /* hashes of unknown names */
	size_t nnames;
};

/* Remembers an unknown name; false: there were too many. */
bool lococa_learn_name(struct lococa *l, struct str name);

/* What is wrong with a URL of a set. */
struct row_said {
	unsigned code;
	const char *text;
	bool is_named;  /* c, and perhaps mime, can be read all the same */
	struct str url; /* what is fetched, or as much of it as there is */
};
/* A URL of a set. 0: *ret is it. 1: it is wrong, *ret_said says how; where it is named, *ret has c
 * and mime. -1: the session cannot go on. */
int lococa_row(struct lococa *l, const struct xml_tag *tag, struct notice *ret,
	       struct row_said *ret_said);
void lococa_print_wrong(const struct xml_tag *tag, const struct row_said *said, struct buf *out);
