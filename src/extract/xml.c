/* XML by expat, which reads what charset_decode.c has turned into UTF-8. Entities of the document
 * are not expanded (so none of them can grow), nothing outside is asked for, depth, values and
 * tokens are bounded, and what was read before an error counts. */
#include "extract/date.h"
#include "extract/xml_inner.h"

#define XML_DTD /* for the limits on entities */
#include <expat.h>

const char *xml_attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (str_is(str_of(name), attributes[0]))
			return attributes[1];
	return NULL;
}

bool xml_resolve(struct xml *x, struct str text, struct str *ret)
{
	struct url url;
	if (url_parse(text, x->has_base ? &x->base : NULL, x->room, sizeof x->room, &url) != 0)
		return false;
	*ret = url.href;
	return true;
}

void xml_keep(struct xml *x, int field)
{
	if (x->kept_depth)
		return;
	x->kept_depth = x->depth;
	x->kept = field;
	buf_clear(&x->value);
}

int xml_kept(struct xml *x)
{
	if (x->kept_depth != x->depth)
		return 0;
	x->kept_depth = 0;
	return x->kept;
}

void xml_no_text(struct xml *x, struct str s)
{
	(void)x, (void)s;
}

/* XML of no special kind: its text, and the first title. */

static void plain_start(struct xml *x, struct str name, const char **attributes)
{
	const char *language = xml_attribute(attributes, "xml:lang");
	if (x->depth == 1 && language)
		(void)out_language(x->out, str_of(language));
	if (!x->in_item && str_is(name, "title"))
		xml_keep(x, FEED_TITLE);
	text_gap(&x->flow, ' ');
}

static void plain_end(struct xml *x, struct str name)
{
	(void)name;
	if (xml_kept(x)) {
		out_meta(x->out, 3, META_TITLE, buf_str(&x->value));
		x->in_item = true; /* later ones belong to parts of it */
	}
	text_gap(&x->flow, ' ');
}

static void plain_text(struct xml *x, struct str s)
{
	text_flow(&x->flow, s);
}

static const struct xml_kind xml_plain = {EXTRACT_XML, plain_start, plain_end, plain_text};

/* Sitemaps and their indexes: https://www.sitemaps.org/protocol.html. */

enum { PAGE_URL = 1, PAGE_TIME, SITEMAP_URL };

static void sitemap_start(struct xml *x, struct str name, const char **attributes)
{
	bool page = str_is(name, "url"), map = str_is(name, "sitemap");
	if ((page || map) && x->depth == 2) {
		x->in_item = true;
		x->id_is_link = map;
		x->time_s = 0;
		buf_clear(&x->field[FEED_LINK]);
	} else if (x->in_item && x->depth == 3 && str_is(name, "loc")) {
		xml_keep(x, PAGE_URL);
	} else if (x->in_item && x->depth == 3 && str_is(name, "lastmod")) {
		xml_keep(x, PAGE_TIME);
	} else if (x->in_item && str_ends(name, STR(":link"))) { /* another language of the page */
		const char *href = xml_attribute(attributes, "href");
		struct str url;
		if (href && xml_resolve(x, str_of(href), &url))
			out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_ALTERNATE});
	}
}

static void sitemap_end_item(struct xml *x)
{
	struct doc_link l = {.kind = x->id_is_link ? LINK_SITEMAP : LINK_PAGE, .time_s = x->time_s};
	if (x->field[FEED_LINK].n && xml_resolve(x, buf_str(&x->field[FEED_LINK]), &l.url))
		out_link(x->out, &l);
	else
		x->ret->links_left_out++;
	x->in_item = false;
}

static void sitemap_end(struct xml *x, struct str name)
{
	(void)name;
	struct str value = str_trim(buf_str(&x->value));
	switch (xml_kept(x)) {
	case PAGE_URL:
		buf_clear(&x->field[FEED_LINK]);
		buf_add_str(&x->field[FEED_LINK], value);
		break;
	case PAGE_TIME:
		if (!date_parse(value, &x->time_s))
			x->time_s = 0;
		break;
	}
	if (x->in_item && x->depth == 2)
		sitemap_end_item(x);
}

static const struct xml_kind xml_sitemap = {EXTRACT_SITEMAP, sitemap_start, sitemap_end,
					    xml_no_text};

/* The kinds, and expat. */

static const struct {
	const char *root;
	const struct xml_kind *kind;
} kinds[] = {
	{"rss", &xml_feed},
	{"feed", &xml_feed},
	{"RDF", &xml_feed},
	{"urlset", &xml_sitemap},
	{"sitemapindex", &xml_sitemap},
};

