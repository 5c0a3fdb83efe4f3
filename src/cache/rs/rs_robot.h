/* The robot of the registration server: fetches files with secrets at once, in a thread with a loop
 * of its own; any thread may ask. It ignores robots.txt and the delay, because the provider claims
 * the site and wants to prove it. It still takes a lease, follows no redirects, and asks a host at
 * most RS_ROBOT_ASKS times a minute, no matter who claims it. */
#pragma once
#include "cache/pidb.h"
#include "fetch/robot.h"
#include "net/http.h"
#include "net/loop.h"

enum {
	RS_ROBOT_ASKS = 6,
	RS_ROBOT_BODY = 1024, /* most bytes read of a file */
	RS_ROBOT_MOST = 64,   /* most fetches at a time */
};

struct rs_robot;

/* Starts the thread, which also runs the timer every every_us. */
int rs_robot_new(struct rs_robot **ret, const char *data, const struct robot_section_conf *conf,
		 struct loop_timer *timer, int64_t every_us, struct err *err);
/* Ends the thread: http_again() is called for all requests that wait. Later asks get ERR_BUSY. */
void rs_robot_stop(struct rs_robot *r);
void rs_robot_free(struct rs_robot **r);

struct rs_fetch {
	bool is_done;
	enum outcome outcome;
	enum robot_cause cause;
	int status;
	char body[RS_ROBOT_BODY + 1];
	size_t n;
};
/* 0: http_again() will be called, and *ret, in the request's arena, is complete then. 1: too many
 * asks of this host or by this provider in the last minute. ERR_BUSY: too many fetches in progress,
 * or the server is stopping. */
int rs_robot_fetch(struct rs_robot *r, struct http_request *req, uint64_t provider, struct str url,
		   int64_t now_us, struct rs_fetch **ret, struct err *err);
