/* Configuration: the file, the environment and -s, in this order, into structs that tables of
 * specs describe. All problems are gathered before anything is refused, so that one look at the
 * output is enough to correct a whole file. Then settings that were not set, but depend on others
 * that were, get their values. Where instances are named, everything is read a second time: first
 * the values for all instances of a section, then, on a copy of these, the values of each. */
#include "role/config.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/nearest.h"
#include "role/ini.h"

#include <stdarg.h>
#include <stdio.h>

enum {
	ARENA_MAX = 256 * 1024 * 1024, /* file, environment and -s together stay far below */
	PROBLEMS_MAX = 100,            /* lines; more are only counted */
	INSTANCES_MAX = 1000,
};

static const char default_origin[] = "default";

/* Stands for a global section where there is none. */
static const struct config_section nothing = {.name = ""};

/* The values of one section. */
struct part {
	const struct config_section *section;
	void *base;
	const char **origin;     /* by spec */
	size_t *seen;            /* by spec: the line of the file that gave it, 0: none */
	const struct part *over; /* of an instance: what holds without it; NULL: it is not one */
};

struct config {
	struct arena arena;
	struct part *part;
	size_t n, plain; /* the first ones are not instances */
};

struct loader {
	struct config *c;
	struct buf *problems;
	size_t nproblems;
	char first[400];
	struct buf text; /* of the file */
	bool second;     /* the pass for instances */
	struct str name[INSTANCES_MAX];
	size_t nnames;
};

PRINTF_LIKE(2, 3)
static void load_problem(struct loader *l, const char *fmt, ...)
{
	va_list ap;
	char line[1200];
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	if (l->nproblems == 0)
		snprintf(l->first, sizeof l->first, "%.399s", line);
	if (l->nproblems++ < PROBLEMS_MAX && l->problems)
		buf_printf(l->problems, "%s\n", line);
}

/* The dot that stands between section and key; the global section has none. */
static const char *section_dot(const struct config_section *section)
{
	return section->name[0] ? "." : "";
}

static struct part *find_part(const struct config *c, struct str name)
{
	for (size_t i = 0; i < c->n; i++)
		if (str_is(name, c->part[i].section->name))
			return &c->part[i];
	return NULL;
}

static void unknown_section(struct loader *l, const char *where, struct str name)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < l->c->n; i++)
		nearest_try(&near, l->c->part[i].section->name);
	load_problem(l, "%s: unknown section '%s'%s", where, value_show(name, shown),
		     nearest_words(&near));
}

bool config_instance_form(struct str name, struct str *ret_section)
{
	size_t at = str_find_byte(name, '@');
	struct str word = str_from(name, at + 1);
	if (at == 0 || word.n == 0 || word.n > CONFIG_INSTANCE_MAX)
		return false;
	for (size_t i = 0; i < word.n; i++)
		if (!ascii_is_alnum(word.p[i]))
			return false;
	*ret_section = str_head(name, at);
	return true;
}

/* Notes that there is such an instance; false: there cannot be. */
static bool name_instance(struct loader *l, struct str name)
{
	struct str of;
	const struct part *part = config_instance_form(name, &of) ? find_part(l->c, of) : NULL;
	if (!part || !part->section->several || l->nnames == INSTANCES_MAX)
		return false;
	for (size_t i = 0; i < l->nnames; i++)
		if (str_eq(l->name[i], name))
			return true;
	l->name[l->nnames++] = str_of(arena_text(&l->c->arena, name));
	return true;
}

static void wrong_instance(struct loader *l, const char *where, struct str name)
{
	char shown[VALUE_SHOWN];
	struct str of = str_head(name, str_find_byte(name, '@'));
	const struct part *part = find_part(l->c, of);
	if (!part || !of.n)
		unknown_section(l, where, of);
	else if (!part->section->several)
		load_problem(l, "%s: section '%s': there is only one %s", where,
			     value_show(name, shown), part->section->name);
	else
		load_problem(l,
			     "%s: section '%s': expected letters and digits after the @, at most "
			     "%d, and at most %d such sections",
			     where, value_show(name, shown), CONFIG_INSTANCE_MAX, INSTANCES_MAX);
}

