/* Rows as JSON, as tables and as lines. A value is read from its struct once, as a cell; what is
 * none, how a unit is written and what a sub-table adds are each decided in one place, so that the
 * forms cannot drift apart. Payloads of files are in rows_payload.c. */
#include "base/rows.h"

#include "base/ascii.h"
#include "base/clock.h"

#include <inttypes.h>

/* A value, and how a number is written. */
struct cell {
	bool none;
	uint64_t number; /* of whole numbers, those below zero too; and of bool */
	double real;
	struct str text;
};

static const struct column text_column[] = {{.type = COL_TEXT, .size = sizeof(const char *)}};
static const struct column str_column[] = {{.type = COL_STR, .size = sizeof(struct str)}};
static const struct column err_column[] = {COL("error", struct err, msg)};
const struct rows rows_texts = {ROWS(const char *, text_column), ROWS_VALUE};
const struct rows rows_strs = {ROWS(struct str, str_column), ROWS_VALUE};
const struct rows rows_err = {ROWS(struct err, err_column)};

/* Values */

static uint64_t number_at(const void *p, size_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return *(const uint8_t *)p;
	case 2:
		return *(const uint16_t *)p;
	case 4:
		return is_signed ? (uint64_t)(int64_t) * (const int32_t *)p : *(const uint32_t *)p;
	default:
		ENSURE(size == 8);
		return *(const uint64_t *)p;
	}
}

uint64_t rows_number(const struct column *c, const void *member)
{
	return number_at(member, c->size, c->type == COL_INT);
}

void rows_number_set(const struct column *c, uint64_t v, void *member)
{
	switch (c->size) {
	case 1:
		*(uint8_t *)member = (uint8_t)v;
		return;
	case 2:
		*(uint16_t *)member = (uint16_t)v;
		return;
	case 4:
		*(uint32_t *)member = (uint32_t)v;
		return;
	default:
		ENSURE(c->size == 8);
		*(uint64_t *)member = v;
	}
}

static bool is_none_number(const struct column *c, uint64_t v)
{
	if (c->how & ROW_NEG)
		return (int64_t)v < 0;
	if (c->how & ROW_MOST)
		return v == (c->type == COL_INT ? (uint64_t)INT64_MAX : UINT64_MAX);
	return v == 0;
}

static struct cell cell_of_number(const struct column *c, const void *p)
{
	struct cell v = {.number = rows_number(c, p)};
	v.none = is_none_number(c, v.number);
	if (c->nnames) {
		const char *name = v.number < c->nnames ? c->names[v.number] : NULL;
		v.none = !name;
		v.text = str_of(name);
	}
	return v;
}

static struct cell cell_of_real(double v)
{
	return (struct cell){.real = v, .none = v == 0};
}

static struct cell cell_of_text(struct str s)
{
	return (struct cell){.none = s.n == 0, .text = s};
}

/* room: for text that is made; the cell's text may lie in it. */
static struct cell cell_of(const struct column *c, const void *row, struct buf *room)
{
	const char *p = (const char *)row + c->offset;
	buf_clear(room);
	switch (c->type) {
	case COL_BOOL:
		return (struct cell){.number = *(const bool *)p, .none = !*(const bool *)p};
	case COL_UINT:
	case COL_INT:
		return cell_of_number(c, p);
	case COL_REAL:
		return cell_of_real(c->size == sizeof(float) ? (double)*(const float *)p
							     : *(const double *)p);
	case COL_TEXT:
		return cell_of_text(str_of(*(const char *const *)p));
	case COL_CHARS:
		return cell_of_text((struct str){p, strnlen(p, c->size)});
	case COL_STR:
		return cell_of_text(*(const struct str *)p);
	case COL_BYTES:
		put_hex(room, p, c->size);
		return cell_of_text(buf_str(room));
	default:
		ENSURE(c->type == COL_PRINTED);
		c->print(p, room);
		return cell_of_text(buf_str(room));
	}
}

static bool is_number(const struct column *c)
{
	return (c->type == COL_UINT || c->type == COL_INT || c->type == COL_REAL) && !c->nnames;
}

static bool is_if(const struct column *c, const void *row)
{
	const char *p = (const char *)row + c->if_at;
	if (!c->if_size)
		return true;
	if (c->if_size > 8 || (c->if_size & (c->if_size - 1)))
		return *p != 0;
	uint64_t v = number_at(p, c->if_size, false);
	return c->is ? v == c->is - 1 : v != 0;
}

/* The row of a sub-table; NULL: there is none. */
static const void *row_below(const struct column *c, const void *row)
{
	const char *p = row ? (const char *)row + c->offset : NULL;
	return p && c->type == COL_POINTER ? *(const void *const *)(const void *)p : p;
}

/* Units */

