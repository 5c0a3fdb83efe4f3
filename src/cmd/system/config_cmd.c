/* garner config: checks, shows and explains the configuration. */
#include "archie/archie_conf.h"
#include "archie/master_role.h"
#include "archie/ng_role.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/rows.h"
#include "cmd/archie/role_queuer.h"
#include "cmd/archie/role_telnet.h"
#include "cmd/cache/provider.h"
#include "cmd/commands.h"
#include "cmd/index/role_broker.h"
#include "cmd/system/text.h"
#include "cmd/system/up_plan.h"
#include "role/ini.h"
#include "shepherd/master.h"

#include <limits.h>
#include <unistd.h>

enum { OUTPUT_MAX = 16 << 20 };

struct show_options {
	bool all, json;
};

struct sections {
	const struct config_section *list[CMD_SECTIONS_MAX];
	size_t n;
	const struct config *config; /* NULL, or what has these and instances of them */
};

static const struct config_section *section_at(const struct sections *s, size_t i)
{
	if (s->config)
		return config_section_at(s->config, i);
	return i < s->n ? s->list[i] : NULL;
}

static struct sections sections_of(const struct cmd_call *call)
{
	struct sections s = {0};
	s.n = cmd_sections(call->program, s.list, ARRAY_LEN(s.list));
	return s;
}

/* All settings, one after the other. */
struct setting {
	const struct sections *of;
	size_t i, k; /* the next one: of which section, which of it */
	const struct config_section *section;
	const struct value_spec *spec;
};

static bool next_setting(struct setting *it)
{
	while ((it->section = section_at(it->of, it->i)) && it->k == it->section->nspecs) {
		it->i++;
		it->k = 0;
	}
	if (!it->section)
		return false;
	it->spec = &it->section->specs[it->k++];
	return true;
}

/* "web.listen", or of the global section "data" */
static void put_name(struct buf *out, const struct config_section *section,
		     const struct value_spec *spec)
{
	buf_printf(out, "%s%s%s", section->name, section->name[0] ? "." : "", spec->name);
}

/* As it would stand in the file. */
static void put_value(struct buf *out, const struct value_spec *spec, const void *base)
{
	CLEANUP(buf_free) struct buf value = BUF_INIT(INI_FILE_MAX);
	value_print(spec, base, &value);
	ini_quote(buf_str(&value), out);
}

static size_t count_set(const struct sections *s, const struct config *config)
{
	size_t n = 0;
	for (struct setting it = {s}; next_setting(&it);)
		n += config_is_set(config, it.section, it.spec);
	return n;
}

/* What the role shepherd reads when it starts: rules, classes of sites, the refresh schema. */
static int check_crawl(const struct cmd_call *call, const struct config *config, struct err *err)
{
	struct cycle *cycle = NULL;
	char data[PATH_MAX], folder[PATH_MAX];
	if (cmd_data_dir(config, data, sizeof data, err) < 0 ||
	    file_below(data, "shepherd", folder, err) < 0)
		return -1;
	const struct cycle_options options = {.folder = folder, .conf = crawl_conf_of(config)};
	if (cycle_new(&cycle, &options, err) < 0)
		return -1;
	const char *const read[] = {cycle->filter_path, cycle->equiv_path};
	for (size_t i = 0; i < ARRAY_LEN(read); i++)
		if (access(read[i], F_OK) == 0)
			fprintf(call->out, "%s: all good\n", read[i]);
	cycle_free(&cycle);
	return 0;
}

/* NULL: there is no such setting. */
static const void *setting_of(const struct sections *s, const struct config *config,
			      const char *section, const char *key)
{
	for (struct setting it = {s}; next_setting(&it);)
		if (strcmp(it.section->name, section) == 0 && strcmp(it.spec->name, key) == 0)
			return (const char *)config_get(config, it.section) + it.spec->offset;
	return NULL;
}

/* Whether it is the section of this role, or of an instance of it. */
static bool is_section_of(const struct config_section *section, const char *role)
{
	size_t n = strlen(role);
	return strncmp(section->name, role, n) == 0 &&
	       (!section->name[n] || section->name[n] == '@');
}

