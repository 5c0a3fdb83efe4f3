/* The owner's side of garner-parse --listing. It reads in large pieces and looks at each record
 * where it lies in its own memory, so nothing can change under it. A listing that takes the worker
 * over can therefore say what it likes about its own site, in the form that all sites have, and
 * nothing else: every name is one component, every directory is below the root, and counts agree.
 */
#include "extract/listing_run.h"

#include "base/clock.h"
#include "base/wait.h"
#include "extract/cage_spawn_inner.h"
#include "extract/listing_wire_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
	PIPE = 1 << 20,
	MEMORY = 256 << 20,
};
#define IDLE_US US_PER_MIN

/* What record_take() also says: the record is not there yet; it was one, but not an entry. */
enum { RUN_LATER = 2, RUN_OTHER };

struct listing_run {
	struct listing_job job;
	uint64_t unpacked_max;
	int64_t idle_us, heard_us; /* when it was opened, or last said something */
	bool no_wait;
	pid_t pid; /* 0: none, in the fuzz target */
	int fd;    /* -1: it has ended */
	bool hello;
	int rc; /* 0: there is more; else what listing_run_next() goes on saying */
	struct err err;
	struct listing_stats stats;
	uint64_t told; /* bytes of names and directories: no more than the listing can have had */
	struct buf dir;
	size_t at, n; /* what is unread of the buffer */
	char in[WIRE_ROOM];
};

static void run_stop(struct listing_run *run, int *ret_status)
{
	*ret_status = 0;
	if (run->fd < 0)
		return;
	close(run->fd);
	run->fd = -1;
	if (run->pid > 0)
		cage_spawn_end(run->pid, ret_status);
}

/* All failures end here: the worker is ended, and the same is said from now on. */
static int run_fail(struct listing_run *run)
{
	int status;
	run_stop(run, &status);
	return run->rc = -1;
}

static int run_lied(struct listing_run *run, const char *what)
{
	err_set(&run->err, ERR_REMOTE,
		"garner-parse: its answer made no sense (%s), and it was ended", what);
	return run_fail(run);
}

/* Reading */

/* Waits until there is something to read, or looks whether there is. */
static int run_wait(struct listing_run *run)
{
	if (!run->no_wait)
		run->heard_us = clock_mono_us();
	struct pollfd p = {run->fd, POLLIN, 0};
	int64_t until_us = run->heard_us + run->idle_us;
	int rc = wait_ready(&p, 1, run->no_wait ? 0 : until_us);
	if (rc > 0)
		return 0;
	if (rc == 0 && clock_mono_us() < until_us)
		return RUN_LATER;
	if (rc < 0)
		err_sys(&run->err, "poll");
	else
		err_set(&run->err, ERR_REMOTE,
			"garner-parse: it said nothing for %" PRId64 " s, and was ended",
			run->idle_us / US_PER_S);
	return run_fail(run);
}

/* It closed the pipe before the end. */
static int run_died(struct listing_run *run)
{
	int status;
	char how[128];
	run_stop(run, &status);
	cage_spawn_how(status, how, sizeof how);
	err_set(&run->err, ERR_REMOTE, "garner-parse: %s before the listing had ended", how);
	return run->rc = -1;
}

/* At least n unread bytes. */
static int run_fill(struct listing_run *run, size_t n)
{
	if (run->at + n > sizeof run->in) {
		memmove(run->in, run->in + run->at, run->n - run->at);
		run->n -= run->at;
		run->at = 0;
	}
	while (run->n - run->at < n) {
		int rc = run_wait(run);
		if (rc != 0)
			return rc;
		ssize_t got =
			UNINTERRUPTED(read(run->fd, run->in + run->n, sizeof run->in - run->n));
		if (got < 0) {
			err_sys(&run->err, "the pipe from garner-parse");
			return run_fail(run);
		}
		if (got == 0)
			return run_died(run);
		run->n += (size_t)got;
		run->heard_us = clock_mono_us();
	}
	return 0;
}

static int record_read(struct listing_run *run, struct wire_head *ret, struct str *ret_body)
{
	int rc = run_fill(run, sizeof *ret);
	if (rc != 0)
		return rc;
	memcpy(ret, run->in + run->at, sizeof *ret);
	if (ret->n > WIRE_MOST - sizeof *ret)
		return run_lied(run, "a length");
	rc = run_fill(run, sizeof *ret + ret->n);
	if (rc != 0)
		return rc;
	*ret_body = (struct str){run->in + run->at + sizeof *ret, ret->n};
	run->at += sizeof *ret + ret->n;
	return 0;
}

/* Checking */

static bool holds_byte(struct str s, char c)
{
	return s.n && memchr(s.p, c, s.n);
}

/* A line end cannot be in anything that a line says. */
static bool is_line_part(struct str s)
{
	return !holds_byte(s, '\n') && !holds_byte(s, 0);
}

