/* What is running, read from the counter files. A role's own file says whether it is alive, the
 * supervisor's file says its state, /proc says its cost. No process is asked, so a role that hangs
 * is shown too. */
#include "role/status.h"

#include "base/clock.h"
#include "base/file.h"

#include <stdio.h>
#include <unistd.h>

enum { VIEWS_MOST = 256 };

const char *const status_words[] = {
	[STATUS_STOPPED] = "stopped",   [STATUS_STARTING] = "starting",
	[STATUS_READY] = "ready",       [STATUS_BACKING_OFF] = "backing off",
	[STATUS_STOPPING] = "stopping", [STATUS_RUNNING] = "running",
	[STATUS_ENDED] = "ended",
};

/* Field n of /proc/PID/stat, counted from 1, after the name in parentheses. */
static uint64_t stat_field(struct str text, size_t n)
{
	struct str field = {0};
	text = str_from(text, str_after_last(text, ')') + 1);
	for (size_t i = 3; i <= n; i++)
		if (str_cut(&text, ' ', &field) != 0)
			return 0;
	uint64_t v = 0;
	return str_u64(field, &v) ? v : 0;
}

/* A process that has just ended has no figures, which is not an error. */
static void add_process(struct status_row *row)
{
	char path[64];
	struct buf text = BUF_INIT(4096);
	struct err err;
	row->cpu_us = row->rss = -1;
	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)row->pid);
	if (row->pid > 0 && file_slurp(path, &text, &err) == 0) {
		uint64_t ticks = stat_field(buf_str(&text), 14) + stat_field(buf_str(&text), 15);
		int64_t per_s = MAX(sysconf(_SC_CLK_TCK), 1);
		row->cpu_us = (int64_t)ticks * (US_PER_S / per_s);
		row->rss = (int64_t)stat_field(buf_str(&text), 24) * sysconf(_SC_PAGESIZE);
	}
	buf_free(&text);
}

static const struct counters_view *find_view(const struct status *s, struct str instance)
{
	for (size_t i = 0; i < s->nviews; i++)
		if (str_eq(s->view[i].instance, instance))
			return &s->view[i];
	return NULL;
}

static struct status_row *find_row(struct status *s, struct str name)
{
	for (size_t i = 0; i < s->nrows; i++)
		if (str_eq(s->row[i].name, name))
			return &s->row[i];
	s->row[s->nrows] = (struct status_row){.name = name, .view = find_view(s, name)};
	return &s->row[s->nrows++];
}

/* The name inside role="NAME"; nothing when that is not the label. */
static struct str role_of(struct str labels)
{
	struct str before = STR("role=\"");
	if (!str_starts(labels, before) || !str_ends(labels, STR("\"")) || labels.n <= before.n)
		return (struct str){0};
	labels = str_from(labels, before.n);
	return str_head(labels, labels.n - 1);
}

/* What the supervisor counts for each role. */
static void take_figure(struct status_row *row, struct str name, int64_t v)
{
	if (str_is(name, "role_state") && v >= STATUS_STOPPED && v <= STATUS_STOPPING)
		row->state = (enum status_state)v;
	else if (str_is(name, "role_pid"))
		row->pid = v;
	else if (str_is(name, "role_restarts"))
		row->restarts = v;
	else if (str_is(name, "role_since_seconds") && v > 0 && v < INT64_MAX / US_PER_S)
		row->since_wall_us = v * US_PER_S;
}

static void add_supervised(struct status *s, const struct counters_view *up)
{
	for (size_t i = 0; i < up->n; i++) {
		struct str role = role_of(up->value[i].labels);
		if (role.n)
			take_figure(find_row(s, role), up->value[i].name, up->value[i].value);
	}
}

/* A role that runs by hand, or whose supervisor is gone. */
static void add_alone(struct status *s, const struct counters_view *view)
{
	struct status_row *row = find_row(s, view->instance);
	if (status_is_live(row))
		return;
	row->state = view->alive ? STATUS_RUNNING : STATUS_ENDED;
	row->pid = view->alive ? view->pid : 0;
	row->since_wall_us = view->alive ? view->started_wall_us : 0;
}

