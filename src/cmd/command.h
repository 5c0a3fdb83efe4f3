/* Commands: one table gives parsing, --help, man pages and completion. A command is a file in
 * src/cmd and a line in src/cmd/commands.c. */
#pragma once
#include "disk/format.h"
#include "role/config.h"
#include "role/role.h"

#include <limits.h>
#include <stdio.h>

struct rows;

struct cmd_option {
	char letter;            /* 0: none */
	const char *arg;        /* what stands for the value in help; NULL: a flag (VALUE_BOOL) */
	struct value_spec spec; /* its name is the long option's */
};

struct cmd_example {
	const char *line, *what;
};

struct cmd_exit {
	int code;
	const char *when;
};

struct cmd_call;

/* What completion offers in the place of arguments. */
enum cmd_words { CMD_FILES, CMD_COMMANDS, CMD_SETTINGS };

struct command {
	const char *name; /* "status" */
	const char
		*aliases; /* old names that stand for it as argv[0], separated by blanks, or NULL */
	bool classic;     /* its own options may also begin with a single dash: -count */
	/* A login shell: no option is taken, not even those that all commands have, and nothing of
	 * the environment but TERM. Strangers choose both. */
	bool bare;
	const char *summary; /* one line */
	/* Paragraphs, separated by empty lines; one that begins with a blank is kept as it is. */
	const char *description;
	const struct cmd_option *options;
	size_t noptions, options_size; /* of the struct that the options fill */
	const char *args;              /* "FILE...": what follows the options, NULL: nothing */
	int min_args, max_args;        /* -1: any number */
	const char *args_help;         /* one sentence about them */
	enum cmd_words args_kind;
	const char *const *args_words; /* the only ones there are, ends in NULL; NULL: see kind */
	const struct cmd_example *examples;
	size_t nexamples;
	const struct cmd_exit *exits; /* other than 0 and 2, which all have */
	size_t nexits;
	const struct command *const *subs; /* a command of commands; then it has no run */
	size_t nsubs;
	/* Returns the exit code. Negative: err has it, and the words, which are printed then. */
	int (*run)(const struct cmd_call *call, struct err *err);
	const struct role *role; /* of a command that a role was made into */
};

/* Members of a command, from its tables. */
#define CMD_OPTIONS(table, type) \
	.options = (table), .noptions = ARRAY_LEN(table), .options_size = sizeof(type)
/* What follows the options, how many there are (most -1: any number), and a sentence about it. */
#define CMD_ARGS(form, least, most, help) \
	.args = (form), .min_args = (least), .max_args = (most), .args_help = (help)
/* For a command whose only option is --json. */
struct cmd_json {
	bool json;
};
#define CMD_JSON(letter, text)                                                       \
	CMD_OPTIONS(((const struct cmd_option[]){                                    \
			    CMD_FLAG(letter, "json", struct cmd_json, json, text)}), \
		    struct cmd_json)
/* An option with a value; what follows arg is its struct value_spec. */
#define CMD_OPTION(letter, arg, ...) \
	{                            \
		letter, arg,         \
		{                    \
			__VA_ARGS__  \
		}                    \
	}
/* An option that is given or not: --name, and -letter unless that is 0. */
#define CMD_FLAG(letter, name, type, member, text)                      \
	{                                                               \
		letter, NULL,                                           \
		{                                                       \
			name, VALUE_BOOL_AT(type, member), .help = text \
		}                                                       \
	}
/* At file scope, where a list in place lives for ever: CMD_EXITS({1, "why"}, {3, "why"}). */
#define CMD_EXAMPLES(...) CMD_LIST(example, __VA_ARGS__)
#define CMD_EXITS(...) CMD_LIST(exit, __VA_ARGS__)
#define CMD_SHARED_EXITS(table) .exits = (table), .nexits = ARRAY_LEN(table)
#define CMD_LIST(what, ...)                                  \
	.what##s = (const struct cmd_##what[]){__VA_ARGS__}, \
	.n##what##s = sizeof((const struct cmd_##what[]){__VA_ARGS__}) / sizeof(struct cmd_##what)
#define CMD_SUBS(...)                                         \
	.subs = (const struct command *const[]){__VA_ARGS__}, \
	.nsubs = sizeof((const struct command *const[]){__VA_ARGS__}) / sizeof(void *)

/* What a program consists of. The tests build one of their own with other roles. */
struct program {
	const struct command *const *commands;
	size_t ncommands;
	const struct role *const *roles;
	size_t nroles;
	const struct format *const *formats;
	size_t nformats;
};

