#include "index/docstore_inner.h"

/* The hits of a page of results often share blocks, and a document that was shown is soon asked for
 * again. Large blocks hold one document each and are not kept. */
enum { KEPT = 64, KEPT_BYTES = 256 << 10 };

struct kept {
	uint64_t block; /* the address without the number in it; 0: free */
	uint64_t used;  /* when */
	char *text;
	char *lengths;
	struct block is; /* its slices: lengths in ours, nothing else */
};

struct block_cache {
	pthread_mutex_t lock;
	struct kept kept[KEPT];
	uint64_t now;
	ZSTD_DCtx *idle; /* one that nobody is using */
};

struct block_cache *block_cache_new(void)
{
	struct block_cache *c = mem_alloc(sizeof *c);
	ENSURE(pthread_mutex_init(&c->lock, NULL) == 0);
	return c;
}

static void kept_free(struct kept *k)
{
	mem_free(&k->text);
	mem_free(&k->lengths);
	*k = (struct kept){0};
}

void block_cache_free(struct block_cache **cp)
{
	struct block_cache *c = *cp;
	if (!c)
		return;
	for (size_t i = 0; i < KEPT; i++)
		kept_free(&c->kept[i]);
	ZSTD_freeDCtx(c->idle);
	pthread_mutex_destroy(&c->lock);
	mem_free(cp);
}

static int cache_copy_slot(const struct block *b, const char *text, struct docaddr addr,
			   struct arena *arena, struct str *ret)
{
	size_t from, n;
	if (!block_slot(b, block_addr_slot(addr), &from, &n))
		return 1;
	*ret = arena_str(arena, (struct str){text + from, n});
	return 0;
}

int block_cache_get(struct block_cache *c, struct docaddr addr, struct arena *arena,
		    struct str *ret)
{
	int rc = 1;
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < KEPT && rc == 1; i++) {
		struct kept *k = &c->kept[i];
		if (k->block != addr.v >> 12)
			continue;
		k->used = ++c->now;
		rc = cache_copy_slot(&k->is, k->text, addr, arena, ret);
	}
	pthread_mutex_unlock(&c->lock);
	return rc;
}

static ZSTD_DCtx *cache_take_idle(struct block_cache *c)
{
	pthread_mutex_lock(&c->lock);
	ZSTD_DCtx *d = c->idle;
	c->idle = NULL;
	pthread_mutex_unlock(&c->lock);
	if (!d)
		d = ZSTD_createDCtx();
	ENSURE(d);
	return d;
}

static void cache_give_idle(struct block_cache *c, ZSTD_DCtx *d)
{
	pthread_mutex_lock(&c->lock);
	ZSTD_DCtx *other = c->idle;
	c->idle = d;
	pthread_mutex_unlock(&c->lock);
	ZSTD_freeDCtx(other);
}

/* Takes the text over. */
static void cache_keep(struct block_cache *c, uint64_t block, const struct block *b, char **text)
{
	pthread_mutex_lock(&c->lock);
	struct kept *k = &c->kept[0];
	for (size_t i = 0; i < KEPT && k->block != block; i++)
		if (c->kept[i].block == block || c->kept[i].used < k->used)
			k = &c->kept[i];
	kept_free(k);
	*k = (struct kept){.block = block, .used = ++c->now, .text = *text, .is = *b};
	k->lengths = mem_copy(b->lengths.p, b->lengths.n);
	k->is.lengths.p = k->lengths;
	k->is.packed = (struct str){0};
	*text = NULL;
	pthread_mutex_unlock(&c->lock);
}

int block_cache_read(struct block_cache *c, const struct mapped *m, uint64_t length,
		     struct docaddr addr, struct arena *arena, struct str *ret, struct err *err)
{
	struct block b;
	struct str file = {m->map, (size_t)length}, got;
	size_t from, n;
	int rc = block_read(&m->id, file, block_addr_at(addr), m->path, &b, err);
	if (rc != 0)
		return rc;
	if (!block_slot(&b, block_addr_slot(addr), &from, &n))
		return mapped_check(m, err) < 0 ? -1 : 1;
	char *text = mem_alloc(MAX((size_t)b.text_n, (size_t)1));
	ZSTD_DCtx *d = cache_take_idle(c);
	rc = block_unpack(&b, d, text, m->path, err);
	cache_give_idle(c, d);
	if (mapped_check(m, err) < 0)
		rc = -1;
	if (rc == 0) {
		got = arena_str(arena, (struct str){text + from, n});
		*ret = got;
		if (b.text_n <= KEPT_BYTES)
			cache_keep(c, addr.v >> 12, &b, &text);
	}
	mem_free(&text);
	return rc;
}
