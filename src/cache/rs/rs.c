/* The registration server: settings, routes, start and end. */
#include "cache/rs.h"

#include "base/clock.h"
#include "base/log.h"
#include "cache/rs/rs_inner.h"
#include "net/layout.h"
#include "net/net_section.h"
#include "net/serve.h"

#include <stdio.h>
#include <stdlib.h>

#define S struct rs_conf

static const struct value_spec specs[] = {
	{"listen", VALUE_LISTEN_AT(S, listen), .fallback = "127.0.0.1:8083", .moves = "net.port",
	 .help = "where providers register: an address with a port, or unix:PATH"},
	{"url", VALUE_TEXT_AT(S, url),
	 .help = "address of these pages as used in mails; add its host to web.names"},
	{"register_expiry", VALUE_TIME_AT(S, expiry_us), "7d", 1e6, 365 * 86400e6,
	 .help = "time after which an unproved registration or secret is deleted"},
	{"registers_per_day", VALUE_INT_AT(S, registers_per_day), "10", 1, 1000000,
	 .help = "maximum number of registrations from one address (of IPv6: one /64) in 24 hours; "
		 "after a proxy all clients share its address"},
	{"mail_from", VALUE_TEXT_AT(S, mail_from),
	 .help = "sender of mails with registrations; empty: garner@ and this machine's name"},
	{"mails_per_day", VALUE_INT_AT(S, mails_per_day), "100", 0, 1000000,
	 .help = "maximum number of mails with registrations a day, to all recipients together"},
	ACCESS_LOG_SPEC(S, access_log),
	DRAIN_SPEC(S, drain_us, "5s"),
	HTTP_LIMIT_SPECS(S, http),
};

