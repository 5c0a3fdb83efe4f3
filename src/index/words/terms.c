/* Terms that are meant: which way of looking finds all of them soonest, and which forms of a term
 * are meant.
 *
 * Where terms themselves are compared (folded words, an index without a stemmer), the ways find
 * just what is meant. Where forms are compared, they find candidates, of which each form is looked
 * at. With a stemmer every term is one: its forms need not look like it. Without, a form contains
 * what its term contains as far as that is ASCII, because such letters fold alone; so letters that
 * every meant form has are looked for in the terms, small. Of terms of nearly the greatest length
 * that is not known, since they are cut. */
#include "index/terms.h"

#include "base/ascii.h"
#include "base/vec.h"
#include "index/words/dict.h"
#include "index/words/terms_inner.h"
#include "index/words/token_inner.h"

/* What was found */

bool terms_is_late(struct terms_finder *f)
{
	f->looked = 0;
	if (f->late && f->late(f->late_ctx))
		f->cut = f->was_late = true;
	return f->was_late;
}

int terms_take(struct terms_finder *f, struct str term, const struct segment_term *info,
	       uint32_t errors)
{
	struct terms_found found = {.info = *info, .term = term, .errors = errors};
	return f->take(f->take_ctx, &found);
}

/* Forms */

struct form_bits {
	uint32_t n, set, errors, most_errors;
};

/* Whether the next form is meant. */
static void form_compare(struct terms_finder *f, struct str form, struct form_bits *b)
{
	char folded[TOKEN_TERM_MOST];
	struct str text = form;
	uint32_t errors, at = b->n++;
	if (!f->want->exact)
		text = (struct str){folded, token_fold(f->want->rules, form, folded)};
	VEC_ROOM(f->bits, f->bits_room, (size_t)at / 64 + 1);
	VEC_ROOM(f->form_errors, f->form_errors_room, (size_t)at + 1);
	if (at % 64 == 0)
		f->bits[at / 64] = 0;
	if (!terms_text_is(&f->text, text, &errors))
		return;
	f->bits[at / 64] |= UINT64_C(1) << at % 64;
	f->form_errors[at] = (uint8_t)errors;
	b->set++;
	b->errors = MIN(b->errors, errors);
	b->most_errors = MAX(b->most_errors, errors);
}

/* The form by rule with this number. */
static struct str plain_form(struct str term, uint32_t number, char text[TOKEN_TERM_MOST])
{
	memcpy(text, term.p, term.n);
	size_t capitals = number == SEGMENT_FORM_TERM    ? 0
			  : number == SEGMENT_FORM_FIRST ? 1
							 : term.n;
	for (size_t i = 0; i < MIN(capitals, term.n); i++)
		text[i] = ascii_upper(term.p[i]);
	return (struct str){text, term.n};
}

/* All forms of a term, as far as they may occur. `combined` is of the list over all attributes. */
static int forms_compare(struct terms_finder *f, struct str term,
			 const struct segment_term *combined, struct form_bits *ret)
{
	char text[TOKEN_TERM_MOST];
	struct form_bits b = {.errors = UINT32_MAX};
	struct segment_forms it;
	struct str form;
	int rc = 1;
	bool other = segment_has_forms(f->segment, combined);
	if (combined->bytes == 0) {
		form_compare(f, plain_form(term, combined->variant, text), &b);
	} else {
		form_compare(f, term, &b);
		for (uint32_t i = SEGMENT_FORM_FIRST; other && i < SEGMENT_FORM_OWN; i++)
			form_compare(f, plain_form(term, i, text), &b);
		rc = other ? segment_forms(f->segment, combined, &it, f->err) : 1;
		while (rc == 0 && (rc = segment_forms_next(&it, &form, f->err)) == 0) {
			form_compare(f, form, &b);
			/* A term may have any number of them. */
			if (terms_looked(f, 1))
				break;
		}
	}
	*ret = b;
	return rc < 0 ? -1 : 0;
}

static int forms_take(struct terms_finder *f, struct str term, const struct segment_term *info,
		      const struct segment_term *combined)
{
	struct form_bits b;
	if (forms_compare(f, term, combined, &b) < 0)
		return -1;
	if (b.set == 0)
		return 0;
	struct terms_found found = {.info = *info, .term = term, .errors = b.errors};
	bool differ = b.errors != b.most_errors;
	if (b.set < b.n || differ) {
		found.forms = f->bits;
		found.nforms = b.n;
	}
	found.form_errors = differ ? f->form_errors : NULL;
	return f->take(f->take_ctx, &found);
}

