/* Messages by a table: what is written is read back, in one spelling; what is cut, unknown, late or
 * past its bounds is refused and named; and what an honest peer cannot send it does not. */
#include "base/message.h"

#include "base/hash.h"
#include "unit/unit.h"

enum { SAYS_JOB, SAYS_STOP };
enum colour { RED, GREEN, BLUE, COLOURS };
static const char *const colours[COLOURS] = {"red", "green", "blue"};

struct said {
	struct str url, etag, words, data;
	uint64_t n;
	uint16_t port;
	int64_t at_s, ago_us;
	int32_t links;
	enum colour colour, other;
	bool keep;
	unsigned char sum[4];
	uint64_t key;
	struct message_items row;
};

struct row {
	struct str name;
	uint32_t size;
};

static void key_print(const void *member, struct buf *out)
{
	uint64_t key = *(const uint64_t *)member;
	if (key)
		buf_printf(out, "key-%u", (unsigned)key);
}

static bool key_parse(struct str text, void *ret)
{
	return str_starts(text, STR("key-")) && str_u64(str_from(text, 4), ret);
}

static const struct message_value key_value = {key_print, key_parse};

static const struct message_field row_fields[] = {
	{MESSAGE_BYTES_AT(struct row, name, "name", 8), .must = true},
	{MESSAGE_NUMBER_AT(struct row, size, "size", 0, UINT32_MAX)},
};
static const struct message_item row_item = {"a row", sizeof(struct row), row_fields,
					     ARRAY_LEN(row_fields)};

#define S struct said
static const struct message_field job_fields[] = {
	{MESSAGE_TEXT_AT(S, url, "url", 40), .must = true},
	{MESSAGE_TEXT_AT(S, etag, "etag", 20)},
	{MESSAGE_SAID_AT(S, words, "words", 10)},
	{MESSAGE_BYTES_AT(S, data, "data", 100)},
	{MESSAGE_NUMBER_AT(S, n, "n", 1, UINT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(S, port, "port", 0, UINT16_MAX)},
	{MESSAGE_SECONDS_AT(S, at_s, "at")},
	{MESSAGE_TIME_AT(S, ago_us, "ago"), .none = -1},
	{MESSAGE_SIGNED_AT(S, links, "links", -5, 5)},
	{MESSAGE_WORD_AT(S, colour, "colour", colours, COLOURS), .must = true},
	{MESSAGE_WORD_AT(S, other, "other", colours, COLOURS)},
	{MESSAGE_FLAG_AT(S, keep, "keep")},
	{MESSAGE_HASH_AT(S, sum, "sum")},
	{MESSAGE_OTHER_AT(S, key, "key", &key_value)},
	{MESSAGE_ITEMS_AT(S, row, "row", 3)},
};

static const struct message messages[] = {
	MESSAGE("job", SAYS_JOB, 400, job_fields),
	MESSAGE_BARE("stop", SAYS_STOP),
};
static const struct message_wire wire = {messages, ARRAY_LEN(messages), sizeof(S)};

static S whole(struct buf *rows)
{
	const struct row row[] = {{STR("a\nb"), 7}, {STR(""), 0}};
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		message_item_write(&row_item, &row[i], rows);
	return (S){.url = STR("http://a.test/"),
		   .etag = STR("\"e\""),
		   .words = STR("gone"),
		   .data = STR("\0\n\xff"),
		   .n = UINT64_MAX,
		   .port = 65535,
		   .at_s = 1794700800,
		   .ago_us = 0,
		   .links = -5,
		   .colour = BLUE,
		   .other = GREEN,
		   .keep = true,
		   .sum = {1, 2, 0xab, 0xff},
		   .key = 12,
		   .row = {2, buf_str(rows)}};
}

static void assert_same(const S *a, const S *b)
{
	assert_true(str_eq(a->url, b->url) && str_eq(a->etag, b->etag) &&
		    str_eq(a->words, b->words) && str_eq(a->data, b->data));
	assert_true(a->n == b->n && a->port == b->port && a->at_s == b->at_s &&
		    a->ago_us == b->ago_us && a->links == b->links && a->colour == b->colour &&
		    a->other == b->other && a->keep == b->keep && a->key == b->key);
	assert_memory_equal(a->sum, b->sum, sizeof a->sum);
	assert_true(a->row.n == b->row.n && str_eq(a->row.bytes, b->row.bytes));
}

static void a_message_is_read_as_it_was_written(void **state)
{
	static const char text[] =
		"job 201\nurl http://a.test/\netag \"e\"\nwords gone\ndata 3\n\0\n"
		"\xff\nn 18446744073709551615\nport 65535\nat 1794700800\n"
		"ago 0\nlinks -5\ncolour blue\nother green\nkeep\nsum 0102abff\n"
		"key key-12\nrow 2 26\nname 3\na\nb\nsize 7\nname 0\n\n";
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000), rows = BUF_INIT(1000);
	S a = whole(&rows), b;
	struct row row;
	struct err err;
	int which;
	(void)state;
	message_write(&wire, SAYS_JOB, &a, &out);
	assert_int_equal(out.n, sizeof text - 1);
	assert_memory_equal(out.p, text, out.n);
	assert_int_equal(message_read(&wire, buf_str(&out), &which, &b, &err), 0);
	assert_int_equal(which, SAYS_JOB);
	assert_same(&a, &b);
	assert_int_equal(message_item_next(&row_item, &b.row, &row, &err), 0);
	assert_true(str_is(row.name, "a\nb") && row.size == 7);
	assert_int_equal(message_item_next(&row_item, &b.row, &row, &err), 0);
	assert_true(row.name.n == 0 && row.size == 0);
	assert_int_equal(message_item_next(&row_item, &b.row, &row, &err), 1);
	buf_clear(&out);
	message_write(&wire, SAYS_STOP, &a, &out);
	assert_str(buf_str(&out), "stop 0\n");
}

