/* Plain text; lists of URLs, which are sitemaps; and Markdown, which is text with its headings and
 * links taken out. Markdown is read line by line, since its marks mean something only within a
 * line. */
#include "extract/readers_inner.h"
#include "url/url.h"

static const struct odd {
	unsigned char bytes[3], n;
	char gap; /* 0: it is not seen */
} odd[] = {
	{{0xc2, 0xa0}, 2, ' '},        {{0xc2, 0xad}, 2, 0},          {{0xc2, 0x85}, 2, ' '},
	{{0xe3, 0x80, 0x80}, 3, ' '},  {{0xef, 0xbb, 0xbf}, 3, 0},    {{0xe2, 0x80, 0x8b}, 3, 0},
	{{0xe2, 0x80, 0xa8}, 3, '\n'}, {{0xe2, 0x80, 0xa9}, 3, '\n'}, {{0xe2, 0x80, 0xaf}, 3, ' '},
	{{0xe2, 0x81, 0x9f}, 3, ' '},  {{0xe2, 0x81, 0xa0}, 3, 0},
};

/* U+2000 to U+200A: blanks of all widths. */
static bool is_wide_blank(struct str s)
{
	const unsigned char *u = (const unsigned char *)s.p;
	return s.n >= 3 && u[0] == 0xe2 && u[1] == 0x80 && u[2] >= 0x80 && u[2] <= 0x8a;
}

size_t text_odd(struct str s, char *ret_gap)
{
	if (is_wide_blank(s)) {
		*ret_gap = ' ';
		return 3;
	}
	for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
		if (s.n < odd[i].n || memcmp(s.p, odd[i].bytes, odd[i].n) != 0)
			continue;
		*ret_gap = odd[i].gap;
		return odd[i].n;
	}
	return 0;
}

/* As text_odd(), with the blanks of ASCII. */
static size_t text_blank(struct str s, char *ret_gap)
{
	unsigned char c = (unsigned char)s.p[0];
	if (c <= ' ' || c == 0x7f) {
		*ret_gap = c == '\n' || c == '\r' || c == '\f' ? '\n' : ' ';
		return 1;
	}
	return c == 0xc2 || c == 0xe2 || c == 0xe3 || c == 0xef ? text_odd(s, ret_gap) : 0;
}

void text_flow(struct text_flow *f, struct str s)
{
	while (s.n) {
		char gap;
		size_t n = text_blank(s, &gap);
		if (n) {
			if (gap)
				text_gap(f, gap);
			s = str_from(s, n);
			continue;
		}
		while (n < s.n && !text_blank(str_from(s, n), &gap))
			n++;
		if (f->gap)
			out_text(f->out, (struct str){&f->gap, 1});
		f->gap = 0;
		out_text(f->out, str_head(s, n));
		s = str_from(s, n);
	}
}

void extract_text(struct charset_pieces *in, struct out *out)
{
	struct text_flow flow = {.out = out};
	struct str piece;
	while (!(out->flags & OUT_TEXT_CUT) && charset_next(in, &piece) == 0)
		text_flow(&flow, piece);
}

enum {
	LINE_MAX_BYTES = 16 << 10, /* what is longer is text without marks */
	SCHEME_WITHIN = 10,        /* bytes of <scheme:// */
};

struct markdown {
	struct text_flow flow;
	struct url base;
	bool has_base, fenced;
	struct buf line;
	char base_room[URL_MAX], room[URL_MAX];
};

static void markdown_link(struct markdown *m, struct str target, struct str text)
{
	struct url url;
	if (url_parse(target, m->has_base ? &m->base : NULL, m->room, sizeof m->room, &url) != 0)
		return;
	out_link(m->flow.out,
		 &(struct doc_link){.url = url.href, .kind = LINK_ANCHOR, .text = text});
}

