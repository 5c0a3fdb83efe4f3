#include "fetch/robots.h"

#include "base/ascii.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "fetch/robots_form.h"

#include <stdlib.h>

/* A rule as found: its canonical pattern lies in the text. */
struct found {
	uint32_t at, line;
	uint16_t n, prefix, parent;
	bool allow;
};

struct parse {
	struct str agent; /* the product token alone */
	struct found *rules;
	size_t nrules, cap;
	struct buf text, sitemaps;
	uint32_t line, delay_ms;
	uint16_t nsitemaps;
	bool cut, delayed;
	bool own_seen;  /* some group is for us: those for `*` do not count */
	bool own, star; /* whom the present group is for */
	bool in_rules;  /* its user-agent lines are over */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* The letters, `_` and `-` that s begins with. */
static struct str product_token(struct str s)
{
	size_t n = 0;
	while (n < s.n && (ascii_is_letter(s.p[n]) || s.p[n] == '_' || s.p[n] == '-'))
		n++;
	return str_head(s, n);
}

/* Whether what stands in the present group is meant for us, as far as is known. */
static bool group_counts(const struct parse *p)
{
	return p->own_seen ? p->own : p->star;
}

/* The first group of our own: what was taken from those for `*` is forgotten. */
static void begin_own(struct parse *p)
{
	p->own_seen = true;
	p->nrules = 0;
	p->delay_ms = 0;
	p->delayed = false;
	buf_clear(&p->text);
}

static void take_agent(struct parse *p, struct str value)
{
	if (p->in_rules)
		p->own = p->star = p->in_rules = false;
	struct str token = product_token(value);
	if (value.n && value.p[0] == '*' && (value.n == 1 || is_blank(value.p[1])))
		p->star = true;
	if (token.n == 0 || !str_eq_nocase(token, p->agent))
		return;
	p->own = true;
	if (!p->own_seen)
		begin_own(p);
}

static void take_rule(struct parse *p, struct str value, bool allow)
{
	p->in_rules = true;
	if (!group_counts(p) || value.n == 0 || (value.p[0] != '/' && value.p[0] != '*'))
		return;
	struct robots_path path = {.cap = 3 * value.n + 1};
	path.p = buf_room(&p->text, path.cap);
	ENSURE(path.p);
	robots_canon(value, ROBOTS_PATTERN, &path);
	ENSURE(!path.cut && path.n <= UINT16_MAX);
	struct found rule = {
		.at = (uint32_t)p->text.n, .line = p->line, .n = (uint16_t)path.n, .allow = allow};
	rule.prefix = (uint16_t)robots_prefix((struct str){path.p, path.n});
	buf_grew(&p->text, path.n);
	*VEC_PUSH(p->rules, p->nrules, p->cap) = rule;
}

static void take_allow(struct parse *p, struct str value)
{
	take_rule(p, value, true);
}

static void take_disallow(struct parse *p, struct str value)
{
	take_rule(p, value, false);
}

static bool has_digit(struct str s, size_t i)
{
	return i < s.n && ascii_is_digit(s.p[i]);
}

/* Seconds with a fraction, to milliseconds upwards; far too many are as many as can be said. What
 * follows behind a blank does not count. */
static bool parse_seconds(struct str s, uint32_t *ret_ms)
{
	uint64_t ms = 0, unit = 1000;
	bool rest = false;
	size_t i = 0;
	for (; has_digit(s, i); i++)
		ms = MIN(ms * 10 + (uint64_t)(s.p[i] - '0') * 1000, (uint64_t)UINT32_MAX);
	bool some = i > 0;
	if (i < s.n && s.p[i] == '.') {
		for (i++; has_digit(s, i); i++, some = true) {
			unit /= 10;
			ms += (uint64_t)(s.p[i] - '0') * unit;
			rest = rest || (unit == 0 && s.p[i] != '0');
		}
	}
	if (!some || (i < s.n && !is_blank(s.p[i])))
		return false;
	*ret_ms = (uint32_t)MIN(ms + rest, (uint64_t)UINT32_MAX);
	return true;
}

static void take_delay(struct parse *p, struct str value)
{
	uint32_t ms;
	if (!group_counts(p) || !parse_seconds(value, &ms))
		return;
	p->delay_ms = MAX(p->delay_ms, ms);
	p->delayed = true;
}

static void take_sitemap(struct parse *p, struct str value)
{
	if (value.n == 0)
		return;
	put_u16le(&p->sitemaps, (uint16_t)value.n);
	buf_add_str(&p->sitemaps, value);
	p->nsitemaps++;
}

static const struct {
	struct str name;
	void (*take)(struct parse *p, struct str value);
} keys[] = {
	{{"user-agent", 10}, take_agent}, {{"allow", 5}, take_allow},
	{{"disallow", 8}, take_disallow}, {{"crawl-delay", 11}, take_delay},
	{{"sitemap", 7}, take_sitemap},
};

/* "key: value", or with blanks in the colon's place. */
static void take_line(struct parse *p, struct str line)
{
	p->line++;
	line = str_head(line, ROBOTS_LINE_MAX);
	line = str_trim(str_head(line, str_find_byte(line, '#')));
	size_t n = 0;
	while (n < line.n && line.p[n] != ':' && !is_blank(line.p[n]))
		n++;
	struct str value = str_trim(str_from(line, n));
	if (value.n && value.p[0] == ':')
		value = str_trim(str_from(value, 1));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_eq_nocase(str_head(line, n), keys[i].name))
			keys[i].take(p, value);
}

