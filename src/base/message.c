/* Attributes by a table. They come in the order of the table, so a reader walks table and bytes in
 * step: what is unknown, comes twice or comes late is whatever the table does not go on with, and
 * needs no bookkeeping. The same holds for lists, where an item ends as the next one begins: with
 * its first attribute.
 *
 * Text was chosen over numbered binary fields because people read it in a trace and write it in a
 * test; measured on jobs of reap it costs no more than one letter a line did. */
#include "base/message.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/value.h"

enum { HASH_MOST = 64 }; /* bytes */

/* Members */

static inline uint64_t member_number(const struct message_field *f, const void *member)
{
	uint64_t v = 0;
	if (f->size == sizeof(uint64_t))
		memcpy(&v, member, sizeof v);
	else if (f->size == sizeof(uint32_t))
		v = *(const uint32_t *)member;
	else
		v = f->size == sizeof(uint16_t) ? *(const uint16_t *)member
						: *(const uint8_t *)member;
	return v;
}

static int64_t member_signed(const struct message_field *f, const void *member)
{
	return f->size == sizeof(int64_t) ? *(const int64_t *)member : *(const int32_t *)member;
}

/* As it is sent: within its bounds. */
static inline uint64_t member_sent(const struct message_field *f, const void *member)
{
	int64_t most = (int64_t)MIN(f->most, (uint64_t)INT64_MAX);
	if (f->type == MESSAGE_SIGNED)
		return (uint64_t)MIN(MAX(member_signed(f, member), f->least), most);
	return MIN(MAX(member_number(f, member), (uint64_t)f->least), f->most);
}

/* Whether it is sent at all. */
static inline bool member_is_said(const struct message_field *f, const void *member)
{
	const struct str *text = member;
	if (f->type == MESSAGE_FLAG)
		return *(const bool *)member;
	if (f->must)
		return true;
	switch (f->type) {
	case MESSAGE_NUMBER:
	case MESSAGE_WORD:
		return member_number(f, member) != (uint64_t)f->none;
	case MESSAGE_SIGNED:
		return member_signed(f, member) != f->none && member_signed(f, member) >= f->least;
	case MESSAGE_TEXT:
		return text->n >= (size_t)f->least && text->n <= f->most && !str_has_control(*text);
	case MESSAGE_SAID:
	case MESSAGE_BYTES:
		return text->n > 0;
	case MESSAGE_ITEMS:
		return ((const struct message_items *)member)->n > 0;
	default:
		return true;
	}
}

static void member_set(const struct message_field *f, void *member, uint64_t v)
{
	if (f->size == sizeof(uint64_t))
		memcpy(member, &v, sizeof v);
	else if (f->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)v;
	else if (f->size == sizeof(uint16_t))
		*(uint16_t *)member = (uint16_t)v;
	else
		*(uint8_t *)member = (uint8_t)v;
}

/* Writing */

/* A line of a name and a number, which is all that most attributes are. */
static void number_write(const struct message_field *f, bool negative, uint64_t v, struct buf *out)
{
	size_t n = f->name.n;
	char *line = buf_room(out, n + STR_DECIMAL_MAX + 3);
	if (!line)
		return;
	memcpy(line, f->name.p, n);
	line[n++] = ' ';
	if (negative)
		line[n++] = '-';
	n += str_decimal(line + n, v);
	line[n++] = '\n';
	buf_grew(out, n);
}

static void text_write(const struct message_field *f, struct str text, struct buf *out)
{
	char *to = buf_room(out, f->name.n + text.n + 2);
	if (!to)
		return;
	memcpy(to, f->name.p, f->name.n);
	to += f->name.n;
	*to++ = ' ';
	if (text.n)
		memcpy(to, text.p, text.n);
	to[text.n] = '\n';
	buf_grew(out, f->name.n + text.n + 2);
}

static void said_write(const struct message_field *f, struct str text, struct buf *out)
{
	text = str_utf8_head(text, f->most);
	size_t from = out->n + f->name.n + 1;
	text_write(f, text, out);
	for (size_t i = 0; i < text.n && !out->over; i++)
		if (str_has_control((struct str){out->p + from + i, 1}))
			out->p[from + i] = ' ';
}

