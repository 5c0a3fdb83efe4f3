/* Unions: one list out of the lists of all terms that a word means.
 *
 * Few postings are gathered and sorted. Many are added up in arrays with a place for each document
 * of the segment, or a bit where nobody scores, which are then swept in order. Both are made
 * when the query is planned and in all segments, because the weight of the word needs to know how
 * many documents there are in all. Most terms of a pattern are rare and have but one document,
 * which the dictionary tells: no list is opened for these. */
#include "base/vec.h"
#include "index/query/exec.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum {
	SPARSE = 64,       /* documents for each posting, from which on they are sorted */
	SPARSE_LEAST = 16, /* the same where arrays would be too large */
	DIGIT = 11,        /* bits that are sorted by at once */
	DIGIT_FEW = 7,     /* the same of few keys */
	DIGIT_FEW_FROM = 1024,
	SORT_FEW = 64,   /* sorted one by one */
	NEAREST = 255,   /* no errors: the greatest wins, 0 is none yet */
	LONG_FROM = 96,  /* bytes of a term that may have been cut, and stemmed then */
	SWEEP = 1 << 10, /* words of 64 documents between two looks at the clock */
};

bool exec_may_make(struct exec *e, size_t n)
{
	if (n > EXEC_MADE_MOST || e->made > EXEC_MADE_MOST - n) {
		e->partial = true;
		return false;
	}
	return true;
}

static void sort_few(uint64_t *v, size_t n, unsigned shift, uint64_t mask)
{
	for (size_t i = 1; i < n; i++) {
		uint64_t one = v[i], key = one >> shift & mask;
		size_t j = i;
		for (; j > 0 && (v[j - 1] >> shift & mask) > key; j--)
			v[j] = v[j - 1];
		v[j] = one;
	}
}

