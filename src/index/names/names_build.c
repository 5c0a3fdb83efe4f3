/* Segments of names, built: names are collected without repetition, sorted, and written in order.
 *
 * A hash table finds names that are known already. Names wait in a small batch first, so that the
 * places of the table and the names in them are fetched by the processor all at once. Sorting
 * compares eight bytes at a time as numbers: a pass over all first bytes, then groups with equal
 * beginnings by the next eight bytes, with a list of groups in place of recursion.
 *
 * Beyond the memory, what was collected becomes a segment in a file without a name, and all of them
 * are merged at the end. */
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"
#include "index/names/names_segment_inner.h"
#include "index/names/names_sort.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum {
	BATCH = 32,
	BATCH_ROOM = 64 << 10, /* bytes of names that wait; more do not */
	TABLE_BITS = 12,       /* of the smallest table */
	TEXT_SLACK = 16,       /* bytes after the texts, so that 8 can be read at once */
};

struct build_slot {
	uint32_t tag, form; /* the top of the hash; number of the form + 1 */
};

struct waiting_name {
	uint32_t at, n, tag;
};

struct names_build {
	uint64_t memory;
	char *folder;
	char *text; /* of forms: the folded bytes, then those of the form where they differ */
	size_t text_n, text_room;
	struct names_sort_form *form;
	size_t forms, form_room;
	uint32_t *entry; /* the form of each entry */
	size_t entries, entry_room;
	struct build_slot *slot;
	unsigned slot_bits;
	uint64_t seed;
	struct waiting_name waiting[BATCH];
	size_t waiting_n;
	struct buf waiting_text;
	/* what went to files */
	struct names_segment **spilled;
	size_t spilled_n, spilled_room;
	uint64_t spilled_entries;
};

struct names_build *names_build_new(uint64_t memory, const char *folder)
{
	struct names_build *b = mem_alloc(sizeof *b);
	b->memory = MAX(memory, (uint64_t)NAMES_MEMORY_MIN);
	b->folder = mem_text(folder);
	b->waiting_text = BUF_INIT(BATCH_ROOM + NAMES_NAME_MOST);
	b->seed = hash_u64((uintptr_t)b ^ (uint64_t)getpid() << 32);
	return b;
}

static void forget_collected(struct names_build *b)
{
	mem_free(&b->text);
	mem_free(&b->form);
	mem_free(&b->entry);
	mem_free(&b->slot);
	b->text_n = b->text_room = b->forms = b->form_room = b->entries = b->entry_room = 0;
	b->slot_bits = 0;
}

void names_build_free(struct names_build **bp)
{
	struct names_build *b = *bp;
	if (!b)
		return;
	forget_collected(b);
	for (size_t i = 0; i < b->spilled_n; i++)
		names_segment_close(&b->spilled[i]);
	mem_free(&b->spilled);
	mem_free(&b->folder);
	buf_free(&b->waiting_text);
	mem_free(bp);
}

uint64_t names_build_entries(const struct names_build *b)
{
	return b->spilled_entries + b->entries + b->waiting_n;
}

/* Collecting */

static void grow_table(struct names_build *b)
{
	unsigned bits = b->slot_bits ? b->slot_bits + 1 : TABLE_BITS;
	struct build_slot *slot = mem_array((size_t)1 << bits, sizeof *slot);
	uint32_t mask = ((uint32_t)1 << bits) - 1;
	for (size_t i = 0; b->slot && i < (size_t)1 << b->slot_bits; i++) {
		if (!b->slot[i].form)
			continue;
		uint32_t k = b->slot[i].tag >> (32 - bits);
		while (slot[k].form)
			k = (k + 1) & mask;
		slot[k] = b->slot[i];
	}
	mem_free(&b->slot);
	b->slot = slot;
	b->slot_bits = bits;
}

static struct str text_of_form(const struct names_build *b, uint32_t form)
{
	const struct names_sort_form *f = &b->form[form];
	const char *p = b->text + f->at;
	return f->other ? (struct str){p + f->n, f->other - 1} : (struct str){p, f->n};
}

