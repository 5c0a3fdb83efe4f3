/* cleanup: what each of its duties does to a bucket file and an index that were set by hand, and
 * what is left when it is killed. */
#include "shepherd/crawl.h"

#include "base/fault.h"
#include "base/file.h"
#include "disk/tree.h"
#include "state/recover.h"
#include "unit/shepherd/crawl_lab.h"

#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT = 3000 };

/* Pages 0 to 49 are of a site that is known, those from 100 on of one that is not. */
struct world {
	struct lab lab;
	struct buckets *b;
	struct crawl_conf conf;
};

static void open_buckets(struct world *w)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	MUST(bucket_open(&w->b, states_path(w->lab.s, &w->lab.arena, "objects"), &options, &err));
}

static void make_world(struct world *w, const char *name)
{
	*w = (struct world){.conf = lab_conf()};
	lab_make(&w->lab, name, NULL, 0, (uint64_t[]){0}, 1);
	open_buckets(w);
}

static void open_world(struct world *w, const char *name)
{
	struct err err = {0};
	*w = (struct world){.conf = lab_conf(), .lab = {.arena = ARENA_INIT(64 << 20)}};
	MUST(states_open(&w->lab.s, scratch(name), true, &err));
}

static void free_world(struct world *w)
{
	bucket_drop(&w->b);
	lab_free(&w->lab);
}

/* The text of a page; other versions are other letters. */
static struct str text_of(struct world *w, uint64_t page, unsigned version)
{
	char *text = arena_alloc(&w->lab.arena, TEXT);
	memset(text, 'a' + (int)(page + 7 * version) % 26, TEXT);
	return (struct str){text, TEXT};
}

/* text.n 0: a thin one. */
static uint32_t put_bucket(struct world *w, uint64_t page, struct str text)
{
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct arena *arena = &w->lab.arena;
	char url[PLAY_URL];
	uint32_t oid = 0;
	attrs_add(&header, arena, 'O', crawl_digits(play_footprint(page), arena));
	attrs_add(&header, arena, 'U', play_url(page, url));
	attrs_add(&header, arena, text.n ? 'D' : BUCKET_ADDED, STR("1790000000"));
	if (text.n)
		attrs_add(&body, arena, 'X', text);
	MUST(bucket_put(w->b, NULL, &header, &body, &oid, &err));
	return oid;
}

static struct index_item gathered(struct world *w, uint64_t page)
{
	struct index_item item = lab_item(page, ITEM_GATHERED);
	item.where = put_bucket(w, page, text_of(w, page, 0));
	item.last_seen_s = NOW_S;
	return item;
}

static struct index_item fresh(struct world *w, uint64_t page)
{
	struct index_item item = lab_item(page, ITEM_NEW);
	item.where = put_bucket(w, page, STR(""));
	return item;
}

/* A closed state with this index, and these names of sections. */
static void set_index(struct world *w, struct index_item *item, size_t n, const char *sections)
{
	struct err err = {0};
	struct url_index_writer *out = NULL;
	lab_enter(&w->lab, false, PHASE_MERGE);
	struct state_course course = state_params(w->lab.st)->course;
	snprintf(course.sections, sizeof course.sections, "%s", sections);
	MUST(state_params_put(w->lab.st, &course, &err));
	qsort(item, n, sizeof *item, lab_by_footprint);
	MUST(state_index_create(w->lab.st, &out, &err));
	for (size_t i = 0; i < n; i++)
		url_index_put(out, &item[i]);
	MUST(state_index_put(w->lab.st, &out, &err));
	MUST(state_enter(w->lab.st, PHASE_CLOSED, w->b, PLAY_START, &err));
}

static int try_clean(struct world *w, const char *fault, bool (*stopped)(void *),
		     struct cleaned_up *ret, struct err *err)
{
	struct crawl c = lab_crawl(&w->conf);
	struct filter *filter = (struct filter *)c.filter;
	c.buckets = w->b;
	c.stopped = stopped;
	c.ctx = w;
	lab_enter(&w->lab, false, PHASE_CLEANUP);
	if (fault_arm(fault, err) < 0)
		fail_msg("%s: %s", fault, err->msg);
	int rc = crawl_cleanup(w->lab.st, &c, ret, err);
	filter_free(&filter);
	return rc ? rc : state_enter(w->lab.st, PHASE_CLOSED, w->b, PLAY_START, err);
}

