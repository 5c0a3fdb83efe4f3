/* Messages between notification servers and the queue manager (base/message.h;
 * doc/protocols/cache-link.md). */
#pragma once
#include "base/message.h"

enum {
	LINK_VERSION = 2,
	LINK_NAME_MAX = 32,
	LINK_TEXT_MAX = 200,        /* of a refusal */
	LINK_PIECE_MAX = 512 << 10, /* bytes of a piece as it is sent */
	LINK_SMALL_MAX = 512,     /* bytes of any message but a piece, and of what is around one */
	LINK_AHEAD_MAX = 8 << 20, /* bytes of sets that have not been answered, for a further one */
};

enum link_kind {
	LINK_QM,      /* qm: it is here, and takes sets */
	LINK_BUSY,    /* qm: it is here, and takes none */
	LINK_HAVE,    /* qm: the set is on disk */
	LINK_REFUSED, /* qm: the set is not taken, for good */
	LINK_UNS,     /* uns: who it is */
	LINK_SET,     /* uns: a set begins */
	LINK_PIECE,   /* uns: some of its notices */
	LINK_END,     /* uns: the set is whole */
};

struct link_message {
	uint64_t version;        /* QM: any; the reader compares it with LINK_VERSION */
	struct str name;         /* UNS */
	uint64_t number;         /* SET, END, HAVE, REFUSED: of the set, from 1 on */
	uint64_t provider, urls; /* SET */
	bool is_full;
	int64_t at_us; /* wall clock */
	struct str piece;
	uint32_t code; /* REFUSED: 100 to 999 */
	struct str text;
};

extern const struct message_wire link_of_qm, link_of_uns; /* what each of them may say */
extern const struct link_message link_greeting;           /* of QM */

/* Letters, digits, dots, underscores and hyphens: 1 to LINK_NAME_MAX. */
bool link_name_is_good(struct str name);
