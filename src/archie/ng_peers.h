/* Other servers of the line protocol, and how busy each says it is: asked every minute, over one
 * connection each. */
#pragma once
#include "base/value.h"
#include "net/conn.h"

enum { NG_PEERS_MOST = 64, NG_RATE = 24 };

struct ng_load {
	bool known;
	uint64_t queue, wait_ms, age_s;
	char per_s[NG_RATE]; /* as it was said: a decimal number */
};
/* A line of the answer to LOAD, with whose it is. false: it is not one. */
bool ng_load_parse(struct str line, struct str *ret_server, struct ng_load *ret) MUST_USE;
/* With its line end. */
void ng_load_print(struct buf *out, const char *server, const struct ng_load *load);

struct ng_peers;

/* servers: HOST:PORT of each, used where they are; self is left out. pool: NULL: none is asked.
 * ERR_USAGE: one has no form, or they are more than NG_PEERS_MOST. */
int ng_peers_new(struct ng_peers **ret, struct conn_pool *pool, const struct value_list *servers,
		 const char *self, struct err *err);
void ng_peers_free(struct ng_peers **p);
size_t ng_peers_count(const struct ng_peers *p);
size_t ng_peers_up(const struct ng_peers *p); /* connected now */
const char *ng_peers_name(const struct ng_peers *p, size_t i);
/* Its last word, as old as it is by now. */
void ng_peers_load(const struct ng_peers *p, size_t i, struct ng_load *ret);
