/* Attributes of documents: the forms of their values, and the SOIF object that they make. Both
 * directions of each form stand here, so that what extraction writes is what the others read. */
#include "soif/doc_attrs.h"

#include "base/ascii.h"
#include "base/hash.h"

#include <stdlib.h>

/* The letters of the kinds; the first of a letter is what a bare URL means. */
static const struct {
	enum link_kind kind;
	char letter;
} link_kinds[] = {
	{LINK_ANCHOR, 'R'},  {LINK_FORM, 'R'},    {LINK_FEED, 'R'},  {LINK_ALTERNATE, 'R'},
	{LINK_RELATED, 'R'}, {LINK_REFRESH, 'R'}, {LINK_ITEM, 'R'},  {LINK_PAGE, 'R'},
	{LINK_SITEMAP, 'R'}, {LINK_IMAGE, 'I'},   {LINK_FRAME, 'F'}, {LINK_EMBED, 'A'},
};
static const struct {
	unsigned flag;
	char letter;
} link_flags[] = {{LINK_NOFOLLOW, 'n'}, {LINK_UGC, 'u'}, {LINK_SPONSORED, 's'}};

char link_letter(enum link_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(link_kinds); i++)
		if (link_kinds[i].kind == kind)
			return link_kinds[i].letter;
	return 'R';
}

size_t link_word(char *to, const struct doc_link *l)
{
	size_t n = 0;
	to[n++] = (char)l->kind;
	for (size_t i = 0; i < ARRAY_LEN(link_flags); i++)
		if (l->flags & link_flags[i].flag)
			to[n++] = link_flags[i].letter;
	if (l->time_s > 0) {
		to[n++] = '@';
		n += str_decimal(to + n, (uint64_t)l->time_s);
	}
	return n;
}

bool meta_parse(struct str value, struct doc_meta *ret)
{
	if (value.n < 2 || value.p[0] < '0' || value.p[0] > '3')
		return false;
	*ret = (struct doc_meta){value.p[0] - '0', value.p[1], str_from(value, 2)};
	return true;
}

/* The flags and the time of a word, after its kind. */
static bool link_parse_word(struct str word, struct doc_link *l)
{
	struct str flags;
	uint64_t time_s;
	str_cut(&word, '@', &flags);
	for (size_t i = 0; i < flags.n; i++) {
		size_t k = 0;
		while (k < ARRAY_LEN(link_flags) && link_flags[k].letter != flags.p[i])
			k++;
		if (k == ARRAY_LEN(link_flags))
			return false;
		l->flags |= link_flags[k].flag;
	}
	if (!word.p)
		return true;
	if (!str_u64(word, &time_s) || time_s > INT64_MAX)
		return false;
	l->time_s = (int64_t)time_s;
	return true;
}

bool link_parse(char name, struct str value, struct doc_link *ret)
{
	struct doc_link l = {.text = STR("")};
	struct str word = STR("");
	size_t k = 0;
	str_cut(&value, ' ', &l.url);
	if (value.p) {
		str_cut(&value, ' ', &word);
		l.text = value.p ? value : STR("");
	}
	while (k < ARRAY_LEN(link_kinds) &&
	       (link_kinds[k].letter != name || (word.n && word.p[0] != (char)link_kinds[k].kind)))
		k++;
	if (l.url.n == 0 || k == ARRAY_LEN(link_kinds) || !link_parse_word(str_from(word, 1), &l))
		return false;
	l.kind = link_kinds[k].kind;
	*ret = l;
	return true;
}

static const struct {
	const char *media; /* "x/" stands for all below it */
	const char *type;
} media_types[] = {
	{"text/html", "HTML"},
	{"application/xhtml+xml", "HTML"},
	{"text/x-c", "C"},
	{"text/x-perl", "Perl"},
	{"text/x-tex", "Tex"},
	{"text/troff", "Troff"},
	{"text/x-makefile", "Makefile"},
	{"text/x-shellscript", "Command"},
	{"text/x-diff", "Patch"},
	{"text/", "Text"},
	{"application/xml", "Text"},
	{"application/rss+xml", "Text"},
	{"application/atom+xml", "Text"},
	{"application/json", "Data"},
	{"application/postscript", "PostScript"},
	{"application/x-dvi", "Dvi"},
	{"application/x-tar", "Tar"},
	{"application/gzip", "GNUCompressed"},
	{"application/x-gzip", "GNUCompressed"},
	{"application/zip", "PCCompressed"},
	{"application/x-bzip2", "Compressed"},
	{"application/x-xz", "Compressed"},
	{"application/zstd", "Compressed"},
	{"application/vnd.rar", "Archive"},
	{"application/x-7z-compressed", "Archive"},
	{"image/", "Image"},
	{"audio/", "Audio"},
	{"font/", "Font"},
	{"message/", "Mail"},
};

