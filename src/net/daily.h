/* Daily quotas: how much each sender has used today, in a table of garner.db that all processes
 * share. Days are UTC. The table is bounded: once it is full, all new senders share one row and
 * its quota. */
#pragma once
#include "store/small.h"

enum { DAILY_ROWS = 65536, DAILY_WHO = 254 /* bytes; a longer name is cut */ };

enum daily_kind {
	DAILY_MAILS,     /* that a mailbox or an address gets */
	DAILY_NEW_SITES, /* requests that are passed on to the master */
	DAILY_REQUESTS,  /* requests at the master */
	DAILY_RS,        /* mails with registrations */
	DAILY_KINDS
};

/* Counts n more for a sender. 1: today's total would exceed `most`; nothing was counted. A power
 * cut may undo the count. who: case does not matter; an IPv6 address counts as its /64 network.
 * Never ERR_BUSY. */
int daily_take(const char *data, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err);
/* Undoes daily_take(). */
void daily_give_back(const char *data, enum daily_kind kind, struct str who, uint32_t n,
		     int64_t now_us);

extern const struct small_table daily_table;
