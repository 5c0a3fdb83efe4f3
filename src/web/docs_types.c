#include "web/docs_types.h"

#include "base/base.h"

#include <string.h>

/* Text without a charset: the file may say it itself, or nobody knows. */
static const struct {
	const char *suffix, *mime;
} types[] = {
	{"htm", "text/html"},
	{"html", "text/html"},
	{"xhtml", "application/xhtml+xml"},
	{"txt", "text/plain"},
	{"text", "text/plain"},
	{"md", "text/markdown"},
	{"markdown", "text/markdown"},
	{"rst", "text/plain"},
	{"css", "text/css"},
	{"js", "text/javascript"},
	{"json", "application/json"},
	{"xml", "application/xml"},
	{"rss", "application/rss+xml"},
	{"atom", "application/atom+xml"},
	{"svg", "image/svg+xml"},
	{"png", "image/png"},
	{"gif", "image/gif"},
	{"jpg", "image/jpeg"},
	{"jpeg", "image/jpeg"},
	{"webp", "image/webp"},
	{"ico", "image/vnd.microsoft.icon"},
	{"pdf", "application/pdf"},
	{"ps", "application/postscript"},
	{"eps", "application/postscript"},
	{"dvi", "application/x-dvi"},
	{"zip", "application/zip"},
	{"tar", "application/x-tar"},
	{"tgz", "application/gzip"},
	{"bz2", "application/x-bzip2"},
	{"xz", "application/x-xz"},
	{"zst", "application/zstd"},
	{"c", "text/x-csrc"},
	{"h", "text/x-chdr"},
	{"py", "text/x-python"},
	{"sh", "text/x-shellscript"},
	{"pl", "text/x-perl"},
	{"tex", "text/x-tex"},
	{"csv", "text/csv"},
	{"woff", "font/woff"},
	{"woff2", "font/woff2"},
};

static struct str suffix(struct str name)
{
	size_t at = name.n;
	while (at > 1 && name.p[at - 1] != '.')
		at--;
	return at > 1 ? str_from(name, at) : STR("");
}

static const char *by_suffix(struct str s)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (str_eq_nocase(s, str_of(types[i].suffix)))
			return types[i].mime;
	return NULL;
}

struct docs_type docs_type(struct str name)
{
	struct str last = suffix(name);
	if (!str_eq_nocase(last, STR("gz")))
		return (struct docs_type){by_suffix(last), false};
	struct str inner = suffix(str_head(name, name.n - 3));
	if (str_eq_nocase(inner, STR("tar")))
		return (struct docs_type){"application/gzip", false};
	const char *mime = by_suffix(inner);
	return (struct docs_type){mime ? mime : "text/plain", true};
}

const char *docs_sniff(struct str start)
{
	bool ascii = true;
	for (size_t i = 0; i < start.n; i++) {
		unsigned char c = (unsigned char)start.p[i];
		if (c == 0 || (c < ' ' && !strchr("\t\n\r\f\b\033", c)))
			return "application/octet-stream";
		ascii &= c < 0x80;
	}
	return ascii ? "text/plain; charset=utf-8" : "text/plain";
}
