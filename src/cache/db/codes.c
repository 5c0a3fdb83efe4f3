/* The words for codes. */
#include "cache/codes.h"

const char *cache_code_text(unsigned code)
{
	switch (code) {
#define X(number, symbol, text) \
	case number:            \
		return text;
		CACHE_CODES(X)
#undef X
	}
	return "error";
}

void cache_code_print(unsigned code, struct str why, struct buf *out)
{
	const char *text = cache_code_text(code);
	buf_printf(out, "%u %s", code, text);
	if (why.n && !str_is(why, text)) {
		buf_add_text(out, ": ");
		buf_add_str(out, why);
	}
}
