/* Prospero as archives speak it: the text of requests and replies, in the dialects of version 1
 * (archie, xarchie) and 5 (the Prospero 5 client, telnet of Archie 3). Texts in, questions for the
 * queuer out; answers in, texts out. No input or output.
 * doc/protocols/archie-prospero.md has every line. */
#pragma once
#include "archie/archie.h"
#include "archie/domains.h"

enum {
	PROSPERO_LISTS_MOST = 5,       /* questions in a request */
	PROSPERO_TEXT_MOST = 32 << 10, /* bytes of a request */
	PROSPERO_ARENA = 4 << 20,      /* memory that one needs at most */
	PROSPERO_REPLY_MOST = 32 << 20,
	PROSPERO_WARNING_MOST = 99, /* bytes of words for people: old clients cut them there */
};

enum prospero_kind {
	PROSPERO_MATCH,   /* ARCHIE/MATCH(...)/string: files by their names */
	PROSPERO_FOLDER,  /* ARCHIE/HOST/host/path */
	PROSPERO_SITES,   /* ARCHIE/HOST; ARCHIE/HOST/ and (expression), or * and ? */
	PROSPERO_WHATIS,  /* ARCHIE/WHATIS/string */
	PROSPERO_DOMAINS, /* ARCHIE/DOMAINS, ARCHIE/DOMAIN/name: not for the queuer */
	PROSPERO_FAILED,  /* cannot be asked; `failure` says why */
};

/* A DIRECTORY and a LIST. */
struct prospero_list {
	enum prospero_kind kind;
	struct archie_ask ask; /* without niceness, verbose and from */
	bool names;            /* only distinct names, as links to MATCH */
	bool attributes;
	struct str component; /* the one entry that is wanted; "": all */
	uint64_t maxhits, maxmatch, maxhitspm;
	const char *failure; /* "NOT-FOUND no such name", after FAILURE */
};

struct prospero_request {
	unsigned version;  /* 1 or 5; another one: it is not served */
	bool asks_version; /* by a bare VERSION */
	bool asks_motd;
	struct prospero_list list[PROSPERO_LISTS_MOST];
	size_t lists;
	const char *error;   /* the whole of it cannot be; a line without its end */
	struct buf warnings; /* lines for people, each with its end; prospero_request_free() */
};
/* Texts lie in the bytes or in the arena. false: not one of its lines is of Prospero. */
bool prospero_parse(struct str text, const struct domains *domains, struct arena *arena,
		    struct prospero_request *ret) MUST_USE;
void prospero_request_free(struct prospero_request *r);

/* A reply, made of answers that come in any order. */
struct prospero_reply {
	const struct prospero_request *request;
	struct str server; /* "host", "host(port)": what links to ourselves lead to */
	struct buf body[PROSPERO_LISTS_MOST];
	struct buf warnings;
	uint64_t links, left_out; /* that the dialect cannot express */
	uint64_t not_ftp;         /* of the latter, files that are not fetched by FTP */
};
/* Both must outlive it. */
void prospero_reply_init(struct prospero_reply *r, const struct prospero_request *request,
			 struct str server);
void prospero_reply_answer(struct prospero_reply *r, size_t list, const struct archie_answer *a);
void prospero_reply_refusal(struct prospero_reply *r, size_t list, enum archie_refusal why,
			    const char *text);
void prospero_reply_domains(struct prospero_reply *r, size_t list, const struct domains *d);
/* All of it. motd may be empty: there is none. Each line has at most ARDP_TEXT_MOST octets. */
void prospero_reply_end(struct prospero_reply *r, struct str motd, struct buf *out);
void prospero_reply_free(struct prospero_reply *r);
