/* The folders of a names index: what belongs to the manifest stays, all else is removed; and the
 * parts of sites by their keys, as hard links.
 *
 * A link is made under another name and renamed, so that a key always has a whole part. It is not
 * what readers of the index go by: it is for people, other programs, and for the day on which the
 * manifest is lost. */
#include "base/fault.h"
#include "disk/tree.h"
#include "index/names/names_store.h"

#include <unistd.h>

#define LINK_NEW ".new"

int names_folders_make(const char *folder, struct err *err)
{
	char *path = names_path(folder, "names");
	int rc = dir_make(path, DIR_MODE, err);
	mem_free(&path);
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++) {
		path = names_path(folder, names_part_name[i]);
		rc = dir_make(path, DIR_MODE, err);
		mem_free(&path);
	}
	return rc;
}

/* Generations */

static bool file_needed(const struct names_manifest *m, uint64_t generation, const char *name)
{
	size_t part = str_index(str_of(name), names_part_name, NAMES_PARTS);
	if (part < NAMES_PARTS || strcmp(name, "pages") == 0)
		return names_manifest_find_generation(m, generation) != SIZE_MAX;
	for (size_t i = 0; i < m->layers && strcmp(name, "segment") == 0; i++)
		if (m->layer[i].generation == generation)
			return true;
	for (size_t i = 0; i < m->gones && strcmp(name, "gone") == 0; i++)
		if (m->gone[i].generation == generation)
			return true;
	return false;
}

int names_folder_tidy(const char *folder, const struct names_manifest *m, uint64_t generation,
		      struct err *err)
{
	char *path = names_generation_path(folder, generation, "");
	struct dir d;
	const char *name;
	bool empty = true;
	int rc = dir_init_own(&d, path, err);
	if (rc == 0) {
		while (rc >= 0 && dir_next(&d, &name) == 0) {
			if (file_needed(m, generation, name)) {
				empty = false;
				continue;
			}
			char *file = names_path(path, name);
			rc = file_remove(file, err);
			mem_free(&file);
			FAULT("names.removed");
		}
		dir_done(&d);
		if (rc >= 0 && empty)
			rc = dir_remove(path, err);
	}
	mem_free(&path);
	return MIN(rc, 0);
}

int names_folder_sweep(const char *folder, const struct names_manifest *m, struct err *err)
{
	char *path = names_path(folder, "names");
	struct dir d;
	const char *name;
	uint64_t generation;
	int rc = dir_init_own(&d, path, err);
	tree_remove_left(path);
	mem_free(&path);
	if (rc != 0)
		return MIN(rc, 0);
	while (rc == 0 && dir_next(&d, &name) == 0)
		if (names_generation_of(name, &generation))
			rc = names_folder_tidy(folder, m, generation, err);
	dir_done(&d);
	return rc;
}

int names_folder_newest(const char *folder, uint64_t *ret, struct err *err)
{
	char *path = names_path(folder, "names");
	struct dir d;
	const char *name;
	uint64_t generation;
	int rc = dir_init(&d, path, err);
	mem_free(&path);
	*ret = 0;
	if (rc != 0)
		return MIN(rc, 0);
	while (dir_next(&d, &name) == 0)
		if (names_generation_of(name, &generation))
			*ret = MAX(*ret, generation);
	dir_done(&d);
	return 0;
}

/* Links */

/* 0: both are the same file. */
static int same_file(const char *a, const char *b)
{
	struct stat x, y;
	if (stat(a, &x) < 0 || lstat(b, &y) < 0)
		return 1;
	return x.st_ino != y.st_ino || x.st_dev != y.st_dev;
}

/* A rename over a link to the same file does nothing and leaves both: so that is looked at first.
 */
static int link_make(const char *from, const char *temporary, const char *to, struct err *err)
{
	if (same_file(from, to) == 0)
		return 0;
	if (file_remove(temporary, err) < 0)
		return -1;
	int rc = file_link(from, temporary, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "%s: it is gone", from);
	if (rc == 0)
		rc = file_rename(temporary, to, err);
	FAULT("names.linked");
	return rc;
}

int names_links_make(const char *folder, struct str key, uint64_t generation, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < NAMES_PARTS && rc == 0; i++) {
		char *from = names_generation_path(folder, generation, names_part_name[i]);
		char *temporary = names_key_path(folder, i, STR(LINK_NEW));
		char *to = names_key_path(folder, i, key);
		rc = link_make(from, temporary, to, err);
		mem_free(&from);
		mem_free(&temporary);
		mem_free(&to);
	}
	return rc;
}

int names_links_remove(const char *folder, struct str key, struct err *err)
{
	int rc = 0;
	for (unsigned i = 0; i < NAMES_PARTS && rc >= 0; i++) {
		char *path = names_key_path(folder, i, key);
		rc = file_remove(path, err);
		mem_free(&path);
		FAULT("names.unlinked");
	}
	return MIN(rc, 0);
}
