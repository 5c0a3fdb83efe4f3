/* Sites of a names index: committed, replaced, dropped and merged; what readers see meanwhile, and
 * what is made again of what was lost. */
#include "names_sites.h"

#include <fcntl.h>

static char folder[512];

static int fresh_folder(void **state)
{
	(void)state;
	static unsigned number;
	snprintf(folder, sizeof folder, "%s/%u", scratch_dir, number++);
	return 0;
}

static void nothing_is_there_until_a_writer_comes(void **state)
{
	(void)state;
	struct err err;
	struct names_reader *r = NULL;
	assert_int_equal(names_open(&r, folder, &err), 1);
	struct names_writer *w = site_writer(folder), *second = NULL;
	assert_int_equal(names_writer_open(&second, folder, NULL, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_sites(folder, "");
	names_writer_close(&w);
	assert_sites(folder, "");
}

static void a_committed_site_is_read_with_all_that_is_known_of_it(void **state)
{
	(void)state;
	struct err err;
	size_t n;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "FTP.Example.org,2121-10.0.0.1", "README=5", "pub/a", "pub/B", "README");
	const struct names_site *s = names_written(w, &n);
	assert_int_equal(n, 1);
	assert_int_equal(s->generation, 1);
	names_writer_close(&w);
	struct names_reader *r = site_reader(folder);
	s = names_sites(r, &n);
	assert_int_equal(n, 1);
	assert_str(s->key, "FTP.Example.org,2121-10.0.0.1");
	assert_str(s->host, "ftp.example.org");
	assert_str(s->address, "10.0.0.1");
	assert_str(s->url, "ftp://FTP.Example.org,2121-10.0.0.1/");
	assert_int_equal(s->entries, 4);
	assert_int_equal(s->dirs, 2);
	assert_int_equal(s->listed_s, 1000);
	struct names_stats stats;
	names_stats(r, &stats);
	assert_int_equal(stats.entries, 4);
	assert_int_equal(stats.distinct, 3);
	assert_int_equal(stats.segments, 1);
	assert_int_equal(stats.hidden, 0);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_entry e;
	assert_int_equal(names_get(r, 0, 4, &arena, &e, &err), 1);
	assert_int_equal(names_get(r, 1, 0, &arena, &e, &err), 1);
	arena_free(&arena);
	assert_int_equal(names_refresh(&r, &err), 1);
	names_close(&r);
}

static ino_t inode(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? st.st_ino : 0;
}

static void assert_linked(const char *key, uint64_t generation)
{
	for (unsigned i = 0; i < NAMES_PARTS; i++) {
		char *by_key = names_key_path(folder, i, str_of(key));
		char *own = names_generation_path(folder, generation, names_part_name[i]);
		assert_int_equal(inode(by_key), generation ? inode(own) : 0);
		mem_free(&by_key);
		mem_free(&own);
	}
}

static void parts_are_linked_by_key_and_follow_the_site(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "x");
	assert_linked("a-1", 1);
	SITE_PUT(w, "a-1", "y");
	size_t n;
	assert_linked("a-1", names_written(w, &n)->generation);
	assert_int_equal(names_remove(w, STR("a-1"), &err), 0);
	assert_linked("a-1", 0);
	assert_int_equal(names_remove(w, STR("a-1"), &err), 1);
	names_writer_close(&w);
	assert_sites(folder, "");
}

static void a_snapshot_stays_what_it_was(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/old1", "d/old2=7");
	SITE_PUT(w, "b-1", "other");
	struct names_reader *before = site_reader(folder), *held = names_hold(before);
	SITE_PUT(w, "a-1", "d/new");
	assert_int_equal(names_remove(w, STR("b-1"), &err), 0);
	assert_int_equal(names_merge_all(w, &err), 0);
	assert_reader(before, "a-1 d/old1\na-1 d/old2=7\nb-1 other\n");
	assert_int_equal(names_refresh(&before, &err), 0);
	assert_reader(before, "a-1 d/new\n");
	assert_reader(held, "a-1 d/old1\na-1 d/old2=7\nb-1 other\n");
	names_close(&held);
	names_close(&before);
	names_writer_close(&w);
}

