/* The encoding of buckets: lists of attributes in the three forms that there are (lines, v3.0,
 * v3.3), of which v3.3 is written, with a checksum as the last attribute of the header. */
#include "bucket/bucket_attrs.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "bucket/bucket_inner.h"

#include <inttypes.h>

/* The checksum: an attribute of eight hexadecimal digits, the last of the header. */
enum { SUM_NAME = '#', SUM_DIGITS = 8, BYTES_MAX = 6 };

static bool name_printable(char c)
{
	return c > ' ' && c < 0x7f;
}

/* Numbers of up to 31 bits in the manner of UTF-8. */

struct form {
	unsigned char first, mask; /* of the first byte */
	uint32_t below;            /* the first number that does not fit */
};
static const struct form forms[BYTES_MAX] = {
	{0x00, 0x7f, 1u << 7},  {0xc0, 0x1f, 1u << 11}, {0xe0, 0x0f, 1u << 16},
	{0xf0, 0x07, 1u << 21}, {0xf8, 0x03, 1u << 26}, {0xfc, 0x01, 1u << 31},
};

static void put_number(struct buf *out, uint32_t v)
{
	size_t more = 0;
	while (v >= forms[more].below)
		more++;
	buf_add_byte(out, (char)(forms[more].first | (v >> 6 * more)));
	while (more--)
		buf_add_byte(out, (char)(0x80 | ((v >> 6 * more) & 0x3f)));
}

static uint32_t take_number(struct reader *r)
{
	uint8_t c = reader_u8(r);
	size_t more = 0;
	while (more < BYTES_MAX && (c & ~forms[more].mask) != forms[more].first)
		more++;
	if (more == BYTES_MAX) {
		r->bad = true;
		return 0;
	}
	uint32_t v = c & forms[more].mask;
	while (more--) {
		uint8_t next = reader_u8(r);
		r->bad |= (next & 0xc0) != 0x80;
		v = v << 6 | (next & 0x3f);
	}
	return v;
}

static int attr_damaged(const struct reader *r, const char *why, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "the attribute at byte %zu of the bucket: %s",
		       reader_at(r), why);
}

/* One attribute of v3.3. 1: the end of the bytes, or the byte that ends a header (*ret_ended). */
static int take_v33(struct reader *r, struct attr *ret, bool *ret_ended, struct err *err)
{
	*ret_ended = false;
	if (reader_left(r) == 0)
		return 1;
	struct reader at = *r;
	uint32_t n = take_number(r);
	if (!r->bad && n == 0) {
		*ret_ended = true;
		return 1;
	}
	ret->value = reader_bytes(r, n - 1);
	ret->name = (char)reader_u8(r);
	if (r->bad)
		return attr_damaged(&at, "it runs past the end", err);
	return name_printable(ret->name)
		       ? 0
		       : attr_damaged(&at, "its name is not a printable character", err);
}

/* One line of the old forms. 1: the end, or the empty line that ends a header. */
static int take_line(struct reader *r, bool v30, struct attr *ret, bool *ret_ended, struct err *err)
{
	*ret_ended = false;
	while (reader_left(r)) {
		struct reader at = *r;
		struct str rest = {(const char *)r->p, reader_left(r)};
		size_t n = str_find_byte(rest, '\n');
		reader_skip(r, MIN(n + 1, rest.n));
		if (n > 0) {
			*ret = (struct attr){rest.p[0], {rest.p + 1, n - 1}};
			return name_printable(ret->name)
				       ? 0
				       : attr_damaged(&at, "its name is not a printable character",
						      err);
		}
		if (v30) {
			*ret_ended = true;
			return 1;
		}
	}
	return 1;
}

enum form_of { FORM_LINES, FORM_V30, FORM_V33 };

static enum form_of form_of(uint32_t type)
{
	if (type <= BUCKET_PLAIN)
		return FORM_LINES;
	return type == BUCKET_V30 ? FORM_V30 : FORM_V33;
}

static int type_check(uint32_t type, struct err *err)
{
	if (type <= BUCKET_LIZARD || type == BUCKET_V33_ZSTD)
		return 0;
	return err_set(err, ERR_DAMAGED, "a bucket of type %08" PRIx32 ", which is not known",
		       type);
}

static int take_attr(struct reader *r, enum form_of form, bool header, struct attr *ret,
		     bool *ret_ended, struct err *err)
{
	return form == FORM_V33 ? take_v33(r, ret, ret_ended, err)
				: take_line(r, header && form == FORM_V30, ret, ret_ended, err);
}

/* The place of the checksum's digits, if what was taken last is a checksum. */
static const char *sum_of(const struct attr *last)
{
	return last->name == SUM_NAME && last->value.n == SUM_DIGITS ? last->value.p : NULL;
}

