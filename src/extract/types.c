/* Which type a document has. The header is believed where the first bytes do not contradict; where
 * they do, or where there is no header, libmagic decides, and where it is missing the bytes do. */
#include "base/ascii.h"
#include "base/library.h"
#include "extract/html_tokens_inner.h"
#include "extract/types_inner.h"

#include <magic.h>
#include <stdio.h>

/* What the first bytes look like: https://mimesniff.spec.whatwg.org/, and the roots of feeds and
 * sitemaps. */

enum { SNIFF_BYTES = 512, ROOT_WITHIN = 8 << 10, LIST_BYTES = 8 << 10 };

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

static struct str skip_space(struct str s)
{
	size_t i = 0;
	while (i < s.n && html_is_space(s.p[i]))
		i++;
	return str_from(s, i);
}

static bool is_tag(struct str s, const char *name)
{
	struct str n = str_of(name);
	return s.n > n.n && str_eq_nocase(str_head(s, n.n), n) &&
	       (html_is_space(s.p[n.n]) || s.p[n.n] == '>' || s.p[n.n] == '/');
}

/* The name of the first element after declarations and comments, its prefix left out; empty: none
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
	for (; n < s.n && !html_is_space(s.p[n]) && s.p[n] != '>' && s.p[n] != '/'; n++)
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
	if (STR_AMONG(root, feeds))
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
	s = str_head(s, SNIFF_BYTES);
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

/* libmagic, loaded at first need: its database is 8 MB, and most documents are what they say. */

#define LIBRARY "libmagic.so.1"

/* Neither what would unpack or look deeper into the bytes, nor what we know better. */
#define FLAGS                                                                                     \
	(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF | MAGIC_NO_CHECK_TOKENS | \
	 MAGIC_NO_CHECK_CSV)
enum { MAGIC_BYTES = 4 << 10 }; /* bytes that it is shown */

#define FUNCTIONS(X) X(open) X(close) X(load) X(buffer) X(error)

struct types {
	bool asked;    /* for the library */
	magic_t magic; /* NULL: not loaded, or it is not there */
#define X(name) __typeof__(magic_##name) *name;
	FUNCTIONS(X)
#undef X
};

int types_load(struct types *t, struct err *err)
{
	if (t->magic)
		return 0;
	t->asked = true;
#define X(name) {"magic_" #name, &t->name},
	const struct library_function functions[] = {FUNCTIONS(X)};
#undef X
	if (library_load(LIBRARY, "looking at types needs the package libmagic1", functions,
			 ARRAY_LEN(functions), err) < 0)
		return -1;
	magic_t magic = t->open(FLAGS);
	if (!magic)
		return err_sys(err, LIBRARY);
	if (t->load(magic, NULL) != 0) {
		err_set(err, ERR_SYSTEM, LIBRARY ": %s (package libmagic-mgc)", t->error(magic));
		t->close(magic);
		return -1;
	}
	t->magic = magic;
	return 0;
}

/* libmagic's word for it; NULL: it is not there. Until the next call. */
static const char *types_magic(struct types *t, struct str body)
{
	struct err err;
	if (!t->asked)
		(void)types_load(t, &err); /* without it the header and the first bytes decide */
	return t->magic ? t->buffer(t->magic, body.p, MIN(body.n, (size_t)MAGIC_BYTES)) : NULL;
}

struct types *types_new(void)
{
	return mem_alloc(sizeof(struct types));
}

void types_free(struct types **pt)
{
	struct types *t = *pt;
	if (t && t->magic)
		t->close(t->magic);
	mem_free(pt);
}

/* The judgement. */

/* What can be read as what. The first line that fits counts. */
static const struct {
	const char *media; /* "x/" fits all below it; "+x" all that end so */
	enum extract_type type;
} readers[] = {
	{"text/html", EXTRACT_HTML},
	{"application/xhtml+xml", EXTRACT_HTML},
	{"application/vnd.wap.xhtml+xml", EXTRACT_HTML},
	{"text/markdown", EXTRACT_MARKDOWN},
	{"text/x-markdown", EXTRACT_MARKDOWN},
	{"text/xml", EXTRACT_XML},
	{"application/xml", EXTRACT_XML},
	{"application/rss+xml", EXTRACT_FEED},
	{"application/atom+xml", EXTRACT_FEED},
	{"application/rdf+xml", EXTRACT_FEED},
	{"+xml", EXTRACT_XML},
	/* no prose */
	{"text/css", EXTRACT_OTHER},
	{"text/javascript", EXTRACT_OTHER},
	{"text/ecmascript", EXTRACT_OTHER},
	{"text/calendar", EXTRACT_OTHER},
	{"text/vcard", EXTRACT_OTHER},
	{"text/", EXTRACT_TEXT},
};

