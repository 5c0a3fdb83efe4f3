/* What uns and qm say to each other: what is read keeps its bounds, and what is written of it is
 * read as the same. */
#include "cache/uns/link_wire.h"

static void check_bounds(const struct link_message *m)
{
	ENSURE(m->name.n <= LINK_NAME_MAX && m->piece.n <= LINK_PIECE_MAX && m->at_us >= 0);
	ENSURE(m->text.n <= LINK_TEXT_MAX && m->number <= INT64_MAX && m->code <= 999);
}

static void check_wire(const struct message_wire *wire, struct str rest)
{
	struct link_message m;
	struct err err = {0};
	size_t n;
	int kind;
	while (rest.n && message_frame(wire, rest, &n) == 0) {
		CLEANUP(buf_free) struct buf out = BUF_INIT(LINK_PIECE_MAX + 2 * LINK_SMALL_MAX);
		struct str one = str_head(rest, n);
		rest = str_from(rest, n);
		if (message_read(wire, one, &kind, &m, &err) < 0) {
			ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
			continue;
		}
		check_bounds(&m);
		message_write(wire, kind, &m, &out);
		ENSURE(!out.over && out.n <= one.n);
		ENSURE(out.n < one.n || str_eq(buf_str(&out), one));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_wire(&link_of_qm, (struct str){(const char *)data, size});
	check_wire(&link_of_uns, (struct str){(const char *)data, size});
	return 0;
}
