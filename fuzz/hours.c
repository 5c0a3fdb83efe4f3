/* Lists of hours: what is read allows something; the next hour that is allowed is, and none before
 * it; slots lie in their period and come when they say. */
#include "cache/hours.h"

#define MONDAY_US (INT64_C(1789948800) * US_PER_S)

static void check_next(const struct hours *h, int64_t at)
{
	int64_t next = hours_next_us(h, at);
	ENSURE(next >= at && next - at < HOURS_WEEK * US_PER_H && hours_allow(h, next));
	for (int64_t hour = at / US_PER_H; hour < next / US_PER_H; hour++)
		ENSURE(!hours_allow(h, MAX(at, hour * US_PER_H)));
}

static void check_slot(int64_t at, int period)
{
	int64_t slot_us = 15 * US_PER_MIN, slot = hours_slot(at, slot_us, period);
	int64_t other = (slot * 7 + 3) % (period * US_PER_H / slot_us);
	int64_t next = hours_slot_next_us(other, at, slot_us, period);
	ENSURE(slot >= 0 && slot < period * US_PER_H / slot_us);
	ENSURE(hours_slot_next_us(slot, at, slot_us, period) == at);
	ENSURE(next >= at && next - at < period * US_PER_H);
	ENSURE(hours_slot(next, slot_us, period) == other);
}

static void check_list(struct str text, int period, int64_t at)
{
	struct hours h, again;
	struct err err = {0};
	if (hours_parse(text, period, &h, &err) < 0) {
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
		return;
	}
	ENSURE(!hours_none(&h));
	check_next(&h, at);
	again = hours_both(&h, &hours_any);
	ENSURE(memcmp(&h, &again, sizeof h) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size};
	int64_t at = MONDAY_US + (int64_t)(size ? data[size - 1] : 0) * 37 * US_PER_MIN + 5;
	check_list(text, HOURS_DAY, at);
	check_list(text, HOURS_WEEK, at);
	check_slot(at, HOURS_DAY);
	check_slot(at, HOURS_WEEK);
	return 0;
}
