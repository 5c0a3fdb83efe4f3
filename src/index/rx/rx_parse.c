/* From a pattern to its tree, in one pass with a stack of open brackets. What one character can
 * mean is decided here, so is what the letters fold to; sizes are added up on the way, so that a
 * pattern that would become too large is refused before anything of that size exists. */
#include "index/rx/rx_inner.h"

#include "base/ascii.h"
#include "base/hash.h"

enum {
	FOUND_SLOTS = 4 * RX_SETS_MOST,
	ALL_CATEGORIES = (1 << 30) - 1,
	NAMED_KEPT = 16,
};

struct open_bracket {
	size_t items, alternatives; /* where its own begin */
	size_t at;
};

struct parser {
	struct rx_tree *tree;
	struct rx_chars *chars;
	const unsigned char *p, *end;
	struct str pattern;
	bool folded;
	uint32_t *item, *alternative; /* nodes of the brackets that are open */
	size_t items, items_room, alternatives, alternatives_room;
	struct open_bracket *open;
	size_t opens, opens_room;
	size_t at; /* where what is being read began */
	/* classes by name that were made already: \w and \s tend to come again */
	struct named {
		uint32_t names, set;
	} named[NAMED_KEPT];
	size_t nameds;
	struct err *err;
};

/* The tree */

void rx_tree_free(struct rx_tree *t)
{
	for (size_t i = 0; i < t->sets; i++)
		rx_ranges_free(&t->set[i]);
	mem_free(&t->set);
	mem_free(&t->node);
	mem_free(&t->kid);
	mem_free(&t->found);
}

static int too_large(struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "the expression is too large: it may become %d positions at most",
		       RX_STATES);
}

static int too_many_chars(struct err *err)
{
	return err_set(err, ERR_USAGE,
		       "the expression is too large: its classes have too many characters");
}

/* Adds a node; negative: with it the pattern is too large. */
static int64_t add_node(struct rx_tree *t, struct rx_node node, uint64_t size, struct err *err)
{
	if (size > RX_STATES - 2)
		return too_large(err);
	node.size = (uint32_t)size;
	*VEC_PUSH(t->node, t->nodes, t->nodes_room) = node;
	return (int64_t)t->nodes - 1;
}

static int64_t add_leaf(struct rx_tree *t, enum rx_op op, struct err *err)
{
	t->has_begin |= op == RX_BEGIN;
	t->has_end |= op == RX_END;
	t->has_bound |= op == RX_BOUND || op == RX_NOT_BOUND;
	return add_node(t, (struct rx_node){.op = (uint8_t)op}, 1, err);
}

/* The number of a set; equal ones have one number. Takes the ranges. */
static int64_t find_set(struct rx_tree *t, struct rx_ranges *r, struct err *err)
{
	if (!t->found)
		t->found = mem_array(FOUND_SLOTS, sizeof *t->found);
	struct str bytes = {r->n ? (const char *)r->range : "", r->n * sizeof *r->range};
	size_t slot = hash64(bytes) % FOUND_SLOTS;
	for (; t->found[slot]; slot = (slot + 1) % FOUND_SLOTS) {
		const struct rx_ranges *have = &t->set[t->found[slot] - 1];
		if (have->n == r->n && (r->n == 0 || memcmp(have->range, r->range, bytes.n) == 0)) {
			rx_ranges_free(r);
			return t->found[slot] - 1;
		}
	}
	if (t->sets == RX_SETS_MOST || t->ranges + r->n > RX_RANGES_MOST) {
		rx_ranges_free(r);
		return too_many_chars(err);
	}
	t->ranges += r->n;
	*VEC_PUSH(t->set, t->sets, t->sets_room) = *r;
	t->found[slot] = (uint16_t)t->sets;
	*r = (struct rx_ranges){0};
	return (int64_t)t->sets - 1;
}

static int64_t add_set(struct rx_tree *t, struct rx_ranges *r, struct err *err)
{
	int64_t set = find_set(t, r, err);
	if (set < 0)
		return -1;
	return add_node(t, (struct rx_node){.op = RX_SET, .set = (uint32_t)set}, 1, err);
}

static int64_t add_char(struct rx_tree *t, int32_t c, struct err *err)
{
	struct rx_ranges r = {0};
	rx_ranges_add(&r, c, c);
	return add_set(t, &r, err);
}

