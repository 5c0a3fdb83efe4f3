/* Links of pages. Most pages name the same URL several times, and a table that is made and cleared
 * for each of them would cost more than the links do: slots that carry the number of their page
 * need no clearing. */
#include "shepherd/reap/reaper_links.h"

#include "extract/out.h"

enum { LINKS_SLOTS = 1 << 12 }; /* a power of two */

struct reaper_links {
	uint64_t page; /* its number, from 1 on */
	struct {
		struct footprint fp;
		uint64_t page;
	} slot[LINKS_SLOTS];
};

struct reaper_links *reaper_links_new(void)
{
	return mem_alloc(sizeof(struct reaper_links));
}

void reaper_links_free(struct reaper_links **l)
{
	mem_free(l);
}

/* Whether it stands further up on the same page. */
static bool links_has(struct reaper_links *l, struct footprint fp)
{
	size_t at = (fp.site ^ fp.path) & (LINKS_SLOTS - 1);
	if (l->slot[at].page == l->page && footprint_cmp(l->slot[at].fp, fp) == 0)
		return true;
	l->slot[at].fp = fp;
	l->slot[at].page = l->page;
	return false;
}

/* Rooms for one URL. */
struct canon_room {
	char parsed[URL_MAX], strict[URL_STRICT_MAX + 1];
};

/* In strict canonical form, somewhere in the room. false: not one that is fetched. */
static bool link_canon(struct str text, struct canon_room *room, struct reaper_link *ret)
{
	struct url url, canon;
	if (url_parse(text, NULL, room->parsed, sizeof room->parsed, &url) != 0 ||
	    url.protocol == URL_FTP ||
	    url_canon(&url, true, room->strict, sizeof room->strict, &canon) != 0 ||
	    url_loops(url_target(&canon), NULL))
		return false;
	*ret = (struct reaper_link){.url = canon.href, .fp = footprint_of(&canon)};
	return true;
}

bool reaper_link_of(struct str text, struct arena *arena, struct reaper_link *ret)
{
	struct canon_room room;
	if (!link_canon(text, &room, ret))
		return false;
	ret->url = arena_str(arena, ret->url);
	return true;
}

size_t reaper_links_of(struct reaper_links *l, const struct attrs *body, struct footprint fp,
		       struct arena *arena, const struct reaper_link **ret)
{
	struct canon_room room;
	struct reaper_link *list = NULL, link;
	size_t n = 0, list_room = 0;
	l->page++;
	for (size_t i = 0; i < body->n; i++) {
		char name = body->a[i].name;
		struct doc_link found;
		if ((name != 'R' && name != 'F') || !link_parse(name, body->a[i].value, &found) ||
		    found.flags || !link_canon(found.url, &room, &link) || links_has(l, link.fp) ||
		    footprint_cmp(link.fp, fp) == 0)
			continue;
		link.url = arena_str(arena, link.url);
		*ARENA_PUSH(arena, list, n, list_room) = link;
	}
	*ret = list;
	return n;
}

void reaper_raw_body(struct str type, struct str bytes, struct arena *arena, struct attrs *ret)
{
	attrs_add(ret, arena, 'T', type);
	while (bytes.n) {
		size_t n = MIN(bytes.n, (size_t)OUT_VALUE_MAX);
		attrs_add(ret, arena, 'X', str_head(bytes, n));
		bytes = str_from(bytes, n);
	}
}

static bool list_has_word(struct str list, const char *word)
{
	struct str item;
	while (list.p && str_cut(&list, ',', &item) == 0)
		if (str_is(item, word))
			return true;
	return false;
}

void reaper_directives(const struct attrs *body, bool *ret_noindex, bool *ret_nofollow)
{
	*ret_noindex = *ret_nofollow = false;
	for (size_t i = 0; i < body->n; i++) {
		struct doc_meta meta;
		if (body->a[i].name != 'M' || !meta_parse(body->a[i].value, &meta) ||
		    meta.tag != META_ROBOTS)
			continue;
		*ret_noindex |= list_has_word(meta.text, "noindex");
		*ret_nofollow |= list_has_word(meta.text, "nofollow");
	}
}
