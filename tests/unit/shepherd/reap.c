/* Reap over plans that were written by hand. Mostly nothing is asked of a network: loopback may not
 * be connected to, and that is what becomes of a URL which got as far as the robot. */
#include "base/fault.h"
#include "base/hash.h"
#include "state/source_crawl.h"
#include "unit/shepherd/reap_bench.h"

#define URL "http://127.0.0.1:9/old"
enum { NOT_ALLOWED = CODE_ADDRESS };

static void begin(struct bench *b, const char *name, uint32_t type, struct str data)
{
	begin_at(b, name, type, data, URL, (struct value_list){0}, 0);
}

static void a_bucket_of_the_oldest_version_has_its_url_in_the_body(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "oldest", BUCKET_PLAIN, STR("U" URL "\nTtext/html\nXold\n"));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.code); /* it was asked for */
	end(&b);
}

static void the_next_version_has_it_in_the_header(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "v30", BUCKET_V30, STR("U" URL "\n\nTtext/html\nUhttp://other.example/\n"));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.code);
	end(&b);
}

static void a_bucket_that_will_not_get_better_is_not_tried_again(void **state)
{
	(void)state;
	static const struct {
		uint32_t type;
		struct str data;
	} cases[] = {
		{BUCKET_PLAIN, {"Ttext/html\n", 11}},              /* no URL at all */
		{BUCKET_PLAIN, {"Unot a URL\n", 11}},              /* none that can be asked for */
		{BUCKET_V33, {"\x7f", 1}},                         /* cut off */
		{BUCKET_V33_ZSTD, {"\0\0\0\0\1\0\0\0\0xyz", 12}}}; /* neither header nor body */
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bench b;
		char name[32];
		struct err err = {0};
		struct journal_entry e;
		snprintf(name, sizeof name, "bad%zu", i);
		begin(&b, name, cases[i].type, cases[i].data);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(ITEM_ZOMBIE, e.type);
		end(&b);
	}
}

/* Recovery names it and leaves it to the next cycle. */
static void a_damaged_plan_ends_the_reap_and_the_cycle_goes_on(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "plan", BUCKET_PLAIN, STR("U" URL "\n"));
	char *plan = state_path(b.lab.st, &b.arena, "plan");
	assert_int_equal(0, truncate(plan, 60)); /* in the first site */
	assert_true(format_verify(&plan_format, plan, &err) < 0);
	MUST(reap_all(&b, &err));
	assert_false(told(&b, &e));
	MUST(state_enter(b.lab.st, PHASE_CORK, b.buckets, PLAY_START, &err));
	end(&b);
}

/* What the source tells of the only page. */
static void followed_md5(struct bench *b, const char *folder, char ret[33])
{
	struct err err = {0};
	struct source *s = NULL;
	struct source_change change;
	const struct source_cursor beginning = {0};
	const struct source_crawl store = {.folder = folder};
	MUST(source_crawl_ops.open(&s, &store, &beginning, &err));
	MUST(source_next(s, &b->arena, &change, &err));
	assert_int_equal(SOURCE_UPDATE, change.op);
	snprintf(ret, 33, STR_FMT, STR_ARG(soif_get(&change.obj, STR("MD5"))));
	assert_int_equal(1, source_next(s, &b->arena, &change, &err));
	source_close(&s);
}

/* By it the source knows the bucket that an entry means, and those who follow get it. */
static void the_journal_has_the_md5_of_the_document(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	unsigned char sum[16];
	const char *networks[] = {"127.0.0.0/8"};
	serve_begin(&served);
	char thin[80];
	snprintf(thin, sizeof thin, "U%s\n", served.url);
	begin_at(&b, "md5", BUCKET_PLAIN, str_of(thin), served.url,
		 (struct value_list){.item = networks, .n = 1}, 0);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(ITEM_GATHERED, e.type);
	md5(STR(PAGE), sum);
	assert_memory_equal(sum, e.md5, sizeof sum);
	char followed[33], expected[33];
	followed_md5(&b, scratch("md5/shepherd"), followed);
	hex_print(sum, sizeof sum, expected);
	assert_string_equal(expected, followed);
	end(&b);
	serve_end(&served);
}

