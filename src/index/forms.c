/* Original forms of terms: by rule for the usual ones, in a table of the term for the others. */
#include "base/cursor.h"
#include "index/segment_inner.h"
#include "index/token.h"

#include <inttypes.h>

static char ascii_upper(char c)
{
	return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_capitalised(struct str term, struct str form, size_t n)
{
	for (size_t i = 0; i < term.n; i++)
		if (form.p[i] != (i < n ? ascii_upper(term.p[i]) : term.p[i]))
			return false;
	return true;
}

bool segment_form_plain(struct str term, struct str form, uint32_t *ret)
{
	if (term.n != form.n)
		return false;
	if (is_capitalised(term, form, 0))
		*ret = SEGMENT_FORM_TERM;
	else if (is_capitalised(term, form, 1))
		*ret = SEGMENT_FORM_FIRST;
	else if (is_capitalised(term, form, term.n))
		*ret = SEGMENT_FORM_CAPITALS;
	else
		return false;
	return true;
}

bool segment_has_forms(struct segment *s, const struct segment_term *info)
{
	struct err ignored;
	const uint8_t *p;
	uint64_t from = info->at - s->foot.part[PART_TERMS].at;
	if (info->bytes == 0)
		return info->variant != SEGMENT_FORM_TERM;
	if (info->df < SEGMENT_BLOCK)
		return segment_bytes(s, PART_TERMS, from, 1, &p, &ignored) < 0 || *p & LIST_FORMS;
	from += -info->at & 3;
	return segment_bytes(s, PART_TERMS, from, LIST_HEAD, &p, &ignored) < 0 ||
	       load_u32(p, 3) & LIST_FORMS;
}

/* The table of a term's own forms; empty where it has none. */
static int own_forms(struct segment *s, const struct segment_term *info, struct reader *ret,
		     struct err *err)
{
	const uint8_t *p;
	*ret = reader_of((struct str){"", 0});
	if (info->bytes == 0 || info->occurrences == 0 || !segment_has_forms(s, info))
		return 0;
	uint64_t base = s->foot.part[PART_TERMS].at;
	if (segment_bytes(s, PART_TERMS, info->at - base, info->bytes, &p, err) < 0)
		return -1;
	struct reader r = reader_of((struct str){(const char *)p, (size_t)info->bytes});
	if (info->df < SEGMENT_BLOCK) {
		if (reader_u8(&r) & LIST_OWN)
			*ret = reader_of(reader_text(&r, (size_t)info->bytes));
		return 0;
	}
	reader_skip(&r, (size_t)(-info->at & 3) + 4);
	uint32_t n = reader_u32le(&r);
	reader_skip(&r, LIST_HEAD - 8 + (size_t)info->blocks * (3 * 4 + 2 * SEGMENT_BOUNDS + 1));
	*ret = reader_of(reader_bytes(&r, n));
	return 0;
}

int segment_form(struct segment *s, const struct segment_term *info, struct str term,
		 struct str form, uint32_t *ret, struct err *err)
{
	struct reader r;
	if (segment_form_plain(term, form, ret))
		return 0;
	if (own_forms(s, info, &r, err) < 0)
		return -1;
	for (uint32_t number = SEGMENT_FORM_OWN; reader_left(&r) && !r.bad; number++)
		if (str_eq(reader_text(&r, TOKEN_FORM_MOST), form) && !r.bad) {
			*ret = number;
			return 0;
		}
	return 1;
}

int segment_form_text(struct segment *s, const struct segment_term *info, struct str term,
		      uint32_t number, struct buf *ret, struct err *err)
{
	struct reader r;
	if (number < SEGMENT_FORM_OWN) {
		size_t n = number == SEGMENT_FORM_TERM    ? 0
			   : number == SEGMENT_FORM_FIRST ? 1
							  : term.n;
		for (size_t i = 0; i < term.n; i++)
			buf_add_byte(ret, i < n ? ascii_upper(term.p[i]) : term.p[i]);
		return 0;
	}
	if (own_forms(s, info, &r, err) < 0)
		return -1;
	for (uint32_t at = SEGMENT_FORM_OWN; reader_left(&r) && !r.bad; at++) {
		struct str form = reader_text(&r, TOKEN_FORM_MOST);
		if (at == number && !r.bad) {
			buf_add_str(ret, form);
			return 0;
		}
	}
	return segment_damaged(s, err, "a term has no form %" PRIu32, number);
}

int segment_forms(struct segment *s, const struct segment_term *info, struct segment_forms *ret,
		  struct err *err)
{
	struct reader r;
	if (own_forms(s, info, &r, err) < 0)
		return -1;
	*ret = (struct segment_forms){r.p, r.end};
	return 0;
}

int segment_forms_next(struct segment_forms *it, struct str *ret, struct err *err)
{
	struct reader r = reader_of(str_range((const char *)it->p, (const char *)it->stop));
	if (!reader_left(&r))
		return 1;
	struct str form = reader_text(&r, TOKEN_FORM_MOST);
	if (r.bad)
		return err_set(err, ERR_DAMAGED,
			       "a table of forms in a segment is wrong; the index has to be built "
			       "again");
	it->p = r.p;
	*ret = form;
	return 0;
}
