/* The words between master and reapd: what is written is read back, what is cut or claims too much
 * is refused, and every lie of an answer is found. */
#include "shepherd/reap/reap_wire.h"

#include "base/clock.h"
#include "base/hash.h"
#include "bucket/bucket_attrs.h"
#include "fetch/kit.h"
#include "unit/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

enum { JOB_S = 1794700800, UNTIL_S = JOB_S + 20 }; /* when the job was given, and now */

static uint64_t turn;

static uint64_t chance(uint64_t n)
{
	return hash_u64(++turn) % n;
}

static struct footprint fp_of(struct str canonical)
{
	char room[URL_MAX];
	struct url url;
	assert_int_equal(0, url_parse(canonical, NULL, room, sizeof room, &url));
	return footprint_of(&url);
}

static struct str some_url(struct arena *arena)
{
	return str_of(arena_printf(arena, "http://h%" PRIu64 ".test%s/p%" PRIu64, chance(1000),
				   chance(2) ? ":8080" : "", chance(1000000)));
}

static struct str perhaps(struct str s)
{
	return chance(2) ? s : STR("");
}

static struct addr some_addr(void)
{
	struct addr a = {.family = chance(2) ? AF_INET : AF_INET6,
			 .port = (uint16_t)(1 + chance(65535))};
	for (size_t i = 0; i < addr_bytes(&a); i++)
		a.b[i] = (uint8_t)(1 + chance(255));
	return a;
}

static qkey some_key(void)
{
	struct addr a = some_addr();
	return kit_qkey(&a);
}

static struct reaper_job some_job(struct arena *arena)
{
	struct reaper_job job = {
		.what = (enum reaper_what)chance(REAPER_WHATS),
		.url = some_url(arena),
		.addr = some_addr(),
		.now_s = (int64_t)chance(UINT32_MAX),
		.etag = perhaps(STR("\"a b\"")),
		.last_modified = perhaps(STR("Sat, 14 Nov 2026 00:00:00 GMT")),
		.md5 = perhaps(STR("0123456789abcdef0123456789abcdef")),
		.limits = {.body = chance(BUCKET_DATA_MOST),
			   .idle_us = (int64_t)chance(US_PER_H),
			   .total_us = (int64_t)chance(US_PER_H)},
		.rule = {.delay_us = (int64_t)chance(US_PER_H),
			 .concurrent = 1 + (unsigned)chance(POLITE_CONCURRENT_MAX),
			 .exempt = chance(2)},
		.keep = chance(2),
		.patience_us = (int64_t)(chance(2) * chance(US_PER_H)),
	};
	job.fp = fp_of(job.url);
	return job;
}

static void assert_same(struct str a, struct str b)
{
	assert_true(str_eq(a, b));
}

/* Through the wire; slices lie in *out. */
static int job_through(const struct reaper_job *job, struct buf *out, struct reaper_job *ret,
		       struct err *err)
{
	struct reap_message m = {.id = 7, .job = *job};
	int what;
	buf_clear(out);
	message_write(&reap_of_master, REAP_JOB, &m, out);
	if (message_read(&reap_of_master, buf_str(out), &what, &m, err) < 0)
		return -1;
	assert_true(what == REAP_JOB && m.id == 7);
	*ret = m.job;
	return reap_job_check(ret, err);
}

static void jobs_are_read_as_they_were_written(void **state)
{
	(void)state;
	struct err err = {0};
	for (int i = 0; i < 500; i++) {
		CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
		CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
		struct reaper_job a = some_job(&arena), b;
		MUST(job_through(&a, &out, &b, &err));
		assert_same(a.url, b.url);
		assert_same(a.etag, b.etag);
		assert_same(a.last_modified, b.last_modified);
		assert_same(a.md5, b.md5);
		assert_true(addr_eq(a.addr, b.addr) && footprint_cmp(a.fp, b.fp) == 0);
		assert_true(a.what == b.what && a.now_s == b.now_s && a.keep == b.keep);
		assert_true(a.rule.delay_us == b.rule.delay_us &&
			    a.rule.concurrent == b.rule.concurrent &&
			    a.rule.exempt == b.rule.exempt);
		assert_true(
			a.limits.body == b.limits.body && a.limits.idle_us == b.limits.idle_us &&
			a.limits.total_us == b.limits.total_us && a.patience_us == b.patience_us);
	}
}

