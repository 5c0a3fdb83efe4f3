/* Which type a document has: what the header says, what its first bytes look like, and libmagic
 * where these two disagree or say nothing. */
#pragma once
#include "extract/extract.h"

enum { TYPES_MEDIA_MAX = sizeof(((struct extract_result *)0)->media_type) };

/* What the first bytes look like. */
enum sniff {
	SNIFF_EMPTY,
	SNIFF_HTML, /* a document of it */
	SNIFF_TAGS, /* begins with a tag of HTML */
	SNIFF_XML,
	SNIFF_FEED, /* XML whose root is that of a feed or sitemap */
	SNIFF_TEXT,
	SNIFF_BINARY,
	SNIFF_KNOWN, /* by a signature */
};
/* `body` as charset_readable() gives it. *ret_media: of SNIFF_KNOWN, else NULL. */
enum sniff sniff(struct str body, const char **ret_media);

struct types;
struct types *types_new(void); /* never NULL */
void types_free(struct types **t);
int types_load(struct types *t, struct err *err); /* libmagic; otherwise at first need */

enum extract_type types_judge(struct types *t, const struct extract_job *job,
			      char ret_media[TYPES_MEDIA_MAX]);

/* Whether text that has this URL is a sitemap: it is called so, and each line of its beginning is
 * an absolute URL. */
bool types_is_url_list(struct str text, struct str url);
