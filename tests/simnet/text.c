/* What pages say: words, links, titles. */
#include "simnet/world.h"

#include <math.h>
#include <stdio.h>

enum {
	WORDS = 4096,
	DRAWS = 8192, /* a power of 2: how often each word is drawn out of so many */
	ENTRY = 16,   /* bytes of a word with its blank, the rest of it is zero */
	PARAGRAPH = 64,
	LINKS_MAX = 60,
	SITEMAP_MAX = 50000,
	HUGE_ROBOTS = 700 << 10,
};

struct vocabulary {
	char word[WORDS][ENTRY];
	uint8_t length[WORDS]; /* with the blank */
	uint16_t draw[DRAWS];  /* by Zipf's law */
};

static uint64_t next(uint64_t *dice)
{
	*dice ^= *dice << 13;
	*dice ^= *dice >> 7;
	*dice ^= *dice << 17;
	return *dice;
}

struct vocabulary *vocabulary_new(uint64_t seed)
{
	static const char first[] = "bdfgklmnprstv", second[] = "aeiou";
	struct vocabulary *v = mem_alloc(sizeof *v);
	uint64_t dice = hash_u64(seed) | 1;
	for (size_t i = 0; i < WORDS; i++) {
		size_t syllables = 2 + next(&dice) % 4, n = 0;
		for (size_t k = 0; k < syllables; k++) {
			v->word[i][n++] = first[next(&dice) % (sizeof first - 1)];
			v->word[i][n++] = second[next(&dice) % (sizeof second - 1)];
		}
		v->word[i][n++] = ' ';
		v->length[i] = (uint8_t)n;
	}
	for (size_t i = 0; i < DRAWS; i++)
		v->draw[i] = (uint16_t)(pow(WORDS, ((double)i + 0.5) / DRAWS) - 1);
	return v;
}

/* n words, each followed by a blank. */
static void add_words(const struct vocabulary *v, uint64_t *dice, size_t n, struct buf *out)
{
	char *room = buf_room(out, n * ENTRY), *p = room;
	if (!room)
		return;
	while (n > 0) {
		uint64_t bits = next(dice) >> 4;
		for (int k = 0; k < 4 && n > 0; k++, n--, bits >>= 13) {
			size_t word = v->draw[bits % DRAWS];
			memcpy(p, v->word[word], ENTRY);
			p += v->length[word];
		}
	}
	buf_grew(out, (size_t)(p - room));
}

/* A number in 16 letters that no stemmer takes for an ending. */
static char *spell(uint64_t v, int digits, char *p)
{
	for (int i = digits - 1; i >= 0; i--)
		*p++ = "bcdfghjkmnpqrtvz"[v >> 4 * i & 15];
	*p = '\0';
	return p;
}

/* Numbers of 40 bits, each page another, near pages far apart: an odd factor loses nothing. */
static uint64_t index_of(const struct page *p)
{
	uint64_t index = (uint64_t)p->host * WORLD_PAGES_MAX + p->number;
	return index * UINT64_C(0x9e3779b97f4a7c15) & UINT64_C(0xffffffffff);
}

void page_word(const struct page *p, char ret[WORD_MAX])
{
	memcpy(ret, "xu", 2);
	spell(index_of(p), 10, ret + 2);
}

void page_version_word(const struct page *p, char ret[WORD_MAX])
{
	memcpy(ret, "yu", 2);
	char *end = spell(index_of(p), 10, ret + 2);
	*end++ = 'o';
	spell(p->version, 6, end);
}

void page_accent_word(const struct page *p, char ret[WORD_MAX])
{
	memcpy(ret, "n\xc3\xa9", 3);
	spell(index_of(p), 10, ret + 3);
}

void page_title(const struct page *p, struct buf *out)
{
	char word[WORD_MAX];
	page_word(p, word);
	buf_printf(out, "Page %u of h%u, %s", p->number, p->host, word);
}

static void link_page(const struct world *w, uint32_t host, uint32_t number, struct buf *out)
{
	struct page p;
	world_page(w, host, number, w->conf.epoch_s, &p);
	buf_add_text(out, "<li><a href=\"");
	page_path(&p, out);
	buf_printf(out, "\">page %u</a>\n", number);
}

