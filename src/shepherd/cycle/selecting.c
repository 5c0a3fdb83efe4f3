/* select: which URLs are wanted, which sleep, which are forgotten, and how often each is refreshed.
 *
 * A first pass over the index, in step with the site list, finds out the class of each item (its
 * select weight) and makes a note of what the limits must know of it: one byte. The numbers of the
 * items are put into lists by class as they come, so within a class they stand in the order of
 * footprints. The lists lie in chunks of one array, which makes this a counting sort that need not
 * know the counts first: with them the classes would have to be kept, or the index read twice.
 *
 * Then the classes are walked from the best to the worst; a note becomes a verdict. The site of an
 * item is found by counting the bits of those with which sites begin: a search among the sites
 * takes longer, although the items of a class come in order. When the brake does not hold, the
 * index is read once more, and it and the site list are written anew by the verdicts: but if
 * nothing differs up to its end, neither is written, and both stay what the state shares with its
 * origin. */
#include "shepherd/crawl.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "shepherd/code.h"
#include "shepherd/cycle/limits.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

enum {
	CLASS_WEIGHTS = 1024,
	CLASS_TIERS = 4, /* by sacred, and by the bonus of the site */
	CLASS_ZOMBIE = 0,
	CLASSES = 1 + CLASS_TIERS * CLASS_WEIGHTS,
	CHUNK = 255,       /* items */
	STOP_EVERY = 4096, /* items between two questions whether to stop */
	LOST_MIN = 1000,   /* pages that may go whatever their share */
};

/* A note: the kind in three bits, then W, then the optimum of the schema in four. */
enum note_kind {
	NOTE_ZOMBIE,
	NOTE_SACRED_ZOMBIE,
	NOTE_SACRED,
	NOTE_SACRED_SLEEPING,
	NOTE_SLEEPING,
	NOTE_GATHERED,
	NOTE_AWAKE,
};
enum { NOTE_KIND = 7, NOTE_WEIGHED = 8, NOTE_OPTIMUM_AT = 4 };
_Static_assert(SCHEMA_MOST < 16, "an optimum has four bits");
/* Verdicts of what is not walked. */
enum { VERDICT_KEEPS = 0xfe, VERDICT_EXPIRES = 0xff };

struct chunk {
	uint32_t next; /* its place in the array + 1; 0: the last one */
	uint32_t item[CHUNK];
};

struct class_list {
	uint32_t first, last; /* chunks, + 1 */
	uint32_t n;           /* items in the last one */
};

enum { SPAN = 64 };
/* Of SPAN items: with which of them a site begins, and how many sites begin before them. */
struct site_span {
	uint64_t begins;
	uint64_t before;
};

struct selecting {
	struct state *state;
	const struct crawl *crawl;
	const struct url_index *index;
	struct limits *limits;
	const struct filter_section *section;
	size_t sections;
	bool sections_hold; /* else the numbers in the index are those of another list */
	uint64_t items;
	uint8_t *note;  /* of each item, and then its verdict */
	uint8_t *where; /* its section; NULL: there is only one */
	struct site_span *span;
	uint32_t sites;
	struct chunk *chunk;
	uint32_t chunks;
	size_t mapped; /* bytes of chunk where it lies in a file; 0: in memory */
	struct class_list class[CLASSES];
	struct arena arena;
	struct selected *ret;
};

/* The first pass */

static bool select_is_over(const struct selecting *s, const struct index_item *item)
{
	int64_t age_us = s->crawl->now_us - (int64_t)item->last_seen_s * US_PER_S;
	if (item->type == ITEM_ZOMBIE)
		return !(item->flags & ITEM_SACRED) && age_us >= s->crawl->conf->forget_us;
	return item->type == ITEM_ERROR && item->flags & ITEM_UNREFERENCED &&
	       !(item->flags & ITEM_INITIAL);
}

