/* Pseudo-domains: names for lists of domains and other pseudo-domains, from ardomains.cf.
 *
 *   usa            edu:com:mil:gov:us   United States
 *   northamerica   usa:ca:mx            North America
 *
 * A line is a name, its members separated by colons, and a description. A # begins a comment, a
 * \ at the end of a line continues it. A pseudo-domain must be defined above its use. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	DOMAINS_MOST = 1000,           /* lines; more are left out */
	DOMAINS_DEEP = 20,             /* levels of pseudo-domains */
	DOMAINS_FILE_MOST = 256 << 10, /* bytes; a larger file is left out */
	DOMAINS_MEMORY_MOST = 1 << 20, /* of an arena for a whole file */
};

struct domain {
	struct str name, members, text; /* text may be empty */
	unsigned line;                  /* of the file, from 1 */
};
struct domains {
	const struct domain *domain;
	size_t n;
};

/* Our own, used if there is no file: a text for domains_parse(). */
struct str domains_own(void);
/* Slices lie in the arena. Leaves out wrong lines and second definitions of a name; `warnings` (may
 * be NULL) gets a line about each: "line 3: ...". */
struct domains domains_parse(struct str text, struct arena *arena, struct buf *warnings);
/* Reads etc/ardomains.cf in the folder, archie/; our own if there is none or reading fails (a
 * warning). */
struct domains domains_read(const char *folder, struct arena *arena, struct buf *warnings);
/* NULL: it is not a pseudo-domain. */
const struct domain *domains_find(const struct domains *d, struct str name);
/* Expands a list ("usa:.de:no") into domains in lower case, without dots at either end, each once.
 * ERR_USAGE: a loop, more than DOMAINS_DEEP levels, a member defined below its use, or more than
 * `most`. */
int domains_expand(const struct domains *d, struct str list, size_t most, struct arena *arena,
		   const struct str **ret, uint32_t *ret_n, struct err *err);

/* The same with a cache: reads the file again only after it has changed. Thread-safe. */
struct domains_file;
struct domains_file *domains_file_new(const char *folder);
void domains_file_free(struct domains_file **f);
/* A copy of the current domains in the arena. */
struct domains domains_file_get(struct domains_file *f, struct arena *arena);
