/* The owner's side of the cage.
 *
 * What a worker may do. Compute: read and write one socket, and take private memory up to a limit.
 * Any other system call ends it; those that libraries make in passing, such as opening a file, are
 * refused instead. Landlock, resource limits and another user hold as well, each on its own; where
 * the kernel lacks one, the others hold and `garner doctor` says so (cage_door.c). A document that
 * takes a worker over can therefore spoil answers of that worker, and nothing else.
 *
 * How memory is shared. Owner and worker share a sealed memfd of CAGE_SLOTS slots. A slot has the
 * call (sizes, URL, headers), the body, and room for the output; the worker has the first two
 * mapped read-only and cannot change that. What it writes is copied out once and checked in the
 * copy, because the worker can still write to the original: sizes, letters, places, UTF-8. The
 * copy costs a few microseconds; a page costs a hundred.
 *
 * How they talk. Packets on a socket name slots, several at a time: waking the other side costs as
 * much as reading some kilobytes. The first document goes out at once, later ones in groups of
 * half the slots, or whenever an answer arrives. So half of the slots are read while the others
 * are filled. The owner never waits: one epoll descriptor holds the sockets and a timer.
 *
 * How a crash names its document. The worker writes the slot it is working on to a word of shared
 * memory, which counts for nothing else. When it dies, that document ends without text and with
 * the reason; documents that it had read but not reported are read again by its successor, from
 * the bytes that are still in their slots. A worker that dies, breaks the rules, computes with
 * nothing to do or needs too long is replaced at once; after three failures in a row without a
 * document to blame there are pauses of one second up to a minute.
 *
 * By which clock. By the worker's own CPU clock, read from outside; by the wall clock only ten
 * times that, so that no document loses its text because the machine is busy.
 *
 * What was measured. Pages of 30 KB take 86 us in the process itself, and 8 to 12 us more through a
 * worker: 3.5 in the kernel (the worker wakes the owner, which goes back to sleep), 3.5 for the
 * owner to copy and check attributes, 2 for bytes that come from the other core's cache. Sixteen
 * slots need half of the wake-ups of eight. Thirty-two would save one more microsecond, but a
 * worker that has been taken over could fill twice the 256 MB of outputs. */
#include "extract/cage.h"
#include "base/clock.h"
#include "base/vec.h"
#include "extract/cage_inner.h"
#include "extract/cage_spawn_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
	WALL_FACTOR = 10,       /* how much longer than the CPU time it may take by the clock */
	FAILURES_MAX = 3,       /* starts in a row; then there is a pause */
	PAUSE_US = 1000 * 1000, /* the first one; each is twice the one before, up to a minute */
	PAUSES_MAX = 6,
	IDLE_SHARE = 10, /* a tenth of the CPU time may be used by a worker with nothing to do */
	SENT_AHEAD = CAGE_SLOTS / 2, /* documents that a worker has at least, while there are any */
	KEEP_PAGES = 2 << 20,        /* bytes of body and of output that stay allocated in a slot */
};

const struct cage_options cage_defaults = {
	.workers = 1,
	.body_max = 16 << 20,
	.memory = 512 << 20,
	.cpu_us = 10 * US_PER_S,
	.settings = {.links_max = EXTRACT_LINKS_MAX},
};

const char *cage_end_name(enum cage_end end)
{
	static const char *const names[CAGE_ENDS] = {
		[CAGE_READ] = "read",   [CAGE_DIED] = "died",           [CAGE_OVERRAN] = "overran",
		[CAGE_BROKE] = "broke", [CAGE_NO_WORKER] = "no worker",
	};
	return names[end];
}

/* The processes: memory, socket, start and end. */

enum { START_US = 30 * 1000 * 1000 }; /* time to get ready, also on a busy machine */

