/* Reads SOIF by trying: an attempt at an object either comes to its end, or runs out of bytes and
 * is made again when more have come, or fails and is given up. Only then does the parser move, so
 * that feeding in pieces changes nothing. */
#include "soif/soif_parse.h"

#include "base/ascii.h"

static const struct str section_name[] = {
	[SOIF_DELETE] = {"DELETE", 6},
	[SOIF_REFRESH] = {"REFRESH", 7},
	[SOIF_UPDATE] = {"UPDATE", 6},
};

enum { KEPT = 1 << 20 }; /* bytes that a parser holds without need */

/* What became of an attempt to read something that may not be all there. */
enum outcome { DONE, SHORT, SECTION, STRAY, BAD };

/* One attempt at an object: a place in the parser's bytes that moves only as far as all is well. */
struct attempt {
	const char *p, *end;
	const char *line; /* where the current attribute (or the type) begins: after a rejection the
			   * search goes on there */
	size_t most;      /* bytes of the object */
	struct soif obj;
	enum soif_section section; /* outcome SECTION */
	size_t want;               /* outcome SHORT: bytes that would be needed, from the start */
	const char *why;           /* outcome BAD */
	bool sized;                /* outcome BAD: a->p is at a value of `skip` bytes */
	size_t skip;
};

struct soif_parser soif_parser_of(struct str bytes)
{
	struct str s = bytes.n ? bytes : STR("");
	return (struct soif_parser){.p = s.p, .start = s.p, .end = s.p + s.n};
}

uint64_t soif_offset(const struct soif_parser *p)
{
	return p->before + (uint64_t)(p->p - p->start);
}

const char *soif_section_name(enum soif_section section)
{
	return section == SOIF_PLAIN ? "" : section_name[section].p;
}

static size_t object_limit(const struct soif_parser *p)
{
	return p->object_max ? p->object_max : SOIF_MAX_VALUE;
}

/* Moves what is left to the front, to less memory when a large object is gone. */
static void drop_used(struct soif_parser *p, size_t used)
{
	size_t left = p->held.n - used;
	if (used)
		p->inside_line = p->p[-1] != '\n';
	p->before += used;
	if (p->held.cap > KEPT && left < p->held.cap / 4) {
		struct buf smaller = BUF_INIT(p->held.max);
		buf_add(&smaller, p->held.p + used, left);
		buf_free(&p->held);
		p->held = smaller;
	} else if (used) {
		memmove(p->held.p, p->held.p + used, left);
		p->held.n = left;
	}
}

int soif_feed(struct soif_parser *p, struct str bytes, struct err *err)
{
	size_t used = p->start ? (size_t)(p->p - p->start) : 0;
	size_t left = p->held.n - used;
	if (bytes.n > p->held.max - left)
		return err_set(err, ERR_USAGE, "byte %llu: an object is larger than %zu bytes",
			       (unsigned long long)soif_offset(p), object_limit(p));
	drop_used(p, used);
	buf_add_str(&p->held, bytes);
	struct str held = buf_str(&p->held);
	p->p = p->start = held.p;
	p->end = held.p + held.n;
	return 0;
}

void soif_feed_end(struct soif_parser *p)
{
	p->more = false;
	p->want = 0;
}

void soif_parser_free(struct soif_parser *p)
{
	buf_free(&p->held);
	*p = SOIF_PARSER_INIT;
}

static enum outcome attempt_bad(struct attempt *a, const char *why)
{
	a->why = why;
	return BAD;
}

/* Blanks, and braces where `braces` says so. They are bounded: an input in pieces is looked at anew
 * from the object's beginning with each piece. */
static enum outcome skip_blanks(struct attempt *a, bool braces)
{
	const char *limit = a->p + MIN(a->end - a->p, SOIF_MAX_NAME + 1);
	while (a->p < limit && (ascii_is_space(*a->p) || (braces && *a->p == '{')))
		a->p++;
	if (a->p < limit)
		return DONE;
	return a->p < a->end ? attempt_bad(a, "too many blanks") : SHORT;
}

