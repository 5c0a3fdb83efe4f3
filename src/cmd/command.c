/* What every command shares: main(), how a failure is said, and the configuration: the global
 * section, where its file is, where the data is. */
#include "cmd/command.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rows.h"
#include "cache/cache_conf.h"
#include "cmd/cache/provider.h"
#include "cmd/system/help.h"
#include "cmd/system/options.h"
#include "cmd/system/up_plan.h"
#include "extract/cage_section.h"
#include "fetch/robot.h"
#include "net/mail.h"
#include "net/net_section.h"
#include "url/url.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A program that was started with a standard descriptor closed would otherwise write its errors
 * into the first file that it opens. Standard output then takes nothing: flush_output() finds out.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
		    open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) < 0)
			abort();
}

enum { ROWS_MOST = 1 << 30 };

static int say_error(const struct err *err)
{
	if (err->msg[0])
		fprintf(stderr, "garner: %s\n", err->msg);
	return err->code ? (int)err->code : ERR_SYSTEM;
}

int cmd_fail(const struct cmd_call *call, const struct err *err)
{
	fflush(call->out);
	return say_error(err);
}

int cmd_check_url(const char *option, const char *text, struct err *err)
{
	char room[URL_MAX];
	struct url url;
	int rc = text[0] ? url_parse(str_of(text), NULL, room, sizeof room, &url) : 0;
	if (rc == 0)
		return 0;
	(void)url_fail(rc, str_of(text), err);
	return err_in(err, "%s", option);
}

static void print_buf(FILE *to, struct buf *out)
{
	fwrite(buf_text(out), 1, out->n, to);
	buf_free(out);
}

int cmd_print(const struct cmd_call *call, struct buf *out)
{
	print_buf(call->out, out);
	return 0;
}

int cmd_rows(const struct cmd_call *call, const struct rows *t, const void *first, size_t n,
	     bool json)
{
	struct buf out = BUF_INIT(ROWS_MOST);
	rows_print(t, first, n, json, &out);
	return cmd_print(call, &out);
}

int cmd_row_json(const struct cmd_call *call, const struct rows *t, const void *row)
{
	struct buf out = BUF_INIT(ROWS_MOST);
	rows_json_line(t, row, &out);
	return cmd_print(call, &out);
}

static void emit_piece(void *to, struct str piece)
{
	fwrite(piece.p, 1, piece.n, to);
}

int cmd_print_file(const struct cmd_call *call, const struct format *f, const char *path,
		   const char *part, struct err *err)
{
	return format_print_part(f, path, part, emit_piece, call->out, err);
}

void cmd_flush(const struct cmd_call *call, struct buf *out)
{
	fwrite(buf_text(out), 1, out->n, call->out);
	buf_clear(out);
}

static void show_help(const struct program *program, const struct cmd_line *line)
{
	struct buf out = BUF_INIT(HELP_MOST);
	struct help h = {&out, help_wants_bold(stdout)};
	if (line->command)
		help_of_command(&h, line->command, line->full_name);
	else
		help_of_program(&h, program);
	print_buf(stdout, &out);
}

static int show_short_help(const struct program *program)
{
	struct buf out = BUF_INIT(HELP_MOST);
	help_short(&(struct help){&out, false}, program);
	print_buf(stderr, &out);
	return ERR_USAGE;
}

/* What is wrong, how it is written, where to read more. */
static int show_usage(const struct cmd_line *line, const struct err *err)
{
	struct buf out = BUF_INIT(HELP_MOST);
	bool named = line->command != NULL;
	if (named)
		help_usage(&(struct help){&out, false}, line->command, line->full_name);
	buf_printf(&out, "Try 'garner%s%s --help'.\n", named ? " " : "", line->full_name);
	int code = say_error(err);
	print_buf(stderr, &out);
	return code;
}

/* Nothing but TERM is left of it. */
static void clear_environment(void)
{
	const char *term = getenv("TERM");
	char *kept = term ? mem_text(term) : NULL;
	if (clearenv() != 0 || (kept && setenv("TERM", kept, 1) != 0))
		die("the environment cannot be cleared");
	mem_free(&kept);
}

