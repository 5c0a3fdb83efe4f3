/* Answers: turns what a handler has filled in into a response. Headers, validators, ranges,
 * compression and error pages are the same for all routes and are made here alone. */
#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/jsonw.h"
#include "net/html.h"
#include "net/http_inner.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>

/* What the headers of a request ask for. */

/* Below this the head outweighs what is saved. */
enum { GZIP_MIN = 1000, UNBROKEN_MOST = 24 };

/* "q=0", "q=0.000": explicitly not. */
static bool q_is_zero(struct str params)
{
	struct str param;
	while (str_cut(&params, ';', &param) == 0) {
		param = str_trim(param);
		if (!str_starts(param, STR("q=")) && !str_starts(param, STR("Q=")))
			continue;
		for (size_t i = 2; i < param.n; i++)
			if (param.p[i] != '0' && param.p[i] != '.')
				return false;
		return true;
	}
	return false;
}

bool http_accepts(struct str accept, const char *word)
{
	struct str item;
	while (accept.p && str_cut(&accept, ',', &item) == 0) {
		size_t n = str_find_byte(item, ';');
		if (str_eq_nocase(str_trim(str_head(item, n)), str_of(word)))
			return !q_is_zero(str_from(item, n + 1));
	}
	return false;
}

static bool type_shrinks(struct str type)
{
	static const char *const kinds[] = {"text/",
					    "application/json",
					    "application/openmetrics-text",
					    "application/javascript",
					    "application/xml",
					    "image/svg+xml"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_starts(type, str_of(kinds[i])))
			return true;
	return false;
}

static bool http_gzip_wanted(const struct http_conn *c, struct str bytes, bool *ret_varies)
{
	*ret_varies = bytes.n >= GZIP_MIN && c->answer.status == 200 &&
		      type_shrinks(str_of(c->answer.type));
	return *ret_varies && http_accepts(http_header(&c->request, "Accept-Encoding"), "gzip");
}

enum http_range http_range_parse(struct str value, uint64_t size, uint64_t *ret_from,
				 uint64_t *ret_n)
{
	uint64_t from = 0, last = UINT64_MAX;
	if (!str_starts(value, STR("bytes=")))
		return HTTP_RANGE_NONE;
	value = str_trim(str_from(value, strlen("bytes=")));
	size_t dash = str_find_byte(value, '-');
	struct str a = str_head(value, dash), b = str_from(value, dash + 1);
	if (dash == value.n || (a.n == 0 && b.n == 0) || (a.n && !str_u64(a, &from)) ||
	    (b.n && !str_u64(b, &last)) || (a.n && from > last))
		return HTTP_RANGE_NONE;
	if (a.n == 0) { /* the last bytes */
		if (last == 0)
			return HTTP_RANGE_OUTSIDE;
		from = size - MIN(last, size);
		last = UINT64_MAX;
	}
	if (from >= size)
		return HTTP_RANGE_OUTSIDE;
	*ret_from = from;
	*ret_n = MIN(last, size - 1) - from + 1;
	return HTTP_RANGE_PART;
}

bool http_tag_listed(struct str list, const char *tag)
{
	struct str item;
	while (list.p && str_cut(&list, ',', &item) == 0) {
		item = str_trim(item);
		if (str_starts(item, STR("W/")))
			item = str_from(item, 2);
		if (str_is(item, "*") || (item.n >= 2 && item.p[0] == '"' &&
					  str_is(str_head(str_from(item, 1), item.n - 2), tag)))
			return true;
	}
	return false;
}

/* Filling an answer. */

enum { KEPT = 4 << 10 }; /* a buffer that grew beyond is given back: who stays may be many */

/* What every answer says, unless the handler says otherwise. */
static const struct http_headers guards[] = {
	{NULL, "X-Content-Type-Options", "nosniff"},
	{NULL, "Referrer-Policy", "same-origin"},
	{NULL, "Content-Security-Policy", "default-src 'self'; frame-ancestors 'none'"},
};

struct str http_header(const struct http_request *req, const char *name)
{
	const struct http_server *s = req->conn->server;
	return str_of(s->mhd.lookup_connection_value(req->conn->mhd, MHD_HEADER_KIND, name));
}

void http_answer_init(struct http_conn *c)
{
	c->answer = (struct http_answer){
		.status = 200,
		.type = c->request.route && c->request.route->type ? c->request.route->type
								   : "application/json",
		.cache = "no-cache",
		.body = &c->body,
	};
	buf_clear(&c->body);
	buf_clear(&c->packed);
}

