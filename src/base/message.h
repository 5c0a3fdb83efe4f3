/* Messages between processes of garner (doc/protocols/message.md): attributes with names, declared
 * once in a table that says where in a struct each belongs, of which type it is and which bounds it
 * keeps. Writing, reading and checking come from that table.
 *
 *	tock 23\n
 *	tick 4\n
 *	lease 10000000\n
 *
 * Readers trust nothing: a message is bounded by its first line, every attribute by its table, and
 * attributes come in the order of the table, each once, or the message is refused. Peers of one
 * version therefore need no negotiation. Writers keep honest peers from looking hostile: a number
 * is brought within its bounds, and an optional text that cannot be sent is left out.
 *
 * A reader allocates nothing; what it returns are slices of the bytes that it read. */
#pragma once
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"

enum {
	MESSAGE_HEAD_MAX = 48, /* bytes of the first line, with its line feed */
};
#define MESSAGE_TIME_MAX_US (400 * US_PER_DAY) /* longest time that is sent */

enum message_type {
	MESSAGE_FLAG,   /* bool; sent if true: the name alone */
	MESSAGE_NUMBER, /* unsigned, of 1, 2, 4 or 8 bytes */
	MESSAGE_SIGNED, /* int32_t or int64_t */
	MESSAGE_WORD,   /* an enum, sent as one of `words` */
	MESSAGE_TEXT,   /* struct str without control characters */
	MESSAGE_SAID,   /* struct str for people: cut, and control characters become blanks */
	MESSAGE_BYTES,  /* struct str, any bytes: the length first */
	MESSAGE_HASH,   /* unsigned char[], as hexadecimal digits */
	MESSAGE_ITEMS,  /* struct message_items */
	MESSAGE_OTHER,  /* whatever `value` prints and parses */
};

/* A list: so many structs, each as the attributes of its own table, or packed. */
struct message_items {
	uint64_t n;
	struct str bytes;
};

/* How a room prints and parses a type of its own, as text without control characters. */
struct message_value {
	void (*print)(const void *member, struct buf *out); /* nothing: the attribute is left out */
	bool (*parse)(struct str text, void *ret_member);
};

struct message_field {
	struct str name;
	enum message_type type;
	size_t offset, size;
	bool must;     /* always sent; a message without it is refused */
	int64_t least; /* of numbers; bytes of texts */
	uint64_t most; /* the same; how many items, how many words */
	int64_t none;  /* of numbers and words: left out if it is this, and this if left out */
	const char *const *words;
	const struct message_value *value;
};

/* For tables: the name on the wire, and offset and size of a member. */
#define MESSAGE_AT(type_, s, m, name_)                                                 \
	.name = {name_, sizeof(name_) - 1}, .type = (type_), .offset = offsetof(s, m), \
	.size = sizeof(((s *)0)->m)
#define MESSAGE_FLAG_AT(s, m, name) MESSAGE_AT(MESSAGE_FLAG, s, m, name)
#define MESSAGE_NUMBER_AT(s, m, name, least_, most_) \
	MESSAGE_AT(MESSAGE_NUMBER, s, m, name), .least = (least_), .most = (most_)
#define MESSAGE_SIGNED_AT(s, m, name, least_, most_) \
	MESSAGE_AT(MESSAGE_SIGNED, s, m, name), .least = (least_), .most = (most_)
#define MESSAGE_TIME_AT(s, m, name) MESSAGE_SIGNED_AT(s, m, name, 0, MESSAGE_TIME_MAX_US) /* us */
#define MESSAGE_SECONDS_AT(s, m, name) MESSAGE_SIGNED_AT(s, m, name, 0, UINT32_MAX)
#define MESSAGE_WORD_AT(s, m, name, words_, n) \
	MESSAGE_AT(MESSAGE_WORD, s, m, name), .words = (words_), .most = (n)
#define MESSAGE_TEXT_AT(s, m, name, most_) \
	MESSAGE_AT(MESSAGE_TEXT, s, m, name), .least = 1, .most = (most_)
#define MESSAGE_SAID_AT(s, m, name, most_) MESSAGE_AT(MESSAGE_SAID, s, m, name), .most = (most_)
#define MESSAGE_BYTES_AT(s, m, name, most_) MESSAGE_AT(MESSAGE_BYTES, s, m, name), .most = (most_)
#define MESSAGE_HASH_AT(s, m, name) MESSAGE_AT(MESSAGE_HASH, s, m, name)
#define MESSAGE_ITEMS_AT(s, m, name, most_) MESSAGE_AT(MESSAGE_ITEMS, s, m, name), .most = (most_)
#define MESSAGE_OTHER_AT(s, m, name, value_) \
	MESSAGE_AT(MESSAGE_OTHER, s, m, name), .value = (value_)

struct message {
	struct str name;
	int which;   /* one of the wire's enum */
	size_t most; /* bytes after the first line */
	const struct message_field *field;
	size_t n;
};
#define MESSAGE(name_, which_, most_, fields)                                        \
	{                                                                            \
		{name_, sizeof(name_) - 1}, which_, most_, fields, ARRAY_LEN(fields) \
	}
/* One that has nothing to say but its name. */
#define MESSAGE_BARE(name_, which_)                            \
	{                                                      \
		{name_, sizeof(name_) - 1}, which_, 0, NULL, 0 \
	}

/* What one side of a wire may say. All messages are read into one struct. */
struct message_wire {
	const struct message *message;
	size_t n;
	size_t size; /* of the struct */
};

/* Appends. *from: the struct of the wire. The longest message must fit, unless out->over is checked
 * afterwards. */
void message_write(const struct message_wire *w, int which, const void *from, struct buf *out);
/* How many bytes the first message of `bytes` has. 0: it is complete; 1: more has to come;
 * negative: the first line is not that of a message of this wire, or it claims too many bytes. */
int message_frame(const struct message_wire *w, struct str bytes, size_t *ret_n);
/* The most bytes that a message of this wire has. */
size_t message_wire_most(const struct message_wire *w);
/* Reads one complete message; *ret is the struct of the wire, zeroed first. ERR_DAMAGED names the
 * message and the attribute. */
int message_read(const struct message_wire *w, struct str bytes, int *ret_which, void *ret,
		 struct err *err);

/* Items: a struct of `size` bytes with a table of its own, whose first attribute is a `must`. */
struct message_item {
	const char *name; /* for errors: "a row" */
	size_t size;
	const struct message_field *field;
	size_t n;
	/* For lists by the thousand: in few bytes, without names. Its table has flags, numbers,
	 * words, texts and bytes only, and at most 64; written where there is room for
	 * VARINT_MOST bytes more for each. */
	bool packed;
};
void message_item_write(const struct message_item *item, const void *from, struct buf *out);
/* Takes the next one off *items. 1: there are no more; ERR_DAMAGED. */
int message_item_next(const struct message_item *item, struct message_items *items, void *ret,
		      struct err *err);
