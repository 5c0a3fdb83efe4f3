/* HTTP for garner provider, by libcurl, one request at a time. The password goes to this machine,
 * to https, or where the settings say that it may be read on its way. */
#include "cmd/cache/provider_http.h"

#include "base/clock.h"
#include "cmd/system/text.h"
#include "net/curl.h"
#include "net/http.h"
#include "net/outgoing.h"
#include "url/url.h"

#include <inttypes.h>
#include <stdio.h>

enum { ANSWER_MOST = 16 << 20, SHOWN_MOST = 400 };

struct answer {
	int (*take)(void *ctx, struct str piece, struct err *err);
	void *ctx;
	struct err err;
	bool failed;
};

void provider_param(struct buf *form, const char *name, struct str value)
{
	if (form->n)
		buf_add_byte(form, '&');
	buf_printf(form, "%s=", name);
	http_encode(form, value);
}

static size_t answer_piece(char *p, size_t size, size_t n, void *ctx)
{
	struct answer *a = ctx;
	if (a->take(a->ctx, (struct str){p, size * n}, &a->err) == 0)
		return size * n;
	a->failed = true;
	return size * n + 1; /* ends it */
}

/* One request. *ret_status is that of the answer. */
static int http_ask(const struct curl_lib *lib, CURL *easy, const char *url, int64_t timeout_us,
		    struct answer *a, long *ret_status, struct err *err)
{
	char words[CURL_ERROR_SIZE] = "";
	lib->easy_setopt(easy, CURLOPT_URL, url);
	lib->easy_setopt(easy, CURLOPT_ERRORBUFFER, words);
	lib->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	lib->easy_setopt(easy, CURLOPT_PROXY, "");
	lib->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	lib->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, 10000L);
	lib->easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	lib->easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)MAX(timeout_us / US_PER_S, 1));
	lib->easy_setopt(easy, CURLOPT_USERAGENT, "garner-provider/" GARNER_VERSION);
	lib->easy_setopt(easy, CURLOPT_WRITEFUNCTION, answer_piece);
	lib->easy_setopt(easy, CURLOPT_WRITEDATA, a);
	CURLcode rc = lib->easy_perform(easy);
	if (a->failed) {
		*err = a->err;
		return -1;
	}
	if (rc != CURLE_OK)
		return err_set(err, ERR_REMOTE, "%s: %s", url,
			       words[0] ? words : lib->easy_strerror(rc));
	lib->easy_getinfo(easy, CURLINFO_RESPONSE_CODE, ret_status);
	return 0;
}

/* NULL: it cannot be used. */
static const struct curl_lib *http_open(CURL **ret, struct err *err)
{
	const struct curl_lib *lib = curl_load(err);
	if (lib && !(*ret = lib->easy_init()))
		(void)err_set(err, ERR_SYSTEM, "libcurl cannot be used");
	return *ret ? lib : NULL;
}

int provider_get(const char *url, int64_t timeout_us,
		 int (*take)(void *ctx, struct str piece, struct err *err), void *ctx,
		 struct err *err)
{
	struct answer a = {.take = take, .ctx = ctx};
	CURL *easy = NULL;
	long status = 0;
	const struct curl_lib *lib = http_open(&easy, err);
	if (!lib)
		return -1;
	lib->easy_setopt(easy, CURLOPT_FAILONERROR, 1L);
	lib->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	lib->easy_setopt(easy, CURLOPT_MAXREDIRS, 5L);
	lib->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	int rc = http_ask(lib, easy, url, timeout_us, &a, &status, err);
	lib->easy_cleanup(easy);
	return rc;
}

/* The registration server */

static bool is_here(const struct url *u)
{
	return str_is(u->host, "localhost") || str_is(u->host, "[::1]") ||
	       (u->host_kind == URL_IPV4 && str_starts(u->host, STR("127.")));
}

static int rs_check(const struct provider_conf *conf, struct err *err)
{
	char room[URL_MAX];
	struct url u;
	if (!conf->rs[0])
		return err_set(err, ERR_USAGE,
			       "provider.rs: empty: set the URL of the registration server (with "
			       "net.port = 0 there is no default)");
	int rc = url_parse(str_of(conf->rs), NULL, room, sizeof room, &u);
	if (rc == 0 && u.protocol == URL_FTP)
		rc = -URL_PROTOCOL;
	if (rc != 0) {
		url_fail(rc, str_of(conf->rs), err);
		return err_in(err, "provider.rs");
	}
	if (u.protocol == URL_HTTP && !is_here(&u) && !conf->plain)
		return err_set(err, ERR_USAGE,
			       "provider.rs: the password would go to %s unencrypted; set an https "
			       "URL, or provider.plain = yes",
			       conf->rs);
	return 0;
}

