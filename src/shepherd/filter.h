/* Filters: what an operator wants of URLs and sites, as rules in shepherd/cf/filter.
 *
 *	# a comment
 *	section pages 1            name, share of the space, and where wanted a bonus: "0.2 +10"
 *	section images 0
 *	host *.example.org & path *.cgi: reject
 *	path *.jpg: section=images
 *	key_sites > 1000: min_delay=1s
 *
 * A rule is CONDITION [& CONDITION...]: OUTPUT [OUTPUT...]. For each output the last rule that
 * matches decides. The settings no_delay, follow and max_depth act as rules before the first. Rules
 *that begin with a host are found through a table, so thousands of them cost as much as one.
 *Syntax: doc/filter.md. Thread-safe once loaded. */
#pragma once
#include "base/value.h"
#include "url/qkey.h"
#include "url/url.h"

struct filter;

#define FILTER_FILE "shepherd/cf/filter" /* below the data directory */
enum { FILTER_FILE_MAX = 64 << 20, FILTER_SECTIONS = 64, SCHEMA_MOST = 8 };

/* How often pages are refreshed: frequencies, falling, each with its share of what is left for
 * frequent ones. "4:0.3 2:0.7"; commas may stand for the blanks. */
struct schema {
	unsigned n;
	uint8_t freq[SCHEMA_MOST];
	double share[SCHEMA_MOST];
};
int schema_parse(struct str text, struct schema *ret, struct err *err);

/* What stands before the first rule. */
struct filter_defaults {
	struct value_list no_delay; /* hosts, with a port where it is not the usual one */
	bool follow_all;            /* false: links to sites that are not known are rejected */
	uint64_t max_depth;         /* paths with more components are rejected; 0: none are */
};

/* All or nothing; err names file and line (ERR_USAGE). Without a file there are only the defaults,
 * and one section named "other" with share 1. The path is kept for messages. */
int filter_load(const char *path, const struct filter_defaults *defaults, struct filter **ret,
		struct err *err);
/* The same of text. */
int filter_parse(struct str text, const char *name, const struct filter_defaults *defaults,
		 struct filter **ret, struct err *err);
void filter_free(struct filter **f);

struct filter_section {
	const char *name;
	double share; /* of the space */
	int bonus;    /* added to the select weight, -255 to 255 */
};
/* Numbered from 0; n is at least 1. Those that no rule puts elsewhere are in the last one. */
const struct filter_section *filter_sections(const struct filter *f, size_t *ret_n);

/* What is known of the site of a URL. */
struct filter_where {
	qkey qkey;          /* 0: not asked yet; `net` then never matches, nor does `!net` */
	uint64_t key_sites; /* sites on that queue key; 0: unknown, counts as 1 */
	bool known;         /* it is in the site list, or the URL was given by hand */
};

/* Outputs; each has the line that decided: 0: no rule did. A line of a default is one of these. */
#define FILTER_BY_SETTING UINT32_MAX        /* follow */
#define FILTER_BY_NO_DELAY (UINT32_MAX - 1) /* no_delay */
#define FILTER_BY_DEPTH (UINT32_MAX - 2)    /* max_depth */
struct filter_url {
	bool reject;
	uint8_t section;
	uint32_t reject_line, section_line;
};
/* type: the media type that came with the document, without parameters; "": what the end of its
 * path suggests. A URL in a section with share 0 is rejected, by the line that declares it. */
void filter_url(const struct filter *f, const struct url *url, struct str type,
		const struct filter_where *where, struct filter_url *ret);

enum filter_output {
	FILTER_SOFT_LIMIT,
	FILTER_HARD_LIMIT,
	FILTER_FRESH_LIMIT,
	FILTER_MIN_DELAY,
	FILTER_MAX_CONN,
	FILTER_QUEUE_BONUS,
	FILTER_SELECT_BONUS,
	FILTER_REFRESH_SCHEMA,
	FILTER_REFRESH_BOOST,
	FILTER_OUTPUTS,
};
struct filter_site {
	uint32_t line[FILTER_OUTPUTS]; /* 0: this output is not set, and its value below is 0 */
	int64_t soft_limit, hard_limit, fresh_limit; /* at most UINT32_MAX */
	int64_t min_delay_us;
	int64_t max_conn;    /* 1 to POLITE_CONCURRENT_MAX */
	int64_t queue_bonus; /* at most 2000000000 */
	bool select_bonus;
	const struct schema *schema; /* NULL: the usual; lives as long as the filter */
	double refresh_boost;        /* 0.01 to 100 */
};
/* The names of these outputs, and where in a struct filter_site their values are. refresh_schema
 * has only its name here. */
extern const struct value_spec filter_site_specs[FILTER_OUTPUTS];
/* Only rules whose conditions are about sites (any, scheme, host, port, net, key_sites) may have
 * outputs on sites: others are errors when the file is read. */
void filter_site(const struct filter *f, struct url_site site, const struct filter_where *where,
		 struct filter_site *ret);
/* "FILE:LINE", or the setting's name. */
const char *filter_line_text(const struct filter *f, uint32_t line, char *room, size_t n);
