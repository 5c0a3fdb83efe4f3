/* Answers to #USER. An object is made as one text, with places in it where values are put that are
 * too large to be held: these are read from the document store in parts, as they are sent. */
#include "broker/reply_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "broker/document.h"
#include "broker/registry.h"

#include <inttypes.h>

enum {
	VALUE_HELD = 16 << 10,  /* bytes of a value that is held with its object */
	OBJECT_MOST = 4 << 20,  /* of an object: all attributes, descriptions and lines, so held */
	HITS_MOST = 1 << 30,    /* bytes of what was found: REQUEST_RESULTS_MOST with long URLs */
	QUICK_MOST = 256 << 10, /* of a document that is read in a moment */
};
#define MOMENT_MOST_US (2 * US_PER_S) /* of the clock */
_Static_assert((int)OBJECT_MOST > REQUEST_ATTRIBUTES * ((int)VALUE_HELD + 1000), "an object fits");

/* Where in the text of an object a large value comes. */
struct reply_large {
	size_t at;
	struct str name;
	size_t n;
};

struct reply {
	struct reply_options o;
	struct arena arena; /* of what was found */
	struct search_hits *hits;
	bool is_long, told_all, late;
	int64_t moment_us; /* of the clock, for what is not long */
	int64_t began_us;  /* CPU time when the current call began */
	int64_t used_us;   /* CPU time of all calls before */
	int64_t left_us;   /* for telling objects */
	uint64_t objects;

	/* The object that is being told. */
	const struct hit *hit; /* NULL, or whose text is still to be made */
	struct arena scratch;
	struct buf row;
	size_t row_at; /* bytes of it that were told */
	uint64_t oid;
	struct reply_large large[REQUEST_ATTRIBUTES];
	size_t larges, large_at;
	struct document *document; /* of the large value that is being told */
	size_t left;               /* bytes of it */
	bool short_value;          /* it ended before its time */
};

struct reply *reply_new(const struct reply_options *options)
{
	struct reply *r = mem_alloc(sizeof *r);
	*r = (struct reply){.o = *options,
			    .arena = ARENA_INIT(HITS_MOST),
			    .scratch = ARENA_INIT(4 * (size_t)DOCSTORE_DOC_MOST),
			    .row = BUF_INIT(OBJECT_MOST),
			    .moment_us = options->moment_us,
			    .is_long = options->moment_us == 0};
	return r;
}

static void reply_forget(struct reply *r)
{
	search_end(&r->hits);
	arena_free(&r->arena);
}

void reply_free(struct reply **pr)
{
	struct reply *r = *pr;
	if (!r)
		return;
	reply_forget(r);
	document_free(&r->document);
	arena_free(&r->scratch);
	buf_free(&r->row);
	mem_free(pr);
}

bool reply_is_long(const struct reply *r)
{
	return r->is_long;
}

bool reply_is_between(const struct reply *r)
{
	return r->left == 0 && r->row_at == r->row.n;
}

bool reply_was_cut(const struct reply *r)
{
	return r->late;
}

uint64_t reply_objects(const struct reply *r)
{
	return r->objects;
}

size_t reply_memory(const struct reply *r)
{
	return r->arena.used + r->row.cap;
}

static bool is_cancelled(const struct reply *r)
{
	return r->o.cancel && atomic_load_explicit(r->o.cancel, memory_order_relaxed);
}

static int64_t call_used_us(const struct reply *r)
{
	return (r->o.cpu_us ? r->o.cpu_us() : clock_thread_us()) - r->began_us;
}

bool reply_moment_was_had(int64_t *wall_us, int64_t moment_us, int64_t used_us)
{
	if (used_us >= moment_us || *wall_us >= MOMENT_MOST_US)
		return true;
	*wall_us = MIN(2 * *wall_us, MOMENT_MOST_US);
	return false;
}

/* Lines */

