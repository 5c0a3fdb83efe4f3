/* garner archie find: searches for files on archive servers, the least busy one first. The layouts
 * are those of the old clients, so that scripts that read them keep working. */
#include "cmd/archie/archie_find.h"

#include "archie/archie.h"
#include "archie/archie_conf.h"
#include "archie/ng_role.h"
#include "archie/ng_vars.h"
#include "base/clock.h"
#include "base/rows.h"
#include "cmd/archie/archie.h"
#include "cmd/commands.h"
#include "cmd/system/text.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

enum {
	LINES_MOST = 1 << 20,
	OLD_DAYS = 183, /* half a year: then the year is told, not the time of day */
};

struct find_options {
	bool path, json, list, alex, newest, reverse, mirrors;
	int type, syntax, sort;
	int64_t limit, offset, maxmatch, maxhitspm, niceness;
	uint64_t larger, smaller;
	int64_t newer_us, older_us, timeout_us;
	struct value_list site, domain, component, kind, server;
};

struct finding {
	const struct cmd_call *call;
	const struct find_options *o;
	struct arena arena;
	struct find_servers servers;
	struct find_answer answer;
	const char *server; /* which has answered */
};

/* What is asked */

static const char *const type_words[] = {"exact",     "sub",           "subcase",     "regex",
					 "exact_sub", "exact_subcase", "exact_regex", NULL};
static const char *const sort_words[] = {"none", "filename", "hostname", "size", "time", NULL};

static int set_list(struct buf *out, const char *name, const struct value_list *list,
		    char separator, struct err *err)
{
	if (!list->n)
		return 0;
	buf_printf(out, "SET %s ", name);
	for (size_t i = 0; i < list->n; i++) {
		struct str item = str_of(list->item[i]);
		if (str_find_byte(item, separator) < item.n || str_has_control(item))
			return err_set(err, ERR_USAGE,
				       "a part of %s has a '%c', or a control character", name,
				       separator);
		if (i)
			buf_add_byte(out, separator);
		buf_add_str(out, item);
	}
	buf_add_byte(out, '\n');
	return 0;
}

static void set_number(struct buf *out, const char *name, uint64_t v)
{
	if (v)
		buf_printf(out, "SET %s %" PRIu64 "\n", name, v);
}

/* Limits of time count from now. */
static void set_time(struct buf *out, const char *name, int64_t age_us)
{
	if (!age_us)
		return;
	buf_printf(out, "SET %s ", name);
	ng_time_print(out, MAX((clock_wall_us() - age_us) / US_PER_S, INT64_C(0)));
	buf_add_byte(out, '\n');
}

static const char *sort_of(const struct find_options *o)
{
	return sort_words[o->newest ? NAMES_BY_TIME : o->sort];
}

static int lines_of(const struct find_options *o, struct str string, struct buf *out,
		    struct err *err)
{
	if (!string.n || str_find_byte(string, '\n') < string.n ||
	    str_find_byte(string, '\r') < string.n)
		return err_set(err, ERR_USAGE, "expected a STRING of one line");
	buf_printf(out, "SET search %s\nSET syntax %s\n", type_words[o->type],
		   ng_syntax_words[o->syntax]);
	buf_printf(out, "SET sortby %s%s\n", o->reverse ? "r" : "", sort_of(o));
	buf_printf(out, "SET maxhits %" PRId64 "\n", o->limit);
	if (o->path)
		buf_add_text(out, "SET path yes\n");
	if (o->mirrors)
		buf_add_text(out, "SET mirrors yes\n");
	set_number(out, "maxmatch", (uint64_t)o->maxmatch);
	set_number(out, "maxhitspm", (uint64_t)o->maxhitspm);
	set_number(out, "offset", (uint64_t)o->offset);
	set_number(out, "niceness", (uint64_t)o->niceness);
	set_number(out, "size_min", o->larger);
	set_number(out, "size_max", o->smaller);
	set_time(out, "time_min", o->newer_us);
	set_time(out, "time_max", o->older_us);
	if (set_list(out, "match_domain", &o->domain, ':', err) < 0 ||
	    set_list(out, "match_path", &o->component, ':', err) < 0 ||
	    set_list(out, "match_site", &o->site, ' ', err) < 0 ||
	    set_list(out, "kind", &o->kind, ' ', err) < 0)
		return -1;
	buf_printf(out, "FIND " STR_FMT "\n", STR_ARG(string));
	return out->over ? err_set(err, ERR_USAGE, "this is too much to ask") : 0;
}

