/* The commands that ask the archive: find, whatis, list and site. Each makes one request or several
 * in turn through the interface and lays out the answers. */
#include "archie/shell/shell_inner.h"

#include "index/names.h"

enum {
	SITE_PART = 1000, /* files of a site that are asked for at a time */
	OUT_MOST = 64 << 20,
	/* What 0 stands for in the limits: the old server's own. */
	HITS_USUAL = 100,
	MATCH_USUAL = 100,
	HITSPM_USUAL = 20,
};

static const char *const refusals[ARCHIE_REFUSALS] = {
	[ARCHIE_BUSY] = "The server is busy",
	[ARCHIE_FAILED] = "The search failed",
};

/* Asks for *q. false: there is no answer, and it has been said why. */
static bool ask_archive(struct shell *s, enum archie_what what, const struct names_query *q,
			struct arena *arena, struct archie_answer *ret)
{
	enum archie_refusal why = ARCHIE_NOT_REFUSED;
	struct err err = {0};
	const struct archie_ask ask = {
		.what = what,
		.query = *q,
		.niceness = s->o.niceness,
		.verbose = s->value[VAR_STATUS].text != NULL,
		.from = str_of(s->from),
	};
	if (s->o.ops->ask(s->o.ctx, &ask, arena, ret, &why, &err) >= 0) {
		if (ret->cut && what != ARCHIE_SITE)
			shell_say(s, "The answer was cut: there may be more.");
		if (ret->problem.n)
			shell_say(s, "The database is damaged: files may be missing.");
		return true;
	}
	if (why == ARCHIE_CANCELLED)
		shell_say(s, "Aborted.");
	else if (why == ARCHIE_AWAY) /* where its socket would be is not for strangers */
		shell_say(s, "Timed out (ardp): the archive cannot be searched now.");
	else if (refusals[why])
		shell_say(s, "%s: %s", refusals[why], err.msg);
	else
		shell_say(s, "%s", err.msg);
	return false;
}

static enum shell_format format_now(const struct shell *s)
{
	return (enum shell_format)str_index(shell_var_text(s, VAR_OUTPUT_FORMAT),
					    shell_format_words, SHELL_FORMATS);
}

static struct shell_listing listing_now(const struct shell *s, struct arena *arena)
{
	return (struct shell_listing){
		.layout = s->o.layout, .format = format_now(s), .arena = arena};
}

/* Files: in silence they are only kept. */
static void put_files(struct shell *s, const struct shell_listing *l, struct buf *out)
{
	if (l->format == FORMAT_SILENT)
		shell_keep(s, out);
	else
		shell_put(s, out, SHELL_RESULT);
}

/* A notice that is also part of the result where there are several. */
static void put_none(struct shell *s, bool several)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(64);
	buf_add_text(&out, "\n# No matches were found.\n");
	if (several)
		shell_put(s, &out, SHELL_RESULT);
	else
		shell_show(s, &out, SHELL_NOTICE);
}

static void put_pattern(struct shell *s, struct str pattern)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(SHELL_LINE_MOST + 8);
	buf_printf(&out, ">> " STR_FMT "\n", STR_ARG(pattern));
	shell_put(s, &out, SHELL_RESULT);
}

static bool regexes_fit(struct shell *s, const struct shell_call *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (c->arg[i].n > SHELL_REGEX_MOST) {
			shell_say(s, "The expression is too long: at most %d bytes.",
				  SHELL_REGEX_MOST);
			return false;
		}
	return true;
}

/* find */

static enum names_type type_now(const struct shell *s)
{
	return (enum names_type)str_index(shell_var_text(s, VAR_SEARCH), names_type_words,
					  NAMES_WHATIS);
}

