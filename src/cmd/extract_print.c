#include "cmd/extract_print.h"

#include "base/jsonw.h"
#include "cmd/safe_text.h"
#include "soif/attrs_soif.h"

static const struct {
	enum meta_tag tag;
	const char *name;
} tags[] = {
	{META_TITLE, "title"},
	{META_EMPHASIS, "emphasis"},
	{META_ALT, "alt"},
	{META_DESCRIPTION, "description"},
	{META_KEYWORDS, "keywords"},
	{META_AUTHOR, "author"},
	{META_LANGUAGE, "language"},
	{META_ROBOTS, "robots"},
	{META_CANONICAL, "canonical"},
	{META_PUBLISHED, "published"},
	{META_MODIFIED, "modified"},
	{META_GENERATOR, "generator"},
	{META_REMARK, "remark"},
};
static const struct {
	enum link_kind kind;
	const char *name;
} kinds[] = {
	{LINK_ANCHOR, "anchor"},       {LINK_FORM, "form"},       {LINK_FEED, "feed"},
	{LINK_ALTERNATE, "alternate"}, {LINK_RELATED, "related"}, {LINK_REFRESH, "refresh"},
	{LINK_ITEM, "item"},           {LINK_PAGE, "page"},       {LINK_SITEMAP, "sitemap"},
	{LINK_IMAGE, "image"},         {LINK_FRAME, "frame"},     {LINK_EMBED, "embed"},
};
static const struct {
	unsigned flag;
	const char *name;
} flags[] = {{LINK_NOFOLLOW, "nofollow"}, {LINK_UGC, "ugc"}, {LINK_SPONSORED, "sponsored"}};

static const char *tag_name(char tag)
{
	if (tag >= '1' && tag <= '6')
		return "heading";
	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if ((char)tags[i].tag == tag)
			return tags[i].name;
	return "other";
}

static const char *kind_name(enum link_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].kind == kind)
			return kinds[i].name;
	return "other";
}

static void text_of_link(const struct doc_link *l, struct buf *out)
{
	buf_printf(out, "%s " STR_FMT, kind_name(l->kind), STR_ARG(l->url));
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (l->flags & flags[i].flag)
			buf_printf(out, " %s", flags[i].name);
	if (l->time_s)
		buf_printf(out, " changed=%lld", (long long)l->time_s);
	if (l->text.n) {
		buf_add_text(out, " \"");
		put_safe(out, l->text);
		buf_add_byte(out, '"');
	}
	buf_add_byte(out, '\n');
}

static void text_of_attr(const struct attr *a, struct buf *out)
{
	struct doc_meta m;
	struct doc_link l;
	if (a->name == 'X')
		return;
	if (a->name == 'M' && meta_parse(a->value, &m)) {
		buf_add_text(out, tag_name(m.tag));
		if (m.tag >= '1' && m.tag <= '6')
			buf_printf(out, " %c", m.tag);
		buf_add_text(out, ": ");
		put_safe(out, m.text);
		buf_add_byte(out, '\n');
	} else if (strchr("RFIA", a->name) && link_parse(a->name, a->value, &l)) {
		text_of_link(&l, out);
	} else if (a->name == 'Z') {
		buf_printf(out, "size: " STR_FMT "\n", STR_ARG(a->value));
	} else if (a->name == 'C') {
		buf_printf(out, "md5: " STR_FMT "\n", STR_ARG(a->value));
	}
}

static void put_lines(struct buf *out, struct str text)
{
	for (size_t n; text.n; text = str_from(text, n + 1)) {
		n = str_find_byte(text, '\n');
		put_safe(out, str_head(text, n));
		if (n < text.n)
			buf_add_byte(out, '\n');
	}
}

void extract_print_text(struct str url, const struct cage_result *r, struct buf *out)
{
	bool some = false;
	buf_printf(out, "url: " STR_FMT "\n", STR_ARG(url));
	if (r->end == CAGE_READ)
		buf_printf(out, "type: %s, %s\n", extract_type_name(r->result.type),
			   r->result.media_type);
	if (r->result.charset.name)
		buf_printf(out, "charset: %s, by %s\n", r->result.charset.name,
			   charset_source_name(r->result.charset.source));
	for (size_t i = 0; i < r->attrs.n; i++)
		text_of_attr(&r->attrs.a[i], out);
	for (size_t i = 0; i < r->attrs.n; i++)
		if (r->attrs.a[i].name == 'X') {
			if (!some)
				buf_add_text(out, "text:\n");
			some = true;
			put_lines(out, r->attrs.a[i].value);
		}
	buf_add_text(out, some ? "\n\n" : "\n");
}