/* Who is asked */

/* NULL: it listens on a port that nobody can know. */
static const char *local_address(struct finding *f, const struct config *config)
{
	const char *listen = archie_ng_listen(config);
	if (str_ends(str_of(listen), STR(":0")))
		return NULL;
	if (str_starts(str_of(listen), STR("*:")))
		return arena_printf(&f->arena, "localhost%s", listen + 1);
	return listen;
}

static void add_unknown(struct finding *f, const char *address)
{
	if (f->servers.n < FIND_SERVERS_MOST)
		f->servers.server[f->servers.n++] = (struct find_server){.address = address};
}

/* Those that were named, or the local one and what it knows; where that is away, those of the
 * configuration. */
static int find_candidates(struct finding *f, const struct config *config, struct err *err)
{
	const struct archie_conf *conf = config_get(config, &archie_section);
	const struct find_options *o = f->o;
	const char *local = local_address(f, config);
	struct err ignored;
	for (size_t i = 0; i < o->server.n; i++)
		if (o->server.n == 1 ||
		    find_load(o->server.item[i], false, &f->arena, &f->servers, &ignored) < 0)
			add_unknown(f, o->server.item[i]);
	if (o->server.n == 0 && !local && conf->servers.n == 0)
		return err_set(err, ERR_USAGE,
			       "no server is known: set archie-ng.listen, archie.servers or "
			       "--server (with net.port = 0 there is no default)");
	if (o->server.n == 0 &&
	    (!local || find_load(local, true, &f->arena, &f->servers, &ignored) < 0)) {
		if (local)
			add_unknown(f, local);
		for (size_t i = 0; i < conf->servers.n; i++)
			add_unknown(f, conf->servers.item[i]);
	}
	find_order(&f->servers);
	return 0;
}

static int find_answer_of(struct finding *f, struct str lines, struct err *err)
{
	for (size_t i = 0; i < f->servers.n; i++) {
		f->server = f->servers.server[i].address;
		if (find_ask(f->server, lines, f->o->timeout_us, &f->arena, &f->answer, err) == 0)
			return 0;
		if (err->code != ERR_REMOTE)
			return -1;
		if (i + 1 < f->servers.n)
			fprintf(stderr, "garner: %s; asking the next server\n", err->msg);
	}
	/* nobody was named, and nobody listens */
	if (f->servers.n == 1 && !f->o->server.n && err->sys_errno == ECONNREFUSED)
		(void)err_then(err, "garner up runs servers, if up.roles names archie-ng and "
				    "archie-queuer");
	return -1;
}

/* What is printed. Programs read columns of these layouts: what a listing does not tell is a size
 * of 0, modes without a permission, and a dash or zeroes for a time, as in the layouts of the
 * shell. */

/* The next label from the end; 1: none is left. */
static int label_before(struct str *rest, struct str *ret)
{
	if (!rest->n)
		return 1;
	size_t from = str_after_last(*rest, '.');
	*ret = str_from(*rest, from);
	rest->n = from ? from - 1 : 0;
	return 0;
}

/* By the last label first, as the old client does. */
static int host_cmp(struct str a, struct str b)
{
	struct str x, y;
	for (;;) {
		int ends_a = label_before(&a, &x), ends_b = label_before(&b, &y);
		if (ends_a || ends_b)
			return ends_b - ends_a;
		int rc = str_cmp(x, y);
		if (rc)
			return rc;
	}
}

static int hit_cmp(const void *left, const void *right)
{
	const struct find_hit *a = left, *b = right;
	int rc = host_cmp(a->host, b->host);
	if (!rc)
		rc = str_cmp(a->dir, b->dir);
	return rc ? rc : str_cmp(a->name, b->name);
}

static int hit_cmp_reverse(const void *left, const void *right)
{
	return hit_cmp(right, left);
}

