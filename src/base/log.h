/* The log: key=value lines on standard error.
 *   2026-11-15T09:03:55.123Z info up: ready role=web pid=123
 * Levels: error (ours, needs a hand), warn (ours, went on), outside (trouble that the outside world
 * caused: never an alarm), info, and debug 1 to 9 by section. Sections have numbers, as the
 * broker's -D option wants them, and names. The section stands before the colon, and before it the
 * name given to log_start() when that is another: "up:", "web/role:".
 * A message is our own text; foreign text belongs in values, which are quoted unless they consist
 * of letters, digits and _./:@%+,=- alone: \" \\ \n \xNN. Whatever is not visible UTF-8 is escaped
 * in both. A line is one write(2) of less than 4 KiB; what was cut ends in cut=yes.
 * A line equal to one of the last 8 distinct ones, written less than 10 s ago, is counted; when
 * the 10 s are over the next call writes it again with repeated=N.
 * To the journal of systemd ($JOURNAL_STREAM) lines go with <3> to <7> in place of the time.
 * The log and the signal flag are the only mutable globals of the program. Thread-safe. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* symbol, number, name, and what it speaks of */
#define LOG_SECTIONS(X)                                           \
	X(MAIN, 1, "main", "start and end of a process")          \
	X(UP, 2, "up", "the supervisor")                          \
	X(ROLE, 3, "role", "what all roles share")                \
	X(CONFIG, 4, "config", "configuration")                   \
	X(FILES, 5, "files", "files and faults")                  \
	X(HTTP, 6, "http", "HTTP servers and their requests")     \
	X(REGISTRY, 70, "registry", "broker: the registry")       \
	X(COLLECTOR, 71, "collector", "broker: the collector")    \
	X(PARSER, 72, "parser", "broker: the query parser")       \
	X(HASH, 73, "hash", "broker: the registry's hash tables") \
	X(STORE, 74, "store", "broker: the storage manager")      \
	X(QUERY, 75, "query", "broker: the query manager")        \
	X(EVENT, 76, "event", "broker: events")                   \
	X(BROKER, 77, "broker", "broker: main")                   \
	X(SELECT, 78, "select", "broker: the select loop")

enum log_section {
#define X(symbol, number, name, help) LOG_##symbol,
	LOG_SECTIONS(X)
#undef X
		LOG_NSECTIONS
};

enum log_level { LOG_ERROR, LOG_WARN, LOG_OUTSIDE, LOG_INFO, LOG_DEBUG };

struct log_kv {
	const char *key;
	enum { LOG_KV_END, LOG_KV_STR, LOG_KV_INT, LOG_KV_UINT, LOG_KV_TIME } type;
	union {
		struct str s;
		int64_t i;
		uint64_t u;
	};
};

/* What stands after the message; values are quoted where they need it, so that foreign text cannot
 * break or forge a line. */
#define KV_STR(k, v) ((struct log_kv){.key = (k), .type = LOG_KV_STR, .s = (v)})
#define KV_TEXT(k, v) KV_STR(k, str_of(v))
#define KV_INT(k, v) ((struct log_kv){.key = (k), .type = LOG_KV_INT, .i = (v)})
#define KV_UINT(k, v) ((struct log_kv){.key = (k), .type = LOG_KV_UINT, .u = (v)})
#define KV_DURATION(k, us) ((struct log_kv){.key = (k), .type = LOG_KV_TIME, .i = (us)})

/* log_info(UP, "role ready", KV_TEXT("role", name), KV_INT("pid", pid)); the list may be empty. */
#define LOG_LIST(...) ((const struct log_kv[]){__VA_ARGS__ __VA_OPT__(, ){.key = NULL}})
#define log_error(section, msg, ...) log_write(LOG_ERROR, LOG_##section, msg, LOG_LIST(__VA_ARGS__))
#define log_warn(section, msg, ...) log_write(LOG_WARN, LOG_##section, msg, LOG_LIST(__VA_ARGS__))
#define log_outside(section, msg, ...) \
	log_write(LOG_OUTSIDE, LOG_##section, msg, LOG_LIST(__VA_ARGS__))
#define log_info(section, msg, ...) log_write(LOG_INFO, LOG_##section, msg, LOG_LIST(__VA_ARGS__))
/* level 1 to 9; costs a load and a compare when off */
#define log_debug(section, level, msg, ...)                                        \
	(UNLIKELY(log_debugs(LOG_##section, level))                                \
		 ? log_write(LOG_DEBUG, LOG_##section, msg, LOG_LIST(__VA_ARGS__)) \
		 : (void)0)

void log_write(enum log_level level, enum log_section section, const char *msg,
	       const struct log_kv *list);

extern uint8_t log_debug_levels[LOG_NSECTIONS]; /* atomic; log_debug_set() writes */
static inline bool log_debugs(enum log_section section, int level)
{
	return __atomic_load_n(&log_debug_levels[section], __ATOMIC_RELAXED) >= level;
}

/* name: the role (at most 31 bytes); fd: where lines go (2 at first). Call once, before threads. */
void log_start(const char *name, int fd);
void log_flush(void); /* says the repeats that are still held back */

/* "70,5" or "registry,5" (as in -D), "registry:5", "70", "all:3"; lists "registry:5,query,71:2".
 * A single digit after a comma is the level of the section before it. No level means all of them,
 * 0 none. Other sections keep theirs. Nothing is changed on failure. */
int log_debug_set(struct str spec, struct err *err);
int log_debug_check(struct str spec, struct err *err); /* the same, and nothing is changed */
void log_debug_reset(void);                            /* no section says more than info */

/* The inside of the log, which its tests look at: how a line reads and how repeats are folded.
 * A line with its time, its repeats and its end stays below PIPE_BUF (4,096 bytes), so that lines
 * of several processes in one pipe never mix. */
enum {
	LOG_BODY_MAX = 3968, /* from the level on; what does not fit is cut and marked "cut=yes" */
	LOG_BODY_TAIL = 16,  /* for that mark */
	LOG_FOLD_LINES = 8,  /* so many distinct lines are remembered */
};
#define LOG_FOLD_US INT64_C(10000000) /* for so long from the time they were written */

/* Replaces out by "info web/role: ready pid=123"; name may be empty. */
void log_line(struct buf *out, const char *name, enum log_level level, enum log_section section,
	      const char *msg, const struct log_kv *list);

/* Appends " key=value" for each, for other logs; past the limit of the buffer by LOG_BODY_TAIL
 * where " cut=yes" says that something is missing. */
void log_add_list(struct buf *out, const struct log_kv *list);

struct log_fold {
	struct log_fold_line {
		int64_t since_us; /* written then */
		uint64_t repeats; /* came again so often, unwritten */
		enum log_level level;
		size_t n; /* 0: none */
		char text[LOG_BODY_MAX + LOG_BODY_TAIL];
	} line[LOG_FOLD_LINES];
	size_t oldest;
};

/* Called for a line that is to be written now; repeated > 0: how often it came again. */
typedef void log_emit_fn(void *ctx, enum log_level level, struct str line, uint64_t repeated);

/* Writes a line or counts it, after the repeats whose time is over or whose place it takes. */
void log_fold_add(struct log_fold *f, int64_t now_us, enum log_level level, struct str line,
		  log_emit_fn *emit, void *ctx);
/* All the repeats, and nothing is remembered. */
void log_fold_flush(struct log_fold *f, log_emit_fn *emit, void *ctx);
