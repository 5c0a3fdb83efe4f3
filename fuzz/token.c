/* Words in any bytes: they lie in the text one behind the other, within their limits, and a term
 * that is looked for gives itself. */
#include "index/token.h"

static void check(const struct token_rules *rules, struct str text)
{
	struct tokens t, again;
	struct token token, same;
	const char *last = text.p;
	uint32_t position = 0;
	tokens_init(&t, rules, text, 0);
	while (tokens_next(&t, &token) == 0) {
		ENSURE(token.form.p >= last && token.form.n > 0 && token.term.n > 0);
		ENSURE(token.form.n <= TOKEN_FORM_MOST && token.term.n <= TOKEN_TERM_MOST);
		ENSURE(token.position == position++);
		ENSURE(token.plain == str_eq(token.form, token.term));
		last = token.form.p + token.form.n;
		ENSURE(last <= text.p + text.n);
		tokens_init(&again, rules, token.form, 5);
		ENSURE(tokens_next(&again, &same) == 0 && same.position == 5);
		ENSURE(str_eq(same.form, token.form) && str_eq(same.term, token.term));
		ENSURE(tokens_next(&again, &same) == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err;
	static struct token_rules *opened[2]; /* once: it takes longer than a text */
	static const struct str languages[] = {{"", 0}, {"german", 6}};
	if (size < 1 || size > 1 << 16)
		return 0;
	struct token_rules **rules = &opened[data[0] & 1];
	ENSURE(*rules || token_rules_open(rules, languages[data[0] & 1], &err) == 0);
	check(*rules, (struct str){(const char *)data + 1, size - 1});
	return 0;
}
