/* What all roles that serve HTTP do alike: their socket, log and counters, readiness, the end. */
#pragma once
#include "net/http.h"
#include "role/role.h"

/* By which names all roles that serve HTTP are known: web.url and web.names. */
const struct http_names *web_names(const struct config *config);

/* Serves the setting `listen` until SIGTERM or SIGINT, then finishes what runs for at most
 * drain_us. Sets listen_fd, names, counters and done in a copy of the options. */
int web_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	      struct err *err);
