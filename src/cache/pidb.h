/* The providers' database, PIDB (document 004, section 3): who they are, which prefixes they have
 * proved, what they agreed on, and their sessions. Registration, notification and queue manager
 * write it, each a few rows at a time; so each function is one short transaction, durable when it
 * returns 0. Functions may wait some hundred milliseconds for another process: not for loops. */
#pragma once
#include "base/arena.h"
#include "cache/hours.h"

struct pidb;

enum {
	PIDB_TEXT_MAX = 255, /* of a site, a mail address */
	PIDB_URL_MAX = 1024, /* of a prefix: canonical, ends in a slash */
	PIDB_SECRET = 32,    /* characters of a secret */
	PIDB_PASSWORD = 24,  /* of a password that we made */
	PIDB_LINE_MAX = 160, /* PASSWORD_LINE */
	PIDB_ADDRESS_MAX = 63,
	PIDB_PREFIXES = 100,  /* that one provider may have */
	PIDB_WAITING = 10000, /* secrets that wait for their files, of all providers */
};

/* Why a full set is wanted; of several the greatest. */
enum pidb_wanted { PIDB_NOT_WANTED, PIDB_OLD, PIDB_EXPIRED, PIDB_CRASH, PIDB_NWANTED };
const char *pidb_wanted_name(enum pidb_wanted w); /* "old", "expired", "crash"; "" */

struct pidb_provider {
	uint64_t id; /* never used twice */
	char site[PIDB_TEXT_MAX + 1], mail[PIDB_TEXT_MAX + 1];
	char password[PIDB_LINE_MAX]; /* a line of role/password.h */
	bool is_verified;
	int64_t created_us, verified_us;
	/* The contract. */
	int64_t priority;                  /* the operator's; higher goes first; 0 at first */
	uint64_t quota_files, quota_space; /* the operator's; UINT64_MAX: none */
	uint64_t bandwidth;                /* the owner's: bytes a second; 0: any */
	char hours[HOURS_TEXT_MAX + 1];    /* the owner's: a list of hours.h; "": any */
	/* Sessions. */
	uint64_t seq;                            /* of the last one */
	char last_address[PIDB_ADDRESS_MAX + 1]; /* of the last one that was let in; "" */
	uint64_t errors_told;                    /* db_tally.errors at the last finished session */
	enum pidb_wanted wanted;
	uint64_t fullsets_used; /* unasked, since `since_us` of the reader */
};

/* Opens the database in the folder DATA/cache; creates it if it does not exist. */
int pidb_open(struct pidb **ret, const char *folder, struct err *err);
void pidb_close(struct pidb **p);
/* Returns a number that changes with every commit of any process; cheap. */
uint64_t pidb_version(struct pidb *p);

/* Never assigns numbers up to this one: the cache has rows of them, and this database may be new or
 * an older copy. */
int pidb_reserve(struct pidb *p, uint64_t id, struct err *err);
/* Registers a provider, which may do nothing until it is verified. password: a line of
 * role/password.h. ERR_BUSY: `address` has registered `most_a_day` times, or too many secrets
 * wait. */
int pidb_register(struct pidb *p, const char *site, const char *mail, const char *password,
		  const char *secret, const char *address, unsigned most_a_day, int64_t now_us,
		  uint64_t *ret_id, struct err *err);
/* Checks these limits alone, before a password is hashed: 0, or ERR_BUSY. */
int pidb_may_register(struct pidb *p, const char *address, unsigned most_a_day, int64_t now_us,
		      struct err *err);
/* Adds a secret for a further prefix of a verified provider; at most 10 wait. */
int pidb_secret_add(struct pidb *p, uint64_t id, const char *secret, int64_t now_us,
		    struct err *err);
/* Lists up to `most` secrets that wait for their file and were made since expired_us. 1: no such
 * provider. */
int pidb_secrets(struct pidb *p, uint64_t id, int64_t expired_us, char (*ret)[PIDB_SECRET + 1],
		 size_t most, size_t *ret_n, struct err *err);
/* The secret was found: deletes it, adds the prefix and marks the provider as verified. 1: the
 * secret no longer waits. ERR_USAGE: too many prefixes. */
int pidb_verify(struct pidb *p, uint64_t id, const char *secret, const char *prefix, int64_t now_us,
		struct err *err);
/* Deletes unverified providers and secrets from before before_us, and counts for limits dated later
 * than now_us: the clock was wrong then. */
int pidb_expire(struct pidb *p, int64_t before_us, int64_t now_us, struct err *err);
int pidb_password_set(struct pidb *p, uint64_t id, const char *password, struct err *err);
/* Deletes the provider and its rights at once; qm then removes its stored files, which it finds by
 * pidb_gone(). 1: no such provider. */
int pidb_deregister(struct pidb *p, uint64_t id, int64_t now_us, struct err *err);
/* Returns a deleted provider whose rows still exist in the cache. 1: none. */
int pidb_gone(struct pidb *p, uint64_t *ret_id, struct err *err);
int pidb_gone_done(struct pidb *p, uint64_t id, struct err *err);

/* 1: no such provider. since_us: start of the period in which unasked full sets are counted. */
int pidb_get(struct pidb *p, uint64_t id, int64_t since_us, struct pidb_provider *ret,
	     struct err *err);
/* Returns the provider with the next higher id. 1: no more. */
int pidb_next(struct pidb *p, uint64_t after, int64_t since_us, struct pidb_provider *ret,
	      struct err *err);
/* The prefixes of a provider, in the arena; more than PIDB_PREFIXES are damage. 1: there is no such
 * provider. */
int pidb_prefixes(struct pidb *p, uint64_t id, struct arena *arena, char ***ret, size_t *ret_n,
		  struct err *err);

/* Changes those terms of the contract that are not NULL. 1: no such provider. */
struct pidb_change {
	const int64_t *priority;
	const uint64_t *quota_files, *quota_space, *bandwidth;
	const char *hours, *mail;
};
int pidb_change(struct pidb *p, uint64_t id, const struct pidb_change *change, struct err *err);

/* Counts a session and stores its address; *ret is the row before, except for seq, which is that of
 * this session. */
int pidb_session(struct pidb *p, uint64_t id, const char *address, int64_t since_us,
		 struct pidb_provider *ret, struct err *err);
/* Ends a session: the provider has been told of errors up to errors_told. was: errors_told when it
 * began; a lower count means that the cache's database was created again. */
int pidb_session_done(struct pidb *p, uint64_t id, uint64_t errors_told, uint64_t was,
		      struct err *err);
/* Records an accepted full set: it is no longer wanted, or counts as unasked. */
int pidb_fullset(struct pidb *p, uint64_t id, int64_t now_us, struct err *err);
/* Asks for a full set, for this reason unless a greater one is set; id 0: of all providers. */
int pidb_want(struct pidb *p, uint64_t id, enum pidb_wanted why, struct err *err);

/* Checks pages and rows (hours, form of passwords, owners of prefixes) and calls fn with each
 * finding. Changes nothing. */
enum { PIDB_FINDING_MAX = 800 };
typedef void pidb_finding_fn(void *ctx, const char *text);
int pidb_check(const char *folder, pidb_finding_fn *fn, void *ctx, struct err *err);