/* Harvest's name for a media type, with or without parameters: "HTML" of "text/html". */
static struct str type_of_media(struct str media)
{
	media = str_trim(str_head(media, str_find_byte(media, ';')));
	for (size_t i = 0; i < ARRAY_LEN(media_types); i++) {
		struct str m = str_of(media_types[i].media);
		if (m.p[m.n - 1] == '/' ? str_starts(media, m) : str_eq(media, m))
			return str_of(media_types[i].type);
	}
	return STR("Binary");
}

/* Text put together in the arena, whose size is known before. */
struct joined {
	char *p;
	size_t n;
};

static void join_text(struct joined *j, struct str s)
{
	memcpy(j->p + j->n, s.p, s.n);
	j->n += s.n;
}

static void join_line(struct joined *j, struct str s)
{
	if (j->n)
		join_text(j, STR("\n"));
	join_text(j, s);
}

static void put_value(struct soif *obj, struct arena *arena, const char *name, struct str value)
{
	if (value.n)
		soif_add(obj, arena, str_of(name), value);
}

static bool is_heading(char tag)
{
	return tag >= '1' && tag <= '6';
}

/* The next M from *at on. */
static bool next_meta(const struct attrs *list, size_t *at, struct doc_meta *ret)
{
	while (*at < list->n) {
		const struct attr *a = &list->a[(*at)++];
		if (a->name == 'M' && meta_parse(a->value, ret))
			return true;
	}
	return false;
}

/* The first M with this tag; of headings, the first of any level. */
static struct str meta_of(const struct attrs *list, char tag)
{
	struct doc_meta m;
	for (size_t i = 0; next_meta(list, &i, &m);)
		if (m.tag == tag || (tag == '1' && is_heading(m.tag)))
			return m.text;
	return STR("");
}

static struct str headings_of(const struct attrs *list, struct arena *arena)
{
	struct doc_meta m;
	struct joined j = {0};
	size_t room = 0;
	for (size_t i = 0; next_meta(list, &i, &m);)
		room += is_heading(m.tag) ? m.text.n + 1 : 0;
	j.p = arena_alloc(arena, room);
	for (size_t i = 0; next_meta(list, &i, &m);)
		if (is_heading(m.tag))
			join_line(&j, m.text);
	return (struct str){j.p, j.n};
}

/* The URLs of all links of a letter, a line each, each once, in order. */
static struct str urls_of(const struct attrs *list, struct arena *arena, char letter)
{
	struct doc_link l;
	struct joined j = {0};
	size_t room = 0, n = 0, slots = 16;
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == letter) {
			room += list->a[i].value.n + 1;
			n++;
		}
	if (n == 0)
		return STR("");
	while (slots < 2 * n)
		slots *= 2;
	struct str *seen = arena_array(arena, slots, sizeof *seen);
	j.p = arena_alloc(arena, room);
	for (size_t i = 0; i < list->n; i++) {
		if (list->a[i].name != letter || !link_parse(letter, list->a[i].value, &l))
			continue;
		size_t at = hash64(l.url) & (slots - 1);
		while (seen[at].p && !str_eq(seen[at], l.url))
			at = (at + 1) & (slots - 1);
		if (seen[at].p)
			continue;
		seen[at] = l.url;
		join_line(&j, l.url);
	}
	return (struct str){j.p, j.n};
}