/* 0: *ret is the section of that name; 1: the other pass is for it; negative: there is none, which
 * was said. */
static int section_named(struct loader *l, const char *where, struct str name, struct part **ret)
{
	bool instance = str_find_byte(name, '@') < name.n;
	if (instance && !l->second && !name_instance(l, name)) {
		wrong_instance(l, where, name);
		return -1;
	}
	if (instance != l->second)
		return 1;
	*ret = find_part(l->c, name);
	if (!*ret && !l->second)
		unknown_section(l, where, name);
	return *ret ? 0 : -1;
}

/* Settings of earlier versions. Of all sections if it has none. */
static bool is_removed(const char *section, struct str name)
{
	static const struct {
		const char *section, *name;
	} removed[] = {{"shepherd", "doc_index"},
		       {"shepherd", "lend"},
		       {"shepherd", "lend_lease"},
		       {"spider", "name"},
		       {NULL, "block_max"}};
	size_t n = strcspn(section, "@");
	for (size_t i = 0; i < ARRAY_LEN(removed); i++)
		if (str_is(name, removed[i].name) &&
		    (!removed[i].section || str_is((struct str){section, n}, removed[i].section)))
			return true;
	return false;
}

static void unknown_key(struct loader *l, const char *where, const struct config_section *section,
			struct str name)
{
	char shown[VALUE_SHOWN], elsewhere[128] = "";
	if (is_removed(section->name, name)) {
		load_problem(l,
			     "%s: unknown setting '%s%s" STR_FMT
			     "'; an earlier version had it, and this one has no use for it",
			     where, section->name, section_dot(section), STR_ARG(name));
		return;
	}
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < section->nspecs; i++)
		nearest_try(&near, section->specs[i].name);
	for (size_t i = 0; i < l->c->n && !near.name[0]; i++) {
		const struct config_section *other = l->c->part[i].section;
		if (value_find(other->specs, other->nspecs, name)) {
			snprintf(elsewhere, sizeof elsewhere, "; %s%s has one of that name",
				 other->name[0] ? "section " : "the part before the first section",
				 other->name);
			break;
		}
	}
	load_problem(l, "%s: unknown setting '%s%s%s'%s%s", where, section->name,
		     section_dot(section), value_show(name, shown), nearest_words(&near),
		     elsewhere);
}

typedef int take_fn(const struct value_spec *spec, struct str text, struct arena *arena, void *base,
		    struct err *err);

/* Takes a value. `where` stands before a problem; `origin` is kept, in a copy. */
static void take_value(struct loader *l, const char *where, const char *origin, struct part *part,
		       const struct value_spec *spec, struct str value, take_fn *fn)
{
	struct err err;
	struct arena *arena = &l->c->arena;
	if (!ini_holds(value))
		err_set(&err, ERR_USAGE, "expected at most %d bytes of plain UTF-8 text",
			INI_VALUE_MAX);
	else if (fn(spec, value, arena, part->base, &err) == 0) {
		part->origin[spec - part->section->specs] = arena_text(arena, str_of(origin));
		return;
	}
	load_problem(l, "%s: %s%s%s: %s", where, part->section->name, section_dot(part->section),
		     spec->name, err.msg);
}

static void take_line(struct loader *l, const char *where, size_t line, struct part *part,
		      const struct ini_item *item)
{
	const struct config_section *section = part->section;
	const struct value_spec *spec = value_find(section->specs, section->nspecs, item->name);
	if (!spec) {
		unknown_key(l, where, section, item->name);
		return;
	}
	size_t *seen = &part->seen[spec - section->specs];
	if (*seen) {
		load_problem(l, "%s: %s%s%s: given on line %zu already", where, section->name,
			     section_dot(section), spec->name, *seen);
		return;
	}
	*seen = line;
	take_value(l, where, where, part, spec, item->value, value_parse);
}

