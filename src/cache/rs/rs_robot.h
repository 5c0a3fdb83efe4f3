/* The robot of the registration server: fetches the files that hold secrets, at once. It has a
 * thread and a loop of its own; any thread may ask. robots.txt and the delay do not count, since
 * the one who asks says that the site is his, and is asked to prove it; a lease is taken all the
 * same, no redirect is followed, and a host is asked RS_ROBOT_ASKS times a minute at most, no
 * matter who says that it is his. */
#pragma once
#include "cache/pidb.h"
#include "fetch/robot.h"
#include "net/http.h"
#include "net/loop.h"

enum {
	RS_ROBOT_ASKS = 6,
	RS_ROBOT_BODY = 1024, /* bytes of a file that are looked at */
	RS_ROBOT_MOST = 64,   /* files that are fetched at a time */
};

struct rs_robot;

/* The thread also calls the timer's function, first after every_us. */
int rs_robot_new(struct rs_robot **ret, const char *data, const struct robot_section_conf *conf,
		 struct loop_timer *timer, int64_t every_us, struct err *err);
/* Ends the thread, while the server stops: all that wait are called again. */
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
/* 0: the request is called again with http_again(), and *ret, in its arena, is done then. 1: that
 * host was asked, or this provider asked, often enough in this minute. ERR_BUSY: too many are under
 * way, or the server stops. */
int rs_robot_fetch(struct rs_robot *r, struct http_request *req, uint64_t provider, struct str url,
		   int64_t now_us, struct rs_fetch **ret, struct err *err);
