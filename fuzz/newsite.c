/* Requests for the master: a mail (headers as lines, an empty line, text), each of whose lines is
 * also taken for a line of a request file and for a host. Nobody is answered but an address, and
 * what is asked for fits in a line. */
#include "archie/newsite.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct str line)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	struct arena arena = ARENA_INIT(1 << 20);
	struct newsite n, again;
	struct str url;
	struct err err;
	if (newsite_url(line, &arena, &url, &err) == 0)
		ENSURE(str_starts(url, STR("ftp://")) && str_ends(url, STR("/")) && url.n <= 300);
	arena_free(&arena);
	if (!newsite_parse(line, &n))
		return;
	newsite_print(&n, &out);
	ENSURE(newsite_parse(buf_str(&out), &again) && str_eq(n.host, again.host) &&
	       str_eq(n.reply_to, again.reply_to) && str_eq(n.message_id, again.message_id) &&
	       str_eq(n.sender, again.sender));
}

static void check_mail(const struct mime_mail *m)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(4096);
	struct newsite_mail got;
	struct newsite again;
	newsite_read(m, &(struct mail_own){"archie.x.org", "archie-errors@archie.x.org", STR("")},
		     &got);
	ENSURE(got.n <= NEWSITE_A_MAIL && (got.why_not || got.n));
	ENSURE(got.why_not || !got.reply_to.n || mail_is_address(got.reply_to));
	for (size_t i = 0; i < got.n; i++) {
		const struct newsite n = {got.host[i], got.why_not ? STR("") : got.reply_to,
					  got.message_id, got.asker};
		buf_clear(&out);
		newsite_print(&n, &out);
		ENSURE(str_is(n.host, "-") || newsite_parse(buf_str(&out), &again));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mime_header room[MIME_HEADERS_MOST];
	struct mime_mail m = {.header = room};
	struct str rest = {(const char *)data, size}, line;
	bool in_head = true;
	if (size > 64 << 10)
		return 0;
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		check_line(line);
		if (in_head && !line.n)
			m.text = rest;
		in_head &= line.n > 0 && m.n < MIME_HEADERS_MOST;
		size_t n = str_find_byte(line, ':');
		if (in_head)
			room[m.n++] = (struct mime_header){str_head(line, n),
							   str_trim(str_from(line, n + 1))};
	}
	check_mail(&m);
	return 0;
}
