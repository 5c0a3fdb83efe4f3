#include "cache/provider_file.h"
#include "cache/provider_read.h"
#include "cache/provider_tree.h"

#include "../scratch.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define P "http://h.example/"

static void add(struct provider_list *l, const char *c, const char *mime, uint64_t size,
		uint32_t origin)
{
	struct err err;
	const struct provider_url url = {.c = str_of(c),
					 .mime = str_of(mime),
					 .size = size,
					 .has = PROVIDER_SIZE,
					 .origin = origin};
	assert_int_equal(provider_list_add(l, &url, &err), 0);
}

/* "+a" new, "*a" changed or named again, "-a" removed, "!a" left out, "?a" refused. */
static void story_of(const struct provider_changes *c, struct buf *out)
{
	static const char marks[] = {' ', '+', '!', '!', '?', 'x'};
	buf_clear(out);
	for (size_t i = 0; i < c->n; i++) {
		const struct provider_change *it = &c->change[i];
		struct str url = it->now ? it->now->c : it->was->c;
		char mark = marks[it->fate];
		if (mark == '+' && it->op == PROVIDER_REMOVE)
			mark = '-';
		else if (mark == '+' && it->was)
			mark = '*';
		if (mark != ' ')
			buf_printf(out, "%c" STR_FMT " ", mark, STR_ARG(str_from(url, strlen(P))));
	}
}

struct both {
	struct provider_list was, now, after;
	struct provider_changes changes;
	struct buf story;
};

static void both_new(struct both *b)
{
	*b = (struct both){.was = PROVIDER_LIST_INIT,
			   .now = PROVIDER_LIST_INIT,
			   .after = PROVIDER_LIST_INIT,
			   .story = BUF_INIT(65536)};
	add(&b->was, P "same", "text/html", 1, 7);
	add(&b->was, P "other", "text/html", 1, 7);
	add(&b->was, P "gone", "text/html", 1, 7);
	add(&b->was, P "elsewhere", "text/html", 1, 8);
	add(&b->now, P "same", "TEXT/html", 1, 7);
	add(&b->now, P "other", "text/html", 2, 7);
	add(&b->now, P "new", "text/html", 1, 7);
	add(&b->now, P "new", "text/html", 3, 7);
	provider_list_sort(&b->was);
	provider_list_sort(&b->now);
}

static void both_diff(struct both *b, bool full)
{
	static const uint32_t origin = 7;
	const struct provider_diff d = {&b->was, &b->now, &origin, 1, full};
	provider_changes_free(&b->changes);
	provider_diff_make(&d, &b->changes);
	story_of(&b->changes, &b->story);
}

static void both_free(struct both *b)
{
	provider_changes_free(&b->changes);
	provider_list_free(&b->was);
	provider_list_free(&b->now);
	provider_list_free(&b->after);
	buf_free(&b->story);
}

static void what_is_new_changed_or_gone_of_its_origin_goes_out(void **state)
{
	(void)state;
	struct both b;
	both_new(&b);
	both_diff(&b, false);
	assert_string_equal(buf_text(&b.story), "-gone +new *other ");
	assert_int_equal(b.changes.added, 1);
	assert_int_equal(b.changes.changed, 1);
	assert_int_equal(b.changes.removed, 1);
	provider_changes_apply(&b.changes, false, NULL, 0, &b.after);
	assert_int_equal(b.after.n, 4);
	const struct provider_url *new =
		provider_list_find(&b.after, STR(P "new"), STR("text/html"));
	assert_non_null(new);
	assert_int_equal(new->size, 3);
	assert_null(provider_list_find(&b.after, STR(P "gone"), STR("text/html")));
	both_free(&b);
}

static void a_full_set_names_all_that_there_is(void **state)
{
	(void)state;
	struct both b;
	both_new(&b);
	both_diff(&b, true);
	assert_string_equal(buf_text(&b.story), "*elsewhere xgone +new *other *same ");
	provider_changes_apply(&b.changes, true, NULL, 0, &b.after);
	assert_int_equal(b.after.n, 4);
	both_free(&b);
}

