/* A blocking client of the line protocol: one connection for each question, on which all lines are
 * sent at once, QUIT last. It stops at the last line of the answer, or when the time for the whole
 * exchange is over, so a server that sends a few bytes now and then cannot hold it up. Server names
 * are resolved as on this machine, /etc/hosts included, because a person has chosen them. */
#include "archie/ng_peers.h"
#include "archie/ng_vars.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "cmd/archie/archie_find.h"
#include "index/names.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

#define CONNECT_US (5 * US_PER_S)
#define LOAD_US (6 * US_PER_S) /* it waits for its queuer for 4 s */
enum {
	ANSWER_MOST = 64 << 20,
	PIECE = 64 << 10,
	LOAD_OLD_S = 180, /* an older load is ignored */
};

static int remote_failed(const char *address, struct err *err)
{
	int number = errno;
	if (number == EAGAIN || number == EWOULDBLOCK || number == EINPROGRESS)
		return err_set(err, ERR_REMOTE, "%s: no answer in time", address);
	(void)err_sys(err, "%s", address);
	err->code = ERR_REMOTE;
	return -1;
}

static int socket_limits(int fd, int64_t timeout_us, struct err *err)
{
	const struct timeval t = {.tv_sec = timeout_us / US_PER_S,
				  .tv_usec = timeout_us % US_PER_S};
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) < 0)
		return err_sys(err, "setsockopt");
	return 0;
}

static int connect_one(const char *address, const struct sockaddr *to, socklen_t len, int *ret_fd,
		       struct err *err)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return err_sys(err, "socket");
	int rc = socket_limits(fd, CONNECT_US, err);
	if (rc == 0 && connect(fd, to, len) < 0)
		rc = remote_failed(address, err);
	if (rc < 0)
		(void)close(fd);
	else
		*ret_fd = fd;
	return rc;
}

/* To the first address of a name that accepts. */
static int connect_name(const char *address, int *ret_fd, struct err *err)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				       .ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG};
	struct addrinfo *list = NULL;
	char host[256];
	const char *colon = strrchr(address, ':');
	if (!colon || colon == address || (size_t)(colon - address) >= sizeof host)
		return err_set(err, ERR_USAGE, "%s: expected HOST:PORT", address);
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = 0;
	int rc = getaddrinfo(host, colon + 1, &hints, &list);
	if (rc != 0)
		return err_set(err, ERR_REMOTE, "%s: %s", address, gai_strerror(rc));
	rc = -1;
	for (const struct addrinfo *to = list; to && rc < 0; to = to->ai_next)
		rc = connect_one(address, to->ai_addr, to->ai_addrlen, ret_fd, err);
	freeaddrinfo(list);
	return rc;
}

static int connect_to(const char *address, int *ret_fd, struct err *err)
{
	struct endpoint e;
	struct err ignored;
	if (endpoint_parse(str_of(address), &e, &ignored) == 0 && !e.both)
		return connect_one(address, &e.any, e.len, ret_fd, err);
	return connect_name(address, ret_fd, err);
}

/* For the next call: what is left of the time. */
static int time_left(int fd, const char *address, int64_t until_us, struct err *err)
{
	int64_t left_us = until_us - clock_mono_us();
	if (left_us <= 0)
		return err_set(err, ERR_REMOTE, "%s: no answer in time", address);
	return socket_limits(fd, left_us, err);
}

static int send_all(int fd, const char *address, struct str text, int64_t until_us, struct err *err)
{
	while (text.n) {
		if (time_left(fd, address, until_us, err) < 0)
			return -1;
		ssize_t n = UNINTERRUPTED(send(fd, text.p, text.n, MSG_NOSIGNAL));
		if (n < 0)
			return remote_failed(address, err);
		text = str_from(text, (size_t)n);
	}
	return 0;
}

/* The answers: each ends in a line of its own. */
struct answers {
	struct buf *out;
	size_t seen; /* whole lines of it */
	size_t left; /* answers that did not end */
};

static void answers_count(struct answers *a)
{
	struct str rest = str_from(buf_str(a->out), a->seen);
	size_t n;
	while (a->left && (n = str_find_byte(rest, '\n')) < rest.n) {
		a->left -= str_starts(rest, STR("OK ")) || str_starts(rest, STR("ERROR "));
		a->seen += n + 1;
		rest = str_from(rest, n + 1);
	}
}

static int receive_all(int fd, const char *address, struct answers *a, int64_t until_us,
		       struct err *err)
{
	while (a->left) {
		if (time_left(fd, address, until_us, err) < 0)
			return -1;
		char *room = buf_room(a->out, PIECE);
		if (!room)
			return err_set(err, ERR_REMOTE, "%s: the answer is too large", address);
		ssize_t n = UNINTERRUPTED(recv(fd, room, PIECE, 0));
		if (n < 0)
			return remote_failed(address, err);
		if (n == 0)
			return 0;
		buf_grew(a->out, (size_t)n);
		answers_count(a);
	}
	return 0;
}

/* Lines out, the answers to all but the last, QUIT, in; fewer, where the server hangs up. */
static int exchange_lines(const char *address, struct str lines, int64_t timeout_us,
			  struct buf *out, struct err *err)
{
	struct answers answers = {.out = out};
	int fd = -1;
	for (size_t i = 0; i + 1 < lines.n; i++)
		answers.left += lines.p[i] == '\n';
	if (connect_to(address, &fd, err) < 0)
		return -1;
	int64_t until_us = clock_mono_us() + timeout_us;
	int rc = send_all(fd, address, lines, until_us, err);
	if (rc == 0)
		rc = receive_all(fd, address, &answers, until_us, err);
	(void)close(fd);
	return rc;
}

/* Loads */

