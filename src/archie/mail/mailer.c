/* Sends mails. There is no queue here: a sendmail program or a mail server has one and knows more
 * about retries, and the user learns at once if even that cannot be reached. A share of a day is
 * taken before a mail is sent, and given back if nothing was sent, so a process that is killed in
 * between has sent too few mails, never too many. */
#include "archie/mailer.h"

#include "archie/archie_conf.h"
#include "archie/mail/mail_parts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/log.h"
#include "net/daily.h"

#define SEND_US US_PER_MIN
/* For the texts that our own address is read from, and for the address. */
enum { OWN_MEMORY = SHELL_TEXTS_MOST + (64 << 10) };

struct mailer mailer_of(const char *data, const struct config *config)
{
	return (struct mailer){data, config_get(config, &archie_section),
			       config_get(config, &mail_section)};
}

/* Read again for each mail, so that all mails carry the same sender, whatever texts the processes
 * that send them have read. */
static struct str own_address(const struct mailer *m, struct arena *arena)
{
	CLEANUP(buf_free) struct buf ignored = BUF_INIT(1 << 20);
	struct shell_texts texts;
	char errors[ARCHIE_ERRORS_MOST];
	shell_texts_read(m->data, arena, &texts, &ignored);
	return texts.mail_from.n ? texts.mail_from
				 : arena_str(arena, str_of(archie_errors(m->conf, errors)));
}

int mailer_send(const struct mailer *m, const struct mail *mail, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(OWN_MEMORY);
	CLEANUP(buf_free) struct buf message = BUF_INIT(MAIL_MESSAGE_MOST);
	struct mail whole = *mail;
	if (!whole.from.n)
		whole.from = own_address(m, &arena);
	if (mail_compose(&whole, clock_sane_us(clock_wall_us()), &message, err) < 0)
		return -1;
	FAULT("mail.send");
	enum mail_result r = mail_send(m->mail, whole.from, whole.to, buf_str(&message),
				       clock_mono_us() + SEND_US, err);
	FAULT("mail.sent");
	if (r == MAIL_SENT)
		return 0;
	if (r == MAIL_LATER) {
		err->code = err->code == ERR_USAGE ? ERR_SYSTEM : err->code; /* our settings */
		return -1;
	}
	log_outside(ROLE, "mail refused", KV_STR("to", mail->to), KV_TEXT("why", err->msg));
	return err_set(err, ERR_USAGE, "the mail server refuses it");
}

int mailer_send_parts(const struct mailer *m, const struct mail *mail, struct mail_parts *parts,
		      int64_t until_us, size_t *ret_sent, struct err *err)
{
	CLEANUP(buf_free) struct buf subject = BUF_INIT(MAIL_VALUE_MOST);
	struct mail part = *mail;
	int rc = 0;
	*ret_sent = 0;
	while (mail_parts_next(parts, &subject, &part.text) == 0) {
		part.subject = buf_str(&subject);
		rc = *ret_sent && clock_mono_us() >= until_us
			     ? err_set(err, ERR_REMOTE, "sending takes too long")
			     : mailer_send(m, &part, err);
		if (rc < 0)
			break;
		++*ret_sent;
	}
	if (rc == 0 || *ret_sent == 0)
		return rc;
	log_outside(ROLE, "parts of a mail lost", KV_STR("to", mail->to),
		    KV_UINT("sent", *ret_sent), KV_UINT("lost", parts->n - *ret_sent),
		    KV_TEXT("why", err->msg));
	return err_set(err, ERR_PARTLY, "only %zu of %zu parts could be sent", *ret_sent, parts->n);
}

/* From the share of both, or of neither. */
static int take_mails(const struct mailer *m, struct str to, struct str asker, size_t n,
		      struct err *err)
{
	uint32_t most = (uint32_t)m->conf->mails_per_day;
	int64_t now_us = clock_wall_us();
	int rc = daily_take(m->data, DAILY_MAILS, asker, (uint32_t)n, most, now_us, err);
	if (rc != 0)
		return rc < 0 ? rc : err_set(err, ERR_BUSY, "too many mails today; try tomorrow");
	rc = daily_take(m->data, DAILY_MAILS, to, (uint32_t)n, most, now_us, err);
	if (rc != 0)
		daily_give_back(m->data, DAILY_MAILS, asker, (uint32_t)n, now_us);
	return rc == 1 ? err_set(err, ERR_BUSY, "too many mails to this address today") : rc;
}

int mailer_send_output(const struct mailer *m, const struct shell_mail *output, struct str asker,
		       struct err *err)
{
	const struct mail mail = {.to = output->to, .answers = true};
	struct mail_parts parts;
	size_t sent = 0;
	int64_t now_us = clock_wall_us();
	if (!mail_is_address(output->to))
		return err_set(err, ERR_USAGE, "not an address of a mailbox");
	if (mail_parts_init(&parts, output, err) < 0)
		return -1;
	int rc = take_mails(m, output->to, asker, parts.n, err);
	if (rc == 0) {
		rc = mailer_send_parts(m, &mail, &parts, clock_mono_us() + SEND_US, &sent, err);
		if (rc < 0 && sent == 0) {
			daily_give_back(m->data, DAILY_MAILS, asker, (uint32_t)parts.n, now_us);
			daily_give_back(m->data, DAILY_MAILS, output->to, (uint32_t)parts.n,
					now_us);
		}
	}
	mail_parts_done(&parts);
	return rc;
}

/* Requests for new sites */

bool mailer_is_host(struct str host)
{
	if (!host.n || host.n > 255 || host.p[0] == '-')
		return false;
	for (size_t i = 0; i < host.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:",
			    host.p[i]) ||
		    !host.p[i])
			return false;
	return true;
}

int mailer_ask_site(const struct mailer *m, struct str host, struct str reply_to, struct str asker,
		    struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1024);
	struct mail mail = {
		.to = str_of(m->conf->master), .reply_to = reply_to, .subject = STR("addnewsite")};
	int64_t now_us = clock_wall_us();
	if (!m->conf->master[0])
		return err_set(err, ERR_USAGE, "this server knows no master for requests");
	if (!mailer_is_host(host))
		return err_set(err, ERR_USAGE, "not the name of a host");
	if (reply_to.n && !mail_is_address(reply_to))
		return err_set(err, ERR_USAGE, "not an address of a mailbox");
	int rc =
		daily_take(m->data, DAILY_NEW_SITES, asker, 1, MAILER_NEW_SITES_A_DAY, now_us, err);
	if (rc == 1)
		return err_set(err, ERR_BUSY, "%d requests a day are enough; try again tomorrow",
			       MAILER_NEW_SITES_A_DAY);
	if (rc < 0)
		return -1;
	buf_printf(&text, "addnewsite " STR_FMT "\n", STR_ARG(host));
	mail.text = buf_str(&text);
	rc = mailer_send(m, &mail, err);
	if (rc < 0)
		daily_give_back(m->data, DAILY_NEW_SITES, asker, 1, now_us);
	return rc;
}

const char *mailer_told(const struct err *err)
{
	bool plain = err->code == ERR_USAGE || err->code == ERR_BUSY || err->code == ERR_PARTLY;
	return plain ? err->msg : "it cannot be sent now; try again later";
}
