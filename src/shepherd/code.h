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
/* Whether this code means that the whole site failed (cork). */
bool code_is_failure(uint16_t code);

/* All codes that have a name of their own, ascending: number, class, its name, outcome, cause and
 * words. The table of code.c and the counters (reap_counters.h) are made of it. */
/* clang-format off */
#define CODES(X) \
	X(0, OK, "ok", OK, ANSWER, "ok") \
	X(1, OK, "ok", REDIRECT, ANSWER, "it leads elsewhere") \
	X(2, OK, "ok", OK, ANSWER, "the address of its server was found") \
	X(3, OK, "ok", UNCHANGED, ANSWER, "unchanged (304)") \
	X(4, OK, "ok", UNCHANGED, ANSWER, "unchanged, the same text") \
	X(1104, SITE, "site", SITE_TEMPORARY, DNS, "no answer from name servers") \
	X(1107, CONNECTION, "connection", SITE_TEMPORARY, CONNECT, "the server could not be reached") \
	X(1138, PROXY, "proxy", SITE_TEMPORARY, PROXY, "the proxy failed") \
	X(1408, TEMPORARY, "temporary", TEMPORARY, TIME, "it took too long") \
	X(1420, TEMPORARY, "temporary", SITE_TEMPORARY, ANSWER, "too many requests (420)") \
	X(1425, TEMPORARY, "temporary", TEMPORARY, ANSWER, "too early (425)") \
	X(1429, TEMPORARY, "temporary", SITE_TEMPORARY, ANSWER, "too many requests (429)") \
	X(1500, TEMPORARY, "temporary", TEMPORARY, ANSWER, "an error of the server (500)") \
	X(1502, TEMPORARY, "temporary", TEMPORARY, CUT, "no complete answer came") \
	X(1503, TEMPORARY, "temporary", SITE_TEMPORARY, ANSWER, "the server is not available now") \
	X(1504, TEMPORARY, "temporary", TEMPORARY, ANSWER, "a server that it asked is silent (504)") \
	X(1507, TEMPORARY, "temporary", TEMPORARY, SINK, "no room to keep it") \
	X(1511, TEMPORARY, "temporary", SITE_TEMPORARY, ANSWER, "the network wants a login (511)") \
	X(2103, SITE, "site", SITE_PERMANENT, NO_NAME, "the server does not exist") \
	X(2105, SITE, "site", SITE_PERMANENT, DNS, "what name servers say cannot be used") \
	X(2134, SITE, "site", ADDRESS, ADDRESS, "its address is not allowed (robot.networks)") \
	X(2204, PERMANENT, "permanent", PERMANENT, ANSWER, "it asks not to be indexed") \
	X(2300, PERMANENT, "permanent", PERMANENT, NO_TARGET, "a redirect that leads nowhere") \
	X(2304, PERMANENT, "permanent", ROBOTS, ROBOTS, "robots.txt forbids it") \
	X(2306, PERMANENT, "permanent", SITE_PERMANENT, NO_NAME, "its site does not exist") \
	X(2308, PERMANENT, "permanent", PERMANENT, NO_TARGET, "it has led nowhere for too long") \
	X(2400, PERMANENT, "permanent", PERMANENT, URL, "not a URL that can be fetched") \
	X(2401, PERMANENT, "permanent", PERMANENT, ANSWER, "it wants a login") \
	X(2403, PERMANENT, "permanent", PERMANENT, ANSWER, "the server forbids it (403)") \
	X(2404, PERMANENT, "permanent", PERMANENT, ANSWER, "not found (404)") \
	X(2406, PERMANENT, "permanent", PERMANENT, ANSWER, "the filter rejects it, or the server (406)") \
	X(2410, PERMANENT, "permanent", PERMANENT, ANSWER, "gone for good (410)") \
	X(2413, PERMANENT, "permanent", LIMIT, BODY, "too large") \
	X(2415, PERMANENT, "permanent", PERMANENT, CODING, "of a coding or a type that cannot be read") \
	X(2422, PERMANENT, "permanent", PERMANENT, SINK, "its bucket cannot be read, or (422) the request") \
	X(2431, PERMANENT, "permanent", LIMIT, HEAD, "too large a head") \
	X(2451, PERMANENT, "permanent", PERMANENT, ANSWER, "withheld by law (451)")
/* clang-format on */

/* Their numbers. */
extern const uint16_t code_all[];
extern const size_t code_count;

/* "2404", "2400-2499", a name of an outcome, "all": whether a list of such has this code. */
struct value_list;
bool code_in(const struct value_list *list, uint16_t code);
/* ERR_USAGE names what is none of these. */
int code_list_check(const struct value_list *list, struct err *err);