/* Turns a redirect that has led nowhere for too long into a zombie. True if it did. */
static bool select_give_up(const struct selecting *s, struct index_item *item)
{
	int64_t since_us = s->crawl->now_us - (int64_t)item->stable_s * US_PER_S;
	if (item->type != ITEM_ERROR || !item->no_target ||
	    since_us < s->crawl->conf->redirect_to_zombie_us)
		return false;
	item->type = ITEM_ZOMBIE;
	item->code = CODE_REDIRECT_ZOMBIE;
	return true;
}

/* By type, and whether it is sacred: no guess of the processor's would be right often. */
static const uint8_t select_kinds[ITEM_TYPES][2] = {
	[ITEM_SLEEPING] = {NOTE_SLEEPING, NOTE_SACRED_SLEEPING},
	[ITEM_NEW] = {NOTE_AWAKE, NOTE_SACRED},
	[ITEM_GATHERED] = {NOTE_GATHERED, NOTE_SACRED},
	[ITEM_ERROR] = {NOTE_AWAKE, NOTE_SACRED},
	[ITEM_ZOMBIE] = {NOTE_ZOMBIE, NOTE_SACRED_ZOMBIE},
};

static enum note_kind select_kind_of(const struct index_item *item)
{
	return select_kinds[item->type][(item->flags & ITEM_SACRED) != 0];
}

static unsigned select_class_of(const struct selecting *s, const struct index_item *item,
				bool bonus)
{
	int weight = item->weight;
	if (s->sections_hold)
		weight += s->section[MIN(item->section, s->sections - 1)].bonus;
	if (item->type == ITEM_ZOMBIE)
		return CLASS_ZOMBIE;
	if (item->type == ITEM_GATHERED)
		weight += (int)s->crawl->conf->select_hysteresis;
	unsigned tier = (item->flags & ITEM_SACRED ? 2 : 0) + bonus;
	return 1 + tier * CLASS_WEIGHTS + (unsigned)MIN(MAX(weight, 0), CLASS_WEIGHTS - 1);
}

static void select_list(struct selecting *s, struct class_list *list, uint32_t item)
{
	if (list->first == 0 || list->n == CHUNK) {
		uint32_t fresh = ++s->chunks;
		if (list->first)
			s->chunk[list->last - 1].next = fresh;
		else
			list->first = fresh;
		list->last = fresh;
		list->n = 0;
	}
	s->chunk[list->last - 1].item[list->n++] = item;
}

static void select_note(struct selecting *s, uint32_t i, const struct index_item *item,
			const struct limits_site *site)
{
	const struct crawl_conf *conf = s->crawl->conf;
	if (s->where)
		s->where[i] = item->section;
	if (!index_item_is_page(item)) {
		s->note[i] = VERDICT_KEEPS;
		return;
	}
	s->ret->gathered += item->type == ITEM_GATHERED;
	if (select_is_over(s, item)) {
		s->note[i] = VERDICT_EXPIRES;
		s->ret->expired++;
		return;
	}
	unsigned optimum = schema_optimum(site->schema, site->boost, item, conf);
	s->note[i] =
		(uint8_t)(select_kind_of(item) | (item->flags & ITEM_WEIGHED ? NOTE_WEIGHED : 0) |
			  optimum << NOTE_OPTIMUM_AT);
	select_list(s, &s->class[select_class_of(s, item, site->bonus)], i);
}

static int select_begin_site(struct selecting *s, struct sites_scan *sites, uint64_t fp,
			     uint32_t item, struct limits_site *ret, struct err *err)
{
	const struct site *site = NULL;
	if (sites_scan_find(sites, fp, &site, err) < 0)
		return -1;
	s->span[item / SPAN].begins |= UINT64_C(1) << item % SPAN;
	s->sites++;
	limits_add(s->limits, site, site ? sites_scan_number(sites) : 0, ret);
	return 0;
}

