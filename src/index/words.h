/* The words index: documents with attributes, found by their words. It owns a folder with one
 * manifest and the immutable segments that the manifest lists. One process writes, under a lock;
 * any number of processes read by mmap, and each keeps the snapshot that it opened. A commit
 * replaces the manifest in one step. Files are never changed, truncated or reused. Layout:
 * doc/formats/words.md. */
#pragma once
#include "disk/format.h"
#include "index/docstore.h"
#include "index/query.h"

enum {
	WORDS_KEY_MOST = 8 << 10,   /* bytes of a key */
	WORDS_NAME_MOST = 63,       /* bytes of the name of a searchable attribute */
	WORDS_WEIGHTS_MOST = 32,    /* attributes with a weight of their own */
	WORDS_WEIGHT_MOST = 64,     /* a weight */
	WORDS_COLUMNS_MOST = 16,    /* attributes that are columns too */
	WORDS_VALUE_MOST = 255,     /* bytes of a value in a column of words; the rest is cut */
	WORDS_ATTRS_MOST = 4096,    /* names in one segment; words in further attributes are
				     * found only without naming the attribute */
	WORDS_DOC_MOST = 128 << 20, /* bytes of all values of a document */
	WORDS_MEMORY_MIN = 4 << 20, /* bytes; less is taken as this */
	WORDS_MEMORY_DEFAULT = 256 << 20,
};

/* A document. The caller owns everything it points to. */
struct words_attr {
	struct str name, value; /* any bytes; names compare without regard to case */
};
struct words_doc {
	struct str key; /* its URL: at most one document has it */
	int64_t time_s;
	uint16_t rank; /* quality of the document whatever the query; 0: lowest */
	uint64_t oid;  /* in the document store; 0: its text is not stored */
	const struct words_attr *attr;
	size_t n;
};

/* Settings of an index; fixed when it is created. */
enum words_type {
	WORDS_NUMBER, /* decimal, perhaps with a sign */
	WORDS_DATE,   /* seconds since 1970 in decimal, or YYYY-MM-DD with or without a time */
	WORDS_WORD,   /* one of not too many texts: a site, a type, a language; in lower case */
};
struct words_settings {
	char language[32];              /* of the stemmer; empty: words are not stemmed */
	char main[WORDS_NAME_MOST + 1]; /* the attribute with the text, "full-text" */
	/* How much more a word counts in this attribute than in the text; others have 1. */
	struct {
		char name[WORDS_NAME_MOST + 1]; /* lower case */
		uint8_t weight;                 /* 0: not indexed */
	} weight[WORDS_WEIGHTS_MOST];
	struct {
		char name[WORDS_NAME_MOST + 1];
		enum words_type type;
	} column[WORDS_COLUMNS_MOST];
	uint32_t weights, columns;
	bool by_rank; /* whole merges number documents by rank, the best first */
};
/* Weights of title, headings, keywords and url text; no columns, no stemming. */
void words_settings_default(struct words_settings *ret);
/* The weight of an attribute (name in lower case), and its column; -1: it has none. */
uint8_t words_weight(const struct words_settings *s, struct str name);
int words_column(const struct words_settings *s, struct str name);
/* Returns a value as a column of words stores it: its first line, trimmed, in lower case (ASCII),
 * at most WORDS_VALUE_MOST bytes. Empty: no value. */
struct str words_value(struct str text, char ret[WORDS_VALUE_MOST]);
const char *words_type_name(enum words_type type); /* "number", "date", "word" */
/* Whether both make the same index; an index with other settings has to be rebuilt. */
bool words_settings_same(const struct words_settings *a, const struct words_settings *b);

/* How far the index has followed its sources, committed with it. */
struct words_note {
	uint64_t follows;          /* chosen by the caller: how far it has read its source */
	struct docstore_mark docs; /* if nothing else stores it */
};

/* Reading. A reader is a snapshot, and safe for any number of threads. */

struct words_reader;
struct segment;

/* 1: there is no index in this folder. */
int words_open(struct words_reader **ret, const char *folder, struct err *err);
/* Returns another reference to the snapshot; close each of them. */
struct words_reader *words_hold(struct words_reader *r);
void words_close(struct words_reader **r);
/* 0: *r is now a newer snapshot, and the old one is closed. 1: it was the newest; costs one stat().
 * Negative: *r is unchanged. */
int words_refresh(struct words_reader **r, struct err *err);

const struct words_settings *words_settings(const struct words_reader *r);
void words_reader_note(const struct words_reader *r, struct words_note *ret);

