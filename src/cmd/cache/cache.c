/* garner cache: the operator's side of the content cache, and how it stands with it. */
#include "cmd/cache/cache.h"

#include "base/file.h"
#include "cache/unsdb.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"

#include <inttypes.h>
#include <unistd.h>

enum { UNSDB_HEAD = 64 };

/* Opening. */

bool cache_is_there(const char *folder)
{
	char path[PATH_MAX + 32];
	snprintf(path, sizeof path, "%s/pidb.db", folder);
	return access(path, F_OK) == 0;
}

int cache_desk_open(const struct cmd_call *call, struct cache_desk *ret, struct err *err)
{
	*ret = (struct cache_desk){0};
	if (cmd_config_data(call, &ret->config, ret->data, err) < 0)
		return -1;
	snprintf(ret->folder, sizeof ret->folder, "%s/cache", ret->data);
	if (!cache_is_there(ret->folder))
		return err_set(
			err, ERR_NOTHING,
			"there is no cache in %s yet; its roles are rs, uns, qm, botm and bot",
			ret->data);
	if (pidb_open(&ret->pidb, ret->folder, err) < 0)
		return -1;
	return MIN(db_open(&ret->db, ret->folder, DB_READ, err), 0);
}

void cache_desk_close(struct cache_desk *d)
{
	pidb_close(&d->pidb);
	db_close(&d->db);
	config_free(&d->config);
}

/* How it stands. */

static int providers_count(struct pidb *pidb, struct cache_summary *s, struct err *err)
{
	struct pidb_provider p = {0};
	uint64_t gone;
	int rc;
	while ((rc = pidb_next(pidb, p.id, 0, &p, err)) == 0) {
		s->providers += p.is_verified;
		s->unverified += !p.is_verified;
		s->wanted += p.is_verified && p.wanted != PIDB_NOT_WANTED;
		s->crashed += p.is_verified && p.wanted == PIDB_CRASH;
	}
	if (rc == 1)
		rc = pidb_gone(pidb, &gone, err);
	s->gone = rc == 0;
	return MIN(rc, 0);
}

static int rows_count(struct db *db, struct cache_summary *s, struct err *err)
{
	struct db_set set = {0};
	uint64_t id = 0;
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	int rc = db_rows(db, &s->queued, &s->stored, err);
	if (rc == 0)
		while ((rc = db_set_next(db, set.set, &set, err)) == 0)
			s->open_sets++;
	if (rc == 1)
		while (s->deletions < CACHE_DELETIONS_MAX &&
		       (rc = db_fsm_next(db, id, STR(""), &id, machine, file, err)) == 0)
			s->deletions++;
	return MIN(rc, 0);
}

/* What notification servers of this data directory keep: cache/unsdb, cache/unsdb@1. The head of
 * the file does not count. */
static void spilled_count(const char *folder, struct cache_summary *s)
{
	char path[PATH_MAX + NAME_MAX + 16];
	const char *name;
	struct stat st;
	struct dir dir;
	struct err err;
	if (dir_init(&dir, folder, &err) != 0)
		return;
	while (dir_next(&dir, &name) == 0) {
		snprintf(path, sizeof path, "%s/%s", folder, name);
		if (unsdb_is_name(name) && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size > UNSDB_HEAD)
			s->spilled += (uint64_t)st.st_size;
	}
	dir_done(&dir);
}

int cache_summary_fill(const char *folder, struct pidb *pidb, struct db *db,
		       struct cache_summary *ret, struct err *err)
{
	*ret = (struct cache_summary){0};
	if (providers_count(pidb, ret, err) < 0 || (db && rows_count(db, ret, err) < 0))
		return -1;
	spilled_count(folder, ret);
	return 0;
}

int cache_summarize(const char *data, struct cache_summary *ret, struct err *err)
{
	char folder[PATH_MAX + 8];
	struct pidb *pidb = NULL;
	struct db *db = NULL;
	snprintf(folder, sizeof folder, "%s/cache", data);
	if (!cache_is_there(folder))
		return 1;
	int rc = pidb_open(&pidb, folder, err);
	if (rc == 0)
		rc = MIN(db_open(&db, folder, DB_READ, err), 0);
	if (rc == 0)
		rc = cache_summary_fill(folder, pidb, db, ret, err);
	db_close(&db);
	pidb_close(&pidb);
	return rc;
}

