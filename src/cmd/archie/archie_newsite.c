/* garner archie newsite: asks the master to list a site, tests one, or takes a request that came by
 * mail. A request is stored in a file. The role archie-master tests the site and stores the result,
 * for which the command waits at a terminal. */
#include "archie/archie_conf.h"
#include "archie/master_role.h"
#include "archie/master_state.h"
#include "archie/master_tests.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/archie/archie.h"
#include "cmd/archie/mail_input.h"
#include "cmd/commands.h"
#include "cmd/system/role_main.h"
#include "cmd/system/text.h"
#include "disk/lock.h"
#include "net/daily.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#define LOOK_US (100 * US_PER_MS)

struct newsite_options {
	bool dry_run, mail;
};

/* By mail */

/* What the rc says of our own address. */
static struct str rc_mail_from(const char *data, struct arena *arena)
{
	CLEANUP(buf_free) struct buf ignored = BUF_INIT(1 << 20); /* interfaces tell these */
	struct shell_texts texts;
	shell_texts_read(data, arena, &texts, &ignored);
	return texts.mail_from;
}

static int take_mail(const struct config *config, const char *data, const struct mime_mail *mail,
		     struct err *err)
{
	const struct archie_conf *conf = config_get(config, &archie_section);
	char host[ARCHIE_HOST_MOST], errors[ARCHIE_ERRORS_MOST], folder[PATH_MAX];
	struct newsite_mail m;
	struct newsite n[NEWSITE_A_MAIL];
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)SHELL_TEXTS_MOST);
	const struct mail_own own = {archie_host(conf, host), archie_errors(conf, errors),
				     rc_mail_from(data, &arena)};
	newsite_read(mail, &own, &m);
	if (m.why_not) {
		log_outside(MAIN, "mail without a request", KV_TEXT("why", m.why_not));
		return 0;
	}
	snprintf(folder, sizeof folder, "%s/archie", data);
	int rc = daily_take(data, DAILY_REQUESTS, m.asker, 1, m.most, clock_wall_us(), err);
	if (rc == 1)
		log_outside(MAIN, "too many requests from one sender today",
			    KV_STR("who", m.asker));
	if (rc != 0)
		return MIN(rc, 0);
	for (size_t i = 0; i < m.n; i++)
		n[i] = (struct newsite){m.host[i], m.reply_to, m.message_id, m.asker};
	if (newsite_put(folder, n, m.n, err) < 0)
		return -1;
	log_info(MAIN, "request stored", KV_STR("host", m.host[0]), KV_UINT("hosts", m.n));
	return 0;
}

/* At the terminal */

static int say_record(const struct cmd_call *call, const struct master_record *r)
{
	struct buf out = BUF_INIT(4 << 10);
	CLEANUP(buf_free) struct buf sentence = BUF_INIT(4 << 10);
	master_record_say(r, &sentence);
	put_safe(&out, buf_str(&sentence));
	buf_add_byte(&out, '\n');
	int code = cmd_print(call, &out);
	if (code != 0 || r->kind == MASTER_LISTED)
		return code;
	return strcmp(r->cause, "known") == 0 ? 1 : ERR_REMOTE;
}

struct dry_run {
	const struct cmd_call *call;
	struct loop *loop;
	int code;
};

static void dry_told(void *ctx, const struct master_verdict *v)
{
	struct dry_run *d = ctx;
	struct buf out = BUF_INIT(32 << 10);
	CLEANUP(buf_free) struct buf line = BUF_INIT((size_t)2 * ARCHIE_LINE_MOST);
	loop_stop(d->loop);
	if (v->end == MASTER_GOOD) {
		archie_site_print(&v->site, &line);
		buf_printf(&out, "would be listed: %s\nits listing has %" PRIu64 " entries (%s)\n",
			   buf_text(&line), v->entries, getter_method_name(v->method));
		d->code = 0;
	} else if (v->end == MASTER_KNOWN) {
		buf_printf(&out, "is listed already: " STR_FMT "\n", STR_ARG(v->known));
		d->code = 1;
	} else {
		buf_printf(&out, "would not be listed: %s, ", v->cause);
		put_safe(&out, str_of(v->why));
		buf_add_byte(&out, '\n');
		d->code = v->ours ? ERR_SYSTEM : ERR_REMOTE;
	}
	(void)cmd_print(d->call, &out);
}

static void dry_stop(void *ctx, int number)
{
	struct dry_run *d = ctx;
	(void)number;
	loop_stop(d->loop);
}

static int try_out(const struct archie_list *l, struct str url, struct dry_run *d, struct err *err)
{
	const struct global_conf *global = config_get(l->config, &global_section);
	char folder[PATH_MAX], list[PATH_MAX];
	struct master_tests *tests = NULL;
	snprintf(folder, sizeof folder, "%s/newsites/dry-run", l->folder);
	snprintf(list, sizeof list, "%s/master", l->folder);
	const struct master_tests_options options = {.loop = d->loop,
						     .data = l->data,
						     .folder = folder,
						     .list = list,
						     .config = l->config,
						     .disk_free = global->disk_free,
						     .told = dry_told,
						     .ctx = d};
	int rc = master_tests_new(&tests, &options, err);
	if (rc == 0) {
		master_tests_ask(tests, url);
		rc = loop_run(d->loop, err);
	}
	master_tests_free(&tests);
	return rc;
}

