/* The listing parser at its limits: lines, headings, dates, noise, and what means harm. The
 * families themselves are in listing_pairs.c. */
#include "extract/listing.h"
#include "extract/listing_inner.h"

#include <stdio.h>
#include <time.h>

#include "../dice.h"
#include "../unit.h"

#define LINE "-rw-r--r-- 1 root staff 1024 Mar  1  1994 "
enum { LISTED = 762566400 }; /* 1 March 1994, noon */

/* "dir/name" of each entry, with a line end; then "!N why" of each bad line. */
static int put_entry(void *ctx, const struct listing_entry *e, struct err *err)
{
	(void)err;
	buf_printf(ctx, STR_FMT "/" STR_FMT "\n", STR_ARG(e->dir), STR_ARG(e->name));
	return 0;
}

static int read_cut(struct str text, size_t piece, const struct listing_job *job, struct buf *out,
		    struct err *err)
{
	struct listing *l = listing_new(job, put_entry, out);
	struct listing_stats s;
	for (; text.n; text = str_from(text, piece))
		assert_int_equal(listing_put(l, str_head(text, piece), err), 0);
	int rc = listing_end(l, &s, err);
	for (size_t i = 0; i < MIN(s.bad, (uint64_t)LISTING_BAD_KEPT); i++)
		buf_printf(out, "!%llu %s\n", (unsigned long long)s.bad_line[i], s.bad_why[i]);
	listing_free(&l);
	assert_null(l);
	return rc;
}

static void assert_reads_str(struct str text, const char *want)
{
	static const size_t pieces[] = {SIZE_MAX, 1, 3, 65536};
	const struct listing_job job = {.listed_s = LISTED, .errors_max_percent = 100};
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		struct buf got = BUF_INIT(1 << 20);
		struct err err;
		(void)read_cut(text, pieces[i], &job, &got, &err);
		assert_string_equal(buf_text(&got), want);
		buf_free(&got);
	}
}
#define assert_reads(text, want) assert_reads_str(STR(text), want)

/* Lines */

static void a_line_may_have_64_kib(void **state)
{
	static const char *const ends[] = {"\n", "\r\n", ""};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		for (size_t over = 0; over < 3; over++) {
			struct buf text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20);
			size_t n = LISTING_LINE_MOST - strlen(LINE) + over;
			buf_add_text(&text, LINE "a\n" LINE);
			buf_fill(&text, 'x', n);
			buf_add_text(&text, ends[i]);
			buf_add_text(&want, "/a\n");
			if (over) {
				buf_add_text(&want, "!2 longer than 64 KiB\n");
			} else {
				buf_add_byte(&want, '/');
				buf_fill(&want, 'x', n);
				buf_add_byte(&want, '\n');
			}
			assert_reads_str(buf_str(&text), buf_text(&want));
			buf_free(&text);
			buf_free(&want);
		}
}

static void a_heading_that_is_too_long_takes_its_entries_along(void **state)
{
	static const char *const ends[] = {":\n", ":\r\n"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct buf text = BUF_INIT(1 << 20);
		buf_add_text(&text, "./a:\n" LINE "b\n\n./");
		buf_fill(&text, 'd', LISTING_LINE_MOST);
		buf_add_text(&text, ends[i]);
		buf_add_text(&text, "total 1\n" LINE "lost\n\n./c:\n" LINE "d\n");
		assert_reads_str(buf_str(&text), "a/b\nc/d\n!4 a heading longer than 64 KiB\n"
						 "!6 below a heading that is bad\n");
		buf_free(&text);
	}
}

static void a_long_name_that_ends_in_a_colon_is_no_heading(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	(void)state;
	buf_add_text(&text, "./a:\n" LINE);
	buf_fill(&text, 'x', LISTING_LINE_MOST);
	buf_add_text(&text, ":\n" LINE "b\n");
	assert_reads_str(buf_str(&text), "a/b\n!2 longer than 64 KiB\n");
	buf_free(&text);
}

static void the_last_line_needs_no_end(void **state)
{
	(void)state;
	assert_reads(LINE "a\n" LINE "b", "/a\n/b\n");
	assert_reads(LINE "a\r", "/a\n");
	assert_reads(LINE "a\r\r\n", "/a\r\n"); /* one belongs to the line end */
	assert_reads("", "");
	assert_reads("\n\n", "");
}

/* Names */

