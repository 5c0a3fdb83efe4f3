/* Filters: to be replaced. */
#include "shepherd/filter.h"
#include <stdio.h>

struct filter {
	struct filter_defaults defaults;
};
int schema_parse(struct str text, struct schema *ret, struct err *err)
{
	(void)text, (void)err;
	*ret = (struct schema){.n = 2, .freq = {4, 2}, .share = {0.3, 0.7}};
	return 0;
}
int filter_parse(struct str text, const char *name, const struct filter_defaults *defaults,
		 struct filter **ret, struct err *err)
{
	(void)text, (void)name, (void)err;
	*ret = mem_alloc(sizeof **ret);
	(*ret)->defaults = *defaults;
	return 0;
}
int filter_load(const char *path, const struct filter_defaults *defaults, struct filter **ret,
		struct err *err)
{
	return filter_parse(STR(""), path, defaults, ret, err);
}
void filter_free(struct filter **f)
{
	mem_free(f);
}
const struct filter_section *filter_sections(const struct filter *f, size_t *ret_n)
{
	static const struct filter_section one = {"other", 1, 0};
	(void)f;
	*ret_n = 1;
	return &one;
}
void filter_url(const struct filter *f, const struct url *url, struct str type,
		const struct filter_where *where, struct filter_url *ret)
{
	(void)url, (void)type;
	*ret = (struct filter_url){.reject = !where->known && !f->defaults.follow_all};
}
static bool is_listed(const struct filter *f, struct url_site site)
{
	char with_port[URL_SITE_MAX + 16];
	bool usual = site.port == url_default_port(site.protocol);
	snprintf(with_port, sizeof with_port, STR_FMT ":%u", STR_ARG(site.host), site.port);
	for (size_t i = 0; i < f->defaults.no_delay.n; i++) {
		struct str host = str_of(f->defaults.no_delay.item[i]);
		if (str_is(host, with_port) || (usual && str_eq(host, site.host)))
			return true;
	}
	return false;
}
void filter_site(const struct filter *f, struct url_site site, const struct filter_where *where,
		 struct filter_site *ret)
{
	(void)where;
	*ret = (struct filter_site){0};
	if (!is_listed(f, site))
		return;
	ret->line[FILTER_MIN_DELAY] = ret->line[FILTER_MAX_CONN] = FILTER_BY_SETTING;
	ret->max_conn = 64;
}
bool filter_is_fast(const struct filter *f, struct url_site site, const struct filter_where *where)
{
	(void)where;
	return is_listed(f, site);
}