void reply_put_line(struct buf *out, struct str text)
{
	while (text.n) {
		size_t n = 0;
		while (n < text.n && text.p[n] != '\n' && text.p[n] != '\r' && text.p[n] != 0)
			n++;
		buf_add(out, text.p, n);
		if (n < text.n)
			buf_add_byte(out, ' ');
		text = str_from(text, n + 1);
	}
}

static void put_notes(struct buf *out, struct str notes)
{
	struct str line;
	while (str_cut(&notes, '\n', &line) == 0)
		if (line.n) {
			buf_add_text(out, "101 - ");
			reply_put_line(out, line);
			buf_add_byte(out, '\n');
		}
}

/* What was found, in a line. */
static void put_total(struct reply *r, struct buf *out)
{
	const struct search_answer *said = search_said(r->hits);
	size_t n = search_count(r->hits);
	uint64_t total = MAX(said->total, (uint64_t)n);
	buf_printf(out, "101 - %s%" PRIu64 " object%s", said->total_exact ? "" : "at least ", total,
		   total == 1 ? " matches" : "s match");
	if (n < total)
		buf_printf(out, ", %zu sent", n);
	buf_add_byte(out, '\n');
}

static void put_end(struct reply *r, struct buf *out)
{
	if (r->late)
		buf_add_text(out, "101 - the lifetime of the query was over, these are the best "
				  "that were found until then\n");
	buf_add_text(out, "126 - ");
	reply_put_line(out, str_of(r->o.home));
	buf_add_byte(out, '\n');
	r->told_all = true;
}

/* Objects */

/* As long as the registry keeps them, whose records are read in less time than documents. doc: NULL
 * where it was not read. */
static int put_description(struct reply *r, const struct hit *hit, const struct soif *doc,
			   struct err *err)
{
	struct registry_object object = {0};
	struct soif own = {0};
	int rc = doc ? 1 : search_hit_object(r->hits, hit, &r->scratch, &object, err);
	if (rc > 0 && !doc) { /* it has another text since */
		rc = search_hit_document(r->hits, hit, SEARCH_ANY_SIZE, &r->scratch, &own, err);
		doc = &own;
	}
	if (rc < 0)
		return -1;
	struct str text = object.description;
	if (doc)
		text = str_utf8_head(soif_get(doc, STR("Description")), REGISTRY_DESCRIPTION);
	if (text.n == 0)
		return 0;
	buf_printf(&r->row, "124 - %zu\n", text.n);
	buf_add_str(&r->row, text);
	buf_add_byte(&r->row, '\n');
	return 0;
}

/* The URL is not an attribute of a document, but those who ask for it mean something. */
static void put_attributes(struct reply *r, const struct hit *hit, const struct soif *doc)
{
	const struct request *q = r->o.request;
	for (uint32_t i = 0; i < q->attributes; i++) {
		bool url = str_eq_nocase(q->attribute[i], STR("URL"));
		struct str value = url ? hit->key : soif_get(doc, q->attribute[i]);
		if (value.n == 0)
			continue;
		buf_add_text(&r->row, "127 - ");
		reply_put_line(&r->row, q->attribute[i]);
		buf_printf(&r->row, " %zu\n", value.n);
		if (value.n > VALUE_HELD)
			r->large[r->larges++] = (struct reply_large){
				.at = r->row.n, .name = q->attribute[i], .n = value.n};
		else
			buf_add_str(&r->row, value);
		buf_add_byte(&r->row, '\n');
	}
}

