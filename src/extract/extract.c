/* The order of things: type, charset, the reader of that type, the rest. */
#include "extract/extract.h"
#include "base/ascii.h"
#include "base/wish.h"
#include "extract/readers_inner.h"
#include "extract/types_inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>

enum { UNPACKED_MAX = 50 << 20 }; /* of a compressed sitemap: what the protocol allows */

struct extract {
	struct types *types;
	struct charset *charset;
	struct buf unpacked;
};

const char *extract_type_name(enum extract_type t)
{
	static const char *const names[EXTRACT_TYPES] = {
		[EXTRACT_OTHER] = "other",       [EXTRACT_HTML] = "html", [EXTRACT_TEXT] = "text",
		[EXTRACT_MARKDOWN] = "markdown", [EXTRACT_XML] = "xml",   [EXTRACT_FEED] = "feed",
		[EXTRACT_SITEMAP] = "sitemap",
	};
	return names[t];
}

struct extract *extract_new(void)
{
	struct extract *x = mem_alloc(sizeof *x);
	x->types = types_new();
	x->charset = charset_new();
	x->unpacked = BUF_INIT(UNPACKED_MAX);
	return x;
}

void extract_free(struct extract **px)
{
	struct extract *x = *px;
	if (!x)
		return;
	types_free(&x->types);
	charset_free(&x->charset);
	buf_free(&x->unpacked);
	mem_free(px);
}

int extract_load_all(struct extract *x, struct err *err)
{
	int types = types_load(x->types, err);
	int charsets = charset_load_all(x->charset, err);
	return types < 0 || charsets < 0 ? -1 : 0;
}

void extract_remark(struct out *out, struct extract_result *ret, const char *fmt, ...)
{
	char text[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	size_t before = out->n;
	out_meta(out, 0, META_REMARK, str_of(text));
	if (out->n > before && ret->remark.n == 0)
		ret->remark = str_from(out->attr[before].value, 2);
}

/* In lower case, without what parts wishes. */
static void put_wish(struct buf *to, struct str text, bool header)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c > ' ' && c != ',' && (c < 0x7f || !header)) /* a header may not be UTF-8 */
			buf_add_byte(to, ascii_lower(text.p[i]));
	}
}

void extract_robots(struct str wishes, bool header, struct out *out)
{
	CLEANUP(buf_free) struct buf words = BUF_INIT(OUT_META_MAX);
	struct wish wish;
	bool ours = true;
	while (wish_next(&wishes, &wish) == 0) {
		if (wish.is_agent) {
			ours = !header;
			continue;
		}
		if (!ours || words.n + wish.name.n + wish.value.n + 16 > words.max)
			continue; /* no wish is as long */
		if (words.n)
			buf_add_byte(&words, ',');
		if (str_eq_nocase(wish.name, STR("none")))
			buf_add_text(&words, "noindex,nofollow");
		else
			put_wish(&words, wish.name, header);
		if (wish.value.n)
			buf_add_byte(&words, ':');
		put_wish(&words, wish.value, header);
	}
	out_meta(out, 0, META_ROBOTS, buf_str(&words));
}

static void add_type(struct out *out, const struct extract_result *r)
{
	char text[sizeof r->media_type + CHARSET_NAME_MAX + 16];
	snprintf(text, sizeof text, "%s%s%s", r->media_type, r->charset.name ? "; charset=" : "",
		 r->charset.name ? r->charset.name : "");
	out_add(out, 'T', str_of(text));
}

enum { STEP = 256 << 10, GZIP_WINDOW = 15 + 16 };

static bool is_gzip(struct str s)
{
	return str_starts(s, STR("\x1f\x8b\x08"));
}

enum unpacked { UNPACKED_WHOLE, UNPACKED_DAMAGED, UNPACKED_OVER };

/* All that gzip holds, at most out->max bytes of it. What could be read before damage or the limit
 * is in `out` in any case. */
static enum unpacked gunzip_all(struct str s, struct buf *out)
{
	z_stream z = {.next_in = (unsigned char *)s.p, .avail_in = (unsigned)MIN(s.n, UINT32_MAX)};
	char spare; /* for the byte that is too much */
	int rc = Z_OK;
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return UNPACKED_DAMAGED;
	while (rc == Z_OK) {
		size_t step = MIN((size_t)STEP, out->max - out->n), room = MAX(step, (size_t)1);
		z.next_out = (unsigned char *)(step ? buf_room(out, step) : &spare);
		z.avail_out = (unsigned)room;
		rc = inflate(&z, Z_NO_FLUSH);
		if (!step && z.avail_out == 0) {
			inflateEnd(&z);
			return UNPACKED_OVER;
		}
		buf_grew(out, step ? step - z.avail_out : 0);
		/* concatenated files are one; other bytes after the end are padding */
		struct str rest = {(const char *)z.next_in, z.avail_in};
		if (rc == Z_STREAM_END && is_gzip(rest))
			rc = inflateReset(&z);
	}
	inflateEnd(&z);
	return rc == Z_STREAM_END ? UNPACKED_WHOLE : UNPACKED_DAMAGED;
}

