/* A form of a term as text, by its number: what a test shows of an occurrence. */
#pragma once
#include "base/ascii.h"
#include "base/buf.h"
#include "index/segment.h"

/* ERR_DAMAGED: the term has no such form. */
static inline int form_text(struct segment *s, const struct segment_term *info, struct str term,
			    uint32_t number, struct buf *ret, struct err *err)
{
	struct segment_forms it;
	struct str form;
	size_t capitals = number == SEGMENT_FORM_TERM    ? 0
			  : number == SEGMENT_FORM_FIRST ? 1
							 : term.n;
	for (size_t i = 0; number < SEGMENT_FORM_OWN && i < term.n; i++)
		buf_add_byte(ret, i < capitals ? ascii_upper(term.p[i]) : term.p[i]);
	if (number < SEGMENT_FORM_OWN)
		return 0;
	int rc = segment_forms(s, info, &it, err);
	for (uint32_t at = SEGMENT_FORM_OWN; rc == 0 && at <= number; at++)
		rc = segment_forms_next(&it, &form, err);
	if (rc == 0)
		buf_add_str(ret, form);
	return rc == 1 ? err_set(err, ERR_DAMAGED, "a term has no form %u", number) : rc;
}
