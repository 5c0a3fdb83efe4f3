/* garner search: what the index has for some words. */
#include "broker/search.h"

#include "base/clock.h"
#include "cmd/commands.h"
#include "cmd/index/index_cmd.h"
#include "cmd/system/help.h"
#include "cmd/system/text.h"

#include <limits.h>

struct search_options {
	int64_t limit, page, errors;
	const char *site, *type;
	int order;
	bool json, urls, lines, best, parts, exact, strict;
	struct value_list facets;
};

static const char *const orders[] = {"rank", "time", "none", NULL};

static const struct cmd_option options[] = {
	CMD_OPTION('n', "N", "limit", VALUE_INT_AT(struct search_options, limit), .fallback = "10",
		   .min = 1, .max = SEARCH_PAGE_MOST, .help = "results per page"),
	CMD_OPTION('p', "N", "page", VALUE_INT_AT(struct search_options, page), .fallback = "1",
		   .min = 1, .max = 1000, .help = "page of results to print"),
	CMD_OPTION(0, "HOST", "site", VALUE_TEXT_AT(struct search_options, site), .fallback = "",
		   .help = "only documents of this host"),
	CMD_OPTION(0, "TYPE", "type", VALUE_TEXT_AT(struct search_options, type), .fallback = "",
		   .help = "only documents of this type: HTML, Text ..."),
	CMD_OPTION(0, "ORDER", "order", VALUE_WORD_AT(struct search_options, order),
		   .words = orders, .fallback = "rank",
		   .help = "the best first, the newest first, or in index order"),
	CMD_OPTION('e', "K", "errors", VALUE_INT_AT(struct search_options, errors), .fallback = "0",
		   .min = 0, .max = QUERY_ERRORS_MOST,
		   .help = "characters that may be wrong in a word"),
	CMD_FLAG('B', "best", struct search_options, best,
		 "allow as many errors as it takes to find anything"),
	CMD_FLAG('w', "parts", struct search_options, parts, "match parts of words"),
	CMD_FLAG(0, "case", struct search_options, exact, "distinguish case and accents"),
	CMD_FLAG(0, "strict", struct search_options, strict,
		 "rare words do not also match similar words"),
	CMD_FLAG(0, "lines", struct search_options, lines,
		 "print the matching lines and their attributes instead of a snippet"),
	CMD_OPTION(0, "NAMES", "facets", VALUE_LIST_AT(struct search_options, facets),
		   .help = "count the documents by any of site, type, language, way, gatherer, "
			   "year, size"),
	CMD_FLAG(0, "json", struct search_options, json, "print JSON"),
	CMD_FLAG(0, "urls", struct search_options, urls, "print only URLs, one per line"),
};

#define BOLD "\033[1m"
#define GREEN "\033[32m"
#define DIM "\033[2m"
#define PLAIN "\033[0m"

static void put_marked(struct buf *out, const struct marked *m, bool colour)
{
	size_t at = 0;
	buf_add_text(out, m->cut_before ? "... " : "");
	for (size_t i = 0; i < m->n; i++) {
		put_safe(out, (struct str){m->text.p + at, m->mark[i].at - at});
		buf_add_text(out, colour ? BOLD : "");
		put_safe(out, (struct str){m->text.p + m->mark[i].at, m->mark[i].n});
		buf_add_text(out, colour ? PLAIN : "");
		at = m->mark[i].at + m->mark[i].n;
	}
	put_safe(out, (struct str){m->text.p + at, m->text.n - at});
	buf_add_text(out, m->cut_after ? " ..." : "");
}

static void put_row(struct buf *out, const struct search_row *row, uint64_t number, bool lines,
		    bool colour)
{
	buf_printf(out, "%3llu. ", (unsigned long long)number);
	put_marked(out, &row->title, colour);
	buf_printf(out, "\n     %s", colour ? GREEN : "");
	put_safe(out, row->url);
	buf_printf(out, "%s\n", colour ? PLAIN : "");
	for (size_t i = 0; i < row->lines; i++) {
		buf_printf(out, "     %s", colour ? DIM : "");
		put_safe(out, row->line[i].attribute);
		buf_printf(out, ":%s ", colour ? PLAIN : "");
		put_marked(out, &row->line[i].line, colour);
		buf_add_byte(out, '\n');
	}
	if (row->snippet.text.n && !lines) {
		buf_add_text(out, "     ");
		put_marked(out, &row->snippet, colour);
		buf_add_byte(out, '\n');
	}
	buf_add_byte(out, '\n');
}

static void put_notes(struct buf *out, struct str notes)
{
	struct str line;
	while (notes.n && str_cut(&notes, '\n', &line) == 0) {
		put_safe(out, line);
		buf_add_text(out, line.n ? "\n" : "");
	}
}

