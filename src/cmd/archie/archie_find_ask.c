/* A blocking client of the line protocol: one connection for each question, on which all lines are
 * sent at once, QUIT last. It stops at the last line of the answer, or when the time for the whole
 * exchange is over, so a server that sends a few bytes now and then cannot hold it up. */
#include "archie/ng_peers.h"
#include "archie/ng_vars.h"
#include "base/clock.h"
#include "base/endpoint.h"
#include "cmd/archie/archie_find.h"
#include "index/names.h"
#include "net/call.h"

#define CONNECT_US (5 * US_PER_S)
#define LOAD_US (6 * US_PER_S) /* it waits for its queuer for 4 s */
enum {
	ANSWER_MOST = 64 << 20,
	LOAD_OLD_S = 180, /* an older load is ignored */
};

static int connect_to(struct call *c, const char *address, struct err *err)
{
	struct endpoint e;
	struct err ignored;
	if (endpoint_parse(str_of(address), &e, &ignored) == 0 && !e.both)
		return call_connect(c, &e, err);
	char host[256];
	const char *colon = strrchr(address, ':');
	if (!colon || colon == address || (size_t)(colon - address) >= sizeof host)
		return err_set(err, ERR_USAGE, "%s: expected HOST:PORT", address);
	memcpy(host, address, (size_t)(colon - address));
	host[colon - address] = 0;
	return call_connect_name(c, host, colon + 1, err);
}

/* The answers: each ends in a line of its own. */
struct answers {
	struct buf *out;
	size_t seen; /* whole lines of it */
	size_t left; /* answers that did not end */
};

/* true: all have ended, or they are too large. */
static bool answers_add(void *ctx, struct str bytes)
{
	struct answers *a = ctx;
	size_t n;
	buf_add_str(a->out, bytes);
	struct str rest = str_from(buf_str(a->out), a->seen);
	while (a->left && (n = str_find_byte(rest, '\n')) < rest.n) {
		a->left -= str_starts(rest, STR("OK ")) || str_starts(rest, STR("ERROR "));
		a->seen += n + 1;
		rest = str_from(rest, n + 1);
	}
	return a->left == 0 || a->out->over;
}

/* Lines out, the answers to all but the last, QUIT, in; fewer, where the server hangs up. */
static int exchange_lines(const char *address, struct str lines, int64_t timeout_us,
			  struct buf *out, struct err *err)
{
	struct answers answers = {.out = out};
	struct call c = {.fd = -1, .name = address, .silent_us = CONNECT_US};
	for (size_t i = 0; i + 1 < lines.n; i++)
		answers.left += lines.p[i] == '\n';
	int rc = connect_to(&c, address, err);
	c.silent_us = 0;
	c.until_us = clock_mono_us() + timeout_us;
	if (rc == 0)
		rc = call_talk(&c, lines, answers_add, &answers, err) < 0 ? -1 : 0;
	call_end(&c);
	return out->over ? err_set(err, ERR_REMOTE, "%s: the answer is too large", address) : rc;
}

/* Loads */

static void server_add(struct find_servers *s, const char *address, const struct ng_load *load)
{
	if (s->n == FIND_SERVERS_MOST)
		return;
	s->server[s->n++] = (struct find_server){.address = address,
						 .known = load->known && load->age_s <= LOAD_OLD_S,
						 .wait_ms = load->wait_ms,
						 .queue = load->queue};
}

int find_load(const char *address, bool others, struct arena *arena, struct find_servers *ret,
	      struct err *err)
{
	struct buf out = BUF_INIT(ANSWER_MOST);
	struct str rest, line, name;
	struct ng_load load;
	size_t n = 0;
	int rc = exchange_lines(address, STR("LOAD\nQUIT\n"), LOAD_US, &out, err);
	rest = buf_str(&out);
	while (rc == 0 && str_cut(&rest, '\n', &line) == 0 && ng_load_parse(line, &name, &load)) {
		if (n++ == 0)
			server_add(ret, address, &load); /* the first is of the server itself */
		else if (others)
			server_add(ret, arena_text(arena, name), &load);
	}
	buf_free(&out);
	if (rc == 0 && n == 0)
		return err_set(err, ERR_REMOTE, "%s: does not tell its load", address);
	return rc;
}

static bool goes_before(const struct find_server *a, const struct find_server *b)
{
	if (a->known != b->known)
		return a->known;
	if (!a->known)
		return false;
	return a->wait_ms != b->wait_ms ? a->wait_ms < b->wait_ms : a->queue < b->queue;
}

