#include "state/journal.h"

#include "base/clock.h"
#include "base/file.h"
#include "state/plan.h"
#include "state/sites.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <inttypes.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

static const struct footprint fp = {UINT64_C(0x7487015f09754160), UINT64_C(0x76cd6666465669f9)};

/* Every shorter payload, and one with a byte too many, is not a payload. */
#define ONLY_WHOLE(read, bytes, entry)                                                         \
	do {                                                                                   \
		for (size_t n = 0; n < (bytes).n; n++)                                         \
			assert_true(read(str_head(buf_str(&(bytes)), n), &(entry), &err) < 0); \
		buf_add_byte(&(bytes), 'x');                                                   \
		assert_true(read(buf_str(&(bytes)), &(entry), &err) < 0);                      \
		assert_int_equal(ERR_DAMAGED, err.code);                                       \
	} while (0)

static void journal_entries_come_back(void **state)
{
	(void)state;
	struct err err = {0};
	struct buf b = BUF_INIT(1 << 16);
	struct journal_entry e = {.fp = fp,
				  .time_us = 1790000000123456,
				  .op = CHANGE_UPDATE,
				  .type = ITEM_TEMPORARY,
				  .no_target = true,
				  .flags = 0xa5,
				  .code = 1503,
				  .where = ITEM_NOWHERE - 1,
				  .due_s = UINT32_MAX,
				  .download_ms = 77,
				  .qkey = UINT64_MAX - 3,
				  .md5 = {1, 2, 3, 255},
				  .url = STR("http://www.example.com/"),
				  .reason = STR("busy"),
				  .has_section = true,
				  .section = 254},
			     got;
	journal_write(&e, &b);
	assert_memory_equal("\x74\x87\x01\x5f", b.p, 4); /* sorts by footprint */
	MUST(journal_read(buf_str(&b), &got, &err));
	assert_int_equal(0, footprint_cmp(fp, got.fp));
	assert_int_equal(e.time_us, got.time_us);
	assert_int_equal(e.op, got.op);
	assert_int_equal(e.type, got.type);
	assert_true(got.no_target);
	assert_int_equal(e.flags, got.flags);
	assert_int_equal(e.code, got.code);
	assert_int_equal(e.where, got.where);
	assert_int_equal(e.due_s, got.due_s);
	assert_int_equal(e.download_ms, got.download_ms);
	assert_int_equal(e.qkey, got.qkey);
	assert_memory_equal(e.md5, got.md5, 16);
	assert_str(got.url, "http://www.example.com/");
	assert_str(got.reason, "busy");
	assert_true(got.has_section);
	assert_int_equal(254, got.section);
	ONLY_WHOLE(journal_read, b, got);
	buf_clear(&b);
	e.where = ITEM_NOWHERE;
	e.qkey = 0;
	e.has_section = false;
	journal_write(&e, &b);
	MUST(journal_read(buf_str(&b), &got, &err));
	assert_int_equal(ITEM_NOWHERE, got.where);
	assert_int_equal(0, got.qkey);
	assert_false(got.has_section);
	ONLY_WHOLE(journal_read, b, got);
	buf_free(&b);
}

static void contributions_and_changes_come_back(void **state)
{
	(void)state;
	struct err err = {0};
	struct buf b = BUF_INIT(1 << 16);
	struct contrib c = {.fp = fp,
			    .flags = ITEM_INITIAL,
			    .weight = 200,
			    .section = 3,
			    .from = {1, 2},
			    .changed_s = UINT32_MAX,
			    .hops = 19,
			    .url = STR("http://www.example.com/")},
		       got;
	contrib_write(&c, &b);
	MUST(contrib_read(buf_str(&b), &got, &err));
	assert_int_equal(0, footprint_cmp(c.from, got.from));
	assert_int_equal(200, got.weight);
	assert_int_equal(UINT32_MAX, got.changed_s);
	assert_int_equal(19, got.hops);
	assert_str(got.url, "http://www.example.com/");
	ONLY_WHOLE(contrib_read, b, got);
	struct change h = {.fp = fp,
			   .time_us = 5,
			   .op = CHANGE_DELETE,
			   .by = PHASE_SELECT,
			   .forgotten = true,
			   .url = STR("u"),
			   .reason = STR("others are worth more")},
		      back;
	buf_clear(&b);
	change_write(&h, &b);
	MUST(change_read(buf_str(&b), &back, &err));
	assert_int_equal(CHANGE_DELETE, back.op);
	assert_int_equal(PHASE_SELECT, back.by);
	assert_true(back.forgotten);
	assert_str(back.reason, "others are worth more");
	ONLY_WHOLE(change_read, b, back);
	buf_free(&b);
}

static void phases_have_names(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PHASES; i++) {
		enum phase got;
		assert_non_null(phase_name((enum phase)i));
		assert_true(phase_parse(str_of(phase_name((enum phase)i)), &got));
		assert_int_equal(i, got);
	}
	enum phase none;
	assert_false(phase_parse(STR("harvest"), &none));
}

