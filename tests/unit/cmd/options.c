#include "../unit.h"

#include "cmd/commands.h"
#include "cmd/system/help.h"
#include "cmd/system/options.h"
#include "cmd/system/text.h"

struct opts {
	bool verbose, json;
	int64_t number;
	int format;
	const char *name;
	struct value_list words;
};

static const char *const format_words[] = {"table", "json", NULL};

static const struct cmd_option show_options[] = {
	CMD_FLAG('v', "verbose", struct opts, verbose, "more"),
	CMD_FLAG('j', "json", struct opts, json, "as JSON"),
	CMD_OPTION('n', "N", "number", VALUE_INT_AT(struct opts, number), .fallback = "7",
		   .max = 100, .help = "how many"),
	CMD_OPTION(0, "FORMAT", "format", VALUE_WORD_AT(struct opts, format), .words = format_words,
		   .fallback = "table", .help = "how to print"),
	CMD_OPTION(0, "NAME", "long-name", VALUE_TEXT_AT(struct opts, name), .help = "a name"),
	CMD_OPTION('w', "WORD", "word", VALUE_LIST_AT(struct opts, words), .fallback = "old",
		   .help = "a word, repeatable"),
};

static int nothing(const struct cmd_call *call, struct err *err)
{
	(void)call;
	(void)err;
	return 0;
}

static const struct command show_command = {
	.name = "show",
	.summary = "shows",
	CMD_OPTIONS(show_options, struct opts),
	.args = "[FILE...]",
	.max_args = -1,
	.aliases = "oldshow  archaic",
	.run = nothing,
};
static const struct command exec_command = {
	.name = "exec",
	.summary = "runs",
	CMD_OPTIONS(show_options, struct opts),
	.args = "WORD [WORD]",
	.min_args = 1,
	.max_args = 2,
	.run = nothing,
};
static const struct command classic_command = {
	.name = "classic",
	.summary = "an old program",
	.classic = true,
	CMD_OPTIONS(show_options, struct opts),
	.args = "[FILE]",
	.max_args = 1,
	.run = nothing,
};
static const struct command first_sub = {.name = "first", .summary = "one", .run = nothing};
static const struct command second_sub = {.name = "second", .summary = "two", .run = nothing};
static const struct command shell_sub = {
	.name = "shell", .aliases = "oldsh", .bare = true, .summary = "a shell", .run = nothing};
static const struct command *const subs[] = {&first_sub, &second_sub, &shell_sub};
static const struct command group_command = {
	.name = "group", .summary = "a group", .subs = subs, .nsubs = ARRAY_LEN(subs)};

static const struct command *const test_commands[] = {&show_command, &exec_command, &group_command,
						      &classic_command};
static const struct role_flag worker_flags[] = {
	{"sh", "worker.shell=yes", "starts with two letters of other options"},
	{"nocol", "worker.start=nocol", "collects nothing"},
	{"new", "worker.start=new", "collects all"},
};
static const struct role_file worker_file = {.arg = "CONF", .help = "what it works on"};
static const struct role plain_role = {.name = "plain", .summary = "takes nothing"};
static const struct role worker_role = {.name = "worker",
					.summary = "works",
					.flags = worker_flags,
					.nflags = ARRAY_LEN(worker_flags),
					.file = &worker_file};
static const struct role *const test_roles[] = {&worker_role, &plain_role};
static const struct program program = {
	test_commands, ARRAY_LEN(test_commands), test_roles, ARRAY_LEN(test_roles), NULL, 0};

/* Parses "garner WORDS...", the words up to NULL. */
struct got {
	struct cmd_line line;
	struct err err;
	int rc;
};

static struct got parse_as(const char *self, const char *const *words)
{
	char *argv[32];
	int argc = 0;
	struct got got = {.line = LINE_INIT};
	argv[argc++] = (char *)(uintptr_t)self;
	for (; *words; words++)
		argv[argc++] = (char *)(uintptr_t)*words;
	argv[argc] = NULL;
	const struct command *called = cmd_find_called(&program, self, &got.line.arena);
	got.rc = line_parse(&got.line, &program, called, argc, argv, &got.err);
	return got;
}
#define PARSE_AS(self, ...) parse_as(self, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
#define PARSE(...) PARSE_AS("garner", __VA_ARGS__)

