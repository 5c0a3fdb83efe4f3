/* Plans: what the configuration asks of the supervisor, made whole or not at all, so that a reload
 * either takes effect or changes nothing. */
#pragma once
#include "cmd/system/role_main.h"

struct up_conf {
	struct value_list roles;
	int64_t ready_timeout_us, stop_timeout_us, restart_min_us, restart_max_us, steady_us;
};
extern const struct config_section up_section;
/* What the table cannot say: roles that there are, each once; bounds in their order. Every
 * configuration that cmd_load() gives has passed it. */
int up_conf_check(const struct program *program, const struct config *config, struct err *err);

/* Whether who connects there comes to who listens here; hosts are compared as far as texts go. */
bool up_is_same_door(const char *listen, const char *to);

/* A process that there may be: a role, or one of several of it. */
struct up_unit {
	const struct role *role;
	char name[COUNTERS_INSTANCE_MAX]; /* "web", "bot@2" */
};

struct up_socket {
	const struct up_unit *unit;
	struct role_listen listen;
	int fd; /* -1: closed for good */
};

struct up_plan {
	struct config *config;
	const struct up_conf *conf; /* inside config */
	/* First those to run, in their order; then the program's other roles, and what the plan
	 * before this had. */
	struct up_unit *unit;
	size_t nunits, unit_room, nlisted;
	struct up_socket *socket;
	size_t nsockets, socket_room;
};

/* Those that a configuration lists, as the first units of a plan that has nothing else. */
void up_plan_list(struct up_plan *ret, const struct program *program, const struct config *config);

/* Takes over the configuration on success. The listening sockets are opened; those that `before`
 * (NULL: none) has for the same setting with the same text are shared with it, so that no
 * connection is lost. */
int up_plan_make(struct up_plan *ret, const struct program *program, struct config **config,
		 const struct up_plan *before, struct err *err);
void up_plan_free(struct up_plan *plan); /* closes its sockets, not those of other plans */

bool up_plan_lists(const struct up_plan *plan, const char *name);
/* Whether a unit runs differently under b. */
bool up_plan_differs(const struct up_plan *a, const struct up_plan *b, const struct role *role,
		     const char *name);
/* Whether an earlier socket of the plan has the same address, for another process of the role. */
bool up_plan_told_before(const struct up_plan *plan, const struct up_socket *socket);
void up_plan_close_sockets(struct up_plan *plan, const char *name);