/* The notification server, which is spoken to with keys of its own. */
static int uns_check(const struct provider_conf *conf, struct err *err)
{
	struct tls *tls = NULL;
	if (tls_new(&tls, &conf->tls, false, err) < 0)
		return err_in(err, "provider");
	int rc = conf->plain ? outgoing_check(conf->uns, err)
			     : outgoing_may_connect(conf->uns, "", tls, err);
	tls_free(&tls);
	return rc < 0 ? err_in(err, "provider.uns") : 0;
}

int provider_conf_check(const struct config *config, struct err *err)
{
	const struct provider_conf *conf = config_get(config, &provider_section);
	if (conf->rs[0] && rs_check(conf, err) < 0)
		return -1;
	return conf->uns[0] ? uns_check(conf, err) : 0;
}

/* The URL of what is asked. */
static int rs_url(const struct provider *p, const char *what, struct buf *ret, struct err *err)
{
	if (rs_check(p->conf, err) < 0)
		return -1;
	buf_add_text(ret, p->conf->rs);
	if (!str_ends(buf_str(ret), STR("/")))
		buf_add_byte(ret, '/');
	buf_printf(ret, "api/%s", what);
	return ret->over ? err_set(err, ERR_USAGE, "%s: too long", what) : 0;
}

static int body_take(void *ctx, struct str piece, struct err *err)
{
	struct buf *body = ctx;
	buf_add_str(body, piece);
	return body->over ? err_set(err, ERR_REMOTE, "the answer is too large") : 0;
}

/* Words of a server, for a terminal. */
static void put_words(struct buf *out, const char *words)
{
	put_safe(out, str_utf8_head(str_of(words), SHOWN_MOST));
}

static int answer_read(const struct provider *p, const struct buf *body, long status, json_t **ret,
		       struct err *err)
{
	CLEANUP(buf_free) struct buf words = BUF_INIT((size_t)2 * SHOWN_MOST);
	json_t *answer = json_loadb(buf_text(body), body->n, 0, NULL);
	bool good = status >= 200 && status < 300;
	if (good && json_is_object(answer)) {
		*ret = answer;
		return 0;
	}
	put_words(&words, json_text_of(answer, "error"));
	json_decref(answer);
	if (status == 401)
		return err_set(err, ERR_REMOTE, "%s: wrong password, or not its provider: %s",
			       p->conf->rs, p->path);
	if (good || !words.n)
		return err_set(err, ERR_REMOTE,
			       "%s: %s (status %ld); is this the registration server?", p->conf->rs,
			       good ? "an answer that cannot be read" : "refused", status);
	return err_set(err, ERR_REMOTE, "%s: %s", p->conf->rs, buf_text(&words));
}

int provider_ask(const struct provider *p, const char *what, const struct buf *form, bool known,
		 json_t **ret, struct err *err)
{
	CLEANUP(buf_free)
	struct buf url = BUF_INIT((size_t)2 * URL_MAX), body = BUF_INIT(ANSWER_MOST);
	struct answer a = {.take = body_take, .ctx = &body};
	char user[24], password[512];
	CURL *easy = NULL;
	long status = 0;
	if (rs_url(p, what, &url, err) < 0)
		return -1;
	const struct curl_lib *lib = http_open(&easy, err);
	if (!lib)
		return -1;
	if (known) {
		snprintf(user, sizeof user, "%" PRIu64, p->file.id);
		snprintf(password, sizeof password, STR_FMT, STR_ARG(p->file.password));
		lib->easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		lib->easy_setopt(easy, CURLOPT_USERNAME, user);
		lib->easy_setopt(easy, CURLOPT_PASSWORD, password);
		explicit_bzero(password, sizeof password);
	}
	if (form) {
		lib->easy_setopt(easy, CURLOPT_POST, 1L);
		lib->easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)form->n);
		lib->easy_setopt(easy, CURLOPT_POSTFIELDS, buf_text(form));
	}
	int rc = http_ask(lib, easy, buf_text(&url), p->conf->timeout_us, &a, &status, err);
	if (rc < 0 && status == 0 && err->code == ERR_REMOTE) {
		const struct err cause = *err;
		rc = err_set(err, ERR_REMOTE,
			     "%s; provider.rs says where the registration server is", cause.msg);
	}
	if (rc == 0)
		rc = answer_read(p, &body, status, ret, err);
	lib->easy_cleanup(easy);
	if (body.n)
		explicit_bzero(body.p, body.n);
	return rc;
}

const char *json_text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

uint64_t json_number_of(const json_t *object, const char *name)
{
	const json_t *v = json_object_get(object, name);
	if (json_is_real(v)) /* beyond 2^63 */
		return UINT64_MAX;
	return (uint64_t)MAX(json_integer_value(v), (json_int_t)0);
}

void provider_print_json(const struct cmd_call *call, const json_t *answer)
{
	(void)json_dumpf(answer, call->out, JSON_COMPACT | JSON_PRESERVE_ORDER);
	fputc('\n', call->out);
}
