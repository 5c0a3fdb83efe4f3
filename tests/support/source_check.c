#include "support/source_check.h"

#include "unit/unit.h"

#include <poll.h>
#include <stdio.h>

/* One change as a line, so that lists of them can be compared; and the cursor after it. */
struct seen {
	char *line;
	struct source_cursor after;
};

struct log {
	struct seen *seen;
	size_t n;
};

static const struct source_cursor beginning;

static struct source *open_at(const struct source_check *check, const struct source_cursor *from)
{
	struct source *s;
	struct err err;
	if (check->ops->open(&s, check->store, from, &err) != 0)
		fail_msg("%s: open: %s", check->ops->name, err.msg);
	struct source_cursor now;
	source_cursor(s, &now);
	assert_memory_equal(&now, from, sizeof now); /* nothing returned yet: the same place */
	return s;
}

static void note(struct log *log, const struct source_change *c, struct source *s)
{
	struct buf line = BUF_INIT(64 << 20);
	struct err err;
	buf_printf(&line, "%d " STR_FMT " ", (int)c->op, STR_ARG(c->reason));
	assert_int_equal(0, soif_print(&c->obj, &line, &err));
	log->seen = mem_resize(log->seen, (log->n + 1) * sizeof *log->seen);
	log->seen[log->n].line = line.p;
	source_cursor(s, &log->seen[log->n++].after);
}

static void read_on(struct source *s, struct log *log)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct source_change change;
	struct err err;
	int rc;
	while ((rc = source_next(s, &arena, &change, &err)) == 0) {
		note(log, &change, s);
		arena_clear(&arena);
	}
	if (rc < 0)
		fail_msg("%s: next: %s", s->ops->name, err.msg);
	assert_int_equal(1, source_next(s, &arena, &change, &err)); /* up to date stays so */
	arena_free(&arena);
}

static void log_free(struct log *log)
{
	for (size_t i = 0; i < log->n; i++)
		mem_free(&log->seen[i].line);
	mem_free(&log->seen);
}

static void same_from(const struct log *all, size_t from, const struct log *rest)
{
	assert_int_equal(all->n - from, rest->n);
	for (size_t i = 0; i < rest->n; i++) {
		assert_string_equal(all->seen[from + i].line, rest->seen[i].line);
		assert_memory_equal(&all->seen[from + i].after, &rest->seen[i].after,
				    sizeof rest->seen[i].after);
	}
}

/* Opening at any cursor gives just what came after it. */
static void cursors_resume(const struct source_check *check, const struct log *all)
{
	size_t step = MAX((size_t)1, all->n / 200);
	for (size_t i = 0; i <= all->n; i = i == all->n ? i + 1 : MIN(i + step, all->n)) {
		struct log rest = {0};
		struct source *s = open_at(check, i ? &all->seen[i - 1].after : &beginning);
		read_on(s, &rest);
		source_close(&s);
		assert_null(s);
		same_from(all, i, &rest);
		log_free(&rest);
	}
}

/* Between two deletes of a URL there is an update. */
static void deletes_appear_once(const struct log *all)
{
	for (size_t i = 0; i < all->n; i++) {
		if (all->seen[i].line[0] != '0' + SOURCE_DELETE)
			continue;
		const char *url = strchr(all->seen[i].line, '{');
		size_t n = strcspn(url, "\n");
		for (size_t j = i + 1; j < all->n; j++) {
			const char *other = strchr(all->seen[j].line, '{');
			if (strcspn(other, "\n") != n || memcmp(url, other, n) != 0)
				continue;
			if (all->seen[j].line[0] == '0' + SOURCE_UPDATE)
				break;
			if (all->seen[j].line[0] == '0' + SOURCE_DELETE)
				fail_msg("deleted twice: %.*s", (int)n, url);
		}
	}
}

static void following_works(const struct source_check *check, struct log *all)
{
	struct source *s = open_at(check, all->n ? &all->seen[all->n - 1].after : &beginning);
	struct log none = {0};
	read_on(s, &none);
	assert_int_equal(0, none.n);
	for (unsigned step = 0; step < check->steps; step++) {
		struct pollfd p = {.fd = source_wait_fd(s), .events = POLLIN};
		size_t before = all->n;
		check->grow(check->ctx, step);
		assert_int_equal(1, poll(&p, 1, 10000));
		read_on(s, all);
		assert_true(all->n > before);
	}
	source_close(&s);
}

static void foreign_cursors_are_refused(const struct source_check *check, const struct log *all)
{
	struct source_cursor foreign;
	struct source *s = NULL;
	struct err err;
	memset(&foreign, 0xa5, sizeof foreign);
	assert_true(check->ops->open(&s, check->store, &foreign, &err) < 0);
	assert_null(s);
	for (size_t i = 0; check->other && i < all->n; i++) {
		assert_true(check->ops->open(&s, check->other, &all->seen[i].after, &err) < 0);
		assert_null(s);
	}
}

size_t source_check(const struct source_check *check)
{
	struct log all = {0};
	struct source *s = open_at(check, &beginning);
	read_on(s, &all);
	source_close(&s);
	cursors_resume(check, &all);
	foreign_cursors_are_refused(check, &all);
	if (check->grow) {
		following_works(check, &all);
		cursors_resume(check, &all);
	}
	deletes_appear_once(&all);
	size_t n = all.n;
	log_free(&all);
	return n;
}
