#include "url/url_internal.h"

/* What the standard calls percent-encode sets; each is part of the next but for the apostrophe,
 * which only queries escape, and the number sign, which ends them. */
enum {
	PATH = ESC_PATH | PATH_CARE,
	EVERYWHERE = ESC_FRAGMENT | ESC_QUERY | PATH | ESC_USER,
	LETTER = IN_SCHEME | STRICT_PLAIN,
	HEX = LETTER | HEX_DIGIT,
};

const uint16_t url_class[256] = {
	[0 ... 0x20] = EVERYWHERE,
	['!'] = STRICT_PLAIN,
	['"'] = EVERYWHERE,
	['#'] = ESC_QUERY | PATH | ESC_USER | ENDS_SEGMENT,
	['$'] = STRICT_PLAIN,
	['%'] = PATH_CARE,
	['&'] = STRICT_PLAIN,
	['\''] = ESC_QUERY | STRICT_PLAIN,
	['(' ... '*'] = STRICT_PLAIN,
	['+'] = IN_SCHEME | STRICT_PLAIN,
	[','] = STRICT_PLAIN,
	['-'] = IN_SCHEME | STRICT_PLAIN,
	['.'] = IN_SCHEME | STRICT_PLAIN | PATH_CARE,
	['/'] = ESC_USER | ENDS_SEGMENT | STRICT_PLAIN,
	['0' ... '9'] = HEX,
	[':'] = ESC_USER | STRICT_PLAIN,
	[';'] = ESC_USER | STRICT_PLAIN,
	['<'] = EVERYWHERE,
	['='] = ESC_USER | STRICT_PLAIN,
	['>'] = EVERYWHERE,
	['?'] = PATH | ESC_USER | ENDS_SEGMENT | STRICT_PLAIN,
	['@'] = ESC_USER | STRICT_PLAIN,
	['A' ... 'F'] = HEX,
	['G' ... 'Z'] = LETTER,
	['['] = ESC_USER,
	['\\'] = ESC_USER | ENDS_SEGMENT | PATH_CARE,
	[']'] = ESC_USER,
	['^'] = PATH | ESC_USER,
	['_'] = STRICT_PLAIN,
	['`'] = ESC_FRAGMENT | PATH | ESC_USER,
	['a' ... 'f'] = HEX,
	['g' ... 'z'] = LETTER,
	['{'] = PATH | ESC_USER,
	['|'] = ESC_USER,
	['}'] = PATH | ESC_USER,
	['~'] = STRICT_PLAIN,
	[0x7f ... 0xff] = EVERYWHERE,
};

/* Bytes that are not here are forbidden, escaped, not ASCII, or part of something longer (userinfo,
 * brackets, the port, the path). */
const uint8_t url_host_byte[256] = {
	['!'] = '!', ['"'] = '"', ['$'] = '$', ['&'] = '&', ['\''] = '\'', ['('] = '(', [')'] = ')',
	['*'] = '*', ['+'] = '+', [','] = ',', ['-'] = '-', ['.'] = '.',   [';'] = ';', ['='] = '=',
	['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4',   ['5'] = '5', ['6'] = '6',
	['7'] = '7', ['8'] = '8', ['9'] = '9', ['_'] = '_', ['`'] = '`',   ['{'] = '{', ['}'] = '}',
	['~'] = '~', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',   ['E'] = 'e', ['F'] = 'f',
	['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',   ['L'] = 'l', ['M'] = 'm',
	['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',   ['S'] = 's', ['T'] = 't',
	['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',   ['Z'] = 'z', ['a'] = 'a',
	['b'] = 'b', ['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f',   ['g'] = 'g', ['h'] = 'h',
	['i'] = 'i', ['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm',   ['n'] = 'n', ['o'] = 'o',
	['p'] = 'p', ['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't',   ['u'] = 'u', ['v'] = 'v',
	['w'] = 'w', ['x'] = 'x', ['y'] = 'y', ['z'] = 'z',
};

void url_put_escaped(struct url_out *o, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";
	char text[3] = {'%', digits[c >> 4], digits[c & 15]};
	url_put_str(o, (struct str){text, sizeof text});
}

void url_put_number(struct url_out *o, unsigned v)
{
	char text[16];
	size_t at = sizeof text;
	do
		text[--at] = (char)('0' + v % 10);
	while (v /= 10);
	url_put_str(o, (struct str){text + at, sizeof text - at});
}
