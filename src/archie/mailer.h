/* Mails that the archive sends: results that people mail to themselves, requests for new sites,
 * answers of the master. Each is sent while its caller waits, a minute at most, and nothing is
 * kept: what cannot be sent now is reported at once. Not for loops (archie/mail/mailer_desk.h). */
#pragma once
#include "archie/shell.h"
#include "net/mail.h"

enum { MAILER_NEW_SITES_A_DAY = 5 }; /* requests of one asker */

struct mail_parts;

struct mailer {
	const char *data;
	const struct archie_conf *conf;
	const struct mail_conf *mail;
};
/* Uses both where they are. */
struct mailer mailer_of(const char *data, const struct config *config);

/* These return 0 if the mail was sent. Negative: err has the words for the log, mailer_told() those
 * for strangers, and its code says more: ERR_USAGE, it can never be sent as it is; ERR_BUSY, too
 * many of this asker today; ERR_PARTLY, some parts were sent; others, not now. */

/* from "": the `mail_from` of the shell's rc, or else archie-errors (struct archie_conf). */
int mailer_send(const struct mailer *m, const struct mail *mail, struct err *err);
/* Sends part by part, with the headers of `mail`, until one fails, or one was sent and until_us of
 * clock_mono_us() is over. *ret_sent: how many were. Logs the loss of the others. */
int mailer_send_parts(const struct mailer *m, const struct mail *mail, struct mail_parts *parts,
		      int64_t until_us, size_t *ret_sent, struct err *err);
/* An output of the shell: packed, encoded and split as it says, in mails with the subject `archie
 * [COMMAND] part N of M`. Each counts in archie.mails_per_day of its recipient and of the asker, an
 * address of the network. */
int mailer_send_output(const struct mailer *m, const struct shell_mail *output, struct str asker,
		       struct err *err);
/* Asks archie.master to index a site; reply_to gets its answer ("": nobody). asker: for the share
 * of a day: an address of the network, or of a mailbox. */
int mailer_ask_site(const struct mailer *m, struct str host, struct str reply_to, struct str asker,
		    struct err *err);
const char *mailer_told(const struct err *err);

/* Whether it could be the name or address of a host. */
bool mailer_is_host(struct str host);
