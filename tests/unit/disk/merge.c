#include "disk/merge_inner.h"

#include "../scratch.h"
#include "support/stream_file.h"

#include <unistd.h>

/* Text records with a length before each; "b1" in input 2: key b, and where it came from. */
static void put_record(struct buf *b, const char *text)
{
	uint32_t n = htole32((uint32_t)strlen(text));
	buf_add(b, &n, sizeof n);
	buf_add_text(b, text);
}

static void put_records(struct buf *b, const char *const *texts)
{
	for (; *texts; texts++)
		put_record(b, *texts);
}

enum { MOST = 4 };
struct setup {
	struct buf bytes[MOST];
	struct stream_reader reader[MOST], *readers[MOST];
	size_t n;
	struct merge *m;
};

static struct merge *merge_of(struct setup *s, const struct order *order,
			      const char *const *const *inputs, size_t n)
{
	struct err err;
	*s = (struct setup){.n = n};
	for (size_t i = 0; i < n; i++) {
		s->bytes[i] = BUF_INIT(65536);
		if (order->size)
			for (const char *const *t = inputs[i]; *t; t++)
				buf_add_text(&s->bytes[i], *t);
		else
			put_records(&s->bytes[i], inputs[i]);
		s->reader[i] = stream_over(buf_str(&s->bytes[i]));
		s->readers[i] = &s->reader[i];
	}
	assert_int_equal(merge_new(&s->m, order, s->readers, n, &err), 0);
	return s->m;
}

static void setup_free(struct setup *s)
{
	merge_free(&s->m);
	for (size_t i = 0; i < s->n; i++)
		buf_free(&s->bytes[i]);
}

/* "a1/0 a2/1+ ...": record, input, + when it is not the first of its key */
static void assert_merged(struct merge *m, const char *expected)
{
	struct err err;
	struct merge_record r;
	struct buf said = BUF_INIT(4096);
	int rc;
	while ((rc = merge_next(m, &r, &err)) == 0)
		buf_printf(&said, "%s" STR_FMT "/%u%s", said.n ? " " : "", STR_ARG(r.rec), r.input,
			   r.first ? "" : "+");
	assert_int_equal(rc, 1);
	assert_int_equal(merge_next(m, &r, &err), 1);
	assert_string_equal(buf_text(&said), expected);
	buf_free(&said);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static const struct order fixed = {.size = 2, .key_len = 1};
static const struct order sized = {.key_len = 1};

static int by_last_byte(void *ctx, struct str a, struct str b)
{
	(void)ctx;
	return a.p[a.n - 1] - b.p[b.n - 1];
}

static void equal_keys_come_in_the_order_of_their_streams(void **state)
{
	(void)state;
	const struct order *orders[] = {&fixed, &sized};
	const char *const *inputs[] = {LIST("a1", "b1", "b2", "d1"), LIST("b3", "c1"),
				       LIST("a2", "b4", "e1")};
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct setup s;
		assert_merged(merge_of(&s, orders[i], inputs, 3),
			      "a1/0 a2/2+ b1/0 b2/0+ b3/1+ b4/2+ c1/1 d1/0 e1/2");
		setup_free(&s);
	}
}

static void no_streams_and_empty_streams_are_nothing(void **state)
{
	(void)state;
	const char *const *inputs[] = {LIST(), LIST("x1"), LIST()};
	struct setup s;
	assert_merged(merge_of(&s, &fixed, NULL, 0), "");
	setup_free(&s);
	assert_merged(merge_of(&s, &fixed, inputs, 1), "");
	setup_free(&s);
	assert_merged(merge_of(&s, &fixed, inputs, 3), "x1/1");
	setup_free(&s);
	assert_merged(merge_of(&s, &sized, inputs, 3), "x1/1");
	setup_free(&s);
}

