/* garner index words query */
#include "base/rows.h"
#include "cmd/index/index_ask.h"
#include "cmd/index/index_cmd.h"
#include "index/token.h"

struct query_command_options {
	bool batch, count, json, exact, best, parts, forgive, explain;
	int64_t limit, offset, repeat, errors, per_site;
	int64_t budget_us;
	int order;
	struct value_list facets;
};

struct asking {
	struct index_ask frame; /* first */
	const struct query_command_options *o;
	struct words_reader *reader;
	struct docstore *docs;
	struct token_rules *rules;
	struct hits hits;
};

static struct asking *asking_of(struct index_ask *frame)
{
	return (struct asking *)(void *)frame;
}

static int words_ask(struct index_ask *frame, struct str text, uint64_t *ret_total, struct err *err)
{
	struct asking *a = asking_of(frame);
	const struct query_options options = {.exact = a->o->exact,
					      .errors = (uint8_t)a->o->errors,
					      .best = a->o->best,
					      .parts = a->o->parts,
					      .forgive = a->o->forgive};
	struct query q;
	if (words_refresh(&a->reader, err) < 0 ||
	    query_parse(text, &options, a->rules, &frame->arena, &q, err) < 0)
		return -1;
	q.order = (enum query_order)a->o->order;
	q.limit = a->o->count ? 0 : (uint32_t)a->o->limit;
	q.offset = (uint32_t)a->o->offset;
	q.budget_us = a->o->budget_us;
	q.exact_total = a->o->count;
	q.explain = a->o->explain;
	for (; q.facets < a->o->facets.n; q.facets++)
		q.facet[q.facets] = str_of(a->o->facets.item[q.facets]);
	q.per_site = (uint32_t)a->o->per_site;
	q.rules = a->rules;
	q.text = a->docs ? docstore_text : NULL;
	q.text_ctx = a->docs;
	a->hits = (struct hits){0};
	if (words_query(a->reader, &q, &frame->arena, &a->hits, err) < 0)
		return -1;
	*ret_total = a->hits.total;
	return 0;
}

/* Its title, where the document is kept. */
static struct str title_of(struct asking *a, const struct hit *hit)
{
	struct soif doc;
	struct err ignored;
	if (!a->docs || !hit->oid ||
	    docstore_get(a->docs, hit->oid, &a->frame.arena, &doc, &ignored) != 0)
		return STR("");
	struct str title = soif_get(&doc, STR("Title"));
	return title.p ? str_trim(title) : STR("");
}

#define S struct hits
static const struct column hits_columns[] = {
	COL("total", S, total),
	COL("exact", S, total_exact),
	COL("cut", S, cut, .how = ROW_SOME),
	COL("notes", S, notes, .how = ROW_SOME),
};
static const struct rows hits_rows = {ROWS(S, hits_columns)};
static const struct column rest_columns[] = {
	COL_LIST("facets", S, facet, facets, facet_rows, .how = ROW_SOME),
	COL("facet_sample", S, facet_sample, .how = ROW_SOME),
	COL("facet_of", S, facet_of, COL_IF(S, facet_sample)),
	COL("explain", S, explain, .how = ROW_SOME),
};
static const struct rows rest_rows = {ROWS(S, rest_columns)};
#undef S

struct hit_row {
	struct hit h;
	struct str title;
};
static const struct column hit_columns[] = {
	COL("key", struct hit_row, h.key),
	COL("score", struct hit_row, h.score),
	COL("time", struct hit_row, h.time_s),
	COL("title", struct hit_row, title),
};
static const struct rows hit_rows = {ROWS(struct hit_row, hit_columns)};
static const struct rows key_rows = {hit_columns, 1, sizeof(struct hit_row), ROWS_VALUE};