static struct str without_prefix(const struct xml *x, const char *name)
{
	struct str s = str_of(name);
	return x->prefix.n && str_starts(s, x->prefix) ? str_from(s, x->prefix.n) : s;
}

/* The root decides; its prefix is that of all names of its kind, except in RDF, which only wraps
 * them. */
static void see_root(struct xml *x, const char *name)
{
	struct str whole = str_of(name);
	size_t colon = str_find_byte(whole, ':');
	struct str local = colon < whole.n ? str_from(whole, colon + 1) : whole;
	if (colon + 1 < sizeof x->prefix_room && colon < whole.n && !str_is(local, "RDF")) {
		memcpy(x->prefix_room, name, colon + 1);
		x->prefix = (struct str){x->prefix_room, colon + 1};
	}
	x->kind = &xml_plain;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(local, kinds[i].root))
			x->kind = kinds[i].kind;
	x->ret->type = x->kind->type;
	if (x->kind == &xml_sitemap)
		x->out->links_max = SITEMAP_LINKS_MAX;
}

static void xml_stop(struct xml *x, const char *why)
{
	if (!x->stopped)
		extract_remark(x->out, x->ret, "XML: %s in line %lu, the rest is left out", why,
			       XML_GetCurrentLineNumber(x->parser));
	x->stopped = true;
	XML_StopParser(x->parser, XML_FALSE);
}

/* Attributes that the document declares are looked at for each of its elements, also by expat. */
static void XMLCALL on_start(void *ctx, const char *name, const char **attributes)
{
	struct xml *x = ctx;
	x->ret->tokens++;
	x->defaults += x->declared;
	if (++x->depth > XML_DEPTH_MAX || x->defaults > XML_DEFAULTS_MAX) {
		xml_stop(x, x->depth > XML_DEPTH_MAX
				    ? "elements are nested too deeply"
				    : "too many elements for as many declared attributes");
		return;
	}
	if (!x->kind)
		see_root(x, name);
	x->kind->start(x, without_prefix(x, name), attributes);
}

static void XMLCALL on_end(void *ctx, const char *name)
{
	struct xml *x = ctx;
	if (x->stopped)
		return;
	x->ret->tokens++;
	x->kind->end(x, without_prefix(x, name));
	x->depth--;
}

static void XMLCALL on_text(void *ctx, const char *p, int n)
{
	struct xml *x = ctx;
	struct str s = {p, (size_t)n};
	if (x->stopped)
		return;
	x->ret->tokens++;
	if (x->kept_depth)
		buf_add_str(&x->value, out_head(s, x->value.max - x->value.n));
	x->kind->text(x, s);
	if (x->out->flags & OUT_TEXT_CUT)
		xml_stop(x, "more text than there is room for");
}

static void XMLCALL on_declared(void *ctx, const char *element, const char *name, const char *type,
				const char *value, int required)
{
	struct xml *x = ctx;
	(void)element, (void)name, (void)type, (void)value, (void)required;
	if (++x->declared > XML_DECLARED_MAX)
		xml_stop(x, "too many attributes are declared");
}

/* Also called for entities that the document defines: with a default handler expat does not expand
 * them. */
static void XMLCALL on_skipped(void *ctx, const char *name, int parameter)
{
	struct xml *x = ctx;
	static const struct {
		const char *name;
		struct str text;
	} usual[] = {{"nbsp", {" ", 1}},
		     {"copy", {"\xc2\xa9", 2}},
		     {"ndash", {"\xe2\x80\x93", 3}},
		     {"mdash", {"\xe2\x80\x94", 3}},
		     {"hellip", {"\xe2\x80\xa6", 3}},
		     {"eacute", {"\xc3\xa9", 2}},
		     {"auml", {"\xc3\xa4", 2}},
		     {"ouml", {"\xc3\xb6", 2}},
		     {"uuml", {"\xc3\xbc", 2}},
		     {"szlig", {"\xc3\x9f", 2}},
		     {"rsquo", {"\xe2\x80\x99", 3}},
		     {"lsquo", {"\xe2\x80\x98", 3}},
		     {"ldquo", {"\xe2\x80\x9c", 3}},
		     {"rdquo", {"\xe2\x80\x9d", 3}}};
	for (size_t i = 0; !parameter && i < ARRAY_LEN(usual); i++)
		if (str_is(str_of(usual[i].name), name))
			on_text(x, usual[i].text.p, (int)usual[i].text.n);
}

static void XMLCALL on_default(void *ctx, const char *p, int n)
{
	(void)ctx, (void)p, (void)n;
}

