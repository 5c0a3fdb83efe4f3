/* Splits a line into words. Quotes may begin and end anywhere in a word, and a word may be empty,
 * so each word is copied, not cut out of the line. A \ at the very end stands for itself. */
#include "archie/shell/shell_inner.h"

#include "base/ascii.h"

/* One word from line.p[*at] on, where no blank is. false: a quote is not closed. */
static bool lex_word(struct str line, size_t *at, struct arena *arena, struct str *ret)
{
	char *to = arena_alloc(arena, line.n - *at + 1);
	size_t i = *at, n = 0;
	bool quoted = false;
	for (; i < line.n && (quoted || !ascii_is_blank(line.p[i])); i++) {
		if (line.p[i] == '"')
			quoted = !quoted;
		else if (line.p[i] == '\\' && i + 1 < line.n)
			to[n++] = line.p[++i];
		else
			to[n++] = line.p[i];
	}
	*at = i;
	*ret = (struct str){to, n};
	return !quoted;
}

int shell_lex(struct str line, struct arena *arena, struct str **ret, size_t *ret_n)
{
	struct str *word = NULL;
	size_t n = 0, room = 0, at = 0;
	for (;;) {
		while (at < line.n && ascii_is_blank(line.p[at]))
			at++;
		if (at == line.n)
			break;
		struct str *next = ARENA_PUSH(arena, word, n, room);
		if (!lex_word(line, &at, arena, next))
			return -1;
	}
	*ret = word;
	*ret_n = n;
	return 0;
}
