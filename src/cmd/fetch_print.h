/* What `garner fetch` says of each URL. */
#pragma once
#include "base/buf.h"
#include "fetch/robot.h"

/* A line each; file: where the body was put, NULL: nowhere. */
void fetch_print_json(struct str url, const struct robot_result *r, const char *file,
		      struct buf *out);
void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out);

/* Where the body of a URL goes below a folder: HOST/NAME (HOST,PORT/NAME but for 443), with what is
 * no plain letter escaped and what is too long for a name cut and made unique by its hash. Into
 * *ret, a path of its own. */
void fetch_file_name(const char *folder, const struct url *url, struct buf *ret);
