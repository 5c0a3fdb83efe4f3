/* The pure parts of simnet: the tally that other proofs rest on, requests, pages. */
#include "../unit.h"

#include "base/arena.h"
#include "simnet/answer.h"
#include "simnet/tally.h"

static bool left; /* what gone() says */

static bool gone(void *owner)
{
	(void)owner;
	return left;
}

/* A member of the report, a number. */
static int64_t counted(const struct tally *t, const char *key)
{
	struct buf out = BUF_INIT(1 << 20);
	struct jsonw j = JSONW_INIT(&out);
	char quoted[64];
	uint64_t value = 0;
	jsonw_object(&j);
	tally_report(t, 0x7f0a0000, false, &j);
	jsonw_object_end(&j);
	struct buf key_text = {.p = quoted, .cap = sizeof quoted, .max = sizeof quoted - 1};
	buf_printf(&key_text, "\"%s\":", key);
	size_t at = str_find(buf_str(&out), buf_str(&key_text));
	assert_true(at < out.n);
	struct str rest = str_trim(str_from(buf_str(&out), at + key_text.n));
	size_t digits = 0;
	while (digits < rest.n && rest.p[digits] >= '0' && rest.p[digits] <= '9')
		digits++;
	assert_true(str_u64(str_head(rest, digits), &value));
	buf_free(&out);
	return (int64_t)value;
}

static void ask(struct tally *t, uint32_t address, int64_t at_us)
{
	struct tally_mark mark = {0};
	tally_begin(t, &mark, &(struct tally_start){.address = address, .at_us = at_us});
	tally_end(t, &mark, 200, 10);
}

static void a_gap_of_99_percent_is_fine_and_less_is_not(void **state)
{
	(void)state;
	struct tally *t = tally_new(2, 500000, gone);
	ask(t, 0, 1000000);
	ask(t, 1, 1000001);
	ask(t, 0, 1495000);
	assert_int_equal(counted(t, "short_gaps"), 0);
	assert_int_equal(counted(t, "min_gap_us"), 495000);
	ask(t, 0, 1989999);
	assert_int_equal(counted(t, "short_gaps"), 1);
	assert_int_equal(counted(t, "violations"), 1);
	assert_int_equal(counted(t, "requests"), 4);
	assert_int_equal(counted(t, "addresses"), 2);
	tally_free(&t);
}

static void requests_may_be_read_in_another_order(void **state)
{
	(void)state;
	struct tally *t = tally_new(1, 500000, gone);
	struct tally_mark late = {0}, past = {0};
	ask(t, 0, 1000000);
	ask(t, 0, 2000000);
	ask(t, 0, 1500000);
	assert_int_equal(counted(t, "short_gaps"), 0);
	assert_int_equal(counted(t, "min_gap_us"), 500000);
	ask(t, 0, 1900000); /* near the one after it */
	assert_int_equal(counted(t, "short_gaps"), 1);
	ask(t, 0, 2500000);
	tally_begin(t, &late, &(struct tally_start){.at_us = 4000000});
	left = true;
	tally_begin(t, &past, &(struct tally_start){.at_us = 3000000});
	left = false;
	assert_int_equal(counted(t, "short_gaps"), 1);
	assert_int_equal(counted(t, "overlaps"), 0);
	tally_end(t, &past, 0, 0);
	tally_begin(t, &past, &(struct tally_start){.at_us = 3500000}); /* it waits, too */
	assert_int_equal(counted(t, "overlaps"), 1);
	tally_free(&t);
}

static void two_at_once_overlap_unless_the_first_has_gone(void **state)
{
	(void)state;
	struct tally *t = tally_new(2, 0, gone);
	struct tally_mark first = {0}, second = {0}, third = {0}, other = {0};
	left = false;
	tally_begin(t, &first, &(struct tally_start){.at_us = 1});
	tally_begin(t, &other, &(struct tally_start){.address = 1, .at_us = 1});
	assert_int_equal(counted(t, "overlaps"), 0);
	tally_begin(t, &second, &(struct tally_start){.at_us = 2});
	assert_int_equal(counted(t, "overlaps"), 1);
	left = true;
	tally_begin(t, &third, &(struct tally_start){.at_us = 3});
	assert_int_equal(counted(t, "overlaps"), 1);
	assert_int_equal(counted(t, "unanswered"), 2);
	tally_end(t, &first, 200, 0); /* it was ended above: nothing happens */
	tally_end(t, &third, 200, 0);
	tally_end(t, &other, 200, 0);
	assert_int_equal(counted(t, "unanswered"), 2);
	tally_free(&t);
}

