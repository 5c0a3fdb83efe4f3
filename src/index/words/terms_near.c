/* Terms within one error of a word of ASCII, looked for in the blob.
 *
 * Such a term is a beginning of the word, one other character or none, and the rest of the word,
 * with or without its next letter. So all terms of one kind (a letter replaced, inserted, left out)
 * have one length, and terms of a length are in order: those that share the first p letters with
 * the word are a range. Within it the terms that go on with the same other character are a range
 * too, and there is one text at most that fits; it is sought, and where it is not, the next
 * character's. Then the range is narrowed by the next letter of the word. p is where a term first
 * differs from the word, so each is found once, however often letters repeat.
 *
 * Characters that are not ASCII are one other character of two to four bytes, in the run of the
 * other terms of their length; all else is the same. Terms of hex digits are a run of their own,
 * and near a word only if the one error takes away what it has of other letters. The automaton over
 * the dictionary has to enter some hundred blocks of it for the same terms, which took ten times as
 * long. */
#include "index/words/segment_inner.h"
#include "index/words/terms_inner.h"

enum { NEAR_FEW = 16 }; /* terms that are compared one by one */

/* The end of a term as it is sought. Its first bytes are also a number. */
struct near_target {
	char text[TOKEN_TERM_MOST + SEGMENT_SLACK];
	size_t n;
	uint64_t head, mask;
};

/* A run of terms of one length, and what the error is in them. */
struct near_search {
	struct terms_finds *finds;
	struct str word;
	const char *text;
	size_t length;
	size_t wide; /* bytes of the other character; 0: there is none */
	size_t skip; /* letters of the word that it replaces: 0 or 1 */
	struct near_target target;
};

/* The blob has bytes after it, so that 8 can be read at once. */
static inline uint64_t head_of(const char *p, uint64_t mask)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return be64toh(v) & mask;
}

static inline void target_head(struct near_target *t)
{
	t->head = head_of(t->text, t->mask);
}

/* Its first bytes, which are `wide`, are set later. */
static void target_init(struct near_target *t, size_t wide, struct str rest)
{
	t->n = wide + rest.n;
	t->mask = t->n >= sizeof t->mask ? UINT64_MAX : ~(UINT64_MAX >> 8 * t->n);
	memset(t->text, 0, sizeof t->head);
	if (rest.n)
		memcpy(t->text + wide, rest.p, rest.n);
}

/* How the bytes of a term from p on compare with it. */
static inline int target_order(const struct near_target *t, const char *p)
{
	uint64_t head = head_of(p, t->mask);
	if (head != t->head)
		return head < t->head ? -1 : 1;
	return t->n > sizeof head
		       ? memcmp(p + sizeof head, t->text + sizeof head, t->n - sizeof head)
		       : 0;
}

static inline const char *term_at(const struct near_search *s, size_t i)
{
	return s->text + i * s->length;
}

/* The first term from lo to hi - 1 whose bytes from p on are not before the target; hi: none. It
 * is mostly near. */
static size_t target_seek(const struct near_search *s, const struct near_target *t, size_t lo,
			  size_t hi, size_t p)
{
	size_t step = 1;
	while (step <= hi - lo && target_order(t, term_at(s, lo + step - 1) + p) < 0) {
		lo += step;
		step *= 2;
	}
	hi = MIN(hi, lo + step - 1);
	return BISECT(i, lo, hi, target_order(t, term_at(s, i) + p) < 0);
}

/* The first term whose byte at p is not below c. */
static size_t byte_seek(const struct near_search *s, size_t lo, size_t hi, size_t p, unsigned c)
{
	return BISECT(i, lo, hi, (unsigned char)term_at(s, i)[p] < c);
}

/* The first bytes of characters of so many bytes are from the one to before the other. */
static void lead_bytes(size_t wide, unsigned *ret_from, unsigned *ret_to)
{
	*ret_from = wide == 2 ? 0xc0 : wide == 3 ? 0xe0 : 0xf0;
	*ret_to = wide == 2 ? 0xe0 : wide == 3 ? 0xf0 : 0xf8;
}

static int near_found(struct near_search *s, size_t i, uint32_t errors)
{
	return terms_finds_add(s->finds, (struct str){term_at(s, i), s->length}, errors);
}

/* The least text of as many bytes that is after all that begin with the current character. */
static void next_char(struct near_target *t, size_t wide)
{
	for (size_t i = wide; i-- > 0;) {
		t->text[i] = (char)((unsigned char)t->text[i] + 1);
		if (t->text[i] != 0)
			break;
	}
}

/* Terms from lo to hi - 1, which share p letters with the word and then have another character
 * each: those that go on as the word does. */
static int near_others(struct near_search *s, size_t p, size_t lo, size_t hi)
{
	struct near_target *t = &s->target;
	int rc = 0;
	target_init(t, s->wide, str_from(s->word, p + s->skip));
	while (lo < hi && rc == 0) {
		const char *end = term_at(s, lo) + p;
		memcpy(t->text, end, s->wide);
		target_head(t);
		int order = target_order(t, end);
		if (order == 0) {
			rc = near_found(s, lo++, 1);
			continue;
		}
		if (order > 0) {
			next_char(t, s->wide);
			target_head(t);
		}
		lo = target_seek(s, t, lo + 1, hi, p);
		if (terms_looked(s->finds->f, 1))
			rc = 1;
	}
	return rc;
}

