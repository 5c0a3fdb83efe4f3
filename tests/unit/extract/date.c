#include "extract/date_inner.h"

#include "../unit.h"

static void dates_of_all_forms_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t s;
	} cases[] = {
		{"1970", 0},
		{"2024", 1704067200},
		{"2024-05", 1714521600},
		{"2024-05-06", 1714953600},
		{"2024-05-06T10:11Z", 1714990260},
		{"2024-05-06T10:11:12Z", 1714990272},
		{"2024-05-06t10:11:12.345z", 1714990272},
		{"2024-05-06T10:11:12+02:00", 1714983072},
		{"2024-05-06T10:11:12-0500", 1715008272},
		{"2024-05-06 10:11:12", 1714990272},
		{"2024-02-29", 1709164800},
		{"Mon, 06 May 2024 10:11:12 GMT", 1714990272},
		{"Mon, 6 May 2024 10:11:12 +0200", 1714983072},
		{"06 May 24 10:11 EST", 1715008260},
		{"06 May 2024", 1714953600},
		{"Monday, 06-May-24 10:11:12 GMT", 1714990272},
		{"Mon May  6 10:11:12 2024", 1714990272},
		{"May 6, 2024", 1714953600},
		{"Mon, 06 May 2024 10:11:12 +0000 (UTC)", 1714990272},
		{" 2024-05-06\n", 1714953600},
		{"1714990272", 1714990272},
		{"31 Dec 1999 23:59:60 Z", 946684800},
		{"9999-12-31", 253402214400},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t s = -1;
		if (!date_parse(str_of(cases[i].text), &s) || s != cases[i].s)
			fail_msg("%s: %lld", cases[i].text, (long long)s);
	}
}

static void what_is_no_date_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"x",
		"20",
		"2024-",
		"2024-13",
		"2024-00",
		"2024-02-30",
		"2023-02-29",
		"1969-12-31",
		"2024-05-06T",
		"2024-05-06T10",
		"2024-05-06T10:61",
		"2024-05-06T25:00Z",
		"2024-05-06T10:11+99:00",
		"32 May 2024",
		"06 Mai 2024x",
		"06 May",
		"May",
		"Mon,",
		"12345",
		"10000-01-01",
		"123456789012",
		"1970-01-01T00:00:00+01:00",
		"6 May 2024 x1",
		"-----",
		"06 May 202",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		int64_t s = 42;
		if (date_parse(str_of(cases[i]), &s) || s != 42)
			fail_msg("%s: taken as %lld", cases[i], (long long)s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_of_all_forms_are_read),
		cmocka_unit_test(what_is_no_date_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
