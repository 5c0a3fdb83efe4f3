/* Reads a page of HTML: its text, and what is open at each point of it. There is no tree: each
 * token is looked at once, and what is open is known by a few counters. What the tags say (links,
 * and what the page says of itself) is in html_doc_meta.c. */
#include "extract/html_doc_inner.h"

#include "base/hash.h"
#include "extract/html_element_hash_inner.h"
#include "extract/readers_inner.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Elements. */

#define HTML_ELEMENT_INFO(id, spelling, bits, of, place, holds, inside) \
	[EL_##id] = {                                                   \
		{spelling, sizeof(spelling) - 1}, bits, G_##of, place, G_##holds, HTML_##inside},
const struct html_element_info html_elements[HTML_ELEMENT_COUNT] = {
	HTML_ELEMENTS(HTML_ELEMENT_INFO)};

enum html_element html_element_of(struct str name)
{
	if (name.n == 0)
		return EL_OTHER;
	const unsigned char *p = (const unsigned char *)name.p;
	size_t h = name.n + p[0] * (size_t)HASH_FIRST + p[name.n / 2] * (size_t)HASH_MIDDLE +
		   p[name.n - 1] * (size_t)HASH_LAST;
	enum html_element e = hash_slot[h % HASH_SLOTS];
	return str_eq(html_elements[e].name, name) ? e : EL_OTHER;
}

/* Text as a reader sees it: one blank between words, one LF between lines. */

enum { STEP = HTML_STEP };

/* What a byte is in text. CARE: the first of characters that are white space, or are not seen. */
enum { PLAIN, WHITE, CARE };

static int kind_of(unsigned char c)
{
	if (c <= ' ')
		return WHITE;
	return c == 0xc2 || c == 0xe2 || c == 0xe3 || c == 0xef ? CARE : PLAIN;
}

size_t html_copyable_portable(const char *p, size_t n, bool after_blank)
{
	for (size_t i = 0; i < n; i++) {
		int kind = kind_of((unsigned char)p[i]);
		if (kind == CARE || (kind == WHITE && (p[i] != ' ' || after_blank)))
			return i;
		after_blank = kind == WHITE;
	}
	return n;
}

#ifdef __SSE2__
static unsigned bytes_equal(__m128i v, int byte)
{
	return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8((char)byte)));
}

size_t html_copyable(const char *p, size_t n, bool after_blank)
{
	__m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
	__m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(' ')), v);
	unsigned white = (unsigned)_mm_movemask_epi8(low), blank = bytes_equal(v, ' ');
	unsigned bad = (white ^ blank) | (blank & (blank << 1 | after_blank));
	if (_mm_movemask_epi8(v))
		bad |= bytes_equal(v, 0xc2) | bytes_equal(v, 0xe2) | bytes_equal(v, 0xe3) |
		       bytes_equal(v, 0xef);
	bad |= 1u << n; /* n is at most STEP */
	return (size_t)__builtin_ctz(bad);
}
#else
size_t html_copyable(const char *p, size_t n, bool after_blank)
{
	return html_copyable_portable(p, n, after_blank);
}
#endif

struct str html_span_text(const struct doc *d, const struct span *s)
{
	return str_range(d->out->text + MIN(s->from, d->out->text_n),
			 d->out->text + d->out->text_n);
}

/* The text begins with a word. */
static void put_gap(struct doc *d)
{
	struct out *o = d->out;
	if (d->gap && o->text_n && o->text_n < o->text_max)
		o->text[o->text_n++] = d->gap;
	d->gap = 0;
}

/* Words from p on, as far as they can be taken as they are. There is room for STEP more than
 * that. */
static const char *copy_words(struct doc *d, const char *p, const char *end)
{
	struct out *o = d->out;
	char *to = o->text + o->text_n, tail[STEP] = {0};
	bool after_blank = false;
	size_t n, took;
	do {
		const char *from = p;
		n = MIN((size_t)(end - p), (size_t)STEP);
		if (n < STEP)
			from = memcpy(tail, p, n);
		took = html_copyable(from, n, after_blank);
		memcpy(to, from, STEP);
		p += took;
		to += took;
		after_blank = took ? to[-1] == ' ' : after_blank;
	} while (took == STEP);
	if (after_blank) {
		to--;
		d->gap = ' ';
	}
	o->text_n = (size_t)(to - o->text);
	return p;
}

