/* Extraction of HTML: text, links and charset of the pages below a folder, read into memory before.
 * Beside it the same by libxml2 (SAX) and by gumbo, where they are: text with white space as single
 * blanks, links made absolute. Run by bench/extract.sh: extract-html FOLDER. */
#include "bench.h"
#include "extract/html_tokens_inner.h"
#include "extract/readers_inner.h"
#include "url/url.h"

#include <ftw.h>
#include <sys/stat.h>
#ifdef HAVE_LIBXML
#include <libxml/HTMLparser.h>
#include <libxml/uri.h>
#endif
#ifdef HAVE_GUMBO
#include <gumbo.h>
#endif

enum { REPEATS = 3, MEMORY = 16 << 20, PAGES_MAX = 1 << 20, NAME_BYTES = 1024 };
#define BYTES_WANTED ((size_t)320 << 20) /* at scale 1 */

struct page {
	char *url, *path;
	struct str body;
};

static struct corpus {
	struct page *pages;
	size_t n, found, bytes;
} corpus; /* nftw() has no context */

struct job {
	struct extract *extract;
	struct charset *charset;
	struct html_tokens *tokens;
	void *memory;
	char *text;
	uint64_t sum; /* so that nothing is left out */
	size_t links, text_bytes;
};

static int found(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type != FTW_F || st->st_size == 0 || corpus.found == PAGES_MAX ||
	    !(str_ends(str_of(path), STR(".html")) || str_ends(str_of(path), STR(".htm"))))
		return 0;
	corpus.pages[corpus.found++].path = mem_text(path);
	return 0;
}

static bool load(struct page *p, size_t strip)
{
	char url[NAME_BYTES];
	FILE *f = fopen(p->path, "rb");
	struct stat st;
	if (!f || fstat(fileno(f), &st) != 0)
		return false;
	char *body = mem_alloc((size_t)st.st_size);
	size_t n = fread(body, 1, (size_t)st.st_size, f);
	fclose(f);
	snprintf(url, sizeof url, "http://docs.example.org%s", p->path + strip);
	p->url = mem_text(url);
	p->body = (struct str){body, n};
	return true;
}

/* A sample of all folders: in an order by the hash of their names, until there are enough. */
static uint64_t order_of(const struct page *p)
{
	uint64_t h = 14695981039346656037u;
	for (const char *c = p->path; *c; c++)
		h = (h ^ (unsigned char)*c) * 1099511628211u;
	return h * 0x9e3779b97f4a7c15u >> 16;
}

static int by_order(const void *a, const void *b)
{
	uint64_t x = order_of(a), y = order_of(b);
	return (x > y) - (x < y);
}

static void load_all(const char *folder, size_t wanted)
{
	corpus.pages = mem_array(PAGES_MAX, sizeof *corpus.pages);
	nftw(folder, found, 32, FTW_PHYS);
	qsort(corpus.pages, corpus.found, sizeof *corpus.pages, by_order);
	for (; corpus.n < corpus.found && corpus.bytes < wanted; corpus.n++) {
		if (!load(&corpus.pages[corpus.n], strlen(folder)))
			exit(1);
		corpus.bytes += corpus.pages[corpus.n].body.n;
	}
}

static void take(struct job *job, const struct out *out)
{
	job->links += out->links;
	job->text_bytes += out->text_n;
}

/* Charset, text and links. */
static int read_pages(void *ctx)
{
	struct job *job = ctx;
	job->links = job->text_bytes = 0;
	for (size_t i = 0; i < corpus.n; i++) {
		const struct page *p = &corpus.pages[i];
		struct extract_job one = {.url = str_of(p->url), .body = p->body};
		struct extract_result ret = {0};
		struct charset_pieces in;
		struct out out;
		struct charset_choice choice = charset_choose(
			job->charset, p->body, STR(""), charset_prescan_html(p->body), STR(""));
		out_begin(&out, job->memory, MEMORY, 0);
		charset_begin(&in, job->charset, p->body, &choice);
		extract_html(&one, &in, &out, &ret);
		out_end(&out);
		take(job, &out);
	}
	return 0;
}

