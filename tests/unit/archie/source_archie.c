#include "archie/source_archie.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/hash.h"
#include "index/names.h"
#include "support/source_check.h"

#include <stdio.h>

/* Archives in a folder of their own, and a follower of them. */
struct world {
	char folder[320];
	struct source_archie store;
	struct source_cursor at;
	unsigned sites;
};

static unsigned worlds;

static void world_make(struct world *w)
{
	*w = (struct world){.sites = 0};
	snprintf(w->folder, sizeof w->folder, "%s/%u", scratch_dir, worlds++);
	w->store = (struct source_archie){.folder = w->folder,
					  .gatherer_name = STR("archie"),
					  .gatherer_host = STR("host.test"),
					  .gatherer_version = STR("1")};
}

static void must(int rc, const struct err *err)
{
	if (rc != 0)
		fail_msg("%d: %s", rc, rc < 0 ? err->msg : "");
}

/* A site of these paths, one a line. */
static void put_site(const struct world *w, const char *key, const char *url, struct str paths)
{
	struct names_writer *writer = NULL;
	struct names_options options = {.memory = NAMES_MEMORY_MIN};
	struct names_site_spec spec = {.key = str_of(key), .url = str_of(url), .listed_s = 1000};
	struct str line;
	struct err err;
	must(names_writer_open(&writer, w->folder, &options, &err), &err);
	must(names_begin(writer, &spec, &err), &err);
	while (str_cut(&paths, '\n', &line) == 0) {
		size_t slash = line.n;
		while (slash > 0 && line.p[slash - 1] != '/')
			slash--;
		struct names_entry e = {.name = str_from(line, slash),
					.dir = str_head(line, slash ? slash - 1 : 0),
					.links = -1,
					.size = 10,
					.time_s = 1700000000};
		if (e.name.n)
			must(names_add(writer, &e, &err), &err);
	}
	must(names_commit(writer, &err), &err);
	names_writer_close(&writer);
}

static void drop_site(const struct world *w, const char *key)
{
	struct names_writer *writer = NULL;
	struct err err;
	must(names_writer_open(&writer, w->folder, NULL, &err), &err);
	must(names_remove(writer, str_of(key), &err), &err);
	names_writer_close(&writer);
}

/* `n` files in the directory "big". */
static void put_big(const struct world *w, unsigned n)
{
	struct buf paths = BUF_INIT(1 << 20);
	for (unsigned i = 0; i < n; i++)
		buf_printf(&paths, "big/f%u\n", i);
	put_site(w, "big.test-192.0.2.9", "ftp://big.test/", buf_str(&paths));
	buf_free(&paths);
}

/* What is told from w->at on, sorted: "+ URL" or "- URL", a line each. */
static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void told_since(struct world *w, struct arena *arena, struct buf *out)
{
	struct source *s = NULL;
	struct source_change change;
	struct err err;
	char *line[64];
	size_t n = 0;
	int rc;
	must(source_archie_ops.open(&s, &w->store, &w->at, &err), &err);
	while ((rc = source_next(s, arena, &change, &err)) == 0) {
		assert_true(n < ARRAY_LEN(line));
		line[n++] = arena_printf(arena, "%c " STR_FMT "\n",
					 change.op == SOURCE_UPDATE ? '+' : '-',
					 STR_ARG(change.obj.url));
	}
	assert_int_equal(1, rc);
	source_cursor(s, &w->at);
	source_close(&s);
	qsort(line, n, sizeof *line, by_text);
	buf_clear(out);
	for (size_t i = 0; i < n; i++)
		buf_add_text(out, line[i]);
}

static void assert_told(struct world *w, const char *want)
{
	struct arena arena = ARENA_INIT(64 << 20);
	struct buf got = BUF_INIT(1 << 20);
	told_since(w, &arena, &got);
	assert_str(buf_str(&got), want);
	buf_free(&got);
	arena_free(&arena);
}

static void grow(void *ctx, unsigned step)
{
	struct world *w = ctx;
	char key[64], url[64];
	snprintf(key, sizeof key, "s%u.test-192.0.2.%u", step, step + 1);
	snprintf(url, sizeof url, "ftp://s%u.test/", step);
	put_site(w, key, url, STR("a/x\na/y\nb/z\nroot\n"));
}

static void archives_are_a_source(void **state)
{
	(void)state;
	struct world w, other;
	world_make(&w);
	world_make(&other);
	put_site(&w, "z.test-192.0.2.7", "ftp://z.test/", STR("1/a\n2/b\n3/c\n4/d\ne\n"));
	put_big(&w, NAMES_DIR_PART + 1);
	put_site(&other, "z.test-192.0.2.7", "ftp://z.test/", STR("1/a\n2/b\n"));
	put_big(&other, 1);
	struct source_check check = {.ops = &source_archie_ops,
				     .store = &w.store,
				     .other = &other.store,
				     .grow = grow,
				     .ctx = &w,
				     .steps = 3};
	assert_int_equal(5 + 2 + 3 * 3, source_check(&check));
}