/* A page that was gathered before, with this in the header of its bucket. */
static struct journal_entry refresh(const char *name, struct served *served, const char *header)
{
	struct bench b;
	struct err err = {0};
	struct journal_entry e = {0};
	const char *networks[] = {"127.0.0.0/8"};
	char known[256];
	serve_begin(served);
	snprintf(known, sizeof known, "U%s\n%s\nXold\n", served->url, header);
	begin_at(&b, name, BUCKET_V30, str_of(known), served->url,
		 (struct value_list){.item = networks, .n = 1}, PLAN_REFRESH);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	end(&b);
	serve_end(served);
	return e;
}

static void a_validator_that_cannot_be_sent_is_not(void **state)
{
	(void)state;
	static const char *const headers[] = {"e\"a\rb\"\n", "lMon, 16 Nov\r 2026\n",
					      "e\"a\x7f\"\n"};
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		struct served served = {0};
		char name[32];
		snprintf(name, sizeof name, "validator%zu", i);
		struct journal_entry e = refresh(name, &served, headers[i]);
		assert_int_equal(CODE_OK, e.code);
		assert_int_equal(ITEM_GATHERED, e.type);
		assert_int_equal(CHANGE_UPDATE, e.op);
		assert_null(strstr(served.asked, "If-"));
	}
}

/* Half of gzip that decodes to the beginning of a page. */
static void a_body_that_is_cut_leaves_the_page_as_it_was(void **state)
{
	(void)state;
	static const char cut[] = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
				  "Content-Encoding: gzip\r\nContent-Length: 30\r\n"
				  "Connection: close\r\n\r\n"
				  "\x1f\x8b\x08\0\0\0\0\0\0\x03\0\x1a\0\xe5\xff"
				  "<html><p>What i";
	struct served served = {.answer = {cut, sizeof cut - 1}};
	struct journal_entry e = refresh("cut", &served, "");
	assert_int_equal(CODE_BROKEN, e.code);
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(CHANGE_NONE, e.op);
	assert_true(e.due_s > 0);
}

/* As when it is in the plan and somebody asks for it, too. */
static void a_delete_is_told_once(void **state)
{
	(void)state;
	static const char gone[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
				   "Connection: close\r\n\r\n";
	struct served served = {.answer = {gone, sizeof gone - 1}};
	struct bench b;
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	unsigned entries = 0, deletes = 0;
	const char *networks[] = {"127.0.0.0/8"};
	char known[256];
	serve_begin(&served);
	snprintf(known, sizeof known, "U%s\n\nXold\n", served.url);
	begin_at(&b, "once", BUCKET_V30, str_of(known), served.url,
		 (struct value_list){.item = networks, .n = 1}, PLAN_REFRESH | TWICE);
	MUST(reap_all(&b, &err));
	MUST(state_read(b.lab.st, "journal", &in, &err));
	while (record_next(in, &record, &err) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		if (e.flags & ITEM_ROBOTS)
			continue;
		assert_int_equal(2404, e.code);
		entries++;
		deletes += e.op == CHANGE_DELETE;
	}
	record_reader_free(&in);
	assert_int_equal(2, entries);
	assert_int_equal(1, deletes);
	end(&b);
	serve_end(&served);
}

static void a_key_is_told_when_it_is_new(void **state)
{
	(void)state;
	const struct qkey_addr address = {.b = {127, 0, 0, 1}};
	struct journal_entry e;
	for (int known = 0; known < 2; known++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		begin_served(&b, known ? "key-known" : "key-new", &served);
		b.key = known ? qkey_of(&address, 0) : 0;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_int_equal(!known, told_of(&b, OF_KEY, &e));
		if (!known) {
			assert_int_equal(0, e.fp.path);
			assert_int_equal(CODE_RESOLVED, e.code);
			assert_int_equal(qkey_of(&address, 0), e.qkey);
		}
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		end(&b);
		serve_end(&served);
	}
}

/* A page of a site that has moved may be another, whatever its validators say. */
static void what_has_moved_is_fetched_without_validators(void **state)
{
	(void)state;
	const struct qkey_addr before = {.b = {127, 0, 0, 2}}, now = {.b = {127, 0, 0, 1}};
	for (int moved = 0; moved < 2; moved++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		char known[256];
		serve_begin(&served);
		snprintf(known, sizeof known, "U%s\ne\"tag\"\n\nXold\n", served.url);
		begin_at(&b, moved ? "moved" : "stayed", BUCKET_V30, str_of(known), served.url,
			 LOOPBACK, PLAN_REFRESH);
		b.key = qkey_of(moved ? &before : &now, 0);
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		assert_int_equal(!moved, strstr(served.asked, "If-None-Match") != NULL);
		end(&b);
		serve_end(&served);
	}
}

/* How many pages the journal says could not be connected to; it says nothing else of pages. */
static int unconnected(struct bench *b)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	int pages = 0;
	MUST(state_read(b->lab.st, "journal", &in, &err));
	while (record_next(in, &record, &err) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		if (e.flags & ITEM_ROBOTS)
			continue;
		assert_int_equal(CODE_CONNECTION, e.code);
		assert_int_equal(ITEM_TEMPORARY, e.type);
		pages++;
	}
	record_reader_free(&in);
	return pages;
}

