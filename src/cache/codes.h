/* Errors as providers are told of them (doc/protocols/lococa.md). */
#pragma once
#include "base/buf.h"

#define CACHE_CODES(X)                                      \
	X(100, UNKNOWN, "unknown provider")                 \
	X(101, PASSWORD, "wrong password")                  \
	X(102, LATER, "try again later")                    \
	X(103, UNVERIFIED, "not verified yet")              \
	X(104, FULLSETS, "too many full sets")              \
	X(200, SYNTAX, "syntax error")                      \
	X(201, MIME, "type not allowed")                    \
	X(202, PREFIX, "outside the provider's prefixes")   \
	X(203, QUOTA, "over quota")                         \
	X(300, DNS, "name not found")                       \
	X(301, CONNECT, "no connection")                    \
	X(302, TIMEOUT, "timed out")                        \
	X(303, ROBOTS, "forbidden by robots.txt")           \
	X(304, NOT_FOUND, "not found")                      \
	X(305, TOO_LARGE, "too large")                      \
	X(306, WRONG_MIME, "not the type that was said")    \
	X(307, WRONG_MD5, "not the checksum that was said") \
	X(308, RETRIES, "retried in vain")                  \
	X(309, SERVER, "error of the server")               \
	X(900, INTERNAL, "internal error")

enum cache_code {
#define X(number, symbol, text) CACHE_##symbol = number,
	CACHE_CODES(X)
#undef X
};
const char *cache_code_text(unsigned code); /* of others: "error" */

/* Of a receipt: "306 not the type that was said: is text/plain". Where why only repeats what the
 * code means it is left out. */
void cache_code_print(unsigned code, struct str why, struct buf *out);
