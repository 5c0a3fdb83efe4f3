/* garner provider status, set, receipts: what the cache knows of a provider, by its registration
 * server. */
#include "base/clock.h"
#include "base/jsonw.h"
#include "cache/cache_conf.h"
#include "cache/codes.h"
#include "cmd/cache/cache.h"
#include "cmd/cache/provider_http.h"
#include "cmd/cache/provider_send.h"
#include "cmd/system/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { FORM_MOST = 64 << 10, WHAT_MOST = 256, PAGE = 1000, CELL_MOST = 4096, WORD_MOST = 32 };
#define WAIT_LEAST_US (200 * US_PER_MS)
#define WAIT_MOST_US (5 * US_PER_S)

#define EXITS_REMOTE                                                             \
	{                                                                        \
		ERR_REMOTE, "the registration server did not answer, or refused" \
	}

static void put_quota(struct buf *out, const json_t *contract)
{
	const json_t *files = json_object_get(contract, "quota_files");
	const json_t *space = json_object_get(contract, "quota_space");
	if (!files || json_is_null(files))
		buf_add_text(out, "any number of files, ");
	else
		buf_printf(out, "%" PRIu64 " files, ", json_number_of(contract, "quota_files"));
	if (!space || json_is_null(space))
		buf_add_text(out, "of any size");
	else
		put_size_exact(out, json_number_of(contract, "quota_space"));
	buf_add_byte(out, '\n');
}

static void put_words(struct buf *out, const json_t *object, const char *name, const char *none)
{
	const char *text = json_text_of(object, name);
	put_safe(out, str_of(*text ? text : none));
	buf_add_byte(out, '\n');
}

static void put_prefixes(struct buf *out, const json_t *answer)
{
	size_t i;
	const json_t *prefix;
	json_array_foreach(json_object_get(answer, "prefixes"), i, prefix)
	{
		buf_add_text(out, i ? "            " : "prefixes    ");
		put_safe(out, str_of(json_is_string(prefix) ? json_string_value(prefix) : ""));
		buf_add_byte(out, '\n');
	}
}

static void put_contract(struct buf *out, const json_t *answer)
{
	const json_t *c = json_object_get(answer, "contract");
	uint64_t bandwidth = json_number_of(c, "bandwidth");
	buf_add_text(out, "bandwidth   ");
	if (bandwidth)
		put_size_exact(out, bandwidth);
	buf_add_text(out, bandwidth ? " a second\n" : "any\n");
	buf_add_text(out, "hours       ");
	put_words(out, c, "hours", "any");
	buf_add_text(out, "quota       ");
	put_quota(out, c);
}

static void put_sources(struct buf *out, const struct provider *p)
{
	for (size_t i = 0; i < p->file.sources; i++) {
		const struct provider_source *s = &p->file.source[i];
		buf_printf(out, "%s", s->is_tree ? "tree        " : "sitemap     ");
		put_safe(out, s->place);
		if (s->is_tree) {
			buf_add_text(out, " as ");
			put_safe(out, s->prefix);
		}
		buf_add_byte(out, '\n');
	}
}

static void put_status(struct buf *out, const struct provider *p, const json_t *answer)
{
	const json_t *stored = json_object_get(answer, "stored");
	const char *wanted = json_text_of(answer, "wanted");
	bool verified = json_is_true(json_object_get(answer, "verified"));
	buf_printf(out, "provider    %" PRIu64 "%s\n", p->file.id,
		   verified ? "" : ", not verified yet: garner provider verify FILE-URL");
	buf_add_text(out, "site        ");
	put_words(out, answer, "site", "");
	put_prefixes(out, answer);
	put_contract(out, answer);
	buf_printf(out, "stored      %" PRIu64 " files, %" PRIu64 " bytes\n",
		   json_number_of(stored, "files"), json_number_of(stored, "bytes"));
	buf_printf(out, "queued      %" PRIu64 "\nerrors      %" PRIu64 "\n",
		   json_number_of(answer, "queued"), json_number_of(answer, "errors"));
	buf_printf(out, "sent        %zu URL%s", p->file.sent.n, p->file.sent.n == 1 ? "" : "s");
	if (p->file.set)
		buf_printf(out, ", the last set was %" PRIu64, p->file.set);
	buf_add_byte(out, '\n');
	put_sources(out, p);
	buf_printf(out, "full sets   %" PRIu64 " more unasked\n",
		   json_number_of(answer, "fullsets_left"));
	if (*wanted) {
		buf_add_text(out, "wanted      a full set (");
		put_safe(out, str_of(wanted));
		buf_add_text(out, provider_is_due(p)
					  ? "): garner provider sync sends it\n"
					  : "); now: garner provider sync -s provider.check=0\n");
	}
	buf_add_text(out, "last seen   ");
	put_words(out, answer, "last_address", "never");
}

