/* Plans: what the configuration asks of the supervisor, made whole or not at all, so that a reload
 * either takes effect or changes nothing. */
#pragma once
#include "cmd/command.h"

struct up_conf {
	struct value_list roles;
	int64_t ready_timeout_us, stop_timeout_us, restart_min_us, restart_max_us, steady_us;
};
extern const struct config_section up_section;
/* What the table cannot say: roles that there are, each once; bounds in their order. Every
 * configuration that cmd_load() gives has passed it. */
int up_conf_check(const struct program *program, const struct config *config, struct err *err);

struct up_socket {
	const struct role *role;
	const char *key;  /* of the setting */
	const char *text; /* its value, the configuration's own text */
	int fd;           /* -1: closed for good */
};

struct up_plan {
	struct config *config;
	const struct up_conf *conf; /* inside config */
	size_t *order;              /* indexes of all the program's roles: first those to run, in */
	size_t nlisted;             /* their order, then the others */
	struct up_socket *socket;
	size_t nsockets, socket_room;
};

/* Takes over the configuration on success. The listening sockets are opened; those that `before`
 * (NULL: none) has for the same setting with the same text are shared with it, so that no
 * connection is lost. */
int up_plan_make(struct up_plan *ret, const struct program *program, struct config **config,
		 const struct up_plan *before, struct err *err);
void up_plan_free(struct up_plan *plan); /* closes its sockets, not those of other plans */

bool up_plan_lists(const struct up_plan *plan, size_t role);
/* Whether a role runs differently under b. */
bool up_plan_differs(const struct up_plan *a, const struct up_plan *b, const struct role *role);
void up_plan_close_sockets(struct up_plan *plan, const struct role *role);