static void done(struct got *got)
{
	line_free(&got->line);
}

static void fails_with(struct got got, const char *text)
{
	assert_int_equal(got.rc, -1);
	assert_int_equal(got.err.code, ERR_USAGE);
	if (!strstr(got.err.msg, text))
		fail_msg("'%s' is not in '%s'", text, got.err.msg);
	done(&got);
}

static void defaults_are_there_when_nothing_is_said(void **state)
{
	(void)state;
	struct got got = PARSE("show");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_ptr_equal(got.line.command, &show_command);
	assert_false(o->verbose);
	assert_int_equal(o->number, 7);
	assert_int_equal(o->words.n, 1);
	assert_string_equal(o->words.item[0], "old");
	assert_int_equal(got.line.argc, 0);
	done(&got);
}

static void a_long_option_takes_its_value_after_an_equals_sign_or_in_the_next_word(void **state)
{
	(void)state;
	struct got got = PARSE("show", "--number=8", "--format", "json", "--long-name=a=b");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_int_equal(o->number, 8);
	assert_int_equal(o->format, 1);
	assert_string_equal(o->name, "a=b");
	done(&got);
	got = PARSE("show", "--long-name=");
	assert_int_equal(got.rc, 0);
	assert_string_equal(((const struct opts *)got.line.options)->name, "");
	done(&got);
}

static void options_of_a_classic_command_may_have_a_single_dash(void **state)
{
	(void)state;
	struct got got = PARSE("classic", "-json", "-number", "8", "dir", "-v");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_true(o->json);
	assert_true(o->verbose);
	assert_int_equal(o->number, 8);
	assert_int_equal(got.line.argc, 1);
	done(&got);
	fails_with(PARSE("show", "-verbose"), "unknown option '-e'");
	fails_with(PARSE("classic", "-verboser"), "unknown option '-e'");
}

static void a_value_may_look_like_an_option(void **state)
{
	(void)state;
	struct got got = PARSE("show", "--long-name", "--json", "-n", "5");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_string_equal(o->name, "--json");
	assert_false(o->json);
	assert_int_equal(o->number, 5);
	done(&got);
}

static void letters_bundle_and_the_last_one_may_take_a_value(void **state)
{
	(void)state;
	struct got got = PARSE("show", "-vjn9", "x");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_true(o->verbose && o->json);
	assert_int_equal(o->number, 9);
	assert_int_equal(got.line.argc, 1);
	done(&got);
	got = PARSE("show", "-vn", "10");
	o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_int_equal(o->number, 10);
	assert_int_equal(got.line.argc, 0);
	done(&got);
}

static void a_list_grows_and_its_default_goes_with_the_first(void **state)
{
	(void)state;
	struct got got = PARSE("show", "-w", "a,b", "--word=c");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_int_equal(o->words.n, 3);
	assert_string_equal(o->words.item[0], "a");
	assert_string_equal(o->words.item[2], "c");
	done(&got);
}

static void options_may_follow_arguments(void **state)
{
	(void)state;
	struct got got = PARSE("show", "a", "-v", "b", "-", "");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_true(o->verbose);
	assert_int_equal(got.line.argc, 4);
	assert_string_equal(got.line.argv[1], "b");
	assert_string_equal(got.line.argv[2], "-");
	assert_string_equal(got.line.argv[3], "");
	done(&got);
}

static void two_dashes_end_the_options(void **state)
{
	(void)state;
	struct got got = PARSE("show", "-v", "--", "-j", "--");
	const struct opts *o = got.line.options;
	assert_int_equal(got.rc, 0);
	assert_false(o->json);
	assert_int_equal(got.line.argc, 2);
	assert_string_equal(got.line.argv[0], "-j");
	assert_string_equal(got.line.argv[1], "--");
	done(&got);
}

