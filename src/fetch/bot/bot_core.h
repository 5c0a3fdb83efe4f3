/* A robot of the fabric (document 004, section 8): it reads requests in XML, fetches URLs into
 * files and answers when the files are on disk. It connects to its botm and reconnects, or it
 * listens for people who type. doc/protocols/bot.md describes the messages.
 *
 * - A file gets its name when it is complete, if the peer that asked for it is still connected. One
 *   sync, in a second thread, serves all files that wait for it; their answers follow.
 * - When a connection ends, its requests are cancelled.
 * - Attributes of a provider's contract (delay, robots) are accepted from a botm only.
 *
 * One loop and its thread. */
#pragma once
#include "fetch/kit.h"
#include "net/server.h"

struct bot;

struct bot_options {
	struct kit *kit;
	const struct robot_section_conf *robot;
	const char *folder; /* absolute */
	uint64_t parallel;  /* fetches at a time, which the robot announces */
	uint64_t disk_free; /* bytes; while less is free, the robot announces 0 */
	/* Address of its botm; NULL: the robot listens. */
	const char *botm;
	const struct server_limits *limits;
	const struct tls *tls; /* of the one side or the other; NULL: none */
};

struct bot_counts {
	uint64_t fetches, stored, unchanged, failed, cancelled, syncs, bytes, refused;
	uint64_t out, peers; /* now */
};

int bot_new(struct bot **ret, const struct bot_options *options, struct err *err);
/* Stops everything and waits for a running sync. Call it before the kit is closed. */
void bot_free(struct bot **b);
/* Starts accepting on fd, which the caller still owns. Only without a botm. */
int bot_listen(struct bot *b, int fd, struct err *err);
const struct bot_counts *bot_counts(const struct bot *b);
