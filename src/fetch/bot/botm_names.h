/* The file names of a botm. A name is a number and a generation: 000012/345 is number 12,345, in a
 * subfolder for each 1,000; when a number is used again it has a greater generation, which is part
 * of the name from the second on (000012/345.2), so that a robot that wakes up late cannot write
 * into a file that is not its own any more.
 *
 * A subfolder's names are a block. They are reserved together, in one durable commit, and are given
 * out from memory after that. The table `botm_names` of garner.db has a row for each block that has
 * a name that is not kept, and for the last one. Nothing there tells an open name that waits to be
 * given from one that a robot has or has filled: after a restart its file tells, or that there is
 * none.
 *
 * Not thread-safe. */
#pragma once
#include "base/err.h"
#include "base/str.h"

#include <limits.h>

enum {
	BOTM_BLOCK = 1000, /* names */
	BOTM_BLOCKS_MOST = 1000000,
	BOTM_GENERATION_MOST = (1 << 30) - 1,
	BOTM_NAME_ROOM = sizeof "999999/999.1073741823",
};

struct botm_name {
	uint32_t number;
	uint32_t generation; /* from 1 on; 0: no name */
};

void botm_name_print(struct botm_name name, char ret[BOTM_NAME_ROOM]);
/* false: not the form of a name. */
bool botm_name_parse(struct str text, struct botm_name *ret) MUST_USE;

enum botm_place {
	BOTM_FREE,
	BOTM_OPEN, /* reserved, and the source has not said what is to become of its file */
	BOTM_KEPT,
};

/* What the start found. */
struct botm_names_found {
	uint64_t freed;   /* open names without a file */
	uint64_t removed; /* files of names that are free, and unfinished ones */
	bool has_lost;    /* rows are missing, or older than the files */
};

struct botm_names;

/* Makes the folder and locks it, and removes what robots left there. Where rows are lost, all files
 * of their blocks stay, and no name that may have been given is given again. ERR_BUSY: another botm
 * has the folder. */
int botm_names_open(struct botm_names **ret, const char *data, const char *folder,
		    struct botm_names_found *ret_found, struct err *err);
int botm_names_close(struct botm_names **names, struct err *err); /* also NULL inside */

/* The open names that had a file at the start. *at is 0 at first. 1: no more. */
int botm_names_next_open(const struct botm_names *n, size_t *at, struct botm_name *ret);

/* Gives an open name to a robot. Its subfolder is there. */
int botm_names_give(struct botm_names *n, struct botm_name *ret, struct err *err);
/* Says where a name is from now on: in memory, and after botm_names_flush() also after a kill. The
 * file of a name that is free is gone. */
void botm_names_put(struct botm_names *n, struct botm_name name, enum botm_place place);
int botm_names_flush(struct botm_names *n, struct err *err);
/* What was done in the folder survives a power cut. In any thread. */
int botm_names_sync(const struct botm_names *n, struct err *err);

/* Whatever its generation. */
enum botm_place botm_names_place(const struct botm_names *n, uint32_t number);
uint64_t botm_names_count(const struct botm_names *n, enum botm_place place);

/* Reads what a botm that may run has written, for botm_names_is_own() alone. */
int botm_names_read(struct botm_names **ret, const char *data, const char *folder, struct err *err);
/* Whether a file is still the botm's: its name is open or free, so no source can know it for good.
 */
bool botm_names_is_own(const struct botm_names *n, struct botm_name name);

/* Calls seen() for each subfolder of a block. */
typedef int botm_block_fn(void *ctx, uint32_t block, struct err *err);
int botm_folder_walk(const char *folder, botm_block_fn *seen, void *ctx, struct err *err);
/* Calls seen() for each file of a block that has the form of a name, or (name NULL) of what a robot
 * has not finished. */
typedef int botm_file_fn(void *ctx, const char *path, const struct botm_name *name,
			 struct err *err);
int botm_block_walk(const char *folder, uint32_t block, botm_file_fn *seen, void *ctx,
		    struct err *err);
