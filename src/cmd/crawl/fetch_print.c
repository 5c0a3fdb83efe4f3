/* What `garner fetch` prints: lines of results, progress, the summary. Scripts see it too: the form
 * stays. */
#include "cmd/crawl/fetch_print.h"

#include "base/hash.h"
#include "base/rows.h"
#include "base/value.h"
#include "cmd/crawl/fetch.h"
#include "cmd/system/input.h"
#include "cmd/system/text.h"
#include "fetch/bot_wire.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

struct each_url {
	fetch_url_fn *add;
	void *ctx;
};

static int add_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	const struct each_url *each = ctx;
	(void)name, (void)line;
	text = str_trim(text);
	return text.n && text.p[0] != '#' ? each->add(each->ctx, text, err) : 0;
}

int fetch_each_url(const struct cmd_call *call, const char *from, fetch_url_fn *add, void *ctx,
		   struct err *err)
{
	struct each_url each = {add, ctx};
	for (int i = 0; i < call->argc; i++)
		if (add(ctx, str_of(call->argv[i]), err) < 0)
			return -1;
	return from[0] ? cmd_read_path_lines(from, (size_t)2 * URL_TEXT_MAX, add_line, &each, err)
		       : 0;
}

static void progress_show(void *ctx)
{
	struct fetch_report *r = ctx;
	fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64 " done, %" PRIu64 " under way, %.1f MB",
		r->done, r->urls, r->under_way(r->ctx), (double)r->bytes / 1e6);
	fflush(stderr);
}

static void on_signal(void *ctx, int number)
{
	struct fetch_report *r = ctx;
	(void)number;
	r->stopped = true;
	loop_stop(r->loop);
}

int fetch_report_begin(struct fetch_report *r, struct err *err)
{
	if (loop_signal(r->loop, SIGINT, on_signal, r, err) < 0 ||
	    loop_signal(r->loop, SIGTERM, on_signal, r, err) < 0)
		return -1;
	r->progress = (struct loop_timer){.fn = progress_show, .ctx = r};
	r->shows_progress = isatty(STDERR_FILENO);
	if (r->shows_progress)
		loop_timer_every(r->loop, &r->progress, FETCH_PROGRESS_US);
	return 0;
}

void fetch_report_fail(struct fetch_report *r, const struct err *err)
{
	if (r->err.code == ERR_NONE)
		r->err = *err;
	r->stopped = true;
	loop_stop(r->loop);
}

void fetch_report_count(struct fetch_report *r, enum outcome outcome, uint64_t bytes)
{
	r->done++;
	r->bytes += bytes;
	r->count[outcome]++;
}

void fetch_report_clear(const struct fetch_report *r)
{
	if (r->shows_progress)
		fprintf(stderr, "\r\033[K");
}

bool fetch_report_flush(struct fetch_report *r)
{
	struct err err;
	fetch_report_clear(r);
	bool wrote = fwrite(buf_text(&r->out), 1, r->out.n, r->call->out) == r->out.n &&
		     fflush(r->call->out) == 0;
	buf_clear(&r->out);
	if (!wrote) {
		err_sys(&err, "standard output");
		fetch_report_fail(r, &err);
	}
	return wrote;
}

int fetch_report_end(struct fetch_report *r, const char *requests, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	if (r->err.code != ERR_NONE) {
		*err = r->err;
		return -1;
	}
	fetch_report_clear(r);
	if (r->options->json)
		return 0;
	buf_printf(&out, "\n%" PRIu64 " of %" PRIu64 " URLs", r->done, r->urls);
	for (int i = 0; i < OUTCOME_COUNT; i++)
		if (r->count[i])
			buf_printf(&out, ", %" PRIu64 " %s", r->count[i],
				   outcome_name((enum outcome)i));
	buf_printf(&out, "\n%s%.1f MB, ", requests, (double)r->bytes / 1e6);
	duration_print_short(&out, loop_now_us(r->loop) - r->begun_us);
	buf_add_byte(&out, '\n');
	fwrite(out.p, 1, out.n, r->call->out);
	return 0;
}

