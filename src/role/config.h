/* Configuration: one INI file, sections per role, every key declared in a table. What is not set
 * keeps its default; the environment overrides the file, -s overrides both, and what a role's own
 * file says stands between them. All or nothing: with one wrong line nothing is taken, and each
 * error names its file and line. */
#pragma once
#include "base/value.h"

/* What sections share stands in one of them: a key whose spec `inherits` "net.idle" has the value
 * of [net] idle where that was set, unless it was set itself; [uns] idle is then the exception of
 * uns. Without either it keeps its own default. The default of an address whose spec `moves` with
 * "net.port" has a port, which keeps its distance to that one; where that is 0, see
 * value_move_port(). Neither changes what was set.
 *
 * A section of the file and the struct that its values fill. The global section has the name "":
 * its keys stand before the first [section], its variables are GARNER_KEY, its -s form is
 * key=value. Elsewhere: [section] key = value, GARNER_SECTION_KEY (dashes as underscores), -s
 * section.key=value. With += in place of = a list that was set before grows.
 *
 * A section of which there are several may be said of one instance alone: [bot@2]. What holds for
 * all of them ([bot]) holds for it too, unless it says otherwise, wherever either was said. */
struct config_section {
	const char *name;
	const char *help; /* one sentence */
	size_t size;      /* of the struct */
	const struct value_spec *specs;
	size_t nspecs;
	bool several; /* a role that may run several times; variables: GARNER_BOT_2_KEY */
};

/* A setting that was said elsewhere, in a file of another kind. */
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

/* On failure err has the first problem and, in its last words, how many more there are; `problems`
 * (may be NULL) gets them all, a line each: "garner.conf:12: web.listen: expected ...". */
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
/* Whether it has the value of the setting that it inherits from; not where nothing was set and the
 * two have different defaults. */
bool config_inherits(const struct config *c, const struct config_section *section,
		     const struct value_spec *spec);
/* Whether it inherits from another section, and is here for exceptions: lists of settings leave it
 * out. */
bool config_is_shared(const struct config_section *section, const struct value_spec *spec);
/* All sections that it has: those given to config_load(), then instances, which are those that a
 * section, a variable, a -s or an item of a list (up.roles) names. NULL: no more. */
const struct config_section *config_section_at(const struct config *c, size_t i);
/* The section of an instance, "bot@2"; of one that is named nowhere, the section itself. */
const struct config_section *
config_instance(const struct config *c, const struct config_section *section, const char *name);
/* name: of an instance, or the section's own. */
bool config_section_equal(const struct config *a, const struct config *b,
			  const struct config_section *section, const char *name);

/* The file that would give just these values; with only_set, without the defaults. */
void config_write(const struct config *c, bool only_set, struct buf *out);
/* What the tables say. */
struct config_list {
	const struct config_section *const *section;
	size_t n;
};
/* Appends a sentence with the keys that the section shares; nothing where there are none. */
void config_exceptions(const struct config_section *section, struct buf *out);
/* The commented sample file: every key with help, type, bounds and default; shared ones once. */
void config_sample(const struct config_list *list, struct buf *out);
/* Whether the other one inherits from this setting, or moves with it. */
bool config_is_above(const struct config_section *section, const struct value_spec *spec,
		     const struct value_spec *other);
/* Appends "; other defaults: qm 0, spider 0", of those that inherit from it; or nothing. */
void config_other_defaults(const struct config_list *list, const struct config_section *section,
			   const struct value_spec *spec, struct buf *out);
/* The name of the environment variable of a key. */
void config_env_name(const struct config_section *section, const struct value_spec *spec,
		     struct buf *out);