/* The letter at p is left out. Of equal letters the last is, as that is where the term differs. */
static int near_without(struct near_search *s, size_t p, size_t lo, size_t hi)
{
	struct near_target *t = &s->target;
	struct str rest = str_from(s->word, p + 1);
	if (rest.n && rest.p[0] == s->word.p[p])
		return 0;
	target_init(t, 0, rest);
	target_head(t);
	lo = target_seek(s, t, lo, hi, p);
	return lo < hi && target_order(t, term_at(s, lo) + p) == 0 ? near_found(s, lo, 1) : 0;
}

/* Those of a range that differ from the word at p; *lo to *hi is then what does not. */
static int near_differing(struct near_search *s, size_t p, size_t *lo, size_t *hi)
{
	bool letters = p < s->word.n;
	unsigned c = letters ? (unsigned char)s->word.p[p] : 0, from, to;
	size_t same = letters ? byte_seek(s, *lo, *hi, p, c) : *hi;
	size_t after = letters ? byte_seek(s, same, *hi, p, c + 1) : *hi;
	int rc;
	if (s->wide == 0) {
		rc = near_without(s, p, *lo, *hi);
	} else if (s->wide == 1) {
		rc = near_others(s, p, *lo, same);
		if (rc == 0)
			rc = near_others(s, p, after, *hi);
	} else {
		lead_bytes(s->wide, &from, &to);
		size_t first = byte_seek(s, letters ? after : *lo, *hi, p, from);
		rc = near_others(s, p, first, byte_seek(s, first, *hi, p, to));
	}
	*lo = same;
	*hi = after;
	return rc;
}

/* Of a term that shares p letters with the word: its errors; 2: more than one. */
static uint32_t near_errors(const struct near_search *s, const char *term, size_t p)
{
	const struct str word = s->word;
	size_t most = MIN(word.n, s->length);
	unsigned from, to, c;
	while (p < most && term[p] == word.p[p])
		p++;
	if (p + s->skip > word.n)
		return s->length == word.n ? 0 : 2;
	if (s->wide > 1) {
		lead_bytes(s->wide, &from, &to);
		c = (unsigned char)term[p];
		if (c < from || c >= to)
			return 2;
	}
	size_t rest = word.n - p - s->skip;
	return rest == 0 || memcmp(term + p + s->wide, word.p + p + s->skip, rest) == 0 ? 1 : 2;
}

static int near_few(struct near_search *s, size_t p, size_t lo, size_t hi)
{
	int rc = 0;
	for (size_t i = lo; i < hi && rc == 0; i++) {
		uint32_t errors = near_errors(s, term_at(s, i), p);
		if (errors <= 1)
			rc = near_found(s, i, errors);
	}
	return rc == 0 && terms_looked(s->finds->f, (uint32_t)(hi - lo)) ? 1 : rc;
}

static int near_in_run(struct near_search *s, size_t n)
{
	size_t lo = 0, hi = n;
	int rc = 0;
	for (size_t p = 0; p + s->skip <= s->word.n && lo < hi && rc == 0; p++) {
		/* What differs at p may be before or after what differs later. */
		terms_finds_new_run(s->finds);
		if (hi - lo <= NEAR_FEW)
			return near_few(s, p, lo, hi);
		rc = near_differing(s, p, &lo, &hi);
	}
	/* What shares all letters and is as long is the word itself. */
	if (rc == 0 && lo < hi && s->length == s->word.n) {
		terms_finds_new_run(s->finds);
		rc = near_found(s, lo, 0);
	}
	return rc;
}

/* One character of so many bytes, or none, for `skip` letters of the word, which has `outside`
 * letters that are not hex digits. */
static int near_of_kind(struct terms_finds *finds, size_t wide, size_t skip, size_t outside)
{
	struct terms_finder *f = finds->f;
	struct near_search s = {.finds = finds, .word = f->text.word, .wide = wide, .skip = skip};
	struct segment_blob blob;
	s.length = s.word.n + wide - skip;
	if (s.length > TOKEN_TERM_MOST)
		return 0;
	enum segment_run last = wide > 1 ? SEGMENT_OTHERS : SEGMENT_ASCII;
	enum segment_run first = wide <= 1 && outside <= skip ? SEGMENT_HEX : last;
	if (segment_blob(f->segment, (uint32_t)s.length, first, &blob, f->err) < 0)
		return -1;
	int rc = 0;
	for (size_t run = first; run <= last && rc == 0; run++) {
		size_t n = blob.from[run + 1] - blob.from[run];
		if (n == 0)
			continue;
		s.text = blob.p + blob.from[run] * s.length;
		rc = near_in_run(&s, n);
	}
	return rc;
}

int terms_near_word(struct terms_finder *f)
{
	struct terms_finds finds = {.f = f};
	size_t outside = terms_outside_hex(f->text.word);
	int rc = near_of_kind(&finds, 0, 1, outside);
	for (size_t wide = 1; wide <= 4 && rc == 0; wide++) {
		rc = near_of_kind(&finds, wide, 1, outside);
		if (rc == 0)
			rc = near_of_kind(&finds, wide, 0, outside);
	}
	return terms_finds_end(&finds, rc);
}
