#include "web/docs.h"

#include "../scratch.h"
#include "../unit.h"
#include "base/file.h"
#include "web/docs_tree_inner.h"

#include <fcntl.h>
#include <sys/stat.h>

static struct file root = FILE_INIT;
static struct err err;

static void put_file(const char *path, const char *text)
{
	assert_int_equal(file_replace(path, str_of(text), 0644, &err), 0);
}

/* tree/ is served; secret lies next to it. */
static int setup(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	put_file(scratch("secret"), "secret");
	if (mkdir(scratch("tree"), 0755) || mkdir(scratch("tree/sub"), 0755) ||
	    mkdir(scratch("tree/.git"), 0755) || mkfifo(scratch("tree/pipe"), 0644))
		return -1;
	put_file(scratch("tree/a b&c.html"), "<p>");
	put_file(scratch("tree/sub/x"), "x");
	put_file(scratch("tree/sub/.x"), "x");
	put_file(scratch("tree/.hidden"), "x");
	put_file(scratch("tree/.git/config"), "x");
	if (symlink("../secret", scratch("tree/out")) ||
	    symlink(scratch("secret"), scratch("tree/absolute")) ||
	    symlink("sub/x", scratch("tree/inside")) || symlink(".hidden", scratch("tree/shown")) ||
	    symlink("nowhere", scratch("tree/broken")) || symlink("../sub", scratch("tree/sub/up")))
		return -1;
	return file_open(&root, scratch("tree"), O_RDONLY | O_DIRECTORY, 0, &err);
}

static int teardown(void **state)
{
	file_drop(&root);
	return scratch_done(state);
}

/* 'f': a file, 'd': a folder, '-': nothing that is served. */
static char kind_of(const char *path)
{
	struct file f = FILE_INIT;
	bool folder = false;
	int rc = docs_open(&root, path, &f, &folder, &err);
	assert_true(rc >= 0);
	file_drop(&f);
	return rc ? '-' : folder ? 'd' : 'f';
}

static void what_lies_in_the_tree_is_served(void **state)
{
	(void)state;
	assert_int_equal(kind_of(""), 'd');
	assert_int_equal(kind_of("sub"), 'd');
	assert_int_equal(kind_of("sub/"), 'd');
	assert_int_equal(kind_of("sub/x"), 'f');
	assert_int_equal(kind_of("a b&c.html"), 'f');
	assert_int_equal(kind_of("inside"), 'f');
}