static void sort_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, unsigned digit)
{
	uint32_t start[1 << DIGIT], sum = 0;
	uint64_t mask = (UINT64_C(1) << digit) - 1;
	memset(start, 0, sizeof *start << digit);
	for (size_t i = 0; i < n; i++)
		start[from[i] >> shift & mask]++;
	for (size_t i = 0; i <= mask; i++) {
		uint32_t count = start[i];
		start[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[start[from[i] >> shift & mask]++] = from[i];
}

/* All digits of a pass are looked at, so few keys have small ones. */
void exec_sort(uint64_t *v, uint64_t *tmp, size_t n, unsigned shift, unsigned bits)
{
	uint64_t *from = v, *to = tmp;
	unsigned digit = n < DIGIT_FEW_FROM ? DIGIT_FEW : DIGIT;
	if (n <= SORT_FEW) {
		sort_few(v, n, shift, (UINT64_C(1) << bits) - 1);
		return;
	}
	ENSURE(n <= UINT32_MAX);
	for (unsigned done = 0; done < bits; done += digit) {
		sort_digit(from, to, n, shift + done, MIN(digit, bits - done));
		uint64_t *swap = from;
		from = to;
		to = swap;
	}
	if (from != v)
		memcpy(v, from, n * sizeof *v);
}

/* What is being made: keys that will be sorted, or, when these become many, arrays. */
struct making {
	struct exec *e;
	struct exec_term *term;
	struct segment *segment;
	size_t part; /* the number of it */
	uint32_t docs;
	bool tfs;    /* somebody will score */
	bool errors; /* and there may be errors */
	bool full;   /* of the memory that there is */
	/* The first term waits: if it stays alone, its list does. */
	struct terms_found first;
	uint64_t terms;
	uint64_t *key; /* document << 16 | errors << 8 | frequency */
	size_t keys, key_room, keys_most;
	/* By document: frequency, and NEAREST - errors; a bit, where nobody scores. */
	bool dense;
	size_t dense_bytes;
	uint8_t *tf, *near;
	uint64_t *bit;
	struct exec_union *made;
	uint32_t buffer[2][SEGMENT_BLOCK];
};

static size_t words_of_docs(const struct making *m)
{
	return ((size_t)m->docs + 63) / 64;
}

/* Bytes that are written may be any of *m to the compiler, which would read it each time. */
static void add_tfs(struct making *m, const uint32_t *doc, const uint32_t *tf, uint32_t n)
{
	uint8_t *sum = m->tf;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = doc[i], more = sum[at] + tf[i];
		sum[at] = (uint8_t)MIN(more, (uint32_t)SEGMENT_TF_MOST);
	}
}

static void add_dense(struct making *m, const uint32_t *doc, const uint32_t *tf, uint32_t n,
		      uint32_t errors)
{
	uint8_t near = (uint8_t)(NEAREST - errors);
	if (m->tfs)
		add_tfs(m, doc, tf, n);
	for (uint32_t i = 0; m->errors && i < n; i++)
		m->near[doc[i]] = MAX(m->near[doc[i]], near);
	for (uint32_t i = 0; !m->tfs && i < n; i++)
		m->bit[doc[i] / 64] |= UINT64_C(1) << doc[i] % 64;
}

static size_t bytes_if_dense(const struct making *m)
{
	size_t per_word = (m->tfs ? 64u : sizeof *m->bit) + (m->errors ? 64u : 0);
	return words_of_docs(m) * per_word;
}

/* How many keys may be sorted. */
static size_t keys_most(const struct making *m)
{
	size_t bytes = bytes_if_dense(m), made = m->e->made;
	bool fits = bytes <= EXEC_MADE_MOST && made <= EXEC_MADE_MOST - bytes;
	return MAX(m->docs / (fits ? SPARSE : SPARSE_LEAST), (uint32_t)SEGMENT_BLOCK);
}

/* false: there is no memory for it. */
static bool become_dense(struct making *m)
{
	size_t words = words_of_docs(m), bytes = bytes_if_dense(m);
	m->full = !exec_may_make(m->e, bytes);
	if (m->full)
		return false;
	m->dense = true;
	m->dense_bytes = bytes;
	m->e->made += bytes;
	m->tf = m->tfs ? mem_array(words, 64) : NULL;
	m->near = m->errors ? mem_array(words, 64) : NULL;
	m->bit = m->tfs ? NULL : mem_array(words, sizeof *m->bit);
	for (size_t i = 0; i < m->keys; i++) {
		uint32_t doc = (uint32_t)(m->key[i] >> 16), tf = m->key[i] & 0xff;
		add_dense(m, &doc, &tf, 1, m->key[i] >> 8 & 0xff);
	}
	m->keys = 0;
	return true;
}

static bool add_postings(struct making *m, const uint32_t *doc, const uint32_t *tf, uint32_t n,
			 uint32_t errors)
{
	if (!m->dense && m->keys + n > m->keys_most && !become_dense(m))
		return false;
	if (m->dense) {
		add_dense(m, doc, tf, n, errors);
		return true;
	}
	VEC_ROOM(m->key, m->key_room, m->keys + n);
	uint64_t *key = m->key + m->keys;
	for (uint32_t i = 0; i < n; i++)
		key[i] = (uint64_t)doc[i] << 16 | errors << 8 | tf[i];
	m->keys += n;
	return true;
}

/* 1: it is late, or there is no memory. */
static int add_list(struct making *m, const struct segment_term *info, uint32_t errors)
{
	static const uint32_t once = 1;
	struct exec *e = m->e;
	uint32_t *doc = m->buffer[0], *tf = m->buffer[1];
	struct postings p;
	bool good = true;
	if (info->bytes == 0)
		return add_postings(m, &info->doc, &once, 1, errors) ? exec_late(e) : 1;
	int rc = postings_open(m->segment, info, &p, e->err);
	for (uint32_t b = 0; rc == 0 && good && b < p.blocks && !exec_late(e); b++) {
		rc = postings_docs(&p, b, doc, e->err);
		if (rc == 0 && m->tfs)
			rc = postings_tfs(&p, b, tf, e->err);
		if (rc == 0)
			good = add_postings(m, doc, tf, postings_in_block(&p, b), errors);
	}
	postings_close(&p);
	return rc < 0 ? -1 : !good || e->cut;
}

/* For explanations, and for the order of the best. */
static void tell_word(struct making *m, struct str word)
{
	struct exec_term *t = m->term;
	uint32_t i = 0;
	t->words++;
	if (!t->told)
		t->told = arena_array(m->e->arena, EXEC_WORDS_TOLD, sizeof *t->told);
	while (!t->untold && i < t->tolds && !str_eq(t->told[i], word))
		i++;
	if (t->untold || i < t->tolds)
		return;
	if (i == EXEC_WORDS_TOLD)
		t->untold = true;
	else
		t->told[t->tolds++] = arena_str(m->e->arena, word);
}

static const struct exec_forms *keep_forms(struct making *m, const struct terms_found *found)
{
	if (!found->forms)
		return NULL;
	struct exec_forms *forms = arena_alloc(m->e->arena, sizeof *forms + found->nforms);
	forms->n = found->nforms;
	for (uint32_t i = 0; i < found->nforms; i++) {
		uint32_t errors = found->form_errors ? found->form_errors[i] : found->errors;
		bool meant = found->forms[i / 64] >> i % 64 & 1;
		forms->errors[i] = meant ? (uint8_t)errors : EXEC_NOT_MEANT;
	}
	m->e->made += sizeof *forms + found->nforms;
	return forms;
}

/* 1: there is no memory for it. */
static int keep_meant(struct making *m, const struct terms_found *found)
{
	struct exec_union *u = m->made;
	struct segment_term info = found->info;
	size_t bytes = u->meant_room * sizeof *u->meant;
	if (u->meants == u->meant_room && bytes) {
		m->full = !exec_may_make(m->e, bytes);
		if (m->full)
			return 1;
		m->e->made += bytes;
	}
	int rc = 0;
	if (m->term->attribute.n)
		rc = segment_term(m->segment, SEGMENT_COMBINED, found->term, &info, m->e->err);
	if (rc != 0)
		return MIN(rc, 0);
	bool inside = info.bytes == 0;
	*VEC_PUSH(u->meant, u->meants, u->meant_room) = (struct exec_meant){
		.at = inside ? (uint64_t)info.doc << 32 | info.position : info.at,
		.bytes = info.bytes & ((UINT64_C(1) << 48) - 1),
		.errors = (uint8_t)found->errors,
		.variant = (uint8_t)info.variant,
		.df = info.df,
		.occurrences = (uint32_t)info.occurrences,
		.forms = keep_forms(m, found)};
	return 0;
}

void exec_terms_free(struct exec *e)
{
	for (uint32_t i = 0; i < e->terms; i++)
		for (size_t k = 0; e->term[i].made && k < e->parts; k++)
			mem_free(&e->term[i].made[k].meant);
}

static int take_term(void *ctx, const struct terms_found *found)
{
	struct making *m = ctx;
	int rc = 0;
	tell_word(m, found->term);
	if (m->term->kept)
		rc = keep_meant(m, found);
	if (rc != 0)
		return rc;
	if (m->terms++ == 0) {
		m->first = *found;
		return 0;
	}
	if (m->terms == 2)
		rc = add_list(m, &m->first.info, m->first.errors);
	return rc == 0 ? add_list(m, &found->info, found->errors) : rc;
}

/* The list */

/* Room for df postings, in whole blocks. Scores are made when a segment is opened and given back
 * after it, so what counts is the segment that has most of them. false: there is none. */
static bool union_room(struct making *m, struct exec_union *u, size_t df)
{
	struct exec *e = m->e;
	size_t blocks = (df + SEGMENT_BLOCK - 1) / SEGMENT_BLOCK, n = blocks * SEGMENT_BLOCK;
	size_t scores = e->scores[m->part] + (m->tfs ? (n + blocks) * sizeof *u->scores : 0);
	size_t scores_most = MAX(e->scores_most, scores);
	size_t bytes = n * (sizeof *u->docs + (m->tfs ? 1 : 0) + (m->errors ? 1 : 0)) +
		       blocks * sizeof *u->last + (scores_most - e->scores_most);
	if (df == 0 || !exec_may_make(e, bytes))
		return false;
	e->made += bytes;
	e->scores[m->part] = scores;
	e->scores_most = scores_most;
	u->df = (uint32_t)df;
	u->blocks = (uint32_t)blocks;
	u->docs = arena_array(e->arena, n, sizeof *u->docs);
	u->last = arena_array(e->arena, blocks, sizeof *u->last);
	u->tf = m->tfs ? arena_array(e->arena, n, 1) : NULL;
	u->errors = m->errors ? arena_array(e->arena, n, 1) : NULL;
	for (size_t i = df; i < n; i++)
		u->docs[i] = NO_DOC;
	return true;
}

static void end_blocks(struct exec_union *u)
{
	for (uint32_t b = 0; b < u->blocks; b++)
		u->last[b] = u->docs[MIN((b + 1) * SEGMENT_BLOCK, u->df) - 1];
}

static unsigned bits_of(uint32_t n)
{
	return n ? 32 - (unsigned)__builtin_clz(n) : 1;
}

static void sort_keys(struct making *m)
{
	uint64_t *tmp = mem_array(m->keys, sizeof *tmp);
	exec_sort(m->key, tmp, m->keys, 16, bits_of(m->docs));
	mem_free(&tmp);
}

static void merge_keys(struct making *m, struct exec_union *u)
{
	size_t df = 0, n = 0;
	for (size_t i = 0; i < m->keys; i++)
		df += i == 0 || m->key[i] >> 16 != m->key[i - 1] >> 16;
	if (!union_room(m, u, df))
		return;
	for (size_t i = 0; i < m->keys; n++) {
		uint64_t key = m->key[i];
		uint32_t tf = 0, errors = UINT8_MAX;
		for (; i < m->keys && m->key[i] >> 16 == key >> 16; i++) {
			tf += m->key[i] & 0xff;
			errors = MIN(errors, (uint32_t)(m->key[i] >> 8 & 0xff));
		}
		u->docs[n] = (uint32_t)(key >> 16);
		if (m->tfs)
			u->tf[n] = (uint8_t)MIN(tf, (uint32_t)SEGMENT_TF_MOST);
		if (m->errors)
			u->errors[n] = (uint8_t)errors;
	}
	end_blocks(u);
}

/* How many of 64 documents are there. */
static inline size_t present_count(const struct making *m, size_t word)
{
	if (!m->tfs)
		return (size_t)__builtin_popcountll(m->bit[word]);
	const uint8_t *tf = m->tf + word * 64;
	uint8_t n = 0;
	for (unsigned i = 0; i < 64; i++)
		n = (uint8_t)(n + (tf[i] != 0));
	return n;
}

/* Which of them. */
static inline uint64_t present_bits(const struct making *m, size_t word)
{
	if (!m->tfs)
		return m->bit[word];
	const uint8_t *tf = m->tf + word * 64;
	uint64_t bits = 0;
#if defined(__SSE2__)
	for (unsigned i = 0; i < 64; i += 16) {
		__m128i v = _mm_loadu_si128((const __m128i *)(const void *)(tf + i));
		unsigned none = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128()));
		bits |= (uint64_t)(~none & 0xffff) << i;
	}
