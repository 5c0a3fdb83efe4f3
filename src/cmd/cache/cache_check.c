/* garner cache check: rows against rows, and rows against the files in the folders of the botms of
 * this machine. The files are looked at first, then the rows, then the list of what is to be
 * deleted: what is nowhere after that order is nobody's, also where the cache runs meanwhile.
 *
 * With --fix qm must not run. The botms may: files go the way of all others, by FSMDB, when qm is
 * back, since only the botm that has a folder knows which names are free. A database of which
 * nobody can say which rows it has is not mended, but set aside. */
#include "base/clock.h"
#include "base/file.h"
#include "base/rows.h"
#include "cmd/cache/cache.h"
#include "cmd/commands.h"
#include "fetch/botm.h"
#include "fetch/botm_files.h"
#include "role/status.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

struct check_options {
	bool fix, json;
};

enum { MACHINES_MAX = 256, LINES_MAX = 1000 };

struct check_machine {
	char name[DB_MACHINE_MAX + 1], folder[PATH_MAX];
	struct botm_files *files;
};

struct check {
	const struct cmd_call *call;
	bool is_fix, is_json, is_running; /* qm */
	struct config *config;
	char data[PATH_MAX], folder[PATH_MAX + 8];
	struct db *db;
	struct check_machine machine[MACHINES_MAX];
	size_t machines;
	uint64_t elsewhere; /* files of machines that no settings name */
	uint64_t rows, queued;
	uint64_t damages, notes, unknown_files;
	uint64_t unmended; /* damages that --fix leaves as they are */
	bool is_flagged;   /* the crash flag is set */
	struct jsonw json;
	struct buf out;
	struct err err; /* the first that a callback has had */
};

struct finding {
	bool wrong;
	const char *text;
};
static const struct column finding_columns[] = {
	COL("wrong", struct finding, wrong),
	COL("text", struct finding, text),
};
static const struct rows finding_rows = {ROWS(struct finding, finding_columns)};

/* Findings. Of one kind there may be millions, so not all of them are printed. */
static void finding_print(struct check *c, bool is_damage, const char *text)
{
	uint64_t *n = is_damage ? &c->damages : &c->notes;
	if (++*n > LINES_MAX)
		return;
	if (!c->is_json) {
		fprintf(c->call->out, "%s: %s\n", is_damage ? "wrong" : "noted", text);
		return;
	}
	rows_json(&finding_rows, &(struct finding){is_damage, text}, &c->json);
	cmd_flush(c->call, &c->out);
}

/* Of what is wrong something may be lost: the crash flag. It is set before anything is mended,
 * since one who is killed in between finds nothing wrong the next time. */
static int crash_set(struct check *c, struct err *err)
{
	struct pidb *pidb = NULL;
	if (c->is_flagged)
		return 0;
	if (pidb_open(&pidb, c->folder, err) < 0)
		return -1;
	int rc = pidb_want(pidb, 0, PIDB_CRASH, err);
	pidb_close(&pidb);
	c->is_flagged = rc == 0;
	return rc;
}

/* Of the providers' database: what people have set, only people can set again. */
static void on_provider(void *ctx, const char *text)
{
	struct check *c = ctx;
	c->unmended++;
	finding_print(c, true, text);
}

/* Of the database: nothing of it is mended yet, or not durably. */
static void on_finding(void *ctx, const struct db_finding *f)
{
	struct check *c = ctx;
	struct err err;
	finding_print(c, f->is_damage, f->text);
	if (c->is_fix && f->is_damage && crash_set(c, &err) < 0 && c->err.code == ERR_NONE)
		c->err = err;
}

/* Files. */

static void machine_add(void *ctx, const char *machine, const char *folder)
{
	struct check *c = ctx;
	struct check_machine *m = &c->machine[c->machines];
	struct err err;
	if (c->machines == MACHINES_MAX)
		return;
	int rc = botm_files_open(&m->files, c->data, folder, &err);
	if (rc < 0) {
		if (c->err.code == ERR_NONE)
			c->err = err;
		return;
	}
	if (rc == 1)
		m->files = NULL;
	snprintf(m->name, sizeof m->name, "%s", machine);
	snprintf(m->folder, sizeof m->folder, "%s", folder);
	c->machines++;
}

static bool file_is_whole(const struct check_machine *m, struct str file, uint64_t size)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof path, "%s/" STR_FMT, m->folder, STR_ARG(file));
	return n > 0 && n < PATH_MAX && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == size;
}

/* Whether a row's file is there, whole. One of a machine that is not known here may be in any
 * folder: what a botm was called before. */
static int file_has(void *ctx, struct str machine, struct str file, uint64_t size)
{
	struct check *c = ctx;
	for (size_t i = 0; i < c->machines; i++)
		if (str_is(machine, c->machine[i].name))
			return c->machine[i].files && botm_files_known(c->machine[i].files, file) &&
			       file_is_whole(&c->machine[i], file, size);
	c->elsewhere++;
	for (size_t i = 0; i < c->machines; i++)
		if (c->machine[i].files)
			(void)botm_files_known(c->machine[i].files, file);
	return -1;
}

