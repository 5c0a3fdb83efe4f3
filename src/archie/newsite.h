/* Requests that a site be indexed, as the master takes them: lines of files in archie/newsites
 * (disk/requests.h), put there by garner archie newsite, for somebody at a terminal or for a mail.
 *
 *   HOST REPLY_TO MESSAGE_ID SENDER     "-": none
 *
 * doc/archie.md. */
#pragma once
#include "archie/mail.h"
#include "archie/sites.h"

#define NEWSITE_KIND "site" /* of the request files */

enum {
	NEWSITE_HOST_MOST = 263, /* bytes: a name and a port */
	NEWSITE_ID_MOST = 250,
	NEWSITE_FILES_MOST = 10000, /* that wait; further ones are refused */
	NEWSITE_A_MAIL = 5,         /* requests; further ones do not count */
	NEWSITE_A_DAY = 20,         /* of one whom we answer */
	NEWSITE_A_DAY_SERVER = 500, /* of one server that does not say who asked */
};

struct newsite {
	struct str host;
	struct str reply_to;   /* who is answered; "": nobody */
	struct str message_id; /* of the mail; "": none */
	struct str sender;     /* who takes turns with others; "": somebody of this machine */
};

/* The URL of the site that is meant: HOST, HOST:PORT, an address, or ftp://HOST/. ERR_USAGE: none
 * is, or it has a port below 1024 that is not FTP's. */
int newsite_url(struct str host, struct arena *arena, struct str *ret, struct err *err);

/* Its line, without the end. What does not fit in one is left out. */
void newsite_print(const struct newsite *n, struct buf *out);
/* false: the line is none. Texts point into the line. */
bool newsite_parse(struct str line, struct newsite *ret) MUST_USE;
/* Durable when it returns 0. folder: archie/. ERR_BUSY: too many wait. */
int newsite_put(const char *folder, const struct newsite *n, size_t count, struct err *err);

/* What a mail asks for. */
struct newsite_mail {
	const char *why_not;   /* "from a list"; NULL: it is taken */
	struct str reply_to;   /* "": nobody is answered */
	struct str asker;      /* for the share of a day */
	uint32_t most;         /* of that */
	struct str message_id; /* "": none that can be told */
	struct str host[NEWSITE_A_MAIL];
	size_t n;
};
/* Mails of servers are bulk and from a program; who asked stands in their Reply-To, and nobody else
 * is answered. Those of people are judged as in archie/mail.h. What is a reply, a bounce or from a
 * list asks for nothing. */
void newsite_read(const struct mime_mail *mail, const struct mail_own *own,
		  struct newsite_mail *ret);