static void what_begins_with_a_dot_is_not_there(void **state)
{
	static const char *const paths[] = {".git",    ".git/config", "sub/.x", "sub/.x/y",
					    ".",       "sub/.",       "sub/..", "./sub",
					    "sub//.x", ".hidden",     "..sub/", "sub/../sub/x"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (kind_of(paths[i]) != '-')
			fail_msg("%s was opened", paths[i]);
	assert_int_equal(kind_of("shown"), 'f'); /* by a name of its own */
}

static void nothing_outside_of_the_tree_is_reached(void **state)
{
	static const char *const paths[] = {"../secret", "sub/../../secret", "/etc/passwd",    "..",
					    "out",       "absolute",         "/proc/self/root"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (kind_of(paths[i]) != '-')
			fail_msg("%s was opened", paths[i]);
}

static void what_is_neither_file_nor_folder_is_not_served(void **state)
{
	(void)state;
	assert_int_equal(kind_of("pipe"), '-'); /* and nobody waits for its other end */
	assert_int_equal(kind_of("broken"), '-');
	assert_int_equal(kind_of("absent"), '-');
	assert_int_equal(kind_of("sub/x/y"), '-');
}

/* The names in a listing, each followed by a blank. */
static void list_folder(const char *path, struct buf *out)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct file folder = FILE_INIT;
	struct buf page = BUF_INIT(1 << 16);
	bool is_folder;
	assert_int_equal(docs_open(&root, path, &folder, &is_folder, &err), 0);
	assert_int_equal(docs_listing(&root, &folder, path, &arena, &page, &err), 0);
	struct str rest = buf_str(&page);
	buf_clear(out);
	for (size_t at; (at = str_find(rest, STR("<a href=\""))) < rest.n;) {
		rest = str_from(rest, at + 9);
		buf_add_str(out, str_head(rest, str_find(rest, STR("</a>"))));
		buf_add_byte(out, ' ');
	}
	file_drop(&folder);
	buf_free(&page);
	arena_free(&arena);
}

static void a_listing_names_what_can_be_served(void **state)
{
	struct buf names = BUF_INIT(1 << 16);
	(void)state;
	list_folder("", &names);
	/* not the links that lead out of the tree, nor the pipe, nor what is hidden */
	assert_string_equal(buf_text(&names), "./a%20b%26c.html\">a b&amp;c.html "
					      "./inside\">inside ./shown\">shown ./sub/\">sub/ ");
	list_folder("sub/", &names);
	assert_string_equal(buf_text(&names), "./up/\">up/ ./x\">x ");
	buf_free(&names);
}

static void types_follow_from_names(void **state)
{
	static const struct {
		const char *name, *mime;
		bool gzip;
	} cases[] = {
		{"index.html", "text/html", false},
		{"INDEX.HTM", "text/html", false},
		{"a.b.css", "text/css", false},
		{"page.html.gz", "text/html", true},
		{"changelog.gz", "text/plain", true},
		{"changelog.Debian.gz", "text/plain", true},
		{"source.tar.gz", "application/gzip", false},
		{"source.tgz", "application/gzip", false},
		{"README", NULL, false},
		{".html", NULL, false}, /* a hidden file without a suffix */
		{"odd.", NULL, false},
		{"", NULL, false},
		{"x.unknown", NULL, false},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct docs_type got = docs_type(str_of(cases[i].name));
		bool same = got.mime && cases[i].mime ? strcmp(got.mime, cases[i].mime) == 0
						      : got.mime == cases[i].mime;
		if (!same || got.gzip != cases[i].gzip)
			fail_msg("%s: got %s%s", cases[i].name, got.mime ? got.mime : "nothing",
				 got.gzip ? " below gzip" : "");
	}
}

static void bytes_tell_what_names_do_not(void **state)
{
	(void)state;
	assert_string_equal(docs_sniff(STR("plain\ttext\r\n")), "text/plain; charset=utf-8");
	assert_string_equal(docs_sniff(STR("")), "text/plain; charset=utf-8");
	assert_string_equal(docs_sniff(STR("caf\xe9")),
			    "text/plain"); /* its charset is not known */
	assert_string_equal(docs_sniff(STR("\x7f"
					   "ELF\x02\x01\x01\0")),
			    "application/octet-stream");
	assert_string_equal(docs_sniff(STR("a\001b")), "application/octet-stream");
}

/* Of any length: the last piece may be small when much of the one before is still held back. */
static void the_end_of_a_listing_is_packed_whatever_its_size(void **state)
{
	(void)state;
	struct file folder = FILE_INIT;
	uint64_t dice = 1;
	assert_int_equal(mkdir(scratch("long"), 0755), 0);
	assert_int_equal(file_open(&folder, scratch("long"), O_RDONLY | O_DIRECTORY, 0, &err), 0);
	for (size_t i = 0; i < 260; i++) {
		char name[241] = "";
		for (size_t k = 0; k + 1 < sizeof name; k++) {
			dice = dice * 6364136223846793005U + 1442695040888963407U;
			name[k] = (char)('A' + (dice >> 33) % 58);
		}
		int fd = openat(folder.fd, name, O_CREAT | O_WRONLY, 0644);
		assert_true(fd >= 0 && close(fd) == 0);
		if (i < 200)
			continue;
		CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
		struct docs_tree *tree = docs_tree_new(&folder);
		assert_int_equal(docs_tree_next(tree, SIZE_MAX, &out, &err), 1);
		assert_true(out.n > i * 150);
		docs_tree_free(&tree);
	}
	file_drop(&folder);
}

/* Those who ask while a listing is made ask from inside of it. */
struct asker {
	struct docs_shelf *shelf;
	bool stops;
	int rc; /* what the second one got */
	enum err_code code;
	struct file got;
};

static bool never_stops(const void *ctx)
{
	(void)ctx;
	return false;
}

static bool ask_meanwhile(const void *ctx)
{
	struct asker *a = *(struct asker *const *)ctx;
	const struct docs_stop stop = {never_stops, NULL};
	struct err why = {0};
	file_drop(&a->got);
	a->rc = docs_shelf_take(a->shelf, &stop, 1000, &a->got, &why);
	a->code = why.code;
	return a->stops;
}

static int take_listing(struct asker *a, int64_t now_us, ino_t *ret)
{
	struct file f = FILE_INIT;
	struct stat st;
	const struct docs_stop stop = {ask_meanwhile, &a};
	a->rc = 9;
	int rc = docs_shelf_take(a->shelf, &stop, now_us, &f, &err);
	if (rc == 0) {
		assert_int_equal(fstat(f.fd, &st), 0);
		assert_true(st.st_size > 20 && st.st_nlink == 0);
		*ret = st.st_ino;
	}
	file_drop(&f);
	return rc;
}

static void a_listing_is_made_once_and_nobody_waits_for_another(void **state)
{
	(void)state;
	struct docs_shelf shelf;
	struct asker a = {.shelf = &shelf, .got = FILE_INIT};
	ino_t first = 0, again = 0, third = 0;
	struct stat st;
	docs_shelf_init(&shelf, &root, scratch(""));
	shelf.keep_us = 500;
	/* there is none yet: the second one is told to come again */
	assert_int_equal(take_listing(&a, 0, &first), 0);
	assert_int_equal(a.rc, -1);
	assert_int_equal(a.code, ERR_BUSY);
	/* nothing is made for as long as it is kept */
	assert_int_equal(take_listing(&a, 499, &again), 0);
	assert_int_equal(a.rc, 9);
	assert_true(again == first);
	/* it is made again: meanwhile others have the old one, and may go on reading it */
	assert_int_equal(take_listing(&a, 1000, &third), 0);
	assert_int_equal(a.rc, 0);
	assert_int_equal(fstat(a.got.fd, &st), 0);
	assert_true(st.st_ino == first && third != first);
	file_drop(&a.got);
	docs_shelf_free(&shelf);
}

static void a_listing_is_given_up_when_the_server_stops_or_the_disk_is_full(void **state)
{
	(void)state;
	struct docs_shelf shelf;
	struct asker a = {.shelf = &shelf, .stops = true, .got = FILE_INIT};
	ino_t ignored;
	docs_shelf_init(&shelf, &root, scratch(""));
	shelf.keep_us = 500;
	assert_int_equal(take_listing(&a, 0, &ignored), -1);
	assert_int_equal(err.code, ERR_BUSY);
	a.stops = false;
	shelf.disk_free = UINT64_MAX;
	assert_int_equal(take_listing(&a, 1, &ignored), -1);
	assert_non_null(strstr(err.msg, "disk_free"));
	shelf.disk_free = 0;
	assert_int_equal(take_listing(&a, 2, &ignored), 0); /* neither is remembered */
	docs_shelf_free(&shelf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_in_the_tree_is_served),
		cmocka_unit_test(what_begins_with_a_dot_is_not_there),
		cmocka_unit_test(nothing_outside_of_the_tree_is_reached),
		cmocka_unit_test(what_is_neither_file_nor_folder_is_not_served),
		cmocka_unit_test(a_listing_names_what_can_be_served),
		cmocka_unit_test(types_follow_from_names),
		cmocka_unit_test(bytes_tell_what_names_do_not),
		cmocka_unit_test(the_end_of_a_listing_is_packed_whatever_its_size),
		cmocka_unit_test(a_listing_is_made_once_and_nobody_waits_for_another),
		cmocka_unit_test(a_listing_is_given_up_when_the_server_stops_or_the_disk_is_full),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
