/* Answers as JSON; doc/protocols/providers.md describes them. */
#include "base/rows.h"
#include "cache/rs/rs_inner.h"

/* Whether the provider in the path is the one that logged in; if not, answers 403. */
static bool is_own(struct http_request *req, struct http_answer *ret)
{
	const struct rs_params *p = req->params;
	if ((uint64_t)p->id == rs_who(req)->id)
		return true;
	http_answer_error(req, ret, 403, "that is another provider");
	return false;
}

/* Some answers hold passwords, so none may be stored. */
static int answer_row(const struct rows *t, const void *row, struct http_answer *ret)
{
	rows_json_line(t, row, ret->body);
	ret->cache = "no-store";
	return 0;
}

static const struct column made_columns[] = {
	COL("provider", struct rs_made, provider, .how = ROW_SOME),
	COL("prefix", struct rs_made, prefix, .how = ROW_SOME),
	COL("password", struct rs_made, password, .how = ROW_SOME),
	COL("secret", struct rs_made, secret, .how = ROW_SOME),
	COL("expires", struct rs_made, expires_us, .unit = UNIT_TIME_SEC, .how = ROW_SOME),
	COL("mailed", struct rs_made, mailed, COL_IF(struct rs_made, is_registered)),
	COL("not_mailed", struct rs_made, not_mailed, .how = ROW_SOME),
};
static const struct rows made_rows = {ROWS(struct rs_made, made_columns)};

COL_NAMER(print_wanted, enum pidb_wanted, pidb_wanted_name)

struct state_row {
	struct rs_state s;
	uint64_t fullsets_left;
	struct value_list mime;
};
static const struct column contract_columns[] = {
	COL("bandwidth", struct state_row, s.who.bandwidth, .how = ROW_NULL),
	COL("hours", struct state_row, s.who.hours),
	COL("priority", struct state_row, s.who.priority),
	COL("quota_files", struct state_row, s.who.quota_files, .how = ROW_NULL | ROW_MOST),
	COL("quota_space", struct state_row, s.who.quota_space, .how = ROW_NULL | ROW_MOST),
};
static const struct rows contract_rows = {ROWS(struct state_row, contract_columns)};
static const struct column stored_columns[] = {
	COL("files", struct state_row, s.tally.files),
	COL("bytes", struct state_row, s.tally.space),
};
static const struct rows stored_rows = {ROWS(struct state_row, stored_columns)};
static const struct column state_columns[] = {
	COL("provider", struct state_row, s.who.id),
	COL("site", struct state_row, s.who.site),
	COL("mail", struct state_row, s.who.mail),
	COL("verified", struct state_row, s.who.is_verified),
	COL_LIST("prefixes", struct state_row, s.prefix, s.nprefixes, rows_texts),
	COL_GROUP("contract", struct state_row, contract_rows),
	COL_GROUP("stored", struct state_row, stored_rows),
	COL("queued", struct state_row, s.tally.queued),
	COL("errors", struct state_row, s.tally.errors),
	COL_OF("wanted", struct state_row, s.who.wanted, print_wanted),
	COL("fullsets_left", struct state_row, fullsets_left),
	COL("sessions", struct state_row, s.who.seq),
	COL("last_address", struct state_row, s.who.last_address),
	COL_LIST("mime", struct state_row, mime.item, mime.n, rows_texts),
};
static const struct rows state_rows = {ROWS(struct state_row, state_columns)};

static int answer_state(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct cache_conf *cache = rs_of(req)->cache;
	struct state_row row = {.mime = cache->mime};
	if (rs_state(req, &row.s, err) < 0)
		return -1;
	uint64_t allowed = (uint64_t)cache->fullsets;
	row.fullsets_left = allowed - MIN(allowed, row.s.who.fullsets_used);
	return answer_row(&state_rows, &row, ret);
}

int rs_api_state(struct http_request *req, struct http_answer *ret, struct err *err)
{
	return is_own(req, ret) ? answer_state(req, ret, err) : 0;
}

