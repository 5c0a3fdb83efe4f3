/* A walk visits the folders of a site one by one, each once, as the host queue allows. The entries
 * of a folder are added to the listing as soon as they are known: a heading, then the server's own
 * lines (ftp) or EPLF (index pages).
 *
 * A folder that is forbidden, gone or not an index is treated as one that ls may not read: it is
 * listed without its contents. Trouble with the server ends the walk, because the missing folders
 * may exist. If one of our limits leaves something out, the walk is cut, and its listing is used
 * only if there is nothing better.
 *
 * A link to a parent folder looks like a folder without end. It is recognised by its page, which
 * has the same names with the same sizes and dates. */
#include "archie/getter/getter_inner.h"
#include "archie/getter/walk_page.h"
#include "base/fault.h"
#include "url/url.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

enum {
	OUT_MOST = 128 << 20, /* bytes of lines of one folder */
	DEPTH_MOST = LISTING_DEPTH_MOST - 1,
};

static void folder_done(struct task *t, const struct robot_result *r);

static unsigned depth_of(struct str path)
{
	unsigned n = path.n > 0;
	for (size_t i = 0; i < path.n; i++)
		n += path.p[i] == '/';
	return n;
}

/* Another folder; its URL ends in a slash. */
static void walk_push(struct visit *v, struct str path, struct str url)
{
	struct getter *g = v->getter;
	bool is_new;
	if (v->ended)
		return;
	if (url.n >= URL_MAX || depth_of(path) > DEPTH_MOST ||
	    v->folders >= (uint64_t)g->o.conf->walk_max) {
		v->cut |= !walk_paths_get(&v->paths, path);
		return;
	}
	path = arena_str(&v->arena, path);
	(void)walk_paths_put_new(&v->paths, path, &is_new);
	if (!is_new)
		return;
	v->folders++;
	g->counts.folders++;
	struct task *t = task_new(v, url, folder_done);
	t->path = path;
	t->body = BUF_INIT(v->site.ftp ? (size_t)GETTER_LIST_MOST : g->o.parse->body_max);
	t->memory = robot_memory_sink(&t->body, false);
	t->sink = &t->memory.sink;
	task_push(v, t);
}

static void push_child(struct visit *v, struct str parent, struct str name, struct str url)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(LISTING_LINE_MOST);
	buf_add_str(&path, parent);
	if (parent.n)
		buf_add_byte(&path, '/');
	buf_add_str(&path, name);
	if (path.over)
		v->cut = true;
	else
		walk_push(v, buf_str(&path), url);
}

/* The end of a walk. */

/* A walk that was cut takes the place of one that was, and of a database that tells of no more. */
static bool cut_is_good(struct visit *v)
{
	const char *folder = v->getter->o.folder;
	const struct getter_record *old = getter_state_find(&v->getter->state, v->key);
	const struct getter_database database = getter_database(folder, v->key);
	bool is_waiting = getter_waiting_us(folder, v->key) != 0;
	if (old && old->cut && (is_waiting || getter_is_built(&database, old)))
		return true;
	if (!is_waiting && database.entries <= v->entries)
		return true;
	char why[GETTER_TEXT];
	snprintf(why, sizeof why,
		 "a walk of %" PRIu64 " folders that was cut found %" PRIu64
		 " entries; the database stays, with %" PRIu64 " (archie.walk_max)",
		 v->folders, v->entries, database.entries);
	visit_note(v, GETTER_CAUSE_PARTIAL, why);
	return false;
}

static void walk_finish(struct visit *v)
{
	if (v->entries == 0)
		visit_note(v, GETTER_CAUSE_EMPTY, "its folders are empty");
	if (v->entries == 0 || (v->cut && !cut_is_good(v)))
		visit_fail(v);
	else
		visit_complete(v, GETTER_WALK, v->begun_us);
}

/* The task is done with its folder. */
static void folder_end(struct task *t)
{
	struct visit *v = t->visit;
	v->root_done = true;
	task_free(t);
	if (!v->ended && v->tasks == 0)
		walk_finish(v);
}

static void folder_fail(struct task *t, unsigned cause, const char *why)
{
	struct visit *v = t->visit;
	visit_note(v, cause, why);
	task_free(t);
	visit_fail(v);
}

/* Nothing is known of what is in it; is_cut: since we cannot read it, not since it is not shown.
 * The root is the whole site. */
static void folder_skip(struct task *t, unsigned cause, const char *why, bool is_cut)
{
	struct visit *v = t->visit;
	v->cut |= is_cut;
	if (v->root_done) {
		folder_end(t);
		return;
	}
	folder_fail(t, cause, why);
}

