/* What the first bytes of a document look like: https://mimesniff.spec.whatwg.org/, and the roots
 * of feeds and sitemaps. */
#include "extract/types.h"

enum { LOOK = 512, ROOT_WITHIN = 8 << 10 };

static const struct {
	struct str bytes;
	const char *media;
} signatures[] = {
	{{"%PDF-", 5}, "application/pdf"},
	{{"%!PS-Adobe-", 11}, "application/postscript"},
	{{"\x1f\x8b", 2}, "application/gzip"},
	{{"PK\3\4", 4}, "application/zip"},
	{{"Rar!\x1a\7", 6}, "application/vnd.rar"},
	{{"7z\xbc\xaf\x27\x1c", 6}, "application/x-7z-compressed"},
	{{"BZh", 3}, "application/x-bzip2"},
	{{"\xfd"
	  "7zXZ\0",
	  6},
	 "application/x-xz"},
	{{"\x28\xb5\x2f\xfd", 4}, "application/zstd"},
	{{"GIF87a", 6}, "image/gif"},
	{{"GIF89a", 6}, "image/gif"},
	{{"\x89PNG\r\n\x1a\n", 8}, "image/png"},
	{{"\xff\xd8\xff", 3}, "image/jpeg"},
	{{"\0\0\1\0", 4}, "image/x-icon"},
	{{"OggS\0", 5}, "application/ogg"},
	{{"ID3", 3}, "audio/mpeg"},
	{{"wOFF", 4}, "font/woff"},
	{{"wOF2", 4}, "font/woff2"},
	{{"\x7f"
	  "ELF",
	  4},
	 "application/x-executable"},
	{{"\0asm", 4}, "application/wasm"},
};

static const char *const tags[] = {
	"html", "head", "body",   "title",    "meta",   "link", "script", "style",
	"div",  "p",    "a",      "table",    "h1",     "h2",   "ul",     "br",
	"b",    "font", "iframe", "frameset", "center", "img",  "span",   "form",
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static struct str skip_space(struct str s)
{
	size_t i = 0;
	while (i < s.n && is_space(s.p[i]))
		i++;
	return str_from(s, i);
}

static bool is_tag(struct str s, const char *name)
{
	struct str n = str_of(name);
	return s.n > n.n && str_eq_nocase(str_head(s, n.n), n) &&
	       (is_space(s.p[n.n]) || s.p[n.n] == '>' || s.p[n.n] == '/');
}

/* The name of the first element behind declarations and comments, its prefix left out; empty: none
 * was found. */
static struct str xml_root(struct str s)
{
	s = str_head(s, ROOT_WITHIN);
	for (;;) {
		s = skip_space(s);
		if (s.n < 2 || s.p[0] != '<')
			return STR("");
		if (str_starts(s, STR("<!--")))
			s = str_from(s, str_find(s, STR("-->")) + 3);
		else if (s.p[1] == '?')
			s = str_from(s, str_find(s, STR("?>")) + 2);
		else if (s.p[1] == '!') { /* a DOCTYPE, perhaps with declarations in brackets */
			size_t bracket = str_find_byte(s, '['), end = str_find_byte(s, '>');
			if (bracket < end)
				end = str_find(s, STR("]>")) + 1;
			s = str_from(s, end + 1);
		} else
			break;
	}
	size_t n = 1, colon = 0;
	for (; n < s.n && !is_space(s.p[n]) && s.p[n] != '>' && s.p[n] != '/'; n++)
		if (s.p[n] == ':')
			colon = n;
	size_t from = colon ? colon + 1 : 1;
	return str_head(str_from(s, from), n - from);
}

static enum sniff sniff_markup(struct str s)
{
	static const char *const feeds[] = {"rss", "feed", "RDF", "urlset", "sitemapindex"};
	bool xml = str_starts(s, STR("<?xml"));
	struct str root = xml_root(s);
	for (size_t i = 0; i < ARRAY_LEN(feeds); i++)
		if (str_is(root, feeds[i]))
			return SNIFF_FEED;
	if (str_eq_nocase(root, STR("html")) || is_tag(str_from(s, 1), "!doctype html"))
		return SNIFF_HTML;
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if (is_tag(str_from(s, 1), tags[i]) || str_eq_nocase(root, str_of(tags[i])))
			return xml ? SNIFF_XML : SNIFF_TAGS;
	if (xml)
		return SNIFF_XML;
	return str_starts(s, STR("<!--")) ? SNIFF_TAGS : SNIFF_TEXT;
}

static bool has_binary(struct str s)
{
	s = str_head(s, LOOK);
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= 8 || c == 0x0b || (c >= 0x0e && c <= 0x1a) || (c >= 0x1c && c <= 0x1f))
			return true;
	}
	return false;
}

enum sniff sniff(struct str body, const char **ret_media)
{
	*ret_media = NULL;
	if (body.n == 0)
		return SNIFF_EMPTY;
	if (str_starts(body, STR("\xfe\xff")) || str_starts(body, STR("\xff\xfe")))
		return SNIFF_TEXT;
	for (size_t i = 0; i < ARRAY_LEN(signatures); i++)
		if (str_starts(body, signatures[i].bytes) &&
		    (body.p[0] == '%' || has_binary(body))) { /* prose may begin with ID3 */
			*ret_media = signatures[i].media;
			return SNIFF_KNOWN;
		}
	if (str_starts(body, STR("\xef\xbb\xbf")))
		body = str_from(body, 3);
	struct str s = skip_space(body);
	if (s.n && s.p[0] == '<') {
		enum sniff as = sniff_markup(s);
		if (as != SNIFF_TEXT)
			return as;
	}
	return has_binary(body) ? SNIFF_BINARY : SNIFF_TEXT;
}
