/* archie-ask DATA [KEY=VALUE...]: an interface of the archive as small as they come, for scenes and
 * benchmarks. Asks the queuer of a data directory, by archie_call() or (way=link) by archie_link,
 * and prints a JSON object for each answer.
 *
 *   way=call|link  what=find|whatis|sites|site|folder|load  type=sub  syntax=ed  pattern=TEXT
 *   site=  domain=  in=  hits=  offset=  sort=N  nice=  verbose=1  from=ADDRESS
 *   times=N   so often; by a link at_once=N at a time (all of them), otherwise one after the other
 *   pause_ms=N   after each answer   stop_ms=N   cancels after so long
 *   quiet=1   rows are not printed
 *
 * The load is asked for by a link. */
#include "archie/archie.h"
#include "base/clock.h"
#include "base/jsonw.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const whats[] = {"find", "whatis", "sites", "site", "folder", "load"};
enum { WHAT_LOAD = ARCHIE_WHATS };

struct asking {
	const char *data;
	struct archie_ask ask;
	struct str site, domain, component;
	unsigned what;
	uint64_t times;
	int64_t stop_us, end_us;
	int64_t pause_us;
	bool link, quiet, failed;
	uint64_t at_once, asked, left;
	struct loop *loop;
	struct archie_link *l;
	uint64_t *ids;
	struct loop_timer timer;
};

static uint64_t number_of(struct str value)
{
	uint64_t v;
	if (!str_u64(value, &v))
		die("'%.*s' is not a number", STR_ARG(value));
	return v;
}

static unsigned word_of(struct str value, const char *const *word, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (str_is(value, word[i]))
			return i;
	die("'%.*s' is not known", STR_ARG(value));
}

static void take_option(struct asking *a, struct str key, struct str value)
{
	struct names_query *q = &a->ask.query;
	if (str_is(key, "way"))
		a->link = str_is(value, "link");
	else if (str_is(key, "what"))
		a->what = word_of(value, whats, ARRAY_LEN(whats));
	else if (str_is(key, "type"))
		q->type = (enum names_type)word_of(value, names_type_words, NAMES_WHATIS);
	else if (str_is(key, "syntax"))
		q->syntax = str_is(value, "ed") ? NAMES_ED : NAMES_EXTENDED;
	else if (str_is(key, "pattern"))
		q->pattern = value;
	else if (str_is(key, "site"))
		a->site = value, q->site = &a->site, q->sites = 1;
	else if (str_is(key, "domain"))
		a->domain = value, q->domain = &a->domain, q->domains = 1;
	else if (str_is(key, "in"))
		a->component = value, q->component = &a->component, q->components = 1;
	else if (str_is(key, "hits"))
		q->maxhits = number_of(value);
	else if (str_is(key, "offset"))
		q->offset = number_of(value);
	else if (str_is(key, "sort"))
		q->sort = (enum names_sort)number_of(value);
	else if (str_is(key, "nice"))
		a->ask.niceness = (int)number_of(value);
	else if (str_is(key, "verbose"))
		a->ask.verbose = number_of(value);
	else if (str_is(key, "from"))
		a->ask.from = value;
	else if (str_is(key, "times"))
		a->times = number_of(value);
	else if (str_is(key, "at_once"))
		a->at_once = number_of(value);
	else if (str_is(key, "pause_ms"))
		a->pause_us = (int64_t)number_of(value) * US_PER_MS;
	else if (str_is(key, "stop_ms"))
		a->stop_us = (int64_t)number_of(value) * US_PER_MS;
	else if (str_is(key, "quiet"))
		a->quiet = number_of(value);
	else
		die("'%.*s' is not an option", STR_ARG(key));
}

static void put_file(struct jsonw *j, const struct names_entry *e)
{
	jsonw_put_str(j, "name", e->name);
	jsonw_put_str(j, "dir", e->dir);
	jsonw_put_text(j, "kind", names_kind_name(e->kind));
	if (e->mode[0])
		jsonw_put_str(j, "mode", (struct str){e->mode, sizeof e->mode});
	jsonw_put_int(j, "links", e->links);
	jsonw_put_str(j, "owner", e->owner);
	jsonw_put_str(j, "group", e->group);
	jsonw_put_int(j, "size", e->size);
	jsonw_put_int(j, "time", e->time_s);
}

static void put_row(struct jsonw *j, const struct archie_row *r)
{
	jsonw_object(j);
	jsonw_put_str(j, "host", r->host);
	jsonw_put_str(j, "address", r->address);
	jsonw_put_str(j, "key", r->key);
	jsonw_put_int(j, "listed", r->listed_s);
	jsonw_put_int(j, "entries", r->entries);
	put_file(j, &r->file);
	jsonw_put_uint(j, "mirrors", r->mirrors);
	jsonw_put_str(j, "url", r->url);
	jsonw_put_str(j, "text", r->text);
	jsonw_object_end(j);
}

static void print_line(struct buf *out)
{
	puts(buf_text(out));
	fflush(stdout);
	buf_free(out);
}