static void what_was_refused_or_left_out_stays_as_it_was(void **state)
{
	(void)state;
	struct both b;
	struct str mime[] = {STR("text/*"), STR("application/pdf")};
	uint64_t refused = provider_url_hash(STR(P "new"), STR("text/html"));
	uint64_t lost = provider_url_hash(STR(P "same"), STR("text/html"));
	struct provider_limits limits = {.mime = mime, .mimes = 2, .files_free = 9};
	both_new(&b);
	add(&b.now, P "pic", "image/png", 1, 7);
	provider_list_sort(&b.now);
	both_diff(&b, false);
	limits.space_free = 2; /* and 1 that the removed one gives back: "new" fits, "other" not */
	provider_changes_limit(&b.changes, &limits, false);
	story_of(&b.changes, &b.story);
	assert_string_equal(buf_text(&b.story), "-gone +new !other !pic ");
	assert_int_equal(b.changes.to_send, 2);
	provider_changes_refused(&b.changes, &refused, 1);
	provider_changes_apply(&b.changes, false, &lost, 1, &b.after);
	assert_int_equal(b.after.n, 2); /* elsewhere, other */
	assert_int_equal(provider_list_find(&b.after, STR(P "other"), STR("text/html"))->size, 1);
	both_free(&b);
}

static void a_full_set_leaves_out_what_is_new_before_what_was_sent(void **state)
{
	(void)state;
	struct both b;
	struct str mime = STR("text/*");
	const struct provider_limits limits = {
		.mime = &mime, .mimes = 1, .files_used = 4, .space_used = 9, .space_free = 99};
	both_new(&b);
	add(&b.now, P "a", "text/html", 1, 7);
	add(&b.now, P "b", "text/html", 1, 7);
	provider_list_sort(&b.now);
	both_diff(&b, true);
	provider_changes_limit(&b.changes, &limits, true);
	story_of(&b.changes, &b.story);
	assert_string_equal(buf_text(&b.story), "+a !b *elsewhere xgone !new *other *same ");
	both_free(&b);
}

static void what_is_gone_and_of_a_type_that_is_not_taken_is_forgotten(void **state)
{
	(void)state;
	struct both b;
	struct str mime[] = {STR("text/*")};
	const struct provider_limits limits = {
		.mime = mime, .mimes = 1, .files_free = 9, .space_free = 99};
	both_new(&b);
	add(&b.was, P "old", "image/png", 1, 7);
	provider_list_sort(&b.was);
	both_diff(&b, false);
	provider_changes_limit(&b.changes, &limits, false);
	story_of(&b.changes, &b.story);
	assert_string_equal(buf_text(&b.story), "-gone +new xold *other ");
	provider_changes_apply(&b.changes, false, NULL, 0, &b.after);
	assert_null(provider_list_find(&b.after, STR(P "old"), STR("image/png")));
	both_free(&b);
}

static void a_row_has_what_is_known_and_is_escaped(void **state)
{
	(void)state;
	struct buf out = BUF_INIT(4096);
	struct provider_url url = {.c = STR("http://h/a?b&c"),
				   .mime = STR("text/html"),
				   .mtime_s = 5,
				   .size = 6,
				   .more = STR(" hours=\"0-8\""),
				   .has = PROVIDER_MTIME | PROVIDER_SIZE | PROVIDER_MD5};
	struct provider_change c = {.now = &url, .op = PROVIDER_UPDATE};
	provider_url_row(&c, &out);
	assert_string_equal(
		buf_text(&out),
		"<url c=\"http://h/a?b&amp;c\" mime=\"text/html\" mtime=\"5\" size=\"6\" "
		"md5=\"00000000000000000000000000000000\" hours=\"0-8\"/>\n");
	c.op = PROVIDER_REMOVE;
	buf_clear(&out);
	provider_url_row(&c, &out);
	assert_string_equal(buf_text(&out), "<url c=\"http://h/a?b&amp;c\" mime=\"text/html\" "
					    "op=\"remove\"/>\n");
	buf_free(&out);
}

/* The file */

static void file_fill(struct provider_file *f)
{
	struct err err;
	const struct provider_source s = {STR("/var/www"), STR(P), STR("index.html"), true};
	*f = PROVIDER_FILE_INIT;
	f->id = 17;
	f->password = arena_str(&f->arena, STR("secret-word"));
	f->seq = 3;
	f->mime[f->mimes++] = STR("text/*");
	assert_int_equal(provider_file_remember(f, &s, &err), 0);
	assert_int_equal(provider_file_remember(f, &s, &err), 0);
	assert_int_equal(f->sources, 1);
	for (int i = 0; i < 3; i++) {
		char c[64];
		snprintf(c, sizeof c, P "%d", i);
		add(&f->sent, c, "text/html", (uint64_t)i, 5);
	}
	f->sent.url[1].more = STR(" f=\"http://h.example/x?a&amp;b\"");
}