static void what_is_left_out_has_its_own_value(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
	const S a = {.url = STR("u"), .n = 1, .ago_us = -1};
	S b;
	struct err err;
	int which;
	(void)state;
	message_write(&wire, SAYS_JOB, &a, &out);
	assert_str(buf_str(&out), "job 34\nurl u\nn 1\ncolour red\nsum 00000000\n");
	memset(&b, 0xff, sizeof b);
	assert_int_equal(message_read(&wire, buf_str(&out), &which, &b, &err), 0);
	assert_same(&a, &b);
}

/* Numbers past their bounds, control characters of a server, words without end. */
static void honest_peers_never_send_what_is_refused(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
	const S a = {.url = STR("u"),
		     .etag = STR("\"a\nn 5\""),
		     .words = STR("1\t2\x01"
				  "45678\xc3\xbc"),
		     .n = 0,
		     .at_s = INT64_MAX,
		     .ago_us = INT64_MAX,
		     .links = 100};
	S b;
	struct err err;
	int which;
	(void)state;
	message_write(&wire, SAYS_JOB, &a, &out);
	assert_int_equal(message_read(&wire, buf_str(&out), &which, &b, &err), 0);
	assert_int_equal(b.etag.n, 0);
	assert_str(b.words, "1\t2 45678"); /* no half characters */
	assert_true(b.n == 1 && b.at_s == UINT32_MAX && b.ago_us == MESSAGE_TIME_MAX_US &&
		    b.links == 5);
}

static void a_message_cut_anywhere_is_not_complete(void **state)
{
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000), rows = BUF_INIT(1000);
	S a = whole(&rows), b;
	struct err err = {0};
	size_t n;
	int which;
	(void)state;
	message_write(&wire, SAYS_JOB, &a, &out);
	for (size_t i = 0; i < out.n; i++) {
		char *exact = mem_copy(out.p, i + 1); /* so that the sanitizers see an overrun */
		exact = mem_resize(exact, i ? i : 1);
		assert_int_equal(message_frame(&wire, (struct str){exact, i}, &n), 1);
		assert_int_equal(message_read(&wire, (struct str){exact, i}, &which, &b, &err), -1);
		assert_int_equal(err.code, ERR_DAMAGED);
		mem_free(&exact);
	}
	buf_add_text(&out, "stop 0\n");
	assert_int_equal(message_frame(&wire, buf_str(&out), &n), 0);
	assert_int_equal(n, out.n - 7);
}

static void a_first_line_that_claims_too_much_is_refused_at_once(void **state)
{
	static const char *const bad[] = {
		"job 401\n",
		"stop 1\n",
		"jobs 1\n",
		"job\n",
		"job 01\n",
		"job -1\n",
		"job 1 \n",
		" job 1\n",
		"\n",
		"job 1\r\n",
		"job x\n",
		"job 18446744073709551616\n",
		"no line feed within what a first line may have: x",
	};
	size_t n;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (message_frame(&wire, str_of(bad[i]), &n) >= 0)
			fail_msg("taken: %s", bad[i]);
	assert_int_equal(message_frame(&wire, STR("job 400\n"), &n), 1);
}

