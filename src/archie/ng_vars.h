/* Variables of the line protocol for programs, and parameters of the web's pages of files: what a
 * search is limited by. One table gives their names, bounds and help; a query is made of them. */
#pragma once
#include "archie/domains.h"
#include "base/value.h"
#include "index/names.h"

struct ng_vars {
	int search, syntax, sortby; /* enum names_type, enum names_syntax; of ng_sort_words */
	bool path, mirrors, status;
	int64_t maxhits, maxmatch, maxhitspm, offset, niceness;
	uint64_t size_min, size_max; /* 0: no limit */
	/* Domains and components with colons between them, sites and kinds with blanks; times as
	 * ng_time_print() has them, or days (2024-02-29), all of which are meant. Empty: no limit.
	 */
	const char *match_domain, *match_path, *match_site, *kind, *time_min, *time_max;
};
enum { NG_VARS = 19 };
extern const struct value_spec ng_var_specs[NG_VARS];
extern const char *const ng_sort_words[], *const ng_syntax_words[];

/* The variables of a session, with the memory of their texts. */
struct ng_held {
	struct ng_vars vars;
	struct arena arena;
};
void ng_held_init(struct ng_held *h);
void ng_held_free(struct ng_held *h);
/* An empty value is the first one again. ERR_USAGE: there is no such variable, or it cannot have
 * this value; nothing has changed. */
int ng_held_set(struct ng_held *h, struct domains_file *domains, struct str name, struct str value,
		struct err *err);
/* All but the pattern; lists lie in the arena. ERR_USAGE: which variable cannot be so. */
int ng_vars_query(const struct ng_vars *v, struct domains_file *domains, struct arena *arena,
		  struct names_query *ret, struct err *err);

/* YYYYMMDDhhmmssZ; what is not told, or not of four digits, is "-". */
void ng_time_print(struct buf *out, int64_t time_s);
bool ng_time_parse(struct str text, int64_t *ret_s) MUST_USE;