static void a_file_comes_back_as_it_was_and_cut_anywhere_is_refused(void **state)
{
	(void)state;
	struct provider_file f, back;
	struct buf out = BUF_INIT(65536), again = BUF_INIT(65536);
	struct err err;
	file_fill(&f);
	provider_file_print(&f, &out);
	back = PROVIDER_FILE_INIT;
	assert_int_equal(provider_file_parse(&back, buf_str(&out), "f", &err), 0);
	provider_file_print(&back, &again);
	assert_true(str_eq(buf_str(&out), buf_str(&again)));
	assert_int_equal(back.sent.n, 3);
	provider_file_free(&back);
	for (size_t n = 0; n < out.n; n++) {
		back = PROVIDER_FILE_INIT;
		assert_int_equal(provider_file_parse(&back, str_head(buf_str(&out), n), "f", &err),
				 -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		assert_null(strstr(err.msg, "secret-word"));
		provider_file_free(&back);
	}
	provider_file_free(&f);
	buf_free(&out);
	buf_free(&again);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	(void)state;
	struct provider_file f;
	struct err err;
	char path[512];
	snprintf(path, sizeof path, "%s/provider", scratch_dir);
	file_fill(&f);
	assert_int_equal(provider_file_save(&f, path, &err), 0);
	provider_file_free(&f);
	f = PROVIDER_FILE_INIT;
	assert_int_equal(provider_file_load(&f, path, &err), 0);
	assert_int_equal(f.id, 17);
	provider_file_free(&f);
	assert_int_equal(chmod(path, 0604), 0);
	f = PROVIDER_FILE_INIT;
	assert_int_equal(provider_file_load(&f, path, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	provider_file_free(&f);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(provider_file_load(&f, path, &err), 1);
	provider_file_free(&f);
}

/* Trees */

static void put_file(const char *dir, const char *name, const char *text, int64_t mtime_s)
{
	char path[1024];
	const struct timespec times[] = {{.tv_sec = mtime_s}, {.tv_sec = mtime_s}};
	snprintf(path, sizeof path, "%s/%s", dir, name);
	int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(futimens(fd, times), 0);
	close(fd);
}

static const char *type_of(struct str name)
{
	return str_ends(name, STR(".html")) ? "text/html" : NULL;
}

static void tree_files_are_read_only_where_they_may_have_changed(void **state)
{
	(void)state;
	char dir[512];
	struct err err;
	struct provider_list first = PROVIDER_LIST_INIT, second = PROVIDER_LIST_INIT;
	struct provider_source source = {{0}, STR(P), STR("index.html"), true};
	struct provider_list none = PROVIDER_LIST_INIT;
	struct provider_tree t = {.source = &source, .sent = &none, .type = type_of};
	snprintf(dir, sizeof dir, "%s/tree", scratch_dir);
	assert_int_equal(mkdir(dir, 0755), 0);
	put_file(dir, "index.html", "i", 100);
	source.place = str_of(dir);
	put_file(dir, "a b%.html", "a", 200);
	put_file(dir, "c.bin", "c", 100);
	put_file(dir, ".hid.html", "h", 100);
	assert_int_equal(provider_tree_scan(&t, &first, &err), 0);
	provider_list_sort(&first);
	assert_int_equal(first.n, 2);
	assert_int_equal(t.read, 2);
	assert_int_equal(t.no_type, 1);
	assert_non_null(provider_list_find(&first, STR(P), STR("text/html")));
	assert_non_null(provider_list_find(&first, STR(P "a%20b%25.html"), STR("text/html")));
	/* of the second in which it was read last, and after it, anything may be */
	struct provider_tree again = {
		.source = &source, .sent = &first, .type = type_of, .scanned_s = 201};
	put_file(dir, "a b%.html", "b", 200);
	assert_int_equal(provider_tree_scan(&again, &second, &err), 0);
	assert_int_equal(again.read, 1);
	provider_list_sort(&second);
	const struct provider_diff d = {&first, &second, NULL, 0, false};
	struct provider_changes c;
	provider_diff_make(&d, &c);
	assert_int_equal(c.changed, 1);
	provider_changes_free(&c);
	provider_list_free(&first);
	provider_list_free(&second);
	provider_list_free(&none);
}

/* XML */

static struct str html(void *ctx, struct str url)
{
	(void)ctx, (void)url;
	return STR("text/html");
}

static int read_all(enum provider_form form, const char *text, size_t piece,
		    struct provider_list *ret, struct err *err)
{
	const struct provider_read_options o = {
		.form = form, .list = ret, .origin = 9, .prefix = STR(P), .type = html};
	struct provider_read *r = provider_read_new(&o);
	struct str rest = str_of(text);
	int rc = 0;
	while (rc == 0 && rest.n) {
		rc = provider_read_put(r, str_head(rest, piece), err);
		rest = str_from(rest, piece);
	}
	if (rc == 0)
		rc = provider_read_end(r, err);
	provider_read_free(&r);
	return rc;
}

static void sitemaps_are_read_in_any_pieces(void **state)
{
	(void)state;
	static const char text[] =
		"<?xml version=\"1.0\"?>\n<urlset "
		"xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">"
		"<url><loc> " P "a?x&amp;y </loc><lastmod>1970-01-02</lastmod></url>"
		"<url><loc>" P "b</loc><lastmod>1970-01-01T00:01:00+00:00</lastmod></url>"
		"<url><loc>" P "c</loc><lastmod>yesterday</lastmod></url></urlset>";
	struct err err;
	for (size_t piece = 1; piece < 40; piece += 7) {
		struct provider_list l = PROVIDER_LIST_INIT;
		assert_int_equal(read_all(PROVIDER_SITEMAP, text, piece, &l, &err), 0);
		assert_int_equal(l.n, 3);
		assert_int_equal(l.url[0].mtime_s, 86400);
		assert_true(str_is(l.url[0].c, P "a?x&y"));
		assert_int_equal(l.url[1].mtime_s, 60);
		assert_int_equal(l.url[2].has, 0);
		assert_int_equal(l.url[2].origin, 9);
		provider_list_free(&l);
	}
}

static void what_is_not_a_sitemap_or_cut_off_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",
		"<html/>",
		"<urlset><url><loc>" P "</loc></url>",
		"<urlset><url><loc>ftp://h/</loc></url></urlset>",
		"<!DOCTYPE a [<!ENTITY x 'y'>]><urlset/>",
		"<sitemapindex><sitemap><loc>" P "</loc></sitemap></sitemapindex>",
	};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct provider_list l = PROVIDER_LIST_INIT;
		assert_int_equal(read_all(PROVIDER_SITEMAP, bad[i], 100, &l, &err), -1);
		provider_list_free(&l);
	}
}

