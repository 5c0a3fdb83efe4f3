/* Queries as text again. */
#include "index/query_inner.h"

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