static void take_text(struct loader *l, const char *file, struct str text)
{
	struct part *part = l->second ? NULL : find_part(l->c, STR(""));
	bool skip = l->second; /* an unknown section was the problem, not each of its lines */
	struct ini it;
	struct ini_item item;
	struct err err;
	int rc;
	for (ini_init(&it, text, &l->c->arena); (rc = ini_next(&it, &item, &err)) != 1;) {
		char where[600];
		snprintf(where, sizeof where, "%.560s:%zu", file, it.line);
		if (rc < 0) {
			if (!l->second)
				load_problem(l, "%s: %s", where, err.msg);
		} else if (item.is_section) {
			skip = section_named(l, where, item.name, &part) != 0;
			part = skip ? NULL : part;
		} else if (part) {
			take_line(l, where, it.line, part, &item);
		} else if (!skip) {
			unknown_key(l, where, &nothing, item.name);
		}
	}
}

/* It may be a pipe, so it is read once. */
static void read_file(struct loader *l, const struct config_input *in)
{
	struct err err;
	int rc = file_slurp(in->file, &l->text, &err);
	if (rc < 0)
		load_problem(l, "%s", err.msg);
	else if (rc == 1)
		load_problem(l, "%s: no such file", in->file);
}

/* Variables of ours that are not settings. */
static const char *const own_variables[] = {"GARNER_CONFIG", "GARNER_FAULTS"};

static bool own_variable(struct str name)
{
	return STR_AMONG(name, own_variables);
}

/* Whether a variable may be one of an instance that is not known yet. */
static bool variable_waits(const struct loader *l, struct str name)
{
	CLEANUP(buf_free) struct buf env = BUF_INIT(256);
	for (size_t i = 0; i < l->c->plain; i++) {
		const struct config_section *section = l->c->part[i].section;
		buf_clear(&env);
		config_env_name(section, &(struct value_spec){.name = ""}, &env);
		if (section->several && str_starts(name, buf_str(&env)))
			return true;
	}
	return false;
}

/* A mistyped name in a unit file must not pass silently, so every GARNER_ variable has to be
 * known. */
static void take_variable(struct loader *l, struct str name, struct str value)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	CLEANUP(buf_free) struct buf env = BUF_INIT(256);
	for (size_t i = 0; i < l->c->n; i++) {
		struct part *part = &l->c->part[i];
		for (size_t k = 0; k < part->section->nspecs; k++) {
			const struct value_spec *spec = &part->section->specs[k];
			buf_clear(&env);
			config_env_name(part->section, spec, &env);
			if (str_eq(name, buf_str(&env))) {
				if ((part->over != NULL) == l->second)
					take_value(l, buf_text(&env), buf_text(&env), part, spec,
						   value, value_parse);
				return;
			}
			nearest_try(&near, buf_text(&env));
		}
	}
	if (variable_waits(l, name) == l->second)
		load_problem(l, "%s: this variable of the environment names no setting%s",
			     value_show(name, shown), nearest_words(&near));
}

static void take_environment(struct loader *l, char *const *env)
{
	for (; *env; env++) {
		struct str value = str_of(*env), name;
		if (!str_starts(value, STR("GARNER_")) || str_find_byte(value, '=') == value.n)
			continue;
		(void)str_cut(&value, '=', &name);
		if (!own_variable(name))
			take_variable(l, name, value.p ? value : STR(""));
	}
}

/* What grew must still fit in a file, because the roles get it in one. Asked before the list grows,
 * since each step copies it. */
static int list_grow(const struct value_spec *spec, struct str text, struct arena *arena,
		     void *base, struct err *err)
{
	if (spec->type != VALUE_LIST)
		return err_set(err, ERR_USAGE, "+= is for lists only");
	const struct value_list *list = (const void *)((const char *)base + spec->offset);
	size_t n = text.n;
	for (size_t i = 0; i < list->n; i++)
		n += strlen(list->item[i]) + 1;
	if (n > INI_VALUE_MAX)
		return err_set(err, ERR_USAGE, "the list is longer than %d bytes", INI_VALUE_MAX);
	return value_add(spec, text, arena, base, err);
}

