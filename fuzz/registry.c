/* A registry of any bytes. The first byte says how its files are made; then come pieces, each with
 * two bytes of length before it: the records, what is in the tables, and commits. Bit 0: instead of
 * these commits there is a sound one that has all records. Bit 1: the tables have a sound head, and
 * the piece is their entries. Bit 2: there are no tables.
 *
 * Whatever it is: opening ends, to read and to write; what is told is consistent; damage is named.
 */
#include "base/cursor.h"
#include "broker/registry_inner.h"
#include "disk/tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SOUND_COMMIT = 1, SOUND_HEAD = 2, NO_TABLES = 4, ENTRY = 14 };

static bool good(int rc, const struct err *err)
{
	bool refused = err->code == ERR_DAMAGED || err->code == ERR_USAGE;
	ENSURE(rc >= 0 || (refused && err->msg[0]));
	return rc == 0;
}

static struct str next_piece(struct reader *in)
{
	size_t n = reader_u16le(in);
	return reader_bytes(in, in->bad ? 0 : MIN(n, reader_left(in)));
}

static void write_file(const char *path, struct str bytes)
{
	struct file f;
	struct err err;
	ENSURE(file_open(&f, path, O_RDWR | O_CREAT, 0600, &err) == 0);
	ENSURE(file_write(&f, bytes.n ? bytes.p : "", bytes.n, 0, &err) == 0);
	file_drop(&f);
}

/* What of the records could be a commit. */
static struct registry_piece sound_piece(const char *path, size_t n, struct registry_commit *commit)
{
	struct file f;
	struct err err;
	struct registry_walk walk;
	struct registry_raw raw;
	struct xxh64 hash;
	struct registry_piece piece = {REGISTRY_HEADER, REGISTRY_HEADER, 0};
	ENSURE(file_open(&f, path, O_RDONLY, 0, &err) == 0);
	xxh64_begin(&hash);
	registry_walk_begin(&walk, &f, REGISTRY_HEADER, REGISTRY_HEADER + n);
	while (registry_walk_next(&walk, &raw, &err) == 0) {
		registry_hash_add(&hash, raw.bytes);
		piece.to = walk.at;
		commit->records++;
		commit->deleted += raw.tombstone;
		commit->oids = MAX(commit->oids, (uint64_t)raw.object.oid);
	}
	registry_walk_end(&walk);
	file_drop(&f);
	piece.hash = xxh64_end(&hash);
	commit->length = piece.to;
	commit->valid = commit->records - commit->deleted;
	return piece;
}

static void write_commits(const struct registry *r, struct reader *in)
{
	struct record_writer *w = NULL;
	struct record_group group = {0};
	struct err err;
	ENSURE(record_open(&w, r->path[REGISTRY_COMMIT], &registry_commit_kind, 0600, NULL, &err) ==
	       0);
	while (reader_left(in) > 2) {
		struct str payload = next_piece(in);
		ENSURE(record_append(w, payload, &group, NULL, &err) == 0);
	}
	ENSURE(record_close(&w, &err) == 0);
}

static void write_tables(const struct registry *r, struct str piece, uint64_t length, bool sound)
{
	struct page_writer w;
	struct err err;
	ENSURE(page_create(&w, r->path[REGISTRY_TABLES], 0600,
			   &(struct stream_options){.buffered = true}, &err) == 0);
	if (sound) {
		struct buf head = BUF_INIT(64);
		size_t n = piece.n / ENTRY;
		buf_add_text(&head, "GARNERRT");
		put_u64le(&head, 1);
		put_u64le(&head, 0);
		put_u64le(&head, length);
		put_u64le(&head, n / 3);
		put_u64le(&head, n / 3);
		put_u64le(&head, n - n / 3 * 2);
		put_u64le(&head, 0);
		page_put(&w, head.p, head.n);
		buf_free(&head);
		piece.n = n * ENTRY;
	}
	page_put(&w, piece.p, piece.n);
	ENSURE(page_finish(&w, false, &err) == 0);
}

static void make_files(const struct registry *r, struct str input)
{
	struct reader in = reader_of(input);
	uint8_t how = reader_u8(&in);
	struct str records = next_piece(&in), tables = next_piece(&in);
	struct buf file = BUF_INIT(1 << 20);
	struct registry_commit commit = {.commits = 1, .changed = UINT32_MAX};
	char header[REGISTRY_HEADER];
	registry_header_print(&(struct registry_counts){0}, header);
	buf_add(&file, header, sizeof header);
	buf_add_str(&file, records);
	write_file(r->path[REGISTRY_FILE], buf_str(&file));
	buf_free(&file);
	struct registry_piece piece = sound_piece(r->path[REGISTRY_FILE], records.n, &commit);
	struct registry_pieces pieces = {&piece, piece.to > piece.from, 1};
	struct err err;
	if (how & SOUND_COMMIT)
		ENSURE(registry_commit_write(r->path[REGISTRY_COMMIT], &commit, &pieces,
					     &(struct registry_points){0}, &err) == 0);
	else
		write_commits(r, &in);
	if (!(how & NO_TABLES))
		write_tables(r, tables, piece.to, how & SOUND_HEAD);
}

/* What is told of a record agrees with what is found by it. */
static void look_up(struct registry *r, const struct registry_record *record)
{
	const struct registry_object *o = &record->object;
	struct arena arena = ARENA_INIT((size_t)64 << 20);
	struct registry_object got, *some;
	struct err err = {0};
	size_t n;
	if (good(registry_find(r, o->gatherer_name, o->gatherer_host, o->url, &arena, &got, &err),
		 &err))
		ENSURE(str_eq(got.url, o->url) && str_eq(got.gatherer_name, o->gatherer_name));
	if (good(registry_by_oid(r, o->oid, &arena, &got, &err), &err))
		ENSURE(got.oid == o->oid);
	if (good(registry_of_url(r, o->url, &arena, &some, &n, &err), &err))
		for (size_t i = 0; i < n; i++)
			ENSURE(str_eq(some[i].url, o->url));
	for (int text = 0; text < 2; text++)
		if (good(registry_of_md5(r, o->gatherer_name, o->gatherer_host, o->md5, text, 8,
					 &arena, &some, &n, &err),
			 &err))
			for (size_t i = 0; i < n; i++)
				ENSURE(n <= 8 && !some[i].oid == !text &&
				       str_eq(some[i].md5, o->md5) && o->md5.n == REGISTRY_MD5);
	arena_free(&arena);
}

static void look_at(struct registry *r)
{
	struct registry_scan *scan = NULL;
	struct registry_record record;
	struct err err = {0};
	ENSURE(registry_scan_open(&scan, r, 0, &err) == 0);
	while (good(registry_scan_next(scan, &record, &err), &err)) {
		ENSURE(record.next > record.at && record.next <= registry_length(r));
		ENSURE(!record.tombstone || !record.living);
		look_up(r, &record);
	}
	registry_scan_free(&scan);
	(void)good(registry_verify(r, &err), &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char folder[] = "/dev/shm/garner-fuzz-XXXXXX";
	struct registry names, *r = NULL;
	struct registry_options options = {.tables_least = 1};
	struct err err = {0};
	ENSURE(mkdtemp(folder));
	registry_init(&names, folder);
	make_files(&names, (struct str){(const char *)data, size});
	if (good(registry_open_read(&r, folder, &err), &err))
		look_at(r);
	registry_close(&r);
	if (good(registry_open(&r, folder, &options, NULL, &err), &err))
		look_at(r);
	registry_close(&r);
	registry_release(&names);
	ENSURE(tree_remove(folder, &err) == 0);
	return 0;
}
