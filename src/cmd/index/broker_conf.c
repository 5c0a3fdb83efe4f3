/* broker.conf as settings. Which names the old file had is known of a few only; those are a line of
 * `names` each, so that one more is one line more. */
#include "cmd/index/broker_conf.h"

#include "base/ascii.h"
#include "base/endpoint.h"
#include "base/nearest.h"
#include "role/ini.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum conf_form {
	FORM_TEXT,
	FORM_SECONDS, /* where no unit stands after the number */
	FORM_PORT,
	FORM_PASSWORD,
	FORM_GONE, /* it says something about a part that is not here */
};

static const struct conf_name {
	const char *name;
	enum conf_form form;
	const char *setting;
} names[] = {
	{"Directory", FORM_TEXT, "data"},
	{"Port", FORM_PORT, "broker.listen"},
	{"Password", FORM_PASSWORD, "broker.password"},
	{"Collection-File", FORM_TEXT, "broker.collection"},
	{"Collection-Interval", FORM_SECONDS, "broker.collect_every"},
	{"Home-Page", FORM_TEXT, "broker.home"},
	{"Log-File", FORM_TEXT, "broker.log"},
	{"Glimpse-MaxLife", FORM_SECONDS, "broker.max_lifetime"},
	{"GlimpseIndex-Option", FORM_GONE, NULL},
	{"GlimpseIndex-Host", FORM_GONE, NULL},
	{"GlimpseServer-Host", FORM_GONE, NULL},
	{"GlimpseServer-Port", FORM_GONE, NULL},
};

struct conf_reader {
	const struct broker_conf_ask *ask;
	struct arena *arena;
	struct config_said *said;
	size_t n;
	unsigned line;
	unsigned given[ARRAY_LEN(names)]; /* on this line; 0: not yet */
	struct buf *warnings;
	size_t nwarnings;
	struct err *err;
};

static const struct conf_name *find_name(struct str name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_eq_nocase(name, str_of(names[i].name)))
			return &names[i];
	return NULL;
}

PRINTF_LIKE(2, 3)
static void add_warning(struct conf_reader *r, const char *fmt, ...)
{
	va_list ap;
	char text[300];
	if (r->nwarnings++ >= BROKER_CONF_WARNINGS)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	buf_printf(r->warnings, "%s:%u: %s\n", r->ask->path, r->line, text);
}

static void warn_unknown(struct conf_reader *r, struct str name)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		nearest_try(&near, names[i].name);
	add_warning(r, "unknown name '%s'%s; the line is passed over", value_show(name, shown),
		    nearest_words(&near));
}

static int refuse_value(struct conf_reader *r, const struct conf_name *name, const char *why)
{
	return err_set(r->err, ERR_USAGE, "%s:%u: %s: %s", r->ask->path, r->line, name->name, why);
}

static void add_said(struct conf_reader *r, const struct conf_name *name, struct str value,
		     const char *after)
{
	r->said[r->n++] = (struct config_said){
		.set = arena_printf(r->arena, "%s=" STR_FMT "%s", name->setting, STR_ARG(value),
				    after),
		.where = arena_printf(r->arena, "%s:%u", r->ask->path, r->line)};
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return true;
}

/* The address that the port has without this file; a socket of another kind has none. */
static struct str address_of(const char *listen)
{
	struct endpoint at;
	struct err err;
	struct str text = str_of(listen);
	if (endpoint_parse(text, &at, &err) < 0 || at.any.sa_family == AF_UNIX)
		return STR("127.0.0.1");
	while (text.n && text.p[text.n - 1] != ':')
		text.n--;
	return str_head(text, text.n - 1);
}

static int take_port(struct conf_reader *r, const struct conf_name *name, struct str value)
{
	char shown[VALUE_SHOWN];
	uint64_t port;
	if (!str_u64(value, &port) || port > UINT16_MAX)
		return refuse_value(r, name,
				    arena_printf(r->arena, "expected 0 to 65535, got '%s'",
						 value_show(value, shown)));
	struct str address = address_of(r->ask->listen);
	add_said(r, name,
		 str_of(arena_printf(r->arena, STR_FMT ":%" PRIu64, STR_ARG(address), port)), "");
	return 0;
}

/* What the configuration wants is a line that does not tell it; old files have the password. */
static int take_password(struct conf_reader *r, const struct conf_name *name, struct str value)
{
	char line[PASSWORD_LINE];
	if (str_starts(value, STR("$argon2id$"))) {
		add_said(r, name, value, "");
		return 0;
	}
	if (value.n > PASSWORD_MOST)
		return refuse_value(r, name, "it is too long");
	struct err err;
	if (r->ask->hash(value, line, &err) < 0) {
		*r->err = err;
		return err_in(r->err, "%s:%u: %s", r->ask->path, r->line, name->name);
	}
	add_said(r, name, str_of(line), "");
	add_warning(r, "the password is in plain text; garner password makes a line that can stand "
		       "here in its place");
	return 0;
}

static int take_value(struct conf_reader *r, const struct conf_name *name, struct str value)
{
	if (name->form == FORM_GONE) {
		add_warning(r, "%s: garner has no such part; the line is passed over", name->name);
		return 0;
	}
	unsigned *given = &r->given[name - names];
	if (*given)
		return refuse_value(r, name,
				    arena_printf(r->arena, "given on line %u already", *given));
	*given = r->line;
	if (value.n == 0)
		return refuse_value(r, name, "a value is missing");
	if (!ini_holds(value))
		return refuse_value(r, name, "expected plain UTF-8 text");
	if (name->form == FORM_PORT)
		return take_port(r, name, value);
	if (name->form == FORM_PASSWORD)
		return take_password(r, name, value);
	add_said(r, name, value, name->form == FORM_SECONDS && all_digits(value) ? "s" : "");
	return 0;
}

static int read_line(struct conf_reader *r, struct str line)
{
	size_t n = 0;
	if (line.n > BROKER_CONF_LINE)
		return err_set(r->err, ERR_USAGE, "%s:%u: %zu bytes long, more than %d",
			       r->ask->path, r->line, line.n, BROKER_CONF_LINE);
	line = str_trim(line);
	if (line.n == 0 || line.p[0] == '#')
		return 0;
	while (n < line.n && !ascii_is_space(line.p[n]))
		n++;
	const struct conf_name *name = find_name(str_head(line, n));
	if (name)
		return take_value(r, name, str_trim(str_from(line, n)));
	warn_unknown(r, str_head(line, n));
	return 0;
}

int broker_conf_parse(struct str text, const struct broker_conf_ask *ask, struct arena *arena,
		      struct role_said *ret, struct buf *warnings, struct err *err)
{
	struct str line;
	struct conf_reader r = {
		.ask = ask,
		.arena = arena,
		.said = arena_array(arena, ARRAY_LEN(names), sizeof *r.said),
		.warnings = warnings,
		.err = err,
	};
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	while (str_cut(&text, '\n', &line) == 0) {
		r.line++;
		if (read_line(&r, line) < 0)
			return -1;
	}
	if (r.nwarnings > BROKER_CONF_WARNINGS)
		buf_printf(warnings, "%s: %zu more warnings of this kind\n", ask->path,
			   r.nwarnings - BROKER_CONF_WARNINGS);
	*ret = (struct role_said){r.said, r.n};
	return 0;
}
