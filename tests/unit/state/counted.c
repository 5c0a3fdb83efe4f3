/* Lists that say at their end how long they are. */
#include "state/counted.h"

#include "base/file.h"
#include "unit/scratch.h"
#include "unit/unit.h"

#include <unistd.h>

#define MUST(call)                                                             \
	do {                                                                   \
		if ((call) != 0)                                               \
			fail_msg("line %d: %s: %s", __LINE__, #call, err.msg); \
	} while (0)

enum { RECORDS = 5 };
static const struct record_kind kind = {.magic = "GARNERXX", .version = 1, .most = 100};

/* Records of one entry, a byte; more are told than are written, where `lies` is not 0. */
static const char *list_of(const char *name, unsigned lies)
{
	struct err err = {0};
	struct counted_writer w;
	MUST(counted_create(&w, scratch(name), &kind, &err));
	for (uint8_t i = 0; i < RECORDS; i++) {
		put_u8(&w.packed, 'x');
		put_u8(&w.packed, i);
		w.n++;
		MUST(counted_put(&w, &err));
	}
	w.n += lies;
	MUST(counted_finish(&w, &err));
	return scratch(name);
}

/* As counted_next() says in the end; *ret_n: entries before that. */
static int read_all(const char *path, unsigned *ret_n, struct err *err)
{
	struct counted_reader r;
	uint8_t tag;
	*ret_n = 0;
	int rc = counted_open(&r, path, &kind, err);
	while (rc == 0 && (rc = counted_next(&r, &tag, err)) == 0) {
		assert_int_equal('x', tag);
		assert_int_equal(*ret_n, reader_u8(&r.r));
		r.n++;
		++*ret_n;
	}
	if (r.in)
		assert_int_equal(1, counted_next(&r, &tag, err)); /* nothing is left */
	counted_close(&r);
	return rc;
}

static void a_list_is_read_as_it_was_written(void **state)
{
	(void)state;
	struct err err = {0};
	unsigned n;
	assert_int_equal(1, read_all(scratch("none"), &n, &err));
	assert_int_equal(1, read_all(list_of("sound", 0), &n, &err));
	assert_int_equal(RECORDS, n);
	assert_int_equal(1, read_all(list_of("sound", 0), &n, &err)); /* once more in its place */
	assert_int_equal(RECORDS, n);
}

static void a_list_that_is_cut_anywhere_is_damaged(void **state)
{
	(void)state;
	struct err err = {0};
	struct buf b = BUF_INIT(1 << 16);
	unsigned n;
	MUST(file_slurp(list_of("whole", 0), &b, &err));
	for (size_t left = RECORD_HEADER; left + 32 < b.n; left++) { /* 32: the mark of its end */
		MUST(file_replace(scratch("cut"), str_head(buf_str(&b), left), 0644, &err));
		assert_int_equal(-1, read_all(scratch("cut"), &n, &err));
		assert_int_equal(ERR_DAMAGED, err.code);
	}
	buf_free(&b);
}

static void a_wrong_number_or_a_record_after_the_end_is_damage(void **state)
{
	(void)state;
	struct err err = {0};
	struct record_writer *w;
	struct record_group group = {0};
	unsigned n;
	assert_int_equal(-1, read_all(list_of("lies", 1), &n, &err));
	assert_non_null(strstr(err.msg, "entries are missing"));
	MUST(record_open(&w, list_of("longer", 0), &kind, 0644, NULL, &err));
	MUST(record_append(w, STR("x"), &group, NULL, &err));
	MUST(record_sync(w, &group, &err));
	MUST(record_close(&w, &err));
	assert_int_equal(-1, read_all(scratch("longer"), &n, &err));
	assert_non_null(strstr(err.msg, "after the end"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_read_as_it_was_written),
		cmocka_unit_test(a_list_that_is_cut_anywhere_is_damaged),
		cmocka_unit_test(a_wrong_number_or_a_record_after_the_end_is_damage),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
