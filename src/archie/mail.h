/* Mails to the archive: who is answered, and with what. A mail is lines for the shell
 * (archie/shell.h); all their output goes back in one reply. What hands mails over keeps them until
 * we say that all is done, so nothing is kept here: when nothing can be sent now, the same mail
 * comes again. */
#pragma once
#include "archie/mailer.h"
#include "extract/mime.h"

enum { MAIL_LINES_MOST = 50 }; /* of the body, that begin with a letter */

/* What addresses of this server are made of. */
struct mail_own {
	const char *host;
	const char *errors; /* as archie_errors() has it */
	struct str from;    /* the variable mail_from; "": it is not set, or not known */
};

/* Whether, and to whom: Reply-To, Return-Path, From, or the envelope's `From `, the first that is
 * an address. */
struct mail_judgement {
	const char *why_not; /* "from a list"; NULL: it is answered */
	struct str to;
};
struct mail_judgement mail_judge(const struct mime_mail *m, const struct mail_own *own);
/* Whether there is just nobody to answer: no other reason speaks against it. */
bool mail_is_nobodys(const struct mail_judgement *j);
/* Whether an address is one of this server's own. */
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
	int64_t until_us;     /* of clock_mono_us(): searches are given up then */
	struct buf *warnings; /* lines about files of the administrator */
};
enum mail_end {
	MAIL_ANSWERED,
	MAIL_PARTLY,       /* the rest is lost; err says why */
	MAIL_NOT_ANSWERED, /* nor will it be; err says why */
	MAIL_AGAIN,        /* nothing was sent, nor can be now; err says why */
};
enum mail_end mail_answer(const struct mail_options *o, const struct mime_mail *mail,
			  struct err *err);
