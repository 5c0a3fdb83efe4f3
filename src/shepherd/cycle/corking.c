/* cork: the journal of a state goes into its index and its site list.
 *
 * The journal is sorted by footprint and time, as notes of fixed size. What it says of a site is
 * known when the site's last note has passed by; then the site is written, and so is, into a second
 * sort, the newest note of each URL and one on the site's queue key. That has the path 0 and comes
 * first of its site in the index, as what is said of robots.txt comes somewhere among its URLs;
 * both wait until it is clear that the site is known. So there is a second sort: it is in order
 * already but for these, and has nothing that is not applied. It is a hundredth of the index, so
 * the pass over the index stays what cork costs.
 *
 * When it is interrupted, recovery gives the state the index and the sites back with which cork
 * began; the course that it wrote down last may have counted a round that is then done again. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "shepherd/code.h"
#include "shepherd/plan_band.h"
#include "url/equiv.h"

#include <endian.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { STOP_EVERY = 4096 };

/* What an entry of the journal says. Only for sorting: no file keeps it. */
struct cork_note {
	unsigned char key[FOOTPRINT_KEY];
	uint64_t when; /* big-endian, as bytes sort */
	int64_t time_us;
	uint64_t where, place; /* place: in the journal */
	qkey qkey;             /* of a key entry */
	uint32_t due_s, download_ms;
	uint16_t code;
	uint8_t type, flags, no_target;
	uint8_t section;     /* what the entry says, or of what may become known the filter */
	uint8_t has_section; /* the entry says it */
	uint8_t failed;      /* the last try failed for now; type is that of one before it */
	int64_t changed_us;  /* the last update; 0: none */
};

struct corking {
	const struct crawl *crawl;
	struct state *state;
	struct plan_clock clock;
	struct sort *notes, *news;
	uint64_t entries, steps;
	uint64_t robots; /* the path "/robots.txt" as footprints have it */
	bool stopped;
	/* The site list, in step with the notes. */
	struct sites_scan *old;
	struct counted_writer out;
	struct site next; /* the first that was not written */
	bool more;        /* there is one */
	/* The site whose notes are passing by. */
	struct cork_site {
		bool begun; /* there is one */
		struct site site;
		bool known;
		uint64_t tries, failed;
		int64_t tried_us; /* the last one */
		qkey key;         /* the last that was told, and when */
		int64_t key_us;
		uint64_t made; /* the place of an entry that makes a URL known; 0: none does */
		struct cork_note robots;
		bool has_robots;
	} at;
	struct cork_note last; /* the note before, of which a newer one may follow */
	bool has_last;
	/* What becomes of the index. */
	struct state_course course;
};

static bool cork_is_stopped(struct corking *c)
{
	if (c->steps++ % STOP_EVERY == 0)
		c->stopped = crawl_is_stopped(c->crawl);
	return c->stopped;
}

/* Notes */

/* A page that was asked for by hand while the reap ran, perhaps. */
static bool note_makes_known(const struct cork_note *n)
{
	return n->flags & ITEM_INITIAL && n->where != ITEM_NOWHERE;
}

static uint8_t note_section(const struct corking *c, const struct journal_entry *e)
{
	const struct filter_where where = {.known = true};
	char room[URL_MAX];
	struct url url;
	struct filter_url said;
	if (url_parse(e->url, NULL, room, sizeof room, &url) != 0)
		return 0;
	filter_url(c->crawl->filter, &url, STR(""), &where, &said);
	return said.section;
}

static struct str note_bytes(const struct cork_note *n)
{
	return (struct str){(const char *)n, sizeof *n};
}

static struct cork_note note_of(struct str record)
{
	struct cork_note n;
	ENSURE(record.n == sizeof n);
	memcpy(&n, record.p, sizeof n);
	return n;
}

static int note_entry(struct corking *c, const struct record *record, struct err *err)
{
	struct journal_entry e;
	struct cork_note n;
	if (journal_read(record->payload, &e, err) < 0)
		return err_in(err, "%s: journal, record at %" PRIu64, state_name(c->state),
			      record->place.at);
	bool robots = e.flags & ITEM_ROBOTS;
	c->entries++;
	if (e.fp.path == c->robots && !robots)
		return 0; /* it is no page */
	memset(&n, 0, sizeof n);
	footprint_key(e.fp, n.key);
	n.when = htobe64((uint64_t)e.time_us);
	n.time_us = e.time_us;
	n.where = e.where;
	n.place = record->place.at;
	n.qkey = e.qkey;
	n.due_s = e.due_s;
	n.download_ms = e.download_ms;
	n.code = e.code;
	n.changed_us = e.op == CHANGE_UPDATE ? e.time_us : 0;
	n.type = (uint8_t)e.type;
	n.flags = e.flags;
	n.no_target = e.no_target;
	n.has_section = e.has_section;
	n.section = e.section;
	if (!e.has_section && !robots && n.where != ITEM_NOWHERE)
		n.section = note_section(c, &e);
	return sort_add(c->notes, note_bytes(&n), err);
}

