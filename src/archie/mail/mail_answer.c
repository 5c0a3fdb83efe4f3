/* Runs one mail through the shell and sends the reply, in an order that survives crashes and
 * servers that are away: the mail is counted, then its commands run in turn. If the first mail that
 * they send cannot go out now, the count is given back and nothing else has happened. Once
 * something was sent, trying again would send it twice, so anything that cannot be sent from then
 * on is lost, and logged. */
#include "archie/archie_conf.h"
#include "archie/mail.h"
#include "archie/mail/mail_parts.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/daily.h"

#include <stdio.h>

struct answer {
	const struct mail_options *o;
	const struct archie_conf *conf;
	struct mailer mailer;
	struct archie *archie;
	struct shell *shell;
	char host[ARCHIE_HOST_MOST], errors[ARCHIE_ERRORS_MOST];
	struct mail_own own;
	struct str asker, id;
	bool begun; /* the first mail that the asker gets is counted already */
	bool sent;  /* something was: parts, requests */
	bool later; /* nothing can be sent now, nor was */
	bool failed;
	struct err why;
};

static int answer_take(struct answer *a, struct str who, size_t n, struct err *err)
{
	int rc = daily_take(a->o->data, DAILY_MAILS, who, (uint32_t)n,
			    (uint32_t)a->conf->mails_per_day, clock_wall_us(), err);
	if (rc == 1)
		return err_set(err, ERR_BUSY,
			       "these would be more mails to one address today than mails_per_day");
	return rc;
}

static void answer_give_back(struct answer *a, struct str who, size_t n)
{
	daily_give_back(a->o->data, DAILY_MAILS, who, (uint32_t)n, clock_wall_us());
}

/* For the shell */

static bool answer_stops(void *ctx)
{
	const struct answer *a = ctx;
	return clock_mono_us() >= a->o->until_us;
}

static int answer_ask(void *ctx, const struct archie_ask *ask, struct arena *arena,
		      struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err)
{
	struct answer *a = ctx;
	const struct archie_wait wait = {.stop = answer_stops, .fd = -1, .ctx = a};
	return archie_call(a->archie, ask, &wait, arena, ret, ret_why, err);
}

/* Something could not be sent. Once something was, the mail must not come again. */
static void answer_fail(struct answer *a, struct str to, const struct err *err)
{
	bool now_never = err->code == ERR_USAGE || err->code == ERR_BUSY || err->code == ERR_PARTLY;
	a->why = *err;
	a->later = a->later || (!now_never && !a->sent);
	a->failed = true;
	if (!now_never && !a->later)
		log_outside(ROLE, "mail lost", KV_STR("to", to), KV_TEXT("why", err->msg));
}

/* Each part is a mail of the share of the one who gets it. `path` and `mail` may name others, who
 * have a share of their own: else one who writes as many senders could have us write to one victim.
 */
static int take_and_send(struct answer *a, const struct shell_mail *mail, struct mail_parts *parts,
			 struct err *err)
{
	const struct mail m = {.from = a->own.from.n ? a->own.from : str_of(a->errors),
			       .to = mail->to,
			       .answers = true,
			       .in_reply_to = a->id};
	bool first = a->begun && str_eq_nocase(mail->to, a->asker);
	size_t n = parts->n - first, sent;
	if (n && answer_take(a, mail->to, n, err) < 0)
		return -1;
	a->begun = a->begun && !first;
	int rc = mailer_send_parts(&a->mailer, &m, parts, a->o->until_us, &sent, err);
	if (rc < 0 && !sent && !a->sent && err->code != ERR_USAGE)
		answer_give_back(a, mail->to, parts->n);
	a->sent = a->sent || sent;
	return rc;
}

/* To the asker; the log has the words that name our files. */
static int tell_plainly(struct err *err)
{
	char told[sizeof err->msg];
	snprintf(told, sizeof told, "%s", mailer_told(err));
	return err_set(err, err->code, "%s", told);
}