static void json_of_meta(const struct attrs *attrs, struct jsonw *j)
{
	struct doc_meta m;
	jsonw_key(j, "meta");
	jsonw_array(j);
	for (size_t i = 0; i < attrs->n; i++) {
		if (attrs->a[i].name != 'M' || !meta_parse(attrs->a[i].value, &m))
			continue;
		jsonw_object(j);
		jsonw_put_text(j, "tag", tag_name(m.tag));
		if (m.tag >= '1' && m.tag <= '6')
			jsonw_put_int(j, "level", m.tag - '0');
		jsonw_put_int(j, "weight", m.weight);
		jsonw_put_str(j, "text", m.text);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void json_of_links(const struct attrs *attrs, struct jsonw *j)
{
	struct doc_link l;
	jsonw_key(j, "links");
	jsonw_array(j);
	for (size_t i = 0; i < attrs->n; i++) {
		if (!strchr("RFIA", attrs->a[i].name) ||
		    !link_parse(attrs->a[i].name, attrs->a[i].value, &l))
			continue;
		jsonw_object(j);
		jsonw_put_text(j, "kind", kind_name(l.kind));
		jsonw_put_str(j, "url", l.url);
		for (size_t k = 0; k < ARRAY_LEN(flags); k++)
			if (l.flags & flags[k].flag)
				jsonw_put_bool(j, flags[k].name, true);
		if (l.time_s)
			jsonw_put_int(j, "changed", l.time_s);
		if (l.text.n)
			jsonw_put_str(j, "text", l.text);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
}

static void json_of_text(const struct attrs *attrs, struct jsonw *j)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(CAGE_OUT);
	for (size_t i = 0; i < attrs->n; i++)
		if (attrs->a[i].name == 'X')
			buf_add_str(&text, attrs->a[i].value);
	jsonw_put_str(j, "text", buf_str(&text));
}

static void json_first(const struct attrs *attrs, struct jsonw *j, const char *key, char tag)
{
	struct doc_meta m;
	for (size_t i = 0; i < attrs->n; i++)
		if (attrs->a[i].name == 'M' && meta_parse(attrs->a[i].value, &m) && m.tag == tag) {
			jsonw_put_str(j, key, m.text);
			return;
		}
}

void extract_print_json(struct str url, const struct cage_result *r, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	uint64_t size;
	jsonw_object(&j);
	jsonw_put_str(&j, "url", url);
	jsonw_put_text(&j, "end", cage_end_name(r->end));
	jsonw_put_text(&j, "type", extract_type_name(r->result.type));
	if (r->end == CAGE_READ)
		jsonw_put_text(&j, "media_type", r->result.media_type);
	if (r->result.charset.name) {
		jsonw_put_text(&j, "charset", r->result.charset.name);
		jsonw_put_text(&j, "charset_by", charset_source_name(r->result.charset.source));
		jsonw_put_uint(&j, "bad_bytes", r->result.bad_bytes);
	}
	if (str_u64(attrs_get(&r->attrs, 'Z'), &size))
		jsonw_put_uint(&j, "size", size);
	jsonw_put_str(&j, "md5", attrs_get(&r->attrs, 'C'));
	json_first(&r->attrs, &j, "title", META_TITLE);
	json_first(&r->attrs, &j, "description", META_DESCRIPTION);
	json_first(&r->attrs, &j, "language", META_LANGUAGE);
	json_first(&r->attrs, &j, "robots", META_ROBOTS);
	json_first(&r->attrs, &j, "canonical", META_CANONICAL);
	if (r->result.remark.n)
		jsonw_put_str(&j, "remark", r->result.remark);
	json_of_meta(&r->attrs, &j);
	json_of_links(&r->attrs, &j);
	jsonw_put_uint(&j, "links_left_out", r->result.links_left_out);
	json_of_text(&r->attrs, &j);
	jsonw_put_int(&j, "cpu_us", r->cpu_us);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

int extract_print_soif(struct str url, const struct cage_result *r, struct buf *out,
		       struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj;
	attrs_soif(&r->attrs, &arena, 0, &obj);
	obj.url = url;
	int rc = soif_print(&obj, out, err);
	arena_free(&arena);
	return rc;
}