/* CAT or ALT of n nodes. */
static int64_t add_list(struct rx_tree *t, enum rx_op op, const uint32_t *list, size_t n,
			struct err *err)
{
	if (n == 0 || !list)
		return add_leaf(t, RX_EMPTY, err);
	if (n == 1)
		return list[0];
	struct rx_node node = {.op = (uint8_t)op, .kid = (uint32_t)t->kids, .kids = (uint32_t)n};
	uint64_t size = op == RX_ALT ? n - 1 : 0;
	for (size_t i = 0; i < n; i++) {
		*VEC_PUSH(t->kid, t->kids, t->kids_room) = list[i];
		size += t->node[list[i]].size;
	}
	return add_node(t, node, size, err);
}

static bool is_simple(uint32_t least, uint32_t most)
{
	return least <= 1 && (most == 1 || most == RX_NO_LIMIT);
}

static int64_t add_repeat(struct rx_tree *t, uint32_t kid, uint32_t least, uint32_t most,
			  struct err *err)
{
	struct rx_node of = t->node[kid];
	if (of.op == RX_EMPTY || (least == 1 && most == 1))
		return kid;
	if (most == 0)
		return add_leaf(t, RX_EMPTY, err);
	/* x** and the like, of which there may be thousands, are one */
	if (of.op == RX_REPEAT && is_simple(of.least, of.most) && is_simple(least, most)) {
		kid = t->kid[of.kid];
		least *= of.least;
		most = MAX(most, of.most);
	}
	struct rx_node node = {
		.op = RX_REPEAT, .kid = (uint32_t)t->kids, .kids = 1, .least = least, .most = most};
	uint64_t size = t->node[kid].size;
	*VEC_PUSH(t->kid, t->kids, t->kids_room) = kid;
	size = most == RX_NO_LIMIT ? size * MAX(least, 1u) + 1 : size * most + (most - least);
	return add_node(t, node, size, err);
}

/* Characters of the pattern */

static int refuse_here(struct parser *p, const char *what)
{
	return err_set(p->err, ERR_USAGE, "%s", what);
}

static bool at_end(const struct parser *p)
{
	return p->p == p->end;
}

static bool looking_at(const struct parser *p, const char *text)
{
	size_t n = strlen(text);
	return (size_t)(p->end - p->p) >= n && memcmp(p->p, text, n) == 0;
}

static bool take_text(struct parser *p, const char *text)
{
	bool here = looking_at(p, text);
	p->p += here ? strlen(text) : 0;
	return here;
}

static int32_t take_char(struct parser *p)
{
	size_t n;
	int32_t c = token_char(p->p, p->end, &n);
	p->p += n;
	return c;
}

/* Hexadecimal digits: `least` to `most` of them. */
static int take_hex(struct parser *p, size_t least, size_t most, int32_t *ret)
{
	int32_t c = 0;
	size_t n = 0;
	for (; n < most && !at_end(p); n++, p->p++) {
		int digit = ascii_hex((char)*p->p);
		if (digit < 0)
			break;
		c = c << 4 | digit;
	}
	if (n < least || c > RX_CHAR_LAST)
		return refuse_here(p, "not the number of a character: \\x41, \\u00e9 and "
				      "\\x{1f600} are");
	*ret = c;
	return 0;
}

static int take_code(struct parser *p, size_t digits, int32_t *ret)
{
	if (!take_text(p, "{"))
		return take_hex(p, digits, digits, ret);
	if (take_hex(p, 1, 6, ret) < 0)
		return -1;
	return take_text(p, "}") ? 0 : refuse_here(p, "a \"}\" is missing after the number");
}

/* What a bracket or an escape stands for, in parts that can be added over and over. */
struct members {
	struct rx_ranges chars; /* written one by one or as ranges: these are folded */
	uint32_t categories;
	bool word, not_word, space, not_space;
	bool stray; /* a byte that is not UTF-8 */
};

enum escape { ESCAPE_CHAR, ESCAPE_MEMBERS, ESCAPE_OP };

static int take_category(struct parser *p, bool not, struct members *to)
{
	struct str name = {(const char *)p->p, 1};
	if (at_end(p))
		return refuse_here(p, "\\p needs the name of a category: \\p{L}");
	if (take_text(p, "{")) {
		name = str_range((const char *)p->p, (const char *)p->end);
		name.n = str_find_byte(name, '}');
		p->p += name.n;
		if (!take_text(p, "}"))
			return refuse_here(p, "a \"}\" is missing after \\p{");
	} else {
		p->p++;
	}
	uint32_t mask = rx_category_mask(name);
	if (!mask)
		return err_set(p->err, ERR_USAGE,
			       "'" STR_FMT "' is not a category of characters that is known: %s",
			       STR_ARG(str_utf8_head(name, 40)), rx_category_known);
	uint32_t cased = rx_category_mask(STR("LC"));
	if (p->folded && (mask & cased))
		mask |= cased; /* in folded text capitals are small */
	to->categories |= not ? ALL_CATEGORIES & ~mask : mask;
	to->stray |= not &&p->tree->any_bytes;
	return 0;
}

