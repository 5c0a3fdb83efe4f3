/* Completion for bash: the tables as associative arrays, and one function that reads them. It does
 * not run garner when somebody presses the tab key. */
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/system/help.h"
#include "cmd/system/options.h"

/* What follows the tables, whose keys are "garner config show" and, for the options that take
 * a value, "garner status --format" or "--config". What can follow is "=a b" for words, "f" for
 * files, "s" for a setting with its value, "k" for its name alone, "x" for anything. */
/* clang-format off */
static const char script[] =
	"_garner_offer()\n"
	"{\n"
	"	case $1 in\n"
	"	=*) mapfile -t COMPREPLY < <(compgen -W \"${1#=}\" -- \"$2\") ;;\n"
	"	f) compopt -o filenames 2>/dev/null\n"
	"	   mapfile -t COMPREPLY < <(compgen -f -- \"$2\") ;;\n"
	"	s) compopt -o nospace 2>/dev/null\n"
	"	   mapfile -t COMPREPLY < <(compgen -S = -W \"$_garner_settings\" -- \"$2\") ;;\n"
	"	k) mapfile -t COMPREPLY < <(compgen -W \"$_garner_settings\" -- \"$2\") ;;\n"
	"	esac\n"
	"}\n"
	"_garner()\n"
	"{\n"
	"	local IFS=$' \\t\\n' cur=${COMP_WORDS[COMP_CWORD]} path=garner\n"
	"	local word=${COMP_WORDS[0]##*/} takes ended= i\n"
	"	COMPREPLY=()\n"
	"	[[ $word == garner-* ]] && path=\"garner ${word#garner-}\"\n"
	"	for ((i = 1; i < COMP_CWORD; i++)); do\n"
	"		word=${COMP_WORDS[i]}\n"
	"		if [[ $ended || $word != -?* ]]; then\n"
	"			[[ \" ${_garner_subs[$path]} \" == *\" $word \"* ]] && path+=\" $word\"\n"
	"			continue\n"
	"		fi\n"
	"		[[ $word == -- ]] && ended=1\n"
	"		takes=${_garner_takes[$path $word]-${_garner_takes[$word]}}\n"
	"		[[ $takes ]] || continue\n"
	"		[[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))\n"
	"		if ((i + 1 >= COMP_CWORD)); then\n"
	"			[[ $cur == = ]] && cur=\n"
	"			_garner_offer \"$takes\" \"$cur\"\n"
	"			return\n"
	"		fi\n"
	"		((i++))\n"
	"	done\n"
	"	if [[ ! $ended && $cur == -* ]]; then\n"
	"		_garner_offer \"=${_garner_options[$path]} $_garner_globals\" \"$cur\"\n"
	"	elif [[ ${_garner_subs[$path]} ]]; then\n"
	"		_garner_offer \"=${_garner_subs[$path]}\" \"$cur\"\n"
	"	else\n"
	"		_garner_offer \"${_garner_args[$path]}\" \"$cur\"\n"
	"	fi\n"
	"}\n";
/* clang-format on */

/* name=( [key]="..." ...), one line each. */
static void put_entry(struct buf *out, const char *key, const char *option, const char *what)
{
	buf_printf(out, "	['%s%s%s']='%s'\n", key, *key && *option ? " " : "", option, what);
}

static void add_word(struct buf *words, const char *word)
{
	buf_printf(words, "%s%s", words->n ? " " : "", word);
}

static void add_all_names(struct buf *words, const struct program *program)
{
	for (size_t i = 0; i < program->ncommands; i++)
		add_word(words, program->commands[i]->name);
	for (size_t i = 0; i < program->nroles; i++)
		add_word(words, program->roles[i]->name);
}

static void add_list(struct buf *words, const char *const *list)
{
	for (; *list; list++)
		add_word(words, *list);
}

static void add_log_sections(struct buf *words)
{
#define X(symbol, number, name, help) add_word(words, name);
	LOG_SECTIONS(X)
#undef X
}

/* What the value of an option can be, in the script's own letters. */
static void option_kind(const struct cmd_option *o, struct buf *out)
{
	struct buf words = BUF_INIT(HELP_MOST);
	buf_clear(out);
	if (o == &cmd_globals[GLOBAL_DEBUG])
		add_log_sections(&words);
	else if (o->spec.type == VALUE_WORD)
		add_list(&words, o->spec.words);
	if (words.n)
		buf_printf(out, "=%s", buf_text(&words));
	else if (o == &cmd_globals[GLOBAL_SET])
		buf_add_text(out, "s");
	else
		buf_add_text(out, o->spec.type == VALUE_PATH ? "f" : "x");
	buf_free(&words);
}

