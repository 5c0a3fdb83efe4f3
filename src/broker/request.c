/* Requests: flags by a table, then the text of the query as it is. */
#include "broker/request.h"

#include "base/ascii.h"
#include "base/value.h"
#include "index/query.h"

#include <stdarg.h>
#include <stdio.h>

/* What is left of a line, and where that is. */
struct request_reader {
	struct str all, rest; /* rest: without blanks before it */
	size_t at;            /* of `all` in the line; what stands before it is ASCII */
	const char *flag;     /* that is being read */
	struct request *to;
	struct err *err;
};

/* Cuts the next word off; an empty one at the end. */
static struct str reader_word(struct request_reader *r)
{
	size_t n = 0;
	while (n < r->rest.n && !ascii_is_blank(r->rest.p[n]))
		n++;
	struct str word = str_head(r->rest, n);
	r->rest = str_trim_field(str_from(r->rest, n));
	return word;
}

/* The character of the line at which a part of it begins, as people count. */
static size_t reader_character(const struct request_reader *r, struct str part)
{
	size_t byte = part.n ? (size_t)(part.p - r->all.p) : r->all.n;
	return r->at + query_character(r->all, byte);
}

static int PRINTF_LIKE(3, 4)
	reader_refuse(struct request_reader *r, struct str at, const char *fmt, ...)
{
	char problem[256];
	va_list ap;
	va_start(ap, fmt);
	(void)vsnprintf(problem, sizeof problem, fmt, ap);
	va_end(ap);
	return err_set(r->err, ERR_USAGE, "character %zu: %s", reader_character(r, at), problem);
}

static int reader_unknown(struct request_reader *r, const char *what, struct str word)
{
	char shown[VALUE_SHOWN];
	return reader_refuse(r, word, "there is no %s '%s'", what, value_show(word, shown));
}

/* A number from least on; what is more than `most` counts as it where `clip` is set. */
static int reader_number(struct request_reader *r, uint64_t least, uint64_t most, bool clip,
			 uint32_t *ret)
{
	struct str word = reader_word(r);
	uint64_t n = 0;
	bool digits = word.n > 0;
	for (size_t i = 0; i < word.n; i++)
		digits = digits && ascii_is_digit(word.p[i]);
	if (digits && !str_u64(word, &n))
		n = UINT64_MAX;
	if (!digits || n < least || (n > most && !clip))
		return reader_refuse(r, word, "%s wants a number from %llu to %llu", r->flag,
				     (unsigned long long)least, (unsigned long long)most);
	*ret = (uint32_t)MIN(n, most);
	return 0;
}

/* Flags. */

static int flag_attribute(struct request_reader *r)
{
	struct str name = reader_word(r);
	if (name.n == 0 || name.p[0] == '#')
		return reader_refuse(r, name, "#attribute wants the name of one");
	if (r->to->attributes == REQUEST_ATTRIBUTES)
		return reader_refuse(r, name, "more than %d attributes are asked for",
				     REQUEST_ATTRIBUTES);
	r->to->attribute[r->to->attributes++] = name;
	return 0;
}

static int flag_since(struct request_reader *r)
{
	return reader_number(r, 0, UINT32_MAX, false, &r->to->since_s);
}

static int flag_lifetime(struct request_reader *r)
{
	if (reader_number(r, 0, UINT32_MAX, true, &r->to->lifetime_s) < 0)
		return -1;
	r->to->lifetime_s = MAX(r->to->lifetime_s, 1); /* who asks for none has the least */
	return 0;
}

static int index_case(struct request_reader *r)
{
	struct str how = reader_word(r);
	/* the second is how the broker's own notes spell it */
	if (str_eq_nocase(how, STR("insensitive")) || str_eq_nocase(how, STR("insenstive")))
		r->to->insensitive = true;
	else if (str_eq_nocase(how, STR("sensitive")))
		r->to->insensitive = false;
	else
		return reader_refuse(r, how, "#index case is sensitive or insensitive");
	return 0;
}

static int index_error(struct request_reader *r)
{
	struct request_reader before = *r;
	uint32_t n = 0;
	if (str_eq_nocase(reader_word(r), STR("best"))) {
		r->to->best = true;
		return 0;
	}
	*r = before;
	if (reader_number(r, 0, QUERY_ERRORS_MOST, false, &n) < 0)
		return -1;
	r->to->errors = (uint8_t)n;
	r->to->best = false;
	return 0;
}

/* Of several the least counts. */
static int index_most(struct request_reader *r)
{
	uint32_t n = 0;
	if (reader_number(r, 1, REQUEST_RESULTS_MOST, true, &n) < 0)
		return -1;
	r->to->results = r->to->results ? MIN(r->to->results, n) : n;
	return 0;
}

