/* The section [archie]: fetching listings, building and searching databases. */
#pragma once
#include "role/config.h"

struct archie_conf {
	int64_t max_age_us;
	int64_t walk_max, errors_max, at_once;
	uint64_t listing_max, memory;
	int64_t idle_us, total_us; /* of a transfer */
	int64_t retry_min_us, retry_max_us;
	const char *nightly_at;
	int64_t queue_max, searchers; /* searchers 0: one for each CPU */
	int64_t search_time_limit_us;
	const char *host; /* "": what the machine is called */
	int layout;       /* enum shell_layout */
	struct value_list servers;
	const char *errors; /* "": archie-errors at archie_host() */
	const char *master; /* "": requests for new sites are refused */
	int64_t mails_per_day;
};
extern const struct config_section archie_section;

/* The longest time to wait after a site fails. */
static inline int64_t archie_retry_most_us(const struct archie_conf *conf)
{
	return MAX(conf->retry_max_us, conf->retry_min_us);
}

/* The time of day, "03:00", in seconds after midnight. */
int archie_nightly_s(const struct archie_conf *conf, int64_t *ret_s, struct err *err);
/* The host name of this server for users: archie.host, or the name of the machine. Returns ret. */
enum { ARCHIE_HOST_MOST = 256 };
const char *archie_host(const struct archie_conf *conf, char ret[ARCHIE_HOST_MOST]);
/* The port that a socket is bound to; 0: none. */
unsigned archie_port(int fd);
/* The sender of our mails, to which they bounce: archie.errors, or archie-errors at archie_host().
 * Returns ret. */
enum { ARCHIE_ERRORS_MOST = ARCHIE_HOST_MOST + 16 };
const char *archie_errors(const struct archie_conf *conf, char ret[ARCHIE_ERRORS_MOST]);
/* The `check` of every role of the archive: checks the form of names, addresses, servers and times
 * in [archie], and of mail.via. With a wrong sender no mail would be sent. */
int archie_conf_check(const struct config *config, const struct config_section *of,
		      struct err *err);
/* Checks that the program in mail.via, if there is one, can be executed. Only for roles that send
 * mail. ERR_USAGE says why not. */
int archie_mail_check(const struct config *config, struct err *err);
/* ERR_SYSTEM: the disk of the folder has fewer free bytes than the setting disk_free. */
int archie_has_room(const char *folder, uint64_t disk_free, struct err *err);
