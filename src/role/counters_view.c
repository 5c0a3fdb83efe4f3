#include "base/arena.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/hash.h"
#include "disk/format.h"
#include "role/counters.h"
#include "role/counters_file.h"

#include <fcntl.h>

#define STARTED_MAX_US INT64_C(253402300799999999) /* the end of the year 9999 */

static bool word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

static bool words(struct str s, const char *others)
{
	for (size_t i = 0; i < s.n; i++)
		if (!word(s.p[i]) && (s.p[i] == 0 || !strchr(others, s.p[i])))
			return false;
	return s.n > 0;
}

static bool printable(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < ' ' || s.p[i] > '~')
			return false;
	return true;
}

/* OpenMetrics puts these behind the name of a family: as names of their own they would clash. */
static bool reserved(struct str name)
{
	return str_is(name, "total") || str_ends(name, STR("_total")) || str_is(name, "created") ||
	       str_ends(name, STR("_created"));
}

/* Cuts one name="value" off; the value's escapes are checked, not undone. */
static bool label_cut(struct str *rest, struct str *ret_name)
{
	size_t eq = str_find_byte(*rest, '=');
	struct str name = str_head(*rest, eq), value = str_from(*rest, eq + 1);
	if (!words(name, "") || (name.p[0] >= '0' && name.p[0] <= '9') || name.p[0] == '_' ||
	    value.n < 2 || value.p[0] != '"')
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
	if (!printable(labels))
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
	if (!words(v->name, "") || v->name.n > COUNTERS_NAME_MAX)
		return "the name is not 1 to 64 letters, digits and underscores";
	if (reserved(v->name))
		return "a name may not end in total or created";
	if (v->labels.n > COUNTERS_LABELS_MAX)
		return "labels take more than 256 bytes";
	if (v->help.n == 0 || v->help.n > COUNTERS_HELP_MAX || !printable(v->help) ||
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

int counters_check(const struct counters_view *v, struct err *err)
{
	if (!words(v->instance, "-.:@") || v->instance.n > COUNTERS_INSTANCE_MAX ||
	    v->instance.p[0] == '@')
		return err_set(err, ERR_USAGE,
			       "the instance is not 1 to 64 letters, digits and _-.:@");
	if (v->pid < 0 || v->pid > INT32_MAX)
		return err_set(err, ERR_USAGE, "pid %lld is none", (long long)v->pid);
	if (v->started_wall_us < 0 || v->started_wall_us > STARTED_MAX_US)
		return err_set(err, ERR_USAGE, "start time %lld us is out of range",
			       (long long)v->started_wall_us);
	for (size_t i = 0; i < v->n; i++) {
		const char *fault = value_fault(&v->value[i]);
		for (size_t j = 0; j < i && !fault; j++)
			fault = pair_fault(&v->value[j], &v->value[i]);
		if (fault)
			return err_set(
				err, ERR_USAGE, "counter %zu (" STR_FMT "): %s", i,
				STR_ARG(words(v->value[i].name, "") ? v->value[i].name : STR("?")),
				fault);
	}
	return 0;
}

static int damaged(struct err *err, const struct reader *r, const char *what)
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
		return damaged(err, r, "the file ends inside its head");
	if (version != COUNTERS_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "counters in version %u; this program knows version %d", version,
			       COUNTERS_VERSION);
	if (v->n > COUNTERS_MAX)
		return err_set(err, ERR_DAMAGED, "%zu counters, at most %d can be", v->n,
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
		return damaged(err, r, "the checksum of the head is wrong");
	return r->bad ? damaged(err, r, "a text of the head is too long or past the end") : 0;
}

static int values_parse(struct reader *r, struct counters_view *v, struct err *err)
{
	size_t gap = counters_values_at(reader_at(r)) - reader_at(r);
	if (reader_left(r) != gap + v->n * 8)
		return err_set(err, ERR_DAMAGED, "%zu bytes behind the head, there should be %zu",
			       reader_left(r), gap + v->n * 8);
	for (size_t i = 0; i < gap; i++)
		if (reader_u8(r) != 0)
			return damaged(err, r, "something stands between head and values");
	for (size_t i = 0; i < v->n; i++) {
		v->value[i].value = (int64_t)reader_u64le(r);
		if (v->value[i].kind == COUNTER_TOTAL && v->value[i].value < 0)
			return damaged(err, r, "a total is out of range");
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

bool counters_held(const struct file *f)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	return fcntl(f->fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
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
