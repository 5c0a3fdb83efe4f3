/* Decides which mails to answer. Anyone can write anything into a mail, and a program that answers
 * can be made to answer itself, a list or another such program forever. So a mail that looks
 * automatic gets no answer (RFC 3834), not even a refusal. */
#include "archie/mail.h"

#include "base/ascii.h"

static struct str local_part(struct str address)
{
	return str_head(address, str_find_byte(address, '@'));
}

static bool starts_nocase(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq_nocase(str_head(s, prefix.n), prefix);
}

static bool ends_nocase(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq_nocase(str_from(s, s.n - suffix.n), suffix);
}

static bool is_daemon(struct str address)
{
	return str_eq_nocase(local_part(address), STR("MAILER-DAEMON"));
}

/* Addresses of a list, or of the program that keeps it. */
static bool is_list(struct str address)
{
	struct str local = local_part(address);
	return starts_nocase(local, STR("owner-")) || ends_nocase(local, STR("-owner")) ||
	       ends_nocase(local, STR("-request")) || ends_nocase(local, STR("-bounces"));
}

bool mail_is_own(struct str address, const struct mail_own *own)
{
	struct str local = local_part(address);
	if (str_eq_nocase(address, str_of(own->errors)) ||
	    (own->from.n && str_eq_nocase(address, own->from)))
		return true;
	return str_eq_nocase(str_from(address, local.n + 1), str_of(own->host)) &&
	       (str_eq_nocase(local, STR("archie")) || str_eq_nocase(local, STR("archie-errors")));
}

static bool is_list_header(struct str name)
{
	static const char *const names[] = {"Mailing-List", "X-Mailing-List", "X-BeenThere"};
	return STR_AMONG_NOCASE(name, names) || starts_nocase(name, STR("List-"));
}

static bool is_bulk(struct str precedence)
{
	static const char *const words[] = {"bulk", "junk", "list"};
	return STR_AMONG_NOCASE(precedence, words);
}

static const char *why_silent_for(const struct mime_header *h)
{
	if (str_eq_nocase(h->name, STR("Return-Path")) && !h->value.n)
		return "without a sender";
	if (str_eq_nocase(h->name, STR("Precedence")) && is_bulk(h->value))
		return "in bulk";
	if (str_eq_nocase(h->name, STR("Auto-Submitted")) && !str_eq_nocase(h->value, STR("no")))
		return "sent by a program";
	if (str_eq_nocase(h->name, STR("Content-Type")) &&
	    starts_nocase(h->value, STR("multipart/report")))
		return "a report about a mail";
	return is_list_header(h->name) ? "from a list" : NULL;
}

/* By what the headers say, without addresses. One that is not seen could say it, too. */
static const char *why_silent(const struct mime_mail *m)
{
	const char *why = m->cut ? "with too many headers" : NULL;
	for (size_t i = 0; i < m->n && !why; i++)
		why = why_silent_for(&m->header[i]);
	return why;
}

static const char *why_not_to(struct str address, const struct mail_own *own)
{
	if (is_daemon(address))
		return "from a mailer daemon";
	if (is_list(address))
		return "from a list";
	return mail_is_own(address, own) ? "from ourselves" : NULL;
}

/* All of them count, not just the one that would be answered. */
static const char *why_not_from(const struct mime_mail *m, const struct mail_own *own)
{
	static const char *const names[] = {"Reply-To", "Return-Path", "From", "From ", "Sender"};
	const char *why = NULL;
	for (size_t i = 0; i < m->n && !why; i++)
		if (STR_AMONG_NOCASE(m->header[i].name, names))
			why = why_not_to(m->header[i].value, own);
	return why;
}

static const char no_address[] = "from no address";

struct mail_judgement mail_judge(const struct mime_mail *m, const struct mail_own *own)
{
	static const char *const order[] = {"Reply-To", "Return-Path", "From", "From "};
	struct mail_judgement j = {.why_not = why_silent(m)};
	if (!j.why_not)
		j.why_not = why_not_from(m, own);
	for (size_t i = 0; i < ARRAY_LEN(order) && !j.why_not && !j.to.n; i++) {
		struct str address = mime_value(m, order[i]);
		if (mail_is_address(address))
			j.to = address;
	}
	if (!j.why_not && !j.to.n)
		j.why_not = no_address;
	return j;
}

bool mail_is_nobodys(const struct mail_judgement *j)
{
	return j->why_not == no_address;
}

struct mail_lines mail_lines(const struct mime_mail *m)
{
	return (struct mail_lines){.subject = mime_value(m, "Subject"), .rest = m->text};
}

int mail_lines_next(struct mail_lines *it, struct str *ret)
{
	struct str line = it->subject;
	it->subject = (struct str){0};
	if (line.n) {
		*ret = line;
		return 0;
	}
	while (it->n < MAIL_LINES_MOST && it->rest.n && str_cut(&it->rest, '\n', &line) == 0) {
		line = str_trim(line);
		if (!line.n || !ascii_is_letter(line.p[0]))
			continue;
		it->n++;
		*ret = line;
		return 0;
	}
	return 1;
}
