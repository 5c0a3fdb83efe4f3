/* The settings of the cage, and where its program is: next to the one that is running, unless the
 * section says otherwise. */
#include "extract/cage_section.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define S struct cage_section_conf

static const struct value_spec specs[] = {
	{"program", VALUE_PATH_AT(S, program),
	 .help = "the path of garner-parse; empty: next to garner"},
	{"workers", VALUE_INT_AT(S, workers), "1", 1, CAGE_WORKERS_MAX,
	 .help = "processes that read documents, for each process that has documents read"},
	{"body_max", VALUE_SIZE_AT(S, body_max), "16M", 4096, 1 << 30,
	 .help = "a larger document is not read"},
	{"memory", VALUE_SIZE_AT(S, memory), "512M", 64 << 20, INFINITY,
	 .help = "memory of one such process, not counting the documents"},
	{"cpu", VALUE_TIME_AT(S, cpu_us), "10s", 10e3, 3600e6,
	 .help = "CPU time for one document; a process that needs more is ended, and the document "
		 "has no text"},
	{"links_max", VALUE_INT_AT(S, links_max), "10000", 1, 1000000,
	 .help = "links of one document that are kept; of a sitemap it is 50000"},
	{"noscript", VALUE_BOOL_AT(S, noscript), "no",
	 .help = "whether the content of noscript is text"},
};

const struct config_section cage_section = {
	.name = "parse",
	.help = "How documents are read, by all roles and commands that do.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

/* The program of this name in the folder where this one is. */
static int program_path(char *ret, size_t cap, struct err *err)
{
	static const char name[] = "garner-parse";
	ssize_t n = readlink("/proc/self/exe", ret, cap - sizeof name);
	if (n <= 0)
		return err_sys(err, "/proc/self/exe, to find garner-parse (see parse.program)");
	while (n > 0 && ret[n - 1] != '/')
		n--;
	memcpy(ret + n, name, sizeof name);
	return 0;
}

int cage_section_options(const struct cage_section_conf *conf, char room[CAGE_PATH_MAX],
			 struct cage_options *ret, struct err *err)
{
	if (conf->program[0])
		snprintf(room, CAGE_PATH_MAX, "%s", conf->program);
	else if (program_path(room, CAGE_PATH_MAX, err) < 0)
		return -1;
	*ret = (struct cage_options){
		.program = room,
		.workers = (unsigned)conf->workers,
		.body_max = conf->body_max,
		.memory = conf->memory,
		.cpu_us = conf->cpu_us,
		.settings = {.links_max = (size_t)conf->links_max, .noscript = conf->noscript},
	};
	return 0;
}