static int status_print(const struct provider *p, const json_t *answer, bool json)
{
	struct buf out = BUF_INIT(1 << 20);
	if (json)
		provider_print_json(p->call, answer);
	else
		put_status(&out, p, answer);
	return cmd_print(p->call, &out);
}

static int status_ask(const struct provider *p, json_t **ret, struct err *err)
{
	char what[WHAT_MOST];
	snprintf(what, sizeof what, "providers/%" PRIu64, p->file.id);
	return provider_ask(p, what, NULL, true, ret, err);
}

/* Both commands are answered with the provider's state. */
static int status_run(const struct cmd_call *call,
		      int (*ask)(const struct provider *p, json_t **ret, struct err *err),
		      struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(provider_close) struct provider p;
	json_t *answer = NULL;
	if (provider_open(&p, call, PROVIDER_REGISTERED, false, err) < 0 ||
	    ask(&p, &answer, err) < 0)
		return -1;
	int code = status_print(&p, answer, o->json);
	json_decref(answer);
	return code;
}

static int run_status(const struct cmd_call *call, struct err *err)
{
	return status_run(call, status_ask, err);
}

/* set */

/* NAME=VALUE, of the contract. */
static int set_param(struct buf *form, struct str arg, struct err *err)
{
	static const char *const names[] = {"bandwidth", "hours", "mail"};
	struct str rest = arg, name;
	uint64_t ignored;
	(void)str_cut(&rest, '=', &name);
	if (rest.p && str_is(name, "bandwidth") && cache_bandwidth_parse(rest, &ignored, err) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(names) && rest.p; i++)
		if (str_is(name, names[i])) {
			provider_param(form, names[i], rest);
			return 0;
		}
	return err_set(err, ERR_USAGE,
		       STR_FMT ": expected bandwidth=SIZE, hours=LIST or mail=ADDRESS",
		       STR_ARG(str_head(arg, 80)));
}

static int set_ask(const struct provider *p, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	char what[WHAT_MOST];
	for (int i = 0; i < p->call->argc; i++)
		if (set_param(&form, str_of(p->call->argv[i]), err) < 0)
			return -1;
	snprintf(what, sizeof what, "providers/%" PRIu64 "/contract", p->file.id);
	return provider_ask(p, what, &form, true, ret, err);
}

static int run_set(const struct cmd_call *call, struct err *err)
{
	return status_run(call, set_ask, err);
}

/* receipts */

struct receipts_options {
	bool json, wait;
	const char *url;
	int64_t most_us;
};

struct receipts_view {
	const struct provider *p;
	const struct receipts_options *o;
	uint64_t set;
	json_t *head; /* of the first page */
	json_t *rows;
};

static int receipts_page(struct receipts_view *v, uint64_t after, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf what = BUF_INIT(FORM_MOST);
	if (v->o->url[0])
		provider_param(&what, "url", str_of(v->o->url));
	else
		buf_printf(&what, "set=%" PRIu64 "&after=%" PRIu64 "&n=%d", v->set, after, PAGE);
	CLEANUP(buf_free) struct buf path = BUF_INIT(FORM_MOST + WHAT_MOST);
	buf_printf(&path, "receipts?%s", buf_text(&what));
	return provider_ask(v->p, buf_text(&path), NULL, true, ret, err);
}

/* All rows; asks for the latest set once, and then for that one. */
static int receipts_read(struct receipts_view *v, struct err *err)
{
	bool more = true;
	json_decref(v->head);
	json_decref(v->rows);
	v->head = NULL;
	v->rows = json_array();
	while (more) {
		json_t *page = NULL;
		if (receipts_page(v, json_array_size(v->rows), &page, err) < 0)
			return -1;
		json_t *rows = json_object_get(page, "receipts");
		size_t n = json_array_size(rows);
		more = n && json_is_true(json_object_get(page, "more"));
		if (n)
			json_array_extend(v->rows, rows);
		if (!v->set)
			v->set = json_number_of(page, "set");
		if (v->head)
			json_decref(page);
		else
			v->head = page;
	}
	json_object_set(v->head, "receipts", v->rows);
	json_object_del(v->head, "more");
	return 0;
}

static bool is_final(const char *state)
{
	static const char *const words[] = {"stored", "unchanged", "failed", "removed"};
	return STR_AMONG(str_of(state), words);
}

