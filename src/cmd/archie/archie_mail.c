/* garner archie mail: answers one mail on standard input. */
#include "archie/mail.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/archie/mail_input.h"
#include "cmd/commands.h"

/* Until searches are given up; Postfix waits 1,000 s in all. */
#define SEARCH_US (12 * US_PER_MIN)

static void warn_lines(struct str lines)
{
	struct str line;
	while (lines.n && str_cut(&lines, '\n', &line) == 0)
		if (line.n)
			log_warn(MAIN, "invalid text in archie/etc", KV_STR("why", line));
}

static int answer_mail(const struct config *config, const char *data, const struct mime_mail *mail,
		       struct err *err)
{
	CLEANUP(buf_free) struct buf warnings = BUF_INIT(1 << 20);
	const struct mail_options options = {.data = data,
					     .config = config,
					     .until_us = clock_mono_us() + SEARCH_US,
					     .warnings = &warnings};
	*err = (struct err){0};
	enum mail_end end = mail_answer(&options, mail, err);
	warn_lines(buf_str(&warnings));
	if (end == MAIL_AGAIN)
		return -1;
	if (end == MAIL_ANSWERED)
		log_info(MAIN, "mail answered");
	else
		log_outside(MAIN,
			    end == MAIL_PARTLY ? "mail answered in part" : "mail not answered",
			    KV_TEXT("why", err->msg));
	return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
	return mail_input(call, answer_mail, err);
}

const struct command archie_mail_command = {
	.name = "mail",
	.summary = "answer a mail that looks for files",
	.description =
		"Reads a mail on standard input, runs its subject and lines as commands of the "
		"shell, and sends the output back, as mail.via says. For a .forward or an alias of "
		"a mail server, which brings the mail again after exit code 75. If something was "
		"sent "
		"already, the exit code is 0, and the log names what was lost. Mails of programs, "
		"lists and mailer daemons are not answered, and one address gets at most "
		"archie.mails_per_day mails. The role archie-queuer has to run, and the command as "
		"the user of the roles: it writes in garner.db of the data directory, as they do.",
	CMD_EXAMPLES({"garner archie mail < mail", "one mail"}),
	CMD_EXITS({75, "nothing was sent, nor can be now; the mail is to be brought again"}),
	.run = run,
};
