/* The inside of what keeps names: parts while they are written, the pages file, the manifest, and
 * the folders. Readers of names need names_inner.h alone. */
#pragma once
#include "base/file.h"
#include "base/vec.h"
#include "disk/page.h"
#include "index/names/names_inner.h"

#include <pthread.h>

enum {
	NAMES_DIRS_MOST = 99999999,        /* directories of a site: their numbers have 8 digits */
	NAMES_INDEX_EVERY = 64,            /* a line of index of which the place is known */
	NAMES_DIREC_EVERY = 16,            /* and of direc */
	NAMES_FROM_EVERY = 256,            /* places that are counted from one u64 */
	NAMES_GONE_BYTES_MOST = 256 << 20, /* of a file of directories that went away */
};

/* Folders and files, to be freed. "names/12/index" */
char *names_path(const char *folder, const char *name);
char *names_generation_path(const char *folder, uint64_t generation, const char *name);
char *names_key_path(const char *folder, enum names_part part, struct str key);
/* The number of a generation's folder; false: it is none. */
bool names_generation_of(const char *name, uint64_t *ret);

/* Lines of data */

/* Exactly NAMES_LINE_BYTES. */
void names_line_put(const struct names_entry *e, uint64_t dir, char *to);
/* Without name and dir; owner and group point into the line. false: it cannot be a line. */
bool names_line_get(const char *line, struct names_entry *ret, uint64_t *ret_dir);

/* What is known of the parts of one site, next to their bytes: which lines lie where. */
struct names_places {
	uint64_t *at; /* of every NAMES_INDEX_EVERY-th or NAMES_DIREC_EVERY-th line */
	size_t n, room;
};

/* Which generation changed the files of directories, for runs of them. */
struct names_dir_run {
	uint64_t n, generation;
};

struct names_dir_runs {
	struct names_dir_run *run; /* of all directories, in order */
	size_t n, room;
};

/* What a site says of itself; also in the pages file, so that a lost manifest can be made again. */
struct names_about {
	struct str key, url;
	uint64_t generation, entries, dirs;
	int64_t listed_s, built_s;
	bool by_hand;
};

/* For people: number, mode, links, owner, group, size, time and path, with tabs between. */
void names_print_line(uint64_t number, const struct names_entry *e, struct buf *out);

/* Writing parts */

struct names_parts_writer;
/* folder: of the generation; it is there. */
int names_parts_create(struct names_parts_writer **ret, const char *folder, struct err *err);
/* ERR_USAGE: it cannot be taken; nothing was written. */
int names_parts_add(struct names_parts_writer *w, const struct names_entry *e, struct err *err);
/* Ends and syncs the four files. */
int names_parts_finish(struct names_parts_writer *w, struct err *err);
uint64_t names_parts_written(const struct names_parts_writer *w, uint64_t *ret_dirs);
/* Of the files of a directory. The hash does not depend on their order. */
struct names_dir_sum {
	uint64_t hash, files;
};
/* The number that a directory got. 1: there is none. */
int names_parts_find_dir(const struct names_parts_writer *w, struct str dir, uint64_t *ret,
			 struct names_dir_sum *ret_sum);
/* What one file adds to the hash of its directory: its lines of data and of index. */
uint64_t names_file_hash(const char *data, struct str index);
/* After the end: the pages file. */
int names_parts_write_pages(struct names_parts_writer *w, const char *path,
			    const struct names_about *about, const struct names_dir_runs *runs,
			    struct err *err);
void names_parts_drop(struct names_parts_writer **w); /* the files stay */

/* The pages file */

struct names_pages_content {
	struct names_about about;
	uint64_t bytes[NAMES_PARTS];
	struct str table[NAMES_PARTS]; /* checksums */
	const struct names_places *index, *direc;
	const struct names_dir_runs *runs;
};
int names_pages_write(const char *path, const struct names_pages_content *c, struct err *err);

struct names_pages {
	struct page_file *file;
	struct names_about about; /* texts lie in the file */
	uint64_t bytes[NAMES_PARTS];
	struct str table[NAMES_PARTS];
	struct str index_from, index_at, direc_from, direc_at, runs;
};
/* 1: it does not exist. */
int names_pages_open(struct names_pages *ret, const char *path, struct err *err);
void names_pages_close(struct names_pages *p);
/* The places of lines as the file has them: first what others are counted from, then these. */
void names_places_put(const struct names_places *p, struct buf *out);
/* Runs of directories, one after the other. 1: no more. */
int names_pages_next_run(struct str *rest, uint64_t generation, struct names_dir_run *ret,
			 struct err *err);
/* Where line number i * every begins. */
uint64_t names_place_at(struct str from, struct str at, uint64_t i);

/* Parts that are open */

/* Maximal runs of lines that are of one directory, by directory; made when first asked for. */
struct names_dir_lines {
	uint32_t *first; /* of each directory, and one more: its first run */
	uint32_t *from, *n;
};

struct names_parts {
	atomic_uint refs;
	struct names_pages pages; /* its file is NULL where there is none */
	struct buf made;          /* the places of lines then */
	struct page_file *part[NAMES_PARTS];
	uint64_t entries, dirs;
	pthread_mutex_t mutex; /* of what follows */
	struct names_dir_lines lines;
};

/* What the pages file says; NULL: there is none. */
const struct names_pages *names_parts_pages(const struct names_parts *p);
/* The bytes from one line of which the place is known to that which is `groups` later. */
int names_lines_get(struct names_parts *p, enum names_part part, uint64_t group, uint64_t groups,
		    struct str *ret, struct err *err);
