/* The role `spider`: fetches what URL servers name (document 003). */
#pragma once
#include "role/role.h"

extern const struct role spider_role;
/* What the types of its settings cannot say: keys, who could connect, where results go. */
int spider_conf_check(const struct config *config, struct err *err);
/* Fails where robot.proxy is set: a proxy would look up the names itself, and fetch from another
 * address than the URL server said, whatever `networks` allows. */
int spider_proxy_check(const struct config *config, struct err *err);
