/* Reads a head line by line. Each line is checked at its LF, so that a bare LF is refused at once,
 * without waiting for more. The memory that a head costs is counted as libmicrohttpd spends it, so
 * that libmicrohttpd never runs out of memory on the way: it has no clean answer for that. */
#include "net/http_head.h"

#include "net/http_inner.h"

#include <string.h>

/* What libmicrohttpd keeps for each field, cookie and query parameter, rounded up; and what the
 * head of an answer may need, without a Location: for that the path counts twice. */
enum { COST_OF_FIELD = 96, COST_OF_ANSWER = 1024 };

static void refuse_head(struct http_head *h, int status, const char *wrong)
{
	if (h->status)
		return;
	h->status = status;
	h->wrong = wrong;
	h->at = HTTP_AT_REFUSED;
}

static void spend_memory(struct http_head *h, size_t bytes, size_t fields)
{
	h->cost += bytes + fields * COST_OF_FIELD;
	if (h->cost + COST_OF_ANSWER <= h->memory)
		return;
	if (h->at == HTTP_AT_LINE)
		refuse_head(h, 414, "the request's first line is too long");
	else
		refuse_head(h, 431, "the request's head is too large");
}

static size_t count_bytes(struct str s, char c)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += s.p[i] == c;
	return n;
}

/* Visible, and none of the others. */
static bool is_visible(struct str s, const char *but)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c <= ' ' || c == 0x7f || strchr(but, c))
			return false;
	}
	return true;
}

static bool is_token(struct str s)
{
	return s.n > 0 && is_visible(s, "\"(),/:;<=>?@[\\]{}");
}

/* "GET /path?query HTTP/1.1", one blank between the three. */
static void read_request_line(struct http_head *h, struct str line)
{
	size_t first = str_find_byte(line, ' ');
	struct str method = str_head(line, first), rest = str_from(line, first + 1);
	size_t second = str_find_byte(rest, ' ');
	struct str target = str_head(rest, second), version = str_from(rest, second + 1);
	struct str query = str_from(target, str_find_byte(target, '?') + 1);
	size_t pairs = count_bytes(query, '&') + 1;
	if (!is_token(method) || target.n == 0 || !is_visible(target, "") ||
	    !is_visible(version, "") || !str_starts(version, STR("HTTP/"))) {
		refuse_head(h, 400, "the first line is not METHOD /path HTTP/1.1");
		return;
	}
	if (version.n != strlen("HTTP/1.1") || !str_starts(version, STR("HTTP/1.")) ||
	    version.p[7] < '0' || version.p[7] > '9') {
		refuse_head(h, 505, "of HTTP versions 1.0 and 1.1 are spoken here");
		return;
	}
	if (target.p[0] != '/')
		refuse_head(h, 400, "a path begins with /");
	if (pairs > HTTP_QUERY_PAIRS)
		refuse_head(h, 400, "the query has too many parameters");
	h->old = version.p[7] == '0';
	spend_memory(h, target.n, pairs);
	if (!h->status)
		h->at = HTTP_AT_FIELDS;
}

static void read_host(struct http_head *h, struct str value)
{
	if (++h->hosts > 1)
		refuse_head(h, 400, "there is more than one Host");
	if (!is_visible(str_trim_field(value), "\"#/<>?@\\"))
		refuse_head(h, 400, "Host is not the name of a host");
}

/* libmicrohttpd does not take blanks after it. */
static void read_length(struct http_head *h, struct str value)
{
	while (value.n && (value.p[0] == ' ' || value.p[0] == '\t'))
		value = str_from(value, 1);
	bool digits = value.n > 0;
	for (size_t i = 0; i < value.n; i++)
		digits &= value.p[i] >= '0' && value.p[i] <= '9';
	if (++h->lengths > 1)
		refuse_head(h, 400, "there is more than one Content-Length");
	if (!digits)
		refuse_head(h, 400, "Content-Length is not a number");
	else if (!str_u64(value, &h->body) || h->body > INT64_MAX)
		refuse_head(h, 413, "Content-Length is larger than anything that is taken");
}

