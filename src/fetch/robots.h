/* robots.txt by RFC 9309. A file is compiled for one product token into a block of bytes, which is
 * kept (in a cache, in a record), and asked as often as there are URLs, without allocation.
 *
 * Beyond the RFC's letter, as practice has it: keys may be mistyped as people do it and go on after
 * their name, the colon after one may be missing where just two words are left, a product token may
 * have digits, a pattern may begin with `*`, a blank inside a pattern stands for %20, a byte order
 * mark is skipped even where only its beginning is there. A pattern that begins otherwise is not a
 * rule, but ends the list of user-agent lines as a rule does. In a URL's query, `: / ? @ [ ]` and
 * their percent-encoded forms are the same, as in the RFC's table; in its path they are not. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

enum {
	/* The rest of a file, and a line that this limit cuts, are ignored; 512 KiB always count.
	 */
	ROBOTS_FILE_MAX = 528 << 10,
	ROBOTS_LINE_MAX = 16 << 10,    /* the rest of a line is dropped */
	ROBOTS_COMPILED_MAX = 4 << 20, /* a bound on what any file compiles to */
	ROBOTS_PATH_MAX = 64 << 10,    /* of a URL, percent-encoded; no `$` matches a longer one */
};

/* Appends the compiled form to `out`. All groups for our token are merged; without any, those for
 * `*`. `agent` is a product token, or begins with one ("garner/1.0"). Fails only when `out` cannot
 * hold it, and then leaves it as it was. */
int robots_compile(struct str file, struct str agent, struct buf *out, struct err *err);

/* The rules of a site without a file (4xx), and of one that cannot answer (5xx). */
extern const struct str robots_allow_all, robots_disallow_all;

/* Checks that robots_compile() could have made these bytes. ERR_DAMAGED: it could not; the
 * functions below are safe to call on them, but their results mean nothing. */
int robots_check(struct str compiled, struct err *err);

struct robots_verdict {
	bool allowed;
	uint32_t line; /* of the rule that decided; 0: none did */
};

/* The longest matching pattern decides; of equally long ones, one that allows; of those, the first.
 * `path` is a URL's path and query; empty is "/", and what follows `#` does not count. */
struct robots_verdict robots_verdict(struct str compiled, struct str path);

int64_t robots_crawl_delay_us(struct str compiled); /* the longest of our groups; -1: none */

/* The sitemaps, as written: while (robots_sitemap_next(&it, &url) == 0). */
struct robots_sitemaps {
	struct str rest;
};
struct robots_sitemaps robots_sitemaps_of(struct str compiled);
int robots_sitemap_next(struct robots_sitemaps *it, struct str *ret);

/* Returns the text of a line of the file; empty if there is none. */
struct str robots_line(struct str file, uint32_t line);
