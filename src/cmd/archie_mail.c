/* garner archie mail: one mail on standard input, from a .forward or an alias of the mail server,
 * which keeps it until this command has ended with 0, and brings it again after 75 (EX_TEMPFAIL).
 * So every failure of ours is 75, and everything that will never work is 0: an error would go back
 * to a stranger as a bounce. */
#include "archie/archie_conf.h"
#include "archie/mail.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "extract/cage_section.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sysexits.h>
#include <unistd.h>

#define READ_US (5 * US_PER_MIN) /* until the whole mail has come */
#define SEARCH_US                                                                      \
	(12 * US_PER_MIN) /* until searches are given up; Postfix waits 1,000 s in all \
			   */

/* The beginning of the mail; what is beyond is read as well, or its sender would take us for dead.
 */
static int read_mail(struct buf *mail, struct err *err)
{
	char piece[64 << 10];
	int64_t until_us = clock_mono_us() + READ_US;
	for (;;) {
		struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
		int64_t left_us = until_us - clock_mono_us();
		if (left_us <= 0)
			return err_set(err, ERR_REMOTE, "the mail did not come to its end");
		if (poll(&p, 1, (int)(left_us / US_PER_MS) + 1) <= 0)
			continue;
		ssize_t n = read(STDIN_FILENO, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_sys(err, "standard input");
		if (n == 0)
			return 0;
		buf_add(mail, piece, MIN((size_t)n, mail->max - mail->n));
	}
}

static void warn_lines(struct str lines)
{
	struct str line;
	while (lines.n && str_cut(&lines, '\n', &line) == 0)
		if (line.n)
			log_warn(MAIN, "archie/etc", KV_STR("what", line));
}

static int answer_bytes(const struct config *config, const char *data, struct str bytes,
			struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)4 << 20);
	CLEANUP(buf_free) struct buf warnings = BUF_INIT(1 << 20);
	const struct global_conf *global = config_get(config, &global_section);
	struct cage_options cage;
	char program[CAGE_PATH_MAX];
	struct mime_mail mail;
	if (cage_section_options(config_get(config, &cage_section), program, &cage, err) < 0)
		return -1;
	if (mime_read(program, bytes, &arena, &mail, err) < 0) {
		if (err->code != ERR_REMOTE)
			return -1;
		log_outside(MAIN, "a mail that cannot be read", KV_TEXT("why", err->msg));
		return 0;
	}
	const struct mail_options options = {.data = data,
					     .config = config,
					     .disk_free = global->disk_free,
					     .until_us = clock_mono_us() + SEARCH_US,
					     .warnings = &warnings};
	*err = (struct err){0};
	enum mail_end end = mail_answer(&options, &mail, err);
	warn_lines(buf_str(&warnings));
	if (end == MAIL_AGAIN)
		return -1;
	if (end == MAIL_ANSWERED)
		log_info(MAIN, "a mail was answered");
	else
		log_outside(MAIN, "a mail is not answered", KV_TEXT("why", err->msg));
	return 0;
}

static int run(const struct cmd_call *call)
{
	CLEANUP(buf_free) struct buf mail = BUF_INIT(MIME_MAIL_MOST);
	CLEANUP(config_free) struct config *config = NULL;
	char data[PATH_MAX];
	struct err err;
	if (cmd_config(call, &config) != 0)
		return EX_TEMPFAIL;
	if (cmd_data_dir(config, data, sizeof data, &err) < 0 || read_mail(&mail, &err) < 0 ||
	    answer_bytes(config, data, buf_str(&mail), &err) < 0) {
		(void)cmd_fail(call, &err);
		return EX_TEMPFAIL;
	}
	return 0;
}

const struct command archie_mail_command = {
	.name = "mail",
	.summary = "answer a mail that looks for files",
	.description =
		"Reads a mail on standard input, runs its subject and lines as commands of the "
		"shell, and sends the output back, as mail.via says. For a .forward or an alias of "
		"a mail server, which brings the mail again after exit code 75. Mails of programs, "
		"lists and mailer daemons are not answered, nor more than archie.mails_per_day of "
		"one sender. The role archie-queuer has to run, and this user has to be able to "
		"write in archie/ of the data directory.",
	CMD_EXAMPLES({"garner archie mail < mail", "one mail"}),
	CMD_EXITS({75, "the reply cannot be sent now; the mail is to be brought again"}),
	.run = run,
};
