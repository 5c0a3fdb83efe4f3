/* garner archie sites: the list of archives, and the last result of each. */
#include "archie/sites.h"

#include "archie/archie_conf.h"
#include "base/clock.h"
#include "base/jsonw.h"
#include "cmd/archie/archie.h"
#include "cmd/archie/archie_rows.h"
#include "cmd/system/text.h"
#include "fetch/kit.h"

#include <inttypes.h>
#include <limits.h>

struct sites_options {
	bool json, force;
	const char *address, *name, *tz, *os, *path;
	int64_t max_age_us;
};

int archie_open_list(const struct cmd_call *call, struct archie_list *ret, struct err *err)
{
	char data[PATH_MAX];
	*ret = (struct archie_list){.arena = ARENA_INIT(SIZE_MAX)};
	if (cmd_config_data(call, &ret->config, data, err) < 0)
		return -1;
	ret->conf = config_get(ret->config, &archie_section);
	ret->data = arena_text(&ret->arena, str_of(data));
	ret->folder = arena_printf(&ret->arena, "%s/archie", data);
	if (archie_sites_read(ret->folder, &ret->arena, &ret->sites, err) < 0)
		return -1;
	for (size_t i = 0; i < ret->sites.problems; i++)
		fprintf(stderr, "garner: %s\n", ret->sites.problem[i]);
	return 0;
}

void archie_close_list(struct archie_list *l)
{
	config_free(&l->config);
	arena_free(&l->arena);
}

/* list */

static int print_list(const struct cmd_call *call, const struct archie_list *l,
		      const struct getter_state *state, bool json)
{
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	struct rows_list list;
	rows_list_begin(&list, &archie_site_rows, json, &out);
	for (size_t i = 0; i < l->sites.n; i++) {
		struct archie_site_row row;
		archie_row_fill(l->folder, l->conf, state, &l->sites.site[i], &row);
		rows_list_add(&list, &row);
	}
	rows_list_end(&list);
	return cmd_print(call, &out);
}

static int run_list(const struct cmd_call *call, struct err *err)
{
	const struct sites_options *o = call->options;
	CLEANUP(archie_close_list) struct archie_list l;
	CLEANUP(getter_state_free) struct getter_state state = {0};
	if (archie_open_list(call, &l, err) < 0 || archie_remembered(l.data, &state, err) < 0)
		return -1;
	if (l.sites.n == 0 && !o->json)
		return err_set(err, ERR_NOTHING,
			       "there are no sites yet; garner archie sites add URL");
	return print_list(call, &l, &state, o->json);
}

/* add */

struct lookup {
	struct loop *loop;
	struct dns_wait wait;
	struct arena *arena;
	struct archie_site *site;
	bool known; /* address and name of the site are set */
	struct err err;
};

static void use_addresses(struct lookup *l, const struct dns_result *r)
{
	struct str host = archie_site_host(l->site);
	l->known = r->outcome == DNS_FOUND;
	if (l->known) {
		l->site->address = *robot_choose(r->addr, r->n, host);
		l->site->address.port = 0;
		if (r->canonical.n && !l->site->name.n)
			l->site->name = arena_str(l->arena, r->canonical);
		return;
	}
	const char *why = r->why ? r->why : dns_outcome_word(r->outcome);
	if (r->outcome == DNS_REFUSED)
		err_set(&l->err, ERR_USAGE,
			STR_FMT ": its address is not public (%s); if it is yours, name its "
				"network in robot.networks",
			STR_ARG(host), why);
	else
		err_set(&l->err, ERR_REMOTE, STR_FMT ": %s; if you know its address: --address",
			STR_ARG(host), why);
}

static void looked_up(void *ctx, const struct dns_result *r)
{
	struct lookup *l = ctx;
	use_addresses(l, r);
	loop_stop(l->loop);
}

/* The address that stands for the host, and its name. */
static int look_up(const struct robot_section_conf *conf, struct arena *arena,
		   struct archie_site *site, struct err *err)
{
	struct lookup l = {.arena = arena, .site = site};
	struct policy *policy = NULL;
	struct dns *dns = NULL;
	struct dns_result result;
	int rc = loop_new(&l.loop, NULL, err);
	l.wait = (struct dns_wait){.done = looked_up, .ctx = &l};
	if (rc == 0)
		rc = policy_new(&policy, &conf->robot.networks, err);
	if (rc == 0)
		rc = dns_new(&dns, l.loop, &conf->dns, policy, err);
	if (rc == 0) {
		if (dns_lookup(dns, archie_site_host(site), DNS_ANY, &l.wait, &result) == 0)
			use_addresses(&l, &result);
		else
			rc = loop_run(l.loop, err);
	}
	dns_free(&dns);
	policy_free(&policy);
	if (l.loop)
		loop_free(&l.loop);
	if (rc == 0 && !l.known) {
		*err = l.err;
		rc = -1;
	}
	return rc;
}