/* By insertion: they are few, and equal ones keep their order. */
void find_order(struct find_servers *servers)
{
	for (size_t i = 1; i < servers->n; i++) {
		const struct find_server it = servers->server[i];
		size_t at = i;
		for (; at > 0 && goes_before(&it, &servers->server[at - 1]); at--)
			servers->server[at] = servers->server[at - 1];
		servers->server[at] = it;
	}
}

/* Hits */

static bool time_field(struct str text, int64_t *ret)
{
	*ret = -1;
	return str_is(text, "-") || ng_time_parse(text, ret);
}

static bool size_field(struct str text, int64_t *ret)
{
	uint64_t v;
	*ret = -1;
	if (str_is(text, "-"))
		return true;
	if (!str_u64(text, &v) || v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool hit_parse(struct str line, struct arena *arena, struct find_hit *ret)
{
	enum { WORD, HOST, ADDRESS, LISTED, KIND, MODE, SIZE, TIME, FIELDS };
	struct str f[FIELDS];
	struct find_hit h = {0};
	for (size_t i = 0; i < FIELDS; i++)
		if (str_cut(&line, '\t', &f[i]) != 0)
			return false;
	if (!str_is(f[WORD], "HIT") || !time_field(f[LISTED], &h.listed_s) ||
	    !size_field(f[SIZE], &h.size) || !time_field(f[TIME], &h.time_s))
		return false;
	struct str path = names_unescape(arena_str(arena, line), arena);
	size_t slash = str_after_last(path, '/');
	h.name = str_from(path, slash);
	h.dir = str_head(path, slash ? slash - 1 : 0);
	h.host = names_unescape(arena_str(arena, f[HOST]), arena);
	h.address = names_unescape(arena_str(arena, f[ADDRESS]), arena);
	h.kind = arena_str(arena, f[KIND]);
	h.mode = arena_str(arena, f[MODE]);
	*ret = h;
	return h.name.n > 0;
}

/* What an ERROR line means for one who asks: "ERROR word text". */
static int line_refused(const char *address, struct str line, struct err *err)
{
	struct str rest = line, word;
	(void)str_cut(&rest, ' ', &word);
	bool more = str_cut(&rest, ' ', &word) == 0;
	bool bad = more && str_is(word, "bad");
	if (str_has_control(line)) /* it is for a terminal */
		return err_set(err, ERR_REMOTE, "%s: refused", address);
	return err_set(err, bad ? ERR_USAGE : ERR_REMOTE, "%s: " STR_FMT, address,
		       STR_ARG(rest.p ? rest : line));
}

/* The answers to all lines but QUIT. */
static int answer_parse(const char *address, struct str text, size_t lines, struct arena *arena,
			struct find_answer *ret, struct err *err)
{
	struct find_answer a = {0};
	struct str line;
	size_t room = 0;
	while (lines > 0 && str_cut(&text, '\n', &line) == 0) {
		if (str_starts(line, STR("HIT\t"))) {
			struct find_hit *hit = ARENA_PUSH(arena, a.hit, a.n, room);
			if (!hit_parse(line, arena, hit))
				return err_set(err, ERR_REMOTE, "%s: a line has no form", address);
		} else if (str_starts(line, STR("ERROR "))) {
			return line_refused(address, line, err);
		} else if (str_starts(line, STR("OK "))) {
			a.cut = str_ends(line, STR(" cut"));
			lines--;
		}
	}
	if (lines > 0)
		return err_set(err, ERR_REMOTE, "%s: the answer is not whole", address);
	*ret = a;
	return 0;
}

int find_ask(const char *address, struct str lines, int64_t timeout_us, struct arena *arena,
	     struct find_answer *ret, struct err *err)
{
	struct buf out = BUF_INIT(ANSWER_MOST), all = BUF_INIT(ANSWER_MOST);
	size_t n = 0;
	for (size_t i = 0; i < lines.n; i++)
		n += lines.p[i] == '\n';
	buf_add_str(&all, lines);
	buf_add_text(&all, "QUIT\n");
	int rc = exchange_lines(address, buf_str(&all), timeout_us, &out, err);
	if (rc == 0)
		rc = answer_parse(address, buf_str(&out), n, arena, ret, err);
	buf_free(&all);
	buf_free(&out);
	return rc;
}
