/* What is mailed of a shell's output: packed, encoded, and split into parts, each with its subject.
 * No input or output. */
#pragma once
#include "archie/shell.h"

enum {
	MAIL_PARTS_MOST = 20, /* of one output; where max_split_size would make more, parts grow */
};
#define MAIL_PARTS_FILE "archie-output" /* what uudecode calls it */

/* As uuencode(1) does, with this name and the mode 644. */
void mail_uuencode(struct str in, struct buf *out);

struct mail_parts {
	struct buf text; /* all of it, as it is sent */
	struct str command;
	size_t size; /* of a part: it has the line that passes it */
	size_t n, at, next;
};
/* ERR_USAGE: it is too large to be sent. mail: used where it is. */
int mail_parts_init(struct mail_parts *ret, const struct shell_mail *mail, struct err *err);
/* The next part, and its subject, "archie [COMMAND] part N of M", in the buffer. 1: that was all.
 */
int mail_parts_next(struct mail_parts *p, struct buf *subject, struct str *ret);
void mail_parts_done(struct mail_parts *p);