static void what_is_given_up_leaves_nothing(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "x");
	size_t files = site_files(folder);
	struct names_site_spec spec = {.key = STR("b-1"), .url = STR("ftp://b/")};
	struct names_entry e = site_entry("d/f");
	assert_int_equal(names_begin(w, &spec, &err), 0);
	assert_int_equal(names_begin(w, &spec, &err), -1);
	assert_int_equal(names_add(w, &e, &err), 0);
	e.name = STR("");
	assert_int_equal(names_add(w, &e, &err), -1); /* refused, but it goes on */
	assert_int_equal(err.code, ERR_USAGE);
	e.name = STR("g");
	assert_int_equal(names_add(w, &e, &err), 0);
	names_give_up(w);
	assert_int_equal(names_commit(w, &err), -1);
	assert_int_equal(site_files(folder), files);
	assert_int_equal(names_begin(w, &spec, &err), 0);
	assert_int_equal(names_add(w, &e, &err), 0);
	names_writer_close(&w); /* not committed */
	assert_int_equal(site_files(folder), files);
	assert_sites(folder, "a-1 x\n");
	static const char *const bad[] = {"", ".a", "a/b", "a\nb"};
	w = site_writer(folder);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		spec.key = str_of(bad[i]);
		assert_int_equal(names_begin(w, &spec, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	names_writer_close(&w);
}

static void a_site_may_have_no_files(void **state)
{
	(void)state;
	struct names_writer *w = site_writer(folder);
	site_put(w, "a-1", (const char *const[]){NULL});
	assert_sites(folder, "");
	SITE_PUT(w, "a-1", "x");
	assert_sites(folder, "a-1 x\n");
	site_put(w, "a-1", (const char *const[]){NULL});
	assert_sites(folder, "");
	names_writer_close(&w);
}

/* Merging */

enum { MANY_SITES = 40, MANY_SITES_LESS = 10 };

static void put_numbered(struct names_writer *w, unsigned site, unsigned files, unsigned version)
{
	static char text[400][64];
	const char *path[401];
	char key[32];
	snprintf(key, sizeof key, "s%02u-1", site);
	for (unsigned i = 0; i < files; i++) {
		snprintf(text[i], sizeof text[i], "d%u/Name%u.%u=%u", i % 7, i * 31 % 97, site,
			 version);
		path[i] = text[i];
	}
	path[files] = NULL;
	site_put(w, key, path);
}

static struct names_stats stats_now(void)
{
	struct names_reader *r = site_reader(folder);
	struct names_stats s;
	struct err err;
	names_stats(r, &s);
	assert_int_equal(names_verify(r, &err), 0);
	names_close(&r);
	return s;
}

static void segments_stay_few_and_what_is_hidden_goes(void **state)
{
	(void)state;
	struct err err;
#if defined(__SANITIZE_ADDRESS__)
	if (!unit_thorough())
		skip(); /* what it shows does not differ, and it is the dearest here */
#endif
	struct names_writer *w = site_writer(folder);
	const unsigned many = unit_thorough() ? MANY_SITES : MANY_SITES_LESS;
	for (unsigned i = 0; i < many; i++)
		put_numbered(w, i * 17 % many, 1 + i % 13 * 9, 0);
	struct names_stats s = stats_now();
	assert_in_range(s.segments, 1, 8);
	assert_int_equal(s.sites, many);
	CLEANUP(buf_free) struct buf before = BUF_INIT(1 << 20), after = BUF_INIT(1 << 20);
	struct names_reader *r = site_reader(folder);
	site_lines(r, &before);
	names_close(&r);
	for (unsigned i = 0; i < many; i += 2)
		put_numbered(w, i * 17 % many, 1 + i % 13 * 9, 0);
	s = stats_now();
	assert_in_range(s.segments, 1, 8);
	assert_true(s.hidden <= s.entries);
	assert_true(names_merge_all(w, &err) == 0 || (s.segments == 1 && s.hidden == 0));
	s = stats_now();
	assert_int_equal(s.segments, 1);
	assert_int_equal(s.hidden, 0);
	assert_int_equal(names_merge_all(w, &err), 1);
	r = site_reader(folder);
	site_lines(r, &after);
	names_close(&r);
	assert_str(buf_str(&after), buf_text(&before));
	/* the segment, and five files of each site */
	assert_int_equal(site_files(folder), 1 + many * 5);
	names_writer_close(&w);
}

static uint64_t newest_layer(const struct names_writer *w)
{
	struct names_manifest m;
	struct err err;
	(void)w;
	assert_int_equal(names_manifest_read(folder, &m, NULL, &err), 0);
	uint64_t generation = m.generation;
	names_manifest_free(&m);
	return generation;
}

static void a_small_site_is_not_merged_into_a_large_one(void **state)
{
	(void)state;
	struct names_writer *w = site_writer(folder);
	put_numbered(w, 0, 400, 0);
	put_numbered(w, 1, 80, 0);
	assert_int_equal(stats_now().segments, 2);
	for (unsigned version = 1; version < 5; version++) {
		uint64_t generation = newest_layer(w);
		put_numbered(w, 1, 80, version);
		/* one commit and no merge; what was hidden at once is dropped without work */
		assert_int_equal(newest_layer(w), generation + 1);
		assert_int_equal(stats_now().segments, 2);
		assert_int_equal(stats_now().hidden, 0);
	}
	put_numbered(w, 2, 330, 0); /* with the 80 as large as the largest: all become one */
	assert_int_equal(stats_now().segments, 1);
	put_numbered(w, 1, 70, 0);
	assert_int_equal(stats_now().hidden, 80);
	put_numbered(w, 0, 1, 0); /* more than half of the large one is hidden now */
	assert_true(stats_now().hidden < 80);
	names_writer_close(&w);
}

static void sites_of_a_layer_are_in_the_order_of_keys(void **state)
{
	(void)state;
	struct err err;
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "c-1", "x", "y");
	SITE_PUT(w, "a-1", "x");
	SITE_PUT(w, "b-1", "x", "z");
	(void)names_merge_all(w, &err);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(r->layers, 1);
	assert_int_equal(r->layer[0].spans, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(r->layer[0].span[i].site, i);
	names_close(&r);
	names_writer_close(&w);
}

/* What was lost */

static void three_sites(void)
{
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "a-1", "d/one=1", "d/two");
	put_numbered(w, 7, 60, 3);
	SITE_PUT(w, "b-1", "x\\y", "e/Two=2");
	names_writer_close(&w);
}

