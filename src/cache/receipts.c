/* Receipts are not stored. The notices of a set are, and the state of a URL is in the queue, the
 * store, or the table of what is gone. So nothing is written when the state of a URL changes, and
 * the receipt of a URL that a later set named again tells its state now. */
#include "cache/receipts.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
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
	int rc = db_set_next(r->db, r->set.set - 1, &next, err);
	if (rc < 0)
		return rc;
	r->is_absorbed = rc == 1 || next.set != r->set.set;
	return 0;
}

int receipts_open(struct receipts **ret, struct db *db, uint64_t provider, const char *uns,
		  uint64_t number, struct err *err)
{
	struct receipts r = {.db = db, .bytes = BUF_INIT(PIECE_MAX)};
	int rc = db_set_of(db, provider, uns, number, &r.set, err);
	if (rc != 0)
		return rc;
	if (absorbed_look(&r, err) < 0)
		return -1;
	r.rest = reader_of(STR(""));
	*ret = mem_copy(&r, sizeof r);
	return 0;
}

static struct db_set set_of_kept(const struct unsdb_set *set)
{
	return (struct db_set){.number = set->number,
			       .provider = set->provider,
			       .is_full = set->is_full,
			       .urls = set->urls,
			       .at_us = set->at_us};
}

int receipts_open_kept(struct receipts **ret, const char *unsdb, uint64_t provider, uint64_t number,
		       struct err *err)
{
	struct receipts r = {.bytes = BUF_INIT(PIECE_MAX), .rest = reader_of(STR(""))};
	int rc = unsdb_reader_open(&r.kept, unsdb, provider, number, false, err);
	if (rc != 0)
		return rc;
	r.set = set_of_kept(unsdb_reader_set(r.kept));
	*ret = mem_copy(&r, sizeof r);
	return 0;
}

/* Keeps the later of two sets; if both are the same, that of the database. */
static void later_stays(struct receipts **known, struct receipts **other)
{
	if (*known && (*known)->set.at_us >= (*other)->set.at_us) {
		receipts_free(other);
		return;
	}
	receipts_free(known);
	*known = *other;
}

/* Each unsdb of the folder, until one call is negative. */
static int kept_each(const char *folder, int (*fn)(void *ctx, const char *path, struct err *err),
		     void *ctx, struct err *err)
{
	const char *name;
	struct dir dir;
	int rc = dir_init(&dir, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc >= 0 && dir_next(&dir, &name) == 0) {
		char path[PATH_MAX];
		if (unsdb_is_name(name) &&
		    snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path)
			rc = fn(ctx, path, err);
	}
	dir_done(&dir);
	return MIN(rc, 0);
}

struct kept_ask {
	uint64_t provider, number;
	struct receipts *known;
};

static int kept_look(void *ctx, const char *path, struct err *err)
{
	struct kept_ask *a = ctx;
	struct receipts *kept;
	int rc = receipts_open_kept(&kept, path, a->provider, a->number, err);
	if (rc == 0)
		later_stays(&a->known, &kept);
	return rc;
}

