#include "role/config.h"

#include "../scratch.h"
#include "base/clock.h"
#include "base/file.h"
#include "role/ini.h"

struct global_conf {
	const char *data;
	struct value_list log;
};
static const struct value_spec global_specs[] = {
	{"data", VALUE_PATH_AT(struct global_conf, data), "", .help = "Where all is kept"},
	{"log", VALUE_LIST_AT(struct global_conf, log), .help = "What to say"},
};
static const struct config_section global = {"", "for all", sizeof(struct global_conf),
					     global_specs, ARRAY_LEN(global_specs)};

struct web_conf {
	const char *listen, *title;
	int64_t max_connections, timeout_us;
	bool open;
};
static const struct value_spec web_specs[] = {
	{"listen", VALUE_LISTEN_AT(struct web_conf, listen), "127.0.0.1:8080", .help = "Where"},
	{"title", VALUE_TEXT_AT(struct web_conf, title), "# garner", .help = "What it is called"},
	{"max_connections", VALUE_INT_AT(struct web_conf, max_connections), "100", .min = 1,
	 .max = 10000,
	 .help = "How many there may be at the same time, counted over all the addresses that the "
		 "role listens on"},
	{"timeout", VALUE_TIME_AT(struct web_conf, timeout_us), "10s", .min = US_PER_MS,
	 .max = US_PER_H, .help = "How long to wait"},
	{"open", VALUE_BOOL_AT(struct web_conf, open), .help = "For all"},
};
static const struct config_section web = {"web", "The pages.", sizeof(struct web_conf), web_specs,
					  ARRAY_LEN(web_specs)};

struct queuer_conf {
	uint64_t memory;
};
static const struct value_spec queuer_specs[] = {
	{"memory", VALUE_SIZE_AT(struct queuer_conf, memory), "64M"},
};
static const struct config_section queuer = {"archie-queuer", "The queue.",
					     sizeof(struct queuer_conf), queuer_specs,
					     ARRAY_LEN(queuer_specs)};

static const struct config_section *const sections[] = {&web, &global, &queuer};

struct fixture {
	struct config *c;
	struct buf problems;
	struct err err;
};

static int setup(void **state)
{
	struct fixture *f = mem_alloc(sizeof *f);
	f->problems = BUF_INIT(1 << 20);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	config_free(&f->c);
	buf_free(&f->problems);
	mem_free(&f);
	return 0;
}

static int load(struct fixture *f, const struct config_input *in)
{
	config_free(&f->c);
	buf_clear(&f->problems);
	return config_load(&f->c, sections, ARRAY_LEN(sections), in, &f->problems, &f->err);
}

static int load_text(struct fixture *f, struct str text)
{
	return load(f, &(struct config_input){.file = "garner.conf", .text = text});
}

static const struct web_conf *web_of(struct fixture *f)
{
	return config_get(f->c, &web);
}

/* The file gives exactly one problem, and these are its words. */
static void assert_problem(struct fixture *f, struct str text, const char *want)
{
	char line[1200];
	assert_int_equal(load_text(f, text), -1);
	assert_null(f->c);
	assert_int_equal(f->err.code, ERR_USAGE);
	assert_string_equal(f->err.msg, want);
	snprintf(line, sizeof line, "%s\n", want);
	assert_string_equal(buf_text(&f->problems), line);
}

static void nothing_said_gives_the_defaults(void **state)
{
	struct fixture *f = *state;
	assert_int_equal(load(f, &(struct config_input){0}), 0);
	assert_string_equal(web_of(f)->listen, "127.0.0.1:8080");
	assert_int_equal(web_of(f)->max_connections, 100);
	assert_string_equal(config_origin(f->c, &web, &web_specs[0]), "default");
	assert_false(config_is_set(f->c, &web, &web_specs[0]));
	assert_int_equal(load_text(f, STR("")), 0);
	assert_string_equal(((const struct global_conf *)config_get(f->c, &global))->data, "");
}