static void drop_content(struct http_answer *a)
{
	if (a->file) {
		file_drop(a->file);
		mem_free(&a->file);
	}
	if (a->stream)
		http_stream_drop(a->stream);
	if (a->pieces)
		http_pieces_free(a->pieces);
	a->stream = NULL;
	a->pieces = NULL;
	a->bytes = (struct str){0};
	a->ranges = false;
	a->etag[0] = 0;
	a->modified_wall_us = 0;
	buf_clear(a->body);
}

void http_answer_done(struct http_conn *c)
{
	if (c->answer.body)
		drop_content(&c->answer);
	if (c->response) /* that was not sent */
		c->server->mhd.destroy_response(c->response);
	c->response = NULL;
	if (c->body.cap > KEPT)
		buf_free(&c->body);
	if (c->packed.cap > KEPT)
		buf_free(&c->packed);
}

static bool is_token(const char *name)
{
	for (const char *p = name; *p; p++)
		if (!ascii_is_alnum(*p) && *p != '-')
			return false;
	return *name;
}

void http_answer_header(struct http_request *req, struct http_answer *a, const char *name,
			struct str value)
{
	bool good = is_token(name);
	for (size_t i = 0; i < value.n; i++)
		good &= (unsigned char)value.p[i] >= ' ' && value.p[i] != 0x7f;
	if (!good) {
		a->bad = true;
		return;
	}
	struct http_headers *h = arena_alloc(&req->arena, sizeof *h);
	*h = (struct http_headers){a->headers, name, arena_text(&req->arena, value)};
	a->headers = h;
}

void http_answer_etag(struct http_answer *a, struct str tag)
{
	bool good = tag.n > 0 && tag.n <= 64;
	for (size_t i = 0; i < tag.n; i++)
		good &= tag.p[i] > ' ' && tag.p[i] < 0x7f && tag.p[i] != '"';
	if (good)
		snprintf(a->etag, sizeof a->etag, STR_FMT, STR_ARG(tag));
	else
		a->bad = true;
}

void http_answer_static(struct http_answer *a, struct str bytes, const char *type)
{
	a->bytes = bytes;
	a->type = type;
	a->ranges = true;
}

int http_answer_file(struct http_answer *a, struct file *file, const char *type, struct err *err)
{
	struct stat st;
	if (fstat(file->fd, &st) < 0)
		return err_sys(err, "%s", file->path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_SYSTEM, "%s: not a file", file->path);
	a->file = mem_copy(file, sizeof *file);
	*file = FILE_INIT;
	a->file_size = (uint64_t)st.st_size;
	a->modified_wall_us = (int64_t)st.st_mtim.tv_sec * US_PER_S;
	snprintf(a->etag, sizeof a->etag, "%llx-%llx.%lx", (unsigned long long)st.st_size,
		 (unsigned long long)st.st_mtim.tv_sec, (unsigned long)st.st_mtim.tv_nsec);
	a->type = type;
	a->ranges = true;
	return 0;
}

static void error_meta(struct html *h, const char *name, const char *content)
{
	html_open(h, "meta", "name", name, "content", content);
}

/* There is no style that says so: words wider than a phone, URLs mostly, may be broken. */
static void put_breakable(struct html *h, struct str text)
{
	while (text.n) {
		size_t blank = str_find_byte(text, ' ');
		struct str word = str_head(text, MIN(blank + 1, text.n));
		text = str_from(text, word.n);
		while (word.n > UNBROKEN_MOST) {
			struct str piece = str_utf8_head(word, UNBROKEN_MOST);
			html_str(h, piece);
			html_open(h, "wbr");
			word = str_from(word, piece.n);
		}
		html_str(h, word);
	}
}

/* Of any role, so without a style sheet: as wide as a phone, and dark where all else is. */
static void error_page(struct buf *out, int status, const char *text)
{
	struct html h = HTML_INIT(out);
	html_begin(&h);
	error_meta(&h, "viewport", "width=device-width, initial-scale=1");
	error_meta(&h, "color-scheme", "light dark");
	html_open(&h, "title");
	html_printf(&h, "%d", status);
	html_close(&h, "title");
	html_close(&h, "head");
	html_open(&h, "body");
	html_open(&h, "h1");
	html_printf(&h, "%d", status);
	html_close(&h, "h1");
	html_open(&h, "p");
	put_breakable(&h, str_of(text));
	html_close(&h, "p");
	html_close(&h, "body");
	html_close(&h, "html");
}

static void error_json(struct buf *out, int status, const char *text)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_text(&j, "error", text);
	jsonw_put_int(&j, "status", status);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}

void http_answer_error(struct http_request *req, struct http_answer *a, int status, const char *fmt,
		       ...)
{
	char text[600];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	drop_content(a);
	a->status = status;
	a->cache = "no-store";
	if (http_accepts(http_header(req, "Accept"), "text/html")) {
		a->type = "text/html; charset=utf-8";
		error_page(a->body, status, text);
	} else {
		a->type = "application/json";
		error_json(a->body, status, text);
	}
}

