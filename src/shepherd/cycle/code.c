/* Codes: one table of those that have words of their own, and one of the ranges that have the
 * others, each with all that follows from a code. Some numbers are of garner and of HTTP at once
 * (2413: too large, by either); their words fit both. */
#include "shepherd/code.h"

#include "base/value.h"
#include "shepherd/crawl.h"

#include <stdio.h>

const char *const code_class_names[CODE_CLASSES] = {
	"ok", "site", "connection", "proxy", "temporary", "permanent", "sleeps",
};

/* Ascending: code, class, outcome, cause, words. */
/* clang-format off */
#define CODES(X) \
	X(CODE_OK, OK, OK, ANSWER, "ok") \
	X(CODE_REDIRECT, OK, REDIRECT, ANSWER, "it leads elsewhere") \
	X(CODE_RESOLVED, OK, OK, ANSWER, "the address of its server was found") \
	X(CODE_NOT_MODIFIED, OK, UNCHANGED, ANSWER, "unchanged (304)") \
	X(CODE_SAME, OK, UNCHANGED, ANSWER, "unchanged, the same text") \
	X(CODE_NO_ANSWER_DNS, SITE, SITE_TEMPORARY, DNS, "no answer from name servers") \
	X(CODE_CONNECTION, CONNECTION, SITE_TEMPORARY, CONNECT, "the server could not be reached") \
	X(CODE_PROXY, PROXY, SITE_TEMPORARY, PROXY, "the proxy failed") \
	X(CODE_TIME, TEMPORARY, TEMPORARY, TIME, "it took too long") \
	X(CODE_TEMPORARY + 420, TEMPORARY, SITE_TEMPORARY, ANSWER, "too many requests (420)") \
	X(CODE_TEMPORARY + 425, TEMPORARY, TEMPORARY, ANSWER, "too early (425)") \
	X(CODE_TEMPORARY + 429, TEMPORARY, SITE_TEMPORARY, ANSWER, "too many requests (429)") \
	X(CODE_TEMPORARY + 500, TEMPORARY, TEMPORARY, ANSWER, "an error of the server (500)") \
	X(CODE_BROKEN, TEMPORARY, TEMPORARY, CUT, "no complete answer came") \
	X(CODE_TEMPORARY + 503, TEMPORARY, SITE_TEMPORARY, ANSWER, "the server is not available now") \
	X(CODE_TEMPORARY + 504, TEMPORARY, TEMPORARY, ANSWER, "a server that it asked is silent (504)") \
	X(CODE_NOT_KEPT, TEMPORARY, TEMPORARY, SINK, "no room to keep it") \
	X(CODE_TEMPORARY + 511, TEMPORARY, SITE_TEMPORARY, ANSWER, "the network wants a login (511)") \
	X(CODE_NO_HOST, SITE, SITE_PERMANENT, NO_NAME, "the server does not exist") \
	X(CODE_BROKEN_DNS, SITE, SITE_PERMANENT, DNS, "what name servers say cannot be used") \
	X(CODE_ADDRESS, SITE, ADDRESS, ADDRESS, "its address is not allowed (robot.networks)") \
	X(CODE_NOINDEX, PERMANENT, PERMANENT, ANSWER, "it asks not to be indexed") \
	X(CODE_NOWHERE, PERMANENT, PERMANENT, NO_TARGET, "a redirect that leads nowhere") \
	X(CODE_ROBOTS, PERMANENT, ROBOTS, ROBOTS, "robots.txt forbids it") \
	X(CODE_NO_SITE, PERMANENT, SITE_PERMANENT, NO_NAME, "its site does not exist") \
	X(CODE_REDIRECT_ZOMBIE, PERMANENT, PERMANENT, NO_TARGET, "it has led nowhere for too long") \
	X(CODE_BAD_URL, PERMANENT, PERMANENT, URL, "not a URL that can be fetched") \
	X(CODE_PERMANENT + 401, PERMANENT, PERMANENT, ANSWER, "it wants a login") \
	X(CODE_PERMANENT + 403, PERMANENT, PERMANENT, ANSWER, "the server forbids it (403)") \
	X(CODE_PERMANENT + 404, PERMANENT, PERMANENT, ANSWER, "not found (404)") \
	X(CODE_REJECTED, PERMANENT, PERMANENT, ANSWER, "the filter rejects it, or the server (406)") \
	X(CODE_GONE, PERMANENT, PERMANENT, ANSWER, "gone for good (410)") \
	X(CODE_TOO_LARGE, PERMANENT, LIMIT, BODY, "too large") \
	X(CODE_CODING, PERMANENT, PERMANENT, CODING, "of a coding or a type that cannot be read") \
	X(CODE_LOST, PERMANENT, PERMANENT, SINK, "its bucket cannot be read, or (422) the request") \
	X(CODE_HEAD, PERMANENT, LIMIT, HEAD, "too large a head") \
	X(CODE_PERMANENT + 451, PERMANENT, PERMANENT, ANSWER, "withheld by law (451)")
