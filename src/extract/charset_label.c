/* The encodings of the web and the labels they go by: https://encoding.spec.whatwg.org/. Encodings
 * that the list replaces for security (iso-2022-kr, hz-gb-2312 ...) are not known here. */
#include "extract/charset_inner.h"

const struct charset_def charset_defs[CHARSET_DEFS] = {
	{"utf-8", CHARSET_UTF8, NULL,
	 "utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8"},
	{"windows-1252", CHARSET_TABLE, "CP1252",
	 "iso-8859-1 latin1 us-ascii ascii ansi_x3.4-1968 cp1252 cp819 csisolatin1 ibm819 "
	 "iso-ir-100 iso8859-1 iso88591 "
	 "iso_8859-1 iso_8859-1:1987 l1 x-cp1252 x-user-defined"},
	{"ibm866", CHARSET_TABLE, "CP866", "866 cp866 csibm866"},
	{"iso-8859-2", CHARSET_TABLE, "ISO-8859-2",
	 "csisolatin2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2"},
	{"iso-8859-3", CHARSET_TABLE, "ISO-8859-3",
	 "csisolatin3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3"},
	{"iso-8859-4", CHARSET_TABLE, "ISO-8859-4",
	 "csisolatin4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4"},
	{"iso-8859-5", CHARSET_TABLE, "ISO-8859-5",
	 "csisolatincyrillic cyrillic iso-ir-144 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988"},
	{"iso-8859-6", CHARSET_TABLE, "ISO-8859-6",
	 "arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6-e "
	 "iso-8859-6-i iso-ir-127 iso8859-6 "
	 "iso88596 iso_8859-6 iso_8859-6:1987"},
	{"iso-8859-7", CHARSET_TABLE, "ISO-8859-7",
	 "csisolatingreek ecma-118 elot_928 greek greek8 iso-ir-126 iso8859-7 iso88597 iso_8859-7 "
	 "iso_8859-7:1987 sun_eu_greek"},
	{"iso-8859-8", CHARSET_TABLE, "ISO-8859-8",
	 "csiso88598e csisolatinhebrew hebrew iso-8859-8-e iso-ir-138 iso8859-8 iso88598 "
	 "iso_8859-8 iso_8859-8:1988 visual"},
	{"iso-8859-8-i", CHARSET_TABLE, "ISO-8859-8", "csiso88598i logical"},
	{"iso-8859-10", CHARSET_TABLE, "ISO-8859-10",
	 "csisolatin6 iso-ir-157 iso8859-10 iso885910 l6 latin6"},
	{"iso-8859-13", CHARSET_TABLE, "ISO-8859-13", "iso8859-13 iso885913"},
	{"iso-8859-14", CHARSET_TABLE, "ISO-8859-14", "iso8859-14 iso885914"},
	{"iso-8859-15", CHARSET_TABLE, "ISO-8859-15",
	 "csisolatin9 iso8859-15 iso885915 iso_8859-15 l9"},
	{"iso-8859-16", CHARSET_TABLE, "ISO-8859-16", ""},
	{"koi8-r", CHARSET_TABLE, "KOI8-R", "cskoi8r koi koi8 koi8_r"},
	{"koi8-u", CHARSET_TABLE, "KOI8-U", "koi8-ru"},
	{"macintosh", CHARSET_TABLE, "MACINTOSH", "csmacintosh mac x-mac-roman"},
	{"windows-874", CHARSET_TABLE, "CP874", "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620"},
	{"windows-1250", CHARSET_TABLE, "CP1250", "cp1250 x-cp1250"},
	{"windows-1251", CHARSET_TABLE, "CP1251", "cp1251 x-cp1251"},
	{"windows-1253", CHARSET_TABLE, "CP1253", "cp1253 x-cp1253"},
	{"windows-1254", CHARSET_TABLE, "CP1254",
	 "cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 "
	 "l5 latin5 x-cp1254"},
	{"windows-1255", CHARSET_TABLE, "CP1255", "cp1255 x-cp1255"},
	{"windows-1256", CHARSET_TABLE, "CP1256", "cp1256 x-cp1256"},
	{"windows-1257", CHARSET_TABLE, "CP1257", "cp1257 x-cp1257"},
	{"windows-1258", CHARSET_TABLE, "CP1258", "cp1258 x-cp1258"},
	{"x-mac-cyrillic", CHARSET_TABLE, "MAC-UK", "x-mac-ukrainian"},
	{"gbk", CHARSET_ICONV, "GB18030",
	 "chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 iso-ir-58 x-gbk"},
	{"gb18030", CHARSET_ICONV, "GB18030", ""},
	{"big5", CHARSET_ICONV, "BIG5-HKSCS", "big5-hkscs cn-big5 csbig5 x-x-big5"},
	{"euc-jp", CHARSET_ICONV, "EUC-JP-MS", "cseucpkdfmtjapanese x-euc-jp"},
	{"iso-2022-jp", CHARSET_ICONV, "ISO-2022-JP", "csiso2022jp"},
	{"shift_jis", CHARSET_ICONV, "CP932",
	 "csshiftjis ms932 ms_kanji shift-jis sjis windows-31j x-sjis"},
	{"euc-kr", CHARSET_ICONV, "UHC",
	 "cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
	 "uhc windows-949"},
	{"utf-16be", CHARSET_UTF16BE, NULL, "unicodefffe"},
	{"utf-16le", CHARSET_UTF16LE, NULL,
	 "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16"},
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
	label = str_trim(label);
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
