/* One who keeps a bucket file, as a crawl does: appends, checkpoints, deletes, shakes down, trains
 * dictionaries, until it is killed; for bucket_rounds.py.
 *
 *	bucket_writer points           the fault points of bucket files, one a line
 *	bucket_writer write FILE N     N rounds (0: for ever)
 *	bucket_writer fix FILE         audits and fixes
 *	bucket_writer check FILE       mends as a start does, then looks at every bucket; a line
 *	                               "lost NUMBER" for each that is missing, then "kept N"
 *
 * Buckets are numbered; all that is in one follows from its number. FILE.note is what a state
 * would be: the checkpoint, and under which oid each number is found. A line "NUMBER" on standard
 * output means: all numbers below it are kept. */
#include "base/cursor.h"
#include "base/file.h"
#include "bucket/bucket_attrs.h"
#include "bucket/bucket_shake.h"
#include "disk/record.h"
#include "points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NUMBERS = 200000, TRIES = 100000, DELETE_EVERY = 5, SHAKE_EVERY = 11, TRAIN_EVERY = 29 };

struct keeper {
	const char *path;
	char note_path[4096];
	struct buckets *b;
	struct bucket_packer *packer;
	uint64_t length;  /* of the checkpoint */
	uint64_t applied; /* the last report of a shakedown that oid[] has */
	uint32_t n;       /* numbers that are noted */
	uint32_t *oid;    /* of each; BUCKET_DELETED: it may be gone */
};

static int fail(const char *what)
{
	fprintf(stderr, "bucket_writer: %s\n", what);
	return -1;
}

static uint64_t mix(uint64_t v)
{
	v = (v + 1) * 0x9e3779b97f4a7c15u;
	return v ^ v >> 29;
}

/* What is in a bucket */

static size_t body_size(uint32_t number)
{
	uint64_t m = mix(number);
	return m % 97 == 0 ? 1100000 + m % 9999 : m % 7 == 0 ? 9000 + m % 3000 : m % 700;
}

/* Every other one can be packed. */
static void make_body(uint32_t number, struct buf *out)
{
	static const char *const words[] = {"one ", "word ", "and ", "another\n"};
	uint64_t x = mix(number) | 1;
	buf_clear(out);
	while (out->n < body_size(number)) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (number % 2)
			buf_add_byte(out, (char)x);
		else
			buf_add_text(out, words[x % 4]);
	}
}

static int put_number(struct keeper *k, uint32_t number, uint32_t *ret_oid, struct err *err)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(4 << 20);
	char name[16];
	snprintf(name, sizeof name, "%" PRIu32, number);
	make_body(number, &body);
	struct attr u[] = {{'O', str_of(name)}}, x[] = {{'X', buf_str(&body)}};
	struct attrs header = {u, 1, 1}, content = {x, 1, 1};
	return bucket_put(k->b, k->packer, &header, &content, ret_oid, err);
}

static int number_of(const struct attrs *header, uint32_t *ret)
{
	uint64_t number;
	if (header->n != 1 || !str_u64(attrs_get(header, 'O'), &number) || number >= NUMBERS)
		return fail("a bucket without a number");
	*ret = (uint32_t)number;
	return 0;
}

static int is_number(const struct attrs *header, const struct attrs *content, uint32_t number)
{
	CLEANUP(buf_free) struct buf body = BUF_INIT(4 << 20);
	uint32_t found;
	if (number_of(header, &found) < 0)
		return -1;
	make_body(number, &body);
	if (found != number || content->n != 1 || !str_eq(content->a[0].value, buf_str(&body)))
		return fail("a bucket with other bytes than were written");
	return 0;
}

/* The note */

static int save(struct keeper *k, struct err *err)
{
	CLEANUP(buf_free) struct buf note = BUF_INIT(32 + 4 * NUMBERS);
	put_u64le(&note, k->length);
	put_u64le(&note, k->applied);
	for (uint32_t i = 0; i < k->n; i++)
		put_u32le(&note, k->oid[i]);
	return file_replace(k->note_path, buf_str(&note), 0644, err);
}

static int load(struct keeper *k, struct err *err)
{
	CLEANUP(buf_free) struct buf note = BUF_INIT(32 + 4 * NUMBERS);
	int rc = file_slurp(k->note_path, &note, err);
	if (rc)
		return rc < 0 ? rc : 0;
	struct reader r = reader_of(buf_str(&note));
	k->length = reader_u64le(&r);
	k->applied = reader_u64le(&r);
	for (k->n = 0; reader_left(&r); k->n++)
		k->oid[k->n] = reader_u32le(&r);
	return r.bad ? fail("the note is cut off") : 0;
}

static void say(uint32_t number)
{
	char line[32];
	int n = snprintf(line, sizeof line, "%" PRIu32 "\n", number);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		abort();
}

static int sync_and_note(struct keeper *k, uint32_t n, struct err *err)
{
	if (bucket_sync(k->b, &k->length, err) < 0)
		return -1;
	k->n = n;
	if (save(k, err) < 0)
		return -1;
	say(n);
	return 0;
}

