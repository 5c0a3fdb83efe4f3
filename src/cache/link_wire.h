/* Lines of the link between notification servers and the queue manager, both sides'
 * (doc/protocols/cache-link.md). Pure functions; whatever is not exactly such a line is refused,
 * and what is read, printed again, is the same line. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
	LINK_LINE_MAX = 512, /* bytes without its line feed: setting of either side's connections */
	LINK_NAME_MAX = 32,
	LINK_TEXT_MAX = 200,        /* of REFUSED */
	LINK_PIECE_MAX = 512 << 10, /* bytes of a piece as it is sent */
	LINK_AHEAD_MAX = 8 << 20, /* bytes of sets that have not been answered, for a further one */
};

#define LINK_KINDS(X)                                              \
	X(QM, "QM")           /* qm: it is here, and takes sets */ \
	X(BUSY, "BUSY")       /* qm: it is here, and takes none */ \
	X(UNS, "UNS")         /* uns: who it is */                 \
	X(SET, "SET")         /* uns: a set begins */              \
	X(PIECE, "PIECE")     /* uns: bytes follow */              \
	X(END, "END")         /* uns: the set is whole */          \
	X(HAVE, "HAVE")       /* qm: the set is on disk */         \
	X(REFUSED, "REFUSED") /* qm: the set is not taken, for good */

enum link_kind {
#define X(symbol, word) LINK_##symbol,
	LINK_KINDS(X)
#undef X
		LINK_NKINDS
};

struct link_line {
	enum link_kind kind;
	struct str name;         /* UNS */
	uint64_t number;         /* SET, END, HAVE, REFUSED: of the set, from 1 on */
	uint64_t provider, urls; /* SET */
	bool is_full;
	int64_t at_us;   /* wall clock */
	uint64_t bytes;  /* PIECE: 1 to LINK_PIECE_MAX */
	unsigned code;   /* REFUSED: 100 to 999 */
	struct str text; /* printable ASCII, not empty */
};

/* Letters, digits, dots, underscores and hyphens: 1 to LINK_NAME_MAX. */
bool link_name_is_good(struct str name);

/* line: without its line feed; slices of *ret are in it. ERR_USAGE: not such a line; err names it
 * without repeating what may be long. */
int link_line_read(struct str line, struct link_line *ret, struct err *err);
/* With its line feed. Of `text` what is not printable ASCII becomes '?', and what is too long is
 * cut. */
void link_line_print(const struct link_line *l, struct buf *out);
