/* The named character references of HTML: 2125 names that end in a semicolon, and the 106 old ones
 * of them that also count without. The table is made by script/html_entities.py. */
#pragma once
#include "base/str.h"

/* 0: *ret is the text (UTF-8, one or two characters) that the name, given without its semicolon,
 * stands for; 1: there is no such name. */
int html_entity(struct str name, struct str *ret) MUST_USE;

/* The longest old name that `text` begins with: its length, and *ret is what it stands for. 0:
 * none, *ret untouched. */
size_t html_entity_old(struct str text, struct str *ret);
