#include "base/rows.h"

#include "../dies.h"

enum fruit_kind { POME, BERRY };
static const char *const kind_names[] = {[POME] = "pome", [BERRY] = "berry"};

struct tree {
	const char *owner;
	uint32_t planted_s;
};

struct fruit {
	char name[8];
	const char *colour;
	struct str note;
	enum fruit_kind kind;
	uint8_t code;
	int32_t tz;
	uint64_t bytes, limit;
	int64_t left, seen_us;
	double share;
	bool ripe;
	uint8_t sum[2];
	const struct tree *tree;
	struct tree own;
	const char *const *word;
	size_t words;
};

#define T struct tree
static const struct column tree_columns[] = {
	COL("owner", T, owner, .label = "Owner"),
	COL("planted", T, planted_s, .unit = UNIT_TIME_S, .how = ROW_NULL),
};
static const struct rows tree_rows = {ROWS(T, tree_columns)};
#undef T

static void print_double(const void *member, struct buf *out)
{
	uint8_t v = *(const uint8_t *)member;
	if (v)
		buf_printf(out, "%u", v * 2u);
}

#define S struct fruit
static const struct column fruit_columns[] = {
	COL("name", S, name, .label = "Name"),
	COL("colour", S, colour),
	COL("note", S, note, .how = ROW_SOME, .label = "Note"),
	COL("kind", S, kind, COL_NAMES(kind_names), .label = "Kind"),
	COL("code", S, code, .unit = UNIT_HEX),
	COL_OF("twice", S, code, print_double, .how = ROW_SOME),
	COL("tz", S, tz),
	COL("bytes", S, bytes, .label = "Bytes", .unit = UNIT_BYTES),
	COL("limit", S, limit, .how = ROW_NULL | ROW_MOST),
	COL("left", S, left, .how = ROW_SOME | ROW_NEG),
	COL("seen", S, seen_us, .unit = UNIT_TIME, .how = ROW_SOME, .label = "Seen"),
	COL("share", S, share, .label = "Share", .unit = UNIT_SHARE),
	COL("ripe", S, ripe, .label = "Ripe"),
	COL("sum", S, sum, COL_IF(S, ripe)),
	COL("berry", S, code, COL_IF_IS(S, kind, BERRY)),
	COL_POINTER("tree", S, tree, tree_rows),
	COL_ROW(NULL, S, own, tree_rows, COL_IF(S, ripe)),
	COL_LIST("words", S, word, words, rows_texts),
};
static const struct rows fruit_rows = {ROWS(S, fruit_columns)};
#undef S

static const struct fruit plain = {.name = "apple", .limit = 5, .left = -1};
static const struct tree old = {"Eve", 60};
static const char *const words[] = {"a", "b"};
static const struct fruit whole = {.name = "sloe\xc3\xa9",
				   .colour = "blu\"e",
				   .note = STR("\x1b[1m\xff"),
				   .kind = BERRY,
				   .code = 10,
				   .tz = -3600,
				   .bytes = 1 << 20,
				   .limit = UINT64_MAX,
				   .seen_us = 1,
				   .share = 0.125,
				   .ripe = true,
				   .sum = {1, 0xfe},
				   .tree = &old,
				   .own = {"Abel", 0},
				   .word = words,
				   .words = 2};

static void json_has_each_member_once(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_json_line(&fruit_rows, &plain, &b);
	assert_string_equal(buf_text(&b),
			    "{\"name\":\"apple\",\"colour\":null,\"kind\":\"pome\",\"code\":\"00\","
			    "\"tz\":0,\"bytes\":0,\"limit\":5,\"share\":0,\"ripe\":false,"
			    "\"tree\":null,\"words\":[]}\n");
	buf_clear(&b);
	rows_json_line(&fruit_rows, &whole, &b);
	assert_string_equal(
		buf_text(&b),
		"{\"name\":\"sloe\xc3\xa9\",\"colour\":\"blu\\\"e\","
		"\"note\":\"\\u001b[1m\xef\xbf\xbd\",\"kind\":\"berry\",\"code\":\"0a\","
		"\"twice\":\"20\",\"tz\":-3600,\"bytes\":1048576,\"limit\":null,\"left\":0,"
		"\"seen\":\"1970-01-01T00:00:00.000001Z\",\"share\":0.125,\"ripe\":true,"
		"\"sum\":\"01fe\",\"berry\":10,"
		"\"tree\":{\"owner\":\"Eve\",\"planted\":\"1970-01-01T00:01:00.000000Z\"},"
		"\"owner\":\"Abel\",\"planted\":null,\"words\":[\"a\",\"b\"]}\n");
}

