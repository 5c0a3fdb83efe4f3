/* What comes to a spider, line by line: all of it is bounded. */
#include "fetch/spider/docindex_wire.h"
#include "fetch/spider/spider_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(struct str line)
{
	struct spider_line l;
	if (!spider_line_read(line, &l))
		return;
	ENSURE(l.trans.n >= 1 && l.trans.n <= DOCINDEX_WORD_MAX && l.doc.n <= DOCINDEX_WORD_MAX);
	ENSURE(!str_has_control(l.trans) && !str_has_control(l.doc));
	if (l.wrong)
		return;
	ENSURE(l.doc.n && l.addr.family && l.addr.port == 0);
	ENSURE(l.url.n && !str_has_control(l.url) && str_find_byte(l.url, ' ') == l.url.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = {(const char *)data, size}, line;
	while (text.p && str_cut(&text, '\n', &line) == 0)
		check_line(line);
	return 0;
}
