/* Both kinds of doc index: lists in files, and a remote one whose server is played here. */
#include "../logged.h"
#include "../scratch.h"
#include "../unit.h"

#include "fetch/spider/docindex.h"
#include "role/listen.h"
#include "store/small.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* An owner that writes down what it is told: "1=http://a/ ", "have 1 ", "have 0 after 5 ". */
struct owner {
	struct loop *loop;
	struct docindex *index;
	struct docindex_host host;
	struct buf story;
};

static void heard_url(void *ctx, struct str doc_id, struct str url)
{
	struct owner *o = ctx;
	buf_printf(&o->story, STR_FMT "=" STR_FMT " ", STR_ARG(doc_id), STR_ARG(url));
}

static void heard_have(void *ctx, uint64_t urls, int64_t wait_us)
{
	struct owner *o = ctx;
	if (urls)
		buf_printf(&o->story, "have %d ", (int)urls);
	else
		buf_printf(&o->story, "have 0 after %d ", (int)(wait_us / US_PER_S));
}

static int try_open(struct owner *o, const char *where, struct err *err)
{
	logged_start();
	*o = (struct owner){.story = BUF_INIT(1 << 20)};
	o->host = (struct docindex_host){heard_url, heard_have, o};
	assert_int_equal(loop_new(&o->loop, &(struct loop_options){.manual = true}, err), 0);
	const struct docindex_options options = {
		.loop = o->loop, .where = where, .name = "us1", .host = &o->host};
	return docindex_open(&o->index, &options, err);
}

static void owner_open(struct owner *o, const char *where)
{
	struct err err;
	if (try_open(o, where, &err) < 0)
		fail_msg("%s", err.msg);
}

static void owner_close(struct owner *o)
{
	struct err err;
	if (o->index && o->index->ops->free(&o->index, &err) < 0)
		fail_msg("%s", err.msg);
	loop_free(&o->loop);
	buf_free(&o->story);
}

static void owner_step(struct owner *o, int64_t us)
{
	loop_step(o->loop, loop_now_us(o->loop) + us);
}

static void owner_asks(struct owner *o, uint64_t count, const char *reject, const char *want)
{
	struct str rejects[1] = {str_of(reject)};
	buf_clear(&o->story);
	o->index->ops->want(o->index, count, rejects, reject ? 1 : 0);
	assert_string_equal(buf_text(&o->story), ""); /* never from inside a call */
	for (int i = 0; i < 1000 && o->story.n == 0; i++)
		owner_step(o, US_PER_MS);
	assert_string_equal(buf_text(&o->story), want);
}

static void owner_reports(struct owner *o, const char *doc_id, const char *url, unsigned outcome)
{
	o->index->ops->done(o->index, str_of(doc_id), str_of(url), outcome);
}

