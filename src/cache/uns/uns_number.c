/* The file holds the first number that no process has reserved. What a process has reserved and not
 * used is lost with it. */
#include "cache/uns_number.h"

#include "base/fault.h"
#include "base/hash.h"
#include "base/rows.h"
#include "disk/small_file.h"

#include <stdio.h>
#include <sys/random.h>

static const struct column fields[] = {
	COL("name", struct uns_number, name),
	COL("next", struct uns_number, next),
};
static const struct rows number_fields = {ROWS(struct uns_number, fields),
					  .what = "a notification server"};

const struct format uns_number_format = {
	.name = "uns",
	.file = "cache/uns",
	.magic = "GARNERUN",
	.version = 1,
	.help = "who a notification server is, and the numbers that its sets have not had",
	.remedy = "remove it: the server takes another name, and sets that wait in unsdb may be "
		  "absorbed twice",
	.fields = &number_fields,
};

static int number_make(const char *path, struct uns_number *ret, struct err *err)
{
	unsigned char bytes[8];
	if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
		return err_sys(err, "cannot make a name");
	*ret = (struct uns_number){.next = 1};
	hex_print(bytes, sizeof bytes, ret->name);
	return small_file_save(path, &uns_number_format, ret, err);
}

int uns_number_open(const char *path, struct uns_number *ret, struct err *err)
{
	int rc = small_file_load(path, &uns_number_format, ret, err);
	if (rc == 1)
		return number_make(path, ret, err);
	if (rc == 0 &&
	    (!link_name_is_good(str_of(ret->name)) || ret->next == 0 || ret->next > INT64_MAX))
		rc = err_set(err, ERR_DAMAGED, "%s: not a name and a number", path);
	if (rc < 0)
		format_advise(&uns_number_format, err);
	return rc;
}

int uns_number_reserve(const char *path, const struct uns_number *n, uint64_t below,
		       struct err *err)
{
	struct uns_number with = *n;
	with.next = below;
	FAULT("uns.number");
	return small_file_save(path, &uns_number_format, &with, err);
}
