/* A segment of names of any bytes. The first byte says how it is made: its low half is how many
 * changes are made to it, its high half how often the names are repeated, with a number at their
 * ends. Changes follow, two bytes of place and one of bits; the rest is names, one a line. The
 * changed bytes get new checksums, so that all readers see them.
 *
 * Whatever it is: reading ends; what is read is within its bounds; damage is named. Without changes
 * all is there, and a merge of the segment alone has the same bytes. */
#include "index/names/names_segment.h"
#include "base/cursor.h"
#include "disk/page.h"
#include "memory_file.h"

#include <stdio.h>

struct seen {
	uint64_t names, forms, entries, trigrams, listed;
};

static bool good(int rc, const struct err *err)
{
	ENSURE(rc >= 0 || (err->code == ERR_DAMAGED && err->msg[0]));
	return rc == 0;
}

static bool read_name(struct names_segment *s, struct names_walk *w, struct seen *seen)
{
	struct err err = {0};
	uint32_t entry[50], most = names_segment_info(s)->entries;
	for (uint32_t i = 0; i < w->forms; i++) {
		struct names_form form;
		if (!good(names_form_get(w, i, &form, &err), &err))
			return false;
		ENSURE(form.text.n <= 2 * NAMES_NAME_MOST && form.entries <= w->entries);
		for (uint32_t at = 0; at < form.entries; at += ARRAY_LEN(entry)) {
			int n = names_form_entries(w, &form, at, ARRAY_LEN(entry), entry, &err);
			if (!good(MIN(n, 0), &err))
				return false;
			for (int k = 0; k < n; k++)
				ENSURE(entry[k] < most && (k == 0 || entry[k] > entry[k - 1]));
			seen->entries += (uint64_t)n;
		}
		seen->forms++;
	}
	return true;
}

static void read_names(struct names_segment *s, struct seen *seen)
{
	struct err err = {0};
	struct names_walk w;
	uint32_t number = 0, names = names_segment_info(s)->names;
	if (good(names_walk_begin(&w, s, 0, &err), &err))
		while (good(names_walk_next(&w, &err), &err)) {
			ENSURE(w.folded.n <= 2 * NAMES_NAME_MOST && w.name == seen->names);
			(void)good(names_segment_find(s, w.folded, &number, &err), &err);
			seen->names++;
			if (!read_name(s, &w, seen))
				break;
		}
	names_walk_end(&w);
	/* By jumps, also over what is wrong. */
	if (good(names_walk_begin(&w, s, 3, &err), &err))
		for (uint32_t i = 3; i < names; i += 11)
			if (good(names_walk_seek(&w, i, &err), &err))
				(void)good(names_walk_next(&w, &err), &err);
	names_walk_end(&w);
}

/* The same by runs, with what their names have. */
static void read_runs(struct names_segment *s, struct names_list *l)
{
	struct err err = {0};
	uint64_t entries;
	for (uint32_t from = 0; good(names_list_reach(l, from, &err), &err);) {
		struct names_run run = {MAX(from, l->from[l->run]), l->to[l->run]};
		ENSURE(run.from <= run.to && run.to < names_segment_info(s)->names);
		names_segment_want(s, &run, 1);
		(void)good(names_segment_count(s, &run, 1, &entries, &err), &err);
		from = run.to + 1;
	}
}

static void read_lists(struct names_segment *s, struct seen *seen)
{
	struct err err = {0};
	for (unsigned first = 0; first < 256; first++) {
		char byte = (char)first;
		uint32_t at = 0, name[128];
		uint8_t t[NAMES_TRIGRAM];
		struct names_list l;
		while (good(names_list_prefix(s, (struct str){&byte, 1}, &at, t, &l, &err), &err)) {
			int n;
			while ((n = names_list_block(&l, (uint32_t)seen->trigrams % 3, name,
						     &err)) > 0)
				for (int i = 0; i < n; i++)
					ENSURE(name[i] < names_segment_info(s)->names &&
					       (i == 0 || name[i] > name[i - 1]));
			(void)good(n, &err);
			seen->listed += l.n;
			seen->trigrams++;
			if (good(names_list_open(s, t, &l, &err), &err))
				read_runs(s, &l);
		}
	}
}