static struct reaper_job plain_job(void)
{
	struct reaper_job job = {
		.id = 7,
		.url = STR("http://a.test/x"),
		.addr = {.family = AF_INET, .port = 80, .b = {192, 0, 2, 1}},
		.now_s = JOB_S,
		.limits = {.body = 1 << 20, .idle_us = US_PER_S, .total_us = US_PER_MIN},
		.rule = {.delay_us = US_PER_S, .concurrent = 1},
		.etag = STR("\"e\""),
		.md5 = STR("0123456789abcdef0123456789abcdef"),
		.refresh = true,
	};
	job.fp = fp_of(job.url);
	return job;
}

/* What a validator may not have in it is left out, and the job is one all the same. */
static void what_cannot_be_sent_is_left_out(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	struct reaper_job job = plain_job(), got;
	struct err err = {0};
	job.etag = STR("\"a\nurl http://b.test/\"");
	job.rule.delay_us = INT64_MAX;
	job.rule.concurrent = 0;
	MUST(job_through(&job, &out, &got, &err));
	assert_int_equal(got.etag.n, 0);
	assert_same(got.url, job.url);
	assert_true(got.rule.delay_us == POLITE_RETRY_MAX_US && got.rule.concurrent == 1);
}

/* In place of the attribute of that name. */
static void hostile_jobs_are_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"url ",
		"url ftp://a.test/x",
		"url http://a.test/../x",
		"url http://A.test/x",
		"url http://u:p@a.test/x",
		"address 192.0.2.1",
		"address 192.0.2.1:0",
		"address 192.0.2.1:65536",
		"address a.test:80",
		"what pages",
		"now -1",
		"now 4294967296",
		"etag ",
		"md5 0123456789abcdef0123456789abcdeg",
		"md5 0123456789abcdef",
		"delay 86400000001",
		"delay 18446744073709551616",
		"connections 0",
		"connections 9",
		"body 99999999999",
		"body 1e3",
		"idle 9223372036854775807",
		"total 18446744073709551615",
		"refresh 1",
		"letter 1",
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16), changed = BUF_INIT(1 << 16);
		struct reaper_job job = plain_job(), got;
		struct reap_message m;
		struct err err = {0};
		struct str rest, line, word = str_head(str_of(bad[i]), strcspn(bad[i], " "));
		int what;
		bool replaced = false;
		MUST(job_through(&job, &out, &got, &err));
		rest = buf_str(&out);
		assert_int_equal(0, str_cut(&rest, '\n', &line));
		while (rest.n && str_cut(&rest, '\n', &line) == 0) {
			bool is_it = str_eq(str_head(line, str_find_byte(line, ' ')), word);
			buf_add_str(&changed, is_it ? str_of(bad[i]) : line);
			buf_add_byte(&changed, '\n');
			replaced |= is_it;
		}
		if (!replaced)
			buf_printf(&changed, "%s\n", bad[i]);
		buf_clear(&out);
		buf_printf(&out, "job %zu\n%s", changed.n, buf_text(&changed));
		if (message_read(&reap_of_master, buf_str(&out), &what, &m, &err) == 0 &&
		    reap_job_check(&m.job, &err) == 0)
			fail_msg("%s was taken", bad[i]);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
}

static void rules_are_read_as_they_were_written(void **state)
{
	(void)state;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	const struct reaper_rules rules = {.site = STR("http://a.test:8080"),
					   .is_reachable = true,
					   .until_us = US_PER_H,
					   .compiled = STR("a\nb\0c\n")};
	struct reap_message got;
	struct err err = {0};
	int what;
	message_write(&reap_of_master, REAP_RULES, &(struct reap_message){.rules = rules}, &out);
	MUST(message_read(&reap_of_master, buf_str(&out), &what, &got, &err));
	assert_int_equal(what, REAP_RULES);
	assert_same(got.rules.site, rules.site);
	assert_same(got.rules.compiled, rules.compiled);
	assert_true(got.rules.is_reachable && got.rules.until_us == rules.until_us);
}

/* Answers. */

/* A bucket of a document that came this second, and has been so for another one. */
static void add_bucket_of(struct arena *arena, struct buf *out, struct str url, struct footprint fp,
			  int64_t d, int64_t j, uint32_t *ret_type)
{
	struct attrs header = {0}, body = {0};
	struct err err = {0};
	attrs_add(&header, arena, 'O',
		  str_of(arena_printf(arena, "%016" PRIx64 "%016" PRIx64, fp.site, fp.path)));
	attrs_add(&header, arena, 'U', url);
	attrs_add(&header, arena, 'D', str_of(arena_printf(arena, "%" PRId64, d)));
	attrs_add(&header, arena, 'J', str_of(arena_printf(arena, "%" PRId64, j)));
	attrs_add(&body, arena, 'X', STR("words of a page"));
	MUST(bucket_encode(NULL, &header, &body, out, ret_type, &err));
}

