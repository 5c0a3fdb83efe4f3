/* Logins. What makes guessing slow is argon2id, one at a time, and the wait of an address that was
 * wrong. The wait is looked at once more when a try's turn has come, so that many tries at once are
 * not better than one after the other. It ends when the provider whose password was wrong is let
 * in, or after some quiet; not when another is, or who has one password could guess at the others
 * with it. A right password is remembered as a hash with a key of this process, of the password and
 * the line together: a line that is changed makes it forgotten. */
#include "cache/uns/login.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/table.h"
#include "cache/cache_conf.h"
#include "net/addr.h"

#include <pthread.h>
#include <sys/random.h>

enum {
	KEY_BYTES = 32,
	HASH_BYTES = 32,
	REMEMBERED_MOST = 1 << 16, /* providers, at 40 bytes */
	ADDRESSES_MOST = 1 << 16,  /* at 64 bytes */
};
#define WAIT_LEAST_US (250 * US_PER_MS)
#define WAIT_MOST_US US_PER_MIN
#define QUIET_US (10 * US_PER_MIN) /* after which an address begins anew */

struct remembered {
	unsigned char hash[HASH_BYTES];
};

struct misses {
	unsigned n;        /* in a row */
	int64_t until_us;  /* it waits */
	uint64_t provider; /* whose password it was; 0: of several */
};

TABLE(known, uint64_t, struct remembered, hash_u64, table_same_u64)
TABLE(strangers, struct addr, struct misses, addr_hash, addr_eq)

struct login {
	struct pidb *pidb;
	unsigned char key[KEY_BYTES];
	pthread_mutex_t turn; /* held for an argon2id, and around `dummy` */
	char dummy[PASSWORD_LINE];
	pthread_mutex_t lock; /* of the tables; never held for long */
	struct known known;
	struct strangers strangers;
};

struct login *login_new(struct pidb *pidb)
{
	struct login *l = mem_alloc(sizeof *l);
	l->pidb = pidb;
	pthread_mutex_init(&l->turn, NULL);
	pthread_mutex_init(&l->lock, NULL);
	ENSURE(getrandom(l->key, sizeof l->key, 0) == (ssize_t)sizeof l->key);
	return l;
}

void login_free(struct login **l)
{
	if (!*l)
		return;
	known_free(&(*l)->known);
	strangers_free(&(*l)->strangers);
	pthread_mutex_destroy(&(*l)->turn);
	pthread_mutex_destroy(&(*l)->lock);
	explicit_bzero((*l)->key, sizeof(*l)->key);
	mem_free(l);
}

unsigned login_code(enum login_refusal why)
{
	static const unsigned code[] = {[LOGIN_UNKNOWN] = CACHE_UNKNOWN,
					[LOGIN_WRONG] = CACHE_PASSWORD,
					[LOGIN_UNVERIFIED] = CACHE_UNVERIFIED,
					[LOGIN_WAIT] = CACHE_LATER,
					[LOGIN_SLOWLY] = CACHE_LATER};
	return code[why];
}

/* All that are not addresses of the network, such as Unix peers, are one. */
static struct addr stranger_of(struct str address)
{
	struct addr a = {0};
	if (addr_parse_port(address, 0, &a)) {
		a = addr_server(&a);
		a.port = 0;
	}
	return a;
}

/* The lock is held. How long it still has to wait; 0: it may try. */
static int64_t stranger_waits(struct login *l, struct addr from, int64_t now_us)
{
	struct misses *m = strangers_get(&l->strangers, from);
	return m && m->until_us > now_us ? m->until_us - now_us : 0;
}

static void strangers_trim(struct login *l, int64_t now_us)
{
	if (strangers_count(&l->strangers) < ADDRESSES_MOST)
		return;
	TABLE_EACH (strangers, slot, &l->strangers)
		if (slot->value.until_us <= now_us)
			strangers_remove(&l->strangers, slot->key);
	if (strangers_count(&l->strangers) > ADDRESSES_MOST / 2)
		strangers_clear(&l->strangers);
}

static void stranger_missed(struct login *l, struct addr from, const struct login_ask *ask)
{
	bool is_new;
	strangers_trim(l, ask->now_mono_us);
	struct misses *m = strangers_put_new(&l->strangers, from, &is_new);
	if (is_new || m->until_us + QUIET_US < ask->now_mono_us)
		*m = (struct misses){.provider = ask->provider};
	if (m->provider != ask->provider)
		m->provider = 0;
	m->n++;
	m->until_us = ask->now_mono_us + backoff_us(m->n, WAIT_LEAST_US, WAIT_MOST_US);
}

static void password_hash(const struct login *l, const char *line, struct str password,
			  unsigned char ret[HASH_BYTES])
{
	struct digest *d = digest_new("sha256");
	digest_add(d, l->key, sizeof l->key);
	digest_add(d, line, strlen(line) + 1);
	digest_add(d, password.p, password.n);
	digest_end(d, ret, HASH_BYTES);
	digest_free(&d);
}

