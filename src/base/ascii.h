/* ASCII classes and cases: what <ctype.h> does, but for bytes of any sign and in no locale. */
#pragma once
#include "base/base.h"

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline bool ascii_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}
static inline bool ascii_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}
static inline bool ascii_is_letter(char c)
{
	return ascii_is_lower((char)(c | 0x20));
}
static inline bool ascii_is_alnum(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c);
}
static inline bool ascii_is_control(char c)
{
	return (c >= 0 && c < 0x20) || c == 0x7f;
}
static inline bool ascii_is_blank(char c)
{
	return c == ' ' || c == '\t';
}
static inline bool ascii_is_space(char c) /* line ends, too */
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}
static inline char ascii_lower(char c)
{
	return ascii_is_upper(c) ? (char)(c | 0x20) : c;
}
static inline char ascii_upper(char c)
{
	return ascii_is_lower(c) ? (char)(c & ~0x20) : c;
}
/* The value of a hexadecimal digit; -1: it is not one. */
static inline int ascii_hex(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* The byte that two hexadecimal digits stand for; -1: they are not two digits. */
static inline int ascii_hex_byte(const char digits[2])
{
	int high = ascii_hex(digits[0]), low = ascii_hex(digits[1]);
	return (high | low) < 0 ? -1 : high << 4 | low;
}
