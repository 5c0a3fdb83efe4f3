/* How often somebody has had something today: a table of garner.db, for all processes together. A
 * day is one of Greenwich. The table is bounded; once it is full, those who come anew share one
 * row, and so one share. */
#pragma once
#include "store/small.h"

enum { DAILY_ROWS = 65536, DAILY_WHO = 254 /* bytes; of longer names these count */ };

enum daily_kind {
	DAILY_MAILS,     /* that a mailbox or an address gets */
	DAILY_NEW_SITES, /* requests that are passed on to the master */
	DAILY_REQUESTS,  /* requests at the master */
	DAILY_RS,        /* mails with registrations */
	DAILY_KINDS
};

/* 0: these n are of the `most` of today, and counted; a power cut may take the count back. 1: they
 * would be more than that, and none is counted. who: in any case; an address of IPv6 counts as its
 * network of 64 bits. Never ERR_BUSY. */
int daily_take(const char *data, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err);
/* What was taken did not come about. */
void daily_give_back(const char *data, enum daily_kind kind, struct str who, uint32_t n,
		     int64_t now_us);

extern const struct small_table daily_table;