static void other_write(const struct message_field *f, const void *member, struct buf *out)
{
	size_t before = out->n;
	buf_add_str(out, f->name);
	buf_add_byte(out, ' ');
	size_t from = out->n;
	f->value->print(member, out);
	if (out->n == from && !out->over)
		out->n = before;
	else
		buf_add_byte(out, '\n');
}

static void field_write(const struct message_field *f, const void *member, struct buf *out)
{
	const struct message_items *items = member;
	const struct str *text = member;
	char digits[2 * HASH_MOST + 1];
	int64_t v;
	switch (f->type) {
	case MESSAGE_FLAG:
		buf_add_str(out, f->name);
		buf_add_byte(out, '\n');
		break;
	case MESSAGE_NUMBER:
		number_write(f, false, member_sent(f, member), out);
		break;
	case MESSAGE_SIGNED:
		v = (int64_t)member_sent(f, member);
		number_write(f, v < 0, v < 0 ? -(uint64_t)v : (uint64_t)v, out);
		break;
	case MESSAGE_WORD:
		ENSURE(member_number(f, member) < f->most);
		text_write(f, str_of(f->words[member_number(f, member)]), out);
		break;
	case MESSAGE_TEXT:
		text_write(f, *text, out);
		break;
	case MESSAGE_SAID:
		said_write(f, *text, out);
		break;
	case MESSAGE_BYTES:
		number_write(f, false, text->n, out);
		buf_add_str(out, *text);
		buf_add_byte(out, '\n');
		break;
	case MESSAGE_HASH:
		ENSURE(f->size <= HASH_MOST);
		hex_print(member, f->size, digits);
		text_write(f, (struct str){digits, 2 * f->size}, out);
		break;
	case MESSAGE_ITEMS:
		number_write(f, false, items->n, out);
		out->n--; /* the line goes on */
		buf_printf(out, " %zu\n", items->bytes.n);
		buf_add_str(out, items->bytes);
		break;
	case MESSAGE_OTHER:
		other_write(f, member, out);
		break;
	}
}

static void fields_write(const struct message_field *f, size_t n, const void *from, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const void *member = (const char *)from + f[i].offset;
		if (member_is_said(&f[i], member))
			field_write(&f[i], member, out);
	}
}

/* Packed: a bit for each attribute that is there, then their values. Returns where the value ends;
 * `to` has room for it. */
static char *packed_value_write(const struct message_field *f, const void *member, char *to)
{
	const struct str *text = member; /* or bytes: tables have no other types */
	uint64_t v;
	switch (f->type) {
	case MESSAGE_FLAG:
		return to;
	case MESSAGE_SIGNED:
		v = member_sent(f, member);
		return varint_write(to, v << 1 ^ (uint64_t)((int64_t)v >> 63));
	case MESSAGE_NUMBER:
	case MESSAGE_WORD:
		return varint_write(to, member_sent(f, member));
	default:
		to = varint_write(to, text->n);
		return text->n ? (char *)mempcpy(to, text->p, text->n) : to;
	}
}

static void packed_write(const struct message_field *f, size_t n, const void *from, struct buf *out)
{
	uint64_t said = 0;
	size_t most = (n + 1) * VARINT_MOST;
	for (size_t i = 0; i < n; i++) {
		const void *member = (const char *)from + f[i].offset;
		if (!member_is_said(&f[i], member))
			continue;
		said |= UINT64_C(1) << i;
		if (f[i].type >= MESSAGE_TEXT)
			most += ((const struct str *)member)->n;
	}
	char *to = buf_room(out, most), *end = to;
	if (!to)
		return;
	end = varint_write(end, said);
	for (; said; said &= said - 1) {
		const struct message_field *one = &f[__builtin_ctzll(said)];
		end = packed_value_write(one, (const char *)from + one->offset, end);
	}
	buf_grew(out, (size_t)(end - to));
}

void message_item_write(const struct message_item *item, const void *from, struct buf *out)
{
	if (item->packed)
		packed_write(item->field, item->n, from, out);
	else
		fields_write(item->field, item->n, from, out);
}

