/* The site list of a state: what is known of each site, sorted by its footprint; written once and
 * never changed. Passes over the index read it in step with that (sites_scan), so it may be as long
 * as it likes; those who ask for sites in any order hold it in memory (sites_load). Layout:
 * doc/formats/sites.md. */
#pragma once
#include "disk/format.h"
#include "state/counted.h"
#include "url/qkey.h"
#include "url/url.h"

struct site {
	uint64_t fp;   /* the first half of its URLs' footprints */
	uint64_t norm; /* of the site that stands for its class; its own: it does */
	enum url_protocol protocol;
	uint16_t port;                              /* never 0 */
	struct str host;                            /* lives as long as the list */
	qkey qkey;                                  /* 0: not asked yet */
	uint32_t active, inactive, gathered, fresh; /* URLs: wanted, sleeping, gathered, new */
	uint32_t download_ms;                       /* mean of its transfers; 0: unknown */
	uint32_t limit;       /* most URLs that may be active; 0: the default */
	uint8_t error_cycles; /* cycles in a row in which every fetch failed */
	uint8_t oscillations; /* how often its queue key changed lately */
	uint32_t failed_s;    /* when the last of these ended; 0: none */
	uint32_t demand;      /* refreshes that its URLs need in a refresh cycle, in all */
	uint32_t delay_ms;    /* between requests; 0: the default */
};

/* As URLs have it. */
static inline struct url_site site_name(const struct site *site)
{
	return (struct url_site){site->protocol, site->port, site->host};
}

struct sites;
struct sites *sites_new(void);
/* 1: no such file. ERR_DAMAGED: also when the end is missing. */
int sites_load(struct sites **ret, const char *path, struct err *err);
void sites_free(struct sites **s);

size_t sites_count(const struct sites *s);
struct site *sites_get(const struct sites *s, uint64_t fp); /* NULL: not known */
/* The site with this footprint; a new one if there is none. Copies the host. Earlier pointers stay
 * valid. */
struct site *sites_put(struct sites *s, struct url_site site, bool *ret_new);
/* In ascending order of footprints; n is sites_count(). */
struct site *const *sites_sorted(struct sites *s);

/* From end to end. */
struct sites_scan;
int sites_scan_open(struct sites_scan **ret, const char *path, struct err *err); /* 1: no file */
/* The host is valid until the next call. 1: the end. */
int sites_scan_next(struct sites_scan *s, struct site *ret, struct err *err);
/* The site with this footprint, skipping those before it; valid until the next call. Questions
 * come in ascending order, and may repeat. 1: it is not known. */
int sites_scan_find(struct sites_scan *s, uint64_t fp, const struct site **ret, struct err *err);
/* Which one of the list that was found, or given last: 0 is the first. */
uint64_t sites_scan_number(const struct sites_scan *s);
void sites_scan_free(struct sites_scan **s);

/* Writes a list; sites come in ascending order. End it with counted_finish(). The caller renames it
 * into place. */
int sites_create(struct counted_writer *ret, const char *path, struct err *err);
int sites_write(struct counted_writer *w, const struct site *site, struct err *err);
int sites_write_all(struct sites *s, struct counted_writer *w, struct err *err);

extern const struct format sites_format;
