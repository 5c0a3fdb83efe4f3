/* Plans of the supervisor: the section `up`, the order of the roles, their listening sockets. A
 * plan is made completely or not at all. */
#include "cmd/system/up_plan.h"

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/vec.h"
#include "cmd/system/proc.h"
#include "role/listen.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static const struct value_spec up_specs[] = {
	{"roles", VALUE_LIST_AT(struct up_conf, roles),
	 .help = "Roles to run, in the order of their start; repeat a name to run several copies, "
		 "bot@1 bot@2, each with a section of its own if it needs one; empty: web, "
		 "shepherd "
		 "and broker"},
	{"ready_timeout", VALUE_TIME_AT(struct up_conf, ready_timeout_us), .fallback = "30s",
	 .min = US_PER_MS, .max = US_PER_DAY,
	 .help = "Time allowed for a role to get ready before it is killed and started again"},
	{"stop_timeout", VALUE_TIME_AT(struct up_conf, stop_timeout_us), .fallback = "10s",
	 .min = US_PER_MS, .max = US_PER_DAY,
	 .help = "Time allowed for a role to finish its work before it is killed"},
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

static const struct role *role_named(const struct program *program, const char *name)
{
	for (size_t i = 0; i < program->nroles; i++)
		if (cmd_role_is(program->roles[i], str_of(name)))
			return program->roles[i];
	return NULL;
}

/* A port that the kernel chooses is another one each time, and datagrams can be divided. */
static bool same_address(const struct role_listen *a, const struct role_listen *b)
{
	return strcmp(a->text, b->text) == 0 && !str_ends(str_of(a->text), STR(":0")) &&
	       !endpoint_is_udp(str_of(a->text));
}

/* Two of one role that listen on one address: the second would only say that it is in use. */
static int listens_differ(const struct config *config, const struct up_unit *a,
			  const struct up_unit *b, struct err *err)
{
	struct role_listen of_a[ROLE_MOST_LISTENS], of_b[ROLE_MOST_LISTENS];
	size_t na = role_listens(a->role, a->name, config, of_a);
	size_t nb = role_listens(b->role, b->name, config, of_b);
	for (size_t i = 0; i < na; i++)
		for (size_t k = 0; k < nb; k++)
			if (same_address(&of_a[i], &of_b[k]))
				return err_set(err, ERR_USAGE,
					       "%s.%s and %s.%s are the same address, %s: each "
					       "needs its own",
					       a->name, of_a[i].key, b->name, of_b[k].key,
					       of_a[i].text);
	return 0;
}

static int instances_differ(const struct program *program, const struct config *config,
			    struct err *err)
{
	struct up_plan plan;
	int rc = 0;
	up_plan_list(&plan, program, config);
	for (size_t i = 0; i < plan.nlisted; i++)
		for (size_t k = 0; k < i && rc == 0; k++)
			if (plan.unit[i].role == plan.unit[k].role)
				rc = listens_differ(config, &plan.unit[k], &plan.unit[i], err);
	up_plan_free(&plan);
	return rc;
}

bool up_is_same_door(const char *listen, const char *to)
{
	static const char *const near[] = {"127.0.0.1", "localhost", "[::1]"};
	const char *port = strrchr(listen, ':');
	if (strcmp(listen, to) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(near); i++)
		if (str_starts(str_of(to), str_of(near[i])) && port &&
		    strcmp(to + strlen(near[i]), port) == 0)
			return true;
	return false;
}

int up_conf_check(const struct program *program, const struct config *config, struct err *err)
{
	const struct up_conf *conf = config_get(config, &up_section);
	const struct value_list *list = &conf->roles;
	if (conf->restart_min_us > conf->restart_max_us)
		return setting_is_wrong(config, "restart_min", "longer than up.restart_max", NULL,
					err);
	for (size_t i = 0; i < list->n; i++) {
		if (!role_named(program, list->item[i]))
			return setting_is_wrong(config, "roles", "there is no role", list->item[i],
						err);
		for (size_t k = 0; k < i; k++)
			if (strcmp(list->item[k], list->item[i]) == 0)
				return setting_is_wrong(config, "roles",
							"named twice:", list->item[i], err);
	}
	return instances_differ(program, config, err);
}

static bool has_unit(const struct up_plan *plan, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(plan->unit[i].name, name) == 0)
			return true;
	return false;
}

bool up_plan_lists(const struct up_plan *plan, const char *name)
{
	return has_unit(plan, plan->nlisted, name);
}

static void add_unit(struct up_plan *plan, const struct role *role, const char *name)
{
	if (has_unit(plan, plan->nunits, name))
		return;
	struct up_unit *u = VEC_PUSH(plan->unit, plan->nunits, plan->unit_room);
	*u = (struct up_unit){.role = role};
	snprintf(u->name, sizeof u->name, "%s", name);
}

/* Adds the units that a name in up.roles stands for. */
static void add_listed(struct up_plan *plan, const struct role *role, const char *name,
		       const struct config *config)
{
	char one[COUNTERS_INSTANCE_MAX];
	if (!role->processes || strcmp(name, role->name) != 0) {
		add_unit(plan, role, name);
		return;
	}
	const struct value_spec *spec =
		value_find(role->section->specs, role->section->nspecs, str_of(role->processes));
	int64_t n;
	memcpy(&n, (const char *)config_get(config, role->section) + spec->offset, sizeof n);
	for (int64_t i = 1; i <= n; i++) {
		snprintf(one, sizeof one, "%s@%lld", role->name, (long long)i);
		add_unit(plan, role, one);
	}
}

