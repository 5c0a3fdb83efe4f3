/* What garner-parse --listing says to its owner, over a pipe: records, each a head and as many
 * bytes as it says. Both sides are of one build and on one machine; the owner checks all of it
 * before it believes it. First comes a hello, last an end; a directory before the first entry in
 * it. */
#pragma once
#include "extract/listing_inner.h"
#include "extract/listing_run.h"

enum { WIRE_MAGIC = 0x67524c31, WIRE_MESSAGE = 256 };

enum wire_type { WIRE_HELLO = 1, WIRE_DIR, WIRE_ENTRY, WIRE_ALIVE, WIRE_END };

struct wire_head {
	uint32_t type, n;
};

struct wire_hello {
	uint32_t magic, locks;
};

/* Then the name, the owner and the group. */
struct wire_entry {
	int64_t links, size, time_s;
	uint32_t kind, name_n, owner_n, group_n; /* WIRE_UNTOLD: not told */
	char mode[16];                           /* the first ten; zeroes: not told */
};
#define WIRE_UNTOLD UINT32_MAX

struct wire_end {
	uint64_t lines, entries, bad, headings;
	uint64_t bad_line[LISTING_BAD_KEPT];
	uint32_t bad_why[LISTING_BAD_KEPT];
	uint64_t code;              /* 0: read to its end */
	char message[WIRE_MESSAGE]; /* why it was not; ends in NUL */
};

/* The longest: an entry whose three texts are as long as a line. */
enum {
	WIRE_MOST = sizeof(struct wire_head) + sizeof(struct wire_entry) +
		    (size_t)3 * LISTING_LINE_MOST,
	WIRE_ROOM = 512 << 10,  /* of the buffers on both sides */
	WIRE_FLUSH = 256 << 10, /* written at the latest with so many bytes */
};
_Static_assert(WIRE_MOST < WIRE_ROOM && WIRE_FLUSH + WIRE_MOST <= WIRE_ROOM, "a record fits");
_Static_assert(sizeof(struct wire_end) < LISTING_LINE_MOST, "as does the end");

/* An owner of what is read from a descriptor, which it closes; there is no worker to be ended. */
struct listing_run *listing_run_of(int fd, const struct listing_run_options *options);