static int fill_site(const struct sites_options *o, const char *url, struct archie_list *l,
		     struct archie_site *ret, struct err *err)
{
	*ret = (struct archie_site){.max_age_us = o->max_age_us,
				    .os = str_of(o->os),
				    .path = str_of(o->path),
				    .name = str_of(o->name)};
	if (archie_site_url(str_of(url), &l->arena, &ret->url, err) < 0)
		return -1;
	struct str folder = str_head(ret->url, ret->url.n - 1);
	if (str_starts(str_from(folder, str_after_last(folder, '/')), STR("ls-lR")))
		return err_set(err, ERR_USAGE,
			       STR_FMT
			       ": name the folder that the listing is in; it is found there",
			       STR_ARG(folder));
	ret->ftp = str_starts(ret->url, STR("ftp:"));
	if (o->tz[0] && !archie_zone_parse(str_of(o->tz), &ret->tz_s))
		return err_set(err, ERR_USAGE, "--tz: expected a zone such as +02:00, got '%s'",
			       o->tz);
	if (!o->address[0])
		return look_up(config_get(l->config, &robot_section), &l->arena, ret, err);
	if (!archie_address_parse(str_of(o->address), &ret->address))
		return err_set(err, ERR_USAGE, "--address: expected an address, got '%s'",
			       o->address);
	return 0;
}

static int run_add(const struct cmd_call *call, struct err *err)
{
	CLEANUP(archie_close_list) struct archie_list l;
	struct archie_site site;
	if (archie_open_list(call, &l, err) < 0 ||
	    fill_site(call->options, call->argv[0], &l, &site, err) < 0)
		return -1;
	int rc = archie_sites_add(l.folder, &site, err);
	if (rc == 1)
		return err_set(err, ERR_NOTHING, STR_FMT " is listed already", STR_ARG(site.url));
	if (rc < 0)
		return -1;
	CLEANUP(buf_free) struct buf line = BUF_INIT((size_t)2 * ARCHIE_LINE_MOST);
	archie_site_print(&site, &line);
	fprintf(call->out, "archive added: %s\n", buf_text(&line));
	return 0;
}

/* remove */

static int run_remove(const struct cmd_call *call, struct err *err)
{
	CLEANUP(archie_close_list) struct archie_list l;
	size_t at = 0;
	if (archie_open_list(call, &l, err) < 0)
		return -1;
	struct str what = str_of(call->argv[0]);
	const struct archie_site *site = archie_sites_find(&l.sites, what, &at);
	if (site && archie_sites_find(&l.sites, what, &at))
		return err_set(err, ERR_USAGE, "%s stands for several sites; name one by its URL",
			       call->argv[0]);
	int rc = site ? archie_sites_remove(l.folder, site->url, err) : 1;
	if (rc == 1)
		return err_set(err, ERR_NOTHING, "%s is not listed", call->argv[0]);
	if (rc == 0)
		fprintf(call->out, "removed: " STR_FMT "; its database goes with the next build\n",
			STR_ARG(site->url));
	return rc;
}

/* get */

struct list_fetch {
	struct loop *loop;
	struct buf body;
	struct robot_memory_sink sink;
	struct err err;
};

static void list_fetched(void *ctx, const struct robot_result *r)
{
	struct list_fetch *f = ctx;
	loop_stop(f->loop);
	if (r->outcome == OUTCOME_OK)
		return;
	const char *what = r->why[0] ? r->why : outcome_name(r->outcome);
	if (r->cause == ROBOT_CAUSE_BODY)
		err_set(&f->err, ERR_REMOTE,
			STR_FMT ": larger than %d MiB, which is the most that a list of sites may "
				"have",
			STR_ARG(r->url), ARCHIE_LIST_MOST >> 20);
	else if (r->head->status)
		err_set(&f->err, ERR_REMOTE, STR_FMT ": %s (%d)", STR_ARG(r->url), what,
			r->head->status);
	else
		err_set(&f->err, ERR_REMOTE, STR_FMT ": %s", STR_ARG(r->url), what);
}

