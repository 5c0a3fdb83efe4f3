/* The words for codes. */
#include "store/codes.h"

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
