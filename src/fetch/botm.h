/* The role `botm`: the robot multiplexer (document 004, section 7; doc/protocols/bot.md). */
#pragma once
#include "net/server.h"
#include "role/role.h"

/* The section [botm]; a source of URLs on the same machine uses its limits, its overload and its
 * keys. */
struct botm_conf {
	const char *listen, *source, *machine, *folder;
	int64_t overload; /* percent */
	struct server_limits limits;
	struct tls_conf tls;
};
extern const struct config_section botm_section;

extern const struct role botm_role;

/* The machine and folder of each botm that settings name and that has one. The folder need not be
 * there. */
typedef void botm_machine_fn(void *ctx, const char *machine, const char *folder);
void botm_machines_each(const struct config *config, const char *data, botm_machine_fn *fn,
			void *ctx);