static int select_look(struct selecting *s, struct err *err)
{
	CLEANUP(url_index_scan_free) struct url_index_scan *scan = NULL;
	CLEANUP(sites_scan_free) struct sites_scan *sites = NULL;
	struct limits_site site = {0};
	struct index_item item;
	uint64_t fp = 0;
	uint32_t i = 0;
	int rc;
	if (url_index_scan(&scan, s->index, (struct footprint){0}, err) < 0 ||
	    state_sites_scan(s->state, &sites, err) < 0)
		return -1;
	for (; (rc = url_index_next(scan, &item, err)) == 0; i++) {
		if (i % STOP_EVERY == 0 && crawl_is_stopped(s->crawl))
			return 1;
		if (i % SPAN == 0)
			s->span[i / SPAN].before = s->sites;
		if ((i == 0 || item.fp.site != fp) &&
		    select_begin_site(s, sites, item.fp.site, i, &site, err) < 0)
			return -1;
		fp = item.fp.site;
		(void)select_give_up(s, &item);
		select_note(s, i, &item, &site);
	}
	ENSURE(rc < 0 || i == s->items);
	limits_begin(s->limits);
	return MIN(rc, 0);
}

/* The walk */

static unsigned bits_in(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)(v * UINT64_C(0x0101010101010101) >> 56);
}

/* The last site that begins at an item or before it. */
static uint32_t select_site_of(const struct selecting *s, uint32_t item)
{
	const struct site_span *span = &s->span[item / SPAN];
	uint64_t up_to = span->begins << (SPAN - 1 - item % SPAN);
	return (uint32_t)span->before + bits_in(up_to) - 1;
}

/* Counts a verdict in the result. */
static void select_count(struct selected *ret, enum note_kind kind, uint8_t verdict)
{
	unsigned limit = verdict % VERDICT_SLEEPS;
	bool lost = kind == NOTE_GATHERED && verdict >= VERDICT_SLEEPS;
	if (verdict < VERDICT_SLEEPS)
		ret->woken += kind == NOTE_SLEEPING || kind == NOTE_SACRED_SLEEPING;
	else if (verdict < VERDICT_FORGETS)
		ret->sleeps[limit] += kind != NOTE_SLEEPING;
	else if (verdict < VERDICT_REMEMBERS)
		ret->forgotten[limit]++;
	ret->lost += lost;
	if (lost)
		ret->lost_by[limit]++;
}

static void select_judge(struct selecting *s, uint32_t item, uint32_t site)
{
	uint8_t note = s->note[item];
	enum note_kind kind = (enum note_kind)(note & NOTE_KIND);
	struct limits_url url = {
		.sacred = kind >= NOTE_SACRED_ZOMBIE && kind <= NOTE_SACRED_SLEEPING,
		.zombie = kind == NOTE_ZOMBIE || kind == NOTE_SACRED_ZOMBIE,
		.weighed = note & NOTE_WEIGHED,
		.section = s->where ? s->where[item] : 0,
		.optimum = note >> NOTE_OPTIMUM_AT,
	};
	s->note[item] = limits_judge(s->limits, site, &url);
	select_count(s->ret, kind, s->note[item]);
}

/* Memory is asked for in three steps, each of which knows where the next one looks. */
static void select_walk_chunk(struct selecting *s, const struct chunk *chunk, uint32_t n)
{
	uint32_t site[CHUNK];
	for (uint32_t i = 0; i < n; i++) {
		site[i] = select_site_of(s, chunk->item[i]);
		limits_near(s->limits, site[i]);
		__builtin_prefetch(&s->note[chunk->item[i]], 1);
	}
	for (uint32_t i = 0; i < n; i++)
		limits_next(s->limits, site[i]);
	for (uint32_t i = 0; i < n; i++)
		select_judge(s, chunk->item[i], site[i]);
}

static int select_walk(struct selecting *s)
{
	uint64_t done = 0;
	for (unsigned class = CLASSES; class -- > 0;) {
		const struct class_list *list = &s->class[class];
		for (uint32_t at = list->first; at; at = s->chunk[at - 1].next) {
			if (done++ % (STOP_EVERY / CHUNK) == 0 && crawl_is_stopped(s->crawl))
				return 1;
			select_walk_chunk(s, &s->chunk[at - 1], at == list->last ? list->n : CHUNK);
		}
	}
	s->ret->active = limits_active(s->limits);
	return 0;
}

