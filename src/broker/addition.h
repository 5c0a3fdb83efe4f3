/* A file of SOIF that the administrator has put below broker/add, read a piece at a time: plain
 * objects, or sections that say what is updated, refreshed and deleted. */
#pragma once
#include "soif/source.h"

#define ADDITION_FOLDER "add"                        /* below the broker's folder */
#define ADDITION_MOST (UINT64_C(1024) * 1024 * 1024) /* bytes of a file */

struct addition;

/* 1: there is no such file. ERR_USAGE: it is not one that may be read, or too large. */
int addition_open(struct addition **ret, const char *broker_folder, struct str name,
		  struct err *err);
void addition_free(struct addition **a);
const char *addition_name(const struct addition *a);

/* 0: the next object, good until the next call. 1: there are no more. Negative: one was left out
 * and calling again goes on after it; but with ERR_SYSTEM the file cannot be read on. */
int addition_next(struct addition *a, struct arena *arena, struct source_change *ret,
		  struct err *err);
