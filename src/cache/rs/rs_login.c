/* Logins and new passwords of the registration server. A remembered password is accepted at once.
 * One that must be hashed waits for the hashing thread while its request is set aside, so strangers
 * who guess passwords do not hold up known providers. The queue of that thread is short, and one
 * address can take only part of it. */
#include "base/clock.h"
#include "base/hash.h"
#include "cache/rs/rs_inner.h"

enum { HASHES_WAIT = 256, HASHES_SHARE = 16 };

/* A password being checked or made, in the request's arena. */
struct hashing {
	struct pool_job job;
	struct rs *rs;
	struct http_request *req;
	bool makes;
	struct rs_password made;
	struct login_ask ask;
	struct pidb_provider who;
	enum login_refusal why;
	int64_t wait_us;
	int rc;
	struct err err;
};

int rs_login_open(struct rs *rs, struct err *err)
{
	const struct pool_options options = {
		.threads = 1, .queue = HASHES_WAIT, .share = HASHES_SHARE};
	rs->login = login_new(rs->pidb);
	return pool_new(&rs->hashes, &options, err);
}

void rs_login_stop(struct rs *rs)
{
	atomic_store(&rs->stops, true);
	pool_drain(rs->hashes);
}

void rs_login_close(struct rs *rs)
{
	pool_free(&rs->hashes);
	login_free(&rs->login);
}

static void hashing_run(struct pool_job *job)
{
	struct hashing *h = LIST_OF(struct hashing, job, job);
	if (atomic_load(&h->rs->stops))
		h->rc = err_set(&h->err, ERR_BUSY, "this server stops: try again later");
	else if (h->makes)
		h->rc = login_password_make(h->rs->login, str_of(h->made.text), h->made.line,
					    &h->err);
	else
		h->rc = login_check(h->rs->login, &h->ask, &h->who, &h->why, &h->wait_us, &h->err);
	http_again(h->req);
}

/* http_again() is called when it is done. */
static int hashing_begin(struct hashing *h, struct err *err)
{
	struct str address = str_of(http_from(h->req));
	h->job = (struct pool_job){.run = hashing_run, .client = hash64(address) | 1};
	if (!pool_claim(h->rs->hashes, &h->job))
		return err_set(err, ERR_BUSY,
			       "too many passwords are being checked: try again later");
	h->req->later = h;
	pool_post(h->rs->hashes, &h->job); /* from here on it belongs to the pool */
	return 0;
}

int rs_password_make(struct http_request *req, struct rs_password **ret, struct err *err)
{
	struct rs *rs = rs_of(req);
	struct hashing *h = req->later;
	if (h) {
		*ret = &h->made;
		if (h->rc < 0)
			*err = h->err;
		return h->rc < 0 ? -1 : RS_DONE;
	}
	h = arena_alloc(&req->arena, sizeof *h);
	*h = (struct hashing){.rs = rs, .req = req, .makes = true};
	if (rs_random_text(h->made.text, PIDB_PASSWORD, err) < 0 || hashing_begin(h, err) < 0)
		return -1;
	return RS_LATER;
}

static int login_end(struct hashing *h, int64_t *ret_wait_us, struct err *err)
{
	if (h->rc < 0)
		*err = h->err;
	if (h->rc == 0)
		h->req->who = &h->who;
	if (h->rc == 1)
		counters_add(h->rs->counters, RS_COUNT_WRONG, 1);
	*ret_wait_us = h->wait_us;
	return h->rc;
}

static int login_begin(struct hashing *h, int64_t *ret_wait_us, struct err *err)
{
	h->ask.quickly = true;
	h->rc = login_check(h->rs->login, &h->ask, &h->who, &h->why, &h->wait_us, &h->err);
	if (h->rc != 1 || h->why != LOGIN_SLOWLY)
		return login_end(h, ret_wait_us, err);
	h->ask.quickly = false;
	return hashing_begin(h, err) < 0 ? -1 : HTTP_LOGIN_LATER;
}

int rs_let_in(struct http_request *req, uint64_t number, struct str password, int64_t *ret_wait_us,
	      struct err *err)
{
	struct rs *rs = rs_of(req);
	struct hashing *h = req->later;
	if (h) {
		req->later = NULL;
		return login_end(h, ret_wait_us, err);
	}
	h = arena_alloc(&req->arena, sizeof *h);
	*h = (struct hashing){.rs = rs,
			      .req = req,
			      .ask = {.provider = number,
				      .password = password,
				      .address = str_of(http_from(req)),
				      .unverified_too = true,
				      .since_us = rs_since_us(rs),
				      .now_mono_us = clock_mono_us()}};
	return login_begin(h, ret_wait_us, err);
}
