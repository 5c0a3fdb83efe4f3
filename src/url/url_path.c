/* What servers make of a path beyond the rules: some undo escapes twice, take backslashes for
 * slashes, cut segments at a semicolon, or read overlong UTF-8. So a path is unescaped until
 * nothing changes, and looked at each time. One that is escaped more often than anybody undoes it
 * is taken for the worst: a kilobyte of %252525... would be looked at five hundred times. */
#include "base/ascii.h"
#include "url/url.h"

enum { UNESCAPES_MOST = 3 };

static bool is_separator(char c)
{
	return c == '/' || c == '\\';
}

/* Dots and blanks up to its end or a semicolon: file systems of Windows drop trailing ones. */
static bool segment_is_dots(struct str s)
{
	size_t dots = 0, i = 0;
	for (; i < s.n && (s.p[i] == '.' || s.p[i] == ' '); i++)
		dots += s.p[i] == '.';
	return dots > 0 && (i == s.n || s.p[i] == ';');
}

static bool has_dot_segment(struct str path)
{
	size_t from = 0;
	for (size_t i = 0; i <= path.n; i++) {
		if (i < path.n && !is_separator(path.p[i]))
			continue;
		if (segment_is_dots(str_from(str_head(path, i), from)))
			return true;
		from = i + 1;
	}
	return false;
}

/* ASCII that is written with more bytes than it needs. */
static bool has_overlong(struct str path)
{
	for (size_t i = 0; i + 1 < path.n; i++) {
		unsigned char a = (unsigned char)path.p[i], b = (unsigned char)path.p[i + 1];
		if (((a == 0xc0 || a == 0xc1) && b >= 0x80 && b < 0xc0) ||
		    (a == 0xe0 && b >= 0x80 && b < 0xa0) || (a == 0xf0 && b >= 0x80 && b < 0x90))
			return true;
	}
	return false;
}

/* In place; whether anything was undone. */
static bool unescape_once(char *p, size_t *n)
{
	size_t to = 0;
	for (size_t i = 0; i < *n; i++) {
		int byte = p[i] == '%' && i + 2 < *n ? ascii_hex_byte(p + i + 1) : -1;
		p[to++] = byte < 0 ? p[i] : (char)byte;
		i += byte < 0 ? 0 : 2;
	}
	bool changed = to != *n;
	*n = to;
	return changed;
}

bool url_path_leaves(struct str path)
{
	char p[URL_MAX];
	size_t n = path.n;
	if (n > sizeof p)
		return true;
	memcpy(p, path.p, n);
	for (unsigned undone = 0; undone <= UNESCAPES_MOST; undone++) {
		struct str now = {p, n};
		if (has_dot_segment(now) || has_overlong(now))
			return true;
		if (!unescape_once(p, &n))
			return false;
	}
	return true;
}

static size_t count_separators(struct str path)
{
	size_t n = 0;
	for (size_t i = 0; i < path.n; i++)
		n += is_separator(path.p[i]);
	return n;
}

bool url_path_hides_slash(struct str path)
{
	char p[URL_MAX];
	size_t n = path.n, shown = count_separators(path);
	if (n > sizeof p)
		return true;
	memcpy(p, path.p, n);
	for (unsigned undone = 0; undone <= UNESCAPES_MOST; undone++) {
		if (count_separators((struct str){p, n}) > shown)
			return true;
		if (!unescape_once(p, &n))
			return false;
	}
	return true;
}