static void link_host(const struct world *w, uint32_t host, struct buf *out)
{
	buf_add_text(out, "<li><a href=\"");
	world_site(w, host, out);
	buf_printf(out, "/\">site %u</a>\n", host);
}

/* The kids of a page that are there in this version, and of a host's first page the host's kids;
 * then others, by a power law: in the site mostly, inner pages only, early ones more often. */
static void add_links(const struct world *w, const struct page *p, uint64_t *dice, struct buf *out)
{
	uint64_t kid = (uint64_t)p->number * WORLD_FANOUT + 1, end = kid + WORLD_FANOUT;
	for (; kid < end && kid < (uint64_t)w->conf.pages; kid++)
		if (world_born_s(w, p->host, (uint32_t)kid) <= p->changed_s)
			link_page(w, p->host, (uint32_t)kid, out);
	kid = (uint64_t)p->host * WORLD_FANOUT + 1, end = kid + WORLD_FANOUT;
	for (; p->number == 0 && kid < end && kid < (uint64_t)w->conf.hosts; kid++)
		link_host(w, (uint32_t)kid, out);
	double unit = (double)(next(dice) % 1000000 + 1) / 1e6;
	for (size_t n = MIN((size_t)(2 / unit), LINKS_MAX); n > 0; n--) {
		double near = (double)(next(dice) % 1000000) / 1e6;
		if (next(dice) % 5 == 0)
			link_host(w, (uint32_t)(next(dice) % (uint64_t)w->conf.hosts), out);
		else
			link_page(w, p->host, (uint32_t)(near * near * near * w->inner_pages), out);
	}
	if (p->number == 0 && w->profile[p->host] == PROFILE_CALENDAR)
		buf_add_text(out, "<li><a href=\"/cal/2020/1\">calendar</a>\n");
}

static void add_accent_word(const struct page *p, bool latin1, struct buf *out)
{
	char word[WORD_MAX];
	page_accent_word(p, word);
	if (latin1) {
		buf_add_text(out, "n\xe9");
		buf_add_text(out, word + 3);
	} else {
		buf_add_text(out, word);
	}
}

static void add_text(const struct world *w, bool html, size_t until, uint64_t *dice,
		     struct buf *out)
{
	while (out->n < until) {
		size_t n = MIN(PARAGRAPH, (until - out->n) / 8 + 1);
		add_words(w->words, dice, n, out);
		buf_add_text(out, html ? "</p>\n<p>" : "\n");
	}
	buf_add_text(out, html ? "</p>\n" : "\n");
}

static void add_html(const struct world *w, const struct page *p, uint64_t *dice, struct buf *out)
{
	size_t start = out->n;
	char word[WORD_MAX], version[WORD_MAX];
	bool latin1 = p->charset == CHARSET_LATIN1 || p->charset == CHARSET_LATIN1_META;
	page_word(p, word);
	page_version_word(p, version);
	buf_add_text(out, "<!doctype html>\n<html lang=\"en\"><head>");
	if (p->charset == CHARSET_UTF8_META || p->charset == CHARSET_LATIN1_META)
		buf_printf(out, "<meta charset=\"%s\">", latin1 ? "iso-8859-1" : "utf-8");
	if (p->noindex)
		buf_add_text(out, "<meta name=\"robots\" content=\"noindex\">");
	buf_add_text(out, "<title>");
	page_title(p, out);
	buf_printf(out, "</title></head>\n<body><h1>%s</h1>\n<p>%s ", word, version);
	add_accent_word(p, latin1, out);
	buf_add_text(out, ".</p>\n<ul>\n");
	add_links(w, p, dice, out);
	buf_add_text(out, "</ul>\n<p>");
	add_text(w, true, start + p->size, dice, out);
	buf_add_text(out, "</body></html>\n");
}

void page_body(const struct world *w, const struct page *p, struct buf *out)
{
	uint64_t dice = dice_of(p->key, p->version) | 1;
	char word[WORD_MAX], version[WORD_MAX];
	page_word(p, word);
	page_version_word(p, version);
	if (p->kind == PAGE_BINARY) {
		for (size_t n = 0; n < p->size; n += sizeof dice) {
			next(&dice);
			buf_add(out, &dice, sizeof dice);
		}
	} else if (p->kind == PAGE_TEXT) {
		size_t start = out->n;
		buf_printf(out, "%s %s ", word, version);
		add_accent_word(p, false, out);
		buf_add_text(out, "\n\n");
		add_text(w, false, start + p->size, &dice, out);
	} else {
		add_html(w, p, &dice, out);
	}
}