static struct buf lines_now(bool scanned)
{
	struct buf b = BUF_INIT(1 << 20);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_problem(r) != NULL, scanned);
	assert_int_equal(r->layers == 0, scanned);
	site_lines(r, &b);
	names_close(&r);
	return b;
}

/* Readers scan; a writer mends, and readers that were there see it. */
static void assert_mended(const struct buf *want)
{
	struct err err;
	CLEANUP(buf_free) struct buf scanned = lines_now(true);
	assert_str(buf_str(&scanned), buf_text(want));
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_refresh(&r, &err), 1);
	assert_int_equal(names_verify(r, &err), -1);
	struct names_writer *w = site_writer(folder);
	CLEANUP(buf_free) struct buf now = lines_now(false);
	assert_str(buf_str(&now), buf_text(want));
	assert_int_equal(names_refresh(&r, &err), 0);
	assert_null(names_problem(r));
	assert_int_equal(names_verify(r, &err), 0);
	names_close(&r);
	SITE_PUT(w, "z-1", "later");
	names_writer_close(&w);
}

static void change_byte(const char *path, uint64_t at, char bits)
{
	struct file f = FILE_INIT;
	struct err err;
	size_t got;
	char c;
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_read(&f, &c, 1, at, &got, &err), 0);
	c ^= bits;
	assert_int_equal(file_write(&f, &c, 1, at, &err), 0);
	file_drop(&f);
}

static char *layer_file(void)
{
	struct names_manifest m;
	struct err err;
	assert_int_equal(names_manifest_read(folder, &m, NULL, &err), 0);
	char *path = names_generation_path(folder, m.layer[0].generation, "segment");
	names_manifest_free(&m);
	return path;
}

static void a_lost_manifest_is_made_again_from_the_parts(void **state)
{
	(void)state;
	struct err err;
	three_sites();
	CLEANUP(buf_free) struct buf want = lines_now(false);
	char *path = names_path(folder, "names/manifest");
	assert_int_equal(file_remove(path, &err), 0);
	mem_free(&path);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_identity(r), 0);
	size_t n;
	assert_str(names_sites(r, &n)->url, "ftp://a-1/"); /* the pages remember */
	names_close(&r);
	assert_mended(&want);
	r = site_reader(folder);
	assert_true(names_identity(r) != 0);
	assert_true(names_forgotten(r) > 3);
	names_close(&r);
}

static void with_all_of_names_lost_parts_by_key_are_enough(void **state)
{
	(void)state;
	three_sites();
	CLEANUP(buf_free) struct buf want = lines_now(false);
	char *path = names_path(folder, "names");
	assert_int_equal(nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS), 0);
	mem_free(&path);
	assert_mended(&want);
}

static void a_changed_byte_of_the_manifest_is_found_and_mended(void **state)
{
	(void)state;
	three_sites();
	CLEANUP(buf_free) struct buf want = lines_now(false);
	char *path = names_path(folder, "names/manifest");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		change_byte(path, (uint64_t)at, 1);
		CLEANUP(buf_free) struct buf got = lines_now(true);
		assert_str(buf_str(&got), buf_text(&want));
		change_byte(path, (uint64_t)at, 1);
	}
	change_byte(path, 30, 1);
	mem_free(&path);
	assert_mended(&want);
}