/* clang-format on */

const uint16_t code_all[] = {
#define X(code, class, outcome, cause, words) code,
	CODES(X)
#undef X
};
const size_t code_count = ARRAY_LEN(code_all);

struct code_row {
	uint16_t code; /* of a range: the last one */
	enum code_class class;
	enum outcome outcome;
	enum robot_cause cause;
	const char *words;
	uint16_t zero; /* of a range: after the words stands how far the code is from here */
};

static const struct code_row rows[] = {
#define X(code, class, outcome, cause, words) \
	{code, CODE_CLASS_##class, OUTCOME_##outcome, ROBOT_CAUSE_##cause, words, 0},
	CODES(X)
#undef X
};

/* The codes between those above. What is none of ours is for good: nobody would know what to wait
 * for. */
/* clang-format off */
static const struct code_row ranges[] = {
	{CODE_TEMPORARY - 1, CODE_CLASS_PERMANENT, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, "not a code:", 0},
	{1399, CODE_CLASS_TEMPORARY, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER, "failed for now, code", 0},
	{1599, CODE_CLASS_TEMPORARY, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER, "HTTP status", CODE_TEMPORARY},
	{1999, CODE_CLASS_TEMPORARY, OUTCOME_TEMPORARY, ROBOT_CAUSE_ANSWER, "failed for now, code", 0},
	{2399, CODE_CLASS_PERMANENT, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, "failed, code", 0},
	{2499, CODE_CLASS_PERMANENT, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, "HTTP status", CODE_PERMANENT},
	{2999, CODE_CLASS_PERMANENT, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, "failed, code", 0},
	{CODE_END - 1, CODE_CLASS_SLEEPS, OUTCOME_CANCELLED, ROBOT_CAUSE_ANSWER,
	 "others are worth more: limit", CODE_SLEEPS},
	{UINT16_MAX, CODE_CLASS_PERMANENT, OUTCOME_PERMANENT, ROBOT_CAUSE_ANSWER, "not a code:", 0},
};
/* clang-format on */

static const struct code_row *code_row(uint16_t code)
{
	const struct code_row *range = ranges;
	for (size_t i = 0; i < ARRAY_LEN(rows) && rows[i].code <= code; i++)
		if (rows[i].code == code)
			return &rows[i];
	while (range->code < code)
		range++;
	return range;
}

enum code_class code_class(uint16_t code)
{
	return code_row(code)->class;
}

enum outcome code_outcome(uint16_t code)
{
	return code_row(code)->outcome;
}

enum robot_cause code_cause(uint16_t code)
{
	return code_row(code)->cause;
}

const char *code_text(uint16_t code, char ret[CODE_TEXT])
{
	const struct code_row *row = code_row(code);
	unsigned number = code - row->zero;
	if (row >= rows && row < rows + ARRAY_LEN(rows))
		snprintf(ret, CODE_TEXT, "%s", row->words);
	else if (row->class == CODE_CLASS_SLEEPS && number < CRAWL_LIMITS)
		snprintf(ret, CODE_TEXT, "%s %s", row->words, crawl_limit_names[number]);
	else
		snprintf(ret, CODE_TEXT, "%s %u", row->words, number);
	return ret;
}

bool code_is_failure(uint16_t code)
{
	enum code_class class = code_class(code);
	return class == CODE_CLASS_SITE || class == CODE_CLASS_CONNECTION ||
	       class == CODE_CLASS_PROXY || class == CODE_CLASS_TEMPORARY || code == CODE_NO_SITE;
}

/* Where codes come from */

static bool outcome_may_pass(enum outcome outcome)
{
	return outcome == OUTCOME_TEMPORARY || outcome == OUTCOME_SITE_TEMPORARY;
}

/* Refused by the server. The robot knows whether that is for good, also from replies of FTP, whose
 * numbers have another meaning. */
static uint16_t code_of_refusal(bool temporary, int status)
{
	if (status >= 400 && status < 600)
		return (uint16_t)((temporary ? CODE_TEMPORARY : CODE_PERMANENT) + status);
	return temporary ? CODE_BROKEN : CODE_PERMANENT + 404;
}

static uint16_t code_of_answer(enum outcome outcome, int status)
{
	switch (outcome) {
	case OUTCOME_OK:
		return CODE_OK;
	case OUTCOME_UNCHANGED:
		return CODE_NOT_MODIFIED;
	case OUTCOME_REDIRECT:
		return CODE_REDIRECT;
	default:
		return code_of_refusal(outcome_may_pass(outcome), status);
	}
}

uint16_t code_of(enum outcome outcome, enum robot_cause cause, int status)
{
	/* The last three say nothing of the URL: it may be tried again. */
	static const uint16_t by_cause[ROBOT_NCAUSES] = {
		[ROBOT_CAUSE_URL] = CODE_BAD_URL,
		[ROBOT_CAUSE_NO_NAME] = CODE_NO_HOST,
		[ROBOT_CAUSE_DNS] = CODE_NO_ANSWER_DNS,
		[ROBOT_CAUSE_ADDRESS] = CODE_ADDRESS,
		[ROBOT_CAUSE_ROBOTS] = CODE_ROBOTS,
		[ROBOT_CAUSE_ROBOTS_UNREACHABLE] = CODE_TEMPORARY + 503,
		[ROBOT_CAUSE_CONNECT] = CODE_CONNECTION,
		[ROBOT_CAUSE_TLS] = CODE_CONNECTION,
		[ROBOT_CAUSE_PROXY] = CODE_PROXY,
		[ROBOT_CAUSE_CUT] = CODE_BROKEN,
		[ROBOT_CAUSE_PROTOCOL] = CODE_BROKEN,
		[ROBOT_CAUSE_CODING] = CODE_CODING,
		[ROBOT_CAUSE_CODING_CUT] = CODE_BROKEN,
		[ROBOT_CAUSE_IDLE] = CODE_TIME,
		[ROBOT_CAUSE_TIME] = CODE_TIME,
		[ROBOT_CAUSE_HEAD_LINE] = CODE_HEAD,
		[ROBOT_CAUSE_HEAD] = CODE_HEAD,
		[ROBOT_CAUSE_BODY] = CODE_TOO_LARGE,
		[ROBOT_CAUSE_MIME] = CODE_CODING,
		[ROBOT_CAUSE_WITHIN] = CODE_NOWHERE,
		[ROBOT_CAUSE_WIRE] = CODE_TOO_LARGE,
		[ROBOT_CAUSE_REDIRECTS] = CODE_NOWHERE,
		[ROBOT_CAUSE_NO_TARGET] = CODE_NOWHERE,
		[ROBOT_CAUSE_LOGIN] = CODE_PERMANENT + 401,
		[ROBOT_CAUSE_SINK] = CODE_NOT_KEPT,
		[ROBOT_CAUSE_LEASE] = CODE_TIME,
		[ROBOT_CAUSE_NOT_NOW] = CODE_NOT_KEPT,
		[ROBOT_CAUSE_TABLE] = CODE_NOT_KEPT,
		[ROBOT_CAUSE_STOPPED] = CODE_NOT_KEPT,
	};
	if (cause == ROBOT_CAUSE_ANSWER)
		return code_of_answer(outcome, status);
	if (cause == ROBOT_CAUSE_DNS && outcome == OUTCOME_SITE_PERMANENT)
		return CODE_BROKEN_DNS;
	return by_cause[cause];
}

/* Lists */

/* A number that a try can come to. */
static bool code_parse(struct str word, uint16_t *ret)
{
	uint64_t n;
	if (!str_u64(word, &n) || !(n <= CODE_SAME || (n >= CODE_TEMPORARY && n < CODE_SLEEPS)))
		return false;
	*ret = (uint16_t)n;
	return true;
}

/* "2404" or "2400-2499". */
static bool code_parse_range(struct str word, uint16_t *ret_from, uint16_t *ret_to)
{
	size_t dash = str_find_byte(word, '-');
	struct str to = dash < word.n ? str_from(word, dash + 1) : word;
	return code_parse(str_head(word, MIN(dash, word.n)), ret_from) && code_parse(to, ret_to) &&
	       *ret_from <= *ret_to;
}

bool code_in(const struct value_list *list, uint16_t code)
{
	for (size_t i = 0; i < list->n; i++) {
		struct str word = str_of(list->item[i]);
		uint16_t from, to;
		if (str_is(word, "all") || str_is(word, outcome_name(code_outcome(code))) ||
		    (code_parse_range(word, &from, &to) && code >= from && code <= to))
			return true;
	}
	return false;
}

int code_list_check(const struct value_list *list, struct err *err)
{
	char shown[VALUE_SHOWN];
	for (size_t i = 0; i < list->n; i++) {
		struct str word = str_of(list->item[i]);
		enum outcome outcome;
		uint16_t from, to;
		if (!str_is(word, "all") && !outcome_parse(word, &outcome) &&
		    !code_parse_range(word, &from, &to))
			return err_set(err, ERR_USAGE,
				       "expected all, a code such as 2404, a range such as "
				       "2400-2499 or an outcome such as permanent, got '%s'",
				       value_show(word, shown));
	}
	return 0;
}
