/* Tests of sites. Names are looked up here; everything else is done by a getter with a folder of
 * its own. Two sites with the same key (two aliases of a server) are tested one after the other,
 * because their listings would be the same file. */
#include "archie/master_tests.h"

#include "archie/sites/sites_inner.h"
#include "base/file.h"
#include "base/list.h"
#include "extract/cage_section.h"

#include <limits.h>
#include <stdio.h>

struct test {
	struct master_tests *all;
	struct link link;
	struct arena arena;
	struct archie_site site; /* in the arena */
	struct dns_wait dns;
	bool is_new, is_out; /* is_out: the getter has it */
};

struct master_tests {
	struct master_tests_options o;
	struct cage_options parse;
	char program[CAGE_PATH_MAX];
	struct kit kit;
	struct getter *getter;
	struct loop_later later;
	struct link fresh, going, held; /* struct test; held: until another one has ended */
	size_t n;
};

/* Beginning and end of a test */

static struct test *test_new(struct master_tests *all, const struct archie_site *site)
{
	struct test *t = mem_alloc(sizeof *t);
	*t = (struct test){.all = all, .arena = ARENA_INIT(SIZE_MAX)};
	t->site = archie_site_copy(site, &t->arena);
	list_append(&all->fresh, &t->link);
	all->n++;
	loop_later(all->o.loop, &all->later);
	return t;
}

static void test_free(struct test *t)
{
	t->all->n--;
	dns_cancel(&t->dns);
	list_remove(&t->link);
	arena_free(&t->arena);
	mem_free(&t);
}

/* Those that had to wait for this one may be begun. */
static void test_end(struct test *t, struct master_verdict *v)
{
	struct master_tests *all = t->all;
	v->url = t->site.url;
	list_remove(&t->link);
	LIST_EACH (struct test, other, &all->held, link) {
		list_remove(&other->link);
		list_append(&all->fresh, &other->link);
	}
	loop_later(all->o.loop, &all->later);
	all->o.told(all->o.ctx, v);
	test_free(t);
}

static void test_fail(struct test *t, unsigned cause, const char *why)
{
	test_end(t, &(struct master_verdict){.end = MASTER_FAILED,
					     .cause = getter_cause_name(cause),
					     .why = why,
					     .ours = cause == GETTER_CAUSE_DISK});
}

/* The third step and the fourth: the getter */

static void getter_begin(struct test *t)
{
	struct master_tests *all = t->all;
	LIST_EACH (struct test, other, &all->going, link)
		if (other != t && other->is_out &&
		    (str_eq(other->site.key, t->site.key) ||
		     str_eq(other->site.url, t->site.url))) {
			list_remove(&t->link);
			list_append(&all->held, &t->link);
			return;
		}
	t->is_out = true;
	getter_add(all->getter, &t->site);
	getter_go(all->getter);
}

static void drop_listing(const struct master_tests *all, const char *below, struct str key)
{
	char path[PATH_MAX];
	struct err ignored;
	snprintf(path, sizeof path, "%.*s/%s/" STR_FMT, PATH_MAX - 300, all->o.folder, below,
		 STR_ARG(key));
	(void)file_remove(path, &ignored);
}

static struct test *test_of(const struct master_tests *all, struct str url)
{
	LIST_EACH (struct test, t, &all->going, link)
		if (t->is_out && str_eq(t->site.url, url))
			return t;
	return NULL;
}

static void site_told(void *ctx, const struct getter_told *told)
{
	struct master_tests *all = ctx;
	struct test *t = test_of(all, told->site->url);
	ENSURE(t);
	drop_listing(all, "lslr", told->site->key);
	drop_listing(all, "failed", t->site.key);
	if (told->end == GETTER_STOPPED)
		test_free(t);
	else if (told->end == GETTER_FAILED)
		test_fail(t, told->cause, told->why);
	else
		test_end(t, &(struct master_verdict){.end = MASTER_GOOD,
						     .site = *told->site,
						     .method = told->method,
						     .entries = told->entries});
}

/* The getter's memory is for those who keep what it gets. */
static void all_done(void *ctx)
{
	struct master_tests *all = ctx;
	struct err ignored;
	(void)getter_forget(all->getter, &(struct archie_sites){0}, &ignored);
}

/* The first step and the second */

/* As its line says it, with its key. */
static int site_fill(struct test *t, struct err *err)
{
	CLEANUP(buf_free)
	struct buf line = BUF_INIT((size_t)2 * ARCHIE_LINE_MOST), key = BUF_INIT(64 << 10);
	struct sites_line parsed;
	archie_site_print(&t->site, &line);
	if (sites_line_parse(buf_str(&line), &t->arena, &parsed, err) < 0)
		return -1;
	sites_key(&parsed, &key);
	t->site = parsed.site;
	t->site.key = arena_str(&t->arena, buf_str(&key));
	return 0;
}

static const struct archie_site *listed_as(const struct archie_sites *listed,
					   const struct archie_site *site)
{
	for (size_t i = 0; i < listed->n; i++)
		if (str_eq(listed->site[i].url, site->url) ||
		    (listed->site[i].ftp && addr_eq(listed->site[i].address, site->address)))
			return &listed->site[i];
	return NULL;
}