static int fetch_list(struct archie_list *l, const char *url, struct list_fetch *f, struct err *err)
{
	const struct robot_section_conf *conf = config_get(l->config, &robot_section);
	struct robot_limits limits = conf->robot.limits;
	struct kit kit = {0};
	struct err ignored;
	limits.body = ARCHIE_LIST_MOST;
	f->body = BUF_INIT(ARCHIE_LIST_MOST);
	f->sink = robot_memory_sink(&f->body, false);
	struct robot_job job = {.url = str_of(url),
				.limits = &limits,
				.sink = &f->sink.sink,
				.flags = ROBOT_WAIT | ROBOT_NO_SHA256};
	int rc = loop_new(&f->loop, NULL, err);
	if (rc == 0)
		rc = kit_open(&kit, f->loop, l->data, conf, err);
	if (rc == 0)
		rc = robot_fetch(kit.robot, &job, list_fetched, f, err);
	if (rc == 0)
		rc = loop_run(f->loop, err);
	(void)kit_close(&kit, &ignored);
	if (f->loop)
		loop_free(&f->loop);
	if (rc == 0 && f->err.code != ERR_NONE) {
		*err = f->err;
		rc = -1;
	}
	return rc;
}

static const struct column url_columns[] = {COL("url", struct archie_site, url)};
static const struct rows url_rows = {ROWS(struct archie_site, url_columns), ROWS_VALUE};

static const struct column diff_columns[] = {
	COL("before", struct archie_sites_diff, before),
	COL("after", struct archie_sites_diff, after),
	COL_LIST("added", struct archie_sites_diff, added, nadded, url_rows),
	COL_LIST("removed", struct archie_sites_diff, removed, nremoved, url_rows),
	COL_LIST("changed", struct archie_sites_diff, changed, nchanged, url_rows),
	COL("moved", struct archie_sites_diff, moved),
};
static const struct rows diff_rows = {ROWS(struct archie_sites_diff, diff_columns)};

struct replacement {
	bool taken;
	const struct archie_sites_diff *diff;
};
static const struct column replacement_columns[] = {
	COL("taken", struct replacement, taken),
	COL_POINTER(NULL, struct replacement, diff, diff_rows),
};
static const struct rows replacement_rows = {ROWS(struct replacement, replacement_columns)};

static void sites_text(struct buf *out, char mark, const struct archie_site *site, size_t n)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT((size_t)2 * ARCHIE_LINE_MOST);
	for (size_t i = 0; i < n; i++) {
		buf_clear(&line);
		archie_site_print(&site[i], &line);
		buf_printf(out, "%c ", mark);
		put_safe(out, buf_str(&line));
		buf_add_byte(out, '\n');
	}
}

static void print_diff(const struct cmd_call *call, const struct archie_sites_diff *d, bool taken)
{
	const struct sites_options *o = call->options;
	struct buf out = BUF_INIT(SIZE_MAX / 2);
	for (size_t i = 0; i < d->problems; i++)
		fprintf(stderr, "garner: %s\n", d->problem[i]);
	if (o->json) {
		rows_json_line(&replacement_rows, &(struct replacement){taken, d}, &out);
	} else {
		sites_text(&out, '+', d->added, d->nadded);
		sites_text(&out, '-', d->removed, d->nremoved);
		sites_text(&out, '~', d->changed, d->nchanged);
		buf_printf(&out,
			   "%zu sites before, %zu after: %zu added, %zu removed, %zu changed, %zu "
			   "of them with another address\n",
			   d->before, d->after, d->nadded, d->nremoved, d->nchanged, d->moved);
	}
	cmd_print(call, &out);
}

static int run_get(const struct cmd_call *call, struct err *err)
{
	const struct sites_options *o = call->options;
	CLEANUP(archie_close_list) struct archie_list l;
	struct list_fetch f = {0};
	struct archie_sites_diff diff = {0};
	if (archie_open_list(call, &l, err) < 0)
		return -1;
	int rc = fetch_list(&l, call->argv[0], &f, err);
	if (rc == 0) {
		rc = archie_sites_replace(l.folder, buf_str(&f.body), o->force, &l.arena, &diff,
					  err);
		print_diff(call, &diff, rc == 0);
	}
	buf_free(&f.body);
	return rc;
}

