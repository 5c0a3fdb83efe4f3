/* Payloads by a table of columns: what is read is written to the same bytes and can be dumped; what
 * is not one is named, and is not dumped either. The first byte says whether it has one row. */
#include "base/rows.h"
#include "base/cursor.h"

struct any {
	bool flag;
	uint8_t byte;
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	int64_t time_us;
	char name[8];
	uint8_t sum[3];
	struct str rest;
};

#define S struct any
static const struct column columns[] = {
	COL("flag", S, flag), COL("byte", S, byte),   COL("two", S, two, .unit = UNIT_HEX),
	COL("four", S, four), COL("eight", S, eight), COL("time", S, time_us, .unit = UNIT_TIME),
	COL("name", S, name), COL("sum", S, sum),     COL("", S, rest),
};
static const struct rows one = {ROWS(S, columns), .what = "one"};
static const struct rows many = {columns, ARRAY_LEN(columns) - 1, sizeof(S), .what = "many",
				 .many = true};
#undef S

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str payload = {(const char *)data + 1, size ? size - 1 : 0};
	const struct rows *t = size && data[0] & 1 ? &many : &one;
	struct buf again = BUF_INIT(1 << 20), shown = BUF_INIT(16 << 20);
	struct reader r = reader_of(payload);
	struct any row;
	struct err err = {0};
	int rc;
	if (size == 0)
		return 0;
	if (t == &one) {
		rc = rows_read(t, payload, &row, &err);
		if (rc == 0)
			rows_write(t, &row, &again);
	} else {
		while ((rc = rows_next(t, &r, &row, &err)) == 0)
			rows_write(t, &row, &again);
		rc = MIN(rc, 0);
	}
	ENSURE(rc == 0 ? str_eq(buf_str(&again), payload) : err.code == ERR_DAMAGED && err.msg[0]);
	ENSURE(rows_dump(t, payload, " ", "\n", &shown, &err) == rc);
	buf_free(&again);
	buf_free(&shown);
	return 0;
}
