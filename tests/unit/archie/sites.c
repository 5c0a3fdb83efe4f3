#include "archie/sites.h"

#include "../unit.h"
#include "archie/sites/sites_inner.h"
#include "base/file.h"
#include "index/names.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

struct lab {
	char folder[64];
	struct arena arena;
	struct archie_sites sites;
	struct err err;
};

static void lab_begin(struct lab *l)
{
	*l = (struct lab){.arena = ARENA_INIT(1 << 26)};
	snprintf(l->folder, sizeof l->folder, "/tmp/garner-sites-XXXXXX");
	assert_non_null(mkdtemp(l->folder));
}

static void lab_end(struct lab *l)
{
	static const char *const files[] = {"sites", "sites.local"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof path, "%s/%s", l->folder, files[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(l->folder), 0);
	arena_free(&l->arena);
}

static void put(struct lab *l, const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", l->folder, name);
	assert_int_equal(file_replace(path, str_of(text), 0640, &l->err), 0);
}

static const char *get(struct lab *l, const char *name)
{
	struct buf b = BUF_INIT(1 << 20);
	char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", l->folder, name);
	assert_true(file_slurp(path, &b, &l->err) >= 0);
	const char *text = arena_text(&l->arena, buf_str(&b));
	buf_free(&b);
	return text;
}

static void read_list(struct lab *l)
{
	if (archie_sites_read(l->folder, &l->arena, &l->sites, &l->err) < 0)
		fail_msg("%s", l->err.msg);
}

static void read_text(struct lab *l, const char *sites, const char *local)
{
	put(l, "sites", sites);
	put(l, "sites.local", local);
	read_list(l);
}

static const struct archie_site *by_key(struct lab *l, const char *key)
{
	for (size_t i = 0; i < l->sites.n; i++)
		if (str_is(l->sites.site[i].key, key))
			return &l->sites.site[i];
	return NULL;
}

static void expect_keys(struct lab *l, const char *keys)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 16);
	for (size_t i = 0; i < l->sites.n; i++)
		buf_printf(&b, "%s" STR_FMT, i ? " " : "", STR_ARG(l->sites.site[i].key));
	assert_string_equal(buf_text(&b), keys);
}

static void a_line_says_what_is_known_of_a_site(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	read_text(&l,
		  "# a comment\n\n"
		  "FTP://FTP.cs.pdx.edu 131.252.21.14 tz=-0800 os=unix_bsd path=/usr/ftp%20x "
		  "max_age=3d\r\n"
		  "  http://mirror.test:8080/pub\t192.0.2.1 name=Real.test\n",
		  "");
	assert_int_equal(l.sites.problems, 0);
	expect_keys(&l,
		    "ftp.cs.pdx.edu-131.252.21.14 real.test+http@mirror.test+pub,8080-192.0.2.1");
	const struct archie_site *s = &l.sites.site[0];
	assert_str(s->url, "ftp://ftp.cs.pdx.edu/");
	assert_str(s->name, "ftp.cs.pdx.edu");
	assert_true(s->ftp);
	assert_int_equal(s->tz_s, -8 * 3600);
	assert_str(s->os, "unix_bsd");
	assert_str(s->path, "/usr/ftp x");
	assert_true(s->max_age_us == INT64_C(3) * 86400 * 1000000);
	assert_false(s->local);
	s = &l.sites.site[1];
	assert_str(s->url, "http://mirror.test:8080/pub/");
	assert_str(s->name, "real.test");
	assert_false(s->ftp);
	assert_true(l.sites.listed_s > 0);
	lab_end(&l);
}

static void no_file_is_an_empty_list(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	read_list(&l);
	assert_int_equal(l.sites.n, 0);
	assert_int_equal(l.sites.problems, 0);
	assert_true(l.sites.listed_s == -1);
	lab_end(&l);
}

