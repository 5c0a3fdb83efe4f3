/* Results in a directory. A file gets its name when it is complete, a line goes into results.jsonl;
 * both are durable by one sync of the file system, which serves all results that came while the one
 * before it ran (net/sync_group.h).
 *
 * A disk that is full is waited for. Lines that could not be written are written again; a document
 * that could not is fetched again, by itself, to try whether there is room. After a sync that
 * failed nobody knows which documents are on disk: none is that was not kept before.
 *
 * A kill may leave a line that is cut: its URL was not acknowledged, and the line goes at the next
 * start. It may also leave files and lines that nobody heard of: the URL is sent again then, and
 * the later line holds. */
#include "base/fault.h"
#include "base/file.h"
#include "disk/lock.h"
#include "fetch/result_print.h"
#include "fetch/spider/spider_store.h"
#include "net/sync_group.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/statvfs.h>

/* Results that come so soon after another share its sync. Where syncs take long, they are also so
 * long apart: half of the time there is none, whatever else the disk has to do. */
#define GROUP_US (20 * US_PER_MS)
#define GROUP_MOST_US US_PER_S
#define SPACE_LOOK_US (US_PER_S / 2) /* between two looks at how much room there is */
#define REFUSED_US (2 * US_PER_S)    /* after lines that were refused for want of room */
/* Between two documents with which room is tried for: a server is asked in vain for each. */
#define TRIAL_MIN_US (US_PER_S / 2)
#define TRIAL_MAX_US US_PER_MIN

enum {
	LINES_MAX = 1 << 30,
	TAIL = 64 << 10,
	UNASKED_MOST = 10000, /* lines of what could not be fetched, in the life of a process */
};

/* Results that share a sync. */
struct group {
	struct buf lines;
	struct link items;
};

struct dir_store {
	struct spider_store store;
	struct loop *loop;
	char *path;
	uint64_t disk_free;
	struct file lines; /* results.jsonl */
	uint64_t length;   /* of it, as far as it is synced */
	struct sync_group sync;
	struct group group[2]; /* one is filled, the other is under way */
	unsigned filled;
	bool refused; /* the lines of the group that is under way */
	bool full;    /* less than disk_free is free */
	/* A document was refused: they are begun one at a time, until one is complete. */
	bool scarce;
	bool told;                       /* of any of these */
	int64_t trial_us, trial_wait_us; /* when the next may be begun; how long after the last */
	bool unsynced;                   /* all was written, and the sync failed */
	uint64_t unasked;                /* results of what nobody was asked for */
	struct loop_timer space;
};

static struct dir_store *dir_of(struct spider_store *s)
{
	return LIST_OF(struct dir_store, s, store);
}

/* Syncs. */

/* Of descriptors, too: others will give theirs back. */
static bool is_want_of_room(int sys_errno)
{
	return sys_errno == ENOSPC || sys_errno == EDQUOT || sys_errno == EMFILE ||
	       sys_errno == ENFILE;
}

/* The first trouble, and the end of all. */
static void dir_tell(struct dir_store *d, const char *why)
{
	const struct spider_store_host *host = d->store.host;
	bool is_trouble = d->full || d->refused || d->scarce;
	char text[600];
	if (is_trouble == d->told)
		return;
	d->told = is_trouble;
	snprintf(text, sizeof text, "%s; nothing is fetched until there is room", why);
	host->said(host->ctx, is_trouble, is_trouble ? text : "there is room on the disk again");
}

static struct group *group_next(struct dir_store *d)
{
	return &d->group[d->filled];
}

static struct group *group_now(struct dir_store *d)
{
	return &d->group[!d->filled];
}

static bool group_begin(void *ctx)
{
	struct dir_store *d = ctx;
	if (d->refused) /* once more */
		return true;
	if (list_is_empty(&group_next(d)->items))
		return false;
	d->filled = !d->filled;
	return true;
}

static void group_soon(struct dir_store *d)
{
	if (!d->refused && !list_is_empty(&group_next(d)->items))
		sync_group_soon(&d->sync, MIN(MAX(d->sync.took_us, GROUP_US), GROUP_MOST_US));
}

