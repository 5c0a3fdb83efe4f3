/* Requests of Prospero. Lines are read in order, except VERSION, which decides how to read the
 * others: version 5 quotes, version 1 does not, and its search string runs unquoted to the end of
 * the line.
 *
 * A request that cannot be understood is answered with an error if it is Prospero at all; an
 * unknown name fails only its own question. */
#include "archie/prospero/prospero.h"

#include "base/ascii.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	WARNINGS_MOST = 1024,
	TOKENS_MOST = 2 * NAMES_LIST_MOST,
	FILTERS_MOST = 2 * PROSPERO_LISTS_MOST,
};

/* The limits of version 3 of the server: what 0 stands for, and the most. */
static const struct {
	uint64_t usual, most;
} limits[] = {{100, ARCHIE_ROWS_MOST}, {100, 1000}, {20, 100}};

struct parsing {
	struct prospero_request *r;
	const struct domains *domains;
	struct arena *arena;
	struct str name; /* of the last DIRECTORY; p NULL: there was none */
	bool known;      /* a line was of Prospero */
	unsigned filters;
};

/* Words of a line */

/* The next word of version 5: quotes begin and end anywhere, and two of them inside are one. 1:
 * there is none. */
static int next_quoted(struct parsing *p, struct str *rest, struct str *ret)
{
	size_t n = 0, end = 0;
	bool inside = false;
	while (rest->n && rest->p[0] == ' ')
		*rest = str_from(*rest, 1);
	if (!rest->n)
		return 1;
	for (; end < rest->n && (inside || rest->p[end] != ' '); end++)
		inside = inside != (rest->p[end] == '\'');
	char *word = arena_alloc(p->arena, end + 1);
	inside = false;
	for (size_t i = 0; i < end; i++) {
		bool quote = rest->p[i] == '\'';
		if (quote && inside && i + 1 < end && rest->p[i + 1] == '\'')
			word[n++] = rest->p[i++];
		else if (quote)
			inside = !inside;
		else
			word[n++] = rest->p[i];
	}
	*rest = str_from(*rest, end);
	*ret = (struct str){word, n};
	return 0;
}

static int next_word(struct parsing *p, struct str *rest, struct str *ret)
{
	if (p->r->version == 5)
		return next_quoted(p, rest, ret);
	while (rest->n && rest->p[0] == ' ')
		*rest = str_from(*rest, 1);
	if (!rest->n)
		return 1;
	*ret = str_head(*rest, str_find_byte(*rest, ' '));
	*rest = str_from(*rest, ret->n);
	return 0;
}

/* What is left of a line: of version 1 as it is, of version 5 its next word. */
static struct str last_word(struct parsing *p, struct str rest)
{
	struct str word;
	if (p->r->version != 5)
		return rest.n && rest.p[0] == ' ' ? str_from(rest, 1) : rest;
	return next_quoted(p, &rest, &word) == 0 ? word : STR("");
}

/* Names of what is asked for */

static void list_fails(struct prospero_list *l, const char *failure)
{
	l->kind = PROSPERO_FAILED;
	l->failure = failure;
}

static void clamp_limits(struct parsing *p, uint64_t v[ARRAY_LEN(limits)])
{
	bool clamped = false;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		if (v[i] == 0)
			v[i] = limits[i].usual;
		clamped = clamped || v[i] > limits[i].most;
		v[i] = MIN(v[i], limits[i].most);
	}
	if (clamped)
		buf_printf(&p->r->warnings,
			   "limits lowered to %" PRIu64 " hits, %" PRIu64 " names, %" PRIu64
			   " hits of each name\n",
			   v[0], v[1], v[2]);
}

static void match_type(struct prospero_list *l, char letter)
{
	static const struct {
		char letter;
		enum names_type type;
		bool names;
	} types[] = {
		{'=', NAMES_EXACT, false},         {'R', NAMES_REGEX, false},
		{'r', NAMES_EXACT_REGEX, false},   {'S', NAMES_SUB, false},
		{'s', NAMES_EXACT_SUB, false},     {'C', NAMES_SUBCASE, false},
		{'c', NAMES_EXACT_SUBCASE, false}, {'X', NAMES_REGEX, true},
		{'x', NAMES_EXACT_REGEX, true},    {'Z', NAMES_SUB, true},
		{'z', NAMES_EXACT_SUB, true},      {'K', NAMES_SUBCASE, true},
		{'k', NAMES_EXACT_SUBCASE, true},  {'n', NAMES_EXACT, true},
	};
	l->ask.query.type = NAMES_EXACT_SUB;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].letter == letter) {
			l->ask.query.type = types[i].type;
			l->names = types[i].names;
		}
}

