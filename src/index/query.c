/* The query language (doc/query.md):
 *
 *   any      = all { OR all }
 *   all      = not { [AND] not }
 *   not      = { NOT | "-" } operand
 *   operand  = "(" any ")" | name ":" not | name ( "<" | "<=" | ">" | ">=" ) value
 *            | [ "=" ] ( word | phrase ) | "*"
 *
 * What holds no words (a lone hyphen, an empty phrase) is as if it were not there: such parts are
 * NULL here and drop out of what they stand in. */
#include "index/query.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "index/token.h"

#include <stdio.h>

/* Values to compare with: numbers, years, months, days and instants. */

static bool parse_number(struct str s, int64_t *ret)
{
	bool negative = s.n && s.p[0] == '-';
	uint64_t v;
	if (!str_u64(str_from(s, negative), &v) || v > INT64_MAX)
		return false;
	*ret = negative ? -(int64_t)v : (int64_t)v;
	return true;
}

/* The first second of a day; months past the twelfth are those of the next year. After the last
 * day that has a name begins the year 10000. */
static bool first_second(uint64_t year, uint64_t month, uint64_t day, int64_t *ret_s)
{
	int64_t days;
	year += month > 12;
	month -= month > 12 ? 12 : 0;
	if (year > 9999) {
		*ret_s = 253402300800;
		return true;
	}
	if (!calendar_day(year, month, day, &days))
		return false;
	*ret_s = days * (US_PER_DAY / US_PER_S);
	return true;
}

/* "2024", "2024-05", "2024-05-17". */
static bool parse_calendar(struct str s, int64_t *ret_from_s, int64_t *ret_to_s)
{
	static const size_t digits[3] = {4, 2, 2};
	uint64_t part[3] = {0, 1, 1};
	struct str field;
	size_t n = 0;
	while (str_cut(&s, '-', &field) == 0) {
		if (n == 3 || field.n != digits[n] || !str_u64(field, &part[n]))
			return false;
		n++;
	}
	int64_t from, to;
	if (part[1] > 12 || !first_second(part[0], part[1], part[2], &from))
		return false;
	if (n == 3)
		to = from + US_PER_DAY / US_PER_S;
	else if (!first_second(part[0] + (n == 1), part[1] + (n == 2), 1, &to))
		return false;
	*ret_from_s = from;
	*ret_to_s = to;
	return true;
}

struct query_value query_value(struct str text)
{
	struct query_value v = {.text = text};
	int64_t us;
	v.is_number = parse_number(text, &v.number);
	v.is_period = parse_calendar(text, &v.from_s, &v.to_s);
	if (!v.is_number && !v.is_period && time_parse(text, &us)) {
		v.is_period = true;
		v.from_s = us / US_PER_S - (us % US_PER_S < 0);
		v.to_s = v.from_s + 1;
	}
	return v;
}

/* Reading */

struct parser {
	struct str text;
	size_t at; /* of the next byte */
	const struct token_rules *rules;
	struct arena *arena;
	struct err *err;
	struct str attribute; /* that applies here */
	bool exact;
	uint32_t depth, nodes;
};

static int parse_any(struct parser *p, struct query_node **ret);

/* Places are told as people count: characters, the first is 1. */
static size_t character_of(const struct parser *p, size_t at)
{
	size_t n = 1;
	for (size_t i = 0; i < at; i++)
		n += ((unsigned char)p->text.p[i] & 0xc0) != 0x80;
	return n;
}