void message_write(const struct message_wire *w, int which, const void *from, struct buf *out)
{
	const struct message *m = w->message;
	char head[MESSAGE_HEAD_MAX];
	size_t at = out->n;
	while (m < w->message + w->n && m->which != which)
		m++;
	ENSURE(m < w->message + w->n);
	fields_write(m->field, m->n, from, out);
	if (out->over)
		return;
	size_t body = out->n - at, n = m->name.n;
	memcpy(head, m->name.p, n);
	head[n++] = ' ';
	n += str_decimal(head + n, body);
	head[n++] = '\n';
	if (!buf_room(out, n))
		return;
	memmove(out->p + at + n, out->p + at, body);
	memcpy(out->p + at, head, n);
	buf_grew(out, n);
}

/* Reading */

/* Keeps its first error; after that nothing is read. */
struct reading {
	struct str rest;
	const char *what; /* for errors: "tock" */
	struct err *err;
	bool bad;
};

static void reading_wrong(struct reading *r, const struct message_field *f, struct str value)
{
	char shown[VALUE_SHOWN];
	if (!r->bad)
		err_set(r->err, ERR_DAMAGED, "%s: %s cannot be '%s'", r->what, f->name.p,
			value_show(str_head(value, 80), shown));
	r->bad = true;
}

/* One spelling of each number. */
static bool number_parse(struct str text, uint64_t *ret)
{
	return (text.n == 1 || (text.n && text.p[0] != '0')) && str_u64(text, ret);
}

static void number_take(struct reading *r, const struct message_field *f, uint64_t v,
			struct str text, void *ret)
{
	if (v < (uint64_t)f->least || v > f->most)
		reading_wrong(r, f, text);
	else
		member_set(f, ret, v);
}

static void signed_take(struct reading *r, const struct message_field *f, int64_t v,
			struct str text, void *ret)
{
	if (v < f->least || (v > 0 && (uint64_t)v > f->most))
		reading_wrong(r, f, text);
	else
		member_set(f, ret, (uint64_t)v);
}

static inline void text_take(struct reading *r, const struct message_field *f, struct str text,
			     void *ret)
{
	bool is_bytes = f->type == MESSAGE_BYTES;
	if (text.n < (size_t)f->least || text.n > f->most || (!is_bytes && str_has_control(text)))
		reading_wrong(r, f, text);
	else
		*(struct str *)ret = text;
}

static void number_read(struct reading *r, const struct message_field *f, struct str text,
			void *ret)
{
	uint64_t v;
	if (!number_parse(text, &v))
		reading_wrong(r, f, text);
	else
		number_take(r, f, v, text, ret);
}

static void signed_read(struct reading *r, const struct message_field *f, struct str text,
			void *ret)
{
	bool negative = text.n && text.p[0] == '-';
	uint64_t v;
	if (!number_parse(str_from(text, negative), &v) || v > (uint64_t)INT64_MAX + negative ||
	    (negative && v == 0)) {
		reading_wrong(r, f, text);
		return;
	}
	signed_take(r, f, negative ? (int64_t)-v : (int64_t)v, text, ret);
}

static void word_read(struct reading *r, const struct message_field *f, struct str text, void *ret)
{
	size_t i = str_index(text, f->words, f->most);
	if (i == f->most || !text.n)
		reading_wrong(r, f, text);
	else
		member_set(f, ret, i);
}

/* Counted bytes after a line. */
static bool counted_read(struct reading *r, struct str count, uint64_t most, struct str *ret)
{
	uint64_t n;
	if (!number_parse(count, &n) || n > most || n > r->rest.n)
		return false;
	*ret = str_head(r->rest, n);
	r->rest = str_from(r->rest, n);
	return true;
}

static void bytes_read(struct reading *r, const struct message_field *f, struct str text,
		       struct str *ret)
{
	struct str bytes;
	if (!counted_read(r, text, f->most, &bytes) || bytes.n < (size_t)f->least || !r->rest.n ||
	    r->rest.p[0] != '\n') {
		reading_wrong(r, f, text);
		return;
	}
	*ret = bytes;
	r->rest = str_from(r->rest, 1);
}

