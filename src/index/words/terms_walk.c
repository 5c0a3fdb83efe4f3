/* Terms looked for in the dictionary, in its order.
 *
 * With errors an automaton reads the terms. Its states along the current term are kept, a state for
 * each byte, so that the next term goes on from what it shares with this one. Where a term leads
 * nowhere, errors_next() says which text is the least that may still lead somewhere; all before it
 * is passed over: the rest of the block by its counts of shared bytes alone, and whole blocks by
 * the array of their first bytes. For one error and a million and a half terms a few hundred
 * blocks are entered. */
#include "index/words/dict.h"
#include "index/words/terms_inner.h"

int terms_walk_range(struct terms_finder *f, struct str head, bool compare)
{
	struct segment_walk w;
	int rc;
	uint32_t errors = 0;
	if (segment_walk(f->segment, f->attr, head, &w, f->err) < 0)
		return -1;
	while ((rc = segment_walk_next(&w, f->err)) == 0 && str_starts(w.term, head)) {
		if (f->by_forms)
			rc = terms_try_found(f, w.term, &w.info);
		else if (!compare || terms_text_is(&f->text, w.term, &errors))
			rc = terms_take(f, w.term, &w.info, errors);
		if (rc != 0)
			return rc;
		if (terms_looked(f, 1))
			return 1;
	}
	return MIN(rc, 0);
}

struct errors_walk {
	struct dict_scan scan;
	struct terms_finds *finds;
	char text[TOKEN_TERM_MOST];
	uint32_t alive; /* bytes of the text whose states are good */
	struct errors_rows state[TOKEN_TERM_MOST + 1];
};

/* The text is dead after `alive` bytes. Enters the block that has the next one that may lead
 * somewhere, unless it is the current one. 1: there is none, or it is late. */
static int walk_on(struct terms_finder *f, struct errors_walk *w)
{
	struct dict_scan *scan = &w->scan;
	uint32_t at = w->alive;
	unsigned next;
	while ((next = errors_next(&f->text.errors, &w->state[at],
				   (unsigned char)w->text[at] + 1u)) > UINT8_MAX)
		if (at-- == 0)
			return 1;
	/* Entries that share more than this are before what is sought. */
	w->alive = at;
	if (at >= sizeof(uint64_t) || scan->block + 1 == scan->end)
		return 0;
	uint64_t prefix = 0;
	for (uint32_t i = 0; i < at; i++)
		prefix = prefix << 8 | (unsigned char)w->text[i];
	prefix = (prefix << 8 | next) << 8 * (sizeof prefix - 1 - at);
	if (dict_scan_prefix(scan, scan->block + 1) >= prefix)
		return 0;
	if (terms_looked(f, SEGMENT_DICT_BLOCK))
		return 1;
	return dict_scan_enter(scan, dict_scan_find(scan, scan->block + 1, prefix), f->err);
}

/* The current entry of the scan. */
static int walk_term(struct terms_finder *f, struct errors_walk *w)
{
	const struct dict_own *own = &w->scan.own;
	const struct errors_word *word = &f->text.errors;
	uint32_t at = own->shared, n = own->shared + own->n, from = 0;
	/* The first of a block shares nothing by its coding. */
	if (at == 0)
		while (from < MIN(w->alive, own->n) && w->text[from] == (char)own->p[from])
			from++;
	memcpy(w->text + at + from, own->p + from, own->n - from);
	at += from;
	at = (uint32_t)errors_run(word, w->state, at, (struct str){w->text, n});
	w->alive = at;
	if (at < n)
		return walk_on(f, w);
	uint32_t errors = errors_end(word, &w->state[n]);
	if (errors > word->k)
		return 0;
	struct segment_term info;
	struct str term = {w->text, n};
	if (w->finds)
		return terms_finds_add(w->finds, arena_str(&f->texts, term), errors);
	if (dict_scan_info(&w->scan, &info, f->err) < 0)
		return -1;
	return terms_take(f, term, &info, errors);
}

static int walk_block(struct terms_finder *f, struct errors_walk *w)
{
	int rc;
	while ((rc = dict_scan_next(&w->scan, w->alive, f->err)) == 0) {
		rc = walk_term(f, w);
		if (rc != 0)
			return rc < 0 ? -1 : 2;
	}
	return rc;
}

int terms_walk_errors(struct terms_finder *f, struct terms_finds *finds)
{
	struct errors_walk w;
	w.finds = finds;
	w.alive = 0;
	int rc = dict_scan_init(&w.scan, f->segment, f->attr, f->err);
	errors_start(&f->text.errors, &w.state[0]);
	if (rc == 0)
		rc = dict_scan_enter(&w.scan, w.scan.block, f->err);
	while (rc == 0) {
		rc = walk_block(f, &w);
		if (rc != 1)
			break;
		if (w.scan.block + 1 == w.scan.end || terms_looked(f, SEGMENT_DICT_BLOCK))
			break;
		rc = dict_scan_enter(&w.scan, w.scan.block + 1, f->err);
	}
	return rc < 0 ? -1 : 0;
}
