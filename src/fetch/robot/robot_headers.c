/* Heads of answers, and the values in them: dates, types, directives for robots. Only what a robot
 * needs is parsed. Servers send anything, so nothing in a head is an error here. */
#include "fetch/robot_headers.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/wish.h"

#include <time.h>

static const char *const directive_names[] = {
#define X(symbol, name) name,
	ROBOT_DIRECTIVES(X)
#undef X
};

const char *robot_directive_name(enum robot_directive d)
{
	ENSURE((unsigned)d < ROBOT_NDIRECTIVES);
	return directive_names[d];
}

/* Dates. */

/* Cuts a run of digits or of letters off; what stands between does not matter. */
static struct str next_part(struct str *s)
{
	while (s->n && !ascii_is_alnum(s->p[0]))
		*s = str_from(*s, 1);
	size_t n = 0;
	bool digits = s->n && ascii_is_digit(s->p[0]);
	while (n < s->n && (digits ? ascii_is_digit(s->p[n]) : ascii_is_letter(s->p[n])))
		n++;
	struct str part = str_head(*s, n);
	*s = str_from(*s, n);
	return part;
}

static bool parse_number(struct str s, int most_digits, int *ret)
{
	uint64_t v;
	if (s.n > (size_t)most_digits || !str_u64(s, &v))
		return false;
	*ret = (int)v;
	return true;
}

static int year_now(int64_t now_us)
{
	time_t t = (time_t)(now_us / US_PER_S);
	struct tm tm;
	return gmtime_r(&t, &tm) ? tm.tm_year + 1900 : 1970;
}

static bool full_year(struct str s, int64_t now_us, int *ret)
{
	int year;
	if (!parse_number(s, 4, &year) || s.n == 1 || s.n == 3)
		return false;
	if (s.n == 2) {
		int now = year_now(now_us);
		for (year += now / 100 * 100; year > now + 50;)
			year -= 100;
	}
	*ret = year;
	return true;
}

static bool seconds_of(const struct tm *tm, int64_t *ret_us)
{
	int64_t days;
	if (!calendar_day(tm->tm_year, tm->tm_mon + 1, tm->tm_mday, &days))
		return false;
	*ret_us = (((days * 24 + tm->tm_hour) * 60 + tm->tm_min) * 60 + tm->tm_sec) * US_PER_S;
	return true;
}

static bool clock_time(struct str *s, struct tm *tm)
{
	return parse_number(next_part(s), 2, &tm->tm_hour) &&
	       parse_number(next_part(s), 2, &tm->tm_min) &&
	       parse_number(next_part(s), 2, &tm->tm_sec) && tm->tm_hour < 24 && tm->tm_min < 60 &&
	       tm->tm_sec <= 60;
}

bool robot_date(struct str value, int64_t now_us, int64_t *ret_us)
{
	struct tm tm = {0};
	struct str s = value, part = next_part(&s);
	int year;
	if (value.n > ROBOT_DATE_MAX)
		return false;
	if (part.n >= 3 && ascii_is_letter(part.p[0]) && calendar_month(part) == 0)
		part = next_part(&s); /* the day of the week: nobody needs it */
	if (calendar_month(part)) {   /* asctime: Nov  6 08:49:37 1994 */
		tm.tm_mon = calendar_month(part) - 1;
		if (!parse_number(next_part(&s), 2, &tm.tm_mday) || !clock_time(&s, &tm) ||
		    !full_year(next_part(&s), now_us, &year))
			return false;
	} else { /* 06 Nov 1994 08:49:37 GMT, 06-Nov-94 08:49:37 GMT */
		if (!parse_number(part, 2, &tm.tm_mday) ||
		    (tm.tm_mon = calendar_month(next_part(&s)) - 1) < 0 ||
		    !full_year(next_part(&s), now_us, &year) || !clock_time(&s, &tm))
			return false;
		struct str zone = next_part(&s);
		if (zone.n && !str_eq_nocase(zone, STR("GMT")) && !str_eq_nocase(zone, STR("UTC")))
			return false;
	}
	tm.tm_year = year; /* all of it, here */
	return str_trim_field(s).n == 0 && seconds_of(&tm, ret_us);
}

bool robot_retry_after(struct str value, int64_t date_us, int64_t now_us, int64_t *ret_us)
{
	uint64_t seconds;
	int64_t at_us;
	value = str_trim_field(value);
	if (str_u64(value, &seconds)) {
		if (seconds > (uint64_t)(INT64_MAX / US_PER_S))
			return false;
		*ret_us = (int64_t)seconds * US_PER_S;
		return true;
	}
	if (!robot_date(value, now_us, &at_us))
		return false;
	*ret_us = MAX(at_us - (date_us >= 0 ? date_us : now_us), 0);
	return true;
}

/* Content-Type. */

static bool is_token(struct str s)
{
	static const char others[] = "!#$%&'*+-.^_`|~";
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && !memchr(others, s.p[i], sizeof others - 1))
			return false;
	return s.n > 0;
}