#else
	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)(tf[i] != 0) << i;
#endif
	return bits;
}

static void gather_bytes(const uint8_t *from, const uint32_t *doc, size_t n, uint8_t *to)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[doc[i]];
}

static void sweep_docs(struct making *m, struct exec_union *u)
{
	size_t words = words_of_docs(m), df = 0, n = 0;
	for (size_t w = 0; w < words; w++)
		df += present_count(m, w);
	if (!union_room(m, u, df))
		return;
	uint32_t *docs = u->docs;
	for (size_t w = 0; w < words && !(w % SWEEP == 0 && exec_late(m->e)); w++)
		for (uint64_t left = present_bits(m, w); left; left &= left - 1, n++)
			docs[n] = (uint32_t)(w * 64 + (size_t)__builtin_ctzll(left));
	if (m->tfs)
		gather_bytes(m->tf, docs, n, u->tf);
	if (m->errors)
		gather_bytes(m->near, docs, n, u->errors);
	for (size_t i = 0; m->errors && i < n; i++)
		u->errors[i] = (uint8_t)(NEAREST - u->errors[i]);
	if (n == df) {
		end_blocks(u);
		return;
	}
	u->docs = NULL; /* the time is up, and nobody will look at it */
	u->df = u->blocks = 0;
}

static int end_union(struct making *m, size_t part)
{
	struct exec_term *t = m->term;
	struct exec_union *u = &t->made[part];
	if (m->terms == 1 && m->first.errors == 0) {
		t->info[part] = m->first.info;
		t->df += m->first.info.df;
		return 0;
	}
	if (m->terms == 1 && add_list(m, &m->first.info, m->first.errors) < 0)
		return -1;
	if (m->dense) {
		sweep_docs(m, u);
	} else if (m->keys) {
		sort_keys(m);
		merge_keys(m, u);
	}
	t->df += u->df;
	return 0;
}

