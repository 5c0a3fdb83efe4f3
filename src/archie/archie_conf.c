/* The settings of the archive's roles and commands. */
#include "archie/archie_conf.h"

#include "archie/shell.h"
#include "base/file.h"
#include "net/addr.h"
#include "net/mail.h"
#include "net/outgoing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define S struct archie_conf

static const struct value_spec specs[] = {
	{"max_age", VALUE_TIME_AT(S, max_age_us), "7d", 1e6, 3650 * 86400e6,
	 .help = "age of a site's database after which its listing is fetched again; max_age in "
		 "the site list overrides it"},
	{"walk_max", VALUE_INT_AT(S, walk_max), "2000", 1, 1000000,
	 .help = "most folders to ask for, one by one, where a site has no listing"},
	{"listing_max", VALUE_SIZE_AT(S, listing_max), "4G", 1024, INFINITY,
	 .help = "largest listing to accept, packed or unpacked"},
	{"idle_max", VALUE_TIME_AT(S, idle_us), "10min", 10e3, 86400e6,
	 .help = "time without data after which fetching a listing is given up"},
	{"time_max", VALUE_TIME_AT(S, total_us), "6h", 10e3, 7 * 86400e6,
	 .help = "time allowed to fetch the listing of one site"},
	{"retry_min", VALUE_TIME_AT(S, retry_min_us), "1h", 1e6, 365 * 86400e6,
	 .help = "time to wait after a site fails; doubled after each further failure"},
	{"retry_max", VALUE_TIME_AT(S, retry_max_us), "7d", 1e6, 365 * 86400e6,
	 .help = "longest time to wait after a site fails"},
	{"at_once", VALUE_INT_AT(S, at_once), "20", 1, 1000,
	 .help = "sites whose listings are fetched at the same time"},
	{"errors_max", VALUE_INT_AT(S, errors_max), "5", 0, 100,
	 .help = "percentage of bad lines above which a listing is refused"},
	{"memory", VALUE_SIZE_AT(S, memory), "1G", 4 << 20, INFINITY,
	 .help = "memory for the names of a site while its database is built"},
	{"nightly_at", VALUE_TEXT_AT(S, nightly_at), "03:00",
	 .help = "local time at which listings are fetched and databases built, each day"},
	{"queue_max", VALUE_INT_AT(S, queue_max), "10000", 1, 1000000,
	 .help = "requests that may wait for a searcher; at most 20 from one address and 200 from "
		 "one local user; further requests are refused as busy"},
	{"searchers", VALUE_INT_AT(S, searchers), "0", 0, 64,
	 .help = "search processes, at least 2, one of which takes only cheap requests; 0: one for "
		 "each CPU"},
	{"search_time_limit", VALUE_TIME_AT(S, search_time_limit_us), "60s", 1e3, 3600e6,
	 .help = "time allowed for a search; whatever it has found by then is the answer"},
	{"host", VALUE_TEXT_AT(S, host),
	 .help = "host name of this server for users; empty: the name of this machine"},
	{"layout", VALUE_WORD_AT(S, layout), "3.5", .words = shell_layout_words,
	 .help = "version of the old server whose output layout telnet, mail and login shell use"},
	{"servers", VALUE_LIST_AT(S, servers),
	 .help = "other archive servers, HOST:PORT of their archie-ng; users who ask for servers "
		 "see them, and each is asked for its load every minute"},
	{"errors", VALUE_TEXT_AT(S, errors),
	 .help = "sender address of this server's mails, to which they bounce; it must not lead to "
		 "garner archie mail; empty: archie-errors at archie.host"},
	{"master", VALUE_TEXT_AT(S, master),
	 .help = "address of the master, which receives requests to index a site; empty: such "
		 "requests are refused"},
	{"mails_per_day", VALUE_INT_AT(S, mails_per_day), "50", 0, 1000000,
	 .help = "mails to one address in a day; each part of a reply counts"},
};

