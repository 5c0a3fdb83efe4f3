/* A robot of the fabric (document 004, section 8): requests in XML come down a connection, URLs are
 * fetched into files, answers go up when the files are on disk. It connects to its botm, again and
 * again, or it listens for people who type. doc/protocols/bot.md has the messages.
 *
 * - A file has its name when it is complete and while those who asked for it are connected; one
 *   sync serves all files that wait for it, in a thread of its own, and answers follow it.
 * - When a connection ends, all that it had asked for is cancelled.
 * - What belongs to a provider's contract (delay, robots) is taken from a botm alone.
 *
 * One loop and its thread. */
#pragma once
#include "base/beneath.h"
#include "fetch/kit.h"
#include "net/server.h"

struct bot;

struct bot_options {
	struct kit *kit;
	const struct robot_section_conf *robot;
	const char *folder; /* absolute */
	uint64_t parallel;  /* fetches at a time, which it announces */
	uint64_t disk_free; /* bytes; while less is free there it announces 0 */
	/* Where its botm is; NULL: it listens. */
	const char *botm;
	const struct server_limits *limits;
	const struct tls *tls; /* of the one side or the other; NULL: none */
	/* For the log. */
	void (*said)(void *ctx, bool is_trouble, const char *what, const char *who);
	void *ctx;
};

struct bot_counts {
	uint64_t fetches, stored, unchanged, failed, cancelled, syncs, bytes, refused;
	uint64_t out, peers; /* now */
};

int bot_new(struct bot **ret, const struct bot_options *options, struct err *err);
/* Ends all; also waits for a sync that is under way. Before the kit is closed. */
void bot_free(struct bot **b);
/* Without a botm: begins to accept; the descriptor stays the caller's. */
int bot_listen(struct bot *b, int fd, struct err *err);
const struct bot_counts *bot_counts(const struct bot *b);
