/* What a filter is made of: filled by filter_parse.c, asked by filter.c.
 *
 * Conditions and outputs of all rules stand in two arrays, one rule's after the other's; patterns
 * are slices of the text. Each of the two books (what is asked of URLs, what of sites) threads its
 * rules into lists in the order of the file: one for each host or ".suffix" that rules begin with,
 * and one for all others. */
#pragma once
#include "base/hash.h"
#include "base/table.h"
#include "shepherd/filter.h"

enum {
	FILTER_LINE_MAX = 4096,
	FILTER_HOST_MAX = 255, /* of a pattern; so a host has fewer than 256 suffixes with rules */
};

enum cond_kind {
	COND_ANY,
	COND_SCHEME,
	COND_HOST,
	COND_PORT,
	COND_PATH,
	COND_QUERY,
	COND_TYPE,
	COND_SECTION,
	COND_NET,
	COND_KEY_SITES,
	COND_DEPTH,
	COND_KNOWN,      /* the site is; only of the setting follow */
	COND_USUAL_PORT, /* of the protocol; only of the setting no_delay */
};

struct cond {
	enum cond_kind kind;
	bool negated;
	union {
		struct str pattern; /* host, port, path, query, type */
		uint64_t set;       /* scheme: a bit per protocol; section: one per number */
		uint64_t above;     /* key_sites, depth */
		struct {
			qkey key, mask;
		} net;
	};
};

/* A rule's outputs are those of enum filter_output, and these. */
enum { OUT_REJECT = FILTER_OUTPUTS, OUT_SECTION, OUT_KINDS };

struct output {
	unsigned kind;
	union {
		int64_t number;                   /* reject: 1, accept: 0; or the section's */
		const struct filter_site *values; /* of a site: all that the rule sets */
	};
};

enum filter_book { BOOK_URLS, BOOK_SITES, BOOKS };

struct rule {
	uint32_t line;
	uint32_t conds, outputs; /* the first of them */
	uint16_t nconds, noutputs;
	uint32_t next[BOOKS]; /* in the same list: its number from 1 on; 0: the last */
};

struct rule_list {
	uint32_t first, last; /* from 1 on; 0: none */
};
TABLE(hosts, struct str, struct rule_list, hash64, str_eq)

struct filter {
	char *name, *text;
	struct arena arena; /* schemas, names, texts of settings */
	struct cond *cond;
	size_t conds, cond_room;
	struct output *output;
	size_t outputs, output_room;
	struct rule *rule;
	size_t rules, rule_room;
	struct book {
		struct hosts hosts;
		struct rule_list others;
	} book[BOOKS];
	struct filter_section section[FILTER_SECTIONS];
	uint32_t section_line[FILTER_SECTIONS]; /* where it was declared; 0: nowhere */
	size_t sections;
};

/* Whether all of s is matched by a pattern in which each * stands for any bytes, also none. */
bool filter_glob(struct str pattern, struct str s);
/* Puts the rule that was added last, conditions and outputs and all, into its books. */
void filter_file_rule(struct filter *f);