/* After n newlines. NULL: there are not so many. */
const char *names_lines_skip(const char *p, const char *end, uint64_t n);
/* The lines of a directory, from *line on: the next one. 1: no more. */
int names_parts_dir_line(struct names_parts *p, uint64_t dir, uint64_t *line, struct err *err);
/* The number of a directory, whose path has its escapes. 1: there is none. */
int names_parts_dir_number(struct names_parts *p, struct str escaped, uint64_t *ret,
			   struct err *err);
/* The pages file of parts that have none; writes it. */
int names_parts_make_pages(struct names_parts *p, const char *path, const struct names_about *about,
			   struct err *err);

/* The manifest */

struct names_manifest_site {
	struct names_about about;
	uint32_t pages_sum; /* page_sum() of its pages file */
};
/* Entries of a segment: those of one site in one generation, which no other site has. */
struct names_manifest_span {
	uint64_t generation;
	uint32_t n;
};
struct names_manifest_layer {
	uint64_t generation; /* the folder with the segment */
	uint64_t bytes;
	uint32_t entries;
	struct names_manifest_span *span;
	size_t spans;
};
struct names_manifest_gone {
	uint64_t generation; /* the folder with the file */
	uint64_t dirs;
	int64_t newest_s; /* when its newest went away */
};
struct names_manifest {
	uint64_t identity, generation, forgotten;
	struct names_manifest_site *site; /* by key */
	struct names_manifest_layer *layer;
	struct names_manifest_gone *gone; /* the oldest first */
	struct str *removed;              /* keys of sites whose links may still be there */
	struct names_lost *lost;          /* sites that a writer found damaged and left out */
	size_t sites, layers, gones, removeds, losts;
	struct arena arena; /* of all of it */
};
/* 1: there is none. ret_file, where not NULL, is the open file, so that nobody else gets its
 * number; also where it is damaged. */
int names_manifest_read(const char *folder, struct names_manifest *ret, struct file *ret_file,
			struct err *err);
int names_manifest_read_file(const char *path, struct names_manifest *ret, struct err *err); /* 1 */
int names_manifest_write(const char *folder, const struct names_manifest *m, struct err *err);
void names_manifest_free(struct names_manifest *m);
uint64_t names_identity_new(void); /* never 0 */
/* A copy with an arena of its own. */
void names_manifest_copy(struct names_manifest *ret, const struct names_manifest *from);
/* SIZE_MAX: there is none. */
size_t names_manifest_find(const struct names_manifest *m, struct str key);
size_t names_manifest_find_lost(const struct names_manifest *m, struct str key);
void names_manifest_lose(struct names_manifest *m, const struct names_lost *site);
struct names_lost names_lost_copy(struct arena *a, const struct names_lost *from);
/* 1: it was not lost. */
int names_manifest_unlose(struct names_manifest *m, struct str key);
size_t names_manifest_find_generation(const struct names_manifest *m, uint64_t generation);
/* The segment of a layer. ERR_DAMAGED: it is not there, or not the one that the manifest means. */
int names_layer_open(struct names_segment **ret, const char *folder,
		     const struct names_manifest_layer *l, struct err *err);
/* Entries of a layer that belong to no site any more. */
uint64_t names_manifest_hidden(const struct names_manifest *m,
			       const struct names_manifest_layer *layer);

/* Of a snapshot; empty where names are scanned for want of one. */
const struct names_manifest *names_reader_manifest(const struct names_reader *r);
/* The file of m->gone[i]; NULL: it could not be opened. */
struct page_file *names_reader_gone(const struct names_reader *r, size_t i);
struct names_site names_site_of(struct arena *a, const struct names_about *about);
/* The parts of a site in the folder of its generation, as the manifest knows them. 1: something is
 * lost; err says what. */
int names_site_parts(const char *folder, const struct names_manifest_site *m,
		     struct names_parts **ret, struct err *err);

/* Folders and links */

int names_folders_make(const char *folder, struct err *err);
/* Files of one generation that the manifest does not need are removed, and the folder where none is
 * left. */
int names_folder_tidy(const char *folder, const struct names_manifest *m, uint64_t generation,
		      struct err *err);
/* The same for all generations, with what killed writers left. */
int names_folder_sweep(const char *folder, const struct names_manifest *m, struct err *err);
/* The largest number that a folder of a generation has; 0: there is none. */
int names_folder_newest(const char *folder, uint64_t *ret, struct err *err);
/* The parts of a site by its key: links to those of its generation. */
int names_links_make(const char *folder, struct str key, uint64_t generation, struct err *err);
int names_links_remove(const char *folder, struct str key, struct err *err);

/* Directories that went away */

struct names_gone_part {
	struct str key, url;
	uint64_t generation;
	int64_t time_s;
	struct str dirs; /* each a text, and varints: files that are left, and that there were */
	uint64_t n;
};
/* One file: parts, the oldest first. They point into it. */
struct names_gone {
	struct names_gone_part *part;
	size_t n, room;
};
int names_gone_parse(struct page_file *f, struct names_gone *ret, struct err *err);
int names_gone_write(const char *path, const struct names_gone_part *part, size_t n,
		     struct err *err);
void names_gone_free(struct names_gone *g);
struct names_gone_dir {
	struct str dir;
	uint64_t left, was;
};
/* The directories of a part, one after the other. 1: no more. */
int names_gone_next(struct str *rest, struct names_gone_dir *ret, struct err *err);