static int cork_sort(struct corking *c, size_t key, struct sort **ret, struct err *err)
{
	const struct order order = {.size = sizeof(struct cork_note), .key_len = key};
	return crawl_sort_new(ret, c->crawl, c->state, order, err);
}

static int cork_read_journal(struct corking *c, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	size_t key = offsetof(struct cork_note, when) + sizeof c->last.when;
	if (cork_sort(c, key, &c->notes, err) < 0)
		return -1;
	int rc = state_read(c->state, "journal", &in, err);
	while (rc == 0 && (rc = record_next(in, &record, err)) == 0)
		rc = cork_is_stopped(c) ? -1 : note_entry(c, &record, err);
	record_reader_free(&in);
	return MIN(rc, 0);
}

static void cork_note_due(struct corking *c, uint64_t due_s)
{
	c->course.due_s = MIN(c->course.due_s, due_s);
}

/* Sites */

/* All before this one go over as they are. */
static int cork_copy_sites(struct corking *c, uint64_t up_to, bool all, struct err *err)
{
	int rc = 0;
	while (rc == 0 && c->more && (all || c->next.fp < up_to)) {
		if (cork_is_stopped(c) || sites_write(&c->out, &c->next, err) < 0)
			return -1;
		rc = sites_scan_next(c->old, &c->next, err);
		c->more = rc == 0;
	}
	return MIN(rc, 0);
}

static int cork_begin_site(struct corking *c, uint64_t fp, struct err *err)
{
	if (cork_copy_sites(c, fp, false, err) < 0)
		return -1;
	c->at = (struct cork_site){.begun = true, .known = c->more && c->next.fp == fp};
	c->at.site = c->at.known ? c->next : (struct site){.fp = fp, .norm = fp};
	return 0;
}

static void cork_sum_up(struct cork_site *at, const struct cork_note *n, bool failed)
{
	uint64_t mean = at->site.download_ms;
	at->tries++;
	at->failed += failed;
	at->tried_us = MAX(at->tried_us, n->time_us);
	if (n->download_ms)
		at->site.download_ms =
			(uint32_t)(mean ? (3 * mean + n->download_ms) / 4 : n->download_ms);
}

/* All URLs of a site that rested may be due when it has answered. */
static void cork_judge_site(struct corking *c)
{
	struct cork_site *at = &c->at;
	struct site *site = &at->site;
	if (at->key && at->key != site->qkey) {
		site->oscillations =
			(uint8_t)MIN(site->oscillations + (site->qkey != 0), UINT8_MAX);
		site->qkey = at->key;
	}
	if (at->tries == 0)
		return;
	bool failed = at->failed == at->tries;
	if (!failed && site->error_cycles)
		cork_note_due(c, (uint64_t)c->clock.now_s);
	site->error_cycles = (uint8_t)(failed ? MIN(site->error_cycles + 1, UINT8_MAX) : 0);
	site->failed_s = failed ? (uint32_t)(at->tried_us / US_PER_S) : 0;
}

/* The first page of a site that merge will not see as a new one; merge knows whether it is there.
 */
static int cork_go_root(struct corking *c, struct url_site site, struct footprint from,
			struct err *err)
{
	char name[URL_SITE_MAX + 32], url[sizeof name + 1];
	struct contrib root = {
		.fp = {from.site, footprint_path(STR("/"))}, .flags = ITEM_EQUIV, .from = from};
	if (!c->crawl->conf->auto_go_root)
		return 0;
	struct str text = url_site_print(site, name, sizeof name);
	snprintf(url, sizeof url, STR_FMT "/", STR_ARG(text));
	root.url = str_of(url);
	return state_contrib(c->state, &root, NULL, err);
}

/* A site that becomes known with a page of it: its name is in the journal. */
static int cork_make_site(struct corking *c, struct err *err)
{
	CLEANUP(record_reader_free) struct record_reader *in = NULL;
	char room[URL_MAX];
	struct record record;
	struct journal_entry e;
	struct url url;
	int rc = state_read(c->state, "journal", &in, err);
	if (rc == 0) {
		record_seek(in, c->at.made);
		rc = record_next(in, &record, err);
	}
	if (rc < 0 || (rc == 0 && journal_read(record.payload, &e, err) < 0))
		return -1;
	if (rc != 0 || url_parse(e.url, NULL, room, sizeof room, &url) != 0)
		return err_set(err, ERR_DAMAGED, "%s: journal, record at %" PRIu64 ": not a URL",
			       state_name(c->state), c->at.made);
	struct url_site name = url_site(&url);
	c->at.site.protocol = name.protocol;
	c->at.site.port = name.port;
	c->at.site.host = name.host;
	c->at.site.norm = footprint_site(equiv_site(c->crawl->equiv, name));
	if (sites_write(&c->out, &c->at.site, err) < 0)
		return -1;
	return cork_go_root(c, name, e.fp, err);
}

