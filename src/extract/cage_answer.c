/* Answers, which a document may have written. Everything is looked at once, in a copy: the worker
 * can still write to the memory that both share. */
#include "extract/cage_inner.h"

#include <stdio.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

static int wrong(struct err *err, const char *what)
{
	return err_set(err, ERR_DAMAGED, "its answer makes no sense (%s), it was ended", what);
}

/* Text of a fixed field that ends in NUL and is visible ASCII. */
static bool is_word(const char *p, size_t cap)
{
	for (size_t i = 0; i < cap; i++) {
		if (p[i] == 0)
			return true;
		if (p[i] <= ' ' || p[i] > '~')
			return false;
	}
	return false;
}

static void *at_least(void *p, size_t *room, size_t n, size_t size)
{
	if (n <= *room)
		return p;
	*room = MAX(n, 2 * *room);
	return mem_resize(p, *room * size);
}

/* The two areas of values, one behind the other. */
static void copy_values(struct cage *c, const struct out *there, const struct cage_answer *a)
{
	c->copy = at_least(c->copy, &c->copy_room, a->side_n + a->text_n + 1, 1);
	memcpy(c->copy, there->side, a->side_n);
	memcpy(c->copy + a->side_n, there->text, a->text_n);
}

/* Whether a control character is among them, other than `but`. */
static bool has_control(struct str s, char but)
{
	size_t i = 0;
	bool bad = false;
#ifdef __SSE2__
	const __m128i last = _mm_set1_epi8(' ' - 1), allowed = _mm_set1_epi8(but);
	__m128i seen = _mm_setzero_si128();
	for (; i + 16 <= s.n; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(s.p + i));
		__m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, last), v);
		seen = _mm_or_si128(seen, _mm_andnot_si128(_mm_cmpeq_epi8(v, allowed), control));
	}
	bad = _mm_movemask_epi8(seen) != 0;
#endif
	for (; i < s.n; i++)
		bad |= (unsigned char)s.p[i] < ' ' && s.p[i] != but;
	return bad;
}

/* As doc/formats/attributes.md has it: UTF-8 without control characters; lines only in text. That
 * of all values at once costs less than of each. */
static bool are_sound(struct str side, struct str text)
{
	return charset_valid(side) == side.n && charset_valid(text) == text.n &&
	       !has_control(side, ' ') && !has_control(text, '\n');
}

static bool is_inside(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* A value in its area, which begins at `at` in the memory. false: it is not there, or begins or
 * ends inside of a character. */
static bool locate(struct str area, size_t at, const struct cage_entry *e, struct str *ret)
{
	if (e->at < at || e->at - at > area.n || e->n > area.n - (e->at - at))
		return false;
	size_t from = e->at - at, end = from + e->n;
	if ((from < area.n && is_inside(area.p[from])) || (end < area.n && is_inside(area.p[end])))
		return false;
	*ret = (struct str){area.p + from, e->n};
	return true;
}

/* Only the letters that extraction gives, and none that fetch alone may say. */
static bool is_letter(uint32_t name)
{
	static const bool letters['Z' + 1] = {
		['T'] = true, ['Z'] = true, ['M'] = true, ['R'] = true,
		['F'] = true, ['I'] = true, ['A'] = true, ['X'] = true,
	};
	return name <= 'Z' && letters[name];
}

static int copy_attrs(struct cage *c, const struct out *there, const char *memory,
		      const struct cage_answer *a, struct err *err)
{
	struct str side = {c->copy, a->side_n}, text = {c->copy + a->side_n, a->text_n};
	size_t side_at = (size_t)(there->side - memory), text_at = (size_t)(there->text - memory);
	c->attrs = at_least(c->attrs, &c->attrs_room, a->n, sizeof *c->attrs);
	if (!are_sound(side, text))
		return wrong(err, "no text");
	for (size_t i = 0; i < a->n; i++) {
		struct cage_entry e;
		struct attr *to = &c->attrs[i];
		memcpy(&e, memory + i * sizeof e, sizeof e);
		__asm__ volatile("" ::: "memory"); /* it is not read again from there */
		if (!is_letter(e.name) || e.n > OUT_VALUE_MAX)
			return wrong(err, "an attribute");
		to->name = (char)e.name;
		if (!locate(side, side_at, &e, &to->value) &&
		    (e.name != 'X' || !locate(text, text_at, &e, &to->value)))
			return wrong(err, "a value outside");
	}
	return 0;
}

int cage_take_answer(struct cage *c, const struct cage_worker *w, const struct cage_answer *a,
		     struct cage_result *ret, struct err *err)
{
	struct out there;
	char *memory = w->slot[a->slot].lent.body + cage_body_room(c->options.body_max);
	out_begin(&there, memory, CAGE_OUT, 0);
	if (a->n > there.max || a->side_n > there.side_max || a->text_n > there.text_max)
		return wrong(err, "sizes");
	if (a->type >= EXTRACT_TYPES || a->charset_source > CHARSET_BY_DEFAULT ||
	    a->remark > a->n || !is_word(a->media_type, sizeof a->media_type) ||
	    !is_word(a->charset, sizeof a->charset))
		return wrong(err, "a field");
	copy_values(c, &there, a);
	if (copy_attrs(c, &there, memory, a, err) < 0)
		return -1;
	*ret = (struct cage_result){
		.end = CAGE_READ,
		.attrs = {c->attrs, a->n, a->n},
		.reason = "",
		.result = {.type = (enum extract_type)a->type,
			   .charset = {charset_by_label(str_of(a->charset)),
				       (enum charset_source)a->charset_source, 0},
			   .bad_bytes = a->bad_bytes,
			   .tokens = a->tokens,
			   .links = a->links,
			   .links_left_out = a->links_left_out,
			   .flags = a->flags,
			   .remark = STR("")},
	};
	memcpy(ret->result.media_type, a->media_type, sizeof ret->result.media_type);
	if (a->remark)
		ret->result.remark = str_from(c->attrs[a->remark - 1].value, 2);
	return 0;
}

void cage_no_text(struct cage *c, const struct slot *s, enum cage_end end, const char *reason,
		  struct cage_result *ret)
{
	enum { ROOM = 8 << 10, ENTRIES = 8 };
	struct out out;
	c->attrs = at_least(c->attrs, &c->attrs_room, ENTRIES, sizeof *c->attrs);
	c->copy = at_least(c->copy, &c->copy_room, ROOM, 1);
	out = (struct out){.attr = c->attrs, .max = ENTRIES, .side = c->copy, .side_max = ROOM};
	out_number(&out, 'Z', s->body_n);
	out_meta(&out, 0, META_REMARK, str_of(reason));
	*ret = (struct cage_result){.end = end,
				    .attrs = {out.attr, out.n, out.n},
				    .reason = reason,
				    .result = {.type = EXTRACT_OTHER, .remark = str_of(reason)}};
}
