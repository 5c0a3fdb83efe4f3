#include "disk/guard.h"
#include "index/docstore_inner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/mman.h>

/* The file that grows is mapped further than it reaches, so that it is not mapped anew with every
 * sync; nobody looks behind what counts. */
enum { MAP_STEP = 64 << 20 };

static size_t map_size(uint64_t length)
{
	return ((size_t)length + MAP_STEP - 1) / MAP_STEP * MAP_STEP;
}

struct mapped *mapped_has(const struct docstore *ds, uint32_t number, uint64_t length)
{
	struct mapped **m = mapped_files_get(&ds->files, number);
	return m && (*m)->size >= length ? *m : NULL;
}

int mapped_check(const struct mapped *m, struct err *err)
{
	if (LIKELY(!guard_failed(m->guard)))
		return 0;
	return err_set(err, ERR_DAMAGED,
		       "%s: part of it cannot be read any more; look for errors of the disk, or "
		       "for whoever cut it",
		       m->path);
}

static void mapped_free(struct mapped *m)
{
	guard_free(&m->guard);
	if (m->map)
		(void)munmap(m->map, m->size);
	mem_free(&m->path);
	mem_free(&m);
}

static int map_bytes(struct mapped *m, const struct file *f, uint32_t number, struct err *err)
{
	char head[BLOCK_FILE_HEAD];
	size_t got;
	if (file_read(f, head, sizeof head, 0, &got, err) < 0 ||
	    block_file_head_read((struct str){head, got}, f->path, &m->id, err) < 0)
		return -1;
	if (m->id.number != number)
		return err_set(err, ERR_DAMAGED, "%s: says that it is file %" PRIu32, f->path,
			       m->id.number);
	void *p = mmap(NULL, m->size, PROT_READ, MAP_SHARED, f->fd, 0);
	if (p == MAP_FAILED)
		return err_sys(err, "%s: map of %zu bytes", f->path, m->size);
	m->map = p;
	m->guard = guard_new(p, m->size);
	return 0;
}

int mapped_get(struct docstore *ds, uint32_t number, uint64_t length, struct mapped **ret,
	       struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(file_drop) struct file f = FILE_INIT;
	if ((*ret = mapped_has(ds, number, length)))
		return 0;
	store_path(ds->folder, number, ".docs", path);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	struct mapped *m = mem_alloc(sizeof *m);
	m->path = mem_text(path);
	m->size = map_size(length);
	if (map_bytes(m, &f, number, err) < 0) {
		mapped_free(m);
		return -1;
	}
	struct mapped **slot = mapped_files_put(&ds->files, number);
	if (*slot)
		mapped_free(*slot);
	*slot = *ret = m;
	return 0;
}

void mapped_tidy(struct docstore *ds)
{
	TABLE_EACH (mapped_files, slot, &ds->files) {
		if (ledger_find(&ds->ledger, slot->key))
			continue;
		mapped_free(slot->value);
		(void)mapped_files_remove(&ds->files, slot->key);
	}
	TABLE_EACH (moved_files, slot, &ds->moved) {
		if (ledger_find_moved(&ds->ledger, slot->key))
			continue;
		page_close(&slot->value);
		(void)moved_files_remove(&ds->moved, slot->key);
	}
}

void mapped_free_all(struct docstore *ds)
{
	TABLE_EACH (mapped_files, slot, &ds->files)
		mapped_free(slot->value);
	TABLE_EACH (moved_files, slot, &ds->moved)
		page_close(&slot->value);
	mapped_files_free(&ds->files);
	moved_files_free(&ds->moved);
}
