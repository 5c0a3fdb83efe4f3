#include "broker/gatherer_answer_inner.h"

#include "../unit.h"

#include <zlib.h>

enum { MOST = 128 << 10 };

static struct arena arena = ARENA_INIT(1 << 20);

/* Puts the bytes in, in pieces, and writes down what comes: an operation and a URL for each change,
 * "?" where it asks, "-" for what was skipped, then how it ends. */
static void tell_pieces(struct str in, size_t piece, bool compressed, struct buf *story)
{
	struct gatherer_answer *a = gatherer_answer_new(MOST, compressed);
	struct source_change change;
	struct err err;
	int rc;
	do {
		rc = gatherer_answer_next(a, &arena, &change, &err);
		if (rc == ANSWER_CHANGE)
			buf_printf(story, "%c" STR_FMT " ", "DRU"[change.op],
				   STR_ARG(change.obj.url));
		else if (rc == ANSWER_ASK)
			buf_add_text(story, "? ");
		else if (rc == ANSWER_MORE && in.n) {
			gatherer_answer_put(a, str_head(in, piece));
			in = str_from(in, piece);
		} else if (rc == ANSWER_MORE)
			gatherer_answer_end(a);
		else if (rc < 0 && err.code == ERR_PARTLY)
			buf_printf(story, "-" STR_FMT " ", STR_ARG(change.obj.url));
		assert_true(gatherer_answer_held(a) < 8 * MOST);
		arena_clear(&arena);
	} while (rc >= 0 ? rc != ANSWER_COMPLETE : err.code == ERR_PARTLY);
	buf_add_text(story, rc < 0 ? err.msg : "complete");
	gatherer_answer_free(&a);
}

static void tells(struct str in, bool compressed, const char *want)
{
	static const size_t piece[] = {ANSWER_MAX_PUT, 1, 2, 7, 4099};
	struct buf story = BUF_INIT(1 << 20);
	for (size_t i = 0; i < ARRAY_LEN(piece); i++) {
		if (in.n / piece[i] > 100000)
			continue;
		buf_clear(&story);
		tell_pieces(in, piece[i], compressed, &story);
		assert_str(buf_str(&story), want);
	}
	buf_free(&story);
}

#define HELLO "000 - HELLO gatherer.example.org\r\n"
#define OPENS "400 - here it comes\r\n"
#define SECTIONS                                                               \
	"@DELETE {\n@FILE { a\n}\n}\n@REFRESH {\n@FILE { b\n}\n}\n@UPDATE {\n" \
	"@FILE { c\nTitle{4}:\t499 \n}\n}\n"

static void add_gzip(struct buf *to, struct str text)
{
	z_stream z = {0};
	char *out = buf_room(to, compressBound(text.n) + 64);
	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_in = (Bytef *)(uintptr_t)text.p;
	z.avail_in = (uInt)text.n;
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)(compressBound(text.n) + 64);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_grew(to, z.total_out);
	deflateEnd(&z);
}

static void an_answer_is_told_until_its_closing_line(void **state)
{
	(void)state;
	tells(STR(HELLO OPENS SECTIONS "499 - end\r\nmore"), false, "? Da Rb Uc complete");
	tells(STR("200 - x\n" HELLO "000 - x\n" SECTIONS "099 - end\n"), false,
	      "? Da Rb Uc complete");
	tells(STR(HELLO OPENS SECTIONS "499"), false, "? Da Rb Uc complete");
	tells(STR(HELLO OPENS "@DELETE { }\n@REFRESH { }\n@UPDATE { }\n499 - none\n"), false,
	      "? complete");
}

static void gzip_is_seen_whatever_was_asked_for(void **state)
{
	struct buf b = BUF_INIT(1 << 20);
	(void)state;
	buf_add_text(&b, HELLO OPENS);
	add_gzip(&b, STR(SECTIONS));
	buf_add_text(&b, "499 - end\n");
	tells(buf_str(&b), true, "? Da Rb Uc complete");
	tells(buf_str(&b), false, "? Da Rb Uc complete");
	buf_clear(&b);
	buf_add_text(&b, HELLO "500 - compression is on\n" OPENS);
	add_gzip(&b, STR(SECTIONS "499 - inside\n"));
	tells(buf_str(&b), true, "? Da Rb Uc complete");
	struct buf story = BUF_INIT(1 << 16);
	tell_pieces(str_head(buf_str(&b), b.n - 1), 5, true, &story);
	assert_str(buf_str(&story),
		   "? Da Rb Uc ended after 3 objects inside of its compressed data");
	buf_clear(&story);
	b.p[b.n - 6] ^= 1; /* of the checksum */
	tell_pieces(buf_str(&b), 5, true, &story);
	assert_str(buf_str(&story), "? Da Rb Uc its compressed data are damaged after 3 objects");
	buf_free(&story);
	buf_clear(&b);
	buf_add_text(&b, HELLO OPENS);
	add_gzip(&b, STR("@UPDATE {\n@FILE { c"));
	add_gzip(&b, STR("\n}\n}\n499 - end\n"));
	tells(buf_str(&b), true, "? Uc complete");
	tells(STR(HELLO OPENS SECTIONS "499 - ignored\n"), true, "? Da Rb Uc complete");
	buf_free(&b);
}