/* In place of an attribute of a whole message, or after all of them. */
static void whatever_else_is_said_is_refused_and_named(void **state)
{
	static const struct {
		const char *body, *named;
	} bad[] = {
		{"", "job: url is missing"},
		{"url u\n", "n is missing"},
		{"url \nn 1\ncolour red\nsum 00000000\n", "url cannot be"},
		{"url a\x01\nn 1\ncolour red\nsum 00000000\n", "url cannot be"},
		{"n 1\nurl u\ncolour red\nsum 00000000\n", "url is missing"},
		{"url u\nn 0\ncolour red\nsum 00000000\n", "n cannot be '0'"},
		{"url u\nn 01\ncolour red\nsum 00000000\n", "n cannot be"},
		{"url u\nn -1\ncolour red\nsum 00000000\n", "n cannot be"},
		{"url u\nn 18446744073709551616\ncolour red\nsum 00000000\n", "n cannot be"},
		{"url u\nn 1\nport 65536\ncolour red\nsum 00000000\n", "port cannot be"},
		{"url u\nn 1\nat 4294967296\ncolour red\nsum 00000000\n", "at cannot be"},
		{"url u\nn 1\nlinks 6\ncolour red\nsum 00000000\n", "links cannot be"},
		{"url u\nn 1\nlinks -6\ncolour red\nsum 00000000\n", "links cannot be"},
		{"url u\nn 1\nlinks -0\ncolour red\nsum 00000000\n", "links cannot be"},
		{"url u\nn 1\nlinks -9223372036854775809\ncolour red\nsum 0\n", "links cannot be"},
		{"url u\nn 1\ncolour pink\nsum 00000000\n", "colour cannot be 'pink'"},
		{"url u\nn 1\ncolour red\nkeep 1\nsum 00000000\n", "keep is unknown"},
		{"url u\nn 1\ncolour red\nsum 0000000\n", "sum cannot be"},
		{"url u\nn 1\ncolour red\nsum 0000000g\n", "sum cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000", "sum cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nkey x\n", "key cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nn 1\n", "n is unknown, comes twice"},
		{"url u\nn 1\ncolour red\nsum 00000000\nsize 1\n", "size is unknown"},
		{"url u\nn 1\ncolour red\nsum 00000000\n\n", "is unknown"},
		{"url u\netag 123456789012345678901\nn 1\ncolour red\nsum 0\n", "etag cannot be"},
		{"url u\ndata 101\nn 1\ncolour red\nsum 00000000\n", "data cannot be"},
		{"url u\ndata 40\nn 1\ncolour red\nsum 00000000\n", "data cannot be"},
		{"url u\ndata 1\nxxn 1\ncolour red\nsum 00000000\n", "data cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nrow 1\n", "row cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nrow 4 10\n", "row cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nrow 0 0\n", "row cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nrow 3 2\nab", "row cannot be"},
		{"url u\nn 1\ncolour red\nsum 00000000\nrow 1 99\n", "row cannot be"},
	};
	S b;
	int which;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
		struct err err = {0};
		buf_printf(&out, "job %zu\n%s", strlen(bad[i].body), bad[i].body);
		if (message_read(&wire, buf_str(&out), &which, &b, &err) == 0)
			fail_msg("taken: %s", bad[i].body);
		assert_int_equal(err.code, ERR_DAMAGED);
		if (!strstr(err.msg, bad[i].named))
			fail_msg("'%s' is not in '%s'", bad[i].named, err.msg);
	}
}

static void items_are_as_many_as_was_said(void **state)
{
	struct err err = {0};
	struct row row;
	(void)state;
	struct message_items more = {1, STR("name 1\na\nname 1\nb\n")};
	assert_int_equal(message_item_next(&row_item, &more, &row, &err), 0);
	assert_int_equal(message_item_next(&row_item, &more, &row, &err), -1);
	struct message_items less = {2, STR("name 1\na\n")};
	assert_int_equal(message_item_next(&row_item, &less, &row, &err), 0);
	assert_int_equal(message_item_next(&row_item, &less, &row, &err), -1);
	assert_string_equal(err.msg, "a row: name is missing");
	struct message_items large = {1, STR("name 9\n123456789\n")};
	assert_int_equal(message_item_next(&row_item, &large, &row, &err), -1);
}

