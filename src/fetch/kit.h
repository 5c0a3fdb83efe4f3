/* The kit: everything that a process needs to fetch, put together: policy, names, politeness,
 * robots.txt, robot. Files lie below run/ in the data directory, shared with all other processes.
 */
#pragma once
#include "fetch/robot.h"
#include "fetch/robots_cache.h"
#include "net/loop.h"
#include "url/qkey.h"

struct kit {
	struct loop *loop; /* the caller's */
	struct policy *policy;
	struct dns *dns;
	struct polite *polite;
	struct robots_cache *robots;
	struct robot *robot;
};

/* conf and loop must outlive it. *ret is {0} or complete. */
int kit_open(struct kit *ret, struct loop *loop, const char *data,
	     const struct robot_section_conf *conf, struct err *err);
/* Ends what is under way (robot_free) and closes all; also {0}. Negative: what robots.txt said is
 * not remembered; everything is closed all the same. */
int kit_close(struct kit *k, struct err *err);
/* A new robot, after robot_free() has ended all that was under way. */
int kit_robot(struct kit *k, const struct robot_section_conf *conf, struct err *err);
/* The queue key of a server's address. */
qkey kit_qkey(const struct addr *a);