static void put_summary(struct buf *out, const struct search_ask *ask,
			const struct search_answer *a, int64_t page)
{
	buf_printf(out, "%s%llu of %llu documents, %.1f ms", a->total_exact ? "" : "at least ",
		   (unsigned long long)a->total, (unsigned long long)a->documents,
		   (double)a->took_us / 1000.0);
	if (a->cut)
		buf_add_text(out, ", stopped because it took too long");
	if (ask->offset + a->n < a->total)
		buf_printf(out, "; the next page: --page %lld", (long long)page + 1);
	buf_add_byte(out, '\n');
	index_put_facets(out, &(struct hits){.facet = a->facet,
					     .facets = a->facets,
					     .facet_sample = a->facet_sample,
					     .facet_of = a->facet_of});
	put_notes(out, a->notes);
	if (a->meant.n) {
		buf_add_text(out, "Did you mean: ");
		put_safe(out, a->meant);
		buf_add_byte(out, '\n');
	}
}

static void print_answer(const struct search_ask *ask, const struct search_answer *a,
			 const struct search_options *o, bool colour, struct buf *out)
{
	struct jsonw j = JSONW_INIT(out);
	if (o->json) {
		search_answer_json(ask, a, &j);
		buf_add_byte(out, '\n');
		return;
	}
	for (size_t i = 0; i < a->n; i++) {
		if (o->urls) {
			put_safe(out, a->row[i].url);
			buf_add_byte(out, '\n');
		} else {
			put_row(out, &a->row[i], ask->offset + i + 1, ask->lines, colour);
		}
	}
	if (!o->urls)
		put_summary(out, ask, a, o->page);
}

static int run(const struct cmd_call *call, struct err *err)
{
	const struct search_options *o = call->options;
	CLEANUP(search_close) struct search *s = NULL;
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 30);
	CLEANUP(buf_free) struct buf words = BUF_INIT(QUERY_TEXT_MOST), out = BUF_INIT(64 << 20);
	struct search_answer answer;
	char data[PATH_MAX];
	if (o->json && o->urls)
		return err_set(err, ERR_USAGE, "--json and --urls cannot be combined");
	for (int i = 0; i < call->argc; i++)
		buf_printf(&words, "%s%s", i ? " " : "", call->argv[i]);
	struct search_ask ask = {
		.words = buf_str(&words),
		.site = str_of(o->site),
		.type = str_of(o->type),
		.order = (enum query_order)o->order,
		.limit = (uint32_t)o->limit,
		.offset = (uint32_t)((o->page - 1) * o->limit),
		.match = {.exact = o->exact,
			  .errors = (uint8_t)o->errors,
			  .best = o->best,
			  .parts = o->parts,
			  .forgive = !o->strict},
		.lines = o->lines,
		.meant = true,
	};
	if (cmd_data(call, data, err) < 0 || search_ask_facets(&ask, &o->facets, err) < 0 ||
	    search_run(s = search_open(data), &ask, &arena, &answer, err) < 0)
		return -1;
	if (answer.documents == 0 && !o->json)
		return err_set(err, ERR_NOTHING,
			       "nothing is indexed in %s yet; garner add URL, then garner up; "
			       "garner status tells how far it is",
			       data);
	print_answer(&ask, &answer, o, help_wants_bold(call->out), &out);
	cmd_print(call, &out);
	return answer.n ? 0 : 1;
}

const struct command search_command = {
	.name = "search",
	.summary = "search what was gathered",
	.description =
		"Prints the title, the URL and a snippet of each document, the best first. A "
		"document must contain all words. The language has AND, OR, NOT, brackets, "
		"\"phrases\", attribute : value, errors (word~1), patterns (app*), words "
		"NEAR/8 each other and /expressions/; see doc/query.md. A rare word also "
		"matches words that differ from it by one character, or by two if it is long. "
		"The last line may suggest another spelling.",
	CMD_OPTIONS(options, struct search_options),
	CMD_ARGS("WORDS...", 1, -1, "several arguments make one query"),
	CMD_EXAMPLES({"garner search free software", "documents with both words"},
		     {"garner search '\"public license\" NOT gpl'", "a phrase, without a word"},
		     {"garner search --lines -e 1 copyrigt", "the lines with a word like this"},
		     {"garner search --facets site,type,year license",
		      "also how many there are of each"},
		     {"garner search 'title : manual' --site 127.0.0.1:8081",
		      "by attribute, on one host"}),
	CMD_EXITS({1, "nothing was found"}, {4, "the index is damaged"}),
	.run = run,
};