static void bytes_that_no_name_has_are_bad(void **state)
{
	(void)state;
	assert_reads(LINE "a\0b\n" LINE "c\n", "/c\n!1 a NUL byte in a name\n");
	assert_reads(LINE "a/b\n" LINE "/\n", "!1 a slash in a name\n!2 a slash in a name\n");
	assert_reads("a\0b:\n" LINE "c\n", "!1 a heading with a NUL byte or an empty name\n"
					   "!2 below a heading that is bad\n");
	assert_reads("\0\0\0\n\0\n", "!1 not a line of a listing\n!2 not a line of a listing\n");
}

static void the_fewest_blanks_before_a_name_are_the_separator(void **state)
{
	(void)state;
	assert_reads(LINE "  a\n" LINE " b\n" LINE "  c\n" LINE "d\n" LINE " e\n",
		     "/a\n/b\n/ c\n/d\n/ e\n");
	assert_reads(LINE "a\n" LINE " \n" LINE "\n", "/a\n/ \n!3 no name\n");
	assert_reads(LINE "\n", "!1 no name\n");
}

static void names_that_look_like_lines_are_names(void **state)
{
	(void)state;
	assert_reads(LINE LINE "x\n", "/" LINE "x\n");
	assert_reads(LINE "total 5\n", "/total 5\n");
	assert_reads(LINE "404 not found\n", "/404 not found\n");
	assert_reads(LINE "a -> b\n", "/a -> b\n");
	assert_reads("lrwxrwxrwx 1 root staff 7 Mar  1  1994 a -> b -> c\n", "/a\n");
	assert_reads(LINE "a\nlrwxrwxrwx 1 root staff 7 Mar  1  1994  -> c\n", "/a\n!2 no name\n");
}

/* Fields */

static void a_wrong_date_is_not_skipped_for_one_in_the_name(void **state)
{
	(void)state;
	assert_reads("-rw-r--r-- 1 ftp ftp 10 Jan 32 12:00 5 Jan 10 12:00 x\n",
		     "!1 no such day or time\n");
	assert_reads("-rw-r--r-- 1 ftp ftp 10 Foo 10 12:00 5 Jan 10 12:00 x\n",
		     "!1 no size and date\n");
	assert_reads("-rw-r--r-- 1 ftp ftp -5 Jan 10 12:00 5 Jan 10 12:00 x\n",
		     "!1 no size and date\n");
}

static void many_words_are_bad_and_cheap(void **state)
{
	struct buf text = BUF_INIT(1 << 20);
	(void)state;
	buf_add_text(&text, "-rw-r--r--");
	for (int i = 0; i < 20000; i++)
		buf_add_text(&text, " 1");
	buf_add_text(&text, "\n");
	assert_reads_str(buf_str(&text), "!1 too many fields\n");
	buf_free(&text);
}

static int keep_size(void *ctx, const struct listing_entry *e, struct err *err)
{
	(void)err;
	*(int64_t *)ctx = e->size;
	return 0;
}

static int64_t size_of(const char *size)
{
	struct listing *l;
	struct listing_stats s;
	struct err err;
	char line[128];
	int64_t got = -1;
	const struct listing_job job = {.listed_s = LISTED, .errors_max_percent = 100};
	snprintf(line, sizeof line, "-rw-r--r-- 1 root staff %s Mar  1  1994 f\n", size);
	l = listing_new(&job, keep_size, &got);
	assert_int_equal(listing_put(l, str_of(line), &err), 0);
	(void)listing_end(l, &s, &err);
	listing_free(&l);
	return got;
}

static void sizes_end_at_63_bits(void **state)
{
	(void)state;
	assert_int_equal(size_of("0"), 0);
	assert_int_equal(size_of("9223372036854775807"), INT64_MAX);
	assert_int_equal(size_of("9223372036854775808"), -1);
	assert_int_equal(size_of("18446744073709551617"), -1);
	assert_int_equal(size_of("7E"), INT64_C(7) << 60);
	assert_int_equal(size_of("8E"), -1);
	assert_int_equal(size_of("7.999999999999E"),
			 INT64_C(9223372035701854303)); /* nine places */
	assert_int_equal(size_of("1.5K"), 1536);
	assert_int_equal(size_of("1,5K"), 1536);
	assert_int_equal(size_of("512B"), 512);
	assert_int_equal(size_of("1.K"), -1);
	assert_int_equal(size_of("1.5"), -1);
	assert_int_equal(size_of("K5"), -1);
	assert_int_equal(size_of("1KK"), -1);
}

/* Dates */