static bool select_is_braked(const struct selecting *s)
{
	const struct selected *ret = s->ret;
	return ret->lost >= LOST_MIN &&
	       (double)ret->lost * 100 > (double)ret->gathered * s->crawl->conf->safety_brake_limit;
}

/* The second pass */

struct writing {
	struct selecting *s;
	struct url_index_scan *scan;
	struct url_index_writer *index; /* NULL: only to see what would change */
	struct counted_writer list;     /* list.w NULL: the same */
	struct sites_scan *sites;
	struct site old;             /* the site in the list that is looked at */
	bool has_old;                /* false: the list is at its end */
	struct site counts;          /* of the site that is being read: fp, and the new counts */
	uint32_t number;             /* of that site, + 1 */
	const struct schema *schema; /* the site's */
	uint64_t notes;              /* items of it that are no pages */
	bool has_key;                /* it has a key item, seen at: */
	uint32_t key_seen_s;
	bool items_change, sites_change;
	uint64_t fresh, stale_notes, sites_gone;
	struct state_course course;
};

/* For people, by enum crawl_limit. */
static const char *const select_reasons[CRAWL_LIMITS] = {
	[LIMIT_SITE] = "more URLs of its site than shepherd.site_max or its rule allows",
	[LIMIT_DEAD] = "more URLs of a dead site than shepherd.dead_site_limit",
	[LIMIT_FRESH] = "more unweighed URLs of its site than shepherd.site_fresh_limit",
	[LIMIT_SERVER] = "more URLs of its server than its delay allows",
	[LIMIT_SECTION] = "more URLs of its section than its share allows",
	[LIMIT_PERFORMANCE] = "more URLs than can be refreshed within shepherd.refresh",
	[LIMIT_SPACE] = "more URLs than shepherd.bucket_file_size has room for",
	[LIMIT_ACTIVE] = "more URLs than shepherd.active_max",
};

/* Tells followers that a fetched page is no longer available. */
static int select_tell(struct selecting *s, const struct index_item *old, uint8_t verdict,
		       struct err *err)
{
	struct change change = {
		.fp = old->fp,
		.time_us = s->crawl->now_us,
		.op = CHANGE_DELETE,
		.by = PHASE_SELECT,
		.forgotten = verdict >= VERDICT_FORGETS,
		.reason = str_of(select_reasons[verdict % VERDICT_SLEEPS]),
	};
	arena_clear(&s->arena);
	if (crawl_url_of(s->crawl, s->state, old, &s->arena, &change.url, err) < 0)
		return -1;
	return state_change(s->state, &change, err);
}

static int select_forget(struct selecting *s, const struct index_item *old, uint8_t verdict,
			 struct err *err)
{
	bool expires = verdict == VERDICT_EXPIRES;
	struct gone gone = {old->fp, s->crawl->now_us, expires ? GONE_ERROR : GONE_RANK};
	return state_gone(s->state, &gone, err);
}

static uint8_t select_freq_of(const struct writing *w, const struct index_item *item,
			      unsigned chosen)
{
	const struct crawl_conf *conf = w->s->crawl->conf;
	int64_t freq = schema_freq(w->schema, chosen);
	if (item->flags & ITEM_EQUIV)
		freq = MAX(freq, conf->min_eq_frequency);
	if (item->type == ITEM_ERROR)
		freq = MIN(freq, conf->max_err_frequency);
	return (uint8_t)freq;
}

