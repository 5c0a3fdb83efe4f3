#include "fetch/bot_wire.h"
#include "../unit.h"

#include <inttypes.h>

/* What comes out of a stream, printed again; errors as !LINE:COLUMN WORDS. */
struct heard {
	struct bot_reader *reader;
	struct buf out;
	bool resync;
	unsigned n;
};

static void on_message(void *ctx, const struct bot_message *m)
{
	struct heard *h = ctx;
	h->n++;
	bot_message_print(m, &h->out);
}

static void on_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct heard *h = ctx;
	buf_printf(&h->out, "!%" PRIu64 ":%" PRIu64 " %s\n", line, column, err->msg);
	if (h->resync)
		xml_stream_resync(h->reader->xml);
}

static const struct bot_reader_ops ops = {on_message, on_error};

static void hear(struct heard *h, struct str text, size_t piece, bool resync)
{
	*h = (struct heard){.out = BUF_INIT(1 << 20), .resync = resync};
	h->reader = bot_reader_new(&ops, h);
	for (size_t at = 0; at < text.n; at += piece)
		bot_reader_put(h->reader, str_head(str_from(text, at), piece));
	bot_reader_free(&h->reader);
}

static void each_message_is_printed_as_it_was_read(void **state)
{
	static const char text[] =
		"<robot parallel=\"100\"/>\n"
		"<fetch id=\"a-1\" url=\"http://h/?a&amp;b=&lt;&quot;\" file=\"000012/345.2\" "
		"since=\"784111777\" etag=\"&quot;x&amp;y&quot;\" mime=\"text/html\" "
		"size_max=\"1000\" within=\"http://h/\" delay=\"250ms\" robots=\"no\"/>\n"
		"<fetched id=\"a-1\" file=\"000012/345.2\" etag=\"&quot;x&quot;\" "
		"mime=\"text/html\" outcome=\"ok\" cause=\"answer\" status=\"200\" "
		"md5=\"00112233445566778899aabbccddeeff\" size=\"7\" mtime=\"784111777\" "
		"machine=\"m1\"/>\n"
		"<botm machine=\"\" node=\"0f\" capacity=\"0\"/>\n"
		"<machine machine=\"m1\" node=\"0e\" state=\"up\"/>\n"
		"<machine machine=\"m1\" node=\"0e\" state=\"down\"/>\n"
		"<kept id=\"a-1\" file=\"000012/345.2\" machine=\"m1\"/>\n"
		"<kept id=\"a-1\"/>\n"
		"<dropped id=\"a-1\"/>\n"
		"<delete id=\"d1\" file=\"000012/345\" machine=\"m1\"/>\n"
		"<deleted id=\"d1\" outcome=\"absent\"/>\n"
		"<refused reason=\"a ring &amp; more\"/>\n"
		"<error reason=\"no\" line=\"1\" column=\"18446744073709551615\"/>\n";
	(void)state;
	for (size_t piece = 1; piece < sizeof text; piece += piece < 40 ? 1 : 97) {
		struct heard h;
		hear(&h, str_of(text), piece, false);
		assert_str(buf_str(&h.out), text);
		buf_free(&h.out);
	}
}

static void values_are_read(void **state)
{
	const struct xml_attr attr[] = {
		{STR("id"), STR("x")},
		{STR("url"), STR("http://h/")},
		{STR("delay"), STR("1.5s")},
		{STR("robots"), STR("yes")},
		{STR("since"), STR("10")},
		{STR("unknown"), STR("passed over")},
		{STR("status"), STR("bad, but not an attribute of this message")},
	};
	const struct xml_tag tag = {.name = STR("fetch"), .attr = attr, .n = ARRAY_LEN(attr)};
	struct bot_message m;
	struct err err;
	(void)state;
	assert_int_equal(bot_message_read(&tag, &m, &err), 0);
	assert_int_equal(m.kind, BOT_FETCH);
	assert_int_equal(m.has,
			 BOT_HAS_ID | BOT_HAS_URL | BOT_HAS_DELAY | BOT_HAS_ROBOTS | BOT_HAS_SINCE);
	assert_int_equal(m.delay_us, 1500000);
	assert_true(m.robots);
	assert_int_equal(m.since, 10);
}