/* By the end of the path, where there is no header. */
static const struct {
	const char *suffix, *media;
} suffixes[] = {
	{".html", "text/html"},
	{".htm", "text/html"},
	{".xhtml", "application/xhtml+xml"},
	{".shtml", "text/html"},
	{".md", "text/markdown"},
	{".markdown", "text/markdown"},
	{".txt", "text/plain"},
	{".text", "text/plain"},
	{".rss", "application/rss+xml"},
	{".atom", "application/atom+xml"},
	{".xml", "application/xml"},
	{".css", "text/css"},
	{".js", "text/javascript"},
	{".json", "application/json"},
	{".pdf", "application/pdf"},
	{".gz", "application/gzip"},
	{".zip", "application/zip"},
	{".png", "image/png"},
	{".jpg", "image/jpeg"},
	{".jpeg", "image/jpeg"},
	{".gif", "image/gif"},
	{".svg", "image/svg+xml"},
};

static enum extract_type reader_of_media(struct str media)
{
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		struct str r = str_of(readers[i].media);
		if (r.p[0] == '+'         ? str_ends(media, r)
		    : r.p[r.n - 1] == '/' ? str_starts(media, r)
					  : str_eq(media, r))
			return readers[i].type;
	}
	return EXTRACT_OTHER;
}

/* Types by which servers say that they do not know. */
static bool says_nothing(const char *media)
{
	static const char *const unknown[] = {"application/octet-stream", "application/unknown",
					      "unknown/unknown", "*/*"};
	return STR_AMONG(str_of(media), unknown);
}

/* "Text/HTML; charset=x" is text/html. Empty: it is not a media type, or one that says nothing. */
static void media_of_header(struct str header, char ret[TYPES_MEDIA_MAX])
{
	struct str s = str_trim(
		str_head(header, MIN(str_find_byte(header, ';'), str_find_byte(header, ','))));
	size_t slashes = 0, n = 0;
	ret[0] = 0;
	if (s.n >= TYPES_MEDIA_MAX)
		return;
	for (; n < s.n; n++) {
		char c = s.p[n];
		if (c <= ' ' || c >= 0x7f || strchr("()<>@,;:\\\"[]?=", c))
			break;
		slashes += c == '/';
		ret[n] = ascii_lower(c);
	}
	ret[n] = 0;
	if (n < s.n || slashes != 1 || ret[0] == '/' || ret[n - 1] == '/' || says_nothing(ret))
		ret[0] = 0;
}

static struct str path_of(struct str url)
{
	return str_head(url, MIN(str_find_byte(url, '?'), str_find_byte(url, '#')));
}

static bool is_called(struct str url, const char *suffix)
{
	struct str path = path_of(url), s = str_of(suffix);
	return path.n > s.n && str_eq_nocase(str_from(path, path.n - s.n), s);
}

static const char *media_of_name(struct str url)
{
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++)
		if (is_called(url, suffixes[i].suffix))
			return suffixes[i].media;
	return NULL;
}

static enum extract_type media_set(char ret[TYPES_MEDIA_MAX], const char *media,
				   enum extract_type type)
{
	snprintf(ret, TYPES_MEDIA_MAX, "%s", media);
	return type;
}

static enum extract_type media_set_by_reader(char ret[TYPES_MEDIA_MAX], const char *media)
{
	return media_set(ret, media, reader_of_media(str_of(media)));
}

/* libmagic's answer. Of text it often knows only that. */
static enum extract_type judge_by_magic(struct types *t, struct str body, enum sniff seen,
					char ret[TYPES_MEDIA_MAX])
{
	const char *media = types_magic(t, body);
	bool vague = !media || !strchr(media, '/') || str_is(str_of(media), "text/plain");
	if (vague && (seen == SNIFF_HTML || seen == SNIFF_TAGS))
		media = "text/html";
	else if (vague && seen == SNIFF_XML)
		media = "application/xml";
	else if (!media || !strchr(media, '/'))
		media = seen == SNIFF_TEXT ? "text/plain" : "application/octet-stream";
	return media_set_by_reader(ret, media);
}

