#include "archie/search/archie_wire.h"

#include "../dice.h"
#include "../said.h"
#include "../unit.h"

#include <stdio.h>

static int read_line(const struct message_wire *wire, const char *line, int *ret_word,
		     struct archie_message *ret, struct buf *out)
{
	struct err err;
	buf_clear(out);
	said_write(line, out);
	return message_read(wire, buf_str(out), ret_word, ret, &err);
}

static void messages_are_written_as_they_were_read(void **state)
{
	static const struct {
		const struct message_wire *wire;
		const char *line;
	} good[] = {
		{&archie_tells, "archie version=2\n"},
		{&archie_tells, "loaded queue=12 wait=1500000 per-1000s=2500\n"},
		{&archie_tells, "queued pid=4711 number=1 position=17 seconds=240\n"},
		{&archie_tells, "answer pid=4711 number=1 wait=1500 cut total=3 search=9\n"},
		{&archie_tells, "refused pid=4711 number=1 why=busy text=the~queue~is~full\n"},
		{&archie_tells, "refused why=bad\n"},
		{&archie_asks, "cancel pid=18446744073709551615 number=18446744073709551615\n"},
		{&archie_asks, "load\n"},
		{&archie_searches, "stop\n"},
		{&archie_finds, "refused pid=1 number=1 why=empty\n"},
	};
	struct buf in = BUF_INIT(1000), out = BUF_INIT(1000);
	struct archie_message m;
	int word;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_int_equal(read_line(good[i].wire, good[i].line, &word, &m, &in), 0);
		buf_clear(&out);
		message_write(good[i].wire, word, &m, &out);
		assert_string_equal(buf_text(&in), buf_text(&out));
	}
	buf_free(&in);
	buf_free(&out);
}

static void what_is_not_such_a_message_is_refused(void **state)
{
	static const struct {
		const struct message_wire *wire;
		const char *line;
	} bad[] = {
		{&archie_tells, "archie version=x\n"},
		{&archie_tells, "archie\n"},
		{&archie_tells, "loaded queue=1 wait=2\n"},
		{&archie_tells, "refused why=tired\n"},
		{&archie_tells, "refused text=x\n"},
		{&archie_tells, "refused why=\n"},
		{&archie_tells, "load\n"},
		{&archie_asks, "ask pid=1 number=1\n"},
		{&archie_asks, "ask pid=1 number=1 niceness=32766 request=0\n"},
		{&archie_asks, "ask pid=1 number=1 request=65537\n"},
		{&archie_asks, "ask number=1 pid=1 request=0\n"},
		{&archie_asks, "answer pid=1\n"},
		{&archie_searches, "search pid=1 number=1 limit=18446744073709551615 request=0\n"},
		{&archie_searches, "stop pid=1\n"},
		{&archie_finds, "queued position=1 seconds=1\n"},
	};
	struct buf in = BUF_INIT(1000);
	struct archie_message m;
	int word;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (read_line(bad[i].wire, bad[i].line, &word, &m, &in) != -1)
			fail_msg("'%s'", bad[i].line);
	buf_free(&in);
}

/* Requests */

static void assert_list(const struct str *a, uint32_t n, const struct str *b, uint32_t m)
{
	assert_int_equal(n, m);
	for (uint32_t i = 0; i < n; i++)
		assert_true(str_eq(a[i], b[i]));
}

static void assert_query(const struct names_query *a, const struct names_query *b)
{
	assert_int_equal(a->type, b->type);
	assert_int_equal(a->syntax, b->syntax);
	assert_true(str_eq(a->pattern, b->pattern));
	assert_int_equal(a->path, b->path);
	assert_list(a->site, a->sites, b->site, b->sites);
	assert_list(a->domain, a->domains, b->domain, b->domains);
	assert_list(a->component, a->components, b->component, b->components);
	assert_int_equal(a->kinds, b->kinds);
	assert_true(a->has_size_min == b->has_size_min && a->has_size_max == b->has_size_max &&
		    a->has_time_min == b->has_time_min && a->has_time_max == b->has_time_max);
	assert_true(!a->has_size_min || a->size_min == b->size_min);
	assert_true(!a->has_size_max || a->size_max == b->size_max);
	assert_true(!a->has_time_min || a->time_min == b->time_min);
	assert_true(!a->has_time_max || a->time_max == b->time_max);
	assert_true(a->maxhits == b->maxhits && a->maxmatch == b->maxmatch &&
		    a->maxhitspm == b->maxhitspm && a->offset == b->offset);
	assert_int_equal(a->sort, b->sort);
	assert_true(a->reverse == b->reverse && a->mirrors == b->mirrors && a->count == b->count &&
		    a->no_files == b->no_files);
}