/* What becomes of an item that stays. Whether that is something else than before. */
static bool select_apply(const struct writing *w, uint8_t verdict, struct index_item *item)
{
	enum item_type type = item->type;
	uint16_t code = item->code;
	uint8_t freq = 0;
	if (verdict >= VERDICT_KEEPS)
		return false;
	if (verdict < VERDICT_SLEEPS) {
		if (type == ITEM_SLEEPING) {
			type = ITEM_NEW;
			code = 0;
			item->retry = 0;
			item->due_s = 0;
		}
		freq = select_freq_of(w, item, verdict);
	} else if (verdict < VERDICT_FORGETS) {
		type = ITEM_SLEEPING;
		code = (uint16_t)(CODE_SLEEPS + verdict % VERDICT_SLEEPS);
	}
	if (type == item->type && code == item->code && freq == item->freq)
		return false;
	item->type = type;
	item->code = code;
	item->freq = freq;
	return true;
}

static void select_count_item(struct writing *w, const struct index_item *item, uint8_t verdict)
{
	w->course.urls[index_item_counts_as(item)]++;
	if (!index_item_is_page(item)) {
		w->notes++;
		if (item->type == ITEM_QKEY)
			w->key_seen_s = item->last_seen_s;
		w->has_key |= item->type == ITEM_QKEY;
		return;
	}
	w->fresh += (item->flags & ITEM_CONTRIB) != 0;
	w->counts.active += verdict < VERDICT_SLEEPS;
	w->counts.inactive += verdict >= VERDICT_SLEEPS;
	w->counts.gathered += item->type == ITEM_GATHERED;
	w->counts.fresh += item->type == ITEM_NEW;
	w->counts.demand += item->freq;
}

/* A page that is to be looked at more often may be due before all others. */
static void select_count_due(struct writing *w, const struct index_item *item)
{
	uint64_t refresh_s = (uint64_t)(w->s->crawl->conf->refresh_us / US_PER_S);
	if (item->type == ITEM_GATHERED && item->freq)
		w->course.due_s = MIN(w->course.due_s, item->last_seen_s + refresh_s / item->freq);
}

static bool select_same_counts(const struct site *a, const struct site *b)
{
	return a->active == b->active && a->inactive == b->inactive && a->gathered == b->gathered &&
	       a->fresh == b->fresh && a->demand == b->demand && a->qkey == b->qkey;
}

/* Reads the next site of the list. */
static int select_step_site(struct writing *w, struct err *err)
{
	int rc = sites_scan_next(w->sites, &w->old, err);
	w->has_old = rc == 0;
	return MIN(rc, 0);
}

static int select_drop_site(struct writing *w, struct err *err)
{
	w->sites_gone++;
	w->sites_change = true;
	return select_step_site(w, err);
}

/* The site that the list is at has the URLs that were counted. renew: its name is asked for again.
 */
static int select_keep_site(struct writing *w, bool renew, struct err *err)
{
	struct site site = w->old;
	site.qkey = renew ? 0 : site.qkey;
	site.active = w->counts.active;
	site.inactive = w->counts.inactive;
	site.gathered = w->counts.gathered;
	site.fresh = w->counts.fresh;
	site.demand = w->counts.demand;
	w->sites_change |= !select_same_counts(&site, &w->old);
	if (w->list.w && sites_write(&w->list, &site, err) < 0)
		return -1;
	return select_step_site(w, err);
}

/* All URLs of a site were read: those before it in the list have none. */
static int select_end_site(struct writing *w, struct err *err)
{
	const struct crawl *c = w->s->crawl;
	int64_t age_us = c->now_us - (int64_t)w->key_seen_s * US_PER_S;
	uint64_t fp = w->counts.fp;
	while (w->has_old && w->old.fp < fp)
		if (select_drop_site(w, err) < 0)
			return -1;
	bool known = w->has_old && w->old.fp == fp;
	bool stays = known && w->counts.active + w->counts.inactive > 0;
	bool nowhere = known && qkey_kind(w->old.qkey) == QKEY_NONEXISTENT &&
		       age_us >= c->conf->site_err_expire_us;
	w->stale_notes += stays ? w->has_key && (nowhere || !w->old.qkey) : w->notes;
	return stays ? select_keep_site(w, nowhere, err) : known ? select_drop_site(w, err) : 0;
}