static int worker_map_memory(struct cage *c, struct cage_worker *w, struct err *err)
{
	size_t one = cage_slot_size(c->options.body_max);
	w->memory =
		(struct file){.fd = memfd_create("garner-parse", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			      .path = mem_text("memory for garner-parse")};
	if (w->memory.fd < 0)
		return err_sys(err, "%s", w->memory.path);
	if (file_truncate(&w->memory, cage_memory_size(c->options.body_max), err) < 0)
		return -1;
	/* a worker that made it shorter would kill us when we look */
	if (fcntl(w->memory.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
		return err_sys(err, "sealing of the %s", w->memory.path);
	w->map = mmap(NULL, cage_memory_size(c->options.body_max), PROT_READ | PROT_WRITE,
		      MAP_SHARED, w->memory.fd, 0);
	if (w->map == MAP_FAILED) {
		w->map = NULL;
		return err_sys(err, "%zu bytes of %s", cage_memory_size(c->options.body_max),
			       w->memory.path);
	}
	w->progress = (const struct cage_progress *)(w->map + CAGE_SLOTS * one);
	for (unsigned i = 0; i < CAGE_SLOTS; i++) {
		w->slot[i].lent =
			(struct cage_slot){w->map + i * one + CAGE_CALL_ROOM, c->options.body_max};
		w->slot[i].worker = w;
		w->slot[i].index = i;
	}
	return 0;
}

static int worker_spawn(const struct cage *c, struct cage_worker *w, int theirs, struct err *err)
{
	char body[24], memory[24];
	const char *const argv[] = {"garner-parse", "--worker", body, memory, NULL};
	int fd[CAGE_MEMORY_FD + 1] = {-1, -1, -1};
	fd[CAGE_SOCKET_FD] = theirs;
	fd[CAGE_MEMORY_FD] = w->memory.fd;
	snprintf(body, sizeof body, "%zu", c->options.body_max);
	snprintf(memory, sizeof memory, "%zu", c->options.memory);
	return cage_spawn(c->program, argv, fd, ARRAY_LEN(fd), &w->pid, err);
}

static int worker_launch(struct cage *c, struct cage_worker *w, int64_t now_us, struct err *err)
{
	int pair[2];
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = w};
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return err_sys(err, "a socket for garner-parse");
	w->fd = pair[0];
	if (fcntl(w->fd, F_SETFL, O_NONBLOCK) != 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, w->fd, &event) != 0) {
		err_sys(err, "a socket for garner-parse");
		close(pair[1]);
		goto failed;
	}
	int rc = worker_spawn(c, w, pair[1], err);
	close(pair[1]);
	if (rc < 0)
		goto failed;
	if (clock_getcpuclockid(w->pid, &w->clock) != 0)
		w->clock = CLOCK_MONOTONIC;
	w->state = WORKER_STARTS;
	w->since_us = now_us;
	w->due_us = now_us + START_US;
	c->started++;
	return 0;
failed:
	close(w->fd);
	w->fd = -1;
	return -1;
}

static void worker_stop(struct cage_worker *w, char *ret_how, size_t cap)
{
	int status = 0;
	if (w->fd < 0) {
		snprintf(ret_how, cap, "it was not running");
		return;
	}
	close(w->fd);
	w->fd = -1;
	cage_spawn_end(w->pid, &status);
	w->state = WORKER_NONE;
	cage_spawn_how(status, ret_how, cap);
}

static int64_t worker_cpu_us(const struct cage_worker *w)
{
	struct timespec t;
	if (clock_gettime(w->clock, &t) != 0)
		return w->cpu_us;
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* Answers, which a document may have written. Everything is looked at once, in a copy: the worker
 * can still write to the memory that both share. */

static int answer_wrong(struct err *err, const char *what)
{
	return err_set(err, ERR_DAMAGED, "its answer made no sense (%s), and it was ended", what);
}

/* Text of a fixed field that ends in NUL and is visible ASCII. */
static bool is_visible_word(const char *p, size_t cap)
{
	for (size_t i = 0; i < cap; i++) {
		if (p[i] == 0)
			return true;
		if (p[i] <= ' ' || p[i] > '~')
			return false;
	}
	return false;
}

/* The two areas of values, one after the other. */
static void answer_copy_values(struct cage *c, const struct out *there, const struct cage_answer *a)
{
	VEC_ROOM(c->copy, c->copy_room, a->side_n + a->text_n + 1);
	memcpy(c->copy, there->side, a->side_n);
	memcpy(c->copy + a->side_n, there->text, a->text_n);
}

/* Whether a control character is among them, other than `but`. */
static bool has_control(struct str s, char but)
{
	size_t i = 0;
	bool bad = false;
#ifdef __SSE2__
	const __m128i last = _mm_set1_epi8(' ' - 1), allowed = _mm_set1_epi8(but);
	__m128i seen = _mm_setzero_si128();
	for (; i + 16 <= s.n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s.p + i));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, last), v);
		seen = _mm_or_si128(seen, _mm_andnot_si128(_mm_cmpeq_epi8(v, allowed), control));
	}
	bad = _mm_movemask_epi8(seen) != 0;
