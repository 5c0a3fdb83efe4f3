/* garner index words suggest */
#include "base/rows.h"
#include "cmd/index/index_cmd.h"
#include "cmd/system/text.h"
#include "index/token.h"

#include <inttypes.h>

struct suggest_options {
	int64_t words, titles, budget_us;
	bool json;
};

struct suggesting {
	struct words_reader *reader;
	struct docstore *docs;
	struct token_rules *rules;
	struct arena arena;
	struct buf out;
};

static void print_suggestions(struct suggesting *s, const struct words_suggestion *found, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (found[i].docs)
			buf_printf(&s->out, "%10" PRIu64 "  ", found[i].docs);
		else
			buf_add_text(&s->out, "     title  ");
		put_safe(&s->out, found[i].text);
		buf_add_byte(&s->out, '\n');
	}
}

static const struct column word_columns[] = {
	COL("text", struct words_suggestion, text),
	COL("documents", struct words_suggestion, docs),
};
static const struct rows word_rows = {ROWS(struct words_suggestion, word_columns)};
static const struct rows title_rows = {word_columns, 1, sizeof(struct words_suggestion),
				       ROWS_VALUE};

struct suggestions {
	const struct words_suggestion *word, *title;
	size_t words, titles;
};
static const struct column suggestion_columns[] = {
	COL_LIST("words", struct suggestions, word, words, word_rows),
	COL_LIST("titles", struct suggestions, title, titles, title_rows),
};
static const struct rows suggestion_rows = {ROWS(struct suggestions, suggestion_columns)};

/* Words come first. */
static void print_suggestions_json(struct suggesting *s, const struct words_suggestion *found,
				   size_t n)
{
	struct suggestions all = {.word = found};
	while (all.words < n && found[all.words].docs)
		all.words++;
	all.title = found + all.words;
	all.titles = n - all.words;
	rows_json_line(&suggestion_rows, &all, &s->out);
}

static int suggest_all(struct suggesting *s, const struct cmd_call *call, size_t *ret_n,
		       struct err *err)
{
	const struct suggest_options *o = call->options;
	CLEANUP(buf_free) struct buf prefix = BUF_INIT(QUERY_TEXT_MOST);
	struct words_suggestion *found;
	for (int i = 1; i < call->argc; i++)
		buf_printf(&prefix, "%s%s", i > 1 ? " " : "", call->argv[i]);
	if (prefix.over)
		return err_set(err, ERR_USAGE, "a prefix has at most %d bytes", QUERY_TEXT_MOST);
	if (index_open(call->argv[0], &s->reader, &s->docs, err) < 0 ||
	    token_rules_open(&s->rules, str_of(words_settings(s->reader)->language), err) < 0)
		return -1;
	const struct words_suggest_spec spec = {
		.prefix = buf_str(&prefix),
		.rules = s->rules,
		.words = (uint32_t)o->words,
		.titles = (uint32_t)o->titles,
		.text = s->docs ? docstore_text : NULL,
		.text_ctx = s->docs,
		.budget_us = o->budget_us,
	};
	if (words_suggest(s->reader, &spec, &s->arena, &found, ret_n, err) < 0)
		return -1;
	if (o->json)
		print_suggestions_json(s, found, *ret_n);
	else
		print_suggestions(s, found, *ret_n);
	cmd_flush(call, &s->out);
	return 0;
}

static int run_suggest(const struct cmd_call *call, struct err *err)
{
	struct suggesting s = {.arena = ARENA_INIT(SIZE_MAX), .out = BUF_INIT(SIZE_MAX / 2)};
	size_t n = 0;
	int code = suggest_all(&s, call, &n, err) < 0 ? -1 : n == 0;
	words_close(&s.reader);
	docstore_close(&s.docs);
	token_rules_close(&s.rules);
	arena_free(&s.arena);
	buf_free(&s.out);
	return code;
}

static const struct cmd_option suggest_options[] = {
	CMD_OPTION('n', "N", "words", VALUE_INT_AT(struct suggest_options, words), .fallback = "10",
		   .min = 0, .max = 100, .help = "most words to print"),
	CMD_OPTION(0, "N", "titles", VALUE_INT_AT(struct suggest_options, titles), .fallback = "5",
		   .min = 0, .max = 100, .help = "most titles to print"),
	CMD_OPTION(0, "TIME", "budget", VALUE_TIME_AT(struct suggest_options, budget_us), .min = 0,
		   .max = 3.6e9, .fallback = "0",
		   .help = "time after which the search ends with what it has found; 0: no limit"),
	CMD_FLAG(0, "json", struct suggest_options, json, "as JSON"),
};
const struct command index_suggest_command = {
	.name = "suggest",
	.summary = "complete a word being typed",
	.description =
		"Prints the words that begin with PREFIX and the number of documents that have "
		"each, the commonest first; then titles that contain all words of PREFIX, the "
		"last one perhaps incomplete. Of several words the last is completed.",
	CMD_OPTIONS(suggest_options, struct suggest_options),
	CMD_ARGS("DIR PREFIX...", 2, -1, "the folder of the index, and what was typed"),
	CMD_EXAMPLES({"garner index words suggest DIR appl", "apple, apply ..."},
		     {"garner index words suggest DIR --json file sy", "file system ..."}),
	CMD_EXITS({1, "no word or title begins like this"}, INDEX_EXITS),
	.run = run_suggest,
};
