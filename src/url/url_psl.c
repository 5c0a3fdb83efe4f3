/* Public suffixes by libpsl, which is loaded with its list when the first question comes: few
 * programs ask, and it brings libidn2 and libunistring along. */
#include "url/url.h"

#include <dlfcn.h>
#include <pthread.h>

enum { NAME_MAX_BYTES = 255 }; /* of a name in DNS */

/* Set once, by the first caller. From libpsl.h, whose package a build need not have. */
static struct {
	pthread_once_t once;
	void *list;
	const char *(*registrable)(const void *list, const char *name);
} psl = {.once = PTHREAD_ONCE_INIT};

/* The system's list where it is newer than the one in the library. */
static void psl_load(void)
{
	void *library = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	void *latest = dlsym(library, "psl_latest");
	void *registrable = dlsym(library, "psl_registrable_domain");
	void *(*psl_latest)(const char *file);
	if (!latest || !registrable)
		return;
	memcpy(&psl_latest, &latest, sizeof latest); /* ISO C has no cast for these */
	memcpy(&psl.registrable, &registrable, sizeof registrable);
	psl.list = psl_latest(NULL);
}

static bool is_address(struct str host)
{
	return host.p[0] == '[' || (host.p[host.n - 1] >= '0' && host.p[host.n - 1] <= '9');
}

int url_domain(struct str host, struct str *ret)
{
	char name[NAME_MAX_BYTES + 1];
	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	if (host.n == 0 || host.n >= sizeof name || is_address(host))
		return 1;
	ENSURE(pthread_once(&psl.once, psl_load) == 0);
	memcpy(name, host.p, host.n);
	name[host.n] = 0;
	const char *domain = psl.list ? psl.registrable(psl.list, name) : NULL;
	if (!domain)
		return 1;
	*ret = str_from(host, host.n - strlen(domain));
	return 0;
}