static bool receipts_final(const struct receipts_view *v)
{
	size_t i;
	const json_t *row;
	const char *state = json_text_of(v->head, "state");
	/* what the notification server still holds is not known here */
	bool pending = strcmp(state, "kept") == 0 || strcmp(state, "queued") == 0 ||
		       (strcmp(state, "unknown") == 0 && v->set && v->set == v->p->file.set);
	if (!v->o->url[0] && pending)
		return false;
	json_array_foreach(v->rows, i, row)
	{
		if (!is_final(json_text_of(row, "state")))
			return false;
	}
	return true;
}

/* On a terminal, what is still waited for. */
static void receipts_progress(const struct receipts_view *v)
{
	size_t i, done = 0;
	const json_t *row;
	const char *until = "";
	if (v->o->json || !isatty(STDERR_FILENO))
		return;
	json_array_foreach(v->rows, i, row)
	{
		done += is_final(json_text_of(row, "state"));
		if (!*until)
			until = json_text_of(row, "until");
	}
	CLEANUP(buf_free) struct buf out = BUF_INIT(CELL_MOST);
	buf_printf(&out, "\r\033[K%zu of %zu URLs are done", done, json_array_size(v->rows));
	if (*until) {
		buf_add_text(&out, "; one waits until ");
		put_safe(&out, str_utf8_head(str_of(until), WORD_MOST));
	}
	fprintf(stderr, "%s", buf_text(&out));
	fflush(stderr);
}

