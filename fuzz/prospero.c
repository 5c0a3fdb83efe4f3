/* Requests of Prospero, and replies whose names are taken from the same bytes. A request stays
 * within its bounds, and what it asks can be said to the queuer; each line of a reply fits into a
 * packet, and each LINK of version 1 has its ten words. */
#include "archie/prospero/prospero.h"
#include "archie/prospero/ardp.h"
#include "archie/search/archie_wire.h"

static void check_ask(const struct prospero_list *l)
{
	struct buf block = BUF_INIT(ARCHIE_REQUEST_MOST);
	struct err err;
	ENSURE(l->kind == PROSPERO_DOMAINS || l->kind == PROSPERO_FAILED ||
	       l->ask.query.maxhits <= ARCHIE_ROWS_MOST);
	ENSURE((l->kind == PROSPERO_FAILED) == (l->failure != NULL));
	(void)archie_ask_encode(&l->ask, &block, &err);
	buf_free(&block);
}

static unsigned count_words(struct str line)
{
	struct str word;
	unsigned n = 0;
	while (str_cut(&line, ' ', &word) == 0)
		n++;
	return n;
}

static void check_lines(const struct prospero_request *q, struct str text)
{
	struct str line;
	ENSURE(text.n && text.p[text.n - 1] == '\n');
	text.n--;
	while (str_cut(&text, '\n', &line) == 0) {
		ENSURE(line.n && line.n < ARDP_TEXT_MOST);
		if (q->version == 1 && str_starts(line, STR("LINK ")))
			ENSURE(count_words(line) == 10);
	}
}

/* Rows whose texts are lines of the bytes. */
static size_t rows_of(struct str text, struct archie_row *rows, size_t most)
{
	size_t n = 0;
	struct str name, dir;
	while (n < most && str_cut(&text, '\n', &name) == 0 && str_cut(&text, '\n', &dir) == 0) {
		if (!name.n || memchr(name.p, '/', name.n))
			continue;
		rows[n] = (struct archie_row){.host = STR("ftp.example.org"),
					      .address = STR("192.0.2.1"),
					      .text = dir,
					      .file = {.name = name,
						       .dir = dir,
						       .kind = (enum names_kind)(n % NAMES_KINDS),
						       .size = (int64_t)n - 1,
						       .time_s = (int64_t)name.n - 1}};
		memcpy(rows[n].file.mode, "-rw-r--r--", 10);
		n++;
	}
	return n;
}

static void fuzz_reply(const struct prospero_request *q, struct str text, const struct domains *d)
{
	struct archie_row rows[32];
	struct archie_answer a = {.row = rows, .cut = text.n & 1};
	struct buf out = BUF_INIT(PROSPERO_REPLY_MOST);
	struct prospero_reply r;
	a.n = rows_of(text, rows, ARRAY_LEN(rows));
	prospero_reply_init(&r, q, STR("archie.example.org(1526)"));
	for (size_t i = 0; i < q->lists; i++) {
		if (q->list[i].kind == PROSPERO_FAILED)
			prospero_reply_refusal(&r, i, ARCHIE_NOT_REFUSED, "");
		else if (q->list[i].kind == PROSPERO_DOMAINS)
			prospero_reply_domains(&r, i, d);
		else
			prospero_reply_answer(&r, i, &a);
	}
	prospero_reply_end(&r, text, &out);
	check_lines(q, buf_str(&out));
	prospero_reply_free(&r);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct domain list[] = {
		{.name = {"usa", 3}, .members = {"edu:com", 7}, .text = {"", 0}},
		{.name = {"it's", 4}, .members = {"usa", 3}, .text = {"Two words", 9}}};
	static const struct domains domains = {list, ARRAY_LEN(list)};
	struct arena arena = ARENA_INIT(PROSPERO_ARENA);
	struct prospero_request q;
	if (size > PROSPERO_TEXT_MOST)
		return 0;
	struct str text = arena_str(&arena, (struct str){(const char *)data, size});
	bool known = prospero_parse(text, &domains, &arena, &q);
	ENSURE(q.lists <= PROSPERO_LISTS_MOST && !q.warnings.over);
	for (size_t i = 0; i < q.lists; i++)
		check_ask(&q.list[i]);
	if (known)
		fuzz_reply(&q, text, &domains);
	prospero_request_free(&q);
	arena_free(&arena);
	return 0;
}