void cache_summary_text(const struct cache_summary *s, struct buf *out)
{
	buf_printf(out, "%" PRIu64 " provider%s, %" PRIu64 " URL%s stored, %" PRIu64 " queued",
		   s->providers, s->providers == 1 ? "" : "s", s->stored, s->stored == 1 ? "" : "s",
		   s->queued);
	if (s->open_sets)
		buf_printf(out, "; %" PRIu64 " set%s to absorb", s->open_sets,
			   s->open_sets == 1 ? "" : "s");
	if (s->spilled) {
		buf_add_text(out, "; ");
		put_size_text(out, s->spilled);
		buf_add_text(out, " bytes wait in unsdb for qm");
	}
	if (s->deletions)
		buf_printf(out, "; %s%" PRIu64 " file%s to delete",
			   s->deletions == CACHE_DELETIONS_MAX ? "at least " : "", s->deletions,
			   s->deletions == 1 ? "" : "s");
	if (s->wanted)
		buf_printf(out, "; full sets wanted of %" PRIu64, s->wanted);
	if (s->unverified)
		buf_printf(out, "; %" PRIu64 " registration%s not verified", s->unverified,
			   s->unverified == 1 ? "" : "s");
	buf_add_byte(out, '\n');
}

#define S struct cache_summary
static const struct column summary_columns[] = {
	COL("providers", S, providers), COL("unverified", S, unverified),
	COL("wanted", S, wanted),       COL("stored", S, stored),
	COL("queued", S, queued),       COL("open_sets", S, open_sets),
	COL("deletions", S, deletions), COL("unsdb_bytes", S, spilled),
	COL("leaving", S, gone),
};
const struct rows cache_summary_rows = {ROWS(S, summary_columns)};
static const struct column status_columns[] = {COL_GROUP("cache", S, cache_summary_rows)};
static const struct rows status_rows = {ROWS(S, status_columns)};
#undef S

static int run_status(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(cache_desk_close) struct cache_desk d;
	struct cache_summary s;
	if (cache_desk_open(call, &d, err) < 0 ||
	    cache_summary_fill(d.folder, d.pidb, d.db, &s, err) < 0)
		return -1;
	if (o->json)
		return cmd_row_json(call, &status_rows, &s);
	struct buf out = BUF_INIT(1 << 16);
	cache_summary_text(&s, &out);
	return cmd_print(call, &out);
}

/* The crash flag. */

static int run_crashed(const struct cmd_call *call, struct err *err)
{
	const struct cmd_json *o = call->options;
	CLEANUP(cache_desk_close) struct cache_desk d;
	struct cache_summary s = {0};
	if (cache_desk_open(call, &d, err) < 0 || pidb_want(d.pidb, 0, PIDB_CRASH, err) < 0 ||
	    providers_count(d.pidb, &s, err) < 0)
		return -1;
	if (o->json)
		fprintf(call->out, "{\"wanted\":%" PRIu64 "}\n", s.wanted);
	else
		fprintf(call->out, "a full set is wanted of %" PRIu64 " provider%s\n", s.wanted,
			s.wanted == 1 ? "" : "s");
	return 0;
}

const struct command cache_status_command = {
	.name = "status",
	.summary = "show how much is stored, queued, and waits",
	.description = "Reads the databases of the cache; its roles need not run.",
	CMD_JSON(0, "print everything as JSON"),
	CMD_EXITS({1, "there is no cache yet"}, {ERR_DAMAGED, "a database is damaged"}),
	.run = run_status,
};

const struct command cache_crashed_command = {
	.name = "crashed",
	.summary = "ask all providers for full sets after a loss",
	.description = "Sets the crash flag, as after a restore from an old backup: each provider "
		       "is told when it connects next that a full set is wanted, until one was "
		       "accepted.",
	CMD_JSON(0, "print everything as JSON"),
	CMD_EXITS({1, "there is no cache yet"}, {ERR_DAMAGED, "a database is damaged"}),
	.run = run_crashed,
};

const struct command cache_command = {
	.name = "cache",
	.summary = "check the content cache and set the quotas of providers",
	.description = "For the operator of the cache. The owners of sites use garner provider.",
	CMD_SUBS(&cache_status_command, &cache_check_command, &cache_provider_command,
		 &cache_crashed_command),
};
