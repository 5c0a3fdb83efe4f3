/* The names index: files of archives, found by their names. A folder belongs to it, laid out as
 * archie/ is:
 *
 *   names/manifest   which sites there are, in which generation, and which segments
 *   names/N/         of generation N: the four parts of a site (index, nocaseindex, data, direc),
 *                    what is known of them (pages), and its overlay (segment)
 *   index/KEY nocaseindex/KEY data/KEY direc/KEY   the same four parts by name, hard links
 *
 * The parts are the record store: a file is a site and a line number. Segments are found by names;
 * all sites share a base, and a site that was replaced has an overlay until it is merged. One
 * process writes (a lock says which), any number read by mmap and hold the snapshot that they
 * opened; a commit replaces the manifest in one step. Where the manifest or a segment is lost or
 * damaged, the parts are scanned. Layout: doc/formats/names-part.md. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "disk/format.h"

enum {
	NAMES_KEY_MOST = 255,       /* bytes of a site's key: it is the name of a file */
	NAMES_NAME_MOST = 64 << 10, /* bytes of a name, and of a directory */
	NAMES_PATTERN_MOST = 4 << 10,
	NAMES_LIST_MOST = 64, /* sites, domains, components that a query is limited by */
	NAMES_MEMORY_MIN = 4 << 20,
	NAMES_MEMORY_DEFAULT = 1 << 30,
	NAMES_LINE_BYTES = 67, /* of data, with its newline */
	NAMES_DIR_PART = 5000, /* files of a directory that are told as one */
};

enum names_kind { NAMES_FILE, NAMES_DIR, NAMES_LINK, NAMES_OTHER, NAMES_KINDS };
const char *names_kind_name(enum names_kind kind); /* "file" "dir" "link" "other" */

/* A file as a listing tells it, and as it is told again. */
struct names_entry {
	struct str name; /* one component, any bytes but a slash; not empty */
	struct str dir;  /* below the root, without a slash at either end; "": the root itself */
	enum names_kind kind;
	char mode[10];           /* as ls prints it; mode[0] is 0: not told */
	int32_t links;           /* -1: not told */
	struct str owner, group; /* empty: not told; owner and group come back cut to 8 bytes */
	int64_t size, time_s;    /* -1: not told; a size of more than 12 digits comes back in KiB */
};

/* A name as the parts have it: a newline, a return and a backslash are \n, \r and \\. */
void names_escape(struct str name, struct buf *out);
/* The other way: in the arena, or the line itself if nothing in it is escaped. */
struct str names_unescape(struct str line, struct arena *arena);
/* The end of a line for people: size, time and path, with tabs between; "-": not told. */
void names_print_place(const struct names_entry *e, struct buf *out);

/* A site, in the snapshot. */
struct names_site {
	struct str key;      /* NAME-ADDRESS or NAME,PORT-ADDRESS */
	struct str url;      /* of the root of its listing, with a slash at its end */
	uint64_t generation; /* N; grows with every commit */
	uint64_t entries, dirs;
	int64_t listed_s, built_s; /* when the listing was made, and its database */
	bool by_hand;              /* from a FILE: nobody fetches it; or nobody knows */
	/* Both lie in the snapshot. Of the key: the name, in small letters, and the address. */
	struct str host, address;
};

/* The URL that a key stands for, where nobody knows more: "ftp://NAME/" of NAME-ADDRESS. Of a text
 * that is not a key it may not be a URL. */
struct str names_key_url(struct str key, struct arena *arena);

/* Reading: a reader is a snapshot, for any number of threads. */

struct names_reader;

/* 1: there is neither a manifest nor a part. Where the manifest or a segment cannot be used, what
 * there is of parts is opened, and names_problem() says why. */
int names_open(struct names_reader **ret, const char *folder, struct err *err);
struct names_reader *names_hold(struct names_reader *r);
void names_close(struct names_reader **r);
/* 0: something was committed since, and *r is the newer snapshot. 1: it is the newest; one stat. */
int names_refresh(struct names_reader **r, struct err *err);
/* Why names are scanned and not looked up, and which sites are lost; NULL: all is well. */
const char *names_problem(const struct names_reader *r);
/* Sites of which nothing is found, since some part of them is lost or damaged, until they are built
 * again or removed. */
