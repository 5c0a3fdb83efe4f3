/* Variables: a table of values, and the query that they make. Each change is tried on a copy, so an
 * invalid one is refused at once, not at the search. Texts are copied again with each change, so a
 * session that keeps setting variables holds no more than their current values. */
#include "archie/ng_vars.h"

#include "archie/archie.h"
#include "base/clock.h"

enum {
	TEXTS_MOST = 1 << 20,
	QUERY_MOST = 4 << 20,
	TIME_LENGTH = 15, /* bytes of YYYYMMDDhhmmssZ */
	DAY_LENGTH = 10,  /* and of YYYY-MM-DD */
	DAY_S = 86400,
	SORTS = 5, /* of enum names_sort */
};

const char *const ng_sort_words[] = {"none",      "filename",  "hostname", "size",  "time", "rnone",
				     "rfilename", "rhostname", "rsize",    "rtime", NULL};
const char *const ng_syntax_words[] = {[NAMES_EXTENDED] = "extended", [NAMES_ED] = "ed", NULL};
static const char *const search_words[] = {"exact",     "sub",           "subcase",     "regex",
					   "exact_sub", "exact_subcase", "exact_regex", NULL};

#define AT(type, member) VALUE_##type##_AT(struct ng_vars, member)
const struct value_spec ng_var_specs[NG_VARS] = {
	{"search", AT(WORD, search), "sub", .words = search_words,
	 .help = "what STRING is: a whole name, a part of one, an expression, or first one and "
		 "then the other"},
	{"syntax", AT(WORD, syntax), "ed", .words = ng_syntax_words,
	 .help = "of expressions: that of ed, or extended"},
	{"path", AT(BOOL, path), "no", .help = "whether whole paths are matched, not names alone"},
	{"maxhits", AT(INT, maxhits), "100", 0, ARCHIE_ROWS_MOST,
	 .help = "results at most; 0: 10,000"},
	{"maxmatch", AT(INT, maxmatch), "0", 0, INT32_MAX,
	 .help = "different names at most; 0: any number"},
	{"maxhitspm", AT(INT, maxhitspm), "0", 0, INT32_MAX,
	 .help = "files of each name at most; 0: any number"},
	{"offset", AT(INT, offset), "0", 0, ARCHIE_OFFSET_MOST,
	 .help = "results that are left out first"},
	{"match_domain", AT(TEXT, match_domain),
	 .help = "only sites in one of these domains or pseudo-domains: usa:de"},
	{"match_path", AT(TEXT, match_path),
	 .help = "only files with one of these in their path: gnu:linux"},
	{"match_site", AT(TEXT, match_site),
	 .help = "only these sites, by host name, with blanks between them"},
	{"kind", AT(TEXT, kind), .help = "only these of file, dir, link and other, with blanks"},
	{"size_min", AT(SIZE, size_min), "0", 0, 1e15,
	 .help = "only files of at least this many bytes"},
	{"size_max", AT(SIZE, size_max), "0", 0, 1e15,
	 .help = "only files of at most this many bytes; 0: any"},
	{"time_min", AT(TEXT, time_min),
	 .help = "only files that changed then or later: YYYYMMDDhhmmssZ, or a day, YYYY-MM-DD"},
	{"time_max", AT(TEXT, time_max), .help = "only files that did not change after that"},
	{"sortby", AT(WORD, sortby), "none", .words = ng_sort_words,
	 .help = "the order of hits; with r before it the other way round"},
	{"mirrors", AT(BOOL, mirrors), "no",
	 .help = "whether files of the same name and size are one hit"},
	{"niceness", AT(INT, niceness), "0", 0, ARCHIE_NICE_MOST,
	 .help = "0 is usual, 32765 the last in the queue"},
	{"status", AT(BOOL, status), "no", .help = "whether the place in the queue is told"},
};

/* Times */

static void two_digits(char *to, int64_t v)
{
	to[0] = (char)('0' + v / 10);
	to[1] = (char)('0' + v % 10);
}