#endif
	for (; i < s.n; i++)
		bad |= (unsigned char)s.p[i] < ' ' && s.p[i] != but;
	return bad;
}

/* As doc/formats/attributes.md has it: UTF-8 without control characters; lines only in text. That
 * of all values at once costs less than of each. */
static bool values_are_sound(struct str side, struct str text)
{
	return charset_valid(side) == side.n && charset_valid(text) == text.n &&
	       !has_control(side, ' ') && !has_control(text, '\n');
}

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* A value in its area, which begins at `at` in the memory. false: it is not there, or begins or
 * ends inside of a character. */
static bool value_locate(struct str area, size_t at, const struct cage_entry *e, struct str *ret)
{
	if (e->at < at || e->at - at > area.n || e->n > area.n - (e->at - at))
		return false;
	size_t from = e->at - at, end = from + e->n;
	if ((from < area.n && is_continuation(area.p[from])) ||
	    (end < area.n && is_continuation(area.p[end])))
		return false;
	*ret = (struct str){area.p + from, e->n};
	return true;
}

/* Only the letters that extraction gives, and none that fetch alone may say. */
static bool is_letter(uint32_t name)
{
	static const bool letters['Z' + 1] = {
		['T'] = true, ['Z'] = true, ['M'] = true, ['R'] = true,
		['F'] = true, ['I'] = true, ['A'] = true, ['X'] = true,
	};
	return name <= 'Z' && letters[name];
}

static int answer_copy_attrs(struct cage *c, const struct out *there, const char *memory,
			     const struct cage_answer *a, struct err *err)
{
	struct str side = {c->copy, a->side_n}, text = {c->copy + a->side_n, a->text_n};
	size_t side_at = (size_t)(there->side - memory), text_at = (size_t)(there->text - memory);
	VEC_ROOM(c->attrs, c->attrs_room, a->n);
	if (!values_are_sound(side, text))
		return answer_wrong(err, "not plain text");
	for (size_t i = 0; i < a->n; i++) {
		struct cage_entry e;
		struct attr *to = &c->attrs[i];
		memcpy(&e, memory + i * sizeof e, sizeof e);
		__asm__ volatile("" ::: "memory"); /* it is not read again from there */
		if (!is_letter(e.name) || e.n > OUT_VALUE_MAX)
			return answer_wrong(err, "an attribute");
		to->name = (char)e.name;
		if (!value_locate(side, side_at, &e, &to->value) &&
		    (e.name != 'X' || !value_locate(text, text_at, &e, &to->value)))
			return answer_wrong(err, "a value outside");
	}
	return 0;
}

int cage_take_answer(struct cage *c, const struct cage_worker *w, const struct cage_answer *a,
		     struct cage_result *ret, struct err *err)
{
	struct out there;
	char *memory = w->slot[a->slot].lent.body + cage_body_room(c->options.body_max);
	out_begin(&there, memory, CAGE_OUT, 0);
	if (a->n > there.max || a->side_n > there.side_max || a->text_n > there.text_max)
		return answer_wrong(err, "sizes");
	if (a->type >= EXTRACT_TYPES || a->charset_source > CHARSET_BY_DEFAULT ||
	    a->remark > a->n || !is_visible_word(a->media_type, sizeof a->media_type) ||
	    !is_visible_word(a->charset, sizeof a->charset))
		return answer_wrong(err, "a field");
	answer_copy_values(c, &there, a);
	if (answer_copy_attrs(c, &there, memory, a, err) < 0)
		return -1;
	*ret = (struct cage_result){
		.end = CAGE_READ,
		.attrs = {c->attrs, a->n, a->n},
		.reason = "",
		.result = {.type = (enum extract_type)a->type,
			   .charset = {charset_by_label(str_of(a->charset)),
				       (enum charset_source)a->charset_source, 0},
			   .bad_bytes = a->bad_bytes,
			   .tokens = a->tokens,
			   .links = a->links,
			   .links_left_out = a->links_left_out,
			   .flags = a->flags,
			   .remark = STR("")},
	};
	memcpy(ret->result.media_type, a->media_type, sizeof ret->result.media_type);
	if (a->remark)
		ret->result.remark = str_from(c->attrs[a->remark - 1].value, 2);
	return 0;
}