struct names_lost {
	struct str key, why;
	bool by_hand;
};
const struct names_lost *names_lost(const struct names_reader *r, size_t *ret_n);
/* Sorted by key. */
const struct names_site *names_sites(const struct names_reader *r, size_t *ret_n);
/* Everything that the parts say of a file; what is not in the snapshot is in the arena. 1: there is
 * no such line. */
int names_get(struct names_reader *r, uint32_t site, uint64_t line, struct arena *arena,
	      struct names_entry *ret, struct err *err);

struct names_stats {
	uint64_t generation, sites, entries, dirs;
	uint64_t segments, hidden;   /* entries of segments that the mask hides */
	uint64_t distinct, trigrams; /* names and trigrams, summed over segments */
	uint64_t index_bytes, part_bytes;
};
void names_stats(const struct names_reader *r, struct names_stats *ret);
/* Reads every page of segments and parts, and holds parts and segments against each other.
 * ERR_DAMAGED: err names the first bad place. */
int names_verify(struct names_reader *r, struct err *err);

/* Queries. */

enum names_type {
	NAMES_EXACT,   /* byte for byte */
	NAMES_SUB,     /* a part, without regard to case (Unicode, one character for one) */
	NAMES_SUBCASE, /* a part, byte for byte */
	NAMES_REGEX,   /* an expression, with regard to case */
	/* exact; only if that finds nothing, the other */
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
	/* Limits; what is not given does not limit. Of a list one must fit. */
	const struct str *site, *domain, *component; /* a key or host name; the end of a host name,
						      * by whole labels; a directory in the path, or
						      * the name, without regard to case (ASCII) */
	uint32_t sites, domains, components;
	unsigned kinds; /* bits 1 << NAMES_DIR ...; 0: all */
	bool has_size_min, has_size_max, has_time_min,
		has_time_max;                           /* what is not told never fits */
	int64_t size_min, size_max, time_min, time_max; /* inclusive */
	/* How many: files, distinct names, files of each name; 0: no limit. Then the first
	 * `offset` hits are left out. */
	uint64_t maxhits, maxmatch, maxhitspm, offset;
	enum names_sort sort;
	bool reverse;      /* size and time: the largest and newest come first, unless reverse */
	bool mirrors;      /* files of the same name and size are one hit */
	bool count;        /* total is wanted exactly */
	bool no_files;     /* hits have only site, line and name: no parts are read for them */
	int64_t budget_us; /* of CPU time; 0: no limit */
	/* Asked now and then; true ends the query as if its time were over. NULL: nobody. */
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
	bool exact;     /* whether total is; otherwise it is at least so many */
	bool cut;       /* the time was over: there may be more */
	bool scanned;   /* without the index; problem says why */
	/* What is wrong with the index, or with what was read for this answer; NULL: nothing. Of
	 * lost sites some files or all are missing, and total is not exact then. */
	const char *problem;
	const struct names_lost *lost;
	size_t losts;
};
/* Everything in *ret lies in the arena or in the snapshot. Without a sort, hits come in the order
 * of folded names, sites and lines. ERR_USAGE: the query cannot be; *ret_at, where not NULL, is the
 * byte of the expression at which it goes wrong, or SIZE_MAX. */
int names_query(struct names_reader *r, const struct names_query *q, struct arena *arena,
		struct names_hits *ret, size_t *ret_at, struct err *err);

/* Expressions of ed(1), with the rules of NAMES_ED, for texts other than names: what one becomes,
 * in *out. ERR_USAGE: what it cannot be; *ret_at is the byte. */
enum names_ed {
	NAMES_ED_NOTHING, /* nothing is left of it: it finds nothing */
	NAMES_ED_TEXT,    /* no operator: a part, byte for byte */
	NAMES_ED_RX,      /* an expression in the syntax of rx.h, for rx_compile_name() */
};
int names_ed(struct str pattern, struct buf *out, enum names_ed *ret, size_t *ret_at,
	     struct err *err);

/* URLs of files: the root is that of a site (names_site.url), and what a URL cannot hold of a path
 * is escaped. A directory ends in a slash. false, and nothing is added: there is no root. */