static bool is_dir(const struct find_hit *h)
{
	return str_is(h->kind, "dir");
}

static void put_date(struct buf *out, int64_t time_s)
{
	static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
					 "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	struct tm tm;
	time_t t = (time_t)time_s;
	int64_t now_s = clock_wall_us() / US_PER_S;
	if (time_s == -1 || !gmtime_r(&t, &tm))
		buf_printf(out, "%11s", "-");
	else if (time_s > now_s || now_s - time_s > (int64_t)OLD_DAYS * 86400)
		buf_printf(out, "%s %2d %4d", months[tm.tm_mon], tm.tm_mday, tm.tm_year + 1900);
	else
		buf_printf(out, "%s %2d %02d:%02d", months[tm.tm_mon], tm.tm_mday, tm.tm_hour,
			   tm.tm_min);
}

static void put_size(struct buf *out, int64_t size, int width)
{
	buf_printf(out, "%*" PRId64, width, MAX(size, INT64_C(0)));
}

static void put_mode(struct buf *out, const struct find_hit *h)
{
	if (str_is(h->mode, "-"))
		buf_add_text(out, is_dir(h) ? "d---------" : "----------");
	else
		put_safe(out, h->mode);
}

static void put_machine_time(struct buf *out, int64_t time_s)
{
	size_t before = out->n;
	ng_time_print(out, time_s);
	if (str_is(str_from(buf_str(out), before), "-")) {
		out->n = before;
		buf_add_text(out, "00000000000000Z");
	}
}

static void put_path(struct buf *out, const struct find_hit *h)
{
	buf_add_byte(out, '/');
	put_safe(out, h->dir);
	if (h->dir.n)
		buf_add_byte(out, '/');
	put_safe(out, h->name);
}

/* before: the hit that was printed last; NULL: none. */
static void put_grouped(struct buf *out, const struct find_hit *h, const struct find_hit *before)
{
	bool other = !before || !str_eq(before->host, h->host);
	if (other) {
		buf_add_text(out, "\nHost ");
		put_safe(out, h->host);
		buf_add_text(out, "\n\n");
	}
	if (other || !str_eq(before->dir, h->dir)) {
		buf_add_text(out, "    Location: /");
		put_safe(out, h->dir);
		buf_add_byte(out, '\n');
	}
	buf_printf(out, "      %9s ", is_dir(h) ? "DIRECTORY" : "FILE");
	put_mode(out, h);
	buf_add_byte(out, ' ');
	put_size(out, h->size, 10);
	buf_add_text(out, "  ");
	put_date(out, h->time_s);
	buf_add_text(out, "  ");
	put_safe(out, h->name);
	buf_add_byte(out, '\n');
}

static void put_listed(struct buf *out, const struct find_hit *h)
{
	put_machine_time(out, h->time_s);
	buf_add_byte(out, ' ');
	put_size(out, h->size, 6);
	buf_add_byte(out, ' ');
	put_safe(out, h->host);
	buf_add_byte(out, ' ');
	put_path(out, h);
	buf_add_text(out, is_dir(h) ? "/\n" : "\n");
}

static void put_alex(struct buf *out, const struct find_hit *h)
{
	struct str host = h->host, label;
	buf_add_text(out, "/alex");
	while (label_before(&host, &label) == 0) {
		buf_add_byte(out, '/');
		put_safe(out, label);
	}
	put_path(out, h);
}

static void print_path(const void *row, struct buf *out)
{
	const struct find_hit *h = row;
	buf_add_str(out, h->dir);
	buf_add_text(out, h->dir.n ? "/" : "");
	buf_add_str(out, h->name);
}

static void print_mode(const void *member, struct buf *out)
{
	const struct str *mode = member;
	if (!str_is(*mode, "-"))
		buf_add_str(out, *mode);
}

