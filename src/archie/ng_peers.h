/* The loads of other servers of the line protocol, asked every minute over one connection each. */
#pragma once
#include "base/value.h"
#include "net/conn.h"

enum { NG_PEERS_MOST = 64, NG_RATE = 24 };

struct ng_load {
	bool known;
	uint64_t queue, wait_ms, age_s;
	char per_s[NG_RATE]; /* as received: a decimal number */
};
/* Parses a line of the answer to LOAD. false: not one. */
bool ng_load_parse(struct str line, struct str *ret_server, struct ng_load *ret) MUST_USE;
/* With its line end. */
void ng_load_print(struct buf *out, const char *server, const struct ng_load *load);

struct ng_peers;

/* servers: HOST:PORT of each, which must outlive it; self is left out. pool NULL: asks none.
 * ERR_USAGE: not such an address, or more than NG_PEERS_MOST. */
int ng_peers_new(struct ng_peers **ret, struct conn_pool *pool, const struct value_list *servers,
		 const char *self, struct err *err);
void ng_peers_free(struct ng_peers **p);
size_t ng_peers_count(const struct ng_peers *p);
size_t ng_peers_up(const struct ng_peers *p); /* connected now */
const char *ng_peers_name(const struct ng_peers *p, size_t i);
/* Its last load, with its age. */
void ng_peers_load(const struct ng_peers *p, size_t i, struct ng_load *ret);
