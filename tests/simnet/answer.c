#include "simnet/answer.h"

#include <stdio.h>
#include <time.h>
#include <zlib.h>

enum { LIMIT_EVERY = 5, BODY_MAX = 16 << 20, CHUNK = 1400 };

struct answerer {
	const struct world *w;
	struct buf body, packed, fields;
	z_stream zip;
};

struct answerer *answerer_new(const struct world *w)
{
	struct answerer *a = mem_alloc(sizeof *a);
	a->w = w;
	a->body = a->packed = BUF_INIT(BODY_MAX);
	a->fields = BUF_INIT(16384);
	if (deflateInit2(&a->zip, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		die("simnet: no memory for gzip");
	return a;
}

void answerer_free(struct answerer **a)
{
	if (!*a)
		return;
	deflateEnd(&(*a)->zip);
	buf_free(&(*a)->body);
	buf_free(&(*a)->packed);
	buf_free(&(*a)->fields);
	mem_free(a);
}

void http_date_print(int64_t s, char ret[32])
{
	struct tm tm;
	time_t when = (time_t)s;
	if (!gmtime_r(&when, &tm) || strftime(ret, 32, "%a, %d %b %Y %H:%M:%S GMT", &tm) == 0)
		snprintf(ret, 32, "Thu, 01 Jan 1970 00:00:00 GMT");
}

static bool date_parse(struct str text, int64_t *ret)
{
	char z[40];
	struct tm tm = {0};
	if (text.n == 0 || text.n >= sizeof z)
		return false;
	memcpy(z, text.p, text.n);
	z[text.n] = '\0';
	if (!strptime(z, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return false;
	*ret = timegm(&tm);
	return true;
}

/* Requests. */

static struct str target_path(struct str target, struct str *host)
{
	if (str_starts(target, STR("http://"))) { /* as to a proxy */
		target = str_from(target, sizeof "http://" - 1);
		size_t slash = str_find_byte(target, '/');
		*host = str_head(target, slash);
		target = slash < target.n ? str_from(target, slash) : STR("/");
	}
	return target;
}

static void take_field(struct str name, struct str value, struct request *r)
{
	if (str_eq_nocase(name, STR("host")) && r->host.n == 0)
		r->host = value;
	else if (str_eq_nocase(name, STR("if-none-match")))
		r->if_none_match = value;
	else if (str_eq_nocase(name, STR("if-modified-since")))
		r->if_modified_since = value;
	else if (str_eq_nocase(name, STR("accept-encoding")))
		r->gzip = str_find(value, STR("gzip")) < value.n;
	else if (str_eq_nocase(name, STR("connection")))
		r->keep = str_eq_nocase(value, STR("close"))        ? false
			  : str_eq_nocase(value, STR("keep-alive")) ? true
								    : r->keep;
}

bool request_parse(struct str head, struct request *ret)
{
	struct request r = {0};
	struct str line, target, version;
	if (str_cut(&head, '\n', &line) != 0)
		return false;
	line = str_trim(line);
	if (str_cut(&line, ' ', &r.method) != 0 || str_cut(&line, ' ', &target) != 0)
		return false;
	version = line;
	if (!str_starts(version, STR("HTTP/1.")) || r.method.n == 0 || target.n == 0)
		return false;
	r.http10 = str_is(version, "HTTP/1.0");
	r.keep = !r.http10;
	r.path = target_path(target, &r.host);
	while (str_cut(&head, '\n', &line) == 0 && (line = str_trim(line)).n > 0) {
		size_t colon = str_find_byte(line, ':');
		take_field(str_head(line, colon), str_trim(str_from(line, colon + 1)), &r);
	}
	size_t port = str_find_byte(r.host, ':');
	r.host = str_head(r.host, port);
	if (r.path.p[0] != '/')
		return false;
	*ret = r;
	return true;
}

/* Answers. */

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *text;
	} reasons[] = {{200, "OK"},
		       {301, "Moved Permanently"},
		       {302, "Found"},
		       {303, "See Other"},
		       {304, "Not Modified"},
		       {307, "Temporary Redirect"},
		       {308, "Permanent Redirect"},
		       {404, "Not Found"},
		       {410, "Gone"},
		       {429, "Too Many Requests"},
		       {500, "Internal Server Error"},
		       {503, "Service Unavailable"}};
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].text;
	return "Other";
}

/* One answer while it is made: the body is in a->body, further fields in a->fields. */
struct making {
	struct answerer *a;
	const struct request *r;
	struct answer *ret;
	struct buf *out;
	int64_t now_s, real_s;
	const char *type;
	enum page_framing framing;
	bool gzip; /* may be */
};

static struct buf *body_of(struct making *m)
{
	buf_clear(&m->a->body);
	return &m->a->body;
}

static struct str pack(struct answerer *a)
{
	z_stream *z = &a->zip;
	buf_clear(&a->packed);
	deflateReset(z);
	size_t most = deflateBound(z, a->body.n);
	char *room = buf_room(&a->packed, most);
	ENSURE(room);
	z->next_in = (unsigned char *)a->body.p;
	z->avail_in = (unsigned)a->body.n;
	z->next_out = (unsigned char *)room;
	z->avail_out = (unsigned)most;
	ENSURE(deflate(z, Z_FINISH) == Z_STREAM_END);
	buf_grew(&a->packed, most - z->avail_out);
	return buf_str(&a->packed);
}

static void add_chunked(struct str body, struct buf *out)
{
	while (body.n > 0) {
		struct str chunk = str_head(body, CHUNK);
		buf_printf(out, "%zx\r\n", chunk.n);
		buf_add_str(out, chunk);
		buf_add_text(out, "\r\n");
		body = str_from(body, chunk.n);
	}
	buf_add_text(out, "0\r\n\r\n");
}

/* Head and body into m->out; decides whether the connection stays. */
static void finish(struct making *m, int status)
{
	char date[32];
	struct str body = buf_str(&m->a->body);
	bool empty = status == 304, head = str_is(m->r->method, "HEAD");
	enum page_framing framing = m->r->http10 ? FRAMING_LENGTH : m->framing;
	http_date_print(m->real_s, date);
	buf_printf(m->out, "HTTP/1.1 %d %s\r\nServer: simnet\r\nDate: %s\r\n", status,
		   reason(status), date);
	if (m->gzip && m->r->gzip && body.n > 0 && !empty) {
		body = pack(m->a);
		buf_add_text(m->out, "Content-Encoding: gzip\r\n");
	}
	if (m->type && !empty)
		buf_printf(m->out, "Content-Type: %s\r\n", m->type);
	buf_add_str(m->out, buf_str(&m->a->fields));
	m->ret->status = status;
	if (framing == FRAMING_CLOSE || !m->r->keep) {
		m->ret->ending = ENDING_CLOSE;
		buf_add_text(m->out, "Connection: close\r\n");
	} else if (m->r->http10) {
		buf_add_text(m->out, "Connection: keep-alive\r\n");
	}
	if (framing == FRAMING_LENGTH && !empty)
		buf_printf(m->out, "Content-Length: %zu\r\n", body.n);
	else if (framing == FRAMING_CHUNKED && !empty)
		buf_add_text(m->out, "Transfer-Encoding: chunked\r\n");
	buf_add_text(m->out, "\r\n");
	if (empty || head)
		return;
	if (framing == FRAMING_CHUNKED)
		add_chunked(body, m->out);
	else
		buf_add_str(m->out, body);
}

static void say(struct making *m, int status, const char *text)
{
	buf_printf(body_of(m), "<!doctype html>\n<title>%d</title><p>%s</p>\n", status, text);
	m->type = "text/html";
	finish(m, status);
}

static void say_later(struct making *m, int status, bool as_date)
{
	char date[32];
	int64_t after_s = m->a->w->conf.retry_after_s;
	http_date_print(m->real_s + after_s + 1, date); /* whole seconds: never too early */
	if (as_date)
		buf_printf(&m->a->fields, "Retry-After: %s\r\n", date);
	else
		buf_printf(&m->a->fields, "Retry-After: %d\r\n", (int)after_s);
	m->ret->not_before_s = after_s;
	say(m, status, "Not now.");
}

/* Where a redirect's hop leads. */
static void redirect(struct making *m, const struct page *p, unsigned hop)
{
	const struct world *w = m->a->w;
	struct buf *fields = &m->a->fields;
	buf_add_text(fields, "Location: ");
	if (p->kind == PAGE_AWAY) {
		world_site(w, p->target, fields);
		buf_add_text(fields, "/");
	} else if (p->kind == PAGE_REDIRECT && hop + 1 >= p->hops) {
		struct page target;
		world_page(w, p->host, p->target, m->now_s, &target);
		page_path(&target, fields);
	} else {
		page_path(p, fields);
		if (hop < p->hops)
			buf_printf(fields, "/%u", hop + 1);
	}
	buf_add_text(fields, "\r\n");
	say(m, p->status, "Elsewhere.");
}

static bool matches(struct str list, struct str tag)
{
	struct str item;
	while (str_cut(&list, ',', &item) == 0) {
		item = str_trim(item);
		if (str_starts(item, STR("W/")))
			item = str_from(item, 2);
		if (str_is(item, "*") || str_eq(item, tag))
			return true;
	}
	return false;
}

/* Puts the validators into the fields; true: the client has this version. */
static bool validate(struct making *m, const struct page *p)
{
	char tag[64], date[32];
	int64_t since_s;
	bool zipped = m->gzip && m->r->gzip, same = false;
	snprintf(tag, sizeof tag, "\"%llx-%llu%s\"", (unsigned long long)(p->key & 0xffffffff),
		 (unsigned long long)p->version, zipped ? "-gz" : "");
	http_date_print(p->changed_s, date);
	if (p->etag)
		buf_printf(&m->a->fields, "ETag: %s%s\r\n", p->weak ? "W/" : "", tag);
	if (p->dated)
		buf_printf(&m->a->fields, "Last-Modified: %s\r\n", date);
	if (m->r->if_none_match.n)
		same = p->etag && matches(m->r->if_none_match, str_of(tag));
	else if (date_parse(m->r->if_modified_since, &since_s))
		same = p->dated && p->changed_s <= since_s;
	return same;
}

static const char *type_of(const struct page *p)
{
	static const char *const html[] = {[CHARSET_UTF8] = "text/html; charset=utf-8",
					   [CHARSET_UTF8_META] = "text/html",
					   [CHARSET_LATIN1] = "text/html; charset=ISO-8859-1",
					   [CHARSET_LATIN1_META] = "text/html"};
	return p->kind == PAGE_BINARY ? "application/octet-stream"
	       : p->kind == PAGE_TEXT ? "text/plain; charset=utf-8"
				      : html[p->charset];
}

static void say_page(struct making *m, const struct page *p, unsigned hop)
{
	if (p->status / 100 == 3) {
		redirect(m, p, hop);
	} else if (p->status == 503) {
		say_later(m, 503, p->key & 2);
	} else if (p->status != 200) {
		say(m, p->status, "There is nothing here.");
	} else {
		m->gzip = p->gzip;
		m->framing = p->framing;
		m->type = type_of(p);
		bool same = validate(m, p);
		struct buf *body = body_of(m);
		if (!same)
			page_body(m->a->w, p, body);
		finish(m, same ? 304 : 200);
	}
}

static void say_robots(struct making *m, uint32_t host, bool moved)
{
	enum robots_kind kind = (enum robots_kind)m->a->w->robots[host];
	m->type = "text/plain";
	switch (kind) {
	case ROBOTS_ABSENT:
		say(m, 404, "There are no rules.");
		return;
	case ROBOTS_FORBIDDEN:
		say(m, 403, "The rules are a secret.");
		return;
	case ROBOTS_FAILED:
		say(m, 500, "The rules are broken.");
		return;
	case ROBOTS_BUSY:
		say_later(m, 503, false);
		return;
	case ROBOTS_HANG:
		m->ret->ending = ENDING_HANG;
		return;
	case ROBOTS_MOVED:
		if (!moved) {
			buf_add_text(&m->a->fields, "Location: /robots-moved.txt\r\n");
			say(m, 301, "Elsewhere.");
			return;
		}
		break;
	default:
		break;
	}
	world_robots_text(m->a->w, host, body_of(m));
	finish(m, 200);
}

static void say_path(struct making *m, uint32_t host)
{
	const struct world *w = m->a->w;
	enum profile profile = (enum profile)w->profile[host];
	struct page p;
	unsigned hop;
	if (str_is(m->r->path, "/sitemap.xml")) {
		m->type = "application/xml";
		world_sitemap(w, host, m->now_s, body_of(m));
		finish(m, 200);
	} else if (profile == PROFILE_CALENDAR && str_starts(m->r->path, STR("/cal/"))) {
		m->type = "text/html; charset=utf-8";
		world_calendar(w, host, m->r->path, body_of(m));
		finish(m, 200);
	} else if (world_find(w, world_content(w, host), m->r->path, m->now_s, &p, &hop) == 0) {
		say_page(m, &p, hop);
	} else {
		say(m, profile == PROFILE_SOFT404 ? 200 : 404,
		    "Sorry, the page that you want was not found on this server.");
	}
}

/* What the profile does to the connection; true: no bytes. */
static bool misbehave(enum profile profile, struct answer *ret)
{
	if (profile == PROFILE_HANG)
		ret->ending = ENDING_HANG;
	else if (profile == PROFILE_RESET || profile == PROFILE_REFUSE)
		ret->ending = ENDING_RESET;
	return ret->ending != ENDING_KEEP;
}

static void say_elsewhere(struct making *m, uint32_t host)
{
	buf_add_text(&m->a->fields, "Location: ");
	world_site(m->a->w, host, &m->a->fields);
	buf_add_str(&m->a->fields, m->r->path);
	buf_add_text(&m->a->fields, "\r\n");
	say(m, 301, "Elsewhere.");
}

/* So much that nobody sees the end of it. */
enum { TARPIT_BYTES = 64 << 10 };

static void say_slowly(struct making *m)
{
	buf_add_text(m->out, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n");
	for (size_t i = 0; i < TARPIT_BYTES; i++)
		buf_add_byte(m->out, i % 8 ? 'a' : ' ');
	*m->ret = (struct answer){.status = 200,
				  .ending = ENDING_HANG,
				  .wait_us = m->a->w->conf.slow_us,
				  .pieces = 2 * TARPIT_BYTES};
}

void answer_make(struct answerer *a, uint32_t host, bool alias, const struct request *r,
		 uint64_t nth, int64_t now_s, int64_t real_s, struct buf *out, struct answer *ret)
{
	enum profile profile = (enum profile)a->w->profile[host];
	bool moved = str_is(r->path, "/robots-moved.txt");
	bool robots =
		str_is(r->path, "/robots.txt") || (moved && a->w->robots[host] == ROBOTS_MOVED);
	size_t start = out->n;
	struct making m = {
		.a = a, .r = r, .ret = ret, .out = out, .now_s = now_s, .real_s = real_s};
	*ret = (struct answer){.pieces = 1};
	buf_clear(&a->fields);
	if (misbehave(profile, ret))
		return;
	if (!str_is(r->method, "GET") && !str_is(r->method, "HEAD")) {
		answer_status(405, "Only GET and HEAD.", out, ret);
		return;
	}
	if (alias)
		say_elsewhere(&m, host);
	else if (robots)
		say_robots(&m, host, moved);
	else if (profile == PROFILE_TARPIT)
		say_slowly(&m);
	else if (profile == PROFILE_LIMITED && nth % LIMIT_EVERY == LIMIT_EVERY - 1)
		say_later(&m, 429, false);
	else if (world_is_busy(a->w, host, now_s))
		say_later(&m, 503, nth & 1);
	else if (profile == PROFILE_BROKEN)
		say(&m, 500, "Everything is broken.");
	else if (profile == PROFILE_MOVED)
		say_elsewhere(&m, world_moved_to(a->w, host));
	else
		say_path(&m, host);
	if (profile == PROFILE_SLOW && ret->ending != ENDING_HANG) {
		ret->wait_us = a->w->conf.slow_us;
		ret->pieces = 3;
	}
	if (profile == PROFILE_CUT && !robots && out->n > start) {
		out->n -= MIN(out->n - start, 16);
		ret->ending = ENDING_RESET;
		ret->wait_us = 1000; /* what was sent arrives before the reset */
		ret->pieces = 1;
	}
}

void answer_status(int status, const char *text, struct buf *out, struct answer *ret)
{
	*ret = (struct answer){.status = status, .pieces = 1, .ending = ENDING_CLOSE};
	buf_printf(out,
		   "HTTP/1.1 %d %s\r\nServer: simnet\r\nConnection: close\r\n"
		   "Content-Length: %zu\r\n\r\n%s\n",
		   status, reason(status), strlen(text) + 1, text);
}
