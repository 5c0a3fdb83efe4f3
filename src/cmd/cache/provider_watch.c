/* garner provider watch: sends what changes in a tree, when it has been quiet for a moment. The
 * kernel's notes only say that something changed: what it was is found by comparing the tree with
 * what was sent, so that a note which got lost, a cache that was away, or a time when nobody
 * watched, loses nothing. Each folder is watched before it is read. */
#include "base/clock.h"
#include "cmd/cache/provider_push.h"
#include "cmd/cache/provider_send.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define RETRY_LEAST_US US_PER_S
#define RETRY_MOST_US (5 * US_PER_MIN)

enum {
	NOTES = 64 << 10,
	PATIENCE = 10, /* a tree that is never quiet is sent after so many times --quiet */
	WATCHED = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE | IN_MODIFY |
		  IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR,
};

struct watch_options {
	struct push_options push;
	int64_t quiet_us;
};

struct watch {
	const struct cmd_call *call;
	const struct watch_options *o;
	struct push_options push; /* with the tree */
	int notes, signals;
	bool stopped, dirty;
	int64_t first_us, last_us; /* of the notes that are not looked at yet */
	int64_t retry_us;          /* not before; 0: at any time */
	unsigned failures;
	int64_t check_us, asked_us;
};

static int folder_watch(void *ctx, const char *path, struct err *err)
{
	const struct watch *w = ctx;
	if (inotify_add_watch(w->notes, path, WATCHED) >= 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return 1;
	if (errno == ENOSPC)
		return err_set(err, ERR_SYSTEM,
			       "%s cannot be watched: there are too many folders; sysctl "
			       "fs.inotify.max_user_watches says how many there may be",
			       path);
	return err_sys(err, "%s cannot be watched", path);
}

/* One look at the tree, and a set, if there is a change. */
static int watch_round(struct watch *w, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	CLEANUP(push_close)
	struct push g = {
		.p = &p,
		.o = &w->push,
		.now = PROVIDER_LIST_INIT,
		.sends_wanted = true,
		.stops = true,
		.stop_fd = w->signals,
		.folder = folder_watch,
		.ctx = w,
	};
	w->asked_us = clock_mono_us();
	if (provider_open(&p, w->call, PROVIDER_REGISTERED, true, err) < 0 ||
	    provider_sync_sources(&g, err) < 0)
		return -1;
	if (!g.sources && !p.file.sent.n)
		return err_set(err, ERR_USAGE,
			       "nothing to watch: expected DIR and --prefix, or a tree or sitemap "
			       "that was sent once with garner provider send");
	w->check_us = p.conf->check_us;
	g.must_ask = provider_is_due(&p);
	return push_run(&g, err);
}

static void watch_look(struct watch *w)
{
	struct err err;
	w->dirty = false;
	int code = watch_round(w, &err);
	if (code < 0)
		code = cmd_fail(w->call, &err);
	if (code == 0 || code == 1 || code == ERR_PARTLY) {
		w->failures = 0;
		w->retry_us = 0;
		return;
	}
	w->dirty = true;
	w->failures++;
	w->retry_us = clock_mono_us() + backoff_us(w->failures, RETRY_LEAST_US, RETRY_MOST_US);
	w->first_us = w->last_us = 0;
}

/* When the next look is due. */
static int64_t watch_due_us(const struct watch *w)
{
	if (!w->dirty)
		return w->asked_us + MAX(w->check_us, US_PER_MIN);
	return MAX(w->retry_us,
		   MIN(w->last_us + w->o->quiet_us, w->first_us + PATIENCE * w->o->quiet_us));
}

static void watch_note(struct watch *w)
{
	int64_t now_us = clock_mono_us();
	if (!w->dirty)
		w->first_us = now_us;
	w->dirty = true;
	w->last_us = now_us;
}

/* Names that begin with a dot are not sent. */
static void watch_read(struct watch *w)
{
	char room[NOTES] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n = read(w->notes, room, sizeof room);
	struct inotify_event e;
	for (ssize_t at = 0; at + (ssize_t)sizeof e <= n; at += (ssize_t)(sizeof e + e.len)) {
		memcpy(&e, room + at, sizeof e);
		if (!(e.mask & IN_IGNORED) && (e.len == 0 || room[at + (ssize_t)sizeof e] != '.'))
			watch_note(w);
	}
}

static int watch_wait(struct watch *w, struct err *err)
{
	struct pollfd fds[] = {{w->notes, POLLIN, 0}, {w->signals, POLLIN, 0}};
	int64_t left_us = MAX(watch_due_us(w) - clock_mono_us(), INT64_C(0));
	int n = poll(fds, ARRAY_LEN(fds), (int)MIN((left_us + 999) / 1000, INT64_C(3600000)));
	if (n < 0 && errno != EINTR)
		return err_sys(err, "poll");
	if (n > 0 && fds[1].revents)
		w->stopped = true;
	if (n > 0 && fds[0].revents)
		watch_read(w);
	return 0;
}

static int watch_open(struct watch *w, struct err *err)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    (w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) < 0)
		return err_sys(err, "signalfd");
	w->notes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	return w->notes < 0 ? err_sys(err, "inotify") : 0;
}

