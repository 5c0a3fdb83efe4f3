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

/* The folders of botms: those that settings name, and all that are called cache/files,
 * cache/files@1 and so on in the data directory. Not all of them need be there. */
typedef void botm_folder_fn(void *ctx, const char *folder);
void botm_folders_each(const struct config *config, const char *data, botm_folder_fn *fn,
		       void *ctx);
/* The same with the machine, for those botms that settings name. */
typedef void botm_machine_fn(void *ctx, const char *machine, const char *folder);
void botm_machines_each(const struct config *config, const char *data, botm_machine_fn *fn,
			void *ctx);
