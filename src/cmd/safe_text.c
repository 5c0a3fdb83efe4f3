#include "cmd/safe_text.h"

void put_safe(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		bool c1 = c == 0xc2 && i + 1 < text.n && (unsigned char)text.p[i + 1] < 0xa0;
		if (c1)
			i++;
		else if (c >= ' ' && c != 0x7f)
			buf_add_byte(out, (char)c);
	}
}