static int arm_faults(struct err *err)
{
	const char *faults = getenv("GARNER_FAULTS");
	return faults ? fault_arm(faults, err) : 0;
}

int cmd_run(const struct cmd_call *call)
{
	struct err err;
	int code = call->command->run(call, &err);
	return code < 0 ? cmd_fail(call, &err) : code;
}

static int run_command(const struct program *program, const struct cmd_line *line, char *self)
{
	struct err err;
	if (line->command->bare)
		clear_environment();
	if (arm_faults(&err) < 0)
		return say_error(&err);
	const struct role *role = line->command->role;
	bool instance = role && strcmp(line->command->name, role->name) != 0;
	struct cmd_call call = {
		.program = program,
		.command = line->command,
		.full_name = line->full_name,
		.self = self,
		.options = line->options,
		.argc = line->argc,
		.argv = line->argv,
		.input = {.file = line->file,
			  .env = environ,
			  .sets = line->sets,
			  .nsets = line->nsets,
			  .instance = instance ? line->command->name : NULL},
		.out = stdout,
	};
	return cmd_run(&call);
}

static int run_line(const struct program *program, struct cmd_line *line, int argc, char **argv)
{
	struct err err;
	const struct command *called = cmd_find_called(program, argv[0], &line->arena);
	if (line_parse(line, program, called, argc, argv, &err) < 0)
		return show_usage(line, &err);
	if (line->help) {
		show_help(program, line);
		return 0;
	}
	if (line->version) {
		puts(version_text);
		return 0;
	}
	return line->command ? run_command(program, line, argv[0]) : show_short_help(program);
}

/* Whether nobody is left to read our output: not our fault, and nothing to report. */
static bool reader_gone(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	return poll(&p, 1, 0) == 1 && p.revents & POLLERR;
}

/* A command whose output did not arrive fails, whatever it returned. */
static int flush_output(int code)
{
	bool lost = ferror(stdout);
	errno = 0;
	if (fflush(stdout) == 0 && !lost)
		return code;
	if (errno == EPIPE || reader_gone(STDOUT_FILENO))
		return code;
	struct err err;
	if (errno)
		err_sys(&err, "standard output");
	else
		err_set(&err, ERR_SYSTEM, "standard output: not all could be written");
	return say_error(&err);
}

int cmd_main(const struct program *program, int argc, char **argv)
{
	static char *nameless[] = {"garner", NULL};
	struct cmd_line line = LINE_INIT;
	fill_standard_descriptors();
	umask(umask(0) | S_IWOTH); /* nothing that anyone may write, however we were started */
	signal(SIGPIPE, SIG_IGN);
	int code = argc > 0 ? run_line(program, &line, argc, argv)
			    : run_line(program, &line, 1, nameless);
	log_flush();
	line_free(&line);
	return flush_output(code);
}

static const struct value_spec global_specs[] = {
	{"data", VALUE_PATH_AT(struct global_conf, data),
	 .help = "The directory that everything is kept in, made with mode 0750; empty: "
		 "$XDG_DATA_HOME/garner or ~/.local/share/garner, without a home /var/lib/garner"},
	{"disk_free", VALUE_SIZE_AT(struct global_conf, disk_free), "1G", 0, INFINITY,
	 .help = "while less is free on the disk of the data directory nothing new is fetched; it "
		 "goes on by itself when there is room"},
	{"log", VALUE_LIST_AT(struct global_conf, log),
	 .help = "Sections of the log to say more of, by name or number, with the level 1 to 9: "
		 "registry:5"},
};

const struct config_section global_section = {
	.name = "",
	.help = "What all roles and commands need; these keys stand before the first section.",
	.size = sizeof(struct global_conf),
	.specs = global_specs,
	.nspecs = ARRAY_LEN(global_specs),
};

bool cmd_has_role(const struct program *program, const struct role *role)
{
	for (size_t i = 0; i < program->nroles; i++)
		if (program->roles[i] == role)
			return true;
	return false;
}

