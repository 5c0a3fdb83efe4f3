/* What robots, botms and their sources say to each other (doc/protocols/bot.md): each message is
 * one XML element without children, its values are attributes. A table of attributes and a table of
 * messages drive the reader and the printer. Both sides treat input as hostile: every attribute has
 * a limit and a format, so a message that was read may be printed again unchanged. Unknown
 * attributes are ignored. Unknown messages and missing attributes are errors.
 *
 * A peer that stays silent is treated as dead. A robot repeats <robot/> and a botm repeats <botm/>
 * every BOT_BEAT_US; the listening side disconnects a peer that sends nothing for the time of its
 * setting `idle`. */
#pragma once
#include "base/arena.h"
#include "base/clock.h"
#include "fetch/outcome.h"
#include "fetch/robot_headers.h"
#include "net/xml.h"

enum {
	BOT_ID_MAX = 64, /* bytes of a word, unless stated otherwise */
	BOT_FILE_MAX = 64,
	BOT_URL_MAX = 16 << 10,
	BOT_REASON_MAX = 255,
	BOT_PARALLEL_MAX = 1000000,  /* fetches at a time, of a robot or a botm */
	BOT_MESSAGE_MAX = 256 << 10, /* bytes of one message as it is printed */
	BOT_QUEUE_MIN = 16 << 20,    /* that wait to be sent, whatever the setting says: a round of
					verdicts, deletes and fetches is no sign of a dead peer */
};
#define BOT_BEAT_US (30 * US_PER_S)
#define BOT_REFUSED_US (30 * US_PER_S) /* pause after being refused */
#define BOT_DELAY_MAX_US US_PER_DAY
/* Begins the id of an answer for a file whose request the botm no longer knows; the file's name
 * follows. */
#define BOT_FILE_ID "file:"
/* For struct server_protocol: what the server says before a session has a reader. */
#define BOT_SERVER_WORDS                                                        \
	{                                                                       \
		[SERVER_FULL] = "<refused reason=\"too many connections\"/>\n", \
		[SERVER_STOPPING] = "",                                         \
	}

enum bot_kind {
	BOT_ROBOT,   /* a robot is here, and how much it can do */
	BOT_FETCH,   /* down: fetch this */
	BOT_FETCHED, /* up: how that ended */
	BOT_BOTM,    /* up: a botm is here, and how much those below it can do */
	BOT_MACHINE, /* up: a botm further down has come or gone */
	BOT_KEPT,    /* down: the source took the answer: keep its file */
	BOT_DROPPED, /* down: the source does not need it: remove its file */
	BOT_DELETE,  /* down: delete a file that was kept */
	BOT_DELETED, /* up: how that ended */
	BOT_REFUSED, /* down: why the connection ends now */
	BOT_ERROR,   /* to a person who types */
	BOT_NKINDS,
};

/* How a delete ended. */
#define BOT_DELETIONS(X)                                       \
	X(OK, "ok")         /* the file is gone for good */    \
	X(NONE, "none")     /* there was no such file */       \
	X(ABSENT, "absent") /* the machine is not connected */ \
	X(FAILED, "failed") /* it could not be deleted */

enum bot_deletion {
#define X(symbol, name) BOT_DELETED_##symbol,
	BOT_DELETIONS(X)
#undef X
		BOT_NDELETIONS
};

/* Attributes: a name, how it is written (its values' C types are those of the struct below). */
enum bot_attr {
	BOT_HAS_ID = 1 << 0,
	BOT_HAS_URL = 1 << 1,
	BOT_HAS_FILE = 1 << 2,
	BOT_HAS_SINCE = 1 << 3,
	BOT_HAS_ETAG = 1 << 4,
	BOT_HAS_MIME = 1 << 5,
	BOT_HAS_SIZE_MAX = 1 << 6,
	BOT_HAS_WITHIN = 1 << 7,
	BOT_HAS_DELAY = 1 << 8,
	BOT_HAS_ROBOTS = 1 << 9,
	BOT_HAS_OUTCOME = 1 << 10,
	BOT_HAS_CAUSE = 1 << 11,
	BOT_HAS_STATUS = 1 << 12,
	BOT_HAS_MD5 = 1 << 13,
	BOT_HAS_SIZE = 1 << 14,
	BOT_HAS_MTIME = 1 << 15,
	BOT_HAS_MACHINE = 1 << 16,
	BOT_HAS_NODE = 1 << 17,
	BOT_HAS_CAPACITY = 1 << 18,
	BOT_HAS_PARALLEL = 1 << 19,
	BOT_HAS_STATE = 1 << 20,
	BOT_HAS_DELETION = 1 << 21, /* written "outcome" */
	BOT_HAS_REASON = 1 << 22,
	BOT_HAS_LINE = 1 << 23,
	BOT_HAS_COLUMN = 1 << 24,
	BOT_NATTRS = 25,
};

/* A message. Only what `has` says is there; the rest is zero. */
struct bot_message {
	enum bot_kind kind;
	unsigned has; /* of enum bot_attr */
	/* A word without blanks; its source never reuses it. */
	struct str id;
	struct str url;  /* visible ASCII, as `within` is */
	struct str file; /* below the folder, without . and .. and visible ASCII */
	struct str etag; /* as servers send it */
	struct str mime; /* "text/html" */
	struct str within;
	struct str cause;         /* robot_cause_name(), or what the robot itself refused */
	struct str machine, node; /* letters, digits, . _ - ; machine may be empty in <botm/> */
	struct str reason;
	uint64_t since, mtime; /* seconds since 1970 */
	uint64_t size, size_max, status, parallel, capacity, line, column;
	int64_t delay_us; /* written as a duration: "10s", "0" */
	bool robots;      /* "yes", "no" */
	bool is_up;       /* state: "up", "down" */
	enum outcome outcome;
	enum bot_deletion deletion;
	unsigned char md5[16];
};

/* Reads a message from a tag, which owns its slices. Skips unknown attributes. ERR_USAGE: an
 * unknown message, a missing attribute or a malformed value; err names it. */
int bot_message_read(const struct xml_tag *tag, struct bot_message *ret, struct err *err);
/* Appends the element and a line end. Prints the attributes that the kind knows and `has` names;
 * leaves out an etag or MIME type that XML cannot hold. */
void bot_message_print(const struct bot_message *m, struct buf *out);

/* Whether s is a valid name of a machine or node. */
bool bot_is_machine(struct str s) MUST_USE;

/* A copy whose texts are in the arena. */
struct bot_message bot_message_copy(const struct bot_message *m, struct arena *arena);

/* Messages out of a stream. `xml` is stopped, resynced and refused as in net/xml.h. */
struct bot_reader {
	struct xml_stream *xml;
	const struct bot_reader_ops *ops;
	void *ctx;
};

struct bot_reader_ops {
	/* Slices are valid during the call. May call xml_stream_stop(). */
	void (*message)(void *ctx, const struct bot_message *m);
	/* The input is not XML or not a known message. The reader stops, unless error() calls
	 * xml_stream_resync(). */
	void (*error)(void *ctx, const struct err *err, uint64_t line, uint64_t column);
};

/* Prints an error as the reason that the peer is told. */
void bot_error_print(const struct err *err, uint64_t line, uint64_t column,
		     char ret[BOT_REASON_MAX + 1]);

struct bot_reader *bot_reader_new(const struct bot_reader_ops *ops, void *ctx);
void bot_reader_free(struct bot_reader **r); /* not from inside its calls */
/* Reads bytes, in any pieces. Negative: the reader has stopped; error() was told why. */
int bot_reader_put(struct bot_reader *r, struct str bytes);
