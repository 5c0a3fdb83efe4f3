/* Inside `garner fetch`: what runs (fetch.c), its queue (fetch_queue.c), what is said
 * (fetch_say.c). */
#pragma once
#include "cmd/command.h"
#include "fetch/hostq.h"
#include "fetch/kit.h"

struct fetch_options {
	const char *from, *output, *delay, *agent, *etag, *last_modified;
	int64_t wait_us;
	bool json, no_follow, list_all;
};

/* A URL that is out. */
struct item {
	struct item *next, *prev; /* all that are out: a ring */
	struct fetch *fetch;
	struct hostq_job job;
	struct dns_wait dns;
	struct robot_file_sink sink;
	struct buf path;
};

struct fetch {
	const struct cmd_call *call;
	const struct fetch_options *options;
	struct robot_section_conf conf;
	struct config *config;
	struct loop *loop;
	struct kit kit;
	struct hostq *queue;
	struct loop_timer timer, progress, flush;
	struct buf out;
	uint64_t urls, done, bytes, count[OUTCOME_COUNT];
	struct item items; /* only its links are used */
	uint64_t out_now;  /* jobs of the queue that are out */
	uint64_t begun;    /* jobs that the robot was given */
	int64_t begun_us;
	qkey said_key; /* the last wait that was said, and its end */
	int64_t said_until_us;
	bool stopped, shows_progress, is_running;
	struct err err; /* what ended it; code ERR_NONE: nothing did */
	char room[URL_TEXT_MAX * 3];
};

/* Ends it all, with the first of such words. */
void fetch_fail(struct fetch *f, const struct err *err);

/* fetch_queue.c */

/* Takes a URL in, or reports that it is none. */
int fetch_add(struct fetch *f, struct str text, struct err *err);
/* Begins what may go now, and sees to it that this is called again. */
void fetch_pump(void *fetch);
void fetch_pump_soon(struct fetch *f);
void fetch_items_free(struct fetch *f); /* when the robot has given back its own */

/* fetch_say.c */

void fetch_progress(void *fetch);
/* Writes what was reported; until then lines may wait for others. */
void fetch_flush(void *fetch);
/* file: where the body was put, NULL: nowhere. */
void fetch_report(struct fetch *f, struct str url, const struct robot_result *r, const char *file);
void fetch_report_bad(struct fetch *f, struct str url, const char *why); /* nothing was done */
/* Given up because its server is to be left alone for too long. */
void fetch_report_wait(struct fetch *f, struct str url, const struct robot_result *r);
/* A wait that somebody who looks on would take for a hang is said once. */
void fetch_say_wait(struct fetch *f, qkey key, const struct robot_result *r);
void fetch_summary(const struct fetch *f);
