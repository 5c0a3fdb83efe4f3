/* Documents as they were indexed: as a page for people, as JSON for programs, and as SOIF, as the
 * broker's port sends them. A document may have megabytes, so answers are made in pieces as the
 * client reads them. */
#include "net/layout.h"
#include "web/web_inner.h"

#include <inttypes.h>
#include <stdio.h>

const struct http_param web_document_params[1] = {
	{{"url", VALUE_TEXT_AT(struct web_document, url), .fallback = "", .help = "Its URL"},
	 .required = true},
};

const struct http_param web_object_params[1] = {
	{{"oid", VALUE_INT_AT(struct web_object, oid), .min = 1, .max = UINT32_MAX,
	  .help = "Its number, as the broker's port and search tell it"},
	 .required = true},
};

enum { TITLE_MOST = 200 }; /* bytes of the title of a page; what is in it has all of it */

/* Where an answer is. */
enum step { STEP_HEAD, STEP_BETWEEN, STEP_VALUE, STEP_END };

struct shown {
	struct document *document;
	enum step step;
	struct html html; /* of a page */
	bool in_line;
	struct jsonw json; /* or of JSON */
};

static void close_shown(void *ctx)
{
	struct shown *s = ctx;
	document_free(&s->document);
	mem_free(&s);
}

static void answer_document(struct http_answer *ret, struct document *d,
			    const struct http_piece_ops *ops)
{
	struct shown *s = mem_alloc(sizeof *s);
	char tag[20];
	s->document = d;
	snprintf(tag, sizeof tag, "%016" PRIx64, document_version(d));
	http_answer_etag(ret, str_of(tag));
	http_answer_pieces(ret, ops, s);
}

/* 1: there is no such document. */
static int show_document(struct http_request *req, struct http_answer *ret,
			 const struct http_piece_ops *ops, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_document *p = req->params;
	struct document *d;
	int rc = document_open(&d, w->search, str_of(p->url), err);
	if (rc == 0)
		answer_document(ret, d, ops);
	return rc;
}

/* SOIF: byte by byte as it is stored */

static int make_text(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct shown *s = ctx;
	struct str part;
	int rc = 0;
	while (rc == 0 && out->n < n)
		if ((rc = document_text(s->document, &part, err)) == 0)
			buf_add_str(out, part);
	document_rest(s->document);
	return rc;
}

static const struct http_piece_ops text_ops = {.make = make_text, .close = close_shown};

int web_object_text(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web *w = req->ctx;
	const struct web_object *p = req->params;
	struct document *d;
	int rc = document_open_oid(&d, w->search, (uint64_t)p->oid, err);
	if (rc == 0)
		answer_document(ret, d, &text_ops);
	else if (rc > 0)
		http_answer_error(req, ret, 404, "there is no object of this number");
	return rc < 0 ? -1 : 0;
}

/* JSON: {"url": ..., "attributes": [{"name": ..., "value": ...}, ...]} */

/* 1: there are no more attributes. */
static int json_next_attribute(struct shown *s, struct err *err)
{
	struct str name;
	int rc = document_next(s->document, &name, err);
	if (rc < 0)
		return -1;
	if (rc > 0) {
		jsonw_array_end(&s->json);
		jsonw_object_end(&s->json);
		buf_add_byte(s->json.out, '\n');
		return 1;
	}
	jsonw_object(&s->json);
	jsonw_put_str(&s->json, "name", name);
	jsonw_key(&s->json, "value");
	jsonw_str_begin(&s->json);
	s->step = STEP_VALUE;
	return 0;
}

static int json_value_part(struct shown *s, struct err *err)
{
	struct str part;
	int rc = document_value(s->document, &part, err);
	if (rc < 0)
		return -1;
	if (rc == 0) {
		jsonw_str_part(&s->json, part);
		return 0;
	}
	jsonw_str_end(&s->json);
	jsonw_object_end(&s->json);
	s->step = STEP_BETWEEN;
	return 0;
}

static int make_json(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct shown *s = ctx;
	int rc = 0;
	s->json.out = out;
	if (s->step == STEP_HEAD) {
		jsonw_object(&s->json);
		jsonw_put_str(&s->json, "url", document_url(s->document));
		jsonw_put_array(&s->json, "attributes");
		s->step = STEP_BETWEEN;
	}
	while (rc == 0 && out->n < n)
		rc = s->step == STEP_VALUE ? json_value_part(s, err) : json_next_attribute(s, err);
	document_rest(s->document);
	return rc;
}