/* Cuts at a separator that does not stand in quotes. */
static int cut_quoted(struct str *rest, char separator, struct str *ret)
{
	bool in_quotes = false;
	size_t n = 0;
	if (!rest->p)
		return 1;
	for (; n < rest->n && (in_quotes || rest->p[n] != separator); n++) {
		if (rest->p[n] == '"')
			in_quotes = !in_quotes;
		else if (rest->p[n] == '\\' && in_quotes && n + 1 < rest->n)
			n++;
	}
	*ret = str_head(*rest, n);
	*rest = n < rest->n ? str_from(*rest, n + 1) : (struct str){0};
	return 0;
}

static void put_lower(struct str s, char *ret)
{
	str_lower(s, ret);
	ret[s.n] = 0;
}

static struct str strip_quotes(struct str s)
{
	s = str_trim_field(s);
	if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'') && s.p[s.n - 1] == s.p[0])
		return str_trim_field((struct str){s.p + 1, s.n - 2});
	return s;
}

/* The first charset counts. */
static void put_charset(struct str parameters, char ret[ROBOT_CHARSET_MAX + 1])
{
	struct str parameter;
	while (cut_quoted(&parameters, ';', &parameter) == 0) {
		size_t equals = str_find_byte(parameter, '=');
		struct str name = strip_quotes(str_from(parameter, equals + 1));
		if (!str_eq_nocase(str_trim_field(str_head(parameter, equals)), STR("charset")))
			continue;
		if (name.n <= ROBOT_CHARSET_MAX && is_token(name))
			put_lower(str_eq_nocase(name, STR("utf8")) ? STR("utf-8") : name, ret);
		return;
	}
}

bool robot_content_type(struct str value, char mime[ROBOT_MIME_MAX + 1],
			char charset[ROBOT_CHARSET_MAX + 1])
{
	struct str type, name;
	bool found = false;
	while (cut_quoted(&value, ',', &type) == 0) {
		struct str rest = type;
		if (cut_quoted(&rest, ';', &name) != 0)
			continue;
		name = str_trim_field(name);
		size_t slash = str_find_byte(name, '/');
		if (name.n > ROBOT_MIME_MAX || str_is(name, "*/*") ||
		    !is_token(str_head(name, slash)) || !is_token(str_from(name, slash + 1)))
			continue;
		put_lower(name, mime);
		charset[0] = 0;
		put_charset(rest, charset);
		found = true;
	}
	return found;
}

/* X-Robots-Tag. */

static int directive_of(struct str name)
{
	for (int i = 0; i < ROBOT_NDIRECTIVES; i++)
		if (str_eq_nocase(name, str_of(directive_names[i])))
			return i;
	return -1;
}

static void add_directive(struct robot_tag *tag, struct str name, struct str value, int64_t now_us)
{
	int d = directive_of(name);
	if (str_eq_nocase(name, STR("none")))
		tag->set |= 1u << ROBOT_NOINDEX | 1u << ROBOT_NOFOLLOW;
	else if (d >= 0)
		tag->set |= 1u << d;
	if (d == ROBOT_UNAVAILABLE_AFTER &&
	    !robot_date(value, now_us, &tag->unavailable_after_us) &&
	    !time_parse(value, &tag->unavailable_after_us))
		tag->unavailable_after_us = -1;
}

void robot_tag_add(struct robot_tag *tag, struct str value, struct str agent, int64_t now_us)
{
	struct wish wish;
	bool ours = true;
	while (wish_next(&value, &wish) == 0)
		if (wish.is_agent)
			ours = str_eq_nocase(wish.name, agent);
		else if (ours)
			add_directive(tag, wish.name, wish.value, now_us);
}

/* The head. */

static void take_length(struct robot_head *h, struct str value)
{
	uint64_t n;
	if (str_u64(value, &n) && n <= INT64_MAX)
		h->length = (int64_t)n;
}

static void take_transfer(struct robot_head *h, struct str value)
{
	if (str_eq_nocase(value, STR("identity")))
		h->is_identity = true;
	else if (!str_eq_nocase(value, STR("chunked")))
		h->has_odd_transfer = true;
}

static void take_coding(struct robot_head *h, struct str value)
{
	if (h->coding.n)
		buf_add_byte(&h->coding, ',');
	buf_add_str(&h->coding, value);
}

static void take_type(struct robot_head *h, struct str value)
{
	(void)!robot_content_type(value, h->mime, h->charset);
}

/* The first one counts. */
static void keep_first(struct buf *first, struct str value)
{
	if (first->n == 0)
		buf_add_str(first, value);
}

static void take_date(struct robot_head *h, struct str value)
{
	keep_first(&h->date, value);
}

static void take_retry(struct robot_head *h, struct str value)
{
	keep_first(&h->retry, value);
}

static void take_location(struct robot_head *h, struct str value)
{
	if (!h->has_location)
		buf_add_str(&h->location, value);
	h->has_location = true;
}

bool robot_can_send(struct str validator, size_t most)
{
	return validator.n > 0 && validator.n <= most && !str_has_control(validator);
}

