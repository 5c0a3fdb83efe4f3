/* Tells which files a botm still owns. The folder is read before the table of names: each name is
 * open in the table before a robot learns it, so the name of a file that was seen is open or free
 * there as long as the botm owns it. A sorted array has one number per file: ten million files
 * take 80 MB. */
#include "fetch/botm_files.h"

#include "base/file.h"
#include "base/vec.h"
#include "fetch/bot/botm_names.h"

#include <stdio.h>
#include <stdlib.h>

/* In the two lowest bits, below number and generation. */
enum { IS_KNOWN = 1, IS_OWN = 2, NAME_SHIFT = 2, NUMBER_SHIFT = 32 };

struct botm_files {
	char folder[PATH_MAX];
	uint64_t *file;
	size_t n, room;
};

static uint64_t file_key(struct botm_name name)
{
	return (uint64_t)name.number << NUMBER_SHIFT | (uint64_t)name.generation << NAME_SHIFT;
}

static struct botm_name file_name_of(uint64_t key)
{
	return (struct botm_name){(uint32_t)(key >> NUMBER_SHIFT), (uint32_t)key >> NAME_SHIFT};
}

static bool file_is_there(const struct botm_files *f, struct botm_name name)
{
	char text[BOTM_NAME_ROOM], path[PATH_MAX + BOTM_NAME_ROOM + 1];
	struct stat st;
	botm_name_print(name, text);
	snprintf(path, sizeof path, "%s/%s", f->folder, text);
	return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static int file_seen(void *ctx, const char *path, const struct botm_name *name, struct err *err)
{
	struct botm_files *f = ctx;
	(void)path, (void)err;
	if (name)
		*VEC_PUSH(f->file, f->n, f->room) = file_key(*name);
	return 0;
}

static int block_seen(void *ctx, uint32_t block, struct err *err)
{
	struct botm_files *f = ctx;
	return botm_block_walk(f->folder, block, file_seen, f, err);
}

static int key_order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static int own_mark(struct botm_files *f, const char *data, struct err *err)
{
	struct botm_names *names = NULL;
	if (botm_names_read(&names, data, f->folder, err) < 0)
		return -1;
	for (size_t i = 0; i < f->n; i++)
		if (botm_names_is_own(names, file_name_of(f->file[i])))
			f->file[i] |= IS_OWN;
	return botm_names_close(&names, err);
}

int botm_files_open(struct botm_files **ret, const char *data, const char *folder, struct err *err)
{
	struct stat st;
	if (lstat(folder, &st) < 0)
		return 1;
	struct botm_files *f = mem_alloc(sizeof *f);
	snprintf(f->folder, sizeof f->folder, "%s", folder);
	int rc = botm_folder_walk(folder, block_seen, f, err);
	if (rc == 0 && f->n)
		qsort(f->file, f->n, sizeof *f->file, key_order);
	if (rc == 0)
		rc = own_mark(f, data, err);
	if (rc < 0)
		botm_files_free(&f);
	else
		*ret = f;
	return rc;
}

void botm_files_free(struct botm_files **f)
{
	if (!*f)
		return;
	mem_free(&(*f)->file);
	mem_free(f);
}

/* The first one that is not before the key. */
static size_t file_find(const struct botm_files *f, uint64_t key)
{
	return BISECT(i, 0, f->n, f->file[i] < key);
}

bool botm_files_known(struct botm_files *f, struct str file)
{
	struct botm_name name;
	if (!botm_name_parse(file, &name))
		return false;
	uint64_t key = file_key(name);
	size_t at = file_find(f, key);
	if (at == f->n || file_name_of(f->file[at]).number != name.number ||
	    file_name_of(f->file[at]).generation != name.generation)
		return file_is_there(f, name); /* since it was looked, perhaps */
	f->file[at] |= IS_KNOWN;
	return true;
}

int botm_files_next_unknown(const struct botm_files *f, size_t *at, char ret[BOT_FILE_MAX + 1])
{
	for (; *at < f->n; ++*at) {
		struct botm_name name = file_name_of(f->file[*at]);
		if (f->file[*at] & (IS_KNOWN | IS_OWN) || !file_is_there(f, name))
			continue;
		botm_name_print(name, ret);
		++*at;
		return 0;
	}
	return 1;
}
