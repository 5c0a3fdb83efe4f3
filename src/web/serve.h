/* What all roles that serve HTTP do alike: their socket, log and counters, readiness, the end. */
#pragma once
#include "net/http.h"
#include "role/role.h"

/* Serves the setting `listen` until SIGTERM or SIGINT, then finishes what runs for at most
 * drain_us. Sets listen_fd, counters and done in a copy of the options. */
int web_serve(struct role_env *env, const struct http_options *with, int64_t drain_us,
	      struct err *err);
