/* equiv: which sites are mirrors. `norm` of each site follows from the file of classes; the list is
 * read first and rewritten only if a site changes. */
#include "shepherd/equivalence.h"

#include "base/file.h"

enum { STOP_EVERY = 4096 }; /* sites between two questions whether to stop */

/* Most sites stand for themselves, which is known without a digest. */
static uint64_t norm_of_site(const struct equiv *e, const struct site *site)
{
	struct url_site own = site_name(site);
	struct url_site to = equiv_site(e, own);
	return url_site_eq(own, to) ? site->fp : footprint_site(to);
}

/* All sites, into a new list where out is not NULL; else only up to the first that changes. 1:
 * stopped. */
static int equiv_pass(struct state *st, const struct crawl *c, struct counted_writer *out,
		      uint64_t *ret_changed, struct err *err)
{
	struct sites_scan *in = NULL;
	struct site site;
	uint64_t n = 0;
	bool stopped = false;
	*ret_changed = 0;
	int rc = state_sites_scan(st, &in, err);
	while (rc == 0 && (out || !*ret_changed) && (rc = sites_scan_next(in, &site, err)) == 0) {
		uint64_t norm = norm_of_site(c->equiv, &site);
		*ret_changed += norm != site.norm;
		site.norm = norm;
		stopped = n++ % STOP_EVERY == 0 && crawl_is_stopped(c);
		rc = stopped ? 1 : out ? sites_write(out, &site, err) : 0;
	}
	sites_scan_free(&in);
	return stopped ? 1 : MIN(rc, 0);
}

int crawl_equiv(struct state *st, const struct crawl *c, uint64_t *ret_changed, struct err *err)
{
	CLEANUP(counted_drop) struct counted_writer out = {0};
	uint64_t changed;
	int rc = equiv_pass(st, c, NULL, &changed, err);
	if (rc == 0 && changed) {
		rc = state_sites_create(st, &out, err);
		if (rc == 0)
			rc = equiv_pass(st, c, &out, &changed, err);
		if (rc == 0)
			rc = state_sites_finish(st, &out, err);
	}
	if (rc == 0)
		*ret_changed = changed;
	return rc;
}

/* The file */

/* What is looked at before it is read may have changed since, and is then read again. */
int equiv_file_update(struct equiv_file *f, struct err *err)
{
	struct equiv *fresh = NULL;
	int rc = file_changed(f->path, &f->seen, err);
	if (rc)
		return rc;
	if (equiv_load(f->path, &fresh, err) < 0)
		return -1;
	equiv_free(&f->equiv);
	f->equiv = fresh;
	return 0;
}

void equiv_file_free(struct equiv_file *f)
{
	equiv_free(&f->equiv);
}
