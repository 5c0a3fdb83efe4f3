/* What the roles of the cache agree on: the section [cache], types, the namespace of messages. */
#pragma once
#include "cache/codes.h"
#include "cache/hours.h"
#include "role/config.h"

struct cache_conf {
	struct value_list mime; /* "text/html", or "text/" and a star */
	int64_t slot_us;        /* divides an hour */
	int slot_period;        /* 0: day, 1: week */
	int64_t fullsets;       /* unasked ones, in each fullset_period */
	int64_t fullset_period_us;
	int64_t quota_files; /* of a new provider */
	uint64_t quota_space;
	int64_t errors_kept; /* that a provider is told of */
	int64_t receipts_kept_us;
};
extern const struct config_section cache_section;
/* ERR_USAGE names what is wrong. */
int cache_conf_check(const struct config *config, struct err *err);

static inline int cache_period(const struct cache_conf *conf)
{
	return conf->slot_period ? HOURS_WEEK : HOURS_DAY;
}

/* Bytes a second, as a contract has them; "", an empty field of a form, is 0: any. ERR_USAGE. */
int cache_bandwidth_parse(struct str text, uint64_t *ret, struct err *err);

/* Whether a type, in lower case and without parameters, is "text/html", or of "text/" and a star;
 * and whether it is one that the cache takes. */
bool cache_mime_matches(struct str pattern, struct str mime);
bool cache_takes_mime(const struct cache_conf *conf, struct str mime);

/* Of messages between providers and notification servers. */
#define CACHE_NAMESPACE "http://www.lococa.org/1.0"
