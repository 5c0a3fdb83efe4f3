/* Listening sockets. Addresses are parsed by endpoint_parse(), so that a configuration can be
 * checked without opening anything. */
#include "role/listen.h"

#include "base/endpoint.h"
#include "base/file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BACKLOG = 1024 }; /* the kernel lowers it to net.core.somaxconn */

/* The scope's name becomes its number. */
static int resolve_scope(const char *text, struct endpoint *w, struct err *err)
{
	if (w->scope[0] && (w->v6.sin6_scope_id = if_nametoindex(w->scope)) == 0)
		return err_sys(err, "%s: interface %s", text, w->scope);
	return 0;
}

int listen_address(const char *text, struct sockaddr_storage *ret, unsigned *ret_len,
		   struct err *err)
{
	struct endpoint w;
	if (endpoint_parse(str_of(text), &w, err) < 0 || resolve_scope(text, &w, err) < 0)
		return -1;
	if (w.both)
		return err_set(err, ERR_USAGE, "%s is not an address to connect to", text);
	*ret = (struct sockaddr_storage){0};
	memcpy(ret, &w.any, w.len);
	*ret_len = w.len;
	return 0;
}

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof value);
}

/* A bound and listening socket, or -1 and errno. SO_REUSEADDR would let two have one address where
 * there are no connections. */
static int open_socket(const struct endpoint *w, int type, bool shared)
{
	int fd = socket(w->any.sa_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	int family = w->any.sa_family;
	bool stream = type == SOCK_STREAM;
	if ((stream && family != AF_UNIX && set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1) < 0) ||
	    (shared && set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0) ||
	    (family == AF_INET6 && set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !w->both) < 0) ||
	    bind(fd, &w->any, w->len) < 0 || (stream && listen(fd, BACKLOG) < 0)) {
		int saved = errno;
		close(fd);
		errno = saved;
		return -1;
	}
	return fd;
}

/* Whether a process listens on a socket file. 0: none does; ERR_BUSY: one does. */
static int probe_socket(const struct endpoint *w, struct err *err)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, "%s: cannot make a socket to try it with", w->un.sun_path);
	int rc = connect(fd, &w->any, w->len), saved = errno;
	close(fd);
	if (rc == 0 || saved == EAGAIN || saved == EPROTOTYPE)
		return err_set(err, ERR_BUSY, "%s: another process listens there", w->un.sun_path);
	errno = saved;
	if (saved != ECONNREFUSED && saved != ENOENT)
		return err_sys(err, "%s: cannot tell whether a process listens there",
			       w->un.sun_path);
	return 0;
}

/* Clears the way for a Unix socket. Two that start at the same instant on one path are kept apart
 * by the instance lock, not here. */
static int remove_stale(const struct endpoint *w, struct err *err)
{
	const char *path = w->un.sun_path;
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : err_sys(err, "%s", path);
	if (!S_ISSOCK(st.st_mode))
		return err_set(err, ERR_USAGE,
			       "%s: something that is not a socket is there and is left alone",
			       path);
	if (probe_socket(w, err) < 0 || file_remove(path, err) < 0)
		return -1;
	return 0;
}

int listen_open(const char *text, int *ret_fd, struct err *err)
{
	struct endpoint w;
	bool udp = endpoint_is_udp(str_of(text));
	int type = udp ? SOCK_DGRAM : SOCK_STREAM;
	if ((udp ? endpoint_parse_udp(str_of(text), &w, err)
		 : endpoint_parse(str_of(text), &w, err)) < 0 ||
	    resolve_scope(text, &w, err) < 0)
		return -1;
	if (w.any.sa_family == AF_UNIX && remove_stale(&w, err) < 0)
		return -1;
	int fd = open_socket(&w, type, false);
	if (fd < 0 && w.both && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) {
		uint16_t port = w.v6.sin6_port;
		w = (struct endpoint){.v4 = {.sin_family = AF_INET, .sin_port = port},
				      .len = sizeof w.v4};
		fd = open_socket(&w, type, false);
	}
	if (fd < 0) {
		bool busy = errno == EADDRINUSE;
		err_sys(err, "cannot listen on %s", text);
		if (!busy)
			return -1;
		err->code = ERR_BUSY;
		return err_then(err,
				"stop what listens there, or set net.port for a second garner");
	}
	*ret_fd = fd;
	return 0;
}

