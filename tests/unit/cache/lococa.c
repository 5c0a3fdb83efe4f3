#include "../unit.h"

#include "cache/uns/lococa.h"

#include <inttypes.h>
#include <stdio.h>

#define NS "http://www.lococa.org/1.0"
#define INIT                              \
	"<lococa:init xmlns:lococa=\"" NS \
	"\"><provider id=\"17\" passwd=\"a&amp;b\"/></lococa:init>"

static const char *const mimes[] = {"text/*", "application/pdf"};
static const struct cache_conf cache = {.mime = {.n = 2, .item = mimes},
					.slot_us = 3600 * US_PER_S};
static char below[] = "http://www.example.com/\0https://www.example.com/";
static const struct prefixes prefixes = {.n = 2, .text = below};

/* A session that accepts, and what it heard. */
struct talk {
	struct lococa_shared *shared;
	struct lococa *l;
	struct buf heard, said;
	bool is_asked, is_refused;
};

static void hear_init(void *ctx, uint64_t provider, struct str password)
{
	struct talk *t = ctx;
	buf_printf(&t->heard, "init %" PRIu64 " " STR_FMT "\n", provider, STR_ARG(password));
	t->is_asked = true;
}

static void hear_receipts(void *ctx, uint64_t set)
{
	struct talk *t = ctx;
	buf_printf(&t->heard, "receipts %" PRIu64 "\n", set);
}

static void hear_set(void *ctx, bool is_full)
{
	struct talk *t = ctx;
	buf_printf(&t->heard, "set %s\n", is_full ? "full" : "partial");
	lococa_say_set(t->l, false, &t->said);
}

static void hear_notice(void *ctx, const struct notice *n)
{
	static const char *const ops[] = {"update", "remove", "named"};
	struct talk *t = ctx;
	buf_printf(&t->heard, "%s " STR_FMT " " STR_FMT, ops[n->op], STR_ARG(n->c),
		   STR_ARG(n->mime));
	if (n->b.n)
		buf_printf(&t->heard, " b " STR_FMT, STR_ARG(n->b));
	if (n->f.n)
		buf_printf(&t->heard, " f " STR_FMT, STR_ARG(n->f));
	if (n->sub.n)
		buf_printf(&t->heard, " sub " STR_FMT, STR_ARG(n->sub));
	if (n->hours.n)
		buf_printf(&t->heard, " hours " STR_FMT, STR_ARG(n->hours));
	if (n->has & NOTICE_HAS_MTIME)
		buf_printf(&t->heard, " mtime %" PRId64, n->mtime_s);
	if (n->has & NOTICE_HAS_SIZE)
		buf_printf(&t->heard, " size %" PRIu64, n->size);
	if (n->has & NOTICE_HAS_MD5)
		buf_printf(&t->heard, " md5 %02x..%02x", n->md5[0], n->md5[15]);
	if (n->has & NOTICE_NOT_BROWSABLE)
		buf_add_text(&t->heard, " hidden");
	buf_add_byte(&t->heard, '\n');
}

static void hear_wrong(void *ctx, struct str element)
{
	struct talk *t = ctx;
	buf_add_text(&t->heard, "wrong\n");
	lococa_say_set(t->l, true, &t->said);
	buf_add_str(&t->said, element);
}

static void hear_whole(void *ctx, uint64_t received)
{
	struct talk *t = ctx;
	buf_printf(&t->heard, "whole %" PRIu64 "\n", received);
	lococa_say_taken(t->l, received, 12, &t->said);
}

static void hear_error(void *ctx, unsigned code, const char *text)
{
	struct talk *t = ctx;
	buf_printf(&t->heard, "error %u\n", code);
	lococa_refuse(t->l, code, text, &t->said);
	t->is_refused = true;
}

static void talk_open(struct talk *t)
{
	static const struct lococa_ops ops = {hear_init,  hear_receipts, hear_set,  hear_notice,
					      hear_wrong, hear_whole,    hear_error};
	*t = (struct talk){.heard = BUF_INIT(1 << 20), .said = BUF_INIT(1 << 20)};
	t->shared = lococa_shared_new(&cache, 5, 100000);
	t->l = lococa_new(t->shared, &ops, t);
}

