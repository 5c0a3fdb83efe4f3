/* Slices. Letters are ASCII here; words of other languages are the index's business. */
#include "base/str.h"

#include "base/ascii.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int str_cmp(struct str a, struct str b)
{
	size_t n = MIN(a.n, b.n);
	int r = n ? memcmp(a.p, b.p, n) : 0;
	return r ? r : (a.n > b.n) - (a.n < b.n);
}

bool str_eq_nocase(struct str a, struct str b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (ascii_lower(a.p[i]) != ascii_lower(b.p[i]))
			return false;
	return true;
}

bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && str_eq(str_head(s, prefix.n), prefix);
}

bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && str_eq(str_from(s, s.n - suffix.n), suffix);
}

struct str str_trim(struct str s)
{
	while (s.n && is_blank(s.p[0]))
		s = str_from(s, 1);
	while (s.n && is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

struct str str_trim_field(struct str s)
{
	while (s.n && ascii_is_blank(s.p[0]))
		s = str_from(s, 1);
	while (s.n && ascii_is_blank(s.p[s.n - 1]))
		s.n--;
	return s;
}

/* Whether one of these bytes is below 32 or 127. */
static bool has_control_word(uint64_t word)
{
	const uint64_t ones = UINT64_MAX / 255, high = ones << 7;
	uint64_t low = (word - ones * 32) & ~word, del = word ^ ones * 127;
	return (low | ((del - ones) & ~del)) & high;
}

bool str_has_control(struct str s)
{
	size_t i = 0;
	for (uint64_t word; i + sizeof word <= s.n; i += sizeof word) {
		memcpy(&word, s.p + i, sizeof word);
		if (has_control_word(word))
			break; /* it may be a tab */
	}
	for (; i < s.n; i++)
		if (ascii_is_control(s.p[i]) && s.p[i] != '\t')
			return true;
	return false;
}

size_t str_index(struct str s, const char *const *words, size_t n)
{
	size_t i = 0;
	while (i < n && !str_is(s, words[i]))
		i++;
	return i;
}

size_t str_index_nocase(struct str s, const char *const *words, size_t n)
{
	size_t i = 0;
	while (i < n && !str_eq_nocase(s, str_of(words[i])))
		i++;
	return i;
}

struct str str_unescape(struct str s, char *to)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++) {
		int byte = s.p[i] == '%' && s.n - i > 2 ? ascii_hex_byte(s.p + i + 1) : -1;
		to[n++] = byte < 0 ? s.p[i] : (char)byte;
		i += byte < 0 ? 0 : 2;
	}
	return (struct str){to, n};
}

struct str str_lower(struct str s, char *to)
{
	for (size_t i = 0; i < s.n; i++)
		to[i] = ascii_lower(s.p[i]);
	return (struct str){to, s.n};
}

char *str_dup(struct str s)
{
	char *copy = mem_alloc(s.n + 1);
	if (s.n)
		memcpy(copy, s.p, s.n);
	return copy;
}

size_t str_find_byte(struct str s, char c)
{
	const char *hit = s.n ? memchr(s.p, c, s.n) : NULL;
	return hit ? (size_t)(hit - s.p) : s.n;
}

size_t str_find(struct str s, struct str needle)
{
	if (needle.n == 0)
		return 0;
	const char *hit = s.n ? memmem(s.p, s.n, needle.p, needle.n) : NULL;
	return hit ? (size_t)(hit - s.p) : s.n;
}

size_t str_after_last(struct str s, char c)
{
	const char *hit = s.n ? memrchr(s.p, c, s.n) : NULL;
	return hit ? (size_t)(hit + 1 - s.p) : 0;
}

struct str str_word(struct str *rest)
{
	size_t n = 0;
	*rest = str_trim(*rest);
	while (n < rest->n && !ascii_is_space(rest->p[n]))
		n++;
	struct str word = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return word;
}

int str_cut(struct str *rest, char separator, struct str *ret)
{
	if (!rest->p)
		return 1;
	size_t at = str_find_byte(*rest, separator);
	*ret = str_head(*rest, at);
	*rest = at < rest->n ? str_from(*rest, at + 1) : (struct str){0};
	return 0;
}

bool str_u64(struct str s, uint64_t *ret)
{
	enum { NO_OVERFLOW = 19 }; /* digits of which any number fits */
	uint64_t v = 0;
	size_t i = 0;
	if (s.n == 0)
		return false;
	for (; i < s.n && i < NO_OVERFLOW && ascii_is_digit(s.p[i]); i++)
		v = v * 10 + (uint64_t)(s.p[i] - '0');
	for (; i < s.n; i++) {
		if (!ascii_is_digit(s.p[i]) || __builtin_mul_overflow(v, 10u, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
			return false;
	}
	*ret = v;
	return true;
}

size_t str_utf8_char(struct str s)
{
	const unsigned char *p = (const unsigned char *)s.p;
	unsigned char lead = s.n ? p[0] : 0xff;
	if (lead < 0x80)
		return 1;
	size_t len = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
	if (lead < 0xc2 || lead > 0xf4 || s.n < len)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((lead == 0xe0 && p[1] < 0xa0) || (lead == 0xed && p[1] > 0x9f) ||
	    (lead == 0xf0 && p[1] < 0x90) || (lead == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

bool str_utf8(struct str s)
{
	while (s.n) {
		size_t n = str_utf8_char(s);
		if (n == 0)
			return false;
		s.p += n;
		s.n -= n;
	}
	return true;
}

size_t str_utf8_count(struct str s)
{
	size_t n = 0;
	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

struct str str_utf8_head(struct str s, size_t n)
{
	if (n >= s.n)
		return s;
	for (size_t back = 0; back < 4 && back <= n; back++)
		if (((unsigned char)s.p[n - back] & 0xc0) != 0x80)
			return str_head(s, n - back);
	return str_head(s, n);
}

size_t str_decimal(char *to, uint64_t v)
{
	size_t n = 1;
	for (uint64_t most = 10; n < STR_DECIMAL_MAX && v >= most; n++)
		most *= 10; /* past the last power of ten it is 20 digits in any case */
	for (size_t i = n; i-- > 0; v /= 10)
		to[i] = (char)('0' + v % 10);
	return n;
}
