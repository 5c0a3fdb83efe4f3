/* SOIF objects in memory, and their canonical form. Attributes are a plain list that is searched
 * from its end: objects have a few dozen, and the later of two counts. */
#include "soif/soif.h"

#include "base/ascii.h"
#include "base/hash.h"
#include "base/value.h"

#include <stdlib.h>

static struct soif_attr *attr_find(const struct soif *obj, struct str name)
{
	for (size_t i = obj->n; i > 0; i--)
		if (str_eq_nocase(obj->attr[i - 1].name, name))
			return &obj->attr[i - 1];
	return NULL;
}

struct str soif_get(const struct soif *obj, struct str name)
{
	const struct soif_attr *a = attr_find(obj, name);
	return a ? a->value : (struct str){0};
}

void soif_add(struct soif *obj, struct arena *arena, struct str name, struct str value)
{
	*ARENA_PUSH(arena, obj->attr, obj->n, obj->room) = (struct soif_attr){name, value};
}

void soif_set(struct soif *obj, struct arena *arena, struct str name, struct str value)
{
	struct soif_attr *a = attr_find(obj, name);
	if (a)
		a->value = value;
	else
		soif_add(obj, arena, name, value);
}

void soif_append(struct soif *obj, struct arena *arena, struct str name, struct str value)
{
	struct soif_attr *a = attr_find(obj, name);
	if (!a) {
		soif_add(obj, arena, name, value);
		return;
	}
	char *both = arena_alloc(arena, a->value.n + 1 + value.n);
	if (a->value.n)
		memcpy(both, a->value.p, a->value.n);
	both[a->value.n] = '\n';
	if (value.n)
		memcpy(both + a->value.n + 1, value.p, value.n);
	a->value = (struct str){both, a->value.n + 1 + value.n};
}

void soif_merge(struct soif *into, struct arena *arena, const struct soif *from)
{
	for (size_t i = 0; i < from->n; i++)
		soif_set(into, arena, from->attr[i].name, from->attr[i].value);
}

struct soif soif_copy(struct arena *arena, const struct soif *obj)
{
	struct soif copy = {.type = arena_str(arena, obj->type),
			    .url = arena_str(arena, obj->url),
			    .n = obj->n,
			    .room = obj->n,
			    .truncated = obj->truncated};
	copy.attr = arena_array(arena, obj->n, sizeof *copy.attr);
	for (size_t i = 0; i < obj->n; i++)
		copy.attr[i] = (struct soif_attr){arena_str(arena, obj->attr[i].name),
						  arena_str(arena, obj->attr[i].value)};
	return copy;
}

static int compare_nocase(struct str a, struct str b)
{
	for (size_t i = 0; i < MIN(a.n, b.n); i++) {
		int x = (unsigned char)ascii_lower(a.p[i]);
		int y = (unsigned char)ascii_lower(b.p[i]);
		if (x != y)
			return x - y;
	}
	return (a.n > b.n) - (a.n < b.n);
}

/* An attribute and its place: of two with one name the later counts, so sorting must be stable. */
struct placed {
	struct soif_attr attr;
	uint64_t number; /* of the embedded object; 0: not embedded */
	struct str inner;
	size_t at;
};

static int placed_order(const void *pa, const void *pb)
{
	const struct placed *a = pa, *b = pb;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	int r = compare_nocase(a->inner, b->inner);
	return r ? r : (a->at > b->at) - (a->at < b->at);
}

void soif_sort(struct soif *obj)
{
	struct placed *list = mem_array(obj->n, sizeof *list);
	for (size_t i = 0; i < obj->n; i++) {
		list[i] =
			(struct placed){.attr = obj->attr[i], .inner = obj->attr[i].name, .at = i};
		(void)soif_embedded(obj->attr[i].name, &list[i].number, &list[i].inner);
	}
	qsort(list, obj->n, sizeof *list, placed_order);
	for (size_t i = 0; i < obj->n; i++)
		obj->attr[i] = list[i].attr;
	mem_free(&list);
}

