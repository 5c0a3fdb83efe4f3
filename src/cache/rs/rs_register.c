/* Changes: registration in two steps, further secrets, contract, passwords, deregistration. The
 * change is on disk before the client is told of it. */
#include "base/clock.h"
#include "base/log.h"
#include "cache/rs/rs_inner.h"
#include "cache/uns/prefix.h"
#include "net/addr.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

/* Letters and digits that are not easily confused. */
static const char alphabet[] = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789";

int rs_tell(struct rs_made *ret, int status, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	ret->status = status;
	vsnprintf(ret->text, sizeof ret->text, fmt, args);
	va_end(args);
	return RS_TOLD;
}

/* Every character of the alphabet is equally likely. */
int rs_random_text(char *ret, size_t n, struct err *err)
{
	const unsigned many = sizeof alphabet - 1, fair = 256 / many * many;
	for (size_t i = 0; i < n;) {
		unsigned char byte;
		if (getrandom(&byte, 1, 0) != 1)
			return err_sys(err, "random bytes");
		if (byte < fair)
			ret[i++] = alphabet[byte % many];
	}
	ret[n] = 0;
	return 0;
}

/* The address that registrations are counted by; for IPv6 the network. */
static void client_of(struct http_request *req, char ret[PIDB_ADDRESS_MAX + 1])
{
	struct addr a;
	char shown[ADDR_SHOWN] = "local";
	if (addr_parse(str_of(http_from(req)), &a)) {
		a = addr_server(&a);
		addr_print(&a, shown);
	}
	snprintf(ret, PIDB_ADDRESS_MAX + 1, "%.*s", PIDB_ADDRESS_MAX, shown);
}

static int site_check(const char *site, struct rs_made *ret)
{
	struct str s = str_trim(str_of(site));
	if (s.n == 0)
		return rs_tell(ret, 400, "site is missing: the URL or the name of your site");
	if (s.n > PIDB_TEXT_MAX || !str_utf8(s) || str_has_control(s))
		return rs_tell(ret, 400, "the site's name has at most %d bytes, all of them text",
			       PIDB_TEXT_MAX);
	size_t scheme = str_find(s, STR("://")); /* s.n: a name alone */
	if (scheme < s.n && !str_eq_nocase(str_head(s, scheme), STR("http")) &&
	    !str_eq_nocase(str_head(s, scheme), STR("https")))
		return rs_tell(ret, 400, "only sites of http and https can be verified");
	return RS_DONE;
}

static int mail_check_text(const char *mail, struct rs_made *ret)
{
	if (mail[0] && !mail_is_address(str_of(mail)))
		return rs_tell(ret, 400,
			       "mail is not the address of a mailbox: expected NAME@DOMAIN");
	return RS_DONE;
}

/* Sets the quotas of [cache] for a new provider, before anyone knows its password. */
static int register_quotas(struct rs *rs, uint64_t id, struct err *err)
{
	const uint64_t files = (uint64_t)rs->cache->quota_files, space = rs->cache->quota_space;
	const struct pidb_change change = {.quota_files = &files, .quota_space = &space};
	return pidb_change(rs->pidb, id, &change, err) < 0 ? -1 : 0;
}

int rs_register(struct http_request *req, struct rs_made *ret, struct err *err)
{
	const struct rs_params *ask = req->params;
	struct rs *rs = rs_of(req);
	char address[PIDB_ADDRESS_MAX + 1];
	int64_t now_us = clock_wall_us();
	ret->expires_us = now_us + rs->conf->expiry_us;
	if (site_check(ask->site, ret) || mail_check_text(ask->mail, ret))
		return RS_TOLD;
	if (ask->send && !ask->mail[0])
		return rs_tell(ret, 400, "mail is missing: send needs an address");
	client_of(req, address);
	const unsigned most = (unsigned)rs->conf->registers_per_day;
	struct rs_password *made = NULL;
	int rc = pidb_may_register(rs->pidb, address, most, now_us, err);
	if (rc == 0) {
		rc = rs_password_make(req, &made, err);
		if (rc != RS_DONE)
			return rc;
		memcpy(ret->password, made->text, sizeof ret->password);
		if (rs_random_text(ret->secret, PIDB_SECRET, err) < 0 ||
		    rs_numbers_reserve(rs, err) < 0)
			return -1;
		rc = pidb_register(rs->pidb, ask->site, ask->mail, made->line, ret->secret, address,
				   most, now_us, &ret->provider, err);
	}
	if (rc < 0 && err->code == ERR_BUSY)
		return rs_tell(ret, 429, "%s", err->msg);
	if (rc < 0 || register_quotas(rs, ret->provider, err) < 0)
		return -1;
	counters_add(rs->counters, RS_COUNT_REGISTERED, 1);
	log_info(ROLE, "provider registered", KV_UINT("provider", ret->provider),
		 KV_TEXT("address", address));
	ret->status = 201;
	ret->is_registered = true;
	ret->mailed = ask->send && rs_mail(rs, ask->mail, ret, &ret->not_mailed);
	return RS_DONE;
}

