/* Requests to index a site, for the master: lines of files in archie/newsites (disk/requests.h),
 * which garner archie newsite writes for somebody at a terminal or for a mail.
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
	NEWSITE_FILES_MOST = 10000, /* waiting; more are refused */
	NEWSITE_A_MAIL = 5,         /* requests; more are ignored */
	NEWSITE_A_DAY = 20,         /* from one asker whom we answer */
	NEWSITE_A_DAY_SERVER = 500, /* from one server that does not say who asked */
};

struct newsite {
	struct str host;
	struct str reply_to;   /* gets the answer; "": nobody */
	struct str message_id; /* of the mail; "": none */
	struct str sender;     /* senders take turns; "": somebody on this machine */
};

/* The URL of a site given as HOST, HOST:PORT, an address, or ftp://HOST/. ERR_USAGE: not one of
 * these, or a port below 1024 that is not FTP's. */
int newsite_url(struct str host, struct arena *arena, struct str *ret, struct err *err);

/* Its line, without the end. A word that is too long is left out. */
void newsite_print(const struct newsite *n, struct buf *out);
/* false: not a request. Texts point into the line. */
bool newsite_parse(struct str line, struct newsite *ret) MUST_USE;
/* Durable when it returns 0. folder: archie/. ERR_BUSY: too many wait. */
int newsite_put(const char *folder, const struct newsite *n, size_t count, struct err *err);

/* What a mail asks for. */
struct newsite_mail {
	const char *why_not;   /* "from a list"; NULL: accepted */
	struct str reply_to;   /* "": nobody is answered */
	struct str asker;      /* whose daily share it counts in */
	uint32_t most;         /* requests in a day */
	struct str message_id; /* "": none that fits */
	struct str host[NEWSITE_A_MAIL];
	size_t n;
};
/* Mails of servers are bulk and sent by a program; only their Reply-To, the user who asked, gets an
 * answer. Mails of people are judged as in archie/mail.h. Replies, bounces and mails from lists are
 * not requests. */
void newsite_read(const struct mime_mail *mail, const struct mail_own *own,
		  struct newsite_mail *ret);
