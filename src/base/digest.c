#define OPENSSL_SUPPRESS_DEPRECATED /* for MD5_Init() and its kin, see md5() */
#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/md5.h>
#include <pthread.h>

struct digest {
	EVP_MD_CTX *ctx; /* always begun */
};

struct digest *digest_new(const char *name)
{
	struct digest *d = mem_alloc(sizeof *d);
	EVP_MD *md = EVP_MD_fetch(NULL, name, NULL);
	d->ctx = EVP_MD_CTX_new();
	if (!md || !d->ctx || !EVP_DigestInit_ex2(d->ctx, md, NULL))
		die("the digest %s cannot be had from OpenSSL", name);
	EVP_MD_free(md); /* the context holds on to it */
	return d;
}

void digest_add(struct digest *d, const void *p, size_t n)
{
	if (n)
		ENSURE(EVP_DigestUpdate(d->ctx, p, n));
}

size_t digest_end(struct digest *d, unsigned char *ret, size_t cap)
{
	unsigned n;
	int size = EVP_MD_CTX_get_size(d->ctx);
	ENSURE(size > 0 && (size_t)size <= cap);
	ENSURE(EVP_DigestFinal_ex(d->ctx, ret, &n));
	ENSURE(EVP_DigestInit_ex2(d->ctx, NULL, NULL)); /* the same digest again */
	return n;
}

void digest_free(struct digest **d)
{
	if (*d)
		EVP_MD_CTX_free((*d)->ctx);
	mem_free(d);
}

/* sha256() is wanted by the million for short strings, and OpenSSL takes longer to make a context
 * than to fill it. So each thread keeps one until it ends.
 * Set once, by the first caller; what changes belongs to the threads. */
static pthread_key_t thread_key;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void thread_end(void *p)
{
	struct digest *d = p;
	digest_free(&d);
}

static void thread_setup(void)
{
	ENSURE(pthread_key_create(&thread_key, thread_end) == 0);
}

static struct digest *my_sha256(void)
{
	ENSURE(pthread_once(&thread_once, thread_setup) == 0);
	struct digest *d = pthread_getspecific(thread_key);
	if (!d) {
		d = digest_new("sha256");
		ENSURE(pthread_setspecific(thread_key, d) == 0);
	}
	return d;
}

/* Two of these make a footprint. The older functions of OpenSSL need no context from the heap and
 * take three quarters of the time for a line of text. */
void md5(struct str s, unsigned char ret[16])
{
	MD5_CTX c;
	ENSURE(MD5_Init(&c) && MD5_Update(&c, s.n ? s.p : "", s.n) && MD5_Final(ret, &c));
}

void sha256(struct str s, unsigned char ret[32])
{
	struct digest *d = my_sha256();
	digest_add(d, s.p, s.n);
	digest_end(d, ret, 32);
}
