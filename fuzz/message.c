/* Messages: what is read keeps the bounds of its table, and written again it is the same bytes;
 * what is refused is named. The table has every type. */
#include "base/message.h"

enum { SAYS_ALL, SAYS_BARE };
static const char *const words[] = {"one", "two"};

struct said {
	struct str text, said, data;
	uint64_t n;
	int64_t time_us;
	int32_t small;
	uint8_t byte;
	int word;
	bool flag;
	unsigned char sum[2];
	struct message_items row;
};
struct row {
	struct str name;
	uint16_t size;
};

#define S struct said
static const struct message_field all[] = {
	{MESSAGE_TEXT_AT(S, text, "text", 9), .must = true},
	{MESSAGE_SAID_AT(S, said, "said", 9)},
	{MESSAGE_BYTES_AT(S, data, "data", 9)},
	{MESSAGE_NUMBER_AT(S, n, "n", 2, UINT64_MAX)},
	{MESSAGE_TIME_AT(S, time_us, "time"), .none = -1},
	{MESSAGE_SIGNED_AT(S, small, "small", -9, 9)},
	{MESSAGE_NUMBER_AT(S, byte, "byte", 0, 255)},
	{MESSAGE_WORD_AT(S, word, "word", words, 2), .must = true},
	{MESSAGE_FLAG_AT(S, flag, "flag")},
	{MESSAGE_HASH_AT(S, sum, "sum")},
	{MESSAGE_ITEMS_AT(S, row, "row", 9)},
};
static const struct message_field row_fields[] = {
	{MESSAGE_BYTES_AT(struct row, name, "name", 9), .must = true},
	{MESSAGE_NUMBER_AT(struct row, size, "size", 0, 99)},
};
static const struct message_item row_item = {"a row", sizeof(struct row), row_fields,
					     ARRAY_LEN(row_fields)};
static const struct message_field packed_fields[] = {
	{MESSAGE_BYTES_AT(struct row, name, "name", 9), .must = true},
	{MESSAGE_NUMBER_AT(struct row, size, "size", 0, 99), .none = 7},
};
static const struct message_item packed_item = {"a row", sizeof(struct row), packed_fields,
						ARRAY_LEN(packed_fields), .packed = true};
static const struct message messages[] = {MESSAGE("all", SAYS_ALL, 300, all),
					  MESSAGE_BARE("bare", SAYS_BARE)};
static const struct message_wire wire = {messages, ARRAY_LEN(messages), sizeof(S)};

static void check_rows(const struct message_item *item, struct message_items items)
{
	struct row row;
	struct err err = {0};
	uint64_t n = 0, most = items.n;
	int rc;
	while ((rc = message_item_next(item, &items, &row, &err)) == 0) {
		ENSURE(row.name.n <= 9 && row.size <= 99);
		n++;
	}
	ENSURE(n <= most && (rc == 1 || err.code == ERR_DAMAGED));
}

static void check_said(const S *s)
{
	ENSURE(s->text.n >= 1 && s->text.n <= 9 && !str_has_control(s->text) && s->said.n <= 9);
	ENSURE(s->data.n <= 9 && s->n != 1 && s->time_us >= -1 &&
	       s->time_us <= MESSAGE_TIME_MAX_US);
	ENSURE(s->small >= -9 && s->small <= 9 && s->word < 2 && s->row.n <= 9);
}

/* What says what need not be said (a number that is none anyway) is shorter when written again, and
 * the same from then on. */
static void check_again(int which, const S *s)
{
	CLEANUP(buf_free) struct buf one = BUF_INIT(1000), two = BUF_INIT(1000);
	S again;
	struct err err = {0};
	int same;
	message_write(&wire, which, s, &one);
	ENSURE(!one.over && message_read(&wire, buf_str(&one), &same, &again, &err) == 0);
	ENSURE(same == which);
	message_write(&wire, same, &again, &two);
	ENSURE(str_eq(buf_str(&one), buf_str(&two)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size};
	struct err err = {0};
	S said;
	size_t n;
	int which;
	while (rest.n && message_frame(&wire, rest, &n) == 0) {
		ENSURE(n <= rest.n && n <= message_wire_most(&wire));
		if (message_read(&wire, str_head(rest, n), &which, &said, &err) == 0) {
			if (which == SAYS_ALL)
				check_said(&said);
			check_rows(&row_item, said.row);
			check_again(which, &said);
		} else {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
		}
		rest = str_from(rest, n);
	}
	check_rows(&row_item, (struct message_items){5, rest});
	check_rows(&packed_item, (struct message_items){5, rest});
	return 0;
}