/* All that a document goes through: also its type and its MD5. */
static int run_pages(void *ctx)
{
	struct job *job = ctx;
	job->links = job->text_bytes = 0;
	for (size_t i = 0; i < corpus.n; i++) {
		const struct page *p = &corpus.pages[i];
		struct extract_job one = {
			.url = str_of(p->url), .body = p->body, .content_type = STR("text/html")};
		struct extract_result ret = {0};
		struct out out;
		out_begin(&out, job->memory, MEMORY, 0);
		extract_run(job->extract, &one, &out, &ret);
		take(job, &out);
	}
	return 0;
}

static void on_text(void *ctx, struct str s)
{
	struct job *job = ctx;
	job->sum += s.n;
}

static enum html_state on_tag(void *ctx, const struct html_tag *tag)
{
	struct job *job = ctx;
	job->sum += tag->nattrs;
	if (tag->end)
		return HTML_DATA;
	return str_eq(tag->name, STR("script"))  ? HTML_SCRIPT
	       : str_eq(tag->name, STR("style")) ? HTML_RAWTEXT
						 : HTML_DATA;
}

static int tokenize(void *ctx)
{
	static const struct html_sink sink = {.text = on_text, .tag = on_tag};
	struct job *job = ctx;
	for (size_t i = 0; i < corpus.n; i++) {
		html_tokens_begin(job->tokens, &sink, job, HTML_DATA, STR(""));
		html_tokens_add(job->tokens, corpus.pages[i].body);
		html_tokens_end(job->tokens);
	}
	return 0;
}

#if defined(HAVE_LIBXML) || defined(HAVE_GUMBO)
struct rival {
	struct job *job;
	const char *url;
	size_t n;
	bool blank;
	unsigned skip; /* depth in script and style */
};

static void rival_text(struct rival *r, const char *p, size_t n)
{
	for (size_t i = 0; i < n && r->n < MEMORY - 2; i++) {
		if ((unsigned char)p[i] <= ' ') {
			r->blank = true;
			continue;
		}
		if (r->blank && r->n)
			r->job->text[r->n++] = ' ';
		r->blank = false;
		r->job->text[r->n++] = p[i];
	}
}
#endif

#ifdef HAVE_LIBXML
static void rival_link(struct rival *r, const char *href)
{
	xmlChar *url = xmlBuildURI((const xmlChar *)href, (const xmlChar *)r->url);
	r->job->links += url != NULL;
	xmlFree(url);
}

static bool is_skipped(const char *name)
{
	return strcmp(name, "script") == 0 || strcmp(name, "style") == 0;
}

static void sax_start(void *ctx, const xmlChar *name, const xmlChar **attrs)
{
	struct rival *r = ctx;
	r->skip += is_skipped((const char *)name);
	for (; attrs && attrs[0]; attrs += 2) {
		const char *key = (const char *)attrs[0];
		if (attrs[1] && (strcmp(key, "href") == 0 || strcmp(key, "src") == 0))
			rival_link(r, (const char *)attrs[1]);
	}
}

static void sax_end(void *ctx, const xmlChar *name)
{
	struct rival *r = ctx;
	r->skip -= r->skip && is_skipped((const char *)name);
}

static void sax_text(void *ctx, const xmlChar *p, int n)
{
	struct rival *r = ctx;
	if (!r->skip)
		rival_text(r, (const char *)p, (size_t)n);
}

static int libxml_pages(void *ctx)
{
	struct job *job = ctx;
	htmlSAXHandler sax = {.startElement = sax_start,
			      .endElement = sax_end,
			      .characters = sax_text,
			      .cdataBlock = sax_text};
	job->links = job->text_bytes = 0;
	for (size_t i = 0; i < corpus.n; i++) {
		const struct page *p = &corpus.pages[i];
		struct rival r = {.job = job, .url = p->url};
		htmlParserCtxtPtr parser =
			htmlCreatePushParserCtxt(&sax, &r, NULL, 0, NULL, XML_CHAR_ENCODING_UTF8);
		htmlCtxtUseOptions(parser, HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING);
		htmlParseChunk(parser, p->body.p, (int)p->body.n, 1);
		htmlFreeParserCtxt(parser);
		job->text_bytes += r.n;
	}
	return 0;
}
#endif

