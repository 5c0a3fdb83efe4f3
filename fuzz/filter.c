/* shepherd/cf/filter: a file that is refused names a line; one that is taken decides every URL that
 * stands in it within its sections, by lines that it has, and the same twice. */
#include "shepherd/filter.h"

static void check_line(uint32_t line, uint32_t lines)
{
	ENSURE(line <= lines || line == FILTER_BY_SETTING || line == FILTER_BY_NO_DELAY);
}

static void check_url(const struct filter *f, struct str text, uint32_t lines)
{
	static const struct filter_where where[] = {
		{0},
		{.qkey = UINT64_C(1) << 62 | 0xc0000207, .key_sites = 2000, .known = true},
	};
	char room[URL_MAX];
	struct url u;
	size_t sections;
	if (url_parse(text, NULL, room, sizeof room, &u) < 0)
		return;
	(void)filter_sections(f, &sections);
	ENSURE(sections > 0 && sections <= FILTER_SECTIONS);
	for (size_t i = 0; i < ARRAY_LEN(where); i++) {
		struct filter_url got, again;
		struct filter_site site;
		filter_url(f, &u, STR(""), &where[i], &got);
		filter_url(f, &u, STR(""), &where[i], &again);
		ENSURE(got.reject == again.reject && got.reject_line == again.reject_line);
		ENSURE(got.section < sections && got.section == again.section);
		check_line(got.reject_line, lines);
		check_line(got.section_line, lines);
		filter_site(f, url_site(&u), &where[i], &site);
		for (size_t k = 0; k < FILTER_OUTPUTS; k++)
			check_line(site.line[k], lines);
		ENSURE(site.min_delay_us >= 0 && site.min_delay_us <= INT64_C(86400000000));
		ENSURE(site.max_conn <= 8 && site.queue_bonus <= 2000000000);
		ENSURE(!site.schema || (site.schema->n > 0 && site.schema->n <= SCHEMA_MOST));
		ENSURE(site.refresh_boost >= 0 && site.refresh_boost <= 100);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const hosts[] = {"example.org", "[::1]:81"};
	struct str text = {(const char *)data, size}, rest = text, line;
	struct filter_defaults defaults = {{hosts, ARRAY_LEN(hosts)}, size % 2};
	struct filter *f = NULL;
	struct err err;
	uint32_t lines = 0;
	if (filter_parse(text, "f", &defaults, &f, &err) < 0) {
		ENSURE(!f && err.code == ERR_USAGE && strncmp(err.msg, "f:", 2) == 0);
		return 0;
	}
	while (str_cut(&rest, '\n', &line) == 0)
		lines++;
	check_url(f, STR("http://example.org/"), lines);
	check_url(f, STR("https://a.b.example.org:8080/cgi/x.jpg?a=b&c"), lines);
	for (rest = text; str_cut(&rest, '\n', &line) == 0;)
		if (str_starts(line, STR("#")))
			check_url(f, str_trim(str_from(line, 1)), lines);
	filter_free(&f);
	return 0;
}