static void bad_lines_are_named_and_skipped(void **state)
{
	(void)state;
	static const struct {
		const char *line, *why;
	} c[] = {{"gopher://a.test/ 192.0.2.1", "gopher"},
		 {"nonsense", "nonsense"},
		 {"ftp://a.test/", "expected an address"},
		 {"ftp://a.test/ a.test", "expected an address"},
		 {"ftp://a.test/ fe80::1%lo", "expected an address"},
		 {"ftp://a.test/ 192.0.2.1 tz", "expected key=value"},
		 {"ftp://a.test/ 192.0.2.1 tz=Paris", "tz: 'Paris'"},
		 {"ftp://a.test/ 192.0.2.1 max_age=soon", "max_age: 'soon'"},
		 {"ftp://a.test/ 192.0.2.1 path=%zz", "path: '%zz'"},
		 {"ftp://a.test/ 192.0.2.1 path=a%00b", "path:"},
		 {"ftp://a.test/ 192.0.2.1 name=../x", "name: '../x'"},
		 {"ftp://a.test/ 192.0.2.1 colour=red", "'colour' is not a key"},
		 {"http://a.test/?q=1 192.0.2.1", "no question mark"},
		 {"ftp://anna:secret@a.test/ 192.0.2.1", "no user name"}};
	struct lab l;
	lab_begin(&l);
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		char text[512];
		snprintf(text, sizeof text, "ftp://good.test/ 192.0.2.9\n%s\n", c[i].line);
		read_text(&l, text, "");
		assert_int_equal(l.sites.n, 1);
		assert_int_equal(l.sites.problems, 1);
		assert_int_equal(l.sites.unread, 1);
		assert_non_null(strstr(l.sites.problem[0], "sites:2: "));
		if (!strstr(l.sites.problem[0], c[i].why))
			fail_msg("'%s' lacks '%s'", l.sites.problem[0], c[i].why);
	}
	lab_end(&l);
}

static void a_line_that_is_too_long_is_skipped(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 20);
	buf_add_text(&b, "ftp://a.test/ 192.0.2.1 os=");
	buf_fill(&b, 'x', ARCHIE_LINE_MOST);
	buf_add_text(&b, "\nftp://b.test/ 192.0.2.2\n");
	read_text(&l, buf_text(&b), "");
	expect_keys(&l, "b.test-192.0.2.2");
	assert_int_equal(l.sites.problems, 1);
	lab_end(&l);
}

static void an_address_has_one_ftp_site(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	read_text(&l,
		  "ftp://a.test/ 192.0.2.1\nftp://b.test/ 192.0.2.1\nftp://a.test:2121/ 192.0.2.1\n"
		  "http://a.test/ 192.0.2.1\nhttp://b.test/ 192.0.2.1\nftp://a.test/ 192.0.2.7\n"
		  "ftp://c.test/ ::ffff:192.0.2.1\n",
		  "");
	expect_keys(&l, "a.test+http-192.0.2.1 a.test-192.0.2.1 b.test+http-192.0.2.1");
	assert_int_equal(l.sites.problems, 4);
	assert_int_equal(l.sites.unread, 0);
	assert_non_null(strstr(l.sites.problem[0], "sites:2: ftp://b.test/"));
	assert_non_null(strstr(l.sites.problem[0], "has an FTP site already, ftp://a.test/"));
	assert_non_null(strstr(l.sites.problem[2], "listed twice"));
	lab_end(&l);
}

static void no_two_sites_have_one_key(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	read_text(&l,
		  "http://a.test/pub/ 192.0.2.1\n"
		  "http://a.test/pub/x,y/ 192.0.2.1\n"
		  "http://a.test/pub+x/ 192.0.2.1\n"
		  "http://a.test/pub%2Bx/ 192.0.2.1\n"
		  "https://a.test/pub/ 192.0.2.1\n"
		  "http://a.test:8080/ 192.0.2.1\n"
		  "http://a.test/,8080/ 192.0.2.1\n"
		  "http://alias.test/pub/ 192.0.2.1 name=a.test\n"
		  "http://a.test/ 192.0.2.2\n"
		  "http://[2001:db8::1]/ 2001:db8::1\n"
		  "ftp://[2001:db8::1]/ 2001:db8::1\n"
		  "ftp://a.test/http/ 192.0.2.3\n",
		  "");
	assert_int_equal(l.sites.problems, 0);
	assert_int_equal(l.sites.n, 12);
	static const char *const keys[] = {
		"a.test+http+pub-192.0.2.1",     "a.test+http+pub+x=2Cy-192.0.2.1",
		"a.test+http+pub=2Bx-192.0.2.1", "a.test+http+pub%2Bx-192.0.2.1",
		"a.test+https+pub-192.0.2.1",    "a.test,8080-192.0.2.1",
		"a.test+http+=2C8080-192.0.2.1", "a.test+http@alias.test+pub-192.0.2.1",
		"a.test+http-192.0.2.2",         "2001_db8__1+http-2001_db8__1",
		"2001_db8__1-2001_db8__1",       "a.test+ftp+http-192.0.2.3"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!by_key(&l, keys[i]))
			fail_msg("there is no %s", keys[i]);
	lab_end(&l);
}