/* Words that are longer than terms can be are known by their beginning only: whatever is looked for
 * may be in the rest. */
static int take_long_terms(struct making *m, unsigned attr)
{
	struct err *err = m->e->err;
	int rc = 0;
	for (uint32_t length = LONG_FROM; rc == 0 && length <= TOKEN_TERM_MOST; length++) {
		struct segment_blob blob;
		if (segment_blob(m->segment, length, SEGMENT_HEX, &blob, err) < 0)
			return -1;
		for (size_t i = 0; rc == 0 && i < blob.from[SEGMENT_RUNS]; i++) {
			struct terms_found one = {.term = {blob.p + i * length, length}};
			rc = segment_term(m->segment, attr, one.term, &one.info, err);
			rc = rc == 0 ? take_term(m, &one) : MIN(rc, 0);
			if (rc == 0 && exec_late(m->e))
				rc = 1;
		}
	}
	return rc;
}

static int take_terms(struct making *m, unsigned attr)
{
	struct exec *e = m->e;
	const struct exec_term *t = m->term;
	bool cut = false;
	int rc = 0;
	for (uint32_t i = 0; rc == 0 && i < t->wants && !e->cut && !m->full; i++)
		rc = terms_each(m->segment, attr, &t->want[i], exec_late_now, e, take_term, m, &cut,
				e->err);
	if (rc == 0 && t->long_terms && !e->cut && !m->full)
		rc = take_long_terms(m, attr);
	return MIN(rc, 0);
}