int terms_try_found(struct terms_finder *f, struct str term, const struct segment_term *info)
{
	struct segment_term combined = *info;
	if (f->attr != SEGMENT_COMBINED) {
		int rc = dict_term_after(f->segment, SEGMENT_COMBINED, term, &f->combined_block,
					 &combined, f->err);
		if (rc != 0)
			return rc < 0 ? -1 : 0;
	}
	return forms_take(f, term, info, &combined);
}

int terms_try(struct terms_finder *f, struct str term, uint32_t errors)
{
	struct segment_term info;
	int rc = dict_term_after(f->segment, f->attr, term, &f->block, &info, f->err);
	if (rc == 0)
		return f->by_forms ? terms_try_found(f, term, &info)
				   : terms_take(f, term, &info, errors);
	if (rc < 0)
		return -1;
	if (f->attr == SEGMENT_COMBINED)
		return err_set(f->err, ERR_DAMAGED,
			       "%s: its blob has a term that its dictionary has not; the index "
			       "has to be built again",
			       segment_path(f->segment));
	return 0;
}

/* Which way */

/* An attribute with few terms is walked through rather than the blob of all. */
static bool has_few_terms(const struct terms_finder *f)
{
	const uint32_t *first = f->segment->first;
	return f->attr != SEGMENT_COMBINED && f->attr < segment_info(f->segment)->attrs &&
	       (first[f->attr + 1] - first[f->attr]) * UINT64_C(4) <= first[1] - first[0];
}

static int find_part(struct terms_finder *f, struct str part, bool open_left, bool open_right)
{
	if (!open_left && open_right)
		return terms_walk_range(f, part, false);
	if (open_left && has_few_terms(f))
		return terms_walk_range(f, STR(""), true);
	if (open_left)
		return terms_blob_parts(
			f, &(struct terms_parts){.part = {part}, .n = 1, .ends = !open_right},
			NULL);
	struct segment_term info;
	int rc = segment_term(f->segment, f->attr, part, &info, f->err);
	return rc == 0 ? terms_take(f, part, &info, 0) : MIN(rc, 0);
}

static int find_pattern(struct terms_finder *f)
{
	struct terms_glob g = terms_glob(f->want->word);
	if (g.head.n == f->want->word.n)
		return find_part(f, g.head, false, false);
	if (g.head.n > 0 || g.longest.n == 0 || has_few_terms(f))
		return terms_walk_range(f, g.head, !g.only_head);
	struct terms_parts parts = {.part = {g.longest}, .n = 1, .ends = g.only_tail};
	parts.compare = !g.only_tail && !g.only_inside;
	parts.no_hex = g.outside_hex;
	return terms_blob_parts(f, &parts, NULL);
}

/* The place of the nth character. */
static size_t char_place(struct str s, uint32_t n)
{
	size_t at = 0;
	while (n-- > 0)
		at += terms_char_bytes(str_from(s, at));
	return at;
}

/* Two errors. Either not both are in the first half of the word, so that most of the dictionary is
 * passed over as soon as with one error; or the second half is the end of the term, which is sought
 * in the blob. That takes half the time of a walk with two errors anywhere. */
static int find_two_errors(struct terms_finder *f)
{
	struct errors_word *w = &f->text.errors;
	struct terms_finds finds = {.f = f};
	uint32_t left = (w->chars + 1) / 2;
	errors_begin_well(w, left);
	terms_finds_new_run(&finds);
	int rc = terms_walk_errors(f, &finds);
	errors_begin_well(w, 0);
	struct terms_parts parts = {.n = 1, .ends = true, .compare = true};
	parts.part[0] = str_from(f->text.word, char_place(f->text.word, left));
	terms_blob_bounds(f, &parts);
	if (rc == 0)
		rc = terms_blob_parts(f, &parts, &finds);
	return terms_finds_end(&finds, rc);
}

/* Many errors, or parts of words: k errors leave one of k + 1 pieces of the word whole. Where
 * pieces are too short to be rare, the automaton looks at every term. */
static int find_pieces(struct terms_finder *f)
{
	const struct errors_word *w = &f->text.errors;
	struct terms_parts parts = {.n = w->k + 1, .compare = true};
	bool open = w->open_left || w->open_right;
	if (w->swaps || w->chars / parts.n < (open ? 2 : 3))
		return terms_blob_errors(f);
	for (uint32_t i = 0; i < parts.n; i++) {
		size_t from = char_place(f->text.word, w->chars * i / parts.n);
		size_t to = char_place(f->text.word, w->chars * (i + 1) / parts.n);
		parts.part[i] = (struct str){f->text.word.p + from, to - from};
	}
	terms_blob_bounds(f, &parts);
	return terms_blob_parts(f, &parts, NULL);
}

static bool is_near_word(const struct terms_finder *f)
{
	const struct str word = f->text.word;
	return f->want->k == 1 && !f->want->swaps && word.n >= TERMS_NEAR_LEAST &&
	       segment_run_of(word) != SEGMENT_OTHERS;
}

