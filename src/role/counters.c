/* Counters: the file that a role writes by mapping it, and what readers make of it.
 *
 * Every definition is checked by the same rules before it is written and when it is read, so any
 * accepted file gives well-formed metrics. Counting is one atomic addition in memory. The file
 * carries a lock that shows whether its writer is alive. */
#include "role/counters.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/map_guard.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are mapped as the file has them");

struct counters {
	struct file file; /* carries the lock */
	void *map;
	struct map_guard *guard; /* a file that is cut by others must not end its role */
	size_t size;
	uint64_t *value;
	size_t n;
};

#define STARTED_MAX_US INT64_C(253402300799999999) /* the end of the year 9999 */

static bool is_word_byte(char c)
{
	return ascii_is_alnum(c) || c == '_';
}

static bool is_words(struct str s, const char *others)
{
	for (size_t i = 0; i < s.n; i++)
		if (!is_word_byte(s.p[i]) && (s.p[i] == 0 || !strchr(others, s.p[i])))
			return false;
	return s.n > 0;
}

static bool is_printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return true;
}

/* OpenMetrics puts these after the name of a family: as names of their own they would clash. */
static bool is_reserved(struct str name)
{
	return str_is(name, "total") || str_ends(name, STR("_total")) || str_is(name, "created") ||
	       str_ends(name, STR("_created"));
}

/* Cuts one name="value" off; the value's escapes are checked, not undone. */
static bool label_cut(struct str *rest, struct str *ret_name)
{
	size_t eq = str_find_byte(*rest, '=');
	struct str name = str_head(*rest, eq), value = str_from(*rest, eq + 1);
	if (!is_words(name, "") || ascii_is_digit(name.p[0]) || name.p[0] == '_' || value.n < 2 ||
	    value.p[0] != '"')
		return false;
	size_t i = 1;
	for (; i < value.n && value.p[i] != '"'; i++)
		if (value.p[i] == '\\' && (++i == value.n || !strchr("\\\"n", value.p[i])))
			return false;
	if (i >= value.n)
		return false;
	*rest = str_from(value, i + 1);
	*ret_name = name;
	return true;
}

/* Names ascend, so that equal sets of labels are equal bytes. */
static const char *labels_fault(struct str labels)
{
	struct str before = {0}, name;
	if (!is_printable(labels))
		return "labels are not printable ASCII";
	while (labels.n) {
		if (before.n) {
			if (labels.p[0] != ',')
				return "labels are not separated by commas";
			labels = str_from(labels, 1);
		}
		if (!label_cut(&labels, &name))
			return "labels are not name=\"value\"";
		if (str_is(name, "instance"))
			return "the label instance is set by itself";
		if (before.n && str_cmp(before, name) >= 0)
			return "label names do not ascend";
		before = name;
	}
	return NULL;
}

static const char *value_fault(const struct counter_value *v)
{
	if (v->kind != COUNTER_TOTAL && v->kind != COUNTER_GAUGE)
		return "is of no known kind";
	if (!is_words(v->name, "") || v->name.n > COUNTERS_NAME_MAX)
		return "the name is not 1 to 64 letters, digits and underscores";
	if (is_reserved(v->name))
		return "a name may not end in total or created";
	if (v->labels.n > COUNTERS_LABELS_MAX)
		return "labels take more than 256 bytes";
	if (v->help.n == 0 || v->help.n > COUNTERS_HELP_MAX || !is_printable(v->help) ||
	    str_find_byte(v->help, '"') < v->help.n || str_find_byte(v->help, '\\') < v->help.n)
		return "the help is not 1 to 256 ASCII characters without quotes and backslashes";
	return labels_fault(v->labels);
}

static const char *pair_fault(const struct counter_value *a, const struct counter_value *b)
{
	if (!str_eq(a->name, b->name))
		return NULL;
	if (a->kind != b->kind)
		return "has the name of another kind of counter";
	return str_eq(a->labels, b->labels) ? "is there twice" : NULL;
}

