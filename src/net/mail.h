/* Sends all mail of garner. A message is composed of checked parts, so that nobody can smuggle in
 * headers or recipients. It goes to a sendmail program or an SMTP server, depending on mail.via.
 * Nothing is queued: the caller learns what could not be sent.
 *
 * All our mail is automatic: it has `Precedence: bulk` and `Auto-Submitted`. */
#pragma once
#include "role/config.h"

enum {
	MAIL_ADDRESS_MOST = 254,      /* bytes */
	MAIL_VALUE_MOST = 600,        /* of a header's value; a longer one is cut */
	MAIL_MESSAGE_MOST = 32 << 20, /* of a message */
};

struct mail_conf {
	const char *via;   /* the path of a sendmail program, or "smtp[s]:HOST[:PORT]" */
	const char *login; /* a file with user and password for the server; "" or NULL: none */
};
extern const struct config_section mail_section; /* [mail] */
/* Checks the form of mail.via, and that mail.login can be read, by us alone. ERR_USAGE. */
int mail_check(const struct mail_conf *conf, struct err *err);

/* Whether it is the address of one mailbox: LOCAL@DOMAIN in visible ASCII, without blanks, quotes,
 * brackets, lists or routes, and not beginning with a dash. */
bool mail_is_address(struct str text);

struct mail {
	struct str from;        /* also the envelope sender, where it bounces */
	struct str to;          /* one mailbox */
	struct str reply_to;    /* an address; "": none */
	struct str subject;     /* any text: control characters become question marks */
	bool answers;           /* a request: `Auto-Submitted: auto-replied`, not auto-generated */
	struct str in_reply_to; /* Message-ID of the request; "": none */
	/* Lines that end in "\n". Control characters but tabs become question marks. */
	struct str text;
};
/* The whole message, with Date and a new Message-ID; its lines end in "\n". The same bytes may be
 * sent again. ERR_USAGE: an address is none; or it is too long for `out`. */
int mail_compose(const struct mail *m, int64_t now_us, struct buf *out, struct err *err);

enum mail_result {
	MAIL_SENT,
	MAIL_LATER,   /* not now: no connection, no program, or the server asks to retry; it
			 may have arrived all the same */
	MAIL_REFUSED, /* for good */
};
/* Sends a composed message and waits until it is sent, at most until deadline_us
 * (clock_mono_us()). err: why it was not. Thread-safe, but it blocks: not for a loop. An
 * incomplete message is never sent, even if this process is killed. */
enum mail_result mail_send(const struct mail_conf *conf, struct str from, struct str to,
			   struct str message, int64_t deadline_us, struct err *err);