static void an_empty_folder_waits_for_its_first_site(void **state)
{
	(void)state;
	struct world w;
	world_make(&w);
	struct source_check check = {
		.ops = &source_archie_ops, .store = &w.store, .grow = grow, .ctx = &w, .steps = 2};
	assert_int_equal(6, source_check(&check));
}

static void only_what_changed_is_told(void **state)
{
	(void)state;
	struct world w;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/pub/", STR("x/1\nx/2\ny/3\nz/4\n5\n"));
	assert_told(&w, "+ ftp://a.test/pub/\n+ ftp://a.test/pub/x/\n+ ftp://a.test/pub/y/\n"
			"+ ftp://a.test/pub/z/\n");
	assert_told(&w, "");
	/* the same in another order; one directory with another file, one gone, one new */
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/pub/", STR("5\nnew/6\nx/2\nx/1\ny/other\n"));
	assert_told(&w, "+ ftp://a.test/pub/new/\n+ ftp://a.test/pub/y/\n- ftp://a.test/pub/z/\n");
	put_site(&w, "b.test-192.0.2.2", "http://b.test:8080/", STR("only\n"));
	assert_told(&w, "+ http://b.test:8080/\n");
	drop_site(&w, "b.test-192.0.2.2");
	assert_told(&w, "- http://b.test:8080/\n");
	/* what went and came back in between */
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/pub/", STR("5\n"));
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/pub/", STR("5\nx/1\nx/2\n"));
	struct arena arena = ARENA_INIT(1 << 20);
	struct buf got = BUF_INIT(1 << 16);
	told_since(&w, &arena, &got);
	assert_non_null(strstr(buf_text(&got), "+ ftp://a.test/pub/x/\n"));
	assert_non_null(strstr(buf_text(&got), "- ftp://a.test/pub/y/\n"));
	assert_null(strstr(buf_text(&got), "ftp://a.test/pub/\n"));
	buf_free(&got);
	arena_free(&arena);
}

static void a_site_with_another_url_is_told_anew(void **state)
{
	(void)state;
	struct world w;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\ny/2\n"));
	assert_told(&w, "+ ftp://a.test/x/\n+ ftp://a.test/y/\n");
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/pub/", STR("x/1\ny/2\n"));
	assert_told(&w, "+ ftp://a.test/pub/x/\n+ ftp://a.test/pub/y/\n"
			"- ftp://a.test/x/\n- ftp://a.test/y/\n");
}

/* The new database is there before the old one goes. */
static void a_site_that_moved_is_not_deleted(void **state)
{
	(void)state;
	struct world w;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\ny/2\nz/3\n"));
	put_site(&w, "b.test-192.0.2.2", "ftp://b.test/", STR("x/1\n"));
	put_big(&w, NAMES_DIR_PART + 1);
	assert_told(&w, "+ ftp://a.test/x/\n+ ftp://a.test/y/\n+ ftp://a.test/z/\n"
			"+ ftp://b.test/x/\n+ ftp://big.test/big/\n"
			"+ ftp://big.test/big/#part=2\n");
	put_site(&w, "a.test-192.0.2.9", "ftp://a.test/", STR("x/1\ny/other\n"));
	drop_site(&w, "a.test-192.0.2.1");
	drop_site(&w, "b.test-192.0.2.2");
	put_site(&w, "big.test-192.0.2.8", "ftp://big.test/", STR("big/f\n"));
	drop_site(&w, "big.test-192.0.2.9");
	assert_told(&w, "+ ftp://a.test/x/\n+ ftp://a.test/y/\n+ ftp://big.test/big/\n"
			"- ftp://a.test/z/\n- ftp://b.test/x/\n- ftp://big.test/big/#part=2\n");
}

/* A directory that went and came back is deleted before it is told. */
static void what_came_back_is_told_last(void **state)
{
	(void)state;
	struct world w;
	struct arena arena = ARENA_INIT(1 << 20);
	struct source_change change;
	struct source *s = NULL;
	enum source_op last = SOURCE_DELETE;
	struct err err;
	int rc;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\ny/2\n"));
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("y/2\n"));
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\ny/2\n"));
	must(source_archie_ops.open(&s, &w.store, &w.at, &err), &err);
	while ((rc = source_next(s, &arena, &change, &err)) == 0)
		if (str_is(change.obj.url, "ftp://a.test/x/"))
			last = change.op;
	assert_int_equal(1, rc);
	assert_int_equal(SOURCE_UPDATE, last);
	source_close(&s);
	arena_free(&arena);
}

static void a_large_directory_is_several_objects(void **state)
{
	(void)state;
	struct world w;
#if defined(__SANITIZE_ADDRESS__)
	if (!unit_thorough())
		skip(); /* archives_are_a_source() has two parts */
#endif
	world_make(&w);
	put_big(&w, 2 * NAMES_DIR_PART + 1);
	assert_told(&w, "+ ftp://big.test/big/\n+ ftp://big.test/big/#part=2\n"
			"+ ftp://big.test/big/#part=3\n");
	put_big(&w, 2 * NAMES_DIR_PART);
	assert_told(&w, "+ ftp://big.test/big/\n+ ftp://big.test/big/#part=2\n"
			"- ftp://big.test/big/#part=3\n");
	put_big(&w, 1);
	assert_told(&w, "+ ftp://big.test/big/\n- ftp://big.test/big/#part=2\n");
	put_big(&w, NAMES_DIR_PART + 1);
	assert_told(&w, "+ ftp://big.test/big/\n+ ftp://big.test/big/#part=2\n");
	drop_site(&w, "big.test-192.0.2.9");
	assert_told(&w, "- ftp://big.test/big/\n- ftp://big.test/big/#part=2\n");
}