/* A number of any length, small ones more often. */
static uint64_t number(uint64_t *seed)
{
	return dice(seed) >> dice(seed) % 64;
}

static void random_ask(uint64_t *seed, char *room, struct str list[NAMES_LIST_MOST],
		       struct archie_ask *ret)
{
	for (size_t i = 0; i < 256; i++)
		room[i] = (char)dice(seed);
	for (size_t i = 0; i < NAMES_LIST_MOST; i++)
		list[i] = (struct str){room + i, dice(seed) % 100};
	uint64_t bits = dice(seed);
	*ret = (struct archie_ask){.what = (enum archie_what)(dice(seed) % ARCHIE_WHATS),
				   .from = {room, dice(seed) % (ARCHIE_FROM_MOST + 1)},
				   .query = {.type = (enum names_type)(dice(seed) % NAMES_WHATIS),
					     .syntax = (enum names_syntax)(dice(seed) % 2),
					     .pattern = {room, dice(seed) % 257},
					     .path = bits & 1,
					     .site = list,
					     .domain = list + 1,
					     .component = list + 2,
					     .sites = (uint32_t)(dice(seed) % 62),
					     .domains = (uint32_t)(dice(seed) % 3),
					     .components = (uint32_t)(dice(seed) % 3),
					     .kinds = (unsigned)(dice(seed) % (1u << NAMES_KINDS)),
					     .has_size_min = bits & 2,
					     .has_size_max = bits & 4,
					     .has_time_min = bits & 8,
					     .has_time_max = bits & 16,
					     .size_min = (int64_t)number(seed),
					     .size_max = -(int64_t)(number(seed) / 2),
					     .time_min = (int64_t)number(seed),
					     .time_max = INT64_MIN + (int64_t)(number(seed) / 2),
					     .maxhits = number(seed),
					     .maxmatch = number(seed),
					     .maxhitspm = number(seed),
					     .offset = number(seed),
					     .sort = (enum names_sort)(dice(seed) % 5),
					     .reverse = bits & 32,
					     .mirrors = bits & 64,
					     .count = bits & 128,
					     .no_files = bits & 256}};
}

static void a_request_comes_back_as_it_was_and_is_none_where_a_line_is_cut(void **state)
{
	uint64_t seed = 22;
	char room[512];
	struct str list[NAMES_LIST_MOST];
	(void)state;
	for (int i = 0; i < (unit_thorough() ? 2000 : 60); i++) {
		struct buf out = BUF_INIT(ARCHIE_REQUEST_MOST);
		struct arena arena = ARENA_INIT(1 << 20);
		struct archie_ask ask, back;
		struct err err;
		random_ask(&seed, room, list, &ask);
		assert_int_equal(archie_ask_encode(&ask, &out, &err), 0);
		assert_int_equal(archie_ask_decode(buf_str(&out), &arena, &back, &err), 0);
		assert_int_equal(back.what, ask.what);
		assert_true(str_eq(back.from, ask.from));
		assert_query(&back.query, &ask.query);
		size_t step = MAX(out.n / 40, (size_t)1);
		for (size_t n = out.n - 1; n < out.n; n = n >= step ? n - step : SIZE_MAX) {
			/* what comes after may be left out, as whole lines */
			assert_true(archie_ask_decode(str_head(buf_str(&out), n), &arena, &back,
						      &err) < 0 ||
				    (n > 0 && out.p[n - 1] == '\n'));
			arena_clear(&arena);
		}
		buf_add_byte(&out, 0);
		assert_int_equal(archie_ask_decode(buf_str(&out), &arena, &back, &err), -1);
		buf_free(&out);
		arena_free(&arena);
	}
}

