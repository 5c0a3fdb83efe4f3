/* Mails number, password and secret after a registration. Anyone could have typed the address, so
 * mails a day are limited, and nothing that the client sent is quoted. */
#include "base/clock.h"
#include "base/log.h"
#include "cache/rs/rs_inner.h"
#include "net/daily.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { MESSAGE_MOST = 16 << 10 };
#define SEND_US (20 * US_PER_S)

static bool mail_allowed(const struct rs *rs, const char **ret_why)
{
	struct err err;
	int rc = daily_take(rs->data, DAILY_RS, STR("all"), 1, (uint32_t)rs->conf->mails_per_day,
			    clock_wall_us(), &err);
	*ret_why = rc < 0 ? "it could not be sent" : "too many mails were sent today";
	if (rc < 0)
		log_warn(ROLE, "sending a mail failed", KV_TEXT("why", err.msg));
	return rc == 0;
}

static const char *mail_sender(const struct rs *rs, char ret[300])
{
	char host[256] = "localhost";
	if (rs->conf->mail_from[0])
		return rs->conf->mail_from;
	(void)gethostname(host, sizeof host - 1);
	snprintf(ret, 300, "garner@%s", host);
	return ret;
}

static void mail_text(const struct rs *rs, const struct rs_made *r, struct buf *out)
{
	buf_printf(out,
		   "Somebody, probably you, has registered a site with a garner content cache.\n\n"
		   "  provider  %" PRIu64 "\n  password  %s\n  secret    %s\n\n",
		   r->provider, r->password, r->secret);
	buf_add_text(out, "Put the secret, and nothing else, into a file on the site, as high in "
			  "its tree\nas you can, and then announce its URL before ");
	time_print(out, r->expires_us, 0);
	buf_add_text(out, ":\n\n  garner provider verify URL-OF-THE-FILE\n");
	if (rs->conf->url[0])
		buf_printf(out, "\nor on the page %s\n", rs->conf->url);
	buf_add_text(out, "\nIf it was not you, do nothing: the registration will expire.\n");
}

bool rs_mail(struct rs *rs, const char *to, const struct rs_made *r, const char **ret_why)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(MESSAGE_MOST);
	CLEANUP(buf_free) struct buf message = BUF_INIT(MESSAGE_MOST);
	char room[300];
	struct err err;
	if (atomic_load(&rs->stops)) {
		log_warn(ROLE, "mail dropped: the role stops", KV_UINT("provider", r->provider));
		*ret_why = "this server stops";
		return false;
	}
	if (!mail_allowed(rs, ret_why))
		return false;
	const char *from = mail_sender(rs, room);
	mail_text(rs, r, &text);
	const struct mail mail = {.from = str_of(from),
				  .to = str_of(to),
				  .subject = STR("Your registration with a content cache"),
				  .answers = true,
				  .text = buf_str(&text)};
	*ret_why = "it could not be sent";
	if (mail_compose(&mail, clock_wall_us(), &message, &err) < 0 ||
	    mail_send(rs->mail, mail.from, mail.to, buf_str(&message), clock_mono_us() + SEND_US,
		      &err) != MAIL_SENT) {
		log_warn(ROLE, "sending a mail failed", KV_UINT("provider", r->provider),
			 KV_TEXT("why", err.msg));
		return false;
	}
	counters_add(rs->counters, RS_COUNT_MAILS, 1);
	*ret_why = NULL;
	return true;
}