static int counters_check(const struct counters_view *v, struct err *err)
{
	if (!is_words(v->instance, "-.:@") || v->instance.n > COUNTERS_INSTANCE_MAX ||
	    v->instance.p[0] == '@')
		return err_set(err, ERR_USAGE,
			       "the instance is not 1 to 64 letters, digits and _-.:@");
	if (v->pid < 0 || v->pid > INT32_MAX)
		return err_set(err, ERR_USAGE, "%lld is not a pid", (long long)v->pid);
	if (v->started_wall_us < 0 || v->started_wall_us > STARTED_MAX_US)
		return err_set(err, ERR_USAGE, "start time %lld us is out of range",
			       (long long)v->started_wall_us);
	for (size_t i = 0; i < v->n; i++) {
		const char *fault = value_fault(&v->value[i]);
		for (size_t j = 0; j < i && !fault; j++)
			fault = pair_fault(&v->value[j], &v->value[i]);
		if (fault)
			return err_set(err, ERR_USAGE, "counter %zu (" STR_FMT "): %s", i,
				       STR_ARG(is_words(v->value[i].name, "") ? v->value[i].name
									      : STR("?")),
				       fault);
	}
	return 0;
}

static void head_write(const struct counters_view *v, struct buf *out)
{
	buf_add_text(out, counters_format.magic);
	put_u32le(out, COUNTERS_VERSION);
	put_u32le(out, (uint32_t)v->n);
	put_u64le(out, (uint64_t)v->pid);
	put_u64le(out, (uint64_t)v->started_wall_us);
	put_text(out, v->instance);
	for (size_t i = 0; i < v->n; i++) {
		put_u8(out, (uint8_t)v->value[i].kind);
		put_text(out, v->value[i].name);
		put_text(out, v->value[i].labels);
		put_text(out, v->value[i].help);
	}
	put_u32le(out, crc32c(0, out->p, out->n));
	ENSURE(!out->over);
}

static int head_make(const char *instance, const struct counter_def *defs, size_t n,
		     int64_t wall_us, struct buf *out, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_FILE_MAX);
	if (n > COUNTERS_MAX)
		return err_set(err, ERR_USAGE, "%zu counters, at most %d fit", n, COUNTERS_MAX);
	struct counters_view v = {
		.instance = str_of(instance),
		.pid = getpid(),
		.started_wall_us = wall_us,
		.value = arena_array(&arena, n, sizeof *v.value),
		.n = n,
	};
	for (size_t i = 0; i < n; i++)
		v.value[i] = (struct counter_value){
			.name = str_of(defs[i].name),
			.labels = str_of(defs[i].labels),
			.help = str_of(defs[i].help),
			.kind = defs[i].kind,
		};
	if (counters_check(&v, err) < 0)
		return -1;
	head_write(&v, out);
	return 0;
}

/* The maker of a counters file locks its folder meanwhile, which takes milliseconds. So no other
 * maker comes between the look at the old file and the rename of the new one, and the lock that
 * lasts can be on the file itself, where readers look for it. */
static int folder_hold(struct file *ret, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	struct str name = slash ? str_range(path, slash) : STR(".");
	CLEANUP(buf_free) struct buf folder = BUF_INIT(name.n + 1);
	buf_add_str(&folder, name.n ? name : STR("/"));
	int rc = file_open(ret, buf_text(&folder), O_RDONLY | O_DIRECTORY, 0, err);
	if (rc > 0)
		return err_set(err, ERR_SYSTEM, "%s: there is no such folder", buf_text(&folder));
	if (rc == 0 && flock(ret->fd, LOCK_EX) < 0)
		return err_sys(err, "%s: cannot be locked", buf_text(&folder));
	return rc;
}

static bool counters_held(const struct file *f)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(f->fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
}

