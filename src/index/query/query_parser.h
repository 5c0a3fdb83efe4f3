/* The parser of queries: what query.c reads with, and query_classic.c too. */
#pragma once
#include "base/ascii.h"
#include "index/query/query_inner.h"

struct parser {
	struct str text;
	size_t at; /* of the next byte */
	const struct token_rules *rules;
	struct arena *arena;
	struct err *err;
	struct str attribute; /* that applies here */
	bool exact;
	uint32_t depth, nodes, matches;
	struct query_options options;
	struct buf notes;
	uint32_t noted;
};

#define REFUSE(p, at, fmt, ...)                                                                    \
	err_set((p)->err, ERR_USAGE, "query, character %zu: " fmt, query_character((p)->text, at), \
		##__VA_ARGS__)

/* -1: the end. */
static inline int byte_at(const struct parser *p, size_t at)
{
	return at < p->text.n ? (unsigned char)p->text.p[at] : -1;
}

static inline int peek_byte(const struct parser *p)
{
	return byte_at(p, p->at);
}

static inline bool is_blank(int c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static inline void skip_blanks(struct parser *p)
{
	while (is_blank(peek_byte(p)))
		p->at++;
}

static inline bool ends_word(int c)
{
	return c < 0 || is_blank(c) || c == '(' || c == ')' || c == '"';
}

static inline struct str bare_word(const struct parser *p, size_t from)
{
	size_t to = from;
	while (to < p->text.n && !ends_word((unsigned char)p->text.p[to]))
		to++;
	return str_range(p->text.p + from, p->text.p + to);
}

/* How many bytes of a text can be the name of an attribute. */
static inline size_t name_length(struct str text)
{
	size_t n = 0;
	while (n < text.n && (ascii_is_letter(text.p[n]) ||
			      (n && (ascii_is_digit(text.p[n]) || text.p[n] == '-' ||
				     text.p[n] == '_' || text.p[n] == '.'))))
		n++;
	return n;
}

/* The classic grammar, where `options.classic` is set: query_classic.c. */

/* What stands between an attribute and its value. */
enum query_selector {
	SELECT_NOTHING, /* it is not one of them */
	SELECT_EXACT,
	SELECT_REGEXP,
	SELECT_LESS,
	SELECT_MORE,
};

/* What a bare word says; without `classic` always SELECT_NOTHING. */
enum query_selector query_selector(const struct parser *p, struct str word);
/* Operators, which are not names of attributes, of either grammar. */
bool query_is_keyword(const struct parser *p, struct str word);
/* A name and a selector: p->at moves to the selector. SELECT_NOTHING: it stays. */
enum query_selector query_clause(struct parser *p, struct str *ret_name);
/* "#" and a letter, which begin a word of the protocol; empty: it is not one. */
struct str query_mark(const struct parser *p);
/* How long the name in "name=value" is; 0: the text between the quotation marks is a phrase. */
size_t query_pair_name(const struct parser *p, struct str quoted);
/* An expression without quotation marks, whose brackets are its own. */
int query_bare_expression(struct parser *p, struct str *ret);
