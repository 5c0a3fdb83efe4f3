/* garner check: verifies the files below the data directory, each by its format and against other
 * files that refer to it, and says what to do about damaged ones. */
#include "base/file.h"
#include "base/rows.h"
#include "bucket/bucket_shake.h"
#include "cmd/command.h"
#include "state/state.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 64 }; /* folders in folders; ours are not that deep */

enum verdict { SOUND, UNKNOWN, NOTED, DAMAGED, UNREADABLE, NVERDICTS };
static const char *const verdict_names[NVERDICTS] = {"sound", "unknown", "noted", "damaged",
						     "unreadable"};

struct check_options {
	bool json, all;
};

struct check {
	const struct cmd_call *call;
	bool as_json, all;
	struct jsonw json;
	struct buf *out; /* of the json, one entry at a time */
	uint64_t count[NVERDICTS], files;
};

struct problem {
	const char *path, *verdict, *format, *reason, *remedy;
};
static const struct column problem_columns[] = {
	COL("path", struct problem, path),     COL("verdict", struct problem, verdict),
	COL("format", struct problem, format), COL("reason", struct problem, reason),
	COL("remedy", struct problem, remedy),
};
static const struct rows problem_rows = {ROWS(struct problem, problem_columns)};

static void report_problem(struct check *c, enum verdict verdict, const char *path,
			   const struct format *format, const struct err *err)
{
	const struct problem problem = {path, verdict_names[verdict], format ? format->name : NULL,
					err->msg,
					verdict == DAMAGED && format ? format->remedy : NULL};
	c->count[verdict]++;
	if (!c->as_json) {
		fprintf(c->call->out, "%s: %s%s%s\n", problem.verdict, err->msg,
			problem.remedy ? "; " : "", problem.remedy ? problem.remedy : "");
		return;
	}
	rows_json(&problem_rows, &problem, &c->json);
	cmd_flush(c->call, c->out);
}

static void count_unknown(struct check *c, const char *path)
{
	struct err err;
	if (!c->all) {
		c->count[UNKNOWN]++;
		return;
	}
	err_set(&err, ERR_NONE, "%s", path);
	report_problem(c, UNKNOWN, path, NULL, &err);
}

/* What recovery has set aside. */
static bool is_set_aside(const char *path, struct err *err)
{
	if (!str_ends(str_of(path), STR(".damaged")) &&
	    !str_ends(str_of(path), STR(".damaged-wal")) &&
	    !str_ends(str_of(path), STR(".damaged-shm")))
		return false;
	err_set(err, ERR_NONE, "%s: was damaged and is set aside; remove it when nobody wants it",
		path);
	return true;
}

/* What is being written, or was when its process ended: it counts once it has its name, and the
 * next process begins it again. */
static bool is_unfinished(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	return (name[0] == '.' && str_ends(str_of(name), STR(".new"))) || file_is_temporary(name);
}

/* A state that is being removed file by file is ignored. */
static bool is_going(const char *path)
{
	const char *slash = strrchr(path, '/');
	return (slash ? slash[1] : path[0]) == '.' && str_ends(str_of(path), STR(".gone"));
}

/* A file that others were held against, and that is not there any more, proves nothing: they may
 * have gone first. */
static bool is_removed(const char *path)
{
	struct stat st;
	return lstat(path, &st) < 0 && errno == ENOENT;
}

static int verify_file(const struct format *f, const char *path, struct err *err)
{
	int rc = format_verify(f, path, err);
	/* the one file that a room knows something of which the room of the format may not use */
	if (rc >= 0 && f == &bucket_format && states_know_objects(path, err) < 0)
		rc = -1;
	return rc;
}

static void check_file(struct check *c, const char *path)
{
	const struct program *p = c->call->program;
	const struct format *f = NULL;
	struct err err;
	if (is_unfinished(path)) {
		count_unknown(c, path);
		return;
	}
	int rc = is_set_aside(path, &err) ? FORMAT_NOTED
					  : format_of(p->formats, p->nformats, path, &f, &err);
	if (rc == 0)
		rc = verify_file(f, path, &err);
	if (rc == FORMAT_NOTED)
		report_problem(c, NOTED, path, f, &err);
	else if (rc == 0)
		c->count[SOUND]++;
	else if (rc > 0)
		count_unknown(c, path);
	else if (err.sys_errno != ENOENT && !is_removed(path)) /* else it was replaced meanwhile */
		report_problem(c,
			       err.code == ERR_DAMAGED || (f && err.code == ERR_USAGE) /* version */
				       ? DAMAGED
				       : UNREADABLE,
			       path, f, &err);
}

static void check_path(struct check *c, const char *path, unsigned depth, bool follow);