const struct config_section archie_section = {
	.name = "archie",
	.help = "Fetching the listings of archives, and building and searching their databases.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

int archie_nightly_s(const struct archie_conf *conf, int64_t *ret_s, struct err *err)
{
	struct str text = str_of(conf->nightly_at);
	uint64_t h, min;
	if (text.n != 5 || text.p[2] != ':' || !str_u64(str_head(text, 2), &h) ||
	    !str_u64(str_from(text, 3), &min) || h > 23 || min > 59)
		return err_set(err, ERR_USAGE,
			       "archie.nightly_at: expected a time such as 03:00, got '%s'",
			       conf->nightly_at);
	*ret_s = (int64_t)(h * 3600 + min * 60);
	return 0;
}

const char *archie_host(const struct archie_conf *conf, char ret[ARCHIE_HOST_MOST])
{
	snprintf(ret, ARCHIE_HOST_MOST, "%s", conf->host);
	if (!ret[0] && gethostname(ret, ARCHIE_HOST_MOST - 1) < 0)
		snprintf(ret, ARCHIE_HOST_MOST, "localhost");
	ret[ARCHIE_HOST_MOST - 1] = 0;
	return ret;
}

unsigned archie_port(int fd)
{
	struct sockaddr_storage at = {0};
	socklen_t n = sizeof at;
	struct addr own;
	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0 ||
	    !addr_from_sockaddr((struct sockaddr *)&at, n, &own))
		return 0;
	return own.port;
}

const char *archie_errors(const struct archie_conf *conf, char ret[ARCHIE_ERRORS_MOST])
{
	char host[ARCHIE_HOST_MOST];
	if (conf->errors[0])
		snprintf(ret, ARCHIE_ERRORS_MOST, "%s", conf->errors);
	else
		snprintf(ret, ARCHIE_ERRORS_MOST, "archie-errors@%s", archie_host(conf, host));
	if (!conf->errors[0] && !mail_is_address(str_of(ret))) /* a machine called my_host */
		snprintf(ret, ARCHIE_ERRORS_MOST, "archie-errors@localhost");
	return ret;
}

static int check_address(const char *name, const char *value, struct err *err)
{
	if (!value[0] || mail_is_address(str_of(value)))
		return 0;
	return err_set(err, ERR_USAGE,
		       "%s: expected an address such as archie@example.org, got '%s'", name, value);
}

/* Mails, links of Prospero and lines of archie-ng have it in them. */
static int check_host(const char *host, struct err *err)
{
	CLEANUP(buf_free) struct buf address = BUF_INIT(MAIL_ADDRESS_MOST);
	char shown[VALUE_SHOWN];
	if (!host[0])
		return 0;
	buf_printf(&address, "archie-errors@%s", host);
	if (!address.over && mail_is_address(buf_str(&address)))
		return 0;
	return err_set(err, ERR_USAGE,
		       "archie.host: expected a name such as archie.example.org, "
		       "got '%s'",
		       value_show(str_of(host), shown));
}

int archie_conf_check(const struct config *config, const struct config_section *of, struct err *err)
{
	(void)of;
	const struct archie_conf *conf = config_get(config, &archie_section);
	int64_t at_s;
	if (archie_nightly_s(conf, &at_s, err) < 0 || check_host(conf->host, err) < 0 ||
	    check_address("archie.errors", conf->errors, err) < 0 ||
	    check_address("archie.master", conf->master, err) < 0 ||
	    mail_check(config_get(config, &mail_section), err) < 0)
		return -1;
	for (size_t i = 0; i < conf->servers.n; i++)
		if (outgoing_check(conf->servers.item[i], err) < 0)
			return err_in(err, "archie.servers");
	return 0;
}

int archie_mail_check(const struct config *config, struct err *err)
{
	const struct mail_conf *mail = config_get(config, &mail_section);
	if (mail->via[0] != '/' || access(mail->via, X_OK) == 0)
		return 0;
	return err_set(err, ERR_USAGE, "mail.via: %s: %s", mail->via, strerror(errno));
}

int archie_has_room(const char *folder, uint64_t disk_free, struct err *err)
{
	uint64_t is_free;
	if (file_space(folder, &is_free, NULL, err) < 0)
		return -1;
	if (is_free >= disk_free)
		return 0;
	return err_set(err, ERR_SYSTEM, "%s: less free space than disk_free", folder);
}