static uint32_t add_form(struct names_build *b, struct str name)
{
	size_t need = name.n * (1 + NAMES_FOLD_GROWS) + TEXT_SLACK;
	if (b->text_room - b->text_n < need) {
		b->text_room = MAX(b->text_room + b->text_room / 2, b->text_n + need + (1 << 16));
		b->text = mem_resize(b->text, b->text_room);
	}
	char *p = b->text + b->text_n;
	struct names_sort_form f = {.at = b->text_n};
	f.n = (uint32_t)names_fold_to(name, p);
	if (f.n != name.n || (name.n && memcmp(p, name.p, name.n) != 0)) {
		memcpy(p + f.n, name.p, name.n);
		f.other = (uint32_t)name.n + 1;
		b->text_n += name.n;
	}
	b->text_n += f.n;
	*VEC_PUSH(b->form, b->forms, b->form_room) = f;
	return (uint32_t)b->forms - 1;
}

static uint32_t find_form(struct names_build *b, struct str name, uint32_t tag)
{
	uint32_t mask = ((uint32_t)1 << b->slot_bits) - 1, k = tag >> (32 - b->slot_bits);
	for (; b->slot[k].form; k = (k + 1) & mask)
		if (b->slot[k].tag == tag && str_eq(text_of_form(b, b->slot[k].form - 1), name))
			return b->slot[k].form - 1;
	uint32_t form = add_form(b, name);
	b->slot[k] = (struct build_slot){tag, form + 1};
	return form;
}

static void fetch_slot(const struct names_build *b, uint32_t tag)
{
	__builtin_prefetch(&b->slot[tag >> (32 - b->slot_bits)]);
}

static void take_waiting(struct names_build *b)
{
	if (b->slot_bits == 0 || (b->forms + BATCH) * 2 > (size_t)1 << b->slot_bits)
		grow_table(b);
	const struct waiting_name *w = b->waiting;
	uint32_t known[BATCH];
	for (size_t i = 0; i < b->waiting_n; i++)
		fetch_slot(b, w[i].tag);
	for (size_t i = 0; i < b->waiting_n; i++) {
		const struct build_slot *slot = &b->slot[w[i].tag >> (32 - b->slot_bits)];
		known[i] = slot->tag == w[i].tag ? slot->form : 0;
		if (known[i])
			__builtin_prefetch(&b->form[known[i] - 1]);
	}
	for (size_t i = 0; i < b->waiting_n; i++)
		if (known[i])
			__builtin_prefetch(b->text + b->form[known[i] - 1].at);
	VEC_ROOM(b->entry, b->entry_room, b->entries + b->waiting_n);
	for (size_t i = 0; i < b->waiting_n; i++) {
		struct str name = STR("");
		if (w[i].n)
			name = (struct str){b->waiting_text.p + w[i].at, w[i].n};
		b->entry[b->entries++] = find_form(b, name, w[i].tag);
	}
	b->waiting_n = 0;
	buf_clear(&b->waiting_text);
}

/* What is collected, with what sorting and writing it takes. */
static uint64_t memory_used(const struct names_build *b)
{
	return b->text_n + b->forms * (sizeof *b->form + 2 * sizeof(struct names_sort_key)) +
	       ((uint64_t)sizeof *b->slot << b->slot_bits) + b->entries * 2 * sizeof *b->entry;
}

/* Of the memory, what is left to trigrams while a segment is written. */
static uint64_t trigram_memory(const struct names_build *b)
{
	return b->memory / 4;
}

/* Writing what is collected */

static void release_form(struct names_put_form **p)
{
	mem_free(p);
}

/* The entries of each form, in the order of forms: where those of each end, after filling. */
static uint32_t *entries_by_form(const struct names_build *b, const struct names_sort_key *key,
				 uint32_t **ret_end)
{
	uint32_t *at = mem_array(b->forms + 1, sizeof *at);
	uint32_t *entry = mem_array(b->entries + 1, sizeof *entry), sum = 0;
	for (size_t i = 0; i < b->entries; i++)
		at[b->entry[i]]++;
	for (size_t i = 0; i < b->forms; i++) {
		uint32_t n = at[key[i].form];
		at[key[i].form] = sum;
		sum += n;
	}
	for (size_t i = 0; i < b->entries; i++)
		entry[at[b->entry[i]]++] = (uint32_t)i;
	*ret_end = at;
	return entry;
}

static struct str folded_of_form(const struct names_build *b, uint32_t form)
{
	return (struct str){b->text + b->form[form].at, b->form[form].n};
}

