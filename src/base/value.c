/* Values: a table of types, each with its parser and printer. A value that is printed and parsed
 * again is the same, so that roles can get their settings in a file. */
#include "base/value.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/endpoint.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What a type is and does. `parse` writes the value to `to`, whose C type value.h names. */
struct type {
	const char *name;   /* "time" */
	const char *sample; /* "a time such as 10s": what was expected */
	size_t size;
	int (*parse)(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		     struct err *err);
	void (*print)(const struct value_spec *spec, const void *from, struct buf *out);
	bool (*equal)(const void *a, const void *b);       /* NULL: by their bytes */
	enum { NO_NUMBER, SIGNED, UNSIGNED, REAL } number; /* a number has bounds */
};

static const struct type types[VALUE_LIST + 1];

const char *value_show(struct str text, char ret[VALUE_SHOWN])
{
	enum { MOST = 60 };
	bool cut = text.n > MOST, utf8 = str_utf8(text);
	size_t n = cut ? MOST - 3 : text.n;
	while (cut && utf8 && n && ((unsigned char)text.p[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++) {
		char c = text.p[i];
		ret[i] = ascii_is_control(c) || (!utf8 && (unsigned char)c >= 0x80) ? '?' : c;
	}
	snprintf(ret + n, VALUE_SHOWN - n, "%s", cut ? "..." : "");
	return ret;
}

static int value_unexpected(const struct value_spec *spec, struct str s, struct err *err)
{
	char shown[VALUE_SHOWN];
	return err_set(err, ERR_USAGE, "expected %s, got '%s'", types[spec->type].sample,
		       value_show(s, shown));
}

static const struct {
	const char *word;
	bool value;
} bool_words[] = {{"yes", true}, {"no", false},  {"true", true}, {"false", false},
		  {"on", true},  {"off", false}, {"1", true},    {"0", false}};

static int bool_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	(void)arena;
	for (size_t i = 0; i < ARRAY_LEN(bool_words); i++)
		if (str_eq_nocase(s, str_of(bool_words[i].word))) {
			*(bool *)to = bool_words[i].value;
			return 0;
		}
	return value_unexpected(spec, s, err);
}

static void bool_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	(void)spec;
	buf_add_text(out, *(const bool *)from ? "yes" : "no");
}

static int int_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		     struct err *err)
{
	(void)arena;
	bool minus = str_starts(s, STR("-"));
	uint64_t size;
	if (!str_u64(str_from(s, minus), &size) || size > (uint64_t)INT64_MAX + minus)
		return value_unexpected(spec, s, err);
	*(int64_t *)to = (int64_t)(minus ? 0 - size : size);
	return 0;
}

static void int_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	(void)spec;
	buf_printf(out, "%lld", (long long)*(const int64_t *)from);
}

/* The sign may be left out. */
static int percent_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
			 struct err *err)
{
	struct str number = str_ends(s, STR("%")) ? str_head(s, s.n - 1) : s;
	return int_parse(spec, number, arena, to, err) < 0 ? value_unexpected(spec, s, err) : 0;
}

static void percent_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	int_print(spec, from, out);
	buf_add_byte(out, '%');
}

/* Length of the digits at the beginning. */
static size_t digit_run(struct str s)
{
	size_t n = 0;
	while (n < s.n && ascii_is_digit(s.p[n]))
		n++;
	return n;
}

/* [-]1, 1.5, .5, 1e-3: what strtod() takes without hex, inf, nan and blanks. */
static bool real_form(struct str s)
{
	if (str_starts(s, STR("-")))
		s = str_from(s, 1);
	size_t n = digit_run(s);
	s = str_from(s, n);
	if (str_starts(s, STR("."))) {
		size_t fraction = digit_run(str_from(s, 1));
		n += fraction;
		s = str_from(s, 1 + fraction);
	}
	if (n == 0)
		return false;
	if (s.n && (s.p[0] == 'e' || s.p[0] == 'E')) {
		s = str_from(s, 1);
		if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
			s = str_from(s, 1);
		size_t exponent = digit_run(s);
		return exponent && exponent == s.n;
	}
	return s.n == 0;
}

