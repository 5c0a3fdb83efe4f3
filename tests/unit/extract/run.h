/* A document in, its attributes as lines: what the tests of extraction share. */
#pragma once
#include "base/buf.h"
#include "extract/extract.h"

#include "../unit.h"

enum { RUN_OUT = 16 << 20 };

struct run {
	struct extract *x;
	struct out out;
	struct extract_result result;
	void *memory;
	struct buf lines;
};

static inline int run_setup(void **state)
{
	struct run *r = mem_alloc(sizeof *r);
	r->x = extract_new();
	r->memory = mem_alloc(RUN_OUT);
	r->lines = BUF_INIT(64 << 20);
	*state = r;
	return 0;
}

static inline int run_teardown(void **state)
{
	struct run *r = *state;
	extract_free(&r->x);
	mem_free(&r->memory);
	buf_free(&r->lines);
	mem_free(state);
	return 0;
}

/* Attributes of the letters, as "X<value>|" one after the other. */
static inline const char *run_show(struct run *r, const char *letters)
{
	buf_clear(&r->lines);
	for (size_t i = 0; i < r->out.n; i++)
		if (strchr(letters, r->out.attr[i].name)) {
			buf_add_byte(&r->lines, r->out.attr[i].name);
			buf_add_str(&r->lines, r->out.attr[i].value);
			buf_add_byte(&r->lines, '|');
		}
	return buf_text(&r->lines);
}

static inline const char *run_job(struct run *r, const struct extract_job *job, const char *letters)
{
	out_begin(&r->out, r->memory, RUN_OUT, 0);
	extract_run(r->x, job, &r->out, &r->result);
	return run_show(r, letters);
}

static inline const char *run(struct run *r, const char *url, const char *type, struct str body,
			      const char *letters)
{
	return run_job(r,
		       &(struct extract_job){.url = str_of(url),
					     .content_type = str_of(type),
					     .body = body,
					     .charset = STR(""),
					     .robots = STR("")},
		       letters);
}
