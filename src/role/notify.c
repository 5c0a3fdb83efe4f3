/* Readiness: roles send it, the supervisor reads it. The protocols are those of systemd, so that a
 * role runs under either and needs no library. */
#include "role/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, SEND_WAIT_S = 5, MOST_BYTES = 4096 };

/* A path, or an abstract name after '@'. */
static bool notify_address(const char *name, struct sockaddr_un *ret, socklen_t *ret_n)
{
	size_t n = name ? strlen(name) : 0;
	if (n < 2 || n >= sizeof ret->sun_path || (name[0] != '/' && name[0] != '@'))
		return false;
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(ret->sun_path, name, n);
	if (name[0] == '@')
		ret->sun_path[0] = 0;
	*ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
	return true;
}

/* Waits a while when the reader's queue is full, if it is for READY=1: a lost one would cost a
 * restart. What cannot be said then is not worth failing for, and of all else there is a newer one
 * soon, or none is needed: a loop that others count on does not stand still for it. */
void notify_send(const char *state)
{
	struct sockaddr_un to;
	socklen_t n;
	if (!notify_address(getenv("NOTIFY_SOCKET"), &to, &n))
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	struct timeval wait = {.tv_sec = SEND_WAIT_S};
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	int flags = str_starts(str_of(state), STR("READY=1")) ? 0 : MSG_DONTWAIT;
	(void)sendto(fd, state, strlen(state), flags | MSG_NOSIGNAL, (const struct sockaddr *)&to,
		     n);
	close(fd);
}

static bool env_number(const char *name, uint64_t *ret)
{
	return str_u64(str_of(getenv(name)), ret);
}

int notify_socket(const char *name)
{
	uint64_t pid, fds;
	if (!env_number("LISTEN_PID", &pid) || pid != (uint64_t)getpid() ||
	    !env_number("LISTEN_FDS", &fds))
		return -1;
	struct str rest = str_of(getenv("LISTEN_FDNAMES")), field;
	for (uint64_t i = 0; i < fds && str_cut(&rest, ':', &field) == 0; i++) {
		int fd = FIRST_FD + (int)i;
		if (str_is(field, name))
			return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
	}
	return -1;
}

static struct notice notice_parse(struct str bytes, pid_t pid)
{
	struct notice got = {.pid = pid};
	struct str line;
	while (str_cut(&bytes, '\n', &line) == 0) {
		if (str_is(line, "READY=1"))
			got.ready = true;
		else if (str_is(line, "STOPPING=1"))
			got.stopping = true;
		else if (str_starts(line, STR("STATUS=")))
			got.status = str_from(line, strlen("STATUS="));
	}
	return got;
}

static int notice_bind(int fd, char *ret_name, size_t cap, struct err *err)
{
	/* an address of nothing but the family: the kernel picks a free abstract name */
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int yes = 1;
	socklen_t n = sizeof at;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) < 0 ||
	    bind(fd, (const struct sockaddr *)&at, sizeof at.sun_family) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return err_sys(err, "the socket for readiness");
	size_t len = n - offsetof(struct sockaddr_un, sun_path);
	ENSURE(len > 1 && len < cap);
	snprintf(ret_name, cap, "@%.*s", (int)(len - 1), at.sun_path + 1);
	return 0;
}

int notice_open(int *ret_fd, char *ret_name, size_t cap, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(err, "the socket for readiness");
	if (notice_bind(fd, ret_name, cap, err) < 0) {
		close(fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

/* The sender's pid from the ancillary data; 0 when there is none. Descriptors that
 * come along do not fit into `control` and are dropped by the kernel. */
static pid_t notice_sender(struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct ucred from;
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
		    c->cmsg_len != CMSG_LEN(sizeof from))
			continue;
		memcpy(&from, CMSG_DATA(c), sizeof from);
		return from.pid;
	}
	return 0;
}

int notice_read(int fd, struct buf *bytes, struct notice *ret, struct err *err)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control;
	buf_clear(bytes);
	char *room = buf_room(bytes, MOST_BYTES);
	ENSURE(room);
	struct iovec io = {.iov_base = room, .iov_len = MOST_BYTES};
	struct msghdr msg = {.msg_iov = &io,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof control};
	ssize_t n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : err_sys(err, "reading a notice");
	buf_grew(bytes, (size_t)n);
	*ret = notice_parse(buf_str(bytes), notice_sender(&msg));
	return 0;
}
