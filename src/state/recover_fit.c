/* Whether the index of a state and the bucket file belong together. */
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "state/recover_inner.h"

#include <inttypes.h>

enum { SAMPLES = 64 };

struct fitting {
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct recovery *r;
	bool named; /* a body that cannot be unpacked; others will be like it */
	struct arena arena;
};

/* A bucket may be whole and its dictionary lost: no index helps then, but it is said. */
static void try_body(struct fitting *f, const struct bucket *bucket)
{
	struct err err;
	struct str body;
	if (f->named || bucket_check(bucket->type, bucket->data, &err) != 0 ||
	    bucket_body(f->packer, bucket->type, bucket->data, &f->arena, &body, &err) == 0)
		return;
	f->named = true;
	recovery_damage(f->r, "objects: bucket %08" PRIx32 ": %s", bucket->oid, err.msg);
}

/* 0: the bucket with this number is of this URL; 1: not. */
static int is_of(struct fitting *f, uint64_t number, struct footprint fp, struct err *err)
{
	struct bucket bucket;
	struct attrs header = {0};
	struct footprint found;
	int rc = bucket_read(f->buckets, (uint32_t)number, &bucket, err);
	if (rc == 0)
		rc = bucket_header(bucket.type, bucket.data, &f->arena, &header, NULL, err);
	if (rc < 0 && err->code != ERR_DAMAGED)
		return -1;
	struct str o = rc == 0 ? attrs_get(&header, 'O') : STR("");
	bool plain = rc == 0 && !o.p; /* of an old version: it does not tell */
	bool same = rc == 0 && o.p && footprint_parse(o, &found) && footprint_cmp(found, fp) == 0;
	if (same)
		try_body(f, &bucket);
	arena_clear(&f->arena);
	return plain || same ? 0 : 1;
}

static int samples_fit(struct fitting *f, const struct url_index *index, struct err *err)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		struct index_item item;
		int rc = url_index_sample(index, i, SAMPLES, &item, err);
		if (rc == 0)
			rc = is_of(f, item.where, item.fp, err);
		else if (rc == 1)
			continue;
		if (rc)
			return rc;
	}
	return 0;
}

/* All of the index is read, as every cycle does: no module could go on over a block that is
 * damaged. 0: sound; 1: it has to be made again, and why was told. */
static int check_index(struct state *st, struct fitting *f, struct recovery *r, struct err *err)
{
	const struct url_index *index;
	struct sites *sites = NULL;
	int rc = state_index(st, &index, err);
	if (rc == 0)
		rc = format_verify(&index_format, state_path(st, &f->arena, "index"), err);
	if (rc == 0)
		rc = state_sites(st, &sites, err);
	sites_free(&sites);
	if (rc == 0)
		rc = samples_fit(f, index, err);
	if (rc == 1)
		recovery_damage(r, "%s: its index does not fit the bucket file", st->name);
	if (rc >= 0 || err->code != ERR_DAMAGED)
		return rc;
	recovery_damage(r, "%s", err->msg);
	return 1;
}

/* What one line of the report says of this index. 0: it has the new number; 1: the old one;
 * 2: neither. */
static int numbers_by(struct fitting *f, const struct url_index *index,
		      const struct bucket_move *move, struct err *err)
{
	struct bucket bucket;
	struct attrs header = {0};
	struct footprint fp;
	struct index_item item;
	if (move->to == BUCKET_DELETED || move->from == move->to)
		return 2;
	int rc = bucket_read(f->buckets, move->to, &bucket, err);
	if (rc == 0)
		rc = bucket_header(bucket.type, bucket.data, &f->arena, &header, NULL, err);
	struct str o = rc == 0 ? attrs_get(&header, 'O') : STR("");
	rc = o.p && footprint_parse(o, &fp) ? url_index_find(index, fp, &item, err) : 1;
	arena_clear(&f->arena);
	if (rc)
		return rc < 0 && err->code != ERR_DAMAGED ? -1 : 2;
	return item.where == move->to ? 0 : item.where == move->from ? 1 : 2;
}

/* After a shakedown: whether this index has the new numbers. 0: it has, or there was none; 1: not.
 */
static int has_new_numbers(struct state *st, struct fitting *f, struct err *err)
{
	const struct url_index *index;
	struct bucket_moves *moves = NULL;
	struct bucket_move move;
	int rc = bucket_moves_open(&moves, bucket_path(f->buckets), err), says = 2;
	if (rc)
		return rc < 0 ? rc : 0;
	rc = state_index(st, &index, err);
	while (rc == 0 && says == 2 && (rc = bucket_moves_next(moves, &move, err)) == 0)
		says = numbers_by(f, index, &move, err);
	bucket_moves_close(&moves);
	return rc < 0 || says < 0 ? -1 : says == 1;
}

int recover_fit(struct state *st, struct buckets *buckets, struct recovery *r, enum fit *ret,
		struct err *err)
{
	struct fitting f = {.buckets = buckets, .r = r, .arena = ARENA_INIT(BUCKET_ARENA)};
	f.packer = bucket_packer_new(bucket_dict_path(&f.arena, bucket_path(buckets)));
	int rc = has_new_numbers(st, &f, err);
	if (rc == 1)
		*ret = FIT_OLD_NUMBERS;
	else if (rc == 0 || err->code == ERR_DAMAGED) {
		rc = check_index(st, &f, r, err);
		*ret = rc ? FIT_DAMAGED : FIT_SOUND;
	}
	bucket_packer_free(&f.packer);
	arena_free(&f.arena);
	return rc < 0 ? rc : 0;
}