/* "95,0,=" or "100,100,20,0,=". false: it is neither. */
static bool match_numbers(struct parsing *p, struct prospero_list *l, struct str args)
{
	struct str part[5] = {{0}}, rest = args;
	uint64_t v[4];
	size_t n = 0;
	while (n < ARRAY_LEN(part) && str_cut(&rest, ',', &part[n]) == 0)
		n++;
	if (rest.p || (n != 3 && n != 5) || part[n - 1].n != 1)
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		if (!str_u64(str_trim(part[i]), &v[i]))
			return false;
	uint64_t offset = MIN(v[n - 2], (uint64_t)ARCHIE_OFFSET_MOST);
	if (n == 3)
		v[1] = v[2] = v[0];
	clamp_limits(p, v);
	l->maxhits = l->ask.query.maxhits = v[0];
	l->maxmatch = v[1];
	l->maxhitspm = v[2];
	/* the limits are of what comes after those that are left out */
	l->ask.query.maxmatch = v[1] + offset;
	l->ask.query.maxhitspm = v[2] + offset;
	l->ask.query.offset = offset;
	match_type(l, part[n - 1].p[0]);
	return true;
}

static void list_match(struct parsing *p, struct prospero_list *l, struct str rest)
{
	size_t end = str_find(rest, STR(")/"));
	l->kind = PROSPERO_MATCH;
	l->ask.what = ARCHIE_FIND;
	l->ask.query.syntax = NAMES_ED;
	l->ask.query.pattern = str_from(rest, end + 2);
	if (end == rest.n || !match_numbers(p, l, str_head(rest, end))) {
		list_fails(l, "NOT-FOUND expected ARCHIE/MATCH(hits,offset,type)/string");
		return;
	}
	if (l->names) {
		/* one file of each name, and as many names as there may be hits */
		l->ask.query.maxhitspm = 1;
		l->ask.query.maxhits = MIN(l->maxhits, l->maxmatch);
	}
}

/* The expression for hosts that "*.edu" or one name stands for. */
static struct str host_pattern(struct parsing *p, struct str text)
{
	struct buf out = BUF_INIT(NAMES_PATTERN_MOST);
	if (text.n && text.p[0] == '(')
		return str_ends(text, STR(")")) ? str_range(text.p + 1, text.p + text.n - 1)
						: str_from(text, 1);
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool first = i == 0, last = i + 1 == text.n;
		if (first && c != '*')
			buf_add_byte(&out, '^');
		if (c == '*' && !first && !last)
			buf_add_text(&out, ".*");
		else if (c == '?')
			buf_add_byte(&out, '.');
		else if (c != '*' && strchr(".[]^$\\", c))
			buf_printf(&out, "\\%c", c);
		else if (c != '*')
			buf_add_byte(&out, c);
		if (last && c != '*')
			buf_add_byte(&out, '$');
	}
	struct str pattern = arena_str(p->arena, buf_str(&out));
	buf_free(&out);
	return pattern;
}

static bool is_host_pattern(struct str host)
{
	return host.n &&
	       (host.p[0] == '(' || memchr(host.p, '*', host.n) || memchr(host.p, '?', host.n));
}

static void list_sites(struct parsing *p, struct prospero_list *l, struct str which)
{
	l->kind = PROSPERO_SITES;
	l->ask.what = ARCHIE_SITES;
	l->ask.query.pattern = host_pattern(p, which);
	l->component = STR("");
}