static void result_no_text(struct cage *c, const struct slot *s, enum cage_end end,
			   const char *reason, struct cage_result *ret)
{
	enum { ROOM = 8 << 10, ENTRIES = 8 };
	struct out out;
	VEC_ROOM(c->attrs, c->attrs_room, ENTRIES);
	VEC_ROOM(c->copy, c->copy_room, ROOM);
	out = (struct out){.attr = c->attrs, .max = ENTRIES, .side = c->copy, .side_max = ROOM};
	out_number(&out, 'Z', s->body_n);
	out_meta(&out, 0, META_REMARK, str_of(reason));
	*ret = (struct cage_result){.end = end,
				    .attrs = {out.attr, out.n, out.n},
				    .reason = reason,
				    .result = {.type = EXTRACT_OTHER, .remark = str_of(reason)}};
}

/* Time. */

static void timer_set(struct cage *c, int64_t us, int64_t now_us)
{
	int64_t in = MAX(us - now_us, 1);
	struct itimerspec t = {.it_value = {in / US_PER_S, in % US_PER_S * 1000}};
	if (us >= c->timer_us)
		return; /* it goes off earlier, and is set again then */
	timerfd_settime(c->timer, 0, &t, NULL);
	c->timer_us = us;
}

/* Its time begins for the next document, or for none: idle workers are looked at too. */
static void worker_begin_first(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	w->since_us = now_us;
	w->due_us = now_us + c->options.cpu_us;
	timer_set(c, w->due_us, now_us);
}

/* Starting. */

