/* The builder: turns listings into databases. Reads archie/lslr/KEY in the cage (listing_run.h),
 * writes the site through names.h, and removes the listing after the commit. The modification time
 * of a listing says when it was made; one that is no newer than its database is just removed. A
 * failure keeps the old database of that site and does not affect the others. */
#pragma once
#include "archie/sites.h"
#include "extract/listing.h"
#include "index/names.h"

/* Progress of a run, reported now and then while a listing is read. */
struct archie_progress {
	struct str key;
	uint64_t files;       /* of all sites so far */
	uint64_t done, total; /* bytes of listings, as stored */
	bool writing;         /* the listing has been read completely */
};
typedef void archie_progress_fn(void *ctx, const struct archie_progress *progress);

struct archie_build_options {
	const char *folder; /* archie/ */
	const char *data;   /* the data directory */
	const char *parser; /* the path of garner-parse */
	uint64_t memory;    /* of names.h; 0: its default */
	uint32_t errors_max_percent;
	uint64_t listing_max;         /* bytes unpacked */
	uint64_t disk_free;           /* bytes that must stay free */
	archie_progress_fn *progress; /* may be NULL */
	void *progress_ctx;
};
/* The result for one site. */
struct archie_built {
	struct str key;
	int rc; /* 0: built; 1: its listing is not newer; 2: removed because it is no longer
		 * listed; negative: failed, err says why */
	struct err err;
	struct listing_stats stats;
	int64_t took_us;
};
typedef void archie_built_fn(void *ctx, const struct archie_built *built);

/* Builds all sites that have a listing, or if n > 0 those keys. Without keys, also drops databases
 * of sites that are no longer listed and were not built by hand, unless a listed site without a
 * database had that key before. Writes failures to archie/errors/KEY until the site is built.
 * Negative: nothing can be built at all. */
int archie_build(const struct archie_build_options *o, const struct archie_sites *sites,
		 const struct str *key, size_t n, archie_built_fn *fn, void *ctx, struct err *err);
/* Builds one site from a file, which it keeps. */
int archie_build_file(const struct archie_build_options *o, const struct archie_sites *sites,
		      struct str key, const char *file, struct archie_built *ret, struct err *err);
/* Converts an entry of a listing for the names index; its texts are not copied. */
struct names_entry archie_entry(const struct listing_entry *e);
