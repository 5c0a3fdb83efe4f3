/* Reads SOIF: plain objects, and update streams with their @DELETE, @REFRESH and @UPDATE sections
 * in any order and number. Liberal in what stands between objects; sizes are checked against the
 * limits before anything is allocated; values are slices of the bytes given, not copies.
 *
 *	struct soif_parser p = soif_parser_of(bytes); (or SOIF_PARSER_INIT and soif_feed())
 *	while ((rc = soif_next(&p, &arena, &obj, &err)) == 0) ...
 *
 * A rejected object is an error that names its place; calling soif_next() again goes on after
 * it. */
#pragma once
#include "soif/soif.h"

enum soif_section { SOIF_PLAIN, SOIF_DELETE, SOIF_REFRESH, SOIF_UPDATE };

enum {
	SOIF_MAX_NAME = 8191,    /* bytes of a type, a URL, an attribute's name; blanks in a row */
	SOIF_MAX_ATTRS = 100000, /* of an object */
	SOIF_MAX_VALUE = 64 << 20, /* bytes of a value, and of a whole object */
	SOIF_MAX_PASSED = 1 << 30, /* of a value that is passed unread; a larger size is a lie */
};

struct soif_parser {
	const char *p, *end, *start;
	uint64_t before;  /* bytes of input that came before `start` */
	uint64_t skipped; /* bytes outside of objects and sections that were not white space */
	enum soif_section section; /* of the object that was returned last */
	bool open;                 /* inside a section */
	bool more;                 /* bytes may still come by soif_feed() */
	bool resync;     /* an object was rejected: look for the next line that begins one */
	struct str bad;  /* URL of what was rejected last, empty where its head was not read; good
			  * as long as an object would be */
	bool passing;    /* an object was rejected for its size: on to its end */
	size_t skip;     /* bytes of its value that are still to come */
	size_t want;     /* bytes that must be there before trying again is worth it */
	struct buf held; /* what was fed and not yet used */
	/* Of the answer of a gatherer: */
	bool answer;
	size_t object_max; /* bytes of an object; 0: SOIF_MAX_VALUE */
	unsigned status;   /* the code of the line that ended it; 0: none yet */
	struct str line;   /* that line; good until more is fed */
	bool inside_line;  /* `start` does not begin a line */
};

/* All the bytes are there; they must outlive the objects. */
struct soif_parser soif_parser_of(struct str bytes);

/* Bytes in pieces: feed, take objects until 1, feed again; soif_feed_end() when no more will come.
 * Feeding invalidates the objects returned before. Fails when an object is larger than the limit.
 */
#define SOIF_PARSER_INIT \
	((struct soif_parser){.more = true, .held = BUF_INIT(2 * (size_t)SOIF_MAX_VALUE)})
/* The same for what a gatherer answers: sections, then a line with the code 499 or 099. Such a line
 * ends the answer: p->status has its code, and soif_next() says 1 from then on. So does any other
 * code ("103 - disk full") between two objects, but 000 and 400, which are passed. Where an object
 * was rejected 499 and 099 alone count up to the next, since what stands there may be of a value.
 * An object has at most `most` bytes, and no piece is larger than that. */
#define SOIF_ANSWER_INIT(most)                                              \
	((struct soif_parser){.more = true,                                 \
			      .held = BUF_INIT(2 * (size_t)(most) + 65536), \
			      .answer = true,                               \
			      .object_max = (most)})
enum { SOIF_ANSWER_END = 499, SOIF_ANSWER_END_OLD = 99 };
int soif_feed(struct soif_parser *p, struct str bytes, struct err *err);
void soif_feed_end(struct soif_parser *p);
void soif_parser_free(struct soif_parser *p);

/* 0: *ret is the next object, p->section says of what kind. 1: no more (until more is fed).
 * Negative: an object was rejected. */
int soif_next(struct soif_parser *p, struct arena *arena, struct soif *ret, struct err *err);
/* An object too large to be held, of which only some bytes are there: what stands before a value.
 * Both are negative (ERR_DAMAGED) when the bytes do not begin so, or are fewer than SOIF_SKIM and
 * end too early. */
enum { SOIF_SKIM = 2 * (SOIF_MAX_NAME + 1) + 32 };
/* From the object's first byte on. *ret: where the attributes begin. */
int soif_skim_head(struct str bytes, struct str *ret_url, size_t *ret, struct err *err);
/* From there, or from the end of a value on. 1: the object ends. ret->at: where the value begins.
 */
struct soif_place {
	struct str name;
	size_t at, n;
};
int soif_skim_attr(struct str bytes, struct soif_place *ret, struct err *err);
uint64_t soif_offset(const struct soif_parser *p);        /* where in the input it stands */
const char *soif_section_name(enum soif_section section); /* "DELETE" ...; "" for plain */
