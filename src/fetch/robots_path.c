#include "base/ascii.h"
#include "fetch/robots_form.h"

enum class {
	ENCODED,   /* always percent-encoded */
	PLAIN,     /* unreserved: never */
	RESERVED,  /* as it was written */
	DELIMITER, /* reserved, but in a query both forms are the same */
	SPECIAL,   /* `*` and `$` */
};

static const uint8_t class_of[256] = {
	['A' ... 'Z'] = PLAIN, ['a' ... 'z'] = PLAIN, ['0' ... '9'] = PLAIN, ['-'] = PLAIN,
	['.'] = PLAIN,         ['_'] = PLAIN,         ['~'] = PLAIN,         ['!'] = RESERVED,
	['&'] = RESERVED,      ['\''] = RESERVED,     ['('] = RESERVED,      [')'] = RESERVED,
	['+'] = RESERVED,      [','] = RESERVED,      [';'] = RESERVED,      ['='] = RESERVED,
	['/'] = DELIMITER,     [':'] = DELIMITER,     ['?'] = DELIMITER,     ['@'] = DELIMITER,
	['['] = DELIMITER,     [']'] = DELIMITER,     ['*'] = SPECIAL,       ['$'] = SPECIAL,
};

/* An octet, and how it was written. */
struct octet {
	unsigned char c;
	bool encoded, last;
};

static struct octet octet_take(struct str in, size_t *at)
{
	size_t i = *at;
	struct octet o = {.c = (unsigned char)in.p[i]};
	if (o.c == '%' && in.n - i > 2) {
		int high = ascii_hex(in.p[i + 1]), low = ascii_hex(in.p[i + 2]);
		if (high >= 0 && low >= 0) {
			o.c = (unsigned char)(high << 4 | low);
			o.encoded = true;
			i += 2;
		}
	}
	*at = i + 1;
	o.last = *at == in.n;
	return o;
}

static bool encode_in_query(struct octet o, enum robots_kind kind, struct robots_path *path)
{
	if (o.encoded)
		path->encoded = true;
	else
		path->plain = true;
	return kind == ROBOTS_URL ? o.encoded : kind == ROBOTS_URL_ENCODED;
}

static bool octet_is_encoded(struct octet o, enum robots_kind kind, bool query,
			     struct robots_path *path)
{
	switch ((enum class)class_of[o.c]) {
	case PLAIN:
		return false;
	case RESERVED:
		return o.encoded;
	case DELIMITER:
		return query ? encode_in_query(o, kind, path) : o.encoded;
	case SPECIAL:
		return kind != ROBOTS_PATTERN || o.encoded || (o.c == '$' && !o.last);
	case ENCODED:
		break;
	}
	return true;
}

static void octet_put(struct robots_path *path, unsigned char c, bool encoded)
{
	static const char digits[] = "0123456789ABCDEF";
	if (!encoded) {
		path->p[path->n++] = (char)c;
		return;
	}
	path->p[path->n++] = '%';
	path->p[path->n++] = digits[c >> 4];
	path->p[path->n++] = digits[c & 15];
}

void robots_canon(struct str in, enum robots_kind kind, struct robots_path *ret)
{
	struct robots_path path = {.p = ret->p, .cap = ret->cap};
	bool query = false;
	if (kind != ROBOTS_PATTERN && !str_starts(in, STR("/")))
		path.p[path.n++] = '/';
	for (size_t i = 0; i < in.n;) {
		if (path.cap - path.n < 3) {
			path.cut = true;
			break;
		}
		struct octet o = octet_take(in, &i);
		octet_put(&path, o.c, octet_is_encoded(o, kind, query, &path));
		query = query || (o.c == '?' && !o.encoded && kind != ROBOTS_PATTERN);
	}
	*ret = path;
}

uint64_t robots_mask(struct str canonical)
{
	uint64_t mask = 0;
	for (size_t i = 0; i < canonical.n; i++)
		if (canonical.p[i] != '*' && canonical.p[i] != '$')
			mask |= (uint64_t)1 << (canonical.p[i] & 63);
	return mask;
}

size_t robots_prefix(struct str pattern)
{
	size_t star = str_find_byte(pattern, '*');
	return star == pattern.n && str_ends(pattern, STR("$")) ? pattern.n - 1 : star;
}
