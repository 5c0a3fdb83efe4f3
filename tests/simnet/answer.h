/* One answer: what a host of the world says to a request at a moment. No input or output here. */
#pragma once
#include "simnet/world.h"

struct request {
	struct str method, path, host, if_none_match, if_modified_since;
	bool gzip, keep, http10;
};

/* Reads a head, up to and including its empty line. false: it is none. Slices point into it. */
bool request_parse(struct str head, struct request *ret);

/* What happens after the last byte. */
enum ending { ENDING_KEEP, ENDING_CLOSE, ENDING_RESET, ENDING_HANG };

struct answer {
	int status; /* 0: nothing was said */
	enum ending ending;
	int64_t wait_us;      /* before the first byte, and before each further piece */
	unsigned pieces;      /* that the bytes are sent in; 1: whole */
	int64_t not_before_s; /* Retry-After: seconds in which nobody should ask again; 0: none */
};

struct answerer;
struct answerer *answerer_new(const struct world *w);
void answerer_free(struct answerer **a);

/* Appends all bytes of the answer to `out`. host: whose name was asked for. nth: how many requests
 * the host has had before, for those that count. now_s: virtual; real_s: for the field Date. */
void answer_make(struct answerer *a, uint32_t host, bool alias, const struct request *r,
		 uint64_t nth, int64_t now_s, int64_t real_s, struct buf *out, struct answer *ret);
/* A plain answer of some status, for what is not of the world. */
void answer_status(int status, const char *text, struct buf *out, struct answer *ret);

void http_date_print(int64_t s, char ret[32]);
