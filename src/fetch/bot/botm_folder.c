/* The folder of a botm: subfolders of six digits, and in them files in the form of names. Anything
 * else is ignored. */
#include "base/file.h"
#include "fetch/bot/botm_names.h"

#include <stdio.h>

struct walk {
	const char *folder;
	uint32_t block;
	botm_block_fn *block_seen;
	botm_file_fn *file_seen;
	void *ctx;
};

typedef int entry_fn(const struct walk *w, const char *path, const char *entry, struct err *err);

static int entries_walk(const struct walk *w, const char *path, entry_fn *fn, struct err *err)
{
	struct dir_walk *walk = NULL;
	const char *entry;
	char below[PATH_MAX];
	int rc = dir_walk_open(&walk, path, err);
	if (rc != 0)
		return MIN(rc, 0);
	while ((rc = dir_walk_next(walk, &entry, err)) == 0) {
		rc = file_below(path, entry, below, err);
		if (rc == 0)
			rc = fn(w, below, entry, err);
		if (rc < 0)
			break;
	}
	dir_walk_close(&walk);
	return MIN(rc, 0);
}

static int entry_block(const struct walk *w, const char *path, const char *entry, struct err *err)
{
	uint64_t number;
	struct stat st;
	if (strlen(entry) != 6 || !str_u64(str_of(entry), &number) || lstat(path, &st) < 0 ||
	    !S_ISDIR(st.st_mode))
		return 0;
	return w->block_seen(w->ctx, (uint32_t)number, err);
}

int botm_folder_walk(const char *folder, botm_block_fn *seen, void *ctx, struct err *err)
{
	const struct walk w = {.folder = folder, .block_seen = seen, .ctx = ctx};
	return entries_walk(&w, folder, entry_block, err);
}

static int entry_file(const struct walk *w, const char *path, const char *entry, struct err *err)
{
	struct str text = str_of(path + strlen(w->folder) + 1);
	struct botm_name name;
	(void)entry;
	if (botm_name_parse(text, &name))
		return w->file_seen(w->ctx, path, &name, err);
	return str_ends(text, STR(".part")) ? w->file_seen(w->ctx, path, NULL, err) : 0;
}

int botm_block_walk(const char *folder, uint32_t block, botm_file_fn *seen, void *ctx,
		    struct err *err)
{
	const struct walk w = {.folder = folder, .file_seen = seen, .ctx = ctx};
	char path[PATH_MAX];
	if (snprintf(path, sizeof path, "%s/%06u", folder, block) >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "%.200s...: the path is too long", folder);
	return entries_walk(&w, path, entry_file, err);
}