static struct cleaned_up clean(struct world *w)
{
	struct err err = {0};
	struct cleaned_up cleaned = {0};
	MUST(try_clean(w, "", NULL, &cleaned, &err));
	assert_int_equal(cleaned.after, bucket_length(w->b));
	assert_int_equal(cleaned.after, state_params(w->lab.st)->course.cleaned_bytes);
	assert_int_equal(NOW_S, state_params(w->lab.st)->course.cleaned_s);
	return cleaned;
}

/* The page is known, and its bucket says this; text.n 0: nothing. */
static void assert_page(struct world *w, uint64_t page, struct str text)
{
	struct err err = {0};
	struct attrs header = {0}, body = {0};
	struct footprint fp;
	char url[PLAY_URL];
	struct index_item item = lab_find(&w->lab, page);
	MUST(bucket_get(w->b, NULL, (uint32_t)item.where, &w->lab.arena, &header, &body, &err));
	assert_true(footprint_parse(attrs_get(&header, 'O'), &fp));
	assert_int_equal(0, footprint_cmp(fp, play_footprint(page)));
	assert_true(str_eq(play_url(page, url), attrs_get(&header, 'U')));
	assert_true(str_eq(text, attrs_get(&body, 'X')));
}

static unsigned deletes_in(struct state *st, uint64_t page)
{
	struct err err = {0};
	struct record_reader *in = NULL;
	struct record record;
	struct change c;
	unsigned n = 0;
	int rc = state_read(st, "changes", &in, &err);
	while (rc == 0 && (rc = record_next(in, &record, &err)) == 0) {
		char url[PLAY_URL];
		MUST(change_read(record.payload, &c, &err));
		if (footprint_cmp(c.fp, play_footprint(page)) != 0)
			continue;
		n++;
		assert_int_equal(CHANGE_DELETE, c.op);
		assert_int_equal(PHASE_CLEANUP, c.by);
		assert_true(c.forgotten);
		assert_true(str_eq(play_url(page, url), c.url));
	}
	assert_int_equal(1, rc);
	record_reader_free(&in);
	return n;
}

/* Of all states that are done, which followers read. */
static unsigned deletes_of(struct world *w, uint64_t page)
{
	struct err err = {0};
	struct state_info *list;
	size_t n;
	unsigned sum = 0;
	MUST(states_list(w->lab.s, 0, &w->lab.arena, &list, &n, &err));
	for (size_t i = 0; i < n; i++) {
		struct state *st = NULL;
		MUST(state_open(&st, w->lab.s, list[i].name, &err));
		assert_true(phase_is_done(state_phase(st)));
		sum += deletes_in(st, page);
		state_free(&st);
	}
	return sum;
}

/* Why a page was forgotten; -1: it was not. */
static int gone_reason(struct world *w, uint64_t page)
{
	struct err err = {0};
	struct gone gone;
	int64_t since_us;
	const char *path = states_path(w->lab.s, &w->lab.arena, "gone");
	int rc = gone_find(path, play_footprint(page), &gone, &since_us, &err);
	assert_true(rc >= 0);
	return rc == 0 ? (int)gone.reason : -1;
}

/* The duties */

static void the_file_is_shaken_down(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "shaken");
	struct index_item items[10];
	for (uint64_t page = 0; page < 10; page++) {
		(void)put_bucket(&w, page, text_of(&w, page, 1)); /* as it was before */
		items[page] = gathered(&w, page);
	}
	set_index(&w, items, 10, "other");
	uint64_t before = bucket_length(w.b);
	struct cleaned_up c = clean(&w);
	assert_int_equal(before, c.before);
	assert_true(c.after > 10 * TEXT && c.after < before * 6 / 10);
	c = clean(&w);
	assert_int_equal(c.before, c.after);
	free_world(&w);
}

static void the_index_has_the_new_numbers(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "numbers");
	(void)put_bucket(&w, 30, text_of(&w, 30, 0));
	struct index_item items[20];
	for (uint64_t page = 0; page < 20; page++)
		items[page] = page % 3 ? gathered(&w, page) : fresh(&w, page);
	set_index(&w, items, 20, "other");
	uint64_t before = lab_find(&w.lab, 7).where;
	struct cleaned_up c = clean(&w);
	assert_true(lab_find(&w.lab, 7).where < before);
	for (uint64_t page = 0; page < 20; page++)
		assert_page(&w, page, page % 3 ? text_of(&w, page, 0) : STR(""));
	assert_int_equal(0, c.missing);
	assert_int_equal(13, state_params(w.lab.st)->course.urls[ITEM_GATHERED]);
	assert_int_equal(7, state_params(w.lab.st)->course.urls[ITEM_NEW]);
	free_world(&w);
}

