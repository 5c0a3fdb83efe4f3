/* The first byte chooses a type, the rest is its text. What is taken prints, and what is printed
 * parses to the same value and prints the same again. */
#include "base/value.h"

#include <math.h>

union any {
	bool on;
	int64_t number;
	double real;
	uint64_t size;
	const char *text;
	int word;
	struct value_list list;
};

static const char *const words[] = {"red", "green", NULL};
static const struct value_spec specs[] = {
	{"bool", VALUE_BOOL_AT(union any, on)},
	{"int", VALUE_INT_AT(union any, number)},
	{"int-bounded", VALUE_INT_AT(union any, number), .min = -5, .max = 500},
	{"real", VALUE_REAL_AT(union any, real)},
	{"size", VALUE_SIZE_AT(union any, size)},
	{"size-bounded", VALUE_SIZE_AT(union any, size), .min = 1024, .max = INFINITY},
	{"time", VALUE_TIME_AT(union any, number)},
	{"text", VALUE_TEXT_AT(union any, text)},
	{"word", VALUE_WORD_AT(union any, word), .words = words},
	{"listen", VALUE_LISTEN_AT(union any, text)},
	{"list", VALUE_LIST_AT(union any, list)},
	{"percent", VALUE_PERCENT_AT(union any, number), .min = -5, .max = 500},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const struct value_spec *spec = &specs[data[0] % ARRAY_LEN(specs)];
	struct arena arena = ARENA_INIT((size_t)256 << 20);
	struct buf first = BUF_INIT((size_t)64 << 20), second = BUF_INIT((size_t)64 << 20);
	struct err err = {0};
	union any a, b, untouched;
	memset(&a, 0x5a, sizeof a);
	b = untouched = a;
	if (value_parse(spec, (struct str){(const char *)data + 1, size - 1}, &arena, &a, &err) ==
	    0) {
		value_print(spec, &a, &first);
		ENSURE(value_parse(spec, buf_str(&first), &arena, &b, &err) == 0);
		ENSURE(value_equal(spec, &a, &b));
		value_print(spec, &b, &second);
		ENSURE(str_eq(buf_str(&first), buf_str(&second)));
	} else {
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
		ENSURE(memcmp(&a, &untouched, sizeof a) == 0);
	}
	buf_free(&first);
	buf_free(&second);
	arena_free(&arena);
	return 0;
}
