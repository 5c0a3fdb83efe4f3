/* prospero-ask ADDRESS:PORT [KEY=VALUE...]: a client of Prospero that costs little, for benchmarks.
 * Asks again and again, acknowledges what it is asked to, and prints a JSON object with what came.
 *
 *   name=ARCHIE/MATCH(95,0,S)/emacs   version=1|5
 *   times=N   so often, at_once=N at a time, each by a socket of its own
 *   lines=1   instead, each line of the standard input once, with the name before it, and by
 *             another socket than the line before
 *   bare=N    also sends packets as large as those of the replies to a socket of its own, N times,
 *             and tells the CPU time of that: "bare_us" for each reply */
#include "archie/prospero/ardp.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "base/vec.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { AT_ONCE_MOST = 256, PACKETS_MOST = 4096 };
#define PATIENCE_US (10 * US_PER_S) /* for the next packet */

struct asked {
	int fd;
	uint16_t cid;
	uint16_t total, have;
	uint16_t size[PACKETS_MOST]; /* octets of each packet; 0: not there yet */
};

struct client {
	struct endpoint to;
	const char *name;
	struct buf lines; /* what is asked for; without them, the name */
	struct str left;  /* of them */
	unsigned version;
	uint64_t times, at_once, bare;
	uint64_t begun, done, packets, bytes;
	uint16_t cid;
	struct asked *asked;
	uint16_t *size; /* octets of all packets, each reply with a 0 after it */
	size_t sizes, room;
};

static uint64_t number_of(struct str value)
{
	uint64_t v;
	if (!str_u64(value, &v))
		die("'%.*s' is not a number", STR_ARG(value));
	return v;
}

static void send_packet(const struct asked *a, unsigned number, unsigned total, unsigned through,
			struct str text)
{
	char bytes[ARDP_PACKET_MOST];
	const struct ardp_header h =
		ardp_header(&(struct ardp_packet){.cid = a->cid,
						  .number = (uint16_t)number,
						  .total = (uint16_t)total,
						  .through = (uint16_t)through},
			    9);
	memcpy(bytes, h.b, h.n);
	memcpy(bytes + h.n, text.p, text.n);
	if (send(a->fd, bytes, h.n + text.n, 0) < 0)
		die("cannot send: %m");
}

static int open_socket(const struct client *c)
{
	int fd = socket(c->to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, &c->to.any, c->to.len) < 0)
		die("no socket: %m");
	return fd;
}

static void ask_next(struct client *c, struct asked *a)
{
	if (c->begun == c->times)
		return;
	c->begun++;
	struct buf text = BUF_INIT(1024);
	struct str line = {0};
	const char *quote = c->version == 5 ? "'" : "";
	if (c->left.n) {
		(void)str_cut(&c->left, '\n', &line);
		close(a->fd); /* each is a client of its own */
		a->fd = open_socket(c);
	}
	buf_printf(&text,
		   "VERSION %u\nDIRECTORY ASCII %s%s" STR_FMT "%s\nLIST ATTRIBUTES COMPONENTS \n",
		   c->version, quote, c->name, STR_ARG(line), quote);
	*a = (struct asked){.fd = a->fd, .cid = ++c->cid ? c->cid : ++c->cid};
	send_packet(a, 1, 1, 0, buf_str(&text));
	buf_free(&text);
}

static void keep_sizes(struct client *c, const struct asked *a)
{
	VEC_ROOM(c->size, c->room, c->sizes + a->total + 1);
	memcpy(c->size + c->sizes, a->size, a->total * sizeof *a->size);
	c->sizes += a->total;
	c->size[c->sizes++] = 0;
}

static void take_packet(struct client *c, struct asked *a)
{
	char bytes[ARDP_PACKET_MOST];
	struct ardp_packet p;
	ssize_t n = recv(a->fd, bytes, sizeof bytes, 0);
	if (n < 0)
		die("cannot receive: %m");
	if (!ardp_parse((struct str){bytes, (size_t)n}, &p) || p.cid != a->cid)
		return;
	if (p.number == 0 && p.option == ARDP_CANCEL)
		die("refused");
	if (p.number == 0 || p.number > PACKETS_MOST || a->size[p.number - 1])
		return;
	a->size[p.number - 1] = (uint16_t)n;
	a->have++;
	a->total = p.total ? p.total : a->total;
	c->packets++;
	c->bytes += (size_t)n;
	if (p.flags & ARDP_ACK)
		send_packet(a, 0, c->version == 1, a->have, STR(""));
	if (a->have == a->total) {
		c->done++;
		if (c->bare)
			keep_sizes(c, a);
		ask_next(c, a);
	}
}

