/* Checks before a handler runs: logins by HTTP Basic, forms, and which page sent a request.
 *
 * Browsers send a Basic password with every request, even one made by a page of another site, so
 * only GET is accepted from such pages. All current browsers name the origin of a request in Sec-
 * Fetch-Site, older ones in Origin, which is compared with the requested host. Programs send
 * neither. The scheme is not compared, since a proxy changes it. */
#include "base/ascii.h"
#include "net/http_inner.h"

#include <inttypes.h>

enum { BASIC_MOST = 2048 /* bytes of its base64 */ };

/* -1: not a digit of base64. */
static int base64_digit(char c)
{
	if (ascii_is_upper(c))
		return c - 'A';
	if (ascii_is_lower(c))
		return c - 'a' + 26;
	if (ascii_is_digit(c))
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool base64_decode(struct str s, struct arena *arena, struct str *ret)
{
	while (s.n && s.p[s.n - 1] == '=')
		s.n--;
	char *p = arena_alloc(arena, s.n + 1);
	size_t n = 0;
	uint32_t word = 0;
	for (size_t i = 0; i < s.n; i++) {
		int digit = base64_digit(s.p[i]);
		if (digit < 0)
			return false;
		word = word << 6 | (uint32_t)digit;
		if (i % 4)
			p[n++] = (char)(word >> (6 - 2 * (i % 4)));
	}
	*ret = (struct str){p, n};
	return s.n % 4 != 1;
}

bool http_basic_parse(struct str value, struct arena *arena, uint64_t *ret_number,
		      struct str *ret_password)
{
	struct str pair;
	size_t blank = str_find_byte(value, ' ');
	if (!value.p || value.n > BASIC_MOST ||
	    !str_eq_nocase(str_head(value, blank), STR("Basic")) ||
	    !base64_decode(str_trim_field(str_from(value, blank)), arena, &pair))
		return false;
	size_t colon = str_find_byte(pair, ':');
	if (colon == pair.n || !str_u64(str_head(pair, colon), ret_number))
		return false;
	*ret_password = str_from(pair, colon + 1);
	return true;
}

bool http_is_foreign(struct str sec_fetch_site, struct str origin, struct str host)
{
	if (sec_fetch_site.p)
		return !str_is(sec_fetch_site, "same-origin") && !str_is(sec_fetch_site, "none");
	if (!origin.p)
		return false;
	size_t at = str_find(origin, STR("://"));
	return at == origin.n || !str_eq_nocase(str_from(origin, at + 3), host);
}

static int refuse_login(struct http_conn *c, int64_t wait_us)
{
	struct http_request *req = &c->request;
	if (wait_us > 0) {
		int64_t s = (wait_us + 999999) / 1000000;
		char *text = arena_printf(&req->arena, "%" PRId64, s);
		http_answer_header(req, &c->answer, "Retry-After", str_of(text));
		http_answer_error(
			req, &c->answer, 429,
			"too many wrong passwords from this address: try again in %" PRId64 " s",
			s);
		return 1;
	}
	http_answer_header(req, &c->answer, "WWW-Authenticate",
			   STR("Basic realm=\"garner provider\", charset=\"UTF-8\""));
	http_answer_error(req, &c->answer, 401,
			  "only with the number and the password of a provider");
	return 1;
}

static int login_ask(struct http_conn *c, struct err *err)
{
	struct http_request *req = &c->request;
	struct str password;
	uint64_t number;
	int64_t wait_us = 0;
	ENSURE(c->server->options.login);
	if (!http_basic_parse(http_header(req, "Authorization"), &req->arena, &number, &password))
		return refuse_login(c, 0);
	int rc = c->server->options.login(req, number, password, &wait_us, err);
	if (rc == 0)
		ENSURE(req->who && !req->later);
	if (rc == HTTP_LOGIN_LATER)
		ENSURE(req->route->slow);
	return rc == 1 ? refuse_login(c, wait_us) : rc;
}

static bool is_form(const struct http_request *req)
{
	struct str type = http_header(req, "Content-Type");
	type = str_trim_field(str_head(type, str_find_byte(type, ';')));
	return req->body.n == 0 || str_eq_nocase(type, STR("application/x-www-form-urlencoded"));
}

static int form_read(struct http_conn *c, struct err *err)
{
	struct http_request *req = &c->request;
	struct http_match match;
	if (!is_form(req)) {
		http_answer_error(req, &c->answer, 415,
				  "the body has to be application/x-www-form-urlencoded");
		return 1;
	}
	int rc = http_router_find(c->server->router, req->route->method, req->path, &req->arena,
				  &match, err);
	ENSURE(rc == 0 && match.route == req->route);
	return http_params_parse(&match, req->body, &req->arena, &req->params, err);
}

int http_before_handler(struct http_conn *c, struct err *err)
{
	struct http_request *req = &c->request;
	int rc = 0;
	if (req->route->scope == HTTP_PROVIDER && !req->who)
		rc = login_ask(c, err);
	if (rc == 0 && req->route->form && !req->params)
		rc = form_read(c, err);
	return rc;
}
