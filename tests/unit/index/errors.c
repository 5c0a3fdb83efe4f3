#include "index/errors.h"

#include "../unit.h"

/* A small generator of our own: the same cases in every run. */
static uint64_t seed = 88172645463325252;

static unsigned roll_below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

enum { CHARS_MOST = 200 };

struct word {
	unsigned chars;
	unsigned c[CHARS_MOST]; /* numbers of letters */
	char text[4 * CHARS_MOST];
	size_t n;
};

static const char *const letters[] = {
	"a", "b", "c", "d", "\xc3\xbf", "\xd0\xb6", "\xe4\xb8\xad", "\xf0\x9d\x84\x9e"};

static void put_char(struct word *w, unsigned c)
{
	size_t n = strlen(letters[c]);
	if (w->chars == CHARS_MOST)
		return;
	memcpy(w->text + w->n, letters[c], n);
	w->c[w->chars++] = c;
	w->n += n;
}

static struct word random_word(unsigned chars, unsigned alphabet)
{
	struct word w = {0};
	while (w.chars < chars)
		put_char(&w, roll_below(alphabet));
	return w;
}

/* The word with some changes and perhaps something before and after. */
static struct word changed_word(const struct word *from, unsigned changes, unsigned alphabet)
{
	struct word w = {0};
	unsigned place[8];
	for (unsigned i = 0; i < changes; i++)
		place[i] = roll_below(from->chars + 1);
	for (unsigned i = roll_below(3) ? 0 : roll_below(6); i > 0; i--)
		put_char(&w, roll_below(alphabet));
	for (unsigned i = 0; i < from->chars; i++) {
		bool keep = true;
		for (unsigned k = 0; k < changes; k++) {
			if (place[k] != i)
				continue;
			unsigned what = roll_below(4);
			keep &= what == 0;
			if (what < 2)
				put_char(&w, roll_below(alphabet));
			if (what == 3 && i + 1 < from->chars) {
				put_char(&w, from->c[i + 1]);
				put_char(&w, from->c[i++]);
			}
		}
		if (keep)
			put_char(&w, from->c[i]);
	}
	for (unsigned i = roll_below(3) ? 0 : roll_below(6); i > 0; i--)
		put_char(&w, roll_below(alphabet));
	return w;
}

/* The table of all beginnings of both, as it is taught. */
static unsigned plain_distance(const struct word *w, const struct word *t, bool left, bool right,
			       bool swaps)
{
	static unsigned d[CHARS_MOST + 1][CHARS_MOST + 1];
	unsigned best = UINT32_MAX;
	for (unsigned i = 0; i <= w->chars; i++)
		for (unsigned j = 0; j <= t->chars; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = i == 0 ? left ? 0 : j : i;
				continue;
			}
			unsigned v = d[i - 1][j - 1] + (w->c[i - 1] != t->c[j - 1]);
			v = MIN(v, d[i - 1][j] + 1);
			v = MIN(v, d[i][j - 1] + 1);
			if (swaps && i > 1 && j > 1 && w->c[i - 1] == t->c[j - 2] &&
			    w->c[i - 2] == t->c[j - 1])
				v = MIN(v, d[i - 2][j - 2] + 1);
			d[i][j] = v;
		}
	for (unsigned j = right ? 0 : t->chars; j <= t->chars; j++)
		best = MIN(best, d[w->chars][j]);
	return best;
}

static struct str text_of(const struct word *w)
{
	return (struct str){w->text, w->n};
}

static void compare_one(const struct word *w, const struct word *t, unsigned k, bool left,
			bool right, bool swaps)
{
	struct errors_word e;
	errors_init(&e, text_of(w), k, left, right);
	e.swaps = swaps;
	unsigned want = MIN(plain_distance(w, t, left, right, swaps), k + 1);
	unsigned got = errors_of(&e, text_of(t));
	if (got != want)
		fail_msg("'" STR_FMT "' in '" STR_FMT "', k %u, open %d %d, swaps %d: %u, not %u",
			 STR_ARG(text_of(w)), STR_ARG(text_of(t)), k, left, right, swaps, got,
			 want);
}

static void errors_are_those_of_the_table(void **state)
{
	(void)state;
	for (unsigned i = 0; i < (unit_thorough() ? 2000000 : 10000); i++) {
		unsigned alphabet = 2 + roll_below(ARRAY_LEN(letters) - 1);
		struct word w = random_word(1 + roll_below(roll_below(20) ? 12 : 40), alphabet);
		struct word t = roll_below(8) ? changed_word(&w, roll_below(6), alphabet)
					      : random_word(roll_below(16), alphabet);
		compare_one(&w, &t, roll_below(ERRORS_MOST + 1), roll_below(3) == 0,
			    roll_below(3) == 0, roll_below(2));
	}
}

