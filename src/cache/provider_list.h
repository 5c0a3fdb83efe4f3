/* Lists of a provider's URLs, as they are and as they were sent, ordered by conceptual URL and
 * type, and the changes between two lists. URL and type identify an entry; the rest tells whether
 * it changed. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
	PROVIDER_URLS_MOST = 10000000, /* in one list */
	PROVIDER_URL_MAX = 8192,
	PROVIDER_MIME_MAX = 127,
	PROVIDER_MORE_MAX = 24 << 10,
};

enum provider_op {
	PROVIDER_UPDATE,
	PROVIDER_REMOVE,
	PROVIDER_KEEP, /* it exists but cannot be read: keep what was sent */
};
enum provider_has {
	PROVIDER_MTIME = 1 << 0,
	PROVIDER_SIZE = 1 << 1,
	PROVIDER_MD5 = 1 << 2,
};

struct provider_url {
	struct str c, mime; /* c: as url_parse() gives it */
	struct str more;    /* other attributes of <url>, as they are sent: ` f="..."` */
	int64_t mtime_s;
	uint64_t size;
	uint32_t origin; /* its tree or sitemap; 0: named by hand */
	unsigned char md5[16];
	uint8_t has; /* of enum provider_has */
	uint8_t op;
	bool always; /* send it even if nothing tells whether it changed */
};

struct provider_list {
	struct arena arena; /* texts may lie in it, or elsewhere */
	struct provider_url *url;
	size_t n, room;
};
#define PROVIDER_LIST_INIT ((struct provider_list){.arena = ARENA_INIT((size_t)32 << 30)})
void provider_list_free(struct provider_list *l);

/* Adds a copy. ERR_USAGE: it is not http or https, too long, or there are too many. */
int provider_list_add(struct provider_list *l, const struct provider_url *url, struct err *err);
/* Sorts the list; of several equal entries the last one counts. */
void provider_list_sort(struct provider_list *l);
/* Finds an entry of a sorted list; NULL: none. */
const struct provider_url *provider_list_find(const struct provider_list *l, struct str c,
					      struct str mime);
/* Finds the first entry with this c in a sorted list; NULL: none. */
const struct provider_url *provider_list_first(const struct provider_list *l, struct str c);
int provider_url_cmp(const struct provider_url *a, const struct provider_url *b);
/* Of c and mime. */
uint64_t provider_url_hash(struct str c, struct str mime);

/* Whether a type is one of a list as the cache gives it: "text/html", or "text/" and a star. */
bool provider_takes(const struct str *mime, size_t n, struct str type);

/* What becomes of one URL in a set. */
enum provider_fate {
	PROVIDER_UNCHANGED, /* not sent */
	PROVIDER_SENT,
	PROVIDER_NO_TYPE,  /* left out: the cache does not take its type */
	PROVIDER_NO_ROOM,  /* left out: over the quota */
	PROVIDER_ERROR,    /* the cache refused it */
	PROVIDER_NO_LONGER /* left out, so that a full set removes it; or the cache no longer takes
			      its type and would refuse the row */
};

struct provider_change {
	const struct provider_url *now, *was; /* one of them may be NULL */
	uint8_t op;                           /* PROVIDER_UPDATE or PROVIDER_REMOVE */
	uint8_t fate;
};
static inline const struct provider_url *provider_change_url(const struct provider_change *c)
{
	return c->now ? c->now : c->was;
}
struct provider_changes {
	struct provider_change *change; /* one for each URL of either list, in their order */
	size_t n, room;
	size_t to_send, added, changed, removed;
};

struct provider_diff {
	const struct provider_list *was, *now; /* sorted */
	const uint32_t *origin; /* trees and sitemaps whose missing entries were removed */
	size_t origins;
	bool full; /* name every URL, changed or not */
};
void provider_diff_make(const struct provider_diff *diff, struct provider_changes *ret);
void provider_changes_free(struct provider_changes *c);

/* What the cache takes. */
struct provider_limits {
	const struct str *mime;
	size_t mimes;
	bool any_mime; /* not known yet */
	uint64_t files_used, files_free, space_used, space_free;
};
/* Leaves out what the cache does not take, and counts again. */
void provider_changes_limit(struct provider_changes *c, const struct provider_limits *limits,
			    bool full);
/* Marks the rows that the cache refused, given as provider_url_hash(); sorts `hash`. */
void provider_changes_refused(struct provider_changes *c, uint64_t *hash, size_t n);
/* Lists what the cache has or will fetch once it has accepted the set, as slices of both lists.
 * `lost`: hashes of URLs that it failed to fetch before. */
void provider_changes_apply(const struct provider_changes *c, bool full, uint64_t *lost,
			    size_t nlost, struct provider_list *ret);

/* Appends <url .../> and a line feed. */
void provider_url_row(const struct provider_change *c, struct buf *out);