static const struct config_section section = {
	.name = "rs",
	.help = "Registration of providers: pages, and what programs ask.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

static const struct counter_def counters[] = {HTTP_COUNTERS(COUNTER_DEF) RS_COUNTERS(COUNTER_DEF)};

static int conf_check(const struct config *config, const struct config_section *of, struct err *err)
{
	const struct rs_conf *conf = config_get(config, of);
	if (conf->mail_from[0] && !mail_is_address(str_of(conf->mail_from)))
		return err_set(err, ERR_USAGE, "rs.mail_from: not the address of a mailbox");
	return 0;
}

/* Routes */

#define P struct rs_params
/* clang-format off */
#define ID {{"id", VALUE_INT_AT(P, id), .max = 9e15, .help = "the provider"}}
/* clang-format on */

static const struct http_param id_params[] = {ID};
static const struct http_param register_params[] = {
	{{"site", VALUE_TEXT_AT(P, site), .help = "its URL or name"}, .required = true},
	{{"mail", VALUE_TEXT_AT(P, mail), .help = "an address"}},
	{{"send", VALUE_BOOL_AT(P, send), "no", .help = "mail number, password and secret"}},
};
static const struct http_param verify_params[] = {
	ID,
	{{"url", VALUE_TEXT_AT(P, url), .help = "of the file"}, .required = true},
};
static const struct http_param contract_params[] = {
	ID,
	{{"bandwidth", VALUE_TEXT_AT(P, bandwidth), RS_UNSAID, .help = "bytes a second, or 0"}},
	{{"hours", VALUE_TEXT_AT(P, hours), RS_UNSAID, .help = "a list of hours"}},
	{{"mail", VALUE_TEXT_AT(P, mail), RS_UNSAID, .help = "an address, or nothing"}},
};
static const struct http_param receipts_params[] = {
	{{"set", VALUE_INT_AT(P, set), "0", 0, 9e15, .help = "the number of a set; 0: the latest"}},
	{{"after", VALUE_INT_AT(P, after), "0", 0, 9e15, .help = "rows to leave out"}},
	{{"n", VALUE_INT_AT(P, n), "100", 1, 1000, .help = "rows"}},
	{{"url", VALUE_TEXT_AT(P, url), .help = "the receipt of this URL alone"}},
	{{"mime", VALUE_TEXT_AT(P, mime), .help = "of this type alone"}},
};
static const struct http_param leave_params[] = {
	{{"sure", VALUE_BOOL_AT(P, sure), "no", .help = "whether it is meant"}},
};

enum { FORM_MOST = 32 << 10 };
#define PAGE "text/html; charset=utf-8"
#define JSON "application/json"
#define OF(list) .params = list, .nparams = ARRAY_LEN(list), .params_size = sizeof(P)
#define OF_FORM(list, from) \
	.params = (list) + (from), .nparams = ARRAY_LEN(list) - (from), .params_size = sizeof(P)
#define FORM .form = true, .body_max = FORM_MOST
#define MINE .scope = HTTP_PROVIDER, .slow = true
/* clang-format off */
#define WORK(function) .handle = rs_api_act, .with = &(const struct rs_act){.work = (function)}
/* clang-format on */
#define ACT(act) .handle = rs_page_act, .with = &(act)

static int answer_health(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	buf_add_text(ret->body, "{\"status\":\"ok\"}\n");
	return 0;
}

static const struct http_route routes[] = {
	{HTTP_POST, "/api/providers", "Registers a provider", JSON, OF(register_params), FORM,
	 .slow = true, WORK(rs_register)},
	{HTTP_POST, "/api/providers/:id/verify",
	 "Fetches a file and proves the prefix by its secret", JSON, OF(verify_params), FORM, MINE,
	 WORK(rs_verify)},
	{HTTP_POST, "/api/providers/:id/secrets", "Makes a further secret", JSON, OF(id_params),
	 FORM, MINE, WORK(rs_secret)},
	{HTTP_GET, "/api/providers/:id", "Shows a provider", JSON, OF(id_params), MINE,
	 .handle = rs_api_state},
	{HTTP_POST, "/api/providers/:id/contract", "Changes the contract", JSON,
	 OF(contract_params), FORM, MINE, WORK(rs_contract)},
	{HTTP_POST, "/api/providers/:id/password", "Makes a new password", JSON, OF(id_params),
	 FORM, MINE, WORK(rs_password)},
	{HTTP_POST, "/api/providers/:id/deregister", "Deregisters a provider", JSON, OF(id_params),
	 FORM, MINE, WORK(rs_deregister)},
	{HTTP_GET, "/api/providers/:id/fetches", "Lists the last fetches", JSON, OF(id_params),
	 MINE, .handle = rs_api_fetches},
	{HTTP_GET, "/api/providers/:id/plan", "Lists what will be fetched", JSON, OF(id_params),
	 MINE, .handle = rs_api_plan},
	{HTTP_GET, "/api/receipts", "Shows what became of URLs", JSON, OF(receipts_params), MINE,
	 .handle = rs_api_receipts},
	{HTTP_GET, "/", "Registration, for people", PAGE, .loose = true, .handle = rs_page_home},
	{HTTP_POST, "/register", "Registers a provider, for people", PAGE, .loose = true,
	 OF(register_params), FORM, .slow = true, ACT(rs_act_register)},
	{HTTP_GET, "/provider", "The page of a provider", PAGE, .loose = true, MINE,
	 .handle = rs_page_mine},
	{HTTP_POST, "/provider/verify", "Fetches a file and proves the prefix by its secret", PAGE,
	 OF_FORM(verify_params, 1), FORM, MINE, ACT(rs_act_verify)},
	{HTTP_POST, "/provider/contract", "Changes the contract", PAGE, OF_FORM(contract_params, 1),
	 FORM, MINE, ACT(rs_act_contract)},
	{HTTP_POST, "/provider/secret", "Makes a further secret", PAGE, FORM, MINE,
	 ACT(rs_act_secret)},
	{HTTP_POST, "/provider/password", "Makes a new password", PAGE, FORM, MINE,
	 ACT(rs_act_password)},
	{HTTP_GET, "/provider/leave", "Asks for confirmation before deregistering", PAGE,
	 .loose = true, MINE, .handle = rs_page_leave},
	{HTTP_POST, "/provider/deregister", "Deregisters a provider", PAGE, OF(leave_params), FORM,
	 MINE, ACT(rs_act_deregister)},
	{HTTP_GET, "/provider/receipts", "Shows what became of URLs", PAGE, .loose = true,
	 .clips = true, OF(receipts_params), MINE, .handle = rs_page_receipts},
	{HTTP_GET, "/style.css", "The style sheet of all pages", "text/css; charset=utf-8",
	 .loose = true, .handle = layout_style},
	{HTTP_GET, "/healthz", "Whether this process answers", JSON, .handle = answer_health},
};

/* Deletes expired registrations, unless the wall clock has moved against the monotonic one since
 * the last call: a clock that is wrong for a while, even at the start, must not expire everybody.
 */
static void expire_once(void *ctx)
{
	struct rs *rs = ctx;
	struct err err;
	int64_t now_us = clock_wall_us(), was_us = rs->steady_us;
	rs->steady_us = now_us - clock_mono_us();
	if (llabs(rs->steady_us - was_us) < US_PER_MIN &&
	    pidb_expire(rs->pidb, now_us - rs->conf->expiry_us, now_us, &err) < 0)
		log_warn(ROLE, "expiring registrations failed", KV_TEXT("why", err.msg));
}

static void stop_waiting(void *ctx)
{
	struct rs *rs = ctx;
	rs_robot_stop(rs->robot);
	rs_login_stop(rs);
}

static int serve_until_end(struct rs *rs, struct role_env *env, struct err *err)
{
	const struct http_options options = {
		.routes = routes,
		.nroutes = ARRAY_LEN(routes),
		.limits = rs->conf->http,
		.ctx = rs,
		.log_all = rs->conf->access_log,
		.login = rs_let_in,
		.stopping = stop_waiting,
	};
	/* often enough for a short expiry */
	int64_t every_us = MIN(MAX(rs->conf->expiry_us / 10, US_PER_S / 4), US_PER_H);
	rs->steady_us = clock_wall_us() - clock_mono_us();
	if (rs_robot_new(&rs->robot, env->data, config_get(env->config, &robot_section),
			 &rs->keeper, every_us, err) < 0)
		return -1;
	int rc = http_serve(env, &options, rs->conf->drain_us, err);
	rs_robot_free(&rs->robot);
	return rc;
}

static int run(struct role_env *env, struct err *err)
{
	struct rs rs = {.conf = config_get(env->config, env->role->section),
			.cache = config_get(env->config, &cache_section),
			.mail = config_get(env->config, &mail_section),
			.counters = env->counters,
			.data = env->data,
			.keeper = {.fn = expire_once, .ctx = &rs},
			.lock = PTHREAD_MUTEX_INITIALIZER};
	snprintf(rs.folder, sizeof rs.folder, "%s/cache", env->data);
	if (pidb_open(&rs.pidb, rs.folder, err) < 0)
		return -1;
	int rc = rs_login_open(&rs, err);
	if (rc == 0)
		rc = serve_until_end(&rs, env, err);
	while (rs.dbs)
		db_close(&rs.db[--rs.dbs]);
	rs_login_close(&rs);
	pidb_close(&rs.pidb);
	return rc;
}

const struct role rs_role = {
	.name = "rs",
	.only_named = true,
	.summary = "register providers of the content cache",
	.description =
		"Serves the pages and the interface where owners of sites become providers. An "
		"owner registers and puts a secret into a file on the site; rs fetches that file "
		"at "
		"once. From then on the owner may announce changes (garner provider send, to the "
		"role uns). The provider's own page sets hours and bandwidth, and shows past and "
		"planned fetches and the receipt of each URL.\n\n"
		"rs listens on the loopback address by default. Limits on connections and shutdown "
		"work as in the role web, and rs answers to the same names: web.url and web.names. "
		"To serve other machines, put a proxy with TLS in front of it, since passwords "
		"pass "
		"through. All clients then share the proxy's address: raise rs.registers_per_day.",
	.scheme = "http",
	.section = &section,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.check = conf_check,
	.run = run,
};
