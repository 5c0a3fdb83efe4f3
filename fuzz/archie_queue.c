/* What the queuer, searchers and interfaces say to each other. The first byte says what the others
 * are: messages are written as they were read, a request that was read is written as the same,
 * bounds hold. */
#include "archie/search/archie_wire.h"

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
	} else {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
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

static void fuzz_answer(const struct archie_message *m)
{
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct archie_answer answer;
	struct err err;
	uint64_t sum = 0;
	if (archie_answer_read(m, &arena, &answer, &err) == 0) {
		ENSURE(answer.n <= ARCHIE_ROWS_MOST && answer.problem.n <= ARCHIE_TEXT_MOST);
		for (size_t i = 0; i < answer.n; i++)
			sum += sum_row(&answer.row[i]);
		ENSURE(sum_text(answer.problem) + sum < UINT64_MAX);
	} else {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
	}
	arena_free(&arena);
}

static void fuzz_wire(const struct message_wire *wire, struct str rest)
{
	struct archie_message m;
	struct err err;
	size_t n;
	int word;
	while (rest.n && message_frame(wire, rest, &n) == 0) {
		struct buf out = BUF_INIT(ARCHIE_ANSWER_MOST + 2 * ARCHIE_SMALL_MOST);
		struct str one = str_head(rest, n);
		rest = str_from(rest, n);
		if (message_read(wire, one, &word, &m, &err) == 0) {
			ENSURE(m.niceness <= ARCHIE_NICE_MOST && m.why < ARCHIE_REFUSALS);
			ENSURE(m.request.n <= ARCHIE_REQUEST_MOST && m.wait_us >= 0);
			message_write(wire, word, &m, &out);
			ENSURE(!out.over && out.n <= one.n);
			ENSURE(out.n < one.n || str_eq(buf_str(&out), one));
			if (word == ARCHIE_WORD_ANSWER)
				fuzz_answer(&m);
			if (word == ARCHIE_WORD_ASK)
				fuzz_ask(m.request);
		}
		buf_free(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct str rest = {(const char *)data + 1, size - 1};
	if (data[0] == 'R')
		fuzz_ask(rest);
	else if (data[0] == 'A')
		fuzz_wire(&archie_asks, rest);
	else if (data[0] == 'S')
		fuzz_wire(&archie_searches, rest);
	else
		fuzz_wire(&archie_tells, rest);
	return 0;
}
