#include "index/docstore_append.h"

#include "base/fault.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>

void store_path(const char *folder, uint32_t number, const char *kind, char *ret)
{
	snprintf(ret, PATH_MAX, "%s/%08" PRIu32 "%s", folder, number, kind);
}

bool appender_open(const struct appender *a)
{
	return a->f.fd >= 0;
}

bool appender_full(const struct appender *a)
{
	return a->is.length >= BLOCK_FILE_FULL;
}

static int appender_write_head(struct appender *a, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(BLOCK_FILE_HEAD);
	if (getrandom(&a->id.salt, sizeof a->id.salt, 0) < 0)
		return err_sys(err, "%s: random bytes for its beginning", a->f.path);
	block_file_head_make(&a->id, &head);
	return file_write(&a->f, head.p, head.n, 0, err);
}

int appender_begin(struct appender *a, const char *folder, uint32_t number, struct err *err)
{
	char path[PATH_MAX];
	ENSURE(!appender_open(a));
	if (number >= BLOCK_FILES)
		return err_set(err, ERR_SYSTEM, "%s: all %d numbers of files are used up", folder,
			       BLOCK_FILES - 1);
	store_path(folder, number, ".docs", path);
	FAULT("docstore.file");
	if (file_open(&a->f, path, O_RDWR | O_CREAT | O_TRUNC, 0666, err) < 0)
		return -1;
	a->id = (struct block_file){.number = number};
	a->is = (struct ledger_file){.number = number, .length = BLOCK_FILE_HEAD};
	FAULT("docstore.file.head");
	if (appender_write_head(a, err) < 0 || dir_sync(folder, err) < 0) {
		file_drop(&a->f);
		return -1;
	}
	a->dirty = true;
	return 0;
}

static int appender_read_head(struct appender *a, struct err *err)
{
	char head[BLOCK_FILE_HEAD];
	size_t got;
	if (file_read(&a->f, head, sizeof head, 0, &got, err) < 0)
		return -1;
	struct err why;
	return block_file_head_read((struct str){head, got}, a->f.path, &a->id, &why) < 0 ||
	       a->id.number != a->is.number;
}

int appender_resume(struct appender *a, const char *folder, const struct ledger_file *is,
		    struct err *err)
{
	char path[PATH_MAX];
	uint64_t size = 0;
	store_path(folder, is->number, ".docs", path);
	int rc = file_open(&a->f, path, O_RDWR, 0, err);
	if (rc != 0)
		return rc;
	a->is = *is;
	rc = file_size(&a->f, &size, err);
	if (rc == 0)
		rc = size < is->length ? 1 : appender_read_head(a, err);
	if (rc != 0)
		file_drop(&a->f);
	a->dirty = false;
	return rc;
}

bool appender_must_write(const struct appender *a, size_t n)
{
	/* A large one gets a block of its own, so that its neighbours stay cheap to read. */
	return block_full(&a->block) || (a->block.docs && n >= DOCSTORE_BLOCK);
}

int appender_write(struct appender *a, struct err *err)
{
	struct str bytes = block_make(&a->block, &a->id, a->is.length);
	FAULT("docstore.block");
	if (file_write(&a->f, bytes.p, bytes.n, a->is.length, err) < 0)
		return -1;
	FAULT("docstore.block.written");
	a->made = bytes.n;
	a->dirty = true;
	return 0;
}

void appender_wrote(struct appender *a)
{
	a->is.length += a->made;
	a->made = 0;
	block_clear(&a->block);
}

struct docaddr appender_add(struct appender *a, struct str text)
{
	struct docaddr addr = block_addr(a->is.number, a->is.length, a->block.docs);
	block_add(&a->block, text);
	a->is.docs++;
	a->is.text_bytes += text.n;
	return addr;
}

int appender_sync(struct appender *a, struct err *err)
{
	FAULT("docstore.sync");
	if (file_sync(&a->f, err) < 0)
		return -1;
	FAULT("docstore.synced");
	a->dirty = false;
	return 0;
}

int appender_put(struct appender *a, struct str text, struct docaddr *ret, struct err *err)
{
	if (appender_must_write(a, text.n)) {
		if (appender_write(a, err) < 0)
			return -1;
		appender_wrote(a);
	}
	*ret = appender_add(a, text);
	return 0;
}

int appender_finish(struct appender *a, struct err *err)
{
	if (a->block.docs) {
		if (appender_write(a, err) < 0)
			return -1;
		appender_wrote(a);
	}
	return a->dirty ? appender_sync(a, err) : 0;
}

void appender_drop(struct appender *a)
{
	file_drop(&a->f);
	block_clear(&a->block);
	a->is = (struct ledger_file){0};
	a->dirty = false;
}

void appender_free(struct appender *a)
{
	appender_drop(a);
	block_maker_free(&a->block);
}
