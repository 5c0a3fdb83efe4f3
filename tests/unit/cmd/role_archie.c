#include "cmd/archie/role_archie.h"

#include "../unit.h"
#include "base/clock.h"

#include <time.h>

static int64_t at(const char *text)
{
	int64_t us = 0;
	assert_true(time_parse(str_of(text), &us));
	return us;
}

static void the_last_night_is_the_latest_that_began(void **state)
{
	(void)state;
	static const struct {
		const char *zone, *now;
		int64_t at_s;
		const char *night;
	} c[] = {
		{"UTC", "2026-11-17T02:59:59Z", 10800, "2026-11-16T03:00:00Z"},
		{"UTC", "2026-11-17T03:00:00Z", 10800, "2026-11-17T03:00:00Z"},
		{"UTC", "2026-11-17T23:59:00Z", 10800, "2026-11-17T03:00:00Z"},
		{"UTC", "2026-03-01T00:00:00Z", 3600, "2026-02-28T01:00:00Z"},
		{"UTC", "2026-01-01T00:00:00Z", 0, "2026-01-01T00:00:00Z"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T00:59:00Z", 10800,
		 "2026-06-30T01:00:00Z"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "2026-07-01T01:00:00Z", 10800,
		 "2026-07-01T01:00:00Z"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-29T12:00:00Z", 10800,
		 "2026-03-29T01:00:00Z"},
		{"CET-1CEST,M3.5.0,M10.5.0/3", "2026-03-30T00:59:00Z", 10800,
		 "2026-03-29T01:00:00Z"},
	};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		setenv("TZ", c[i].zone, 1);
		tzset();
		int64_t night = archie_last_night_us(at(c[i].now), c[i].at_s);
		if (night != at(c[i].night))
			fail_msg("%s: %lld, not %s", c[i].now, (long long)(night / US_PER_S),
				 c[i].night);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_night_is_the_latest_that_began),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
