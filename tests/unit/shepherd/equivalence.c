/* Mirrors: what the classes do to the site list, the file while it changes, and the proposal. */
#include "shepherd/equivalence.h"

#include "base/file.h"
#include "unit/shepherd/crawl_lab.h"

#include <sys/stat.h>

static struct url_site site_of(const char *text, char room[URL_MAX])
{
	struct url url;
	assert_int_equal(0, url_parse(str_of(text), NULL, room, URL_MAX, &url));
	return url_site(&url);
}

/* A front page, and what its text begins with; "": too little. */
struct front {
	const char *site, *text;
};

static void put_front(struct lab *lab, struct buckets *b, const struct front *f,
		      struct index_item *ret)
{
	struct err err = {0};
	char room[URL_MAX];
	struct attrs header = {0}, body = {0};
	uint32_t oid;
	CLEANUP(buf_free) struct buf rest = BUF_INIT(4096);
	*ret = (struct index_item){
		.fp = {footprint_site(site_of(f->site, room)), footprint_path(STR("/"))},
		.type = ITEM_GATHERED};
	buf_fill(&rest, '.', *f->text ? EQUIV_TEXT_LEAST - 1 : EQUIV_TEXT_LEAST - 2);
	attrs_add(&header, &lab->arena, 'O', crawl_digits(ret->fp, &lab->arena));
	attrs_add(&header, &lab->arena, 'U', str_of(f->site));
	attrs_add(&body, &lab->arena, 'X', str_of(*f->text ? f->text : "x"));
	attrs_add(&body, &lab->arena, 'X', arena_str(&lab->arena, buf_str(&rest)));
	MUST(bucket_put(b, NULL, &header, &body, &oid, &err));
	ret->where = oid;
}

/* A closed state that knows these front pages, and its bucket file. */
static struct buckets *make_fronts(struct lab *lab, const char *name, const struct front *f,
				   size_t n)
{
	struct err err = {0};
	struct bucket_options options = {.mode = BUCKET_APPEND};
	struct buckets *b = NULL;
	struct url_index_writer *w = NULL;
	struct sites *sites = sites_new();
	struct index_item *items = calloc(n, sizeof *items);
	lab_make(lab, name, NULL, 0, NULL, 0);
	lab_enter(lab, false, PHASE_MERGE);
	MUST(bucket_open(&b, states_path(lab->s, &lab->arena, "objects"), &options, &err));
	for (size_t i = 0; i < n; i++) {
		char room[URL_MAX];
		bool is_new;
		put_front(lab, b, &f[i], &items[i]);
		sites_put(sites, site_of(f[i].site, room), &is_new);
	}
	qsort(items, n, sizeof *items, lab_by_footprint);
	MUST(state_index_create(lab->st, &w, &err));
	for (size_t i = 0; i < n; i++)
		url_index_put(w, &items[i]);
	MUST(state_index_put(lab->st, &w, &err));
	MUST(state_sites_put(lab->st, sites, &err));
	MUST(state_enter(lab->st, PHASE_CLOSED, b, PLAY_START, &err));
	sites_free(&sites);
	free(items);
	return b;
}

/* The module */

static ino_t inode_of(struct lab *lab)
{
	struct stat st;
	assert_int_equal(0, stat(state_path(lab->st, &lab->arena, "sites"), &st));
	return st.st_ino;
}

static uint64_t norm_of(struct lab *lab, const char *text)
{
	char room[URL_MAX];
	struct sites *sites = lab_sites(lab);
	const struct site *site = sites_get(sites, footprint_site(site_of(text, room)));
	assert_non_null(site);
	uint64_t norm = site->norm;
	sites_free(&sites);
	return norm;
}

static uint64_t fp_of(const char *text)
{
	char room[URL_MAX];
	return footprint_site(site_of(text, room));
}

static uint64_t change_classes(struct lab *lab, const char *text)
{
	struct err err = {0};
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	struct equiv *e = NULL;
	uint64_t changed = 99;
	if (text)
		MUST(equiv_parse(str_of(text), "url-equiv", &e, &err));
	c.equiv = e;
	MUST(crawl_equiv(lab->st, &c, &changed, &err));
	equiv_free(&e);
	return changed;
}

static const struct front three[] = {
	{"http://a.example/", "a"}, {"http://www.a.example/", "a"}, {"https://b.example/", "a"}};