/* The part of an answer that is sent. */
struct content {
	struct str bytes;
	uint64_t from, n, size;
	bool part, packs, varies; /* packs: compress it, if that pays */
	char modified[TIME_HTTP]; /* "" where it is not known */
};

static void add_header(struct http_conn *c, struct MHD_Response *r, const char *name,
		       const char *value)
{
	(void)c->server->mhd.add_response_header(r, name, value);
}

static void add_headers(struct http_conn *c, struct MHD_Response *r, const struct content *x,
			bool close)
{
	const struct http_answer *a = &c->answer;
	char text[96];
	for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
		bool said = false;
		for (const struct http_headers *h = a->headers; h; h = h->next)
			said |= str_eq_nocase(str_of(h->name), str_of(guards[i].name));
		if (!said)
			add_header(c, r, guards[i].name, guards[i].value);
	}
	for (const struct http_headers *h = a->headers; h; h = h->next)
		add_header(c, r, h->name, h->value);
	add_header(c, r, "Cache-Control", a->cache);
	if (a->status != 304)
		add_header(c, r, "Content-Type", a->type);
	if (a->etag[0]) {
		snprintf(text, sizeof text, "\"%s\"", a->etag);
		add_header(c, r, "ETag", text);
	}
	if (x->modified[0])
		add_header(c, r, "Last-Modified", x->modified);
	if (a->ranges)
		add_header(c, r, "Accept-Ranges", "bytes");
	if (a->status == 416)
		snprintf(text, sizeof text, "bytes */%llu", (unsigned long long)x->size);
	else
		snprintf(text, sizeof text, "bytes %llu-%llu/%llu", (unsigned long long)x->from,
			 (unsigned long long)(x->from + x->n - 1), (unsigned long long)x->size);
	if (x->part || a->status == 416)
		add_header(c, r, "Content-Range", text);
	if (x->varies)
		add_header(c, r, "Vary", "Accept-Encoding");
	if (x->packs)
		add_header(c, r, "Content-Encoding", "gzip");
	if (close)
		add_header(c, r, "Connection", "close");
}

/* The client has it already. */
static bool is_unchanged(struct http_conn *c, const char *modified)
{
	struct str tags = http_header(&c->request, "If-None-Match");
	struct str since = http_header(&c->request, "If-Modified-Since");
	char packed[80];
	if (!c->answer.etag[0] && !modified[0]) /* nothing to know it by */
		return false;
	if (!tags.p)
		return since.p && modified[0] && str_is(since, modified);
	if (http_tag_listed(tags, c->answer.etag))
		return true;
	snprintf(packed, sizeof packed, "%s-gz", c->answer.etag);
	if (!http_tag_listed(tags, packed))
		return false;
	snprintf(c->answer.etag, sizeof c->answer.etag, "%.71s", packed);
	return true;
}

/* A part is sent only of what the client knows to be the same. */
static bool if_range(const struct http_conn *c, const char *modified)
{
	struct str value = http_header(&c->request, "If-Range");
	if (!value.p)
		return true;
	if (str_starts(value, STR("\"")))
		return http_tag_listed(value, c->answer.etag);
	return modified[0] && str_is(value, modified);
}

static void cut_range(struct http_conn *c, struct content *x)
{
	struct str range = http_header(&c->request, "Range");
	if (!range.p || !if_range(c, x->modified))
		return;
	enum http_range what = http_range_parse(range, x->size, &x->from, &x->n);
	x->part = what == HTTP_RANGE_PART;
	if (x->part)
		c->answer.status = 206;
	if (what == HTTP_RANGE_OUTSIDE) {
		c->answer.status = 416;
		x->from = x->n = 0;
	}
}

/* A packed answer is another one to those who keep it. */
static void tag_packed(struct http_answer *a)
{
	size_t n = strlen(a->etag);
	if (n)
		snprintf(a->etag + n, sizeof a->etag - n, "-gz");
}

static struct MHD_Response *small_response(struct http_conn *c, struct content *x, bool close)
{
	x->packs = x->packs && !x->part && http_gzip(x->bytes, &c->packed);
	if (x->packs) {
		x->bytes = buf_str(&c->packed);
		x->n = x->bytes.n;
		tag_packed(&c->answer);
	}
	struct MHD_Response *r = c->server->mhd.create_response_from_buffer(
		(size_t)x->n, (void *)(x->bytes.p + x->from), MHD_RESPMEM_PERSISTENT);
	add_headers(c, r, x, close);
	c->sent = c->request.head ? 0 : x->n;
	return r;
}

