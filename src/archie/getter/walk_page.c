/* Parses index pages. Servers use different markup but agree on this: the title says that the page
 * is an index, each entry is a link, and its size and date, if any, stand between its link and the
 * next one. So the links are searched for in the text in turn, and the text after each is parsed. A
 * page without such a title is not taken for an index: the links of somebody's own page are not
 * names of files. */
#include "archie/getter/walk_page.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "soif/doc_attrs.h"

enum {
	NEAR = 4 << 10, /* how far on in the text the next link is looked for */
	WORDS = 12,     /* after a link that are looked at */
	TITLE_CUT = 900 /* a title may have been cut from here on */
};

void walk_name_encode(struct str name, struct buf *out)
{
	for (size_t i = 0; i < name.n; i++) {
		unsigned char c = (unsigned char)name.p[i];
		if (ascii_is_alnum((char)c) || (c && strchr("-._~", c)))
			buf_add_byte(out, (char)c);
		else
			buf_printf(out, "%%%02X", c);
	}
}

bool walk_name_decode(struct str part, struct arena *arena, struct str *ret)
{
	struct str name = str_unescape(part, arena_text(arena, part));
	if (name.n == 0 || str_is(name, ".") || str_is(name, ".."))
		return false;
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] == 0 || name.p[i] == '\n' || name.p[i] == '\r' || name.p[i] == '/')
			return false;
	*ret = name;
	return true;
}

/* Titles */

/* Letters and digits alone: titles have their blanks joined and odd bytes replaced. */
static bool is_alike(struct str title, struct str path)
{
	size_t i = 0, k = 0;
	for (;;) {
		while (i < title.n && !ascii_is_alnum(title.p[i]))
			i++;
		while (k < path.n && !ascii_is_alnum(path.p[k]))
			k++;
		if (i == title.n)
			return k == path.n || title.n >= TITLE_CUT;
		if (k == path.n || title.p[i++] != path.p[k++])
			return false;
	}
}

static struct str path_of(struct str url)
{
	struct str rest = str_from(url, str_find(url, STR("://")) + 3);
	return str_from(rest, str_find_byte(rest, '/'));
}

static bool is_index_title(struct str title, struct str url, struct arena *arena)
{
	if (str_starts(title, STR("Index of /")) ||
	    str_starts(title, STR("Directory listing for /")))
		return true;
	url = path_of(url);
	return title.n && title.p[0] == '/' &&
	       is_alike(title, str_unescape(url, arena_text(arena, url)));
}

static bool is_index(const struct attrs *attrs, struct str url, struct arena *arena)
{
	struct doc_meta meta;
	for (size_t i = 0; i < attrs->n; i++)
		if (attrs->a[i].name == 'M' && meta_parse(attrs->a[i].value, &meta) &&
		    meta.tag == META_TITLE)
			return is_index_title(meta.text, url, arena);
	return false;
}

/* Sizes and dates */

/* "17-Nov-2026", "2026-11-17" or "2026-Nov-17", as days since 1970. */
static bool date_parse(struct str word, int64_t *ret_days)
{
	struct str part[3], rest = word;
	uint64_t n[3] = {0};
	for (size_t i = 0; i < 3; i++) {
		if (str_cut(&rest, '-', &part[i]) != 0)
			return false;
		int month = i == 1 && part[i].n == 3 ? calendar_month(part[i]) : 0;
		if (month)
			n[i] = (uint64_t)month;
		else if (part[i].n > 4 || !str_u64(part[i], &n[i]))
			return false;
	}
	if (rest.p)
		return false;
	bool year_first = part[0].n == 4;
	if (!year_first && part[2].n != 4)
		return false;
	return calendar_day((int64_t)n[year_first ? 0 : 2], (int64_t)n[1],
			    (int64_t)n[year_first ? 2 : 0], ret_days);
}

/* "10:08" or "10:08:11", as seconds. */
static bool clock_parse(struct str word, int64_t *ret_s)
{
	struct str part;
	uint64_t n, s = 0;
	size_t parts = 0;
	while (str_cut(&word, ':', &part) == 0) {
		if (part.n != 2 || !str_u64(part, &n) || n > (parts ? 60 : 23) || ++parts > 3)
			return false;
		s = s * 60 + n;
	}
	*ret_s = (int64_t)(parts == 2 ? s * 60 : s);
	return parts >= 2;
}

/* "1234", "1.2K", "33M"; what is rounded there is as good as it gets. */
static bool size_parse(struct str word, int64_t *ret)
{
	static const char units[] = "KMGT";
	const char *unit = word.n ? strchr(units, ascii_upper(word.p[word.n - 1])) : NULL;
	uint64_t whole, tenths = 0;
	if (!word.n || !word.p[word.n - 1])
		return false;
	unsigned shift = unit && *unit ? 10 * (unsigned)(unit - units + 1) : 0;
	if (shift)
		word.n--;
	size_t dot = str_find_byte(word, '.');
	if (dot > 12 || !str_u64(str_head(word, dot), &whole) || whole >> (62 - shift))
		return false;
	if (dot < word.n &&
	    (!shift || word.n != dot + 2 || !str_u64(str_from(word, dot + 1), &tenths)))
		return false;
	*ret = (int64_t)((whole << shift) + (tenths << shift) / 10);
	return true;
}

