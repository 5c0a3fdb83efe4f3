/* garner why: what is known of a URL, what was decided about it, and what will happen to it. The
 * answer is put together once, as texts, and printed in one of two forms. */
#include "state/why.h"

#include "archie/archie_conf.h"
#include "base/clock.h"
#include "base/rows.h"
#include "broker/indexer.h"
#include "broker/search.h"
#include "cmd/archie/archie_rows.h"
#include "cmd/archie/role_archie.h"
#include "cmd/cache/why_cache.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep_filter.h"
#include "cmd/system/text.h"
#include "shepherd/code.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"
#include "shepherd/planning.h"

#include <inttypes.h>
#include <limits.h>

/* One line of `decisions`; what is NULL or 0 is not known. */
struct decision {
	const char *state, *module, *verdict, *reason, *rule, *limit;
	int64_t time_us;
};

/* An object of the URL that the broker has registered. */
struct known_object {
	struct registry_object is;
	int64_t expires_us;
	const char *point;  /* who told it */
	struct str twin_of; /* the URL whose text it has; empty: it has its own */
	bool shown;         /* of all objects of the URL this one is found */
};

/* What is worked out of the rest; NULL: there is none. */
struct told {
	const char *known, *type, *reason, *class, *site, *key, *band;
	bool by_hand;
	unsigned code;
	int64_t since_us, tried_us, next_us; /* next_us -1: never */
};

struct answer {
	struct str url;
	bool crawl, indexed; /* crawl: there is one */
	struct why why;
	const char *rule;       /* that rejects it; NULL: none does */
	const char *bad_filter; /* why the rules cannot be asked; NULL: they were */
	struct decision *decision;
	size_t decisions;
	bool planned; /* and here is what plan says of it */
	struct plan_answer plan;
	struct known_object *object;
	size_t objects;
	struct archie_site_row archive; /* that it belongs to; site NULL: to none */
	struct cached_urls cache;
	struct told told;
};

static const char *const known_words[] = {[WHY_NEVER] = "never",
					  [WHY_FOUND] = "found",
					  [WHY_KNOWN] = "known",
					  [WHY_GONE] = "forgotten"};

/* The last try: of the journals that are kept, else what the index remembers of it. */
static int64_t tried_us(const struct why *w)
{
	return w->last.time_us ? w->last.time_us : (int64_t)w->item.last_seen_s * US_PER_S;
}

static uint16_t code_of_try(const struct why *w)
{
	return w->last.time_us ? w->last.code : w->item.code;
}

/* What came of it; 0 is also the code of what was never tried. */
static const char *last_text(const struct why *w, char room[CODE_TEXT])
{
	if (w->reason[0])
		return w->reason;
	return tried_us(w) || code_of_try(w) ? code_text(code_of_try(w), room) : "not tried yet";
}

/* Whether it was tried after the last time the index was made; until then the index has it, and
 * what select made of it since. */
static bool is_tried_since(const struct why *w)
{
	return w->last.time_us / US_PER_S > w->item.last_seen_s;
}

static enum item_type type_of(const struct why *w)
{
	bool newer = is_tried_since(w) && w->last.type != ITEM_TEMPORARY;
	return newer ? w->last.type : w->item.type;
}

/* When it will be tried next, seconds since 1970, as plan sees it; 0: with the next cycle; -1:
 * never. What was tried since the index was made is judged by its refresh alone. */
