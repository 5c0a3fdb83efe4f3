/* registry.commit, written anew when it has become long: neighbouring pieces up to 1 MiB are read,
 * verified and made one; larger ones stay as they are. The end of what the tables have stays the
 * end of a piece, since a start reads from there. */
#include "base/fault.h"
#include "base/vec.h"
#include "broker/registry_inner.h"

enum {
	JOIN_TIMES = 4,       /* as many bytes as it would have to have are not too many */
	JOIN_RECORD = 64,     /* about, of a record in it */
	JOIN_PIECE = 1 << 20, /* bytes of registry in a joined piece */
};

struct join {
	struct registry_pieces from, to;
	uint64_t tables; /* what they have ends here */
};

static bool join_fits(const struct join *j, const struct registry_piece *last,
		      const struct registry_piece *piece)
{
	return last->to != j->tables && piece->to - last->from <= JOIN_PIECE;
}

static void pieces_join(struct join *j)
{
	for (size_t i = 0; i < j->from.n; i++) {
		const struct registry_piece *piece = &j->from.piece[i];
		struct registry_piece *last = j->to.n ? &j->to.piece[j->to.n - 1] : NULL;
		if (last && join_fits(j, last, piece))
			last->to = piece->to;
		else
			*VEC_PUSH(j->to.piece, j->to.n, j->to.room) = *piece;
	}
}

/* The hash of a piece that was joined, after its parts were verified. */
static int piece_hash(struct registry *r, const struct join *j, size_t *part,
		      struct registry_piece *piece, struct err *err)
{
	struct registry_pieces all = r->pieces;
	size_t first = *part;
	while (*part < j->from.n && j->from.piece[*part].to <= piece->to)
		(*part)++;
	if (*part - first < 2)
		return 0;
	struct registry_walk walk;
	struct registry_raw raw;
	struct xxh64 hash;
	r->pieces = (struct registry_pieces){j->from.piece + first, *part - first, 0};
	int rc = registry_each_committed(r, 0, NULL, NULL, err);
	r->pieces = all;
	if (rc < 0)
		return -1;
	xxh64_begin(&hash);
	registry_walk_begin(&walk, &r->file, piece->from, piece->to);
	while ((rc = registry_walk_next(&walk, &raw, err)) == 0)
		registry_hash_add(&hash, raw.bytes);
	registry_walk_end(&walk);
	piece->hash = xxh64_end(&hash);
	return MIN(rc, 0);
}

static int join_write(struct registry *r, const struct join *j, struct err *err)
{
	struct record_writer *w = NULL;
	FAULT("registry.join");
	if (registry_commit_write(r->path[REGISTRY_COMMIT_JOINED], &r->last, &j->to, &r->points,
				  err) < 0 ||
	    record_open(&w, r->path[REGISTRY_COMMIT_JOINED], &registry_commit_kind, 0640, NULL,
			err) < 0)
		return -1;
	FAULT("registry.join.rename");
	if (file_rename(r->path[REGISTRY_COMMIT_JOINED], r->path[REGISTRY_COMMIT], err) < 0) {
		record_drop(&w);
		return -1;
	}
	/* From here on the new file is the one with the name. */
	record_drop(&r->commits);
	r->commits = w;
	int rc = dir_sync(r->folder, err);
	FAULT("registry.join.renamed");
	return rc;
}

int registry_join(struct registry *r, struct err *err)
{
	struct join j = {.from = r->pieces, .tables = r->tables.length};
	pieces_join(&j);
	int rc = 0;
	size_t part = 0;
	if (record_end(r->commits) > (uint64_t)JOIN_TIMES * JOIN_RECORD * j.to.n)
		for (size_t i = 0; rc == 0 && i < j.to.n; i++)
			rc = piece_hash(r, &j, &part, &j.to.piece[i], err);
	else
		rc = 1;
	if (rc == 0)
		rc = join_write(r, &j, err);
	if (rc == 0) {
		mem_free(&r->pieces.piece);
		r->pieces = j.to;
	} else {
		mem_free(&j.to.piece);
	}
	return MIN(rc, 0);
}
