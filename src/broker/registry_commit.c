/* What of the registry counts: records of registry.commit, one for each commit, and the points with
 * their cursors, which go with them. When the file is made anew, a record stands for a piece of the
 * registry instead of a commit; readers see no difference. */
#include "base/cursor.h"
#include "base/vec.h"
#include "broker/registry_inner.h"

#include <inttypes.h>

/* All points with their names, and what is said of the registry. */
enum { COMMIT_MOST = 256 + REGISTRY_POINTS * (16 + REGISTRY_POINT_NAME + 32) };

const struct record_kind registry_commit_kind = {"GARNERRG", 1, COMMIT_MOST};

void registry_points_free(struct registry_points *p)
{
	for (size_t i = 0; i < p->n; i++) {
		char *name = (char *)(uintptr_t)p->point[i].name;
		mem_free(&name);
	}
	mem_free(&p->point);
	mem_free(&p->more);
	*p = (struct registry_points){0};
}

static void points_print(struct buf *out, const struct registry_points *points, bool all)
{
	size_t n = 0;
	for (size_t i = 0; i < points->n; i++)
		n += all || points->more[i].changed || !points->more[i].known;
	put_varint(out, n);
	for (size_t i = 0; i < points->n; i++) {
		const struct registry_point_state *more = &points->more[i];
		if (!all && !more->changed && more->known)
			continue;
		put_varint(out, points->point[i].number);
		put_text(out, all || !more->known ? str_of(points->point[i].name) : STR(""));
		const struct source_cursor *cursor =
			more->changed ? &more->next : &points->point[i].cursor;
		buf_add(out, cursor->b, sizeof cursor->b);
	}
}

void registry_commit_print(struct buf *out, const struct registry_commit *commit,
			   const struct registry_points *points, bool all)
{
	put_varint(out, commit->base);
	put_varint(out, commit->kept);
	put_varint(out, commit->length);
	put_varint(out, commit->from);
	put_u64le(out, commit->hash);
	put_varint(out, commit->records);
	put_varint(out, commit->deleted);
	put_varint(out, commit->valid);
	put_varint(out, commit->oids);
	put_varint(out, commit->changed);
	put_varint(out, commit->commits);
	put_varint(out, commit->docs.file);
	put_varint(out, commit->docs.length);
	points_print(out, points, all);
}

static uint64_t number_parse(struct reader *r, uint64_t most)
{
	uint64_t v = reader_varint(r);
	if (v > most)
		r->bad = true;
	return v;
}

static void commit_parse(struct reader *r, struct registry_commit *ret)
{
	const uint64_t longest = (UINT64_C(1) << 48) - 1; /* offsets in tables have 6 bytes */
	ret->base = number_parse(r, INT64_MAX);
	ret->kept = number_parse(r, INT64_MAX);
	ret->length = number_parse(r, longest);
	ret->from = number_parse(r, ret->length);
	ret->hash = reader_u64le(r);
	ret->records = number_parse(r, UINT32_MAX);
	ret->deleted = number_parse(r, ret->records);
	ret->valid = number_parse(r, ret->records);
	ret->oids = number_parse(r, UINT32_MAX);
	ret->changed = number_parse(r, UINT32_MAX);
	ret->commits = number_parse(r, INT64_MAX);
	ret->docs.file = (uint32_t)number_parse(r, UINT32_MAX);
	ret->docs.length = number_parse(r, INT64_MAX);
	if (ret->from < REGISTRY_HEADER || ret->deleted + ret->valid != ret->records)
		r->bad = true;
}

/* A point that is known already, or the next new one. */
static int point_take(struct reader *r, struct registry_points *points)
{
	uint64_t number = reader_varint(r);
	struct str name = reader_text(r, REGISTRY_POINT_NAME);
	struct str cursor = reader_bytes(r, sizeof points->point->cursor.b);
	bool is_new = number == points->n + 1 && number <= REGISTRY_POINTS;
	if (r->bad || number == 0 || (!is_new && number > points->n) || (is_new && name.n == 0) ||
	    memchr(name.n ? name.p : "x", 0, MAX(name.n, (size_t)1)))
		return -1;
	if (is_new) {
		VEC_ROOM(points->more, points->more_room, points->n + 1);
		points->more[points->n] = (struct registry_point_state){.known = true};
		*VEC_PUSH(points->point, points->n, points->room) =
			(struct registry_point){.name = str_dup(name), .number = (uint32_t)number};
	}
	memcpy(points->point[number - 1].cursor.b, cursor.p, cursor.n);
	return 0;
}