bool names_url(struct str root, struct str path, bool dir, struct buf *out);
bool names_entry_url(struct str root, const struct names_entry *entry, struct buf *out);
/* Of a hit with its file, not of one that is a name alone. */
bool names_hit_url(const struct names_reader *r, const struct names_hit *hit, struct buf *out);

/* Descriptions: the file whatis in the folder, lines of name, TAB, description. A line is found by
 * any part of it, without regard to case (ASCII). 1: there is no such file. */
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

/* Makes the folders and an empty index if there is none; where the manifest is lost or damaged,
 * begins anew from the parts by name. What a killed writer left is removed. options may be NULL.
 * ERR_BUSY: another process writes. */
int names_writer_open(struct names_writer **ret, const char *folder,
		      const struct names_options *options, struct err *err);
/* What was not committed is given up. */
void names_writer_close(struct names_writer **w);

struct names_site_spec {
	struct str key, url;
	int64_t listed_s;
	bool by_hand;
};
/* Begins a site; it replaces the one with this key once committed. */
int names_begin(struct names_writer *w, const struct names_site_spec *site, struct err *err);
/* A file of it, in the order of the listing: line 0, 1 ... ERR_USAGE: it cannot be taken, nothing
 * changed. Any other failure: the site is given up. */
int names_add(struct names_writer *w, const struct names_entry *entry, struct err *err);
void names_give_up(struct names_writer *w);
/* Writes parts and overlay, syncs them, replaces the manifest, then makes the links by name; merges
 * with bounded work. Negative: the old database stands and the site is given up. */
int names_commit(struct names_writer *w, struct err *err);
/* Drops a site. 1: there is none. */
int names_remove(struct names_writer *w, struct str key, struct err *err);
/* One segment of all that is committed. 1: it is one already, without anything hidden. */
int names_merge_all(struct names_writer *w, struct err *err);
/* The state as this writer has it, for a look at generations and times; good until the next commit
 * or the next call. */
const struct names_site *names_written(const struct names_writer *w, size_t *ret_n);
/* Sites that were damaged when the writer came; names_commit() of the key and names_remove() end
 * that. */
const struct names_lost *names_writer_lost(const struct names_writer *w, size_t *ret_n);

/* What changed: for those who follow the sites (archie/source_archie.h). Of each directory the
 * generation in which its files last changed is known, and directories that went away are
 * remembered, with those of dropped sites, for as long as names_forgotten() says. */

/* Generations up to this one may lack directories that went away. */
uint64_t names_forgotten(const struct names_reader *r);
uint64_t names_generation(const struct names_reader *r); /* the newest */
/* Which index this is: made when it was begun, and another where it was begun anew, since its
 * generations say nothing of the old one's. */
uint64_t names_identity(const struct names_reader *r);
struct names_change {
	struct str key, url; /* of the site */
	struct str dir;
	bool gone;
	uint64_t generation;
	uint32_t site; /* of names_sites(), unless it went away */
	uint64_t dir_number;
	/* Of gone ones. 0 left: all of it went away. More: it is still there, but with so many
	 * fewer files that it has fewer parts of NAMES_DIR_PART files, for those who tell large
	 * directories in parts; it is told as a change as well. */
	uint64_t files_left, files_was;
};
/* Changes after a generation, in the order of sites and directories; gone ones first. init, next
 * until 1. */
struct names_changes;
int names_changes_open(struct names_changes **ret, struct names_reader *r, uint64_t after,
		       struct err *err);
int names_changes_next(struct names_changes *c, struct arena *arena, struct names_change *ret,
		       struct err *err);
void names_changes_close(struct names_changes **c);
/* The number of a directory, by a look at all of them. 1: there is none. */
int names_dir_find(struct names_reader *r, uint32_t site, struct str dir, uint64_t *ret_number,
		   struct err *err);
/* The files of a directory, by line. *line is where to go on, 0 at first. 1: no more. */
int names_dir_next(struct names_reader *r, uint32_t site, uint64_t dir_number, uint64_t *line,
		   struct arena *arena, struct names_entry *ret, struct err *err);

extern const struct format names_manifest_format, names_segment_format, names_pages_format,
	names_gone_format, names_part_format;