int rs_api_act(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_act *act = req->route->with;
	struct rs_made made = {0};
	if (req->who && !is_own(req, ret))
		return 0;
	int rc = act->work(req, &made, err);
	if (rc < 0 || rc == RS_LATER)
		return rc < 0 ? -1 : HTTP_LATER;
	if (rc == RS_TOLD) {
		if (made.status == 429)
			http_answer_header(req, ret, "Retry-After", STR("60"));
		http_answer_error(req, ret, made.status, "%s", made.text);
		return 0;
	}
	if (act->work == rs_contract)
		return answer_state(req, ret, err);
	ret->status = made.status ? made.status : 200;
	return answer_row(&made_rows, &made, ret);
}

/* Lists */

static const struct column fetch_columns[] = {
	COL("at", struct db_fetch, at_us, .unit = UNIT_TIME_SEC, .how = ROW_NULL),
	COL("url", struct db_fetch, url),
	COL("code", struct db_fetch, code),
	COL("bytes", struct db_fetch, size),
};
static const struct rows fetch_rows = {ROWS(struct db_fetch, fetch_columns)};

static const struct column plan_columns[] = {
	COL("set", struct rs_plan, set, .how = ROW_NULL),
	COL("urls", struct rs_plan, urls),
	COL("at", struct rs_plan, at_us, .unit = UNIT_TIME_SEC, .how = ROW_NULL),
	COL("why", struct rs_plan, why),
	COL_LIST("first", struct rs_plan, first, nfirst, rows_strs),
};
static const struct rows plan_rows = {ROWS(struct rs_plan, plan_columns)};

struct listed {
	const struct db_fetch *fetch;
	const struct rs_plan *plan;
	size_t n;
};
static const struct column fetches_columns[] = {
	COL_LIST("fetches", struct listed, fetch, n, fetch_rows)};
static const struct rows fetches_rows = {ROWS(struct listed, fetches_columns)};
static const struct column plans_columns[] = {COL_LIST("plan", struct listed, plan, n, plan_rows)};
static const struct rows plans_rows = {ROWS(struct listed, plans_columns)};

int rs_api_fetches(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct db_fetch *fetch;
	size_t n;
	if (!is_own(req, ret))
		return 0;
	if (rs_fetches(req, &fetch, &n, err) < 0)
		return -1;
	return answer_row(&fetches_rows, &(struct listed){.fetch = fetch, .n = n}, ret);
}

int rs_api_plan(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct rs_plan *plan;
	size_t n;
	if (!is_own(req, ret))
		return 0;
	if (rs_plan(req, &plan, &n, err) < 0)
		return -1;
	return answer_row(&plans_rows, &(struct listed){.plan = plan, .n = n}, ret);
}

COL_NAMER(print_state, enum db_state, db_state_name)

static const struct column receipt_columns[] = {
	COL("url", struct db_receipt, c),
	COL("mime", struct db_receipt, mime),
	COL_OF("state", struct db_receipt, state, print_state),
	COL("code", struct db_receipt, code, .how = ROW_NULL),
	COL("at", struct db_receipt, at_us, .unit = UNIT_TIME_SEC, .how = ROW_NULL),
	COL("until", struct db_receipt, until_us, .unit = UNIT_TIME_SEC, .how = ROW_NULL),
	COL("why", struct db_receipt, reason),
};
static const struct rows receipt_rows = {ROWS(struct db_receipt, receipt_columns)};
static const struct column receipts_columns[] = {
	COL("set", struct rs_receipts, set, .how = ROW_NULL),
	COL("state", struct rs_receipts, state),
	COL("at", struct rs_receipts, at_us, .unit = UNIT_TIME_SEC, .how = ROW_NULL),
	COL("urls", struct rs_receipts, urls),
	COL_LIST("receipts", struct rs_receipts, row, n, receipt_rows),
	COL("more", struct rs_receipts, more),
};
static const struct rows receipts_rows = {ROWS(struct rs_receipts, receipts_columns)};

int rs_api_receipts(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct rs_receipts receipts;
	if (rs_receipts(req, &receipts, err) < 0)
		return -1;
	return answer_row(&receipts_rows, &receipts, ret);
}
