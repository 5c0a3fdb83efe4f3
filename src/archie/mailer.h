/* Mails that the archive sends: results that users mail to themselves, requests for new sites,
 * answers of the master. Sending blocks for at most a minute, and a failure is reported at once:
 * there is no queue. For loops see archie/mail/mailer_desk.h. */
#pragma once
#include "archie/shell.h"
#include "net/mail.h"

enum { MAILER_NEW_SITES_A_DAY = 5 }; /* requests from one asker */

struct mail_parts;

struct mailer {
	const char *data;
	const struct archie_conf *conf;
	const struct mail_conf *mail;
};
/* Both must outlive it. */
struct mailer mailer_of(const char *data, const struct config *config);

/* These return 0 if the mail was sent. Negative: err has the words for the log, mailer_told() those
 * for strangers. Its code says more: ERR_USAGE, this mail can never be sent; ERR_BUSY, too many
 * from this asker today; ERR_PARTLY, only some parts were sent; all others, not now. */

/* mail->from "": the `mail_from` of the shell's rc, or else archie_errors(). */
int mailer_send(const struct mailer *m, const struct mail *mail, struct err *err);
/* Sends all parts with the headers of `mail`; stops when one fails, or after the first that ends
 * past until_us (of clock_mono_us()). *ret_sent: how many were sent. Logs the loss of the others.
 */
int mailer_send_parts(const struct mailer *m, const struct mail *mail, struct mail_parts *parts,
		      int64_t until_us, size_t *ret_sent, struct err *err);
/* Sends output of the shell, packed, encoded and split as it asks, in mails with the subject
 * `archie [COMMAND] part N of M`. Each counts in archie.mails_per_day of its recipient and of the
 * asker (a network address). */
int mailer_send_output(const struct mailer *m, const struct shell_mail *output, struct str asker,
		       struct err *err);
/* Asks archie.master to index a site; its answer goes to reply_to ("": nobody). asker: whose daily
 * share it counts in, a network or mail address. */
int mailer_ask_site(const struct mailer *m, struct str host, struct str reply_to, struct str asker,
		    struct err *err);
const char *mailer_told(const struct err *err);

/* Whether this could be the name or address of a host. */
bool mailer_is_host(struct str host);