static void group_forget(struct group *g)
{
	buf_clear(&g->lines);
	LIST_EACH (struct spider_item, item, &g->items, link)
		list_remove(&item->link);
}

/* Once more, from where the file was whole. */
static void group_again(struct dir_store *d, const char *why)
{
	d->refused = true;
	dir_tell(d, why);
	sync_group_soon(&d->sync, REFUSED_US);
	if (!d->unsynced)
		return;
	group_forget(&d->group[0]);
	group_forget(&d->group[1]);
	d->store.host->lost(d->store.host->ctx);
}

static void group_done(void *ctx, int rc, const struct err *err)
{
	struct dir_store *d = ctx;
	const struct spider_store_host *host = d->store.host;
	struct spider_item *item;
	if (rc < 0 && is_want_of_room(err->sys_errno)) {
		group_again(d, err->msg);
		return;
	}
	if (rc < 0) {
		d->refused = true; /* nothing more is begun */
		host->failed(host->ctx, err);
		return;
	}
	if (d->refused)
		loop_timer_in(d->loop, &d->space, 0);
	d->refused = false;
	struct group *g = group_now(d);
	d->length += g->lines.n;
	buf_clear(&g->lines);
	while ((item = LIST_FIRST(struct spider_item, &g->items, link))) {
		list_remove(&item->link);
		host->kept(host->ctx, item);
	}
	group_soon(d);
}

static int group_write(void *ctx, struct err *err)
{
	struct dir_store *d = ctx;
	const struct group *g = group_now(d);
	int rc = d->refused ? file_truncate(&d->lines, d->length, err) : 0;
	if (rc == 0)
		rc = file_write(&d->lines, g->lines.p, g->lines.n, d->length, err);
	FAULT("spider.written");
	d->unsynced = rc == 0 && (rc = file_sync_all(&d->lines, err)) < 0;
	FAULT("spider.synced");
	return rc;
}

/* Room on the disk. */

static bool dir_room(struct spider_store *s)
{
	const struct dir_store *d = dir_of(s);
	return !d->full && !d->refused && (!d->scarce || loop_now_us(d->loop) >= d->trial_us);
}

static void space_look(void *ctx)
{
	struct dir_store *d = ctx;
	const struct spider_store_host *host = d->store.host;
	struct statvfs v;
	d->full = statvfs(d->path, &v) == 0 && (uint64_t)v.f_bavail * v.f_frsize < d->disk_free;
	dir_tell(d, "less is free on the disk than disk_free");
	loop_timer_in(d->loop, &d->space, SPACE_LOOK_US);
	if (dir_room(&d->store))
		host->room(host->ctx);
}

static bool dir_refused(struct spider_store *s, int sys_errno, const char *why)
{
	struct dir_store *d = dir_of(s);
	if (!is_want_of_room(sys_errno))
		return false;
	d->scarce = true;
	dir_tell(d, why);
	d->trial_us = loop_now_us(d->loop) + d->trial_wait_us;
	return true;
}

/* Another is tried with after a longer while, should nothing be heard of this one. */
static void trial_begin(struct dir_store *d)
{
	d->trial_wait_us = MIN(d->trial_wait_us * 2, TRIAL_MAX_US);
	d->trial_us = loop_now_us(d->loop) + d->trial_wait_us;
}

static void trial_end(struct dir_store *d, bool is_complete)
{
	d->trial_us = 0;
	if (!is_complete)
		return;
	d->scarce = false;
	d->trial_wait_us = TRIAL_MIN_US;
	dir_tell(d, "");
	d->store.host->room(d->store.host->ctx);
}

/* The door. */

