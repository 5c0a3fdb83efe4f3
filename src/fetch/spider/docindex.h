/* The doc index, as a URL server sees it: where URLs come from, and where it is told what became of
 * them. Two kinds: a file with one URL per line, whose outcomes are kept in a file next to it, so
 * that a killed URL server goes on where it was; and a remote one, over the protocol of
 * docindex_wire.h.
 *
 * Belongs to one loop. What was reported and is not durable yet is lost with the process: its URL
 * is handed out again then. */
#pragma once
#include "disk/format.h"
#include "fetch/spider/docindex_wire.h"
#include "net/loop.h"

struct dns_conf;
struct docindex;
struct tls;

/* Whose it is. Called from the loop, never from inside a function of this header; slices are good
 * during the call. */
struct docindex_host {
	/* A URL, as docindex_is_url() wants it. One may come twice, after a connection was lost;
	 * and those of an answer that was cut off are good. */
	void (*url)(void *ctx, struct str doc_id, struct str url);
	/* The answer to want() is complete: so many URLs came; 0: ask again after wait_us. */
	void (*have)(void *ctx, uint64_t urls, int64_t wait_us);
	void *ctx;
};

struct docindex_ops {
	/* Asks for up to `count` URLs (1 to DOCINDEX_COUNT_MAX), none of these hosts, which are
	 * copied. Not again before have(). */
	void (*want)(struct docindex *d, uint64_t count, const struct str *rejects, size_t n);
	/* Of a URL that was handed out. */
	void (*done)(struct docindex *d, struct str doc_id, struct str url, unsigned outcome);
	/* How many reports are not durable yet. */
	uint64_t (*waiting)(const struct docindex *d);
	/* What was reported is made durable, where this needs nobody else. Nothing is called any
	 * more. Not from inside a callback. */
	int (*free)(struct docindex **d, struct err *err);
};

struct docindex {
	const struct docindex_ops *ops;
};

struct docindex_options {
	struct loop *loop;
	const char *where;          /* "file:PATH", or an address as outgoing.h takes it */
	const char *data;           /* what a relative PATH is below */
	const char *name;           /* of this client, a word; of a remote one */
	const struct tls *tls;      /* of a remote one; NULL: none */
	const struct dns_conf *dns; /* for the name of a remote one */
	const struct docindex_host *host;
};

/* ERR_USAGE: `where` names nothing that could be one. */
int docindex_open(struct docindex **ret, const struct docindex_options *o, struct err *err);
/* The same question alone, for those who check settings. */
int docindex_may_open(const char *where, const struct tls *tls, struct err *err);
/* What a client of a doc index is called: the setting `name`, a word, or of its instance and this
 * machine one that is not likely to be another's. */
int docindex_client_name(const char *said, const char *instance, char ret[DOCINDEX_WORD_MAX + 1],
			 struct err *err);

/* Each kind; `where` without its prefix. */
int docindex_file_open(struct docindex **ret, const char *path, const struct docindex_options *o,
		       struct err *err);
int docindex_remote_open(struct docindex **ret, const struct docindex_options *o, struct err *err);
