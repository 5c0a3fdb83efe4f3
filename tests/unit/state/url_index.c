#include "state/url_index.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "unit/dice.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <fcntl.h>

enum { BLOCK = 64 << 10, PER_BLOCK = 1456, HEADER = 4096 };

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

/* The i-th of many items: 40 to a site, all fields different. */
static struct index_item item_of(uint64_t i)
{
	static const enum item_type types[] = {ITEM_SLEEPING, ITEM_NEW,  ITEM_GATHERED,
					       ITEM_ERROR,    ITEM_QKEY, ITEM_ZOMBIE};
	uint64_t mix = hash_u64(i + 1);
	return (struct index_item){.fp = {(i / 40 + 1) << 20, (i % 40 + 1) << 33},
				   .where = i % 5 ? mix % ITEM_NOWHERE : ITEM_NOWHERE,
				   .code = (uint16_t)mix,
				   .last_seen_s = (uint32_t)(mix >> 7),
				   .stable_s = (uint32_t)(mix >> 13),
				   .due_s = (uint32_t)(mix >> 21),
				   .since_day = (uint16_t)(mix >> 3),
				   .type = types[i % ARRAY_LEN(types)],
				   .no_target = i % 11 == 0,
				   .flags = (uint8_t)(mix >> 9),
				   .retry = (uint8_t)(mix >> 17),
				   .weight = (uint8_t)(mix >> 25),
				   .freq = (uint8_t)(mix >> 33),
				   .download_ds = (uint8_t)(mix >> 41),
				   .section = (uint8_t)(mix >> 49),
				   .hops = (uint8_t)(mix >> 57) % (ITEM_HOPS_MOST + 1)};
}

static void assert_item(const struct index_item *got, const struct index_item *want)
{
	unsigned char a[INDEX_ITEM], b[INDEX_ITEM];
	index_item_write(got, a);
	index_item_write(want, b);
	assert_memory_equal(b, a, INDEX_ITEM);
}

static const char *write_index(const char *name, uint64_t n)
{
	struct err err = {0};
	struct url_index_writer *w;
	MUST(url_index_create(&w, scratch(name), &err));
	for (uint64_t i = 0; i < n; i++) {
		struct index_item item = item_of(i);
		url_index_put(w, &item);
	}
	MUST(url_index_finish(&w, &err));
	assert_null(w);
	return scratch(name);
}

static struct url_index *open_index(const char *path)
{
	struct err err = {0};
	struct url_index *x = NULL;
	MUST(url_index_open(&x, path, &err));
	return x;
}

static void an_item_is_read_as_it_was_written(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		struct index_item item = item_of(i), got;
		unsigned char bytes[INDEX_ITEM];
		struct err err = {0};
		index_item_write(&item, bytes);
		MUST(index_item_read(bytes, &got, &err));
		assert_memory_equal(&item.fp, &got.fp, sizeof item.fp);
		assert_int_equal(item.where, got.where);
		assert_int_equal(item.type, got.type);
		assert_int_equal(item.no_target, got.no_target);
		assert_int_equal(item.hops, got.hops);
		assert_item(&got, &item);
	}
}

static void bytes_of_footprints_sort_as_footprints_do(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (unsigned i = 0; i < 10000; i++) {
		struct footprint a = {dice(&seed) >> i % 60, dice(&seed) >> i % 50};
		struct footprint b = {i % 3 ? dice(&seed) >> i % 60 : a.site,
				      dice(&seed) >> i % 50};
		unsigned char x[FOOTPRINT_KEY], y[FOOTPRINT_KEY];
		footprint_key(a, x);
		footprint_key(b, y);
		int c = memcmp(x, y, FOOTPRINT_KEY);
		assert_int_equal(footprint_cmp(a, b), (c > 0) - (c < 0));
		assert_int_equal(0, footprint_cmp(a, footprint_of_key(x)));
	}
}