/* 1: a moment is not enough for it. */
static int put_lines(struct reply *r, const struct soif *doc, int64_t until_us, struct err *err)
{
	struct marker *marker;
	struct matched_line *line;
	size_t n;
	if (search_marker(r->hits, until_us, &marker, err) < 0)
		return -1;
	lines_find(marker, doc, &r->scratch, &line, &n);
	if (!r->is_long && marker_was_late(marker)) {
		search_marker_forget(r->hits);
		r->is_long = reply_moment_was_had(&r->moment_us, r->o.moment_us, call_used_us(r));
		return 1;
	}
	for (size_t i = 0; i < n; i++) {
		buf_add_text(&r->row, "122 - Matched line: ");
		reply_put_line(&r->row, line[i].attribute);
		buf_add_text(&r->row, ": ");
		reply_put_line(&r->row, line[i].line.text);
		buf_add_byte(&r->row, '\n');
	}
	r->late = r->late || marker_was_late(marker);
	return 0;
}

/* What stands between its first lines and its last. Negative: something of it cannot be read; what
 * can be is there. 1: it has to be made again, later. */
static int put_inside(struct reply *r, const struct hit *hit, int64_t until_us, struct err *err)
{
	const struct request *q = r->o.request;
	struct soif doc = {0};
	bool whole = q->attributes || !q->opaque;
	size_t most = r->is_long ? SEARCH_ANY_SIZE : QUICK_MOST;
	int rc = whole ? search_hit_document(r->hits, hit, most, &r->scratch, &doc, err) : 1;
	bool bad = rc < 0;
	if (rc == SEARCH_LARGER) {
		r->is_long = true;
		return 1;
	}
	if (q->desc && put_description(r, hit, rc == 0 ? &doc : NULL, err) < 0)
		bad = true;
	put_attributes(r, hit, &doc);
	if (rc == 0 && !q->opaque)
		rc = put_lines(r, &doc, until_us, err);
	else
		rc = 0;
	return bad && rc == 0 ? -1 : rc;
}

/* After the object, and without a path of this machine, which is not the client's. */
static void put_unreadable(struct reply *r, const struct hit *hit, const struct err *err)
{
	log_debug(QUERY, 1, "an object cannot be read", KV_UINT("oid", hit->oid),
		  KV_TEXT("why", err->msg));
	buf_printf(&r->row, "103 - ERROR: object %" PRIu64 " cannot be read\n", hit->oid);
}

/* The text of the next object. What is missing of one that cannot be read is said, and the others
 * go on. false: there is none of it, and the next call tries again. */
static bool make_row(struct reply *r, int64_t until_us)
{
	const struct hit *hit = r->hit;
	struct err err;
	buf_clear(&r->row);
	arena_clear(&r->scratch);
	r->row_at = 0;
	r->larges = r->large_at = 0;
	r->oid = hit->oid;
	buf_add_text(&r->row, "120 - ");
	reply_put_line(&r->row, hit->key);
	buf_printf(&r->row, "\n125 - %s/object/%" PRIu64 "\n", r->o.url, hit->oid);
	int rc = put_inside(r, hit, until_us, &err);
	if (rc > 0) {
		buf_clear(&r->row);
		r->larges = 0;
		return false;
	}
	buf_add_text(&r->row, "130 - object end\n");
	if (rc < 0)
		put_unreadable(r, hit, &err);
	ENSURE(!r->row.over);
	r->hit = NULL;
	r->objects++;
	return true;
}

/* The next bytes of a large value. If it is there no more, blanks take its place, since the client
 * counts; and an error follows. */
static void tell_large(struct reply *r, size_t n, struct buf *out)
{
	const struct reply_large *large = &r->large[r->large_at];
	struct str part = {0};
	struct err err;
	if (!r->document && !r->short_value &&
	    (document_open_oid(&r->document, r->o.search, r->oid, &err) != 0 ||
	     document_find(r->document, large->name, &err) != 0 ||
	     document_left(r->document) != r->left))
		r->short_value = true;
	while (r->left && out->n < n) {
		if (!r->short_value && document_value(r->document, &part, &err) != 0)
			r->short_value = true;
		size_t take = r->short_value ? MIN(r->left, n - out->n) : part.n;
		if (r->short_value)
			buf_fill(out, ' ', take);
		else
			buf_add_str(out, part);
		r->left -= take;
	}
	if (r->left) {
		if (r->document)
			document_rest(r->document);
		return;
	}
	document_free(&r->document);
	r->large_at++;
}

