/* The names index: files of archives, found by their names. It owns a folder with the layout of
 * archie/:
 *
 *   names/manifest   the sites with their generations, and the segments
 *   names/N/         generation N: the four parts of a site (index, nocaseindex, data, direc),
 *                    their checksums (pages), and the overlay of the site (segment)
 *   index/KEY nocaseindex/KEY data/KEY direc/KEY   hard links to the same four parts
 *
 * The parts store the records: a file is a site and a line number. Segments map names to files: all
 * sites share a base, and a replaced site has an overlay until it is merged. One process writes,
 * under a lock; any number read by mmap, and each keeps the snapshot that it opened. A commit
 * replaces the manifest in one step. If the manifest or a segment is lost or damaged, queries scan
 * the parts. Layout: doc/formats/names-part.md. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "disk/format.h"

enum {
	NAMES_KEY_MOST = 255,       /* bytes of a site's key, which is a file name */
	NAMES_NAME_MOST = 64 << 10, /* bytes of a name, and of a directory */
	NAMES_PATTERN_MOST = 4 << 10,
	NAMES_LIST_MOST = 64, /* sites, domains or components in a query */
	NAMES_MEMORY_MIN = 4 << 20,
	NAMES_MEMORY_DEFAULT = 1 << 30,
	NAMES_LINE_BYTES = 67, /* bytes of a line of data, with its newline */
	NAMES_DIR_PART = 5000, /* files of a directory in one object for followers */
};

enum names_kind { NAMES_FILE, NAMES_DIR, NAMES_LINK, NAMES_OTHER, NAMES_KINDS };
const char *names_kind_name(enum names_kind kind); /* "file" "dir" "link" "other" */

/* A file as the listing describes it. */
struct names_entry {
	struct str name; /* one component, any bytes but a slash; not empty */
	struct str dir;  /* below the root, without a slash at either end; "": the root itself */
	enum names_kind kind;
	char mode[10];           /* as ls prints it; mode[0] is 0: not known */
	int32_t links;           /* -1: not known */
	struct str owner, group; /* empty: not known; only 8 bytes are stored */
	int64_t size, time_s; /* -1: not known; a size of more than 12 digits is rounded to KiB */
};

/* Appends a name as the parts store it: newline, CR and backslash become \n, \r and \\. */
void names_escape(struct str name, struct buf *out);
/* The other way: in the arena, or the line itself if nothing in it is escaped. */
struct str names_unescape(struct str line, struct arena *arena);
/* Appends size, time and path, separated by tabs, and a newline; "-": not known. */
void names_print_place(const struct names_entry *e, struct buf *out);

/* A site, in the snapshot. */
struct names_site {
	struct str key;      /* NAME-ADDRESS or NAME,PORT-ADDRESS */
	struct str url;      /* of the root of its listing, with a slash at its end */
	uint64_t generation; /* N; grows with every commit */
	uint64_t entries, dirs;
	int64_t listed_s, built_s; /* time of the listing, and of its database */
	bool by_hand;              /* from a file, never fetched; or not known */
	/* The parts of the key: the name in lower case, and the address. Both lie in the snapshot.
	 */
	struct str host, address;
};

/* Returns the default URL of a key: "ftp://NAME/" for NAME-ADDRESS. For a text that is not a key
 * the result may not be a URL. */
struct str names_key_url(struct str key, struct arena *arena);

/* Reading. A reader is a snapshot, and safe for any number of threads. */

struct names_reader;

/* 1: there is neither a manifest nor a part. If the manifest or a segment is unusable, opens the
 * parts that exist; names_problem() says why. */
int names_open(struct names_reader **ret, const char *folder, struct err *err);
struct names_reader *names_hold(struct names_reader *r);
void names_close(struct names_reader **r);
/* 0: *r is now a newer snapshot. 1: it was the newest; costs one stat(). */
int names_refresh(struct names_reader **r, struct err *err);
/* Says why names are scanned instead of looked up, and which sites are lost; NULL: all is well. */
const char *names_problem(const struct names_reader *r);
/* Sites with a lost or damaged part: none of their files is found until they are rebuilt or
 * removed.
 */
struct names_lost {
	struct str key, why;
	bool by_hand;
};
const struct names_lost *names_lost(const struct names_reader *r, size_t *ret_n);
/* Sorted by key. */
const struct names_site *names_sites(const struct names_reader *r, size_t *ret_n);
/* Returns all data about a file, in the snapshot or the arena. 1: there is no such line. */
int names_get(struct names_reader *r, uint32_t site, uint64_t line, struct arena *arena,
	      struct names_entry *ret, struct err *err);

