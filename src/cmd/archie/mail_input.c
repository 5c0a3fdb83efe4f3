/* Reads a mail on standard input and passes it, parsed, to a command. */
#include "cmd/archie/mail_input.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/wait.h"
#include "extract/cage_section.h"

#include <errno.h>
#include <limits.h>
#include <sysexits.h>
#include <unistd.h>

#define READ_US (5 * US_PER_MIN) /* until the whole mail has come */

/* The beginning of the mail; what is beyond is read as well, or its sender would take us for dead.
 */
static int read_mail(struct buf *mail, struct err *err)
{
	char piece[64 << 10];
	int64_t until_us = clock_mono_us() + READ_US;
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	for (;;) {
		if (clock_mono_us() >= until_us || wait_ready(&p, 1, until_us) <= 0)
			return err_set(err, ERR_REMOTE, "the mail did not come to its end");
		ssize_t n = UNINTERRUPTED(read(STDIN_FILENO, piece, sizeof piece));
		if (n < 0)
			return err_sys(err, "standard input");
		if (n == 0)
			return 0;
		buf_add(mail, piece, MIN((size_t)n, mail->max - mail->n));
	}
}

static int take_mail(const struct config *config, const char *data, struct str bytes,
		     mail_input_fn *fn, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)4 << 20);
	struct cage_options cage;
	char program[CAGE_PATH_MAX];
	struct mime_mail mail;
	if (cage_section_options(config_get(config, &cage_section), program, &cage, err) < 0)
		return -1;
	if (mime_read(program, bytes, &arena, &mail, err) < 0) {
		if (err->code != ERR_REMOTE)
			return -1;
		log_outside(MAIN, "unreadable mail", KV_TEXT("why", err->msg));
		return 0;
	}
	return fn(config, data, &mail, err);
}

int mail_input(const struct cmd_call *call, mail_input_fn *fn, struct err *err)
{
	CLEANUP(buf_free) struct buf mail = BUF_INIT(MIME_MAIL_MOST);
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX];
	if (cmd_config_data(call, &config, data, err) == 0 && read_mail(&mail, err) == 0 &&
	    take_mail(config, data, buf_str(&mail), fn, err) == 0)
		return 0;
	err->code = (enum err_code)EX_TEMPFAIL;
	return -1;
}
