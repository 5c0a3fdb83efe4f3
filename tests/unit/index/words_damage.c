/* Any changed byte of any file of an index is noticed before what was read of it is believed. */
#include "disk/small_file.h"
#include "index/words.h"
#include "index/words/segment_inner.h"
#include "shelf.h"

#include <fcntl.h>
#include <sys/stat.h>

/* All that is read of an index, as one number. */
static uint64_t mix(uint64_t sum, const void *p, size_t n)
{
	const unsigned char *bytes = p;
	for (size_t i = 0; i < n; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static int sum_list(struct segment *s, const struct segment_walk *w, uint64_t *sum, struct err *err)
{
	struct postings p;
	uint32_t docs[SEGMENT_BLOCK], tfs[SEGMENT_BLOCK], n;
	const uint32_t *position, *form;
	int rc = postings_open(s, &w->info, &p, err);
	for (uint32_t block = 0; rc == 0 && block < p.blocks; block++) {
		if (postings_docs(&p, block, docs, err) < 0 ||
		    postings_tfs(&p, block, tfs, err) < 0) {
			rc = -1;
			break;
		}
		*sum = mix(*sum, docs, sizeof docs);
		*sum = mix(*sum, tfs, sizeof tfs);
		*sum = mix(*sum, p.bound[block], sizeof p.bound[block]);
		for (uint32_t i = 0; w->attr == 0 && i < postings_in_block(&p, block); i++) {
			if (postings_positions(&p, block, i, &position, &n, err) < 0 ||
			    postings_forms(&p, block, i, &form, &n, err) < 0) {
				rc = -1;
				break;
			}
			*sum = mix(*sum, position, n * sizeof *position);
			*sum = mix(*sum, form, n * sizeof *form);
		}
	}
	postings_close(&p);
	return rc;
}

static int sum_column(const struct words_part *part, unsigned column, uint64_t *sum,
		      struct err *err)
{
	const struct segment_span *span;
	struct str text;
	uint32_t values = 0;
	if (segment_spans(part->segment, column, &span, err) < 0 ||
	    segment_values(part->segment, column, &values, err) < 0)
		return -1;
	*sum = mix(*sum, span, (part->docs + SEGMENT_SPAN - 1) / SEGMENT_SPAN * sizeof *span);
	for (uint32_t i = 1; i <= values; i++) {
		if (segment_value(part->segment, column, i, &text, err) < 0)
			return -1;
		*sum = mix(*sum, text.p, text.n);
	}
	return 0;
}

static int sum_docs(const struct words_part *part, uint64_t *sum, struct err *err)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct segment_column column;
	struct segment_ranges it;
	struct segment_range range;
	const uint8_t *lengths;
	struct str key;
	uint32_t found;
	int rc = segment_lengths(part->segment, &lengths, err);
	for (uint32_t doc = 0; rc == 0 && doc < part->docs; doc++) {
		bool deleted = words_deleted(part, doc);
		*sum = mix(*sum, &deleted, sizeof deleted);
		*sum = mix(*sum, &lengths[doc], 1);
		rc = segment_key(part->segment, doc, &arena, &key, err);
		if (rc == 0)
			rc = segment_find(part->segment, key, &found, err);
		if (rc == 0)
			rc = segment_ranges(part->segment, doc, &it, err);
		if (rc != 0)
			break;
		*sum = mix(*sum, key.p, key.n);
		*sum = mix(*sum, &found, sizeof found);
		while ((rc = segment_ranges_next(&it, &range, err)) == 0)
			*sum = mix(*sum, &range, sizeof range);
		rc = MIN(rc, 0);
		for (unsigned c = 0; rc == 0 && c < SEGMENT_COLUMN + 3; c++) {
			rc = segment_column(part->segment, c, &column, err);
			int64_t v = rc == 0 ? segment_number(&column, doc) : 0;
			*sum = mix(*sum, &v, sizeof v);
		}
	}
	for (unsigned c = 0; rc == 0 && c < SEGMENT_COLUMN + 3; c++)
		rc = sum_column(part, c, sum, err);
	arena_free(&arena);
	return rc;
}

static int sum_index(const char *folder, uint64_t *ret, struct err *err)
{
	struct words_reader *r;
	size_t n;
	uint64_t sum = 1;
	int rc = words_open(&r, folder, err);
	if (rc != 0)
		return rc;
	const struct words_part *part = words_parts(r, &n);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		rc = sum_docs(&part[i], &sum, err);
		uint32_t attrs = segment_info(part[i].segment)->attrs;
		for (unsigned attr = 0; rc == 0 && attr < attrs; attr++) {
			struct segment_walk w;
			rc = segment_walk(part[i].segment, attr, STR(""), &w, err);
			while (rc == 0 && (rc = segment_walk_next(&w, err)) == 0) {
				sum = mix(sum, w.term.p, w.term.n);
				rc = sum_list(part[i].segment, &w, &sum, err);
			}
			rc = MIN(rc, 0);
		}
		if (rc == 0)
			rc = segment_check(part[i].segment, err);
	}
	words_close(&r);
	*ret = sum;
	return rc;
}