static bool hash_same(const unsigned char *a, const unsigned char *b)
{
	volatile unsigned char differs = 0;
	for (size_t i = 0; i < HASH_BYTES; i++)
		differs |= a[i] ^ b[i];
	return differs == 0;
}

/* What is found out of one who asks. */
struct attempt {
	const struct login_ask *ask;
	struct addr from;
	bool is_known; /* there is such a provider */
	const char *line;
	unsigned char hash[HASH_BYTES];
	int64_t wait_us;
	bool is_slow; /* it would take an argon2id */
};

/* 0: right; 1: wrong, or it has to wait. */
static int attempt_slowly(struct login *l, struct attempt *a, struct err *err)
{
	pthread_mutex_lock(&l->lock);
	a->wait_us = stranger_waits(l, a->from, a->ask->now_mono_us);
	pthread_mutex_unlock(&l->lock);
	if (a->wait_us)
		return 1;
	if (!a->is_known && !l->dummy[0] && password_make(STR("nobody"), l->dummy, err) < 0)
		return -1;
	if (a->ask->password.n == 0 || a->ask->password.n > PASSWORD_MOST)
		return 1;
	int rc = password_check(a->is_known ? a->line : l->dummy, a->ask->password, err);
	return rc == 0 && !a->is_known ? 1 : rc;
}

/* The lock is held. */
static void stranger_forgive(struct login *l, const struct attempt *a)
{
	const struct misses *m = strangers_get(&l->strangers, a->from);
	if (m && m->provider == a->ask->provider)
		strangers_remove(&l->strangers, a->from);
}

/* What is remembered of it; true: it is right, or has to wait, and nothing more is to be done. */
static bool attempt_remembered(struct login *l, struct attempt *a)
{
	pthread_mutex_lock(&l->lock);
	a->wait_us = stranger_waits(l, a->from, a->ask->now_mono_us);
	const struct remembered *r = a->is_known ? known_get(&l->known, a->ask->provider) : NULL;
	bool right = r && hash_same(r->hash, a->hash);
	if (right && !a->wait_us)
		stranger_forgive(l, a);
	pthread_mutex_unlock(&l->lock);
	return a->wait_us || right;
}

static void attempt_settle(struct login *l, const struct attempt *a, bool right)
{
	pthread_mutex_lock(&l->lock);
	if (!right) {
		stranger_missed(l, a->from, a->ask);
	} else {
		stranger_forgive(l, a);
		if (known_count(&l->known) >= REMEMBERED_MOST)
			known_clear(&l->known);
		memcpy(known_put(&l->known, a->ask->provider)->hash, a->hash, HASH_BYTES);
	}
	pthread_mutex_unlock(&l->lock);
}

static int attempt_run(struct login *l, struct attempt *a, struct err *err)
{
	if (attempt_remembered(l, a))
		return a->wait_us ? 1 : 0;
	a->is_slow = a->ask->quickly;
	if (a->is_slow)
		return 1;
	pthread_mutex_lock(&l->turn);
	int rc = attempt_slowly(l, a, err);
	if (rc >= 0 && !a->wait_us)
		attempt_settle(l, a, rc == 0);
	pthread_mutex_unlock(&l->turn);
	return rc;
}

int login_check(struct login *l, const struct login_ask *ask, struct pidb_provider *ret,
		enum login_refusal *ret_why, int64_t *ret_wait_us, struct err *err)
{
	struct pidb_provider who = {0};
	struct attempt a = {.ask = ask, .from = stranger_of(ask->address)};
	/* Who has to wait does not make the database work. */
	pthread_mutex_lock(&l->lock);
	a.wait_us = stranger_waits(l, a.from, ask->now_mono_us);
	pthread_mutex_unlock(&l->lock);
	int rc = 1;
	if (!a.wait_us) {
		rc = pidb_get(l->pidb, ask->provider, ask->since_us, &who, err);
		if (rc < 0)
			return -1;
		a.is_known = rc == 0;
		a.line = who.password;
		password_hash(l, who.password, ask->password, a.hash);
		rc = attempt_run(l, &a, err);
	}
	if (rc < 0)
		return -1;
	*ret_wait_us = a.wait_us;
	if (rc == 0 && (who.is_verified || ask->unverified_too)) {
		*ret = who;
		return 0;
	}
	*ret_why = a.wait_us    ? LOGIN_WAIT
		   : a.is_slow  ? LOGIN_SLOWLY
		   : rc == 0    ? LOGIN_UNVERIFIED
		   : a.is_known ? LOGIN_WRONG
				: LOGIN_UNKNOWN;
	return 1;
}

int login_password_make(struct login *l, struct str password, char ret[PASSWORD_LINE],
			struct err *err)
{
	pthread_mutex_lock(&l->turn);
	int rc = password_make(password, ret, err);
	pthread_mutex_unlock(&l->turn);
	return rc;
}
