/* XML by expat, which reads what charset_decode.c has turned into UTF-8. Entities of the document
 * are not expanded (so none of them can grow), nothing outside is asked for, depth, values and
 * tokens are bounded, and what was read before an error counts. */
#include "extract/date_inner.h"
#include "extract/html_entities_inner.h"
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

void xml_keep_text(struct xml *x, struct str s)
{
	struct str part = str_utf8_head(s, x->value.max - x->value.n);
	if (!x->kept_depth || x->value.over)
		return;
	buf_add_str(&x->value, part);
	x->value.over = part.n < s.n;
}

/* XML of no special kind: its text, and the first title. */

enum { PLAIN_TITLE = 1 };

static void plain_start(struct xml *x, const struct xml_name *name, const char **attributes)
{
	const char *language = xml_attribute(attributes, "xml:lang");
	if (x->depth == 1 && language)
		(void)out_language(x->out, str_of(language));
	if (!x->in_item && name->space == XML_OWN && str_is(name->local, "title"))
		xml_keep(x, PLAIN_TITLE);
	text_gap(&x->flow, ' ');
}

static void plain_title(struct xml *x)
{
	out_meta(x->out, 3, META_TITLE, buf_str(&x->value));
	x->in_item = true; /* later ones belong to parts of it */
}

static void plain_end(struct xml *x, const struct xml_name *name)
{
	(void)name;
	if (xml_kept(x))
		plain_title(x);
	text_gap(&x->flow, ' ');
}

static void plain_text(struct xml *x, struct str s)
{
	xml_keep_text(x, s);
	text_flow(&x->flow, s);
}

static void plain_finish(struct xml *x)
{
	if (x->kept_depth)
		plain_title(x);
}

static const struct xml_kind xml_plain = {EXTRACT_XML, NULL,       plain_start,
					  plain_end,   plain_text, plain_finish};

/* Sitemaps and their indexes: https://www.sitemaps.org/protocol.html. */

enum { PAGE_URL = 1, PAGE_TIME, SITEMAP_URL };

static void sitemap_start(struct xml *x, const struct xml_name *name, const char **attributes)
{
	bool own = name->space == XML_OWN, page = own && str_is(name->local, "url"),
	     map = own && str_is(name->local, "sitemap");
	if ((page || map) && x->depth == 2) {
		x->in_item = true;
		x->is_index = map;
		x->time_s = 0;
		buf_clear(&x->link);
	} else if (x->in_item && own && x->depth == 3 && str_is(name->local, "loc")) {
		xml_keep(x, PAGE_URL);
	} else if (x->in_item && own && x->depth == 3 && str_is(name->local, "lastmod")) {
		xml_keep(x, PAGE_TIME);
	} else if (x->in_item && !own && str_is(name->local, "link")) {
		/* another language of the page */
		const char *href = xml_attribute(attributes, "href");
		struct str url;
		if (href && xml_resolve(x, str_of(href), &url))
			out_link(x->out, &(struct doc_link){.url = url, .kind = LINK_ALTERNATE});
	}
}

static void sitemap_end_item(struct xml *x)
{
	struct doc_link l = {.kind = x->is_index ? LINK_SITEMAP : LINK_PAGE, .time_s = x->time_s};
	if (x->link.n && xml_resolve(x, buf_str(&x->link), &l.url))
		out_link(x->out, &l);
	else
		x->ret->links_left_out++;
	x->in_item = false;
}

static void sitemap_end(struct xml *x, const struct xml_name *name)
{
	(void)name;
	struct str value = str_trim(buf_str(&x->value));
	switch (xml_kept(x)) {
	case PAGE_URL:
		buf_clear(&x->link);
		buf_add_str(&x->link, value);
		break;
	case PAGE_TIME:
		if (!date_parse(value, &x->time_s))
			x->time_s = 0;
		break;
	}
	if (x->in_item && x->depth == 2)
		sitemap_end_item(x);
}

/* A page whose address came whole counts where the rest of it is missing. */
static void sitemap_finish(struct xml *x)
{
	if (x->in_item && x->link.n)
		sitemap_end_item(x);
}

