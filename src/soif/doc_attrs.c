/* Attributes of documents: the forms of their values, and the SOIF object that they make. Both
 * directions of each form stand here, so that what extraction writes is what the others read. */
#include "soif/doc_attrs.h"

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
} types[] = {
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

static struct str soif_type_of_media(struct str media)
{
	media = str_trim(str_head(media, str_find_byte(media, ';')));
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct str m = str_of(types[i].media);
		if (m.p[m.n - 1] == '/' ? str_starts(media, m) : str_eq(media, m))
			return str_of(types[i].type);
	}
	return STR("Binary");
}

/* Text put together in the arena, whose size is known before. */
struct joined {
	char *p;
	size_t n;
};

static void join(struct joined *j, struct str s)
{
	memcpy(j->p + j->n, s.p, s.n);
	j->n += s.n;
}

static void put(struct soif *obj, struct arena *arena, const char *name, struct str value)
{
	if (value.n)
		soif_add(obj, arena, str_of(name), value);
}

static bool is_heading(char tag)
{
	return tag >= '1' && tag <= '6';
}

/* The first M with this tag. */
static struct str meta_of(const struct attrs *list, char tag)
{
	struct doc_meta m;
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == 'M' && meta_parse(list->a[i].value, &m) &&
		    (m.tag == tag || (tag == '1' && is_heading(m.tag))))
			return m.text;
	return STR("");
}

static struct str headings(const struct attrs *list, struct arena *arena)
{
	struct doc_meta m;
	struct joined j = {0};
	size_t room = 0;
	for (size_t i = 0; i < list->n; i++)
		room += list->a[i].name == 'M' ? list->a[i].value.n + 1 : 0;
	j.p = arena_alloc(arena, room + 1);
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == 'M' && meta_parse(list->a[i].value, &m) &&
		    is_heading(m.tag)) {
			if (j.n)
				join(&j, STR("\n"));
			join(&j, m.text);
		}
	return (struct str){j.p, j.n};
}

/* The URLs of all links of a letter, a line each, each once, in order. */
static struct str urls(const struct attrs *list, struct arena *arena, char letter)
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
		if (j.n)
			join(&j, STR("\n"));
		join(&j, l.url);
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

/* The words of the keywords: folded (ASCII; the index folds the rest), sorted, each once. */
static struct str keywords(const struct attrs *list, struct arena *arena)
{
	struct doc_meta m;
	struct joined folded = {0}, j = {0};
	size_t room = 0, n = 0;
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == 'M' && meta_parse(list->a[i].value, &m) &&
		    m.tag == META_KEYWORDS)
			room += m.text.n + 1;
	if (room == 0)
		return STR("");
	folded.p = arena_alloc(arena, room);
	j.p = arena_alloc(arena, room);
	struct str *word = arena_array(arena, room / 2 + 1, sizeof *word);
	for (size_t i = 0; i < list->n; i++)
		if (list->a[i].name == 'M' && meta_parse(list->a[i].value, &m) &&
		    m.tag == META_KEYWORDS) {
			join(&folded, m.text);
			join(&folded, STR(" "));
		}
	for (size_t i = 0, from = 0; i < folded.n; i++) {
		char *c = folded.p + i;
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c + 32);
		if (!between_words(*c))
			continue;
		if (i > from)
			word[n++] = str_range(folded.p + from, c);
		from = i + 1;
	}
	qsort(word, n, sizeof *word, by_bytes);
	for (size_t i = 0; i < n; i++) {
		if (i && str_eq(word[i], word[i - 1]))
			continue;
		if (j.n)
			join(&j, STR("\n"));
		join(&j, word[i]);
	}
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
			join(&j, list->a[i].value);
	return (struct str){j.p, j.n};
}

static struct str cut_text(struct str text, size_t most)
{
	size_t n = most;
	while (n > 0 && n + 4 > most && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	return str_head(text, n);
}

static void put_text(const struct attrs *list, struct arena *arena, size_t text_max,
		     struct soif *obj)
{
	struct str text = whole_text(list, arena, text_max ? text_max + 1 : SIZE_MAX);
	bool cut = text_max && text.n > text_max;
	put(obj, arena, cut ? "Partial-Text" : "Full-Text", cut ? cut_text(text, text_max) : text);
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
	put(&obj, arena, "Title", first_of(meta_of(list, META_TITLE), meta_of(list, '1'), STR("")));
	put(&obj, arena, "Author", meta_of(list, META_AUTHOR));
	put(&obj, arena, "Description", meta_of(list, META_DESCRIPTION));
	put(&obj, arena, "Keywords", keywords(list, arena));
	put(&obj, arena, "Headings", headings(list, arena));
	put(&obj, arena, "References", urls(list, arena, 'R'));
	put(&obj, arena, "Images", urls(list, arena, 'I'));
	put(&obj, arena, "Language", meta_of(list, META_LANGUAGE));
	put(&obj, arena, "Type", media.n ? soif_type_of_media(media) : STR(""));
	put(&obj, arena, "File-Size", attrs_get(list, 'Z'));
	put(&obj, arena, "MD5", attrs_get(list, 'C'));
	put(&obj, arena, "Last-Modification-Time",
	    first_of(attrs_get(list, 'L'), meta_of(list, META_MODIFIED), attrs_get(list, 'J')));
	put(&obj, arena, "Update-Time", attrs_get(list, 'D'));
	put_text(list, arena, text_max, &obj);
	*ret = obj;
}