/* Goes through a header up to its end. list may be NULL. */
static int header_walk(struct reader *r, enum form_of form, struct arena *arena, struct attrs *list,
		       const char **ret_sum, struct err *err)
{
	struct attr attr, last = {0};
	bool ended = form == FORM_LINES; /* no header at all */
	int rc = ended ? 1 : 0;
	while (rc == 0 && (rc = take_attr(r, form, true, &attr, &ended, err)) == 0) {
		if (list && last.name)
			attrs_add(list, arena, last.name, last.value);
		last = attr;
	}
	if (rc < 0)
		return rc;
	*ret_sum = form == FORM_V33 ? sum_of(&last) : NULL;
	if (list && last.name && !*ret_sum)
		attrs_add(list, arena, last.name, last.value);
	return 0;
}

int bucket_header(uint32_t type, struct str data, struct arena *arena, struct attrs *ret,
		  struct str *ret_rest, struct err *err)
{
	struct attrs list = {0};
	struct reader r = reader_of(data);
	const char *sum;
	if (type_check(type, err) < 0 ||
	    header_walk(&r, form_of(type), arena, &list, &sum, err) < 0)
		return -1;
	*ret = list;
	if (ret_rest)
		*ret_rest = (struct str){(const char *)r.p, reader_left(&r)};
	return 0;
}

/* Over all but the digits, and what the head says. */
static void sum_print(uint32_t type, struct str data, size_t at, char ret[SUM_DIGITS + 1])
{
	unsigned char words[8];
	for (unsigned i = 0; i < 4; i++) {
		words[i] = (unsigned char)(type >> 8 * i);
		words[4 + i] = (unsigned char)(data.n >> 8 * i);
	}
	uint32_t crc = crc32c(0, words, sizeof words);
	crc = crc32c(crc, data.p, at);
	crc = crc32c(crc, data.p + at + SUM_DIGITS, data.n - at - SUM_DIGITS);
	for (unsigned i = 0; i < 4; i++)
		words[i] = (unsigned char)(crc >> (24 - 8 * i));
	hex_print(words, 4, ret);
}

static bool sum_right(uint32_t type, struct str data, const char *digits)
{
	char want[SUM_DIGITS + 1];
	sum_print(type, data, (size_t)(digits - data.p), want);
	return memcmp(digits, want, SUM_DIGITS) == 0;
}

static int body_walk(struct str body, enum form_of form, struct arena *arena, struct attrs *list,
		     struct err *err)
{
	struct reader r = reader_of(body);
	struct attr attr;
	bool ended;
	int rc;
	while ((rc = take_attr(&r, form, false, &attr, &ended, err)) == 0)
		if (list)
			attrs_add(list, arena, attr.name, attr.value);
	if (rc < 0)
		return rc;
	return ended ? attr_damaged(&r, "a second header begins after it", err) : 0;
}

static bool type_packed(uint32_t type)
{
	return type == BUCKET_V33_ZSTD || type == BUCKET_LIZARD;
}

/* Reads the header, verifies the checksum, and gives the stored body. 1: it has no checksum. */
static int bucket_open_checked(uint32_t type, struct str data, struct arena *arena,
			       struct attrs *header, struct str *ret_rest, struct err *err)
{
	struct reader r = reader_of(data);
	const char *sum = NULL;
	if (type_check(type, err) < 0 ||
	    header_walk(&r, form_of(type), arena, header, &sum, err) < 0)
		return -1;
	if (!sum && type == BUCKET_V33_ZSTD)
		return err_set(err, ERR_DAMAGED, "its checksum is missing");
	if (sum && !sum_right(type, data, sum))
		return err_set(err, ERR_DAMAGED, "its checksum does not fit what is in it");
	*ret_rest = (struct str){(const char *)r.p, reader_left(&r)};
	return sum ? 0 : 1;
}

int bucket_check(uint32_t type, struct str data, struct err *err)
{
	struct str rest = {0};
	int rc = bucket_open_checked(type, data, NULL, NULL, &rest, err);
	if (rc == 1 && !type_packed(type) && body_walk(rest, form_of(type), NULL, NULL, err) < 0)
		return -1;
	return rc;
}

int bucket_needs(struct bucket_packer *packer, uint32_t type, struct str data, uint32_t *ret_id,
		 struct err *err)
{
	struct reader r = reader_of(data);
	const char *sum;
	*ret_id = 0;
	if (type != BUCKET_V33_ZSTD)
		return 0;
	if (header_walk(&r, form_of(type), NULL, NULL, &sum, err) < 0)
		return -1;
	struct str rest = {(const char *)r.p, reader_left(&r)};
	return rest.n ? bucket_dict_there(packer, rest, ret_id, err) : 0;
}

static int body_unpack(struct bucket_packer *packer, uint32_t type, struct str rest,
		       struct arena *arena, struct str *ret, struct err *err)
{
	if (rest.n == 0 || !type_packed(type)) {
		*ret = rest;
		return 0;
	}
	if (type == BUCKET_LIZARD)
		return err_set(err, ERR_USAGE, "a body in LiZaRd, which is not read here");
	if (!packer)
		return err_set(err, ERR_USAGE, "a packed body, and nothing to unpack it with");
	return bucket_unpack(packer, rest, arena, ret, err);
}

