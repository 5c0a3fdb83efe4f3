#include "fetch/robots.h"

#include "base/cursor.h"
#include "fetch/robots_form.h"

#include <endian.h>

/* Where things are in a compiled form. */
struct view {
	const char *literals, *wilds;
	size_t nliterals, nwilds;
	struct str text, sitemaps;
	uint32_t delay_ms;
	uint16_t nsitemaps;
	uint8_t flags;
};

/* A rule, taken out of the bytes. */
struct rule {
	struct str text;
	uint32_t line;
	bool allow;
	uint16_t more; /* of a literal its parent, of a wild one the prefix */
};

static const char allow_all[ROBOTS_HEAD] = {ROBOTS_VERSION};
static const char disallow_all[] = "\1\0\1\0\0\0\0\0\0\0\0\0\1\0\0\0"
				   "\0\0\0\0\0\0\0\0\1\0\0\0/";
const struct str robots_allow_all = {allow_all, sizeof allow_all};
const struct str robots_disallow_all = {disallow_all, sizeof disallow_all - 1};

static uint16_t form_get16(const char *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof v);
	return le16toh(v);
}

static uint32_t form_get32(const char *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof v);
	return le32toh(v);
}

static uint64_t form_get64(const char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return le64toh(v);
}

static bool view_of(struct str c, struct view *ret)
{
	if (c.n < ROBOTS_HEAD || c.p[0] != ROBOTS_VERSION)
		return false;
	struct view v = {.flags = (uint8_t)c.p[1],
			 .nliterals = form_get16(c.p + 2),
			 .nwilds = form_get16(c.p + 4),
			 .nsitemaps = form_get16(c.p + 6),
			 .delay_ms = form_get32(c.p + 8),
			 .literals = c.p + ROBOTS_HEAD};
	size_t tables = v.nliterals * ROBOTS_LITERAL + v.nwilds * ROBOTS_WILD;
	size_t text = form_get32(c.p + 12);
	if (c.n - ROBOTS_HEAD < tables || c.n - ROBOTS_HEAD - tables < text)
		return false;
	v.wilds = v.literals + v.nliterals * ROBOTS_LITERAL;
	v.text = (struct str){v.literals + tables, text};
	v.sitemaps = str_from(c, ROBOTS_HEAD + tables + text);
	*ret = v;
	return true;
}

/* At p: offset, rule, length, one more. A place outside of the text is taken as empty. */
static struct rule rule_at(const struct view *v, const char *p)
{
	uint32_t at = form_get32(p), rule = form_get32(p + 4);
	uint16_t n = form_get16(p + 8);
	bool good = at <= v->text.n && n <= v->text.n - at;
	return (struct rule){.text = {v->text.p + (good ? at : 0), good ? n : 0},
			     .line = rule >> 1,
			     .allow = rule & 1,
			     .more = form_get16(p + 10)};
}

static struct rule literal_at(const struct view *v, size_t i)
{
	return rule_at(v, v->literals + i * ROBOTS_LITERAL);
}

static struct rule wild_at(const struct view *v, size_t i)
{
	return rule_at(v, v->wilds + i * ROBOTS_WILD + 8);
}

static uint64_t wild_mask(const struct view *v, size_t i)
{
	return form_get64(v->wilds + i * ROBOTS_WILD);
}

static bool rule_is_better(const struct rule *a, const struct rule *b)
{
	if (a->text.n != b->text.n)
		return a->text.n > b->text.n;
	if (a->allow != b->allow)
		return a->allow;
	return a->line < b->line;
}

static size_t common_prefix(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n), i = 0;
	while (i < n && a.p[i] == b.p[i])
		i++;
	return i;
}

/* The number, from 1, of the longest literal that the path begins with. 0: none. */
static size_t find_literal(const struct view *v, struct str path)
{
	size_t from = 0, to = v->nliterals;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_cmp(literal_at(v, middle).text, path) <= 0)
			from = middle + 1;
		else
			to = middle;
	}
	if (from == 0)
		return 0;
	struct rule rule = literal_at(v, from - 1);
	size_t same = common_prefix(rule.text, path);
	while (rule.text.n > same) {
		if (rule.more >= from) /* upwards only, whatever the bytes say */
			return 0;
		from = rule.more;
		if (from == 0)
			return 0;
		rule = literal_at(v, from - 1);
	}
	return from;
}

/* Each part goes to the first place where it fits, which leaves most for the rest; so a path is
 * walked once, whatever the pattern. */
static bool wild_matches(struct str pattern, size_t prefix, struct str path, bool open_end)
{
	if (prefix > pattern.n || !str_starts(path, str_head(pattern, prefix)))
		return false;
	struct str rest = str_from(pattern, prefix), part = {0};
	path = str_from(path, prefix);
	if (rest.n && rest.p[0] != '*') /* just `$` */
		return path.n == 0 && !open_end;
	bool anchored = str_ends(rest, STR("$"));
	rest.n -= anchored;
	rest = str_from(rest, 1);
	while (str_cut(&rest, '*', &part) == 0) {
		if (anchored && !rest.p)
			return str_ends(path, part) && !open_end;
		size_t at = str_find(path, part);
		if (at == path.n && part.n)
			return false;
		path = str_from(path, at + part.n);
	}
	return true;
}

/* Better than *best, or *best stays. */
static void find_wild(const struct view *v, struct str path, bool open_end, struct rule *best)
{
	uint64_t missing = ~robots_mask(path);
	for (size_t i = 0; i < v->nwilds; i++) {
		if (wild_mask(v, i) & missing)
			continue;
		struct rule rule = wild_at(v, i);
		if (!rule_is_better(&rule, best))
			return;
		if (wild_matches(rule.text, rule.more, path, open_end)) {
			*best = rule;
			return;
		}
	}
}