static void read_encoding(struct http_head *h, struct str value)
{
	if (h->chunked || !str_eq_nocase(str_trim_field(value), STR("chunked")))
		refuse_head(h, 400, "of transfer encodings only chunked is taken, and once");
	h->chunked = true;
}

static void read_field(struct http_head *h, struct str line)
{
	size_t colon = str_find_byte(line, ':');
	struct str name = str_head(line, colon), value = str_from(line, colon + 1);
	size_t fields = 1, copied = 0;
	if (line.p[0] == ' ' || line.p[0] == '\t')
		refuse_head(h, 400, "a header is folded onto a second line");
	if (colon == line.n)
		refuse_head(h, 400, "a header has no colon");
	if (!is_token(name))
		refuse_head(h, 400, "a header has an impossible name");
	if (str_eq_nocase(name, STR("Host"))) {
		read_host(h, value);
	} else if (str_eq_nocase(name, STR("Content-Length"))) {
		read_length(h, value);
	} else if (str_eq_nocase(name, STR("Transfer-Encoding"))) {
		read_encoding(h, value);
	} else if (str_eq_nocase(name, STR("Cookie"))) {
		fields += count_bytes(value, ';') + count_bytes(value, ',') + 1;
		copied = value.n;
	}
	spend_memory(h, copied, fields);
}

/* The empty line. */
static void end_head(struct http_head *h)
{
	if (!h->old && !h->hosts)
		refuse_head(h, 400, "there is no Host");
	if (h->lengths && h->chunked)
		refuse_head(h, 400, "Content-Length and Transfer-Encoding exclude each other");
	if (h->old && h->chunked)
		refuse_head(h, 400, "HTTP/1.0 has no Transfer-Encoding");
	if (h->status)
		return;
	uint64_t body = h->body;
	bool chunked = h->chunked;
	*h = HTTP_HEAD_INIT(h->memory);
	h->body = body;
	h->at = chunked ? HTTP_AT_REST : body ? HTTP_AT_BODY : HTTP_AT_LINE;
}

/* With its line feed. */
static void read_line(struct http_head *h, struct str line)
{
	spend_memory(h, line.n, 0);
	if (line.n < 2 || line.p[line.n - 2] != '\r') {
		refuse_head(h, 400, "a line ends in LF alone, not in CR LF");
		return;
	}
	h->line += line.n;
	line.n -= 2;
	if (str_has_control(line))
		refuse_head(h, 400, "the head has a control character in it");
	else if (h->at == HTTP_AT_FIELDS && line.n == 0)
		end_head(h);
	else if (h->at == HTTP_AT_FIELDS)
		read_field(h, line);
	else if (line.n > 0) /* empty lines before a head are passed over */
		read_request_line(h, line);
}

/* Returns the bytes of the head when it is complete, otherwise 0. */
static size_t read_head(struct http_head *h, struct str bytes)
{
	while (!h->status) {
		struct str rest = str_from(bytes, h->line);
		size_t n = str_find_byte(rest, '\n');
		if (n == rest.n) {
			size_t cost = h->cost;
			spend_memory(h, rest.n, 0);
			h->cost = cost; /* the line is counted when it is complete */
			return 0;
		}
		size_t end = h->line + n + 1;
		read_line(h, str_head(rest, n + 1));
		if (!h->status && h->line == 0)
			return end;
	}
	return 0;
}

size_t http_head_read(struct http_head *h, struct str bytes)
{
	size_t done = 0;
	while (done < bytes.n && !h->status) {
		size_t n = bytes.n - done;
		if (h->at == HTTP_AT_BODY) {
			n = (size_t)MIN(h->body, (uint64_t)n);
			h->body -= n;
			if (!h->body)
				h->at = HTTP_AT_LINE;
		} else if (h->at != HTTP_AT_REST) {
			n = read_head(h, str_from(bytes, done));
			if (n == 0)
				break;
		}
		done += n;
	}
	return done;
}

bool http_is_first_line(struct str line)
{
	return str_ends(line, STR(" HTTP/1.1")) || str_ends(line, STR(" HTTP/1.0"));
}
