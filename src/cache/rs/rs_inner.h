/* The registration server: what its files share.
 *
 * Handlers run in pool threads and may block. Work and presentation are separate: rs_register.c and
 * rs_read.c do the work, rs_api.c presents it as JSON, rs_pages.c and rs_mine.c as HTML. */
#pragma once
#include "base/pool.h"
#include "cache/cache_conf.h"
#include "cache/db.h"
#include "cache/rs/rs_robot.h"
#include "cache/uns/login.h"
#include "net/http.h"
#include "net/mail.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

struct rs_conf {
	const char *listen, *url, *mail_from;
	int64_t expiry_us, registers_per_day, mails_per_day;
	int64_t drain_us;
	struct http_limits http;
	bool access_log;
};

/* After those of HTTP. */
#define RS_COUNTERS(X)                                                         \
	X(REGISTERED, "registered", NULL, TOTAL, "Registrations, first step.") \
	X(VERIFIED, "verified", NULL, TOTAL, "Prefixes proved.")               \
	X(UNPROVEN, "unproven", NULL, TOTAL,                                   \
	  "Files that could not be fetched or did not hold the secret.")       \
	X(MAILS, "mails", NULL, TOTAL, "Mails sent with registrations.")       \
	X(WRONG, "wrong_logins", NULL, TOTAL, "Logins refused.")               \
	X(GONE, "deregistered", NULL, TOTAL, "Providers that deregistered.")

enum rs_counter {
	RS_COUNT_BEFORE = HTTP_NCOUNTERS - 1,
#define X(symbol, ...) RS_COUNT_##symbol,
	RS_COUNTERS(X)
#undef X
};

enum { RS_DBS = 16 };

struct rs {
	const struct rs_conf *conf;
	const struct cache_conf *cache;
	const struct mail_conf *mail;
	struct counters *counters;
	const char *data;
	char folder[PATH_MAX]; /* DATA/cache */
	struct pidb *pidb;
	struct login *login;
	struct pool *hashes; /* one thread, for passwords that are not remembered */
	atomic_bool stops;
	struct rs_robot *robot;
	/* Deletes expired registrations, in the robot's thread. */
	struct loop_timer keeper;
	int64_t steady_us;     /* wall clock minus monotonic clock at its last call */
	pthread_mutex_t lock;  /* protects the rest */
	struct db *db[RS_DBS]; /* idle handles */
	size_t dbs;
};

/* Default of texts for which "" is a value: the parameter is absent. */
#define RS_UNSAID "-"
/* Parameters of all routes, from path and form; each route fills its own. */
struct rs_params {
	int64_t id;
	const char *site, *mail, *url, *mime, *bandwidth, *hours;
	bool send, sure;
	int64_t set, after, n;
};

static inline struct rs *rs_of(const struct http_request *req)
{
	return req->ctx;
}
static inline const struct pidb_provider *rs_who(const struct http_request *req)
{
	return req->who;
}

/* rs_login.c. rs_login_stop() fails all requests that wait for a hash. */
int rs_login_open(struct rs *rs, struct err *err);
void rs_login_stop(struct rs *rs);
void rs_login_close(struct rs *rs);
int rs_let_in(struct http_request *req, uint64_t number, struct str password, int64_t *ret_wait_us,
	      struct err *err);

/* The result of a change: what was made (all else is zero), or why the request was refused. */
struct rs_made {
	int status;     /* of HTTP; 0: 200 */
	char text[600]; /* RS_TOLD: the reason, for the client */
	uint64_t provider;
	char prefix[PIDB_URL_MAX + 1], password[PIDB_PASSWORD + 1], secret[PIDB_SECRET + 1];
	int64_t expires_us; /* of the secret */
	bool is_registered, mailed;
	const char *not_mailed; /* why the mail that was wanted was not sent; else NULL */
};
/* Results of the functions below; negative: failed. RS_LATER: return HTTP_LATER and make the same
 * call when the handler is called again. */
enum { RS_DONE, RS_TOLD, RS_LATER };
/* Sets status and text. Returns RS_TOLD. */
int rs_tell(struct rs_made *ret, int status, const char *fmt, ...) PRINTF_LIKE(3, 4);

