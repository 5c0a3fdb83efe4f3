/* Codes: what came of a try, in one number that journal, index and reapers share (doc/reap.md):
 * 0 to 4 went well, 1xxx is temporary, 2xxx permanent, 3xxx stands in the index alone. One table
 * has them all. */
#pragma once
#include "fetch/robot.h"

enum code {
	CODE_OK = 0,
	CODE_REDIRECT = 1,
	CODE_RESOLVED = 2,
	CODE_NOT_MODIFIED = 3, /* 304 */
	CODE_SAME = 4,         /* the same MD5 */
	CODE_TEMPORARY = 1000, /* and from here on: plus HTTP status, or one of these */
	CODE_NO_ANSWER_DNS = 1104,
	CODE_CONNECTION = 1107,
	CODE_PROXY = 1138,
	CODE_TIME = 1408,
	CODE_BROKEN = 1502,
	CODE_NOT_KEPT = 1507,
	CODE_PERMANENT = 2000,
	CODE_NO_HOST = 2103,
	CODE_BROKEN_DNS = 2105,
	CODE_ADDRESS = 2134,
	CODE_NOINDEX = 2204,
	CODE_NOWHERE = 2300, /* a redirect without a target, or too many */
	CODE_ROBOTS = 2304,
	CODE_NO_SITE = 2306,
	CODE_REDIRECT_ZOMBIE = 2308,
	CODE_BAD_URL = 2400,
	CODE_REJECTED = 2406,
	CODE_GONE = 2410,
	CODE_TOO_LARGE = 2413,
	CODE_CODING = 2415,
	CODE_LOST = 2422,
	CODE_HEAD = 2431,
	CODE_SLEEPS = 3000, /* plus enum crawl_limit */
	CODE_END = 4000,
};

enum code_class {
	CODE_CLASS_OK,         /* 0 to 4, and what was never tried */
	CODE_CLASS_SITE,       /* holds for the whole site: off for the rest of the cycle */
	CODE_CLASS_CONNECTION, /* 1107 */
	CODE_CLASS_PROXY,      /* 1138 */
	CODE_CLASS_TEMPORARY,
	CODE_CLASS_PERMANENT,
	CODE_CLASS_SLEEPS,
	CODE_CLASSES,
};
extern const char *const code_class_names[CODE_CLASSES]; /* "ok", "site", "connection" ... */
enum code_class code_class(uint16_t code);

/* What a fetch came to. Not for ROBOT_CAUSE_NOT_NOW, _STOPPED, _TABLE, which say nothing of it. */
uint16_t code_of(enum outcome outcome, enum robot_cause cause, int status);
/* What queues and politeness have to know. */
enum outcome code_outcome(uint16_t code);
/* Why, as the robot names it; what this machine could not keep, or read again, is its sink. */
enum robot_cause code_cause(uint16_t code);
/* For people: "not found (404)", "robots.txt forbids it"; never NULL, in room of 64 bytes. */
enum { CODE_TEXT = 64 };
const char *code_text(uint16_t code, char ret[CODE_TEXT]);
/* Whether a try with this code says that nothing of its site can be had (cork). */
bool code_is_failure(uint16_t code);

/* All codes that have a name of their own, ascending; for counters. */
extern const uint16_t code_all[];
extern const size_t code_count;

/* "2404", "2400-2499", a name of an outcome, "all": whether a list of such has this code. */
struct value_list;
bool code_in(const struct value_list *list, uint16_t code);
/* ERR_USAGE names what is none of these. */
int code_list_check(const struct value_list *list, struct err *err);