/* Every month of two centuries, its last days too, against libc. */
static void the_calendar_is_that_of_libc(void **state)
{
	struct listing_dates d;
	(void)state;
	listing_dates_init(&d, LISTED, 0);
	for (int year = 1970; year < 2170; year++)
		for (int month = 1; month <= 12; month++)
			for (int day = 1; day <= 31; day += day == 1 ? 26 : 1) {
				struct tm tm = {.tm_year = year - 1900,
						.tm_mon = month - 1,
						.tm_mday = day,
						.tm_hour = 23,
						.tm_min = 59,
						.tm_sec = 58};
				struct listing_time t = {.year = year,
							 .month = month,
							 .day = day,
							 .hour = 23,
							 .minute = 59,
							 .second = 58};
				int64_t got = -1, want = timegm(&tm);
				bool there = tm.tm_mday == day;
				assert_int_equal(listing_time_utc(&d, &t, &got), there);
				if (there)
					assert_int_equal(got, want);
			}
}

/* The rule as it is written: the latest year that is at most a day late. */
static int64_t year_by_rule(int64_t listed_s, int32_t tz_s, struct tm tm)
{
	for (int year = 2300; year > 1960; year--) {
		struct tm at = tm;
		at.tm_year = year - 1900;
		int64_t s = timegm(&at) - tz_s;
		if (at.tm_mday == tm.tm_mday && s <= listed_s + 86400)
			return MAX(s, 0);
	}
	return -1;
}

static void a_missing_year_is_the_latest_that_fits(void **state)
{
	uint64_t seed = 21;
	(void)state;
	for (int i = 0; i < 2000; i++) {
		int64_t listed_s = (int64_t)(dice(&seed) % (UINT64_C(230) * 365 * 86400));
		int32_t tz_s = (int32_t)(dice(&seed) % 105) * 900 - 12 * 3600;
		struct tm tm = {.tm_mon = (int)(dice(&seed) % 12),
				.tm_mday = 1 + (int)(dice(&seed) % 29),
				.tm_hour = (int)(dice(&seed) % 24),
				.tm_min = (int)(dice(&seed) % 60)};
		struct listing_time t = {.year = -1,
					 .month = tm.tm_mon + 1,
					 .day = tm.tm_mday,
					 .hour = tm.tm_hour,
					 .minute = tm.tm_min};
		struct listing_dates d;
		int64_t got;
		listing_dates_init(&d, listed_s, tz_s);
		assert_true(listing_time_utc(&d, &t, &got));
		assert_int_equal(got, year_by_rule(listed_s, tz_s, tm));
	}
}

static void zones_and_times_of_the_line_count(void **state)
{
	static const struct {
		const char *date;
		int rc;
		int64_t s;
	} cases[] = {
		{"2005-06-07 21:22:33.123456789 -0500 f", 0, 1118197353},
		{"2005-06-07 21:22:33 +0000 f", 0, 1118179353},
		{"2005-06-07 21:22:33 f", 0, 1118175753},
		{"2005-06-07  f", 0, 1118098800},
		{"2005-06-07 f", 0, 1118098800},
		{"2005-06-31 f", -1, 0},
		{"2005-6-7 f", 1, 0},
		{"Feb 29  1900 f", -1, 0},
		{"Feb 29  2000 f", 0, 951778800},
		{"Jun  7 24:00 f", -1, 0},
		{"Jun  7 123 f", 1, 0},
		{"7. Jun 2005 f", 0, 1118098800},
		{"Jun 7 2005", 0, 1118098800},
		{"Jun 7 20055 f", 1, 0},
		{"", 1, 0},
		{"Jun", 1, 0},
		{"Jun 7", 1, 0},
	};
	struct listing_dates d;
	(void)state;
	listing_dates_init(&d, 1120176000, 3600);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t s = 0;
		size_t end;
		int rc = listing_date_read(&d, str_of(cases[i].date), 0, &end, &s);
		if (rc != cases[i].rc || (rc == 0 && s != cases[i].s))
			fail_msg("'%s': %d, %lld", cases[i].date, rc, (long long)s);
	}
}

static void months_have_names_in_four_languages(void **state)
{
	static const char *const names[12] = {
		"Jan January januar Janvier janv. ene enero JAN",
		"Feb f\xe9vr. f\xc3\xa9vrier FEVR. febrero Februar",
		"Mar M\xe4r M\xc3\xa4rz M\xc3\x84R Mrz mars marzo March",
		"Apr avr. avril abr Abril",
		"May Mai mayo mai.",
		"Jun June juin Juni junio",
		"Jul July juil. juillet Juli julio",
		"Aug ao\xfbt ao\xc3\xbbt ago agosto",
		"Sep Sept sept. septiembre setiembre September",
		"Oct Okt octubre Oktober",
		"Nov Nov. novembre noviembre",
		"Dec Dez d\xe9"
		"c. d\xc3\xa9"
		"cembre dic diciembre",
	};
	(void)state;
	for (int i = 0; i < 12; i++) {
		struct str rest = str_of(names[i]), word;
		while (str_cut(&rest, ' ', &word) == 0)
			if (listing_month(word) != i + 1)
				fail_msg("'" STR_FMT "' is %d", STR_ARG(word), listing_month(word));
	}
	static const char *const none[] = {"",      "Ja", "jui",   "Foo",           "Janx",
					   "J\xc3", "12", "Jan..", "januaryjanuary"};
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_int_equal(listing_month(str_of(none[i])), 0);
}