/* Roles may share a section. */
size_t cmd_sections(const struct program *program, const struct config_section **ret, size_t cap)
{
	size_t n = 0;
	ENSURE(cap >= 8);
	ret[n++] = &global_section;
	ret[n++] = &up_section;
	ret[n++] = &net_section;
	ret[n++] = &robot_section;
	ret[n++] = &cage_section;
	ret[n++] = &mail_section;
	ret[n++] = &cache_section;
	ret[n++] = &provider_section;
	for (size_t i = 0; i < program->nroles; i++) {
		const struct config_section *section = program->roles[i]->section;
		size_t k = 0;
		while (k < n && ret[k] != section)
			k++;
		if (!section || k < n)
			continue;
		ENSURE(n < cap);
		ret[n++] = section;
	}
	return n;
}

/* A variable that is set and not empty, or NULL. */
static const char *env_value(char *const *env, const char *name)
{
	size_t n = strlen(name);
	for (; env && *env; env++)
		if (strncmp(*env, name, n) == 0 && (*env)[n] == '=' && (*env)[n + 1])
			return *env + n + 1;
	return NULL;
}

static int put_path(char *ret, size_t cap, struct err *err, const char *a, const char *b)
{
	int n = snprintf(ret, cap, "%s%s", a, b);
	if (n >= 0 && (size_t)n < cap)
		return 0;
	return err_set(err, ERR_USAGE, "the path %s%s is longer than %zu bytes", a, b, cap - 1);
}

/* Folders by the rules of XDG: a path that is not absolute is as good as none. */
static int xdg_path(char *ret, size_t cap, const char *xdg, const char *home, const char *below,
		    const char *name, struct err *err)
{
	char folder[PATH_MAX];
	if (xdg && xdg[0] == '/')
		return put_path(ret, cap, err, xdg, name);
	if (!home || home[0] != '/')
		return 1;
	if (put_path(folder, sizeof folder, err, home, below) < 0)
		return -1;
	return put_path(ret, cap, err, folder, name);
}

/* A file that is there but cannot be reached counts: to pass over it in silence would be worse. */
static bool file_exists(const char *path)
{
	return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int cmd_config_file(const struct config_input *in, char *ret, size_t cap, struct err *err)
{
	static const char system_file[] = "/etc/garner/garner.conf";
	char path[PATH_MAX];
	const char *named = in->file ? in->file : env_value(in->env, "GARNER_CONFIG");
	if (named)
		return put_path(ret, cap, err, named, "");
	int rc = xdg_path(path, sizeof path, env_value(in->env, "XDG_CONFIG_HOME"),
			  env_value(in->env, "HOME"), "/.config", "/garner/garner.conf", err);
	if (rc < 0)
		return -1;
	if (rc == 0 && file_exists(path))
		return put_path(ret, cap, err, path, "");
	return file_exists(system_file) ? put_path(ret, cap, err, system_file, "") : 1;
}

static int check_log(const struct config *config, struct err *err)
{
	const struct global_conf *global = config_get(config, &global_section);
	for (size_t i = 0; i < global->log.n; i++) {
		if (log_debug_check(str_of(global->log.item[i]), err) == 0)
			continue;
		const struct value_spec *spec =
			value_find(global_specs, ARRAY_LEN(global_specs), STR("log"));
		return err_in(err, "%s: log", config_origin(config, &global_section, spec));
	}
	return 0;
}

void cmd_log_apply(const struct config *config)
{
	const struct global_conf *global = config_get(config, &global_section);
	struct err err;
	log_debug_reset();
	for (size_t i = 0; i < global->log.n; i++)
		ENSURE(log_debug_set(str_of(global->log.item[i]), &err) == 0);
}

int cmd_load(const struct program *program, const struct config_input *in, struct config **ret,
	     struct buf *problems, struct err *err)
{
	const struct config_section *sections[CMD_SECTIONS_MAX];
	struct config *config = NULL;
	size_t n = cmd_sections(program, sections, ARRAY_LEN(sections));
	if (config_load(&config, sections, n, in, problems, err) < 0)
		return -1;
	if (check_log(config, err) < 0 || cache_conf_check(config, err) < 0 ||
	    up_conf_check(program, config, err) < 0) {
		if (problems)
			buf_printf(problems, "%s\n", err->msg);
		config_free(&config);
		return -1;
	}
	*ret = config;
	return 0;
}

/* The file that a role was given, or NULL. */
static const char *role_file_of(const struct cmd_call *call)
{
	const struct role *role = call->command ? call->command->role : NULL;
	return role && role->file && call->argc > 0 ? call->argv[0] : NULL;
}

static void log_warnings(struct buf *warnings)
{
	struct str rest = buf_str(warnings), line;
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n)
			log_warn(CONFIG, "part of a file is ignored", KV_STR("why", line));
}