/* Whatever the order of lines is, and whichever of them are there. */
static void a_key_depends_on_no_other_line(void **state)
{
	(void)state;
	static const char *const c[][2] = {
		{"http://a.test/ 192.0.2.1", "a.test+http-192.0.2.1"},
		{"ftp://a.test/ 192.0.2.1", "a.test-192.0.2.1"},
		{"https://a.test/ 192.0.2.1", "a.test+https-192.0.2.1"},
		{"http://a.test:2121/ 192.0.2.1", "a.test,2121-192.0.2.1"},
		{"ftp://a.test:2121/ 192.0.2.2", "a.test,2121-192.0.2.2"},
		{"http://a.test/pub/ 192.0.2.1", "a.test+http+pub-192.0.2.1"},
		{"ftp://b.test/pub/ 192.0.2.3", "b.test+ftp+pub-192.0.2.3"},
		{"http://www.test/ 192.0.2.1 name=a.test", "a.test+http@www.test-192.0.2.1"},
		{"ftp://www.test/ 192.0.2.4 name=a.test", "a.test-192.0.2.4"},
		{"http://[2001:db8::1]/ 192.0.2.1 name=a.test",
		 "a.test+http@2001_db8__1-192.0.2.1"},
	};
	struct lab l;
	lab_begin(&l);
	/* in the short form a seventh, of all sizes */
	for (unsigned present = 1; present < 1U << ARRAY_LEN(c);
	     present += unit_thorough() ? 1 : 7) {
		CLEANUP(buf_free) struct buf up = BUF_INIT(1 << 12), down = BUF_INIT(1 << 12);
		for (size_t i = 0; i < ARRAY_LEN(c); i++) {
			size_t last = ARRAY_LEN(c) - 1 - i;
			if (present >> i & 1)
				buf_printf(&up, "%s\n", c[i][0]);
			if (present >> last & 1)
				buf_printf(&down, "%s\n", c[last][0]);
		}
		for (int way = 0; way < 4; way++) {
			struct sites_list lines, none = {0};
			sites_list_parse(buf_str(way & 1 ? &up : &down), "x", way & 2, &l.arena,
					 &lines);
			sites_merge(way & 2 ? &none : &lines, way & 2 ? &lines : &none, &l.arena,
				    &l.sites);
			for (size_t i = 0; i < ARRAY_LEN(c); i++)
				assert_int_equal(by_key(&l, c[i][1]) != NULL, present >> i & 1);
			for (size_t i = 0; i < l.sites.n; i++) {
				const struct archie_site *s = &l.sites.site[i];
				bool told = s->ftp ? str_eq(s->name, archie_site_host(s))
						   : memchr(s->key.p, '+', s->key.n) != NULL;
				if (told)
					assert_true(
						str_eq(names_key_url(s->key, &l.arena), s->url));
			}
		}
		arena_clear(&l.arena);
	}
	lab_end(&l);
}

static void a_key_is_short_enough_for_a_file(void **state)
{
	(void)state;
	struct lab l;
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 20);
	lab_begin(&l);
	buf_add_text(&b, "http://a.test/pub/ 192.0.2.1\n");
	for (int i = 0; i < 2; i++) {
		buf_add_text(&b, "http://a.test/");
		buf_fill(&b, 'x', 600);
		buf_printf(&b, "%d/ 192.0.2.1\n", i);
	}
	read_text(&l, buf_text(&b), "");
	assert_int_equal(l.sites.n, 3);
	assert_int_equal(l.sites.problems, 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(l.sites.site[i].key.n <= 255);
		assert_true(str_ends(l.sites.site[i].key, STR("-192.0.2.1")));
	}
	lab_end(&l);
}