static void check_folder(struct check *c, const char *path, unsigned depth)
{
	struct dir d;
	struct err err;
	const char *name;
	char below[PATH_MAX];
	int rc = depth > DEPTH_MAX
			 ? err_set(&err, ERR_SYSTEM, "%s: %d folders deep, not looked into", path,
				   DEPTH_MAX)
			 : dir_init(&d, path, &err);
	if (rc < 0)
		report_problem(c, UNREADABLE, path, NULL, &err);
	if (rc != 0)
		return;
	while (dir_next(&d, &name) == 0) {
		bool slash = path[strlen(path) - 1] == '/';
		int n = snprintf(below, sizeof below, "%s%s%s", path, slash ? "" : "/", name);
		if (n < (int)sizeof below) {
			check_path(c, below, depth + 1, false);
			continue;
		}
		err_set(&err, ERR_SYSTEM, "%.200s...: the path is too long", path);
		report_problem(c, UNREADABLE, path, NULL, &err);
	}
	dir_done(&d);
}

/* Sockets, links and the like are not files of ours. */
static void check_path(struct check *c, const char *path, unsigned depth, bool follow)
{
	struct stat st;
	struct err err;
	if ((follow ? stat(path, &st) : lstat(path, &st)) < 0) {
		if (!follow && errno == ENOENT)
			return;
		err_sys(&err, "%s", path);
		report_problem(c, UNREADABLE, path, NULL, &err);
	} else if (S_ISDIR(st.st_mode) && !(depth > 0 && is_going(path))) {
		check_folder(c, path, depth);
	} else if (S_ISREG(st.st_mode)) {
		check_file(c, path);
	}
}

static const struct column count_columns[] = {
	COL("files", struct check, files),
	COL("sound", struct check, count[SOUND]),
	COL("unknown", struct check, count[UNKNOWN]),
	COL("noted", struct check, count[NOTED]),
	COL("damaged", struct check, count[DAMAGED]),
	COL("unreadable", struct check, count[UNREADABLE]),
};
static const struct rows count_rows = {ROWS(struct check, count_columns)};

static void print_counts(struct check *c)
{
	for (int i = 0; i < NVERDICTS; i++)
		c->files += c->count[i];
	if (c->as_json) {
		jsonw_array_end(&c->json);
		rows_json_members(&count_rows, c, &c->json);
		jsonw_object_end(&c->json);
		buf_add_byte(c->out, '\n');
		cmd_flush(c->call, c->out);
		return;
	}
	fprintf(c->call->out, "%llu file%s:", (unsigned long long)c->files,
		c->files == 1 ? "" : "s");
	for (int i = 0; i < NVERDICTS; i++)
		fprintf(c->call->out, "%s %llu %s", i ? "," : "", (unsigned long long)c->count[i],
			verdict_names[i]);
	fputc('\n', c->call->out);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct check_options *options = call->options;
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 16);
	struct check c = {.call = call, .as_json = options->json, .all = options->all, .out = &out};
	char data[PATH_MAX];
	if (call->argc == 0 && cmd_data(call, data, err) < 0)
		return -1;
	c.json = JSONW_INIT(&out);
	if (c.as_json) {
		jsonw_object(&c.json);
		jsonw_put_array(&c.json, "problems");
	}
	if (call->argc == 0)
		check_path(&c, data, 0, true);
	for (int i = 0; i < call->argc; i++)
		check_path(&c, call->argv[i], 0, true);
	print_counts(&c);
	return c.count[DAMAGED] ? ERR_DAMAGED : c.count[UNREADABLE] ? ERR_PARTLY : 0;
}

static const struct cmd_option check_options[] = {
	CMD_FLAG('a', "all", struct check_options, all, "also name the files of unknown formats"),
	CMD_FLAG(0, "json", struct check_options, json, "print everything as JSON"),
};

const struct command check_command = {
	.name = "check",
	.summary = "verify the files that garner keeps on disk",
	.description =
		"Verifies every file of a known format below each PATH, by default the data "
		"directory, and names each damaged one with the reason and what to do about it. "
		"Files are also compared with what others know of them: a file of the crawl that "
		"is shorter than a checkpoint says is damaged. Leftovers that the next start "
		"repairs, such as an incomplete end, are reported as notes. Files of other "
		"formats, and those that are not finished (.NAME.new), are counted as unknown; "
		"--all names them. "
		"Symbolic links below PATH are not followed. Nothing is "
		"changed, and the files may be in use.",
	CMD_OPTIONS(check_options, struct check_options),
	CMD_ARGS("[PATH...]", 0, -1, "files and folders; by default the data directory"),
	CMD_EXAMPLES({"garner check", "everything below the data directory"},
		     {"garner check run/counters", "one folder"}),
	CMD_EXITS({ERR_PARTLY, "something could not be read"},
		  {ERR_DAMAGED, "a file is damaged or of another version"}),
	.run = run,
};
