/* The inside of the writer of a names index: what its files share. names_write.c builds and commits
 * sites, names_compare.c finds what changed in them, names_merge.c keeps segments few, names_mend.c
 * makes again what was lost. */
#pragma once
#include "disk/lock.h"
#include "index/names/names_store.h"

enum {
	NAMES_LAYERS_MOST = 8,
	NAMES_GONE_FILES = 16,
	NAMES_GONE_MOST = 1000000, /* directories that went away and are remembered */
	NAMES_GONE_DAYS = 30,
};

struct names_writer {
	char *folder;
	struct lock lock;
	uint64_t memory;
	struct names_manifest manifest; /* the last that was written */
	uint64_t next;                  /* generation */
	bool broken;                    /* what is on disk could not be read again */
	bool links_due;                 /* some of the last commit could not be made */
	struct arena arena;             /* of `written` */
	struct names_site *written;
	/* the site that is being built */
	bool building;
	struct names_about about;
	struct arena about_arena;
	struct names_parts_writer *parts;
	struct names_build *build;
};

/* A copy of the manifest to be changed, with the next generation. */
void names_writer_next(struct names_writer *w, struct names_manifest *ret);
/* Makes the folder of a generation. */
int names_writer_folder(struct names_writer *w, uint64_t generation, struct err *err);
/* Syncs the folder of the manifest's generation, if there is one, and replaces the manifest; takes
 * *m over in any case. Negative: the one before stands. */
int names_writer_publish(struct names_writer *w, struct names_manifest *m, struct err *err);
/* Files of a generation that nothing names any more; no harm is done where it fails. */
void names_writer_tidy(struct names_writer *w, uint64_t generation);

/* Changes */

/* What a commit does to the directories of a site. */
struct names_compared {
	struct names_dir_runs runs;
	struct buf gone; /* as in names_gone_part */
	uint64_t gones;
	bool unknown; /* the old parts could not be read: some may have gone that are not named */
};
/* old NULL: there is none, or nothing of it is the same. */
int names_compare(struct names_parts *old, const struct names_parts_writer *now,
		  uint64_t generation, struct names_compared *ret, struct err *err);
/* All directories of a site, as gone. */
int names_compare_gone(struct names_parts *old, struct names_compared *ret, struct err *err);
void names_compared_free(struct names_compared *c);
/* Remembers them in the folder of m's generation, which it may make, and forgets what is too old.
 */
int names_remember(struct names_writer *w, struct names_manifest *m, const struct names_about *old,
		   const struct names_compared *c, struct err *err);

/* Merging */

/* Drops layers of which nothing counts any more. */
void names_layers_drop_hidden(struct names_manifest *m);
void names_layer_add(struct names_manifest *m, const struct names_manifest_layer *l);
/* Merges as a commit does: as long as it pays. */
int names_merge_some(struct names_writer *w, struct err *err);
/* One segment of these sites, from their parts; in the folder of the generation, which is there. */
int names_layer_from_parts(struct names_writer *w, const struct names_manifest *m,
			   const size_t *site, size_t n, uint64_t generation,
			   struct names_manifest_layer *ret, struct err *err);
/* What is known of a segment that was just written. */
int names_layer_look(const struct names_writer *w, uint64_t generation,
		     struct names_manifest_layer *ret, struct err *err);

/* Mending */

/* The manifest is lost: a new one, from the parts by key. */
int names_mend_all(struct names_writer *w, struct err *err);
/* Segments and parts that cannot be opened. */
int names_mend_some(struct names_writer *w, struct err *err);