/* One segment of a snapshot, with the documents deleted from it. */
struct words_part {
	struct segment *segment;
	const uint64_t *deleted; /* a bit per document; NULL: none is deleted */
	uint32_t docs, deleted_docs;
};
const struct words_part *words_parts(const struct words_reader *r, size_t *ret_n);
/* Finds the oid of the document with this URL. 1: the snapshot has none. */
int words_find(struct words_reader *words, struct str url, uint64_t *ret, struct err *err);
/* Tests one of a bit per document; NULL: none is set. */
static inline bool words_bit(const uint64_t *bits, uint32_t doc)
{
	return bits && bits[doc / 64] >> doc % 64 & 1;
}
static inline bool words_deleted(const struct words_part *part, uint32_t doc)
{
	return words_bit(part->deleted, doc);
}

struct words_stats {
	uint64_t generation;                   /* grows with every commit */
	uint64_t segments, docs, deleted_docs; /* deleted ones are not among docs */
	uint64_t file_bytes, occurrences;      /* of words, of deleted documents too */
	uint64_t weighted_length;              /* the sum over all documents */
};
void words_stats(const struct words_reader *r, struct words_stats *ret);
/* Reads every page of the snapshot. ERR_DAMAGED: err names the first bad place. */
int words_verify(struct words_reader *r, struct err *err);

/* Answers a query; everything in *ret lies in the arena. */
int words_query(struct words_reader *r, const struct query *query, struct arena *arena,
		struct hits *ret, struct err *err);

/* Suggestions for a query being typed: words with this prefix, the commonest first, and titles. */
struct words_suggestion {
	struct str text;
	uint64_t docs; /* documents with the word; 0: the text is a title */
};
struct words_suggest_spec {
	struct str prefix;
	const struct token_rules *rules;
	uint32_t words, titles; /* how many, at most */
	query_text_fn *text;    /* for titles; NULL: none */
	void *text_ctx;
	int64_t budget_us;
};
int words_suggest(struct words_reader *r, const struct words_suggest_spec *spec,
		  struct arena *arena, struct words_suggestion **ret, size_t *ret_n,
		  struct err *err);
/* Suggests another spelling: the query with rare or unknown words replaced by similar words that
 * have hits, as text for query_parse(). 1: no suggestion. */
int words_did_you_mean(struct words_reader *r, const struct query *query,
		       const struct token_rules *rules, struct arena *arena, struct str *ret,
		       struct err *err);

/* The length of a document as one byte, for ranking: exact below 16, then 8 steps for each
 * doubling, rounded down. */
uint8_t words_length_code(uint64_t length);
uint64_t words_length_of(uint8_t code);

/* Writing. These functions are safe to call from several threads. A merge blocks the others only
 * briefly; merges of different segments run at the same time. */

struct words_writer;

struct words_options {
	const struct words_settings *settings; /* for a new index; NULL: the default */
	uint64_t memory; /* bytes for documents not in a segment yet; 0: WORDS_MEMORY_DEFAULT */
	/* Commits merge nothing: another thread calls words_merge(), which then takes at most half
	 * a processor and half of the disk's time. */
	bool merges_elsewhere;
};

/* Creates the folder and an empty index if needed, and removes what a killed writer left behind.
 * options may be NULL. ERR_BUSY: another process writes. */
int words_writer_open(struct words_writer **ret, const char *folder,
		      const struct words_options *options, struct err *err);
/* Discards uncommitted changes. No merge may be running. */
void words_writer_close(struct words_writer **w);

/* Adds a document, which replaces the one with the same key. ERR_USAGE: the document is invalid;
 * nothing changed. Any other failure: all changes since the last commit are lost. */
int words_add(struct words_writer *w, const struct words_doc *doc, struct err *err);
/* Deletes the document with this key. 1: there is none. */
int words_delete(struct words_writer *w, struct str key, struct err *err);
/* Makes all changes and the note durable and visible to readers that open or refresh afterwards.
 * note: NULL keeps the old one; a different one counts as a change. Merges small segments, with
 * bounded work. 1: nothing to commit. Negative: all changes since the last commit are lost. */
int words_commit(struct words_writer *w, const struct words_note *note, struct err *err);
/* Returns the note of the last commit. */
void words_noted(struct words_writer *w, struct words_note *ret);

/* Merges one tier of committed segments whose files have at most `most` bytes together; UINT64_MAX:
 * any. 1: there is nothing to merge. */
int words_merge(struct words_writer *w, uint64_t most, struct err *err);
/* Makes one segment of all that is committed, without what is deleted. 1: it is one already. */
int words_merge_all(struct words_writer *w, struct err *err);
/* Merges that run end soon, without a result and with 1, and no more begin. From any thread. */
void words_stop_merging(struct words_writer *w);

extern const struct format words_manifest_format, words_segment_format, words_deletes_format;
