/* What the unit programs of merge share: a crawl whose items and sites are told by their URLs, and
 * questions to what came of it. */
#pragma once
#include "unit/shepherd/crawl_lab.h"
#include "url/equiv.h"

static const char *const scene_mirrors =
	"http://a.example/\n\thttp://b.example/\n\thttp://c.example/\n";

static inline struct footprint scene_fp(const char *url)
{
	char room[URL_MAX];
	struct url parsed;
	assert_int_equal(0, url_parse(str_of(url), NULL, room, sizeof room, &parsed));
	return footprint_of(&parsed);
}

struct scene {
	struct lab lab;
	struct crawl_conf conf;
	struct crawl crawl;
	struct equiv *equiv;
};

static inline struct index_item scene_item(const char *url, enum item_type type)
{
	return (struct index_item){
		.fp = scene_fp(url), .where = ITEM_NOWHERE, .type = type, .weight = 100};
}

/* A crawl with these items and sites. */
static inline void scene_begin(struct scene *s, const char *name, struct index_item *items,
			       size_t n, const char *const *sites)
{
	struct err err = {0};
	struct sites *list = sites_new();
	*s = (struct scene){.conf = lab_conf()};
	MUST(equiv_parse(str_of(scene_mirrors), "url-equiv", &s->equiv, &err));
	s->crawl = lab_crawl(&s->conf);
	s->crawl.equiv = s->equiv;
	lab_make(&s->lab, name, items, n, NULL, 0);
	lab_enter(&s->lab, false, PHASE_MERGE);
	for (; sites && *sites; sites++) {
		char room[URL_MAX];
		struct url url;
		bool is_new;
		assert_int_equal(0, url_parse(str_of(*sites), NULL, room, sizeof room, &url));
		struct site *site = sites_put(list, url_site(&url), &is_new);
		site->norm = footprint_site(equiv_site(s->equiv, url_site(&url)));
	}
	MUST(state_sites_put(s->lab.st, list, &err));
	sites_free(&list);
	lab_close(&s->lab);
	lab_enter(&s->lab, false, PHASE_REAP);
}
#define SITES(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline void scene_end(struct scene *s)
{
	struct filter *filter = (struct filter *)s->crawl.filter;
	filter_free(&filter);
	equiv_free(&s->equiv);
	lab_free(&s->lab);
}

static inline void scene_follow_all(struct scene *s)
{
	struct err err = {0};
	struct filter *filter = (struct filter *)s->crawl.filter;
	filter_free(&filter);
	MUST(filter_parse(STR(""), "filter", &(struct filter_defaults){.follow_all = true}, &filter,
			  &err));
	s->crawl.filter = filter;
}

static inline void scene_contribute(struct scene *s, const char *url, struct contrib c)
{
	struct err err = {0};
	c.fp = scene_fp(url);
	c.url = str_of(url);
	MUST(state_contrib(s->lab.st, &c, NULL, &err));
}

static inline void scene_link(struct scene *s, const char *url, uint8_t flags)
{
	scene_contribute(s, url, (struct contrib){.flags = flags, .from = {1, 1}});
}

static inline void scene_ask(struct scene *s, const char *url, uint32_t time_s)
{
	scene_contribute(s, url, (struct contrib){.flags = ITEM_INITIAL, .time_s = time_s});
}

static inline void scene_cork(struct scene *s)
{
	struct err err = {0};
	MUST(state_enter(s->lab.st, PHASE_CORKED, NULL, PLAY_START, &err));
}

static inline struct merged scene_merge(struct scene *s)
{
	struct err err = {0};
	struct merged merged;
	scene_cork(s);
	lab_enter(&s->lab, true, PHASE_MERGE);
	MUST(crawl_merge(s->lab.st, &s->crawl, &merged, &err));
	lab_close(&s->lab);
	return merged;
}

static inline bool scene_find(struct scene *s, const char *url, struct index_item *ret)
{
	struct err err = {0};
	const struct url_index *index;
	MUST(state_index(s->lab.st, &index, &err));
	int rc = url_index_find(index, scene_fp(url), ret, &err);
	assert_true(rc >= 0);
	return rc == 0;
}

static inline bool scene_knows(struct scene *s, const char *url)
{
	struct index_item got;
	return scene_find(s, url, &got);
}

static inline struct index_item scene_known(struct scene *s, const char *url)
{
	struct index_item got = {0};
	if (!scene_find(s, url, &got))
		fail_msg("%s is not known", url);
	return got;
}

/* What the newest state tells of a URL; false: nothing. Once at most. */
static inline bool scene_told(struct scene *s, const char *url, struct change *ret)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct change c;
	bool told = false;
	int rc = state_read(s->lab.st, "changes", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		MUST(change_read(record.payload, &c, &err));
		if (footprint_cmp(c.fp, scene_fp(url)) != 0)
			continue;
		assert_false(told);
		told = true;
		*ret = c;
		ret->url = arena_str(&s->lab.arena, c.url);
		ret->reason = arena_str(&s->lab.arena, c.reason);
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return told;
}

static inline enum gone_reason scene_gone(struct scene *s, const char *url)
{
	struct err err = {0};
	struct gone gone = {0};
	int64_t since_us;
	int rc = gone_find(states_path(s->lab.s, &s->lab.arena, "gone"), scene_fp(url), &gone,
			   &since_us, &err);
	assert_true(rc >= 0);
	return rc ? GONE_UNKNOWN : gone.reason;
}

static inline bool scene_site(struct scene *s, const char *url, struct site *ret)
{
	struct sites *sites = lab_sites(&s->lab);
	const struct site *site = sites_get(sites, scene_fp(url).site);
	if (site)
		*ret = *site;
	sites_free(&sites);
	return site != NULL;
}

static inline bool scene_has_site(struct scene *s, const char *url)
{
	struct site site;
	return scene_site(s, url, &site);
}