static const char *take_odd(struct doc *d, const char *p, const char *end)
{
	size_t left = (size_t)(end - p), n = *(const unsigned char *)p == 0xc2 ? 2 : 3;
	char gap;
	size_t odd = text_odd((struct str){p, left}, &gap);
	if (odd) {
		if (gap)
			html_gap(d, gap);
		return p + odd;
	}
	n = MIN(left, n);
	put_gap(d);
	out_text(d->out, (struct str){p, n});
	return p + n;
}

/* A word near the end of the room: whole, so that it can be cut between characters. */
static const char *copy_slowly(struct doc *d, const char *p, const char *end)
{
	size_t n = html_copyable_portable(p, (size_t)(end - p), true);
	struct str word = {p, MIN(n, str_find_byte((struct str){p, n}, ' '))};
	out_text(d->out, word);
	return p + word.n;
}

/* White space as a reader sees it, into the text. */
static void html_flow(struct doc *d, struct str s)
{
	const char *p = s.p, *end = p + s.n;
	struct out *o = d->out;
	while (p < end && !(o->flags & OUT_TEXT_CUT)) {
		int kind = kind_of((unsigned char)*p);
		if (kind == CARE) {
			p = take_odd(d, p, end);
		} else if (kind == WHITE) {
			if (*p)
				html_gap(d, d->pre && *p == '\n' ? '\n' : ' ');
			p++;
		} else {
			put_gap(d);
			/* copy_words() writes no more than it reads, and STEP bytes too many */
			p = o->text_max - o->text_n > (size_t)(end - p) + STEP
				    ? copy_words(d, p, end)
				    : copy_slowly(d, p, end);
		}
	}
}

/* What is not seen, and what is not HTML. */

static uint64_t name_hash(enum html_element e, const struct html_tag *tag)
{
	return e == EL_OTHER ? hash64(tag->name) | 1 : 0;
}

static void unseen_begin(struct doc *d, enum html_element e, const struct html_tag *tag, bool inert)
{
	d->unseen = e;
	d->unseen_name = name_hash(e, tag);
	d->unseen_depth = 1;
	d->unseen_foreign = d->nforeign;
	d->inert = inert;
}

static void unseen_end(struct doc *d)
{
	d->unseen = EL_OTHER;
	d->unseen_name = 0;
	d->inert = false;
}

/* SVG and MathML, and HTML inside of SVG. */
static bool is_foreign(enum html_element e)
{
	return e == EL_SVG || e == EL_MATH || e == EL_FOREIGNOBJECT;
}

static bool in_foreign(const struct doc *d)
{
	return d->nforeign && d->foreign[d->nforeign - 1] != EL_FOREIGNOBJECT;
}

static bool closes_itself(const struct doc *d, const struct html_tag *tag)
{
	return tag->self_closing && (d->xml || in_foreign(d));
}

/* What was hidden inside ends with it. */
static void foreign_changed(struct doc *d)
{
	html_tokens_foreign(d->tokens, d->xml || in_foreign(d));
	if (html_hidden(d) && d->nforeign < d->unseen_foreign)
		unseen_end(d);
}

static void foreign_push(struct doc *d, enum html_element e)
{
	if (d->nforeign < FOREIGN_MAX)
		d->foreign[d->nforeign++] = e;
	foreign_changed(d);
}

/* An end tag ends the innermost of its kind and what is inside of it. */
static void foreign_pop(struct doc *d, enum html_element e)
{
	for (unsigned i = d->nforeign; i-- > 0;) {
		if (d->foreign[i] == e) {
			d->nforeign = i;
			break;
		}
	}
	foreign_changed(d);
}

/* What cannot be inside ends all of SVG and MathML up to the last place where HTML may be. */
static void foreign_leave(struct doc *d)
{
	while (in_foreign(d))
		d->nforeign--;
	foreign_changed(d);
}