static void a_file_says_things_in_many_ways(void **state)
{
	struct fixture *f = *state;
	static const char text[] = "\xef\xbb\xbf# a comment\r\n"
				   "  ; another\n"
				   "data = /var/lib/x # not /y\r\n"
				   "log=registry:5, query:3;not a comment\n"
				   "\t\n"
				   "[ web ]   ; here\n"
				   "listen =\n"
				   "title = \"  a \\\"b\\\" \\\\ c\\n# d\"   # e\n"
				   "timeout = 1h\n"
				   "[archie-queuer]\n"
				   "memory=1.5M\n"
				   "[web]\n"
				   "open = Yes";
	assert_int_equal(load_text(f, str_of(text)), 0);
	const struct global_conf *g = config_get(f->c, &global);
	assert_string_equal(g->data, "/var/lib/x");
	assert_int_equal(g->log.n, 4);
	assert_string_equal(g->log.item[1], "query:3;not");
	assert_string_equal(web_of(f)->listen, "");
	assert_string_equal(web_of(f)->title, "  a \"b\" \\ c\n# d");
	assert_int_equal(web_of(f)->timeout_us, US_PER_H);
	assert_true(web_of(f)->open);
	const struct queuer_conf *q = config_get(f->c, &queuer);
	assert_int_equal(q->memory, 1572864);
	assert_string_equal(config_origin(f->c, &queuer, &queuer_specs[0]), "garner.conf:11");
	assert_string_equal(config_origin(f->c, &web, &web_specs[4]), "garner.conf:13");
}

static void the_environment_overrides_the_file_and_s_overrides_both(void **state)
{
	struct fixture *f = *state;
	char *env[] = {"HOME=/x",
		       "GARNER_WEB_MAX_CONNECTIONS=3",
		       "GARNER_DATA=/env",
		       "GARNER_WEB_TIMEOUT=3s",
		       "GARNER_ARCHIE_QUEUER_MEMORY=3K",
		       "GARNER_WEB_LISTEN=",
		       "GARNER_CONFIG=x",
		       "GARNER_FAULTS=y",
		       "GARNER_WITHOUT_VALUE",
		       "garner_web_titel=x",
		       NULL};
	const char *sets[] = {"web.timeout=4s", "log=a=b", "web.timeout=5s"};
	struct config_input in = {.file = "f",
				  .text = STR("[web]\nmax_connections=2\ntimeout=2s\nopen=on\n"),
				  .env = env,
				  .sets = sets,
				  .nsets = ARRAY_LEN(sets)};
	assert_int_equal(load(f, &in), 0);
	assert_int_equal(web_of(f)->max_connections, 3);
	assert_int_equal(web_of(f)->timeout_us, 5 * US_PER_S);
	assert_string_equal(web_of(f)->listen, "");
	assert_true(web_of(f)->open);
	const struct global_conf *g = config_get(f->c, &global);
	assert_string_equal(g->data, "/env");
	assert_string_equal(g->log.item[0], "a=b");
	assert_string_equal(config_origin(f->c, &web, &web_specs[2]), "GARNER_WEB_MAX_CONNECTIONS");
	assert_string_equal(config_origin(f->c, &web, &web_specs[3]), "-s");
	assert_string_equal(config_origin(f->c, &web, &web_specs[4]), "f:4");
	assert_string_equal(config_origin(f->c, &global, &global_specs[0]), "GARNER_DATA");
}

static void what_another_file_says_stands_between_the_environment_and_s(void **state)
{
	struct fixture *f = *state;
	char *env[] = {"GARNER_WEB_TIMEOUT=3s", "GARNER_WEB_MAX_CONNECTIONS=3", NULL};
	const char *sets[] = {"web.timeout=4s"};
	static const struct config_said said[] = {{"web.timeout=7s", "old.conf:1"},
						  {"web.max_connections=7", "old.conf:2"},
						  {"web.open=maybe", "old.conf:3"},
						  {"web.titel=x", "old.conf:4"}};
	struct config_input in = {
		.env = env, .sets = sets, .nsets = ARRAY_LEN(sets), .said = said, .nsaid = 2};
	assert_int_equal(load(f, &in), 0);
	assert_int_equal(web_of(f)->max_connections, 7);
	assert_int_equal(web_of(f)->timeout_us, 4 * US_PER_S);
	assert_string_equal(config_origin(f->c, &web, &web_specs[2]), "old.conf:2");
	assert_string_equal(config_origin(f->c, &web, &web_specs[3]), "-s");
	in.nsaid = ARRAY_LEN(said);
	assert_int_equal(load(f, &in), -1);
	assert_non_null(strstr(buf_text(&f->problems),
			       "old.conf:3: web.open: expected yes or no, got 'maybe'\n"
			       "old.conf:4: unknown setting 'web.titel'"));
}

