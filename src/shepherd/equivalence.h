/* Sites that are mirrors of one another: the file shepherd/cf/url-equiv (url/equiv.h) while it may
 * change, and a proposal for it. The module that uses it is crawl_equiv(). */
#pragma once
#include "shepherd/crawl.h"
#include "url/equiv.h"

#include <sys/stat.h>

/* The classes of a file; {.path = ...} at first. */
struct equiv_file {
	const char *path;
	struct equiv *equiv; /* NULL: there is no file, and only the rule of www. holds */
	struct stat seen;    /* as it was when it was read last; all 0: there was none */
};
/* Reads the file if it has changed. 0: there are new classes; 1: it is the same. Negative: err
 * names the line (ERR_USAGE) or why it cannot be read, and the old classes stay; reported once for
 * each change of the file. */
int equiv_file_update(struct equiv_file *f, struct err *err);
void equiv_file_free(struct equiv_file *f);

/* What a proposal is made of. */
struct equiv_proposal {
	uint64_t pages;          /* front pages that were compared */
	uint64_t lacking;        /* those that have too little text for that */
	uint64_t lost;           /* those whose bucket cannot be read */
	uint64_t classes, sites; /* in the proposal */
};
/* Front pages with less text, in bytes, say nothing: they are empty, or lead elsewhere. */
enum { EQUIV_TEXT_LEAST = 200 };
/* Writes a file as equiv_parse() takes it: sites whose front pages have the same text, by its MD5,
 * make a class, under the site with the shortest host; of equals the first in the alphabet, https
 * before http. Only reads. `folder` and `memory`: for sorting. emit gets the text in pieces. */
int equiv_propose(struct state *st, struct buckets *buckets, const char *folder, uint64_t memory,
		  void (*emit)(void *ctx, struct str piece), void *ctx, struct equiv_proposal *ret,
		  struct err *err);
