/* What sitemaps list. With a first byte that is even the others are text, in pieces of that many
 * bytes, which list the same as all of it in one; else each line is the value of a link. All that
 * is listed is canonical, and a sitemap at the root may speak of exactly its site. */
#include "shepherd/reap/reap_sitemap.h"

#include "url/footprint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW_S = 1700000000 };

static void add_pieces(struct attrs *list, struct arena *arena, struct str text, size_t n)
{
	attrs_add(list, arena, 'T', STR("text/plain"));
	for (; text.n; text = str_from(text, n))
		attrs_add(list, arena, 'X', str_head(text, n));
}

static void check_listed(const struct reaper_link *link)
{
	static char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	ENSURE(url_parse(link->url, NULL, room, sizeof room, &url) == 0);
	ENSURE(url_canon(&url, false, strict, sizeof strict, &canon) == 0);
	ENSURE(str_eq(canon.href, link->url) && canon.protocol != URL_FTP);
	ENSURE(footprint_cmp(link->fp, footprint_of(&canon)) == 0 && link->changed_s <= NOW_S);
	bool own = canon.protocol == URL_HTTP && canon.port == 80 && str_is(canon.host, "a");
	ENSURE(reap_sitemap_in_scope(STR("http://a/s?/"), link, STR("")) == own);
	ENSURE(reap_sitemap_in_scope(STR("http://b/s"), link, STR("http://a")) ==
	       (own || str_starts(link->url, STR("http://b/"))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT(256 << 20);
	struct attrs list = {0}, whole = {0};
	const struct reaper_link *link, *same;
	struct str rest = {(const char *)data, size}, line;
	size_t first = size ? data[0] : 0;
	rest = str_from(rest, 1);
	if (first % 2 == 0) {
		add_pieces(&list, &arena, rest, first + 1);
		add_pieces(&whole, &arena, rest, SIZE_MAX);
	} else {
		while (rest.p && str_cut(&rest, '\n', &line) == 0)
			attrs_add(&list, &arena, 'R', line);
		whole = list;
	}
	size_t n = reap_sitemap_links(&list, NOW_S, &arena, &link);
	ENSURE(reap_sitemap_links(&whole, NOW_S, &arena, &same) == n);
	for (size_t i = 0; i < n; i++) {
		ENSURE(str_eq(link[i].url, same[i].url));
		check_listed(&link[i]);
	}
	arena_free(&arena);
	return 0;
}
