/* garner archie outbox: sends the mails that wait, once. Roles start it, since sending takes as
 * long as others like; it dies with them. */
#include "archie/outbox.h"
#include "base/clock.h"
#include "base/log.h"
#include "cmd/commands.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PASS_US (10 * US_PER_MIN)

static void mail_said(struct str to, const char *what, const char *why)
{
	log_outside(MAIN, what, KV_STR("to", to), KV_TEXT("why", why));
}

static int run(const struct cmd_call *call)
{
	const struct mail_conf conf = {call->argv[1], call->argc > 2 ? call->argv[2] : ""};
	struct outbox_counts counts;
	struct err err;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_start("archie-outbox", STDERR_FILENO);
	int rc = outbox_send(call->argv[0], &conf, clock_mono_us() + PASS_US, mail_said, &counts,
			     &err);
	if (counts.sent + counts.later + counts.refused)
		log_info(MAIN, "mails", KV_UINT("sent", counts.sent),
			 KV_UINT("later", counts.later), KV_UINT("refused", counts.refused));
	return rc < 0 ? cmd_fail(call, &err) : 0;
}

const struct command archie_outbox_command = {
	.name = "outbox",
	.summary = "send the mails that wait",
	.args = "DATA VIA [LOGIN]",
	.min_args = 2,
	.max_args = 3,
	.args_help = "the data directory, and what sends, as mail.via and mail.login have it",
	.description =
		"Sends what is due of archie/outbox in DATA, once. The roles that take mails "
		"start it when something is due; where another one is sending, it ends at "
		"once.",
	.run = run,
};
