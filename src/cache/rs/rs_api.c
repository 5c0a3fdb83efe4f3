/* Answers for programs: doc/protocols/providers.md says what is in them. */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cache/rs/rs_inner.h"

static int answer_told(struct http_request *req, struct http_answer *ret,
		       const struct rs_told *told)
{
	if (told->status == 429)
		http_answer_header(req, ret, "Retry-After", STR("60"));
	http_answer_error(req, ret, told->status, "%s", told->text);
	return 0;
}

/* The provider of the path is the one who asks; false: the answer says that it is not. */
static bool is_own(struct http_request *req, struct http_answer *ret)
{
	const struct rs_params *p = req->params;
	if ((uint64_t)p->id == rs_who(req)->id)
		return true;
	http_answer_error(req, ret, 403, "that is another provider");
	return false;
}

static void put_time(struct jsonw *j, const char *key, int64_t wall_us)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(64);
	if (wall_us)
		time_print(&text, wall_us, 0);
	jsonw_put_text(j, key, wall_us ? buf_text(&text) : NULL);
}

/* A handler's end: the object is closed. Passwords are in some of these: nobody keeps them. */
static int answer_end(struct jsonw *j, struct http_answer *ret)
{
	jsonw_object_end(j);
	buf_add_byte(ret->body, '\n');
	ret->cache = "no-store";
	return 0;
}

int rs_api_register(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_params *p = req->params;
	struct rs_registered done;
	struct rs_told told;
	struct jsonw j = JSONW_INIT(ret->body);
	const struct rs_register_ask ask = {p->site, p->mail, p->send};
	int rc = rs_register(req, &ask, &done, &told, err);
	if (rc == RS_LATER)
		return HTTP_LATER;
	if (rc != RS_DONE)
		return rc == RS_TOLD ? answer_told(req, ret, &told) : rc;
	ret->status = 201;
	jsonw_object(&j);
	jsonw_put_uint(&j, "provider", done.id);
	jsonw_put_text(&j, "password", done.password);
	jsonw_put_text(&j, "secret", done.secret);
	put_time(&j, "expires", done.expires_us);
	jsonw_put_bool(&j, "mailed", done.mailed);
	if (done.not_mailed)
		jsonw_put_text(&j, "not_mailed", done.not_mailed);
	return answer_end(&j, ret);
}

int rs_api_verify(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_params *p = req->params;
	char prefix[PIDB_URL_MAX + 1];
	struct rs_told told;
	struct jsonw j = JSONW_INIT(ret->body);
	if (!is_own(req, ret))
		return 0;
	int rc = rs_verify(req, p->url, prefix, &told, err);
	if (rc == RS_LATER)
		return HTTP_LATER;
	if (rc != RS_DONE)
		return rc == RS_TOLD ? answer_told(req, ret, &told) : rc;
	jsonw_object(&j);
	jsonw_put_uint(&j, "provider", rs_who(req)->id);
	jsonw_put_text(&j, "prefix", prefix);
	return answer_end(&j, ret);
}

int rs_api_secret(struct http_request *req, struct http_answer *ret, struct err *err)
{
	char secret[PIDB_SECRET + 1];
	int64_t expires_us;
	struct rs_told told;
	struct jsonw j = JSONW_INIT(ret->body);
	if (!is_own(req, ret))
		return 0;
	int rc = rs_secret(req, secret, &expires_us, &told, err);
	if (rc != RS_DONE)
		return rc == RS_TOLD ? answer_told(req, ret, &told) : rc;
	ret->status = 201;
	jsonw_object(&j);
	jsonw_put_text(&j, "secret", secret);
	put_time(&j, "expires", expires_us);
	return answer_end(&j, ret);
}

static void put_contract(struct jsonw *j, const struct pidb_provider *who)
{
	jsonw_put_object(j, "contract");
	jsonw_put_limit(j, "bandwidth", who->bandwidth, 0);
	jsonw_put_text(j, "hours", who->hours);
	jsonw_put_int(j, "priority", who->priority);
	jsonw_put_limit(j, "quota_files", who->quota_files, UINT64_MAX);
	jsonw_put_limit(j, "quota_space", who->quota_space, UINT64_MAX);
	jsonw_object_end(j);
}

static void put_state(struct jsonw *j, const struct rs *rs, const struct rs_state *s)
{
	uint64_t allowed = (uint64_t)rs->cache->fullsets;
	jsonw_put_uint(j, "provider", s->who.id);
	jsonw_put_text(j, "site", s->who.site);
	jsonw_put_text(j, "mail", s->who.mail);
	jsonw_put_bool(j, "verified", s->who.is_verified);
	jsonw_put_array(j, "prefixes");
	for (size_t i = 0; i < s->nprefixes; i++)
		jsonw_text(j, s->prefix[i]);
	jsonw_array_end(j);
	put_contract(j, &s->who);
	jsonw_put_object(j, "stored");
	jsonw_put_uint(j, "files", s->tally.files);
	jsonw_put_uint(j, "bytes", s->tally.space);
	jsonw_object_end(j);
	jsonw_put_uint(j, "queued", s->tally.queued);
	jsonw_put_uint(j, "errors", s->tally.errors);
	jsonw_put_text(j, "wanted", pidb_wanted_name(s->who.wanted));
	jsonw_put_uint(j, "fullsets_left", allowed - MIN(allowed, s->who.fullsets_used));
	jsonw_put_uint(j, "sessions", s->who.seq);
	jsonw_put_text(j, "last_address", s->who.last_address);
	jsonw_put_array(j, "mime");
	for (size_t i = 0; i < rs->cache->mime.n; i++)
		jsonw_text(j, rs->cache->mime.item[i]);
	jsonw_array_end(j);
}

