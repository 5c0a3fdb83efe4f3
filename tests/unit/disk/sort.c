#include "disk/sort.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "support/stream_file.h"

#include <dirent.h>

/* Numbers that are the same in every run. */
static uint64_t seed = 88172645463325252u;
static uint64_t number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed * 2685821657736338717u;
}

/* A set of records, and the order in which they must come out. */
struct set {
	struct order order;
	struct buf bytes;
	struct str *rec;
	size_t n;
};

static const struct order *by_order;

static int by_key_then_place(const void *a, const void *b)
{
	const struct str *x = a, *y = b;
	int c = order_compare(by_order, *x, *y);
	return c ? c : (x->p > y->p) - (x->p < y->p);
}

static size_t random_length(const struct order *o, size_t most)
{
	return o->size ? o->size : (size_t)(number() % (number() % 8 ? MIN(most, 60u) : most + 1));
}

/* few: how many values a byte of the key may have */
static struct set random_set(const struct order *o, size_t n, unsigned few, size_t most)
{
	struct set s = {.order = order_checked(o), .bytes = BUF_INIT(256u << 20), .n = n};
	size_t *at = mem_array(n + 1, sizeof *at);
	for (size_t i = 0; i < n; i++) {
		size_t len = random_length(o, most);
		at[i] = s.bytes.n;
		for (size_t k = 0; k < len; k++)
			buf_add_byte(&s.bytes, (char)(number() % few));
	}
	at[n] = s.bytes.n;
	s.rec = mem_array(n + 1, sizeof *s.rec);
	for (size_t i = 0; i < n; i++)
		s.rec[i] = (struct str){buf_str(&s.bytes).p + at[i], at[i + 1] - at[i]};
	mem_free(&at);
	return s;
}

static void set_sort(struct set *s)
{
	by_order = &s->order;
	qsort(s->rec, s->n, sizeof *s->rec, by_key_then_place);
}

static void set_free(struct set *s)
{
	buf_free(&s->bytes);
	mem_free(&s->rec);
}

static struct sort *sort_of(const struct order *order, uint64_t memory)
{
	struct err err;
	struct sort *s;
	struct sort_spec spec = {.order = *order, .memory = memory, .folder = scratch_dir};
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	return s;
}

/* Sorts a set and compares with what qsort() makes of it; equal keys by place, so it is stable. */
static void assert_sorts(struct set *set, uint64_t memory)
{
	struct err err;
	struct str rec;
	struct sort *s = sort_of(&set->order, memory);
	for (size_t i = 0; i < set->n; i++)
		assert_int_equal(sort_add(s, set->rec[i], &err), 0);
	set_sort(set);
	for (size_t i = 0; i < set->n; i++) {
		assert_int_equal(sort_next(s, &rec, &err), 0);
		if (!str_eq(rec, set->rec[i]))
			fail_msg("record %zu of %zu differs", i, set->n);
	}
	assert_int_equal(sort_next(s, &rec, &err), 1);
	assert_int_equal(sort_next(s, &rec, &err), 1);
	sort_free(&s);
	assert_null(s);
}

static int by_sum(void *ctx, struct str a, struct str b)
{
	(void)ctx;
	int x = 0, y = 0;
	for (size_t i = 0; i < a.n; i++)
		x += (unsigned char)a.p[i];
	for (size_t i = 0; i < b.n; i++)
		y += (unsigned char)b.p[i];
	return (x > y) - (x < y);
}

static void nothing_one_and_two_records_sort(void **state)
{
	(void)state;
	const struct order orders[] = {
		{.size = 32, .key_len = 16}, {.key_len = 4}, {.compare = by_sum}};
	for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
		for (size_t n = 0; n <= 3; n++) {
			struct set set = random_set(&orders[k], n, 256, 100);
			assert_sorts(&set, 1 << 20);
			set_free(&set);
		}
	}
}

