/* Names and keys: which server a site is fetched from in this reap. A URL whose site is being
 * looked up is parked: it keeps its place in its queue, which holds the queue up, and of which
 * there are no more than the queue's rule lets go at once; so what waits here needs no limit of its
 * own.
 *
 * Names come before all else: those of all sites in the queues are asked for, also while no reaper
 * has room, so that a page does not wait for its name when its turn comes. Those that URLs wait for
 * already go first. */
#include "shepherd/reap/reap_inner.h"

#include "base/clock.h"

#include <string.h>

/* A name that is asked for, or waits until it can be. */
struct reap_name {
	struct link link; /* in reap.names or reap.asked_names */
	struct reap *reap;
	struct reap_site *site;
	struct dns_wait dns;
	struct url_site of; /* its host follows this struct */
	char host[];
};

struct reap_parked {
	struct link link;
	struct hostq_job out;
};

struct reap_site *reap_site_of(struct reap *r, uint64_t fp)
{
	bool is_new;
	struct reap_site **slot = reap_sites_put_new(&r->sites, fp, &is_new);
	if (is_new) {
		*slot = mem_alloc(sizeof **slot);
		**slot = (struct reap_site){
			.fp = fp, .key = qkey_of_site(fp), .robots_where = ITEM_NOWHERE};
		list_init(&(*slot)->parked);
	}
	return *slot;
}

void reap_park(struct reap_job *job)
{
	struct reap_parked *p = mem_alloc(sizeof *p);
	*p = (struct reap_parked){.out = job->out};
	list_append(&job->site->parked, &p->link);
	job->reap->begun--; /* it was not asked for */
	reap_job_free(job);
}

void reap_unpark(struct reap *r, struct reap_site *site, int64_t until_us)
{
	struct reap_parked *p;
	/* the last one first: each becomes the first of its class */
	while ((p = LIST_LAST(struct reap_parked, &site->parked, link))) {
		hostq_put_back(r->queue, &p->out, until_us);
		list_remove(&p->link);
		mem_free(&p);
	}
	loop_later(r->o.loop, &r->pump);
}

void reap_site_off(struct reap *r, struct reap_site *site, uint16_t code, const char *why)
{
	struct reap_parked *p;
	site->off = true;
	while ((p = LIST_FIRST(struct reap_parked, &site->parked, link))) {
		struct hostq_job out = p->out;
		list_remove(&p->link);
		mem_free(&p);
		if (code && reap_is_page(&out)) {
			reap_answer_unasked(r, &out, code, why);
			code = 0; /* one is judged, the others are left */
		} else {
			reap_leave(r, &out);
		}
	}
	if (code) {
		mem_free(&site->off_why);
		site->off_why = mem_text(why);
		site->off_code = code;
	}
}

/* Keys */

/* A key that the crawl does not know is journalled, once for a site in a cycle. */
static void key_tell(struct reap *r, struct reap_site *site, struct url_site of)
{
	char room[URL_SITE_MAX];
	struct err err;
	if (site->key_told || site->known == site->key)
		return;
	struct journal_entry e = journal_of_key(site->fp, site->key, clock_wall_us());
	e.url = url_site_print(of, room, sizeof room);
	site->key_told = true;
	counters_add(r->o.counters, REAP_CODES + reap_code_counter(CODE_RESOLVED), 1);
	if (state_journal(r->state, &e, &err) < 0)
		reap_fail(r, &err);
}

/* URLs that wait under a key of their own move at once; those of a site that has moved one by one,
 * as their turn comes: others may wait under the same key. */
static void key_set(struct reap *r, struct reap_site *site, qkey key, struct url_site of)
{
	qkey before = site->key;
	struct err err;
	site->key = key;
	site->moved |= site->known && site->known != key;
	if (before == qkey_of_site(site->fp) && hostq_rekey(r->queue, before, key, &err) < 0)
		reap_fail(r, &err);
	reap_rule_set(r, key, reap_rule_of(r, of, site->fp));
	key_tell(r, site, of);
}

void reap_key_learned(struct reap *r, struct reap_site *site, qkey key, struct url_site of)
{
	if (r->by_proxy && key && site->key != key)
		key_set(r, site, key, of);
}

/* Names */

/* What came of a name: CODE_OK, and the site has its address; else why it has none. */
static uint16_t name_use(struct reap *r, struct reap_site *site, struct url_site of,
			 const struct dns_result *result)
{
	if (result->outcome == DNS_FOUND) {
		site->addr = *robot_choose(result->addr, result->n, of.host);
		site->addr.port = of.port;
		site->resolved = true;
		key_set(r, site, kit_qkey(&site->addr), of);
		return CODE_OK;
	}
	if (result->outcome == DNS_FAILED)
		return CODE_NO_ANSWER_DNS;
	if (result->outcome == DNS_BROKEN)
		return CODE_BROKEN_DNS;
	if (result->outcome == DNS_REFUSED)
		return CODE_ADDRESS;
	site->key = qkey_special(QKEY_NONEXISTENT, hash_u64(site->fp), 0);
	key_tell(r, site, of);
	return CODE_NO_HOST;
}

static const char *name_why(const struct dns_result *result)
{
	return result->why ? result->why : "";
}

static void name_free(struct reap_name *n)
{
	dns_cancel(&n->dns);
	list_remove(&n->link);
	n->site->name = NULL;
	mem_free(&n);
}

