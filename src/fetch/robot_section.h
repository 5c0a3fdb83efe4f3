/* The section [robot]: whoever fetches, in whatever role, is the same robot to the world. */
#pragma once
#include "fetch/robot.h"
#include "role/config.h"

struct robot_section_conf {
	struct robot_conf robot;
	struct dns_conf dns;
};
extern const struct config_section robot_section;