/* What is to be deleted is known as well. */
static int deletions_mark(struct check *c, struct err *err)
{
	char machine[DB_MACHINE_MAX + 1], file[DB_FILE_MAX + 1];
	uint64_t id = 0;
	int rc;
	while ((rc = db_fsm_next(c->db, id, STR(""), &id, machine, file, err)) == 0)
		for (size_t i = 0; i < c->machines; i++)
			if (c->machine[i].files)
				(void)botm_files_known(c->machine[i].files, str_of(file));
	return MIN(rc, 0);
}

static int files_of(struct check *c, const struct check_machine *m, struct err *err)
{
	char name[BOT_FILE_MAX + 1];
	struct db_finding f = {.is_damage = !c->is_running};
	size_t at = 0;
	while (botm_files_next_unknown(m->files, &at, name) == 0) {
		c->unknown_files++;
		snprintf(f.text, sizeof f.text, "%.140s/%s: no row has this file%s", m->folder,
			 name, c->is_fix ? "; qm will have it deleted" : "");
		finding_print(c, f.is_damage, f.text);
		if (c->is_fix && db_fsm_add(c->db, str_of(m->name), str_of(name), err) < 0)
			return -1;
	}
	return 0;
}

static int files_check(struct check *c, struct err *err)
{
	int rc = deletions_mark(c, err);
	if (rc == 0 && c->is_fix)
		rc = db_begin(c->db, err);
	bool is_begun = rc == 0 && c->is_fix;
	for (size_t i = 0; rc == 0 && i < c->machines; i++)
		if (c->machine[i].files)
			rc = files_of(c, &c->machine[i], err);
	if (is_begun) {
		struct err of_commit;
		int ended = db_commit(c->db, rc == 0 ? err : &of_commit);
		rc = rc == 0 ? ended : rc;
	}
	return rc;
}

/* The database. */

/* One that cannot even be opened, or whose pages are damaged, has nothing to be mended with: it is
 * set aside for somebody who can, and all providers are asked for what they have. */
static int set_aside(struct check *c, struct err *err)
{
	static const char *const parts[] = {"", "-wal", "-shm"};
	CLEANUP(buf_free) struct buf stamp = BUF_INIT(64);
	char from[PATH_MAX + 32], to[PATH_MAX + 96], text[200];
	if (crash_set(c, err) < 0)
		return -1;
	db_close(&c->db);
	time_print_name(&stamp, clock_wall_us());
	for (size_t i = ARRAY_LEN(parts); i-- > 0;) {
		snprintf(from, sizeof from, "%s/cache.db%s", c->folder, parts[i]);
		snprintf(to, sizeof to, "%s/cache.db.%s%s.damaged", c->folder, buf_text(&stamp),
			 parts[i]);
		if (file_rename(from, to, err) < 0 && err->sys_errno != ENOENT)
			return -1;
	}
	snprintf(text, sizeof text,
		 "cache.db cannot be read; it is set aside as cache.db.%s.damaged, and begun anew",
		 buf_text(&stamp));
	finding_print(c, true, text);
	return db_open(&c->db, c->folder, DB_WRITE, err);
}

static int database_open(struct check *c, struct err *err)
{
	int rc = db_open(&c->db, c->folder, c->is_fix ? DB_WRITE : DB_READ, err);
	if (rc < 0 && err->code == ERR_DAMAGED && c->is_fix)
		rc = set_aside(c, err);
	if (rc < 0 && err->code == ERR_BUSY)
		return err_then(err, "stop qm first: it repairs nothing that others repair");
	return rc;
}

static bool qm_runs(const char *data)
{
	struct status s;
	struct err err;
	if (status_read(&s, data, &err) < 0)
		return false;
	bool is = status_has_role(&s, "qm");
	status_free(&s);
	return is;
}

/* 1: nobody can say which rows there are, and so which files have one. */
static int rows_check(struct check *c, struct err *err)
{
	int rc = db_check(c->db, c->is_fix, file_has, on_finding, c, err);
	if (rc == 0 && c->is_fix)
		return db_rebuild(c->db, err);
	return rc == 1 && c->is_fix ? set_aside(c, err) : rc;
}

static int database_check(struct check *c, struct err *err)
{
	int rc = rows_check(c, err);
	if (rc == 0)
		rc = files_check(c, err);
	if (rc >= 0 && pidb_check(c->folder, on_provider, c, err) < 0)
		rc = -1;
	if (rc >= 0)
		rc = db_rows(c->db, &c->queued, &c->rows, err);
	if (rc < 0 || c->err.code == ERR_NONE)
		return rc;
	*err = c->err;
	return err_then(err, "garner cache crashed, when that is mended");
}

/* The end of it. */