/* The last record that fits, and the first that does not. */
static void every_number_of_records_around_a_full_batch_sorts(void **state)
{
	(void)state;
	const struct order orders[] = {{.size = 512, .key_len = 16}, {.key_len = 4}};
	for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
		for (size_t n = 1; n < 700; n += n < 10 ? 1 : unit_thorough() ? 13 : 43) {
			struct set set = random_set(&orders[k], n, 7, 300);
			assert_sorts(&set, SORT_MEMORY_MIN);
			set_free(&set);
		}
	}
}

static void hundreds_of_random_sorts_agree_with_qsort(void **state)
{
	(void)state;
	const int rounds = unit_thorough() ? 600 : 60;
	const unsigned few[] = {1, 2, 3, 20, 256};
	for (int round = 0; round < rounds; round++) {
		struct order o = {0};
		if (number() % 4) {
			o.size = 1 + number() % (number() % 4 ? 40 : 300);
			o.key_at = number() % o.size;
			o.key_len = number() % (o.size - o.key_at + 1);
		} else {
			o.key_at = number() % 4;
			o.key_len = number() % 30;
		}
		if (number() % 8 == 0)
			o.compare = by_sum;
		uint64_t memory = number() % 2 ? SORT_MEMORY_MIN : SORT_MEMORY_MIN << number() % 6;
		size_t n = number() % (number() % 10 ? 1000 : 8000);
		struct set set = random_set(&o, n, few[number() % ARRAY_LEN(few)], memory / 32);
		assert_sorts(&set, memory);
		set_free(&set);
	}
}

static void many_passes_with_a_tiny_memory_sort(void **state)
{
	(void)state;
	const struct order orders[] = {{.size = 32, .key_len = 16}, {.key_len = 4}};
	for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
		struct set set = random_set(&orders[k], 60000, 5, 40);
		assert_sorts(&set, SORT_MEMORY_MIN);
		set_free(&set);
	}
}

/* Large enough for buckets, a thread next to the adding, and buckets that are too large. */
static void large_sorts_agree_whatever_the_keys_look_like(void **state)
{
	(void)state;
	const struct order o = {.size = 24, .key_len = 20};
	enum { KINDS = 7 };
	const size_t n = unit_thorough() ? 300000 : 150000;
	for (int kind = 0; kind < KINDS; kind++) {
		struct set set = random_set(&o, n, 256, 0);
		for (size_t i = 0; i < n; i++) {
			char *p = (char *)(uintptr_t)set.rec[i].p;
			uint64_t be = htobe64(kind == 1 ? i : n - i);
			uint64_t site = (number() % 3 ? 0 : number() % 1000) * 0x9e3779b97f4a7c15u;
			if (kind == 1 || kind == 2) /* in order, in reverse */
				memcpy(p, &be, 8);
			if (kind == 3) /* a site or two have most of it */
				memcpy(p, &site, 8);
			if (kind == 4) /* all equal */
				memset(p, 'x', 20);
			if (kind == 5) /* the head is equal, what follows is not */
				memset(p, 'x', 16);
			if (kind == 6 && i % 1000) /* nearly all in one place */
				memset(p, 0, 6);
		}
		assert_sorts(&set, 9 << 20);
		set_free(&set);
	}
}

static void keys_of_every_length_and_place_sort(void **state)
{
	(void)state;
	for (size_t at = 0; at < 3; at++) {
		for (size_t len = 1 + at; len <= 35; len += 3) {
			const struct order o = {.size = 40, .key_at = at, .key_len = len};
			struct set set = random_set(&o, 3000, 2, 0);
			assert_sorts(&set, SORT_MEMORY_MIN);
			set_free(&set);
		}
	}
}

/* Records are a key and a count. */
static void add_counts(void *ctx, struct buf *into, struct str from)
{
	uint32_t a, b;
	size_t at = *(size_t *)ctx;
	assert_memory_equal(into->p, from.p, at);
	memcpy(&a, into->p + at, 4);
	memcpy(&b, from.p + at, 4);
	a += b;
	memcpy(into->p + at, &a, 4);
}