static void print_time(const struct column *c, int64_t v, int digits, struct buf *out)
{
	time_print(out, c->unit == UNIT_TIME_S ? v * US_PER_S : v, digits);
}

static void print_number(const struct column *c, const struct cell *v, struct buf *out)
{
	int64_t i = (int64_t)v->number;
	switch (c->unit) {
	case UNIT_BYTES:
		put_size_text(out, v->number);
		return;
	case UNIT_US:
	case UNIT_US_S:
		duration_print_short(out, MAX(i, INT64_C(0)));
		return;
	case UNIT_AGO:
	case UNIT_IN:
		buf_add_text(out, c->unit == UNIT_IN ? "in " : "");
		duration_print_short(out, MAX(i, INT64_C(0)));
		buf_add_text(out, c->unit == UNIT_AGO ? " ago" : "");
		return;
	case UNIT_US_MS:
		buf_printf(out, "%.1f ms", (double)i / US_PER_MS);
		return;
	case UNIT_SHARE:
		buf_printf(out, "%.1f%%", 100 * v->real);
		return;
	case UNIT_RATE:
		buf_printf(out, "%" PRIu64 ".%03" PRIu64 " URLs a second", v->number / 1000,
			   v->number % 1000);
		return;
	case UNIT_HEX:
		buf_printf(out, "%0*" PRIx64, (int)(2 * c->size), v->number);
		return;
	case UNIT_TIME:
	case UNIT_TIME_SEC:
	case UNIT_TIME_S:
		print_time(c, i, 0, out);
		return;
	default:
		if (c->type == COL_REAL)
			buf_printf(out, "%g", v->real);
		else if (c->type == COL_INT)
			buf_printf(out, "%" PRId64, i);
		else
			buf_printf(out, "%" PRIu64, v->number);
	}
}

static void json_number(const struct column *c, const struct cell *v, struct buf *room,
			struct jsonw *j)
{
	int64_t i = (int64_t)v->number;
	switch (c->unit) {
	case UNIT_HEX:
		print_number(c, v, room);
		jsonw_str(j, buf_str(room));
		return;
	case UNIT_TIME:
	case UNIT_TIME_SEC:
	case UNIT_TIME_S:
		print_time(c, i, c->unit == UNIT_TIME_SEC ? 0 : 6, room);
		jsonw_str(j, buf_str(room));
		return;
	case UNIT_US_S:
		jsonw_real(j, (double)i / (double)US_PER_S);
		return;
	case UNIT_RATE:
		jsonw_real(j, (double)v->number / 1000);
		return;
	default:
		if (c->type == COL_REAL)
			jsonw_real(j, v->real);
		else if (c->type == COL_INT)
			jsonw_int(j, i);
		else
			jsonw_uint(j, v->number);
	}
}

/* JSON */

static void json_value(const struct column *c, const struct cell *v, struct buf *room,
		       struct jsonw *j)
{
	if (v->none && c->how & ROW_NULL)
		jsonw_null(j);
	else if (c->type == COL_BOOL)
		jsonw_bool(j, v->number);
	else if (is_number(c))
		json_number(c, v, room, j);
	else if (v->text.p || c->type == COL_STR)
		jsonw_str(j, v->text);
	else
		jsonw_null(j);
}

static void json_members(const struct rows *t, const void *row, struct buf *room, struct jsonw *j);

static void json_row(const struct rows *t, const void *row, struct buf *room, struct jsonw *j)
{
	if (t->shape == ROWS_OBJECT)
		jsonw_object(j);
	else if (t->shape == ROWS_ARRAY)
		jsonw_array(j);
	json_members(t, row, room, j);
	if (t->shape == ROWS_OBJECT)
		jsonw_object_end(j);
	else if (t->shape == ROWS_ARRAY)
		jsonw_array_end(j);
}

static void json_list(const struct rows *t, const char *first, size_t n, struct buf *room,
		      struct jsonw *j)
{
	jsonw_array(j);
	for (size_t i = 0; i < n; i++)
		json_row(t, first + i * t->size, room, j);
	jsonw_array_end(j);
}

static void json_key(const struct rows *t, const struct column *c, struct jsonw *j)
{
	if (t->shape == ROWS_OBJECT)
		jsonw_key(j, c->key);
}

/* A struct or a list. */
static void json_below(const struct rows *t, const struct column *c, const char *row,
		       struct buf *room, struct jsonw *j)
{
	const char *below = row_below(c, row);
	if (c->type == COL_LIST) {
		size_t n = number_at(row + c->count, c->count_size, false);
		if (n == 0 && c->how & ROW_SOME)
			return;
		json_key(t, c, j);
		json_list(c->rows,
			  c->size == sizeof below ? *(const char *const *)(const void *)below
						  : below,
			  n, room, j);
	} else if (!c->key) {
		if (below)
			json_members(c->rows, below, room, j);
	} else if (below || !(c->how & ROW_SOME)) {
		json_key(t, c, j);
		if (below)
			json_row(c->rows, below, room, j);
		else
			jsonw_null(j);
	}
}