static void talk_close(struct talk *t)
{
	lococa_free(&t->l);
	lococa_shared_free(&t->shared);
	buf_free(&t->heard);
	buf_free(&t->said);
}

static void talk_put(struct talk *t, struct str bytes)
{
	static const struct lococa_welcome welcome = {.seq = 5,
						      .last_address = {"192.0.2.1", 9},
						      .files = 1,
						      .files_free = 2,
						      .space = 3,
						      .space_free = UINT64_MAX,
						      .fullsets = 4,
						      .wanted = PIDB_OLD,
						      .processing = 6,
						      .prefixes = &prefixes};
	while (bytes.n) {
		size_t n = 0;
		lococa_put(t->l, bytes, &n);
		assert_true(n > 0 && n <= bytes.n);
		bytes = str_from(bytes, n);
		if (t->is_asked)
			lococa_accept(t->l, &welcome, &t->said);
		t->is_asked = false;
	}
}

/* What a session hears of a text, whole; heard and said. */
static void hears(const char *text, const char *want)
{
	struct talk t;
	talk_open(&t);
	talk_put(&t, str_of(text));
	assert_str(buf_str(&t.heard), want);
	talk_close(&t);
}

static void set_hears(const char *rows, const char *want)
{
	char text[4096], heard[4096];
	snprintf(text, sizeof text,
		 INIT
		 "<lococa:set set=\"full\" urlprefix=\"http://www.example.com/\">%s</lococa:set>",
		 rows);
	snprintf(heard, sizeof heard, "init 17 a&b\nset full\n%s", want);
	hears(text, heard);
}

static bool has_said(const struct talk *t, const char *text)
{
	struct str said = buf_str(&t->said);
	return str_find(said, str_of(text)) < said.n;
}

static void a_provider_says_init_receipts_and_a_set(void **state)
{
	(void)state;
	hears(INIT "\n<lococa:receipts/> <lococa:receipts set='7'/>"
		   "<lococa:set set='partial'><url c='http://www.example.com/a' mime='Text/HTML; "
		   "charset=x'/></lococa:set>what follows is not read",
	      "init 17 a&b\nreceipts 0\nreceipts 7\nset partial\n"
	      "update http://www.example.com/a text/html\nwhole 1\n");
}

static void a_row_has_all_that_was_said_of_it(void **state)
{
	(void)state;
	set_hears("<url c='a' b='b?x' f='http://www.example.com/f' mime='text/plain' sub='x:y z' "
		  "mtime='1700000000' size='12' md5='00112233445566778899aabbccddeeff' "
		  "hours='!9-17' browse='no' title='?'/>",
		  "update http://www.example.com/a text/plain b http://www.example.com/b?x f "
		  "http://www.example.com/f sub x:y z hours !9-17 mtime 1700000000 size 12 md5 "
		  "00..ff hidden\nwhole 1\n");
	set_hears("<url c='a' f='' mime='text/plain'/><url c='b' op='remove' mime='text/plain' "
		  "size='x'/><url c='c' b='' f='c' sub='nothing' mime='text/plain'/>",
		  "remove http://www.example.com/a text/plain\n"
		  "remove http://www.example.com/b text/plain\n"
		  "update http://www.example.com/c text/plain\nwhole 3\n");
}

static void an_empty_c_is_what_comes_before_it(void **state)
{
	(void)state;
	set_hears("<url c='' mime='text/plain'/>",
		  "update http://www.example.com/ text/plain\nwhole 1\n");
	hears(INIT "<lococa:set set='partial'><url c='' mime='text/plain'/></lococa:set>",
	      "init 17 a&b\nset partial\nwrong\nwhole 0\n");
}