/* "section.key=value" or "key=value"; += makes a list grow. */
static void take_set(struct loader *l, const char *text, const char *where, const char *origin)
{
	struct str rest = str_of(text), name, section_name = STR("");
	if (str_find_byte(rest, '=') == rest.n) {
		if (!l->second)
			load_problem(l, "%s: expected section.key=value", where);
		return;
	}
	(void)str_cut(&rest, '=', &name);
	bool grows = str_ends(name, STR("+"));
	name = str_trim(str_head(name, name.n - grows));
	if (str_find_byte(name, '.') < name.n) {
		struct str key = name;
		(void)str_cut(&key, '.', &section_name);
		name = key;
	}
	struct part *part = l->second ? NULL : find_part(l->c, STR(""));
	if (section_name.n ? section_named(l, where, section_name, &part) != 0 : l->second)
		return;
	const struct config_section *section = part ? part->section : &nothing;
	const struct value_spec *spec = value_find(section->specs, section->nspecs, name);
	if (part && spec)
		take_value(l, where, origin, part, spec, rest.p ? rest : STR(""),
			   grows ? list_grow : value_parse);
	else
		unknown_key(l, where, section, name);
}

static void take_sets(struct loader *l, const struct config_input *in)
{
	char shown[VALUE_SHOWN], where[VALUE_SHOWN + 4];
	for (size_t i = 0; i < in->nsaid; i++)
		take_set(l, in->said[i].set, in->said[i].where, in->said[i].where);
	for (size_t i = 0; i < in->nsets; i++) {
		snprintf(where, sizeof where, "-s %s", value_show(str_of(in->sets[i]), shown));
		take_set(l, in->sets[i], where, "-s");
	}
}

/* A setting, and the part of the configuration that has it. */
struct place {
	struct part *part;
	const struct value_spec *spec;
};

/* The origin of the value at that place. */
static const char **origin_at(struct place p)
{
	return &p.part->origin[p.spec - p.part->section->specs];
}

/* Finds what a setting depends on, "net.idle". spec is NULL: nothing, or there is no such section
 * in this program, or it is that very setting, of whose table others have a part. */
static struct place place_above(const struct config *c, struct place p)
{
	const char *name = p.spec->inherits ? p.spec->inherits : p.spec->moves;
	struct str key = str_of(name ? name : ""), section;
	struct place above = {0};
	if (!name)
		return above;
	ENSURE(str_cut(&key, '.', &section) == 0 && key.n);
	above.part = find_part(c, section);
	if (above.part && above.part != p.part)
		above.spec =
			value_find(above.part->section->specs, above.part->section->nspecs, key);
	return above;
}

/* Gives a value to what was not set, but depends on a setting that was. */
static void place_settle(struct config *c, struct place p)
{
	struct place above = place_above(c, p);
	if (*origin_at(p) != default_origin || !above.spec || *origin_at(above) == default_origin)
		return;
	*origin_at(p) = *origin_at(above);
	if (p.spec->inherits) {
		value_copy(p.spec, p.part->base, above.spec, above.part->base);
		return;
	}
	const int64_t *port = (const void *)((char *)above.part->base + above.spec->offset);
	uint64_t usual;
	ENSURE(str_u64(str_of(above.spec->fallback), &usual));
	value_move_port(p.spec, *port - (int64_t)usual, *port == 0, &c->arena, p.part->base);
}

static void settle_all(struct config *c)
{
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < c->part[i].section->nspecs; k++)
			place_settle(c, (struct place){&c->part[i], &c->part[i].section->specs[k]});
}

static struct part part_new(struct arena *arena, const struct config_section *section)
{
	return (struct part){
		.section = section,
		.base = arena_alloc(arena, section->size),
		.origin = arena_array(arena, section->nspecs, sizeof(const char *)),
		.seen = arena_array(arena, section->nspecs, sizeof(size_t)),
	};
}

