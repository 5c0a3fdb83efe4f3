/* Which charset a document has: the labels of the list, whose word counts, and uchardet's guess
 * where nobody says anything. What the document says of itself is in charset_prescan.c, how it is
 * then decoded in charset_decode.c. */
#include "base/library.h"
#include "extract/charset_inner.h"
#include "extract/html_tokens_inner.h"

const char *charset_source_name(enum charset_source s)
{
	static const char *const names[] = {
		[CHARSET_BY_BOM] = "bom",           [CHARSET_BY_HEADER] = "header",
		[CHARSET_BY_DOCUMENT] = "document", [CHARSET_BY_HINT] = "hint",
		[CHARSET_BY_BYTES] = "bytes",       [CHARSET_BY_DEFAULT] = "default",
	};
	return names[s];
}

/* The encodings of the web and the labels they go by: https://encoding.spec.whatwg.org/. */

const struct charset_def charset_defs[CHARSET_DEFS] = {
	{"utf-8", CHARSET_UTF8, INDEX_NONE,
	 "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"},
	{"windows-1252", CHARSET_SINGLE, INDEX_WINDOWS_1252,
	 "iso-8859-1 latin1 us-ascii ascii ansi_x3.4-1968 cp1252 cp819 csisolatin1 ibm819 "
	 "iso-ir-100 iso8859-1 iso88591 "
	 "iso_8859-1 iso_8859-1:1987 l1 x-cp1252"},
	{"ibm866", CHARSET_SINGLE, INDEX_IBM866, "866 cp866 csibm866"},
	{"iso-8859-2", CHARSET_SINGLE, INDEX_ISO_8859_2,
	 "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"},
	{"iso-8859-3", CHARSET_SINGLE, INDEX_ISO_8859_3,
	 "csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"},
	{"iso-8859-4", CHARSET_SINGLE, INDEX_ISO_8859_4,
	 "csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"},
	{"iso-8859-5", CHARSET_SINGLE, INDEX_ISO_8859_5,
	 "csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"},
	{"iso-8859-6", CHARSET_SINGLE, INDEX_ISO_8859_6,
	 "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e "
	 "iso-8859-6-i iso-ir-127 iso8859-6 "
	 "iso88596 iso_8859-6 iso_8859-6:1987"},
	{"iso-8859-7", CHARSET_SINGLE, INDEX_ISO_8859_7,
	 "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
	 "iso_8859-7:1987 sun_eu_greek"},
	{"iso-8859-8", CHARSET_SINGLE, INDEX_ISO_8859_8,
	 "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
	 "iso_8859-8 iso_8859-8:1988 visual"},
	{"iso-8859-8-i", CHARSET_SINGLE, INDEX_ISO_8859_8, "csiso88598i logical"},
	{"iso-8859-10", CHARSET_SINGLE, INDEX_ISO_8859_10,
	 "csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6"},
	{"iso-8859-13", CHARSET_SINGLE, INDEX_ISO_8859_13, "iso8859-13 iso885913"},
	{"iso-8859-14", CHARSET_SINGLE, INDEX_ISO_8859_14, "iso8859-14 iso885914"},
	{"iso-8859-15", CHARSET_SINGLE, INDEX_ISO_8859_15,
	 "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9"},
	{"iso-8859-16", CHARSET_SINGLE, INDEX_ISO_8859_16, ""},
	{"koi8-r", CHARSET_SINGLE, INDEX_KOI8_R, "cskoi8r koi koi8 koi8_r"},
	{"koi8-u", CHARSET_SINGLE, INDEX_KOI8_U, "koi8-ru"},
	{"macintosh", CHARSET_SINGLE, INDEX_MACINTOSH, "csmacintosh mac x-mac-roman"},
	{"windows-874", CHARSET_SINGLE, INDEX_WINDOWS_874,
	 "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620"},
	{"windows-1250", CHARSET_SINGLE, INDEX_WINDOWS_1250, "cp1250 x-cp1250"},
	{"windows-1251", CHARSET_SINGLE, INDEX_WINDOWS_1251, "cp1251 x-cp1251"},
	{"windows-1253", CHARSET_SINGLE, INDEX_WINDOWS_1253, "cp1253 x-cp1253"},
	{"windows-1254", CHARSET_SINGLE, INDEX_WINDOWS_1254,
	 "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 "
	 "l5 latin5 x-cp1254"},
	{"windows-1255", CHARSET_SINGLE, INDEX_WINDOWS_1255, "cp1255 x-cp1255"},
	{"windows-1256", CHARSET_SINGLE, INDEX_WINDOWS_1256, "cp1256 x-cp1256"},
	{"windows-1257", CHARSET_SINGLE, INDEX_WINDOWS_1257, "cp1257 x-cp1257"},
	{"windows-1258", CHARSET_SINGLE, INDEX_WINDOWS_1258, "cp1258 x-cp1258"},
	{"x-mac-cyrillic", CHARSET_SINGLE, INDEX_X_MAC_CYRILLIC, "x-mac-ukrainian"},
	{"gbk", CHARSET_GB18030, INDEX_GB18030,
	 "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk"},
	{"gb18030", CHARSET_GB18030, INDEX_GB18030, ""},
	{"big5", CHARSET_BIG5, INDEX_BIG5, "big5-hkscs cn-big5 csbig5 x-x-big5"},
	{"euc-jp", CHARSET_EUC_JP, INDEX_JIS0208, "cseucpkdfmtjapanese x-euc-jp"},
	{"iso-2022-jp", CHARSET_ISO_2022_JP, INDEX_JIS0208, "csiso2022jp"},
	{"shift_jis", CHARSET_SHIFT_JIS, INDEX_JIS0208,
	 "csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis"},
	{"euc-kr", CHARSET_EUC_KR, INDEX_EUC_KR,
	 "cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
	 "windows-949"},
	{"utf-16be", CHARSET_UTF16BE, INDEX_NONE, "unicodefffe"},
	{"utf-16le", CHARSET_UTF16LE, INDEX_NONE,
	 "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16"},
	{"x-user-defined", CHARSET_SINGLE, INDEX_X_USER_DEFINED, ""},
	{"replacement", CHARSET_REPLACEMENT, INDEX_NONE,
	 "csiso2022kr hz-gb-2312 iso-2022-cn iso-2022-cn-ext iso-2022-kr"},
};

