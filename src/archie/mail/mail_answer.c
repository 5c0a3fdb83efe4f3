/* One mail through the shell, and its reply. What it asks of others is done in an order that a
 * crash or a server that is away cannot spoil: the mail is counted, searched for, replied to, and
 * at last its requests for new sites are kept; if no mail can be sent now, the count is given back
 * and nothing else has happened. Once a mail was sent there is no way back, or it would be sent
 * again each time: what cannot be sent from then on waits in the outbox. */
#include "archie/archie_conf.h"
#include "archie/daily.h"
#include "archie/mail.h"
#include "archie/mail/mail_parts.h"
#include "base/clock.h"
#include "base/vec.h"

#include <limits.h>
#include <stdio.h>

#define SEND_US (2 * US_PER_MIN) /* for one part */

struct answer {
	const struct mail_options *o;
	const struct archie_conf *conf;
	const struct mail_conf *mail_conf;
	struct archie *archie;
	struct shell *shell;
	struct outbox *outbox;
	char folder[PATH_MAX], host[ARCHIE_HOST_MOST], errors[ARCHIE_ERRORS_MOST];
	struct mail_own own;
	struct str asker, id;
	char **site; /* that are to be asked for */
	size_t nsites, room;
	bool begun;          /* the first mail that the asker gets is counted already */
	bool sent, away;     /* some mail was, by now; the server is */
	bool later, refused; /* of the replies */
	struct err why;
};

static int answer_take(struct answer *a, struct str who, size_t n, struct err *err)
{
	int rc = daily_take(a->folder, DAILY_MAILS, who, (uint32_t)n,
			    (uint32_t)a->conf->mails_per_day, clock_wall_us(), err);
	if (rc == 1)
		return err_set(err, ERR_BUSY,
			       "these would be more mails to one address today than mails_per_day");
	return rc;
}

