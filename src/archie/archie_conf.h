/* The section [archie]: how listings are got, databases built and searched. */
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

/* The longest that a site is left alone after a failure. */
static inline int64_t archie_retry_most_us(const struct archie_conf *conf)
{
	return MAX(conf->retry_max_us, conf->retry_min_us);
}

/* The time of day, "03:00", in seconds after midnight. */
int archie_nightly_s(const struct archie_conf *conf, int64_t *ret_s, struct err *err);
/* What users call this server: archie.host, or the name of the machine. Returns ret. */
enum { ARCHIE_HOST_MOST = 256 };
const char *archie_host(const struct archie_conf *conf, char ret[ARCHIE_HOST_MOST]);
/* The port that a socket is bound to; 0: none. */
unsigned archie_port(int fd);
/* Whose name is on our mails, and where they bounce to: archie.errors, or archie-errors at
 * archie_host(). Returns ret. */
enum { ARCHIE_ERRORS_MOST = ARCHIE_HOST_MOST + 16 };
const char *archie_errors(const struct archie_conf *conf, char ret[ARCHIE_ERRORS_MOST]);
/* The `check` of every role of the archive, of [archie] and [mail]: whether names, addresses,
 * servers, times and the way of mails have their forms. With a wrong sender no mail would be sent.
 */
int archie_conf_check(const struct config *config, const struct config_section *of,
		      struct err *err);
/* Whether the program that mail.via names can be executed, where it names one. It need not be there
 * where nobody wants mails. ERR_USAGE says why not. */
int archie_mail_check(const struct config *config, struct err *err);
/* ERR_SYSTEM: fewer bytes than the setting disk_free are free where the folder lies. */
int archie_has_room(const char *folder, uint64_t disk_free, struct err *err);
