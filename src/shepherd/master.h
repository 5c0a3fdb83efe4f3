/* The role `shepherd`: runs the modules of the crawl one after the other, cycle by cycle. Each step
 * leaves a state that recovery knows how to go on from, so it may be stopped at any time. */
#pragma once
#include "role/role.h"
#include "shepherd/cycle.h"

extern const struct role shepherd_role;

/* Runs one module of the cycle on the newest state or the one that is named, as the role would, and
 * tells what it did in a line or two. The states are not recovered first, so that modules can be
 * run one after the other. ERR_BUSY: the role runs. */
int shepherd_module(const struct config *config, const char *data, enum cycle_module which,
		    const char *state, struct buf *told, struct err *err);

/* What modules that only look work with now: settings and clock, without rules and buckets. */
struct crawl shepherd_crawl(const struct config *config, const struct state_course *course);

struct crawl_conf;
/* The settings of the crawl. */
const struct crawl_conf *crawl_conf_of(const struct config *config);