static struct config *config_new(const struct config_section *const *sections, size_t n)
{
	struct config *c = mem_alloc(sizeof *c);
	*c = (struct config){.arena = ARENA_INIT(ARENA_MAX), .n = n, .plain = n};
	c->part = arena_array(&c->arena, n, sizeof *c->part);
	for (size_t i = 0; i < n; i++) {
		const struct config_section *section = sections[i];
		struct part *part = &c->part[i];
		*part = part_new(&c->arena, section);
		for (size_t k = 0; k < section->nspecs; k++)
			part->origin[k] = default_origin;
		value_defaults(section->specs, section->nspecs, &c->arena, part->base);
	}
	return c;
}

/* Instances without settings are named in a list, or are the running one. */
static void name_instances(struct loader *l, const struct config_input *in)
{
	for (size_t i = 0; i < l->c->n; i++) {
		const struct part *part = &l->c->part[i];
		for (size_t k = 0; k < part->section->nspecs; k++) {
			const struct value_spec *spec = &part->section->specs[k];
			const struct value_list *list =
				(const void *)((const char *)part->base + spec->offset);
			for (size_t m = 0; spec->type == VALUE_LIST && m < list->n; m++)
				(void)name_instance(l, str_of(list->item[m]));
		}
	}
	if (in->instance)
		(void)name_instance(l, str_of(in->instance));
}

static void add_instances(struct loader *l)
{
	struct config *c = l->c;
	struct part *all = arena_array(&c->arena, c->n + l->nnames, sizeof *all);
	memcpy(all, c->part, c->n * sizeof *all);
	c->part = all;
	for (size_t i = 0; i < l->nnames; i++) {
		struct str of = str_head(l->name[i], str_find_byte(l->name[i], '@'));
		const struct part *over = find_part(c, of);
		struct config_section *section = arena_alloc(&c->arena, sizeof *section);
		*section = *over->section;
		section->name = l->name[i].p;
		struct part *part = &c->part[c->n++];
		*part = part_new(&c->arena, section);
		part->over = over;
		memcpy(part->base, over->base, section->size);
		memcpy(part->origin, over->origin, section->nspecs * sizeof *part->origin);
	}
}

static void take_all(struct loader *l, const struct config_input *in)
{
	if (in->file)
		take_text(l, in->file, in->text.p ? in->text : buf_str(&l->text));
	if (in->env)
		take_environment(l, in->env);
	take_sets(l, in);
}

static int load_report(const struct loader *l, struct err *err)
{
	size_t more = l->nproblems - 1;
	if (l->problems && l->nproblems > PROBLEMS_MAX)
		buf_printf(l->problems, "and %zu more problems\n", l->nproblems - PROBLEMS_MAX);
	if (more == 0)
		return err_set(err, ERR_USAGE, "%s", l->first);
	return err_set(err, ERR_USAGE, "%s (and %zu more problem%s)", l->first, more,
		       more == 1 ? "" : "s");
}

int config_load(struct config **ret, const struct config_section *const *sections, size_t n,
		const struct config_input *in, struct buf *problems, struct err *err)
{
	struct config *c = config_new(sections, n);
	struct loader *l = mem_alloc(sizeof *l);
	l->c = c;
	l->problems = problems;
	l->text = BUF_INIT(INI_FILE_MAX);
	if (in->file && !in->text.p)
		read_file(l, in);
	take_all(l, in);
	settle_all(c);
	name_instances(l, in);
	add_instances(l);
	l->second = true;
	take_all(l, in);
	int rc = l->nproblems ? load_report(l, err) : 0;
	buf_free(&l->text);
	mem_free(&l);
	if (rc < 0) {
		config_free(&c);
		return -1;
	}
	const struct part *own = in->instance ? find_part(c, str_of(in->instance)) : NULL;
	for (size_t i = 0; own && i < c->plain; i++) {
		if (&c->part[i] == own->over) {
			c->part[i].base = own->base;
			c->part[i].origin = own->origin;
		}
	}
	*ret = c;
	return 0;
}

void config_free(struct config **c)
{
	if (*c)
		arena_free(&(*c)->arena);
	mem_free(c);
}

static struct part *part_of(const struct config *c, const struct config_section *section)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->part[i].section == section)
			return &c->part[i];
	die("section '%s' was not given to config_load()", section->name);
}