static const struct column hit_columns[] = {
	COL("host", struct find_hit, host),
	COL("address", struct find_hit, address),
	COL("listed", struct find_hit, listed_s, .how = ROW_SOME | ROW_NEG),
	COL("kind", struct find_hit, kind),
	COL_OF("mode", struct find_hit, mode, print_mode, .how = ROW_SOME),
	COL("size", struct find_hit, size, .how = ROW_SOME | ROW_NEG),
	COL("time", struct find_hit, time_s, .how = ROW_SOME | ROW_NEG),
	COL_OF_ROW("path", struct find_hit, print_path),
};
static const struct rows hit_rows = {ROWS(struct find_hit, hit_columns)};
static const struct column finding_columns[] = {
	COL("server", struct finding, server),
	COL("cut", struct finding, answer.cut),
	COL_LIST("hits", struct finding, answer.hit, answer.n, hit_rows),
};
static const struct rows finding_rows = {ROWS(struct finding, finding_columns)};

static void put_hits(struct finding *f, struct buf *out)
{
	const struct find_answer *a = &f->answer;
	for (size_t i = 0; i < a->n; i++) {
		const struct find_hit *h = &a->hit[i];
		if (f->o->alex) {
			if (i)
				buf_add_byte(out, '\n');
			put_alex(out, h);
		} else if (f->o->list) {
			put_listed(out, h);
		} else {
			put_grouped(out, h, i ? h - 1 : NULL);
		}
	}
}

/* What there is to say to people of an answer that is not all. */
static void say_rest(const struct finding *f)
{
	const struct find_answer *a = &f->answer;
	if (a->cut)
		fprintf(stderr,
			"garner: %s: the answer was cut, as it took too long or became too large; "
			"there may be more\n",
			f->server);
	else if (!a->n)
		fprintf(stderr, "garner: no file was found\n");
	else if (f->o->limit && a->n >= (size_t)f->o->limit)
		fprintf(stderr,
			"garner: %s: the answer ends at --limit %" PRId64 "; there may be more\n",
			f->server, f->o->limit);
}

static int find_print(struct finding *f)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	const struct find_answer *a = &f->answer;
	if (!f->o->sort && !f->o->newest && a->n)
		qsort(a->hit, a->n, sizeof *a->hit, f->o->reverse ? hit_cmp_reverse : hit_cmp);
	if (f->o->json)
		rows_json_line(&finding_rows, f, &out);
	else
		put_hits(f, &out);
	cmd_print(f->call, &out);
	if (!f->o->json)
		say_rest(f);
	return a->cut ? ERR_PARTLY : a->n ? 0 : 1;
}

static int run_find(const struct cmd_call *call, struct err *err)
{
	CLEANUP(config_free) struct config *config = NULL;
	CLEANUP(buf_free) struct buf lines = BUF_INIT(LINES_MOST);
	struct finding f = {.call = call, .o = call->options, .arena = ARENA_INIT((size_t)1 << 30)};
	if (cmd_config(call, &config, err) < 0 ||
	    lines_of(f.o, str_of(call->argv[0]), &lines, err) < 0)
		return -1;
	int rc = find_candidates(&f, config, err);
	if (rc == 0)
		rc = find_answer_of(&f, buf_str(&lines), err);
	if (rc == 0)
		rc = find_print(&f);
	arena_free(&f.arena);
	return rc;
}

