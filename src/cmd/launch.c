#include "cmd/launch.h"

#include "cmd/proc.h"

/* Ours alone: not for the children. */
static const struct str kept_back[] = {
	STR("NOTIFY_SOCKET="),  STR("LISTEN_PID="),    STR("LISTEN_FDS="),
	STR("LISTEN_FDNAMES="), STR("WATCHDOG_USEC="), STR("WATCHDOG_PID="),
};

static bool passes(struct str entry)
{
	if (str_starts(entry, STR("GARNER_")))
		return str_starts(entry, STR("GARNER_FAULTS="));
	for (size_t i = 0; i < ARRAY_LEN(kept_back); i++)
		if (str_starts(entry, kept_back[i]))
			return false;
	return true;
}

static char *joined_names(const struct launch_input *in, struct arena *arena)
{
	char *names = arena_text(arena, STR("LISTEN_FDNAMES="));
	for (size_t i = 0; i < in->nsockets; i++)
		names = arena_printf(arena, "%s%s%s", names, i ? ":" : "", in->socket[i]);
	return names;
}

static void add_sockets(const struct launch_input *in, struct arena *arena, struct launch *ret,
			size_t n)
{
	static const struct str pid = STR("LISTEN_PID=");
	char *entry = arena_alloc(arena, pid.n + PROC_PID_TEXT);
	memcpy(entry, pid.p, pid.n);
	ret->pid_text = entry + pid.n;
	ret->env[n++] = entry;
	ret->env[n++] = arena_printf(arena, "LISTEN_FDS=%zu", in->nsockets);
	ret->env[n] = joined_names(in, arena);
}

void launch_make(const struct launch_input *in, struct arena *arena, struct launch *ret)
{
	enum { OURS = 4 }; /* NOTIFY_SOCKET and three for the sockets */
	size_t inherited = 0, n = 0;
	while (in->env[inherited])
		inherited++;
	*ret = (struct launch){.argv = arena_array(arena, 5, sizeof *ret->argv),
			       .env = arena_array(arena, inherited + OURS + 1, sizeof *ret->env)};
	const char *const argv[] = {in->self, in->role, "-c", in->conf};
	for (size_t i = 0; i < ARRAY_LEN(argv); i++)
		ret->argv[i] = arena_text(arena, str_of(argv[i]));
	for (size_t i = 0; i < inherited; i++)
		if (passes(str_of(in->env[i])))
			ret->env[n++] = in->env[i];
	ret->env[n++] = arena_printf(arena, "NOTIFY_SOCKET=%s", in->notify);
	if (in->nsockets)
		add_sockets(in, arena, ret, n);
}