static void unify_counts(const struct order *order, size_t key, uint64_t memory, size_t n,
			 unsigned keys)
{
	struct err err;
	struct sort *s;
	struct sort_spec spec = {.order = *order,
				 .memory = memory,
				 .folder = scratch_dir,
				 .unify = add_counts,
				 .ctx = &key};
	uint32_t *count = mem_array(keys, sizeof *count), distinct = 0;
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	for (size_t i = 0; i < n; i++) {
		char rec[64] = {0};
		uint32_t k = (uint32_t)(number() % keys), be = htobe32(k), c = (uint32_t)i % 5;
		memcpy(rec + key - 4, &be, 4);
		memcpy(rec + key, &c, 4);
		count[k] += c + 1;
		distinct += count[k] == c + 1;
		c++;
		memcpy(rec + key, &c, 4);
		assert_int_equal(
			sort_add(s, (struct str){rec, order->size ? order->size : key + 4}, &err),
			0);
	}
	struct str rec;
	int64_t last = -1;
	int rc;
	while ((rc = sort_next(s, &rec, &err)) == 0) {
		uint32_t k, c;
		memcpy(&k, rec.p + key - 4, 4);
		memcpy(&c, rec.p + key, 4);
		k = be32toh(k);
		assert_true((int64_t)k > last);
		last = k;
		assert_int_equal(c, count[k]);
		distinct--;
	}
	assert_int_equal(rc, 1);
	assert_int_equal(distinct, 0);
	sort_free(&s);
	mem_free(&count);
}

static void equal_keys_become_one_with_their_counts(void **state)
{
	(void)state;
	const struct order orders[] = {{.size = 20, .key_len = 16},
				       {.size = 64, .key_len = 40},
				       {.key_len = 16},
				       {.key_len = 24}};
	const size_t key[] = {16, 40, 16, 24};
	const size_t n[] = {0, 1, 2, 1000, unit_thorough() ? 50000 : 20000};
	const unsigned keys[] = {1, 10, 3000, 1u << 20};
	for (size_t i = 0; i < ARRAY_LEN(orders); i++)
		for (size_t k = 0; k < ARRAY_LEN(n); k++)
			for (size_t j = 0; j < ARRAY_LEN(keys); j++)
				unify_counts(&orders[i], key[i], SORT_MEMORY_MIN, n[k], keys[j]);
	unify_counts(&orders[0], key[0], 16 << 20, 600000, 1000);
}

static void join_texts(void *ctx, struct buf *into, struct str from)
{
	(void)ctx;
	buf_add_str(into, str_from(from, 1));
}

/* "a1" "a2" become "a12", longer than any record that was added. */
static void unifying_may_make_records_longer_up_to_the_limit(void **state)
{
	(void)state;
	struct err err;
	struct sort *s;
	struct sort_spec spec = {.order = {.key_len = 1},
				 .memory = SORT_MEMORY_MIN,
				 .folder = scratch_dir,
				 .unify = join_texts};
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	for (int i = 0; i < 20000; i++) {
		char rec[2] = {(char)(i % 20), (char)('a' + i % 26)};
		assert_int_equal(sort_add(s, (struct str){rec, 2}, &err), 0);
	}
	struct str rec;
	for (int i = 0; i < 20; i++) {
		assert_int_equal(sort_next(s, &rec, &err), 0);
		assert_int_equal(rec.n, 1001);
		assert_int_equal(rec.p[0], i);
		for (int k = 0; k < 1000; k++)
			assert_int_equal(rec.p[1 + k], 'a' + (i + 20 * k) % 26);
	}
	assert_int_equal(sort_next(s, &rec, &err), 1);
	sort_free(&s);

	assert_int_equal(sort_new(&s, &spec, &err), 0);
	int rc = 0;
	for (int i = 0; i < 20000 && rc == 0; i++)
		rc = sort_add(s, STR("xy"), &err);
	while (rc == 0)
		rc = sort_next(s, &rec, &err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.msg, "at most 2048"));
	sort_free(&s);
}

