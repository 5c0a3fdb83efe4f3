/* Charsets by name, for prove/charset.py:
 *     charset-text list              their names
 *     charset-text bytes|random|links NAME
 *                                    what its decoder, its encoder can be given (charset_domain.h)
 *     charset-text text NAME         the bytes of standard input in UTF-8
 *     charset-text queries NAME      the links of standard input, a line each, as they are sent */
#include "support/charset_domain.h"

#include <stdio.h>
#include <unistd.h>

static void read_all(struct buf *in)
{
	for (;;) {
		char *to = buf_room(in, 1 << 16);
		ssize_t n = read(STDIN_FILENO, to, 1 << 16);
		if (n <= 0)
			return;
		buf_grew(in, (size_t)n);
	}
}

int main(int argc, char **argv)
{
	CLEANUP(buf_free) struct buf in = BUF_INIT(DOMAIN_MAX), out = BUF_INIT(DOMAIN_MAX);
	const char *what = argc > 1 ? argv[1] : "";
	const struct charset_def *def = argc > 2 ? charset_def(str_of(argv[2])) : NULL;
	struct charset *c = charset_new();
	if (strcmp(what, "list") == 0) {
		for (size_t i = 0; i < CHARSET_DEFS; i++)
			buf_printf(&out, "%s %s\n", charset_defs[i].name, charset_defs[i].labels);
	} else if (!def) {
		fprintf(stderr, "charset-text: the first lines of its source say how it is used\n");
		return 2;
	} else if (strcmp(what, "bytes") == 0) {
		domain_bytes(def, &out);
	} else if (strcmp(what, "random") == 0) {
		domain_random(&out);
	} else if (strcmp(what, "links") == 0) {
		domain_links(def, &out);
	} else if (strcmp(what, "text") == 0) {
		read_all(&in);
		domain_decode(c, def, buf_str(&in), &out);
	} else {
		read_all(&in);
		domain_encode(c, def, buf_str(&in), &out);
	}
	fwrite(out.p, 1, out.n, stdout);
	charset_free(&c);
	return fflush(stdout) == 0 ? 0 : 1;
}