static void add_bucket(struct arena *arena, struct buf *out, struct str url, struct footprint fp,
		       uint32_t *ret_type)
{
	add_bucket_of(arena, out, url, fp, JOB_S + 2, JOB_S + 1, ret_type);
}

static struct reaper_answer some_answer(struct arena *arena, struct buf *bucket)
{
	size_t n = chance(20);
	struct reaper_link *link = arena_array(arena, n + 1, sizeof *link);
	for (size_t i = 0; i < n; i++) {
		link[i] = (struct reaper_link){.url = some_url(arena),
					       .changed_s = (uint32_t)chance(UINT32_MAX),
					       .is_sitemap = chance(2)};
		link[i].fp = fp_of(link[i].url);
	}
	struct reaper_answer a = {
		.id = chance(UINT64_MAX),
		.code = (uint16_t)chance(CODE_END),
		.text = perhaps(STR("not found")),
		.url = some_url(arena),
		.status = (uint16_t)chance(600),
		.key = chance(2) ? some_key() : 0,
		.ended_s = (int64_t)(chance(2) * chance(UINT32_MAX)),
		.downloaded_s = (int64_t)(chance(2) * chance(UINT32_MAX)),
		.changed_s = (int64_t)(chance(2) * chance(UINT32_MAX)),
		.ago_us = (int64_t)chance(US_PER_H) - 1,
		.download_ms = (uint32_t)chance(100000),
		.retry_after_us = (int64_t)(chance(2) * chance(US_PER_H)),
		.not_now_us = (int64_t)(chance(2) * chance(US_PER_H)),
		.location = perhaps(STR("http://b.test/")),
		.type = perhaps(STR("text/html")),
		.bytes = chance(1 << 24),
		.noindex = chance(2),
		.nofollow = chance(2),
		.unread = chance(2),
		.body = perhaps(STR("User-agent: *\nDisallow:\n")),
		.link = link,
		.links = n,
	};
	md5(a.url, a.md5);
	if (chance(2))
		add_bucket(arena, bucket, a.url, fp_of(a.url), &a.bucket_type);
	a.bucket = buf_str(bucket);
	return a;
}

static void answers_are_read_as_they_were_written(void **state)
{
	(void)state;
	struct err err = {0};
	for (int i = 0; i < 500; i++) {
		CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
		CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20), bucket = BUF_INIT(1 << 20);
		struct reaper_answer a = some_answer(&arena, &bucket), b;
		struct reap_message m;
		struct reaper_link link;
		int what;
		reap_answer_write(&a, &out);
		MUST(message_read(&reap_of_reapd, buf_str(&out), &what, &m, &err));
		assert_int_equal(what, REAP_DONE);
		b = m.answer;
		assert_same(a.text, b.text);
		assert_same(a.url, b.url);
		assert_same(a.location, b.location);
		assert_same(a.type, b.type);
		assert_same(a.bucket, b.bucket);
		assert_same(a.body, b.body);
		assert_true(a.id == m.id && a.code == b.code && a.status == b.status);
		assert_true(a.key == b.key && a.ago_us == b.ago_us);
		assert_true(a.ended_s == b.ended_s && a.downloaded_s == b.downloaded_s &&
			    a.changed_s == b.changed_s);
		assert_true(a.download_ms == b.download_ms && a.bytes == b.bytes);
		assert_true(a.retry_after_us == b.retry_after_us && a.not_now_us == b.not_now_us);
		assert_true(a.noindex == b.noindex && a.nofollow == b.nofollow &&
			    a.unread == b.unread && a.bucket_type == b.bucket_type);
		assert_memory_equal(a.md5, b.md5, sizeof a.md5);
		assert_int_equal(a.links, m.links.n);
		for (size_t j = 0; j < a.links; j++) {
			MUST(message_item_next(&reap_link_item, &m.links, &link, &err));
			assert_same(a.link[j].url, link.url);
			assert_true(a.link[j].changed_s == link.changed_s &&
				    a.link[j].is_sitemap == link.is_sitemap);
		}
	}
}

struct scene {
	struct arena arena;
	struct buf bucket, out;
	struct reaper_job job;
	struct reaper_answer answer;
};