/* Whether its role is to run by this configuration: up.roles names it, or it has settings. */
static bool is_meant(const struct sections *s, const struct config_section *section)
{
	const struct value_list *named = setting_of(s, s->config, "up", "roles");
	bool is_set = strchr(section->name, '@') != NULL;
	for (size_t i = 0; named && i < named->n; i++)
		is_set |= strcmp(named->item[i], section->name) == 0;
	for (size_t k = 0; k < section->nspecs; k++)
		is_set |= config_is_set(s->config, section, &section->specs[k]);
	return is_set;
}

static bool is_listed(const struct up_plan *plan, const struct role *role)
{
	for (size_t i = 0; i < plan->nlisted; i++)
		if (plan->unit[i].role == role)
			return true;
	return false;
}

/* What roles would refuse to start with: those that garner up would run, and of the others those
 * that have settings, which may be started by themselves. */
static int check_roles(const struct cmd_call *call, const struct sections *s, struct err *err)
{
	const struct config_section *one;
	struct up_plan plan;
	int rc = 0;
	up_plan_list(&plan, call->program, s->config);
	for (size_t i = 0; rc == 0 && i < plan.nlisted; i++)
		rc = role_check(plan.unit[i].role, plan.unit[i].name, s->config, err);
	for (size_t i = 0; i < call->program->nroles; i++) {
		const struct role *role = call->program->roles[i];
		for (size_t k = 0; rc == 0 && (one = section_at(s, k)); k++)
			if (role->section && one->specs == role->section->specs &&
			    !is_listed(&plan, role) && is_meant(s, one))
				rc = role_check(role, one->name, s->config, err);
	}
	up_plan_free(&plan);
	return rc;
}

/* Keys and certificates of connections between machines, who could connect, and what cannot be
 * fetched by the one who is asked. */
static int check_links(const struct cmd_call *call, const struct sections *s,
		       const struct config *config, struct err *err)
{
	struct tls *tls = NULL;
	if (cmd_has_role(call->program, &shepherd_role) &&
	    tls_new(&tls, &crawl_conf_of(config)->tls, false, err) < 0)
		return err_in(err, "shepherd");
	tls_free(&tls);
	/* [archie] and [mail] are not of one role */
	if (cmd_has_role(call->program, &archie_queuer_role) &&
	    archie_conf_check(config, &archie_section, err) < 0)
		return -1;
	return check_roles(call, s, err) < 0 ? -1 : provider_conf_check(config, err);
}

static const void *value_in(const struct sections *s, const struct config_section *section,
			    const char *key)
{
	const struct value_spec *spec = value_find(section->specs, section->nspecs, str_of(key));
	return (const char *)config_get(s->config, section) + spec->offset;
}

/* A URL server that is less patient than twice the silence of a spider. */
static void warn_of_silence(const struct sections *s, const struct config_section *spider,
			    const struct config_section *urlserver)
{
	const int64_t *every_us = value_in(s, spider, "status_interval");
	const int64_t *timeout_us = value_in(s, urlserver, "timeout_spider_status");
	if (*timeout_us < 2 * *every_us)
		fprintf(stderr,
			"warning: %s.timeout_spider_status is below twice %s.status_interval: URLs "
			"that are being fetched will be sent again\n",
			urlserver->name, spider->name);
}

static void warn_of_words(const struct sections *s, const struct config_section *spider,
			  const struct config_section *urlserver)
{
	const bool *says = value_in(s, spider, "status_words");
	const bool *takes = value_in(s, urlserver, "status_words");
	if (*says != *takes && is_meant(s, spider) && is_meant(s, urlserver))
		fprintf(stderr, "warning: %s.status_words and %s.status_words differ: %s\n",
			spider->name, urlserver->name,
			*says ? "what is done will be sent again"
			      : "how a fetch went will not be said");
}

static bool is_same_folder(const struct config *config, const char *a, const char *b)
{
	char data[PATH_MAX], one[PATH_MAX], other[PATH_MAX];
	struct err err;
	if (cmd_data_dir(config, data, sizeof data, &err) < 0 ||
	    file_below(data, a, one, &err) < 0 || file_below(data, b, other, &err) < 0)
		return false;
	for (char *const *p = (char *const[]){one, other, NULL}; *p; p++)
		for (size_t n = strlen(*p); n > 1 && (*p)[n - 1] == '/'; n--)
			(*p)[n - 1] = 0;
	return strcmp(one, other) == 0;
}

