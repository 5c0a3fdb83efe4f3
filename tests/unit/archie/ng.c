/* Sessions of the line protocol, on a loop of their own: what they do while requests for sites are
 * being sent. The sendmail program is a script that waits as long as a file is there. */
#include "archie/search/ng.h"

#include "../scratch.h"
#include "../unit.h"
#include "archie/archie_conf.h"
#include "archie/mail/mailer_desk.h"
#include "base/clock.h"
#include "base/file.h"

#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = MAILER_DESK_SHARE + 1 };
#define WAIT_US (60 * US_PER_S)

struct unit_client {
	struct ng_session *session;
	int fd; /* the program's end */
	struct buf heard;
};

static struct config *config;
static struct loop *loop;
static struct conn_pool *pool;
static struct ng *ng;
static struct unit_client client[CLIENTS];

static void on_line(void *ctx, struct str line)
{
	ng_session_line(((struct unit_client *)ctx)->session, line);
}

static void on_drained(void *ctx)
{
	ng_session_drained(((struct unit_client *)ctx)->session);
}

static void on_closed(void *ctx, enum conn_end end, int sys_errno)
{
	(void)end, (void)sys_errno;
	ng_session_free(&((struct unit_client *)ctx)->session);
}

static const struct conn_ops ops = {.line = on_line, .drained = on_drained, .closed = on_closed};
static const struct conn_limits limits = {
	.line_max = 8192, .high_mark = 1 << 16, .queue_max = 1 << 20};

static void client_open(struct unit_client *c, const char *from)
{
	int ends[2];
	assert_int_equal(0,
			 socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends));
	*c = (struct unit_client){.fd = ends[1], .heard = BUF_INIT(1 << 16)};
	c->session = ng_session_new(ng, conn_new(pool, ends[0], NULL, &limits, &ops, c), from);
}

static void client_close(struct unit_client *c)
{
	close(c->fd);
	buf_free(&c->heard);
}

static void client_say(struct unit_client *c, const char *text)
{
	assert_int_equal(strlen(text), write(c->fd, text, strlen(text)));
}

static void client_listen(struct unit_client *c)
{
	char room[4096];
	loop_poll(loop);
	ssize_t n = read(c->fd, room, sizeof room);
	if (n > 0)
		buf_add(&c->heard, room, (size_t)n);
}

/* Until it has heard all this, and nothing else. */
static void client_hears(struct unit_client *c, const char *all)
{
	int64_t until_us = clock_mono_us() + WAIT_US;
	while (!str_is(buf_str(&c->heard), all) && clock_mono_us() < until_us) {
		client_listen(c);
		usleep(1000);
	}
	assert_string_equal(all, buf_text(&c->heard));
}

static void mails_hold(void)
{
	struct err err;
	assert_int_equal(0, file_replace(scratch("hold"), STR(""), 0600, &err));
}

static void mails_go(void)
{
	struct err err;
	assert_int_equal(0, file_remove(scratch("hold"), &err));
}

static size_t mails_sent(void)
{
	CLEANUP(buf_free) struct buf got = BUF_INIT(1 << 20);
	struct err err;
	size_t n = 0;
	assert_in_range(file_slurp(scratch("got"), &got, &err), 0, 1);
	for (const char *at = buf_text(&got); (at = strstr(at, "\naddnewsite ")); at++)
		n++;
	return n;
}