/* The first look says what is wrong with the settings. */
static int watch_begin(struct watch *w, struct err *err)
{
	int code = watch_round(w, err);
	if (code < 0 && err->code == ERR_USAGE)
		return -1;
	if (code < 0)
		code = cmd_fail(w->call, err);
	fprintf(stderr, "watching\n");
	w->dirty = code != 0 && code != 1 && code != ERR_PARTLY;
	w->retry_us = clock_mono_us() + RETRY_LEAST_US;
	return 0;
}

static int run_watch(const struct cmd_call *call, struct err *err)
{
	struct watch w = {.call = call, .o = call->options, .notes = -1, .signals = -1};
	w.push = w.o->push;
	w.push.silent = true;
	if (call->argc)
		w.push.tree = call->argv[0];
	int rc = watch_open(&w, err);
	if (rc == 0)
		rc = watch_begin(&w, err);
	while (rc == 0 && !w.stopped) {
		rc = watch_wait(&w, err);
		if (rc == 0 && !w.stopped && clock_mono_us() >= watch_due_us(&w))
			watch_look(&w);
	}
	if (w.notes >= 0)
		(void)close(w.notes);
	if (w.signals >= 0)
		(void)close(w.signals);
	return rc;
}

#define AT(type, member) VALUE_##type##_AT(struct watch_options, member)
static const struct cmd_option watch_options[] = {
	CMD_FLAG(0, "empty", struct watch_options, push.empty,
		 "a tree with nothing to send has all of it removed"),
	CMD_OPTION(0, "NAME", "index", AT(TEXT, push.index),
		   .help = "the file whose URL is that of its folder, in place of the setting "
			   "provider.index; none: there is no such file"),
	CMD_FLAG(0, "json", struct watch_options, push.json, "print a line of JSON for each set"),
	CMD_OPTION(0, "URL", "prefix", AT(TEXT, push.prefix),
		   .help = "what the folder is served as"),
	CMD_OPTION('q', "TIME", "quiet", AT(TIME, quiet_us), .fallback = "2s", .min = 1e3,
		   .max = 3600e6, .help = "how long nothing must change before a set is sent"),
};
const struct command provider_watch_command = {
	.name = "watch",
	.summary = "send what changes in a folder, as it changes",
	.description =
		"Stays, and sends a set whenever something in the folder has changed and then been "
		"quiet for a moment; a line for each. What changed before it was started, or while "
		"the cache was away, is sent as soon as that can be. A full set is sent when the "
		"cache wants one. SIGTERM ends it.\n\nWithout DIR, the trees and sitemaps of "
		"garner "
		"provider sync; changes of a sitemap are found once in provider.check.",
	CMD_OPTIONS(watch_options, struct watch_options),
	CMD_ARGS("[DIR]", 0, 1, "the folder that a web server shows"),
	CMD_EXAMPLES({"garner provider watch /var/www --prefix http://www.example.com/",
		      "what changes there goes out 2 s later"},
		     {"garner provider watch /var/www --prefix http://www.example.com/ -q 1min",
		      "at most once a minute or so"}),
	.run = run_watch,
};
