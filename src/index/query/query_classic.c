/* The grammar of Harvest's Broker, which its port speaks (doc/query.md, "Classic"), where it
 * differs from our own:
 *
 *   query   = "#allb" | any
 *   all     = not { [AND | EXCEPT] not }
 *   operand = ... | name selector value | "#allb" | '"' name "=" value '"'
 *
 * The parser in query.c is the same for both; here is how the words that only the Broker knows are
 * recognised. All functions say "nothing" without the option. */
#include "index/query/query_parser.h"

static const struct {
	const char *word;
	enum query_selector selector;
} selectors[] = {
	{"exact", SELECT_EXACT},
	{"regexp", SELECT_REGEXP},
	{"less-than", SELECT_LESS},
	{"greater-than", SELECT_MORE},
};

enum query_selector query_selector(const struct parser *p, struct str word)
{
	for (size_t i = 0; p->options.classic && i < ARRAY_LEN(selectors); i++)
		if (str_eq_nocase(word, str_of(selectors[i].word)))
			return selectors[i].selector;
	return SELECT_NOTHING;
}

bool query_is_keyword(const struct parser *p, struct str word)
{
	return str_eq_nocase(word, STR("and")) || str_eq_nocase(word, STR("or")) ||
	       str_eq_nocase(word, STR("not")) || query_selector(p, word) != SELECT_NOTHING ||
	       (p->options.classic && str_eq_nocase(word, STR("except")));
}

enum query_selector query_clause(struct parser *p, struct str *ret_name)
{
	bool quoted = peek_byte(p) == '"';
	struct str rest = str_from(p->text, p->at + quoted);
	struct str name = str_head(rest, name_length(rest));
	size_t at = p->at + quoted + name.n;
	if (!p->options.classic || name.n == 0 || query_is_keyword(p, name))
		return SELECT_NOTHING;
	if (quoted && byte_at(p, at++) != '"')
		return SELECT_NOTHING;
	while (is_blank(byte_at(p, at)))
		at++;
	enum query_selector selector = query_selector(p, bare_word(p, at));
	if (selector != SELECT_NOTHING) {
		*ret_name = name;
		p->at = at;
	}
	return selector;
}

struct str query_mark(const struct parser *p)
{
	int c = byte_at(p, p->at + 1);
	bool is_one =
		p->options.classic && peek_byte(p) == '#' && c >= 0 && ascii_is_letter((char)c);
	return is_one ? bare_word(p, p->at) : STR("");
}

size_t query_pair_name(const struct parser *p, struct str quoted)
{
	size_t n = name_length(quoted);
	bool is_pair = p->options.classic && p->attribute.n == 0 && n > 0 && n + 1 < quoted.n &&
		       quoted.p[n] == '=' && !query_is_keyword(p, str_head(quoted, n));
	return is_pair ? n : 0;
}

/* Up to a blank, a quotation mark, or the bracket that closes what it stands in. */
int query_bare_expression(struct parser *p, struct str *ret)
{
	size_t from = p->at, opened_at = 0, depth = 0, at = from;
	for (; at < p->text.n; at++) {
		char c = p->text.p[at];
		if (is_blank((unsigned char)c) || c == '"' || (c == ')' && depth == 0))
			break;
		if (c == '(' && depth++ == 0)
			opened_at = at;
		depth -= c == ')';
		at += c == '\\' && at + 1 < p->text.n;
	}
	if (depth)
		return REFUSE(
			p, opened_at,
			"this bracket is not closed before a blank; an expression with blanks "
			"stands in quotation marks");
	*ret = str_range(p->text.p + from, p->text.p + at);
	p->at = at;
	return 0;
}
