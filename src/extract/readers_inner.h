/* The readers of one type each: extract.c calls them when type and charset are known, and ends the
 * output. They take the text piece by piece from `in` and write to `out`; of *ret only tokens,
 * links_left_out and remark are theirs. */
#pragma once
#include "extract/extract.h"

/* A remark in the output and in ret: why there is no text, or not all of it. The first one stays in
 * ret. */
void extract_remark(struct out *out, struct extract_result *ret, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* What a site wishes of robots, from the header X-Robots-Tag or from <meta>: words in lower case
 * with commas between them; "none" stands for two of them. In the header, words for a robot of
 * another name are passed over. */
void extract_robots(struct str wishes, bool header, struct out *out);

void extract_html(const struct extract_job *job, struct charset_pieces *in, struct out *out,
		  struct extract_result *ret);
/* HTML in another document: its text and links, added to `out`, and nothing that it says of itself.
 * Text begins a line. The base is that of its links (NULL: none). */
struct html_part;
struct url;
struct html_part *html_part_new(const struct extract_job *job, struct extract_result *ret);
void html_part_free(struct html_part **p);
void html_part_read(struct html_part *p, struct str markup, const struct url *base,
		    struct out *out);

void extract_text(struct charset_pieces *in, struct out *out);
/* A sitemap that is text: a URL in each line. */
void extract_url_list(struct charset_pieces *in, struct out *out, struct extract_result *ret);
/* Text with its headings and links. */
void extract_markdown(const struct extract_job *job, struct charset_pieces *in, struct out *out);
enum { SITEMAP_LINKS_MAX = 50000 }; /* as the protocol says */
/* XML of any kind; feeds and sitemaps are known by their root, and ret->type says which it was. */
void extract_xml(const struct extract_job *job, struct charset_pieces *in, struct out *out,
		 struct extract_result *ret);

/* Text as it comes, with white space as a reader sees it: one blank between words, one LF between
 * lines that have any. */
struct text_flow {
	struct out *out;
	char gap; /* what is due before the next word: 0, ' ' or LF */
};
void text_flow(struct text_flow *f, struct str s);
/* How many bytes at the beginning are a character beyond ASCII that looks like a blank, or like
 * nothing: 0 where it is another one. *ret_gap: what it stands for; 0: it is not seen. */
size_t text_odd(struct str s, char *ret_gap);
/* At least this gap before what follows. */
static inline void text_gap(struct text_flow *f, char gap)
{
	if (f->out->text_n && f->gap != '\n')
		f->gap = gap;
}
