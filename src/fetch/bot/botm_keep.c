/* The names of a botm with a folder, and their files. Files to remove are gathered while others
 * are being removed (net/sync_group.h). The thread removes them and syncs the folder once for all,
 * so that a delete is not confirmed before it survives a power cut. Then their names are free. A
 * name that a kill leaves open is freed by the next start; one that it leaves kept is never given
 * again.
 *
 * An answer needs no sync: its robot has synced the file, and its name is recorded as open. */
#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "fetch/bot/botm_inner.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

void botm_file_path(const struct botm *b, struct botm_name name, struct buf *ret)
{
	char text[BOTM_NAME_ROOM];
	botm_name_print(name, text);
	buf_printf(ret, "%s/%s", b->o.folder, text);
}

bool botm_file_there(const struct botm *b, struct botm_name name, const struct bot_message *m)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct stat st;
	botm_file_path(b, name, &path);
	if (lstat(buf_text(&path), &st) < 0)
		return false;
	return !m || (S_ISREG(st.st_mode) &&
		      (!(m->has & BOT_HAS_SIZE) || (uint64_t)st.st_size == m->size));
}

/* In the thread. */

/* How many files each number of a block has. */
struct census {
	bool is_made;
	uint32_t block;
	uint8_t files[BOTM_BLOCK];
};

static int census_count(void *ctx, const char *path, const struct botm_name *name, struct err *err)
{
	struct census *c = ctx;
	(void)path, (void)err;
	if (name && c->files[name->number % BOTM_BLOCK] < 2)
		c->files[name->number % BOTM_BLOCK]++;
	return 0;
}

/* A robot that was late leaves a file next to the one that is kept: if that one is deleted, the
 * name is not free. */
static bool removal_is_only(struct botm *b, const struct botm_removal *r, struct census *c)
{
	uint32_t block = r->name.number / BOTM_BLOCK;
	struct err err;
	if (!c->is_made || c->block != block) {
		*c = (struct census){.block = block};
		c->is_made = botm_block_walk(b->o.folder, block, census_count, c, &err) == 0;
	}
	return c->is_made && c->files[r->name.number % BOTM_BLOCK] == 1;
}

static int removals_run(void *ctx, struct err *err)
{
	struct botm *b = ctx;
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct census census = {0};
	struct err why;
	LIST_EACH (struct botm_removal, r, &b->keep.busy, link) {
		buf_clear(&path);
		botm_file_path(b, r->name, &path);
		bool is_only = removal_is_only(b, r, &census);
		FAULT("botm.remove");
		int rc = file_remove(buf_text(&path), &why);
		r->sys_errno = rc < 0 ? why.sys_errno : 0;
		r->is_free = rc == 0 && is_only;
	}
	if (botm_names_sync(b->keep.names, err) < 0)
		return -1;
	FAULT("botm.removed");
	return 0;
}

/* In the loop. */

static bool removals_begin(void *ctx)
{
	struct botm *b = ctx;
	if (list_is_empty(&b->keep.removals))
		return false;
	LIST_EACH (struct botm_removal, r, &b->keep.removals, link) {
		list_remove(&r->link);
		list_append(&b->keep.busy, &r->link);
	}
	return true;
}

/* Counts a removal. Logs the first failure in a row. */
static void removal_note(struct botm *b, const struct botm_removal *r)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	bool is_new = r->sys_errno && !b->keep.has_failed;
	b->keep.has_failed = r->sys_errno != 0;
	b->counts.deleted += r->sys_errno == 0;
	if (!is_new)
		return;
	botm_file_path(b, r->name, &path);
	log_warn(ROLE, "cannot remove file", KV_TEXT("path", buf_text(&path)),
		 KV_TEXT("why", strerror(r->sys_errno)));
}

static void removals_done(void *ctx, int rc, const struct err *err)
{
	struct botm *b = ctx;
	struct err why;
	LIST_EACH (struct botm_removal, r, &b->keep.busy, link)
		if (r->is_free)
			botm_names_put(b->keep.names, r->name, BOTM_FREE);
	if (rc < 0 || botm_names_flush(b->keep.names, &why) < 0) {
		botm_fail(b, rc < 0 ? err : &why);
		return;
	}
	LIST_EACH (struct botm_removal, r, &b->keep.busy, link) {
		removal_note(b, r);
		if (r->id[0])
			botm_tell_deleted(b, str_of(r->id),
					  r->sys_errno ? BOT_DELETED_FAILED : BOT_DELETED_OK);
		b->keep.ndeletes -= r->id[0] != 0;
		list_remove(&r->link);
		mem_free(&r);
	}
	botm_bounds_look(b);
	sync_group_soon(&b->keep.sync, 0);
}