/* Bytes up to one that `ends` it. */
static enum outcome take_word(struct attempt *a, bool (*ends)(char), struct str *ret,
			      const char *too_long)
{
	const char *from = a->p, *limit = from + MIN(a->end - from, SOIF_MAX_NAME + 1);
	for (const char *q = from; q < limit; q++) {
		if (*q == 0)
			return attempt_bad(a, "a NUL byte outside of a value");
		if (ends(*q)) {
			*ret = str_range(from, q);
			a->p = q;
			return DONE;
		}
	}
	return limit - from > SOIF_MAX_NAME ? attempt_bad(a, too_long) : SHORT;
}

/* An '@' may begin an object of its own: what ran up to it was not one. */
static bool ends_type(char c)
{
	return ascii_is_space(c) || c == '{' || c == '@';
}

static bool ends_name(char c)
{
	return c == '{' || c == '\n' || c == '\r';
}

static enum outcome size_of_value(struct attempt *a, size_t *ret)
{
	size_t size = 0;
	const char *from = a->p;
	for (; a->p < a->end && ascii_is_digit(*a->p); a->p++) {
		size = size * 10 + (size_t)(*a->p - '0');
		if (size > SOIF_MAX_PASSED)
			return attempt_bad(a, "the size of a value is over the limit");
	}
	static const char after[] = "}:\t";
	size_t left = (size_t)MIN(a->end - a->p, 3);
	if (memcmp(a->p, after, left) != 0 || (left == 3 && a->p == from))
		return attempt_bad(a, "no size in braces, colon and tab after a name");
	if (left < 3)
		return SHORT;
	a->p += 3;
	*ret = size;
	return DONE;
}

/* The object is too large, but where its value ends is known. */
static enum outcome value_bad(struct attempt *a, size_t size, const char *why)
{
	a->sized = true;
	a->skip = size;
	return attempt_bad(a, why);
}

/* Name and size of the attribute at a->p, which is not a blank; its value follows. */
static enum outcome take_name(struct attempt *a, struct str *ret, size_t *ret_size)
{
	a->line = a->p;
	enum outcome o = take_word(a, ends_name, ret, "the name of an attribute is too long");
	if (o != DONE)
		return o;
	if (*a->p != '{' || ret->n == 0)
		return attempt_bad(a, "a line that is not an attribute");
	a->p++;
	return size_of_value(a, ret_size);
}

static enum outcome take_attribute(struct attempt *a, const char *start, struct arena *arena)
{
	struct str name;
	size_t size;
	enum outcome o = take_name(a, &name, &size);
	if (o != DONE)
		return o;
	if (size > a->most)
		return value_bad(a, size, "the size of a value is over the limit");
	if ((size_t)(a->p - start) + size > a->most || a->obj.n == SOIF_MAX_ATTRS)
		return value_bad(a, size, "the object is over the limit");
	if ((size_t)(a->end - a->p) < size) {
		a->want = (size_t)(a->p - start) + size;
		return SHORT;
	}
	soif_add(&a->obj, arena, name, (struct str){a->p, size});
	a->p += size;
	return DONE;
}

/* Type, braces, and the URL; or the head of a section. */
static enum outcome take_head(struct attempt *a)
{
	a->line = ++a->p;
	enum outcome o = take_word(a, ends_type, &a->obj.type, "the type of an object is too long");
	if (o != DONE)
		return o == BAD ? STRAY : o;
	o = skip_blanks(a, false);
	if (o != DONE)
		return o == BAD ? STRAY : o;
	if (*a->p != '{' || a->obj.type.n == 0)
		return STRAY;
	o = skip_blanks(a, true);
	if (o == BAD)
		return o;
	for (enum soif_section s = SOIF_DELETE; s <= SOIF_UPDATE; s++) {
		if (!str_eq_nocase(a->obj.type, section_name[s]))
			continue;
		a->section = s;
		if (a->p == a->end || *a->p == '@' || *a->p == '}')
			return SECTION;
	}
	if (a->p == a->end)
		return SHORT;
	if (*a->p == '}' || *a->p == '@')
		return attempt_bad(a, "an object without a URL");
	return take_word(a, ascii_is_space, &a->obj.url, "the URL is too long");
}

