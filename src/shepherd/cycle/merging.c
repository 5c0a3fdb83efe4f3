/* merge: URLs that were found join those that are known.
 *
 * The contributions of all rounds are sorted by footprint and made one for each URL. A look at them
 * next to the site list tells which sites are new and which classes of mirrors have several sites;
 * only the pages of these are sorted by their normalised footprints (merging_class.c). What came of
 * that, the contributions and the front pages of new sites are the news of one pass over the whole
 * index. No memory per URL: 24 bytes for each site that is new, 16 for each class of mirrors.
 *
 * The URL of a contribution is taken apart only where its page, or its site, is not known. */
#include "shepherd/cycle/merging.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "shepherd/code.h"

#include <stdio.h>
#include <stdlib.h>

enum { STOP_EVERY = 4096, PLACE = 8, PLACE_AND_KIND = PLACE + 1 };

bool merge_is_stopped(struct merging *m)
{
	if (m->asked++ % STOP_EVERY == 0)
		m->stopped |= crawl_is_stopped(m->crawl);
	return m->stopped;
}

/* Contributions */

static bool contrib_is_by_hand(const struct contrib *c)
{
	return c->flags & ITEM_INITIAL && footprint_cmp(c->from, (struct footprint){0}) == 0;
}

uint8_t merge_weight(const struct merging *m, const struct contrib *c)
{
	return c->weight ? c->weight : (uint8_t)m->crawl->conf->default_insert_weight;
}

/* Redirects that led to it from one that was given by hand. */
enum { NO_HOPS = UINT8_MAX };
static uint8_t contrib_hops(const struct contrib *c)
{
	return c->flags & ITEM_INITIAL ? MIN(c->hops, (uint8_t)ITEM_HOPS_MOST) : (uint8_t)NO_HOPS;
}

/* Of several of one URL the first stands for all, one by hand before others. Most are links of the
 * same kind, and nothing changes. */
static void contrib_unify(void *ctx, struct buf *into, struct str from)
{
	struct merging *m = ctx;
	struct contrib a, b;
	struct err err;
	uint64_t place, place_b;
	if (contrib_read(crawl_placed(buf_str(into), &place), &a, &err) < 0 ||
	    contrib_read(crawl_placed(from, &place_b), &b, &err) < 0)
		return;
	bool other = contrib_is_by_hand(&b) && !contrib_is_by_hand(&a);
	struct contrib one = other ? b : a;
	one.flags = a.flags | b.flags;
	one.weight = MAX(merge_weight(m, &a), merge_weight(m, &b));
	one.time_s = MAX(a.time_s, b.time_s);
	one.changed_s = MAX(a.changed_s, b.changed_s);
	one.hops = MIN(contrib_hops(&a), contrib_hops(&b));
	if (one.hops == NO_HOPS)
		one.hops = 0;
	if (!other && one.flags == a.flags && one.weight == a.weight && one.time_s == a.time_s &&
	    one.changed_s == a.changed_s && one.hops == a.hops)
		return;
	buf_clear(&m->record);
	contrib_write(&one, &m->record);
	put_u64le(&m->record, other ? place_b : place);
	buf_clear(into);
	buf_add_str(into, buf_str(&m->record));
}

static int found_write(struct merging *m, struct sort *sort, struct err *err)
{
	const struct stream_options options = {.buffered = true};
	struct stream_writer out;
	if (file_temporary(&m->found.file, state_folder(m->state), err) < 0 ||
	    stream_create_in(&out, &m->found.file, true, &options, err) < 0)
		return -1;
	if (sort_write(sort, &out, err) < 0) {
		stream_drop(&out);
		return -1;
	}
	m->found.bytes = stream_written(&out);
	return stream_finish(&out, false, err);
}

static int found_gather(struct merging *m, struct err *err)
{
	CLEANUP(sort_free) struct sort *sort = NULL;
	const struct crawl_contribs all = {.unify = contrib_unify, .lost = &m->ret->lost, .ctx = m};
	int rc = crawl_sort_contribs(m->state, m->crawl, &all, &sort, err);
	m->stopped |= rc == 1;
	return rc ? -1 : found_write(m, sort, err);
}

int found_open(struct merging *m, struct found *f, struct err *err)
{
	const struct stream_options options = {.buffered = true};
	*f = (struct found){0};
	if (stream_open_part(&f->in, &m->found.file, 0, m->found.bytes, &options, err) < 0)
		return -1;
	return found_next(m, f, err);
}

