/* What is shown of a result by everything that fetches: a line of JSON, and the name of the file
 * that its body is kept in. */
#pragma once
#include "base/buf.h"
#include "fetch/robot.h"

/* What the caller adds to the line; an empty value is left out. */
struct result_field {
	const char *key;
	struct str value;
};
/* One line. url: as it was asked for. */
void result_print_json(struct str url, const struct robot_result *r,
		       const struct result_field *more, size_t n, struct buf *out);
/* FOLDER/HOST/NAME, or FOLDER/HOST,PORT/NAME where the port is not that of https; the name is a
 * function of the URL alone, and no two URLs have the same. */
void result_file_name(const char *folder, const struct url *url, struct buf *ret);
