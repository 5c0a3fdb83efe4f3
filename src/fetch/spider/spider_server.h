/* The side of a spider that URL servers talk to (document 003; doc/protocols/spider.md): lines come
 * in, each becomes a fetch and then a result in the store; WORKING and DONE go out. The role puts
 * robot, store and this together (spider.c).
 *
 * Several URL servers may be connected. The URLs of one whose connection ends are cancelled: it
 * will send them again. */
#pragma once
#include "fetch/robot.h"
#include "fetch/spider/spider_store.h"
#include "net/server.h"

struct spider_server;

struct spider_counts {
	uint64_t connections; /* now */
	uint64_t urls;        /* taken, ever */
	uint64_t out;         /* not done, now */
	uint64_t done, working;
	uint64_t unfetchable; /* lines with a TRANS_ID that named nothing to fetch */
	uint64_t garbage;     /* lines without one, too long, or of HTTP */
	uint64_t hung_up;     /* connections that we ended */
	uint64_t cancelled;   /* URLs, because their connection ended */
	uint64_t documents, bytes;
	uint64_t outcome[OUTCOME_COUNT];
};

/* All in it must outlive the server; the struct itself need not. */
struct spider_server_options {
	struct loop *loop;
	const struct server_limits *limits;
	const struct tls *tls; /* NULL: none */
	struct robot *robot;
	int64_t status_us; /* how often WORKING is said of a URL that is not done */
	/* Nothing is read while there are more URLs than this, or more than limits.memory bytes of
	 * them. */
	uint64_t urls_max;
	bool status_words; /* the outcome after DONE */
	/* This process cannot go on. */
	void (*failed)(void *ctx, const struct err *err);
	void *ctx;
};
struct spider_server *spider_server_new(const struct spider_server_options *options);
/* The callbacks for the store, valid until the server is freed. */
const struct spider_store_host *spider_server_host(const struct spider_server *s);
/* Call it before the first connection. The caller owns the store. */
void spider_server_store(struct spider_server *s, struct spider_store *store);
int spider_server_listen(struct spider_server *s, int fd, struct err *err);
/* Free the store first, the robot afterwards. */
void spider_server_free(struct spider_server **s);
const struct spider_counts *spider_server_counts(const struct spider_server *s);
