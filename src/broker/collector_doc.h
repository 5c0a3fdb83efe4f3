/* Which words and numbers of an object go into the index. */
#pragma once
#include "index/words.h"

/* The settings of the broker's index. */
void collector_settings(struct words_settings *ret);
/* The document of an object; slices of it and of the arena. The URL is its key. */
void collector_doc(const struct soif *obj, struct docaddr addr, struct arena *arena,
		   struct words_doc *ret);
