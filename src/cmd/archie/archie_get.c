/* garner archie get: fetches listings of archives now. */
#include "archie/getter.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rows.h"
#include "cmd/archie/archie.h"
#include "cmd/system/text.h"
#include "extract/cage_section.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>

struct getting {
	const struct cmd_call *call;
	struct archie_list list;
	const struct robot_section_conf *robot;
	struct cage_options parse;
	char program[CAGE_PATH_MAX];
	struct loop *loop;
	struct kit kit;
	struct getter *getter;
	struct loop_timer progress;
	bool shows_progress, stopped;
	uint64_t causes[GETTER_NCAUSES];
	int64_t begun_us;
};

#define PROGRESS_US (500 * US_PER_MS)

static void print_progress(void *ctx)
{
	struct getting *g = ctx;
	const struct getter_counts *c = getter_counts(g->getter);
	fprintf(stderr,
		"\r\033[K%" PRIu64 " of %" PRIu64 " sites done, %" PRIu64 " under way, %" PRIu64
		" folders, %.1f MB",
		c->done, c->sites, c->under_way, c->folders, (double)c->bytes / 1e6);
	fflush(stderr);
}

static const char *const ends[] = {"got", "unchanged", "failed", "stopped"};

COL_NAMER(print_method, enum getter_method, getter_method_name)
COL_NAMER(print_cause, unsigned, getter_cause_name)

static const struct column site_columns[] = {
	COL("url", struct archie_site, url),
	COL("key", struct archie_site, key),
};
static const struct rows site_rows = {ROWS(struct archie_site, site_columns)};

#define S struct getter_told
static const struct column got_columns[] = {
	COL_OF("method", S, method, print_method),
	COL("folders", S, folders, COL_IF_IS(S, method, GETTER_WALK)),
	COL("cut", S, cut, COL_IF_IS(S, method, GETTER_WALK)),
};
static const struct rows got_rows = {ROWS(S, got_columns)};
static const struct column told_columns[] = {
	COL_POINTER(NULL, S, site, site_rows),
	COL("end", S, end, COL_NAMES(ends)),
	COL("bytes", S, bytes),
	COL_GROUP(NULL, S, got_rows, COL_IF_IS(S, end, GETTER_GOT)),
	COL_OF("cause", S, cause, print_cause, COL_IF_IS(S, end, GETTER_FAILED)),
	COL("why", S, why, COL_IF_IS(S, end, GETTER_FAILED)),
	COL("next", S, next_us, .unit = UNIT_TIME, COL_IF_IS(S, end, GETTER_FAILED)),
};
static const struct rows told_rows = {ROWS(S, told_columns)};
#undef S

static void told_text(const struct getter_told *t, const char *end, struct buf *out)
{
	buf_printf(out, "%-9s ", end);
	put_safe(out, t->site->key);
	if (t->end == GETTER_GOT) {
		buf_printf(out, ": %s, %.1f MB", getter_method_name(t->method),
			   (double)t->bytes / 1e6);
		if (t->method == GETTER_WALK)
			buf_printf(out, ", %" PRIu64 " folders%s", t->folders,
				   t->cut ? ", cut: there is more (archie.walk_max)" : "");
	} else if (t->end == GETTER_FAILED) {
		buf_printf(out, ": %s, ", getter_cause_name(t->cause));
		put_safe(out, str_of(t->why));
	}
	buf_add_byte(out, '\n');
}

static void site_told(void *ctx, const struct getter_told *t)
{
	struct getting *g = ctx;
	const struct cmd_json *o = g->call->options;
	struct buf out = BUF_INIT(1 << 16);
	if (t->end == GETTER_FAILED)
		g->causes[t->cause]++;
	if (t->end == GETTER_STOPPED)
		return;
	if (o->json)
		rows_json_line(&told_rows, t, &out);
	else
		told_text(t, ends[t->end], &out);
	if (g->shows_progress)
		fprintf(stderr, "\r\033[K");
	cmd_print(g->call, &out);
	fflush(g->call->out);
}

static void all_done(void *ctx)
{
	struct getting *g = ctx;
	loop_stop(g->loop);
}

static void on_signal(void *ctx, int number)
{
	struct getting *g = ctx;
	(void)number;
	g->stopped = true;
	loop_stop(g->loop);
}

/* Which sites; 1: there is none that is due. */
static int add_sites(struct getting *g, struct err *err)
{
	const struct cmd_call *call = g->call;
	const struct archie_sites *s = &g->list.sites;
	int64_t now_us = clock_wall_us();
	CLEANUP(mem_free) bool *chosen = mem_array(s->n + 1, sizeof *chosen);
	for (int i = 0; i < call->argc; i++) {
		size_t at = 0;
		const struct archie_site *site = archie_sites_find(s, str_of(call->argv[i]), &at);
		if (!site)
			return err_set(err, ERR_USAGE,
				       "%s: there is no such site; see garner archie "
				       "sites list",
				       call->argv[i]);
		for (; site; site = archie_sites_find(s, str_of(call->argv[i]), &at))
			chosen[site - s->site] = true;
	}
	for (size_t i = 0; i < s->n; i++)
		if ((call->argc == 0 || chosen[i]) &&
		    getter_wants(g->getter, &s->site[i], call->argc > 0, now_us))
			getter_add(g->getter, &s->site[i]);
	return getter_counts(g->getter)->sites == 0;
}

