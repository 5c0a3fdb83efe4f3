/* Requests for the master. A mail may come from a person, or from an archive server that forwards
 * the request of a user. The latter is bulk and automatic, like all our mail, so the rules of
 * archie/mail.h would drop it. It is not part of a loop, because it was generated, not sent in
 * reply: the master's own answers are replies and never ask for anything. */
#include "archie/newsite.h"

#include "archie/mail.h"
#include "base/ascii.h"
#include "base/file.h"
#include "disk/requests.h"
#include "url/url.h"

#include <limits.h>
#include <stdio.h>

enum { PORT_FTP = 21, PORT_LEAST = 1024, LINE_MOST = 2048 };

/* Hosts */

static bool is_v6(struct str host)
{
	struct addr a;
	return str_find_byte(host, ':') < host.n && archie_address_parse(host, &a);
}

int newsite_url(struct str host, struct arena *arena, struct str *ret, struct err *err)
{
	char text[NEWSITE_HOST_MOST + 16], room[URL_TEXT_MAX];
	char shown[VALUE_SHOWN];
	struct url u;
	if (str_starts(host, STR("ftp://")))
		host = str_from(host, 6);
	if (str_ends(host, STR("/")))
		host = str_head(host, host.n - 1);
	if (host.n > NEWSITE_HOST_MOST || !mailer_is_host(host))
		return err_set(err, ERR_USAGE, "'%s' is not the name of a host",
			       value_show(host, shown));
	snprintf(text, sizeof text, is_v6(host) ? "ftp://[" STR_FMT "]/" : "ftp://" STR_FMT "/",
		 STR_ARG(host));
	if (archie_site_url(str_of(text), arena, ret, err) < 0)
		return -1;
	int rc = url_parse(*ret, NULL, room, sizeof room, &u);
	if (rc != 0)
		return url_fail(rc, *ret, err);
	if (u.port != PORT_FTP && u.port < PORT_LEAST)
		return err_set(err, ERR_USAGE, "%s: not a port of an FTP server",
			       value_show(host, shown));
	return 0;
}

/* Lines */

static bool is_word(struct str text, size_t most)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] > '~')
			return false;
	return text.n > 0 && text.n <= most;
}

static void put_word(struct str text, size_t most, struct buf *out)
{
	buf_add_str(out, is_word(text, most) ? text : STR("-"));
}

void newsite_print(const struct newsite *n, struct buf *out)
{
	put_word(n->host, NEWSITE_HOST_MOST, out);
	buf_add_byte(out, ' ');
	put_word(n->reply_to, MAIL_ADDRESS_MOST, out);
	buf_add_byte(out, ' ');
	put_word(n->message_id, NEWSITE_ID_MOST, out);
	buf_add_byte(out, ' ');
	put_word(n->sender, MAIL_ADDRESS_MOST, out);
}

static bool take_word(struct str *rest, size_t most, struct str *ret)
{
	if (str_cut(rest, ' ', ret) != 0 || !is_word(*ret, most))
		return false;
	if (str_is(*ret, "-"))
		*ret = STR("");
	return true;
}

bool newsite_parse(struct str line, struct newsite *ret)
{
	return take_word(&line, NEWSITE_HOST_MOST, &ret->host) && ret->host.n &&
	       take_word(&line, MAIL_ADDRESS_MOST, &ret->reply_to) &&
	       (!ret->reply_to.n || mail_is_address(ret->reply_to)) &&
	       take_word(&line, NEWSITE_ID_MOST, &ret->message_id) &&
	       take_word(&line, MAIL_ADDRESS_MOST, &ret->sender) && !line.n;
}

static int has_room(const char *folder, struct err *err)
{
	struct dir_walk *w = NULL;
	const char *name;
	size_t n = 0;
	int rc = dir_walk_open(&w, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (n < NEWSITE_FILES_MOST && (rc = dir_walk_next(w, &name, err)) == 0)
		n++;
	dir_walk_close(&w);
	if (rc < 0)
		return -1;
	return n < NEWSITE_FILES_MOST
		       ? 0
		       : err_set(err, ERR_BUSY,
				 "%s: %d requests wait; does the role archie-master run?", folder,
				 NEWSITE_FILES_MOST);
}

int newsite_put(const char *folder, const struct newsite *n, size_t count, struct err *err)
{
	CLEANUP(buf_free) struct buf lines = BUF_INIT((size_t)LINE_MOST * NEWSITE_A_MAIL);
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/newsites", folder);
	for (size_t i = 0; i < count; i++) {
		newsite_print(&n[i], &lines);
		buf_add_byte(&lines, '\n');
	}
	ENSURE(!lines.over);
	if (has_room(path, err) < 0)
		return -1;
	return requests_add(path, NEWSITE_KIND, buf_str(&lines), err);
}

/* Mails */

static bool is_generated(const struct mime_header *h)
{
	struct str value = h->value;
	if (str_eq_nocase(h->name, STR("Precedence")))
		return str_eq_nocase(value, STR("bulk"));
	return str_eq_nocase(h->name, STR("Auto-Submitted")) &&
	       str_eq_nocase(str_trim(str_head(value, str_find_byte(value, ';'))),
			     STR("auto-generated"));
}

/* Where it comes from, which of a server's mail is the server: but that there is no sender says
 * that it is a bounce. */
static bool is_origin(const struct mime_header *h)
{
	static const char *const names[] = {"From", "Sender", "From ", "Return-Path"};
	return STR_AMONG_NOCASE(h->name, names) && h->value.n > 0;
}

static bool has_host(const struct newsite_mail *m, struct str host)
{
	for (size_t i = 0; i < m->n; i++)
		if (str_eq_nocase(m->host[i], host))
			return true;
	return false;
}

static void read_hosts(const struct mime_mail *mail, struct newsite_mail *ret)
{
	struct mail_lines it = mail_lines(mail);
	struct str line, word;
	while (ret->n < NEWSITE_A_MAIL && mail_lines_next(&it, &line) == 0) {
		if (str_cut(&line, ' ', &word) != 0 || !str_eq_nocase(word, STR("addnewsite")))
			continue;
		line = str_trim(line);
		if (is_word(line, NEWSITE_HOST_MOST) && !has_host(ret, line))
			ret->host[ret->n++] = line;
	}
}

void newsite_read(const struct mime_mail *mail, const struct mail_own *own,
		  struct newsite_mail *ret)
{
	struct mime_header room[MIME_HEADERS_MOST];
	struct mime_mail plain = {.header = room, .cut = mail->cut, .text = mail->text};
	bool automatic = false;
	*ret = (struct newsite_mail){.message_id = mime_value(mail, "Message-ID")};
	for (size_t i = 0; i < mail->n; i++)
		automatic |= is_generated(&mail->header[i]);
	for (size_t i = 0; i < mail->n; i++)
		if (!is_generated(&mail->header[i]) && !(automatic && is_origin(&mail->header[i])))
			room[plain.n++] = mail->header[i];
	struct mail_judgement j = mail_judge(&plain, own);
	ret->reply_to = j.to;
	ret->asker = j.to;
	ret->most = NEWSITE_A_DAY;
	ret->why_not = j.why_not;
	if (automatic && mail_is_nobodys(&j)) {
		ret->why_not = NULL;
		ret->asker = mime_value(mail, "From");
		ret->most = NEWSITE_A_DAY_SERVER;
	}
	if (!is_word(ret->message_id, NEWSITE_ID_MOST))
		ret->message_id = STR("");
	read_hosts(mail, ret);
	if (!ret->why_not && !ret->n)
		ret->why_not = "without a request";
}