/* What a role's own file says can depend on what holds without it, so that is loaded first. */
static int load_with_file(const struct cmd_call *call, struct config_input *in, struct config **ret,
			  struct buf *problems, struct err *err)
{
	CLEANUP(buf_free) struct buf warnings = BUF_INIT(1 << 20);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(16 << 20);
	CLEANUP(config_free) struct config *before = NULL;
	struct role_said said = {0};
	if (cmd_load(call->program, in, &before, problems, err) < 0 ||
	    call->command->role->file->read(role_file_of(call), before, &arena, &said, &warnings,
					    err) < 0)
		return -1;
	in->said = said.said;
	in->nsaid = said.n;
	int rc = cmd_load(call->program, in, ret, problems, err);
	if (rc == 0)
		log_warnings(&warnings);
	return rc;
}

/* With the file that a start would read. */
static int load_found(const struct cmd_call *call, struct config **ret, struct buf *problems,
		      struct err *err)
{
	char path[PATH_MAX];
	struct config_input in = call->input;
	int rc = cmd_config_file(&in, path, sizeof path, err);
	if (rc < 0)
		return -1;
	in.file = rc == 0 ? path : NULL;
	if (role_file_of(call))
		return load_with_file(call, &in, ret, problems, err);
	return cmd_load(call->program, &in, ret, problems, err);
}

int cmd_config_quiet(const struct cmd_call *call, struct config **ret, struct err *err)
{
	return load_found(call, ret, NULL, err);
}

int cmd_config(const struct cmd_call *call, struct config **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf problems = BUF_INIT(1 << 20);
	if (load_found(call, ret, &problems, err) == 0) {
		cmd_log_apply(*ret);
		return 0;
	}
	struct str rest = buf_str(&problems), line;
	fflush(call->out);
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n)
			fprintf(stderr, "garner: " STR_FMT "\n", STR_ARG(line));
	if (problems.n)
		err->msg[0] = 0;
	return -1;
}

static int default_data(char *ret, size_t cap, struct err *err)
{
	int rc = xdg_path(ret, cap, getenv("XDG_DATA_HOME"), getenv("HOME"), "/.local/share",
			  "/garner", err);
	return rc == 1 ? put_path(ret, cap, err, "/var/lib/garner", "") : rc;
}

int cmd_data_dir(const struct config *config, char *ret, size_t cap, struct err *err)
{
	const struct global_conf *global = config_get(config, &global_section);
	char here[PATH_MAX] = "", path[PATH_MAX];
	if (!global->data[0])
		return default_data(ret, cap, err);
	if (global->data[0] != '/') {
		if (!getcwd(here, sizeof here - 1))
			return err_sys(err, "data: %s is relative, and the current directory",
				       global->data);
		if (here[1])
			memcpy(here + strlen(here), "/", 2);
	}
	if (put_path(path, sizeof path, err, here, global->data) < 0)
		return -1;
	for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
		path[n - 1] = 0;
	return put_path(ret, cap, err, path, "");
}

int cmd_config_data(const struct cmd_call *call, struct config **ret, char ret_data[PATH_MAX],
		    struct err *err)
{
	return cmd_config(call, ret, err) < 0 ? -1 : cmd_data_dir(*ret, ret_data, PATH_MAX, err);
}

int cmd_data(const struct cmd_call *call, char ret[PATH_MAX], struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	return cmd_config_data(call, &config, ret, err);
}

int cmd_data_path(const struct cmd_call *call, const char *below, char ret[PATH_MAX],
		  struct err *err)
{
	char data[PATH_MAX];
	return cmd_data(call, data, err) < 0 ? -1 : file_below(data, below, ret, err);
}