int exec_union_make(struct exec *e, struct exec_term *t, size_t part)
{
	struct segment *s = e->part[part].segment;
	int attr = SEGMENT_COMBINED;
	if (e->cut || (t->attribute.n && (attr = segment_attr(s, t->attribute)) < 0))
		return 0;
	struct making m = {.e = e, .term = t, .segment = s, .part = part};
	m.docs = segment_info(s)->docs;
	m.made = &t->made[part];
	m.tfs = (e->query->order == QUERY_BY_RANK || e->query->explain) && !t->unscored;
	m.errors = m.tfs && t->want->kind == TERMS_ERRORS;
	m.keys_most = keys_most(&m);
	for (uint32_t i = 0; !m.tfs && i < SEGMENT_BLOCK; i++)
		m.buffer[1][i] = 1;
	int rc = take_terms(&m, (unsigned)attr);
	if (rc == 0)
		rc = end_union(&m, part);
	e->made -= m.dense_bytes;
	mem_free(&m.key);
	mem_free(&m.tf);
	mem_free(&m.near);
	mem_free(&m.bit);
	return rc;
}

/* Scores */

void exec_union_score(struct exec *e, const struct exec_term *t, struct exec_union *u)
{
	if (u->scores)
		return;
	u->scores = arena_array(e->arena, (size_t)u->blocks * SEGMENT_BLOCK, sizeof *u->scores);
	u->bounds = arena_array(e->arena, u->blocks, sizeof *u->bounds);
	u->most = 0;
	for (uint32_t b = 0; u->tf && b < u->blocks && !exec_late(e); b++) {
		size_t at = (size_t)b * SEGMENT_BLOCK;
		uint32_t tf[SEGMENT_BLOCK], n = MIN(u->df - b * SEGMENT_BLOCK, SEGMENT_BLOCK);
		uint32_t *score = u->scores + at, most = 0;
		for (uint32_t i = 0; i < SEGMENT_BLOCK; i++)
			tf[i] = u->tf[at + i];
		rank_scores(t->weight, u->docs + at, tf, e->lengths, n, &e->norms, score);
		for (uint32_t i = 0; u->errors && i < n; i++)
			score[i] /= 1u + u->errors[at + i];
		for (uint32_t i = 0; i < n; i++)
			most = MAX(most, score[i]);
		u->bounds[b] = most;
		u->most = MAX(u->most, most);
	}
}
