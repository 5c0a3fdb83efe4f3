/* A blocking conversation: connect, send and receive at once, with limits. Receiving goes on while
 * something is left to send, since a peer may refuse a request that it has not read to its end. */
#include "net/call.h"

#include "base/clock.h"
#include "base/endpoint.h"
#include "base/wait.h"

#include <errno.h>
#include <netdb.h>
#include <unistd.h>

#define EVERY_US (1 * US_PER_S)

/* Waiting */

static int call_late(const struct call *c, bool silent, struct err *err)
{
	if (!silent)
		return err_set(err, ERR_REMOTE, "%s: no answer in time", c->name);
	return err_set(err, ERR_REMOTE, "%s: no answer within %lld s", c->name,
		       (long long)((c->silent_us + US_PER_S - 1) / US_PER_S));
}

static bool call_stops(struct call *c)
{
	c->asked_us = clock_mono_us();
	c->stopped = c->stop(c->stop_ctx);
	return c->stopped;
}

/* Negative, or what the socket is ready for. */
static int ready_events(struct call *c, short events, struct err *err)
{
	int64_t every_us = c->every_us ? c->every_us : EVERY_US, now_us = clock_mono_us();
	int64_t end_us = c->until_us ? c->until_us : INT64_MAX;
	bool silent = c->silent_us && c->silent_us < end_us - now_us;
	struct pollfd p[2] = {{.fd = c->fd, .events = events},
			      {.fd = c->stop ? c->stop_fd : -1, .events = POLLIN}};
	if (silent)
		end_us = now_us + c->silent_us;
	for (;;) {
		int64_t due_us = c->stop ? c->asked_us + every_us : INT64_MAX;
		if ((p[1].revents || clock_mono_us() >= due_us) && call_stops(c))
			return err_set(err, ERR_BUSY, "cancelled");
		/* a descriptor that was told of and left unread waits for the next time */
		p[1].fd = c->stop && !p[1].revents ? c->stop_fd : -1;
		if (clock_mono_us() >= end_us)
			return call_late(c, silent, err);
		due_us = c->stop ? c->asked_us + every_us : INT64_MAX;
		p[1].revents = 0;
		if (wait_ready(p, ARRAY_LEN(p), MIN(due_us, end_us)) < 0)
			return err_sys(err, "poll");
		if (p[0].revents)
			return p[0].revents;
	}
}

int call_wait(struct call *c, short events, struct err *err)
{
	return ready_events(c, events, err) < 0 ? -1 : 0;
}

/* Connecting */

static int call_broke(const struct call *c, int number, struct err *err)
{
	errno = number;
	(void)err_sys(err, "%s", c->name);
	err->code = ERR_REMOTE;
	return -1;
}

static int dial_address(const struct sockaddr *to, socklen_t n)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, to, n) < 0 && errno != EINPROGRESS) {
		int saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

int call_dial_path(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = strlen(path);
	if (n >= sizeof to.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(to.sun_path, path, n);
	return dial_address((const struct sockaddr *)&to, sizeof to);
}

static int connect_address(struct call *c, const struct sockaddr *to, socklen_t len,
			   struct err *err)
{
	int failed = 0;
	socklen_t n = sizeof failed;
	c->fd = dial_address(to, len);
	if (c->fd < 0)
		return call_broke(c, errno, err);
	int rc = call_wait(c, POLLOUT, err);
	if (rc == 0 && getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &failed, &n) < 0)
		failed = errno;
	if (failed)
		rc = call_broke(c, failed, err);
	if (rc < 0)
		call_end(c);
	return rc;
}

int call_connect(struct call *c, const struct endpoint *to, struct err *err)
{
	return connect_address(c, &to->any, to->len, err);
}

int call_connect_name(struct call *c, const char *host, const char *port, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG};
	struct addrinfo *list = NULL;
	int rc = getaddrinfo(host, port, &hints, &list);
	if (rc != 0)
		return err_set(err, ERR_REMOTE, "%s: %s", host, gai_strerror(rc));
	rc = -1;
	for (const struct addrinfo *to = list; to && rc < 0 && !c->stopped; to = to->ai_next)
		rc = connect_address(c, to->ai_addr, to->ai_addrlen, err);
	freeaddrinfo(list);
	return rc;
}

/* Talking */

static int send_some(const struct call *c, struct str *bytes, struct err *err)
{
	ssize_t n = send(c->fd, bytes->p, bytes->n, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n >= 0)
		*bytes = str_from(*bytes, (size_t)n);
	else if (errno == EPIPE || errno == ECONNRESET)
		bytes->n = 0; /* it may have said why before it closed */
	else if (errno != EAGAIN && errno != EINTR)
		return call_broke(c, errno, err);
	return 0;
}

int call_send(struct call *c, struct str bytes, struct err *err)
{
	while (bytes.n)
		if (call_wait(c, POLLOUT, err) < 0 || send_some(c, &bytes, err) < 0)
			return -1;
	return 0;
}

int call_talk(struct call *c, struct str bytes, bool (*piece)(void *ctx, struct str bytes),
	      void *ctx, struct err *err)
{
	char room[CALL_PIECE];
	for (;;) {
		int ready = ready_events(c, POLLIN | (bytes.n ? POLLOUT : 0), err);
		if (ready < 0 || (ready & POLLOUT && send_some(c, &bytes, err) < 0))
			return -1;
		if (!(ready & ~POLLOUT))
			continue;
		ssize_t n = recv(c->fd, room, sizeof room, MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return call_broke(c, errno, err);
		if (n == 0 || (n > 0 && piece(ctx, (struct str){room, (size_t)n})))
			return n == 0;
	}
}

void call_end(struct call *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
}
