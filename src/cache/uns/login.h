/* Logins of providers. Argon2id takes 50 ms and 32 MiB, so only one runs at a time per table, and a
 * right password is remembered as a keyed hash until the provider's password line changes. After a
 * wrong password an address (of IPv6: a /64) must wait, longer each time, up to a minute; until
 * then its attempts are rejected unread. One table serves all threads of a process. Every function
 * may block: call them from pool threads only. */
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
	bool quickly;     /* skip argon2id: LOGIN_SLOWLY instead, and no failure is counted */
	int64_t since_us; /* as of pidb_get() */
	int64_t now_mono_us;
};
/* 0: the password is right and *ret is filled. 1: refused for *ret_why; LOGIN_WAIT: the address
 * must wait *ret_wait_us, whatever the password. Unknown providers take as long as wrong passwords.
 */
int login_check(struct login *l, const struct login_ask *ask, struct pidb_provider *ret,
		enum login_refusal *ret_why, int64_t *ret_wait_us, struct err *err);
/* Makes the line of a new password by password_make(), one at a time. */
int login_password_make(struct login *l, struct str password, char ret[PASSWORD_LINE],
			struct err *err);