static const struct xml_kind xml_sitemap = {EXTRACT_SITEMAP, NULL,          sitemap_start,
					    sitemap_end,     xml_keep_text, sitemap_finish};

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

static void see_root(struct xml *x, struct str local)
{
	x->kind = &xml_plain;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(local, kinds[i].root))
			x->kind = kinds[i].kind;
	x->ret->type = x->kind->type;
	if (x->kind == &xml_sitemap)
		x->out->links_max = SITEMAP_LINKS_MAX;
	if (x->kind->begin)
		x->kind->begin(x);
}

static void xml_stop(struct xml *x, const char *why)
{
	if (!x->stopped)
		extract_remark(x->out, x->ret, "XML: %s in line %lu, the rest is left out", why,
			       XML_GetCurrentLineNumber(x->parser));
	x->stopped = true;
	XML_StopParser(x->parser, XML_FALSE);
}

/* Attributes that the document declares are looked at for each of its elements, also by expat; and
 * their values are read, which the element does not have to repeat. */
static void XMLCALL on_start(void *ctx, const char *name, const char **attributes)
{
	struct xml *x = ctx;
	x->ret->tokens++;
	x->defaults += x->declared_cost;
	if (++x->depth > XML_DEPTH_MAX || x->defaults > XML_DEFAULTS_MAX) {
		xml_stop(x, x->depth > XML_DEPTH_MAX
				    ? "elements are nested too deeply"
				    : "too many elements for as many declared attributes");
		return;
	}
	xml_scope_open(x, name, attributes);
	struct xml_name n = xml_name_of(x, name);
	if (!x->kind)
		see_root(x, n.local);
	x->kind->start(x, &n, attributes);
}

static void XMLCALL on_end(void *ctx, const char *name)
{
	struct xml *x = ctx;
	if (x->stopped)
		return;
	x->ret->tokens++;
	struct xml_name n = xml_name_of(x, name);
	x->kind->end(x, &n);
	xml_scope_close(x);
	x->depth--;
}

static void XMLCALL on_text(void *ctx, const char *p, int n)
{
	struct xml *x = ctx;
	if (x->stopped)
		return;
	x->ret->tokens++;
	x->kind->text(x, (struct str){p, (size_t)n});
	if (x->out->flags & OUT_TEXT_CUT)
		xml_stop(x, "more text than there is room for");
}

static void XMLCALL on_declared(void *ctx, const char *element, const char *name, const char *type,
				const char *value, int required)
{
	struct xml *x = ctx;
	(void)element, (void)type, (void)required;
	x->declared_cost += 1 + (strlen(name) + (value ? strlen(value) : 0)) / XML_DEFAULT_BYTES;
	if (++x->declared > XML_DECLARED_MAX)
		xml_stop(x, "too many attributes are declared");
}

/* Names of HTML are known without a declaration. Also called for entities that the document
 * defines: with a default handler expat does not expand them. */
static void XMLCALL on_skipped(void *ctx, const char *name, int parameter)
{
	struct xml *x = ctx;
	struct str text;
	if (parameter || !x->kind || html_entity(str_of(name), &text) != 0)
		return;
	if (str_is(text, "\xc2\xa0")) /* as blank as any */
		text = STR(" ");
	on_text(x, text.p, (int)text.n);
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
	x->job = job;
	x->out = x->flow.out = out;
	x->ret = ret;
	x->value = x->link = BUF_INIT(XML_VALUE_MAX);
	x->gathered = BUF_INIT(XML_TOKEN_MAX + CHARSET_PIECE);
	x->has_document = url_parse(job->url, NULL, x->document_room, sizeof x->document_room,
				    &x->document) == 0;
	x->parser = make_parser(x);
	xml_read(x, in);
	if (x->kind)
		x->kind->finish(x);
	XML_ParserFree(x->parser);
	buf_free(&x->value);
	buf_free(&x->link);
	buf_free(&x->gathered);
	mem_free(&x);
}