static void receipts_unshow(const struct receipts_view *v)
{
	if (v->o->wait && !v->o->json && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* Asks again, less and less often. 1: the time was over. */
static int receipts_wait(struct receipts_view *v, struct err *err)
{
	int64_t pause_us = WAIT_LEAST_US, until_us = clock_mono_us() + v->o->most_us;
	for (;;) {
		if (receipts_read(v, err) < 0)
			return -1;
		if (!v->o->wait || receipts_final(v))
			return 0;
		if (clock_mono_us() + pause_us > until_us)
			return 1;
		receipts_progress(v);
		(void)usleep((useconds_t)pause_us);
		pause_us = MIN(pause_us * 2, WAIT_MOST_US);
	}
}

/* A word of the server's, filled up to a column. */
static void put_word(struct buf *out, const json_t *object, const char *name, size_t width)
{
	size_t before = out->n;
	put_safe(out, str_utf8_head(str_of(json_text_of(object, name)), WORD_MOST));
	size_t n = text_columns(str_from(buf_str(out), before));
	buf_fill(out, ' ', n < width ? width - n : 0);
}

static void put_receipt(struct buf *out, const json_t *row)
{
	uint64_t code = json_number_of(row, "code");
	const char *until = json_text_of(row, "until"), *why = json_text_of(row, "why");
	put_word(out, row, "state", 9);
	buf_add_byte(out, ' ');
	put_word(out, row, "at", 20);
	buf_add_byte(out, ' ');
	put_safe(out, str_of(json_text_of(row, "url")));
	if (*until || *why || code)
		buf_add_text(out, "\n         ");
	if (*until) {
		buf_add_text(out, " until ");
		put_word(out, row, "until", 0);
	}
	CLEANUP(buf_free) struct buf safe = BUF_INIT(CELL_MOST);
	put_safe(&safe, str_utf8_head(str_of(why), CELL_MOST));
	if (code || *why)
		buf_add_byte(out, ' ');
	if (code)
		cache_code_print((unsigned)code, buf_str(&safe), out);
	else
		buf_add_str(out, buf_str(&safe));
	buf_add_byte(out, '\n');
}

static void receipts_print(const struct receipts_view *v)
{
	struct buf out = BUF_INIT((size_t)1 << 30);
	size_t i;
	const json_t *row;
	if (v->o->json) {
		provider_print_json(v->p->call, v->head);
		return;
	}
	uint64_t urls = json_number_of(v->head, "urls");
	bool unknown = strcmp(json_text_of(v->head, "state"), "unknown") == 0;
	if (!v->o->url[0] && !v->set) {
		fprintf(stderr, "garner: no set was sent yet; garner provider send sends one\n");
	} else if (!v->o->url[0] && unknown && v->set != v->p->file.set) {
		fprintf(stderr,
			"garner: the cache has no set %" PRIu64 " of this provider, or not its "
			"receipts any more; without a number they are of the latest one\n",
			v->set);
	} else if (!v->o->url[0]) {
		buf_printf(&out, "set %" PRIu64 ": ", v->set);
		if (strcmp(json_text_of(v->head, "state"), "kept") == 0)
			buf_add_text(&out, "kept until the queue manager of the cache is back");
		else
			put_word(&out, v->head, "state", 0);
		buf_printf(&out, ", %" PRIu64 " URL%s\n", urls, urls == 1 ? "" : "s");
	} else if (!json_array_size(v->rows))
		fprintf(stderr, "garner: nothing is known of %s\n", v->o->url);
	json_array_foreach(v->rows, i, row)
	{
		put_receipt(&out, row);
	}
	cmd_print(v->p->call, &out);
}

/* 0 all are good; 1 there are none; ERR_PARTLY: some failed, or are not final. */
static int receipts_code(const struct receipts_view *v, int waited)
{
	size_t i;
	const json_t *row;
	int code = waited ? ERR_PARTLY : 0;
	if (!json_array_size(v->rows) && (v->o->url[0] || !json_number_of(v->head, "urls")))
		return waited ? ERR_PARTLY : 1;
	json_array_foreach(v->rows, i, row)
	{
		if (strcmp(json_text_of(row, "state"), "failed") == 0)
			code = ERR_PARTLY;
	}
	return code;
}

static int run_receipts(const struct cmd_call *call, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	struct receipts_view v = {.p = &p, .o = call->options};
	if (provider_open(&p, call, PROVIDER_REGISTERED, false, err) < 0)
		return -1;
	if (call->argc && (!str_u64(str_of(call->argv[0]), &v.set) || v.o->url[0]))
		return err_set(err, ERR_USAGE, "expected the number of a set, or --url");
	if (!v.set)
		v.set = p.file.set;
	int rc = receipts_wait(&v, err);
	receipts_unshow(&v);
	if (rc >= 0) {
		receipts_print(&v);
		rc = receipts_code(&v, rc);
	}
	json_decref(v.head);
	json_decref(v.rows);
	return rc;
}

const struct command provider_status_command = {
	.name = "status",
	.summary = "show what the cache stores of this provider, and the contract",
	.description = "Prefixes, contract, what is stored and queued, how many errors there were, "
		       "whether a full set is wanted, and which trees and sitemaps are synced.",
	CMD_JSON(0, "print JSON"),
	CMD_EXAMPLES({"garner provider status", "all of it"},
		     {"garner provider status --json", "for programs"}),
	CMD_EXITS(EXITS_REMOTE),
	.run = run_status,
};
const struct command provider_set_command = {
	.name = "set",
	.summary = "set how fast and when the cache may fetch",
	.description =
		"Changes the contract, at once. bandwidth is bytes a second (50K; 0: any), hours a "
		"list of hours in UTC at which the cache may fetch: 0-8,22-24, or, to forbid some, "
		"!9-17. mail is where the operator can write to.",
	CMD_JSON(0, "print JSON"),
	CMD_ARGS("NAME=VALUE...", 1, -1, "bandwidth=SIZE, hours=LIST, mail=ADDRESS"),
	CMD_EXAMPLES({"garner provider set bandwidth=50K hours=0-8", "slowly, and at night"},
		     {"garner provider set bandwidth=0 hours=", "at any time, as fast as it goes"}),
	CMD_EXITS(EXITS_REMOTE),
	.run = run_set,
};

#define O(type, member) VALUE_##type##_AT(struct receipts_options, member)
static const struct cmd_option receipts_options[] = {
	CMD_FLAG(0, "json", struct receipts_options, json, "print JSON"),
	CMD_OPTION(0, "TIME", "timeout", O(TIME, most_us), .fallback = "1h", .min = 0,
		   .max = 366 * 86400e6, .help = "how long --wait waits"),
	CMD_OPTION(0, "URL", "url", O(TEXT, url), .help = "of this URL alone"),
	CMD_FLAG(0, "wait", struct receipts_options, wait,
		 "until all are stored, unchanged, failed or removed"),
};
const struct command provider_receipts_command = {
	.name = "receipts",
	.summary = "show the state of each URL of a set",
	.description = "Each URL that was accepted has a receipt: queued, waiting (until when, and "
		       "why), fetching, stored, unchanged, failed (with a code, and in words) or "
		       "removed. Without SET, of the latest one.",
	CMD_OPTIONS(receipts_options, struct receipts_options),
	CMD_ARGS("[SET]", 0, 1, "the number that garner provider send has printed"),
	CMD_EXAMPLES(
		{"garner provider receipts", "of the latest set"},
		{"garner provider receipts 12 --wait", "when all of set 12 is done"},
		{"garner provider receipts --url http://www.example.com/a.html", "of one URL"}),
	CMD_EXITS({1, "there is no such set, or nothing in it"},
		  {ERR_PARTLY, "some have failed, or the time of --wait was over"}, EXITS_REMOTE),
	.run = run_receipts,
};