#define REFUSE(p, at, fmt, ...)                                                         \
	err_set((p)->err, ERR_USAGE, "query, character %zu: " fmt, character_of(p, at), \
		##__VA_ARGS__)

static int peek_byte(const struct parser *p)
{
	return p->at < p->text.n ? (unsigned char)p->text.p[p->at] : -1;
}

static bool is_blank(int c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(struct parser *p)
{
	while (is_blank(peek_byte(p)))
		p->at++;
}

static bool ends_word(int c)
{
	return c < 0 || is_blank(c) || c == '(' || c == ')' || c == '"';
}

static struct str bare_word(const struct parser *p, size_t from)
{
	size_t to = from;
	while (to < p->text.n && !ends_word((unsigned char)p->text.p[to]))
		to++;
	return str_range(p->text.p + from, p->text.p + to);
}

static bool take_keyword(struct parser *p, const char *keyword)
{
	struct str word = bare_word(p, p->at);
	if (!str_eq_nocase(word, str_of(keyword)))
		return false;
	p->at += word.n;
	skip_blanks(p);
	return true;
}

static int node_new(struct parser *p, enum query_op op, size_t at, struct query_node **ret)
{
	if (++p->nodes > QUERY_NODES_MOST)
		return REFUSE(p, at, "more than %d words and operators", QUERY_NODES_MOST);
	*ret = arena_alloc(p->arena, sizeof **ret);
	(*ret)->op = op;
	(*ret)->at = (uint32_t)at;
	return 0;
}

/* A copy, because the text need not outlive the tree. */
static int words_of(struct parser *p, struct str text, size_t at, struct query_node **ret)
{
	struct query_word word[QUERY_PHRASE_MOST];
	struct tokens t;
	struct token token;
	uint32_t n = 0;
	text = arena_str(p->arena, text);
	tokens_init(&t, p->rules, text, 0);
	for (; tokens_next(&t, &token) == 0; n++) {
		if (n == QUERY_PHRASE_MOST)
			return REFUSE(p, at, "a phrase of more than %d words", QUERY_PHRASE_MOST);
		word[n] = (struct query_word){arena_str(p->arena, token.term), token.form};
	}
	*ret = NULL;
	if (n == 0)
		return 0;
	p->nodes += n - 1;
	if (node_new(p, n == 1 ? QUERY_WORD : QUERY_PHRASE, at, ret) < 0)
		return -1;
	struct query_node *node = *ret;
	node->attribute = p->attribute;
	node->exact = p->exact;
	node->value = query_value(text);
	node->words = n;
	node->word = arena_array(p->arena, n, sizeof *word);
	memcpy(node->word, word, n * sizeof *word);
	return 0;
}

/* What stands between the quotes at p->at. */
static int parse_quoted(struct parser *p, struct str *ret)
{
	size_t from = p->at + 1;
	size_t n = str_find_byte(str_from(p->text, from), '"');
	if (from + n >= p->text.n)
		return REFUSE(p, p->at, "this quotation mark has no second one");
	*ret = str_head(str_from(p->text, from), n);
	p->at = from + n + 1;
	return 0;
}

/* What stands between quotation marks, or up to the end of the word. */
static int word_or_quoted(struct parser *p, struct str *ret)
{
	if (peek_byte(p) == '"')
		return parse_quoted(p, ret);
	*ret = bare_word(p, p->at);
	p->at += ret->n;
	return 0;
}

/* A word or a phrase, "=" before it or not. */
static int parse_words(struct parser *p, struct query_node **ret)
{
	size_t at = p->at;
	bool exact = p->exact;
	struct str text;
	if (peek_byte(p) == '=') {
		p->exact = true;
		p->at++;
	}
	if (word_or_quoted(p, &text) < 0)
		return -1;
	int rc = words_of(p, text, at, ret);
	p->exact = exact;
	return rc;
}

static bool name_char(char c, bool first)
{
	return ascii_is_letter(c) ||
	       (!first && (ascii_is_digit(c) || c == '-' || c == '_' || c == '.'));
}

static bool is_keyword(struct str word)
{
	return str_eq_nocase(word, STR("and")) || str_eq_nocase(word, STR("or")) ||
	       str_eq_nocase(word, STR("not"));
}

/* A name with a colon or a comparison after it. "http://" and "std::string" are words. Returns the
 * operator's first character, 0: it is not one. */
static int parse_name(struct parser *p, struct str *ret_name)
{
	size_t from = p->at, at = from;
	while (at < p->text.n && name_char(p->text.p[at], at == from))
		at++;
	struct str name = str_range(p->text.p + from, p->text.p + at);
	while (at < p->text.n && is_blank((unsigned char)p->text.p[at]))
		at++;
	int c = at < p->text.n ? (unsigned char)p->text.p[at] : -1;
	int next = at + 1 < p->text.n ? (unsigned char)p->text.p[at + 1] : -1;
	if (name.n == 0 || is_keyword(name) || (c != ':' && c != '<' && c != '>') ||
	    (c == ':' && (next == ':' || next == '/')))
		return 0;
	*ret_name = name;
	p->at = at;
	return c;
}

static struct str lower_name(struct parser *p, struct str name)
{
	char *copy = arena_text(p->arena, name);
	for (size_t i = 0; i < name.n; i++)
		copy[i] = ascii_lower(copy[i]);
	return (struct str){copy, name.n};
}

static int parse_compare(struct parser *p, struct str name, size_t at, struct query_node **ret)
{
	bool less = peek_byte(p) == '<';
	p->at++;
	bool equal = peek_byte(p) == '=';
	p->at += equal;
	skip_blanks(p);
	struct str text;
	size_t value_at = p->at;
	if (word_or_quoted(p, &text) < 0)
		return -1;
	struct query_value value = query_value(arena_str(p->arena, text));
	if (!value.is_number && !value.is_period)
		return REFUSE(p, value_at,
			      "'" STR_FMT "' is neither a whole number nor a date (2024, 2024-05, "
			      "2024-05-17, 2024-05-17T12:00:00Z)",
			      STR_ARG(str_head(text, 40)));
	if (node_new(p, QUERY_COMPARE, at, ret) < 0)
		return -1;
	(*ret)->attribute = lower_name(p, name);
	(*ret)->value = value;
	(*ret)->relation =
		less ? (equal ? QUERY_AT_MOST : QUERY_LESS) : (equal ? QUERY_AT_LEAST : QUERY_MORE);
	return 0;
}

static int parse_brackets(struct parser *p, struct query_node **ret)
{
	size_t at = p->at++;
	p->depth++;
	if (parse_any(p, ret) < 0)
		return -1;
	p->depth--;
	if (peek_byte(p) != ')')
		return REFUSE(p, at, "this bracket is not closed");
	p->at++;
	return 0;
}

static int parse_operand(struct parser *p, struct query_node **ret);
static int parse_negated(struct parser *p, struct query_node **ret);
static bool take_minus(struct parser *p);
static bool operand_follows(const struct parser *p);

/* NOT or "-" with something to take away; "not" alone is the word, "-5" a number. */
static bool negation_follows(const struct parser *p)
{
	struct parser ahead = *p;
	if (take_minus(&ahead))
		return !ascii_is_digit((char)peek_byte(&ahead));
	return take_keyword(&ahead, "not") && operand_follows(&ahead);
}

static int parse_attributed(struct parser *p, struct str name, struct query_node **ret)
{
	struct str outer = p->attribute;
	size_t at = p->at++;
	skip_blanks(p);
	if (peek_byte(p) < 0 || peek_byte(p) == ')')
		return REFUSE(p, at, "nothing follows this colon");
	p->attribute = lower_name(p, name);
	p->depth++;
	int rc = negation_follows(p) ? parse_negated(p, ret) : parse_operand(p, ret);
	p->attribute = outer;
	p->depth--;
	return rc;
}

static int parse_everything(struct parser *p, struct query_node **ret)
{
	return node_new(p, QUERY_ALL, p->at++, ret);
}

static int parse_operand(struct parser *p, struct query_node **ret)
{
	struct str name;
	size_t at = p->at;
	int rc, c = peek_byte(p);
	if (p->depth > QUERY_DEPTH_MOST)
		return REFUSE(p, at, "more than %d brackets in brackets", QUERY_DEPTH_MOST);
	if (c == '(')
		rc = parse_brackets(p, ret);
	else if (c == '<' || c == '>')
		return REFUSE(p, at, "'%c' needs the name of a number or a date before it", c);
	else if (c == '*' && bare_word(p, at).n == 1)
		rc = parse_everything(p, ret);
	else if ((c = parse_name(p, &name)) == ':')
		rc = parse_attributed(p, name, ret);
	else if (c != 0)
		rc = parse_compare(p, name, at, ret);
	else
		rc = parse_words(p, ret);
	skip_blanks(p);
	return rc;
}

/* "-" right before an operand. */
static bool take_minus(struct parser *p)
{
	if (peek_byte(p) != '-' || p->at + 1 >= p->text.n)
		return false;
	int next = (unsigned char)p->text.p[p->at + 1];
	if (is_blank(next) || next == ')' || next == '-')
		return false;
	p->at++;
	return true;
}

static int refuse_missing(struct parser *p, size_t at, const char *where)
{
	struct str word = bare_word(p, at);
	return REFUSE(p, at, "'" STR_FMT "' has nothing %s it; \"" STR_FMT "\" means the word",
		      STR_ARG(word), where, STR_ARG(word));
}

static bool at_keyword(const struct parser *p)
{
	struct str word = bare_word(p, p->at);
	return str_eq_nocase(word, STR("and")) || str_eq_nocase(word, STR("or"));
}

/* There is something to take: not the end, a closing bracket or an operator between two. */
static bool operand_follows(const struct parser *p)
{
	return peek_byte(p) >= 0 && peek_byte(p) != ')' && !at_keyword(p);
}

static int parse_negated(struct parser *p, struct query_node **ret)
{
	bool taken_away = false;
	size_t at = p->at;
	for (;;) {
		size_t last = p->at;
		bool minus = take_minus(p);
		if (!minus && !take_keyword(p, "not"))
			break;
		taken_away = !taken_away;
		if (!operand_follows(p))
			return refuse_missing(p, last, "after");
	}
	struct query_node *kid;
	if (parse_operand(p, &kid) < 0)
		return -1;
	*ret = kid;
	if (!kid || !taken_away)
		return 0;
	if (kid->op == QUERY_NOT) {
		*ret = kid->kid[0];
		return 0;
	}
	if (node_new(p, QUERY_NOT, at, ret) < 0)
		return -1;
	(*ret)->kid = arena_array(p->arena, 1, sizeof kid);
	(*ret)->kid[0] = kid;
	(*ret)->kids = 1;
	return 0;
}

/* Parts of an AND or an OR while they are read. */
struct parts {
	enum query_op op;
	struct query_node **kid;
	uint32_t n, room;
};

static void part_push(struct parser *p, struct parts *parts, struct query_node *kid)
{
	if (parts->n == parts->room) {
		uint32_t room = parts->room ? parts->room * 2 : 4;
		struct query_node **more = arena_array(p->arena, room, sizeof *more);
		if (parts->n)
			memcpy(more, parts->kid, parts->n * sizeof *more);
		parts->kid = more;
		parts->room = room;
	}
	parts->kid[parts->n++] = kid;
}

/* A part of the same kind gives its own parts, so that the tree is flat. */
static void part_add(struct parser *p, struct parts *parts, struct query_node *kid)
{
	if (!kid)
		return;
	if (kid->op != parts->op) {
		part_push(p, parts, kid);
		return;
	}
	for (uint32_t i = 0; i < kid->kids; i++)
		part_push(p, parts, kid->kid[i]);
}

static int join_parts(struct parser *p, const struct parts *parts, size_t at,
		      struct query_node **ret)
{
	*ret = parts->n ? parts->kid[0] : NULL;
	if (parts->n < 2)
		return 0;
	if (node_new(p, parts->op, at, ret) < 0)
		return -1;
	(*ret)->kid = parts->kid;
	(*ret)->kids = parts->n;
	return 0;
}

static int parse_all(struct parser *p, struct query_node **ret)
{
	struct parts parts = {.op = QUERY_AND};
	size_t start = p->at, operator_at;
	do {
		struct query_node *kid = NULL;
		if (parse_negated(p, &kid) < 0)
			return -1;
		part_add(p, &parts, kid);
		operator_at = p->at;
		if (take_keyword(p, "and") && !operand_follows(p))
			return refuse_missing(p, operator_at, "after");
	} while (operand_follows(p));
	return join_parts(p, &parts, start, ret);
}

static int parse_any(struct parser *p, struct query_node **ret)
{
	struct parts parts = {.op = QUERY_OR};
	skip_blanks(p);
	size_t start = p->at;
	bool more = operand_follows(p);
	if (!more && at_keyword(p))
		return refuse_missing(p, start, "before");
	while (more) {
		struct query_node *kid = NULL;
		if (parse_all(p, &kid) < 0)
			return -1;
		part_add(p, &parts, kid);
		size_t operator_at = p->at;
		more = take_keyword(p, "or");
		if (more && !operand_follows(p))
			return refuse_missing(p, operator_at, "after");
	}
	return join_parts(p, &parts, start, ret);
}

int query_parse(struct str text, const struct query_options *options,
		const struct token_rules *rules, struct arena *arena, struct query *ret,
		struct err *err)
{
	struct parser p = {.text = text.n ? text : STR(""),
			   .rules = rules,
			   .arena = arena,
			   .err = err,
			   .exact = options && options->exact};
	struct query_node *root;
	if (text.n > QUERY_TEXT_MOST)
		return err_set(err, ERR_USAGE, "a query of %zu bytes; at most %d are read", text.n,
			       QUERY_TEXT_MOST);
	if (parse_any(&p, &root) < 0)
		return -1;
	if (peek_byte(&p) == ')')
		return REFUSE(&p, p.at, "this bracket was not opened");
	ENSURE(p.at == text.n);
	if (!root && node_new(&p, QUERY_NOTHING, 0, &root) < 0)
		return -1;
	*ret = (struct query){.root = root, .limit = 10};
	return 0;
}

/* Queries as text again */

static const char *const relations[] = {"<", "<=", ">", ">=", ":"};

static void print_words(const struct query_node *node, struct buf *out)
{
	if (node->attribute.n)
		buf_printf(out, STR_FMT " : ", STR_ARG(node->attribute));
	buf_add_text(out, node->exact ? "=\"" : "\"");
	for (uint32_t i = 0; i < node->words; i++) {
		buf_add_text(out, i ? " " : "");
		buf_add_str(out, node->word[i].form);
	}
	buf_add_byte(out, '"');
}

static void print_kids(const struct query_node *node, struct buf *out)
{
	buf_add_byte(out, '(');
	for (uint32_t i = 0; i < node->kids; i++) {
		buf_add_text(out, i == 0 ? "" : node->op == QUERY_AND ? " AND " : " OR ");
		query_print(node->kid[i], out);
	}
	buf_add_byte(out, ')');
}

void query_print(const struct query_node *node, struct buf *out)
{
	switch (node->op) {
	case QUERY_NOTHING:
		buf_add_text(out, "\"\"");
		return;
	case QUERY_ALL:
		buf_add_byte(out, '*');
		return;
	case QUERY_WORD:
	case QUERY_PHRASE:
		print_words(node, out);
		return;
	case QUERY_COMPARE:
		buf_printf(out, STR_FMT " %s \"" STR_FMT "\"", STR_ARG(node->attribute),
			   relations[node->relation], STR_ARG(node->value.text));
		return;
	case QUERY_AND:
	case QUERY_OR:
		print_kids(node, out);
		return;
	case QUERY_NOT:
		buf_add_text(out, "NOT ");
		query_print(node->kid[0], out);
		return;
	}
}
