/* Typed values with bounds, defaults and units: one mechanism for the settings of the configuration
 * and for the options of the commands. A table of specs says where in a struct each value goes. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum value_type {
	VALUE_BOOL,    /* bool: yes/no, true/false, on/off, 1/0 */
	VALUE_INT,     /* int64_t */
	VALUE_REAL,    /* double */
	VALUE_PERCENT, /* int64_t: 10% */
	VALUE_SIZE,   /* uint64_t bytes: 512, 64K, 1.5M, 2G (powers of 1024; i, B, iB may follow) */
	VALUE_TIME,   /* int64_t us: 250ms, 10s, 1h30min, 30d */
	VALUE_TEXT,   /* const char * */
	VALUE_WORD,   /* int: index into `words` */
	VALUE_PATH,   /* const char * */
	VALUE_LISTEN, /* const char *: "ADDRESS:PORT", "[V6]:PORT", "unix:PATH" or "" for none */
	VALUE_UDP,    /* const char *: "udp:ADDRESS:PORT", "udp:[V6]:PORT" or "" for none */
	VALUE_LIST,   /* struct value_list: separated by commas or blanks; repeated options add */
};

struct value_list {
	const char *const *item;
	size_t n;
};

struct value_spec {
	const char *name; /* "listen", "max_connections"; long option names have dashes */
	enum value_type type;
	size_t offset;
	const char *fallback;     /* the default, as one would write it; NULL: zero, no, "" */
	double min, max;          /* in the value's unit (bytes, us); INFINITY: open on that side;
				     both 0: no bounds */
	const char *const *words; /* VALUE_WORD: the choices, ends in NULL; numbers: NULL, or a
				   * word that stands for 0 whatever the bounds ("auto") */
	const char *help;         /* one sentence, no full stop needed */
	/* Other settings that this one depends on until it is set itself, "net.idle": see
	 * role/config.h. */
	const char *inherits; /* whose value it has, of the same type; NULL: none */
	const char *moves;    /* of a default with a port: what that keeps its distance to */
};

/* offset of a member whose C type fits the value's type, checked at compile time */
#define VALUE_AT(strukt, member, ctype)                                                         \
	(offsetof(strukt, member) +                                                             \
	 0 * sizeof(char[__builtin_types_compatible_p(__typeof__(((strukt *)0)->member), ctype) \
				 ? 1                                                            \
				 : -1]))
#define VALUE_BOOL_AT(s, m) VALUE_BOOL, VALUE_AT(s, m, bool)
#define VALUE_INT_AT(s, m) VALUE_INT, VALUE_AT(s, m, int64_t)
#define VALUE_REAL_AT(s, m) VALUE_REAL, VALUE_AT(s, m, double)
#define VALUE_PERCENT_AT(s, m) VALUE_PERCENT, VALUE_AT(s, m, int64_t)
#define VALUE_SIZE_AT(s, m) VALUE_SIZE, VALUE_AT(s, m, uint64_t)
#define VALUE_TIME_AT(s, m) VALUE_TIME, VALUE_AT(s, m, int64_t)
#define VALUE_TEXT_AT(s, m) VALUE_TEXT, VALUE_AT(s, m, const char *)
#define VALUE_WORD_AT(s, m) VALUE_WORD, VALUE_AT(s, m, int)
#define VALUE_PATH_AT(s, m) VALUE_PATH, VALUE_AT(s, m, const char *)
#define VALUE_LISTEN_AT(s, m) VALUE_LISTEN, VALUE_AT(s, m, const char *)
#define VALUE_UDP_AT(s, m) VALUE_UDP, VALUE_AT(s, m, const char *)
#define VALUE_LIST_AT(s, m) VALUE_LIST, VALUE_AT(s, m, struct value_list)

/* Parses text into the struct at `base`; what must live on goes into the arena. On failure the
 * struct is untouched and err says what was expected ("expected a time such as 10s, got 'abc'"). */
int value_parse(const struct value_spec *spec, struct str text, struct arena *arena, void *base,
		struct err *err);
/* The same, but a list grows by the new items instead of being replaced: for repeated options. */
int value_add(const struct value_spec *spec, struct str text, struct arena *arena, void *base,
	      struct err *err);
/* Puts all the defaults in. A default that does not parse is a broken promise. */
void value_defaults(const struct value_spec *specs, size_t n, struct arena *arena, void *base);
/* As one would say it with -s; value_parse() of it gives the same value. In a file some texts need
 * quotes (ini_quote). */
void value_print(const struct value_spec *spec, const void *base, struct buf *out);
void value_print_default(const struct value_spec *spec, struct buf *out);
bool value_equal(const struct value_spec *spec, const void *a, const void *b);
/* Both are of one type; texts and lists are shared, not copied. */
void value_copy(const struct value_spec *to, void *to_base, const struct value_spec *from,
		const void *from_base);
/* Replaces the port in a default, "udp:127.0.0.1:1525", "http://127.0.0.1:8083/" or a number, by
 * one that is `distance` higher. without: there is none, so the default of a listener is a port
 * that the kernel chooses, and any other is empty, or 0. */
void value_move_port(const struct value_spec *spec, int64_t distance, bool without,
		     struct arena *arena, void *base);
/* "time", "size", "yes or no", "one of a, b" ... and the bounds: "time, 1ms to 1h". */
void value_describe(const struct value_spec *spec, struct buf *out);
const struct value_spec *value_find(const struct value_spec *specs, size_t n, struct str name);

/* Foreign text for a message: at most 60 bytes, what is not printable as '?'. Returns ret. */
enum { VALUE_SHOWN = 64 };
const char *value_show(struct str text, char ret[VALUE_SHOWN]);
