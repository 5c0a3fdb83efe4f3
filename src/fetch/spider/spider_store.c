/* Results in a directory. A file gets its name when it is complete, and a line is appended to
 * results.jsonl. Both become durable by one sync of the file system, which serves all results that
 * came during the sync before it (net/sync_group.h).
 *
 * When the disk is full, the store waits. Lines that could not be written are written again. A
 * document that could not be written is fetched again, on its own, to test whether there is room.
 * After a failed sync it is unknown which documents are on disk: all that were not kept before
 * count as lost.
 *
 * A kill may leave a truncated line: its URL was not acknowledged, and the next start removes the
 * line. It may also leave files and lines that nobody was told of: their URLs are sent again, and
 * the later line holds. */
#include "fetch/spider/spider_inner.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/log.h"
#include "disk/lock.h"
#include "fetch/result_print.h"
#include "net/sync_group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>

/* Results that arrive within this time share a sync. If syncs take longer, the pause between them
 * is as long as a sync, so that the disk is free half of the time. */
#define GROUP_US (20 * US_PER_MS)
#define GROUP_MOST_US US_PER_S
#define SPACE_LOOK_US (US_PER_S / 2) /* between two checks of free space */
#define REFUSED_US (2 * US_PER_S)    /* after lines that could not be written */
/* Between two documents fetched to test for room: each may be fetched in vain. */
#define TRIAL_MIN_US (US_PER_S / 2)
#define TRIAL_MAX_US US_PER_MIN

enum {
	LINES_MAX = 1 << 30,
	TAIL = 64 << 10,
	UNASKED_MOST = 10000, /* results of lines that cannot be fetched, per process */
};

/* Results that share a sync. */
struct group {
	struct buf lines;
	struct link items;
};

struct spider_store {
	struct spider *spider;
	struct loop *loop;
	char *path;
	uint64_t disk_free;
	struct beneath *folder;
	struct file lines; /* results.jsonl */
	uint64_t length;   /* its synced length */
	struct sync_group sync;
	struct group group[2]; /* one is being filled, the other written */
	unsigned filled;
	bool refused; /* the lines of the group being written did not fit */
	bool full;    /* less than disk_free is free */
	/* A document did not fit: documents are fetched one at a time until one is complete. */
	bool scarce;
	bool told;                       /* any of these was logged */
	int64_t trial_us, trial_wait_us; /* the next test; time since the last */
	bool unsynced;                   /* the lines were written, but the sync failed */
	uint64_t unasked;                /* results of lines that cannot be fetched */
	struct loop_timer space;
};

/* Syncs. */

/* Includes descriptors: others will free theirs. */
static bool is_want_of_room(int sys_errno)
{
	return sys_errno == ENOSPC || sys_errno == EDQUOT || sys_errno == EMFILE ||
	       sys_errno == ENFILE;
}

/* Logs the first trouble, and the end of all. */
static void store_tell(struct spider_store *s, const char *why)
{
	bool is_trouble = s->full || s->refused || s->scarce;
	if (is_trouble == s->told)
		return;
	s->told = is_trouble;
	if (is_trouble)
		log_warn(ROLE, "cannot store results; fetching paused", KV_TEXT("why", why));
	else
		log_info(ROLE, "disk no longer full; fetching resumed");
}

static struct group *group_next(struct spider_store *s)
{
	return &s->group[s->filled];
}

static struct group *group_now(struct spider_store *s)
{
	return &s->group[!s->filled];
}

static bool group_begin(void *ctx)
{
	struct spider_store *s = ctx;
	if (s->refused) /* once more */
		return true;
	if (list_is_empty(&group_next(s)->items))
		return false;
	s->filled = !s->filled;
	return true;
}

static void group_soon(struct spider_store *s)
{
	if (!s->refused && !list_is_empty(&group_next(s)->items))
		sync_group_soon(&s->sync, MIN(MAX(s->sync.took_us, GROUP_US), GROUP_MOST_US));
}

static void group_forget(struct group *g)
{
	buf_clear(&g->lines);
	LIST_EACH (struct spider_item, item, &g->items, link)
		list_remove(&item->link);
}

/* Writes the lines again later, from the end of the last synced one. */
static void group_again(struct spider_store *s, const char *why)
{
	s->refused = true;
	store_tell(s, why);
	sync_group_soon(&s->sync, REFUSED_US);
	if (!s->unsynced)
		return;
	group_forget(&s->group[0]);
	group_forget(&s->group[1]);
	spider_lost(s->spider);
}

static void group_done(void *ctx, int rc, const struct err *err)
{
	struct spider_store *s = ctx;
	struct spider_item *item;
	if (rc < 0 && is_want_of_room(err->sys_errno)) {
		group_again(s, err->msg);
		return;
	}
	if (rc < 0) {
		s->refused = true; /* begin no more */
		role_loop_fail(&s->spider->role, err);
		return;
	}
	if (s->refused)
		loop_timer_in(s->loop, &s->space, 0);
	s->refused = false;
	struct group *g = group_now(s);
	s->length += g->lines.n;
	buf_clear(&g->lines);
	while ((item = LIST_FIRST(struct spider_item, &g->items, link))) {
		list_remove(&item->link);
		spider_kept(s->spider, item);
	}
	group_soon(s);
}

static int group_write(void *ctx, struct err *err)
{
	struct spider_store *s = ctx;
	const struct group *g = group_now(s);
	int rc = s->refused ? file_truncate(&s->lines, s->length, err) : 0;
	if (rc == 0)
		rc = file_write(&s->lines, g->lines.p, g->lines.n, s->length, err);
	FAULT("spider.written");
	s->unsynced = rc == 0 && (rc = file_sync_all(&s->lines, err)) < 0;
	FAULT("spider.synced");
	return rc;
}