static void test_found(struct test *t)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct archie_sites listed;
	struct err err;
	if (site_fill(t, &err) < 0) {
		test_fail(t, ROBOT_CAUSE_URL, err.msg);
		return;
	}
	if (archie_sites_read(t->all->o.list, &arena, &listed, &err) < 0) {
		test_fail(t, GETTER_CAUSE_DISK, err.msg);
		return;
	}
	const struct archie_site *is = listed_as(&listed, &t->site);
	if (is)
		test_end(t, &(struct master_verdict){.end = MASTER_KNOWN, .known = is->url});
	else
		getter_begin(t);
}

static void addresses_came(void *ctx, const struct dns_result *r)
{
	struct test *t = ctx;
	char why[GETTER_TEXT + 1];
	struct str host = archie_site_host(&t->site);
	if (r->outcome == DNS_FOUND) {
		t->site.address = *robot_choose(r->addr, r->n, host);
		t->site.address.port = 0;
		t->site.name = arena_str(&t->arena, r->canonical);
		test_found(t);
		return;
	}
	unsigned cause = getter_no_address(host, r, why);
	test_fail(t, cause, why);
}

static void tests_begin(void *ctx)
{
	struct master_tests *all = ctx;
	struct test *t;
	struct dns_result result;
	while ((t = LIST_FIRST(struct test, &all->fresh, link))) {
		list_remove(&t->link);
		list_append(&all->going, &t->link);
		t->dns = (struct dns_wait){.done = addresses_came, .ctx = t};
		if (!t->is_new)
			getter_begin(t);
		else if (dns_lookup(all->kit.dns, archie_site_host(&t->site), DNS_ANY, &t->dns,
				    &result) == 0)
			addresses_came(t, &result);
	}
}

/* The door */

void master_tests_ask(struct master_tests *t, struct str url)
{
	test_new(t, &(struct archie_site){.url = url, .ftp = true})->is_new = true;
}

void master_tests_again(struct master_tests *t, const struct archie_site *site)
{
	(void)test_new(t, site);
}

bool master_tests_has(const struct master_tests *t, struct str url)
{
	const struct link *const lists[] = {&t->fresh, &t->going, &t->held};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		LIST_EACH (struct test, one, lists[i], link)
			if (str_eq(one->site.url, url))
				return true;
	return false;
}

size_t master_tests_n(const struct master_tests *t)
{
	return t->n;
}

static int tests_open(struct master_tests *t, struct err *err)
{
	const struct config *config = t->o.config;
	const struct robot_section_conf *robot = config_get(config, &robot_section);
	const struct getter_options getter = {.folder = t->o.folder,
					      .conf = config_get(config, &archie_section),
					      .robot = robot,
					      .kit = &t->kit,
					      .parse = &t->parse,
					      .disk_free = t->o.disk_free,
					      .reads_all = true,
					      .told = site_told,
					      .done = all_done,
					      .ctx = t};
	if (cage_section_options(config_get(config, &cage_section), t->program, &t->parse, err) <
		    0 ||
	    dir_make(t->o.folder, DIR_MODE, err) < 0 ||
	    kit_open(&t->kit, t->o.loop, t->o.data, robot, err) < 0)
		return -1;
	return getter_new(&t->getter, &getter, err);
}

/* What was there when the last one was killed. */
static void clear_left(const struct master_tests *t, const char *below)
{
	char path[PATH_MAX];
	struct dir dir;
	struct err ignored;
	const char *name;
	snprintf(path, sizeof path, "%.*s/%s", PATH_MAX - 16, t->o.folder, below);
	if (dir_init_own(&dir, path, &ignored) != 0)
		return;
	while (dir_next(&dir, &name) == 0)
		drop_listing(t, below, str_of(name));
	dir_done(&dir);
}

int master_tests_new(struct master_tests **ret, const struct master_tests_options *options,
		     struct err *err)
{
	struct master_tests *t = mem_alloc(sizeof *t);
	*t = (struct master_tests){.o = *options, .later = {.fn = tests_begin, .ctx = t}};
	list_init(&t->fresh);
	list_init(&t->going);
	list_init(&t->held);
	if (tests_open(t, err) < 0) {
		master_tests_free(&t);
		return -1;
	}
	clear_left(t, "lslr");
	clear_left(t, "failed");
	*ret = t;
	return 0;
}

static void drop_tests(struct link *list)
{
	LIST_EACH (struct test, t, list, link)
		test_free(t);
}

void master_tests_free(struct master_tests **tp)
{
	struct master_tests *t = *tp;
	struct err ignored; /* what robots.txt said is asked again */
	if (!t)
		return;
	loop_later_cancel(&t->later);
	if (t->getter)
		getter_stop(t->getter);
	robot_free(&t->kit.robot);
	getter_free(&t->getter);
	drop_tests(&t->fresh);
	drop_tests(&t->going);
	drop_tests(&t->held);
	(void)kit_close(&t->kit, &ignored);
	mem_free(tp);
}