static bool read_all(const char *path, struct seen *seen)
{
	struct err err = {0};
	struct names_segment *s = NULL;
	*seen = (struct seen){0};
	if (!good(names_segment_open(&s, path, &err), &err))
		return false;
	read_names(s, seen);
	read_lists(s, seen);
	bool sound = good(names_segment_verify(s, &err), &err);
	names_segment_close(&s);
	return sound;
}

static uint64_t build(struct str text, unsigned repeat, const char *path)
{
	struct err err;
	struct names_build *b = names_build_new(0, "/dev/shm");
	for (unsigned round = 0; round < repeat; round++) {
		struct str rest = text, line;
		while (str_cut(&rest, '\n', &line) == 0) {
			struct buf name = BUF_INIT(1 << 16);
			buf_add_str(&name, line);
			if (round % 3)
				buf_printf(&name, "%u", round);
			ENSURE(names_build_add(b, buf_str(&name), &err) == 0);
			buf_free(&name);
		}
	}
	uint64_t n = names_build_entries(b);
	ENSURE(names_build_write(b, path, &err) == 0);
	names_build_free(&b);
	return n;
}

static struct str bytes_of(const char *path, struct page_file **ret)
{
	struct err err;
	struct str bytes;
	ENSURE(page_open(ret, path, &err) == 0);
	ENSURE(page_get(*ret, 0, (size_t)page_bytes(*ret), &bytes, &err) == 0);
	return bytes;
}

static void change(const char *path, struct reader *changes, const char *to)
{
	struct err err;
	struct page_file *f;
	struct page_writer w;
	struct str bytes = bytes_of(path, &f);
	char *copy = mem_copy(bytes.p, bytes.n);
	while (reader_left(changes) >= 3) {
		size_t at = reader_u16le(changes);
		/* From the end, where the small parts are, and from the beginning. */
		at = at & 1 ? bytes.n - 1 - at / 2 % bytes.n : at / 2 % bytes.n;
		copy[at] = (char)(copy[at] ^ reader_u8(changes));
	}
	ENSURE(page_create(&w, to, 0600, &(struct stream_options){.buffered = true}, &err) == 0);
	page_put(&w, copy, bytes.n);
	ENSURE(page_finish(&w, false, &err) == 0);
	page_close(&f);
	mem_free(&copy);
}

/* All of a segment, merged alone. */
static bool merge(const char *from, const char *to)
{
	struct err err = {0};
	struct names_segment *s = NULL;
	if (!good(names_segment_open(&s, from, &err), &err))
		return false;
	struct names_range all = {0, 0, names_segment_info(s)->entries};
	bool done = good(names_segment_merge(&s, 1, &all, 1, 0, "/dev/shm", to, &err), &err);
	names_segment_close(&s);
	return done;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64], changed[64], merged[64];
	struct seen seen;
	struct page_file *x, *y;
	struct reader in = reader_of((struct str){(const char *)data, size});
	uint8_t how = reader_u8(&in);
	size_t n = MIN((how & 15u) * (size_t)3, reader_left(&in));
	struct reader changes = reader_of(reader_bytes(&in, n));
	int a = memory_file(path), b = memory_file(changed), c = memory_file(merged);
	struct str text = reader_bytes(&in, MIN(reader_left(&in), (size_t)4096));
	uint64_t entries = build(text, 1 + (how >> 4) * 9u, path);
	ENSURE(read_all(path, &seen) && seen.entries == entries);
	ENSURE(merge(path, merged));
	ENSURE(str_eq(bytes_of(path, &x), bytes_of(merged, &y)));
	page_close(&x);
	page_close(&y);
	change(path, &changes, changed);
	(void)read_all(changed, &seen);
	(void)merge(changed, merged);
	memory_file_end(a, path);
	memory_file_end(b, changed);
	memory_file_end(c, merged);
	return 0;
}