/* Compressed XML, and a compressed list of URLs, are read as what is inside. */
static enum unpacked unpack_inside(struct extract *x, struct extract_job *job,
				   struct extract_result *ret)
{
	const char *media;
	char room[512];
	buf_clear(&x->unpacked);
	enum unpacked how = gunzip_all(job->body, &x->unpacked);
	struct str inside = buf_str(&x->unpacked);
	enum sniff seen = sniff(charset_readable(inside, STR(""), room, sizeof room), &media);
	bool xml = seen == SNIFF_FEED || seen == SNIFF_XML;
	if (!xml && !types_is_url_list(inside, job->url))
		return UNPACKED_WHOLE; /* nothing of it is read */
	job->body = inside;
	job->content_type = STR("");
	ret->type = xml ? EXTRACT_XML : EXTRACT_SITEMAP;
	snprintf(ret->media_type, sizeof ret->media_type, "%s",
		 xml ? "application/xml" : "text/plain");
	return how;
}

static void say_how_unpacked(enum unpacked how, struct out *out, struct extract_result *ret)
{
	if (how == UNPACKED_DAMAGED)
		extract_remark(out, ret,
			       "the compressed document is damaged, the rest is left out");
	if (how == UNPACKED_OVER)
		extract_remark(out, ret,
			       "unpacked it is larger than %d bytes, more than a sitemap may be: "
			       "the rest is left out",
			       UNPACKED_MAX);
}

static void read_document(const struct extract_job *job, struct charset_pieces *in, struct out *out,
			  struct extract_result *ret)
{
	switch (ret->type) {
	case EXTRACT_HTML:
		extract_html(job, in, out, ret);
		break;
	case EXTRACT_TEXT:
		extract_text(in, out);
		break;
	case EXTRACT_MARKDOWN:
		extract_markdown(job, in, out);
		break;
	case EXTRACT_XML:
	case EXTRACT_FEED:
		extract_xml(job, in, out, ret);
		break;
	case EXTRACT_SITEMAP: /* one of XML gets this type only while it is read */
		extract_url_list(in, out, ret);
		break;
	case EXTRACT_OTHER:
	case EXTRACT_TYPES:
		break;
	}
}

static const char *declared_charset(const struct extract_job *job, enum extract_type type)
{
	const char *xml = charset_prescan_xml(job->body);
	if (type == EXTRACT_HTML) {
		const char *html = charset_prescan_html(job->body);
		return html ? html : xml;
	}
	if (type == EXTRACT_SITEMAP)
		return "utf-8";
	/* XML that says nothing is UTF-8 */
	return type == EXTRACT_XML || type == EXTRACT_FEED ? (xml ? xml : "utf-8") : NULL;
}

static void say_what_was_cut(struct out *out, struct extract_result *ret)
{
	if (out->flags & OUT_TEXT_CUT)
		extract_remark(out, ret, "text cut after %zu bytes", out->text_n);
	if (out->flags & OUT_LINKS_CUT)
		extract_remark(out, ret, "links cut after %zu", out->links);
}

void extract_run(struct extract *x, const struct extract_job *given, struct out *out,
		 struct extract_result *ret)
{
	struct extract_job job = *given;
	struct charset_pieces in;
	enum unpacked how = UNPACKED_WHOLE;
	*ret = (struct extract_result){.remark = STR("")};
	ret->type = types_judge(x->types, &job, ret->media_type);
	if (is_gzip(job.body) && ret->type == EXTRACT_OTHER)
		how = unpack_inside(x, &job, ret);
	if (ret->type != EXTRACT_OTHER)
		ret->charset = charset_choose(x->charset, job.body, job.content_type,
					      declared_charset(&job, ret->type), job.charset);
	add_type(out, ret);
	out_number(out, 'Z', given->body.n);
	extract_robots(job.robots, true, out);
	if (out->links_max == SIZE_MAX && job.settings.links_max)
		out->links_max = job.settings.links_max;
	if (ret->type != EXTRACT_OTHER) {
		say_how_unpacked(how, out, ret); /* first: the rest follows from it */
		charset_begin(&in, x->charset, job.body, &ret->charset);
		read_document(&job, &in, out, ret);
		ret->bad_bytes = in.bad;
	}
	say_what_was_cut(out, ret);
	out_end(out);
	ret->links = out->links;
	ret->links_left_out += out->links_left_out;
	ret->flags = out->flags;
	if (x->unpacked.cap > (1 << 20))
		buf_free(&x->unpacked);
}
