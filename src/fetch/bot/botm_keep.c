/* The names of a botm with a folder, and the disk. Answers and deletes that have to be durable
 * gather while a commit is under way (net/sync_group.h); the next one takes all of them. So there
 * is one sync for as many as came during the last one, and a botm that has little to do waits for
 * none but its own. */
#include "base/fault.h"
#include "base/file.h"
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
	return lstat(buf_text(&path), &st) == 0 && S_ISREG(st.st_mode) &&
	       (!(m->has & BOT_HAS_SIZE) || (uint64_t)st.st_size == m->size);
}

/* In the thread. */
static void removal_do(struct botm *b, struct botm_removal *r)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct err err;
	botm_file_path(b, r->name, &path);
	FAULT("botm.remove");
	r->sys_errno = file_remove(buf_text(&path), &err) < 0 ? err.sys_errno : 0;
}

static int commit_run(void *ctx, struct err *err)
{
	struct botm *b = ctx;
	int rc = botm_names_commit(&b->keep.commit, err);
	LIST_EACH (struct botm_removal, r, &b->keep.busy_removals, link)
		if (rc == 0)
			removal_do(b, r);
	return rc;
}

/* In the loop. */

static void list_move(struct link *to, struct link *from)
{
	while (!list_is_empty(from)) {
		struct link *first = from->next;
		list_remove(first);
		list_append(to, first);
	}
}

static bool commit_begin(void *ctx)
{
	struct botm *b = ctx;
	struct botm_keep *k = &b->keep;
	if (list_is_empty(&k->answers) && list_is_empty(&k->removals))
		return false;
	b->counts.commits++;
	list_move(&k->busy_answers, &k->answers);
	list_move(&k->busy_removals, &k->removals);
	k->commit = botm_names_commit_begin(k->names);
	return true;
}

static void commit_soon(struct botm *b)
{
	sync_group_soon(&b->keep.sync, 0);
}

/* The first of the failures in a row is said. */
static void removal_note(struct botm *b, const struct botm_removal *r)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	char what[128];
	bool is_new = r->sys_errno && !b->keep.has_failed;
	b->keep.has_failed = r->sys_errno != 0;
	b->counts.deleted += r->sys_errno == 0;
	if (!is_new)
		return;
	botm_file_path(b, r->name, &path);
	snprintf(what, sizeof what, "a file could not be removed: %s", strerror(r->sys_errno));
	botm_say(b, true, what, buf_text(&path));
}

static void removals_answer(struct botm *b)
{
	LIST_EACH (struct botm_removal, r, &b->keep.busy_removals, link) {
		removal_note(b, r);
		if (r->id[0])
			botm_tell_deleted(b, str_of(r->id),
					  r->sys_errno ? BOT_DELETED_FAILED : BOT_DELETED_OK);
		b->keep.ndeletes -= r->id[0] != 0;
		list_remove(&r->link);
		mem_free(&r);
	}
	botm_bounds_look(b);
}

static void commit_done(void *ctx, int rc, const struct err *err)
{
	struct botm *b = ctx;
	struct botm_keep *k = &b->keep;
	struct err untidy;
	if (rc < 0 || botm_names_tidy(k->names, &untidy) < 0) {
		botm_fail(b, rc < 0 ? err : &untidy);
		return;
	}
	LIST_EACH (struct botm_answer, a, &k->busy_answers, link)
		a->is_durable = true;
	list_move(&b->unsent, &k->busy_answers);
	removals_answer(b);
	botm_source_pump(b);
	commit_soon(b);
}

void botm_keep_answer(struct botm *b, const struct bot_message *m, struct botm_name name)
{
	char text[BOTM_NAME_ROOM];
	struct bot_message with = *m;
	struct err err;
	botm_name_print(name, text);
	with.file = str_of(text);
	with.has |= BOT_HAS_FILE;
	struct botm_answer *a = botm_answer_new(b, &with, name, false);
	list_append(&b->keep.answers, &a->link);
	if (botm_names_store(b->keep.names, name, a->text, &err) < 0)
		botm_fail(b, &err);
	commit_soon(b);
}

void botm_keep_free(struct botm *b, struct botm_name name, struct str id)
{
	struct botm_removal *r = mem_alloc(sizeof *r);
	struct err err;
	r->name = name;
	memcpy(r->id, id.n ? id.p : "", id.n);
	list_append(&b->keep.removals, &r->link);
	b->keep.ndeletes += r->id[0] != 0;
	if (botm_names_place(b->keep.names, name) != BOTM_FREE &&
	    botm_names_free(b->keep.names, name, &err) < 0)
		botm_fail(b, &err);
	commit_soon(b);
	botm_bounds_look(b);
}