#ifdef HAVE_GUMBO
static void gumbo_link(struct rival *r, const GumboVector *attrs, const char *name)
{
	struct url base, u;
	char base_room[URL_MAX], room[URL_MAX];
	const GumboAttribute *a = gumbo_get_attribute(attrs, name);
	if (a && url_parse(str_of(r->url), NULL, base_room, sizeof base_room, &base) == 0)
		r->job->links += url_parse(str_of(a->value), &base, room, sizeof room, &u) == 0;
}

static void gumbo_walk(struct rival *r, const GumboNode *node)
{
	if (node->type == GUMBO_NODE_TEXT || node->type == GUMBO_NODE_CDATA) {
		rival_text(r, node->v.text.text, strlen(node->v.text.text));
	} else if (node->type == GUMBO_NODE_WHITESPACE) {
		r->blank = true;
	} else if (node->type == GUMBO_NODE_ELEMENT && node->v.element.tag != GUMBO_TAG_SCRIPT &&
		   node->v.element.tag != GUMBO_TAG_STYLE) {
		gumbo_link(r, &node->v.element.attributes, "href");
		gumbo_link(r, &node->v.element.attributes, "src");
		for (unsigned i = 0; i < node->v.element.children.length; i++)
			gumbo_walk(r, node->v.element.children.data[i]);
	}
}

static int gumbo_pages(void *ctx)
{
	struct job *job = ctx;
	job->links = job->text_bytes = 0;
	for (size_t i = 0; i < corpus.n; i++) {
		const struct page *p = &corpus.pages[i];
		struct rival r = {.job = job, .url = p->url};
		GumboOutput *tree =
			gumbo_parse_with_options(&kGumboDefaultOptions, p->body.p, p->body.n);
		gumbo_walk(&r, tree->root);
		gumbo_destroy_output(&kGumboDefaultOptions, tree);
		job->text_bytes += r.n;
	}
	return 0;
}
#endif

static struct bench_time row(struct bench *b, const char *name, int (*fn)(void *), struct job *job,
			     int repeats)
{
	struct bench_time t = bench_measure(fn, job, repeats);
	bench_row(b, name, "MB", (double)corpus.bytes / 1e6, t);
	if (job->links)
		printf("  %-32s %zu links, %.1f MB of text\n", "", job->links,
		       (double)job->text_bytes / 1e6);
	return t;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "extract-html FOLDER\n");
		return 2;
	}
	struct bench b = bench_begin("extract");
	load_all(argv[1], BYTES_WANTED * (size_t)b.scale);
	printf("  %zu pages, %.1f MB\n", corpus.n, (double)corpus.bytes / 1e6);
	if (corpus.n == 0)
		return 1;
	struct job job = {.extract = extract_new(),
			  .charset = charset_new(),
			  .tokens = html_tokens_new(NULL),
			  .memory = mem_alloc(MEMORY),
			  .text = mem_alloc(MEMORY)};
	row(&b, "tokens", tokenize, &job, REPEATS);
	struct bench_time ours = row(&b, "html", read_pages, &job, REPEATS);
	row(&b, "document", run_pages, &job, REPEATS);
	bench_figure(&b, "html", (double)corpus.bytes / 1e6 / ours.cpu_s, "MB/cpu-s");
#ifdef HAVE_LIBXML
	bench_ratio(&b, "html_vs_libxml2",
		    row(&b, "libxml2", libxml_pages, &job, 1).cpu_s / ours.cpu_s);
#else
	printf("  rival libxml2: absent\n");
#endif
#ifdef HAVE_GUMBO
	bench_ratio(&b, "html_vs_gumbo", row(&b, "gumbo", gumbo_pages, &job, 1).cpu_s / ours.cpu_s);
#else
	printf("  rival gumbo: absent\n");
#endif
	return bench_end(&b);
}
