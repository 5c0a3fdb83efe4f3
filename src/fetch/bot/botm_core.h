/* The botm without its settings: between one source of URLs and many fetchers (document 004,
 * section 7). Robots or other botms connect to it, it connects to its source.
 *
 * With a folder it has robots, and owns the names of the files that they write (botm_names.h).
 * Without one it has botms, each with the machines below it, and passes on what they say.
 *
 * It keeps a request while the URL is queued or being fetched, and then its answer, until the
 * source has said whether to keep the file. When the source disconnects, jobs that are still queued
 * are dropped; fetches go on, and their answers are sent when the source is back. A source that no
 * longer knows an answer says so.
 *
 * Belongs to one loop and its thread; a second thread removes files. */
#pragma once
#include "net/loop.h"
#include "net/server.h"

struct botm;
struct dns_conf;

struct botm_options {
	struct loop *loop;
	const char *folder;         /* "": a botm of botms, and machine and data mean nothing */
	const char *data;           /* the data directory: names are in its garner.db */
	const char *machine;        /* bot_is_machine() */
	const char *source;         /* where it connects to */
	const struct dns_conf *dns; /* resolves its name; NULL: the machine's name servers */
	const struct server_limits *limits;
	const struct tls *tls, *tls_source; /* NULL: none */
	unsigned overload;                  /* percent that a botm is filled beyond its capacity */
	/* Called when a file cannot be written: the process should end. */
	void (*failed)(void *ctx, const struct err *err);
	void *ctx;
};

/* Texts and limits must outlive it. Negative: a file failed, or `source` is malformed. */
int botm_new(struct botm **ret, const struct botm_options *options, struct err *err);
int botm_listen(struct botm *b, int fd, struct err *err);
/* Waits for the disk. Do not call it from a callback. */
void botm_free(struct botm **b);

struct botm_counts {
	/* Ever. */
	uint64_t fetches, answers, failures; /* that were taken; of those, stored; and not */
	uint64_t again;                      /* given to another fetcher, for theirs was gone */
	uint64_t no_file; /* answers of robots that were not true: the file is not there */
	uint64_t kept, dropped, deleted, refused;
	/* Now. */
	uint64_t children, machines, capacity, queued, out, unanswered;
	uint64_t names_free, names_stored, names_kept;
	bool has_source;
};
void botm_counts(const struct botm *b, struct botm_counts *ret);