static bool is_component(struct str s)
{
	return s.n && s.n <= LISTING_LINE_MOST && is_line_part(s) && !holds_byte(s, '/') &&
	       !str_is(s, ".") && !str_is(s, "..");
}

static bool is_dir(struct str s)
{
	struct str part;
	size_t depth = 0;
	if (s.n > LISTING_LINE_MOST)
		return false;
	for (; s.n && str_cut(&s, '/', &part) == 0; depth++)
		if (!is_component(part) || (s.p && s.n == 0))
			return false;
	return depth <= LISTING_DEPTH_MOST;
}

static bool is_mode(const char *mode, size_t n)
{
	static const char letters[] = "-bcdlpsyDFLrwxStT";
	if (mode[0] == 0)
		return memcmp(mode, "\0\0\0\0\0\0\0\0\0", n) == 0;
	for (size_t i = 0; i < n; i++)
		if (mode[i] == 0 || !strchr(letters, mode[i]))
			return false;
	return true;
}

/* Each byte of a name stood in the listing. */
static bool run_count(struct listing_run *run, size_t n)
{
	run->told += n;
	return run->unpacked_max == 0 || run->told <= run->unpacked_max + LISTING_LINE_MOST;
}

static int dir_take(struct listing_run *run, struct str dir)
{
	if (!is_dir(dir) || !run_count(run, dir.n))
		return run_lied(run, "a directory");
	buf_clear(&run->dir);
	buf_add_str(&run->dir, dir);
	return 0;
}

/* Cuts a text off what follows an entry. */
static bool text_cut(struct str *rest, uint32_t n, struct str *ret)
{
	*ret = (struct str){0};
	if (n == WIRE_UNTOLD)
		return true;
	if (n > rest->n || n > LISTING_LINE_MOST)
		return false;
	*ret = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return true;
}

static int entry_take(struct listing_run *run, struct str body, struct listing_entry *ret)
{
	struct wire_entry wire;
	struct listing_entry e = {0};
	if (body.n < sizeof wire)
		return run_lied(run, "an entry");
	memcpy(&wire, body.p, sizeof wire);
	body = str_from(body, sizeof wire);
	if (wire.kind > LISTING_OTHER || wire.links < -1 || wire.size < -1 || wire.time_s < -1 ||
	    !is_mode(wire.mode, sizeof e.mode))
		return run_lied(run, "a field");
	if (!text_cut(&body, wire.name_n, &e.name) || !text_cut(&body, wire.owner_n, &e.owner) ||
	    !text_cut(&body, wire.group_n, &e.group) || body.n || !is_component(e.name) ||
	    !is_line_part(e.owner) || !is_line_part(e.group) || !run_count(run, e.name.n + 1))
		return run_lied(run, "a name");
	e.dir = buf_str(&run->dir);
	e.kind = (enum listing_kind)wire.kind;
	e.links = wire.links;
	e.size = wire.size;
	e.time_s = wire.time_s;
	memcpy(e.mode, wire.mode, sizeof e.mode);
	run->stats.entries++;
	*ret = e;
	return 0;
}

static bool is_message(const char *p, size_t cap)
{
	for (size_t i = 0; i < cap; i++) {
		if (p[i] == 0)
			return i > 0;
		if (p[i] < ' ' || p[i] > '~')
			return false;
	}
	return false;
}

static bool stats_take(struct listing_run *run, const struct wire_end *end)
{
	uint64_t last = 0;
	if (end->entries != run->stats.entries || end->lines > UINT64_MAX / 200 ||
	    end->bad > end->lines || end->entries > end->lines || end->headings > end->lines)
		return false;
	run->stats.lines = end->lines;
	run->stats.bad = end->bad;
	run->stats.headings = end->headings;
	for (size_t i = 0; i < MIN(end->bad, (uint64_t)LISTING_BAD_KEPT); i++) {
		if (end->bad_line[i] <= last || end->bad_line[i] > end->lines ||
		    end->bad_why[i] == WHY_NONE || end->bad_why[i] >= WHYS)
			return false;
		last = run->stats.bad_line[i] = end->bad_line[i];
		run->stats.bad_why[i] = listing_why_name[end->bad_why[i]];
	}
	return true;
}

/* Returns what listing_run_next() says from now on. */
static int end_take(struct listing_run *run, struct str body)
{
	struct wire_end end;
	int status;
	if (body.n != sizeof end || run->at != run->n)
		return run_lied(run, "its end");
	memcpy(&end, body.p, sizeof end);
	if (!stats_take(run, &end))
		return run_lied(run, "its counts");
	if (end.code && ((end.code != ERR_USAGE && end.code != ERR_SYSTEM) ||
			 !is_message(end.message, sizeof end.message)))
		return run_lied(run, "its message");
	run_stop(run, &status);
	if (end.code)
		err_set(&run->err, (enum err_code)end.code, "%s", end.message);
	run->rc = end.code || listing_judge(&run->job, &run->stats, &run->err) < 0 ? -1 : 1;
	return run->rc;
}