struct growth {
	size_t runs, longest; /* at the last report of a pass; in bytes */
};

static void join_few(void *ctx, struct buf *into, struct str from)
{
	struct growth *g = ctx;
	if (into->n + from.n <= 30000)
		buf_add_str(into, str_from(from, 1));
	g->longest = MAX(g->longest, into->n);
}

static void note_runs(void *ctx, const struct sort_progress *p)
{
	struct growth *g = ctx;
	if (p->phase == SORT_MERGING)
		g->runs = p->runs;
}

/* Records that grow in a pass need larger pieces, so that fewer runs may be merged at once. */
static void what_grows_while_it_is_merged_keeps_to_the_memory(void **state)
{
	(void)state;
	struct err err;
	struct sort *s;
	struct growth g = {0};
	struct sort_spec spec = {.order = {.key_len = 4},
				 .memory = 1 << 20,
				 .folder = scratch_dir,
				 .unify = join_few,
				 .progress = note_runs,
				 .ctx = &g};
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	for (uint32_t i = 0; i < 10000; i++) {
		char rec[4000];
		uint32_t key = htobe32(i % 400 ? i : 0);
		memset(rec, 'x', sizeof rec);
		memcpy(rec, &key, sizeof key);
		assert_int_equal(sort_add(s, (struct str){rec, i % 400 ? 1000 : 4000}, &err), 0);
	}
	struct str rec;
	assert_int_equal(sort_next(s, &rec, &err), 0);
	assert_true(g.longest > 20000 && g.runs > 1);
	assert_true(g.runs * STREAM_SLOTS * g.longest <= spec.memory);
	sort_free(&s);
}

static void a_stream_comes_out(void **state)
{
	(void)state;
	const struct order orders[] = {{.size = 24, .key_len = 8},
				       {.size = 24, .compare = by_sum},
				       {.key_at = 1, .key_len = 8}};
	for (size_t k = 0; k < ARRAY_LEN(orders); k++) {
		struct err err;
		struct set set = random_set(&orders[k], 30000, 9, 200);
		struct stream_writer w;
		struct stream_reader r;
		struct file f;
		struct sort *s = sort_of(&orders[k], SORT_MEMORY_MIN * 4);
		for (size_t i = 0; i < set.n; i++)
			assert_int_equal(sort_add(s, set.rec[i], &err), 0);
		assert_int_equal(stream_create(&w, scratch("out"), 0600, NULL, &err), 0);
		assert_int_equal(sort_write(s, &w, &err), 0);
		assert_int_equal(stream_finish(&w, false, &err), 0);
		sort_free(&s);
		set_sort(&set);
		assert_int_equal(stream_file_open(&r, &f, scratch("out"), NULL, &err), 0);
		for (size_t i = 0; i < set.n; i++) {
			struct str length, rec;
			assert_int_equal(stream_read(&r, orders[k].size ? 0 : 4, &length, &err), 0);
			assert_int_equal(stream_read(&r, set.rec[i].n, &rec, &err), 0);
			assert_true(str_eq(rec, set.rec[i]));
		}
		assert_int_equal(stream_left(&r), 0);
		stream_file_close(&r, &f);
		set_free(&set);
	}
}

