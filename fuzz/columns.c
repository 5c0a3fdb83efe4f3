/* Columns of any bytes. The first byte says how many changes are made; they follow, two bytes of
 * place and one of bits. The rest is text, a document a line: size | date | site, of which each may
 * be missing. Places are counted in the parts of the segment that columns are kept in; the changed
 * bytes get new checksums, so that all readers see them.
 *
 * Without changes each document has what its line says, spans hold it and values are found by text
 * and by number. With changes reading ends, and so does a merge; what is read is within its bounds,
 * and damage is named. */
#include "base/cursor.h"
#include "index/words/invert.h"
#include "memory_file.h"

#include <stdio.h>
#include <unistd.h>

enum { SIZE = SEGMENT_COLUMN, DAY, SITE, COLUMNS };

static struct words_settings settings;
static struct token_rules *rules;

static bool is_good(int rc, const struct err *err)
{
	bool refused = err->code == ERR_DAMAGED || err->code == ERR_USAGE; /* another version */
	ENSURE(rc >= 0 || (refused && err->msg[0]));
	return rc == 0;
}

static void set_column(uint32_t column, const char *name, enum words_type type)
{
	uint32_t i = column - SEGMENT_COLUMN;
	snprintf(settings.column[i].name, sizeof settings.column[i].name, "%s", name);
	settings.column[i].type = type;
	settings.columns = i + 1;
}

static void set_up(void)
{
	struct err err;
	ENSURE(token_rules_open(&rules, STR(""), &err) == 0);
	words_settings_default(&settings);
	set_column(SIZE, "size", WORDS_NUMBER);
	set_column(DAY, "day", WORDS_DATE);
	set_column(SITE, "site", WORDS_WORD);
}

/* What a line says. */
struct line {
	struct str field[3];
	int64_t size;
	bool has_size;
};

static struct line read_line(struct str text)
{
	struct line l = {0};
	for (unsigned i = 0; i < ARRAY_LEN(l.field) && str_cut(&text, '|', &l.field[i]) == 0; i++)
		;
	struct query_value v = query_value(str_trim(l.field[0]));
	l.size = v.number;
	l.has_size = v.is_number && v.number != SEGMENT_ABSENT;
	return l;
}

static uint32_t build_segment(struct str text, const char *path)
{
	struct err err;
	struct invert *inv = invert_new(&settings, rules);
	struct str line;
	uint32_t docs = 0;
	while (str_cut(&text, '\n', &line) == 0) {
		static const char *const names[] = {"size", "day", "site"};
		struct line l = read_line(line);
		struct words_attr attr[3];
		char key[32];
		for (unsigned i = 0; i < ARRAY_LEN(attr); i++)
			attr[i] = (struct words_attr){str_of(names[i]), l.field[i]};
		snprintf(key, sizeof key, "k%u", docs++);
		struct words_doc doc = {.key = str_of(key), .attr = attr, .n = ARRAY_LEN(attr)};
		ENSURE(invert_add(inv, &doc, &err) == 0);
	}
	ENSURE(invert_write(inv, path, false, &err) == 0);
	invert_free(&inv);
	return docs;
}

/* Everything of all columns, within its bounds. */
static void read_columns(struct segment *s)
{
	struct err err = {0};
	struct segment_column column;
	const struct segment_span *span;
	struct str text;
	uint32_t values, number, docs = segment_info(s)->docs;
	int64_t sum = 0;
	for (unsigned c = 0; c < COLUMNS + 1; c++) {
		if (is_good(segment_column(s, c, &column, &err), &err))
			for (uint32_t doc = 0; doc < docs; doc++)
				sum ^= segment_number(&column, doc);
		if (is_good(segment_spans(s, c, &span, &err), &err) && span)
			for (uint32_t doc = 0; doc < docs; doc += SEGMENT_SPAN)
				sum ^= span[doc / SEGMENT_SPAN].least ^
				       span[doc / SEGMENT_SPAN].most;
		if (!is_good(segment_values(s, c, &values, &err), &err))
			continue;
		for (uint32_t i = 0; i <= values; i++)
			if (is_good(segment_value(s, c, i, &text, &err), &err)) {
				ENSURE(i > 0 && text.n <= WORDS_VALUE_MOST);
				if (is_good(segment_value_number(s, c, text, &number, &err), &err))
					ENSURE(number >= 1 && number <= values);
			}
	}
	(void)*(volatile int64_t *)&sum;
}