/* What is left of the object, as far as it fits. false: it does not. */
static bool tell_row(struct reply *r, size_t n, struct buf *out)
{
	while (r->row_at < r->row.n || r->left) {
		size_t to = r->large_at < r->larges ? r->large[r->large_at].at : r->row.n;
		if (out->n >= n)
			return false;
		if (r->row_at < to) {
			buf_add(out, r->row.p + r->row_at, to - r->row_at);
			r->row_at = to;
			r->left = r->large_at < r->larges ? r->large[r->large_at].n : 0;
			continue;
		}
		tell_large(r, n, out);
	}
	if (r->short_value)
		buf_add_text(out, "103 - ERROR: a value of this object went away while it was "
				  "sent, blanks stand in its place\n");
	r->short_value = false;
	return true;
}

/* Running */

/* Of the lifetime a part is for telling what was found. */
static int64_t telling_us(const struct reply *r)
{
	return r->o.lifetime_us / 10;
}

struct search_ask reply_question(const struct request *q)
{
	return (struct search_ask){
		.words = q->all ? STR("*") : q->query,
		.limit = q->results,
		.match = {.exact = !q->insensitive,
			  .errors = q->errors,
			  .best = q->best,
			  .parts = !q->matchword,
			  .classic = !q->all},
	};
}

/* 1: it has to be begun again, perhaps among those that take long. */
static int reply_run(struct reply *r, struct buf *out, struct err *err)
{
	int64_t start_us = clock_mono_us();
	struct search_ask ask = reply_question(r->o.request);
	ask.budget_us = r->is_long ? r->o.lifetime_us - telling_us(r) : r->moment_us;
	ask.cancel = r->o.cancel;
	if (search_begin(r->o.search, &ask, &r->arena, &r->hits, err) < 0)
		return -1;
	bool cut = search_said(r->hits)->cut;
	if (cut && !r->is_long) {
		reply_forget(r);
		r->is_long = reply_moment_was_had(&r->moment_us, r->o.moment_us, call_used_us(r));
		return 1;
	}
	r->left_us = MAX(r->o.lifetime_us - (clock_mono_us() - start_us), telling_us(r));
	r->late = cut;
	put_notes(out, search_said(r->hits)->notes);
	put_total(r, out);
	return 0;
}

/* Objects until there are enough, or the slice of time is over. */
static void tell_rows(struct reply *r, size_t n, struct buf *out)
{
	int64_t start_us = clock_mono_us(), until_us = start_us + r->left_us, now_us = start_us;
	int64_t lines_us = r->is_long ? until_us : MIN(until_us, start_us + r->moment_us);
	while (!r->told_all && !is_cancelled(r) && tell_row(r, n, out) && out->n < n) {
		bool late = now_us >= until_us;
		r->late = r->late || late;
		if (!late && !r->hit)
			r->hit = search_next(r->hits);
		if (late || !r->hit)
			put_end(r, out);
		else if (!make_row(r, lines_us))
			break;
		now_us = clock_mono_us();
		if (now_us - start_us >= r->o.slice_us)
			break;
	}
	r->left_us -= clock_mono_us() - start_us;
}

int reply_make(struct reply *r, size_t n, struct buf *out, struct err *err)
{
	if (is_cancelled(r) || r->told_all)
		return 1;
	r->began_us = 0;
	r->began_us = call_used_us(r);
	int rc = r->hits ? 0 : reply_run(r, out, err);
	if (rc != 0)
		return rc < 0 ? -1 : 0;
	tell_rows(r, n, out);
	search_rest(r->hits);
	arena_free(&r->scratch); /* a document, until the client has read: all of them at once */
	r->used_us += call_used_us(r);
	r->is_long = r->is_long || r->used_us > r->o.moment_us;
	return r->told_all;
}
