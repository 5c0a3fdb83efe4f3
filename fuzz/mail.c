/* Mails: whatever comes, headers and text are bounded, and the reply goes to an address or nowhere.
 * If the first byte is 'a', what follows is what a worker says in place of a mail. */
#include "archie/mail.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_mail(const struct mime_mail *m)
{
	const struct mail_own own = {"archie.x.org", "archie-errors@archie.x.org",
				     STR("files@x.org")};
	struct mail_judgement j = mail_judge(m, &own);
	struct mail_lines it = mail_lines(m);
	struct str line;
	size_t n = 0;
	ENSURE(m->n <= MIME_HEADERS_MOST && m->text.n <= MIME_TEXT_MOST && str_utf8(m->text));
	ENSURE(j.why_not || (mail_is_address(j.to) && !mail_is_own(j.to, &own)));
	while (mail_lines_next(&it, &line) == 0) {
		ENSURE(line.n && !memchr(line.p, '\n', line.n));
		n++;
	}
	ENSURE(n <= MAIL_LINES_MOST + 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(MIME_MAIL_MOST * 4);
	struct arena arena = ARENA_INIT((size_t)16 << 20);
	struct mime_mail m;
	struct err err;
	if (size == 0 || size > MIME_MAIL_MOST)
		return 0;
	struct str rest = {(const char *)data + 1, size - 1};
	if (data[0] == 'a') {
		if (mime_take(rest, &arena, &m, &err) == 0)
			check_mail(&m);
	} else {
		ENSURE(mime_load(&err) == 0);
		mime_parse(rest, &out);
		ENSURE(mime_take(buf_str(&out), &arena, &m, &err) == 0);
		check_mail(&m);
	}
	arena_free(&arena);
	return 0;
}