/* A new password and its line. */
struct rs_password {
	char text[PIDB_PASSWORD + 1], line[PASSWORD_LINE];
};
int rs_password_make(struct http_request *req, struct rs_password **ret, struct err *err);

/* rs_register.c: changes, from the parameters of the request. */

/* Writes n random characters and a NUL. */
int rs_random_text(char *ret, size_t n, struct err *err);

typedef int rs_work(struct http_request *req, struct rs_made *ret, struct err *err);
rs_work rs_register, rs_verify, rs_secret, rs_password, rs_contract, rs_deregister;
/* Lists the secrets that wait for their file. */
enum { RS_SECRETS = 10 };
int rs_secrets(struct http_request *req, char (*ret)[PIDB_SECRET + 1], size_t *ret_n,
	       struct err *err);
/* Mails number, password and secret. false: *ret_why says why not. */
bool rs_mail(struct rs *rs, const char *to, const struct rs_made *r, const char **ret_why);

/* rs_read.c: reads what is known of a provider into the request's arena. */

/* Keeps PIDB from assigning a number that the cache still has rows for. */
int rs_numbers_reserve(struct rs *rs, struct err *err);

struct rs_plan {
	uint64_t set; /* its number as the provider knows it; 0: no longer known */
	uint64_t urls;
	int64_t at_us; /* 0: now, as its turn comes */
	const char *why;
	struct str first[3];
	size_t nfirst;
};
struct rs_receipts {
	bool is_known;
	const char *state; /* of the set; NULL: of a URL alone */
	uint64_t set, urls;
	int64_t at_us;
	struct db_receipt *row;
	size_t n;
	bool more;
};
struct rs_state {
	struct pidb_provider who;
	char **prefix;
	size_t nprefixes;
	struct db_tally tally;
};
int rs_state(struct http_request *req, struct rs_state *ret, struct err *err);
int rs_fetches(struct http_request *req, struct db_fetch **ret, size_t *ret_n, struct err *err);
int rs_plan(struct http_request *req, struct rs_plan **ret, size_t *ret_n, struct err *err);
int rs_receipts(struct http_request *req, struct rs_receipts *ret, struct err *err);
int64_t rs_since_us(const struct rs *rs); /* start of the period in which full sets are counted */

struct html;
/* A change, as `with` of its routes. rs_api_act() uses `work` alone, rs_page_act() all of it. */
struct rs_act {
	rs_work *work;
	const char *refused, *done; /* titles of the page that answers */
	/* Writes that page after success. NULL: redirect to the provider's page instead. */
	void (*put)(struct html *h, struct http_request *req, const struct rs_made *made);
};
extern const struct rs_act rs_act_register, rs_act_verify, rs_act_contract, rs_act_secret,
	rs_act_password, rs_act_deregister;

/* rs_api.c, rs_pages.c, rs_mine.c: handlers. */
#define RS_HANDLER(name) \
	int name(struct http_request *req, struct http_answer *ret, struct err *err)
RS_HANDLER(rs_api_act);
RS_HANDLER(rs_api_state);
RS_HANDLER(rs_api_fetches);
RS_HANDLER(rs_api_plan);
RS_HANDLER(rs_api_receipts);
RS_HANDLER(rs_page_act);
RS_HANDLER(rs_page_home);
RS_HANDLER(rs_page_mine);
RS_HANDLER(rs_page_leave);
RS_HANDLER(rs_page_receipts);

/* rs_pages.c: parts of all pages. */
void rs_page_begin(struct html *h, const char *title);
void rs_page_end(struct html *h);
void rs_put_time(struct html *h, int64_t wall_us);
/* Writes a paragraph with a link. */
void rs_put_way(struct html *h, const char *href, const char *text);
/* Adds a name and a value to copy to the open list. */
void rs_put_key(struct html *h, const char *name, const char *value);
/* Begins a form that posts; adds a field; adds the button and ends the form. */
void rs_form(struct html *h, const char *action);
void rs_field(struct html *h, const char *name, const char *label, const char *value,
	      const char *help);
void rs_form_end(struct html *h, const char *button);
