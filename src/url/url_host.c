/* Hosts: names by way of libidn2, addresses in all the forms that browsers take, and registrable
 * domains by libpsl.
 *
 * A name that is ASCII and has no "xn--" label is only made lower case. All others go through
 * libidn2 (UTS 46, non-transitional). It keeps to IDNA 2008 where the standard does not, and
 * refuses hyphens at either end of a label and in its third and fourth place, labels of more than
 * 63 and names of more than 255 bytes, and punctuation in labels that are not ASCII. Symbols
 * ("☕.example"), which it refuses too, are taken as the standard wants, but not next to
 * what is_touchy() names.
 *
 * libidn2 brings two megabytes of tables along, and few hosts need it: it is loaded when the first
 * one does; without it such hosts are refused. libpsl, which loads it too, is loaded with its list
 * when the first question comes. */
#include "base/ascii.h"
#include "base/library.h"
#include "url/url_inner.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>

enum { HOST_MAX = 1024 }; /* of a host that is not plain, with its escapes resolved */

/* From idn2.h, whose package a build need not have. */
enum {
	IDN2_NFC_INPUT = 1,
	IDN2_TRANSITIONAL = 4,
	IDN2_NONTRANSITIONAL = 8,
	IDN2_DISALLOWED = -304,
};

/* Set once, by the first caller. */
static struct {
	pthread_once_t once;
	int (*to_ascii)(const char *name, char **ret, int flags);
	void (*free)(void *p);
} idn2 = {.once = PTHREAD_ONCE_INIT};

static void idn2_load(void)
{
	const struct library_function functions[] = {{"idn2_to_ascii_8z", &idn2.to_ascii},
						     {"idn2_free", &idn2.free}};
	struct err ignored;
	(void)library_load("libidn2.so.0", "such hosts need the package libidn2-0", functions,
			   ARRAY_LEN(functions), &ignored);
}

/* The next character of valid UTF-8 that ends in NUL. */
static uint32_t utf8_next(const char **p)
{
	uint32_t c = (unsigned char)*(*p)++;
	if (c >= 0xc0)
		c &= c >= 0xf0 ? 7 : c >= 0xe0 ? 15 : 31;
	while (((unsigned char)**p & 0xc0) == 0x80)
		c = c << 6 | ((unsigned char)*(*p)++ & 63);
	return c;
}

/* What transitional processing maps to something else (ß, ς, ẞ, the joiners), or would have to
 * check and does not: what is written from right to left. */
static bool is_touchy(uint32_t c)
{
	static const uint32_t range[][2] = {
		{0xdf, 0xdf},     {0x3c2, 0x3c2},     {0x590, 0x8ff},
		{0x1e9e, 0x1e9e}, {0x200c, 0x200f},   {0xfb1d, 0xfdff},
		{0xfe70, 0xfeff}, {0x10800, 0x10fff}, {0x1e800, 0x1efff},
	};
	for (size_t i = 0; i < ARRAY_LEN(range); i++)
		if (c >= range[i][0] && c <= range[i][1])
			return true;
	return false;
}

static bool has_touchy(const char *name)
{
	while (*name)
		if (is_touchy(utf8_next(&name)))
			return true;
	return false;
}

/* 0: *ret is in libidn2's memory. */
static int idn2_to_ascii(const char *name, char **ret)
{
	ENSURE(pthread_once(&idn2.once, idn2_load) == 0);
	if (!idn2.to_ascii)
		return -URL_SYNTAX;
	int rc = idn2.to_ascii(name, ret, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);
	if (rc == IDN2_DISALLOWED && !has_touchy(name))
		rc = idn2.to_ascii(name, ret, IDN2_NFC_INPUT | IDN2_TRANSITIONAL);
	return rc == 0 ? 0 : -URL_SYNTAX;
}

