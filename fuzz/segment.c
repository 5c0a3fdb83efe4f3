/* A segment of any bytes. The first byte says how it is made: its low half is how many changes are
 * made to it, its high half how often the documents are repeated (times 20). Changes follow, two
 * bytes of place and one of bits; the rest is text, a document a line, in which | ends the text and
 * then each title. The changed bytes get new checksums, so that all readers see them.
 *
 * Whatever it is: reading ends; what is read is within its bounds and in order; damage is named.
 * Without changes all is there. */
#include "../tests/support/form_text.h"
#include "base/cursor.h"
#include "index/words/invert.h"
#include "memory_file.h"

#include <stdio.h>
#include <unistd.h>

static struct words_settings settings;

struct seen {
	uint64_t docs, numbers, terms, blob, postings, occurrences;
};

static bool good(int rc, const struct err *err)
{
	bool refused = err->code == ERR_DAMAGED || err->code == ERR_USAGE; /* another version */
	ENSURE(rc >= 0 || (refused && err->msg[0]));
	return rc == 0;
}

static bool read_posting(struct segment *s, const struct segment_walk *w, struct postings *p,
			 uint32_t block, uint32_t i, struct seen *seen)
{
	struct err err = {0};
	const uint32_t *position, *form;
	uint32_t n, m;
	struct buf text = BUF_INIT(1024);
	if (!good(postings_positions(p, block, i, &position, &n, &err), &err) ||
	    !good(postings_forms(p, block, i, &form, &m, &err), &err))
		return false;
	ENSURE(n == m && n > 0);
	seen->occurrences += n;
	for (uint32_t k = 0; k < n; k++) {
		ENSURE(k == 0 || position[k] >= position[k - 1]);
		buf_clear(&text);
		if (!good(form_text(s, &w->info, w->term, form[k], &text, &err), &err))
			break;
		ENSURE(text.n <= TOKEN_FORM_MOST && !text.over);
	}
	buf_free(&text);
	return true;
}

static void read_list(struct segment *s, const struct segment_walk *w, struct seen *seen)
{
	struct err err = {0};
	struct postings p;
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK];
	bool on = good(postings_open(s, &w->info, &p, &err), &err);
	for (uint32_t block = 0; on && block < p.blocks; block++) {
		if (!good(postings_docs(&p, block, docs, &err), &err) ||
		    !good(postings_tfs(&p, block, tfs, &err), &err))
			break;
		uint32_t n = postings_in_block(&p, block);
		ENSURE(n > 0 && n <= SEGMENT_BLOCK);
		for (uint32_t i = 0; on && i < n; i++) {
			ENSURE(docs[i] < segment_info(s)->docs && tfs[i] && tfs[i] <= 255);
			ENSURE(i == 0 || docs[i] > docs[i - 1]);
			seen->postings++;
			if (w->attr == SEGMENT_COMBINED)
				on = read_posting(s, w, &p, block, i, seen);
		}
	}
	postings_close(&p);
}

static void read_terms(struct segment *s, unsigned attr, struct seen *seen)
{
	struct err err = {0};
	struct segment_walk w;
	struct segment_term info;
	uint32_t number;
	if (!good(segment_walk(s, attr, STR(""), &w, &err), &err))
		return;
	while (good(segment_walk_next(&w, &err), &err)) {
		ENSURE(w.term.n > 0 && w.term.n <= TOKEN_TERM_MOST);
		seen->terms += attr == SEGMENT_COMBINED;
		(void)good(segment_term(s, attr, w.term, &info, &err), &err);
		(void)good(segment_form(s, &w.info, w.term, STR("xYz"), &number, &err), &err);
		read_list(s, &w, seen);
	}
	if (good(segment_walk(s, attr, STR("m"), &w, &err), &err))
		(void)good(segment_walk_next(&w, &err), &err);
}

/* The terms of the combined lists once more, by their length. */
static void read_blob(struct segment *s, struct seen *seen)
{
	struct err err = {0};
	struct segment_blob blob;
	struct segment_term info;
	for (uint32_t i = 0; i < TOKEN_TERM_MOST * SEGMENT_RUNS; i++) {
		uint32_t length = i / SEGMENT_RUNS + 1;
		enum segment_run run = i % SEGMENT_RUNS;
		if (!good(segment_blob(s, length, run, &blob, &err), &err))
			continue;
		for (size_t k = blob.from[run]; k < blob.from[run + 1]; k++) {
			struct str term = {blob.p + k * length, length};
			seen->blob +=
				good(segment_term(s, SEGMENT_COMBINED, term, &info, &err), &err);
		}
	}
}