static void wrong_lines_name_their_place(void **state)
{
	struct fixture *f = *state;
	static const struct {
		struct str text;
		const char *want;
	} cases[] = {
		{STR("\n[web]\nlisten = here\n"),
		 "garner.conf:3: web.listen: expected a numeric ADDRESS:PORT such as "
		 "127.0.0.1:8080, [::1]:8080 or *:8080, or unix:PATH, got 'here'"},
		{STR("[web]\ntimeout = 2h\n"),
		 "garner.conf:2: web.timeout: must be 1ms to 1h, got '2h'"},
		{STR("[web]\nmax_connections =\n"),
		 "garner.conf:2: web.max_connections: expected a whole number, got ''"},
		{STR("[web]\nlisen = x\n"),
		 "garner.conf:2: unknown setting 'web.lisen'; did you mean 'listen'?"},
		{STR("[web]\nmax-connections = 5\n"),
		 "garner.conf:2: unknown setting 'web.max-connections'; did you mean "
		 "'max_connections'?"},
		{STR("[wbe]\nlisten = x\n=\"\n"),
		 "garner.conf:1: unknown section 'wbe' (and 1 more problem)"},
		{STR("listen = x\n"),
		 "garner.conf:1: unknown setting 'listen'; section web has one "
		 "of that name"},
		{STR("[web]\ndata = x\n"), "garner.conf:2: unknown setting 'web.data'; the part "
					   "before the first section has one of that name"},
		{STR("[web]\nzzzzzzzzzz = x\n"), "garner.conf:2: unknown setting 'web.zzzzzzzzzz'"},
		{STR("[archie_queuer]\nmemory=1\n"), "garner.conf:1: unknown section "
						     "'archie_queuer'; did you mean "
						     "'archie-queuer'?"},
		{STR("[web]\nopen=1\n\nopen=1\n"),
		 "garner.conf:4: web.open: given on line 2 already"},
		{STR("log=a\nlog=b\n"), "garner.conf:2: log: given on line 1 already"},
		{STR("[web"), "garner.conf:1: '[' without ']'"},
		{STR("[ ]"), "garner.conf:1: a section without a name"},
		{STR("[web] listen = x"), "garner.conf:1: something follows ']'"},
		{STR("data"), "garner.conf:1: expected 'key = value' or '[section]'"},
		{STR("= x"), "garner.conf:1: no key before '='"},
		{STR("data = \"x"), "garner.conf:1: the closing quote is missing"},
		{STR("data = \"x\\"), "garner.conf:1: in quotes, \\ goes before \", \\ or n only"},
		{STR("data = \"x\\\""), "garner.conf:1: the closing quote is missing"},
		{STR("data = \"x\\t\""),
		 "garner.conf:1: in quotes, \\ goes before \", \\ or n only"},
		{STR("data = \"x\" y"), "garner.conf:1: something follows the closing quote"},
		{STR("\ndata = \xff"), "garner.conf:2: the line is not valid UTF-8"},
		{STR("# \xc3\n"), "garner.conf:1: the line is not valid UTF-8"},
		{STR("data = a\0b\n"), "garner.conf:1: the line has a control character"},
		{STR("data = a\rb\n"), "garner.conf:1: the line has a control character"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		if (strstr(cases[i].want, " more problem")) {
			assert_int_equal(load_text(f, cases[i].text), -1);
			assert_non_null(strstr(f->err.msg, "(and 1 more problem)"));
			continue;
		}
		assert_problem(f, cases[i].text, cases[i].want);
	}
}

static void an_unknown_section_is_one_problem_not_many(void **state)
{
	struct fixture *f = *state;
	assert_problem(f, STR("[wep]\na=1\nb=2\n[web]\nopen=1\n"),
		       "garner.conf:1: unknown section 'wep'; did you mean 'web'?");
}

static void a_line_and_a_file_have_limits(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(1 << 22);
	buf_add_byte(&text, '#');
	buf_fill(&text, 'x', INI_LINE_MAX - 1);
	buf_add_text(&text, "\r\ndata = ");
	buf_fill(&text, 'y', INI_VALUE_MAX);
	assert_int_equal(load_text(f, buf_str(&text)), 0);
	buf_add_byte(&text, 'y');
	assert_problem(f, buf_str(&text),
		       "garner.conf:2: data: expected at most 4000 bytes of plain UTF-8 text");
	buf_clear(&text);
	buf_add_byte(&text, '#');
	buf_fill(&text, 'x', INI_LINE_MAX);
	assert_problem(f, buf_str(&text),
		       "garner.conf:1: the line has 8193 bytes; at most 8192 are allowed");
	buf_clear(&text);
	buf_fill(&text, '\n', INI_FILE_MAX);
	struct err err;
	const char *path = scratch("big.conf");
	assert_int_equal(file_replace(path, buf_str(&text), 0600, &err), 0);
	assert_int_equal(load(f, &(struct config_input){.file = path}), 0);
	buf_add_byte(&text, '\n');
	assert_int_equal(file_replace(path, buf_str(&text), 0600, &err), 0);
	assert_int_equal(load(f, &(struct config_input){.file = path}), -1);
	assert_non_null(strstr(f->err.msg, path));
	buf_free(&text);
}

static void a_file_that_is_not_there_is_a_problem(void **state)
{
	struct fixture *f = *state;
	const char *path = scratch("none.conf");
	assert_int_equal(load(f, &(struct config_input){.file = path}), -1);
	assert_non_null(strstr(f->err.msg, path));
	assert_non_null(strstr(f->err.msg, "no such file"));
	assert_int_equal(load(f, &(struct config_input){.file = scratch("")}), -1);
	assert_non_null(strstr(f->err.msg, scratch("")));
}

static void a_mistyped_variable_does_not_pass(void **state)
{
	struct fixture *f = *state;
	char *env[] = {"GARNER_WEB_LISEN=127.0.0.1:80", NULL};
	assert_int_equal(load(f, &(struct config_input){.env = env}), -1);
	assert_string_equal(f->err.msg,
			    "GARNER_WEB_LISEN: this variable of the environment names no setting; "
			    "did you mean 'GARNER_WEB_LISTEN'?");
	env[0] = "GARNER_WEB_TIMEOUT=never";
	assert_int_equal(load(f, &(struct config_input){.env = env}), -1);
	assert_string_equal(f->err.msg, "GARNER_WEB_TIMEOUT: web.timeout: expected a time such as "
					"250ms, 10s or 1h30min, got 'never'");
	env[0] = "GARNER_DATA=\xff";
	assert_int_equal(load(f, &(struct config_input){.env = env}), -1);
	env[0] = "GARNER_=";
	assert_int_equal(load(f, &(struct config_input){.env = env}), -1);
}

static void wrong_sets_are_named(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *set, *want;
	} cases[] = {
		{"web.listen", "-s web.listen: expected section.key=value"},
		{"", "-s : expected section.key=value"},
		{"wep.listen=", "-s wep.listen=: unknown section 'wep'; did you mean 'web'?"},
		{"web.lsten=",
		 "-s web.lsten=: unknown setting 'web.lsten'; did you mean 'listen'?"},
		{"dat=x", "-s dat=x: unknown setting 'dat'; did you mean 'data'?"},
		{"=x", "-s =x: unknown setting ''"},
		{".data=x", NULL},
		{"web.open=maybe", "-s web.open=maybe: web.open: expected yes or no, got 'maybe'"},
		{"web.title=\001",
		 "-s web.title=?: web.title: expected at most 4000 bytes of plain "
		 "UTF-8 text"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config_input in = {.sets = &cases[i].set, .nsets = 1};
		assert_int_equal(load(f, &in), cases[i].want ? -1 : 0);
		if (cases[i].want)
			assert_string_equal(f->err.msg, cases[i].want);
	}
}

static void all_problems_are_told_and_nothing_is_taken(void **state)
{
	struct fixture *f = *state;
	char *env[] = {"GARNER_X=1", NULL};
	const char *sets[] = {"y=2"};
	struct config *kept = NULL;
	struct config_input in = {.file = "f",
				  .text = STR("data=/x\nbad\n[web]\nopen=?\n"),
				  .env = env,
				  .sets = sets,
				  .nsets = 1};
	assert_int_equal(config_load(&kept, sections, 3, &in, &f->problems, &f->err), -1);
	assert_null(kept);
	assert_string_equal(f->err.msg,
			    "f:2: expected 'key = value' or '[section]' (and 3 more problems)");
	assert_string_equal(buf_text(&f->problems),
			    "f:2: expected 'key = value' or '[section]'\n"
			    "f:4: web.open: expected yes or no, got '?'\n"
			    "GARNER_X: this variable of the environment names no setting\n"
			    "-s y=2: unknown setting 'y'\n");
	assert_int_equal(config_load(&kept, sections, 3, &in, NULL, &f->err), -1);
}

static void a_hundred_problems_are_enough(void **state)
{
	struct fixture *f = *state;
	struct buf text = BUF_INIT(1 << 16);
	for (int i = 0; i < 250; i++)
		buf_add_text(&text, "x\n");
	assert_int_equal(load_text(f, buf_str(&text)), -1);
	size_t lines = 0;
	for (const char *p = buf_text(&f->problems); (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 101);
	assert_non_null(strstr(buf_text(&f->problems), "f:100: "));
	assert_null(strstr(buf_text(&f->problems), "f:101: "));
	assert_true(str_ends(buf_str(&f->problems), STR("\nand 150 more problems\n")));
	assert_non_null(strstr(f->err.msg, "(and 249 more problems)"));
	buf_free(&text);
}

static void long_names_leave_room_for_the_rest(void **state)
{
	struct fixture *f = *state;
	char name[2000];
	memset(name, 'n', sizeof name);
	name[sizeof name - 1] = 0;
	struct config_input in = {.file = name, .text = STR("x\ny\n")};
	assert_int_equal(load(f, &in), -1);
	assert_true(str_ends(str_of(f->err.msg), STR("(and 1 more problem)")));
	assert_non_null(strstr(buf_text(&f->problems), "n:2: expected"));
}

static void what_is_written_loads_the_same(void **state)
{
	struct fixture *f = *state;
	const char *sets[] = {"web.title= a #b \"c\" \\ \n\td ", "log=x y",
			      "web.listen=", "archie-queuer.memory=1K"};
	assert_int_equal(load(f, &(struct config_input){.sets = sets, .nsets = 4}), 0);
	struct config *first = f->c;
	f->c = NULL;
	for (int only_set = 0; only_set <= 1; only_set++) {
		struct buf out = BUF_INIT(1 << 16);
		config_write(first, only_set, &out);
		assert_int_equal(load_text(f, buf_str(&out)), 0);
		for (size_t i = 0; i < ARRAY_LEN(sections); i++)
			assert_true(
				config_section_equal(first, f->c, sections[i], sections[i]->name));
		assert_int_equal(!!strstr(buf_text(&out), "timeout = 10s"), !only_set);
		buf_free(&out);
	}
	struct buf out = BUF_INIT(1 << 16);
	config_write(first, true, &out);
	assert_string_equal(buf_text(&out),
			    "log = x y\n\n[web]\nlisten =\ntitle = \" a #b \\\"c\\\" \\\\ \\n\td \""
			    "\n\n[archie-queuer]\nmemory = 1K\n");
	buf_free(&out);
	config_free(&first);
}

static void values_are_quoted_only_where_they_must(void **state)
{
	(void)state;
	static const struct {
		const char *value, *want;
	} cases[] = {
		{"", ""},           {"a b", "a b"},       {" a", "\" a\""}, {"a\t", "\"a\t\""},
		{"a#b", "a#b"},     {"a #b", "\"a #b\""}, {"#a", "\"#a\""}, {";", "\";\""},
		{"a\"b", "a\"b"},   {"\"a", "\"\\\"a\""}, {"a\\b", "a\\b"}, {"a\nb", "\"a\\nb\""},
		{"[web]", "[web]"}, {"a=b", "a=b"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf out = BUF_INIT(100);
		ini_quote(str_of(cases[i].value), &out);
		assert_string_equal(buf_text(&out), cases[i].want);
		buf_free(&out);
	}
}

static void sections_are_compared_by_value(void **state)
{
	struct fixture *f = *state;
	struct config *other = NULL;
	assert_int_equal(load_text(f, STR("[web]\ntimeout=10000ms\n")), 0);
	struct config_input in = {0};
	assert_int_equal(config_load(&other, sections, 3, &in, NULL, &f->err), 0);
	assert_true(config_section_equal(f->c, other, &web, "web"));
	config_free(&other);
	const char *set = "web.timeout=11s";
	in = (struct config_input){.sets = &set, .nsets = 1};
	assert_int_equal(config_load(&other, sections, 3, &in, NULL, &f->err), 0);
	assert_false(config_section_equal(f->c, other, &web, "web"));
	assert_true(config_section_equal(f->c, other, &global, ""));
	config_free(&other);
}

static const struct config_section bot = {
	"bot", "Robots.", sizeof(struct web_conf), web_specs, ARRAY_LEN(web_specs), true};
static const struct config_section *const with_bots[] = {&global, &web, &bot};

static int load_bots(struct fixture *f, const struct config_input *in)
{
	buf_clear(&f->problems);
	config_free(&f->c);
	return config_load(&f->c, with_bots, ARRAY_LEN(with_bots), in, &f->problems, &f->err);
}

static const struct web_conf *bot_conf(const struct fixture *f, const char *name)
{
	return config_get(f->c, config_instance(f->c, &bot, name));
}

static void an_instance_has_what_all_have_unless_it_says_otherwise(void **state)
{
	struct fixture *f = *state;
	const char *sets[] = {"bot.timeout=3s", "bot@2.title=set"};
	char *env[] = {"GARNER_BOT_2_MAX_CONNECTIONS=7", "GARNER_BOT_MAX_CONNECTIONS=9",
		       "GARNER_BOT_TEN_OPEN=yes", NULL};
	struct config_input in = {
		.file = "t",
		.text = STR("log = bot@ten other\n[bot@2]\ntimeout = 2s\n[bot]\ntimeout = 1s\n"
			    "title = all\n"),
		.env = env,
		.sets = sets,
		.nsets = 2};
	assert_int_equal(load_bots(f, &in), 0);
	const struct web_conf *two = bot_conf(f, "bot@2"), *ten = bot_conf(f, "bot@ten");
	assert_int_equal(two->timeout_us, 2 * US_PER_S); /* also over a -s that is for all */
	assert_int_equal(two->max_connections, 7);
	assert_string_equal(two->title, "set");
	assert_false(two->open);
	assert_int_equal(ten->timeout_us, 3 * US_PER_S);
	assert_int_equal(ten->max_connections, 9);
	assert_string_equal(ten->title, "all");
	assert_true(ten->open);
	/* one that nobody knows is as all are */
	assert_ptr_equal(bot_conf(f, "bot@3"), config_get(f->c, &bot));
	assert_ptr_equal(config_instance(f->c, &web, "bot@2"), &web);
	const struct config_section *section = config_instance(f->c, &bot, "bot@2");
	assert_string_equal(section->name, "bot@2");
	assert_string_equal(config_origin(f->c, section, &web_specs[3]), "t:3");
	assert_string_equal(config_origin(f->c, section, &web_specs[1]), "-s");
	size_t n = 0;
	while (config_section_at(f->c, n))
		n++;
	assert_int_equal(n, 5);
	/* as itself, its values are those of the section */
	in.instance = "bot@2";
	assert_int_equal(load_bots(f, &in), 0);
	assert_int_equal(((const struct web_conf *)config_get(f->c, &bot))->timeout_us,
			 2 * US_PER_S);
}

static void what_is_written_has_its_instances(void **state)
{
	struct fixture *f = *state;
	struct config *first;
	struct buf out = BUF_INIT(1 << 16);
	struct config_input in = {.file = "t",
				  .text = STR("[bot]\ntitle = all\n[bot@1]\ntitle = one\n"
					      "[bot@2]\nopen = yes\n")};
	assert_int_equal(load_bots(f, &in), 0);
	config_write(f->c, false, &out);
	assert_non_null(strstr(buf_text(&out), "[bot@1]\ntitle = one\n\n[bot@2]\nopen = yes\n"));
	first = f->c;
	f->c = NULL;
	in.text = buf_str(&out);
	assert_int_equal(load_bots(f, &in), 0);
	const char *names[] = {"bot", "bot@1", "bot@2"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(config_section_equal(first, f->c, &bot, names[i]));
	in.text = STR("[bot]\ntitle = all\n[bot@1]\ntitle = two\n[bot@2]\nopen = yes\n");
	assert_int_equal(load_bots(f, &in), 0);
	assert_true(config_section_equal(first, f->c, &bot, "bot"));
	assert_false(config_section_equal(first, f->c, &bot, "bot@1"));
	assert_true(config_section_equal(first, f->c, &bot, "bot@2"));
	config_free(&first);
	buf_free(&out);
}

static void each_mistake_with_instances_is_said_once(void **state)
{
	struct fixture *f = *state;
	const char *sets[] = {"bot@-.title=x", "bot@1.nothing=x", "nosuch@1.title=x"};
	char *env[] = {"GARNER_BOT_1_NOTHING=7", "GARNER_BOT_9_TITLE=x", NULL};
	struct config_input in = {
		.file = "t",
		.text = STR("[web@1]\ntitle = x\n[bot@]\ntitle = x\n[bot@1]\nlisten = x\nno\n"
			    "[bot@123456789012345678901234567890123]\n[]\n"),
		.env = env,
		.sets = sets,
		.nsets = 3};
	assert_int_equal(load_bots(f, &in), -1);
	static const char *const said[] = {
		"t:1: section 'web@1': there is only one web\n",
		"t:3: section 'bot@': expected letters and digits",
		"t:6: bot@1.listen: ",
		"t:7: ",
		"t:8: section 'bot@12345",
		"-s bot@-.title=x: section 'bot@-'",
		"-s bot@1.nothing=x: unknown setting 'bot@1.nothing'",
		"-s nosuch@1.title=x: unknown section 'nosuch'",
		"GARNER_BOT_1_NOTHING: this variable",
		"GARNER_BOT_9_TITLE: this variable",
	};
	for (size_t i = 0; i < ARRAY_LEN(said); i++) {
		const char *at = strstr(buf_text(&f->problems), said[i]);
		if (!at || strstr(at + 1, said[i]))
			fail_msg("'%s' is not there once: %s", said[i], buf_text(&f->problems));
	}
}

/* "#key = value" becomes "key = value"; comments have a blank after the #. */
static void uncomment(struct str text, struct buf *out)
{
	struct str line;
	while (str_cut(&text, '\n', &line) == 0) {
		bool setting = line.n > 1 && line.p[0] == '#' && line.p[1] != ' ';
		buf_add_str(out, setting ? str_from(line, 1) : line);
		buf_add_byte(out, '\n');
	}
}

static void the_sample_is_a_file_of_defaults(void **state)
{
	struct fixture *f = *state;
	struct buf sample = BUF_INIT(1 << 16), said = BUF_INIT(1 << 16);
	config_sample(&(struct config_list){sections, ARRAY_LEN(sections)}, &sample);
	assert_int_equal(load_text(f, buf_str(&sample)), 0);
	struct config *defaults = f->c;
	f->c = NULL;
	for (size_t k = 0; k < ARRAY_LEN(web_specs); k++)
		assert_false(config_is_set(defaults, &web, &web_specs[k]));
	uncomment(buf_str(&sample), &said);
	assert_int_equal(load_text(f, buf_str(&said)), 0);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		for (size_t k = 0; k < sections[i]->nspecs; k++)
			if (sections[i]->specs[k].fallback)
				assert_true(
					config_is_set(f->c, sections[i], &sections[i]->specs[k]));
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		assert_true(config_section_equal(defaults, f->c, sections[i], sections[i]->name));
	assert_non_null(strstr(buf_text(&sample),
			       "\n# How long to wait\n# time, 1ms to 1h; GARNER_WEB_TIMEOUT\n"
			       "#timeout = 10s\n"));
	struct str rest = buf_str(&sample), line;
	while (str_cut(&rest, '\n', &line) == 0)
		assert_in_range(line.n, 0, 78);
	config_free(&defaults);
	buf_free(&sample);
	buf_free(&said);
}

static void variables_have_the_names_of_settings(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(1000);
	config_env_name(&queuer, &queuer_specs[0], &out);
	buf_add_byte(&out, ' ');
	config_env_name(&global, &global_specs[1], &out);
	assert_string_equal(buf_text(&out), "GARNER_ARCHIE_QUEUER_MEMORY GARNER_LOG");
	buf_free(&out);
}

static void without_a_global_section_its_keys_are_unknown(void **state)
{
	struct fixture *f = *state;
	const struct config_section *const only_web[] = {&web};
	struct config_input in = {.file = "f", .text = STR("data = x\n")};
	assert_int_equal(config_load(&f->c, only_web, 1, &in, NULL, &f->err), -1);
	assert_string_equal(f->err.msg, "f:1: unknown setting 'data'");
	const char *set = "data=x";
	in = (struct config_input){.sets = &set, .nsets = 1};
	assert_int_equal(config_load(&f->c, only_web, 1, &in, NULL, &f->err), -1);
	assert_null(f->c);
}

static void a_list_that_grows_without_end_is_a_problem_and_no_crash(void **state)
{
	struct fixture *f = *state;
	enum { MANY = 20000 };
	const char **sets = mem_array(MANY, sizeof *sets);
	for (size_t i = 0; i < MANY; i++)
		sets[i] = i % 2 ? "log+=a" : "log+=";
	struct config_input in = {.sets = sets, .nsets = MANY};
	assert_int_equal(load(f, &in), -1);
	assert_non_null(strstr(f->err.msg, "log: the list is longer than 4000 bytes"));
	in.nsets = 4001; /* "a" and a blank, 2000 times: one byte less than there may be */
	assert_int_equal(load(f, &in), 0);
	assert_int_equal(((const struct global_conf *)config_get(f->c, &global))->log.n, 2000);
	mem_free(&sets);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		T(nothing_said_gives_the_defaults),
		T(a_file_says_things_in_many_ways),
		T(the_environment_overrides_the_file_and_s_overrides_both),
		T(what_another_file_says_stands_between_the_environment_and_s),
		T(wrong_lines_name_their_place),
		T(an_unknown_section_is_one_problem_not_many),
		T(a_line_and_a_file_have_limits),
		T(a_file_that_is_not_there_is_a_problem),
		T(a_mistyped_variable_does_not_pass),
		T(wrong_sets_are_named),
		T(all_problems_are_told_and_nothing_is_taken),
		T(a_hundred_problems_are_enough),
		T(long_names_leave_room_for_the_rest),
		T(what_is_written_loads_the_same),
		T(values_are_quoted_only_where_they_must),
		T(sections_are_compared_by_value),
		T(an_instance_has_what_all_have_unless_it_says_otherwise),
		T(what_is_written_has_its_instances),
		T(each_mistake_with_instances_is_said_once),
		T(the_sample_is_a_file_of_defaults),
		T(variables_have_the_names_of_settings),
		T(without_a_global_section_its_keys_are_unknown),
		T(a_list_that_grows_without_end_is_a_problem_and_no_crash),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
