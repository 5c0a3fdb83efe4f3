/* Inside of the site list: lines, and what follows from both files together. */
#pragma once
#include "archie/sites.h"
#include "url/url.h"

/* A site line as it was written. */
struct sites_line {
	struct archie_site site; /* without its key */
	struct str host;         /* of the URL */
	struct str alias;        /* the same as it may stand in a key */
	uint16_t port;
	enum url_protocol protocol;
	unsigned number; /* of the line, from 1 */
};
struct sites_pattern {
	struct str text; /* ends in NUL */
	bool only;
};
/* One file. */
struct sites_list {
	const char *file; /* its name, for problems */
	struct sites_line *line;
	size_t n, room;
	struct sites_pattern *pattern;
	size_t npatterns, pattern_room;
	const char **problem;
	size_t problems, problem_room;
};

/* A host name or an address, as it may stand in the name of a file. */
bool sites_name_is_good(struct str name);

/* What a line is about. */
enum sites_what { SITES_NOTHING, SITES_SITE, SITES_LEAVE_OUT, SITES_ONLY };
/* The kind of a line, trimmed; *ret_rest: without the word of a pattern. */
enum sites_what sites_line_what(struct str line, bool local, struct str *ret_rest);
/* ERR_USAGE: err says what is wrong with it. */
int sites_line_parse(struct str line, struct arena *arena, struct sites_line *ret, struct err *err);
/* file: its name, for problems. Bytes may go. */
void sites_list_parse(struct str bytes, const char *file, bool local, struct arena *arena,
		      struct sites_list *ret);
/* Both files together, with keys; problems go to *ret. */
void sites_merge(const struct sites_list *listed, const struct sites_list *local,
		 struct arena *arena, struct archie_sites *ret);
/* Both files: "" where there is none. *ret_listed_s as in archie_sites; may be NULL. */
int sites_slurp(const char *folder, struct buf *listed, struct buf *local, int64_t *ret_listed_s,
		struct err *err);

/* The name of the site's files, a function of its line alone. Never longer than 255 bytes. */
void sites_key(const struct sites_line *l, struct buf *out);
