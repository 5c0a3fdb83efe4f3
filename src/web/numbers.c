/* The main numbers of a crawl, from the counters of all roles. The status page shows them, garner
 * status prints them, and events keep an open page current. */
#include "web/numbers.h"

#include "base/clock.h"
#include "base/jsonw.h"

#include <stdio.h>

static bool view_is_of(const struct counters_view *v, const char *role)
{
	return str_is(str_head(v->instance, str_find_byte(v->instance, '@')), role);
}

/* The sum of all counters of a role with this name and these labels; NULL: any. */
static int64_t sum_labelled(const struct status *s, const char *role, const char *name,
			    const char *labels)
{
	int64_t total = 0;
	for (size_t i = 0; i < s->nviews; i++) {
		const struct counters_view *v = &s->view[i];
		for (size_t k = 0; view_is_of(v, role) && k < v->n; k++)
			if (str_is(v->value[k].name, name) &&
			    (!labels || str_is(v->value[k].labels, labels)))
				total += v->value[k].value;
	}
	return total;
}

static int64_t sum_counters(const struct status *s, const char *role, const char *name)
{
	return sum_labelled(s, role, name, NULL);
}

void number_text(uint64_t v, char ret[NUMBER_TEXT])
{
	char digits[NUMBER_TEXT];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*ret++ = ',';
		*ret++ = digits[i];
	}
	*ret = 0;
}

static void number_print(struct number *n, const char *id, const char *title, int64_t v)
{
	*n = (struct number){.id = id, .title = title};
	number_text((uint64_t)MAX(v, 0), n->text);
}

static void number_print_ago(struct number *n, const char *id, const char *title, int64_t us)
{
	struct buf text = BUF_INIT(sizeof n->text - 8);
	*n = (struct number){.id = id, .title = title};
	duration_print_short(&text, MAX(us / US_PER_S * US_PER_S, 0));
	snprintf(n->text, sizeof n->text, "%s ago", buf_text(&text));
	buf_free(&text);
}

/* How many a second since the role was started. */
static void number_print_rate(struct number *n, const char *id, const char *title,
			      const struct status *s, int64_t pages, int64_t now_wall_us)
{
	int64_t us = 0;
	for (size_t i = 0; i < s->nviews; i++)
		if (view_is_of(&s->view[i], "shepherd") && s->view[i].alive)
			us = MAX(us, now_wall_us - s->view[i].started_wall_us);
	*n = (struct number){.id = id, .title = title};
	snprintf(n->text, sizeof n->text, "%.1f",
		 us > 0 ? (double)pages * (double)US_PER_S / (double)us : 0);
}

/* The value in labels like result="new"; key: STR("result=\""). Empty: there is none. */
static struct str label_value(struct str labels, struct str key)
{
	struct str rest = str_from(labels, str_find(labels, key) + key.n);
	return str_head(rest, str_find_byte(rest, '"'));
}

int numbers_queries(const struct status *s, struct numbers_queries *ret)
{
	static const struct {
		const char *name, *labels;
	} counters[NUMBERS_QUERIES] = {
		{"queries", "kind=\"user\""},  {"queries", "kind=\"bulk\""},
		{"queries", "kind=\"admin\""}, {"queries_answered", NULL},
		{"queries_refused", NULL},     {"queries_failed", NULL},
		{"queries_cut", NULL},         {"queries_cancelled", NULL},
		{"queries_waiting", NULL},     {"queries_running", NULL},
	};
	if (sum_counters(s, "broker", "queries") == 0)
		return 1;
	for (size_t i = 0; i < NUMBERS_QUERIES; i++)
		ret->count[i] = sum_labelled(s, "broker", counters[i].name, counters[i].labels);
	/* of answers to #USER alone: a transfer takes as long as its client likes */
	int64_t took = sum_counters(s, "broker", "queries_took");
	ret->average_us = took ? sum_counters(s, "broker", "query_microseconds") / took : -1;
	return 0;
}

#define S struct numbers_queries
static const struct column queries_columns[] = {
	COL("user", S, count[0], .label = "Users"),
	COL("bulk", S, count[1], .label = "Bulk"),
	COL("admin", S, count[2], .label = "Administrator"),
	COL("answered", S, count[3], .label = "Answered"),
	COL("refused", S, count[4], .label = "Refused"),
	COL("failed", S, count[5], .label = "Failed"),
	COL("cut", S, count[6], .label = "Cut by time"),
	COL("cancelled", S, count[7], .label = "Gave up"),
	COL("waiting", S, count[8], .label = "Waiting"),
	COL("running", S, count[9], .label = "Running"),
	COL("average_us", S, average_us, .label = "Average time", .unit = UNIT_US,
	    .how = ROW_SOME | ROW_NEG),
};
const struct rows numbers_queries_rows = {ROWS(S, queries_columns)};
#undef S

static bool result_is_good(struct str result)
{
	static const char *const good[] = {"new", "changed", "unchanged", "redirect"};
	return STR_AMONG(result, good);
}