/* Two pages; the second waits for longer than the run lasts, or not at all. */
static void a_server_that_cannot_be_connected_to_is_left_alone(void **state)
{
	(void)state;
	for (int waits = 0; waits < 2; waits++) {
		struct served served = {.leaves = true};
		struct bench b;
		struct err err = {0};
		begin_served(&b, waits ? "alone" : "again", &served);
		b.flags = TWICE;
		b.conf.conn_err_delay_us = waits ? US_PER_H : 0;
		b.cycle_us = waits ? US_PER_S : 0;
		plan_one(&b, b.oid);
		do /* a run may end before it gets to a page */
			MUST(reap_all(&b, &err));
		while (unconnected(&b) == 0);
		assert_int_equal(waits ? 1 : 2, unconnected(&b));
		end(&b);
		serve_end(&served);
	}
}

#define NO_SITE_URL "http://none.invalid/"

static void a_name_that_is_none_is_asked_for_once(void **state)
{
	(void)state;
	for (int known = 0; known < 2; known++) {
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		begin_at(&b, known ? "no-site" : "no-name", BUCKET_PLAIN, STR("U" NO_SITE_URL "\n"),
			 NO_SITE_URL, LOOPBACK, 0);
		b.key = known ? qkey_special(QKEY_NONEXISTENT, 1, 0) : 0;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_int_equal(!known, told_of(&b, OF_KEY, &e));
		if (!known)
			assert_int_equal(QKEY_NONEXISTENT, qkey_kind(e.qkey));
		assert_true(told(&b, &e));
		assert_int_equal(known ? CODE_NO_SITE : CODE_NO_HOST, e.code);
		end(&b);
	}
}

/* The key is known before there is anyone who could ask the server. */
static void names_are_looked_up_though_no_reaper_has_room(void **state)
{
	static const char *const away[] = {"unix:/nonexistent/reapd"};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	(void)state;
	begin_at(&b, "names-ahead", BUCKET_PLAIN, STR("Uhttp://localhost:9/\n"),
		 "http://localhost:9/", LOOPBACK, 0);
	reap_free(&b.reap);
	b.conf.reapers = (struct value_list){away, 1};
	b.conf.local = CRAWL_LOCAL_NEVER;
	b.cycle_us = US_PER_S / 20;
	open_reap(&b, "names-ahead");
	for (int i = 0; i < 200 && !told_of(&b, OF_KEY, &e); i++)
		MUST(reap_all(&b, &err));
	assert_false(told(&b, &e));
	assert_true(told_of(&b, OF_KEY, &e));
	assert_int_equal(QKEY_RESOLVED, qkey_kind(e.qkey));
	end(&b);
}