static void buckets_to_which_nothing_refers_go(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	struct bucket_scan scan;
	struct bucket bucket;
	unsigned n = 0;
	make_world(&w, "unreferred");
	struct index_item items[] = {gathered(&w, 1), gathered(&w, 2)};
	(void)put_bucket(&w, 3, text_of(&w, 3, 0)); /* of no URL that is known */
	(void)put_bucket(&w, 1, text_of(&w, 1, 1)); /* a later one that no checkpoint made known */
	set_index(&w, items, 2, "other");
	struct cleaned_up c = clean(&w);
	assert_int_equal(2, c.dropped);
	MUST(bucket_scan_init(&scan, w.b, 0, 0, &err));
	while (bucket_scan_next(&scan, &bucket, &err) == 0)
		n++;
	bucket_scan_done(&scan);
	assert_int_equal(2, n);
	assert_page(&w, 1, text_of(&w, 1, 0));
	free_world(&w);
}

static void urls_that_the_filters_reject_go(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "rejected");
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 100), fresh(&w, 101),
				     gathered(&w, 102), gathered(&w, 103)};
	items[3].flags = ITEM_INITIAL;
	items[4].flags = ITEM_EQUIV;
	set_index(&w, items, 5, "other");
	struct cleaned_up c = clean(&w);
	assert_int_equal(3, c.rejected);
	assert_page(&w, 0, text_of(&w, 0, 0));
	assert_page(&w, 102, text_of(&w, 102, 0)); /* somebody asked for it */
	for (uint64_t page = 100; page <= 103; page++) {
		bool gone = page != 102;
		assert_int_equal(!gone, lab_knows(&w.lab, page));
		assert_int_equal(gone ? GONE_FILTER : -1, gone_reason(&w, page));
		/* of one that was never gathered nobody has heard */
		assert_int_equal(page == 100 || page == 103, deletes_of(&w, page));
	}
	w.conf.follow = CRAWL_ALL; /* other rules */
	assert_int_equal(0, clean(&w).rejected);
	free_world(&w);
}

static void sections_are_what_the_filter_says(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "sections");
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 1), gathered(&w, 2),
				     gathered(&w, 3)};
	for (uint8_t i = 0; i < 4; i++)
		items[i].section = i;
	set_index(&w, items, 4, "pages images other"); /* the filter has only one */
	struct cleaned_up c = clean(&w);
	assert_int_equal(3, c.resectioned);
	for (uint64_t page = 0; page < 4; page++)
		assert_int_equal(0, lab_find(&w.lab, page).section);
	assert_string_equal("other", state_params(w.lab.st)->course.sections);
	assert_int_equal(0, clean(&w).resectioned);
	free_world(&w);
}

static void sizes_are_measured(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "sizes");
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 1), fresh(&w, 2), fresh(&w, 3),
				     fresh(&w, 4)};
	(void)put_bucket(&w, 5, (struct str){text_of(&w, 5, 0).p, 1}); /* not needed: not counted */
	uint64_t page = bucket_bytes(w.b, TEXT + 100), url = bucket_bytes(w.b, 100);
	set_index(&w, items, 5, "other");
	(void)clean(&w);
	const struct state_course *course = &state_params(w.lab.st)->course;
	assert_in_range(course->bucket_bytes, page - 128, page + 128);
	assert_in_range(course->url_bytes, url - 128, url + 128);
	free_world(&w);
}

static void sleeping_urls_lose_their_bodies(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "trimmed");
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 1), fresh(&w, 2)};
	items[1].type = items[2].type = ITEM_SLEEPING;
	set_index(&w, items, 3, "other");
	struct cleaned_up c = clean(&w);
	assert_int_equal(1, c.trimmed);
	assert_true(c.after < c.before - TEXT / 2);
	assert_page(&w, 0, text_of(&w, 0, 0));
	assert_page(&w, 1, STR(""));
	assert_page(&w, 2, STR(""));
	assert_int_equal(ITEM_SLEEPING, lab_find(&w.lab, 1).type);
	assert_int_equal(0, clean(&w).trimmed);
	free_world(&w);
}

