/* The builder: listings become databases. Reads archie/lslr/KEY in the cage (listing_run.h), writes
 * the site through names.h, and removes the listing once it is committed. The modification time of
 * a listing is the time at which it was made; a listing that is not newer than its database is only
 * removed. What goes wrong with one site leaves its old database and does not touch the others. */
#pragma once
#include "archie/sites.h"
#include "extract/listing.h"
#include "index/names.h"

/* How far a run is, told now and then while a listing is read. */
struct archie_progress {
	struct str key;
	uint64_t files;       /* of all sites so far */
	uint64_t done, total; /* bytes of listings, as they lie there */
	bool writing;         /* all of this site is read */
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
	archie_progress_fn *progress; /* NULL: nobody asks */
	void *progress_ctx;
};
/* What became of one site. */
struct archie_built {
	struct str key;
	int rc; /* 0: built; 1: its listing is not newer; 2: removed, for it is not listed any
		 * more; negative: err says why */
	struct err err;
	struct listing_stats stats;
	int64_t took_us;
};
typedef void archie_built_fn(void *ctx, const struct archie_built *built);

/* All sites with a listing, or with n > 0 those keys. Without keys, databases of sites that are no
 * longer listed and were not built by hand are dropped, but for those that a listed site without a
 * database had under another key. What went wrong is also written to archie/errors/KEY, until the
 * site is built. Negative: nothing can be built at all. */
int archie_build(const struct archie_build_options *o, const struct archie_sites *sites,
		 const struct str *key, size_t n, archie_built_fn *fn, void *ctx, struct err *err);
/* One site from a file, which stays. */
int archie_build_file(const struct archie_build_options *o, const struct archie_sites *sites,
		      struct str key, const char *file, struct archie_built *ret, struct err *err);
/* What a listing says of a file, as the names index takes it; the texts stay where they are. */
struct names_entry archie_entry(const struct listing_entry *e);