static void what_cannot_be_taken_is_refused_with_its_place(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{"<fly/>", "!1:1 there is no message <fly>\n"},
		{" <x:robot xmlns:x='u' parallel='1'/>", "!1:2 there is no message <robot>\n"},
		{"\n <robot/>", "!2:2 <robot> needs parallel=\n"},
		{"<robot parallel='-1'/>", "!1:1 <robot>: parallel='-1' cannot be taken\n"},
		{"<robot parallel='1000001'/>",
		 "!1:1 <robot>: parallel='1000001' cannot be taken\n"},
		{"<fetch id='a b' url='u'/>", "!1:1 <fetch>: id='a b' cannot be taken\n"},
		{"<fetch id='' url='u'/>", "!1:1 <fetch>: id='' cannot be taken\n"},
		{"<fetch id='1' url='a b'/>", "!1:1 <fetch>: url='a b' cannot be taken\n"},
		{"<fetch id='1' url='u' file='../x'/>",
		 "!1:1 <fetch>: file='../x' cannot be taken\n"},
		{"<fetch id='1' url='u' file='/x'/>", "!1:1 <fetch>: file='/x' cannot be taken\n"},
		{"<fetch id='1' url='u' file='a//x'/>",
		 "!1:1 <fetch>: file='a//x' cannot be taken\n"},
		{"<fetch id='1' url='u' robots='maybe'/>",
		 "!1:1 <fetch>: robots='maybe' cannot be taken\n"},
		{"<fetch id='1' url='u' delay='2d'/>",
		 "!1:1 <fetch>: delay='2d' cannot be taken\n"},
		{"<fetched id='1' outcome='fine'/>",
		 "!1:1 <fetched>: outcome='fine' cannot be taken\n"},
		{"<fetched id='1' outcome='ok' md5='12'/>",
		 "!1:1 <fetched>: md5='12' cannot be taken\n"},
		{"<fetched id='1' outcome='ok' status='1000'/>",
		 "!1:1 <fetched>: status='1000' cannot be taken\n"},
		{"<fetched id='1' outcome='ok' etag='a&#10;b'/>",
		 "!1:1 <fetched>: etag='a\nb' cannot be taken\n"},
		{"<deleted id='1' outcome='temporary'/>",
		 "!1:1 <deleted>: outcome='temporary' cannot be taken\n"},
		{"<botm machine='a/b' node='1' capacity='1'/>",
		 "!1:1 <botm>: machine='a/b' cannot be taken\n"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct heard h;
		hear(&h, str_of(cases[i].text), 1000, false);
		assert_str(buf_str(&h.out), cases[i].error);
		buf_free(&h.out);
	}
}

static void a_message_has_no_children_and_no_text(void **state)
{
	static const char *const cases[] = {
		"<robot parallel='1'>text</robot>",
		"<robot parallel='1'><robot parallel='1'/></robot>",
		"<robot parallel='1'></fetch>",
		"<!DOCTYPE robot [<!ENTITY a 'b'>]><robot parallel='1'/>",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct heard h;
		hear(&h, str_of(cases[i]), 1000, false);
		if (str_find(buf_str(&h.out), STR("!1:")) == h.out.n)
			fail_msg("%s is taken", cases[i]);
		assert_true(h.n <= 1);
		buf_free(&h.out);
	}
}

static void who_types_may_go_on_in_the_next_line(void **state)
{
	struct heard h;
	(void)state;
	hear(&h, STR("<fetch id='1'/> <robot parallel='1'/>\n<fetch id='2' url='u'/>\n<x>\n"), 3,
	     true);
	assert_str(buf_str(&h.out), "!1:1 <fetch> needs url=\n<fetch id=\"2\" url=\"u\"/>\n"
				    "!3:1 there is no message <x>\n");
	buf_free(&h.out);
}

static void what_a_server_said_is_left_out_where_xml_cannot_carry_it(void **state)
{
	struct bot_message m = {.kind = BOT_FETCHED,
				.has = BOT_HAS_ID | BOT_HAS_OUTCOME | BOT_HAS_ETAG | BOT_HAS_MIME |
				       BOT_HAS_URL,
				.id = STR("1"),
				.etag = STR("\"\xff\""),
				.mime = STR("text/\x01"),
				.url = STR("not of this message")};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
	(void)state;
	bot_message_print(&m, &out);
	assert_str(buf_str(&out), "<fetched id=\"1\" outcome=\"ok\"/>\n");
}

/* The longest that may be said can be read. */
static void the_largest_message_fits(void **state)
{
	static char url[BOT_URL_MAX];
	struct bot_message m = {.kind = BOT_FETCH,
				.has = BOT_HAS_ID | BOT_HAS_URL | BOT_HAS_WITHIN};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct heard h;
	(void)state;
	memset(url, '"', sizeof url);
	m.id = (struct str){url, BOT_ID_MAX};
	m.url = m.within = (struct str){url, sizeof url};
	bot_message_print(&m, &out);
	assert_true(out.n < BOT_MESSAGE_MAX);
	hear(&h, buf_str(&out), 4096, false);
	assert_int_equal(h.n, 1);
	assert_true(str_eq(buf_str(&h.out), buf_str(&out)));
	buf_free(&h.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_is_printed_as_it_was_read),
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(what_cannot_be_taken_is_refused_with_its_place),
		cmocka_unit_test(a_message_has_no_children_and_no_text),
		cmocka_unit_test(who_types_may_go_on_in_the_next_line),
		cmocka_unit_test(what_a_server_said_is_left_out_where_xml_cannot_carry_it),
		cmocka_unit_test(the_largest_message_fits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
