/* The settings that roles of the cache share. */
#include "cache/cache_conf.h"

#include "base/clock.h"

#include <math.h>

#define S struct cache_conf

static const char *const periods[] = {"day", "week", NULL};

static const struct value_spec specs[] = {
	{"mime", VALUE_LIST_AT(S, mime),
	 "text/* application/pdf application/xml application/xhtml+xml application/json "
	 "application/msword application/rtf application/postscript",
	 .help = "content types that providers may announce; text/* stands for every type of text"},
	{"slot_seconds", VALUE_TIME_AT(S, slot_us), "1h", 60e6, 3600e6,
	 .help = "length of a time slot, the interval at which sets that wait for their hours are "
		 "checked; must divide an hour"},
	{"slot_period", VALUE_WORD_AT(S, slot_period), "day", .words = periods,
	 .help = "period after which time slots and the hours of providers repeat: day or week"},
	{"fullsets", VALUE_INT_AT(S, fullsets), "4", 0, 1000000,
	 .help = "full sets that a provider may send unasked in each fullset_period"},
	{"fullset_period", VALUE_TIME_AT(S, fullset_period_us), "30d", 1e6, 3650 * 86400e6,
	 .help = "period in which unasked full sets are counted"},
	{"quota_files", VALUE_INT_AT(S, quota_files), "1000000", 0, 1e15,
	 .help = "maximum number of stored files of a new provider; garner cache provider changes "
		 "it"},
	{"quota_space", VALUE_SIZE_AT(S, quota_space), "10G", 0, INFINITY,
	 .help = "maximum size of the stored files of a new provider, in bytes"},
	{"errors_kept", VALUE_INT_AT(S, errors_kept), "100", 1, 10000,
	 .help = "maximum number of errors reported to a provider when it connects"},
	{"receipts_kept", VALUE_TIME_AT(S, receipts_kept_us), "30d", 60e6, 3650 * 86400e6,
	 .help = "time for which the receipts of a set are available"},
};

const struct config_section cache_section = {
	.name = "cache",
	.help = "What the cache accepts from providers, and how.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

int cache_conf_check(const struct config *config, struct err *err)
{
	const struct cache_conf *conf = config_get(config, &cache_section);
	if (US_PER_H % conf->slot_us != 0)
		return err_set(err, ERR_USAGE,
			       "cache.slot_seconds: an hour must be a multiple of it");
	return 0;
}

int cache_bandwidth_parse(struct str text, uint64_t *ret, struct err *err)
{
	struct {
		uint64_t size;
	} v;
	const struct value_spec spec = {"bandwidth", VALUE_SIZE_AT(__typeof__(v), size),
					.max = 1e15};
	struct arena none = ARENA_INIT(1 << 10);
	int rc = value_parse(&spec, text.n ? str_trim(text) : STR("0"), &none, &v, err);
	arena_free(&none);
	if (rc < 0)
		return err_in(err, "bandwidth, in bytes a second");
	*ret = v.size;
	return 0;
}

bool cache_mime_matches(struct str pattern, struct str mime)
{
	if (pattern.n && pattern.p[pattern.n - 1] == '*')
		return str_starts(mime, str_head(pattern, pattern.n - 1));
	return str_eq_nocase(pattern, mime);
}

bool cache_takes_mime(const struct cache_conf *conf, struct str mime)
{
	for (size_t i = 0; i < conf->mime.n; i++)
		if (cache_mime_matches(str_of(conf->mime.item[i]), mime))
			return true;
	return false;
}
