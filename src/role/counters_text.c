#include "base/arena.h"
#include "base/clock.h"
#include "disk/format.h"
#include "role/counters.h"
#include "role/counters_file.h"

#include <stdlib.h>

struct sample {
	struct str family, instance, labels, help, value;
	enum counter_kind kind;
};

static struct str role_of(const struct counters_view *v)
{
	return str_head(v->instance, str_find_byte(v->instance, '@'));
}

static struct str family_name(struct arena *a, struct str role, struct str name)
{
	char *text = arena_printf(a, "garner_" STR_FMT "_" STR_FMT, STR_ARG(role), STR_ARG(name));
	for (char *p = text; *p; p++)
		if (*p == '-' || *p == '.' || *p == ':')
			*p = '_';
	return str_of(text);
}

/* What every role has, beside its own counters. */
static size_t role_samples(struct arena *a, const struct counters_view *v, struct sample *ret)
{
	struct str labels = str_of(arena_printf(a, "role=\"" STR_FMT "\"", STR_ARG(role_of(v))));
	ret[0] = (struct sample){
		.family = STR("garner_role_up"),
		.help = STR("Whether the process that writes the counters is running."),
		.value = v->alive ? STR("1") : STR("0"),
	};
	ret[1] = (struct sample){
		.family = STR("garner_role_start_time_seconds"),
		.help = STR("When it started, in seconds since 1970."),
		.value = str_of(arena_printf(a, "%lld.%06lld",
					     (long long)(v->started_wall_us / US_PER_S),
					     (long long)(v->started_wall_us % US_PER_S))),
	};
	for (size_t i = 0; i < 2; i++) {
		ret[i].kind = COUNTER_GAUGE;
		ret[i].instance = v->instance;
		ret[i].labels = labels;
	}
	return 2;
}

static size_t own_samples(struct arena *a, const struct counters_view *v, struct sample *ret)
{
	for (size_t i = 0; i < v->n; i++) {
		const struct counter_value *c = &v->value[i];
		ret[i] = (struct sample){
			.family = family_name(a, role_of(v), c->name),
			.instance = v->instance,
			.labels = c->labels,
			.help = c->help,
			.value = str_of(arena_printf(a, "%lld", (long long)c->value)),
			.kind = c->kind,
		};
	}
	return v->n;
}

static int sample_order(const void *pa, const void *pb)
{
	const struct sample *a = pa, *b = pb;
	int d = str_cmp(a->family, b->family);
	if (d == 0)
		d = (int)b->kind - (int)a->kind;
	if (d == 0)
		d = str_cmp(a->instance, b->instance);
	return d ? d : str_cmp(a->labels, b->labels);
}

static const char *suffix(const struct sample *s)
{
	return s->kind == COUNTER_TOTAL ? "_total" : "";
}

static void family_print(const struct sample *s, bool openmetrics, struct buf *out)
{
	const char *end = openmetrics ? "" : suffix(s);
	buf_printf(out, "# TYPE " STR_FMT "%s %s\n", STR_ARG(s->family), end,
		   s->kind == COUNTER_TOTAL ? "counter" : "gauge");
	buf_printf(out, "# HELP " STR_FMT "%s " STR_FMT "\n", STR_ARG(s->family), end,
		   STR_ARG(s->help));
}

static void sample_print(const struct sample *s, struct buf *out)
{
	buf_printf(out, STR_FMT "%s{instance=\"" STR_FMT "\"%s" STR_FMT "} " STR_FMT "\n",
		   STR_ARG(s->family), suffix(s), STR_ARG(s->instance), s->labels.n ? "," : "",
		   STR_ARG(s->labels), STR_ARG(s->value));
}

static void print_views(const struct counters_view *views, size_t n, bool openmetrics,
			struct buf *out)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX / 2);
	size_t most = 0, count = 0;
	for (size_t i = 0; i < n; i++)
		most += views[i].n + 2;
	struct sample *samples = arena_array(&arena, most, sizeof *samples);
	for (size_t i = 0; i < n; i++) {
		count += role_samples(&arena, &views[i], samples + count);
		count += own_samples(&arena, &views[i], samples + count);
	}
	if (count)
		qsort(samples, count, sizeof *samples, sample_order);
	const struct sample *first = NULL; /* of the family */
	for (size_t i = 0; i < count; i++) {
		const struct sample *s = &samples[i];
		if (!first || !str_eq(first->family, s->family)) {
			first = s;
			family_print(s, openmetrics, out);
		} else if (s->kind != first->kind || sample_order(s - 1, s) == 0) {
			continue;
		}
		sample_print(s, out);
	}
}

void counters_openmetrics(const struct counters_view *views, size_t n, struct buf *out)
{
	print_views(views, n, true, out);
	buf_add_text(out, "# EOF\n");
}

void counters_prometheus(const struct counters_view *views, size_t n, struct buf *out)
{
	print_views(views, n, false, out);
}

static void view_print(const struct counters_view *v, struct buf *out)
{
	buf_printf(out, "counters of " STR_FMT ", pid %lld, %s, started ", STR_ARG(v->instance),
		   (long long)v->pid, v->alive ? "running" : "ended");
	time_print(out, v->started_wall_us, 3);
	buf_add_byte(out, '\n');
	for (size_t i = 0; i < v->n; i++) {
		const struct counter_value *c = &v->value[i];
		size_t wide = c->name.n + (c->labels.n ? c->labels.n + 2 : 0);
		buf_printf(out, "  " STR_FMT "%s" STR_FMT "%s%*s %12lld  " STR_FMT "%s\n",
			   STR_ARG(c->name), c->labels.n ? "{" : "", STR_ARG(c->labels),
			   c->labels.n ? "}" : "", wide < 32 ? 32 - (int)wide : 0, "",
			   (long long)c->value, STR_ARG(c->help),
			   c->kind == COUNTER_GAUGE ? " (goes up and down)" : "");
	}
}

static int view_of_file(const char *path, struct arena *arena, struct counters_view *ret,
			struct err *err)
{
	int rc = counters_read(path, arena, ret, err);
	return rc > 0 ? err_set(err, ERR_USAGE, "%s: there is no such file", path) : rc;
}

static int print(const char *path, void (*emit)(void *ctx, struct str), void *ctx, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)2 * COUNTERS_FILE_MAX);
	struct counters_view v;
	if (view_of_file(path, &arena, &v, err) < 0)
		return -1;
	view_print(&v, &out);
	emit(ctx, buf_str(&out));
	return 0;
}

static int verify(const char *path, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view v;
	return view_of_file(path, &arena, &v, err);
}

const struct format counters_format = {
	.name = "counters",
	.magic = "GARNERCN",
	.version = COUNTERS_VERSION,
	.help = "what a process of a role has done, in numbers",
	.print = print,
	.verify = verify,
};