/* "rsize": by size, the other way round. */
static void sort_now(const struct shell *s, struct names_query *q)
{
	static const struct {
		const char *word;
		enum names_sort sort;
	} sorts[] = {
		{"filename", NAMES_BY_NAME},
		{"hostname", NAMES_BY_HOST},
		{"size", NAMES_BY_SIZE},
		{"time", NAMES_BY_TIME},
	};
	struct str word = shell_var_text(s, VAR_SORTBY);
	bool reverse = str_starts(word, STR("r"));
	for (size_t i = 0; i < ARRAY_LEN(sorts); i++)
		if (str_is(str_from(word, reverse), sorts[i].word)) {
			q->sort = sorts[i].sort;
			q->reverse = reverse;
		}
}

static uint64_t limit_now(const struct shell *s, enum shell_var v, uint64_t usual)
{
	return s->value[v].number ? (uint64_t)s->value[v].number : usual;
}

/* The components of match_path. false: too many. */
static bool paths_now(struct shell *s, struct names_query *q, struct arena *arena)
{
	struct str rest = shell_var_text(s, VAR_MATCH_PATH), part;
	struct str *list = NULL;
	size_t n = 0, room = 0;
	while (rest.p && str_cut(&rest, ':', &part) == 0)
		if (part.n)
			*ARENA_PUSH(arena, list, n, room) = part;
	q->component = list;
	q->components = (uint32_t)n;
	if (n > NAMES_LIST_MOST)
		shell_say(s, "`match_path' has more than %d parts.", NAMES_LIST_MOST);
	return n <= NAMES_LIST_MOST;
}

static bool domains_now(struct shell *s, struct names_query *q, struct arena *arena)
{
	struct err err;
	if (!s->value[VAR_MATCH_DOMAIN].text ||
	    domains_expand(&s->texts->domains, shell_var_text(s, VAR_MATCH_DOMAIN), NAMES_LIST_MOST,
			   arena, &q->domain, &q->domains, &err) == 0)
		return true;
	shell_say(s, "Cannot search in the domains of `match_domain': %s.", err.msg);
	return false;
}

/* All of a query but its pattern. false: it cannot be, and it has been said why. */
static bool query_now(struct shell *s, struct names_query *q, struct arena *arena)
{
	*q = (struct names_query){
		.type = type_now(s),
		.syntax = NAMES_ED,
		.maxhits = limit_now(s, VAR_MAXHITS, HITS_USUAL),
		.maxmatch = limit_now(s, VAR_MAXMATCH, MATCH_USUAL),
		.maxhitspm = limit_now(s, VAR_MAXHITSPM, HITSPM_USUAL),
	};
	sort_now(s, q);
	return domains_now(s, q, arena) && paths_now(s, q, arena);
}

static void say_restrictions(struct shell *s)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1024);
	buf_printf(&text, "Search type: %s", s->value[VAR_SEARCH].text);
	if (s->value[VAR_MATCH_DOMAIN].text)
		buf_printf(&text, ", Domain: %s", s->value[VAR_MATCH_DOMAIN].text);
	if (s->value[VAR_MATCH_PATH].text)
		buf_printf(&text, ", Path: %s", s->value[VAR_MATCH_PATH].text);
	shell_say(s, "%s.", buf_text(&text));
}

/* One pattern. false: no need to ask for more. */
static bool find_pattern(struct shell *s, const struct names_query *q, struct arena *arena,
			 bool several)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUT_MOST);
	struct shell_listing l = listing_now(s, arena);
	struct archie_answer a;
	if (several)
		put_pattern(s, q->pattern);
	if (!ask_archive(s, ARCHIE_FIND, q, arena, &a))
		return false;
	for (size_t i = 0; i < a.n; i++)
		shell_layout_file(&l, &a.row[i], &out);
	if (a.n == 0)
		put_none(s, several);
	put_files(s, &l, &out);
	return !s->enough;
}

int shell_run_find(struct shell *s, const struct shell_call *c)
{
	struct names_query q;
	if (!query_now(s, &q, c->arena))
		return 0;
	bool regex = q.type == NAMES_REGEX || q.type == NAMES_EXACT_REGEX;
	if (regex && !regexes_fit(s, c))
		return 0;
	say_restrictions(s);
	for (size_t i = 0; i < c->n; i++) {
		struct arena_mark mark = arena_mark(c->arena);
		q.pattern = c->arg[i];
		if (!find_pattern(s, &q, c->arena, c->n > 1))
			break;
		arena_reset(c->arena, mark);
	}
	return 0;
}