static void missing_buckets_are_named(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	const struct url_index *index;
	struct footprint root = {play_footprint(0).site, footprint_path(STR("/"))};
	char name[FOOTPRINT_TEXT];
	make_world(&w, "missing");
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 1), gathered(&w, 2),
				     lab_item(3, ITEM_NEW), gathered(&w, 4)};
	items[1].where = items[0].where; /* another's */
	items[2].where = 1 << 20;        /* after the end */
	items[4].where = 1 << 21;
	items[4].fp = root;
	set_index(&w, items, 5, "other");
	struct cleaned_up c = clean(&w);
	assert_int_equal(4, c.missing);
	for (uint64_t page = 1; page < 4; page++) {
		const char *told =
			strstr(buf_text(&c.told), footprint_print(play_footprint(page), name));
		assert_non_null(told);
		assert_int_equal(0, strncmp("forgotten", strstr(told, "it is ") + 6, 9));
		assert_false(lab_knows(&w.lab, page));
		assert_int_equal(GONE_UNKNOWN, gone_reason(&w, page));
	}
	assert_non_null(strstr(buf_text(&c.told), footprint_print(root, name)));
	buf_free(&c.told);
	/* the front page of a site is known by name */
	struct index_item item;
	struct attrs header = {0}, body = {0};
	MUST(state_index(w.lab.st, &index, &err));
	MUST(url_index_find(index, root, &item, &err));
	assert_int_equal(ITEM_NEW, item.type);
	MUST(bucket_get(w.b, NULL, (uint32_t)item.where, &w.lab.arena, &header, &body, &err));
	assert_str(attrs_get(&header, 'U'), "http://site0.example/");
	assert_page(&w, 0, text_of(&w, 0, 0));
	assert_int_equal(0, clean(&w).missing);
	free_world(&w);
}

static void robots_txt_stays_whatever_the_filter_says(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	const struct url_index *index;
	struct attrs header = {0}, body = {0};
	struct index_item item;
	make_world(&w, "robots");
	(void)put_bucket(&w, 7, STR("nobody needs it")); /* numbers change */
	struct index_item items[] = {gathered(&w, 0), gathered(&w, 100), gathered(&w, 1),
				     lab_item(2, ITEM_ERROR)};
	struct footprint has = items[1].fp, lost = items[2].fp, none = items[3].fp;
	items[2].where = 1 << 20;
	items[3].where = ITEM_NOWHERE;
	for (size_t i = 1; i < ARRAY_LEN(items); i++) {
		items[i].flags = ITEM_ROBOTS;
		items[i].last_seen_s = NOW_S;
		items[i].section = 0;
	}
	set_index(&w, items, ARRAY_LEN(items), "other");
	struct cleaned_up c = clean(&w);
	assert_int_equal(0, c.rejected + c.missing);
	const struct state_course *course = &state_params(w.lab.st)->course;
	assert_int_equal(3, course->urls[ITEM_QKEY]);
	assert_int_equal(1, course->urls[ITEM_GATHERED]);
	assert_int_equal(0, deletes_in(w.lab.st, 100));
	MUST(state_index(w.lab.st, &index, &err));
	MUST(url_index_find(index, has, &item, &err));
	assert_int_equal(ITEM_GATHERED, item.type);
	MUST(bucket_get(w.b, NULL, (uint32_t)item.where, &w.lab.arena, &header, &body, &err));
	assert_true(str_eq(text_of(&w, 100, 0), attrs_get(&body, 'X')));
	MUST(url_index_find(index, lost, &item, &err));
	assert_int_equal(ITEM_NEW, item.type); /* and is asked for again */
	assert_int_equal(ITEM_NOWHERE, item.where);
	assert_int_equal(0, item.last_seen_s);
	MUST(url_index_find(index, none, &item, &err));
	assert_int_equal(ITEM_ERROR, item.type);
	assert_int_equal(NOW_S, item.last_seen_s);
	buf_free(&c.told);
	free_world(&w);
}

/* The file is too large. */

