#include "web/numbers.h"

#include "base/clock.h"
#include "base/jsonw.h"

#include <stdio.h>

static bool view_is_of(const struct counters_view *v, const char *role)
{
	return str_is(str_head(v->instance, str_find_byte(v->instance, '@')), role);
}

/* The sum of all counters of a role with this name; labels NULL: with any. */
static int64_t sum_counters(const struct status *s, const char *role, const char *name,
			    const char *labels)
{
	int64_t total = 0;
	for (size_t i = 0; i < s->nviews; i++) {
		const struct counters_view *v = &s->view[i];
		if (!view_is_of(v, role))
			continue;
		for (size_t k = 0; k < v->n; k++)
			if (str_is(v->value[k].name, name) &&
			    (!labels || str_is(v->value[k].labels, labels)))
				total += v->value[k].value;
	}
	return total;
}

static void number_print(struct number *n, const char *id, const char *title, int64_t v)
{
	char digits[32];
	int len = snprintf(digits, sizeof digits, "%lld", (long long)MAX(v, 0)), at = 0;
	*n = (struct number){.id = id, .title = title};
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			n->text[at++] = ',';
		n->text[at++] = digits[i];
	}
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

void numbers_of(const struct status *s, int64_t now_wall_us, struct numbers *ret)
{
	int64_t all = sum_counters(s, "shepherd", "pages", NULL), good = 0;
	int64_t commit_s = sum_counters(s, "broker", "last_commit_seconds", NULL);
	static const char *const well[] = {"result=\"new\"", "result=\"changed\"",
					   "result=\"unchanged\"", "result=\"redirect\""};
	for (size_t i = 0; i < ARRAY_LEN(well); i++)
		good += sum_counters(s, "shepherd", "pages", well[i]);
	struct number *n = ret->n;
	number_print(n++, "documents", "documents indexed",
		     sum_counters(s, "broker", "documents", NULL));
	number_print(n++, "known", "URLs known", sum_counters(s, "shepherd", "urls", NULL));
	number_print(n++, "pages", "pages gathered", good);
	number_print(n++, "failed", "pages not gathered", all - good);
	number_print(n++, "waiting", "pages waiting",
		     sum_counters(s, "shepherd", "urls_waiting", NULL));
	number_print(n++, "under-way", "pages under way",
		     sum_counters(s, "shepherd", "urls_under_way", NULL));
	number_print_rate(n++, "rate", "pages per second", s, all, now_wall_us);
	if (commit_s)
		number_print_ago(n, "commit", "last commit", now_wall_us - commit_s * US_PER_S);
	else
		*n = (struct number){.id = "commit", .title = "last commit", .text = "none yet"};
	ret->pages = (uint64_t)MAX(all, 0);
}

static struct str label_value(struct str labels)
{
	struct str rest = str_from(labels, MIN(str_find_byte(labels, '"') + 1, labels.n));
	return str_head(rest, str_find_byte(rest, '"'));
}

size_t numbers_causes(const struct status *s, struct numbers_cause ret[NUMBERS_CAUSES])
{
	static const char *const good[] = {"new", "changed", "unchanged", "redirect"};
	size_t n = 0;
	for (size_t i = 0; i < s->nviews; i++)
		for (size_t k = 0; view_is_of(&s->view[i], "shepherd") && k < s->view[i].n; k++) {
			const struct counter_value *v = &s->view[i].value[k];
			bool skip =
				!str_is(v->name, "pages") || v->value == 0 || n == NUMBERS_CAUSES;
			for (size_t g = 0; g < ARRAY_LEN(good) && !skip; g++)
				skip = str_is(label_value(v->labels), good[g]);
			if (!skip)
				ret[n++] = (struct numbers_cause){label_value(v->labels), v->value};
		}
	return n;
}

void numbers_json(const struct status *s, const struct numbers *n, int64_t now_us, struct buf *out)
{
	struct numbers_cause cause[NUMBERS_CAUSES];
	size_t causes = numbers_causes(s, cause);
	struct jsonw j = JSONW_INIT(out);
	jsonw_object(&j);
	jsonw_put_int(&j, "at_us", now_us);
	jsonw_put_uint(&j, "pages", n->pages);
	jsonw_key(&j, "shown");
	jsonw_object(&j);
	for (size_t i = 0; i < NUMBERS; i++)
		jsonw_put_text(&j, n->n[i].id, n->n[i].text);
	jsonw_object_end(&j);
	jsonw_key(&j, "causes");
	jsonw_array(&j);
	for (size_t i = 0; i < causes; i++) {
		jsonw_array(&j);
		jsonw_str(&j, cause[i].result);
		jsonw_int(&j, cause[i].count);
		jsonw_array_end(&j);
	}
	jsonw_array_end(&j);
	jsonw_object_end(&j);
}