void botm_keep_answer(struct botm *b, const struct bot_message *m, struct botm_name name)
{
	char text[BOTM_NAME_ROOM];
	struct bot_message with = *m;
	botm_name_print(name, text);
	with.file = str_of(text);
	with.has |= BOT_HAS_FILE;
	botm_answer_add(b, &with, name);
}

void botm_keep_remove(struct botm *b, struct botm_name name, struct str id)
{
	struct botm_removal *r = mem_alloc(sizeof *r);
	r->name = name;
	memcpy(r->id, id.n ? id.p : "", id.n);
	list_append(&b->keep.removals, &r->link);
	b->keep.ndeletes += r->id[0] != 0;
	sync_group_soon(&b->keep.sync, 0);
	botm_bounds_look(b);
}

/* If it cannot be removed, the next start reports it to the source, which does not know it. */
void botm_keep_unused(struct botm *b, struct botm_name name)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct err err;
	botm_file_path(b, name, &path);
	if (file_remove(buf_text(&path), &err) < 0)
		log_warn(ROLE, "cannot remove file", KV_TEXT("why", err.msg));
	else
		botm_names_put(b->keep.names, name, BOTM_FREE);
}

/* Tells the source the files of open names, each under an id of its own: what the source had called
 * the question is no longer known. */
static void open_files_tell(struct botm *b)
{
	struct botm_name name;
	size_t at = 0;
	while (botm_names_next_open(b->keep.names, &at, &name) == 0) {
		CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
		char id[sizeof BOT_FILE_ID + BOTM_NAME_ROOM], text[BOTM_NAME_ROOM];
		struct stat st;
		botm_file_path(b, name, &path);
		botm_name_print(name, text);
		snprintf(id, sizeof id, BOT_FILE_ID "%s", text);
		if (lstat(buf_text(&path), &st) < 0)
			continue;
		const struct bot_message m = {.kind = BOT_FETCHED,
					      .has = BOT_HAS_ID | BOT_HAS_OUTCOME |
						     BOT_HAS_MACHINE | BOT_HAS_SIZE,
					      .id = str_of(id),
					      .machine = str_of(b->o.machine),
					      .outcome = OUTCOME_OK,
					      .size = (uint64_t)st.st_size};
		botm_keep_answer(b, &m, name);
	}
}

static void found_log(const struct botm *b, const struct botm_names_found *found)
{
	if (found->freed || found->removed || b->nanswers)
		log_info(ROLE, "folder cleaned up", KV_TEXT("folder", b->o.folder),
			 KV_UINT("names_freed", found->freed), KV_UINT("removed", found->removed),
			 KV_UINT("left_to_source", b->nanswers));
	if (found->has_lost)
		log_warn(ROLE, "records of file names lost or outdated; keeping all files",
			 KV_TEXT("folder", b->o.folder));
}

int botm_keep_open(struct botm *b, struct err *err)
{
	struct botm_keep *k = &b->keep;
	struct botm_names_found found;
	list_init(&k->removals);
	list_init(&k->busy);
	k->sync = (struct sync_group){.loop = b->o.loop,
				      .begin = removals_begin,
				      .run = removals_run,
				      .done = removals_done,
				      .ctx = b};
	if (botm_names_open(&k->names, b->o.data, b->o.folder, &found, err) < 0)
		return err_in(err, "folder");
	if (sync_group_open(&k->sync, err) < 0)
		return -1;
	open_files_tell(b);
	found_log(b, &found);
	return 0;
}

static void removals_drop(struct link *list)
{
	LIST_EACH (struct botm_removal, r, list, link) {
		list_remove(&r->link);
		mem_free(&r);
	}
}

/* The next start removes these files; nobody waits for an answer. */
void botm_keep_close(struct botm *b)
{
	struct botm_keep *k = &b->keep;
	struct err err;
	if (!b->o.folder[0])
		return;
	if (sync_group_close(&k->sync, &err) < 0)
		log_warn(ROLE, "removing files failed", KV_TEXT("why", err.msg));
	removals_drop(&k->removals);
	removals_drop(&k->busy);
	if (botm_names_close(&k->names, &err) < 0)
		log_warn(ROLE, "cannot record file names", KV_TEXT("why", err.msg));
}