static void words_put(struct index_ask *frame, struct jsonw *j, bool all)
{
	struct asking *a = asking_of(frame);
	const struct hits *hits = &a->hits;
	rows_json_members(&hits_rows, hits, j);
	jsonw_put_array(j, all ? "hits" : "ids");
	for (size_t i = 0; i < hits->n; i++) {
		const struct hit *h = &hits->hit[i];
		const struct hit_row row = {*h, all ? title_of(a, h) : STR("")};
		rows_json(all ? &hit_rows : &key_rows, &row, j);
	}
	jsonw_array_end(j);
	rows_json_members(&rest_rows, hits, j);
}

/* On one line, and without what a terminal would take for orders: control characters are blanks. */
static void put_shown(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i], next = 0;
		if (c == 0xc2 && i + 1 < text.n)
			next = (unsigned char)text.p[i + 1];
		bool two = next >= 0x80 && next < 0xa0;
		i += two;
		buf_add_byte(out, c < 0x20 || c == 0x7f || two ? ' ' : (char)c);
	}
}

static void print_text(struct asking *a)
{
	const struct hits *hits = &a->hits;
	struct buf *out = &a->frame.out;
	for (size_t i = 0; i < hits->n; i++) {
		const struct hit *h = &hits->hit[i];
		buf_printf(out, "%8.3f  ", (double)h->score);
		put_shown(out, h->key);
		buf_add_text(out, "  ");
		put_shown(out, title_of(a, h));
		buf_add_byte(out, '\n');
	}
	index_ask_total(out, hits->total, hits->total_exact, a->o->count ? "" : " document",
			hits->cut);
	index_put_facets(out, hits);
	if (a->o->count)
		return;
	buf_add_str(out, hits->notes);
	buf_add_text(out, hits->notes.n && !str_ends(hits->notes, STR("\n")) ? "\n" : "");
	buf_add_str(out, hits->explain);
}

static int words_single(struct index_ask *frame, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(QUERY_TEXT_MOST + 1);
	struct asking *a = asking_of(frame);
	for (int i = 1; i < frame->call->argc; i++)
		buf_printf(&text, "%s%s", i > 1 ? " " : "", frame->call->argv[i]);
	if (text.over)
		return err_set(err, ERR_USAGE, "a query has at most %d bytes", QUERY_TEXT_MOST);
	if (index_ask_text(frame, buf_str(&text), err) < 0)
		return -1;
	if (a->o->json)
		index_ask_json(frame, true);
	else
		print_text(a);
	return 0;
}

static int words_open_all(struct index_ask *frame, struct err *err)
{
	struct asking *a = asking_of(frame);
	if (a->o->facets.n > QUERY_FACETS_MOST)
		return err_set(err, ERR_USAGE, "--facets: %zu names, at most %d can be asked for",
			       a->o->facets.n, QUERY_FACETS_MOST);
	if (index_open(frame->call->argv[0], &a->reader, &a->docs, err) < 0)
		return -1;
	return token_rules_open(&a->rules, str_of(words_settings(a->reader)->language), err);
}

static const struct index_ask_ops words_ops = {.one = "query",
					       .many = "queries",
					       .most = QUERY_TEXT_MOST,
					       .open = words_open_all,
					       .ask = words_ask,
					       .single = words_single,
					       .put = words_put};

static int run_query(const struct cmd_call *call, struct err *err)
{
	const struct query_command_options *o = call->options;
	struct asking a = {
		.frame = {.call = call, .ops = &words_ops, .batch = o->batch, .repeat = o->repeat},
		.o = o};
	int code = index_ask_run(&a.frame, err);
	words_close(&a.reader);
	docstore_close(&a.docs);
	token_rules_close(&a.rules);
	return code;
}

static const char *const order_words[] = {
	[QUERY_BY_RANK] = "rank", [QUERY_BY_TIME] = "time", [QUERY_ANYHOW] = "none", NULL};

