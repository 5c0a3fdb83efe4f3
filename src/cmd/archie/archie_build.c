/* garner archie build: builds databases from listings. */
#include "archie/build.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rows.h"
#include "cmd/archie/archie.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"
#include "extract/cage_section.h"

#include <inttypes.h>
#include <unistd.h>

struct build_command_options {
	const char *site;
	bool json, log;
};

struct building {
	const struct cmd_call *call;
	const struct build_command_options *o;
	uint64_t told, built, failed;
	struct buf out;
	bool terminal;
	int64_t began_us, said_us;
};

#define PROGRESS_US (500 * US_PER_MS)

static void clear_progress(const struct building *all)
{
	if (all->terminal)
		fprintf(stderr, "\r\033[K");
}

static void show_progress(void *ctx, const struct archie_progress *p)
{
	struct building *all = ctx;
	CLEANUP(buf_free) struct buf line = BUF_INIT(1 << 10);
	int64_t now_us = clock_mono_us(), took_us = MAX(now_us - all->began_us, 1);
	if (!all->terminal || (!p->writing && now_us - all->said_us < PROGRESS_US))
		return;
	put_safe(&line, str_head(p->key, 40));
	buf_printf(&line, ": %" PRIu64 " files, %.0f files/s", p->files,
		   (double)p->files * 1e6 / (double)took_us);
	if (p->done && !p->writing) {
		double rest = (double)(p->total - p->done) / (double)p->done;
		int64_t left_s = (int64_t)((double)took_us * rest / 1e6) + 1;
		buf_printf(&line, ", %.0f %%, ", 100.0 * (double)p->done / (double)p->total);
		duration_print_short(&line, left_s * US_PER_S);
		buf_add_text(&line, " left");
	}
	if (p->writing)
		buf_add_text(&line, ", writing its database");
	clear_progress(all);
	fprintf(stderr, "%s", buf_text(&line));
	(void)fflush(stderr);
	all->said_us = now_us;
}

static const char *outcome_of(const struct archie_built *b)
{
	static const char *const words[] = {"built", "not newer", "dropped"};
	return b->rc < 0 ? "failed" : words[MIN(b->rc, 2)];
}

static void print_outcome(const void *row, struct buf *out)
{
	buf_add_text(out, outcome_of(row));
}

static void print_error(const void *row, struct buf *out)
{
	const struct archie_built *b = row;
	buf_add_text(out, b->rc < 0 ? b->err.msg : "");
}

static const struct column built_columns[] = {
	COL("site", struct archie_built, key),
	COL_OF_ROW("outcome", struct archie_built, print_outcome),
	COL_OF_ROW("error", struct archie_built, print_error, .how = ROW_SOME),
	COL("files", struct archie_built, stats.entries),
	COL("lines", struct archie_built, stats.lines),
	COL("bad_lines", struct archie_built, stats.bad),
	COL("seconds", struct archie_built, took_us, .unit = UNIT_US_S),
};
static const struct rows built_rows = {ROWS(struct archie_built, built_columns)};

static void put_text(struct buf *out, const struct archie_built *b)
{
	put_safe(out, b->key);
	buf_printf(out, ": %s", outcome_of(b));
	if (b->rc == 0) {
		buf_printf(out, ", %" PRIu64 " files in ", b->stats.entries);
		duration_print_short(out, b->took_us);
	}
	if (b->rc == 0 && b->stats.bad)
		buf_printf(out,
			   ", %" PRIu64 " of %" PRIu64 " lines left out, the first is %" PRIu64,
			   b->stats.bad, b->stats.lines, b->stats.bad_line[0]);
	if (b->rc < 0) {
		buf_add_text(out, ": ");
		put_safe(out, str_of(b->err.msg));
	}
	buf_add_byte(out, '\n');
}

static void log_built(const struct archie_built *b)
{
	if (b->rc < 0)
		log_warn(ROLE, "database not built", KV_STR("site", b->key),
			 KV_TEXT("error", b->err.msg));
	else
		log_info(ROLE, "database", KV_STR("site", b->key),
			 KV_TEXT("outcome", outcome_of(b)), KV_UINT("files", b->stats.entries),
			 KV_UINT("bad_lines", b->stats.bad), KV_DURATION("took", b->took_us));
}

static void say_built(void *ctx, const struct archie_built *b)
{
	struct building *all = ctx;
	all->built += b->rc == 0 || b->rc == 2;
	all->failed += b->rc < 0;
	all->told++;
	if (all->o->log) {
		log_built(b);
		return;
	}
	clear_progress(all);
	if (all->o->json)
		rows_json_line(&built_rows, b, &all->out);
	else
		put_text(&all->out, b);
	cmd_flush(all->call, &all->out);
	(void)fflush(all->call->out);
}

