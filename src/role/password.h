/* Passwords as lines that can stand in a configuration: argon2id, with a salt of their own. Nothing
 * here is ever logged. Making or checking one takes about 50 ms and 32 MiB: those who let strangers
 * try do one at a time. */
#pragma once
#include "base/err.h"
#include "base/str.h"

enum { PASSWORD_LINE = 160, PASSWORD_MOST = 1024 /* bytes of a password */ };

/* "$argon2id$v=19$m=...,t=...,p=...$SALT$HASH". ERR_USAGE: it is empty, too long, or has a blank, a
 * quote or a control character, which not every client could send. */
int password_make(struct str password, char ret[PASSWORD_LINE], struct err *err);
/* Whether a line is one that password_make() could have made, with parameters of bounded cost.
 * ERR_USAGE: it is not. */
int password_line_check(const char *line, struct err *err);
/* 0: it is the one. 1: it is another. In constant time but for the parameters of the line. */
int password_check(const char *line, struct str password, struct err *err);