/* Headings */

static void a_directory_may_be_255_deep(void **state)
{
	(void)state;
	for (size_t depth = 255; depth <= 256; depth++) {
		struct buf text = BUF_INIT(4096), want = BUF_INIT(4096);
		for (size_t i = 0; i < depth; i++)
			buf_add_text(&text, "/d");
		buf_add_text(&text, ":\n" LINE "f\n");
		if (depth == 255) {
			for (size_t i = 0; i < depth; i++)
				buf_add_text(&want, i ? "/d" : "d");
			buf_add_text(&want, "/f\n");
		} else {
			buf_add_text(&want, "!1 a heading deeper than 255 directories\n"
					    "!2 below a heading that is bad\n");
		}
		assert_reads_str(buf_str(&text), buf_text(&want));
		buf_free(&text);
		buf_free(&want);
	}
}

static void headings_are_made_plain(void **state)
{
	(void)state;
	assert_reads(".//a/./b//:\n" LINE "f\n", "a/b/f\n");
	assert_reads(":\n" LINE "f\n", "/f\n");
	assert_reads("a:b:\n" LINE "f\n", "a:b/f\n");
	assert_reads("D:[A.B]\n" LINE "f\n", "A/B/f\n");
	assert_reads("Directory [A]\n" LINE "f\n", "A/f\n");
	assert_reads("D:[A..B]\n" LINE "f\n", "!1 a heading with a NUL byte or an empty name\n"
					      "!2 below a heading that is bad\n");
	assert_reads("[A]\n", "!1 not a line of a listing\n");
}

static void a_prefix_is_cut_off_as_a_whole(void **state)
{
	const struct listing_job job = {
		.listed_s = LISTED, .errors_max_percent = 100, .prefix = STR("/./srv//ftp/")};
	struct buf got = BUF_INIT(4096);
	struct err err;
	(void)state;
	assert_int_equal(read_cut(STR("/srv/ftp:\n" LINE "a\n/srv/ftp/x:\n" LINE "b\n"
				      "/srv/ftpx:\n" LINE "c\n./y:\n" LINE "d\n"),
				  SIZE_MAX, &job, &got, &err),
			 0);
	assert_string_equal(buf_text(&got), "/a\nx/b\nsrv/ftpx/c\ny/d\n");
	buf_free(&got);
}

/* Noise */

static void a_denial_takes_the_next_line_along_but_no_heading(void **state)
{
	(void)state;
	assert_reads("-rw-r--r-- 1 root st./x: Permission denied\naff 5 Mar  1  1994 lost\n" LINE
		     "a\n",
		     "/a\n");
	assert_reads("./x: Permission denied\n./y:\n" LINE "a\n", "y/a\n");
	assert_reads("a: Permission denied\nb: Permission denied\nonce\n" LINE "a\n", "/a\n");
}

static void noise_is_neither_entry_nor_bad(void **state)
{
	(void)state;
	assert_reads("total 5\ntotal: 3\nTotal: 12 kbytes\ninsgesamt 5\ngesamt 5\ntotal 3.1G\n"
		     "   \n226 Transfer complete.\n150-Hello\nTotal of 2 files, 3 blocks.\n"
		     "Grand total of 3 directories.\n/x unreadable\n",
		     "");
	assert_reads("total\ntotal five\n2260 x\n999 x\n",
		     "!1 not a line of a listing\n!2 not a line of a listing\n"
		     "!3 not a line of a listing\n!4 not a line of a listing\n");
}

static void a_name_of_vms_waits_for_its_fields_once(void **state)
{
	(void)state;
	assert_reads("LONG.TXT;2\n      5/6   31-JAN-1996 12:34:56  [A]  (RWED)\n", "/LONG.TXT\n");
	assert_reads("LONG.TXT;2\n" LINE "a\n", "/a\n!1 a name whose fields do not follow\n");
	assert_reads("LONG.TXT;2\n", "!1 a name whose fields do not follow\n");
	assert_reads("A.TXT;2\nB.TXT;2\n  5   31-JAN-1996 12:34\n",
		     "/B.TXT\n!1 a name whose fields do not follow\n");
	assert_reads("A.TXT;2\n  5 nonsense\n",
		     "!1 a name whose fields do not follow\n!2 not a line of a listing\n");
	assert_reads("A.TXT;1   %RMS-E-PRV, no\nB.DIR;1 1 31-JAN-1996\n", "/A.TXT\n/B\n");
	assert_reads("A.TXT;1   5 31-FEB-1996\n", "!1 no such day or time\n");
}

