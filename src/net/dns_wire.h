/* Host names and the answers of name servers: what is checked before it is asked, and what is read
 * out of the bytes that come back. Nothing here allocates or waits. */
#pragma once
#include "net/addr.h"

enum {
	DNS_NAME = 253,    /* bytes of a name, without a last dot */
	DNS_CHAIN = 8,     /* aliases (CNAME) behind one another */
	DNS_ADDRS = 16,    /* addresses of one family that are kept: the first */
	DNS_RECORDS = 256, /* in one section of an answer */
};

enum dns_outcome {
	DNS_FOUND,
	DNS_BAD_NAME,   /* no name that could exist */
	DNS_NO_NAME,    /* no such name */
	DNS_NO_ADDRESS, /* the name exists and has no address of the kind wanted */
	DNS_FAILED,     /* nobody knows: no answer, or a broken one; worth another try later */
	DNS_REFUSED,    /* all of its addresses are refused by the policy */
};
const char *dns_outcome_word(enum dns_outcome outcome); /* "no such name" */

/* The one form of a name: lower case, without the dot at its end. 0, or -1 for what is no host
 * name: empty, too long, a label that is empty or longer than 63 bytes, other bytes than letters,
 * digits,
 * '-' and '_', a last label that is a number (so "127.1" and "0x7f.1" are not names). *ret_n is its
 * length; ret also ends in NUL. */
int dns_name(struct str host, char ret[DNS_NAME + 1], size_t *ret_n);

enum { DNS_A = 1, DNS_AAAA = 28 };

struct dns_answer {
	enum dns_outcome outcome; /* FOUND, NO_NAME, NO_ADDRESS or FAILED */
	const char *why;          /* in words that last, when FAILED */
	int64_t ttl_s;            /* -1: the answer does not say */
	size_t n;
	struct addr addr[DNS_ADDRS];
};

/* Reads a server's answer to a question for `type` records of a name in its one form. The shortest
 * time to live on the way is the answer's; of a negative answer the one of RFC 2308. */
void dns_read(struct str packet, struct str name, uint16_t type, struct dns_answer *ret);