static void gone_urls_are_found_and_trimmed(void **state)
{
	(void)state;
	struct err err = {0};
	struct gone_writer *w;
	struct record_group group = {0};
	const char *path = scratch("gone");
	MUST(gone_open(&w, path, &err));
	for (uint64_t i = 0; i < 3000; i++) {
		struct gone g = {
			{i, i}, (int64_t)i * US_PER_H, (enum gone_reason)(i % GONE_REASONS)};
		MUST(gone_add(w, &g, &group, &err));
	}
	MUST(gone_flush(w, &group, &err));
	MUST(record_sync(gone_records(w), &group, &err));
	gone_drop(&w);
	struct file f;
	uint64_t size;
	MUST(file_open(&f, path, 0, 0, &err));
	MUST(file_size(&f, &size, &err));
	file_drop(&f);
	assert_true(size < 3000 * 21);
	struct gone got;
	int64_t since_us;
	MUST(gone_find(path, (struct footprint){1234, 1234}, &got, &since_us, &err));
	assert_int_equal(1234 * US_PER_H, got.time_us);
	assert_int_equal(1234 % GONE_REASONS, got.reason);
	assert_int_equal(1, gone_find(path, (struct footprint){1, 2}, &got, &since_us, &err));
	assert_int_equal(0, since_us);
	MUST(gone_trim(path, 2000 * US_PER_H, &err));
	assert_int_equal(1, gone_find(path, (struct footprint){1234, 1234}, &got, &since_us, &err));
	assert_int_equal(2000 * US_PER_H, since_us); /* forgotten before that, or never known */
	MUST(gone_find(path, (struct footprint){2000, 2000}, &got, &since_us, &err));
	assert_int_equal(0, format_verify(&gone_format, path, &err));
}

static void sites_come_back_sorted_and_a_cut_list_is_refused(void **state)
{
	(void)state;
	enum { N = 3000 };
	struct err err = {0};
	bool is_new;
	const char *path = scratch("sites");
	struct sites *s = sites_new(), *got = NULL;
	for (unsigned i = 0; i < N; i++) {
		char host[32];
		snprintf(host, sizeof host, "h%u.example", i);
		struct url_site site = {URL_HTTPS, 443, str_of(host)};
		struct site *t = sites_put(s, site, &is_new);
		assert_true(is_new);
		t->gathered = i;
		t->qkey = i * UINT64_C(1000000007);
		assert_ptr_equal(t, sites_put(s, site, &is_new));
		assert_false(is_new);
	}
	struct counted_writer w;
	MUST(sites_create(&w, path, &err));
	MUST(sites_write_all(s, &w, &err));
	MUST(counted_finish(&w, &err));
	MUST(sites_load(&got, path, &err));
	assert_int_equal(N, sites_count(got));
	struct site *const *sorted = sites_sorted(got);
	for (unsigned i = 0; i < N; i++) {
		struct site *t = sites_get(s, sorted[i]->fp);
		assert_non_null(t);
		assert_true(i == 0 || sorted[i - 1]->fp < sorted[i]->fp);
		assert_int_equal(t->gathered, sorted[i]->gathered);
		assert_int_equal(t->qkey, sorted[i]->qkey);
		assert_true(str_eq(t->host, sorted[i]->host));
	}
	sites_free(&got);
	sites_free(&s);
	struct buf b = BUF_INIT(4 << 20);
	MUST(file_slurp(path, &b, &err));
	for (size_t cut = 33; cut < b.n; cut += 97) { /* the closing mark of 32 bytes may be lost */
		MUST(file_replace(scratch("cut"), str_head(buf_str(&b), b.n - cut), 0644, &err));
		int rc = sites_load(&got, scratch("cut"), &err);
		assert_true(rc != 0);
	}
	buf_free(&b);
}

static void a_plan_comes_back_and_ends(void **state)
{
	(void)state;
	struct err err = {0};
	const char *path = scratch("plan");
	struct counted_writer w;
	struct counted_reader r;
	struct plan_entry entry[3] = {
		{.fp = {9, 1}, .where = 5, .priority = 7, .flags = PLAN_REFRESH},
		{.fp = {9, 2}, .where = ITEM_NOWHERE, .retry = 3},
		{.fp = {9, 3}, .where = 0, .section = 2, .hops = 7}};
	struct plan_site site = {.fp = 9,
				 .qkey = 77,
				 .robots_where = 4,
				 .delay_ms = 10000,
				 .entry = entry,
				 .n = 3},
			 none = {.fp = 10, .robots_where = ITEM_NOWHERE}, got;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	MUST(plan_create(&w, path, &err));
	MUST(plan_put(&w, &site, &err));
	MUST(plan_put(&w, &none, &err));
	MUST(counted_finish(&w, &err));
	MUST(plan_open(&r, path, &err));
	MUST(plan_next(&r, &arena, &got, &err));
	assert_int_equal(3, got.n);
	assert_int_equal(4, got.robots_where);
	assert_int_equal(10000, got.delay_ms);
	assert_int_equal(ITEM_NOWHERE, got.entry[1].where);
	assert_int_equal(0, footprint_cmp(entry[2].fp, got.entry[2].fp));
	assert_int_equal(2, got.entry[2].section);
	assert_int_equal(7, got.entry[2].hops);
	MUST(plan_next(&r, &arena, &got, &err));
	assert_int_equal(0, got.n);
	assert_int_equal(1, plan_next(&r, &arena, &got, &err));
	assert_int_equal(1, plan_next(&r, &arena, &got, &err));
	counted_close(&r);
	/* one that nobody finished has no end */
	MUST(plan_create(&w, path, &err));
	MUST(plan_put(&w, &site, &err));
	counted_drop(&w);
	int rc = plan_open(&r, path, &err);
	while (rc == 0 && (rc = plan_next(&r, &arena, &got, &err)) == 0)
		;
	assert_true(rc != 0 && (rc == 1 || err.code == ERR_DAMAGED));
	counted_close(&r);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(journal_entries_come_back),
		cmocka_unit_test(contributions_and_changes_come_back),
		cmocka_unit_test(phases_have_names),
		cmocka_unit_test(gone_urls_are_found_and_trimmed),
		cmocka_unit_test(sites_come_back_sorted_and_a_cut_list_is_refused),
		cmocka_unit_test(a_plan_comes_back_and_ends),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
