/* Hits while they are collected. Files come in groups, those whose names fold to the same, and of a
 * group by site and line: that is the order of an answer without a sort. In this order mirrors are
 * folded, then names and files of each name are counted against their limits; what is left is
 * sorted, and of that the first `offset` are left out and maxhits are kept.
 *
 * With a sort and a limit there is a heap of just so many, the worst on top, and a name is copied
 * only once it is in. */
#include "index/names/names_exec.h"

#include "base/hash.h"

#include <stdlib.h>

void names_collect_open(struct names_collect *c, const struct names_query *q,
			struct names_reader *r, struct arena *arena, struct arena *scratch)
{
	uint64_t need = UINT64_MAX;
	if (q->maxhits && __builtin_add_overflow(q->maxhits, q->offset, &need))
		need = UINT64_MAX;
	*c = (struct names_collect){.q = q,
				    .r = r,
				    .arena = arena,
				    .scratch = scratch,
				    .need = need,
				    .path = BUF_INIT(SIZE_MAX / 2)};
}

void names_collect_close(struct names_collect *c)
{
	mem_free(&c->record);
	mem_free(&c->found);
	mem_free(&c->form);
	buf_free(&c->path);
}

static bool is_sorted(const struct names_collect *c)
{
	return c->q->sort != NAMES_BY_NOTHING;
}

bool names_collect_full(const struct names_collect *c)
{
	return (!is_sorted(c) && c->taken >= c->need) ||
	       (c->q->maxmatch && c->names >= c->q->maxmatch);
}

uint64_t names_collect_want(const struct names_collect *c)
{
	uint64_t want = is_sorted(c) ? UINT64_MAX : c->need - c->taken;
	if (c->q->mirrors)
		return UINT64_MAX;
	return c->q->maxhitspm ? MIN(want, c->q->maxhitspm) : want;
}

/* Groups */

uint32_t names_collect_form(struct names_collect *c, struct str name)
{
	for (size_t i = 0; i < c->forms; i++)
		if (str_eq(c->form[i].name, name))
			return (uint32_t)i;
	*VEC_PUSH(c->form, c->forms, c->forms_room) = (struct names_group_form){.name = name};
	return (uint32_t)(c->forms - 1);
}

void names_collect_add(struct names_collect *c, struct names_found f)
{
	*VEC_PUSH(c->found, c->founds, c->founds_room) = f;
}

