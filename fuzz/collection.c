/* Collection.conf: whatever stands in it, every line is a point, a problem, a comment or empty; and
 * the points, written as lines, are read back the same and without a problem. */
#include "broker/collection.h"

#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena arena = ARENA_INIT((size_t)1 << 26);
	struct buf text = BUF_INIT((size_t)1 << 22);
	struct collection c, again;
	collection_parse((struct str){(const char *)data, size}, "f", &arena, &c);
	ENSURE(c.n <= COLLECTION_POINTS && c.nproblems <= COLLECTION_PROBLEMS);
	for (size_t i = 0; i < c.n; i++)
		buf_printf(&text, "%s %u %d --\n", c.point[i].host, (unsigned)c.point[i].port,
			   !c.point[i].full + 2 * c.point[i].compressed);
	collection_parse(buf_str(&text), "f", &arena, &again);
	ENSURE(again.n == c.n && again.nproblems == 0);
	for (size_t i = 0; i < c.n; i++) {
		const struct collection_point *a = &c.point[i], *b = &again.point[i];
		ENSURE(strcmp(a->host, b->host) == 0 && a->port == b->port);
		ENSURE(a->full == b->full && a->compressed == b->compressed);
		ENSURE(a->line > i && b->line == i + 1);
	}
	buf_free(&text);
	arena_free(&arena);
	return 0;
}
