/* SOIF objects: what a gatherer tells a broker of one document. A type, a URL, and attributes whose
 * values are any bytes. Objects are slices in an arena or in the bytes they were parsed from; both
 * must outlive them. Names compare without regard to case; of two attributes with one name the
 * later counts; input order is kept. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

struct soif_attr {
	struct str name, value;
};

struct soif {
	struct str type; /* "FILE" for documents */
	struct str url;
	struct soif_attr *attr;
	size_t n, room;
	bool truncated; /* the input ended inside it; complete attributes only */
};

/* The value of an attribute; p is NULL when it is not there. */
struct str soif_get(const struct soif *obj, struct str name);

/* Each copies neither name nor value, only grows the list in the arena. */
void soif_add(struct soif *obj, struct arena *arena, struct str name, struct str value);
void soif_set(struct soif *obj, struct arena *arena, struct str name, struct str value);
/* The old value, a line feed, the new one. */
void soif_append(struct soif *obj, struct arena *arena, struct str name, struct str value);
void soif_merge(struct soif *into, struct arena *arena, const struct soif *from); /* from wins */
/* A copy that depends on nothing but the arena. */
struct soif soif_copy(struct arena *arena, const struct soif *obj);

/* Order of names without regard to case; what is embedded sinks to the end, by number, then name.
 */
void soif_sort(struct soif *obj);

/* Canonical form; attributes without bytes are left out. Type, URL or a name that could not be read
 * back (blanks in a URL, a brace in a name) are refused with ERR_USAGE and nothing is printed. */
int soif_print(const struct soif *obj, struct buf *out, struct err *err);

/* Whether a URL could be read back. */
bool soif_url_fits(struct str url);

/* Numbers: decimal, blanks around them allowed. false: absent or not a number; *ret is untouched.
 */
bool soif_u64(const struct soif *obj, struct str name, uint64_t *ret);

/* The bookkeeping attributes, with the documents' defaults. */
enum { SOIF_REFRESH_RATE_S = 604800, SOIF_TIME_TO_LIVE_S = 2419200 };
struct soif_book {
	struct str gatherer_name, gatherer_host, gatherer_version;
	uint64_t update_time_s;            /* required */
	uint64_t last_modification_time_s; /* 0 */
	uint64_t refresh_rate_s, time_to_live_s;
	bool has_md5;
	unsigned char md5[16];
};
/* Fails when Update-Time is missing or any of the others is there but cannot be read. */
int soif_book(const struct soif *obj, struct soif_book *ret, struct err *err);
/* The same object: gatherer and time agree, and the URL or the MD5 (an absent one never does). */
bool soif_same(const struct soif *a, const struct soif_book *book_a, const struct soif *b,
	       const struct soif_book *book_b);

/* Embedded objects (files inside archives) are attributes called Embed<N>-NAME, N from 1. */
bool soif_embedded(struct str name, uint64_t *ret_number, struct str *ret_inner);
uint64_t soif_embed_count(const struct soif *obj); /* the highest N, 0: none */
/* Adds it as the next N. */
void soif_embed(struct soif *obj, struct arena *arena, const struct soif *inner);
/* The attributes of number N as an object with the outer type and URL. 1: there are none. */
int soif_unembed(const struct soif *obj, uint64_t number, struct arena *arena, struct soif *ret);
