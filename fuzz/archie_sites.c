/* Site lists: whatever stands in the two files (the second begins after the first NUL), no two
 * sites have one key or URL, a key is the name of a file, an address has one FTP site, and a site's
 * line read again, without any other, is the same site with the same key. */
#include "archie/sites/sites_inner.h"

static void check_key(struct str key)
{
	ENSURE(key.n > 0 && key.n <= 255 && key.p[0] != '.');
	for (size_t i = 0; i < key.n; i++)
		ENSURE(key.p[i] > ' ' && key.p[i] != '/' && key.p[i] != 0x7f);
}

static void check_line(const struct archie_site *s, struct arena *arena)
{
	struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
	struct sites_line again;
	struct err err;
	archie_site_print(s, &a);
	ENSURE(sites_line_parse(buf_str(&a), arena, &again, &err) == 0);
	archie_site_print(&again.site, &b);
	ENSURE(str_eq(buf_str(&a), buf_str(&b)) && str_eq(again.site.url, s->url));
	sites_key(&again, &b);
	ENSURE(str_eq(buf_str(&b), s->key));
	buf_free(&a);
	buf_free(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT((size_t)1 << 28);
	struct str rest = {(const char *)data, size}, first;
	struct sites_list listed, local;
	struct archie_sites s;
	if (size == 0 || size > 16 << 10)
		return 0;
	ENSURE(str_cut(&rest, 0, &first) == 0);
	sites_list_parse(first, "sites", false, &arena, &listed);
	sites_list_parse(rest.p ? rest : STR(""), "sites.local", true, &arena, &local);
	sites_merge(&listed, &local, &arena, &s);
	for (size_t i = 0; i < s.n; i++) {
		check_key(s.site[i].key);
		check_line(&s.site[i], &arena);
		ENSURE(i == 0 || str_cmp(s.site[i - 1].key, s.site[i].key) < 0);
		for (size_t k = 0; k < i; k++) {
			ENSURE(!str_eq(s.site[i].url, s.site[k].url));
			ENSURE(!s.site[i].ftp || !s.site[k].ftp ||
			       !addr_eq(s.site[i].address, s.site[k].address));
		}
	}
	arena_free(&arena);
	return 0;
}
