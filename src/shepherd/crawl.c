#include "shepherd/crawl_inner.h"

#include "fetch/outcome.h"

#include <inttypes.h>
#include <stdio.h>

const char *const crawl_follows[] = {"site", "all", NULL};

const char *crawl_status_text(uint16_t status, char ret[64])
{
	static const char *const texts[OUTCOME_COUNT] = {
		[OUTCOME_TEMPORARY] = "no complete answer came",
		[OUTCOME_PERMANENT] = "it cannot be fetched",
		[OUTCOME_SITE_TEMPORARY] = "the server could not be reached",
		[OUTCOME_SITE_PERMANENT] = "the server does not exist",
		[OUTCOME_LIMIT] = "larger or slower than the limits",
		[OUTCOME_ROBOTS] = "robots.txt forbids it",
		[OUTCOME_ADDRESS] = "its address is none that may be connected to",
	};
	unsigned outcome = status - CRAWL_STATUS;
	if (status == 0)
		snprintf(ret, 64, "not tried yet");
	else if (status < CRAWL_STATUS)
		snprintf(ret, 64, "HTTP status %u", status);
	else if (status == CRAWL_NOINDEX)
		snprintf(ret, 64, "it asks not to be indexed");
	else
		snprintf(ret, 64, "%s",
			 outcome < OUTCOME_COUNT && texts[outcome] ? texts[outcome] : "failed");
	return ret;
}

struct str crawl_digits(struct footprint fp, struct arena *arena)
{
	return str_of(arena_printf(arena, "%016" PRIx64 "%016" PRIx64, fp.site, fp.path));
}

bool crawl_is_fast(const struct crawl_conf *conf, const struct site *site)
{
	char with_port[URL_SITE_MAX + 16];
	bool usual = site->port == url_default_port(site->protocol);
	snprintf(with_port, sizeof with_port, STR_FMT ":%u", STR_ARG(site->host), site->port);
	for (size_t i = 0; i < conf->no_delay.n; i++) {
		struct str host = str_of(conf->no_delay.item[i]);
		if (str_is(host, with_port) || (usual && str_eq(host, site->host)))
			return true;
	}
	return false;
}
