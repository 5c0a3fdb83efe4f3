/* The role `broker`, with the feeds that garner has. */
#include "base/log.h"
#include "broker/collector.h"
#include "cmd/command.h"
#include "state/source_crawl.h"

#include <stdio.h>
#include <unistd.h>

static const struct counter_def counters[] = {COLLECTOR_COUNTER_DEFS};

static void left_out(const char *feed, struct str url, const struct err *err)
{
	log_warn(COLLECTOR, "an object was left out", KV_TEXT("feed", feed), KV_STR("url", url),
		 KV_TEXT("why", err->msg));
}

static int run(struct role_env *env, struct err *err)
{
	char folder[4096], host[256] = "localhost";
	snprintf(folder, sizeof folder, "%s/shepherd", env->data);
	(void)gethostname(host, sizeof host - 1);
	struct source_crawl crawl = {
		.folder = folder,
		.follower = "broker",
		.gatherer_name = STR("garner"),
		.gatherer_host = str_of(host),
		.gatherer_version = STR(GARNER_VERSION),
	};
	struct collector_feed feeds[] = {{"crawl", &source_crawl_ops, &crawl, left_out}};
	return broker_run(env, feeds, ARRAY_LEN(feeds), err);
}

extern const struct role broker_role;
const struct role broker_role = {
	.name = "broker",
	.old_name = true,
	.summary = "collect what was gathered into the index",
	.description = "Follows the crawl and keeps the document store and the words index below "
		       "broker/ in step with it: what is new or changed is found about a second "
		       "after it was gathered, what went away is no longer found.\n\nIt is the "
		       "only writer of both; searches read while it writes.",
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
