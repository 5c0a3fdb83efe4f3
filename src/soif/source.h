/* Sources: what changed in a store, for those that index it. Crawl, cache and archive listings each
 * implement this one interface; the collector follows them and knows nothing else of them. */
#pragma once
#include "soif/soif.h"

enum source_op { SOURCE_DELETE, SOURCE_REFRESH, SOURCE_UPDATE };

struct source_change {
	enum source_op op;
	struct str reason; /* in words, for people; may be empty */
	struct soif obj;   /* identity only, unless UPDATE */
};

/* Opaque; survives restarts; all zero: from the beginning. */
struct source_cursor {
	uint8_t b[32];
};

struct source;

struct source_ops {
	const char *name;
	/* `store` names what to read, in the way of the implementation. A cursor that this store
	 * did not give is refused. */
	int (*open)(struct source **ret, const void *store, const struct source_cursor *from,
		    struct err *err);
	/* 0: the next change, whose bytes are good until the next call or, where they were copied
	 * into the arena, as long as that. 1: up to date; only this says that everything was told.
	 * 2: more is coming; wait_fd is readable when it is there, or when the wait is over.
	 * Negative with ERR_SYSTEM: the store cannot be read now; nothing was skipped, calling
	 * again tries again. With ERR_PARTLY: one object was skipped and err names it, and
	 * ret->obj.url its URL, empty where that is not known; calling again goes on after it,
	 * whether or not the cursor moved.
	 * Negative otherwise: what is not right was skipped and err names it; calling again goes
	 * on after it. If the cursor did not move: nothing was skipped, and with ERR_USAGE the
	 * place is lost; the source has to be opened from the beginning. */
	int (*next)(struct source *s, struct arena *arena, struct source_change *ret,
		    struct err *err);
	/* All before it has been returned; opening there goes on right after it. A source that
	 * tells a collection as a whole moves it only when next() says 1: a collection that was
	 * not finished is told again from its beginning. */
	void (*cursor)(struct source *s, struct source_cursor *ret);
	/* Readable when more may have come since next() said 1 or 2. */
	int (*wait_fd)(struct source *s);
	void (*close)(struct source **s);
};

/* What every implementation begins with. */
struct source {
	const struct source_ops *ops;
};

static inline int source_next(struct source *s, struct arena *arena, struct source_change *ret,
			      struct err *err)
{
	return s->ops->next(s, arena, ret, err);
}
static inline void source_cursor(struct source *s, struct source_cursor *ret)
{
	s->ops->cursor(s, ret);
}
static inline int source_wait_fd(struct source *s)
{
	return s->ops->wait_fd(s);
}
static inline void source_close(struct source **s)
{
	if (*s)
		(*s)->ops->close(s);
}

/* A folder of SOIF files called NUMBER.soif, read in the order of their numbers. The one with the
 * highest number may still grow; sections say what an object means, a plain object is an update.
 * Files that are complete are put in place by a rename, or grow by whole objects. Other names are
 * not looked at. store: const char *, the path. */
extern const struct source_ops source_folder_ops;
