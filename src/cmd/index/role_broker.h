/* The role `broker`, and what `garner config check` asks of its settings. */
#pragma once
#include "role/role.h"

extern const struct role broker_role;

/* Looks at what a start would read: the sources, and Collection.conf, whose path goes to *ret_read,
 * a buffer of PATH_MAX; "": there is none. Lines that cannot be taken are added to `problems`, a
 * line each; a start logs them and goes on. ERR_USAGE: it would not start. */
int broker_check(const struct config *config, const char *data, char *ret_read,
		 struct buf *problems, struct err *err);
