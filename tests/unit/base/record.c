/* Record files: what is there after cuts, flips, holes and refusals. record_threads.c has those
 * with several writers. */
#include "base/fault.h"
#include "base/file.h"
#include "base/record_frame.h"

#include "../scratch.h"

#include <errno.h>
#include <fcntl.h>

static const struct record_kind kind = {.magic = "GARNERT1", .version = 3, .most = 3 << 20};
enum { MARK = FRAME_MARK, HEAD = FRAME_HEAD };

static struct record_writer *open_file(const char *path)
{
	struct record_writer *w = NULL;
	struct err err = {0};
	if (record_open(&w, path, &kind, 0644, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	return w;
}

static void close_file(struct record_writer *w)
{
	struct err err = {0};
	if (record_close(&w, &err) < 0)
		fail_msg("%s", err.msg);
	assert_null(w);
}

static struct record_place append(struct record_writer *w, struct str s, struct record_group *g)
{
	struct err err = {0};
	struct record_place place;
	if (record_append(w, s, g, &place, &err) < 0)
		fail_msg("%s", err.msg);
	return place;
}

static void sync_group(struct record_writer *w, struct record_group *g)
{
	struct err err = {0};
	if (record_sync(w, g, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(g->first, 0);
	assert_int_equal(g->last, 0);
}

/* Record number i of a test: any length, empty ones among them, and bytes that follow from i. */
static struct str numbered(unsigned i)
{
	static char p[512];
	size_t n = i % 5 == 0 ? 0 : i * 37 % 90;
	for (size_t k = 0; k < n; k++)
		p[k] = (char)(i * 31 + k * 7);
	return (struct str){p, n};
}

static void append_numbered(struct record_writer *w, unsigned from, unsigned to,
			    struct record_group *g)
{
	for (unsigned i = from; i < to; i++)
		append(w, numbered(i), g);
}

/* Reads until there is no more; every record must be the numbered one. Returns how many; *ret_rc is
 * the last answer. */
static unsigned count_numbered(const char *path, int *ret_rc, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	unsigned n = 0;
	*ret_rc = record_reader_open(&r, path, &kind, err);
	while (*ret_rc == 0 && (*ret_rc = record_next(r, &record, err)) == 0) {
		struct str want = numbered(n++);
		assert_int_equal(record.payload.n, want.n);
		assert_memory_equal(record.payload.p, want.p, want.n);
		assert_int_equal(record.place.next - record.place.at, HEAD + want.n);
	}
	record_reader_free(&r);
	return n;
}

static void assert_numbered(const char *path, unsigned want)
{
	struct err err = {0};
	int rc;
	unsigned n = count_numbered(path, &rc, &err);
	if (rc < 0)
		fail_msg("after %u: %s", n, err.msg);
	assert_int_equal(n, want);
}

static struct buf slurp(const char *path)
{
	struct buf b = BUF_INIT(64 << 20);
	struct err err = {0};
	assert_int_equal(file_slurp(path, &b, &err), 0);
	return b;
}

static void put(const char *path, struct str bytes)
{
	struct file f;
	struct err err = {0};
	assert_int_equal(file_open(&f, path, O_WRONLY | O_CREAT | O_TRUNC, 0644, &err), 0);
	assert_int_equal(file_write(&f, bytes.p, bytes.n, 0, &err), 0);
	file_drop(&f);
}

static void a_new_file_is_empty_and_reopens(void **state)
{
	(void)state;
	const char *path = scratch("new");
	struct record_writer *w = open_file(path);
	assert_int_equal(record_end(w), RECORD_HEADER);
	assert_int_equal(record_durable(w), RECORD_HEADER);
	close_file(w);
	assert_numbered(path, 0);
	close_file(open_file(path));
	assert_numbered(path, 0);
	w = NULL;
	struct err err;
	assert_int_equal(record_close(&w, &err), 0);
	record_drop(&w);
}

static void records_come_back_in_order_across_openings(void **state)
{
	(void)state;
	const char *path = scratch("order");
	struct record_group g = {0};
	for (unsigned round = 0; round < 5; round++) {
		struct record_writer *w = open_file(path);
		append_numbered(w, round * 20, round * 20 + 10, &g);
		sync_group(w, &g);
		append_numbered(w, round * 20 + 10, round * 20 + 20, &g);
		if (round % 2)
			sync_group(w, &g);
		close_file(w);
		g = (struct record_group){0};
		assert_numbered(path, round * 20 + 20);
	}
}

static void a_place_leads_back_to_its_record(void **state)
{
	(void)state;
	const char *path = scratch("places");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_place place[50];
	for (unsigned i = 0; i < 50; i++) {
		place[i] = append(w, numbered(i), &g);
		if (i % 7 == 0)
			sync_group(w, &g);
	}
	close_file(w);
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (unsigned k = 0; k < 50; k++) {
		unsigned i = k * 17 % 50;
		record_seek(r, place[i].at);
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.place.at, place[i].at);
		assert_int_equal(record.place.next, place[i].next);
		assert_int_equal(record.payload.n, numbered(i).n);
		assert_int_equal(record_tell(r), place[i].next);
	}
	record_seek(r, 0);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record.place.at, place[0].at);
	record_reader_free(&r);
}

static void large_records_are_whole_and_larger_ones_refused(void **state)
{
	(void)state;
	const char *path = scratch("large");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	char *big = mem_alloc((size_t)kind.most + 1);
	for (size_t i = 0; i <= kind.most; i++)
		big[i] = (char)(i * 13 >> 3);
	append(w, STR("first"), &g);
	append(w, (struct str){big, kind.most}, &g);
	append(w, STR("between"), &g);
	append(w, (struct str){big, 1 << 20}, &g);
	append(w, (struct str){big, (1 << 20) - HEAD - MARK}, &g);
	uint64_t end = record_end(w);
	assert_int_equal(record_append(w, (struct str){big, kind.most + 1}, &g, NULL, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	assert_non_null(strstr(err.msg, "3145729 bytes; at most 3145728"));
	assert_int_equal(record_end(w), end);
	sync_group(w, &g);
	close_file(w);
	struct record_reader *r;
	struct record record;
	static const size_t sizes[] = {5, 3 << 20, 7, 1 << 20, (1 << 20) - HEAD - MARK};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.payload.n, sizes[i]);
		if (sizes[i] > 7)
			assert_memory_equal(record.payload.p, big, sizes[i]);
	}
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
	mem_free(&big);
}

static void a_group_is_open_until_it_is_synced(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("open"));
	struct record_group g = {0}, other = {0};
	struct err err = {0};
	assert_int_equal(record_check(w, &g, &err), 0);
	append(w, STR("x"), &g);
	append(w, STR("y"), &other);
	assert_int_equal(record_check(w, &g, &err), 1);
	assert_int_equal(record_durable(w), RECORD_HEADER);
	sync_group(w, &g);
	assert_int_equal(record_check(w, &other, &err), 0);
	assert_int_equal(record_durable(w), record_end(w));
	sync_group(w, &g);
	close_file(w);
}

static void one_process_writes_at_a_time(void **state)
{
	(void)state;
	struct record_writer *w = open_file(scratch("busy")), *second = NULL;
	struct err err = {0};
	assert_int_equal(record_open(&second, scratch("busy"), &kind, 0644, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_null(second);
	close_file(w);
	close_file(open_file(scratch("busy")));
}

static void files_of_others_are_refused_and_left_alone(void **state)
{
	(void)state;
	static const char *const foreign[] = {"x", "GARNERT2", "GARNERT2 and some more of it",
					      "a longer text that is not a record file at all"};
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		struct record_writer *w = NULL;
		struct record_reader *r = NULL;
		struct err err = {0};
		const char *path = scratch("foreign");
		put(path, str_of(foreign[i]));
		assert_int_equal(record_open(&w, path, &kind, 0644, NULL, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_int_equal(record_reader_open(&r, path, &kind, &err), -1);
		struct buf b = slurp(path);
		assert_string_equal(buf_text(&b), foreign[i]);
		buf_free(&b);
	}
}

static void another_version_or_kind_is_refused_by_name(void **state)
{
	(void)state;
	struct record_kind newer = kind, other = kind;
	newer.version++;
	memcpy(other.magic, "GARNERT9", 8);
	const char *path = scratch("kinds");
	close_file(open_file(path));
	struct record_reader *r = NULL;
	struct record_writer *w = NULL;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &newer, &err), -1);
	assert_non_null(strstr(err.msg, "version 3, framing 1; this program knows version 4"));
	assert_int_equal(record_open(&w, path, &other, 0644, NULL, &err), -1);
	assert_non_null(strstr(err.msg, "magic GARNERT9"));
	assert_int_equal(record_reader_open(&r, path, NULL, &err), 0);
	record_reader_free(&r);
	assert_int_equal(record_reader_open(&r, scratch("absent"), &kind, &err), 1);
}

/* Cuts */

/* Groups of several sizes, closed or as a killed writer leaves it. */
static struct buf sample(const char *path, unsigned n, bool closed, uint64_t next[])
{
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	for (unsigned i = 0; i < n; i++) {
		next[i] = append(w, numbered(i), &g).next;
		if (i % 4 == 3)
			sync_group(w, &g);
	}
	sync_group(w, &g);
	if (!closed)
		record_drop(&w);
	else
		close_file(w);
	return slurp(path);
}

static void check_every_cut(bool closed)
{
	uint64_t next[18];
	struct buf whole =
		sample(scratch(closed ? "whole" : "killed"), ARRAY_LEN(next), closed, next);
	const char *path = scratch("cut");
	for (size_t cut = 0; cut <= whole.n; cut++) {
		unsigned want = 0;
		while (want < ARRAY_LEN(next) && next[want] <= cut)
			want++;
		put(path, str_head(buf_str(&whole), cut));
		assert_numbered(path, want);
		struct record_writer *w = NULL;
		struct err err = {0};
		uint64_t lost = 99;
		if (record_open(&w, path, &kind, 0644, &lost, &err) < 0)
			fail_msg("cut at %zu: %s", cut, err.msg);
		assert_true(lost < HEAD + 90 + MARK);
		assert_numbered(path, want);
		struct record_group g = {0};
		append_numbered(w, want, want + 3, &g);
		sync_group(w, &g);
		if (cut % 2)
			record_drop(&w);
		else
			close_file(w);
		assert_numbered(path, want + 3);
	}
	buf_free(&whole);
}

static void a_closed_file_cut_at_every_byte_has_exactly_its_complete_records(void **state)
{
	(void)state;
	check_every_cut(true);
}

static void a_killed_file_cut_at_every_byte_has_exactly_its_complete_records(void **state)
{
	(void)state;
	check_every_cut(false);
}

static void the_bytes_cut_off_are_told(void **state)
{
	(void)state;
	uint64_t next[3], cut = 7;
	const char *path = scratch("told");
	struct buf b = sample(path, 3, true, next);
	struct record_writer *w;
	struct err err = {0};
	assert_int_equal(record_open(&w, path, &kind, 0644, &cut, &err), 0);
	assert_int_equal(cut, 0);
	close_file(w);
	buf_add_text(&b, "garbage behind it");
	put(path, buf_str(&b));
	assert_int_equal(record_open(&w, path, &kind, 0644, &cut, &err), 0);
	assert_int_equal(cut, 17);
	close_file(w);
	assert_numbered(path, 3);
	buf_free(&b);
}

static void ends_of_zeroes_or_noise_are_cut_off(void **state)
{
	(void)state;
	uint64_t next[6];
	struct buf b = sample(scratch("ends"), 6, false, next);
	const char *path = scratch("ends2");
	size_t n = b.n;
	for (unsigned fill = 0; fill < 256; fill += 51) {
		b.n = n;
		buf_fill(&b, (char)fill, 70000);
		put(path, buf_str(&b));
		assert_numbered(path, 6);
		close_file(open_file(path));
		assert_numbered(path, 6);
		struct buf mended = slurp(path);
		assert_int_equal(mended.n, n + MARK);
		buf_free(&mended);
	}
	buf_free(&b);
}

/* After a power cut pages of the end may be missing although later ones are there. */
static void a_hole_in_what_was_never_synced_is_a_torn_end(void **state)
{
	(void)state;
	const char *path = scratch("hole");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	append_numbered(w, 0, 100, &g);
	sync_group(w, &g);
	uint64_t synced = record_durable(w), end = synced;
	unsigned n = 100;
	for (; end < 3 << 20; n++)
		end = append(w, numbered(n), &g).next;
	struct buf b = slurp(path);
	record_drop(&w);
	assert_true(b.n > 2 << 20);
	size_t hole = (1 << 20) + 4096;
	memset(b.p + hole, 0, 4096);
	put(path, buf_str(&b));
	struct err err = {0};
	int rc;
	unsigned before = count_numbered(path, &rc, &err);
	assert_int_equal(rc, 1);
	assert_true(before > 100 && before < n);
	close_file(open_file(path));
	assert_numbered(path, before);
	struct buf mended = slurp(path);
	assert_true(mended.n <= hole + MARK);
	buf_free(&mended);
	/* the same hole where it was synced is damage */
	memset(b.p + 2000, 0, 512);
	put(path, buf_str(&b));
	(void)count_numbered(path, &rc, &err);
	assert_int_equal(rc, -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	buf_free(&b);
}

static void every_flipped_bit_is_noticed_and_nothing_is_cut(void **state)
{
	(void)state;
	uint64_t next[14];
	struct buf whole = sample(scratch("flip"), ARRAY_LEN(next), true, next);
	const char *path = scratch("flip2");
	uint64_t last = next[ARRAY_LEN(next) - 1];
	for (size_t at = 0; at < whole.n; at++) {
		whole.p[at] = (char)(whole.p[at] ^ (1 << at % 8));
		put(path, buf_str(&whole));
		struct err err = {0};
		int rc;
		unsigned n = count_numbered(path, &rc, &err);
		if (at < last) {
			assert_int_equal(rc, -1);
			assert_int_equal(err.code, ERR_DAMAGED);
			assert_true(n == 0 || next[n - 1] <= at);
		} else { /* the last mark only */
			assert_int_equal(rc, 1);
			assert_int_equal(n, ARRAY_LEN(next));
		}
		struct record_writer *w = NULL;
		if (record_open(&w, path, &kind, 0644, NULL, &err) == 0) {
			close_file(w);
			assert_true(at >= RECORD_HEADER);
			assert_int_equal(count_numbered(path, &rc, &err), n);
			assert_int_equal(rc, at < last ? -1 : 1);
		}
		struct buf now = slurp(path);
		assert_true(now.n >= last);
		assert_memory_equal(now.p, whole.p, last);
		buf_free(&now);
		whole.p[at] = (char)(whole.p[at] ^ (1 << at % 8));
	}
	buf_free(&whole);
}

/* Nothing says that the last group of a killed writer was durable, so what is bad in it and behind
 * is cut; everything before stays. */
static void a_flip_in_the_last_group_of_a_killed_writer_costs_that_group_at_most(void **state)
{
	(void)state;
	uint64_t next[12];
	struct buf whole = sample(scratch("tail"), ARRAY_LEN(next), false, next);
	const char *path = scratch("tail2");
	for (size_t at = next[7]; at < whole.n; at++) {
		whole.p[at] = (char)(whole.p[at] ^ 4);
		put(path, buf_str(&whole));
		close_file(open_file(path));
		struct err err = {0};
		int rc;
		unsigned n = count_numbered(path, &rc, &err);
		assert_int_equal(rc, 1);
		assert_true(n >= 8 && n < 12);
		whole.p[at] = (char)(whole.p[at] ^ 4);
	}
	buf_free(&whole);
}

/* A copy of a mark has the salt and the checksum of the file, but not its place. */
static void a_copy_of_a_mark_in_a_payload_is_only_payload(void **state)
{
	(void)state;
	const char *path = scratch("copy");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	static char large[3000];
	append_numbered(w, 0, 40, &g);
	sync_group(w, &g);
	uint64_t place = record_end(w);
	append(w, STR("x"), &g);
	sync_group(w, &g);
	struct buf b = slurp(path);
	struct str mark = str_head(str_from(buf_str(&b), place), MARK);
	assert_memory_equal(mark.p + 8, b.p + 16, 8); /* the salt: it is one */
	assert_true(place > RECORD_HEADER + MARK && place < sizeof large);
	assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
	append(w, (struct str){large, sizeof large}, &g);
	append(w, mark, &g);
	sync_group(w, &g);
	record_drop(&w);
	buf_free(&b);
	b = slurp(path);
	b.p[RECORD_HEADER + MARK + 100] ^= 1; /* before the place that the copy calls durable */
	put(path, buf_str(&b));
	assert_numbered(path, 0);
	w = open_file(path);
	assert_int_equal(record_end(w), RECORD_HEADER + MARK);
	close_file(w);
	assert_numbered(path, 0);
	buf_free(&b);
}

static void a_mark_that_calls_more_durable_than_there_is_counts_for_nothing(void **state)
{
	(void)state;
	const char *path = scratch("boast");
	uint64_t next[3];
	struct buf b = sample(path, 3, false, next);
	struct frame_file file;
	struct err err = {0};
	unsigned char mark[FRAME_MARK];
	assert_int_equal(frame_header_read((unsigned char *)b.p, &kind, path, &file, &err), 0);
	uint64_t durable[] = {b.n + 1, b.n + MARK, UINT64_MAX, 0, RECORD_HEADER - 1};
	size_t n = b.n;
	for (size_t i = 0; i < ARRAY_LEN(durable); i++) {
		frame_mark_make(&file, (struct frame_mark){n, durable[i]}, mark);
		b.n = n;
		buf_add(&b, mark, sizeof mark);
		put(path, buf_str(&b));
		assert_numbered(path, 3);
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		assert_true(record_end(w) <= b.n);
		append(w, numbered(3), &g);
		sync_group(w, &g);
		close_file(w);
		assert_numbered(path, 4);
	}
	buf_free(&b);
}

/* Wherever the last mark lies, counted from the end. */
static void the_last_mark_is_found_from_any_distance(void **state)
{
	(void)state;
	const char *path = scratch("distance");
	static char tail[70000];
	for (size_t n = (64 << 10) - 50; n < (64 << 10) + 10; n++) {
		struct err err = {0};
		assert_true(file_remove(path, &err) >= 0);
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		struct record_place place = append(w, STR("abc"), &g);
		sync_group(w, &g);
		append(w, (struct str){tail, n}, &g);
		sync_group(w, &g);
		record_drop(&w);
		struct buf b = slurp(path);
		b.p[place.next - 1] ^= 1;
		put(path, buf_str(&b));
		buf_free(&b);
		struct record_reader *r;
		struct record record;
		assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
		assert_int_equal(record_next(r, &record, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		record_reader_free(&r);
	}
}

/* Checkpoints */

static void a_file_can_be_cut_to_any_checkpoint(void **state)
{
	(void)state;
	const char *path = scratch("checkpoint");
	struct err err = {0};
	for (unsigned keep = 0; keep <= 10; keep++) {
		struct record_writer *w = open_file(path);
		struct record_group g = {0};
		uint64_t at[12] = {RECORD_HEADER};
		assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
		for (unsigned i = 0; i < 10; i++) {
			at[i + 1] = append(w, numbered(i), &g).next;
			if (i % 3 == 0)
				sync_group(w, &g);
		}
		if (record_truncate(w, at[keep], &err) < 0)
			fail_msg("%s", err.msg);
		assert_int_equal(record_durable(w), at[keep]);
		assert_int_equal(record_end(w), at[keep]);
		assert_numbered(path, keep);
		if (keep % 2) {
			append_numbered(w, keep, keep + 2, &g);
			sync_group(w, &g);
		}
		if (keep % 3)
			record_drop(&w);
		else
			close_file(w);
		assert_numbered(path, keep + keep % 2 * 2);
		close_file(open_file(path));
		assert_numbered(path, keep + keep % 2 * 2);
	}
}

static void places_that_are_no_checkpoints_are_refused(void **state)
{
	(void)state;
	const char *path = scratch("nocheckpoint");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct err err = {0};
	append_numbered(w, 0, 10, &g);
	sync_group(w, &g);
	uint64_t end = record_end(w);
	struct record_place place = append(w, numbered(10), &g);
	uint64_t bad[] = {0,
			  1,
			  RECORD_HEADER - 1,
			  RECORD_HEADER + 1,
			  place.at + 1,
			  end - 1,
			  place.next + 1,
			  UINT64_MAX};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(record_truncate(w, bad[i], &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	assert_int_equal(record_truncate(w, place.next, &err), 0);
	assert_int_equal(record_truncate(w, place.at, &err), 0);
	assert_int_equal(record_truncate(w, end, &err), 0);
	close_file(w);
	assert_numbered(path, 10);
}

/* Readers that follow */

static void a_reader_follows_a_growing_file(void **state)
{
	(void)state;
	const char *path = scratch("follow");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (unsigned i = 0; i < 300; i++) {
		assert_int_equal(record_next(r, &record, &err), 1);
		append(w, numbered(i), &g);
		assert_int_equal(record_next(r, &record, &err), 1);
		sync_group(w, &g);
		assert_int_equal(record_next(r, &record, &err), 0);
		assert_int_equal(record.payload.n, numbered(i).n);
	}
	assert_int_equal(record_next(r, &record, &err), 1);
	close_file(w);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
}

static void a_reader_sees_a_record_when_its_last_byte_is_there(void **state)
{
	(void)state;
	uint64_t next[8];
	struct buf whole = sample(scratch("bytes"), ARRAY_LEN(next), true, next);
	const char *path = scratch("bytes2");
	put(path, STR(""));
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	struct file f;
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 1);
	assert_int_equal(file_open(&f, path, O_WRONLY, 0, &err), 0);
	unsigned seen = 0;
	for (size_t at = 0; at < whole.n; at++) {
		assert_int_equal(file_write(&f, whole.p + at, 1, at, &err), 0);
		if (!r && at + 1 < RECORD_HEADER) {
			assert_int_equal(record_reader_open(&r, path, &kind, &err), 1);
			continue;
		}
		if (!r)
			assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
		int rc = record_next(r, &record, &err);
		assert_true(rc >= 0);
		assert_int_equal(rc == 0, seen < ARRAY_LEN(next) && next[seen] == at + 1);
		seen += rc == 0;
	}
	assert_int_equal(seen, ARRAY_LEN(next));
	file_drop(&f);
	record_reader_free(&r);
	buf_free(&whole);
}

/* A reader has read ahead what was not complete then. */
static void a_reader_looks_again_before_it_says_no(void **state)
{
	(void)state;
	uint64_t next[4];
	struct buf b = sample(scratch("ahead"), ARRAY_LEN(next), false, next);
	const char *path = scratch("ahead2");
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	b.p[next[2] + HEAD] ^= 1;
	put(path, buf_str(&b));
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_next(r, &record, &err), 0);
	b.p[next[2] + HEAD] ^= 1;
	put(path, buf_str(&b));
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record.place.next, next[3]);
	record_reader_free(&r);
	buf_free(&b);
}

static void a_limit_keeps_a_reader_to_what_is_durable(void **state)
{
	(void)state;
	const char *path = scratch("limit");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	append_numbered(w, 0, 3, &g);
	sync_group(w, &g);
	uint64_t durable = record_durable(w);
	append_numbered(w, 3, 5, &g);
	sync_group(w, &g);
	record_limit(r, durable);
	for (int i = 0; i < 3; i++)
		assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, durable + 5); /* inside of a mark */
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, durable + MARK + 3); /* inside of a record */
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, record_durable(w));
	assert_int_equal(record_next(r, &record, &err), 0);
	record_limit(r, 0);
	assert_int_equal(record_next(r, &record, &err), 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_limit(r, record_durable(w) + 1000); /* said to be durable, and not there */
	assert_int_equal(record_next(r, &record, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	record_reader_free(&r);
	close_file(w);
}

static void a_reader_is_told_when_the_file_was_cut_below_it(void **state)
{
	(void)state;
	const char *path = scratch("below");
	struct record_writer *w = open_file(path);
	struct record_group g = {0};
	struct record_reader *r;
	struct record record;
	struct err err = {0};
	append_numbered(w, 0, 4, &g);
	sync_group(w, &g);
	assert_int_equal(record_reader_open(&r, path, &kind, &err), 0);
	while (record_next(r, &record, &err) == 0)
		;
	assert_int_equal(record_truncate(w, RECORD_HEADER, &err), 0);
	assert_int_equal(record_next(r, &record, &err), -1);
	assert_non_null(strstr(err.msg, "was cut to 32 bytes while it was read at"));
	record_seek(r, 0);
	assert_int_equal(record_next(r, &record, &err), 1);
	record_reader_free(&r);
	close_file(w);
}

static void a_length_past_the_end_allocates_nothing(void **state)
{
	(void)state;
	uint64_t next[1];
	struct buf b = sample(scratch("liar"), 1, false, next);
	buf_add(&b, "\0\0\x2f\0abcdefgh", 12); /* 3 MiB and a bit less */
	put(scratch("liar"), buf_str(&b));
	assert_numbered(scratch("liar"), 1);
	buf_free(&b);
}

/* The format */

static void keep(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void the_format_prints_and_verifies(void **state)
{
	(void)state;
	const char *path = scratch("plain");
	struct record_writer *w;
	struct err err = {0};
	struct record_group g = {0};
	char wide[300];
	memset(wide, 'w', sizeof wide);
	assert_int_equal(record_open(&w, path, &record_plain, 0644, NULL, &err), 0);
	append(w, STR("hello\n\\ \xff"), &g);
	append(w, STR(""), &g);
	append(w, (struct str){wide, sizeof wide}, &g);
	close_file(w);
	struct buf out = BUF_INIT(4096);
	assert_int_equal(record_format.verify(path, &err), 0);
	assert_int_equal(record_format.print(path, keep, &out, &err), 0);
	assert_true(str_starts(buf_str(&out), STR("64 9 hello\\x0a\\x5c \\xff\n81 0 \n89 300 ww")));
	assert_non_null(strstr(buf_text(&out), "w...\n3 records in 429 bytes\n"));
	struct buf b = slurp(path);
	buf_add_text(&b, "torn");
	put(path, buf_str(&b));
	buf_clear(&out);
	assert_int_equal(record_format.verify(path, &err), 0);
	assert_int_equal(record_format.print(path, keep, &out, &err), 0);
	assert_non_null(strstr(buf_text(&out), "429 bytes, then 4 bytes that are not complete\n"));
	b.p[85] ^= 1;
	put(path, buf_str(&b));
	buf_clear(&out);
	assert_int_equal(record_format.verify(path, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "the record at 81 is damaged"));
	assert_int_equal(record_format.print(path, keep, &out, &err), -1);
	assert_true(str_ends(buf_str(&out), STR("\\xff\n")));
	const struct format *found = NULL, *table[] = {&record_format};
	assert_int_equal(format_of(table, 1, path, &found, &err), 0);
	assert_ptr_equal(found, &record_format);
	assert_int_equal(record_format.verify(scratch("absent"), &err), -1);
	buf_free(&b);
	buf_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_is_empty_and_reopens),
		cmocka_unit_test(records_come_back_in_order_across_openings),
		cmocka_unit_test(a_place_leads_back_to_its_record),
		cmocka_unit_test(large_records_are_whole_and_larger_ones_refused),
		cmocka_unit_test(a_group_is_open_until_it_is_synced),
		cmocka_unit_test(one_process_writes_at_a_time),
		cmocka_unit_test(files_of_others_are_refused_and_left_alone),
		cmocka_unit_test(another_version_or_kind_is_refused_by_name),
		cmocka_unit_test(a_closed_file_cut_at_every_byte_has_exactly_its_complete_records),
		cmocka_unit_test(a_killed_file_cut_at_every_byte_has_exactly_its_complete_records),
		cmocka_unit_test(the_bytes_cut_off_are_told),
		cmocka_unit_test(ends_of_zeroes_or_noise_are_cut_off),
		cmocka_unit_test(a_hole_in_what_was_never_synced_is_a_torn_end),
		cmocka_unit_test(every_flipped_bit_is_noticed_and_nothing_is_cut),
		cmocka_unit_test(
			a_flip_in_the_last_group_of_a_killed_writer_costs_that_group_at_most),
		cmocka_unit_test(a_copy_of_a_mark_in_a_payload_is_only_payload),
		cmocka_unit_test(a_mark_that_calls_more_durable_than_there_is_counts_for_nothing),
		cmocka_unit_test(the_last_mark_is_found_from_any_distance),
		cmocka_unit_test(a_file_can_be_cut_to_any_checkpoint),
		cmocka_unit_test(places_that_are_no_checkpoints_are_refused),
		cmocka_unit_test(a_reader_follows_a_growing_file),
		cmocka_unit_test(a_reader_sees_a_record_when_its_last_byte_is_there),
		cmocka_unit_test(a_reader_looks_again_before_it_says_no),
		cmocka_unit_test(a_limit_keeps_a_reader_to_what_is_durable),
		cmocka_unit_test(a_reader_is_told_when_the_file_was_cut_below_it),
		cmocka_unit_test(a_length_past_the_end_allocates_nothing),
		cmocka_unit_test(the_format_prints_and_verifies),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