/* What is outside counts as empty. The DTD must have been read, so that expat does not take the
 * document to have none. */
static int XMLCALL on_external(XML_Parser parser, const char *context, const char *base,
			       const char *system_id, const char *public_id)
{
	(void)base, (void)system_id, (void)public_id;
	if (context)
		return XML_STATUS_OK;
	XML_Parser dtd = XML_ExternalEntityParserCreate(parser, NULL, NULL);
	if (!dtd)
		return XML_STATUS_ERROR;
	enum XML_Status status = XML_Parse(dtd, "", 0, 1);
	XML_ParserFree(dtd);
	return status;
}

static XML_Parser make_parser(struct xml *x)
{
	XML_Parser p = XML_ParserCreate("UTF-8");
	if (!p)
		die("out of memory");
	XML_SetUserData(p, x);
	XML_SetElementHandler(p, on_start, on_end);
	XML_SetCharacterDataHandler(p, on_text);
	XML_SetDefaultHandler(p, on_default);
	XML_SetSkippedEntityHandler(p, on_skipped);
	XML_SetAttlistDeclHandler(p, on_declared);
	/* with a DTD that might be somewhere, an unknown entity is skipped and not an error */
	XML_SetParamEntityParsing(p, XML_PARAM_ENTITY_PARSING_ALWAYS);
	XML_SetExternalEntityRefHandler(p, on_external);
	XML_UseForeignDTD(p, XML_TRUE);
	/* for entities in attribute values, which are always expanded */
	XML_SetBillionLaughsAttackProtectionActivationThreshold(p, 1 << 20);
	XML_SetBillionLaughsAttackProtectionMaximumAmplification(p, 10);
	return p;
}

/* expat looks at an incomplete token from its beginning again whenever more of it comes, so that
 * small pieces of a long one would cost the square of its length. Therefore it gets at least as
 * much as it has left over. */
static bool xml_give(struct xml *x, struct str piece, bool last)
{
	if (x->gathered.n || (piece.n < x->unfinished && !last)) {
		buf_add_str(&x->gathered, piece);
		if (x->gathered.n < x->unfinished && !last)
			return true;
		piece = buf_str(&x->gathered);
	}
	enum XML_Status status = XML_Parse(x->parser, piece.p, (int)piece.n, last);
	x->given += piece.n;
	buf_clear(&x->gathered);
	if (status == XML_STATUS_ERROR || last)
		return false;
	x->unfinished = (size_t)(x->given - (uint64_t)XML_GetCurrentByteIndex(x->parser));
	if (x->unfinished > XML_TOKEN_MAX)
		xml_stop(x, "a tag, comment or declaration is too long");
	return !x->stopped;
}

static void xml_read(struct xml *x, struct charset_pieces *in)
{
	struct str piece;
	bool empty = true, more = true;
	while (more && charset_next(in, &piece) == 0) {
		if (empty) { /* blanks before the declaration are common, and an error to expat */
			size_t n = 0;
			while (n < piece.n && (unsigned char)piece.p[n] <= ' ')
				n++;
			piece = str_from(piece, n);
		}
		empty = empty && piece.n == 0;
		more = xml_give(x, piece, false);
	}
	if (more)
		xml_give(x, STR(""), true);
	if (x->stopped)
		return;
	enum XML_Error error = XML_GetErrorCode(x->parser);
	if (error != XML_ERROR_NONE)
		extract_remark(x->out, x->ret, "XML: %s in line %lu, the rest is left out",
			       XML_ErrorString(error), XML_GetCurrentLineNumber(x->parser));
}

void extract_xml(const struct extract_job *job, struct charset_pieces *in, struct out *out,
		 struct extract_result *ret)
{
	struct xml *x = mem_alloc(sizeof *x);
	*x = (struct xml){.job = job, .out = out, .ret = ret, .flow = {.out = out}};
	x->value = BUF_INIT(XML_VALUE_MAX);
	x->gathered = BUF_INIT(XML_TOKEN_MAX + CHARSET_PIECE);
	for (int i = 0; i < FEED_FIELDS; i++)
		x->field[i] = BUF_INIT(XML_VALUE_MAX);
	x->has_base = url_parse(job->url, NULL, x->base_room, sizeof x->base_room, &x->base) == 0;
	x->parser = make_parser(x);
	xml_read(x, in);
	XML_ParserFree(x->parser);
	buf_free(&x->value);
	buf_free(&x->gathered);
	for (int i = 0; i < FEED_FIELDS; i++)
		buf_free(&x->field[i]);
	mem_free(&x);
}