/* Sends what was not sent yet, in one packet. */
static void queue_send(struct cage_worker *w)
{
	struct cage_calls calls = {.head.magic = CAGE_MAGIC};
	if (w->sent == w->queued || w->state == WORKER_NONE)
		return;
	while (w->sent < w->queued)
		calls.slot[calls.head.n++] = w->queue[w->sent++]->index;
	/* there is room for all slots; a dead worker is noticed anyway */
	(void)send(w->fd, &calls, sizeof calls.head + calls.head.n * sizeof calls.slot[0],
		   MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* No worker for a while. */
static void worker_pause(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	unsigned pauses = w->failures > FAILURES_MAX ? w->failures - FAILURES_MAX : 0;
	w->state = WORKER_NONE;
	w->due_us = now_us + ((int64_t)PAUSE_US << MIN(pauses, (unsigned)PAUSES_MAX));
	/* what waits for it ends at the next poll */
	timer_set(c, w->queued ? now_us : w->due_us, now_us);
}

static int worker_start(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	if (worker_launch(c, w, now_us, &c->last) < 0) {
		w->failures = MAX(w->failures + 1, (unsigned)FAILURES_MAX);
		worker_pause(c, w, now_us);
		return -1;
	}
	w->sent = 0;
	queue_send(w);
	timer_set(c, w->due_us, now_us);
	return 0;
}

static void worker_is_ready(struct cage *c, struct cage_worker *w, const struct cage_hello *h,
			    int64_t now_us)
{
	w->state = WORKER_READY;
	w->locks = h->locks;
	snprintf(w->remark, sizeof w->remark, "%.*s", (int)sizeof h->remark - 1, h->remark);
	w->cpu_us = worker_cpu_us(w);
	worker_begin_first(c, w, now_us);
}

/* How documents end. */

static void queue_leave(struct cage_worker *w, struct slot *s)
{
	size_t i = 0;
	while (w->queue[i] != s)
		i++;
	w->sent -= i < w->sent;
	for (w->queued--; i < w->queued; i++)
		w->queue[i] = w->queue[i + 1];
	s->state = SLOT_FREE;
}

/* Big documents are rare; their memory is given back. */
static void slot_forget_pages(const struct cage *c, const struct slot *s, size_t out_used)
{
	size_t body = cage_body_room(c->options.body_max);
	if (s->body_n > KEEP_PAGES)
		madvise(s->lent.body, body, MADV_REMOVE);
	if (out_used > KEEP_PAGES)
		madvise(s->lent.body + body, CAGE_OUT, MADV_REMOVE);
}

static void slot_tell(struct cage *c, struct slot *s, struct cage_result *r, size_t out_used)
{
	slot_forget_pages(c, s, out_used);
	s->done(s->ctx, r);
}

static void slot_tell_no_text(struct cage *c, struct slot *s, enum cage_end end, const char *reason,
			      int64_t cpu_us)
{
	struct cage_result r;
	result_no_text(c, s, end, reason, &r);
	r.cpu_us = cpu_us;
	slot_tell(c, s, &r, SIZE_MAX);
}

/* No worker, and none soon: the queue ends without text. */
static void queue_give_up(struct cage *c, struct cage_worker *w)
{
	char reason[sizeof c->last.msg + 64];
	for (size_t n = w->queued; n > 0; n--) { /* not what is submitted meanwhile */
		struct slot *s = w->queue[0];
		queue_leave(w, s);
		snprintf(reason, sizeof reason, "no text: no worker can be started: %s",
			 c->last.msg);
		slot_tell_no_text(c, s, CAGE_NO_WORKER, reason, 0);
	}
}

/* The document that a worker is reading, as far as it can be believed. */
static struct slot *slot_at_work(struct cage_worker *w)
{
	uint32_t index = __atomic_load_n(&w->progress->slot, __ATOMIC_RELAXED);
	if (w->state != WORKER_READY)
		return NULL;
	for (size_t i = 0; i < w->sent; i++)
		if (w->queue[i]->index == index)
			return w->queue[i];
	return w->queued ? w->queue[0] : NULL;
}

/* Ends a worker and puts another in its place. The document that it was reading (NULL: none) ends
 * with it; the others go to the next. */
static void worker_replace(struct cage *c, struct cage_worker *w, struct slot *first,
			   enum cage_end end, const char *why, int64_t now_us)
{
	char how[160], reason[320];
	bool was_ready = w->state == WORKER_READY;
	int64_t cpu_us = first ? worker_cpu_us(w) - w->cpu_us : 0;
	worker_stop(w, how, sizeof how);
	snprintf(reason, sizeof reason, "no text: the worker was reading this document when %s",
		 why ? why : how);
	if (!was_ready || !first) {
		w->failures++;
		err_set(&c->last, ERR_SYSTEM, "%s: %s %s", c->program, why ? why : how,
			was_ready ? "and had no document" : "before it was ready");
	}
	if (first) {
		queue_leave(w, first);
		first->state = SLOT_TAKEN; /* its bytes are still needed */
	}
	if (w->failures < FAILURES_MAX)
		(void)worker_start(
			c, w, now_us); /* a failure is in c->last, and ends the queue at poll */
	else
		worker_pause(c, w, now_us);
	if (first) {
		first->state = SLOT_FREE;
		slot_tell_no_text(c, first, end, reason, cpu_us);
	}
}

/* Answers come in the order of the queue. Negative: it made no sense, and the worker was ended. */
static int worker_take_answer(struct cage *c, struct cage_worker *w, const struct cage_answer *a,
			      int64_t cpu_us, int64_t now_us)
{
	struct cage_result r;
	struct err err;
	struct slot *s = w->sent ? w->queue[0] : NULL;
	if (!s || a->slot != s->index) {
		worker_replace(c, w, s, CAGE_BROKE,
			       "it answered for another document, and was ended", now_us);
		return -1;
	}
	if (cage_take_answer(c, w, a, &r, &err) < 0) {
		worker_replace(c, w, s, CAGE_BROKE, err.msg, now_us);
		return -1;
	}
	r.cpu_us = cpu_us;
	w->failures = 0;
	queue_leave(w, s);
	worker_begin_first(c, w, now_us);
	slot_tell(c, s, &r, a->side_n + a->text_n);
	return 0;
}

struct answers {
	struct cage_packet head;
	struct cage_answer answer[CAGE_SLOTS];
};

static void worker_take_answers(struct cage *c, struct cage_worker *w, const struct answers *a,
				int64_t now_us)
{
	int64_t cpu_us = worker_cpu_us(w), each_us = (cpu_us - w->cpu_us) / a->head.n;
	w->cpu_us = cpu_us;
	for (uint32_t i = 0; i < a->head.n; i++)
		if (worker_take_answer(c, w, &a->answer[i], each_us, now_us) < 0)
			return;
}

/* Takes a packet from a worker, or learns that it is gone. */
static void worker_listen(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	union {
		struct cage_hello hello;
		struct answers answers;
	} packet;
	ssize_t n = recv(w->fd, &packet, sizeof packet, MSG_DONTWAIT);
	/* comes once if it died with something unread; what it sent before follows */
	if (n < 0 && errno == ECONNRESET)
		n = recv(w->fd, &packet, sizeof packet, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		worker_replace(c, w, slot_at_work(w), CAGE_DIED, NULL, now_us);
		return;
	}
	const struct cage_packet *head = &packet.answers.head;
	if (w->state == WORKER_STARTS && n == sizeof packet.hello &&
	    packet.hello.magic == CAGE_MAGIC)
		worker_is_ready(c, w, &packet.hello, now_us);
	else if (w->state == WORKER_READY && (size_t)n >= sizeof *head &&
		 head->magic == CAGE_MAGIC && head->n > 0 && head->n <= CAGE_SLOTS &&
		 (size_t)n == sizeof *head + head->n * sizeof(struct cage_answer))
		worker_take_answers(c, w, &packet.answers, now_us);
	else
		worker_replace(c, w, slot_at_work(w), CAGE_BROKE,
			       "it sent a packet that made no sense, and was ended", now_us);
}

/* Its time is over: by the clock, or by its own. */
static void worker_check_time(struct cage *c, struct cage_worker *w, int64_t now_us)
{
	char why[96];
	if (w->state == WORKER_NONE) {
		(void)worker_start(c, w, now_us);
		return;
	}
	if (w->state == WORKER_STARTS) {
		worker_replace(c, w, NULL, CAGE_DIED, NULL, now_us);
		return;
	}
	int64_t used_us = worker_cpu_us(w) - w->cpu_us, left_us = c->options.cpu_us - used_us;
	if (w->queued == 0 && used_us < c->options.cpu_us / IDLE_SHARE) {
		w->cpu_us += used_us;
		worker_begin_first(c, w, now_us);
		return;
	}
	if (w->queued && left_us > 0 && now_us - w->since_us < WALL_FACTOR * c->options.cpu_us) {
		w->due_us = now_us + MAX(left_us, US_PER_MS);
		return;
	}
	snprintf(why, sizeof why, "it had used %.1f s of CPU, and was ended",
		 (double)used_us / US_PER_S);
	worker_replace(c, w, slot_at_work(w), CAGE_OVERRAN, why, now_us);
}

void cage_poll(struct cage *c, int64_t now_us)
{
	struct epoll_event events[CAGE_WORKERS_MAX + 1];
	int n = epoll_wait(c->epoll, events, ARRAY_LEN(events), 0);
	int64_t next_us = INT64_MAX;
	bool rang = c->timer_us <= now_us;
	for (int i = 0; i < n; i++) {
		uint64_t times;
		if (events[i].data.ptr)
			worker_listen(c, events[i].data.ptr, now_us);
		else if (read(c->timer, &times, sizeof times) > 0)
			rang = true;
	}
	for (size_t i = 0; i < c->nworkers; i++)
		if (c->worker[i].sent < SENT_AHEAD)
			queue_send(&c->worker[i]);
	if (!rang)
		return;
	c->timer_us = INT64_MAX;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		if (w->due_us <= now_us)
			worker_check_time(c, w, now_us);
		if (w->state == WORKER_NONE)
			queue_give_up(c, w);
		next_us = MIN(next_us, w->due_us);
	}
	if (next_us != INT64_MAX)
		timer_set(c, next_us, now_us);
}

/* Slots. */

/* The slot of the worker that has least to do, if possible one that is running. */
int cage_take(struct cage *c, struct cage_slot **ret)
{
	struct slot *best = NULL;
	size_t best_cost = SIZE_MAX;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		size_t cost = w->queued + (w->state == WORKER_NONE ? CAGE_SLOTS : 0);
		struct slot *free_slot = NULL;
		for (size_t k = 0; k < CAGE_SLOTS; k++) {
			if (w->slot[k].state == SLOT_FREE && !free_slot)
				free_slot = &w->slot[k]; /* the first: its memory is warm */
			else if (w->slot[k].state == SLOT_TAKEN)
				cost++;
		}
		if (free_slot && cost < best_cost) {
			best = free_slot;
			best_cost = cost;
		}
	}
	if (!best)
		return 1;
	best->state = SLOT_TAKEN;
	*ret = &best->lent;
	return 0;
}