/* The heading and what is below it. */
static int folder_write(struct task *t, struct str lines, struct err *err)
{
	struct visit *v = t->visit;
	CLEANUP(buf_free) struct buf head = BUF_INIT((size_t)2 * LISTING_LINE_MOST);
	walk_heading_print(t->path, v->file.n == 0, &head);
	if (getter_file_add(&v->file, buf_str(&head), err) < 0 ||
	    getter_file_add(&v->file, lines, err) < 0)
		return -1;
	if (lines.n && lines.p[lines.n - 1] != '\n')
		return getter_file_add(&v->file, STR("\n"), err);
	FAULT("archie.walk-folder");
	return 0;
}

/* ftp: what LIST says is read in a cage of its own, for the names of folders in it. */

static void list_entry(struct task *t, const struct listing_entry *e)
{
	struct visit *v = t->visit;
	CLEANUP(buf_free) struct buf url = BUF_INIT(URL_MAX);
	v->entries++;
	if (e->kind != LISTING_DIR || e->dir.n)
		return;
	buf_add_str(&url, t->url);
	walk_name_encode(e->name, &url);
	buf_add_byte(&url, '/');
	if (url.over)
		v->cut = true;
	else
		push_child(v, t->path, e->name, buf_str(&url));
}

/* One without entries is refused, and is just empty here. */
static void list_read(struct task *t, int rc, const struct listing_stats *stats,
		      const struct err *err)
{
	if (rc == 1 || (err->code == ERR_USAGE && stats->entries == 0))
		folder_end(t);
	else
		folder_skip(t, GETTER_CAUSE_PARSER, err->msg, true);
}

static void list_came(struct task *t)
{
	struct visit *v = t->visit;
	struct err err;
	char folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s/tmp", v->getter->o.folder);
	if (file_temporary(&t->list, folder, &err) < 0 ||
	    file_write(&t->list, buf_text(&t->body), t->body.n, 0, &err) < 0 ||
	    folder_write(t, buf_str(&t->body), &err) < 0) {
		folder_fail(t, v->file.refused ? v->file.refused : (unsigned)GETTER_CAUSE_DISK,
			    err.msg);
		return;
	}
	buf_free(&t->body);
	getter_read(t, list_entry, list_read);
}

/* http: the page is read in the cage. */

/* Whether the folder of this path, which this stands for, is one of those above it. */
static bool is_above(struct visit *v, struct str path, uint64_t what)
{
	*walk_paths_get(&v->paths, path) = what;
	while (path.n > 0) {
		do
			path.n--;
		while (path.n > 0 && path.p[path.n] != '/');
		if (*walk_paths_get(&v->paths, path) == what)
			return true;
	}
	return false;
}

static void page_entries(struct task *t, const struct walk_entry *e, size_t n)
{
	struct visit *v = t->visit;
	CLEANUP(buf_free) struct buf lines = BUF_INIT(OUT_MOST);
	struct err err;
	bool is_telling = false; /* by its names alone a folder is not known */
	for (size_t i = 0; i < n; i++) {
		walk_entry_print(&e[i], &lines);
		is_telling |= !e[i].folder && e[i].time_s >= 0;
	}
	if (is_telling && is_above(v, t->path, hash64(buf_str(&lines)))) {
		folder_end(t);
		return;
	}
	if (lines.over)
		err_set(&err, ERR_USAGE, "more than %d bytes of names in one folder", OUT_MOST);
	if (lines.over || folder_write(t, buf_str(&lines), &err) < 0) {
		folder_fail(t, v->file.refused ? v->file.refused : (unsigned)GETTER_CAUSE_DISK,
			    err.msg);
		return;
	}
	v->entries += n;
	for (size_t i = 0; i < n && !v->ended; i++)
		if (e[i].folder)
			push_child(v, t->path, e[i].name, e[i].url);
	folder_end(t);
}

static void page_read(void *ctx, const struct cage_result *r)
{
	struct task *t = ctx;
	struct visit *v = t->visit;
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct walk_entry *e;
	size_t n;
	list_remove(&t->reading);
	v->cut |= r->end == CAGE_READ && r->result.links_left_out;
	if (v->ended)
		task_free(t);
	else if (r->end != CAGE_READ)
		folder_skip(t, GETTER_CAUSE_PARSER, r->reason, true);
	else if (walk_page_read(&r->attrs, t->page_url, v->site.tz_s, &arena, &e, &n) != 0)
		folder_skip(t, GETTER_CAUSE_NO_INDEX, "it shows a page of its own, not an index",
			    false);
	else
		page_entries(t, e, n);
	arena_free(&arena);
}