void found_close(struct found *f)
{
	stream_close(&f->in);
}

/* One that cannot be read counts as damage, and is passed over. */
int found_next(struct merging *m, struct found *f, struct err *err)
{
	for (;;) {
		struct str bytes;
		int rc = stream_read(&f->in, ORDER_LENGTH, &bytes, err);
		f->some = rc == 0;
		if (rc)
			return MIN(rc, 0);
		struct reader r = reader_of(bytes);
		rc = stream_read(&f->in, reader_u32le(&r), &f->record, err);
		if (rc || merge_is_stopped(m))
			return rc == 1 ? err_set(err, ERR_DAMAGED, "contributions are cut") : -1;
		if (contrib_read(crawl_placed(f->record, &f->place), &f->c, err) == 0)
			return 0;
		m->ret->lost = *err;
	}
}

bool merge_wants(const struct merging *m, const struct contrib *c, struct filter_where where,
		 uint8_t *ret_section)
{
	char room[URL_MAX];
	struct url url;
	struct filter_url says;
	if (c->fp.path == m->robots || url_parse(c->url, NULL, room, sizeof room, &url) != 0)
		return false;
	where.known |= c->flags & CRAWL_ADMITS;
	filter_url(m->crawl->filter, &url, STR(""), &where, &says);
	*ret_section = says.section;
	return !says.reject || c->flags & ITEM_INITIAL;
}

/* Sites that are not known */

/* The site of a contribution, if the URL is one of the site that its footprint says. */
static bool contrib_site(const struct contrib *c, char room[URL_MAX], struct url *ret)
{
	return url_parse(c->url, NULL, room, URL_MAX, ret) == 0 &&
	       footprint_site(url_site(ret)) == c->fp.site;
}

/* All contributions of a site: whether one of them is wanted. */
static int newcomer_look(struct merging *m, struct found *f, struct err *err)
{
	struct newcomer n = {.fp = f->c.fp.site};
	bool wanted = false;
	int rc = 0;
	while (rc == 0 && f->some && f->c.fp.site == n.fp) {
		char room[URL_MAX];
		struct url url;
		struct filter_url says;
		bool admits = f->c.flags & CRAWL_ADMITS;
		if ((!wanted || (admits && !n.by_hand)) && f->c.fp.path != m->robots &&
		    contrib_site(&f->c, room, &url)) {
			const struct filter_where where = {.known = admits};
			n.norm = footprint_site(equiv_site(m->crawl->equiv, url_site(&url)));
			filter_url(m->crawl->filter, &url, STR(""), &where, &says);
			bool taken = f->c.flags & ITEM_INITIAL || !says.reject;
			n.by_hand |= admits && taken;
			wanted |= taken;
		}
		rc = found_next(m, f, err);
	}
	if (wanted)
		*VEC_PUSH(m->newcomer, m->newcomers, m->room) = n;
	return rc;
}

static int by_footprint(const void *key, const void *entry)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct newcomer *)entry)->fp;
	return (a > b) - (a < b);
}

struct newcomer *merge_newcomer(const struct merging *m, uint64_t fp)
{
	return m->newcomers
		       ? bsearch(&fp, m->newcomer, m->newcomers, sizeof *m->newcomer, by_footprint)
		       : NULL;
}

static void class_note_site(struct merging *m, uint64_t fp, uint64_t norm)
{
	if (norm != fp)
		site_classes_put(&m->classes, norm)->sites++;
}

/* Which sites are new, and which classes have a site that does not stand for them: one walk along
 * contributions and sites. */
static int merge_survey(struct merging *m, struct err *err)
{
	CLEANUP(found_close) struct found f;
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct site site;
	int rc = found_open(m, &f, err);
	if (rc == 0)
		rc = state_sites_scan(m->state, &sites, err);
	int more = rc ? rc : sites_scan_next(sites, &site, err);
	while (rc == 0 && more >= 0 && (more == 0 || f.some)) {
		if (f.some && (more || f.c.fp.site < site.fp)) {
			rc = newcomer_look(m, &f, err);
		} else if (f.some && f.c.fp.site == site.fp) {
			rc = found_next(m, &f, err);
		} else {
			class_note_site(m, site.fp, site.norm);
			more = sites_scan_next(sites, &site, err);
		}
	}
	for (size_t i = 0; i < m->newcomers; i++)
		class_note_site(m, m->newcomer[i].fp, m->newcomer[i].norm);
	return MIN(rc, MIN(more, 0));
}

