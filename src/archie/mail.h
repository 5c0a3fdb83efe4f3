/* Mails to the archive: decides which to answer, and answers them. A mail is lines for the shell
 * (archie/shell.h); their output goes back in one reply. The mail server keeps a mail until we
 * accept it, so nothing is stored here: if nothing can be sent now, it delivers the same mail
 * again. */
#pragma once
#include "archie/mailer.h"
#include "extract/mime.h"

enum { MAIL_LINES_MOST = 50 }; /* lines of the body that begin with a letter */

/* Tells addresses of this server from others. */
struct mail_own {
	const char *host;
	const char *errors; /* of archie_errors() */
	struct str from;    /* the variable mail_from; "": not set, or unknown */
};

/* Whether to answer, and whom: the first address among Reply-To, Return-Path, From and the
 * envelope's `From `. */
struct mail_judgement {
	const char *why_not; /* "from a list"; NULL: answer it */
	struct str to;
};
struct mail_judgement mail_judge(const struct mime_mail *m, const struct mail_own *own);
/* Whether the only reason not to answer is that there is no address. */
bool mail_is_nobodys(const struct mail_judgement *j);
/* Whether this is an address of this server. */
bool mail_is_own(struct str address, const struct mail_own *own);

/* The lines for the shell: the subject, then those of the body. */
struct mail_lines {
	struct str subject, rest;
	size_t n;
};
struct mail_lines mail_lines(const struct mime_mail *m);
int mail_lines_next(struct mail_lines *it, struct str *ret); /* 1: that was all */

struct mail_options {
	const char *data;
	const struct config *config;
	int64_t until_us;     /* deadline of searches, by clock_mono_us() */
	struct buf *warnings; /* gets lines about mistakes in the administrator's files */
};
enum mail_end {
	MAIL_ANSWERED,
	MAIL_PARTLY,       /* the rest is lost; err says why */
	MAIL_NOT_ANSWERED, /* and never will be; err says why */
	MAIL_AGAIN,        /* nothing can be sent now; err says why */
};
enum mail_end mail_answer(const struct mail_options *o, const struct mime_mail *mail,
			  struct err *err);
