/* Pseudo-domains: names that stand for domains and other pseudo-domains, as ardomains.cf has them.
 *
 *   usa            edu:com:mil:gov:us   United States
 *   northamerica   usa:ca:mx            North America
 *
 * A line is a name, its members with colons between them, and words for people. A # begins a
 * comment, a \ at the end of a line joins the next one to it. A member that is a pseudo-domain must
 * stand above. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	DOMAINS_MOST = 1000,           /* lines; more are left out */
	DOMAINS_DEEP = 20,             /* pseudo-domains in pseudo-domains */
	DOMAINS_FILE_MOST = 256 << 10, /* bytes; a larger file is left out */
	DOMAINS_MEMORY_MOST = 1 << 20, /* of an arena, for all that a file has */
};

struct domain {
	struct str name, members, text; /* text may be empty */
	unsigned line;                  /* of the file, from 1 */
};
struct domains {
	const struct domain *domain;
	size_t n;
};

/* Those that we bring along, for where there is no file: a text for domains_parse(). */
struct str domains_own(void);
/* The slices lie in the arena. A line that is not of this form, or that defines a name anew, is
 * left out, and `warnings` (NULL: nobody wants to know) gets a line about it: "line 3: ...". */
struct domains domains_parse(struct str text, struct arena *arena, struct buf *warnings);
/* Those of etc/ardomains.cf in the folder, archie/; where there is none, or it cannot be read (a
 * warning), our own. */
struct domains domains_read(const char *folder, struct arena *arena, struct buf *warnings);
/* NULL: it is not a pseudo-domain. */
const struct domain *domains_find(const struct domains *d, struct str name);
/* What a list with colons between its members ("usa:.de:no") stands for, in small letters, without
 * dots at either end, each once. ERR_USAGE: a loop, deeper than DOMAINS_DEEP, a member that is
 * defined below its use, or more than `most`. */
int domains_expand(const struct domains *d, struct str list, size_t most, struct arena *arena,
		   struct str **ret, size_t *ret_n, struct err *err);

/* The same for those who are asked often: the file is read again only after it has changed. Any
 * thread may ask. */
struct domains_file;
struct domains_file *domains_file_new(const char *folder);
void domains_file_free(struct domains_file **f);
/* As of now; a copy in the arena. */
struct domains domains_file_get(struct domains_file *f, struct arena *arena);