/* The front page of a new site, unless the filter has something against it. */
static int merge_add_root(struct merging *m, const struct newcomer *n, const struct url *url,
			  struct err *err)
{
	char room[URL_MAX];
	struct url root;
	struct class_of_sites *class =
		class_is_shared(m, n->norm) ? site_classes_get(&m->classes, n->norm) : NULL;
	struct contrib c = {.fp = {n->fp, m->root}, .flags = ITEM_EQUIV};
	if (!m->crawl->conf->auto_go_root || (class && class->has_root) ||
	    url_parse(STR("/"), url, room, sizeof room, &root) != 0)
		return 0;
	c.url = root.href;
	if (!merge_wants(m, &c, (struct filter_where){.known = true}, &c.section))
		return 0;
	if (class)
		class->has_root = true;
	return merge_put_taken(m, &c, ITEM_NOWHERE, err);
}

/* By its first contribution that has a sound URL. */
static int merge_enter_site(struct merging *m, const struct newcomer *n, struct found *f,
			    struct counted_writer *out, struct err *err)
{
	char room[URL_MAX];
	struct url url;
	int rc = 0;
	while (rc == 0 && f->some && (f->c.fp.site < n->fp || !contrib_site(&f->c, room, &url)))
		rc = found_next(m, f, err);
	if (rc < 0)
		return -1;
	ENSURE(f->some && f->c.fp.site == n->fp);
	struct url_site site = url_site(&url);
	const struct site entry = {.fp = n->fp,
				   .norm = n->norm,
				   .protocol = site.protocol,
				   .port = site.port,
				   .host = site.host};
	m->ret->sites++;
	return sites_write(out, &entry, err) < 0 ? -1 : merge_add_root(m, n, &url, err);
}

static int merge_list_sites(struct merging *m, struct counted_writer *out, struct err *err)
{
	CLEANUP(found_close) struct found f;
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct site site;
	size_t i = 0;
	int rc = found_open(m, &f, err);
	if (rc == 0)
		rc = state_sites_scan(m->state, &sites, err);
	int more = rc ? rc : sites_scan_next(sites, &site, err);
	while (rc == 0 && more >= 0 && (more == 0 || i < m->newcomers)) {
		if (i < m->newcomers && (more || m->newcomer[i].fp < site.fp)) {
			const struct newcomer *n = &m->newcomer[i++];
			rc = n->enters ? merge_enter_site(m, n, &f, out, err) : 0;
		} else if ((rc = sites_write(out, &site, err)) == 0) {
			more = sites_scan_next(sites, &site, err);
		}
		if (merge_is_stopped(m))
			return -1;
	}
	return MIN(rc, MIN(more, 0));
}

/* Where no site enters, the old list stays. */
static int merge_sites(struct merging *m, struct err *err)
{
	CLEANUP(counted_drop) struct counted_writer out = {0};
	bool some = false;
	for (size_t i = 0; i < m->newcomers; i++) {
		m->newcomer[i].enters |= !class_is_shared(m, m->newcomer[i].norm);
		some |= m->newcomer[i].enters;
	}
	if (!some)
		return 0;
	if (state_sites_create(m->state, &out, err) < 0 || merge_list_sites(m, &out, err) < 0)
		return -1;
	return state_sites_finish(m->state, &out, err);
}

/* News for the pass over the index */

static int merge_put_news(struct merging *m, uint64_t place, enum merge_kind kind, struct err *err)
{
	put_u64le(&m->record, place);
	put_u8(&m->record, (uint8_t)kind);
	return sort_add(m->news, buf_str(&m->record), err);
}

int merge_put_found(struct merging *m, const struct found *f, struct err *err)
{
	buf_clear(&m->record);
	buf_add_str(&m->record, f->record);
	put_u8(&m->record, NEWS_FOUND);
	return sort_add(m->news, buf_str(&m->record), err);
}

int merge_put_taken(struct merging *m, const struct contrib *c, uint64_t place, struct err *err)
{
	buf_clear(&m->record);
	contrib_write(c, &m->record);
	return merge_put_news(m, place, NEWS_TAKEN, err);
}

