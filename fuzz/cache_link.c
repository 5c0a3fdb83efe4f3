/* Lines of the link between uns and qm: what is read keeps the bounds, and printed again it is the
 * same line. */
#include "cache/link_wire.h"

static void check_line(struct str line)
{
	struct link_line l;
	struct err err = {0};
	struct buf out = BUF_INIT(2 * LINK_LINE_MAX);
	if (link_line_read(line, &l, &err) < 0) {
		ENSURE(err.code == ERR_USAGE && err.msg[0]);
		return;
	}
	ENSURE(l.kind < LINK_NKINDS && l.name.n <= LINK_NAME_MAX && l.bytes <= LINK_PIECE_MAX);
	ENSURE(l.text.n <= LINK_TEXT_MAX && l.at_us >= 0);
	link_line_print(&l, &out);
	ENSURE(!out.over && out.n == line.n + 1 && out.n <= LINK_LINE_MAX);
	ENSURE(memcmp(out.p, line.p, line.n) == 0);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = {(const char *)data, size}, line;
	while (str_cut(&rest, '\n', &line) == 0)
		check_line(line);
	return 0;
}
