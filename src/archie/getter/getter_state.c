/* The file of what the getter remembers. */
#include "archie/getter_state.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/rows.h"
#include "base/vec.h"
#include "disk/small_file.h"
#include "index/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { STATE_MOST = 128 << 20 };

static const struct column fields[] = {
	COL("", struct getter_record, key),
	COL("tried", struct getter_record, tried_us, .unit = UNIT_TIME),
	COL("got", struct getter_record, got_us, .unit = UNIT_TIME),
	COL("listed", struct getter_record, listed_us, .unit = UNIT_TIME),
	COL("checked", struct getter_record, checked_us, .unit = UNIT_TIME),
	COL("next", struct getter_record, next_us, .unit = UNIT_TIME),
	COL("bytes", struct getter_record, bytes),
	COL("failures", struct getter_record, failures),
	COL("method", struct getter_record, method),
	COL("cut", struct getter_record, cut),
	COL("file", struct getter_record, file),
	COL("cause", struct getter_record, cause),
	COL("error", struct getter_record, error),
};
static const struct rows record_fields = {ROWS(struct getter_record, fields), .what = "a site",
					  .many = true};

const struct format getter_format = {
	.name = "getter",
	.file = "archie/getter",
	.magic = "GARNERGT",
	.version = 2,
	.help = "when the listing of each site was got, and how it went",
	.remedy = "remove it; the getter begins anew",
	.fields = &record_fields,
};

const char *getter_method_name(unsigned method)
{
	static const char *const name[GETTER_METHODS] = {"", "ls-lR", "LIST -lR", "walk"};
	return method < GETTER_METHODS ? name[method] : "";
}

static int by_key(const void *a, const void *b)
{
	const struct getter_record *x = a, *y = b;
	return strcmp(x->key, y->key);
}

static void state_path(const char *folder, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/getter", folder);
}

int getter_state_load(const char *folder, struct getter_state *ret, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf room = BUF_INIT(STATE_MOST);
	struct getter_record one;
	struct str payload;
	*ret = (struct getter_state){0};
	state_path(folder, path);
	int rc = small_file_read(path, &getter_format, &room, &payload, err);
	if (rc != 0)
		return rc;
	struct reader r = reader_of(payload);
	while ((rc = rows_next(&record_fields, &r, &one, err)) == 0)
		*VEC_PUSH(ret->record, ret->n, ret->room) = one;
	if (rc < 0) {
		getter_state_free(ret);
		return err_in(err, "%s", path);
	}
	if (ret->n)
		qsort(ret->record, ret->n, sizeof *ret->record, by_key);
	return 0;
}

int getter_state_save(const char *folder, const struct getter_state *s, struct err *err)
{
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf out = BUF_INIT(STATE_MOST);
	state_path(folder, path);
	for (size_t i = 0; i < s->n; i++)
		rows_write(&record_fields, &s->record[i], &out);
	if (out.over)
		return err_set(err, ERR_USAGE, "%s: it would be larger than %d bytes", path,
			       STATE_MOST);
	return small_file_write(path, &getter_format, buf_str(&out), err);
}

void getter_state_free(struct getter_state *s)
{
	mem_free(&s->record);
	*s = (struct getter_state){0};
}

/* Where it is, or would be. */
static size_t state_place(const struct getter_state *s, struct str key)
{
	size_t from = 0, to = s->n;
	while (from < to) {
		size_t at = from + (to - from) / 2;
		if (str_cmp(str_of(s->record[at].key), key) < 0)
			from = at + 1;
		else
			to = at;
	}
	return from;
}

struct getter_record *getter_state_find(const struct getter_state *s, struct str key)
{
	size_t at = state_place(s, key);
	return at < s->n && str_is(key, s->record[at].key) ? &s->record[at] : NULL;
}

struct getter_record *getter_state_of(struct getter_state *s, struct str key)
{
	size_t at = state_place(s, key);
	if (at < s->n && str_is(key, s->record[at].key))
		return &s->record[at];
	ENSURE(key.n <= GETTER_KEY);
	(void)VEC_PUSH(s->record, s->n, s->room);
	struct getter_record *r = &s->record[at];
	memmove(r + 1, r, (s->n - 1 - at) * sizeof *r);
	*r = (struct getter_record){0};
	memcpy(r->key, key.p, key.n);
	return r;
}

/* The part `data` has lines of one length, and is as old as the database. */
struct getter_database getter_database(const char *folder, struct str key)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/data/" STR_FMT, folder, STR_ARG(key));
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return (struct getter_database){0};
	return (struct getter_database){.entries = (uint64_t)st.st_size / NAMES_LINE_BYTES,
					.built_us = (int64_t)st.st_mtime * US_PER_S};
}

int64_t getter_waiting_us(const char *folder, struct str key)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/lslr/" STR_FMT, folder, STR_ARG(key));
	/* its modification time is the listing's own: when it got there is the change of its name
	 */
	return stat(path, &st) == 0 ? (int64_t)st.st_ctime * US_PER_S : 0;
}

int64_t getter_build_error(const char *folder, struct str key, struct err *ret)
{
	char path[PATH_MAX];
	struct stat st;
	CLEANUP(buf_free) struct buf text = BUF_INIT(sizeof ret->msg);
	snprintf(path, sizeof path, "%s/errors/" STR_FMT, folder, STR_ARG(key));
	if (stat(path, &st) < 0 || file_slurp(path, &text, ret) != 0)
		return 0;
	(void)err_set(ret, ERR_USAGE, STR_FMT, STR_ARG(str_trim(buf_str(&text))));
	return (int64_t)st.st_mtim.tv_sec * US_PER_S + st.st_mtim.tv_nsec / 1000;
}

/* It lies among the failed ones then, with its own date. */
bool getter_was_refused(const char *folder, const struct getter_record *record)
{
	char path[PATH_MAX];
	struct stat st;
	snprintf(path, sizeof path, "%s/failed/%s", folder, record->key);
	return record->got_us && stat(path, &st) == 0 &&
	       (int64_t)st.st_mtime == record->listed_us / US_PER_S;
}

bool getter_is_built(const struct getter_database *d, const struct getter_record *record)
{
	return d->built_us && d->built_us / US_PER_S >= record->got_us / US_PER_S;
}

int64_t getter_current_us(const struct getter_database *d, const struct getter_record *record)
{
	return d->built_us && record ? MAX(d->built_us, record->checked_us) : d->built_us;
}

bool getter_believes(int64_t at_s)
{
	return at_s <= clock_wall_us() / US_PER_S;
}

int64_t getter_retry_us(const struct getter_record *record, int64_t most_us, int64_t now_us)
{
	int64_t next_us = record ? record->next_us : 0;
	return next_us > now_us && next_us - now_us <= most_us ? next_us : 0;
}

int64_t getter_due_us(const char *folder, const struct archie_site *site, int64_t max_age_us,
		      const struct getter_record *record)
{
	const struct getter_database d = getter_database(folder, site->key);
	int64_t at_us = getter_current_us(&d, record);
	int64_t age_us = site->max_age_us ? site->max_age_us : max_age_us;
	if (getter_waiting_us(folder, site->key))
		at_us = MAX(at_us, record ? MAX(record->got_us, record->checked_us)
					  : getter_waiting_us(folder, site->key));
	return at_us && getter_believes(at_us / US_PER_S) ? at_us + age_us : 0;
}