static void server_add(struct find_servers *s, const char *address, const struct ng_load *load)
{
	if (s->n == FIND_SERVERS_MOST)
		return;
	s->server[s->n++] = (struct find_server){.address = address,
						 .known = load->known && load->age_s <= LOAD_OLD_S,
						 .wait_ms = load->wait_ms,
						 .queue = load->queue};
}

int find_load(const char *address, bool others, struct arena *arena, struct find_servers *ret,
	      struct err *err)
{
	struct buf out = BUF_INIT(ANSWER_MOST);
	struct str rest, line, name;
	struct ng_load load;
	size_t n = 0;
	int rc = exchange_lines(address, STR("LOAD\nQUIT\n"), LOAD_US, &out, err);
	rest = buf_str(&out);
	while (rc == 0 && str_cut(&rest, '\n', &line) == 0 && ng_load_parse(line, &name, &load)) {
		if (n++ == 0)
			server_add(ret, address, &load); /* the first is of the server itself */
		else if (others)
			server_add(ret, arena_text(arena, name), &load);
	}
	buf_free(&out);
	if (rc == 0 && n == 0)
		return err_set(err, ERR_REMOTE, "%s: does not tell its load", address);
	return rc;
}

static bool goes_before(const struct find_server *a, const struct find_server *b)
{
	if (a->known != b->known)
		return a->known;
	if (!a->known)
		return false;
	return a->wait_ms != b->wait_ms ? a->wait_ms < b->wait_ms : a->queue < b->queue;
}

/* By insertion: they are few, and equal ones keep their order. */
void find_order(struct find_servers *servers)
{
	for (size_t i = 1; i < servers->n; i++) {
		const struct find_server it = servers->server[i];
		size_t at = i;
		for (; at > 0 && goes_before(&it, &servers->server[at - 1]); at--)
			servers->server[at] = servers->server[at - 1];
		servers->server[at] = it;
	}
}

/* Hits */

static bool time_field(struct str text, int64_t *ret)
{
	*ret = -1;
	return str_is(text, "-") || ng_time_parse(text, ret);
}

static bool size_field(struct str text, int64_t *ret)
{
	uint64_t v;
	*ret = -1;
	if (str_is(text, "-"))
		return true;
	if (!str_u64(text, &v) || v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool hit_parse(struct str line, struct arena *arena, struct find_hit *ret)
{
	enum { WORD, HOST, ADDRESS, LISTED, KIND, MODE, SIZE, TIME, FIELDS };
	struct str f[FIELDS];
	struct find_hit h = {0};
	for (size_t i = 0; i < FIELDS; i++)
		if (str_cut(&line, '\t', &f[i]) != 0)
			return false;
	if (!str_is(f[WORD], "HIT") || !time_field(f[LISTED], &h.listed_s) ||
	    !size_field(f[SIZE], &h.size) || !time_field(f[TIME], &h.time_s))
		return false;
	struct str path = names_unescape(arena_str(arena, line), arena);
	size_t slash = str_after_last(path, '/');
	h.name = str_from(path, slash);
	h.dir = str_head(path, slash ? slash - 1 : 0);
	h.host = names_unescape(arena_str(arena, f[HOST]), arena);
	h.address = names_unescape(arena_str(arena, f[ADDRESS]), arena);
	h.kind = arena_str(arena, f[KIND]);
	h.mode = arena_str(arena, f[MODE]);
	*ret = h;
	return h.name.n > 0;
}

/* What an ERROR line means for one who asks: "ERROR word text". */
static int line_refused(const char *address, struct str line, struct err *err)
{
	struct str rest = line, word;
	(void)str_cut(&rest, ' ', &word);
	bool more = str_cut(&rest, ' ', &word) == 0;
	bool bad = more && str_is(word, "bad");
	if (str_has_control(line)) /* it is for a terminal */
		return err_set(err, ERR_REMOTE, "%s: refused", address);
	return err_set(err, bad ? ERR_USAGE : ERR_REMOTE, "%s: " STR_FMT, address,
		       STR_ARG(rest.p ? rest : line));
}

/* The answers to all lines but QUIT. */
static int answer_parse(const char *address, struct str text, size_t lines, struct arena *arena,
			struct find_answer *ret, struct err *err)
{
	struct find_answer a = {0};
	struct str line;
	size_t room = 0;
	while (lines > 0 && str_cut(&text, '\n', &line) == 0) {
		if (str_starts(line, STR("HIT\t"))) {
			struct find_hit *hit = ARENA_PUSH(arena, a.hit, a.n, room);
			if (!hit_parse(line, arena, hit))
				return err_set(err, ERR_REMOTE, "%s: a line has no form", address);
		} else if (str_starts(line, STR("ERROR "))) {
			return line_refused(address, line, err);
		} else if (str_starts(line, STR("OK "))) {
			a.cut = str_ends(line, STR(" cut"));
			lines--;
		}
	}
	if (lines > 0)
		return err_set(err, ERR_REMOTE, "%s: the answer is not whole", address);
	*ret = a;
	return 0;
}

int find_ask(const char *address, struct str lines, int64_t timeout_us, struct arena *arena,
	     struct find_answer *ret, struct err *err)
{
	struct buf out = BUF_INIT(ANSWER_MOST), all = BUF_INIT(ANSWER_MOST);
	size_t n = 0;
	for (size_t i = 0; i < lines.n; i++)
		n += lines.p[i] == '\n';
	buf_add_str(&all, lines);
	buf_add_text(&all, "QUIT\n");
	int rc = exchange_lines(address, buf_str(&all), timeout_us, &out, err);
	if (rc == 0)
		rc = answer_parse(address, buf_str(&out), n, arena, ret, err);
	buf_free(&all);
	buf_free(&out);
	return rc;
}
