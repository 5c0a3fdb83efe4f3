/* The index of a state: an item of 45 bytes for every known URL, sorted by footprint (site, path).
 * Consists of blocks of 64 KiB with a checksum each. The first footprint of every block (a fence)
 * is kept in memory while the file is open, so that one read finds a URL. An index is written once,
 * from beginning to end, and never changed; states share it by hard links. Layout:
 * doc/formats/index.md. */
#pragma once
#include "base/cursor.h"
#include "disk/format.h"
#include "disk/order.h"
#include "disk/sort.h"
#include "url/footprint.h"

enum item_type {
	ITEM_SLEEPING,  /* known, not wanted */
	ITEM_NEW,       /* known, wanted, not gathered yet */
	ITEM_GATHERED,  /* its bucket has its text */
	ITEM_ERROR,     /* the last try failed for good */
	ITEM_QKEY,      /* not a URL but the queue key of the site; its path is 0 */
	ITEM_TEMPORARY, /* failed for now; only in journals */
	ITEM_ZOMBIE,    /* remembered, never refreshed; `code` says why */
	ITEM_TYPES,
};

enum item_flag {
	ITEM_INITIAL = 1,      /* I: given by hand, never dropped */
	ITEM_ROBOTS = 2,       /* R: robots.txt or a queue key */
	ITEM_UNREFERENCED = 4, /* U: no page links to it */
	ITEM_EQUIV = 8,        /* E: needed to keep the classes of equal sites */
	ITEM_REGATHER = 16,    /* F: to be gathered again, whatever its age */
	ITEM_CONTRIB = 32,     /* C: has no bucket yet; `where` is a place in contrib */
	ITEM_WEIGHED = 64,     /* W: its weight comes from the indexer */
	ITEM_SACRED = ITEM_INITIAL | ITEM_ROBOTS | ITEM_EQUIV, /* never dropped, never merged */
};

#define ITEM_NOWHERE ((UINT64_C(1) << 48) - 1) /* neither bucket nor contribution */

struct index_item {
	struct footprint fp;
	uint64_t where;       /* oid, or with ITEM_CONTRIB the place in contrib; below 2^48 */
	uint16_t code;        /* result of the last try, or why it sleeps: shepherd/code.h */
	uint32_t last_seen_s; /* last try; 0: none */
	uint32_t stable_s;    /* last change that mattered; 0: unknown */
	uint32_t due_s;       /* earliest time of the next try; 0: its age alone decides */
	uint16_t since_day;   /* known since this day; days since 1970 */
	enum item_type type;
	bool no_target;      /* a redirect whose target is not known */
	uint8_t flags;       /* enum item_flag */
	uint8_t retry;       /* failures in a row */
	uint8_t weight;      /* 0 to 255; 128: nothing known */
	uint8_t freq;        /* refreshes per refresh cycle, 0: the usual number */
	uint8_t download_ds; /* tenths of a second the last transfer took; 0: unknown */
	uint8_t section;
	uint8_t hops; /* redirects that led here from a URL given by hand; up to ITEM_HOPS_MOST */
};

enum { ITEM_HOPS_MOST = 15 };
enum { INDEX_ITEM = 45 }; /* bytes; they begin with the footprint, in an order that sorts */

void index_item_write(const struct index_item *item, unsigned char ret[INDEX_ITEM]);
/* ERR_DAMAGED: such an item cannot be. */
int index_item_read(const unsigned char p[INDEX_ITEM], struct index_item *ret, struct err *err);
/* One line for people, without its end. */
void index_item_print(const struct index_item *item, struct buf *out);
/* A `where` as records have it: plus one, so that ITEM_NOWHERE is a single byte. A value that
 * cannot be one makes the reader bad. */
void item_put_where(struct buf *out, uint64_t where);
uint64_t item_take_where(struct reader *r);
extern const char *const item_type_names[ITEM_TYPES]; /* "sleeping", "new" ... */

/* The 16 bytes with which records begin that are sorted by footprint: index items, and payloads of
 * journal, contrib and changes. */
enum { FOOTPRINT_KEY = 16 };
void footprint_key(struct footprint fp, unsigned char ret[FOOTPRINT_KEY]);
static inline struct footprint footprint_of_key(const void *p)
{
	return (struct footprint){order_u64(p), order_u64((const char *)p + 8)};
}
/* For tables by footprint, both halves of which are hashes already. */
static inline uint64_t footprint_hash(struct footprint fp)
{
	return fp.site ^ fp.path;
}
static inline bool footprint_same(struct footprint a, struct footprint b)
{
	return footprint_cmp(a, b) == 0;
}
/* Records of their own size by that key, for sort and merge. */
#define FOOTPRINT_ORDER ((struct order){.key_at = 0, .key_len = FOOTPRINT_KEY})

