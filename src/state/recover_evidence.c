/* What is known of URLs beside the index that has to be made again: the index of an older state,
 * the journals, the log of what was forgotten. */
#include "base/clock.h"
#include "state/recover_inner.h"

#include <sys/stat.h>

/* As an item of the index has it, with the kind behind the footprint: of each kind the last that
 * was added counts, and they come in the order of the kinds. */
enum { EVIDENCE_KEY = FOOTPRINT_KEY + 1, EVIDENCE_SIZE = INDEX_ITEM + 1, SORT_MEMORY = 64 << 20 };

static void last_counts(void *ctx, struct buf *into, struct str from)
{
	(void)ctx;
	buf_clear(into);
	buf_add_str(into, from);
}

int evidence_sort(struct sort **ret, const char *folder, struct err *err)
{
	const struct sort_spec spec = {.order = {.size = EVIDENCE_SIZE, .key_len = EVIDENCE_KEY},
				       .memory = SORT_MEMORY,
				       .folder = folder,
				       .unify = last_counts};
	return sort_new(ret, &spec, err);
}

int evidence_add(struct sort *to, enum evidence_kind kind, const struct index_item *item,
		 struct err *err)
{
	unsigned char rec[EVIDENCE_SIZE];
	index_item_write(item, rec + 1);
	memmove(rec, rec + 1, FOOTPRINT_KEY);
	rec[FOOTPRINT_KEY] = (unsigned char)kind;
	return sort_add(to, (struct str){(const char *)rec, sizeof rec}, err);
}

int evidence_read(const struct index_news *about, struct evidence *ret, struct err *err)
{
	*ret = (struct evidence){0};
	for (size_t i = 0; i < about->n; i++) {
		unsigned char bytes[EVIDENCE_SIZE];
		ENSURE(about->news[i].n == sizeof bytes);
		memcpy(bytes, about->news[i].p, sizeof bytes);
		unsigned kind = bytes[FOOTPRINT_KEY];
		memmove(bytes + 1, bytes, FOOTPRINT_KEY);
		ENSURE(kind < EVIDENCE_KINDS);
		if (index_item_read(bytes + 1, &ret->item[kind], err) < 0)
			return -1;
		ret->has[kind] = true;
	}
	return 0;
}

/* Journals. What failed for now says nothing of what the URL is. */

static int add_tried(void *to, const struct journal_entry *e, struct err *err)
{
	const struct index_item item = {.fp = e->fp,
					.where = ITEM_NOWHERE,
					.status = e->status,
					.last_seen_s = (uint32_t)(e->time_us / US_PER_S),
					.due_s = e->due_s,
					.type = e->type,
					.no_target = e->no_target,
					.flags = e->flags};
	return e->type == ITEM_TEMPORARY ? 0 : evidence_add(to, EVIDENCE_JOURNAL, &item, err);
}

/* Damage ends it: what lies behind is not known. */
static int read_journal(struct state *st, journal_fn *fn, void *ctx, struct err *err)
{
	struct record_reader *in = NULL;
	struct record record;
	struct journal_entry e;
	struct err why;
	int rc = state_read(st, "journal", &in, &why);
	while (rc == 0 && (rc = record_next(in, &record, &why)) == 0 &&
	       (rc = journal_read(record.payload, &e, &why)) == 0)
		if ((rc = fn(ctx, &e, &why)) < 0)
			break;
	record_reader_free(&in);
	if (rc >= 0 || why.code == ERR_DAMAGED)
		return 0;
	*err = why;
	return -1;
}

static int read_journals(struct state *st, const struct state_info *list, size_t n, journal_fn *fn,
			 void *ctx, struct err *err)
{
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < n && strcmp(list[i].name, st->name) < 0; i++) {
		struct state *older = NULL;
		rc = state_open(&older, st->s, list[i].name, err);
		if (rc == 0)
			rc = read_journal(older, fn, ctx, err);
		else if (rc == 1 || err->code == ERR_DAMAGED)
			rc = 0;
		state_free(&older);
	}
	return rc < 0 ? rc : read_journal(st, fn, ctx, err);
}

int evidence_journals(struct state *st, journal_fn *fn, void *ctx, struct err *err)
{
	struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n;
	int rc = states_list(st->s, 0, &arena, &list, &n, err);
	if (rc == 0)
		rc = read_journals(st, list, n, fn, ctx, err);
	arena_free(&arena);
	return rc;
}

/* The index of an older state */

static bool same_index(const char *a, const char *b)
{
	struct stat x, y;
	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* 1: it cannot be read either. */
static int read_index(const char *path, struct sort *to, struct err *err)
{
	struct url_index *index = NULL;
	struct url_index_scan *scan = NULL;
	struct index_item item;
	int rc = url_index_open(&index, path, err);
	if (rc)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 1;
	rc = url_index_scan(&scan, index, (struct footprint){0, 0}, err);
	while (rc == 0) {
		rc = url_index_next(scan, &item, err);
		if (rc == 0)
			rc = evidence_add(to, EVIDENCE_INDEX, &item, err);
		else if (rc < 0 && err->code == ERR_DAMAGED)
			rc = 0; /* a block of it */
	}
	url_index_scan_free(&scan);
	url_index_close(&index);
	return rc < 0 ? rc : 0;
}

/* Of the newest state before this one that has another index, and one that can be read. */
static int older_index(struct state *st, const struct state_info *list, size_t n, struct sort *to,
		       struct recovery *r, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 20);
	char *own = state_path(st, &arena, "index");
	int rc = 1;
	while (rc == 1 && n--) {
		char *path = arena_printf(&arena, "%s/state/%s/index", st->s->folder, list[n].name);
		if (strcmp(list[n].name, st->name) >= 0 || same_index(path, own))
			continue;
		rc = read_index(path, to, err);
		if (rc == 0)
			recovery_tell(r, "%s: what its index has lost is taken from that of %s",
				      st->name, list[n].name);
	}
	arena_free(&arena);
	return rc < 0 ? rc : 0;
}

/* The log of what was forgotten */

static int add_gone(void *ctx, const struct gone *g, struct err *err)
{
	const struct index_item item = {.fp = g->fp,
					.where = ITEM_NOWHERE,
					.last_seen_s = (uint32_t)(g->time_us / US_PER_S)};
	return evidence_add(ctx, EVIDENCE_GONE, &item, err);
}

static int read_gone(struct state *st, struct sort *to, struct recovery *r, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 16);
	int rc = gone_each(states_path(st->s, &arena, "gone"), add_gone, to, err);
	arena_free(&arena);
	if (rc >= 0 || err->code != ERR_DAMAGED)
		return rc < 0 ? rc : 0;
	recovery_damage(r, "%s", err->msg);
	return 0;
}

int evidence_gather(struct state *st, bool index_too, struct sort *to, struct recovery *r,
		    struct err *err)
{
	struct arena arena = ARENA_INIT(64 << 20);
	struct state_info *list;
	size_t n;
	int rc = states_list(st->s, 0, &arena, &list, &n, err);
	if (rc == 0 && index_too)
		rc = older_index(st, list, n, to, r, err);
	if (rc == 0)
		rc = read_journals(st, list, n, add_tried, to, err);
	arena_free(&arena);
	return rc < 0 ? rc : read_gone(st, to, r, err);
}