static int select_turn_to(struct writing *w, uint64_t fp, struct err *err)
{
	if (w->number && w->counts.fp == fp)
		return 0;
	if (w->number && select_end_site(w, err) < 0)
		return -1;
	w->counts = (struct site){.fp = fp};
	w->has_key = false;
	w->key_seen_s = 0;
	w->notes = 0;
	w->schema = limits_schema(w->s->limits, w->number++);
	return 0;
}

/* The item is changed where it lies: a copy of it, just after it was taken from the index field by
 * field, takes longer than all else here. */
static int select_write_item(struct writing *w, uint8_t verdict, struct index_item *item,
			     struct err *err)
{
	bool forgets = (verdict >= VERDICT_FORGETS && verdict < VERDICT_REMEMBERS) ||
		       verdict == VERDICT_EXPIRES;
	bool lost = item->type == ITEM_GATHERED && verdict >= VERDICT_SLEEPS &&
		    verdict < VERDICT_REMEMBERS;
	if (select_turn_to(w, item->fp.site, err) < 0)
		return -1;
	bool gives_up = select_give_up(w->s, item);
	if (w->index && lost && select_tell(w->s, item, verdict, err) < 0)
		return -1;
	if (forgets) {
		w->items_change = true;
		return w->index ? select_forget(w->s, item, verdict, err) : 0;
	}
	bool changes = select_apply(w, verdict, item) || gives_up;
	if (changes) {
		w->items_change = true;
		select_count_due(w, item);
	}
	select_count_item(w, item, verdict);
	if (!w->index)
		return 0;
	if (changes)
		url_index_put(w->index, item);
	else
		url_index_put_same(w->index, w->scan, item);
	return 0;
}

static int select_end_sites(struct writing *w, struct err *err)
{
	int rc = w->number ? select_end_site(w, err) : 0;
	while (rc == 0 && w->has_old)
		rc = select_drop_site(w, err);
	return rc;
}

/* All items and sites by their verdicts. Who only looks stops at the first item that changes. */
static int select_pass(struct selecting *s, struct writing *w, struct err *err)
{
	bool looks = !w->index && !w->list.w;
	struct index_item item;
	int rc = 1;
	w->s = s;
	w->course = state_params(s->state)->course;
	memset(w->course.urls, 0, sizeof w->course.urls);
	if (url_index_scan(&w->scan, s->index, (struct footprint){0}, err) < 0 ||
	    state_sites_scan(s->state, &w->sites, err) < 0 || select_step_site(w, err) < 0)
		return -1;
	for (uint64_t i = 0; (rc = url_index_next(w->scan, &item, err)) == 0; i++) {
		if (i % STOP_EVERY == 0 && crawl_is_stopped(s->crawl))
			return 1;
		if (select_write_item(w, s->note[i], &item, err) < 0)
			return -1;
		if (looks && w->items_change)
			return 0;
	}
	return rc < 0 ? -1 : select_end_sites(w, err);
}

static void writing_free(struct writing *w)
{
	url_index_scan_free(&w->scan);
	url_index_drop(&w->index);
	counted_drop(&w->list);
	sites_scan_free(&w->sites);
}

/* Puts in place what was written. */
static int select_put(struct selecting *s, struct writing *w, struct err *err)
{
	struct state_course *course = &w->course;
	uint64_t now_s = (uint64_t)(s->crawl->now_us / US_PER_S);
	if (s->ret->woken || w->fresh)
		course->due_s = MIN(course->due_s, now_s);
	s->ret->fresh = w->fresh;
	s->ret->stale_notes = w->stale_notes;
	s->ret->sites_gone = w->sites_gone;
	if (w->index && state_index_put(s->state, &w->index, err) < 0)
		return -1;
	FAULT("select.index");
	if (w->list.w && state_sites_finish(s->state, &w->list, err) < 0)
		return -1;
	FAULT("select.sites");
	if (memcmp(course, &state_params(s->state)->course, sizeof *course) == 0)
		return 0;
	return state_params_put(s->state, course, err);
}