/* The end of a stream is not mistaken for the largest key. */
static void keys_of_all_ones_are_keys(void **state)
{
	(void)state;
	const char *const *inputs[] = {LIST("a1"),
				       LIST("\xff"
					    "1",
					    "\xff"
					    "2"),
				       LIST("\xff"
					    "3")};
	struct setup s;
	assert_merged(merge_of(&s, &fixed, inputs, 3), "a1/0 \xff"
						       "1/1 \xff"
						       "2/1+ \xff"
						       "3/2+");
	setup_free(&s);
	struct order whole = {.size = 16};
	const char *ones = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff";
	const char *const *full[] = {LIST(), LIST(ones), LIST(), LIST(ones)};
	struct err err;
	struct merge_record r;
	merge_of(&s, &whole, full, 4);
	assert_int_equal(merge_next(s.m, &r, &err), 0);
	assert_int_equal(r.input, 1);
	assert_int_equal(merge_next(s.m, &r, &err), 0);
	assert_int_equal(r.input, 3);
	assert_false(r.first);
	assert_int_equal(merge_next(s.m, &r, &err), 1);
	setup_free(&s);
}

static void what_ends_first_comes_first(void **state)
{
	(void)state;
	struct order whole = {0};
	const char *const *inputs[] = {LIST("", "aaaaaaaaaaaaaaaaaaaa", "ab"),
				       LIST("aaaaaaaaaaaaaaaa", "aaaaaaaaaaaaaaaaaaab")};
	struct setup s;
	assert_merged(merge_of(&s, &whole, inputs, 2),
		      "/0 aaaaaaaaaaaaaaaa/1 aaaaaaaaaaaaaaaaaaaa/0 aaaaaaaaaaaaaaaaaaab/1 ab/0");
	setup_free(&s);
}

static void a_comparison_decides_instead_of_bytes(void **state)
{
	(void)state;
	struct order o = {.compare = by_last_byte};
	const char *const *inputs[] = {LIST("z1", "y3"), LIST("b1", "a2")};
	struct setup s;
	assert_merged(merge_of(&s, &o, inputs, 2), "z1/0 b1/1+ a2/1 y3/0");
	setup_free(&s);
}

static void a_stream_that_is_not_in_order_is_damaged(void **state)
{
	(void)state;
	const struct order *orders[] = {&fixed, &sized};
	const char *const *inputs[] = {LIST("a1", "x1"), LIST("a2", "c1", "b1", "d1")};
	for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
		struct setup s;
		struct err err;
		struct merge_record r;
		int rc;
		merge_of(&s, orders[i], inputs, 2);
		while ((rc = merge_next(s.m, &r, &err)) == 0)
			;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "input 1 is not in order"));
		setup_free(&s);
	}
}

static void a_stream_that_ends_inside_a_record_is_damaged(void **state)
{
	(void)state;
	struct err err;
	struct merge *m;
	struct merge_record r;
	const struct {
		struct str bytes;
		struct order order;
	} cases[] = {{STR("a1b"), {.size = 2}},
		     {STR("\1\0"), {.size = 0}},
		     {STR("\5\0\0\0abc"), {.size = 0}},
		     {STR("\xff\xff\xff\xff"), {.size = 0}}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct stream_reader reader = stream_over(cases[i].bytes), *in = &reader;
		assert_int_equal(merge_new(&m, &cases[i].order, &in, 1, &err), 0);
		int rc;
		while ((rc = merge_next(m, &r, &err)) == 0)
			;
		assert_int_equal(rc, -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		merge_free(&m);
	}
}

/* Files, small pieces, records across pieces: what is given out lies where it was read. */
static void streams_of_random_records_merge_as_a_sort_would(void **state)
{
	(void)state;
	enum { N = 3, EACH = 5000 };
	struct err err;
	struct stream_reader reader[N], *readers[N];
	struct file file[N];
	struct stream_options small = {.piece = STREAM_BLOCK};
	const size_t sizes[] = {12, 16, 24, 100, 0};
	for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
		size_t size = sizes[k], total = 0;
		for (int i = 0; i < N; i++) {
			struct stream_writer w;
			char name[8];
			snprintf(name, sizeof name, "in%d", i);
			assert_int_equal(stream_create(&w, scratch(name), 0600, &small, &err), 0);
			uint32_t key = 0;
			for (uint32_t j = 0; j < EACH; j++) {
				char rec[3000] = {0};
				size_t n = size ? size : 12 + (j * 37) % 2900;
				key += (j * 2654435761u >> 7) % 3;
				uint64_t be = htobe64(key);
				memcpy(rec, &be, 8);
				memcpy(rec + 8, &j, 4);
				uint32_t length = htole32((uint32_t)n);
				stream_put(&w, &length, size ? 0 : sizeof length);
				stream_put(&w, rec, n);
				total++;
			}
			assert_int_equal(stream_finish(&w, false, &err), 0);
			assert_int_equal(
				stream_file_open(&reader[i], &file[i], scratch(name), &small, &err),
				0);
			readers[i] = &reader[i];
		}
		struct order o = {.size = size, .key_len = 8};
		struct merge *m;
		assert_int_equal(merge_new(&m, &o, readers, N, &err), 0);
		struct merge_record r, before = {0};
		char last[8] = {0};
		uint32_t next[N] = {0};
		int rc;
		while ((rc = merge_next(m, &r, &err)) == 0) {
			uint32_t j;
			memcpy(&j, r.rec.p + 8, 4);
			assert_int_equal(j, next[r.input]++);
			int c = memcmp(last, r.rec.p, 8);
			assert_true(c <= 0);
			assert_int_equal(r.first, c != 0 || !before.rec.p);
			if (before.rec.p) {
				assert_memory_equal(before.rec.p, last, 8);
				assert_true(c != 0 || before.input <= r.input);
			}
			memcpy(last, r.rec.p, 8);
			before = r;
			total--;
		}
		assert_int_equal(rc, 1);
		assert_int_equal(total, 0);
		merge_free(&m);
		for (int i = 0; i < N; i++)
			stream_file_close(&reader[i], &file[i]);
	}
}

