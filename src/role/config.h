/* Configuration: one INI file with a section per role; every key is declared in a table. A key
 * that is not set has its default. The environment overrides the file, and -s overrides both; a
 * role's own file comes between them. All or nothing: one wrong line and nothing is accepted; each
 * error names its file and line. */
#pragma once
#include "base/value.h"

/* A section of the file, and the struct that its values fill. The global section has the name "":
 * its keys come before the first [section], its variables are GARNER_KEY, its -s form is
 * key=value. All others: [section] key = value, GARNER_SECTION_KEY (dashes become underscores), -s
 * section.key=value. With += instead of =, values are added to a list.
 *
 * Sections share settings as follows. A key whose spec `inherits` "net.idle" has the value of
 * [net] idle if that is set, unless it is set itself: [uns] idle is then an exception for uns. If
 * neither is set, it has its own default. An address whose spec `moves` with "net.port" has a
 * default port that keeps its distance to net.port; if that is 0, see value_move_port(). Values
 * that are set never change.
 *
 * A section with `several` may also be given for one instance: [bot@2]. Values of [bot] are valid
 * for all instances that do not set the key themselves, in whatever order they are given. */
struct config_section {
	const char *name;
	const char *help; /* one sentence */
	size_t size;      /* of the struct */
	const struct value_spec *specs;
	size_t nspecs;
	bool several; /* a role that may run several times; variables: GARNER_BOT_2_KEY */
};

/* A setting from a file of another kind. */
struct config_said {
	const char *set;   /* "section.key=value", as after -s */
	const char *where; /* "broker.conf:3" */
};

struct config_input {
	const char *file; /* NULL: none */
	struct str text;  /* if p is not NULL: what is in the file, which is then not opened */
	char *const *env; /* ends in NULL; NULL: none */
	const struct config_said *said; /* over file and environment */
	size_t nsaid;
	const char *const *sets;
	size_t nsets;
	const char *instance; /* "bot@2": its values are those of [bot]; NULL: none */
};

/* Bytes after the @ of an instance: letters and digits. */
enum { CONFIG_INSTANCE_MAX = 32 };
/* "bot@2": *ret_section is "bot". false: not of that form. */
bool config_instance_form(struct str name, struct str *ret_section);

struct config;

/* On failure err has the first problem and the number of further ones; `problems` (may be NULL)
 * gets all, one per line: "garner.conf:12: web.listen: expected ...". */
int config_load(struct config **ret, const struct config_section *const *sections, size_t n,
		const struct config_input *in, struct buf *problems, struct err *err);
void config_free(struct config **c);

/* The filled struct of a section; never NULL for one of the sections given to config_load(). */
const void *config_get(const struct config *c, const struct config_section *section);
/* Where a value came from: "default", "garner.conf:12", "GARNER_WEB_LISTEN", "-s". */
const char *config_origin(const struct config *c, const struct config_section *section,
			  const struct value_spec *spec);
/* Whether it was set itself, even to its default. */
bool config_is_set(const struct config *c, const struct config_section *section,
		   const struct value_spec *spec);
/* Whether it has the value of the setting that it inherits from. false if neither is set and their
 * defaults differ. */
bool config_inherits(const struct config *c, const struct config_section *section,
		     const struct value_spec *spec);
/* Whether it inherits from another section. Lists of settings omit such keys. */
bool config_is_shared(const struct config_section *section, const struct value_spec *spec);
/* All sections: those given to config_load(), then the instances, named by a section, a variable,
 * -s or an item of a list (up.roles). NULL: no more. */
const struct config_section *config_section_at(const struct config *c, size_t i);
/* The section of an instance ("bot@2"); the section itself if nothing names the instance. */
const struct config_section *
config_instance(const struct config *c, const struct config_section *section, const char *name);
/* name: of an instance, or the section's own. */
bool config_section_equal(const struct config *a, const struct config *b,
			  const struct config_section *section, const char *name);

/* Writes a file with exactly these values; with only_set, without the defaults. */
void config_write(const struct config *c, bool only_set, struct buf *out);
/* Documentation from the tables. */
struct config_list {
	const struct config_section *const *section;
	size_t n;
};
/* Appends a sentence with the keys that the section inherits; nothing if there are none. */
void config_exceptions(const struct config_section *section, struct buf *out);
/* The commented sample file: every key with help, type, bounds and default; shared ones once. */
void config_sample(const struct config_list *list, struct buf *out);
/* Whether the other one inherits from this setting, or moves with it. */
bool config_is_above(const struct config_section *section, const struct value_spec *spec,
		     const struct value_spec *other);
/* Appends "; other defaults: qm 0, spider 0" for the keys that inherit from it; or nothing. */
void config_other_defaults(const struct config_list *list, const struct config_section *section,
			   const struct value_spec *spec, struct buf *out);
/* The name of the environment variable of a key. */
void config_env_name(const struct config_section *section, const struct value_spec *spec,
		     struct buf *out);