static const struct cmd_option list_options[] = {
	CMD_FLAG(0, "json", struct sites_options, json, "print JSON"),
};
static const struct command list_command = {
	.name = "list",
	.summary = "list the sites and the last result of each",
	.description =
		"For each site: its URL, the KEY of its files, the entries of its database, the "
		"age of that since it was built or last found to be current, when its listing is "
		"fetched next (build: one waits for garner archie build), and the last error of "
		"getter or builder: its cause (doc/archie.md says what to do about each), and what "
		"happened. A database is partial if it comes from a walk that was cut, "
		"for example by archie.walk_max.",
	CMD_OPTIONS(list_options, struct sites_options),
	CMD_EXAMPLES({"garner archie sites list", "all sites"}),
	CMD_EXITS({1, "there is no site"}),
	.run = run_list,
};

#define TEXT_OPTION(word, member, arg, text)                                                  \
	CMD_OPTION(0, arg, word, VALUE_TEXT_AT(struct sites_options, member), .fallback = "", \
		   .help = text)
static const struct cmd_option add_options[] = {
	TEXT_OPTION("address", address, "ADDRESS",
		    "its address, in place of the one that the name server gives"),
	TEXT_OPTION("name", name, "NAME",
		    "the name of its files, in place of the end of the chain of aliases"),
	TEXT_OPTION("tz", tz, "ZONE", "its time zone, such as +02:00; without it UTC"),
	TEXT_OPTION("os", os, "WORD", "its operating system"),
	TEXT_OPTION("path", path, "DIR",
		    "the directory at which its listing starts, as the listing names it"),
	CMD_OPTION(0, "TIME", "max-age", VALUE_TIME_AT(struct sites_options, max_age_us), "0", 0,
		   3650 * 86400e6,
		   .help = "how old its database may become, in place of archie.max_age"),
};
static const struct command add_command = {
	.name = "add",
	.summary = "add a site",
	.description =
		"The site is kept in sites.local, which a new list does not change. Its name "
		"is looked up: an address has at most one FTP site. The next nightly run "
		"fetches its listing, or garner archie get.",
	CMD_OPTIONS(add_options, struct sites_options),
	CMD_ARGS("URL", 1, 1, "the folder at which the site begins: ftp, http or https"),
	CMD_EXAMPLES({"garner archie sites add ftp://ftp.example.org/", "an FTP server"},
		     {"garner archie sites add http://mirror.example.org/debian/ --max-age 1d",
		      "a folder of a web server, each day"}),
	CMD_EXITS({1, "it is listed already"}, {ERR_BUSY, "another command changes the list"},
		  {ERR_REMOTE, "its name cannot be looked up"}),
	.run = run_add,
};

static const struct command remove_command = {
	.name = "remove",
	.summary = "remove a site",
	.description =
		"One that was added goes; one of the list is left out from now on, by a line in "
		"sites.local.",
	CMD_ARGS("URL", 1, 1, "the URL of the site; also its host name or KEY, if only one has it"),
	CMD_EXAMPLES({"garner archie sites remove ftp://ftp.example.org/", "no longer index it"}),
	CMD_EXITS({1, "it is not listed"}, {ERR_BUSY, "another command changes the list"}),
	.run = run_remove,
};

static const struct cmd_option get_options[] = {
	CMD_FLAG(0, "force", struct sites_options, force,
		 "take it even if it lacks a fifth or more of the current sites"),
	CMD_FLAG(0, "json", struct sites_options, json, "print JSON"),
};
static const struct command get_command = {
	.name = "get",
	.summary = "fetch a new list of sites, and show how it differs",
	.description = "Replaces the list that the last get brought; sites.local, where edits are, "
		       "stays as it is. + is a site that is new, - one that is gone, ~ one whose "
		       "line is another.",
	CMD_OPTIONS(get_options, struct sites_options),
	CMD_ARGS("URL", 1, 1, "where the list is: http, https or ftp"),
	CMD_EXAMPLES({"garner archie sites get https://archie.example.org/sites", "once a month"}),
	CMD_EXITS({ERR_BUSY, "another command changes the list"},
		  {ERR_REMOTE, "the list cannot be fetched"}),
	.run = run_get,
};

const struct command archie_sites_command = {
	.name = "sites",
	.summary = "manage the list of indexed archives",
	.description =
		"The list is two files: sites, which a master gives out, and sites.local, with "
		"edits made here. doc/formats/archie-sites.md has their lines.",
	CMD_SUBS(&list_command, &add_command, &remove_command, &get_command),
};