static void rows_say_all_that_the_protocol_has(void **state)
{
	(void)state;
	struct err err;
	struct provider_list l = PROVIDER_LIST_INIT;
	assert_int_equal(read_all(PROVIDER_ROWS,
				  "<url c='x' b='y' f='' mime='text/plain'/>"
				  "<l:set xmlns:l='u' urlprefix='http://o.example/'>"
				  "<url c='z' mtime='1' size='2' sub='a:b'/></l:set>",
				  9, &l, &err),
			 0);
	assert_int_equal(l.n, 2);
	assert_true(str_is(l.url[0].c, P "x"));
	assert_int_equal(l.url[0].op, PROVIDER_REMOVE);
	assert_true(str_is(l.url[0].more, " b=\"" P "y\""));
	assert_true(str_is(l.url[1].c, "http://o.example/z"));
	assert_int_equal(l.url[1].has, PROVIDER_MTIME | PROVIDER_SIZE);
	provider_list_free(&l);
	l = PROVIDER_LIST_INIT;
	assert_int_equal(read_all(PROVIDER_ROWS, "<url c='x' size='-1'/>", 9, &l, &err), -1);
	assert_non_null(strstr(err.msg, "size"));
	provider_list_free(&l);
}

/* Such a row would be sent, and then be in a file that cannot be read again. */
static void a_row_with_a_control_character_is_refused(void **state)
{
	(void)state;
	struct err err;
	struct provider_list l = PROVIDER_LIST_INIT;
	assert_int_equal(
		read_all(PROVIDER_ROWS, "<url c='x' mime='text/css' sub='a:\x7f'/>", 9, &l, &err),
		-1);
	assert_non_null(strstr(err.msg, "control character"));
	provider_list_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_changed_or_gone_of_its_origin_goes_out),
		cmocka_unit_test(a_full_set_names_all_that_there_is),
		cmocka_unit_test(what_was_refused_or_left_out_stays_as_it_was),
		cmocka_unit_test(a_full_set_leaves_out_what_is_new_before_what_was_sent),
		cmocka_unit_test(what_is_gone_and_of_a_type_that_is_not_taken_is_forgotten),
		cmocka_unit_test(a_row_has_what_is_known_and_is_escaped),
		cmocka_unit_test(a_file_comes_back_as_it_was_and_cut_anywhere_is_refused),
		cmocka_unit_test(a_file_that_others_may_read_is_refused),
		cmocka_unit_test(tree_files_are_read_only_where_they_may_have_changed),
		cmocka_unit_test(sitemaps_are_read_in_any_pieces),
		cmocka_unit_test(what_is_not_a_sitemap_or_cut_off_is_refused),
		cmocka_unit_test(rows_say_all_that_the_protocol_has),
		cmocka_unit_test(a_row_with_a_control_character_is_refused),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