static void answer_give_back(struct answer *a, struct str who, size_t n)
{
	struct err ignored;
	(void)daily_give_back(a->folder, DAILY_MAILS, who, (uint32_t)n, clock_wall_us(), &ignored);
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

static int keep_part(struct answer *a, const struct mail *m, struct err *err)
{
	if (outbox_put(a->outbox, m, err) == 0)
		return 0;
	a->refused = true;
	return -1;
}

static int send_part(struct answer *a, const struct mail *m, struct err *err)
{
	CLEANUP(buf_free) struct buf message = BUF_INIT(MAIL_MESSAGE_MOST);
	if (mail_compose(m, clock_sane_us(clock_wall_us()), &message, err) < 0) {
		a->refused = true;
		return -1;
	}
	enum mail_result r = mail_send(a->mail_conf, m->from, m->to, buf_str(&message),
				       clock_mono_us() + SEND_US, err);
	a->sent = a->sent || r == MAIL_SENT;
	a->away = r == MAIL_LATER;
	if (a->away && a->sent)
		return keep_part(a, m, err);
	a->later = a->away;
	a->refused = a->refused || r == MAIL_REFUSED;
	return r == MAIL_SENT ? 0 : -1;
}

static int send_parts(struct answer *a, const struct shell_mail *mail, struct mail_parts *parts,
		      struct err *err)
{
	CLEANUP(buf_free) struct buf subject = BUF_INIT(MAIL_VALUE_MOST);
	struct mail m = {.from = a->own.from.n ? a->own.from : str_of(a->errors),
			 .to = mail->to,
			 .answers = true,
			 .in_reply_to = a->id};
	int rc = 0;
	while (rc == 0 && mail_parts_next(parts, &subject, &m.text) == 0) {
		m.subject = buf_str(&subject);
		rc = a->sent && (a->away || answer_stops(a)) ? keep_part(a, &m, err)
							     : send_part(a, &m, err);
	}
	return rc;
}

/* Each part is a mail of the share of the one who gets it. `path` and `mail` may name others, who
 * have a share of their own: else one who writes as many senders could have us write to one victim.
 */
static int take_and_send(struct answer *a, const struct shell_mail *mail, struct mail_parts *parts,
			 struct err *err)
{
	bool first = a->begun && str_eq_nocase(mail->to, a->asker);
	size_t n = parts->n - first;
	if (n && answer_take(a, mail->to, n, err) < 0) {
		a->later = err->code != ERR_BUSY && !a->sent;
		a->refused = a->refused || !a->later;
		return -1;
	}
	a->begun = a->begun && !first;
	int rc = send_parts(a, mail, parts, err);
	if (a->later)
		answer_give_back(a, mail->to, parts->n);
	return rc;
}

/* To the asker; the log has the words that name our files. */
static int tell_plainly(struct err *err)
{
	char told[sizeof err->msg];
	snprintf(told, sizeof told, "%s", outbox_told(err));
	return err_set(err, err->code, "%s", told);
}

static int answer_mail(void *ctx, const struct shell_mail *mail, struct err *err)
{
	struct answer *a = ctx;
	struct mail_parts parts;
	int rc = -1;
	if (!mail_is_address(mail->to) || mail_is_own(mail->to, &a->own)) {
		(void)err_set(err, ERR_USAGE, "no mails are sent to this address");
		a->refused = true;
	} else if (mail_parts_init(&parts, mail, err) < 0) {
		a->refused = true;
	} else {
		rc = take_and_send(a, mail, &parts, err);
		mail_parts_done(&parts);
	}
	if (rc < 0) {
		a->why = *err;
		return tell_plainly(err);
	}
	return rc;
}

static int answer_new_site(void *ctx, struct str host, struct err *err)
{
	struct answer *a = ctx;
	if (!a->conf->master[0])
		return err_set(err, ERR_USAGE, "this server knows no master for requests");
	if (!outbox_is_host(host))
		return err_set(err, ERR_USAGE, "not the name of a host");
	if (outbox_take_new_site(a->outbox, a->asker, err) < 0) {
		a->later = a->later || (err->code != ERR_BUSY && !a->sent);
		return tell_plainly(err);
	}
	char *copy = mem_alloc(host.n + 1);
	memcpy(copy, host.p, host.n);
	*VEC_PUSH(a->site, a->nsites, a->room) = copy;
	return 0;
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

/* Requests go to the master by the outbox, and at once, if nobody else is sending; and with them
 * what earlier mails have left there. */
static int answer_sites(struct answer *a, struct err *err)
{
	struct outbox_counts counts;
	struct err ignored;
	int rc = 0;
	for (size_t i = 0; i < a->nsites && rc == 0; i++) {
		rc = outbox_put_taken_site(a->outbox, str_of(a->site[i]), a->asker, err);
	}
	if (!a->away)
		(void)outbox_send(a->o->data, a->mail_conf, clock_mono_us() + SEND_US, NULL,
				  &counts, &ignored);
	return rc;
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
	bool kept = !a->later && answer_sites(a, err) == 0;
	if (!kept && !a->sent) {
		if (a->begun)
			answer_give_back(a, a->asker, 1);
		for (size_t i = 0; i < a->nsites; i++)
			outbox_give_new_site_back(a->outbox, a->asker);
		return MAIL_AGAIN;
	}
	return a->refused || !kept ? MAIL_NOT_ANSWERED : MAIL_ANSWERED;
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
	a->outbox = outbox_new(a->o->data, a->o->config, a->o->disk_free);
	a->shell = shell_new(&options);
	a->own.from = texts.mail_from;
	enum mail_end end = answer_with(a, mail, err);
	shell_free(&a->shell);
	archie_free(&a->archie);
	outbox_free(&a->outbox);
	return end;
}

enum mail_end mail_answer(const struct mail_options *o, const struct mime_mail *mail,
			  struct err *err)
{
	struct answer a = {.o = o,
			   .conf = config_get(o->config, &archie_section),
			   .mail_conf = config_get(o->config, &mail_section),
			   .id = mime_value(mail, "Message-ID")};
	snprintf(a.folder, sizeof a.folder, "%s/archie", o->data);
	archie_host(a.conf, a.host);
	archie_errors(a.conf, a.errors);
	a.own = (struct mail_own){a.host, a.errors, STR("")};
	if (answer_judge(&a, mail, err) < 0)
		return MAIL_NOT_ANSWERED;
	enum mail_end end = answer_run(&a, mail, err);
	for (size_t i = 0; i < a.nsites; i++)
		mem_free(&a.site[i]);
	mem_free(&a.site);
	return end;
}