/* One part of an IPv4 address; saturates. false: not a number. */
static bool ipv4_number(struct str s, uint64_t *ret)
{
	unsigned radix = 10;
	if (s.n >= 2 && s.p[0] == '0') {
		radix = s.p[1] == 'x' ? 16 : 8;
		s = str_from(s, radix == 16 ? 2 : 1);
	} else if (s.n == 0) {
		return false;
	}
	uint64_t v = 0;
	for (size_t i = 0; i < s.n; i++) {
		int digit = ascii_hex(s.p[i]);
		if (digit < 0 || (unsigned)digit >= radix)
			return false;
		v = MIN(v * radix + (unsigned)digit, UINT64_C(1) << 40);
	}
	*ret = v;
	return true;
}

static struct str last_label(struct str host)
{
	const char *dot = host.n ? memrchr(host.p, '.', host.n) : NULL;
	return dot ? str_range(dot + 1, host.p + host.n) : host;
}

static bool all_digits(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return s.n > 0;
}

int url_ipv4(struct str host, uint32_t *ret)
{
	uint64_t part, sum = 0;
	if (host.n > 1 && host.p[host.n - 1] == '.')
		host.n--;
	struct str last = last_label(host);
	if (!all_digits(last) && !ipv4_number(last, &part))
		return 0;
	struct str label;
	for (unsigned n = 0; str_cut(&host, '.', &label) == 0; n++) {
		bool is_last = host.p == NULL;
		if (n == 4 || !ipv4_number(label, &part))
			return -URL_SYNTAX;
		unsigned bits = is_last ? 32 - 8 * n : 8; /* the last part fills what is left */
		if (part >> bits)
			return -URL_SYNTAX;
		sum |= is_last ? part : part << (24 - 8 * n);
	}
	*ret = (uint32_t)sum;
	return 1;
}

static void ipv4_print(struct url_out *o, uint32_t v)
{
	for (unsigned shift = 32; shift;) {
		url_put_number(o, v >> (shift -= 8) & 255);
		if (shift)
			url_put(o, '.');
	}
}

/* The first of the longest runs of zero pieces, two at least: where "::" goes. */
static size_t ipv6_gap(const uint16_t piece[8], size_t *ret_n)
{
	size_t best = 8, best_n = 1;
	for (size_t i = 0, n = 0; i < 8; i++) {
		n = piece[i] == 0 ? n + 1 : 0;
		if (n > best_n) {
			best = i + 1 - n;
			best_n = n;
		}
	}
	*ret_n = best_n;
	return best;
}

static void ipv6_print(struct url_out *o, const uint16_t piece[8])
{
	size_t gap_n, gap = ipv6_gap(piece, &gap_n);
	url_put(o, '[');
	for (size_t i = 0; i < 8; i++) {
		if (i == gap) {
			url_put_str(o, STR("::"));
			i += gap_n - 1;
			continue;
		}
		if (i && i != gap + gap_n)
			url_put(o, ':');
		for (int shift = 12; shift >= 0; shift -= 4)
			if (shift == 0 || piece[i] >> shift)
				url_put(o, "0123456789abcdef"[piece[i] >> shift & 15]);
	}
	url_put(o, ']');
}

static int put_ipv6_host(struct url_out *o, struct str host)
{
	uint16_t piece[8];
	char text[INET6_ADDRSTRLEN];
	if (host.n < 2 || host.n >= sizeof text + 2 || host.p[host.n - 1] != ']')
		return -URL_SYNTAX;
	memcpy(text, host.p + 1, host.n - 2);
	text[host.n - 2] = 0;
	if (strlen(text) != host.n - 2 || inet_pton(AF_INET6, text, piece) != 1)
		return -URL_SYNTAX;
	for (size_t i = 0; i < 8; i++)
		piece[i] = ntohs(piece[i]);
	ipv6_print(o, piece);
	return 0;
}

