/* What a provider says of its URLs, and what it has said before: lists in the order of conceptual
 * URL and type, and the changes between two of them. A URL with its type is known by these two; the
 * rest says whether it changed. */
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
	PROVIDER_KEEP, /* it is there, but nobody could look at it: as it was */
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
	uint32_t origin; /* of which tree or sitemap; 0: it was named by hand */
	unsigned char md5[16];
	uint8_t has; /* of enum provider_has */
	uint8_t op;
	bool always; /* goes out also where nothing can tell that it changed */
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
/* Into its order; of several that are known by the same the last one counts. */
void provider_list_sort(struct provider_list *l);
/* In a sorted list; NULL: it is not there. */
const struct provider_url *provider_list_find(const struct provider_list *l, struct str c,
					      struct str mime);
/* All of a sorted list that have this c. */
const struct provider_url *provider_list_first(const struct provider_list *l, struct str c);
int provider_url_cmp(const struct provider_url *a, const struct provider_url *b);
/* Of c and mime. */
uint64_t provider_url_hash(struct str c, struct str mime);

/* Whether a type is one of a list as the cache gives it: "text/html", or "text/" and a star. */
bool provider_takes(const struct str *mime, size_t n, struct str type);

/* What becomes of one URL in a set. */
enum provider_fate {
	PROVIDER_UNCHANGED, /* not sent, nothing to say */
	PROVIDER_SENT,
	PROVIDER_NO_TYPE,  /* left out: the cache does not take its type */
	PROVIDER_NO_ROOM,  /* left out: over the quota */
	PROVIDER_ERROR,    /* the cache refused it */
	PROVIDER_NO_LONGER /* not named: a full set removes it so; or its type is not taken any
			      more, and the cache would refuse to hear of it */
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
	const uint32_t *origin;                /* what is missing of these was removed */
	size_t origins;
	bool full; /* all is named, changed or not */
};
void provider_diff_make(const struct provider_diff *diff, struct provider_changes *ret);
void provider_changes_free(struct provider_changes *c);

/* What the cache takes. */
struct provider_limits {
	const struct str *mime;
	size_t mimes;
	bool any_mime; /* it is not known yet */
	uint64_t files_used, files_free, space_used, space_free;
};
/* Leaves out what it does not take; counts anew. */
void provider_changes_limit(struct provider_changes *c, const struct provider_limits *limits,
			    bool full);
/* Rows that the cache refused, by provider_url_hash(); sorts them. */
void provider_changes_refused(struct provider_changes *c, uint64_t *hash, size_t n);
/* What the cache has, or will fetch, when the set was taken: slices of both lists. `lost`: hashes
 * of what it could not fetch before. */
void provider_changes_apply(const struct provider_changes *c, bool full, uint64_t *lost,
			    size_t nlost, struct provider_list *ret);

/* <url .../> and a line feed. */
void provider_url_row(const struct provider_change *c, struct buf *out);