/* site: all files, in parts. Of each part host and folder of the last file are copied, since the
 * next one goes on from there. */

static void listing_move(struct shell_listing *l, struct arena *to)
{
	arena_clear(to);
	l->host = arena_str(to, l->host);
	l->folder = arena_str(to, l->folder);
}

static const char not_complete[] = "The listing is not complete.";

/* One part. false: it was the last, or the reader has enough. */
static bool site_part(struct shell *s, struct names_query *q, struct shell_listing *l)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUT_MOST);
	struct archie_answer a;
	if (!ask_archive(s, ARCHIE_SITE, q, l->arena, &a)) {
		if (q->offset)
			shell_say(s, "%s", not_complete);
		return false;
	}
	for (size_t i = 0; i < a.n; i++)
		shell_layout_file(l, &a.row[i], &out);
	if (!l->any)
		put_none(s, false);
	put_files(s, l, &out);
	q->offset += a.n;
	if (s->enough || (!a.cut && q->offset >= a.total))
		return false;
	if (a.n == 0)
		shell_say(s, "%s", not_complete);
	return a.n > 0;
}

int shell_run_site(struct shell *s, const struct shell_call *c)
{
	CLEANUP(arena_free) struct arena last = ARENA_INIT(1 << 20);
	struct shell_listing l = listing_now(s, c->arena);
	struct names_query q = {.site = &c->arg[0], .sites = 1, .maxhits = SITE_PART};
	struct arena_mark mark = arena_mark(c->arena);
	while (site_part(s, &q, &l)) {
		listing_move(&l, &last);
		arena_reset(c->arena, mark);
	}
	return 0;
}

/* list */

static bool list_regex(struct shell *s, struct str regex, struct arena *arena)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUT_MOST);
	struct names_query q = {
		.pattern = regex, .syntax = NAMES_ED, .maxhits = SHELL_LIST_MOST + 1};
	enum shell_format format = format_now(s);
	struct archie_answer a;
	if (!ask_archive(s, ARCHIE_SITES, &q, arena, &a))
		return false;
	if (a.n > SHELL_LIST_MOST) {
		shell_say(s, "There are too many sites: more than %d.", SHELL_LIST_MOST);
		return true;
	}
	if (a.n == 0)
		put_none(s, false);
	else if (format != FORMAT_MACHINE && format != FORMAT_TERSE)
		buf_add_byte(&out, '\n');
	for (size_t i = 0; i < a.n; i++)
		shell_layout_site(format, &a.row[i], &out);
	shell_put(s, &out, SHELL_RESULT);
	return !s->enough;
}

int shell_run_list(struct shell *s, const struct shell_call *c)
{
	size_t i = 0;
	if (!regexes_fit(s, c))
		return 0;
	do {
		struct arena_mark mark = arena_mark(c->arena);
		if (!list_regex(s, c->n ? c->arg[i] : STR(""), c->arena))
			break;
		arena_reset(c->arena, mark);
	} while (++i < c->n);
	return 0;
}

/* whatis */

int shell_run_whatis(struct shell *s, const struct shell_call *c)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(OUT_MOST);
	struct names_query q = {.pattern = c->arg[0]};
	struct archie_answer a;
	if (!ask_archive(s, ARCHIE_WHATIS, &q, c->arena, &a))
		return 0;
	for (size_t i = 0; i < a.n; i++)
		shell_layout_whatis(&a.row[i], s->cols, &out);
	if (a.n == 0)
		shell_say(s, "Nothing found that matched '" STR_FMT "'.", STR_ARG(c->arg[0]));
	shell_put(s, &out, SHELL_RESULT);
	return 0;
}
