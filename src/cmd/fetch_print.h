/* What `garner fetch` prints of a result for people; result_print.h has the JSON. */
#pragma once
#include "base/buf.h"
#include "fetch/robot.h"

void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out);