void ng_time_print(struct buf *out, int64_t time_s)
{
	enum { OF_A_DAY = 24 * 60 * 60 };
	char text[TIME_LENGTH];
	int64_t second = time_s % OF_A_DAY, days = time_s / OF_A_DAY;
	if (second < 0) {
		second += OF_A_DAY;
		days--;
	}
	struct calendar_date date = calendar_date(days);
	if (time_s == -1 || date.year < 0 || date.year > 9999) {
		buf_add_byte(out, '-');
		return;
	}
	two_digits(text, date.year / 100);
	two_digits(text + 2, date.year % 100);
	two_digits(text + 4, date.month);
	two_digits(text + 6, date.day);
	two_digits(text + 8, second / 3600);
	two_digits(text + 10, second / 60 % 60);
	two_digits(text + 12, second % 60);
	text[14] = 'Z';
	buf_add(out, text, sizeof text);
}

bool ng_time_parse(struct str text, int64_t *ret_s)
{
	static const struct {
		size_t from, n;
		uint64_t most;
	} parts[] = {{0, 4, 9999}, {4, 2, 12}, {6, 2, 31}, {8, 2, 23}, {10, 2, 59}, {12, 2, 60}};
	uint64_t v[ARRAY_LEN(parts)];
	int64_t days;
	if (text.n != TIME_LENGTH || text.p[TIME_LENGTH - 1] != 'Z')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!str_u64(str_head(str_from(text, parts[i].from), parts[i].n), &v[i]) ||
		    v[i] > parts[i].most)
			return false;
	if (!calendar_day((int64_t)v[0], (int64_t)v[1], (int64_t)v[2], &days))
		return false;
	*ret_s = days * DAY_S + (int64_t)(v[3] * 3600 + v[4] * 60 + v[5]);
	return true;
}

/* Queries */

static int list_of(const char *name, const char *text, char separator, struct arena *arena,
		   const struct str **ret, uint32_t *ret_n, struct err *err)
{
	struct str rest = str_of(text), item;
	struct str *list = arena_array(arena, NAMES_LIST_MOST, sizeof *list);
	uint32_t n = 0;
	while (str_cut(&rest, separator, &item) == 0) {
		if (!item.n)
			continue;
		if (n == NAMES_LIST_MOST)
			return err_set(err, ERR_USAGE, "%s: more than %d", name, NAMES_LIST_MOST);
		list[n++] = item;
	}
	*ret = list;
	*ret_n = n;
	return 0;
}

static int domains_of(const struct ng_vars *v, struct domains_file *file, struct arena *arena,
		      struct names_query *q, struct err *err)
{
	if (!v->match_domain[0])
		return 0;
	const struct domains d = domains_file_get(file, arena);
	int rc = domains_expand(&d, str_of(v->match_domain), NAMES_LIST_MOST, arena, &q->domain,
				&q->domains, err);
	return rc < 0 ? err_in(err, "match_domain") : 0;
}

