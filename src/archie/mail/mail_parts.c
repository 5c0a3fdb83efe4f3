/* Prepares output for mails: compresses it, uuencodes it, then cuts it at ends of lines. */
#include "archie/mail/mail_parts.h"

#include "extract/lzw.h"
#include "net/mail.h"

enum {
	UU_LINE = 45, /* bytes, which become 60 letters */
	COMMAND_SHOWN = 128,
};

static void put_letter(struct buf *out, unsigned v)
{
	buf_add_byte(out, (char)((v & 63) ? (v & 63) + ' ' : '`'));
}

void mail_uuencode(struct str in, struct buf *out)
{
	buf_printf(out, "begin 644 " MAIL_PARTS_FILE "\n");
	while (in.n) {
		struct str line = str_head(in, UU_LINE);
		in = str_from(in, line.n);
		put_letter(out, (unsigned)line.n);
		for (size_t i = 0; i < line.n; i += 3) {
			unsigned v = 0;
			for (size_t k = 0; k < 3; k++)
				v = v << 8 | (i + k < line.n ? (unsigned char)line.p[i + k] : 0);
			for (unsigned shift = 24; shift > 0; shift -= 6)
				put_letter(out, v >> (shift - 6));
		}
		buf_add_byte(out, '\n');
	}
	buf_add_str(out, STR("`\nend\n"));
}

/* The bytes of the part that begins at `at`. */
static size_t part_size(const struct mail_parts *p, size_t at)
{
	struct str rest = str_from(buf_str(&p->text), at);
	if (rest.n <= p->size)
		return rest.n;
	return MIN(p->size + str_find_byte(str_from(rest, p->size - 1), '\n'), rest.n);
}

int mail_parts_init(struct mail_parts *ret, const struct shell_mail *mail, struct err *err)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(MAIL_MESSAGE_MOST / 2);
	*ret = (struct mail_parts){.text = BUF_INIT(MAIL_MESSAGE_MOST / 2),
				   .command = str_utf8_head(mail->command, COMMAND_SHOWN)};
	if (mail->compress)
		lzw_compress(mail->text, &packed);
	struct str body = mail->compress ? buf_str(&packed) : mail->text;
	if (mail->encode)
		mail_uuencode(body, &ret->text);
	else
		buf_add_str(&ret->text, body);
	if (packed.over || ret->text.over) {
		mail_parts_done(ret);
		return err_set(err, ERR_USAGE, "the output is too large to be mailed");
	}
	ret->size = MAX(mail->max_split_size, ret->text.n / MAIL_PARTS_MOST + 1);
	for (size_t at = 0; at < ret->text.n || ret->n == 0; at += part_size(ret, at))
		ret->n++;
	return 0;
}

int mail_parts_next(struct mail_parts *p, struct buf *subject, struct str *ret)
{
	if (p->at == p->n)
		return 1;
	size_t n = part_size(p, p->next);
	*ret = str_head(str_from(buf_str(&p->text), p->next), n);
	p->next += n;
	p->at++;
	buf_clear(subject);
	buf_printf(subject, "archie [" STR_FMT "] part %zu of %zu", STR_ARG(p->command), p->at,
		   p->n);
	return 0;
}

void mail_parts_done(struct mail_parts *p)
{
	buf_free(&p->text);
}