static void the_options_that_all_have_stand_anywhere(void **state)
{
	(void)state;
	struct got got = PARSE("-c", "f", "-sa.b=1,2", "show", "x", "--set", "c=3", "-D70,5",
			       "--debug", "up");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.file, "f");
	assert_int_equal(got.line.nsets, 4);
	assert_string_equal(got.line.sets[0], "a.b=1,2");
	assert_string_equal(got.line.sets[1], "c=3");
	assert_string_equal(got.line.sets[2], "log+=70:5");
	assert_string_equal(got.line.sets[3], "log+=up");
	done(&got);
}

static void a_level_stays_with_its_section(void **state)
{
	(void)state;
	struct got got =
		PARSE("show", "x", "-D70,5,71,3", "-D 1 , 2 ", "-Dup,role,4,2", "-Dup:3,5");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.sets[0], "log+=70:5,71:3");
	assert_string_equal(got.line.sets[1], "log+=1:2");
	assert_string_equal(got.line.sets[2], "log+=up,role:4,2");
	assert_string_equal(got.line.sets[3], "log+=up:3,5");
	done(&got);
}

static void a_long_name_is_never_shortened(void **state)
{
	(void)state;
	fails_with(PARSE("show", "--verb"), "unknown option '--verb'; did you mean '--verbose'?");
}

static void what_is_unknown_is_named_with_the_nearest(void **state)
{
	(void)state;
	fails_with(PARSE("shwo"), "unknown command 'shwo'; did you mean 'show'?");
	fails_with(PARSE("workr"), "did you mean 'worker'?");
	fails_with(PARSE("group", "frist"), "unknown command 'group frist'; did you mean 'first'?");
	fails_with(PARSE("show", "--jsno"), "did you mean '--json'?");
	fails_with(PARSE("show", "--hepl"), "did you mean '--help'?");
	fails_with(PARSE("show", "-vx"), "unknown option '-x'");
	fails_with(PARSE("show", "-v\xc3\xb6"), "unknown option '-v\xc3\xb6'");
	fails_with(PARSE("--verbose", "show"), "follow its name");
	struct got got = PARSE("zzz");
	assert_int_equal(got.rc, -1);
	assert_null(strstr(got.err.msg, "did you mean"));
	done(&got);
}

static void a_word_of_any_length_is_refused_in_peace(void **state)
{
	(void)state;
	char big[5000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = 0;
	fails_with(PARSE(big), "unknown command");
	memcpy(big, "--", 2);
	fails_with(PARSE("show", big), "unknown option");
	fails_with(PARSE("show", "-\xff"), "unknown option");
	fails_with(PARSE(""), "unknown command ''");
}

static void values_are_checked(void **state)
{
	(void)state;
	fails_with(PARSE("show", "--number=x"), "--number: ");
	fails_with(PARSE("show", "-n", "101"), "--number: ");
	fails_with(PARSE("show", "--format=xml"), "--format: ");
	fails_with(PARSE("show", "--number"), "option '--number' needs a value");
	fails_with(PARSE("show", "-vn"), "option '-n' needs a value");
	fails_with(PARSE("show", "--json=yes"), "option '--json' takes no value");
}

static void arguments_are_counted(void **state)
{
	(void)state;
	fails_with(PARSE("exec"), "an argument is missing: WORD [WORD]");
	fails_with(PARSE("exec", "a", "b", "c"), "one argument too many: 'c'");
	fails_with(PARSE("plain", "x"), "one argument too many: 'x'");
	fails_with(PARSE("group", "first", "x"), "one argument too many: 'x'");
	fails_with(PARSE("group"), "group: which command? first, second or shell");
}

static void a_command_of_commands_is_entered(void **state)
{
	(void)state;
	struct got got = PARSE("group", "-s", "a=b", "second");
	assert_int_equal(got.rc, 0);
	assert_ptr_equal(got.line.command, &second_sub);
	assert_string_equal(got.line.full_name, "group second");
	done(&got);
}

static void help_silences_complaints_that_come_after_it(void **state)
{
	(void)state;
	struct got got = PARSE("exec", "--help");
	assert_int_equal(got.rc, 0);
	assert_true(got.line.help);
	assert_ptr_equal(got.line.command, &exec_command);
	done(&got);
	got = PARSE("-h", "show", "--bogus");
	assert_int_equal(got.rc, 0);
	assert_ptr_equal(got.line.command, &show_command);
	done(&got);
	fails_with(PARSE("show", "--bogus", "--help"), "unknown option '--bogus'");
}

static void nothing_at_all_is_no_error_of_the_parser(void **state)
{
	(void)state;
	struct got got = PARSE();
	assert_int_equal(got.rc, 0);
	assert_null(got.line.command);
	done(&got);
}

static void a_role_is_a_command(void **state)
{
	(void)state;
	struct got got = PARSE("worker", "-s", "x=y");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.full_name, "worker");
	assert_ptr_equal(got.line.command->role, &worker_role);
	done(&got);
}

