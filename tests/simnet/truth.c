/* What is really there: what a test holds a crawl's result against. */
#include "base/jsonw.h"
#include "simnet/sim.h"

/* What a good client gets for it, now: 0 where it gets no answer. */
static int status_of(const struct world *w, uint32_t host, const struct page *p, int64_t now_s)
{
	switch (w->profile[host]) {
	case PROFILE_MOVED:
		return 301;
	case PROFILE_BROKEN:
		return 500;
	case PROFILE_BUSY:
		return world_is_busy(w, host, now_s) ? 503 : p->status;
	default:
		return world_profiles[w->profile[host]].good ? p->status : 0;
	}
}

/* Its own path, and for a redirect each hop and the end, may be fetched. */
static bool allowed(const struct world *w, uint32_t host, const struct page *p)
{
	char room[64];
	struct buf path = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	page_path(p, &path);
	return world_allows(w, host, buf_str(&path));
}

bool truth_findable(const struct sim *s, uint32_t host, const struct page *p, int64_t now_s)
{
	bool text = p->kind == PAGE_HTML || p->kind == PAGE_TEXT || p->kind == PAGE_DOWN;
	return text && !p->noindex && status_of(&s->world, host, p, now_s) == 200 &&
	       allowed(&s->world, host, p);
}

static void put_target(const struct world *w, uint32_t host, const struct page *p, struct jsonw *j)
{
	char room[256];
	struct buf url = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	if (p->kind == PAGE_AWAY) {
		world_site(w, p->target, &url);
		buf_add_byte(&url, '/');
	} else if (p->kind == PAGE_REDIRECT) {
		struct page target;
		world_page(w, p->host, p->target, 0, &target);
		world_site(w, host, &url);
		page_path(&target, &url);
	} else {
		return;
	}
	jsonw_put_str(j, "to", buf_str(&url));
	jsonw_put_uint(j, "hops", p->kind == PAGE_AWAY ? 1 : p->hops);
}

static void put_words(const struct page *p, struct jsonw *j)
{
	char word[WORD_MAX], room[128];
	struct buf title = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	page_word(p, word);
	jsonw_put_text(j, "word", word);
	page_version_word(p, word);
	jsonw_put_text(j, "version_word", word);
	page_accent_word(p, word);
	jsonw_put_text(j, "accent_word", word);
	page_title(p, &title);
	if (p->kind != PAGE_TEXT)
		jsonw_put_str(j, "title", buf_str(&title));
	jsonw_put_uint(j, "version", p->version);
	jsonw_put_int(j, "changed", p->changed_s);
}

void truth_page(const struct sim *s, uint32_t host, uint32_t number, int64_t now_s, struct buf *out)
{
	const struct world *w = &s->world;
	struct jsonw j = JSONW_INIT(out);
	char room[256];
	struct buf url = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	struct page p;
	world_page(w, world_content(w, host), number, now_s, &p);
	world_site(w, host, &url);
	page_path(&p, &url);
	jsonw_object(&j);
	jsonw_put_str(&j, "url", buf_str(&url));
	jsonw_put_int(&j, "status", status_of(w, host, &p, now_s));
	jsonw_put_text(&j, "kind", page_kind_names[p.kind]);
	jsonw_put_text(&j, "profile", world_profiles[w->profile[host]].name);
	jsonw_put_text(&j, "robots", world_robots[w->robots[host]].name);
	jsonw_put_bool(&j, "allowed", allowed(w, host, &p));
	jsonw_put_bool(&j, "noindex", p.noindex);
	jsonw_put_bool(&j, "findable", truth_findable(s, host, &p, now_s));
	if (p.kind == PAGE_HTML || p.kind == PAGE_TEXT || p.kind == PAGE_DOWN)
		put_words(&p, &j);
	put_target(w, host, &p, &j);
	if (p.host != host)
		jsonw_put_uint(&j, "mirror_of", p.host);
	jsonw_object_end(&j);
	buf_add_byte(out, '\n');
}
