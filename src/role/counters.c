#include "role/counters.h"
#include "base/arena.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/guard.h"
#include "role/counters_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are mapped as the file has them");

struct counters {
	struct file file; /* carries the lock */
	void *map;
	struct guard *guard; /* a file that somebody cut must not end its role */
	size_t size;
	uint64_t *value;
	size_t n;
};

static void head_write(const struct counters_view *v, struct buf *out)
{
	buf_add_text(out, counters_format.magic);
	put_u32le(out, COUNTERS_VERSION);
	put_u32le(out, (uint32_t)v->n);
	put_u64le(out, (uint64_t)v->pid);
	put_u64le(out, (uint64_t)v->started_wall_us);
	put_text(out, v->instance);
	for (size_t i = 0; i < v->n; i++) {
		put_u8(out, (uint8_t)v->value[i].kind);
		put_text(out, v->value[i].name);
		put_text(out, v->value[i].labels);
		put_text(out, v->value[i].help);
	}
	put_u32le(out, crc32c(0, out->p, out->n));
	ENSURE(!out->over);
}

static int head_make(const char *instance, const struct counter_def *defs, size_t n,
		     int64_t wall_us, struct buf *out, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_FILE_MAX);
	if (n > COUNTERS_MAX)
		return err_set(err, ERR_USAGE, "%zu counters, at most %d fit", n, COUNTERS_MAX);
	struct counters_view v = {
		.instance = str_of(instance),
		.pid = getpid(),
		.started_wall_us = wall_us,
		.value = arena_array(&arena, n, sizeof *v.value),
		.n = n,
	};
	for (size_t i = 0; i < n; i++)
		v.value[i] = (struct counter_value){
			.name = str_of(defs[i].name),
			.labels = str_of(defs[i].labels),
			.help = str_of(defs[i].help),
			.kind = defs[i].kind,
		};
	if (counters_check(&v, err) < 0)
		return -1;
	head_write(&v, out);
	return 0;
}

/* Whoever makes a counters file holds its folder meanwhile, which takes milliseconds. So between
 * the look at the old file and the rename of the new one nobody else can come, and the lock that
 * lasts can be on the file itself, where readers look for it. */
static int folder_hold(struct file *ret, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct str name = slash ? str_range(path, slash) : STR(".");
	CLEANUP(buf_free) struct buf folder = BUF_INIT(name.n + 1);
	buf_add_str(&folder, name.n ? name : STR("/"));
	int rc = file_open(ret, buf_text(&folder), O_RDONLY | O_DIRECTORY, 0, err);
	if (rc > 0)
		return err_set(err, ERR_SYSTEM, "%s: there is no such folder", buf_text(&folder));
	if (rc == 0 && flock(ret->fd, LOCK_EX) < 0)
		return err_sys(err, "%s: cannot be locked", buf_text(&folder));
	return rc;
}

static int refuse_held(const char *path, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	CLEANUP(file_drop) struct file file = FILE_INIT;
	struct counters_view old;
	struct err unread;
	int rc = file_open(&file, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (!counters_held(&file))
		return 0;
	if (counters_read(path, &arena, &old, &unread) != 0)
		return err_set(err, ERR_BUSY, "%s: held by another process; stop that one first",
			       path);
	return err_set(err, ERR_BUSY, "%s: held by pid %lld (" STR_FMT "); stop that one first",
		       path, (long long)old.pid, STR_ARG(old.instance));
}

/* The file at a name beside, complete, locked and mapped. What a killed maker left there is
 * removed, not written into: it may be a link to something else. */
static int make(struct counters *c, const char *beside, const struct buf *head, struct err *err)
{
	size_t at = counters_values_at(head->n);
	c->size = at + c->n * sizeof *c->value;
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (file_remove(beside, err) < 0 ||
	    file_open(&c->file, beside, O_RDWR | O_CREAT | O_EXCL, 0644, err) < 0)
		return -1;
	if (fcntl(c->file.fd, F_OFD_SETLK, &whole) < 0)
		return err_sys(err, "%s: cannot be locked", beside);
	if (file_allocate(&c->file, c->size, err) < 0 ||
	    file_write(&c->file, head->p, head->n, 0, err) < 0 || file_sync(&c->file, err) < 0)
		return -1;
	void *map = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->file.fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, "%s: cannot be mapped", beside);
	c->map = map;
	c->guard = guard_new(map, c->size);
	c->value = (uint64_t *)((char *)map + at);
	return 0;
}

int counters_create(struct counters **ret, const char *path, const char *instance,
		    const struct counter_def *defs, size_t n, int64_t wall_us, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(COUNTERS_FILE_MAX);
	CLEANUP(buf_free) struct buf beside = BUF_INIT(strlen(path) + 8);
	CLEANUP(file_drop) struct file folder = FILE_INIT;
	if (head_make(instance, defs, n, wall_us, &head, err) < 0)
		return err_in(err, "%s", path);
	if (folder_hold(&folder, path, err) < 0 || refuse_held(path, err) < 0)
		return -1;
	struct counters *c = mem_alloc(sizeof *c);
	c->file = FILE_INIT;
	c->n = n;
	buf_printf(&beside, "%s.new", path);
	int rc = make(c, buf_text(&beside), &head, err);
	FAULT("counters.rename");
	if (rc == 0)
		rc = file_rename(buf_text(&beside), path, err);
	if (rc < 0) {
		struct err second;
		(void)file_remove(buf_text(&beside), &second);
		counters_close(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

void counters_close(struct counters **c)
{
	if (!*c)
		return;
	guard_free(&(*c)->guard);
	if ((*c)->map)
		munmap((*c)->map, (*c)->size);
	file_drop(&(*c)->file);
	mem_free(c);
}

void counters_add(struct counters *c, size_t index, uint64_t n)
{
	ENSURE(index < c->n);
	__atomic_fetch_add(&c->value[index], n, __ATOMIC_RELAXED);
}

void counters_set(struct counters *c, size_t index, int64_t v)
{
	ENSURE(index < c->n);
	__atomic_store_n(&c->value[index], (uint64_t)v, __ATOMIC_RELAXED);
}
