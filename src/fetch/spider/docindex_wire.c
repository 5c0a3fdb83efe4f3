/* Answers of a doc index. Numbers are bounded and words checked here. A line that could be read in
 * two ways is refused: exactly one blank between words, none before or after. */
#include "fetch/spider/docindex_wire.h"

const char *docindex_outcome_name(unsigned outcome)
{
	return outcome == DOCINDEX_DONE ? "done" : outcome_name((enum outcome)outcome);
}

bool docindex_outcome_parse(struct str name, unsigned *ret)
{
	enum outcome outcome;
	if (str_is(name, "done")) {
		*ret = DOCINDEX_DONE;
		return true;
	}
	if (!outcome_parse(name, &outcome))
		return false;
	*ret = outcome;
	return true;
}

bool docindex_is_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '!' || s.p[i] > '~')
			return false;
	return s.n > 0 && s.n <= DOCINDEX_WORD_MAX;
}

bool docindex_is_url(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
			return false;
	return s.n > 0 && s.n <= DOCINDEX_URL_MAX;
}

static int line_wrong(struct str line, const char *why, struct err *err)
{
	return err_set(err, ERR_USAGE, "%s: '" STR_FMT "'", why, STR_ARG(str_head(line, 80)));
}

static bool number_read(struct str s, uint64_t most, uint64_t *ret)
{
	return s.n <= STR_DECIMAL_MAX && str_u64(s, ret) && *ret <= most;
}

static int url_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
		    struct err *err)
{
	struct str rest = line, doc_id;
	(void)str_cut(&rest, ' ', &doc_id);
	if (!docindex_is_word(doc_id) || !docindex_is_url(rest))
		return line_wrong(line, "not a DOC_ID and a URL", err);
	in->urls--;
	*ret = (struct docindex_answer){
		.kind = DOCINDEX_URL, .count = in->urls, .doc_id = doc_id, .url = rest};
	return 0;
}

static bool have_read(struct str rest, struct docindex_answer *a)
{
	struct str n, seconds;
	if (str_cut(&rest, ' ', &n) != 0 || !number_read(n, DOCINDEX_COUNT_MAX, &a->count))
		return false;
	if (a->count == 0 && (str_cut(&rest, ' ', &seconds) != 0 ||
			      !number_read(seconds, DOCINDEX_SECONDS_MAX, &a->seconds)))
		return false;
	return !rest.p;
}

int docindex_answer_read(struct docindex_answers *in, struct str line, struct docindex_answer *ret,
			 struct err *err)
{
	struct docindex_answer a = {.kind = DOCINDEX_OK};
	if (in->urls)
		return url_read(in, line, ret, err);
	if (str_starts(line, STR("HAVE "))) {
		a.kind = DOCINDEX_HAVE;
		if (!have_read(str_from(line, 5), &a))
			return line_wrong(line, "wrong numbers", err);
		in->urls = a.count;
	} else if (str_starts(line, STR("ERROR "))) {
		a.kind = DOCINDEX_ERROR;
		a.text = str_from(line, 6);
	} else if (!str_is(line, "OK")) {
		return line_wrong(line, "not a line of a doc index", err);
	}
	*ret = a;
	return 0;
}
