/* Plans of the supervisor: the section `up`, the order of the roles, their listening sockets. A
 * plan is made whole or not at all. */
#include "cmd/up_plan.h"

#include "base/clock.h"
#include "base/vec.h"
#include "cmd/proc.h"
#include "cmd/role_main.h"
#include "role/listen.h"

#include <fcntl.h>
#include <unistd.h>

static const struct value_spec up_specs[] = {
	{"roles", VALUE_LIST_AT(struct up_conf, roles),
	 .help = "The roles to run, in the order of their start; none named: all but docs, reapd "
		 "and archie-getter"},
	{"ready_timeout", VALUE_TIME_AT(struct up_conf, ready_timeout_us), .fallback = "30s",
	 .min = US_PER_MS, .max = US_PER_DAY,
	 .help = "How long a role may take to get ready before it is killed and tried again"},
	{"stop_timeout", VALUE_TIME_AT(struct up_conf, stop_timeout_us), .fallback = "10s",
	 .min = US_PER_MS, .max = US_PER_DAY,
	 .help = "How long a role may take to finish its work before it is killed"},
	{"restart_min", VALUE_TIME_AT(struct up_conf, restart_min_us), .fallback = "100ms",
	 .min = US_PER_MS, .max = US_PER_DAY,
	 .help = "The delay before a failed role is started again; doubled with each failure"},
	{"restart_max", VALUE_TIME_AT(struct up_conf, restart_max_us), .fallback = "30s",
	 .min = US_PER_MS, .max = US_PER_DAY, .help = "The longest such delay"},
	{"steady", VALUE_TIME_AT(struct up_conf, steady_us), .fallback = "10s", .min = US_PER_MS,
	 .max = US_PER_DAY,
	 .help = "A role that was ready this long starts again at the shortest delay"},
};

const struct config_section up_section = {
	.name = "up",
	.help = "The supervisor: which roles run, and how they are started, restarted and stopped.",
	.size = sizeof(struct up_conf),
	.specs = up_specs,
	.nspecs = ARRAY_LEN(up_specs),
};

/* Fails for a key of this section, naming the place where its value was set. */
static int setting_is_wrong(const struct config *config, const char *key, const char *problem,
			    const char *what, struct err *err)
{
	const struct value_spec *spec = value_find(up_specs, ARRAY_LEN(up_specs), str_of(key));
	return err_set(err, ERR_USAGE, "%s: up.%s: %s%s%s",
		       config_origin(config, &up_section, spec), key, problem, what ? " " : "",
		       what ? what : "");
}

static size_t role_index(const struct program *program, const char *name)
{
	size_t i = 0;
	while (i < program->nroles && strcmp(program->roles[i]->name, name) != 0)
		i++;
	return i;
}

int up_conf_check(const struct program *program, const struct config *config, struct err *err)
{
	const struct up_conf *conf = config_get(config, &up_section);
	const struct value_list *list = &conf->roles;
	if (conf->restart_min_us > conf->restart_max_us)
		return setting_is_wrong(config, "restart_min", "longer than up.restart_max", NULL,
					err);
	for (size_t i = 0; i < list->n; i++) {
		if (role_index(program, list->item[i]) == program->nroles)
			return setting_is_wrong(config, "roles", "there is no role", list->item[i],
						err);
		for (size_t k = 0; k < i; k++)
			if (strcmp(list->item[k], list->item[i]) == 0)
				return setting_is_wrong(config, "roles",
							"named twice:", list->item[i], err);
	}
	return 0;
}

bool up_plan_lists(const struct up_plan *plan, size_t role)
{
	for (size_t i = 0; i < plan->nlisted; i++)
		if (plan->order[i] == role)
			return true;
	return false;
}

