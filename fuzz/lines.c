/* Lines from a stream: cut anywhere, what comes out is the same, and what a plain scan of the whole
 * text says. The first byte is the length limit, the second the seed of the cuts. */
#include "base/hash.h"
#include "net/framing.h"

enum { HELD = 512 };

/* Every line as "length:bytes;", a line that is too long as "!", which ends it. */
static void scan(struct str text, size_t most, struct buf *out)
{
	for (size_t end; (end = str_find_byte(text, '\n')) < text.n;
	     text = str_from(text, end + 1)) {
		struct str line = str_head(text, end);
		if (str_ends(line, STR("\r")))
			line.n--;
		if (line.n > most)
			break;
		buf_printf(out, "%zu:", line.n);
		buf_add_str(out, line);
		buf_add_byte(out, ';');
	}
	size_t end = str_find_byte(text, '\n');
	bool complete = end < text.n;
	if (complete || text.n > most + 1)
		buf_add_byte(out, '!');
}

/* Stops early now and then, as a connection does that is paused. */
static void feed(struct str text, size_t most, uint64_t seed, struct buf *out)
{
	struct framing f;
	struct str line;
	int rc = 1;
	framing_init(&f, most, HELD);
	while (text.n && rc >= 0) {
		size_t n = seed ? 1 + (size_t)(hash_u64(seed + text.n) % 7) : HELD / 2;
		framing_put(&f, str_head(text, n));
		text = str_from(text, n);
		while ((rc = framing_next(&f, &line)) == 0) {
			buf_printf(out, "%zu:", line.n);
			buf_add_str(out, line);
			buf_add_byte(out, ';');
			if (seed && hash_u64(seed ^ out->n) % 5 == 0)
				framing_keep(&f);
		}
		framing_keep(&f);
		ENSURE(rc < 0 || framing_waiting(&f) <= most + 1);
	}
	if (rc < 0)
		buf_add_byte(out, '!');
	framing_free(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t most = data[0];
	struct str text = {(const char *)data + 2, size - 2};
	struct buf plain = BUF_INIT(SIZE_MAX), whole = BUF_INIT(SIZE_MAX), cut = BUF_INIT(SIZE_MAX);
	scan(text, most, &plain);
	feed(text, most, 0, &whole);
	feed(text, most, (uint64_t)data[1] + 1, &cut);
	ENSURE(str_eq(buf_str(&plain), buf_str(&whole)));
	ENSURE(str_eq(buf_str(&plain), buf_str(&cut)));
	buf_free(&plain);
	buf_free(&whole);
	buf_free(&cut);
	return 0;
}
