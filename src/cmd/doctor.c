#include "cmd/doctor.h"

#include "base/jsonw.h"
#include "cmd/commands.h"
#include "cmd/text.h"

#include <unistd.h>

struct doctor_options {
	bool json;
};

static const struct cmd_option options[] = {
	{0,
	 NULL,
	 {"json", VALUE_BOOL_AT(struct doctor_options, json), .help = "all of it as JSON"}},
};

static const char *const level_words[] = {[FINDING_OK] = "ok",
					  [FINDING_NOTE] = "note",
					  [FINDING_WARN] = "warn",
					  [FINDING_FAIL] = "fail"};

/* As far as the way to the data directory is there. */
static void find_home(struct patient *p)
{
	snprintf(p->home, sizeof p->home, "%s", p->data);
	while (access(p->home, F_OK) < 0) {
		char *slash = strrchr(p->home, '/');
		if (!slash || slash == p->home)
			break;
		*slash = 0;
	}
	if (access(p->home, F_OK) < 0)
		snprintf(p->home, sizeof p->home, "/");
}

/* The exit code is that of the worst finding, the first of its kind. */
static int code_of(const struct finding *list, size_t n)
{
	int code = 0;
	for (size_t i = n; i-- > 0;)
		if (list[i].level == FINDING_WARN)
			code = ERR_PARTLY;
	for (size_t i = n; i-- > 0;)
		if (list[i].level == FINDING_FAIL)
			code = list[i].code ? list[i].code : ERR_SYSTEM;
	return code;
}

static void print_text(const struct finding *list, struct buf *out)
{
	enum { REASON_COLUMN = 22 };
	for (size_t i = 0; i < nchecks; i++) {
		if (!list[i].reason[0])
			continue;
		buf_printf(out, "%-4s  %-16s", level_words[list[i].level], checks[i].name);
		text_wrap(out, list[i].reason, REASON_COLUMN, REASON_COLUMN);
		if (!list[i].mend[0])
			continue;
		buf_fill(out, ' ', REASON_COLUMN);
		buf_printf(out, "mend: %s\n", list[i].mend);
	}
}

static void print_json(const struct finding *list, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_key(&j, "checks");
	jsonw_array(&j);
	for (size_t i = 0; i < nchecks; i++) {
		if (!list[i].reason[0])
			continue;
		jsonw_object(&j);
		jsonw_put_text(&j, "name", checks[i].name);
		jsonw_put_text(&j, "level", level_words[list[i].level]);
		jsonw_put_text(&j, "reason", list[i].reason);
		jsonw_put_text(&j, "mend", list[i].mend[0] ? list[i].mend : NULL);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_put_int(&j, "code", code_of(list, nchecks));
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

static int run(const struct cmd_call *call)
{
	const struct doctor_options *o = call->options;
	struct patient p = {.call = call};
	struct config *config = NULL;
	if (cmd_config_quiet(call, &config, &p.config_err) == 0 &&
	    cmd_data_dir(config, p.data, sizeof p.data, &p.config_err) == 0) {
		p.config = config;
		find_home(&p);
	}
	struct finding *list = mem_array(nchecks, sizeof *list);
	for (size_t i = 0; i < nchecks; i++)
		if (p.config || !checks[i].needs_config)
			checks[i].look(&p, &list[i]);
	struct buf out = BUF_INIT(1 << 20);
	(o->json ? print_json : print_text)(list, &out);
	fwrite(buf_text(&out), 1, out.n, call->out);
	buf_free(&out);
	int code = code_of(list, nchecks);
	mem_free(&list);
	config_free(&config);
	return code;
}

static const struct cmd_example examples[] = {
	{"garner doctor", "what is wrong here, and what mends it"},
	{"garner -c new.conf doctor", "whether a configuration would do"},
};
static const struct cmd_exit exits[] = {
	{ERR_PARTLY, "a check warned"},
	{ERR_DAMAGED, "something that garner keeps is damaged"},
	{ERR_SYSTEM, "a check failed"},
};

const struct command doctor_command = {
	.name = "doctor",
	.summary = "look for what is wrong, and say what mends it",
	.description = "Each line is one check: ok; note, which is worth knowing; warn, which will "
		       "hurt one day; fail, with which garner does not work. Nothing is changed.",
	CMD_OPTIONS(options, struct doctor_options),
	CMD_EXAMPLES(examples),
	CMD_EXITS(exits),
	.run = run,
};
