/* One parser for every place that names a socket in text: settings, the sockets that the supervisor
 * opens, links to other machines. Names are not looked up: an address is numeric, so that reading
 * a configuration never waits for a resolver. */
#include "base/endpoint.h"

#include "base/value.h"

#include <arpa/inet.h>
#include <stdio.h>

static int endpoint_wrong(struct str text, const char *what, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE, "%s, got '%s'", what, value_show(text, shown));
}

static int endpoint_parse_unix(struct str text, struct endpoint *ret, struct err *err)
{
	struct str path = str_from(text, strlen("unix:"));
	struct endpoint w = {.un.sun_family = AF_UNIX, .len = sizeof w.un};
	if (path.n == 0 || memchr(path.p, 0, path.n))
		return endpoint_wrong(text, "expected a path after 'unix:'", err);
	if (path.n >= sizeof w.un.sun_path)
		return err_set(err, ERR_USAGE,
			       "the path of a Unix socket has at most %zu bytes, this one has %zu",
			       sizeof w.un.sun_path - 1, path.n);
	memcpy(w.un.sun_path, path.p, path.n);
	*ret = w;
	return 0;
}

static bool endpoint_parse_v4(struct str host, struct endpoint *w)
{
	char text[INET_ADDRSTRLEN];
	if (host.n >= sizeof text)
		return false;
	snprintf(text, sizeof text, STR_FMT, STR_ARG(host));
	w->v4.sin_family = AF_INET;
	w->len = sizeof w->v4;
	return strlen(text) == host.n && inet_pton(AF_INET, text, &w->v4.sin_addr) == 1;
}

/* host is what stands between the brackets */
static bool endpoint_parse_v6(struct str host, struct endpoint *w)
{
	char text[INET6_ADDRSTRLEN];
	size_t percent = str_find_byte(host, '%');
	struct str address = str_head(host, percent), scope = str_from(host, percent + 1);
	if (address.n >= sizeof text || scope.n >= sizeof w->scope ||
	    (percent < host.n && scope.n == 0) || (host.n && memchr(host.p, 0, host.n)))
		return false;
	snprintf(text, sizeof text, STR_FMT, STR_ARG(address));
	snprintf(w->scope, sizeof w->scope, STR_FMT, STR_ARG(scope));
	w->v6.sin6_family = AF_INET6;
	w->len = sizeof w->v6;
	return inet_pton(AF_INET6, text, &w->v6.sin6_addr) == 1;
}

static bool endpoint_parse_host(struct str host, struct endpoint *w)
{
	if (str_is(host, "*")) {
		w->both = true;
		return endpoint_parse_v6(STR("::"), w);
	}
	if (host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']')
		return endpoint_parse_v6(str_range(host.p + 1, host.p + host.n - 1), w);
	return endpoint_parse_v4(host, w);
}

/* ADDRESS:PORT, after what `whole` has before it; `forms` are named where it is not one. */
static int endpoint_parse_port(struct str text, struct str whole, const char *forms,
			       struct endpoint *ret, struct err *err)
{
	const char *colon = text.n ? memrchr(text.p, ':', text.n) : NULL;
	struct endpoint w = {0};
	uint64_t port;
	if (!colon || !endpoint_parse_host(str_range(text.p, colon), &w))
		return endpoint_wrong(whole, forms, err);
	if (!str_u64(str_range(colon + 1, text.p + text.n), &port) || port > UINT16_MAX)
		return endpoint_wrong(whole, "expected a port of 0 to 65535 after the last ':'",
				      err);
	if (w.any.sa_family == AF_INET)
		w.v4.sin_port = htons((uint16_t)port);
	else
		w.v6.sin6_port = htons((uint16_t)port);
	*ret = w;
	return 0;
}

int endpoint_parse(struct str text, struct endpoint *ret, struct err *err)
{
	if (str_starts(text, STR("unix:")))
		return endpoint_parse_unix(text, ret, err);
	return endpoint_parse_port(
		text, text,
		"expected a numeric ADDRESS:PORT such as 127.0.0.1:8080, [::1]:8080 "
		"or *:8080, or unix:PATH",
		ret, err);
}

bool endpoint_is_udp(struct str text)
{
	return str_starts(text, STR("udp:"));
}

int endpoint_parse_udp(struct str text, struct endpoint *ret, struct err *err)
{
	struct str rest = endpoint_is_udp(text) ? str_from(text, strlen("udp:")) : STR("");
	return endpoint_parse_port(
		rest, text, "expected udp: and a numeric ADDRESS:PORT, such as udp:127.0.0.1:1525",
		ret, err);
}