static void the_lowest_weights_go_until_the_file_fits(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "ranked");
	struct index_item items[20];
	for (uint64_t page = 0; page < 20; page++) {
		items[page] = gathered(&w, page);
		items[page].weight = (uint8_t)(page / 4); /* four of each */
	}
	items[1].flags = ITEM_EQUIV; /* sacred, and as light as can be */
	uint64_t one = bucket_bytes(w.b, TEXT + 100);
	set_index(&w, items, 20, "other");
	uint64_t fits = bucket_length(w.b) - 5 * one + one / 2;
	w.conf.bucket_file_size = fits * 32 / 31;
	struct cleaned_up c = clean(&w);
	assert_true(c.after <= fits);
	assert_true(c.after > fits - one);
	assert_int_equal(5, c.ranked); /* three of weight 0, and the oldest two of weight 1 */
	for (uint64_t page = 0; page < 20; page++) {
		bool gone = page < 6 && page != 1;
		assert_int_equal(!gone, lab_knows(&w.lab, page));
		assert_int_equal(gone, deletes_of(&w, page));
		assert_int_equal(gone ? GONE_RANK : -1, gone_reason(&w, page));
		if (!gone)
			assert_page(&w, page, text_of(&w, page, 0));
	}
	w.conf.bucket_file_size = 1; /* the sacred stay in any case */
	assert_int_equal(14, clean(&w).ranked);
	assert_page(&w, 1, text_of(&w, 1, 0));
	free_world(&w);
}

static void urls_without_a_page_go_untold(void **state)
{
	(void)state;
	struct world w;
	make_world(&w, "ranked-thin");
	struct index_item items[] = {fresh(&w, 0), gathered(&w, 1)};
	items[0].weight = 0;
	set_index(&w, items, 2, "other");
	w.conf.bucket_file_size = bucket_length(w.b);
	assert_int_equal(1, clean(&w).ranked);
	assert_false(lab_knows(&w.lab, 0));
	assert_int_equal(0, deletes_of(&w, 0));
	assert_page(&w, 1, text_of(&w, 1, 0));
	free_world(&w);
}

/* Interrupted */

/* Before a cleanup that drops the pages 9 and 100 and trims 5. */
static void make_story(const char *name)
{
	struct world w;
	struct err err = {0};
	assert_true(tree_remove(scratch(name), &err) >= 0);
	make_world(&w, name);
	struct index_item items[11];
	for (uint64_t page = 0; page < 10; page++) {
		(void)put_bucket(&w, page, text_of(&w, page, 1));
		items[page] = gathered(&w, page);
	}
	items[5].type = ITEM_SLEEPING;
	items[9].weight = 3;
	items[10] = gathered(&w, 100);
	set_index(&w, items, 11, "images other");
	free_world(&w);
}

static int clean_story(struct world *w, const char *fault, struct err *err)
{
	struct cleaned_up cleaned = {0};
	w->conf.bucket_file_size = (8 * bucket_bytes(w->b, TEXT + 100) + 1000) * 32 / 31;
	int rc = try_clean(w, fault, NULL, &cleaned, err);
	buf_free(&cleaned.told);
	return rc;
}

/* The next start, whatever was left; a cleanup that did not come to its end is made again. */
static void end_story(const char *name, const char *what)
{
	struct world w;
	struct err err = {0};
	struct recovery r = {0};
	open_world(&w, name);
	/* a mark at the end of `gone` that could not be written is named, and nothing is lost */
	if (states_recover(w.lab.s, PLAY_START, &r, &err) < 0 ||
	    (r.damaged && !strstr(buf_text(&r.told), "gone: was closed and does not end so")))
		fail_msg("%s: %s %s", what, err.msg, buf_text(&r.told));
	recovery_free(&r);
	open_buckets(&w);
	MUST(state_open(&w.lab.st, w.lab.s, "current", &err));
	assert_int_equal(PHASE_CLOSED, state_phase(w.lab.st));
	if (lab_knows(&w.lab, 100)) {
		for (uint64_t page = 0; page < 10; page++)
			assert_page(&w, page, text_of(&w, page, 0));
		MUST(clean_story(&w, "", &err));
	}
	for (uint64_t page = 0; page < 9; page++)
		assert_page(&w, page, page == 5 ? STR("") : text_of(&w, page, 0));
	assert_false(lab_knows(&w.lab, 9));
	assert_false(lab_knows(&w.lab, 100));
	if (deletes_of(&w, 9) != 1 || deletes_of(&w, 100) != 1)
		fail_msg("%s: told %u and %u times", what, deletes_of(&w, 9), deletes_of(&w, 100));
	assert_int_equal(GONE_RANK, gone_reason(&w, 9));
	assert_int_equal(GONE_FILTER, gone_reason(&w, 100));
	const struct state_course *course = &state_params(w.lab.st)->course;
	assert_int_equal(bucket_length(w.b), course->cleaned_bytes);
	assert_string_equal("other", course->sections);
	assert_int_not_equal(0, access(state_path(w.lab.st, &w.lab.arena, ".index.kept"), F_OK));
	free_world(&w);
}

