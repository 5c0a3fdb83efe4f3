/* Dates as documents write them. */
#pragma once
#include "base/str.h"

/* Seconds since 1970 of W3C dates ("2024", "2024-05", "2024-05-06", "2024-05-06T10:11[:12[.3]]"
 * with Z, an offset or nothing), RFC 822 and 1123 dates ("Mon, 06 May 2024 10:11:12 +0200", with
 * zones by name), asctime, and plain seconds since 1970 of nine digits or more. What names no zone
 * is taken as UTC. Years 1970 to 9999. false: none of these; *ret_s is untouched. */
bool date_parse(struct str s, int64_t *ret_s) MUST_USE;