/* A byte order mark, or what is left of one. */
static struct str without_mark(struct str file)
{
	struct str mark = STR("\xef\xbb\xbf");
	size_t n = 0;
	while (n < mark.n && n < file.n && file.p[n] == mark.p[n])
		n++;
	return str_from(file, n);
}

/* A line that the bound cuts would be another rule than the one that was meant; unless it is longer
 * than a line is read anyway. */
static struct str cut_file(struct str file, bool *ret_cut)
{
	*ret_cut = file.n > ROBOTS_FILE_MAX;
	if (!*ret_cut || is_line_end(file.p[ROBOTS_FILE_MAX]))
		return str_head(file, ROBOTS_FILE_MAX);
	size_t n = ROBOTS_FILE_MAX;
	while (n > ROBOTS_FILE_MAX - ROBOTS_LINE_MAX && !is_line_end(file.p[n - 1]))
		n--;
	return str_head(file, is_line_end(file.p[n - 1]) ? n : ROBOTS_FILE_MAX);
}

static struct str next_line(struct str *rest)
{
	size_t n = 0;
	while (n < rest->n && !is_line_end(rest->p[n]))
		n++;
	struct str line = str_head(*rest, n);
	bool both = rest->n - n > 1 && rest->p[n] == '\r' && rest->p[n + 1] == '\n';
	*rest = str_from(*rest, n + 1 + both);
	return line;
}

static void take_file(struct parse *p, struct str file)
{
	struct str rest = cut_file(without_mark(file), &p->cut);
	while (rest.n)
		take_line(p, next_line(&rest));
}

struct str robots_line(struct str file, uint32_t line)
{
	struct str rest = without_mark(file), text = STR("");
	for (uint32_t i = 0; i < line; i++)
		text = rest.n ? next_line(&rest) : STR("");
	return text;
}

static struct str text_of(const struct parse *p, const struct found *rule)
{
	return (struct str){p->text.p + rule->at, rule->n};
}

static bool is_wild(const struct found *rule)
{
	return rule->prefix < rule->n;
}

/* Literals before wilds, each by pattern; of the same pattern the one that decides comes first. */
static int by_pattern(const void *va, const void *vb, void *ctx)
{
	const struct found *a = va, *b = vb;
	if (is_wild(a) != is_wild(b))
		return is_wild(a) ? 1 : -1;
	int order = str_cmp(text_of(ctx, a), text_of(ctx, b));
	if (order == 0)
		order = a->allow != b->allow ? (a->allow ? -1 : 1) : 0;
	return order ? order : (a->line > b->line) - (a->line < b->line);
}