/* Nothing is declared, or nothing that means anything. */
static enum extract_type judge_alone(struct types *t, struct str body, enum sniff seen,
				     const char *known, char ret[TYPES_MEDIA_MAX])
{
	switch (seen) {
	case SNIFF_HTML:
	case SNIFF_TAGS:
		return media_set(ret, "text/html", EXTRACT_HTML);
	case SNIFF_FEED:
		return media_set(ret, "application/xml", EXTRACT_FEED);
	case SNIFF_XML:
		return media_set(ret, "application/xml", EXTRACT_XML);
	case SNIFF_KNOWN:
		return media_set_by_reader(ret, known);
	case SNIFF_EMPTY:
		return media_set(ret, "application/x-empty", EXTRACT_OTHER);
	default:
		return judge_by_magic(t, body, seen, ret);
	}
}

/* What the declared type is read as, given what the bytes look like; -1: they contradict. */
static int judge_declared(enum extract_type declared, enum sniff seen)
{
	bool text = declared == EXTRACT_TEXT || declared == EXTRACT_MARKDOWN;
	bool xml = declared == EXTRACT_XML || declared == EXTRACT_FEED;
	switch (seen) {
	case SNIFF_EMPTY:
	case SNIFF_TEXT:
		return declared;
	case SNIFF_HTML: /* XHTML comes under all names of XML */
		return xml ? EXTRACT_HTML : declared != EXTRACT_OTHER ? (int)declared : -1;
	case SNIFF_TAGS:
		return declared != EXTRACT_OTHER ? (int)declared : -1;
	case SNIFF_FEED: /* sitemaps come under all names of text */
		return declared != EXTRACT_OTHER ? EXTRACT_FEED : -1;
	case SNIFF_XML:
		return text || xml ? (int)declared : declared == EXTRACT_HTML ? EXTRACT_HTML : -1;
	default:
		return declared == EXTRACT_OTHER ? EXTRACT_OTHER : -1;
	}
}

static bool is_web_url(struct str s)
{
	size_t n = 0;
	while (n < s.n && (unsigned char)s.p[n] > ' ')
		n++;
	return n == s.n && (str_eq_nocase(str_head(s, 7), STR("http://")) ||
			    str_eq_nocase(str_head(s, 8), STR("https://")));
}

bool types_is_url_list(struct str text, struct str url)
{
	bool some = false;
	if (!is_called(url, ".txt") && !is_called(url, ".txt.gz"))
		return false;
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	struct str rest = str_head(text, LIST_BYTES);
	while (rest.n) {
		size_t n = MIN(str_find_byte(rest, '\n'), str_find_byte(rest, '\r'));
		struct str line = str_trim(str_head(rest, n));
		bool is_cut = n == rest.n && text.n > LIST_BYTES;
		if (line.n && (!is_cut || line.n >= strlen("https://")) && !is_web_url(line))
			return false;
		some = some || (line.n && !is_cut); /* prose may be one long line */
		rest = str_from(rest, n + 1);
	}
	return some;
}

static enum extract_type judge_document(struct types *t, const struct extract_job *job,
					char ret_media[TYPES_MEDIA_MAX])
{
	char media[TYPES_MEDIA_MAX], room[ROOT_WITHIN];
	const char *known, *name = media_of_name(job->url);
	struct str body = charset_readable(job->body, job->content_type, room, sizeof room);
	enum sniff seen = sniff(body, &known);
	media_of_header(job->content_type, media);
	/* servers call plain what they do not know, and unpacked files keep their names only */
	if (name && (!media[0] || (str_is(str_of(media), "text/plain") &&
				   reader_of_media(str_of(name)) == EXTRACT_MARKDOWN)))
		snprintf(media, sizeof media, "%s", name);
	if (!media[0])
		return judge_alone(t, body, seen, known, ret_media);
	/* what cannot be read anyway has the name that its server gave it: many are zip inside */
	if (seen == SNIFF_KNOWN && reader_of_media(str_of(media)) != EXTRACT_OTHER)
		return media_set_by_reader(ret_media, known);
	int as = judge_declared(reader_of_media(str_of(media)), seen);
	if (as >= 0)
		return media_set(ret_media, media, (enum extract_type)as);
	return judge_by_magic(t, body, seen, ret_media);
}

enum extract_type types_judge(struct types *t, const struct extract_job *job,
			      char ret_media[TYPES_MEDIA_MAX])
{
	enum extract_type type = judge_document(t, job, ret_media);
	bool list = type == EXTRACT_TEXT && types_is_url_list(job->body, job->url);
	return list ? EXTRACT_SITEMAP : type;
}
