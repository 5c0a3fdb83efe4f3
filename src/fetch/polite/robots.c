/* robots.txt: a file becomes the compiled form, and that gives verdicts.
 *
 * The form is a block of bytes, little-endian, so that it is kept and mapped as it is:
 *
 *	head      u8 version, u8 flags, u16 literals, u16 wilds, u16 sitemaps,
 *	          u32 delay in milliseconds, u32 bytes of text
 *	literals  u32 offset in the text, u32 rule, u16 length, u16 parent
 *	wilds     u64 mask, u32 offset in the text, u32 rule, u16 length, u16 prefix
 *	text      the patterns in canonical form
 *	sitemaps  u16 length, bytes
 *
 * A rule is its line times two, plus one if it allows. Literals (no `*` and no final `$`) are in
 * ascending order and differ; a parent is the number, from 1, of the longest other literal that
 * one begins with, 0: none. So the longest literal that a path begins with is the greatest one not
 * after the path, or among the parents of that. Wilds stand as they decide: longest first,
 * then those that allow, then by line. */
#include "fetch/robots.h"

#include "base/ascii.h"
#include "base/cursor.h"
#include "base/vec.h"

#include <stdlib.h>

enum { ROBOTS_VERSION = 1, ROBOTS_HEAD = 16, ROBOTS_LITERAL = 12, ROBOTS_WILD = 20 };
enum { ROBOTS_CUT = 1, ROBOTS_OWN = 2, ROBOTS_DELAY = 4 };

/* A path in canonical form: unreserved octets are plain, all others but reserved ones are
 * percent-encoded with upper-case digits; so are `*` and `$`, unless they mean something. A `%`
 * that begins no encoding is one that should have been encoded. */
enum robots_kind {
	ROBOTS_PATTERN,     /* `*` and a `$` at the end stay */
	ROBOTS_URL,         /* as it is */
	ROBOTS_URL_ENCODED, /* `: / ? @ [ ]` of the query percent-encoded */
	ROBOTS_URL_DECODED, /* or plain */
};

struct robots_path {
	char *p; /* where the canonical form goes, with room for cap bytes */
	size_t n, cap;
	bool cut;            /* there was no room for all */
	bool plain, encoded; /* the query has such delimiters */
};

/* Paths in canonical form. */

enum class {
	ENCODED,   /* always percent-encoded */
	PLAIN,     /* unreserved: never */
	RESERVED,  /* as it was written */
	DELIMITER, /* reserved, but in a query both forms are the same */
	SPECIAL,   /* `*` and `$` */
};

static const uint8_t class_of[256] = {
	['A' ... 'Z'] = PLAIN, ['a' ... 'z'] = PLAIN, ['0' ... '9'] = PLAIN, ['-'] = PLAIN,
	['.'] = PLAIN,         ['_'] = PLAIN,         ['~'] = PLAIN,         ['!'] = RESERVED,
	['&'] = RESERVED,      ['\''] = RESERVED,     ['('] = RESERVED,      [')'] = RESERVED,
	['+'] = RESERVED,      [','] = RESERVED,      [';'] = RESERVED,      ['='] = RESERVED,
	['/'] = DELIMITER,     [':'] = DELIMITER,     ['?'] = DELIMITER,     ['@'] = DELIMITER,
	['['] = DELIMITER,     [']'] = DELIMITER,     ['*'] = SPECIAL,       ['$'] = SPECIAL,
};

/* An octet, and how it was written. */
struct octet {
	unsigned char c;
	bool encoded, last;
};

static struct octet octet_take(struct str in, size_t *at)
{
	size_t i = *at;
	struct octet o = {.c = (unsigned char)in.p[i]};
	int byte = o.c == '%' && in.n - i > 2 ? ascii_hex_byte(in.p + i + 1) : -1;
	if (byte >= 0) {
		o.c = (unsigned char)byte;
		o.encoded = true;
		i += 2;
	}
	*at = i + 1;
	o.last = *at == in.n;
	return o;
}

static bool encode_in_query(struct octet o, enum robots_kind kind, struct robots_path *path)
{
	if (o.encoded)
		path->encoded = true;
	else
		path->plain = true;
	return kind == ROBOTS_URL ? o.encoded : kind == ROBOTS_URL_ENCODED;
}

static bool octet_is_encoded(struct octet o, enum robots_kind kind, bool query,
			     struct robots_path *path)
{
	switch ((enum class)class_of[o.c]) {
	case PLAIN:
		return false;
	case RESERVED:
		return o.encoded;
	case DELIMITER:
		return query ? encode_in_query(o, kind, path) : o.encoded;
	case SPECIAL:
		return kind != ROBOTS_PATTERN || o.encoded || (o.c == '$' && !o.last);
	case ENCODED:
		break;
	}
	return true;
}

static void octet_put(struct robots_path *path, unsigned char c, bool encoded)
{
	static const char digits[] = "0123456789ABCDEF";
	if (!encoded) {
		path->p[path->n++] = (char)c;
		return;
	}
	path->p[path->n++] = '%';
	path->p[path->n++] = digits[c >> 4];
	path->p[path->n++] = digits[c & 15];
}

/* in: a pattern, or a path and query, which gets a '/' in front if it has none. cap is at least 4;
 * three times the bytes of `in` and one are always enough. */
