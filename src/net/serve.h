/* Shared by all roles that serve HTTP: socket, log, counters, readiness, the end. */
#pragma once
#include "net/http.h"
#include "role/role.h"

/* The section [web]: settings of the role web; `names` is used by all roles that serve HTTP. */
struct web_conf {
	const char *listen;
	struct http_names names;
	struct http_limits http;
	int64_t max_listeners, drain_us;
	bool access_log;
};
extern const struct config_section web_section;
/* Where links to the pages of role web begin, without a slash at the end: web.url, or else what
 * web.listen says, with the name of this machine where it listens on all addresses, or
 * http://localhost where that has no port that others can know. */
void web_base(const struct config *config, struct buf *out);

/* Serves on the socket of the setting `listen` until SIGTERM or SIGINT, then lets running requests
 * finish for at most drain_us. Sets listen_fd, names, counters and done in a copy of the options.
 */
int http_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	       struct err *err);
