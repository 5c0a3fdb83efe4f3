/* Lines of the four parts: the 67 bytes of data, and the escapes of index and direc. Written by
 * hand, since millions of them are written at a time. */
#include "base/ascii.h"
#include "base/hash.h"
#include "index/names/names_store.h"

#include <inttypes.h>
#include <stdio.h>

const char *const names_part_name[NAMES_PARTS] = {"index", "nocaseindex", "data", "direc"};

const char *names_kind_name(enum names_kind kind)
{
	static const char *const names[NAMES_KINDS] = {"file", "dir", "link", "other"};
	return names[kind];
}

/* Paths */

char *names_path(const char *folder, const char *name)
{
	return mem_printf("%s/%s", folder, name);
}

char *names_generation_path(const char *folder, uint64_t generation, const char *name)
{
	return mem_printf("%s/names/%" PRIu64 "%s%s", folder, generation, *name ? "/" : "", name);
}

char *names_key_path(const char *folder, enum names_part part, struct str key)
{
	return mem_printf("%s/%s/" STR_FMT, folder, names_part_name[part], STR_ARG(key));
}

bool names_generation_of(const char *name, uint64_t *ret)
{
	uint64_t n;
	if (name[0] == '0' || !str_u64(str_of(name), &n))
		return false;
	*ret = n;
	return true;
}

/* Data: where its fields begin, and how long they are. */

enum {
	MODE_AT = 0,
	MODE_N = 10,
	LINKS_AT = 11,
	LINKS_N = 4,
	OWNER_AT = 16,
	GROUP_AT = 25,
	NAME_N = 8, /* of owner and group */
	SIZE_AT = 34,
	SIZE_N = 12,
	TIME_AT = 47,
	TIME_N = 10,
	DIR_AT = 58,
	DIR_N = 8,
	LINE_END = 66,
};
static const int64_t links_most = 9999, size_most = INT64_C(999999999999),
		     kib_most = INT64_C(99999999999), time_most = INT64_C(9999999999);

/* Right-adjusted: the last digit stands before `end`. */
static void number_put(char *end, uint64_t v)
{
	do
		*--end = (char)('0' + v % 10);
	while (v /= 10);
}

static enum names_kind kind_of_letter(char c)
{
	return c == 'd' ? NAMES_DIR : c == 'l' ? NAMES_LINK : c == '-' ? NAMES_FILE : NAMES_OTHER;
}

/* Where a mode is told, its letter is the kind's; where only the kind is, that letter stands alone.
 * A file of which nothing is told has no letter: it may be anything. */
static void mode_put(const struct names_entry *e, char *to)
{
	static const char letters[NAMES_KINDS] = {'-', 'd', 'l', '?'};
	if (!e->mode[0]) {
		if (e->kind != NAMES_FILE)
			*to = letters[e->kind];
		return;
	}
	for (unsigned i = 0; i < MODE_N; i++)
		to[i] = e->mode[i] > ' ' && e->mode[i] < 0x7f ? e->mode[i] : '?';
	if (kind_of_letter(*to) != e->kind)
		*to = letters[e->kind];
}

/* Nothing in it may end the line. */
static void owner_put(struct str name, char *to)
{
	name = str_utf8_head(name, NAME_N);
	for (size_t i = 0; i < name.n; i++)
		to[i] = (unsigned char)name.p[i] < ' ' || name.p[i] == 0x7f ? '?' : name.p[i];
}

void names_line_put(const struct names_entry *e, uint64_t dir, char *to)
{
	memset(to, ' ', LINE_END);
	to[LINE_END] = '\n';
	if (e->mode[0] || e->kind != NAMES_FILE)
		mode_put(e, to);
	if (e->links >= 0)
		number_put(to + LINKS_AT + LINKS_N, (uint64_t)MIN(e->links, links_most));
	if (e->owner.n)
		owner_put(e->owner, to + OWNER_AT);
	if (e->group.n)
		owner_put(e->group, to + GROUP_AT);
	if (e->size > size_most) {
		to[SIZE_AT + SIZE_N - 1] = 'K';
		number_put(to + SIZE_AT + SIZE_N - 1, (uint64_t)MIN(e->size / 1024, kib_most));
	} else if (e->size >= 0) {
		number_put(to + SIZE_AT + SIZE_N, (uint64_t)e->size);
	}
	if (e->time_s >= 0 && e->time_s <= time_most)
		number_put(to + TIME_AT + TIME_N, (uint64_t)e->time_s);
	number_put(to + DIR_AT + DIR_N, dir);
}