static void make_rows(struct status *s)
{
	const struct counters_view *up = find_view(s, STR("up"));
	size_t most = s->nviews + (up ? up->n : 0);
	s->row = arena_array(&s->arena, MAX(most, (size_t)1), sizeof *s->row);
	if (up) {
		add_alone(s, up);
		if (up->alive)
			add_supervised(s, up);
	}
	for (size_t i = 0; i < s->nviews; i++)
		add_alone(s, &s->view[i]);
	int64_t now_us = clock_wall_us();
	for (struct status_row *r = s->row; r < s->row + s->nrows; r++) {
		add_process(r);
		s->running |= status_is_live(r);
		r->age_us = r->since_wall_us > 0 ? MAX(now_us - r->since_wall_us, 0) : -1;
		if (r->view) {
			r->counter = r->view->value;
			r->counters = r->view->n;
		}
	}
}

/* One damaged file hides nothing of the others. */
static int read_view(struct status *s, const char *folder, const char *name, struct err *err)
{
	char path[PATH_MAX];
	struct err damage;
	if (str_ends(str_of(name), STR(".new")))
		return 0;
	if (s->nviews == VIEWS_MOST)
		return err_set(err, ERR_SYSTEM, "%s: more than %d files", folder, VIEWS_MOST);
	if (file_below(folder, name, path, err) < 0)
		return -1;
	int rc = counters_read(path, &s->arena, &s->view[s->nviews], &damage);
	if (rc == 0)
		s->nviews++;
	else if (rc < 0 && !s->damaged[0])
		snprintf(s->damaged, sizeof s->damaged, "%.*s", (int)sizeof s->damaged - 1,
			 damage.msg);
	return 0;
}

static int read_views(struct status *s, const char *data, struct err *err)
{
	char path[PATH_MAX];
	const char *name;
	struct dir dir;
	if (file_below(data, "run/counters", path, err) < 0)
		return -1;
	int rc = dir_init(&dir, path, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	while (rc == 0 && dir_next(&dir, &name) == 0)
		rc = read_view(s, path, name, err);
	dir_done(&dir);
	return rc;
}

int status_read(struct status *ret, const char *data, struct err *err)
{
	struct status s = {.arena = ARENA_INIT((size_t)(VIEWS_MOST + 1) * COUNTERS_ARENA),
			   .data = data};
	s.view = arena_array(&s.arena, VIEWS_MOST, sizeof *s.view);
	if (read_views(&s, data, err) < 0) {
		arena_free(&s.arena);
		return -1;
	}
	make_rows(&s);
	*ret = s;
	return 0;
}

void status_free(struct status *s)
{
	arena_free(&s->arena);
}

static void print_metric(const void *row, struct buf *out)
{
	const struct counter_value *v = row;
	buf_add_str(out, v->name);
	if (v->labels.n)
		buf_printf(out, "{" STR_FMT "}", STR_ARG(v->labels));
}

static const struct column counter_columns[] = {
	COL("name", struct counter_value, name),
	COL("labels", struct counter_value, labels),
	COL_OF_ROW(NULL, struct counter_value, print_metric, .label = "Counter"),
	COL(NULL, struct counter_value, help, .label = "Meaning"),
	COL("value", struct counter_value, value, .label = "Value"),
};
const struct rows counter_rows = {ROWS(struct counter_value, counter_columns)};

#define S struct status_row
static const struct column role_columns[] = {
	COL("name", S, name, .label = "Role"),
	COL("state", S, state, .label = "State", .names = status_words, .nnames = STATUS_ENDED + 1),
	COL("pid", S, pid, .how = ROW_NULL, .label = "Pid"),
	COL("since", S, since_wall_us, .unit = UNIT_TIME, .how = ROW_NULL),
	COL(NULL, S, age_us, .how = ROW_SOME | ROW_NEG, .label = "Since", .unit = UNIT_US),
	COL("restarts", S, restarts, .label = "Restarts"),
	COL("cpu_us", S, cpu_us, .how = ROW_NULL | ROW_NEG, .label = "CPU", .unit = UNIT_US),
	COL("rss_bytes", S, rss, .how = ROW_NULL | ROW_NEG, .label = "RSS", .unit = UNIT_BYTES),
	COL_LIST("counters", S, counter, counters, counter_rows),
};
const struct rows role_rows = {ROWS(S, role_columns)};
#undef S

static const struct column status_columns[] = {
	COL("data", struct status, data),
	COL("running", struct status, running),
	COL_LIST("roles", struct status, row, nrows, role_rows),
};
const struct rows status_rows = {ROWS(struct status, status_columns)};

bool status_has_role(const struct status *s, const char *role)
{
	for (size_t i = 0; i < s->nrows; i++) {
		struct str name = s->row[i].name;
		if (str_is(str_head(name, str_find_byte(name, '@')), role) &&
		    status_is_live(&s->row[i]))
			return true;
	}
	return false;
}
