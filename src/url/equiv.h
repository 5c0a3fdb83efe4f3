/* Site equivalences (document 001): which sites are mirrors of one another, from cf/url-equiv.
 *
 *	# comments and empty lines count for nothing
 *	http://example.com/
 *		http://example.org/
 *		https://example.com/
 *
 * A line that begins in its first column names the site that stands for its class, the indented
 * lines below it the sites that are equivalent to it. A site is a URL in strict canonical form
 * whose path is "/". Implicitly www.NAME is NAME for http and https wherever NAME has a dot in it;
 * this is applied before the table is asked, so a record with such a "www." could never match and
 * is an error. So are a site that is there twice, and a chain: a site that is mapped to another
 * cannot stand for a class.
 *
 * Thread-safe once loaded. */
#pragma once
#include "url/url.h"

struct equiv;

enum { EQUIV_FILE_MAX = 256 << 20 }; /* bytes */

/* All or nothing; err names file and line. 1: there is no such file. */
int equiv_load(const char *path, struct equiv **ret, struct err *err);
/* The same of text; `name` is for messages. */
int equiv_parse(struct str text, const char *name, struct equiv **ret, struct err *err);
void equiv_free(struct equiv **e);

/* The site that stands for this one; its host is a slice of s.host or lives as long as e does.
 * Without a table (NULL) only the implicit rule holds. */
struct url_site equiv_site(const struct equiv *e, struct url_site s);