static void pages_submit(struct getter *g)
{
	struct cage_slot *slot;
	while (!list_is_empty(&g->reading) && cage_take(g->cage, &slot) == 0) {
		struct task *t = LIST_FIRST(struct task, &g->reading, reading);
		list_remove(&t->reading);
		list_append(&g->in_cage, &t->reading);
		struct extract_job job = {.url = t->page_url,
					  .content_type = t->content_type,
					  .body = {slot->body, MIN(t->body.n, slot->body_max)}};
		if (job.body.n)
			memcpy(slot->body, t->body.p, job.body.n);
		buf_free(&t->body);
		cage_submit(g->cage, slot, &job, page_read, t, clock_mono_us());
	}
}

/* A visit that has ended goes when its last task has. */
static void visits_sweep(struct getter *g)
{
	LIST_EACH (struct visit, v, &g->visits, link)
		visit_settle(v);
}

static void cage_ready(void *ctx, unsigned what)
{
	struct getter *g = ctx;
	(void)what;
	cage_poll(g->cage, clock_mono_us());
	pages_submit(g);
	visits_sweep(g);
}

static int cage_open(struct getter *g, struct err *err)
{
	struct cage_options options = *g->o.parse;
	if (g->cage)
		return 0;
	options.workers = 1;
	options.settings.links_max = 0; /* as many as there is room for */
	if (cage_new(&g->cage, &options, clock_mono_us(), err) < 0)
		return -1;
	g->cage_io = (struct loop_io){.fn = cage_ready, .ctx = g};
	loop_io_want(g->o.kit->loop, &g->cage_io, cage_fd(g->cage), LOOP_READ);
	return 0;
}

void walk_cage_close(struct getter *g)
{
	if (!g->cage)
		return;
	loop_io_end(&g->cage_io);
	cage_free(&g->cage);
	LIST_EACH (struct task, t, &g->reading, reading)
		task_free(t);
	LIST_EACH (struct task, t, &g->in_cage, reading)
		task_free(t);
}

static void page_came(struct task *t, const struct robot_result *r)
{
	struct getter *g = t->visit->getter;
	struct visit *v = t->visit;
	struct err err;
	/* a redirect may lead to another folder, of this site or not */
	if (!str_eq(r->url, t->url)) {
		folder_skip(t, GETTER_CAUSE_NO_INDEX, "it is elsewhere", false);
		return;
	}
	if (cage_open(g, &err) < 0) {
		folder_fail(t, GETTER_CAUSE_PARSER, err.msg);
		return;
	}
	v->bytes += t->body.n;
	g->counts.bytes += t->body.n;
	t->page_url = t->url;
	t->content_type =
		str_of(arena_printf(&v->arena, "%s%s%s", r->head->mime,
				    r->head->charset[0] ? "; charset=" : "", r->head->charset));
	list_append(&g->reading, &t->reading);
	pages_submit(g);
}

/* Whether it is the folder that cannot be had, and not the server that is in trouble. */
static bool is_about_folder(const struct robot_result *r)
{
	return !result_is_site(r) &&
	       (r->outcome == OUTCOME_PERMANENT || r->outcome == OUTCOME_ROBOTS ||
		r->outcome == OUTCOME_REDIRECT || r->outcome == OUTCOME_LIMIT);
}

static void folder_done(struct task *t, const struct robot_result *r)
{
	struct visit *v = t->visit;
	if (r->outcome == OUTCOME_OK) {
		if (v->site.ftp)
			list_came(t);
		else
			page_came(t, r);
		return;
	}
	visit_note_result(v, r);
	if (is_about_folder(r)) {
		folder_skip(t, v->cause, arena_text(&v->arena, str_of(v->why)),
			    r->outcome == OUTCOME_LIMIT && r->cause != ROBOT_CAUSE_REDIRECTS);
		return;
	}
	task_free(t);
	visit_fail(v);
}

/* Beginning and end. */

void walk_begin(struct visit *v)
{
	struct err err;
	v->file.is_ready = false;
	v->folders = v->entries = 0;
	v->cut = v->root_done = false;
	if (getter_file_begin(&v->file, &err) < 0) {
		visit_note(v, GETTER_CAUSE_DISK, err.msg);
		visit_fail(v);
		return;
	}
	walk_push(v, STR(""), v->site.url);
}

void walk_end(struct visit *v)
{
	walk_paths_free(&v->paths);
}