/* An escape, after its backslash. Classes are added to *to. */
static int take_escape(struct parser *p, enum escape *ret, int32_t *ret_char, enum rx_op *ret_op,
		       struct members *to)
{
	static const char plain[] = "t\tn\nr\rf\fv\va\ae\033"; /* each, and what it means */
	if (at_end(p))
		return refuse_here(p, "nothing follows the backslash; \\\\ is one");
	int32_t c = take_char(p);
	*ret = ESCAPE_MEMBERS;
	switch (c) {
	case 'w':
		to->word = true;
		return 0;
	case 'W':
		to->not_word = true;
		return 0;
	case 's':
		to->space = true;
		return 0;
	case 'S':
		to->not_space = true;
		return 0;
	case 'd':
		to->categories |= rx_category_mask(STR("Nd"));
		return 0;
	case 'D':
		to->categories |= ALL_CATEGORIES & ~rx_category_mask(STR("Nd"));
		to->stray |= p->tree->any_bytes;
		return 0;
	case 'p':
		return take_category(p, false, to);
	case 'P':
		return take_category(p, true, to);
	case 'b':
	case 'B':
		*ret = ESCAPE_OP;
		*ret_op = c == 'b' ? RX_BOUND : RX_NOT_BOUND;
		return 0;
	case 'x':
		*ret = ESCAPE_CHAR;
		return take_code(p, 2, ret_char);
	case 'u':
		*ret = ESCAPE_CHAR;
		return take_code(p, 4, ret_char);
	case '<':
	case '>':
		return refuse_here(p, "\\< and \\> are not known; \\b is where a word begins or "
				      "ends");
	default:
		break;
	}
	*ret = ESCAPE_CHAR;
	*ret_char = c;
	if ((c >= '1' && c <= '9') || c == 'k' || c == 'g')
		return refuse_here(p, "back-references are not possible: a match takes the same "
				      "time for every pattern");
	if (c >= 0x80 || !token_ascii(c))
		return 0;
	const char *known = memchr(plain, c, sizeof plain - 1);
	if (!known)
		return err_set(p->err, ERR_USAGE, "\\%c is not known", (char)c);
	*ret_char = (unsigned char)known[1];
	return 0;
}

/* Characters and classes */

/* The characters that a unit of the pattern folds to, one after the other. */
static int64_t add_chars(struct parser *p, const int32_t *chars, size_t n)
{
	uint32_t list[TOKEN_CHARS_MOST];
	for (size_t i = 0; i < n; i++) {
		int64_t node = add_char(p->tree, chars[i], p->err);
		if (node < 0)
			return -1;
		list[i] = (uint32_t)node;
	}
	return add_list(p->tree, RX_CAT, list, n, p->err);
}

/* Whether a character belongs to the one before it when both are folded: marks, and the later
 * parts of a syllable of Hangul. */
static bool joins_before(const struct parser *p, int32_t c)
{
	return c >= 0x80 && ((c >= 0x1160 && c <= 0x11ff) || (c >= 0xd7b0 && c <= 0xd7ff) ||
			     token_unicode_class(&p->chars->unicode, c) == TOKEN_CONTINUES);
}

/* A character as such. Folded, it is taken together with the marks after it, which may become one
 * character with it or vanish. */
static int64_t add_plain(struct parser *p, int32_t c)
{
	enum { UNIT_MOST = 8 };
	int32_t unit[UNIT_MOST] = {c}, folded[TOKEN_CHARS_MOST];
	size_t n = 1, len;
	if (c < 0)
		return refuse_here(p, "the expression is not UTF-8");
	if (!p->folded || token_unicode_class(&p->chars->unicode, c) == TOKEN_SEPARATES)
		return add_char(p->tree, c, p->err);
	for (; n < UNIT_MOST && !at_end(p); n++, p->p += len) {
		int32_t next = token_char(p->p, p->end, &len);
		if (!joins_before(p, next))
			break;
		unit[n] = next;
	}
	return add_chars(p, folded, token_unicode_fold(&p->chars->unicode, unit, n, folded));
}