static int find_errors(struct terms_finder *f)
{
	const struct terms_want *want = f->want;
	bool open = want->open_left || want->open_right;
	if (want->k == 0)
		return find_part(f, want->word, want->open_left, want->open_right);
	if (has_few_terms(f))
		return open || want->k > 2 ? terms_walk_range(f, STR(""), true)
					   : terms_walk_errors(f, NULL);
	if (open || want->k > 2)
		return find_pieces(f);
	if (is_near_word(f))
		return terms_near_word(f);
	return want->k == 2 && f->text.errors.chars > 2 ? find_two_errors(f)
							: terms_walk_errors(f, NULL);
}

/* Every match contains a literal of each group; those are taken whose shortest is longest. false:
 * they are too short, or too many, to be worth the search. */
static bool match_parts(const struct rx *rx, struct terms_parts *ret)
{
	uint32_t groups, best = 0;
	size_t best_n = 1;
	const struct rx_group *group = rx_literals(rx, &groups);
	for (uint32_t i = 0; i < groups; i++) {
		size_t n = SIZE_MAX;
		for (uint32_t k = 0; k < group[i].n; k++)
			n = MIN(n, group[i].literal[k].text.n);
		if (group[i].n > 0 && group[i].n <= TERMS_PARTS_MOST && n > best_n &&
		    n != SIZE_MAX) {
			best = i;
			best_n = n;
		}
	}
	if (best_n == 1)
		return false;
	for (uint32_t k = 0; k < group[best].n; k++)
		ret->part[ret->n++] = group[best].literal[k].text;
	return true;
}

/* Each of its literals has a letter that is not a hex digit. */
static bool group_outside_hex(const struct rx_group *group)
{
	uint32_t n = 0;
	while (n < group->n && terms_outside_hex(group->literal[n].text))
		n++;
	return n > 0 && n == group->n;
}

static int find_match(struct terms_finder *f)
{
	struct terms_parts parts = {.compare = true};
	uint32_t groups;
	if (has_few_terms(f))
		return terms_walk_range(f, STR(""), true);
	const struct rx_group *group = rx_literals(f->want->rx, &groups);
	for (uint32_t i = 0; i < groups; i++)
		parts.no_hex |= group_outside_hex(&group[i]);
	(void)match_parts(f->want->rx, &parts);
	return terms_blob_parts(f, &parts, NULL);
}

/* Candidates where forms decide and are those of their term's letters. */

/* A run of ASCII as token_ascii_run() has it, small. */
static struct str small_run(struct str word, bool at_start, char small[TOKEN_FORM_MOST])
{
	return str_lower(str_head(token_ascii_run(word, at_start), TOKEN_FORM_MOST), small);
}

/* k errors leave one of k + 1 pieces of the word whole. false: a piece is not ASCII. */
static bool ascii_pieces(const struct terms_text *t, char small[TOKEN_FORM_MOST],
			 struct terms_parts *ret)
{
	struct str word = t->word;
	uint32_t pieces = t->want->k + 1;
	if (t->want->swaps || word.n > TOKEN_FORM_MOST || word.n < pieces)
		return false;
	for (size_t i = 0; i < word.n; i++) {
		if (!token_ascii((unsigned char)word.p[i]))
			return false;
		small[i] = ascii_lower(word.p[i]);
	}
	for (uint32_t i = 0; i < pieces; i++) {
		size_t from = word.n * i / pieces, to = word.n * (i + 1) / pieces;
		ret->part[ret->n++] = (struct str){small + from, to - from};
	}
	return true;
}

/* Literals as they are in terms. false: one is not ASCII. */
static bool parts_fold(struct terms_parts *parts, struct arena *arena)
{
	for (uint32_t i = 0; i < parts->n; i++) {
		struct str part = parts->part[i];
		char *small = arena_alloc(arena, part.n);
		for (size_t k = 0; k < part.n; k++) {
			if (!token_ascii((unsigned char)part.p[k]))
				return false;
			small[k] = ascii_lower(part.p[k]);
		}
		parts->part[i].p = small;
	}
	return true;
}

/* The term of a word as written. */
static int find_form(struct terms_finder *f)
{
	struct tokens tokens;
	struct token token;
	struct segment_term info;
	tokens_init(&tokens, f->want->rules, f->want->word, 0);
	if (tokens_next(&tokens, &token) != 0 || !str_eq(token.form, f->want->word))
		return 0;
	int rc = segment_term(f->segment, f->attr, token.term, &info, f->err);
	return rc == 0 ? terms_try_found(f, token.term, &info) : MIN(rc, 0);
}

