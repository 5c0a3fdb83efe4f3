#include "index/words.h"
#include "base/hash.h"
#include "index/words/segment_inner.h"

#include "../unit.h"
#include "shelf.h"

static void an_empty_index_opens_and_has_nothing(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_reader *r;
	assert_int_equal(words_open(&r, s->folder, &err), 1);
	struct words_writer *w = open_writer(s);
	assert_int_equal(words_commit(w, NULL, &err), 1);
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void random_documents_come_back_word_for_word(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 1000; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	assert_folder_is(s);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void odd_documents_come_back(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	struct words_attr attr[8];
	struct buf b = BUF_INIT(SIZE_MAX / 2);
	const unsigned million = unit_thorough() ? 1000000 : 200000;
	add(s, w, (struct words_doc){.key = STR("nothing"), .oid = 1});
	add(s, w, text_doc("empty", STR(""), &attr[0]));
	add(s, w, text_doc("separators", STR(" ,.-\n\t"), &attr[1]));
	add(s, w,
	    text_doc("no UTF-8",
		     STR("a\xff b\xc3"
			 " \xe2\x82 c\xed\xa0\x80 d"),
		     &attr[2]));
	for (unsigned i = 0; i < million; i++)
		buf_add_text(&b, i % 1000 ? "one " : "One ");
	add(s, w,
	    text_doc("one term a million times", arena_str(&s->arena, buf_str(&b)), &attr[3]));
	buf_clear(&b);
	for (unsigned i = 0; b.n < 10 * million; i++)
		buf_printf(&b, "w%u %s ", i % 50000, i % 3 ? "the" : "The");
	add(s, w, text_doc("10 MB", arena_str(&s->arena, buf_str(&b)), &attr[4]));
	buf_clear(&b);
	buf_fill(&b, 'x', 5000);
	add(s, w, text_doc("a word of 5000 letters", arena_str(&s->arena, buf_str(&b)), &attr[5]));
	buf_clear(&b);
	for (unsigned i = 0; i < 1 << 12; i++) {
		for (unsigned k = 0; k < 12; k++)
			buf_add_byte(&b, i >> k & 1 ? 'A' : 'a');
		buf_add_byte(&b, ' ');
	}
	add(s, w, text_doc("4096 forms of a term", arena_str(&s->arena, buf_str(&b)), &attr[6]));
	commit(w);
	words_writer_close(&w);
	assert_folder_is(s);
	buf_free(&b);
}

static void a_replaced_document_is_there_once(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < 200; i++)
			add(s, w, random_doc(s, below(300)));
		commit(w);
		assert_folder_is(s);
	}
	words_writer_close(&w);
	assert_folder_is(s);
}

static void deleted_documents_are_gone_after_the_commit(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 500; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	assert_int_equal(words_delete(w, STR("http://nowhere"), &err), 1);
	assert_int_equal(words_commit(w, NULL, &err), 1);
	for (unsigned round = 0; round < 5; round++) {
		struct shelf before = *s;
		for (unsigned i = 0; i < 60; i++) {
			struct str key = s->doc[below((unsigned)s->n)].key;
			assert_int_equal(words_delete(w, key, &err), 0);
			assert_int_equal(words_delete(w, key, &err), 1);
			forget(s, key);
		}
		assert_folder_is(&before);
		commit(w);
		assert_folder_is(s);
	}
	words_writer_close(&w);
	assert_folder_is(s);
}

static void an_index_of_which_all_is_deleted_is_empty(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 20; i++)
		add(s, w, random_doc(s, i));
	add(s, w, random_doc(s, 3));
	commit(w);
	while (s->n) {
		assert_int_equal(words_delete(w, s->doc[0].key, &err), 0);
		forget(s, s->doc[0].key);
	}
	add(s, w, random_doc(s, 99));
	assert_int_equal(words_delete(w, s->doc[0].key, &err), 0);
	forget(s, s->doc[0].key);
	commit(w);
	assert_folder_is(s);
	assert_int_equal(words_merge_all(w, &err), 1);
	words_writer_close(&w);
	assert_int_equal(files_in(s->folder, ".words"), 0);
}