/* A number after blanks; -1: only blanks. false: it is neither. */
static bool number_get(const char *p, unsigned n, int64_t *ret)
{
	int64_t v = 0;
	unsigned i = 0;
	while (i < n && p[i] == ' ')
		i++;
	if (i == n) {
		*ret = -1;
		return true;
	}
	for (; i < n; i++) {
		if (!ascii_is_digit(p[i]))
			return false;
		v = v * 10 + (p[i] - '0');
	}
	*ret = v;
	return true;
}

static bool size_get(const char *p, int64_t *ret)
{
	if (p[SIZE_N - 1] != 'K')
		return number_get(p, SIZE_N, ret);
	if (!number_get(p, SIZE_N - 1, ret) || *ret < 0)
		return false;
	*ret *= 1024;
	return true;
}

static struct str owner_get(const char *p)
{
	size_t n = NAME_N;
	while (n && p[n - 1] == ' ')
		n--;
	return (struct str){p, n};
}

static void mode_get(const char *p, struct names_entry *ret)
{
	bool told = false;
	for (unsigned i = 1; i < MODE_N; i++)
		told |= p[i] != ' ';
	ret->kind = *p == ' ' ? NAMES_FILE : kind_of_letter(*p);
	if (told)
		memcpy(ret->mode, p, MODE_N);
	else
		memset(ret->mode, 0, MODE_N);
}

bool names_line_get(const char *line, struct names_entry *ret, uint64_t *ret_dir)
{
	static const uint8_t blank[] = {LINKS_AT - 1, OWNER_AT - 1, GROUP_AT - 1,
					SIZE_AT - 1,  TIME_AT - 1,  DIR_AT - 1};
	int64_t links, dir;
	bool good = line[LINE_END] == '\n';
	for (size_t i = 0; i < sizeof blank; i++)
		good &= line[blank[i]] == ' ';
	if (!good || !number_get(line + LINKS_AT, LINKS_N, &links) ||
	    !size_get(line + SIZE_AT, &ret->size) ||
	    !number_get(line + TIME_AT, TIME_N, &ret->time_s) ||
	    !number_get(line + DIR_AT, DIR_N, &dir) || dir < 0)
		return false;
	mode_get(line + MODE_AT, ret);
	ret->links = (int32_t)links;
	ret->owner = owner_get(line + OWNER_AT);
	ret->group = owner_get(line + GROUP_AT);
	*ret_dir = (uint64_t)dir;
	return true;
}

/* The number of the directory is left out: the same directory has others from time to time. The sum
 * over the files of a directory does not depend on their order. */
uint64_t names_file_hash(const char *data, struct str index)
{
	return hash_u64(crc32c(0, data, DIR_AT) + ((uint64_t)crc32c(0, index.p, index.n) << 32));
}

/* Escapes */

static const char escape_of[256] = {['\n'] = 'n', ['\r'] = 'r', ['\\'] = '\\'};

void names_escape(struct str name, struct buf *out)
{
	size_t from = 0; /* what stands for itself is added at one go */
	for (size_t i = 0; i < name.n; i++) {
		const char as = escape_of[(unsigned char)name.p[i]];
		if (!as)
			continue;
		buf_add(out, name.p + from, i - from);
		buf_add(out, (const char[]){'\\', as}, 2);
		from = i + 1;
	}
	buf_add_str(out, str_from(name, from));
}

/* A backslash before anything else stands for itself: then the line is not one of ours. */
struct str names_unescape(struct str line, struct arena *arena)
{
	size_t at = str_find_byte(line, '\\'), n = at;
	if (at == line.n)
		return line;
	char *to = arena_alloc(arena, line.n);
	memcpy(to, line.p, at);
	for (; at < line.n; at++) {
		char c = line.p[at];
		char next = c == '\\' && at + 1 < line.n ? line.p[at + 1] : 0;
		if (next == 'n' || next == 'r' || next == '\\') {
			c = (char)(next == 'n' ? '\n' : next == 'r' ? '\r' : '\\');
			at++;
		}
		to[n++] = c;
	}
	return (struct str){to, n};
}
