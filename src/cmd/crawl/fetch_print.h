/* What `garner fetch` prints: of a result for people (result_print.h has the JSON), and of what the
 * robots of a botm have answered. */
#pragma once
#include "base/buf.h"
#include "fetch/robot.h"

void fetch_print_text(struct str url, const struct robot_result *r, struct buf *out);

/* The same of what a robot of a botm has answered. */
struct bot_message;
void fetch_print_answer_json(struct str url, const struct bot_message *m, struct buf *out);
void fetch_print_answer_text(struct str url, const struct bot_message *m, struct buf *out);
