/* Texts of names, made shorter: one byte stands for each of 255 strings that are frequent in names
 * of files, taken greedily, the longest first; the last byte value says that a byte follows as it
 * is. Names lose nearly half of their own bytes, and get them back at a copy of eight bytes for
 * each code.
 *
 * The strings are a part of the format: they were found in the names of Debian's files and of its
 * archive. A table for each segment would gain little and could not be known before a merge has
 * seen all names. Where the codes do not help, a block keeps its names as they are. */
#include "index/names_text.h"

#define T(text)                        \
	{                              \
		sizeof(text) - 1, text \
	}
const struct names_symbol names_symbols[NAMES_SYMBOLS + 1] = {
	T(" "),        T("!"),        T("#"),        T("%"),        T("&"),        T("("),
	T(")"),        T("+"),        T("+b1_amd6"), T(","),        T("-"),        T("-1"),
	T("-1.debia"), T("-members"), T("."),        T(".1.gz"),    T(".3pm.gz"),  T(".c"),
	T(".gz"),      T(".h"),       T(".html"),    T(".orig.ta"), T(".png"),     T(".py"),
	T(".r"),       T(".svg"),     T(".tfm"),     T("0"),        T("0-"),       T("0."),
	T("00"),       T("1"),        T("1-"),       T("1."),       T("1.png"),    T("1_"),
	T("1_all.d"),  T("1_all.de"), T("2"),        T("2."),       T("2.png"),    T("3"),
	T("3."),       T("3.gz"),     T("4"),        T("4."),       T("4.deb"),    T("5"),
	T("5."),       T("6"),        T("6."),       T("64"),       T("64.deb"),   T("7"),
	T("7."),       T("8"),        T("8."),       T("9"),        T(":"),        T("="),
	T("@"),        T("["),        T("]"),        T("_"),        T("_0"),       T("_1_1"),
	T("_8"),       T("_8h.html"), T("__"),       T("__coll__"), T("__incl.m"), T("_a"),
	T("_all.deb"), T("_amd64.d"), T("_c"),       T("_graph.m"), T("_source."), T("a"),
	T("a."),       T("ac"),       T("ad"),       T("al"),       T("am"),       T("an"),
	T("ap"),       T("ar"),       T("ar.xz"),    T("at"),       T("b"),        T("ba"),
	T("base.tfm"), T("c"),        T("c."),       T("ca"),       T("ce"),       T("ch"),
	T("co"),       T("con"),      T("ction"),    T("d"),        T("d."),       T("d5"),
	T("dat"),      T("de"),       T("deb"),      T("debian.t"), T("di"),       T("do"),
	T("e"),        T("e."),       T("e.html"),   T("eb"),       T("ec"),       T("ed"),
	T("el"),       T("el.deb"),   T("en"),       T("er"),       T("er."),      T("es"),
	T("est"),      T("f"),        T("f."),       T("fi"),       T("g"),        T("g."),
	T("ge"),       T("gi"),       T("go"),       T("graph."),   T("graph.m"),  T("graph.ma"),
	T("graph.p"),  T("gz"),       T("h"),        T("h.html"),   T("he"),       T("hf.deb"),
	T("hpp"),      T("html"),     T("i"),        T("i386.deb"), T("ic"),       T("icgraph."),
	T("id"),       T("in"),       T("inc"),      T("incl."),    T("inherit_"), T("int"),
	T("it"),       T("j"),        T("js"),       T("k"),        T("ke"),       T("l"),
	T("l."),       T("l.html"),   T("la"),       T("le"),       T("li"),       T("lin"),
	T("lo"),       T("loong64."), T("m"),        T("m."),       T("ma"),       T("map"),
	T("me"),       T("mi"),       T("mod"),      T("mp"),       T("n"),        T("n.tar.xz"),
	T("ne"),       T("ng"),       T("nt"),       T("o"),        T("ol"),       T("on"),
	T("or"),       T("out"),      T("p"),        T("p__incl."), T("pa"),       T("pe"),
	T("pl"),       T("png"),      T("po"),       T("pp"),       T("ppc64el."), T("pro"),
	T("ps64el.d"), T("py"),       T("q"),        T("r"),        T("r."),       T("r.gz"),
	T("r.html"),   T("ra"),       T("re"),       T("ri"),       T("riscv64."), T("rm64.deb"),
	T("ro"),       T("rs"),       T("rst.txt"),  T("s"),        T("s."),       T("s.html"),
	T("s.p"),      T("s390x.de"), T("sc"),       T("se"),       T("sh"),       T("shader_t"),
	T("si"),       T("so"),       T("source.h"), T("sp"),       T("ss"),       T("st"),
	T("svg"),      T("t"),        T("t."),       T("t.html"),   T("ta"),       T("te"),
	T("ter"),      T("test."),    T("tex"),      T("tfm"),      T("ti"),       T("tion"),
	T("tion."),    T("tml"),      T("to"),       T("tr"),       T("txt"),      T("u"),
	T("ul"),       T("un"),       T("ur"),       T("ut"),       T("v"),        T("ve"),
	T("ver"),      T("w"),        T("x"),        T("xhtml"),    T("xml"),      T("y"),
	T("y."),       T("z"),        T("~"),
};
#undef T

