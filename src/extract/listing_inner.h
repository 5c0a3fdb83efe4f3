/* Inside of the listing parser: what the families share. A family is a form in which lines are
 * written; which one a line is of is seen from the line itself, so a table of readers is asked one
 * after the other. */
#pragma once
#include "extract/listing.h"

/* Why a line is bad. The texts are listing_why_name[]. */
enum listing_why {
	WHY_NONE,
	WHY_NO_FORM,
	WHY_FEW_FIELDS,
	WHY_MANY_FIELDS,
	WHY_NO_DATE,
	WHY_DATE,
	WHY_SIZE,
	WHY_LINKS,
	WHY_MODE,
	WHY_NO_NAME,
	WHY_SLASH,
	WHY_NUL,
	WHY_LONG,
	WHY_HEADING_DOTS,
	WHY_HEADING_DEEP,
	WHY_HEADING_LONG,
	WHY_HEADING_BYTES,
	WHY_BELOW_BAD,
	WHY_VMS_WRAP,
	WHYS
};
extern const char *const listing_why_name[WHYS];

/* Dates. What has no year gets one from the time of the listing; that time, plus a day, is kept as
 * the site's clock would show it. */
struct listing_dates {
	int32_t tz_s;
	int64_t year;   /* of the latest time that may be meant */
	int64_t second; /* of that time in its year, counted as if every month had 31 days */
};
void listing_dates_init(struct listing_dates *d, int64_t listed_s, int32_t tz_s);

struct listing_time {
	int64_t year; /* -1: not told */
	int month, day, hour, minute, second;
	bool has_zone;
	int32_t zone_s;
};
/* UTC, at least 0. false: there is no such time. */
bool listing_time_utc(const struct listing_dates *d, const struct listing_time *t, int64_t *ret);
/* A date at line.p + at, of the forms that ls writes. 0: *ret_end is the offset after it. 1: there
 * is none. Negative: there is no such day or time. */
int listing_date_read(const struct listing_dates *d, struct str line, size_t at, size_t *ret_end,
		      int64_t *ret_s);
/* The month of a name, 1 to 12; 0: it is not one. English, German, French, Spanish. */
int listing_month(struct str word);
/* "17:05", "17:05:33", at the start of s; returns its length, 0: it is none. */
size_t listing_clock_read(struct str s, struct listing_time *ret);

/* Up to `most` digits at the start of s, at least one; returns how many, 0: none or more. */
size_t listing_digits(struct str s, size_t most, int *ret);
/* A size in bytes: "531", "33.5k"; with `commas` also "1,234". false: it is none, or beyond 63
 * bits. */
bool listing_size_read(struct str word, bool commas, int64_t *ret);

/* What the families know of the listing. */
struct listing_seen {
	struct listing_dates dates;
	size_t separator; /* blanks between the last field and the name, the fewest seen; 0: none */
};
/* The name after the last field, which ends at `at`. false: there is none. */
bool listing_name_read(struct listing_seen *seen, struct str line, size_t at, struct str *ret);

/* Reads a line. 0: *e is set, all but its dir. 1: it is not of this family. Negative: it is, and
 * cannot be read; *ret_why. e is "nothing told" before. */
typedef int listing_family_fn(struct listing_seen *seen, struct str line, struct listing_entry *e,
			      enum listing_why *ret_why);
listing_family_fn listing_unix_read, listing_prefixed_read, listing_netware_read,
	listing_numeric_read, listing_dos_read, listing_eplf_read, listing_vms_read;

/* VMS: a line that is only a name with its version, whose fields are on the next one. */
bool listing_vms_is_name(struct str line);
/* VMS: the path of a heading DEV:[A.B], with slashes between. 1: the line is none. */
int listing_vms_heading(struct str line, struct buf *ret);

/* Whether a listing of which so much was counted may be taken; ERR_USAGE. */
int listing_judge(const struct listing_job *job, const struct listing_stats *s, struct err *err);

static inline size_t listing_skip_blanks(struct str s, size_t at)
{
	while (at < s.n && s.p[at] == ' ')
		at++;
	return at;
}
static inline size_t listing_skip_word(struct str s, size_t at)
{
	while (at < s.n && s.p[at] != ' ')
		at++;
	return at;
}
