/* The row has the first number that no process has reserved. Numbers that a killed process had
 * reserved are never used. If the row is lost, the server takes another name, under which no number
 * was used. */
#include "cache/uns/uns_number.h"

#include "base/fault.h"
#include "base/hash.h"

#include <stdio.h>
#include <sys/random.h>

static const struct column columns[] = {
	COL("instance", struct uns_number, instance),
	COL("name", struct uns_number, name),
	COL("next", struct uns_number, next, .most = INT64_MAX),
};

static const struct small_table numbers = {
	.name = "uns",
	.row = {ROWS(struct uns_number, columns)},
	.key = 1,
	.most = 1000,
	.writer = "uns",
	.loss = "the name of the server, and the numbers that its sets have not had; it takes "
		"another name, and sets that wait in unsdb may be absorbed twice",
};

static int number_make(struct small *s, struct uns_number *ret, struct err *err)
{
	unsigned char bytes[8];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_sys(err, "cannot make a name");
	hex_print(bytes, sizeof bytes, ret->name);
	ret->next = 1;
	return small_put(s, &numbers, ret, err);
}

int uns_number_open(const char *data, const char *instance, struct small **ret_small,
		    struct uns_number *ret, struct err *err)
{
	const struct small_table *table = &numbers;
	*ret = (struct uns_number){0};
	snprintf(ret->instance, sizeof ret->instance, "%s", instance);
	if (small_open_data(ret_small, data, &table, 1, SMALL_WRITE, err) < 0)
		return -1;
	int rc = small_get(*ret_small, &numbers, ret, err);
	if (rc == 1)
		rc = number_make(*ret_small, ret, err);
	if (rc == 0 && (!link_name_is_good(str_of(ret->name)) || ret->next == 0))
		rc = err_set(err, ERR_DAMAGED,
			     "%s/" SMALL_FILE ": table uns: not a name and a number", data);
	return rc;
}

int uns_number_reserve(struct small *s, const struct uns_number *n, uint64_t below, struct err *err)
{
	struct uns_number with = *n;
	with.next = below;
	FAULT("uns.number");
	return small_put(s, &numbers, &with, err);
}
