/* The smallest doc index: a file with one URL per line, and PATH.done next to it with their
 * outcomes. The DOC_ID is the line number. The file is read once, from the beginning. A URL whose
 * host is rejected is skipped and its place noted by host, so that the next request looks at one
 * entry for each such host and does not read the lines again.
 *
 * A line counts once it has an end. The last line may lack one: it is handed out when nobody
 * writes the file any longer, and read again if an end comes later.
 *
 * Reports go to PATH.done, a database, in a thread, many in one commit. If that fails, it is
 * retried after a while, and no URL is handed out until it succeeds. A report belongs to the text
 * of a line: a line that has changed since is another URL. */
#include "base/arena.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/rows.h"
#include "base/table.h"
#include "base/vec.h"
#include "fetch/spider/docindex.h"
#include "fetch/spider/docindex_wire.h"
#include "net/sync_group.h"
#include "store/small.h"
#include "url/url.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>

enum {
	PIECE = 64 << 10,   /* bytes read at a time; a longer line is not a URL */
	ROUND_LINES = 1000, /* looked at before others of the loop have their turn */
};
#define SYNC_AFTER_US (US_PER_S / 20) /* time in which reports are gathered */
#define AGAIN_US US_PER_S             /* after a failure, and while only rejected hosts are left */
#define NOTHING_US (5 * US_PER_S)     /* until the file is looked at again for new lines */
#define QUIET_US (2 * US_PER_S)       /* a file not written for this long is complete */

/* PATH.done. */

struct outcome_row {
	uint64_t line;
	char outcome[16];
	int64_t time_us;
	struct str url;
};

#define S struct outcome_row
static const struct column outcome_columns[] = {
	COL("line", S, line, .most = UINT32_MAX),
	COL("outcome", S, outcome),
	COL("time", S, time_us, .unit = UNIT_TIME),
	COL("url", S, url, .most = DOCINDEX_URL_MAX),
};
#undef S

static const struct small_table outcomes = {
	.name = "outcomes",
	.row = {ROWS(struct outcome_row, outcome_columns)},
	.key = 1,
	.most = UINT32_MAX,
	.writer = "urlserver",
	.loss = "which URLs of the list are done; they are fetched again",
};

/* A line whose turn has not come. */
struct passed_line {
	uint64_t at, number;
	size_t n;
};
struct passed_host {
	struct passed_line *line;
	size_t first, n, room;
};
TABLE(passed_hosts, struct str, struct passed_host, hash64, str_eq)
TABLE(rejected_hosts, struct str, bool, hash64, str_eq)

/* Reports that are not durable. */
struct unsynced {
	struct outcome_row *row;
	size_t n, room;
	struct arena urls;
};

struct file_index {
	struct docindex base;
	struct loop *loop;
	struct docindex_host host;
	struct file file;
	/* Where it is read. */
	char *piece, *again; /* the second for lines that were passed over */
	size_t at, end;      /* of what is left in the piece */
	uint64_t offset;     /* in the file, of the piece's end */
	uint64_t number;     /* of the last line */
	bool skipping;       /* a line that is too long */
	size_t tail;         /* bytes of a last line without end that was handed out; 0: none */
	bool told_tail;
	uint64_t *done; /* by line: the hash of the URL that has an outcome; 0: none */
	size_t ndone, done_room;
	struct passed_hosts passed;
	/* The current request. */
	bool asked;
	uint64_t count, came;
	struct rejected_hosts rejected;
	struct arena texts; /* of the rejected hosts */
	struct loop_later step;
	/* Reports. */
	struct small *small; /* of the sync's thread, once it is open */
	struct unsynced filling, syncing;
	struct sync_group sync;
	bool failed; /* the last sync; no URL is handed out */
};

static struct file_index *index_of(const struct docindex *d)
{
	return LIST_OF(struct file_index, d, base);
}

/* Reports. */

static bool line_is_done(const struct file_index *x, uint64_t number, struct str url)
{
	return number < x->ndone && x->done[number] == (xxh64(url) | 1);
}

static void line_set_done(struct file_index *x, uint64_t number, struct str url)
{
	if (number >= x->ndone) {
		VEC_ROOM(x->done, x->done_room, number + 1);
		memset(x->done + x->ndone, 0, (number + 1 - x->ndone) * sizeof *x->done);
		x->ndone = number + 1;
	}
	x->done[number] = xxh64(url) | 1;
}

static void unsynced_add(struct unsynced *u, const struct outcome_row *r)
{
	struct outcome_row *row = VEC_PUSH(u->row, u->n, u->room);
	*row = *r;
	row->url = arena_str(&u->urls, r->url);
}

