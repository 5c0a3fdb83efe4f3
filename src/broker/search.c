/* Searching: one snapshot of the words index per question, documents from the store, snippets out
 * of them; and answers as JSON, the same for the command, the page's interface and programs. */
#include "broker/search.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/rows.h"
#include "broker/indexer.h"
#include "broker/registry.h"
#include "index/words.h"

#include <pthread.h>
#include <string.h>

enum { PATH_TITLE = 60 }; /* bytes of a path that stands for a title */
enum { READERS = 4 };     /* of the registry that are kept open while nobody needs them */

struct search {
	struct arena arena;
	const char *folder, *words_folder, *docs_folder;
	pthread_mutex_t lock; /* of the rest */
	struct words_reader *words;
	struct docstore *docs;
	struct token_rules *rules; /* of the index's language */
	struct registry *reader[READERS];
	size_t readers;
};

struct search_hits {
	struct search *search;
	struct words_reader *words; /* NULL: nothing was indexed yet */
	struct query query;
	struct hits hits;
	struct search_answer said;
	struct marker *marker;
	struct registry *registry; /* NULL: not needed now */
	int64_t deadline_us;
	size_t next;
};

struct search *search_open(const char *data)
{
	struct search *s = mem_alloc(sizeof *s);
	s->arena = ARENA_INIT(1 << 20);
	s->folder = arena_printf(&s->arena, "%s/broker", data);
	s->words_folder = arena_printf(&s->arena, "%s/broker/words", data);
	s->docs_folder = arena_printf(&s->arena, "%s/broker/docs", data);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void search_close(struct search **sp)
{
	struct search *s = *sp;
	if (!s)
		return;
	words_close(&s->words);
	docstore_close(&s->docs);
	token_rules_close(&s->rules);
	while (s->readers)
		registry_close(&s->reader[--s->readers]);
	pthread_mutex_destroy(&s->lock);
	arena_free(&s->arena);
	mem_free(sp);
}

static int open_all(struct search *s, struct err *err)
{
	int rc = 0;
	if (!s->words && (rc = words_open(&s->words, s->words_folder, err)) != 0)
		return rc;
	if (!s->docs && (rc = docstore_open_read(&s->docs, s->docs_folder, err)) != 0)
		return rc;
	struct str language = str_of(words_settings(s->words)->language);
	if (!s->rules && (rc = token_rules_open(&s->rules, language, err)) != 0)
		return rc;
	return words_refresh(&s->words, err) < 0 ? -1 : 0;
}

/* The newest snapshot, to be closed. 1: nothing was indexed yet. */
static int hold_snapshot(struct search *s, struct words_reader **ret, struct err *err)
{
	pthread_mutex_lock(&s->lock);
	int rc = open_all(s, err);
	if (rc == 0)
		*ret = words_hold(s->words);
	pthread_mutex_unlock(&s->lock);
	return rc;
}

struct str search_host(struct str url)
{
	size_t at = 0;
	while (at + 2 < url.n && memcmp(url.p + at, "://", 3) != 0)
		at++;
	struct str rest = str_from(url, at + 3);
	return str_head(rest, str_find_byte(rest, '/'));
}

/* A document must have this value in this column. */
static struct query_node *filter_node(struct arena *arena, struct str column, struct str value)
{
	struct query_node *node = arena_alloc(arena, sizeof *node);
	node->op = QUERY_COMPARE;
	node->attribute = column;
	node->relation = QUERY_EQUAL;
	node->exact = true; /* not a pattern */
	node->filter = true;
	node->value.text = value;
	return node;
}

static void narrow_query(struct query *q, struct arena *arena, const struct search_ask *ask)
{
	struct query_node *kid[3] = {q->root};
	uint32_t n = 1;
	if (ask->site.n)
		kid[n++] = filter_node(arena, STR(SEARCH_SITE), ask->site);
	if (ask->type.n)
		kid[n++] = filter_node(arena, STR(SEARCH_TYPE), ask->type);
	if (n == 1)
		return;
	struct query_node *both = arena_alloc(arena, sizeof *both);
	both->op = QUERY_AND;
	both->kid = arena_array(arena, n, sizeof *both->kid);
	memcpy(both->kid, kid, n * sizeof *kid);
	both->kids = n;
	q->root = both;
}

/* What stands for a title that is not there: "bash/copyright" of http://a/bash/copyright. Of a long
 * path the end, which tells documents apart. */
static struct str path_of(struct str url)
{
	struct str host = search_host(url);
	struct str path = str_from(url, (size_t)(host.p - url.p) + host.n);
	path = path.n > 1 ? str_from(path, 1) : url;
	for (size_t at; path.n > PATH_TITLE && (at = str_find_byte(path, '/')) + 1 < path.n;)
		path = str_from(path, at + 1);
	return path;
}

/* What is shown of a hit. A document that went away since is shown by its URL. scratch: for the
 * document, of which an answer keeps little. */
static int show_row(struct search_hits *h, const struct search_ask *ask, struct marker *marker,
		    const struct hit *hit, struct arena *arena, struct arena *scratch,
		    struct search_row *row, struct err *err)
{
	struct soif doc = {0};
	arena_clear(scratch);
	int rc = search_hit_document(h, hit, SEARCH_ANY_SIZE, scratch, &doc, err);
	if (rc < 0)
		return -1;
	*row = (struct search_row){
		.url = hit->key,
		.oid = hit->oid,
		.host = search_host(hit->key),
		.type = arena_str(arena, soif_get(&doc, STR("Type"))),
		.time_s = hit->time_s,
		.score = hit->score,
	};
	(void)soif_u64(&doc, STR("File-Size"), &row->size);
	struct str title = soif_get(&doc, STR("Title")), text = soif_get(&doc, STR("Full-Text"));
	struct str name = STR("full-text");
	if (text.n == 0)
		text = soif_get(&doc, STR("Partial-Text"));
	if (text.n == 0) {
		text = soif_get(&doc, STR("Description"));
		name = STR("description");
	}
	snippet_mark(marker, title.n ? STR("title") : STR("url"),
		     title.n ? title : path_of(row->url), SEARCH_TITLE, arena, &row->title);
	snippet_make(marker, name, text, arena, &row->snippet);
	if (ask->lines && rc == 0)
		lines_find(marker, &doc, arena, &row->line, &row->lines);
	return 0;
}

/* As it was indexed: attributes by the names that they are searched by, and the URL. */
static int read_text(void *ctx, uint64_t oid, struct arena *arena, struct soif *ret,
		     struct err *err)
{
	const struct search *s = ctx;
	int rc = docstore_get(s->docs, oid, arena, ret, err);
	for (size_t i = 0; rc == 0 && i < ret->n; i++)
		ret->attr[i].name = indexer_name(ret->attr[i].name);
	if (rc == 0)
		soif_add(ret, arena, STR("url"), ret->url);
	return rc;
}

/* Those who ask write attributes as objects have them, the index has some by other names. Words of
 * File-Size and the like stay where they are: they are in the index by that name too, and it is the
 * one of the line that is shown. */
static void rename_attributes(struct query_node *root)
{
	struct query_node *todo[QUERY_NODES_MOST];
	size_t n = 0;
	todo[n++] = root;
	while (n) {
		struct query_node *node = todo[--n];
		node->attribute = node->op == QUERY_COMPARE ? indexer_compared(node->attribute)
							    : indexer_name(node->attribute);
		ENSURE(n + node->kids <= ARRAY_LEN(todo)); /* each node is there once */
		for (uint32_t i = 0; i < node->kids; i++)
			todo[n++] = node->kid[i];
	}
}

/* As it was written and as it was understood. */
static void log_parsed(const struct search_ask *ask, const struct query *q)
{
	if (!log_debugs(LOG_PARSER, 1))
		return;
	CLEANUP(buf_free) struct buf tree = BUF_INIT(64 << 10);
	query_print(q->root, &tree);
	log_debug(PARSER, 1, "query parsed", KV_STR("query", ask->words),
		  KV_STR("as", buf_str(&tree)));
}

static int find_hits(struct search_hits *h, const struct search_ask *ask, struct arena *arena,
		     struct err *err)
{
	struct search *s = h->search;
	struct query *q = &h->query;
	struct words_stats stats;
	int64_t start_us = clock_mono_us();
	if (query_parse(ask->words, &ask->match, s->rules, arena, q, err) < 0)
		return -1;
	rename_attributes(q->root);
	log_parsed(ask, q);
	h->deadline_us = ask->budget_us ? start_us + ask->budget_us : 0;
	narrow_query(q, arena, ask);
	q->order = ask->order;
	q->limit = ask->limit;
	q->offset = ask->offset;
	q->budget_us = ask->budget_us;
	q->exact_total = ask->exact_total;
	q->facets = MIN(ask->facets, (uint32_t)QUERY_FACETS_MOST);
	memcpy(q->facet, ask->facet, sizeof q->facet);
	q->per_site = ask->per_site;
	q->cancel = ask->cancel;
	q->rules = s->rules;
	q->text = read_text;
	q->text_ctx = s;
	if (words_query(h->words, q, arena, &h->hits, err) < 0)
		return -1;
	words_stats(h->words, &stats);
	h->said = (struct search_answer){
		.total = h->hits.total,
		.total_exact = h->hits.total_exact,
		.cut = h->hits.cut,
		.documents = stats.docs,
		.facet = h->hits.facet,
		.facets = h->hits.facets,
		.facet_sample = h->hits.facet_sample,
		.facet_of = h->hits.facet_of,
		.notes = h->hits.notes,
	};
	log_debug(QUERY, 1, "query answered", KV_STR("query", ask->words),
		  KV_UINT("total", h->said.total), KV_UINT("shown", h->hits.n),
		  KV_TEXT("cut", h->said.cut ? "yes" : "no"),
		  KV_DURATION("took", clock_mono_us() - start_us));
	return 0;
}

int search_begin(struct search *s, const struct search_ask *ask, struct arena *arena,
		 struct search_hits **ret, struct err *err)
{
	struct search_hits *h = mem_alloc(sizeof *h);
	*h = (struct search_hits){.search = s, .said = {.total_exact = true}};
	int rc = hold_snapshot(s, &h->words, err);
	if (rc == 0)
		rc = find_hits(h, ask, arena, err);
	if (rc < 0) {
		search_end(&h);
		return -1;
	}
	*ret = h;
	return 0;
}

/* A reader of the registry that nobody else has. 1: there is no registry yet. */
static int take_reader(struct search *s, struct registry **ret, struct err *err)
{
	struct registry *r = NULL;
	pthread_mutex_lock(&s->lock);
	if (s->readers)
		r = s->reader[--s->readers];
	pthread_mutex_unlock(&s->lock);
	int rc = r ? MIN(registry_refresh(r, err), 0) : registry_open_read(&r, s->folder, err);
	if (rc != 0)
		registry_close(&r);
	else
		*ret = r;
	return rc;
}

static void give_reader(struct search *s, struct registry *r)
{
	pthread_mutex_lock(&s->lock);
	if (s->readers < READERS) {
		s->reader[s->readers++] = r;
		r = NULL;
	}
	pthread_mutex_unlock(&s->lock);
	registry_close(&r);
}

void search_rest(struct search_hits *h)
{
	if (h->registry)
		give_reader(h->search, h->registry);
	h->registry = NULL;
}

int search_hit_object(struct search_hits *h, const struct hit *hit, struct arena *arena,
		      struct registry_object *ret, struct err *err)
{
	int rc = h->registry ? 0 : take_reader(h->search, &h->registry, err);
	if (rc != 0 || hit->oid > UINT32_MAX)
		return rc < 0 ? -1 : 1;
	rc = registry_by_oid(h->registry, (uint32_t)hit->oid, arena, ret, err);
	if (rc < 0)
		registry_close(&h->registry);
	return rc;
}

void search_end(struct search_hits **h)
{
	if (!*h)
		return;
	search_rest(*h);
	marker_free(&(*h)->marker);
	words_close(&(*h)->words);
	mem_free(h);
}

const struct search_answer *search_said(const struct search_hits *h)
{
	return &h->said;
}

size_t search_count(const struct search_hits *h)
{
	return h->hits.n;
}

const struct hit *search_next(struct search_hits *h)
{
	return h->next < h->hits.n ? &h->hits.hit[h->next++] : NULL;
}

int search_hit_document(struct search_hits *h, const struct hit *hit, size_t most,
			struct arena *arena, struct soif *ret, struct err *err)
{
	_Static_assert((int)SEARCH_LARGER == (int)DOCSTORE_LARGER, "the same");
	_Static_assert((int)SEARCH_ANY_SIZE >= (int)DOCSTORE_DOC_MOST, "any document");
	return docstore_get_most(h->search->docs, hit->oid, most, arena, ret, err);
}

int search_marker(struct search_hits *h, int64_t until_us, struct marker **ret, struct err *err)
{
	const struct marker_spec spec = {.root = h->hits.ran,
					 .words = h->words,
					 .rules = h->search->rules,
					 .deadline_us = until_us};
	if (!h->marker && marker_new(&h->marker, &spec, err) < 0)
		return -1;
	marker_until(h->marker, until_us);
	*ret = h->marker;
	return 0;
}

void search_marker_forget(struct search_hits *h)
{
	marker_free(&h->marker);
}

/* The rows of the hits. What is left of the budget is for the marks. */
static int show_rows(struct search_hits *h, const struct search_ask *ask, struct arena *arena,
		     struct search_answer *ret, struct err *err)
{
	CLEANUP(arena_free) struct arena scratch = ARENA_INIT(4 * (size_t)DOCSTORE_DOC_MOST);
	struct marker *marker;
	const struct hit *hit;
	if (search_marker(h, h->deadline_us, &marker, err) < 0)
		return -1;
	ret->row = arena_array(arena, search_count(h) + 1, sizeof *ret->row);
	while ((hit = search_next(h)))
		if (show_row(h, ask, marker, hit, arena, &scratch, &ret->row[ret->n++], err) < 0)
			return -1;
	ret->cut |= marker_was_late(marker);
	return 0;
}

static int show_answer(struct search_hits *h, const struct search_ask *ask, struct arena *arena,
		       struct search_answer *ret, struct err *err)
{
	struct query *q = &h->query;
	if (!h->words)
		return 0;
	if (show_rows(h, ask, arena, ret, err) < 0)
		return -1;
	if (ask->budget_us)
		q->budget_us = h->deadline_us - clock_mono_us();
	if (!ask->meant || (ask->budget_us && q->budget_us <= 0)) /* 0 is no budget */
		return 0;
	return words_did_you_mean(h->words, q, h->search->rules, arena, &ret->meant, err) < 0 ? -1
											      : 0;
}

int search_ask_facets(struct search_ask *ask, const struct value_list *names, struct err *err)
{
	if (names->n > QUERY_FACETS_MOST)
		return err_set(err, ERR_USAGE, "facets: %zu names, at most %d can be asked for",
			       names->n, QUERY_FACETS_MOST);
	for (ask->facets = 0; ask->facets < names->n; ask->facets++)
		ask->facet[ask->facets] = str_of(names->item[ask->facets]);
	return 0;
}

int search_run(struct search *s, const struct search_ask *ask, struct arena *arena,
	       struct search_answer *ret, struct err *err)
{
	CLEANUP(search_end) struct search_hits *h = NULL;
	int64_t start_us = clock_mono_us();
	if (search_begin(s, ask, arena, &h, err) < 0)
		return -1;
	struct search_answer found = *search_said(h);
	if (show_answer(h, ask, arena, &found, err) < 0)
		return -1;
	found.took_us = clock_mono_us() - start_us;
	*ret = found;
	return 0;
}

int search_find(struct search *s, struct str url, struct search_place *ret, struct err *err)
{
	struct words_reader *words = NULL;
	uint64_t oid;
	int rc = hold_snapshot(s, &words, err);
	if (rc == 0)
		rc = words_find(words, url, &oid, err);
	words_close(&words);
	if (rc == 0)
		*ret = (struct search_place){.oid = oid};
	return rc;
}

int search_read_part(struct search *s, struct search_place *place, uint64_t from, size_t n,
		     struct arena *arena, struct str *ret, struct err *err)
{
	struct docstore_part part = {.from = from, .most = n, .checked = place->checked};
	int rc = docstore_read_part(s->docs, place->oid, &part, arena, ret, err);
	place->checked = part.checked;
	return rc;
}

int search_find_oid(struct search *s, uint64_t oid, struct search_place *ret, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct search_place place = {.oid = oid};
	struct words_reader *words = NULL;
	struct str byte;
	int rc = hold_snapshot(s, &words, err); /* and the documents */
	words_close(&words);
	if (rc == 0)
		rc = search_read_part(s, &place, 0, 1, &arena, &byte, err);
	if (rc == 0)
		*ret = place;
	return rc;
}

int search_document(struct search *s, struct str url, struct arena *arena, struct soif *ret,
		    struct err *err)
{
	struct search_place place;
	int rc = search_find(s, url, &place, err);
	if (rc != 0)
		return rc;
	return docstore_get(s->docs, place.oid, arena, ret, err);
}

int search_documents(struct search *s, uint64_t *ret, struct err *err)
{
	struct words_reader *words = NULL;
	struct words_stats stats = {0};
	int rc = hold_snapshot(s, &words, err);
	if (rc < 0)
		return -1;
	if (rc == 0) {
		words_stats(words, &stats);
		words_close(&words);
	}
	*ret = stats.docs;
	return 0;
}

/* As JSON: marks are [at, bytes] pairs. */

#define S struct marked
static const struct column mark_columns[] = {
	COL("at", struct mark, at),
	COL("bytes", struct mark, n),
};
static const struct rows mark_rows = {ROWS(struct mark, mark_columns), ROWS_ARRAY};
static const struct column marked_columns[] = {
	COL("text", S, text),
	COL_LIST("marks", S, mark, n, mark_rows),
};
static const struct rows marked_rows = {ROWS(S, marked_columns)};
#undef S

#define S struct matched_line
static const struct column line_columns[] = {
	COL("attribute", S, attribute),
	COL_ROW(NULL, S, line, marked_rows),
	COL("cut", S, line.cut_before, .how = ROW_SOME),
	COL("cut", S, line.cut_after, .how = ROW_SOME, COL_IF_IS(S, line.cut_before, false)),
};
static const struct rows line_rows = {ROWS(S, line_columns)};
#undef S

#define S struct search_row
static const struct column result_columns[] = {
	COL("url", S, url),
	COL("oid", S, oid),
	COL("host", S, host),
	COL("type", S, type),
	COL("modified", S, time_s, .unit = UNIT_TIME_S, .how = ROW_SOME),
	COL("size", S, size, .how = ROW_SOME),
	COL("score", S, score),
	COL_ROW("title", S, title, marked_rows),
	COL_ROW("snippet", S, snippet, marked_rows),
	COL_LIST("lines", S, line, lines, line_rows),
};
static const struct rows result_rows = {ROWS(S, result_columns)};
static const struct rows brief_rows = {result_columns, ARRAY_LEN(result_columns) - 1, sizeof(S)};
#undef S

struct answer_row {
	struct search_ask ask;
	struct search_answer a;
	struct str *note;
	size_t notes;
};
#define S struct answer_row
static const struct column answer_columns[] = {
	COL("query", S, ask.words),
	COL("site", S, ask.site, .how = ROW_SOME),
	COL("type", S, ask.type, .how = ROW_SOME),
	COL("total", S, a.total),
	COL("total_exact", S, a.total_exact),
	COL("cut", S, a.cut),
	COL_LIST("notes", S, note, notes, rows_strs, COL_IF(S, a.notes.n)),
	COL("did_you_mean", S, a.meant, .how = ROW_SOME),
	COL("documents", S, a.documents),
	COL("took_us", S, a.took_us),
	COL("offset", S, ask.offset),
	COL_LIST("results", S, a.row, a.n, result_rows, COL_IF(S, ask.lines)),
	COL_LIST("results", S, a.row, a.n, brief_rows, COL_IF_IS(S, ask.lines, false)),
	COL_LIST("facets", S, a.facet, a.facets, facet_rows, .how = ROW_SOME),
	COL("facet_sample", S, a.facet_sample, .how = ROW_SOME),
	COL("facet_of", S, a.facet_of, COL_IF(S, a.facet_sample)),
};
static const struct rows answer_rows = {ROWS(S, answer_columns)};
#undef S

void search_answer_json(const struct search_ask *ask, const struct search_answer *answer,
			struct jsonw *j)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct answer_row row = {.ask = *ask, .a = *answer};
	struct str notes = answer->notes, line;
	size_t room = 0;
	while (str_cut(&notes, '\n', &line) == 0)
		if (line.n)
			*ARENA_PUSH(&arena, row.note, row.notes, room) = line;
	rows_json(&answer_rows, &row, j);
}
