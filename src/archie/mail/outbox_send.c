/* Sending what is in the outbox. One pass goes through the names, which sort by when they are due.
 * A try that failed renames the file; when whatever sends was away three times in a row, the pass
 * ends. A mail that is not taken now says nothing of the others. On a role's loop a pass is a
 * process of its own, because sending waits. */
#include "archie/mail/outbox_inner.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/lock.h"
#include "disk/small_file.h"
#include "extract/cage_spawn.h"

#include <stdio.h>
#include <sys/pidfd.h>
#include <unistd.h>

#define EVERY_US (10 * US_PER_S) /* a role looks */
#define SEND_US (2 * US_PER_MIN) /* for one mail */
#define RETRY_MIN_US US_PER_MIN
#define RETRY_MAX_US (4 * US_PER_H)
#define LEFT_S 3600 /* a temporary file of this age has lost its writer */
enum { AWAY_IN_A_ROW = 3 };

struct pass {
	const struct mail_conf *conf;
	char folder[PATH_MAX];
	int64_t deadline_us;
	outbox_said_fn *said;
	struct outbox_counts *counts;
	unsigned away; /* in a row */
	struct buf room;
};

static void pass_path(const struct pass *p, const char *name, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%.*s/%.200s", PATH_MAX - 256, p->folder, name);
}

static void pass_say(const struct pass *p, struct str to, const char *what, const struct err *why)
{
	if (p->said)
		p->said(to, what, why->msg);
}

static int drop_mail(const char *path, struct err *err)
{
	FAULT("outbox.sent");
	return file_remove(path, err) < 0 ? -1 : dir_sync_of(path, err);
}

/* Not now: its next name is when. */
static int put_off(struct pass *p, const char *path, struct outbox_name name, struct err *err)
{
	char text[OUTBOX_NAME_MOST], to[PATH_MAX];
	int64_t now_us = clock_sane_us(clock_wall_us());
	name.tries++;
	name.due_s = (uint64_t)((now_us + backoff_us((unsigned)MIN(name.tries, UINT64_C(100)),
						     RETRY_MIN_US, RETRY_MAX_US)) /
				US_PER_S);
	outbox_name_print(&name, text);
	pass_path(p, text, to);
	FAULT("outbox.later");
	return file_rename(path, to, err);
}

static bool is_too_old(const struct outbox_name *name)
{
	int64_t now_s = clock_wall_us() / US_PER_S;
	return now_s > (int64_t)MIN(name->born_s, (uint64_t)INT32_MAX * 2) + OUTBOX_MAX_AGE_S;
}

/* 0: it was dealt with, or put off. */
static int send_one(struct pass *p, const char *text, const struct outbox_name *name,
		    struct err *err)
{
	char path[PATH_MAX];
	struct outbox_file file;
	struct err why = {0};
	struct str payload;
	pass_path(p, text, path);
	buf_clear(&p->room);
	int rc = small_file_read(path, &outbox_format, &p->room, &payload, &why);
	if (rc == 1)
		return 0;
	if (rc < 0 || rows_read(&outbox_fields, payload, &file, &why) < 0) {
		bool given_up = why.code == ERR_DAMAGED || is_too_old(name);
		p->counts->refused += given_up;
		pass_say(p, STR(""), "a mail that cannot be read", &why);
		return given_up ? drop_mail(path, err) : put_off(p, path, *name, err);
	}
	int64_t until_us = MIN(p->deadline_us, clock_mono_us() + SEND_US);
	enum mail_result r = mail_send(p->conf, str_of(file.from), str_of(file.to), file.message,
				       until_us, &why);
	p->away = r == MAIL_LATER ? p->away + 1 : 0;
	if (r == MAIL_LATER && !is_too_old(name)) {
		p->counts->later++;
		pass_say(p, str_of(file.to), "a mail waits", &why);
		return put_off(p, path, *name, err);
	}
	if (r == MAIL_SENT)
		p->counts->sent++;
	else
		p->counts->refused++;
	if (r != MAIL_SENT)
		pass_say(p, str_of(file.to), "a mail cannot be sent, and is given up", &why);
	return drop_mail(path, err);
}

/* What a killed writer left. */
static void remove_left(const struct pass *p, const char *text)
{
	char path[PATH_MAX];
	struct stat st;
	struct err ignored;
	pass_path(p, text, path);
	if (file_is_left(text) && lstat(path, &st) == 0 &&
	    clock_wall_us() / US_PER_S - st.st_mtime > LEFT_S)
		(void)file_remove(path, &ignored);
}