int bucket_body(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		struct str *ret, struct err *err)
{
	struct str rest = {0};
	if (bucket_open_checked(type, data, NULL, NULL, &rest, err) < 0)
		return -1;
	return body_unpack(packer, type, rest, arena, ret, err);
}

int bucket_decode(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		  struct attrs *ret_header, struct attrs *ret_body, struct err *err)
{
	struct attrs header = {0}, body = {0};
	struct str rest = {0}, bytes = {0};
	if (bucket_open_checked(type, data, arena, &header, &rest, err) < 0 ||
	    body_unpack(packer, type, rest, arena, &bytes, err) < 0 ||
	    body_walk(bytes, form_of(type), arena, &body, err) < 0)
		return -1;
	*ret_header = header;
	*ret_body = body;
	return 0;
}

/* Writing */

static int put_attrs(struct buf *out, const struct attrs *list, struct err *err)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct attr *a = &list->a[i];
		if (!name_printable(a->name))
			return err_set(err, ERR_USAGE, "an attribute with the name \\x%02x",
				       (unsigned char)a->name);
		if (a->value.n > BUCKET_DATA_MOST)
			return err_set(err, ERR_USAGE, "an attribute %c of %zu bytes; at most %d",
				       a->name, a->value.n, BUCKET_DATA_MOST);
		put_number(out, (uint32_t)a->value.n + 1);
		buf_add_str(out, a->value);
		buf_add_byte(out, a->name);
	}
	return 0;
}

static int bucket_too_long(struct err *err)
{
	return err_set(err, ERR_USAGE, "attributes of more than the %d bytes that a bucket takes",
		       BUCKET_DATA_MOST);
}

/* The header with room for its checksum; *ret_sum: where that is. */
static int put_header(struct buf *out, const struct attrs *header, size_t *ret_sum, struct err *err)
{
	if (put_attrs(out, header, err) < 0)
		return -1;
	put_number(out, SUM_DIGITS + 1);
	*ret_sum = out->n;
	buf_add(out, "00000000", SUM_DIGITS);
	buf_add_byte(out, SUM_NAME);
	buf_add_byte(out, 0);
	return 0;
}

int bucket_encode_raw(struct bucket_packer *packer, const struct attrs *header, struct str body,
		      struct buf *out, uint32_t *ret_type, struct err *err)
{
	size_t from = out->n, sum;
	uint32_t type = BUCKET_V33;
	if (body.n > BUCKET_DATA_MOST)
		return bucket_too_long(err);
	if (put_header(out, header, &sum, err) < 0) {
		out->n = from;
		return -1;
	}
	int rc = packer ? bucket_pack(packer, body, out->n - from, out, err) : 1;
	if (rc == 0)
		type = BUCKET_V33_ZSTD;
	else if (rc == 1)
		buf_add_str(out, body);
	if (rc >= 0 && (out->over || out->n - from > BUCKET_DATA_MOST))
		rc = bucket_too_long(err);
	if (rc < 0) {
		out->n = from;
		return rc;
	}
	char digits[SUM_DIGITS + 1];
	sum_print(type, (struct str){out->p + from, out->n - from}, sum - from, digits);
	memcpy(out->p + sum, digits, SUM_DIGITS);
	*ret_type = type;
	return 0;
}

int bucket_encode(struct bucket_packer *packer, const struct attrs *header,
		  const struct attrs *body, struct buf *out, uint32_t *ret_type, struct err *err)
{
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(BUCKET_DATA_MOST);
	size_t most = 0;
	for (size_t i = 0; i < body->n && most < BUCKET_DATA_MOST; i++)
		most += BYTES_MAX + 1 + body->a[i].value.n;
	(void)buf_room(&bytes, MIN(most, (size_t)BUCKET_DATA_MOST)); /* once, not by doubling */
	if (put_attrs(&bytes, body, err) < 0)
		return -1;
	if (bytes.over)
		return bucket_too_long(err);
	return bucket_encode_raw(packer, header, buf_str(&bytes), out, ret_type, err);
}

int bucket_put(struct buckets *b, struct bucket_packer *packer, const struct attrs *header,
	       const struct attrs *body, uint32_t *ret_oid, struct err *err)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(BUCKET_DATA_MOST);
	uint32_t type;
	if (bucket_encode(packer, header, body, &out, &type, err) < 0)
		return -1;
	return bucket_append(b, type, buf_str(&out), ret_oid, err);
}

int bucket_get(struct buckets *b, struct bucket_packer *packer, uint32_t oid, struct arena *arena,
	       struct attrs *ret_header, struct attrs *ret_body, struct err *err)
{
	struct bucket bucket;
	int rc = bucket_read(b, oid, &bucket, err);
	if (rc)
		return rc;
	struct str data = arena_str(arena, bucket.data);
	if (bucket_decode(packer, bucket.type, data, arena, ret_header, ret_body, err) < 0)
		return err_in(err, "%s: bucket %08" PRIx32, bucket_path(b), oid);
	return 0;
}