/* Moves: old numbers ascend in the report, not in the note. */
static int by_from(const void *a, const void *b)
{
	const struct bucket_move *x = a, *y = b;
	return (x->from > y->from) - (x->from < y->from);
}

/* The random number at the beginning of a report, by which one is told from another. */
static uint64_t report_id(const struct keeper *k)
{
	static const struct record_kind kind = {"GARNERBM", 1, 1 << 20};
	struct record_reader *in = NULL;
	struct record first;
	char path[4096 + 8];
	struct err err;
	uint64_t id = 0;
	snprintf(path, sizeof path, "%s.moves", k->path);
	if (record_reader_open(&in, path, &kind, &err) == 0 && record_next(in, &first, &err) == 0) {
		struct reader r = reader_of(str_from(first.payload, 4));
		id = reader_u64le(&r);
	}
	record_reader_free(&in);
	return id;
}

static int renumber(struct keeper *k, struct bucket_moves *m, struct err *err)
{
	struct bucket_move *moves = mem_array(NUMBERS, sizeof *moves);
	size_t n = 0;
	int rc;
	while ((rc = bucket_moves_next(m, &moves[n], err)) == 0)
		n++;
	for (uint32_t i = 0; rc == 1 && i < k->n; i++) {
		struct bucket_move want = {.from = k->oid[i]}, *at;
		if (k->oid[i] == BUCKET_DELETED)
			continue;
		at = bsearch(&want, moves, n, sizeof *moves, by_from);
		if (!at)
			rc = err_set(err, ERR_DAMAGED, "number %" PRIu32 " is in no report", i);
		else
			k->oid[i] = at->to;
	}
	mem_free(&moves);
	return rc < 0 ? rc : 0;
}

/* What a report says that was not yet noted is noted; then it goes. The handle is open. */
static int work_off(struct keeper *k, struct err *err)
{
	struct bucket_moves *m = NULL;
	int rc = bucket_moves_open(&m, k->path, err);
	if (rc)
		return rc;
	uint64_t id = report_id(k);
	if (id != k->applied) {
		rc = renumber(k, m, err);
		k->length = bucket_length(k->b);
		k->applied = id;
		if (rc == 0)
			rc = save(k, err);
	}
	bucket_moves_close(&m);
	return rc < 0 ? rc : bucket_moves_done(k->path, err);
}

/* As a start does: a report is worked off, else everything after the checkpoint is cut. */
static int start(struct keeper *k, struct err *err)
{
	struct bucket_moves *m = NULL;
	struct bucket_options o = {.mode = BUCKET_WRITE};
	if (load(k, err) < 0)
		return -1;
	int rc = bucket_moves_open(&m, k->path, err);
	if (rc == 0 && report_id(k) == k->applied)
		rc = bucket_moves_done(k->path, err) < 0 ? -1 : 1;
	bucket_moves_close(&m);
	if (rc == 1)
		rc = bucket_cut_file(k->path, 0, k->length, NULL, err);
	if (rc < 0 || bucket_open(&k->b, k->path, &o, err) < 0)
		return -1;
	rc = work_off(k, err);
	return rc < 0 ? rc : 0;
}

/* A round */

static int append_some(struct keeper *k, uint64_t round, struct err *err)
{
	uint32_t n = k->n, most = (uint32_t)(1 + mix(round) % 12);
	for (uint32_t i = 0; i < most; i++, n++)
		if (put_number(k, n, &k->oid[n], err) < 0)
			return -1;
	return sync_and_note(k, n, err);
}

/* Noted first: what is deleted in the file cannot be brought back. */
static int delete_some(struct keeper *k, uint64_t round, struct err *err)
{
	uint32_t doomed[8], n = 0;
	for (uint32_t i = 0; i < 3 && k->n; i++) {
		uint32_t number = (uint32_t)(mix(round + i) % k->n);
		if (k->oid[number] != BUCKET_DELETED)
			doomed[n++] = k->oid[number];
		k->oid[number] = BUCKET_DELETED;
	}
	if (save(k, err) < 0)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		if (bucket_delete(k->b, doomed[i], err) < 0)
			return -1;
	return 0;
}

/* Drops what the note has given up, and packs one of ten anew. */
static int decide(void *ctx, const struct bucket *old, uint32_t new_oid, struct bucket_fate *fate,
		  struct err *err)
{
	struct keeper *k = ctx;
	struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header;
	uint32_t number = 0;
	(void)new_oid;
	(void)fate;
	int rc = bucket_header(old->type, old->data, &arena, &header, NULL, err);
	if (rc == 0)
		rc = number_of(&header, &number);
	arena_free(&arena);
	return rc < 0 ? rc : number < k->n && k->oid[number] == BUCKET_DELETED;
}

static int shake(struct keeper *k, struct err *err)
{
	struct bucket_shaken sum;
	if (bucket_shakedown(k->b, decide, k, &sum, err) < 0)
		return -1;
	return work_off(k, err);
}