int merge_put_duplicate(struct merging *m, struct footprint fp, struct str of, struct err *err)
{
	unsigned char key[FOOTPRINT_KEY];
	footprint_key(fp, key);
	buf_clear(&m->record);
	buf_add(&m->record, key, sizeof key);
	buf_add_str(&m->record, of);
	return merge_put_news(m, 0, NEWS_DUPLICATE, err);
}

/* Contributions are news already, and in order; what else is new was sorted. Where sites share a
 * class, contributions were sorted too, and stand among the others. */
struct merge_source {
	struct merging *m;
	struct found found;
	struct str sorted; /* the next; p NULL: there are no more */
	struct buf record;
	bool gave_sorted, gave_found;
};

static int source_step_sorted(struct merge_source *s, struct err *err)
{
	int rc = sort_next(s->m->news, &s->sorted, err);
	if (rc)
		s->sorted = (struct str){NULL, 0};
	return MIN(rc, 0);
}

static int source_open(struct merge_source *s, struct err *err)
{
	if (!s->m->shared && found_open(s->m, &s->found, err) < 0)
		return -1;
	return source_step_sorted(s, err);
}

static int source_next(void *ctx, struct str *ret, struct err *err)
{
	struct merge_source *s = ctx;
	if ((s->gave_sorted && source_step_sorted(s, err) < 0) ||
	    (s->gave_found && found_next(s->m, &s->found, err) < 0))
		return -1;
	s->gave_found =
		s->found.some &&
		(!s->sorted.p || footprint_cmp(s->found.c.fp, footprint_of_key(s->sorted.p)) <= 0);
	s->gave_sorted = !s->gave_found && s->sorted.p;
	if (s->gave_found) {
		buf_clear(&s->record);
		buf_add_str(&s->record, s->found.record);
		put_u8(&s->record, NEWS_FOUND);
	}
	*ret = s->gave_found ? buf_str(&s->record) : s->sorted;
	return !s->gave_found && !s->gave_sorted;
}

/* What the news of one URL say. */
struct merge_news {
	bool found, taken, root, duplicate;
	struct contrib c, root_c;
	uint64_t place;
	struct str of; /* which it is a duplicate of */
};

static int merge_read_news(const struct index_news *about, struct merge_news *ret, struct err *err)
{
	for (size_t i = 0; i < about->n; i++) {
		struct str rec = about->news[i];
		ENSURE(rec.n >= FOOTPRINT_KEY + PLACE_AND_KIND);
		enum merge_kind kind = (enum merge_kind)rec.p[rec.n - 1];
		uint64_t place;
		struct str payload = crawl_placed(str_head(rec, rec.n - 1), &place);
		bool root = kind == NEWS_TAKEN && place == ITEM_NOWHERE;
		if (kind == NEWS_DUPLICATE) {
			ret->duplicate = true;
			ret->of = str_from(payload, FOOTPRINT_KEY);
			continue;
		}
		if (contrib_read(payload, root ? &ret->root_c : &ret->c, err) < 0)
			return -1;
		ret->root |= root;
		ret->found |= kind == NEWS_FOUND;
		ret->taken |= kind == NEWS_TAKEN && !root;
		if (!root)
			ret->place = place;
	}
	return 0;
}

/* The pass over the index */