static void what_was_not_committed_is_given_up(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 50; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	struct words_attr attr;
	struct words_doc doc = text_doc("uncommitted", STR("word1"), &attr);
	assert_int_equal(words_add(w, &doc, &err), 0);
	assert_int_equal(words_delete(w, s->doc[0].key, &err), 0);
	words_writer_close(&w);
	assert_folder_is(s);
	w = open_writer(s);
	assert_int_equal(words_commit(w, NULL, &err), 1);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void a_document_that_cannot_be_taken_changes_nothing(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	add(s, w, random_doc(s, 1));
	char *huge = mem_alloc(WORDS_DOC_MOST + 1);
	struct words_attr attr;
	struct words_doc doc = text_doc("key", (struct str){huge, WORDS_DOC_MOST + 1}, &attr);
	assert_int_equal(words_add(w, &doc, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	doc = text_doc("", STR("text"), &attr);
	assert_int_equal(words_add(w, &doc, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	doc.key = (struct str){huge, WORDS_KEY_MOST + 1};
	assert_int_equal(words_add(w, &doc, &err), -1);
	mem_free(&huge);
	commit(w);
	words_writer_close(&w);
	assert_folder_is(s);
}

static void a_language_that_nobody_knows_makes_no_index(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = NULL;
	struct words_reader *r = NULL;
	struct words_options options = {.settings = &s->settings};
	snprintf(s->settings.language, sizeof s->settings.language, "klingon");
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_int_equal(words_open(&r, s->folder, &err), 1);
	snprintf(s->settings.language, sizeof s->settings.language, "english");
	assert_int_equal(words_writer_open(&w, s->folder, &options, &err), 0);
	words_writer_close(&w);
}

static void a_second_writer_is_told_that_it_is_busy(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s), *other = NULL;
	assert_int_equal(words_writer_open(&other, s->folder, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_null(other);
	words_writer_close(&w);
}

static void a_reader_keeps_its_snapshot_until_it_refreshes(void **state)
{
	struct shelf *s = *state, then;
	struct err err;
	struct words_reader *r, *held;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 100; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	assert_int_equal(words_refresh(&r, &err), 1);
	held = words_hold(r);
	then = *s;
	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 50; i++)
			add(s, w, random_doc(s, below(150)));
		commit(w);
		assert_index_is(&then, held);
		assert_int_equal(words_refresh(&r, &err), 0);
		assert_index_is(s, r);
		assert_int_equal(words_refresh(&r, &err), 1);
	}
	(void)words_merge_all(w, &err);
	words_writer_close(&w);
	assert_index_is(&then, held);
	assert_index_is(s, r);
	assert_int_equal(words_refresh(&r, &err), 0);
	assert_index_is(s, r);
	words_close(&held);
	words_close(&r);
}

static void memory_that_is_used_up_gives_several_segments(void **state)
{
	struct shelf *s = *state;
	struct err err;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; files_in(s->folder, ".words") < 3; i++)
		add(s, w, random_doc(s, below(2500)));
	commit(w);
	assert_folder_is(s);
	struct words_reader *r;
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	size_t n;
	(void)words_parts(r, &n);
	assert_in_range(n, 3, 4);
	words_close(&r);
	words_writer_close(&w);
}

static void codes_of_lengths_are_near_and_in_order(void **state)
{
	(void)state;
	for (uint64_t n = 0; n < 16; n++)
		assert_int_equal(words_length_of(words_length_code(n)), n);
	uint8_t before = 0;
	for (uint64_t n = 1; n < UINT64_C(1) << 33; n += 1 + n / 100) {
		uint8_t code = words_length_code(n);
		assert_true(code >= before);
		assert_true(words_length_of(code) <= n && n < words_length_of(code) * 9 / 8 + 1);
		before = code;
	}
	for (unsigned code = 0; code < 256; code++)
		assert_int_equal(words_length_code(words_length_of((uint8_t)code)), code);
	assert_int_equal(words_length_code(UINT64_MAX), 255);
}

/* All terms of the combined lists, in order. */
static size_t all_terms(struct segment *s, struct arena *arena, struct str *ret, size_t most)
{
	struct err err;
	struct segment_walk w;
	size_t n = 0;
	assert_int_equal(segment_walk(s, SEGMENT_COMBINED, STR(""), &w, &err), 0);
	while (segment_walk_next(&w, &err) == 0) {
		size_t shared = 0;
		while (n && shared < MIN(w.term.n, ret[n - 1].n) &&
		       w.term.p[shared] == ret[n - 1].p[shared])
			shared++;
		assert_true(w.shared <= shared);
		assert_true(n < most);
		ret[n++] = arena_str(arena, w.term);
	}
	return n;
}

static void the_dictionary_can_be_walked_from_anywhere(void **state)
{
	struct shelf *s = *state;
	struct err err;
	static struct str term[5000];
	struct words_reader *r;
	struct words_writer *w = open_writer(s);
	for (unsigned i = 0; i < 400; i++)
		add(s, w, random_doc(s, i));
	commit(w);
	words_writer_close(&w);
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	size_t parts;
	struct segment *segment = words_parts(r, &parts)->segment;
	size_t n = all_terms(segment, &s->arena, term, ARRAY_LEN(term));
	assert_true(n > 500);
	for (unsigned round = 0; round < 3000; round++) {
		/* A term, its beginning, or something after it. */
		struct segment_walk walk;
		size_t at = below((unsigned)n);
		char text[200];
		size_t len = below(3) ? term[at].n : below((unsigned)term[at].n + 1);
		memcpy(text, term[at].p, len);
		if (below(3) == 0)
			text[len++] = (char)(below(2) ? '~' : '!');
		struct str from = {text, len};
		size_t want = 0;
		while (want < n && str_cmp(term[want], from) < 0)
			want++;
		struct segment_term info;
		bool there = want < n && str_eq(term[want], from);
		assert_int_equal(segment_term(segment, 0, from, &info, &err), there ? 0 : 1);
		assert_int_equal(segment_walk(segment, 0, from, &walk, &err), 0);
		for (unsigned step = 0; step < 100; step++, want++) {
			assert_int_equal(segment_walk_next(&walk, &err), want < n ? 0 : 1);
			if (want == n)
				break;
			assert_true(str_eq(walk.term, term[want]));
			if (below(20))
				continue;
			size_t to = want + below((unsigned)(n - want));
			assert_int_equal(segment_walk_seek(&walk, term[to], &err), 0);
			want = MAX(to, want + 1) - 1; /* the current one is not given again */
		}
	}
	assert_int_equal(segment_attr(segment, STR("no such name")), -1);
	assert_int_equal(segment_attr(segment, STR("full-text")), 0);
	words_close(&r);
}

enum { SWITCHES = 48, CHOSEN = 9 };

/* A key in which each bit chooses between two letters. */
static struct str switched_key(uint64_t bits, char room[64])
{
	int n = snprintf(room, 64, "http://a/");
	for (unsigned i = 0; i < SWITCHES; i++)
		room[n++] = bits >> i & 1 ? '1' : '0';
	return (struct str){room, (size_t)n};
}

/* What can be switched together without changing the CRC, which is linear: in Gauss' way. */
static unsigned switches_without_effect(uint64_t *ret)
{
	char room[64];
	struct str key = switched_key(0, room);
	uint32_t zero = crc32c(0, key.p, key.n), effect[SWITCHES];
	uint64_t bits[SWITCHES];
	unsigned rows = 0, found = 0;
	for (unsigned i = 0; i < SWITCHES; i++) {
		uint64_t b = UINT64_C(1) << i;
		key = switched_key(b, room);
		uint32_t e = crc32c(0, key.p, key.n) ^ zero;
		for (unsigned k = 0; k < rows; k++)
			if ((e ^ effect[k]) < e) {
				e ^= effect[k];
				b ^= bits[k];
			}
		if (!e) {
			ret[found++] = b;
			continue;
		}
		effect[rows] = e;
		bits[rows++] = b;
	}
	return found;
}

/* In a segment in which all keys have one hash they are in order, so that lookups bisect them. */
static void assert_keys_ascend(struct segment *s)
{
	const uint8_t *hashes, *docs;
	struct err err;
	struct arena arena = ARENA_INIT(1 << 20);
	struct str before = {0}, key;
	assert_int_equal(parts_whole(&s->f, PART_HASHES, &hashes, &err), 0);
	assert_int_equal(parts_whole(&s->f, PART_HASH_DOCS, &docs, &err), 0);
	for (uint32_t i = 0; i < segment_info(s)->docs; i++, before = key) {
		assert_int_equal(load_u32(hashes, i), load_u32(hashes, 0));
		assert_int_equal(segment_key(s, load_u32(docs, i), &arena, &key, &err), 0);
		assert_true(str_cmp(before, key) < 0);
	}
	arena_free(&arena);
}

static void keys_that_were_chosen_to_have_one_hash_are_bisected(void **state)
{
	struct shelf *s = *state;
	struct words_writer *w = open_writer(s);
	struct words_reader *r;
	struct err err;
	char room[64];
	uint64_t together[SWITCHES];
	uint32_t crc = 0, found;
	size_t n;
	assert_true(switches_without_effect(together) > CHOSEN);
	for (unsigned i = 0; i < 1 << CHOSEN; i++) {
		uint64_t bits = 0;
		for (unsigned k = 0; k < CHOSEN; k++)
			bits ^= i >> k & 1 ? together[k] : 0;
		struct str key = switched_key(bits, room);
		assert_true(i == 0 || crc32c(0, key.p, key.n) == crc);
		crc = crc32c(0, key.p, key.n);
		add(s, w, (struct words_doc){.key = arena_str(&s->arena, key), .oid = i});
	}
	commit(w);
	words_writer_close(&w);
	assert_folder_is(s); /* each is found */
	assert_int_equal(words_open(&r, s->folder, &err), 0);
	const struct words_part *part = words_parts(r, &n);
	assert_int_equal(n, 1);
	assert_int_equal(segment_info(part->segment)->docs, 1 << CHOSEN);
	assert_keys_ascend(part->segment);
	struct str other = switched_key(together[CHOSEN], room);
	assert_int_equal(crc32c(0, other.p, other.n), crc);
	assert_int_equal(segment_find(part->segment, other, &found, &err), 1);
	words_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_of_lengths_are_near_and_in_order),
		SHELF_TEST(the_dictionary_can_be_walked_from_anywhere),
		SHELF_TEST(an_empty_index_opens_and_has_nothing),
		SHELF_TEST(random_documents_come_back_word_for_word),
		SHELF_TEST(odd_documents_come_back),
		SHELF_TEST(a_replaced_document_is_there_once),
		SHELF_TEST(deleted_documents_are_gone_after_the_commit),
		SHELF_TEST(an_index_of_which_all_is_deleted_is_empty),
		SHELF_TEST(what_was_not_committed_is_given_up),
		SHELF_TEST(a_document_that_cannot_be_taken_changes_nothing),
		SHELF_TEST(a_language_that_nobody_knows_makes_no_index),
		SHELF_TEST(a_second_writer_is_told_that_it_is_busy),
		SHELF_TEST(a_reader_keeps_its_snapshot_until_it_refreshes),
		SHELF_TEST(keys_that_were_chosen_to_have_one_hash_are_bisected),
		SHELF_TEST(memory_that_is_used_up_gives_several_segments),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