static void classes_set_what_stands_for_a_site(void **state)
{
	(void)state;
	static const char text[] = "http://a.example/\n\thttps://b.example/\n";
	struct lab lab;
	struct buckets *b = make_fronts(&lab, "classes", three, 3);
	lab_enter(&lab, false, PHASE_EQUIV);
	uint64_t a = fp_of("http://a.example/");
	assert_int_equal(1, change_classes(&lab, NULL)); /* the rule of www. alone */
	assert_true(norm_of(&lab, "http://www.a.example/") == a);
	assert_true(norm_of(&lab, "https://b.example/") == fp_of("https://b.example/"));
	ino_t before = inode_of(&lab);
	assert_int_equal(0, change_classes(&lab, NULL));
	assert_true(before == inode_of(&lab));
	assert_int_equal(1, change_classes(&lab, text));
	assert_true(norm_of(&lab, "http://a.example/") == a);
	assert_true(norm_of(&lab, "http://www.a.example/") == a);
	assert_true(norm_of(&lab, "https://b.example/") == a);
	before = inode_of(&lab);
	assert_int_equal(0, change_classes(&lab, text));
	assert_true(before == inode_of(&lab));
	assert_int_equal(1, change_classes(&lab, NULL)); /* and back */
	assert_true(norm_of(&lab, "https://b.example/") == fp_of("https://b.example/"));
	bucket_drop(&b);
	lab_free(&lab);
}

static bool stop_at_second(void *ctx)
{
	return ++*(unsigned *)ctx == 2;
}

static void a_pass_that_is_stopped_leaves_the_list(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	unsigned asked = 0;
	uint64_t changed;
	struct crawl_conf conf = lab_conf();
	struct crawl c = lab_crawl(&conf);
	struct buckets *b = make_fronts(&lab, "stopped", three, 3);
	lab_enter(&lab, false, PHASE_EQUIV);
	ino_t before = inode_of(&lab);
	c.stopped = stop_at_second; /* when the list is being written */
	c.ctx = &asked;
	assert_int_equal(1, crawl_equiv(lab.st, &c, &changed, &err));
	assert_true(before == inode_of(&lab));
	bucket_drop(&b);
	lab_free(&lab);
}

/* The file */

static void write_classes(const char *path, const char *text)
{
	struct err err = {0};
	MUST(file_replace(path, str_of(text), 0644, &err));
}

static bool is_mapped(const struct equiv_file *f, const char *from, const char *to)
{
	char room[2][URL_MAX];
	return url_site_eq(equiv_site(f->equiv, site_of(from, room[0])), site_of(to, room[1]));
}

