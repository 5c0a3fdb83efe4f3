/* robots.txt, slowly: the file is read anew for every question, line by line, and patterns are
 * compared by trying all ways. Written to be plainly right; the fast one is compared with it.
 * Knows no bound on files. */
#pragma once
#include "fetch/robots.h"

static inline bool slow_in(char c, const char *set)
{
	return c && strchr(set, c);
}

static inline bool slow_unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       slow_in((char)c, "0123456789-._~");
}

static inline struct str slow_trim(struct str s)
{
	for (; s.n && slow_in(s.p[0], " \t"); s.p++)
		s.n--;
	for (; s.n && slow_in(s.p[s.n - 1], " \t");)
		s.n--;
	return s;
}

/* What %XX at s stands for; -1: it is none. */
static inline int slow_escape(struct str s)
{
	static const char digits[] = "0123456789abcdef0123456789ABCDEF";
	if (s.n < 3 || s.p[0] != '%' || !slow_in(s.p[1], digits) || !slow_in(s.p[2], digits))
		return -1;
	return (int)((strchr(digits, s.p[1]) - digits) % 16 * 16 +
		     (strchr(digits, s.p[2]) - digits) % 16);
}

/* form 'p': a pattern; 'u': a URL as it is; 'e', 'd': delimiters of its query encoded, decoded. */
static inline void slow_canon(struct str in, char form, struct buf *out)
{
	bool query = false;
	for (size_t i = 0; i < in.n; i++) {
		int escape = slow_escape(str_from(in, i));
		unsigned char c = (unsigned char)(escape >= 0 ? escape : in.p[i]);
		bool encode = escape >= 0;
		if (query && slow_in((char)c, ":/?@[]") && form != 'u')
			encode = form == 'e';
		if (slow_unreserved(c))
			encode = false;
		else if (!slow_in((char)c, "!&'()+,;=/:?@[]*$"))
			encode = true;
		else if (slow_in((char)c, "*$") && form != 'p')
			encode = true;
		else if (c == '$' && i + 1 < in.n)
			encode = true;
		if (encode)
			buf_printf(out, "%%%02X", c);
		else
			buf_add_byte(out, (char)c);
		if (form != 'p' && in.p[i] == '?')
			query = true;
		i += escape >= 0 ? 2 : 0;
	}
}

/* Whether the pattern from i on fits the path from k on. now[k] is known from after[...], which
 * stands for the pattern from i + 1 on. */
static inline bool slow_fits(struct str pattern, struct str path)
{
	bool *after = mem_alloc(path.n + 1), *now = mem_alloc(path.n + 1);
	memset(after, true, path.n + 1);
	for (size_t i = pattern.n; i-- > 0;) {
		for (size_t k = path.n + 1; k-- > 0;) {
			if (pattern.p[i] == '*')
				now[k] = after[k] || (k < path.n && now[k + 1]);
			else if (pattern.p[i] == '$' && i + 1 == pattern.n)
				now[k] = k == path.n;
			else
				now[k] = k < path.n && path.p[k] == pattern.p[i] && after[k + 1];
		}
		bool *swap = after;
		after = now;
		now = swap;
	}
	bool fits = after[0];
	mem_free(&after);
	mem_free(&now);
	return fits;
}

/* 'u', 'a' or 'd' for keys that matter; 0: none does. */
static inline char slow_key(struct str key)
{
	static const char *const names[] = {"user-agent", "useragent", "user agent", "allow",
					    "disallow",   "dissallow", "dissalow",   "disalow",
					    "diasllow",   "disallaw"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t n = strlen(names[i]);
		struct str more = str_from(key, n);
		if (str_eq_nocase(str_head(key, n), str_of(names[i])) &&
		    str_find_byte(more, ' ') == more.n && str_find_byte(more, '\t') == more.n)
			return names[i][0];
	}
	return 0;
}