struct names_stats {
	uint64_t generation, sites, entries, dirs;
	uint64_t segments, hidden;   /* entries of segments that the mask hides */
	uint64_t distinct, trigrams; /* names and trigrams, summed over segments */
	uint64_t index_bytes, part_bytes;
};
void names_stats(const struct names_reader *r, struct names_stats *ret);
/* Reads every page of segments and parts and compares segments with parts. ERR_DAMAGED: err names
 * the first bad place. */
int names_verify(struct names_reader *r, struct err *err);

/* Queries. */

enum names_type {
	NAMES_EXACT,   /* byte for byte */
	NAMES_SUB,     /* part of a name; ignores case (Unicode, one character for one) */
	NAMES_SUBCASE, /* part of a name, byte for byte */
	NAMES_REGEX,   /* an expression; case counts */
	/* exact first; the other only if that finds nothing */
	NAMES_EXACT_SUB,
	NAMES_EXACT_SUBCASE,
	NAMES_EXACT_REGEX,
	NAMES_WHATIS, /* not for names_query(), but for names_whatis() */
	NAMES_TYPES
};
extern const char *const names_type_words[NAMES_TYPES + 1]; /* "exact_sub"; NULL is the last */

enum names_syntax {
	NAMES_EXTENDED, /* as in rx.h */
	NAMES_ED,       /* of ed(1), with the rules of the classic server: .* at its ends is cut
			 * off, and without any operator it is a part, byte for byte */
};

enum names_sort { NAMES_BY_NOTHING, NAMES_BY_NAME, NAMES_BY_HOST, NAMES_BY_SIZE, NAMES_BY_TIME };

struct names_query {
	enum names_type type;
	enum names_syntax syntax;
	struct str pattern;
	bool path; /* matched against the whole path, "dir/name", not the name alone */
	/* Limits, none of them required. A file must match one item of each list. */
	const struct str *site, *domain, *component; /* a key or host name; the end of a host name,
						      * by whole labels; a directory in the path, or
						      * the name, without regard to case (ASCII) */
	uint32_t sites, domains, components;
	unsigned kinds; /* bits 1 << NAMES_DIR ...; 0: all */
	bool has_size_min, has_size_max, has_time_min,
		has_time_max;                           /* unknown values never match */
	int64_t size_min, size_max, time_min, time_max; /* inclusive */
	/* Most files, distinct names, files of each name; 0: no limit. The first `offset` hits are
	 * skipped. */
	uint64_t maxhits, maxmatch, maxhitspm, offset;
	enum names_sort sort;
	bool reverse;      /* size and time: the largest and newest come first, unless reverse */
	bool mirrors;      /* files of the same name and size are one hit */
	bool count;        /* the total must be exact */
	bool no_files;     /* hits have only site, line and name: no parts are read for them */
	int64_t budget_us; /* of CPU time; 0: no limit */
	/* Called from time to time; true ends the query as if its time were over. May be NULL. */
	bool (*stop)(void *ctx);
	void *stop_ctx;
};

struct names_hit {
	uint32_t site; /* of names_sites() */
	uint64_t line;
	struct names_entry file; /* with no_files: the name alone */
	uint64_t mirrors;        /* further files that were folded into it */
};
struct names_hits {
	struct names_hit *hit;
	size_t n;
	uint64_t total; /* files that match, before maxhits, maxmatch, maxhitspm, offset and mirrors
			 */
	bool exact;     /* total is exact; otherwise there are at least this many */
	bool cut;       /* the time ran out: there may be more */
	bool scanned;   /* answered without the index; problem says why */
	/* What is wrong with the index or with the files read for this answer; NULL: nothing. Files
	 * of lost sites may be missing, and then total is not exact. */
	const char *problem;
	const struct names_lost *lost;
	size_t losts;
};
/* Everything in *ret lies in the arena or in the snapshot. Unsorted hits are in the order of folded
 * names, sites and lines. ERR_USAGE: the query is invalid; *ret_at (may be NULL) is the byte of the
 * expression with the error, or SIZE_MAX. */
int names_query(struct names_reader *r, const struct names_query *q, struct arena *arena,
		struct names_hits *ret, size_t *ret_at, struct err *err);

/* Converts an expression of ed(1), by the rules of NAMES_ED, for texts other than names; *out is
 * the result. ERR_USAGE: the expression is invalid at byte *ret_at. */
enum names_ed {
	NAMES_ED_NOTHING, /* nothing is left of it: it matches nothing */
	NAMES_ED_TEXT,    /* no operator: part of a text, byte for byte */
	NAMES_ED_RX,      /* an expression in the syntax of rx.h, for rx_compile_name() */
};
int names_ed(struct str pattern, struct buf *out, enum names_ed *ret, size_t *ret_at,
	     struct err *err);