static void every_url_is_found_and_no_other_one(void **state)
{
	(void)state;
	static const uint64_t sizes[] = {0, 1, 2, PER_BLOCK - 1, PER_BLOCK, PER_BLOCK + 1, 10000};
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		struct url_index *x = open_index(write_index("found", sizes[k]));
		struct err err = {0};
		struct index_item got;
		assert_int_equal(sizes[k], url_index_items(x));
		uint64_t errors = 0, notes = 0;
		for (uint64_t i = 0; i < sizes[k]; i++) {
			bool note = item_of(i).flags & ITEM_ROBOTS || item_of(i).type == ITEM_QKEY;
			notes += note;
			errors += !note && item_of(i).type == ITEM_ERROR;
		}
		assert_int_equal(errors, url_index_count(x, ITEM_ERROR));
		assert_int_equal(notes, url_index_count(x, ITEM_QKEY));
		for (uint64_t i = 0; i < sizes[k]; i++) {
			struct index_item item = item_of(i);
			MUST(url_index_find(x, item.fp, &got, &err));
			assert_item(&got, &item);
			item.fp.path++;
			assert_int_equal(1, url_index_find(x, item.fp, &got, &err));
			item.fp.path -= 2;
			assert_int_equal(1, url_index_find(x, item.fp, &got, &err));
		}
		assert_int_equal(1, url_index_find(x, (struct footprint){0, 0}, &got, &err));
		assert_int_equal(1, url_index_find(x, (struct footprint){UINT64_MAX, UINT64_MAX},
						   &got, &err));
		url_index_close(&x);
		assert_int_equal(0, format_verify(&index_format, scratch("found"), &err));
	}
}

static void a_scan_begins_anywhere_and_gives_all_that_follows(void **state)
{
	(void)state;
	enum { N = 4000 };
	struct url_index *x = open_index(write_index("scan", N));
	static const uint64_t from[] = {0, 1, 39, 40, 1455, 1456, 1457, 2912, 3999};
	for (size_t k = 0; k < ARRAY_LEN(from); k++) {
		for (unsigned between = 0; between < 2; between++) {
			struct err err = {0};
			struct url_index_scan *s;
			struct index_item got;
			struct footprint fp = item_of(from[k]).fp;
			fp.path -= between; /* one that is not there: the scan begins after it */
			uint64_t i = from[k];
			MUST(url_index_scan(&s, x, fp, &err));
			while (url_index_next(s, &got, &err) == 0) {
				struct index_item want = item_of(i++);
				assert_item(&got, &want);
			}
			assert_int_equal(N, i);
			url_index_scan_free(&s);
		}
	}
	url_index_close(&x);
}

/* In the same block, in the next ones, and beyond what is read ahead. */
static void a_scan_goes_on_further_ahead(void **state)
{
	(void)state;
	enum { N = 70 * PER_BLOCK + 5 };
	struct url_index *x = open_index(write_index("seek", N));
	static const uint64_t to[] = {0,
				      1,
				      40,
				      41,
				      PER_BLOCK - 1,
				      PER_BLOCK,
				      3 * PER_BLOCK + 7,
				      4 * PER_BLOCK,
				      69 * PER_BLOCK - 1,
				      70 * PER_BLOCK + 2,
				      N - 1};
	struct err err = {0};
	for (unsigned between = 0; between < 2; between++) {
		struct url_index_scan *s;
		struct index_item got;
		MUST(url_index_scan(&s, x, (struct footprint){0, 0}, &err));
		for (size_t k = 0; k < ARRAY_LEN(to); k++) {
			struct index_item want = item_of(to[k]);
			struct footprint fp = want.fp;
			fp.path -= between; /* one that is not there */
			MUST(url_index_seek(s, fp, &err));
			MUST(url_index_next(s, &got, &err));
			assert_item(&got, &want);
		}
		assert_int_equal(1, url_index_next(s, &got, &err));
		MUST(url_index_seek(s, (struct footprint){UINT64_MAX, 0}, &err));
		assert_int_equal(1, url_index_next(s, &got, &err));
		url_index_scan_free(&s);
	}
	url_index_close(&x);
}