const void *config_get(const struct config *c, const struct config_section *section)
{
	return part_of(c, section)->base;
}

const char *config_origin(const struct config *c, const struct config_section *section,
			  const struct value_spec *spec)
{
	return part_of(c, section)->origin[spec - section->specs];
}

static struct place place_of(const struct config *c, const struct config_section *section,
			     const struct value_spec *spec)
{
	return (struct place){part_of(c, section), spec};
}

/* Each value that was set has an origin of its own, so the same one means the same value. */
static bool place_depends(const struct config *c, struct place p)
{
	struct place above = place_above(c, p);
	return above.spec && *origin_at(p) == *origin_at(above);
}

bool config_is_set(const struct config *c, const struct config_section *section,
		   const struct value_spec *spec)
{
	struct place p = place_of(c, section, spec);
	return *origin_at(p) != default_origin && !place_depends(c, p);
}

static bool default_same(const struct value_spec *a, const struct value_spec *b)
{
	return strcmp(a->fallback ? a->fallback : "", b->fallback ? b->fallback : "") == 0;
}

bool config_inherits(const struct config *c, const struct config_section *section,
		     const struct value_spec *spec)
{
	struct place p = place_of(c, section, spec), above = place_above(c, p);
	if (!spec->inherits || !place_depends(c, p))
		return false;
	return *origin_at(p) != default_origin || default_same(spec, above.spec);
}

bool config_is_shared(const struct config_section *section, const struct value_spec *spec)
{
	struct str name = str_of(spec->inherits ? spec->inherits : "");
	return name.n && !str_is(str_head(name, str_find_byte(name, '.')), section->name);
}

const struct config_section *config_section_at(const struct config *c, size_t i)
{
	return i < c->n ? c->part[i].section : NULL;
}

const struct config_section *config_instance(const struct config *c,
					     const struct config_section *section, const char *name)
{
	const struct part *part = find_part(c, str_of(name));
	return part && part->over && part->over->section == section ? part->section : section;
}

bool config_section_equal(const struct config *a, const struct config *b,
			  const struct config_section *section, const char *name)
{
	const void *in_a = config_get(a, config_instance(a, section, name));
	const void *in_b = config_get(b, config_instance(b, section, name));
	for (size_t k = 0; k < section->nspecs; k++)
		if (!value_equal(&section->specs[k], in_a, in_b))
			return false;
	return true;
}

static void write_part(const struct config *c, const struct part *part, bool only_set,
		       struct buf *out)
{
	const struct config_section *section = part->section;
	bool begun = !section->name[0];
	CLEANUP(buf_free) struct buf value = BUF_INIT(INI_FILE_MAX);
	for (size_t k = 0; k < section->nspecs; k++) {
		const struct value_spec *spec = &section->specs[k];
		if (only_set ? !config_is_set(c, section, spec) : config_inherits(c, section, spec))
			continue;
		if (part->over && value_equal(spec, part->base, part->over->base))
			continue;
		if (!begun)
			buf_printf(out, "%s[%s]\n", out->n ? "\n" : "", section->name);
		begun = true;
		buf_clear(&value);
		value_print(spec, part->base, &value);
		ini_put(spec->name, buf_str(&value), out);
		buf_add_byte(out, '\n');
	}
}

/* Keys of the global section have to stand before all others. */
void config_write(const struct config *c, bool only_set, struct buf *out)
{
	const struct part *global = find_part(c, STR(""));
	if (global)
		write_part(c, global, only_set, out);
	for (size_t i = 0; i < c->n; i++)
		if (&c->part[i] != global)
			write_part(c, &c->part[i], only_set, out);
}

/* Adds words in lines of at most 78 columns that begin with "# ". */
static void add_comment(struct str text, struct buf *out)
{
	size_t column = 0;
	struct str word;
	while (str_cut(&text, ' ', &word) == 0) {
		bool wrap = column == 0 || column + 1 + word.n > 78;
		if (wrap && column)
			buf_add_byte(out, '\n');
		buf_add_text(out, wrap ? "# " : " ");
		buf_add_str(out, word);
		column = (wrap ? 2 : column + 1) + word.n;
	}
	buf_add_byte(out, '\n');
}

