/* Counted bytes between lines: "N" is a line that announces a block of N bytes, "pN" one that comes
 * in pieces, any other line is itself. Cut anywhere, lines and blocks are the same; pieces add up
 * to the same bytes. The first byte is the seed of the cuts. */
#include "base/hash.h"
#include "net/framing.h"

enum { LINE = 32, BLOCK = 255, HELD = 1024 };

/* What a line asks for, if it does. */
static void obey(struct framing *f, struct str line)
{
	bool pieces = str_starts(line, STR("p"));
	uint64_t n;
	if (str_u64(str_from(line, pieces), &n) && (pieces || n <= BLOCK))
		framing_want(f, pieces ? FRAMING_PIECES : FRAMING_BLOCK, n);
}

static void feed(struct str text, uint64_t seed, struct buf *out)
{
	struct framing f;
	struct str frame;
	int rc = 1;
	framing_init(&f, LINE, HELD);
	while (text.n && rc >= 0) {
		size_t n = seed ? 1 + (size_t)(hash_u64(seed + text.n) % 11) : HELD / 2;
		framing_put(&f, str_head(text, n));
		text = str_from(text, n);
		for (;;) {
			enum framing_mode mode = f.mode;
			uint64_t left = f.left;
			if ((rc = framing_next(&f, &frame)) != 0)
				break;
			ENSURE(mode != FRAMING_BLOCK || frame.n == left);
			ENSURE(mode != FRAMING_PIECES || frame.n + f.left == left);
			buf_add_str(out, frame);
			/* where a piece ends is the sender's affair, where all end is not */
			if (mode != FRAMING_PIECES || f.left == 0)
				buf_add_byte(out, mode == FRAMING_LINES ? '\n' : '|');
			if (mode == FRAMING_LINES)
				obey(&f, frame);
			if (seed && hash_u64(seed ^ out->n) % 5 == 0)
				framing_keep(&f);
		}
		framing_keep(&f);
		ENSURE(rc < 0 || framing_waiting(&f) <= MAX(LINE + 1, BLOCK - 1));
	}
	if (rc < 0)
		buf_add_byte(out, '!');
	framing_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct str text = {(const char *)data + 1, size - 1};
	struct buf whole = BUF_INIT(SIZE_MAX), cut = BUF_INIT(SIZE_MAX);
	feed(text, 0, &whole);
	feed(text, (uint64_t)data[0] + 1, &cut);
	ENSURE(str_eq(buf_str(&whole), buf_str(&cut)));
	buf_free(&whole);
	buf_free(&cut);
	return 0;
}