/* A botm whose robots store what they fetch where it does not look for it. */
static void warn_of_folders(const struct sections *s, const struct config_section *botm,
			    const struct config_section *bot)
{
	const char *const *listen = value_in(s, botm, "listen"), *const *to =
									 value_in(s, bot, "botm");
	const char *const *theirs = value_in(s, botm, "folder"), *const *ours =
									 value_in(s, bot, "folder");
	if (up_is_same_door(*listen, *to) && (*theirs)[0] &&
	    !is_same_folder(s->config, *theirs, *ours) && is_meant(s, botm) && is_meant(s, bot))
		fprintf(stderr,
			"warning: %s.folder and %s.folder differ, and %s.botm is %s.listen: no "
			"file will be stored\n",
			botm->name, bot->name, bot->name, botm->name);
}

/* The master, which keeps the list for all servers, should not be slowed down by searches. */
static void warn_of_master(const struct sections *s)
{
	const struct value_list *named = setting_of(s, s->config, "up", "roles");
	bool has_master = false, has_queuer = false;
	for (size_t i = 0; named && i < named->n; i++) {
		has_master |= strcmp(named->item[i], archie_master_role.name) == 0;
		has_queuer |= strcmp(named->item[i], archie_queuer_role.name) == 0;
	}
	if (has_master && has_queuer)
		fprintf(stderr, "warning: up.roles has archie-master and archie-queuer: the master "
				"is to have a machine of its own, where nobody searches\n");
}

/* Roles that have something to mail, where nothing can be sent. */
static void warn_of_mail(const struct sections *s)
{
	const struct value_list *named = setting_of(s, s->config, "up", "roles");
	static const struct role *const mailers[] = {&archie_telnet_role, &archie_ng_role,
						     &archie_master_role};
	struct err err;
	for (size_t i = 0; named && i < named->n; i++)
		for (size_t k = 0; k < ARRAY_LEN(mailers); k++)
			if (strcmp(named->item[i], mailers[k]->name) == 0 &&
			    archie_mail_check(s->config, &err) < 0) {
				fprintf(stderr, "warning: %s: what %s has to mail cannot be sent\n",
					err.msg, mailers[k]->name);
				return;
			}
}

/* What is allowed and hardly meant. Both roles need not run on this machine; where only one does,
 * the other's default is compared, if a look does not ask what is meant. */
static void warn_of_settings(const struct sections *s)
{
	static const struct {
		const char *one, *other; /* roles */
		void (*look)(const struct sections *s, const struct config_section *one,
			     const struct config_section *other);
	} pairs[] = {
		{"spider", "urlserver", warn_of_silence},
		{"spider", "urlserver", warn_of_words},
		{"botm", "bot", warn_of_folders},
	};
	const struct config_section *one, *other;
	for (size_t p = 0; p < ARRAY_LEN(pairs); p++)
		for (size_t i = 0; (one = section_at(s, i)); i++)
			for (size_t k = 0; (other = section_at(s, k)); k++)
				if (is_section_of(one, pairs[p].one) &&
				    is_section_of(other, pairs[p].other))
					pairs[p].look(s, one, other);
	warn_of_master(s);
	warn_of_mail(s);
}

/* What the role broker reads when it starts: sources and Collection.conf. ERR_USAGE: the problems
 * with them were printed. */
static int check_broker(const struct cmd_call *call, const struct config *config, struct err *err)
{
	CLEANUP(buf_free) struct buf problems = BUF_INIT(1 << 20);
	char data[PATH_MAX], read[PATH_MAX];
	int rc = cmd_data_dir(config, data, sizeof data, err);
	if (rc == 0)
		rc = broker_check(config, data, read, &problems, err);
	if (rc == 0 && problems.n == 0 && read[0])
		fprintf(call->out, "%s: all good\n", read);
	fflush(call->out);
	fputs(buf_text(&problems), stderr);
	return rc == 0 && problems.n ? ERR_USAGE : rc;
}