static void edits_hold_over_the_list(void **state)
{
	(void)state;
	struct lab l;
	const char *list = "ftp://a.us/ 192.0.2.1\nftp://b.au/ 192.0.2.2\nftp://c.AU/ 192.0.2.3\n"
			   "ftp://d.test/ 192.0.2.4 name=real.au\nhttp://e.au/x/ 192.0.2.5\n";
	lab_begin(&l);
	read_text(&l, list, "- *.us\n");
	expect_keys(&l, "b.au-192.0.2.2 c.au-192.0.2.3 e.au+http+x-192.0.2.5 real.au-192.0.2.4");
	read_text(&l, list, "only *.au\n- c.*\n");
	expect_keys(&l, "b.au-192.0.2.2 e.au+http+x-192.0.2.5 real.au-192.0.2.4");
	read_text(&l, list, "only *.us\nonly d.*\n");
	expect_keys(&l, "a.us-192.0.2.1 real.au-192.0.2.4");
	read_text(&l, list, "- http://e.au/*\n- *.us\n");
	expect_keys(&l, "b.au-192.0.2.2 c.au-192.0.2.3 real.au-192.0.2.4");
	/* what is written here counts, whatever the patterns say */
	read_text(&l, list, "- *\nftp://z.us/ 192.0.2.9\nftp://b.au/ 192.0.2.7 tz=+10:00\n");
	expect_keys(&l, "b.au-192.0.2.7 z.us-192.0.2.9");
	assert_int_equal(l.sites.site[0].tz_s, 36000);
	assert_true(l.sites.site[0].local);
	read_text(&l, list, "-\nonly\n");
	assert_int_equal(l.sites.problems, 2);
	/* and in `sites` such a line is no edit */
	read_text(&l, "- *.us\nftp://a.us/ 192.0.2.1\n", "");
	assert_int_equal(l.sites.n, 1);
	assert_int_equal(l.sites.problems, 1);
	lab_end(&l);
}

static void sites_are_found_by_url_name_and_key(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	read_text(&l,
		  "ftp://a.test/ 192.0.2.1 name=real.test\nhttp://a.test/x/ 192.0.2.1\n"
		  "http://a.test/x/y/ 192.0.2.1\n",
		  "");
	static const struct {
		const char *what;
		size_t n;
	} c[] = {{"ftp://a.test", 1}, {"http://A.test/x", 1}, {"http://a.test/z", 0},
		 {"A.TEST", 3},       {"real.test", 1},       {"real.test-192.0.2.1", 1},
		 {"other", 0}};
	for (size_t i = 0; i < ARRAY_LEN(c); i++) {
		size_t at = 0, n = 0;
		while (archie_sites_find(&l.sites, str_of(c[i].what), &at))
			n++;
		assert_int_equal(n, c[i].n);
	}
	const struct archie_site *s =
		archie_sites_of_url(&l.sites, STR("http://a.test/x/y/z/file.tar"));
	assert_str(s->url, "http://a.test/x/y/");
	s = archie_sites_of_url(&l.sites, STR("http://a.test/x/file.tar"));
	assert_str(s->url, "http://a.test/x/");
	assert_null(archie_sites_of_url(&l.sites, STR("http://a.test/xy/")));
	lab_end(&l);
}

static struct archie_site site_of(struct lab *l, const char *url, const char *address)
{
	struct archie_site s = {0};
	assert_int_equal(archie_site_url(str_of(url), &l->arena, &s.url, &l->err), 0);
	assert_true(addr_parse(str_of(address), &s.address));
	s.ftp = str_starts(s.url, STR("ftp:"));
	return s;
}