_Static_assert(RS_ROBOT_BODY == 1024, "TOO_LARGE says so");
#define TOO_LARGE "the file is larger than 1024 bytes, and not the secret"
#define TOO_SLOW "the server of that URL does not answer in time"

/* Says what was found instead of the secret, without quoting it. */
static int found_tell(const struct rs_fetch *f, struct rs_made *ret)
{
	static const char *const words[ROBOT_NCAUSES] = {
		[ROBOT_CAUSE_ADDRESS] = "the address of that host is refused: it is not public, "
					"and the operator has not allowed its network",
		[ROBOT_CAUSE_NO_NAME] = "that host has no address",
		[ROBOT_CAUSE_BODY] = TOO_LARGE,
		[ROBOT_CAUSE_WIRE] = TOO_LARGE,
		[ROBOT_CAUSE_NOT_NOW] = "that server is busy with other fetches, or must not be "
					"asked now: try again in a minute",
		[ROBOT_CAUSE_CONNECT] = "no connection to the server of that URL",
		[ROBOT_CAUSE_IDLE] = TOO_SLOW,
		[ROBOT_CAUSE_TIME] = TOO_SLOW,
	};
	if (f->status >= 300 && f->status < 400)
		return rs_tell(ret, 422,
			       "the server of that URL answered with status %d, a redirect, which "
			       "is not followed",
			       f->status);
	if (f->status && f->status != 200)
		return rs_tell(ret, 422,
			       "the server of that URL answered with status %d, not 200: can a "
			       "browser see the file?",
			       f->status);
	if (f->cause == ROBOT_CAUSE_ANSWER)
		return RS_DONE;
	if (f->cause == ROBOT_CAUSE_STOPPED)
		return rs_tell(ret, 503, "this server stops: try again later");
	if (words[f->cause])
		return rs_tell(ret, 422, "%s", words[f->cause]);
	return rs_tell(ret, 422, "the file could not be fetched: %s (%s)", outcome_name(f->outcome),
		       robot_cause_name(f->cause));
}

static struct str without_line_end(struct str s)
{
	if (str_ends(s, STR("\r\n")))
		return str_head(s, s.n - 2);
	return str_ends(s, STR("\n")) ? str_head(s, s.n - 1) : s;
}

/* Returns the secret that the file holds; NULL: none. */
static const char *secret_found(const struct rs_fetch *f, char (*secrets)[PIDB_SECRET + 1],
				size_t n)
{
	struct str text = without_line_end((struct str){f->body, f->n});
	for (size_t i = 0; i < n; i++)
		if (str_is(text, secrets[i]))
			return secrets[i];
	return NULL;
}

int rs_secrets(struct http_request *req, char (*ret)[PIDB_SECRET + 1], size_t *ret_n,
	       struct err *err)
{
	struct rs *rs = rs_of(req);
	*ret_n = 0;
	int rc = pidb_secrets(rs->pidb, rs_who(req)->id, clock_wall_us() - rs->conf->expiry_us, ret,
			      RS_SECRETS, ret_n, err);
	return rc < 0 ? -1 : 0;
}

static int verify_begin(struct http_request *req, const char *url, struct rs_made *ret,
			struct err *err)
{
	char secrets[RS_SECRETS][PIDB_SECRET + 1], prefix[PIDB_URL_MAX + 1];
	size_t n;
	struct rs_fetch *fetch;
	if (prefix_of_file(str_of(url), prefix, err) < 0)
		return rs_tell(ret, 422, "%s", err->msg);
	if (rs_secrets(req, secrets, &n, err) < 0)
		return -1;
	if (n == 0)
		return rs_tell(ret, 422,
			       "no secret waits for its file: it was already found, or it expired; "
			       "make a new one on your page or with garner provider secret");
	int rc = rs_robot_fetch(rs_of(req)->robot, req, rs_who(req)->id, str_of(url),
				clock_mono_us(), &fetch, err);
	if (rc < 0)
		return -1;
	if (rc == 1)
		return rs_tell(
			ret, 429,
			"you asked, or that host was asked, %d times in this minute: wait a little",
			RS_ROBOT_ASKS);
	req->later = fetch;
	return RS_LATER;
}