static void killed_at_any_step_each_delete_is_told_once(void **state)
{
	(void)state;
	static const char *const points[] = {
		"cleanup.kept=kill",
		"bucket.shake.renamed=kill",
		"state.put.named=kill@2",
		"bucket.moves.done=kill",
		/* the long form: */
		"state.index=kill",
		"state.put.named=kill",
		"cleanup.written=kill",
		"bucket.shake.move=kill@9",
		"bucket.shake.reported=kill",
		"cleanup.shaken=kill",
		"state.put=kill@2",
		"state.checkpoint.note=kill@2",
	};
	size_t n = unit_thorough() ? ARRAY_LEN(points) : 4;
	for (size_t i = 0; i < n; i++) {
		make_story("killed");
		pid_t pid = fork();
		if (pid == 0) {
			struct world w;
			struct err err = {0};
			open_world(&w, "killed");
			open_buckets(&w);
			(void)clean_story(&w, points[i], &err);
			_exit(1);
		}
		int status = 0;
		assert_int_equal(pid, waitpid(pid, &status, 0));
		if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
			fail_msg("%s: status %x", points[i], (unsigned)status);
		end_story("killed", points[i]);
	}
}

/* A fault that hits once, at each passing in turn (the short form: some), until there are no more.
 */
static void refused_at_every(const char *fault)
{
	struct err err = {0};
	for (uint64_t n = 1, fired = 1; fired; n += unit_thorough() ? 1 : 7) {
		char spec[64];
		struct world w;
		make_story("refused");
		open_world(&w, "refused");
		open_buckets(&w);
		snprintf(spec, sizeof spec, "%s@%" PRIu64, fault, n);
		(void)clean_story(&w, spec, &err);
		fired = fault_fired();
		MUST(fault_arm("", &err));
		free_world(&w);
		end_story("refused", spec);
		assert_true(n < 1000 && (fired || n > 5));
	}
}

static void a_write_sync_or_rename_that_is_refused_loses_nothing(void **state)
{
	(void)state;
	refused_at_every("file.write=enospc");
	refused_at_every("file.sync=eio");
	refused_at_every("file.rename=eio");
}

/* Yes, from the asked-for question on. */
static unsigned patience;
static bool is_out_of_patience(void *ctx)
{
	(void)ctx;
	return patience-- <= 1;
}

static void one_that_is_stopped_has_changed_nothing(void **state)
{
	(void)state;
	struct world w;
	struct err err = {0};
	struct cleaned_up cleaned;
	make_story("stopped");
	open_world(&w, "stopped");
	open_buckets(&w);
	patience = 1;
	assert_int_equal(1, try_clean(&w, "", is_out_of_patience, &cleaned, &err));
	free_world(&w);
	end_story("stopped", "stopped");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file_is_shaken_down),
		cmocka_unit_test(the_index_has_the_new_numbers),
		cmocka_unit_test(buckets_to_which_nothing_refers_go),
		cmocka_unit_test(urls_that_the_filters_reject_go),
		cmocka_unit_test(sections_are_what_the_filter_says),
		cmocka_unit_test(sizes_are_measured),
		cmocka_unit_test(sleeping_urls_lose_their_bodies),
		cmocka_unit_test(missing_buckets_are_named),
		cmocka_unit_test(robots_txt_stays_whatever_the_filter_says),
		cmocka_unit_test(the_lowest_weights_go_until_the_file_fits),
		cmocka_unit_test(urls_without_a_page_go_untold),
		cmocka_unit_test(killed_at_any_step_each_delete_is_told_once),
		cmocka_unit_test(a_write_sync_or_rename_that_is_refused_loses_nothing),
		cmocka_unit_test(one_that_is_stopped_has_changed_nothing),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