static void json_members(const struct rows *t, const void *row, struct buf *room, struct jsonw *j)
{
	for (const struct column *c = t->column; c < t->column + t->n; c++) {
		if (!is_if(c, row) || (!c->key && c->label))
			continue;
		if (c->type >= COL_ROW) {
			json_below(t, c, row, room, j);
			continue;
		}
		struct cell v = cell_of(c, row, room);
		if (v.none && c->how & ROW_SOME)
			continue;
		json_key(t, c, j);
		json_value(c, &v, room, j);
	}
}

enum { ROOM = 1 << 30 }; /* of one value; the text of a document is one */

void rows_json_members(const struct rows *t, const void *row, struct jsonw *j)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(ROOM);
	json_members(t, row, &room, j);
}

void rows_json(const struct rows *t, const void *row, struct jsonw *j)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(ROOM);
	json_row(t, row, &room, j);
}

void rows_json_line(const struct rows *t, const void *row, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	rows_json(t, row, &j);
	buf_add_byte(out, '\n');
}

/* For people */

void rows_cell(const struct column *c, const void *row, struct buf *out)
{
	CLEANUP(buf_free) struct buf room = BUF_INIT(ROOM);
	bool there = row && is_if(c, row);
	struct cell v = there ? cell_of(c, row, &room) : (struct cell){.none = true};
	size_t before = out->n;
	if (c->type == COL_BOOL)
		buf_add_text(out, v.none ? "no" : "yes");
	else if (!is_number(c))
		put_safe(out, v.text);
	else if (there && !(v.none && c->how & (ROW_SOME | ROW_NULL)))
		print_number(c, &v, out);
	if (out->n == before && !(c->how & ROW_BLANK))
		buf_add_byte(out, '-');
}

bool rows_is_right(const struct column *c)
{
	return is_number(c) || c->how & ROW_RIGHT;
}

void rows_each(const struct rows *t, const void *row, rows_column_fn *fn, void *ctx)
{
	for (const struct column *c = t->column; c < t->column + t->n; c++)
		if (c->type == COL_ROW || c->type == COL_POINTER)
			rows_each(c->rows, row_below(c, row), fn, ctx);
		else if (c->label)
			fn(ctx, c, row);
}

static void head_add(void *ctx, const struct column *c, const void *row)
{
	struct text_table *t = ctx;
	CLEANUP(buf_free) struct buf text = BUF_INIT(100);
	(void)row;
	for (const char *p = c->label; *p; p++)
		buf_add_byte(&text, ascii_upper(*p));
	if (rows_is_right(c))
		t->right |= UINT64_C(1) << t->ncolumns;
	if (c->how & ROW_LOOSE)
		t->loose |= UINT64_C(1) << t->ncolumns;
	t->ncolumns++;
	text_table_add(t, "%s", buf_text(&text));
}

static void cell_add(void *ctx, const struct column *c, const void *row)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(ROOM);
	rows_cell(c, row, &text);
	text_table_add(ctx, "%s", buf_text(&text));
}

void rows_list_begin(struct rows_list *l, const struct rows *t, bool json, struct buf *out)
{
	*l = (struct rows_list){.rows = t, .out = out, .json = json, .j = JSONW_INIT(out)};
	if (json)
		jsonw_array(&l->j);
	else
		rows_each(t, NULL, head_add, &l->table);
}

void rows_list_add(struct rows_list *l, const void *row)
{
	l->n++;
	if (l->json)
		rows_json(l->rows, row, &l->j);
	else
		rows_each(l->rows, row, cell_add, &l->table);
}

void rows_list_end(struct rows_list *l)
{
	if (l->json) {
		jsonw_array_end(&l->j);
		buf_add_byte(l->out, '\n');
	} else {
		text_table_print(&l->table, l->out);
	}
	text_table_free(&l->table);
}

void rows_print(const struct rows *t, const void *first, size_t n, bool json, struct buf *out)
{
	struct rows_list l;
	rows_list_begin(&l, t, json, out);
	for (size_t i = 0; i < n; i++)
		rows_list_add(&l, (const char *)first + i * t->size);
	rows_list_end(&l);
}

void rows_lines(const struct rows *t, const void *row, const char *end, int label, int width,
		struct buf *out)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(ROOM);
	for (const struct column *c = t->column; c < t->column + t->n; c++) {
		buf_clear(&text);
		buf_printf(&text, "%s%s", c->label ? c->label : c->key, end);
		buf_printf(out, "%-*s ", label, buf_text(&text));
		buf_clear(&text);
		rows_cell(c, row, &text);
		buf_printf(out, "%*s\n", width, buf_text(&text));
	}
}