int receipts_open_any(struct receipts **ret, struct db *db, const char *folder, uint64_t provider,
		      uint64_t number, struct err *err)
{
	struct kept_ask kept = {.provider = provider, .number = number};
	struct receipts *known = NULL;
	/* in this order: a set that goes to the queue manager meanwhile is found there at least */
	int rc = kept_each(folder, kept_look, &kept, err);
	if (rc >= 0 && db)
		rc = receipts_open(&known, db, provider, NULL, number, err);
	if (rc < 0) {
		receipts_free(&kept.known);
		return rc;
	}
	if (kept.known)
		later_stays(&known, &kept.known);
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
		return db_set_piece(r->db, r->set.set, r->piece++, &r->bytes, err);
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

/* The state of a URL that the set names: queued if its notice is not absorbed yet and nothing newer
 * is known, removed if nothing is known any more. */
static int receipt_of(struct db *db, const struct db_set *set, bool is_absorbed, struct str c,
		      struct str mime, struct arena *arena, struct db_receipt *ret, struct err *err)
{
	int rc = 1;
	if (db)
		rc = db_receipt(db, set->provider, c, mime, set->at_us, arena, ret, err);
	if (rc < 0)
		return rc;
	if (!is_absorbed && (rc == 1 || ret->at_us < set->at_us))
		*ret = (struct db_receipt){
			.state = DB_QUEUED, .at_us = set->at_us, .set = set->set};
	else if (rc == 1)
		*ret = (struct db_receipt){.state = DB_REMOVED, .at_us = set->at_us};
	/* the bytes of the notice are gone with the next piece */
	ret->c = arena_str(arena, c);
	ret->mime = arena_str(arena, mime);
	return 0;
}

int receipts_next(struct receipts *r, struct arena *arena, struct db_receipt *ret, struct err *err)
{
	struct notice n;
	int rc = notice_accepted(r, &n, err);
	if (rc != 0)
		return rc;
	return receipt_of(r->kept ? NULL : r->db, &r->set, r->is_absorbed, n.c, n.mime, arena, ret,
			  err);
}

/* By URL. First searches the notices of all sets that wait, and keeps the last set for each
 * provider and type. Then tells the rows of the database, except those that such a set will change.
 */

enum { NAMED_MOST = 1000, NAMED_MEMORY = 4 << 20 };

struct naming {
	uint64_t provider;
	struct str mime;
};

static uint64_t naming_hash(struct naming n)
{
	return hash64(n.mime) ^ hash_u64(n.provider);
}

static bool naming_same(struct naming a, struct naming b)
{
	return a.provider == b.provider && str_eq(a.mime, b.mime);
}

TABLE(namings, struct naming, struct db_set, naming_hash, naming_same)

struct url_ask {
	const struct receipts_url *url;
	struct db *db;
	struct arena arena;
	struct namings named;
	receipts_url_fn *each;
	void *ctx;
};

static bool is_type_asked(const struct url_ask *a, struct str mime)
{
	return a->url->mime.n == 0 || str_eq_nocase(a->url->mime, mime);
}

static void named_note(struct url_ask *a, const struct db_set *set, struct str mime)
{
	struct naming key = {set->provider, mime};
	struct db_set *known = namings_get(&a->named, key);
	if (known && set->at_us >= known->at_us)
		*known = *set;
	if (known || namings_count(&a->named) == NAMED_MOST)
		return;
	key.mime = arena_str(&a->arena, mime);
	*namings_put(&a->named, key) = *set;
}

/* Searches one set to its end, or as far as it still exists. */
static int set_look(struct url_ask *a, struct receipts *r, struct err *err)
{
	struct notice n;
	int rc;
	r->piece = 0;
	r->rest = reader_of(STR(""));
	while ((rc = notice_accepted(r, &n, err)) == 0) {
		if (str_eq(n.c, a->url->c) && is_type_asked(a, n.mime))
			named_note(a, &r->set, n.mime);
	}
	return MIN(rc, 0);
}

static int kept_sets_look(void *ctx, const char *path, struct err *err)
{
	struct url_ask *a = ctx;
	struct receipts r = {.bytes = BUF_INIT(PIECE_MAX)};
	int rc = unsdb_reader_open(&r.kept, path, a->url->provider, 0, true, err);
	while (rc == 0 && (rc = unsdb_reader_next(r.kept, err)) == 0) {
		r.set = set_of_kept(unsdb_reader_set(r.kept));
		rc = set_look(a, &r, err);
	}
	unsdb_reader_free(&r.kept);
	buf_free(&r.bytes);
	return MIN(rc, 0);
}

static int open_sets_look(struct url_ask *a, struct err *err)
{
	struct receipts r = {.db = a->db, .bytes = BUF_INIT(PIECE_MAX)};
	uint64_t provider = a->url->provider;
	int rc = 0;
	while (rc == 0 && (rc = db_set_next(a->db, r.set.set, &r.set, err)) == 0) {
		if (provider == 0 || provider == r.set.provider)
			rc = set_look(a, &r, err);
	}
	buf_free(&r.bytes);
	return MIN(rc, 0);
}

/* A set may still be in unsdb that was absorbed long ago, if its server was killed. */
static int is_absorbed_already(struct db *db, const struct db_set *set, bool *ret, struct err *err)
{
	struct receipts *r = NULL;
	const char *uns = set->uns[0] ? set->uns : NULL;
	int rc = receipts_open(&r, db, set->provider, uns, set->number, err);
	*ret = rc == 0 && r->is_absorbed && r->set.at_us >= set->at_us;
	receipts_free(&r);
	return MIN(rc, 0);
}

/* Tells the sets that wait; for the others the row counts. */
static int named_tell(struct url_ask *a, struct err *err)
{
	TABLE_EACH (namings, slot, &a->named) {
		const struct db_set *set = &slot->value;
		struct db_receipt receipt;
		bool is_absorbed = false;
		if (a->db && is_absorbed_already(a->db, set, &is_absorbed, err) < 0)
			return -1;
		if (receipt_of(a->db, set, is_absorbed, a->url->c, slot->key.mime, &a->arena,
			       &receipt, err) < 0)
			return -1;
		if (receipt.state == DB_QUEUED && receipt.row == 0)
			a->each(a->ctx, set->provider, &receipt);
		else
			namings_remove(&a->named, slot->key);
	}
	return 0;
}

static void row_tell(void *ctx, uint64_t provider, const struct db_receipt *r)
{
	struct url_ask *a = ctx;
	struct naming key = {provider, r->mime};
	if (is_type_asked(a, r->mime) && !namings_get(&a->named, key))
		a->each(a->ctx, provider, r);
}

int receipts_of_url(struct db *db, const char *folder, const struct receipts_url *url,
		    receipts_url_fn *each, void *ctx, struct err *err)
{
	struct url_ask a = {
		.url = url,
		.db = db,
		.arena = ARENA_INIT(NAMED_MEMORY),
		.each = each,
		.ctx = ctx,
	};
	/* in this order, as above */
	int rc = kept_each(folder, kept_sets_look, &a, err);
	if (rc == 0 && db)
		rc = open_sets_look(&a, err);
	if (rc == 0)
		rc = named_tell(&a, err);
	if (rc == 0 && db)
		rc = db_find_url(db, url->provider, url->c, row_tell, &a, err);
	namings_free(&a.named);
	arena_free(&a.arena);
	return MIN(rc, 0);
}
