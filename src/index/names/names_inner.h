/* The inside of the names index: parts of a site, the manifest, and what a snapshot holds. Queries
 * (names_query.c) read through this; names_read.c and names_write.c make it. */
#pragma once
#include "index/names/names_segment.h"

#include <stdatomic.h>

/* The four parts of one site in one generation, mapped; counted. Lines of index, nocaseindex and
 * data are found by number at once: data by its width, the others by a table of every 64th (pages
 * file). Where that is lost (parts by name alone) the table is made when they are opened. */
enum names_part { NAMES_INDEX, NAMES_NOCASE, NAMES_DATA, NAMES_DIREC, NAMES_PARTS };
extern const char *const names_part_name[NAMES_PARTS];

struct names_parts;
/* folder: of the generation, "names/N" or, with the key, the one with the four directories. */
int names_parts_open(struct names_parts **ret, const char *folder, uint64_t generation,
		     struct err *err);
int names_parts_open_by_key(struct names_parts **ret, const char *folder, struct str key,
			    struct err *err);
struct names_parts *names_parts_hold(struct names_parts *p);
void names_parts_close(struct names_parts **p);
uint64_t names_parts_entries(const struct names_parts *p);
uint64_t names_parts_dirs(const struct names_parts *p);
uint64_t names_parts_bytes(const struct names_parts *p);
/* A name with its escapes undone; in the arena where it had any. */
int names_parts_name(struct names_parts *p, uint64_t line, struct arena *arena, struct str *ret,
		     struct err *err);
int names_parts_dir(struct names_parts *p, uint64_t number, struct arena *arena, struct str *ret,
		    struct err *err);
/* All of data, without name and dir; *ret_dir is the number of the directory. */
int names_parts_data(struct names_parts *p, uint64_t line, struct names_entry *ret,
		     uint64_t *ret_dir, struct err *err);
/* The bytes of lines of index or nocaseindex from a line on, as they lie in the file, escapes and
 * newlines with them, for a scan: at least one whole line, at most about 1 MiB. 1: no more. */
int names_parts_scan(struct names_parts *p, enum names_part part, uint64_t from, struct str *ret,
		     uint64_t *ret_lines, struct err *err);
int names_parts_verify(struct names_parts *p, struct err *err);

/* A segment in a snapshot: sites have ranges of its entries, ascending by `from`. One whose
 * generation is not the site's own any more is hidden. */
struct names_span {
	uint32_t site; /* of the snapshot; UINT32_MAX: hidden */
	uint32_t from, n;
};
struct names_layer {
	struct names_segment *segment; /* shared between snapshots */
	struct names_span *span;
	size_t spans;
	uint64_t hidden; /* entries */
};

struct names_reader {
	atomic_uint refs;
	char *folder;
	uint64_t generation, forgotten;
	struct names_site *site; /* by key */
	struct names_parts **parts;
	size_t sites;
	struct names_layer *layer; /* none: parts are scanned */
	size_t layers;
	struct names_lost *lost;
	size_t losts;
	const char *why;     /* names are scanned; NULL: they are not */
	const char *problem; /* that, and what is lost */
	/* Of texts. names_read.c's own follows in its own struct. */
	struct arena arena;
};

/* Why names are scanned (NULL: they are not) and which sites are lost, in words; NULL: neither. */
const char *names_problem_words(struct arena *arena, const char *why, const struct names_lost *lost,
				size_t losts);
