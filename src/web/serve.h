/* What all roles that serve HTTP do alike: their socket, log and counters, readiness, the end. */
#pragma once
#include "net/http.h"
#include "role/role.h"

/* By which names all roles that serve HTTP are known: web.url and web.names. */
const struct http_names *web_names(const struct config *config);
/* Where links to the pages of role web begin, without a slash at the end: web.url, or else what
 * web.listen says, with the name of this machine where it listens on all addresses. */
void web_base(const struct config *config, struct buf *out);

/* Serves the setting `listen` until SIGTERM or SIGINT, then finishes what runs for at most
 * drain_us. Sets listen_fd, names, counters and done in a copy of the options. */
int web_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	      struct err *err);
