/* What each page is, and when. */
#include "simnet/world.h"

#include <math.h>
#include <stdio.h>

enum { DAY_S = 86400, MINUTE_S = 60 };

static const struct {
	const char *folder, *ending;
	unsigned weight;
} kinds[NPAGES] = {
#define X(symbol, name, where, suffix, heavy) \
	[PAGE_##symbol] = {.folder = where, .ending = suffix, .weight = heavy},
	PAGE_KINDS(X)
#undef X
};

const char *const page_kind_names[NPAGES] = {
#define X(symbol, name, folder, ending, weight) [PAGE_##symbol] = name,
	PAGE_KINDS(X)
#undef X
};

/* Dice of one page for one purpose: independent of each other. */
enum purpose { OF_KEY, OF_KIND, OF_LIFE, OF_CHANGE, OF_SIZE, OF_FORM };

static uint64_t roll(const struct world *w, uint32_t host, uint32_t number, enum purpose purpose)
{
	uint64_t page = (uint64_t)host << 32 | number;
	return dice_of(dice_of((uint64_t)w->conf.seed, page), purpose);
}

static double unit(uint64_t dice)
{
	return ((double)(dice >> 11) + 1) / 9007199254740993.0; /* in (0, 1] */
}

static bool percent(uint64_t dice, int64_t of)
{
	return (int64_t)(dice % 100) < of;
}

bool world_is_inner(const struct world *w, uint32_t number)
{
	return number < w->inner_pages;
}

int64_t world_born_s(const struct world *w, uint32_t host, uint32_t number)
{
	uint64_t life = roll(w, host, number, OF_LIFE);
	if (world_is_inner(w, number) || !percent(life, w->conf.appear_percent))
		return w->conf.epoch_s;
	return w->conf.epoch_s + 1 + (int64_t)(life / 100 % (30 * DAY_S));
}

static enum page_kind kind_of(const struct world *w, uint64_t dice)
{
	unsigned sum = 0;
	if (!percent(dice, w->conf.odd_percent))
		return PAGE_HTML;
	dice /= 100;
	for (size_t i = 0; i < NPAGES; i++)
		sum += kinds[i].weight;
	dice %= sum;
	for (size_t i = 0; i < NPAGES; i++) {
		if (dice < kinds[i].weight)
			return (enum page_kind)i;
		dice -= kinds[i].weight;
	}
	return PAGE_HTML;
}

static size_t size_of(const struct world *w, uint64_t dice)
{
	const double steep = 1.3;
	double mean = (double)w->conf.page_size;
	if (w->conf.same_size)
		return (size_t)mean;
	double size = mean * (steep - 1) / steep * pow(unit(dice), -1 / steep);
	return (size_t)MIN(size, MIN(mean * 256, 1048576.0));
}

static void live(const struct world *w, struct page *p)
{
	uint64_t life = roll(w, p->host, p->number, OF_LIFE);
	p->born_s = world_born_s(w, p->host, p->number);
	p->dies_s = INT64_MAX;
	p->gone_status = life >> 60 & 1 ? 404 : 410;
	if (!world_is_inner(w, p->number) && percent(life >> 32, w->conf.vanish_percent))
		p->dies_s = p->born_s + 1 + (int64_t)(life % (60 * DAY_S));
}

/* It changes at its own rate; an inner page also when a kid appears, because it then links to it.
 */
static void change(const struct world *w, struct page *p, int64_t now_s)
{
	uint64_t dice = roll(w, p->host, p->number, OF_CHANGE);
	p->version = 0;
	p->changed_s = p->born_s;
	if (percent(dice, w->conf.change_percent)) {
		int64_t period_s = (int64_t)(3600 * pow(90 * 24, unit(dice * 31)));
		int64_t first_s = p->born_s + MINUTE_S + (int64_t)((dice >> 8) % period_s);
		if (now_s >= first_s) {
			p->version = (uint64_t)((now_s - first_s) / period_s) + 1;
			p->changed_s = first_s + (int64_t)(p->version - 1) * period_s;
		}
	}
	uint64_t kid = (uint64_t)p->number * WORLD_FANOUT + 1;
	for (uint64_t end = kid + WORLD_FANOUT; kid < end && kid < (uint64_t)w->conf.pages; kid++) {
		int64_t born_s = world_born_s(w, p->host, (uint32_t)kid);
		if (born_s <= now_s && born_s > w->conf.epoch_s) {
			p->version++;
			p->changed_s = MAX(p->changed_s, born_s);
		}
	}
}

static int status_of(const struct page *p, int64_t now_s)
{
	static const int redirects[] = {301, 302, 303, 307, 308};
	if (now_s < p->born_s)
		return 404;
	if (now_s >= p->dies_s)
		return p->gone_status;
	switch (p->kind) {
	case PAGE_REDIRECT:
	case PAGE_LOOP:
	case PAGE_AWAY:
		return redirects[p->key % ARRAY_LEN(redirects)];
	case PAGE_BROKEN:
		return 500;
	case PAGE_DOWN: /* every second half day */
		return (now_s / (DAY_S / 2) + (int64_t)(p->key & 1)) % 2 ? 503 : 200;
	default:
		return 200;
	}
}

void world_page(const struct world *w, uint32_t host, uint32_t number, int64_t now_s,
		struct page *ret)
{
	uint64_t kind = roll(w, host, number, OF_KIND), form = roll(w, host, number, OF_FORM);
	bool inner = world_is_inner(w, number);
	struct page p = {.host = host, .number = number, .key = roll(w, host, number, OF_KEY)};
	p.kind = inner ? PAGE_HTML : kind_of(w, kind);
	p.hidden = !inner && (kind >> 40) % 8 == 0;
	p.noindex = !inner && p.kind == PAGE_HTML && !p.hidden && (kind >> 48) % 50 == 0;
	p.charset = (enum page_charset)((form & 15) < 3 ? 1 + (form & 15) : 0);
	p.framing = (form >> 8) % 20 == 0  ? FRAMING_CLOSE
		    : (form >> 8) % 5 == 1 ? FRAMING_CHUNKED
					   : FRAMING_LENGTH;
	p.gzip = p.kind != PAGE_BINARY && percent(form >> 16, w->conf.gzip_percent);
	p.etag = (form >> 24) % 4 != 0;
	p.dated = (form >> 26) % 4 != 0;
	p.weak = (form >> 28) % 8 == 0;
	p.hops = 1 + (unsigned)(p.key >> 8) % 4;
	p.target =
		(uint32_t)((p.key >> 16) % (p.kind == PAGE_AWAY ? w->inner_hosts : w->inner_pages));
	p.size = size_of(w, roll(w, host, number, OF_SIZE));
	live(w, &p);
	change(w, &p, now_s);
	p.status = status_of(&p, now_s);
	*ret = p;
}

void page_path(const struct page *p, struct buf *out)
{
	if (p->number == 0)
		buf_add_byte(out, '/');
	else
		buf_printf(out, "%s%s%u%s", p->hidden ? "/private" : "", kinds[p->kind].folder,
			   p->number, kinds[p->kind].ending);
}

/* The number in "/p/17.html", "/private/r/9/2": between the folder and what is no digit. */
static bool number_of(struct str path, uint32_t *ret)
{
	uint64_t number;
	size_t n = 0;
	if (str_starts(path, STR("/private/")))
		path = str_from(path, sizeof "/private" - 1);
	path = str_from(path, 3);
	while (n < path.n && path.p[n] >= '0' && path.p[n] <= '9')
		n++;
	if (!str_u64(str_head(path, n), &number) || number >= WORLD_PAGES_MAX)
		return false;
	*ret = (uint32_t)number;
	return true;
}

int world_find(const struct world *w, uint32_t host, struct str path, int64_t now_s,
	       struct page *ret, unsigned *ret_hop)
{
	char room[64];
	struct buf own = {.p = room, .cap = sizeof room, .max = sizeof room - 1};
	uint32_t number = 0;
	uint64_t hop = 0;
	struct page p;
	bool root = str_is(path, "/");
	if (!root && (!number_of(path, &number) || number == 0 || number >= w->conf.pages))
		return 1;
	world_page(w, host, number, now_s, &p);
	page_path(&p, &own);
	if (!str_starts(path, buf_str(&own)))
		return 1;
	path = str_from(path, own.n);
	if (path.n) {
		unsigned last = p.kind == PAGE_LOOP ? p.hops : p.hops - 1;
		bool hops = p.kind == PAGE_REDIRECT || p.kind == PAGE_LOOP;
		if (!hops || path.n < 2 || path.p[0] != '/' || path.p[1] == '0' ||
		    !str_u64(str_from(path, 1), &hop) || hop > last)
			return 1;
	}
	*ret = p;
	*ret_hop = (unsigned)hop;
	return 0;
}
