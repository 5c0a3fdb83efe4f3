/* garner provider send, sync, forget. */
#include "cmd/cache/provider_send.h"
#include "base/clock.h"
#include "cmd/cache/provider_push.h"
#include "cmd/system/text.h"

#include <stdio.h>

/* What the command line or the settings name, once each. */
static int add_named(struct push *g, const char *tree, const char *prefix, const char *sitemap,
		     struct err *err)
{
	struct provider_source s;
	const char *index = push_given(g->o->index) ? g->o->index : g->p->conf->index;
	if (str_is(str_of(index), "none"))
		index = "";
	if (push_given(tree) && (push_tree_source(g, tree, prefix, index, &s, err) < 0 ||
				 push_add_source(g, &s, err) < 0))
		return -1;
	if (push_given(sitemap) &&
	    (push_sitemap_source(g, sitemap, &s, err) < 0 || push_add_source(g, &s, err) < 0))
		return -1;
	return 0;
}

static int add_remembered(struct push *g, struct err *err)
{
	for (size_t i = 0; i < g->p->file.sources; i++)
		if (push_add_source(g, &g->p->file.source[i], err) < 0)
			return -1;
	return 0;
}

static int send_gather(struct push *g, struct err *err)
{
	const struct cmd_call *call = g->p->call;
	const struct push_options *o = g->o;
	bool lists = push_given(o->tree) || push_given(o->sitemap) || push_given(o->xml);
	if (o->remove && (lists || o->full))
		return err_set(err, ERR_USAGE, "--remove is for URLs on the command line");
	if (!call->argc && !lists && !o->full)
		return err_set(err, ERR_USAGE, "expected URLs, --tree, --sitemap, --xml or --full");
	if (push_add_urls(g, call->argv, call->argc, err) < 0 ||
	    (push_given(o->xml) && push_add_rows(g, o->xml, err) < 0) ||
	    add_named(g, o->tree, o->prefix, o->sitemap, err) < 0)
		return -1;
	return o->full && !lists && !call->argc ? add_remembered(g, err) : 0;
}

static int run_send(const struct cmd_call *call, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	CLEANUP(push_close)
	struct push g = {.p = &p, .o = call->options, .now = PROVIDER_LIST_INIT};
	if (provider_open(&p, call, PROVIDER_REGISTERED, true, err) < 0 || send_gather(&g, err) < 0)
		return -1;
	return push_run(&g, err);
}

/* sync */

int provider_sync_sources(struct push *g, struct err *err)
{
	const struct provider_conf *conf = g->p->conf;
	if (push_given(g->o->tree) || push_given(g->o->sitemap))
		return add_named(g, g->o->tree,
				 push_given(g->o->prefix) ? g->o->prefix : conf->prefix,
				 g->o->sitemap, err);
	if (conf->tree[0] || conf->sitemap[0])
		return add_named(g, conf->tree, conf->prefix, conf->sitemap, err);
	return add_remembered(g, err);
}

bool provider_is_due(const struct provider *p)
{
	return clock_wall_us() - p->file.at_s * US_PER_S >= p->conf->check_us ||
	       clock_wall_us() < p->file.at_s * US_PER_S;
}

static int run_sync(const struct cmd_call *call, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	struct push_options o = *(const struct push_options *)call->options;
	CLEANUP(push_close)
	struct push g = {.p = &p, .o = &o, .now = PROVIDER_LIST_INIT, .sends_wanted = true};
	o.silent = true;
	if (provider_open(&p, call, PROVIDER_REGISTERED, true, err) < 0 ||
	    provider_sync_sources(&g, err) < 0)
		return -1;
	if (!g.sources && !p.file.sent.n)
		return err_set(err, ERR_USAGE,
			       "nothing to sync: garner provider send --tree or --sitemap first, "
			       "or --tree and --prefix here");
	g.must_ask = provider_is_due(&p);
	int code = push_run(&g, err);
	return code == 1 ? 0 : code;
}

/* forget */

static int forget_do(struct provider *p, const char *place, struct err *err)
{
	struct provider_file *f = &p->file;
	size_t n = 0, known = f->sources;
	for (size_t i = 0; i < f->sources; i++)
		if (!str_is(f->source[i].place, place) && !str_is(f->source[i].prefix, place))
			f->source[n++] = f->source[i];
	if (n == known)
		return err_set(err, ERR_USAGE,
			       "%s: nothing of it is synced; see garner provider status", place);
	f->sources = n;
	return provider_save(p, err);
}

static int run_forget(const struct cmd_call *call, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	if (provider_open(&p, call, PROVIDER_REGISTERED, true, err) < 0)
		return -1;
	return forget_do(&p, call->argv[0], err);
}

#define AT(type, member) VALUE_##type##_AT(struct push_options, member)
#define JSON_OPTION CMD_FLAG(0, "json", struct push_options, json, "print JSON")
#define EMPTY_OPTION                                     \
	CMD_FLAG(0, "empty", struct push_options, empty, \
		 "a tree or sitemap with nothing to send has all of it removed")
#define DRY_OPTION                                             \
	CMD_FLAG('n', "dry-run", struct push_options, dry_run, \
		 "print what would be sent, by what is known of the cache, and send nothing")