static bool has_label(const char *labels, struct str label)
{
	struct str rest = str_of(labels), word;
	while (str_cut(&rest, ' ', &word) == 0)
		if (word.n && str_eq_nocase(word, label))
			return true;
	return false;
}

const struct charset_def *charset_def(struct str label)
{
	while (label.n && html_is_space(label.p[0]))
		label = str_from(label, 1);
	while (label.n && html_is_space(label.p[label.n - 1]))
		label.n--;
	if (label.n == 0 || label.n > CHARSET_NAME_MAX)
		return NULL;
	for (size_t i = 0; i < CHARSET_DEFS; i++)
		if (str_eq_nocase(str_of(charset_defs[i].name), label))
			return &charset_defs[i];
	for (size_t i = 0; i < CHARSET_DEFS; i++)
		if (has_label(charset_defs[i].labels, label))
			return &charset_defs[i];
	return NULL;
}

const char *charset_by_label(struct str label)
{
	const struct charset_def *def = charset_def(label);
	return def ? def->name : NULL;
}

/* Guessing by the bytes: uchardet, loaded when the first document needs it, since it brings the
 * run-time of another language along. */

/* The functions that we use. */
#define FUNCTIONS(X)                                          \
	X(new, void *(*)(void))                               \
	X(delete, void (*)(void *))                           \
	X(handle_data, int (*)(void *, const char *, size_t)) \
	X(data_end, void (*)(void *))                         \
	X(reset, void (*)(void *))                            \
	X(get_charset, const char *(*)(void *))

struct detector {
#define X(name, type) __typeof__(type) name;
	FUNCTIONS(X)
#undef X
	void *it;
};

/* Negative: it is not there. */
static int detector_load(struct charset *c, struct err *err)
{
	if (c->detector)
		return 0;
	c->detector_asked = true;
	struct detector d = {0};
#define X(name, type) {"uchardet_" #name, &d.name},
	const struct library_function functions[] = {FUNCTIONS(X)};
#undef X
	if (library_load("libuchardet.so.0", "guessing charsets needs the package libuchardet0",
			 functions, ARRAY_LEN(functions), err) < 0)
		return -1;
	d.it = d.new();
	c->detector = mem_copy(&d, sizeof d);
	return 0;
}

static void detector_free(struct charset *c)
{
	struct detector *d = c->detector;
	if (d)
		d->delete (d->it);
	mem_free(&c->detector);
}

/* uchardet's guess; NULL: none, or none that we know. */
static const char *detector_guess(struct charset *c, struct str sample)
{
	struct err err;
	if (!c->detector_asked)
		(void)detector_load(c, &err); /* without it there are other ways */
	struct detector *d = c->detector;
	if (!d)
		return NULL;
	d->reset(d->it);
	if (d->handle_data(d->it, sample.p, sample.n) != 0)
		return NULL;
	d->data_end(d->it);
	const char *guess = d->get_charset(d->it);
	const struct charset_def *def =
		charset_def(str_of(str_is(str_of(guess), "UHC") ? "euc-kr" : guess));
	return def && def->kind != CHARSET_REPLACEMENT ? def->name : NULL;
}

