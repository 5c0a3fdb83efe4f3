/* The query language (doc/query.md):
 *
 *   any      = all { OR all }
 *   all      = not { [AND] not }
 *   not      = { NOT | "-" } operand
 *   operand  = "(" any ")" | name ":" not | name ( "<" | "<=" | ">" | ">=" ) value
 *            | name "<=>" value | value ".." value (after a name) | near
 *            | [ "=" ] "/" expression "/" | "*"
 *   near     = words { NEAR/n words }
 *   words    = [ "=" ] ( word | phrase ) [ "~" [ k ] ]
 *
 * The Broker's grammar adds to it: query_classic.c.
 *
 * What holds no words (a lone hyphen, an empty phrase) is as if it were not there: such parts are
 * NULL here and drop out of what they stand in. */
#include "index/query/query_parser.h"
#include "index/token.h"

#include <stdio.h>

enum { NOTES_MOST = 10, NOTES_BYTES = 64 << 10 };

static int parse_any(struct parser *p, struct query_node **ret);

size_t query_character(struct str text, size_t at)
{
	return 1 + str_utf8_count(str_head(text, at));
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

/* Notes that a word or phrase has fewer errors than were asked for. */
static void note_fewer(struct parser *p, const struct query_node *node)
{
	uint32_t most = query_errors_most(node);
	if (most >= p->options.errors || p->noted++ >= NOTES_MOST)
		return;
	query_print_quoted(node, &p->notes);
	if (most)
		buf_printf(&p->notes, ": too short for %u errors, %u taken\n", p->options.errors,
			   most);
	else
		buf_add_text(&p->notes, ": too short for errors\n");
}

/* What the options say about a word or phrase that says nothing itself. */
static void apply_options(struct parser *p, struct query_node *node)
{
	if (!node->plain)
		return;
	node->parts = p->options.parts;
	node->forgive = p->options.forgive && !p->options.best; /* "~" alone says how many */
	if (p->options.best) {
		node->errors = QUERY_ERRORS_BEST;
		return;
	}
	node->errors = (int8_t)MIN(p->options.errors, query_errors_most(node));
	if (node->op != QUERY_NEAR) {
		note_fewer(p, node);
		return;
	}
	for (uint32_t i = 0; i < node->words; i++) {
		struct query_node one = *node;
		one.op = QUERY_WORD;
		one.word = &node->word[i];
		one.words = 1;
		note_fewer(p, &one);
	}
}

/* How words are written. */
struct written {
	struct str text;
	size_t at;    /* of the text */
	bool errors;  /* "~" follows */
	struct str k; /* and this */
};

static int errors_of(struct parser *p, const struct written *w, struct query_node *node)
{
	uint32_t most = query_errors_most(node);
	size_t at = (size_t)(w->k.p - p->text.p) - 1;
	uint64_t k;
	node->errors = QUERY_ERRORS_BEST;
	if (w->k.n == 0)
		return 0;
	if (!str_u64(w->k, &k) || k == 0 || k > QUERY_ERRORS_MOST)
		return REFUSE(p, at, "'~" STR_FMT "' is not a number of errors from 1 to %d",
			      STR_ARG(str_head(w->k, 20)), QUERY_ERRORS_MOST);
	if (k > most)
		return REFUSE(p, at,
			      "'~%u': a word has fewer errors than letters, so here at most %u",
			      (unsigned)k, most);
	node->errors = (int8_t)k;
	return 0;
}

static int words_of(struct parser *p, const struct written *w, size_t at, struct query_node **ret)
{
	struct query_words words;
	/* a copy, because the text need not outlive the tree */
	struct str text = arena_str(p->arena, w->text);
	if (query_words_read(text, p->rules, p->arena, &words) < 0)
		return REFUSE(p, w->at + words.at, "%s", words.why);
	*ret = NULL;
	if (words.n == 0)
		return 0;
	p->nodes += words.n - 1;
	if (node_new(p, words.n == 1 ? QUERY_WORD : QUERY_PHRASE, at, ret) < 0)
		return -1;
	struct query_node *node = *ret;
	node->attribute = p->attribute;
	node->exact = p->exact;
	node->value = query_value_asked(text);
	node->words = words.n;
	node->word = arena_array(p->arena, words.n, sizeof *node->word);
	memcpy(node->word, words.word, words.n * sizeof *node->word);
	node->plain = !w->errors && !words.patterns;
	if (w->errors && words.patterns)
		return REFUSE(p, (size_t)(w->k.p - p->text.p) - 1,
			      "'~' after a pattern: it is words that can have errors");
	return w->errors ? errors_of(p, w, node) : 0;
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

static bool ends_operand(const struct parser *p, size_t at)
{
	int c = byte_at(p, at);
	return c < 0 || is_blank(c) || c == '(' || c == ')';
}

/* Whether "~" stands at this place with nothing but digits up to the end of the operand. */
static bool errors_follow(const struct parser *p, size_t at, struct str *ret_k)
{
	size_t end = at + 1;
	if (byte_at(p, at) != '~')
		return false;
	while (end < p->text.n && ascii_is_digit(p->text.p[end]))
		end++;
	*ret_k = str_range(p->text.p + at + 1, p->text.p + end);
	return ends_operand(p, end);
}

/* "~" after quotation marks, or right after a word; elsewhere it separates. */
static int read_written(struct parser *p, struct written *ret)
{
	bool quoted = peek_byte(p) == '"';
	ret->at = p->at + quoted;
	if (word_or_quoted(p, &ret->text) < 0)
		return -1;
	if (quoted) {
		ret->errors = errors_follow(p, p->at, &ret->k);
		p->at += ret->errors ? 1 + ret->k.n : 0;
		return 0;
	}
	size_t n = ret->text.n;
	while (n && ascii_is_digit(ret->text.p[n - 1]))
		n--;
	ret->errors = n && errors_follow(p, ret->at + n - 1, &ret->k) &&
		      query_words_end(str_head(ret->text, n - 1), p->rules);
	if (ret->errors)
		ret->text.n = n - 1;
	return 0;
}

/* An attribute is as deep as brackets, however it is written: with a colon it can be printed. */
static int check_depth(struct parser *p, uint32_t depth, size_t at)
{
	if (depth <= QUERY_DEPTH_MOST)
		return 0;
	return REFUSE(p, at, "more than %d brackets in brackets", QUERY_DEPTH_MOST);
}

/* "name=value": the name is what applies to the rest. */
static int take_pair_name(struct parser *p, struct written *w)
{
	size_t n = query_pair_name(p, w->text);
	if (n == 0)
		return 0;
	if (check_depth(p, p->depth + 1, w->at) < 0)
		return -1;
	p->attribute = arena_lower(p->arena, str_head(w->text, n));
	w->text = str_from(w->text, n + 1);
	w->at += n + 1;
	return 0;
}

/* Whole words as they are written, whatever the options say. */
static int parse_as_written(struct parser *p, struct str name, size_t at, struct query_node **ret)
{
	struct str outer = p->attribute;
	bool exact = p->exact;
	struct written w = {.at = p->at + (peek_byte(p) == '"')};
	if (word_or_quoted(p, &w.text) < 0)
		return -1;
	p->attribute = arena_lower(p->arena, name);
	p->exact = true;
	int rc = words_of(p, &w, at, ret);
	p->attribute = outer;
	p->exact = exact;
	if (rc == 0 && *ret) {
		(*ret)->plain = false;
		(*ret)->whole = true;
	}
	return rc;
}

/* A word or a phrase, "=" before it or not. */
static int parse_words(struct parser *p, struct query_node **ret)
{
	size_t at = p->at;
	bool exact = p->exact;
	struct str outer = p->attribute;
	struct written w = {0};
	if (peek_byte(p) == '=') {
		p->exact = true;
		p->at++;
	}
	bool quoted = peek_byte(p) == '"';
	int rc = read_written(p, &w);
	if (rc == 0 && quoted)
		rc = take_pair_name(p, &w);
	if (rc == 0)
		rc = words_of(p, &w, at, ret);
	p->exact = exact;
	p->attribute = outer;
	skip_blanks(p);
	return rc;
}

/* The slash that closes the expression which is opened at `at`; 0: none is. */
static size_t match_end(const struct parser *p, size_t at)
{
	if (byte_at(p, at) != '/')
		return 0;
	size_t end = at + 1;
	while (end < p->text.n && p->text.p[end] != '/')
		end += p->text.p[end] == '\\' ? 2 : 1;
	return end < p->text.n && end > at + 1 && ends_operand(p, end + 1) ? end : 0;
}

static bool match_follows(const struct parser *p)
{
	return match_end(p, p->at + (peek_byte(p) == '=')) > 0;
}

/* An expression in which "\/" is a slash; each backslash has something after it. */
static int match_of(struct parser *p, struct str text, bool exact, size_t at,
		    struct query_node **ret)
{
	char *match = arena_alloc(p->arena, text.n);
	size_t n = 0;
	for (size_t i = 0; i < text.n; i++) {
		bool escapes = text.p[i] == '\\';
		if (escapes && text.p[i + 1] != '/')
			match[n++] = text.p[i];
		i += escapes;
		match[n++] = text.p[i];
	}
	if (n > QUERY_MATCH_MOST)
		return REFUSE(p, at, "an expression of more than %d bytes", QUERY_MATCH_MOST);
	if (++p->matches > QUERY_MATCHES_MOST)
		return REFUSE(p, at, "more than %d expressions", QUERY_MATCHES_MOST);
	if (node_new(p, QUERY_MATCH, at, ret) < 0)
		return -1;
	(*ret)->attribute = p->attribute;
	(*ret)->exact = exact;
	(*ret)->match = (struct str){match, n};
	return 0;
}

static int parse_match(struct parser *p, struct query_node **ret)
{
	bool exact = peek_byte(p) == '=';
	size_t at = p->at, from = at + 1 + exact, end = match_end(p, from - 1);
	p->at = end + 1;
	return match_of(p, str_range(p->text.p + from, p->text.p + end), p->exact || exact, at,
			ret);
}

/* A name with a colon or a comparison after it. "http://" and "std::string" are words. Returns the
 * operator's first character, 0: it is not one. */
static int parse_name(struct parser *p, struct str *ret_name)
{
	struct str rest = str_from(p->text, p->at), name = str_head(rest, name_length(rest));
	size_t at = p->at + name.n;
	while (is_blank(byte_at(p, at)))
		at++;
	int c = byte_at(p, at), next = byte_at(p, at + 1);
	if (name.n == 0 || query_is_keyword(p, name) || (c != ':' && c != '<' && c != '>') ||
	    (c == ':' && (next == ':' || (next == '/' && match_end(p, at + 1) == 0))))
		return 0;
	*ret_name = name;
	p->at = at;
	return c;
}

static bool value_is_one(const struct query_value *v)
{
	return v->is_number || v->is_period;
}

static int compare_of(struct parser *p, struct str name, enum query_relation relation, size_t at,
		      struct query_node **ret)
{
	struct str text;
	size_t value_at = p->at;
	if (word_or_quoted(p, &text) < 0)
		return -1;
	struct query_value value = query_value_asked(arena_str(p->arena, text));
	if (!value_is_one(&value))
		return REFUSE(p, value_at,
			      "'" STR_FMT "' is neither a whole number nor a date (5, 10k, 2024, "
			      "2024-05, 2024-05-17, 2024-05-17T12:00:00Z)",
			      STR_ARG(str_head(text, 40)));
	if (node_new(p, QUERY_COMPARE, at, ret) < 0)
		return -1;
	(*ret)->attribute = arena_lower(p->arena, name);
	(*ret)->value = value;
	(*ret)->relation = relation;
	return 0;
}

static int parse_compare(struct parser *p, struct str name, size_t at, struct query_node **ret)
{
	size_t operator_at = p->at;
	bool less = peek_byte(p) == '<';
	p->at++;
	bool equal = peek_byte(p) == '=';
	p->at += equal;
	bool as_written = less && equal && peek_byte(p) == '>';
	p->at += as_written;
	skip_blanks(p);
	if (as_written && peek_byte(p) != '"' && ends_word(peek_byte(p)))
		return REFUSE(p, operator_at, "'<=>' needs a word or a phrase after it");
	if (as_written)
		return parse_as_written(p, name, at, ret);
	return compare_of(p, name,
			  less ? (equal ? QUERY_AT_MOST : QUERY_LESS)
			       : (equal ? QUERY_AT_LEAST : QUERY_MORE),
			  at, ret);
}

/* "10k..2M", either end of which may be missing. 1: it is not a range. */
static int parse_range(struct parser *p, struct query_node **ret)
{
	struct str text = bare_word(p, p->at);
	size_t n = str_find(text, STR(".."));
	if (n == text.n || text.n == 2)
		return 1;
	text = arena_str(p->arena, text);
	struct query_value from = query_value_asked(str_head(text, n));
	struct query_value to = query_value_asked(str_from(text, n + 2));
	if ((from.text.n && !value_is_one(&from)) || (to.text.n && !value_is_one(&to)))
		return 1;
	if (node_new(p, QUERY_COMPARE, p->at, ret) < 0)
		return -1;
	(*ret)->attribute = p->attribute;
	(*ret)->relation = from.text.n == 0 ? QUERY_AT_MOST
			   : to.text.n == 0 ? QUERY_AT_LEAST
					    : QUERY_BETWEEN;
	(*ret)->value = from.text.n ? from : to;
	if ((*ret)->relation == QUERY_BETWEEN)
		(*ret)->upto = to;
	p->at += text.n;
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
static int parse_negated(struct parser *p, bool taken_away, struct query_node **ret);
static bool take_minus(struct parser *p);
static bool operand_follows(const struct parser *p);
static int refuse_missing(struct parser *p, size_t at, const char *where);

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
	p->attribute = arena_lower(p->arena, name);
	p->depth++;
	int rc = negation_follows(p) ? parse_negated(p, false, ret) : parse_operand(p, ret);
	p->attribute = outer;
	p->depth--;
	return rc;
}

static int parse_everything(struct parser *p, struct query_node **ret)
{
	return node_new(p, QUERY_ALL, p->at++, ret);
}

/* Parts of an AND or an OR while they are read. */
struct parts {
	enum query_op op;
	struct query_node **kid;
	uint32_t n;
	size_t room;
};

/* A part of the same kind gives its own parts, so that the tree is flat. */
static void part_add(struct parser *p, struct parts *parts, struct query_node *kid)
{
	if (!kid)
		return;
	if (kid->op != parts->op) {
		*ARENA_PUSH(p->arena, parts->kid, parts->n, parts->room) = kid;
		return;
	}
	for (uint32_t i = 0; i < kid->kids; i++)
		*ARENA_PUSH(p->arena, parts->kid, parts->n, parts->room) = kid->kid[i];
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

/* "NEAR/8" that is a word of its own. */
static bool near_follows(const struct parser *p, struct str *ret, struct str *ret_distance)
{
	*ret = bare_word(p, p->at);
	*ret_distance = str_from(*ret, strlen("near/"));
	for (size_t i = 0; i < ret_distance->n; i++)
		if (!ascii_is_digit(ret_distance->p[i]))
			return false;
	return ret_distance->n && str_eq_nocase(str_head(*ret, strlen("near/")), STR("near/"));
}

static int refuse_near(struct parser *p, size_t at, struct str near)
{
	return REFUSE(p, at,
		      "'" STR_FMT "' needs a single word or pattern on either side, without '~'",
		      STR_ARG(str_head(near, 20)));
}

/* One with an attribute of its own ("name=value") is none: there is one for both. */
static bool is_near_word(const struct parser *p, const struct query_node *node)
{
	return node && node->op == QUERY_WORD && (node->plain || node->word[0].pattern) &&
	       str_eq(node->attribute, p->attribute);
}

/* The word after NEAR, as the one before it: without an attribute or an operator of its own. */
static int parse_near_word(struct parser *p, struct str near, const struct query_node *left,
			   struct query_node **ret)
{
	struct parser ahead = *p;
	struct str name;
	size_t at = p->at;
	int c = peek_byte(p);
	if (c == '(' || c == '<' || c == '>' || negation_follows(p) || match_follows(p) ||
	    query_mark(p).n || parse_name(&ahead, &name) != 0 ||
	    query_clause(&ahead, &name) != SELECT_NOTHING)
		return refuse_near(p, at, near);
	if (parse_words(p, ret) < 0)
		return -1;
	if (!is_near_word(p, *ret))
		return refuse_near(p, at, near);
	if ((*ret)->exact != left->exact)
		return REFUSE(p, at, "'=' stands before both words of NEAR or before none");
	return 0;
}

static int join_near(struct parser *p, const struct query_node *left,
		     const struct query_node *right, uint32_t distance, struct query_node **ret)
{
	ENSURE(right);
	if (node_new(p, QUERY_NEAR, left->at, ret) < 0)
		return -1;
	struct query_node *node = *ret;
	node->attribute = left->attribute;
	node->exact = left->exact;
	node->distance = distance;
	node->words = 2;
	node->word = arena_array(p->arena, 2, sizeof *node->word);
	node->word[0] = left->word[0];
	node->word[1] = right->word[0];
	node->plain = left->plain && right->plain;
	apply_options(p, node);
	return 0;
}

/* A word or phrase; words with NEAR between them, each near the next. */
static int parse_near(struct parser *p, struct query_node **ret)
{
	struct parts pairs = {.op = QUERY_AND};
	struct query_node *left = NULL, *right = NULL, *pair = NULL;
	struct str near, digits;
	size_t at = p->at;
	uint64_t distance;
	if (parse_words(p, &left) < 0)
		return -1;
	for (; near_follows(p, &near, &digits); left = right) {
		size_t near_at = p->at;
		if (!is_near_word(p, left))
			return refuse_near(p, near_at, near);
		if (!str_u64(digits, &distance) || distance == 0 || distance > QUERY_NEAR_MOST)
			return REFUSE(p, near_at, "'" STR_FMT "' is not NEAR/1 to NEAR/%d",
				      STR_ARG(str_head(near, 20)), QUERY_NEAR_MOST);
		p->at += near.n;
		skip_blanks(p);
		if (!operand_follows(p))
			return refuse_missing(p, near_at, "after");
		p->nodes += pairs.n > 0; /* the word counts in both pairs */
		if (parse_near_word(p, near, left, &right) < 0 ||
		    join_near(p, left, right, (uint32_t)distance, &pair) < 0)
			return -1;
		*ARENA_PUSH(p->arena, pairs.kid, pairs.n, pairs.room) = pair;
	}
	if (pairs.n)
		return join_parts(p, &pairs, at, ret);
	*ret = left;
	if (left)
		apply_options(p, left);
	return 0;
}

/* After a selector: something that can be its value. */
static bool value_follows(const struct parser *p)
{
	return operand_follows(p) && !query_is_keyword(p, bare_word(p, p->at)) && !query_mark(p).n;
}

static int parse_regexp(struct parser *p, struct str name, size_t at, struct query_node **ret)
{
	struct str text, outer = p->attribute;
	size_t value_at = p->at, slashes = 0;
	p->attribute = arena_lower(p->arena, name);
	if (match_follows(p)) {
		int rc = parse_match(p, ret);
		p->attribute = outer;
		return rc;
	}
	int rc = peek_byte(p) == '"' ? parse_quoted(p, &text) : query_bare_expression(p, &text);
	if (rc < 0)
		return -1;
	while (slashes < text.n && text.p[text.n - 1 - slashes] == '\\')
		slashes++;
	if (text.n == 0)
		return REFUSE(p, value_at, "an expression without a character");
	if (slashes % 2)
		return REFUSE(p, value_at, "an expression that ends with a backslash");
	rc = match_of(p, text, p->exact, at, ret);
	p->attribute = outer;
	return rc;
}

/* name selector value; p->at is at the selector. */
static int parse_selected(struct parser *p, struct str name, enum query_selector selector,
			  size_t at, struct query_node **ret)
{
	struct str word = bare_word(p, p->at);
	size_t selector_at = p->at;
	p->at += word.n;
	skip_blanks(p);
	if (!value_follows(p))
		return refuse_missing(p, selector_at, "after");
	if (check_depth(p, p->depth + 1, at) < 0)
		return -1;
	if (peek_byte(p) == '(' && selector != SELECT_REGEXP)
		return REFUSE(p, p->at,
			      "'" STR_FMT "' has a word or quotation marks after it, not brackets",
			      STR_ARG(word));
	switch (selector) {
	case SELECT_EXACT:
		return parse_as_written(p, name, at, ret);
	case SELECT_REGEXP:
		return parse_regexp(p, name, at, ret);
	case SELECT_LESS:
		return compare_of(p, name, QUERY_LESS, at, ret);
	case SELECT_MORE:
		return compare_of(p, name, QUERY_MORE, at, ret);
	case SELECT_NOTHING:
		break;
	}
	return 1;
}

/* "#allb" is every document. Other such words stand before the query. */
static int parse_mark(struct parser *p, struct str mark, struct query_node **ret)
{
	size_t at = p->at;
	if (!str_eq_nocase(mark, STR("#allb")))
		return REFUSE(p, at,
			      "'" STR_FMT
			      "' is not part of a query; in quotation marks it is a word",
			      STR_ARG(str_head(mark, 40)));
	p->at += mark.n;
	return node_new(p, QUERY_ALL, at, ret);
}

/* What only the Broker's grammar has. 1: it is nothing of that. */
static int parse_classic(struct parser *p, struct query_node **ret)
{
	struct str name, mark = query_mark(p);
	size_t at = p->at;
	if (mark.n)
		return parse_mark(p, mark, ret);
	enum query_selector selector = query_clause(p, &name);
	return selector == SELECT_NOTHING ? 1 : parse_selected(p, name, selector, at, ret);
}

static int parse_operand(struct parser *p, struct query_node **ret)
{
	struct str name;
	size_t at = p->at;
	int rc, c = peek_byte(p);
	if (check_depth(p, p->depth, at) < 0)
		return -1;
	if ((rc = parse_classic(p, ret)) != 1)
		;
	else if (c == '(')
		rc = parse_brackets(p, ret);
	else if (c == '<' || c == '>')
		return REFUSE(p, at, "'%c' needs the name of a number or a date before it", c);
	else if (c == '*' && bare_word(p, at).n == 1)
		rc = parse_everything(p, ret);
	else if (match_follows(p))
		rc = parse_match(p, ret);
	else if ((c = parse_name(p, &name)) == ':')
		rc = parse_attributed(p, name, ret);
	else if (c != 0)
		rc = parse_compare(p, name, at, ret);
	else if (!p->attribute.n || (rc = parse_range(p, ret)) == 1)
		rc = parse_near(p, ret);
	skip_blanks(p);
	struct str near, distance;
	if (rc == 0 && near_follows(p, &near, &distance))
		return refuse_near(p, p->at, near);
	struct str word = bare_word(p, p->at);
	if (rc == 0 && query_selector(p, word) != SELECT_NOTHING)
		return REFUSE(p, p->at, "'" STR_FMT "' needs the name of an attribute before it",
			      STR_ARG(word));
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
	struct str distance;
	return (query_is_keyword(p, word) && !str_eq_nocase(word, STR("not"))) ||
	       near_follows(p, &word, &distance);
}

/* There is something to take: not the end, a closing bracket or an operator between two. */
static bool operand_follows(const struct parser *p)
{
	return peek_byte(p) >= 0 && peek_byte(p) != ')' && !at_keyword(p);
}

/* taken_away: EXCEPT stands before it. */
static int parse_negated(struct parser *p, bool taken_away, struct query_node **ret)
{
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

static int parse_all(struct parser *p, struct query_node **ret)
{
	struct parts parts = {.op = QUERY_AND};
	size_t start = p->at, operator_at;
	bool except = false;
	do {
		struct query_node *kid = NULL;
		if (parse_negated(p, except, &kid) < 0)
			return -1;
		part_add(p, &parts, kid);
		operator_at = p->at;
		except = p->options.classic && take_keyword(p, "except");
		if ((except || take_keyword(p, "and")) && !operand_follows(p))
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

static int parse_whole(struct parser *p, struct query_node **ret)
{
	if (parse_any(p, ret) < 0)
		return -1;
	if (peek_byte(p) == ')')
		return REFUSE(p, p->at, "this bracket was not opened");
	ENSURE(p->at == p->text.n);
	return *ret ? 0 : node_new(p, QUERY_NOTHING, 0, ret);
}

int query_parse(struct str text, const struct query_options *options,
		const struct token_rules *rules, struct arena *arena, struct query *ret,
		struct err *err)
{
	struct parser p = {.text = text.n ? text : STR(""),
			   .rules = rules,
			   .arena = arena,
			   .err = err,
			   .options = options ? *options : (struct query_options){0},
			   .notes = BUF_INIT(NOTES_BYTES)};
	struct query_node *root;
	p.exact = p.options.exact;
	if (text.n > QUERY_TEXT_MOST)
		return err_set(err, ERR_USAGE, "a query of %zu bytes; at most %d are read", text.n,
			       QUERY_TEXT_MOST);
	if (p.options.errors > QUERY_ERRORS_MOST)
		return err_set(err, ERR_USAGE, "%u errors; at most %d are allowed",
			       p.options.errors, QUERY_ERRORS_MOST);
	int rc = parse_whole(&p, &root);
	if (rc == 0) {
		if (p.noted > NOTES_MOST)
			buf_printf(&p.notes, "and %u more\n", p.noted - NOTES_MOST);
		*ret = (struct query){.root = root,
				      .written = arena_str(arena, p.text),
				      .rules = rules,
				      .limit = 10};
		if (p.notes.n)
			ret->notes = arena_str(arena, buf_str(&p.notes));
	}
	buf_free(&p.notes);
	return rc;
}
