/* Queries in any bytes: refused with words, or a tree within its limits that can be printed and
 * read back as the same. */
#include "index/query.h"
#include "index/token.h"

static uint32_t check(const struct query_node *node, int depth)
{
	uint32_t n = 1;
	ENSURE(depth <= 3 * QUERY_DEPTH_MOST + 3);
	ENSURE(node->op != QUERY_WORD || node->words == 1);
	ENSURE(node->op != QUERY_PHRASE || (node->words >= 2 && node->words <= QUERY_PHRASE_MOST));
	ENSURE(node->op != QUERY_NOT || (node->kids == 1 && node->kid[0]->op != QUERY_NOT));
	ENSURE((node->op != QUERY_AND && node->op != QUERY_OR) || node->kids >= 2);
	for (uint32_t i = 0; i < node->words; i++)
		ENSURE(node->word[i].term.n > 0 && node->word[i].form.n > 0);
	for (uint32_t i = 0; i < node->kids; i++) {
		ENSURE(node->kid[i]->op != node->op);
		n += check(node->kid[i], depth + 1);
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct buf once = BUF_INIT(1 << 22), twice = BUF_INIT(1 << 22);
	static struct token_rules *rules; /* opened once: it takes longer than a query */
	struct query q;
	struct err err = {0};
	ENSURE(rules || token_rules_open(&rules, STR(""), &err) == 0);
	if (query_parse((struct str){(const char *)data, size}, NULL, rules, &arena, &q, &err) ==
	    0) {
		ENSURE(check(q.root, 0) <= QUERY_NODES_MOST);
		query_print(q.root, &once);
		if (once.n <= QUERY_TEXT_MOST) {
			ENSURE(query_parse(buf_str(&once), NULL, rules, &arena, &q, &err) == 0);
			query_print(q.root, &twice);
			ENSURE(str_eq(buf_str(&once), buf_str(&twice)));
		}
	} else {
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
	}
	buf_free(&once);
	buf_free(&twice);
	arena_free(&arena);
	return 0;
}
