/* A set's receipts are not kept: its notices are, and what has become of a URL is in the queue, the
 * store, or among what is gone. So nothing has to be written when the state of a URL changes, and
 * the receipt of a URL that a later set named again says what is true now. */
#include "cache/receipts.h"

#include "base/file.h"
#include "cache/unsdb.h"

#include <limits.h>
#include <stdio.h>

enum { PIECE_MAX = NOTICE_PIECE + NOTICE_MOST };

struct receipts {
	struct db *db;
	struct unsdb_reader *kept; /* NULL: the set is in db */
	struct db_set set;
	bool is_absorbed;
	uint64_t piece;     /* the next one to be read */
	struct buf bytes;   /* of the one before it */
	struct reader rest; /* of these, what has not been returned yet */
};

/* A set counts as absorbed where it is not the next one that is not. */
static int absorbed_look(struct receipts *r, struct err *err)
{
	struct db_set next;
	int rc = r->db->ops->set_next(r->db, r->set.set - 1, &next, err);
	if (rc < 0)
		return rc;
	r->is_absorbed = rc == 1 || next.set != r->set.set;
	return 0;
}

int receipts_open(struct receipts **ret, struct db *db, uint64_t provider, const char *uns,
		  uint64_t number, struct err *err)
{
	struct receipts r = {.db = db, .bytes = BUF_INIT(PIECE_MAX)};
	int rc = db->ops->set_of(db, provider, uns, number, &r.set, err);
	if (rc != 0)
		return rc;
	if (absorbed_look(&r, err) < 0)
		return -1;
	r.rest = reader_of(STR(""));
	*ret = mem_copy(&r, sizeof r);
	return 0;
}

int receipts_open_kept(struct receipts **ret, const char *unsdb, uint64_t provider, uint64_t number,
		       struct err *err)
{
	struct receipts r = {.bytes = BUF_INIT(PIECE_MAX), .rest = reader_of(STR(""))};
	int rc = unsdb_reader_open(&r.kept, unsdb, provider, number, err);
	if (rc != 0)
		return rc;
	const struct unsdb_set *set = unsdb_reader_set(r.kept);
	r.set = (struct db_set){.number = set->number,
				.provider = set->provider,
				.is_full = set->is_full,
				.urls = set->urls,
				.at_us = set->at_us};
	*ret = mem_copy(&r, sizeof r);
	return 0;
}

/* The later one stays; of two that are the same, what the database has. */
static void later_stays(struct receipts **known, struct receipts **other)
{
	if (*known && (*known)->set.at_us >= (*other)->set.at_us) {
		receipts_free(other);
		return;
	}
	receipts_free(known);
	*known = *other;
}

static int kept_look(struct receipts **known, const char *folder, uint64_t provider,
		     uint64_t number, struct err *err)
{
	struct receipts *kept;
	const char *name;
	struct dir dir;
	int rc = dir_init(&dir, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc >= 0 && dir_next(&dir, &name) == 0) {
		char path[PATH_MAX];
		if (!unsdb_is_name(name) ||
		    snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
			continue;
		rc = receipts_open_kept(&kept, path, provider, number, err);
		if (rc == 0)
			later_stays(known, &kept);
	}
	dir_done(&dir);
	return MIN(rc, 0);
}

int receipts_open_any(struct receipts **ret, struct db *db, const char *folder, uint64_t provider,
		      uint64_t number, struct err *err)
{
	struct receipts *known = NULL, *kept = NULL;
	/* in this order: a set that goes to the queue manager meanwhile is found there at least */
	int rc = kept_look(&kept, folder, provider, number, err);
	if (rc >= 0 && db)
		rc = receipts_open(&known, db, provider, NULL, number, err);
	if (rc < 0) {
		receipts_free(&kept);
		return rc;
	}
	if (kept)
		later_stays(&known, &kept);
	*ret = known;
	return known ? 0 : 1;
}

void receipts_free(struct receipts **r)
{
	if (!*r)
		return;
	unsdb_reader_free(&(*r)->kept);
	buf_free(&(*r)->bytes);
	mem_free(r);
}

const struct db_set *receipts_set(const struct receipts *r)
{
	return &r->set;
}

const char *receipts_state(const struct receipts *r)
{
	if (r->kept)
		return "kept";
	return r->is_absorbed ? "absorbed" : "queued";
}

/* The next piece of the set, unpacked, in r->bytes. 1: no more. */
static int piece_next(struct receipts *r, struct err *err)
{
	CLEANUP(buf_free) struct buf packed = BUF_INIT(PIECE_MAX);
	buf_clear(&r->bytes);
	if (!r->kept && r->piece == r->set.pieces)
		return 1;
	if (!r->kept)
		return r->db->ops->set_piece(r->db, r->set.set, r->piece++, &r->bytes, err);
	int rc = unsdb_reader_piece(r->kept, &packed, err);
	r->piece++;
	return rc == 0 ? notice_unpack(buf_str(&packed), &r->bytes, err) : rc;
}

/* The next notice that was accepted; its slices are good until the next call. 1: no more, also
 * where the rest of the set was dropped for its age meanwhile. */
static int notice_accepted(struct receipts *r, struct notice *ret, struct err *err)
{
	for (;;) {
		int rc = notice_next(&r->rest, ret, err);
		if (rc < 0)
			return err_in(err, "set %llu, piece %llu",
				      (unsigned long long)r->set.number,
				      (unsigned long long)r->piece - 1);
		if (rc == 0 && ret->op != NOTICE_NAMED)
			return 0;
		if (rc == 0)
			continue;
		rc = piece_next(r, err);
		if (rc != 0)
			return rc;
		r->rest = reader_of(buf_str(&r->bytes));
	}
}

int receipts_skip(struct receipts *r, uint64_t n, struct err *err)
{
	struct notice notice;
	for (; n; n--) {
		int rc = notice_accepted(r, &notice, err);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	return 0;
}

/* Of a URL whose notice nobody has looked at yet, whatever is known from before it; and of one of
 * which nothing is known any more. */
static void receipt_fill(const struct receipts *r, enum db_state state, struct db_receipt *ret)
{
	*ret = (struct db_receipt){
		.state = state,
		.at_us = r->set.at_us,
		.set = state == DB_QUEUED ? r->set.set : 0,
	};
}

int receipts_next(struct receipts *r, struct arena *arena, struct db_receipt *ret, struct err *err)
{
	struct notice n;
	int rc = notice_accepted(r, &n, err);
	if (rc != 0)
		return rc;
	if (r->kept)
		rc = 1;
	else
		rc = r->db->ops->receipt(r->db, r->set.provider, n.c, n.mime, r->set.at_us, arena,
					 ret, err);
	if (rc < 0)
		return rc;
	if (!r->is_absorbed && (rc == 1 || ret->at_us < r->set.at_us))
		receipt_fill(r, DB_QUEUED, ret);
	else if (rc == 1)
		receipt_fill(r, DB_REMOVED, ret);
	/* the bytes of the notice are gone with the next piece */
	ret->c = arena_str(arena, n.c);
	ret->mime = arena_str(arena, n.mime);
	return 0;
}
