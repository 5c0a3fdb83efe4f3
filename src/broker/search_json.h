/* Answers as JSON: the same for the command, the page's interface and programs. */
#pragma once
#include "base/jsonw.h"
#include "broker/search.h"

/* An object: query, total, total_exact, documents, cut, took_us, offset, results. */
void search_answer_json(const struct search_ask *ask, const struct search_answer *answer,
			struct jsonw *j);
/* An object: url, and each attribute under its name. */
void search_document_json(const struct soif *doc, struct jsonw *j);