static int put_collected(const struct names_build *b, const struct names_sort_key *key,
			 struct names_put *put, struct err *err)
{
	uint32_t *end, *entry = entries_by_form(b, key, &end), start = 0;
	CLEANUP(release_form) struct names_put_form *form = NULL;
	size_t forms, room = 0;
	int rc = 0;
	for (size_t i = 0; i < b->forms && rc == 0; i += forms) {
		struct str folded = folded_of_form(b, key[i].form);
		if (i + 24 < b->forms)
			__builtin_prefetch(&b->form[key[i + 24].form]);
		if (i + 12 < b->forms)
			__builtin_prefetch(b->text + b->form[key[i + 12].form].at);
		forms = 0;
		do {
			uint32_t f = key[i + forms].form;
			*VEC_PUSH(form, forms, room) = (struct names_put_form){
				text_of_form(b, f), entry + start, end[f] - start};
			start = end[f];
		} while (i + forms < b->forms &&
			 str_eq(folded_of_form(b, key[i + forms].form), folded));
		rc = names_put(put, folded, form, (uint32_t)forms, err);
	}
	mem_free(&end);
	mem_free(&entry);
	return rc;
}

static void sample_collected(const struct names_build *b, struct names_sample *sample)
{
	for (size_t i = 0; i < b->forms; i++) {
		uint64_t hash;
		struct str folded = folded_of_form(b, (uint32_t)i);
		if (names_sample_wants(sample, folded, &hash))
			names_sample_add(sample, folded, hash);
	}
}

static int write_collected(struct names_build *b, const char *path, struct err *err)
{
	struct names_put *put;
	struct names_sample sample;
	names_sample_init(&sample);
	sample_collected(b, &sample);
	int rc = names_put_begin(&put, path, &sample, (uint32_t)b->entries, trigram_memory(b),
				 b->folder, err);
	names_sample_free(&sample);
	if (rc < 0)
		return -1;
	mem_free(&b->slot);
	if (b->forms)
		memset(b->text + b->text_n, 0, TEXT_SLACK);
	struct names_sort_key *key = names_sort(b->text, b->form, (uint32_t)b->forms);
	rc = put_collected(b, key, put, err);
	mem_free(&key);
	if (rc < 0)
		names_put_drop(&put);
	else
		rc = names_put_finish(&put, err);
	return rc;
}

/* A segment in a file that has no name once it is open. */
static int spill_collected(struct names_build *b, struct err *err)
{
	struct buf path = BUF_INIT(8192);
	struct names_segment *s = NULL;
	struct err late;
	buf_printf(&path, "%s/names-%ld-%zu.tmp", b->folder, (long)getpid(), b->spilled_n);
	int rc = write_collected(b, buf_text(&path), err);
	if (rc == 0)
		rc = names_segment_open(&s, buf_text(&path), err);
	(void)file_remove(buf_text(&path), &late);
	buf_free(&path);
	if (rc < 0)
		return -1;
	*VEC_PUSH(b->spilled, b->spilled_n, b->spilled_room) = s;
	b->spilled_entries += b->entries;
	forget_collected(b);
	return 0;
}

int names_build_add(struct names_build *b, struct str name, struct err *err)
{
	if (name.n > NAMES_NAME_MOST)
		return err_set(err, ERR_USAGE, "a name of %zu bytes: at most %d can be taken",
			       name.n, NAMES_NAME_MOST);
	if (names_build_entries(b) >= NAMES_ENTRIES_MOST)
		return err_set(err, ERR_USAGE, "more than %d names cannot be taken",
			       NAMES_ENTRIES_MOST);
	uint32_t tag = (uint32_t)(hash64_seeded(name, b->seed) >> 32);
	b->waiting[b->waiting_n++] =
		(struct waiting_name){(uint32_t)b->waiting_text.n, (uint32_t)name.n, tag};
	buf_add(&b->waiting_text, name.p, name.n);
	if (b->waiting_n < BATCH && b->waiting_text.n < BATCH_ROOM)
		return 0;
	take_waiting(b);
	return memory_used(b) > b->memory - trigram_memory(b) ? spill_collected(b, err) : 0;
}

int names_build_write(struct names_build *b, const char *path, struct err *err)
{
	take_waiting(b);
	if (b->spilled_n == 0)
		return write_collected(b, path, err);
	if (b->entries && spill_collected(b, err) < 0)
		return -1;
	struct names_range *keep = mem_array(b->spilled_n, sizeof *keep);
	for (size_t i = 0; i < b->spilled_n; i++)
		keep[i] = (struct names_range){(uint32_t)i, 0,
					       names_segment_info(b->spilled[i])->entries};
	int rc = names_segment_merge(b->spilled, b->spilled_n, keep, b->spilled_n, b->memory,
				     b->folder, path, err);
	mem_free(&keep);
	return rc;
}