static void an_answer_that_is_cut_anywhere_is_not_complete(void **state)
{
	static const char whole[] = HELLO OPENS SECTIONS "499 - end\r\n";
	struct buf story = BUF_INIT(1 << 16), packed = BUF_INIT(1 << 16);
	(void)state;
	for (size_t n = 0; n < sizeof whole - sizeof " - end\r\n"; n++) {
		buf_clear(&story);
		tell_pieces((struct str){whole, n}, 5, false, &story);
		if (!strstr(buf_text(&story), "ended "))
			fail_msg("after %zu bytes: %s", n, buf_text(&story));
	}
	add_gzip(&packed, STR(SECTIONS));
	for (size_t n = 1; n <= packed.n; n++) {
		CLEANUP(buf_free) struct buf cut = BUF_INIT(1 << 16);
		buf_add_text(&cut, HELLO OPENS);
		buf_add(&cut, packed.p, n);
		buf_clear(&story);
		tell_pieces(buf_str(&cut), 1000, true, &story);
		if (!strstr(buf_text(&story), n < packed.n ? " inside of its compressed data"
							   : " without its closing line"))
			fail_msg("after %zu packed bytes: %s", n, buf_text(&story));
	}
	buf_free(&story);
	buf_free(&packed);
}

static void what_is_not_an_answer_is_named(void **state)
{
	(void)state;
	tells(STR(""), false, "ended before its greeting");
	tells(STR("111 - too many\n"), false, "ended before its greeting; it said: 111 - too many");
	tells(STR("SSH-2.0-x\r\n"), false, "does not speak like a gatherer: SSH-2.0-x");
	tells(STR(HELLO), false,
	      "? ended before it answered; it said: 000 - HELLO "
	      "gatherer.example.org");
	tells(STR(HELLO "103 - not for you\r\n"), false, "? refused: 103 - not for you");
	tells(STR(HELLO "500 - no compression\n501 - no update\n"), true,
	      "? refused: 501 - no update");
	tells(STR(HELLO "499 - nothing\n"), false, "? refused: 499 - nothing");
	tells(STR(HELLO OPENS SECTIONS "103 - disk full\n"), false,
	      "? Da Rb Uc broke off after 3 objects: 103 - disk full");
	tells(STR(HELLO OPENS "\x1f\x8b rubbish"), false,
	      "? its compressed data are damaged after 0 objects");
}

static void lines_have_an_end_and_a_number(void **state)
{
	struct buf b = BUF_INIT(2 << 20);
	(void)state;
	buf_add_text(&b, "000 - HELLO ");
	buf_fill(&b, 'x', 1 << 20);
	tells(buf_str(&b), false, "a line is longer than 4096 bytes");
	buf_clear(&b);
	for (int i = 0; i <= ANSWER_LINES; i++)
		buf_add_text(&b, "200 - wait\n");
	tells(buf_str(&b), false, "more than 100 lines and no objects");
	buf_free(&b);
}

static void an_object_that_cannot_be_read_is_skipped(void **state)
{
	(void)state;
	tells(STR(HELLO OPENS
		  "@UPDATE {\n@FILE { a\nX{4294967295}:\tx\n}\n@FILE { b\n}\n}\n499 -\n"),
	      false, "? -a Ub complete");
	struct buf b = BUF_INIT(1 << 20);
	buf_add_text(&b, HELLO OPENS "@UPDATE {\n@FILE { a\n}\n@FILE { b\nX{131073}:\t");
	buf_fill(&b, 'x', 131060);
	buf_add_text(&b, "\n@FILE { c\n}\n}\n}\n499 -\n");
	tells(buf_str(&b), false, "? Ua -b complete");
	buf_free(&b);
}

/* A value whose size is wrong may hold anything, also what looks like the end. */
static void a_closing_line_inside_of_rubbish_does_not_count(void **state)
{
	struct buf story = BUF_INIT(1 << 16);
	(void)state;
	tell_pieces(STR(HELLO OPENS "@FILE { a\nX{y}:\t\n499 - no\n}\n@FILE { b\n}\n499 - end\n"),
		    ANSWER_MAX_PUT, false, &story);
	assert_non_null(strstr(buf_text(&story), "? -a what looks like its closing line"));
	buf_free(&story);
}

static void rubbish_has_an_end(void **state)
{
	struct buf b = BUF_INIT(64 << 20), bomb = BUF_INIT(64 << 20), story = BUF_INIT(1 << 20);
	(void)state;
	buf_fill(&b, '\n', 4 << 20);
	buf_add_text(&bomb, HELLO OPENS);
	add_gzip(&bomb, buf_str(&b));
	tells(buf_str(&bomb), true, "? more than 1310720 bytes without an object, after 0 objects");
	buf_clear(&bomb);
	buf_clear(&b);
	for (int i = 0; i < 300000; i++)
		buf_add_text(&b, "@DELETE { }\n");
	buf_add_text(&bomb, HELLO OPENS);
	add_gzip(&bomb, buf_str(&b));
	tells(buf_str(&bomb), true, "? more than 1310720 bytes without an object, after 0 objects");
	buf_clear(&b);
	buf_add_text(&b, HELLO OPENS);
	for (int i = 0; i < ANSWER_BAD + 10; i++)
		buf_add_text(&b, "@FILE { a\nX\n}\n");
	tell_pieces(buf_str(&b), 1000, false, &story);
	assert_non_null(strstr(buf_text(&story), "-a 1001 objects cannot be read, and 0 can"));
	buf_free(&b);
	buf_free(&bomb);
	buf_free(&story);
}

static int teardown(void **state)
{
	(void)state;
	arena_free(&arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_is_told_until_its_closing_line),
		cmocka_unit_test(gzip_is_seen_whatever_was_asked_for),
		cmocka_unit_test(an_answer_that_is_cut_anywhere_is_not_complete),
		cmocka_unit_test(what_is_not_an_answer_is_named),
		cmocka_unit_test(lines_have_an_end_and_a_number),
		cmocka_unit_test(an_object_that_cannot_be_read_is_skipped),
		cmocka_unit_test(a_closing_line_inside_of_rubbish_does_not_count),
		cmocka_unit_test(rubbish_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, teardown);
}
