/* Whether somebody is the provider that he says he is. Argon2id takes 50 ms and 32 MiB, so one runs
 * at a time for all that use one table, and a password that was right is remembered, as a keyed
 * hash, until the provider's line changes. An address (of IPv6: a network of 64 bits) that was
 * wrong has to wait, longer each time, up to a minute; meanwhile it is not even asked what it
 * knows. One table serves all threads of a process; everything here may wait, so it is for threads
 * of a pool. */
#pragma once
#include "cache/pidb.h"
#include "role/password.h"

struct login;

struct login *login_new(struct pidb *pidb);
void login_free(struct login **l);

enum login_refusal { LOGIN_UNKNOWN, LOGIN_WRONG, LOGIN_UNVERIFIED, LOGIN_WAIT, LOGIN_SLOWLY };
/* The code of the cache's protocols: 100, 101, 103, 102, 102. */
unsigned login_code(enum login_refusal why);

struct login_ask {
	uint64_t provider;
	struct str password;
	struct str address; /* as session_peer() and http_from() print it, with or without port */
	bool unverified_too;
	bool quickly; /* only what needs no argon2id: else LOGIN_SLOWLY, and nothing is counted */
	int64_t since_us; /* as of pidb_get() */
	int64_t now_mono_us;
};
/* 0: he is; *ret is filled. 1: he is not, *ret_why says why; LOGIN_WAIT: not before *ret_wait_us,
 * whatever the password is. Unknown providers take as long as wrong passwords. */
int login_check(struct login *l, const struct login_ask *ask, struct pidb_provider *ret,
		enum login_refusal *ret_why, int64_t *ret_wait_us, struct err *err);
/* A line for a new password, as password_make() gives it, when its turn has come. */
int login_password_make(struct login *l, struct str password, char ret[PASSWORD_LINE],
			struct err *err);
