/* Segments of names against a plain table, folding against libutf8proc, and damage. */
#include "base/file.h"
#include "index/names/names_segment_inner.h"
#include "index/words/token_inner.h"
#include "names_segment_model.h"

#include <fcntl.h>
#include <unistd.h>

static struct model new_model(void)
{
	return (struct model){.arena = ARENA_INIT(SIZE_MAX)};
}

static void a_segment_has_all_names_forms_entries_and_lists(void **state)
{
	(void)state;
	struct model m = new_model();
	model_fill(&m, unit_thorough() ? 12000 : 5000, 3);
	model_build(&m, scratch("all"), NAMES_MEMORY_DEFAULT);
	model_is(&m, scratch("all"));
	model_free(&m);
}

static void an_empty_segment_answers_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	struct names_segment *s;
	struct model m = new_model();
	uint32_t at = 7;
	model_build(&m, scratch("empty"), NAMES_MEMORY_DEFAULT);
	model_is(&m, scratch("empty"));
	assert_int_equal(names_segment_open(&s, scratch("empty"), &err), 0);
	assert_int_equal(names_segment_find(s, STR("x"), &at, &err), 1);
	assert_int_equal(at, 0);
	names_segment_close(&s);
	model_free(&m);
}

static void names_that_are_all_equal_are_one(void **state)
{
	(void)state;
	struct model m = new_model();
	for (unsigned i = 0; i < 5000; i++)
		model_add(&m, i % 3 ? STR("changelog.gz") : STR("ChangeLog.gz"));
	model_build(&m, scratch("equal"), NAMES_MEMORY_DEFAULT);
	model_is(&m, scratch("equal"));
	model_free(&m);
}

/* Long ones that share all but their end, with bytes on both sides of every limit. */
static void names_may_be_long(void **state)
{
	(void)state;
	static const size_t lengths[] = {0,   1,   2,   3,    14,   15,   16,    31,    127,
					 128, 254, 255, 1023, 1024, 4095, 65535, 65536, 65530};
	struct err err = {0};
	struct model m = new_model();
	char *text = mem_array(NAMES_NAME_MOST + 1, 1);
	for (size_t i = 0; i < NAMES_NAME_MOST; i++)
		text[i] = (char)("abcdefgh_8h_source.html"[i % 23] + (i % 1000 == 999));
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		model_add(&m, (struct str){text, lengths[i]});
		if (lengths[i] == 0 || (lengths[i] > 4095 && !unit_thorough()))
			continue;
		text[lengths[i] - 1] ^= 0x20;
		model_add(&m, (struct str){text, lengths[i]});
		text[lengths[i] - 1] ^= 0x21;
		model_add(&m, (struct str){text, lengths[i]});
	}
	/* Characters that take more bytes once they are folded. */
	for (size_t i = 0; i + 2 <= NAMES_NAME_MOST; i += 2)
		memcpy(text + i, "\xc8\xba", 2);
	model_add(&m, (struct str){text, NAMES_NAME_MOST});
	model_add(&m, (struct str){text, 2000});
	model_build(&m, scratch("long"), NAMES_MEMORY_DEFAULT);
	model_is(&m, scratch("long"));
	struct names_build *b = names_build_new(NAMES_MEMORY_DEFAULT, scratch_dir);
	assert_int_equal(names_build_add(b, (struct str){text, NAMES_NAME_MOST + 1}, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(names_build_entries(b), 0);
	names_build_free(&b);
	mem_free(&text);
	model_free(&m);
}

/* 2^12 ways to write one name. */
static void a_name_may_have_many_forms(void **state)
{
	(void)state;
	struct model m = new_model();
	for (unsigned i = 0; i < 1 << 12; i++) {
		char text[] = "abcdefghijkl";
		for (unsigned k = 0; k < 12; k++)
			text[k] = (char)(text[k] - (i >> k & 1) * 32);
		model_add(&m, str_of(text));
		if (i % 5 == 0)
			model_add(&m, str_of(text));
	}
	model_build(&m, scratch("forms"), NAMES_MEMORY_DEFAULT);
	model_is(&m, scratch("forms"));
	model_free(&m);
}

/* Lists of trigrams, too, when there is hardly any memory. */
static void merge_in_no_memory(struct str want)
{
	struct err err = {0};
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 26);
	struct names_segment *s;
	assert_int_equal(names_segment_open(&s, scratch("once"), &err), 0);
	const struct names_range all = {0, 0, names_segment_info(s)->entries};
	assert_int_equal(
		names_segment_merge(&s, 1, &all, 1, 1, scratch_dir, scratch("merged"), &err), 0);
	assert_int_equal(file_slurp(scratch("merged"), &b, &err), 0);
	assert_true(str_eq(want, buf_str(&b)));
	names_segment_close(&s);
}