static void put_validator(char *ret, size_t most, struct str value)
{
	if (ret[0] || !robot_can_send(value, most))
		return;
	memcpy(ret, value.p, value.n);
	ret[value.n] = 0;
}

static void take_etag(struct robot_head *h, struct str value)
{
	put_validator(h->etag, ROBOT_ETAG_MAX, value);
}

static void take_modified(struct robot_head *h, struct str value)
{
	put_validator(h->last_modified, ROBOT_DATE_MAX, value);
}

static void take_tag(struct robot_head *h, struct str value)
{
	robot_tag_add(&h->tag, value, h->agent, h->now_us);
}

static const struct {
	struct str name;
	void (*take)(struct robot_head *h, struct str value);
} fields[] = {
	{{"content-encoding", 16}, take_coding},
	{{"content-length", 14}, take_length},
	{{"content-type", 12}, take_type},
	{{"date", 4}, take_date},
	{{"etag", 4}, take_etag},
	{{"last-modified", 13}, take_modified},
	{{"location", 8}, take_location},
	{{"retry-after", 11}, take_retry},
	{{"transfer-encoding", 17}, take_transfer},
	{{"x-robots-tag", 12}, take_tag},
};

void robot_head_init(struct robot_head *h, struct str agent)
{
	*h = (struct robot_head){.agent = agent,
				 .coding = BUF_INIT(ROBOT_CODING_MAX),
				 .location = BUF_INIT(ROBOT_FIELD_MAX),
				 .value = BUF_INIT(ROBOT_FIELD_MAX),
				 .retry = BUF_INIT(ROBOT_DATE_MAX),
				 .date = BUF_INIT(ROBOT_DATE_MAX)};
	robot_head_begin(h, 0);
}

void robot_head_free(struct robot_head *h)
{
	buf_free(&h->coding);
	buf_free(&h->location);
	buf_free(&h->value);
	buf_free(&h->retry);
	buf_free(&h->date);
}

void robot_head_begin(struct robot_head *h, int64_t now_wall_us)
{
	h->status = 0;
	h->is_complete = h->has_location = h->is_identity = h->has_odd_transfer = false;
	h->mime[0] = h->charset[0] = h->etag[0] = h->last_modified[0] = 0;
	h->retry_after_us = h->length = -1;
	h->tag = (struct robot_tag){.unavailable_after_us = -1};
	h->now_us = now_wall_us;
	h->field = -1;
	buf_clear(&h->coding);
	buf_clear(&h->location);
	buf_clear(&h->value);
	buf_clear(&h->retry);
	buf_clear(&h->date);
}

static void field_flush(struct robot_head *h)
{
	if (h->field >= 0 && !h->value.over)
		fields[h->field].take(h, str_trim_field(buf_str(&h->value)));
	h->field = -1;
}

static void begin_field(struct robot_head *h, struct str line)
{
	size_t colon = str_find_byte(line, ':');
	struct str name = str_trim_field(str_head(line, colon));
	if (colon == line.n)
		return;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (name.n == fields[i].name.n && (name.p[0] | 0x20) == fields[i].name.p[0] &&
		    str_eq_nocase(name, fields[i].name)) {
			h->field = (int)i;
			buf_clear(&h->value);
			buf_add_str(&h->value, str_from(line, colon + 1));
			return;
		}
}

/* "HTTP/1.1 200 OK": three digits after the first blanks. */
static int status_of(struct str line)
{
	struct str rest = str_trim_field(str_from(line, str_find_byte(line, ' ')));
	uint64_t status;
	return str_u64(str_head(rest, 3), &status) ? (int)status : 0;
}

static void retry_tell(struct robot_head *h)
{
	int64_t date_us;
	if (!robot_date(buf_str(&h->date), h->now_us, &date_us))
		date_us = -1;
	if (!robot_retry_after(buf_str(&h->retry), date_us, h->now_us, &h->retry_after_us))
		h->retry_after_us = -1;
}

static void end_of_head(struct robot_head *h)
{
	field_flush(h);
	if (h->status < 200 && h->status != 101)
		return;
	if (h->retry.n)
		retry_tell(h);
	h->is_complete = true;
}

void robot_head_line(struct robot_head *h, struct str line)
{
	while (line.n && (line.p[line.n - 1] == '\n' || line.p[line.n - 1] == '\r'))
		line.n--;
	if (h->is_complete)
		return; /* trailers: they must not change what was said */
	if (line.n && (line.p[0] == ' ' || line.p[0] == '\t')) {
		if (h->field >= 0) {
			buf_add_byte(&h->value, ' ');
			buf_add_str(&h->value, str_trim_field(line));
		}
		return;
	}
	field_flush(h);
	if (line.n == 0)
		end_of_head(h);
	else if (h->status == 0 || (h->status < 200 && str_starts(line, STR("HTTP/")))) {
		robot_head_begin(h, h->now_us);
		h->status = status_of(line);
	} else
		begin_field(h, line);
}
