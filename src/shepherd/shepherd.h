/* What others may ask of the crawl while it runs, and what the codes of its tries mean (code.h). */
#pragma once
#include "base/arena.h"
#include "base/err.h"
#include "shepherd/code.h"

/* A reaper, as the table `reapers` of garner.db has it. */
enum { REAPER_NAME_MAX = 128 };
struct reaper_status {
	uint32_t place;             /* in the configuration; 0: the local one */
	char name[REAPER_NAME_MAX]; /* "local", "192.0.2.7:8188" */
	char kind[8];               /* "local", "reapd" */
	char state[12];             /* "up", "away", "refused", "punished", "waits" */
	int64_t time_us;            /* when this was written */
	uint64_t lease_us;
	uint64_t jobs, out; /* ever; now */
	uint64_t documents, bytes, errors, lost, late;
	uint64_t round_us; /* mean time from job to answer */
};
extern const struct rows reaper_rows; /* as a list, but for the lease */
/* What was written last, in the arena; the local one comes first. 1: the shepherd does not run. */
int reapers_load(const char *data, struct arena *arena, struct reaper_status **ret, size_t *ret_n,
		 struct err *err);
