/* What `garner fetch` says: lines for URLs, progress, the end. */
#include "cmd/fetch_inner.h"
#include "cmd/fetch_print.h"

#define FLUSH_US (20 * US_PER_MS)
#define SAY_WAIT_US (10 * US_PER_S) /* who looks on takes a longer silence for a hang */

enum { FLUSH_BYTES = 64 << 10 };

void fetch_progress(void *ctx)
{
	struct fetch *f = ctx;
	fprintf(stderr, "\r\033[K%llu of %llu done, %llu under way, %.1f MB",
		(unsigned long long)f->done, (unsigned long long)f->urls,
		(unsigned long long)robot_stats(f->kit.robot)->under_way, (double)f->bytes / 1e6);
	fflush(stderr);
}

static void clear_progress(const struct fetch *f)
{
	if (f->shows_progress)
		fprintf(stderr, "\r\033[K");
}

void fetch_flush(void *ctx)
{
	struct fetch *f = ctx;
	struct err err;
	clear_progress(f);
	bool wrote = fwrite(f->out.p, 1, f->out.n, f->call->out) == f->out.n &&
		     fflush(f->call->out) == 0;
	buf_clear(&f->out);
	if (!wrote) {
		err_sys(&err, "standard output");
		fetch_fail(f, &err);
	}
}

/* A thousand lines a second are not written one by one. */
static void flush_soon(struct fetch *f)
{
	if (f->out.n >= FLUSH_BYTES || !f->is_running)
		fetch_flush(f);
	else if (!f->flush.set)
		loop_timer_in(f->loop, &f->flush, FLUSH_US);
}

void fetch_report(struct fetch *f, struct str url, const struct robot_result *r, const char *file)
{
	bool kept = file && r->outcome == OUTCOME_OK;
	f->done++;
	f->bytes += r->size;
	f->count[r->outcome]++;
	if (f->options->json)
		fetch_print_json(url, r, kept ? file : NULL, &f->out);
	else
		fetch_print_text(url, r, &f->out);
	flush_soon(f);
}

/* A URL that nothing was done for. */
void fetch_report_bad(struct fetch *f, struct str url, const char *why)
{
	static const struct robot_head no_head = {.retry_after_us = -1};
	struct robot_result r = {.outcome = OUTCOME_PERMANENT,
				 .cause = ROBOT_CAUSE_URL,
				 .why = why,
				 .head = &no_head,
				 .last_modified_us = -1};
	fetch_report(f, url, &r, NULL);
}

void fetch_summary(const struct fetch *f)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	const struct robot_stats *stats = robot_stats(f->kit.robot);
	if (f->options->json)
		return;
	buf_printf(&out, "\n%llu of %llu URLs", (unsigned long long)f->done,
		   (unsigned long long)f->urls);
	for (int i = 0; i < OUTCOME_COUNT; i++)
		if (f->count[i])
			buf_printf(&out, ", %llu %s", (unsigned long long)f->count[i],
				   outcome_name((enum outcome)i));
	buf_printf(&out, "\n%llu requests (%llu for robots.txt), %.1f MB, ",
		   (unsigned long long)stats->requests, (unsigned long long)stats->robots_files,
		   (double)stats->bytes / 1e6);
	duration_print_short(&out, loop_now_us(f->loop) - f->begun_us);
	buf_add_byte(&out, '\n');
	fwrite(out.p, 1, out.n, f->call->out);
}

void fetch_report_wait(struct fetch *f, struct str url, const struct robot_result *r)
{
	CLEANUP(buf_free) struct buf why = BUF_INIT(256);
	struct robot_result given_up = *r;
	buf_add_text(&why, "the server is to be left alone for ");
	duration_print_short(&why, r->not_now_us);
	given_up.outcome = OUTCOME_SITE_TEMPORARY;
	given_up.why = buf_text(&why);
	fetch_report(f, url, &given_up, NULL);
}

void fetch_say_wait(struct fetch *f, qkey key, const struct robot_result *r)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(512);
	int64_t until_us = loop_now_us(f->loop) + r->not_now_us;
	char shown[ADDR_SHOWN];
	if (r->not_now_us < MAX(SAY_WAIT_US, 2 * r->delay_us) ||
	    (key == f->said_key && until_us <= f->said_until_us + US_PER_S))
		return;
	f->said_key = key;
	f->said_until_us = until_us;
	buf_printf(&line, "%s is to be left alone for ",
		   f->conf.robot.proxy[0] ? "a server" : addr_print(&r->addr, shown));
	duration_print_short(&line, r->not_now_us);
	clear_progress(f);
	fprintf(stderr, "%s: its URLs wait\n", buf_text(&line));
}
