/* Queries for names. Each layer of the snapshot gives the names that match in the order of their
 * folded bytes, and these streams are merged: names that fold to the same are one group, whose
 * files are ordered by site and line over all layers. With one layer, as most of the time, there is
 * nothing to merge. A query that wants the first hits ends with the group that completes them. */
#include "index/names/names_exec.h"

enum { ENTRIES = 128 };

struct stream {
	const struct names_layer *layer;
	struct names_cand *cand;
	struct names_walk walk;
	bool sure;    /* every candidate matches */
	bool ordered; /* its entries are by site and line */
	bool open;    /* every entry counts: none is hidden, and sites are not limited */
	bool begun, done, in_group;
	uint32_t next; /* the first candidate that was not looked at */
};

struct asking {
	struct names_reader *r;
	const struct names_query *q;
	struct arena *arena;
	struct arena plan;    /* what lasts as long as the query */
	struct arena scratch; /* as long as a group */
	struct names_clock clock;
	struct names_match match;
	struct names_limit limit;
	struct names_collect collect;
	struct stream *stream;
	size_t streams;
	bool plain;   /* no limit asks for more than the site of a file */
	bool counts;  /* files of open streams can be counted by names_count() */
	bool partial; /* not all files of a name were looked at */
	uint64_t total;
};

const char *const names_type_words[NAMES_TYPES + 1] = {
	[NAMES_EXACT] = "exact",
	[NAMES_SUB] = "sub",
	[NAMES_SUBCASE] = "subcase",
	[NAMES_REGEX] = "regex",
	[NAMES_EXACT_SUB] = "exact_sub",
	[NAMES_EXACT_SUBCASE] = "exact_subcase",
	[NAMES_EXACT_REGEX] = "exact_regex",
	[NAMES_WHATIS] = "whatis",
};

/* Streams */

static void look_at_spans(const struct asking *a, struct stream *s)
{
	const struct names_layer *layer = s->layer;
	uint32_t last = 0;
	bool any = false;
	s->ordered = true;
	for (size_t i = 0; i < layer->spans; i++) {
		uint32_t site = layer->span[i].site;
		if (site == UINT32_MAX)
			continue;
		s->ordered &= !any || site > last;
		last = site;
		any = true;
	}
	s->open = layer->hidden == 0 && !a->limit.sites;
}

static int open_streams(struct asking *a, struct err *err)
{
	bool all = a->q->count || a->q->sort != NAMES_BY_NOTHING || !a->q->maxhits;
	a->stream = arena_array(&a->plan, a->r->layers, sizeof *a->stream);
	for (; a->streams < a->r->layers; a->streams++) {
		struct stream *s = &a->stream[a->streams];
		s->layer = &a->r->layer[a->streams];
		look_at_spans(a, s);
		if (names_cand_new(&s->cand, s->layer->segment, &a->match, all, &a->plan, &a->clock,
				   &s->sure, err) < 0)
			return -1;
	}
	return 0;
}

/* Whether the folded name can match; what forms it has is looked at later. */
static bool name_can_match(const struct names_match *m, struct str folded)
{
	if (m->path || (m->how != NAMES_HOW_SUB && m->how != NAMES_HOW_SUBCASE))
		return true;
	return m->part.n == 0 || str_find(folded, m->part) < folded.n;
}

/* The next name of a stream, which its walk is at then. */
static int stream_next(struct asking *a, struct stream *s, struct err *err)
{
	for (;;) {
		uint32_t name;
		int rc = names_cand_seek(s->cand, s->next, &name, err);
		if (rc < 0)
			return -1;
		if (rc == 1 || names_late(&a->clock, 1)) {
			s->done = true;
			return 0;
		}
		s->next = name + 1;
		if (!s->begun)
			rc = names_walk_begin(&s->walk, s->layer->segment, name, err);
		else if (name != s->walk.name + 1)
			rc = names_walk_seek(&s->walk, name, err);
		s->begun = true;
		if (rc == 0)
			rc = names_walk_next(&s->walk, err);
		if (rc < 0)
			return -1;
		if (rc == 1) {
			s->done = true;
			return 0;
		}
		if (s->sure || name_can_match(&a->match, s->walk.folded))
			return 0;
	}
}

/* Files */

/* The site of an entry and its line there; UINT32_MAX: it is hidden, or its site does not fit. */
static uint32_t site_of(const struct asking *a, const struct names_layer *layer, uint32_t entry,
			size_t *span, uint64_t *ret_line)
{
	const struct names_span *s = layer->span;
	if (*span >= layer->spans || entry < s[*span].from || entry - s[*span].from >= s[*span].n) {
		size_t after = BISECT(i, 0, layer->spans, s[i].from <= entry);
		*span = after ? after - 1 : 0;
		if (after == 0 || entry - s[*span].from >= s[*span].n)
			return UINT32_MAX;
	}
	uint32_t site = s[*span].site;
	if (site == UINT32_MAX || (a->limit.sites && !a->limit.site[site]))
		return UINT32_MAX;
	*ret_line = entry - s[*span].from;
	return site;
}