struct request_flag {
	const char *name;
	int (*take)(struct request_reader *r); /* NULL: it sets a bool of the request, */
	size_t at;                             /* at this offset */
	bool bulk_only;
};
#define SETS(member) .at = offsetof(struct request, member)

#define INDEX "#index "
static const struct request_flag index_flags[] = {
	{INDEX "case", index_case},      {INDEX "error", index_error},
	{INDEX "best", SETS(best)},      {INDEX "matchword", SETS(matchword)},
	{INDEX "maxresult", index_most}, {INDEX "maxfiles", index_most},
};

static int flag_take(struct request_reader *r, const struct request_flag *flag)
{
	r->flag = flag->name;
	if (flag->take)
		return flag->take(r);
	*(bool *)((char *)r->to + flag->at) = true;
	return 0;
}

static int flag_index(struct request_reader *r)
{
	struct str name = reader_word(r);
	for (size_t i = 0; i < ARRAY_LEN(index_flags); i++)
		if (str_eq_nocase(name, str_of(index_flags[i].name + strlen(INDEX))))
			return flag_take(r, &index_flags[i]);
	if (name.n == 0 || name.p[0] == '#')
		return reader_refuse(r, name, "#index wants an option of the index");
	return reader_unknown(r, "flag #index", name);
}

static const struct request_flag flags[] = {
	{"#desc", SETS(desc)},          {"#opaque", SETS(opaque)},
	{"#attribute", flag_attribute}, {"#since", flag_since, .bulk_only = true},
	{"#lifetime", flag_lifetime},   {"#index", flag_index},
};

static int take_flag(struct request_reader *r, struct str word)
{
	for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
		if (!str_eq_nocase(word, str_of(flags[i].name)))
			continue;
		if (flags[i].bulk_only && r->to->kind != REQUEST_BULK)
			return reader_refuse(r, word, "%s is for #BULK alone", flags[i].name);
		return flag_take(r, &flags[i]);
	}
	return reader_unknown(r, "flag", word);
}

static int take_query(struct request_reader *r)
{
	struct request *to = r->to;
	if (r->rest.n == 0)
		return reader_refuse(r, r->rest, "there is no query after #END");
	to->all = str_eq_nocase(r->rest, STR("#allb"));
	to->query = to->all ? STR("") : r->rest;
	if (to->results == 0)
		to->results = to->kind == REQUEST_BULK ? REQUEST_RESULTS_MOST : REQUEST_RESULTS;
	return 0;
}

static int parse_query(struct request_reader *r)
{
	for (;;) {
		struct str word = reader_word(r);
		if (word.n == 0)
			return reader_refuse(r, word, "#END and a query are missing");
		if (str_eq_nocase(word, STR("#END")))
			return take_query(r);
		if (word.p[0] != '#')
			return reader_refuse(r, word, "a query stands after #END");
		if (take_flag(r, word) < 0)
			return -1;
	}
}

/* A word, or what stands in quotes, which may have blanks in it. What is refused here may be a
 * password, so it is not shown. */
static int take_admin_password(struct request_reader *r)
{
	if (r->rest.n == 0 || r->rest.p[0] != '"') {
		r->to->password = reader_word(r);
		return 0;
	}
	struct str inside = str_from(r->rest, 1);
	size_t end = str_find_byte(inside, '"');
	if (end == inside.n || (end + 1 < inside.n && !ascii_is_blank(inside.p[end + 1])))
		return reader_refuse(r, r->rest, "this quote has no end before a blank");
	r->to->password = str_head(inside, end);
	r->rest = str_trim_field(str_from(inside, end + 1));
	return 0;
}

static int parse_admin(struct request_reader *r)
{
	struct str word = reader_word(r);
	if (!str_eq_nocase(word, STR("#password")))
		return reader_refuse(r, word, "#ADMIN wants #password, a password and a command");
	if (take_admin_password(r) < 0)
		return -1;
	if (r->to->password.n == 0)
		return reader_refuse(r, r->rest, "there is no password after #password");
	r->to->command = reader_word(r);
	if (r->to->command.n == 0 || r->to->command.p[0] != '#')
		return reader_refuse(r, r->to->command,
				     "a command stands after the password and begins with #");
	r->to->rest = r->rest;
	return 0;
}

int request_parse(enum request_kind kind, struct str rest, size_t at, struct request *ret,
		  struct err *err)
{
	struct request to = {.kind = kind};
	struct request_reader r = {
		.all = rest, .rest = str_trim_field(rest), .at = at, .to = &to, .err = err};
	int rc = kind == REQUEST_ADMIN ? parse_admin(&r) : parse_query(&r);
	if (rc == 0)
		*ret = to;
	return rc;
}
