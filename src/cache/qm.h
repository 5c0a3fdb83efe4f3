/* The role `qm`: the queue manager (document 004, section 6). It takes sets from notification
 * servers (doc/protocols/cache-link.md), has their URLs fetched by the botm that connects to it
 * (doc/protocols/bot.md), and is the only writer of the cache's database. */
#pragma once
#include "net/server.h"
#include "role/role.h"

struct qm_conf {
	const char *listen, *botm_listen;
	int64_t overload; /* percent */
	int64_t qdb_max;  /* rows of the queue */
	int64_t wheel_slots, wheel_step_us;
	int64_t retries, retry_wait_us, site_wait_us;
	int64_t old_after_us, expire_after_us;
	int64_t drain_us;
	struct server_limits limits;
	struct tls_conf tls;
};
extern const struct config_section qm_section;

extern const struct role qm_role;