static int64_t next_s(const struct answer *a, const struct crawl_conf *conf)
{
	const struct why *w = &a->why;
	const struct plan_answer *p = &a->plan;
	uint32_t due = is_tried_since(w) ? w->last.due_s : w->item.due_s;
	int64_t freq = MAX(w->item.freq, 1), every_s = conf->refresh_us / US_PER_S;
	int64_t refresh_s = tried_us(w) / US_PER_S + (every_s + freq - 1) / freq;
	if (a->rule)
		return -1;
	if (a->planned && !is_tried_since(w) && p->candidate)
		return MAX(p->rests_until_s, p->verdict.band < PLAN_BANDS ? 0 : p->verdict.due_s);
	switch (type_of(w)) {
	case ITEM_NEW:
		return due;
	case ITEM_GATHERED:
		return due ? due : refresh_s;
	case ITEM_ERROR:
		return w->item.flags & ITEM_INITIAL ? refresh_s : -1;
	default:
		return -1;
	}
}

/* Why it will not be tried. */
static const char *never_text(const struct answer *a)
{
	if (a->rule)
		return "none; the filter rejects it";
	if (type_of(&a->why) == ITEM_SLEEPING)
		return "none while it sleeps; select wakes it when there is room";
	return "none; once it is forgotten, a link makes it new";
}

/* Decisions */

static const char *decision_verdict(const struct why_decision *d)
{
	if (d->by == PHASE_REAP)
		return d->type == ITEM_TEMPORARY ? "failed" : item_type_names[d->type];
	return d->forgotten ? "forgotten" : change_op_names[d->op];
}

static const char *decision_reason(const struct why_decision *d, struct arena *arena)
{
	char text[CODE_TEXT];
	if (d->reason.n)
		return arena_text(arena, d->reason);
	return d->by == PHASE_REAP ? arena_text(arena, str_of(code_text(d->code, text))) : NULL;
}

/* The limit that put it to sleep; NULL: it does not sleep. */
static const char *limit_of(const struct why *w)
{
	unsigned limit = w->item.code - CODE_SLEEPS;
	return w->known == WHY_KNOWN && w->item.type == ITEM_SLEEPING && limit < CRAWL_LIMITS
		       ? crawl_limit_names[limit]
		       : NULL;
}

/* Those of the states that are kept; then what the index and the rules say now. */
static void decisions_of(struct answer *a, struct arena *arena)
{
	const struct why *w = &a->why;
	struct decision *all = arena_array(arena, w->decisions + 2, sizeof *all), *select = NULL;
	size_t n = 0;
	for (size_t i = 0; i < w->decisions; i++) {
		const struct why_decision *d = &w->decision[i];
		if (d->by == PHASE_SELECT)
			select = &all[n];
		all[n++] = (struct decision){.state = d->state,
					     .time_us = d->time_us,
					     .module = phase_name(d->by),
					     .verdict = decision_verdict(d),
					     .reason = decision_reason(d, arena)};
	}
	if (limit_of(w) && !select) {
		select = &all[n++];
		*select = (struct decision){.state = w->state,
					    .module = phase_name(PHASE_SELECT),
					    .verdict = "sleeping"};
	}
	if (select)
		select->limit = limit_of(w);
	if (a->rule)
		all[n++] = (struct decision){
			.module = "filter", .verdict = "rejected", .rule = a->rule};
	a->decision = all;
	a->decisions = n;
}

/* What plan makes of it. */
static int ask_plan(const struct config *config, const struct filter *filter, struct state *st,
		    struct answer *a, struct err *err)
{
	const struct why *w = &a->why;
	if (w->known != WHY_KNOWN)
		return 0;
	struct crawl c = shepherd_crawl(config, &state_params(st)->course);
	c.filter = filter;
	int rc = plan_explain_url(st, &c, w->item.fp, w->site_known ? &w->site : NULL, &a->plan,
				  err);
	a->planned = rc == 0;
	return MIN(rc, 0);
}

/* What the rules may ask of its site. The list of sites is long: plan has counted already. */
static int where_of(struct state *st, const struct answer *a, struct filter_where *ret,
		    struct err *err)
{
	const struct why *w = &a->why;
	*ret = (struct filter_where){.known = w->site_known || w->known == WHY_KNOWN ||
					      w->known == WHY_FOUND};
	if (!w->site_known || !w->site.qkey)
		return 0;
	ret->qkey = w->site.qkey;
	ret->key_sites = a->plan.server.sites;
	return a->planned ? 0 : shep_filter_count(st, ret->qkey, &ret->key_sites, err);
}