/* Prints warnings before it reads the files named in the configuration. */
static int check_all(const struct cmd_call *call, const struct sections *s, const char *file,
		     struct err *err)
{
	const struct config *config = s->config;
	bool all = !call->argc, crawl = all && cmd_has_role(call->program, &shepherd_role);
	if ((crawl && crawl_conf_check(crawl_conf_of(config), err) < 0) ||
	    (all && check_links(call, s, config, err) < 0))
		return -1;
	size_t n = count_set(s, config);
	fprintf(call->out, "%s: %zu setting%s, all good\n", file ? file : "no file", n,
		n == 1 ? "" : "s");
	warn_of_settings(s);
	if (crawl && check_crawl(call, config, err) < 0)
		return -1;
	return all && cmd_has_role(call->program, &broker_role) ? check_broker(call, config, err)
								: 0;
}

/* A file that is named is looked at alone; else all that a start would read. */
static int run_check(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(buf_free) struct buf problems = BUF_INIT(1 << 20);
	char path[PATH_MAX];
	struct config_input in =
		call->argc ? (struct config_input){.file = call->argv[0]} : call->input;
	int rc = cmd_config_file(&in, path, sizeof path, err);
	if (rc < 0)
		return -1;
	in.file = rc == 0 ? path : NULL;
	struct sections s = sections_of(call);
	rc = cmd_load(call->program, &in, &config, &problems, err);
	s.config = config;
	if (rc == 0)
		rc = check_all(call, &s, in.file, err);
	if (rc >= 0)
		return rc;
	fflush(call->out);
	fprintf(stderr, "%s%s", problems.n ? buf_text(&problems) : err->msg,
		problems.n ? "" : "\n");
	return (int)err->code;
}

/* Of those that share a setting the exceptions alone. */
static bool is_shown(const struct config *config, const struct setting *it, bool all)
{
	if (!all)
		return config_is_set(config, it->section, it->spec);
	return !config_is_shared(it->section, it->spec) ||
	       !config_inherits(config, it->section, it->spec);
}

struct shown {
	const struct config *config;
	const struct config_section *section;
	const struct value_spec *spec;
	const char *from;
	bool set;
};

static void print_name(const void *row, struct buf *out)
{
	const struct shown *s = row;
	put_name(out, s->section, s->spec);
}

/* For people with quotes where a file needs them. */
static void print_quoted(const void *row, struct buf *out)
{
	const struct shown *s = row;
	put_value(out, s->spec, config_get(s->config, s->section));
}

static void print_value(const void *row, struct buf *out)
{
	const struct shown *s = row;
	value_print(s->spec, config_get(s->config, s->section), out);
}

static void print_default(const void *row, struct buf *out)
{
	value_print_default(((const struct shown *)row)->spec, out);
}

static void print_type(const void *row, struct buf *out)
{
	value_describe(((const struct shown *)row)->spec, out);
}

#define S struct shown
static const struct column shown_columns[] = {
	COL_OF_ROW("setting", S, print_name, .label = "Setting"),
	COL_OF_ROW("value", S, print_value),
	COL_OF_ROW(NULL, S, print_quoted, .label = "Value", .how = ROW_BLANK | ROW_LOOSE),
	COL_OF_ROW("default", S, print_default),
	COL_OF_ROW("type", S, print_type),
	COL("from", S, from, .label = "From"),
	COL("set", S, set),
};
static const struct rows shown_rows = {ROWS(S, shown_columns)};
#undef S

/* Goes to the setting of that name. */
static bool find_setting(struct setting *it, struct str name)
{
	CLEANUP(buf_free) struct buf full = BUF_INIT(INI_FILE_MAX);
	while (next_setting(it)) {
		buf_clear(&full);
		put_name(&full, it->section, it->spec);
		if (str_eq(name, buf_str(&full)))
			return true;
	}
	return false;
}

/* Someone who knows only the key, or mistyped it, gets the names that come near. */
static int no_such_setting(const struct sections *s, struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct str key = str_from(name, str_find_byte(name, '.') + 1);
	CLEANUP(buf_free) struct buf near = BUF_INIT(300), full = BUF_INIT(INI_FILE_MAX);
	for (struct setting it = {s}; next_setting(&it);) {
		buf_clear(&full);
		put_name(&full, it.section, it.spec);
		if (nearest_is_near(name, buf_str(&full)) ||
		    str_is(key.n ? key : name, it.spec->name))
			buf_printf(&near, "%s%s", near.n ? ", " : "", buf_text(&full));
	}
	return err_set(err, ERR_USAGE, "no section or setting is called '%s'%s%s%s",
		       value_show(name, shown), near.n ? "; did you mean " : "", buf_text(&near),
		       near.n ? "?" : "; 'garner config explain' lists all");
}

