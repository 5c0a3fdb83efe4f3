/* A shell with an interface that writes everything down, and an archive that says what it is told.
 */
#pragma once
#include "../unit.h"
#include "archie/shell.h"

#include <stdio.h>

struct fake {
	struct shell *shell;
	struct buf printed;           /* by print(), notices and results as they came */
	struct buf results;           /* of these, results and help alone */
	struct buf log;               /* the other calls, a line each */
	const struct archie_row *row; /* that the archive has; ask() serves offset and maxhits */
	size_t rows;
	bool cut;
	const char *problem;
	enum archie_refusal refusal; /* if not ARCHIE_NOT_REFUSED */
	unsigned refused_from;       /* after so many requests that are answered */
	const char *words;           /* of the refusal, of mail() and of new_site() */
	bool enough;                 /* print() says so */
	struct archie_ask asked;     /* the last */
	unsigned asks;
	struct arena arena; /* of it */
};

static inline bool fake_print(void *ctx, struct str text, enum shell_text what)
{
	struct fake *f = ctx;
	buf_add_str(&f->printed, text);
	if (what != SHELL_NOTICE)
		buf_add_str(&f->results, text);
	return !f->enough;
}

static inline struct str *fake_list(struct fake *f, const struct str *list, size_t n)
{
	struct str *copy = arena_array(&f->arena, n, sizeof *copy);
	for (size_t i = 0; i < n; i++)
		copy[i] = arena_str(&f->arena, list[i]);
	return copy;
}

static inline int fake_ask(void *ctx, const struct archie_ask *ask, struct arena *arena,
			   struct archie_answer *ret, enum archie_refusal *ret_why, struct err *err)
{
	struct fake *f = ctx;
	struct names_query *q = &f->asked.query;
	f->asks++;
	f->asked = *ask;
	q->pattern = arena_str(&f->arena, ask->query.pattern);
	f->asked.from = arena_str(&f->arena, ask->from);
	q->site = fake_list(f, q->site, q->sites);
	q->domain = fake_list(f, q->domain, q->domains);
	q->component = fake_list(f, q->component, q->components);
	if (f->refusal && f->asks > f->refused_from) {
		*ret_why = f->refusal;
		return err_set(err, ERR_REMOTE, "%s", f->words);
	}
	size_t from = MIN(q->offset, f->rows);
	size_t n = MIN(f->rows - from, q->maxhits ? q->maxhits : ARCHIE_ROWS_MOST);
	*ret = (struct archie_answer){.row = arena_array(arena, n, sizeof *ret->row),
				      .n = n,
				      .total = f->rows,
				      .exact = true,
				      .cut = f->cut,
				      .problem = str_of(f->problem)};
	if (n)
		memcpy(ret->row, f->row + from, n * sizeof *ret->row);
	return 0;
}

static inline int fake_mail(void *ctx, const struct shell_mail *m, struct err *err)
{
	struct fake *f = ctx;
	buf_printf(&f->log,
		   "mail to=" STR_FMT " command=" STR_FMT "%s%s split=%llu\n" STR_FMT "--\n",
		   STR_ARG(m->to), STR_ARG(m->command), m->compress ? " compress" : "",
		   m->encode ? " encode" : "", (unsigned long long)m->max_split_size,
		   STR_ARG(m->text));
	return f->words ? err_set(err, ERR_REMOTE, "%s", f->words) : 0;
}

static inline int fake_new_site(void *ctx, struct str host, struct err *err)
{
	struct fake *f = ctx;
	buf_printf(&f->log, "new site " STR_FMT "\n", STR_ARG(host));
	return f->words ? err_set(err, ERR_REMOTE, "%s", f->words) : 0;
}

static inline void fake_terminal(void *ctx, const struct shell_terminal *t)
{
	struct fake *f = ctx;
	buf_printf(&f->log, "terminal " STR_FMT " %u %u%s\n", STR_ARG(t->type), t->rows, t->cols,
		   t->pager ? " pager" : "");
}

static inline void fake_erase(void *ctx, char c)
{
	struct fake *f = ctx;
	buf_printf(&f->log, "erase %d\n", c);
}

static const struct shell_ops fake_ops = {fake_print,    fake_ask,      fake_mail,
					  fake_new_site, fake_terminal, fake_erase};

static inline void fake_begin(struct fake *f, const struct shell_options *options)
{
	struct shell_options o = *options;
	*f = (struct fake){.printed = BUF_INIT(64 << 20),
			   .results = BUF_INIT(64 << 20),
			   .log = BUF_INIT(64 << 20),
			   .arena = ARENA_INIT(64 << 20)};
	o.ctx = f;
	if (!o.ops)
		o.ops = &fake_ops;
	f->shell = shell_new(&o);
}

static inline void fake_clear(struct fake *f)
{
	buf_clear(&f->printed);
	buf_clear(&f->results);
	buf_clear(&f->log);
}

static inline void fake_end(struct fake *f)
{
	shell_free(&f->shell);
	buf_free(&f->printed);
	buf_free(&f->results);
	buf_free(&f->log);
	arena_free(&f->arena);
}

/* A line that does not end the session, and everything that it prints. */
static inline const char *fake_line(struct fake *f, const char *line)
{
	fake_clear(f);
	assert_int_equal(0, shell_line(f->shell, str_of(line)));
	return buf_text(&f->printed);
}