/* Where the end tag may be left out. Returns whether the tag still belongs to what is hidden. */
static bool unseen_item(struct doc *d, enum html_element e, const struct html_tag *tag)
{
	const struct html_element_info *own = &html_elements[d->unseen], *now = &html_elements[e];
	if (now->contains == own->group) {
		if (!tag->end)
			d->unseen_depth++;
		else if (--d->unseen_depth == 0)
			unseen_end(d);
		return html_hidden(d);
	}
	if (d->unseen_depth > 1 || now->group != own->group || now->rank < own->rank)
		return true;
	unseen_end(d);
	return tag->end && e == own - html_elements;
}

/* A tag where nothing is seen. Returns whether it is part of that. */
static bool unseen_takes(struct doc *d, enum html_element e, const struct html_tag *tag)
{
	const struct html_element_info *own = &html_elements[d->unseen];
	if (own->group)
		return unseen_item(d, e, tag);
	if (e == d->unseen && name_hash(e, tag) == d->unseen_name) {
		if (e == EL_P && !tag->end) {
			unseen_end(d);
			return false;
		}
		if (!tag->end && !closes_itself(d, tag))
			d->unseen_depth++;
		else if (tag->end && --d->unseen_depth == 0)
			unseen_end(d);
		return true;
	}
	/* a paragraph ends where any other block begins or ends */
	if (d->unseen == EL_P && (html_elements[e].flags & HE_LINE) && e != EL_BR) {
		unseen_end(d);
		return false;
	}
	return true;
}

static void span_end(struct doc *d, struct span *s, int weight, char tag)
{
	if (!s->open)
		return;
	s->open = false;
	if (!d->part)
		out_meta(d->out, weight, tag, html_span_text(d, s));
}

static void heading_end(struct doc *d)
{
	span_end(d, &d->heading, d->heading_level <= '2' ? 2 : 1, d->heading_level);
}

static void heading_begin(struct doc *d, const struct html_tag *tag)
{
	heading_end(d);
	d->heading = (struct span){true, d->out->text_n};
	d->heading_level = tag->name.p[1];
}

/* Emphasis in a heading is the heading's; inside of other emphasis it is part of that. */
static void strong_begin(struct doc *d)
{
	if (d->strong.open) {
		d->strong_depth++;
	} else if (!d->heading.open) {
		d->strong = (struct span){true, d->out->text_n};
		d->strong_depth = 1;
	}
}

static void strong_end(struct doc *d)
{
	if (d->strong.open && --d->strong_depth == 0)
		span_end(d, &d->strong, 1, META_EMPHASIS);
}

/* Only the first title counts. */
static void title_begin(struct doc *d, const struct html_tag *tag)
{
	(void)tag;
	buf_clear(&d->title);
	d->in_title = true;
}

static void title_end(struct doc *d)
{
	if (!d->in_title)
		return;
	d->in_title = false;
	struct str text = str_trim(buf_str(&d->title));
	if (!d->has_title && text.n) {
		d->has_title = true;
		out_meta(d->out, 3, META_TITLE, text);
	}
}

static void pre_begin(struct doc *d, const struct html_tag *tag)
{
	(void)tag;
	d->pre++;
}

static void pre_end(struct doc *d)
{
	d->pre -= d->pre > 0;
}

typedef void end_fn(struct doc *d);

/* What text it begins, where it is seen. */
static html_start_fn *const begins[HTML_ELEMENT_COUNT] = {
	[EL_H1] = heading_begin,  [EL_H2] = heading_begin,   [EL_H3] = heading_begin,
	[EL_H4] = heading_begin,  [EL_H5] = heading_begin,   [EL_H6] = heading_begin,
	[EL_TITLE] = title_begin, [EL_PRE] = pre_begin,      [EL_LISTING] = pre_begin,
	[EL_XMP] = pre_begin,     [EL_TEXTAREA] = pre_begin, [EL_PLAINTEXT] = pre_begin,
};