struct files {
	char path[16][400];
	size_t n;
};

static void files_of(const char *folder, struct files *ret)
{
	struct err err;
	struct dir d;
	const char *name;
	ret->n = 0;
	assert_int_equal(dir_init(&d, folder, &err), 0);
	while (dir_next(&d, &name) == 0)
		snprintf(ret->path[ret->n++], sizeof ret->path[0], "%s/%s", folder, name);
	dir_done(&d);
}

static void make_index(struct shelf *s)
{
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 150; i++)
			add(s, w, random_doc(s, below(300)));
		commit(w);
	}
	assert_int_equal(words_delete(w, s->doc[0].key, &err), 0);
	forget(s, s->doc[0].key);
	commit(w);
	words_writer_close(&w);
}

static void a_changed_byte_is_noticed_or_means_nothing(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct files files;
	uint64_t good, sum;
	unsigned noticed = 0;
	make_index(s);
	assert_int_equal(sum_index(s->folder, &good, &err), 0);
	files_of(s->folder, &files);
	assert_in_range(files.n, 4, 10);
	enum { ROUNDS = 600 };
	for (unsigned i = 0; i < ROUNDS; i++) {
		const char *path = files.path[below((unsigned)files.n)];
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		off_t at = (off_t)below((unsigned)st.st_size);
		int fd = open(path, O_RDWR);
		char c, was;
		assert_int_equal(pread(fd, &was, 1, at), 1);
		c = (char)(was ^ (1 << below(8)));
		assert_int_equal(pwrite(fd, &c, 1, at), 1);
		int rc = sum_index(s->folder, &sum, &err);
		if (rc == 0)
			assert_true(sum == good);
		else
			assert_true(rc < 0 && err.code == ERR_DAMAGED && err.msg[0]);
		noticed += rc != 0;
		assert_int_equal(pwrite(fd, &was, 1, at), 1);
		close(fd);
	}
	assert_true(noticed > ROUNDS / 2);
	assert_int_equal(sum_index(s->folder, &sum, &err), 0);
	assert_true(sum == good);
}

static void a_cut_file_is_noticed(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct files files;
	uint64_t sum;
	make_index(s);
	files_of(s->folder, &files);
	for (size_t i = 0; i < files.n; i++) {
		struct buf bytes = BUF_INIT(SIZE_MAX / 2);
		assert_int_equal(file_slurp(files.path[i], &bytes, &err), 0);
		for (unsigned k = 0; k < 30; k++) {
			off_t n = k ? (off_t)below((unsigned)bytes.n) : (off_t)bytes.n - 1;
			assert_int_equal(truncate(files.path[i], n), 0);
			assert_int_equal(sum_index(s->folder, &sum, &err), -1);
			assert_int_equal(err.code, ERR_DAMAGED);
			struct file f;
			assert_int_equal(file_open(&f, files.path[i], O_WRONLY, 0, &err), 0);
			assert_int_equal(file_write(&f, bytes.p, bytes.n, 0, &err), 0);
			file_drop(&f);
		}
		buf_free(&bytes);
	}
	assert_folder_is(s);
}

static void a_file_that_is_gone_is_named(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct files files;
	struct words_reader *r;
	struct words_writer *w;
	make_index(s);
	files_of(s->folder, &files);
	for (size_t i = 0; i < files.n; i++) {
		char away[420];
		snprintf(away, sizeof away, "%s/../away", s->folder);
		assert_int_equal(rename(files.path[i], away), 0);
		bool manifest = str_ends(str_of(files.path[i]), STR("manifest"));
		assert_int_equal(words_open(&r, s->folder, &err), manifest ? 1 : -1);
		if (!manifest) {
			assert_int_equal(err.code, ERR_DAMAGED);
			assert_int_equal(words_writer_open(&w, s->folder, NULL, &err), -1);
			assert_int_equal(err.code, ERR_DAMAGED);
		}
		assert_int_equal(rename(away, files.path[i]), 0);
	}
	assert_folder_is(s);
}

