/* Results as JSON, and the file names that bodies get. Both are seen by scripts: a field or a name
 * that was printed once stays. */
#include "fetch/result_print.h"

#include "base/hash.h"
#include "base/jsonw.h"

static void put_hex(struct jsonw *j, const char *key, const unsigned char *p, size_t n)
{
	char text[2 * 32 + 1];
	hex_print(p, n, text);
	jsonw_put_text(j, key, text);
}

static void put_some(struct jsonw *j, const char *key, struct str text)
{
	if (text.n)
		jsonw_put_str(j, key, text);
}

static void put_robots(struct jsonw *j, const struct robot_tag *tag)
{
	jsonw_put_array(j, "robots");
	for (int i = 0; i < ROBOT_NDIRECTIVES; i++)
		if (tag->set & 1u << i)
			jsonw_text(j, robot_directive_name((enum robot_directive)i));
	jsonw_array_end(j);
}

static void put_head(struct jsonw *j, const struct robot_result *r)
{
	const struct robot_head *h = r->head;
	jsonw_put_int(j, "status", h->status);
	put_some(j, "type", str_of(h->mime));
	put_some(j, "charset", str_of(h->charset));
	put_some(j, "etag", str_of(h->etag));
	put_some(j, "last_modified", str_of(h->last_modified));
	if (r->last_modified_us >= 0)
		jsonw_put_int(j, "last_modified_s", r->last_modified_us / US_PER_S);
	if (h->retry_after_us >= 0)
		jsonw_put_int(j, "retry_after_s", h->retry_after_us / US_PER_S);
	put_robots(j, &h->tag);
	jsonw_put_uint(j, "size", r->size);
	jsonw_put_uint(j, "wire", r->wire);
	put_hex(j, "md5", r->md5, sizeof r->md5);
	put_hex(j, "sha256", r->sha256, sizeof r->sha256);
}

static void put_times(struct jsonw *j, const struct robot_times *t)
{
	if (t->start_us)
		jsonw_put_time(j, "start", t->start_us);
	jsonw_put_int(j, "resolve_us", t->resolve_us);
	jsonw_put_int(j, "connect_us", t->connect_us);
	jsonw_put_int(j, "first_us", t->first_us);
	jsonw_put_int(j, "total_us", t->total_us);
}

static void put_url(struct jsonw *j, const char *key, struct str url)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(url.n + 1);
	url_show(url, &shown);
	put_some(j, key, buf_str(&shown));
}

void result_print_json(struct str url, const struct robot_result *r,
		       const struct result_field *more, size_t n, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	char shown[ADDR_SHOWN];
	jsonw_object(&j);
	put_url(&j, "url", url);
	jsonw_put_text(&j, "outcome", outcome_name(r->outcome));
	jsonw_put_text(&j, "cause", robot_cause_name(r->cause));
	put_some(&j, "why", str_of(r->why));
	if (!str_eq(url, r->url))
		put_some(&j, "final_url", r->url);
	if (r->redirects)
		jsonw_put_uint(&j, "redirects", r->redirects);
	put_some(&j, "location", r->location);
	if (r->addr.family)
		jsonw_put_text(&j, "address", addr_print(&r->addr, shown));
	if (r->head->status)
		put_head(&j, r);
	put_times(&j, &r->times);
	for (size_t i = 0; i < n; i++)
		put_some(&j, more[i].key, more[i].value);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

/* Neither a file nor a folder may be called "." or "..". */
static void put_escaped(struct buf *b, struct str s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_.~,=@+";
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr(plain, s.p[i]) && !(i == 0 && s.p[i] == '.'))
			buf_add_byte(b, s.p[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
}

/* What "/" is called, and files that are not complete: no other document may be. A percent sign is
 * written as %25, so nothing else has such names. */
static void keep_apart(struct buf *name)
{
	struct str s = buf_str(name), end = str_from(s, s.n > 5 ? s.n - 5 : 0);
	char last = s.n ? s.p[s.n - 1] : 0;
	if (!str_is(s, "index") && !str_is(end, ".part"))
		return;
	name->n--;
	buf_printf(name, "%%%02X", (unsigned char)last);
}

void result_file_name(const char *folder, const struct url *url, struct buf *ret)
{
	enum { NAME_MAX_BYTES = 200 };
	CLEANUP(buf_free) struct buf name = BUF_INIT((size_t)4 * URL_TEXT_MAX);
	struct str target = str_from(url_target(url), 1);
	char hex[33];
	unsigned char sum[16];
	put_escaped(&name, target.n ? target : STR("index"));
	if (target.n)
		keep_apart(&name);
	if (name.n > NAME_MAX_BYTES) {
		md5(url_target(url), sum);
		hex_print(sum, sizeof sum, hex);
		name.n = NAME_MAX_BYTES - 33;
		buf_printf(&name, "~%s", hex);
	}
	buf_printf(ret, "%s/", folder);
	put_escaped(ret, url->host);
	/* one port goes without saying: that of http and that of https may differ in what they say
	 */
	if (url->port != url_default_port(URL_HTTPS))
		buf_printf(ret, ",%u", url->port);
	buf_printf(ret, "/%s", buf_text(&name));
}
