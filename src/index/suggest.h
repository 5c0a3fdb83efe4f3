/* Words that hardly any document has, and their neighbours: what did-you-mean offers and what
 * `forgive` searches as well.
 *
 * Rare is what at most one document of SUGGEST_RARE has, deleted ones counted as they are in
 * ranking; so in a small index only what no document has. Neighbours are the words within one
 * error, or within two of a word of SUGGEST_LONG letters and more; two neighbouring letters that
 * were swapped are one error. Terms are compared: in an index with a stemmer, stems. */
#pragma once
#include "index/terms.h"

enum { SUGGEST_RARE = 20000, SUGGEST_LONG = 8 };

static inline bool suggest_is_rare(uint64_t df, uint64_t docs)
{
	return df <= docs / SUGGEST_RARE;
}
/* What a word and its neighbours are found by. false: it is too short to have any. The term is
 * kept, not copied. */
bool suggest_neighbours(struct str term, struct terms_want *ret);
/* Both, for a word of a query in the parts of a snapshot. attribute: as of a query's node. 1:
 * enough documents have it, or it is too short. */
int suggest_forgives(const struct words_part *part, size_t parts, struct str attribute,
		     struct str term, struct terms_want *ret, struct err *err);