static int answer_mail(void *ctx, const struct shell_mail *mail, struct err *err)
{
	struct answer *a = ctx;
	struct mail_parts parts;
	int rc = -1;
	if (!mail_is_address(mail->to) || mail_is_own(mail->to, &a->own)) {
		(void)err_set(err, ERR_USAGE, "no mails are sent to this address");
	} else if (mail_parts_init(&parts, mail, err) == 0) {
		rc = take_and_send(a, mail, &parts, err);
		mail_parts_done(&parts);
	}
	if (rc == 0)
		return 0;
	answer_fail(a, mail->to, err);
	return tell_plainly(err);
}

static int answer_new_site(void *ctx, struct str host, struct err *err)
{
	struct answer *a = ctx;
	if (mailer_ask_site(&a->mailer, host, a->asker, a->asker, err) == 0) {
		a->sent = true;
		return 0;
	}
	if (err->code != ERR_USAGE && err->code != ERR_BUSY)
		answer_fail(a, str_of(a->conf->master), err);
	return tell_plainly(err);
}

static const struct shell_ops ops = {
	.ask = answer_ask, .mail = answer_mail, .new_site = answer_new_site};

static void answer_play(struct answer *a, const struct mime_mail *mail)
{
	struct mail_lines it = mail_lines(mail);
	struct str line;
	struct err err;
	shell_begin(a->shell);
	while (!a->later && mail_lines_next(&it, &line) == 0)
		if (shell_line(a->shell, line) != 0)
			break;
	if (!a->later)
		(void)shell_end(a->shell, &err);
}

static int answer_judge(struct answer *a, const struct mime_mail *mail, struct err *err)
{
	struct mail_judgement j = mail_judge(mail, &a->own);
	a->asker = j.to;
	return j.why_not ? err_set(err, ERR_USAGE, "%s", j.why_not) : 0;
}

/* The mail is played by the shell, which is new. */
static enum mail_end answer_with(struct answer *a, const struct mime_mail *mail, struct err *err)
{
	if (answer_judge(a, mail, err) < 0) /* again: mail_from is known now */
		return MAIL_NOT_ANSWERED;
	if (answer_take(a, a->asker, 1, err) < 0)
		return err->code == ERR_BUSY ? MAIL_NOT_ANSWERED : MAIL_AGAIN;
	a->begun = true;
	answer_play(a, mail);
	*err = a->why;
	if (a->later) {
		if (a->begun)
			answer_give_back(a, a->asker, 1);
		return MAIL_AGAIN;
	}
	return !a->failed ? MAIL_ANSWERED : a->sent ? MAIL_PARTLY : MAIL_NOT_ANSWERED;
}

static enum mail_end answer_run(struct answer *a, const struct mime_mail *mail, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT((size_t)SHELL_TEXTS_MOST);
	struct shell_texts texts;
	shell_texts_read(a->o->data, &arena, &texts, a->o->warnings);
	const struct shell_options options = {
		.mode = SHELL_EMAIL,
		.layout = (enum shell_layout)a->conf->layout,
		.host = a->host,
		.texts = &texts,
		.ops = &ops,
		.ctx = a,
		.from = str_head(a->asker, ARCHIE_FROM_MOST),
		.niceness = ARCHIE_NICE_MOST,
		.mailto = a->asker,
	};
	a->archie = archie_new(a->o->data);
	a->shell = shell_new(&options);
	a->own.from = texts.mail_from;
	enum mail_end end = answer_with(a, mail, err);
	shell_free(&a->shell);
	archie_free(&a->archie);
	return end;
}

enum mail_end mail_answer(const struct mail_options *o, const struct mime_mail *mail,
			  struct err *err)
{
	struct answer a = {.o = o,
			   .conf = config_get(o->config, &archie_section),
			   .mailer = mailer_of(o->data, o->config),
			   .id = mime_value(mail, "Message-ID")};
	archie_host(a.conf, a.host);
	archie_errors(a.conf, a.errors);
	a.own = (struct mail_own){a.host, a.errors, STR("")};
	if (answer_judge(&a, mail, err) < 0)
		return MAIL_NOT_ANSWERED;
	return answer_run(&a, mail, err);
}
