/* What holds of the attributes of any document. */
#pragma once
#include "base/buf.h"
#include "extract/extract.h"
#include "soif/doc_attrs.h"
#include "soif/soif_parse.h"
#include "url/url.h"

static inline void check_link(char name, struct str value, const char *kinds)
{
	static char room[URL_MAX];
	struct doc_link l;
	struct url url;
	ENSURE(link_parse(name, value, &l));
	ENSURE(strchr(kinds, (char)l.kind));
	ENSURE(url_parse(l.url, NULL, room, sizeof room, &url) == 0 && str_eq(url.href, l.url));
}

/* kinds: those that links may have. */
static inline void check_attrs(const struct out *out, const struct extract_result *r,
			       const char *kinds)
{
	size_t text = 0;
	ENSURE(r->type < EXTRACT_TYPES && out->n <= out->max && out->side_n <= out->side_max);
	for (size_t i = 0; i < out->n; i++) {
		struct attr a = out->attr[i];
		struct doc_meta m;
		ENSURE(a.name > ' ' && a.name <= '~' && a.value.n <= OUT_VALUE_MAX);
		ENSURE(str_utf8(a.value));
		if (a.name == 'M')
			ENSURE(meta_parse(a.value, &m) && m.text.n > 0);
		if (strchr("RFIA", a.name))
			check_link(a.name, a.value, kinds);
		if (a.name != 'X') {
			ENSURE(text == 0); /* the text is last */
			ENSURE(str_find_byte(a.value, '\n') == a.value.n);
			continue;
		}
		ENSURE(a.value.p == out->text + text && a.value.n > 0);
		text += a.value.n;
	}
	ENSURE(text == out->text_n || out->flags & OUT_TEXT_CUT);
}

/* As an object of SOIF, which is read back as it was. */
static inline void check_soif(const struct out *out)
{
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct buf printed = BUF_INIT(256 << 20);
	struct attrs list = {out->attr, out->n, out->n};
	struct soif obj, back;
	struct err err;
	attrs_soif(&list, &arena, 100, &obj);
	obj.url = STR("http://a/");
	ENSURE(soif_print(&obj, &printed, &err) == 0);
	struct soif_parser p = soif_parser_of(buf_str(&printed));
	ENSURE(soif_next(&p, &arena, &back, &err) == 0 && back.n == obj.n);
	for (size_t i = 0; i < obj.n; i++)
		ENSURE(str_eq(obj.attr[i].value, back.attr[i].value));
	buf_free(&printed);
	arena_free(&arena);
}

enum { CHECK_OUT = 256 << 10 };

/* Reads the document and checks all of it; the type tells what it was. */
static inline enum extract_type check_document(const struct extract_job *job, const char *kinds)
{
	static struct extract *x;
	static _Alignas(16) char memory[CHECK_OUT];
	struct extract_result r;
	struct out out;
	if (!x)
		x = extract_new();
	out_begin(&out, memory, sizeof memory, 0);
	extract_run(x, job, &out, &r);
	check_attrs(&out, &r, kinds);
	check_soif(&out);
	return r.type;
}