static void a_pipe_in_place_of_the_manifest_is_not_waited_for(void **state)
{
	(void)state;
	struct err err;
	three_sites();
	CLEANUP(buf_free) struct buf want = lines_now(false);
	char *path = names_path(folder, "names/manifest");
	assert_int_equal(file_remove(path, &err), 0);
	assert_int_equal(mkfifo(path, 0640), 0);
	mem_free(&path);
	CLEANUP(buf_free) struct buf got = lines_now(true);
	assert_str(buf_str(&got), buf_text(&want));
	assert_mended(&want);
}

static void a_lost_or_damaged_segment_is_made_again(void **state)
{
	(void)state;
	struct err err;
	for (unsigned how = 0; how < 2; how++) {
		fresh_folder(NULL);
		three_sites();
		CLEANUP(buf_free) struct buf want = lines_now(false);
		char *path = layer_file();
		struct stat st;
		assert_int_equal(stat(path, &st), 0);
		if (how)
			change_byte(path, (uint64_t)st.st_size - 20, 4);
		else
			assert_int_equal(file_remove(path, &err), 0);
		mem_free(&path);
		assert_mended(&want);
	}
}

static void lost_pages_are_made_again(void **state)
{
	(void)state;
	struct err err;
	static const char *const names[] = {"pages", "direc"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		fresh_folder(NULL);
		three_sites();
		CLEANUP(buf_free) struct buf want = lines_now(false);
		char *path = names_generation_path(folder, 1, names[i]);
		assert_int_equal(file_remove(path, &err), 0);
		mem_free(&path);
		assert_mended(&want);
	}
}

