/* What the queuer, searchers and interfaces say to each other. The first byte says what the others
 * are: a line is printed as it was read, a request or an answer that was read is written as the
 * same, bounds hold. */
#include "archie/search/archie_wire.h"

static void fuzz_line(struct str text)
{
	struct buf one = BUF_INIT(ARCHIE_LINE_MOST), two = BUF_INIT(ARCHIE_LINE_MOST);
	struct archie_line line, again;
	struct err err;
	if (archie_line_parse(text, &line, &err) < 0) {
		ENSURE(err.code == ERR_USAGE);
		return;
	}
	ENSURE(line.word < ARCHIE_WORDS && line.niceness <= ARCHIE_NICE_MOST);
	ENSURE(line.bytes <= ARCHIE_BLOCK_MOST && line.why < ARCHIE_REFUSALS);
	archie_line_print(&line, &one);
	ENSURE(!one.over && one.p[one.n - 1] == '\n' && !memchr(one.p, '\n', one.n - 1));
	ENSURE(archie_line_parse(str_head(buf_str(&one), one.n - 1), &again, &err) == 0);
	archie_line_print(&again, &two);
	ENSURE(str_eq(buf_str(&one), buf_str(&two)));
	buf_free(&one);
	buf_free(&two);
}

static void fuzz_ask(struct str bytes)
{
	struct buf one = BUF_INIT(ARCHIE_REQUEST_MOST + 1024), two = one;
	struct arena arena = ARENA_INIT(1 << 20);
	struct archie_ask ask, again;
	struct err err;
	if (archie_ask_decode(bytes, &arena, &ask, &err) == 0) {
		ENSURE(ask.what < ARCHIE_WHATS && ask.from.n <= ARCHIE_FROM_MOST);
		ENSURE(ask.query.pattern.n <= NAMES_PATTERN_MOST &&
		       ask.query.sites <= NAMES_LIST_MOST && ask.query.type < NAMES_WHATIS);
		ENSURE(archie_ask_encode(&ask, &one, &err) == 0);
		ENSURE(archie_ask_decode(buf_str(&one), &arena, &again, &err) == 0);
		ENSURE(archie_ask_encode(&again, &two, &err) == 0);
		ENSURE(str_eq(buf_str(&one), buf_str(&two)));
	}
	buf_free(&one);
	buf_free(&two);
	arena_free(&arena);
}

/* Everything that it points to can be read. */
static uint64_t sum_text(struct str s)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < s.n; i++)
		sum += (unsigned char)s.p[i];
	return sum;
}

static uint64_t sum_row(const struct archie_row *r)
{
	ENSURE(r->file.kind < NAMES_KINDS);
	return sum_text(r->host) + sum_text(r->address) + sum_text(r->key) + sum_text(r->url) +
	       sum_text(r->text) + sum_text(r->file.name) + sum_text(r->file.dir) +
	       sum_text(r->file.owner) + sum_text(r->file.group);
}

static void fuzz_answer(struct str bytes)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct archie_answer answer;
	struct err err;
	uint64_t sum = 0;
	if (archie_answer_decode(bytes, &arena, &answer, &err) == 0) {
		ENSURE(answer.n <= ARCHIE_ROWS_MOST && answer.problem.n <= ARCHIE_TEXT_MOST);
		for (size_t i = 0; i < answer.n; i++)
			sum += sum_row(&answer.row[i]);
		ENSURE(sum_text(answer.problem) + sum < UINT64_MAX);
	} else {
		ENSURE(err.code == ERR_REMOTE);
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct str rest = {(const char *)data + 1, size - 1};
	if (data[0] == 'L')
		fuzz_line(rest);
	else if (data[0] == 'R')
		fuzz_ask(rest);
	else
		fuzz_answer(rest);
	return 0;
}