/* The files of a form: counted, and the first `want` of them collected. */
static int form_files(struct asking *a, struct stream *s, const struct names_form *form,
		      uint64_t want, struct err *err)
{
	bool known = a->plain && s->open;
	bool sizes = a->q->mirrors;
	uint64_t most = a->q->count || !s->ordered ? UINT64_MAX : want;
	struct names_facts about = {0};
	uint32_t entry[ENTRIES], number = 0;
	uint64_t fits = 0;
	size_t span = 0;
	struct str name = STR("");
	if (known) {
		a->total += form->entries;
		most = s->ordered ? want : UINT64_MAX;
		if (want == 0)
			return 0;
	}
	if (want || a->limit.dirs) {
		name = arena_str(&a->scratch, form->text);
		number = want ? names_collect_form(&a->collect, name) : 0;
	}
	if (a->limit.dirs)
		about = names_limit_name(&a->limit, name);
	uint32_t from = 0;
	while (from < form->entries && fits < most) {
		uint32_t ask = (uint32_t)MIN((uint64_t)ENTRIES, most - fits);
		ask = MIN(ask, form->entries - from);
		int n = names_form_entries(&s->walk, form, from, ask, entry, err);
		if (n <= 0)
			return n < 0 ? -1
				     : err_set(err, ERR_DAMAGED,
					       "a name has fewer files than it says");
		from += (uint32_t)n;
		for (int i = 0; i < n && fits < most; i++) {
			struct names_found f = {.form = number, .size = -1};
			f.site = site_of(a, s->layer, entry[i], &span, &f.line);
			if (f.site == UINT32_MAX)
				continue;
			int rc = a->plain && !sizes
					 ? 0
					 : names_limit_file(&a->limit, f.site, f.line, name, about,
							    sizes ? &f.size : NULL, err);
			if (rc < 0)
				return -1;
			if (rc == 1)
				continue;
			fits++;
			if (want && (fits <= want || !s->ordered))
				names_collect_add(&a->collect, f);
		}
		if (names_late(&a->clock, a->plain ? 4 : 64))
			break;
	}
	a->total += known ? 0 : fits;
	a->partial |= !known && from < form->entries;
	return 0;
}

static bool form_matches(struct asking *a, struct str text)
{
	const struct names_match *m = &a->match;
	if (m->path || m->how == NAMES_HOW_SUB)
		return true;
	return names_match_name(&a->match, text);
}

/* The files of the name that a stream is at. */
static int name_files(struct asking *a, struct stream *s, uint64_t want, struct err *err)
{
	struct names_form form;
	/* all forms match and nothing is looked at: their number is told with the name */
	if (want == 0 && a->plain && s->open && a->match.how == NAMES_HOW_SUB) {
		a->total += s->walk.entries;
		return 0;
	}
	for (uint32_t i = 0; i < s->walk.forms; i++) {
		if (names_form_get(&s->walk, i, &form, err) < 0)
			return -1;
		if (form_matches(a, form.text) && form_files(a, s, &form, want, err) < 0)
			return -1;
		if (a->clock.late)
			return 0;
	}
	return 0;
}

/* Goes on with a stream whose current name is done. Where nothing is collected any more and every
 * entry counts, the rest is counted at once. */
static int stream_go_on(struct asking *a, struct stream *s, struct err *err)
{
	uint64_t files = 0;
	if (!a->counts || !s->open || !names_collect_full(&a->collect))
		return stream_next(a, s, err);
	s->done = true;
	if (names_count(s->layer->segment, a->match.part, s->next, &a->plan, &a->clock, &files,
			err) < 0)
		return -1;
	a->total += files;
	return 0;
}

/* The first name that a stream is at, with all streams that are at it. false: there is none. */
static bool choose_group(struct asking *a)
{
	struct stream *first = NULL;
	for (size_t i = 0; i < a->streams; i++) {
		struct stream *s = &a->stream[i];
		s->in_group = false;
		if (!s->done && (!first || str_cmp(s->walk.folded, first->walk.folded) < 0))
			first = s;
	}
	for (size_t i = 0; first && i < a->streams; i++) {
		struct stream *s = &a->stream[i];
		s->in_group = !s->done && str_eq(s->walk.folded, first->walk.folded);
	}
	return first != NULL;
}

static int ask_group(struct asking *a, struct err *err)
{
	uint64_t want = names_collect_full(&a->collect) ? 0 : names_collect_want(&a->collect);
	size_t before = 0;
	bool ordered = true;
	for (size_t i = 0; i < a->streams && !a->clock.late; i++) {
		struct stream *s = &a->stream[i];
		if (!s->in_group)
			continue;
		if (name_files(a, s, want, err) < 0)
			return -1;
		ordered &= s->ordered && (before == 0 || a->collect.founds == before);
		before = a->collect.founds;
	}
	if (names_collect_group(&a->collect, ordered && a->collect.forms <= 1, err) < 0)
		return -1;
	arena_clear(&a->scratch);
	return 0;
}

