/* Merges of segments of names: the same bytes as from one build of the entries that are kept. */
#include "base/file.h"
#include "names_segment_model.h"

enum { INPUTS = 4 };

struct inputs {
	struct model model[INPUTS];
	struct names_segment *segment[INPUTS];
};

static void make_inputs(struct inputs *in, size_t n)
{
	struct err err = {0};
	for (unsigned i = 0; i < INPUTS; i++) {
		char name[32];
		in->model[i] = (struct model){.arena = ARENA_INIT(SIZE_MAX)};
		model_fill(&in->model[i], i == 2 ? 0 : n, i < 2 ? 77 : 78); /* two are alike */
		if (i == 3)
			for (unsigned k = 0; k < 400; k++)
				model_add(&in->model[i], STR("readme"));
		snprintf(name, sizeof name, "in%u", i);
		model_build(&in->model[i], scratch(name), NAMES_MEMORY_DEFAULT);
		assert_int_equal(names_segment_open(&in->segment[i], scratch(name), &err), 0);
	}
}

static void free_inputs(struct inputs *in)
{
	for (unsigned i = 0; i < INPUTS; i++) {
		names_segment_close(&in->segment[i]);
		model_free(&in->model[i]);
	}
}

static void assert_same_files(const char *a, const char *b)
{
	struct err err = {0};
	struct buf x = BUF_INIT(1 << 26), y = BUF_INIT(1 << 26);
	assert_int_equal(file_slurp(a, &x, &err), 0);
	assert_int_equal(file_slurp(b, &y, &err), 0);
	assert_true(str_eq(buf_str(&x), buf_str(&y)));
	buf_free(&x);
	buf_free(&y);
}

/* Merges what is kept, and builds it at once. */
static void merge_is_as_built(struct inputs *in, const struct names_range *keep, size_t n)
{
	struct err err = {0};
	struct model want = {.arena = ARENA_INIT(SIZE_MAX)};
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < keep[i].n; k++)
			model_add(&want, in->model[keep[i].segment].row[keep[i].from + k].name);
	if (names_segment_merge(in->segment, INPUTS, keep, n, NAMES_MEMORY_DEFAULT, scratch_dir,
				scratch("merged"), &err) < 0)
		fail_msg("%s", err.msg);
	model_build(&want, scratch("at once"), NAMES_MEMORY_DEFAULT);
	assert_same_files(scratch("merged"), scratch("at once"));
	model_is(&want, scratch("merged"));
	model_free(&want);
}

static void all_that_is_kept_makes_the_file_that_it_makes_at_once(void **state)
{
	(void)state;
	struct inputs in;
	make_inputs(&in, 1500);
	const struct names_range all[] = {{0, 0, 1500}, {1, 0, 1500}, {3, 0, 1900}};
	const struct names_range other_order[] = {{3, 0, 1900}, {1, 0, 1500}, {0, 0, 1500}};
	const struct names_range some[] = {{1, 700, 800}, {0, 100, 1}, {3, 1500, 399}, {0, 0, 100},
					   {2, 0, 0},     {1, 3, 600}, {0, 1499, 1},   {3, 0, 20}};
	merge_is_as_built(&in, other_order, ARRAY_LEN(other_order));
	merge_is_as_built(&in, some, ARRAY_LEN(some));
	if (unit_thorough()) {
		merge_is_as_built(&in, all, ARRAY_LEN(all));
		merge_is_as_built(&in, all, 1);
	}
	merge_is_as_built(&in, NULL, 0);
	free_inputs(&in);
}

static void random_ranges_make_the_file_that_they_make_at_once(void **state)
{
	(void)state;
	struct inputs in;
	uint64_t seed = 4242;
	make_inputs(&in, 200);
	for (unsigned round = 0; round < (unit_thorough() ? 200u : 2u); round++) {
		struct names_range keep[40];
		size_t n = 0;
		for (uint32_t s = 0; s < INPUTS; s++) {
			uint32_t have = (uint32_t)in.model[s].n, at = 0;
			while (at < have && n < (s + 1) * 10) {
				uint32_t step = 1 + (uint32_t)(dice(&seed) % 60);
				step = MIN(step, have - at);
				if (dice(&seed) % 3)
					keep[n++] = (struct names_range){s, at, step};
				at += step;
			}
		}
		for (size_t i = n; i > 1; i--) {
			size_t k = dice(&seed) % i;
			struct names_range swap = keep[i - 1];
			keep[i - 1] = keep[k];
			keep[k] = swap;
		}
		merge_is_as_built(&in, keep, n);
	}
	free_inputs(&in);
}

static void what_cannot_be_kept_is_refused(void **state)
{
	(void)state;
	struct err err = {0};
	struct inputs in;
	make_inputs(&in, 50);
	const struct names_range bad[][2] = {
		{{0, 0, 51}, {1, 0, 1}},         {{0, 51, 0}, {1, 0, 1}},
		{{INPUTS, 0, 1}, {1, 0, 1}},     {{0, 0, 20}, {0, 19, 2}},
		{{1, 5, UINT32_MAX}, {1, 0, 1}},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(names_segment_merge(in.segment, INPUTS, bad[i], 2,
						     NAMES_MEMORY_DEFAULT, scratch_dir,
						     scratch("refused"), &err),
				 -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	free_inputs(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_kept_makes_the_file_that_it_makes_at_once),
		cmocka_unit_test(random_ranges_make_the_file_that_they_make_at_once),
		cmocka_unit_test(what_cannot_be_kept_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