static void robots_canon(struct str in, enum robots_kind kind, struct robots_path *ret)
{
	struct robots_path path = {.p = ret->p, .cap = ret->cap};
	bool query = false;
	if (kind != ROBOTS_PATTERN && !str_starts(in, STR("/")))
		path.p[path.n++] = '/';
	for (size_t i = 0; i < in.n;) {
		if (path.cap - path.n < 3) {
			path.cut = true;
			break;
		}
		struct octet o = octet_take(in, &i);
		octet_put(&path, o.c, octet_is_encoded(o, kind, query, &path));
		query = query || (o.c == '?' && !o.encoded && kind != ROBOTS_PATTERN);
	}
	*ret = path;
}

/* A bit for each octet that must occur in what the pattern matches; and for all that do occur. A
 * pattern whose mask has a bit that the path's has not cannot match. */
static uint64_t robots_mask(struct str canonical)
{
	uint64_t mask = 0;
	for (size_t i = 0; i < canonical.n; i++)
		if (canonical.p[i] != '*' && canonical.p[i] != '$')
			mask |= (uint64_t)1 << (canonical.p[i] & 63);
	return mask;
}

/* How many bytes of a pattern stand before its first `*` or final `$`; all: a literal. */
static size_t robots_prefix(struct str pattern)
{
	size_t star = str_find_byte(pattern, '*');
	return star == pattern.n && str_ends(pattern, STR("$")) ? pattern.n - 1 : star;
}

/* From lines to rules, from rules to the form. Nothing in a file is an error: what cannot be read
 * is passed over. */

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

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

/* The letters, digits, `_` and `-` that s begins with: the RFC knows no digits, but a bot2 is not a
 * bot. */
static struct str product_token(struct str s)
{
	size_t n = 0;
	while (n < s.n && (ascii_is_alnum(s.p[n]) || s.p[n] == '_' || s.p[n] == '-'))
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
	if (value.n && value.p[0] == '*' && (value.n == 1 || ascii_is_blank(value.p[1])))
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

/* Seconds with a fraction, to milliseconds upwards; far too many become the most that can be kept.
 * What follows a blank does not count. */
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
	if (!some || (i < s.n && !ascii_is_blank(s.p[i])))
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

typedef void take_fn(struct parse *p, struct str value);

/* With the typing errors that are frequent. */
static const struct {
	struct str name;
	take_fn *take;
} keys[] = {
	{{"user-agent", 10}, take_agent},  {{"useragent", 9}, take_agent},
	{{"user agent", 10}, take_agent},  {{"allow", 5}, take_allow},
	{{"disallow", 8}, take_disallow},  {{"dissallow", 9}, take_disallow},
	{{"dissalow", 8}, take_disallow},  {{"disalow", 7}, take_disallow},
	{{"diasllow", 8}, take_disallow},  {{"disallaw", 8}, take_disallow},
	{{"crawl-delay", 11}, take_delay}, {{"sitemap", 7}, take_sitemap},
	{{"site-map", 8}, take_sitemap},
};

static bool has_blank(struct str s)
{
	size_t i = 0;
	while (i < s.n && !ascii_is_blank(s.p[i]))
		i++;
	return i < s.n;
}

/* A key may go on: "disallowed". NULL: nobody knows it. */
static take_fn *key_find(struct str key)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (str_eq_nocase(str_head(key, keys[i].name.n), keys[i].name) &&
		    !has_blank(str_from(key, keys[i].name.n)))
			return keys[i].take;
	return NULL;
}

/* "key: value", or just two words. */
static void take_line(struct parse *p, struct str line)
{
	p->line++;
	line = str_head(line, ROBOTS_LINE_MAX);
	line = str_trim(str_head(line, str_find_byte(line, '#')));
	size_t n = str_find_byte(line, ':');
	take_fn *take = n < line.n ? key_find(str_trim(str_head(line, n))) : NULL;
	struct str value = str_trim(str_from(line, n + 1));
	if (!take) {
		for (n = 0; n < line.n && !ascii_is_blank(line.p[n]); n++)
			;
		value = str_trim(str_from(line, n));
		take = value.n && !has_blank(value) ? key_find(str_head(line, n)) : NULL;
	}
	if (take)
		take(p, value);
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
 * than what is read of a line anyway. */
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

/* Verdicts, and the check of forms that come from elsewhere. */

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

static bool view_of(struct str c, struct view *ret)
{
	if (c.n < ROBOTS_HEAD || c.p[0] != ROBOTS_VERSION)
		return false;
	struct reader r = reader_of(str_from(c, 1));
	struct view v = {.flags = reader_u8(&r), .literals = c.p + ROBOTS_HEAD};
	v.nliterals = reader_u16le(&r);
	v.nwilds = reader_u16le(&r);
	v.nsitemaps = reader_u16le(&r);
	v.delay_ms = reader_u32le(&r);
	size_t tables = v.nliterals * ROBOTS_LITERAL + v.nwilds * ROBOTS_WILD;
	size_t text = reader_u32le(&r);
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
	struct reader r = reader_of((struct str){p, ROBOTS_LITERAL});
	uint32_t at = reader_u32le(&r), rule = reader_u32le(&r);
	uint16_t n = reader_u16le(&r);
	bool good = at <= v->text.n && n <= v->text.n - at;
	return (struct rule){.text = {v->text.p + (good ? at : 0), good ? n : 0},
			     .line = rule >> 1,
			     .allow = rule & 1,
			     .more = reader_u16le(&r)};
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
	struct reader r = reader_of((struct str){v->wilds + i * ROBOTS_WILD, 8});
	return reader_u64le(&r);
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
	size_t from = BISECT(i, 0, v->nliterals, str_cmp(literal_at(v, i).text, path) <= 0);
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
			       "compiled robots.txt: %zu bytes are not a form of version %d; "
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