/* What a byte would do to the reading back of the words of an object. */
enum { ENDS_TYPE = 1, ENDS_URL = 2, ENDS_NAME = 4, NO_URL_FIRST = 8, NO_NAME_FIRST = 16 };
static const unsigned char effect[256] = {
	[0] = ENDS_TYPE | ENDS_URL | ENDS_NAME,
	['\t'] = ENDS_TYPE | ENDS_URL | NO_NAME_FIRST,
	['\n'] = ENDS_TYPE | ENDS_URL | ENDS_NAME,
	['\v'] = ENDS_TYPE | ENDS_URL | NO_NAME_FIRST,
	['\f'] = ENDS_TYPE | ENDS_URL | NO_NAME_FIRST,
	['\r'] = ENDS_TYPE | ENDS_URL | ENDS_NAME,
	[' '] = ENDS_TYPE | ENDS_URL | NO_NAME_FIRST,
	['{'] = ENDS_TYPE | ENDS_NAME | NO_URL_FIRST,
	['}'] = NO_URL_FIRST | NO_NAME_FIRST,
	['@'] = ENDS_TYPE | NO_URL_FIRST,
};

static bool is_readable(struct str s, unsigned ends, unsigned first)
{
	if (s.n == 0 || effect[(unsigned char)s.p[0]] & first)
		return false;
	unsigned all = 0;
	for (size_t i = 0; i < s.n; i++)
		all |= effect[(unsigned char)s.p[i]];
	return !(all & ends);
}

bool soif_url_fits(struct str url)
{
	return is_readable(url, ENDS_URL, NO_URL_FIRST);
}

static void print_attr(const struct soif_attr *a, struct buf *out)
{
	if (a->value.n == 0)
		return;
	char size[STR_DECIMAL_MAX];
	size_t digits = str_decimal(size, a->value.n);
	char *room = buf_room(out, a->name.n + digits + a->value.n + 5);
	if (!room)
		return;
	char *p = mempcpy(room, a->name.p, a->name.n);
	*p++ = '{';
	p = mempcpy(p, size, digits);
	p = mempcpy(p, "}:\t", 3);
	p = mempcpy(p, a->value.p, a->value.n);
	*p++ = '\n';
	buf_grew(out, (size_t)(p - room));
}

int soif_print(const struct soif *obj, struct buf *out, struct err *err)
{
	char shown[VALUE_SHOWN], url[VALUE_SHOWN];
	if (!is_readable(obj->type, ENDS_TYPE, 0))
		return err_set(err, ERR_USAGE, "the type '%s' cannot stand in an object",
			       value_show(obj->type, shown));
	if (!soif_url_fits(obj->url))
		return err_set(err, ERR_USAGE, "the URL '%s' cannot stand in an object",
			       value_show(obj->url, shown));
	for (size_t i = 0; i < obj->n; i++) {
		struct str name = obj->attr[i].name;
		if (!is_readable(name, ENDS_NAME, NO_NAME_FIRST))
			return err_set(err, ERR_USAGE,
				       "%s: the attribute name '%s' cannot stand in an object",
				       value_show(obj->url, url), value_show(name, shown));
	}
	buf_add_byte(out, '@');
	buf_add_str(out, obj->type);
	buf_add(out, " { ", 3);
	buf_add_str(out, obj->url);
	buf_add_byte(out, '\n');
	for (size_t i = 0; i < obj->n; i++)
		print_attr(&obj->attr[i], out);
	buf_add(out, "}\n", 2);
	return 0;
}

bool soif_u64(const struct soif *obj, struct str name, uint64_t *ret)
{
	return str_u64(str_trim(soif_get(obj, name)), ret);
}

/* A number that may be absent, but not wrong. */
static int book_number(const struct soif *obj, struct str name, uint64_t *ret, struct err *err)
{
	char shown[VALUE_SHOWN], url[VALUE_SHOWN];
	struct str value = soif_get(obj, name);
	if (!value.p || str_u64(str_trim(value), ret))
		return 0;
	return err_set(err, ERR_USAGE, "%s: " STR_FMT " is '%s', not a number",
		       value_show(obj->url, url), STR_ARG(name), value_show(value, shown));
}

