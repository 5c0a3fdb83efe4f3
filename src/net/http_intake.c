/* The bytes that libmicrohttpd receives. It calls recv() itself and has no callback before its
 * parser. But it is a shared object, so a recv() defined in the program replaces that of the C
 * library. Ours behaves the same for every descriptor except those of HTTP connections, whose
 * bytes go through http_head.c. Only whole heads are passed on. In place of a refused head
 * libmicrohttpd gets a request of our own, which is answered with the reason.
 *
 * It must look like a socket to an edge-triggered caller: a short read or EAGAIN means that the
 * kernel has no more, so it reads until the kernel says so. */
#include "net/http_intake_inner.h"

#include "base/base.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/socket.h>

/* By descriptor, in leaves that are made when they are first needed and stay. */
enum { LEAF = 1024, LEAVES = 1024 };
static struct http_intake **leaves[LEAVES];

static struct http_intake **intake_slot(int fd)
{
	size_t at = (size_t)fd;
	if (fd < 0 || at / LEAF >= LEAVES)
		return NULL;
	struct http_intake **leaf = __atomic_load_n(&leaves[at / LEAF], __ATOMIC_ACQUIRE);
	return leaf ? &leaf[at % LEAF] : NULL;
}

static void make_leaf(int fd)
{
	struct http_intake **none = NULL, **made = mem_alloc(LEAF * sizeof *made);
	if (!__atomic_compare_exchange_n(&leaves[(size_t)fd / LEAF], &none, made, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		mem_free(&made);
}

int http_intake_check(struct err *err)
{
	void *found = dlsym(RTLD_DEFAULT, "recv");
	ssize_t (*ours)(int, void *, size_t, int) = recv;
	if (memcmp(&found, &ours, sizeof found) == 0) /* ISO C has no cast for these */
		return 0;
	return err_set(err, ERR_SYSTEM,
		       "this program was linked without its recv(): heads would go unchecked");
}

void http_intake_begin(struct http_intake *in, int fd, size_t memory)
{
	ENSURE(fd >= 0 && (size_t)fd / LEAF < LEAVES);
	*in = (struct http_intake){.head = HTTP_HEAD_INIT(memory), .held = BUF_INIT(2 * memory)};
	if (!intake_slot(fd))
		make_leaf(fd);
	__atomic_store_n(intake_slot(fd), in, __ATOMIC_RELEASE);
}

void http_intake_end(struct http_intake *in, int fd)
{
	__atomic_store_n(intake_slot(fd), NULL, __ATOMIC_RELEASE);
	buf_free(&in->held);
}

/* A checked path begins with a slash, so nobody else can ask for this one. */
#define REFUSED "!"

bool http_intake_refused(const struct http_intake *in, struct str target)
{
	return in->head.status && str_is(target, REFUSED);
}

static ssize_t kernel_recv(int fd, void *p, size_t n, int flags)
{
	return UNINTERRUPTED(recvfrom(fd, p, n, flags, NULL, NULL));
}

/* How much of what follows a refused head is taken off the socket, so that closing it does not
 * reset the connection before the answer was read. */
enum { PASSED_OVER = 64 << 10, READ_AHEAD = 4 << 10 };

static void pass_over(int fd)
{
	char waste[READ_AHEAD];
	for (size_t n = 0; n < PASSED_OVER; n += sizeof waste)
		if (kernel_recv(fd, waste, sizeof waste, MSG_DONTWAIT) <= 0)
			return;
}

/* `ready` bytes of what is held may go, then comes a head that is refused, if one is. */
static void hold_ready(struct http_intake *in, int fd, size_t ready)
{
	in->ready = ready;
	if (!in->head.status || in->told)
		return;
	in->told = true;
	in->held.n = ready;
	buf_add_text(&in->held, "GET " REFUSED " HTTP/1.1\r\nHost: \r\n\r\n");
	in->ready = in->held.n;
	pass_over(fd);
}

static size_t hand_on(struct http_intake *in, char *p, size_t n)
{
	n = MIN(n, in->ready);
	memcpy(p, buf_text(&in->held), n);
	in->ready -= n;
	in->held.n -= n;
	if (in->held.n)
		memmove(in->held.p, in->held.p + n, in->held.n);
	else
		buf_free(&in->held);
	return n;
}

/* Straight to where they are wanted; what may not be handed on yet is held. */
static ssize_t read_through(struct http_intake *in, int fd, char *p, size_t n, size_t *ret_ready)
{
	ssize_t got = kernel_recv(fd, p, n, 0);
	if (got <= 0)
		return got;
	*ret_ready = http_head_read(&in->head, (struct str){p, (size_t)got});
	buf_add(&in->held, p + *ret_ready, (size_t)got - *ret_ready);
	hold_ready(in, fd, 0);
	return got;
}

static ssize_t read_ahead(struct http_intake *in, int fd)
{
	ssize_t got = kernel_recv(fd, buf_room(&in->held, READ_AHEAD), READ_AHEAD, 0);
	if (got <= 0)
		return got;
	buf_grew(&in->held, (size_t)got);
	hold_ready(in, fd, http_head_read(&in->head, buf_str(&in->held)));
	return got;
}

/* After a refused head nothing more is handed on; the connection ends when it is answered. */
static ssize_t intake_recv(struct http_intake *in, int fd, char *p, size_t n)
{
	size_t done = 0;
	in->asked = true;
	for (;;) {
		size_t asked = n - done, ready = 0;
		if (in->ready)
			done += hand_on(in, p + done, asked);
		if (done == n)
			return (ssize_t)n;
		if (in->told) {
			pass_over(fd);
			errno = EAGAIN;
			return done ? (ssize_t)done : -1;
		}
		bool through = in->held.n == 0;
		asked = through ? n - done : READ_AHEAD;
		ssize_t got = through ? read_through(in, fd, p + done, asked, &ready)
				      : read_ahead(in, fd);
		done += ready;
		if (got <= 0)
			return done ? (ssize_t)done : got;
		if ((size_t)got < asked && done && !in->ready)
			return (ssize_t)done;
	}
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
	struct http_intake **slot = intake_slot(fd);
	struct http_intake *in = slot ? __atomic_load_n(slot, __ATOMIC_ACQUIRE) : NULL;
	return in && !(flags & MSG_PEEK) ? intake_recv(in, fd, p, n)
					 : recvfrom(fd, p, n, flags, NULL, NULL);
}