static void rest_print(const struct check *c)
{
	FILE *out = c->call->out;
	if (c->damages > LINES_MAX || c->notes > LINES_MAX)
		fprintf(out, "and more: of each kind %d are shown\n", LINES_MAX);
	if (c->elsewhere)
		fprintf(out, "%" PRIu64 " files are on machines that are not set up here\n",
			c->elsewhere);
	fprintf(out, "%" PRIu64 " URLs stored, %" PRIu64 " queued: ", c->rows, c->queued);
	if (!c->damages && !c->notes)
		fputs("all is right\n", out);
	else
		fprintf(out, "%" PRIu64 " wrong%s, %" PRIu64 " noted\n", c->damages,
			!c->is_fix || !c->damages ? ""
			: c->unmended             ? ", which is mended but for pidb.db"
						  : ", which is mended",
			c->notes);
	if (c->is_running && (c->damages || c->notes))
		fputs("qm runs: what it is doing may look unfinished; stop it to be sure\n", out);
	else if (c->damages > c->unmended && !c->is_fix)
		fputs("with qm stopped, garner cache check --fix mends this\n", out);
	else if (c->damages > c->unknown_files + c->unmended)
		fputs("a full set is wanted of all providers now\n", out);
}

static const struct column rest_columns[] = {
	COL("stored", struct check, rows),         COL("queued", struct check, queued),
	COL("wrong", struct check, damages),       COL("noted", struct check, notes),
	COL("elsewhere", struct check, elsewhere), COL("fixed", struct check, is_fix),
	COL("qm_runs", struct check, is_running),
};
static const struct rows rest_rows = {ROWS(struct check, rest_columns)};

static void rest_json(struct check *c)
{
	jsonw_array_end(&c->json);
	rows_json_members(&rest_rows, c, &c->json);
	jsonw_object_end(&c->json);
	buf_add_byte(&c->out, '\n');
	cmd_flush(c->call, &c->out);
}

static int check_all(struct check *c, struct err *err)
{
	*err = (struct err){0};
	c->is_running = !c->is_fix && qm_runs(c->data);
	if (c->is_json) {
		jsonw_object(&c->json);
		jsonw_put_array(&c->json, "findings");
	}
	int rc = cache_is_there(c->folder) ? database_open(c, err) : 1;
	if (rc == 0) {
		botm_machines_each(c->config, c->data, machine_add, c);
		rc = c->err.code == ERR_NONE ? database_check(c, err) : (*err = c->err, -1);
	}
	if (rc < 0)
		return -1;
	if (c->is_json)
		rest_json(c);
	else if (rc == 1)
		fprintf(stderr, "garner: there is no cache in %s yet\n", c->data);
	else
		rest_print(c);
	return (c->is_fix ? c->unmended : c->damages) ? ERR_DAMAGED : rc;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct check_options *o = call->options;
	struct check *c = mem_alloc(sizeof *c);
	*c = (struct check){
		.call = call, .is_fix = o->fix, .is_json = o->json, .out = BUF_INIT(1 << 16)};
	c->json = JSONW_INIT(&c->out);
	int code = cmd_config_data(call, &c->config, c->data, err);
	snprintf(c->folder, sizeof c->folder, "%s/cache", c->data);
	if (code == 0)
		code = check_all(c, err);
	for (size_t i = 0; i < c->machines; i++)
		botm_files_free(&c->machine[i].files);
	db_close(&c->db);
	config_free(&c->config);
	buf_free(&c->out);
	mem_free(&c);
	return code;
}

static const struct cmd_option options[] = {
	CMD_FLAG(0, "fix", struct check_options, fix,
		 "mend what is wrong, and build QPSDB again from QDB; qm must not run"),
	CMD_FLAG(0, "json", struct check_options, json, "print everything as JSON"),
};

const struct command cache_check_command = {
	.name = "check",
	.summary = "check rows, files, and the order of the queue",
	.description =
		"Checks the rows of cache.db, whether the queue's order (QPSDB) is that of its "
		"rows (QDB), and whether each row has its file and each file its row, in the "
		"folders of the botms that settings of this machine name; and the providers in "
		"pidb.db, which it does not mend. What a running cache is "
		"doing just now may look unfinished.\n\nWith --fix, what is wrong is mended: a row "
		"without its file is an error of which its provider is told, a file without a row "
		"is deleted when qm and its botm run again, and the order of the queue is made "
		"anew. A database that "
		"cannot be read, or has damaged pages, is set aside, and begun anew. Where "
		"something may have been lost, a full set is wanted of all providers.",
	CMD_OPTIONS(options, struct check_options),
	CMD_EXAMPLES({"garner cache check", "what is wrong"},
		     {"garner cache check --fix", "mend it"}),
	CMD_EXITS({1, "there is no cache yet"}, {ERR_DAMAGED, "something is wrong, and still is"},
		  {ERR_BUSY, "qm runs, so nothing was mended"}),
	.run = run,
};