#define AT(type, member) VALUE_##type##_AT(struct find_options, member)
static const struct cmd_option find_options[] = {
	CMD_FLAG('a', "alex", struct find_options, alex,
		 "paths as the Alex file system has them, without a line end after the last"),
	CMD_OPTION(0, "NAMES", "domain", AT(LIST, domain),
		   .help = "only sites in one of these domains or pseudo-domains: usa,de"),
	CMD_OPTION(0, "NAMES", "in", AT(LIST, component),
		   .help = "only files whose path has one of these as a component"),
	CMD_FLAG(0, "json", struct find_options, json, "print JSON"),
	CMD_OPTION(0, "KINDS", "kind", AT(LIST, kind), .help = "only file, dir, link, other"),
	CMD_OPTION(0, "SIZE", "larger", AT(SIZE, larger), .fallback = "0", .min = 0, .max = 1e15,
		   .help = "only files of at least this size; 0: any"),
	CMD_OPTION('m', "N", "limit", AT(INT, limit), .fallback = "95", .min = 0,
		   .max = ARCHIE_ROWS_MOST, .help = "most files to list; 0: 10,000"),
	CMD_FLAG('l', "list", struct find_options, list,
		 "a line for each file: time, size, host, path"),
	CMD_OPTION(0, "N", "maxhitspm", AT(INT, maxhitspm), .fallback = "0", .min = 0,
		   .max = INT32_MAX, .help = "most files of each name; 0: any number"),
	CMD_OPTION(0, "N", "maxmatch", AT(INT, maxmatch), .fallback = "0", .min = 0,
		   .max = INT32_MAX, .help = "most different names; 0: any number"),
	CMD_FLAG(0, "mirrors", struct find_options, mirrors,
		 "list files of the same name and size once"),
	CMD_OPTION(0, "AGE", "newer", AT(TIME, newer_us), .fallback = "0", .min = 0, .max = 3.2e15,
		   .help = "only files that changed within this time: 30d; 0: any"),
	CMD_FLAG('t', "newest", struct find_options, newest, "the newest first"),
	CMD_OPTION('N', "LEVEL", "niceness", AT(INT, niceness), .fallback = "0", .min = 0,
		   .max = ARCHIE_NICE_MOST, .help = "0 is usual, 32765 the last in the queue"),
	CMD_OPTION('O', "N", "offset", AT(INT, offset), .fallback = "0", .min = 0,
		   .max = ARCHIE_OFFSET_MOST, .help = "results to skip"),
	CMD_OPTION(0, "AGE", "older", AT(TIME, older_us), .fallback = "0", .min = 0, .max = 3.2e15,
		   .help = "only files that did not change within this time; 0: any"),
	CMD_FLAG(0, "path", struct find_options, path, "match the whole path, not the name alone"),
	CMD_FLAG(0, "reverse", struct find_options, reverse, "reverse the order"),
	CMD_OPTION(0, "SERVERS", "server", AT(LIST, server),
		   .help = "servers to ask, HOST:PORT of each, instead of the one on this machine "
			   "and those that it knows"),
	CMD_OPTION(0, "SITES", "site", AT(LIST, site), .help = "only these sites, by host name"),
	CMD_OPTION(0, "SIZE", "smaller", AT(SIZE, smaller), .fallback = "0", .min = 0, .max = 1e15,
		   .help = "only files of at most this size; 0: any"),
	CMD_OPTION(0, "ORDER", "sort", AT(WORD, sort), .words = sort_words, .fallback = "none",
		   .help = "by filename, hostname, size (the largest first) or time (the newest "
			   "first); none: by host, the last part of its name first, and path"),
	CMD_OPTION(0, "SYNTAX", "syntax", AT(WORD, syntax), .words = ng_syntax_words,
		   .fallback = "ed", .help = "of expressions: that of ed, or extended"),
	CMD_OPTION(0, "TIME", "timeout", AT(TIME, timeout_us), .fallback = "90s", .min = 1e3,
		   .max = 86400e6, .help = "how long a server may be silent"),
	CMD_OPTION(0, "TYPE", "type", AT(WORD, type), .words = type_words, .fallback = "sub",
		   .help = "how STRING matches: the whole name (exact), a part of it (sub; subcase "
			   "is case-sensitive), as an expression (regex), or first exact and then "
			   "one of these"),
};
const struct command archie_find_command = {
	.name = "find",
	.summary = "find files of archives by their names",
	.description =
		"Asks the role archie-ng of this machine how busy it and the servers of "
		"archie.servers are, and sends the search to the one with the least wait; if that "
		"fails, to the next. Times are in UTC. doc/names.md has the types and the "
		"expressions.",
	CMD_OPTIONS(find_options, struct find_options),
	CMD_ARGS("STRING", 1, 1, "what to look for"),
	CMD_EXAMPLES({"garner archie find emacs-19", "names with this in them, by host"},
		     {"garner archie find -l --type regex '^lib.*[.]so$' --newest",
		      "an expression, a line for each file, the newest first"},
		     {"garner archie find --server archie.example.org:1527 --json xv",
		      "of a certain server, as JSON"}),
	CMD_EXITS({1, "no file was found"}, {ERR_PARTLY, "the answer was cut, there may be more"},
		  {ERR_REMOTE, "no server has answered"}),
	.run = run_find,
};