static int compare_found(const void *a, const void *b)
{
	const struct names_found *x = a, *y = b;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

/* Files of the same name and size become one; a size that is not told is no file's own. */
static void fold_mirrors(struct names_collect *c)
{
	size_t slots = 16, kept = 0;
	while (slots < c->founds * 2)
		slots *= 2;
	uint32_t *slot = mem_array(slots, sizeof *slot); /* 1 + where it is */
	for (size_t i = 0; i < c->founds; i++) {
		struct names_found f = c->found[i];
		uint64_t key[2] = {f.form, (uint64_t)f.size};
		size_t at = hash64((struct str){(const char *)key, sizeof key}) & (slots - 1);
		const struct names_found *have = NULL;
		for (; f.size >= 0 && slot[at]; at = (at + 1) & (slots - 1)) {
			have = &c->found[slot[at] - 1];
			if (have->form == f.form && have->size == f.size)
				break;
		}
		if (f.size >= 0 && slot[at]) {
			c->found[slot[at] - 1].mirrors++;
			continue;
		}
		c->found[kept++] = f;
		if (f.size >= 0)
			slot[at] = (uint32_t)kept;
	}
	c->founds = kept;
	mem_free(&slot);
}

/* Sorting */

static struct str record_path(struct names_collect *c, struct str dir, struct str name)
{
	buf_clear(&c->path);
	buf_add_str(&c->path, dir);
	if (dir.n)
		buf_add_byte(&c->path, '/');
	buf_add_str(&c->path, name);
	return buf_str(&c->path);
}

/* What it is sorted by. */
static int fill_keys(struct names_collect *c, struct names_record *rec, struct err *err)
{
	struct names_entry e;
	struct str dir;
	uint64_t number;
	if (c->q->sort == NAMES_BY_NAME)
		return 0;
	if (names_parts_data(c->r->parts[rec->site], rec->line, &e, &number, err) < 0)
		return -1;
	rec->key = c->q->sort == NAMES_BY_SIZE ? e.size : e.time_s;
	if (c->q->sort != NAMES_BY_HOST)
		return 0;
	struct arena_mark mark = arena_mark(c->scratch);
	if (names_parts_dir(c->r->parts[rec->site], number, c->scratch, &dir, err) < 0)
		return -1;
	rec->path = record_path(c, dir, rec->name);
	arena_reset(c->scratch, mark);
	return 0;
}

/* Negative: a comes first. */
static int compare_records(const struct names_collect *c, const struct names_record *a,
			   const struct names_record *b)
{
	int order = 0;
	switch (c->q->sort) {
	case NAMES_BY_NAME:
		order = str_cmp(a->name, b->name);
		break;
	case NAMES_BY_HOST:
		order = str_cmp(c->r->site[a->site].host, c->r->site[b->site].host);
		order = order ? order : str_cmp(a->path, b->path);
		break;
	case NAMES_BY_SIZE:
	case NAMES_BY_TIME:
		order = a->key > b->key ? -1 : a->key < b->key;
		break;
	default:
		break;
	}
	order = c->q->reverse ? -order : order;
	return order ? order : a->number < b->number ? -1 : a->number > b->number;
}

static void sift_down(struct names_collect *c, size_t i, size_t n)
{
	struct names_record *h = c->record, rec = h[i];
	for (size_t kid; (kid = 2 * i + 1) < n; i = kid) {
		if (kid + 1 < n && compare_records(c, &h[kid], &h[kid + 1]) < 0)
			kid++;
		if (compare_records(c, &h[kid], &rec) <= 0)
			break;
		h[i] = h[kid];
	}
	h[i] = rec;
}

static void sift_up(struct names_collect *c, size_t i)
{
	struct names_record *h = c->record, rec = h[i];
	for (; i > 0 && compare_records(c, &rec, &h[(i - 1) / 2]) > 0; i = (i - 1) / 2)
		h[i] = h[(i - 1) / 2];
	h[i] = rec;
}

/* A hit. Its name is copied once for each of its files that stay. */
static int take_record(struct names_collect *c, struct names_record rec, struct err *err)
{
	rec.number = c->taken++;
	if (!is_sorted(c)) {
		if (rec.number >= c->need)
			return 0;
		/* files of one name follow each other */
		struct str last = c->records ? c->record[c->records - 1].name : STR("");
		rec.name = str_eq(last, rec.name) ? last : arena_str(c->arena, rec.name);
		*VEC_PUSH(c->record, c->records, c->records_room) = rec;
		return 0;
	}
	if (fill_keys(c, &rec, err) < 0)
		return names_collect_lose(c, rec.site, err) ? 0 : -1;
	bool full = c->records >= c->need;
	if (full && compare_records(c, &rec, &c->record[0]) >= 0)
		return 0;
	rec.name = arena_str(c->arena, rec.name);
	if (rec.path.p)
		rec.path = arena_str(c->arena, rec.path);
	if (full) {
		c->record[0] = rec;
		sift_down(c, 0, c->records);
	} else {
		*VEC_PUSH(c->record, c->records, c->records_room) = rec;
		sift_up(c, c->records - 1);
	}
	return 0;
}

static int take_found(struct names_collect *c, const struct names_found *f, struct err *err)
{
	struct names_group_form *form = &c->form[f->form];
	if (!form->counted) {
		if (c->q->maxmatch && c->names >= c->q->maxmatch)
			return 0;
		form->counted = true;
		c->names++;
	}
	if (c->q->maxhitspm && form->taken >= c->q->maxhitspm)
		return 0;
	form->taken++;
	return take_record(c,
			   (struct names_record){.site = f->site,
						 .line = f->line,
						 .mirrors = f->mirrors,
						 .name = form->name},
			   err);
}

int names_collect_group(struct names_collect *c, bool ordered, struct err *err)
{
	int rc = 0;
	if (!ordered && c->founds > 1)
		qsort(c->found, c->founds, sizeof *c->found, compare_found);
	if (c->q->mirrors)
		fold_mirrors(c);
	for (size_t i = 0; i < c->founds && rc == 0; i++)
		rc = take_found(c, &c->found[i], err);
	c->founds = c->forms = 0;
	return rc;
}

/* What is damaged */

bool names_collect_lose(struct names_collect *c, uint32_t site, const struct err *err)
{
	struct str key = c->r->site[site].key;
	if (err->code != ERR_DAMAGED)
		return false;
	if (c->losts && str_eq(c->lost[c->losts - 1].key, key))
		return true;
	for (size_t i = 0; i < c->losts; i++)
		if (str_eq(c->lost[i].key, key))
			return true;
	struct names_lost *lost = arena_array(c->arena, c->losts + 1, sizeof *lost);
	if (c->losts)
		memcpy(lost, c->lost, c->losts * sizeof *lost);
	lost[c->losts++] =
		(struct names_lost){.key = key, .why = arena_str(c->arena, str_of(err->msg))};
	c->lost = lost;
	return true;
}

/* What the snapshot lacks, and what was met on the way. */
static void tell_problem(struct names_collect *c, struct names_hits *ret)
{
	const struct names_reader *r = c->r;
	ret->problem = r->problem;
	ret->lost = r->lost;
	ret->losts = r->losts;
	if (c->why || c->losts) {
		struct names_lost *all = arena_array(c->arena, r->losts + c->losts, sizeof *all);
		for (size_t i = 0; i < r->losts; i++)
			all[i] = r->lost[i];
		for (size_t i = 0; i < c->losts; i++)
			all[r->losts + i] = c->lost[i];
		ret->lost = all;
		ret->losts = r->losts + c->losts;
		ret->problem =
			names_problem_words(c->arena, c->why ? c->why : r->why, all, ret->losts);
	}
	ret->exact &= ret->losts == 0;
}

/* The end */

static int fill_hit(struct names_collect *c, const struct names_record *rec, struct names_hit *ret,
		    struct err *err)
{
	uint64_t number;
	*ret = (struct names_hit){.site = rec->site, .line = rec->line, .mirrors = rec->mirrors};
	if (!c->q->no_files &&
	    (names_parts_data(c->r->parts[rec->site], rec->line, &ret->file, &number, err) < 0 ||
	     names_parts_dir(c->r->parts[rec->site], number, c->arena, &ret->file.dir, err) < 0))
		return -1;
	ret->file.name = rec->name;
	return 0;
}

int names_collect_end(struct names_collect *c, struct names_hits *ret, struct err *err)
{
	/* the heap becomes the list, the best first */
	for (size_t n = c->records; is_sorted(c) && n > 1; n--) {
		struct names_record worst = c->record[0];
		c->record[0] = c->record[n - 1];
		sift_down(c, 0, n - 1);
		c->record[n - 1] = worst;
	}
	size_t from = (size_t)MIN(c->q->offset, (uint64_t)c->records);
	ret->hit = arena_array(c->arena, c->records - from, sizeof *ret->hit);
	for (size_t i = from; i < c->records; i++)
		if (fill_hit(c, &c->record[i], &ret->hit[ret->n], err) == 0)
			ret->n++;
		else if (!names_collect_lose(c, c->record[i].site, err))
			return -1;
	tell_problem(c, ret);
	return 0;
}
