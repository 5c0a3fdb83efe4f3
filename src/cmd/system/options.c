/* Parses the command line by the tables of the commands: finds the command, its options, and for a
 * mistyped name the nearest one. */
#include "cmd/system/options.h"

#include "base/ascii.h"
#include "base/log.h"

static int run_role(const struct cmd_call *call, struct err *err)
{
	return role_main(call, call->command->role, err);
}

/* They have no place to be kept in: take_option() makes settings of them. */
static const struct cmd_option *options_of_role(const struct role *role, struct arena *arena)
{
	struct cmd_option *list = arena_array(arena, role->nflags, sizeof *list);
	for (size_t i = 0; i < role->nflags; i++) {
		const struct role_flag *f = &role->flags[i];
		list[i] = (struct cmd_option){
			.spec = {.name = f->name,
				 .type = VALUE_BOOL,
				 .help = arena_printf(arena, "%s; also -%s, short for -s %s",
						      f->help, f->name, f->set)}};
	}
	return list;
}

static struct command *command_of_role(const struct role *role, struct arena *arena)
{
	static const struct cmd_exit exits[] = {
		{ERR_BUSY,
		 "the role runs already on this data directory, or one that needs another"},
		{ERR_SYSTEM, "the system refused something the role needs"},
	};
	const struct role_file *file = role->file;
	struct command *command = arena_alloc(arena, sizeof *command);
	*command = (struct command){
		.name = role->name,
		.summary = role->summary,
		.description = role->description,
		.options = options_of_role(role, arena),
		.noptions = role->nflags,
		.options_size = sizeof(bool),
		.classic = true,
		.args = file ? arena_printf(arena, "[%s]", file->arg) : NULL,
		.args_help = file ? file->help : NULL,
		.max_args = file ? 1 : 0,
		CMD_SHARED_EXITS(exits),
		.run = run_role,
		.role = role,
	};
	return command;
}

const struct command *cmd_of_role(const struct role *role, struct arena *arena)
{
	return command_of_role(role, arena);
}

const struct command *cmd_find(const struct program *program, struct str name, struct arena *arena)
{
	for (size_t i = 0; i < program->ncommands; i++)
		if (str_is(name, program->commands[i]->name))
			return program->commands[i];
	for (size_t i = 0; i < program->nroles; i++)
		if (cmd_role_is(program->roles[i], name)) {
			struct command *found = command_of_role(program->roles[i], arena);
			found->name = arena_text(arena, name);
			return found;
		}
	return NULL;
}