int fetch_report_code(const struct fetch_report *r)
{
	uint64_t good = 0;
	for (int i = 0; i < OUTCOME_COUNT; i++)
		good += outcome_is_ok((enum outcome)i) ? r->count[i] : 0;
	if (good == r->urls)
		return 0;
	return good || r->stopped ? ERR_PARTLY : ERR_REMOTE;
}

static void print_cause(enum outcome outcome, struct str cause, struct str why, struct buf *out)
{
	char shown[VALUE_SHOWN];
	if (!outcome_is_ok(outcome))
		buf_printf(out, "  (" STR_FMT "%s%s%s)", STR_ARG(cause), why.n ? ": " : "",
			   value_show(why, shown),
			   outcome == OUTCOME_ADDRESS ? "; robot.networks can allow it" : "");
}

/* The URL comes last: it is what may be long. Visible ASCII is all that one can consist of. */
static void print_line(enum outcome outcome, int status, uint64_t size, struct str url,
		       struct buf *out)
{
	buf_printf(out, "%-14s %3d %10" PRIu64 "  ", outcome_name(outcome), status, size);
	url_show(url, out);
}

void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out)
{
	char why[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf location = BUF_INIT(r->location.n + 1);
	url_show(r->location, &location);
	print_line(r->outcome, r->head->status, r->size, url, out);
	if (r->location.n)
		buf_printf(out, " -> %s", value_show(buf_str(&location), why));
	else if (r->redirects)
		buf_printf(out, " -> " STR_FMT, STR_ARG(r->url));
	print_cause(r->outcome, str_of(robot_cause_name(r->cause)), str_of(r->why), out);
	buf_add_byte(out, '\n');
}

COL_NAMER(print_outcome, enum outcome, outcome_name)

struct answer {
	struct str url;
	struct bot_message m;
	unsigned has_mtime, has_size, has_md5;
};
static const struct column answer_columns[] = {
	COL("url", struct answer, url, .how = ROW_SOME),
	COL_OF("outcome", struct answer, m.outcome, print_outcome),
	COL("cause", struct answer, m.cause, .how = ROW_SOME),
	COL("why", struct answer, m.reason, .how = ROW_SOME),
	COL("status", struct answer, m.status, .how = ROW_SOME),
	COL("type", struct answer, m.mime, .how = ROW_SOME),
	COL("etag", struct answer, m.etag, .how = ROW_SOME),
	COL("last_modified_s", struct answer, m.mtime, COL_IF(struct answer, has_mtime)),
	COL("size", struct answer, m.size, COL_IF(struct answer, has_size)),
	COL("md5", struct answer, m.md5, COL_IF(struct answer, has_md5)),
	COL("machine", struct answer, m.machine, .how = ROW_SOME),
	COL("file", struct answer, m.file, .how = ROW_SOME),
};
static const struct rows answer_rows = {ROWS(struct answer, answer_columns)};

void fetch_print_answer_json(struct str url, const struct bot_message *m, struct buf *out)
{
	CLEANUP(buf_free) struct buf shown = BUF_INIT(url.n + 1);
	struct answer a = {.m = *m,
			   .has_mtime = m->has & BOT_HAS_MTIME,
			   .has_size = m->has & BOT_HAS_SIZE,
			   .has_md5 = m->has & BOT_HAS_MD5};
	url_show(url, &shown);
	a.url = buf_str(&shown);
	rows_json_line(&answer_rows, &a, out);
}

void fetch_print_answer_text(struct str url, const struct bot_message *m, struct buf *out)
{
	print_line(m->outcome, (int)m->status, m->size, url, out);
	print_cause(m->outcome, m->cause, m->reason, out);
	buf_add_byte(out, '\n');
}