/* Judgement */

static void more_bad_lines_than_allowed_refuse_it(void **state)
{
	const struct listing_job job = {.listed_s = LISTED, .errors_max_percent = 5};
	(void)state;
	for (int bad = 4; bad <= 6; bad++) {
		struct buf text = BUF_INIT(1 << 16), got = BUF_INIT(1 << 16);
		struct err err;
		for (int i = 0; i < 100; i++)
			buf_add_text(&text, i < bad ? "once\n" : LINE "f\n");
		int rc = read_cut(buf_str(&text), SIZE_MAX, &job, &got, &err);
		assert_int_equal(rc, bad > 5 ? -1 : 0);
		if (rc < 0) {
			assert_int_equal(err.code, ERR_USAGE);
			assert_non_null(strstr(err.msg, "6 of 100 lines are bad"));
		}
		buf_free(&text);
		buf_free(&got);
	}
}

static void no_more_than_a_hundred_bad_lines_are_told(void **state)
{
	struct listing_stats s;
	struct err err;
	struct buf ignored = BUF_INIT(1 << 16);
	const struct listing_job job = {.listed_s = LISTED, .errors_max_percent = 100};
	struct listing *l = listing_new(&job, put_entry, &ignored);
	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(listing_put(l, STR("once\n"), &err), 0);
	assert_int_equal(listing_end(l, &s, &err), -1); /* no entries */
	assert_int_equal(s.bad, 1000);
	assert_int_equal(s.lines, 1000);
	assert_int_equal(s.bad_line[LISTING_BAD_KEPT - 1], LISTING_BAD_KEPT);
	listing_free(&l);
	buf_free(&ignored);
}

static int stop_at_second(void *ctx, const struct listing_entry *e, struct err *err)
{
	(void)e;
	return ++*(int *)ctx == 2 ? err_set(err, ERR_BUSY, "enough") : 0;
}

static void the_caller_may_end_the_reading(void **state)
{
	struct listing_stats s;
	struct err err;
	int n = 0;
	const struct listing_job job = {.listed_s = LISTED};
	struct listing *l = listing_new(&job, stop_at_second, &n);
	(void)state;
	assert_int_equal(listing_put(l, STR(LINE "a\n" LINE "b\n" LINE "c\n"), &err), -1);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(listing_put(l, STR(LINE "d\n"), &err), -1);
	assert_int_equal(listing_end(l, &s, &err), -1);
	assert_int_equal(n, 2);
	listing_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_may_have_64_kib),
		cmocka_unit_test(a_heading_that_is_too_long_takes_its_entries_along),
		cmocka_unit_test(a_long_name_that_ends_in_a_colon_is_no_heading),
		cmocka_unit_test(the_last_line_needs_no_end),
		cmocka_unit_test(bytes_that_no_name_has_are_bad),
		cmocka_unit_test(the_fewest_blanks_before_a_name_are_the_separator),
		cmocka_unit_test(names_that_look_like_lines_are_names),
		cmocka_unit_test(a_wrong_date_is_not_skipped_for_one_in_the_name),
		cmocka_unit_test(many_words_are_bad_and_cheap),
		cmocka_unit_test(sizes_end_at_63_bits),
		cmocka_unit_test(the_calendar_is_that_of_libc),
		cmocka_unit_test(a_missing_year_is_the_latest_that_fits),
		cmocka_unit_test(zones_and_times_of_the_line_count),
		cmocka_unit_test(months_have_names_in_four_languages),
		cmocka_unit_test(a_directory_may_be_255_deep),
		cmocka_unit_test(headings_are_made_plain),
		cmocka_unit_test(a_prefix_is_cut_off_as_a_whole),
		cmocka_unit_test(a_denial_takes_the_next_line_along_but_no_heading),
		cmocka_unit_test(noise_is_neither_entry_nor_bad),
		cmocka_unit_test(a_name_of_vms_waits_for_its_fields_once),
		cmocka_unit_test(more_bad_lines_than_allowed_refuse_it),
		cmocka_unit_test(no_more_than_a_hundred_bad_lines_are_told),
		cmocka_unit_test(the_caller_may_end_the_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