static void unsynced_clear(struct unsynced *u)
{
	u->n = 0;
	arena_clear(&u->urls);
}

static void unsynced_swap(struct file_index *x)
{
	struct unsynced was = x->filling;
	x->filling = x->syncing;
	x->syncing = was;
}

/* All that is not durable gathers again. */
static void syncing_again(struct file_index *x)
{
	for (size_t i = 0; i < x->filling.n; i++)
		unsynced_add(&x->syncing, &x->filling.row[i]);
	unsynced_clear(&x->filling);
	unsynced_swap(x);
}

static void sync_done(void *ctx, int rc, const struct err *err)
{
	struct file_index *x = ctx;
	if (rc < 0) {
		syncing_again(x);
		if (!x->failed)
			log_warn(ROLE, "recording outcomes failed; retrying",
				 KV_TEXT("why", err->msg));
		x->failed = true;
		sync_group_soon(&x->sync, AGAIN_US);
		return;
	}
	FAULT("outcomes.synced");
	if (x->failed)
		log_info(ROLE, "outcomes recorded again");
	x->failed = false;
	unsynced_clear(&x->syncing);
	if (x->filling.n)
		sync_group_soon(&x->sync, SYNC_AFTER_US);
}

static int sync_run(void *ctx, struct err *err)
{
	struct file_index *x = ctx;
	int rc = small_begin(x->small, false, err);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < x->syncing.n && rc == 0; i++)
		rc = small_put(x->small, &outcomes, &x->syncing.row[i], err);
	return small_end(x->small, rc, err);
}

static bool sync_begin(void *ctx)
{
	FAULT("outcomes.append");
	unsynced_swap(ctx);
	return true;
}

static void report_add(struct file_index *x, uint64_t number, struct str url, unsigned outcome)
{
	struct outcome_row r = {.line = number, .time_us = clock_wall_us(), .url = url};
	if (line_is_done(x, number, url))
		return;
	line_set_done(x, number, url);
	snprintf(r.outcome, sizeof r.outcome, "%s", docindex_outcome_name(outcome));
	unsynced_add(&x->filling, &r);
	sync_group_soon(&x->sync, x->failed ? AGAIN_US : SYNC_AFTER_US);
}

static void index_done(struct docindex *d, struct str doc_id, struct str url, unsigned outcome)
{
	uint64_t number;
	ENSURE(str_u64(doc_id, &number));
	report_add(index_of(d), number, url, outcome);
}

static uint64_t index_waiting(const struct docindex *d)
{
	const struct file_index *x = index_of(d);
	return x->filling.n + x->syncing.n;
}

/* Lines. */

/* More of the file after what is left of the piece. 1: there is no more. */
static int piece_fill(struct file_index *x, struct err *err)
{
	size_t n;
	memmove(x->piece, x->piece + x->at, x->end - x->at);
	x->end -= x->at;
	x->at = 0;
	if (file_read(&x->file, x->piece + x->end, PIECE - x->end, x->offset, &n, err) < 0)
		return -1;
	x->end += n;
	x->offset += n;
	return n == 0;
}

/* Whether the last line, which has no end, is all there. */
static bool tail_is_whole(struct file_index *x)
{
	struct err err;
	uint64_t size;
	int rc = file_in_use(&x->file, clock_wall_us() - QUIET_US, &err);
	if (rc < 0 && !x->told_tail) {
		log_warn(ROLE, "last line of the URL list has no end; waiting for it",
			 KV_TEXT("why", err.msg));
		x->told_tail = true;
	}
	return rc == 0 && file_size(&x->file, &size, &err) == 0 && size == x->offset;
}

/* The line that the piece begins with. 1: its end is not there. *ret_n: its length without it, or
 * PIECE: it is longer. */
static int line_find(struct file_index *x, size_t *ret_n, struct err *err)
{
	int rc = 0;
	for (;;) {
		struct str rest = {x->piece + x->at, x->end - x->at};
		*ret_n = str_find_byte(rest, '\n');
		if (*ret_n < rest.n || rest.n == PIECE)
			return 0;
		if (rc != 0)
			return rc;
		rc = piece_fill(x, err);
	}
}

/* The same as was handed out when it had no end. */
static bool line_is_tail(const struct file_index *x, struct str line)
{
	return x->tail && str_eq(str_trim(line), str_trim(str_head(line, x->tail)));
}

