/* The names under which a server may be asked. Anyone who owns a domain can point a name of it at
 * this machine. In the browser of a visitor whom our listener trusts, a page under that name could
 * then read everything served here as if it were its own. Addresses and localhost belong to no
 * such domain and are always accepted; all other names must be configured. */
#include "net/http_inner.h"
#include "url/url.h"

struct http_hosts {
	struct arena arena;
	struct str *host; /* as a URL has it: lower case, ASCII */
	size_t n;
};

/* The dot that ends a full name makes no difference. */
static struct str without_dot(struct str host)
{
	return str_head(host, host.n - str_ends(host, STR(".")));
}

/* A name alone: url_parse() says what it is in a URL, and there must be nothing more. */
static int add_name(struct http_hosts *h, const char *name, struct err *err)
{
	char room[URL_MAX], shown[VALUE_SHOWN];
	struct url url;
	CLEANUP(buf_free) struct buf text = BUF_INIT(URL_MAX);
	buf_printf(&text, "http://%s", name);
	if (url_parse(buf_str(&text), NULL, room, sizeof room, &url) < 0 ||
	    strpbrk(name, "*:/?#@\\[]"))
		return err_set(err, ERR_USAGE,
			       "web.names: '%s' is not the name of a host, such as "
			       "search.example.org, without a port",
			       value_show(str_of(name), shown));
	h->host[h->n++] = arena_str(&h->arena, without_dot(url.host));
	return 0;
}

static int add_url(struct http_hosts *h, const char *text, struct err *err)
{
	char room[URL_MAX], shown[VALUE_SHOWN];
	struct url url;
	int rc = url_parse(str_of(text), NULL, room, sizeof room, &url);
	if (rc < 0) {
		(void)url_fail(rc, str_of(text), err);
		return err_in(err, "web.url");
	}
	if (url.protocol == URL_FTP || url.username.n || url.password.n || url.has_query ||
	    url.has_fragment || !str_is(url.path, "/"))
		return err_set(err, ERR_USAGE,
			       "web.url: expected http or https and a host, such as "
			       "https://search.example.org/, got '%s'",
			       value_show(str_of(text), shown));
	h->host[h->n++] = arena_str(&h->arena, without_dot(url.host));
	return 0;
}

int http_hosts_new(struct http_hosts **ret, const struct http_names *names, struct err *err)
{
	struct http_hosts *h = mem_alloc(sizeof *h);
	int rc = 0;
	h->arena = ARENA_INIT(16 << 20);
	h->host = arena_array(&h->arena, names->names.n + 1, sizeof *h->host);
	for (size_t i = 0; i < names->names.n && rc == 0; i++)
		rc = add_name(h, names->names.item[i], err);
	if (rc == 0 && names->url && names->url[0])
		rc = add_url(h, names->url, err);
	if (rc < 0)
		http_hosts_free(&h);
	else
		*ret = h;
	return rc;
}

int http_names_check(const struct http_names *names, struct err *err)
{
	struct http_hosts *h = NULL;
	int rc = http_hosts_new(&h, names, err);
	http_hosts_free(&h);
	return rc;
}

void http_hosts_free(struct http_hosts **h)
{
	if (*h)
		arena_free(&(*h)->arena);
	mem_free(h);
}

bool http_host_cut_port(struct str *host)
{
	const char *colon = host->n ? memrchr(host->p, ':', host->n) : NULL;
	uint64_t port;
	if (!colon || host->p[host->n - 1] == ']')
		return true;
	struct str digits = str_range(colon + 1, host->p + host->n);
	host->n -= digits.n + 1;
	return digits.n == 0 || (str_u64(digits, &port) && port <= UINT16_MAX);
}

bool http_host_is_ours(const struct http_hosts *h, struct str host)
{
	struct addr a;
	if (!http_host_cut_port(&host) || host.n == 0)
		return false;
	if (addr_parse_port(host, 80, &a))
		return true;
	host = without_dot(host);
	bool ours = str_eq_nocase(host, STR("localhost"));
	for (size_t i = 0; i < h->n && !ours; i++)
		ours = str_eq_nocase(host, h->host[i]);
	return ours;
}
