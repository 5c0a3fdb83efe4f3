/* Messages (base/message.h) as a line each, for tests: "set number=1 full urls=2\n". The length is
 * not in the line, counted bytes are not in it either. In a line to be written ~ is a blank. */
#pragma once
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

/* Lines into messages. */
static inline void said_write(const char *lines, struct buf *out)
{
	struct str rest = str_of(lines), line, name, word;
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		struct buf body = BUF_INIT(1 << 16);
		(void)str_cut(&line, ' ', &name);
		while (line.p && str_cut(&line, ' ', &word) == 0) {
			buf_add_str(&body, word);
			buf_add_byte(&body, '\n');
		}
		for (size_t i = 0; i < body.n; i++)
			body.p[i] = body.p[i] == '=' || body.p[i] == '~' ? ' ' : body.p[i];
		buf_printf(out, STR_FMT " %zu\n", STR_ARG(name), body.n);
		buf_add_str(out, buf_str(&body));
		buf_free(&body);
	}
}

/* Messages into lines. What is no message is as it is. */
static inline const char *said_lines(struct str bytes, char *room, size_t cap)
{
	struct buf out = BUF_INIT(1 << 16);
	while (bytes.n) {
		struct str rest = bytes, head, name, line;
		uint64_t n = 0;
		(void)str_cut(&rest, '\n', &head);
		(void)str_cut(&head, ' ', &name);
		if (!rest.p || !head.p || !str_u64(head, &n) || n > rest.n) {
			buf_add_str(&out, bytes);
			break;
		}
		struct str body = str_head(rest, n);
		bytes = str_from(rest, n);
		buf_add_str(&out, name);
		while (body.n && str_cut(&body, '\n', &line) == 0) {
			size_t blank = str_find_byte(line, ' ');
			buf_add_byte(&out, ' ');
			buf_add_str(&out, str_head(line, blank));
			if (blank < line.n)
				buf_printf(&out, "=" STR_FMT, STR_ARG(str_from(line, blank + 1)));
		}
		buf_add_byte(&out, '\n');
	}
	snprintf(room, cap, "%s", buf_text(&out));
	buf_free(&out);
	return room;
}