static void a_flag_of_a_role_is_a_setting_with_one_dash_or_two(void **state)
{
	(void)state;
	struct got got = PARSE("worker", "-nocol", "-s", "x=y", "--nocol", "-sh");
	assert_int_equal(got.rc, 0);
	assert_false(got.line.help);
	assert_int_equal(got.line.nsets, 4);
	assert_string_equal(got.line.sets[0], "worker.start=nocol");
	assert_string_equal(got.line.sets[1], "x=y");
	assert_string_equal(got.line.sets[2], "worker.start=nocol");
	assert_string_equal(got.line.sets[3], "worker.shell=yes");
	done(&got);
	got = PARSE("worker", "-shh");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.sets[0], "hh");
	done(&got);
	fails_with(PARSE("worker", "-noco"), "unknown option '-n'");
	fails_with(PARSE("worker", "--nocl"), "--nocol");
	fails_with(PARSE("worker", "--nocol=yes"), "takes no value");
	fails_with(PARSE("worker", "-nocol", "--new"), "--nocol and --new exclude each other");
	fails_with(PARSE("show", "-nocol"), "number");
}

static void a_role_may_take_a_file_with_options_around_it(void **state)
{
	static const char *const lines[][6] = {
		{"worker", "w.conf", "-new", "-D70,5", "-D71"},
		{"worker", "-D70,5", "-new", "w.conf", "-D71"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct got got = parse_as("garner", lines[i]);
		assert_int_equal(got.rc, 0);
		assert_int_equal(got.line.argc, 1);
		assert_string_equal(got.line.argv[0], "w.conf");
		assert_int_equal(got.line.nsets, 3);
		assert_string_equal(got.line.sets[i], "worker.start=new");
		assert_string_equal(got.line.sets[1 - i], "log+=70:5");
		assert_string_equal(got.line.sets[2], "log+=71");
		done(&got);
	}
	fails_with(PARSE("worker", "a", "b"), "one argument too many: 'b'");
	fails_with(PARSE("plain", "a"), "one argument too many: 'a'");
	struct buf out = BUF_INIT(HELP_MOST);
	struct got got = PARSE("worker");
	help_of_command(&(struct help){&out, false}, got.line.command, "worker");
	assert_non_null(strstr(buf_text(&out), "[--new] [CONF]\n"));
	assert_non_null(strstr(buf_text(&out), "what it works on"));
	buf_free(&out);
	done(&got);
}

static void flags_of_roles_are_in_help_and_completion(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(HELP_MOST);
	struct got got = PARSE("worker");
	help_of_command(&(struct help){&out, false}, got.line.command, "worker");
	assert_non_null(strstr(buf_text(&out), "--nocol"));
	assert_non_null(strstr(buf_text(&out), "short for -s worker.start=nocol"));
	buf_clear(&out);
	man_command(got.line.command, "worker", &out);
	assert_non_null(strstr(buf_text(&out), "nocol"));
	buf_clear(&out);
	completion_bash(&program, &out);
	assert_non_null(strstr(buf_text(&out), "['garner worker']='--sh --nocol --new'"));
	buf_free(&out);
	done(&got);
}

static void the_name_of_the_program_names_the_command(void **state)
{
	(void)state;
	static const struct {
		const char *self, *name;
	} cases[] = {
		{"garner-show", "show"},
		{"/usr/bin/garner-show", "show"},
		{"archaic", "show"},
		{"./oldshow", "show"},
		{"oldsh", "shell"},
		{"-oldsh", "shell"},
		{"/bin/-oldsh", "shell"},
		{"--oldsh", NULL},
		{"shell", NULL},
		{"worker", "worker"},
		{"garner-worker", "worker"},
		{"show", NULL},
		{"garner", NULL},
		{"/opt/garner-show/g", NULL},
		{"garner-", NULL},
		{"", NULL},
		{"old", NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena arena = ARENA_INIT(1 << 16);
		const struct command *c = cmd_find_called(&program, cases[i].self, &arena);
		if (cases[i].name)
			assert_string_equal(c->name, cases[i].name);
		else
			assert_null(c);
		arena_free(&arena);
	}
	struct got got = PARSE_AS("garner-group", "first");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.full_name, "group first");
	done(&got);
}

static void a_login_shell_takes_no_word(void **state)
{
	(void)state;
	static const char *const words[] = {"-c", "--help", "--version", "-s", "x", "-", "--", ""};
	struct got got = PARSE_AS("-oldsh");
	assert_int_equal(got.rc, 0);
	assert_string_equal(got.line.full_name, "group shell");
	done(&got);
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		got = PARSE_AS("-oldsh", words[i], "x");
		assert_true(got.rc < 0);
		assert_string_equal(got.err.msg, "group shell: it takes no arguments");
		assert_false(got.line.help || got.line.version);
		done(&got);
	}
	got = PARSE("-c", "x", "group", "shell");
	assert_true(got.rc < 0);
	assert_string_equal(got.err.msg, "group shell: it takes no options");
	done(&got);
	got = PARSE("group", "shell", "-s", "x=y");
	assert_true(got.rc < 0);
	done(&got);
	got = PARSE("group", "shell", "x");
	assert_true(got.rc < 0);
	done(&got);
	got = PARSE("group", "shell", "--help");
	assert_true(got.line.help);
	struct buf out = BUF_INIT(10000);
	help_of_command(&(struct help){&out, false}, got.line.command, got.line.full_name);
	assert_null(strstr(buf_text(&out), "--config"));
	buf_free(&out);
	done(&got);
}

