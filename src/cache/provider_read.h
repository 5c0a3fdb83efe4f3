/* Reads URLs from XML: a sitemap (sitemaps.org 0.9) or an index of sitemaps, packed or not; or
 * <url> elements as a cache receives them (doc/protocols/lococa.md), alone or within other
 * elements. */
#pragma once
#include "cache/provider_list.h"

enum {
	PROVIDER_SITEMAP_MOST = 64 << 20, /* bytes of one, unpacked; the protocol has 50 MB */
	PROVIDER_SITEMAPS_MOST = 50000,   /* that an index may name */
};

enum provider_form { PROVIDER_SITEMAP, PROVIDER_ROWS };

struct provider_read_options {
	enum provider_form form;
	struct provider_list *list; /* where the URLs go */
	uint32_t origin;
	struct str
		prefix; /* of rows: put before URLs without a scheme, unless their set says one */
	/* Returns the type of a URL that comes without one. */
	struct str (*type)(void *ctx, struct str url);
	/* Called for each sitemap of an index. NULL: an index is refused. */
	int (*child)(void *ctx, struct str url, struct err *err);
	void *ctx;
};

struct provider_read;
/* The options must outlive it. */
struct provider_read *provider_read_new(const struct provider_read_options *options);
void provider_read_free(struct provider_read **r);
/* ERR_USAGE names line and column. */
int provider_read_put(struct provider_read *r, struct str piece, struct err *err);
int provider_read_end(struct provider_read *r, struct err *err);
