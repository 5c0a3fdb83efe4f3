/* Sitemaps and rows, through the reader of the protocols (net/xml.h): it has no entities but XML's
 * own, so nothing can grow, and hands elements over one by one. */
#include "cache/provider_read.h"

#include "base/clock.h"
#include "base/hash.h"
#include "extract/unpack.h"
#include "net/xml.h"
#include "url/url.h"

enum { TEXT_MOST = 16 << 10 };

struct provider_read {
	const struct provider_read_options *o;
	struct unpack *unpack;
	struct xml_stream *xml;
	struct buf text, more, c;
	struct str prefix;
	struct arena arena; /* of the prefix */
	struct provider_url url;
	struct buf loc;
	bool in_url, in_child, some;
	unsigned depth; /* elements that are open */
	uint64_t children;
	bool failed;
	struct err err;
};

static const struct xml_limits xml_limits = {
	.depth = 16,
	.attrs = 64,
	.token_max = 64 << 10,
	.message_max = SIZE_MAX / 2,
	.bindings = 32,
};

/* "2026-11-18" or a time of RFC 3339; seconds since 1970. */
static bool sitemap_date(struct str text, int64_t *ret_s)
{
	uint64_t y, m, d;
	int64_t us, days;
	if (text.n == 10 && text.p[4] == '-' && text.p[7] == '-' &&
	    str_u64(str_head(text, 4), &y) && str_u64(str_head(str_from(text, 5), 2), &m) &&
	    str_u64(str_from(text, 8), &d) &&
	    calendar_day((int64_t)y, (int64_t)m, (int64_t)d, &days)) {
		*ret_s = days * 86400;
		return days >= 0;
	}
	if (text.n < 11 || str_find_byte(text, 'T') == text.n || !time_parse(text, &us))
		return false;
	*ret_s = us / US_PER_S;
	return us >= 0;
}

/* Refuses what is there, with its place. */
static void read_refuse(struct provider_read *r, const char *why)
{
	if (!r->failed)
		xml_stream_refuse(r->xml, why);
}

/* The same with an error that has its words. */
static void read_refuse_err(struct provider_read *r, const struct err *err)
{
	if (r->failed)
		return;
	r->failed = true;
	r->err = *err;
	xml_stream_stop(r->xml);
}

static void list_add(struct provider_read *r)
{
	struct err err;
	if (!r->url.mime.n)
		r->url.mime = r->o->type(r->o->ctx, r->url.c);
	if (provider_list_add(r->o->list, &r->url, &err) < 0)
		read_refuse_err(r, &err);
}

/* Sitemaps */

static void sitemap_start(struct provider_read *r, const struct xml_tag *tag)
{
	buf_clear(&r->text);
	if (tag->depth == 0 && !str_is(tag->name, "urlset") && !str_is(tag->name, "sitemapindex"))
		read_refuse(r, "expected a sitemap: urlset or sitemapindex");
	if (tag->depth == 0)
		r->some = true;
	if (tag->depth != 1)
		return;
	r->in_url = str_is(tag->name, "url");
	r->in_child = str_is(tag->name, "sitemap");
	r->url = (struct provider_url){.origin = r->o->origin};
	buf_clear(&r->loc);
}

static void sitemap_child(struct provider_read *r)
{
	struct err err;
	if (!r->o->child || ++r->children > PROVIDER_SITEMAPS_MOST) {
		err_set(&err, ERR_USAGE,
			r->o->child ? "an index names too many sitemaps"
				    : "an index of sitemaps inside of another");
		read_refuse_err(r, &err);
	} else if (r->loc.n && r->o->child(r->o->ctx, buf_str(&r->loc), &err) < 0) {
		read_refuse_err(r, &err);
	}
}

static void sitemap_end(struct provider_read *r, const struct xml_tag *tag)
{
	struct str text = str_trim(buf_str(&r->text));
	if (tag->depth == 2 && str_is(tag->name, "loc")) {
		buf_clear(&r->loc);
		buf_add_str(&r->loc, text);
	} else if (tag->depth == 2 && str_is(tag->name, "lastmod") &&
		   sitemap_date(text, &r->url.mtime_s)) {
		r->url.has |= PROVIDER_MTIME;
	} else if (tag->depth == 1 && r->in_url && r->loc.n) {
		r->url.c = buf_str(&r->loc);
		list_add(r);
	} else if (tag->depth == 1 && r->in_child) {
		sitemap_child(r);
	}
	if (tag->depth == 1)
		r->in_url = r->in_child = false;
}

/* Rows */

/* As the notification server looks at it. */
static bool has_scheme(struct str url)
{
	char room[URL_SCHEME_MAX];
	return url_scheme_of(url, room).n > 0;
}

static struct str with_prefix(struct provider_read *r, struct str url, struct buf *room)
{
	if (!r->prefix.n || has_scheme(url))
		return url;
	buf_clear(room);
	buf_add_str(room, r->prefix);
	buf_add_str(room, url);
	return buf_str(room);
}

