/* The getter's table of garner.db, and what the files of a site say: the age of its database, a
 * listing that waits, one that was refused. */
#include "archie/getter_state.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "index/names.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#define S struct getter_record
static const struct column columns[] = {
	COL("site", S, key),
	COL("tried", S, tried_us, .unit = UNIT_TIME),
	COL("got", S, got_us, .unit = UNIT_TIME),
	COL("listed", S, listed_us, .unit = UNIT_TIME),
	COL("checked", S, checked_us, .unit = UNIT_TIME),
	COL("next", S, next_us, .unit = UNIT_TIME),
	COL("bytes", S, bytes),
	COL("failures", S, failures),
	COL("method", S, method, .most = GETTER_METHODS - 1),
	COL("cut", S, cut),
	COL("file", S, file),
	COL("cause", S, cause),
	COL("error", S, error),
};
const struct small_table getter_table = {
	.name = "getter",
	.row = {ROWS(S, columns)},
	.key = 1,
	.most = GETTER_ROWS,
	.writer = "archie-getter",
	.loss = "when the listing of each site was got, and how it went",
};
#undef S
static const struct small_table *const tables[] = {&getter_table};

const char *getter_method_name(unsigned method)
{
	static const char *const name[GETTER_METHODS] = {"", "ls-lR", "LIST -lR", "walk"};
	return method < GETTER_METHODS ? name[method] : "";
}

/* What is lost is got again; nothing else is asked for. */
int getter_table_open(struct small **ret, const char *data, struct err *err)
{
	if (small_open_data(ret, data, tables, ARRAY_LEN(tables), SMALL_WRITE, err) < 0)
		return -1;
	if (!small_lost(*ret, &getter_table) || small_forgive(*ret, &getter_table, err) == 0)
		return 0;
	small_close(ret);
	return -1;
}

int getter_state_read(struct small *s, struct getter_state *ret, struct err *err)
{
	struct small_iter it;
	struct getter_record one;
	int rc;
	*ret = (struct getter_state){0};
	small_iter_init(&it, s, &getter_table, NULL);
	while ((rc = small_iter_next(&it, &one, err)) == 0)
		*VEC_PUSH(ret->record, ret->n, ret->room) = one;
	small_iter_done(&it);
	if (rc < 0)
		getter_state_free(ret);
	return MIN(rc, 0);
}

int getter_state_load(const char *data, struct getter_state *ret, struct err *err)
{
	struct small *s = NULL;
	*ret = (struct getter_state){0};
	int rc = small_open_data(&s, data, tables, ARRAY_LEN(tables), SMALL_READ, err);
	if (rc == 0)
		rc = getter_state_read(s, ret, err);
	small_close(&s);
	return rc;
}

void getter_state_free(struct getter_state *s)
{
	mem_free(&s->record);
	*s = (struct getter_state){0};
}

/* Where it is, or would be. */
static size_t state_place(const struct getter_state *s, struct str key)
{
	return BISECT(i, 0, s->n, str_cmp(str_of(s->record[i].key), key) < 0);
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
