/* Pages of a provider: its prefixes, contract, past and planned fetches, receipts; and the answers
 * to their forms. */
#include "base/text.h"
#include "cache/rs/rs_inner.h"
#include "net/layout.h"

#include <inttypes.h>

static void put_number(struct html *h, const char *name, const char *value)
{
	html_open(h, "div");
	html_put_text(h, "dt", name);
	html_put_text(h, "dd", value);
	html_close(h, "div");
}

static const char *bytes_text(struct arena *arena, uint64_t bytes)
{
	static const char *const unit[] = {"B", "KB", "MB", "GB", "TB"};
	double v = (double)bytes;
	size_t i = 0;
	while (v >= 1000 && i + 1 < ARRAY_LEN(unit)) {
		v /= 1000;
		i++;
	}
	return arena_printf(arena, i ? "%.1f %s" : "%.0f %s", v, unit[i]);
}

static const char *count_text(struct arena *arena, uint64_t n)
{
	return arena_printf(arena, "%" PRIu64, n);
}

static void put_tally(struct html *h, struct arena *arena, const struct rs_state *s)
{
	html_open(h, "dl", "class", "numbers");
	put_number(h, "Files", count_text(arena, s->tally.files));
	put_number(h, "Stored", bytes_text(arena, s->tally.space));
	put_number(h, "Waiting", count_text(arena, s->tally.queued));
	put_number(h, "Errors", count_text(arena, s->tally.errors));
	html_close(h, "dl");
}

static const char *wanted_text(enum pidb_wanted why)
{
	static const char *const text[PIDB_NWANTED] = {
		[PIDB_OLD] = "Some of your pages were not confirmed for months. Send a full set.",
		[PIDB_EXPIRED] = "Some of your pages were not confirmed for so long that they were "
				 "removed. Send a full set.",
		[PIDB_CRASH] = "The cache may have lost something. Send a full set.",
	};
	return text[why];
}

static void put_prefixes(struct html *h, const struct rs_state *s, char (*secrets)[PIDB_SECRET + 1],
			 size_t n)
{
	html_put_text(h, "h2", "What is yours");
	if (s->nprefixes) {
		html_open(h, "ul");
		for (size_t i = 0; i < s->nprefixes; i++)
			html_put_text(h, "li", s->prefix[i]);
		html_close(h, "ul");
	} else {
		layout_note(h, "note",
			    "Nothing yet: put the secret into a file on your site, then enter its "
			    "URL on this page.");
	}
	if (n) {
		html_put_text(h, "p",
			      n == 1 ? "This secret waits for its file:"
				     : "These secrets wait for their files:");
		html_open(h, "ul");
		for (size_t i = 0; i < n; i++) {
			html_open(h, "li");
			html_put_text(h, "code", secrets[i]);
			html_close(h, "li");
		}
		html_close(h, "ul");
		rs_form(h, "/provider/verify");
		rs_field(h, "url", "URL of the file with the secret", "",
			 "its folder and everything below it are then yours");
		rs_form_end(h, "Look now");
	}
	rs_form(h, "/provider/secret");
	rs_form_end(h, s->nprefixes ? "New secret, for a further folder or host" : "New secret");
}

static void put_contract(struct html *h, struct arena *arena, const struct rs *rs,
			 const struct pidb_provider *who)
{
	CLEANUP(buf_free) struct buf bandwidth = BUF_INIT(100);
	if (who->bandwidth)
		put_size_exact(&bandwidth, who->bandwidth);
	html_put_text(h, "h2", "Contract");
	rs_form(h, "/provider/contract");
	rs_field(h, "hours", "Hours", who->hours,
		 rs->cache->slot_period
			 ? "of the week, in UTC, from Monday on: 0-24 is Monday, !9-17 forbids; "
			   "empty: "
			   "any"
			 : "of the day, in UTC: 0-8,22-24 allows, !9-17 forbids; empty: any");
	rs_field(h, "bandwidth", "Bandwidth", buf_text(&bandwidth),
		 "bytes a second, such as 50K; empty: any");
	rs_field(h, "mail", "Mail", who->mail, "where the operator reaches you");
	rs_form_end(h, "Change");
	html_open(h, "p", "class", "about");
	html_text(h, "Set by the operator: ");
	if (who->quota_files == UINT64_MAX)
		html_text(h, "any number of files, ");
	else
		html_printf(h, "at most %" PRIu64 " files, ", who->quota_files);
	html_text(h, who->quota_space == UINT64_MAX ? "any space"
						    : bytes_text(arena, who->quota_space));
	html_printf(h,
		    "; priority %" PRId64 "; full sets, unasked: %" PRIu64 " of %" PRId64 " sent.",
		    who->priority, who->fullsets_used, rs->cache->fullsets);
	html_close(h, "p");
}