/* The one object that the first site of a world makes. */
static struct soif only_object(struct world *w, struct arena *arena)
{
	struct source *s = NULL;
	struct source_change change, none;
	struct err err;
	must(source_archie_ops.open(&s, &w->store, &w->at, &err), &err);
	must(source_next(s, arena, &change, &err), &err);
	struct soif obj = soif_copy(arena, &change.obj);
	assert_int_equal(1, source_next(s, arena, &none, &err));
	source_close(&s);
	return obj;
}

static void an_object_has_all_that_is_mandatory(void **state)
{
	(void)state;
	struct world w;
	struct arena arena = ARENA_INIT(1 << 20);
	struct soif_book book;
	struct err err;
	world_make(&w);
	put_site(&w, "Up.test-192.0.2.1", "ftp://up.test/",
		 STR("pub/a b%/one\npub/a b%/tw\xf6\npub/a b%/\xc3\xb6\x1b\n"));
	struct soif obj = only_object(&w, &arena);
	assert_str(obj.type, "FILE");
	assert_str(obj.url, "ftp://up.test/pub/a%20b%25/");
	assert_int_equal(0, soif_book(&obj, &book, &err));
	assert_str(book.gatherer_name, "archie");
	assert_str(book.gatherer_host, "host.test");
	assert_str(book.gatherer_version, "1");
	assert_true(book.update_time_s > 1700000000);
	assert_int_equal(1700000000, book.last_modification_time_s);
	assert_int_equal(SOIF_REFRESH_RATE_S, book.refresh_rate_s);
	assert_true(book.time_to_live_s > SOIF_TIME_TO_LIVE_S);
	assert_true(book.has_md5);
	assert_str(soif_get(&obj, STR("Type")), "Directory");
	assert_str(soif_get(&obj, STR("Title")), "up.test: /pub/a b%");
	/* what is not UTF-8 is taken for Latin-1 */
	assert_str(soif_get(&obj, STR("Full-Text")), "one\ntw\xc3\xb6\n\xc3\xb6 \n");
	arena_free(&arena);
}

static void the_same_names_in_two_directories_are_no_twins(void **state)
{
	(void)state;
	struct world w;
	struct arena arena = ARENA_INIT(1 << 20);
	struct source *s = NULL;
	struct source_change a, b;
	struct err err;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/README\ny/README\n"));
	must(source_archie_ops.open(&s, &w.store, &w.at, &err), &err);
	must(source_next(s, &arena, &a, &err), &err);
	struct soif first = soif_copy(&arena, &a.obj);
	must(source_next(s, &arena, &b, &err), &err);
	assert_false(str_eq(soif_get(&first, STR("MD5")), soif_get(&b.obj, STR("MD5"))));
	source_close(&s);
	arena_free(&arena);
}

static void a_cursor_of_another_teller_or_index_is_refused(void **state)
{
	(void)state;
	struct world w, anew;
	struct source *s = NULL;
	struct err err;
	world_make(&w);
	put_site(&w, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\n"));
	assert_told(&w, "+ ftp://a.test/x/\n");
	struct source_archie renamed = w.store;
	renamed.gatherer_host = STR("other.test");
	assert_int_equal(-1, source_archie_ops.open(&s, &renamed, &w.at, &err));
	assert_int_equal(ERR_USAGE, err.code);
	world_make(&anew);
	/* nothing is there: that may be a disk that is not mounted, so nothing is dropped */
	assert_int_equal(-1, source_archie_ops.open(&s, &anew.store, &w.at, &err));
	assert_int_equal(ERR_SYSTEM, err.code);
	put_site(&anew, "a.test-192.0.2.1", "ftp://a.test/", STR("x/1\n"));
	assert_int_equal(-1, source_archie_ops.open(&s, &anew.store, &w.at, &err));
	assert_int_equal(ERR_USAGE, err.code);
	assert_null(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(archives_are_a_source),
		cmocka_unit_test(an_empty_folder_waits_for_its_first_site),
		cmocka_unit_test(only_what_changed_is_told),
		cmocka_unit_test(a_site_with_another_url_is_told_anew),
		cmocka_unit_test(a_site_that_moved_is_not_deleted),
		cmocka_unit_test(what_came_back_is_told_last),
		cmocka_unit_test(a_large_directory_is_several_objects),
		cmocka_unit_test(an_object_has_all_that_is_mandatory),
		cmocka_unit_test(the_same_names_in_two_directories_are_no_twins),
		cmocka_unit_test(a_cursor_of_another_teller_or_index_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
