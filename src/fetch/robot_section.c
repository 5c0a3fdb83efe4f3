#include "fetch/robot_section.h"

static const struct value_spec specs[] = {
	ROBOT_SPECS(struct robot_section_conf, robot),
	DNS_SPECS(struct robot_section_conf, dns),
};

const struct config_section robot_section = {
	.name = "robot",
	.help = "How documents are fetched, by all roles and commands that do.",
	.size = sizeof(struct robot_section_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};
