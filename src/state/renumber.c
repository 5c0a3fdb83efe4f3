/* An index with the numbers that buckets have after a shakedown. Items go by their old numbers past
 * the report, which is in that order, and are put in the order of footprints again: two sorts, no
 * memory that grows with the crawl.
 *
 * The old numbers are those of what cleanup has kept (state_index_keep), which lies next to the
 * index until the state is done: so this can be done again however often it is interrupted, and
 * what cleanup had decided to drop stays dropped. */
#include "bucket/bucket_shake.h"
#include "disk/sort.h"
#include "state/state_inner.h"

#include <limits.h>
#include <stdio.h>

enum { NUMBERED = 8 + INDEX_ITEM, RENUMBER_LEAST = 1 << 20, RENUMBER_MEMORY = 64 << 20 };

struct renumbering {
	struct sort *by_number, *by_footprint;
	struct bucket_moves *moves;
	struct bucket_move move; /* the first that is not before the current item */
	bool moved_all;
	uint64_t forgotten;
};

static int renumber_sorts_new(struct renumbering *r, const struct url_index *old,
			      const char *folder, struct err *err)
{
	/* a small crawl needs little */
	uint64_t memory = url_index_items(old) * NUMBERED * 4;
	memory = MIN(MAX(memory, (uint64_t)RENUMBER_LEAST), (uint64_t)RENUMBER_MEMORY);
	const struct sort_spec numbered = {
		.order = {.size = NUMBERED, .key_len = 8}, .memory = memory, .folder = folder};
	const struct sort_spec items = {.order = {.size = INDEX_ITEM, .key_len = FOOTPRINT_KEY},
					.memory = memory,
					.folder = folder};
	return sort_new(&r->by_number, &numbered, err) < 0 ||
			       sort_new(&r->by_footprint, &items, err) < 0
		       ? -1
		       : 0;
}

static int renumber_add_item(struct sort *s, const struct index_item *item, struct err *err)
{
	unsigned char bytes[INDEX_ITEM];
	index_item_write(item, bytes);
	return sort_add(s, (struct str){(const char *)bytes, sizeof bytes}, err);
}

static int renumber_take_in(struct renumbering *r, const struct url_index *old, struct err *err)
{
	struct url_index_scan *scan;
	struct index_item item;
	if (url_index_scan(&scan, old, (struct footprint){0, 0}, err) < 0)
		return -1;
	int rc;
	while ((rc = url_index_next(scan, &item, err)) == 0) {
		unsigned char bytes[NUMBERED];
		if (!index_item_has_bucket(&item)) {
			rc = renumber_add_item(r->by_footprint, &item, err);
		} else {
			for (unsigned i = 0; i < 8; i++)
				bytes[i] = (unsigned char)(item.where >> (56 - 8 * i));
			index_item_write(&item, bytes + 8);
			rc = sort_add(r->by_number, (struct str){(const char *)bytes, sizeof bytes},
				      err);
		}
		if (rc < 0)
			break;
	}
	url_index_scan_free(&scan);
	return rc < 0 ? rc : 0;
}

/* The report's line of an old number; moves->to is BUCKET_DELETED where there is none. */
static int renumber_look_up(struct renumbering *r, uint64_t number, uint32_t *ret, struct err *err)
{
	while (!r->moved_all && r->move.from < number) {
		int rc = bucket_moves_next(r->moves, &r->move, err);
		if (rc < 0)
			return -1;
		r->moved_all = rc == 1;
	}
	*ret = !r->moved_all && r->move.from == number ? r->move.to : BUCKET_DELETED;
	return 0;
}

static int renumber_forget(struct renumbering *r, struct state *st, const struct index_item *item,
			   struct err *err)
{
	const struct gone gone = {item->fp, st->params.created_us, GONE_UNKNOWN};
	r->forgotten++;
	return state_gone(st, &gone, err);
}

static int renumber_items(struct renumbering *r, struct state *st, struct err *err)
{
	struct str rec;
	struct index_item item;
	uint32_t to;
	int rc = bucket_moves_next(r->moves, &r->move, err);
	r->moved_all = rc == 1;
	while (rc >= 0 && (rc = sort_next(r->by_number, &rec, err)) == 0) {
		if (index_item_read((const unsigned char *)rec.p + 8, &item, err) < 0 ||
		    renumber_look_up(r, item.where, &to, err) < 0)
			return -1;
		item.where = to;
		rc = to == BUCKET_DELETED ? renumber_forget(r, st, &item, err)
					  : renumber_add_item(r->by_footprint, &item, err);
	}
	return rc < 0 ? rc : 0;
}

static int renumber_write_out(struct renumbering *r, struct state *st, struct err *err)
{
	struct url_index_writer *w;
	struct index_item item;
	struct str rec;
	if (state_index_create(st, &w, err) < 0)
		return -1;
	int rc;
	while ((rc = sort_next(r->by_footprint, &rec, err)) == 0) {
		rc = index_item_read((const unsigned char *)rec.p, &item, err);
		if (rc < 0)
			break;
		url_index_put(w, &item);
	}
	if (rc == 1)
		return state_index_put(st, &w, err);
	url_index_drop(&w);
	return -1;
}

/* What cleanup kept, or all that the state before it has. */
static int renumber_open_old(const struct state *st, struct url_index **ret, struct err *err)
{
	char path[PATH_MAX];
	int rc = url_index_open(ret, path_in(st->folder, INDEX_KEPT, path), err);
	if (rc != 1)
		return rc;
	snprintf(path, sizeof path, "%s/state/%s/index", st->s->folder, st->params.from);
	rc = url_index_open(ret, path, err);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "%s: it is not there", path) : rc;
}

int state_renumber(struct state *st, uint64_t *ret_forgotten, struct err *err)
{
	char path[PATH_MAX];
	struct renumbering r = {0};
	struct url_index *old = NULL;
	int rc = bucket_moves_open(&r.moves, path_in(st->s->folder, "objects", path), err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: no shakedown was reported", path);
	if (rc == 0)
		rc = renumber_open_old(st, &old, err);
	if (rc == 0)
		rc = renumber_sorts_new(&r, old, st->folder, err);
	if (rc == 0)
		rc = renumber_take_in(&r, old, err);
	if (rc == 0)
		rc = renumber_items(&r, st, err);
	if (rc == 0)
		rc = renumber_write_out(&r, st, err);
	url_index_close(&old);
	sort_free(&r.by_number);
	sort_free(&r.by_footprint);
	bucket_moves_close(&r.moves);
	if (rc == 0 && ret_forgotten)
		*ret_forgotten = r.forgotten;
	return rc;
}