static int cork_add_key(struct corking *c, struct err *err)
{
	struct cork_note n;
	if (!c->at.key)
		return 0;
	memset(&n, 0, sizeof n);
	footprint_key((struct footprint){c->at.site.fp, 0}, n.key);
	n.time_us = c->at.key_us;
	n.type = ITEM_QKEY;
	return sort_add(c->news, note_bytes(&n), err);
}

static int cork_end_site(struct corking *c, struct err *err)
{
	if (!c->at.begun || (!c->at.known && !c->at.made))
		return 0;
	cork_judge_site(c);
	if (c->at.known)
		c->next = c->at.site;
	else if (cork_make_site(c, err) < 0)
		return -1;
	if (c->at.has_robots && sort_add(c->news, note_bytes(&c->at.robots), err) < 0)
		return -1;
	return cork_add_key(c, err);
}

/* The newest of a URL. */
static int cork_end_url(struct corking *c, struct err *err)
{
	if (!c->has_last)
		return 0;
	c->has_last = false;
	if (c->last.flags & ITEM_ROBOTS) {
		c->at.robots = c->last;
		c->at.has_robots = true;
		return 0;
	}
	if (!c->at.known && !c->at.made && note_makes_known(&c->last))
		c->at.made = c->last.place;
	return sort_add(c->news, note_bytes(&c->last), err);
}

/* A URL may be tried twice, by the plan and because somebody asked for it. Followers have heard of
 * both: what the newer one leaves open is as the older one says. */
static void note_follow(struct cork_note *n, const struct cork_note *before)
{
	if (n->type == ITEM_TEMPORARY && before->type != ITEM_TEMPORARY) {
		n->type = before->type;
		n->no_target = before->no_target;
		n->failed = true;
	}
	if (!n->has_section && (before->has_section || n->where == ITEM_NOWHERE)) {
		n->section = before->section;
		n->has_section = before->has_section;
	}
	if (n->where == ITEM_NOWHERE) {
		n->where = before->where;
		n->place = before->place;
	}
	if (!n->changed_us)
		n->changed_us = before->changed_us;
	n->flags |= before->flags;
}

static int cork_pass_note(struct corking *c, struct cork_note *n, struct err *err)
{
	struct footprint fp = footprint_of_key(n->key);
	bool same_site = c->at.begun && c->at.site.fp == fp.site;
	bool same_url = same_site && c->has_last && memcmp(c->last.key, n->key, sizeof n->key) == 0;
	bool failed = code_is_failure(n->code);
	if (same_url)
		note_follow(n, &c->last);
	else if (cork_end_url(c, err) < 0)
		return -1;
	if (!same_site && (cork_end_site(c, err) < 0 || cork_begin_site(c, fp.site, err) < 0))
		return -1;
	if (n->type == ITEM_QKEY) {
		c->at.key = n->qkey;
		c->at.key_us = n->time_us;
		return 0;
	}
	cork_sum_up(&c->at, n, failed);
	c->last = *n;
	c->has_last = true;
	return 0;
}

static int cork_sites(struct corking *c, struct err *err)
{
	struct str record;
	if (cork_sort(c, FOOTPRINT_KEY, &c->news, err) < 0 ||
	    state_sites_scan(c->state, &c->old, err) < 0 ||
	    state_sites_create(c->state, &c->out, err) < 0)
		return -1;
	int rc = sites_scan_next(c->old, &c->next, err);
	c->more = rc == 0;
	while (rc >= 0 && (rc = sort_next(c->notes, &record, err)) == 0) {
		struct cork_note n = note_of(record);
		rc = cork_is_stopped(c) ? -1 : cork_pass_note(c, &n, err);
	}
	return rc < 0 || cork_end_url(c, err) < 0 || cork_end_site(c, err) < 0 ||
			       cork_copy_sites(c, 0, true, err) < 0
		       ? -1
		       : 0;
}

/* The index */

/* When it is to be tried again, as plan sees it. */
static void cork_note_next(struct corking *c, const struct index_item *item)
{
	struct plan_verdict v;
	if (!plan_may_gather(item))
		return;
	plan_judge(&c->clock, item, &v);
	cork_note_due(c, (uint64_t)(v.band == PLAN_BANDS ? v.due_s : c->clock.now_s));
}