static const char *row_numbers(struct provider_url *url, const struct xml_tag *tag)
{
	bool there;
	uint64_t mtime;
	struct str v = xml_attr(tag, "mtime", &there);
	if (there && (!str_u64(v, &mtime) || mtime > INT64_MAX))
		return "mtime: expected seconds since 1970";
	if (there) {
		url->mtime_s = (int64_t)mtime;
		url->has |= PROVIDER_MTIME;
	}
	v = xml_attr(tag, "size", &there);
	if (there && !str_u64(v, &url->size))
		return "size: expected a number of bytes";
	url->has |= there ? PROVIDER_SIZE : 0;
	v = xml_attr(tag, "md5", &there);
	if (there && !hex_parse(v, url->md5, sizeof url->md5))
		return "md5: expected 32 hexadecimal digits";
	url->has |= there ? PROVIDER_MD5 : 0;
	return NULL;
}

static const char *row_others(struct provider_read *r, const struct xml_tag *tag)
{
	static const char *const names[] = {"b", "f", "sub", "hours", "browse"};
	CLEANUP(buf_free) struct buf room = BUF_INIT((size_t)2 * PROVIDER_URL_MAX);
	bool there;
	buf_clear(&r->more);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct str v = xml_attr(tag, names[i], &there);
		if (!there || (i == 1 && !v.n))
			continue;
		xml_add_attr(&r->more, names[i], i < 2 ? with_prefix(r, v, &room) : v);
	}
	r->url.more = buf_str(&r->more);
	if (str_has_control(r->url.more)) /* the file of the provider takes none */
		return "an attribute has a control character";
	return r->more.over || room.over ? "its attributes are too long" : NULL;
}

static void row_start(struct provider_read *r, const struct xml_tag *tag)
{
	bool has_f, there;
	if (str_is(tag->name, "set") && xml_attr(tag, "urlprefix", NULL).n)
		r->prefix = arena_str(&r->arena, xml_attr(tag, "urlprefix", NULL));
	if (!str_is(tag->name, "url"))
		return;
	r->url = (struct provider_url){.origin = r->o->origin, .always = true};
	r->url.c = with_prefix(r, xml_attr(tag, "c", &there), &r->c);
	r->url.mime = xml_attr(tag, "mime", NULL);
	bool blank = !xml_attr(tag, "f", &has_f).n && has_f;
	if (blank || str_is(xml_attr(tag, "op", NULL), "remove"))
		r->url.op = PROVIDER_REMOVE;
	const char *bad = !there ? "expected c, the conceptual URL" : row_numbers(&r->url, tag);
	if (!bad)
		bad = row_others(r, tag);
	if (bad)
		read_refuse(r, bad);
	else
		list_add(r);
}

/* The stream */

static void read_start(void *ctx, const struct xml_tag *tag)
{
	struct provider_read *r = ctx;
	r->depth++;
	if (r->o->form == PROVIDER_SITEMAP)
		sitemap_start(r, tag);
	else
		row_start(r, tag);
}

static void read_text(void *ctx, struct str text)
{
	struct provider_read *r = ctx;
	buf_add_str(&r->text, str_head(text, TEXT_MOST - r->text.n));
}

static void read_end(void *ctx, const struct xml_tag *tag)
{
	struct provider_read *r = ctx;
	r->depth--;
	if (r->o->form == PROVIDER_SITEMAP && !r->failed)
		sitemap_end(r, tag);
	buf_clear(&r->text);
}

static void read_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct provider_read *r = ctx;
	r->failed = true;
	err_set(&r->err, ERR_USAGE, "line %llu, column %llu: %s", (unsigned long long)line,
		(unsigned long long)column, err->msg);
}

static const struct xml_ops xml_ops = {
	.start = read_start,
	.text = read_text,
	.end = read_end,
	.error = read_error,
};

static int unpacked_put(void *ctx, struct str piece, struct err *err)
{
	struct provider_read *r = ctx;
	if (!r->failed && xml_stream_put(r->xml, piece) == 0 && !r->failed)
		return 0;
	*err = r->err;
	return -1;
}

struct provider_read *provider_read_new(const struct provider_read_options *options)
{
	const struct unpack_options bounds = {
		.unpacked_max = options->form == PROVIDER_SITEMAP ? PROVIDER_SITEMAP_MOST : 0};
	struct provider_read *r = mem_alloc(sizeof *r);
	*r = (struct provider_read){
		.o = options,
		.prefix = options->prefix,
		.text = BUF_INIT(TEXT_MOST + 1),
		.loc = BUF_INIT(TEXT_MOST + 1),
		.more = BUF_INIT(PROVIDER_MORE_MAX),
		.c = BUF_INIT((size_t)2 * PROVIDER_URL_MAX),
		.arena = ARENA_INIT(64 << 20),
	};
	r->unpack = unpack_new(&bounds, unpacked_put, r);
	r->xml = xml_stream_new(&xml_limits, &xml_ops, r);
	return r;
}

void provider_read_free(struct provider_read **read)
{
	struct provider_read *r = *read;
	if (!r)
		return;
	unpack_free(&r->unpack);
	xml_stream_free(&r->xml);
	arena_free(&r->arena);
	buf_free(&r->text);
	buf_free(&r->loc);
	buf_free(&r->more);
	buf_free(&r->c);
	mem_free(read);
}

int provider_read_put(struct provider_read *r, struct str piece, struct err *err)
{
	return unpack_put(r->unpack, piece, err);
}

int provider_read_end(struct provider_read *r, struct err *err)
{
	if (unpack_end(r->unpack, err) < 0)
		return -1;
	if (r->o->form == PROVIDER_SITEMAP && !r->some)
		return err_set(err, ERR_USAGE, "it is empty");
	if (r->depth)
		return err_set(err, ERR_USAGE, "it is cut off");
	return 0;
}