/* Numbers have a point in whatever locale a library may have set. */
static locale_t plain_locale(void)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", NULL);
	ENSURE(plain);
	return uselocale(plain);
}

static void former_locale(locale_t former)
{
	freelocale(uselocale(former));
}

static int real_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	(void)arena;
	char text[64];
	if (s.n >= sizeof text || !real_form(s))
		return value_unexpected(spec, s, err);
	memcpy(text, s.p, s.n);
	text[s.n] = 0;
	locale_t former = plain_locale();
	double v = strtod(text, NULL);
	former_locale(former);
	if (!isfinite(v))
		return value_unexpected(spec, s, err);
	*(double *)to = v;
	return 0;
}

/* As few digits as give the same number back. */
static void real_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	double v = *(const double *)from;
	char text[64];
	(void)spec;
	locale_t former = plain_locale();
	for (int precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof text, "%.*g", precision, v);
		if (strtod(text, NULL) == v)
			break;
	}
	former_locale(former);
	buf_add_text(out, text);
}

static const char size_letters[] = "KMGTPE";

/* The unit after the number: shift, or -1. */
static int size_unit(struct str s)
{
	int shift = 0;
	const char *letter =
		s.n ? memchr(size_letters, s.p[0] & ~0x20, sizeof size_letters - 1) : NULL;
	if (letter) {
		shift = 10 * (int)(letter - size_letters + 1);
		s = str_from(s, 1);
		if (s.n && s.p[0] == 'i')
			s = str_from(s, 1);
	}
	if (s.n && s.p[0] == 'B')
		s = str_from(s, 1);
	return s.n ? -1 : shift;
}

/* Adds the bytes that ".5" of a unit is. false: not a whole number of them. */
static bool size_fraction(struct str fraction, int shift, uint64_t *bytes)
{
	while (fraction.n && fraction.p[fraction.n - 1] == '0')
		fraction.n--;
	uint64_t number = 0, scale = 1;
	if (fraction.n > 18 || (fraction.n && !str_u64(fraction, &number)))
		return false;
	for (size_t i = 0; i < fraction.n; i++)
		scale *= 10;
	unsigned __int128 scaled = (unsigned __int128)number << shift;
	if (scaled % scale)
		return false;
	return !__builtin_add_overflow(*bytes, (uint64_t)(scaled / scale), bytes);
}

static int size_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	(void)arena;
	char shown[VALUE_SHOWN];
	size_t n = digit_run(s);
	struct str whole = str_head(s, n), fraction = {0}, unit = str_from(s, n);
	if (n && str_starts(unit, STR("."))) {
		size_t places = digit_run(str_from(unit, 1));
		if (places == 0)
			return value_unexpected(spec, s, err);
		fraction = str_head(str_from(unit, 1), places);
		unit = str_from(unit, 1 + places);
	}
	int shift = size_unit(unit);
	if (n == 0 || shift < 0)
		return value_unexpected(spec, s, err);
	uint64_t bytes;
	if (!str_u64(whole, &bytes) || bytes > UINT64_MAX >> shift)
		return err_set(err, ERR_USAGE, "'%s' is 16E bytes or more", value_show(s, shown));
	bytes <<= shift;
	if (!size_fraction(fraction, shift, &bytes))
		return err_set(err, ERR_USAGE, "'%s' is not a whole number of bytes",
			       value_show(s, shown));
	*(uint64_t *)to = bytes;
	return 0;
}

static void size_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	uint64_t bytes = *(const uint64_t *)from;
	size_t unit = 0;
	(void)spec;
	while (bytes && bytes % 1024 == 0 && unit < sizeof size_letters - 1) {
		bytes /= 1024;
		unit++;
	}
	buf_printf(out, "%llu", (unsigned long long)bytes);
	if (unit)
		buf_add_byte(out, size_letters[unit - 1]);
}

