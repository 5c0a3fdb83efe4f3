/* All of a names index, held against itself: every page and line of the parts, every page and list
 * of the segments, and every entry of a segment against the line that it stands for. */
#include "index/names/names_store.h"

#include <inttypes.h>

enum { VERIFY_BATCH = 1024 };

struct verify {
	struct names_reader *r;
	const struct names_layer *layer;
	size_t number;  /* of the layer */
	uint64_t *seen; /* a bit for each entry */
	struct arena arena;
};

static int entry_damaged(const struct verify *v, uint32_t entry, const char *what, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "segment %zu of %zu: entry %" PRIu32 ": %s", v->number + 1,
		       v->r->layers, entry, what);
}

static const struct names_span *span_of(const struct names_layer *l, uint32_t entry)
{
	size_t at = BISECT(i, 0, l->spans, l->span[i].from + l->span[i].n <= entry);
	return at < l->spans ? &l->span[at] : NULL;
}

static int verify_entry(struct verify *v, struct str name, uint32_t entry, struct err *err)
{
	const struct names_span *span = span_of(v->layer, entry);
	struct str line;
	if (!span)
		return entry_damaged(v, entry, "there is none", err);
	if (v->seen[entry / 64] >> entry % 64 & 1)
		return entry_damaged(v, entry, "it has two names", err);
	v->seen[entry / 64] |= UINT64_C(1) << entry % 64;
	if (span->site == UINT32_MAX)
		return 0;
	struct arena_mark mark = arena_mark(&v->arena);
	int rc = names_parts_name(v->r->parts[span->site], entry - span->from, &v->arena, &line,
				  err);
	if (rc == 0 && !str_eq(line, name))
		rc = entry_damaged(v, entry, "its line has another name", err);
	arena_reset(&v->arena, mark);
	return rc;
}

static int verify_form(struct verify *v, struct names_walk *w, uint32_t form, struct buf *text,
		       struct err *err)
{
	struct names_form f;
	uint32_t entry[VERIFY_BATCH];
	int n = names_form_get(w, form, &f, err);
	if (n != 0)
		return -1;
	buf_clear(text); /* the text is good until the next call */
	buf_add_str(text, f.text);
	for (uint32_t from = 0; from < f.entries; from += (uint32_t)n) {
		n = names_form_entries(w, &f, from, VERIFY_BATCH, entry, err);
		if (n <= 0)
			return n < 0 ? -1 : entry_damaged(v, from, "a list ends too soon", err);
		for (int i = 0; i < n; i++)
			if (verify_entry(v, buf_str(text), entry[i], err) < 0)
				return -1;
	}
	return 0;
}

static int verify_names(struct verify *v, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX / 2);
	struct names_walk w;
	int rc = names_walk_begin(&w, v->layer->segment, 0, err);
	if (rc < 0)
		return -1;
	while ((rc = names_walk_next(&w, err)) == 0) {
		uint32_t forms = w.forms;
		for (uint32_t i = 0; i < forms && rc == 0; i++)
			rc = verify_form(v, &w, i, &text, err);
		if (rc < 0)
			break;
	}
	names_walk_end(&w);
	return MIN(rc, 0);
}

static int verify_layer(struct verify *v, struct err *err)
{
	uint32_t entries = names_segment_info(v->layer->segment)->entries;
	v->seen = mem_array((size_t)entries / 64 + 1, sizeof *v->seen);
	int rc = names_segment_verify(v->layer->segment, err);
	if (rc == 0)
		rc = verify_names(v, err);
	for (uint32_t i = 0; i < entries && rc == 0; i++)
		if (!(v->seen[i / 64] >> i % 64 & 1))
			rc = entry_damaged(v, i, "it has no name", err);
	mem_free(&v->seen);
	return rc == 0 ? names_segment_check(v->layer->segment, err) : rc;
}

static int verify_gone(const struct names_reader *r, struct err *err)
{
	const struct names_manifest *m = names_reader_manifest(r);
	for (size_t i = 0; i < m->gones; i++) {
		struct page_file *f = names_reader_gone(r, i);
		struct names_gone g;
		int rc = f ? page_verify(f, err) : err_set(err, ERR_DAMAGED, "it cannot be opened");
		if (rc == 0)
			rc = names_gone_parse(f, &g, err);
		if (rc < 0)
			return err_in(err, "names/%" PRIu64 "/gone", m->gone[i].generation);
		names_gone_free(&g);
	}
	return 0;
}

int names_verify(struct names_reader *r, struct err *err)
{
	struct verify v = {.r = r, .arena = ARENA_INIT(SIZE_MAX)};
	int rc = 0;
	if (r->problem)
		return err_set(err, ERR_DAMAGED, "%s", r->problem);
	for (size_t i = 0; i < r->sites && rc == 0; i++)
		rc = names_parts_verify(r->parts[i], err);
	for (size_t i = 0; i < r->layers && rc == 0; i++) {
		v.layer = &r->layer[i];
		v.number = i;
		rc = verify_layer(&v, err);
	}
	arena_free(&v.arena);
	return rc == 0 ? verify_gone(r, err) : rc;
}
