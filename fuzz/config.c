/* A configuration file. One that loads is written, loads again with the same values, and is then
 * written the same; one that does not leaves nothing and says why. */
#include "role/config.h"
#include "role/ini.h"

struct global_conf {
	const char *data;
	struct value_list log;
};
static const struct value_spec global_specs[] = {
	{"data", VALUE_PATH_AT(struct global_conf, data)},
	{"log", VALUE_LIST_AT(struct global_conf, log)},
};
static const struct config_section global = {"", "for all", sizeof(struct global_conf),
					     global_specs, ARRAY_LEN(global_specs)};

struct web_conf {
	const char *listen, *title;
	int64_t number, delay_us;
	uint64_t memory;
	bool open;
};
static const struct value_spec web_specs[] = {
	{"listen", VALUE_LISTEN_AT(struct web_conf, listen), "127.0.0.1:8080"},
	{"title", VALUE_TEXT_AT(struct web_conf, title), "x"},
	{"number", VALUE_INT_AT(struct web_conf, number), "1", .min = 1, .max = 1000},
	{"delay", VALUE_TIME_AT(struct web_conf, delay_us), "10s"},
	{"memory", VALUE_SIZE_AT(struct web_conf, memory), "1M"},
	{"open", VALUE_BOOL_AT(struct web_conf, open)},
};
static const struct config_section web = {
	"web", "pages", sizeof(struct web_conf), web_specs, ARRAY_LEN(web_specs), true};
static const struct config_section *const sections[] = {&global, &web};

static struct config *load(struct str text, struct buf *problems)
{
	struct config *c = NULL;
	struct err err = {0};
	struct config_input in = {.file = "fuzz", .text = text};
	if (config_load(&c, sections, ARRAY_LEN(sections), &in, problems, &err) < 0)
		ENSURE(!c && err.code == ERR_USAGE && problems->n > 0 &&
		       str_utf8(buf_str(problems)));
	return c;
}

static void check_written(const struct config *c, bool only_set)
{
	struct buf first = BUF_INIT(INI_FILE_MAX), second = BUF_INIT(INI_FILE_MAX),
		   problems = BUF_INIT(1 << 20);
	config_write(c, only_set, &first);
	struct config *again = load(buf_str(&first), &problems);
	ENSURE(again && !first.over);
	const struct config_section *section;
	for (size_t i = 0; (section = config_section_at(c, i)); i++)
		ENSURE(config_section_equal(c, again, sections[MIN(i, (size_t)1)], section->name));
	config_write(again, only_set, &second);
	ENSURE(str_eq(buf_str(&first), buf_str(&second)));
	config_free(&again);
	buf_free(&first);
	buf_free(&second);
	buf_free(&problems);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > INI_FILE_MAX)
		return 0;
	struct buf problems = BUF_INIT(1 << 20);
	struct config *c = load((struct str){size ? (const char *)data : "", size}, &problems);
	if (c) {
		check_written(c, false);
		check_written(c, true);
	}
	config_free(&c);
	buf_free(&problems);
	return 0;
}