int soif_book(const struct soif *obj, struct soif_book *ret, struct err *err)
{
	char url[VALUE_SHOWN];
	struct soif_book book = {.gatherer_name = soif_get(obj, STR("Gatherer-Name")),
				 .gatherer_host = soif_get(obj, STR("Gatherer-Host")),
				 .gatherer_version = soif_get(obj, STR("Gatherer-Version")),
				 .refresh_rate_s = SOIF_REFRESH_RATE_S,
				 .time_to_live_s = SOIF_TIME_TO_LIVE_S};
	const struct {
		struct str name;
		uint64_t *value;
	} number[] = {{STR("Update-Time"), &book.update_time_s},
		      {STR("Last-Modification-Time"), &book.last_modification_time_s},
		      {STR("Refresh-Rate"), &book.refresh_rate_s},
		      {STR("Time-to-Live"), &book.time_to_live_s}};
	for (size_t i = 0; i < ARRAY_LEN(number); i++)
		if (book_number(obj, number[i].name, number[i].value, err))
			return -1;
	if (!soif_get(obj, STR("Update-Time")).p)
		return err_set(err, ERR_USAGE, "%s: no Update-Time", value_show(obj->url, url));
	struct str md5 = str_trim(soif_get(obj, STR("MD5")));
	if (md5.n && !hex_parse(md5, book.md5, sizeof book.md5))
		return err_set(err, ERR_USAGE, "%s: MD5 is not 32 hexadecimal digits",
			       value_show(obj->url, url));
	book.has_md5 = md5.n > 0;
	*ret = book;
	return 0;
}

bool soif_same(const struct soif *a, const struct soif_book *book_a, const struct soif *b,
	       const struct soif_book *book_b)
{
	if (!str_eq(book_a->gatherer_name, book_b->gatherer_name) ||
	    !str_eq(book_a->gatherer_host, book_b->gatherer_host) ||
	    !str_eq(book_a->gatherer_version, book_b->gatherer_version) ||
	    book_a->update_time_s != book_b->update_time_s)
		return false;
	return str_eq(a->url, b->url) ||
	       (book_a->has_md5 && book_b->has_md5 &&
		memcmp(book_a->md5, book_b->md5, sizeof book_a->md5) == 0);
}

bool soif_embedded(struct str name, uint64_t *ret_number, struct str *ret_inner)
{
	struct str prefix = STR("Embed<");
	if (name.n < prefix.n || !str_eq_nocase(str_head(name, prefix.n), prefix))
		return false;
	struct str rest = str_from(name, prefix.n);
	size_t end = str_find(rest, STR(">-"));
	uint64_t number;
	if (end + 2 >= rest.n || !str_u64(str_head(rest, end), &number) || number == 0 ||
	    number == UINT64_MAX) /* the next one must have a number too */
		return false;
	*ret_number = number;
	*ret_inner = str_from(rest, end + 2);
	return true;
}

uint64_t soif_embed_count(const struct soif *obj)
{
	uint64_t most = 0, number;
	struct str inner;
	for (size_t i = 0; i < obj->n; i++)
		if (soif_embedded(obj->attr[i].name, &number, &inner))
			most = MAX(most, number);
	return most;
}

void soif_embed(struct soif *obj, struct arena *arena, const struct soif *inner)
{
	uint64_t number = soif_embed_count(obj) + 1;
	for (size_t i = 0; i < inner->n; i++) {
		const struct soif_attr *a = &inner->attr[i];
		char *name = arena_printf(arena, "Embed<%llu>-" STR_FMT, (unsigned long long)number,
					  STR_ARG(a->name));
		soif_add(obj, arena, str_of(name), a->value);
	}
}

int soif_unembed(const struct soif *obj, uint64_t number, struct arena *arena, struct soif *ret)
{
	struct soif found = {.type = obj->type, .url = obj->url};
	for (size_t i = 0; i < obj->n; i++) {
		uint64_t n;
		struct str inner;
		if (soif_embedded(obj->attr[i].name, &n, &inner) && n == number)
			soif_add(&found, arena, inner, obj->attr[i].value);
	}
	if (found.n == 0)
		return 1;
	*ret = found;
	return 0;
}
