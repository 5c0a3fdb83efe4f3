/* Documents in parts: a window over the SOIF text that the store has, which moves with what is
 * read. */
#include "broker/document.h"

#include "soif/soif_parse.h"

/* Larger than what can stand before a value, and about as large as what an answer is made of. */
enum { WINDOW = 48 << 10 };
_Static_assert((int)WINDOW >= (int)SOIF_SKIM, "a window has all that stands before a value");

struct document {
	struct search *search;
	struct search_place place;
	struct str url;     /* on the heap */
	size_t first;       /* where the attributes begin */
	uint64_t at;        /* of the next attribute */
	uint64_t text;      /* of what document_text() has not told */
	uint64_t value;     /* of the rest of the current value */
	size_t value_n;     /* bytes of it */
	struct arena arena; /* of the window */
	uint64_t window_at;
	struct str window;
	bool window_ends; /* so does the document */
};

/* The bytes from a place on, at least n if there are as many. */
static int window_move(struct document *d, uint64_t at, size_t n, struct str *ret, struct err *err)
{
	uint64_t end = d->window_at + d->window.n;
	if (at < d->window_at || at > end || (end - at < n && !d->window_ends) || !d->window.p) {
		document_rest(d);
		int rc = search_read_part(d->search, &d->place, at, WINDOW, &d->arena, &d->window,
					  err);
		if (rc > 0)
			return err_set(err, ERR_SYSTEM,
				       "a document was replaced while it was sent");
		if (rc < 0)
			return -1;
		d->window_at = at;
		d->window_ends = d->window.n < WINDOW;
	}
	*ret = str_from(d->window, (size_t)(at - d->window_at));
	return 0;
}

static int open_place(struct document **ret, struct search *s, struct search_place place,
		      struct err *err)
{
	struct str bytes, own;
	struct document *d = mem_alloc(sizeof *d);
	d->search = s;
	d->place = place;
	d->arena = ARENA_INIT(1 << 20);
	if (window_move(d, 0, SOIF_SKIM, &bytes, err) < 0 ||
	    soif_skim_head(bytes, &own, &d->first, err) < 0) {
		document_free(&d);
		return -1;
	}
	d->url = (struct str){mem_copy(own.p, own.n), own.n};
	document_rewind(d);
	*ret = d;
	return 0;
}

int document_open(struct document **ret, struct search *s, struct str url, struct err *err)
{
	struct search_place place;
	int rc = search_find(s, url, &place, err);
	return rc != 0 ? rc : open_place(ret, s, place, err);
}

int document_open_oid(struct document **ret, struct search *s, uint64_t oid, struct err *err)
{
	struct search_place place;
	int rc = search_find_oid(s, oid, &place, err);
	return rc != 0 ? rc : open_place(ret, s, place, err);
}

void document_free(struct document **pd)
{
	struct document *d = *pd;
	if (!d)
		return;
	arena_free(&d->arena);
	mem_free(&d->url.p);
	mem_free(pd);
}

struct str document_url(const struct document *d)
{
	return d->url;
}

uint64_t document_version(const struct document *d)
{
	return d->place.oid;
}

void document_rewind(struct document *d)
{
	d->at = d->first;
	d->value_n = 0;
}

void document_rest(struct document *d)
{
	arena_free(&d->arena);
	d->window = (struct str){0};
}

int document_next(struct document *d, struct str *ret_name, struct err *err)
{
	struct soif_place place;
	struct str bytes;
	if (window_move(d, d->at, SOIF_SKIM, &bytes, err) < 0)
		return -1;
	int rc = soif_skim_attr(bytes, &place, err);
	if (rc != 0)
		return rc;
	d->value = d->at + place.at;
	d->value_n = place.n;
	d->at = d->value + place.n;
	*ret_name = place.name;
	return 0;
}

int document_find(struct document *d, struct str name, struct err *err)
{
	uint64_t value = 0;
	size_t n = 0;
	struct str has;
	int rc;
	document_rewind(d);
	while ((rc = document_next(d, &has, err)) == 0)
		if (str_eq_nocase(has, name)) {
			value = d->value;
			n = d->value_n;
		}
	d->value = value;
	d->value_n = n;
	return rc < 0 ? -1 : n == 0;
}

size_t document_left(const struct document *d)
{
	return d->value_n;
}

int document_value(struct document *d, struct str *ret, struct err *err)
{
	struct str bytes = {0};
	size_t n = MIN(d->value_n, (size_t)DOCUMENT_PART + 1); /* the last shows where to cut */
	if (n == 0)
		return 1;
	if (window_move(d, d->value, n, &bytes, err) < 0)
		return -1;
	if (bytes.n < n)
		return err_set(err, ERR_DAMAGED, "a document ends inside of a value");
	struct str part = str_utf8_head(str_head(bytes, n), DOCUMENT_PART);
	d->value += part.n;
	d->value_n -= part.n;
	*ret = part;
	return 0;
}

int document_text(struct document *d, struct str *ret, struct err *err)
{
	struct str bytes;
	if (window_move(d, d->text, 1, &bytes, err) < 0)
		return -1;
	if (bytes.n == 0)
		return 1;
	d->text += bytes.n;
	*ret = bytes;
	return 0;
}
