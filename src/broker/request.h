/* A request of the broker's port: one line, as clients have sent it since 1996.
 *
 *	#USER [flags] #END query
 *	#BULK [flags] #END query
 *	#ADMIN #password ID command
 *
 * Words that begin with # are known in any case. The language of the query is that of index/query.h
 * with the option `classic`; here it is only text. */
#pragma once
#include "base/arena.h"
#include "base/err.h"

enum {
	REQUEST_ATTRIBUTES = 32, /* that can be asked for */
	REQUEST_RESULTS = 50,    /* objects, where nothing is asked */
	REQUEST_RESULTS_MOST = 100000,
};

enum request_kind { REQUEST_USER, REQUEST_BULK, REQUEST_ADMIN };

struct request {
	enum request_kind kind;
	/* USER, BULK. Slices of the line. */
	bool desc;        /* descriptions are shown */
	bool opaque;      /* no matched lines */
	bool insensitive; /* capitals do not count */
	bool matchword;   /* parts of words do not match */
	bool best;        /* as few errors as find anything */
	uint8_t errors;
	uint32_t results;                         /* at most so many objects */
	uint32_t lifetime_s;                      /* 0: not asked */
	uint32_t since_s;                         /* 0: from the beginning */
	struct str attribute[REQUEST_ATTRIBUTES]; /* as the client wrote them */
	uint32_t attributes;
	struct str query; /* what follows #END; "" where all is meant: #allb */
	bool all;         /* #allb */
	/* ADMIN */
	struct str password;
	struct str command; /* "#collection", as it was written */
	struct str rest;    /* what follows it, without blanks around it */
};

/* rest: what follows #USER, #BULK or #ADMIN. ERR_USAGE: err says what cannot be read and at which
 * character of the whole line; `at` is where rest begins in it. */
int request_parse(enum request_kind kind, struct str rest, size_t at, struct request *ret,
		  struct err *err);
