/* The indexes of charsets, unpacked when a document first needs one: points by pointer, the same in
 * UTF-8 for encodings with one byte a character, and pointers by point for links. They stay until
 * the end; a worker that has met all charsets has some 2 MB of them. */
#include "extract/charset_inner.h"

/* How many first letters each kind of code has: see charset_index.h. */
enum { RUNS = 12, STEPS = 32, JUMPS = 31, GAPS = 1, FARS = 16, BASE = 92 };

/* The place of a letter among those that are used. */
static uint32_t letter_value(char c)
{
	return (uint32_t)(c - ' ' - (c > '"') - (c > '?') - (c > '\\'));
}

static void index_unpack(const struct charset_index *index, uint32_t *ret)
{
	enum { FAR = FARS / 2 * BASE * BASE, HALF = JUMPS * BASE / 2 };
	uint32_t point = 0;
	size_t at = 0;
	for (const char *p = index->packed; *p;) {
		uint32_t v = letter_value(*p++);
		if (v < RUNS) {
			for (uint32_t left = v + 1; left > 0; left--)
				ret[at++] = ++point;
			continue;
		}
		if ((v -= RUNS) < STEPS) {
			point += v + 2;
		} else if ((v -= STEPS) < JUMPS) {
			point += v * BASE + letter_value(*p++) - HALF;
		} else if ((v -= JUMPS) < GAPS) {
			at += letter_value(*p++) + 1;
			continue;
		} else {
			v = ((v - GAPS) * BASE + letter_value(p[0])) * BASE + letter_value(p[1]);
			point = v < FAR ? v : v - FAR + 0x20000;
			p += 2;
		}
		ret[at++] = point;
	}
	ENSURE(at <= index->n);
}

const uint32_t *charset_points(struct charset *c, enum charset_index_id id)
{
	if (!c->points[id]) {
		c->points[id] = mem_alloc(charset_indexes[id].n * sizeof *c->points[id]);
		index_unpack(&charset_indexes[id], c->points[id]);
	}
	return c->points[id];
}

const struct charset_table *charset_table(struct charset *c, enum charset_index_id id)
{
	const uint32_t *points = charset_points(c, id);
	if (c->tables[id])
		return c->tables[id];
	struct charset_table *t = c->tables[id] = mem_alloc(sizeof *t);
	for (size_t i = 0; i < ARRAY_LEN(t->high); i++) {
		char text[4];
		t->high[i].n = (unsigned char)charset_encode(points[i] ? points[i] : 0xfffd, text);
		memcpy(t->high[i].b, text, t->high[i].n);
	}
	return t;
}

/* Pointers that only decoders know. */
static bool is_for_decoder(enum charset_kind kind, size_t pointer)
{
	return (kind == CHARSET_SHIFT_JIS && pointer >= 8272 && pointer <= 8835) ||
	       (kind == CHARSET_BIG5 && pointer < (size_t)(0xa1 - 0x81) * 157);
}

/* Of several pointers the first counts, except for six points of big5. */
static bool is_last_taken(enum charset_kind kind, uint32_t point)
{
	static const uint16_t points[] = {0x2550, 0x255e, 0x2561, 0x256a, 0x5341, 0x5345};
	for (size_t i = 0; kind == CHARSET_BIG5 && i < ARRAY_LEN(points); i++)
		if (points[i] == point)
			return true;
	return false;
}

/* Points for private use that gb18030 wrote so before other points took their places. */
static void add_former(uint16_t *pointers)
{
	static const struct {
		uint16_t point, bytes;
	} former[] = {{0xe78d, 0xa6d9}, {0xe78e, 0xa6da}, {0xe78f, 0xa6db}, {0xe790, 0xa6dc},
		      {0xe791, 0xa6dd}, {0xe792, 0xa6de}, {0xe793, 0xa6df}, {0xe794, 0xa6ec},
		      {0xe795, 0xa6ed}, {0xe796, 0xa6f3}, {0xe81e, 0xfe59}, {0xe826, 0xfe61},
		      {0xe82b, 0xfe66}, {0xe82c, 0xfe67}, {0xe832, 0xfe6d}, {0xe843, 0xfe7e},
		      {0xe854, 0xfe90}, {0xe864, 0xfea0}};
	for (size_t i = 0; i < ARRAY_LEN(former); i++) {
		unsigned lead = former[i].bytes >> 8, trail = former[i].bytes & 0xff;
		unsigned pointer = (lead - 0x81) * 190 + trail - (trail < 0x7f ? 0x40 : 0x41);
		pointers[former[i].point] = (uint16_t)(pointer + 1);
	}
}

int charset_pointer(struct charset *c, const struct charset_def *def, uint32_t point)
{
	uint16_t **pointers = &c->pointers[def - charset_defs];
	if (!*pointers) {
		const uint32_t *points = charset_points(c, def->index);
		*pointers = mem_alloc(CHARSET_POINTS * sizeof **pointers);
		for (size_t i = charset_indexes[def->index].n; i-- > 0;) {
			uint16_t *to = *pointers + points[i];
			if (points[i] && !is_for_decoder(def->kind, i) &&
			    (!*to || !is_last_taken(def->kind, points[i])))
				*to = (uint16_t)(i + 1);
		}
		if (def->kind == CHARSET_GB18030)
			add_former(*pointers);
	}
	return point < CHARSET_POINTS ? (*pointers)[point] - 1 : -1;
}

const struct charset_range *charset_range(uint32_t value, bool point)
{
	const struct charset_range *r = charset_ranges;
	return &r[BISECT(i, 1, CHARSET_RANGES, (point ? r[i].point : r[i].pointer) <= value) - 1];
}

void charset_points_free(struct charset *c)
{
	for (size_t i = 0; i < CHARSET_INDEXES; i++) {
		mem_free(&c->points[i]);
		mem_free(&c->tables[i]);
	}
	for (size_t i = 0; i < CHARSET_DEFS; i++)
		mem_free(&c->pointers[i]);
}