static void what_does_not_fit_into_memory_makes_the_same_file(void **state)
{
	(void)state;
	struct err err = {0};
	struct model m = new_model();
	struct buf a = BUF_INIT(1 << 26), b = BUF_INIT(1 << 26);
#if defined(__SANITIZE_ADDRESS__)
	if (!unit_thorough())
		skip(); /* it takes 60,000 names, and more than all others here together */
#endif
	for (unsigned i = 0; i < 60; i++) {
		char text[64];
		for (unsigned k = 0; k < 1000; k++) {
			int n = snprintf(text, sizeof text, "Dir%u/file-number-%u.%x", k % 7,
					 i * 37 % 60 * 1000 + k, i);
			model_add(&m, (struct str){text, (size_t)n});
		}
	}
	model_fill(&m, 2000, 11);
	model_build(&m, scratch("once"), NAMES_MEMORY_DEFAULT);
	model_build(&m, scratch("spilled"), NAMES_MEMORY_MIN);
	assert_int_equal(file_slurp(scratch("once"), &a, &err), 0);
	assert_int_equal(file_slurp(scratch("spilled"), &b, &err), 0);
	assert_true(str_eq(buf_str(&a), buf_str(&b)));
	if (unit_thorough())
		merge_in_no_memory(buf_str(&a));
	buf_free(&a);
	buf_free(&b);
	model_free(&m);
}

static int32_t fold_alone(int32_t c, struct buf *out)
{
	char text[4];
	size_t n;
	names_fold((struct str){text, token_char_put(c, text)}, out);
	int32_t folded = token_char((const unsigned char *)out->p,
				    (const unsigned char *)out->p + out->n, &n);
	assert_int_equal(n, out->n);
	return folded;
}

/* The full folding of Unicode, where it is one character; what folds to several by that is either
 * left alone or folded to one. */
static void every_character_folds_as_unicode_says_and_only_once(void **state)
{
	(void)state;
	struct token_unicode unicode;
	struct err err = {0};
	CLEANUP(buf_free) struct buf out = BUF_INIT(64);
	unsigned folds = 0;
	if (token_unicode_load(&unicode, &err) < 0)
		skip();
	/* above the Adlam letters nothing folds: there, only some */
	for (int32_t c = 0; c < 0x110000; c += c < 0x20000 || unit_thorough() ? 1 : 101) {
		utf8proc_int32_t full[32];
		int boundary = 0;
		if (c >= 0xd800 && c < 0xe000)
			continue;
		int32_t got = fold_alone(c, &out);
		folds += got != c;
		if (got != c)
			assert_int_equal(fold_alone(got, &out), got);
		utf8proc_ssize_t n =
			unicode.decompose(c, full, ARRAY_LEN(full), UTF8PROC_CASEFOLD, &boundary);
		if (n == 1 && got != full[0])
			fail_msg("U+%04x folds to U+%04x, not U+%04x", (unsigned)c, (unsigned)got,
				 (unsigned)full[0]);
		assert_true(n >= 1);
	}
	assert_true(folds > 1400);
}