/* An honest answer. */
static void scene_make(struct scene *s)
{
	*s = (struct scene){.arena = ARENA_INIT(1 << 20),
			    .bucket = BUF_INIT(1 << 20),
			    .out = BUF_INIT(1 << 20),
			    .job = plain_job()};
	s->answer = (struct reaper_answer){.id = s->job.id,
					   .url = s->job.url,
					   .status = 200,
					   .key = kit_qkey(&s->job.addr),
					   .ended_s = JOB_S + 3,
					   .downloaded_s = JOB_S + 2,
					   .changed_s = JOB_S + 1,
					   .ago_us = 1000,
					   .type = STR("text/html"),
					   .bytes = 15};
	add_bucket(&s->arena, &s->bucket, s->job.url, s->job.fp, &s->answer.bucket_type);
	s->answer.bucket = buf_str(&s->bucket);
}

static void scene_free(struct scene *s)
{
	arena_free(&s->arena);
	buf_free(&s->bucket);
	buf_free(&s->out);
}

/* Words of a server, and more links and a longer robots.txt than are sent. */
static void an_answer_is_made_to_fit(void **state)
{
	(void)state;
	enum { MANY = REAP_LINKS_MOST + 5 };
	struct scene s;
	struct reap_message m;
	struct err err = {0};
	char *body = mem_alloc(REAP_BODY_MAX + 1);
	struct reaper_link *link = mem_array(MANY, sizeof *link);
	CLEANUP(buf_free) struct buf out = BUF_INIT(message_wire_most(&reap_of_reapd));
	int what;
	scene_make(&s);
	for (size_t i = 0; i < MANY; i++)
		link[i].url = STR("http://a.test/y");
	memset(body, 'x', REAP_BODY_MAX + 1);
	s.answer.link = link;
	s.answer.links = MANY;
	s.answer.body = (struct str){body, REAP_BODY_MAX + 1};
	s.answer.text = STR("a\nid 9\x01");
	s.answer.location = STR("http://b.test/\n");
	s.answer.ended_s = INT64_MAX;
	reap_answer_write(&s.answer, &out);
	MUST(message_read(&reap_of_reapd, buf_str(&out), &what, &m, &err));
	assert_int_equal(m.links.n, REAP_LINKS_MOST);
	assert_int_equal(m.answer.body.n, REAP_BODY_MAX);
	assert_str(m.answer.text, "a id 9 ");
	assert_int_equal(m.answer.location.n, 0);
	assert_int_equal(m.answer.ended_s, UINT32_MAX);
	mem_free(&body);
	mem_free(&link);
	scene_free(&s);
}

/* Where the body of the scene's bucket begins. */
static size_t body_at(struct scene *s)
{
	struct attrs header = {0};
	struct str rest = {0};
	struct err err = {0};
	MUST(bucket_header(s->answer.bucket_type, s->answer.bucket, &s->arena, &header, &rest,
			   &err));
	return s->bucket.n - rest.n;
}

static void no_times(struct scene *s)
{
	s->answer.downloaded_s = s->answer.changed_s = 0;
}

/* Lies: each changes one thing of the honest scene. */