static void name_judge(struct reap_name *n, const struct dns_result *result)
{
	struct reap *r = n->reap;
	struct reap_site *site = n->site;
	uint16_t code = name_use(r, site, n->of, result);
	r->asking--;
	if (code == CODE_OK)
		reap_unpark(r, site, loop_now_us(r->o.loop));
	else
		reap_site_off(r, site, code, name_why(result));
	name_free(n);
}

static void name_known(void *ctx, const struct dns_result *result)
{
	struct reap *r = ((struct reap_name *)ctx)->reap;
	name_judge(ctx, result);
	reap_names_go_on(r);
}

static struct reap_name *name_new(struct reap *r, struct reap_site *site, struct url_site of)
{
	struct reap_name *n = mem_alloc(sizeof *n + of.host.n);
	*n = (struct reap_name){.reap = r, .site = site, .of = of};
	memcpy(n->host, of.host.p, of.host.n);
	n->of.host.p = n->host;
	n->dns = (struct dns_wait){.done = name_known, .ctx = n};
	list_remove(&site->ahead);
	site->name = n;
	return n;
}

/* Looking ahead */

static bool site_lacks_name(const struct reap *r, const struct reap_site *site)
{
	return !r->by_proxy && !site->resolved && !site->name && !site->off &&
	       qkey_kind(site->key) != QKEY_NONEXISTENT;
}

void reap_name_ahead(struct reap *r, struct reap_site *site, uint64_t where)
{
	if (!site_lacks_name(r, site) || list_has(&site->ahead))
		return;
	site->where = where;
	list_append(&r->ahead, &site->ahead);
}

void reap_name_wanted(struct reap *r, struct reap_site *site, struct url_site of)
{
	if (site_lacks_name(r, site))
		list_append(&r->names, &name_new(r, site, of)->link);
}

/* NULL: its name is known by now, or its URL cannot be read, which is reported when its turn comes.
 */
static struct reap_name *name_of_bucket(struct reap *r, struct reap_site *site)
{
	struct arena arena = arena_from(&r->arenas, BUCKET_ARENA);
	struct reap_name *name = NULL;
	char room[URL_MAX];
	struct bucket bucket;
	struct attrs header;
	struct str text;
	struct url url;
	struct err err;
	list_remove(&site->ahead);
	if (site_lacks_name(r, site) &&
	    reap_read_url(r, site->where, &arena, &bucket, &header, &text, &err) == 0 &&
	    url_parse(text, NULL, room, sizeof room, &url) == 0 &&
	    footprint_site(url_site(&url)) == site->fp)
		name = name_new(r, site, url_site(&url));
	arena_give(&arena, &r->arenas);
	return name;
}

/* The next one that may be asked for. 1: there is none. */
static int name_next(struct reap *r, struct reap_name **ret)
{
	struct reap_site *site = LIST_FIRST(struct reap_site, &r->ahead, ahead);
	*ret = LIST_FIRST(struct reap_name, &r->names, link);
	if (*ret) {
		list_remove(&(*ret)->link);
		return 0;
	}
	if (!site || r->stopping || r->held || r->careful)
		return 1;
	*ret = name_of_bucket(r, site);
	return 0;
}

/* What is known already takes no time at name servers, but the time of the loop. */
enum { NAMES_IN_A_ROW = 100 };

void reap_names_go_on(struct reap *r)
{
	struct dns_result result;
	struct reap_name *n;
	for (unsigned i = 0; r->asking < (uint64_t)r->o.conf->max_resolvers; i++) {
		if (i == NAMES_IN_A_ROW) {
			loop_later(r->o.loop, &r->pump);
			return;
		}
		if (name_next(r, &n) != 0)
			return;
		if (!n)
			continue;
		list_append(&r->asked_names, &n->link);
		r->asking++;
		if (dns_lookup(r->kit.dns, n->of.host, DNS_ANY, &n->dns, &result) == 0)
			name_judge(n, &result);
	}
}

int reap_resolve(struct reap_job *job, const struct url *url)
{
	struct reap *r = job->reap;
	struct reap_site *site = job->site;
	struct dns_result result;
	if (site->resolved)
		return 0;
	if (r->by_proxy) { /* it knows the names */
		site->resolved = true;
		reap_rule_set(r, site->key, reap_rule_of(r, url_site(url), site->fp));
		return 0;
	}
	if (site->name) {
		reap_park(job);
		return 1;
	}
	struct reap_name *n = name_new(r, site, url_site(url));
	if (r->asking >= (uint64_t)r->o.conf->max_resolvers) {
		list_append(&r->names, &n->link);
		reap_park(job);
		return 1;
	}
	if (dns_lookup(r->kit.dns, n->of.host, DNS_ANY, &n->dns, &result) == 1) {
		list_append(&r->asked_names, &n->link);
		r->asking++;
		reap_park(job);
		return 1;
	}
	uint16_t code = name_use(r, site, n->of, &result);
	name_free(n);
	if (code == CODE_OK)
		return 0;
	reap_site_off(r, site, job->what == REAPER_PAGE ? 0 : code, name_why(&result));
	reap_end_unasked(job, code, name_why(&result));
	return 1;
}

void reap_names_clear(struct reap *r)
{
	LIST_EACH (struct reap_name, n, &r->names, link)
		name_free(n);
	LIST_EACH (struct reap_name, n, &r->asked_names, link)
		name_free(n);
	r->asking = 0;
	TABLE_EACH (reap_sites, slot, &r->sites) {
		LIST_EACH (struct reap_parked, p, &slot->value->parked, link)
			mem_free(&p);
		mem_free(&slot->value->off_why);
		mem_free(&slot->value);
	}
	reap_sites_free(&r->sites);
	list_init(&r->ahead);
}