static int get_option(int fd, int level, int name)
{
	int value = -1;
	socklen_t len = sizeof value;
	return getsockopt(fd, level, name, &value, &len) < 0 ? -1 : value;
}

/* The first one was bound alone, so that an address that another program has is not shared with it
 * unawares; from here on the same user may bind more. */
int listen_share(int fd, int *ret_fd, struct err *err)
{
	struct endpoint w = {.len = offsetof(struct endpoint, len)};
	if (getsockname(fd, &w.any, &w.len) < 0 || set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1) < 0)
		return err_sys(err, "descriptor %d cannot be shared", fd);
	w.both = w.any.sa_family == AF_INET6 && get_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0;
	int shared = open_socket(&w, SOCK_DGRAM, true);
	if (shared < 0)
		return err_sys(err, "cannot share the address of descriptor %d", fd);
	*ret_fd = shared;
	return 0;
}

/* A program for the kernel, run for each packet: the first half of an IPv6 sender's address, or the
 * whole of an IPv4 one, mixed and cut to a number below n. */
int listen_spread(int fd, unsigned n, struct err *err)
{
	enum { V4_FROM = 12, V6_FROM = 8, MIX = 0x9e3779b1 };
	const uint32_t net = (uint32_t)SKF_NET_OFF;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, net),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 0, 2),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, net + V4_FROM),
		BPF_STMT(BPF_JMP | BPF_JA, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, net + V6_FROM),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, net + V6_FROM + 4),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_K, MIX),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 16),
		BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, n),
		BPF_STMT(BPF_RET | BPF_A, 0),
	};
	struct sock_fprog program = {.len = ARRAY_LEN(code), .filter = code};
	ENSURE(n > 0);
	if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) < 0)
		return err_sys(err, "the packets of descriptor %d cannot be divided among %u", fd,
			       n);
	return 0;
}

static void print_v6(int fd, const struct sockaddr_in6 *v6, char *ret, size_t cap)
{
	char host[INET6_ADDRSTRLEN], scope[IF_NAMESIZE + 1] = "";
	if (memcmp(&v6->sin6_addr, &in6addr_any, sizeof in6addr_any) == 0 &&
	    get_option(fd, IPPROTO_IPV6, IPV6_V6ONLY) == 0) {
		snprintf(ret, cap, "*:%u", ntohs(v6->sin6_port));
		return;
	}
	if (v6->sin6_scope_id && if_indextoname(v6->sin6_scope_id, scope + 1))
		scope[0] = '%';
	inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
	snprintf(ret, cap, "[%s%s]:%u", host, scope, ntohs(v6->sin6_port));
}

int listen_name(int fd, char *ret, size_t cap, struct err *err)
{
	struct endpoint w = {0};
	char text[sizeof "unix:" + sizeof w.un.sun_path], host[INET_ADDRSTRLEN];
	const char *udp = get_option(fd, SOL_SOCKET, SO_TYPE) == SOCK_DGRAM ? "udp:" : "";
	w.len = offsetof(struct endpoint, len);
	if (getsockname(fd, &w.any, &w.len) < 0)
		return err_sys(err, "descriptor %d has no name", fd);
	switch (w.any.sa_family) {
	case AF_INET:
		inet_ntop(AF_INET, &w.v4.sin_addr, host, sizeof host);
		snprintf(text, sizeof text, "%s:%u", host, ntohs(w.v4.sin_port));
		break;
	case AF_INET6:
		print_v6(fd, &w.v6, text, sizeof text);
		break;
	case AF_UNIX:
		snprintf(text, sizeof text, "unix:%.*s", (int)sizeof w.un.sun_path, w.un.sun_path);
		break;
	default:
		return err_set(err, ERR_USAGE,
			       "descriptor %d is a socket of family %d, which is not known here",
			       fd, w.any.sa_family);
	}
	if (strlen(udp) + strlen(text) >= cap)
		return err_set(err, ERR_USAGE, "no room for '%s' in %zu bytes", text, cap);
	snprintf(ret, cap, "%s%s", udp, text);
	return 0;
}