void world_sitemap(const struct world *w, uint32_t host, int64_t now_s, struct buf *out)
{
	uint32_t content = world_content(w, host);
	buf_add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset xmlns="
			  "\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n");
	for (uint32_t i = 0; i < MIN(w->conf.pages, SITEMAP_MAX); i++) {
		struct page p;
		world_page(w, content, i, now_s, &p);
		if (p.status != 200)
			continue;
		buf_add_text(out, "<url><loc>");
		world_site(w, host, out);
		page_path(&p, out);
		buf_add_text(out, "</loc><lastmod>");
		time_print(out, p.changed_s * US_PER_S, 0);
		buf_add_text(out, "</lastmod></url>\n");
	}
	buf_add_text(out, "</urlset>\n");
}

/* Any month of any year: "/cal/2020/1"; what is not understood is January 2020. */
void world_calendar(const struct world *w, uint32_t host, struct str path, struct buf *out)
{
	struct str year_text, rest = str_from(path, sizeof "/cal/" - 1);
	uint64_t year, month;
	if (str_cut(&rest, '/', &year_text) != 0 || !str_u64(year_text, &year) ||
	    !str_u64(rest, &month) || year < 1 || year > UINT32_MAX || month < 1 || month > 12)
		year = 2020, month = 1;
	uint64_t dice = dice_of(host, year * 12 + month) | 1;
	buf_printf(out,
		   "<!doctype html>\n<html><head><title>%ju-%02ju</title></head><body>\n"
		   "<a href=\"/cal/%ju/%ju\">before</a> <a href=\"/cal/%ju/%ju\">after</a>\n<p>",
		   (uintmax_t)year, (uintmax_t)month, (uintmax_t)(month == 1 ? year - 1 : year),
		   (uintmax_t)(month == 1 ? 12 : month - 1),
		   (uintmax_t)(month == 12 ? year + 1 : year), (uintmax_t)(month % 12 + 1));
	add_words(w->words, &dice, PARAGRAPH, out);
	buf_add_text(out, "</p></body></html>\n");
}

static void add_garbage(uint32_t host, struct buf *out)
{
	uint64_t dice = dice_of(host, 99) | 1;
	for (int i = 0; i < 256; i++) {
		next(&dice);
		buf_add(out, &dice, sizeof dice);
	}
}

void world_robots_text(const struct world *w, uint32_t host, struct buf *out)
{
	static const char hidden[] = "User-agent: *\nDisallow: /private/\n";
	size_t start = out->n;
	enum robots_kind kind = (enum robots_kind)w->robots[host];
	switch (kind) {
	case ROBOTS_EMPTY:
		return;
	case ROBOTS_GARBAGE:
		add_garbage(host, out);
		return;
	case ROBOTS_OPEN:
		buf_add_text(out, "User-agent: *\nDisallow:\n");
		break;
	case ROBOTS_DENY:
		buf_add_text(out, "User-agent: *\nDisallow: /\n");
		break;
	case ROBOTS_WILD:
		buf_add_text(out, "User-agent: *\nDisallow: /private/\n"
				  "Allow: /private/t/*.txt$\n");
		break;
	case ROBOTS_NAMED:
		buf_printf(out,
			   "User-agent: *\nDisallow: /\n\nUser-agent: %s\nUser-agent: other\n"
			   "Disallow: /private/\n",
			   w->conf.agent);
		break;
	case ROBOTS_DELAY:
		buf_printf(out, "%sCrawl-delay: %d\n", hidden, (int)w->conf.crawl_delay_s);
		break;
	case ROBOTS_HUGE:
		buf_add_text(out, hidden);
		while (out->n - start < HUGE_ROBOTS && !out->over)
			buf_add_text(out,
				     "# Nothing is said in this line, and it goes on and on.\n");
		buf_add_text(out, "Disallow: /private/\n");
		break;
	default:
		buf_add_text(out, hidden);
	}
	buf_add_text(out, "\nSitemap: ");
	world_site(w, host, out);
	buf_add_text(out, "/sitemap.xml\n");
}
