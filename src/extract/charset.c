/* Which charset a document has, and the tables for it. */
#include "extract/charset_inner.h"

#include <errno.h>

/* As much as uchardet is shown: it reads some 50 MB/s, and a page has said enough by then. */
enum { SAMPLE = 32 << 10, SAMPLE_BEFORE = 2 << 10 };

#define NO_ICONV ((iconv_t)-1)

const char *charset_source_name(enum charset_source s)
{
	static const char *const names[] = {
		[CHARSET_BY_BOM] = "bom",           [CHARSET_BY_HEADER] = "header",
		[CHARSET_BY_DOCUMENT] = "document", [CHARSET_BY_HINT] = "hint",
		[CHARSET_BY_BYTES] = "bytes",       [CHARSET_BY_DEFAULT] = "default",
	};
	return names[s];
}

struct charset *charset_new(void)
{
	struct charset *c = mem_alloc(sizeof *c);
	for (size_t i = 0; i < CHARSET_DEFS; i++)
		c->loaded[i].cd = NO_ICONV;
	return c;
}

void charset_free(struct charset **pc)
{
	struct charset *c = *pc;
	if (!c)
		return;
	for (size_t i = 0; i < CHARSET_DEFS; i++) {
		if (c->loaded[i].cd != NO_ICONV)
			iconv_close(c->loaded[i].cd);
		mem_free(&c->loaded[i].table);
	}
	charset_detector_free(c);
	mem_free(pc);
}

/* Each byte by iconv; what it does not know is a control character in windows-1252, as on the web,
 * and U+FFFD elsewhere. */
static struct charset_table *fill_table(iconv_t cd, bool latin1)
{
	struct charset_table *t = mem_alloc(sizeof *t);
	for (unsigned i = 0; i < 128; i++) {
		char byte = (char)(0x80 + i), *in = &byte, *out = t->high[i].b;
		size_t in_n = 1, out_n = sizeof t->high[i].b;
		if (iconv(cd, &in, &in_n, &out, &out_n) != (size_t)-1 && in_n == 0)
			(void)iconv(cd, NULL, NULL, &out, &out_n); /* what it held back */
		t->high[i].n = (unsigned char)(sizeof t->high[i].b - out_n);
		if (t->high[i].n == 0) {
			const char *instead =
				latin1 ? (char[]){(char)0xc2, byte, 0} : "\xef\xbf\xbd";
			t->high[i].n = (unsigned char)strlen(instead);
			memcpy(t->high[i].b, instead, t->high[i].n);
		}
		(void)iconv(cd, NULL, NULL, NULL, NULL);
	}
	return t;
}

int charset_load(struct charset *c, const struct charset_def *def, struct err *err)
{
	struct charset_loaded *l = &c->loaded[def - charset_defs];
	if (!def->iconv || l->table || l->cd != NO_ICONV)
		return 0;
	iconv_t cd = iconv_open("UTF-8", def->iconv);
	if (cd == NO_ICONV)
		return err_sys(err, "the charset %s cannot be read: iconv has no %s", def->name,
			       def->iconv);
	if (def->kind == CHARSET_ICONV) {
		l->cd = cd;
		return 0;
	}
	l->table = fill_table(cd, str_is(str_of(def->iconv), "CP1252"));
	iconv_close(cd);
	return 0;
}

int charset_load_all(struct charset *c, struct err *err)
{
	int rc = charset_detector_load(c, err);
	for (size_t i = 0; i < CHARSET_DEFS; i++)
		if (charset_load(c, &charset_defs[i], err) < 0)
			rc = -1;
	return rc;
}

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

/* Nobody said it. UTF-16 without a mark shows in its zeroes. */
static struct charset_choice by_bytes(struct charset *c, struct str body)
{
	size_t valid = charset_valid(body);
	bool zeroes = body.n && memchr(body.p, 0, MIN(body.n, 64u)) != NULL;
	if (valid == body.n && !zeroes)
		return (struct charset_choice){"utf-8", CHARSET_BY_BYTES, 0};
	if (zeroes && body.n >= 4 && body.p[1] == 0 && body.p[3] == 0 && body.p[0])
		return (struct charset_choice){"utf-16le", CHARSET_BY_BYTES, 0};
	if (zeroes && body.n >= 4 && body.p[0] == 0 && body.p[2] == 0 && body.p[1])
		return (struct charset_choice){"utf-16be", CHARSET_BY_BYTES, 0};
	if (body.n - valid < 4 && body.n > SAMPLE) /* only its last character is torn */
		return (struct charset_choice){"utf-8", CHARSET_BY_BYTES, 0};
	struct str sample = str_from(body, valid > SAMPLE_BEFORE ? valid - SAMPLE_BEFORE : 0);
	const char *name = charset_guess(c, str_head(sample, SAMPLE));
	if (name)
		return (struct charset_choice){name, CHARSET_BY_BYTES, 0};
	return (struct charset_choice){"windows-1252", CHARSET_BY_DEFAULT, 0};
}

struct charset_choice charset_choose(struct charset *c, struct str body, struct str content_type,
				     const char *declared, struct str hint)
{
	struct charset_choice choice = {0};
	const char *name;
	if (by_bom(body, &choice) == 0)
		return choice;
	if ((name = charset_by_label(charset_in_content_type(content_type))))
		return (struct charset_choice){name, CHARSET_BY_HEADER, 0};
	if (declared)
		return (struct charset_choice){declared, CHARSET_BY_DOCUMENT, 0};
	if ((name = charset_by_label(hint)))
		return (struct charset_choice){name, CHARSET_BY_HINT, 0};
	return by_bytes(c, body);
}
