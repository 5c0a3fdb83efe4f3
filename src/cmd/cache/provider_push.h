/* What garner provider send, sync and watch do: what there is, against what was sent; a session;
 * and what is known after it. */
#pragma once
#include "cmd/cache/provider.h"

struct push_options {
	bool json, full, remove, dry_run, once, empty, silent;
	const char *tree, *prefix, *sitemap, *xml, *index, *mime; /* NULL: the command has none */
};
static inline bool push_given(const char *option)
{
	return option && option[0];
}

struct push {
	struct provider *p;
	const struct push_options *o;
	struct provider_list now;
	struct provider_source source[PROVIDER_SOURCES]; /* that were looked at */
	size_t sources;
	uint32_t origin[PROVIDER_SOURCES];
	int64_t begun_s;   /* before they were */
	bool sends_wanted; /* a full set, when the cache wants one */
	bool must_ask;     /* connects also where nothing has changed */
	/* For the tree that is watched. stops: a session ends when stop_fd is readable. */
	bool stops;
	int stop_fd;
	int (*folder)(void *ctx, const char *path, struct err *err);
	void *ctx;
};

void push_close(struct push *g);
/* What there is: URLs of the command line, trees, sitemaps, rows. */
int push_add_urls(struct push *g, char *const *url, int n, struct err *err);
int push_add_source(struct push *g, const struct provider_source *s, struct err *err);
int push_add_rows(struct push *g, const char *path, struct err *err);
/* A source out of a setting or an option, with absolute paths; texts live in the file's arena. */
int push_tree_source(struct push *g, const char *tree, const char *prefix, const char *index,
		     struct provider_source *ret, struct err *err);
int push_sitemap_source(struct push *g, const char *sitemap, struct provider_source *ret,
			struct err *err);

/* Compares, sends, remembers, says what was done. The exit code: 0 a set was accepted; 1 there was
 * nothing to send; ERR_PARTLY: some URLs were refused or left out; ERR_REMOTE. */
int push_run(struct push *g, struct err *err);