static enum outcome take_object(struct attempt *a, struct arena *arena)
{
	const char *start = a->p;
	enum outcome o = take_head(a);
	while (o == DONE) {
		a->line = a->p;
		o = skip_blanks(a, false);
		if (o != DONE)
			break;
		if (*a->p == '}') {
			a->p++;
			return DONE;
		}
		o = take_attribute(a, start, arena);
	}
	return o;
}

/* What may be a status line. */
enum status_kind { STATUS_NONE, STATUS_SHORT, STATUS_PASSED, STATUS_END };

/* Three digits and a blank, or nothing else, where a line begins. One that counts is passed. */
static enum status_kind status_at(struct soif_parser *p, const char *at)
{
	size_t left = (size_t)MIN(p->end - at, SOIF_MAX_NAME + 1);
	unsigned code = 0;
	for (size_t i = 0; i < 3; i++) {
		if (i == left)
			return p->more ? STATUS_SHORT : STATUS_NONE;
		if (!ascii_is_digit(at[i]))
			return STATUS_NONE;
		code = code * 10 + (unsigned)(at[i] - '0');
	}
	struct str line = {at, left};
	size_t end = str_find_byte(line, '\n');
	if (end == left && left <= SOIF_MAX_NAME && p->more)
		return STATUS_SHORT;
	line = str_trim(str_head(line, end));
	if (end > SOIF_MAX_NAME || (line.n > 3 && at[3] != ' '))
		return STATUS_NONE;
	bool closing = code == SOIF_ANSWER_END || code == SOIF_ANSWER_END_OLD;
	if (!closing && p->resync)
		return STATUS_NONE;
	p->p = at + end;
	if (code == 0 || code == 400)
		return STATUS_PASSED;
	p->status = code;
	p->line = line;
	return STATUS_END;
}

/* After a rejected object: to the next line that begins one, or ends the answer. */
static bool find_line(struct soif_parser *p)
{
	for (const char *at = p->p; at < p->end; at++) {
		at = memchr(at, '\n', (size_t)(p->end - at));
		if (!at)
			break;
		p->p = at; /* the line end may be the last byte so far */
		if (at + 1 == p->end)
			return false;
		if (at[1] == '@') {
			p->p = at + 1;
			p->resync = false;
			return true;
		}
		enum status_kind kind = p->answer ? status_at(p, at + 1) : STATUS_NONE;
		if (kind == STATUS_SHORT || kind == STATUS_END)
			return false;
	}
	p->p = p->end;
	return false;
}

/* The rest of an object that is too large. Its values are not looked at: they are somebody's text,
 * and may have lines that look like objects or like the end of an answer. false: more is needed. */
static bool pass_object(struct soif_parser *p)
{
	while (p->passing) {
		struct attempt a = {.p = p->p + MIN(p->skip, (size_t)(p->end - p->p)),
				    .end = p->end};
		struct str name;
		p->skip -= (size_t)(a.p - p->p);
		p->p = a.line = a.p;
		enum outcome o = p->skip ? SHORT : skip_blanks(&a, false);
		bool ends = o == DONE && *a.p == '}';
		if (o == DONE && !ends)
			o = take_name(&a, &name, &p->skip);
		if (o == SHORT && p->more)
			return false;
		p->passing = o == DONE && !ends;
		p->resync = o == BAD;
		p->p = o == DONE ? a.p + ends : o == BAD ? a.line - 1 : p->end;
	}
	return true;
}

static bool begins_line(const struct soif_parser *p)
{
	return p->p > p->start ? p->p[-1] == '\n' : !p->inside_line;
}

/* Moves to the next '@', leaving the section at a brace. false: there is none, or the answer has
 * ended. */