/* All but these; in a name a byte that is not UTF-8 is one of all. */
static void negate_ranges(const struct parser *p, struct rx_ranges *r)
{
	bool had = r->n && r->range[r->n - 1].to == RX_STRAY;
	rx_ranges_negate(r);
	if (p->tree->any_bytes && !had)
		rx_ranges_add(r, RX_STRAY, RX_STRAY);
}

static void add_negated(const struct parser *p, struct rx_ranges *to, struct rx_ranges *r)
{
	rx_ranges_settle(r);
	negate_ranges(p, r);
	for (size_t i = 0; i < r->n; i++)
		rx_ranges_add(to, r->range[i].from, r->range[i].to);
	rx_ranges_free(r);
}

static void join_members(struct parser *p, struct members *m)
{
	struct rx_ranges *to = &m->chars, other = {0};
	if (m->categories)
		rx_add_categories(p->chars, to, m->categories);
	if (m->word)
		rx_add_word(p->chars, to);
	if (m->space)
		rx_add_space(to);
	if (m->not_word) {
		rx_add_word(p->chars, &other);
		add_negated(p, to, &other);
	}
	if (m->not_space) {
		rx_add_space(&other);
		add_negated(p, to, &other);
	}
	if (m->stray)
		rx_ranges_add(to, RX_STRAY, RX_STRAY);
	rx_ranges_settle(to);
}

/* A class that is one name: \w, \p{L}. */
static int64_t add_named(struct parser *p, struct members *m)
{
	uint32_t names = m->categories ? m->categories | (uint32_t)m->stray << 30
				       : UINT32_C(1) << 31 | (uint32_t)m->word << 3 |
						 (uint32_t)m->not_word << 2 |
						 (uint32_t)m->space << 1 | (uint32_t)m->not_space;
	struct rx_node node = {.op = RX_SET};
	for (size_t i = 0; i < MIN(p->nameds, (size_t)NAMED_KEPT); i++)
		if (p->named[i].names == names) {
			node.set = p->named[i].set;
			return add_node(p->tree, node, 1, p->err);
		}
	join_members(p, m);
	int64_t set = find_set(p->tree, &m->chars, p->err);
	if (set < 0)
		return -1;
	node.set = (uint32_t)set;
	p->named[p->nameds++ % NAMED_KEPT] = (struct named){names, node.set};
	return add_node(p->tree, node, 1, p->err);
}

/* The node of a class; takes what *m has. */
static int64_t add_members(struct parser *p, struct members *m, bool not )
{
	struct rx_long_folds longer = {0};
	rx_ranges_settle(&m->chars);
	bool named = m->chars.n > 0;
	if (p->folded && !rx_ranges_fold(p->chars, &m->chars, &longer)) {
		rx_ranges_free(&m->chars);
		return too_many_chars(p->err);
	}
	join_members(p, m);
	if (!rx_may_look(p->chars, m->chars.n)) {
		rx_ranges_free(&m->chars);
		return too_many_chars(p->err);
	}
	if (named && !not &&m->chars.n == 0 && longer.n == 0)
		return add_leaf(p->tree, RX_EMPTY, p->err); /* accents, which the text has not */
	if (not ) {
		negate_ranges(p, &m->chars);
		longer.n = 0;
	}
	uint32_t list[RX_LONG_FOLDS_MOST + 1];
	size_t n = 0;
	int64_t node = add_set(p->tree, &m->chars, p->err);
	for (uint32_t i = 0; node >= 0 && i < longer.n; i++) {
		list[n++] = (uint32_t)node;
		node = add_chars(p, longer.fold[i].c, longer.fold[i].n);
	}
	if (node < 0)
		return -1;
	list[n++] = (uint32_t)node;
	return add_list(p->tree, RX_ALT, list, n, p->err);
}

/* A member of a bracket: 0: *ret is a character, 1: it was a class. */
static int take_member(struct parser *p, struct members *to, int32_t *ret)
{
	enum escape kind;
	enum rx_op op;
	p->at = (size_t)(p->p - (const unsigned char *)p->pattern.p);
	if (looking_at(p, "[:") || looking_at(p, "[.") || looking_at(p, "[="))
		return refuse_here(p, "named classes are written \\p{L}, \\d, \\s or \\w; "
				      "\\[ is the bracket itself");
	if (!take_text(p, "\\")) {
		*ret = take_char(p);
		return *ret < 0 ? refuse_here(p, "the expression is not UTF-8") : 0;
	}
	if (take_escape(p, &kind, ret, &op, to) < 0)
		return -1;
	if (kind == ESCAPE_OP)
		return refuse_here(p, "\\b and \\B are not characters that a class can have");
	return kind == ESCAPE_MEMBERS;
}