static void what_is_out_of_order_or_cannot_be_is_refused(void **state)
{
	(void)state;
	struct err err = {0};
	struct url_index_writer *w;
	struct index_item item = item_of(5);
	MUST(url_index_create(&w, scratch("refused"), &err));
	url_index_put(w, &item);
	url_index_put(w, &item); /* twice */
	assert_true(url_index_finish(&w, &err) < 0);
	assert_int_equal(ERR_USAGE, err.code);
	assert_null(w);
	MUST(url_index_create(&w, scratch("refused"), &err));
	item.type = ITEM_TEMPORARY; /* only in journals */
	url_index_put(w, &item);
	assert_true(url_index_finish(&w, &err) < 0);
	MUST(url_index_create(&w, scratch("refused"), &err));
	item.type = ITEM_NEW;
	item.where = ITEM_NOWHERE + 1;
	url_index_put(w, &item);
	assert_true(url_index_finish(&w, &err) < 0);
}

static void cut_file(const char *from, const char *to, size_t size)
{
	struct err err = {0};
	struct buf b = BUF_INIT(64 << 20);
	MUST(file_slurp(from, &b, &err));
	MUST(file_replace(to, str_head(buf_str(&b), size), 0644, &err));
	buf_free(&b);
}

static void an_index_that_was_cut_anywhere_is_refused(void **state)
{
	(void)state;
	enum { N = 3000 };
	const char *path = write_index("whole", N), *cut = scratch("cut");
	size_t size = HEADER + 3 * (BLOCK + 16) + 104;
	for (size_t at = 0; at < size; at += at < size - 300 && at > 100 ? 4099 : 1) {
		struct err err = {0};
		struct url_index *x = NULL;
		cut_file(path, cut, at);
		assert_true(url_index_open(&x, cut, &err) < 0);
		assert_int_equal(ERR_DAMAGED, err.code);
	}
	struct err err = {0};
	struct url_index *x = NULL;
	assert_int_equal(1, url_index_open(&x, scratch("none"), &err));
}

/* Puts one wrong byte into a copy; back where it was afterwards. */
static void flip(const struct file *f, uint64_t at)
{
	struct err err = {0};
	unsigned char c;
	size_t n;
	MUST(file_read(f, &c, 1, at, &n, &err));
	assert_int_equal(1, n);
	c ^= 0x40;
	MUST(file_write(f, &c, 1, at, &err));
}

static void a_damaged_byte_is_never_believed(void **state)
{
	(void)state;
	enum { N = 3000 };
	const char *path = write_index("flipped", N);
	struct file f;
	struct err err = {0};
	uint64_t seed = 99, size = HEADER + 3 * (BLOCK + 16) + 104;
	MUST(file_open(&f, path, O_RDWR, 0, &err));
	for (unsigned k = 0; k < 400; k++) {
		uint64_t at = k < 32 ? k : k < 200 ? size - 1 - (k - 32) : dice(&seed) % size;
		if (at >= 32 && at < HEADER)
			continue; /* nothing is there */
		struct url_index *x = NULL;
		struct index_item got;
		uint64_t bad = 0, good = 0;
		flip(&f, at);
		assert_true(format_verify(&index_format, path, &err) < 0);
		assert_int_equal(ERR_DAMAGED, err.code);
		if (url_index_open(&x, path, &err) == 0) {
			for (uint64_t i = 0; i < N; i += 7) {
				struct index_item want = item_of(i);
				int rc = url_index_find(x, want.fp, &got, &err);
				bad += rc < 0;
				good += rc == 0;
				assert_int_not_equal(1, rc);
				if (rc == 0)
					assert_item(&got, &want);
			}
			assert_true(bad > 0 && good > 0); /* one block of three */
		}
		url_index_close(&x);
		flip(&f, at);
	}
	file_drop(&f);
}

static void a_scan_goes_on_after_a_damaged_block(void **state)
{
	(void)state;
	enum { N = 4000 };
	const char *path = write_index("after", N);
	struct file f;
	struct err err = {0};
	struct url_index_scan *s;
	struct index_item got;
	uint64_t n = 0, bad = 0;
	int rc;
	MUST(file_open(&f, path, O_RDWR, 0, &err));
	flip(&f, HEADER + BLOCK + 77);
	file_drop(&f);
	struct url_index *x = open_index(path);
	MUST(url_index_scan(&s, x, (struct footprint){0, 0}, &err));
	while ((rc = url_index_next(s, &got, &err)) != 1) {
		bad += rc < 0;
		n += rc == 0;
	}
	assert_int_equal(1, bad);
	assert_non_null(strstr(err.msg, "block 1"));
	assert_int_equal(N - PER_BLOCK, n);
	url_index_scan_free(&s);
	url_index_close(&x);
}

