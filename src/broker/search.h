/* Searching: the query side of the broker, for pages, commands and protocols. Reads what the
 * collector wrote, in any process, while it goes on writing; each answer is of one moment. */
#pragma once
#include "base/jsonw.h"
#include "base/value.h"
#include "broker/lines.h"

struct search;

enum { SEARCH_PAGE_MOST = 100, SEARCH_TITLE = 200 /* bytes of a title that are shown */ };

/* data: the data directory. What is not there yet is looked for again with every question. */
struct search *search_open(const char *data);
void search_close(struct search **s);

struct search_ask {
	struct str words;      /* as doc/query.md says */
	struct str site, type; /* only documents of this host, of this type; empty: all */
	enum query_order order;
	uint32_t limit, offset;
	int64_t budget_us; /* 0: as long as it takes */
	bool exact_total;
	struct str facet[QUERY_FACETS_MOST]; /* what matches are counted by (doc/query.md) */
	uint32_t facets;
	struct query_options match; /* of words that say nothing of it themselves */
	uint32_t per_site;          /* as query.h has it */
	bool lines;                 /* tell the lines that matched */
	bool meant;                 /* say what was perhaps meant */
	const atomic_bool *cancel;  /* NULL, or set by another thread: as if the time were up */
};

/* Sets what is counted by. ERR_USAGE: more names than can be asked for. Names are kept. */
int search_ask_facets(struct search_ask *ask, const struct value_list *names, struct err *err);

struct search_row {
	struct str url;
	uint64_t oid;    /* its number in the document store */
	struct str host; /* of the URL, a slice of it */
	struct str type; /* "HTML" */
	struct marked title, snippet;
	int64_t time_s; /* when it changed last, 0: not known */
	uint64_t size;  /* bytes of the document, 0: not known */
	float score;
	struct matched_line *line; /* if they were asked for */
	size_t lines;
};

struct search_answer {
	struct search_row *row;
	size_t n;
	uint64_t total, documents; /* documents: in the index */
	bool total_exact, cut;     /* cut: the time was up, these are the best until then */
	int64_t took_us;
	struct facet *facet;
	uint32_t facets;
	uint64_t facet_sample, facet_of; /* as hits say it */
	struct str notes; /* lines of text: what was taken otherwise than it was written */
	struct str meant; /* a query that was perhaps meant, and that has hits; empty: none */
};

/* Any number of threads at once; everything in *ret lies in the arena. ERR_USAGE: the words are not
 * a query, err says where. */
int search_run(struct search *s, const struct search_ask *ask, struct arena *arena,
	       struct search_answer *ret, struct err *err);

/* The same in steps, for long answers and slow clients: first the query, then one hit after the
 * other. One thread at a time; the arena must outlive the hits. */
struct search_hits;
struct registry_object;

int search_begin(struct search *s, const struct search_ask *ask, struct arena *arena,
		 struct search_hits **ret, struct err *err);
void search_end(struct search_hits **h);
/* The answer as a whole, without rows and suggestions. */
const struct search_answer *search_said(const struct search_hits *h);
size_t search_count(const struct search_hits *h); /* hits that search_next() can return */
/* Returns the next hit; NULL: the end. */
const struct hit *search_next(struct search_hits *h);
/* Reads the document of a hit into the arena. 1: it was deleted meanwhile. SEARCH_LARGER: its text
 * has more than `most` bytes. */
enum { SEARCH_ANY_SIZE = 1 << 30, SEARCH_LARGER = 2 };
int search_hit_document(struct search_hits *h, const struct hit *hit, size_t most,
			struct arena *arena, struct soif *ret, struct err *err);
/* Returns the marker of the query, made once; it finds nothing after until_us (0: no limit). */
int search_marker(struct search_hits *h, int64_t until_us, struct marker **ret, struct err *err);
/* Frees a marker that was late and may lack parts of the query; the next call makes a new one. */
void search_marker_forget(struct search_hits *h);
/* Reads the registry's record of a hit, which is cheaper than the document. 1: it is gone. */
int search_hit_object(struct search_hits *h, const struct hit *hit, struct arena *arena,
		      struct registry_object *ret, struct err *err);
/* Releases what can be opened again; call it before a pause. */
void search_rest(struct search_hits *h);

/* The document of a URL as it was indexed. 1: there is none. */
int search_document(struct search *s, struct str url, struct arena *arena, struct soif *ret,
		    struct err *err);
/* Which document a URL has, to be read in parts (see document.h). 1: there is none. */
struct search_place {
	uint64_t oid, checked; /* the document store's */
};
int search_find(struct search *s, struct str url, struct search_place *ret, struct err *err);
/* The same of a number of the document store. */
int search_find_oid(struct search *s, uint64_t oid, struct search_place *ret, struct err *err);
/* At most n bytes of its SOIF text, in the arena; fewer only where it ends. 1: it is gone. */
int search_read_part(struct search *s, struct search_place *place, uint64_t from, size_t n,
		     struct arena *arena, struct str *ret, struct err *err);
/* Documents in the index; 0 when there is none yet. */
int search_documents(struct search *s, uint64_t *ret, struct err *err);

/* What a document is found by other than its words: columns of words, which the writer of the index
 * gives it. */
#define SEARCH_SITE "site"
#define SEARCH_TYPE "type"
/* The host of a URL with its port, a slice of it. */
struct str search_host(struct str url);

/* An object: query, total, total_exact, documents, cut, took_us, offset, results; notes and
 * did_you_mean where there are any, facets, and lines in results, where they were asked for. */
void search_answer_json(const struct search_ask *ask, const struct search_answer *answer,
			struct jsonw *j);
