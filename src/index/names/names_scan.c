/* Names without an index: every line of the parts is looked at, and what matches is put into the
 * order that the index would give. A part is first looked for in the bytes as they lie in the file,
 * many lines at once. For one without regard to case that is nocaseindex, which folds ASCII alone;
 * but a few other characters fold to ASCII, so what it has instead of them is not looked for
 * there. */
#include "index/names/names_exec.h"

#include <stdlib.h>

enum { SLACK = 4096 };

struct scanned {
	struct str folded, name;
	uint32_t site;
	uint64_t line;
	int64_t size;
};

struct scanning {
	struct names_reader *r;
	struct names_match *m;
	struct names_limit *limit;
	struct names_collect *collect;
	struct names_clock *clock;
	enum names_part part;
	struct buf needle; /* of every line that can match; empty: any can */
	struct buf folded;
	struct arena kept, scratch;
	struct scanned *found;
	size_t n, room;
	uint64_t total;
	uint64_t most; /* files that are kept; UINT64_MAX: all */
	bool cut;      /* there are `most` of them, in order, and others were dropped */
};

/* The kelvin sign folds to k, the long s to s, and by some rules an i with or without its dot. */
static bool has_other_sources(char c)
{
	return c == 'k' || c == 's' || c == 'i';
}

static void choose_needle(struct scanning *s)
{
	const struct names_match *m = s->m;
	struct str text = m->how == NAMES_HOW_EXACT && m->path ? m->tail : m->text, best = STR("");
	s->part = NAMES_INDEX;
	if (m->how == NAMES_HOW_RX || (m->path && m->how != NAMES_HOW_EXACT))
		return;
	if (m->how == NAMES_HOW_SUB) {
		for (size_t i = 0, from = 0; i <= text.n; i++) {
			if (i < text.n && !(text.p[i] & 0x80) && !has_other_sources(text.p[i]))
				continue;
			if (i - from > best.n)
				best = (struct str){text.p + from, i - from};
			from = i + 1;
		}
		text = best;
		s->part = text.n ? NAMES_NOCASE : NAMES_INDEX;
	}
	if (text.n)
		names_escape(text, &s->needle);
}

