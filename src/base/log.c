#include "base/log.h"
#include "base/clock.h"
#include "base/log_line.h"
#include "base/nearest.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ALL = LOG_NSECTIONS, LEVEL_MAX = 9, LINE_MAX_BYTES = 4096 };

static const struct section {
	unsigned number;
	const char *name, *help;
} sections[] = {
#define X(symbol, number, name, help) {number, name, help},
	LOG_SECTIONS(X)
#undef X
};

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
	ssize_t n;
	do
		n = write(the.fd, out->p, out->n);
	while (n < 0 && errno == EINTR);
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
	if (s.n != 1 || s.p[0] < '0' || s.p[0] > '9')
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

void log_sections(struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		buf_printf(out, "%4u  %-10s %s\n", sections[i].number, sections[i].name,
			   sections[i].help);
}
