/* The outbox: mails that were accepted, kept in archie/outbox until they are sent. A file each,
 * durable before outbox_put...() returns 0; it is removed when the mail was sent, refused for
 * good or five days old, and so may be sent twice by someone who is killed in between. Its name
 * says when the next try is due. What waits is bounded.
 *
 * Anyone may put: roles, commands, several at once. Each role that puts also runs a sender; of all
 * senders one works at a time, in a process of its own, `garner archie outbox`. */
#pragma once
#include "archie/shell.h"
#include "net/loop.h"
#include "net/mail.h"

enum {
	OUTBOX_MAILS_MOST = 2000,      /* that wait; further ones are refused */
	OUTBOX_BYTES_MOST = 256 << 20, /* of all of them */
	OUTBOX_NEW_SITES_A_DAY = 5,    /* requests of one asker */
};

struct outbox;

/* config: of which [archie] and [mail] count; used where it is. disk_free: bytes that must stay
 * free (struct role_env). */
struct outbox *outbox_new(const char *data, const struct config *config, uint64_t disk_free);
void outbox_free(struct outbox **o);

/* Puts. 0: kept. Negative: err has the words for its sender: ERR_USAGE, it cannot be sent as it is;
 * ERR_BUSY, too many wait, or of this asker today; ERR_SYSTEM. */

/* One mail, as it is. from "": what the rc of the shell sets `mail_from` to, or else archie-errors,
 * as struct archie_conf has it; so it is with all others. */
int outbox_put(struct outbox *o, const struct mail *mail, struct err *err);
/* What the command `mail` hands over: packed, encoded and split as it says, in one or more mails
 * with the subject `archie [COMMAND] part N of M`; all or none of them. Each part is of the
 * archie.mails_per_day of the one who gets it, and of the asker, an address of the network. */
int outbox_put_output(struct outbox *o, const struct shell_mail *mail, struct str asker,
		      struct err *err);
/* The request that a site be indexed: goes to archie.master, which answers reply_to ("": nobody).
 * asker: for the share of a day: an address of the network, or of a mailbox. */
int outbox_put_new_site(struct outbox *o, struct str host, struct str reply_to, struct str asker,
			struct err *err);
/* The same in two steps, for one who answers in between: the share is taken first. */
int outbox_take_new_site(struct outbox *o, struct str asker, struct err *err);
void outbox_give_new_site_back(struct outbox *o, struct str asker);
int outbox_put_taken_site(struct outbox *o, struct str host, struct str reply_to, struct err *err);
/* Why one of these failed, for a stranger: nothing of our files. */
const char *outbox_told(const struct err *err);
/* Whether it could be the name or address of a host. */
bool outbox_is_host(struct str host);

/* What waits, by the names of its files; nothing where nothing was ever put. */
struct outbox_waits {
	uint64_t mails, bytes;
	uint64_t tries;   /* that failed, of the one with the most */
	uint64_t since_s; /* when the oldest was put */
};
int outbox_waiting(const char *data, struct outbox_waits *ret, struct err *err);

struct outbox_counts {
	uint64_t sent, later, refused;
};
/* Sends what is due, until nothing is or the time is over: for the process that may wait. said (may
 * be NULL) is told of each mail that was not sent. 1: another one sends. */
typedef void outbox_said_fn(struct str to, const char *what, const char *why);
int outbox_send(const char *data, const struct mail_conf *conf, int64_t deadline_us,
		outbox_said_fn *said, struct outbox_counts *ret, struct err *err);

extern const struct format outbox_format;

/* The sender on the loop of a role: looks every few seconds for what is due, and starts a process
 * for it. Several roles may. */
struct outbox_sender;
struct outbox_sender *outbox_sender_new(struct loop *loop, struct outbox *o);
/* Something was put: look now. */
void outbox_sender_wake(struct outbox_sender *s);
void outbox_sender_free(struct outbox_sender **s); /* ends its process; nothing is lost */