static void text_of_others_commands_no_terminal(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(100);
	(void)state;
	put_safe(&out, STR("a\tb\x1b[2J\x7f \x9b"
			   "2J \xc2\x9b"
			   "2J \xc3\xa9\xe2\x82\xac \xc2"));
	assert_string_equal("a b[2J ?2J 2J \xc3\xa9\xe2\x82\xac ?", buf_text(&out));
}

static void text_is_wrapped_before_the_eightieth_column(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(10000);
	for (int i = 0; i < 60; i++)
		text_term(&out, "term", "w\xc3\xb6rter von verschiedener l\xc3\xa4nge und art", 20);
	text_wrap(&out, "a  b\n c", 0, 4);
	assert_true(str_ends(buf_str(&out), STR("a b c\n")));
	struct str rest = buf_str(&out), line;
	while (str_cut(&rest, '\n', &line) == 0)
		assert_true(text_columns(line) <= TEXT_WIDTH);
	buf_free(&out);
}

/* All tables of garner itself, with the commands of commands. */
static void each_command(void (*look)(const struct command *c, const char *full_name))
{
	char name[128];
	for (size_t i = 0; i < ncommands; i++) {
		look(commands[i], commands[i]->name);
		for (size_t k = 0; k < commands[i]->nsubs; k++) {
			snprintf(name, sizeof name, "%s %s", commands[i]->name,
				 commands[i]->subs[k]->name);
			look(commands[i]->subs[k], name);
		}
	}
}

