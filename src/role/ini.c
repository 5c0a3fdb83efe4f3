/* The syntax of the configuration file, and quoting that preserves every value. Error messages
 * have no file name: the caller knows it. */
#include "role/ini.h"

#include "base/ascii.h"

static bool is_comment(char c)
{
	return c == '#' || c == ';';
}

/* Cuts off a comment: at the beginning, or after a blank. */
static struct str without_comment(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (is_comment(s.p[i]) && (i == 0 || ascii_is_blank(s.p[i - 1])))
			return str_trim(str_head(s, i));
	return str_trim(s);
}

void ini_init(struct ini *it, struct str text, struct arena *arena)
{
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	*it = (struct ini){.rest = text, .arena = arena};
}

static bool has_control(struct str s, const char *allowed)
{
	for (size_t i = 0; i < s.n; i++)
		if (ascii_is_control(s.p[i]) && (s.p[i] == 0 || !strchr(allowed, s.p[i])))
			return true;
	return false;
}

bool ini_holds(struct str value)
{
	return value.n <= INI_VALUE_MAX && str_utf8(value) && !has_control(value, "\t\n");
}

static int check_line(struct str line, struct err *err)
{
	if (line.n > INI_LINE_MAX)
		return err_set(err, ERR_USAGE, "the line has %zu bytes; at most %d are allowed",
			       line.n, INI_LINE_MAX);
	if (!str_utf8(line))
		return err_set(err, ERR_USAGE, "the line is not valid UTF-8");
	if (has_control(line, "\t"))
		return err_set(err, ERR_USAGE, "the line has a control character");
	return 0;
}

static int take_section(struct str line, struct ini_item *ret, struct err *err)
{
	size_t end = str_find_byte(line, ']');
	if (end == line.n)
		return err_set(err, ERR_USAGE, "'[' without ']'");
	struct str name = str_trim(str_range(line.p + 1, line.p + end));
	if (name.n == 0)
		return err_set(err, ERR_USAGE, "a section without a name");
	if (without_comment(str_from(line, end + 1)).n)
		return err_set(err, ERR_USAGE, "something follows ']'");
	*ret = (struct ini_item){.is_section = true, .name = name};
	return 0;
}

/* s begins with the opening quote. */
static int take_quoted(struct ini *it, struct str s, struct str *ret, struct err *err)
{
	char *to = arena_alloc(it->arena, s.n), *start = to;
	size_t i = 1;
	for (; i < s.n && s.p[i] != '"'; i++) {
		char c = s.p[i];
		if (c == '\\') {
			c = ++i < s.n ? s.p[i] : 0;
			if (c != '"' && c != '\\' && c != 'n')
				return err_set(err, ERR_USAGE,
					       "in quotes, \\ goes before \", \\ or n only");
			c = c == 'n' ? '\n' : c;
		}
		*to++ = c;
	}
	if (i >= s.n)
		return err_set(err, ERR_USAGE, "the closing quote is missing");
	if (without_comment(str_from(s, i + 1)).n)
		return err_set(err, ERR_USAGE, "something follows the closing quote");
	*ret = str_range(start, to);
	return 0;
}

static int take_key(struct ini *it, struct str line, struct ini_item *ret, struct err *err)
{
	size_t equals = str_find_byte(line, '=');
	if (equals == line.n)
		return err_set(err, ERR_USAGE, "expected 'key = value' or '[section]'");
	struct ini_item item = {.name = str_trim(str_head(line, equals))};
	if (item.name.n == 0)
		return err_set(err, ERR_USAGE, "no key before '='");
	struct str value = str_trim(str_from(line, equals + 1));
	if (value.n && value.p[0] == '"') {
		if (take_quoted(it, value, &item.value, err) < 0)
			return -1;
	} else {
		item.value = without_comment(value);
	}
	*ret = item;
	return 0;
}

int ini_next(struct ini *it, struct ini_item *ret, struct err *err)
{
	struct str line;
	while (it->rest.n && str_cut(&it->rest, '\n', &line) == 0) {
		it->line++;
		if (str_ends(line, STR("\r")))
			line.n--;
		if (check_line(line, err) < 0)
			return -1;
		line = str_trim(line);
		if (line.n == 0 || is_comment(line.p[0]))
			continue;
		return line.p[0] == '[' ? take_section(line, ret, err)
					: take_key(it, line, ret, err);
	}
	return 1;
}

void ini_quote(struct str value, struct buf *out)
{
	if (str_eq(str_trim(value), value) && str_eq(without_comment(value), value) &&
	    str_find_byte(value, '\n') == value.n && (value.n == 0 || value.p[0] != '"')) {
		buf_add_str(out, value);
		return;
	}
	buf_add_byte(out, '"');
	for (size_t i = 0; i < value.n; i++) {
		char c = value.p[i];
		if (c == '"' || c == '\\' || c == '\n')
			buf_add_byte(out, '\\');
		buf_add_byte(out, c == '\n' ? 'n' : c);
	}
	buf_add_byte(out, '"');
}

void ini_put(const char *key, struct str value, struct buf *out)
{
	buf_printf(out, "%s =%s", key, value.n ? " " : "");
	ini_quote(value, out);
}