struct small {
	struct str name, text;
	uint32_t size;
	int64_t time;
	enum colour colour;
	bool keep;
};
#define P struct small
static const struct message_field small_fields[] = {
	{MESSAGE_BYTES_AT(P, name, "name", 8), .must = true},
	{MESSAGE_TEXT_AT(P, text, "text", 8)},
	{MESSAGE_NUMBER_AT(P, size, "size", 0, 1000)},
	{MESSAGE_SIGNED_AT(P, time, "time", -1000, 1000), .none = -1},
	{MESSAGE_WORD_AT(P, colour, "colour", colours, COLOURS)},
	{MESSAGE_FLAG_AT(P, keep, "keep")},
};
static const struct message_item small_item = {"a small one", sizeof(P), small_fields,
					       ARRAY_LEN(small_fields), .packed = true};

static void packed_items_are_read_as_they_were_written_and_cut_nowhere(void **state)
{
	static const P all[] = {{.name = STR("a\nb"),
				 .text = STR("text"),
				 .size = 5000, /* past its bound */
				 .time = -1000,
				 .colour = BLUE,
				 .keep = true},
				{.name = STR(""), .time = -1}};
	CLEANUP(buf_free) struct buf out = BUF_INIT(1000);
	struct message_items items;
	P got;
	struct err err;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		message_item_write(&small_item, &all[i], &out);
	items = (struct message_items){2, buf_str(&out)};
	assert_int_equal(message_item_next(&small_item, &items, &got, &err), 0);
	assert_true(str_is(got.name, "a\nb") && str_is(got.text, "text") && got.size == 1000 &&
		    got.time == -1000 && got.colour == BLUE && got.keep);
	assert_int_equal(message_item_next(&small_item, &items, &got, &err), 0);
	assert_true(got.name.n == 0 && got.text.n == 0 && got.size == 0 && got.time == -1 &&
		    got.colour == RED && !got.keep);
	assert_int_equal(message_item_next(&small_item, &items, &got, &err), 1);
	for (size_t n = 0; n < out.n; n++) {
		char *exact = mem_copy(out.p, n + 1);
		exact = mem_resize(exact, n ? n : 1);
		items = (struct message_items){2, {exact, n}};
		int rc = message_item_next(&small_item, &items, &got, &err);
		if (rc == 0)
			rc = message_item_next(&small_item, &items, &got, &err);
		assert_int_equal(rc, -1);
		mem_free(&exact);
	}
}

static void packed_items_keep_the_bounds_of_their_table(void **state)
{
	static const struct {
		struct str bytes;
		const char *named;
	} bad[] = {
		{STR("\x02\x01"
		     "a"),
		 "name is missing"},
		{STR("\x01\x09"
		     "123456789"),
		 "name cannot be"},
		{STR("\x03\x01"
		     "a\x01\x01"),
		 "text cannot be"},
		{STR("\x05\x01"
		     "a\xe9\x07"),
		 "size cannot be"},
		{STR("\x09\x01"
		     "a\xd2\x0f"),
		 "time cannot be"},
		{STR("\x11\x01"
		     "a\x03"),
		 "colour cannot be"},
		{STR("\x41\x01"
		     "a"),
		 "cut, or of another table"},
		{STR("\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		 "cut, or of another table"},
	};
	P got;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct err err = {0};
		struct message_items items = {1, bad[i].bytes};
		assert_int_equal(message_item_next(&small_item, &items, &got, &err), -1);
		if (!strstr(err.msg, bad[i].named))
			fail_msg("'%s' is not in '%s'", bad[i].named, err.msg);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_is_read_as_it_was_written),
		cmocka_unit_test(what_is_left_out_has_its_own_value),
		cmocka_unit_test(honest_peers_never_send_what_is_refused),
		cmocka_unit_test(a_message_cut_anywhere_is_not_complete),
		cmocka_unit_test(a_first_line_that_claims_too_much_is_refused_at_once),
		cmocka_unit_test(whatever_else_is_said_is_refused_and_named),
		cmocka_unit_test(items_are_as_many_as_was_said),
		cmocka_unit_test(packed_items_are_read_as_they_were_written_and_cut_nowhere),
		cmocka_unit_test(packed_items_keep_the_bounds_of_their_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
