/* The section [parse]: how documents are read, by all roles and commands that do. */
#pragma once
#include "extract/cage.h"
#include "role/config.h"

struct cage_section_conf {
	const char *program;
	int64_t workers, cpu_us, links_max;
	uint64_t body_max, memory;
	bool noscript;
};
extern const struct config_section cage_section;

enum { CAGE_PATH_MAX = 4096 };
/* The options that the settings mean; room holds the path of the program. */
int cage_section_options(const struct cage_section_conf *conf, char room[CAGE_PATH_MAX],
			 struct cage_options *ret, struct err *err);
