/* How often somebody has had something today: counts, in a small file, archie/daily, for all
 * processes together. A day is one of Greenwich. However many senders there are, the file does not
 * grow beyond its cells, and nobody is refused for their number alone; but one whom chance puts
 * into the cells of others may have less than his share (doc/decisions/archie.md). Layout:
 * doc/formats/daily.md. */
#pragma once
#include "disk/format.h"

enum { DAILY_CELLS = 1 << 16 }; /* of each kind */

enum daily_kind { DAILY_MAILS, DAILY_NEW_SITES };

/* 0: these n are of the `most` of today, and counted, durable. 1: they would be more than that, and
 * none is counted. who: in any case. folder: archie/. */
int daily_take(const char *folder, enum daily_kind kind, struct str who, uint32_t n, uint32_t most,
	       int64_t now_us, struct err *err);
/* What was taken did not come about. */
int daily_give_back(const char *folder, enum daily_kind kind, struct str who, uint32_t n,
		    int64_t now_us, struct err *err);

extern const struct format daily_format;
