/* The indexes of charsets, unpacked when a document first needs one: points by pointer, and the
 * same in UTF-8 for encodings with one byte a character. They stay until the end. */
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

const struct charset_range *charset_range(uint32_t value, bool point)
{
	size_t low = 0, high = CHARSET_RANGES;
	while (high - low > 1) {
		size_t middle = (low + high) / 2;
		const struct charset_range *r = &charset_ranges[middle];
		if ((point ? r->point : r->pointer) <= value)
			low = middle;
		else
			high = middle;
	}
	return &charset_ranges[low];
}

void charset_points_free(struct charset *c)
{
	for (size_t i = 0; i < CHARSET_INDEXES; i++) {
		mem_free(&c->points[i]);
		mem_free(&c->tables[i]);
	}
}