static int dir_begin(struct spider_store *s, struct spider_item *item, const struct url *url,
		     struct err *err)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	struct dir_store *d = dir_of(s);
	item->is_trial = d->scarce;
	if (item->is_trial)
		trial_begin(d);
	result_file_name(d->path, url, &path);
	if (path.over)
		return err_set(err, ERR_USAGE, "the path of its file would be too long");
	char *slash = strrchr(path.p, '/');
	*slash = 0;
	int rc = dir_make_unsynced(path.p, 0777, err);
	*slash = '/';
	if (rc < 0)
		return -1;
	mem_free(&item->path);
	item->path = mem_text(path.p);
	item->file = robot_file_sink(item->path);
	item->sink = &item->file.sink;
	return 0;
}

/* Whether a result has a line. What is fetched costs the one who names it time and politeness; what
 * cannot be costs nothing, and would fill the disk. */
static bool has_line(struct dir_store *d, const struct spider_item *item)
{
	const struct spider_store_host *host = d->store.host;
	if (item->path || d->unasked++ < UNASKED_MOST)
		return true;
	if (d->unasked == UNASKED_MOST + 1)
		host->said(host->ctx, true,
			   "too many lines name nothing that can be fetched: what is wrong with "
			   "further ones is not written down");
	return false;
}

static void dir_put(struct spider_store *s, struct spider_item *item,
		    const struct robot_result *result)
{
	struct dir_store *d = dir_of(s);
	bool kept = item->path && result->outcome == OUTCOME_OK;
	const struct result_field more[] = {{"doc_id", item->doc_id},
					    {"file", str_of(kept ? item->path : "")}};
	if (has_line(d, item))
		result_print_json(item->url, result, more, ARRAY_LEN(more), &group_next(d)->lines);
	list_append(&group_next(d)->items, &item->link);
	if (item->is_trial)
		trial_end(d, kept);
	group_soon(d);
}

static void dir_free(struct spider_store **s)
{
	struct dir_store *d = dir_of(*s);
	struct err ignored; /* nobody was told that any of it is kept */
	(void)sync_group_close(&d->sync, &ignored);
	loop_timer_stop(&d->space);
	file_drop(&d->lines);
	buf_free(&d->group[0].lines);
	buf_free(&d->group[1].lines);
	mem_free(&d->path);
	mem_free(&d);
	*s = NULL;
}

/* Where the last whole line ends. */
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

static int lines_open(struct dir_store *d, struct err *err)
{
	char path[PATH_MAX];
	uint64_t size;
	int n = snprintf(path, sizeof path, "%s/results.jsonl", d->path);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, ERR_USAGE, "%s: the path is too long", d->path);
	if (dir_make(d->path, 0777, err) < 0 ||
	    file_open(&d->lines, path, O_RDWR | O_CREAT, 0666, err) < 0 ||
	    lock_file(&d->lines, err) < 0 || whole_lines(&d->lines, &d->length, err) < 0 ||
	    file_size(&d->lines, &size, err) < 0)
		return -1;
	return size == d->length ? 0 : file_truncate(&d->lines, d->length, err);
}

int spider_dir_open(struct spider_store **ret, const char *path, uint64_t disk_free,
		    struct loop *loop, const struct spider_store_host *host, struct err *err)
{
	static const struct spider_store_ops ops = {.begin = dir_begin,
						    .put = dir_put,
						    .room = dir_room,
						    .refused = dir_refused,
						    .free = dir_free};
	struct dir_store *d = mem_alloc(sizeof *d);
	struct spider_store *s = &d->store;
	*d = (struct dir_store){
		.store = {&ops, host},
		.loop = loop,
		.path = mem_text(path),
		.disk_free = disk_free,
		.lines = FILE_INIT,
		.trial_wait_us = TRIAL_MIN_US,
		.group = {{.lines = BUF_INIT(LINES_MAX)}, {.lines = BUF_INIT(LINES_MAX)}},
		.sync = {.loop = loop,
			 .begin = group_begin,
			 .run = group_write,
			 .done = group_done,
			 .ctx = d},
		.space = {.fn = space_look, .ctx = d},
	};
	list_init(&d->group[0].items);
	list_init(&d->group[1].items);
	if (lines_open(d, err) < 0 || sync_group_open(&d->sync, err) < 0) {
		dir_free(&s);
		return -1;
	}
	space_look(d);
	*ret = s;
	return 0;
}