static size_t list_causes(const struct status *s, struct numbers_cause ret[NUMBERS_CAUSES])
{
	size_t n = 0;
	for (size_t i = 0; i < s->nviews; i++)
		for (size_t k = 0; view_is_of(&s->view[i], "shepherd") && k < s->view[i].n; k++) {
			const struct counter_value *v = &s->view[i].value[k];
			struct str result = label_value(v->labels, STR("result=\""));
			if (str_is(v->name, "pages") && v->value && !result_is_good(result) &&
			    n < NUMBERS_CAUSES)
				ret[n++] = (struct numbers_cause){result, v->value};
		}
	return n;
}

/* Adds the codes of a class, after its own line; ret has room for `most`. Returns how many. */
static size_t class_codes(const struct counters_view *v, const char *class,
			  struct numbers_code *ret, size_t most)
{
	size_t n = 1;
	*ret = (struct numbers_code){.name = str_of(class)};
	for (size_t k = 0; k < v->n; k++) {
		const struct counter_value *c = &v->value[k];
		uint64_t code;
		if (!str_is(c->name, "codes") || !c->value || n == most ||
		    !str_is(label_value(c->labels, STR("class=\"")), class))
			continue;
		ret[n] = (struct numbers_code){.name = label_value(c->labels, STR("code=\"")),
					       .count = c->value};
		if (str_u64(ret[n].name, &code) && code < CODE_END)
			code_text((uint16_t)code, ret[n].words);
		else
			snprintf(ret[n].words, CODE_TEXT, "all others of this class");
		ret->count += ret[n++].count;
	}
	return n > 1 ? n : 0;
}

static size_t list_codes(const struct status *s, struct numbers_code ret[NUMBERS_CODES])
{
	size_t n = 0;
	for (size_t i = 0; i < s->nviews; i++)
		for (int c = 0; view_is_of(&s->view[i], "shepherd") && c < CODE_CLASSES; c++)
			if (n < NUMBERS_CODES)
				n += class_codes(&s->view[i], code_class_names[c], ret + n,
						 NUMBERS_CODES - n);
	return n;
}

void numbers_of(const struct status *s, int64_t now_wall_us, struct numbers *ret)
{
	int64_t all = sum_counters(s, "shepherd", "pages"), failed = 0;
	int64_t commit_s = sum_counters(s, "broker", "last_commit_seconds");
	ret->causes = list_causes(s, ret->cause);
	ret->codes = list_codes(s, ret->code);
	for (size_t i = 0; i < ret->causes; i++)
		failed += ret->cause[i].count;
	struct number *n = ret->n;
	number_print(n++, "documents", "documents indexed", sum_counters(s, "broker", "documents"));
	number_print(n++, "known", "URLs known", sum_counters(s, "shepherd", "urls"));
	number_print(n++, "pages", "pages fetched", all - failed);
	number_print(n++, "failed", "pages not fetched", failed);
	number_print(n++, "waiting",
		     sum_counters(s, "shepherd", "waits_for_space")
			     ? "pages waiting, for room on the disk"
			     : "pages waiting",
		     sum_counters(s, "shepherd", "urls_waiting"));
	number_print(n++, "under-way", "pages under way",
		     sum_counters(s, "shepherd", "urls_under_way"));
	number_print_rate(n++, "rate", "pages per second since the start", s, all, now_wall_us);
	if (commit_s)
		number_print_ago(n, "commit", "last commit", now_wall_us - commit_s * US_PER_S);
	else
		*n = (struct number){.id = "commit", .title = "last commit", .text = "none yet"};
	ret->pages = (uint64_t)MAX(all, 0);
}

static const struct column cause_columns[] = {
	COL("result", struct numbers_cause, result, .label = "Result"),
	COL("count", struct numbers_cause, count, .label = "Pages"),
};
const struct rows numbers_cause_rows = {ROWS(struct numbers_cause, cause_columns), ROWS_ARRAY};
static const struct column code_columns[] = {
	COL("code", struct numbers_code, name, .label = "Code"),
	COL("words", struct numbers_code, words, .label = "Words", .how = ROW_BLANK),
	COL("count", struct numbers_code, count, .label = "Fetches"),
};
const struct rows numbers_code_rows = {ROWS(struct numbers_code, code_columns), ROWS_ARRAY};
static const struct column list_columns[] = {
	COL_LIST("causes", struct numbers, cause, causes, numbers_cause_rows),
	COL_LIST("codes", struct numbers, code, codes, numbers_code_rows),
};
static const struct rows list_rows = {ROWS(struct numbers, list_columns)};

void numbers_json(const struct numbers *n, int64_t now_us, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_int(&j, "at_us", now_us);
	jsonw_put_uint(&j, "pages", n->pages);
	jsonw_put_object(&j, "shown");
	for (size_t i = 0; i < NUMBERS; i++)
		jsonw_put_text(&j, n->n[i].id, n->n[i].text);
	jsonw_object_end(&j);
	rows_json_members(&list_rows, n, &j);
	jsonw_object_end(&j);
}