static int pass_run(struct pass *p, struct err *err)
{
	struct dir dir;
	struct outbox_name name;
	const char *text;
	int rc = dir_init_own(&dir, p->folder, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while (p->away < AWAY_IN_A_ROW && clock_mono_us() < p->deadline_us &&
	       dir_next(&dir, &text) == 0) {
		if (!outbox_name_parse(str_of(text), &name))
			remove_left(p, text);
		else if ((int64_t)MIN(name.due_s, (uint64_t)INT64_MAX) <=
				 clock_wall_us() / US_PER_S &&
			 send_one(p, text, &name, err) < 0)
			rc = -1; /* the others are not kept waiting by one */
	}
	dir_done(&dir);
	return rc;
}

int outbox_send(const char *data, const struct mail_conf *conf, int64_t deadline_us,
		outbox_said_fn *said, struct outbox_counts *ret, struct err *err)
{
	struct pass p = {.conf = conf,
			 .deadline_us = deadline_us,
			 .said = said,
			 .counts = ret,
			 .room = BUF_INIT(OUTBOX_FILE_MOST + SMALL_FILE_HEAD)};
	struct lock lock;
	char path[PATH_MAX];
	*ret = (struct outbox_counts){0};
	outbox_folder(data, p.folder);
	snprintf(path, sizeof path, "%.*s.lock", PATH_MAX - 8, p.folder);
	if (lock_take(&lock, path, "sends mails", err) < 0)
		return err->code == ERR_BUSY ? 1 : -1;
	int rc = pass_run(&p, err);
	lock_free(&lock);
	buf_free(&p.room);
	return rc;
}

/* On a loop */

struct outbox_sender {
	struct loop *loop;
	const struct outbox *outbox;
	char folder[PATH_MAX];
	struct loop_timer timer;
	struct loop_io io;
	pid_t pid; /* 0: none */
	int pidfd;
	bool again; /* something was put while it ran */
};

static bool is_due(const struct outbox_sender *s)
{
	struct dir dir;
	struct outbox_name name;
	struct err ignored;
	const char *text;
	bool due = false;
	if (dir_init_own(&dir, s->folder, &ignored) != 0)
		return false;
	while (!due && dir_next(&dir, &text) == 0)
		due = outbox_name_parse(str_of(text), &name) &&
		      name.due_s <= (uint64_t)(clock_wall_us() / US_PER_S);
	dir_done(&dir);
	return due;
}

static void sender_end(struct outbox_sender *s)
{
	int status;
	if (!s->pid)
		return;
	loop_io_end(&s->io);
	if (s->pidfd >= 0)
		close(s->pidfd);
	cage_spawn_end(s->pid, &status);
	s->pid = 0;
}

static void sender_ended(void *ctx, unsigned what)
{
	struct outbox_sender *s = ctx;
	(void)what;
	sender_end(s);
	loop_timer_in(s->loop, &s->timer, s->again ? 0 : EVERY_US);
	s->again = false;
}

static void sender_look(void *ctx)
{
	struct outbox_sender *s = ctx;
	const char *const argv[] = {"garner",
				    "archie",
				    "outbox",
				    outbox_data(s->outbox),
				    outbox_via(s->outbox),
				    outbox_login(s->outbox),
				    NULL};
	const int fds[] = {-1, -1};
	struct err ignored; /* it is tried again */
	if (s->pid)
		return;
	loop_timer_in(s->loop, &s->timer, EVERY_US);
	if (!is_due(s) ||
	    cage_spawn("/proc/self/exe", argv, fds, ARRAY_LEN(fds), &s->pid, &ignored) < 0)
		return;
	s->pidfd = pidfd_open(s->pid, 0);
	if (s->pidfd < 0)
		sender_end(s);
	else
		loop_io_want(s->loop, &s->io, s->pidfd, LOOP_READ);
}

struct outbox_sender *outbox_sender_new(struct loop *loop, struct outbox *o)
{
	struct outbox_sender *s = mem_alloc(sizeof *s);
	*s = (struct outbox_sender){.loop = loop,
				    .outbox = o,
				    .timer = {.fn = sender_look, .ctx = s},
				    .io = {.fn = sender_ended, .ctx = s},
				    .pidfd = -1};
	outbox_folder(outbox_data(o), s->folder);
	loop_timer_in(loop, &s->timer, 0);
	return s;
}

void outbox_sender_wake(struct outbox_sender *s)
{
	if (s->pid)
		s->again = true;
	else
		loop_timer_in(s->loop, &s->timer, 0);
}

void outbox_sender_free(struct outbox_sender **s)
{
	if (!*s)
		return;
	loop_timer_stop(&(*s)->timer);
	sender_end(*s);
	mem_free(s);
}