bool cmd_role_is(const struct role *role, struct str name)
{
	struct str of;
	if (role->section && role->section->several && config_instance_form(name, &of))
		name = of;
	return str_is(name, role->name);
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

static const struct command *find_alias(const struct command *command, struct str name)
{
	if (has_alias(command, name))
		return command;
	for (size_t i = 0; i < command->nsubs; i++)
		if (has_alias(command->subs[i], name))
			return command->subs[i];
	return NULL;
}

/* login(1) puts a dash before the name of a login shell. */
const struct command *cmd_find_called(const struct program *program, const char *argv0,
				      struct arena *arena)
{
	const char *slash = strrchr(argv0, '/');
	struct str name = str_of(slash ? slash + 1 : argv0);
	const struct command *found = NULL;
	if (str_starts(name, STR("-")))
		name = str_from(name, 1);
	if (str_starts(name, STR("garner-")))
		return cmd_find(program, str_from(name, sizeof "garner-" - 1), arena);
	for (size_t i = 0; !found && i < program->ncommands; i++)
		found = find_alias(program->commands[i], name);
	if (found)
		return found;
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

struct parse {
	struct cmd_line *line;
	const struct program *program;
	int argc, at; /* at: the next word to look at */
	char **argv;
	bool ended; /* no more options */
	struct err *err;
};

const struct cmd_option cmd_globals[] = {
	[GLOBAL_CONFIG] = {'c',
			   "FILE",
			   {.name = "config",
			    .type = VALUE_PATH,
			    .help = "read the configuration from FILE"}},
	[GLOBAL_SET] = {'s',
			"[SECTION.]KEY=VALUE",
			{.name = "set",
			 .type = VALUE_TEXT,
			 .help = "set one setting, over file and environment; may be repeated"}},
	[GLOBAL_DEBUG] = {'D',
			  "SECTION[,LEVEL]",
			  {.name = "debug",
			   .type = VALUE_TEXT,
			   .help = "log a section, by number or name, up to LEVEL (1 to 9); may be "
				   "repeated"}},
	[GLOBAL_HELP] = {'h', NULL, {.name = "help", .type = VALUE_BOOL, .help = "show help"}},
	[GLOBAL_VERSION] = {0,
			    NULL,
			    {.name = "version", .type = VALUE_BOOL, .help = "show the version"}},
};
const size_t cmd_nglobals = ARRAY_LEN(cmd_globals);

/* -D SECTION[,LEVEL] as a setting, where a colon stands before the level: in a list a comma
 * separates the items. A digit alone after a section without a level is its level. */
static const char *debug_set(struct cmd_line *line, const char *value)
{
	static const struct str before = STR("log+=");
	char *set = arena_alloc(&line->arena, before.n + strlen(value) + 1), *to = set + before.n;
	struct str rest = str_of(value), field;
	bool open = false;
	memcpy(set, before.p, before.n);
	while (str_cut(&rest, ',', &field) == 0) {
		field = str_trim(field);
		bool level = open && field.n == 1 && ascii_is_digit(field.p[0]);
		if (to > set + before.n)
			*to++ = level ? ':' : ',';
		memcpy(to, field.p, field.n);
		to += field.n;
		open = !level && str_find_byte(field, ':') == field.n;
	}
	return set;
}

static int take_global(struct cmd_line *line, const struct cmd_option *option, char *value,
		       struct err *err)
{
	switch (option - cmd_globals) {
	case GLOBAL_CONFIG:
		line->file = value;
		break;
	case GLOBAL_SET:
		line->sets[line->nsets++] = value;
		break;
	case GLOBAL_DEBUG:
		if (log_debug_check(str_of(value), err) < 0)
			return err_in(err, "-D");
		line->sets[line->nsets++] = debug_set(line, value);
		break;
	case GLOBAL_HELP:
		line->help = true;
		break;
	case GLOBAL_VERSION:
		line->version = true;
		break;
	}
	return 0;
}

static bool is_global(const struct cmd_option *option)
{
	return option >= cmd_globals && option < cmd_globals + ARRAY_LEN(cmd_globals);
}

static bool is_flag(const struct cmd_option *option)
{
	return !option->arg;
}

/* The first time replaces the default, the next ones add to lists. */
static int take_own(struct parse *p, const struct cmd_option *option, const char *value)
{
	struct cmd_line *line = p->line;
	bool *given = &line->given[option - line->command->options];
	int (*put)(const struct value_spec *, struct str, struct arena *, void *, struct err *) =
		*given ? value_add : value_parse;
	*given = true;
	return put(&option->spec, str_of(value), &line->arena, line->options, p->err);
}

static size_t key_length(const struct role_flag *flag)
{
	return strcspn(flag->set, "=");
}

/* Two flags that are short for values of one setting cannot both be meant. */
static int take_flag(struct parse *p, size_t which)
{
	struct cmd_line *line = p->line;
	const struct role *role = line->command->role;
	const struct role_flag *flag = &role->flags[which], *other = role->flags;
	for (size_t i = 0; i < role->nflags; i++, other++)
		if (line->given[i] && i != which && key_length(other) == key_length(flag) &&
		    strncmp(other->set, flag->set, key_length(flag)) == 0)
			return err_set(p->err, ERR_USAGE, "--%s and --%s exclude each other",
				       other->name, flag->name);
	line->given[which] = true;
	line->sets[line->nsets++] = flag->set;
	return 0;
}

static int take_option(struct parse *p, const struct cmd_option *option, char *value)
{
	struct cmd_line *line = p->line;
	if (is_global(option))
		return take_global(line, option, value, p->err);
	if (line->command->role)
		return take_flag(p, (size_t)(option - line->command->options));
	if (take_own(p, option, is_flag(option) ? "yes" : value) < 0)
		return err_in(p->err, "--%s", option->spec.name);
	return 0;
}

/* By its long name, or by its letter where the name is NULL; the command's own come first. */
static const struct cmd_option *find_option(const struct cmd_line *line, const struct str *name,
					    char letter)
{
	const struct command *command = line->command;
	size_t own = command ? command->noptions : 0;
	for (size_t i = 0; i < own + cmd_nglobals; i++) {
		const struct cmd_option *o = i < own ? &command->options[i] : &cmd_globals[i - own];
		if (name ? str_is(*name, o->spec.name) : o->letter == letter)
			return o;
	}
	return NULL;
}

static int unknown_long(struct parse *p, struct str name)
{
	const struct command *command = p->line->command;
	struct nearest near = {.wanted = name, .before = "--"};
	for (size_t i = 0; command && i < command->noptions; i++)
		nearest_try(&near, command->options[i].spec.name);
	for (size_t i = 0; i < cmd_nglobals; i++)
		nearest_try(&near, cmd_globals[i].spec.name);
	const char *words = nearest_words(&near);
	if (!words[0] && !command)
		words = "; the options of a command follow its name";
	return err_set(p->err, ERR_USAGE, "unknown option '--" STR_FMT "'%s", STR_ARG(name), words);
}

/* Half a character would print badly, so in that case the whole word is shown. */
static int unknown_short(struct parse *p, const char *word, char letter)
{
	if (letter > ' ' && letter < 0x7f)
		return err_set(p->err, ERR_USAGE, "unknown option '-%c'", letter);
	return err_set(p->err, ERR_USAGE, "unknown option '%s'", word);
}

/* The value after "=" or in the next word. */
static int value_of(struct parse *p, const char *shown, char *attached, char **ret)
{
	if (!attached && p->at >= p->argc)
		return err_set(p->err, ERR_USAGE, "option '%s' needs a value", shown);
	*ret = attached ? attached : p->argv[p->at++];
	return 0;
}

static int parse_long(struct parse *p, char *word, size_t dashes)
{
	char *equals = strchr(word, '=');
	struct str name = equals ? str_range(word + dashes, equals) : str_of(word + dashes);
	const struct cmd_option *option = find_option(p->line, &name, 0);
	if (!option)
		return unknown_long(p, name);
	char *value = NULL;
	if (is_flag(option)) {
		if (equals)
			return err_set(p->err, ERR_USAGE, "option '--%s' takes no value",
				       option->spec.name);
	} else if (value_of(p, word, equals ? equals + 1 : NULL, &value) < 0) {
		return -1;
	}
	return take_option(p, option, value);
}

/* "-v", "-vj", "-n5", "-vn 5": flags until one of them takes the rest, or the next word. */
static int parse_short(struct parse *p, char *word)
{
	for (char *c = word + 1; *c; c++) {
		const struct cmd_option *option = find_option(p->line, NULL, *c);
		if (!option)
			return unknown_short(p, word, *c);
		if (is_flag(option)) {
			if (take_option(p, option, NULL) < 0)
				return -1;
			continue;
		}
		char *value = NULL, shown[] = {'-', *c, 0};
		if (value_of(p, shown, c[1] ? c + 1 : NULL, &value) < 0)
			return -1;
		return take_option(p, option, value);
	}
	return 0;
}

/* From now on its options are known. */
static void enter_command(struct cmd_line *line, const struct command *command)
{
	line->full_name =
		line->command ? arena_printf(&line->arena, "%s %s", line->full_name, command->name)
			      : command->name;
	line->command = command;
	line->options = arena_alloc(&line->arena, MAX(command->options_size, (size_t)1));
	line->given = arena_array(&line->arena, MAX(command->noptions, (size_t)1), sizeof(bool));
	for (size_t i = 0; i < command->noptions; i++)
		value_defaults(&command->options[i].spec, 1, &line->arena, line->options);
}

/* The command that an old name stands for, through the one that it is a part of. */
static void enter_called(struct cmd_line *line, const struct program *program,
			 const struct command *called)
{
	for (size_t i = 0; i < program->ncommands; i++)
		if (cmd_find_sub(program->commands[i], str_of(called->name)) == called)
			enter_command(line, program->commands[i]);
	enter_command(line, called);
}

static int parse_name(struct parse *p, const char *word)
{
	struct cmd_line *line = p->line;
	const struct command *found = line->command
					      ? cmd_find_sub(line->command, str_of(word))
					      : cmd_find(p->program, str_of(word), &line->arena);
	if (found) {
		enter_command(line, found);
		return 0;
	}
	struct nearest near = {.wanted = str_of(word)};
	nearest_try_commands(&near, p->program, line->command);
	const char *blank = line->command ? " " : "";
	return err_set(p->err, ERR_USAGE, "unknown command '%s%s%s'%s", line->full_name, blank,
		       word, nearest_words(&near));
}

static int parse_word(struct parse *p, char *word)
{
	struct cmd_line *line = p->line;
	if (!line->command || line->command->nsubs > 0)
		return parse_name(p, word);
	line->argv[line->argc++] = word;
	return 0;
}

/* "-count" or "-new" of a command or role whose old program spoke so. */
static bool is_classic(const struct cmd_line *line, const char *word)
{
	const struct command *command = line->command;
	for (size_t i = 0; command && command->classic && i < command->noptions; i++)
		if (strcmp(word + 1, command->options[i].spec.name) == 0)
			return true;
	return false;
}

static int parse_next(struct parse *p)
{
	char *word = p->argv[p->at++];
	if (p->ended || word[0] != '-' || !word[1])
		return parse_word(p, word);
	if (word[1] != '-' && is_classic(p->line, word))
		return parse_long(p, word, 1);
	if (word[1] != '-')
		return parse_short(p, word);
	if (word[2])
		return parse_long(p, word, 2);
	p->ended = true;
	return 0;
}

/* "a, b or c" */
static void list_subs(const struct command *command, struct buf *out)
{
	for (size_t i = 0; i < command->nsubs; i++) {
		if (i)
			buf_add_text(out, i + 1 < command->nsubs ? ", " : " or ");
		buf_add_text(out, command->subs[i]->name);
	}
}

static int check_args(const struct cmd_line *line, struct err *err)
{
	const struct command *command = line->command;
	if (command->bare && (line->file || line->nsets))
		return err_set(err, ERR_USAGE, "%s: it takes no options", line->full_name);
	if (command->nsubs > 0) {
		struct buf names = BUF_INIT(300);
		list_subs(command, &names);
		err_set(err, ERR_USAGE, "%s: which command? %s", line->full_name, buf_text(&names));
		buf_free(&names);
		return -1;
	}
	if (line->argc < command->min_args)
		return err_set(err, ERR_USAGE, "%s: an argument is missing: %s", line->full_name,
			       command->args ? command->args : "");
	if (command->max_args >= 0 && line->argc > command->max_args)
		return err_set(err, ERR_USAGE, "%s: one argument too many: '%s'", line->full_name,
			       line->argv[command->max_args]);
	return 0;
}

int line_parse(struct cmd_line *line, const struct program *program, const struct command *called,
	       int argc, char **argv, struct err *err)
{
	struct parse p = {line, program, argc, 1, argv, false, err};
	size_t most = (size_t)MAX(argc, 1);
	line->argv = arena_array(&line->arena, most, sizeof *line->argv);
	/* A bundle may hold -s or -D once, and a flag is a word, so there are never more than
	 * words. */
	line->sets = arena_array(&line->arena, most, sizeof *line->sets);
	if (called)
		enter_called(line, program, called);
	if (called && called->bare && argc > 1)
		return err_set(err, ERR_USAGE, "%s: it takes no arguments", line->full_name);
	while (p.at < argc)
		if (parse_next(&p) < 0)
			return line->help ? 0 : -1;
	if (line->help || line->version || !line->command)
		return 0;
	return check_args(line, err);
}

void line_free(struct cmd_line *line)
{
	arena_free(&line->arena);
}
