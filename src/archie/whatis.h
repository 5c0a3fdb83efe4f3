/* Descriptions of what files are for: the file archie/whatis, lines of name, TAB, description,
 * sorted by name, each name once. Searches read it through index/names.h. An import reads one text
 * in one of three forms, seen from its first line:
 *
 *   name TAB description
 *   Debian's Packages: stanzas with Package: and Description:, whose first line is taken
 *   what whatis(1) prints: name (1) - description; of "a, b (3) - ..." each name
 *
 * A known name gets the new description. The file is replaced in one step. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

enum {
	WHATIS_LINE_MOST = 1 << 20, /* bytes of an imported line */
	WHATIS_NAME_MOST = 255,
	WHATIS_TEXT_MOST = 4 << 10, /* of a description; longer ones are cut */
	WHATIS_FILE_MOST = 256 << 20,
	WHATIS_BAD_KEPT = 10, /* line numbers kept */
};

struct whatis_result {
	uint64_t read;            /* descriptions in the text */
	uint64_t added, replaced; /* all others were there with the same description */
	uint64_t names;           /* in the file now */
	uint64_t bad;             /* lines that were skipped */
	uint64_t bad_line[WHATIS_BAD_KEPT];
};

struct whatis_import;
/* folder: archie/. Nothing is read or written yet. */
struct whatis_import *whatis_import_new(const char *folder);
void whatis_import_free(struct whatis_import **w);
/* Takes the next line, without its end. ERR_USAGE: the first line that is not empty has none of
 * these forms, or there are too many descriptions. */
int whatis_import_line(struct whatis_import *w, struct str line, struct err *err);
/* Merges with the file and replaces it, unless nothing changed. ERR_BUSY: another import is
 * running.
 */
int whatis_import_end(struct whatis_import *w, struct whatis_result *ret, struct err *err);
