/* Lines between a session and its parent. Descriptors go one way only: what a session would send
 * with its words is not received. */
#include "archie/telnet_hand.h"

#include <inttypes.h>
#include <sys/socket.h>

enum { NUMBERS_MOST = 6, SPLIT_LEAST = 1024 };

void hand_ask_print(const struct hand_ask *a, struct buf *out)
{
	const struct shell_mail *m = &a->mail;
	switch (a->what) {
	case HAND_CONNECT:
		buf_add_text(out, "CONNECT\n");
		break;
	case HAND_MAIL:
		buf_printf(out, "MAIL %zu %zu %zu %d %d %" PRIu64 "\n", m->to.n, m->command.n,
			   m->text.n, m->compress, m->encode, m->max_split_size);
		buf_add_str(out, m->to);
		buf_add_str(out, m->command);
		buf_add_str(out, m->text);
		break;
	case HAND_SITE:
		buf_printf(out, "SITE %zu %zu\n", a->host.n, a->reply_to.n);
		buf_add_str(out, a->host);
		buf_add_str(out, a->reply_to);
		break;
	}
}

static bool read_numbers(struct str rest, uint64_t *number, size_t n)
{
	struct str word;
	for (size_t i = 0; i < n; i++)
		if (str_cut(&rest, ' ', &word) != 0 || !str_u64(word, &number[i]))
			return false;
	return !rest.p;
}

/* Cuts the counted bytes off. They fit: the sum was compared before. */
static struct str cut_bytes(struct str *rest, uint64_t n)
{
	struct str bytes = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return bytes;
}

static bool parse_head(struct str line, struct hand_ask *ret, uint64_t *number, size_t *ret_counts)
{
	struct str word, rest = line;
	*ret_counts = 0;
	if (str_cut(&rest, ' ', &word) != 0)
		return false;
	if (str_is(word, "CONNECT")) {
		ret->what = HAND_CONNECT;
		return !rest.p;
	}
	if (str_is(word, "SITE")) {
		ret->what = HAND_SITE;
		*ret_counts = 2;
		return rest.p && read_numbers(rest, number, 2);
	}
	ret->what = HAND_MAIL;
	*ret_counts = 3;
	return str_is(word, "MAIL") && rest.p && read_numbers(rest, number, NUMBERS_MOST) &&
	       number[3] <= number[4] && number[4] <= 1 && number[5] >= SPLIT_LEAST &&
	       number[5] <= INT32_MAX;
}

static bool counts_fit(enum hand_what what, const uint64_t *number, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool text = what == HAND_MAIL && i == 2;
		if (number[i] > (text ? (uint64_t)SHELL_OUTPUT_MOST + HAND_WORD_MOST
				      : (uint64_t)HAND_WORD_MOST))
			return false;
	}
	return true;
}

int hand_ask_parse(struct str bytes, struct hand_ask *ret, size_t *ret_used, struct err *err)
{
	uint64_t number[NUMBERS_MOST] = {0}, all = 0;
	size_t n = str_find_byte(str_head(bytes, HAND_LINE_MOST), '\n'), counts;
	*ret = (struct hand_ask){.what = HAND_CONNECT};
	if (n == bytes.n && n < HAND_LINE_MOST)
		return 1;
	if (n >= HAND_LINE_MOST || !parse_head(str_head(bytes, n), ret, number, &counts) ||
	    !counts_fit(ret->what, number, counts))
		return err_set(err, ERR_USAGE, "a session asks for what cannot be");
	for (size_t i = 0; i < counts; i++)
		all += number[i];
	struct str rest = str_from(bytes, n + 1);
	if (all > rest.n)
		return 1;
	*ret_used = n + 1 + all;
	if (ret->what == HAND_SITE) {
		ret->host = cut_bytes(&rest, number[0]);
		ret->reply_to = cut_bytes(&rest, number[1]);
	} else if (ret->what == HAND_MAIL) {
		ret->mail.to = cut_bytes(&rest, number[0]);
		ret->mail.command = cut_bytes(&rest, number[1]);
		ret->mail.text = cut_bytes(&rest, number[2]);
		ret->mail.compress = number[3];
		ret->mail.encode = number[4];
		ret->mail.max_split_size = number[5];
	}
	return 0;
}

void hand_answer_print(const char *reason, struct buf *out)
{
	struct str text = str_utf8_head(str_of(reason ? reason : ""), HAND_REASON_MOST);
	size_t from = out->n + 3;
	if (!reason) {
		buf_add_text(out, "OK\n");
		return;
	}
	buf_printf(out, "NO " STR_FMT "\n", STR_ARG(text));
	for (size_t i = from; i + 1 < out->n; i++)
		if (out->p[i] == '\n')
			out->p[i] = ' ';
}

int hand_answer_parse(struct str line, struct err *err)
{
	if (str_is(line, "OK\n"))
		return 0;
	if (!str_starts(line, STR("NO ")) || line.p[line.n - 1] != '\n')
		return err_set(err, ERR_REMOTE, "the server does not say what it did");
	struct str reason = str_head(str_from(line, 3), line.n - 4);
	return err_set(err, ERR_BUSY, STR_FMT, STR_ARG(reason));
}

/* Room for one descriptor, aligned as the macros want it. */
union hand_control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

ssize_t hand_send(int socket, struct str bytes, int fd)
{
	union hand_control control = {.room = {0}};
	struct iovec iov = {.iov_base = (char *)bytes.p, .iov_len = bytes.n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof control.room;
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t hand_receive(int socket, char *room, size_t n, int *ret_fd)
{
	union hand_control control = {.room = {0}};
	struct iovec iov = {.iov_base = room, .iov_len = n};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control.room};
	*ret_fd = -1;
	ssize_t got = recvmsg(socket, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof *ret_fd))
		memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
	return got;
}