static void lie_url(struct scene *s)
{
	s->answer.url = STR("http://a.test/y");
}
static void lie_key(struct scene *s)
{
	s->answer.key++;
}
static void lie_bucket_url(struct scene *s)
{
	buf_clear(&s->bucket);
	add_bucket(&s->arena, &s->bucket, STR("http://a.test/y"), s->job.fp,
		   &s->answer.bucket_type);
	s->answer.bucket = buf_str(&s->bucket);
}
static void lie_footprint(struct scene *s)
{
	struct footprint fp = s->job.fp;
	fp.path++;
	buf_clear(&s->bucket);
	add_bucket(&s->arena, &s->bucket, s->job.url, fp, &s->answer.bucket_type);
	s->answer.bucket = buf_str(&s->bucket);
}
static void lie_bytes(struct scene *s)
{
	s->bucket.p[s->bucket.n - 3] ^= 1;
}
static void lie_cut(struct scene *s)
{
	s->answer.bucket.n--;
}
static void lie_type(struct scene *s)
{
	s->answer.bucket_type = BUCKET_LIZARD;
}
static void lie_old_type(struct scene *s)
{
	s->answer.bucket_type = 5;
}
static void lie_no_bucket(struct scene *s)
{
	s->answer.bucket.n = 0;
	no_times(s);
}
static void lie_no_bucket_of_robots(struct scene *s)
{
	s->job.what = REAPER_ROBOTS;
	s->answer.bucket.n = 0;
	no_times(s);
}
static void lie_no_bucket_to_index(struct scene *s)
{
	s->answer.noindex = true;
	s->answer.bucket.n = 0;
	no_times(s);
}
static void lie_no_sum(struct scene *s)
{
	s->bucket.p[body_at(s) - 2] = 'Z';
}
static void lie_code(struct scene *s)
{
	s->answer.code = CODE_RESOLVED;
}
static void lie_sleeps(struct scene *s)
{
	s->answer.code = CODE_SLEEPS + 1;
	s->answer.bucket.n = 0;
	no_times(s);
}
static void lie_bucket_of_error(struct scene *s)
{
	s->answer.code = CODE_GONE;
}
static void lie_unchanged(struct scene *s)
{
	s->answer.code = CODE_SAME;
	s->answer.bucket.n = 0;
	no_times(s);
	s->job.md5.n = 0;
}
static void lie_not_modified(struct scene *s)
{
	s->answer.code = CODE_NOT_MODIFIED;
	s->answer.bucket.n = 0;
	no_times(s);
	s->job.etag.n = 0;
}
static void lie_body(struct scene *s)
{
	s->answer.body = STR("Disallow:");
}
static void lie_links(struct scene *s)
{
	static const struct reaper_link link;
	s->answer.code = CODE_GONE;
	s->answer.bucket.n = 0;
	no_times(s);
	s->answer.link = &link;
	s->answer.links = 1;
}
static void lie_target(struct scene *s)
{
	s->answer.location = STR("http://b.test/");
}
static void lie_sitemap(struct scene *s)
{
	s->job.what = REAPER_SITEMAP;
}
static void lie_not_now(struct scene *s)
{
	s->answer.not_now_us = 1;
}

/* The bucket and the answer agree, and are both wrong. */
static void lie_times(struct scene *s, int64_t d, int64_t j)
{
	s->answer.downloaded_s = d;
	s->answer.changed_s = j;
	buf_clear(&s->bucket);
	add_bucket_of(&s->arena, &s->bucket, s->job.url, s->job.fp, d, j, &s->answer.bucket_type);
	s->answer.bucket = buf_str(&s->bucket);
}
static void lie_too_early(struct scene *s)
{
	lie_times(s, JOB_S - 1, JOB_S - 1);
}
static void lie_after_its_end(struct scene *s)
{
	lie_times(s, JOB_S + 4, JOB_S);
}
static void lie_changed_later(struct scene *s)
{
	lie_times(s, JOB_S + 1, JOB_S + 2);
}
static void lie_ended_early(struct scene *s)
{
	s->answer.ended_s = JOB_S - 1;
}
static void lie_ended_late(struct scene *s)
{
	s->answer.ended_s = UNTIL_S + 1;
}
static void lie_never_ended(struct scene *s)
{
	s->answer.ended_s = 0;
}
static void lie_other_d(struct scene *s)
{
	s->answer.downloaded_s--;
}
static void lie_other_j(struct scene *s)
{
	s->answer.changed_s--;
}
static void lie_no_j(struct scene *s)
{
	s->answer.changed_s = 0;
}
static void lie_times_of_nothing(struct scene *s)
{
	s->answer.code = CODE_GONE;
	s->answer.bucket.n = 0;
}

static void every_lie_is_found(void **state)
{
	(void)state;
	static void (*const lies[])(struct scene *) = {
		lie_url,
		lie_key,
		lie_bucket_url,
		lie_footprint,
		lie_bytes,
		lie_cut,
		lie_type,
		lie_old_type,
		lie_no_sum,
		lie_code,
		lie_sleeps,
		lie_unchanged,
		lie_bucket_of_error,
		lie_body,
		lie_links,
		lie_not_modified,
		lie_target,
		lie_sitemap,
		lie_not_now,
		lie_no_bucket,
		lie_no_bucket_of_robots,
		lie_no_bucket_to_index,
		lie_too_early,
		lie_after_its_end,
		lie_changed_later,
		lie_ended_early,
		lie_ended_late,
		lie_never_ended,
		lie_other_d,
		lie_other_j,
		lie_no_j,
		lie_times_of_nothing,
	};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct scene s;
		scene_make(&s);
		MUST(reap_answer_check(&s.answer, &s.job, UNTIL_S, NULL, &err));
		lies[i](&s);
		err = (struct err){0};
		if (reap_answer_check(&s.answer, &s.job, UNTIL_S, NULL, &err) == 0)
			fail_msg("lie %zu was believed", i);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_true(err.msg[0] != 0);
		scene_free(&s);
	}
}