static bool find_object(struct soif_parser *p)
{
	if (p->resync && !find_line(p))
		return false;
	while (p->p < p->end && *p->p != '@') {
		if (p->answer && ascii_is_digit(*p->p) && begins_line(p)) {
			enum status_kind kind = status_at(p, p->p);
			if (kind == STATUS_SHORT || kind == STATUS_END)
				return false;
			if (kind == STATUS_PASSED)
				continue;
		}
		if (*p->p == '}' && p->open)
			p->open = false;
		else if (!ascii_is_space(*p->p))
			p->skipped++;
		p->p++;
	}
	return p->p < p->end;
}

static int object_found(struct soif_parser *p, const struct attempt *a, struct soif *ret)
{
	if (!p->open)
		p->section = SOIF_PLAIN;
	*ret = a->obj;
	return 0;
}

/* What is left of an object when the input ends inside it. */
static int cut_short(struct soif_parser *p, struct attempt *a, struct soif *ret, struct err *err)
{
	uint64_t at = soif_offset(p);
	p->p = p->end;
	if (a->obj.url.n == 0)
		return err_set(err, ERR_USAGE, "byte %llu: the input ends in the head of an object",
			       (unsigned long long)at);
	a->obj.truncated = true;
	return object_found(p, a, ret);
}

int soif_next(struct soif_parser *p, struct arena *arena, struct soif *ret, struct err *err)
{
	while (!p->status && (size_t)(p->end - p->p) >= p->want && pass_object(p) &&
	       find_object(p)) {
		struct arena_mark mark = arena_mark(arena);
		struct attempt a = {.p = p->p, .end = p->end, .most = object_limit(p)};
		enum outcome o = take_object(&a, arena);
		p->want = 0;
		if (o == SECTION && a.p == a.end && p->more)
			o = SHORT;
		switch (o) {
		case DONE:
			p->p = a.p;
			return object_found(p, &a, ret);
		case SECTION:
			p->p = a.p;
			p->section = a.section;
			p->open = true;
			break;
		case STRAY:
			p->p++;
			p->skipped++;
			break;
		case SHORT:
			if (!p->more)
				return cut_short(p, &a, ret, err);
			arena_reset(arena, mark);
			p->want = MAX(a.want, (size_t)(p->end - p->p) + 1);
			return 1;
		case BAD:
			arena_reset(arena, mark);
			(void)err_set(
				err, ERR_USAGE, "byte %llu: %s, object skipped",
				(unsigned long long)(soif_offset(p) + (size_t)(a.line - p->p)),
				a.why);
			/* its line end may be the one before the next object */
			p->p = a.sized ? a.p : a.line - 1;
			p->passing = a.sized;
			p->skip = a.skip;
			p->resync = !a.sized;
			p->bad = a.obj.url;
			return -1;
		}
	}
	return 1;
}

static int skim_failed(struct err *err)
{
	return err_set(err, ERR_DAMAGED, "an object cannot be read as SOIF");
}

int soif_skim_head(struct str bytes, struct str *ret_url, size_t *ret, struct err *err)
{
	struct attempt a = {.p = bytes.p, .end = bytes.p + bytes.n, .most = SOIF_MAX_VALUE};
	if (bytes.n == 0 || *a.p != '@' || take_head(&a) != DONE)
		return skim_failed(err);
	*ret_url = a.obj.url;
	*ret = (size_t)(a.p - bytes.p);
	return 0;
}

int soif_skim_attr(struct str bytes, struct soif_place *ret, struct err *err)
{
	struct attempt a = {.p = bytes.p, .end = bytes.p + bytes.n, .most = SOIF_MAX_VALUE};
	struct soif_place place;
	if (skip_blanks(&a, false) != DONE)
		return skim_failed(err);
	if (*a.p == '}')
		return 1;
	if (take_name(&a, &place.name, &place.n) != DONE || place.n > a.most)
		return skim_failed(err);
	place.at = (size_t)(a.p - bytes.p);
	*ret = place;
	return 0;
}