/* What is under way when a run ends is judged by the next one, and not asked for again. */
static void a_slow_page_is_judged_by_the_next_run(void **state)
{
	(void)state;
	struct served served = {.slow = true};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "slow", &served);
	b.cycle_us = 300 * US_PER_MS;
	while (!served.pages) {
		MUST(reap_all(&b, &err));
		assert_false(told(&b, &e));
	}
	MUST(reap_all(&b, &err)); /* still not */
	assert_false(told(&b, &e));
	served.slow = false;
	b.cycle_us = 0;
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(1, served.pages);
	end(&b);
	serve_end(&served);
}

/* The same, answered before the next one begins. */
static void an_answer_between_two_runs_is_kept(void **state)
{
	(void)state;
	struct served served = {.slow = true};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "between", &served);
	b.cycle_us = 300 * US_PER_MS;
	while (!served.pages)
		MUST(reap_all(&b, &err));
	served.slow = false;
	for (int i = 0; i < 300; i++) { /* long enough, and if not it is judged all the same */
		loop_poll(b.loop);
		usleep(1000);
	}
	b.cycle_us = 0;
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(1, served.pages);
	end(&b);
	serve_end(&served);
}

static void the_type_of_an_answer_says_its_section_or_that_nobody_wants_it(void **state)
{
	(void)state;
	static const struct {
		const char *name, *rules;
		uint16_t code;
		bool has_section;
	} cases[] = {
		{"other", "section b 1\nsection a 1\ntype text/html: section=a\n", CODE_OK, true},
		{"reject", "type text/html: reject\n", CODE_REJECTED, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		begin_served(&b, cases[i].name, &served);
		b.rules = cases[i].rules;
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(cases[i].code, e.code);
		assert_int_equal(cases[i].has_section, e.has_section);
		end(&b);
		serve_end(&served);
	}
}

static void what_is_given_by_hand_leads_on_by_hand_inside_its_domain(void **state)
{
	(void)state;
	static const struct {
		const char *name, *to;
		unsigned item_flags, hops;
		bool no_target, leads, by_hand;
	} cases[] = {
		{"hand", "/next", ITEM_INITIAL, 3, false, true, true},
		{"far", "/next", ITEM_INITIAL, 10, false, true, false},
		{"link", "/next", 0, 0, false, true, false},
		{"abroad", "http://other.example/", ITEM_INITIAL, 0, false, true, false},
		{"itself", "/page", ITEM_INITIAL, 0, true, false, false},
		{"nowhere", "mailto:x@example.org", 0, 0, true, false, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char answer[256];
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		struct contrib c;
		int n = snprintf(answer, sizeof answer,
				 "HTTP/1.1 301 Moved\r\nLocation: %s\r\nContent-Length: 0\r\n"
				 "Connection: close\r\n\r\n",
				 cases[i].to);
		served.answer = (struct str){answer, (size_t)n};
		begin_served(&b, cases[i].name, &served);
		b.item_flags = cases[i].item_flags;
		b.hops = cases[i].hops;
		plan_one(&b, b.oid);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(cases[i].no_target, e.no_target);
		assert_int_equal(cases[i].no_target ? CODE_NOWHERE : CODE_REDIRECT, e.code);
		assert_int_equal(cases[i].leads, contributed(&b, &c));
		if (cases[i].leads) {
			assert_int_equal(cases[i].by_hand ? ITEM_INITIAL : 0, c.flags);
			assert_int_equal(cases[i].by_hand ? cases[i].hops + 1 : 0, c.hops);
		}
		end(&b);
		serve_end(&served);
	}
}

/* The code of the page's last try. */
static uint16_t last_code(struct bench *b)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e = {.code = UINT16_MAX};
	uint16_t code = UINT16_MAX;
	int rc = state_read(b->lab.st, "journal", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		MUST(journal_read(record.payload, &e, &err));
		code = footprint_cmp(e.fp, b->fp) == 0 ? e.code : code;
	}
	record_reader_free(&in);
	return code;
}

/* Each leads to the next, and the last one back to the first; or it does not. */
static void redirects_in_a_circle_lead_nowhere(void **state)
{
	(void)state;
	static const struct {
		const char *name, *ring;
		uint16_t last;
	} cases[] = {
		{"circle-3", "120", CODE_NOWHERE},
		{"chain-3", "123", CODE_REDIRECT},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct served served = {.ring = cases[i].ring};
		struct bench b;
		struct err err = {0};
		begin_served(&b, cases[i].name, &served);
		int site = (int)(strlen(served.url) - strlen("/page"));
		for (int n = 0; n < 3; n++) {
			char url[80], bucket[96];
			uint32_t oid;
			snprintf(url, sizeof url, "%.*s/ring/%d", site, served.url, n);
			snprintf(bucket, sizeof bucket, "U%s\n", url);
			MUST(bucket_append(b.buckets, BUCKET_PLAIN, str_of(bucket), &oid, &err));
			MUST(bucket_sync(b.buckets, NULL, &err));
			b.fp = fp_of(url);
			plan_one(&b, oid);
			MUST(reap_all(&b, &err));
			assert_int_equal(n < 2 ? CODE_REDIRECT : cases[i].last, last_code(&b));
		}
		end(&b);
		serve_end(&served);
	}
}

#ifdef GARNER_FAULTS
/* A disk that fails now is no reason to bury a URL: the reap ends and says why, and the next one
 * goes on. */
static void a_bucket_that_cannot_be_read_now_ends_the_reap_and_not_the_url(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "disk", BUCKET_PLAIN, STR("U" URL "\n"));
	MUST(fault_arm("file.read/objects=eio@1+", &err));
	assert_int_equal(-1, reap_all(&b, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	assert_non_null(strstr(err.msg, "objects"));
	assert_true(fault_fired() > 0);
	MUST(fault_arm("", &err));
	assert_false(told(&b, &e));
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(NOT_ALLOWED, e.code);
	end(&b);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_of_the_oldest_version_has_its_url_in_the_body),
		cmocka_unit_test(the_next_version_has_it_in_the_header),
		cmocka_unit_test(a_bucket_that_will_not_get_better_is_not_tried_again),
		cmocka_unit_test(the_journal_has_the_md5_of_the_document),
		cmocka_unit_test(a_validator_that_cannot_be_sent_is_not),
		cmocka_unit_test(a_body_that_is_cut_leaves_the_page_as_it_was),
		cmocka_unit_test(a_delete_is_told_once),
		cmocka_unit_test(a_damaged_plan_ends_the_reap_and_the_cycle_goes_on),
		cmocka_unit_test(a_key_is_told_when_it_is_new),
		cmocka_unit_test(what_has_moved_is_fetched_without_validators),
		cmocka_unit_test(a_server_that_cannot_be_connected_to_is_left_alone),
		cmocka_unit_test(a_name_that_is_none_is_asked_for_once),
		cmocka_unit_test(names_are_looked_up_though_no_reaper_has_room),
		cmocka_unit_test(a_slow_page_is_judged_by_the_next_run),
		cmocka_unit_test(an_answer_between_two_runs_is_kept),
		cmocka_unit_test(the_type_of_an_answer_says_its_section_or_that_nobody_wants_it),
		cmocka_unit_test(redirects_in_a_circle_lead_nowhere),
		cmocka_unit_test(what_is_given_by_hand_leads_on_by_hand_inside_its_domain),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_bucket_that_cannot_be_read_now_ends_the_reap_and_not_the_url),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
