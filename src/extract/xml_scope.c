/* Where an element of XML stands: which namespace its name is in, and what its links are relative
 * to. expat could resolve prefixes itself, but gives up a document at a prefix that was never
 * declared, which feeds have often, and copies the whole name of a namespace for each attribute.
 * All that matters here is which of a few namespaces it is. */
#include "base/hash.h"
#include "extract/xml_inner.h"

/* By name, without http: or https:. Upper and lower case and a slash or # at the end make no
 * difference, since feeds are not exact about them. */
static const struct {
	const char *name;
	enum xml_space space;
} spaces[] = {
	{"//www.w3.org/2005/Atom", XML_ATOM},
	{"//purl.org/atom/ns", XML_ATOM}, /* 0.3 */
	{"//purl.org/rss/1.0", XML_OWN},
	{"//my.netscape.com/rdf/simple/0.9", XML_OWN},
	{"//channel.netscape.com/rdf/simple/0.9", XML_OWN},
	{"//backend.userland.com/rss", XML_OWN},
	{"//backend.userland.com/rss2", XML_OWN},
	{"//blogs.law.harvard.edu/tech/rss", XML_OWN},
	{"//cyber.law.harvard.edu/rss/rss.html", XML_OWN},
	{"//www.sitemaps.org/schemas/sitemap/0.9", XML_OWN},
	{"//www.google.com/schemas/sitemap/0.84", XML_OWN},
	{"//purl.org/dc/elements/1.0", XML_DC},
	{"//purl.org/dc/elements/1.1", XML_DC},
	{"//purl.org/dc/terms", XML_DCTERMS},
	{"//purl.org/rss/1.0/modules/content", XML_CONTENT},
	{"//www.w3.org/1999/xhtml", XML_XHTML},
	{"//www.w3.org/1999/02/22-rdf-syntax-ns", XML_OTHER},
	{"//search.yahoo.com/mrss", XML_OTHER},
	{"//www.itunes.com/dtds/podcast-1.0.dtd", XML_OTHER},
};

/* What these stand for where nothing says otherwise. */
static const struct {
	const char *prefix;
	enum xml_space space;
} usual[] = {
	{"atom", XML_ATOM},       {"dc", XML_DC},       {"dcterms", XML_DCTERMS},
	{"content", XML_CONTENT}, {"xhtml", XML_XHTML}, {"rdf", XML_OTHER},
};

static bool space_by_name(struct str name, enum xml_space *ret)
{
	name = str_from(name, str_find(name, STR("//")));
	if (name.n && (name.p[name.n - 1] == '/' || name.p[name.n - 1] == '#'))
		name.n--;
	for (size_t i = 0; i < ARRAY_LEN(spaces); i++) {
		if (str_eq_nocase(name, str_of(spaces[i].name))) {
			*ret = spaces[i].space;
			return true;
		}
	}
	return false;
}

static bool space_by_prefix(struct str prefix, enum xml_space *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
		if (str_is(prefix, usual[i].prefix)) {
			*ret = usual[i].space;
			return true;
		}
	}
	return false;
}

static struct str prefix_of(const char *name)
{
	struct str whole = str_of(name);
	size_t colon = str_find_byte(whole, ':');
	return colon < whole.n ? str_head(whole, colon) : STR("");
}

/* A namespace that nobody knows is that of the document if its root is in it, or if it is the
 * root's default. */
static bool is_own_space(struct xml *x, struct str prefix, struct str name, struct str root)
{
	if (x->depth == 1 && (prefix.n == 0 || str_eq(prefix, root)))
		x->own_space = hash64(name);
	return name.n == 0 || hash64(name) == x->own_space; /* xmlns="" takes the default away */
}

static void bind_prefix(struct xml *x, struct str prefix, const char *name, struct str root)
{
	enum xml_space space = XML_OTHER;
	if (x->nbindings == XML_BINDINGS_MAX || prefix.n > XML_PREFIX_MAX)
		return;
	if (!space_by_name(str_of(name), &space) && !space_by_prefix(prefix, &space) &&
	    is_own_space(x, prefix, str_of(name), root))
		space = XML_OWN;
	struct xml_binding *b = &x->binding[x->nbindings++];
	*b = (struct xml_binding){.depth = x->depth, .space = space, .n = prefix.n};
	if (prefix.n)
		memcpy(b->prefix, prefix.p, prefix.n);
}

static void open_base(struct xml *x, const char *text)
{
	struct url url;
	if (x->nbases == XML_BASES_MAX)
		return;
	struct xml_base *b = &x->base[x->nbases];
	if (url_parse(str_of(text), xml_base_now(x), b->room, sizeof b->room, &url) != 0)
		return;
	b->url = url;
	b->depth = x->depth;
	x->nbases++;
}

void xml_scope_open(struct xml *x, const char *name, const char **attributes)
{
	struct str own = prefix_of(name);
	if (x->depth == 1 && own.n)
		bind_prefix(x, own, "unknown", own); /* unless it is declared */
	for (; attributes[0]; attributes += 2) {
		struct str key = str_of(attributes[0]);
		if (key.n < 5 || key.p[0] != 'x' || key.p[1] != 'm' || key.p[2] != 'l')
			continue;
		if (str_is(key, "xml:base"))
			open_base(x, attributes[1]);
		else if (str_is(key, "xmlns"))
			bind_prefix(x, STR(""), attributes[1], own);
		else if (str_starts(key, STR("xmlns:")))
			bind_prefix(x, str_from(key, 6), attributes[1], own);
	}
}

void xml_scope_close(struct xml *x)
{
	while (x->nbindings && x->binding[x->nbindings - 1].depth >= x->depth)
		x->nbindings--;
	while (x->nbases && x->base[x->nbases - 1].depth >= x->depth)
		x->nbases--;
}

struct xml_name xml_name_of(const struct xml *x, const char *name)
{
	struct str whole = str_of(name), prefix = prefix_of(name);
	struct xml_name ret = {XML_OTHER, str_from(whole, prefix.n ? prefix.n + 1 : 0)};
	for (size_t i = x->nbindings; i-- > 0;) {
		const struct xml_binding *b = &x->binding[i];
		if (b->n == prefix.n && memcmp(b->prefix, prefix.p, prefix.n) == 0) {
			ret.space = b->space;
			return ret;
		}
	}
	if (prefix.n == 0)
		ret.space = XML_OWN;
	else
		(void)space_by_prefix(prefix, &ret.space);
	return ret;
}

const struct url *xml_base_now(const struct xml *x)
{
	if (x->nbases)
		return &x->base[x->nbases - 1].url;
	return x->has_document ? &x->document : NULL;
}

bool xml_resolve(struct xml *x, struct str text, struct str *ret)
{
	struct url url;
	if (url_parse(text, xml_base_now(x), x->room, sizeof x->room, &url) != 0)
		return false;
	*ret = url.href;
	return true;
}
