/* Queries as text again: for people, who see brackets around all that belongs together, and so that
 * reading it gives the same tree. */
#include "index/query/query_inner.h"

static const char *const relations[] = {"<", "<=", ">", ">=", ":"};

static void print_attribute(const struct query_node *node, struct buf *out)
{
	if (node->attribute.n)
		buf_printf(out, STR_FMT " : ", STR_ARG(node->attribute));
}

static void print_form(const struct query_node *node, uint32_t word, struct buf *out)
{
	buf_add_text(out, node->exact ? "=\"" : "\"");
	buf_add_str(out, node->word[word].form);
	buf_add_byte(out, '"');
}

/* In an attribute the text is kept as it was written, because it may be a value of a column: "-5",
 * "example.org". */
void query_print_quoted(const struct query_node *node, struct buf *out)
{
	bool value = node->attribute.n && node->value.text.n;
	buf_add_byte(out, '"');
	if (value)
		buf_add_str(out, node->value.text);
	for (uint32_t i = 0; !value && i < node->words; i++) {
		buf_add_text(out, i ? " " : "");
		buf_add_str(out, node->word[i].form);
	}
	buf_add_byte(out, '"');
}

static void print_words(const struct query_node *node, struct buf *out)
{
	if (node->whole) {
		buf_printf(out, STR_FMT " <=> ", STR_ARG(node->attribute));
		query_print_quoted(node, out);
		return;
	}
	print_attribute(node, out);
	buf_add_text(out, node->exact ? "=" : "");
	query_print_quoted(node, out);
	if (node->plain || node->errors == 0)
		return;
	buf_add_byte(out, '~');
	if (node->errors != QUERY_ERRORS_BEST)
		buf_printf(out, "%d", node->errors);
}

static void print_near(const struct query_node *node, struct buf *out)
{
	print_attribute(node, out);
	print_form(node, 0, out);
	buf_printf(out, " NEAR/%u ", node->distance);
	print_form(node, 1, out);
}

static void print_match(const struct query_node *node, struct buf *out)
{
	struct str rest = node->match;
	print_attribute(node, out);
	buf_add_text(out, node->exact ? "=/" : "/");
	while (rest.n) {
		size_t n = rest.p[0] == '\\' ? 2 : 1;
		buf_add_text(out, rest.p[0] == '/' ? "\\" : "");
		buf_add_str(out, str_head(rest, n));
		rest = str_from(rest, n);
	}
	buf_add_byte(out, '/');
}

/* A range has no quotation marks: the two ends were written without. */
static void print_compare(const struct query_node *node, struct buf *out)
{
	if (node->relation == QUERY_BETWEEN) {
		print_attribute(node, out);
		buf_printf(out, STR_FMT ".." STR_FMT, STR_ARG(node->value.text),
			   STR_ARG(node->upto.text));
		return;
	}
	buf_printf(out, STR_FMT " %s \"" STR_FMT "\"", STR_ARG(node->attribute),
		   relations[node->relation], STR_ARG(node->value.text));
}

static void print_node(const struct query_node *node, enum query_op in, bool terse,
		       struct buf *out);

static void print_kids(const struct query_node *node, enum query_op in, bool terse, struct buf *out)
{
	bool needless = in == QUERY_NOTHING || (in == QUERY_OR && node->op == QUERY_AND);
	bool brackets = !terse || !needless;
	buf_add_text(out, brackets ? "(" : "");
	for (uint32_t i = 0; i < node->kids; i++) {
		buf_add_text(out, i == 0 ? "" : node->op == QUERY_AND ? " AND " : " OR ");
		print_node(node->kid[i], node->op, terse, out);
	}
	buf_add_text(out, brackets ? ")" : "");
}

/* in: what it stands in; NOTHING: it is the whole. */
static void print_node(const struct query_node *node, enum query_op in, bool terse, struct buf *out)
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
	case QUERY_NEAR:
		print_near(node, out);
		return;
	case QUERY_MATCH:
		print_match(node, out);
		return;
	case QUERY_COMPARE:
		print_compare(node, out);
		return;
	case QUERY_AND:
	case QUERY_OR:
		print_kids(node, in, terse, out);
		return;
	case QUERY_NOT:
		buf_add_text(out, "NOT ");
		print_node(node->kid[0], QUERY_NOT, terse, out);
		return;
	}
}

static uint32_t depth_of(const struct query_node *node)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < node->kids; i++) {
		uint32_t depth = depth_of(node->kid[i]);
		most = MAX(most, depth);
	}
	return most + (node->op == QUERY_AND || node->op == QUERY_OR);
}

/* Brackets that could be left out may be one too many to be read back; then they are. */
void query_print(const struct query_node *node, struct buf *out)
{
	print_node(node, QUERY_NOTHING, depth_of(node) >= QUERY_DEPTH_MOST, out);
}
