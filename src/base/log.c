/* The log: how a line reads, how repeats are folded, where lines go. The first two know neither
 * clock nor descriptor, so that tests can look at them. */
#include "base/log.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/nearest.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const level_names[] = {
	[LOG_ERROR] = "error", [LOG_WARN] = "warn",   [LOG_OUTSIDE] = "outside",
	[LOG_INFO] = "info",   [LOG_DEBUG] = "debug",
};

static const struct section {
	unsigned number;
	const char *name;
} sections[] = {
#define X(symbol, number, name, help) {number, name},
	LOG_SECTIONS(X)
#undef X
};

/* Characters that a terminal obeys or that move text about: C1 controls, marks and overrides of
 * direction, line and paragraph separators. In UTF-8 the order of bytes is that of characters. */
static const struct {
	const char *first, *last;
} unseen[] = {
	{"\xc2\x80", "\xc2\x9f"},
	{"\xe2\x80\x8e", "\xe2\x80\x8f"},
	{"\xe2\x80\xa8", "\xe2\x80\xae"},
	{"\xe2\x81\xa6", "\xe2\x81\xa9"},
};

/* Bytes of the first character when it may stand as it is, 0 when its first byte may not. */
static size_t visible_length(struct str s)
{
	struct str c = str_head(s, str_utf8_char(s));
	if (c.n <= 1)
		return c.n && !ascii_is_control(c.p[0]);
	for (size_t i = 0; i < ARRAY_LEN(unseen); i++)
		if (str_cmp(c, str_of(unseen[i].first)) >= 0 &&
		    str_cmp(c, str_of(unseen[i].last)) <= 0)
			return 0;
	return c.n;
}

/* Adds the first character of s, as it is or escaped, and returns its bytes. It is added whole or
 * not at all, so a line is never cut inside one. */
static size_t add_visible(struct buf *b, struct str s)
{
	size_t n = visible_length(s);
	if (n)
		buf_add(b, s.p, n);
	else if (s.p[0] == '\n')
		buf_add_text(b, "\\n");
	else
		buf_printf(b, "\\x%02x", (unsigned char)s.p[0]);
	return n ? n : 1;
}

static void add_plain(struct buf *b, struct str s)
{
	while (s.n && !b->over)
		s = str_from(s, add_visible(b, s));
}

static bool is_bare(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		if (!ascii_is_alnum(c) && (c == 0 || !strchr("_./:@%+,=-", c)))
			return false;
	}
	return s.n > 0;
}

/* Past the limit, for what closes a line that was cut; it stays over. */
static void add_tail(struct buf *b, const char *text)
{
	b->over = false;
	b->max += LOG_BODY_TAIL;
	buf_add_text(b, text);
	b->max -= LOG_BODY_TAIL;
	b->over = true;
}

static void add_value(struct buf *b, struct str s)
{
	if (is_bare(s)) {
		add_plain(b, s);
		return;
	}
	if (b->over)
		return;
	buf_add_byte(b, '"');
	bool opened = !b->over;
	while (s.n && !b->over) {
		if (s.p[0] == '"' || s.p[0] == '\\') {
			buf_add(b, (char[]){'\\', s.p[0]}, 2);
			s = str_from(s, 1);
		} else {
			s = str_from(s, add_visible(b, s));
		}
	}
	buf_add_byte(b, '"');
	if (opened && b->over)
		add_tail(b, "\"");
}

static void add_kv(struct buf *b, const struct log_kv *kv)
{
	buf_add_byte(b, ' ');
	add_plain(b, str_of(kv->key));
	buf_add_byte(b, '=');
	switch (kv->type) {
	case LOG_KV_STR:
		add_value(b, kv->s);
		break;
	case LOG_KV_INT:
		buf_printf(b, "%lld", (long long)kv->i);
		break;
	case LOG_KV_UINT:
		buf_printf(b, "%llu", (unsigned long long)kv->u);
		break;
	case LOG_KV_TIME:
		duration_print(b, kv->i);
		break;
	case LOG_KV_END:
		break;
	}
}

void log_add_list(struct buf *out, const struct log_kv *list)
{
	for (; list->key && !out->over; list++)
		add_kv(out, list);
	if (out->over)
		add_tail(out, " cut=yes");
}