static void items_read(struct reading *r, const struct message_field *f, struct str text,
		       struct message_items *ret)
{
	struct message_items items;
	struct str rest = text, count;
	/* an item is a line at least: so it is certain here that they are not too many */
	if (str_cut(&rest, ' ', &count) != 0 || !number_parse(count, &items.n) || items.n < 1 ||
	    items.n > f->most || !rest.p || !counted_read(r, rest, SIZE_MAX, &items.bytes) ||
	    items.n > items.bytes.n)
		reading_wrong(r, f, text);
	else
		*ret = items;
}

static void value_read(struct reading *r, const struct message_field *f, struct str text, void *ret)
{
	bool good = true;
	switch (f->type) {
	case MESSAGE_FLAG:
		break;
	case MESSAGE_NUMBER:
		number_read(r, f, text, ret);
		break;
	case MESSAGE_SIGNED:
		signed_read(r, f, text, ret);
		break;
	case MESSAGE_WORD:
		word_read(r, f, text, ret);
		break;
	case MESSAGE_TEXT:
	case MESSAGE_SAID:
		text_take(r, f, text, ret);
		break;
	case MESSAGE_BYTES:
		bytes_read(r, f, text, ret);
		break;
	case MESSAGE_HASH:
		good = hex_parse(text, ret, f->size);
		break;
	case MESSAGE_ITEMS:
		items_read(r, f, text, ret);
		break;
	case MESSAGE_OTHER:
		good = !str_has_control(text) && f->value->parse(text, ret);
		break;
	}
	if (!good)
		reading_wrong(r, f, text);
}

/* Whether the next line is this attribute; a flag has been taken then, of others the value follows.
 */
static bool name_read(struct reading *r, const struct message_field *f)
{
	size_t n = f->name.n;
	char end = f->type == MESSAGE_FLAG ? '\n' : ' ';
	if (r->rest.n <= n || r->rest.p[0] != f->name.p[0] || r->rest.p[n] != end ||
	    memcmp(r->rest.p, f->name.p, n) != 0)
		return false;
	r->rest = (struct str){r->rest.p + n + 1, r->rest.n - n - 1};
	return true;
}

static void field_missing(struct reading *r, const struct message_field *f, void *ret)
{
	if (f->must) {
		err_set(r->err, ERR_DAMAGED, "%s: %s is missing", r->what, f->name.p);
		r->bad = true;
	} else if (f->none) {
		member_set(f, ret, (uint64_t)f->none);
	}
}

static void field_read(struct reading *r, const struct message_field *f, void *ret)
{
	if (!name_read(r, f)) {
		field_missing(r, f, ret);
		return;
	}
	if (f->type == MESSAGE_FLAG) {
		*(bool *)ret = true;
		return;
	}
	size_t n = str_find_byte(r->rest, '\n');
	struct str text = str_head(r->rest, n);
	if (n == r->rest.n) {
		reading_wrong(r, f, text);
		return;
	}
	r->rest = str_from(r->rest, n + 1);
	value_read(r, f, text, ret);
}

static void fields_read(struct reading *r, const struct message_field *f, size_t n, void *ret,
			size_t size)
{
	memset(ret, 0, size);
	for (size_t i = 0; i < n && !r->bad; i++)
		field_read(r, &f[i], (char *)ret + f[i].offset);
}

static void packed_value_read(struct reading *r, const struct message_field *f, struct reader *p,
			      void *ret)
{
	static const struct str shown = {"its bytes", 9};
	uint64_t v;
	switch (f->type) {
	case MESSAGE_FLAG:
		*(bool *)ret = true;
		break;
	case MESSAGE_SIGNED:
		v = reader_varint(p);
		signed_take(r, f, (int64_t)(v >> 1 ^ (~(v & 1) + 1)), shown, ret);
		break;
	case MESSAGE_NUMBER:
		number_take(r, f, reader_varint(p), shown, ret);
		break;
	case MESSAGE_WORD:
		v = reader_varint(p);
		number_take(r, f, v < f->most ? v : UINT64_MAX, shown, ret);
		break;
	default:
		v = reader_varint(p);
		const unsigned char *bytes = reader_take(p, v);
		if (bytes)
			text_take(r, f, (struct str){(const char *)bytes, v}, ret);
	}
}