static struct MHD_Response *file_response(struct http_conn *c, const struct content *x)
{
	struct file *f = c->answer.file;
	struct MHD_Response *r = c->server->mhd.create_response_from_fd_at_offset64(
		x->n, f->fd, x->from); /* closes the descriptor */
	if (r)
		f->fd = -1;
	return r;
}

static struct MHD_Response *empty_response(struct http_conn *c)
{
	return c->server->mhd.create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
}

static struct MHD_Response *stream_response(struct http_conn *c, const struct content *x,
					    bool close)
{
	struct MHD_Response *r = http_stream_response(c, x->size);
	if (r)
		add_headers(c, r, x, close);
	return r;
}

static struct MHD_Response *refuse_large(struct http_conn *c, bool close)
{
	struct content x = {0};
	http_answer_header(&c->request, &c->answer, "Retry-After", STR("5"));
	http_answer_error(&c->request, &c->answer, 503,
			  "too many large answers are under way; try again in a few seconds");
	x.bytes = buf_str(c->answer.body);
	x.n = x.size = x.bytes.n;
	return small_response(c, &x, close);
}

/* An answer too large to be kept until the client has read it, or to be compressed at once. */
static struct MHD_Response *large_response(struct http_conn *c, struct content *x, bool close)
{
	bool whole = !c->answer.pieces;
	x->packs = x->packs && !x->part;
	struct str bytes = {x->bytes.p + x->from, (size_t)x->n};
	if (!http_pieces_stream(c, bytes, x->packs))
		return refuse_large(c, close);
	if (x->packs)
		tag_packed(&c->answer);
	x->size = whole && !x->packs ? x->n : MHD_SIZE_UNKNOWN;
	return stream_response(c, x, close);
}

static void make_etag(struct http_answer *a, struct str bytes)
{
	if (!a->etag[0])
		snprintf(a->etag, sizeof a->etag, "%016llx", (unsigned long long)hash64(bytes));
}

static bool is_large(const struct http_answer *a, const struct content *x)
{
	if (a->pieces)
		return true;
	return x->n > HTTP_PIECE && (x->packs || !a->bytes.p);
}

/* The client has it already, or part of it is enough. */
static void look_at_asked(struct http_conn *c, struct content *x)
{
	struct http_answer *a = &c->answer;
	if (a->status != 200 || !c->request.route || c->request.route->method != HTTP_GET)
		return;
	if (!a->file && strcmp(a->cache, "no-store") != 0)
		make_etag(a, x->bytes);
	if (is_unchanged(c, x->modified)) {
		a->status = 304;
		x->n = 0;
	} else if (a->ranges) {
		cut_range(c, x);
	}
}

static struct MHD_Response *make_response(struct http_conn *c, bool close)
{
	struct http_answer *a = &c->answer;
	struct MHD_Response *r = NULL;
	struct content x = {.bytes = a->bytes.p ? a->bytes : buf_str(a->body)};
	if (a->stream) {
		x.size = MHD_SIZE_UNKNOWN;
		return stream_response(c, &x, close);
	}
	x.n = x.size = a->file ? a->file_size : x.bytes.n;
	x.packs = http_gzip_wanted(c, x.bytes, &x.varies) && !a->file;
	if (a->modified_wall_us)
		time_print_http(a->modified_wall_us, x.modified);
	look_at_asked(c, &x);
	if (a->status == 304 || a->status == 416) {
		x.packs = false;
		r = empty_response(c);
		add_headers(c, r, &x, close);
	} else if (a->file) {
		r = file_response(c, &x);
		c->sent = c->request.head ? 0 : x.n;
		if (r)
			add_headers(c, r, &x, close);
	} else {
		r = is_large(a, &x) ? large_response(c, &x, close) : small_response(c, &x, close);
	}
	return r;
}

/* The handler's doing, so it says so in the log. */
static void check_answer(struct http_conn *c)
{
	struct http_answer *a = &c->answer;
	if (!a->bad && !a->body->over)
		return;
	a->fault = a->bad ? "a header of the answer has a control character in it"
			  : "the answer is larger than can be";
	a->headers = NULL;
	http_answer_error(&c->request, a, 500, "something failed here; the log says what");
}

void http_answer_make(struct http_conn *c, bool close)
{
	if (c->response)
		return;
	c->unhurried = false;
	check_answer(c);
	c->response = make_response(c, close);
	c->status = c->answer.status;
}

enum MHD_Result http_answer_send(struct http_conn *c)
{
	struct MHD_Response *r = c->response;
	if (!r)
		return MHD_NO;
	enum MHD_Result rc = c->server->mhd.queue_response(c->mhd, (unsigned)c->status, r);
	c->server->mhd.destroy_response(r); /* the connection has it */
	c->response = NULL;
	return rc;
}