static int time_value_parse(const struct value_spec *spec, struct str s, struct arena *arena,
			    void *to, struct err *err)
{
	uint64_t number;
	(void)arena;
	if (duration_parse(s, to))
		return 0;
	if (str_u64(s, &number))
		return err_set(err, ERR_USAGE,
			       "expected a time with its unit, such as " STR_FMT "s, got '" STR_FMT
			       "'",
			       STR_ARG(s), STR_ARG(s));
	return value_unexpected(spec, s, err);
}

static void time_value_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	(void)spec;
	duration_print(out, *(const int64_t *)from);
}

static int text_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	if (s.n && memchr(s.p, 0, s.n))
		return value_unexpected(spec, s, err);
	*(const char **)to = arena_text(arena, s);
	return 0;
}

static struct str text_of(const void *from)
{
	const char *text = *(const char *const *)from;
	return text ? str_of(text) : STR("");
}

static void text_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	(void)spec;
	buf_add_str(out, text_of(from));
}

static bool text_equal(const void *a, const void *b)
{
	return str_eq(text_of(a), text_of(b));
}

static int listen_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
			struct err *err)
{
	struct endpoint where;
	if (s.n && (spec->type == VALUE_UDP ? endpoint_parse_udp(s, &where, err)
					    : endpoint_parse(s, &where, err)) < 0)
		return -1;
	return text_parse(spec, s, arena, to, err);
}

static void print_words(const struct value_spec *spec, struct buf *out)
{
	buf_add_text(out, "one of ");
	for (size_t i = 0; spec->words[i]; i++)
		buf_printf(out, "%s%s", i ? ", " : "", spec->words[i]);
}

static int word_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	(void)arena;
	for (int i = 0; spec->words[i]; i++)
		if (str_is(s, spec->words[i])) {
			*(int *)to = i;
			return 0;
		}
	char shown[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf words = BUF_INIT(300);
	print_words(spec, &words);
	return err_set(err, ERR_USAGE, "expected %s, got '%s'", buf_text(&words),
		       value_show(s, shown));
}

static void word_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	buf_add_text(out, spec->words[*(const int *)from]);
}

/* Cuts the next item off; false: none is left. */
static bool list_item(struct str *rest, struct str *ret)
{
	static const char separators[] = ", \t\n";
	size_t from = 0, to;
	while (from < rest->n && memchr(separators, rest->p[from], sizeof separators - 1))
		from++;
	for (to = from; to < rest->n; to++)
		if (memchr(separators, rest->p[to], sizeof separators - 1))
			break;
	*ret = str_head(str_from(*rest, from), to - from);
	*rest = str_from(*rest, to);
	return ret->n > 0;
}

/* Items that are there already stay before the new ones. */
static int list_extend(const struct value_spec *spec, struct str s, struct arena *arena,
		       struct value_list *to, struct err *err)
{
	if (s.n && memchr(s.p, 0, s.n))
		return value_unexpected(spec, s, err);
	struct str rest = s, item;
	size_t n = to->n;
	while (list_item(&rest, &item))
		n++;
	if (n == to->n)
		return 0;
	const char **items = arena_array(arena, n, sizeof *items);
	if (to->n)
		memcpy(items, to->item, to->n * sizeof *items);
	rest = s;
	for (size_t i = to->n; list_item(&rest, &item); i++)
		items[i] = arena_text(arena, item);
	*to = (struct value_list){items, n};
	return 0;
}

static int list_parse(const struct value_spec *spec, struct str s, struct arena *arena, void *to,
		      struct err *err)
{
	struct value_list list = {0};
	if (list_extend(spec, s, arena, &list, err) < 0)
		return -1;
	*(struct value_list *)to = list;
	return 0;
}

static void list_print(const struct value_spec *spec, const void *from, struct buf *out)
{
	(void)spec;
	const struct value_list *list = from;
	for (size_t i = 0; i < list->n; i++)
		buf_printf(out, "%s%s", i ? " " : "", list->item[i]);
}

static bool list_equal(const void *a, const void *b)
{
	const struct value_list *x = a, *y = b;
	if (x->n != y->n)
		return false;
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->item[i], y->item[i]) != 0)
			return false;
	return true;
}