void log_line(struct buf *out, const char *name, enum log_level level, enum log_section section,
	      const char *msg, const struct log_kv *list)
{
	const char *own = sections[section].name;
	buf_clear(out);
	out->max = LOG_BODY_MAX;
	buf_add_text(out, level_names[level]);
	buf_add_byte(out, ' ');
	if (name[0] && strcmp(name, own) != 0) {
		add_plain(out, str_of(name));
		buf_add_byte(out, '/');
	}
	buf_printf(out, "%s: ", own);
	add_plain(out, str_of(msg));
	log_add_list(out, list);
}

static void fold_forget(struct log_fold_line *l, log_emit_fn *emit, void *ctx)
{
	if (l->n && l->repeats)
		emit(ctx, l->level, (struct str){l->text, l->n}, l->repeats);
	l->n = 0;
	l->repeats = 0;
}

void log_fold_add(struct log_fold *f, int64_t now_us, enum log_level level, struct str line,
		  log_emit_fn *emit, void *ctx)
{
	struct log_fold_line *same = NULL;
	for (size_t i = 0; i < LOG_FOLD_LINES; i++) {
		struct log_fold_line *l = &f->line[(f->oldest + i) % LOG_FOLD_LINES];
		if (l->n && now_us - l->since_us >= LOG_FOLD_US)
			fold_forget(l, emit, ctx);
		else if (l->n && str_eq((struct str){l->text, l->n}, line))
			same = l;
	}
	if (same) {
		same->repeats++;
		return;
	}
	struct log_fold_line *l = &f->line[f->oldest];
	fold_forget(l, emit, ctx);
	f->oldest = (f->oldest + 1) % LOG_FOLD_LINES;
	ENSURE(line.n <= sizeof l->text);
	memcpy(l->text, line.p, line.n);
	l->n = line.n;
	l->since_us = now_us;
	l->level = level;
	emit(ctx, level, line, 0);
}

void log_fold_flush(struct log_fold *f, log_emit_fn *emit, void *ctx)
{
	for (size_t i = 0; i < LOG_FOLD_LINES; i++)
		fold_forget(&f->line[(f->oldest + i) % LOG_FOLD_LINES], emit, ctx);
}

enum { ALL = LOG_NSECTIONS, LEVEL_MAX = 9, LINE_MAX_BYTES = 4096 };

uint8_t log_debug_levels[LOG_NSECTIONS];

static struct {
	pthread_mutex_t mutex; /* for all the rest */
	int fd;
	bool journal;
	char name[32];
	struct buf body, line;
	struct log_fold fold;
} the = {
	.mutex = PTHREAD_MUTEX_INITIALIZER,
	.fd = STDERR_FILENO,
	.body = BUF_INIT(LOG_BODY_MAX),
	.line = BUF_INIT(LINE_MAX_BYTES),
};

