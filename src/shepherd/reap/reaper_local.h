/* The local reaper: robot, parsers and packer of this process. Knows nothing of the crawl: the role
 * shepherd has one for itself, and each reapd has one that works for its master. */
#pragma once
#include "fetch/kit.h"
#include "shepherd/reap/reaper.h"

struct cage_options;
/* All in it must outlive the reaper; the struct itself need not. */
struct reaper_local_options {
	struct kit *kit; /* its robot works for this reaper alone, and is replaced by a drop */
	const struct robot_section_conf *robot;
	const struct cage_options *parse; /* workers and body_max come from here and robot */
	unsigned parsers;
	bool robots; /* what its cache of robots.txt forbids is not fetched; it asks no site for one
		      */
	const struct reaper_host *host;
};
int reaper_local_new(struct reaper **ret, const struct reaper_local_options *options,
		     struct err *err);
/* Aborts all jobs and connections; none is answered. Negative: the reaper is unusable. */
int reaper_local_drop(struct reaper *r, struct err *err);

/* Attributes in the header of a bucket that only reapers know: validators as they came, and the MD5
 * of the document. */
enum { REAPER_ETAG = 'e', REAPER_LAST_MODIFIED = 'l', REAPER_MD5 = 'C' };