static void a_request_past_the_bounds_is_not_sent(void **state)
{
	static char room[NAMES_NAME_MOST];
	struct str list[NAMES_LIST_MOST + 1];
	struct buf out = BUF_INIT(ARCHIE_REQUEST_MOST);
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		list[i] = (struct str){room, 2000};
	const struct archie_ask asks[] = {
		{.query.pattern = {room, NAMES_PATTERN_MOST + 1}},
		{.from = {room, ARCHIE_FROM_MOST + 1}},
		{.niceness = -1},
		{.niceness = ARCHIE_NICE_MOST + 1},
		{.query = {.site = list, .sites = NAMES_LIST_MOST + 1}},
		{.query = {.site = list, .sites = NAMES_LIST_MOST}}, /* 128,000 bytes */
	};
	for (size_t i = 0; i < ARRAY_LEN(asks); i++) {
		buf_clear(&out);
		assert_int_equal(archie_ask_encode(&asks[i], &out, &err), -1);
		assert_int_equal(err.code, ERR_USAGE);
	}
	buf_free(&out);
}

/* Answers */

static const struct names_site sites[] = {
	{.host = {"ftp.a.test", 10},
	 .address = {"192.0.2.1", 9},
	 .key = {"ftp.a.test-192.0.2.1", 20},
	 .url = {"ftp://ftp.a.test/", 17},
	 .listed_s = 757382400,
	 .entries = 12},
	{.host = {"b", 1},
	 .key = {"b-192.0.2.2", 11},
	 .url = {"http://b/x/", 11},
	 .listed_s = -1,
	 .entries = 1},
};

static void answers_come_back_with_their_sites_and_urls(void **state)
{
	struct archie_message m = {.total = 9, .exact = true, .search_us = 15, .problem = STR("p")};
	struct arena arena = ARENA_INIT(1 << 20);
	uint32_t numbers[2] = {0};
	struct archie_writer w = {0};
	struct archie_answer a;
	struct err err;
	(void)state;
	const struct archie_row rows[] = {
		{.file = {.name = STR("a b"),
			  .dir = STR("pub/\xff"),
			  .kind = NAMES_FILE,
			  .mode = {'-', 'r', 'w', '-', 'r', '-', '-', 'r', '-', '-'},
			  .links = 3,
			  .owner = STR("anna"),
			  .group = STR("users"),
			  .size = 5000000000,
			  .time_s = -86400},
		 .url = STR("")},
		{.file = {.name = STR("c"),
			  .dir = STR("pub/\xff"),
			  .kind = NAMES_DIR,
			  .links = -1,
			  .size = -1,
			  .time_s = -1},
		 .mirrors = 7,
		 .url = STR("")},
		{.file = {.name = STR("d"), .kind = NAMES_LINK, .links = -1, .size = 0}},
	};
	archie_writer_begin(&w, sites, numbers);
	assert_true(archie_writer_row(&w, 1, &rows[0]));
	assert_true(archie_writer_row(&w, 0, &rows[1]));
	assert_true(archie_writer_row(&w, 1, &rows[2]));
	archie_writer_end(&w, &m);
	assert_int_equal(archie_answer_read(&m, &arena, &a, &err), 0);
	assert_int_equal(a.n, 3);
	assert_true(a.total == 9 && a.exact && !a.cut && a.search_us == 15);
	assert_str(a.problem, "p");
	assert_str(a.row[0].host, "b");
	assert_int_equal(a.row[0].listed_s, -1);
	assert_str(a.row[0].file.name, "a b");
	assert_str(a.row[0].file.owner, "anna");
	assert_str(a.row[0].file.group, "users");
	assert_memory_equal(a.row[0].file.mode, "-rw-r--r--", 10);
	assert_true(a.row[0].file.size == 5000000000 && a.row[0].file.time_s == -86400);
	assert_str(a.row[0].url, "http://b/x/pub/%FF/a%20b");
	assert_str(a.row[1].key, "ftp.a.test-192.0.2.1");
	assert_str(a.row[1].address, "192.0.2.1");
	assert_int_equal(a.row[1].entries, 12);
	assert_str(a.row[1].file.dir, "pub/\xff");
	assert_int_equal(a.row[1].mirrors, 7);
	assert_int_equal(a.row[1].file.mode[0], 0);
	assert_true(a.row[1].file.size == -1 && a.row[1].file.links == -1);
	assert_str(a.row[1].url, "ftp://ftp.a.test/pub/%FF/c/");
	assert_str(a.row[2].host, "b");
	assert_str(a.row[2].file.dir, "");
	assert_str(a.row[2].url, "");
	/* as many as was said, and no half ones */
	struct archie_message bad = m;
	bad.rows.n--;
	assert_int_equal(archie_answer_read(&bad, &arena, &a, &err), -1);
	bad.rows.n += 2;
	assert_int_equal(archie_answer_read(&bad, &arena, &a, &err), -1);
	bad = m;
	bad.sites.n--;
	assert_int_equal(archie_answer_read(&bad, &arena, &a, &err), -1);
	bad = m;
	bad.sites = (struct message_items){0}; /* rows name them */
	assert_int_equal(archie_answer_read(&bad, &arena, &a, &err), -1);
	for (size_t n = 0; n < m.rows.bytes.n; n++) {
		bad = m;
		bad.rows.bytes.n = n;
		int rc = archie_answer_read(&bad, &arena, &a, &err);
		/* the last has two flags that may be left out */
		assert_true(rc < 0 || (n > 0 && m.rows.bytes.p[n - 1] == '\n'));
	}
	archie_writer_free(&w);
	arena_free(&arena);
}