void up_plan_list(struct up_plan *ret, const struct program *program, const struct config *config)
{
	*ret = (struct up_plan){.conf = config_get(config, &up_section)};
	const struct value_list *list = &ret->conf->roles;
	for (size_t i = 0; i < list->n; i++)
		add_listed(ret, role_named(program, list->item[i]), list->item[i], config);
	for (size_t i = 0; list->n == 0 && i < program->nroles; i++)
		if (!program->roles[i]->only_named)
			add_listed(ret, program->roles[i], program->roles[i]->name, config);
	ret->nlisted = ret->nunits;
}

static const struct up_socket *find_socket(const struct up_plan *plan, const struct up_socket *like)
{
	for (size_t i = 0; plan && i < plan->nsockets; i++) {
		const struct up_socket *s = &plan->socket[i];
		if (s->fd >= 0 && strcmp(s->unit->name, like->unit->name) == 0 &&
		    strcmp(s->listen.key, like->listen.key) == 0 &&
		    strcmp(s->listen.text, like->listen.text) == 0)
			return s;
	}
	return NULL;
}

/* A socket of another process of the role, at the same address by UDP. */
static bool is_sibling(const struct up_socket *a, const struct up_socket *b)
{
	return a != b && a->fd >= 0 && a->unit->role == b->unit->role &&
	       strcmp(a->listen.key, b->listen.key) == 0 &&
	       strcmp(a->listen.text, b->listen.text) == 0 &&
	       endpoint_is_udp(str_of(a->listen.text));
}

static const struct up_socket *find_sibling(const struct up_plan *plan, const struct up_socket *of)
{
	for (size_t i = 0; i < plan->nsockets; i++)
		if (is_sibling(&plan->socket[i], of))
			return &plan->socket[i];
	return NULL;
}

/* Opens it, or shares the one that is open already. */
static int open_socket(struct up_plan *plan, struct up_socket *s, const struct up_plan *before,
		       struct err *err)
{
	const struct up_socket *old = find_socket(before, s), *sibling = find_sibling(plan, s);
	if (old) {
		s->fd = fcntl(old->fd, F_DUPFD_CLOEXEC, PROC_SAFE_FD);
		return s->fd < 0 ? err_sys(err, "the socket of %s.%s", s->unit->name, s->listen.key)
				 : 0;
	}
	if ((sibling ? listen_share(sibling->fd, &s->fd, err)
		     : role_listen_open(&s->listen, plan->config, &s->fd, err)) < 0)
		return err_in(err, "%s.%s", s->unit->name, s->listen.key);
	return proc_safe_fd(&s->fd, err);
}

static int open_sockets_of(struct up_plan *plan, const struct up_unit *unit,
			   const struct up_plan *before, struct err *err)
{
	struct role_listen listens[ROLE_MOST_LISTENS];
	size_t n = role_listens(unit->role, unit->name, plan->config, listens);
	VEC_ROOM(plan->socket, plan->socket_room, plan->nsockets + n);
	for (size_t i = 0; i < n; i++) {
		struct up_socket *s = &plan->socket[plan->nsockets];
		*s = (struct up_socket){unit, listens[i], -1};
		plan->nsockets++;
		if (open_socket(plan, s, before, err) < 0)
			return -1;
	}
	return 0;
}

bool up_plan_told_before(const struct up_plan *plan, const struct up_socket *socket)
{
	const struct up_socket *first = find_sibling(plan, socket);
	return first && first < socket;
}

/* Packets to an address that several processes have are divided once all are there. */
static int spread_packets(const struct up_plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->nsockets; i++) {
		const struct up_socket *s = &plan->socket[i];
		unsigned n = 1;
		for (size_t k = 0; k < plan->nsockets; k++)
			n += k != i && is_sibling(&plan->socket[k], s);
		if (n > 1 && !up_plan_told_before(plan, s) && listen_spread(s->fd, n, err) < 0)
			return err_in(err, "%s.%s", s->unit->name, s->listen.key);
	}
	return 0;
}

static int fill_plan(struct up_plan *plan, const struct program *program,
		     const struct up_plan *before, struct err *err)
{
	for (size_t i = 0; i < program->nroles; i++)
		add_unit(plan, program->roles[i], program->roles[i]->name);
	for (size_t i = 0; before && i < before->nunits; i++)
		add_unit(plan, before->unit[i].role, before->unit[i].name);
	for (size_t i = 0; i < plan->nlisted; i++)
		if (role_check(plan->unit[i].role, plan->unit[i].name, plan->config, err) < 0)
			return -1;
	for (size_t i = 0; i < plan->nlisted; i++) /* from here on units do not move */
		if (open_sockets_of(plan, &plan->unit[i], before, err) < 0)
			return -1;
	return spread_packets(plan, err);
}

int up_plan_make(struct up_plan *ret, const struct program *program, struct config **config,
		 const struct up_plan *before, struct err *err)
{
	struct up_plan plan;
	up_plan_list(&plan, program, *config);
	plan.config = *config;
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
	mem_free(&plan->unit);
	config_free(&plan->config);
	*plan = (struct up_plan){0};
}

bool up_plan_differs(const struct up_plan *a, const struct up_plan *b, const struct role *role,
		     const char *name)
{
	return !config_section_equal(a->config, b->config, &global_section, "") ||
	       (role->section && !config_section_equal(a->config, b->config, role->section, name));
}

void up_plan_close_sockets(struct up_plan *plan, const char *name)
{
	for (size_t i = 0; i < plan->nsockets; i++) {
		struct up_socket *s = &plan->socket[i];
		if (strcmp(s->unit->name, name) != 0 || s->fd < 0)
			continue;
		close(s->fd);
		s->fd = -1;
	}
}
