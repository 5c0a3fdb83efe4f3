/* The file of a provider (doc/formats/provider-file.md): its number and password, the sources of
 * its URLs, and what it has sent of each. A private text file, always replaced as a whole. */
#pragma once
#include "cache/provider_list.h"
#include "disk/format.h"

enum {
	PROVIDER_SOURCES = 64,
	PROVIDER_MIMES = 1000,
	PROVIDER_VALUE_MAX = 8192, /* bytes of a line of the head */
};

/* A tree or a sitemap that each `garner provider sync` scans again. */
struct provider_source {
	struct str place;         /* the folder; the path or URL of the sitemap */
	struct str prefix, index; /* of a tree */
	bool is_tree;
};
/* Returns the number that marks the URLs of this source; never 0. */
uint32_t provider_source_origin(const struct provider_source *s);

struct provider_file {
	struct arena arena; /* texts of the head */
	struct buf text;    /* what was read: texts of the list */
	uint64_t id;        /* 0: not registered */
	struct str password, secret, site;
	uint64_t seq;      /* of the last session; 0: none */
	int64_t at_s;      /* when that was */
	int64_t scanned_s; /* when the trees were looked at for what was sent last */
	uint64_t set;      /* that was taken last */
	struct str mime[PROVIDER_MIMES];
	size_t mimes; /* that the cache takes; 0: not known yet */
	struct provider_source source[PROVIDER_SOURCES];
	size_t sources;
	struct provider_list sent;
};
#define PROVIDER_FILE_INIT                                          \
	((struct provider_file){.arena = ARENA_INIT(64 << 20),      \
				.text = BUF_INIT((size_t)16 << 30), \
				.sent = PROVIDER_LIST_INIT})
void provider_file_free(struct provider_file *f);

/* 1: no such file. ERR_USAGE: others may read it. ERR_DAMAGED names the line. */
int provider_file_load(struct provider_file *f, const char *path, struct err *err);
/* Parses these bytes, which the caller still owns; `name` is for errors. */
int provider_file_parse(struct provider_file *f, struct str text, const char *name,
			struct err *err);
void provider_file_print(const struct provider_file *f, struct buf *out);
/* Durable when it returns 0. */
int provider_file_save(const struct provider_file *f, const char *path, struct err *err);
/* Adds or updates a source. ERR_USAGE: too many. */
int provider_file_remember(struct provider_file *f, const struct provider_source *s,
			   struct err *err);

extern const struct format provider_format;