/* What the lines say is what is there. */
static void compare_lines(struct segment *s, struct str text)
{
	struct err err = {0};
	struct segment_column size, site;
	struct str line, value, before = STR("");
	char room[WORDS_VALUE_MOST];
	uint32_t values, number, doc = 0;
	ENSURE(segment_verify_columns(s, &err) == 0);
	ENSURE(segment_column(s, SIZE, &size, &err) == 0);
	ENSURE(segment_column(s, SITE, &site, &err) == 0);
	for (; str_cut(&text, '\n', &line) == 0; doc++) {
		struct line l = read_line(line);
		struct str want = words_value(l.field[2], room);
		ENSURE(segment_number(&size, doc) == (l.has_size ? l.size : SEGMENT_ABSENT));
		int64_t v = segment_number(&site, doc);
		ENSURE((v == SEGMENT_ABSENT) == (want.n == 0));
		if (want.n == 0)
			continue;
		ENSURE(segment_value(s, SITE, (uint32_t)v, &value, &err) == 0);
		ENSURE(str_eq(value, want));
		ENSURE(segment_value_number(s, SITE, want, &number, &err) == 0);
		ENSURE(number == v);
	}
	ENSURE(segment_values(s, SITE, &values, &err) == 0);
	for (uint32_t i = 1; i <= values; i++, before = value) {
		ENSURE(segment_value(s, SITE, i, &value, &err) == 0);
		ENSURE(str_cmp(before, value) < 0);
	}
}

/* Of the parts of columns the byte that a number means. */
static uint64_t place_of(const struct segment *s, uint64_t at)
{
	static const enum segment_part parts[] = {PART_VALUES, PART_SPANS, PART_COLUMNS};
	uint64_t all = 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		all += s->f.part[parts[i]].n;
	at %= all;
	for (size_t i = 0;; i++) {
		const struct parts_place *place = &s->f.part[parts[i]];
		if (at < place->n)
			return place->at + at;
		at -= place->n;
	}
}

static void change_parts(const struct segment *s, struct reader *changes, const char *to)
{
	struct err err;
	struct page_writer w;
	struct str bytes;
	ENSURE(page_get(s->f.file, 0, (size_t)page_bytes(s->f.file), &bytes, &err) == 0);
	char *copy = mem_copy(bytes.p, bytes.n);
	while (reader_left(changes) >= 3) {
		uint64_t at = place_of(s, reader_u16le(changes));
		copy[at] = (char)(copy[at] ^ reader_u8(changes));
	}
	ENSURE(page_create(&w, to, 0600, &(struct stream_options){.buffered = true}, &err) == 0);
	page_put(&w, copy, bytes.n);
	ENSURE(page_finish(&w, false, &err) == 0);
	mem_free(&copy);
}

/* The sound one and the changed one as one, which is sound then. */
static void merge_both(struct segment *a, struct segment *b, const char *to)
{
	struct err err = {0};
	atomic_bool stop = false;
	struct merge_spec spec = {.settings = &settings, .stop = &stop};
	struct segment *both[] = {a, b}, *merged;
	struct merge_source source[2] = {0};
	for (size_t i = 0; i < ARRAY_LEN(both); i++) {
		source[i].segment = both[i];
		source[i].number = mem_array(segment_info(both[i])->docs + 1, sizeof(uint32_t));
	}
	if (is_good(segment_merge(source, 2, &spec, to, &err), &err)) {
		ENSURE(segment_open(&merged, to, &err) == 0);
		ENSURE(segment_verify_columns(merged, &err) == 0);
		segment_close(&merged);
	}
	mem_free(&source[0].number);
	mem_free(&source[1].number);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err err = {0};
	struct segment *s = NULL, *other = NULL;
	char path[64], changed[64], merged[64];
	struct reader in = reader_of((struct str){(const char *)data, size});
	size_t n = MIN(reader_u8(&in) * (size_t)3, reader_left(&in));
	struct reader changes = reader_of(reader_bytes(&in, n));
	struct str text = reader_bytes(&in, MIN(reader_left(&in), (size_t)4096));
	if (!rules)
		set_up();
	int a = memory_file(path), b = memory_file(changed), c = memory_file(merged);
	uint32_t docs = build_segment(text, path);
	ENSURE(segment_open(&s, path, &err) == 0 && segment_info(s)->docs == docs);
	read_columns(s);
	compare_lines(s, text);
	change_parts(s, &changes, changed);
	if (is_good(segment_open(&other, changed, &err), &err)) {
		(void)is_good(segment_verify_columns(other, &err), &err);
		read_columns(other);
		merge_both(s, other, merged);
		segment_close(&other);
	}
	segment_close(&s);
	memory_file_end(a, path);
	memory_file_end(b, changed);
	close(c);
	(void)unlink(merged); /* a merge that failed has removed it */
	return 0;
}