/* The next line, and where it is. 1: none now. Of a line that is too long the first bytes. */
static int line_next(struct file_index *x, struct str *ret, struct passed_line *ret_place,
		     bool *ret_long, struct err *err)
{
	for (;;) {
		size_t n;
		int rc = line_find(x, &n, err);
		bool is_tail = rc == 1 && n && !x->skipping && !x->tail && tail_is_whole(x);
		if (rc != 0 && !is_tail)
			return rc;
		*ret = (struct str){x->piece + x->at, n};
		*ret_place = (struct passed_line){x->offset - (x->end - x->at), x->number + 1, n};
		*ret_long = n == PIECE;
		if (is_tail) {
			x->tail = n;
			return 0;
		}
		bool is_known = x->skipping || line_is_tail(x, *ret);
		x->tail = 0;
		x->skipping = *ret_long;
		x->at += MIN(n + 1, x->end - x->at);
		x->number += !*ret_long;
		if (!is_known)
			return 0;
	}
}

static struct str url_host(struct str text, char room[URL_MAX])
{
	struct url url;
	return url_parse(text, NULL, room, URL_MAX, &url) == 0 ? url.host : STR("");
}

static void host_pass(struct file_index *x, struct str host, const struct passed_line *place)
{
	struct passed_host *h = passed_hosts_get(&x->passed, host);
	if (!h) {
		char *own = mem_resize(NULL, host.n);
		memcpy(own, host.p, host.n);
		h = passed_hosts_put(&x->passed, (struct str){own, host.n});
	}
	*VEC_PUSH(h->line, h->n, h->room) = *place;
}

static void line_give(struct file_index *x, uint64_t number, struct str url)
{
	char digits[STR_DECIMAL_MAX];
	x->came++;
	x->host.url(x->host.ctx, (struct str){digits, str_decimal(digits, number)}, url);
}

static void line_look(struct file_index *x, struct str line, const struct passed_line *place,
		      bool is_long)
{
	char room[URL_MAX];
	struct str url = str_trim(line), host;
	if (url.n == 0 || url.p[0] == '#' || line_is_done(x, place->number, url))
		return;
	if (is_long || url.n > DOCINDEX_URL_MAX) {
		report_add(x, place->number, str_head(url, DOCINDEX_URL_MAX), OUTCOME_LIMIT);
	} else if (!docindex_is_url(url)) {
		report_add(x, place->number, url, OUTCOME_PERMANENT);
	} else if (rejected_hosts_count(&x->rejected) && (host = url_host(url, room)).n &&
		   rejected_hosts_get(&x->rejected, host)) {
		host_pass(x, host, place);
	} else {
		line_give(x, place->number, url);
	}
}

/* Hands out skipped lines of hosts that are no longer rejected. */
static int passed_give(struct file_index *x, struct err *err)
{
	TABLE_EACH (passed_hosts, slot, &x->passed) {
		struct passed_host *h = &slot->value;
		if (rejected_hosts_get(&x->rejected, slot->key))
			continue;
		for (; h->first < h->n && x->came < x->count; h->first++) {
			const struct passed_line *l = &h->line[h->first];
			size_t n;
			if (file_read(&x->file, x->again, l->n, l->at, &n, err) < 0)
				return -1;
			struct str url = str_trim((struct str){x->again, n});
			if (docindex_is_url(url)) /* else somebody has changed the file */
				line_give(x, l->number, url);
		}
		if (h->first < h->n)
			return 0;
		char *host = (char *)(uintptr_t)slot->key.p;
		mem_free(&h->line);
		passed_hosts_remove(&x->passed, slot->key);
		mem_free(&host);
	}
	return 0;
}

static void index_answer(struct file_index *x, int64_t wait_us)
{
	uint64_t came = x->came;
	x->asked = false;
	rejected_hosts_clear(&x->rejected);
	arena_clear(&x->texts);
	x->host.have(x->host.ctx, came, came ? 0 : wait_us);
}

static int lines_give(struct file_index *x, struct err *err)
{
	struct passed_line place;
	struct str line;
	bool is_long;
	int rc = passed_give(x, err);
	for (int i = 0; rc == 0 && !x->failed && i < ROUND_LINES && x->came < x->count; i++) {
		rc = line_next(x, &line, &place, &is_long, err);
		if (rc == 0)
			line_look(x, line, &place, is_long);
	}
	return rc;
}

static void index_step(void *ctx)
{
	struct file_index *x = ctx;
	struct err err;
	int rc = x->failed ? 1 : lines_give(x, &err);
	if (rc < 0)
		log_warn(ROLE, "reading the URL list failed", KV_TEXT("why", err.msg));
	if (rc == 0 && x->came < x->count)
		loop_later(x->loop, &x->step);
	else
		index_answer(x, rc < 0 || x->failed || passed_hosts_count(&x->passed) ? AGAIN_US
										      : NOTHING_US);
}