/* As they decide. */
static int by_length(const void *va, const void *vb)
{
	const struct found *a = va, *b = vb;
	if (a->n != b->n)
		return a->n > b->n ? -1 : 1;
	if (a->allow != b->allow)
		return a->allow ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* Leaves the rules as the form wants them; returns how many are literal. */
static size_t rules_arrange(struct parse *p)
{
	size_t n = 0, literals = 0;
	if (p->nrules == 0)
		return 0;
	qsort_r(p->rules, p->nrules, sizeof *p->rules, by_pattern, p);
	for (size_t i = 0; i < p->nrules; i++) {
		const struct found *rule = &p->rules[i];
		if (n && str_eq(text_of(p, rule), text_of(p, &p->rules[n - 1])))
			continue;
		literals += !is_wild(rule);
		p->rules[n++] = *rule;
	}
	p->nrules = n;
	qsort(p->rules + literals, n - literals, sizeof *p->rules, by_length);
	return literals;
}

/* The number, from 1, of the longest literal that this one begins with; 0: none. */
static uint16_t parent_of(const struct parse *p, size_t i)
{
	size_t parent = i;
	while (parent && !str_starts(text_of(p, &p->rules[i]), text_of(p, &p->rules[parent - 1])))
		parent = p->rules[parent - 1].parent;
	return (uint16_t)parent;
}

static void put_rule(const struct found *rule, uint32_t at, uint16_t more, struct buf *out)
{
	put_u32le(out, at);
	put_u32le(out, rule->line << 1 | rule->allow);
	put_u16le(out, rule->n);
	put_u16le(out, more);
}

static void put_rules(struct parse *p, size_t literals, struct buf *out)
{
	uint32_t at = 0;
	for (size_t i = 0; i < p->nrules; i++) {
		struct found *rule = &p->rules[i];
		if (i < literals) {
			rule->parent = parent_of(p, i);
			put_rule(rule, at, rule->parent, out);
		} else {
			put_u64le(out, robots_mask(text_of(p, rule)));
			put_rule(rule, at, rule->prefix, out);
		}
		at += rule->n;
	}
	for (size_t i = 0; i < p->nrules; i++)
		buf_add_str(out, text_of(p, &p->rules[i]));
}

static void put_form(struct parse *p, struct buf *out)
{
	size_t literals = rules_arrange(p), text = 0;
	ENSURE(p->nrules <= UINT16_MAX); /* by the size of a file: they all differ */
	for (size_t i = 0; i < p->nrules; i++)
		text += p->rules[i].n;
	put_u8(out, ROBOTS_VERSION);
	put_u8(out, (uint8_t)((p->cut ? ROBOTS_CUT : 0) | (p->own_seen ? ROBOTS_OWN : 0) |
			      (p->delayed ? ROBOTS_DELAY : 0)));
	put_u16le(out, (uint16_t)literals);
	put_u16le(out, (uint16_t)(p->nrules - literals));
	put_u16le(out, p->nsitemaps);
	put_u32le(out, p->delay_ms);
	put_u32le(out, (uint32_t)text);
	put_rules(p, literals, out);
	buf_add_str(out, buf_str(&p->sitemaps));
}

int robots_compile(struct str file, struct str agent, struct buf *out, struct err *err)
{
	struct parse p = {.agent = product_token(agent),
			  .text = BUF_INIT(ROBOTS_COMPILED_MAX),
			  .sitemaps = BUF_INIT(ROBOTS_COMPILED_MAX)};
	struct buf form = BUF_INIT(ROBOTS_COMPILED_MAX);
	take_file(&p, file);
	put_form(&p, &form);
	ENSURE(!p.sitemaps.over && !form.over);
	int rc = 0;
	if (out->over || form.n > out->max - out->n)
		rc = err_set(err, ERR_USAGE,
			     "robots.txt of %zu bytes: its compiled form has %zu, more than the "
			     "%zu that are left; nothing is kept",
			     file.n, form.n, out->max - out->n);
	else
		buf_add_str(out, buf_str(&form));
	buf_free(&form);
	buf_free(&p.sitemaps);
	buf_free(&p.text);
	mem_free(&p.rules);
	return rc;
}
