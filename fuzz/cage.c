/* What a worker answers, and what it leaves in the memory: nothing of it leads outside. The first
 * bytes are the answer, the next ones lie where the list of attributes does. */
#include "extract/cage_inner.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cage c = {.options = {.body_max = 4096}};
	static struct cage_worker w;
	struct cage_answer answer = {0};
	struct cage_result r;
	struct err err;
	size_t n = MIN(size, sizeof answer);
	if (!w.map) {
		w.map = mem_alloc(cage_slot_size(c.options.body_max));
		w.slot[0].lent.body = w.map;
	}
	memcpy(&answer, data, n);
	answer.slot = 0; /* which one it is was looked at before */
	memcpy(w.map + cage_body_room(c.options.body_max), data + n,
	       MIN(size - n, (size_t)CAGE_OUT));
	if (cage_take_answer(&c, &w, &answer, &r, &err) < 0) {
		ENSURE(err.msg[0]);
		return 0;
	}
	ENSURE(r.attrs.n == answer.n && r.result.type < EXTRACT_TYPES);
	for (size_t i = 0; i < r.attrs.n; i++) {
		struct str v = r.attrs.a[i].value;
		ENSURE(v.p >= c.copy && v.p + v.n <= c.copy + answer.side_n + answer.text_n);
		ENSURE(v.n <= OUT_VALUE_MAX && memchr("TZMRFIAX", r.attrs.a[i].name, 8));
		ENSURE(str_utf8(v));
		for (size_t k = 0; k < v.n; k++)
			ENSURE((unsigned char)v.p[k] >= ' ' ||
			       (v.p[k] == '\n' && r.attrs.a[i].name == 'X'));
	}
	for (size_t i = 0; i < r.result.remark.n; i++) /* all of it can be read */
		ENSURE(r.result.remark.p[i] == r.result.remark.p[i]);
	(void)extract_type_name(r.result.type);
	(void)charset_source_name(r.result.charset.source);
	return 0;
}