static void a_table_has_heads_and_columns_under_each_other(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	const struct fruit both[] = {plain, whole};
	rows_print(&fruit_rows, both, 2, false, &b);
	assert_string_equal(
		buf_text(&b),
		"NAME   NOTE  KIND   BYTES                  SEEN  SHARE  RIPE  OWNER  OWNER\n"
		"apple  -     pome       0                     -   0.0%  no    -      -\n"
		"sloe\xc3\xa9  [1m?  berry   1.0M  1970-01-01T00:00:00Z  12.5%  yes   Eve    "
		"Abel\n");
}

static void a_list_is_written_row_by_row(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	struct rows_list l;
	rows_list_begin(&l, &tree_rows, true, &b);
	rows_list_add(&l, &old);
	buf_clear(&b); /* as who has written it out */
	rows_list_add(&l, &whole.own);
	rows_list_end(&l);
	assert_int_equal(l.n, 2);
	assert_string_equal(buf_text(&b), ",{\"owner\":\"Abel\",\"planted\":null}]\n");
}

static void a_list_may_be_of_arrays_and_lie_in_the_struct(void **state)
{
	(void)state;
	static const struct rows pairs = {ROWS(struct tree, tree_columns), ROWS_ARRAY};
	struct wood {
		struct tree tree[2];
		size_t n;
	};
	static const struct column columns[] = {COL_LIST("wood", struct wood, tree, n, pairs)};
	static const struct rows wood_rows = {ROWS(struct wood, columns)};
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_json_line(&wood_rows, &(struct wood){{old, {"Abel", 0}}, 2}, &b);
	assert_string_equal(buf_text(&b), "{\"wood\":[[\"Eve\",\"1970-01-01T00:01:00.000000Z\"],"
					  "[\"Abel\",null]]}\n");
}

static void other_units_and_blanks(void **state)
{
	(void)state;
	struct times {
		int64_t ago_us, in_us, took_us;
		uint64_t rate;
		float heat;
		const char *why;
	};
	static const struct column columns[] = {
		COL("ago", struct times, ago_us, .unit = UNIT_AGO, .label = "Ago"),
		COL("in", struct times, in_us, .unit = UNIT_IN, .label = "In"),
		COL("took", struct times, took_us, .unit = UNIT_US_S, .label = "Took"),
		COL("rate", struct times, rate, .unit = UNIT_RATE),
		COL("heat", struct times, heat, .label = "Heat"),
		COL(NULL, struct times, why, .label = "Why", .how = ROW_BLANK),
	};
	static const struct rows t = {ROWS(struct times, columns)};
	const struct times row = {5 * 1000000, 60 * 1000000, 1500000, 1500, 0.5F, NULL};
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_json_line(&t, &row, &b);
	rows_print(&t, &row, 1, false, &b);
	assert_string_equal(buf_text(&b), "{\"ago\":5000000,\"in\":60000000,\"took\":1.5,"
					  "\"rate\":1.5,\"heat\":0.5}\n"
					  "   AGO       IN  TOOK  HEAT  WHY\n"
					  "5s ago  in 1min  1.5s   0.5  \n");
}

static void lines_have_labels(void **state)
{
	(void)state;
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_lines(&tree_rows, &old, ":", 9, 0, &b);
	assert_string_equal(buf_text(&b), "Owner:    Eve\nplanted:  1970-01-01T00:01:00Z\n");
	buf_clear(&b);
	rows_lines(&tree_rows, &whole.own, "", 8, 6, &b);
	assert_string_equal(buf_text(&b), "Owner      Abel\nplanted       -\n");
}

static void a_number_without_a_name_is_null(void **state)
{
	(void)state;
	static const struct column one[] = {
		COL("kind", struct fruit, kind, COL_NAMES(kind_names), .label = "Kind")};
	const struct rows t = {ROWS(struct fruit, one)};
	const struct fruit odd = {.kind = (enum fruit_kind)2};
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_json_line(&t, &odd, &b);
	rows_print(&t, &odd, 1, false, &b);
	assert_string_equal(buf_text(&b), "{\"kind\":null}\nKIND\n-\n");
}

static void write_fruit(void)
{
	struct buf b CLEANUP(buf_free) = BUF_INIT(4000);
	rows_write(&fruit_rows, &plain, &b);
}

static void what_is_not_for_files_is_not_written(void **state)
{
	(void)state;
	assert_true(dies(write_fruit));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_each_member_once),
		cmocka_unit_test(a_table_has_heads_and_columns_under_each_other),
		cmocka_unit_test(a_list_is_written_row_by_row),
		cmocka_unit_test(a_list_may_be_of_arrays_and_lie_in_the_struct),
		cmocka_unit_test(other_units_and_blanks),
		cmocka_unit_test(lines_have_labels),
		cmocka_unit_test(a_number_without_a_name_is_null),
		cmocka_unit_test(what_is_not_for_files_is_not_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
