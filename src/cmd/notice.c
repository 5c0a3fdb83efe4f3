#include "cmd/notice.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { MOST_BYTES = 4096 };

void notice_parse(struct str bytes, struct notice *ret)
{
	pid_t pid = ret->pid;
	*ret = (struct notice){.pid = pid};
	struct str line;
	while (str_cut(&bytes, '\n', &line) == 0) {
		if (str_is(line, "READY=1"))
			ret->ready = true;
		else if (str_is(line, "STOPPING=1"))
			ret->stopping = true;
		else if (str_starts(line, STR("STATUS=")))
			ret->status = str_from(line, strlen("STATUS="));
	}
}

static int bind_anywhere(int fd, char *ret_name, size_t cap, struct err *err)
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
	if (bind_anywhere(fd, ret_name, cap, err) < 0) {
		close(fd);
		return -1;
	}
	*ret_fd = fd;
	return 0;
}

/* The sender's pid from the ancillary data; 0 when there is none. Descriptors that somebody sends
 * along find no room in `control` and are dropped by the kernel. */
static pid_t sender(struct msghdr *msg)
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
	ret->pid = sender(&msg);
	notice_parse(buf_str(bytes), ret);
	return 0;
}