static int run_all(struct building *all, const struct archie_build_options *o,
		   struct archie_list *list, struct err *err)
{
	const struct cmd_call *call = all->call;
	struct str *key = NULL;
	size_t n = 0, room = 0;
	for (int i = 0; i < call->argc; i++) {
		struct str what = str_of(call->argv[i]);
		size_t at = 0;
		const struct archie_site *site = archie_sites_find(&list->sites, what, &at);
		if (!site) /* a key without a line */
			*ARENA_PUSH(&list->arena, key, n, room) = what;
		for (; site; site = archie_sites_find(&list->sites, what, &at))
			*ARENA_PUSH(&list->arena, key, n, room) = site->key;
	}
	return archie_build(o, &list->sites, key, n, say_built, all, err);
}

static int run_one(struct building *all, const struct archie_build_options *o,
		   const struct archie_list *list, struct err *err)
{
	struct archie_built built;
	int rc = archie_build_file(o, &list->sites, str_of(all->o->site), all->call->argv[0],
				   &built, err);
	if (rc >= 0)
		say_built(all, &built);
	return rc;
}

static int build_with(struct building *all, struct archie_list *list, struct err *err)
{
	struct cage_options cage;
	char program[CAGE_PATH_MAX];
	const struct global_conf *global = config_get(list->config, &global_section);
	const struct archie_build_options o = {
		.folder = list->folder,
		.data = list->data,
		.parser = program,
		.memory = list->conf->memory,
		.errors_max_percent = (uint32_t)list->conf->errors_max,
		.listing_max = list->conf->listing_max,
		.disk_free = global->disk_free,
		.progress = show_progress,
		.progress_ctx = all,
	};
	if (cage_section_options(config_get(list->config, &cage_section), program, &cage, err) < 0)
		return -1;
	return all->o->site[0] ? run_one(all, &o, list, err) : run_all(all, &o, list, err);
}

static int run_build(const struct cmd_call *call, struct err *err)
{
	const struct build_command_options *o = call->options;
	CLEANUP(archie_close_list) struct archie_list list = {0};
	struct building all = {.call = call,
			       .o = o,
			       .out = BUF_INIT(1 << 20),
			       .terminal = !o->log && isatty(STDERR_FILENO),
			       .began_us = clock_mono_us()};
	if (o->site[0] && call->argc != 1)
		return err_set(err, ERR_USAGE, "--site wants one FILE");
	if (archie_open_list(call, &list, err) < 0)
		return -1;
	if (o->log)
		log_start("archie-getter", STDERR_FILENO);
	int rc = build_with(&all, &list, err);
	clear_progress(&all);
	buf_free(&all.out);
	if (rc < 0)
		return -1;
	if (!all.told && !o->log)
		fprintf(stderr, "garner: no listing waits; see garner archie sites list\n");
	return all.failed ? ERR_PARTLY : all.built ? 0 : 1;
}

#define S struct build_command_options
static const struct cmd_option options[] = {
	CMD_OPTION(0, "KEY", "site", VALUE_TEXT_AT(S, site),
		   .help = "build this site from FILE, which stays where it is"),
	CMD_FLAG('j', "json", S, json, "print JSON, a line for each site"),
	CMD_FLAG(0, "log", S, log, "report in the log, as if the role archie-getter did it"),
};
#undef S

const struct command archie_build_command = {
	.name = "build",
	.summary = "make databases of listings",
	.description =
		"Builds every site whose listing in archie/lslr is newer than its database, or "
		"only the sites named, and drops the databases of sites that are not listed any "
		"more. The role archie-getter does this by itself after each night.\n\nA site is "
		"replaced in one step: searches find the old files until the new ones are all "
		"there. A listing is removed once it is built; one that is refused is moved to "
		"archie/failed, and the old database stays.\n\nWith --site KEY, a site is built "
		"from a file, packed or not, as ls -lR prints it. KEY is NAME-ADDRESS, "
		"such as ftp.example.org-192.0.2.7, or NAME,PORT-ADDRESS; the site need not be "
		"listed. The file was made when it was last written: that gives dates without a "
		"year theirs, so a copy should keep its time (cp -p, curl -R), or get it by touch.",
	CMD_OPTIONS(options, struct build_command_options),
	CMD_ARGS("[KEY...]", 0, -1,
		 "sites by their KEYs, as garner archie sites list shows them, or as in garner "
		 "archie get; with --site: FILE"),
	CMD_EXITS({1, "nothing was to be built"}, {ERR_PARTLY, "a site could not be built"},
		  {ERR_DAMAGED, "the names index is damaged"}, {ERR_BUSY, "another process builds"},
		  {ERR_SYSTEM, "a file cannot be read or written"},
		  {ERR_REMOTE, "garner-parse failed"}),
	CMD_EXAMPLES({"garner archie build", "what was fetched becomes searchable"},
		     {"garner archie build --site ftp.example.org-192.0.2.7 ls-lR.gz",
		      "a listing that came by other means"}),
	.run = run_build,
};