/* What lives long. */

struct charset *charset_new(void)
{
	return mem_alloc(sizeof(struct charset));
}

void charset_free(struct charset **pc)
{
	struct charset *c = *pc;
	if (!c)
		return;
	charset_points_free(c);
	detector_free(c);
	mem_free(pc);
}

int charset_load_all(struct charset *c, struct err *err)
{
	return detector_load(c, err);
}

/* The choice. */

/* How much uchardet is shown: it reads some 50 MB/s, and this much of a page is enough. */
enum { SAMPLE = 32 << 10, SAMPLE_BEFORE = 2 << 10 };

/* A byte order mark; 1: there is none. */
static int by_bom(struct str body, struct charset_choice *ret)
{
	static const struct {
		struct str mark;
		const char *name;
	} marks[] = {{{"\xef\xbb\xbf", 3}, "utf-8"},
		     {{"\xfe\xff", 2}, "utf-16be"},
		     {{"\xff\xfe", 2}, "utf-16le"}};
	for (size_t i = 0; i < ARRAY_LEN(marks); i++)
		if (str_starts(body, marks[i].mark)) {
			*ret = (struct charset_choice){marks[i].name, CHARSET_BY_BOM,
						       marks[i].mark.n};
			return 0;
		}
	return 1;
}

/* UTF-16 that nobody declares is known by its zeroes. Characters of ASCII (a quarter at least,
 * which all markup has) are one with a zero each; no character is a control character, and none is
 * half of a pair. Programs, pictures and sound have some of these soon. */
static bool is_utf16(struct str sample, bool big)
{
	size_t ascii = 0, units = sample.n / 2;
	bool high = false; /* the first half of a pair came before */
	for (size_t i = 0; i < 2 * units; i += 2) {
		unsigned char c = (unsigned char)sample.p[i + big];
		unsigned char upper = (unsigned char)sample.p[i + !big];
		bool low = upper >= 0xdc && upper <= 0xdf;
		if (low != high || (upper == 0 && c < ' ' && !html_is_space((char)c)) ||
		    (upper == 0xff && c >= 0xfe))
			return false;
		high = upper >= 0xd8 && upper <= 0xdb;
		ascii += upper == 0 && c < 0x7f;
	}
	return units >= 2 && ascii >= (units + 3) / 4;
}

int charset_known(struct str body, struct str content_type, struct charset_choice *ret)
{
	enum { SEEN = 512 };
	struct str sample = str_head(body, SEEN);
	const char *name = charset_by_label(charset_in_content_type(content_type));
	if (by_bom(body, ret) == 0)
		return 0;
	if (name)
		*ret = (struct charset_choice){name, CHARSET_BY_HEADER, 0};
	else if (sample.n == 0 || !memchr(sample.p, 0, sample.n))
		return 1;
	else if (is_utf16(sample, false))
		*ret = (struct charset_choice){"utf-16le", CHARSET_BY_BYTES, 0};
	else if (is_utf16(sample, true))
		*ret = (struct charset_choice){"utf-16be", CHARSET_BY_BYTES, 0};
	else
		return 1;
	return 0;
}

/* Nothing names it. */
static struct charset_choice by_bytes(struct charset *c, struct str body)
{
	size_t valid = charset_valid(body);
	/* also if only its last character is torn */
	if (valid == body.n || (body.n - valid < 4 && body.n > SAMPLE))
		return (struct charset_choice){"utf-8", CHARSET_BY_BYTES, 0};
	struct str sample = str_from(body, valid > SAMPLE_BEFORE ? valid - SAMPLE_BEFORE : 0);
	const char *name = detector_guess(c, str_head(sample, SAMPLE));
	if (name)
		return (struct charset_choice){name, CHARSET_BY_BYTES, 0};
	return (struct charset_choice){"windows-1252", CHARSET_BY_DEFAULT, 0};
}

struct charset_choice charset_choose(struct charset *c, struct str body, struct str content_type,
				     const char *declared, struct str hint)
{
	struct charset_choice choice = {0};
	const char *name;
	if (charset_known(body, content_type, &choice) == 0)
		return choice;
	if (declared)
		return (struct charset_choice){declared, CHARSET_BY_DOCUMENT, 0};
	if ((name = charset_by_label(hint)))
		return (struct charset_choice){name, CHARSET_BY_HINT, 0};
	return by_bytes(c, body);
}
