/* Rows of small state that others wrote: values of any kind, and descriptions of tables. What is
 * taken as a row fits its struct, and gives the same values again; what is taken as a description
 * is printed and read as the same one. */
#include "base/cursor.h"
#include "store/small_inner.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct row {
	char name[12];
	uint8_t small, guard;
	uint16_t middle;
	uint32_t large;
	uint64_t any;
	int64_t at_us;
	uint8_t bytes[6];
	struct str text;
};
static const struct column columns[] = {
	COL("name", struct row, name),
	COL("small", struct row, small, .most = 3),
	COL("middle", struct row, middle),
	COL("large", struct row, large),
	COL("at", struct row, at_us, .unit = UNIT_TIME),
	COL("bytes", struct row, bytes),
	COL("text", struct row, text, .most = 20),
	COL("anyone", struct row, any),
};
static const struct small_table table = {
	.name = "rows",
	.row = {ROWS(struct row, columns)},
	.key = 2,
	.most = 10,
	.writer = "fuzz",
	.loss = "nothing",
};

static void check_row(const struct small_shape *shape, const struct sql_value *v)
{
	struct sql_value again[SMALL_VALUES];
	struct row row = {.guard = 0x55};
	const char *why = NULL;
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	if (!small_values_ok(shape, v, &why)) {
		ENSURE(why && *why);
		return;
	}
	small_values_take(&table, v, &row);
	ENSURE(row.guard == 0x55 && row.small <= 3 && row.at_us >= 0 && row.text.n <= 20);
	ENSURE(strnlen(row.name, sizeof row.name) < sizeof row.name);
	small_values_of(&table, &row, shape, again);
	for (size_t i = 0; i <= shape->n; i++)
		ENSURE(again[i].type == v[i].type && again[i].n == v[i].n &&
		       str_eq(again[i].s, v[i].s));
	small_values_print(shape, v, &out);
	ENSURE(!out.over && str_find_byte(buf_str(&out), '\n') == out.n - 1);
}

static void check_shape(struct str text)
{
	struct small_known known = {.name = "rows", .key = 1};
	struct small_shape shape;
	struct err err;
	snprintf(known.shape, sizeof known.shape, STR_FMT, STR_ARG(text));
	if (small_shape_parse(&known, &shape, &err) < 0) {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		return;
	}
	struct small_shape again;
	small_shape_print(&shape, known.shape);
	ENSURE(small_shape_parse(&known, &again, &err) == 0);
	ENSURE(memcmp(&again, &shape, sizeof shape) == 0);
	for (int i = 0; i < SMALL_STATEMENTS; i++) {
		CLEANUP(buf_free) struct buf sql = BUF_INIT(8192);
		small_statement(&shape, (enum small_statement)i, &sql);
		ENSURE(!memchr(sql.p, ';', sql.n) && !memchr(sql.p, '\'', sql.n));
	}
}

/* A byte that says the type and, of texts, how long they are; then a number or the bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_of((struct str){(const char *)data, size});
	struct sql_value v[SMALL_VALUES] = {0};
	struct small_shape shape;
	small_shape_of(&table, &shape);
	for (size_t i = 0; i < table.row.n; i++) {
		uint8_t kind = reader_u8(&r);
		v[i].type = (enum sql_type)(kind & 3);
		if (v[i].type == SQL_INT)
			v[i].n = (int64_t)reader_u64le(&r);
		else if (v[i].type != SQL_NULL)
			v[i].s = reader_bytes(&r, MIN(kind >> 2, reader_left(&r)));
	}
	check_row(&shape, v);
	v[table.row.n] = (struct sql_value){
		.type = SQL_INT, .n = (int64_t)small_values_sum(table.name, v, table.row.n)};
	check_row(&shape, v);
	check_shape((struct str){(const char *)data, size});
	return 0;
}