static void index_want(struct docindex *d, uint64_t count, const struct str *rejects, size_t n)
{
	struct file_index *x = index_of(d);
	ENSURE(!x->asked);
	x->asked = true;
	x->count = count;
	x->came = 0;
	for (size_t i = 0; i < n; i++)
		if (!rejected_hosts_get(&x->rejected, rejects[i]))
			*rejected_hosts_put(&x->rejected, arena_str(&x->texts, rejects[i])) = true;
	loop_later(x->loop, &x->step);
}

/* Beginning and end. */

/* The list may have been cut since. A number that is too great for any line of it would cost a lot
 * of memory. */
static int done_load(struct file_index *x, struct err *err)
{
	struct small_iter it;
	struct outcome_row r;
	uint64_t size;
	if (file_size(&x->file, &size, err) < 0)
		return -1;
	small_iter_init(&it, x->small, &outcomes, NULL);
	int rc;
	while ((rc = small_iter_next(&it, &r, err)) == 0)
		if (r.line <= size)
			line_set_done(x, r.line, r.url);
	small_iter_done(&it);
	return MIN(rc, 0);
}

/* Two at once would hand out each URL twice. */
static int done_open(struct file_index *x, const char *path, struct err *err)
{
	const struct small_table *const tables[] = {&outcomes};
	if (flock(x->file.fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? err_set(err, ERR_BUSY,
						      "%s: another URL server has it", x->file.path)
					    : err_sys(err, "%s: lock", x->file.path);
	if (small_open(&x->small, path, tables, 1, SMALL_WRITE, err) < 0 || done_load(x, err) < 0)
		return -1;
	return small_lost(x->small, &outcomes) ? small_forgive(x->small, &outcomes, err) : 0;
}

static void index_drop(struct file_index *x)
{
	small_close(&x->small);
	TABLE_EACH (passed_hosts, slot, &x->passed) {
		char *host = (char *)(uintptr_t)slot->key.p;
		mem_free(&slot->value.line);
		mem_free(&host);
	}
	passed_hosts_free(&x->passed);
	rejected_hosts_free(&x->rejected);
	arena_free(&x->texts);
	arena_free(&x->filling.urls);
	arena_free(&x->syncing.urls);
	mem_free(&x->filling.row);
	mem_free(&x->syncing.row);
	mem_free(&x->done);
	mem_free(&x->piece);
	mem_free(&x->again);
	file_drop(&x->file);
	mem_free(&x);
}

static int index_free(struct docindex **dp, struct err *err)
{
	struct file_index *x = index_of(*dp);
	*dp = NULL;
	loop_later_cancel(&x->step);
	if (sync_group_close(&x->sync, err) < 0)
		syncing_again(x);
	unsynced_clear(&x->syncing);
	unsynced_swap(x);
	int rc = x->syncing.n ? sync_run(x, err) : 0;
	index_drop(x);
	return rc;
}

static const struct docindex_ops file_ops = {index_want, index_done, index_waiting, index_free};

int docindex_file_open(struct docindex **ret, const char *path, const struct docindex_options *o,
		       struct err *err)
{
	struct file_index *x = mem_alloc(sizeof *x);
	char done[PATH_MAX + 8];
	size_t n;
	*x = (struct file_index){.base.ops = &file_ops,
				 .loop = o->loop,
				 .host = *o->host,
				 .file = FILE_INIT,
				 .piece = mem_alloc(PIECE),
				 .again = mem_alloc(PIECE),
				 .texts = ARENA_INIT(1 << 30),
				 .step = {.fn = index_step, .ctx = x},
				 .sync = {.loop = o->loop,
					  .begin = sync_begin,
					  .run = sync_run,
					  .done = sync_done,
					  .ctx = x}};
	x->filling.urls = x->syncing.urls = ARENA_INIT(SIZE_MAX);
	snprintf(done, sizeof done, "%s.done", path);
	int rc = file_open_plain(&x->file, path, err);
	if (rc == 1)
		rc = err_set(err, ERR_USAGE, "there is no file %s", path);
	if (rc == 0 && file_read(&x->file, x->again, 1, 0, &n, err) < 0)
		rc = err->sys_errno == EISDIR /* it can be opened */
			     ? err_set(err, ERR_USAGE,
				       "%s is a folder; expected file:PATH, of a file with one "
				       "URL per line",
				       path)
			     : -1;
	if (rc < 0)
		(void)err_in(err, "doc_index");
	if (rc == 0)
		rc = done_open(x, done, err);
	if (rc == 0)
		rc = sync_group_open(&x->sync, err);
	if (rc < 0) {
		index_drop(x);
		return -1;
	}
	*ret = &x->base;
	return 0;
}