static void records_up_to_the_limit_are_taken_and_longer_ones_are_not(void **state)
{
	(void)state;
	struct err err;
	const struct order o = {.key_len = 8}, fixed = {.size = 8};
	struct sort *s = sort_of(&o, SORT_MEMORY_MIN);
	size_t most = SORT_MEMORY_MIN / 32;
	char *rec = mem_alloc(most + 1);
	assert_int_equal(sort_add(s, (struct str){rec, most + 1}, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	for (int i = 0; i < 500; i++) {
		rec[0] = (char)(i * 37 % 100);
		assert_int_equal(sort_add(s, (struct str){rec, most - (size_t)(i % 7)}, &err), 0);
	}
	struct str got;
	int last = 0;
	for (int i = 0; i < 500; i++) {
		assert_int_equal(sort_next(s, &got, &err), 0);
		assert_true(got.p[0] >= last);
		last = got.p[0];
	}
	assert_int_equal(sort_next(s, &got, &err), 1);
	sort_free(&s);
	mem_free(&rec);

	s = sort_of(&fixed, 0);
	assert_int_equal(sort_add(s, STR("1234567"), &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	sort_free(&s);
	struct sort_spec spec = {.order = {.size = SORT_SIZE_MAX + 1}, .folder = scratch_dir};
	assert_int_equal(sort_new(&s, &spec, &err), -1);
}

static void the_largest_records_of_fixed_size_sort(void **state)
{
	(void)state;
	const struct order o = {.size = 100000, .key_at = 99990, .key_len = 10};
	struct set set = random_set(&o, 300, 3, 0);
	assert_sorts(&set, 0);
	set_free(&set);
}

struct reports {
	unsigned of[3];
	uint64_t last[3];
};

static void count_report(void *ctx, const struct sort_progress *p)
{
	struct reports *r = ctx;
	r->of[p->phase]++;
	assert_true(p->done >= r->last[p->phase] || p->phase == SORT_MERGING);
	assert_true(p->total == 0 || p->done <= p->total);
	r->last[p->phase] = p->done;
}

static void progress_is_reported_in_all_phases(void **state)
{
	(void)state;
	struct err err;
	struct sort *s;
	struct reports r = {0};
	struct sort_spec spec = {.order = {.size = 4},
				 .memory = SORT_MEMORY_MIN,
				 .folder = scratch_dir,
				 .progress = count_report,
				 .ctx = &r};
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	for (int i = 0; i < 600000; i++) {
		uint32_t v = (uint32_t)number();
		assert_int_equal(sort_add(s, (struct str){(char *)&v, 4}, &err), 0);
	}
	struct str rec;
	while (sort_next(s, &rec, &err) == 0)
		;
	assert_true(r.of[SORT_ADDING] > 10);
	assert_true(r.of[SORT_MERGING] > 0);
	assert_true(r.of[SORT_GIVING] > 0);
	sort_free(&s);
}

static size_t files_in_scratch(void)
{
	DIR *d = opendir(scratch_dir);
	size_t n = 0;
	for (struct dirent *e; (e = readdir(d));)
		n += e->d_name[0] != '.' || strlen(e->d_name) > 2;
	closedir(d);
	return n;
}

static void a_sort_that_is_given_up_leaves_nothing(void **state)
{
	(void)state;
	struct err err;
	size_t before = files_in_scratch();
	const struct order o = {.size = 32};
	for (int given = 0; given < 2; given++) {
		struct set set = random_set(&o, 400000, 256, 0);
		struct sort *s = sort_of(&o, 9 << 20);
		for (size_t i = 0; i < set.n; i++)
			assert_int_equal(sort_add(s, set.rec[i], &err), 0);
		struct str rec;
		for (int i = 0; i < 100 && given; i++)
			assert_int_equal(sort_next(s, &rec, &err), 0);
		assert_int_equal(files_in_scratch(), before);
		sort_free(&s);
		set_free(&set);
	}
	struct sort *none = NULL;
	sort_free(&none);
	assert_int_equal(files_in_scratch(), before);
}

static void a_folder_that_does_not_exist_is_named(void **state)
{
	(void)state;
	struct err err;
	struct sort *s;
	struct sort_spec spec = {.order = {.size = 512}, .folder = scratch("no/such")};
	assert_int_equal(sort_new(&s, &spec, &err), 0);
	char rec[512] = {0};
	int rc = 0;
	for (int i = 0; i < 10000 && rc == 0; i++)
		rc = sort_add(s, (struct str){rec, sizeof rec}, &err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.msg, "no/such"));
	struct str got;
	assert_int_equal(sort_next(s, &got, &err), -1);
	sort_free(&s);
}

#ifdef GARNER_FAULTS
/* All of a sort with several passes; the result is whole or an error. */
static int sort_with_faults(const struct set *set, uint64_t memory)
{
	struct err err = {0};
	struct str rec;
	struct sort *s;
	struct sort_spec spec = {.order = set->order, .memory = memory, .folder = scratch_dir};
	size_t n = 0;
	int rc = sort_new(&s, &spec, &err);
	for (size_t i = 0; i < set->n && rc == 0; i++)
		rc = sort_add(s, set->rec[i], &err);
	while (rc == 0 && (rc = sort_next(s, &rec, &err)) == 0)
		n++;
	if (rc == 1)
		assert_int_equal(n, set->n);
	else
		assert_true(err.msg[0] != 0);
	if (rc < 0)
		assert_int_equal(sort_next(s, &rec, &err), -1);
	sort_free(&s);
	return MIN(rc, 0);
}

static void a_failure_of_any_call_is_an_error_and_leaves_nothing(void **state)
{
	(void)state;
	struct err err;
	const struct order orders[] = {{.size = 32, .key_len = 16}, {.key_len = 4}};
	const char *const faults[] = {"file.open=eio", "file.write=enospc", "file.write=short",
				      "file.read=eio"};
	const uint64_t memory[] = {SORT_MEMORY_MIN, 9 << 20};
	const size_t n[] = {4000, 250000};
	const int near = unit_thorough() ? 8 : 3; /* the first calls one by one, then in steps */
	size_t before = files_in_scratch();
	for (size_t k = 0; k < ARRAY_LEN(orders) * ARRAY_LEN(memory); k++) {
		struct set set = random_set(&orders[k / 2], n[k % 2], 256, 40);
		for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
			for (int at = 1;; at += k % 2 ? 1 + at : 1 + at / near) {
				char spec[64];
				snprintf(spec, sizeof spec, "%s@%d", faults[i], at);
				assert_int_equal(fault_arm(spec, &err), 0);
				int rc = sort_with_faults(&set, memory[k % 2]);
				bool fired = fault_fired() > 0;
				assert_int_equal(fault_arm(NULL, &err), 0);
				assert_int_equal(rc, fired ? -1 : 0);
				if (!fired && at == 1)
					fail_msg("%s never happened", faults[i]);
				if (!fired)
					break;
			}
			assert_int_equal(files_in_scratch(), before);
		}
		set_free(&set);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_one_and_two_records_sort),
		cmocka_unit_test(every_number_of_records_around_a_full_batch_sorts),
		cmocka_unit_test(hundreds_of_random_sorts_agree_with_qsort),
		cmocka_unit_test(many_passes_with_a_tiny_memory_sort),
		cmocka_unit_test(large_sorts_agree_whatever_the_keys_look_like),
		cmocka_unit_test(keys_of_every_length_and_place_sort),
		cmocka_unit_test(equal_keys_become_one_with_their_counts),
		cmocka_unit_test(unifying_may_make_records_longer_up_to_the_limit),
		cmocka_unit_test(what_grows_while_it_is_merged_keeps_to_the_memory),
		cmocka_unit_test(a_stream_comes_out),
		cmocka_unit_test(records_up_to_the_limit_are_taken_and_longer_ones_are_not),
		cmocka_unit_test(the_largest_records_of_fixed_size_sort),
		cmocka_unit_test(progress_is_reported_in_all_phases),
		cmocka_unit_test(a_sort_that_is_given_up_leaves_nothing),
		cmocka_unit_test(a_folder_that_does_not_exist_is_named),
#ifdef GARNER_FAULTS
		cmocka_unit_test(a_failure_of_any_call_is_an_error_and_leaves_nothing),
#endif
	};
	return cmocka_run_group_tests_name("base/sort", tests, scratch_make, scratch_done);
}
