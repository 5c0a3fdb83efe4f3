/* A whole segment, verified: every page; every name, form and entry in order and of the right
 * number; every count; every list. That names and lists tell the same is seen by two sums over all
 * pairs of a name and a trigram, one from each side. */
#include "base/hash.h"
#include "index/names/names_segment_inner.h"

#include <inttypes.h>

struct names_seen {
	struct names_segment *s;
	uint64_t *entry; /* a bit for each */
	uint64_t entries, forms;
	uint64_t pairs, sum; /* of names and trigrams */
	struct buf last, folded, form;
};

static void release_seen(struct names_seen *v)
{
	mem_free(&v->entry);
	buf_free(&v->last);
	buf_free(&v->folded);
	buf_free(&v->form);
}

static uint64_t pair_hash(uint32_t trigram, uint32_t name)
{
	return hash_u64((uint64_t)trigram << 32 | name);
}

static int verify_form_entries(struct names_seen *v, struct names_walk *w,
			       const struct names_form *form, struct err *err)
{
	uint32_t entry[256], before = 0;
	for (uint32_t from = 0; from < form->entries;) {
		int n = names_form_entries(w, form, from, ARRAY_LEN(entry), entry, err);
		if (n < 0)
			return -1;
		for (int i = 0; i < n; i++) {
			uint64_t bit = (uint64_t)1 << entry[i] % 64;
			if ((from + (uint32_t)i > 0 && entry[i] <= before) ||
			    v->entry[entry[i] / 64] & bit)
				return parts_damaged(&v->s->f, err,
						     "entry %" PRIu32 " of name %" PRIu32
						     " is out of order or not alone",
						     entry[i], w->name);
			v->entry[entry[i] / 64] |= bit;
			before = entry[i];
		}
		from += (uint32_t)n;
	}
	v->entries += form->entries;
	return 0;
}

static int verify_forms(struct names_seen *v, struct names_walk *w, struct err *err)
{
	uint64_t entries = 0;
	for (uint32_t i = 0; i < w->forms; i++) {
		struct names_form form;
		if (names_form_get(w, i, &form, err) < 0 ||
		    verify_form_entries(v, w, &form, err) < 0)
			return -1;
		names_fold(form.text, &v->folded);
		if (!str_eq(buf_str(&v->folded), w->folded) ||
		    (i > 0 && str_cmp(form.text, buf_str(&v->form)) <= 0))
			return parts_damaged(&v->s->f, err,
					     "form %" PRIu32 " of name %" PRIu32
					     " is not in its place",
					     i, w->name);
		buf_clear(&v->form);
		buf_add_str(&v->form, form.text);
		entries += form.entries;
	}
	v->forms += w->forms;
	if (entries != w->entries)
		return parts_damaged(&v->s->f, err, "name %" PRIu32 " does not have its entries",
				     w->name);
	return 0;
}

static int verify_count(struct names_seen *v, const struct names_walk *w, struct err *err)
{
	struct names_run run = {w->name, w->name};
	uint64_t entries;
	if (names_segment_count(v->s, &run, 1, &entries, err) < 0)
		return -1;
	if (entries != w->entries)
		return parts_damaged(&v->s->f, err,
				     "the column of counts says %" PRIu64 " for name %" PRIu32
				     ", which has %" PRIu32,
				     entries, w->name, w->entries);
	return 0;
}

/* Of a name: its trigrams, and its pairs of bytes with a bit above. Long names would take the
 * square of their length, so these are asked about by a table. */
enum { FEW_BYTES = 64, PAIR_MET = 1 << 24, KEYS = PAIR_MET + (1 << 16) };
struct name_keys {
	uint32_t few[3 * FEW_BYTES], n;
	uint64_t *many;
};

/* Whether it was there before. */
static bool key_seen(struct name_keys *k, uint32_t key)
{
	bool seen = false;
	if (k->many) {
		seen = k->many[key / 64] >> key % 64 & 1;
		k->many[key / 64] |= (uint64_t)1 << key % 64;
		return seen;
	}
	for (uint32_t i = 0; i < k->n && !seen; i++)
		seen = k->few[i] == key;
	if (!seen)
		k->few[k->n++] = key;
	return seen;
}

static void add_pair(struct names_seen *v, struct name_keys *k, uint32_t trigram, uint32_t name)
{
	if (!key_seen(k, trigram)) {
		v->pairs++;
		v->sum += pair_hash(trigram, name);
	}
}

/* A trigram counts where it is first in the name; two bytes that are there once more are one with a
 * zero byte before them. */
