/* SOIF, also as the answer of a gatherer, which a line ends (the first byte is odd): told at once
 * and in pieces it is the same; what was read can be printed and read back. */
#include "soif/soif_parse.h"

static void tell(struct soif_parser *p, struct arena *arena, struct buf *out)
{
	struct soif obj;
	struct err err;
	for (int rc; (rc = soif_next(p, arena, &obj, &err)) != 1;) {
		if (rc < 0) {
			buf_printf(out, "! %s\n", err.msg);
			continue;
		}
		buf_printf(out, "%d %d ", (int)p->section, obj.truncated);
		size_t before = out->n;
		ENSURE(soif_print(&obj, out, &err) == 0);
		struct soif back;
		struct soif_parser again = soif_parser_of(str_from(buf_str(out), before));
		ENSURE(soif_next(&again, arena, &back, &err) == 0);
		ENSURE(str_eq(back.url, obj.url) && str_eq(back.type, obj.type));
		ENSURE(soif_next(&again, arena, &back, &err) == 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 1 << 16)
		return 0;
	struct str in = {(const char *)data, size};
	struct arena arena = ARENA_INIT((size_t)1 << 30);
	struct buf whole = BUF_INIT((size_t)1 << 26), pieces = BUF_INIT((size_t)1 << 26);
	struct soif_parser p = soif_parser_of(in), fed = SOIF_PARSER_INIT;
	struct err err;
	p.answer = fed.answer = size && data[0] & 1;
	tell(&p, &arena, &whole);
	size_t piece = size ? (size_t)data[0] % 61 + 1 : 1;
	for (size_t at = 0; at < size; at += piece) {
		ENSURE(soif_feed(&fed, str_head(str_from(in, at), piece), &err) == 0);
		tell(&fed, &arena, &pieces);
	}
	soif_feed_end(&fed);
	tell(&fed, &arena, &pieces);
	ENSURE(str_eq(buf_str(&whole), buf_str(&pieces)));
	ENSURE(p.status == fed.status && soif_offset(&p) == soif_offset(&fed));
	soif_parser_free(&fed);
	buf_free(&whole);
	buf_free(&pieces);
	arena_free(&arena);
	return 0;
}