static int take_members(struct parser *p, struct members *m)
{
	size_t begin = p->at;
	for (bool first = true; first || !looking_at(p, "]"); first = false) {
		int32_t from = 0, to = 0;
		if (at_end(p)) {
			p->at = begin;
			return refuse_here(p, "the class that begins here has no \"]\"");
		}
		int rc = take_member(p, m, &from);
		if (rc < 0)
			return -1;
		if (rc == 1)
			continue;
		to = from;
		bool range = p->end - p->p > 1 && p->p[0] == '-' && p->p[1] != ']';
		if (range) {
			p->p++;
			rc = take_member(p, m, &to);
			if (rc != 0)
				return rc < 0 ? -1
					      : refuse_here(p, "a range ends in a character, not "
							       "in a class; \\- is the hyphen");
			if (to < from)
				return refuse_here(p, "the range runs backwards");
		}
		rx_ranges_add(&m->chars, from, to);
	}
	p->p++;
	return 0;
}

static int64_t take_bracket(struct parser *p)
{
	struct members m = {0};
	bool not = take_text(p, "^");
	if (take_members(p, &m) < 0) {
		rx_ranges_free(&m.chars);
		return -1;
	}
	return add_members(p, &m, not );
}

/* Repeats, brackets and the whole */

static bool take_number(struct parser *p, uint32_t *ret)
{
	uint32_t v = 0;
	const unsigned char *from = p->p;
	for (; !at_end(p) && ascii_is_digit((char)*p->p); p->p++)
		v = MIN(v * 10 + (uint32_t)(*p->p - '0'), (uint32_t)RX_REPEAT_MOST + 1);
	*ret = v;
	return p->p > from;
}

static int take_counts(struct parser *p, uint32_t *ret_least, uint32_t *ret_most)
{
	if (!take_number(p, ret_least))
		return refuse_here(p, "not a number of times: {2}, {2,} and {2,5} are; \\{ is the "
				      "bracket itself");
	*ret_most = *ret_least;
	if (take_text(p, ",") && !take_number(p, ret_most))
		*ret_most = RX_NO_LIMIT;
	if (!take_text(p, "}"))
		return refuse_here(p, "not a number of times: {2}, {2,} and {2,5} are; \\{ is the "
				      "bracket itself");
	if (*ret_least > RX_REPEAT_MOST || (*ret_most > RX_REPEAT_MOST && *ret_most != RX_NO_LIMIT))
		return err_set(p->err, ERR_USAGE, "at most %d times can be asked for",
			       RX_REPEAT_MOST);
	return *ret_most < *ret_least ? refuse_here(p, "at least more often than at most") : 0;
}

static int take_repeat(struct parser *p, char c)
{
	uint32_t least = c == '+', most = c == '?' ? 1 : RX_NO_LIMIT;
	const struct open_bracket *open = &p->open[p->opens - 1];
	if (p->items == open->items)
		return refuse_here(p, "there is nothing to repeat");
	if (c == '{' && take_counts(p, &least, &most) < 0)
		return -1;
	if (looking_at(p, "?"))
		return refuse_here(p, "lazy repeats are not possible: the longest match counts");
	if (looking_at(p, "+"))
		return refuse_here(p, "possessive repeats are not possible: every way to match is "
				      "looked at");
	int64_t node = add_repeat(p->tree, p->item[p->items - 1], least, most, p->err);
	if (node < 0)
		return -1;
	p->item[p->items - 1] = (uint32_t)node;
	return 0;
}

static int open_group(struct parser *p)
{
	if (looking_at(p, "?=") || looking_at(p, "?!") || looking_at(p, "?<=") ||
	    looking_at(p, "?<!"))
		return refuse_here(p, "look-around is not possible: a match takes the same time "
				      "for every pattern");
	if (looking_at(p, "?P="))
		return refuse_here(p, "back-references are not possible: a match takes the same "
				      "time for every pattern");
	if (looking_at(p, "?") && !take_text(p, "?:"))
		return refuse_here(p, "of groups only ( ) and (?: ) are known: no names, flags or "
				      "comments");
	*VEC_PUSH(p->open, p->opens, p->opens_room) =
		(struct open_bracket){p->items, p->alternatives, p->at};
	return 0;
}