/* Applying news */

struct applied {
	uint64_t seen, added, dropped, news;
};

static int apply_one(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	struct applied *a = ctx;
	(void)err;
	a->seen++;
	a->news += about->n;
	for (size_t i = 0; i < about->n; i++) { /* in the order in which they were added */
		assert_int_equal(FOOTPRINT_KEY + 1, about->news[i].n);
		assert_int_equal('a' + (int)i, about->news[i].p[FOOTPRINT_KEY]);
	}
	if (!about->old) {
		assert_int_equal(ITEM_NOWHERE, ret->where);
		a->added++;
		ret->type = ITEM_NEW;
		return 0;
	}
	if (about->n == 2) {
		a->dropped++;
		return 1;
	}
	return 0;
}

static void add_news(struct sort *s, struct footprint fp, char c)
{
	char rec[FOOTPRINT_KEY + 1];
	struct err err = {0};
	footprint_key(fp, (unsigned char *)rec);
	rec[FOOTPRINT_KEY] = c;
	MUST(sort_add(s, (struct str){rec, sizeof rec}, &err));
}

static void news_are_applied_in_one_pass(void **state)
{
	(void)state;
	enum { N = 3000 };
	struct err err = {0};
	struct applied a = {0};
	struct sort *s;
	struct url_index_writer *w;
	struct index_item got;
	const struct sort_spec spec = {
		.order = FOOTPRINT_ORDER, .memory = 1 << 20, .folder = scratch_dir};
	struct url_index *old = open_index(write_index("old", N));
	MUST(sort_new(&s, &spec, &err));
	const struct news_source news = news_of_sort(s);
	for (uint64_t i = N; i-- > 0;) {
		struct footprint fp = item_of(i).fp, new_fp = {fp.site, fp.path + 1};
		if (i % 3 == 0)
			add_news(s, new_fp, 'a');
		if (i % 5 == 0)
			add_news(s, fp, 'a');
		if (i % 10 == 0)
			add_news(s, fp, 'b'); /* two: it is dropped */
	}
	MUST(url_index_create(&w, scratch("new"), &err));
	MUST(url_index_apply(old, &news, 1 << 10, NULL, apply_one, &a, w, &err));
	MUST(url_index_finish(&w, &err));
	assert_int_equal(1000, a.added);
	assert_int_equal(300, a.dropped);
	assert_int_equal(4000, a.seen);
	assert_int_equal(1900, a.news);
	struct url_index *x = open_index(scratch("new"));
	assert_int_equal(3700, url_index_items(x));
	for (uint64_t i = 0; i < N; i++) {
		struct index_item want = item_of(i);
		assert_int_equal(i % 10 == 0, url_index_find(x, want.fp, &got, &err));
		want.fp.path++;
		assert_int_equal(i % 3 != 0, url_index_find(x, want.fp, &got, &err));
	}
	url_index_close(&x);
	url_index_close(&old);
	sort_free(&s);
}

/* Drops errors and what has the flag C or two news; adds what is new; leaves all else. */
static int still_one(void *ctx, const struct index_news *about, struct index_item *ret,
		     struct err *err)
{
	uint64_t *seen = ctx;
	(void)err;
	++*seen;
	if (!about->old)
		ret->type = ITEM_NEW;
	else if (ret->type == ITEM_ERROR || ret->flags & ITEM_CONTRIB || about->n == 2)
		return 1;
	ret->retry = (uint8_t)(ret->retry + about->n);
	return 0;
}