static int refuse_held(const char *path, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	CLEANUP(file_drop) struct file file = FILE_INIT;
	struct counters_view old;
	struct err unread;
	int rc = file_open(&file, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	if (!counters_held(&file))
		return 0;
	if (counters_read(path, &arena, &old, &unread) != 0)
		return err_set(err, ERR_BUSY, "%s: held by another process; stop that one first",
			       path);
	return err_set(err, ERR_BUSY, "%s: held by pid %lld (" STR_FMT "); stop that one first",
		       path, (long long)old.pid, STR_ARG(old.instance));
}

/* The file under a name of its own, complete, locked and mapped. What a killed maker left there is
 * removed, not written into: it may be a link to something else. */
static int file_make(struct counters *c, const char *fresh, const struct buf *head, struct err *err)
{
	size_t at = counters_values_at(head->n);
	c->size = at + c->n * sizeof *c->value;
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	if (file_remove(fresh, err) < 0 ||
	    file_open(&c->file, fresh, O_RDWR | O_CREAT | O_EXCL, 0644, err) < 0)
		return -1;
	if (fcntl(c->file.fd, F_OFD_SETLK, &whole) < 0)
		return err_sys(err, "%s: cannot be locked", fresh);
	if (file_allocate(&c->file, c->size, err) < 0 ||
	    file_write(&c->file, head->p, head->n, 0, err) < 0 || file_sync(&c->file, err) < 0)
		return -1;
	void *map = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED, c->file.fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, "%s: cannot be mapped", fresh);
	c->map = map;
	c->guard = map_guard_new(map, c->size);
	c->value = (uint64_t *)((char *)map + at);
	return 0;
}

int counters_create(struct counters **ret, const char *path, const char *instance,
		    const struct counter_def *defs, size_t n, int64_t wall_us, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(COUNTERS_FILE_MAX);
	CLEANUP(buf_free) struct buf fresh = BUF_INIT(strlen(path) + 8);
	CLEANUP(file_drop) struct file folder = FILE_INIT;
	if (head_make(instance, defs, n, wall_us, &head, err) < 0)
		return err_in(err, "%s", path);
	if (folder_hold(&folder, path, err) < 0 || refuse_held(path, err) < 0)
		return -1;
	struct counters *c = mem_alloc(sizeof *c);
	c->file = FILE_INIT;
	c->n = n;
	buf_printf(&fresh, "%s.new", path);
	int rc = file_make(c, buf_text(&fresh), &head, err);
	FAULT("counters.rename");
	if (rc == 0)
		rc = file_rename(buf_text(&fresh), path, err);
	if (rc < 0) {
		struct err second;
		(void)file_remove(buf_text(&fresh), &second);
		counters_close(&c);
		return rc;
	}
	*ret = c;
	return 0;
}

void counters_close(struct counters **c)
{
	if (!*c)
		return;
	map_guard_free(&(*c)->guard);
	if ((*c)->map)
		munmap((*c)->map, (*c)->size);
	file_drop(&(*c)->file);
	mem_free(c);
}

void counters_add(struct counters *c, size_t index, uint64_t n)
{
	if (!c)
		return;
	ENSURE(index < c->n);
	__atomic_fetch_add(&c->value[index], n, __ATOMIC_RELAXED);
}

void counters_set(struct counters *c, size_t index, int64_t v)
{
	if (!c)
		return;
	ENSURE(index < c->n);
	__atomic_store_n(&c->value[index], (uint64_t)v, __ATOMIC_RELAXED);
}

static int head_damaged(struct err *err, const struct reader *r, const char *what)
{
	return err_set(err, ERR_DAMAGED, "byte %zu: %s", reader_at(r), what);
}