/* What was read since the bracket or the last "|" becomes one more alternative. */
static int end_alternative(struct parser *p)
{
	size_t from = p->open[p->opens - 1].items;
	const uint32_t *items = p->items > from ? p->item + from : NULL;
	int64_t node = add_list(p->tree, RX_CAT, items, p->items - from, p->err);
	if (node < 0)
		return -1;
	p->items = from;
	*VEC_PUSH(p->alternative, p->alternatives, p->alternatives_room) = (uint32_t)node;
	return 0;
}

/* The bracket that was opened last becomes one node. */
static int64_t close_group(struct parser *p)
{
	if (end_alternative(p) < 0)
		return -1;
	size_t from = p->open[--p->opens].alternatives;
	int64_t node =
		add_list(p->tree, RX_ALT, p->alternative + from, p->alternatives - from, p->err);
	p->alternatives = from;
	return node;
}

static int64_t take_escaped(struct parser *p)
{
	struct members m = {0};
	enum escape kind;
	enum rx_op op = RX_EMPTY;
	int32_t c = 0;
	if (take_escape(p, &kind, &c, &op, &m) < 0)
		return -1;
	return kind == ESCAPE_CHAR ? add_plain(p, c)
	       : kind == ESCAPE_OP ? add_leaf(p->tree, op, p->err)
				   : add_named(p, &m);
}

static int64_t take_any(struct parser *p)
{
	struct rx_ranges r = {0};
	if (p->tree->any_bytes) {
		rx_ranges_add(&r, 0, RX_STRAY);
	} else {
		rx_ranges_add(&r, 0, '\n' - 1);
		rx_ranges_add(&r, '\n' + 1, RX_CHAR_LAST);
	}
	return add_set(p->tree, &r, p->err);
}

static int64_t take_atom(struct parser *p, int32_t c)
{
	switch (c) {
	case ')':
		if (p->opens == 1)
			return refuse_here(p, "this bracket was not opened; \\) is the bracket "
					      "itself");
		return close_group(p);
	case '[':
		return take_bracket(p);
	case '\\':
		return take_escaped(p);
	case '.':
		return take_any(p);
	case '^':
		return add_leaf(p->tree, RX_BEGIN, p->err);
	case '$':
		return add_leaf(p->tree, RX_END, p->err);
	default:
		return add_plain(p, c);
	}
}

static int take_item(struct parser *p)
{
	p->at = (size_t)(p->p - (const unsigned char *)p->pattern.p);
	int32_t c = take_char(p);
	if (c == '(')
		return open_group(p);
	if (c == '|')
		return end_alternative(p);
	if (c == '*' || c == '+' || c == '?' || c == '{')
		return take_repeat(p, (char)c);
	int64_t node = take_atom(p, c);
	if (node < 0)
		return -1;
	*VEC_PUSH(p->item, p->items, p->items_room) = (uint32_t)node;
	return 0;
}

static int take_pattern(struct parser *p)
{
	*VEC_PUSH(p->open, p->opens, p->opens_room) = (struct open_bracket){0};
	while (!at_end(p))
		if (take_item(p) < 0)
			return -1;
	if (p->opens > 1) {
		p->at = p->open[p->opens - 1].at;
		return refuse_here(p, "the bracket that opens here is not closed");
	}
	int64_t root = close_group(p);
	if (root < 0)
		return -1;
	p->tree->root = (uint32_t)root;
	if (!p->tree->has_bound)
		return 0;
	struct rx_ranges word = {0};
	rx_add_word(p->chars, &word);
	rx_ranges_settle(&word);
	int64_t set = find_set(p->tree, &word, p->err);
	p->tree->word_set = set < 0 ? 0 : (uint32_t)set;
	return set < 0 ? -1 : 0;
}

int rx_parse(struct rx_tree *t, struct rx_chars *chars, struct str pattern, bool folded,
	     size_t *ret_at, struct err *err)
{
	struct parser p = {.tree = t, .chars = chars, .folded = folded, .err = err};
	p.pattern = pattern.n ? pattern : STR("");
	p.p = (const unsigned char *)p.pattern.p;
	p.end = p.p + p.pattern.n;
	int rc = pattern.n > RX_PATTERN_MOST
			 ? err_set(err, ERR_USAGE, "the expression has more than %d bytes",
				   RX_PATTERN_MOST)
			 : take_pattern(&p);
	if (rc < 0)
		*ret_at = p.at;
	mem_free(&p.item);
	mem_free(&p.alternative);
	mem_free(&p.open);
	return rc;
}