static void a_file_is_read_when_it_changes_and_a_bad_one_changes_nothing(void **state)
{
	(void)state;
	struct err err = {0};
	struct equiv_file f = {.path = scratch("url-equiv")};
	assert_int_equal(1, equiv_file_update(&f, &err));
	assert_null(f.equiv);
	write_classes(f.path, "http://a.example/\n\thttp://b.example/\n");
	assert_int_equal(0, equiv_file_update(&f, &err));
	assert_int_equal(1, equiv_file_update(&f, &err));
	assert_true(is_mapped(&f, "http://b.example/", "http://a.example/"));

	write_classes(f.path, "http://a.example/\n\thttp://c.example/\n\thttp://www.d.example/\n");
	assert_int_equal(-1, equiv_file_update(&f, &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_non_null(strstr(err.msg, "url-equiv:3:"));
	assert_true(is_mapped(&f, "http://b.example/", "http://a.example/"));
	assert_true(is_mapped(&f, "http://c.example/", "http://c.example/"));
	assert_int_equal(1, equiv_file_update(&f, &err)); /* it is said once */

	write_classes(f.path, "http://a.example/\n\thttp://c.example/\n");
	assert_int_equal(0, equiv_file_update(&f, &err));
	assert_true(is_mapped(&f, "http://c.example/", "http://a.example/"));
	assert_true(is_mapped(&f, "http://b.example/", "http://b.example/"));
	MUST(file_remove(f.path, &err));
	assert_int_equal(0, equiv_file_update(&f, &err));
	assert_null(f.equiv);
	equiv_file_free(&f);
}

/* The proposal */

static void gather_piece(void *ctx, struct str piece)
{
	buf_add_str(ctx, piece);
}

static void sites_with_the_same_front_page_are_proposed(void **state)
{
	(void)state;
	static const struct front fronts[] = {
		{"http://longer.example/", "one"},
		{"http://b.example/", "one"},
		{"http://www.b.example/", "two"}, /* b.example speaks for it */
		{"https://b.example/", "one"},
		{"http://a.example:8080/", "one"},
		{"http://www.c.example/", "two"}, /* there is no c.example */
		{"http://d.example/", "two"},
		{"http://www.www.e.example/", "two"}, /* cannot be in such a file */
		{"http://f.example/", "three"},       /* alone */
		{"http://g.example/", ""},
		{"http://h.example/", ""},
	};
	static const struct {
		const char *from, *to;
	} expected[] = {
		{"http://longer.example/", "http://a.example:8080/"},
		{"http://b.example/", "http://a.example:8080/"},
		{"http://www.b.example/", "http://a.example:8080/"},
		{"https://b.example/", "http://a.example:8080/"},
		{"http://a.example:8080/", "http://a.example:8080/"},
		{"http://www.c.example/", "http://c.example/"},
		{"http://d.example/", "http://c.example/"},
		{"http://f.example/", "http://f.example/"},
		{"http://g.example/", "http://g.example/"},
		{"http://h.example/", "http://h.example/"},
	};
	struct lab lab;
	struct err err = {0};
	struct equiv_file f = {0};
	struct equiv_proposal sum;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	struct buckets *b = make_fronts(&lab, "fronts", fronts, ARRAY_LEN(fronts));
	MUST(equiv_propose(lab.st, b, scratch("."), 1 << 20, gather_piece, &out, &sum, &err));
	assert_int_equal(2, sum.classes);
	assert_int_equal(6, sum.sites);
	assert_int_equal(8, sum.pages);
	assert_int_equal(2, sum.lacking);
	assert_int_equal(0, sum.lost);
	MUST(equiv_parse(buf_str(&out), "proposal", &f.equiv, &err));
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		if (!is_mapped(&f, expected[i].from, expected[i].to))
			fail_msg("%s is not mapped to %s:\n%s", expected[i].from, expected[i].to,
				 buf_text(&out));
	assert_non_null(strstr(buf_text(&out), "\n\thttps://b.example/\n\thttp://b.example/\n"));
	equiv_file_free(&f);
	bucket_drop(&b);
	lab_free(&lab);
}

/* Numbers of buckets are hints: while the crawl runs another may be there. */
static void a_bucket_of_another_page_is_not_taken(void **state)
{
	(void)state;
	struct lab lab;
	struct err err = {0};
	struct url_index_writer *w = NULL;
	struct equiv_proposal sum;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	struct buckets *b = make_fronts(&lab, "moved", three, 3);
	lab_enter(&lab, false, PHASE_MERGE);
	struct index_item items[] = {
		{.fp = {fp_of("http://a.example/"), footprint_path(STR("/"))}},
		{.fp = {fp_of("https://b.example/"), footprint_path(STR("/"))}}};
	qsort(items, 2, sizeof *items, lab_by_footprint);
	MUST(state_index_create(lab.st, &w, &err));
	for (unsigned i = 0; i < 2; i++) {
		items[i].type = ITEM_GATHERED;
		/* past the end; that of a */
		items[i].where = items[i].fp.site == fp_of("http://a.example/") ? 100000 : 0;
		url_index_put(w, &items[i]);
	}
	MUST(state_index_put(lab.st, &w, &err));
	MUST(equiv_propose(lab.st, b, scratch("."), 1 << 20, gather_piece, &out, &sum, &err));
	assert_int_equal(0, sum.classes);
	assert_int_equal(0, sum.pages);
	assert_int_equal(2, sum.lost);
	bucket_drop(&b);
	lab_free(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_set_what_stands_for_a_site),
		cmocka_unit_test(a_pass_that_is_stopped_leaves_the_list),
		cmocka_unit_test(a_file_is_read_when_it_changes_and_a_bad_one_changes_nothing),
		cmocka_unit_test(sites_with_the_same_front_page_are_proposed),
		cmocka_unit_test(a_bucket_of_another_page_is_not_taken),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
