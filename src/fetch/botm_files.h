/* The files in the folder of a botm, held against what their source knows of them. Only reads, and
 * the botm may run: what it has given to robots, or not been told about yet, is its own. */
#pragma once
#include "fetch/bot_wire.h"

struct botm_files;

/* Looks what there is. 1: there is no such folder. */
int botm_files_open(struct botm_files **ret, const char *data, const char *folder, struct err *err);
void botm_files_free(struct botm_files **f);
/* The source knows it. true: it is there. */
bool botm_files_known(struct botm_files *f, struct str file);
/* The next file that is not the botm's own, and that the source has not said to know; still there.
 * *at is 0 at first. 1: no more. */
int botm_files_next_unknown(const struct botm_files *f, size_t *at, char ret[BOT_FILE_MAX + 1]);