static void table_begin(struct html *h, const char *const *head)
{
	layout_open(h, "div", "wide");
	html_open(h, "table");
	html_open(h, "tr");
	for (; *head; head++)
		html_put_text(h, "th", *head);
	html_close(h, "tr");
}

static void table_end(struct html *h)
{
	html_close(h, "table");
	html_close(h, "div");
}

static void cell_time(struct html *h, int64_t wall_us)
{
	html_open(h, "td");
	rs_put_time(h, wall_us);
	html_close(h, "td");
}

static void put_planned(struct html *h, const struct rs_plan *plan, struct arena *arena)
{
	const char *number = count_text(arena, plan->set);
	html_open(h, "tr");
	cell_time(h, plan->at_us);
	layout_open(h, "td", "n");
	if (plan->set)
		html_put_text(h, "a", number, "href",
			      arena_printf(arena, "/provider/receipts?set=%s", number));
	html_close(h, "td");
	html_put_text(h, "td", count_text(arena, plan->urls), "class", "n");
	layout_open(h, "td", "url");
	for (size_t i = 0; i < plan->nfirst; i++)
		html_put(h, "div", plan->first[i]);
	html_close(h, "td");
	html_put_text(h, "td", plan->why, "class", "why");
	html_close(h, "tr");
}

static int put_plan(struct html *h, struct http_request *req, struct err *err)
{
	static const char *const head[] = {"When (UTC)", "Set", "URLs", "First ones", "Why", NULL};
	struct rs_plan *plan;
	size_t n;
	if (rs_plan(req, &plan, &n, err) < 0)
		return -1;
	html_put_text(h, "h2", "What will be fetched");
	if (n == 0) {
		html_put_text(h, "p", "Nothing waits.");
		return 0;
	}
	table_begin(h, head);
	for (size_t i = 0; i < n; i++)
		put_planned(h, &plan[i], &req->arena);
	table_end(h);
	return 0;
}

static int put_fetches(struct html *h, struct http_request *req, struct err *err)
{
	static const char *const head[] = {"When (UTC)", "URL", "Result", "Bytes", NULL};
	struct db_fetch *fetch;
	size_t n;
	if (rs_fetches(req, &fetch, &n, err) < 0)
		return -1;
	html_put_text(h, "h2", "The last fetches");
	if (n == 0) {
		html_put_text(h, "p", "Nothing was fetched yet.");
		return 0;
	}
	table_begin(h, head);
	for (const struct db_fetch *f = fetch; f < fetch + n; f++) {
		html_open(h, "tr");
		cell_time(h, f->at_us);
		html_put(h, "td", f->url, "class", "url");
		html_put_text(h, "td", f->code ? cache_code_text(f->code) : "good", "class",
			      f->code ? "bad" : "good");
		html_put_text(h, "td", count_text(&req->arena, f->size), "class", "n");
		html_close(h, "tr");
	}
	table_end(h);
	return 0;
}

static void put_end(struct html *h)
{
	html_put_text(h, "h2", "Password");
	html_put_text(h, "p", "Makes a new password; the old one is then no longer valid.");
	rs_form(h, "/provider/password");
	rs_form_end(h, "New password");
	html_put_text(h, "h2", "The end");
	html_open(h, "p");
	html_put_text(h, "a", "Deregister", "href", "/provider/leave");
	html_text(h, " and remove everything stored of your pages.");
	html_close(h, "p");
}

int rs_page_mine(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct html h = HTML_INIT(ret->body);
	char secrets[RS_SECRETS][PIDB_SECRET + 1];
	struct rs_state s;
	size_t n;
	if (rs_state(req, &s, err) < 0 || rs_secrets(req, secrets, &n, err) < 0)
		return -1;
	ret->cache = "no-store";
	rs_page_begin(&h, arena_printf(&req->arena, "Provider %" PRIu64, s.who.id));
	html_put_text(&h, "p", s.who.site, "class", "about");
	if (s.who.wanted)
		layout_note(&h, "note bad", wanted_text(s.who.wanted));
	put_tally(&h, &req->arena, &s);
	put_prefixes(&h, &s, secrets, n);
	put_contract(&h, &req->arena, rs_of(req), &s.who);
	if (put_plan(&h, req, err) < 0 || put_fetches(&h, req, err) < 0)
		return -1;
	put_end(&h);
	rs_page_end(&h);
	return 0;
}

/* Forms */

static void put_verified(struct html *h, struct http_request *req, const struct rs_made *made)
{
	/* Cuts a long prefix. */
	layout_note(h, "note",
		    arena_printf(&req->arena,
				 "From now on you may announce changes below this address, and you "
				 "may remove the file: %.400s",
				 made->prefix));
	rs_put_way(h, "/provider", "To my page");
}

static void put_password(struct html *h, struct http_request *req, const struct rs_made *made)
{
	(void)req;
	layout_open(h, "dl", "keys");
	rs_put_key(h, "Password", made->password);
	html_close(h, "dl");
	html_put_text(h, "p",
		      "Write it down: it is not shown again. The old one is no longer valid, so "
		      "the browser asks you to log in again.");
}