static void read_docs(struct segment *s, struct seen *seen)
{
	struct err err = {0};
	struct segment_column column;
	struct segment_ranges it;
	struct segment_range range;
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	const uint8_t *lengths;
	struct str key;
	uint32_t found;
	(void)good(segment_lengths(s, &lengths, &err), &err);
	for (unsigned i = 0; i < SEGMENT_COLUMN; i++) {
		if (!good(segment_column(s, i, &column, &err), &err))
			continue;
		for (uint32_t doc = 0; doc < segment_info(s)->docs; doc++)
			seen->numbers += segment_number(&column, doc) != SEGMENT_ABSENT;
	}
	for (uint32_t doc = 0; doc < segment_info(s)->docs; doc++) {
		if (good(segment_key(s, doc, &arena, &key, &err), &err))
			seen->docs += good(segment_find(s, key, &found, &err), &err);
		if (!good(segment_ranges(s, doc, &it, &err), &err))
			continue;
		while (good(segment_ranges_next(&it, &range, &err), &err))
			ENSURE(range.attr < segment_info(s)->attrs);
	}
	arena_free(&arena);
}

static struct seen read_all(const char *path)
{
	struct err err = {0};
	struct segment *s = NULL;
	struct seen seen = {0};
	if (!good(segment_open(&s, path, &err), &err))
		return seen;
	for (unsigned attr = 0; attr < segment_info(s)->attrs; attr++)
		read_terms(s, attr, &seen);
	read_blob(s, &seen);
	read_docs(s, &seen);
	segment_close(&s);
	return seen;
}

/* The documents of the text, as a segment; what should be in it. */
static struct seen build(struct str text, unsigned repeat, const struct token_rules *rules,
			 const char *path)
{
	struct err err;
	struct invert *inv = invert_new(&settings, rules);
	struct seen want = {0};
	for (unsigned round = 0; round < repeat; round++) {
		struct str rest = text, line;
		while (str_cut(&rest, '\n', &line) == 0) {
			struct words_attr attr[8];
			size_t n = 0;
			char key[32];
			snprintf(key, sizeof key, "k%llu", (unsigned long long)want.docs++);
			while (n < ARRAY_LEN(attr) && str_cut(&line, '|', &attr[n].value) == 0) {
				attr[n].name = n ? STR("Title") : STR("Full-Text");
				struct tokens tokens;
				struct token token;
				tokens_init(&tokens, rules, attr[n++].value, 0);
				while (tokens_next(&tokens, &token) == 0)
					want.occurrences++;
			}
			struct words_doc doc = {.key = str_of(key), .attr = attr, .n = n};
			doc.time_s = (int64_t)want.docs * 1000;
			ENSURE(invert_add(inv, &doc, &err) == 0);
		}
	}
	ENSURE(invert_write(inv, path, false, &err) == 0);
	invert_free(&inv);
	return want;
}

static void change(const char *path, struct reader *changes, const char *to)
{
	struct err err;
	struct page_file *f;
	struct page_writer w;
	struct str bytes;
	ENSURE(page_open(&f, path, &err) == 0);
	ENSURE(page_get(f, 0, (size_t)page_bytes(f), &bytes, &err) == 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct token_rules *rules;
	struct err err;
	char path[64], changed[64];
	struct reader in = reader_of((struct str){(const char *)data, size});
	uint8_t how = reader_u8(&in);
	size_t n = MIN((how & 15u) * (size_t)3, reader_left(&in));
	struct reader changes = reader_of(reader_bytes(&in, n));
	if (!rules) {
		ENSURE(token_rules_open(&rules, STR(""), &err) == 0);
		words_settings_default(&settings);
	}
	int a = memory_file(path), b = memory_file(changed);
	struct str text = reader_bytes(&in, MIN(reader_left(&in), (size_t)4096));
	struct seen want = build(text, 1 + (how >> 4) * 20u, rules, path);
	struct seen got = read_all(path);
	ENSURE(got.docs == want.docs && got.occurrences == want.occurrences);
	ENSURE(got.blob == got.terms);
	ENSURE(got.numbers == want.docs * SEGMENT_COLUMN);
	change(path, &changes, changed);
	(void)read_all(changed);
	memory_file_end(a, path);
	memory_file_end(b, changed);
	return 0;
}