static void make_order(struct up_plan *plan, const struct program *program)
{
	const struct value_list *list = &plan->conf->roles;
	plan->order = mem_array(program->nroles, sizeof *plan->order);
	for (size_t i = 0; i < list->n; i++)
		plan->order[plan->nlisted++] = role_index(program, list->item[i]);
	for (size_t i = 0; list->n == 0 && i < program->nroles; i++)
		if (!program->roles[i]->only_named)
			plan->order[plan->nlisted++] = i;
	size_t n = plan->nlisted;
	for (size_t i = 0; i < program->nroles; i++)
		if (!up_plan_lists(plan, i))
			plan->order[n++] = i;
}

static const struct up_socket *find_socket(const struct up_plan *plan, const struct up_socket *like)
{
	for (size_t i = 0; plan && i < plan->nsockets; i++) {
		const struct up_socket *s = &plan->socket[i];
		if (s->fd >= 0 && s->role == like->role && strcmp(s->key, like->key) == 0 &&
		    strcmp(s->text, like->text) == 0)
			return s;
	}
	return NULL;
}

/* Opens it, or shares the one that is open already. */
static int open_socket(struct up_socket *s, const struct up_plan *before, struct err *err)
{
	const struct up_socket *old = find_socket(before, s);
	if (old) {
		s->fd = fcntl(old->fd, F_DUPFD_CLOEXEC, PROC_SAFE_FD);
		return s->fd < 0 ? err_sys(err, "the socket of %s.%s", s->role->name, s->key) : 0;
	}
	if (listen_open(s->text, &s->fd, err) < 0)
		return err_in(err, "%s.%s", s->role->name, s->key);
	return proc_safe_fd(&s->fd, err);
}

static int open_sockets_of(struct up_plan *plan, const struct role *role,
			   const struct up_plan *before, struct err *err)
{
	struct role_listen listens[ROLE_MOST_LISTENS];
	size_t n = role_listens(role, plan->config, listens);
	VEC_ROOM(plan->socket, plan->socket_room, plan->nsockets + n);
	for (size_t i = 0; i < n; i++) {
		struct up_socket *s = &plan->socket[plan->nsockets];
		*s = (struct up_socket){role, listens[i].key, listens[i].text, -1};
		plan->nsockets++;
		if (open_socket(s, before, err) < 0)
			return -1;
	}
	return 0;
}

static int fill_plan(struct up_plan *plan, const struct program *program,
		     const struct up_plan *before, struct err *err)
{
	plan->conf = config_get(plan->config, &up_section);
	make_order(plan, program);
	for (size_t i = 0; i < plan->nlisted; i++)
		if (open_sockets_of(plan, program->roles[plan->order[i]], before, err) < 0)
			return -1;
	return 0;
}

int up_plan_make(struct up_plan *ret, const struct program *program, struct config **config,
		 const struct up_plan *before, struct err *err)
{
	struct up_plan plan = {.config = *config};
	if (fill_plan(&plan, program, before, err) < 0) {
		plan.config = NULL;
		up_plan_free(&plan);
		return -1;
	}
	*config = NULL;
	*ret = plan;
	return 0;
}

void up_plan_free(struct up_plan *plan)
{
	for (size_t i = 0; i < plan->nsockets; i++)
		if (plan->socket[i].fd >= 0)
			close(plan->socket[i].fd);
	mem_free(&plan->socket);
	mem_free(&plan->order);
	config_free(&plan->config);
	*plan = (struct up_plan){0};
}

bool up_plan_differs(const struct up_plan *a, const struct up_plan *b, const struct role *role)
{
	return !config_section_equal(a->config, b->config, &global_section) ||
	       (role->section && !config_section_equal(a->config, b->config, role->section));
}

void up_plan_close_sockets(struct up_plan *plan, const struct role *role)
{
	for (size_t i = 0; i < plan->nsockets; i++) {
		struct up_socket *s = &plan->socket[i];
		if (s->role != role || s->fd < 0)
			continue;
		close(s->fd);
		s->fd = -1;
	}
}