bool botm_keep_is_left(const struct botm *b, struct botm_name name)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct stat st;
	botm_file_path(b, name, &path);
	return botm_names_place(b->keep.names, name) == BOTM_FREE &&
	       lstat(buf_text(&path), &st) == 0;
}

/* A start frees what was given and removes what lies there, so nothing has to be durable first. */
void botm_keep_unused(struct botm *b, struct botm_name name)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct err err;
	botm_file_path(b, name, &path);
	if (file_remove(buf_text(&path), &err) < 0)
		botm_say(b, true, err.msg, ""); /* the next start tries again */
	if (botm_names_free(b->keep.names, name, &err) < 0)
		botm_fail(b, &err);
}

/* Answers that an earlier process of ours had not been told the fate of. */

struct stored {
	struct botm *b;
	struct botm_name name;
	bool is_read;
};

static void stored_message(void *ctx, const struct bot_message *m)
{
	struct stored *s = ctx;
	if (m->kind != BOT_FETCHED || s->is_read)
		return;
	s->is_read = true;
	(void)botm_answer_new(s->b, m, s->name, true);
}

static void stored_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)err, (void)line, (void)column;
}

static int stored_load(struct botm *b, struct err *err)
{
	static const struct bot_reader_ops ops = {stored_message, stored_error};
	struct stored s = {.b = b};
	struct str text;
	size_t at = 0;
	while (botm_names_next_stored(b->keep.names, &at, &s.name, &text) == 0) {
		struct bot_reader *reader = bot_reader_new(&ops, &s);
		s.is_read = false;
		bot_reader_put(reader, text);
		bot_reader_free(&reader);
		if (!s.is_read)
			return err_set(err, ERR_DAMAGED, "%s: the answer of name %u cannot be read",
				       b->o.names, s.name.number);
	}
	return 0;
}

static void found_say(struct botm *b, const struct botm_names_found *found)
{
	char what[256];
	if (found->given || found->removed || found->cut) {
		snprintf(what, sizeof what,
			 "%" PRIu64 " names are free again, %" PRIu64 " of their files are "
			 "removed, %" PRIu64 " bytes cut off the names",
			 found->given, found->removed, found->cut);
		botm_say(b, false, what, b->o.folder);
	}
	if (found->lost) {
		snprintf(what, sizeof what,
			 "%" PRIu64 " files are of names that the file of names does not know%s; "
			 "they stay, and their names are given to nobody: see garner check",
			 found->lost, found->has_lost ? ", for it was lost or cut" : "");
		botm_say(b, found->has_lost, what, b->o.folder);
	}
}

int botm_keep_open(struct botm *b, struct err *err)
{
	struct botm_keep *k = &b->keep;
	struct botm_names_found found;
	list_init(&k->answers);
	list_init(&k->removals);
	list_init(&k->busy_answers);
	list_init(&k->busy_removals);
	k->sync = (struct sync_group){.loop = b->o.loop,
				      .begin = commit_begin,
				      .run = commit_run,
				      .done = commit_done,
				      .ctx = b};
	if (botm_names_open(&k->names, b->o.names, b->o.folder, &found, err) < 0)
		return err_in(err, "folder");
	if (sync_group_open(&k->sync, err) < 0 || stored_load(b, err) < 0)
		return -1;
	found_say(b, &found);
	return 0;
}

static void answers_drop(struct botm *b, struct link *list)
{
	LIST_EACH (struct botm_answer, a, list, link)
		botm_answer_forget(b, a);
}

static void removals_drop(struct link *list)
{
	LIST_EACH (struct botm_removal, r, list, link) {
		list_remove(&r->link);
		mem_free(&r);
	}
}

/* Files whose names are free go; nobody hears of what else waits, and the next start goes on with
 * it. */
static void keep_finish(struct botm *b)
{
	struct botm_keep *k = &b->keep;
	struct err err;
	if (sync_group_close(&k->sync, &err) < 0)
		botm_say(b, true, err.msg, "");
	removals_drop(&k->busy_removals); /* done by now */
	list_move(&k->busy_removals, &k->removals);
	k->commit = botm_names_commit_begin(k->names);
	if (commit_run(b, &err) < 0)
		botm_say(b, true, err.msg, "");
}

void botm_keep_close(struct botm *b)
{
	struct botm_keep *k = &b->keep;
	struct err err;
	if (!b->o.folder[0])
		return;
	if (k->sync.pool)
		keep_finish(b);
	answers_drop(b, &k->answers);
	answers_drop(b, &k->busy_answers);
	removals_drop(&k->removals);
	removals_drop(&k->busy_removals);
	if (botm_names_close(&k->names, &err) < 0)
		botm_say(b, true, err.msg, "");
}
