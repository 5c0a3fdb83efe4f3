/* How often somebody has had something today: counts of senders, in a small file, archie/daily, for
 * all processes together. A day is one of Greenwich. doc/formats/daily.md. */
#pragma once
#include "disk/format.h"

enum { DAILY_SENDERS_MOST = 20000 }; /* of a day, of all kinds; further ones get nothing */

enum daily_kind { DAILY_MAILS, DAILY_NEW_SITES };

/* 0: these n are of the `most` of today, and counted, durable. 1: they would be more than that, and
 * none is counted. who: in any case. folder: archie/. */
int daily_take(const char *folder, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err);
/* What was taken did not come about. */
int daily_give_back(const char *folder, enum daily_kind kind, struct str who, uint32_t n,
		    int64_t now_us, struct err *err);

extern const struct format daily_format;