static void the_longest_words_have_errors_too(void **state)
{
	(void)state;
	for (unsigned i = 0; i < (unit_thorough() ? 20000 : 300); i++) {
		static const unsigned chars[] = {62, 63, 64, 65, 66, 126, 127, 128};
		unsigned alphabet = 2 + roll_below(ARRAY_LEN(letters) - 1);
		struct word w = random_word(chars[roll_below(ARRAY_LEN(chars))], alphabet);
		struct word t = changed_word(&w, roll_below(9), alphabet);
		compare_one(&w, &t, roll_below(ERRORS_MOST + 1), roll_below(3) == 0,
			    roll_below(3) == 0, roll_below(2));
	}
}

/* A text that is not UTF-8 has characters that no word has, and breaks nothing. */
static void broken_characters_are_errors(void **state)
{
	(void)state;
	struct errors_word e;
	errors_init(&e, STR("a\xc3\xbfz"), 2, false, false);
	assert_int_equal(errors_of(&e, STR("a\xc3\xbfz")), 0);
	assert_int_equal(errors_of(&e, STR("a\xc3z")), 1);
	assert_int_equal(errors_of(&e, STR("a\xffz")), 1);
	assert_int_equal(errors_of(&e, STR("a\xc3")), 2);
	assert_int_equal(errors_of(&e, STR("a\x80\x80z")), 2);
	assert_int_equal(errors_of(&e, STR("\xf0\x9d\x84")), 3);
}

static void a_swap_is_two_errors_or_one(void **state)
{
	(void)state;
	struct errors_word e;
	errors_init(&e, STR("apple"), 2, false, false);
	assert_int_equal(errors_of(&e, STR("appel")), 2);
	assert_int_equal(errors_of(&e, STR("paple")), 2);
	e.swaps = true;
	assert_int_equal(errors_of(&e, STR("appel")), 1);
	assert_int_equal(errors_of(&e, STR("paple")), 1);
	assert_int_equal(errors_of(&e, STR("papel")), 2);
}

/* A word with all its errors in its first characters ends as it should. */
static void words_begin_well_or_end_well(void **state)
{
	(void)state;
	unsigned badly = 0;
	for (unsigned i = 0; i < 40000; i++) {
		unsigned alphabet = 2 + roll_below(ARRAY_LEN(letters) - 1);
		struct word w = random_word(2 + roll_below(roll_below(20) ? 10 : 80), alphabet);
		struct word t = changed_word(&w, roll_below(4), alphabet);
		struct errors_word e;
		unsigned k = 1 + roll_below(4), left = 1 + roll_below(w.chars - 1);
		errors_init(&e, text_of(&w), k, false, false);
		e.swaps = roll_below(2);
		unsigned all = errors_of(&e, text_of(&t));
		errors_begin_well(&e, left);
		unsigned well = errors_of(&e, text_of(&t));
		size_t at = 0;
		for (unsigned c = 0; c < left; c++)
			at += strlen(letters[w.c[c]]);
		if (well <= k)
			assert_int_equal(well, all);
		else if (all <= k)
			assert_true(str_ends(text_of(&t), str_from(text_of(&w), at)));
		badly += well > k && all <= k;
	}
	assert_true(badly > 100);
}

static bool can_go_on(const struct errors_word *e, const struct errors_rows *rows, unsigned byte)
{
	struct errors_rows then;
	return errors_step(e, rows, (unsigned char)byte, &then);
}

/* What errors_next() passes over leads nowhere: by bytes of ASCII and by those that begin a
 * character of the word. */
static void what_is_passed_over_leads_nowhere(void **state)
{
	(void)state;
	for (unsigned i = 0; i < (unit_thorough() ? 4000 : 700); i++) {
		struct word w = random_word(1 + roll_below(9), ARRAY_LEN(letters));
		struct word t = changed_word(&w, roll_below(4), ARRAY_LEN(letters));
		struct errors_word e;
		struct errors_rows rows;
		errors_init(&e, text_of(&w), roll_below(4), roll_below(4) == 0, roll_below(4) == 0);
		e.swaps = roll_below(2);
		if (e.k > 0 && !e.open_left && !e.open_right)
			errors_begin_well(&e, roll_below(w.chars));
		errors_start(&e, &rows);
		bool on = true;
		for (size_t at = 0; at < t.n && on; at++) {
			for (unsigned from = 0; from < 0x80; from++) {
				unsigned next = errors_next(&e, &rows, from);
				assert_true(next >= from);
				for (unsigned byte = from; byte < MIN(next, 0x80u); byte++)
					assert_false(can_go_on(&e, &rows, byte));
			}
			unsigned char byte = (unsigned char)t.text[at];
			unsigned next = errors_next(&e, &rows, byte);
			struct errors_rows before = rows;
			on = errors_step(&e, &before, byte, &rows);
			if (on && byte < 0x80)
				assert_int_equal(next, byte);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_those_of_the_table),
		cmocka_unit_test(the_longest_words_have_errors_too),
		cmocka_unit_test(broken_characters_are_errors),
		cmocka_unit_test(a_swap_is_two_errors_or_one),
		cmocka_unit_test(words_begin_well_or_end_well),
		cmocka_unit_test(what_is_passed_over_leads_nowhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