static void who_comes_before_retry_after_is_early(void **state)
{
	(void)state;
	struct tally *t = tally_new(1, 0, gone);
	ask(t, 0, 100);
	tally_not_before(t, 0, 200);
	ask(t, 0, 199);
	ask(t, 0, 200);
	assert_int_equal(counted(t, "early"), 1);
	tally_reset(t);
	ask(t, 0, 199);
	assert_int_equal(counted(t, "early"), 0);
	tally_free(&t);
}

static void heads_are_read_and_nonsense_is_not(void **state)
{
	(void)state;
	struct request r;
	assert_true(
		request_parse(STR("GET /a?b HTTP/1.1\r\nhOST: x.test:80\r\nIf-None-Match: \"a\"\r\n"
				  "Accept-Encoding: br, gzip\r\nConnection: close\r\n\r\n"),
			      &r));
	assert_str(r.path, "/a?b");
	assert_str(r.host, "x.test");
	assert_str(r.if_none_match, "\"a\"");
	assert_true(r.gzip && !r.keep && !r.http10);
	assert_true(request_parse(STR("GET http://y.test:1 HTTP/1.0\nHost: x\n\n"), &r));
	assert_str(r.host, "y.test");
	assert_str(r.path, "/");
	assert_true(r.http10 && !r.keep);
	static const char *const bad[] = {"",
					  "\r\n",
					  "GET\r\n\r\n",
					  "GET / \r\n\r\n",
					  "GET / HTTP/2\r\n\r\n",
					  "GET * HTTP/1.1\r\n\r\n",
					  "GET  HTTP/1.1\r\n\r\n",
					  " / HTTP/1.1"};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (request_parse(str_of(bad[i]), &r))
			fail_msg("taken: %s", bad[i]);
}

static void make_world(struct world *w, struct arena *arena, int64_t hosts, int64_t pages)
{
	struct world_conf conf;
	struct err err;
	value_defaults(world_specs, world_nspecs, arena, &conf);
	conf.hosts = hosts;
	conf.pages = pages;
	conf.odd_percent = 60;
	assert_int_equal(world_init(w, &conf, &err), 0);
}

static void every_page_is_found_by_its_own_path_alone(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct world w;
	struct buf path = BUF_INIT(200);
	make_world(&w, &arena, 3, 500);
	for (uint32_t i = 0; i < 500; i++) {
		struct page p, found;
		unsigned hop;
		world_page(&w, 2, i, w.conf.epoch_s, &p);
		buf_clear(&path);
		page_path(&p, &path);
		assert_int_equal(world_find(&w, 2, buf_str(&path), w.conf.epoch_s, &found, &hop),
				 0);
		assert_int_equal(found.number, i);
		buf_add_text(&path, "/0");
		assert_int_equal(world_find(&w, 2, buf_str(&path), w.conf.epoch_s, &found, &hop),
				 1);
	}
	static const char *const none[] = {
		"/p/500.html", "/p/0.html", "/p/",   "/p/1.htm",  "",
		"/p/01.html",  "/x/1",      "/p/-1", "/private/", "/r/1/99"};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		struct page p;
		unsigned hop;
		assert_int_equal(world_find(&w, 2, str_of(none[i]), 0, &p, &hop), 1);
	}
	buf_free(&path);
	world_free(&w);
	arena_free(&arena);
}

static void a_body_changes_with_its_version_and_only_then(void **state)
{
	(void)state;
	struct arena arena = ARENA_INIT(1 << 20);
	struct world w;
	struct buf before = BUF_INIT(4 << 20), after = BUF_INIT(4 << 20);
	int changed = 0;
	make_world(&w, &arena, 2, 200);
	for (uint32_t i = 0; i < 200; i++) {
		struct page p, q;
		world_page(&w, 1, i, w.conf.epoch_s, &p);
		world_page(&w, 1, i, w.conf.epoch_s + 864000, &q);
		assert_true(q.version >= p.version && q.changed_s >= p.changed_s);
		assert_int_equal(q.version != p.version, q.changed_s != p.changed_s);
		buf_clear(&before);
		buf_clear(&after);
		page_body(&w, &p, &before);
		page_body(&w, &q, &after);
		assert_int_equal(str_eq(buf_str(&before), buf_str(&after)), p.version == q.version);
		changed += p.version != q.version;
	}
	assert_in_range(changed, 20, 180);
	buf_free(&before);
	buf_free(&after);
	world_free(&w);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_of_99_percent_is_fine_and_less_is_not),
		cmocka_unit_test(requests_may_be_read_in_another_order),
		cmocka_unit_test(two_at_once_overlap_unless_the_first_has_gone),
		cmocka_unit_test(who_comes_before_retry_after_is_early),
		cmocka_unit_test(heads_are_read_and_nonsense_is_not),
		cmocka_unit_test(every_page_is_found_by_its_own_path_alone),
		cmocka_unit_test(a_body_changes_with_its_version_and_only_then),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
