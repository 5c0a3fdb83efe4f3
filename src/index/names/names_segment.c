/* Segments of names that are open: their parts. The dictionary is in names_segment_walk.c, lists of
 * trigrams are in names_segment_lists.c. */
#include "index/names/names_segment_inner.h"

const struct parts_kind names_segment_kind = {.what = "a segment of names",
					      .magic = NAMES_SEGMENT_MAGIC,
					      .version = NAMES_SEGMENT_VERSION,
					      .parts = NAMES_SEGMENT_PARTS,
					      .foot = NAMES_FOOT};

const uint8_t names_gap_bits[GAP_CLASSES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 17, 30};
const uint32_t names_gap_base[GAP_CLASSES] = {0,   1,   3,    7,    15,   31,   63,    127,
					      255, 511, 1023, 2047, 4095, 8191, 24575, 155647};

/* Opening */

static int read_names_foot(struct names_segment *s, struct reader *r, struct err *err)
{
	s->info.entries = reader_u32le(r);
	s->info.names = reader_u32le(r);
	s->info.forms = reader_u32le(r);
	s->info.trigrams = reader_u32le(r);
	const struct names_segment_info *i = &s->info;
	uint64_t blocks = ((uint64_t)i->names + NAMES_BLOCK - 1) / NAMES_BLOCK;
	if (i->entries > NAMES_ENTRIES_MOST || i->forms > i->entries || i->names > i->forms ||
	    i->trigrams > 1 << 24 || i->entries - i->names > names_entries_most(s) ||
	    (i->names == 0 && i->entries != 0))
		return parts_damaged(&s->f, err, "a number at its end is out of bounds");
	if (s->f.part[NAMES_PREFIXES].n != blocks * 8 ||
	    s->f.part[NAMES_PLACES].n != blocks * NAMES_WHERE ||
	    s->f.part[NAMES_COUNTS].n != ((uint64_t)i->names + 1) / 2 ||
	    s->f.part[NAMES_TRIGRAMS].n !=
		    (uint64_t)(NAMES_BYTES + 1) * 4 + (uint64_t)i->trigrams * NAMES_DIRECTORY)
		return parts_damaged(&s->f, err,
				     "a part has a length that does not fit its numbers");
	s->blocks = (uint32_t)blocks;
	s->entry_bits = names_bits_of(i->entries ? i->entries - 1 : 0);
	s->info.file_bytes = page_bytes(s->f.file);
	return 0;
}

static int read_names_table(struct names_segment *s, struct err *err)
{
	const uint8_t *p;
	uint64_t n = s->f.part[NAMES_CODES].n;
	if (n > NAMES_TABLE_MOST)
		return parts_damaged(&s->f, err, "its table of codes is too long");
	if (parts_bytes(&s->f, NAMES_CODES, 0, n, &p, err) < 0)
		return -1;
	if (!names_table_get(&s->table, (struct str){(const char *)p, (size_t)n}))
		return parts_damaged(&s->f, err, "its table of codes is wrong");
	return 0;
}

int names_segment_open(struct names_segment **ret, const char *path, struct err *err)
{
	struct names_segment *s = mem_alloc(sizeof *s);
	struct reader foot;
	int rc = parts_open(&s->f, path, &names_segment_kind, &foot, err);
	if (rc > 0)
		rc = err_set(err, ERR_DAMAGED, "%s: it is not there", path);
	if (rc < 0 || read_names_foot(s, &foot, err) < 0 || read_names_table(s, err) < 0) {
		names_segment_close(&s);
		return -1;
	}
	*ret = s;
	return 0;
}

void names_segment_close(struct names_segment **s)
{
	if (*s)
		parts_close(&(*s)->f);
	mem_free(s);
}

int names_segment_check(const struct names_segment *s, struct err *err)
{
	return page_check(s->f.file, err);
}

const struct names_segment_info *names_segment_info(const struct names_segment *s)
{
	return &s->info;
}
