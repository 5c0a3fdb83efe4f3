/* What went wrong, in words. A function that can fail returns int: 0 done, 1 nothing (end, not
 * found), negative failed, with the words in a struct err that the caller owns. The message names
 * the thing, the number and what happens next. Libraries never log: the top does, once. */
#pragma once
#include "base/base.h"

/* The codes are the exit codes of the commands. */
enum err_code {
	ERR_NONE = 0,
	ERR_NOTHING = 1, /* there is none of what was asked for */
	ERR_USAGE = 2,   /* usage, configuration or input that cannot be taken */
	ERR_PARTLY = 3,  /* part of the work was done */
	ERR_DAMAGED = 4, /* a store is damaged */
	ERR_BUSY = 5,    /* another process holds it */
	ERR_REMOTE = 6,  /* a remote failed */
	ERR_SYSTEM = 7,  /* the system refused: input/output, space, permission, a limit */
};

struct err {
	enum err_code code;
	int sys_errno; /* 0 when no system call failed */
	char msg[512];
};

/* Each returns -1, so that `return err_set(...)` reads well. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same with ": " and the text of errno after it; the code is ERR_SYSTEM. */
int err_sys(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Puts "context: " before the message that is there. */
int err_in(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Puts "; what follows from it" after the message that is there. */
int err_then(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