static void list_host(struct parsing *p, struct prospero_list *l, struct str rest)
{
	while (rest.n && rest.p[0] == '/')
		rest = str_from(rest, 1);
	struct str host = str_head(rest, str_find_byte(rest, '/')), path = str_from(rest, host.n);
	if (is_host_pattern(host)) {
		list_sites(p, l, rest.p[0] == '(' ? rest : host);
		return;
	}
	if (!host.n) {
		list_sites(p, l, l->component);
		return;
	}
	while (path.n && path.p[0] == '/')
		path = str_from(path, 1);
	while (path.n && path.p[path.n - 1] == '/')
		path.n--;
	struct str *site = arena_alloc(p->arena, sizeof *site);
	*site = host;
	l->kind = PROSPERO_FOLDER;
	l->ask.what = ARCHIE_FOLDER;
	l->ask.query.site = site;
	l->ask.query.sites = 1;
	l->ask.query.pattern = path;
}

static void list_whatis(struct parsing *p, struct prospero_list *l, struct str rest)
{
	(void)p;
	l->kind = PROSPERO_WHATIS;
	l->ask.what = ARCHIE_WHATIS;
	l->ask.query.pattern = rest;
}

static void list_domains(struct parsing *p, struct prospero_list *l, struct str rest)
{
	(void)p;
	l->kind = PROSPERO_DOMAINS;
	if (rest.n)
		l->component = rest;
}

static void list_of_name(struct parsing *p, struct prospero_list *l)
{
	static const struct {
		struct str before;
		void (*fn)(struct parsing *p, struct prospero_list *l, struct str rest);
		bool whole; /* nothing may follow */
	} names[] = {
		{{"MATCH(", 6}, list_match, false},   {{"HOST", 4}, list_host, true},
		{{"HOST/", 5}, list_host, false},     {{"WHATIS/", 7}, list_whatis, false},
		{{"DOMAINS", 7}, list_domains, true}, {{"DOMAIN/", 7}, list_domains, false},
	};
	struct str rest = str_from(p->name, strlen("ARCHIE/"));
	for (size_t i = 0; str_starts(p->name, STR("ARCHIE/")) && i < ARRAY_LEN(names); i++) {
		struct str before = names[i].before;
		if (str_starts(rest, before) && (!names[i].whole || rest.n == before.n)) {
			names[i].fn(p, l, str_from(rest, before.n));
			return;
		}
	}
	list_fails(l, "NOT-FOUND this server has ARCHIE/MATCH, HOST, WHATIS and DOMAINS");
}

/* Lines */

static void line_directory(struct parsing *p, struct str rest)
{
	struct str kind;
	p->name = next_word(p, &rest, &kind) == 0 ? last_word(p, rest) : STR("");
}

static void line_list(struct parsing *p, struct str rest)
{
	struct prospero_request *r = p->r;
	struct prospero_list l = {0};
	struct str word, option;
	if (!p->name.p) {
		r->error = "ERROR LIST without a DIRECTORY before it";
		return;
	}
	if (r->lists == PROSPERO_LISTS_MOST) {
		r->error = r->version == 5 ? "FAILURE TOO-MANY at most 5 questions in a request"
					   : "FAILURE SERVER-FAILED at most 5 questions in a "
					     "request";
		return;
	}
	while (next_word(p, &rest, &word) == 0) {
		if (str_is(word, "COMPONENTS")) {
			l.component = r->version == 5 ? last_word(p, rest) : str_trim(rest);
			break;
		}
		while (str_cut(&word, '+', &option) == 0)
			l.attributes = l.attributes || str_is(option, "ATTRIBUTES");
	}
	if (str_is(l.component, "*"))
		l.component = STR("");
	list_of_name(p, &l);
	r->list[r->lists++] = l;
}

static void filter_domains(struct parsing *p, struct prospero_list *l, const struct str *arg,
			   size_t n)
{
	CLEANUP(buf_free) struct buf list = BUF_INIT(PROSPERO_TEXT_MOST);
	struct names_query *q = &l->ask.query;
	struct err err;
	for (size_t i = 0; i < n; i++) {
		buf_add_text(&list, i ? ":" : "");
		buf_add_str(&list, arg[i]);
	}
	if (domains_expand(p->domains, buf_str(&list), NAMES_LIST_MOST, p->arena, &q->domain,
			   &q->domains, &err) < 0)
		list_fails(l, "NOT-FOUND these domains cannot be looked up");
}

