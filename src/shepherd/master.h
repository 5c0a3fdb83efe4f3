/* The role `shepherd`: runs the modules of the crawl one after the other, cycle by cycle. Each step
 * leaves a state that recovery knows how to go on from, so it may be stopped at any time. */
#pragma once
#include "role/role.h"

extern const struct role shepherd_role;

struct crawl_conf;
/* The settings of the crawl. */
const struct crawl_conf *crawl_conf_of(const struct config *config);