/* Whether the answer is complete, though names may be left. */
static bool is_answered(const struct asking *a)
{
	return names_collect_full(&a->collect) && !a->q->count && a->match.how != NAMES_HOW_EXACT;
}

static int ask_index(struct asking *a, struct names_hits *ret, struct err *err)
{
	bool more = true;
	if (open_streams(a, err) < 0)
		return -1;
	for (size_t i = 0; i < a->streams; i++)
		if (stream_next(a, &a->stream[i], err) < 0)
			return -1;
	while (!a->clock.late && (more = choose_group(a))) {
		if (ask_group(a, err) < 0)
			return -1;
		if (is_answered(a))
			break;
		for (size_t i = 0; i < a->streams; i++)
			if (a->stream[i].in_group && stream_go_on(a, &a->stream[i], err) < 0)
				return -1;
	}
	for (size_t i = 0; i < a->streams; i++)
		if (names_segment_check(a->stream[i].layer->segment, err) < 0)
			return -1;
	ret->total = a->total;
	ret->cut = a->clock.late;
	ret->exact = !more && !a->partial && !ret->cut;
	return 0;
}

/* Once more from the parts, where a segment turned out to be damaged. */
static int ask_parts(struct asking *a, struct names_hits *ret, struct err *err)
{
	const char *why = a->r->layers ? arena_text(a->arena, str_of(err->msg)) : NULL;
	names_collect_close(&a->collect);
	names_collect_open(&a->collect, a->q, a->r, a->arena, &a->scratch);
	a->collect.why = why;
	ret->scanned = true;
	return names_scan(a->r, &a->match, &a->limit, &a->collect, &a->clock, ret, err);
}

static void ask_end(struct asking *a)
{
	for (size_t i = 0; i < a->streams; i++)
		if (a->stream[i].begun)
			names_walk_end(&a->stream[i].walk);
	names_collect_close(&a->collect);
	names_limit_close(&a->limit);
	names_match_close(&a->match);
	arena_free(&a->plan);
	arena_free(&a->scratch);
}

/* The query, or the first half of exact_X. */
static int ask_once(struct names_reader *r, const struct names_query *q, bool exact,
		    struct names_clock *clock, struct arena *arena, struct names_hits *ret,
		    size_t *ret_at, struct err *err)
{
	struct asking a = {.r = r,
			   .q = q,
			   .arena = arena,
			   .plan = ARENA_INIT(SIZE_MAX),
			   .scratch = ARENA_INIT(SIZE_MAX),
			   .clock = *clock};
	*ret = (struct names_hits){0};
	int rc = names_match_open(&a.match, q, exact, &a.plan, &a.clock, ret_at, err);
	if (rc == 0)
		rc = names_limit_open(&a.limit, q, r, &a.plan, &a.scratch, err);
	a.limit.m = &a.match;
	a.plain = !a.limit.data && !a.limit.dirs;
	a.counts = a.plain && !q->path && a.match.how == NAMES_HOW_SUB &&
		   names_count_can(a.match.part);
	names_collect_open(&a.collect, q, r, arena, &a.scratch);
	bool scan = r->layers == 0 && r->sites > 0;
	if (rc == 0 && !scan) {
		rc = ask_index(&a, ret, err);
		scan = rc < 0 && err->code == ERR_DAMAGED;
	}
	if (scan)
		rc = ask_parts(&a, ret, err);
	if (rc == 0)
		rc = names_collect_end(&a.collect, ret, err);
	*clock = a.clock;
	ask_end(&a);
	return rc;
}

int names_query(struct names_reader *r, const struct names_query *q, struct arena *arena,
		struct names_hits *ret, size_t *ret_at, struct err *err)
{
	struct names_clock clock;
	struct names_hits hits;
	bool both = q->type == NAMES_EXACT_SUB || q->type == NAMES_EXACT_SUBCASE ||
		    q->type == NAMES_EXACT_REGEX;
	if (ret_at)
		*ret_at = SIZE_MAX;
	if ((unsigned)q->type >= NAMES_WHATIS)
		return err_set(err, ERR_USAGE, "names are not found by whatis");
	if (q->pattern.n > NAMES_PATTERN_MOST)
		return err_set(err, ERR_USAGE, "a pattern has at most %d bytes",
			       NAMES_PATTERN_MOST);
	names_clock_begin(&clock, q);
	int rc = ask_once(r, q, both, &clock, arena, &hits, ret_at, err);
	if (rc == 0 && both && hits.total == 0 && !hits.cut)
		rc = ask_once(r, q, false, &clock, arena, &hits, ret_at, err);
	if (rc == 0)
		*ret = hits;
	return rc;
}