/* Writes only what has changed. */
static int select_write(struct selecting *s, struct err *err)
{
	CLEANUP(writing_free) struct writing look = {0}, write = {0};
	int rc = select_pass(s, &look, err);
	if (rc)
		return rc;
	if (!look.items_change && !look.sites_change)
		return select_put(s, &look, err);
	if ((look.items_change && state_index_create(s->state, &write.index, err) < 0) ||
	    state_sites_create(s->state, &write.list, err) < 0)
		return -1;
	rc = select_pass(s, &write, err);
	return rc ? rc : select_put(s, &write, err);
}

/* The lists are written and read piece by piece: where they do not fit into the memory that a pass
 * may take, they lie in a file without a name. */
static int select_make_chunks(struct selecting *s, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	size_t n = s->items / CHUNK + MIN(s->items, CLASSES) + 1, bytes = n * sizeof *s->chunk;
	if (bytes + s->items * (s->where ? 2 : 1) <= s->crawl->conf->memory) {
		s->chunk = mem_array(n, sizeof *s->chunk);
		return 0;
	}
	if (file_temporary(&f, state_folder(s->state), err) < 0 ||
	    file_allocate(&f, bytes, err) < 0) /* so that no write to it fails later */
		return -1;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "%s: %zu bytes to sort URLs in", state_name(s->state), bytes);
	s->chunk = p;
	s->mapped = bytes;
	return 0;
}

static void select_drop_chunks(struct selecting *s)
{
	if (!s->mapped)
		mem_free(&s->chunk);
	else
		munmap(s->chunk, s->mapped);
	s->chunk = NULL;
	s->mapped = 0;
}

static int select_begin(struct selecting *s, struct err *err)
{
	if (state_index(s->state, &s->index, err) < 0)
		return -1;
	s->items = url_index_items(s->index);
	if (s->items >= UINT32_MAX)
		return err_set(err, ERR_USAGE,
			       "select: %" PRIu64 " URLs are more than it can number (%" PRIu32
			       "); lower shepherd.active_max and shepherd.remember_max",
			       s->items, UINT32_MAX - 1);
	s->section = filter_sections(s->crawl->filter, &s->sections);
	s->sections_hold = crawl_sections_hold(s->crawl->filter, &state_params(s->state)->course);
	s->note = mem_array(s->items + 1, sizeof *s->note);
	s->span = mem_array(s->items / SPAN + 1, sizeof *s->span);
	s->where = s->sections > 1 ? mem_array(s->items + 1, sizeof *s->where) : NULL;
	if (select_make_chunks(s, err) < 0)
		return -1;
	return limits_new(&s->limits, s->state, s->crawl, err);
}

static void selecting_free(struct selecting **ps)
{
	struct selecting *s = *ps;
	limits_free(&s->limits);
	mem_free(&s->note);
	mem_free(&s->where);
	mem_free(&s->span);
	select_drop_chunks(s);
	arena_free(&s->arena);
	mem_free(ps);
}

int crawl_select(struct state *st, const struct crawl *c, bool brake, struct selected *ret,
		 struct err *err)
{
	CLEANUP(selecting_free) struct selecting *s = mem_alloc(sizeof *s);
	struct selected selected = {0};
	s->state = st;
	s->crawl = c;
	s->arena = ARENA_INIT(256 << 20);
	s->ret = &selected;
	int rc = select_begin(s, err);
	if (rc == 0)
		rc = select_look(s, err);
	if (rc == 0)
		rc = select_walk(s);
	if (rc)
		return rc;
	selected.braked = brake && select_is_braked(s);
	select_drop_chunks(s);
	mem_free(&s->where);
	rc = selected.braked ? 0 : select_write(s, err);
	if (rc == 0)
		*ret = selected;
	return rc;
}
