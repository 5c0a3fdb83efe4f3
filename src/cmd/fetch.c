/* garner fetch: a list of URLs, politely. */
#include "base/file.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/fetch_inner.h"
#include "cmd/input.h"
#include "cmd/text.h"

#include <limits.h>
#include <signal.h>
#include <unistd.h>

#define PROGRESS_US (500 * US_PER_MS)

void fetch_fail(struct fetch *f, const struct err *err)
{
	if (f->err.code == ERR_NONE)
		f->err = *err;
	f->stopped = true;
	loop_stop(f->loop);
}

static int add_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	(void)name, (void)line;
	text = str_trim(text);
	return text.n && text.p[0] != '#' ? fetch_add(ctx, text, err) : 0;
}

static int add_all(struct fetch *f, struct err *err)
{
	for (int i = 0; i < f->call->argc; i++)
		if (fetch_add(f, str_of(f->call->argv[i]), err) < 0)
			return -1;
	if (!f->options->from[0])
		return 0;
	return cmd_read_path_lines(f->options->from, (size_t)2 * URL_TEXT_MAX, add_line, f, err);
}

/* Beginning and end. */

static void on_signal(void *ctx, int number)
{
	struct fetch *f = ctx;
	(void)number;
	f->stopped = true;
	loop_stop(f->loop);
}

static int load_settings(struct fetch *f, struct err *err)
{
	const struct fetch_options *o = f->options;
	f->conf = *(const struct robot_section_conf *)config_get(f->config, &robot_section);
	if (o->agent[0])
		f->conf.robot.agent = o->agent;
	if (o->delay[0] && (!duration_parse(str_of(o->delay), &f->conf.robot.delay_us) ||
			    f->conf.robot.delay_us > US_PER_DAY))
		return err_set(err, ERR_USAGE,
			       "--delay: expected a time such as 10s, at most a day, got '%s'",
			       o->delay);
	return 0;
}

static int open_queue(struct fetch *f, const char *data, struct err *err)
{
	char folder[PATH_MAX + 16];
	snprintf(folder, sizeof folder, "%s/run", data);
	struct hostq_options queue = {
		.rule = {f->conf.robot.delay_us, (unsigned)f->conf.robot.concurrent},
		.folder = folder};
	return hostq_new(&f->queue, &queue, err);
}

static int open_all(struct fetch *f, struct err *err)
{
	char data[PATH_MAX];
	if (load_settings(f, err) < 0 || cmd_data_dir(f->config, data, sizeof data, err) < 0 ||
	    loop_new(&f->loop, NULL, err) < 0 ||
	    kit_open(&f->kit, f->loop, data, &f->conf, err) < 0 || open_queue(f, data, err) < 0)
		return -1;
	f->timer = (struct loop_timer){.fn = fetch_pump, .ctx = f};
	f->progress = (struct loop_timer){.fn = fetch_progress, .ctx = f};
	f->flush = (struct loop_timer){.fn = fetch_flush, .ctx = f};
	f->begun_us = loop_now_us(f->loop);
	return 0;
}

static void close_all(struct fetch *f)
{
	struct err err;
	f->stopped = true;
	robot_free(&f->kit.robot);
	fetch_items_free(f);
	if (kit_close(&f->kit, &err) < 0)
		log_warn(MAIN, "robots.txt is not remembered", KV_TEXT("error", err.msg));
	hostq_free(&f->queue);
	if (f->loop) {
		loop_timer_stop(&f->timer);
		loop_timer_stop(&f->progress);
		loop_timer_stop(&f->flush);
		loop_free(&f->loop);
	}
	buf_free(&f->out);
	config_free(&f->config);
}

static int run_all(struct fetch *f, struct err *err)
{
	/* nothing is under way while the list is read: there, signals do what they always do */
	if (open_all(f, err) < 0 || add_all(f, err) < 0 ||
	    loop_signal(f->loop, SIGINT, on_signal, f, err) < 0 ||
	    loop_signal(f->loop, SIGTERM, on_signal, f, err) < 0)
		return -1;
	f->shows_progress = isatty(STDERR_FILENO);
	if (f->shows_progress)
		loop_timer_every(f->loop, &f->progress, PROGRESS_US);
	fetch_pump_soon(f);
	f->is_running = true;
	int rc = f->stopped ? 0 : loop_run(f->loop, err);
	f->is_running = false;
	fetch_flush(f);
	if (rc < 0)
		return -1;
	if (f->err.code != ERR_NONE) {
		*err = f->err;
		return -1;
	}
	fetch_summary(f);
	return 0;
}