static void put_deregistered(struct html *h, struct http_request *req, const struct rs_made *made)
{
	layout_note(h, "note",
		    arena_printf(&req->arena,
				 "Provider %" PRIu64
				 " is deleted; what is stored is being removed.",
				 made->provider));
	rs_put_way(h, "/provider", "To my page");
}

static int deregister_if_sure(struct http_request *req, struct rs_made *ret, struct err *err)
{
	const struct rs_params *p = req->params;
	return p->sure ? rs_deregister(req, ret, err)
		       : rs_tell(ret, 400, "Nothing was changed: confirm that you are sure.");
}

const struct rs_act rs_act_verify = {rs_verify, "Not found there", "It is yours", put_verified};
const struct rs_act rs_act_contract = {rs_contract, "Nothing was changed"};
const struct rs_act rs_act_secret = {rs_secret, "No new secret"};
const struct rs_act rs_act_password = {rs_password, "", "Your new password", put_password};
const struct rs_act rs_act_deregister = {deregister_if_sure, "Not deregistered", "Deregistered",
					 put_deregistered};

int rs_page_leave(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct html h = HTML_INIT(ret->body);
	(void)err;
	ret->cache = "no-store";
	rs_page_begin(&h, "Deregister?");
	layout_note(&h, "note bad",
		    arena_printf(&req->arena,
				 "This deletes provider %" PRIu64
				 " for good: its password, its contract, "
				 "and everything stored of its pages.",
				 rs_who(req)->id));
	rs_form(&h, "/provider/deregister");
	layout_hidden(&h, "sure", STR("yes"));
	rs_form_end(&h, "Deregister, for good");
	rs_put_way(&h, "/provider", "No, back to my page");
	rs_page_end(&h);
	return 0;
}

static void put_receipt(struct html *h, const struct db_receipt *r)
{
	bool is_bad = r->state == DB_FAILED;
	html_open(h, "tr");
	html_put(h, "td", r->c, "class", "url");
	html_put_text(h, "td", db_state_name(r->state), "class", is_bad ? "bad" : "");
	cell_time(h, r->at_us);
	html_open(h, "td", "class", "why");
	if (r->until_us) {
		html_text(h, "until ");
		rs_put_time(h, r->until_us);
		html_text(h, r->code || r->reason.n ? ": " : "");
	}
	CLEANUP(buf_free) struct buf code = BUF_INIT(r->reason.n + 200);
	if (r->code)
		cache_code_print(r->code, r->reason, &code);
	html_str(h, r->code ? buf_str(&code) : r->reason);
	html_close(h, "td");
	html_close(h, "tr");
}

static void put_receipts_form(struct html *h, const struct rs_params *p, struct arena *arena)
{
	html_open(h, "form", "class", "fill", "action", "/provider/receipts");
	rs_field(h, "set", "Set", p->set ? arena_printf(arena, "%" PRId64, p->set) : "",
		 "the number that the cache gave it; empty: the latest");
	rs_field(h, "url", "or URL", p->url, "the address of a page, as you sent it");
	rs_form_end(h, "Show");
}

static void put_more(struct html *h, struct arena *arena, const struct rs_receipts *r,
		     const struct rs_params *p)
{
	html_open(h, "p", "class", "pages");
	html_put_text(h, "a", "Further ones", "href",
		      arena_printf(arena, "/provider/receipts?set=%" PRIu64 "&after=%" PRId64,
				   r->set, p->after + (int64_t)r->n));
	html_close(h, "p");
}

int rs_page_receipts(struct http_request *req, struct http_answer *ret, struct err *err)
{
	static const char *const head[] = {"URL", "State", "Since (UTC)", "Why", NULL};
	const struct rs_params *p = req->params;
	struct html h = HTML_INIT(ret->body);
	struct rs_receipts r;
	if (rs_receipts(req, &r, err) < 0)
		return -1;
	ret->cache = "no-store";
	rs_page_begin(&h, "Receipts");
	put_receipts_form(&h, p, &req->arena);
	if (!r.is_known)
		layout_note(&h, "note", "Nothing is known of that: not yet, or no longer.");
	if (r.is_known && r.state) {
		html_open(&h, "p", "class", "about");
		html_printf(&h, "Set %" PRIu64 ", %s, %" PRIu64 " URLs, accepted ", r.set, r.state,
			    r.urls);
		rs_put_time(&h, r.at_us);
		html_close(&h, "p");
	}
	if (r.n) {
		table_begin(&h, head);
		for (size_t i = 0; i < r.n; i++)
			put_receipt(&h, &r.row[i]);
		table_end(&h);
	}
	if (r.more)
		put_more(&h, &req->arena, &r, p);
	rs_page_end(&h);
	return 0;
}