static int answer_state(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct jsonw j = JSONW_INIT(ret->body);
	struct rs_state state;
	if (rs_state(req, &state, err) < 0)
		return -1;
	jsonw_object(&j);
	put_state(&j, rs_of(req), &state);
	return answer_end(&j, ret);
}

int rs_api_state(struct http_request *req, struct http_answer *ret, struct err *err)
{
	return is_own(req, ret) ? answer_state(req, ret, err) : 0;
}

int rs_api_contract(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_params *p = req->params;
	const struct rs_contract ask = {rs_given(p->bandwidth), rs_given(p->hours),
					rs_given(p->mail)};
	struct rs_told told;
	if (!is_own(req, ret))
		return 0;
	int rc = rs_contract(req, &ask, &told, err);
	if (rc != RS_DONE)
		return rc == RS_TOLD ? answer_told(req, ret, &told) : rc;
	return answer_state(req, ret, err);
}

int rs_api_password(struct http_request *req, struct http_answer *ret, struct err *err)
{
	char password[PIDB_PASSWORD + 1];
	struct jsonw j = JSONW_INIT(ret->body);
	if (!is_own(req, ret))
		return 0;
	int rc = rs_password(req, password, err);
	if (rc != RS_DONE)
		return rc == RS_LATER ? HTTP_LATER : rc;
	jsonw_object(&j);
	jsonw_put_text(&j, "password", password);
	return answer_end(&j, ret);
}

int rs_api_deregister(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct jsonw j = JSONW_INIT(ret->body);
	if (!is_own(req, ret))
		return 0;
	if (rs_deregister(req, err) < 0)
		return -1;
	jsonw_object(&j);
	jsonw_put_uint(&j, "provider", rs_who(req)->id);
	return answer_end(&j, ret);
}

int rs_api_fetches(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct jsonw j = JSONW_INIT(ret->body);
	struct db_fetch *fetch;
	size_t n;
	if (!is_own(req, ret))
		return 0;
	if (rs_fetches(req, &fetch, &n, err) < 0)
		return -1;
	jsonw_object(&j);
	jsonw_put_array(&j, "fetches");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j);
		put_time(&j, "at", fetch[i].at_us);
		jsonw_put_str(&j, "url", fetch[i].url);
		jsonw_put_uint(&j, "code", fetch[i].code);
		jsonw_put_uint(&j, "bytes", fetch[i].size);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	return answer_end(&j, ret);
}

int rs_api_plan(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct jsonw j = JSONW_INIT(ret->body);
	struct rs_plan *plan;
	size_t n;
	if (!is_own(req, ret))
		return 0;
	if (rs_plan(req, &plan, &n, err) < 0)
		return -1;
	jsonw_object(&j);
	jsonw_put_array(&j, "plan");
	for (size_t i = 0; i < n; i++) {
		jsonw_object(&j);
		jsonw_put_limit(&j, "set", plan[i].set, 0);
		jsonw_put_uint(&j, "urls", plan[i].urls);
		put_time(&j, "at", plan[i].at_us);
		jsonw_put_text(&j, "why", plan[i].why);
		jsonw_put_array(&j, "first");
		for (size_t k = 0; k < plan[i].nfirst; k++)
			jsonw_str(&j, plan[i].first[k]);
		jsonw_array_end(&j);
		jsonw_object_end(&j);
	}
	jsonw_array_end(&j);
	return answer_end(&j, ret);
}

static void put_receipt(struct jsonw *j, const struct db_receipt *r)
{
	jsonw_object(j);
	jsonw_put_str(j, "url", r->c);
	jsonw_put_str(j, "mime", r->mime);
	jsonw_put_text(j, "state", db_state_name(r->state));
	jsonw_put_limit(j, "code", r->code, 0);
	put_time(j, "at", r->at_us);
	put_time(j, "until", r->until_us);
	jsonw_put_str(j, "why", r->reason);
	jsonw_object_end(j);
}

int rs_api_receipts(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_params *p = req->params;
	const struct rs_receipts_ask ask = {p->set, p->after, p->n, p->url, p->mime};
	struct jsonw j = JSONW_INIT(ret->body);
	struct rs_receipts receipts;
	if (rs_receipts(req, &ask, &receipts, err) < 0)
		return -1;
	jsonw_object(&j);
	jsonw_put_limit(&j, "set", receipts.set, 0);
	jsonw_put_text(&j, "state", receipts.state);
	put_time(&j, "at", receipts.at_us);
	jsonw_put_uint(&j, "urls", receipts.urls);
	jsonw_put_array(&j, "receipts");
	for (size_t i = 0; i < receipts.n; i++)
		put_receipt(&j, &receipts.row[i]);
	jsonw_array_end(&j);
	jsonw_put_bool(&j, "more", receipts.more);
	return answer_end(&j, ret);
}