struct cmd_call {
	const struct program *program;
	const struct command *command;
	const char *full_name; /* "config show" */
	const char *self;      /* how the program was called, for exec of itself */
	const void *options;   /* the struct that command->options filled */
	int argc;              /* arguments that are left */
	char *const *argv;
	struct config_input input; /* -c, -s and the environment, for cmd_config() */
	FILE *out;
};

/* The global section: what all roles and commands need. */
struct global_conf {
	uint64_t disk_free; /* bytes */
	const char *data;
	struct value_list log;
};
extern const struct config_section global_section;

int cmd_main(const struct program *program, int argc, char **argv);

/* What garner itself consists of: commands.c, roles.c, formats.c. Each list ends in NULL, which its
 * number does not count. */
extern const struct command *const commands[];
extern const size_t ncommands;
extern const struct role *const roles[];
extern const size_t nroles;
extern const struct format *const formats[];
extern const size_t nformats;

/* Runs call->command and prints why it failed, if it did; returns the exit code. */
int cmd_run(const struct cmd_call *call);
/* Runs a role in the foreground; returns the exit code. */
int role_main(const struct cmd_call *call, const struct role *role, struct err *err);

/* Loads the configuration of all roles. Prints each problem if there may be several; err has no
 * words then. */
int cmd_config(const struct cmd_call *call, struct config **ret, struct err *err);
/* The same without printing anything; err names the first problem. */
int cmd_config_quiet(const struct cmd_call *call, struct config **ret, struct err *err);
/* The file to read: -c, $GARNER_CONFIG, or what exists of $XDG_CONFIG_HOME (else ~/.config)
 * /garner/garner.conf and /etc/garner/garner.conf. 1: there is none, all has its default. */
int cmd_config_file(const struct config_input *in, char *ret, size_t cap, struct err *err);
/* Turns the debug lines on that the setting `log` of a loaded configuration names, and all others
 * off; cmd_config() does. */
void cmd_log_apply(const struct config *config);
/* Loads for a program from just this input; `problems` as in config_load(). */
int cmd_load(const struct program *program, const struct config_input *in, struct config **ret,
	     struct buf *problems, struct err *err);
/* Whether a role is one of a program's, so that its section may be asked for. */
bool cmd_has_role(const struct program *program, const struct role *role);
/* Whether it is the role's name, or that of an instance of it: "bot", "bot@2". */
bool cmd_role_is(const struct role *role, struct str name);
/* All sections of a program: global, up, robot, parse, mail, cache, provider, then the roles' own.
 */
enum { CMD_SECTIONS_MAX = 256 };
size_t cmd_sections(const struct program *program, const struct config_section **ret, size_t cap);
/* The data directory, absolute, in a buffer of PATH_MAX. */
int cmd_data_dir(const struct config *config, char *ret, size_t cap, struct err *err);
/* The configuration and the data directory that it names. */
int cmd_config_data(const struct cmd_call *call, struct config **ret, char ret_data[PATH_MAX],
		    struct err *err);
/* The data directory, or a path below it, for a command that needs nothing else of it. */
int cmd_data(const struct cmd_call *call, char ret[PATH_MAX], struct err *err);
int cmd_data_path(const struct cmd_call *call, const char *below, char ret[PATH_MAX],
		  struct err *err);

/* Prints a file that garner wrote, or a part of it (NULL: all), by its format. */
int cmd_print_file(const struct cmd_call *call, const struct format *f, const char *path,
		   const char *part, struct err *err);
/* For a failure that does not end the command: "garner: message" on standard error. Returns the
 * exit code of the err. */
int cmd_fail(const struct cmd_call *call, const struct err *err);
/* Whether an option's value is a URL; "": it was not given. ERR_USAGE: err names the option. */
int cmd_check_url(const char *option, const char *text, struct err *err);
/* Prints what a buffer holds and frees it; returns 0. Whether all could be written is looked at
 * when the command has ended. */
int cmd_print(const struct cmd_call *call, struct buf *out);
/* Prints rows as a table, or as an array of JSON; or one as a line of JSON. Returns 0. */
int cmd_rows(const struct cmd_call *call, const struct rows *t, const void *first, size_t n,
	     bool json);
int cmd_row_json(const struct cmd_call *call, const struct rows *t, const void *row);
/* As cmd_print(), and the buffer is empty then, for what comes next. */
void cmd_flush(const struct cmd_call *call, struct buf *out);