static int hello_take(struct listing_run *run, const struct wire_head *head, struct str body)
{
	struct wire_hello hello;
	if (head->type != WIRE_HELLO || body.n != sizeof hello)
		return run_lied(run, "its first word");
	memcpy(&hello, body.p, sizeof hello);
	if (hello.magic != WIRE_MAGIC)
		return run_lied(run, "its first word");
	run->hello = true;
	return 0;
}

/* The next record. 0: it is an entry. 1: the end. */
static int record_take(struct listing_run *run, struct listing_entry *ret)
{
	struct wire_head head;
	struct str body;
	int rc = record_read(run, &head, &body);
	if (rc != 0)
		return rc;
	if (!run->hello)
		return hello_take(run, &head, body) < 0 ? -1 : RUN_OTHER;
	switch (head.type) {
	case WIRE_ENTRY:
		return entry_take(run, body, ret);
	case WIRE_DIR:
		return dir_take(run, body) < 0 ? -1 : RUN_OTHER;
	case WIRE_ALIVE:
		return body.n ? run_lied(run, "a sign of life") : RUN_OTHER;
	case WIRE_END:
		return end_take(run, body);
	default:
		return run_lied(run, "a record");
	}
}

int listing_run_next(struct listing_run *run, struct listing_entry *ret, struct err *err)
{
	int rc = run->rc;
	if (rc == 0)
		do
			rc = record_take(run, ret);
		while (rc == RUN_OTHER);
	if (rc < 0)
		*err = run->err;
	return rc;
}

int listing_run_fd(const struct listing_run *run)
{
	return run->fd;
}

const struct listing_stats *listing_run_stats(const struct listing_run *run)
{
	return &run->stats;
}

/* Starting and ending */

static int run_spawn(struct listing_run *run, int fd, const struct listing_run_options *o,
		     struct err *err)
{
	char listed[24], tz[16], percent[16], memory[24], most[24];
	char *prefix = str_dup(o->job.prefix);
	int ends[2];
	const char *const argv[] = {"garner-parse", "--listing", listed, tz,  percent,
				    memory,         most,        prefix, NULL};
	snprintf(listed, sizeof listed, "%" PRId64, o->job.listed_s);
	snprintf(tz, sizeof tz, "%" PRId32, o->job.tz_s);
	snprintf(percent, sizeof percent, "%" PRIu32, MIN(o->job.errors_max_percent, 100u));
	snprintf(memory, sizeof memory, "%zu", o->memory ? o->memory : (size_t)MEMORY);
	snprintf(most, sizeof most, "%" PRIu64, o->unpacked_max);
	int rc = -1;
	if (pipe2(ends, O_CLOEXEC) != 0) {
		err_sys(err, "a pipe for garner-parse");
	} else {
		const int fds[] = {fd, ends[1], -1};
		(void)fcntl(ends[0], F_SETPIPE_SZ, PIPE); /* else the usual size has to do */
		rc = cage_spawn(o->program, argv, fds, ARRAY_LEN(fds), &run->pid, err);
		close(ends[1]);
		if (rc < 0)
			close(ends[0]);
		else
			run->fd = ends[0];
	}
	mem_free(&prefix);
	return rc;
}

struct listing_run *listing_run_of(int fd, const struct listing_run_options *options)
{
	struct listing_run *run = mem_alloc(sizeof *run);
	run->fd = fd;
	run->job = options->job;
	run->job.prefix = (struct str){0};
	run->unpacked_max = options->unpacked_max;
	run->idle_us = options->idle_us ? options->idle_us : IDLE_US;
	run->heard_us = clock_mono_us();
	run->no_wait = options->no_wait;
	run->dir = BUF_INIT(LISTING_LINE_MOST);
	return run;
}

int listing_run_open(struct listing_run **ret, int fd, const struct listing_run_options *options,
		     struct err *err)
{
	if (options->job.prefix.n > LISTING_LINE_MOST || holds_byte(options->job.prefix, 0))
		return err_set(err, ERR_USAGE, "a prefix with a NUL byte, or longer than a line");
	struct listing_run *run = listing_run_of(-1, options);
	if (run_spawn(run, fd, options, err) < 0) {
		listing_run_close(&run);
		return -1;
	}
	*ret = run;
	return 0;
}

void listing_run_close(struct listing_run **prun)
{
	struct listing_run *run = *prun;
	int status;
	if (!run)
		return;
	run_stop(run, &status);
	buf_free(&run->dir);
	mem_free(prun);
}
