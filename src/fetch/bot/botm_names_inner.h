/* What the two halves of the names share: botm_names.c changes them, botm_names_file.c reads,
 * sweeps and verifies. */
#pragma once
#include "base/file.h"
#include "base/hash.h"
#include "base/table.h"
#include "fetch/botm_names.h"

extern const struct record_kind botm_names_kind;

TABLE(botm_answers, uint64_t, struct str, hash_u64, table_same_u64) /* number: owned bytes */

/* Which number is in which place. */
struct botm_map {
	uint32_t *name; /* generation, and the place in the two lowest bits */
	size_t n, room;
	struct botm_answers answers; /* of those that are stored */
	uint64_t answer_bytes;
	uint64_t count[BOTM_PLACES];
	char *folder; /* as the file says it; NULL: it does not */
	uint32_t era; /* names are given from this generation on; 0: from the first */
};

enum {
	BOTM_GENERATION_MOST = (1 << 30) - 1,
	BOTM_ERA_MOST = 1 << 29, /* no botm gives as many */
};

enum botm_step_kind { BOTM_STEP_NAME, BOTM_STEP_FOLDER, BOTM_STEP_ERA };

/* A record: the place that a name is in from now on, a folder, or an era. */
struct botm_step {
	enum botm_step_kind kind;
	enum botm_place place;
	struct botm_name name; /* of an era the generation alone */
	struct str text;       /* the folder; the answer of a name that is stored */
};
void botm_step_write(const struct botm_step *step, struct buf *out);
int botm_step_read(struct str payload, struct botm_step *ret, struct err *err);

/* ERR_DAMAGED: the step cannot follow those before it. */
int botm_map_apply(struct botm_map *m, const struct botm_step *step, struct err *err);
struct botm_name botm_map_name(const struct botm_map *m, uint32_t number);
enum botm_place botm_map_place(const struct botm_map *m, uint32_t number);
void botm_map_free(struct botm_map *m);
/* The generation of a number that is given next. */
uint32_t botm_map_next(const struct botm_map *m, uint32_t number);

/* Whose a file is that has the form of a name. */
enum botm_claim {
	BOTM_HELD, /* stored or kept */
	BOTM_LEFT, /* by a robot, or by a removal that was under way: it may go */
	BOTM_LOST, /* of a name that was never given, so that the file of names has lost something;
		      or from before the era that began when that was noticed */
};
enum botm_claim botm_map_claim(const struct botm_map *m, struct botm_name name);
/* 1: there is no such file, or nothing in it. */
int botm_map_load(struct botm_map *m, const char *path, struct err *err);

/* Walks over all files of the folder that have the form of a name, or of an unfinished file. *seen,
 * where not NULL, is called for each; is_name false: it is a file of a robot that was killed. */
typedef int botm_seen_fn(void *ctx, const char *path, bool is_name, struct botm_name name,
			 struct err *err);
int botm_folder_walk(const char *folder, botm_seen_fn *seen, void *ctx, struct err *err);