void names_packer_init(struct names_packer *k)
{
	memset(k->one, NAMES_ESCAPE, sizeof k->one);
	memset(k->two, 0, sizeof k->two);
	/* Longer strings go before shorter ones with the same two bytes; each knows the next. */
	k->n = 1;
	for (unsigned length = 2; length <= NAMES_SYMBOL_MOST; length++)
		for (unsigned code = 0; code < NAMES_SYMBOLS; code++) {
			const struct names_symbol *s = &names_symbols[code];
			if (s->n != length)
				continue;
			uint8_t *first = &k->two[(uint8_t)s->text[0] << 8 | (uint8_t)s->text[1]];
			uint64_t value = 0;
			memcpy(&value, s->text, length);
			k->symbol[k->n] = (struct names_packed){
				.value = value,
				.mask = UINT64_MAX >> (64 - 8 * length),
				.n = (uint8_t)length,
				.code = (uint8_t)code,
				.next = *first,
			};
			*first = k->n++;
		}
	for (unsigned code = 0; code < NAMES_SYMBOLS; code++)
		if (names_symbols[code].n == 1)
			k->one[(uint8_t)names_symbols[code].text[0]] = (uint8_t)code;
}

size_t names_pack(const struct names_packer *k, const char *text, size_t n, uint8_t *to)
{
	uint8_t *start = to;
	for (size_t i = 0; i < n;) {
		uint64_t v;
		memcpy(&v, text + i, sizeof v);
		v = le64toh(v);
		uint8_t at = n - i > 1 ? k->two[(v & 0xff) << 8 | (v >> 8 & 0xff)] : 0;
		while (at && ((v & k->symbol[at].mask) != le64toh(k->symbol[at].value) ||
			      k->symbol[at].n > n - i))
			at = k->symbol[at].next;
		if (at) {
			*to++ = k->symbol[at].code;
			i += k->symbol[at].n;
			continue;
		}
		uint8_t code = k->one[v & 0xff];
		*to++ = code;
		if (code == NAMES_ESCAPE)
			*to++ = (uint8_t)v;
		i++;
	}
	return (size_t)(to - start);
}

size_t names_unpack_slowly(const uint8_t *p, const uint8_t *stop, char *to, size_t room)
{
	char *start = to;
	while (p < stop) {
		bool escape = *p == NAMES_ESCAPE;
		size_t n = escape ? 1 : names_symbols[*p].n;
		if (stop - p < 1 + escape || room - (size_t)(to - start) < n)
			return SIZE_MAX;
		memcpy(to, escape ? (const char *)p + 1 : names_symbols[*p].text, n);
		to += n;
		p += 1 + escape;
	}
	return (size_t)(to - start);
}