int registry_commit_take(struct str payload, struct registry_commit *last,
			 struct registry_pieces *pieces, struct registry_points *points,
			 struct err *err)
{
	struct reader r = reader_of(payload);
	struct registry_commit commit = {0};
	commit_parse(&r, &commit);
	uint64_t n = number_parse(&r, REGISTRY_POINTS);
	bool first = last->length == 0;
	if (r.bad)
		return err_set(err, ERR_DAMAGED, "not a commit");
	if (first ? commit.from != REGISTRY_HEADER
		  : commit.base != last->base || commit.kept != last->kept ||
			    commit.from != last->length || commit.commits < last->commits ||
			    commit.oids < last->oids || commit.changed < last->changed)
		return err_set(err, ERR_DAMAGED,
			       "commit %" PRIu64 " does not go on after the one before it",
			       commit.commits);
	for (uint64_t i = 0; i < n; i++)
		if (point_take(&r, points) < 0)
			return err_set(err, ERR_DAMAGED, "commit %" PRIu64 ": not a point",
				       commit.commits);
	if (reader_left(&r))
		return err_set(err, ERR_DAMAGED, "commit %" PRIu64 " is longer than its fields",
			       commit.commits);
	if (commit.length > commit.from)
		*VEC_PUSH(pieces->piece, pieces->n, pieces->room) =
			(struct registry_piece){commit.from, commit.length, commit.hash};
	*last = commit;
	return 0;
}

int registry_commit_write(const char *path, const struct registry_commit *commit,
			  const struct registry_pieces *pieces,
			  const struct registry_points *points, struct err *err)
{
	CLEANUP(buf_free) struct buf payload = BUF_INIT(COMMIT_MOST);
	static const struct registry_points none;
	struct record_writer *w = NULL;
	struct record_group group = {0};
	if (file_remove(path, err) < 0 ||
	    record_open(&w, path, &registry_commit_kind, 0640, NULL, err) < 0)
		return -1;
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < MAX(pieces->n, (size_t)1); i++) {
		struct registry_commit c = *commit;
		c.from = c.length = REGISTRY_HEADER;
		if (pieces->n) {
			c.from = pieces->piece[i].from;
			c.length = pieces->piece[i].to;
			c.hash = pieces->piece[i].hash;
		}
		buf_clear(&payload);
		registry_commit_print(&payload, &c, i ? &none : points, true);
		rc = record_append(w, buf_str(&payload), &group, NULL, err);
	}
	if (rc < 0) {
		record_drop(&w);
		return -1;
	}
	return record_close(&w, err);
}

int registry_commit_show(struct str payload, struct buf *out, struct err *err)
{
	struct reader r = reader_of(payload);
	struct registry_commit c = {0};
	commit_parse(&r, &c);
	uint64_t n = number_parse(&r, REGISTRY_POINTS);
	buf_printf(out,
		   "commit %" PRIu64 ": bytes %" PRIu64 " to %" PRIu64 ", hash %016" PRIx64
		   ", base %" PRIu64 ", kept %" PRIu64 ", %" PRIu64 " records, %" PRIu64
		   " deleted, %" PRIu64 " valid, %" PRIu64 " oids, changed %" PRIu64
		   ", documents %" PRIu32 ":%" PRIu64,
		   c.commits, c.from, c.length, c.hash, c.base, c.kept, c.records, c.deleted,
		   c.valid, c.oids, c.changed, c.docs.file, c.docs.length);
	for (uint64_t i = 0; i < n && !r.bad; i++) {
		char digits[2 * sizeof(struct source_cursor) + 1];
		uint64_t number = reader_varint(&r);
		struct str name = reader_text(&r, REGISTRY_POINT_NAME);
		struct str cursor = reader_bytes(&r, sizeof(struct source_cursor));
		if (r.bad)
			break;
		hex_print((const unsigned char *)cursor.p, cursor.n, digits);
		buf_printf(out, ", point %" PRIu64 " " STR_FMT " at %s", number, STR_ARG(name),
			   digits);
	}
	return r.bad || reader_left(&r) ? err_set(err, ERR_DAMAGED, "not a commit") : 0;
}