static void show_setting(struct rows_list *l, const struct config *config, const struct setting *it)
{
	rows_list_add(l, &(struct shown){config, it->section, it->spec,
					 config_origin(config, it->section, it->spec),
					 config_is_set(config, it->section, it->spec)});
}

/* All that are set, or the named ones. */
static int show_settings(const struct cmd_call *call, const struct sections *s, struct buf *out,
			 struct err *err)
{
	const struct show_options *o = call->options;
	struct rows_list l;
	int rc = 0;
	rows_list_begin(&l, &shown_rows, o->json, out);
	for (int i = 0; rc == 0 && i < call->argc; i++) {
		struct setting it = {s};
		if (find_setting(&it, str_of(call->argv[i])))
			show_setting(&l, s->config, &it);
		else
			rc = no_such_setting(s, str_of(call->argv[i]), err);
	}
	for (struct setting it = {s}; !call->argc && next_setting(&it);)
		if (is_shown(s->config, &it, o->all))
			show_setting(&l, s->config, &it);
	rows_list_end(&l);
	if (rc == 0 && !l.n && !o->json) {
		buf_clear(out);
		buf_add_text(out, "Nothing is set; 'garner config show --all' lists the "
				  "defaults.\n");
	}
	return rc;
}

static int run_show(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	if (cmd_config(call, &config, err) < 0)
		return -1;
	struct sections s = sections_of(call);
	s.config = config;
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUTPUT_MAX);
	return show_settings(call, &s, &out, err) < 0 ? -1 : cmd_print(call, &out);
}

static void put_fact(struct buf *out, const char *what, struct buf *fact)
{
	buf_printf(out, "    %-12s %s\n", what, fact->n ? buf_text(fact) : "(empty)");
	buf_clear(fact);
}

/* Appends a setting that depends on this one: its section, or its name where that is another; and
 * its value, where that is another. */
static void put_dependent(const struct config *config, const char *name, const struct setting *it,
			  bool differs, struct buf *out)
{
	buf_add_text(out, out->n ? ", " : "");
	if (strcmp(it->spec->name, name) == 0)
		buf_add_text(out, it->section->name);
	else
		put_name(out, it->section, it->spec);
	if (!differs)
		return;
	buf_add_byte(out, ' ');
	put_value(out, it->spec, config_get(config, it->section));
	if (it->spec->inherits)
		buf_printf(out, " (%s)", config_origin(config, it->section, it->spec));
}

/* Who has the value of this setting, and who has another, be it by default. Of instances only
 * those that differ: the others are as their section. */
static void put_dependents(struct buf *out, const struct config *config,
			   const struct config_section *section, const struct value_spec *spec)
{
	CLEANUP(buf_free) struct buf same = BUF_INIT(INI_FILE_MAX), other = BUF_INIT(INI_FILE_MAX);
	const struct sections all = {.config = config};
	for (struct setting it = {&all}; next_setting(&it);) {
		if (!config_is_above(section, spec, it.spec))
			continue;
		bool differs = !config_inherits(config, it.section, it.spec);
		if (differs || !strchr(it.section->name, '@'))
			put_dependent(config, spec->inherits ? spec->name : "", &it, differs,
				      differs ? &other : &same);
	}
	const struct {
		const char *what;
		const struct buf *list;
	} facts[] = {{"shared by", &same}, {spec->inherits ? "differs in" : "moves", &other}};
	for (size_t i = 0; i < ARRAY_LEN(facts); i++)
		if (facts[i].list->n) {
			buf_printf(out, "    %-12s ", facts[i].what);
			text_wrap(out, buf_text(facts[i].list), 17, 17);
		}
}