static int by_bytes(const void *a, const void *b)
{
	return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool between_words(char c)
{
	return (unsigned char)c <= ' ' || c == ',' || c == ';';
}

/* Folds a text in place (ASCII; the index folds the rest) and cuts it into words; how many. Every
 * word is followed by a byte that is not part of it. */
static size_t fold_words(char *text, size_t n, struct str *ret)
{
	size_t words = 0, from = 0;
	for (size_t i = 0; i < n; i++) {
		text[i] = ascii_lower(text[i]);
		if (!between_words(text[i]))
			continue;
		if (i > from)
			ret[words++] = str_range(text + from, text + i);
		from = i + 1;
	}
	return words;
}

/* The words of the keywords: folded, sorted, each once. */
static struct str keywords_of(const struct attrs *list, struct arena *arena)
{
	struct doc_meta m;
	struct joined text = {0}, j = {0};
	size_t room = 0;
	for (size_t i = 0; next_meta(list, &i, &m);)
		room += m.tag == META_KEYWORDS ? m.text.n + 1 : 0;
	if (room == 0)
		return STR("");
	text.p = arena_alloc(arena, room);
	j.p = arena_alloc(arena, room);
	for (size_t i = 0; next_meta(list, &i, &m);)
		if (m.tag == META_KEYWORDS) {
			join_text(&text, m.text);
			join_text(&text, STR(" "));
		}
	struct str *word = arena_array(arena, room / 2 + 1, sizeof *word);
	size_t n = fold_words(text.p, text.n, word);
	qsort(word, n, sizeof *word, by_bytes);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || !str_eq(word[i], word[i - 1]))
			join_line(&j, word[i]);
	return (struct str){j.p, j.n};
}

/* The text as one value: that of the only piece, or all of them put together. */
static struct str whole_text(const struct attrs *list, struct arena *arena, size_t most)
{
	struct joined j = {0};
	size_t pieces = 0, room = 0;
	for (size_t i = 0; i < list->n && room < most; i++)
		if (list->a[i].name == 'X') {
			pieces++;
			room += list->a[i].value.n;
		}
	if (pieces <= 1)
		return pieces ? attrs_get(list, 'X') : STR("");
	j.p = arena_alloc(arena, room);
	for (size_t i = 0; i < list->n && j.n < room; i++)
		if (list->a[i].name == 'X')
			join_text(&j, list->a[i].value);
	return (struct str){j.p, j.n};
}

static void put_full_text(const struct attrs *list, struct arena *arena, size_t text_max,
			  struct soif *obj)
{
	struct str text = whole_text(list, arena, text_max ? text_max + 1 : SIZE_MAX);
	bool cut = text_max && text.n > text_max;
	put_value(obj, arena, cut ? "Partial-Text" : "Full-Text",
		  cut ? str_utf8_head(text, text_max) : text);
}

static struct str first_of(struct str a, struct str b, struct str c)
{
	return a.n ? a : b.n ? b : c;
}

void attrs_soif(const struct attrs *list, struct arena *arena, size_t text_max, struct soif *ret)
{
	struct soif obj = {.type = STR("FILE"), .url = attrs_get(list, 'U')};
	struct str media = attrs_get(list, 'T');
	if (!obj.url.p)
		obj.url = STR("");
	put_value(&obj, arena, "Title",
		  first_of(meta_of(list, META_TITLE), meta_of(list, '1'), STR("")));
	put_value(&obj, arena, "Author", meta_of(list, META_AUTHOR));
	put_value(&obj, arena, "Description", meta_of(list, META_DESCRIPTION));
	put_value(&obj, arena, "Keywords", keywords_of(list, arena));
	put_value(&obj, arena, "Headings", headings_of(list, arena));
	put_value(&obj, arena, "References", urls_of(list, arena, 'R'));
	put_value(&obj, arena, "Images", urls_of(list, arena, 'I'));
	put_value(&obj, arena, "Language", meta_of(list, META_LANGUAGE));
	put_value(&obj, arena, "Type", media.n ? type_of_media(media) : STR(""));
	put_value(&obj, arena, "File-Size", attrs_get(list, 'Z'));
	put_value(&obj, arena, "MD5", attrs_get(list, 'C'));
	put_value(
		&obj, arena, "Last-Modification-Time",
		first_of(attrs_get(list, 'L'), meta_of(list, META_MODIFIED), attrs_get(list, 'J')));
	put_value(&obj, arena, "Update-Time", attrs_get(list, 'D'));
	put_full_text(list, arena, text_max, &obj);
	*ret = obj;
}
