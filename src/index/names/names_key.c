/* What the key of a site tells: its URL, for sites of which nothing else is left. The form of keys
 * is made in archie/sites/sites.c, and described in doc/formats/archie-sites.md. */
#include "base/ascii.h"
#include "index/names.h"

enum { URL_MOST = 16 << 10 };

static size_t last_of(struct str s, char c)
{
	size_t at = s.n;
	while (at > 0 && s.p[at - 1] != c)
		at--;
	return at ? at - 1 : s.n;
}

/* 2001_db8__1: a colon cannot be in the name of a file everywhere. */
static bool host_is_ipv6(struct str host)
{
	size_t colons = 0;
	for (size_t i = 0; i < host.n; i++) {
		colons += host.p[i] == '_';
		if (host.p[i] != '_' && host.p[i] != '.' && ascii_hex(host.p[i]) < 0)
			return false;
	}
	return colons > 1;
}

static void put_host(struct str host, struct buf *out)
{
	bool ipv6 = host_is_ipv6(host);
	if (ipv6)
		buf_add_byte(out, '[');
	for (size_t i = 0; i < host.n; i++)
		buf_add_byte(out, ipv6 && host.p[i] == '_' ? ':' : host.p[i]);
	if (ipv6)
		buf_add_byte(out, ']');
}

/* "pub+linux", each with a slash. */
static void put_folders(struct str folders, struct buf *out)
{
	for (size_t i = 0; i < folders.n; i++) {
		int byte = i + 2 < folders.n && folders.p[i] == '='
				   ? ascii_hex_byte(folders.p + i + 1)
				   : -1;
		if (byte > 0) {
			buf_add_byte(out, (char)byte);
			i += 2;
		} else {
			buf_add_byte(out, folders.p[i] == '+' ? '/' : folders.p[i]);
		}
	}
	if (folders.n)
		buf_add_byte(out, '/');
}

/* Leaves what lies before the first c, and returns what lies after it. */
static struct str cut_first(struct str *s, char c)
{
	size_t at = str_find_byte(*s, c);
	struct str after = str_from(*s, at + 1);
	*s = str_head(*s, at);
	return after;
}

/* NAME[+PROTOCOL[@HOST][+FOLDER...]][,PORT]-ADDRESS; a hash stands for folders after a ~. */
struct str names_key_url(struct str key, struct arena *arena)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(URL_MOST);
	struct str name = str_head(key, last_of(key, '-'));
	struct str port = str_from(name, last_of(name, ',') + 1);
	name = str_head(name, last_of(name, ','));
	bool is_cut = cut_first(&name, '~').n > 0;
	struct str protocol = cut_first(&name, '+'), folders = cut_first(&protocol, '+');
	struct str host = cut_first(&protocol, '@');
	buf_printf(&out, STR_FMT "://", STR_ARG(protocol.n ? protocol : STR("ftp")));
	put_host(host.n ? host : name, &out);
	if (port.n)
		buf_printf(&out, ":" STR_FMT, STR_ARG(port));
	buf_add_byte(&out, '/');
	if (!is_cut)
		put_folders(folders, &out);
	return arena_str(arena, buf_str(&out));
}