#define INDEX_OPTION                                                                            \
	CMD_OPTION(0, "NAME", "index", AT(TEXT, index),                                         \
		   .help = "the file whose URL is that of its folder, in place of the setting " \
			   "provider.index; none: there is no such file")
#define TREE_OPTIONS(why)                                                                          \
	CMD_OPTION(0, "URL", "prefix", AT(TEXT, prefix),                                           \
		   .help = "what the folder of --tree is served as; with --xml, what is put "      \
			   "before URLs without a scheme"),                                        \
		CMD_OPTION(0, "PLACE", "sitemap", AT(TEXT, sitemap),                               \
			   .help = "a sitemap or an index of them, a file or a URL, also packed"), \
		CMD_OPTION('t', "DIR", "tree", AT(PATH, tree), .help = why)

#define PUSH_EXITS                                                                                 \
	{ERR_PARTLY, "some URLs were refused, or left out"},                                       \
	{                                                                                          \
		ERR_REMOTE, "no connection, or the cache took nothing; what changed is sent next " \
			    "time"                                                                 \
	}

static const struct cmd_option send_options[] = {
	DRY_OPTION,
	EMPTY_OPTION,
	CMD_FLAG(0, "full", struct push_options, full,
		 "name all URLs that there are, changed or not; the cache removes all others"),
	INDEX_OPTION,
	JSON_OPTION,
	CMD_OPTION(0, "TYPE", "mime", AT(TEXT, mime),
		   .help = "the type of URLs that do not say one, in place of what their names "
			   "tell; text/html is what a name without an ending is"),
	CMD_FLAG(0, "once", struct push_options, once,
		 "do not sync the tree or sitemap from now on"),
	CMD_FLAG(0, "remove", struct push_options, remove, "the URLs no longer exist"),
	TREE_OPTIONS("a folder and all below it; what is hidden, and links out of it, are left "
		     "out"),
	CMD_OPTION(
		'x', "FILE", "xml", AT(PATH, xml),
		.help = "<url> elements with c, f, b, mime, mtime ... as doc/protocols/lococa.md "
			"has them; -: standard input"),
};
const struct command provider_send_command = {
	.name = "send",
	.summary = "send what changed",
	.description =
		"Compares what there is with what was sent last, by time, size and MD5, and sends "
		"what is new, changed or gone as one set. URLs on the command line are always "
		"sent; those of a sitemap when their lastmod changes.\n\nThe cache says which "
		"types it takes and how much room there is; what does not fit is left out, with "
		"the reason. What was sent is remembered (provider.file) once the cache has the "
		"set; rows that it refuses are sent again the next time.\n\nWhat the cache could "
		"not fetch since the last set is printed, as: failed: URL: CODE why.",
	CMD_OPTIONS(send_options, struct push_options),
	CMD_ARGS("[URL...]", 0, -1, "what has changed"),
	CMD_EXAMPLES({"garner provider send http://www.example.com/news.html", "one page"},
		     {"garner provider send --tree /var/www --prefix http://www.example.com/",
		      "what changed in a folder since the last time, and what is gone"},
		     {"garner provider send --sitemap http://www.example.com/sitemap.xml",
		      "what a sitemap has"},
		     {"garner provider send --remove http://www.example.com/old.html",
		      "the page no longer exists"},
		     {"garner provider send --xml - --prefix http://www.example.com/ < rows.xml",
		      "rows that a program made"},
		     {"garner provider send -n --tree /var/www --prefix http://www.example.com/",
		      "what would be sent"}),
	CMD_EXITS({1, "there was nothing to send"}, PUSH_EXITS),
	.run = run_send,
};

static const struct cmd_option sync_options[] = {
	DRY_OPTION,
	EMPTY_OPTION,
	INDEX_OPTION,
	JSON_OPTION,
	TREE_OPTIONS("this folder, in place of the settings and of what was sent before"),
};
const struct command provider_sync_command = {
	.name = "sync",
	.summary = "send what changed in all trees and sitemaps, for timers",
	.description =
		"Looks at the trees and sitemaps that were sent before, or at those of the "
		"settings provider.tree, provider.prefix and provider.sitemap, and sends what "
		"changed. Where the cache wants a full set, because it lost some or has not heard "
		"of some for long, it gets one, and the reason is printed. When nothing has "
		"changed nothing is said, and the cache is asked only once in provider.check (1d).",
	CMD_OPTIONS(sync_options, struct push_options),
	CMD_EXAMPLES({"garner provider sync", "all that was sent before"},
		     {"*/15 * * * * garner provider sync", "a line for crontab(5)"}),
	CMD_EXITS(PUSH_EXITS),
	.run = run_sync,
};

static const struct cmd_option forget_options[] = {
	JSON_OPTION,
};
const struct command provider_forget_command = {
	.name = "forget",
	.summary = "stop syncing a tree or sitemap",
	.description = "What was sent of it stays in the cache.",
	CMD_OPTIONS(forget_options, struct push_options),
	CMD_ARGS("PLACE", 1, 1,
		 "the folder or sitemap, as garner provider status shows it, or its prefix"),
	CMD_EXAMPLES({"garner provider forget /var/www", "sync leaves it alone"}),
	.run = run_forget,
};
