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

const uint16_t code_all[] = {
#define X(code, class, name, outcome, cause, words) code,
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
#define X(code, class, name, outcome, cause, words) \
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