static const struct type types[VALUE_LIST + 1] = {
	[VALUE_BOOL] = {"yes or no", "yes or no", sizeof(bool), bool_parse, bool_print},
	[VALUE_INT] = {"number", "a whole number", sizeof(int64_t), int_parse, int_print,
		       .number = SIGNED},
	[VALUE_REAL] = {"number", "a number such as 0.5", sizeof(double), real_parse, real_print,
			.number = REAL},
	[VALUE_PERCENT] = {"percentage", "a percentage such as 10%", sizeof(int64_t), percent_parse,
			   percent_print, .number = SIGNED},
	[VALUE_SIZE] = {"size", "a size such as 64K, 1.5M or 2G", sizeof(uint64_t), size_parse,
			size_print, .number = UNSIGNED},
	[VALUE_TIME] = {"time", "a time such as 250ms, 10s or 1h30min", sizeof(int64_t),
			time_value_parse, time_value_print, .number = SIGNED},
	[VALUE_TEXT] = {"text", "text", sizeof(char *), text_parse, text_print, text_equal},
	[VALUE_WORD] = {"word", "a word", sizeof(int), word_parse, word_print},
	[VALUE_PATH] = {"path", "a path", sizeof(char *), text_parse, text_print, text_equal},
	[VALUE_LISTEN] = {"address to listen on", "an address to listen on", sizeof(char *),
			  listen_parse, text_print, text_equal},
	[VALUE_UDP] = {"UDP address to listen on", "a UDP address to listen on", sizeof(char *),
		       listen_parse, text_print, text_equal},
	[VALUE_LIST] = {"list", "a list", sizeof(struct value_list), list_parse, list_print,
			list_equal},
};

static bool is_bounded(const struct value_spec *spec)
{
	return types[spec->type].number && (spec->min != 0 || spec->max != 0);
}

static double number_of(const struct value_spec *spec, const void *value)
{
	switch (types[spec->type].number) {
	case SIGNED:
		return (double)*(const int64_t *)value;
	case UNSIGNED:
		return (double)*(const uint64_t *)value;
	default:
		return *(const double *)value;
	}
}

/* As values are printed. */
static void print_bound(const struct value_spec *spec, double bound, struct buf *out)
{
	const struct type *type = &types[spec->type];
	int64_t whole = (int64_t)bound;
	type->print(spec, type->number == REAL ? (const void *)&bound : &whole, out);
}

/* "1ms to 1h", "at least 1", "at most 10" */
static void print_bounds(const struct value_spec *spec, struct buf *out)
{
	bool from = isfinite(spec->min), to = isfinite(spec->max);
	if (from != to)
		buf_add_text(out, from ? "at least " : "at most ");
	if (from)
		print_bound(spec, spec->min, out);
	if (from && to)
		buf_add_text(out, " to ");
	if (to)
		print_bound(spec, spec->max, out);
}

static int check_bounds(const struct value_spec *spec, const void *value, struct str text,
			struct err *err)
{
	double number = is_bounded(spec) ? number_of(spec, value) : 0;
	if (!is_bounded(spec) || (number >= spec->min && number <= spec->max))
		return 0;
	char shown[VALUE_SHOWN];
	CLEANUP(buf_free) struct buf bounds = BUF_INIT(200);
	print_bounds(spec, &bounds);
	return err_set(err, ERR_USAGE, "must be %s, got '%s'", buf_text(&bounds),
		       value_show(text, shown));
}

/* The word that stands for 0 where a number may also be left to the program. */
static const char *zero_word(const struct value_spec *spec)
{
	return types[spec->type].number && spec->words ? spec->words[0] : NULL;
}

