/* Where the document of a URL lies. */
#pragma once
#include "index/segment.h"
#include "index/words.h"

/* 1: the snapshot has none. */
int words_find(struct words_reader *words, struct str url, struct docaddr *ret, struct err *err);
