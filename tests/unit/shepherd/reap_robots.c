/* What reap asks of a site other than its pages: robots.txt and sitemaps. */
#include "unit/shepherd/reap_bench.h"

#define FILE_OK(text) \
	STR("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" text)
#define FORBIDS "User-agent: *\nDisallow: /page\n"

/* The text of robots.txt in the bucket that its entry names. */
static void assert_kept(struct bench *b, const struct journal_entry *e, const char *text)
{
	struct attrs header, body;
	struct footprint fp;
	uint64_t came_s;
	struct err err = {0};
	MUST(bucket_get(b->buckets, NULL, (uint32_t)e->where, &b->arena, &header, &body, &err));
	assert_true(footprint_parse(attrs_get(&header, 'O'), &fp));
	assert_int_equal(0, footprint_cmp(fp, e->fp));
	assert_true(str_eq(attrs_get(&header, 'U'), e->url));
	assert_true(str_u64(attrs_get(&header, 'D'), &came_s));
	int64_t ago_s = e->time_us / US_PER_S - (int64_t)came_s;
	assert_true(ago_s > -60 && ago_s < 60); /* the clock may be set */
	assert_true(str_eq(attrs_get(&header, 'J'), attrs_get(&header, 'D')));
	assert_str(attrs_get(&body, 'X'), text);
}