static void what_is_added_and_removed_stays_so(void **state)
{
	(void)state;
	struct lab l;
	lab_begin(&l);
	put(&l, "sites", "ftp://a.test/ 192.0.2.1\nhttp://b.test/[x]*/ 192.0.2.2\n");
	put(&l, "sites.local", "# mine\nftp://c.test/ 192.0.2.3 # no\n- *.us"); /* no last end */
	struct archie_site s = site_of(&l, "ftp://d.test", "192.0.2.4");
	s.name = STR("real.test");
	s.tz_s = -3600;
	assert_int_equal(archie_sites_add(l.folder, &s, &l.err), 0);
	assert_int_equal(archie_sites_add(l.folder, &s, &l.err), 1);
	assert_string_equal(get(&l, "sites.local"),
			    "# mine\nftp://c.test/ 192.0.2.3 # no\n- *.us\n"
			    "ftp://d.test/ 192.0.2.4 name=real.test tz=-01:00\n");
	/* of the list: left out, and back again */
	struct archie_site listed = site_of(&l, "http://b.test/[x]*/", "192.0.2.2");
	assert_int_equal(archie_sites_remove(l.folder, listed.url, &l.err), 0);
	assert_int_equal(archie_sites_remove(l.folder, listed.url, &l.err), 1);
	read_list(&l);
	expect_keys(&l, "a.test-192.0.2.1 real.test-192.0.2.4");
	assert_int_equal(archie_sites_add(l.folder, &listed, &l.err), 0);
	read_list(&l);
	assert_int_equal(l.sites.n, 3);
	/* of our own: gone */
	assert_int_equal(archie_sites_remove(l.folder, s.url, &l.err), 0);
	assert_null(strstr(get(&l, "sites.local"), "d.test"));
	/* one that cannot be added changes nothing */
	const char *before = get(&l, "sites.local");
	s = site_of(&l, "ftp://e.test", "192.0.2.1");
	assert_int_equal(archie_sites_add(l.folder, &s, &l.err), -1);
	assert_int_equal(l.err.code, ERR_USAGE);
	assert_non_null(strstr(l.err.msg, "ftp://a.test/"));
	assert_string_equal(get(&l, "sites.local"), before);
	assert_string_equal(get(&l, "sites"),
			    "ftp://a.test/ 192.0.2.1\nhttp://b.test/[x]*/ 192.0.2.2\n");
	lab_end(&l);
}

static void a_site_moves_to_another_address(void **state)
{
	(void)state;
	struct lab l;
	struct addr to;
	lab_begin(&l);
	put(&l, "sites", "ftp://a.test/ 192.0.2.1 tz=+01:00 os=vms\nftp://b.test/ 192.0.2.2\n");
	assert_true(addr_parse(STR("2001:db8::5"), &to));
	for (int again = 0; again < 2; again++) {
		assert_int_equal(archie_sites_move(l.folder, STR("ftp://a.test/"), STR("real.test"),
						   &to, &l.err),
				 0);
		assert_string_equal(get(&l, "sites.local"),
				    "ftp://a.test/ 2001:db8::5 name=real.test tz=+01:00 os=vms\n");
	}
	read_list(&l);
	expect_keys(&l, "b.test-192.0.2.2 real.test-2001_db8__5");
	assert_true(addr_parse(STR("192.0.2.2"), &to));
	assert_int_equal(
		archie_sites_move(l.folder, STR("ftp://a.test/"), STR("a.test"), &to, &l.err), -1);
	assert_int_equal(archie_sites_move(l.folder, STR("ftp://z.test/"), STR(""), &to, &l.err),
			 1);
	/* an address as host keeps the name that it was given */
	put(&l, "sites.local", "http://[2001:db8::1]/ 2001:db8::1 name=six.test\n");
	assert_int_equal(archie_sites_move(l.folder, STR("http://[2001:db8::1]/"), STR("six.test"),
					   &to, &l.err),
			 0);
	assert_non_null(strstr(get(&l, "sites.local"), "name=six.test"));
	lab_end(&l);
}

static const char *many(struct lab *l, unsigned from, unsigned to)
{
	CLEANUP(buf_free) struct buf b = BUF_INIT(1 << 16);
	for (unsigned i = from; i < to; i++)
		buf_printf(&b, "ftp://s%u.test/ 192.0.2.%u\n", i, i);
	return arena_text(&l->arena, buf_str(&b));
}

static int replace(struct lab *l, const char *text, bool forced, struct archie_sites_diff *ret)
{
	return archie_sites_replace(l->folder, str_of(text), forced, &l->arena, ret, &l->err);
}