static int compare_scanned(const void *a, const void *b)
{
	const struct scanned *x = a, *y = b;
	int order = str_cmp(x->folded, y->folded);
	if (order)
		return order;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

static void sort_found(struct scanning *s)
{
	if (s->n > 1)
		qsort(s->found, s->n, sizeof *s->found, compare_scanned);
	if (s->n > s->most) {
		s->n = (size_t)s->most;
		s->cut = true;
	}
}

static void keep_file(struct scanning *s, struct scanned f)
{
	names_fold(f.name, &s->folded);
	f.folded = buf_str(&s->folded);
	if (s->cut && compare_scanned(&f, &s->found[s->most - 1]) >= 0)
		return;
	f.folded = arena_str(&s->kept, f.folded);
	f.name = arena_str(&s->kept, f.name);
	*VEC_PUSH(s->found, s->n, s->room) = f;
	if (s->most < SIZE_MAX / 4 && s->n > 2 * s->most + SLACK)
		sort_found(s);
}

static int look_at_line(struct scanning *s, uint32_t site, uint64_t line, struct str raw,
			struct err *err)
{
	struct scanned f = {.site = site, .line = line, .size = -1};
	int rc = 0;
	arena_clear(&s->scratch);
	if (s->part == NAMES_INDEX)
		f.name = names_unescape(raw, &s->scratch);
	else
		rc = names_parts_name(s->r->parts[site], line, &s->scratch, &f.name, err);
	if (rc < 0)
		return -1;
	if (!s->m->path && !names_match_name(s->m, f.name))
		return 0;
	rc = names_limit_file(s->limit, site, line, f.name, names_limit_name(s->limit, f.name),
			      s->collect->q->mirrors ? &f.size : NULL, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	s->total++;
	keep_file(s, f);
	return 0;
}

static uint64_t count_lines(const char *p, const char *end)
{
	uint64_t n = 0;
	for (; p < end; p++)
		n += *p == '\n';
	return n;
}

static int look_at_text(struct scanning *s, uint32_t site, uint64_t line, struct str text,
			struct err *err)
{
	struct str needle = buf_str(&s->needle);
	const char *p = text.p, *end = text.p + text.n;
	while (p < end && !names_late(s->clock, 1)) {
		if (needle.n) {
			const char *hit = memmem(p, (size_t)(end - p), needle.p, needle.n);
			if (!hit)
				return 0;
			const char *begin = hit;
			while (begin > p && begin[-1] != '\n')
				begin--;
			line += count_lines(p, begin);
			p = begin;
		}
		const char *stop = memchr(p, '\n', (size_t)(end - p));
		stop = stop ? stop : end;
		if (look_at_line(s, site, line++, str_range(p, stop), err) < 0)
			return -1;
		p = stop + 1;
	}
	return 0;
}

static int scan_site(struct scanning *s, uint32_t site, struct err *err)
{
	uint64_t line = 0, lines;
	struct str text;
	int rc;
	while ((rc = names_parts_scan(s->r->parts[site], s->part, line, &text, &lines, err)) == 0) {
		if (look_at_text(s, site, line, text, err) < 0)
			return -1;
		if (s->clock->late)
			return 0;
		line += lines;
		/* a MiB of text takes some time even if nothing is in it */
		if (names_clock_look(s->clock))
			return 0;
	}
	return rc < 0 ? -1 : 0;
}

/* Groups of names that fold to the same, as the index gives them. */
static int deliver_found(struct scanning *s, struct err *err)
{
	for (size_t i = 0, to; i < s->n && !names_collect_full(s->collect); i = to) {
		for (to = i; to < s->n && str_eq(s->found[to].folded, s->found[i].folded); to++) {
			const struct scanned *f = &s->found[to];
			names_collect_add(s->collect,
					  (struct names_found){
						  .site = f->site,
						  .line = f->line,
						  .size = f->size,
						  .form = names_collect_form(s->collect, f->name)});
		}
		if (names_collect_group(s->collect, true, err) < 0)
			return -1;
	}
	return 0;
}

int names_scan(struct names_reader *r, struct names_match *m, struct names_limit *limit,
	       struct names_collect *collect, struct names_clock *clock, struct names_hits *ret,
	       struct err *err)
{
	const struct names_query *q = collect->q;
	struct scanning s = {.r = r,
			     .m = m,
			     .limit = limit,
			     .collect = collect,
			     .clock = clock,
			     .needle = BUF_INIT(SIZE_MAX / 2),
			     .folded = BUF_INIT(SIZE_MAX / 2),
			     .kept = ARENA_INIT(SIZE_MAX),
			     .scratch = ARENA_INIT(SIZE_MAX),
			     .most = UINT64_MAX};
	int rc = 0;
	if (q->sort == NAMES_BY_NOTHING && !q->mirrors && !q->maxmatch && !q->maxhitspm)
		s.most = MAX(collect->need, 1u);
	choose_needle(&s);
	for (size_t i = 0; i < r->sites && rc == 0 && !clock->late; i++)
		if (m->how != NAMES_HOW_NOTHING && (!limit->sites || limit->site[i]))
			rc = scan_site(&s, (uint32_t)i, err) < 0 &&
					     !names_collect_lose(collect, (uint32_t)i, err)
				     ? -1
				     : 0;
	sort_found(&s);
	if (rc == 0)
		rc = deliver_found(&s, err);
	ret->total = s.total;
	ret->cut = clock->late;
	ret->exact = !clock->late;
	mem_free(&s.found);
	buf_free(&s.needle);
	buf_free(&s.folded);
	arena_free(&s.kept);
	arena_free(&s.scratch);
	return rc;
}