static const struct cmd_option query_options[] = {
	CMD_FLAG(0, "batch", struct query_command_options, batch,
		 "one query per line of standard input, one JSON object per line out"),
	CMD_FLAG('B', "best", struct query_command_options, best,
		 "allow as many errors as each word needs to match anything"),
	CMD_OPTION(0, "TIME", "budget", VALUE_TIME_AT(struct query_command_options, budget_us),
		   .min = 0, .max = 3.6e9, .fallback = "0",
		   .help = "time after which the query ends with the best hits found; 0: no limit"),
	CMD_FLAG('c', "count", struct query_command_options, count,
		 "print only the exact number of documents"),
	CMD_OPTION('e', "K", "errors", VALUE_INT_AT(struct query_command_options, errors),
		   .fallback = "0", .min = 0, .max = QUERY_ERRORS_MOST,
		   .help = "characters that may be wrong in each word"),
	CMD_FLAG(0, "exact", struct query_command_options, exact, "distinguish case and accents"),
	CMD_FLAG(0, "forgive", struct query_command_options, forgive,
		 "rare words also match similar words"),
	CMD_FLAG(0, "explain", struct query_command_options, explain,
		 "explain how the query ran and how the first hits were scored"),
	CMD_OPTION(0, "NAMES", "facets", VALUE_LIST_AT(struct query_command_options, facets),
		   .help = "count the documents by these columns: words, dates, year, size"),
	CMD_FLAG(0, "json", struct query_command_options, json, "the answer as JSON"),
	CMD_OPTION('k', "N", "limit", VALUE_INT_AT(struct query_command_options, limit),
		   .fallback = "10", .min = 0, .max = QUERY_LIMIT_MOST / 2.0,
		   .help = "most documents to print"),
	CMD_OPTION(0, "N", "offset", VALUE_INT_AT(struct query_command_options, offset),
		   .fallback = "0", .min = 0, .max = QUERY_LIMIT_MOST / 2.0,
		   .help = "number of hits to skip"),
	CMD_OPTION(0, "ORDER", "order", VALUE_WORD_AT(struct query_command_options, order),
		   .words = order_words, .fallback = "rank",
		   .help = "the best first, the newest first, or any order"),
	CMD_FLAG('w', "parts", struct query_command_options, parts, "match parts of words"),
	CMD_OPTION(0, "N", "per-site", VALUE_INT_AT(struct query_command_options, per_site),
		   .fallback = "0", .min = 0, .max = QUERY_LIMIT_MOST / 2.0,
		   .help = "most hits of one site among the first 100; its other hits follow; "
			   "0: any number"),
	CMD_OPTION(0, "N", "repeat", VALUE_INT_AT(struct query_command_options, repeat),
		   .fallback = "1", .min = 1, .max = INDEX_REPEATS_MOST,
		   .help = "times to run each query, for measurements; the shortest time counts"),
};
const struct command index_query_command = {
	.name = "query",
	.summary = "find documents by their words",
	.description =
		"Answers a query with the best documents: score, key, title. Words next to each "
		"other must all be there; AND, OR, NOT, brackets, \"phrases\", attribute : value "
		"and comparisons (size > 100) combine them; doc/query.md has the language.\n\n"
		"With --batch each answer is an object with us (CPU microseconds in the library), "
		"total (exact says whether there may be more), and ids, the keys of the documents; "
		"or with error.",
	CMD_OPTIONS(query_options, struct query_command_options),
	CMD_ARGS("DIR [WORD...]", 1, -1, "the folder of the index, and the query"),
	CMD_EXAMPLES(
		{"garner index words query DIR 'title : (linux OR kernel) AND \"file system\"'",
		 "attributes, operators, phrases"},
		{"garner index words query DIR --facets site,type,year --json kernel",
		 "how many there are of each"},
		{"garner index words query DIR --batch -k 100 < queries",
		 "keys and times as JSON lines"}),
	CMD_EXITS({1, "no document was found"},
		  {ERR_PARTLY, "some queries of a batch could not be read"}, INDEX_EXITS),
	.run = run_query,
};
