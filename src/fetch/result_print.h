/* What is shown of a result by everything that fetches: a line of JSON, and the name of the file
 * that its body is kept in. */
#pragma once
#include "base/buf.h"
#include "fetch/robot.h"

/* One line. url: as it was asked for; doc_id: of a spider's URL; file: where the body is kept. Both
 * may be empty. */
void result_print_json(struct str url, const struct robot_result *r, struct str doc_id,
		       const char *file, struct buf *out);
/* FOLDER/HOST/NAME, or FOLDER/HOST,PORT/NAME where the port is not that of https; the name is a
 * function of the URL alone, and no two URLs have the same. */
void result_file_name(const char *folder, const struct url *url, struct buf *ret);
/* Makes the folder of that file. *ret_path is to be freed; what follows "FOLDER/" in it is a name
 * as base/beneath.h has it. */
int result_file_make(const char *folder, const struct url *url, char **ret_path, struct err *err);