static void folding_leaves_what_is_not_utf8_and_holds_still(void **state)
{
	(void)state;
	static const struct {
		const char *name, *folded;
	} cases[] = {
		{"READ.Me", "read.me"},
		{"ABCDEFGHIJKLMNOP[@Z`{", "abcdefghijklmnop[@z`{"},
		{"\xc3\x89T\xc3\x89", "\xc3\xa9t\xc3\xa9"},
		{"\xe2\x84\xaa", "k"},
		{"\xc8\xba", "\xe2\xb1\xa5"},
		{"\xc4\xb0", "\xc4\xb0"},
		{"\xc3\x9f\xe1\xba\x9e", "\xc3\x9f\xc3\x9f"},
		{"A\xc3", "a\xc3"},
		{"\xff\xc3\xc3\x89\x89", "\xff\xc3\xc3\xa9\x89"},
		{"\xf0\x90\x90\x80", "\xf0\x90\x90\xa8"},
	};
	struct buf once = BUF_INIT(1 << 16), twice = BUF_INIT(1 << 16);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		names_fold(str_of(cases[i].name), &once);
		assert_str(buf_str(&once), cases[i].folded);
	}
	uint64_t seed = 9;
	for (unsigned i = 0; i < 20000; i++) {
		char text[24];
		for (size_t k = 0; k < sizeof text; k++)
			text[k] = (char)(dice(&seed) >> 20 | (i % 3 ? 0x80 : 0));
		names_fold((struct str){text, dice(&seed) % sizeof text}, &once);
		names_fold(buf_str(&once), &twice);
		assert_true(str_eq(buf_str(&once), buf_str(&twice)));
	}
	buf_free(&once);
	buf_free(&twice);
}

/* A table of a sample of names; reverse: the names come in another order, and some twice. */
static void table_of_sample(size_t n, bool reverse, struct names_table *ret)
{
	struct names_sample sample;
	uint64_t hash;
	char text[64];
	names_sample_init(&sample);
	for (size_t i = 0; i < n * (reverse ? 2 : 1); i++) {
		size_t number = reverse ? n - 1 - i % n : i;
		int k = snprintf(text, sizeof text, "lib%zx-dev_%zu_8h_source.html", number * 7919,
				 number % 100);
		struct str name = {text, (size_t)k};
		if (names_sample_wants(&sample, name, &hash))
			names_sample_add(&sample, name, hash);
	}
	names_sample_table(&sample, ret);
	assert_true(sample.names <= NAMES_SAMPLE_MOST && (n == 0 || sample.names > 0));
	names_sample_free(&sample);
}

static void a_table_of_codes_depends_on_the_set_of_names_alone(void **state)
{
	(void)state;
	static const size_t sizes[] = {0, 1, 300, NAMES_SAMPLE_MOST, 3 * NAMES_SAMPLE_MOST};
	struct names_table a, b, c;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct buf bytes = BUF_INIT(NAMES_TABLE_MOST);
		table_of_sample(sizes[i], false, &a);
		table_of_sample(sizes[i], true, &b);
		assert_memory_equal(&a, &b, sizeof a);
		names_table_put(&a, &bytes);
		assert_true(names_table_get(&c, buf_str(&bytes)));
		assert_memory_equal(&a, &c, sizeof a);
		assert_false(names_table_get(&c, str_head(buf_str(&bytes), bytes.n - 1)));
		bytes.p[0] = NAMES_SYMBOL_MOST + 1;
		assert_false(names_table_get(&c, buf_str(&bytes)));
		buf_free(&bytes);
	}
}

static void codes_of_names_give_every_text_back(void **state)
{
	(void)state;
	static struct names_packer packer;
	struct names_table t;
	uint64_t seed = 21;
	size_t texts = 0, all = 0, symbols = 0;
	table_of_sample(2000, false, &t);
	while (symbols < NAMES_SYMBOLS && t.symbol[symbols].n)
		symbols++;
	names_packer_init(&packer, &t);
	for (unsigned i = 0; i < 20000; i++) {
		char text[80 + 8] = {0}, got[80 * 8 + NAMES_UNPACK_SLACK];
		uint8_t codes[160 + NAMES_UNPACK_STEP];
		size_t n = 0, most = dice(&seed) % 80;
		while (n < most) {
			const struct names_symbol *s = &t.symbol[dice(&seed) % symbols];
			if (i % 4 == 0 || n + s->n > most) {
				text[n++] = (char)(dice(&seed) >> 9);
				continue;
			}
			memcpy(text + n, s->text, s->n);
			n += s->n;
		}
		size_t k = names_pack(&packer, text, n, codes);
		assert_true(k <= 2 * n);
		texts += i % 4 ? n : 0;
		all += i % 4 ? k : 0;
		assert_int_equal(names_unpack(&t, codes, codes + k, got, sizeof got), n);
		assert_memory_equal(got, text, n);
		assert_int_equal(names_unpack(&t, codes, codes + k, got, n), n); /* just enough */
		assert_memory_equal(got, text, n);
		if (n)
			assert_int_equal(names_unpack(&t, codes, codes + k, got, n - 1), SIZE_MAX);
	}
	assert_true(all < texts); /* and it pays */
}