int value_parse(const struct value_spec *spec, struct str text, struct arena *arena, void *base,
		struct err *err)
{
	const struct type *type = &types[spec->type];
	_Alignas(max_align_t) char value[sizeof(struct value_list)] = {0};
	bool word = zero_word(spec) && str_is(text, zero_word(spec));
	if (word)
		memset((char *)base + spec->offset, 0, type->size);
	if (word)
		return 0;
	if (type->parse(spec, text, arena, value, err) < 0 ||
	    check_bounds(spec, value, text, err) < 0)
		return -1;
	memcpy((char *)base + spec->offset, value, type->size);
	return 0;
}

int value_add(const struct value_spec *spec, struct str text, struct arena *arena, void *base,
	      struct err *err)
{
	if (spec->type != VALUE_LIST)
		return value_parse(spec, text, arena, base, err);
	struct value_list *list = (struct value_list *)((char *)base + spec->offset);
	return list_extend(spec, text, arena, list, err);
}

void value_defaults(const struct value_spec *specs, size_t n, struct arena *arena, void *base)
{
	for (const struct value_spec *spec = specs; spec < specs + n; spec++) {
		const struct type *type = &types[spec->type];
		struct err err;
		if (!spec->fallback) {
			memset((char *)base + spec->offset, 0, type->size);
			if (type->print == text_print)
				*(const char **)((char *)base + spec->offset) = "";
		} else if (value_parse(spec, str_of(spec->fallback), arena, base, &err) < 0) {
			die("the default of %s is wrong: %s", spec->name, err.msg);
		}
	}
}

void value_print(const struct value_spec *spec, const void *base, struct buf *out)
{
	const char *word = zero_word(spec);
	if (word && number_of(spec, (const char *)base + spec->offset) == 0) {
		buf_add_text(out, word);
		return;
	}
	types[spec->type].print(spec, (const char *)base + spec->offset, out);
}

void value_print_default(const struct value_spec *spec, struct buf *out)
{
	static const struct value_list zero;
	if (spec->fallback)
		buf_add_text(out, spec->fallback);
	else
		types[spec->type].print(spec, &zero, out);
}

bool value_equal(const struct value_spec *spec, const void *a, const void *b)
{
	const struct type *type = &types[spec->type];
	const char *x = (const char *)a + spec->offset, *y = (const char *)b + spec->offset;
	return type->equal ? type->equal(x, y) : memcmp(x, y, type->size) == 0;
}

void value_copy(const struct value_spec *to, void *to_base, const struct value_spec *from,
		const void *from_base)
{
	ENSURE(to->type == from->type);
	memcpy((char *)to_base + to->offset, (const char *)from_base + from->offset,
	       types[to->type].size);
}

void value_move_port(const struct value_spec *spec, int64_t distance, bool without,
		     struct arena *arena, void *base)
{
	bool listens = spec->type == VALUE_LISTEN || spec->type == VALUE_UDP;
	struct str text = str_of(spec->fallback);
	const char *colon = memrchr(text.p, ':', text.n);
	struct str before = str_head(text, colon ? (size_t)(colon + 1 - text.p) : 0);
	struct str after = str_from(text, before.n);
	struct str digits = str_head(after, digit_run(after));
	struct value_spec moved = *spec;
	uint64_t port;
	ENSURE(str_u64(digits, &port));
	moved.fallback = NULL;
	if (!without || listens)
		moved.fallback = arena_printf(arena, STR_FMT "%lld" STR_FMT, STR_ARG(before),
					      without ? 0 : (long long)port + distance,
					      STR_ARG(str_from(after, digits.n)));
	value_defaults(&moved, 1, arena, base);
}

void value_describe(const struct value_spec *spec, struct buf *out)
{
	if (spec->type == VALUE_WORD)
		print_words(spec, out);
	else
		buf_add_text(out, types[spec->type].name);
	if (is_bounded(spec)) {
		buf_add_text(out, ", ");
		print_bounds(spec, out);
	}
	if (zero_word(spec))
		buf_printf(out, ", or %s", zero_word(spec));
}

const struct value_spec *value_find(const struct value_spec *specs, size_t n, struct str name)
{
	for (const struct value_spec *spec = specs; spec < specs + n; spec++)
		if (str_is(name, spec->name))
			return spec;
	return NULL;
}