static void args_kind(const struct program *program, const struct command *command, struct buf *out)
{
	struct buf words = BUF_INIT(HELP_MOST);
	if (command->args_words)
		add_list(&words, command->args_words);
	else if (command->args_kind == CMD_COMMANDS)
		add_all_names(&words, program);
	buf_clear(out);
	if (words.n)
		buf_printf(out, "=%s", buf_text(&words));
	else
		buf_add_text(out, command->args_kind == CMD_SETTINGS ? "k" : "f");
	buf_free(&words);
}

/* The four tables are written in one walk. */
struct tables {
	const struct program *program;
	struct buf subs, options, takes, args, text;
};

static void add_options(struct tables *t, const char *path, const struct cmd_option *list, size_t n,
			struct buf *names)
{
	char option[128];
	for (size_t i = 0; i < n; i++) {
		snprintf(option, sizeof option, "--%s", list[i].spec.name);
		add_word(names, option);
		if (!list[i].arg)
			continue;
		option_kind(&list[i], &t->text);
		put_entry(&t->takes, path, option, buf_text(&t->text));
		if (list[i].letter) {
			snprintf(option, sizeof option, "-%c", list[i].letter);
			put_entry(&t->takes, path, option, buf_text(&t->text));
		}
	}
}

static void put_command(struct tables *t, const char *before, const struct command *command)
{
	struct buf path = BUF_INIT(300), names = BUF_INIT(HELP_MOST);
	buf_printf(&path, "%s %s", before, command->name);
	add_options(t, buf_text(&path), command->options, command->noptions, &names);
	put_entry(&t->options, buf_text(&path), "", buf_text(&names));
	buf_clear(&names);
	for (size_t i = 0; i < command->nsubs; i++) {
		add_word(&names, command->subs[i]->name);
		put_command(t, buf_text(&path), command->subs[i]);
	}
	if (command->nsubs > 0)
		put_entry(&t->subs, buf_text(&path), "", buf_text(&names));
	if (command->args) {
		args_kind(t->program, command, &t->text);
		put_entry(&t->args, buf_text(&path), "", buf_text(&t->text));
	}
	buf_free(&path);
	buf_free(&names);
}

static void put_settings(const struct program *program, struct buf *out)
{
	const struct config_section *sections[CMD_SECTIONS_MAX];
	size_t n = cmd_sections(program, sections, ARRAY_LEN(sections));
	buf_add_text(out, "_garner_settings='");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sections[i]->nspecs; k++)
			if (!config_is_shared(sections[i], &sections[i]->specs[k]))
				buf_printf(out, "%s%s%s ", sections[i]->name,
					   *sections[i]->name ? "." : "",
					   sections[i]->specs[k].name);
	buf_add_text(out, "'\n");
}

static void put_table(struct buf *out, const char *name, struct buf *entries)
{
	buf_printf(out, "declare -gA _garner_%s=(\n", name);
	buf_add_str(out, buf_str(entries));
	buf_add_text(out, ")\n");
	buf_free(entries);
}

void completion_bash(const struct program *program, struct buf *out)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct buf empty = BUF_INIT(HELP_MOST), names = empty;
	struct tables t = {program, empty, empty, empty, empty, empty};
	buf_add_text(out, "# bash completion for garner, made by `garner completion bash`\n");
	add_all_names(&names, program);
	put_entry(&t.subs, "garner", "", buf_text(&names));
	for (size_t i = 0; i < program->ncommands; i++)
		put_command(&t, "garner", program->commands[i]);
	for (size_t i = 0; i < program->nroles; i++)
		if (program->roles[i]->nflags || program->roles[i]->file)
			put_command(&t, "garner", cmd_of_role(program->roles[i], &arena));
	buf_clear(&names);
	add_options(&t, "", cmd_globals, cmd_nglobals, &names);
	buf_printf(out, "_garner_globals='%s'\n", buf_text(&names));
	put_settings(program, out);
	put_table(out, "subs", &t.subs);
	put_table(out, "options", &t.options);
	put_table(out, "takes", &t.takes);
	put_table(out, "args", &t.args);
	buf_add_text(out, script);
	buf_add_text(out, "complete -F _garner garner\n");
	buf_free(&names);
	buf_free(&t.text);
}

static int run(const struct cmd_call *call, struct err *err)
{
	if (strcmp(call->argv[0], "bash") != 0)
		return err_set(err, ERR_USAGE, "completion: only for bash so far, not for '%s'",
			       call->argv[0]);
	struct buf out = BUF_INIT(HELP_MOST);
	completion_bash(call->program, &out);
	return cmd_print(call, &out);
}

static const char *const shells[] = {"bash", NULL};

const struct command completion_command = {
	.name = "completion",
	.summary = "print what a shell needs to complete garner's words",
	CMD_ARGS("SHELL", 1, 1, "bash"),
	.args_words = shells,
	CMD_EXAMPLES({"source <(garner completion bash)", "for this shell only"},
		     {"garner completion bash > ~/.local/share/bash-completion/completions/garner",
		      "for this user"}),
	.run = run,
};
