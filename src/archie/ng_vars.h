/* The limits of a search: variables of the line protocol, and parameters of the web's file pages.
 * One table has their names, bounds and help. */
#pragma once
#include "archie/domains.h"
#include "base/value.h"
#include "index/names.h"

struct ng_vars {
	int search, syntax, sortby; /* enum names_type, enum names_syntax; of ng_sort_words */
	bool path, mirrors, status;
	int64_t maxhits, maxmatch, maxhitspm, offset, niceness;
	uint64_t size_min, size_max; /* 0: no limit */
	/* Domains and components are separated by colons, sites and kinds by blanks; times are as
	 * ng_time_print() writes them, or whole days (2024-02-29). Empty: no limit. */
	const char *match_domain, *match_path, *match_site, *kind, *time_min, *time_max;
};
enum { NG_VARS = 19 };
extern const struct value_spec ng_var_specs[NG_VARS];
extern const char *const ng_sort_words[], *const ng_syntax_words[];

/* The variables of a session, and the memory for their texts. */
struct ng_held {
	struct ng_vars vars;
	struct arena arena;
};
void ng_held_init(struct ng_held *h);
void ng_held_free(struct ng_held *h);
/* An empty value resets the variable. ERR_USAGE: unknown variable or invalid value; nothing
 * changes.
 */
int ng_held_set(struct ng_held *h, struct domains_file *domains, struct str name, struct str value,
		struct err *err);
/* Makes a query without its pattern; lists lie in the arena. ERR_USAGE names the wrong variable. */
int ng_vars_query(const struct ng_vars *v, struct domains_file *domains, struct arena *arena,
		  struct names_query *ret, struct err *err);

/* YYYYMMDDhhmmssZ; "-" if the time is unknown (-1) or its year has not four digits. */
void ng_time_print(struct buf *out, int64_t time_s);
bool ng_time_parse(struct str text, int64_t *ret_s) MUST_USE;