bool config_is_above(const struct config_section *section, const struct value_spec *spec,
		     const struct value_spec *other)
{
	const char *name = other->inherits ? other->inherits : other->moves;
	struct str key = str_of(name ? name : ""), of;
	return str_cut(&key, '.', &of) == 0 && str_is(of, section->name) &&
	       str_is(key, spec->name) && other != spec;
}

void config_other_defaults(const struct config_list *list, const struct config_section *section,
			   const struct value_spec *spec, struct buf *out)
{
	const char *before = "; other defaults: ";
	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->section[i]->nspecs; k++) {
			const struct value_spec *other = &list->section[i]->specs[k];
			if (!other->inherits || !config_is_above(section, spec, other) ||
			    default_same(spec, other))
				continue;
			buf_printf(out, "%s%s ", before, list->section[i]->name);
			value_print_default(other, out);
			before = ", ";
		}
}

void config_exceptions(const struct config_section *section, struct buf *out)
{
	bool any = false;
	for (size_t k = 0; k < section->nspecs; k++) {
		const struct value_spec *spec = &section->specs[k];
		if (!config_is_shared(section, spec))
			continue;
		if (any)
			buf_printf(out, ", %s", spec->name);
		else
			buf_printf(out, "Also, as exceptions from [%.*s]: %s",
				   (int)str_find_byte(str_of(spec->inherits), '.'), spec->inherits,
				   spec->name);
		any = true;
	}
	if (any)
		buf_add_byte(out, '.');
}

static void sample_setting(const struct config_list *list, const struct config_section *section,
			   const struct value_spec *spec, struct buf *out)
{
	CLEANUP(buf_free) struct buf facts = BUF_INIT(INI_LINE_MAX);
	value_describe(spec, &facts);
	config_other_defaults(list, section, spec, &facts);
	buf_add_text(&facts, "; ");
	config_env_name(section, spec, &facts);
	buf_add_byte(out, '\n');
	add_comment(str_of(spec->help ? spec->help : spec->name), out);
	add_comment(buf_str(&facts), out);
	buf_clear(&facts);
	value_print_default(spec, &facts);
	buf_add_byte(out, '#');
	ini_put(spec->name, buf_str(&facts), out);
	buf_add_byte(out, '\n');
}

static void sample_section(const struct config_list *list, const struct config_section *section,
			   struct buf *out)
{
	if (section->name[0]) {
		buf_add_byte(out, '\n');
		add_comment(str_of(section->help ? section->help : section->name), out);
		buf_printf(out, "[%s]\n", section->name);
	}
	for (size_t k = 0; k < section->nspecs; k++)
		if (!config_is_shared(section, &section->specs[k]))
			sample_setting(list, section, &section->specs[k], out);
	CLEANUP(buf_free) struct buf shared = BUF_INIT(INI_LINE_MAX);
	config_exceptions(section, &shared);
	if (shared.n) {
		buf_add_byte(out, '\n');
		add_comment(buf_str(&shared), out);
	}
}

void config_sample(const struct config_list *list, struct buf *out)
{
	add_comment(STR("Configuration of garner. Every setting is here with its default: take "
			"away the # before it to change it."),
		    out);
	for (size_t i = 0; i < list->n; i++)
		if (!list->section[i]->name[0])
			sample_section(list, list->section[i], out);
	for (size_t i = 0; i < list->n; i++)
		if (list->section[i]->name[0])
			sample_section(list, list->section[i], out);
}

void config_env_name(const struct config_section *section, const struct value_spec *spec,
		     struct buf *out)
{
	const char *const parts[] = {"GARNER", section->name, spec->name};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (i && parts[i][0])
			buf_add_byte(out, '_');
		for (const char *p = parts[i]; *p; p++)
			buf_add_byte(out, *p == '-' || *p == '@' ? '_' : ascii_upper(*p));
	}
}