/* Adds a text after the others, as much of it as there is room for. */
static uint32_t put_field(char **to, size_t *room, struct str text)
{
	size_t n = MIN(text.n, *room);
	if (n)
		memcpy(*to, text.p, n);
	*to += n;
	*room -= n;
	return (uint32_t)n;
}

/* What the worker has to know, in front of the body. It stays there for another worker that may
 * have to read the document instead. */
static void slot_put_call(char *body, const struct extract_job *job)
{
	char *at = body - CAGE_CALL_ROOM, *to = at + sizeof(struct cage_call);
	size_t room = CAGE_HEADER_MAX;
	struct cage_call call = {.body_n = job->body.n,
				 .links_max = job->settings.links_max,
				 .noscript = job->settings.noscript};
	call.url_n = put_field(&to, &room, job->url);
	call.content_type_n = put_field(&to, &room, job->content_type);
	call.charset_n = put_field(&to, &room, job->charset);
	call.robots_n = put_field(&to, &room, job->robots);
	memcpy(at, &call, sizeof call);
}

void cage_submit(struct cage *c, struct cage_slot *slot, const struct extract_job *job,
		 cage_done_fn *done, void *ctx, int64_t now_us)
{
	struct slot *s = (struct slot *)slot;
	struct cage_worker *w = s->worker;
	ENSURE(s->state == SLOT_TAKEN && job->body.n <= s->lent.body_max);
	slot_put_call(s->lent.body, job);
	s->body_n = job->body.n;
	s->done = done;
	s->ctx = ctx;
	s->state = SLOT_QUEUED;
	w->queue[w->queued++] = s;
	if (w->state == WORKER_NONE) {
		timer_set(c, now_us, now_us); /* cage_poll() reports that */
		return;
	}
	if (w->state == WORKER_READY && w->queued == 1)
		worker_begin_first(c, w, now_us);
	/* the first at once, the others together: with enough of them, or when an answer comes */
	if (w->sent == 0 || w->queued - w->sent >= SENT_AHEAD)
		queue_send(w);
}

