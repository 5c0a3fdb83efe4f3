/* The frame of `garner index words query` and `garner index names query`: what they share is how
 * questions come in, how they are measured and what the command ends with. */
#include "cmd/index/index_ask.h"
#include "base/rows.h"

#include "cmd/system/input.h"

#include <inttypes.h>
#include <time.h>

static double thread_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int index_ask_text(struct index_ask *a, struct str text, struct err *err)
{
	uint64_t total = 0;
	for (int64_t i = 0; i < a->repeat; i++) {
		arena_clear(&a->arena);
		double from = thread_us();
		if (a->ops->ask(a, text, &total, err) < 0)
			return -1;
		double us = thread_us() - from;
		a->us = i == 0 ? us : MIN(a->us, us);
	}
	a->found += total;
	return 0;
}

void index_ask_json(struct index_ask *a, bool all)
{
	struct jsonw j = JSONW_INIT(&a->out);
	jsonw_object(&j);
	jsonw_put_real(&j, "us", a->us);
	a->ops->put(a, &j, all);
	jsonw_object_end(&j);
	buf_add_byte(&a->out, '\n');
}

void index_ask_total(struct buf *out, uint64_t total, bool exact, const char *what, bool cut)
{
	buf_printf(out, "%s%" PRIu64 "%s%s%s\n", exact ? "" : "at least ", total, what,
		   *what && total != 1 ? "s" : "", cut ? ", the time was up" : "");
}

/* A line of the batch; one that cannot be asked is an answer too, so that lines stay in step. */
static int batch_line(void *ctx, const char *name, uint64_t line, struct str text, struct err *err)
{
	struct index_ask *a = ctx;
	int rc = index_ask_text(a, text, err);
	if (rc < 0 && err->code != ERR_USAGE) {
		(void)err_in(err, "%s:%" PRIu64, name, line);
		return -1;
	}
	if (rc < 0) {
		a->failed++;
		rows_json_line(&rows_err, err, &a->out);
	} else {
		index_ask_json(a, false);
	}
	cmd_flush(a->call, &a->out);
	return fflush(a->call->out) != 0 || ferror(a->call->out);
}

static int ask_all(struct index_ask *a, struct err *err)
{
	if (a->batch && a->call->argc > 1)
		return err_set(err, ERR_USAGE, "--batch takes its %s from standard input",
			       a->ops->many);
	if (!a->batch && a->call->argc == 1)
		return err_set(err, ERR_USAGE,
			       "no %s is given; --batch reads them from standard input",
			       a->ops->one);
	if (a->ops->open(a, err) < 0)
		return -1;
	if (!a->batch) {
		int rc = a->ops->single(a, err);
		cmd_flush(a->call, &a->out);
		return rc;
	}
	struct cmd_lines lines = {.take = batch_line,
				  .ctx = a,
				  .most = a->ops->most,
				  .cut = true,
				  .begun = BUF_INIT(a->ops->most + 1)};
	int rc = cmd_read(a->call, 1, cmd_split, &lines, err);
	buf_free(&lines.begun);
	return MIN(rc, 0);
}

int index_ask_run(struct index_ask *a, struct err *err)
{
	a->arena = ARENA_INIT(SIZE_MAX);
	a->out = BUF_INIT(SIZE_MAX / 2);
	int rc = ask_all(a, err);
	arena_free(&a->arena);
	buf_free(&a->out);
	return rc < 0 ? -1 : a->failed ? ERR_PARTLY : a->found || a->batch ? 0 : ERR_NOTHING;
}