static void line_filter(struct parsing *p, struct str rest)
{
	struct prospero_request *r = p->r;
	struct str token[TOKENS_MOST];
	size_t n = 0, at = 0;
	if (!r->lists)
		return;
	if (++p->filters > FILTERS_MOST) {
		r->error = "ERROR too many filters";
		return;
	}
	while (n < TOKENS_MOST && next_word(p, &rest, &token[n]) == 0)
		n++;
	while (at < n && !str_is(token[at], "PREDEFINED"))
		at++;
	struct prospero_list *l = &r->list[r->lists - 1];
	size_t args = at + 3 < n ? n - at - 3 : 0;
	if (args > NAMES_LIST_MOST) {
		list_fails(l, "NOT-FOUND too many words in a filter");
	} else if (args && str_is(token[at + 2], "ARGS") && str_is(token[at + 1], "AR_DOMAIN")) {
		filter_domains(p, l, token + at + 3, args);
	} else if (args && str_is(token[at + 2], "ARGS") && str_is(token[at + 1], "AR_PATHCOMP")) {
		struct str *component = arena_array(p->arena, args, sizeof *component);
		memcpy(component, token + at + 3, args * sizeof *component);
		l->ask.query.component = component;
		l->ask.query.components = (uint32_t)args;
	} else {
		buf_add_text(&r->warnings, "a filter is not known here and was left out\n");
	}
}

static void line_parameter(struct parsing *p, struct str rest)
{
	struct str get, what;
	if (p->r->version == 5 && next_word(p, &rest, &get) == 0 &&
	    next_word(p, &rest, &what) == 0 && str_is(get, "GET") && str_is(what, "MOTD"))
		p->r->asks_motd = true;
}

static void line_nothing(struct parsing *p, struct str rest)
{
	(void)p, (void)rest;
}

static const struct {
	const char *word;
	void (*fn)(struct parsing *p, struct str rest);
} lines[] = {
	{"VERSION", line_nothing}, /* was looked at before */
	{"AUTHENTICATOR", line_nothing},
	{"AUTHENTICATE", line_nothing},
	{"PARAMETER", line_parameter},
	{"DIRECTORY", line_directory},
	{"LIST", line_list},
	{"FILTER", line_filter},
};

/* Cuts the next line off. 1: no more. */
static int next_line(struct str *rest, struct str *ret)
{
	if (str_cut(rest, '\n', ret) != 0)
		return 1;
	if (str_ends(*ret, STR("\r")))
		ret->n--;
	return 0;
}

static void find_version(struct parsing *p, struct str text)
{
	struct prospero_request *r = p->r;
	struct str line, word, rest;
	uint64_t v;
	while (next_line(&text, &line) == 0) {
		rest = line;
		if (next_word(p, &rest, &word) != 0 || !str_is(word, "VERSION"))
			continue;
		if (next_word(p, &rest, &word) != 0)
			r->asks_version = true;
		else
			r->version = str_u64(word, &v) && v <= 9 ? (unsigned)v : 0;
	}
}

bool prospero_parse(struct str text, const struct domains *domains, struct arena *arena,
		    struct prospero_request *ret)
{
	*ret = (struct prospero_request){.version = 1, .warnings = BUF_INIT(WARNINGS_MOST)};
	struct parsing p = {.r = ret, .domains = domains, .arena = arena};
	struct str line, word, rest;
	while (text.n && text.p[text.n - 1] == 0)
		text.n--; /* some clients end their text with it */
	find_version(&p, text);
	rest = text;
	while (next_line(&rest, &line) == 0) {
		size_t i = 0;
		word = str_head(line, str_find_byte(line, ' '));
		while (i < ARRAY_LEN(lines) && !str_is(word, lines[i].word))
			i++;
		if (i == ARRAY_LEN(lines))
			continue;
		p.known = true;
		if (!ret->error)
			lines[i].fn(&p, str_from(line, word.n));
	}
	if (ret->version != 1 && ret->version != 5)
		ret->error = "VERSION-NOT-SUPPORTED TRY 1-5";
	else if (!ret->error && !ret->lists && !ret->asks_version && !ret->asks_motd)
		ret->error = "ERROR nothing is asked for that this server knows";
	return p.known;
}

void prospero_request_free(struct prospero_request *r)
{
	buf_free(&r->warnings);
}