static void match_path(const struct view *v, const struct robots_path *path, struct rule *best)
{
	struct str p = {path->p, path->n};
	size_t i = find_literal(v, p);
	if (i) {
		struct rule rule = literal_at(v, i - 1);
		if (rule_is_better(&rule, best))
			*best = rule;
	}
	if (v->nwilds)
		find_wild(v, p, path->cut, best);
}

/* In the query, a delimiter and its encoded form are the same: a path that has such is tried in
 * both. */
static struct rule match_forms(const struct view *v, struct str url)
{
	char memory[ROBOTS_PATH_MAX];
	struct robots_path path = {.p = memory, .cap = sizeof memory};
	struct rule best = {.allow = true};
	robots_canon(url, ROBOTS_URL, &path);
	if (str_eq((struct str){path.p, path.n}, STR("/robots.txt")))
		return best;
	match_path(v, &path, &best);
	bool plain = path.plain, encoded = path.encoded;
	if (plain) {
		robots_canon(url, ROBOTS_URL_ENCODED, &path);
		match_path(v, &path, &best);
	}
	if (encoded) {
		robots_canon(url, ROBOTS_URL_DECODED, &path);
		match_path(v, &path, &best);
	}
	return best;
}

struct robots_verdict robots_verdict(struct str compiled, struct str path)
{
	struct view v;
	if (!view_of(compiled, &v))
		return (struct robots_verdict){.allowed = false};
	struct rule rule = match_forms(&v, str_head(path, str_find_byte(path, '#')));
	return (struct robots_verdict){rule.allow, rule.line};
}

int64_t robots_crawl_delay_us(struct str compiled)
{
	struct view v;
	if (!view_of(compiled, &v) || !(v.flags & ROBOTS_DELAY))
		return -1;
	return (int64_t)v.delay_ms * 1000;
}

bool robots_was_cut(struct str compiled)
{
	struct view v;
	return view_of(compiled, &v) && (v.flags & ROBOTS_CUT);
}

bool robots_names_us(struct str compiled)
{
	struct view v;
	return view_of(compiled, &v) && (v.flags & ROBOTS_OWN);
}

struct robots_sitemaps robots_sitemaps_of(struct str compiled)
{
	struct view v;
	return (struct robots_sitemaps){view_of(compiled, &v) ? v.sitemaps : STR("")};
}

int robots_sitemap_next(struct robots_sitemaps *it, struct str *ret)
{
	struct reader r = reader_of(it->rest);
	struct str url = reader_bytes(&r, reader_u16le(&r));
	if (r.bad || it->rest.n == 0)
		return 1;
	it->rest = str_from(it->rest, reader_at(&r));
	*ret = url;
	return 0;
}

static int form_damaged(struct err *err, const char *what, size_t i, const char *how)
{
	return err_set(err, ERR_DAMAGED, "compiled robots.txt: %s %zu %s; compile it again", what,
		       i, how);
}

static bool is_canonical(struct str pattern)
{
	char memory[3 * ROBOTS_LINE_MAX + 3];
	struct robots_path path = {.p = memory, .cap = sizeof memory};
	if (pattern.n == 0 || (pattern.p[0] != '/' && pattern.p[0] != '*'))
		return false;
	robots_canon(pattern, ROBOTS_PATTERN, &path);
	return str_eq((struct str){path.p, path.n}, pattern);
}

static int check_literals(const struct view *v, struct err *err)
{
	struct rule before = {0};
	for (size_t i = 0; i < v->nliterals; i++) {
		struct rule rule = literal_at(v, i);
		if (!is_canonical(rule.text) || robots_prefix(rule.text) != rule.text.n)
			return form_damaged(err, "literal", i, "has no canonical pattern");
		if (i && str_cmp(before.text, rule.text) >= 0)
			return form_damaged(err, "literal", i, "is not in order");
		size_t parent = i;
		while (parent && !str_starts(rule.text, literal_at(v, parent - 1).text))
			parent = literal_at(v, parent - 1).more;
		if (rule.more != parent)
			return form_damaged(err, "literal", i, "has another's parent");
		before = rule;
	}
	return 0;
}

static int check_wilds(const struct view *v, struct err *err)
{
	struct rule before = {0};
	for (size_t i = 0; i < v->nwilds; i++) {
		struct rule rule = wild_at(v, i);
		if (!is_canonical(rule.text) || robots_prefix(rule.text) == rule.text.n)
			return form_damaged(err, "wild pattern", i, "has no canonical pattern");
		if (i && rule_is_better(&rule, &before))
			return form_damaged(err, "wild pattern", i, "is not in order");
		if (rule.more != robots_prefix(rule.text) ||
		    wild_mask(v, i) != robots_mask(rule.text))
			return form_damaged(err, "wild pattern", i, "has another's prefix or mask");
		before = rule;
	}
	return 0;
}

int robots_check(struct str compiled, struct err *err)
{
	struct view v;
	if (!view_of(compiled, &v))
		return err_set(err, ERR_DAMAGED,
			       "compiled robots.txt: %zu bytes are no form of version %d; "
			       "compile it again",
			       compiled.n, ROBOTS_VERSION);
	if (check_literals(&v, err) < 0 || check_wilds(&v, err) < 0)
		return -1;
	struct robots_sitemaps it = robots_sitemaps_of(compiled);
	struct str url;
	size_t n = 0;
	while (robots_sitemap_next(&it, &url) == 0)
		n++;
	if (n != v.nsitemaps || it.rest.n)
		return form_damaged(err, "sitemap", n, "is not what the head announces");
	return 0;
}