static const char *list_write(const char *name, const char *text, int flags)
{
	static char where[600];
	int fd = open(scratch(name), O_WRONLY | O_CREAT | flags, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	snprintf(where, sizeof where, "file:%s", scratch(name));
	return where;
}

static void a_list_is_handed_out_once_and_goes_on_where_it_was(void **state)
{
	struct owner o;
	const char *where =
		list_write("a", "# list\nhttp://a/1\n\n  http://b/2\r\nhttp://a/3\n", O_TRUNC);
	(void)state;
	owner_open(&o, where);
	owner_asks(&o, 2, NULL, "2=http://a/1 4=http://b/2 have 2 ");
	owner_asks(&o, 5, NULL, "5=http://a/3 have 1 ");
	owner_asks(&o, 5, NULL, "have 0 after 5 ");
	owner_reports(&o, "4", "http://b/2", OUTCOME_OK);
	owner_close(&o);
	where = list_write("a", "http://c/4\n", O_APPEND);
	owner_open(&o, where);
	owner_asks(&o, 9, NULL, "2=http://a/1 5=http://a/3 6=http://c/4 have 3 ");
	owner_reports(&o, "2", "http://a/1", DOCINDEX_DONE);
	owner_reports(&o, "2", "http://a/1", OUTCOME_PERMANENT); /* changes nothing */
	owner_reports(&o, "5", "http://a/3", OUTCOME_ROBOTS);
	owner_reports(&o, "6", "http://c/4", OUTCOME_OK);
	assert_int_equal(o.index->ops->waiting(o.index), 3);
	for (int i = 0; i < 1000 && o.index->ops->waiting(o.index); i++) {
		owner_step(&o, 10 * US_PER_MS);
		usleep(1000);
	}
	assert_int_equal(o.index->ops->waiting(o.index), 0);
	owner_asks(&o, 1, NULL, "have 0 after 5 ");
	where = list_write("a", "http://d/5\n", O_APPEND); /* seen while it runs */
	owner_asks(&o, 1, NULL, "7=http://d/5 have 1 ");
	owner_close(&o);
}

/* Of one that is being written nobody knows how it will go on. */
static void a_last_line_without_end_is_handed_out_when_nobody_writes_any_more(void **state)
{
	struct owner o;
	const char *where = list_write("g", "http://a/1\nhttp://a/2", O_TRUNC);
	(void)state;
	owner_open(&o, where);
	owner_asks(&o, 9, NULL, "1=http://a/1 have 1 ");
	int fd = open(scratch("g"), O_WRONLY | O_APPEND);
	usleep(2100000);
	owner_asks(&o, 9, NULL, "have 0 after 5 ");
	close(fd);
	owner_asks(&o, 9, NULL, "2=http://a/2 have 1 ");
	owner_asks(&o, 9, NULL, "have 0 after 5 ");
	list_write("g", "\r\nhttp://a/3\nhttp://a/", O_APPEND); /* its end, after all */
	owner_asks(&o, 9, NULL, "3=http://a/3 have 1 ");
	list_write("g", "4\n", O_APPEND);
	owner_asks(&o, 9, NULL, "4=http://a/4 have 1 ");
	owner_asks(&o, 9, NULL, "have 0 after 5 ");
	assert_int_equal(logged_times(" warn "), 0);
	owner_close(&o);
}

static void hosts_that_are_rejected_come_later(void **state)
{
	struct owner o;
	const char *where = list_write(
		"b", "http://A/1\nhttp://b/1\nhttp://a:81/2\nhttp://b/2\nhttp://a/3\n", O_TRUNC);
	(void)state;
	owner_open(&o, where);
	owner_asks(&o, 9, "a", "2=http://b/1 4=http://b/2 have 2 ");
	owner_asks(&o, 9, "a", "have 0 after 1 ");
	owner_asks(&o, 2, "b", "1=http://A/1 3=http://a:81/2 have 2 ");
	owner_asks(&o, 2, NULL, "5=http://a/3 have 1 ");
	owner_asks(&o, 2, NULL, "have 0 after 5 ");
	owner_close(&o);
}

static void lines_that_are_not_urls_have_an_outcome(void **state)
{
	struct owner o;
	CLEANUP(buf_free) struct buf text = BUF_INIT(1 << 20);
	(void)state;
	buf_fill(&text, 'x', 200000);
	buf_add_text(&text, "\nhttp://a/b c\n");
	buf_fill(&text, 'y', 8000);
	buf_add_text(&text, "\nhttp://a/ok\n");
	owner_open(&o, list_write("c", buf_text(&text), O_TRUNC));
	owner_asks(&o, 9, NULL, "4=http://a/ok have 1 ");
	assert_int_equal(o.index->ops->waiting(o.index), 3);
	owner_close(&o);
}

static void a_line_that_was_changed_is_another_url(void **state)
{
	struct owner o;
	(void)state;
	owner_open(&o, list_write("d", "http://a/1\nhttp://a/2\n", O_TRUNC));
	owner_asks(&o, 9, NULL, "1=http://a/1 2=http://a/2 have 2 ");
	owner_reports(&o, "1", "http://a/1", OUTCOME_OK);
	owner_reports(&o, "2", "http://a/2", OUTCOME_OK);
	owner_close(&o);
	owner_open(&o, list_write("d", "http://b/1\nhttp://a/2\n", O_TRUNC));
	owner_asks(&o, 9, NULL, "1=http://b/1 have 1 ");
	owner_close(&o);
}

static void owner_settles(struct owner *o)
{
	for (int i = 0; i < 1000 && o->index->ops->waiting(o->index); i++) {
		owner_step(o, 100 * US_PER_MS);
		usleep(1000);
	}
	assert_int_equal(o->index->ops->waiting(o->index), 0);
}

/* How large files may become: no database is written where it is 0. */
static void files_most(rlim_t most)
{
	struct rlimit limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = MIN(most, limit.rlim_max);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void what_could_not_be_kept_is_written_again(void **state)
{
	struct owner o;
	const char *where = list_write("e", "http://a/1\nhttp://a/2\nhttp://a/3\n", O_TRUNC);
	(void)state;
	assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
	owner_open(&o, where);
	owner_asks(&o, 2, NULL, "1=http://a/1 2=http://a/2 have 2 ");
	files_most(0);
	owner_reports(&o, "1", "http://a/1", OUTCOME_OK);
	for (int i = 0; i < 1000 && !logged_times(" warn "); i++) {
		owner_step(&o, 10 * US_PER_MS);
		usleep(1000);
	}
	unsigned logged = logged_times(" warn ");
	owner_reports(&o, "2", "http://a/2", OUTCOME_OK);
	for (int i = 0; i < 30; i++) {
		owner_step(&o, 100 * US_PER_MS);
		usleep(1000);
	}
	unsigned logged_then = logged_times(" warn ");
	uint64_t waiting = o.index->ops->waiting(o.index);
	owner_asks(&o, 2, NULL, "have 0 after 1 "); /* nothing more until it is well */
	files_most(RLIM_INFINITY);
	assert_int_equal(logged, 1);
	assert_int_equal(logged_then, 1);
	assert_int_equal(waiting, 2);
	owner_settles(&o);
	owner_asks(&o, 2, NULL, "3=http://a/3 have 1 ");
	owner_close(&o);
	owner_open(&o, where);
	owner_asks(&o, 9, NULL, "3=http://a/3 have 1 ");
	owner_close(&o);
}

static void a_list_has_one_url_server_at_a_time(void **state)
{
	struct owner o, second;
	struct err err;
	const char *where = list_write("two", "http://a/1\n", O_TRUNC);
	(void)state;
	owner_open(&o, where);
	assert_true(try_open(&second, where, &err) < 0);
	assert_int_equal(err.code, ERR_BUSY);
	owner_close(&second);
	owner_close(&o);
}

static void damaged_outcomes_are_set_aside_and_those_urls_given_again(void **state)
{
	const char *where = list_write("g", "http://a/1\nhttp://a/2\n", O_TRUNC);
	struct owner o;
	(void)state;
	owner_open(&o, where);
	owner_asks(&o, 2, NULL, "1=http://a/1 2=http://a/2 have 2 ");
	owner_reports(&o, "1", "http://a/1", OUTCOME_OK);
	owner_reports(&o, "2", "http://a/2", OUTCOME_OK);
	owner_settles(&o);
	owner_close(&o);
	int fd = open(scratch("g.done"), O_WRONLY | O_TRUNC);
	assert_int_equal(write(fd, "damaged", 7), 7);
	close(fd);
	owner_open(&o, where);
	owner_asks(&o, 2, NULL, "1=http://a/1 2=http://a/2 have 2 ");
	owner_reports(&o, "1", "http://a/1", OUTCOME_OK);
	owner_settles(&o);
	owner_close(&o);
	owner_open(&o, where);
	owner_asks(&o, 2, NULL, "2=http://a/2 have 1 ");
	owner_close(&o);
	assert_int_equal(access(scratch("g.done.damaged"), F_OK), 0);
	assert_int_equal(unlink(scratch("g.done.damaged")), 0);
	assert_int_equal(unlink(scratch("g.done")), 0);
}

/* Room is made for the lines that the list can have, whatever a row says. */
static void an_outcome_of_a_line_that_cannot_be_does_not_count(void **state)
{
	struct row {
		uint64_t line;
		char outcome[16];
		int64_t time_us;
		struct str url;
	} row = {30, "ok", 1, STR("http://a/2")};
	static const struct column columns[] = {
		COL("line", struct row, line, .most = UINT32_MAX),
		COL("outcome", struct row, outcome),
		COL("time", struct row, time_us, .unit = UNIT_TIME),
		COL("url", struct row, url, .most = 7936),
	};
	static const struct small_table outcomes = {
		.name = "outcomes",
		.row = {ROWS(struct row, columns)},
		.key = 1,
		.most = UINT32_MAX,
		.writer = "urlserver",
		.loss = "which URLs of the list are done; they are fetched again",
	};
	const struct small_table *const tables[] = {&outcomes};
	const char *where = list_write("i", "http://a/1\n", O_TRUNC);
	struct owner o;
	struct small *s = NULL;
	struct err err;
	(void)state;
	assert_int_equal(small_open(&s, scratch("i.done"), tables, 1, SMALL_WRITE, &err), 0);
	assert_int_equal(small_put(s, &outcomes, &row, &err), 0);
	row.line = 1;
	row.url = STR("http://a/1");
	assert_int_equal(small_put(s, &outcomes, &row, &err), 0);
	small_close(&s);
	owner_open(&o, where);
	(void)list_write("i",
			 "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\nhttp://a/2\n",
			 O_APPEND);
	owner_asks(&o, 2, NULL, "30=http://a/2 have 1 ");
	owner_close(&o);
}

static void a_setting_that_names_nothing_is_refused(void **state)
{
	static const char *const wrong[] = {"",       "file:",          "file:/nonexistent/list",
					    "file:/", "192.0.2.1:8189", "what"};
	struct owner o;
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_true(try_open(&o, wrong[i], &err) < 0);
		assert_int_equal(err.code, ERR_USAGE);
		assert_true(str_starts(str_of(err.msg), STR("doc_index")));
		owner_close(&o);
	}
	assert_non_null(strstr(err.msg, "expected file:PATH, HOST:PORT such as "));
}

/* A remote one. */

struct played {
	struct owner o;
	int listen_fd, fd;
	struct buf in;
	char address[600];
};

static void played_open(struct played *p)
{
	struct err err;
	*p = (struct played){.fd = -1, .in = BUF_INIT(8 << 20)};
	snprintf(p->address, sizeof p->address, "unix:%s", scratch("index"));
	assert_int_equal(listen_open(p->address, &p->listen_fd, &err), 0);
	owner_open(&p->o, p->address);
}

static void played_close(struct played *p)
{
	owner_close(&p->o);
	close(p->fd);
	close(p->listen_fd);
	buf_free(&p->in);
}

/* What the client has said, once so many bytes have come. */
static void played_hears(struct played *p, const char *want)
{
	char piece[4096];
	buf_clear(&p->in);
	for (int i = 0; i < 5000 && p->in.n < strlen(want); i++) {
		owner_step(&p->o, 10 * US_PER_MS);
		if (p->fd < 0)
			p->fd = accept4(p->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		ssize_t n = p->fd < 0 ? -1 : recv(p->fd, piece, sizeof piece, 0);
		if (n > 0)
			buf_add(&p->in, piece, (size_t)n);
	}
	assert_string_equal(buf_text(&p->in), want);
}

static void played_says(struct played *p, const char *text)
{
	assert_int_equal(send(p->fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	for (int i = 0; i < 5; i++)
		owner_step(&p->o, US_PER_MS);
}

static void played_cuts(struct played *p)
{
	close(p->fd);
	p->fd = -1;
}

static void a_remote_index_is_asked_and_told(void **state)
{
	struct played p;
	struct str rejects[] = {STR("a.example"), STR("b.example")};
	(void)state;
	played_open(&p);
	p.o.index->ops->want(p.o.index, 10, rejects, 2);
	played_hears(&p, "HELLO us1\nWANT 10 2\na.example\nb.example\n");
	played_says(&p, "OK\nHAVE 2\n7 http://c/\n8 http://d/\n");
	assert_string_equal(buf_text(&p.o.story), "7=http://c/ 8=http://d/ have 2 ");
	owner_reports(&p.o, "8", "http://d/", OUTCOME_OK);
	owner_reports(&p.o, "7", "http://c/", DOCINDEX_DONE);
	played_hears(&p, "DONE 8 ok\nDONE 7 done\n");
	assert_int_equal(p.o.index->ops->waiting(p.o.index), 2);
	played_says(&p, "OK\n");
	assert_int_equal(p.o.index->ops->waiting(p.o.index), 1);
	buf_clear(&p.o.story);
	p.o.index->ops->want(p.o.index, 1, NULL, 0);
	played_hears(&p, "WANT 1 0\n");
	played_says(&p, "HAVE 0 30\nOK\n");
	assert_string_equal(buf_text(&p.o.story), "have 0 after 30 ");
	assert_int_equal(p.o.index->ops->waiting(p.o.index), 0);
	played_close(&p);
}

static void what_has_no_answer_is_said_again_after_the_hello(void **state)
{
	struct played p;
	(void)state;
	played_open(&p);
	played_hears(&p, "HELLO us1\n");
	played_says(&p, "OK\n");
	for (int i = 1; i <= 4; i++) {
		char doc[8];
		snprintf(doc, sizeof doc, "%d", i);
		owner_reports(&p.o, doc, "", OUTCOME_OK);
	}
	p.o.index->ops->want(p.o.index, 3, NULL, 0);
	played_hears(&p, "DONE 1 ok\nDONE 2 ok\nDONE 3 ok\nDONE 4 ok\nWANT 3 0\n");
	played_says(&p, "OK\nOK\nHAVE 2\n9 http://x/\n");
	played_cuts(&p);
	owner_step(&p.o, US_PER_MS);
	owner_reports(&p.o, "5", "", OUTCOME_LIMIT);
	played_hears(&p, "HELLO us1\nDONE 3 ok\nDONE 4 ok\nDONE 5 limit\nWANT 3 0\n");
	played_says(&p, "OK\nOK\nOK\nOK\nHAVE 1\n9 http://x/\n");
	assert_string_equal(buf_text(&p.o.story), "9=http://x/ 9=http://x/ have 1 ");
	assert_int_equal(p.o.index->ops->waiting(p.o.index), 0);
	played_close(&p);
}

static void a_client_is_called_as_it_is_told_or_by_its_machine(void **state)
{
	char name[DOCINDEX_WORD_MAX + 1];
	struct err err;
	(void)state;
	assert_int_equal(docindex_client_name("here", "spider@2", name, &err), 0);
	assert_string_equal(name, "here");
	assert_int_equal(docindex_client_name("", "spider@2", name, &err), 0);
	assert_true(docindex_is_word(str_of(name)));
	assert_true(str_starts(str_of(name), STR("spider@2-")));
	assert_int_equal(docindex_client_name("two words", "spider@2", name, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
}

static void a_liar_is_hung_up_on(void **state)
{
	static const char *const lies[] = {"OK\nOK\n", "OK\nHAVE 1\n",         "HAVE 0 1\n",
					   "hello\n",  "ERROR no such name\n", "OK\n1 http://a/\n"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct played p;
		char byte;
		played_open(&p);
		played_hears(&p, "HELLO us1\n");
		played_says(&p, lies[i]);
		assert_int_equal(recv(p.fd, &byte, 1, 0), 0);
		assert_int_equal(logged_times("doc index disconnected"), 1);
		assert_string_equal(buf_text(&p.o.story), "");
		played_close(&p);
	}
}

static void more_than_was_asked_for_is_a_lie(void **state)
{
	struct played p;
	char byte;
	(void)state;
	played_open(&p);
	p.o.index->ops->want(p.o.index, 2, NULL, 0);
	played_hears(&p, "HELLO us1\nWANT 2 0\n");
	played_says(&p, "OK\nHAVE 3\n7 http://c/\n");
	assert_int_equal(recv(p.fd, &byte, 1, 0), 0);
	assert_string_equal(buf_text(&p.o.story), "");
	played_close(&p);
}

/* What has no OK has to be held in memory. */
static void one_that_keeps_nothing_is_not_asked_for_more(void **state)
{
	enum { REPORTS = 150000, ROUND = 1000 };
	CLEANUP(buf_free) struct buf want = BUF_INIT(8 << 20), oks = BUF_INIT(1 << 20);
	struct played p;
	(void)state;
	played_open(&p);
	played_hears(&p, "HELLO us1\n");
	played_says(&p, "OK\n");
	for (int i = 0; i < REPORTS; i++) {
		owner_reports(&p.o, "1", "", OUTCOME_OK);
		buf_add_text(&want, "DONE 1 ok\n");
	}
	for (int i = 0; i < ROUND; i++)
		buf_add_text(&oks, "OK\n");
	p.o.index->ops->want(p.o.index, 3, NULL, 0);
	played_hears(&p, buf_text(&want));
	for (int i = 0; i < REPORTS / ROUND / 2; i++)
		played_says(&p, buf_text(&oks));
	played_hears(&p, "WANT 3 0\n");
	played_close(&p);
}

static void answers_are_read_while_reports_wait_to_be_sent(void **state)
{
	enum { REPORTS = 150000 };
	struct played p;
	(void)state;
	played_open(&p);
	played_hears(&p, "HELLO us1\n");
	for (int i = 0; i < REPORTS; i++)
		owner_reports(&p.o, "1234567890", "", OUTCOME_OK);
	for (int i = 0; i < 100; i++)
		owner_step(&p.o, US_PER_MS);
	played_says(&p, "OK\nOK\nOK\n"); /* and has not read them */
	assert_int_equal(p.o.index->ops->waiting(p.o.index), REPORTS - 2);
	played_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_handed_out_once_and_goes_on_where_it_was),
		cmocka_unit_test(a_last_line_without_end_is_handed_out_when_nobody_writes_any_more),
		cmocka_unit_test(hosts_that_are_rejected_come_later),
		cmocka_unit_test(lines_that_are_not_urls_have_an_outcome),
		cmocka_unit_test(a_line_that_was_changed_is_another_url),
		cmocka_unit_test(what_could_not_be_kept_is_written_again),
		cmocka_unit_test(a_list_has_one_url_server_at_a_time),
		cmocka_unit_test(damaged_outcomes_are_set_aside_and_those_urls_given_again),
		cmocka_unit_test(an_outcome_of_a_line_that_cannot_be_does_not_count),
		cmocka_unit_test(a_setting_that_names_nothing_is_refused),
		cmocka_unit_test(a_remote_index_is_asked_and_told),
		cmocka_unit_test(what_has_no_answer_is_said_again_after_the_hello),
		cmocka_unit_test(a_client_is_called_as_it_is_told_or_by_its_machine),
		cmocka_unit_test(a_liar_is_hung_up_on),
		cmocka_unit_test(more_than_was_asked_for_is_a_lie),
		cmocka_unit_test(one_that_keeps_nothing_is_not_asked_for_more),
		cmocka_unit_test(answers_are_read_while_reports_wait_to_be_sent),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