static int open_all(struct getting *g, struct err *err)
{
	const struct config *config = g->list.config;
	const struct global_conf *global = config_get(config, &global_section);
	g->robot = config_get(config, &robot_section);
	if (cage_section_options(config_get(config, &cage_section), g->program, &g->parse, err) <
		    0 ||
	    loop_new(&g->loop, NULL, err) < 0 ||
	    kit_open(&g->kit, g->loop, g->list.data, g->robot, err) < 0)
		return -1;
	struct getter_options o = {.folder = g->list.folder,
				   .data = g->list.data,
				   .conf = g->list.conf,
				   .robot = g->robot,
				   .kit = &g->kit,
				   .parse = &g->parse,
				   .disk_free = global->disk_free,
				   .told = site_told,
				   .done = all_done,
				   .ctx = g};
	g->progress = (struct loop_timer){.fn = print_progress, .ctx = g};
	if (getter_new(&g->getter, &o, err) < 0)
		return -1;
	return getter_forget(g->getter, &g->list.sites, err);
}

static void close_all(struct getting *g)
{
	struct err err;
	if (g->getter)
		getter_stop(g->getter);
	robot_free(&g->kit.robot);
	getter_free(&g->getter);
	if (kit_close(&g->kit, &err) < 0)
		log_warn(MAIN, "cannot save the robots.txt cache", KV_TEXT("error", err.msg));
	if (g->loop) {
		loop_timer_stop(&g->progress);
		loop_free(&g->loop);
	}
	archie_close_list(&g->list);
}

static void print_summary(const struct getting *g)
{
	const struct cmd_json *o = g->call->options;
	const struct getter_counts *c = getter_counts(g->getter);
	struct buf out = BUF_INIT(1 << 16);
	if (o->json)
		return;
	buf_printf(&out,
		   "\n%" PRIu64 " of %" PRIu64 " sites: %" PRIu64 " got, %" PRIu64
		   " unchanged, %" PRIu64 " failed",
		   c->done, c->sites, c->got, c->unchanged, c->failed);
	bool first = true;
	for (unsigned i = 0; i < GETTER_NCAUSES; i++)
		if (g->causes[i]) {
			buf_printf(&out, "%s%" PRIu64 " %s", first ? " (" : ", ", g->causes[i],
				   getter_cause_name(i));
			first = false;
		}
	buf_printf(&out, "%s; %.1f MB in ", first ? "" : ")", (double)c->bytes / 1e6);
	duration_print_short(&out, clock_mono_us() - g->begun_us);
	buf_add_byte(&out, '\n');
	cmd_print(g->call, &out);
}

/* The exit code. */
static int run_all(struct getting *g, struct err *err)
{
	g->begun_us = clock_mono_us();
	if (open_all(g, err) < 0)
		return -1;
	int rc = add_sites(g, err);
	if (rc == 1)
		return err_set(err, ERR_NOTHING, "%s",
			       g->list.sites.n
				       ? "no site is due; see garner archie sites list"
				       : "there are no sites yet; garner archie sites add URL");
	if (rc < 0 || loop_signal(g->loop, SIGINT, on_signal, g, err) < 0 ||
	    loop_signal(g->loop, SIGTERM, on_signal, g, err) < 0)
		return -1;
	g->shows_progress = isatty(STDERR_FILENO);
	if (g->shows_progress)
		loop_timer_every(g->loop, &g->progress, PROGRESS_US);
	getter_go(g->getter);
	if (loop_run(g->loop, err) < 0)
		return -1;
	loop_timer_stop(&g->progress);
	if (g->shows_progress)
		fprintf(stderr, "\r\033[K");
	print_summary(g);
	const struct getter_counts *c = getter_counts(g->getter);
	if (c->failed == 0 && !g->stopped)
		return 0;
	return c->got + c->unchanged || g->stopped ? ERR_PARTLY : ERR_REMOTE;
}

static int run(const struct cmd_call *call, struct err *err)
{
	struct getting g = {.call = call};
	int code = archie_open_list(call, &g.list, err);
	if (code == 0)
		code = run_all(&g, err);
	close_all(&g);
	return code;
}

const struct command archie_get_command = {
	.name = "get",
	.summary = "fetch the listings of sites that are due",
	.description =
		"A site is due if it has no database, or one that is older than its max_age "
		"(archie.max_age). The listing comes from a file that the site keeps (ls-lR.gz, "
		"ls-lR.xz, ls-lR.Z or ls-lR, in the folder of its URL, in /pub/ or in /PUB/), if "
		"that is newer than the last one; else from FTP's LIST -lR; else from a walk of "
		"its folders, at most archie.walk_max of them. It is put into archie/lslr, where "
		"garner archie build finds it. Where the file that the database was made of has "
		"not changed, the database is current: its age counts from then on.\n\n"
		"robots.txt and the delay between requests hold as always. A site that fails "
		"keeps its database and is left alone for a while, unless it is named here.",
	CMD_JSON(0, "a line of JSON for each site, and no summary"),
	CMD_ARGS("[SITE...]", 0, -1, "URLs, host names or KEYs of sites; without any, all"),
	CMD_EXAMPLES({"garner archie get", "all sites that are due"},
		     {"garner archie get ftp.example.org", "one of them"}),
	CMD_EXITS({1, "no site is due"}, {ERR_PARTLY, "some sites failed, or it was interrupted"},
		  {ERR_BUSY, "another getter is running"}, {ERR_REMOTE, "all sites failed"}),
	.run = run,
};