static void explain_setting(struct buf *out, const struct config *config,
			    const struct config_section *section, const struct value_spec *spec)
{
	CLEANUP(buf_free) struct buf fact = BUF_INIT(INI_FILE_MAX), value = BUF_INIT(INI_FILE_MAX);
	value_print_default(spec, &value);
	put_name(out, section, spec);
	buf_add_text(out, "\n    ");
	text_wrap(out, spec->help ? spec->help : spec->name, 4, 4);
	value_describe(spec, &fact);
	put_fact(out, "type", &fact);
	ini_quote(buf_str(&value), &fact);
	put_fact(out, "default", &fact);
	if (strcmp(config_origin(config, section, spec), "default") != 0) {
		put_value(&fact, spec, config_get(config, section));
		buf_printf(&fact, " (%s)", config_origin(config, section, spec));
		put_fact(out, "value", &fact);
	}
	if (section->name[0])
		buf_printf(&fact, "[%s] ", section->name);
	ini_put(spec->name, buf_str(&value), &fact);
	put_fact(out, "file", &fact);
	config_env_name(section, spec, &fact);
	put_fact(out, "environment", &fact);
	buf_add_text(&fact, "-s ");
	put_name(&fact, section, spec);
	buf_add_text(&fact, "=VALUE");
	put_fact(out, "command line", &fact);
	if (config_is_shared(section, spec)) {
		buf_printf(&fact, "%s, if that is set and this is not", spec->inherits);
		put_fact(out, "inherits", &fact);
	}
	put_dependents(out, config, section, spec);
}

static void put_exceptions(struct buf *out, const struct config_section *section,
			   const char *before)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(INI_LINE_MAX);
	config_exceptions(section, &text);
	if (text.n) {
		buf_add_text(out, before);
		text_wrap(out, buf_text(&text), 0, 0);
	}
}

static void explain_section(struct buf *out, const struct config *config,
			    const struct config_section *section)
{
	if (section->name[0])
		buf_printf(out, "[%s] ", section->name);
	size_t at = section->name[0] ? strlen(section->name) + 3 : 0;
	text_wrap(out, section->help ? section->help : "", at, 0);
	for (size_t k = 0; k < section->nspecs; k++) {
		if (config_is_shared(section, &section->specs[k]))
			continue;
		buf_add_byte(out, '\n');
		explain_setting(out, config, section, &section->specs[k]);
	}
	put_exceptions(out, section, "\n");
}

/* One line a setting. */
static void explain_all(struct buf *out, const struct sections *s)
{
	CLEANUP(buf_free) struct buf name = BUF_INIT(INI_FILE_MAX);
	for (size_t i = 0; i < s->n; i++) {
		const struct config_section *section = s->list[i];
		if (i)
			buf_printf(out, "\n[%s] ", section->name);
		text_wrap(out, section->help ? section->help : "",
			  i ? strlen(section->name) + 3 : 0, 0);
		for (size_t k = 0; k < section->nspecs; k++) {
			if (config_is_shared(section, &section->specs[k]))
				continue;
			buf_clear(&name);
			put_name(&name, section, &section->specs[k]);
			text_term(out, buf_text(&name),
				  section->specs[k].help ? section->specs[k].help : "", 26);
		}
		put_exceptions(out, section, "");
	}
	buf_add_text(out, "\nMore of each: garner config explain SECTION or SECTION.KEY\n");
}

/* Explains what has that name; 1: nothing has. */
static int explain_name(struct buf *out, const struct sections *s, const struct config *config,
			struct str name)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->list[i]->name[0] && str_is(name, s->list[i]->name)) {
			explain_section(out, config, s->list[i]);
			return 0;
		}
	struct setting it = {s};
	if (!find_setting(&it, name))
		return 1;
	explain_setting(out, config, it.section, it.spec);
	return 0;
}

/* "bot@2.parallel" means what "bot.parallel" does. */
static struct str without_instance(const struct sections *s, struct str name, struct buf *room)
{
	struct str instance = str_head(name, str_find_byte(name, '.')), of;
	if (!config_instance_form(instance, &of))
		return name;
	for (size_t i = 0; i < s->n; i++) {
		if (s->list[i]->several && str_is(of, s->list[i]->name)) {
			buf_add_str(room, of);
			buf_add_str(room, str_from(name, instance.n));
			return buf_str(room);
		}
	}
	return name;
}

