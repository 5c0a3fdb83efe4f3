#include "broker/search_json.h"

/* text, and marks as [at, bytes] pairs. */
static void put_marked(struct jsonw *j, const char *key, const struct marked *m)
{
	jsonw_key(j, key);
	jsonw_object(j);
	jsonw_put_str(j, "text", m->text);
	jsonw_key(j, "marks");
	jsonw_array(j);
	for (size_t i = 0; i < m->n; i++) {
		jsonw_array(j);
		jsonw_uint(j, m->mark[i].at);
		jsonw_uint(j, m->mark[i].n);
		jsonw_array_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}

static void put_row(struct jsonw *j, const struct search_row *row)
{
	jsonw_object(j);
	jsonw_put_str(j, "url", row->url);
	jsonw_put_str(j, "host", row->host);
	jsonw_put_str(j, "type", row->type);
	if (row->time_s) {
		jsonw_key(j, "modified");
		jsonw_time(j, row->time_s * 1000000);
	}
	if (row->size)
		jsonw_put_uint(j, "size", row->size);
	jsonw_key(j, "score");
	jsonw_real(j, (double)row->score);
	put_marked(j, "title", &row->title);
	put_marked(j, "snippet", &row->snippet);
	jsonw_object_end(j);
}

void search_answer_json(const struct search_ask *ask, const struct search_answer *answer,
			struct jsonw *j)
{
	jsonw_object(j);
	jsonw_put_str(j, "query", ask->words);
	if (ask->site.n)
		jsonw_put_str(j, "site", ask->site);
	if (ask->type.n)
		jsonw_put_str(j, "type", ask->type);
	jsonw_put_uint(j, "total", answer->total);
	jsonw_put_bool(j, "total_exact", answer->total_exact);
	jsonw_put_bool(j, "cut", answer->cut);
	jsonw_put_uint(j, "documents", answer->documents);
	jsonw_put_int(j, "took_us", answer->took_us);
	jsonw_put_uint(j, "offset", ask->offset);
	jsonw_key(j, "results");
	jsonw_array(j);
	for (size_t i = 0; i < answer->n; i++)
		put_row(j, &answer->row[i]);
	jsonw_array_end(j);
	jsonw_object_end(j);
}

void search_document_json(const struct soif *doc, struct jsonw *j)
{
	jsonw_object(j);
	jsonw_put_str(j, "url", doc->url);
	jsonw_key(j, "attributes");
	jsonw_array(j);
	for (size_t i = 0; i < doc->n; i++) {
		jsonw_object(j);
		jsonw_put_str(j, "name", doc->attr[i].name);
		jsonw_put_str(j, "value", doc->attr[i].value);
		jsonw_object_end(j);
	}
	jsonw_array_end(j);
	jsonw_object_end(j);
}