static void add_pairs(struct names_seen *v, struct str name, uint32_t number)
{
	const uint8_t *p = (const uint8_t *)name.p;
	struct name_keys k;
	k.n = 0;
	k.many = name.n > FEW_BYTES ? mem_array(KEYS / 64, sizeof *k.many) : NULL;
	for (size_t i = 0; i < name.n; i++) {
		bool two = i + 1 < name.n;
		uint32_t pair = (uint32_t)p[i] << 8 | (two ? p[i + 1] : 0u);
		add_pair(v, &k, pair << 8 | (i + 2 < name.n ? p[i + 2] : 0u), number);
		if (two && key_seen(&k, PAIR_MET | pair))
			add_pair(v, &k, pair, number);
	}
	mem_free(&k.many);
}

static int verify_names(struct names_seen *v, struct err *err)
{
	struct names_walk w;
	const uint8_t *prefixes;
	if (parts_whole(&v->s->f, NAMES_PREFIXES, &prefixes, err) < 0)
		return -1;
	int rc = names_walk_begin(&w, v->s, 0, err);
	while (rc == 0 && (rc = names_walk_next(&w, err)) == 0) {
		bool wrong = w.name > 0 && str_cmp(buf_str(&v->last), w.folded) >= 0;
		if (w.name % NAMES_BLOCK == 0)
			wrong |= load_u64(prefixes, w.name / NAMES_BLOCK) != text_prefix(w.folded);
		if (wrong)
			rc = parts_damaged(&v->s->f, err, "name %" PRIu32 " is not in its place",
					   w.name);
		else if ((rc = verify_forms(v, &w, err)) == 0)
			rc = verify_count(v, &w, err);
		add_pairs(v, w.folded, w.name);
		buf_clear(&v->last);
		buf_add_str(&v->last, w.folded);
	}
	names_walk_end(&w);
	if (rc < 0)
		return -1;
	if (v->entries != v->s->info.entries || v->forms != v->s->info.forms)
		return parts_damaged(&v->s->f, err, "it does not have its entries and forms");
	return 0;
}

static int verify_list(struct names_seen *v, uint32_t trigram, struct names_list *l,
		       struct err *err)
{
	uint32_t name[PACK_N];
	uint64_t all = 0;
	int n;
	while ((n = names_list_block(l, 0, name, err)) > 0) {
		for (int i = 0; i < n; i++)
			v->sum -= pair_hash(trigram, name[i]);
		all += (uint64_t)n;
	}
	v->pairs -= all;
	if (n == 0 && all != l->n)
		return parts_damaged(&v->s->f, err,
				     "the list of trigram %06" PRIx32 " has %" PRIu64
				     " names, not %" PRIu32,
				     trigram, all, l->n);
	return n;
}

static int verify_lists(struct names_seen *v, struct err *err)
{
	uint64_t lists = 0;
	uint32_t before = 0;
	for (unsigned first = 0; first < NAMES_BYTES; first++) {
		char byte = (char)first;
		uint32_t at = 0;
		uint8_t t[NAMES_TRIGRAM];
		struct names_list l;
		int rc;
		while ((rc = names_list_prefix(v->s, (struct str){&byte, 1}, &at, t, &l, err)) ==
		       0) {
			uint32_t trigram = (uint32_t)t[0] << 16 | (uint32_t)t[1] << 8 | t[2];
			if (lists++ > 0 && trigram <= before)
				return parts_damaged(&v->s->f, err,
						     "its trigrams are not in order");
			before = trigram;
			if (verify_list(v, trigram, &l, err) < 0)
				return -1;
		}
		if (rc < 0)
			return -1;
	}
	if (lists != v->s->info.trigrams || v->pairs != 0 || v->sum != 0)
		return parts_damaged(&v->s->f, err,
				     "its lists do not have the trigrams of its names");
	return 0;
}

int names_segment_verify(struct names_segment *s, struct err *err)
{
	CLEANUP(release_seen)
	struct names_seen v = {.s = s,
			       .last = BUF_INIT(NAMES_FOLDED_MOST),
			       .folded = BUF_INIT(NAMES_FOLDED_MOST * 2 + 16),
			       .form = BUF_INIT(NAMES_FOLDED_MOST)};
	v.entry = mem_array((size_t)s->info.entries / 64 + 1, sizeof *v.entry);
	if (page_verify(s->f.file, err) < 0 || verify_names(&v, err) < 0 ||
	    verify_lists(&v, err) < 0)
		return -1;
	return names_segment_check(s, err);
}