/* [text](target "title") and <target>. */
static void markdown_links(struct markdown *m, struct str line)
{
	size_t open = SIZE_MAX;
	for (size_t i = 0; i < line.n; i++) {
		char c = line.p[i];
		if (c == '[')
			open = i + 1;
		if (c == '<' &&
		    str_find(str_head(str_from(line, i), SCHEME_WITHIN), STR("://")) + 2 <
			    SCHEME_WITHIN) {
			struct str target = str_head(str_from(line, i + 1), OUT_URL_MAX);
			size_t end = str_find_byte(target, '>');
			if (end < target.n)
				markdown_link(m, str_head(target, end), STR(""));
		}
		if (c != ']' || open == SIZE_MAX || i + 1 == line.n || line.p[i + 1] != '(')
			continue;
		struct str target = str_head(str_from(line, i + 2), OUT_URL_MAX);
		size_t end = str_find_byte(target, ')');
		bool closed = end < target.n, image = open >= 2 && line.p[open - 2] == '!';
		target = str_trim(str_head(target, end));
		target = str_head(target, str_find_byte(target, ' '));
		if (closed && target.n && !image)
			markdown_link(m, target, str_range(line.p + open, line.p + i));
		open = SIZE_MAX;
	}
}

/* The level of a heading; 0: it is not one. *ret is what follows the marks. */
static int heading_level(struct str line, struct str *ret)
{
	int level = 0;
	while ((size_t)level < line.n && line.p[level] == '#')
		level++;
	if (level == 0 || level > 6 || (size_t)level == line.n || line.p[level] != ' ')
		return 0;
	*ret = str_trim(str_from(line, (size_t)level));
	while (ret->n && ret->p[ret->n - 1] == '#')
		ret->n--;
	*ret = str_trim(*ret);
	return level;
}

static void markdown_end_line(struct markdown *m)
{
	struct str line = buf_str(&m->line), text = line;
	bool fence =
		str_starts(str_trim(line), STR("```")) || str_starts(str_trim(line), STR("~~~"));
	int level = m->fenced || fence ? 0 : heading_level(line, &text);
	if (fence)
		m->fenced = !m->fenced;
	if (level)
		out_meta(m->flow.out, level <= 2 ? 2 : 1, (char)('0' + level), text);
	if (!m->fenced && !fence)
		markdown_links(m, line);
	text_gap(&m->flow, '\n');
	if (!fence)
		text_flow(&m->flow, text);
	buf_clear(&m->line);
}

static void markdown_piece(struct markdown *m, struct str piece)
{
	while (piece.n) {
		size_t n = str_find_byte(piece, '\n');
		struct str part = str_head(piece, n);
		if (m->line.n + part.n > LINE_MAX_BYTES) {
			text_flow(&m->flow, buf_str(&m->line));
			buf_clear(&m->line);
			text_flow(&m->flow, part);
		} else {
			buf_add_str(&m->line, part);
		}
		if (n < piece.n)
			markdown_end_line(m);
		piece = str_from(piece, n + 1);
	}
}

/* A line of a sitemap. What is not an absolute URL is not of the list. */
static void list_end_line(struct buf *line, struct out *out, struct extract_result *ret)
{
	char room[URL_MAX];
	struct url url;
	struct str text = str_trim(buf_str(line));
	bool good = !line->over && url_parse(text, NULL, room, sizeof room, &url) == 0;
	if (good)
		out_link(out, &(struct doc_link){.url = url.href, .kind = LINK_PAGE});
	else if (text.n)
		ret->links_left_out++;
	buf_clear(line);
}

void extract_url_list(struct charset_pieces *in, struct out *out, struct extract_result *ret)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(LINE_MAX_BYTES);
	struct str piece;
	out->links_max = SITEMAP_LINKS_MAX;
	while (charset_next(in, &piece) == 0)
		while (piece.n) {
			size_t n = MIN(str_find_byte(piece, '\n'), str_find_byte(piece, '\r'));
			buf_add_str(&line, str_head(piece, n));
			if (n < piece.n)
				list_end_line(&line, out, ret);
			piece = str_from(piece, n + 1);
		}
	list_end_line(&line, out, ret);
}

void extract_markdown(const struct extract_job *job, struct charset_pieces *in, struct out *out)
{
	struct markdown *m = mem_alloc(sizeof *m);
	struct str piece;
	m->flow.out = out;
	m->line = BUF_INIT(LINE_MAX_BYTES);
	m->has_base = url_parse(job->url, NULL, m->base_room, sizeof m->base_room, &m->base) == 0;
	while (!(out->flags & OUT_TEXT_CUT) && charset_next(in, &piece) == 0)
		markdown_piece(m, piece);
	markdown_end_line(m);
	buf_free(&m->line);
	mem_free(&m);
}