/* Room on the disk. */

bool spider_store_room(const struct spider_store *s)
{
	return !s->full && !s->refused && (!s->scarce || loop_now_us(s->loop) >= s->trial_us);
}

static void space_look(void *ctx)
{
	struct spider_store *s = ctx;
	uint64_t left;
	struct err ignored;
	s->full = file_space(s->path, &left, NULL, &ignored) == 0 && left < s->disk_free;
	store_tell(s, "disk full");
	loop_timer_in(s->loop, &s->space, SPACE_LOOK_US);
	if (spider_store_room(s))
		spider_room(s->spider);
}

bool spider_store_refused(struct spider_store *s, int sys_errno, const char *why)
{
	if (!is_want_of_room(sys_errno))
		return false;
	s->scarce = true;
	store_tell(s, why);
	s->trial_us = loop_now_us(s->loop) + s->trial_wait_us;
	return true;
}

/* If this test has no result, the next one comes after a longer wait. */
static void trial_begin(struct spider_store *s)
{
	s->trial_wait_us = MIN(s->trial_wait_us * 2, TRIAL_MAX_US);
	s->trial_us = loop_now_us(s->loop) + s->trial_wait_us;
}

static void trial_end(struct spider_store *s, bool is_complete)
{
	s->trial_us = 0;
	if (!is_complete)
		return;
	s->scarce = false;
	s->trial_wait_us = TRIAL_MIN_US;
	store_tell(s, "");
	spider_room(s->spider);
}

/* The door. */

int spider_store_begin(struct spider_store *s, struct spider_item *item, const struct url *url,
		       struct err *err)
{
	item->is_trial = s->scarce;
	if (item->is_trial)
		trial_begin(s);
	mem_free(&item->path);
	if (result_file_make(s->path, url, &item->path, err) < 0)
		return -1;
	item->file = robot_file_sink(s->folder, item->path + strlen(s->path) + 1);
	return 0;
}

/* Returns whether a result gets a line. Lines that cannot be fetched cost their sender nothing, and
 * could fill the disk. */
static bool has_line(struct spider_store *s, const struct spider_item *item)
{
	if (item->path || s->unasked++ < UNASKED_MOST)
		return true;
	if (s->unasked == UNASKED_MOST + 1)
		log_warn(ROLE,
			 "too many lines that cannot be fetched; their results are not written");
	return false;
}

void spider_store_put(struct spider_store *s, struct spider_item *item,
		      const struct robot_result *result)
{
	bool kept = item->path && result->outcome == OUTCOME_OK;
	if (has_line(s, item))
		result_print_json(item->url, result, item->doc_id, kept ? item->path : "",
				  &group_next(s)->lines);
	list_append(&group_next(s)->items, &item->link);
	if (item->is_trial)
		trial_end(s, kept);
	group_soon(s);
}

void spider_store_free(struct spider_store **sp)
{
	struct spider_store *s = *sp;
	struct err ignored; /* none of it was acknowledged */
	if (!s)
		return;
	(void)sync_group_close(&s->sync, &ignored);
	loop_timer_stop(&s->space);
	file_drop(&s->lines);
	beneath_close(&s->folder);
	buf_free(&s->group[0].lines);
	buf_free(&s->group[1].lines);
	mem_free(&s->path);
	mem_free(sp);
}

/* Finds the end of the last complete line. */
static int whole_lines(const struct file *f, uint64_t *ret, struct err *err)
{
	char *room = mem_alloc(TAIL);
	uint64_t size = 0;
	int rc = file_size(f, &size, err);
	while (rc == 0 && size) {
		uint64_t from = size - MIN(size, (uint64_t)TAIL);
		size_t n = 0;
		rc = file_read(f, room, (size_t)(size - from), from, &n, err);
		if (rc < 0)
			break;
		while (n && room[n - 1] != '\n')
			n--;
		size = from + n;
		if (n)
			break;
	}
	mem_free(&room);
	*ret = size;
	return MIN(rc, 0);
}

static int lines_open(struct spider_store *s, struct err *err)
{
	char path[PATH_MAX];
	uint64_t size;
	if (file_below(s->path, "results.jsonl", path, err) < 0 ||
	    dir_make(s->path, 0777, err) < 0 || beneath_open(&s->folder, s->path, 0666, err) < 0 ||
	    file_open(&s->lines, path, O_RDWR | O_CREAT, 0666, err) < 0 ||
	    lock_file(&s->lines, err) < 0 || whole_lines(&s->lines, &s->length, err) < 0 ||
	    file_size(&s->lines, &size, err) < 0)
		return -1;
	return size == s->length ? 0 : file_truncate(&s->lines, s->length, err);
}

int spider_store_open(struct spider *sp, const char *path, struct err *err)
{
	struct spider_store *s = sp->store = mem_alloc(sizeof *s);
	*s = (struct spider_store){
		.spider = sp,
		.loop = sp->role.loop,
		.path = mem_text(path),
		.disk_free = sp->role.env->disk_free,
		.lines = FILE_INIT,
		.trial_wait_us = TRIAL_MIN_US,
		.group = {{.lines = BUF_INIT(LINES_MAX)}, {.lines = BUF_INIT(LINES_MAX)}},
		.sync = {.loop = sp->role.loop,
			 .begin = group_begin,
			 .run = group_write,
			 .done = group_done,
			 .ctx = s},
		.space = {.fn = space_look, .ctx = s},
	};
	list_init(&s->group[0].items);
	list_init(&s->group[1].items);
	if (lines_open(s, err) < 0 || sync_group_open(&s->sync, err) < 0)
		return -1;
	space_look(s);
	return 0;
}
