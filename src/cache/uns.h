/* The role `uns`: the update notification server (document 004, section 5;
 * doc/protocols/lococa.md). */
#pragma once
#include "net/server.h"
#include "role/role.h"

struct uns_conf {
	const char *listen, *qm;
	bool plain;
	uint64_t set_bytes, unsdb_max;
	int64_t set_max, set_us, drain_us;
	struct server_limits limits;
	struct tls_conf tls;    /* towards providers */
	struct tls_conf tls_qm; /* towards the queue manager */
};
extern const struct config_section uns_section;

extern const struct role uns_role;
