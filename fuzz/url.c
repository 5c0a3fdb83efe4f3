/* URLs: what was written is read as itself; the canonical form is its own; no room is overrun. */
#include "url/footprint.h"

static bool inside(struct str part, struct str whole)
{
	return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static void check_form(const struct url *u)
{
	for (size_t i = 0; i < u->href.n; i++)
		ENSURE(u->href.p[i] > ' ' && u->href.p[i] < 0x7f);
	ENSURE(u->host.n > 0 && u->path.n > 0 && u->path.p[0] == '/');
	ENSURE(u->href.p + u->scheme.n + 3 <= u->host.p);
	ENSURE(inside(u->scheme, u->href) && inside(u->username, u->href));
	ENSURE(inside(u->password, u->href) && inside(u->host, u->href));
	ENSURE(inside(u->path, u->href) && inside(u->query, u->href));
	ENSURE(inside(u->fragment, u->href));
}

static void check_same(const struct url *a, const struct url *b)
{
	ENSURE(str_eq(a->href, b->href) && str_eq(a->scheme, b->scheme));
	ENSURE(str_eq(a->username, b->username) && str_eq(a->password, b->password));
	ENSURE(url_site_eq(url_site(a), url_site(b)) && a->host_kind == b->host_kind);
	ENSURE(str_eq(url_target(a), url_target(b)) && str_eq(a->fragment, b->fragment));
	ENSURE(a->has_query == b->has_query && a->has_fragment == b->has_fragment);
}

/* Parses into memory of just `cap` bytes, so that an overrun is seen. */
static int parse_into(struct str text, const struct url *base, size_t cap, struct url *ret,
		      char **ret_room)
{
	*ret_room = mem_resize(NULL, cap ? cap : 1);
	return url_parse(text, base, *ret_room, cap, ret);
}

static void check_written(const struct url *u)
{
	struct url again;
	char *room;
	ENSURE(parse_into(u->href, NULL, u->href.n, &again, &room) == 0);
	check_same(u, &again);
	/* read in memory of just its size */
	ENSURE(url_path_leaves(again.path) == url_path_leaves(u->path));
	ENSURE(url_path_hides_slash(again.path) == url_path_hides_slash(u->path));
	mem_free(&room);
	ENSURE(parse_into(u->href, NULL, u->href.n - 1, &again, &room) == -URL_TOO_LONG);
	mem_free(&room);
	/* nothing, resolved against it, is itself without the fragment */
	ENSURE(parse_into(STR(""), u, u->href.n, &again, &room) == 0);
	struct str target = url_target(u);
	ENSURE(str_eq(again.href, str_range(u->href.p, target.p + target.n)));
	mem_free(&room);
}

static void check_canonical(const struct url *u)
{
	char strict[URL_STRICT_MAX], room[URL_MAX], strict_again[URL_STRICT_MAX];
	struct url c, again;
	if (url_canon(u, true, strict, sizeof strict, &c) < 0)
		return;
	check_form(&c);
	ENSURE(c.href.n <= URL_STRICT_MAX && !c.has_fragment && c.port != 0);
	ENSURE(c.username.n == 0 && c.password.n == 0);
	ENSURE(url_parse(c.href, NULL, room, sizeof room, &again) == 0 && !again.underflow);
	ENSURE(url_canon(&again, false, strict_again, sizeof strict_again, &again) == 0);
	check_same(&c, &again);
	ENSURE(footprint_cmp(footprint_of(&c), footprint_of(&again)) == 0);
	(void)url_loops(url_target(&c), NULL);
}

/* The text and, after a NUL, its base. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str in = {(const char *)data, size}, text = str_head(in, str_find_byte(in, 0));
	char base_room[URL_MAX], room[URL_MAX], scheme[URL_SCHEME_MAX];
	struct url base, u, small;
	struct str domain;
	struct err err;
	bool has_base =
		url_parse(str_from(in, text.n + 1), NULL, base_room, sizeof base_room, &base) == 0;
	ENSURE(url_scheme_of(text, scheme).n < URL_SCHEME_MAX);
	int rc = url_parse(text, has_base ? &base : NULL, room, sizeof room, &u);
	if (rc < 0) {
		ENSURE(url_fail(rc, text, &err) == -1);
		return 0;
	}
	check_form(&u);
	check_written(&u);
	check_canonical(&u);
	if (url_domain(u.host, &domain) == 0)
		ENSURE(inside(domain, u.host));
	char *tight;
	size_t cap = size % u.href.n;
	ENSURE(parse_into(text, has_base ? &base : NULL, cap, &small, &tight) < 0);
	mem_free(&tight);
	return 0;
}