/* Up to the first definition. */
static int start_parse(struct reader *r, struct counters_view *v, struct err *err)
{
	struct str magic = reader_bytes(r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(r);
	v->n = reader_u32le(r);
	v->pid = (int64_t)reader_u64le(r);
	v->started_wall_us = (int64_t)reader_u64le(r);
	if (!str_is(magic, counters_format.magic))
		return err_set(err, ERR_DAMAGED, "not a counters file");
	if (r->bad)
		return head_damaged(err, r, "the file ends inside its head");
	if (version != COUNTERS_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "counters in version %u; this program knows version %d", version,
			       COUNTERS_VERSION);
	if (v->n > COUNTERS_MAX)
		return err_set(err, ERR_DAMAGED, "%zu counters; at most %d are allowed", v->n,
			       COUNTERS_MAX);
	v->instance = reader_text(r, COUNTERS_INSTANCE_MAX);
	return 0;
}

static int head_parse(struct reader *r, struct arena *arena, struct counters_view *v,
		      struct err *err)
{
	if (start_parse(r, v, err) < 0)
		return -1;
	v->value = arena_array(arena, v->n, sizeof *v->value);
	for (size_t i = 0; i < v->n && !r->bad; i++) {
		struct counter_value *c = &v->value[i];
		c->kind = (enum counter_kind)reader_u8(r);
		c->name = reader_text(r, COUNTERS_NAME_MAX);
		c->labels = reader_text(r, COUNTERS_LABELS_MAX);
		c->help = reader_text(r, COUNTERS_HELP_MAX);
	}
	uint32_t crc = crc32c(0, r->start, reader_at(r));
	if (reader_u32le(r) != crc && !r->bad)
		return head_damaged(err, r, "the checksum of the head is wrong");
	return r->bad ? head_damaged(err, r, "a text of the head is too long or past the end") : 0;
}

static int values_parse(struct reader *r, struct counters_view *v, struct err *err)
{
	size_t gap = counters_values_at(reader_at(r)) - reader_at(r);
	if (reader_left(r) != gap + v->n * 8)
		return err_set(err, ERR_DAMAGED, "%zu bytes after the head, there should be %zu",
			       reader_left(r), gap + v->n * 8);
	for (size_t i = 0; i < gap; i++)
		if (reader_u8(r) != 0)
			return head_damaged(err, r, "something stands between head and values");
	for (size_t i = 0; i < v->n; i++) {
		v->value[i].value = (int64_t)reader_u64le(r);
		if (v->value[i].kind == COUNTER_TOTAL && v->value[i].value < 0)
			return head_damaged(err, r, "a total is out of range");
	}
	return 0;
}

int counters_parse(struct str bytes, struct arena *arena, struct counters_view *ret,
		   struct err *err)
{
	struct counters_view v = {0};
	if (bytes.n > COUNTERS_FILE_MAX)
		return err_set(err, ERR_DAMAGED, "%zu bytes, a counters file has at most %d",
			       bytes.n, COUNTERS_FILE_MAX);
	struct reader r = reader_of(arena_str(arena, bytes));
	if (head_parse(&r, arena, &v, err) < 0 || values_parse(&r, &v, err) < 0)
		return -1;
	if (counters_check(&v, err) < 0) {
		err->code = ERR_DAMAGED;
		return -1;
	}
	*ret = v;
	return 0;
}

int counters_read(const char *path, struct arena *arena, struct counters_view *ret, struct err *err)
{
	CLEANUP(file_drop) struct file file = FILE_INIT;
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(COUNTERS_FILE_MAX + 1);
	int rc = file_open(&file, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc != 0)
		return rc;
	uint64_t size;
	if (file_size(&file, &size, err) < 0)
		return -1;
	size_t n, want = (size_t)MIN(size, (uint64_t)bytes.max);
	char *room = buf_room(&bytes, want);
	if (file_read(&file, room, want, 0, &n, err) < 0)
		return -1;
	buf_grew(&bytes, n);
	if (counters_parse(buf_str(&bytes), arena, ret, err) < 0)
		return err_in(err, "%s", path);
	ret->alive = counters_held(&file);
	return 0;
}

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

/* What every role has, in addition to its own counters. */
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

static const char *sample_suffix(const struct sample *s)
{
	return s->kind == COUNTER_TOTAL ? "_total" : "";
}

static void family_print(const struct sample *s, bool openmetrics, struct buf *out)
{
	const char *end = openmetrics ? "" : sample_suffix(s);
	buf_printf(out, "# TYPE " STR_FMT "%s %s\n", STR_ARG(s->family), end,
		   s->kind == COUNTER_TOTAL ? "counter" : "gauge");
	buf_printf(out, "# HELP " STR_FMT "%s " STR_FMT "\n", STR_ARG(s->family), end,
		   STR_ARG(s->help));
}

static void sample_print(const struct sample *s, struct buf *out)
{
	buf_printf(out, STR_FMT "%s{instance=\"" STR_FMT "\"%s" STR_FMT "} " STR_FMT "\n",
		   STR_ARG(s->family), sample_suffix(s), STR_ARG(s->instance),
		   s->labels.n ? "," : "", STR_ARG(s->labels), STR_ARG(s->value));
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

static int counters_print(const char *path, struct printer *p, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view v;
	int rc = counters_read(path, &arena, &v, err);
	if (rc == 0)
		view_print(&v, &p->out);
	return rc;
}

const struct format counters_format = {
	.name = "counters",
	.file = "counters/*",
	.magic = "GARNERCN",
	.version = COUNTERS_VERSION,
	.help = "what a process of a role has done, in numbers",
	.remedy = "the next start makes it anew",
	.print = counters_print,
};