/* Resolves escapes; also says whether it takes libidn2. Ends in NUL. */
static int host_bytes(struct str host, char ret[HOST_MAX + 1], size_t *ret_n, bool *ret_idn)
{
	size_t n = 0;
	bool idn = false;
	for (size_t i = 0; i < host.n; i++) {
		char c = host.p[i];
		int escaped = c == '%' && host.n - i > 2 ? ascii_hex_byte(host.p + i + 1) : -1;
		if (escaped >= 0) {
			c = (char)escaped;
			i += 2;
		}
		if (n == HOST_MAX)
			return -URL_TOO_LONG;
		if (c == 0)
			return -URL_INVALID_CHAR;
		ret[n++] = c;
		idn |= (unsigned char)c >= 0x80;
		idn |= n >= 4 && (n == 4 || ret[n - 5] == '.') &&
		       str_eq_nocase((struct str){ret + n - 4, 4}, STR("xn--"));
	}
	ret[n] = 0;
	*ret_n = n;
	*ret_idn = idn;
	return 0;
}

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

/* A name in ASCII: lower case, no forbidden byte, and perhaps an IPv4 address after all. */
static int put_name(struct url_out *o, struct str name, enum url_host_kind *ret)
{
	char *from = o->p;
	uint32_t address;
	if (name.n == 0)
		return -URL_SYNTAX;
	for (size_t i = 0; i < name.n; i++) {
		uint8_t c = url_host_byte[(unsigned char)name.p[i]];
		if (c == 0)
			return -URL_INVALID_CHAR;
		url_put(o, (char)c);
	}
	if (o->over)
		return -URL_TOO_LONG;
	int rc = url_ipv4(str_range(from, o->p), &address);
	if (rc < 0)
		return rc;
	*ret = rc ? URL_IPV4 : URL_NAME;
	if (rc) {
		o->p = from;
		ipv4_print(o, address);
	}
	return 0;
}

int url_put_host(struct url_out *o, struct str host, enum url_host_kind *ret)
{
	char bytes[HOST_MAX + 1], *ascii;
	size_t n;
	bool idn;
	if (host.n && host.p[0] == '[') {
		*ret = URL_IPV6;
		return put_ipv6_host(o, host);
	}
	int rc = host_bytes(host, bytes, &n, &idn);
	if (rc < 0 || !idn)
		return rc < 0 ? rc : put_name(o, (struct str){bytes, n}, ret);
	if (!str_utf8((struct str){bytes, n}))
		return -URL_INVALID_CHAR;
	rc = idn2_to_ascii(bytes, &ascii);
	if (rc < 0)
		return rc;
	rc = put_name(o, str_of(ascii), ret);
	idn2.free(ascii);
	return rc;
}

enum { NAME_MAX_BYTES = 255 }; /* of a name in DNS */

/* Set once, by the first caller. From libpsl.h, whose package a build need not have. */
static struct {
	pthread_once_t once;
	void *list;
	const char *(*registrable)(const void *list, const char *name);
} psl = {.once = PTHREAD_ONCE_INIT};

/* The system's list where it is newer than the one in the library. */
static void psl_load(void)
{
	void *(*latest)(const char *file);
	const struct library_function functions[] = {{"psl_latest", &latest},
						     {"psl_registrable_domain", &psl.registrable}};
	struct err ignored;
	if (library_load("libpsl.so.5", "domains need the package libpsl5", functions,
			 ARRAY_LEN(functions), &ignored) == 0)
		psl.list = latest(NULL);
}

static bool is_address_text(struct str host)
{
	return host.p[0] == '[' || ascii_is_digit(host.p[host.n - 1]);
}

int url_domain(struct str host, struct str *ret)
{
	char name[NAME_MAX_BYTES + 1];
	host = url_host_bare(host);
	if (host.n == 0 || host.n >= sizeof name || is_address_text(host))
		return 1;
	ENSURE(pthread_once(&psl.once, psl_load) == 0);
	memcpy(name, host.p, host.n);
	name[host.n] = 0;
	const char *domain = psl.list ? psl.registrable(psl.list, name) : NULL;
	if (!domain)
		return 1;
	*ret = str_from(host, host.n - strlen(domain));
	return 0;
}

bool url_same_domain(struct str a, struct str b)
{
	struct str domain_a, domain_b;
	a = url_host_bare(a);
	b = url_host_bare(b);
	return str_eq(a, b) || (url_domain(a, &domain_a) == 0 && url_domain(b, &domain_b) == 0 &&
				str_eq(domain_a, domain_b));
}