/* Writing. Items come in ascending order, no footprint twice; the first error is kept and said by
 * url_index_finish(). The file is complete and durable when that returned 0; it is the caller that
 * renames it into place. */
struct url_index_writer;
int url_index_create(struct url_index_writer **ret, const char *path, struct err *err);
void url_index_put(struct url_index_writer *w, const struct index_item *item);
int url_index_finish(struct url_index_writer **w, struct err *err);
void url_index_drop(struct url_index_writer **w); /* without finishing; also NULL */

/* Reading, by any number of threads. */
struct url_index;
/* Reads and verifies the fences, nothing else. 1: no such file. ERR_DAMAGED: it is none, or cut. */
int url_index_open(struct url_index **ret, const char *path, struct err *err);
void url_index_close(struct url_index **x);
uint64_t url_index_items(const struct url_index *x);
/* Pages of a type; with ITEM_QKEY all items that are none: those with ITEM_ROBOTS, whatever their
 * type. */
uint64_t url_index_count(const struct url_index *x, enum item_type type);
/* One pread. 1: it is not known. ERR_DAMAGED: the block where it would be is damaged; others may
 * still be read. */
int url_index_find(const struct url_index *x, struct footprint fp, struct index_item *ret,
		   struct err *err);

/* The item at i/n of the way through, or the first after it in its block that has a bucket: for
 * spot checks. One pread. 1: none there has. */
int url_index_sample(const struct url_index *x, uint64_t i, uint64_t n, struct index_item *ret,
		     struct err *err);
bool index_item_has_bucket(const struct index_item *item);
/* Else it is a note on its site: its key or its robots.txt. */
static inline bool index_item_is_page(const struct index_item *item)
{
	return item->type != ITEM_QKEY && !(item->flags & ITEM_ROBOTS);
}
/* As which type it is counted. */
static inline enum item_type index_item_counts_as(const struct index_item *item)
{
	return index_item_is_page(item) ? item->type : ITEM_QKEY;
}

/* All items from a footprint on, in order. */
struct url_index_scan;
/* {0, 0}: from the first one. */
int url_index_scan(struct url_index_scan **ret, const struct url_index *x, struct footprint from,
		   struct err *err);
/* 1: the end. ERR_DAMAGED: a block is damaged and err names it; calling again goes on after it. */
int url_index_next(struct url_index_scan *s, struct index_item *ret, struct err *err);
/* Goes on at the first item from a footprint on, which is after the item that was given last: what
 * lies between is not read where that is much. */
int url_index_seek(struct url_index_scan *s, struct footprint from, struct err *err);
/* Puts the item that the scan gave last, as it was: its bytes are copied. */
void url_index_put_same(struct url_index_writer *w, const struct url_index_scan *s,
			const struct index_item *item);
/* After damage: the last footprint that can have been in what was passed over. */
struct footprint url_index_passed(const struct url_index_scan *s);
void url_index_scan_free(struct url_index_scan **s);

/* Items to which nothing happens unless there are news of them: of these types (bits 1 << type),
 * and with none of these flags. */
struct index_still {
	unsigned types;
	uint8_t flags;
};
#define INDEX_TYPES_BUT(type) (~(1u << (type)))
/* Copies such items as bytes, from where the scan is to one from `before` on or to the end of its
 * block. */
void url_index_copy(struct url_index_scan *s, struct url_index_writer *w,
		    const struct index_still *still, struct footprint before);

/* Applies news to an index, in one pass from end to end: for every footprint that is in the old
 * index (NULL: an empty one), in the news, or in both, fn says what becomes of it. News are records
 * that begin with FOOTPRINT_KEY, in the order of FOOTPRINT_ORDER (NULL: there are none).
 * Of one footprint they come in the order in which they were added, and have at most `most` bytes
 * together; where there may be more, give the sort a `unify`. With `still` (or NULL) fn is not
 * asked about such items without news, except for one in each block, so that it hears of the
 * progress. */
struct news_source {
	/* The next one, good until the next call. 1: there are no more. */
	int (*next)(void *ctx, struct str *ret, struct err *err);
	void *ctx;
};
struct news_source news_of_sort(struct sort *s); /* what was added to it; NULL: nothing */
struct index_news {
	const struct index_item *old; /* NULL: not known before */
	struct footprint fp;
	const struct str *news;
	size_t n;
};
/* 0: *ret (preset to the old item, or to the footprint and ITEM_NOWHERE) is put; 1: the URL is
 * forgotten; negative: fails. */
typedef int url_index_fn(void *ctx, const struct index_news *about, struct index_item *ret,
			 struct err *err);
int url_index_apply(const struct url_index *old, const struct news_source *news, size_t most,
		    const struct index_still *still, url_index_fn *fn, void *ctx,
		    struct url_index_writer *out, struct err *err);

extern const struct format index_format;
