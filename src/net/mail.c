/* Messages: valid addresses, valid header values, encodings of text. All text from strangers
 * passes through here, so a message has the headers that are written here and no others. Text that
 * is not plain ASCII in short lines is sent as quoted-printable, which every server accepts. */
#include "net/mail.h"

#include "base/ascii.h"
#include "base/clock.h"

#include <inttypes.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
	LOCAL_MOST = 64,  /* bytes before the @ */
	LABEL_MOST = 63,  /* of a part of a domain */
	PLAIN_LINE = 900, /* bytes of a line that is sent as it is; servers take 998 */
	QP_LINE = 72,
	WORD_BYTES = 42, /* of text in an encoded word, which becomes 56 letters */
};

/* Addresses */

static bool is_local_byte(char c)
{
	return ascii_is_alnum(c) || (c && strchr("!#$%&'*+-/=?^_`{|}~.", c));
}

static bool is_domain(struct str s)
{
	struct str label;
	if (!s.n)
		return false;
	while (str_cut(&s, '.', &label) == 0) {
		if (!label.n || label.n > LABEL_MOST || label.p[0] == '-' ||
		    label.p[label.n - 1] == '-')
			return false;
		for (size_t i = 0; i < label.n; i++)
			if (!ascii_is_alnum(label.p[i]) && label.p[i] != '-')
				return false;
	}
	return true;
}

bool mail_is_address(struct str text)
{
	size_t at = str_find_byte(text, '@');
	if (text.n > MAIL_ADDRESS_MOST || at == 0 || at > LOCAL_MOST || at == text.n ||
	    text.p[0] == '-')
		return false;
	for (size_t i = 0; i < at; i++)
		if (!is_local_byte(text.p[i]))
			return false;
	return is_domain(str_from(text, at + 1));
}

static int check_address(const char *what, struct str text, struct err *err)
{
	char shown[VALUE_SHOWN];
	if (mail_is_address(text))
		return 0;
	return err_set(err, ERR_USAGE, "%s: not an address: '%s'", what, value_show(text, shown));
}

/* Encodings */

static bool is_plain_byte(char c)
{
	return (c >= ' ' && c <= '~') || c == '\t' || c == '\n';
}

static bool is_control(char c)
{
	return ((unsigned char)c < ' ' && c != '\t') || c == 0x7f;
}

/* With question marks for control characters; line_ends: "\n" may stand. */
static void put_cleaned(struct str text, bool line_ends, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++)
		buf_add_byte(out, is_control(text.p[i]) && !(line_ends && text.p[i] == '\n')
					  ? '?'
					  : text.p[i]);
}

/* Short lines of plain bytes. */
static bool is_plain(struct str text)
{
	size_t line = 0;
	for (size_t i = 0; i < text.n; i++) {
		line = text.p[i] == '\n' ? 0 : line + 1;
		if (!is_plain_byte(text.p[i]) || line > PLAIN_LINE)
			return false;
	}
	return true;
}

static const char *charset_of(struct str text)
{
	return str_utf8(text) ? "utf-8" : "iso-8859-1";
}

static void put_base64(struct str s, struct buf *out)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < s.n; i += 3) {
		unsigned v = 0;
		for (size_t k = 0; k < 3; k++)
			v = v << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
		for (size_t k = 0; k < 4; k++)
			buf_add_byte(out, i + k <= s.n ? letters[v >> (18 - 6 * k) & 63] : '=');
	}
}

static void put_header(struct buf *out, const char *name, struct str value)
{
	CLEANUP(buf_free) struct buf clean = BUF_INIT(MAIL_VALUE_MOST);
	put_cleaned(str_utf8_head(value, MAIL_VALUE_MOST), false, &clean);
	struct str rest = buf_str(&clean);
	buf_printf(out, "%s: ", name);
	if (is_plain(rest)) {
		buf_add_str(out, rest);
	} else { /* words of RFC 2047, each on a line */
		const char *charset = charset_of(rest);
		for (bool first = true; rest.n; first = false) {
			struct str part = str_utf8_head(rest, WORD_BYTES);
			rest = str_from(rest, part.n);
			buf_printf(out, "%s=?%s?B?", first ? "" : "\n ", charset);
			put_base64(part, out);
			buf_add_str(out, STR("?="));
		}
	}
	buf_add_byte(out, '\n');
}