static void ask_all(struct client *c)
{
	struct pollfd fds[AT_ONCE_MOST];
	c->asked = calloc(c->at_once, sizeof *c->asked);
	for (size_t i = 0; i < c->at_once; i++) {
		c->asked[i].fd = open_socket(c);
		ask_next(c, &c->asked[i]);
	}
	while (c->done < c->times) {
		for (size_t i = 0; i < c->at_once; i++)
			fds[i] = (struct pollfd){.fd = c->asked[i].fd, .events = POLLIN};
		if (poll(fds, c->at_once, (int)(PATIENCE_US / US_PER_MS)) <= 0)
			die("nothing comes: %llu of %llu are answered", (unsigned long long)c->done,
			    (unsigned long long)c->times);
		for (size_t i = 0; i < c->at_once; i++)
			if (fds[i].revents)
				take_packet(c, &c->asked[i]);
	}
	for (size_t i = 0; i < c->at_once; i++)
		close(c->asked[i].fd);
	free(c->asked);
}

/* Packets of one window; returns how many. Nobody reads them. */
static unsigned send_window(int fd, struct endpoint *to, const uint16_t *size)
{
	static char bytes[ARDP_PACKET_MOST];
	struct mmsghdr msg[ARDP_WINDOW];
	struct iovec part[ARDP_WINDOW];
	unsigned n = 0;
	for (; n < ARDP_WINDOW && size[n]; n++) {
		part[n] = (struct iovec){bytes, size[n]};
		msg[n] = (struct mmsghdr){.msg_hdr = {.msg_name = &to->any,
						      .msg_namelen = to->len,
						      .msg_iov = &part[n],
						      .msg_iovlen = 1}};
	}
	if (n && sendmmsg(fd, msg, n, 0) < 0)
		die("cannot send: %m");
	return n;
}

/* The packets of all replies, sent as the role does, window by window. Returns us of CPU for each
 * reply. */
static double send_bare(const struct client *c)
{
	char bytes[ARDP_PACKET_MOST];
	struct endpoint to = {
		.v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
		.len = sizeof to.v4};
	int in = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int out = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (in < 0 || out < 0 || bind(in, &to.any, to.len) < 0 ||
	    getsockname(in, &to.any, &to.len) < 0)
		die("no sockets: %m");
	int64_t spent_us = 0;
	for (uint64_t i = 0; i < c->bare; i++) {
		for (size_t at = 0; at < c->sizes; at++) { /* over the 0 of each */
			int64_t before_us = clock_thread_us();
			while (c->size[at])
				at += send_window(out, &to, c->size + at);
			spent_us += clock_thread_us() - before_us;
			while (recv(in, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
				;
		}
	}
	close(in);
	close(out);
	return (double)spent_us / (double)c->bare / (double)c->done;
}

/* One question for each line. */
static void read_lines(struct client *c)
{
	char bytes[4096];
	size_t n;
	while ((n = fread(bytes, 1, sizeof bytes, stdin)))
		buf_add(&c->lines, bytes, n);
	c->left = buf_str(&c->lines);
	c->times = 0;
	for (size_t i = 0; i < c->left.n; i++)
		c->times += c->left.p[i] == '\n';
}

int main(int argc, char **argv)
{
	struct client c = {.version = 1,
			   .times = 1,
			   .at_once = 1,
			   .name = "ARCHIE/MATCH(95,0,S)/a",
			   .lines = BUF_INIT(64 << 20)};
	struct err err;
	if (argc < 2 || endpoint_parse(str_of(argv[1]), &c.to, &err) < 0)
		die("prospero-ask ADDRESS:PORT [KEY=VALUE...]");
	for (int i = 2; i < argc; i++) {
		struct str value = str_of(argv[i]), key;
		(void)str_cut(&value, '=', &key);
		if (str_is(key, "name"))
			c.name = value.p;
		else if (str_is(key, "version"))
			c.version = (unsigned)number_of(value);
		else if (str_is(key, "times"))
			c.times = number_of(value);
		else if (str_is(key, "at_once"))
			c.at_once = MIN(MAX(number_of(value), 1u), (uint64_t)AT_ONCE_MOST);
		else if (str_is(key, "lines"))
			read_lines(&c);
		else if (str_is(key, "bare"))
			c.bare = number_of(value);
		else
			die("'%s' is not known", argv[i]);
	}
	int64_t begin_us = clock_mono_us();
	ask_all(&c);
	double s = (double)(clock_mono_us() - begin_us) / US_PER_S;
	size_t packets = (size_t)(c.packets / c.done);
	printf("{\"replies\": %llu, \"packets\": %zu, \"bytes\": %llu, \"seconds\": %.6f",
	       (unsigned long long)c.done, packets, (unsigned long long)(c.bytes / c.done), s);
	if (c.bare)
		printf(", \"bare_us\": %.1f", send_bare(&c));
	printf("}\n");
	free(c.size);
	buf_free(&c.lines);
	return 0;
}