/* Files of another version are given up like damaged ones; what the system refuses is not. */
static void what_cannot_be_read_is_told_from_what_has_to_be_built_again(void **state)
{
	const struct format *const formats[] = {&words_deletes_format, &words_manifest_format};
	struct shelf *s = *state;
	struct err err;
	struct files files;
	struct words_reader *r;
	size_t seen = 0;
	make_index(s);
	files_of(s->folder, &files);
	for (size_t i = 0; i < files.n; i++) {
		const struct format *f;
		char away[420];
		struct buf room = BUF_INIT(1 << 20);
		struct str payload;
		if (format_of(formats, ARRAY_LEN(formats), files.path[i], &f, &err) != 0)
			continue;
		struct format other = *f;
		other.version++;
		assert_int_equal(small_file_read(files.path[i], f, &room, &payload, &err), 0);
		assert_int_equal(small_file_write(files.path[i], &other, payload, &err), 0);
		assert_int_equal(words_open(&r, s->folder, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_non_null(strstr(err.msg, "has to be built again"));
		assert_int_equal(small_file_write(files.path[i], f, payload, &err), 0);
		snprintf(away, sizeof away, "%s/../away", s->folder);
		assert_int_equal(rename(files.path[i], away), 0);
		assert_int_equal(mkdir(files.path[i], 0755), 0);
		assert_int_equal(words_open(&r, s->folder, &err), -1);
		assert_int_equal(err.code, ERR_SYSTEM);
		assert_null(strstr(err.msg, "built again"));
		assert_int_equal(rmdir(files.path[i]), 0);
		assert_int_equal(rename(away, files.path[i]), 0);
		buf_free(&room);
		seen |= f == formats[0] ? 1 : 2;
	}
	assert_int_equal(seen, 3);
	assert_folder_is(s);
}

/* Sound in all its pages, and written by another program. */
static void segment_set_version(const char *path, uint8_t version)
{
	struct err err;
	struct page_file *f;
	struct page_writer w;
	struct str bytes;
	assert_int_equal(page_open(&f, path, &err), 0);
	assert_int_equal(page_get(f, 0, (size_t)page_bytes(f), &bytes, &err), 0);
	char *copy = mem_copy(bytes.p, bytes.n);
	copy[FORMAT_MAGIC] = (char)version;
	page_close(&f);
	assert_int_equal(
		page_create(&w, path, 0644, &(struct stream_options){.buffered = true}, &err), 0);
	page_put(&w, copy, bytes.n);
	assert_int_equal(page_finish(&w, false, &err), 0);
	mem_free(&copy);
}

static void a_segment_of_another_version_is_called_that(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct files files;
	struct words_reader *r;
	struct words_writer *w;
	make_index(s);
	files_of(s->folder, &files);
	size_t i = 0;
	while (!str_ends(str_of(files.path[i]), STR(".words")))
		assert_true(++i < files.n);
	for (uint8_t version = SEGMENT_VERSION - 1; version <= SEGMENT_VERSION + 1; version += 2) {
		char what[64];
		snprintf(what, sizeof what, ": version %u, this program knows version %u;",
			 (unsigned)version, (unsigned)SEGMENT_VERSION);
		segment_set_version(files.path[i], version);
		assert_int_equal(words_open(&r, s->folder, &err), -1);
		assert_non_null(strstr(err.msg, what));
		assert_non_null(strstr(err.msg, "has to be built again"));
		assert_int_equal(words_writer_open(&w, s->folder, NULL, &err), -1);
		assert_non_null(strstr(err.msg, what));
	}
	segment_set_version(files.path[i], SEGMENT_VERSION);
	assert_folder_is(s);
}

static void count_bytes(void *ctx, struct str piece)
{
	*(size_t *)ctx += piece.n;
}

static void every_file_is_printed_and_verified_and_damage_is_named(void **state)
{
	const struct format *const formats[] = {&words_deletes_format, &words_manifest_format,
						&words_segment_format};
	struct shelf *s = *state;
	struct err err;
	struct files files;
	size_t seen = 0;
	make_index(s);
	files_of(s->folder, &files);
	for (size_t i = 0; i < files.n; i++) {
		const struct format *f;
		size_t bytes = 0;
		assert_int_equal(format_of(formats, ARRAY_LEN(formats), files.path[i], &f, &err),
				 0);
		assert_int_equal(format_verify(f, files.path[i], &err), 0);
		assert_int_equal(format_print(f, files.path[i], count_bytes, &bytes, &err), 0);
		assert_true(bytes > 20);
		int fd = open(files.path[i], O_RDWR);
		assert_int_equal(pwrite(fd, "\xaa\x55", 2, 40), 2);
		close(fd);
		assert_int_equal(format_verify(f, files.path[i], &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		for (size_t k = 0; k < ARRAY_LEN(formats); k++)
			seen |= (size_t)(f == formats[k]) << k;
	}
	assert_int_equal(seen, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHELF_TEST(a_changed_byte_is_noticed_or_means_nothing),
		SHELF_TEST(a_cut_file_is_noticed),
		SHELF_TEST(a_file_that_is_gone_is_named),
		SHELF_TEST(what_cannot_be_read_is_told_from_what_has_to_be_built_again),
		SHELF_TEST(a_segment_of_another_version_is_called_that),
		SHELF_TEST(every_file_is_printed_and_verified_and_damage_is_named),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