static void packed_read(struct reading *r, const struct message_item *item, void *ret)
{
	struct reader p = reader_of(r->rest);
	uint64_t said = reader_varint(&p);
	memset(ret, 0, item->size);
	p.bad |= said >> (item->n - 1) > 1; /* an attribute that the table does not have */
	for (const struct message_field *f = item->field; !r->bad && f < item->field + item->n;
	     f++, said >>= 1) {
		void *member = (char *)ret + f->offset;
		if (said & 1)
			packed_value_read(r, f, &p, member);
		else if (f->must || f->none)
			field_missing(r, f, member);
	}
	if (p.bad && !r->bad)
		err_set(r->err, ERR_DAMAGED, "%s: cut, or of another table", r->what);
	r->bad |= p.bad;
	r->rest = str_from(r->rest, reader_at(&p));
}

int message_item_next(const struct message_item *item, struct message_items *items, void *ret,
		      struct err *err)
{
	struct reading r = {.rest = items->bytes, .what = item->name, .err = err};
	if (items->n == 0 && items->bytes.n == 0)
		return 1;
	if (items->n == 0)
		return err_set(err, ERR_DAMAGED, "%s: one more than was said", item->name);
	if (item->packed)
		packed_read(&r, item, ret);
	else
		fields_read(&r, item->field, item->n, ret, item->size);
	items->bytes = r.rest;
	items->n--;
	return r.bad ? -1 : 0;
}

/* As message_frame(), with what the first line says. */
static int head_read(const struct message_wire *w, struct str bytes, const struct message **ret,
		     size_t *ret_head, size_t *ret_body)
{
	struct str head = str_head(bytes, MESSAGE_HEAD_MAX), name;
	size_t lf = str_find_byte(head, '\n'), i = 0;
	uint64_t body;
	if (lf == head.n)
		return head.n < MESSAGE_HEAD_MAX ? 1 : -1;
	head.n = lf;
	if (str_cut(&head, ' ', &name) != 0 || !head.p || !number_parse(head, &body))
		return -1;
	while (i < w->n && !str_eq(name, w->message[i].name))
		i++;
	if (i == w->n || body > w->message[i].most)
		return -1;
	*ret = &w->message[i];
	*ret_head = lf + 1;
	*ret_body = body;
	return 0;
}

int message_frame(const struct message_wire *w, struct str bytes, size_t *ret_n)
{
	const struct message *m;
	size_t head, body;
	int rc = head_read(w, bytes, &m, &head, &body);
	if (rc != 0)
		return rc;
	*ret_n = head + body;
	return *ret_n > bytes.n;
}

size_t message_wire_most(const struct message_wire *w)
{
	size_t most = 0;
	for (size_t i = 0; i < w->n; i++)
		most = MAX(most, w->message[i].most);
	return most + MESSAGE_HEAD_MAX;
}

int message_read(const struct message_wire *w, struct str bytes, int *ret_which, void *ret,
		 struct err *err)
{
	const struct message *m;
	size_t head, body;
	char shown[VALUE_SHOWN];
	if (head_read(w, bytes, &m, &head, &body) != 0 || bytes.n - head != body)
		return err_set(err, ERR_DAMAGED,
			       "not a message, or one that cannot be so large: "
			       "'%s'",
			       value_show(str_head(bytes, str_find_byte(str_head(bytes, 80), '\n')),
					  shown));
	struct reading r = {.rest = str_from(bytes, head), .what = m->name.p, .err = err};
	fields_read(&r, m->field, m->n, ret, w->size);
	if (!r.bad && r.rest.n) {
		size_t end = MIN(str_find_byte(r.rest, ' '), str_find_byte(r.rest, '\n'));
		r.bad = true;
		err_set(err, ERR_DAMAGED, "%s: %s is unknown, comes twice or comes too late",
			r.what, value_show(str_head(r.rest, MIN(end, (size_t)40)), shown));
	}
	*ret_which = m->which;
	return r.bad ? -1 : 0;
}