int merge_url_of(struct merging *m, const struct index_item *item, struct str *ret, struct err *err)
{
	arena_clear(&m->scratch);
	int rc = crawl_url_of(m->crawl, m->state, item, &m->scratch, ret, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	if (rc)
		*ret = STR("-");
	return 0;
}

static int merge_tell(struct merging *m, struct footprint fp, enum change_op op, struct str url,
		      const char *reason, struct err *err)
{
	struct change c = {
		.fp = fp,
		.time_us = m->crawl->now_us,
		.op = op,
		.by = PHASE_MERGE,
		.forgotten = op != CHANGE_ADD,
		.url = url,
		.reason = str_of(reason),
	};
	return state_change(m->state, &c, err);
}

/* old: as it was, which tells whether followers know it. */
static int merge_forget(struct merging *m, const struct index_item *old, enum gone_reason why,
			const char *reason, struct err *err)
{
	const struct gone gone = {old->fp, m->crawl->now_us, why};
	struct str url;
	m->ret->forgotten++;
	if (merge_url_of(m, old, &url, err) < 0 || state_gone(m->state, &gone, err) < 0)
		return -1;
	return merge_tell(m, old->fp, old->type == ITEM_GATHERED ? CHANGE_DELETE : CHANGE_NONE, url,
			  reason, err) < 0
		       ? -1
		       : 1;
}

static int merge_forget_error(struct merging *m, const struct index_item *old, struct err *err)
{
	char text[CODE_TEXT], reason[128];
	snprintf(reason, sizeof reason, "%s; such errors are not kept", code_text(old->code, text));
	return merge_forget(m, old, GONE_ERROR, reason, err);
}

static int merge_forget_duplicate(struct merging *m, const struct index_item *old, struct str of,
				  struct err *err)
{
	char reason[URL_MAX + 64];
	m->ret->duplicates++;
	if (str_is(of, "-"))
		snprintf(reason, sizeof reason, "the same page of a mirror is known");
	else
		snprintf(reason, sizeof reason, "the same page as " STR_FMT, STR_ARG(of));
	return merge_forget(m, old, GONE_DUPLICATE, reason, err);
}

static int merge_add(struct merging *m, const struct contrib *c, uint64_t place,
		     struct index_item *ret, struct err *err)
{
	bool root = place == ITEM_NOWHERE;
	*ret = (struct index_item){
		.fp = c->fp,
		.where = place,
		.since_day = (uint16_t)(m->crawl->now_us / US_PER_DAY),
		.hops = c->flags & ITEM_INITIAL ? contrib_hops(c) : 0,
		.type = ITEM_NEW,
		.flags = c->flags | ITEM_CONTRIB,
		.weight = merge_weight(m, c),
		.section = c->section,
	};
	m->ret->added++;
	m->ret->roots += root;
	return merge_tell(m, c->fp, CHANGE_ADD, c->url,
			  root                      ? "front page of a new site"
			  : contrib_is_by_hand(c)   ? "added by hand"
			  : c->flags & CRAWL_ADMITS ? "a page that was added by hand leads to it"
						    : "linked from another page",
			  err);
}

/* What is known of the site of a contribution whose page is not known. 1: it is not known, and
 * nobody wants it. */
static int merge_where(struct merging *m, uint64_t fp, struct filter_where *ret, struct err *err)
{
	const struct site *site;
	int rc = sites_scan_find(m->sites, fp, &site, err);
	if (rc < 0)
		return -1;
	*ret = (struct filter_where){.qkey = rc ? 0 : site->qkey, .known = rc == 0};
	if (rc == 0)
		return 0;
	while (m->next_newcomer < m->newcomers && m->newcomer[m->next_newcomer].fp < fp)
		m->next_newcomer++;
	if (m->next_newcomer == m->newcomers || m->newcomer[m->next_newcomer].fp != fp)
		return 1;
	ret->known = m->newcomer[m->next_newcomer].by_hand;
	return 0;
}

static int merge_new_item(struct merging *m, struct merge_news *news, struct index_item *ret,
			  struct err *err)
{
	struct filter_where where;
	int rc = news->found ? merge_where(m, ret->fp.site, &where, err) : 1;
	if (rc < 0)
		return -1;
	if (rc == 0)
		news->taken = merge_wants(m, &news->c, where, &news->c.section);
	m->ret->unwanted += news->found && !news->taken;
	if (news->taken)
		return merge_add(m, &news->c, news->place, ret, err);
	return news->root ? merge_add(m, &news->root_c, ITEM_NOWHERE, ret, err) : 1;
}

/* Given by hand: it is tried again whatever became of it, unless that was done since. What such a
 * page led to is not, or two that lead to each other would be asked for ever. */
bool merge_touch(const struct merging *m, const struct contrib *c, struct index_item *item)
{
	bool again = false;
	if (!index_item_is_page(item))
		return false;
	if (c->flags & ITEM_INITIAL)
		item->hops = item->flags & ITEM_INITIAL ? MIN(item->hops, contrib_hops(c))
							: contrib_hops(c);
	item->flags &= (uint8_t)~ITEM_UNREFERENCED;
	item->flags |= c->flags & CRAWL_ADMITS;
	if (item->type == ITEM_GATHERED && c->changed_s > item->last_seen_s &&
	    c->changed_s <= m->crawl->now_us / US_PER_S) {
		item->flags |= ITEM_REGATHER;
		again = true;
	}
	if (c->flags & ITEM_REGATHER &&
	    (item->type == ITEM_ZOMBIE || item->type == ITEM_SLEEPING)) {
		item->type = ITEM_NEW;
		item->retry = 0;
		again = true;
	}
	if (!contrib_is_by_hand(c) || c->time_s <= item->last_seen_s)
		return again;
	if (item->type == ITEM_GATHERED) {
		item->flags |= ITEM_REGATHER;
	} else if (item->type != ITEM_NEW) {
		item->type = ITEM_NEW;
		item->retry = 0;
	}
	item->due_s = 0;
	return true;
}

bool merge_is_dropped_error(const struct index_item *item)
{
	return item->type == ITEM_ERROR && !(item->flags & ITEM_SACRED) && !item->no_target;
}

static int merge_item(void *ctx, const struct index_news *about, struct index_item *ret,
		      struct err *err)
{
	struct merging *m = ctx;
	struct merge_news news = {0};
	if (about->n && merge_read_news(about, &news, err) < 0)
		return -1;
	if (!about->old)
		return merge_new_item(m, &news, ret, err);
	m->ret->known += news.found;
	bool again = news.found && merge_touch(m, &news.c, ret);
	if (news.duplicate)
		return merge_forget_duplicate(m, about->old, news.of, err);
	if (merge_is_dropped_error(ret))
		return merge_forget_error(m, about->old, err);
	m->ret->again += again;
	return 0;
}

/* All together */

static int merge_all(struct merging *m, struct err *err)
{
	if (merge_survey(m, err) < 0 || class_count_sites(m, err) < 0 ||
	    crawl_sort_new(&m->news, m->crawl, m->state, FOOTPRINT_ORDER, err) < 0 ||
	    class_sort_found(m, err) < 0 || state_sites_scan(m->state, &m->sites, err) < 0 ||
	    merge_sites(m, err) < 0)
		return -1;
	const struct index_still still = {.types = INDEX_TYPES_BUT(ITEM_ERROR)};
	struct merge_source source = {.m = m, .record = BUF_INIT(1 << 20)};
	const struct news_source from = {source_next, &source};
	const struct crawl_news news = {.source = &from, .still = &still};
	int rc = source_open(&source, err);
	if (rc == 0)
		rc = crawl_rewrite(m->state, m->crawl, &news, merge_item, m, err);
	found_close(&source.found);
	buf_free(&source.record);
	m->stopped |= rc == 1;
	return rc ? -1 : 0;
}

static int merge_note_course(struct merging *m, struct err *err)
{
	struct state_course course = state_params(m->state)->course;
	const struct url_index *index;
	if (state_index(m->state, &index, err) < 0)
		return -1;
	for (unsigned i = 0; i < ITEM_TYPES; i++)
		course.urls[i] = url_index_count(index, (enum item_type)i);
	course.rounds = course.asked = 0;
	if (m->ret->added || m->ret->again)
		course.due_s = (uint64_t)(m->crawl->now_us / US_PER_S);
	return state_params_put(m->state, &course, err);
}

static int merge_begin(struct merging *m, struct err *err)
{
	const struct url_index *index;
	if (found_gather(m, err) < 0 || state_index(m->state, &index, err) < 0)
		return -1;
	bool work = m->found.bytes > 0 || url_index_count(index, ITEM_ERROR) > 0;
	return work && merge_all(m, err) < 0 ? -1 : merge_note_course(m, err);
}

int crawl_merge(struct state *st, const struct crawl *crawl, struct merged *ret, struct err *err)
{
	struct merged merged = {0};
	struct merging m = {.state = st,
			    .crawl = crawl,
			    .ret = &merged,
			    .scratch = ARENA_INIT(SIZE_MAX),
			    .record = BUF_INIT(1 << 20),
			    .found.file = FILE_INIT,
			    .root = footprint_path(STR("/")),
			    .robots = footprint_path(STR("/robots.txt"))};
	int rc = merge_begin(&m, err);
	sites_scan_free(&m.sites);
	sort_free(&m.news);
	site_classes_free(&m.classes);
	mem_free(&m.newcomer);
	file_drop(&m.found.file);
	buf_free(&m.record);
	arena_free(&m.scratch);
	if (rc == 0)
		*ret = merged;
	return m.stopped ? 1 : rc;
}