/* The next line, cut in key and value. */
static inline bool slow_line(struct str *rest, char *ret_key, struct str *ret_value)
{
	if (rest->n == 0)
		return false;
	struct str line = {rest->p, 0};
	while (line.n < rest->n && !slow_in(rest->p[line.n], "\r\n"))
		line.n++;
	size_t end = str_starts(str_from(*rest, line.n), STR("\r\n")) ? 2 : 1;
	*rest = str_from(*rest, line.n + end);
	line = str_head(line, ROBOTS_LINE_MAX);
	line = slow_trim(str_head(line, str_find_byte(line, '#')));
	size_t n = str_find_byte(line, ':');
	*ret_value = slow_trim(str_from(line, n + 1));
	if (n < line.n && (*ret_key = slow_key(slow_trim(str_head(line, n)))))
		return true;
	n = MIN(str_find_byte(line, ' '), str_find_byte(line, '\t'));
	*ret_value = slow_trim(str_from(line, n));
	bool two = ret_value->n && str_find_byte(*ret_value, ' ') == ret_value->n &&
		   str_find_byte(*ret_value, '\t') == ret_value->n;
	*ret_key = two ? slow_key(str_head(line, n)) : 0;
	return true;
}

static inline struct str slow_token(struct str s)
{
	size_t n = 0;
	while (n < s.n &&
	       slow_in(s.p[n], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_-0123456789"))
		n++;
	return str_head(s, n);
}

static inline bool slow_is_us(struct str value, struct str agent)
{
	struct str token = slow_token(value);
	return token.n && str_eq_nocase(token, slow_token(agent));
}

static inline bool slow_is_all(struct str value)
{
	return str_is(value, "*") || str_starts(value, STR("* ")) || str_starts(value, STR("*\t"));
}

static inline struct str slow_start(struct str file)
{
	size_t n = 3;
	while (n && !str_starts(file, str_head(STR("\xef\xbb\xbf"), n)))
		n--;
	return str_from(file, n);
}

static inline bool slow_names(struct str file, struct str agent)
{
	struct str rest = slow_start(file), value;
	char key;
	while (slow_line(&rest, &key, &value))
		if (key == 'u' && slow_is_us(value, agent))
			return true;
	return false;
}

static inline bool slow_matches(struct str pattern, struct str url)
{
	for (const char *form = "ued"; *form; form++) {
		CLEANUP(buf_free) struct buf path = BUF_INIT((size_t)1 << 24);
		slow_canon(url, *form, &path);
		if (slow_fits(pattern, buf_str(&path)))
			return true;
	}
	return false;
}

/* The file's answer for a path and query that begins with '/'. */
static inline struct robots_verdict slow_answer(struct str file, struct str agent, struct str url)
{
	struct robots_verdict best = {.allowed = true};
	size_t longest = 0;
	bool named = slow_names(file, agent), ours = false, in_rules = true;
	struct str rest = slow_start(file), value;
	char key;
	for (uint32_t line = 1; slow_line(&rest, &key, &value); line++) {
		bool allow = key == 'a';
		if (key == 'u') {
			ours = (ours && !in_rules) ||
			       (named ? slow_is_us(value, agent) : slow_is_all(value));
			in_rules = false;
		}
		if (!allow && key != 'd')
			continue;
		in_rules = true;
		if (!ours || value.n == 0 || !slow_in(value.p[0], "/*"))
			continue;
		CLEANUP(buf_free) struct buf pattern = BUF_INIT((size_t)1 << 24);
		slow_canon(value, 'p', &pattern);
		bool wins = pattern.n > longest || (pattern.n == longest && allow && !best.allowed);
		if (wins && slow_matches(buf_str(&pattern), url)) {
			best = (struct robots_verdict){allow, line};
			longest = pattern.n;
		}
	}
	return best;
}

static inline struct robots_verdict slow_verdict(struct str file, struct str agent, struct str path)
{
	CLEANUP(buf_free) struct buf url = BUF_INIT((size_t)1 << 24);
	CLEANUP(buf_free) struct buf plain = BUF_INIT((size_t)1 << 24);
	path = str_head(path, str_find_byte(path, '#'));
	if (path.n == 0 || path.p[0] != '/')
		buf_add_byte(&url, '/');
	buf_add_str(&url, path);
	slow_canon(buf_str(&url), 'u', &plain);
	if (str_is(buf_str(&plain), "/robots.txt"))
		return (struct robots_verdict){.allowed = true};
	return slow_answer(file, agent, buf_str(&url));
}

/* Flags of a compiled form: the file was longer than ROBOTS_FILE_MAX; there was a group for us. */
static inline bool form_was_cut(struct str compiled)
{
	return compiled.n > 1 && compiled.p[1] & 1;
}
static inline bool form_names_us(struct str compiled)
{
	return compiled.n > 1 && compiled.p[1] & 2;
}
