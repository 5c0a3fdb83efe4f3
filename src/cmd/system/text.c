/* Text for people: paragraphs, terms. */
#include "cmd/system/text.h"

int text_next_word(struct str *rest, struct str *ret)
{
	*rest = str_trim(*rest);
	if (rest->n == 0)
		return 1;
	size_t n = 0;
	while (n < rest->n && rest->p[n] != ' ' && rest->p[n] != '\n')
		n++;
	*ret = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return 0;
}

void text_put(struct text_line *line, struct str word)
{
	size_t n = text_columns(word);
	if (line->some && line->at + 1 + n > TEXT_WIDTH) {
		buf_add_byte(line->out, '\n');
		buf_fill(line->out, ' ', line->indent);
		line->at = line->indent;
	} else if (line->some) {
		buf_add_byte(line->out, ' ');
		line->at++;
	}
	buf_add_str(line->out, word);
	line->at += n;
	line->some = true;
}

static void wrap_words(struct buf *out, struct str rest, size_t at, size_t indent)
{
	struct text_line line = {out, at, indent, false};
	struct str word;
	while (text_next_word(&rest, &word) == 0)
		text_put(&line, word);
	buf_add_byte(out, '\n');
}

void text_wrap(struct buf *out, const char *text, size_t at, size_t indent)
{
	wrap_words(out, str_of(text), at, indent);
}

int text_next_paragraph(struct str *rest, struct str *ret)
{
	while (rest->n && rest->p[0] == '\n')
		*rest = str_from(*rest, 1);
	if (rest->n == 0)
		return 1;
	size_t n = str_find(*rest, STR("\n\n"));
	*ret = str_head(*rest, n);
	*rest = str_from(*rest, n);
	while (ret->n && ret->p[ret->n - 1] == '\n')
		ret->n--;
	return 0;
}

static void put_verbatim(struct buf *out, struct str text, size_t indent)
{
	struct str line;
	while (str_cut(&text, '\n', &line) == 0) {
		buf_fill(out, ' ', indent);
		buf_add_str(out, line);
		buf_add_byte(out, '\n');
	}
}

void text_paragraphs(struct buf *out, const char *text, size_t indent)
{
	struct str rest = str_of(text), paragraph;
	for (bool first = true; text_next_paragraph(&rest, &paragraph) == 0; first = false) {
		if (!first)
			buf_add_byte(out, '\n');
		if (paragraph.p[0] == ' ') {
			put_verbatim(out, paragraph, indent);
		} else {
			buf_fill(out, ' ', indent);
			wrap_words(out, paragraph, indent, indent);
		}
	}
}

void text_term(struct buf *out, const char *term, const char *meaning, size_t column)
{
	size_t n = 2 + text_columns(str_of(term));
	buf_printf(out, "  %s", term);
	if (!*meaning) {
		buf_add_byte(out, '\n');
		return;
	}
	if (n + 2 > column) {
		buf_add_byte(out, '\n');
		n = 0;
	}
	buf_fill(out, ' ', column - n);
	text_wrap(out, meaning, column, column);
}