static const struct http_piece_ops json_ops = {.make = make_json, .close = close_shown};

int web_document_api(struct http_request *req, struct http_answer *ret, struct err *err)
{
	int rc = show_document(req, ret, &json_ops, err);
	if (rc > 0)
		http_answer_error(req, ret, 404, "no document of this URL is indexed");
	return rc < 0 ? -1 : 0;
}

/* The page: its text, line by line. */

void web_text_part(struct html *h, bool *in_line, struct str text)
{
	while (text.n) {
		size_t n = str_find_byte(text, '\n');
		struct str line = str_head(text, n);
		if (!*in_line && str_trim(line).n) {
			html_open(h, "p");
			*in_line = true;
		}
		if (*in_line)
			html_str(h, line);
		if (n < text.n)
			web_text_end(h, in_line);
		text = str_from(text, n + 1);
	}
}

void web_text_end(struct html *h, bool *in_line)
{
	if (*in_line)
		html_close(h, "p");
	*in_line = false;
}

/* Its title, or what stands for one: the beginning, which is all of it but for the absurd. */
static int page_title(struct shown *s, struct str *ret, struct err *err)
{
	int rc = document_find(s->document, STR("Title"), err);
	if (rc == 0)
		rc = document_value(s->document, ret, err);
	if (rc > 0)
		*ret = document_url(s->document);
	return rc < 0 ? -1 : 0;
}

static int page_head(struct shown *s, struct err *err)
{
	CLEANUP(buf_free) struct buf title = BUF_INIT(DOCUMENT_PART);
	struct html *h = &s->html;
	struct str text, url = document_url(s->document);
	if (page_title(s, &text, err) < 0)
		return -1;
	buf_add_str(&title, str_utf8_head(text, TITLE_MOST));
	buf_add_text(&title, " - garner");
	web_begin(h, buf_text(&title), NULL);
	html_put(h, "h1", text);
	layout_open(h, "p", "note");
	html_text(h, "The text of ");
	html_link(h, url, "noreferrer", url);
	html_text(h, " as garner indexed it.");
	html_close(h, "p");
	layout_open(h, "div", "text");
	int rc = document_find(s->document, STR("Full-Text"), err);
	if (rc > 0)
		rc = document_find(s->document, STR("Partial-Text"), err);
	s->step = STEP_VALUE;
	return rc < 0 ? -1 : 0;
}

static int page_text(struct shown *s, struct err *err)
{
	struct str part;
	int rc = document_value(s->document, &part, err);
	if (rc == 0)
		web_text_part(&s->html, &s->in_line, part);
	if (rc <= 0)
		return rc;
	web_text_end(&s->html, &s->in_line);
	html_close(&s->html, "div");
	web_end(&s->html);
	return 1;
}

static int make_page(void *ctx, size_t n, struct buf *out, struct err *err)
{
	struct shown *s = ctx;
	int rc = 0;
	s->html.out = out;
	if (s->step == STEP_HEAD)
		rc = page_head(s, err);
	while (rc == 0 && out->n < n)
		rc = page_text(s, err);
	document_rest(s->document);
	return rc;
}

static const struct http_piece_ops page_ops = {.make = make_page, .close = close_shown};

static void put_not_cached(struct html *h, struct str url)
{
	struct web_ask box = {.match = {.forgive = true}};
	web_begin(h, "not indexed - garner", &box);
	html_put_text(h, "h1", "Not indexed");
	html_put_text(h, "p", "garner has no text of this URL, or no longer has it:", "class",
		      "note");
	html_put(h, "p", url);
	web_end(h);
}

/* The text as it was indexed. It is text and nothing else; a header forbids the page once more to
 * run or load anything. */
int web_cached_page(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct web_document *p = req->params;
	struct html h = HTML_INIT(ret->body);
	int rc = show_document(req, ret, &page_ops, err);
	if (rc < 0)
		return -1;
	if (rc > 0) {
		ret->status = 404;
		put_not_cached(&h, str_of(p->url));
		return 0;
	}
	http_answer_header(req, ret, "Content-Security-Policy",
			   STR("sandbox; default-src 'none'; style-src 'self'"));
	return 0;
}