int cage_fd(const struct cage *c)
{
	return c->epoll;
}

size_t cage_under_way(const struct cage *c)
{
	size_t n = 0;
	for (size_t i = 0; i < c->nworkers; i++)
		n += c->worker[i].queued;
	return n;
}

int cage_locks(const struct cage *c, unsigned *ret, const char **ret_remark)
{
	unsigned locks = UINT32_MAX;
	const char *remark = "";
	bool some = false;
	for (size_t i = 0; i < c->nworkers; i++) {
		const struct cage_worker *w = &c->worker[i];
		if (w->state != WORKER_READY)
			continue;
		some = true;
		locks &= w->locks;
		remark = w->remark[0] ? w->remark : remark;
	}
	if (!some)
		return 1;
	*ret = locks;
	*ret_remark = remark;
	return 0;
}

int cage_new(struct cage **ret, const struct cage_options *options, int64_t now_us, struct err *err)
{
	struct cage *c = mem_alloc(sizeof *c);
	struct epoll_event event = {.events = EPOLLIN};
	c->options = *options;
	c->program = mem_text(options->program);
	c->timer_us = INT64_MAX;
	c->nworkers = MIN(MAX(options->workers, 1u), (unsigned)CAGE_WORKERS_MAX);
	c->worker = mem_array(c->nworkers, sizeof *c->worker);
	for (size_t i = 0; i < c->nworkers; i++)
		c->worker[i].fd = c->worker[i].memory.fd = -1;
	c->epoll = epoll_create1(EPOLL_CLOEXEC);
	c->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll < 0 || c->timer < 0 ||
	    epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->timer, &event) != 0) {
		err_sys(err, "the descriptors of the parser's cage");
		cage_free(&c);
		return -1;
	}
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		if (worker_map_memory(c, w, err) < 0) {
			cage_free(&c);
			return -1;
		}
		if (worker_start(c, w, now_us) < 0) {
			*err = c->last;
			cage_free(&c);
			return -1;
		}
	}
	*ret = c;
	return 0;
}

void cage_free(struct cage **pc)
{
	struct cage *c = *pc;
	char how[160];
	if (!c)
		return;
	for (size_t i = 0; i < c->nworkers; i++) {
		struct cage_worker *w = &c->worker[i];
		worker_stop(w, how, sizeof how);
		if (w->map)
			munmap(w->map, cage_memory_size(c->options.body_max));
		file_drop(&w->memory);
	}
	if (c->timer >= 0)
		close(c->timer);
	if (c->epoll >= 0)
		close(c->epoll);
	mem_free(&c->worker);
	mem_free(&c->program);
	mem_free(&c->copy);
	mem_free(&c->attrs);
	mem_free(pc);
}