static void a_row_in_error_is_told_and_named(void **state)
{
	static const struct {
		const char *row, *code;
		bool is_named;
	} rows[] = {
		{"<url mime='text/plain'/>", "200", false},
		{"<url c='http://[/' mime='text/plain'/>", "200", false},
		{"<url c='a'/>", "200", true},
		{"<url c='a' mime='text'/>", "200", true},
		{"<url c='a' mime='text/a b'/>", "200", true},
		{"<url c='a' mime='text/plain' op='fly'/>", "200", true},
		{"<url c='a' mime='text/plain' browse='maybe'/>", "200", true},
		{"<url c='a' mime='text/plain' mtime='-1'/>", "200", true},
		{"<url c='a' mime='text/plain' size='1k'/>", "200", true},
		{"<url c='a' mime='text/plain' md5='00'/>", "200", true},
		{"<url c='a' mime='text/plain' hours='25-26'/>", "200", true},
		{"<url c='a' mime='text/plain' f='http://'/>", "200", true},
		{"<url c='a' mime='image/png'/>", "201", true},
		{"<url c='a' mime='text/plain' f='http://other.example/'/>", "202", true},
		{"<url c='a' mime='text/plain' b='ftp://www.example.com/'/>", "202", true},
		{"<link c='a'/>", "200", false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct talk t;
		char code[32];
		talk_open(&t);
		talk_put(&t, STR(INIT "<lococa:set set='full' "
				      "urlprefix='http://www.example.com/'>"));
		talk_put(&t, str_of(rows[i].row));
		snprintf(code, sizeof code, "<url code=\"%s\" ", rows[i].code);
		if (!has_said(&t, code))
			fail_msg("%s: " STR_FMT, rows[i].row, STR_ARG(buf_str(&t.said)));
		struct str heard = buf_str(&t.heard);
		assert_true((str_find(heard, STR("named http://www.example.com/a")) < heard.n) ==
			    rows[i].is_named);
		talk_close(&t);
	}
}

static void an_error_has_all_attributes_that_were_sent(void **state)
{
	struct talk t;
	(void)state;
	talk_open(&t);
	talk_put(&t, STR(INIT "<lococa:set set='partial' urlprefix='http://www.example.com/'>"
			      "<url c='x.zip' f='y.zip' mime='application/zip' title='a &lt;b&gt; "
			      "&#xe9;' code='1' xml:lang='de'/></lococa:set>"));
	assert_true(has_said(&t, "<lococa:set_result>\n<errors>\n<url code=\"201\" "
				 "url=\"http://www.example.com/x.zip\" c=\"x.zip\" f=\"y.zip\" "
				 "mime=\"application/zip\" title=\"a &lt;b&gt; \xc3\xa9\">type not "
				 "allowed</url>\n</errors>\n<set_accepted received=\"0\" "
				 "set=\"12\"/>\n</lococa:set_result>\n"));
	talk_close(&t);
}

static void answers_have_the_prefix_of_the_peer(void **state)
{
	static const struct {
		const char *text, *accepted, *taken;
	} peers[] = {
		{INIT "<lococa:set set='full' empty='yes'/>", "<lococa:init_accepted>",
		 "</lococa:set_result>"},
		{"<x:init xmlns:x='" NS "'><provider id='1' passwd='p'/></x:init><x:set set='full' "
		 "empty='yes'/>",
		 "<x:init_accepted>", "</x:set_result>"},
		{"<x:init xmlns:x='" NS "'><x:provider id='1' passwd='p'/></x:init><x:set "
		 "set='full' empty='yes'/>",
		 "<x:init_accepted>", "</x:set_result>"},
		{"<init xmlns='" NS "'><provider id='1' passwd='p'/></init><set xmlns='" NS
		 "' set='full' empty='yes'/>",
		 "<init_accepted>", "</set_result>"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(peers); i++) {
		struct talk t;
		talk_open(&t);
		talk_put(&t, str_of(peers[i].text));
		assert_true(has_said(&t, peers[i].accepted));
		assert_true(has_said(&t, peers[i].taken));
		assert_false(has_said(&t, "xmlns"));
		talk_close(&t);
	}
}

static void what_may_not_be_said_ends_the_session(void **state)
{
	static const struct {
		const char *text, *answer;
	} bad[] = {
		{"hello", "<lococa:init_rejected>\n<reason code=\"200\">"},
		{"<init/>", "<lococa:init_rejected>\n<reason code=\"200\">"},
		{"<x:init xmlns:x='urn:other'><provider id='1' passwd='p'/></x:init>",
		 "<lococa:init_rejected>\n<reason code=\"200\">"},
		{"<x:set xmlns:x='" NS "' set='full'/>",
		 "<x:init_rejected>\n<reason code=\"200\">"},
		{"<x:init xmlns:x='" NS "'/>", "<x:init_rejected>\n<reason code=\"200\">"},
		{"<!DOCTYPE a [<!ENTITY b 'c'>]>" INIT,
		 "init_rejected>\n<reason code=\"200\">line 1"},
		{"<x:init xmlns:x='" NS "'><provider id='&b;'/></x:init>",
		 "<x:init_rejected>\n<reason code=\"200\">"},
		{"<x:init xmlns:x='" NS "'><a><b><c><d/></c></b></a>", "<x:init_rejected>"},
		{INIT INIT, "<lococa:error code=\"200\">"},
		{INIT "<lococa:fly/>", "<lococa:error code=\"200\">"},
		{INIT "<lococa:receipts set='x'/>", "<lococa:error code=\"200\">"},
		{INIT "</lococa:set>", "<lococa:error code=\"200\">"},
		{INIT "<lococa:set/>", "<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='half'/>", "<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='full'></lococa:set>", "<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='full' empty='x'/>", "<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='full'><url/><url mime='text/plain'/>"
		      "</lococa:set>",
		 "</errors>\n<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='partial'><url></lococa:set>",
		 "</errors>\n<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='partial'><url/><!DOCTYPE a><url/></lococa:set>",
		 "</errors>\n<set_rejected code=\"200\">"},
		{INIT "<lococa:set set='partial'><url/><url/><url/><url/><url/><url/>",
		 "<set_rejected code=\"203\">"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct talk t;
		talk_open(&t);
		talk_put(&t, str_of(bad[i].text));
		talk_put(&t, STR(INIT));
		if (!t.is_refused || !has_said(&t, bad[i].answer))
			fail_msg("%s: " STR_FMT, bad[i].text, STR_ARG(buf_str(&t.said)));
		talk_close(&t);
	}
}

static void too_many_bytes_end_a_set(void **state)
{
	struct talk t;
	(void)state;
	talk_open(&t);
	talk_put(&t, STR(INIT "<lococa:set set='partial'>"));
	for (size_t i = 0; i < 2000 && !t.is_refused; i++)
		talk_put(&t, STR("<!-- nothing is said here, and it takes long -->"));
	assert_false(t.is_refused);
	for (size_t i = 0; i < 2000 && !t.is_refused; i++)
		talk_put(&t, STR("<!-- nothing is said here, and it takes long -->"));
	assert_true(has_said(&t, "<set_rejected code=\"203\">"));
	talk_close(&t);
}

static void names_that_a_peer_makes_up_are_bounded(void **state)
{
	struct talk t;
	char row[64];
	(void)state;
	talk_open(&t);
	talk_put(&t, STR(INIT "<lococa:set set='partial'>"));
	for (size_t i = 0; i < 3; i++) {
		buf_clear(&t.heard);
		talk_put(&t, STR("<url"));
		for (size_t k = 0; k < 30; k++) {
			snprintf(row, sizeof row, " a%zu='1'", i * 30 + k);
			talk_put(&t, str_of(row));
		}
		talk_put(&t, STR("/>"));
		assert_int_equal(t.is_refused, i == 2);
	}
	talk_close(&t);
}

static const char session[] =
	INIT "\n<lococa:receipts set='1'/>\n<lococa:set set='full' "
	     "urlprefix='http://www.example.com/'>\n<url c='a&amp;b' mime='text/plain'/>"
	     "<url c='x' mime='image/png'/><!-- c -->\n<url c='c' f='' mime='text/plain'/>"
	     "</lococa:set>";

static void where_a_session_is_cut_makes_no_difference(void **state)
{
	struct talk whole;
	(void)state;
	talk_open(&whole);
	talk_put(&whole, str_of(session));
	for (size_t n = 1; n < sizeof session; n++) {
		struct talk t;
		struct str rest = str_of(session);
		talk_open(&t);
		for (; rest.n; rest = str_from(rest, n))
			talk_put(&t, str_head(rest, n));
		assert_true(str_eq(buf_str(&t.heard), buf_str(&whole.heard)));
		assert_true(str_eq(buf_str(&t.said), buf_str(&whole.said)));
		talk_close(&t);
	}
	talk_close(&whole);
}

static void a_set_is_whole_with_its_last_byte(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof session - 1; n++) {
		struct talk t;
		talk_open(&t);
		talk_put(&t, str_head(str_of(session), n));
		assert_false(has_said(&t, "set_accepted"));
		assert_false(t.is_refused);
		talk_put(&t, str_from(str_of(session), n));
		assert_true(has_said(&t, "<set_accepted received=\"2\" set=\"12\"/>"));
		talk_close(&t);
	}
}

static void errors_of_processing_are_told_with_their_attributes(void **state)
{
	const struct db_error error = {.code = 304,
				       .at_us = 1790000000000000,
				       .reason = STR("not found"),
				       .notice = {.c = STR("http://www.example.com/a?b&c"),
						  .mime = STR("text/plain"),
						  .has = NOTICE_HAS_SIZE,
						  .size = 7}};
	const struct lococa_welcome w = {
		.last_address = STR(""), .errors = 30, .error = &error, .n = 1};
	struct talk t;
	size_t n;
	(void)state;
	talk_open(&t);
	lococa_put(t.l, STR(INIT), &n);
	lococa_accept(t.l, &w, &t.said);
	assert_true(has_said(&t,
			     "<processing_status errors=\"30\" processing=\"0\">\n<errors>\n"
			     "<url code=\"304\" url=\"http://www.example.com/a?b&amp;c\" "
			     "c=\"http://www.example.com/a?b&amp;c\" mime=\"text/plain\" "
			     "size=\"7\" at=\"2026-09-21T14:13:20Z\">not found</url>\n</errors>"));
	assert_true(has_said(&t, "<fullset allowed=\"0\" wanted=\"no\"/>"));
	talk_close(&t);
}

static void receipts_are_rows_of_urls(void **state)
{
	const struct db_receipt r = {.c = STR("http://www.example.com/"),
				     .mime = STR("text/html"),
				     .state = DB_WAITING,
				     .until_us = 1790000000000000,
				     .reason = STR("its hours")};
	struct talk t;
	(void)state;
	talk_open(&t);
	talk_put(&t, STR(INIT));
	buf_clear(&t.said);
	lococa_say_receipts(t.l, 3, "absorbed", 1790000000000000, 1, &t.said);
	lococa_say_receipt(&r, &t.said);
	lococa_say_receipts_end(t.l, &t.said);
	assert_str(buf_str(&t.said),
		   "<lococa:receipts_result set=\"3\" state=\"absorbed\" "
		   "at=\"2026-09-21T14:13:20Z\" urls=\"1\">\n<url url=\"http://www.example.com/\" "
		   "mime=\"text/html\" state=\"waiting\" until=\"2026-09-21T14:13:20Z\">its "
		   "hours</url>\n</lococa:receipts_result>\n");
	talk_close(&t);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_provider_says_init_receipts_and_a_set),
		cmocka_unit_test(a_row_has_all_that_was_said_of_it),
		cmocka_unit_test(an_empty_c_is_what_comes_before_it),
		cmocka_unit_test(a_row_in_error_is_told_and_named),
		cmocka_unit_test(an_error_has_all_attributes_that_were_sent),
		cmocka_unit_test(answers_have_the_prefix_of_the_peer),
		cmocka_unit_test(what_may_not_be_said_ends_the_session),
		cmocka_unit_test(too_many_bytes_end_a_set),
		cmocka_unit_test(names_that_a_peer_makes_up_are_bounded),
		cmocka_unit_test(where_a_session_is_cut_makes_no_difference),
		cmocka_unit_test(a_set_is_whole_with_its_last_byte),
		cmocka_unit_test(errors_of_processing_are_told_with_their_attributes),
		cmocka_unit_test(receipts_are_rows_of_urls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