static void put_quoted(struct str text, struct buf *out)
{
	size_t line = 0;
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool last = i + 1 == text.n || text.p[i + 1] == '\n';
		bool plain = c > ' ' && c <= '~' && c != '=' && c != '.';
		if (c == '\n') {
			buf_add_byte(out, '\n');
			line = 0;
			continue;
		}
		if (line >= QP_LINE) {
			buf_add_str(out, STR("=\n"));
			line = 0;
		}
		if (plain || (c == '.' && line > 0) || ((c == ' ' || c == '\t') && !last)) {
			buf_add_byte(out, c);
			line++;
		} else {
			buf_printf(out, "=%02X", (unsigned char)c);
			line += 3;
		}
	}
}

/* Messages */

static void put_date(struct buf *out, int64_t now_us)
{
	time_t now_s = (time_t)(now_us / US_PER_S);
	struct tm tm;
	char text[64] = "";
	if (gmtime_r(&now_s, &tm))
		(void)strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S +0000", &tm);
	buf_printf(out, "Date: %s\n", text);
}

static void put_id(struct buf *out, const struct mail *m, int64_t now_us)
{
	uint64_t random = 0;
	struct str domain = str_from(m->from, str_find_byte(m->from, '@'));
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		random = (uint64_t)clock_mono_us();
	buf_printf(out, "Message-ID: <%" PRId64 ".%d.%016" PRIx64 STR_FMT ">\n", now_us,
		   (int)getpid(), random, STR_ARG(domain));
}

/* An identifier as it stands in <>; anything else of a stranger's is left out. */
static bool is_id(struct str s)
{
	if (s.n < 3 || s.n > MAIL_VALUE_MOST || s.p[0] != '<' || s.p[s.n - 1] != '>')
		return false;
	for (size_t i = 1; i + 1 < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '<' || s.p[i] == '>')
			return false;
	return true;
}

static void put_text_part(struct str text, struct buf *out)
{
	CLEANUP(buf_free) struct buf clean = BUF_INIT(MAIL_MESSAGE_MOST);
	put_cleaned(text, true, &clean);
	if (text.n && text.p[text.n - 1] != '\n')
		buf_add_byte(&clean, '\n');
	bool plain = is_plain(buf_str(&clean));
	buf_printf(out,
		   "MIME-Version: 1.0\nContent-Type: text/plain; charset=%s\n"
		   "Content-Transfer-Encoding: %s\n\n",
		   plain ? "us-ascii" : charset_of(buf_str(&clean)),
		   plain ? "7bit" : "quoted-printable");
	if (plain)
		buf_add_str(out, buf_str(&clean));
	else
		put_quoted(buf_str(&clean), out);
	out->over = out->over || clean.over;
}

int mail_compose(const struct mail *m, int64_t now_us, struct buf *out, struct err *err)
{
	if (check_address("From", m->from, err) < 0 || check_address("To", m->to, err) < 0 ||
	    (m->reply_to.n && check_address("Reply-To", m->reply_to, err) < 0))
		return -1;
	put_header(out, "From", m->from);
	put_header(out, "To", m->to);
	if (m->reply_to.n)
		put_header(out, "Reply-To", m->reply_to);
	put_header(out, "Subject", m->subject);
	put_date(out, now_us);
	put_id(out, m, now_us);
	if (is_id(m->in_reply_to)) {
		put_header(out, "In-Reply-To", m->in_reply_to);
		put_header(out, "References", m->in_reply_to);
	}
	buf_printf(out, "Precedence: bulk\nAuto-Submitted: %s\n",
		   m->answers ? "auto-replied" : "auto-generated");
	put_text_part(m->text, out);
	if (out->over)
		return err_set(err, ERR_USAGE, "a mail of more than %zu bytes", out->max);
	return 0;
}

/* Settings */

static const struct value_spec specs[] = {
	{"via", VALUE_TEXT_AT(struct mail_conf, via), "/usr/sbin/sendmail",
	 .help = "What sends mails: the path of a sendmail program, or smtp:HOST[:PORT], with TLS "
		 "if "
		 "the server offers it, or smtps:HOST[:PORT], with TLS from the beginning"},
	{"login", VALUE_PATH_AT(struct mail_conf, login), "",
	 .help = "File that nobody else may read, with the user for the SMTP server in its first "
		 "line and the password in its second; TLS and a valid certificate are then "
		 "required; empty: no login"},
};

const struct config_section mail_section = {
	.name = "mail",
	.help = "How mails are sent, by all roles and commands that do.",
	.size = sizeof(struct mail_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};