static end_fn *const ends[HTML_ELEMENT_COUNT] = {
	[EL_A] = html_link_anchor_end, [EL_H1] = heading_end,  [EL_H2] = heading_end,
	[EL_H3] = heading_end,         [EL_H4] = heading_end,  [EL_H5] = heading_end,
	[EL_H6] = heading_end,         [EL_TITLE] = title_end, [EL_PRE] = pre_end,
	[EL_LISTING] = pre_end,        [EL_XMP] = pre_end,     [EL_TEXTAREA] = pre_end,
};

static void gap_of(struct doc *d, const struct html_element_info *info)
{
	if (info->flags & HE_LINE)
		d->gap = '\n';
	else if (info->flags & HE_GAP)
		html_gap(d, ' ');
}

static bool is_shown_instead(const struct doc *d, enum html_element e)
{
	return d->job->settings.noscript && (e == EL_NOSCRIPT || e == EL_NOFRAMES);
}

static bool is_unseen(const struct html_tag *tag, enum html_element e)
{
	return attr_of(tag, STR("hidden")).p || (html_elements[e].flags & HE_UNSEEN) ||
	       (e == EL_DIALOG && !attr_of(tag, STR("open")).p);
}

static void element_says(struct doc *d, enum html_element e, const struct html_tag *tag)
{
	if (html_says[e] && !(d->part && (html_elements[e].flags & HE_PAGE)))
		html_says[e](d, tag);
}

/* In SVG and MathML names mean other things, and only tags end text. */
static enum html_state element_start_foreign(struct doc *d, enum html_element e,
					     const struct html_tag *tag)
{
	static const bool unseen[HTML_ELEMENT_COUNT] = {
		[EL_TITLE] = true, [EL_DESC] = true,   [EL_METADATA] = true,
		[EL_STYLE] = true, [EL_SCRIPT] = true,
	};
	if (e == EL_A || e == EL_IMAGE)
		html_says[e](d, tag);
	if (str_eq(tag->name, STR("text")))
		html_gap(d, ' ');
	if (tag->self_closing)
		return HTML_DATA;
	if (is_foreign(e))
		foreign_push(d, e);
	if (unseen[e] || is_unseen(tag, e))
		unseen_begin(d, e, tag, true);
	return HTML_DATA;
}

static enum html_state element_start(struct doc *d, enum html_element e, const struct html_tag *tag)
{
	const struct html_element_info *info = &html_elements[e];
	bool empty = (info->flags & HE_VOID) || (tag->self_closing && (d->xml || is_foreign(e)));
	gap_of(d, info);
	element_says(d, e, tag);
	if (empty || is_shown_instead(d, e)) {
		if (ends[e])
			ends[e](d);
		return HTML_DATA;
	}
	if (is_foreign(e) && e != EL_FOREIGNOBJECT)
		foreign_push(d, e);
	if (info->flags & HE_INERT) {
		unseen_begin(d, e, tag, true);
	} else if (is_unseen(tag, e)) {
		unseen_begin(d, e, tag, false);
	} else {
		if (begins[e])
			begins[e](d, tag);
		if (info->flags & HE_STRONG)
			strong_begin(d);
	}
	return info->state;
}

static void element_end(struct doc *d, enum html_element e)
{
	gap_of(d, &html_elements[e]);
	if (ends[e])
		ends[e](d);
	if (html_elements[e].flags & HE_STRONG)
		strong_end(d);
}

/* Inside of what is not seen links still lead somewhere, and scripts are still scripts. */
static enum html_state unseen_tag(struct doc *d, enum html_element e, const struct html_tag *tag)
{
	if (!d->inert && tag->end && e == EL_A)
		html_link_anchor_end(d);
	if (!d->inert && !tag->end)
		element_says(d, e, tag);
	if (tag->end || closes_itself(d, tag) || is_shown_instead(d, e))
		return HTML_DATA;
	if (is_foreign(e) && !tag->self_closing)
		foreign_push(d, e);
	return in_foreign(d) ? HTML_DATA : html_elements[e].state;
}

