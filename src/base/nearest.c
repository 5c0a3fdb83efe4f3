/* Edit distance with one row: names are short. */
#include "base/nearest.h"

#include "base/ascii.h"

#include <stdio.h>

/* As names compare when somebody types them. */
static char typed_char(char c)
{
	return c == '-' ? '_' : ascii_lower(c);
}

/* Edits that turn a into b; both are shorter than NEAREST_NAME. */
static size_t edits_between(struct str a, struct str b)
{
	size_t row[NEAREST_NAME];
	for (size_t j = 0; j <= b.n; j++)
		row[j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			size_t above = row[j];
			size_t change =
				diagonal + (typed_char(a.p[i - 1]) != typed_char(b.p[j - 1]));
			row[j] = MIN(MIN(above, row[j - 1]) + 1, change);
			diagonal = above;
		}
	}
	return row[b.n];
}

/* A beginning is as near as one wrong letter. false: it is not near. */
static bool is_near(struct str wanted, struct str name, size_t *ret_edits)
{
	if (wanted.n >= NEAREST_NAME || name.n >= NEAREST_NAME)
		return false;
	size_t most = wanted.n < 2 ? 0 : wanted.n < 4 ? 1 : 2;
	size_t edits = edits_between(wanted, name);
	if (edits > 1 && wanted.n >= 2 && wanted.n < name.n &&
	    edits_between(wanted, str_head(name, wanted.n)) == 0)
		edits = 1;
	if (edits > most)
		return false;
	*ret_edits = edits;
	return true;
}

bool nearest_is_near(struct str wanted, struct str name)
{
	size_t edits;
	return is_near(wanted, name, &edits);
}

void nearest_try(struct nearest *near, const char *name)
{
	size_t edits;
	if (!is_near(near->wanted, str_of(name), &edits) || (near->name[0] && edits >= near->edits))
		return;
	snprintf(near->name, sizeof near->name, "%s", name);
	near->edits = edits;
}

const char *nearest_words(struct nearest *near)
{
	near->words[0] = 0;
	if (near->name[0])
		snprintf(near->words, sizeof near->words, "; did you mean '%s%s'?",
			 near->before ? near->before : "", near->name);
	return near->words;
}
