#include "cmd/names.h"

static int run_role(const struct cmd_call *call)
{
	return role_main(call, call->command->role);
}

const struct command *cmd_of_role(const struct role *role, struct arena *arena)
{
	static const struct cmd_exit exits[] = {
		{ERR_BUSY, "the role runs already on this data directory"},
		{ERR_SYSTEM, "the system refused something the role needs"},
	};
	struct command *command = arena_alloc(arena, sizeof *command);
	*command = (struct command){
		.name = role->name,
		.summary = role->summary,
		.description = role->description,
		CMD_EXITS(exits),
		.run = run_role,
		.role = role,
	};
	return command;
}

const struct command *cmd_find(const struct program *program, struct str name, struct arena *arena)
{
	for (size_t i = 0; i < program->ncommands; i++)
		if (str_is(name, program->commands[i]->name))
			return program->commands[i];
	for (size_t i = 0; i < program->nroles; i++)
		if (str_is(name, program->roles[i]->name))
			return cmd_of_role(program->roles[i], arena);
	return NULL;
}

const struct command *cmd_find_sub(const struct command *command, struct str name)
{
	for (size_t i = 0; i < command->nsubs; i++)
		if (str_is(name, command->subs[i]->name))
			return command->subs[i];
	return NULL;
}

static bool has_alias(const struct command *command, struct str name)
{
	struct str rest = str_of(command->aliases), alias;
	while (str_cut(&rest, ' ', &alias) == 0)
		if (alias.n && str_eq(alias, name))
			return true;
	return false;
}

const struct command *cmd_find_called(const struct program *program, const char *argv0,
				      struct arena *arena)
{
	const char *slash = strrchr(argv0, '/');
	struct str name = str_of(slash ? slash + 1 : argv0);
	if (str_starts(name, STR("garner-")))
		return cmd_find(program, str_from(name, sizeof "garner-" - 1), arena);
	for (size_t i = 0; i < program->ncommands; i++)
		if (has_alias(program->commands[i], name))
			return program->commands[i];
	for (size_t i = 0; i < program->nroles; i++)
		if (str_is(name, program->roles[i]->name))
			return cmd_of_role(program->roles[i], arena);
	return NULL;
}

void nearest_try_commands(struct nearest *near, const struct program *program,
			  const struct command *command)
{
	size_t n = command ? command->nsubs : program->ncommands;
	const struct command *const *list = command ? command->subs : program->commands;
	for (size_t i = 0; i < n; i++)
		nearest_try(near, list[i]->name);
	for (size_t i = 0; !command && i < program->nroles; i++)
		nearest_try(near, program->roles[i]->name);
}
