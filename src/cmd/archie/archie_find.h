/* What garner archie find asks of servers, and what they answer: doc/protocols/archie-ng.md. */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/value.h"

enum { FIND_SERVERS_MOST = 128 };

struct find_server {
	const char *address; /* HOST:PORT, or unix:PATH */
	bool known;          /* its load is, and lately */
	uint64_t wait_ms, queue;
};
struct find_servers {
	struct find_server server[FIND_SERVERS_MOST];
	size_t n;
};

/* How busy one server is, and, with `others`, those that it knows: added to the list, itself under
 * the address by which it was asked. Texts lie in the arena. */
int find_load(const char *address, bool others, struct arena *arena, struct find_servers *ret,
	      struct err *err);
/* The least wait first; those whose load is not known come last, in their order. */
void find_order(struct find_servers *servers);

struct find_hit {
	struct str host, address, kind, mode, dir,
		name;                   /* mode "-": not told; dir without slashes */
	int64_t listed_s, size, time_s; /* -1: not told */
};
struct find_answer {
	struct find_hit *hit;
	size_t n;
	bool cut;
};
/* lines: SET lines and the FIND after them. Everything in *ret lies in the arena. ERR_USAGE: the
 * server says that this cannot be asked, and others would say the same; ERR_REMOTE: another may
 * answer. */
int find_ask(const char *address, struct str lines, int64_t timeout_us, struct arena *arena,
	     struct find_answer *ret, struct err *err);
