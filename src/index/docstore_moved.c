#include "base/cursor.h"
#include "index/docstore_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum { MOVED_VERSION = 1 };

int moved_create(struct page_writer *ret, const char *folder, uint32_t number, uint64_t docs,
		 struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf head = BUF_INIT(MOVED_HEAD);
	store_path(folder, number, ".moved", path);
	if (page_create(ret, path, 0666, NULL, err) < 0)
		return -1;
	buf_add(&head, MOVED_MAGIC, FORMAT_MAGIC);
	put_u32le(&head, MOVED_VERSION);
	put_u32le(&head, number);
	put_u64le(&head, docs);
	page_put(ret, head.p, head.n);
	return 0;
}

void moved_put(struct page_writer *w, struct docaddr from, struct docaddr to)
{
	CLEANUP(buf_free) struct buf entry = BUF_INIT(MOVED_ENTRY);
	put_u64le(&entry, from.v);
	put_u64le(&entry, to.v);
	page_put(w, entry.p, entry.n);
}

static int moved_read_head(struct page_file *f, const char *path, uint32_t *ret_number,
			   uint64_t *ret_docs, struct err *err)
{
	struct str head;
	if (page_get(f, 0, MOVED_HEAD, &head, err) < 0)
		return -1;
	struct reader r = reader_of(head);
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), number = reader_u32le(&r);
	uint64_t docs = reader_u64le(&r);
	if (!str_eq(magic, STR(MOVED_MAGIC)) || version != MOVED_VERSION || docs > UINT32_MAX ||
	    page_bytes(f) != MOVED_HEAD + docs * MOVED_ENTRY)
		return err_set(err, ERR_DAMAGED, "%s: does not begin as a table of addresses does",
			       path);
	*ret_number = number;
	*ret_docs = docs;
	return 0;
}

int moved_open(struct page_file **ret, const char *path, uint32_t *ret_number, uint64_t *ret_docs,
	       struct err *err)
{
	struct page_file *f = NULL;
	int rc = page_open(&f, path, err);
	if (rc != 0)
		return rc;
	if (moved_read_head(f, path, ret_number, ret_docs, err) < 0) {
		page_close(&f);
		return -1;
	}
	*ret = f;
	return 0;
}

int moved_entry(struct page_file *f, uint64_t i, struct docaddr *ret_from, struct docaddr *ret_to,
		struct err *err)
{
	struct str entry;
	if (page_get(f, MOVED_HEAD + i * MOVED_ENTRY, MOVED_ENTRY, &entry, err) < 0)
		return -1;
	struct reader r = reader_of(entry);
	ret_from->v = reader_u64le(&r);
	ret_to->v = reader_u64le(&r);
	return page_check(f, err);
}

int moved_get(struct docstore *ds, const struct ledger_moved *moved, struct page_file **ret,
	      struct err *err)
{
	char path[PATH_MAX];
	uint32_t number;
	uint64_t docs;
	struct page_file **has = moved_files_get(&ds->moved, moved->number), *f = NULL;
	if (has) {
		*ret = *has;
		return 0;
	}
	store_path(ds->folder, moved->number, ".moved", path);
	int rc = moved_open(&f, path, &number, &docs, err);
	if (rc != 0)
		return rc;
	if (number != moved->number || docs != moved->docs) {
		page_close(&f);
		return err_set(err, ERR_DAMAGED,
			       "%s: has %" PRIu64 " addresses of file %" PRIu32
			       ", the ledger says %" PRIu64,
			       path, docs, number, moved->docs);
	}
	*moved_files_put(&ds->moved, moved->number) = *ret = f;
	return 0;
}

int moved_find(struct docstore *ds, const struct ledger_moved *moved, struct docaddr from,
	       struct docaddr *ret, struct err *err)
{
	struct page_file *f;
	struct docaddr at = {0}, to = {0};
	uint64_t low = 0, high = moved->docs;
	int rc = moved_get(ds, moved, &f, err);
	if (rc != 0)
		return rc;
	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		if (moved_entry(f, mid, &at, &to, err) < 0)
			return -1;
		if (at.v == from.v) {
			*ret = to;
			return 0;
		}
		if (at.v < from.v)
			low = mid + 1;
		else
			high = mid;
	}
	return 1;
}