/* systemd says by device and inode which stream leads to its journal. */
static bool is_journal(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat st;
	char own[64];
	if (!stream || fstat(fd, &st) < 0)
		return false;
	snprintf(own, sizeof own, "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	return strcmp(stream, own) == 0;
}

void log_start(const char *name, int fd)
{
	pthread_mutex_lock(&the.mutex);
	the.fd = fd;
	the.journal = is_journal(fd);
	snprintf(the.name, sizeof the.name, "%s", name ? name : "");
	pthread_mutex_unlock(&the.mutex);
}

/* One write(2) for a line. When it fails there is nobody left to tell. */
static void write_line(void *ctx, enum log_level level, struct str line, uint64_t repeated)
{
	(void)ctx;
	struct buf *out = &the.line;
	buf_clear(out);
	if (the.journal) {
		buf_printf(out, "<%d>", 3 + (int)level);
	} else {
		time_print(out, clock_wall_us(), 3);
		buf_add_byte(out, ' ');
	}
	buf_add_str(out, line);
	if (repeated)
		buf_printf(out, " repeated=%llu", (unsigned long long)repeated);
	buf_add_byte(out, '\n');
	(void)UNINTERRUPTED(write(the.fd, out->p, out->n));
}

void log_write(enum log_level level, enum log_section section, const char *msg,
	       const struct log_kv *list)
{
	int saved = errno;
	pthread_mutex_lock(&the.mutex);
	log_line(&the.body, the.name, level, section, msg, list);
	log_fold_add(&the.fold, clock_mono_us(), level, buf_str(&the.body), write_line, NULL);
	pthread_mutex_unlock(&the.mutex);
	errno = saved;
}

void log_flush(void)
{
	int saved = errno;
	pthread_mutex_lock(&the.mutex);
	log_fold_flush(&the.fold, write_line, NULL);
	pthread_mutex_unlock(&the.mutex);
	errno = saved;
}

static bool level_parse(struct str s, uint8_t *ret)
{
	if (s.n != 1 || !ascii_is_digit(s.p[0]))
		return false;
	*ret = (uint8_t)(s.p[0] - '0');
	return true;
}

/* The name that was probably meant, or else all. */
static int unknown_section(struct str name, bool numeric, struct err *err)
{
	CLEANUP(buf_free) struct buf all = BUF_INIT(320);
	struct nearest near = {.wanted = name};
	buf_add_text(&all, "; there are all");
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		buf_printf(&all, ", %s", sections[i].name);
		if (!numeric)
			nearest_try(&near, sections[i].name);
	}
	return err_set(err, ERR_USAGE, "unknown log section '" STR_FMT "'%s",
		       STR_ARG(str_head(name, 64)),
		       near.name[0] ? nearest_words(&near) : buf_text(&all));
}

/* The index of a section by number or name, or ALL. */
static int section_find(struct str name, size_t *ret, struct err *err)
{
	uint64_t number = 0;
	bool numeric = str_u64(name, &number);
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		if (numeric ? number == sections[i].number
			    : str_eq_nocase(name, str_of(sections[i].name))) {
			*ret = i;
			return 0;
		}
	}
	if (!str_eq_nocase(name, STR("all")))
		return unknown_section(name, numeric, err);
	*ret = ALL;
	return 0;
}

static void levels_set(uint8_t *levels, size_t section, uint8_t level)
{
	for (size_t i = 0; i < LOG_NSECTIONS; i++)
		if (section == ALL || section == i)
			levels[i] = level;
}

/* Changes the levels that the specification names; on failure they may be half changed. */
static int levels_parse(struct str spec, uint8_t *levels, struct err *err)
{
	size_t section = ALL;
	bool open = false; /* the field before was a section without a level */
	struct str field, rest = spec.p ? spec : STR("");
	while (str_cut(&rest, ',', &field) == 0) {
		uint8_t level = LEVEL_MAX;
		field = str_trim(field);
		if (open && level_parse(field, &level)) {
			levels_set(levels, section, level);
			open = false;
			continue;
		}
		size_t colon = str_find_byte(field, ':');
		open = colon == field.n;
		if (!open && !level_parse(str_from(field, colon + 1), &level))
			return err_set(err, ERR_USAGE,
				       "log level in \"" STR_FMT "\": expected 0 to 9",
				       STR_ARG(str_head(field, 64)));
		if (section_find(str_head(field, colon), &section, err) < 0)
			return -1;
		levels_set(levels, section, level);
	}
	return 0;
}

static void levels_store(const uint8_t *levels)
{
	for (size_t i = 0; i < LOG_NSECTIONS; i++)
		__atomic_store_n(&log_debug_levels[i], levels[i], __ATOMIC_RELAXED);
}

int log_debug_set(struct str spec, struct err *err)
{
	uint8_t levels[LOG_NSECTIONS];
	for (size_t i = 0; i < LOG_NSECTIONS; i++)
		levels[i] = __atomic_load_n(&log_debug_levels[i], __ATOMIC_RELAXED);
	if (levels_parse(spec, levels, err) < 0)
		return -1;
	levels_store(levels);
	return 0;
}

int log_debug_check(struct str spec, struct err *err)
{
	uint8_t levels[LOG_NSECTIONS] = {0};
	return levels_parse(spec, levels, err);
}

void log_debug_reset(void)
{
	levels_store((const uint8_t[LOG_NSECTIONS]){0});
}
