/* The owner's side: the mail goes to the worker as a file without a name, and its answer is read
 * whole before it is looked at. A mail that takes the worker over can say what any mail could. */
#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/wait.h"
#include "extract/cage_spawn_inner.h"
#include "extract/mime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_US (30 * US_PER_S)
enum {
	WORKER_MEMORY = 128 << 20,
	ANSWER_HEAD = 4, /* bytes before it: its length */
	ANSWER_MOST = MIME_HEADERS_MOST * 2 * (MIME_VALUE_MOST + 4) + MIME_TEXT_MOST + 16,
};

struct str mime_value(const struct mime_mail *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq_nocase(m->header[i].name, str_of(name)))
			return m->header[i].value;
	return (struct str){0};
}

/* A field of a line: nothing in it could end one. */
static bool is_field(struct str s)
{
	return !str_has_control(s);
}

int mime_take(struct str bytes, struct arena *arena, struct mime_mail *ret, struct err *err)
{
	struct reader r = reader_of(bytes);
	struct mime_mail m = {0};
	m.header = arena_array(arena, MIME_HEADERS_MOST, sizeof *m.header);
	for (;;) {
		struct mime_header h = {.name = reader_text(&r, MIME_VALUE_MOST)};
		if (r.bad || !h.name.n)
			break;
		h.value = reader_text(&r, MIME_VALUE_MOST);
		if (r.bad || m.n == MIME_HEADERS_MOST || !is_field(h.name) || !is_field(h.value))
			return err_set(err, ERR_REMOTE, "garner-parse: its answer made no sense");
		if (str_is(h.name, MIME_CUT))
			m.cut = true;
		else
			m.header[m.n++] = h;
	}
	m.text = reader_text(&r, MIME_TEXT_MOST);
	if (r.bad || reader_left(&r) || !str_utf8(m.text))
		return err_set(err, ERR_REMOTE, "garner-parse: its answer made no sense");
	*ret = m;
	return 0;
}

/* Whether the answer is there whole. */
static bool is_whole(const struct buf *out)
{
	struct reader r = reader_of(buf_str(out));
	uint32_t n = reader_u32le(&r);
	return !r.bad && reader_left(&r) >= n;
}

/* 1: it closed its end before that. */
static int read_answer(int fd, struct buf *out, struct err *err)
{
	int64_t until_us = clock_mono_us() + WAIT_US;
	struct pollfd p = {fd, POLLIN, 0};
	while (!is_whole(out)) {
		int rc = wait_ready(&p, 1, until_us);
		if (rc == 0)
			return err_set(err, ERR_REMOTE,
				       "garner-parse: it took too long, and was ended");
		char *room = rc > 0 ? buf_room(out, 4096) : NULL;
		ssize_t n = room ? read(fd, room, 4096) : -1;
		if (n == 0)
			return 1;
		if (n < 0)
			return err_set(err, ERR_REMOTE,
				       "garner-parse: it said too much, and was ended");
		buf_grew(out, (size_t)n);
	}
	return 0;
}

/* It closed its end, so it ends by itself; how, tells what to do with the mail. */
static int worker_died(pid_t pid, struct err *err)
{
	char how[128];
	int status = 0;
	(void)UNINTERRUPTED(waitpid(pid, &status, 0));
	cage_spawn_how(status, how, sizeof how);
	return err_set(err, WIFSIGNALED(status) ? ERR_REMOTE : ERR_SYSTEM, "garner-parse: %s", how);
}

static int run_worker(const char *program, int in, struct buf *out, struct err *err)
{
	char memory[24];
	const char *const argv[] = {"garner-parse", "--mail", memory, NULL};
	int ends[2], status;
	pid_t pid;
	snprintf(memory, sizeof memory, "%d", WORKER_MEMORY);
	if (pipe2(ends, O_CLOEXEC) != 0)
		return err_sys(err, "a pipe for garner-parse");
	const int fds[] = {in, ends[1]};
	int rc = cage_spawn(program, argv, fds, ARRAY_LEN(fds), &pid, err);
	close(ends[1]);
	if (rc == 0) {
		rc = read_answer(ends[0], out, err);
		if (rc == 1)
			rc = worker_died(pid, err);
		else
			cage_spawn_end(pid, &status);
	}
	close(ends[0]);
	return rc;
}

int mime_read(const char *program, struct str mail, struct arena *arena, struct mime_mail *ret,
	      struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(ANSWER_MOST + 4096);
	CLEANUP(file_drop) struct file f = FILE_INIT;
	if (file_of_bytes(&f, str_head(mail, MIME_MAIL_MOST), err) < 0 ||
	    run_worker(program, f.fd, &out, err) < 0)
		return -1;
	return mime_take(arena_str(arena, str_from(buf_str(&out), ANSWER_HEAD)), arena, ret, err);
}
