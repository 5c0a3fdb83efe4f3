/* Reap over plans that were written by hand. Nothing is asked of a network: loopback is none that
 * may be connected to, and that is what becomes of a URL which got as far as the robot. */
#include "shepherd/reap.h"

#include "base/fault.h"
#include "base/file.h"
#include "extract/cage.h"
#include "unit/shepherd/crawl_lab.h"

#include <limits.h>
#include <unistd.h>

#define URL "http://127.0.0.1:9/old"
enum { NOT_ALLOWED = CRAWL_STATUS + OUTCOME_ADDRESS };

struct bench {
	struct lab lab;
	struct loop *loop;
	struct reap *reap;
	struct buckets *buckets;
	struct arena arena;
	struct crawl_conf conf;
	struct robot_section_conf robot;
	struct cage_options parse;
	char program[PATH_MAX + 32];
	struct footprint fp;
};

static void find_program(struct bench *b)
{
	char here[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
	assert_true(n > 0);
	here[n] = 0;
	*strrchr(here, '/') = 0;
	snprintf(b->program, sizeof b->program, "%s/../garner-parse", here);
}

static struct footprint fp_of(const char *text)
{
	char room[URL_MAX];
	struct url url;
	assert_int_equal(0, url_parse(str_of(text), NULL, room, sizeof room, &url));
	return footprint_of(&url);
}

/* A plan with one entry, whose URL is in this bucket. */
static void plan_one(struct bench *b, uint64_t where)
{
	struct err err = {0};
	struct plan_writer *w = NULL;
	const struct plan_entry entry = {.fp = b->fp, .where = where, .priority = 1};
	const struct plan_site site = {
		.fp = b->fp.site, .robots_where = ITEM_NOWHERE, .entry = &entry, .n = 1};
	lab_enter(&b->lab, false, PHASE_PLAN);
	MUST(plan_create(&w, state_path(b->lab.st, &b->arena, "plan"), &err));
	MUST(plan_put(w, &site, &err));
	MUST(plan_finish(&w, &err));
	MUST(state_enter(b->lab.st, PHASE_REAP, NULL, PLAY_START, &err));
}

/* A crawl whose bucket file has just this bucket. */
static void begin(struct bench *b, const char *name, uint32_t type, struct str data)
{
	char crawl[64];
	struct err err = {0};
	uint32_t oid;
	const struct bucket_options options = {.mode = BUCKET_APPEND};
	*b = (struct bench){.arena = ARENA_INIT(1 << 20), .conf = lab_conf(), .fp = fp_of(URL)};
	b->conf.parsers = 1;
	b->parse = cage_defaults;
	find_program(b);
	b->parse.program = b->program;
	value_defaults(robot_section.specs, robot_section.nspecs, &b->arena, &b->robot);
	snprintf(crawl, sizeof crawl, "%s/shepherd", name);
	lab_make(&b->lab, crawl, NULL, 0, NULL, 0);
	char *objects = states_path(b->lab.s, &b->arena, "objects");
	MUST(bucket_open(&b->buckets, objects, &options, &err));
	MUST(bucket_append(b->buckets, type, data, &oid, &err));
	MUST(bucket_sync(b->buckets, NULL, &err));
	MUST(bucket_close(&b->buckets, &err));
	MUST(bucket_open(&b->buckets, objects, &options, &err)); /* so that it is read from disk */
	MUST(loop_new(&b->loop, NULL, &err));
	const struct reap_options o = {.loop = b->loop,
				       .data = scratch(name),
				       .parse = &b->parse,
				       .robot = &b->robot,
				       .conf = &b->conf};
	MUST(reap_new(&b->reap, &o, &err));
	plan_one(b, oid);
}

static void end(struct bench *b)
{
	reap_free(&b->reap);
	bucket_drop(&b->buckets);
	lab_free(&b->lab);
	loop_free(&b->loop);
	arena_free(&b->arena);
}

/* The journal's only entry. false: it has none. */
static bool told(struct bench *b, struct journal_entry *ret)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	bool some = false;
	int rc = state_read(b->lab.st, "journal", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		assert_false(some);
		some = true;
		MUST(journal_read(record.payload, ret, &err));
		ret->url = arena_str(&b->arena, ret->url);
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return some;
}

static void a_bucket_of_the_oldest_version_has_its_url_in_the_body(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "oldest", BUCKET_PLAIN, STR("U" URL "\nTtext/html\nXold\n"));
	MUST(reap_run(b.reap, b.lab.st, b.buckets, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.status); /* it was asked for */
	end(&b);
}

static void the_next_version_has_it_in_the_header(void **state)
{
	(void)state;
	struct bench b;
	struct err err = {0};
	struct journal_entry e;
	begin(&b, "v30", BUCKET_V30, STR("U" URL "\n\nTtext/html\nUhttp://other.example/\n"));
	MUST(reap_run(b.reap, b.lab.st, b.buckets, &err));
	assert_true(told(&b, &e));
	assert_str(e.url, URL);
	assert_int_equal(NOT_ALLOWED, e.status);
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
		MUST(reap_run(b.reap, b.lab.st, b.buckets, &err));
		assert_true(told(&b, &e));
		assert_int_equal(ITEM_ZOMBIE, e.type);
		end(&b);
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
	assert_int_equal(-1, reap_run(b.reap, b.lab.st, b.buckets, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	assert_non_null(strstr(err.msg, "objects"));
	assert_true(fault_fired() > 0);
	MUST(fault_arm("", &err));
	assert_false(told(&b, &e));
	MUST(reap_run(b.reap, b.lab.st, b.buckets, &err));
	assert_true(told(&b, &e));
	assert_int_equal(NOT_ALLOWED, e.status);
	end(&b);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bucket_of_the_oldest_version_has_its_url_in_the_body),
		cmocka_unit_test(the_next_version_has_it_in_the_header),
		cmocka_unit_test(a_bucket_that_will_not_get_better_is_not_tried_again),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_bucket_that_cannot_be_read_now_ends_the_reap_and_not_the_url),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
