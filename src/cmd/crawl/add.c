/* garner add: URLs for the crawl. */
#include "cmd/commands.h"
#include "cmd/crawl/fetch.h"
#include "disk/requests.h"
#include "shepherd/crawl.h"
#include "url/url.h"

#include <limits.h>

struct add_options {
	const char *from;
};

static const struct cmd_option options[] = {
	CMD_OPTION(0, "FILE", "from", VALUE_TEXT_AT(struct add_options, from), .fallback = "",
		   .help = "a list of URLs, one a line; - is standard input"),
};

struct adding {
	struct buf *lines;
	uint64_t added, bad;
};

static int add_url(void *ctx, struct str text, struct err *ignored)
{
	struct adding *a = ctx;
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	(void)ignored;
	int rc = url_parse(text, NULL, room, sizeof room, &url);
	if (rc == 0 && url.protocol == URL_FTP)
		rc = -URL_PROTOCOL;
	if (rc == 0)
		rc = url_canon(&url, true, strict, sizeof strict, &canon);
	if (rc != 0) {
		struct err err;
		url_fail(rc, text, &err);
		fprintf(stderr, "garner: %s\n", err.msg);
		a->bad++;
		return 0;
	}
	a->added++;
	buf_add_str(a->lines, canon.href);
	buf_add_byte(a->lines, '\n');
	return 0;
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct add_options *o = call->options;
	CLEANUP(buf_free) struct buf lines = BUF_INIT(64 << 20);
	struct adding a = {.lines = &lines};
	char folder[PATH_MAX];
	if (cmd_data_path(call, CRAWL_REQUESTS, folder, err) < 0 ||
	    fetch_each_url(call, o->from, add_url, &a, err) < 0)
		return -1;
	if (lines.over)
		return err_set(err, ERR_USAGE, "more than %zu bytes of URLs at once", lines.max);
	if (a.added && requests_add(folder, "add", buf_str(&lines), err) < 0)
		return -1;
	if (a.added)
		fprintf(call->out, "%llu URL%s added; the role shepherd gathers %s\n",
			(unsigned long long)a.added, a.added == 1 ? "" : "s",
			a.added == 1 ? "it and its site" : "them and their sites");
	else if (!a.bad)
		fprintf(stderr, "garner: there is no URL to add; see garner add --help\n");
	return a.bad ? (a.added ? ERR_PARTLY : ERR_USAGE) : a.added ? 0 : ERR_NOTHING;
}

const struct command add_command = {
	.name = "add",
	.summary = "give the crawl a site to gather",
	.description = "Adds URLs to the crawl for good. Pages that they link to are fetched too "
		       "if they are on the same site (shepherd.follow). A URL that is already "
		       "known is fetched again.\n\nThe URLs are stored when the command ends, "
		       "whether or not the role shepherd is running.",
	CMD_OPTIONS(options, struct add_options),
	CMD_ARGS("[URL...]", 0, -1, NULL),
	CMD_EXAMPLES({"garner add https://example.org/", "gather this site from its first page on"},
		     {"garner add --from urls.txt", "many at once"}),
	CMD_EXITS({1, "there was no URL"}, {3, "some of them are not URLs that can be gathered"}),
	.run = run,
};
