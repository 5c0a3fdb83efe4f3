/* Counters of what tries came to: one for each code that has words of its own (code_all), and one
 * for all others of a class that has others. The labels say class and code, so that classes can be
 * summed up. */
#pragma once
#include "role/counters.h"
#include "shepherd/code.h"

/* clang-format off */
#define REAP_CODE_DEF(class, code) \
	{"codes", "class=\"" class "\",code=\"" code "\"", COUNTER_TOTAL, \
	 "Fetches by their code (doc/reap.md)."}
#define REAP_CODE_ROW(code, class, name, outcome, cause, words) REAP_CODE_DEF(name, #code),
#define REAP_CODE_DEFS \
	CODES(REAP_CODE_ROW) REAP_CODE_DEF("temporary", "other"), REAP_CODE_DEF("permanent", "other")
/* clang-format on */

enum { REAP_NCODES = sizeof((struct counter_def[]){REAP_CODE_DEFS}) / sizeof(struct counter_def) };

/* Which of them counts a code: 0 is the first of them. */
size_t reap_code_counter(uint16_t code);