/* All bytes of a record after its key follow from the key. */
static void check_large(const struct merge_record *r)
{
	for (size_t k = 16; k < r->rec.n; k++)
		if (r->rec.p[k] != r->rec.p[7])
			fail_msg("byte %zu is another one's", k);
}

static void records_as_long_as_a_piece_stay_good(void **state)
{
	(void)state;
	enum { EACH = 200 };
	struct err err = {0};
	struct stream_options small = {.piece = STREAM_BLOCK};
	for (size_t size = STREAM_BLOCK / 4; size <= STREAM_BLOCK; size += STREAM_BLOCK / 8) {
		struct stream_reader reader, *readers[] = {&reader};
		struct stream_writer w;
		struct merge *m;
		size_t n = 0;
		assert_int_equal(stream_create(&w, scratch("large"), 0600, &small, &err), 0);
		for (int i = 0; i < EACH; i++) {
			char rec[STREAM_BLOCK] = {0};
			memset(rec + 16, i, sizeof rec - 16);
			rec[7] = (char)i;
			stream_put(&w, rec, size);
		}
		assert_int_equal(stream_finish(&w, false, &err), 0);
		struct file file;
		assert_int_equal(stream_file_open(&reader, &file, scratch("large"), &small, &err),
				 0);
		struct order o = {.size = size, .key_len = 16};
		assert_int_equal(merge_new(&m, &o, readers, 1, &err), 0);
		struct merge_record pair[2]; /* one and the one after it, in turn */
		int rc = 0;
		for (; (rc = merge_next(m, &pair[n % 2], &err)) == 0; n++) {
			usleep(20); /* time enough to read over what was given */
			check_large(&pair[n % 2]);
			check_large(&pair[n ? (n + 1) % 2 : 0]);
		}
		if (rc < 0)
			fail_msg("records of %zu bytes: %s", size, err.msg);
		assert_int_equal(n, EACH);
		merge_free(&m);
		stream_file_close(&reader, &file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_keys_come_in_the_order_of_their_streams),
		cmocka_unit_test(no_streams_and_empty_streams_are_nothing),
		cmocka_unit_test(keys_of_all_ones_are_keys),
		cmocka_unit_test(what_ends_first_comes_first),
		cmocka_unit_test(a_comparison_decides_instead_of_bytes),
		cmocka_unit_test(a_stream_that_is_not_in_order_is_damaged),
		cmocka_unit_test(a_stream_that_ends_inside_a_record_is_damaged),
		cmocka_unit_test(records_as_long_as_a_piece_stay_good),
		cmocka_unit_test(streams_of_random_records_merge_as_a_sort_would),
	};
	return cmocka_run_group_tests_name("base/merge", tests, scratch_make, scratch_done);
}
