/* Prefixes. The canonical form settles how a URL is written, but not how a server reads a path that
 * breaks the rules. So a URL that leaves its folder by any reading (url_path_leaves()) lies below
 * no prefix. Its owner loses nothing: another URL names the same page. */
#include "cache/uns/prefix.h"

#include "url/url.h"

/* Returns the canonical form, in `room`; false: there is none that can be relied on. */
static bool url_settled(const struct url *url, char room[URL_STRICT_MAX], struct url *ret)
{
	return url->username.n == 0 && url->password.n == 0 &&
	       (url->protocol == URL_HTTP || url->protocol == URL_HTTPS) &&
	       url_canon(url, false, room, URL_STRICT_MAX, ret) == 0 && !url_path_leaves(ret->path);
}

int prefix_of_file(struct str text, char ret[PIDB_URL_MAX + 1], struct err *err)
{
	char room[URL_MAX], strict[URL_STRICT_MAX];
	struct url url, canon;
	int rc = url_parse(text, NULL, room, sizeof room, &url);
	if (rc < 0)
		return url_fail(rc, text, err);
	if (url.protocol != URL_HTTP && url.protocol != URL_HTTPS)
		return err_set(err, ERR_USAGE, "the file is not fetched by http or https");
	if (url.username.n || url.password.n)
		return err_set(err, ERR_USAGE, "the file's URL has a user name or password in it");
	if (url.has_query)
		return err_set(err, ERR_USAGE,
			       "the file's URL has a query: what answers to it may not be a file");
	rc = url_canon(&url, false, strict, sizeof strict, &canon);
	if (rc < 0)
		return url_fail(rc, text, err);
	if (url_path_leaves(canon.path))
		return err_set(err, ERR_USAGE,
			       "the file's URL has a segment of dots, however written");
	/* only the server knows its folder: /~joe%2Fsecret.txt is hardly in / */
	if (url_path_hides_slash(canon.path))
		return err_set(err, ERR_USAGE,
			       "the file's URL has an escaped slash: write it plainly");
	if (canon.path.p[canon.path.n - 1] == '/')
		return err_set(err, ERR_USAGE, "the URL names a folder, not a file in it");
	size_t n = (size_t)(canon.path.p - canon.href.p) + canon.path.n;
	while (n && canon.href.p[n - 1] != '/')
		n--;
	ENSURE(n <= PIDB_URL_MAX);
	memcpy(ret, canon.href.p, n);
	ret[n] = 0;
	return 0;
}

void prefixes_free(struct prefixes *p)
{
	mem_free(&p->text);
	p->n = 0;
}

int prefixes_load(struct prefixes *ret, struct pidb *db, uint64_t provider, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	CLEANUP(buf_free) struct buf text = BUF_INIT(PIDB_PREFIXES * (PIDB_URL_MAX + 1) + 1);
	char **prefix;
	size_t n;
	int rc = pidb_prefixes(db, provider, &arena, &prefix, &n, err);
	if (rc == 0 && n > PIDB_PREFIXES)
		rc = err_set(err, ERR_DAMAGED, "provider %llu has more prefixes than there may be",
			     (unsigned long long)provider);
	if (rc != 0)
		return rc;
	for (size_t i = 0; i < n; i++)
		buf_add(&text, prefix[i], strlen(prefix[i]) + 1);
	*ret = (struct prefixes){n, n ? mem_copy(text.p, text.n) : NULL};
	return 0;
}

bool prefixes_cover(const struct prefixes *p, const struct url *url, struct str *ret)
{
	char room[URL_STRICT_MAX];
	struct url canon;
	if (!url_settled(url, room, &canon))
		return false;
	const char *at = p->text;
	for (size_t i = 0; i < p->n; i++) {
		struct str prefix = str_of(at);
		at += prefix.n + 1;
		if (!str_starts(canon.href, prefix))
			continue;
		if (ret)
			*ret = prefix;
		return true;
	}
	return false;
}