/* Appends the URL of a file below the root of its site (names_site.url), escaped where needed; that
 * of a directory ends in a slash. false: there is no root, and nothing was appended. */
bool names_url(struct str root, struct str path, bool dir, struct buf *out);
bool names_entry_url(struct str root, const struct names_entry *entry, struct buf *out);
/* The same for a hit, which must have its file and not only a name. */
bool names_hit_url(const struct names_reader *r, const struct names_hit *hit, struct buf *out);

/* Descriptions: the file whatis in the folder, lines of name, TAB, description. Finds the lines
 * that contain the pattern, ignoring case (ASCII). 1: there is no such file. */
struct names_description {
	struct str name, text; /* text empty: a line without a TAB */
};
int names_whatis(const char *folder, struct str pattern, uint64_t most, struct arena *arena,
		 struct names_description **ret, size_t *ret_n, struct err *err);

/* Writing: one thread. */

struct names_writer;
struct names_options {
	uint64_t memory; /* bytes for names while a site is built; 0: NAMES_MEMORY_DEFAULT */
};

/* Creates the folders and an empty index if needed, and removes what a killed writer left behind.
 * If the manifest is lost or damaged, starts again from the parts by name. options may be NULL.
 * ERR_BUSY: another process writes. */
int names_writer_open(struct names_writer **ret, const char *folder,
		      const struct names_options *options, struct err *err);
/* Discards uncommitted changes. */
void names_writer_close(struct names_writer **w);

struct names_site_spec {
	struct str key, url;
	int64_t listed_s;
	bool by_hand;
};
/* Begins a site, which replaces the one with this key when it is committed. */
int names_begin(struct names_writer *w, const struct names_site_spec *site, struct err *err);
/* Adds a file to the site, in the order of the listing: line 0, 1 ... ERR_USAGE: the entry is
 * invalid; nothing changed. Any other failure: the site is discarded. */
int names_add(struct names_writer *w, const struct names_entry *entry, struct err *err);
void names_give_up(struct names_writer *w);
/* Writes and syncs parts and overlay, replaces the manifest, then makes the links by name; merges
 * with bounded work. Negative: the site is discarded, and the old database stays. */
int names_commit(struct names_writer *w, struct err *err);
/* Drops a site. 1: there is none. */
int names_remove(struct names_writer *w, struct str key, struct err *err);
/* Merges all segments into one. 1: there is only one already, and it hides nothing. */
int names_merge_all(struct names_writer *w, struct err *err);
/* Returns the sites as this writer knows them; valid until the next commit or the next call. */
const struct names_site *names_written(const struct names_writer *w, size_t *ret_n);
/* Returns the sites that were damaged when the writer was opened; names_commit() and names_remove()
 * take a site off this list. */
const struct names_lost *names_writer_lost(const struct names_writer *w, size_t *ret_n);

/* Changes, for followers of the sites (archie/source_archie.h). The index stores for each directory
 * the generation in which its files last changed. It also remembers removed directories, including
 * those of dropped sites, back to the generation that names_forgotten() returns. */

/* Removed directories of generations up to this one may have been forgotten. */
uint64_t names_forgotten(const struct names_reader *r);
uint64_t names_generation(const struct names_reader *r); /* the newest */
/* Identifies the index. A recreated index has another identity, since its generations start again.
 */
uint64_t names_identity(const struct names_reader *r);
struct names_change {
	struct str key, url; /* of the site */
	struct str dir;
	bool gone;
	uint64_t generation;
	uint32_t site; /* of names_sites(), unless it was removed */
	uint64_t dir_number;
	/* For a gone directory. 0 left: it was removed. More: it still exists, but has fewer parts
	 * of NAMES_DIR_PART files than before, for followers that split large directories; it is
	 * also returned as a change. */
	uint64_t files_left, files_was;
};
/* Iterates over the changes after a generation: gone directories first, then by site and directory.
 * Call next until it returns 1. */
struct names_changes;
int names_changes_open(struct names_changes **ret, struct names_reader *r, uint64_t after,
		       struct err *err);
int names_changes_next(struct names_changes *c, struct arena *arena, struct names_change *ret,
		       struct err *err);
void names_changes_close(struct names_changes **c);
/* Finds the number of a directory by reading all of them. 1: there is none. */
int names_dir_find(struct names_reader *r, uint32_t site, struct str dir, uint64_t *ret_number,
		   struct err *err);
/* Returns the next file of a directory, by line. *line is the position, 0 at first. 1: no more. */
int names_dir_next(struct names_reader *r, uint32_t site, uint64_t dir_number, uint64_t *line,
		   struct arena *arena, struct names_entry *ret, struct err *err);

extern const struct format names_manifest_format, names_segment_format, names_pages_format,
	names_gone_format, names_part_format;