static int run_dry(const struct archie_list *l, const struct cmd_call *call, struct str url,
		   struct err *err)
{
	struct dry_run d = {.call = call, .code = ERR_PARTLY};
	int rc = loop_new(&d.loop, NULL, err);
	if (rc == 0)
		rc = loop_signal(d.loop, SIGINT, dry_stop, &d, err);
	if (rc == 0)
		rc = loop_signal(d.loop, SIGTERM, dry_stop, &d, err);
	if (rc == 0)
		rc = try_out(l, url, &d, err);
	if (d.loop)
		loop_free(&d.loop);
	return rc < 0 ? -1 : d.code;
}

static bool master_runs(const char *data)
{
	char path[PATH_MAX];
	int64_t pid;
	struct err ignored;
	return run_path(data, "locks", archie_master_role.name, path, sizeof path, &ignored) == 0 &&
	       lock_holder(path, &pid, &ignored) == 0;
}

/* 0: *ret is the answer to what was asked at this time. 1: there is none yet. */
static int find_answer(const char *data, struct str url, int64_t asked_us,
		       struct master_record *ret, struct err *err)
{
	int rc = master_state_get(data, url, ret, err);
	return rc == 0 && ret->asked_us < asked_us ? 1 : rc;
}

static int run_ask(const struct archie_list *l, const struct cmd_call *call, struct str url,
		   struct err *err)
{
	const struct newsite n = {.host = str_of(call->argv[0])};
	struct master_record answer;
	int64_t asked_us = clock_wall_us();
	int rc = 1;
	if (newsite_put(l->folder, &n, 1, err) < 0)
		return -1;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "garner: the request is kept; the site is being tested, which may "
				"take a while\n");
	while (rc == 1 && master_runs(l->data)) {
		usleep(LOOK_US);
		rc = find_answer(l->data, url, asked_us, &answer, err);
	}
	if (rc < 0)
		return -1;
	if (rc == 0)
		return say_record(call, &answer);
	fprintf(call->out, "the request is kept; the site is tested once the role archie-master "
			   "runs\n");
	return ERR_PARTLY;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct newsite_options *o = call->options;
	CLEANUP(archie_close_list) struct archie_list l = {.arena = ARENA_INIT(SIZE_MAX)};
	struct str url;
	if (o->mail && (o->dry_run || call->argc))
		return err_set(err, ERR_USAGE, "--mail stands alone: the mail says which sites");
	if (o->mail)
		return mail_input(call, take_mail, err);
	if (!call->argc)
		return err_set(err, ERR_USAGE,
			       "which host? or --mail, for a mail on standard input");
	if (archie_open_list(call, &l, err) < 0 ||
	    newsite_url(str_of(call->argv[0]), &l.arena, &url, err) < 0)
		return -1;
	return o->dry_run ? run_dry(&l, call, url, err) : run_ask(&l, call, url, err);
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "dry-run", struct newsite_options, dry_run,
		 "only test the site, now and here, and say what would become of it"),
	CMD_FLAG(0, "mail", struct newsite_options, mail,
		 "take the requests of a mail on standard input"),
};
const struct command archie_newsite_command = {
	.name = "newsite",
	.summary = "ask the master to list a site",
	.description =
		"For the machine of the master. The site is tested by the role archie-master: its "
		"name is looked up, its address must not be listed yet, its listing is got by "
		"anonymous FTP and read. If all is well it is in the list, archie/public/sites, "
		"from then on. The request is kept when the command has begun to wait for the "
		"answer; interrupted, it is tested all the same.\n\n"
		"With --mail, for an alias of a mail server: lines addnewsite HOST of the subject "
		"and the text are requests, at most 5 a mail and 20 a day of one sender. The "
		"answer goes to the sender by mail. Bulk mail is taken, as archive servers send "
		"it; bounces, replies of programs and mails of lists are not.",
	CMD_OPTIONS(options, struct newsite_options),
	CMD_ARGS("[HOST]", 0, 1, "a host with an FTP server; HOST:PORT, where it has another port"),
	CMD_EXAMPLES({"garner archie newsite ftp.example.org", "list it, if it can be indexed"},
		     {"garner archie newsite --dry-run ftp.example.org",
		      "whether it could be, and why not"},
		     {"garner archie newsite --mail < mail", "what an alias does"}),
	CMD_EXITS(
		{1, "it is listed already, under another name"},
		{ERR_PARTLY, "it is not tested yet: the role does not run, or it was interrupted"},
		{ERR_BUSY, "too many requests wait, or another --dry-run is at work"},
		{ERR_REMOTE, "it cannot be indexed"},
		{75, "--mail: not now; the mail is to be brought again"}),
	.run = run,
};
