/* The head of an answer, as it comes in, line by line: what a robot has to know of it. Foreign
 * bytes: nothing here fails, what cannot be read is as if it had not been said. Everything is
 * bounded; what is too long to be used is dropped, never cut. */
#pragma once
#include "base/buf.h"
#include "url/url.h"

enum {
	ROBOT_ETAG_MAX = 512,
	ROBOT_DATE_MAX = 64, /* of a Last-Modified that is worth sending back */
	ROBOT_MIME_MAX = 127,
	ROBOT_CHARSET_MAX = 40,
	ROBOT_FIELD_MAX = 64 << 10, /* a longer field is not looked at */
	ROBOT_CODING_MAX = 256,     /* of all Content-Encodings; more are none that we know */
};

/* Directives of X-Robots-Tag. */
#define ROBOT_DIRECTIVES(X)                       \
	X(NOINDEX, "noindex")                     \
	X(NOFOLLOW, "nofollow")                   \
	X(NOARCHIVE, "noarchive")                 \
	X(NOSNIPPET, "nosnippet")                 \
	X(NOIMAGEINDEX, "noimageindex")           \
	X(NOTRANSLATE, "notranslate")             \
	X(INDEXIFEMBEDDED, "indexifembedded")     \
	X(UNAVAILABLE_AFTER, "unavailable_after") \
	X(MAX_SNIPPET, "max-snippet")             \
	X(MAX_IMAGE_PREVIEW, "max-image-preview") \
	X(MAX_VIDEO_PREVIEW, "max-video-preview")

enum robot_directive {
#define X(symbol, name) ROBOT_##symbol,
	ROBOT_DIRECTIVES(X)
#undef X
		ROBOT_NDIRECTIVES
};
const char *robot_directive_name(enum robot_directive d);

struct robot_tag {
	unsigned set;                 /* a bit for each enum robot_directive */
	int64_t unavailable_after_us; /* -1: not said, or no date */
};

struct robot_head {
	int status;       /* 0: no status line yet */
	bool is_complete; /* the empty line after a final head has come: the rest are trailers */
	char mime[ROBOT_MIME_MAX + 1]; /* lower case; "": none */
	char charset[ROBOT_CHARSET_MAX + 1];
	/* byte for byte; "": none, or one that could not be sent back */
	char etag[ROBOT_ETAG_MAX + 1], last_modified[ROBOT_DATE_MAX + 1];
	struct buf coding;   /* Content-Encoding; several are one list */
	struct buf location; /* as it came; the first one counts */
	bool has_location;
	int64_t retry_after_us; /* -1: not said; a date is told from the answer's own, else from
				   now_us */
	int64_t length;         /* Content-Length; -1: not said, or said twice and not the same */
	bool is_identity;       /* Transfer-Encoding: identity, which was once a way to say none */
	bool has_odd_transfer;  /* a Transfer-Encoding other than that and chunked */
	struct robot_tag tag;   /* what holds for us */
	struct str agent;       /* whom directives are for; the caller's */
	int64_t now_us;         /* wall clock when the head began, for dates */
	int field;              /* the field that is being collected; -1: none, or not ours */
	struct buf value;       /* of that field */
	struct buf retry, date; /* fields that wait for the end */
};

/* agent: a product token, "garner". It must outlive the head. */
void robot_head_init(struct robot_head *h, struct str agent);
void robot_head_free(struct robot_head *h);
/* Before each request. */
void robot_head_begin(struct robot_head *h, int64_t now_wall_us);
/* The next line with or without its end; folded ones are joined. Interim answers (1xx) are
 * forgotten when the next status line comes. */
void robot_head_line(struct robot_head *h, struct str line);

/* The parts, for callers that have a value alone. */

/* Whether a validator may be sent back: it is not empty, at most `most` bytes long, and nothing in
 * it would end the line or the text (RFC 9110, 5.5). Others came from servers that do not know what
 * they say, and are as good as none. */
bool robot_can_send(struct str validator, size_t most) MUST_USE;

/* The three forms of RFC 9110, 5.6.7, in any case and with one-digit days. A year of two digits is
 * at most 50 years ahead of now. false: no date. */
bool robot_date(struct str value, int64_t now_us, int64_t *ret_us) MUST_USE;
/* Seconds, or a date from which `date_us` (the answer's own, -1: now) is taken off; 0 when it is
 * past. false: neither. */
bool robot_retry_after(struct str value, int64_t date_us, int64_t now_us, int64_t *ret_us) MUST_USE;
/* The last valid type of a value; "text/html; charset=\"UTF-8\"" is text/html and utf-8. false:
 * there is none, and nothing is changed. The charset is "" where none is said. */
bool robot_content_type(struct str value, char mime[ROBOT_MIME_MAX + 1],
			char charset[ROBOT_CHARSET_MAX + 1]) MUST_USE;
/* Adds what one X-Robots-Tag says: directives before the first name are for everybody, those after
 * a name for the robot of that name. "none" is noindex and nofollow. */
void robot_tag_add(struct robot_tag *tag, struct str value, struct str agent, int64_t now_us);