static int kinds_of(const struct ng_vars *v, struct arena *arena, unsigned *ret, struct err *err)
{
	const struct str *list = NULL;
	uint32_t n = 0;
	char shown[VALUE_SHOWN];
	if (list_of("kind", v->kind, ' ', arena, &list, &n, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++) {
		unsigned kind = 0;
		while (kind < NAMES_KINDS &&
		       !str_is(list[i], names_kind_name((enum names_kind)kind)))
			kind++;
		if (kind == NAMES_KINDS)
			return err_set(err, ERR_USAGE,
				       "kind: '%s' is neither file, dir, link nor other",
				       value_show(list[i], shown));
		*ret |= 1u << kind;
	}
	return 0;
}

/* A day, as forms have it. */
static bool day_parse(struct str text, int64_t *ret_s)
{
	uint64_t year, month, day;
	int64_t days;
	if (text.n != DAY_LENGTH || text.p[4] != '-' || text.p[7] != '-' ||
	    !str_u64(str_head(text, 4), &year) ||
	    !str_u64(str_head(str_from(text, 5), 2), &month) || !str_u64(str_from(text, 8), &day) ||
	    !calendar_day((int64_t)year, (int64_t)month, (int64_t)day, &days))
		return false;
	*ret_s = days * DAY_S;
	return true;
}

/* in_day_s: where in a day that stands for a time the limit is. */
static int time_of(const char *name, const char *text, int64_t in_day_s, bool *ret_has,
		   int64_t *ret, struct err *err)
{
	char shown[VALUE_SHOWN];
	*ret_has = text[0];
	if (!text[0] || ng_time_parse(str_of(text), ret))
		return 0;
	if (day_parse(str_of(text), ret)) {
		*ret += in_day_s;
		return 0;
	}
	return err_set(err, ERR_USAGE,
		       "%s: expected a time such as 20240229120000Z or 2024-02-29, got '%s'", name,
		       value_show(str_of(text), shown));
}

int ng_vars_query(const struct ng_vars *v, struct domains_file *domains, struct arena *arena,
		  struct names_query *ret, struct err *err)
{
	struct names_query q = {
		.type = (enum names_type)v->search,
		.syntax = (enum names_syntax)v->syntax,
		.path = v->path,
		.has_size_min = v->size_min > 0,
		.has_size_max = v->size_max > 0,
		.size_min = (int64_t)v->size_min,
		.size_max = (int64_t)v->size_max,
		.maxhits = (uint64_t)v->maxhits,
		.maxmatch = (uint64_t)v->maxmatch,
		.maxhitspm = (uint64_t)v->maxhitspm,
		.offset = (uint64_t)v->offset,
		.sort = (enum names_sort)(v->sortby % SORTS),
		.reverse = v->sortby >= SORTS,
		.mirrors = v->mirrors,
	};
	if (domains_of(v, domains, arena, &q, err) < 0 ||
	    list_of("match_path", v->match_path, ':', arena, &q.component, &q.components, err) <
		    0 ||
	    list_of("match_site", v->match_site, ' ', arena, &q.site, &q.sites, err) < 0 ||
	    kinds_of(v, arena, &q.kinds, err) < 0 ||
	    time_of("time_min", v->time_min, 0, &q.has_time_min, &q.time_min, err) < 0 ||
	    time_of("time_max", v->time_max, DAY_S - 1, &q.has_time_max, &q.time_max, err) < 0)
		return -1;
	*ret = q;
	return 0;
}

/* A session's */

void ng_held_init(struct ng_held *h)
{
	*h = (struct ng_held){.arena = ARENA_INIT(TEXTS_MOST)};
	value_defaults(ng_var_specs, NG_VARS, &h->arena, &h->vars);
}

void ng_held_free(struct ng_held *h)
{
	arena_free(&h->arena);
}

static const char **text_at(struct ng_vars *v, const struct value_spec *spec)
{
	return (const char **)(void *)((char *)v + spec->offset);
}

int ng_held_set(struct ng_held *h, struct domains_file *domains, struct str name, struct str value,
		struct err *err)
{
	const struct value_spec *spec = value_find(ng_var_specs, NG_VARS, name);
	struct arena arena = ARENA_INIT(TEXTS_MOST), scratch = ARENA_INIT(QUERY_MOST);
	struct ng_vars vars = h->vars;
	struct names_query query;
	char shown[VALUE_SHOWN];
	if (!spec)
		return err_set(err, ERR_USAGE, "there is no variable '%s'; HELP names them",
			       value_show(name, shown));
	if (!value.n)
		value = str_of(spec->fallback);
	int rc = value_parse(spec, value, &arena, &vars, err);
	if (rc < 0)
		(void)err_in(err, "%s", spec->name);
	else
		rc = ng_vars_query(&vars, domains, &scratch, &query, err);
	if (rc == 0) {
		for (size_t i = 0; i < NG_VARS; i++)
			if (ng_var_specs[i].type == VALUE_TEXT) {
				const char **text = text_at(&vars, &ng_var_specs[i]);
				*text = arena_text(&arena, str_of(*text));
			}
		arena_free(&h->arena);
		*h = (struct ng_held){.vars = vars, .arena = arena};
	} else {
		arena_free(&arena);
	}
	arena_free(&scratch);
	return rc;
}
