#include "role/notify.h"

#include "base/str.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, SEND_WAIT_S = 5 };

/* A path, or an abstract name behind '@'. */
static bool address_of(const char *name, struct sockaddr_un *ret, socklen_t *ret_n)
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

/* Waits a while when the reader's queue is full: a lost READY=1 would cost a restart. What cannot
 * be said then is not worth failing for. */
void notify_send(const char *state)
{
	struct sockaddr_un to;
	socklen_t n;
	if (!address_of(getenv("NOTIFY_SOCKET"), &to, &n))
		return;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	struct timeval wait = {.tv_sec = SEND_WAIT_S};
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, n);
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