static enum html_state on_tag(void *ctx, const struct html_tag *tag)
{
	struct doc *d = ctx;
	enum html_element e = html_element_of(tag->name);
	d->ret->tokens++;
	if (tag->end && is_foreign(e))
		foreign_pop(d, e);
	else if (!tag->end && in_foreign(d) && (html_elements[e].flags & HE_LEAVES))
		foreign_leave(d);
	if (html_hidden(d) && unseen_takes(d, e, tag))
		return unseen_tag(d, e, tag);
	if (tag->end) {
		element_end(d, e);
		return HTML_DATA;
	}
	return in_foreign(d) ? element_start_foreign(d, e, tag) : element_start(d, e, tag);
}

static void on_text(void *ctx, struct str text)
{
	struct doc *d = ctx;
	d->ret->tokens++;
	if (html_hidden(d))
		return;
	if (d->in_title)
		buf_add_str(&d->title, str_utf8_head(text, d->title.max - d->title.n));
	else
		html_flow(d, text);
}

static void doc_finish(struct doc *d)
{
	html_tokens_end(d->tokens);
	unseen_end(d);
	html_link_anchor_end(d);
	title_end(d);
	heading_end(d);
	span_end(d, &d->strong, 1, META_EMPHASIS);
	html_meta_end(d);
}

/* Neither text nor links would be taken any more. */
static bool is_full(const struct doc *d)
{
	return (d->out->flags & OUT_TEXT_CUT) && (d->out->flags & OUT_LINKS_CUT);
}

static const struct html_sink doc_sink = {.text = on_text, .tag = on_tag};

static void doc_init(struct doc *d, const struct extract_job *job, struct extract_result *ret)
{
	d->job = job;
	d->ret = ret;
	d->tokens = html_tokens_new(NULL);
	d->title = BUF_INIT((size_t)OUT_META_MAX * 4);
	d->label = BUF_INIT(LABEL_MAX);
	d->encoded = BUF_INIT(URL_TEXT_MAX);
	d->spare_title = BUF_INIT(OUT_META_MAX);
	d->spare_description = BUF_INIT(DESCRIPTION_MAX);
	d->spare_language = BUF_INIT(LABEL_MAX);
}

static void doc_release(struct doc *d)
{
	html_tokens_free(&d->tokens);
	buf_free(&d->title);
	buf_free(&d->label);
	buf_free(&d->encoded);
	buf_free(&d->spare_title);
	buf_free(&d->spare_description);
	buf_free(&d->spare_language);
}

void extract_html(const struct extract_job *job, struct charset_pieces *in, struct out *out,
		  struct extract_result *ret)
{
	struct doc *d = mem_alloc(sizeof *d);
	struct str piece;
	doc_init(d, job, ret);
	d->in = in;
	d->out = out;
	d->xml = str_starts(job->content_type, STR("application/xhtml+xml"));
	html_link_begin(d);
	html_tokens_begin(d->tokens, &doc_sink, d, HTML_DATA, STR(""));
	foreign_changed(d);
	while (!is_full(d) && charset_next(in, &piece) == 0)
		html_tokens_add(d->tokens, piece);
	doc_finish(d);
	doc_release(d);
	mem_free(&d);
}

/* Parts of other documents. */

struct html_part {
	struct doc doc;
};

struct html_part *html_part_new(const struct extract_job *job, struct extract_result *ret)
{
	struct html_part *p = mem_alloc(sizeof *p);
	doc_init(&p->doc, job, ret);
	p->doc.part = p->doc.has_title = true; /* a title in it is not text, and is nobody's */
	return p;
}

void html_part_free(struct html_part **pp)
{
	if (*pp)
		doc_release(&(*pp)->doc);
	mem_free(pp);
}

void html_part_read(struct html_part *p, struct str markup, const struct url *base, struct out *out)
{
	struct doc *d = &p->doc;
	d->out = out;
	d->gap = '\n';
	d->pre = d->nforeign = d->strong_depth = 0;
	d->has_base = base != NULL;
	if (base)
		d->base = *base;
	html_tokens_begin(d->tokens, &doc_sink, d, HTML_DATA, STR(""));
	foreign_changed(d);
	html_tokens_add(d->tokens, markup);
	doc_finish(d);
}
