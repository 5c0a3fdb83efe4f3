/* Segments of names that are open: their parts. The dictionary is in names_segment_walk.c, lists of
 * trigrams are in names_segment_lists.c. */
#include "index/names/names_segment_inner.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays of numbers are read in place");

const uint8_t names_gap_bits[GAP_CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 30};
const uint32_t names_gap_base[GAP_CLASSES] = {0,   1,   3,    7,    15,   31,   63,    127,
					      255, 511, 1023, 2047, 4095, 8191, 24575, 155647};

int names_damaged(const struct names_segment *s, struct err *err, const char *fmt, ...)
{
	char what[256];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	return err_set(err, ERR_DAMAGED, "%s: %s; the index has to be built again", s->path, what);
}

int names_part_bytes(struct names_segment *s, enum names_segment_part part, uint64_t from,
		     uint64_t n, const uint8_t **ret, struct err *err)
{
	struct str bytes;
	const struct names_part_place *place = &s->part[part];
	if (UNLIKELY(from > place->n || n > place->n - from))
		return names_damaged(s, err,
				     "%" PRIu64 " bytes at %" PRIu64 " of part %d, which has "
				     "%" PRIu64,
				     n, from, part, place->n);
	if (page_get(s->file, place->at + from, (size_t)n, &bytes, err) < 0)
		return -1;
	*ret = (const uint8_t *)bytes.p;
	return 0;
}

int names_part_slowly(struct names_segment *s, enum names_segment_part part, const uint8_t **ret,
		      struct err *err)
{
	if (names_part_bytes(s, part, 0, s->part[part].n, ret, err) < 0)
		return -1;
	atomic_store_explicit(&s->ready[part], *ret, memory_order_release);
	return 0;
}

/* Opening */

static int read_names_foot(struct names_segment *s, struct err *err)
{
	uint64_t bytes = page_bytes(s->file);
	struct str head, tail;
	if (bytes < NAMES_HEAD + NAMES_FOOT)
		return names_damaged(s, err, "it is too short for a segment of names");
	if (page_get(s->file, 0, NAMES_HEAD, &head, err) < 0 ||
	    page_get(s->file, bytes - NAMES_FOOT, NAMES_FOOT, &tail, err) < 0)
		return -1;
	struct reader h = reader_of(head), r = reader_of(tail);
	if (!str_is(reader_bytes(&h, FORMAT_MAGIC), NAMES_SEGMENT_MAGIC))
		return names_damaged(s, err, "it is not a segment of names");
	uint32_t version = reader_u32le(&h);
	if (version != NAMES_SEGMENT_VERSION)
		return names_damaged(s, err, "version %" PRIu32 ", this program knows version %d",
				     version, NAMES_SEGMENT_VERSION);
	for (unsigned i = 0; i < NAMES_SEGMENT_PARTS; i++) {
		struct names_part_place *place = &s->part[i];
		place->at = reader_u64le(&r);
		place->n = reader_u64le(&r);
		if (place->at > bytes - NAMES_FOOT || place->n > bytes - NAMES_FOOT - place->at)
			return names_damaged(s, err, "part %u is not inside it", i);
	}
	s->info.entries = reader_u32le(&r);
	s->info.names = reader_u32le(&r);
	s->info.forms = reader_u32le(&r);
	s->info.trigrams = reader_u32le(&r);
	return 0;
}

static int check_names_foot(struct names_segment *s, struct err *err)
{
	const struct names_segment_info *i = &s->info;
	uint64_t blocks = ((uint64_t)i->names + NAMES_BLOCK - 1) / NAMES_BLOCK;
	if (i->entries > NAMES_ENTRIES_MOST || i->forms > i->entries || i->names > i->forms ||
	    i->trigrams > 1 << 24 || i->entries - i->names > names_entries_most(s) ||
	    (i->names == 0 && i->entries != 0))
		return names_damaged(s, err, "a number at its end is out of bounds");
	if (s->part[NAMES_PREFIXES].n != blocks * 8 ||
	    s->part[NAMES_PLACES].n != blocks * NAMES_WHERE ||
	    s->part[NAMES_COUNTS].n != ((uint64_t)i->names + 1) / 2 ||
	    s->part[NAMES_TRIGRAMS].n !=
		    (uint64_t)(NAMES_BYTES + 1) * 4 + (uint64_t)i->trigrams * NAMES_DIRECTORY)
		return names_damaged(s, err, "a part has a length that does not fit its numbers");
	s->blocks = (uint32_t)blocks;
	s->entry_bits = names_bits_of(i->entries ? i->entries - 1 : 0);
	s->info.file_bytes = page_bytes(s->file);
	return 0;
}

static int read_names_table(struct names_segment *s, struct err *err)
{
	const uint8_t *p;
	uint64_t n = s->part[NAMES_CODES].n;
	if (n > NAMES_TABLE_MOST)
		return names_damaged(s, err, "its table of codes is too long");
	if (names_part_bytes(s, NAMES_CODES, 0, n, &p, err) < 0)
		return -1;
	if (!names_table_get(&s->table, (struct str){(const char *)p, (size_t)n}))
		return names_damaged(s, err, "its table of codes is wrong");
	return 0;
}

int names_segment_open(struct names_segment **ret, const char *path, struct err *err)
{
	struct page_file *file;
	int rc = page_open(&file, path, err);
	if (rc > 0)
		return err_set(err, ERR_DAMAGED, "%s: it is not there", path);
	if (rc < 0)
		return -1;
	struct names_segment *s = mem_alloc(sizeof *s);
	s->file = file;
	s->path = mem_text(path);
	if (read_names_foot(s, err) < 0 || check_names_foot(s, err) < 0 ||
	    read_names_table(s, err) < 0) {
		names_segment_close(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void names_segment_close(struct names_segment **s)
{
	if (*s) {
		page_close(&(*s)->file);
		mem_free(&(*s)->path);
	}
	mem_free(s);
}

int names_segment_check(const struct names_segment *s, struct err *err)
{
	return page_check(s->file, err);
}

const struct names_segment_info *names_segment_info(const struct names_segment *s)
{
	return &s->info;
}
