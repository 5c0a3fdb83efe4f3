/* The judgement. The header is believed where the first bytes do not contradict; where they do, or
 * where there is no header, libmagic decides, and where it is missing the bytes do. */
#include "extract/types_inner.h"

#include <stdio.h>

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

/* "Text/HTML; charset=x" is text/html. Empty: it is no media type, or one that says nothing. */
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
		ret[n] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
	}
	ret[n] = 0;
	if (n < s.n || slashes != 1 || ret[0] == '/' || ret[n - 1] == '/' ||
	    str_is(str_of(ret), "application/octet-stream") ||
	    str_is(str_of(ret), "unknown/unknown"))
		ret[0] = 0;
}

static const char *media_of_name(struct str url)
{
	struct str path = str_head(url, MIN(str_find_byte(url, '?'), str_find_byte(url, '#')));
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		struct str s = str_of(suffixes[i].suffix);
		if (path.n > s.n && str_eq_nocase(str_from(path, path.n - s.n), s))
			return suffixes[i].media;
	}
	return NULL;
}

static enum extract_type take(char ret[TYPES_MEDIA_MAX], const char *media, enum extract_type type)
{
	snprintf(ret, TYPES_MEDIA_MAX, "%s", media);
	return type;
}

static enum extract_type take_media(char ret[TYPES_MEDIA_MAX], const char *media)
{
	return take(ret, media, reader_of_media(str_of(media)));
}

/* libmagic's answer. Of text it often knows only that. */
static enum extract_type arbitrate(struct types *t, struct str body, enum sniff seen,
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
	return take_media(ret, media);
}

/* Nothing is declared, or nothing that means anything. */
static enum extract_type judge_alone(struct types *t, const struct extract_job *job,
				     enum sniff seen, const char *known, char ret[TYPES_MEDIA_MAX])
{
	switch (seen) {
	case SNIFF_HTML:
	case SNIFF_TAGS:
		return take(ret, "text/html", EXTRACT_HTML);
	case SNIFF_FEED:
		return take(ret, "application/xml", EXTRACT_FEED);
	case SNIFF_XML:
		return take(ret, "application/xml", EXTRACT_XML);
	case SNIFF_KNOWN:
		return take_media(ret, known);
	case SNIFF_EMPTY:
		return take(ret, "application/x-empty", EXTRACT_OTHER);
	default:
		return arbitrate(t, job->body, seen, ret);
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

enum extract_type types_judge(struct types *t, const struct extract_job *job,
			      char ret_media[TYPES_MEDIA_MAX])
{
	char media[TYPES_MEDIA_MAX];
	const char *known, *name = media_of_name(job->url);
	enum sniff seen = sniff(job->body, &known);
	media_of_header(job->content_type, media);
	/* servers call plain what they do not know, and unpacked files keep their names only */
	if (name && (!media[0] || (str_is(str_of(media), "text/plain") &&
				   reader_of_media(str_of(name)) == EXTRACT_MARKDOWN)))
		snprintf(media, sizeof media, "%s", name);
	if (!media[0])
		return judge_alone(t, job, seen, known, ret_media);
	/* what cannot be read anyway has the name that its server gave it: many are zip inside */
	if (seen == SNIFF_KNOWN && reader_of_media(str_of(media)) != EXTRACT_OTHER)
		return take_media(ret_media, known);
	int as = judge_declared(reader_of_media(str_of(media)), seen);
	if (as >= 0)
		return take(ret_media, media, (enum extract_type)as);
	return arbitrate(t, job->body, seen, ret_media);
}