static void an_answer_that_becomes_too_large_ends_with_its_last_whole_row(void **state)
{
	char *name = mem_alloc(NAMES_NAME_MOST);
	struct archie_message m = {0};
	struct arena arena = ARENA_INIT((size_t)64 << 20);
	uint32_t numbers[2] = {0};
	struct archie_writer w = {0};
	struct archie_answer a;
	struct err err;
	size_t n = 0;
	(void)state;
	memset(name, 'n', NAMES_NAME_MOST);
	const struct archie_row row = {.file = {.name = {name, NAMES_NAME_MOST}}};
	archie_writer_begin(&w, sites, numbers);
	while (archie_writer_row(&w, n == 0, &row))
		n++;
	assert_true(w.full && n == ARCHIE_ANSWER_MOST / (NAMES_NAME_MOST + 200));
	assert_false(archie_writer_row(&w, 0, &row));
	archie_writer_end(&w, &m);
	assert_int_equal(archie_answer_read(&m, &arena, &a, &err), 0);
	assert_int_equal(a.n, n);
	assert_str(a.row[0].host, "b");
	assert_str(a.row[n - 1].host, "ftp.a.test");
	archie_writer_free(&w);
	arena_free(&arena);
	mem_free(&name);
}

static void descriptions_and_sites_are_rows_too(void **state)
{
	struct archie_message m = {0};
	struct arena arena = ARENA_INIT(1 << 20);
	uint32_t numbers[2] = {0};
	struct archie_writer w = {0};
	struct archie_answer a;
	struct err err;
	(void)state;
	const struct archie_row told = {.file = {.name = STR("gcc")}, .text = STR("a compiler")};
	archie_writer_begin(&w, NULL, NULL);
	assert_true(archie_writer_row(&w, ARCHIE_NO_SITE, &told));
	archie_writer_end(&w, &m);
	assert_int_equal(archie_answer_read(&m, &arena, &a, &err), 0);
	assert_str(a.row[0].file.name, "gcc");
	assert_str(a.row[0].text, "a compiler");
	assert_true(a.row[0].listed_s == -1 && a.row[0].entries == -1);
	const struct archie_row site = {.url = STR("")};
	archie_writer_begin(&w, sites, numbers);
	assert_true(archie_writer_row(&w, 0, &site));
	archie_writer_end(&w, &m);
	assert_int_equal(archie_answer_read(&m, &arena, &a, &err), 0);
	assert_str(a.row[0].url, "ftp://ftp.a.test/");
	assert_int_equal(a.row[0].listed_s, 757382400);
	archie_writer_free(&w);
	arena_free(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_written_as_they_were_read),
		cmocka_unit_test(what_is_not_such_a_message_is_refused),
		cmocka_unit_test(a_request_comes_back_as_it_was_and_is_none_where_a_line_is_cut),
		cmocka_unit_test(a_request_past_the_bounds_is_not_sent),
		cmocka_unit_test(answers_come_back_with_their_sites_and_urls),
		cmocka_unit_test(an_answer_that_becomes_too_large_ends_with_its_last_whole_row),
		cmocka_unit_test(descriptions_and_sites_are_rows_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