/* What plan says of it, and the rules, with what the newest state knows (NULL: there is none). */
static int ask_rules(const struct config *config, const struct filter *filter, struct state *st,
		     const struct url *url, struct answer *a, struct arena *arena, struct err *err)
{
	struct filter_where where = {0};
	struct filter_url said;
	char room[PATH_MAX + 32];
	if (st && (ask_plan(config, filter, st, a, err) < 0 || where_of(st, a, &where, err) < 0))
		return -1;
	bool by_hand = a->why.known == WHY_KNOWN && a->why.item.flags & ITEM_INITIAL;
	filter_url(filter, url, STR(""), &where, &said);
	if (!st && said.reject_line == FILTER_BY_SETTING)
		return 0; /* without a crawl nothing is followed, be it rejected or not */
	if (said.reject && !by_hand) /* no rule holds for what was added */
		a->rule = arena_text(arena, str_of(filter_line_text(filter, said.reject_line, room,
								    sizeof room)));
	return 0;
}

/* The rules that hold now; also where nothing was ever gathered. */
static int ask_filter(const char *data, const struct config *config, const struct url *url,
		      struct answer *a, struct arena *arena, struct err *err)
{
	CLEANUP(filter_free) struct filter *filter = NULL;
	CLEANUP(states_close) struct states *s = NULL;
	CLEANUP(state_free) struct state *st = NULL;
	char *folder = arena_printf(arena, "%s/shepherd", data);
	if (crawl_load_filter(crawl_conf_of(config), folder, &filter, err) < 0) {
		if (err->code != ERR_USAGE)
			return -1;
		a->bad_filter = arena_text(arena, str_of(err->msg));
		return 0;
	}
	if (shep_filter_newest(config, &s, &st, err) < 0)
		return -1;
	return ask_rules(config, filter, st, url, a, arena, err);
}

/* The registry */

static const char *point_name(const struct registry *r, uint32_t number)
{
	size_t n;
	const struct registry_point *p = registry_points(r, &n);
	for (size_t i = 0; i < n; i++)
		if (p[i].number == number)
			return p[i].name;
	return "nobody that is known";
}

/* Whose text an object without one has; empty: nobody's, it is lost. */
static int find_twin(struct registry *r, const struct registry_object *o, struct arena *arena,
		     struct str *ret, struct err *err)
{
	struct registry_object *with_text;
	size_t n;
	*ret = STR("");
	if (o->oid || !o->md5.n)
		return 0;
	if (registry_of_md5(r, o->gatherer_name, o->gatherer_host, o->md5, true, 1, arena,
			    &with_text, &n, err) < 0)
		return -1;
	if (n)
		*ret = with_text->url;
	return 0;
}

static int64_t expires_us(const struct registry_object *o)
{
	return ((int64_t)o->update_time_s + o->time_to_live_s) * US_PER_S;
}

static int ask_registry(struct registry *r, struct str url, struct answer *a, struct arena *arena,
			struct err *err)
{
	struct registry_object *list;
	size_t n;
	if (registry_of_url(r, url, arena, &list, &n, err) < 0)
		return -1;
	const struct registry_object *shown = indexer_shown(list, n);
	a->object = arena_array(arena, n + 1, sizeof *a->object);
	a->objects = n;
	for (size_t i = 0; i < n; i++) {
		struct known_object *o = &a->object[i];
		*o = (struct known_object){
			.is = list[i],
			.expires_us = expires_us(&list[i]),
			.shown = shown == &list[i],
			.point = arena_text(arena, str_of(point_name(r, list[i].point)))};
		if (find_twin(r, &list[i], arena, &o->twin_of, err) < 0)
			return -1;
	}
	return 0;
}