/* Whatever a server says, a reapd that tells it is not taken for a liar. */
static void no_answer_of_a_server_makes_a_liar(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	scene_make(&s);
	s.answer.bucket.n = 0;
	s.answer.downloaded_s = s.answer.changed_s = 0;
	for (int cause = 0; cause < ROBOT_NCAUSES; cause++)
		for (int outcome = OUTCOME_UNCHANGED; outcome < OUTCOME_COUNT; outcome++)
			for (int status = 0; status < 1000; status += status < 100 ? 100 : 1) {
				s.answer.status = (uint16_t)status;
				s.answer.code = code_of((enum outcome)outcome,
							(enum robot_cause)cause, status);
				if (s.answer.code == CODE_OK)
					continue;
				MUST(reap_answer_check(&s.answer, &s.job, UNTIL_S, NULL, &err));
			}
	scene_free(&s);
}

/* Writes the checksum anew: the attribute before the end of the header. */
static void reseal(struct scene *s)
{
	struct str data = s->answer.bucket;
	size_t at = body_at(s) - 10;
	unsigned char words[8];
	char digits[9];
	for (unsigned i = 0; i < 4; i++) {
		words[i] = (unsigned char)(s->answer.bucket_type >> 8 * i);
		words[4 + i] = (unsigned char)(data.n >> 8 * i);
	}
	uint32_t crc = crc32c(crc32c(0, words, 8), data.p, at);
	crc = crc32c(crc, data.p + at + 8, data.n - at - 8);
	snprintf(digits, sizeof digits, "%08" PRIx32, crc);
	memcpy(s->bucket.p + at, digits, 8);
}

/* Packed with a dictionary that the crawl does not have. */
static void a_dictionary_that_is_not_there_is_a_lie(void **state)
{
	(void)state;
	struct scene s;
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct bucket_packer *packer = bucket_packer_new(NULL);
	char words[4096];
	memset(words, 'w', sizeof words);
	scene_make(&s);
	attrs_add(&header, &s.arena, 'O',
		  str_of(arena_printf(&s.arena, "%016" PRIx64 "%016" PRIx64, s.job.fp.site,
				      s.job.fp.path)));
	attrs_add(&header, &s.arena, 'U', s.job.url);
	attrs_add(&header, &s.arena, 'D', str_of(arena_printf(&s.arena, "%d", JOB_S + 2)));
	attrs_add(&header, &s.arena, 'J', str_of(arena_printf(&s.arena, "%d", JOB_S + 1)));
	attrs_add(&body, &s.arena, 'X', (struct str){words, sizeof words});
	buf_clear(&s.bucket);
	MUST(bucket_encode(packer, &header, &body, &s.bucket, &s.answer.bucket_type, &err));
	assert_int_equal(s.answer.bucket_type, BUCKET_V33_ZSTD);
	s.answer.bucket = buf_str(&s.bucket);
	MUST(reap_answer_check(&s.answer, &s.job, UNTIL_S, packer, &err));
	assert_int_equal(-1, reap_answer_check(&s.answer, &s.job, UNTIL_S, NULL, &err));

	/* the same with the number of a dictionary, and the checksum that belongs to it */
	s.bucket.p[body_at(&s) + 4] = 1;
	reseal(&s);
	assert_int_equal(0, bucket_check(s.answer.bucket_type, s.answer.bucket, &err));
	assert_int_equal(-1, reap_answer_check(&s.answer, &s.job, UNTIL_S, packer, &err));
	assert_int_equal(err.code, ERR_DAMAGED);
	bucket_packer_free(&packer);
	scene_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_read_as_they_were_written),
		cmocka_unit_test(what_cannot_be_sent_is_left_out),
		cmocka_unit_test(hostile_jobs_are_refused),
		cmocka_unit_test(rules_are_read_as_they_were_written),
		cmocka_unit_test(answers_are_read_as_they_were_written),
		cmocka_unit_test(an_answer_is_made_to_fit),
		cmocka_unit_test(every_lie_is_found),
		cmocka_unit_test(no_answer_of_a_server_makes_a_liar),
		cmocka_unit_test(a_dictionary_that_is_not_there_is_a_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