static void look_at_options(const struct command *c, const char *full_name)
{
	for (size_t i = 0; i < c->noptions; i++) {
		const struct cmd_option *o = &c->options[i];
		bool flag = !o->arg;
		if ((o->spec.type == VALUE_BOOL) != flag || !o->spec.help || !o->spec.name)
			fail_msg("%s: option %zu is not whole", full_name, i);
		/* the old program's letters mean what they meant, after its name */
		bool old = strcmp(full_name, "shep buckettool") == 0;
		if (!old && o->letter && strchr("csDh", o->letter))
			fail_msg("%s: -%c belongs to all commands", full_name, o->letter);
		if (strchr(o->spec.name, '_') || o->spec.offset >= c->options_size)
			fail_msg("%s: --%s", full_name, o->spec.name);
		for (size_t k = 0; k < i; k++)
			if (strcmp(o->spec.name, c->options[k].spec.name) == 0 ||
			    (o->letter && o->letter == c->options[k].letter))
				fail_msg("%s: --%s is there twice", full_name, o->spec.name);
		for (size_t k = 0; k < cmd_nglobals; k++)
			if (strcmp(o->spec.name, cmd_globals[k].spec.name) == 0)
				fail_msg("%s: --%s belongs to all", full_name, o->spec.name);
	}
}

static void look_at_command(const struct command *c, const char *full_name)
{
	if (!c->summary || strlen(c->summary) > 66 || !c->run != (c->nsubs > 0))
		fail_msg("%s: summary or run", full_name);
	if (!c->args != (c->max_args == 0) || c->min_args < 0 ||
	    (c->max_args >= 0 && c->min_args > c->max_args))
		fail_msg("%s: arguments", full_name);
	look_at_options(c, full_name);
}

static void look_at_help(const struct command *c, const char *full_name)
{
	struct buf out = BUF_INIT(HELP_MOST);
	help_of_command(&(struct help){&out, false}, c, full_name);
	struct str rest = buf_str(&out), line;
	assert_false(out.over);
	while (str_cut(&rest, '\n', &line) == 0)
		if (text_columns(line) > TEXT_WIDTH)
			fail_msg("%s: wider than a terminal: " STR_FMT, full_name, STR_ARG(line));
	buf_free(&out);
}

static void the_tables_of_garner_are_whole(void **state)
{
	(void)state;
	assert_true(ncommands > 0);
	assert_null(commands[ncommands]);
	assert_null(roles[nroles]);
	each_command(look_at_command);
	for (size_t i = 0; i < ncommands; i++) {
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(commands[i]->name, commands[k]->name);
		for (size_t k = 0; k < nroles; k++)
			assert_string_not_equal(commands[i]->name, roles[k]->name);
	}
}

static void the_help_of_garner_fits_a_terminal(void **state)
{
	(void)state;
	each_command(look_at_help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_there_when_nothing_is_said),
		cmocka_unit_test(
			a_long_option_takes_its_value_after_an_equals_sign_or_in_the_next_word),
		cmocka_unit_test(options_of_a_classic_command_may_have_a_single_dash),
		cmocka_unit_test(a_value_may_look_like_an_option),
		cmocka_unit_test(letters_bundle_and_the_last_one_may_take_a_value),
		cmocka_unit_test(a_list_grows_and_its_default_goes_with_the_first),
		cmocka_unit_test(options_may_follow_arguments),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(the_options_that_all_have_stand_anywhere),
		cmocka_unit_test(a_level_stays_with_its_section),
		cmocka_unit_test(a_long_name_is_never_shortened),
		cmocka_unit_test(what_is_unknown_is_named_with_the_nearest),
		cmocka_unit_test(a_word_of_any_length_is_refused_in_peace),
		cmocka_unit_test(values_are_checked),
		cmocka_unit_test(arguments_are_counted),
		cmocka_unit_test(a_command_of_commands_is_entered),
		cmocka_unit_test(help_silences_complaints_that_come_after_it),
		cmocka_unit_test(nothing_at_all_is_no_error_of_the_parser),
		cmocka_unit_test(a_role_is_a_command),
		cmocka_unit_test(a_flag_of_a_role_is_a_setting_with_one_dash_or_two),
		cmocka_unit_test(a_role_may_take_a_file_with_options_around_it),
		cmocka_unit_test(flags_of_roles_are_in_help_and_completion),
		cmocka_unit_test(the_name_of_the_program_names_the_command),
		cmocka_unit_test(a_login_shell_takes_no_word),
		cmocka_unit_test(text_of_others_commands_no_terminal),
		cmocka_unit_test(text_is_wrapped_before_the_eightieth_column),
		cmocka_unit_test(the_tables_of_garner_are_whole),
		cmocka_unit_test(the_help_of_garner_fits_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