static int find_by_forms(struct terms_finder *f)
{
	const struct terms_want *want = f->want;
	char small[TOKEN_FORM_MOST];
	struct terms_parts parts = {.compare = true, .cut = true};
	bool whole = want->kind == TERMS_WORD && !want->open_left && !want->open_right;
	if (whole && want->rules)
		return find_form(f);
	if (want->stemmed || whole)
		return terms_walk_range(f, STR(""), true);
	if (want->kind == TERMS_MATCH) {
		if (has_few_terms(f) || !match_parts(want->rx, &parts) ||
		    !parts_fold(&parts, &f->texts))
			return terms_walk_range(f, STR(""), true);
		return terms_blob_parts(f, &parts, NULL);
	}
	if (want->kind == TERMS_ERRORS && want->k > 0) {
		if (has_few_terms(f) || !ascii_pieces(&f->text, small, &parts))
			return terms_walk_range(f, STR(""), true);
		return terms_blob_parts(f, &parts, NULL);
	}
	if (want->kind == TERMS_PATTERN || !want->open_left) {
		struct str head = small_run(want->word, true, small);
		if (head.n > 0)
			return terms_walk_range(f, str_head(head, TOKEN_TERM_MOST / 2), true);
	}
	parts.part[0] = small_run(want->word, false, small);
	parts.n = 1;
	if (parts.part[0].n == 0 || has_few_terms(f))
		return terms_walk_range(f, STR(""), true);
	return terms_blob_parts(f, &parts, NULL);
}

static int find_all(struct terms_finder *f)
{
	const struct terms_want *want = f->want;
	if (terms_is_nothing(want))
		return 0;
	terms_text_init(&f->text, want);
	f->by_forms = terms_forms_decide(want);
	if (f->by_forms)
		return find_by_forms(f);
	switch (want->kind) {
	case TERMS_WORD:
		return find_part(f, want->word, want->open_left, want->open_right);
	case TERMS_PATTERN:
		return find_pattern(f);
	case TERMS_ERRORS:
		return find_errors(f);
	case TERMS_MATCH:
		return find_match(f);
	}
	return 0;
}

int terms_each(struct segment *s, unsigned attr, const struct terms_want *want, terms_late_fn *late,
	       void *late_ctx, terms_take_fn *take, void *take_ctx, bool *ret_cut, struct err *err)
{
	struct terms_finder f = {.segment = s, .attr = attr, .want = want, .err = err};
	f.texts = ARENA_INIT(SIZE_MAX);
	f.late = late;
	f.late_ctx = late_ctx;
	f.take = take;
	f.take_ctx = take_ctx;
	int rc = find_all(&f);
	terms_text_done(&f.text);
	arena_free(&f.texts);
	mem_free(&f.bits);
	mem_free(&f.form_errors);
	*ret_cut = f.cut;
	return MIN(rc, 0);
}

/* All in an array */

struct collected {
	struct arena *arena;
	size_t most;
	struct terms_found *found; /* on the heap; their texts one after the other */
	size_t n, room;
	struct buf texts;
	bool more;
};

static int collect_term(void *ctx, const struct terms_found *found)
{
	struct collected *c = ctx;
	if (c->n == c->most) {
		c->more = true;
		return 1;
	}
	struct terms_found *to = VEC_PUSH(c->found, c->n, c->room);
	*to = *found;
	buf_add_str(&c->texts, found->term);
	if (found->forms) {
		size_t words = ((size_t)found->nforms + 63) / 64;
		uint64_t *bits = arena_array(c->arena, words, sizeof *bits);
		memcpy(bits, found->forms, words * sizeof *bits);
		to->forms = bits;
	}
	if (found->form_errors) {
		uint8_t *errors = arena_array(c->arena, found->nforms, 1);
		memcpy(errors, found->form_errors, found->nforms);
		to->form_errors = errors;
	}
	return 0;
}

int terms_find(struct segment *s, unsigned attr, const struct terms_want *want, struct arena *arena,
	       size_t most, terms_late_fn *late, void *late_ctx, struct terms_found **ret,
	       size_t *ret_n, bool *ret_cut, struct err *err)
{
	struct collected c = {.arena = arena, .most = most, .texts = BUF_INIT(SIZE_MAX / 2)};
	bool cut;
	int rc = terms_each(s, attr, want, late, late_ctx, collect_term, &c, &cut, err);
	if (rc == 0) {
		struct terms_found *found = arena_array(arena, c.n, sizeof *found);
		const char *text = arena_str(arena, buf_str(&c.texts)).p;
		for (size_t i = 0; i < c.n; i++) {
			found[i] = c.found[i];
			found[i].term.p = text;
			text += found[i].term.n;
		}
		*ret = found;
		*ret_n = c.n;
		*ret_cut = cut || c.more;
	}
	mem_free(&c.found);
	buf_free(&c.texts);
	return rc;
}