static void a_damaged_page_of_a_segment_is_made_again_by_a_merge(void **state)
{
	(void)state;
	struct err err;
	three_sites();
	CLEANUP(buf_free) struct buf want = lines_now(false);
	char *path = layer_file();
	change_byte(path, 40, 4); /* in its first page, which opening does not look at */
	mem_free(&path);
	struct names_reader *r = site_reader(folder);
	assert_int_equal(names_verify(r, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	names_close(&r);
	struct names_writer *w = site_writer(folder);
	SITE_PUT(w, "c-1", "more");
	(void)names_merge_all(w, &err);
	assert_int_equal(names_remove(w, STR("c-1"), &err), 0);
	(void)names_merge_all(w, &err);
	names_writer_close(&w);
	CLEANUP(buf_free) struct buf now = lines_now(false);
	assert_str(buf_str(&now), buf_text(&want));
	assert_int_equal(stats_now().segments, 1); /* and it verifies */
}

static void a_site_of_which_parts_are_lost_is_left_out(void **state)
{
	(void)state;
	struct err err;
	three_sites();
	char *path = names_generation_path(folder, 1, "data");
	assert_int_equal(file_remove(path, &err), 0);
	mem_free(&path);
	path = names_key_path(folder, NAMES_DATA, STR("a-1"));
	assert_int_equal(file_remove(path, &err), 0);
	mem_free(&path);
	struct names_reader *r = site_reader(folder);
	assert_non_null(names_problem(r));
	assert_int_equal(r->sites, 2);
	names_close(&r);
	struct names_writer *w = site_writer(folder);
	size_t n;
	assert_str(names_written(w, &n)->key, "b-1");
	assert_int_equal(n, 2);
	SITE_PUT(w, "a-1", "again");
	names_writer_close(&w);
	assert_int_equal(stats_now().sites, 3);
}

/* What is said of the sites: NULL where all is well, else a-1 is lost, and the path is told. */
static void assert_lost(const char *path, uint64_t total)
{
	struct err err;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_reader *r = site_reader(folder);
	struct names_query q = {.type = NAMES_SUB, .pattern = STR("o"), .count = true};
	struct names_hits hits;
	size_t n;
	assert_int_equal(names_query(r, &q, &arena, &hits, NULL, &err), 0);
	assert_int_equal(hits.total, total);
	assert_int_equal(hits.exact, path == NULL);
	const struct names_lost *lost = names_lost(r, &n);
	assert_int_equal(n, path ? 1 : 0);
	assert_int_equal(hits.losts, n);
	if (path) {
		assert_str(lost->key, "a-1");
		assert_non_null(strstr(hits.problem, path));
		assert_non_null(strstr(hits.problem, "a-1"));
		assert_int_equal(names_verify(r, &err), -1);
	} else {
		assert_null(hits.problem);
	}
	names_close(&r);
	arena_free(&arena);
}

static void spoil_length(const char *path, int by)
{
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(truncate(path, st.st_size + by), 0);
}

static void a_part_of_a_wrong_length_loses_its_site_and_every_answer_says_so(void **state)
{
	(void)state;
	struct err err;
	for (unsigned i = 0; i < 2 * NAMES_PARTS; i++) {
		if (!unit_thorough() && (i / 2 + i) % 2)
			continue; /* each part one way */
		fresh_folder(NULL);
		three_sites();
		assert_lost(NULL, 3);
		char *path = names_generation_path(folder, 1, names_part_name[i / 2]);
		spoil_length(path, i % 2 ? 1 : -1);
		assert_lost(path, 1);
		/* the next writer makes the index again without it, and that is not forgotten */
		struct names_writer *w = site_writer(folder);
		assert_lost(path, 1);
		SITE_PUT(w, "z-1", "too");
		assert_lost(path, 2);
		if (i % 2)
			assert_int_equal(names_remove(w, STR("a-1"), &err), 0);
		else
			SITE_PUT(w, "a-1", "one", "two");
		names_writer_close(&w);
		assert_lost(NULL, i % 2 ? 2 : 4);
		mem_free(&path);
		path = names_key_path(folder, NAMES_INDEX, STR("a-1"));
		assert_int_equal(access(path, F_OK) == 0, i % 2 == 0);
		mem_free(&path);
	}
}

static void a_part_of_a_wrong_length_is_told_without_a_manifest(void **state)
{
	(void)state;
	struct err err;
	three_sites();
	char *path = names_key_path(folder, NAMES_DATA, STR("a-1"));
	spoil_length(path, 1);
	mem_free(&path);
	path = names_path(folder, "names/manifest");
	assert_int_equal(file_remove(path, &err), 0);
	mem_free(&path);
	assert_lost("data", 1);
	struct names_writer *w = site_writer(folder);
	names_writer_close(&w);
	assert_lost("data", 1);
}

static void a_file_cut_while_it_is_mapped_is_an_error_not_a_signal(void **state)
{
	(void)state;
	struct err err;
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_entry e;
	three_sites();
	struct names_reader *r = site_reader(folder);
	char *path = names_generation_path(folder, 1, "data");
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(names_get(r, 0, 0, &arena, &e, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	names_close(&r);
	arena_free(&arena);
	mem_free(&path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_is_there_until_a_writer_comes, fresh_folder),
		cmocka_unit_test_setup(a_committed_site_is_read_with_all_that_is_known_of_it,
				       fresh_folder),
		cmocka_unit_test_setup(parts_are_linked_by_key_and_follow_the_site, fresh_folder),
		cmocka_unit_test_setup(a_snapshot_stays_what_it_was, fresh_folder),
		cmocka_unit_test_setup(what_is_given_up_leaves_nothing, fresh_folder),
		cmocka_unit_test_setup(a_site_may_have_no_files, fresh_folder),
		cmocka_unit_test_setup(segments_stay_few_and_what_is_hidden_goes, fresh_folder),
		cmocka_unit_test_setup(a_small_site_is_not_merged_into_a_large_one, fresh_folder),
		cmocka_unit_test_setup(sites_of_a_layer_are_in_the_order_of_keys, fresh_folder),
		cmocka_unit_test_setup(a_lost_manifest_is_made_again_from_the_parts, fresh_folder),
		cmocka_unit_test_setup(with_all_of_names_lost_parts_by_key_are_enough,
				       fresh_folder),
		cmocka_unit_test_setup(a_changed_byte_of_the_manifest_is_found_and_mended,
				       fresh_folder),
		cmocka_unit_test_setup(a_pipe_in_place_of_the_manifest_is_not_waited_for,
				       fresh_folder),
		cmocka_unit_test_setup(a_lost_or_damaged_segment_is_made_again, fresh_folder),
		cmocka_unit_test_setup(lost_pages_are_made_again, fresh_folder),
		cmocka_unit_test_setup(a_damaged_page_of_a_segment_is_made_again_by_a_merge,
				       fresh_folder),
		cmocka_unit_test_setup(a_site_of_which_parts_are_lost_is_left_out, fresh_folder),
		cmocka_unit_test_setup(
			a_part_of_a_wrong_length_loses_its_site_and_every_answer_says_so,
			fresh_folder),
		cmocka_unit_test_setup(a_part_of_a_wrong_length_is_told_without_a_manifest,
				       fresh_folder),
		cmocka_unit_test_setup(a_file_cut_while_it_is_mapped_is_an_error_not_a_signal,
				       fresh_folder),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
