/* Commands that a mail server starts for a mail, out of a .forward or an alias. It keeps the mail
 * until the command has ended with 0, and brings it again after 75 (EX_TEMPFAIL). So every failure
 * of ours is 75, and everything that will never work is 0: an error would go back to a stranger as
 * a bounce. */
#pragma once
#include "cmd/command.h"
#include "extract/mime.h"

/* data: the data directory. Negative: it cannot be done now. */
typedef int mail_input_fn(const struct config *config, const char *data,
			  const struct mime_mail *mail, struct err *err);
/* Reads the mail on standard input, has it taken apart in the cage, and hands it over. */
int mail_input(const struct cmd_call *call, mail_input_fn *fn, struct err *err);