static void a_list_that_lost_a_fifth_is_refused(void **state)
{
	(void)state;
	struct lab l;
	struct archie_sites_diff d;
	lab_begin(&l);
	put(&l, "sites.local", "- *.us\nftp://mine.test/ 192.0.2.200\n");
	assert_int_equal(replace(&l, "", false, &d), -1);
	assert_int_equal(replace(&l, many(&l, 1, 11), false, &d), 0);
	assert_int_equal(d.nadded, 10);
	/* one of ten is less than a fifth, two are not */
	assert_int_equal(replace(&l, many(&l, 2, 13), false, &d), 0);
	assert_int_equal(d.nremoved, 1);
	assert_int_equal(d.nadded, 2);
	assert_str(d.removed[0].url, "ftp://s1.test/");
	const char *before = get(&l, "sites");
	assert_int_equal(replace(&l, many(&l, 5, 30), false, &d), -1);
	assert_int_equal(d.nremoved, 3);
	assert_int_equal(l.err.code, ERR_USAGE);
	assert_string_equal(get(&l, "sites"), before);
	assert_int_equal(replace(&l, many(&l, 5, 30), true, &d), 0);
	assert_string_equal(get(&l, "sites"), many(&l, 5, 30));
	/* edits are where they were */
	assert_string_equal(get(&l, "sites.local"), "- *.us\nftp://mine.test/ 192.0.2.200\n");
	lab_end(&l);
}

static void what_is_wrong_with_a_new_list_is_said_of_it(void **state)
{
	(void)state;
	struct lab l;
	struct archie_sites_diff d;
	lab_begin(&l);
	put(&l, "sites", "ftp://a.test/ 192.0.2.1\nftp://a.test/ 192.0.2.1\n");
	const char *text = "nonsense\nftp://a.test/ 192.0.2.1\nftp://b.test/ 192.0.2.1\n";
	assert_int_equal(replace(&l, text, false, &d), 0);
	assert_int_equal(d.problems, 2);
	assert_non_null(strstr(d.problem[0], "the new list:1: "));
	assert_non_null(strstr(d.problem[1], "the new list:3: ftp://b.test/"));
	lab_end(&l);
}

static void the_edge_of_a_fifth_is_a_fifth(void **state)
{
	(void)state;
	struct lab l;
	struct archie_sites_diff d;
	lab_begin(&l);
	assert_int_equal(replace(&l, many(&l, 0, 10), false, &d), 0);
	assert_int_equal(replace(&l, many(&l, 2, 10), false, &d), -1);
	assert_int_equal(replace(&l, many(&l, 1, 10), false, &d), 0);
	assert_int_equal(replace(&l, "ftp://s1.test/ 192.0.2.77\n", true, &d), 0);
	assert_int_equal(d.nchanged, 1);
	assert_int_equal(d.nremoved, 8);
	assert_int_equal(replace(&l, "<html>not found</html>\n", true, &d), -1);
	assert_int_equal(d.problems, 1);
	lab_end(&l);
}

static void zones_are_hours_and_minutes(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int32_t s;
	} good[] = {{"UTC", 0},        {"z", 0},        {"+01:00", 3600},  {"+1", 3600},
		    {"-0530", -19800}, {"+530", 19800}, {"-11:59", -43140}};
	static const char *const bad[] = {"",       "+",   "1",   "+1:2:3", "+16",
					  "+01:60", "CET", "+ 1", "+12345"};
	int32_t s;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(archie_zone_parse(str_of(good[i].text), &s));
		assert_int_equal(s, good[i].s);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (archie_zone_parse(str_of(bad[i]), &s))
			fail_msg("'%s' was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_says_what_is_known_of_a_site),
		cmocka_unit_test(no_file_is_an_empty_list),
		cmocka_unit_test(bad_lines_are_named_and_skipped),
		cmocka_unit_test(a_line_that_is_too_long_is_skipped),
		cmocka_unit_test(an_address_has_one_ftp_site),
		cmocka_unit_test(no_two_sites_have_one_key),
		cmocka_unit_test(a_key_depends_on_no_other_line),
		cmocka_unit_test(a_key_is_short_enough_for_a_file),
		cmocka_unit_test(edits_hold_over_the_list),
		cmocka_unit_test(sites_are_found_by_url_name_and_key),
		cmocka_unit_test(what_is_added_and_removed_stays_so),
		cmocka_unit_test(a_site_moves_to_another_address),
		cmocka_unit_test(a_list_that_lost_a_fifth_is_refused),
		cmocka_unit_test(what_is_wrong_with_a_new_list_is_said_of_it),
		cmocka_unit_test(the_edge_of_a_fifth_is_a_fifth),
		cmocka_unit_test(zones_are_hours_and_minutes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
