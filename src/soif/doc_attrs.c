/* Both directions of each form stand here, so that what extraction writes is what the others read.
 */
#include "soif/doc_attrs.h"

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
