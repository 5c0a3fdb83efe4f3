/* Documents in parts: what is read is what was put, whatever its size. */
#include "broker/document.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "index/words.h"

#include <limits.h>

/* Characters of one to four bytes, so that parts end at every place of one. */
static struct str long_text(struct arena *arena, size_t n)
{
	static const char *const some[] = {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8d\x90",
					   "\n"};
	struct buf b = BUF_INIT(SIZE_MAX);
	for (size_t i = 0; b.n < n; i++)
		buf_add_text(&b, some[i * i % 7 % ARRAY_LEN(some)]);
	struct str text = arena_str(arena, buf_str(&b));
	buf_free(&b);
	return text;
}

static void make_index(const char *data, const struct soif *obj)
{
	struct words_settings settings;
	struct words_options options = {.settings = &settings};
	struct words_writer *w = NULL;
	struct docstore *docs = NULL;
	struct words_attr attr = {STR("full-text"), STR("words")};
	struct words_doc doc = {.key = obj->url, .attr = &attr, .n = 1, .oid = 1};
	struct docstore_mark mark;
	struct err err;
	char path[PATH_MAX];
	words_settings_default(&settings);
	snprintf(path, sizeof path, "%s/broker", data);
	assert_int_equal(dir_make(path, 0755, &err), 0);
	snprintf(path, sizeof path, "%s/broker/words", data);
	assert_int_equal(words_writer_open(&w, path, &options, &err), 0);
	snprintf(path, sizeof path, "%s/broker/docs", data);
	assert_int_equal(docstore_open(&docs, path, NULL, NULL, &err), 0);
	assert_int_equal(docstore_put(docs, doc.oid, obj, &err), 0);
	assert_int_equal(words_add(w, &doc, &err), 0);
	assert_int_equal(docstore_sync(docs, &mark, &err), 0);
	assert_int_equal(words_commit(w, NULL, &err), 0);
	words_writer_close(&w);
	docstore_close(&docs);
}

/* The rest of a value; every part but the last ends with a character. */
static void value_is(struct document *d, struct str want, bool rests)
{
	CLEANUP(buf_free) struct buf all = BUF_INIT(SIZE_MAX);
	struct str part;
	struct err err;
	int rc;
	while ((rc = document_value(d, &part, &err)) == 0) {
		assert_true(part.n > 0 && part.n <= DOCUMENT_PART && str_utf8(part));
		buf_add_str(&all, part);
		if (rests)
			document_rest(d);
	}
	assert_int_equal(rc, 1);
	assert_int_equal(all.n, want.n);
	assert_memory_equal(all.p, want.p, want.n);
}

static void a_document_in_parts_is_the_document(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a/x")};
	struct document *d = NULL;
	struct search *s = NULL;
	struct str name;
	struct err err;
	int rc;
	(void)state;
	static const struct {
		const char *name;
		size_t size;
	} attrs[] = {{"Title", 5},
		     {"Full-Text", 500000},
		     {"Keywords", 60000},
		     {"title", 9},
		     {"Last", 1}};
	for (size_t i = 0; i < ARRAY_LEN(attrs); i++)
		soif_add(&obj, &arena, str_of(attrs[i].name), long_text(&arena, attrs[i].size));
	make_index(scratch("parts"), &obj);
	s = search_open(scratch("parts"));
	assert_int_equal(document_open(&d, s, STR("http://a/none"), &err), 1);
	assert_int_equal(document_open(&d, s, obj.url, &err), 0);
	assert_true(str_eq(document_url(d), obj.url));
	for (int rests = 0; rests < 2; rests++) {
		size_t seen = 0;
		document_rewind(d);
		for (; (rc = document_next(d, &name, &err)) == 0; seen++) {
			assert_true(str_eq(name, obj.attr[seen].name));
			if (seen != 2) /* a value may be passed over */
				value_is(d, obj.attr[seen].value, rests);
		}
		assert_int_equal(rc, 1);
		assert_int_equal(seen, obj.n);
	}
	assert_int_equal(document_find(d, STR("TITLE"), &err), 0);
	value_is(d, soif_get(&obj, STR("Title")), false); /* the later of two */
	assert_int_equal(document_find(d, STR("Nothing"), &err), 1);
	assert_int_equal(document_value(d, &name, &err), 1);
	document_free(&d);
	search_close(&s);
	arena_free(&arena);
}

static void a_document_of_a_number_is_told_byte_by_byte(void **state)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct soif obj = {.type = STR("FILE"), .url = STR("http://a/x")};
	CLEANUP(buf_free) struct buf want = BUF_INIT(SIZE_MAX), got = BUF_INIT(SIZE_MAX);
	struct document *d = NULL;
	struct search *s = NULL;
	struct str part, name;
	struct err err;
	int rc;
	(void)state;
	s = search_open(scratch("empty"));
	assert_int_equal(document_open_oid(&d, s, 1, &err), 1); /* nothing is indexed */
	search_close(&s);
	soif_add(&obj, &arena, STR("Data"), STR("a\0\xff\n}\n"));
	soif_add(&obj, &arena, STR("Full-Text"), long_text(&arena, 300000));
	make_index(scratch("bytes"), &obj);
	assert_int_equal(soif_print(&obj, &want, &err), 0);
	s = search_open(scratch("bytes"));
	assert_int_equal(document_open_oid(&d, s, 2, &err), 1);
	assert_int_equal(document_open_oid(&d, s, 1, &err), 0);
	for (int i = 0; (rc = document_text(d, &part, &err)) == 0; i++) {
		buf_add_str(&got, part);
		if (i % 2)
			document_rest(d);
		else
			(void)document_next(d, &name, &err);
	}
	assert_int_equal(rc, 1);
	assert_int_equal(document_text(d, &part, &err), 1);
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.p, want.p, want.n);
	document_free(&d);
	search_close(&s);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_in_parts_is_the_document),
		cmocka_unit_test(a_document_of_a_number_is_told_byte_by_byte),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