static int run_explain(const struct cmd_call *call, struct err *err)
{
	struct sections s = sections_of(call);
	struct buf out = BUF_INIT(OUTPUT_MAX);
	CLEANUP(buf_free) struct buf room = BUF_INIT(INI_LINE_MAX);
	if (call->argc == 0) {
		explain_all(&out, &s);
		return cmd_print(call, &out);
	}
	/* one that is wrong keeps nobody from reading how to mend it */
	CLEANUP(config_free) struct config *config = NULL;
	if (cmd_config_quiet(call, &config, err) < 0 &&
	    cmd_load(call->program, &(struct config_input){0}, &config, NULL, err) < 0)
		return -1;
	for (int i = 0; i < call->argc; i++) {
		struct str name = str_of(call->argv[i]);
		buf_clear(&room);
		if (i)
			buf_add_byte(&out, '\n');
		if (explain_name(&out, &s, config, without_instance(&s, name, &room)) == 1) {
			buf_free(&out);
			return no_such_setting(&s, name, err);
		}
	}
	return cmd_print(call, &out);
}

static int run_sample(const struct cmd_call *call, struct err *err)
{
	(void)err;
	struct sections s = sections_of(call);
	struct buf out = BUF_INIT(OUTPUT_MAX);
	config_sample(&(struct config_list){s.list, s.n}, &out);
	return cmd_print(call, &out);
}

static const struct command check = {
	.name = "check",
	.summary = "check the configuration, or a file",
	.description = "Reads the file, the environment and -s as a start would, or just the file "
		       "that is named. Lists every mistake and where it is. What a start would "
		       "read includes the rules of the crawl and its classes of sites, "
		       "shepherd/cf/filter and shepherd/cf/url-equiv in the data directory, of "
		       "which the first mistake is named, and the collection points of the "
		       "broker.",
	CMD_ARGS("[FILE]", 0, 1, "a file to check on its own"),
	CMD_EXAMPLES({"garner config check", "whether a start would take the configuration"},
		     {"garner config check new.conf", "whether this file alone is right"}),
	.run = run_check,
};

static const struct cmd_option show_specs[] = {
	CMD_FLAG('a', "all", struct show_options, all, "also what has its default"),
	CMD_FLAG(0, "json", struct show_options, json, "print JSON"),
};
static const struct command show = {
	.name = "show",
	.summary = "show the settings and where they come from",
	.description = "Lists what the file, the environment and -s have set, each value with its "
		       "origin.",
	CMD_OPTIONS(show_specs, struct show_options),
	CMD_ARGS("[[SECTION.]KEY]...", 0, -1, "settings to show, whether set or not"),
	.args_kind = CMD_SETTINGS,
	CMD_EXAMPLES({"garner config show", "what was set, and where"},
		     {"garner config show uns.idle", "the value in force, its own or inherited"},
		     {"garner config show --all --json", "every setting, for a script"}),
	.run = run_show,
};

static const struct command explain = {
	.name = "explain",
	.summary = "explain settings",
	.description = "Says what a setting means, its type, bounds and default, and how it is "
		       "written in the file, the environment and on the command line.",
	CMD_ARGS("[SECTION[.KEY]]...", 0, -1,
		 "sections or settings; for settings before the first section just the key"),
	.args_kind = CMD_SETTINGS,
	CMD_EXAMPLES(
		{"garner config explain", "all settings, a line each"},
		{"garner config explain up.roles", "one setting: type, default, how to set it"}),
	.run = run_explain,
};

static const struct command sample = {
	.name = "sample",
	.summary = "print a commented sample file",
	.description = "Every setting with its meaning, type and default, commented out.",
	CMD_EXAMPLES({"garner config sample > garner.conf", "a file to begin with"}),
	.run = run_sample,
};

const struct command config_command = {
	.name = "config",
	.summary = "check, show and explain the configuration",
	.description = "The configuration is one file, garner.conf(5); the environment overrides "
		       "it, -s overrides both. Without -c and GARNER_CONFIG the file is "
		       "~/.config/garner/garner.conf or /etc/garner/garner.conf, whichever is "
		       "found first.",
	CMD_SUBS(&check, &show, &explain, &sample),
};
