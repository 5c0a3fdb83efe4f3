/* What a doc index answers, line by line: the bounds hold whatever comes. */
#include "fetch/spider/docindex_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size}, line;
	struct docindex_answers in = {0};
	while (text.p && str_cut(&text, '\n', &line) == 0) {
		struct docindex_answer a;
		struct err err = {0};
		uint64_t urls = in.urls;
		line = str_head(line, DOCINDEX_LINE_MAX);
		if (docindex_answer_read(&in, line, &a, &err) != 0) {
			ENSURE(err.code == ERR_USAGE && err.msg[0] && in.urls == urls);
			return 0;
		}
		ENSURE((a.kind == DOCINDEX_URL) == (urls > 0));
		ENSURE(a.kind != DOCINDEX_URL || a.count == urls - 1);
		ENSURE(a.count <= DOCINDEX_COUNT_MAX && a.seconds <= DOCINDEX_SECONDS_MAX);
		ENSURE(a.doc_id.n <= DOCINDEX_WORD_MAX && a.url.n <= DOCINDEX_URL_MAX);
		ENSURE(!str_has_control(a.doc_id) && !str_has_control(a.url));
	}
	return 0;
}