static void what_robots_txt_forbids_is_not_asked_for(void **state)
{
	(void)state;
	struct served served = {.robots = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "forbids", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(0, e.download_ms);
	assert_int_equal(0, served.pages);
	assert_int_equal(1, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_true(e.download_ms > 0); /* a part of a millisecond is one */
	assert_int_equal(ITEM_GATHERED, e.type);
	assert_int_equal(CHANGE_NONE, e.op);
	assert_int_equal(b.fp.site, e.fp.site);
	assert_kept(&b, &e, FORBIDS);
	end(&b);
	serve_end(&served);
}

/* The plan's entry for robots.txt is a job of its own: it needs no page that gets as far. */
static void the_file_is_asked_for_though_no_page_is(void **state)
{
	(void)state;
	struct served served = {.robots = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "ahead", &served);
	b.rules = "host 127.0.0.1: reject\n";
	MUST(reap_all(&b, &err));
	assert_int_equal(0, served.pages);
	assert_int_equal(1, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_kept(&b, &e, FORBIDS);
	assert_true(told(&b, &e));
	assert_int_equal(CODE_REJECTED, e.code);
	MUST(reap_all(&b, &err)); /* the journal has both */
	assert_int_equal(1, served.files);
	end(&b);
	serve_end(&served);
}

static void the_file_may_lie_elsewhere(void **state)
{
	(void)state;
	struct served served = {.robots = STR("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
					      "Content-Length: 0\r\nConnection: close\r\n\r\n"),
				.elsewhere = FILE_OK(FORBIDS)};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "elsewhere", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(2, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_kept(&b, &e, FORBIDS);
	end(&b);
	serve_end(&served);
}

static void a_circle_of_redirects_is_no_file(void **state)
{
	(void)state;
	static const char circle[] = "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
				     "Content-Length: 0\r\nConnection: close\r\n\r\n";
	struct served served = {.robots = {circle, sizeof circle - 1},
				.elsewhere = {circle, sizeof circle - 1}};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "circle", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_OK, e.code);
	assert_int_equal(6, served.files);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_int_equal(ITEM_ERROR, e.type);
	assert_int_equal(CODE_NOWHERE, e.code);
	end(&b);
	serve_end(&served);
}

/* Also where the status is one that a page would be too large for. */
static void a_file_that_is_refused_forbids_nothing(void **state)
{
	(void)state;
	static const char *const status[] = {"403", "404", "413", "431"};
	for (size_t i = 0; i < ARRAY_LEN(status); i++) {
		char answer[128];
		struct served served = {0};
		struct bench b;
		struct err err = {0};
		struct journal_entry e;
		int n = snprintf(answer, sizeof answer,
				 "HTTP/1.1 %s No\r\nContent-Length: 0\r\n"
				 "Connection: close\r\n\r\n",
				 status[i]);
		served.robots = (struct str){answer, (size_t)n};
		begin_served(&b, status[i], &served);
		MUST(reap_all(&b, &err));
		assert_true(told(&b, &e));
		assert_int_equal(CODE_OK, e.code);
		assert_true(told_of(&b, OF_ROBOTS, &e));
		assert_int_equal(ITEM_ERROR, e.type);
		end(&b);
		serve_end(&served);
	}
}

/* Nothing is known of what it forbids. */
static void a_site_that_cannot_give_its_file_is_off(void **state)
{
	(void)state;
	struct served served = {.robots = STR("HTTP/1.1 503 Later\r\nContent-Length: 0\r\n"
					      "Connection: close\r\n\r\n")};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin_served(&b, "unreachable", &served);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(1503, e.code);
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(0, served.pages);
	assert_true(told_of(&b, OF_ROBOTS, &e));
	assert_int_equal(ITEM_TEMPORARY, e.type);
	assert_int_equal(ITEM_NOWHERE, e.where);
	end(&b);
	serve_end(&served);
}

/* As after the loss of run/robots.db: nobody is asked. */
static void the_bucket_of_the_file_is_as_good_as_the_cache(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	struct attrs header = {0}, body = {0};
	char digits[FOOTPRINT_TEXT];
	uint32_t oid;
	begin_served(&b, "bucket", &served);
	struct footprint fp = {b.fp.site, footprint_path(STR("/robots.txt"))};
	attrs_add(&header, &b.arena, 'O', str_of(footprint_print(fp, digits)));
	attrs_add(&header, &b.arena, 'D',
		  str_of(arena_printf(&b.arena, "%lld", (long long)(clock_wall_us() / US_PER_S))));
	attrs_add(&body, &b.arena, 'X', STR(FORBIDS));
	MUST(bucket_put(b.buckets, NULL, &header, &body, &oid, &err));
	MUST(bucket_sync(b.buckets, NULL, &err));
	b.robots = oid;
	plan_one(&b, b.oid);
	MUST(reap_all(&b, &err));
	assert_true(told(&b, &e));
	assert_int_equal(CODE_ROBOTS, e.code);
	assert_int_equal(0, served.pages + served.files);
	assert_false(told_of(&b, OF_ROBOTS, &e));
	end(&b);
	serve_end(&served);
}

static void a_sitemap_that_the_file_names_tells_of_its_own_site(void **state)
{
	(void)state;
	struct served served = {0};
	struct bench b;
	struct err err = {0};
	struct contrib c;
	char robots[512], sitemap[1024], listed[80];
	begin_served(&b, "sitemap", &served);
	int site = (int)(strlen(served.url) - strlen("/page"));
	snprintf(listed, sizeof listed, "%.*s/listed", site, served.url);
	int n = snprintf(robots, sizeof robots,
			 "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nSitemap: %.*s/elsewhere\n",
			 site, served.url);
	served.robots = (struct str){robots, (size_t)n};
	n = snprintf(sitemap, sizeof sitemap,
		     "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"
		     "<?xml version=\"1.0\"?>\n"
		     "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
		     "<url><loc>%s</loc><lastmod>2026-11-01</lastmod></url>"
		     "<url><loc>http://other.example/</loc></url></urlset>",
		     listed);
	served.elsewhere = (struct str){sitemap, (size_t)n};
	MUST(reap_all(&b, &err));
	assert_true(contributed(&b, &c));
	assert_int_equal(0, footprint_cmp(c.fp, fp_of(listed)));
	assert_int_equal(1793491200, c.changed_s);
	assert_int_equal(2, served.files);
	end(&b);
	serve_end(&served);
}

/* Pages of a site are asked for before its sitemaps, and link to most of what these list. */
static void a_change_counts_though_a_page_leads_there_too(void **state)
{
	(void)state;
	struct served served = {.answer =
					STR("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
					    "Connection: close\r\n\r\n<a href=/listed>listed</a>")};
	struct bench b;
	struct err err = {0};
	struct contrib c;
	char robots[512], sitemap[1024];
	begin_served(&b, "sitemap-later", &served);
	int site = (int)(strlen(served.url) - strlen("/page"));
	int n = snprintf(robots, sizeof robots,
			 "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nSitemap: %.*s/elsewhere\n",
			 site, served.url);
	served.robots = (struct str){robots, (size_t)n};
	n = snprintf(sitemap, sizeof sitemap,
		     "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nConnection: close\r\n\r\n"
		     "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
		     "<url><loc>%.*s/listed</loc><lastmod>2026-11-01</lastmod></url></urlset>",
		     site, served.url);
	served.elsewhere = (struct str){sitemap, (size_t)n};
	b.ask = served.url; /* so that the page goes first */
	MUST(reap_all(&b, &err));
	assert_int_equal(3, contributions(&b, &c)); /* with what was asked for */
	assert_int_equal(1793491200, c.changed_s);
	assert_int_equal(2, served.files); /* robots.txt and the sitemap, once */
	assert_int_equal(2, served.pages);
	end(&b);
	serve_end(&served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_robots_txt_forbids_is_not_asked_for),
		cmocka_unit_test(the_file_is_asked_for_though_no_page_is),
		cmocka_unit_test(the_file_may_lie_elsewhere),
		cmocka_unit_test(a_circle_of_redirects_is_no_file),
		cmocka_unit_test(a_file_that_is_refused_forbids_nothing),
		cmocka_unit_test(a_site_that_cannot_give_its_file_is_off),
		cmocka_unit_test(the_bucket_of_the_file_is_as_good_as_the_cache),
		cmocka_unit_test(a_sitemap_that_the_file_names_tells_of_its_own_site),
		cmocka_unit_test(a_change_counts_though_a_page_leads_there_too),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