/* What stands after a link. */
static void take_details(struct str text, int32_t tz_s, struct walk_entry *e)
{
	struct str word[WORDS];
	size_t n = 0;
	while (n < WORDS) {
		size_t from = 0, to;
		while (from < text.n && ascii_is_space(text.p[from]))
			from++;
		for (to = from; to < text.n && !ascii_is_space(text.p[to]); to++)
			;
		if (from == to)
			break;
		word[n++] = (struct str){text.p + from, to - from};
		text = str_from(text, to);
	}
	for (size_t i = 0; i + 1 < n; i++) {
		int64_t days, s;
		if (!date_parse(word[i], &days) || !clock_parse(word[i + 1], &s))
			continue;
		s += days * (US_PER_DAY / US_PER_S) - tz_s;
		e->time_s = s >= 0 ? s : -1;
		if (i + 2 < n && !e->folder && !size_parse(word[i + 2], &e->size))
			e->size = -1;
		return;
	}
}

/* Links */

TABLE(entries, struct str, size_t, hash64, str_eq)

struct page {
	struct arena *arena;
	struct str url, text; /* text: what was not passed yet */
	int32_t tz_s;
	struct walk_entry *list;
	size_t n, room;
	struct entries known;
	size_t last; /* the entry whose details come next; SIZE_MAX: none */
};

static struct str page_text(const struct attrs *attrs, struct arena *arena)
{
	size_t n = 0, at = 0;
	for (size_t i = 0; i < attrs->n; i++)
		n += attrs->a[i].name == 'X' ? attrs->a[i].value.n : 0;
	char *to = arena_alloc(arena, n + 1);
	for (size_t i = 0; i < attrs->n; i++)
		if (attrs->a[i].name == 'X') {
			memcpy(to + at, attrs->a[i].value.p, attrs->a[i].value.n);
			at += attrs->a[i].value.n;
		}
	return (struct str){to, n};
}

/* Up to here the text belongs to the entry before. */
static void end_last(struct page *p, size_t at)
{
	if (p->last != SIZE_MAX)
		take_details(str_head(p->text, at), p->tz_s, &p->list[p->last]);
	p->last = SIZE_MAX;
}

/* Goes on in the text, after that of this link. */
static void pass_link(struct page *p, struct str text)
{
	size_t at = text.n ? str_find(str_head(p->text, NEAR), text) : NEAR;
	if (at >= MIN(p->text.n, (size_t)NEAR))
		return;
	end_last(p, at);
	p->text = str_from(p->text, at + text.n);
}

/* A name right below the folder: "NAME" or "NAME/". */
static bool is_child(const struct page *p, struct str url, struct walk_entry *ret)
{
	if (!str_starts(url, p->url))
		return false;
	struct str part = str_from(url, p->url.n);
	*ret = (struct walk_entry){.url = url, .size = -1, .time_s = -1};
	if (str_ends(part, STR("/"))) {
		ret->folder = true;
		part.n--;
	}
	if (str_find_byte(part, '/') < part.n || str_find_byte(part, '?') < part.n ||
	    str_find_byte(part, '#') < part.n)
		return false;
	return walk_name_decode(part, p->arena, &ret->name);
}

static void take_link(struct page *p, const struct doc_link *link)
{
	struct walk_entry e;
	bool is_new;
	pass_link(p, link->text);
	if (!is_child(p, link->url, &e))
		return;
	e.url = arena_str(p->arena, e.url);
	size_t *at = entries_get(&p->known, e.name);
	is_new = !at;
	if (is_new) {
		*entries_put(&p->known, e.name) = p->n;
		*ARENA_PUSH(p->arena, p->list, p->n, p->room) = e;
	}
	if (link->text.n)
		p->last = is_new ? p->n - 1 : *at;
}

int walk_page_read(const struct attrs *attrs, struct str url, int32_t tz_s, struct arena *arena,
		   struct walk_entry **ret, size_t *ret_n)
{
	struct page p = {.arena = arena, .url = url, .tz_s = tz_s, .last = SIZE_MAX};
	struct doc_link link;
	if (!is_index(attrs, url, arena))
		return 1;
	p.text = page_text(attrs, arena);
	for (size_t i = 0; i < attrs->n; i++)
		if (attrs->a[i].name == 'R' && link_parse('R', attrs->a[i].value, &link) &&
		    link.kind == LINK_ANCHOR)
			take_link(&p, &link);
	end_last(&p, MIN(p.text.n, (size_t)NEAR));
	entries_free(&p.known);
	*ret = p.list;
	*ret_n = p.n;
	return 0;
}

/* Lines */

void walk_entry_print(const struct walk_entry *e, struct buf *out)
{
	buf_add_byte(out, '+');
	if (e->time_s >= 0)
		buf_printf(out, "m%lld,", (long long)e->time_s);
	if (e->size >= 0)
		buf_printf(out, "s%lld,", (long long)e->size);
	buf_add_text(out, e->folder ? "/,\t" : "r,\t");
	buf_add_str(out, e->name);
	buf_add_byte(out, '\n');
}

void walk_heading_print(struct str path, bool first, struct buf *out)
{
	if (!first)
		buf_add_byte(out, '\n');
	buf_add_byte(out, '.');
	if (path.n)
		buf_add_byte(out, '/');
	buf_add_str(out, path);
	buf_add_text(out, ":\n");
}
