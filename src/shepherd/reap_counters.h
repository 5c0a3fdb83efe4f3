/* Counters of what tries came to: one for each code that has words of its own (code_all), and one
 * for all others of a class that has others. The labels say class and code, so that classes can be
 * summed up. */
#pragma once
#include "role/counters.h"

/* clang-format off */
#define REAP_CODE_DEF(class, code) \
	{"codes", "class=\"" class "\",code=\"" code "\"", COUNTER_TOTAL, \
	 "Tries by the code that they came to (doc/reap.md)."}
/* As code_all, then the others. */
#define REAP_CODE_DEFS \
	REAP_CODE_DEF("ok", "0"), \
	REAP_CODE_DEF("ok", "1"), \
	REAP_CODE_DEF("ok", "2"), \
	REAP_CODE_DEF("ok", "3"), \
	REAP_CODE_DEF("ok", "4"), \
	REAP_CODE_DEF("site", "1104"), \
	REAP_CODE_DEF("connection", "1107"), \
	REAP_CODE_DEF("proxy", "1138"), \
	REAP_CODE_DEF("temporary", "1408"), \
	REAP_CODE_DEF("temporary", "1420"), \
	REAP_CODE_DEF("temporary", "1425"), \
	REAP_CODE_DEF("temporary", "1429"), \
	REAP_CODE_DEF("temporary", "1500"), \
	REAP_CODE_DEF("temporary", "1502"), \
	REAP_CODE_DEF("temporary", "1503"), \
	REAP_CODE_DEF("temporary", "1504"), \
	REAP_CODE_DEF("temporary", "1507"), \
	REAP_CODE_DEF("temporary", "1511"), \
	REAP_CODE_DEF("site", "2103"), \
	REAP_CODE_DEF("site", "2105"), \
	REAP_CODE_DEF("site", "2134"), \
	REAP_CODE_DEF("permanent", "2204"), \
	REAP_CODE_DEF("permanent", "2300"), \
	REAP_CODE_DEF("permanent", "2304"), \
	REAP_CODE_DEF("permanent", "2306"), \
	REAP_CODE_DEF("permanent", "2308"), \
	REAP_CODE_DEF("permanent", "2400"), \
	REAP_CODE_DEF("permanent", "2401"), \
	REAP_CODE_DEF("permanent", "2403"), \
	REAP_CODE_DEF("permanent", "2404"), \
	REAP_CODE_DEF("permanent", "2406"), \
	REAP_CODE_DEF("permanent", "2410"), \
	REAP_CODE_DEF("permanent", "2413"), \
	REAP_CODE_DEF("permanent", "2415"), \
	REAP_CODE_DEF("permanent", "2422"), \
	REAP_CODE_DEF("permanent", "2431"), \
	REAP_CODE_DEF("permanent", "2451"), \
	REAP_CODE_DEF("temporary", "other"), \
	REAP_CODE_DEF("permanent", "other")
/* clang-format on */

enum { REAP_NCODES = sizeof((struct counter_def[]){REAP_CODE_DEFS}) / sizeof(struct counter_def) };

/* Which of them counts a code. */
size_t reap_code_counter(uint16_t code);
/* One more try that came to this. at: where they begin in the role's counters. counters NULL:
 * nobody counts. */
void reap_count_code(struct counters *counters, size_t at, uint16_t code);