static int exit_code(const struct fetch *f)
{
	uint64_t good = 0;
	for (int i = 0; i < OUTCOME_COUNT; i++)
		good += outcome_is_ok((enum outcome)i) ? f->count[i] : 0;
	if (good == f->urls)
		return 0;
	return good || f->stopped ? ERR_PARTLY : ERR_REMOTE;
}

static int run(const struct cmd_call *call)
{
	struct fetch f = {.call = call, .options = call->options, .out = BUF_INIT(4 << 20)};
	struct err err;
	f.items.next = f.items.prev = &f.items;
	int code = cmd_config(call, &f.config);
	if (code != 0)
		return code;
	if (call->argc == 0 && !f.options->from[0]) {
		config_free(&f.config);
		err_set(&err, ERR_USAGE, "no URL; see 'garner fetch --help'");
		return cmd_fail(call, &err);
	}
	code = run_all(&f, &err) < 0 ? cmd_fail(call, &err) : exit_code(&f);
	close_all(&f);
	return code;
}

static const struct cmd_option options[] = {
	{'f',
	 "FILE",
	 {"from", VALUE_PATH_AT(struct fetch_options, from),
	  .help = "fetch the URLs in this file, one a line; - is standard input"}},
	{'o',
	 "DIR",
	 {"output", VALUE_PATH_AT(struct fetch_options, output),
	  .help = "keep the documents below this directory, as HOST/NAME, or "
		  "HOST,PORT/NAME where the port is not that of https"}},
	{0,
	 "TIME",
	 {"delay", VALUE_TEXT_AT(struct fetch_options, delay),
	  .help = "time between the starts of two requests to one server, in place of the "
		  "setting robot.delay"}},
	{0,
	 "TIME",
	 {"wait", VALUE_TIME_AT(struct fetch_options, wait_us), "10min", 0, 7 * 86400e6,
	  .help = "give up on a server that is to be left alone for longer than this, as by a "
		  "Retry-After of its own"}},
	{'a',
	 "NAME",
	 {"agent", VALUE_TEXT_AT(struct fetch_options, agent),
	  .help = "the product token to go by, in place of robot.agent"}},
	{0,
	 "ETAG",
	 {"etag", VALUE_TEXT_AT(struct fetch_options, etag),
	  .help = "fetch only what has another ETag than this"}},
	{0,
	 "DATE",
	 {"last-modified", VALUE_TEXT_AT(struct fetch_options, last_modified),
	  .help = "fetch only what has changed since, as a Last-Modified says it"}},
	{0,
	 NULL,
	 {"no-follow", VALUE_BOOL_AT(struct fetch_options, no_follow),
	  .help = "do not follow redirects"}},
	{0,
	 NULL,
	 {"list-all", VALUE_BOOL_AT(struct fetch_options, list_all),
	  .help = "list directories of ftp servers with all that is below them"}},
	{0,
	 NULL,
	 {"json", VALUE_BOOL_AT(struct fetch_options, json),
	  .help = "a line of JSON for each URL, and no summary"}},
};
static const struct cmd_example examples[] = {
	{"garner fetch https://example.org/", "what comes back, and how"},
	{"garner fetch -o pages --from list --json", "keep the documents of a list"},
	{"garner fetch --delay 1s -s robot.networks=10.1.0.0/16 http://intranet/",
	 "inside one's own network"},
};
static const struct cmd_exit exits[] = {
	{ERR_PARTLY, "some URLs could not be fetched, or it was interrupted"},
	{ERR_REMOTE, "no URL could be fetched"},
	{ERR_SYSTEM, "a file or standard output cannot be written"},
};
const struct command fetch_command = {
	.name = "fetch",
	.summary = "fetch URLs, politely",
	.description =
		"Fetches http, https and ftp URLs as all of garner does: robots.txt is asked "
		"first, and between two requests to the same server lies the delay of the "
		"setting robot.delay, also for other processes of garner on this machine. "
		"Addresses that are not public are refused, unless robot.networks names "
		"them. URLs of different servers are fetched at the same time.\n\n"
		"A line is printed for each URL: outcome, status, size and the URL. Outcomes: "
		"ok, unchanged, redirect; temporary and permanent failures of the URL; the same "
		"of the whole site; limit, robots and address for what garner refused.",
	CMD_OPTIONS(options, struct fetch_options),
	.args = "[URL...]",
	.args_help = "what to fetch, beside what --from names",
	.max_args = -1,
	CMD_EXAMPLES(examples),
	CMD_EXITS(exits),
	.run = run,
};
