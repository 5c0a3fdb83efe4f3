/* cf/url-equiv: a table that was read maps every site to one that is mapped to itself,
 * and every indented one elsewhere. */
#include "url/equiv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size}, line;
	struct equiv *e = NULL;
	struct err err;
	if (equiv_parse(text, "f", &e, &err) < 0) {
		ENSURE(!e && strncmp(err.msg, "f:", 2) == 0);
		return 0;
	}
	while (str_cut(&text, '\n', &line) == 0) {
		char room[URL_MAX];
		struct url u;
		if (url_parse(line, NULL, room, sizeof room, &u) < 0)
			continue;
		struct url_site to = equiv_site(e, url_site(&u));
		ENSURE(url_site_eq(equiv_site(e, to), to));
		bool stands = str_trim(line).p == line.p;
		ENSURE(url_site_eq(to, url_site(&u)) == stands);
	}
	equiv_free(&e);
	return 0;
}