/* Gatherers may write a URL in their own way: then it is looked for as it was given. */
static int ask_objects(const char *data, const char *given, struct answer *a, struct arena *arena,
		       struct err *err)
{
	CLEANUP(registry_close) struct registry *r = NULL;
	int rc = registry_open_read(&r, arena_printf(arena, "%s/broker", data), err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (ask_registry(r, a->url, a, arena, err) < 0)
		return -1;
	if (a->objects == 0 && ask_registry(r, str_of(given), a, arena, err) < 0)
		return -1;
	if (a->objects)
		a->url = a->object[0].is.url;
	return 0;
}

/* Archives */

static int ask_archives(const char *data, const struct archie_conf *conf, struct answer *a,
			struct arena *arena, struct err *err)
{
	struct archie_sites *sites = arena_alloc(arena, sizeof *sites);
	struct getter_state state;
	const char *folder = arena_printf(arena, "%s/archie", data);
	if (archie_sites_read(folder, arena, sites, err) < 0)
		return -1;
	const struct archie_site *site = archie_sites_of_url(sites, a->url);
	if (!site)
		return 0;
	if (archie_remembered(data, &state, err) < 0)
		return -1;
	archie_row_fill(folder, conf, &state, site, &a->archive);
	if (a->archive.record) {
		struct getter_record *copy = arena_alloc(arena, sizeof *copy);
		*copy = *a->archive.record;
		a->archive.record = copy;
	}
	getter_state_free(&state);
	return 0;
}

static const char *site_text(const struct site *site, struct arena *arena)
{
	char room[URL_SITE_MAX + 32];
	return arena_text(arena, url_site_print(site_name(site), room, sizeof room));
}

/* The site that stands for its class; NULL: its own does. */
static const char *class_text(const struct why *w, struct arena *arena)
{
	if (!w->site_known || w->site.norm == w->site.fp)
		return NULL;
	return w->class_known ? site_text(&w->class, arena)
			      : arena_printf(arena, "%016" PRIx64, w->site.norm);
}

static void told_fill(struct answer *a, const struct crawl_conf *conf, struct arena *arena)
{
	const struct why *w = &a->why;
	const struct plan_answer *p = &a->plan;
	bool banded = p->candidate && p->verdict.band < PLAN_BANDS;
	char text[CODE_TEXT], key[QKEY_TEXT];
	int64_t next = next_s(a, conf);
	a->told = (struct told){
		.known = a->crawl ? known_words[w->known] : "never",
		.by_hand = w->item.flags & ITEM_INITIAL,
		.type = item_type_names[type_of(w)],
		.since_us = w->item.since_day * US_PER_DAY,
		.code = code_of_try(w),
		.reason = w->known == WHY_GONE ? gone_reason_names[w->gone.reason]
					       : arena_text(arena, str_of(last_text(w, text))),
		.tried_us = tried_us(w),
		.next_us = next < 0 ? -1 : next * US_PER_S,
		.class = class_text(w, arena),
		.site = w->site_known ? site_text(&w->site, arena) : NULL,
		.key = w->site.qkey ? arena_text(arena, str_of(qkey_print(w->site.qkey, key)))
				    : NULL,
		.band = banded ? plan_band_rows[p->verdict.band].name : NULL,
	};
}

/* As text */

static void print_known(FILE *out, const struct answer *a, struct arena *arena)
{
	const struct told *t = &a->told;
	fprintf(out, "known since:  %.10s%s\n", text_time(arena, t->since_us),
		t->by_hand ? ", added by hand" : "");
	fprintf(out, "state:        %s\n", t->type);
	if (t->tried_us)
		fprintf(out, "last try:     %s, %s\n", text_time(arena, t->tried_us), t->reason);
	else
		fprintf(out, "last try:     none yet\n");
	if (t->next_us < 0)
		fprintf(out, "next try:     %s\n", never_text(a));
	else if (t->next_us <= clock_wall_us())
		fprintf(out, "next try:     in the next cycle\n");
	else
		fprintf(out, "next try:     %s\n", text_time(arena, t->next_us));
}

static void print_decision(FILE *out, const struct decision *d, struct arena *arena)
{
	fprintf(out, "  ");
	if (d->time_us)
		fprintf(out, "%s ", text_time(arena, d->time_us));
	fprintf(out, "%s: %s", d->module, d->verdict);
	if (d->reason)
		fprintf(out, ", %s", d->reason);
	if (d->limit)
		fprintf(out, ", limit %s", d->limit);
	if (d->rule)
		fprintf(out, ", rule: %s", d->rule);
	if (d->state)
		fprintf(out, " (%s)", d->state);
	fprintf(out, "\n");
}

/* Where it stands among others. */
static void print_standing(FILE *out, const struct answer *a)
{
	const struct why *w = &a->why;
	const struct site *site = &w->site;
	if (a->told.class)
		fprintf(out, "class:        %s\n", a->told.class);
	if (w->known == WHY_KNOWN)
		fprintf(out, "weight:       %u\n", w->item.weight);
	if (!w->site_known)
		return;
	fprintf(out,
		"site:         %s, URLs: %" PRIu32 " wanted, %" PRIu32 " not, %" PRIu32
		" gathered, %" PRIu32 " new\n",
		a->told.site, site->active, site->inactive, site->gathered, site->fresh);
	if (site->error_cycles)
		fprintf(out, "              every fetch failed in the last %u cycles\n",
			site->error_cycles);
	fprintf(out, "server:       %s", a->told.key ? a->told.key : "not asked yet");
	if (a->planned)
		fprintf(out, ", delay %g s", (double)a->plan.server.delay_us / US_PER_S);
	fprintf(out, "\n");
}

/* What the next plan would make of it, and where it is in that of the state. */
static void print_plan(FILE *out, const struct answer *a, struct arena *arena)
{
	const struct plan_answer *p = &a->plan;
	fprintf(out, "band:         ");
	if (!p->candidate)
		fprintf(out, "none, such URLs are not planned\n");
	else if (p->dead)
		fprintf(out, "none, its site is dead until %s\n",
			text_time(arena, p->rests_until_s * US_PER_S));
	else if (p->rests_until_s * US_PER_S > clock_wall_us())
		fprintf(out, "none, its site rests until %s\n",
			text_time(arena, p->rests_until_s * US_PER_S));
	else if (!a->told.band)
		fprintf(out, "none, due %s\n", text_time(arena, p->verdict.due_s * US_PER_S));
	else
		fprintf(out, "%s, priority %" PRIu32 "%s\n", a->told.band, p->verdict.priority,
			p->server.tight ? ", its server is tight" : "");
	if (p->planned)
		fprintf(out, "plan:         place %" PRIu64 " of %" PRIu64 "\n", p->place, p->of);
	else if (p->has_plan)
		fprintf(out, "plan:         not among the %" PRIu64 " URLs of the last one\n",
			p->of);
}

static void print_unknown(FILE *out, const struct answer *a, struct arena *arena)
{
	const struct why *w = &a->why;
	if (w->passed)
		fprintf(out,
			"unknown:      not looked for among all URLs found in this cycle; the "
			"first %" PRIu64 " do not have it\n",
			w->passed);
	else if (w->remembered_us)
		fprintf(out, "unknown:      never seen, or forgotten before %s\n",
			text_time(arena, w->remembered_us));
	else
		fprintf(out, "unknown:      no page links to it, or its site was not added\n");
}

static void print_object(FILE *out, const struct known_object *o, struct arena *arena)
{
	const struct registry_object *is = &o->is;
	fprintf(out, "registered:   %s of %s, version %s, from %s%s\n",
		text_safe(arena, is->gatherer_name, REGISTRY_STRING),
		text_safe(arena, is->gatherer_host, REGISTRY_STRING),
		text_safe(arena, is->gatherer_version, REGISTRY_STRING),
		text_safe(arena, str_of(o->point), REGISTRY_STRING), o->shown ? ", shown" : "");
	fprintf(out, "              updated %s, ", text_time(arena, is->update_time_s * US_PER_S));
	fprintf(out, "expires %s, ", text_time(arena, o->expires_us));
	if (is->oid)
		fprintf(out, "oid %" PRIu32 "\n", is->oid);
	else if (o->twin_of.n)
		fprintf(out, "twin of %s\n", text_safe(arena, o->twin_of, REGISTRY_STRING));
	else
		fprintf(out, "its text is lost\n");
}

static void print_archive(FILE *out, const struct archie_site_row *row, struct arena *arena)
{
	const struct getter_record *r = row->record;
	int64_t now_us = clock_wall_us();
	fprintf(out, "archive:      %s, key %s\n",
		text_safe(arena, row->site->url, REGISTRY_STRING),
		text_safe(arena, row->site->key, REGISTRY_STRING));
	if (row->database.built_us)
		fprintf(out, "              %" PRIu64 " entries, built %s\n", row->database.entries,
			text_time(arena, row->database.built_us));
	else
		fprintf(out, "              no database yet%s\n",
			row->waiting ? ", a listing waits for the builder" : "");
	if (r && r->got_us)
		fprintf(out, "              last listing %s, by %s\n", text_time(arena, r->got_us),
			getter_method_name(r->method));
	if (r && r->failures == 1)
		fprintf(out, "              failed once: ");
	else if (r && r->failures)
		fprintf(out, "              failed %u times: ", r->failures);
	if (r && r->failures)
		fprintf(out, "%s, %s\n", r->cause,
			text_safe(arena, str_of(r->error), REGISTRY_STRING));
	if (row->cause[0] && !(r && r->failures))
		fprintf(out, "              the builder: %s\n",
			text_safe(arena, str_of(row->error), REGISTRY_STRING));
	if (row->next_us <= now_us)
		fprintf(out, "              next try with the next run of the getter\n");
	else
		fprintf(out, "              next try %s\n", text_time(arena, row->next_us));
}

static void print_why(FILE *out, const struct answer *a, struct arena *arena)
{
	const struct why *w = &a->why;
	fprintf(out, "%.*s\n", (int)a->url.n, a->url.p);
	if (!a->crawl && a->objects == 0 && a->cache.n == 0)
		fprintf(out, "unknown:      nothing was ever gathered here\n");
	else if (!a->crawl)
		fprintf(out, "crawl:        none, nothing was ever gathered here\n");
	else if (w->known == WHY_KNOWN)
		print_known(out, a, arena);
	else if (w->known == WHY_FOUND)
		fprintf(out, "found:        will be known when this cycle ends\n");
	else if (w->known == WHY_GONE)
		fprintf(out, "forgotten:    %s, %s\n", text_time(arena, w->gone.time_us),
			gone_reason_names[w->gone.reason]);
	else
		print_unknown(out, a, arena);
	fprintf(out, "indexed:      %s\n", a->indexed ? "yes" : "no");
	for (size_t i = 0; i < a->objects; i++)
		print_object(out, &a->object[i], arena);
	if (a->archive.site)
		print_archive(out, &a->archive, arena);
	why_cache_print(&a->cache, arena, out);
	if (a->decisions || w->known == WHY_KNOWN)
		fprintf(out, "decisions:%s\n",
			a->decisions ? "" : "    none in the states that are kept");
	for (size_t i = 0; i < a->decisions; i++)
		print_decision(out, &a->decision[i], arena);
	if (a->bad_filter)
		fprintf(out, "filter:       not asked: %s\n", a->bad_filter);
	print_standing(out, a);
	if (a->planned)
		print_plan(out, a, arena);
}

/* As JSON */

static const struct column decision_columns[] = {
	COL("time", struct decision, time_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("module", struct decision, module),
	COL("verdict", struct decision, verdict),
	COL("reason", struct decision, reason),
	COL("rule", struct decision, rule),
	COL("limit", struct decision, limit),
	COL("state", struct decision, state),
};
static const struct rows decision_rows = {ROWS(struct decision, decision_columns)};

static const struct column object_columns[] = {
	COL("gatherer_name", struct known_object, is.gatherer_name),
	COL("gatherer_host", struct known_object, is.gatherer_host),
	COL("gatherer_version", struct known_object, is.gatherer_version),
	COL("point", struct known_object, point),
	COL("updated", struct known_object, is.update_time_s, .unit = UNIT_TIME_S),
	COL("expires", struct known_object, expires_us, .unit = UNIT_TIME),
	COL("oid", struct known_object, is.oid, .how = ROW_SOME),
	COL("twin_of", struct known_object, twin_of, .how = ROW_SOME),
	COL("shown", struct known_object, shown),
};
static const struct rows object_rows = {ROWS(struct known_object, object_columns)};

#define S struct answer
static const struct column known_columns[] = {
	COL("by_hand", S, told.by_hand),
	COL("type", S, told.type),
	COL("since", S, told.since_us, .unit = UNIT_TIME),
	COL("code", S, told.code),
	COL("reason", S, told.reason),
	COL("tried", S, told.tried_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("next", S, told.next_us, .unit = UNIT_TIME, .how = ROW_NULL | ROW_NEG),
};
static const struct rows known_rows = {ROWS(S, known_columns)};
static const struct column gone_columns[] = {
	COL("reason", S, told.reason),
	COL("forgotten", S, why.gone.time_us, .unit = UNIT_TIME),
};
static const struct rows gone_rows = {ROWS(S, gone_columns)};
static const struct column site_columns[] = {
	COL("url", S, told.site),
	COL("active", S, why.site.active),
	COL("inactive", S, why.site.inactive),
	COL("gathered", S, why.site.gathered),
	COL("fresh", S, why.site.fresh),
	COL("error_cycles", S, why.site.error_cycles),
};
static const struct rows site_rows = {ROWS(S, site_columns)};
static const struct column server_columns[] = {
	COL("key", S, told.key),
	COL("delay_us", S, plan.server.delay_us, COL_IF(S, planned)),
};
static const struct rows server_rows = {ROWS(S, server_columns)};
static const struct column plan_columns[] = {
	COL("band", S, told.band),
	COL("priority", S, plan.verdict.priority, COL_IF(S, told.band)),
	COL("dead", S, plan.dead),
	COL("planned", S, plan.planned),
	COL("place", S, plan.place, COL_IF(S, plan.planned)),
	COL("of", S, plan.of),
};
static const struct rows plan_rows = {ROWS(S, plan_columns)};
static const struct column answer_columns[] = {
	COL("url", S, url),
	COL("known", S, told.known),
	COL("indexed", S, indexed),
	COL_GROUP(NULL, S, known_rows, COL_IF_IS(S, why.known, WHY_KNOWN)),
	COL_GROUP(NULL, S, gone_rows, COL_IF_IS(S, why.known, WHY_GONE)),
	COL("looked_among", S, why.passed, .how = ROW_SOME),
	COL_LIST("objects", S, object, objects, object_rows),
	COL_ROW("archive", S, archive, archie_site_rows, COL_IF(S, archive.site)),
	COL_LIST("cache", S, cache.url, cache.n, cached_url_rows, .how = ROW_SOME),
	COL_LIST("decisions", S, decision, decisions, decision_rows),
	COL("bad_filter", S, bad_filter, .how = ROW_SOME),
	COL("class", S, told.class),
	COL("weight", S, why.item.weight, COL_IF_IS(S, why.known, WHY_KNOWN)),
	COL_GROUP("site", S, site_rows, COL_IF(S, why.site_known)),
	COL_GROUP("server", S, server_rows, COL_IF(S, why.site_known)),
	COL_GROUP("plan", S, plan_rows, COL_IF(S, planned)),
};
static const struct rows answer_rows = {ROWS(S, answer_columns)};
#undef S

static int is_indexed(const char *data, struct str url, struct arena *arena, bool *ret,
		      struct err *err)
{
	CLEANUP(search_close) struct search *s = search_open(data);
	struct soif doc;
	int rc = search_document(s, url, arena, &doc, err);
	*ret = rc == 0;
	return rc < 0 ? -1 : 0;
}

/* Everything that is known of the URL; `whole`: as the cache has it. */
static int ask_all(const struct cmd_call *call, const struct config *config, const struct url *url,
		   struct str whole, struct arena *arena, struct answer *a, struct err *err)
{
	char data[PATH_MAX];
	if (cmd_data_dir(config, data, sizeof data, err) < 0)
		return -1;
	int rc = why_ask(data, url, WHY_CONTRIBS, arena, &a->why, err);
	a->crawl = rc != 1;
	if (rc < 0 || ask_objects(data, call->argv[0], a, arena, err) < 0 ||
	    (cmd_has_role(call->program, &archie_getter_role) &&
	     ask_archives(data, config_get(config, &archie_section), a, arena, err) < 0) ||
	    why_cache_ask(data, whole, arena, &a->cache, err) < 0 ||
	    is_indexed(data, a->url, arena, &a->indexed, err) < 0)
		return -1;
	return ask_filter(data, config, url, a, arena, err);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(256 << 20);
	CLEANUP(config_free) struct config *config = NULL;
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, whole;
	if (cmd_config(call, &config, err) < 0)
		return -1;
	int rc = url_parse(str_of(call->argv[0]), NULL, room, sizeof room, &whole);
	if (rc == 0)
		rc = url_canon(&whole, true, strict, sizeof strict, &url);
	if (rc != 0)
		return url_fail(rc, str_of(call->argv[0]), err);
	struct answer a = {.url = url.href};
	if (ask_all(call, config, &url, whole.href, &arena, &a, err) < 0)
		return -1;
	decisions_of(&a, &arena);
	told_fill(&a, crawl_conf_of(config), &arena);
	if (o->json)
		cmd_row_json(call, &answer_rows, &a);
	else
		print_why(call->out, &a, &arena);
	return a.objects || a.archive.site || a.cache.n || (a.crawl && a.why.known != WHY_NEVER)
		       ? 0
		       : 1;
}

const struct command why_command = {
	.name = "why",
	.summary = "show what is known of a URL and what will happen to it",
	.description =
		"Shows when the URL was found, how the last attempt ended, when the next is due, "
		"and whether it is indexed; or when and why it was forgotten.\n\nThen come its "
		"objects in the broker: the gatherer and source of each, when it was updated and "
		"when it expires, whether it is the one shown, and if it has no text of its own, "
		"the URL whose text it shares. For a URL in an archive: the site, the number of "
		"entries in its database, when its listing was last fetched and is fetched next, "
		"and the last error. For a URL that providers announced to the cache: the "
		"providers, what became of it, since when, and what comes next.\n\nThen come the "
		"decisions of the crawl's modules in the states that are still there, newest last, "
		"with the filter rule that rejects the URL or the limit that puts it to sleep. "
		"Last are its class of mirrors, its weight, its site and server, and what the next "
		"plan would do with it.",
	CMD_JSON(0, "print JSON"),
	CMD_ARGS("URL", 1, 1, NULL),
	CMD_EXAMPLES({"garner why https://example.org/page.html", "where this page stands"}),
	CMD_EXITS({1, "nothing is known of it"}),
	.run = run,
};