static int one_round(struct keeper *k, uint64_t round, struct err *err)
{
	unsigned kept;
	if (append_some(k, round, err) < 0 ||
	    (round % DELETE_EVERY == 2 && delete_some(k, round, err) < 0) ||
	    (round % SHAKE_EVERY == 4 && shake(k, err) < 0) ||
	    (round % TRAIN_EVERY == 9 && bucket_train(k->b, k->packer, &kept, err) < 0))
		return -1;
	return 0;
}

static void stop(struct keeper *k)
{
	bucket_drop(&k->b);
	bucket_packer_free(&k->packer);
}

static int begin(struct keeper *k, struct err *err)
{
	struct arena arena = ARENA_INIT(1 << 16);
	k->packer = bucket_packer_new(bucket_dict_path(&arena, k->path));
	arena_free(&arena);
	return start(k, err);
}

/* After a refusal everything begins anew from what is on disk. */
static int write_rounds(struct keeper *k, uint64_t rounds)
{
	struct err err = {0};
	int tries = 0;
	for (uint64_t done = 0; (rounds == 0 || done < rounds) && k->n + 20 < NUMBERS;) {
		int rc = k->b ? 0 : begin(k, &err);
		if (rc == 0 && one_round(k, k->n * 31u + done, &err) == 0) {
			done++;
			tries = 0;
			continue;
		}
		if (tries++ == 0)
			fprintf(stderr, "refused: %s\n", err.msg);
		if (tries == TRIES)
			return fail("refused too often");
		stop(k);
		usleep(1000);
	}
	return 0;
}

/* Looking */

static int look_at_numbers(struct keeper *k, struct err *err)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		struct arena arena = ARENA_INIT(BUCKET_ARENA);
		struct attrs header, content;
		if (k->oid[i] == BUCKET_DELETED)
			continue;
		int rc = bucket_get(k->b, k->packer, k->oid[i], &arena, &header, &content, err);
		if (rc == 0)
			rc = is_number(&header, &content, i);
		else if (rc < 0)
			fprintf(stderr, "%s\n", err->msg);
		arena_free(&arena);
		if (rc == 0)
			kept++;
		else
			printf("lost %" PRIu32 "\n", i);
	}
	printf("kept %" PRIu32 "\nnoted %" PRIu32 "\n", kept, k->n);
	return 0;
}

/* Nothing is there that is not in the note, except what was given up. */
static int look_at_file(struct keeper *k, struct err *err)
{
	struct bucket_scan scan;
	struct bucket bucket;
	int rc;
	if (bucket_scan_init(&scan, k->b, 0, 0, err) < 0)
		return -1;
	while ((rc = bucket_scan_next(&scan, &bucket, err)) == 0) {
		struct arena arena = ARENA_INIT(BUCKET_ARENA);
		struct attrs header;
		uint32_t number = 0;
		if (!bucket.deleted) {
			rc = bucket_header(bucket.type, bucket.data, &arena, &header, NULL, err);
			if (rc == 0)
				rc = number_of(&header, &number);
			if (rc == 0 && (number >= k->n || (k->oid[number] != bucket.oid &&
							   k->oid[number] != BUCKET_DELETED)))
				rc = err_set(err, ERR_DAMAGED,
					     "number %" PRIu32 " is there, but not noted", number);
		}
		arena_free(&arena);
		if (rc < 0)
			break;
	}
	bool torn = scan.torn;
	uint64_t torn_at = scan.torn_at;
	bucket_scan_done(&scan);
	return torn ? err_set(err, ERR_DAMAGED, "torn at %" PRIu64, torn_at) : rc < 0 ? rc : 0;
}

static int check(struct keeper *k)
{
	struct err err = {0};
	if (begin(k, &err) < 0 || look_at_file(k, &err) < 0 || look_at_numbers(k, &err) < 0)
		return fail(err.msg);
	return 0;
}

static void tell(void *ctx, const struct bucket_problem *problem)
{
	(void)ctx;
	printf("problem %08" PRIx32 " %s\n", problem->oid, problem->reason);
}

static int fix(struct keeper *k)
{
	struct err err = {0};
	struct bucket_audit sum;
	struct bucket_options o = {.mode = BUCKET_WRITE, .unchecked = true, .shift = BUCKET_SHIFT};
	if (bucket_open(&k->b, k->path, &o, &err) != 0 ||
	    bucket_fix(k->b, tell, NULL, &sum, &err) < 0)
		return fail(err.msg);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err;
	struct keeper k = {.path = argc > 2 ? argv[2] : ""};
	int rc = -1;
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail(err.msg), 2;
	snprintf(k.note_path, sizeof k.note_path, "%s.note", k.path);
	k.oid = mem_array(NUMBERS, sizeof *k.oid);
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		rc = POINTS_PRINT("bucket.");
	else if (argc == 4 && strcmp(argv[1], "write") == 0)
		rc = write_rounds(&k, strtoull(argv[3], NULL, 10));
	else if (argc == 3 && strcmp(argv[1], "check") == 0)
		rc = check(&k);
	else if (argc == 3 && strcmp(argv[1], "fix") == 0)
		rc = fix(&k);
	else
		return fail("usage: points | write FILE ROUNDS | check FILE | fix FILE"), 2;
	stop(&k);
	mem_free(&k.oid);
	return rc < 0;
}