static uint64_t apply_still(const struct url_index *old, uint64_t n,
			    const struct index_still *still, const char *name)
{
	const struct sort_spec spec = {
		.order = FOOTPRINT_ORDER, .memory = 1 << 20, .folder = scratch_dir};
	struct url_index_writer *w;
	struct err err = {0};
	struct sort *s;
	uint64_t seen = 0;
	MUST(sort_new(&s, &spec, &err));
	const struct news_source news = news_of_sort(s);
	for (uint64_t i = 0; i < n; i += 1 + i % 97) {
		struct footprint fp = item_of(i).fp;
		add_news(s, (struct footprint){fp.site, fp.path + i % 2}, 'a');
		if (i % 10 == 0)
			add_news(s, fp, 'b');
	}
	add_news(s, (struct footprint){0, 1}, 'a');
	add_news(s, (struct footprint){UINT64_MAX, UINT64_MAX}, 'a');
	MUST(url_index_create(&w, scratch(name), &err));
	MUST(url_index_apply(old, &news, 1 << 10, still, still_one, &seen, w, &err));
	MUST(url_index_finish(&w, &err));
	sort_free(&s);
	return seen;
}

/* As many as a scan reads past the page cache. */
static void what_stays_as_it_is_is_copied(void **state)
{
	(void)state;
	enum { N = 100000, NEWS = N / 30, BLOCKS = N / 1456 + 1 };
	const struct index_still still = {INDEX_TYPES_BUT(ITEM_ERROR), ITEM_CONTRIB};
	struct err err = {0};
	struct url_index *old = open_index(write_index("old", N));
	uint64_t all = apply_still(old, N, NULL, "asked"), asked = 0;
	uint64_t some = apply_still(old, N, &still, "copied");
	for (uint64_t i = 0; i < N; i++)
		asked += item_of(i).type == ITEM_ERROR || item_of(i).flags & ITEM_CONTRIB;
	assert_true(all > N && some >= asked && some <= asked + NEWS + BLOCKS);
	struct url_index *a = open_index(scratch("asked")), *b = open_index(scratch("copied"));
	struct url_index_scan *in_a, *in_b;
	struct index_item of_a, of_b;
	MUST(url_index_scan(&in_a, a, (struct footprint){0, 0}, &err));
	MUST(url_index_scan(&in_b, b, (struct footprint){0, 0}, &err));
	assert_int_equal(url_index_items(a), url_index_items(b));
	for (uint64_t i = 0; i < url_index_items(a); i++) {
		MUST(url_index_next(in_a, &of_a, &err));
		MUST(url_index_next(in_b, &of_b, &err));
		assert_item(&of_b, &of_a);
	}
	assert_int_equal(0, format_verify(&index_format, scratch("copied"), &err));
	url_index_scan_free(&in_a);
	url_index_scan_free(&in_b);
	url_index_close(&a);
	url_index_close(&b);
	url_index_close(&old);
}

static void samples_have_buckets(void **state)
{
	(void)state;
	struct url_index *x = open_index(write_index("sample", 5000));
	struct index_item got;
	struct err err = {0};
	unsigned found = 0;
	for (unsigned i = 0; i < 64; i++) {
		int rc = url_index_sample(x, i, 64, &got, &err);
		assert_true(rc >= 0);
		found += rc == 0;
		if (rc == 0)
			assert_true(index_item_has_bucket(&got));
	}
	assert_true(found >= 60);
	url_index_close(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_item_is_read_as_it_was_written),
		cmocka_unit_test(bytes_of_footprints_sort_as_footprints_do),
		cmocka_unit_test(every_url_is_found_and_no_other_one),
		cmocka_unit_test(a_scan_begins_anywhere_and_gives_all_that_follows),
		cmocka_unit_test(a_scan_goes_on_further_ahead),
		cmocka_unit_test(what_is_out_of_order_or_cannot_be_is_refused),
		cmocka_unit_test(an_index_that_was_cut_anywhere_is_refused),
		cmocka_unit_test(a_damaged_byte_is_never_believed),
		cmocka_unit_test(a_scan_goes_on_after_a_damaged_block),
		cmocka_unit_test(news_are_applied_in_one_pass),
		cmocka_unit_test(what_stays_as_it_is_is_copied),
		cmocka_unit_test(samples_have_buckets),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