static int make_all(void **state)
{
	static const struct config_section *const sections[] = {&archie_section, &mail_section};
	CLEANUP(buf_free) struct buf script = BUF_INIT(4096), via = BUF_INIT(4096);
	struct err err;
	if (scratch_make_in_memory(state) < 0 || dir_make(scratch("data"), DIR_MODE, &err) < 0 ||
	    dir_make(scratch("data/archie"), DIR_MODE, &err) < 0)
		return -1;
	buf_printf(&script, "#!/bin/sh\nwhile [ -e '%s' ]; do sleep 0.02; done\nexec cat >>'%s'\n",
		   scratch("hold"), scratch("got"));
	buf_printf(&via, "mail.via=%s", scratch("sendmail"));
	if (file_replace(scratch("sendmail"), buf_str(&script), 0755, &err) < 0)
		return -1;
	const char *const sets[] = {"archie.host=archie.x.org", "archie.master=master@m.org",
				    buf_text(&via)};
	const struct config_input in = {.sets = sets, .nsets = ARRAY_LEN(sets)};
	return config_load(&config, sections, ARRAY_LEN(sections), &in, NULL, &err);
}

static int begin(void **state)
{
	static const struct value_list none;
	struct err err;
	(void)state;
	if (loop_new(&loop, NULL, &err) < 0)
		return -1;
	pool = conn_pool_new(loop, 1 << 20);
	const struct ng_options options = {.pool = pool,
					   .data = scratch("data"),
					   .self = "archie.x.org:1527",
					   .servers = &none,
					   .mailer = mailer_of(scratch("data"), config)};
	return ng_new(&ng, &options, &err);
}

static int end(void **state)
{
	(void)state;
	conn_pool_free(&pool);
	ng_free(&ng);
	loop_free(&loop);
	return 0;
}

#define SERVERS "SERVER\tarchie.x.org:1527\nOK 1\n"

static void one_whose_request_is_being_sent_keeps_nobody_else_waiting(void **state)
{
	struct unit_client *a = &client[0], *b = &client[1];
	size_t before = mails_sent();
	(void)state;
	client_open(a, "192.0.2.1");
	client_open(b, "192.0.2.2");
	mails_hold();
	client_say(a, "ADDNEWSITE ftp.new.org me@x.org\nSERVERS\n");
	client_listen(a);
	client_say(b, "SERVERS\n");
	client_hears(b, SERVERS);
	client_listen(a);
	assert_int_equal(0, a->heard.n);
	mails_go();
	client_hears(a, "OK 0\n" SERVERS);
	client_close(a);
	client_close(b);
	assert_int_equal(before + 1, mails_sent());
}

static void a_request_is_sent_even_if_its_asker_hangs_up_or_cancels(void **state)
{
	size_t before = mails_sent();
	int64_t until_us = clock_mono_us() + WAIT_US;
	(void)state;
	for (size_t i = 0; i < 2; i++)
		client_open(&client[i], "192.0.2.3");
	mails_hold();
	client_say(&client[0], "ADDNEWSITE ftp.one.org\n");
	client_listen(&client[0]);
	client_close(&client[0]);
	client_say(&client[1], "ADDNEWSITE ftp.two.org\nSERVERS\nCANCEL\nSERVERS\n");
	client_hears(&client[1], "ERROR cancelled as was asked\nERROR cancelled as was asked\n"
				 "OK 2\n" SERVERS);
	client_close(&client[1]);
	mails_go();
	while (mails_sent() < before + 2 && clock_mono_us() < until_us)
		loop_poll(loop);
	assert_int_equal(before + 2, mails_sent());
}

static void requests_that_are_being_sent_are_bounded(void **state)
{
	(void)state;
	mails_hold();
	for (size_t i = 0; i < CLIENTS; i++) {
		client_open(&client[i], "192.0.2.4");
		client_say(&client[i], "ADDNEWSITE ftp.many.org\n");
		client_listen(&client[i]);
	}
	client_hears(&client[CLIENTS - 1],
		     "ERROR busy too many requests are being sent; try again later\n");
	mails_go();
	for (size_t i = 0; i < CLIENTS; i++)
		client_close(&client[i]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_whose_request_is_being_sent_keeps_nobody_else_waiting),
		TEST(a_request_is_sent_even_if_its_asker_hangs_up_or_cancels),
		TEST(requests_that_are_being_sent_are_bounded),
	};
	int rc = cmocka_run_group_tests(tests, make_all, scratch_done);
	config_free(&config);
	return rc;
}
