/* Lines of the doc index protocol: what a client sends (first byte even), what a doc index answers
 * (odd). What is read, written again, is the same line; the bounds hold whatever comes. */
#include "fetch/docindex_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_requests(struct str text)
{
	struct docindex_requests in = {0};
	struct str line;
	while (text.p && str_cut(&text, '\n', &line) == 0) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_LINE_MAX + 1);
		struct docindex_request r;
		struct err err = {0};
		uint64_t rejects = in.rejects;
		line = str_head(line, DOCINDEX_LINE_MAX);
		if (docindex_request_read(&in, line, &r, &err) != 0) {
			ENSURE(err.code == ERR_USAGE && err.msg[0] && in.rejects == rejects);
			return;
		}
		ENSURE((r.verb == DOCINDEX_REJECT) == (rejects > 0));
		ENSURE(r.count <= DOCINDEX_COUNT_MAX && r.rejects <= DOCINDEX_COUNT_MAX);
		ENSURE(r.head <= DOCINDEX_HEAD_MAX && r.body <= DOCINDEX_BODY_MAX);
		ENSURE(r.outcome <= DOCINDEX_DONE && in.greeted);
		docindex_request_write(&r, &out);
		struct docindex_requests again = {.greeted = r.verb != DOCINDEX_HELLO,
						  .rejects = rejects};
		struct docindex_request s;
		ENSURE(docindex_request_read(&again, str_head(buf_str(&out), out.n - 1), &s,
					     &err) == 0);
		ENSURE(s.verb == r.verb && str_eq(s.name, r.name) && s.count == r.count &&
		       s.rejects == r.rejects && s.outcome == r.outcome && s.head == r.head &&
		       s.body == r.body);
	}
}

static void check_answers(struct str text)
{
	struct docindex_answers in = {0};
	struct str line;
	while (text.p && str_cut(&text, '\n', &line) == 0) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(DOCINDEX_LINE_MAX + 1);
		struct docindex_answer a, b;
		struct err err = {0};
		uint64_t urls = in.urls;
		line = str_head(line, DOCINDEX_LINE_MAX);
		if (docindex_answer_read(&in, line, &a, &err) != 0) {
			ENSURE(err.code == ERR_USAGE && err.msg[0] && in.urls == urls);
			return;
		}
		ENSURE((a.kind == DOCINDEX_URL) == (urls > 0));
		ENSURE(a.count <= DOCINDEX_COUNT_MAX && a.seconds <= DOCINDEX_SECONDS_MAX);
		ENSURE(a.doc_id.n <= DOCINDEX_WORD_MAX && a.url.n <= DOCINDEX_URL_MAX);
		docindex_answer_write(&a, &out);
		struct docindex_answers again = {urls};
		ENSURE(!out.over && docindex_answer_read(&again, str_head(buf_str(&out), out.n - 1),
							 &b, &err) == 0);
		ENSURE(a.kind == b.kind && a.count == b.count && a.seconds == b.seconds &&
		       str_eq(a.doc_id, b.doc_id) && str_eq(a.url, b.url));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str text = {(const char *)data + 1, size - 1};
	if (data[0] % 2 == 0)
		check_requests(text);
	else
		check_answers(text);
	return 0;
}