/* Each change of a byte is refused when the file is opened or verified. */
static void a_changed_byte_is_found(void **state)
{
	(void)state;
	struct err err = {0};
	struct model m = new_model();
	struct names_segment *s;
	struct buf bytes = BUF_INIT(1 << 26);
	model_fill(&m, 300, 5);
	model_build(&m, scratch("damage"), NAMES_MEMORY_DEFAULT);
	assert_int_equal(file_slurp(scratch("damage"), &bytes, &err), 0);
	int fd = open(scratch("damage"), O_RDWR);
	for (size_t at = 0; at < bytes.n; at += 53) {
		char other = (char)(bytes.p[at] ^ 1 << at % 8);
		assert_int_equal(pwrite(fd, &other, 1, (off_t)at), 1);
		int rc = names_segment_open(&s, scratch("damage"), &err);
		if (rc == 0) {
			rc = names_segment_verify(s, &err);
			names_segment_close(&s);
		}
		assert_int_equal(rc, -1);
		assert_int_equal(pwrite(fd, bytes.p + at, 1, (off_t)at), 1);
	}
	for (size_t at = 0; at < bytes.n; at += 997) {
		assert_int_equal(ftruncate(fd, (off_t)at), 0);
		assert_int_equal(names_segment_open(&s, scratch("damage"), &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
	}
	close(fd);
	assert_int_equal(names_segment_open(&s, scratch("nothing there"), &err), -1);
	buf_free(&bytes);
	model_free(&m);
}

/* With right checksums, too. */
static void a_wrong_count_is_found(void **state)
{
	(void)state;
	struct err err = {0};
	struct model m = new_model();
	struct names_segment *s;
	struct page_file *f;
	struct page_writer w;
	struct str bytes;
	model_fill(&m, 300, 6);
	model_build(&m, scratch("counts"), NAMES_MEMORY_DEFAULT);
	assert_int_equal(names_segment_open(&s, scratch("counts"), &err), 0);
	struct parts_place column = s->f.part[NAMES_COUNTS];
	assert_int_equal(column.n, (s->info.names + 1) / 2);
	names_segment_close(&s);
	assert_int_equal(page_open(&f, scratch("counts"), &err), 0);
	assert_int_equal(page_get(f, 0, (size_t)page_bytes(f), &bytes, &err), 0);
	char *copy = mem_copy(bytes.p, bytes.n);
	copy[column.at + column.n / 2] ^= 0x30;
	assert_int_equal(page_create(&w, scratch("wrong"), 0600, NULL, &err), 0);
	page_put(&w, copy, bytes.n);
	assert_int_equal(page_finish(&w, false, &err), 0);
	page_close(&f);
	mem_free(&copy);
	assert_int_equal(names_segment_open(&s, scratch("wrong"), &err), 0);
	assert_int_equal(names_segment_verify(s, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "counts"));
	names_segment_close(&s);
	model_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_has_all_names_forms_entries_and_lists),
		cmocka_unit_test(an_empty_segment_answers_nothing),
		cmocka_unit_test(names_that_are_all_equal_are_one),
		cmocka_unit_test(names_may_be_long),
		cmocka_unit_test(a_name_may_have_many_forms),
		cmocka_unit_test(what_does_not_fit_into_memory_makes_the_same_file),
		cmocka_unit_test(every_character_folds_as_unicode_says_and_only_once),
		cmocka_unit_test(folding_leaves_what_is_not_utf8_and_holds_still),
		cmocka_unit_test(a_table_of_codes_depends_on_the_set_of_names_alone),
		cmocka_unit_test(codes_of_names_give_every_text_back),
		cmocka_unit_test(a_changed_byte_is_found),
		cmocka_unit_test(a_wrong_count_is_found),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