static int verify_prove(struct http_request *req, const char *secret, const char *url,
			struct rs_made *ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	uint64_t id = rs_who(req)->id;
	if (prefix_of_file(str_of(url), ret->prefix, err) < 0)
		return -1;
	int rc = pidb_verify(rs->pidb, id, secret, ret->prefix, clock_wall_us(), err);
	if (rc == 1)
		return rs_tell(ret, 422, "that secret was used a moment ago");
	if (rc < 0 && err->code == ERR_USAGE)
		return rs_tell(ret, 422, "%s", err->msg);
	if (rc < 0)
		return -1;
	counters_add(rs->counters, RS_COUNT_VERIFIED, 1);
	log_info(ROLE, "provider verified", KV_UINT("provider", id),
		 KV_TEXT("prefix", ret->prefix));
	ret->provider = id;
	return RS_DONE;
}

int rs_verify(struct http_request *req, struct rs_made *ret, struct err *err)
{
	const char *url = ((const struct rs_params *)req->params)->url;
	struct rs *rs = rs_of(req);
	const struct rs_fetch *f = req->later;
	char secrets[RS_SECRETS][PIDB_SECRET + 1];
	size_t n;
	if (!f)
		return verify_begin(req, url, ret, err);
	ENSURE(f->is_done);
	int rc = found_tell(f, ret);
	if (rc == RS_DONE && rs_secrets(req, secrets, &n, err) < 0)
		return -1;
	const char *secret = rc == RS_DONE ? secret_found(f, secrets, n) : NULL;
	if (rc == RS_DONE && !secret)
		rc = rs_tell(ret, 422,
			     "the file has %zu bytes that are not the secret: it has to hold these "
			     "%d characters, perhaps one line end, and nothing else",
			     f->n, PIDB_SECRET);
	if (rc != RS_DONE) {
		counters_add(rs->counters, RS_COUNT_UNPROVEN, 1);
		return rc;
	}
	return verify_prove(req, secret, url, ret, err);
}

int rs_secret(struct http_request *req, struct rs_made *ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	int64_t now_us = clock_wall_us();
	if (rs_random_text(ret->secret, PIDB_SECRET, err) < 0)
		return -1;
	int rc = pidb_secret_add(rs->pidb, rs_who(req)->id, ret->secret, now_us, err);
	if (rc < 0 && err->code == ERR_BUSY)
		return rs_tell(ret, 429, "%s", err->msg);
	ret->status = 201;
	ret->expires_us = now_us + rs->conf->expiry_us;
	return rc < 0 ? -1 : RS_DONE;
}

int rs_password(struct http_request *req, struct rs_made *ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	struct rs_password *made;
	int rc = rs_password_make(req, &made, err);
	if (rc != RS_DONE)
		return rc;
	if (pidb_password_set(rs->pidb, rs_who(req)->id, made->line, err) < 0)
		return -1;
	memcpy(ret->password, made->text, sizeof made->text);
	log_info(ROLE, "password changed", KV_UINT("provider", rs_who(req)->id));
	return RS_DONE;
}

/* NULL: the parameter is absent, so nothing changes. */
static const char *text_given(const char *text)
{
	return strcmp(text, RS_UNSAID) == 0 ? NULL : text;
}

int rs_contract(struct http_request *req, struct rs_made *ret, struct err *err)
{
	const struct rs_params *ask = req->params;
	struct rs *rs = rs_of(req);
	const char *rate = text_given(ask->bandwidth);
	struct pidb_change change = {.hours = text_given(ask->hours),
				     .mail = text_given(ask->mail)};
	struct hours hours;
	uint64_t bandwidth;
	if ((rate && cache_bandwidth_parse(str_of(rate), &bandwidth, err) < 0) ||
	    (change.hours &&
	     hours_parse(str_of(change.hours), cache_period(rs->cache), &hours, err) < 0))
		return rs_tell(ret, 400, "%s", err->msg);
	if (change.mail && mail_check_text(change.mail, ret) != RS_DONE)
		return RS_TOLD;
	change.bandwidth = rate ? &bandwidth : NULL;
	int rc = pidb_change(rs->pidb, rs_who(req)->id, &change, err);
	if (rc < 0)
		return -1;
	log_info(ROLE, "contract changed", KV_UINT("provider", rs_who(req)->id));
	return RS_DONE;
}

int rs_deregister(struct http_request *req, struct rs_made *ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	ret->provider = rs_who(req)->id;
	if (pidb_deregister(rs->pidb, ret->provider, clock_wall_us(), err) < 0)
		return -1;
	counters_add(rs->counters, RS_COUNT_GONE, 1);
	log_info(ROLE, "provider deregistered", KV_UINT("provider", ret->provider));
	return RS_DONE;
}