static void cork_apply(const struct cork_note *n, struct index_item *item)
{
	uint32_t time_s = (uint32_t)(n->time_us / US_PER_S);
	item->code = n->code;
	item->last_seen_s = time_s;
	item->due_s = n->due_s;
	item->flags = (uint8_t)((item->flags | n->flags) & ~ITEM_REGATHER);
	item->download_ds = (uint8_t)MIN(((uint64_t)n->download_ms + 99) / 100, UINT8_MAX);
	if (n->type == ITEM_TEMPORARY) {
		item->retry = (uint8_t)MIN(item->retry + 1, UINT8_MAX);
		return;
	}
	bool nowhere = n->type == ITEM_ERROR && n->no_target;
	bool was_nowhere = item->type == ITEM_ERROR && item->no_target;
	item->type = (enum item_type)n->type;
	item->no_target = n->no_target;
	item->retry = n->failed;
	if (n->has_section)
		item->section = n->section;
	if (n->where != ITEM_NOWHERE) {
		item->where = n->where;
		item->flags &= (uint8_t)~ITEM_CONTRIB;
	}
	if (n->changed_us)
		item->stable_s = (uint32_t)(n->changed_us / US_PER_S);
	else if (nowhere ? !was_nowhere : item->stable_s == 0)
		item->stable_s = time_s;
}

static void cork_apply_key(const struct cork_note *n, struct index_item *item)
{
	item->type = ITEM_QKEY;
	item->flags = ITEM_ROBOTS;
	item->where = ITEM_NOWHERE;
	item->last_seen_s = (uint32_t)(n->time_us / US_PER_S);
}

/* The file that is there is in force until the server says that there is none. */
static void cork_apply_robots(const struct cork_note *n, struct index_item *item)
{
	if (!(item->flags & ITEM_ROBOTS))
		*item = (struct index_item){.fp = item->fp,
					    .where = ITEM_NOWHERE,
					    .type = ITEM_NEW,
					    .since_day = (uint16_t)(n->time_us / US_PER_DAY)};
	cork_apply(n, item);
	item->flags = ITEM_ROBOTS;
	if (n->type == ITEM_ERROR && code_class(n->code) == CODE_CLASS_PERMANENT)
		item->where = ITEM_NOWHERE;
}

static int cork_item(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	struct corking *c = ctx;
	(void)err;
	if (about->n == 0)
		return 0;
	struct cork_note n = note_of(about->news[0]);
	if (!about->old)
		ret->since_day = (uint16_t)(n.time_us / US_PER_DAY);
	if (n.type == ITEM_QKEY) {
		cork_apply_key(&n, ret);
		return 0;
	}
	if (n.flags & ITEM_ROBOTS) {
		cork_apply_robots(&n, ret);
		return 0;
	}
	if (!about->old && !note_makes_known(&n))
		return 1; /* reap gathers what is in the index, and what it is asked for */
	if (!about->old) {
		ret->type = ITEM_NEW; /* if it failed for now */
		ret->where = n.where;
		ret->weight = (uint8_t)c->crawl->conf->default_insert_weight;
		ret->section = n.section;
	}
	cork_apply(&n, ret);
	cork_note_next(c, ret);
	return 0;
}

static int cork_index(struct corking *c, struct err *err)
{
	const struct index_still still = {.types = UINT_MAX};
	const struct news_source source = news_of_sort(c->news);
	const struct crawl_news news = {.source = &source, .still = &still};
	const struct url_index *index;
	int rc = crawl_rewrite(c->state, c->crawl, &news, cork_item, c, err);
	if (rc || (rc = state_index(c->state, &index, err)) < 0)
		return rc;
	for (unsigned i = 0; i < ITEM_TYPES; i++)
		c->course.urls[i] = url_index_count(index, (enum item_type)i);
	return 0;
}

static int cork_all(struct corking *c, struct err *err)
{
	int rc = cork_read_journal(c, err);
	if (rc == 0 && c->entries)
		rc = cork_sites(c, err);
	if (rc == 0 && c->entries)
		rc = cork_index(c, err);
	if (rc == 0 && c->entries) /* last: a cork that is stopped is repeated with the old list */
		rc = state_sites_finish(c->state, &c->out, err);
	if (rc != 0)
		return rc;
	c->course.rounds++;
	return state_params_put(c->state, &c->course, err);
}

int crawl_cork(struct state *st, const struct crawl *crawl, struct err *err)
{
	struct corking *c = mem_alloc(sizeof *c);
	c->crawl = crawl;
	c->state = st;
	c->robots = footprint_path(STR("/robots.txt"));
	c->clock = plan_clock_of(crawl, state_params(st));
	c->course = state_params(st)->course;
	int rc = cork_all(c, err);
	bool stopped = c->stopped;
	sort_free(&c->notes);
	sort_free(&c->news);
	sites_scan_free(&c->old);
	counted_drop(&c->out);
	mem_free(&c);
	return stopped ? 1 : rc;
}