static void print_answer(struct asking *a, const struct archie_answer *answer,
			 enum archie_refusal why, const char *text)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct jsonw j = JSONW_INIT(&out);
	jsonw_object(&j);
	jsonw_put_text(&j, "why", archie_refusal_words[why]);
	if (why) {
		a->failed = true;
		jsonw_put_text(&j, "text", text);
	} else {
		jsonw_put_uint(&j, "n", answer->n);
		jsonw_put_uint(&j, "total", answer->total);
		jsonw_put_bool(&j, "exact", answer->exact);
		jsonw_put_bool(&j, "cut", answer->cut);
		jsonw_put_str(&j, "problem", answer->problem);
		jsonw_put_int(&j, "wait_us", answer->wait_us);
		jsonw_put_int(&j, "search_us", answer->search_us);
		jsonw_put_array(&j, "rows");
		for (size_t i = 0; i < answer->n && !a->quiet; i++)
			put_row(&j, &answer->row[i]);
		jsonw_array_end(&j);
	}
	jsonw_object_end(&j);
	print_line(&out);
	if (a->pause_us)
		usleep((useconds_t)a->pause_us);
}

static void print_load(struct asking *a, const struct archie_load *load)
{
	struct buf out = BUF_INIT(4096);
	if (!load) {
		a->failed = true;
		puts("{\"why\":\"away\"}");
		return;
	}
	buf_printf(&out, "{\"why\":\"\",\"queue\":%llu,\"wait_us\":%lld,\"per_s\":%.3f}",
		   (unsigned long long)load->queue, (long long)load->wait_us, load->per_s);
	print_line(&out);
}

static void on_queued(void *ctx, uint64_t position, int64_t seconds)
{
	(void)ctx;
	printf("{\"position\":%llu,\"seconds\":%lld}\n", (unsigned long long)position,
	       (long long)seconds);
	fflush(stdout);
}

/* The way that waits */

static bool on_stop(void *ctx)
{
	const struct asking *a = ctx;
	return a->stop_us && clock_mono_us() >= a->end_us;
}

static void call_all(struct asking *a)
{
	struct archie *archie = archie_new(a->data);
	for (uint64_t i = 0; i < a->times; i++) {
		struct arena arena = ARENA_INIT(SIZE_MAX);
		struct archie_wait wait = {.queued = on_queued,
					   .stop = on_stop,
					   .every_us = 20 * US_PER_MS,
					   .fd = -1,
					   .ctx = a};
		struct archie_answer answer;
		enum archie_refusal why;
		struct err err;
		a->end_us = clock_mono_us() + a->stop_us;
		(void)archie_call(archie, &a->ask, &wait, &arena, &answer, &why, &err);
		print_answer(a, &answer, why, err.msg);
		arena_free(&arena);
	}
	archie_free(&archie);
}

/* The way that does not */

static void link_ask(struct asking *a);

static void link_end(struct asking *a)
{
	if (--a->left == 0)
		loop_stop(a->loop);
	else if (a->asked < a->times)
		link_ask(a);
}

static void on_answered(void *ctx, const struct archie_answer *answer, enum archie_refusal why,
			const char *text)
{
	print_answer(ctx, answer, why, text);
	link_end(ctx);
}

static void on_load(void *ctx, const struct archie_load *load)
{
	print_load(ctx, load);
	link_end(ctx);
}

static void link_ask(struct asking *a)
{
	static const struct archie_link_ops ops = {.queued = on_queued, .answered = on_answered};
	if (a->what == WHAT_LOAD)
		archie_link_load(a->l, on_load, a);
	else
		a->ids[a->asked] = archie_link_ask(a->l, &a->ask, &ops, a);
	a->asked++;
}

static void on_time(void *ctx)
{
	struct asking *a = ctx;
	for (uint64_t i = 0; i < a->asked; i++)
		archie_link_cancel(a->l, a->ids[i]);
	puts("{\"why\":\"cancelled\"}");
	loop_stop(a->loop);
}

static void link_all(struct asking *a)
{
	struct err err;
	if (loop_new(&a->loop, NULL, &err) < 0)
		die("%s", err.msg);
	struct conn_pool *pool = conn_pool_new(a->loop, UINT64_MAX);
	a->l = archie_link_new(pool, a->data);
	a->left = a->times;
	a->ids = mem_array(a->times, sizeof *a->ids);
	while (a->asked < a->times && a->asked < a->at_once)
		link_ask(a);
	a->timer = (struct loop_timer){.fn = on_time, .ctx = a};
	if (a->stop_us)
		loop_timer_in(a->loop, &a->timer, a->stop_us);
	if (loop_run(a->loop, &err) < 0)
		die("%s", err.msg);
	loop_timer_stop(&a->timer);
	archie_link_free(&a->l);
	conn_pool_free(&pool);
	loop_poll(a->loop);
	loop_free(&a->loop);
	mem_free(&a->ids);
}

int main(int argc, char **argv)
{
	struct asking a = {.data = argc > 1 ? argv[1] : "", .times = 1, .at_once = UINT64_MAX};
	for (int i = 2; i < argc; i++) {
		struct str rest = str_of(argv[i]), key;
		if (str_cut(&rest, '=', &key) != 0 || !rest.p)
			die("expected KEY=VALUE, got '%s'", argv[i]);
		take_option(&a, key, rest);
	}
	a.ask.what = (enum archie_what)MIN(a.what, ARCHIE_WHATS - 1u);
	if (a.link || a.what == WHAT_LOAD)
		link_all(&a);
	else
		call_all(&a);
	return a.failed;
}
