/* Which child gets a URL. All URLs of a host go to the child that had the last one, because it has
 * the robots.txt of that host: sixteen robots taking turns would ask every server for it sixteen
 * times. A URL whose child has no room waits for that child, but not for long, as others may be
 * idle; the child that gets it then has the host from there on.
 *
 * When a child connects, hosts are assigned again: otherwise it would get none as long as the
 * others have room.
 *
 * Hosts are slots of a table, by hash. Two hosts in one slot share a child, which does no harm.
 * Deriving the child from the hash alone was the alternative: with few hosts it is uneven. */
#include "fetch/bot/botm_inner.h"

#define PATIENCE_US US_PER_S

enum { HOSTS = 1 << 14 };

/* With its port. A URL of another form counts as its own host. */
static struct str url_host(struct str url)
{
	struct str rest = url, part;
	for (int i = 0; i < 3; i++) /* after the second slash, up to the third */
		if (str_cut(&rest, '/', &part) != 0)
			return url;
	return part;
}

size_t botm_host_of(struct str url)
{
	return hash64(url_host(url)) % HOSTS;
}

void botm_hosts_open(struct botm *b)
{
	b->host = mem_alloc(HOSTS * sizeof *b->host);
}

void botm_hosts_close(struct botm *b)
{
	mem_free(&b->host);
}

struct botm_child *botm_host_child(struct botm *b, const struct botm_job *job, int64_t now_us,
				   int64_t *ret_wait_us)
{
	struct botm_child **c = &b->host[job->host];
	int64_t wait_us = job->since_us + PATIENCE_US - now_us;
	if (*c && !list_has(&(*c)->ready) && wait_us > 0) {
		*ret_wait_us = MIN(*ret_wait_us, wait_us);
		return NULL;
	}
	if (!*c || !list_has(&(*c)->ready))
		*c = LIST_FIRST(struct botm_child, &b->ready, ready);
	return *c;
}

void botm_hosts_share(struct botm *b)
{
	memset(b->host, 0, HOSTS * sizeof *b->host);
}

void botm_hosts_forget(struct botm *b, const struct botm_child *c)
{
	for (size_t i = 0; i < HOSTS; i++)
		if (b->host[i] == c)
			b->host[i] = NULL;
}
