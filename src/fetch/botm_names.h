/* The file names of a botm: each number is a name in a folder, in exactly one place: free, given to
 * a robot, stored (a robot has filled it, and the source has not said yet what is to become of it)
 * or kept. The names are 000012/345, a subfolder for each 1,000; when a number is used again its
 * generation grows, and is part of the name from the second on (000012/345.2), so that a robot that
 * wakes up late cannot write into what is somebody else's by now.
 *
 * All of it is a record file (doc/formats/botm-names.md) that says of each step what place a name
 * is in now. One thread calls these functions, but for botm_names_commit(). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "disk/record.h"

#include <limits.h>

enum {
	BOTM_NAMES_MOST = 1000000000, /* numbers */
	BOTM_ANSWER_MAX = 8 << 10,    /* bytes of an answer */
	BOTM_NAME_ROOM = sizeof "999999/999.1073741823",
};

struct botm_names;

struct botm_name {
	uint32_t number;
	uint32_t generation; /* from 1 on; 0: no name */
};

enum botm_place { BOTM_FREE, BOTM_GIVEN, BOTM_STORED, BOTM_KEPT, BOTM_PLACES };

/* What the start has found and mended. */
struct botm_names_found {
	uint64_t cut;     /* bytes of an incomplete end */
	uint64_t given;   /* names that are free again, for their robots' answers never came */
	uint64_t removed; /* files of names that are free */
	uint64_t lost;    /* files of names that it does not know; they stay */
	bool has_lost;    /* some of them are new: since the last start it was lost, or cut */
};

/* Opens the file, or makes it, and the folder. Names that were given are free after that, and their
 * files are removed, as are those of names that are free. Files of names that were never given
 * stay, and no name that may have been given before is given again. ERR_BUSY:
 * another botm has the file or the folder. */
int botm_names_open(struct botm_names **ret, const char *path, const char *folder,
		    struct botm_names_found *ret_found, struct err *err);
int botm_names_close(struct botm_names **names, struct err *err);

/* Each is in the file at once or later; after a failure the process had better end, for memory and
 * file may differ then. What may be lost by a power cut without harm is flushed (given), the rest
 * committed.
 *
 * Takes a name: a free one, or the next. Its subfolder is there. Flush before it is used. */
int botm_names_give(struct botm_names *n, struct botm_name *ret, struct err *err);
/* A given name is stored; answer: what the source is to be told, again after a restart. Commit
 * before it is told. */
int botm_names_store(struct botm_names *n, struct botm_name name, struct str answer,
		     struct err *err);
/* A stored name is kept: the source has it. */
int botm_names_keep(struct botm_names *n, struct botm_name name, struct err *err);
/* A name in any place but free is free. Commit before its file is removed. */
int botm_names_free(struct botm_names *n, struct botm_name name, struct err *err);
/* What the steps so far say survives this process. */
int botm_names_flush(struct botm_names *n, struct err *err);

/* Committing, in two steps, so that another thread can wait for the disk: begin here, commit in
 * that thread; while it does, no botm_names_tidy(). */
struct botm_commit {
	struct record_writer *writer;
	struct record_group group;
};
struct botm_commit botm_names_commit_begin(struct botm_names *n);
int botm_names_commit(struct botm_commit *c, struct err *err);
/* Writes the file anew where it has grown too large; only while nothing is being committed. */
int botm_names_tidy(struct botm_names *n, struct err *err);

/* FREE for a generation that is not the number's present one. What lies there under such a name is
 * given to nobody, so it may be removed when its source says so. */
enum botm_place botm_names_place(const struct botm_names *n, struct botm_name name);
/* The stored ones, in no order: what was told to botm_names_store(). `at` is 0 at first. 1: no
 * more. Nothing may be changed meanwhile. */
int botm_names_next_stored(const struct botm_names *n, size_t *at, struct botm_name *ret,
			   struct str *ret_answer);
uint64_t botm_names_count(const struct botm_names *n, enum botm_place place);

/* Where the file of names of a folder is: it belongs to the folder and lies next to it, so that it
 * is the same one whichever botm has the folder: cache/names for cache/files, cache/names@1 for
 * cache/files@1, pages.names for pages. The folder is absolute. */
int botm_names_path(const char *folder, char ret[PATH_MAX], struct err *err);
/* Whether a folder that has files of names has its file of names. ERR_DAMAGED: that is not there,
 * or a link, or empty; err says so, and the remedy is botm_names_remedy. */
int botm_names_check(const char *folder, struct err *err);
extern const char botm_names_remedy[];

void botm_name_print(struct botm_name name, char ret[BOTM_NAME_ROOM]);
/* false: not the form of a name. */
bool botm_name_parse(struct str text, struct botm_name *ret) MUST_USE;

extern const struct format botm_names_format;
